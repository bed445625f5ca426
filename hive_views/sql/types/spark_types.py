"""Spark's names of Iceberg's types."""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.types import DecimalType, FixedType, IcebergType, ListType, MapType, StructType

from hive_views.sql.types.names import SPARK_NAMES


def spark_type(kind: IcebergType, field_name: Callable[[str], str] = str) -> str:
    """Spark's name of a column's type (DataType.simpleString); `field_name` writes the names in structs."""
    if isinstance(kind, ListType):
        return f"array<{spark_type(kind.element_type, field_name)}>"
    if isinstance(kind, MapType):
        return f"map<{spark_type(kind.key_type, field_name)},{spark_type(kind.value_type, field_name)}>"
    if isinstance(kind, StructType):
        fields = (f"{field_name(field.name)}:{spark_type(field.field_type, field_name)}" for field in kind.fields)
        return f"struct<{','.join(fields)}>"
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    if isinstance(kind, FixedType):
        return "binary"
    return SPARK_NAMES.get(str(kind), str(kind))


def has_map(kind: IcebergType | None) -> bool:
    """Return whether a type is or contains a MAP, which Spark does not compare."""
    if isinstance(kind, StructType):
        return any(has_map(field.field_type) for field in kind.fields)
    return isinstance(kind, MapType) or (isinstance(kind, ListType) and has_map(kind.element_type))
