"""Databases through PyIceberg's namespace methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from pyiceberg import exceptions as iceberg

from hive_views import HiveViewCatalog
from hive_views.errors import (
    HiveViewsError,
    InvalidIdentifierError,
    InvalidPropertyError,
    MetastoreRefusedError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
)
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.integration.catalog.samples import SCHEMA, files_below, hive_row, path, version


@pytest.fixture
def name(raw: Client) -> Iterator[str]:
    """A name for a database that the test makes."""
    chosen = f"made_{uuid4().hex[:12]}"
    yield chosen
    if chosen in raw.get_all_databases():
        raw.drop_database(chosen, True, True)


def test_create_load_and_drop_namespace(catalog: HiveViewCatalog, name: str, raw: Client) -> None:
    assert not catalog.namespace_exists(name)
    catalog.create_namespace(name, {"comment": "größe", "p": "1"})
    assert catalog.namespace_exists(name)
    assert (name,) in catalog.list_namespaces()
    database = raw.get_database(name)
    assert (database.description, database.parameters) == ("größe", {"p": "1"})
    properties = catalog.load_namespace_properties(name)
    assert properties == {"comment": "größe", "p": "1", "location": database.locationUri}
    catalog.drop_namespace(name)
    assert not catalog.namespace_exists(name)
    assert (name,) not in catalog.list_namespaces()


def test_database_location_is_parent_of_views(catalog: HiveViewCatalog, name: str, own_directory: str) -> None:
    catalog.create_namespace(name, {"location": f"{own_directory}/here"})
    assert catalog.load_namespace_properties(name)["location"] == f"{own_directory}/here"
    view = catalog.create_view(f"{name}.v", SCHEMA, version(name))
    assert view.location() == f"{own_directory}/here/v"
    assert files_below(own_directory) == {path(view.metadata_location)}


def test_properties_change(catalog: HiveViewCatalog, name: str) -> None:
    catalog.create_namespace(name, {"p": "1", "q": "2"})
    summary = catalog.update_namespace_properties(name, removals={"p", "missing"}, updates={"q": "3", "r": "4"})
    assert (sorted(summary.removed), sorted(summary.updated)) == (["p"], ["q", "r"])
    assert summary.missing == ["missing"]
    properties = catalog.load_namespace_properties(name)
    assert {key: properties.get(key) for key in "pqr"} == {"p": None, "q": "3", "r": "4"}
    with pytest.raises(ValueError, match="q"):
        catalog.update_namespace_properties(name, removals={"q"}, updates={"q": "5"})


def test_names_are_read_as_those_of_views(catalog: HiveViewCatalog, name: str) -> None:
    """With or without the catalog's name in front, in any case."""
    catalog.create_namespace(("prod", name.upper()))
    for spelling in (name, name.upper(), f"prod.{name}", (name,), ("prod", name)):
        assert catalog.namespace_exists(spelling)
        assert "location" in catalog.load_namespace_properties(spelling)
        assert catalog.list_views(spelling) == catalog.list_tables(spelling) == []
    catalog.update_namespace_properties(f"prod.{name}", updates={"a": "b"})
    assert catalog.load_namespace_properties(name)["a"] == "b"
    catalog.drop_namespace(f"prod.{name.upper()}")
    assert not catalog.namespace_exists(name)


def test_existing_namespace_raises(catalog: HiveViewCatalog, database: str) -> None:
    with pytest.raises(NamespaceAlreadyExistsError, match=database) as caught:
        catalog.create_namespace(database)
    assert caught.value.namespace == database
    assert isinstance(caught.value, iceberg.NamespaceAlreadyExistsError)
    catalog.create_namespace_if_not_exists(database)


