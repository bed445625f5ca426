"""Detection of a metastore schema: columns, types, indexes, version, vendor, and findings about rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hive_views.errors import NotAMetastoreError
from hive_views.schema_upgrade import view_texts
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.obstacles import find_obstacles
from hive_views.schema_upgrade.requirements import PRIMITIVES
from hive_views.schema_upgrade.row_changes import count_rows_by_kind
from hive_views.schema_upgrade.schema import Column, Index, Rows, Schema, Table
from hive_views.schema_upgrade.session import Session
from hive_views.schema_upgrade.table_types import decide

OWN_TABLE_PREFIX = "HIVE_VIEWS_"
"""Prefix of the tables that this package creates; they are not part of the metastore's schema."""

_KEY_COLUMNS = {
    "TBLS": ("TBL_ID", "DB_ID", "SD_ID", "TBL_NAME", "CREATE_TIME"),
    "TABLE_PARAMS": ("TBL_ID", "PARAM_KEY", "PARAM_VALUE"),
    "DBS": ("DB_ID", "NAME"),
    "SDS": ("SD_ID", "LOCATION"),
}
"""Columns that these tables have in every version of Hive since 0.3."""


def detect(session: Session, *, rows: bool = True) -> Schema:
    """Read a schema.

    Args:
        session: The database.
        rows: Whether rows are examined as well.

    Raises:
        NotAMetastoreError: If the database has no tables TBLS and TABLE_PARAMS.
        DatabaseError: If the database fails.
    """
    read = {Database.POSTGRESQL: _postgresql, Database.DERBY: _derby}.get(session.dialect.name, _mysql)
    found = sorted(read(session), key=lambda table: table.name)
    own_tables = frozenset(table.name.upper() for table in found if table.name.upper().startswith(OWN_TABLE_PREFIX))
    tables = tuple(table for table in found if table.name.upper() not in own_tables)
    schema = Schema(
        dialect=session.dialect.name,
        tables=tables,
        server=session.server,
        place=session.address.place,
        own_tables=own_tables,
    )
    if schema.table("TBLS") is None or schema.table("TABLE_PARAMS") is None:
        session.rollback()
        where = f"schema {session.address.schema}" if session.address.schema else "the user's schema"
        raise NotAMetastoreError(
            session.address.place, f"it is not a metastore: {where} has no tables TBLS and TABLE_PARAMS"
        )
    for table_name, columns in _KEY_COLUMNS.items():
        if missing := [column for column in columns if schema.column(table_name, column) is None]:
            session.rollback()
            raise NotAMetastoreError(
                session.address.place,
                f"it is not a metastore: {table_name} has no column {', '.join(missing)}, so it belongs to another "
                "program",
            )
    vendor, vendor_version = _vendor(session, schema)
    schema = replace(
        schema,
        version_rows=_version_rows(session, schema),
        vendor=vendor,
        vendor_version=vendor_version,
        rows=_rows(session, schema) if rows else Rows(),
        db_schema=_db_schema(session),
        obstacles=find_obstacles(session, schema),
    )
    session.rollback()
    return schema


def _db_schema(session: Session) -> str:
    sql = {Database.POSTGRESQL: "SELECT current_schema()", Database.DERBY: "VALUES CURRENT SCHEMA"}.get(
        session.dialect.name
    )
    return str(session.query(sql)[0][0]) if sql else ""


