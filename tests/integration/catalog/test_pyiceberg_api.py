"""The catalog implements PyIceberg's API."""

from __future__ import annotations

import inspect
from uuid import UUID

import pytest
from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.schema import Schema
from pyiceberg.view import View
from pyiceberg.view import metadata as pyiceberg_metadata

import hive_views
from hive_views import HiveView, HiveViewCatalog, ViewUpdate, define
from hive_views import errors as ours
from hive_views.errors import InvalidPropertyError, MetastoreUnavailableError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.integration.catalog.samples import OTHER_SCHEMA, QUERY, SCHEMA, version


def test_pyiceberg_load_catalog(properties: dict[str, str], database: str) -> None:
    catalog = load_catalog("prod", **{"py-catalog-impl": "hive_views.catalog.HiveViewCatalog", **properties})
    assert isinstance(catalog, HiveViewCatalog)
    assert isinstance(catalog, HiveCatalog)
    assert isinstance(catalog, Catalog)
    assert catalog.name == "prod"
    assert catalog.properties["uri"] == properties["uri"]
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    assert isinstance(view, View)
    catalog.close()


def test_catalog_implements_all_abstract_methods() -> None:
    assert not inspect.isabstract(HiveViewCatalog)
    for name, method in inspect.getmembers(Catalog, inspect.isfunction):
        if getattr(method, "__isabstractmethod__", False):
            assert "NotImplementedError" not in inspect.getsource(getattr(HiveViewCatalog, name)), name


@pytest.mark.parametrize("owner", [Catalog, View], ids=["catalog", "view"])
def test_signatures_accept_pyiceberg_arguments(owner: type) -> None:
    """Same names, same order, same defaults; ours may take more, by keyword."""
    implementation = {Catalog: HiveViewCatalog, View: HiveView}[owner]
    for name, method in inspect.getmembers(owner, inspect.isfunction):
        if name.startswith("_"):
            continue
        theirs = list(inspect.signature(method).parameters.values())
        mine = list(inspect.signature(getattr(implementation, name)).parameters.values())
        assert [(item.name, item.default) for item in mine[: len(theirs)]] == [
            (item.name, item.default) for item in theirs
        ], name
        for extra in mine[len(theirs) :]:
            assert extra.kind is inspect.Parameter.KEYWORD_ONLY or extra.default is not inspect.Parameter.empty, name


def test_view_is_instance_of_pyiceberg_view(catalog: HiveViewCatalog, database: str) -> None:
    view = catalog.create_view((database, "v"), SCHEMA, version(database), properties={"a": "b"})
    view = view.update().replace_version(version(database, ("spark", "select 2")), OTHER_SCHEMA).commit()
    theirs = View(view.name(), view.metadata.to_pyiceberg())
    assert view.name() == theirs.name() == (database, "v")
    assert view.schema() == theirs.schema()
    assert view.schemas() == theirs.schemas()
    assert view.history() == view.metadata.version_log
    assert [dict(entry) for entry in view.history()] == [dict(entry) for entry in theirs.history()]
    assert view.properties == theirs.properties == {"a": "b"}
    assert view.location() == theirs.location()
    assert view.uuid() == theirs.uuid()
    assert isinstance(view.uuid(), UUID)
    assert [item.version_id for item in view.versions] == [item.version_id for item in theirs.versions] == [1, 2]
    assert view.version(7) is theirs.version(7) is None
    for dialect in ("spark", "SPARK", "trino"):
        mine, their = view.sql_for(dialect), theirs.sql_for(dialect)
        assert (mine and mine.sql) == (their and their.sql)
    assert isinstance(view.current_version(), pyiceberg_metadata.ViewVersion)
    assert isinstance(view.history()[0], pyiceberg_metadata.ViewHistoryEntry)
    assert isinstance(view.sql_for("spark"), pyiceberg_metadata.SQLViewRepresentation)
    assert isinstance(view.schema(), Schema)
    # Its generic code works on ours: these are PyIceberg's own functions.
    assert View.schema(view) == view.schema()
    assert View.current_version(view) == view.current_version()
    assert View.uuid(view) == view.uuid()


