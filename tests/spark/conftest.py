"""Spark on the metastore that all tests share: one session with Iceberg, and plain Spark beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hive_views.metastore.embedded import EmbeddedMetastore
from hive_views.spark.runtime import iceberg_session
from tests.spark.plain_reader import PlainReader

HERE = Path(__file__).parent
CACHE = HERE.parent.parent / ".cache"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs Spark."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(metastore: EmbeddedMetastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark with Iceberg: its catalog `prod`, and `spark_catalog` as plain Hive support, both on the shared metastore.

    Leave its current catalog and database as they are, or set them back.
    """
    local = tmp_path_factory.mktemp("spark")
    session = iceberg_session(
        metastore.uri, metastore.warehouse, catalog="prod", cache=CACHE, conf={"spark.local.dir": str(local)}
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def plain(metastore: EmbeddedMetastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainReader]:
    """Plain Spark, without Iceberg on its class path, on the shared metastore; it starts with its first statement."""
    log = tmp_path_factory.mktemp("plain") / "spark.log"
    with PlainReader(metastore.uri, metastore.warehouse, log) as reader:
        yield reader