def _mysql(session: Session) -> list[Table]:
    columns = session.query(
        "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, IS_NULLABLE, COLUMN_DEFAULT, "
        "CHARACTER_SET_NAME, COLLATION_NAME, COLUMN_COMMENT FROM INFORMATION_SCHEMA.COLUMNS "
        "WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION"
    )
    indexes = session.query(
        "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, NON_UNIQUE FROM INFORMATION_SCHEMA.STATISTICS "
        "WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
    )
    engines = dict(
        session.query("SELECT TABLE_NAME, ENGINE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE()")
    )
    # Users with privileges on the whole database need none on single tables.
    grants = session.query(
        "SELECT t.TABLE_NAME, t.GRANTEE, t.PRIVILEGE_TYPE FROM INFORMATION_SCHEMA.TABLE_PRIVILEGES t "
        "WHERE t.TABLE_SCHEMA = DATABASE() AND t.PRIVILEGE_TYPE IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') "
        "AND NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.SCHEMA_PRIVILEGES s WHERE s.GRANTEE = t.GRANTEE "
        "AND s.PRIVILEGE_TYPE = t.PRIVILEGE_TYPE AND DATABASE() LIKE s.TABLE_SCHEMA) "
        "AND NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.USER_PRIVILEGES u WHERE u.GRANTEE = t.GRANTEE "
        "AND u.PRIVILEGE_TYPE = t.PRIVILEGE_TYPE) ORDER BY 1, 2, 3"
    )
    tables = _tables(
        (
            (
                table,
                Column(
                    name=name,
                    type=kind.lower(),
                    length=_length(kind, length),
                    nullable=nullable == "YES",
                    default=default,
                    charset=charset,
                    collation=collation,
                    comment=comment or None,
                ),
            )
            for table, name, kind, length, nullable, default, charset, collation, comment in columns
        ),
        ((table, name, column, not int(other), name == "PRIMARY") for table, name, column, other in indexes),
    )
    return [
        replace(
            table,
            engine=engines.get(table.name),
            grants=tuple((grantee, privilege) for name, grantee, privilege in grants if name == table.name),
        )
        for table in tables
    ]


def _postgresql(session: Session) -> list[Table]:
    columns = session.query(
        # information_schema hides tables on which the user has no privileges.
        "SELECT c.relname, a.attname, t.typname, "
        "CASE WHEN t.typname IN ('varchar', 'bpchar') AND a.atttypmod > 0 THEN a.atttypmod - 4 END, "
        "NOT a.attnotnull, pg_get_expr(d.adbin, d.adrelid), l.collname FROM pg_attribute a "
        "JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_type t ON t.oid = a.atttypid "
        "LEFT JOIN pg_collation l ON l.oid = a.attcollation AND a.attcollation <> t.typcollation "
        "LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
        "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped "
        "ORDER BY c.relname, a.attnum"
    )
    owners = session.query(
        "SELECT c.relname, pg_get_userbyid(c.relowner), COALESCE(pg_get_userbyid(NULLIF(x.grantee, 0)), 'PUBLIC'), "
        "x.privilege_type, x.grantee = c.relowner, "
        "o.relowner IS NULL OR (has_table_privilege(o.relowner, c.oid, 'SELECT') "
        "AND has_table_privilege(o.relowner, c.oid, 'INSERT') AND has_table_privilege(o.relowner, c.oid, 'UPDATE') "
        "AND has_table_privilege(o.relowner, c.oid, 'DELETE')) "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "LEFT JOIN pg_class o ON o.relnamespace = n.oid AND o.relname = 'TBLS' "
        "LEFT JOIN LATERAL aclexplode(c.relacl) x "
        "ON x.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') "
        "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') ORDER BY 1, 3, 4"
    )
    grants: dict[str, tuple[str, bool, list[tuple[str, str]]]] = {}
    for table, owner, grantee, privilege, is_owner, is_usable in owners:
        entry = grants.setdefault(table, (owner, is_usable, []))
        if privilege is not None and not is_owner:
            entry[2].append((grantee, privilege))
    indexes = session.query(
        # Partial and invalid indexes, and indexed expressions, do not serve lookups by columns.
        "SELECT t.relname, i.relname, CASE WHEN x.indisvalid AND x.indpred IS NULL THEN COALESCE(a.attname, '') "
        "ELSE '' END, x.indisunique, x.indisprimary FROM pg_index x "
        "JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid "
        "JOIN pg_namespace n ON n.oid = t.relnamespace "
        "CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k(attnum, place) "
        "LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum "
        "WHERE n.nspname = current_schema() ORDER BY t.relname, i.relname, k.place"
    )
    tables = _tables(
        (
            (
                table,
                Column(name=name, type=kind, length=length, nullable=nullable, default=default, collation=collation),
            )
            for table, name, kind, length, nullable, default, collation in columns
        ),
        indexes,
    )
    return [
        replace(table, owner=owner, grants=tuple(dict.fromkeys(listed)), is_usable=is_usable)
        for table in tables
        for owner, is_usable, listed in [grants[table.name]]
    ]


