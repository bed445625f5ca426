"""Queries on tables read the stored rows of materialized views, and return what plain Spark returns from the tables."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidPropertyError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.spark import ViewSession
from hive_views.spark.jvm import scala_list
from hive_views.spark.session.plan_blocks import PlanBlocks
from hive_views.spark.session.proven_plans import unproven_part
from tests.conftest import empty_database
from tests.integration.spark.query_forms import (
    DEFINITIONS,
    NEVER_REWRITTEN,
    TABLES,
    random_definition,
    random_query,
)
from tests.integration.spark.spark_versions import IS_BEFORE_4_1
from tests.suites import extended

pytestmark = pytest.mark.skipif(
    IS_BEFORE_4_1, reason="plans of Spark 3.5 and 4.0 do not have the snapshots of tables, so queries are not rewritten"
)

REWRITE = {"hive-views.rewrite-queries": "true"}
GROUPS = "SELECT a, c, count(*) AS n, sum(b) AS s FROM t GROUP BY a, c"
ROLL_UP = "SELECT a, count(*) AS n FROM t GROUP BY a"


@dataclass
class Environment:
    """A database with the tables of the cases."""

    database: str
    plain: SparkSession
    """A session of Spark alone."""
    views: ViewSession
    """A session that rewrites queries."""

    def materialize(self, query: str, name: str = "mv", clauses: str = "") -> None:
        """Create and refresh a materialized view."""
        self.views.sql(f"CREATE MATERIALIZED VIEW {name} {clauses} AS {query}")
        self.views.sql(f"REFRESH MATERIALIZED VIEW {name}")

    def rewritten_from(self, query: str) -> list[str]:
        """Compare a query with plain Spark, and return the materialized views that it was rewritten to."""
        expected, actual = self.plain.sql(query), self.views.sql(query)
        names = [note.view.name for note in self.views.notes if "rewritten" in note.why]
        assert actual.schema.json() == expected.schema.json(), query
        if names:
            assert contents(actual) == contents(expected), f"{query}\nrewritten to {names}"
        return names

    def set_everywhere(self, key: str, value: str | None) -> None:
        """Set or unset a setting in both sessions."""
        for session in (self.plain, self.views.spark):
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def contents(frame: DataFrame) -> Counter[str]:
    """The bag of the rows of a data frame, in which NaN is equal to itself and 0.0 is not equal to -0.0."""
    return Counter(repr(tuple(row)) for row in frame.collect())


@pytest.fixture(scope="module")
def shared(spark: SparkSession, metastore: EmbeddedMetastore) -> Iterator[Environment]:
    plain, own = spark.newSession(), spark.newSession()
    for session in (plain, own):
        session.conf.set("spark.sql.shuffle.partitions", "2")
    properties = {**REWRITE, "uri": metastore.uri, "warehouse": metastore.warehouse}
    with (
        empty_database(metastore, "rewriting") as database,
        HiveViewCatalog("prod", **properties) as catalog,
        ViewSession(own, catalog) as views,
    ):
        plain.sql(f"USE prod.{database}")
        views.sql(f"USE prod.{database}")
        for statement in TABLES:
            views.sql(statement)
        yield Environment(database, plain, views)


@pytest.fixture
def environment(shared: Environment) -> Iterator[Environment]:
    """The shared environment; the views of a test are dropped."""
    yield shared
    for row in shared.views.view_catalog.materialized.listing(shared.database):
        shared.views.view_catalog.materialized.load(row.name.identifier).drop()
    for identifier in shared.views.view_catalog.list_views(shared.database):
        shared.views.view_catalog.drop_view(identifier)
    shared.views.sql("REFRESH TABLE t")


CASES = list(DEFINITIONS)


@pytest.mark.parametrize("definition", [*CASES[:1], *CASES[7:8], *extended(*CASES[1:7], *CASES[8:])])
def test_forms(environment: Environment, definition: str) -> None:
    environment.materialize(definition)
    used = {query: bool(environment.rewritten_from(query)) for query in DEFINITIONS[definition]}
    assert used == DEFINITIONS[definition]


@pytest.mark.extended
@pytest.mark.parametrize(("seed", "definitions", "queries"), [(1, 1, 8), (100, 20, 10)])
def test_random_queries(environment: Environment, seed: int, definitions: int, queries: int) -> None:
    rewritten = 0
    for number in range(seed, seed + definitions):
        source = random.Random(number)
        definition = random_definition(source)
        environment.materialize(definition.text)
        for _ in range(queries):
            rewritten += bool(environment.rewritten_from(random_query(source, definition)))
        environment.views.sql("DROP MATERIALIZED VIEW mv")
    assert rewritten > definitions * queries / 4, "the queries are not related to the definitions"


def test_rows_of_one_session_are_not_two(environment: Environment) -> None:
    environment.views.sql("CREATE TABLE events (who STRING, ts TIMESTAMP) USING iceberg")
    environment.views.sql(
        "INSERT INTO events VALUES ('a', TIMESTAMP '2024-01-01 00:00:00'), ('b', TIMESTAMP '2024-01-01 00:05:00')"
    )
    window = "session_window(ts, '10 minutes')"
    environment.materialize(f"SELECT who, {window} AS w, count(*) AS n FROM events GROUP BY who, {window}")
    query = f"SELECT {window} AS w, count(*) AS n FROM events GROUP BY {window}"
    rows = [row.n for row in environment.views.sql(query).collect()]
    names = environment.rewritten_from(query)
    environment.views.sql("DROP TABLE events")
    assert rows == [2]
    assert names == []


@pytest.mark.extended
def test_functions_of_spark_are_rewritten_only_if_proven(environment: Environment, spark: SparkSession) -> None:
    """Every built-in function, called as in Spark's documentation, in each position of a query."""
    registry = getattr(getattr(spark._jvm.org.apache.spark.sql.catalyst.analysis, "FunctionRegistry$"), "MODULE$")
    blocks = PlanBlocks(environment.plain)
    proven: set[str] = set()
    calls = analyzed = 0
    for identifier in scala_list(registry.builtin().listFunction()):
        information = registry.builtin().lookupFunction(identifier).get()
        name = str(identifier.funcName())
        call = first_call(name, str(information.getExamples()))
        calls += bool(call)
        for query in (
            f"SELECT {call} FROM t",
            f"SELECT count(*) FROM t GROUP BY {call}",
            f"SELECT a FROM t WHERE {call} IS NOT NULL",
            f"SELECT a, count({call}) FROM t GROUP BY a",
        ):
            try:
                plan = environment.plain.sql(query)._jdf.queryExecution().analyzed()
            except AnalysisException:
                continue  # the function is not allowed in this position
            analyzed += bool(call)
            if call and unproven_part(blocks.normalized(plan)) is None:
                proven.add(name)
    assert calls > 450
    assert analyzed > 1_200
    assert not proven & NEVER_REWRITTEN
    assert len(proven) >= 280, sorted(proven)
    print(f"{calls} calls, {analyzed} queries, {len(proven)} functions proven")
    assert {"upper", "substring", "date_trunc", "coalesce", "sum", "count", "avg", "year", "concat"} <= proven


