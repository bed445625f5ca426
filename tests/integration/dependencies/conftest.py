"""Fixtures: Hive tables, Hive views, and Iceberg views defined with `catalog.author`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveView, HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from hive_views.sql.text.dialects import Dialect
from tests.integration.catalog.samples import hive_row

MakeTable = Callable[..., str]
MakeView = Callable[..., HiveView]


@pytest.fixture
def hive_table(raw, database) -> MakeTable:
    """Creates a plain Hive table with bigint columns; returns its full name."""

    def make(name: str, *columns: str, in_database: str | None = None, **parameters: str) -> str:
        row = hive_row(in_database or database, name, "MANAGED_TABLE", **parameters)
        row.sd.cols = [FieldSchema(name=column, type="bigint", comment=None) for column in columns or ("id", "total")]
        raw.create_table(row)
        return f"{row.dbName}.{name}"

    return make


@pytest.fixture
def hive_view(raw, database) -> MakeTable:
    """Creates a plain Hive view; returns its full name."""

    def make(name: str, expanded: str, *columns: str, **parameters: str) -> str:
        row = hive_row(database, name, "VIRTUAL_VIEW", **parameters)
        row.sd.cols = [FieldSchema(name=column, type="bigint", comment=None) for column in columns or ("id", "total")]
        row.viewOriginalText = row.viewExpandedText = expanded
        raw.create_table(row)
        return f"{database}.{name}"

    return make


@pytest.fixture
def view(catalog: HiveViewCatalog, database: str) -> MakeView:
    """Creates or replaces a view from a text typed with `database` as the current database."""

    def make(name: str, sql: str, *, replace: bool = False, in_catalog: HiveViewCatalog | None = None) -> HiveView:
        to = in_catalog or catalog
        identifier = name if "." in name else f"{database}.{name}"
        definition = to.author(identifier, sql, analyzer=longs(to, sql, database), database=database)
        create = to.create_or_replace_view if replace else to.create_view
        return create(identifier, definition.schema, definition.version)

    return make


def longs(catalog: HiveViewCatalog, sql: str, database: str) -> Callable[[str], Schema]:
    """Return an analyzer that types all columns as bigint, with names from the resolver."""

    def schema(query: str) -> Schema:
        from hive_views.metastore.table_schemas import MetastoreSchemas
        from hive_views.sql.writing.expand import expand

        names = expand(query, MetastoreSchemas(catalog.store), database=database, dialect=Dialect.SPARK).names
        return Schema(*(NestedField(number, name, LongType()) for number, name in enumerate(names, start=1)))

    return schema
