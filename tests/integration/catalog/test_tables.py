"""PyIceberg's table methods with this package's client; they change no view."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg import exceptions as iceberg
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from hive_views import HiveView, HiveViewCatalog
from hive_views.errors import (
    CommitFailedError,
    InvalidIdentifierError,
    InvalidMetadataError,
    InvalidPropertyError,
    MetadataFileError,
    NoSuchNamespaceError,
    NoSuchTableError,
    RefusedLocationError,
    SharedFilesError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import ShowLocksRequest
from tests.conftest import CatalogFactory
from tests.integration.catalog.samples import SCHEMA, files_below, hive_row, path, version
from tests.proxy import ThriftProxy

COLUMNS = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


@pytest.fixture
def view(catalog: HiveViewCatalog, database: str) -> HiveView:
    """A view in the database of the tables."""
    return catalog.create_view(f"{database}.view", SCHEMA, version(database))


@pytest.mark.parametrize("taken_along", [pickle.dumps, copy.deepcopy])
def test_catalog_cannot_be_pickled_or_copied(taken_along: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match=r"the catalog c cannot be pickled.* Open one in each process"):
        taken_along(HiveViewCatalog("c", uri="thrift://localhost:1"))


def test_table_lifecycle(
    catalog: HiveViewCatalog, database: str, other_database: str, view: HiveView, raw: Client
) -> None:
    table = catalog.create_table(f"{database}.t", COLUMNS, properties={"owner": "ada"})
    assert table.name() == (database, "t")
    table.append(ROWS)
    with table.update_schema() as schema:
        schema.add_column("day", StringType())
    with table.transaction() as transaction:
        transaction.set_properties(a="b")
        transaction.append(pa.table({"id": [4], "name": ["d"], "day": ["mon"]}))
    loaded = catalog.load_table(f"{database}.t")
    assert loaded.scan().to_arrow().sort_by("id")["id"].to_pylist() == [1, 2, 3, 4]
    assert loaded.properties["a"] == "b"
    assert catalog.list_tables(database) == [(database, "t")]
    renamed = catalog.rename_table(f"{database}.t", f"{other_database}.u")
    assert renamed.name() == (other_database, "u")
    assert not catalog.table_exists(f"{database}.t")
    renamed.append(pa.table({"id": [5], "name": ["e"], "day": ["tue"]}))
    location = catalog.load_table(f"{other_database}.u").metadata_location
    catalog.drop_table(f"{other_database}.u")
    assert not catalog.table_exists(f"{other_database}.u")
    again = catalog.register_table(f"{database}.again", location)
    assert again.scan().to_arrow().num_rows == 5
    assert catalog.load_view(view.name()) == view
    locks = raw.show_locks(ShowLocksRequest(dbname=database)).locks
    assert not locks


def test_create_options(catalog: HiveViewCatalog, database: str, own_directory: str) -> None:
    spec = PartitionSpec(PartitionField(source_id=1, field_id=1000, transform=IdentityTransform(), name="id"))
    table = catalog.create_table(
        f"prod.{database}.T", COLUMNS, location=f"{own_directory}/t", partition_spec=spec, properties={"p": "1"}
    )
    assert table.name() == (database, "t")
    assert [field.name for field in table.spec().fields] == ["id"]
    assert table.location() == f"{own_directory}/t"
    assert table.properties["p"] == "1"
    assert catalog.create_table_if_not_exists(f"{database}.t", SCHEMA).metadata == table.metadata
    assert catalog.load_table(f"prod.{database}.T").metadata == table.metadata
    from_arrow = catalog.create_table(f"{database}.a", ROWS.schema)
    assert from_arrow.schema().column_names == ["id", "name"]


def test_purge_table_deletes_all_files(catalog: HiveViewCatalog, database: str, own_directory: str) -> None:
    table = catalog.create_table(f"{database}.t", COLUMNS, location=own_directory)
    table.append(ROWS)
    table.append(ROWS)
    assert len(files_below(own_directory)) > 6
    report = catalog.purge_table(f"{database}.t")
    assert [(step.metadata_location, step.remaining_files) for step in report.steps] == [(None, ())]
    assert not catalog.table_exists(f"{database}.t")
    assert files_below(own_directory) == set()


@pytest.mark.parametrize("relative", ["location", "write.data.path"])
def test_no_data_is_written_to_relative_paths(
    catalog: HiveViewCatalog,
    database: str,
    own_directory: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    relative: str,
) -> None:
    """They are below the working directory of each writer; what exists can be read."""
    working_directory = tmp_path / "working"
    working_directory.mkdir()
    monkeypatch.chdir(working_directory)
    table = catalog.create_table(f"{database}.t", COLUMNS, location=own_directory)
    table.append(ROWS)
    file = path(table.metadata_location)
    document = json.loads(file.read_text())
    if relative == "location":
        document["location"] = "warehouse/t"
    else:
        document["properties"][relative] = "data"
    file.write_text(json.dumps(document))
    forged = catalog.load_table(f"{database}.t")
    assert forged.scan().to_arrow().num_rows == 3
    with pytest.raises(InvalidPropertyError, match="a relative path"):
        forged.append(ROWS)
    with pytest.raises(InvalidPropertyError, match="a relative path"):
        catalog.create_table(f"{database}.u", COLUMNS, location="warehouse/u")
    assert catalog.list_tables(database) == [(database, "t")]
    assert list(working_directory.iterdir()) == []


def test_purge_reports_files_that_remain(open_catalog: CatalogFactory, database: str, own_directory: str) -> None:
    catalog = open_catalog({"py-io-impl": "tests.unit.io.test_deletion.Undeletable"})  # it keeps the first files
    table = catalog.create_table(f"{database}.t", COLUMNS, location=own_directory)
    (step,) = catalog.purge_table(f"{database}.t").steps
    assert (step.metadata_location, step.remaining_files) == (table.metadata_location, (table.metadata_location,))
    assert files_below(own_directory) == {path(table.metadata_location)}


def test_purge_keeps_foreign_files(
    catalog: HiveViewCatalog, database: str, own_directory: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Files of `add_files` below another table's location are kept; those below `write.data.path` are deleted."""
    other = catalog.create_table(f"{database}.other", COLUMNS, location=f"{own_directory}/other")
    other.append(ROWS)
    (theirs,) = (task.file.file_path for task in other.scan().plan_files())
    data = {"write.data.path": f"{own_directory}/data-of-t"}
    table = catalog.create_table(f"{database}.t", COLUMNS, location=f"{own_directory}/t", properties=data)
    table.append(ROWS)
    table.add_files([theirs])
    before = files_below(f"{own_directory}/other")
    assert files_below(f"{own_directory}/data-of-t")
    catalog.purge_table(f"{database}.t")
    assert not catalog.table_exists(f"{database}.t")
    assert files_below(own_directory) == before
    assert other.scan().to_arrow().num_rows == 3
    assert f"1 files of {database}.t are left" in caplog.text
    assert theirs in caplog.text


