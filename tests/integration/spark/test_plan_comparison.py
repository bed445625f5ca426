"""Definitions are compared in Spark: an expanded text that means something else is rejected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.spark import ViewSession
from tests.integration.spark.conftest import CACHE


def test_wrongly_expanded_definition_writes_nothing(spark: SparkSession, session_catalog: HiveViewCatalog) -> None:
    """The session's analyzer is given an altered text in place of the resolver's."""
    with ViewSession(spark.newSession(), session_catalog) as views:
        views.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.plans")
        views.sql("CREATE TABLE IF NOT EXISTS spark_catalog.plans.t (k INT, v INT)")
        views.sql("USE prod.plans")
        views.sql("CREATE OR REPLACE VIEW right AS SELECT k AS x FROM t")
        query = "SELECT k as x FROM t"
        analyze = views.analyzer(query, "plans")

        def altering(expanded: str) -> Schema:
            assert "`k` as" in expanded
            return analyze(expanded.replace("`k` as", "`v` as"))

        with pytest.raises(SqlError, match=r"column x comes from .*\.v .* instead of .*\.k"):
            session_catalog.create_view_from_sql("plans.wrong", query, analyzer=altering)
        assert not session_catalog.view_exists("plans.wrong")
        session_catalog.drop_view("plans.right")
        views.sql("DROP TABLE spark_catalog.plans.t")


def test_analyzer_of_a_session_checks_a_query_of_the_catalog(
    spark: SparkSession, session_catalog: HiveViewCatalog
) -> None:
    with ViewSession(spark.newSession(), session_catalog) as views:
        views.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.plans")
        views.sql("CREATE TABLE IF NOT EXISTS spark_catalog.plans.t (k INT, v INT)")
        query = "SELECT k, trunc('2020-01-01', 'MM') AS day FROM t"
        view = session_catalog.create_view_from_sql("plans.v", query, analyzer=views.analyzer(query, "plans"))
        assert [str(field.field_type) for field in view.schema().fields] == ["int", "date"]
        session_catalog.drop_view("plans.v")
        analyze = views.analyzer("SELECT k AS x FROM t", "plans")
        with pytest.raises(SqlError, match=r"column x comes from .*\.v .* instead of .*\.k"):
            analyze("SELECT `t`.`v` AS `x` FROM `plans`.`t`")
        with pytest.raises(SqlError, match="GROUP BY"):
            views.analyzer("SELECT k, max(v) AS m FROM t", "plans")("SELECT `t`.`k` FROM `plans`.`t`")
        views.sql("DROP TABLE spark_catalog.plans.t")


@pytest.mark.extended
def test_command_verifies_a_definition_in_spark(
    session_catalog: HiveViewCatalog, metastore: EmbeddedMetastore, tmp_path: Path
) -> None:
    (tmp_path / "hive-views").symlink_to(CACHE)
    settings = {"HIVE_VIEWS_URI": metastore.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse}

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hive_views", "--json", *words, "--verify"],
            capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, **settings, "XDG_CACHE_HOME": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    session_catalog.create_namespace("verified")
    session_catalog.create_view_from_sql("verified.t", "SELECT 1 AS k, 'a' AS v")
    ungrouped = "SELECT k, max(v) AS m FROM t"  # the resolver accepts it, Spark does not
    assert "GROUP BY" in run("create", "verified.v", "--sql", ungrouped, code=2)
    assert not session_catalog.view_exists("verified.v")
    created = run("create", "verified.v", "--sql", "SELECT k, trunc('2020-01-01', 'MM') AS day FROM t")
    assert json.loads(created)["outcome"] == "created"
    assert str(session_catalog.load_view("verified.v").schema().fields[1].field_type) == "date"  # as Spark says
    assert "GROUP BY" in run("replace", "verified.v", "--sql", ungrouped, code=2)
    assert session_catalog.load_view("verified.v").current_version().version_id == 1
    assert "dialect is hive" in run("replace", "verified.v", "--sql", "SELECT 1 AS k", "--dialect", "hive", code=2)
    assert "--raw" in run("create", "verified.w", "--sql", "SELECT 1", "--raw", "-c", "n:int", code=2)
