"""Rows that the server refuses to return: commands over their database list them with the reason.

The proxy replaces the client's capability, so that the server refuses each answer with an insert-only table.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import MetastoreRefusedError
from hive_views.identifiers import ViewName
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore.queries import read_rows
from hive_views.metastore.transport.client import MAX_REFUSED_REQUESTS
from tests.integration.cli.conftest import Cli, invoke
from tests.integration.transactional.tables import INSERT_ONLY, ORC, TEXT, table
from tests.integration.transactional.test_commands import TABLES, estate
from tests.proxy import ANY, EVERY, Replace, ThriftProxy

__all__ = ["estate"]

REFUSED = ("insert_only", "insert_only_orc")
REASON = "does not appear to support insert-only tables"
_CAPABILITY = b"\x0c\x00\x03\x0f\x00\x01\x08\x00\x00\x00\x01\x00\x00\x00"
"""Field 3 of a request, of one capability, without the last byte of its value."""


@pytest.fixture
def old_client(metastore: MetastoreProcess) -> Iterator[ThriftProxy]:
    """A proxy that makes each request one of a client that does not know insert-only tables."""
    with ThriftProxy(metastore.port) as proxy:
        proxy.on(ANY, Replace(_CAPABILITY + b"\x02", _CAPABILITY + b"\x01"), nth=EVERY)
        yield proxy


@pytest.fixture
def cli(old_client: ThriftProxy, metastore: MetastoreProcess) -> Cli:
    """Runs a command line whose requests are refused."""
    places = {"HIVE_VIEWS_URI": old_client.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse, "COLUMNS": "400"}
    return lambda *words, **environment: invoke(*words, **{**places, **environment})


@pytest.fixture
def refused(old_client: ThriftProxy, metastore: MetastoreProcess) -> Iterator[HiveViewCatalog]:
    """A catalog whose requests are refused."""
    with HiveViewCatalog("prod", uri=old_client.uri, warehouse=metastore.warehouse) as catalog:
        yield catalog


def test_rows_of_a_refused_batch_are_read_one_by_one(refused: HiveViewCatalog, estate: str) -> None:
    names = [ViewName(estate, name) for name in TABLES]
    errors: dict[ViewName, MetastoreRefusedError] = {}
    rows = list(read_rows(refused.store, names, on_refused=errors.__setitem__))
    assert {row.name.name for row in rows} == set(TABLES) - set(REFUSED)
    assert {name.name for name in errors} == set(REFUSED)
    assert all(REASON in str(error) for error in errors.values())
    with pytest.raises(MetastoreRefusedError, match=REASON):
        list(read_rows(refused.store, names))


def test_number_of_requests_is_bounded(
    refused: HiveViewCatalog, old_client: ThriftProxy, raw: Client, database: str
) -> None:
    names = [f"io_{number:03}" for number in range(100)]
    for name in names:
        raw.create_table(table(database, name, TEXT, INSERT_ONLY))
    raw.create_table(table(database, "plain", ORC, {}))
    old_client.clear()
    old_client.on(ANY, Replace(_CAPABILITY + b"\x02", _CAPABILITY + b"\x01"), nth=EVERY)
    errors: dict[ViewName, MetastoreRefusedError] = {}
    asked = [ViewName(database, name) for name in names]
    assert not list(read_rows(refused.store, asked, on_refused=errors.__setitem__))
    assert sorted(errors) == asked
    assert len(old_client.methods) <= 2 * MAX_REFUSED_REQUESTS + 5


def test_graph_has_the_refused_tables_with_the_reason(cli: Cli, estate: str) -> None:
    graph = cli("--json", "deps", "graph", estate).json
    nodes = {node["name"]: node for node in graph["nodes"]}
    for name in TABLES:
        node = nodes[f"{estate}.{name}"]
        expected = ("unknown", "unknown", True) if name in REFUSED else ("hive-table", "unchecked", False)
        assert (node["kind"], node["standing"], REASON in str(node)) == expected


def test_check_names_the_refused_tables(cli: Cli, estate: str) -> None:
    done = cli("--json", "deps", "check", estate)
    views = {view["view"]: view for view in done.json["views"]}
    for name in TABLES:
        view = views[f"{estate}.v_{name}"]
        assert (view["validity"], REASON in str(view)) == (("unknown", True) if name in REFUSED else ("valid", False))


def test_commands_over_the_database_end_well(cli: Cli, estate: str) -> None:
    for words in (("mv", "status", "--all"), ("doctor", "--database", estate), ("deps", "graph", estate)):
        assert cli(*words).code in (0, 1), words
    listed = cli("--json", "list", estate, "--long", "--all").json["views"]
    problems = {item["name"]: item["problem"] or "" for item in listed}
    assert {name for name, problem in problems.items() if REASON in problem} == set(REFUSED)
    assert REASON in cli("list", estate, "--long", "--all").out


def test_plan_refuses_views_over_refused_tables(cli: Cli, raw: Client, estate: str) -> None:
    materialized = table(estate, "mv", ORC, INSERT_ONLY)
    materialized.tableType, materialized.viewOriginalText = "MATERIALIZED_VIEW", "select * from plain"
    materialized.viewExpandedText = f"select `plain`.`id`, `plain`.`name` from `{estate}`.`plain`"
    raw.create_table(materialized)
    views = {view["name"]: view for view in cli("--json", "import", "plan", estate).json["views"]}
    for name in ("mv", *(f"v_{name}" for name in REFUSED)):
        view = views[f"{estate}.{name}"]
        assert (view["status"], REASON in str(view)) == ("refused", True)
    assert views[f"{estate}.v_plain"]["status"] == "pending"


def test_error_about_one_table_names_it(refused: HiveViewCatalog, estate: str) -> None:
    with pytest.raises(MetastoreRefusedError, match=rf"{estate}\.insert_only: .*{REASON}"):
        refused.load_table(f"{estate}.insert_only")