def test_purge_of_shared_files_raises(
    catalog: HiveViewCatalog, database: str, own_directory: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Files are kept if `gc.enabled` is false, or if another name references them."""
    table = catalog.create_table(f"{database}.t", COLUMNS, location=own_directory)
    table.append(ROWS)
    again = catalog.register_table(f"{database}.again", table.metadata_location)
    files = files_below(own_directory)
    with pytest.raises(SharedFilesError, match=f"Cannot purge {database}.t: .* {database}.again") as caught:
        catalog.purge_table(f"{database}.t")
    assert (caught.value.identifier, caught.value.other) == (f"{database}.t", f"{database}.again")
    assert catalog.table_exists(f"{database}.t")
    with again.transaction() as transaction:
        transaction.set_properties({"gc.enabled": "false"})
    (step,) = catalog.purge_table(f"{database}.again").steps
    assert step.metadata_location == again.metadata_location
    assert not catalog.table_exists(f"{database}.again")
    assert files_below(own_directory) > files
    assert "its property gc.enabled is false" in caplog.text
    assert catalog.load_table(f"{database}.t").scan().to_arrow().num_rows == 3
    catalog.purge_table(f"{database}.t")
    assert not files_below(own_directory) & files


def test_purge_keeps_files_of_table_renamed_meanwhile(
    catalog: HiveViewCatalog,
    open_catalog: CatalogFactory,
    proxy: ThriftProxy,
    database: str,
    own_directory: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = catalog.create_table(f"{database}.t", COLUMNS, location=own_directory)
    table.append(ROWS)
    purge = open_catalog({"uri": proxy.uri}).purge_table
    with proxy.in_flight("drop_table", purge, f"{database}.t") as purging:
        catalog.register_table(f"{database}.again", table.metadata_location)
    purging.result()
    assert not catalog.table_exists(f"{database}.t")
    assert catalog.load_table(f"{database}.again").scan().to_arrow().num_rows == 3
    assert f"referenced by {database}.again" in caplog.text


@pytest.mark.parametrize("file_state", ["gone", "rubbish", "elsewhere"])
def test_purge_with_unreadable_manifest_changes_nothing(
    open_catalog: CatalogFactory, database: str, own_directory: str, file_state: str
) -> None:
    catalog = open_catalog({"hive-views.metadata-schemes": "file"})
    table = catalog.create_table(f"{database}.t", COLUMNS, location=own_directory)
    table.append(ROWS)
    manifests = table.metadata.snapshots[0].manifest_list
    if file_state == "gone":
        path(manifests).unlink()
    elif file_state == "rubbish":
        path(manifests).write_bytes(b"PAR1")
    else:
        text = path(table.metadata_location).read_text()
        path(table.metadata_location).write_text(text.replace(manifests, "http://169.254.169.254/latest"))
        manifests = "http://169.254.169.254/latest"
    files = files_below(own_directory)
    with pytest.raises(RefusedLocationError if file_state == "elsewhere" else MetadataFileError) as caught:
        catalog.purge_table(f"{database}.t")
    assert caught.value.location == manifests
    assert catalog.table_exists(f"{database}.t")
    assert files_below(own_directory) == files
    catalog.drop_table(f"{database}.t")
    assert files_below(own_directory) == files


@pytest.mark.parametrize("use", ["load", "register"])
def test_corrupt_gzip_metadata_raises(catalog: HiveViewCatalog, database: str, use: str) -> None:
    """This package's reader, which has a size limit, reads it, whatever its name is."""
    table = catalog.create_table(f"{database}.t", COLUMNS)
    whole = path(table.metadata_location).read_bytes()
    target = path(table.metadata_location)
    target.write_bytes(gzip.compress(whole))
    assert catalog.load_table(f"{database}.t").metadata == table.metadata
    target.write_bytes(gzip.compress(whole)[:-9])
    with pytest.raises(InvalidMetadataError, match="it is truncated"):
        if use == "load":
            catalog.load_table(f"{database}.t")
        else:
            catalog.register_table(f"{database}.u", table.metadata_location)
    assert not catalog.table_exists(f"{database}.u")


def test_create_table_transaction(catalog: HiveViewCatalog, database: str) -> None:
    with catalog.create_table_transaction(f"{database}.t", COLUMNS, properties={"a": "b"}) as transaction:
        transaction.append(ROWS)
        assert not catalog.table_exists(f"{database}.t")
    assert catalog.load_table(f"{database}.t").scan().to_arrow().num_rows == 3


def test_commit_of_stale_table_fails(catalog: HiveViewCatalog, database: str, open_catalog: CatalogFactory) -> None:
    table = catalog.create_table(f"{database}.t", COLUMNS)
    with open_catalog().load_table(f"{database}.t").update_schema() as schema:
        schema.add_column("theirs", StringType())
    ours = table.update_schema().add_column("ours", StringType())
    with pytest.raises(CommitFailedError) as caught:
        ours.commit()
    assert isinstance(caught.value, iceberg.CommitFailedException)
    assert caught.value.identifier == f"{database}.t"
    assert catalog.load_table(f"{database}.t").schema().column_names == ["id", "name", "theirs"]
    table.refresh().append(ROWS)
    assert catalog.load_table(f"{database}.t").scan().to_arrow().num_rows == 3


def test_concurrent_snapshot_on_other_branch_raises_commit_failed(catalog: HiveViewCatalog, database: str) -> None:
    """PyIceberg rejects its sequence number with a ValueError; it retries after a CommitFailedException."""
    table = catalog.create_table(f"{database}.t", COLUMNS)
    table.append(ROWS)
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "other").commit()
    catalog.load_table(f"{database}.t").append(ROWS, branch="other")
    table.append(ROWS)
    assert catalog.load_table(f"{database}.t").scan().to_arrow().num_rows == 6