def first_call(name: str, examples: str) -> str:
    """Return the first call of a function in its examples, without FROM; empty if there is none."""
    calls: list[str] = re.findall(r"> SELECT (.*);", examples)
    own = [call for call in calls if call.lower().startswith(f"{name}(")] or calls
    return re.sub(r"\bcol1?\b", "b", re.sub(r"(?i) FROM (?!b\b).*", "", own[0])) if own else ""


def test_explain_shows_stored_rows(environment: Environment) -> None:
    environment.materialize(GROUPS)
    for mode in ("", "EXTENDED", "FORMATTED"):
        [row] = environment.views.sql(f"EXPLAIN {mode} {ROLL_UP}").collect()
        assert f"{environment.database}.mv__storage" in row[0]
        assert f"{environment.database}.t" not in row[0]
    assert [str(note) for note in environment.views.notes] == [
        f"{environment.database}.mv: storage: fresh; the query was rewritten"
    ]


def test_stale_rows_are_not_read(environment: Environment) -> None:
    environment.views.sql("CREATE TABLE changing (a INT) USING iceberg")
    query = "SELECT a, count(*) AS n FROM changing GROUP BY a"
    environment.materialize(query)
    assert environment.rewritten_from(query) == ["mv"], "an empty table"
    environment.plain.sql("INSERT INTO changing VALUES (1), (1)")
    assert environment.rewritten_from(query) == []
    environment.views.sql("REFRESH MATERIALIZED VIEW mv")
    frame = environment.views.sql(query)
    assert environment.rewritten_from(query) == ["mv"]
    environment.views.sql("ALTER MATERIALIZED VIEW mv SET TBLPROPERTIES ('hive-views.allow-stale-data' = 'true')")
    environment.views.sql("ALTER MATERIALIZED VIEW mv SET TBLPROPERTIES ('hive-views.max-staleness-ms' = '6000000')")
    environment.plain.sql("INSERT INTO changing VALUES (2)")
    assert environment.rewritten_from(query) == [], "rows within grace are not those of the tables"
    assert contents(frame) == Counter({"(1, 2)": 1}), "a data frame keeps the rows of its statement"
    snapshots = f"prod.{environment.database}.changing.snapshots"
    snapshot = environment.plain.sql(f"SELECT snapshot_id FROM {snapshots} ORDER BY committed_at").first()[0]
    environment.views.sql("REFRESH MATERIALIZED VIEW mv")
    assert (
        environment.rewritten_from(f"SELECT a, count(*) AS n FROM changing VERSION AS OF {snapshot} GROUP BY a") == []
    )
    environment.views.sql("ALTER TABLE changing ADD COLUMN b INT")
    assert environment.rewritten_from(query) == []
    environment.views.sql("DROP TABLE changing")
    environment.views.sql("CREATE TABLE changing (a INT) USING iceberg")
    assert environment.rewritten_from(query) == []


