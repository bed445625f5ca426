"""Spark's names of Iceberg's types."""

from __future__ import annotations

import pytest
from pyiceberg.types import (
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.types.spark_types import spark_type

STRUCT = StructType(NestedField(1, "a b", UUIDType(), required=False))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (LongType(), "bigint"),
        (StringType(), "string"),
        (UUIDType(), "string"),
        (FixedType(16), "binary"),
        (TimestampType(), "timestamp_ntz"),
        (TimestamptzType(), "timestamp"),
        (DecimalType(9, 2), "decimal(9,2)"),
        (ListType(1, FixedType(4), element_required=False), "array<binary>"),
        (MapType(1, StringType(), 2, STRUCT), "map<string,struct<`a b`:string>>"),
    ],
    ids=str,
)
def test_type_has_the_name_that_spark_reads(kind: IcebergType, name: str) -> None:
    assert spark_type(kind, quote_identifier) == name
