"""Dependents and the graph: the server's filter, the scan, cycles and renames."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from thrift.Thrift import TApplicationException

from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import DependencyState, LineageReader
from hive_views.errors import CyclicViewError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, MetaException
from hive_views.spec.lineage_codec import FILE_NODE
from tests.faults.scripted import Answer, ScriptedServer
from tests.integration.catalog.samples import version
from tests.integration.dependencies.test_lineage import foreign_commit, rename
from tests.proxy import EVERY

COLUMNS = Schema(NestedField(1, "id", LongType()), NestedField(2, "total", LongType()))


def names(dependents):
    return [dependent.name.name for dependent in dependents]


@pytest.fixture
def shop(catalog, database, hive_table, hive_view, view):
    """orders <- bottom <- top; orders <- old (plain Hive); top <- foreign (no lineage); refunds has no dependents."""
    hive_table("orders")
    hive_table("refunds")
    view("bottom", "SELECT id, total FROM orders")
    view("top", "SELECT id, total FROM bottom")
    hive_view("old", f"select `o`.`id`, `o`.`total` from `{database}`.`orders` `o`")
    catalog.create_view(f"{database}.foreign", COLUMNS, version(database, ("spark", "select id, total from top")))
    return catalog


def test_dependents_of_all_kinds_are_found_nearest_first(shop, database):
    impact = shop.dependencies.dependents(f"{database}.orders", namespaces=[database])
    assert [names(level) for level in impact.levels] == [["bottom", "old"], ["top"], ["foreign"]]
    assert [name.name for name in impact.views] == ["bottom", "old", "top", "foreign"]
    assert impact.unknown == ()
    assert shop.dependencies.dependents(f"{database}.refunds", namespaces=[database]).views == ()


def test_recorded_only_finds_views_with_recorded_lineage(shop, database):
    impact = shop.dependencies.dependents(f"{database}.orders", namespaces=[database], recorded_only=True)
    assert names(impact) == ["bottom", "top"]


def test_dependents_are_found_in_every_database(shop, database, other_database, view):
    view(f"{other_database}.far", f"SELECT id FROM {database}.refunds")
    assert names(shop.dependencies.dependents(f"{database}.refunds")) == ["far"]


def test_dependents_of_table_with_common_name_prefix(shop, database, hive_table, view):
    hive_table("order_")
    hive_table("rders")
    view("others", "SELECT a.id FROM order_ a JOIN rders b ON a.id = b.id")
    assert "others" not in names(shop.dependencies.dependents(f"{database}.orders", namespaces=[database]))
    assert names(shop.dependencies.dependents(f"{database}.rders", namespaces=[database])) == ["others"]


def test_dependent_changed_by_java_is_found(shop, raw, database, view):
    """The row's lineage is outdated, which the name of the metadata file reveals."""
    view("top", "SELECT id, total FROM refunds", replace=True)
    assert names(shop.dependencies.dependents(f"{database}.bottom", namespaces=[database])) == []

    foreign_commit(shop, raw, f"{database}.top", lambda metadata: metadata.model_copy(update={"current_version_id": 1}))
    assert names(shop.dependencies.dependents(f"{database}.bottom", namespaces=[database])) == ["top", "foreign"]
    assert names(shop.dependencies.dependents(f"{database}.refunds", namespaces=[database])) == []


def test_dependents_of_table_converted_to_view(shop, raw, database, view):
    """A view that recorded it as a table depends on what the view of the same name reads."""
    rename(raw, database, "orders", "orders_v1")
    view("orders", "SELECT id, total FROM orders_v1")
    assert names(shop.dependencies.dependents(f"{database}.orders_v1", namespaces=[database])) == [
        "orders",
        "bottom",
        "old",
        "top",
        "foreign",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(MetaException("Filter is not supported")),
        Answer(TApplicationException(TApplicationException.UNKNOWN_METHOD, "Invalid method name")),
    ],
    ids=["refused", "unknown"],
)
def test_server_without_filter_is_scanned(shop, open_catalog, metastore, database, answer):
    with ScriptedServer(metastore.port) as server:
        server.on("get_table_names_by_filter", answer, nth=EVERY)
        other = open_catalog({"uri": server.uri})
        for recorded_only in (True, False):
            dependents = other.dependencies.dependents(
                f"{database}.orders", namespaces=[database], recorded_only=recorded_only
            )
            assert names(dependents) == ["bottom", "old", "top", "foreign"]
        assert "get_table_names_by_filter" in server.methods
        # One scan for all levels.
        listed = server.methods.count("get_tables_by_type")
        unknown = shop.create_view(f"{database}.strange", COLUMNS, version(database, ("spark", "not a query")))
        dependents = other.dependencies.dependents(f"{database}.orders", namespaces=[database])
        assert [lineage.view for lineage in dependents.unknown] == [ViewName(*unknown.name())]
        assert server.methods.count("get_tables_by_type") - listed == 1


