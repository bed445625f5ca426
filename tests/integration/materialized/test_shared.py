"""Storage that another name, view or table shares: none of its files is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from hive_views.errors import (
    CommitFailedError,
    DependentsError,
    InvalidViewError,
    MetastoreRefusedError,
    SharedFilesError,
)
from hive_views.identifiers import ViewName
from hive_views.io.locations import path_of
from hive_views.materialized.drop import drop_materialized
from hive_views.materialized.maintenance.garbage_collection import Garbage
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from hive_views.spec.staleness_policy import METADATA
from tests.faults.scripted import EVERY, Answer, ScriptedServer
from tests.integration.materialized.conftest import LAYOUTS, SALES, rows

QUERY = "SELECT id, amount FROM sales WHERE amount > 1"


@pytest.fixture
def stored(views, market, engine):
    """Return a function that creates a materialized view with rows and returns its name."""

    def make(layout: str, name: str = "mv", **more) -> tuple[str, str]:
        views.create((market, name), QUERY, layout=layout, **more)
        views.load((market, name)).refresh(engine)
        return market, name

    return make


def without_uuid(raw, name: tuple[str, str]) -> None:
    """A row as PyIceberg's own catalog writes it."""
    row = raw.get_table(*name)
    del row.parameters["uuid"]
    raw.alter_table_with_environment_context(*name, row, None)


def local(location: str) -> Path:
    return Path(path_of(location))


# -- DROP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_second_name_of_storage_keeps_rows(catalog, views, stored, raw, other_database, layout, caplog):
    name, duplicate = stored(layout), (other_database, "duplicate")
    catalog.register_table(duplicate, views.load(name).storage.metadata_location)
    without_uuid(raw, duplicate)
    views.load(name).drop()
    assert not catalog.view_exists(name) and not catalog.table_exists(name)
    assert not catalog.table_exists((name[0], "mv__storage")), "no other object uses its row"
    assert catalog.load_table(duplicate).scan().to_arrow().num_rows == 3
    assert f"{other_database}.duplicate" in caplog.text
    if layout == "table":
        assert views.load(duplicate).metadata.current_schema().column_names == ["id", "amount"], "its definition, too"


def test_purge_detects_second_name_without_uuid(catalog, market, raw, other_database):
    duplicate = (other_database, "duplicate")
    table = catalog.register_table(duplicate, catalog.load_table((market, "sales")).metadata_location)
    without_uuid(raw, duplicate)
    table = catalog.load_table(duplicate)
    table.append(rows((4, "c", 4)))  # its file now is another one than that of `sales`
    with pytest.raises(SharedFilesError, match=r"\.duplicate"):
        catalog.purge_table((market, "sales"))
    assert catalog.load_table((market, "sales")).scan().to_arrow().num_rows == 3


@pytest.mark.parametrize(("layout", "purge"), [("registered", True), ("registered", False), ("attached", True)])
def test_second_name_of_view_keeps_definition_and_rows(catalog, views, stored, market, layout, purge, caplog):
    name, duplicate = stored(layout), (market, "duplicate")
    catalog.register_view(duplicate, catalog.load_view(name).metadata_location)
    views.load(name).drop(purge=purge)
    assert not catalog.view_exists(name)
    assert (
        views.load(duplicate).reading().from_storage and views.load(duplicate).storage.scan().to_arrow().num_rows == 3
    )
    assert f"{market}.duplicate" in caplog.text
    views.load(duplicate).drop()
    assert catalog.list_views(market) == [] and catalog.list_tables(market) == [(market, "sales"), (market, "shops")]


def test_property_naming_storage_of_other_view(catalog, views, stored, market):
    """Copied by CREATE VIEW … TBLPROPERTIES of any engine."""
    name = stored("attached")
    created = catalog.author((market, "copy"), QUERY, database=market)
    text = catalog.load_view(name).metadata.properties[METADATA]
    catalog.create_view((market, "copy"), created.schema, created.version, properties={METADATA: text})
    views.load((market, "copy")).drop()
    assert views.load(name).storage.scan().to_arrow().num_rows == 3


