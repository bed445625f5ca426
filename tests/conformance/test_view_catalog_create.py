"""Iceberg's ViewCatalogTests: loading and creating. Named after those in Java; see docs/conformance.md."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from pyiceberg.view.metadata import ViewVersion

from hive_views import HiveViewCatalog
from hive_views.errors import (
    InvalidViewError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from tests.conftest import CatalogFactory
from tests.integration.catalog.samples import OTHER_SCHEMA, QUERY, SCHEMA, files_below, path, texts, version

CATALOG_DEFAULTS = {
    "view-default.key1": "catalog-default-key1",
    "view-default.key2": "catalog-default-key2",
    "view-default.key3": "catalog-default-key3",
    "view-override.key3": "catalog-override-key3",
    "view-override.key4": "catalog-override-key4",
}


def test_load_view_with_non_existing_namespace(catalog: HiveViewCatalog) -> None:
    assert not catalog.view_exists("non_existing.view")
    with pytest.raises(NoSuchViewError, match=r"^View does not exist: non_existing\.view") as caught:
        catalog.load_view("non_existing.view")
    assert caught.value.identifier == "non_existing.view"


def test_load_view_that_already_exists_as_table(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.table"
    assert not catalog.table_exists(identifier)
    catalog.create_table(identifier, SCHEMA)
    assert catalog.table_exists(identifier)
    assert not catalog.view_exists(identifier)
    with pytest.raises(NoSuchViewError, match=r"^View does not exist"):
        catalog.load_view(identifier)


def test_load_table_that_already_exists_as_view(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    catalog.create_view(identifier, SCHEMA, version(database))
    assert catalog.view_exists(identifier)
    assert not catalog.table_exists(identifier)
    with pytest.raises(NoSuchTableError, match=r"^Table does not exist"):
        catalog.load_table(identifier)


def test_basic_create_view(catalog: HiveViewCatalog, database: str) -> None:
    identifier = (database, "view")
    assert not catalog.view_exists(identifier)
    view = catalog.create_view(identifier, SCHEMA, version(database))
    assert catalog.view_exists(identifier)
    assert path(view.metadata_location).is_file()
    assert view.name() == identifier
    assert [entry.version_id for entry in view.history()] == [1]
    assert view.schema().schema_id == 0
    assert view.schema().as_struct() == SCHEMA.as_struct()
    assert list(view.schemas()) == [0]
    current = view.current_version()
    assert view.versions == [current]
    assert (current.version_id, current.schema_id, current.operation) == (1, 0, "create")
    assert (current.default_catalog, current.default_namespace) == (None, (database,))
    assert texts(current) == [("spark", QUERY)]
    catalog.drop_view(identifier)
    assert not catalog.view_exists(identifier)


def test_default_view_properties(open_catalog: CatalogFactory, database: str) -> None:
    catalog = open_catalog(CATALOG_DEFAULTS)
    given = {"key2": "catalog-overridden-key2", "prop1": "val1"}
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database), properties=given)
    assert view.properties["key1"] == "catalog-default-key1"
    assert view.properties["key2"] == "catalog-overridden-key2"
    assert view.properties["prop1"] == "val1"


def test_override_view_properties(open_catalog: CatalogFactory, database: str) -> None:
    catalog = open_catalog(CATALOG_DEFAULTS)
    given = {"key4": "catalog-overridden-key4", "prop1": "val1"}
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database), properties=given)
    assert view.properties == {
        "key1": "catalog-default-key1",
        "key2": "catalog-default-key2",
        "key3": "catalog-override-key3",
        "key4": "catalog-override-key4",
        "prop1": "val1",
    }


def test_complete_create_view(catalog: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    identifier = (database, "view")
    location = f"file:{tmp_path}/ns/view"
    two = version(database, ("spark", QUERY), ("trino", f"{QUERY} using X"), default_catalog=catalog.name)
    properties = {"prop1": "val1", "prop2": "val2"}
    created = catalog.create_view(identifier, SCHEMA, two, location=location, properties=properties)
    for view in (created, catalog.load_view(identifier)):
        assert view.location() == location
        assert view.metadata_location.startswith(f"{location}/metadata/00000-")
        assert view.uuid() == UUID(view.parameters["uuid"])
        assert view.name() == identifier
        assert view.properties == properties
        assert [entry.version_id for entry in view.history()] == [1]
        assert view.schema().as_struct() == SCHEMA.as_struct()
        assert list(view.schemas()) == [0]
        current = view.current_version()
        assert view.versions == [current]
        assert (current.version_id, current.schema_id, current.operation) == (1, 0, "create")
        assert (current.default_catalog, current.default_namespace) == (catalog.name, (database,))
        assert texts(current) == [("spark", QUERY), ("trino", f"{QUERY} using X")]
    catalog.drop_view(identifier)
    assert not catalog.view_exists(identifier)


def test_create_view_with_custom_metadata_location(catalog: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    custom = f"file:{tmp_path}/custom-location"
    view = catalog.create_view(
        f"{database}.view",
        SCHEMA,
        version(database),
        location=f"file:{tmp_path}/view",
        properties={"write.metadata.path": custom},
    )
    assert view.properties["write.metadata.path"] == custom
    assert view.metadata_location.startswith(f"{custom}/00000-")
    assert files_below(tmp_path) == {path(view.metadata_location)}
    assert catalog.load_view(f"{database}.view") == view


TWICE = [("trino", QUERY), ("trino", QUERY)]


def without_namespace() -> ViewVersion:
    """A definition whose default namespace was never given, which PyIceberg's own checks would refuse."""
    whole = version("ns")
    return ViewVersion.model_construct(schema_id=0, summary={}, representations=whole.representations)


