"""Which TBL_TYPE a row of TBLS should have: the reference's rules, and where they stop.

Hive Views, Existing Row UPDATE, gives two statements: MANAGED_TABLE where there is no view text and no parameter
EXTERNAL=TRUE, EXTERNAL_TABLE where there is that parameter. Taken literally the second one turns views into external
tables (hive_views writes EXTERNAL=TRUE on its views), and the first one turns external tables without the parameter
into managed ones, whose drop deletes the data. Here a view text decides first, as in the metastore itself, only a
missing type is filled in, and MANAGED_TABLE becomes EXTERNAL_TABLE where the parameter says so; all else is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from hive_views.schema_upgrade.dialects.base import Dialect

MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"

KNOWN = (MANAGED, EXTERNAL, VIEW, "INDEX_TABLE", "MATERIALIZED_VIEW")
"""All types that Hive has had."""

_WITH_TEXT = (VIEW, "MATERIALIZED_VIEW", "INDEX_TABLE")


@dataclass(frozen=True)
class TableRow:
    """What decides about one row of TBLS."""

    tbl_id: int
    """Its TBL_ID."""
    table_type: str | None
    """Its TBL_TYPE."""
    has_original: bool
    """Whether it has a VIEW_ORIGINAL_TEXT."""
    has_expanded: bool
    """Whether it has a VIEW_EXPANDED_TEXT."""
    has_storage: bool
    """Whether it has a storage descriptor."""
    external: str | None
    """The value of its parameter EXTERNAL; None where it has none."""


@dataclass(frozen=True)
class Decision:
    """What is to be done about a row."""

    new: str | None = None
    """The type to give it; None leaves it as it is."""
    doubt: str | None = None
    """Why nothing could be decided, or what contradicts itself; None where all is well."""


SETTLED = Decision()


def decide(row: TableRow) -> Decision:
    """Decide about a row."""
    said = (row.external or "FALSE").upper()
    if row.table_type is not None:
        return _check(row, said)
    if row.has_original:
        return Decision(VIEW)
    if row.has_expanded:
        return Decision(doubt="it has an expanded view text and no original one: half a view")
    if not row.has_storage:
        return Decision(doubt="it has neither a view text nor a storage descriptor")
    if said not in ("TRUE", "FALSE"):
        return Decision(doubt=f"its parameter EXTERNAL is {row.external!r}, neither TRUE nor FALSE")
    return Decision(EXTERNAL if said == "TRUE" else MANAGED)


def _check(row: TableRow, said: str) -> Decision:
    text = row.has_original or row.has_expanded
    if row.table_type not in KNOWN:
        return Decision(doubt=f"its type {row.table_type!r} is none of Hive's")
    if row.table_type not in _WITH_TEXT and text:
        return Decision(doubt=f"it has a view text and calls itself {row.table_type}")
    if row.table_type in _WITH_TEXT[:2] and not text:
        return Decision(doubt=f"it calls itself {row.table_type} and has no text")
    if row.table_type == MANAGED and said == "TRUE":
        return Decision(EXTERNAL)
    if row.table_type == MANAGED and said != "FALSE":
        return Decision(doubt=f"its parameter EXTERNAL is {row.external!r}, neither TRUE nor FALSE")
    if row.table_type == EXTERNAL and said != "TRUE":
        return Decision(
            doubt="it calls itself EXTERNAL_TABLE and has no parameter EXTERNAL=TRUE: a drop may delete data"
        )
    return SETTLED


def decidable(sql: Dialect, table: str) -> str:
    """The condition of rows that `decide` gives a type to, as SQL: for counts, and for scripts."""
    original, expanded, kind, storage = (
        f"{table}.{sql.quote(name)}" for name in ("VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT", "TBL_TYPE", "SD_ID")
    )
    no_text = f"{original} IS NULL AND {expanded} IS NULL"
    return (
        f"(({kind} IS NULL AND ({original} IS NOT NULL OR ({no_text} AND {storage} IS NOT NULL "
        f"AND NOT EXISTS ({_external(sql, table, 'NOT IN', ('TRUE', 'FALSE'))})))) "
        f"OR ({kind} = '{MANAGED}' AND {no_text} AND EXISTS ({_external(sql, table, 'IN', ('TRUE',))})))"
    )


def new_type(sql: Dialect, table: str) -> str:
    """The type that `decide` gives to a row that is `decidable`, as SQL."""
    return (
        f"CASE WHEN {table}.{sql.quote('VIEW_ORIGINAL_TEXT')} IS NOT NULL THEN '{VIEW}' "
        f"WHEN EXISTS ({_external(sql, table, 'IN', ('TRUE',))}) THEN '{EXTERNAL}' ELSE '{MANAGED}' END"
    )


def _external(sql: Dialect, table: str, operator: str, values: tuple[str, ...]) -> str:
    listed = ", ".join(f"'{value}'" for value in values)
    return (
        f"SELECT 1 FROM {sql.quote('TABLE_PARAMS')} p WHERE p.{sql.quote('TBL_ID')} = {table}.{sql.quote('TBL_ID')} "
        f"AND p.{sql.quote('PARAM_KEY')} = 'EXTERNAL' "
        f"AND UPPER({sql.short_text('p.' + sql.quote('PARAM_VALUE'))}) {operator} ({listed})"
    )
