"""Methods of the JVM that are called by name through Py4J."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from hive_views.spark import ViewSession
from hive_views.spark.java_features import METHODS, Feature, can_use, has_methods
from hive_views.spark.jvm import CONSTRUCTOR, JavaMethod, missing_methods, static_method
from hive_views.spark.sessions import all_settings, captured_settings, temporary_views_among
from hive_views.spec.session_settings import OF_APPLICATION, RECORDED
from tests.integration.spark.spark_versions import HAS_ICEBERG, LINE, needs_iceberg

_CACHE = "org.apache.iceberg.spark.SparkTableCache"
_RDD = "org.apache.spark.rdd.RDD"
_JOIN = "org.apache.spark.sql.catalyst.plans.logical.Join"


@pytest.mark.parametrize(
    ("class_name", "name", "arguments", "result"),
    [
        ("java.lang.Integer", "hashCode", (5,), 5),
        ("java.lang.Integer", "toString", (5, 2), "101"),
        ("java.lang.Double", "isNaN", (0.5,), False),
    ],
)
def test_static_method_with_instance_method_of_same_name(
    spark: SparkSession, class_name: str, name: str, arguments: tuple[Any, ...], result: object
) -> None:
    """Py4J's own lookup of a member fails for one of the classes, whichever order the JVM lists the methods in."""
    assert static_method(spark._jvm, class_name, name)(*arguments) == result


@needs_iceberg
def test_cache_of_tables_is_available_on_each_version(spark: SparkSession) -> None:
    assert static_method(spark._jvm, _CACHE, "get")().getClass().getName() == _CACHE


@needs_iceberg
def test_missing_methods_are_those_that_no_class_has(spark: SparkSession) -> None:
    existing = [
        JavaMethod(_CACHE, "get", (0,)),
        JavaMethod(_CACHE, "get", (1,)),
        JavaMethod(_CACHE, "add", (2,)),
        JavaMethod(_CACHE, "add", (5, 2)),
        JavaMethod(_CACHE, "hashCode", (0,)),
        JavaMethod(_JOIN, CONSTRUCTOR, (5,)),
        JavaMethod(_JOIN, "children", (0,)),
        JavaMethod(f"{_JOIN}$", "unapply", (1,)),
    ]
    missing = [
        JavaMethod(_CACHE, "get", (2,)),
        JavaMethod(_CACHE, "got", (0,)),
        JavaMethod(f"{_CACHE}s", "get", (0,)),
        JavaMethod(_CACHE, CONSTRUCTOR, (1,)),
        JavaMethod(_JOIN, CONSTRUCTOR, (4, 6)),
        JavaMethod(_JOIN, "childrens", (0,)),
    ]
    assert missing_methods(spark._jvm, [*existing, *missing]) == missing


LACKING: Mapping[str, Collection[Feature]] = {
    "3.5": {Feature.REWRITING},
    "4.0": {Feature.REWRITING},
    "4.1": (),
    "4.2": (),
    "4.3": {Feature.REWRITING},
}
"""The features for which each version of Spark lacks methods of its own, which is logged."""
WITH_ICEBERG = {feature for feature in Feature if any("iceberg" in item.class_name for item in METHODS[feature])}


@pytest.mark.each_spark
@pytest.mark.parametrize("feature", Feature)
def test_features_that_each_version_has(
    spark: SparkSession, feature: Feature, caplog: pytest.LogCaptureFixture
) -> None:
    has_methods.cache_clear()
    has_all_of_spark = feature not in LACKING[LINE]
    assert can_use(spark, feature) is (has_all_of_spark and (HAS_ICEBERG or feature not in WITH_ICEBERG))
    assert (caplog.text == "") is has_all_of_spark, caplog.text


class JvmWithout:
    """A view of a JVM that lacks a class, as the JVM of another release may."""

    def __init__(self, jvm: Any, class_name: str) -> None:
        self.view = jvm
        self.package, _, self.rest = class_name.partition(".")

    def __getattr__(self, name: str) -> Any:
        if name != self.package:
            return getattr(self.view, name)
        return JvmWithout(getattr(self.view, name), self.rest) if self.rest else None


