"""Materialized views as dependents, in each layout: in `table` the definition is a file that only a table names."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from hive_views import HiveViewCatalog
from hive_views.dependencies.impact import Effect
from hive_views.errors import CyclicViewError, DependentsError
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layout import Layout
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from tests.faults.scripted import Answer, ScriptedServer
from tests.proxy import EVERY

COLUMNS = Schema(NestedField(1, "id", LongType()), NestedField(2, "shop", StringType()))
LAYOUTS = ("registered", "attached", "table")


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def market(catalog: HiveViewCatalog, database: str, view, layout: str) -> HiveViewCatalog:
    """sales <- mv <- upper (a view), mv <- second (a materialized view of the same layout)."""
    catalog.create_table((database, "sales"), COLUMNS)
    catalog.materialized.create((database, "mv"), "SELECT id, shop FROM sales", layout=layout)
    view("upper", "SELECT id, upper(shop) AS shop FROM mv")
    catalog.materialized.create((database, "second"), "SELECT id FROM mv", layout=layout)
    return catalog


def names(views) -> set[str]:
    return {view.name for view in views}


def dependents(catalog: HiveViewCatalog, database: str, name: str) -> set[str]:
    return names(catalog.dependencies.dependents((database, name)).views)


def test_dependents_are_listed(market, database):
    assert dependents(market, database, "sales") == {"mv", "upper", "second"}
    assert dependents(market, database, "mv") == {"upper", "second"}
    graph = market.dependencies.graph(database)
    assert names(graph.downstream(ViewName(database, "sales"))) == {"mv", "upper", "second"}
    assert graph.dependencies(ViewName(database, "second")) == (ViewName(database, "mv"),)
    read = market.dependencies.lineage((database, "second")).dependencies
    assert names(item.dependency.name for item in read) == {"mv", "sales"}


def test_impact_of_a_drop(market, database):
    affected = {item.view.name: item.effect for item in market.dependencies.impact((database, "sales"), None)}
    assert affected == dict.fromkeys(("mv", "upper", "second"), Effect.BREAKS)


def test_impact_includes_materialized_view_that_loses_a_column(market, database):
    affected = {
        item.view.name: item.effect for item in market.dependencies.impact((database, "sales"), [("id", "bigint")])
    }
    assert affected["mv"] is Effect.BREAKS


def test_checks_include_materialized_views(market, database):
    assert {item.view.name: item.validity.value for item in market.dependencies.check_views(database)} == dict.fromkeys(
        ("mv", "upper", "second"), "valid"
    )
    market.drop_table((database, "sales"))
    checked = {item.view.name: item.validity.value for item in market.dependencies.check_views(database)}
    assert checked == {"mv": "invalid", "upper": "blocked", "second": "blocked"}
    assert market.dependencies.check_view((database, "mv")).validity.value == "invalid"


def test_restrict_drops_nothing(market, database):
    with pytest.raises(DependentsError) as caught:
        market.drop_table((database, "sales"), behavior="restrict")
    assert {name.split(".")[1] for name in caught.value.dependents} == {"mv", "upper", "second"}
    with pytest.raises(DependentsError):
        market.materialized.load((database, "mv")).drop(behavior="restrict")
    assert market.materialized.load((database, "mv")).name == ViewName(database, "mv")


def test_cascade_drops_all_materialized_dependents(market, database, layout, raw):
    plan = market.dependencies.plan_drop((database, "sales"), behavior="cascade")
    assert names(step.name for step in plan.steps) == {"sales", "mv", "upper", "second"}
    report = market.drop_table((database, "sales"), behavior="cascade")
    assert [step.name.name for step in report.steps][-2:] == ["mv", "sales"]
    remaining = {name for name in raw.get_all_tables(database) if not name.endswith("__storage")}
    assert remaining == set()
    # The files are kept: each can be registered again.
    step = next(step for step in report.steps if step.name.name == "mv")
    register = market.register_table if Layout(layout) is Layout.TABLE else market.register_view
    register((database, "mv"), step.metadata_location)
    market.create_table((database, "sales"), COLUMNS)
    assert market.materialized.load((database, "mv")).layout is Layout(layout)


def test_cascade_of_a_materialized_view(market, database, raw):
    market.materialized.load((database, "mv")).drop(behavior="cascade")
    assert {name for name in raw.get_all_tables(database) if not name.endswith("__storage")} == {"sales"}


def test_other_tables_are_no_dependents(market, database):
    market.create_table((database, "other"), COLUMNS, properties={"materialized_view_metadata": "{}"})
    assert dependents(market, database, "sales") == {"mv", "upper", "second"}


def test_redefinition_changes_the_dependents(market, database):
    market.create_table((database, "more"), COLUMNS)
    market.materialized.load((database, "mv")).replace("SELECT id, shop FROM more")
    assert dependents(market, database, "sales") == set()
    assert dependents(market, database, "more") == {"mv", "upper", "second"}


def test_cycles_are_rejected(market, database):
    with pytest.raises(CyclicViewError):
        market.materialized.load((database, "mv")).replace("SELECT id, shop FROM upper")


@pytest.mark.parametrize("layout", ["table"], indirect=True)
def test_servers_without_a_filter(market, database, open_catalog, metastore):
    """The rows of the tables are read instead."""
    with ScriptedServer(metastore.port) as server:
        server.on("get_table_names_by_filter", Answer(MetaException("Filter is not supported")), nth=EVERY)
        other = open_catalog({"uri": server.uri})
        assert dependents(other, database, "sales") == {"mv", "upper", "second"}
        assert "get_table_names_by_filter" in server.methods