def test_attributes_beyond_pyiceberg(catalog: HiveViewCatalog, database: str) -> None:
    definition = define(QUERY, dialect="spark", default_namespace=(database,), expanded="select 1 as `id`")
    view = catalog.create_view(f"{database}.v", SCHEMA, definition)
    assert view.dialects == ("spark", "hive")
    assert (view.original_text, view.expanded_text) == (QUERY, "select 1 as `id`")
    assert view.previous_metadata_location is None
    assert view.parameters["metadata_location"] == view.metadata_location
    assert view.parameters["table_type"] == "ICEBERG-VIEW"
    assert view.drift == ()
    loaded = catalog.load_view(f"{database}.v")
    assert loaded.create_time >= view.history()[0].timestamp_ms // 1000 - 1
    assert loaded.owner == view.owner
    parameters = loaded.parameters
    parameters["mine"] = "x"
    assert "mine" not in loaded.parameters
    assert repr(loaded) == f"HiveView({database}.v, version 1)"


def test_views_are_compared_by_metadata(catalog: HiveViewCatalog, database: str) -> None:
    one = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    assert one == catalog.load_view(f"{database}.v")
    assert one != one.update().set_properties(a="b").commit()
    assert one != catalog.create_view(f"{database}.w", SCHEMA, version(database))
    assert one != "a view"
    with pytest.raises(TypeError):
        hash(one)


def test_errors_are_instances_of_pyiceberg_errors() -> None:
    """Code that catches `pyiceberg.exceptions` goes on working."""
    same = {name for name in vars(ours) if isinstance(getattr(iceberg, name, None), type)}
    assert {"NoSuchViewError", "ViewAlreadyExistsError", "NoSuchNamespaceError", "NoSuchTableError"} <= same
    for name in same:
        assert issubclass(getattr(ours, name), getattr(iceberg, name))
        assert issubclass(getattr(ours, name), ours.HiveViewsError)


def test_public_names_are_exported() -> None:
    for name in hive_views.__all__:
        assert name == "__version__" or getattr(hive_views, name).__name__ == name
    assert {"HiveViewCatalog", "HiveView", "ViewUpdate", "EmbeddedMetastore", "define"} <= set(hive_views.__all__)
    assert hive_views.ViewUpdate is ViewUpdate
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        hive_views.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({}, "uri"),
        ({"uri": "ftp://h:1"}, "uri"),
        ({"uri": "thrift://h:9083", "hive-views.call-timeout-ms": "soon"}, "hive-views.call-timeout-ms"),
        ({"uri": "thrift://h:9083", "iceberg.engine.hive.lock-enabled": "maybe"}, "iceberg.engine.hive.lock-enabled"),
    ],
)
def test_invalid_property_is_rejected_before_commit(given: dict[str, str], key: str) -> None:
    with pytest.raises(InvalidPropertyError) as caught:
        HiveViewCatalog("prod", **given)
    assert caught.value.key == key


def test_constructor_does_not_connect() -> None:
    catalog = HiveViewCatalog("prod", uri="thrift://127.0.0.1:1", warehouse="file:/nowhere")
    assert repr(catalog) == "HiveViewCatalog('prod', thrift://127.0.0.1:1)"
    with pytest.raises(MetastoreUnavailableError) as caught:
        catalog.list_views("default")
    assert caught.value.uri is None or "127.0.0.1:1" in caught.value.uri
    assert "127.0.0.1:1" in str(caught.value)


def test_fail_over(metastore: EmbeddedMetastore, database: str) -> None:
    """PyIceberg's own catalog accepts a list of metastores and connects to the first only."""
    with HiveViewCatalog("prod", uri=f"thrift://127.0.0.1:1,{metastore.uri}") as catalog:
        assert catalog.list_views(database) == []


def test_closed_catalog_raises(metastore: EmbeddedMetastore, database: str) -> None:
    with HiveViewCatalog("prod", uri=metastore.uri) as catalog:
        catalog.list_views(database)
    with pytest.raises(MetastoreUnavailableError, match="closed"):
        catalog.list_views(database)
    catalog.close()