@pytest.mark.extended
def test_redefined_dropped_and_repeatable_views(environment: Environment) -> None:
    environment.materialize(GROUPS)
    with HiveViewCatalog("prod", **environment.views.view_catalog.properties) as other:
        other.materialized.load((environment.database, "mv")).replace(
            "SELECT a, count(*) AS n FROM t WHERE a = 1 GROUP BY a"
        )
        assert environment.rewritten_from(ROLL_UP) == []
        environment.views.sql("REFRESH MATERIALIZED VIEW mv")
        assert environment.rewritten_from(ROLL_UP) == []
        assert environment.rewritten_from("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY a") == ["mv"]
        other.materialized.load((environment.database, "mv")).set_properties({"hive-views.repeatable": "true"})
        assert environment.rewritten_from("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY a") == []
        other.materialized.load((environment.database, "mv")).set_properties(removals=["hive-views.repeatable"])
        environment.views.sql("ALTER MATERIALIZED VIEW mv DISABLE REWRITE")
        assert environment.rewritten_from("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY a") == []
        environment.views.sql("ALTER MATERIALIZED VIEW mv UNSET TBLPROPERTIES ('hive-views.rewrite-queries')")
        assert environment.rewritten_from("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY a") == ["mv"]
        other.materialized.load((environment.database, "mv")).drop()
    assert environment.rewritten_from("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY a") == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.ansi.enabled", "false"),
        *extended(("spark.sql.session.timeZone", "Asia/Tokyo"), ("spark.sql.caseSensitive", "true")),
        *extended(("spark.wap.branch", "b")),
    ],
)
def test_other_settings_read_the_tables(environment: Environment, key: str, value: str) -> None:
    environment.materialize(GROUPS)
    before = environment.plain.conf.get(key, None)
    environment.set_everywhere(key, value)
    try:
        assert environment.rewritten_from(ROLL_UP) == []
        if not key.startswith("spark.wap."):
            environment.views.sql("REFRESH MATERIALIZED VIEW mv FULL")
            assert environment.rewritten_from(ROLL_UP) == ["mv"]
    finally:
        environment.set_everywhere(key, before)


@pytest.mark.extended
@pytest.mark.parametrize("layout", ["registered", "attached", "table"])
def test_layouts_and_storage_that_is_divided_later(environment: Environment, layout: str) -> None:
    environment.materialize(GROUPS, "mv", f"PARTITIONED BY (a) TBLPROPERTIES ('hive-views.layout' = '{layout}')")
    query = "SELECT c, sum(s) AS s FROM (SELECT a, c, sum(b) AS s FROM t WHERE a IS NULL GROUP BY a, c) GROUP BY c"
    assert environment.rewritten_from(query) == ["mv"]
    if layout == "registered":
        environment.plain.sql("ALTER TABLE mv__storage ADD PARTITION FIELD c")
        assert environment.rewritten_from(query) == ["mv"]
        environment.views.sql("REFRESH MATERIALIZED VIEW mv FULL")
        assert environment.rewritten_from(query) == ["mv"]


