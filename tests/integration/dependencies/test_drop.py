"""DROP … RESTRICT and CASCADE: plans, reports, concurrent changes, and a killed process."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views.dependencies.drop import DropBehavior, drop_object, drop_view
from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import LineageReader
from hive_views.errors import (
    CommitStateUnknownError,
    DependentsError,
    InvalidPropertyError,
    InvalidViewError,
    NoSuchTableError,
    NoSuchViewError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, MetaException
from hive_views.spec.lineage_codec import ObjectKind
from tests.faults.scripted import Answer, ScriptedServer
from tests.integration.catalog.samples import files_below, version
from tests.proxy import Hold

COLUMNS = Schema(NestedField(1, "id", LongType()), NestedField(2, "total", LongType()))


@pytest.fixture
def shop(catalog, database, hive_view, view):
    """orders <- a <- c <- d, orders <- b <- c, orders <- old (plain Hive); `d` also reads orders directly."""
    catalog.create_table(f"{database}.orders", COLUMNS)
    view("a", "SELECT id, total FROM orders")
    view("b", "SELECT id, total FROM orders")
    view("c", "SELECT a.id, b.total FROM a JOIN b ON a.id = b.id")
    view("d", "SELECT c.id, o.total FROM c JOIN orders o ON c.id = o.id")
    hive_view("old", f"select `o`.`id`, `o`.`total` from `{database}`.`orders` `o`")
    return catalog


def left(raw, database):
    return sorted(raw.get_all_tables(database))


def test_restrict_names_every_dependent_and_drops_nothing(shop, raw, database):
    before = left(raw, database)
    with pytest.raises(DependentsError) as caught:
        shop.drop_table(f"{database}.orders", behavior="restrict")
    assert sorted(name.split(".")[1] for name in caught.value.dependents) == ["a", "b", "c", "d", "old"]
    assert all(name in str(caught.value) for name in caught.value.dependents)
    with pytest.raises(DependentsError):
        shop.drop_view(f"{database}.c", behavior="restrict")
    assert left(raw, database) == before


def test_purge_of_shared_files_fails_before_dependents_are_dropped(shop, raw, database):
    """Another name uses the files of the view itself, and of a dependent."""
    again = f"{database}.again"
    shop.register_view(again, shop.load_view(f"{database}.c").metadata_location)
    before = left(raw, database)
    with pytest.raises(InvalidViewError, match="again"):
        shop.drop_view(f"{database}.c", behavior="cascade", purge_files=True)
    assert left(raw, database) == before
    shop.create_table(f"{database}.other", COLUMNS)
    definition = version(database, ("spark", "SELECT id, total FROM other"))
    shop.replace_view(again, COLUMNS, definition, may_lose_dialects=True)
    shop.drop_view(f"{database}.a", behavior="cascade", purge_files=True)
    assert left(raw, database) == ["again", "b", "old", "orders", "other"]
    assert len(shop.load_view(again).history()) == 2


@pytest.mark.parametrize("behavior", ["restrict", "cascade"])
def test_drop_reads_views_once(behavior, shop, open_catalog, metastore, database, hive_view):
    """Views that the server's filter does not find are read once, although a drop searches before and after."""
    for number in range(20):
        hive_view(f"plain_{number:02}", f"select `id` from `{database}`.`refunds_{number}`")
    name = ViewName(database, "d" if behavior == "restrict" else "c")
    with ScriptedServer(metastore.port) as server:
        store = open_catalog({"uri": server.uri}).store
        finder = DependentFinder(LineageReader(store), databases=[database], max_unfiltered=1)
        remove = partial(drop_view, store, name)
        drop_object(
            LineageReader(store), name, DropBehavior(behavior), lambda check: remove(check=check), finder=finder
        )
        assert sum(request.count(b"plain_07") for request in server.requests) == 1


@pytest.mark.parametrize("behavior", ["restrict", "cascade"])
def test_view_of_other_program_created_during_drop(behavior, shop, open_catalog, proxy, database, hive_view):
    """RESTRICT reports it, CASCADE drops it."""
    drop = partial(open_catalog({"uri": proxy.uri}).drop_view, f"{database}.d", behavior=behavior)
    with proxy.in_flight("drop_table", drop) as dropping:
        late = hive_view("late", f"select `id`, `total` from `{database}`.`d`")
    if behavior == "restrict":
        assert [str(name) for name in dropping.result().left_dangling] == [late]
    else:
        assert [name.name for name in dropping.result().dropped] == ["d", "late"]


