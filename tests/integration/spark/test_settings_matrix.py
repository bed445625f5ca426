"""Views read under other settings than those of their author: each setting, defining value and reading value."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import HiveViewsError, SessionSettingsWarning, SparkSqlError
from hive_views.spark import ViewSession
from hive_views.spark.session.helper_session import HelperSession
from hive_views.spark.session.settings import APPLIED_BY_ANALYSIS, applied_by_execution, not_applied_to_views
from hive_views.spark.sessions import captured_settings, error_condition
from hive_views.spec.session_settings import ANSI, TIME_ZONE, can_change_results, is_captured_by_spark
from tests.integration.spark.spark_versions import CATALOG, IS_BEFORE_4_1, IS_SPARK_3, TABLE_FORMAT, needs_spark_4

LEGACY = "spark.sql.legacy."
BOOLEANS = ("true", "false")

CASES: list[tuple[str, tuple[str, ...], str]] = [
    (ANSI, BOOLEANS, "SELECT CAST(s AS INT) AS x FROM t"),
    (ANSI, BOOLEANS, "SELECT a + 2147483647 AS x FROM t"),
    (TIME_ZONE, ("UTC", "Asia/Tokyo"), "SELECT hour(ts) AS x FROM t"),
    (TIME_ZONE, ("UTC", "Asia/Tokyo"), "SELECT CAST(ts AS STRING) AS x FROM t"),
    ("spark.sql.orderByOrdinal", BOOLEANS, "SELECT a AS x FROM t ORDER BY 1 DESC LIMIT 1"),
    ("spark.sql.groupByOrdinal", BOOLEANS, "SELECT a AS x, count(*) AS n FROM t GROUP BY 1"),
    ("spark.sql.groupByAliases", BOOLEANS, "SELECT a % 2 AS x, count(*) AS n FROM t GROUP BY x"),
    ("spark.sql.crossJoin.enabled", BOOLEANS, "SELECT count(*) AS x FROM t JOIN t AS u"),
    ("spark.sql.timestampType", ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ"), "SELECT TIMESTAMP '2020-01-01 00:00:00' AS x"),
    ("spark.sql.timestampType", ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ"), "SELECT typeof(CAST(s AS TIMESTAMP)) AS x FROM t"),
    ("spark.sql.mapKeyDedupPolicy", ("EXCEPTION", "LAST_WIN"), "SELECT map(1, 'a', 1, 'b')[1] AS x"),
    ("spark.sql.decimalOperations.allowPrecisionLoss", BOOLEANS, "SELECT m * m AS x FROM t"),
    ("spark.sql.function.concatBinaryAsString", BOOLEANS, "SELECT concat(X'41', X'42') AS x"),
    ("spark.sql.function.eltOutputAsString", BOOLEANS, "SELECT elt(1, X'41', X'42') AS x"),
    ("spark.sql.columnNameOfCorruptRecord", ("broken", "bad"), "SELECT from_json('{', 'a INT, bad STRING') AS x"),
    ("spark.sql.icu.caseMappings.enabled", BOOLEANS, "SELECT lower('\u2c2f') AS x"),
    (
        "spark.sql.json.enablePartialResults",
        BOOLEANS,
        """SELECT from_json('{"a": {"b": "x", "c": 1}, "d": 2}', 'a STRUCT<b: INT, c: INT>, d INT') AS x""",
    ),
    ("spark.sql.variant.allowDuplicateKeys", BOOLEANS, """SELECT to_json(try_parse_json('{"a": 1, "a": 2}')) AS x"""),
    ("spark.sql.jsonGenerator.ignoreNullFields", BOOLEANS, "SELECT to_json(named_struct('a', 1, 'b', NULL)) AS x"),
    (f"{LEGACY}allowHashOnMapType", BOOLEANS, "SELECT hash(map(1, 2)) AS x"),
    (
        f"{LEGACY}allowNullComparisonResultInArraySort",
        BOOLEANS,
        "SELECT array_sort(array(3, 1, 2), (l, r) -> IF(l = r, 0, CAST(NULL AS INT))) AS x",
    ),
    (f"{LEGACY}castComplexTypesToString.enabled", BOOLEANS, "SELECT CAST(array(1, NULL) AS STRING) AS x"),
    ("spark.sql.chunkBase64String.enabled", BOOLEANS, "SELECT base64(repeat('a', 100)) AS x"),
    (f"{LEGACY}codingErrorAction", BOOLEANS, "SELECT encode('\u0416', 'US-ASCII') AS x"),
    (f"{LEGACY}createEmptyCollectionUsingStringType", BOOLEANS, "SELECT typeof(array()) AS x"),
    (
        f"{LEGACY}decimal.retainFractionDigitsOnTruncate",
        BOOLEANS,
        "SELECT coalesce(m, CAST(1 AS DECIMAL(38, 2))) AS x FROM t",
    ),
    (f"{LEGACY}exponentLiteralAsDecimal.enabled", BOOLEANS, "SELECT 1e2 AS x"),
    (f"{LEGACY}exponentLiteralAsDecimal.enabled", BOOLEANS, "SELECT typeof(1e2) AS x"),
    (
        f"{LEGACY}csv.enableDateTimeParsingFallback",
        BOOLEANS,
        "SELECT from_csv('2020-01-01', 'a DATE', map('dateFormat', 'yyyy/MM/dd')) AS x",
    ),
    (f"{LEGACY}followThreeValuedLogicInArrayExists", BOOLEANS, "SELECT exists(array(1, NULL), e -> e > 1) AS x"),
    (f"{LEGACY}histogramNumericPropagateInputType", BOOLEANS, "SELECT histogram_numeric(a, 2)[0].x AS x FROM t"),
    (
        f"{LEGACY}json.allowEmptyString.enabled",
        BOOLEANS,
        """SELECT from_json('{"a": ""}', 'a INT, _corrupt_record STRING') AS x""",
    ),
    (
        f"{LEGACY}json.enableDateTimeParsingFallback",
        BOOLEANS,
        """SELECT from_json('{"a": "2020-01-01"}', 'a DATE', map('dateFormat', 'yyyy/MM/dd')) AS x""",
    ),
    (
        f"{LEGACY}nullValueWrittenAsQuotedEmptyStringCsv",
        BOOLEANS,
        "SELECT to_csv(struct(CAST(NULL AS STRING), 1)) AS x",
    ),
    (f"{LEGACY}integerGroupingId", BOOLEANS, "SELECT grouping_id() AS x FROM t GROUP BY CUBE (a)"),
    (f"{LEGACY}interval.enabled", BOOLEANS, "SELECT typeof(DATE '2020-01-02' - DATE '2020-01-01') AS x"),
    (f"{LEGACY}javaCharsets", BOOLEANS, "SELECT encode('a', 'windows-1252') AS x"),
    (f"{LEGACY}literal.pickMinimumPrecision", BOOLEANS, "SELECT m * 3 AS x FROM t"),
    (f"{LEGACY}literal.pickMinimumPrecision", BOOLEANS, "SELECT typeof(m * 3) AS x FROM t"),
    (f"{LEGACY}lpadRpadAlwaysReturnString", BOOLEANS, "SELECT typeof(lpad(X'41', 3, X'42')) AS x"),
    (f"{LEGACY}negativeIndexInArrayInsert", BOOLEANS, "SELECT array_insert(array(1, 2, 3), -1, 9) AS x"),
    (
        f"{LEGACY}percentileDiscCalculation",
        BOOLEANS,
        "SELECT percentile_disc(0.4) WITHIN GROUP (ORDER BY a) AS x FROM t",
    ),
    (f"{LEGACY}setopsPrecedence.enabled", BOOLEANS, "SELECT 1 AS x UNION SELECT 2 INTERSECT SELECT 2"),
    (f"{LEGACY}sizeOfNull", BOOLEANS, "SELECT size(CAST(NULL AS ARRAY<INT>)) AS x"),
    (f"{LEGACY}statisticalAggregate", BOOLEANS, "SELECT stddev_samp(a) AS x FROM t WHERE a = 1"),
    (f"{LEGACY}timeParserPolicy", ("CORRECTED", "LEGACY"), "SELECT try_to_timestamp('2020-1-1', 'yyyy-MM-dd') AS x"),
    (f"{LEGACY}timeParserPolicy", ("CORRECTED", "LEGACY"), "SELECT date_format(ts, 'EEEE u') AS x FROM t"),
    (f"{LEGACY}timeParserPolicy", ("CORRECTED", "LEGACY"), "SELECT to_varchar(ts, 'u') AS x FROM t"),
    (f"{LEGACY}typeCoercion.datetimeToString.enabled", BOOLEANS, "SELECT DATE '2020-01-01' < '2020-1-1x' AS x"),
]
"""Setting, values, and a definition whose result depends on it."""

NO_ANSI = (f"{LEGACY}sizeOfNull", f"{LEGACY}typeCoercion.datetimeToString.enabled")
"""Settings that have no effect in ANSI mode."""


@pytest.fixture(scope="module")
def home(spark: SparkSession) -> Iterator[str]:
    name = "settings_matrix"
    spark.sql(f"CREATE DATABASE spark_catalog.{name}")
    spark.sql(
        f"CREATE TABLE {CATALOG}.{name}.t (a INT, s STRING, m DECIMAL(38, 18), ts TIMESTAMP) USING {TABLE_FORMAT}"
    )
    spark.sql(
        f"INSERT INTO {CATALOG}.{name}.t VALUES (1, 'x', 1.234567890123456789, timestamp_seconds(0)),"
        " (2, '2', 2, timestamp_seconds(1)), (3, NULL, NULL, NULL)"
    )
    yield name
    spark.sql(f"DROP DATABASE spark_catalog.{name} CASCADE")


def session_with(spark: SparkSession, home: str, key: str, value: str) -> SparkSession:
    session = spark.newSession()
    session.sql(f"USE {CATALOG}.{home}")
    session.conf.set(ANSI, str(key not in NO_ANSI).lower())
    session.conf.set(key, value)
    return session


def outcome(session: Any, query: str) -> object:
    """The types and rows of a query, or the condition of its error."""
    try:
        frame = session.sql(query)
        return frame.dtypes, sorted(map(str, frame.collect()))
    except SparkSqlError as error:
        return error.condition
    except HiveViewsError as error:
        return str(error).partition("rows of the view: ")[2] or str(error)
    except PySparkException as error:
        return error_condition(error)[0]
    except Py4JJavaError:
        return "INTERNAL_ERROR"


@pytest.mark.parametrize(("key", "values", "query"), CASES)
def test_view_has_the_rows_of_its_author(
    key: str, values: tuple[str, ...], query: str, spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    if IS_SPARK_3 and "icu" in key:
        pytest.skip("Spark 3.5 does not have this setting")
    outcomes = set()
    for defining in values:
        author_session = session_with(spark, home, key, defining)
        with ViewSession(author_session, session_catalog) as author:
            expected = outcome(author_session, query)
            outcomes.add(str(expected))
            try:
                author.sql(f"CREATE OR REPLACE VIEW v AS {query}")
            except HiveViewsError as error:
                if defining == "true" and key in not_applied_to_views(spark):
                    assert f"which Spark {spark.version} does not apply to views" in str(error)
                else:
                    assert isinstance(expected, str)  # Spark rejects it, too
                continue
        for reading in values:
            with ViewSession(session_with(spark, home, key, reading), session_catalog) as reader:
                result = outcome(reader, "SELECT * FROM v")
            if reading != defining and key in applied_by_execution(spark):
                assert result == f"SET {key}={defining}"
            else:
                assert result == expected, (defining, reading)
    assert len(outcomes) > 1 or IS_SPARK_3, "the definition does not depend on the setting"


def test_view_of_another_host_is_not_read_under_a_setting_that_spark_ignores(
    spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    key, query = f"{LEGACY}setopsPrecedence.enabled", "SELECT 1 AS x UNION SELECT 2 INTERSECT SELECT 2"
    for at, text in enumerate((query, "SELECT 1 AS x UNION SELECT 2")):
        summary = {f"hive-views.conf.{key}": "true", "engine-name": "spark"}
        session_catalog.create_view_from_sql((home, f"other_{at}"), text, dialect="spark", summary=summary)
    with ViewSession(session_with(spark, home, key, "true"), session_catalog) as session:
        assert len(session.sql("SELECT * FROM other_1").collect()) == 2
        if IS_SPARK_3:
            with pytest.raises(HiveViewsError, match="does not apply to views: read it with Spark 4"):
                session.sql("SELECT * FROM other_0")
        else:
            assert session.sql("SELECT * FROM other_0").collect() == [(2,)]


def test_every_entry_is_recorded_and_applied(spark: SparkSession) -> None:
    entries = getattr(spark._jvm.org.apache.spark.sql.internal, "SQLConf$").__getattr__("MODULE$").getConfigEntries()
    author = spark.newSession()
    flipped = {
        entry.key(): "false" if entry.defaultValueString() == "true" else "true"
        for entry in entries.toArray()
        if entry.defaultValueString() in BOOLEANS
        and can_change_results(entry.key())
        and author.conf.isModifiable(entry.key())
    }
    assert len(flipped) > 100
    for key, value in list(flipped.items()):
        try:
            author.conf.set(key, value)
        except PySparkException:
            del flipped[key]  # a setting that Spark has removed
    recorded = captured_settings(author, is_captured_by_spark)
    assert flipped.items() <= recorded.items()
    reader = spark.newSession()
    reader.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    helper = HelperSession(reader)
    with helper.configured(None, recorded) as (session, _):
        assert captured_settings(session, can_change_results) == {
            key: value for key, value in recorded.items() if can_change_results(key)
        }
    helper.close()


def test_applied_settings_are_entries_of_spark(spark: SparkSession) -> None:
    entries = getattr(spark._jvm.org.apache.spark.sql.internal, "SQLConf$").__getattr__("MODULE$").getConfigEntries()
    keys = {entry.key() for entry in entries.toArray()}
    unknown = {*APPLIED_BY_ANALYSIS, *applied_by_execution(spark)} - keys
    assert not unknown or IS_BEFORE_4_1  # the lists are those of Spark 4.1


@needs_spark_4  # the second setting is one of Spark 4
def test_settings_that_other_readers_lack_are_reported(
    spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    author = session_with(spark, home, f"{LEGACY}statisticalAggregate", "true")
    with ViewSession(author, session_catalog) as session:
        with pytest.warns(SessionSettingsWarning, match="statisticalAggregate=true"):
            session.sql("CREATE OR REPLACE VIEW reported AS SELECT stddev_samp(a) AS x FROM t")
        with pytest.warns(SessionSettingsWarning, match="may apply"):
            session.spark.conf.set(f"{LEGACY}bangEqualsNot", "true")
            session.sql("SELECT * FROM reported").collect()


NOT_ANSI = {ANSI: "false" if not IS_SPARK_3 else "true"}
"""What is not the default."""
IN_TOKYO = {TIME_ZONE: "Asia/Tokyo"}


@pytest.mark.parametrize(
    ("settings", "query", "key"),
    [
        (IN_TOKYO, "SELECT hour(ts) AS x FROM t", TIME_ZONE),
        (IN_TOKYO, "SELECT a FROM t WHERE a IN (SELECT a FROM t WHERE ts > '2020-01-01')", TIME_ZONE),
        (IN_TOKYO, "SELECT CAST(a AS STRING) AS x FROM t", None),
        (IN_TOKYO, "SELECT * FROM t", None),
        (NOT_ANSI, "SELECT a + 1 AS x FROM t", ANSI),
        (NOT_ANSI, "SELECT CAST(s AS INT) AS x FROM t", ANSI),
        (NOT_ANSI, "SELECT upper(s) AS x, count(*) AS n FROM t GROUP BY s", None),
        (IN_TOKYO, "WITH w AS (SELECT a FROM t) SELECT a FROM w", None),
        (IN_TOKYO, "WITH w AS (SELECT hour(ts) AS h FROM t) SELECT h FROM w", TIME_ZONE),
        (IN_TOKYO, "SELECT a, rand() AS r FROM t TABLESAMPLE (50 PERCENT)", None),
        ({}, "SELECT hour(ts) AS x, a + 1 AS y FROM t", None),
    ],
)
def test_definition_that_depends_on_a_setting_of_its_author_is_reported(
    settings: dict[str, str],
    query: str,
    key: str | None,
    spark: SparkSession,
    session_catalog: HiveViewCatalog,
    home: str,
) -> None:
    own = spark.newSession()
    own.sql(f"USE {CATALOG}.{home}")
    for setting in (ANSI, TIME_ZONE):
        own.conf.unset(setting)
    for setting, value in settings.items():
        own.conf.set(setting, value)
    with ViewSession(own, session_catalog) as session, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session.sql(f"CREATE OR REPLACE VIEW dependent AS {query}")
    reported = [str(item.message) for item in caught if item.category is SessionSettingsWarning]
    assert [f"may depend on {key}=" in message for message in reported] == ([] if key is None else [True])


def test_dependence_on_a_setting_is_reported_on_connect(
    connect_spark: Any, session_catalog: HiveViewCatalog, home: str
) -> None:
    connect_spark.conf.set(TIME_ZONE, "Asia/Tokyo")
    with ViewSession(connect_spark, session_catalog) as session:
        session.sql(f"USE {CATALOG}.{home}")
        with pytest.warns(SessionSettingsWarning, match=f"may depend on {TIME_ZONE}=Asia/Tokyo"):
            session.sql("CREATE OR REPLACE VIEW dependent AS SELECT hour(ts) AS x FROM t")


@pytest.mark.parametrize(
    ("key", "query", "reason"),
    [
        ("spark.sql.caseSensitive", "WITH T AS (SELECT 7 AS a) SELECT a FROM t", "one name to other readers"),
        ("spark.sql.caseSensitive", "SELECT a FROM t", None),
        ("spark.sql.parser.escapedStringLiterals", "SELECT '\\n' AS a", "interpret differently"),
        ("spark.sql.parser.escapedStringLiterals", "SELECT 'n' AS a", None),
        ("spark.sql.ansi.doubleQuotedIdentifiers", 'SELECT "a" FROM t', "interpret differently"),
        ("spark.sql.parser.quotedRegexColumnNames", "SELECT `a` FROM t", "interpret differently"),
        (f"{LEGACY}consecutiveStringLiterals.enabled", "SELECT 'a''b' AS a", "interpret differently"),
        (f"{LEGACY}consecutiveStringLiterals.enabled", "SELECT '' || 'a' AS a", None),
    ],
)
def test_definition_that_depends_on_the_parser_is_rejected(
    key: str, query: str, reason: str | None, spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    with ViewSession(session_with(spark, home, key, "true"), session_catalog) as author:
        if reason is not None:
            with pytest.raises(HiveViewsError, match=reason):
                author.sql(f"CREATE OR REPLACE VIEW parsed AS {query}")
            return
        author.sql(f"CREATE OR REPLACE VIEW parsed AS {query}")
        rows = author.sql("SELECT * FROM parsed").collect()
    with ViewSession(session_with(spark, home, key, "false"), session_catalog) as reader:
        assert reader.sql("SELECT * FROM parsed").collect() == rows
