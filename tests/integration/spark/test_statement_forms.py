"""Statements of every form that read a view with recorded settings, in a session with other settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import udtf

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from hive_views.spark import ViewSession
from hive_views.spark.jvm import is_classic
from tests.integration.spark.spark_versions import (
    CATALOG,
    IS_BEFORE_4_1,
    IS_SPARK_3,
    TABLE_FORMAT,
    needs_iceberg,
    needs_spark_4,
)
from tests.metastore_calls import recorded_calls
from tests.suites import extended

QUERIES = [
    "SELECT h FROM v",
    "TABLE v",
    "TABLE t UNION ALL SELECT h FROM v",
    "SELECT h FROM v UNION ALL TABLE v",
    "TABLE one |> JOIN v ON true |> SELECT v.h",
    "FROM t |> UNION ALL TABLE v",
    "FROM t |> UNION ALL (SELECT * FROM v)",
    "FROM v |> SET h = h + 0",
    "FROM v",
    "FROM v |> WHERE h IN (TABLE v)",
    "SELECT (SELECT max(h) FROM v) AS h",
    "SELECT max(s.h) AS h FROM one JOIN LATERAL (TABLE v) s ON true",
    "SELECT 9 AS h WHERE 9 IN (TABLE v)",
    "WITH c AS (TABLE v) SELECT * FROM c",
    "WITH c AS (SELECT * FROM t UNION ALL TABLE v) TABLE c",
    "SELECT s.h FROM (TABLE v) s",
    "SELECT * FROM (SELECT h, 1 AS k FROM v) PIVOT (max(h) FOR k IN (1))",
    "SELECT h FROM rows_of(TABLE(v) PARTITION BY v.h)",
    "SELECT h FROM rows_of(TABLE(statement_forms.v) PARTITION BY h ORDER BY v.h)",
    "SELECT h FROM plain_function()",
    "SELECT scalar_function() AS h",
    "SELECT h FROM frame_view",
    "SELECT h FROM view_of_cached_rows",
    "SELECT h FROM IDENTIFIER('v')",
    f"SELECT h FROM IDENTIFIER('{CATALOG}' || '.' || 'statement_forms' || '.v')",
    "SELECT h FROM spark_catalog.statement_forms.plain_view",
    "SELECT h FROM temporary_view",
    "EXPLAIN SELECT h FROM v",
]
"""Queries whose result is 9 if the view is read under its own settings."""

WRITES = [
    "INSERT INTO out SELECT h FROM v",
    "INSERT OVERWRITE out (TABLE v)",
    "INSERT INTO out BY NAME TABLE v",
    "INSERT INTO out TABLE v",
    "INSERT INTO out REPLACE WHERE h = 9 TABLE v",
    "WITH c AS (TABLE v) INSERT INTO out SELECT * FROM c",
    "FROM v INSERT INTO out SELECT h",
    "MERGE INTO out USING (TABLE v) s ON false WHEN NOT MATCHED THEN INSERT (h) VALUES (s.h)",
    "CREATE OR REPLACE TABLE out USING iceberg AS TABLE v",
    "REPLACE TABLE out USING iceberg AS TABLE v",
    "REPLACE TABLE out USING iceberg AS SELECT * FROM (TABLE v)",
    "INSERT INTO out SELECT h FROM plain_function()",
    "INSERT INTO out SELECT h FROM spark_catalog.statement_forms.plain_view",
    "INSERT INTO out SELECT h FROM IDENTIFIER('v')",
]
"""Statements after which the table `out` contains 9."""

UNPARSED = [
    "BEGIN SELECT h FROM (v); END",
    "BEGIN SELECT h FROM temporary_view; END",
    "BEGIN SELECT h FROM spark_catalog.statement_forms.plain_view; END",
    "BEGIN SELECT scalar_function(); END",
    "BEGIN SELECT h FROM plain_function(); END",
    "SET VAR x = scalar_function()",
    "EXECUTE IMMEDIATE 'TABLE v'",
    "EXECUTE IMMEDIATE 'SELECT h FROM temporary_view'",
    "EXECUTE IMMEDIATE 'SELECT scalar_function()'",
]
"""Statements in which no name is replaced, since Spark's parser or another text contains the query."""


def skip_if_unknown(text: str) -> None:
    """Skip a statement that this version of Spark cannot parse."""
    new = ("|>", "_function()", "PARTITION BY", " WITH ('")
    if IS_SPARK_3 and (text in ("FROM v", "FROM t") or any(part in text for part in new)):
        pytest.skip("needs Spark 4.0")


