"""Conversion of type texts to Iceberg types (the inverse of Iceberg Java's `HiveSchemaUtil`)."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter, ValidationError
from pyiceberg.exceptions import ValidationError as IcebergValidationError
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from hive_views.errors import SqlError

_KIND = exp.DType
_SIMPLE: dict[exp.DType, IcebergType] = {
    _KIND.BOOLEAN: BooleanType(),
    # Iceberg has no integers below 32 bits and no strings of limited length.
    _KIND.TINYINT: IntegerType(),
    _KIND.SMALLINT: IntegerType(),
    _KIND.INT: IntegerType(),
    _KIND.BIGINT: LongType(),
    _KIND.FLOAT: FloatType(),
    _KIND.DOUBLE: DoubleType(),
    _KIND.CHAR: StringType(),
    _KIND.VARCHAR: StringType(),
    _KIND.TEXT: StringType(),
    _KIND.BINARY: BinaryType(),
    _KIND.DATE: DateType(),
    _KIND.TIME: TimeType(),
    _KIND.TIMESTAMP: TimestampType(),
    _KIND.TIMESTAMPNTZ: TimestampType(),
    _KIND.TIMESTAMPTZ: TimestamptzType(),
    _KIND.TIMESTAMPLTZ: TimestamptzType(),
    _KIND.UUID: UUIDType(),
}


def parse_type(text: str) -> IcebergType:
    """Return the Iceberg type of a text in Iceberg's or Hive's spelling.

    Raises:
        SqlError: If Iceberg has no such type.
    """
    simple = _simple_type(text)
    if simple is not None:
        return simple
    try:
        return _convert(parse_one(text, into=exp.DataType, dialect="hive"))
    except (SqlglotError, _UnknownTypeError) as error:
        type_text = str(error) if isinstance(error, _UnknownTypeError) else text
        raise SqlError(
            f"{type_text!r} is not a type that a view's column can have. Write e.g. int, bigint, string, "
            "decimal(10,2), timestamp, timestamptz, array<int>, map<string,int>, struct<a:int,b:string>",
            name=text,
        ) from None


def _simple_type(text: str) -> IcebergType | None:
    """Return a simple Iceberg type; None for others, and for decimals, whose bounds PyIceberg does not check."""
    try:
        iceberg_type = _adapter().validate_python("".join(text.lower().split()))
    except (ValidationError, IcebergValidationError, ValueError):
        return None
    return None if isinstance(iceberg_type, DecimalType) else iceberg_type


@cache
def _adapter() -> TypeAdapter[IcebergType]:
    return TypeAdapter(IcebergType)


class _UnknownTypeError(Exception):
    """A type that Iceberg does not have; the argument is its text."""


def _convert(parsed: exp.DataType) -> IcebergType:
    kind = parsed.this
    inner = parsed.expressions
    if kind in (_KIND.ARRAY, _KIND.LIST) and len(inner) == 1 and not parsed.args.get("values"):
        return ListType(element_id=0, element=_convert(inner[0]), element_required=False)
    if kind == _KIND.MAP and len(inner) == 2:
        key, value = (_convert(item) for item in inner)
        return MapType(key_id=0, key_type=key, value_id=0, value_type=value, value_required=False)
    if kind == _KIND.STRUCT and inner:
        return _convert_struct(parsed)
    if kind == _KIND.DECIMAL:
        numbers = [int(parameter.this.this) for parameter in inner]
        precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
        if not 0 < precision <= 38 or scale > precision:
            raise _UnknownTypeError(parsed.sql("hive"))
        return DecimalType(precision, scale)
    simple = _SIMPLE.get(kind)
    if simple is None:
        raise _UnknownTypeError(parsed.sql("hive"))
    return simple


def _convert_struct(parsed: exp.DataType) -> IcebergType:
    fields = []
    for field in parsed.expressions:
        if not isinstance(field, exp.ColumnDef) or not isinstance(field.kind, exp.DataType):
            raise _UnknownTypeError(parsed.sql("hive"))
        comment = None
        for constraint in field.constraints:
            if not isinstance(constraint.kind, exp.CommentColumnConstraint):
                raise _UnknownTypeError(parsed.sql("hive"))
            comment = constraint.kind.this.this
        inner = _convert(field.kind)
        fields.append(NestedField(field_id=0, name=field.name, field_type=inner, required=False, doc=comment))
    return StructType(*fields)
