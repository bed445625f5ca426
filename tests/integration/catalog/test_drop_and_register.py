"""Dropping views with and without their files, and registering dropped views."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import (
    InvalidMetadataError,
    InvalidViewError,
    MetadataFileError,
    MetadataFileNotFoundError,
    NoSuchNamespaceError,
    NoSuchViewError,
    NotAnIcebergViewError,
    NotAViewError,
)
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.integration.catalog.samples import OTHER_SCHEMA, SCHEMA, files_below, hive_row, path, version
from tests.integration.legacy_import.rows import alter


def test_drop_and_register_restores_everything(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"a": "b"})
    view = view.update().replace_version(version(database, ("spark", "select 2")), OTHER_SCHEMA).commit()
    view = view.update().rollback(version_id=1).commit()
    files = files_below(view.location())
    assert len(files) == 3
    catalog.drop_view(f"{database}.v")
    assert not catalog.view_exists(f"{database}.v")
    assert files_below(view.location()) == files
    back = catalog.register_view(f"{database}.w", view.metadata_location)
    assert back.metadata == view.metadata
    assert [entry.version_id for entry in back.history()] == [1, 2, 1]
    assert (back.original_text, back.expanded_text) == (view.original_text, view.expanded_text)
    assert back.drift == ()
    changed = back.update().rollback(version_id=2).commit()
    assert changed.metadata_location.startswith(f"{view.location()}/metadata/00003-")
    assert changed.previous_metadata_location == view.metadata_location
    assert changed.uuid() == view.uuid()


def test_register_restores_earlier_metadata_file(catalog: HiveViewCatalog, database: str) -> None:
    first = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    first.update().replace_version(version(database, ("spark", "select 2"))).commit()
    catalog.drop_view(f"{database}.v")
    assert catalog.register_view(f"{database}.v", first.metadata_location) == first


@pytest.mark.parametrize(
    ("content", "error", "reason"),
    [
        (None, MetadataFileNotFoundError, "does not exist"),
        (gzip.compress(b'{"format-version": 9}'), InvalidMetadataError, "location: it must be a string"),
    ],
    ids=["missing", "other"],
)
def test_register_invalid_file_raises(
    catalog: HiveViewCatalog,
    database: str,
    own_directory: str,
    content: bytes | None,
    error: type[MetadataFileError],
    reason: str,
) -> None:
    location = f"{own_directory}/00000-a.metadata.json"
    if content is not None:
        path(location).write_bytes(content)
    with pytest.raises(error, match=reason) as caught:
        catalog.register_view(f"{database}.v", location)
    assert caught.value.location == location
    assert not catalog.view_exists(f"{database}.v")
    assert files_below(own_directory) == ({path(location)} if content is not None else set())


def test_register_in_missing_database_raises(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    with pytest.raises(NoSuchNamespaceError):
        catalog.register_view("nope.v", view.metadata_location)
    assert path(view.metadata_location).is_file()


def test_draft_file_can_be_registered(catalog: HiveViewCatalog, database: str, own_directory: str) -> None:
    """It has no UUID and its defaults in its texts; the next commit writes a file for readers of both formats."""
    location = f"{own_directory}/00001-draft.metadata.json"
    draft = {
        "format-version": 1,
        "location": own_directory,
        "current-version-id": 1,
        "properties": {"comment": "Daily event counts"},
        "versions": [
            {
                "version-id": 1,
                "timestamp-ms": 1573518431292,
                "summary": {"operation": "create", "engineVersion": "presto-350"},
                "representations": [
                    {
                        "type": "sql",
                        "sql": "SELECT COUNT(1) FROM events",
                        "dialect": "presto",
                        "default-catalog": "iceberg",
                        "default-namespace": ["analytics"],
                        "field-aliases": ["cnt"],
                        "field-comments": ["how many"],
                    }
                ],
            }
        ],
        "current-schema-id": 1,
        "schemas": [
            {"schema-id": 1, "type": "struct", "fields": [{"id": 1, "name": "cnt", "required": False, "type": "long"}]}
        ],
        "version-log": [{"timestamp-ms": 1573518431292, "version-id": 1}],
    }
    path(location).write_text(json.dumps(draft))
    view = catalog.register_view(f"{database}.v", location)
    assert view.current_version().default_namespace == ("analytics",)
    assert catalog.load_view(f"{database}.v") == view
    changed = view.update().set_properties(a="b").commit()
    assert changed.uuid() == view.uuid()
    written = json.loads(gzip.decompress(path(changed.metadata_location).read_bytes()))
    assert written["versions"][0]["default-namespace"] == ["analytics"]
    assert written["versions"][0]["representations"][0]["field-aliases"] == ["cnt"]
    assert written["view-uuid"] == str(view.uuid())


# -- What is no view, or no view any more ------------------------------------------------------------------------------


@pytest.mark.parametrize("purge_files", [False, True])
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("missing", NoSuchViewError),
        ("table", NotAViewError),
        ("hive_view", NotAnIcebergViewError),
        ("hive_table", NotAViewError),
    ],
)
def test_drop_view_drops_only_iceberg_views(
    catalog: HiveViewCatalog,
    database: str,
    raw: Client,
    kind: str,
    error: type[NoSuchViewError],
    purge_files: bool,
) -> None:
    catalog.create_table(f"{database}.table", SCHEMA)
    raw.create_table(hive_row(database, "hive_view", "VIRTUAL_VIEW"))
    raw.create_table(hive_row(database, "hive_table", "MANAGED_TABLE"))
    before = sorted(raw.get_all_tables(database))
    uses: list[Callable[[], object]] = [
        lambda: catalog.drop_view(f"{database}.{kind}", purge_files=purge_files),
        lambda: catalog.rename_view(f"{database}.{kind}", f"{database}.new"),
        lambda: catalog.load_view(f"{database}.{kind}"),
    ]
    for use in uses:
        with pytest.raises(error, match=rf"{database}\.{kind}") as caught:
            use()
        assert type(caught.value) is error
        assert caught.value.identifier == f"{database}.{kind}"
    assert sorted(raw.get_all_tables(database)) == before


def test_load_view_with_missing_file_raises(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    path(view.metadata_location).unlink()
    with pytest.raises(MetadataFileNotFoundError, match="register_view") as caught:
        catalog.load_view(f"{database}.v")
    assert caught.value.location == view.metadata_location
    assert catalog.view_exists(f"{database}.v")
    assert catalog.list_views(database) == [(database, "v")]
    catalog.drop_view(f"{database}.v")
    assert not catalog.view_exists(f"{database}.v")


def test_load_view_with_invalid_file_raises(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    path(view.metadata_location).write_bytes(b"{}")
    for use in (catalog.load_view, lambda name: catalog.replace_view(name, SCHEMA, version(database))):
        with pytest.raises(InvalidMetadataError) as caught:
            use(f"{database}.v")
        assert caught.value.location == view.metadata_location
    catalog.drop_view(f"{database}.v")
    assert path(view.metadata_location).is_file()


# -- Purge -------------------------------------------------------------------------------------------------------------


def test_purge_deletes_only_files_of_view(catalog: HiveViewCatalog, database: str, own_directory: str) -> None:
    """Two views and files of another program share a directory."""
    shared = {"write.metadata.path": own_directory}
    other = catalog.create_view(f"{database}.other", SCHEMA, version(database), properties=shared)
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties=shared)
    for number in range(3):
        view = view.update().set_properties(a=str(number)).commit()
    directory = path(own_directory)
    kept = {
        directory / "notes.txt",
        directory / "00009-broken.metadata.json",
        directory / "sub" / "00000-a.metadata.json",
    }
    for file in kept:
        file.parent.mkdir(exist_ok=True)
        file.write_text("not metadata")
    assert len(files_below(own_directory)) == 5 + len(kept)
    catalog.drop_view(f"{database}.v", purge_files=True)
    assert files_below(own_directory) == {path(other.metadata_location), *kept}
    assert catalog.load_view(f"{database}.other") == other


def test_purge_deletes_files_of_previous_locations(catalog: HiveViewCatalog, database: str, own_directory: str) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{own_directory}/one")
    view = view.update().set_properties(a="b").commit()
    view = view.update().set_location(f"{own_directory}/two").commit()
    assert len(files_below(own_directory)) == 3
    catalog.drop_view(f"{database}.v", purge_files=True)
    assert files_below(own_directory) == set()


@pytest.mark.parametrize(("value", "kept"), [("false", True), ("FALSE", True), ("true", False), ("", False)])
def test_gc_enabled(catalog: HiveViewCatalog, database: str, value: str, kept: bool) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"gc.enabled": value})
    catalog.drop_view(f"{database}.v", purge_files=True)
    assert not catalog.view_exists(f"{database}.v")
    assert bool(files_below(view.location())) is kept


def test_purge_keeps_files_of_other_registered_name(catalog: HiveViewCatalog, database: str) -> None:
    """A file can be registered under two names; each row then needs it."""
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    duplicate = catalog.register_view(f"{database}.duplicate", view.metadata_location)
    with pytest.raises(InvalidViewError, match=rf"its files are also those of {database}\.v") as caught:
        catalog.drop_view(f"{database}.duplicate", purge_files=True)
    assert caught.value.identifier == f"{database}.duplicate"
    assert catalog.load_view(f"{database}.duplicate") == duplicate
    catalog.drop_view(f"{database}.duplicate")
    assert catalog.load_view(f"{database}.v") == view
    catalog.drop_view(f"{database}.v", purge_files=True)
    assert files_below(view.location()) == set()


def test_purge_ignores_missing_file(catalog: HiveViewCatalog, database: str) -> None:
    first = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    second = first.update().set_properties(a="1").commit()
    third = second.update().set_properties(a="2").commit()
    path(second.metadata_location).unlink()
    catalog.drop_view(f"{database}.v", purge_files=True)
    assert files_below(third.location()) == set()


def test_view_with_moved_files_can_be_registered(catalog: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    """As in a migration to another storage."""
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"file:{tmp_path}/old")
    shutil.move(tmp_path / "old", tmp_path / "new")
    moved = view.metadata_location.replace("/old/", "/new/")
    with pytest.raises(MetadataFileNotFoundError):
        catalog.load_view(f"{database}.v")
    catalog.drop_view(f"{database}.v")
    back = catalog.register_view(f"{database}.v", moved).update().set_location(f"file:{tmp_path}/new").commit()
    assert back.metadata_location.startswith(f"file:{tmp_path}/new/metadata/00001-")
    assert back.uuid() == view.uuid()
    assert files_below(tmp_path / "old") == set()


@pytest.mark.parametrize("is_file_lost", [False, True])
def test_dropped_row_is_logged_if_no_file_has_its_text(catalog, raw, database, caplog, is_file_lost):
    for name in ("kept", "changed"):
        catalog.create_view_from_sql(f"{database}.{name}", "SELECT 1 AS id")
    if is_file_lost:
        catalog.store.files.delete(catalog.load_view(f"{database}.changed").metadata_location)
    else:
        row = raw.get_table(database, "changed")
        row.viewOriginalText = row.viewExpandedText = "select 7 as id"
        alter(raw, row)
    text = raw.get_table(database, "changed").viewExpandedText
    catalog.drop_view(f"{database}.kept")
    assert not caplog.records
    catalog.drop_view(f"{database}.changed")
    (record,) = [record for record in caplog.records if "in no readable metadata file" in record.message]
    assert json.dumps(text) in record.message
