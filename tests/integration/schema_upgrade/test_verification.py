"""Verification reports why a metastore of the target version would fail, besides steps of a plan."""

from __future__ import annotations

import pytest

from hive_views.schema_upgrade import ApplyOptions, apply, detect, plan, verify
from hive_views.schema_upgrade.hive_columns import metastore_problems
from tests.integration.schema_upgrade.conftest import WHOLE
from tests.integration.schema_upgrade.contents import change
from tests.integration.schema_upgrade.databases import Databases, SqlDatabases
from tests.integration.schema_upgrade.states import NEW
from tests.integration.schema_upgrade.test_users import with_users


@pytest.mark.parametrize("state", NEW if WHOLE else ["1.2.0", "3.1.0", "4.0.0"])
def test_schemas_of_hives_scripts_have_no_problems(databases: Databases, state: str) -> None:
    with databases.open(databases.copy(state)) as session:
        schema = detect(session, rows=False)
        assert list(metastore_problems(schema, state)) == []
        (problem, *_) = metastore_problems(schema, "4.2.0")
        assert "of Hive's scripts remain from" in problem


PROBLEMS = [
    # (change of a database of 2.3.0, the problem of a metastore)
    ("DROP TABLE [SKEWED_VALUES]", "missing: SKEWED_VALUES"),
    ("ALTER TABLE [SDS] DROP COLUMN [IS_STOREDASSUBDIRECTORIES]", "missing: SDS.IS_STOREDASSUBDIRECTORIES"),
    ("ALTER TABLE [aux_table] DROP COLUMN [mt_comment]", "missing: AUX_TABLE.MT_COMMENT"),
    ("DROP TABLE [INDEX_PARAMS]; DROP TABLE [IDXS]", "missing: IDXS"),
    ("DELETE FROM [VERSION]", "VERSION has no row"),
    ("INSERT INTO [VERSION] VALUES (2, '2.3.0', 'a test')", "VERSION has 2 rows"),
    ("UPDATE [VERSION] SET [SCHEMA_VERSION] = '3.1.0'", "missing: CTLGS, DBS.CTLG_NAME, KEY_CONSTRAINTS.DEFAULT_VALUE"),
]


@pytest.mark.parametrize(("sql", "problem"), PROBLEMS)
def test_missing_parts_of_hives_schema_are_reported(postgresql: SqlDatabases, sql: str, problem: str) -> None:
    with postgresql.open(postgresql.copy("2.3.0")) as session:
        change(session, sql)
        apply(session, plan(detect(session)))
        report = verify(session, views=False)
        assert report.lacking == ()
        assert problem in " ".join(report.metastore_problems)
        assert not report.complete


def test_lock_tables_with_the_names_of_another_version_are_reported(postgresql: SqlDatabases) -> None:
    """Before 4.0 Hive reads hive_locks, from then on "HIVE_LOCKS"."""
    with postgresql.open(postgresql.copy("2.3.0")) as session:
        change(session, 'ALTER TABLE hive_locks RENAME TO "HIVE_LOCKS"')
        apply(session, plan(detect(session)))
        (problem,) = verify(session, views=False).metastore_problems
        assert problem == 'Hive 2.3.0 reads the table "hive_locks", whose name is "HIVE_LOCKS"'


@pytest.mark.parametrize(
    ("kind", "sql", "user"),
    [
        ("postgresql", 'ALTER TABLE "SDS" OWNER TO hv_super; REVOKE ALL ON "SDS" FROM hv_owner', "hv_owner"),
        ("postgresql", 'REVOKE INSERT ON "SDS" FROM hv_dml', "hv_dml"),
        (
            "mariadb",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON TBLS TO hv_none; GRANT SELECT ON SDS TO hv_none",
            "'hv_none'@'%'",
        ),
    ],
)
def test_tables_that_the_metastore_may_not_use_are_reported(
    kind: str, sql: str, user: str, request: pytest.FixtureRequest
) -> None:
    """Hive's scripts, run by another user, create tables of that user."""
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = with_users(databases, "2.3.0")
    with databases.open(address) as session:
        apply(session, plan(detect(session)), ApplyOptions(while_running=True))
        if kind == "postgresql":
            assert verify(session, views=False).metastore_problems == ()
        databases.server.run(sql, address.database)
        problems = [each for each in verify(session, views=False).metastore_problems if each.startswith(f"{user} may")]
        assert len(problems) == 1 and "SDS" in problems[0]
