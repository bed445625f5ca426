"""Of two concurrent changes that together would create a cycle, one is rejected."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views.errors import CyclicViewError
from hive_views.identifiers import ViewName
from tests.faults.observer import until
from tests.integration.catalog.samples import version
from tests.integration.dependencies.test_graph import COLUMNS


def define(how, database, name, reads):
    return how(f"{database}.{name}", COLUMNS, version(database, ("spark", f"SELECT id, total FROM {reads}")))


@pytest.fixture(params=["replace", "create", "rename"])
def changes(request, catalog, database, hive_table, view):
    """Two changes that are valid alone, and the metastore call of the first."""
    if request.param == "create":
        return (
            lambda to: define(to.create_view, database, "one", "other"),
            lambda to: define(to.create_view, database, "other", "one"),
            "create_table",
        )
    alter = "alter_table_with_environment_context"
    if request.param == "rename":
        define(catalog.create_view, database, "over_one", "one")
        define(catalog.create_view, database, "over_other", "other")
        return (
            lambda to: to.rename_view(f"{database}.over_other", f"{database}.one"),
            lambda to: to.rename_view(f"{database}.over_one", f"{database}.other"),
            alter,
        )
    hive_table("orders")
    view("one", "SELECT id, total FROM orders")
    view("middle", "SELECT id, total FROM one")
    view("other", "SELECT id, total FROM orders")
    return (
        lambda to: define(to.replace_view, database, "one", "other"),
        lambda to: define(to.replace_view, database, "other", "middle"),
        alter,
    )


def test_commit_detects_cycle_created_after_check(changes, catalog, open_catalog, proxy, database):
    """The second change is applied while the lock request of the first is delayed."""
    first, second, _ = changes
    with proxy.in_flight("lock", first, open_catalog({"uri": proxy.uri})) as changing:
        second(catalog)
    assert isinstance(changing.exception(), CyclicViewError)
    assert catalog.dependencies.graph(database).cycles() == ()


def test_second_of_two_cyclic_changes_waits_and_fails(changes, catalog, open_catalog, proxy, database):
    """The second change waits while the first holds its lock and its request is delayed."""
    first, second, call = changes
    with ThreadPoolExecutor(1) as pool:
        with proxy.in_flight(call, first, open_catalog({"uri": proxy.uri})) as changing:
            late = pool.submit(second, catalog)
            until(lambda: len(catalog.store.client.show_locks(database, "one")) > 1)
        changing.result()
        assert isinstance(late.exception(), CyclicViewError)
    assert catalog.dependencies.graph(database).cycles() == ()


def test_changes_of_views_over_same_view_do_not_block_each_other(
    catalog, open_catalog, proxy, database, view, hive_table
):
    hive_table("orders")
    view("base", "SELECT id, total FROM orders")
    create = open_catalog({"uri": proxy.uri}).create_view
    with proxy.in_flight("create_table", define, create, database, "a", "base") as creating:
        define(catalog.create_view, database, "b", "base")
        assert not catalog.view_exists(f"{database}.a")
    creating.result()
    assert [name.name for name in catalog.dependencies.dependents(f"{database}.base").views] == ["a", "b"]


def test_concurrent_change_without_cycle_does_not_fail_commit(catalog, open_catalog, proxy, database, view, hive_table):
    hive_table("orders")
    hive_table("refunds")
    view("base", "SELECT id, total FROM orders")
    create = open_catalog({"uri": proxy.uri}).create_or_replace_view
    with proxy.in_flight("lock", define, create, database, "other", "base") as creating:
        define(catalog.replace_view, database, "base", "refunds")
    creating.result()
    assert catalog.dependencies.graph(database).upstream(ViewName(database, "other")) == (
        ViewName(database, "base"),
        ViewName(database, "refunds"),
    )
