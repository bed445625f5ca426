"""How a schema step is undone, computed from its ID. SQL that is stored in the database is never executed."""

from __future__ import annotations

import json
from dataclasses import asdict

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.plan_model import Undo
from hive_views.schema_upgrade.requirements import (
    REQUIREMENTS,
    Addition,
    NeededIndex,
    NeededTable,
    Recoding,
    Widening,
)
from hive_views.schema_upgrade.schema import Column
from hive_views.spec.json_text import parse_json

_ROW_IDS = {"HIVE_LOCKS": "HL_LOCK_EXT_ID"}
"""The columns that identify rows, where it is not TBL_ID."""


def declaration_of(column: Column) -> str:
    """Return a column's declaration for the journal."""
    return json.dumps(asdict(column), sort_keys=True)


def declared(text: str | None) -> Column | None:
    """Return the column that a declaration from the journal describes.

    None if it is invalid. Its values are not trusted.
    """
    try:
        values = parse_json(text or "")
        column = Column(**values)
    except (ValueError, TypeError):
        return None
    texts = (value for key, value in values.items() if key not in ("length", "nullable"))
    is_valid = isinstance(column.name, str) and all(value is None or isinstance(value, str) for value in texts)
    return column if is_valid else None


def undo_of(sql: Dialect, step_id: str, table: str, declaration: str | None = None) -> Undo | None:
    """How a step is undone on a table, given by its stored name; None if the step is not undone."""
    match REQUIREMENTS.get(step_id):
        case NeededTable(first_value=first_value):
            # A counter row does not prevent the drop of its table, since the metastore writes it itself.
            check = f"SELECT COUNT(*) FROM {sql.quote(table)}" if first_value is None else None
            return Undo(check, (sql.drop_table(table),))
        case NeededIndex(name=name):
            return Undo(None, (sql.drop_index(name, table),))
        case Addition(column=needed):
            column = sql.stored_name(needed.name, table)
            has_value = f"{sql.quote(column)} IS NOT NULL"
            if needed.default is not None:
                has_value += f" AND {sql.quote(column)} <> {sql.default(needed)}"
            check = f"SELECT COUNT(*) FROM {sql.quote(table)} WHERE {has_value}"
            return Undo(check, (sql.drop_column(table, column),))
        case Widening() | Recoding() as requirement:
            earlier = declared(declaration)
            if earlier is None or earlier.name.upper() != requirement.column:
                return None
            restoring = sql.restore(table, earlier)
            if restoring is None:
                return None
            statement, misfit = restoring
            key = sql.quote(sql.stored_name(_ROW_IDS.get(requirement.table, "TBL_ID"), table))
            check = f"SELECT COUNT(*), MIN({key}) FROM {sql.quote(table)} WHERE {misfit}"
            return Undo(check, (statement,), declaration)
    return None
