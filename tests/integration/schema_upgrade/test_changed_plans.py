"""Plan files that were changed, and databases that change between a plan and its application."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hive_views.errors import PlanChangedError, UpgradeError
from hive_views.schema_upgrade import connect, detect, dumps, loads, plan, verify
from hive_views.schema_upgrade.execution import without_rows
from hive_views.schema_upgrade.plan_model import Kind, identified
from tests.integration.schema_upgrade.conftest import on_servers, once
from tests.integration.schema_upgrade.contents import apply_before_scripts, change, rows_of, select
from tests.integration.schema_upgrade.databases import Databases, SqlDatabases
from tests.integration.schema_upgrade.states import REPAIRED, insert_rows, old_schema
from tests.integration.schema_upgrade.test_users import CREATED, of_user, with_users


@once
def test_forged_statement_of_a_plan_file_is_not_executed(databases: Databases) -> None:
    """The hash in a plan file detects edits, but whoever edits the file can compute it again."""
    with databases.open(databases.copy("0.10.0")) as session:
        new_plan = plan(detect(session))
        step = new_plan.steps[0]
        assert step.kind.is_schema
        forged_step = replace(step, statements=(f"DELETE FROM {session.dialect.quote('TABLE_PARAMS')}",))
        forged = loads(dumps(identified(replace(new_plan, steps=(forged_step, *new_plan.steps[1:])))))
        rows = rows_of(session, "TABLE_PARAMS")
        with pytest.raises(PlanChangedError, match=f"{step.id} is now"):
            apply_before_scripts(session, forged)
        assert rows_of(session, "TABLE_PARAMS") == rows
        assert apply_before_scripts(session, new_plan).done


@once
def test_plan_without_rows_changes_no_rows_when_it_is_resumed(databases: Databases) -> None:
    with databases.open(databases.copy("0.10.0")) as session:
        rows = rows_of(session, "TBLS")
        new_plan = without_rows(plan(detect(session)))
        skipped = [step.id for step in new_plan.steps][2:]
        first = apply_before_scripts(session, new_plan, skip=skipped)
        assert not set(first.found_done) & set(skipped), "a skipped step is not complete"
        assert apply_before_scripts(session, new_plan).done == tuple(skipped)
        assert rows_of(session, "TBLS") == rows


@once
def test_steps_that_depend_on_skipped_steps_are_left_out(databases: Databases) -> None:
    with databases.open(databases.copy("0.5.0")) as session:
        new_plan = plan(detect(session), "4.0.0")
        skipped = ["MV_CREATION_METADATA", "TBLS.VIEW_ORIGINAL_TEXT", "NEXT_LOCK_ID"]
        dependent = [
            "MV_CREATION_METADATA index MV_UNIQUE_TABLE",
            "MV_TABLES_USED",
            "NEXT_LOCK_ID row",
            "rows TBL_TYPE",
        ]
        applied = apply_before_scripts(session, new_plan, skip=skipped)
        assert applied.warnings == (f"left out, because they depend on skipped steps: {', '.join(dependent)}",)
        assert set(applied.done) == {step.id for step in new_plan.steps} - {*skipped, *dependent}
        assert apply_before_scripts(session, plan(detect(session), "4.0.0")).done
        assert verify(session, "4.0.0", views=False).lacking == ()


@on_servers
def test_plan_is_compared_with_the_database_after_other_upgrades(databases: SqlDatabases) -> None:
    """A comparison before the lock would be with a schema that the other upgrade still changes."""
    address = databases.copy("2.3.0")
    with databases.open(address) as session, databases.open(address) as other:
        new_plan = plan(detect(session), "3.1.0")
        change(session, "ALTER TABLE [TBLS] DROP COLUMN [IS_REWRITE_ENABLED]")
        with other.exclusive(), pytest.raises(UpgradeError, match="another upgrade or rollback runs"):
            apply_before_scripts(session, new_plan, while_running=True)
        with pytest.raises(PlanChangedError):
            apply_before_scripts(session, new_plan, while_running=True)


def test_privileges_that_an_interrupted_run_did_not_grant_are_granted(mariadb: SqlDatabases) -> None:
    """MariaDB commits the creation of a table before the privileges on it."""
    address = with_users(mariadb, "2.3.0")
    server = mariadb.server
    server.run("CREATE USER IF NOT EXISTS hv_auditor; GRANT SELECT ON TBLS TO hv_auditor", address.database)
    with mariadb.open(address) as session:
        new_plan = plan(detect(session), "4.0.0")
        apply_before_scripts(
            session, new_plan, skip=[step.id for step in new_plan.steps if step.id != "MV_CREATION_METADATA"]
        )
        server.run("REVOKE ALL ON MV_CREATION_METADATA FROM hv_tables", address.database)
        lacking = {step.id: step for step in verify(session, "4.0.0", views=False).lacking}
        assert "hv_tables" in lacking["MV_CREATION_METADATA owner"].reason
        assert "hv_auditor" not in lacking["MV_CREATION_METADATA owner"].reason
        apply_before_scripts(session, new_plan)
        assert not verify(session, "4.0.0", views=False).lacking
    with connect(of_user(address, "hv_tables")) as session:
        for table in CREATED:
            assert session.query(f"SELECT COUNT(*) FROM `{table}`") == [(0,)]


@once
def test_index_name_of_another_index_is_an_obstacle(databases: Databases) -> None:
    with databases.open(databases.copy("0.10.0")) as session:
        change(session, "CREATE INDEX [HIVE_VIEWS_PARAMS] ON [TABLE_PARAMS] ([PARAM_KEY])")
        step = plan(detect(session)).step("TABLE_PARAMS index HIVE_VIEWS_PARAMS")
        assert step is not None and step.blocked == ("TABLE_PARAMS has another index of this name: rename or drop it")


def test_view_over_a_column_blocks_a_change_of_its_type(postgresql: SqlDatabases) -> None:
    """PostgreSQL changes no type of a column that a view reads, e.g. one for reports."""
    with postgresql.open(postgresql.copy("2.1.0")) as session:
        change(session, "CREATE VIEW [reports] AS SELECT [TBL_NAME], [OWNER] FROM [TBLS]")
        new_plan = plan(detect(session), "3.0.0")
        blocked = {step.id: step.blocked for step in new_plan.steps if step.blocked}
        assert blocked.keys() == {"TBLS.TBL_NAME wide"}
        assert "the view reports reads TBL_NAME" in str(blocked["TBLS.TBL_NAME wide"])
        apply_before_scripts(session, new_plan, skip=[*blocked])
        change(session, "DROP VIEW [reports]")
        assert apply_before_scripts(session, plan(detect(session), "3.0.0")).done == ("TBLS.TBL_NAME wide",)


@pytest.mark.parametrize("ending", ['("DB_ID") WHERE "DB_ID" > 5', '(lower("OWNER"), "DB_ID")'])
def test_index_that_lookups_cannot_use_is_not_counted(postgresql: SqlDatabases, ending: str) -> None:
    with postgresql.open(postgresql.copy("0.10.0")) as session:
        change(session, f'CREATE INDEX "other" ON "TBLS" {ending}')
        step = plan(detect(session)).step("TBLS index TBLS_N49")
        assert step is not None and step.kind is Kind.CREATE_INDEX


@once
def test_text_of_an_iceberg_view_is_not_repaired(databases: Databases) -> None:
    """Its metadata file has the text, which compares with damaged values on purpose."""
    text = "SELECT `t`.`a` FROM `sales`.`t` WHERE `t`.`b` = 'MÃ¼nchen'"
    with databases.open(databases.copy("0.10.0")) as session:
        quote = session.dialect.quote
        session.execute(
            f"UPDATE {quote('TBLS')} SET {quote('VIEW_ORIGINAL_TEXT')} = :text WHERE {quote('TBL_ID')} = 23",
            {"text": text},
        )
        change(
            session,
            "INSERT INTO [TABLE_PARAMS] ([TBL_ID], [PARAM_KEY], [PARAM_VALUE]) "
            "VALUES (23, 'metadata_location', 'file:/v.json')",
        )
        rows = detect(session).rows
        assert rows.mangled == (28,)
        assert [(tbl_id, reason) for tbl_id, _, reason in rows.suspicious if "metadata file" in reason] == [
            (23, "it may be UTF-8 that was read as latin1; its metadata file has the text: it is not repaired")
        ]
        apply_before_scripts(session, plan(detect(session)))
        assert (23, text) in select(session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT"])


def test_text_that_the_database_cannot_store_is_not_repaired(postgresql: SqlDatabases) -> None:
    name = "latin1_texts"
    postgresql.server.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    postgresql.server.run(";\n".join(old_schema("postgresql", "0.7.0")), name)
    address = postgresql.address(name)
    text = "SELECT '東京' AS `a`".encode().decode("latin1")
    with postgresql.open(address) as session:
        insert_rows(session)
        session.execute('UPDATE "TBLS" SET "VIEW_ORIGINAL_TEXT" = :text WHERE "TBL_ID" = 23', {"text": text})
        session.commit()
        rows = detect(session).rows
        assert rows.mangled == (28,)
        assert any(tbl_id == 23 and "encoding LATIN1" in reason for tbl_id, _, reason in rows.suspicious)
        apply_before_scripts(session, plan(detect(session)))
        assert {(23, text), (28, REPAIRED)} <= set(select(session, "TBLS", ["TBL_ID", "VIEW_ORIGINAL_TEXT"]))
