"""Iceberg's ViewCatalogTests: changing what is there. Each test is named after Java's; see docs/conformance.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hive_views import HiveView, HiveViewCatalog, ViewUpdate
from hive_views.errors import (
    CommitFailedError,
    InvalidPropertyError,
    InvalidViewError,
    NoSuchViewError,
    TableAlreadyExistsError,
)
from tests.conformance.test_view_catalog_create import TWICE, without_namespace
from tests.integration.catalog.samples import OTHER_SCHEMA, QUERY, SCHEMA, files_below, path, texts, version

ALLOW_DROP = {"replace.drop-dialect.allowed": "true"}


def test_replace_view_that_already_exists_as_table(catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_table(f"{database}.table", SCHEMA)
    with pytest.raises(TableAlreadyExistsError, match=rf"Table with same name already exists: {database}.table"):
        catalog.replace_view(f"{database}.table", OTHER_SCHEMA, version(database))
    assert catalog.load_table(f"{database}.table").schema().column_names == SCHEMA.column_names


def test_create_or_replace_view_that_already_exists_as_table(catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_table(f"{database}.table", SCHEMA)
    with pytest.raises(TableAlreadyExistsError, match=rf"^Table with same name already exists: {database}.table"):
        catalog.create_or_replace_view(f"{database}.table", OTHER_SCHEMA, version(database))
    assert catalog.load_table(f"{database}.table").schema().column_names == SCHEMA.column_names


@pytest.mark.parametrize("use_create_or_replace", [False, True])
def test_create_or_replace_view(catalog: HiveViewCatalog, database: str, use_create_or_replace: bool) -> None:
    identifier = (database, "view")
    create, replace = catalog.create_view, catalog.replace_view
    if use_create_or_replace:
        create = replace = catalog.create_or_replace_view
    before = {"prop1": "val1", "prop2": "val2"}
    view = create(identifier, SCHEMA, version(database), properties=before)
    first = view.current_version()
    assert texts(first) == [("spark", QUERY)]
    added = {"replacedProp1": "val1", "replacedProp2": "val2", **ALLOW_DROP}
    count = version(database, ("trino", "select count(*) from ns.tbl"))
    replaced = replace(identifier, OTHER_SCHEMA, count, properties=added)

    assert replaced.name() == identifier
    assert replaced.metadata_location.startswith(f"{view.location()}/metadata/00001-")
    assert replaced.previous_metadata_location == view.metadata_location
    assert replaced.properties == {**before, **added}
    assert [entry.version_id for entry in replaced.history()] == [1, 2]
    assert replaced.schema().schema_id == 1
    assert replaced.schema().as_struct() == OTHER_SCHEMA.as_struct()
    assert sorted(replaced.schemas()) == [0, 1]
    second = replaced.current_version()
    assert replaced.versions == [first, second]
    assert (second.version_id, second.schema_id, second.operation) == (2, 1, "replace")
    assert texts(second) == [("trino", "select count(*) from ns.tbl")]
    assert catalog.load_view(identifier) == replaced
    catalog.drop_view(identifier)
    assert not catalog.view_exists(identifier)


@pytest.mark.parametrize(
    ("schema", "given", "reason"),
    [
        pytest.param(SCHEMA, version("ns").model_copy(update={"representations": []}), "no query", id="query"),
        pytest.param(None, version("ns"), "no schema", id="schema"),
        pytest.param(SCHEMA, without_namespace(), "no default namespace", id="namespace"),
        pytest.param(
            SCHEMA, version("ns", *TWICE), "Cannot add multiple queries for dialect trino", id="two-of-a-dialect"
        ),
    ],
)
def test_replace_view_error_cases(
    catalog: HiveViewCatalog, database: str, schema: object, given: object, reason: str
) -> None:
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database, ("trino", QUERY)))
    with pytest.raises(InvalidViewError, match=reason):
        catalog.replace_view(f"{database}.view", schema, given)  # type: ignore[arg-type]
    with pytest.raises(NoSuchViewError, match=rf"^View does not exist: {database}.non_existing"):
        catalog.replace_view(f"{database}.non_existing", SCHEMA, version(database))
    assert catalog.load_view(f"{database}.view") == view
    assert files_below(view.location()) == {path(view.metadata_location)}


def test_update_view_properties(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    view = catalog.create_view(identifier, SCHEMA, version(database))
    view.update().set_properties(key1="val1", key2="val2").remove_properties("non-existing").commit()
    updated = catalog.load_view(identifier)
    assert updated.properties == {"key1": "val1", "key2": "val2"}
    assert updated.history() == view.history()
    assert updated.versions == view.versions
    removed = updated.update().remove_properties("key1").commit()
    assert removed.properties == {"key2": "val2"}
    assert "key1" not in catalog.load_view(identifier).parameters


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda update: update.set_properties({None: "new-val1"}), "a key must be a string"),
        (lambda update: update.set_properties({"key1": None}), "a value must be a string"),
        (lambda update: update.remove_properties(None), "a key must be a string"),
        (
            lambda update: update.set_properties(key1="x", key3="y").remove_properties("key2").set_properties(key2="z"),
            "Cannot remove and update the same key",
        ),
        (
            lambda update: update.set_properties(key2="z").remove_properties("key2"),
            "Cannot remove and update the same key",
        ),
    ],
    ids=["key", "value", "removed-key", "removed-then-set", "set-then-removed"],
)
def test_update_view_properties_error_cases(
    catalog: HiveViewCatalog, database: str, change: Callable[[ViewUpdate], ViewUpdate], message: str
) -> None:
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database))
    with pytest.raises(InvalidPropertyError, match=message):
        change(view.update()).commit()
    assert catalog.load_view(f"{database}.view") == view


def test_replace_view_version(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    both = version(database, ("trino", QUERY), ("spark", QUERY))
    view = catalog.create_view(identifier, SCHEMA, both, properties=ALLOW_DROP)
    first = view.current_version()
    assert texts(first) == [("trino", QUERY), ("spark", QUERY)]
    trino = version(database, ("trino", QUERY), default_catalog="default")
    view.update().replace_version(trino, OTHER_SCHEMA).commit()

    updated = catalog.load_view(identifier)
    second = updated.current_version()
    assert [entry.version_id for entry in updated.history()] == [first.version_id, second.version_id]
    assert sorted(updated.schemas()) == [0, 1]
    assert updated.versions == [first, second]
    assert (second.version_id, second.schema_id, second.operation) == (first.version_id + 1, 1, "replace")
    assert (second.default_catalog, second.default_namespace) == ("default", (database,))
    assert texts(second) == [("trino", QUERY)]


def test_replace_view_version_by_updating_sql_for_dialect(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    view = catalog.create_view(identifier, SCHEMA, version(database))
    first = view.current_version()
    view.update().replace_version(version(database, ("spark", "select * from ns.updated_tbl")), SCHEMA).commit()
    updated = catalog.load_view(identifier)
    second = updated.current_version()
    assert [entry.version_id for entry in updated.history()] == [first.version_id, second.version_id]
    assert updated.versions == [first, second]
    assert texts(second) == [("spark", "select * from ns.updated_tbl")]
    assert sorted(updated.schemas()) == [0]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(None, "no definition", id="empty"),
        pytest.param(version("ns").model_copy(update={"representations": []}), "no query", id="query"),
        pytest.param(without_namespace(), "no default namespace", id="namespace"),
        pytest.param(version("ns", *TWICE), "Cannot add multiple queries for dialect trino", id="two-of-a-dialect"),
    ],
)
def test_replace_view_version_error_cases(catalog: HiveViewCatalog, database: str, given: object, reason: str) -> None:
    # Java also refuses a replace without a schema; ours then keeps the columns.
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database, ("trino", QUERY)))
    with pytest.raises(InvalidViewError, match=reason):
        view.update().replace_version(given, SCHEMA).commit()  # type: ignore[arg-type]
    assert catalog.load_view(f"{database}.view") == view
    assert files_below(view.location()) == {path(view.metadata_location)}


def test_update_view_properties_conflict(catalog: HiveViewCatalog, database: str) -> None:
    update = view_and_update(catalog, database)[1]
    catalog.drop_view(f"{database}.view")
    with pytest.raises(NoSuchViewError, match=rf"View does not exist: {database}.view"):
        update.set_properties(key1="val1").commit()
    assert not catalog.view_exists(f"{database}.view")


def test_replace_view_version_conflict(catalog: HiveViewCatalog, database: str) -> None:
    update = view_and_update(catalog, database)[1]
    catalog.drop_view(f"{database}.view")
    with pytest.raises(NoSuchViewError, match=rf"View does not exist: {database}.view"):
        update.replace_version(version(database, ("trino", QUERY)), SCHEMA).commit()
    assert not catalog.view_exists(f"{database}.view")


def test_replace_view_conflict(catalog: HiveViewCatalog, database: str) -> None:
    view_and_update(catalog, database)
    catalog.drop_view(f"{database}.view")
    with pytest.raises(NoSuchViewError, match=rf"^View does not exist: {database}.view"):
        catalog.replace_view(f"{database}.view", SCHEMA, version(database, ("trino", QUERY)))


def view_and_update(catalog: HiveViewCatalog, database: str) -> tuple[HiveView, ViewUpdate]:
    view = catalog.create_view(f"{database}.view", SCHEMA, version(database, ("trino", QUERY)))
    return view, view.update()


def test_create_and_replace_view_with_location(catalog: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    identifier = f"{database}.view"
    location, updated = f"file:{tmp_path}/ns/view", f"file:{tmp_path}/updated/ns/view"
    view = catalog.create_view(identifier, SCHEMA, version(database), location=location)
    assert view.location() == location
    replaced = catalog.replace_view(identifier, SCHEMA, version(database), location=updated)
    assert replaced.location() == updated
    assert replaced.metadata_location.startswith(f"{updated}/metadata/00001-")
    assert catalog.load_view(identifier) == replaced
    catalog.drop_view(identifier)
    assert not catalog.view_exists(identifier)


def test_update_view_location(catalog: HiveViewCatalog, database: str, tmp_path: Path) -> None:
    identifier = f"{database}.view"
    location, updated = f"file:{tmp_path}/ns/view", f"file:{tmp_path}/updated/ns/view"
    view = catalog.create_view(identifier, SCHEMA, version(database), location=location)
    assert view.location() == location
    view.update().set_location(updated).commit()
    moved = catalog.load_view(identifier)
    assert moved.location() == updated
    assert moved.history() == view.history()
    assert moved.versions == view.versions


def test_update_view_location_conflict(catalog: HiveViewCatalog, database: str) -> None:
    view, update = view_and_update(catalog, database)
    with pytest.raises(InvalidPropertyError, match="location"):
        view.update().set_location(None).commit()  # type: ignore[arg-type]
    catalog.drop_view(f"{database}.view")
    with pytest.raises(NoSuchViewError, match=rf"View does not exist: {database}.view"):
        update.set_location("file:/new-location").commit()


def test_concurrent_replace_view_version(catalog: HiveViewCatalog, database: str) -> None:
    identifier = f"{database}.view"
    view = catalog.create_view(identifier, SCHEMA, version(database, ("trino", QUERY)), properties=ALLOW_DROP)
    first = view.current_version()
    late = view.update().replace_version(version(database, ("trino", "select count(id) from ns.tbl")), SCHEMA)
    other = version(database, ("spark", "select count(some_id) from ns.tbl"))
    winner = view.update().replace_version(other, OTHER_SCHEMA).commit()
    with pytest.raises(CommitFailedError, match="Cannot commit") as caught:
        late.commit()
    assert (caught.value.identifier, caught.value.expected) == (identifier, view.metadata_location)
    assert caught.value.found == winner.metadata_location
    updated = catalog.load_view(identifier)
    assert updated == winner
    assert updated.versions == [first, winner.current_version()]
    assert [item.version_id for item in updated.versions] == [1, 2]
    assert texts(updated.current_version()) == [("spark", "select count(some_id) from ns.tbl")]
    assert files_below(view.location()) == {path(view.metadata_location), path(winner.metadata_location)}
