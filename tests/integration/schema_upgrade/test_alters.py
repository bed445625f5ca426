"""Changes of tables on MariaDB: one ALTER TABLE per table, which keeps all other properties of the columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hive_views.schema_upgrade import detect, plan, render, rollback, verify
from tests.integration.schema_upgrade.conftest import WHOLE
from tests.integration.schema_upgrade.contents import apply_before_scripts, schema_of
from tests.integration.schema_upgrade.databases import SqlDatabases

TARGETS = {"0.5.0": "4.0.0", "1.2.0": "4.0.0", "2.3.0": "3.1.0", "3.1.0": "4.0.0", "4.0.0": "4.0.0"}


@pytest.mark.parametrize("state", TARGETS if WHOLE else ["1.2.0"])
def test_each_table_is_altered_once(mariadb: SqlDatabases, state: str) -> None:
    statements: list[str] = []
    with mariadb.open(mariadb.copy(state)) as session:
        new_plan = plan(detect(session), TARGETS[state])
        apply_before_scripts(session, new_plan, progress=lambda progress: statements.append(progress.statement))
        assert verify(session, TARGETS[state]).lacking == ()
    altered = [statement.split("`")[1] for statement in statements if statement.startswith("ALTER TABLE")]
    assert len(altered) == len(set(altered)) > 0, altered


COLUMN = "VARCHAR(128) CHARACTER SET {} COLLATE {} NOT NULL DEFAULT 'it''s' COMMENT 'a :name, 100%, ''quoted'' \\\\'"


COLLATIONS = [("latin1", "latin1_swedish_ci"), ("latin1", "latin1_bin"), ("utf8mb4", "utf8mb4_unicode_ci")]


@pytest.mark.parametrize("by_script", [False, True])
@pytest.mark.parametrize(("charset", "collation"), COLLATIONS if WHOLE else COLLATIONS[:1])
def test_widened_column_keeps_default_comment_and_collation(
    mariadb: SqlDatabases, charset: str, collation: str, by_script: bool
) -> None:
    address = mariadb.copy("1.2.0")
    definition = COLUMN.format(charset, collation)
    mariadb.server.run(
        f"ALTER TABLE TBLS MODIFY TBL_NAME {definition};"
        "ALTER TABLE TBLS MODIFY VIEW_ORIGINAL_TEXT TEXT CHARACTER SET latin1 COLLATE latin1_german1_ci "
        "COMMENT 'typed';",
        address.database,
    )
    with mariadb.open(address) as session:
        before_table = schema_of(session).table("TBLS")
        before = schema_of(session).column("TBLS", "TBL_NAME")
        if by_script:
            mariadb.run_script(address, render(plan(detect(session), "2.3.0")))
        else:
            apply_before_scripts(session, plan(detect(session), "2.3.0"))
        schema = schema_of(session)
        name, text = schema.column("TBLS", "TBL_NAME"), schema.column("TBLS", "VIEW_ORIGINAL_TEXT")
        assert name is not None and text is not None and before is not None
        assert before.default and before.comment == "a :name, 100%, 'quoted' \\"
        assert name == replace(before, length=256) and name.collation == collation
        assert (text.type, text.collation, text.comment) == ("mediumtext", "utf8mb4_general_ci", "typed")
        if by_script:
            return
        session.execute("UPDATE TBLS SET VIEW_ORIGINAL_TEXT = '東京' WHERE TBL_ID = 2")
        session.execute("UPDATE TBLS SET TBL_NAME = :name WHERE TBL_ID = 1", {"name": 129 * "n"})
        session.commit()
        kept = rollback(session, schema=True, dry_run=True).kept
        for column, row in (("VIEW_ORIGINAL_TEXT utf8mb4", 2), ("TBL_NAME wide", 1)):
            assert [item for item in kept if item.startswith(f"TBLS.{column}: 1 row") and f"ID {row}: shorten" in item]
        session.execute("UPDATE TBLS SET VIEW_ORIGINAL_TEXT = NULL, TBL_NAME = TBL_ID WHERE TBL_ID < 3")
        session.commit()
        rollback(session, schema=True)
        assert schema_of(session).table("TBLS") == before_table
