"""Fixtures of the tests of `hive_views.metastore` with a real metastore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views.identifiers import ViewName
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient
from tests.integration.metastore.rpc import client_for
from tests.integration.metastore.stores import new_metadata, open_store
from tests.proxy import ThriftProxy


@pytest.fixture
def client(proxy: ThriftProxy) -> Iterator[MetastoreClient]:
    """A client behind the proxy."""
    with client_for(proxy.uri) as connected:
        yield connected


@pytest.fixture
def store(properties: dict[str, str]) -> Iterator[MetastoreStore]:
    """A store without the proxy."""
    with open_store(properties) as opened:
        yield opened


@pytest.fixture
def created(store: MetastoreStore, database: str, tmp_path: Path) -> LoadedView:
    """A view named `v`, created by a commit."""
    return commit(store, ViewName(database, "v"), None, new_metadata(f"{tmp_path.as_uri()}/v"))
