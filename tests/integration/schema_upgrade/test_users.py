"""Upgrades by other users than the owner of the tables, and conditions that are detected before anything is changed."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hive_views.errors import BlockedStepsError, DatabaseError, UpgradeError, UsageError
from hive_views.schema_upgrade import (
    Address,
    Password,
    connect,
    detect,
    plan,
    render,
    rollback,
    verify,
)
from hive_views.schema_upgrade.obstacles import find_obstacles
from tests.faults.observer import until
from tests.integration.schema_upgrade import servers
from tests.integration.schema_upgrade.conftest import WHOLE
from tests.integration.schema_upgrade.contents import apply_before_scripts
from tests.integration.schema_upgrade.databases import SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD

TARGET = "4.0.0"
CREATED = ("MV_CREATION_METADATA", "MV_TABLES_USED", "MATERIALIZATION_REBUILD_LOCKS")

POSTGRESQL_USERS = {
    # name: its statements, for the owner hv_owner; {0} is the database
    "hv_owner": "",
    "hv_super": "ALTER ROLE hv_super SUPERUSER;",
    "hv_member": "GRANT hv_owner TO hv_member;",
    "hv_other": "GRANT ALL ON ALL TABLES IN SCHEMA public TO hv_other; GRANT ALL ON SCHEMA public TO hv_other;",
    "hv_dml": 'GRANT USAGE ON SCHEMA public TO hv_dml; GRANT SELECT, INSERT, UPDATE, DELETE ON "TBLS" TO hv_dml;'
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO hv_dml;",
    "hv_reader": "GRANT SELECT ON ALL TABLES IN SCHEMA public TO hv_reader;",
    "hv_none": "",
}
MARIADB_USERS = {
    "hv_owner": "GRANT ALL ON `{0}`.* TO hv_owner;",
    "hv_super": "GRANT ALL ON *.* TO hv_super WITH GRANT OPTION;",
    "hv_member": "GRANT ALL ON `{0}`.* TO hv_member;",
    "hv_other": "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON `{0}`.* TO hv_other;",
    "hv_dml": "GRANT SELECT, INSERT, UPDATE, DELETE ON `{0}`.* TO hv_dml;",
    "hv_no_index": "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, REFERENCES, DROP ON `{0}`.* TO hv_no_index;",
    "hv_reader": "GRANT SELECT ON `{0}`.* TO hv_reader;",
    "hv_tables": "GRANT SELECT, INSERT, UPDATE, DELETE ON `{0}`.TBLS TO hv_tables;"
    "GRANT SELECT ON `{0}`.TABLE_PARAMS TO hv_tables; GRANT SELECT ON `{0}`.DBS TO hv_tables;"
    "GRANT SELECT ON `{0}`.SDS TO hv_tables;",
    "hv_none": "",
}


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


def test_tables_of_another_owner_are_given_to_the_owner(postgresql: SqlDatabases) -> None:
    """What an older version of hive_views left after an upgrade as superuser."""
    address = with_users(postgresql, "2.3.0")
    with connect(of_user(address, "hv_owner")) as session:
        apply_before_scripts(session, plan(detect(session), TARGET))
    postgresql.server.run('ALTER TABLE "MV_TABLES_USED" OWNER TO hv_super', address.database)
    with connect(of_user(address, "hv_owner")) as session:
        assert [step.id for step in verify(session, TARGET).lacking] == ["MV_TABLES_USED owner"]
        with pytest.raises(BlockedStepsError, match="does not own MV_TABLES_USED"):
            apply_before_scripts(session, plan(detect(session), TARGET))
    postgresql.server.run("GRANT hv_super TO hv_owner", address.database)
    try:
        with connect(of_user(address, "hv_owner")) as session:
            apply_before_scripts(session, plan(detect(session), TARGET))
            assert verify(session, TARGET).lacking == ()
    finally:
        postgresql.server.run("REVOKE hv_super FROM hv_owner", address.database)


def test_suggested_grant_quotes_the_names_of_roles(postgresql: SqlDatabases) -> None:
    address = with_users(postgresql, "2.3.0")
    role = '"x; DROP TABLE ""TBLS"""'
    give = f'ALTER TABLE "TBLS" OWNER TO {role}; GRANT ALL ON "TBLS" TO hv_owner;'
    postgresql.server.run(f"CREATE ROLE {role}; {give}", address.database)
    try:
        with connect(of_user(address, "hv_owner")) as session:
            reasons = {step.blocked for step in plan(detect(session), TARGET).steps if step.blocked}
        assert any(f"or GRANT {role} TO hv_owner" in reason for reason in reasons), reasons
    finally:
        postgresql.server.run(f'ALTER TABLE "TBLS" OWNER TO hv_owner; DROP ROLE {role};', address.database)


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


