"""What a refresh on Spark stores is what a full one would, after random appends; and what it says it read, it read.

Each history is one definition over two tables that only grow, by its seed. `make histories` runs many
(HIVE_VIEWS_HISTORIES).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, DecimalType, DoubleType, LongType, NestedField, StringType, TimestamptzType
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import RefreshError
from hive_views.materialized.freshness.verdict import Verdict
from hive_views.spark.analyzer import schema_of
from hive_views.spark.refresh.engine import SparkEngine
from tests.integration.materialized.conftest import LAYOUTS
from tests.integration.materialized.duck_engine import ConcurrentWriterEngine
from tests.integration.spark.spark_versions import IS_SPARK_3

HISTORIES = int(os.environ.get("HIVE_VIEWS_HISTORIES", "4"))
ANSI = "spark.sql.ansi.enabled"

FACTS = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "k", StringType()),
    NestedField(3, "v", LongType()),
    NestedField(4, "p", DecimalType(20, 2)),
    NestedField(5, "t", TimestamptzType()),
    NestedField(6, "d", DoubleType()),
    NestedField(7, "day", DateType()),
)
DIMS = Schema(
    NestedField(1, "k", StringType()), NestedField(2, "city", StringType()), NestedField(3, "rate", LongType())
)
QUERIES = (
    "SELECT id, upper(k) AS k, v * 2 AS twice, p + CAST(1.25 AS DECIMAL(5, 2)) AS p, t, d FROM facts",
    "SELECT id, k, t, day FROM facts WHERE v > 3 OR p IS NULL",
    "SELECT f.id, f.p, d.city FROM facts f JOIN dims d ON f.k = d.k",
    "SELECT f.id, f.t, d.city, d.rate * f.v AS paid FROM facts f JOIN dims d ON f.k <=> d.k AND f.v >= d.rate",
    "SELECT k, v, day FROM facts WHERE v < 5 UNION ALL SELECT k, rate AS v, NULL AS day FROM dims",
    "SELECT k, count(*) AS n, count(v) AS m, sum(v) AS total, min(t) AS first, max(p) AS most FROM facts GROUP BY k",
    "SELECT day, sum(p) AS paid, max(d) AS high, min(k) AS name FROM facts WHERE v <> 2 GROUP BY day",
    "SELECT d.city, count(f.id) AS n, sum(f.p) AS paid FROM facts f JOIN dims d ON f.k = d.k GROUP BY d.city",
    "SELECT count(*) AS n, sum(v) AS total, max(t) AS last FROM facts",
    "SELECT date_trunc('DAY', t) AS at, k, count(*) AS n FROM facts GROUP BY date_trunc('DAY', t), k",
)


MOMENTS = (datetime(2026, 3, 29, 0, 30, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), None)


def some_facts(dice: random.Random) -> list[tuple]:
    rows = [
        (
            dice.randint(1, 4),
            dice.choice(("a", "b", "c", "", None)),
            dice.choice((None, 0, 2, 3, 5, 9)),
            dice.choice((None, Decimal("0.01"), Decimal("-7.50"), Decimal("999999999999999.99"))),
            dice.choice(MOMENTS),
            dice.choice((None, 0.0, 1.5, -2.25)),
            dice.choice((None, date(2026, 1, 1), date(2026, 1, 1) + timedelta(days=1))),
        )
        for _ in range(dice.randint(0, 4))
    ]
    return rows + rows[: dice.randint(0, 1)]  # a row that is there twice


def some_dims(dice: random.Random) -> list[tuple]:
    keys, cities = ("a", "b", "c", None), ("Rome", "Oslo", None)
    return [(dice.choice(keys), dice.choice(cities), dice.randint(0, 4)) for _ in range(dice.randint(0, 2))]


def append(catalog: HiveViewCatalog, name: tuple[str, str], schema: Schema, values: list[tuple]) -> None:
    """Append rows through PyIceberg; none make a snapshot, too."""
    names = [field.name for field in schema.fields]
    columns = {column: [value[at] for value in values] for at, column in enumerate(names)}
    catalog.load_table(name).append(pa.table(columns, schema=schema.as_arrow()))


def bag(table: pa.Table) -> list[tuple]:
    """Rows in an order of their own; a time is a moment, whatever its zone."""
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return sorted((tuple(_plain(value) for value in row) for row in rows), key=repr)


def _plain(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def stored(catalog: HiveViewCatalog, name: tuple[str, str]) -> list[tuple]:
    storage = catalog.materialized.load(name).storage
    assert storage is not None
    return bag(storage.scan().to_arrow())


@contextmanager
def used(spark: SparkSession, database: str) -> Iterator[None]:
    """The current database, for a moment."""
    spark.sql(f"USE prod.{database}")
    try:
        yield
    finally:
        spark.sql("USE spark_catalog.default")


@pytest.fixture
def ansi(spark: SparkSession) -> Iterator[Callable[[bool], None]]:
    """Turns Spark's ANSI mode on and off, until the test ends."""
    before = spark.conf.get(ANSI)
    yield lambda on: spark.conf.set(ANSI, str(on).lower())
    spark.conf.set(ANSI, before)


