"""Copies of a materialized view in other layouts: which may answer, by freshness, and which is best."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import NotMaterializedError, TableAlreadyExistsError, ViewAlreadyExistsError
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.duck_engine import DuckEngine


@pytest.fixture
def copied(catalog: HiveViewCatalog, database: str) -> str:
    """The database with `mv` over `sales`, and its copies by shop and by id."""
    catalog.create_table((database, "sales"), SALES).append(rows((1, "a", 10), (2, "b", 20), (3, None, 5)))
    views, engine = catalog.materialized, DuckEngine(catalog)
    views.create((database, "mv"), "SELECT id, shop, amount FROM sales")
    views.create((database, "by_shop"), "SELECT * FROM mv", partitioned_by=("shop",))
    views.create((database, "by_id"), "SELECT id, shop, amount FROM mv AS m", partitioned_by=("id",))
    for name in ("mv", "by_shop", "by_id"):
        views.load((database, name)).refresh(engine)
    views.load((database, "mv")).set_properties({"hive-views.copies": f"by_shop, {database}.BY_ID, gone, sales"})
    return database


def test_create_copy(catalog, copied):
    views, engine = catalog.materialized, DuckEngine(catalog)
    made = views.create_copy((copied, "mv"), "by_amount", partitioned_by=("amount",))
    assert made.properties["hive-views.read-stored-rows"] == "true"
    view = views.load((copied, "mv"))
    assert view.properties["hive-views.copies"] == f"by_shop, {copied}.BY_ID, gone, sales, by_amount"
    assert best(catalog, copied, "amount") == "mv"  # it has no rows
    views.load((copied, "by_amount")).refresh(engine)
    assert best(catalog, copied, "amount") == "by_amount"
    assert best(catalog, copied, "shop") == "by_shop"


def test_create_copy_in_another_database(catalog, copied, other_database):
    views, engine = catalog.materialized, DuckEngine(catalog)
    views.load((copied, "mv")).set_properties(removals=["hive-views.copies"])
    views.create_copy(f"{copied}.mv", f"{other_database}.by_amount", sorted_by=("amount DESC",))
    assert views.load((copied, "mv")).properties["hive-views.copies"] == f"{other_database}.by_amount"
    views.load((other_database, "by_amount")).refresh(engine)
    assert best(catalog, copied, "amount") == "by_amount"
    catalog.materialized.load((other_database, "by_amount")).drop()


def test_create_copy_again_after_a_drop(catalog, copied):
    views = catalog.materialized
    views.load((copied, "by_shop")).drop()
    views.create_copy((copied, "mv"), "by_shop", partitioned_by=("shop",))
    assert views.load((copied, "mv")).properties["hive-views.copies"] == f"by_shop, {copied}.BY_ID, gone, sales"


@pytest.mark.parametrize("name", ["mv", "sales", "by_shop"])
def test_create_copy_with_a_taken_name(catalog, copied, name):
    before = catalog.materialized.load((copied, "mv")).properties
    with pytest.raises((ViewAlreadyExistsError, TableAlreadyExistsError)):
        catalog.materialized.create_copy((copied, "mv"), name)
    assert catalog.materialized.load((copied, "mv")).properties == before


def test_create_copy_of_a_table_is_rejected(catalog, copied):
    catalog.materialized.create((copied, "rows"), "SELECT id FROM sales", layout="table")
    with pytest.raises(NotMaterializedError, match="has no copies"):
        catalog.materialized.create_copy((copied, "rows"), "other")


def test_concurrent_copies_are_all_recorded(catalog, copied):
    names = [f"copy_{number}" for number in range(4)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: catalog.materialized.create_copy((copied, "mv"), name), names))
    recorded = catalog.materialized.load((copied, "mv")).properties["hive-views.copies"]
    assert set(names) <= {name.strip() for name in recorded.split(",")}


def best(catalog: HiveViewCatalog, database: str, *columns: str) -> str:
    """The storage that a query with filters on some columns reads."""
    reading = catalog.materialized.readings((database, "mv"), columns)[0]
    if not reading.from_storage:
        return "definition"
    return "mv" if reading.copy is None else reading.copy.name


@pytest.mark.parametrize(
    ("columns", "storage"),
    [((), "mv"), (("amount",), "mv"), (("shop",), "by_shop"), (("ID",), "by_id"), (("amount", "id"), "by_id")],
)
def test_filtered_columns_choose_the_storage(catalog, copied, columns, storage):
    assert best(catalog, copied, *columns) == storage


def test_only_fresh_copies_are_read(catalog, copied):
    views, engine = catalog.materialized, DuckEngine(catalog)
    catalog.load_table((copied, "sales")).append(rows((4, "c", 1)))
    assert best(catalog, copied, "shop") == "definition"
    views.load((copied, "mv")).refresh(engine)
    assert best(catalog, copied, "shop") == "mv"
    views.load((copied, "by_shop")).refresh(engine)
    assert best(catalog, copied, "shop") == "by_shop" and best(catalog, copied, "id") == "mv"
    views.load((copied, "mv")).replace("SELECT id, upper(shop) AS shop, amount FROM sales")
    assert best(catalog, copied, "shop") == "definition"
    views.load((copied, "mv")).refresh(engine)
    assert best(catalog, copied, "shop") == "mv"


@pytest.mark.parametrize(("layout", "storage"), [("attached", "copy"), ("table", "mv")])
def test_layouts_with_copies(catalog, database, layout, storage):
    """In the layout `table`, the name of the view means its stored rows to other programs."""
    catalog.create_table((database, "sales"), SALES).append(rows((1, "a", 10)))
    views, engine = catalog.materialized, DuckEngine(catalog)
    views.create((database, "mv"), "SELECT id, shop FROM sales", layout=layout)
    views.create((database, "copy"), "SELECT * FROM mv", partitioned_by=("shop",))
    views.load((database, "mv")).refresh(engine)
    views.load((database, "copy")).refresh(engine)
    views.load((database, "mv")).set_properties({"hive-views.copies": "copy"})
    assert best(catalog, database, "shop") == storage
    catalog.load_table((database, "sales")).append(rows((2, "b", 1)))
    assert best(catalog, database, "shop") == "definition"


def test_copies_of_another_view_are_not_read(catalog, copied):
    """A view that took the name of the one that was copied."""
    views, engine = catalog.materialized, DuckEngine(catalog)
    catalog.rename_view((copied, "mv"), (copied, "old"))
    views.create((copied, "mv"), "SELECT id, shop, -amount AS amount FROM sales")
    views.load((copied, "mv")).set_properties({"hive-views.copies": "by_shop"})
    views.load((copied, "mv")).refresh(engine)
    assert best(catalog, copied, "shop") == "mv"


def test_dropped_and_changed_copies_are_ignored(catalog, copied):
    views = catalog.materialized
    views.load((copied, "by_shop")).drop()
    assert best(catalog, copied, "shop") == "mv"
    views.load((copied, "by_id")).replace("SELECT * FROM mv WHERE id = 1")
    assert best(catalog, copied, "id") == "mv"