def _derby(session: Session) -> list[Table]:
    columns = session.query(
        "SELECT t.TABLENAME, c.COLUMNNAME, CAST(c.COLUMNDATATYPE AS VARCHAR(128)), "
        "CAST(c.COLUMNDEFAULT AS VARCHAR(200)), c.COLUMNNUMBER "
        "FROM SYS.SYSCOLUMNS c JOIN SYS.SYSTABLES t ON c.REFERENCEID = t.TABLEID "
        "JOIN SYS.SYSSCHEMAS s ON t.SCHEMAID = s.SCHEMAID WHERE s.SCHEMANAME = CURRENT SCHEMA AND t.TABLETYPE = 'T' "
        "ORDER BY t.TABLENAME, c.COLUMNNUMBER"
    )
    names: dict[tuple[str, int], str] = {}
    described: list[tuple[str, Column]] = []
    for table, name, text, default, number in columns:
        names[table, number] = name
        kind = re.sub(r"\s+NOT NULL$", "", text)
        length = re.search(r"\((\d+)\)", kind)
        plain = re.sub(r"\(.*\)", "", kind).strip().lower()
        size = int(length[1]) if length and plain in ("varchar", "char") else None
        described.append(
            (table, Column(name=name, type=plain, length=size, nullable=not text.endswith("NOT NULL"), default=default))
        )
    indexes = session.query(
        "SELECT t.TABLENAME, g.CONGLOMERATENAME, CAST(g.DESCRIPTOR AS VARCHAR(200)), k.TYPE, k.CONSTRAINTNAME "
        "FROM SYS.SYSCONGLOMERATES g JOIN SYS.SYSTABLES t ON g.TABLEID = t.TABLEID "
        "JOIN SYS.SYSSCHEMAS s ON t.SCHEMAID = s.SCHEMAID "
        "LEFT JOIN SYS.SYSKEYS y ON y.CONGLOMERATEID = g.CONGLOMERATEID "
        "LEFT JOIN SYS.SYSCONSTRAINTS k ON k.CONSTRAINTID = y.CONSTRAINTID "
        "WHERE s.SCHEMANAME = CURRENT SCHEMA AND g.ISINDEX ORDER BY t.TABLENAME, g.CONGLOMERATENAME"
    )
    keyed: dict[tuple[str, str], list[tuple[str, str, str, bool, bool]]] = {}
    for table, name, descriptor, kind, constraint in indexes:
        positions = re.search(r"\(([\d, ]+)\)", descriptor)
        indexed = [names[table, int(position)] for position in (positions[1] if positions else "").split(",")]
        unique = descriptor.upper().startswith("UNIQUE") or kind in ("P", "U")
        # Generated names differ between databases.
        is_generated = (constraint is None and name.startswith("SQL")) or (constraint or "").startswith("SQL")
        display_name = f"on {', '.join(indexed)}" if is_generated else constraint or name
        keyed.setdefault(
            (table, display_name), [(table, display_name, column, unique, kind == "P") for column in indexed]
        )
    return _tables(described, (row for key in sorted(keyed) for row in keyed[key]))


def _tables(columns: Iterable[tuple[str, Column]], indexes: Iterable[Any]) -> list[Table]:
    by_table: dict[str, list[Column]] = defaultdict(list)
    for table, column in columns:
        by_table[table].append(column)
    keyed: dict[str, dict[str, list[Any]]] = defaultdict(dict)
    for table, name, column, unique, primary in indexes:
        keyed[table].setdefault(name, [[], bool(unique), bool(primary)])[0].append(column)
    return [
        Table(
            name=table,
            columns=tuple(table_columns),
            indexes=tuple(
                Index(name, tuple(indexed), unique, primary)
                for name, (indexed, unique, primary) in sorted(keyed.get(table, {}).items())
            ),
        )
        for table, table_columns in by_table.items()
    ]


def _length(kind: str, length: Any) -> int | None:
    return int(length) if kind.lower() in ("varchar", "char") and length is not None else None


