"""The protocol of commits, renames and drops, on a real metastore where nothing goes wrong on the way.

What does go wrong on the way is in `tests/faults`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, TimestampNanoType

from hive_views.errors import (
    CommitFailedError,
    DamagedRowWarning,
    InvalidViewError,
    MetadataWriteError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchViewError,
    NotAnIcebergViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.commit.view_commit import commit, drop, rename
from hive_views.metastore.queries import load_view
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import AddVersion, SetLocation, SetProperties, apply
from tests.integration.catalog.samples import files_below, hive_row, path, version
from tests.integration.metastore.stores import changed, new_metadata, open_store
from tests.proxy import ThriftProxy

ALTER = "alter_table_with_environment_context"
BLUE = SetProperties({"color": "blue"})


@pytest.fixture
def name(database: str) -> ViewName:
    return ViewName(database, "v")


def test_create_writes_row_and_one_metadata_file(
    store: MetastoreStore, name: ViewName, created: LoadedView, raw: Client, tmp_path: Path
) -> None:
    row = raw.get_table(name.database, name.name)
    assert load_view(store, name).metadata == created.metadata
    (file,) = files_below(tmp_path)
    assert path(row.parameters["metadata_location"]) == file
    assert file.name.startswith("00000-")
    assert file.name.endswith(".gz.metadata.json")
    assert "previous_metadata_location" not in row.parameters
    assert row.parameters["uuid"] == created.metadata.view_uuid == created.row.uuid


def test_commit_records_previous_metadata_location(
    store: MetastoreStore, created: LoadedView, raw: Client, tmp_path: Path
) -> None:
    first = changed(store, created, BLUE)
    second = changed(store, first, AddVersion(created.metadata.current_schema(), version("d", ("spark", "select 2"))))
    name = created.row.name
    row = raw.get_table(name.database, name.name)
    assert row.parameters["metadata_location"] == second.row.metadata_location
    assert row.parameters["previous_metadata_location"] == first.row.metadata_location
    assert first.row.previous_metadata_location == created.row.metadata_location
    assert sorted(file.name[:5] for file in files_below(tmp_path)) == ["00000", "00001", "00002"]
    assert load_view(store, name).metadata == second.metadata
    assert row.parameters["color"] == "blue"


def test_returned_view_is_base_for_next_commit(store: MetastoreStore, created: LoadedView) -> None:
    state = created
    for number in range(3):
        state = changed(store, state, SetProperties({"n": str(number)}))
    assert load_view(store, created.row.name).row.parameters["n"] == "2"


def test_commit_without_changes_writes_nothing(store: MetastoreStore, created: LoadedView, tmp_path: Path) -> None:
    again = changed(store, created, SetProperties({}))
    assert again.metadata is created.metadata
    assert again.row.metadata_location == created.row.metadata_location
    assert len(files_below(tmp_path)) == 1
    changed(store, created, BLUE)
    with pytest.raises(CommitFailedError):
        changed(store, created, SetProperties({}))


def test_registered_file_is_not_written_again(
    store: MetastoreStore, created: LoadedView, database: str, tmp_path: Path
) -> None:
    location = created.row.metadata_location
    registered = commit(store, ViewName(database, "w"), None, created.metadata, registered_location=location)
    assert registered.row.metadata_location == location
    assert len(files_below(tmp_path)) == 1


def test_changed_location_gets_next_metadata_file(
    store: MetastoreStore, created: LoadedView, raw: Client, tmp_path: Path
) -> None:
    moved = changed(store, created, SetLocation(f"{tmp_path.as_uri()}/elsewhere"))
    assert moved.row.metadata_location is not None
    assert moved.row.metadata_location.startswith(f"{tmp_path.as_uri()}/elsewhere/metadata/00001-")
    assert path(raw.get_table(created.row.name.database, "v").sd.location) == tmp_path / "elsewhere"
    assert len(files_below(tmp_path)) == 2


@pytest.mark.swaps
@pytest.mark.parametrize(
    ("lock", "requests"),
    [("true", ["lock", "get_table_req", ALTER, "unlock"]), ("false", ["get_table_req", ALTER])],
    ids=["with locks", "without locks"],
)
def test_requests_of_a_commit(
    metastore: EmbeddedMetastore, properties: dict[str, str], created: LoadedView, lock: str, requests: list[str]
) -> None:
    """These requests and no more, once the server's methods are known."""
    with (
        ThriftProxy(metastore.port) as proxy,
        open_store(properties, uri=proxy.uri, **{"iceberg.engine.hive.lock-enabled": lock}) as store,
    ):
        state = changed(store, created, BLUE)
        proxy.clear()
        changed(store, state, SetProperties({"color": "red"}))
        assert proxy.methods == requests
        (alter,) = [call for call in proxy.calls if call.method == ALTER]
        assert state.row.metadata_location is not None
        for part in ("expected_parameter_key", "expected_parameter_value", state.row.metadata_location):
            assert part.encode() in alter.request


