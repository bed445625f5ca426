"""Hive's driver on a metastore of Hive 4.1, because the driver calls methods that older ones lack."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views.local_metastore.process import MetastoreProcess
from tests.conftest import started
from tests.integration.hive.reader import VERSION, HiveReader, running

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("HIVE_VIEWS_TEST_HIVE"):
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="needs Hive's driver: run `make test-hive`"))


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """In place of the shared metastore."""
    with started(tmp_path_factory.mktemp("metastore"), VERSION) as process:
        yield process


@pytest.fixture(scope="module")
def hive(metastore: MetastoreProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveReader]:
    with running(tmp_path_factory.mktemp("hive"), metastore.uri) as reader:
        yield reader
