"""Conditions that would make steps of an upgrade fail or wait, read from the database before anything is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hive_views.errors import UpgradeError
from hive_views.schema_upgrade import journal
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.plan_model import Kind
from hive_views.schema_upgrade.schema import VIEW_TABLES, Obstacle, Schema
from hive_views.schema_upgrade.session import Session

_COPIES = (Kind.WIDEN, Kind.RECODE)
_ALTERS = (Kind.ADD_COLUMN, *_COPIES, Kind.OWNER)
_ROWS = (Kind.FIRST_ROW, Kind.FILL, Kind.BACK_FILL, Kind.REPAIR)
_ALL = tuple(Kind)

_MYSQL_RIGHTS = (
    ("ALTER", _ALTERS),
    ("INDEX", (Kind.CREATE_INDEX,)),
    ("REFERENCES", (Kind.CREATE_TABLE,)),
    # Every step writes the journal.
    ("CREATE", _ALL),
    ("SELECT", _ALL),
    ("INSERT", _ALL),
    ("UPDATE", _ALL),
    ("DELETE", _ALL),
)
"""The privileges on the database that steps need."""

LONG_TRANSACTION_S = 10
"""The age, in seconds, from which an open transaction is an obstacle: a statement that waits for it blocks all others
that queue behind it."""

_NOTED_BYTES = 1 << 20
"""The size, in bytes, from which a plan has a note about the disk space that a copy of a table needs."""


def find_obstacles(
    session: Session, schema: Schema, *, long_transaction_s: float = LONG_TRANSACTION_S
) -> tuple[Obstacle, ...]:
    """Return the obstacles to steps of any plan for a schema."""
    find = {Database.POSTGRESQL: _postgresql, Database.MARIADB: _mysql, Database.MYSQL: _mysql}.get(
        session.dialect.name
    )
    return tuple(find(session, schema, long_transaction_s)) if find else ()


def check_rollback(session: Session, *, schema: bool) -> None:
    """On MySQL and MariaDB, reject a user who may not see the backup, or may not lock tables to undo schema steps."""
    if not session.dialect.name.is_mysql or _has_role(session):
        return
    granted = _granted(session)
    if "SELECT" not in granted:
        raise UpgradeError(
            session.address.place,
            f"the user has no privilege SELECT on the whole database, so the server may hide {journal.JOURNAL.name} "
            f"and {journal.BACKUP.name}: GRANT SELECT ON the database, or connect as another user",
        )
    if missing := [name for name in ("ALTER", "DROP", "INDEX", "LOCK TABLES") if schema and name not in granted]:
        raise UpgradeError(
            session.address.place,
            f"the user lacks privileges on the whole database: GRANT {', '.join(missing)} ON the database",
        )


def _obstacle(kinds: tuple[Kind, ...], reason: str, table: str = "", *, is_note: bool = False) -> Obstacle:
    return Obstacle(table, tuple(kind.value for kind in kinds), reason, is_note=is_note)


def _postgresql(session: Session, schema: Schema, long_transaction_s: float) -> Iterator[Obstacle]:
    if session.query("SELECT pg_is_in_recovery()")[0][0]:
        yield _obstacle(_ALL, "the server is a standby, which is read-only: connect to the primary")
    if session.query("SELECT current_setting('default_transaction_read_only')")[0][0] == "on":
        yield _obstacle(_ALL, "transactions are read-only: ALTER ROLE … SET default_transaction_read_only = off")
    user, can_create = session.query(
        "SELECT quote_ident(current_user), has_schema_privilege(current_user, current_schema(), 'CREATE')"
    )[0]
    if not can_create:
        reason = f"{user} may not create tables in the schema: GRANT CREATE ON SCHEMA {_name(session)} TO {user}"
        yield _obstacle(_ALL, reason)
    rights = session.query(
        "SELECT c.relname, quote_ident(pg_get_userbyid(c.relowner)), pg_has_role(current_user, c.relowner, 'USAGE'), "
        "has_table_privilege(current_user, c.oid, 'SELECT'), has_table_privilege(current_user, c.oid, 'UPDATE'), "
        "has_table_privilege(current_user, c.oid, 'INSERT'), has_table_privilege(current_user, c.oid, 'DELETE') "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')"
    )
    for table, owner, owns, reads, updates, inserts, deletes in rights:
        if not owns:
            yield _obstacle(
                (*_ALTERS, Kind.CREATE_INDEX),
                f"{user} does not own {table}: connect as {owner}, or GRANT {owner} TO {user}",
                table,
            )
        if not (reads and updates and (inserts or table == "TBLS")):
            yield _obstacle(_ROWS, f"{user} may not read and change {table}: connect as {owner}", table)
        if table in (journal.JOURNAL.name, journal.BACKUP.name) and not (reads and inserts and updates and deletes):
            yield _obstacle(_ALL, f"{user} may not write {table}: connect as {owner}")
    readers = session.query(
        "SELECT DISTINCT t.relname, a.attname, v.relname FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid "
        "JOIN pg_class v ON v.oid = r.ev_class JOIN pg_class t ON t.oid = d.refobjid AND t.oid <> v.oid "
        "JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid "
        "JOIN pg_namespace n ON n.oid = t.relnamespace WHERE d.classid = 'pg_rewrite'::regclass "
        "AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0 AND n.nspname = current_schema() "
        "ORDER BY 1, 2, 3"
    )
    for table, column, view in readers:
        reason = f"the view {view} reads {column}, so its type cannot change: drop the view, and create it again later"
        yield Obstacle(table, (Kind.WIDEN.value,), reason, (column,))
    yield from _postgresql_locks(session, long_transaction_s)
    yield from _postgresql_replication(session)
    sizes = session.query(
        "SELECT c.relname, pg_total_relation_size(c.oid), pg_relation_filepath(c.oid), "
        "(SELECT setting FROM pg_settings WHERE name = 'data_directory') FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'"
    )
    # New versions of changed rows, and indexes, take as much space as the table at most.
    yield from _disk_space(schema, sizes, (Kind.FILL, Kind.BACK_FILL, Kind.REPAIR, Kind.CREATE_INDEX))


def _name(session: Session) -> str:
    return str(session.query("SELECT quote_ident(current_schema())")[0][0])


def _postgresql_locks(session: Session, long_transaction_s: float) -> Iterator[Obstacle]:
    """Old transactions with locks on the tables; those of other users are visible to members of pg_monitor only.

    PostgreSQL cancels an autovacuum that blocks a statement, unless it prevents wraparound of transaction IDs.
    """
    locks = session.query(
        "SELECT c.relname, p.gid, l.pid, COALESCE(a.usename, a.backend_type), "
        "CAST(EXTRACT(EPOCH FROM clock_timestamp() - COALESCE(p.prepared, a.xact_start)) AS bigint) AS age "
        "FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace "
        "LEFT JOIN pg_stat_activity a ON a.pid = l.pid "
        "LEFT JOIN pg_locks x ON l.pid IS NULL AND x.locktype = 'transactionid' "
        "AND x.virtualtransaction = l.virtualtransaction "
        "LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid "
        "WHERE l.granted AND n.nspname = current_schema() AND c.relkind = 'r' "
        "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
        "AND l.pid IS DISTINCT FROM pg_backend_pid() "
        "AND (a.backend_type IS DISTINCT FROM 'autovacuum worker' OR a.query LIKE '%(to prevent wraparound)%') "
        "ORDER BY 1, 2, 3"
    )
    for table, prepared, pid, user, age in dict.fromkeys(locks):
        if table.upper() not in VIEW_TABLES or age is None or age < long_transaction_s:
            continue
        reason = f"a transaction of {user} has locked {table} for {age} s: SELECT pg_terminate_backend({pid})"
        if prepared is not None:
            reason = (
                f"the prepared transaction {prepared!r} has locked {table} for {age} s: COMMIT PREPARED or ROLLBACK "
                "PREPARED it"
            )
        yield _obstacle(_ALL, reason, table)


def _postgresql_replication(session: Session) -> Iterator[Obstacle]:
    names, commit = session.query(
        "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit')"
    )[0]
    states = {row[0] for row in session.query("SELECT sync_state FROM pg_stat_replication")}
    # The state is NULL for users who may not see it.
    if names and commit not in ("off", "local") and not states & {"sync", "quorum", None}:
        yield _obstacle(
            _ALL,
            f"no standby of synchronous_standby_names ({names}) is connected, so every commit would wait: start it, "
            "or ALTER ROLE … SET synchronous_commit = local",
        )
    published = session.query(
        "SELECT DISTINCT tablename, pubname FROM pg_publication_tables WHERE schemaname = current_schema() "
        "ORDER BY 1, 2"
    )
    for table, publication in published:
        if table.upper() in VIEW_TABLES:
            yield _obstacle(
                (*_ALTERS, Kind.CREATE_INDEX),
                f"the publication {publication} has {table}, and logical replication does not replicate changes of "
                "tables: run the rendered script on the subscribers first",
                table,
                is_note=True,
            )


def _mysql(session: Session, schema: Schema, long_transaction_s: float) -> Iterator[Obstacle]:
    settings = {
        str(name).lower(): str(value).upper()
        for name, value in session.query(
            "SHOW VARIABLES WHERE Variable_name IN ('read_only', 'innodb_read_only', 'tx_read_only', "
            "'transaction_read_only', 'log_bin', 'binlog_format', 'wsrep_on', 'innodb_force_primary_key', "
            "'sql_require_primary_key')"
        )
    }
    granted = _granted(session)
    for name in ("read_only", "innodb_read_only", "tx_read_only", "transaction_read_only"):
        if settings.get(name, "OFF") not in ("OFF", "0"):
            # Users with SUPER could write, and a replica would differ from its primary.
            reason = "the server is read-only, as replicas are: connect to the primary, or turn the variable off"
            yield _obstacle(_ALL, f"{reason} ({name})")
    if not _has_role(session):
        user = session.query("SELECT CURRENT_USER()")[0][0]
        for privilege, kinds in _MYSQL_RIGHTS:
            if privilege not in granted:
                yield _obstacle(kinds, f"{user} lacks the privilege {privilege}: GRANT {privilege} ON the database")
        tbls = schema.table("TBLS")
        if tbls and tbls.grants and not _may_grant(session):
            reason = f"{user} lacks GRANT OPTION for the privileges that {tbls.grants[0][0]} has on TBLS"
            yield _obstacle((Kind.CREATE_TABLE, Kind.OWNER), f"{reason}: GRANT … WITH GRANT OPTION")
    if settings.get("log_bin") == "ON" and settings.get("binlog_format") == "STATEMENT":
        yield _obstacle(
            _ALL,
            "binlog_format is STATEMENT, in which the server rejects changes of rows in READ COMMITTED: "
            "SET GLOBAL binlog_format = MIXED",
        )
    if "ON" in (settings.get("innodb_force_primary_key"), settings.get("sql_require_primary_key")):
        reason = "the server rejects tables without a primary key, which Hive's script creates: turn "
        reason += "innodb_force_primary_key or sql_require_primary_key off meanwhile"
        yield Obstacle("", (Kind.CREATE_TABLE.value,), reason, unless="PRIMARY KEY")
    if settings.get("wsrep_on") == "ON":
        reason = "all nodes of a Galera cluster run each ALTER TABLE at the same time, and all their writers wait"
        yield _obstacle(_ALTERS, reason, is_note=True)
    elif settings.get("log_bin") == "ON":
        reason = "replicas repeat an ALTER TABLE that copies its table after the primary, and lag meanwhile"
        yield _obstacle(_COPIES, reason, is_note=True)
    yield from _mysql_transactions(session, granted, long_transaction_s)
    sizes = session.query(
        "SELECT TABLE_NAME, DATA_LENGTH + INDEX_LENGTH, CONCAT(DATABASE(), '/', TABLE_NAME, '.ibd'), @@datadir "
        "FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'"
    )
    yield from _disk_space(schema, sizes, _COPIES)
    yield from _row_formats(session, schema)


def _mysql_transactions(session: Session, granted: set[str], long_transaction_s: float) -> Iterator[Obstacle]:
    """Old transactions of sessions that use the database, and prepared ones; only users with PROCESS see them."""
    if "PROCESS" not in granted:
        return
    open_transactions = session.query(
        "SELECT t.trx_mysql_thread_id, p.USER, p.HOST, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) "
        "FROM INFORMATION_SCHEMA.INNODB_TRX t "
        "LEFT JOIN INFORMATION_SCHEMA.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id "
        "WHERE (p.DB = DATABASE() OR t.trx_mysql_thread_id = 0) AND t.trx_mysql_thread_id <> CONNECTION_ID() "
        "ORDER BY 1"
    )
    for thread, user, host, age in open_transactions:
        if age < long_transaction_s:
            continue
        owner, remedy = f"a transaction of {user} from {host}", f"KILL {thread}"
        if not thread:
            owner, remedy = "a prepared transaction", "XA COMMIT or XA ROLLBACK it (XA RECOVER lists it)"
        yield _obstacle(
            (*_ALTERS, Kind.CREATE_INDEX, Kind.CREATE_TABLE),
            f"{owner} has been open for {age} s, and ALTER TABLE waits for transactions that have read the table: "
            f"{remedy}",
        )


def _disk_space(schema: Schema, sizes: list[tuple[str, int, str, str]], kinds: tuple[Kind, ...]) -> Iterator[Obstacle]:
    """Yield the disk space for copies of tables; free space is known only if the server's files are on this machine."""
    for table, size, file, directory in sizes:
        if table.upper() not in VIEW_TABLES or int(size or 0) < _NOTED_BYTES:
            continue
        needed = f"up to {-(-int(size) >> 20)} MB of disk space for a copy of {table}"
        free = None
        if directory is not None:
            with suppress(OSError):
                Path(directory, file).stat()
                disk = os.statvfs(directory)
                free = disk.f_bavail * disk.f_frsize
        if free is not None and free < int(size):
            yield _obstacle(kinds, f"it needs {needed}, and {directory} has {free >> 20} MB: make room", table)
        elif free is None:
            yield _obstacle(kinds, f"check that the server has {needed}", table, is_note=True)