# -- Rejected before anything is written or sent -----------------------------------------------------------------------


def test_type_unknown_to_hive_is_rejected(store: MetastoreStore, created: LoadedView, tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "at", TimestampNanoType(), required=False))
    with pytest.raises(InvalidViewError):
        changed(store, created, AddVersion(schema, version("d", ("spark", "select 2"))))
    assert len(files_below(tmp_path)) == 1


def test_unwritable_location(store: MetastoreStore, name: ViewName, raw: Client, tmp_path: Path) -> None:
    (tmp_path / "v").write_text("a file where a directory should be")
    with pytest.raises(MetadataWriteError):
        commit(store, name, None, new_metadata(f"{tmp_path.as_uri()}/v"))
    assert raw.get_all_tables(name.database) == []


def test_missing_database(store: MetastoreStore, tmp_path: Path) -> None:
    with pytest.raises(NoSuchNamespaceError) as caught:
        commit(store, ViewName("no_such_database", "v"), None, new_metadata(f"{tmp_path.as_uri()}/v"))
    assert caught.value.namespace == "no_such_database"
    assert files_below(tmp_path) == set()


TAKEN = [
    (hive_row("d", "w", "VIRTUAL_VIEW"), NotAnIcebergViewError),
    (hive_row("d", "w", "MANAGED_TABLE"), TableAlreadyExistsError),
    (hive_row("d", "w", "EXTERNAL_TABLE", table_type="ICEBERG"), TableAlreadyExistsError),
]
TAKEN_IDS = ["Hive view", "Hive table", "Iceberg table"]


@pytest.mark.parametrize(("row", "error"), TAKEN, ids=TAKEN_IDS)
def test_create_with_taken_name(
    store: MetastoreStore,
    raw: Client,
    database: str,
    created: LoadedView,
    tmp_path: Path,
    row: Table,
    error: type[Exception],
) -> None:
    row.dbName = database
    raw.create_table(row)
    before = raw.get_table(database, "w")
    target = ViewName(database, "w")
    for attempt in (
        lambda: commit(store, target, None, new_metadata(f"{tmp_path.as_uri()}/w")),
        lambda: rename(store, created, target),
    ):
        with pytest.raises(error):
            attempt()
    assert raw.get_table(database, "w") == before
    assert len(files_below(tmp_path)) == 1


def test_create_with_name_of_existing_view(store: MetastoreStore, created: LoadedView, tmp_path: Path) -> None:
    for attempt in (
        lambda: commit(store, created.row.name, None, new_metadata(f"{tmp_path.as_uri()}/w")),
        lambda: rename(store, created, created.row.name),
    ):
        with pytest.raises(ViewAlreadyExistsError):
            attempt()
    assert len(files_below(tmp_path)) == 1
    assert load_view(store, created.row.name).metadata == created.metadata


def test_rejected_registration_keeps_the_file(store: MetastoreStore, created: LoadedView, tmp_path: Path) -> None:
    location = created.row.metadata_location
    assert location is not None
    with pytest.raises(ViewAlreadyExistsError):
        commit(store, created.row.name, None, created.metadata, registered_location=location)
    assert len(files_below(tmp_path)) == 1
    assert load_view(store, created.row.name).metadata == created.metadata


# -- Stale base ------------------------------------------------------------------------------------------------------


def dropped(raw: Client, database: str) -> None:
    raw.drop_table(database, "v", False)


def replaced_by_hive_view(raw: Client, database: str) -> None:
    """As by plain Spark's CREATE OR REPLACE VIEW."""
    row = raw.get_table(database, "v")
    row.parameters = {}
    raw.alter_table_with_environment_context(database, "v", row, None)


def replaced_by_table(raw: Client, database: str) -> None:
    raw.drop_table(database, "v", False)
    raw.create_table(hive_row(database, "v", "MANAGED_TABLE"))


def without_pointer(raw: Client, database: str) -> None:
    row = raw.get_table(database, "v")
    del row.parameters["metadata_location"]
    raw.alter_table_with_environment_context(database, "v", row, None)


def pointed_elsewhere(raw: Client, database: str) -> None:
    row = raw.get_table(database, "v")
    row.parameters["metadata_location"] += ".copy"
    raw.alter_table_with_environment_context(database, "v", row, None)