@pytest.fixture(scope="module")
def home(spark: SparkSession, session_catalog: HiveViewCatalog) -> Iterator[str]:
    """A database with a view of the hour of the epoch in Tokyo, and functions and views of others that read it."""
    name = f"{CATALOG}.statement_forms"
    database = name.partition(".")[2]
    spark.sql(f"CREATE DATABASE {name}")
    spark.sql(f"CREATE TABLE {name}.t (h INT) USING {TABLE_FORMAT}")
    spark.sql(f"CREATE TABLE {name}.one USING {TABLE_FORMAT} AS SELECT 1 AS k, timestamp_seconds(0) AS epoch")
    with ViewSession(spark.newSession(), session_catalog) as author:
        author.sql("SET spark.sql.session.timeZone=Asia/Tokyo")
        author.sql(f"USE {name}")
        author.sql("CREATE VIEW v AS SELECT hour(epoch) AS h FROM one")
        author.sql("CREATE VIEW outer_view AS SELECT h FROM v")
    spark.sql(f"CREATE VIEW spark_catalog.{database}.plain_view AS SELECT h FROM {name}.v")
    if not IS_SPARK_3:
        spark.sql(
            f"CREATE FUNCTION spark_catalog.{database}.plain_function() RETURNS TABLE (h INT) "
            f"RETURN SELECT h FROM {name}.v"
        )
    yield name
    spark.sql(f"DROP DATABASE spark_catalog.{database} CASCADE")


@pytest.fixture(params=["classic", "connect"])
def reader(
    request: pytest.FixtureRequest, spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> Iterator[ViewSession]:
    """A session in UTC."""
    own = spark.newSession() if request.param == "classic" else request.getfixturevalue("connect_spark")
    own.sql("SET spark.sql.session.timeZone=UTC")
    own.sql(f"USE {home}")
    own.sql(f"CREATE OR REPLACE TEMPORARY VIEW temporary_view AS SELECT h FROM {home}.v")
    own.table("v").alias("other").where("h >= 0").createOrReplaceTempView("frame_view")
    own.sql("CACHE LAZY TABLE cached_rows AS SELECT h FROM v")
    own.table("cached_rows").createOrReplaceTempView("view_of_cached_rows")
    if not IS_SPARK_3:
        own.sql("CREATE OR REPLACE TEMPORARY FUNCTION plain_function() RETURNS TABLE (h INT) RETURN TABLE v")
        own.sql("CREATE OR REPLACE TEMPORARY FUNCTION scalar_function() RETURNS INT RETURN (SELECT max(h) FROM v)")
        if request.param == "classic":
            own.udtf.register("rows_of", udtf(hours(), returnType="h INT"))
    with ViewSession(own, session_catalog) as session:
        yield session


def hours() -> type:
    """The class of a table function that returns the column `h` of its argument."""

    class Hours:  # within a function, so that its code is sent to the workers
        def eval(self, row: Row) -> Iterator[tuple[int]]:
            yield (row["h"],)

    return Hours


MISREAD = "would read incorrectly"
REFUSED = (MISREAD, "Cannot determine where this statement names v")
REJECTED = (
    *("plain_function", "scalar_function", "plain_view", "temporary_view", "frame_view", "cached_rows", "IDENTIFIER"),
)
"""What is rejected, since the view's name cannot be replaced."""


@pytest.mark.parametrize("query", QUERIES)
def test_query_uses_recorded_settings(query: str, reader: ViewSession) -> None:
    skip_if_unknown(query)
    if "rows_of" in query and not is_classic(reader.spark):
        pytest.skip("PySpark makes no table function for Connect after another session was ended")
    try:
        rows = reader.sql(query).collect()
    except SqlError as error:
        assert any(reason in str(error) for reason in REFUSED)
        assert any(word in query for word in REJECTED)
    else:
        assert "EXPLAIN" in query or {row[0] for row in rows} == {9}


@pytest.mark.parametrize("statement", WRITES)
def test_statement_stores_rows_under_recorded_settings(statement: str, reader: ViewSession, home: str) -> None:
    skip_if_unknown(statement)
    if TABLE_FORMAT != "iceberg" and any(word in statement for word in ("MERGE", "REPLACE TABLE", "REPLACE WHERE")):
        pytest.skip("needs a table format with replacements")
    reader.sql(f"DROP TABLE IF EXISTS {home}.out")
    reader.sql(f"CREATE TABLE {home}.out (h INT) USING {TABLE_FORMAT}")
    try:
        reader.sql(statement)
    except SqlError as error:
        assert any(reason in str(error) for reason in REFUSED)
        assert any(word in statement for word in REJECTED)
        assert reader.sql("SELECT * FROM out").collect() == []
    else:
        assert [row.h for row in reader.sql("SELECT * FROM out").collect()] == [9]


def test_view_within_a_plain_view_of_other_settings_is_rejected(reader: ViewSession) -> None:
    reader.sql("SET spark.sql.session.timeZone=Asia/Tokyo")
    with pytest.raises(SqlError, match=MISREAD):
        reader.sql("SELECT h FROM spark_catalog.statement_forms.plain_view")
    assert reader.sql("SELECT h FROM v").collect() == [(9,)]


@needs_spark_4
@pytest.mark.parametrize("statement", UNPARSED)
def test_statement_that_is_not_rewritten_is_rejected(statement: str, reader: ViewSession) -> None:
    with pytest.raises(SqlError, match=MISREAD):
        reader.sql(statement)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.maxPlanStringLength", "60"),
        ("spark.sql.debug.maxToStringFields", "0"),
        ("spark.sql.debug.maxToStringFields", "2"),
        ("spark.sql.legacy.useCurrentConfigsForView", "true"),
        ("spark.sql.redaction.string.regex", "(?i)statement_forms"),
        ("spark.sql.legacy.ctePrecedencePolicy", "LEGACY"),
        ("spark.sql.legacy.storeAnalyzedPlanForView", "true"),
    ],
)
def test_settings_of_the_reader_hide_no_view(key: str, value: str, reader: ViewSession) -> None:
    reader.conf.set(key, value)
    try:
        for query in ("SELECT h FROM v", "SELECT h FROM outer_view", "WITH v AS (SELECT h FROM v) SELECT h FROM v"):
            try:
                assert reader.sql(query).collect() == [(9,)]
            except SqlError as error:
                assert any(reason in str(error) for reason in (key, MISREAD, "Cannot determine where"))
    finally:
        reader.conf.unset(key)


