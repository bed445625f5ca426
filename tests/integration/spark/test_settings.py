"""The settings that Spark's own configuration entries have, and which of them views and refreshes record."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from hive_views.spark.sessions import captured_settings, end_session, second_session
from hive_views.spec.session_settings import ANSI, TIME_ZONE, can_change_results, is_captured_by_spark
from tests.integration.spark.spark_versions import needs_spark_4_1

POLICY = "spark.sql.legacy.timeParserPolicy"


def modifiable_entries(spark: SparkSession) -> list[str]:
    """The keys of the entries of Spark's configuration that can be modified."""
    module = getattr(spark._jvm.org.apache.spark.sql.internal, "SQLConf$").__getattr__("MODULE$")
    keys = [entry.key() for entry in module.getConfigEntries().toArray()]
    return [key for key in keys if spark.conf.isModifiable(key)]


@needs_spark_4_1  # another signature
def test_settings_captured_with_a_view_are_those_that_spark_captures(spark: SparkSession):
    java = spark._jvm
    keys = modifiable_entries(spark)
    assert len(keys) > 500
    conf = java.org.apache.spark.sql.internal.SQLConf()
    settings = conf.settings()
    for key in keys:
        settings.put(key, "x")  # not validated: only the keys matter
    helper = getattr(java.org.apache.spark.sql.execution.command, "ViewHelper$").__getattr__("MODULE$")
    captured = {key for key in keys if helper.sqlConfigsToProps(conf, "").contains(key)}
    assert {key for key in keys if is_captured_by_spark(key)} == captured


def test_settings_that_can_change_results(spark: SparkSession):
    keys = modifiable_entries(spark)
    relevant = {key for key in keys if can_change_results(key)}
    families = ("spark.sql.legacy.", "spark.sql.ansi.e", "spark.sql.json.")
    of_temporary_views = {"spark.sql.legacy.storeAnalyzedPlanForView"}
    assert {key for key in keys if key.startswith(families)} - of_temporary_views <= relevant
    assert {"spark.sql.mapKeyDedupPolicy", "spark.sql.caseSensitive", "spark.sql.timestampType"} <= relevant
    performance = {"spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.adaptive.enabled"}
    assert performance <= set(keys) and not performance & relevant


@pytest.mark.parametrize("kind", ["spark", "connect_spark"])
def test_captured_settings_of_session(request: pytest.FixtureRequest, kind: str):
    user = request.getfixturevalue(kind)
    assert user.conf.get(ANSI)  # a Connect session exists on the server from its first request
    session = second_session(user)
    try:
        before = captured_settings(session, can_change_results)
        assert before.keys() >= {ANSI, TIME_ZONE} and POLICY not in before
        session.conf.set(POLICY, "LEGACY")
        session.conf.set("spark.sql.shuffle.partitions", "3")
        session.conf.set("spark.sql.catalog.other", "org.apache.iceberg.spark.SparkCatalog")
        assert captured_settings(session, can_change_results) == {**before, POLICY: "LEGACY"}
    finally:
        end_session(session)