@pytest.mark.parametrize(
    ("happened", "error"),
    [
        (dropped, NoSuchViewError),
        (replaced_by_hive_view, NotAnIcebergViewError),
        (replaced_by_table, NotAnIcebergViewError),
        (without_pointer, NotAnIcebergViewError),
        (pointed_elsewhere, CommitFailedError),
    ],
)
def test_commit_after_external_change(
    store: MetastoreStore,
    created: LoadedView,
    raw: Client,
    database: str,
    tmp_path: Path,
    happened: Callable[[Client, str], None],
    error: type[Exception],
) -> None:
    happened(raw, database)
    names = raw.get_all_tables(database)
    before = raw.get_table(database, "v") if names else None
    for attempt in (
        lambda: changed(store, created, BLUE),
        lambda: rename(store, created, ViewName(database, "w")),
    ):
        with pytest.raises(error):
            attempt()
    with pytest.raises((error, CommitFailedError)):
        drop(store, created.row.name, created.row.metadata_location)
    assert raw.get_all_tables(database) == names
    assert (raw.get_table(database, "v") if names else None) == before
    assert len(files_below(tmp_path)) == 1


def test_external_row_fields_are_preserved(
    store: MetastoreStore, created: LoadedView, raw: Client, database: str
) -> None:
    """Also fields written after the view was loaded: the row is read again before the change."""
    row = raw.get_table(database, "v")
    row.parameters["by.another.tool"] = "kept"
    raw.alter_table_with_environment_context(database, "v", row, None)
    state = changed(store, created, BLUE)
    assert state.row.parameters["by.another.tool"] == "kept"
    renamed = rename(store, state, ViewName(database, "w"))
    assert renamed.row.parameters["by.another.tool"] == "kept"
    assert raw.get_table(database, "w").parameters["by.another.tool"] == "kept"


# -- Rename and drop --------------------------------------------------------------------------------------------------


def test_rename_keeps_metadata_file(store: MetastoreStore, created: LoadedView, database: str, tmp_path: Path) -> None:
    target = ViewName(database, "w")
    renamed = rename(store, created, target)
    assert renamed.row.name == target
    loaded = load_view(store, target)
    assert loaded.metadata == renamed.metadata == created.metadata
    assert loaded.row.metadata_location == created.row.metadata_location
    assert store.get_row(created.row.name) is None
    assert len(files_below(tmp_path)) == 1
    changed(store, renamed, BLUE)


def test_rename_into_missing_database(store: MetastoreStore, created: LoadedView, raw: Client) -> None:
    with pytest.raises(NoSuchNamespaceError):
        rename(store, created, ViewName("no_such_database", "v"))
    assert raw.get_all_tables(created.row.name.database) == ["v"]


@pytest.mark.hive2
def test_rename_to_name_rejected_by_server(store: MetastoreStore, created: LoadedView, database: str) -> None:
    with pytest.raises(MetastoreRefusedError, match="not a valid object name"):
        rename(store, created, ViewName(database, "a b"))
    assert load_view(store, created.row.name).metadata == created.metadata


def test_drop_keeps_metadata_file(store: MetastoreStore, created: LoadedView, raw: Client, tmp_path: Path) -> None:
    row = drop(store, created.row.name)
    assert row.metadata_location == created.row.metadata_location
    assert raw.get_all_tables(created.row.name.database) == []
    assert len(files_below(tmp_path)) == 1
    with pytest.raises(NoSuchViewError):
        drop(store, created.row.name)


def test_drop_with_expected_location(store: MetastoreStore, created: LoadedView) -> None:
    state = changed(store, created, BLUE)
    with pytest.raises(CommitFailedError) as caught:
        drop(store, created.row.name, created.row.metadata_location)
    assert caught.value.found == state.row.metadata_location
    drop(store, created.row.name, state.row.metadata_location)
    assert store.get_row(created.row.name) is None


# -- Reading back -----------------------------------------------------------------------------------------------------


@pytest.mark.characters
def test_possibly_damaged_row_is_read_back(proxy: ThriftProxy, properties: dict[str, str], created: LoadedView) -> None:
    """This metastore's database can store characters beyond ASCII, so there is no warning."""
    umlauts = AddVersion(created.metadata.current_schema(), version("d", ("spark", "select 1, 'Käse 日本'")))
    with open_store(properties, uri=proxy.uri) as store:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DamagedRowWarning)
            state = changed(store, created, umlauts)
        assert proxy.methods[-1] == "get_table_req"
        assert state.row.texts.expanded == "select 1, 'Käse 日本'"
        assert apply(state.metadata, [], now_ms=0, identifier="v") is state.metadata
