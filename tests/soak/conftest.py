"""The cluster of a soak and its initial database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.faults.cluster import Cluster, two_metastores
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.metastore.rpc import connect
from tests.proxy import ThriftProxy
from tests.soak.client import MATERIALIZED, STEADY, text
from tests.soak.faults import Disk
from tests.soak.ledger import Ledger

BASE_ROWS = 20
"""Rows of the table that the materialized views read; each view has half of them."""

KEEP_ALL = {
    "view-default.version.history.num-entries": "1000000",
    "view-default.commit.retry.num-retries": "10",
    "view-default.commit.retry.min-wait-ms": "20",
    "view-default.commit.retry.max-wait-ms": "1000",
}
"""Properties of all catalogs: no version expires, and commits are retried."""

SETUP_CLIENT = 99
"""The number of the client that creates the initial views."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with two_metastores(tmp_path / "cluster") as running:
        yield running


@pytest.fixture
def proxies(cluster: Cluster) -> Iterator[list[ThriftProxy]]:
    """A proxy for each metastore."""
    with ExitStack() as stack:
        yield [stack.enter_context(ThriftProxy(port)) for port in (cluster.first.port, cluster.second.port)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """The disk with the files of one view."""
    view_disk = Disk(tmp_path / "disk")
    yield view_disk
    view_disk.close()


@pytest.fixture
def soak_database(cluster: Cluster, disk: Disk, tmp_path: Path) -> str:
    """A database with the views that are never dropped; their creation is logged."""
    name = "soak"
    with connect(cluster.second.port) as client:
        client.create_database(Database(name=name, locationUri=f"{cluster.first.warehouse}/{name}.db"))
    ledgers = tmp_path / "ledgers"
    ledgers.mkdir()
    ledger = Ledger(ledgers)
    with HiveViewCatalog("prod", **cluster.properties, **KEEP_ALL) as catalog:
        for number, view in enumerate(STEADY, 1):
            token = f"{SETUP_CLIENT}-{number}"
            location = f"{disk.path.as_uri()}/{view}" if view == STEADY[-1] else None
            with ledger.attempt(SETUP_CLIENT, number, "create", name=view, token=token) as result:
                created_view = catalog.create_view(
                    (name, view), SCHEMA, version(name, ("spark", text(token))), location=location
                )
                result.update(uuid=created_view.metadata.view_uuid, version=1)
        schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "amount", LongType()))
        ids = list(range(BASE_ROWS))
        catalog.create_table((name, "base"), schema).append(
            pa.table({"id": ids, "amount": [value % 2 for value in ids]}, schema=schema.as_arrow())
        )
        for view in MATERIALIZED:
            query = "SELECT id, amount FROM base WHERE amount = 1"
            catalog.materialized.create((name, view), query, layout=view.removeprefix("mv_"))
    return name