DEFINITIONS = [
    "SELECT * FROM range(1, 4)",
    "TABLE t",
    "FROM t |> UNION ALL (TABLE t)",
    "SELECT * FROM t FULL JOIN one ON h = k",
    "SELECT * FROM t FULL JOIN (SELECT k AS h, epoch FROM one) USING (h)",
    "FROM one |> SET k = k + 1 |> DROP epoch |> AS x |> WHERE x.k > 0",
    "SELECT * FROM one PIVOT (count(*) FOR k IN (1, 2 AS two))",
    *extended(
        "SELECT * FROM (SELECT k, k + 1 AS l FROM one) UNPIVOT (v FOR n IN (k, l AS L))",
        "SELECT * FROM inline(array(struct(1, 2 AS b)))",
        "SELECT id + 1 AS n FROM range(3) AS r",
        "SELECT * FROM explode(array(1, 2))",
        "SELECT * FROM posexplode(array(5)) AS e(p, c)",
        "SELECT k, c FROM one, LATERAL explode(array(k, 7)) AS e(c)",
        "FROM t",
        "FROM one SELECT k",
        "TABLE t UNION ALL TABLE t",
        "SELECT 1 IN (TABLE t) AS found FROM one",
        "SELECT h FROM t WITH ('split-size' = '10')",
        "SELECT * FROM t NATURAL FULL JOIN (SELECT k AS h FROM one)",
    ),
]
"""Definitions that Spark accepts and that are not of the form SELECT … FROM table."""


@pytest.mark.parametrize("query", DEFINITIONS)
def test_definition_returns_the_rows_of_its_query(query: str, reader: ViewSession) -> None:
    skip_if_unknown(query)
    expected = reader.spark.sql(query)
    reader.sql(f"CREATE OR REPLACE VIEW defined AS {query}")
    assert reader.table("defined").columns == expected.columns
    assert sorted(map(str, reader.table("defined").collect())) == sorted(map(str, expected.collect()))
    reader.sql("DROP VIEW defined")


def test_query_with_time_literal_reads_view(reader: ViewSession) -> None:
    if IS_BEFORE_4_1:
        pytest.skip("needs the type TIME")
    reader.sql("SET spark.sql.timeType.enabled=true")
    query = "SELECT h FROM v WHERE CAST('10:11:12' AS TIME) > TIME'10:00:00'"
    assert reader.sql(query).collect() == [(9,)]
    with pytest.raises(SqlError, match=MISREAD):
        reader.sql(query.replace("v", "temporary_view"))
    reader.sql(f"CREATE OR REPLACE VIEW defined AS {query}")
    assert reader.table("defined").collect() == [(9,)]
    reader.sql("DROP VIEW defined")


