"""An object that was loaded before another program changed the view: no newer state is lost or read wrongly."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hive_views.errors import CommitFailedError, NoSuchViewError, NotMaterializedError, StaleRowsError
from hive_views.materialized import MaterializedViews
from tests.integration.materialized.conftest import LAYOUTS
from tests.integration.materialized.duck_engine import DuckEngine

ALL = "SELECT id, amount FROM sales"
FEW = "SELECT id, amount FROM sales WHERE amount > 5"

pytestmark = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.fixture
def name(views: MaterializedViews, market: str, engine: DuckEngine, layout: str) -> tuple[str, str]:
    """A refreshed view with three rows."""
    views.create((market, "mv"), ALL, layout=layout, database=market)
    views.load((market, "mv")).refresh(engine)
    return market, "mv"


def count(table: pa.Table) -> int:
    return int(table.num_rows)


def test_garbage_collection_keeps_the_files_of_a_later_refresh(views, catalog, engine, name):
    loaded = views.load(name)
    sales = catalog.load_table((name[0], "sales"))
    sales.append(sales.scan(limit=1).to_arrow())
    views.load(name).refresh(engine)
    loaded.refresh(engine, mode="full")
    assert loaded.orphans(older_than_ms=0).files == ()
    assert loaded.remove_orphans(older_than_ms=0).files == ()
    assert count(loaded.scan().to_arrow()) == count(views.load(name).scan().to_arrow()) == 4


def test_other_view_of_the_name_is_not_changed(views, catalog, engine, name, layout):
    loaded = views.load(name)
    views.load(name).drop()
    with pytest.raises(NoSuchViewError):
        loaded.remove_orphans()
    views.create(name, FEW, layout=layout, database=name[0])
    before = views.load(name)
    changes = [
        lambda: loaded.replace("SELECT 1 AS x"),
        lambda: loaded.set_properties({"comment": "other"}),
        lambda: loaded.set_properties({"write.parquet.row-group-limit": "7"}),
        lambda: loaded.drop(),
        lambda: loaded.remove_orphans(),
        lambda: loaded.scan(),
        *([] if layout == "table" else [lambda: loaded.to_plain_view()]),
    ]
    for change in changes:
        with pytest.raises(CommitFailedError):
            change()
    after = views.load(name)
    assert (after.metadata, after.row.metadata_location) == (before.metadata, before.row.metadata_location)


def test_second_author_fails(views, name):
    first, second = views.load(name), views.load(name)
    assert second.replace(FEW, database=name[0])
    with pytest.raises(CommitFailedError):
        first.replace("SELECT id, 0 AS amount FROM sales", database=name[0])
    assert "> 5" in views.load(name).metadata.current_version().representations[0].root.sql
    assert first.set_properties({"comment": "both"})


def test_rows_of_an_earlier_definition_are_not_read(views, engine, name):
    loaded = views.load(name)
    views.load(name).replace(FEW, database=name[0])
    assert not loaded.reading().from_storage
    with pytest.raises(StaleRowsError):
        loaded.scan()
    views.load(name).refresh(engine)
    assert count(loaded.scan().to_arrow()) == 2


def test_plain_view_is_not_changed(views, catalog, name, layout):
    if layout == "table":
        pytest.skip("a table with a view attached cannot become a plain view")
    loaded = views.load(name)
    views.load(name).to_plain_view()
    for change in (
        lambda: loaded.to_plain_view(),
        lambda: loaded.replace(FEW, database=name[0]),
        lambda: loaded.set_properties({"comment": "other"}),
        lambda: loaded.remove_orphans(),
    ):
        with pytest.raises((NotMaterializedError, NoSuchViewError, CommitFailedError)):
            change()
    assert "> 5" not in catalog.load_view(name).original_text