FORMATS = list(itertools.product(("COMPACT", "REDUNDANT", "DYNAMIC"), ("utf8mb4", "utf8mb3", "latin1")))
QUICK_FORMATS = [("COMPACT", "utf8mb4"), ("REDUNDANT", "latin1"), ("DYNAMIC", "utf8mb3")]


@pytest.mark.parametrize(("row_format", "charset"), FORMATS if WHOLE else QUICK_FORMATS)
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
            apply_before_scripts(session, new_plan)
            return
        assert blocked == ["TBLS.TBL_NAME wide", "TABLE_PARAMS index HIVE_VIEWS_PARAMS"]
        with pytest.raises(BlockedStepsError, match="ROW_FORMAT=DYNAMIC"):
            apply_before_scripts(session, new_plan, dry_run=True)
        with pytest.raises(UsageError, match="the plan has no step 'nonsense'"):
            apply_before_scripts(session, new_plan, skip=["nonsense"])
        done = apply_before_scripts(session, new_plan, skip=blocked).done
        assert set(done) == {step.id for step in new_plan.steps} - set(blocked)
        assert [step.id for step in verify(session, "3.1.0").lacking] == blocked
    for table in ("TBLS", "TABLE_PARAMS"):
        mariadb.server.run(f"ALTER TABLE {table} ROW_FORMAT=DYNAMIC", address.database)
    with mariadb.open(address) as session:
        apply_before_scripts(session, plan(detect(session), "3.1.0"))
        assert verify(session, "3.1.0").lacking == ()


@pytest.mark.parametrize(
    ("kind", "on", "off"),
    [
        ("mariadb", "SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"),
        ("mariadb", "SET GLOBAL tx_read_only = 1", "SET GLOBAL tx_read_only = 0"),
        (
            "postgresql",
            "ALTER DATABASE {0} SET default_transaction_read_only = on",
            "ALTER DATABASE {0} RESET default_transaction_read_only",
        ),
    ],
)
@pytest.mark.parametrize("user", ["hv_owner", "hv_super"])
def test_read_only_server_is_detected(kind: str, on: str, off: str, user: str, request: pytest.FixtureRequest) -> None:
    """A superuser of MariaDB could write to a replica, which then differs from its primary."""
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = with_users(databases, "2.3.0")
    databases.server.run(on.format(address.database))
    try:
        with connect(of_user(address, user)) as session:
            new_plan = plan(detect(session), TARGET)
            with pytest.raises(BlockedStepsError, match="read-only"):
                apply_before_scripts(session, new_plan, dry_run=True)
    finally:
        # Transactions of this session would be read-only, too.
        databases.server.run(
            (off if kind == "postgresql" else f"SET SESSION TRANSACTION READ WRITE; {off}").format(address.database)
        )


@pytest.mark.parametrize(
    ("kind", "on", "off", "query", "expected"),
    [
        (
            "mariadb",
            "SET GLOBAL max_statement_time = 60",
            "SET GLOBAL max_statement_time = 0",
            "SELECT @@max_statement_time",
            "0",
        ),
        (
            "postgresql",
            "ALTER DATABASE {0} SET statement_timeout = '1min'",
            "ALTER DATABASE {0} RESET statement_timeout",
            "SHOW statement_timeout",
            "0",
        ),
        (
            "postgresql",
            "ALTER DATABASE {0} SET idle_session_timeout = '1min'",
            "ALTER DATABASE {0} RESET idle_session_timeout",
            "SHOW idle_session_timeout",
            "0",
        ),
    ],
)
def test_limits_of_the_time_of_statements_are_lifted(
    kind: str, on: str, off: str, query: str, expected: str, request: pytest.FixtureRequest
) -> None:
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = databases.copy("2.3.0")
    databases.server.run(on.format(address.database))
    try:
        with databases.open(address) as session:
            assert str(session.query(query)[0][0]).rstrip("0").rstrip(".") in ("", expected)
    finally:
        databases.server.run(off.format(address.database))


def test_owner_with_an_unusual_name(postgresql: SqlDatabases) -> None:
    address = with_users(postgresql, "2.3.0")
    owner = 'Hive "Meta"'
    quoted = '"Hive ""Meta"""'
    exists = postgresql.server.run(f"SELECT 1 FROM pg_roles WHERE rolname = '{owner}'")
    postgresql.server.run(
        ("" if exists.strip() else f"CREATE ROLE {quoted};")
        + f"GRANT ALL ON SCHEMA public TO {quoted}; REASSIGN OWNED BY hv_owner TO {quoted}",
        address.database,
    )
    with postgresql.open(address) as session:
        apply_before_scripts(session, plan(detect(session), TARGET))
        assert verify(session, TARGET).lacking == ()
        assert session.query("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'") == [(owner,)]
        rollback(session, schema=True)


