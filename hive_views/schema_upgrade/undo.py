"""How a schema step is undone, computed from its ID: SQL stored in a database is never executed."""

from __future__ import annotations

import json
from dataclasses import asdict

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.plan_model import Undo
from hive_views.schema_upgrade.requirements import ADDITIONS, CHARSET_COLUMNS, INDEXES, TABLES, WIDENINGS
from hive_views.schema_upgrade.schema import Column
from hive_views.spec.json_text import parse_json

_ROW_IDS = {"HIVE_LOCKS": "HL_LOCK_EXT_ID"}
"""The columns that identify rows, where it is not TBL_ID."""


def declaration_of(column: Column) -> str:
    """A column's declaration for the journal."""
    return json.dumps(asdict(column), sort_keys=True)


def declared(text: str | None) -> Column | None:
    """The column of a declaration from the journal; None if it is not one. Its values are not trusted."""
    try:
        values = parse_json(text or "")
        column = Column(**values)
    except (ValueError, TypeError):
        return None
    texts = (value for key, value in values.items() if key not in ("length", "nullable"))
    is_valid = isinstance(column.name, str) and all(value is None or isinstance(value, str) for value in texts)
    return column if is_valid else None


def undo_of(sql: Dialect, step_id: str, table: str, declaration: str | None = None) -> Undo | None:
    """How a step is undone; None if it is not undone."""
    required, _, change = step_id.rpartition(" ")
    if change in ("wide", "utf8mb4"):
        earlier = declared(declaration)
        columns = {f"{each.table}.{each.column}" for each in WIDENINGS} | {f"{t}.{c}" for t, c, _ in CHARSET_COLUMNS}
        if earlier is None or required not in columns or earlier.name.upper() != required.partition(".")[2]:
            return None
        restoring = sql.restore(table, earlier)
        if restoring is None:
            return None
        statement, misfit = restoring
        key = sql.quote(sql.stored_name(_ROW_IDS.get(required.partition(".")[0], "TBL_ID"), table))
        return Undo(f"SELECT COUNT(*), MIN({key}) FROM {sql.quote(table)} WHERE {misfit}", (statement,), declaration)
    required_table, is_index, index_name = step_id.partition(" index ")
    if is_index:
        if any((index.table, index.name) == (required_table, index_name) for index in INDEXES):
            return Undo(None, (sql.drop_index(index_name, table),))
        return None
    required_table, is_column, column_name = step_id.partition(".")
    if not is_column:
        needed = next((needed for needed in TABLES if needed.name == required_table), None)
        if needed is None:
            return None
        # The counter row of a table does not keep it: the metastore writes it itself.
        check = f"SELECT COUNT(*) FROM {sql.quote(table)}" if needed.first_value is None else None
        return Undo(check, (sql.drop_table(table),))
    for addition in ADDITIONS:
        if (addition.table, addition.column.name) == (required_table, column_name):
            column = sql.stored_name(column_name, table)
            has_value = f"{sql.quote(column)} IS NOT NULL"
            if addition.column.default is not None:
                has_value += f" AND {sql.quote(column)} <> {sql.default(addition.column)}"
            check = f"SELECT COUNT(*) FROM {sql.quote(table)} WHERE {has_value}"
            return Undo(check, (sql.drop_column(table, column),))
    return None