def session_without(spark: SparkSession, class_name: str) -> SparkSession:
    """Return a new session whose JVM, and those of its own new sessions, lack a class."""

    jvm = spark._jvm

    class Session(SparkSession):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._jvm: Any = JvmWithout(jvm, class_name)

    return Session(spark.sparkContext, spark.newSession()._jsparkSession)


def test_lacking_methods_are_named_once(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    own = session_without(spark, _RDD)
    assert not can_use(own, Feature.STALE_PARTITIONS)
    assert not can_use(own, Feature.STALE_PARTITIONS)
    [message] = caplog.messages
    lacking = ", ".join(str(item) for item in METHODS[Feature.STALE_PARTITIONS] if item.class_name == _RDD)
    assert message == (
        f"This Spark {spark.version} lacks {lacking}, so that hive_views does not "
        "prove that a query needs no stale partition: such a query is rejected, as on Spark Connect"
    )


def test_settings_are_read_one_by_one_without_the_methods(spark: SparkSession) -> None:
    own = session_without(spark, "org.apache.spark.sql.RuntimeConfig")
    assert not can_use(own, Feature.SETTINGS)
    assert all_settings(own) == all_settings(spark.newSession())


@pytest.mark.each_spark
@pytest.mark.parametrize("lacking", ["", "org.apache.spark.sql.catalyst.catalog.SessionCatalog"])
def test_temporary_views_are_those_that_spark_finds(spark: SparkSession, lacking: str) -> None:
    """Spark compares names that were stored under one setting with names that are looked up under another one."""
    own = session_without(spark, lacking) if lacking else spark.newSession()
    assert can_use(own, Feature.TEMPORARY_VIEWS) is (lacking == "")
    names = ("low", "LOW", "Mixed", "mixed", "`low`", "a.b", "none")
    for is_case_sensitive, created in (("false", "LOW"), ("true", "Mixed")):
        own.conf.set("spark.sql.caseSensitive", is_case_sensitive)
        own.sql(f"CREATE TEMPORARY VIEW {created} AS SELECT 1 AS one")
    for is_case_sensitive, expected in (("false", {"low", "LOW"}), ("true", {"low", "Mixed"})):
        own.conf.set("spark.sql.caseSensitive", is_case_sensitive)
        assert temporary_views_among(own, names) == expected
        assert expected == {name for name in names if "`" not in name and reads(own, f"SELECT * FROM `{name}`")}


def reads(session: SparkSession, query: str) -> bool:
    try:
        session.sql(query)
    except AnalysisException:
        return False
    return True


@pytest.mark.each_spark
def test_settings_that_are_captured_are_those_that_spark_can_modify(spark: SparkSession) -> None:
    """No session asks for the settings of the application, which none can modify."""
    settings = all_settings(spark)
    assert any(key.startswith(OF_APPLICATION) for key in settings)
    modifiable = {key: value for key, value in settings.items() if spark.conf.isModifiable(key)}
    always = {key: spark.conf.get(key) for key in RECORDED}
    assert captured_settings(spark, lambda _: True) == {**modifiable, **always}


@pytest.mark.each_spark
def test_session_reads_plans_as_text_without_the_methods(
    spark: SparkSession, catalog: HiveViewCatalog, database: str
) -> None:
    own = session_without(spark, "org.apache.spark.sql.execution.QueryExecution")
    assert not can_use(own, Feature.PLANS) and not can_use(own, Feature.PLAN_COMPARISON)
    own.sql(f"USE {'prod' if HAS_ICEBERG else 'spark_catalog'}.{database}")
    own.sql("CREATE TABLE numbers (number INT, day DATE)")
    own.sql("INSERT INTO numbers VALUES (1, DATE'2026-11-28')")
    with ViewSession(own, catalog) as session:
        session.sql("CREATE VIEW doubled AS SELECT number * 2 AS twice, day FROM numbers")
        own.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")  # the view is replaced by its definition
        [row] = session.sql("SELECT twice, day FROM doubled WHERE twice = 2").collect()
        assert (row.twice, str(row.day)) == (2, "2026-11-28")
        assert "twice" in session.sql("EXPLAIN SELECT twice FROM doubled").collect()[0][0]
        assert [row.col_name for row in session.sql("DESCRIBE numbers").collect()][:2] == ["number", "day"]
        with pytest.raises(SqlError, match="missing"):
            session.sql("SELECT missing FROM doubled")
