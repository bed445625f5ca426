"""The TBL_TYPE that a row of TBLS should have: the rules of the proposal "Hive Views" and their limits.

Its section "Existing Row UPDATE" gives two statements: they set MANAGED_TABLE in rows with neither a view text nor the
parameter EXTERNAL=TRUE, and EXTERNAL_TABLE in rows with that parameter. Taken literally, the second statement turns
views into external tables (hive_views writes EXTERNAL=TRUE on its views), and the first one turns external tables
without the parameter into managed ones, and dropping these deletes the data. Here, as in the metastore itself, a row
with a view text is a view; only a missing type is filled in; and MANAGED_TABLE becomes EXTERNAL_TABLE if the parameter
is TRUE. Other rows whose type is in doubt are reported and left unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.schema import TableRow

MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"

HIVE_TYPES = (MANAGED, EXTERNAL, VIEW, "INDEX_TABLE", "MATERIALIZED_VIEW")
"""All table types of all Hive versions."""

_WITH_TEXT = (VIEW, "MATERIALIZED_VIEW", "INDEX_TABLE")


@dataclass(frozen=True)
class Decision:
    """The decision about a row."""

    new: str | None = None
    """The new type; None leaves the row unchanged."""
    doubt: str | None = None
    """Why no type could be determined, or how the row contradicts itself; None if the row is consistent."""


SETTLED = Decision()


def decide(row: TableRow) -> Decision:
    """Determine the type of a row."""
    external = (row.external or "FALSE").upper()
    if row.table_type is not None:
        return _check(row, external)
    if row.has_original:
        return Decision(VIEW)
    if row.has_expanded:
        return Decision(doubt="it has an expanded view text but no original text")
    if not row.has_storage:
        return Decision(doubt="it has neither a view text nor a storage descriptor")
    if external not in ("TRUE", "FALSE"):
        return Decision(doubt=f"its parameter EXTERNAL is {row.external!r}, neither TRUE nor FALSE")
    return Decision(EXTERNAL if external == "TRUE" else MANAGED)


def _check(row: TableRow, external: str) -> Decision:
    text = row.has_original or row.has_expanded
    if row.table_type not in HIVE_TYPES:
        return Decision(doubt=f"its type {row.table_type!r} is not a type of Hive")
    if row.table_type not in _WITH_TEXT and text:
        return Decision(doubt=f"it has a view text, but its type is {row.table_type}")
    if row.table_type in _WITH_TEXT[:2] and not text:
        return Decision(doubt=f"its type is {row.table_type}, but it has no text")
    if row.table_type == MANAGED and external == "TRUE":
        return Decision(EXTERNAL)
    if row.table_type == MANAGED and external != "FALSE":
        return Decision(doubt=f"its parameter EXTERNAL is {row.external!r}, neither TRUE nor FALSE")
    if row.table_type == EXTERNAL and external != "TRUE":
        return Decision(doubt="its type is EXTERNAL_TABLE without a parameter EXTERNAL=TRUE: a drop may delete data")
    return SETTLED


def decidable(sql: Dialect, table: str) -> str:
    """Return the SQL condition for rows to which `decide` assigns a type, for counts and scripts."""
    no_text = f"{table}.[VIEW_ORIGINAL_TEXT] IS NULL AND {table}.[VIEW_EXPANDED_TEXT] IS NULL"
    return sql.sql(
        f"(({table}.[TBL_TYPE] IS NULL AND ({table}.[VIEW_ORIGINAL_TEXT] IS NOT NULL OR ({no_text} "
        f"AND {table}.[SD_ID] IS NOT NULL AND NOT EXISTS ({_external(sql, table, 'NOT IN', ('TRUE', 'FALSE'))})))) "
        f"OR ({table}.[TBL_TYPE] = '{MANAGED}' AND {no_text} AND EXISTS ({_external(sql, table, 'IN', ('TRUE',))})))"
    )


def new_type(sql: Dialect, table: str) -> str:
    """Return the SQL expression for the type that `decide` assigns to a `decidable` row."""
    return sql.sql(
        f"CASE WHEN {table}.[VIEW_ORIGINAL_TEXT] IS NOT NULL THEN '{VIEW}' "
        f"WHEN EXISTS ({_external(sql, table, 'IN', ('TRUE',))}) THEN '{EXTERNAL}' ELSE '{MANAGED}' END"
    )


def _external(sql: Dialect, table: str, operator: str, values: tuple[str, ...]) -> str:
    listed = ", ".join(f"'{value}'" for value in values)
    return sql.sql(
        f"SELECT 1 FROM [TABLE_PARAMS] p WHERE p.[TBL_ID] = {table}.[TBL_ID] AND p.[PARAM_KEY] = 'EXTERNAL' "
        f"AND UPPER({sql.short_text('p.[PARAM_VALUE]')}) {operator} ({listed})"
    )
