"""The names in the statements of PyIceberg and of this package."""

# ruff: noqa: F401 -- the statements use them

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
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


def schema(*types: Any) -> Schema:
    """A schema with columns `c1`, `c2`, … of some types."""
    return Schema(*(NestedField(number, f"c{number}", item) for number, item in enumerate(types, 1)))


def append(catalog: Catalog, name: str, /, **columns: Any) -> None:
    """Append rows to a table."""
    table = catalog.load_table(name)
    table.append(pa.table(columns, schema=table.schema().as_arrow()))


def read_rows(catalog: Catalog, name: str) -> list[str]:
    """The rows of a table."""
    rows = catalog.load_table(name).scan().to_arrow().to_pylist()
    return [json.dumps(list(row.values()), default=str, ensure_ascii=False) for row in rows]