def test_dependents_are_found_with_filters_as_by_reading_all_rows(
    shop, open_catalog, metastore, database, other_database, view, hive_view
):
    """With filters; on Hive 4 only the texts of plain Hive views are read, and the rows of those that may match."""
    view(f"{other_database}.far", f"SELECT id FROM {database}.old")
    hive_view("one", "select 1 as `id`, 2 as `total`")
    hive_view("refund", f"select `id`, `total` from `{database}`.`refunds`")
    sources = [f"{database}.{name}" for name in ("orders", "refunds", "bottom", "old", "top")]
    expected = {source: shop.dependencies.dependents(source) for source in sources}
    assert names(expected[f"{database}.orders"]) == ["bottom", "old", "top", "far", "foreign"]
    with ScriptedServer(metastore.port) as server:
        reader = LineageReader(open_catalog({"uri": server.uri}).store)
        for source in sources:
            server.clear()
            finder = DependentFinder(reader, databases=[database, other_database], max_unfiltered=1)
            assert finder.find_all(ViewName.parse(source)) == expected[source]
            rows = [request for request in server.requests if b"get_table" in request and b"old" in request]
            if source.endswith(("bottom", "top")) and shop.store.client.supports("alter_table_req"):
                assert len(rows) == 1  # its text


def test_metadata_file_name_shows_whether_row_has_lineage(shop, database):
    assert FILE_NODE in shop.load_view(f"{database}.top").metadata_location
    assert FILE_NODE not in shop.load_view(f"{database}.foreign").metadata_location


def test_dependent_with_too_many_dependencies_for_row_is_found(catalog, database, hive_table, view):
    tables = [f"table_{'x' * 100}_{number}" for number in range(25)]
    for table in tables:
        hive_table(table, "id")
    created = view("wide", " UNION ALL ".join(f"SELECT id FROM {table}" for table in tables))
    assert FILE_NODE not in created.metadata_location
    assert "hive_views_lineage" not in created.parameters
    assert names(catalog.dependencies.dependents(f"{database}.{tables[24]}", namespaces=[database])) == ["wide"]


def test_renamed_view_keeps_broken_dependents_by_uuid(shop, database):
    shop.rename_view(f"{database}.bottom", f"{database}.ground")
    (dependent,) = DependentFinder(LineageReader(shop.store), databases=[database]).find_direct(
        ViewName(database, "ground")
    )
    assert (dependent.name.name, dependent.is_reader) == ("top", False)
    graph = shop.dependencies.graph(database)
    (broken,) = graph.broken()
    assert (broken.view.name, broken.recorded.name.name, broken.target.name) == ("top", "bottom", "ground")
    assert broken.state is DependencyState.RENAMED


def test_dependents_of_renamed_hive_table_are_found(shop, raw, database):
    rename(raw, database, "orders", "all_orders")
    graph = shop.dependencies.graph(database)
    states = {edge.view.name: (edge.state, edge.target.name) for edge in graph.edges}
    assert states["bottom"] == (DependencyState.RENAMED, "all_orders")
    assert states["old"] == (DependencyState.MISSING, "orders")


def test_graph_of_database(shop, database):
    graph = shop.dependencies.graph(database)
    order = [name.name for name in graph.order()]
    assert order.index("orders") < order.index("bottom") < order.index("top") < order.index("foreign")
    assert set(order) == {"orders", "bottom", "top", "foreign", "old"}
    assert [name.name for name in graph.downstream(ViewName(database, "orders"))] == ["bottom", "old", "top", "foreign"]
    assert [name.name for name in graph.upstream(ViewName(database, "foreign"))] == ["top", "bottom", "orders"]
    assert [name.name for name in graph.dependents(ViewName(database, "bottom"))] == ["top"]
    assert [name.name for name in graph.dependencies(ViewName(database, "top"))] == ["bottom"]
    assert graph.cycles() == graph.broken() == graph.unknown() == ()