def _row_formats(session: Session, schema: Schema) -> Iterator[Obstacle]:
    """Columns that become too long for an index in older row formats."""
    sizes = {
        name: int(size)
        for name, size in session.query("SELECT CHARACTER_SET_NAME, MAXLEN FROM INFORMATION_SCHEMA.CHARACTER_SETS")
    }
    formats = session.query(
        "SELECT TABLE_NAME, ROW_FORMAT FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() "
        "AND ROW_FORMAT IN ('Compact', 'Redundant')"
    )
    for name, row_format in formats:
        table = schema.table(name)
        for column in table.columns if table else ():
            size = sizes.get(column.charset, 1)
            # Indexed columns may have 767 bytes in these formats; names become 256 characters long.
            if table and size * max(column.length or 0, 256) > 767 and column.name in ("TBL_NAME", "PARAM_KEY"):
                yield Obstacle(
                    name,
                    (Kind.CREATE_INDEX.value, Kind.WIDEN.value),
                    f"the row format {row_format.upper()} allows 767 bytes of a column in an index, and {column.name} "
                    f"needs {256 * size} in {column.charset}: ALTER TABLE {session.dialect.quote(name)} "
                    "ROW_FORMAT=DYNAMIC",
                    (column.name,),
                )


_ME = "CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')"


