"""Conditions that would make steps of an upgrade fail, read from the database before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator

from hive_views.schema_upgrade import journal
from hive_views.schema_upgrade.plan_model import Kind
from hive_views.schema_upgrade.schema import Obstacle, Schema
from hive_views.schema_upgrade.session import Session

_ALTERS = (Kind.ADD_COLUMN, Kind.WIDEN, Kind.RECODE, Kind.OWNER)
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


def find_obstacles(session: Session, schema: Schema) -> tuple[Obstacle, ...]:
    """The obstacles to steps of any plan for a schema."""
    find = {"postgresql": _postgresql, "mariadb": _mysql, "mysql": _mysql}.get(session.dialect.name)
    return tuple(find(session, schema)) if find else ()


def _obstacle(kinds: tuple[Kind, ...], reason: str, table: str = "") -> Obstacle:
    return Obstacle(table, tuple(kind.value for kind in kinds), reason)


def _postgresql(session: Session, schema: Schema) -> Iterator[Obstacle]:
    if session.query("SELECT pg_is_in_recovery()")[0][0]:
        yield _obstacle(_ALL, "the server is a standby, which is read-only: connect to the primary")
    if session.query("SELECT current_setting('default_transaction_read_only')")[0][0] == "on":
        yield _obstacle(_ALL, "transactions are read-only: ALTER ROLE … SET default_transaction_read_only = off")
    user, can_create = session.query(
        "SELECT current_user, has_schema_privilege(current_user, current_schema(), 'CREATE')"
    )[0]
    if not can_create:
        reason = f"{user} may not create tables in the schema: GRANT CREATE ON SCHEMA {_name(session)} TO {user}"
        yield _obstacle(_ALL, reason)
    rights = session.query(
        "SELECT c.relname, pg_get_userbyid(c.relowner), pg_has_role(current_user, c.relowner, 'USAGE'), "
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


def _name(session: Session) -> str:
    return str(session.query("SELECT quote_ident(current_schema())")[0][0])


def _mysql(session: Session, schema: Schema) -> Iterator[Obstacle]:
    if int(session.query("SELECT @@global.read_only")[0][0]) and not _has(session, "SUPER", "READ ONLY ADMIN"):
        yield _obstacle(_ALL, "the server is read-only, as replicas are: connect to the primary")
    if session.query("SELECT CURRENT_ROLE()")[0][0] in (None, "NONE"):
        granted = _granted(session)
        for privilege, kinds in _MYSQL_RIGHTS:
            if privilege not in granted:
                user = session.query("SELECT CURRENT_USER()")[0][0]
                yield _obstacle(kinds, f"{user} lacks the privilege {privilege}: GRANT {privilege} ON the database")
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


def _granted(session: Session) -> set[str]:
    """The privileges of the user on the database, and on all tables of it."""
    me = "CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')"
    grantees = f"GRANTEE IN ({me}, '''PUBLIC''@''''', 'PUBLIC')"
    rows = session.query(
        f"SELECT PRIVILEGE_TYPE FROM INFORMATION_SCHEMA.USER_PRIVILEGES WHERE {grantees} UNION "
        f"SELECT PRIVILEGE_TYPE FROM INFORMATION_SCHEMA.SCHEMA_PRIVILEGES WHERE {grantees} "
        "AND DATABASE() LIKE TABLE_SCHEMA UNION "
        f"SELECT PRIVILEGE_TYPE FROM INFORMATION_SCHEMA.TABLE_PRIVILEGES WHERE {grantees} "
        "AND TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'TBLS'"
    )
    return {str(row[0]).upper() for row in rows}


def _has(session: Session, *privileges: str) -> bool:
    return not _granted(session).isdisjoint(privileges)
