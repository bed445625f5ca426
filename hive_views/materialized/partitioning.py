"""Partition specs of storage tables, from the columns and transforms that an author writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)

from hive_views.errors import InvalidPropertyError
from hive_views.sql.parsing.lexer import unquote_identifier

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
_FORM = re.compile(rf"\s*(?:(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?({_NAME})\s*(?:,\s*(\d+)\s*)?\)|({_NAME}))\s*")


def partition_spec(schema: Schema, by: Sequence[str]) -> PartitionSpec:
    """Return the partition spec of a storage table from columns and transforms such as `day(at)`."""
    fields = []
    for number, text in enumerate(by):
        columns = {field.name.lower(): field for field in schema.fields}
        # A column's name may look like a transform: `sum(amount)`.
        transform_match = None if text.lower() in columns else _FORM.fullmatch(text)
        written = (transform_match[3] or transform_match[5]) if transform_match else text
        column = columns.get(
            (unquote_identifier(written) if transform_match and written[0] == "`" else written).lower()
        )
        if column is None:
            raise InvalidPropertyError(
                "partitioned by", text, "it is neither a column of the view nor a transform of one"
            )
        function = (transform_match[1] or "").lower() if transform_match else ""
        transform = _transform(text, function, (transform_match[2] or transform_match[4]) if transform_match else None)
        if not transform.can_transform(column.field_type):
            raise InvalidPropertyError(
                "partitioned by",
                text,
                f"the transform cannot be applied to column {column.name} of type {column.field_type}",
            )
        suffix = "" if isinstance(transform, IdentityTransform) else f"_{function}"
        fields.append(PartitionField(column.field_id, 1000 + number, transform, f"{column.name}{suffix}"))
    return PartitionSpec(*fields) if fields else UNPARTITIONED_PARTITION_SPEC


def _transform(text: str, name: str, number: str | None) -> Transform:  # type: ignore[type-arg]
    if number is None and name in _PLAIN:
        return _PLAIN[name]()
    if number is not None and name == "bucket":
        return BucketTransform(int(number))
    if number is not None and name == "truncate":
        return TruncateTransform(int(number))
    raise InvalidPropertyError("partitioned by", text, "write a column, or year, month, day, hour, bucket, truncate")
