"""Spark's rule for the casts that it adds if a column of a query has another type than the view declares."""

from __future__ import annotations

import re

from pyiceberg.types import DecimalType, IcebergType, ListType, MapType, StructType

from hive_views.sql.types.hive_types import parse_type

_NUMERIC_TYPES = ("int", "long", "float", "double")
_INTEGER_DIGITS = {"int": 10, "long": 20}
"""The precision of the decimals with which Spark represents all integers of a type."""
_TYPES_CAST_TO_STRING = (*_NUMERIC_TYPES, "binary", "boolean", "date", "timestamp", "timestamptz")

_TIMESTAMP = re.compile(r"\btimestamp( with local time zone|_ntz|_ltz)?(?=[,>]|$)", re.IGNORECASE)


def row_type_as_read(text: str) -> IcebergType:
    """Return the type of a row's column with TIMESTAMP as an instant, which a row does not show; raises SqlError."""
    return parse_type(_TIMESTAMP.sub("timestamptz", text))


def can_upcast(actual: IcebergType, declared: IcebergType) -> bool:
    """Return whether a query's type can be cast to a declared type without loss (Spark's UpCastRule).

    Unlike Spark's, the rule has no casts between TIMESTAMP and TIMESTAMP_NTZ, whose result depends on the session, or
    between TIMESTAMP and BIGINT.
    """
    if isinstance(actual, ListType) and isinstance(declared, ListType):
        return can_upcast(actual.element_type, declared.element_type)
    if isinstance(actual, MapType) and isinstance(declared, MapType):
        return can_upcast(actual.key_type, declared.key_type) and can_upcast(actual.value_type, declared.value_type)
    if isinstance(actual, StructType) and isinstance(declared, StructType):
        # By position: the names of the fields may differ.
        return len(actual.fields) == len(declared.fields) and all(
            can_upcast(field.field_type, declared_field.field_type)
            for field, declared_field in zip(actual.fields, declared.fields, strict=True)
        )
    source, target = str(actual), str(declared)
    if isinstance(declared, DecimalType):
        if isinstance(actual, DecimalType):
            fits = declared.precision - declared.scale >= actual.precision - actual.scale
            return fits and declared.scale >= actual.scale
        return source in _INTEGER_DIGITS and declared.precision - declared.scale >= _INTEGER_DIGITS[source]
    if source == target:
        return True
    if source in _NUMERIC_TYPES and target in _NUMERIC_TYPES:
        return _NUMERIC_TYPES.index(source) < _NUMERIC_TYPES.index(target)
    if target == "string":
        return source in _TYPES_CAST_TO_STRING or isinstance(actual, DecimalType)
    return source == "date" and target in ("timestamp", "timestamptz")
