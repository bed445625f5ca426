"""Sessions on a real metastore: what each of the two kinds of Spark sees there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hive_views.errors import ArtifactFetchError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.maven import MIRROR
from hive_views.spark import versions
from hive_views.spark.runtime import catalog_settings, fetch_runtime, iceberg_coordinates, spark_settings
from tests.integration.metastore.rpc import connect
from tests.integration.spark.conftest import CACHE
from tests.integration.spark.plain_reader import PlainReader, PlainSparkError


@pytest.fixture
def orders(spark: SparkSession, database: str) -> Iterator[str]:
    """A Hive table."""
    name = f"{database}.orders"
    spark.sql(f"CREATE TABLE spark_catalog.{name} (id INT, item STRING) STORED AS PARQUET")
    spark.sql(f"INSERT INTO spark_catalog.{name} VALUES (1, 'ümlaut'), (2, NULL)")
    yield name
    spark.sql(f"DROP TABLE IF EXISTS spark_catalog.{name}")


def test_both_read_a_hive_table(spark: SparkSession, plain: PlainReader, orders: str) -> None:
    rows = [(1, "ümlaut"), (2, None)]
    assert [tuple(row) for row in spark.sql(f"SELECT * FROM spark_catalog.{orders} ORDER BY id").collect()] == rows
    assert plain.sql(f"SELECT * FROM {orders} ORDER BY id") == rows
    assert plain.columns(f"SELECT id AS Number, item FROM {orders}") == ["Number", "item"]


@pytest.mark.extended
def test_session_starts_without_log_lines(metastore: EmbeddedMetastore) -> None:
    program = (
        "import sys; from hive_views.spark import plain_session; "
        "spark = plain_session(*sys.argv[1:]); print(spark.sql('SELECT 1').collect()); spark.stop()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, metastore.uri, metastore.warehouse], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[Row(1=1)]\n"
    assert [line for line in done.stderr.splitlines() if "WARN " in line or "log4j" in line] == []


def test_iceberg_catalog_reads_tables_and_views(
    spark: SparkSession, plain: PlainReader, database: str, metastore: EmbeddedMetastore
) -> None:
    spark.sql(f"CREATE TABLE prod.{database}.t (a INT) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.t VALUES (1), (2)")
    assert spark.sql(f"SHOW VIEWS IN prod.{database}").collect() == []
    spark.sql(f"CREATE VIEW prod.{database}.v AS SELECT sum(a) AS total FROM prod.{database}.t")
    assert [row.viewName for row in spark.sql(f"SHOW VIEWS IN prod.{database}").collect()] == ["v"]
    assert spark.sql(f"SELECT total FROM prod.{database}.v").collect()[0].total == 3
    with connect(metastore.port) as client:
        row = client.get_table(database, "v")
    assert row.parameters["table_type"].lower() == "iceberg-view"
    assert spark.conf.get("spark.sql.catalog.prod.cache-enabled") == "false"
    # Plain Spark sees the table, has no Iceberg to read it with, and cannot make one either.
    assert (database, "t", False) in plain.sql(f"SHOW TABLES IN {database}")
    with pytest.raises(PlainSparkError, match=r"FileInputFormat|InstantiationException"):
        plain.sql(f"SELECT * FROM {database}.t")
    with pytest.raises(PlainSparkError, match="DATA_SOURCE_NOT_FOUND"):
        plain.sql(f"CREATE TABLE {database}.t2 (a INT) USING iceberg")
    spark.sql(f"DROP VIEW prod.{database}.v")
    spark.sql(f"DROP TABLE prod.{database}.t")


def test_plain_spark_continues_after_error(plain: PlainReader) -> None:
    with pytest.raises(PlainSparkError, match="TABLE_OR_VIEW_NOT_FOUND"):
        plain.sql("SELECT * FROM no_such_table")
    assert plain.sql("SELECT 1, 'a', CAST(1.5 AS DECIMAL(3, 1)), DATE'2020-01-02'") == [(1, "a", "1.5", "2020-01-02")]


def test_both_are_small_and_quiet(spark: SparkSession, plain: PlainReader) -> None:
    for settings in (
        dict(spark.sparkContext.getConf().getAll()),
        dict(plain.sql("SET")),
    ):
        assert settings["spark.driver.host"] == "127.0.0.1"
        assert settings["spark.driver.memory"] == "1g"
        assert settings["spark.ui.enabled"] == "false"
        assert settings["spark.sql.shuffle.partitions"] == "2"


def test_the_coordinates_fit_the_installed_spark() -> None:
    import pyspark

    line, release = versions.spark_line(pyspark.__version__), versions.iceberg_release(pyspark.__version__)
    scala = versions.SPARK_LINES[line].scala
    assert iceberg_coordinates() == f"org.apache.iceberg:iceberg-spark-runtime-{line}_{scala}:{release}"


def test_unknown_warehouse_is_omitted_from_settings() -> None:
    assert catalog_settings("thrift://h:1", "file:///w", "prod")["spark.sql.catalog.prod.warehouse"] == "file:///w"
    assert "spark.sql.catalog.prod.warehouse" not in catalog_settings("thrift://h:1", "", "prod")


@pytest.mark.parametrize(
    ("master", "host"),
    [(None, "127.0.0.1"), ("local[4]", "127.0.0.1"), ("yarn", None), ("spark://host:7077", None)],
)
def test_executors_elsewhere_can_reach_the_driver(master: str | None, host: str | None) -> None:
    settings = spark_settings("thrift://h:1", "", {} if master is None else {"spark.master": master})
    assert settings.get("spark.driver.host") == settings.get("spark.driver.bindAddress") == host


def test_corrupt_jar_is_downloaded_again(tmp_path: Path) -> None:
    kept = fetch_runtime(CACHE)
    broken = tmp_path / kept.name
    broken.write_bytes(kept.read_bytes()[:1000])
    # A mirror that is a folder: what Maven Central has, without the network.
    group, artifact, release = iceberg_coordinates().split(":")
    mirror = tmp_path / "mirror"
    directory = mirror / group.replace(".", "/") / artifact / release
    directory.mkdir(parents=True)
    shutil.copyfile(kept, directory / f"{artifact}-{release}.jar")
    (directory / f"{artifact}-{release}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId>"
        f"<artifactId>{artifact}</artifactId><version>{release}</version></project>"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MIRROR, mirror.as_uri())
        assert fetch_runtime(tmp_path) == broken
    assert broken.stat().st_size == kept.stat().st_size
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("ivy-")] == []


def test_failed_fetch_names_artifact_and_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR, (tmp_path / "empty").as_uri())
    with pytest.raises(ArtifactFetchError, match=re.escape(iceberg_coordinates())) as caught:
        fetch_runtime(tmp_path / "cache")
    assert "not found" in caught.value.reason
    assert caught.value.repository == (tmp_path / "empty").as_uri()
