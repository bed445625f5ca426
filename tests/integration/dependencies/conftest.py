"""A small shop: two Hive tables, one Iceberg table, and views over them made by the catalog's own author."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveView, HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from tests.integration.catalog.fixtures import catalog, open_catalog, other_database, raw
from tests.integration.catalog.samples import hive_row

__all__ = ["catalog", "open_catalog", "other_database", "raw"]

MakeTable = Callable[..., str]
MakeView = Callable[..., HiveView]


@pytest.fixture
def hive_table(raw, database) -> MakeTable:
    """Makes a plain Hive table with bigint columns; gives its full name."""

    def make(name: str, *columns: str, in_database: str | None = None, **parameters: str) -> str:
        row = hive_row(in_database or database, name, "MANAGED_TABLE", **parameters)
        row.sd.cols = [FieldSchema(name=column, type="bigint", comment=None) for column in columns or ("id", "total")]
        raw.create_table(row)
        return f"{row.dbName}.{name}"

    return make


@pytest.fixture
def hive_view(raw, database) -> MakeTable:
    """Makes a plain Hive view; gives its full name."""

    def make(name: str, expanded: str, *columns: str) -> str:
        row = hive_row(database, name, "VIRTUAL_VIEW")
        row.sd.cols = [FieldSchema(name=column, type="bigint", comment=None) for column in columns or ("id", "total")]
        row.viewOriginalText = row.viewExpandedText = expanded
        raw.create_table(row)
        return f"{database}.{name}"

    return make


@pytest.fixture
def view(catalog: HiveViewCatalog, database: str) -> MakeView:
    """Creates a view, or replaces it, from what an author typed with `database` as current database."""

    def make(name: str, sql: str, *, replace: bool = False, in_catalog: HiveViewCatalog | None = None) -> HiveView:
        to = in_catalog or catalog
        identifier = name if "." in name else f"{database}.{name}"
        made = to.author(identifier, sql, analyzer=longs(to, sql, database), database=database)
        create = to.create_or_replace_view if replace else to.create_view
        return create(identifier, made.schema, made.version)

    return make


def longs(catalog: HiveViewCatalog, sql: str, database: str) -> Callable[[str], Schema]:
    """An analyzer for queries whose columns are all bigint: names by the resolver, which the tests do not test."""

    def schema(query: str) -> Schema:
        from hive_views.metastore.table_schemas import MetastoreSchemas
        from hive_views.sql.rewriting.expand import expand

        names = expand(query, MetastoreSchemas(catalog.store), database=database, dialect="spark").names
        return Schema(*(NestedField(number, name, LongType()) for number, name in enumerate(names, start=1)))

    return schema
