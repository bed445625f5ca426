"""Fixtures that the catalog's tests and the conformance tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.conftest import empty_database
from tests.integration.metastore.rpc import connect

CatalogFactory = Callable[..., HiveViewCatalog]


@pytest.fixture
def open_catalog(properties: dict[str, str]) -> Iterator[CatalogFactory]:
    """Makes catalogs named `prod` on the shared metastore, with more properties where given; closed afterwards."""
    opened = []

    def opening(more: dict[str, str] | None = None, /, name: str = "prod") -> HiveViewCatalog:
        catalog = HiveViewCatalog(name, **{**properties, **(more or {})})
        opened.append(catalog)
        return catalog

    yield opening
    for catalog in opened:
        catalog.close()


@pytest.fixture
def catalog(open_catalog: CatalogFactory) -> HiveViewCatalog:
    """A catalog on the shared metastore."""
    return open_catalog()


@pytest.fixture
def raw(metastore: EmbeddedMetastore) -> Iterator[Client]:
    """A bare Thrift client: what others read and write."""
    with connect(metastore.port) as client:
        yield client


@pytest.fixture
def other_database(metastore: EmbeddedMetastore) -> Iterator[str]:
    """The name of another empty database of the test."""
    with empty_database(metastore, "other") as name:
        yield name


@pytest.fixture
def own_directory(tmp_path: Path) -> str:
    """The `file:` URI of an empty directory of the test's own."""
    return f"file:{tmp_path}"
