"""The server repeats a change internally and rejects the second attempt, with other changes before the row is read."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.table.update import SetPropertiesUpdate

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, ViewAlreadyExistsError
from hive_views.materialized.layouts.attached import AttachedView
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from hive_views.spec.staleness_policy import METADATA
from tests.conftest import CatalogFactory
from tests.faults.conftest import LOCK_FREE, Behind, Scene
from tests.faults.scripted import EVERY, Answer, ScriptedServer
from tests.faults.view_changes import (
    ALTER_TABLE,
    CREATE,
    CREATE_TABLE,
    DROP_TABLE,
    NEW,
    PROPERTIES,
    READ_ROW,
    VIEW,
    State,
    ViewChange,
)
from tests.integration.catalog.samples import SCHEMA, path, version
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.duck_engine import DuckEngine
from tests.proxy import DropReply, Duplicate, ThriftProxy


@pytest.mark.swaps
@pytest.mark.parametrize(
    ("change", "method", "name", "nth_read"),
    [(CREATE, CREATE_TABLE, NEW, 2), (PROPERTIES, ALTER_TABLE, VIEW, 3)],
    ids=str,
)
def test_server_retry_with_renamed_and_recreated_view(
    change: ViewChange, method: str, name: str, nth_read: int, scene: Scene, lock_free_catalog: HiveViewCatalog
) -> None:
    scene.proxy.on(method, Duplicate())
    with scene.proxy.in_flight(READ_ROW, scene.run, change, nth=nth_read) as running:
        lock_free_catalog.rename_view((scene.database, name), (scene.database, "x"))
        lock_free_catalog.create_view((scene.database, name), SCHEMA, version(scene.database))
    with pytest.raises(CommitStateUnknownError, match=rf"{scene.database}\.x has its metadata file"):
        running.result()
    lock_free_catalog.load_view((scene.database, "x"))


@pytest.mark.swaps
def test_attached_storage_commit_with_concurrent_property_change(
    catalog: HiveViewCatalog,
    database: str,
    lock_free_catalog: HiveViewCatalog,
    behind: Behind,
    proxy: ThriftProxy,
) -> None:
    name = (database, "mv")
    catalog.create_table((database, "sales"), SALES).append(rows((1, "a", 10)))
    catalog.materialized.create(name, "SELECT id, amount FROM sales", layout="attached")
    catalog.materialized.load(name).refresh(DuckEngine(catalog))
    storage = behind().materialized.load(name).storage
    assert storage is not None
    proxy.on(ALTER_TABLE, Duplicate())
    updates = (SetPropertiesUpdate(updates={"a": "b"}),)
    with proxy.in_flight(READ_ROW, storage.catalog.commit_table, storage, (), updates, nth=3) as running:
        for color in ("red", "blue"):
            lock_free_catalog.load_view(name).update().set_properties(color=color).commit()
    running.result()
    stored = lock_free_catalog.materialized.load(name)
    location = AttachedView.decode(stored.metadata.properties[METADATA]).storage_table_location
    assert path(location).exists()
    assert stored.storage is not None and stored.storage.properties["a"] == "b"
    assert len(stored.storage.scan().to_arrow()) == 1


@pytest.fixture
def patient(scripted: ScriptedServer) -> dict[str, str]:
    """A client with a settle time-out of one hour, on a server that cannot filter."""
    scripted.on("get_table_names_by_filter", Answer(MetaException("no filters")), nth=EVERY)
    return {"uri": scripted.uri, "hive-views.settle-timeout-ms": "3600000"}


def test_undetermined_drop_is_reported_without_delay(
    database: str, open_catalog: CatalogFactory, scripted: ScriptedServer, patient: dict[str, str], before: State
) -> None:
    scripted.on(DROP_TABLE, Answer(MetaException("a listener failed"), carried_out=True))
    with pytest.raises(CommitStateUnknownError, match="could not determine whether it was renamed"):
        open_catalog(patient).drop_view((database, VIEW))


@pytest.mark.swaps
def test_metadata_file_of_possibly_renamed_create_is_kept(
    scene: Scene,
    open_catalog: CatalogFactory,
    lock_free_catalog: HiveViewCatalog,
    scripted: ScriptedServer,
    patient: dict[str, str],
) -> None:
    with ThriftProxy(scripted.port) as proxy:
        client = open_catalog({**patient, "uri": proxy.uri})
        with proxy.in_flight(CREATE_TABLE, CREATE.run, client, scene.database) as running:
            lock_free_catalog.create_view((scene.database, NEW), SCHEMA, version(scene.database))
        with pytest.raises(ViewAlreadyExistsError):
            running.result()
    assert len(scene.new_files()) == 2


@pytest.mark.swaps
def test_table_commit_without_lock_goes_to_verified_server(
    catalog: HiveViewCatalog, database: str, behind: Behind, proxy: ThriftProxy
) -> None:
    """The connection breaks between read and alter: the server that answers next is verified first."""
    catalog.create_table((database, "t"), pa.schema([("id", pa.int64())]))
    free = behind(**LOCK_FREE)
    with free.load_table((database, "t")).transaction() as transaction:
        transaction.set_properties(color="red")
    table = free.load_table((database, "t"))
    tried = proxy.methods.count(CREATE_TABLE)
    proxy.on(READ_ROW, DropReply(), nth=1)
    with table.transaction() as transaction:
        transaction.set_properties(color="blue")
    assert catalog.load_table((database, "t")).properties["color"] == "blue"
    assert proxy.methods.count(CREATE_TABLE) == 2 * tried