def test_restrict_drops_object_without_dependents(shop, raw, database, hive_view, caplog):
    """A view that may read more than its text names is reported."""
    hive_view("unclear", f"select id, total from {database}.f(1)")
    plan = shop.dependencies.plan_drop(f"{database}.d", behavior="restrict")
    report = shop.drop_view(f"{database}.d", behavior="restrict")
    assert [item.view.name for item in plan.unknown] == [item.view.name for item in report.unknown] == ["unclear"]
    assert f"{database}.unclear, because its hive text reads f(…), whose tables are unknown" in caplog.text
    assert "d" not in left(raw, database)


def test_cascade_drops_views_of_a_cycle(catalog, raw, database, hive_table, view):
    """A concurrent change or a rename by another program can create a cycle."""
    hive_table("r")
    view("p", "SELECT id, total FROM r")
    view("q", "SELECT id, total FROM p")
    view("top", "SELECT id FROM q")
    raw.drop_table(database, "r", False)
    row = raw.get_table(database, "q")
    row.tableName = "r"
    raw.alter_table_with_environment_context(database, "q", row, EnvironmentContext({}))
    view("above", "SELECT id FROM r")
    assert catalog.dependencies.graph(database).cycles() == ((ViewName(database, "p"), ViewName(database, "r")),)
    catalog.drop_view(f"{database}.p", behavior="cascade")
    assert left(raw, database) == []  # top too: what it read was renamed


def test_drop_without_keyword_leaves_dependents(shop, raw, database):
    shop.drop_view(f"{database}.c")
    assert left(raw, database) == ["a", "b", "d", "old", "orders"]


def test_strict_mode_restricts_drops(shop, raw, open_catalog, database):
    strict = open_catalog({"hive-views.dependency-mode": "strict"})
    with pytest.raises(DependentsError):
        strict.drop_view(f"{database}.c")
    strict.drop_view(f"{database}.c", behavior="cascade")
    assert left(raw, database) == ["a", "b", "old", "orders"]


def test_cascade_plan_lists_dependents_first(shop, raw, database):
    before = left(raw, database)
    plan = shop.dependencies.plan_drop(f"{database}.orders", behavior="cascade")
    order = [step.name.name for step in plan.steps]
    assert sorted(order) == before
    for first, then in [("d", "c"), ("c", "a"), ("c", "b"), ("a", "orders"), ("b", "orders"), ("old", "orders")]:
        assert order.index(first) < order.index(then)
    assert {step.name.name: step.kind for step in plan.steps}["old"] is ObjectKind.HIVE_VIEW
    assert {step.name.name: [item.name for item in step.reads] for step in plan.steps}["d"] == ["c", "orders"]
    assert left(raw, database) == before
    assert shop.dependencies.plan_drop(f"{database}.orders", behavior="restrict").is_rejected
    assert shop.dependencies.plan_drop(f"{database}.orders", behavior="restrict").steps == ()
    nothing = shop.dependencies.plan_drop(f"{database}.orders")
    assert (nothing.behavior, len(nothing.steps), len(nothing.left_dangling)) == (DropBehavior.NONE, 1, 5)


def test_cascade_drops_everything_and_nothing_else(shop, raw, database, hive_table, view):
    hive_table("refunds")
    view("bystander", "SELECT id FROM refunds")
    shop.drop_view(f"{database}.a", behavior="cascade")
    assert left(raw, database) == ["b", "bystander", "old", "orders", "refunds"]
    shop.drop_table(f"{database}.orders", behavior="cascade")
    assert left(raw, database) == ["bystander", "refunds"]


def test_drop_report_lists_steps_and_metadata_files(shop, raw, database):
    files = {name: shop.load_view(f"{database}.{name}").metadata_location for name in "abcd"}
    text = raw.get_table(database, "old").viewExpandedText
    report = shop.drop_table(f"{database}.orders", behavior="cascade")
    assert [item.name for item in report.dropped][-1] == "orders"
    steps = {step.name.name: step for step in report.steps}
    assert {name: steps[name].metadata_location for name in "abcd"} == files
    assert (steps["old"].kind, steps["old"].text) == (ObjectKind.HIVE_VIEW, text)
    assert [item.name for item in steps["d"].reads] == ["c", "orders"]
    for name in "abcd":
        assert shop.register_view(f"{database}.{name}", files[name]).sql_for("spark")
    assert [step.name.name for step in shop.drop_view(f"{database}.d").steps] == ["d"]
    (gone, *_) = shop.drop_view(f"{database}.c", behavior="cascade", purge_files=True).steps
    assert (gone.name.name, gone.metadata_location) == ("c", None)


