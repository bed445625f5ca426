"""Spark Connect from a process in which there is no Py4J and no JVM: the main statements of a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.integration.spark.conftest import connect_address
from tests.integration.spark.spark_versions import needs_spark_4

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def answers(spark: SparkSession, metastore: EmbeddedMetastore) -> Any:
    """Return a function that runs statements in such a process and returns the report for each of them."""

    def run(statements: list[str]) -> list[dict[str, Any]]:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.integration.spark.connect_client",
                connect_address(spark),
                metastore.uri,
                metastore.warehouse,
            ],
            input=json.dumps(statements),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )
        reply = json.loads(done.stdout)
        assert reply["py4j"] == []
        return list(reply["answers"])

    return run


@needs_spark_4
def test_connect_session_needs_no_jvm_or_py4j(answers, spark: SparkSession, database: str) -> None:
    spark.sql(f"CREATE TABLE prod.{database}.orders (id INT, item STRING) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.orders VALUES (1, 'a'), (2, '7')")
    # What each gives: its rows, or the kind of error and where.
    expected_rows: dict[str, Any] = {
        f"USE prod.{database}": [],
        "SET spark.sql.ansi.enabled=false": [["spark.sql.ansi.enabled", "false"]],
        "CREATE VIEW v (n, what) AS SELECT id, item FROM orders": [],
        "SELECT what FROM v WHERE n = 1": [["a"]],
        "ALTER VIEW v AS SELECT sum(CAST(item AS INT)) AS total FROM orders": [],
        "SET spark.sql.ansi.enabled=true": [["spark.sql.ansi.enabled", "true"]],
        "SELECT total FROM v": [[7]],
        "SELECT what FROM v VERSION AS OF 1 ORDER BY n": [["a"], ["7"]],
        "SELECT version_id, is_current FROM v.versions ORDER BY 1": [[1, False], [2, True]],
        "SELECT name FROM v.lineage": [["orders"]],
        "SELECT\n missing FROM v VERSION AS OF 1": ("SparkSqlError", 2, 2),
        "CREATE VIEW above AS SELECT total FROM v": [],
        "ALTER VIEW nothing RECOMPILE": ("NoSuchViewError", 1, 12),
        "CREATE MATERIALIZED VIEW stored AS SELECT id, item FROM orders": [],
        "SELECT item FROM stored ORDER BY id": [["a"], ["7"]],
        "SHOW VIEWS LIKE 'ab*'": [[database, "above", False]],
        "DESCRIBE v": [["total", "bigint", ""]],
    }
    after: dict[str, Any] = {
        "REFRESH MATERIALIZED VIEW stored": None,
        "SELECT upper(item) FROM stored ORDER BY id": [["A"], ["7"]],
        "SELECT count(*) FROM stored.refreshes": [[1]],
        "DROP VIEW v CASCADE": [[f"{database}.above"], [f"{database}.v"]],
    }
    for (text, wanted), answer in zip((expected_rows | after).items(), answers([*expected_rows, *after]), strict=True):
        if isinstance(wanted, tuple):
            error = answer["error"]
            assert (error["kind"], error["line"], error["column"]) == wanted, error
        else:
            assert "error" not in answer, (text, answer)
            assert wanted in (None, answer["rows"]), (text, answer)
