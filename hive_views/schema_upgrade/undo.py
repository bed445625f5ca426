"""How a schema step is undone, computed from its ID: SQL stored in a database is never executed."""

from __future__ import annotations

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.plan_model import Undo
from hive_views.schema_upgrade.requirements import ADDITIONS, INDEXES, TABLES


def undo_of(sql: Dialect, step_id: str, table: str) -> Undo | None:
    """How a step is undone; `table` is the stored name of its table. None if it is not undone."""
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