@pytest.mark.extended
def test_views_and_materialized_views_over_each_other(environment: Environment) -> None:
    environment.views.sql("CREATE VIEW shown AS SELECT a, c, b FROM t WHERE c IS NOT NULL")
    environment.materialize("SELECT a, count(*) AS n FROM shown GROUP BY a", "lower")
    environment.materialize("SELECT sum(n) AS n FROM lower", "upper")
    assert environment.rewritten_from("SELECT a, count(*) AS n FROM shown GROUP BY a") == ["lower"]
    assert environment.rewritten_from("SELECT a, count(*) AS n FROM t WHERE c IS NOT NULL GROUP BY a") == ["lower"]
    nested = "SELECT sum(n) AS n FROM (SELECT a, count(*) AS n FROM t WHERE c IS NOT NULL GROUP BY a)"
    assert environment.rewritten_from(nested) != []


def test_temporary_view_with_the_name_of_a_table(environment: Environment) -> None:
    environment.materialize(GROUPS)
    environment.views.sql("CREATE TEMPORARY VIEW t AS SELECT 1 AS a, 'q' AS c")
    try:
        assert [tuple(row) for row in environment.views.sql(ROLL_UP).collect()] == [(1, 1)]
        assert environment.views.notes == ()
    finally:
        environment.views.sql("DROP VIEW t")


def test_temporary_views_and_writes_keep_reading_tables(environment: Environment) -> None:
    environment.materialize(GROUPS)
    environment.views.sql(f"CREATE TEMPORARY VIEW kept AS {ROLL_UP}")
    environment.views.sql(f"CREATE TABLE written USING iceberg AS {ROLL_UP}")
    assert environment.views.notes == ()
    assert contents(environment.views.sql("SELECT * FROM written")) == contents(environment.plain.sql(ROLL_UP))
    assert [note.view.name for note in environment.views.notes] == []
    environment.views.sql("DROP VIEW kept")
    environment.views.sql("DROP TABLE written")


@pytest.mark.extended
def test_second_session_refreshes_meanwhile(environment: Environment, spark: SparkSession) -> None:
    environment.views.sql("CREATE TABLE moving (a INT) USING iceberg")
    query = "SELECT a, count(*) AS n FROM moving GROUP BY a"
    environment.materialize(query)
    other_spark = spark.newSession()
    with ViewSession(other_spark, environment.views.view_catalog) as other:
        other.sql(f"USE prod.{environment.database}")
        for number in range(3):
            frame = environment.views.sql(query)
            before = contents(environment.plain.sql(query))
            other.sql(f"INSERT INTO moving VALUES ({number})")
            other.sql("REFRESH MATERIALIZED VIEW mv")
            assert contents(frame) == before
            assert environment.rewritten_from(query) == ["mv"]
    environment.views.sql("DROP TABLE moving")


def test_columns_of_a_rewritten_query_are_found_by_their_qualifiers(environment: Environment) -> None:
    environment.materialize(GROUPS)
    joined = environment.views.sql(f"SELECT * FROM ({ROLL_UP}) AS q JOIN u ON q.a = u.a")
    assert [note.view.name for note in environment.views.notes] == ["mv"]
    assert sorted(row.n for row in joined.select("q.n", "u.w").collect()) == [2, 3, 3]


def test_off_by_default(environment: Environment, spark: SparkSession) -> None:
    environment.materialize(GROUPS)
    properties = {**environment.views.view_catalog.properties, "hive-views.rewrite-queries": "false"}
    with HiveViewCatalog("prod", **properties) as catalog, ViewSession(spark.newSession(), catalog) as views:
        views.sql(f"USE prod.{environment.database}")
        views.sql(ROLL_UP)
        assert views.notes == ()


def test_connect_is_refused(environment: Environment, connect_spark: SparkSession) -> None:
    with pytest.raises(InvalidPropertyError, match="use a classic session"):
        ViewSession(connect_spark, environment.views.view_catalog)
