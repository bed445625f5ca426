"""The types that a view declares for its columns, so that Spark can read what another dialect computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hive_views.errors import SqlError
from hive_views.sql.resolver.scopes import Schemas, ScopeColumn
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types import hive_types
from hive_views.sql.types.upcasts import can_upcast
from hive_views.sql.writing.expand import AuthorContext, Expansion, OutputColumn, expand, typed_columns


def declared_columns(
    expansion: Expansion, schemas: Schemas, *, database: str, functions: Mapping[str, str] | None = None
) -> tuple[OutputColumn, ...]:
    """Return the columns of a query with the types that its view declares.

    Spark casts the result of a view's text to the declared type, and only to a wider one (CANNOT_UP_CAST). Some types
    are narrower in Hive than in Spark: `coalesce(d, 1)` of a decimal(10,2) is decimal(10,2) in Hive 4.1.0, and
    decimal(12,2) in Spark 4.1.4. Such a column is declared with the type that holds both.
    """
    columns = typed_columns(expansion)
    if expansion.resolution.text.dialect is not Dialect.HIVE or not _may_differ(expansion, columns):
        return columns
    try:
        read = expand(
            expansion.expanded,
            schemas,
            database=database,
            dialect=Dialect.SPARK,
            author=AuthorContext(functions=functions),
        )
        types = [column.type for column in read.columns]
    except SqlError:
        return columns
    if len(types) != len(columns):
        return columns
    pairs = zip(columns, types, strict=True)
    return tuple(replace(column, type=_wider(str(column.type), kind)) for column, kind in pairs)


def _may_differ(expansion: Expansion, columns: Sequence[OutputColumn]) -> bool:
    """Return whether Spark may compute a wider number; it then reads the text once more."""
    pairs = zip(columns, expansion.resolution.columns, strict=True)
    return any(hive_types.base(str(column.type)) in _NARROW and _is_computed(source) for column, (_, source) in pairs)


def _is_computed(column: ScopeColumn) -> bool:
    """Return whether a column of a result is not the unchanged column of a table."""
    while len(column.origins) == 1 and isinstance(column.origins[0], ScopeColumn):
        column = column.origins[0]
    return len(column.origins) != 1 or not isinstance(column.origins[0], tuple)


_NARROW = hive_types.NUMBERS - {"bigint", "double"}
"""The numbers that Spark may compute with a wider type."""


def _wider(declared: str, read: str | None) -> str:
    """Return a declared type, or a wider one if Spark reads a number as a type that does not fit into it."""
    bases = {hive_types.base(kind) for kind in (declared, read or "")}
    if read is None or declared == read or not bases <= hive_types.NUMBERS:
        return declared
    first, second = hive_types.parse_type(declared), hive_types.parse_type(read)
    if can_upcast(second, first):
        return declared
    if can_upcast(first, second):
        return read
    if bases == {"decimal"}:
        return hive_types.holding_both(declared, read)
    return declared
