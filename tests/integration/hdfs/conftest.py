"""One HDFS for all tests of this directory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.hdfs.cluster import Hdfs, hdfs


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        running.make_directory("/warehouse")
        yield running