def test_prepared_transaction_of_mariadb_is_detected(mariadb: SqlDatabases) -> None:
    address = mariadb.copy("2.3.0")
    mariadb.server.run(
        "XA START 'old'; UPDATE TBLS SET RETENTION = 1; XA END 'old'; XA PREPARE 'old'", address.database
    )
    try:
        with mariadb.open(address) as session:
            found = find_obstacles(session, detect(session), long_transaction_s=0)
            assert any("a prepared transaction has been open" in each.reason for each in found)
    finally:
        mariadb.server.run("XA ROLLBACK 'old'")


def test_users_of_single_tables_can_use_created_tables(mariadb: SqlDatabases) -> None:
    """A metastore may have privileges on each table instead of the database."""
    address = with_users(mariadb, "2.3.0")
    with connect(of_user(address, "hv_owner")) as session:
        new_plan = plan(detect(session), TARGET)
    assert not any(step.blocked for step in new_plan.steps), "other users' privileges are hidden from it"
    script = mariadb.copy("2.3.0")
    mariadb.server.run(MARIADB_USERS["hv_tables"].format(script.database), script.database)
    with mariadb.open(address) as session, mariadb.open(script) as by_script:
        apply_before_scripts(session, plan(detect(session), TARGET))
        text = render(plan(detect(by_script), TARGET))
    for _ in range(2):
        mariadb.run_script(script, text)
    for database in (address, script):
        for table in CREATED:
            with connect(of_user(database, "hv_tables")) as session:
                assert session.query(f"SELECT COUNT(*) FROM `{table}`") == [(0,)]


def test_rollback_is_rejected_if_the_backup_may_be_hidden(mariadb: SqlDatabases) -> None:
    """MariaDB hides tables from users without privileges on them: there seems to be nothing to restore."""
    address = with_users(mariadb, "2.3.0")
    with connect(of_user(address, "hv_owner")) as session:
        apply_before_scripts(session, plan(detect(session)))
    with connect(of_user(address, "hv_tables")) as session:
        assert any("SELECT" in str(step.blocked) for step in plan(detect(session), TARGET).steps)
        for dry_run in (True, False):
            with pytest.raises(UpgradeError, match="may hide HIVE_VIEWS_UPGRADE and HIVE_VIEWS_BACKUP"):
                rollback(session, dry_run=dry_run, while_running=True)
    with connect(of_user(address, "hv_owner")) as session:
        assert rollback(session, while_running=True).rows > 0


def blocked(address: Address, target: str | None = TARGET) -> set[str]:
    """The reasons why steps would fail; a dry run must fail for the same reasons."""
    with connect(address) as session:
        new_plan = plan(detect(session), target)
        reasons = {step.blocked for step in new_plan.steps if step.blocked}
        if reasons:
            with pytest.raises(BlockedStepsError):
                apply_before_scripts(session, new_plan, dry_run=True)
        return reasons


def notes(address: Address, target: str | None = TARGET) -> str:
    with connect(address) as session:
        return " ".join(plan(detect(session), target).notes)


@pytest.mark.parametrize(
    ("kind", "begin", "reason"),
    [
        ("mariadb", "SELECT COUNT(*) FROM TBLS", "a transaction of hive from"),
        ("postgresql", 'SELECT COUNT(*) FROM "TBLS"', r"a transaction of hive has locked TBLS for \d+ s"),
        ("postgresql", 'UPDATE "TBLS" SET "RETENTION" = 1; PREPARE TRANSACTION \'old\'', "prepared transaction 'old'"),
    ],
)
def test_open_transactions_are_detected(kind: str, begin: str, reason: str, request: pytest.FixtureRequest) -> None:
    databases: SqlDatabases = request.getfixturevalue(kind)
    address = databases.copy("2.3.0")
    with databases.open(address) as other, databases.open(address) as session:
        schema = detect(session)

        def reasons(age: float) -> set[str]:
            session.rollback()
            return {each.reason for each in find_obstacles(session, schema, long_transaction_s=age)}

        before = reasons(0)
        for statement in begin.split("; "):
            other.execute(statement)
        # InnoDB lists the transactions of up to 0.1 s ago, as long as the list is read more often than that.
        time.sleep(0.2)
        assert reasons(3_600) == before, "young transactions end soon"
        (found,) = reasons(0) - before
        assert re.search(reason, found)
        if "PREPARE" in begin:
            other.rollback()
            databases.server.run("ROLLBACK PREPARED 'old'", address.database)
        other.rollback()
        time.sleep(0.2)
        assert reasons(0) == before


