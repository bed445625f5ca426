"""Upgrades by other users than the owner of the tables, and conditions that are detected before anything is changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hive_views.errors import BlockedStepsError, DatabaseError, UsageError
from hive_views.schema_upgrade import Address, Password, apply, connect, detect, plan, render, rollback, verify
from tests.integration.schema_upgrade.contents import rows_of, schema_of
from tests.integration.schema_upgrade.databases import SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD

TARGET = "4.0.0"
CREATED = ("MV_CREATION_METADATA", "MV_TABLES_USED", "MATERIALIZATION_REBUILD_LOCKS")

POSTGRESQL_USERS = {
    # name: its statements, for the owner hv_owner; {0} is the database
    "hv_owner": "",
    "hv_super": "ALTER ROLE hv_super SUPERUSER;",
    "hv_member": "GRANT hv_owner TO hv_member;",
    "hv_dml": 'GRANT USAGE ON SCHEMA public TO hv_dml; GRANT SELECT, INSERT, UPDATE, DELETE ON "TBLS" TO hv_dml;'
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO hv_dml;",
    "hv_reader": "GRANT SELECT ON ALL TABLES IN SCHEMA public TO hv_reader;",
    "hv_none": "",
}
MARIADB_USERS = {
    "hv_owner": "GRANT ALL ON `{0}`.* TO hv_owner;",
    "hv_dml": "GRANT SELECT, INSERT, UPDATE, DELETE ON `{0}`.* TO hv_dml;",
    "hv_no_index": "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, REFERENCES, DROP ON `{0}`.* TO hv_no_index;",
    "hv_reader": "GRANT SELECT ON `{0}`.* TO hv_reader;",
    "hv_none": "",
}
ALLOWED = ("hv_owner", "hv_super", "hv_member")


def with_users(databases: SqlDatabases, state: str) -> Address:
    """A database whose tables belong to hv_owner, with the other users."""
    address = databases.copy(state)
    is_postgresql = databases.dialect == "postgresql"
    for name, statements in (POSTGRESQL_USERS if is_postgresql else MARIADB_USERS).items():
        if is_postgresql:
            exists = databases.server.run(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'", address.database)
            create = "" if exists.strip() else f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}';"
            databases.server.run(create + statements, address.database)
            if name == "hv_owner":
                databases.server.run(
                    "DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables "
                    "WHERE schemaname = 'public' LOOP EXECUTE format('ALTER TABLE %I OWNER TO hv_owner', name); "
                    "END LOOP; END $$; GRANT USAGE, CREATE ON SCHEMA public TO hv_owner;",
                    address.database,
                )
        else:
            create = f"CREATE USER IF NOT EXISTS {name} IDENTIFIED BY '{PASSWORD}';"
            databases.server.run(create + statements.format(address.database), address.database)
    return address


def of_user(address: Address, user: str) -> Address:
    return replace(address, user=user, password=Password(PASSWORD))


@pytest.mark.parametrize("user", ALLOWED)
def test_created_tables_belong_to_the_owner(postgresql: SqlDatabases, user: str) -> None:
    address = with_users(postgresql, "2.3.0")
    with connect(of_user(address, "hv_owner")) as session:
        before, rows = schema_of(session), rows_of(session, "TBLS")
    with connect(of_user(address, user)) as session:
        new_plan = plan(detect(session), TARGET)
        assert apply(session, new_plan, dry_run=True).done == tuple(step.id for step in new_plan.steps)
        apply(session, new_plan)
        assert verify(session, TARGET).complete
    owners = postgresql.server.run(
        "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'", address.database
    )
    assert owners.split() == ["hv_owner"]
    with connect(of_user(address, "hv_dml")) as session:
        for table in CREATED:
            assert session.query(f"SELECT COUNT(*) FROM {session.dialect.quote(table)}") == [(0,)]
    with connect(of_user(address, "hv_owner")) as session:
        assert rollback(session, schema=True).rows > 0
        assert rows_of(session, "TBLS") == rows
        assert [table.name for table in schema_of(session).tables] == [table.name for table in before.tables]


@pytest.mark.parametrize(
    ("kind", "user"),
    [("mariadb", user) for user in ("hv_dml", "hv_reader", "hv_no_index", "hv_none")]
    + [("postgresql", user) for user in ("hv_dml", "hv_reader", "hv_none")],
)
def test_missing_rights_are_detected_before_anything_changes(
    kind: str, user: str, request: pytest.FixtureRequest
) -> None:
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = with_users(databases, "2.3.0")
    with connect(of_user(address, "hv_owner")) as session:
        before = schema_of(session)
    if user == "hv_none":
        with pytest.raises(DatabaseError, match="denied"), connect(of_user(address, user)) as session:
            detect(session)
    else:
        with connect(of_user(address, user)) as session:
            new_plan = plan(detect(session), TARGET)
            assert any(step.blocked for step in new_plan.steps)
            for dry_run in (True, False):
                with pytest.raises(BlockedStepsError, match=r"nothing was changed.*(GRANT|connect as)"):
                    apply(session, new_plan, dry_run=dry_run, while_running=True)
    with connect(of_user(address, "hv_owner")) as session:
        assert schema_of(session) == before
        assert (
            databases.server.run(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE 'HIVE_VIEWS_%' "
                + ("AND table_schema = DATABASE()" if kind == "mariadb" else ""),
                address.database,
            ).strip()
            == "0"
        )
        apply(session, plan(detect(session), TARGET))
        assert verify(session, TARGET).complete


def test_tables_of_another_owner_are_given_to_the_owner(postgresql: SqlDatabases) -> None:
    """What an older version of hive_views left after an upgrade as superuser."""
    address = with_users(postgresql, "2.3.0")
    with connect(of_user(address, "hv_owner")) as session:
        apply(session, plan(detect(session), TARGET))
    postgresql.server.run('ALTER TABLE "MV_TABLES_USED" OWNER TO hv_super', address.database)
    with connect(of_user(address, "hv_owner")) as session:
        assert [step.id for step in verify(session, TARGET).lacking] == ["MV_TABLES_USED owner"]
        with pytest.raises(BlockedStepsError, match="does not own MV_TABLES_USED"):
            apply(session, plan(detect(session), TARGET))
    postgresql.server.run("GRANT hv_super TO hv_owner", address.database)
    try:
        with connect(of_user(address, "hv_owner")) as session:
            apply(session, plan(detect(session), TARGET))
            assert verify(session, TARGET).complete
    finally:
        postgresql.server.run("REVOKE hv_super FROM hv_owner", address.database)


def test_script_run_by_a_superuser_creates_tables_of_the_owner(postgresql: SqlDatabases) -> None:
    address = with_users(postgresql, "2.3.0")
    with connect(of_user(address, "hv_owner")) as session:
        script = render(plan(detect(session), TARGET))
    postgresql.run_script(address, script)
    owners = postgresql.server.run(
        "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'", address.database
    )
    assert owners.split() == ["hv_owner"]
    with connect(of_user(address, "hv_owner")) as session:
        assert verify(session, TARGET).lacking[0].id == "rows view texts"
        assert rollback(session).rows > 0


@pytest.mark.parametrize("charset", ["utf8mb4", "utf8mb3", "latin1"])
@pytest.mark.parametrize("row_format", ["COMPACT", "REDUNDANT", "DYNAMIC"])
def test_index_that_does_not_fit_the_row_format(mariadb: SqlDatabases, row_format: str, charset: str) -> None:
    address = mariadb.copy("2.1.0")
    # In 767 bytes fit 191 characters of utf8mb4.
    mariadb.server.run(
        "ALTER TABLE TBLS DROP INDEX UNIQUETABLE; ALTER TABLE TABLE_PARAMS DROP FOREIGN KEY TABLE_PARAMS_FK1, "
        "DROP INDEX TABLE_PARAMS_N49, DROP PRIMARY KEY, ADD INDEX P (TBL_ID);"
        f"ALTER TABLE TBLS MODIFY TBL_NAME VARCHAR(128) CHARACTER SET {charset}, ROW_FORMAT={row_format};"
        f"ALTER TABLE TABLE_PARAMS MODIFY PARAM_KEY VARCHAR(256) CHARACTER SET {charset}, ROW_FORMAT={row_format};"
        "CREATE UNIQUE INDEX UNIQUETABLE ON TBLS (TBL_NAME, DB_ID);",
        address.database,
    )
    with mariadb.open(address) as session:
        new_plan = plan(detect(session), "3.1.0")
        blocked = [step.id for step in new_plan.steps if step.blocked]
        if row_format == "DYNAMIC" or charset == "latin1":
            assert blocked == []
            apply(session, new_plan)
            return
        assert blocked == ["TBLS.TBL_NAME wide", "TABLE_PARAMS index HIVE_VIEWS_PARAMS"]
        with pytest.raises(BlockedStepsError, match="ROW_FORMAT=DYNAMIC"):
            apply(session, new_plan, dry_run=True)
        with pytest.raises(UsageError, match="the plan has no step 'nonsense'"):
            apply(session, new_plan, skip=["nonsense"])
        done = apply(session, new_plan, skip=blocked).done
        assert set(done) == {step.id for step in new_plan.steps} - set(blocked)
        assert [step.id for step in verify(session, "3.1.0").lacking] == blocked
    for table in ("TBLS", "TABLE_PARAMS"):
        mariadb.server.run(f"ALTER TABLE {table} ROW_FORMAT=DYNAMIC", address.database)
    with mariadb.open(address) as session:
        apply(session, plan(detect(session), "3.1.0"))
        assert verify(session, "3.1.0").complete


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_read_only_server_is_detected(kind: str, request: pytest.FixtureRequest) -> None:
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = with_users(databases, "2.3.0")
    on, off = {
        "mariadb": ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"),
        "postgresql": (
            f'ALTER DATABASE "{address.database}" SET default_transaction_read_only = on',
            f'ALTER DATABASE "{address.database}" RESET default_transaction_read_only',
        ),
    }[kind]
    databases.server.run(on)
    try:
        with connect(of_user(address, "hv_owner")) as session:
            new_plan = plan(detect(session), TARGET)
            with pytest.raises(BlockedStepsError, match="read-only"):
                apply(session, new_plan, dry_run=True)
    finally:
        databases.server.run(off)
