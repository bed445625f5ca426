"""Freshness and orphans are determined by UUIDs, not only by names and version numbers, which can be reused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyiceberg.table.statistics import StatisticsFile

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidPropertyError, RefreshError
from hive_views.materialized.freshness.verdict import Cause, Verdict
from hive_views.materialized.layouts.layout import storage_link_of
from hive_views.spec.storage_link import StorageLink, with_link
from hive_views.spec.version_texts import define
from tests.integration.materialized.conftest import LAYOUTS, amounts, rows


def causes(views, name) -> list[Cause]:
    return [reason.cause for reason in views.freshness(name).reasons]


def set_definition(catalog: HiveViewCatalog, name: tuple[str, str], threshold: int) -> None:
    definition = catalog.author(name, f"SELECT id, amount FROM {name[0]}.sales WHERE amount > {threshold}")
    view = catalog.load_view(name)
    version = with_link(definition.version, storage_link_of(view.metadata))
    view.update().replace_version(version, view.schema()).commit()


def test_source_with_reused_version_id_is_stale(catalog, views, engine, market):
    catalog.execute("CREATE VIEW big AS SELECT id, amount FROM sales WHERE amount > 1", database=market)
    set_definition(catalog, (market, "big"), 6)
    for layout in LAYOUTS:
        views.create((market, f"by_{layout}"), "SELECT id, amount FROM big", layout=layout)
        views.load((market, f"by_{layout}")).refresh(engine)
    catalog.load_view((market, "big")).update().rollback(version_id=1).commit()
    catalog.load_view((market, "big")).update().rollback(version_id=2).commit()
    for layout in LAYOUTS:
        assert views.freshness((market, f"by_{layout}")).is_fresh, "rolled back and forward again"
    update = catalog.load_view((market, "big")).update().set_properties({"version.history.num-entries": "1"})
    update.rollback(version_id=1).commit()
    set_definition(catalog, (market, "big"), 15)
    assert catalog.load_view((market, "big")).current_version().version_id == 2, "else this proves nothing"
    for layout in LAYOUTS:
        assert causes(views, (market, f"by_{layout}")) == [Cause.VIEW_CHANGED]


@pytest.mark.parametrize("layout", ["registered", "attached"])
def test_definition_with_reused_version_id_is_stale(catalog, views, engine, market, layout):
    name = (market, "mv")
    views.create(name, "SELECT id, amount FROM sales WHERE amount > 1", layout=layout)
    set_definition(catalog, name, 6)
    views.load(name).refresh(engine)
    assert views.freshness(name).is_fresh
    update = catalog.load_view(name).update().set_properties({"version.history.num-entries": "1"})
    update.rollback(version_id=1).commit()
    set_definition(catalog, name, 15)
    assert catalog.load_view(name).current_version().version_id == 2, "else this proves nothing"
    assert causes(views, name) == [Cause.DEFINITION]
    assert not views.load(name).reading(allow_stale_data=True).from_storage


def test_table_registered_under_two_names(catalog, views, engine, market):
    sales = catalog.load_table((market, "sales"))
    catalog.register_table((market, "duplicate"), sales.metadata_location)
    views.create((market, "mv"), "SELECT id, amount FROM sales UNION ALL SELECT id, amount FROM duplicate")
    views.load((market, "mv")).refresh(engine)
    assert amounts(views, (market, "mv")) == [5, 5, 10, 10, 20, 20]
    assert views.freshness((market, "mv")).is_fresh
    for name in ("sales", "duplicate"):
        catalog.load_table((market, name)).append(rows((9, "a", 9)))
        assert Cause.CHANGED in causes(views, (market, "mv")), name
        assert views.load((market, "mv")).refresh(engine)[-1].action == "full"
        assert views.freshness((market, "mv")).is_fresh
    catalog.rename_table((market, "duplicate"), (market, "moved"))
    assert not views.freshness((market, "mv")).is_fresh, "the UUID does not identify which of the two it is"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_storage_with_changed_columns_is_unknown(catalog, views, engine, market, layout):
    name = (market, "mv")
    views.create(name, "SELECT id, amount FROM sales", layout=layout)
    views.load(name).refresh(engine)
    with views.load(name).storage.update_schema() as update:
        update.rename_column("amount", "total")
    assert causes(views, name) == [Cause.STORAGE] and not views.load(name).reading(allow_stale_data=True).from_storage
    with pytest.raises(RefreshError, match="columns"):
        views.load(name).refresh(engine)
    with views.load(name).storage.update_schema() as update:
        update.rename_column("total", "amount")
    assert views.freshness(name).is_fresh
    with views.load(name).storage.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("amount")
    with views.load(name).storage.update_schema() as update:
        update.add_column("amount", views.load(name).metadata.current_schema().find_type("amount"))
    assert views.freshness(name).verdict is Verdict.UNKNOWN, "its rows have lost the column"
    views.load(name).refresh(engine)
    assert amounts(views, name) == [5, 10, 20] and views.freshness(name).is_fresh


def test_orphans_exclude_files_of_other_tables(catalog, views, engine, market):
    name = (market, "mv")
    views.create(name, "SELECT id, amount FROM sales", layout="attached")
    views.load(name).refresh(engine)
    for other in ("mv__refresh_log", f"mv__refresh_{'0' * 32}"):
        catalog.create_table((market, other), catalog.load_table((market, "sales")).schema())
    storage = views.load(name).storage
    statistics_path = f"{storage.metadata.location}/metadata/stats.puffin"
    with storage.io.new_output(statistics_path).create() as file:
        file.write(b"PFA1")
    snapshot = storage.metadata.current_snapshot_id
    statistics = StatisticsFile.model_validate(
        {
            "snapshot-id": snapshot,
            "statistics-path": statistics_path,
            "file-size-in-bytes": 4,
            "file-footer-size-in-bytes": 4,
            "blob-metadata": [],
        }
    )
    with storage.update_statistics() as update:
        update.set_statistics(statistics)
    left = views.load(name).remove_orphans(older_than_ms=0)
    assert (left.snapshots, left.rows) == ((), ()) and statistics_path not in left.files
    assert storage.io.new_input(statistics_path).exists()
    assert catalog.table_exists((market, "mv__refresh_log"))
    assert catalog.table_exists((market, f"mv__refresh_{'0' * 32}"))


def test_removed_repeatable_property_takes_effect(catalog, views, engine, market):
    name = (market, "mv")
    views.create(name, "SELECT id, current_date AS day FROM sales", properties={"hive-views.repeatable": "true"})
    views.load(name).refresh(engine)
    assert views.freshness(name).is_fresh
    catalog.load_view(name).update().remove_properties("hive-views.repeatable").commit()
    assert causes(views, name) == [Cause.UNREPEATABLE]


def test_snapshots_without_sequence_numbers_are_not_distinguished(views, market):
    with pytest.raises(InvalidPropertyError):
        views.create(
            (market, "mv"), "SELECT id FROM sales", layout="attached", storage_properties={"format-version": "1"}
        )


def test_storage_in_other_catalog_is_not_read(catalog, views, engine, market):
    name = (market, "mv")
    views.create(name, "SELECT id, amount FROM sales")
    views.load(name).refresh(engine)
    view = catalog.load_view(name)
    version = with_link(view.current_version(), StorageLink((market,), "mv__storage", "other"))
    view.update().replace_version(version, view.schema()).commit()
    assert causes(views, name) == [Cause.STORAGE] and "other" in str(views.freshness(name))
    views.load(name).drop()
    assert catalog.table_exists((market, "mv__storage"))


@pytest.mark.parametrize(
    ("text", "catalog_name"),
    [
        ("SELECT id, amount FROM other.{0}.sales", None),
        ("SELECT id, amount FROM {0}.sales", "other"),
        ("SELECT id, amount FROM prod.{0}.sales.branch_audit", None),
        ("SELECT id, amount FROM {0}.sales VERSION AS OF 'audit'", None),
    ],
)
def test_view_of_other_writer_over_unreadable_source(catalog, views, engine, market, text, catalog_name):
    name = (market, "theirs")
    definition = catalog.author(name, f"SELECT id, amount FROM {market}.sales")
    version = define(text.format(market), dialect="spark", default_namespace=(market,), default_catalog=catalog_name)
    catalog.create_view(name, definition.schema, version)
    views.create((market, "mv"), "SELECT id, amount FROM theirs")
    with pytest.raises(RefreshError):
        views.load((market, "mv")).refresh(engine)
    assert not views.freshness((market, "mv")).is_fresh


def test_rows_are_not_reused_between_freshness_checks(catalog, open_catalog, views, engine, market):
    """Another catalog makes each change after this one has read all rows."""
    other = open_catalog()
    name = (market, "mv")
    for text in ("CREATE VIEW big AS SELECT id, shop FROM sales", "CREATE VIEW over AS SELECT id, shop FROM big"):
        other.execute(text, database=market)
    views.create(name, "SELECT o.id, h.city FROM over o JOIN shops h ON o.shop = h.shop")

    def seen(change) -> set[Cause]:
        views.load(name).refresh(engine)
        assert views.freshness(name).is_fresh and views.freshness(name).is_fresh
        change()
        return set(causes(views, name))

    assert seen(lambda: other.load_table((market, "sales")).append(rows((9, "a", 9)))) == {Cause.CHANGED}
    other.create_table((market, "aside"), other.load_table((market, "sales")).schema())
    text = "CREATE OR REPLACE VIEW big AS SELECT id, shop FROM aside"
    assert seen(lambda: other.execute(text, database=market)) >= {Cause.VIEW_CHANGED, Cause.ADDED}
    assert seen(lambda: other.load_table((market, "aside")).append(rows((7, "a", 9)))) == {Cause.CHANGED}
    other.load_table((market, "sales")).append(rows((8, "a", 9)))
    assert views.freshness(name).verdict is Verdict.STALE, "aside has changed, and sales is read no more"
    assert seen(lambda: other.load_table((market, "sales")).append(rows((6, "a", 9)))) == set()
    storage = (market, "mv__storage")
    assert seen(lambda: other.load_table(storage).append(other.load_table(storage).scan().to_arrow())) == {
        Cause.NO_STATE
    }
    assert seen(lambda: other.drop_table((market, "aside"))) == {Cause.GONE}


def test_dropped_database_of_source(catalog, views, engine, market, raw):
    other = f"{market}_other"
    catalog.create_namespace(other)
    for name in ("one", "two"):
        catalog.create_table((other, name), catalog.load_table((market, "sales")).schema())
    views.create((market, "mv"), f"SELECT id FROM {other}.one UNION ALL SELECT id FROM {other}.two")
    views.load((market, "mv")).refresh(engine)
    assert views.freshness((market, "mv")).is_fresh
    raw.drop_database(other, True, True)
    assert set(causes(views, (market, "mv"))) == {Cause.GONE}
    assert not views.load((market, "mv")).reading().from_storage


def test_staging_row_without_metadata_file_is_orphan(catalog, views, engine, market):
    """A refresh was killed after removing the metadata file and before removing the staging row."""
    name = (market, "mv")
    views.create(name, "SELECT id, amount FROM sales", layout="attached")
    views.load(name).refresh(engine)
    row = (market, f"mv__refresh_{'a' * 32}")
    metadata_location = views.load(name).storage.metadata_location.replace("metadata/0", "metadata/9")
    shutil.copy(
        views.load(name).storage.metadata_location.removeprefix("file:"), metadata_location.removeprefix("file:")
    )
    catalog.register_table(row, metadata_location)
    Path(metadata_location.removeprefix("file:")).unlink()
    assert [orphan.identifier for orphan in views.load(name).orphans(older_than_ms=0).rows] == [row]
    views.load(name).remove_orphans(older_than_ms=0)
    assert views.load(name).orphans(older_than_ms=0).rows == () and views.freshness(name).is_fresh
