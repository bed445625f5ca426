"""The number of requests of a `ViewSession` statement to Spark and the metastore."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from hive_views.errors import SessionSettingsWarning
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.spark import ViewSession
from hive_views.spark.session.plans import PlanReader
from hive_views.spark.sessions import all_settings
from hive_views.spec.session_settings import ANSI, TIME_ZONE
from tests.function_calls import count_function_calls
from tests.integration.spark.spark_versions import IS_SPARK_3


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a statement asks for."""

    texts: int = 0
    """Texts that are passed to `SparkSession.sql`, which analyzes them."""
    plans: int = 0
    """Statements whose analyzed plan is read."""
    parses: int = 0
    """Texts that Spark only parses: two for each text whose tables may have to be replaced."""
    rows: int = 0
    """Requests for rows of tables and views, without those of Spark."""
    settings: int = 0
    """Reads of all settings of a session."""


FUNCTIONS = {
    "texts": (SparkSession.sql,),
    "plans": (PlanReader.analyzed, PlanReader.describes_table),
    "parses": (PlanReader.parsed,),
    "rows": (MetastoreClient.get_table, MetastoreClient.get_tables),
    "settings": (all_settings,),
}

_QUERY = "SELECT k, sum(id) AS s FROM t GROUP BY k"
STATEMENTS: Mapping[str, tuple[str, Asked]] = {
    "CREATE VIEW": (f"CREATE VIEW made AS {_QUERY}", Asked(texts=2, parses=2, rows=4, settings=2)),
    "CREATE VIEW over a view": ("CREATE VIEW made AS SELECT s FROM v", Asked(texts=2, parses=8, rows=7, settings=3)),
    "CREATE OR REPLACE VIEW, new": (
        f"CREATE OR REPLACE VIEW made AS {_QUERY}",
        Asked(texts=2, parses=2, rows=7, settings=2),
    ),
    "CREATE OR REPLACE VIEW, other": (
        "CREATE OR REPLACE VIEW v AS SELECT id AS k, id AS s FROM t",
        Asked(texts=2, parses=2, rows=8, settings=2),
    ),
    "ALTER VIEW AS": ("ALTER VIEW v AS SELECT id AS k, id AS s FROM t", Asked(texts=2, parses=2, rows=8, settings=2)),
    "query of a view": ("SELECT k FROM v", Asked(texts=1, plans=1, rows=1, settings=1)),
    "query of a view over a view": ("SELECT k FROM w", Asked(texts=1, plans=1, rows=1, settings=1)),
    "query of two views": ("SELECT v.k FROM v JOIN w ON v.k = w.k", Asked(texts=1, plans=1, rows=1, settings=1)),
    "query of an older version": (
        "SELECT k FROM v VERSION AS OF 1",
        Asked(texts=3, plans=2, parses=4, rows=2, settings=7),
    ),
    "query without views": (_QUERY, Asked(texts=1, plans=1)),
    "query without tables": ("SELECT 1 AS one", Asked(texts=1, plans=1)),
    "INSERT": ("INSERT INTO t SELECT * FROM t", Asked(plans=1)),
    "EXPLAIN": (f"EXPLAIN {_QUERY}", Asked(texts=1, plans=1)),
    "DESCRIBE": ("DESCRIBE t", Asked(plans=1)),
    "CREATE TEMPORARY VIEW": (f"CREATE OR REPLACE TEMPORARY VIEW temporary AS {_QUERY}", Asked(plans=1)),
}


@pytest.fixture(autouse=True)
def _default_settings(spark: SparkSession) -> Iterator[None]:
    """Give the session Spark's own defaults; with others, CREATE VIEW also asks whether the rows depend on them."""
    earlier = {key: spark.conf.get(key) for key in (ANSI, TIME_ZONE)}
    spark.conf.set(ANSI, str(not IS_SPARK_3).lower())
    yield
    for key, value in earlier.items():
        spark.conf.set(key, value)


@pytest.mark.each_spark
@pytest.mark.parametrize("what", STATEMENTS)
def test_what_a_statement_asks_for(session: ViewSession, what: str) -> None:
    text, expected = STATEMENTS[what]
    session.sql("CREATE TABLE t (id BIGINT, k BIGINT) USING iceberg")
    session.sql(f"CREATE VIEW v AS {_QUERY}")
    session.sql("CREATE VIEW w AS SELECT k FROM v")
    with count_function_calls(*(function for group in FUNCTIONS.values() for function in group)) as counts:
        session.sql(text)
    asked = {kind: sum(counts[function.__qualname__] for function in group) for kind, group in FUNCTIONS.items()}
    assert Asked(**asked) == expected


@pytest.mark.each_spark
@pytest.mark.parametrize(
    ("column", "analyses", "is_dependent"),
    [("id + 1", 4, False), ("hour(timestamp_seconds(id))", 5, True), ("hour(timestamp_seconds(rand()))", 5, False)],
)
def test_definition_is_analyzed_again_for_a_time_zone(
    session: ViewSession, column: str, analyses: int, is_dependent: bool
) -> None:
    """Under the default time zone, and once more under the session's if that seems to make a difference."""
    session.sql("CREATE TABLE t (id BIGINT, k BIGINT) USING iceberg")
    session.sql("CREATE VIEW v AS SELECT id FROM t")
    session.spark.conf.set(TIME_ZONE, "Asia/Tokyo")
    with warnings.catch_warnings(record=True) as issued, count_function_calls(SparkSession.sql) as counts:
        warnings.simplefilter("always")
        session.sql(f"CREATE VIEW w AS SELECT {column} AS c FROM t")
    assert counts == {SparkSession.sql.__qualname__: analyses}
    assert any(issubclass(item.category, SessionSettingsWarning) for item in issued) is is_dependent