def test_threads_append_to_one_table(catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_table(f"{database}.t", COLUMNS)

    def append(number: int) -> int:
        """Append, and repeat after conflicts; returns the number of conflicts."""
        for attempt in range(100):
            try:
                catalog.load_table(f"{database}.t").append(pa.table({"id": [number], "name": [str(number)]}))
            except CommitFailedError:
                continue
            return attempt
        raise AssertionError("never got through")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(8)))
    rows = catalog.load_table(f"{database}.t").scan().to_arrow()
    assert sorted(rows["id"].to_pylist()) == list(range(8))


@pytest.mark.swaps
def test_commit_of_writer_without_locks_is_not_overwritten(
    proxy: ThriftProxy, open_catalog: CatalogFactory, catalog: HiveViewCatalog, database: str, raw: Client
) -> None:
    """The commit is a compare-and-swap, which also detects writers without locks."""
    table = catalog.create_table(f"{database}.t", COLUMNS)
    theirs = f"{table.location()}/metadata/00001-theirs.metadata.json"
    path(theirs).write_bytes(path(table.metadata_location).read_bytes())
    slow = open_catalog({"uri": proxy.uri}).load_table(f"{database}.t")
    commit = slow.update_schema().add_column("late", StringType()).commit
    with proxy.in_flight("alter_table_with_environment_context", commit) as committing:
        row = raw.get_table(database, "t")
        row.parameters.update({"metadata_location": theirs, "previous_metadata_location": table.metadata_location})
        raw.alter_table_with_environment_context(database, "t", row, None)
        row = raw.get_table(database, "t")
    with pytest.raises(CommitFailedError, match="has been modified") as caught:
        committing.result()
    assert caught.value.identifier == f"{database}.t"
    assert raw.get_table(database, "t") == row


