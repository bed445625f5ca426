"""Iceberg column types as the metastore's row shows them (Iceberg Java: HiveSchemaUtil.convertToTypeString)."""

from __future__ import annotations

from pyiceberg.schema import Schema, SchemaVisitor, visit
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from hive_views.errors import InvalidViewError

_NAMES: dict[type[PrimitiveType], str] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "bigint",
    FloatType: "float",
    DoubleType: "double",
    DateType: "date",
    TimeType: "string",
    TimestampType: "timestamp",
    StringType: "string",
    UUIDType: "string",
    BinaryType: "binary",
    FixedType: "binary",
}


def hive_type(field_type: IcebergType, *, hive2_compatible: bool = False) -> str:
    """Hive's name of an Iceberg type.

    Args:
        field_type: Any Iceberg type, nested ones too.
        hive2_compatible: Name `timestamptz` as `timestamp`, which Hive 2 knows.

    Returns:
        A type text such as `struct<a:int,b:array<string>>`.

    Raises:
        KeyError: If Hive has no such type (`timestamp_ns`, geometry …); its argument is the Iceberg type's name.
    """
    return visit(field_type, _HiveTypes(hive2_compatible))


def hive_columns(
    schema: Schema, identifier: str, *, hive2_compatible: bool = False
) -> list[tuple[str, str, str | None]]:
    """The columns of a schema as a row has them.

    Args:
        schema: The view's schema.
        identifier: The view's name, for the message.
        hive2_compatible: See `hive_type`.

    Returns:
        Name, Hive type and comment of each column, in order.

    Raises:
        InvalidViewError: If a column has a type that Hive does not know, or two names differ only in case.
    """
    columns = []
    seen: dict[str, str] = {}
    for field in schema.fields:
        other = seen.setdefault(field.name.lower(), field.name)
        if other is not field.name:
            raise InvalidViewError(
                identifier, f"columns {other!r} and {field.name!r}: a Hive Metastore does not tell names apart by case"
            )
        try:
            columns.append((field.name, hive_type(field.field_type, hive2_compatible=hive2_compatible), field.doc))
        except KeyError as error:
            raise InvalidViewError(
                identifier,
                f"column {field.name!r}: Hive has no type for Iceberg's {error.args[0]}; cast it in the query",
            ) from None
    return columns


class _HiveTypes(SchemaVisitor[str]):
    def __init__(self, hive2_compatible: bool) -> None:
        self._hive2_compatible = hive2_compatible

    def schema(self, schema: Schema, struct_result: str) -> str:
        return struct_result

    def struct(self, struct: StructType, field_results: list[str]) -> str:
        return f"struct<{','.join(field_results)}>"

    def field(self, field: NestedField, field_result: str) -> str:
        return f"{field.name}:{field_result}"

    def list(self, list_type: ListType, element_result: str) -> str:
        return f"array<{element_result}>"

    def map(self, map_type: MapType, key_result: str, value_result: str) -> str:
        return f"map<{key_result},{value_result}>"

    def primitive(self, primitive: PrimitiveType) -> str:
        if isinstance(primitive, DecimalType):
            return f"decimal({primitive.precision},{primitive.scale})"
        if isinstance(primitive, TimestamptzType):
            return "timestamp" if self._hive2_compatible else "timestamp with local time zone"
        name = _NAMES.get(type(primitive))
        if name is None:
            raise KeyError(str(primitive))
        return name