def test_restrict_detects_view_over_storage(open_catalog, stored, market):
    name = stored("registered")
    strict = open_catalog({"hive-views.dependency-mode": "strict"})
    strict.execute("CREATE VIEW raw_rows AS SELECT * FROM mv__storage", database=market)
    with pytest.raises(DependentsError, match="raw_rows"):
        strict.materialized.load(name).drop()
    assert strict.view_exists(name) and strict.table_exists((market, "mv__storage"))
    report = strict.materialized.load(name).drop(behavior="cascade")
    assert [item.name for item in report.dropped] == ["raw_rows", "mv"]
    assert strict.list_views(market) == [] and not strict.table_exists((market, "mv__storage"))


def test_drop_conflicts_with_view_that_took_name(catalog, views, stored, market):
    name = stored("attached")
    seen = views.load(name)
    catalog.rename_view(name, (market, "moved"))
    stored("attached")
    with pytest.raises(CommitFailedError):
        drop_materialized(catalog.store, catalog, seen, purge=True)
    assert views.load(name).reading().from_storage and views.load((market, "moved")).reading().from_storage


def test_unreadable_storage_keeps_files(catalog, open_catalog, views, stored, market, caplog):
    name = stored("registered")
    storage = views.load(name).storage
    local(storage.metadata_location).unlink()
    open_catalog().materialized.load(name).drop()  # the other one remembers what it read
    assert catalog.list_views(market) == [] and not catalog.table_exists((market, "mv__storage"))
    assert list(local(storage.metadata.location).rglob("*.parquet")) and "are kept" in caplog.text


def test_materialized_view_gets_no_second_storage(catalog, views, stored, market):
    for layout in ("registered", "attached"):
        name = stored(layout, layout)
        with pytest.raises(InvalidViewError):
            views.from_plain_view(name)
        assert views.load(name).reading().from_storage
    assert len(catalog.list_tables(market)) == 3


def test_server_without_filter_keeps_files(catalog, open_catalog, metastore, stored, caplog):
    name = stored("registered")
    table = catalog.load_table((name[0], "mv__storage"))
    with ScriptedServer(metastore.port) as server:
        server.on("get_table_names_by_filter", Answer(MetaException("no filters")), nth=EVERY)
        other = open_catalog({"uri": server.uri})
        with pytest.raises(MetastoreRefusedError, match="no filters"):
            other.purge_table(table.name())
        other.materialized.load(name).drop()
    assert not catalog.view_exists(name) and not catalog.table_exists(table.name())
    assert "could not determine whether other rows reference them" in caplog.text
    assert catalog.register_table(table.name(), table.metadata_location).scan().to_arrow().num_rows == 3


# -- Orphans and old snapshots ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["registered", "attached"])
def test_garbage_collection_keeps_files_of_second_name(catalog, views, stored, engine, raw, market, layout):
    name, duplicate = stored(layout), (market, "duplicate")
    catalog.register_table(duplicate, views.load(name).storage.metadata_location)
    without_uuid(raw, duplicate)
    catalog.load_table(duplicate).append(rows((9, "c", 9)).select(["id", "amount"]))
    views.load(name).refresh(engine, mode="full")
    orphans = views.load(name).remove_orphans(older_than_ms=0)
    assert orphans.files == () and "duplicate" in str(orphans.kept[0])
    with pytest.raises(SharedFilesError, match="duplicate"):
        views.load(name).expire(older_than_ms=0)
    assert catalog.load_table(duplicate).scan().to_arrow().num_rows == 4


@pytest.mark.parametrize("inside", ["", "/data/nested"])
def test_files_of_table_in_same_directory_are_not_orphans(catalog, views, stored, market, inside):
    name = stored("registered")
    location = views.load(name).storage.metadata.location
    other = catalog.create_table((market, "other"), SALES, location=f"{location}{inside}")
    other.append(rows((9, "c", 9)))
    assert views.load(name).remove_orphans(older_than_ms=0).files == ()
    assert catalog.load_table((market, "other")).scan().to_arrow().num_rows == 1