def test_autovacuum_is_no_open_transaction(postgresql: SqlDatabases) -> None:
    """A statement that waits for an autovacuum ends it."""
    address = postgresql.copy("2.3.0")
    postgresql.server.run("ALTER SYSTEM SET autovacuum_naptime = '1s'")
    postgresql.server.run("SELECT pg_reload_conf()")
    try:
        postgresql.server.run(
            'ALTER TABLE "TBLS" SET (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0, '
            "autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1); "
            'INSERT INTO "TBLS" ("TBL_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "RETENTION", "IS_REWRITE_ENABLED") '
            "SELECT 10000 + n, 0, 0, 0, '0' FROM generate_series(1, 3000) n; "
            'UPDATE "TBLS" SET "RETENTION" = 1',
            address.database,
        )
        workers = (
            "SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l USING (pid) JOIN pg_class c ON c.oid = l.relation "
            "WHERE backend_type = 'autovacuum worker' AND relname = 'TBLS' AND datname = current_database()"
        )
        until(lambda: postgresql.server.run(workers, address.database).strip() != "0")
        with postgresql.open(address) as session:
            found = find_obstacles(session, detect(session), long_transaction_s=0)
            assert postgresql.server.run(workers, address.database).strip() != "0", "it ended too early"
        assert not [each for each in found if "has locked" in each.reason]
    finally:
        postgresql.server.run("ALTER SYSTEM RESET autovacuum_naptime")
        postgresql.server.run("SELECT pg_reload_conf()")


def test_replication_of_postgresql_is_checked(postgresql: SqlDatabases) -> None:
    address = postgresql.copy("2.3.0")
    assert "publication" not in notes(address)
    postgresql.server.run('CREATE PUBLICATION pub FOR TABLE "TBLS"', address.database)
    assert "the publication pub has TBLS, and logical replication does not replicate changes of tables" in notes(
        address
    )
    # Each commit of a change waits for the standby.
    local = "SET synchronous_commit = local; "
    postgresql.server.run("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    postgresql.server.run("SELECT pg_reload_conf()")
    try:
        deadline = time.monotonic() + 30
        while not (reasons := blocked(address)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert all("no standby of synchronous_standby_names (standby) is connected" in str(each) for each in reasons)
        assert reasons
    finally:
        postgresql.server.run(local + "ALTER SYSTEM RESET synchronous_standby_names")
        postgresql.server.run(local + "SELECT pg_reload_conf()")


def test_required_primary_keys_are_checked(mariadb: SqlDatabases) -> None:
    """Galera and group replication need keys; the tables of hive_views have them."""
    address, old = mariadb.copy("2.3.0"), mariadb.copy("0.10.0")
    mariadb.server.run("SET GLOBAL innodb_force_primary_key = 1")
    try:
        assert len(blocked(address, "3.1.0")) == 1, "Hive 3's MV_TABLES_USED has no key"
        assert blocked(address, "4.0.0") == set()
        assert blocked(old, None) == set()
        with mariadb.open(old) as session:
            apply_before_scripts(session, plan(detect(session)))
    finally:
        mariadb.server.run("SET GLOBAL innodb_force_primary_key = 0")


def test_format_of_the_binary_log_is_checked() -> None:
    with servers.mariadb("--log-bin", "--server-id=1") as server:
        databases = SqlDatabases(server)
        address = databases.copy("2.3.0")
        server.run("SET GLOBAL binlog_format = STATEMENT")
        assert {"binlog_format is STATEMENT" in str(reason) for reason in blocked(address)} == {True}
        with databases.open(address) as session, pytest.raises(DatabaseError, match="BINLOG_FORMAT = STATEMENT"):
            session.execute("UPDATE TBLS SET RETENTION = 1")
        server.run("SET GLOBAL binlog_format = MIXED")
        assert blocked(address) == set()
        assert "replicas repeat an ALTER TABLE that copies its table" in notes(address)
        with databases.open(address) as session:
            apply_before_scripts(session, plan(detect(session), TARGET))


@contextmanager
def small_disk(directory: Path, megabytes: int) -> Iterator[Path]:
    """A file system in memory of a limited size."""
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "none", str(directory)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_disk_space_for_copies_is_checked(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:3]:
        parent.chmod(0o755)
    options = ("--skip-log-bin", "--innodb-log-file-size=8M")
    with small_disk(tmp_path / "disk", 220) as disk, servers.mariadb(*options, directory=disk) as server:
        databases = SqlDatabases(server)
        address = databases.copy("2.3.0")
        assert blocked(address) == set()
        server.run(
            "INSERT INTO TABLE_PARAMS SELECT TBL_ID, CONCAT('k', seq), REPEAT('x', 3900) FROM TBLS "
            "JOIN seq_1_to_700 ON TBL_ID < 20; ANALYZE TABLE TABLE_PARAMS",
            address.database,
        )
        (disk / "filler").write_bytes(bytes(os.statvfs(disk).f_bavail * 4096 - (2 << 20)))
        (reason,) = blocked(address)
        assert reason is not None and "MB of disk space for a copy of TABLE_PARAMS" in reason
        (disk / "filler").unlink()
        assert blocked(address) == set()