@pytest.mark.parametrize(
    "use",
    [
        lambda catalog: catalog.load_namespace_properties("nope"),
        lambda catalog: catalog.update_namespace_properties("nope", updates={"a": "b"}),
        lambda catalog: catalog.drop_namespace("nope"),
        lambda catalog: catalog.list_views("nope"),
        lambda catalog: catalog.list_tables("nope"),
        lambda catalog: catalog.create_view("nope.v", SCHEMA, version("nope")),
        lambda catalog: catalog.create_view("nope.v", SCHEMA, version("nope"), location="file:/nowhere_at/all"),
        lambda catalog: catalog.create_table("nope.t", SCHEMA),
    ],
)
def test_missing_namespace_raises(catalog: HiveViewCatalog, use: Callable[[HiveViewCatalog], object]) -> None:
    with pytest.raises(NoSuchNamespaceError, match="Namespace does not exist: nope") as caught:
        use(catalog)
    assert caught.value.namespace == "nope"
    assert isinstance(caught.value, iceberg.NoSuchNamespaceError)
    assert not path("file:/nowhere_at").exists()


@pytest.mark.parametrize("kind", ["VIRTUAL_VIEW", "MANAGED_TABLE"])
def test_drop_non_empty_namespace_raises(catalog: HiveViewCatalog, database: str, raw: Client, kind: str) -> None:
    raw.create_table(hive_row(database, "x", kind))
    with pytest.raises(NamespaceNotEmptyError, match=f"{database}.*Drop its tables and views first") as caught:
        catalog.drop_namespace(database)
    assert caught.value.namespace == database
    assert isinstance(caught.value, iceberg.NamespaceNotEmptyError)


@pytest.mark.parametrize("namespace", ["", (), "a.b", ("a", "b", "c"), "prod."])
def test_invalid_identifier_is_rejected(catalog: HiveViewCatalog, namespace: str | tuple[str, ...]) -> None:
    assert not catalog.namespace_exists(namespace)
    uses: list[Callable[..., object]] = [
        catalog.create_namespace,
        catalog.load_namespace_properties,
        catalog.drop_namespace,
        catalog.list_tables,
        catalog.list_views,
    ]
    for use in uses:
        with pytest.raises(InvalidIdentifierError):
            use(namespace)


@pytest.mark.parametrize("namespace", ["größe", "a%b", "a/b", "a`b", "x" * 257])
def test_name_with_unsupported_characters_is_rejected(catalog: HiveViewCatalog, namespace: str) -> None:
    assert not catalog.namespace_exists(namespace)
    with pytest.raises(InvalidIdentifierError):
        catalog.create_namespace(namespace)


@pytest.mark.parametrize("given", [{"p": None}, {"": "x"}, {"p": 1}])
def test_properties_that_cannot_be_stored(catalog: HiveViewCatalog, name: str, given: dict[str, str]) -> None:
    with pytest.raises(InvalidPropertyError):
        catalog.create_namespace(name, given)
    assert not catalog.namespace_exists(name)


def test_namespaces_are_not_nested(catalog: HiveViewCatalog, database: str) -> None:
    assert catalog.list_namespaces(database) == []


def test_operations_raise_only_package_errors(catalog: HiveViewCatalog) -> None:
    with pytest.raises(HiveViewsError):
        catalog.drop_namespace("nope")


@pytest.mark.hive2
@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"updates": {"location": "file:/elsewhere", "p": "2"}}, "location"),
        ({"updates": {"comment": "another", "p": "2"}}, "comment"),
        ({"removals": {"comment"}, "updates": {"p": "2"}}, "comment"),
    ],
)
def test_hive_2_rejects_change(catalog: HiveViewCatalog, name: str, change: dict[str, Any], key: str) -> None:
    """Hive 2 replies with success, but ignores the change."""
    catalog.create_namespace(name, {"comment": "one", "p": "1"})
    before = catalog.load_namespace_properties(name)
    with pytest.raises(MetastoreRefusedError, match=f"cannot change the {key} of a database"):
        catalog.update_namespace_properties(name, **change)
    assert catalog.load_namespace_properties(name) == {**before, "p": "2"}


def test_location_cannot_be_removed(catalog: HiveViewCatalog, name: str) -> None:
    catalog.create_namespace(name)
    with pytest.raises(InvalidPropertyError, match="always has a location"):
        catalog.update_namespace_properties(name, removals={"location"})
