"""A drop with RESTRICT and the definition of a view over the same object: one of the two is rejected."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from hive_views.errors import DependentsError, SourceDroppedError
from hive_views.spec import version_texts
from tests.faults.observer import until
from tests.integration.dependencies.test_graph import COLUMNS


@pytest.fixture(params=["table", "view"])
def drop(request, catalog, database):
    """Drops `orders` with RESTRICT; it is an Iceberg table, or a view over one."""
    catalog.create_table(f"{database}.{'base' if request.param == 'view' else 'orders'}", COLUMNS)
    if request.param == "table":
        return lambda to: to.drop_table(f"{database}.orders", behavior="restrict")
    catalog.execute("CREATE VIEW orders AS SELECT id, total FROM base", database=database)
    return lambda to: to.drop_view(f"{database}.orders", behavior="restrict")


@pytest.fixture(params=["CREATE VIEW", "CREATE OR REPLACE VIEW"])
def define(request, catalog, database):
    """Creates or replaces the view `top` over `orders`."""
    if request.param != "CREATE VIEW":
        catalog.execute("CREATE VIEW top AS SELECT 1 AS id", database=database)
    return lambda to: to.execute(f"{request.param} top AS SELECT id FROM orders", database=database)


def test_definition_is_rejected_if_source_is_dropped_before_its_lock(
    catalog, open_catalog, proxy, database, drop, define
):
    existed = catalog.view_exists(f"{database}.top")
    with proxy.in_flight("lock", define, open_catalog({"uri": proxy.uri})) as defining:
        drop(catalog)
    error = defining.exception()
    assert isinstance(error, SourceDroppedError)
    assert error.sources == (f"{database}.orders",)
    assert catalog.view_exists(f"{database}.top") == existed
    assert catalog.dependencies.graph(database).broken() == ()


def test_restrict_waits_for_definition_and_is_rejected(catalog, open_catalog, proxy, database, drop, define):
    is_new = not catalog.view_exists(f"{database}.top")
    method = "create_table" if is_new else "alter_table_with_environment_context"
    with ThreadPoolExecutor(1) as pool:
        with proxy.in_flight(method, define, open_catalog({"uri": proxy.uri})) as defining:
            dropping = pool.submit(drop, catalog)
            until(lambda: len(catalog.store.client.show_locks(database, "orders")) > 1)
        defining.result()
        error = dropping.exception()
    assert isinstance(error, DependentsError)
    assert error.dependents == (f"{database}.top",)
    assert catalog.dependencies.graph(database).broken() == ()


@pytest.mark.parametrize("mode", ["lenient", "strict"])
@pytest.mark.parametrize("kind", ["iceberg", "hive"])
def test_definition_is_rejected_if_source_was_dropped_before_commit(open_catalog, database, hive_table, kind, mode):
    catalog = open_catalog({"hive-views.dependency-mode": mode})
    if kind == "hive":
        hive_table("orders")
    else:
        catalog.create_table(f"{database}.orders", COLUMNS)
    definition = catalog.author(f"{database}.top", "SELECT id FROM orders", database=database)
    catalog.drop_table(f"{database}.orders")
    with pytest.raises(SourceDroppedError) as caught:
        catalog.create_view(f"{database}.top", definition.schema, definition.version)
    assert caught.value.sources == (f"{database}.orders",)
    assert not catalog.view_exists(f"{database}.top")


def test_definition_over_source_that_never_existed_is_accepted(catalog, database):
    version = version_texts.define(f"SELECT id FROM {database}.later", dialect="spark", default_namespace=(database,))
    catalog.create_view(f"{database}.top", COLUMNS, version)
    assert [str(edge.target) for edge in catalog.dependencies.graph(database).broken()] == [f"{database}.later"]


@pytest.mark.parametrize("read", ["lowest", "middle", "top"])
def test_cascade_drops_view_created_before_lock(catalog, open_catalog, proxy, raw, database, read):
    """A view over an object that is dropped next is created while the request for its lock is delayed."""
    catalog.create_table(f"{database}.lowest", COLUMNS)
    catalog.execute("CREATE VIEW middle AS SELECT id FROM lowest", database=database)
    catalog.execute("CREATE VIEW top AS SELECT id FROM middle", database=database)
    drop = partial(open_catalog({"uri": proxy.uri}).drop_table, f"{database}.lowest", behavior="cascade")
    with proxy.in_flight("lock", drop, nth=["top", "middle", "lowest"].index(read) + 1) as dropping:
        catalog.execute(f"CREATE VIEW late AS SELECT id FROM {read}", database=database)
    dropping.result()
    assert raw.get_all_tables(database) == []


def test_cascade_keeps_view_over_new_object_of_same_name(
    catalog, open_catalog, proxy, raw, database, hive_table, hive_view
):
    """Another program creates an object with the name of a dropped view, and a view over it."""
    hive_table("orders")
    catalog.execute("CREATE VIEW top AS SELECT id FROM orders", database=database)
    drop = partial(open_catalog({"uri": proxy.uri}).drop_view, f"{database}.top", behavior="cascade")
    with proxy.in_flight("unlock", drop) as dropping:
        hive_table("top")
        hive_view("late", f"SELECT `id` FROM `{database}`.`top`", "id")
    dropping.result()
    assert sorted(raw.get_all_tables(database)) == ["late", "orders", "top"]