@pytest.mark.swaps
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_lock_property_controls_locking(
    proxy: ThriftProxy, open_catalog: CatalogFactory, database: str, enabled: str
) -> None:
    catalog = open_catalog({"uri": proxy.uri, "iceberg.engine.hive.lock-enabled": enabled})
    catalog.create_table(f"{database}.t", COLUMNS).append(ROWS)
    assert catalog.load_table(f"{database}.t").scan().to_arrow().num_rows == 3
    assert [method for method in proxy.methods if "lock" in method] == {"true": ["lock", "unlock"], "false": []}[
        enabled
    ]


def test_unknown_row_fields_are_preserved(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    table = catalog.create_table(f"{database}.t", COLUMNS)
    row = raw.get_table(database, "t")
    row.parameters.update({"our.extra": "keep-me"})
    row.retention, row.owner = 77, "them"
    raw.alter_table_with_environment_context(database, "t", row, None)
    table.append(ROWS)
    after = raw.get_table(database, "t")
    assert (after.parameters["our.extra"], after.retention, after.owner) == ("keep-me", 77, "them")
    catalog.rename_table(f"{database}.t", f"{database}.u")
    after = raw.get_table(database, "u")
    assert (after.parameters["our.extra"], after.retention, after.owner) == ("keep-me", 77, "them")


# -- Names that are not a table's --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["view", "hive view", "missing", "missing database", "no name"])
def test_no_such_table(catalog: HiveViewCatalog, database: str, view: HiveView, raw: Client, kind: str) -> None:
    raw.create_table(hive_row(database, "hive_view", "VIRTUAL_VIEW"))
    names = {
        "view": f"{database}.view",
        "hive view": f"{database}.hive_view",
        "missing": f"{database}.missing",
        "missing database": "nope.t",
        "no name": "just_one_level",
    }
    before = {name: raw.get_table(database, name) for name in raw.get_all_tables(database)}
    attempts: list[Callable[[], object]] = [
        lambda: catalog.load_table(names[kind]),
        lambda: catalog.drop_table(names[kind]),
        lambda: catalog.purge_table(names[kind]),
        lambda: catalog.rename_table(names[kind], f"{database}.elsewhere"),
    ]
    for attempt in attempts:
        with pytest.raises(NoSuchTableError, match=f"^Table does not exist: {names[kind]}") as caught:
            attempt()
        assert caught.value.identifier.startswith(names[kind])
    assert not catalog.table_exists(names[kind])
    assert {name: raw.get_table(database, name) for name in raw.get_all_tables(database)} == before
    assert catalog.load_view(view.name()) == view
    assert path(view.metadata_location).is_file()


@pytest.mark.parametrize("kind", ["view", "hive view", "table", "hive table"])
def test_existing_name_is_rejected(
    catalog: HiveViewCatalog, database: str, view: HiveView, raw: Client, own_directory: str, kind: str
) -> None:
    raw.create_table(hive_row(database, "hive_view", "VIRTUAL_VIEW"))
    raw.create_table(hive_row(database, "hive_table", "MANAGED_TABLE"))
    table = catalog.create_table(f"{database}.table", COLUMNS)
    other = catalog.create_table(f"{database}.other", COLUMNS)
    name = f"{database}.{kind.replace(' ', '_')}"
    expected, message = (
        (ViewAlreadyExistsError, "View with same name already exists: ")
        if kind.endswith("view")
        else (TableAlreadyExistsError, "Table already exists: ")
    )
    attempts: list[Callable[[], object]] = [
        lambda: catalog.create_table(name, COLUMNS, location=own_directory),
        lambda: catalog.create_table_transaction(name, COLUMNS, location=own_directory).commit_transaction(),
        lambda: catalog.register_table(name, table.metadata_location),
        lambda: catalog.register_table(name, table.metadata_location, overwrite=True),
    ]
    for attempt in attempts:
        with pytest.raises(expected, match=f"^{message}{name}") as caught:
            attempt()
        assert isinstance(caught.value, (ViewAlreadyExistsError, TableAlreadyExistsError))
        assert caught.value.identifier == name
    kept = "View" if kind.endswith("view") else "Table"
    with pytest.raises(expected, match=f"Cannot rename {database}.other to {name}. {kept} already exists"):
        catalog.rename_table(f"{database}.other", name)
    assert catalog.load_table(f"{database}.other").metadata == other.metadata
    assert files_below(own_directory) == set()
    assert catalog.load_view(view.name()) == view


def test_errors_of_names(catalog: HiveViewCatalog, database: str) -> None:
    for name in (f"{database}.a#b", f"{database}.größe"):
        with pytest.raises(InvalidIdentifierError):
            catalog.create_table(name, COLUMNS)
    table = catalog.create_table(f"{database}.t", COLUMNS)
    with pytest.raises(NoSuchNamespaceError, match="Namespace does not exist: nope"):
        catalog.rename_table(f"{database}.t", "nope.t")
    with pytest.raises(NoSuchNamespaceError, match="Namespace does not exist: nope"):
        catalog.register_table("nope.t", table.metadata_location)
    assert catalog.load_table(f"{database}.t").metadata == table.metadata


@pytest.mark.hive2
def test_pyiceberg_hive_catalog_reads_tables(
    catalog: HiveViewCatalog, database: str, view: HiveView, properties: dict[str, str]
) -> None:
    """It does not list views as tables."""
    catalog.create_table(f"{database}.t", COLUMNS).append(ROWS)
    theirs = HiveCatalog("prod", **properties)
    assert theirs.load_table(f"{database}.t").scan().to_arrow().num_rows == 3
    assert theirs.list_tables(database) == [(database, "t")]
    theirs.load_table(f"{database}.t").append(ROWS)
    assert catalog.load_table(f"{database}.t").scan().to_arrow().num_rows == 6


def test_table_without_metadata_is_not_renamed(catalog: HiveViewCatalog, database: str) -> None:
    """The renamed table could not be returned."""
    table = catalog.create_table(f"{database}.t", COLUMNS)
    path(table.metadata_location).unlink()
    with pytest.raises(FileNotFoundError):
        catalog.rename_table(f"{database}.t", f"{database}.u")
    assert catalog.list_tables(database) == [(database, "t")]
