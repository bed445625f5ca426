"""Iceberg's TestHiveViewCatalog. Each test is named after the one in Java; see docs/conformance.md."""

from __future__ import annotations

import time

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidIdentifierError, NoSuchTableError, NotAnIcebergViewError
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.integration.catalog.samples import QUERY, SCHEMA, files_below, hive_row, path, version


def test_new_view_sets_current_hms_last_access_time(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    before = int(time.time())
    catalog.create_view(f"{database}.view", SCHEMA, version(database))
    row = raw.get_table(database, "view")
    # Java's catalogs up to 1.11 wrote an overflown number here.
    assert before <= row.lastAccessTime <= time.time()
    assert row.createTime >= before


def test_hive_view_and_iceberg_view_with_same_name(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    identifier = f"{database}.test_hive_view"
    assert catalog.list_views(database) == []
    raw.create_table(hive_row(database, "test_hive_view", "VIRTUAL_VIEW"))
    assert not catalog.view_exists(identifier)
    assert catalog.list_views(database) == []
    before = raw.get_table(database, "test_hive_view")
    for create in (catalog.create_view, catalog.create_or_replace_view, catalog.create_view_if_not_exists):
        with pytest.raises(NotAnIcebergViewError, match=rf"^Not an iceberg view: {identifier}") as caught:
            create(identifier, SCHEMA, version(database, ("hive", QUERY)))
        assert caught.value.table_type == "VIRTUAL_VIEW"
    assert raw.get_table(database, "test_hive_view") == before


def test_hive_view_exists(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    identifier = f"{database}.view"
    assert not catalog.view_exists((database, "invalid", "view"))
    assert not catalog.view_exists(identifier)
    catalog.create_view(identifier, SCHEMA, version(database, ("hive", QUERY)))
    assert catalog.view_exists(identifier)
    catalog.drop_view(identifier)
    assert not catalog.view_exists(identifier)
    for kind in ("MANAGED_TABLE", "VIRTUAL_VIEW"):
        raw.create_table(hive_row(database, kind, kind))
        assert not catalog.view_exists(f"{database}.{kind}")
    catalog.create_table(identifier, SCHEMA)
    assert not catalog.view_exists(identifier)
    assert catalog.table_exists(identifier)


def test_list_view_with_hive_view(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    raw.create_table(hive_row(database, "test_hive_view", "VIRTUAL_VIEW"))
    # Ours has no list-all-tables: a Hive view is in neither list.
    assert (catalog.list_views(database), catalog.list_tables(database)) == ([], [])
    catalog.create_view(f"{database}.test_iceberg_view", SCHEMA, version(database, ("hive", QUERY)))
    assert catalog.list_views(database) == [(database, "test_iceberg_view")]
    assert catalog.list_tables(database) == []


def test_view_with_hive_parameters(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    catalog.create_view(f"{database}.view", SCHEMA, version(database, ("hive", QUERY)))
    row = raw.get_table(database, "view")
    assert (row.viewOriginalText, row.viewExpandedText) == (QUERY, QUERY)
    assert row.tableType == "VIRTUAL_VIEW"
    assert row.parameters["table_type"] == "ICEBERG-VIEW"


def test_invalid_identifiers_with_rename(catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_view(f"{database}.view", SCHEMA, version(database))
    for source, target in (
        ((database, "l2", "view"), (database, "renamed")),
        ((database, "view"), (database, "l2", "renamed")),
    ):
        with pytest.raises(InvalidIdentifierError, match=r"^Invalid identifier: ") as caught:
            catalog.rename_view(source, target)
        assert len(caught.value.identifier) == 3  # type: ignore[arg-type]
    assert catalog.list_views(database) == [(database, "view")]


@pytest.mark.parametrize("purge_files", [False, True])
def test_drop_view_should_not_drop_metadata_file_if_gc_not_enabled(
    catalog: HiveViewCatalog, database: str, purge_files: bool
) -> None:
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database), properties={"gc.enabled": "false"})
    catalog.drop_view(f"{database}.view", purge_files=purge_files)
    assert path(view.metadata_location).is_file()
    assert not catalog.view_exists(f"{database}.view")


@pytest.mark.parametrize("purge_files", [False, True])
def test_drop_view_should_drop_metadata_file_if_gc_enabled(
    catalog: HiveViewCatalog, database: str, purge_files: bool
) -> None:
    # Java deletes the current file and leaves those before it. Ours deletes all of them, but only with `purge_files`.
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database), properties={"gc.enabled": "true"})
    changed = view.update().set_properties(key="value").commit()
    files = {path(view.metadata_location), path(changed.metadata_location)}
    assert files_below(view.location()) == files
    catalog.drop_view(f"{database}.view", purge_files=purge_files)
    assert files_below(view.location()) == (set() if purge_files else files)
    assert not catalog.view_exists(f"{database}.view")


def test_drop_table_should_not_drop_iceberg_view(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database))
    for drop in (catalog.drop_table, catalog.purge_table):
        with pytest.raises(NoSuchTableError, match=rf"^Table does not exist: {database}.view"):
            drop(f"{database}.view")
    assert catalog.load_view(f"{database}.view") == view
