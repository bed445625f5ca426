"""Fixtures: a metastore, and a process of each version with a catalog on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.older_version.versions import REPOSITORY, Worker, unpack_old

Properties = dict[str, str]


@pytest.fixture(scope="session")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the older version."""
    return unpack_old(tmp_path_factory.mktemp("older_version"))


@pytest.fixture(scope="session")
def properties(old_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Properties]:
    """Properties of catalogs on a metastore of these tests, which use fixed names of databases."""
    with EmbeddedMetastore(tmp_path_factory.mktemp("both_versions")) as running:
        yield {"uri": running.uri, "warehouse": running.warehouse}


@pytest.fixture(scope="session")
def old(old_tree: Path, properties: Properties) -> Iterator[Worker]:
    """A process of the older version."""
    with Worker(old_tree, properties) as worker:
        yield worker


@pytest.fixture(scope="session")
def new(properties: Properties) -> Iterator[Worker]:
    """A process of this version."""
    with Worker(REPOSITORY, properties) as worker:
        yield worker
