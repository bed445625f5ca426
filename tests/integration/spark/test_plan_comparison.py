"""Definitions are compared in Spark: an expanded text that means something else is rejected."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from hive_views.spark import ViewSession


def test_wrongly_expanded_definition_writes_nothing(
    spark: SparkSession, session_catalog: HiveViewCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The definition's analyzer is given an altered text in place of the resolver's."""
    with ViewSession(spark.newSession(), session_catalog) as views:
        views.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.plans")
        views.sql("CREATE TABLE IF NOT EXISTS spark_catalog.plans.t (k INT, v INT)")
        views.sql("USE prod.plans")
        views.sql("CREATE OR REPLACE VIEW right AS SELECT k AS x FROM t")
        definitions = views._statements._definitions
        analyzer = definitions.analyzer

        def altering(statement: Any, database: str) -> Any:
            return lambda expanded: analyzer(statement, database)(expanded.replace("`k` as", "`v` as"))

        monkeypatch.setattr(definitions, "analyzer", altering)
        with pytest.raises(SqlError, match=r"column x comes from .*\.v .* instead of .*\.k"):
            views.sql("CREATE VIEW wrong AS SELECT k as x FROM t")
        assert not session_catalog.view_exists("plans.wrong")
        session_catalog.drop_view("plans.right")
        views.sql("DROP TABLE spark_catalog.plans.t")