@pytest.mark.parametrize(
    ("schema", "given", "reason"),
    [
        pytest.param(SCHEMA, version("ns").model_copy(update={"representations": []}), "no query", id="query"),
        pytest.param(SCHEMA, None, "no definition", id="version"),
        pytest.param(None, version("ns"), "no schema", id="schema"),
        pytest.param(SCHEMA, without_namespace(), "no default namespace", id="namespace"),
        pytest.param(
            SCHEMA, version("ns", *TWICE), "Cannot add multiple queries for dialect trino", id="two-of-a-dialect"
        ),
    ],
)
def test_create_view_error_cases(
    catalog: HiveViewCatalog, database: str, tmp_path: Path, schema: object, given: object, reason: str
) -> None:
    with pytest.raises(InvalidViewError, match=reason) as caught:
        catalog.create_view(f"{database}.view", schema, given, location=f"file:{tmp_path}")  # type: ignore[arg-type]
    assert caught.value.identifier == f"{database}.view"
    assert not catalog.view_exists(f"{database}.view")
    assert not files_below(tmp_path)


def test_create_view_that_already_exists(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    view = catalog.create_view(identifier, SCHEMA, version(database))
    with pytest.raises(ViewAlreadyExistsError, match=rf"^View already exists: {identifier}"):
        catalog.create_view(identifier, OTHER_SCHEMA, version(database))
    assert catalog.load_view(identifier) == view
    assert files_below(view.location()) == {path(view.metadata_location)}


def test_create_view_that_already_exists_as_table(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.table"
    catalog.create_table(identifier, SCHEMA)
    with pytest.raises(TableAlreadyExistsError, match=rf"^Table with same name already exists: {identifier}"):
        catalog.create_view(identifier, OTHER_SCHEMA, version(database))
    assert catalog.load_table(identifier).schema().column_names == SCHEMA.column_names


def test_create_table_that_already_exists_as_view(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    view = catalog.create_view(identifier, SCHEMA, version(database))
    with pytest.raises(ViewAlreadyExistsError, match=rf"^View with same name already exists: {identifier}"):
        catalog.create_table(identifier, SCHEMA)
    assert catalog.load_view(identifier) == view


def test_create_table_via_transaction_that_already_exists_as_view(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    transaction = catalog.create_table_transaction(identifier, SCHEMA)
    view = catalog.create_view(identifier, SCHEMA, version(database))
    with pytest.raises(ViewAlreadyExistsError, match=rf"^View with same name already exists: {identifier}"):
        transaction.commit_transaction()
    assert catalog.load_view(identifier) == view


def test_create_view_conflict(catalog: HiveViewCatalog, open_catalog: CatalogFactory, database: str) -> None:
    # PyIceberg has no builder to prepare: two catalogs race for the name, and one of them creates.
    identifier = f"{database}.view"
    catalog.create_view(identifier, SCHEMA, version(database, ("trino", QUERY)))
    with pytest.raises(ViewAlreadyExistsError, match=rf"View already exists: {identifier}"):
        open_catalog().create_view(identifier, SCHEMA, version(database, ("trino", QUERY)))


def test_register_table_that_already_exists_as_view(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    table = catalog.create_table(f"{database}.table", SCHEMA)
    view = catalog.create_view(identifier, SCHEMA, version(database))
    with pytest.raises(ViewAlreadyExistsError, match=rf"^View with same name already exists: {identifier}"):
        catalog.register_table(identifier, table.metadata_location)
    assert catalog.load_view(identifier) == view


def test_register_view(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    view = catalog.create_view(identifier, SCHEMA, version(database), properties={"gc.enabled": "false"})
    catalog.drop_view(identifier)
    assert not catalog.view_exists(identifier)
    assert path(view.metadata_location).is_file()
    registered = catalog.register_view(identifier, view.metadata_location)
    assert registered.metadata_location == view.metadata_location
    for found in (registered, catalog.load_view(identifier)):
        assert found.metadata == view.metadata
        assert found.current_version() == view.current_version()
    assert files_below(view.location()) == {path(view.metadata_location)}


def test_register_existing_view(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    view = catalog.create_view(identifier, SCHEMA, version(database))
    with pytest.raises(ViewAlreadyExistsError, match=rf"^View already exists: {identifier}"):
        catalog.register_view(identifier, view.metadata_location)
    # Java deletes the file that it could not register (its own `finally`); another program owns it.
    assert path(view.metadata_location).is_file()
    assert catalog.load_view(identifier) == view


def test_register_view_that_already_exists_as_table(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database))
    catalog.create_table(f"{database}.table", SCHEMA)
    with pytest.raises(TableAlreadyExistsError, match=rf"^Table with same name already exists: {database}.table"):
        catalog.register_view(f"{database}.table", view.metadata_location)
    assert path(view.metadata_location).is_file()
