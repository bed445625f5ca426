"""Fixtures: a database with two small Iceberg tables, an engine without Spark, a process that can be killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from hive_views import HiveViewCatalog
from hive_views.catalog.statements import Result, execute_statement
from hive_views.materialized import MaterializedViews
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.text.dialects import Dialect
from tests.integration.materialized.duck_engine import DuckEngine
from tests.suites import extended

LAYOUTS = ("registered", "attached", "table")
SAMPLED_LAYOUTS = ("registered", "table", *extended("attached"))
"""For long tests of rules that no layout has for itself."""

Killer = Callable[[tuple[str, str], int, str], str]

SALES = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "shop", StringType()), NestedField(3, "amount", LongType())
)
SHOPS = Schema(NestedField(1, "shop", StringType()), NestedField(2, "city", StringType()))


def rows(*values: tuple, schema: Schema = SALES) -> pa.Table:
    names = [field.name for field in schema.fields]
    return pa.table({name: [value[at] for value in values] for at, name in enumerate(names)}, schema=schema.as_arrow())


@pytest.fixture
def market(catalog: HiveViewCatalog, database: str) -> str:
    """The database with `sales` and `shops`."""
    catalog.create_table((database, "sales"), SALES).append(rows((1, "a", 10), (2, "b", 20), (3, "a", 5)))
    catalog.create_table((database, "shops"), SHOPS).append(rows(("a", "Rome"), ("b", "Oslo"), schema=SHOPS))
    return database


@pytest.fixture
def views(catalog: HiveViewCatalog) -> MaterializedViews:
    return catalog.materialized


@pytest.fixture
def engine(catalog: HiveViewCatalog) -> DuckEngine:
    return DuckEngine(catalog)


@pytest.fixture
def run(catalog: HiveViewCatalog, market: str, engine: DuckEngine) -> Callable[[str], Result]:
    """Runs SQL statements in the database `market`."""
    return lambda text: execute_statement(catalog, parse_statement(text, Dialect.SPARK), database=market, engine=engine)


def amounts(views: MaterializedViews, name: tuple[str, str]) -> list[int]:
    """The stored values of the column `amount`, sorted."""
    return sorted(row["amount"] for row in views.load(name).storage.scan().to_arrow().to_pylist())


@pytest.fixture(scope="module")
def shared(metastore) -> Iterator[HiveViewCatalog]:
    """A catalog without locks, for histories."""
    properties = {"uri": metastore.uri, "warehouse": metastore.warehouse}
    catalog = HiveViewCatalog("prod", **properties, **{"iceberg.engine.hive.lock-enabled": "false"})
    yield catalog
    catalog.close()


def history_settings(examples: int) -> settings:
    """Hypothesis' settings for histories. A history takes seconds: one that fails is shown as it is."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    phases = (Phase.explicit, Phase.generate)
    return settings(max_examples=examples, deadline=None, phases=phases, suppress_health_check=checks)


def drop_database(catalog: HiveViewCatalog, database: str) -> None:
    """Drop a database with its views and tables."""
    for name in catalog.list_views(database):
        catalog.drop_view(name)
    for name in catalog.list_tables(database):
        catalog.drop_table(name)
    catalog.drop_namespace(database)


@pytest.fixture(scope="session")
def killer(metastore) -> Iterator[Killer]:
    """Run an operation in a process that kills itself at a point; returns `killed`, or `done` if it ended before."""
    command = [
        sys.executable,
        "-m",
        "tests.integration.materialized.killed_refresh",
        metastore.uri,
        metastore.warehouse,
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def kill(view: tuple[str, str], point: int, operation: str) -> str:
            process.stdin.write(f"{'.'.join(view)} {point} {operation}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        yield kill
        process.stdin.close()
