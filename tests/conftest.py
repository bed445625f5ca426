"""Parts that every test directory shares: one real metastore for the whole run, a fresh database a test."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from uuid import uuid4

import pytest

from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from hive_views.metastore.embedded import EmbeddedMetastore
from tests.browser import browser, chromium
from tests.metastore.rpc import connect

__all__ = ["browser", "chromium"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in its background with Ctrl-C ignored, and children inherit that; some tests press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """One Hive Metastore 2.3.10, shared by all tests: keep to your own `database`."""
    with EmbeddedMetastore(tmp_path_factory.mktemp("metastore")) as running:
        yield running


@pytest.fixture
def database(metastore: EmbeddedMetastore) -> Iterator[str]:
    """The name of an empty database of the test's own, with a location; dropped with all that is in it afterwards."""
    name = f"db_{uuid4().hex[:12]}"
    with connect(metastore.port) as client:
        client.create_database(Database(name=name, locationUri=f"{metastore.warehouse}/{name}.db"))
    yield name
    with connect(metastore.port) as client:
        client.drop_database(name, True, True)


@pytest.fixture
def properties(metastore: EmbeddedMetastore) -> dict[str, str]:
    """The properties of a catalog on `metastore`."""
    return {"uri": metastore.uri, "warehouse": metastore.warehouse}