def test_gc_enabled_false_keeps_files(catalog, views, stored, engine, market):
    name = stored("registered", storage_properties={"gc.enabled": "false"})
    left = local(views.load(name).storage.metadata.location) / "data" / "left.parquet"
    left.write_bytes(b"PAR1")
    orphans = views.load(name).remove_orphans(older_than_ms=0)
    assert orphans.files == () and "gc.enabled" in str(orphans.kept[0])
    catalog.drop_view(name, purge_files=True)
    garbage = views.remove_abandoned(market, older_than_ms=0)
    assert (garbage.tables, garbage.files) == ((ViewName(market, "mv__storage"),), ()) and "gc.enabled" in str(
        garbage.kept[0]
    )
    assert left.exists()


# -- Garbage --------------------------------------------------------------------------------------------------------


def test_plain_view_named_like_definition_is_not_garbage(catalog, views, market):
    catalog.execute(f"CREATE VIEW sales__view AS {QUERY}", database=market)
    catalog.execute(f"CREATE VIEW mv__storage AS {QUERY}", database=market)
    for name in ("sales__view", "mv__storage"):
        catalog.drop_view((market, name))
    assert views.abandoned(market, older_than_ms=0) == Garbage()


def test_second_name_of_empty_storage(catalog, views, market):
    views.create((market, "mv"), QUERY)
    location = views.load((market, "mv")).storage.metadata_location
    catalog.register_table((market, "twin__storage"), location)
    views.remove_abandoned(market, older_than_ms=0)
    assert local(location).exists() and views.load((market, "mv")).storage is not None


def test_table_inside_garbage_directory_is_kept(catalog, views, stored, market):
    name = stored("registered")
    location = views.load(name).storage.metadata.location
    for directory in ("data/one", "data/two"):
        catalog.create_table((market, directory[-3:]), SALES, location=f"{location}/{directory}").append(
            rows((9, "c", 9))
        )
    dropped = catalog.load_table((market, "two"))
    catalog.drop_table((market, "two"))
    catalog.drop_view(name)
    garbage = views.remove_abandoned(market, older_than_ms=0)
    assert garbage.tables == (ViewName(market, "mv__storage"),) and garbage.files
    assert catalog.load_table((market, "one")).scan().to_arrow().num_rows == 1
    assert catalog.register_table((market, "two"), dropped.metadata_location).scan().to_arrow().num_rows == 1


class StubbornIO(PyArrowFileIO):
    """A storage that refuses to delete some files."""

    def delete(self, location) -> None:
        if str(getattr(location, "location", location)).endswith((".parquet", "left.avro")):
            raise PermissionError("not yours")
        super().delete(location)


def test_only_deleted_files_are_reported_as_removed(open_catalog, market, stored, views, engine):
    stubborn = open_catalog({"py-io-impl": f"{__name__}.{StubbornIO.__name__}"}).materialized
    name = stored("registered")
    directory = local(views.load(name).storage.metadata.location) / "metadata"
    for file in ("left.avro", "gone.avro"):
        (directory / file).write_bytes(b"Obj")
    removed_orphans = stubborn.load(name).remove_orphans(older_than_ms=0)
    assert [local(file).name for file in removed_orphans.files] == ["gone.avro"]
    assert "left.avro" in str(removed_orphans.kept[0]) and "not yours" in str(removed_orphans.kept[0])
    views.load(name).refresh(engine, mode="full")
    expired = stubborn.load(name).expire(older_than_ms=0)
    assert expired.files > 0 and len(expired.kept) == 1 and expired.kept[0].item.endswith(".parquet")
    engine.catalog.drop_view(name)
    removed_garbage = stubborn.remove_abandoned(market, older_than_ms=0)
    assert removed_garbage.files and not any(file.endswith(".parquet") for file in removed_garbage.files)
    assert {Path(item.item).suffix for item in removed_garbage.kept} == {".parquet", ".avro"}
