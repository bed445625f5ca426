"""Schemas as Hive's scripts create them, for scripts that are rendered without a connection."""

from __future__ import annotations

import re

from hive_views.errors import UsageError
from hive_views.schema_upgrade import versions
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.planner import KNOWN, added_columns, table_at
from hive_views.schema_upgrade.requirements import BIGINT, INDEXES, TABLES, WIDENINGS, NeededColumn, Type, TypeKind
from hive_views.schema_upgrade.schema import Column, Index, Rows, Schema, Table

_HIVE_TYPES = {
    (TypeKind.VIEW_TEXT, "mysql"): "mediumtext character set latin1",
    (TypeKind.VIEW_TEXT, "mssql"): "text",
    (TypeKind.PARAMETER, "derby"): "clob",
    (TypeKind.PARAMETER, "mssql"): "varchar(max)",
}
"""Types in Hive's scripts that differ from the types that views need, by kind and database."""


def assumed_schema(dialect: str, version: str) -> Schema:
    """Return the schema that Hive's scripts create, for rendering a script without a connection.

    Args:
        dialect: The database, one of `hive_views.schema_upgrade.dialects.registry.NAMES`.
        version: The version of Hive.

    Returns:
        The tables that plans may change, with the columns that views need.

    Raises:
        UsageError: If the version is not valid.
    """
    schema_version = versions.known_version(version)
    if schema_version is None:
        raise UsageError("--from", f"{version!r} is not a known version of Hive: {KNOWN}")
    sql = dialect_of(dialect)
    required = {
        "TBLS": (
            NeededColumn("TBL_ID", BIGINT, nullable=False),
            NeededColumn("DB_ID", BIGINT),
            NeededColumn("SD_ID", BIGINT),
            NeededColumn("TBL_NAME", Type(TypeKind.VARCHAR, 256)),
            *added_columns("TBLS", schema_version),
        ),
        "TABLE_PARAMS": (
            NeededColumn("TBL_ID", BIGINT, nullable=False),
            NeededColumn("PARAM_KEY", Type(TypeKind.VARCHAR, 256), nullable=False),
            NeededColumn("PARAM_VALUE", Type(TypeKind.PARAMETER)),
        ),
        **{
            table.name: table_at(table, schema_version).columns
            for table in TABLES
            if versions.at_least(schema_version, table.since)
        },
    }
    tables = tuple(
        Table(
            name=name,
            columns=tuple(_assumed_column(sql, name, column, schema_version) for column in columns),
            indexes=tuple(
                Index(index.name, index.columns) for index in INDEXES if index.table == name and index.is_hives
            ),
        )
        for name, columns in required.items()
    )
    # Before 0.12 there is no table VERSION, but the assumed tables are too few to infer the version.
    return Schema(dialect=sql.name, tables=tables, version_rows=(schema_version,), rows=Rows(counted=False))


def _assumed_column(sql: Dialect, table: str, column: NeededColumn, version: str) -> Column:
    """Return a column as Hive's scripts declare it; of several types, the one that a script has to change."""
    kind = column.type
    for widening in WIDENINGS:
        if (widening.table, widening.column) == (table, column.name) and kind.kind is not TypeKind.VIEW_TEXT:
            narrow = {"PARAM_VALUE": 4000}.get(column.name, 128)
            since = widening.since or "2.2.0"
            kind = kind if versions.at_least(version, since) else Type(TypeKind.VARCHAR, narrow)
    declared = _HIVE_TYPES.get((kind.kind, sql.hive_name)) or sql.type(kind)
    match = re.match(r"([a-z ]+?)(?:2?\((\w+)\))?(?: character set (\w+).*)?$", declared.lower())
    assert match is not None, declared
    name, length, charset = match.groups()
    name = {"varchar": "varchar2"}.get(name, name) if sql.name == Database.ORACLE else name
    size = {None: None, "max": -1}.get(length, length) if "char" in name else None
    return Column(
        name=column.name,
        type=name,
        length=None if size is None else int(size),
        nullable=column.nullable,
        default=column.default,
        charset=charset,
    )
