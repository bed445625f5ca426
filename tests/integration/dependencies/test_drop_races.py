"""A drop with RESTRICT and the definition of a view over the same object: one of the two is rejected."""

from __future__ import annotations

import pytest

from hive_views.errors import DependentsError, SourceDroppedError
from hive_views.spec import version_texts
from tests.faults.observer import until
from tests.integration.dependencies.test_cycle_races import run
from tests.integration.dependencies.test_graph import COLUMNS
from tests.proxy import Hold, ThriftProxy


@pytest.fixture(params=["table", "view"])
def drop(request, catalog, database):
    """Drops `orders` with RESTRICT; it is an Iceberg table, or a view over one."""
    catalog.create_table(f"{database}.{'base' if request.param == 'view' else 'orders'}", COLUMNS)
    if request.param == "table":
        return lambda to: to.drop_table(f"{database}.orders", restrict=True)
    catalog.execute("CREATE VIEW orders AS SELECT id, total FROM base", database=database)
    return lambda to: to.drop_view(f"{database}.orders", restrict=True)


@pytest.fixture(params=["CREATE VIEW", "CREATE OR REPLACE VIEW"])
def define(request, catalog, database):
    """Creates or replaces the view `top` over `orders`."""
    if request.param != "CREATE VIEW":
        catalog.execute("CREATE VIEW top AS SELECT 1 AS id", database=database)
    return lambda to: to.execute(f"{request.param} top AS SELECT id FROM orders", database=database)


def test_definition_is_rejected_if_source_is_dropped_before_its_lock(
    catalog, open_catalog, metastore, database, drop, define
):
    existed = catalog.view_exists(f"{database}.top")
    with ThriftProxy(metastore.port) as proxy:
        held = proxy.on("lock", Hold())
        caught = run(define, open_catalog({"uri": proxy.uri}))
        held.wait_until_held()
        drop(catalog)
        held.release()
        error = caught()
    assert isinstance(error, SourceDroppedError)
    assert error.sources == (f"{database}.orders",)
    assert catalog.view_exists(f"{database}.top") == existed
    assert catalog.graph(database).broken() == ()


def test_restrict_waits_for_definition_and_is_rejected(catalog, open_catalog, metastore, database, drop, define):
    with ThriftProxy(metastore.port) as proxy:
        is_new = not catalog.view_exists(f"{database}.top")
        held = proxy.on("create_table" if is_new else "alter_table_with_environment_context", Hold())
        caught = run(define, open_catalog({"uri": proxy.uri}))
        held.wait_until_held()
        late = run(drop, catalog)
        until(lambda: len(catalog.store.client.show_locks(database, "orders")) > 1)
        held.release()
        assert caught() is None
        error = late()
    assert isinstance(error, DependentsError)
    assert error.dependents == (f"{database}.top",)
    assert catalog.graph(database).broken() == ()


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
    assert [str(edge.target) for edge in catalog.graph(database).broken()] == [f"{database}.later"]


@pytest.mark.parametrize("read", ["lowest", "middle", "top"])
def test_cascade_drops_view_created_before_lock(catalog, open_catalog, metastore, raw, database, read):
    """A view over an object that is dropped next is created while the request for its lock is delayed."""
    catalog.create_table(f"{database}.lowest", COLUMNS)
    catalog.execute("CREATE VIEW middle AS SELECT id FROM lowest", database=database)
    catalog.execute("CREATE VIEW top AS SELECT id FROM middle", database=database)
    with ThriftProxy(metastore.port) as proxy:
        held = proxy.on("lock", Hold(), nth=["top", "middle", "lowest"].index(read) + 1)
        caught = run(lambda to: to.drop_table(f"{database}.lowest", cascade=True), open_catalog({"uri": proxy.uri}))
        held.wait_until_held()
        catalog.execute(f"CREATE VIEW late AS SELECT id FROM {read}", database=database)
        held.release()
        assert caught() is None
    assert raw.get_all_tables(database) == []


def test_cascade_keeps_view_over_new_object_of_same_name(
    catalog, open_catalog, metastore, raw, database, hive_table, hive_view
):
    """Another program creates an object with the name of a dropped view, and a view over it."""
    hive_table("orders")
    catalog.execute("CREATE VIEW top AS SELECT id FROM orders", database=database)
    with ThriftProxy(metastore.port) as proxy:
        held = proxy.on("unlock", Hold())
        caught = run(lambda to: to.drop_view(f"{database}.top", cascade=True), open_catalog({"uri": proxy.uri}))
        held.wait_until_held()
        hive_table("top")
        hive_view("late", f"SELECT `id` FROM `{database}`.`top`", "id")
        held.release()
        assert caught() is None
    assert sorted(raw.get_all_tables(database)) == ["late", "orders", "top"]