def _granted(session: Session) -> set[str]:
    """The privileges of the user on the whole database. The server hides tables on which a user has no privileges."""
    grantees = f"GRANTEE IN ({_ME}, '''PUBLIC''@''''', 'PUBLIC')"
    rows = session.query(
        f"SELECT PRIVILEGE_TYPE FROM INFORMATION_SCHEMA.USER_PRIVILEGES WHERE {grantees} UNION "
        f"SELECT PRIVILEGE_TYPE FROM INFORMATION_SCHEMA.SCHEMA_PRIVILEGES WHERE {grantees} "
        "AND DATABASE() LIKE TABLE_SCHEMA"
    )
    return {str(row[0]).upper() for row in rows}


def _may_grant(session: Session) -> bool:
    """Return whether the user may grant privileges on new tables."""
    rows = session.query(
        f"SELECT 1 FROM INFORMATION_SCHEMA.USER_PRIVILEGES WHERE GRANTEE = {_ME} AND IS_GRANTABLE = 'YES' UNION "
        f"SELECT 1 FROM INFORMATION_SCHEMA.SCHEMA_PRIVILEGES WHERE GRANTEE = {_ME} AND IS_GRANTABLE = 'YES' "
        "AND DATABASE() LIKE TABLE_SCHEMA"
    )
    return bool(rows)


def _has_role(session: Session) -> bool:
    """Return whether a role is active, whose privileges `_granted` does not list."""
    return session.query("SELECT CURRENT_ROLE()")[0][0] not in (None, "NONE")