def test_failed_cascade_reports_dropped_views(shop, open_catalog, raw, metastore, database):
    with ScriptedServer(metastore.port) as server:
        server.on("drop_table", Answer(MetaException("Out of order")), nth=2)
        with pytest.raises(CommitStateUnknownError, match="Out of order") as raised:
            open_catalog({"uri": server.uri}).drop_view(f"{database}.a", behavior="cascade")
    assert left(raw, database) == ["a", "b", "c", "old", "orders"]
    (step,) = raised.value.completed_steps
    assert step.startswith(f"{database}.d was dropped (file:") and step in str(raised.value)


def test_invalid_drops_are_rejected(shop, raw, database):
    with pytest.raises(NoSuchTableError):
        shop.drop_table(f"{database}.a", behavior="cascade")
    with pytest.raises(NoSuchViewError):
        shop.drop_view(f"{database}.orders", behavior="cascade")
    with pytest.raises(NoSuchViewError):
        shop.drop_view(f"{database}.nothing", behavior="cascade")
    with pytest.raises(InvalidPropertyError):
        shop.drop_view(f"{database}.a", behavior="both")
    assert len(left(raw, database)) == 6


def test_cascade_keeps_view_of_table_recreated_under_same_name(shop, raw, database, view):
    shop.rename_table(f"{database}.orders", f"{database}.archive")
    plan = shop.dependencies.plan_drop(f"{database}.archive", behavior="cascade")
    assert "a" in [step.name.name for step in plan.steps]
    shop.create_table(f"{database}.orders", COLUMNS)
    shop.drop_table(f"{database}.archive", behavior="cascade")
    assert left(raw, database) == ["a", "b", "c", "d", "old", "orders"]


def test_cascade_with_purge_deletes_files_of_dependents(shop, database):
    locations = [shop.load_view(f"{database}.{name}").metadata.location for name in "acd"]
    assert all(files_below(location) for location in locations)
    shop.drop_view(f"{database}.a", behavior="cascade", purge_files=True)
    assert not any(files_below(location) for location in locations)


def test_cascade_drops_dependents_created_meanwhile(shop, open_catalog, raw, proxy, database, view):
    """A view over the first dependent is created while the request to drop that is delayed."""
    drop = partial(open_catalog({"uri": proxy.uri}).drop_table, f"{database}.orders", behavior="cascade")
    with proxy.in_flight("drop_table", drop):
        view("late", "SELECT id, total FROM b")
    assert left(raw, database) == []


def test_cascade_keeps_dependent_replaced_meanwhile(shop, open_catalog, raw, proxy, database, hive_table, view):
    hive_table("refunds")
    drop = partial(open_catalog({"uri": proxy.uri}).drop_view, f"{database}.a", behavior="cascade")
    with proxy.in_flight("drop_table", drop):  # of d, which reads c
        view("c", "SELECT id, total FROM refunds", replace=True)
    assert left(raw, database) == ["b", "c", "old", "orders", "refunds"]


KILLED = """
import sys
from hive_views import HiveViewCatalog
catalog = HiveViewCatalog("prod", uri=sys.argv[1], warehouse=sys.argv[2])
catalog.drop_table(sys.argv[3], behavior="cascade")
"""


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_killed_cascade_leaves_no_dangling_view_and_is_repeatable(shop, raw, metastore, proxy, database, nth):
    """SIGKILL during the n-th drop, before or after the server has applied it."""
    hold = proxy.on("drop_table", Hold(), nth=nth)
    process = subprocess.Popen([sys.executable, "-c", KILLED, proxy.uri, metastore.warehouse, f"{database}.orders"])
    hold.wait_until_held(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    graph = shop.dependencies.graph(database)
    assert graph.broken() == ()
    assert len(left(raw, database)) == 7 - nth
    hold.release()
    graph = shop.dependencies.graph(database)
    assert graph.broken() == ()
    assert len(left(raw, database)) == 6 - nth
    for lock in shop.store.client.show_locks(database, None):
        shop.store.client.unlock(lock.lockid)
    shop.drop_table(f"{database}.orders", behavior="cascade")
    assert left(raw, database) == []


def test_cascade_drops_dependent_without_lineage(shop, raw, database):
    text = "select id, total from a"
    shop.create_view(f"{database}.foreign", COLUMNS, version(database, ("spark", text)))
    shop.drop_view(f"{database}.a", behavior="cascade")
    assert left(raw, database) == ["b", "old", "orders"]


def test_cascade_drops_dependent_in_other_database(shop, raw, database, other_database, view):
    view(f"{other_database}.far", f"SELECT id FROM {database}.d")
    plan = shop.dependencies.plan_drop(f"{database}.d", behavior="cascade")
    assert [step.name for step in plan.steps] == [ViewName(other_database, "far"), ViewName(database, "d")]
    shop.drop_view(f"{database}.d", behavior="cascade")
    assert left(raw, other_database) == []