def test_graph_contains_objects_of_unscanned_databases(shop, database, other_database, view):
    view(f"{other_database}.far", f"SELECT id FROM {database}.top")
    graph = shop.dependencies.graph(other_database)
    assert set(graph.nodes) == {ViewName(other_database, "far"), ViewName(database, "top")}
    assert graph.nodes[ViewName(database, "top")].lineage is None


# -- Cycles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "cycle"),
    [
        ("replace", "bottom foreign top bottom"),
        ("replace with itself", "top top"),
        ("create", "bottom top bottom"),
        ("register", "bottom top bottom"),
        ("rename", "bottom foreign top bottom"),
        ("rollback", "top bottom top"),
    ],
)
def test_change_that_closes_cycle_is_rejected(shop, database, view, change, cycle):
    bottom, over_top = f"{database}.bottom", "SELECT id, total FROM top"
    last = view("last", over_top if change == "register" else "SELECT id, total FROM foreign")
    if change == "rollback":
        view("top", "SELECT id, total FROM refunds", replace=True)
        view("bottom", over_top, replace=True)
    elif not change.startswith("replace"):
        shop.drop_view(bottom)
    changes = {
        "replace": lambda: view("bottom", "SELECT id, total FROM foreign", replace=True),
        "replace with itself": lambda: view("top", over_top, replace=True),
        "create": lambda: view("bottom", over_top),
        "register": lambda: shop.register_view(bottom, last.metadata_location),
        "rename": lambda: shop.rename_view(f"{database}.last", bottom),
        "rollback": lambda: shop.load_view(f"{database}.top").update().rollback(version_id=1).commit(),
    }
    before = shop.dependencies.graph(database)
    with pytest.raises(CyclicViewError) as caught:
        changes[change]()
    assert [name.split(".")[1] for name in caught.value.cycle] == cycle.split()
    if change == "rename":
        assert str(caught.value).startswith(
            f"Cannot rename {database}.last to {bottom}: {database}.last reads {bottom} through {database}.foreign"
        ), caught.value
    assert shop.dependencies.graph(database) == before


def test_graph_reports_cycle_of_other_programs(shop, raw, database):
    row = raw.get_table(database, "old")
    row.tableName = "orders2"
    row.viewExpandedText = row.viewOriginalText = f"select `x`.`id` from `{database}`.`orders2` `x`"
    raw.alter_table_with_environment_context(database, "old", row, EnvironmentContext({}))
    assert shop.dependencies.graph(database).cycles() == ((ViewName(database, "orders2"),),)
    assert ViewName(database, "orders2") in shop.dependencies.lineage(f"{database}.orders2").dependencies[0].readers


@pytest.mark.parametrize(
    ("question", "most_calls"),
    [
        (lambda catalog, table: catalog.dependencies.dependents(table), 20),
        (lambda catalog, table: catalog.dependencies.impact(table), 22),
        (lambda catalog, table: catalog.dependencies.plan_drop(table, behavior="cascade"), 22),
        (lambda catalog, table: catalog.dependencies.check_views(table.partition(".")[0]), 12),
        (lambda catalog, table: catalog.dependencies.picture(table.partition(".")[0]), 14),
        (lambda catalog, table: catalog.dependencies.graph(table.partition(".")[0]), 12),
    ],
    ids=["dependents", "impact", "plan_drop", "check_views", "picture", "graph"],
)
def test_plain_hive_views_are_read_in_batches(
    question, most_calls, open_catalog, metastore, database, hive_table, hive_view
):
    hive_table("orders")
    for number in range(60):
        source = "orders" if number < 55 else f"old_{number - 50:02}"
        hive_view(f"old_{number:02}", f"select `id`, `total` from `{database}`.`{source}`")
    with ScriptedServer(metastore.port) as server:
        catalog = open_catalog({"uri": server.uri})
        databases = len(catalog.list_namespaces())
        before = len(server.methods)
        question(catalog, f"{database}.orders")
        # Views are listed, and filtered three times, in each database.
        assert len(server.methods) - before <= most_calls + 4 * (databases - 1)