@pytest.fixture
def defined(spark: SparkSession, database: str) -> Callable[[str], list[tuple]]:
    """The rows that a query gives over the tables as they are now, by Spark."""

    def rows(text: str) -> list[tuple]:
        with used(spark, database):
            frame = spark.sql(text)
            if not IS_SPARK_3:
                return bag(frame.toArrow())
            batches = frame._collect_as_arrow()
            return bag(pa.Table.from_batches(batches)) if batches else []

    return rows


@pytest.fixture
def facts(catalog: HiveViewCatalog, database: str) -> tuple[str, str]:
    catalog.create_table((database, "facts"), FACTS)
    catalog.create_table((database, "dims"), DIMS)
    return (database, "facts")


@pytest.mark.timeout(7200)
def test_incremental_is_full(spark, catalog, facts, defined, ansi):
    """Rows of two modes are never mixed: after a change of it all is computed."""
    views, engine, database = catalog.materialized, SparkEngine(spark, catalog), facts[0]
    incremental = 0
    for seed in range(HISTORIES):
        dice, text = random.Random(seed), QUERIES[seed % len(QUERIES)]
        name = (database, f"mv_{seed}")
        # The tables go on from history to history: small ones, of many snapshots.
        append(catalog, facts, FACTS, some_facts(dice))
        append(catalog, (database, "dims"), DIMS, some_dims(dice))
        ansi(seed % 2 == 0)
        with used(spark, database):
            made = catalog.author(name, text, analyzer=lambda query: schema_of(spark, query))
        views.create(name, made, layout=dice.choice(LAYOUTS))
        assert views.refresh(name, engine)[-1].action == "full"
        assert stored(catalog, name) == defined(text), (seed, text)
        for step in range(1 + seed % 2):
            for _ in range(dice.randint(1, 2)):
                append(catalog, facts, FACTS, some_facts(dice))
            if "dims" in text and dice.random() < 0.4:
                append(catalog, (database, "dims"), DIMS, some_dims(dice))
            assert views.freshness(name).verdict is Verdict.STALE, (seed, text)
            if other_mode := step == 1 and seed % 4 == 1:
                ansi(True)
            explained = views.explain(name, engine)
            report = views.refresh(name, engine)[-1]
            assert report.action == explained.action, (seed, text, str(explained))
            assert report.action == ("full" if other_mode else "incremental"), (seed, text, report)
            incremental += not other_mode
            assert stored(catalog, name) == defined(text), (seed, text, report)
            assert views.freshness(name).is_fresh
        views.drop(name)
    assert incremental >= HISTORIES


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_state_that_is_written_is_the_state_that_was_read(spark, catalog, facts, layout: str):
    """An append lands between the pinning and Spark's reading, another one between that and the commit."""
    views, name = catalog.materialized, (facts[0], "mv")

    def land(number: int) -> None:
        append(catalog, facts, FACTS, [(number, "a", number, None, None, None, None)])

    views.create(name, "SELECT k, count(*) AS n, max(id) AS last FROM facts GROUP BY k", layout=layout)
    engine = SparkEngine(spark, catalog)
    for first, action in ((1, "full"), (4, "incremental")):
        land(first)
        pinned = catalog.load_table(facts).metadata.current_snapshot_id
        slow = ConcurrentWriterEngine(engine, before=lambda: land(first + 1), after=lambda: land(first + 2))  # noqa: B023 -- used at once
        assert views.refresh(name, slow)[-1].action == action
        [source] = views.refreshes(name)[-1].state.sources
        assert source.id == pinned, "not what the table was when it was read, or when the rows were committed"
        assert stored(catalog, name) == [("a", first, first)]
        [reason] = views.freshness(name).reasons
        assert str(pinned) in str(reason) and not views.reading(name).from_storage
    assert views.refresh(name, engine)[-1].action == "incremental"
    assert stored(catalog, name) == [("a", 6, 6)] and views.freshness(name).is_fresh


def test_refresh_fails_if_table_read_without_snapshot_id_changes(spark, catalog, facts):
    """Its columns changed after the last snapshot: Spark reads no snapshot with them, so writes are skipped."""
    views, name = catalog.materialized, (facts[0], "mv")
    append(catalog, facts, FACTS, [(1, "a", 1, None, None, None, None)])
    with catalog.load_table(facts).update_schema() as update:
        update.rename_column("v", "amount")
    views.create(name, "SELECT id, amount FROM facts")
    engine = SparkEngine(spark, catalog)
    slow = ConcurrentWriterEngine(engine, before=lambda: spark.sql(f"DELETE FROM prod.{facts[0]}.facts WHERE id = 1"))
    with pytest.raises(RefreshError, match="changed while it was read"):
        views.refresh(name, slow)
    assert views.load(name).snapshot is None and views.orphans(name, older_than_ms=0).snapshots == ()
    views.refresh(name, engine)
    assert stored(catalog, name) == [] and views.freshness(name).is_fresh
