"""A real Trino on the metastore that all tests share. Needs `make test-trino`, which installs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.spark import SparkEngine
from tests.integration.spark.conftest import plain, spark
from tests.integration.trino.server import TrinoServer, running
from tests.integration.view_copy.conftest import rest, rest_server

__all__ = ["plain", "rest", "rest_server", "spark"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("HIVE_VIEWS_TEST_TRINO"):
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="needs a Trino server: run `make test-trino`"))


@pytest.fixture(scope="session")
def trino(metastore: MetastoreProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrinoServer]:
    """Trino with the catalogs of `server.CATALOGS`."""
    with running(tmp_path_factory.mktemp("trino"), metastore.uri) as server:
        yield server


@pytest.fixture
def engine(spark: SparkSession, catalog: HiveViewCatalog) -> SparkEngine:
    return SparkEngine(spark, catalog)