@needs_spark_4
@needs_iceberg
def test_view_under_the_settings_of_the_session_is_read_by_spark(reader: ViewSession, home: str) -> None:
    reader.sql("CREATE OR REPLACE VIEW own_settings AS SELECT 9 AS h")
    function = f"spark_catalog.{home.partition('.')[2]}.of_own_settings"
    reader.sql(f"CREATE FUNCTION {function}() RETURNS INT RETURN (SELECT max(h) FROM own_settings)")
    reader.sql("CACHE TABLE cached AS TABLE own_settings")
    reader.sql(f"CREATE TABLE copied USING {TABLE_FORMAT} AS TABLE own_settings")
    for query in (f"SELECT {function}()", "TABLE cached", "TABLE copied"):
        assert reader.sql(query).collect() == [(9,)]
    reader.sql("ALTER VIEW own_settings SET TBLPROPERTIES (first.second = 1, 'third' true)")
    reader.sql("ALTER VIEW own_settings UNSET TBLPROPERTIES (first.second, third)")
    properties = reader.view_catalog.load_view((home.partition(".")[2], "own_settings")).metadata.properties
    assert not {"first.second", "third"} & properties.keys()
    for text in (f"DROP FUNCTION {function}", "UNCACHE TABLE cached", "DROP TABLE copied", "DROP VIEW own_settings"):
        reader.sql(text)


WITHOUT_VIEWS = [
    "SELECT h FROM t",
    "SELECT h FROM t WHERE h IN (SELECT k FROM one) OR (SELECT max(k) FROM one) = 1",
    "WITH c AS (SELECT k FROM one) SELECT * FROM c JOIN t ON c.k = t.h JOIN c AS d ON d.k = c.k",
    "INSERT INTO t SELECT k FROM one",
    f"CREATE TABLE made USING {TABLE_FORMAT} AS SELECT k FROM one WHERE k NOT IN (SELECT h FROM t)",
    "CREATE OR REPLACE TEMPORARY VIEW sums AS SELECT k, (SELECT max(h) FROM t) AS h FROM one",
    "EXPLAIN SELECT h FROM t",
    "DESCRIBE t",
    "DESC EXTENDED t",
]
"""Statements whose tables Spark has loaded once they are analyzed."""


@needs_iceberg
def test_statements_without_views_send_no_requests(
    spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    with ViewSession(spark.newSession(), session_catalog) as session, recorded_calls() as calls:
        session.sql(f"USE {home}")
        requests = {}
        for statement in WITHOUT_VIEWS:
            calls.clear()
            session.sql(statement)
            requests[statement] = list(calls)
        session.sql("DROP TABLE made")
        assert not any(requests.values()), requests
        calls.clear()
        assert session.sql("DESCRIBE v").collect()[0].col_name == "h"
        assert calls


CHANGES_THROUGH_VIEWS = [
    "DELETE FROM {view}",
    "DELETE FROM {view} WHERE b = 2",
    "WITH c AS (SELECT 1) DELETE FROM {view}",
    "DELETE FROM IDENTIFIER('{view}')",
    "BEGIN DELETE FROM {view}; END",
    "EXECUTE IMMEDIATE 'DELETE FROM {view}'",
    "UPDATE {view} SET a = 5",
    "MERGE INTO {view} AS v USING (SELECT 1 AS a) AS s ON v.a = s.a WHEN MATCHED THEN DELETE",
    "DROP TABLE {view}",
    "DROP TABLE IDENTIFIER('{view}')",
    "BEGIN DROP TABLE {view}; END",
    "BEGIN DROP TABLE IF EXISTS IDENTIFIER('{view}'); END",
    "EXECUTE IMMEDIATE 'DROP TABLE ' || '{view}'",
]


@needs_iceberg
@pytest.mark.parametrize("statement", CHANGES_THROUGH_VIEWS)
@pytest.mark.parametrize("kind", ["classic", *extended("connect")])
def test_statements_change_no_table_through_a_view(
    statement: str, kind: str, spark: SparkSession, session_catalog: HiveViewCatalog, home: str, request: Any
) -> None:
    if IS_SPARK_3 and any(word in statement for word in ("BEGIN", "EXECUTE", "IDENTIFIER")):
        pytest.skip("needs Spark 4.0")
    database = home.partition(".")[2]
    spark.sql(f"CREATE OR REPLACE TABLE {home}.source USING iceberg PARTITIONED BY (b) AS SELECT 1 AS a, 2 AS b")
    session_catalog.execute(f"CREATE OR REPLACE VIEW {database}.over_source AS SELECT a, b FROM {database}.source")
    own = spark.newSession() if kind == "classic" else request.getfixturevalue("connect_spark")
    with ViewSession(own, session_catalog) as session:
        session.sql(f"USE {home}")
        for view in ("over_source", f"{home}.over_source", f"spark_catalog.{database}.over_source"):
            with pytest.raises(SqlError, match="is a view"):
                session.sql(statement.format(view=view))
        assert session.table("over_source").collect() == [(1, 2)]
        session.sql("CREATE TABLE dropped (a INT) USING iceberg")
        session.sql("DELETE FROM IDENTIFIER('dropped')")
        session.sql("WITH c AS (SELECT a AS update, 1 FROM dropped) SELECT update, 1 FROM c")
        session.sql("DROP TABLE IDENTIFIER('dropped')")
