"""A database with two Iceberg tables, and two Hive tables with rows as Hive writes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    DecimalType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from hive_views import HiveViewCatalog
from hive_views.catalog.statements import Result
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from tests.integration.catalog.samples import hive_row

Execute = Callable[..., Result]

ORDERS = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "customer_id", LongType()),
    NestedField(3, "total", DecimalType(10, 2)),
    NestedField(4, "day", DateType()),
    NestedField(5, "placed", TimestamptzType()),
    NestedField(6, "local", TimestampType()),
)
CUSTOMERS = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "tags", ListType(4, StringType(), element_required=False)),
)


@pytest.fixture
def shop(catalog: HiveViewCatalog, raw, database: str) -> str:
    """The database with its tables `orders`, `customers` (Iceberg) and `visits`, `pages` (Hive's own)."""
    catalog.create_table((database, "orders"), ORDERS)
    catalog.create_table((database, "customers"), CUSTOMERS)
    for name, columns in (
        ("visits", {"page": "string", "at": "timestamp", "seconds": "int", "more": "array<struct<t:timestamp,n:int>>"}),
        ("pages", {"page": "string", "title": "varchar(80)"}),
    ):
        row = hive_row(database, name, "MANAGED_TABLE")
        row.sd.cols = [FieldSchema(name=column, type=kind, comment=None) for column, kind in columns.items()]
        raw.create_table(row)
    return database


@pytest.fixture
def run(catalog: HiveViewCatalog, shop: str) -> Execute:
    """Executes a statement with the shop as current database."""

    def execute(sql: str, **options) -> Result:
        return catalog.execute(sql, **{"database": shop, **options})

    return execute
