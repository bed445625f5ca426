"""Refreshes of materialized views with wrong metastore answers: the reported outcome is correct."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from thrift.Thrift import TApplicationException

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, HiveViewsError
from hive_views.materialized.refresh.actions import Mode
from hive_views.materialized.refresh.request import StagingRequest
from hive_views.metastore._thrift.hive_metastore.ttypes import InvalidOperationException, MetaException
from hive_views.metastore.store import CAS_REJECTED
from tests.conftest import CatalogFactory
from tests.faults.scripted import Answer, ScriptedServer
from tests.faults.view_changes import ALTER_TABLE, DROP_TABLE
from tests.integration.materialized.conftest import LAYOUTS
from tests.integration.materialized.duck_engine import DuckEngine
from tests.proxy import EVERY, Action, DropReply, DropRequest, ThriftProxy

SCHEMA = Schema(NestedField(1, "id", LongType()))
ROWS = 3
INTERNAL = TApplicationException(TApplicationException.INTERNAL_ERROR, "Internal error processing the request")


class Remembering(DuckEngine):
    """An engine that remembers what it staged last."""

    staged: int | None = None

    def stage(self, work: StagingRequest) -> int:
        self.staged = super().stage(work)
        return self.staged


@pytest.fixture
def view(catalog: HiveViewCatalog, database: str) -> tuple[str, str]:
    """A materialized view, refreshed once, in the layout that needs a staging row for each refresh."""
    table = catalog.create_table((database, "t"), SCHEMA)
    table.append(pa.table({"id": list(range(ROWS))}, schema=SCHEMA.as_arrow()))
    name = (database, "mv")
    catalog.materialized.create(name, "SELECT id FROM t", layout="attached")
    catalog.materialized.load(name).refresh(DuckEngine(catalog))
    return name


def refresh_and_compare(plain: HiveViewCatalog, faulty: HiveViewCatalog, view: tuple[str, str]) -> str:
    """Refresh by the faulty catalog, and compare the reported outcome with the state read by the other one."""
    engine = Remembering(faulty)
    try:
        faulty.materialized.load(view).refresh(engine, mode=Mode.FULL)
        outcome = "done"
    except CommitStateUnknownException:
        outcome = "unknown"
    except HiveViewsError:
        outcome = "refused"
    storage = plain.materialized.load(view).storage
    assert storage is not None
    is_published = engine.staged is not None and storage.metadata.current_snapshot_id == engine.staged
    assert outcome == "unknown" or is_published is (outcome == "done"), f"outcome {outcome}, published {is_published}"
    assert storage.scan().to_arrow().num_rows == ROWS
    return outcome


def test_failed_refresh_leaves_no_files(catalog: HiveViewCatalog, view: tuple[str, str]) -> None:
    """Each commit to the staging row writes a metadata file."""
    assert refresh_and_compare(catalog, catalog, view) == "done"
    assert catalog.materialized.load(view).orphans(older_than_ms=0).files == ()


@pytest.mark.parametrize("action", [DropRequest(), DropReply()], ids=["request lost", "reply lost"])
def test_attached_refresh_with_failing_drop_of_staging_row(
    catalog: HiveViewCatalog, open_catalog: CatalogFactory, proxy: ThriftProxy, view: tuple[str, str], action: Action
) -> None:
    """The refresh succeeds; the staging row is left as an orphan."""
    faulty = open_catalog({"uri": proxy.uri})
    proxy.on(DROP_TABLE, action)
    assert refresh_and_compare(catalog, faulty, view) == "done"
    assert len(catalog.materialized.load(view).remove_orphans(older_than_ms=0).rows) == isinstance(action, DropRequest)
    assert len(catalog.list_tables(view[0])) == 1


@pytest.mark.parametrize(
    "words", [f"{CAS_REJECTED}. The parameter value for key 'metadata_location' is different", "the database is away"]
)
def test_refresh_reported_as_rejected_after_publishing_is_not_lost(
    catalog: HiveViewCatalog,
    open_catalog: CatalogFactory,
    scripted: ScriptedServer,
    view: tuple[str, str],
    words: str,
) -> None:
    """The server rejects its own retry, or its database fails after the publishing commit."""
    faulty = open_catalog({"uri": scripted.uri})
    assert refresh_and_compare(catalog, faulty, view) == "done"
    last = scripted.methods.count(ALTER_TABLE)
    scripted.on(ALTER_TABLE, Answer(MetaException(words), carried_out=True), nth=last)
    refresh_and_compare(catalog, faulty, view)
    assert scripted.methods.count(ALTER_TABLE) == 2 * last


@pytest.mark.parametrize("layout", LAYOUTS)
def test_refresh_with_server_failing_after_commit(
    catalog: HiveViewCatalog,
    open_catalog: CatalogFactory,
    scripted: ScriptedServer,
    view: tuple[str, str],
    layout: Literal["registered", "attached", "table"],
) -> None:
    """The published refresh is reported as successful."""
    name = (view[0], layout)
    catalog.materialized.create(name, "SELECT id FROM t", layout=layout)
    faulty = open_catalog({"uri": scripted.uri})
    assert refresh_and_compare(catalog, faulty, name) == "done"
    scripted.on(ALTER_TABLE, Answer(INTERNAL, carried_out=True), nth=EVERY)
    assert refresh_and_compare(catalog, faulty, name) == "done"


def test_refresh_of_locked_storage_table(
    catalog: HiveViewCatalog, open_catalog: CatalogFactory, scripted: ScriptedServer, database: str
) -> None:
    """Hive 4 answers InvalidOperationException when it loses its database."""
    catalog.create_table((database, "t"), SCHEMA)
    table = open_catalog({"uri": scripted.uri}).load_table((database, "t"))
    scripted.on(ALTER_TABLE, Answer(InvalidOperationException("No savepoint with that name")))
    with pytest.raises(CommitStateUnknownError, match="No savepoint"):
        table.append(pa.table({"id": [1]}, schema=SCHEMA.as_arrow()))
    assert catalog.load_table((database, "t")).current_snapshot() is None
