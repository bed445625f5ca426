"""Columns as a user writes them (`name:type:comment`) and reads them: Iceberg's spellings of types, and Hive's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hive_views.errors import UsageError

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType
    from sqlglot import exp

OPTION = "--column"

_OPENING, _CLOSING = "<([", ">)]"


def parse_columns(texts: Sequence[str]) -> Schema:
    """Read columns.

    Args:
        texts: `name:type` or `name:type:comment` each. A type may be spelled as in Iceberg (`long`, `list<int>`) or as
            in Hive (`bigint`, `array<int>`, `struct<a:int,b:string>`).

    Returns:
        A schema of optional fields, with ids in their order.

    Raises:
        UsageError: If one cannot be read, or a name is given twice.
    """
    from pyiceberg.schema import Schema, assign_fresh_schema_ids
    from pyiceberg.types import NestedField

    fields = []
    for number, text in enumerate(texts, start=1):
        name, kind, comment = _split(text)
        fields.append(
            NestedField(field_id=number, name=name, field_type=parse_type(kind, text), required=False, doc=comment)
        )
    names = [field.name.lower() for field in fields]
    for field in fields:
        if names.count(field.name.lower()) > 1:
            raise UsageError(OPTION, f"the name {field.name} is given twice (case does not count)")
    return assign_fresh_schema_ids(Schema(*fields))


def parse_type(text: str, column: str) -> IcebergType:
    """Read a type.

    Args:
        text: E.g. `bigint`, `long`, `decimal(10,2)`, `map<string,array<int>>`. `timestamp` has no time zone, as in
            Iceberg and Hive; `timestamptz` and `timestamp with local time zone` have one.
        column: The column as the user wrote it, for the message.

    Returns:
        The Iceberg type; the ids of nested fields mean nothing yet.

    Raises:
        UsageError: If it is no type, or one that Iceberg does not have.
    """
    from pydantic import TypeAdapter, ValidationError
    from pyiceberg.exceptions import ValidationError as IcebergValidationError
    from pyiceberg.types import DecimalType, IcebergType
    from sqlglot import errors, exp, parse_one

    try:
        simple = TypeAdapter(IcebergType).validate_python("".join(text.lower().split()))
    except (ValidationError, IcebergValidationError, ValueError):
        pass  # none of Iceberg's simple types
    else:
        # PyIceberg checks no bounds of decimals; below they are checked.
        if not isinstance(simple, DecimalType):
            return simple
    try:
        parsed = parse_one(text, into=exp.DataType, dialect="hive")
        return _convert(parsed)
    except (errors.SqlglotError, _UnknownTypeError) as error:
        what = str(error) if isinstance(error, _UnknownTypeError) else text
        raise UsageError(
            OPTION,
            f"{column!r}: {what!r} is no type that a view's column can have. Write e.g. int, bigint, string, "
            "decimal(10,2), timestamp, timestamptz, array<int>, map<string,int>, struct<a:int,b:string>",
        ) from None


def type_text(kind: Any) -> str:
    """A type as people write it.

    Args:
        kind: A type as a metadata file has it: a name, or an object.

    Returns:
        E.g. `long`, `list<struct<a: int>>`; the name of a kind that is not known.
    """
    if isinstance(kind, str):
        return kind
    if kind["type"] == "list":
        return f"list<{type_text(kind['element'])}>"
    if kind["type"] == "map":
        return f"map<{type_text(kind['key'])}, {type_text(kind['value'])}>"
    if kind["type"] == "struct":
        return f"struct<{', '.join(_struct_fields(kind))}>"
    return str(kind["type"])


def _struct_fields(kind: dict[str, Any]) -> Iterator[str]:
    for field in kind["fields"]:
        yield f"{field['name']}: {type_text(field['type'])}"


def _split(text: str) -> tuple[str, str, str | None]:
    """Name, type and comment: at the first colon, and at the next one outside of brackets."""
    name, separator, rest = text.partition(":")
    depth = 0
    for index, character in enumerate(rest):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == ":" and depth == 0:
            kind, comment = rest[:index], rest[index + 1 :]
            break
    else:
        kind, comment = rest, ""
    if not separator or not name.strip() or not kind.strip():
        raise UsageError(OPTION, f"{text!r} is not of the form name:type or name:type:comment")
    return name.strip(), kind.strip(), comment.strip() or None


class _UnknownTypeError(Exception):
    """A type that Iceberg does not have; its text is the argument."""


def _convert(parsed: exp.DataType) -> IcebergType:
    from pyiceberg.types import DecimalType, ListType, MapType
    from sqlglot import exp

    kind = parsed.this
    inner = parsed.expressions
    if kind in (exp.DType.ARRAY, exp.DType.LIST) and len(inner) == 1 and not parsed.args.get("values"):
        return ListType(element_id=0, element=_convert(inner[0]), element_required=False)
    if kind == exp.DType.MAP and len(inner) == 2:
        return MapType(
            key_id=0, key_type=_convert(inner[0]), value_id=0, value_type=_convert(inner[1]), value_required=False
        )
    if kind == exp.DType.STRUCT and inner:
        return _convert_struct(parsed)
    if kind == exp.DType.DECIMAL:
        numbers = [int(parameter.this.this) for parameter in inner]
        precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
        if not 0 < precision <= 38 or scale > precision:
            raise _UnknownTypeError(parsed.sql("hive"))
        return DecimalType(precision, scale)
    simple = _simple_types().get(kind)
    if simple is None:
        raise _UnknownTypeError(parsed.sql("hive"))
    return simple


def _convert_struct(parsed: exp.DataType) -> IcebergType:
    from pyiceberg.types import NestedField, StructType
    from sqlglot import exp

    fields = []
    for field in parsed.expressions:
        if not isinstance(field, exp.ColumnDef) or not isinstance(field.kind, exp.DataType):
            raise _UnknownTypeError(parsed.sql("hive"))
        comment = None
        for constraint in field.constraints:
            if not isinstance(constraint.kind, exp.CommentColumnConstraint):
                raise _UnknownTypeError(parsed.sql("hive"))
            comment = constraint.kind.this.this
        fields.append(
            NestedField(field_id=0, name=field.name, field_type=_convert(field.kind), required=False, doc=comment)
        )
    return StructType(*fields)


def _simple_types() -> dict[Any, IcebergType]:
    from pyiceberg import types
    from sqlglot import exp

    kind = exp.DType
    return {
        kind.BOOLEAN: types.BooleanType(),
        # Iceberg has no integers below 32 bits, and no strings of limited length.
        kind.TINYINT: types.IntegerType(),
        kind.SMALLINT: types.IntegerType(),
        kind.INT: types.IntegerType(),
        kind.BIGINT: types.LongType(),
        kind.FLOAT: types.FloatType(),
        kind.DOUBLE: types.DoubleType(),
        kind.CHAR: types.StringType(),
        kind.VARCHAR: types.StringType(),
        kind.TEXT: types.StringType(),
        kind.BINARY: types.BinaryType(),
        kind.DATE: types.DateType(),
        kind.TIME: types.TimeType(),
        kind.TIMESTAMP: types.TimestampType(),
        kind.TIMESTAMPNTZ: types.TimestampType(),
        kind.TIMESTAMPTZ: types.TimestamptzType(),
        kind.TIMESTAMPLTZ: types.TimestamptzType(),
        kind.UUID: types.UUIDType(),
    }
