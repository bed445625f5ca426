"""How the rows of a storage table are partitioned and sorted: the terms of PARTITIONED BY and SORTED BY.

A term is a column, or a transform of one: `day(at)`, `bucket(16, id)`. A term of SORTED BY can have a direction and an
order of NULLs, with Spark's defaults: `total DESC NULLS LAST`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import NestedField

from hive_views.errors import InvalidPropertyError
from hive_views.sql.text.quoting import quote_identifier, unquote_identifier

if TYPE_CHECKING:
    from pyiceberg.table import Table

_PLAIN: dict[str, Callable[[], Transform]] = {  # type: ignore[type-arg]
    "": IdentityTransform,
    "identity": IdentityTransform,
    "year": YearTransform,
    "years": YearTransform,
    "month": MonthTransform,
    "months": MonthTransform,
    "day": DayTransform,
    "days": DayTransform,
    "hour": HourTransform,
    "hours": HourTransform,
}
_NAME = r"`(?:[^`]|``)+`|[^`(),]+?"
_TERM = re.compile(rf"\s*(?:(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?({_NAME})\s*(?:,\s*(\d+)\s*)?\)|({_NAME}))\s*")
_ORDERED = re.compile(r"(.+?)(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?\s*", re.IGNORECASE | re.DOTALL)
_NULL_ORDERS = {NullOrder.NULLS_FIRST: "FIRST", NullOrder.NULLS_LAST: "LAST"}


def partition_spec(schema: Schema, terms: Sequence[str]) -> PartitionSpec:
    """Return the partition spec of a storage table."""
    fields = []
    for number, term in enumerate(terms):
        column, function, transform = _parse_term(schema, term, "partitioned by")
        suffix = "" if isinstance(transform, IdentityTransform) else f"_{function}"
        fields.append(PartitionField(column.field_id, 1000 + number, transform, f"{column.name}{suffix}"))
    return PartitionSpec(*fields) if fields else UNPARTITIONED_PARTITION_SPEC


def sort_order(schema: Schema, terms: Sequence[str]) -> SortOrder:
    """Return the sort order of a storage table."""
    names = {field.name.lower() for field in schema.fields}
    fields = []
    for text in terms:
        match = None if text.lower() in names else _ORDERED.fullmatch(text)
        term, direction, nulls = match.groups() if match else (text, None, None)
        column, _, transform = _parse_term(schema, term, "sorted by")
        is_descending = (direction or "").upper() == "DESC"
        is_last = is_descending if nulls is None else nulls.upper() == "LAST"
        fields.append(
            SortField(
                source_id=column.field_id,
                transform=transform,
                direction=SortDirection.DESC if is_descending else SortDirection.ASC,
                null_order=NullOrder.NULLS_LAST if is_last else NullOrder.NULLS_FIRST,
            )
        )
    return SortOrder(*fields) if fields else UNSORTED_SORT_ORDER


def _parse_term(schema: Schema, term: str, clause: str) -> tuple[NestedField, str, Transform]:  # type: ignore[type-arg]
    """Return the column of a term, the name of its function in lower case, and the transform."""
    columns = {field.name.lower(): field for field in schema.fields}
    # A column's name may look like a transform: `sum(amount)`.
    match = None if term.lower() in columns else _TERM.fullmatch(term)
    written = (match[3] or match[5]) if match else term
    column = columns.get((unquote_identifier(written) if match and written[0] == "`" else written).lower())
    if column is None:
        raise InvalidPropertyError(clause, term, "it is neither a column of the view nor a transform of one")
    function = (match[1] or "").lower() if match else ""
    transform = _transform(term, function, (match[2] or match[4]) if match else None, clause)
    if not transform.can_transform(column.field_type):
        reason = f"the transform cannot be applied to column {column.name} of type {column.field_type}"
        raise InvalidPropertyError(clause, term, reason)
    return column, function, transform


def _transform(term: str, name: str, number: str | None, clause: str) -> Transform:  # type: ignore[type-arg]
    if number is None and name in _PLAIN:
        return _PLAIN[name]()
    if number is not None and name == "bucket":
        return BucketTransform(int(number))
    if number is not None and name == "truncate":
        return TruncateTransform(int(number))
    raise InvalidPropertyError(clause, term, "write a column, or year, month, day, hour, bucket, truncate")


def partitions_of(storage: Table) -> tuple[str, ...]:
    """Return the terms of a storage table's partition spec, as PARTITIONED BY reads them."""
    return tuple(
        _term(storage, field.source_id, field.transform)
        for field in storage.spec().fields
        if not isinstance(field.transform, VoidTransform)
    )


def sorting_of(storage: Table) -> tuple[str, ...]:
    """Return the terms of a storage table's sort order, as SORTED BY reads them."""
    terms = (
        (_term(storage, field.source_id, field.transform), field.direction.name, _NULL_ORDERS[field.null_order])
        for field in storage.sort_order().fields
    )
    return tuple(f"{term} {direction} NULLS {nulls}" for term, direction, nulls in terms)


def _term(storage: Table, column_id: int, transform: Transform) -> str:  # type: ignore[type-arg]
    quoted = quote_identifier(storage.schema().find_column_name(column_id) or "")
    if isinstance(transform, IdentityTransform):
        return quoted
    numbered = re.fullmatch(r"(\w+)\[(\d+)\]", str(transform))
    return f"{numbered[1]}({numbered[2]}, {quoted})" if numbered else f"{transform}({quoted})"