def _version_rows(session: Session, schema: Schema) -> tuple[str, ...]:
    table = schema.table("VERSION")
    if table is None or table.column("SCHEMA_VERSION") is None:
        return ()
    rows = session.query(session.dialect.sql(f"SELECT [SCHEMA_VERSION] FROM [{table.name}] ORDER BY [VER_ID]"))
    return tuple(str(row[0]) for row in rows)


def _vendor(session: Session, schema: Schema) -> tuple[str | None, str | None]:
    """Vendor and its schema version: Cloudera's forks have a column in VERSION or a table CDH_VERSION."""
    for table_name, column in (("VERSION", "SCHEMA_VERSION_V2"), ("CDH_VERSION", "SCHEMA_VERSION")):
        if schema.column(table_name, column):
            rows = session.query(session.dialect.sql(f"SELECT [{column}] FROM [{table_name}]"))
            return "cdh", next((str(row[0]) for row in rows if row[0]), None)
    for version in _version_rows(session, schema):
        # CDP and HDP use numbers like 3.1.3000.7.1.7.0-551.
        if re.match(r"\d+\.\d+\.\d{4,}", version) or "-cdh" in version:
            return ("cdh" if "-cdh" in version else "cdp or hdp"), version
    return None, None


def _rows(session: Session, schema: Schema) -> Rows:
    quote = session.dialect.quote

    def count_nulls(table_name: str, columns: Sequence[str]) -> dict[str, int]:
        """For each column, the number of rows whose value is not valid for a primitive, counted in one scan."""
        table = schema.table(table_name)
        conditions = {}
        for name in columns:
            column = table.column(name) if table else None
            is_flag = name == "IS_REWRITE_ENABLED"
            if column and (column.nullable or is_flag):
                condition = session.dialect.bad_flag(quote(column.name)) if is_flag else f"{quote(column.name)} IS NULL"
                conditions[name] = f"COALESCE(SUM(CASE WHEN {condition} THEN 1 ELSE 0 END), 0)"
        if table is None or not conditions:
            return {}
        rows = session.query(f"SELECT {', '.join(conditions.values())} FROM {quote(table.name)}")
        return dict(zip(conditions, map(int, rows[0]), strict=True))

    def count(sql: str) -> int:
        return int(session.query(session.dialect.sql(sql))[0][0])

    def has(column: str) -> bool:
        return schema.column("TBLS", column) is not None

    has_types = has("TBL_TYPE") and has("VIEW_ORIGINAL_TEXT") and has("VIEW_EXPANDED_TEXT")
    kinds = [(row, decide(row), number) for row, number in count_rows_by_kind(session)] if has_types else []
    nulls = count_nulls("TBLS", ("IS_REWRITE_ENABLED", "WRITE_ID"))
    null_primitives = []
    for table, columns in PRIMITIVES.items():
        null_primitives += [(table, column, number) for column, number in count_nulls(table, columns).items() if number]
    counter = schema.table("NEXT_LOCK_ID")
    is_counter_empty = counter and not count(f"SELECT COUNT(*) FROM [{counter.name}]")
    length = "CHAR_LENGTH" if session.dialect.name.is_mysql else "LENGTH"
    damaged = view_texts.find_damaged_texts(session, schema)
    return Rows(
        tables=sum(number for _, _, number in kinds) if has_types else count("SELECT COUNT(*) FROM [TBLS]"),
        texts=sum(number for row, _, number in kinds if row.has_original or row.has_expanded),
        untyped=sum(number for row, _, number in kinds if row.table_type is None),
        to_type=sum(number for _, decision, number in kinds if decision.new is not None),
        has_doubtful=any(decision.doubt is not None for _, decision, _ in kinds),
        bad_flags=nulls.get("IS_REWRITE_ENABLED", 0),
        missing_write_ids=nulls.get("WRITE_ID", 0),
        null_primitives=tuple(null_primitives),
        is_lock_counter_empty=bool(is_counter_empty),
        longest_parameter=count(f"SELECT COALESCE(MAX({length}([PARAM_VALUE])), 0) FROM [TABLE_PARAMS]"),
        mangled=damaged.mangled,
        truncated=damaged.truncated,
        suspicious=damaged.suspicious,
    )
