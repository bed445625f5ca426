"""Rows with parts of two commits, as Hive 2.3.10 returns them on Derby while another client commits."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from hive_views import HiveView, HiveViewCatalog
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ttypes import GetTableRequest, GetTableResult
from tests.conftest import CatalogFactory
from tests.faults.scripted import Reply, ScriptedServer
from tests.faults.view_changes import READ_ROW
from tests.integration.metastore.rpc import connect

CHANGES: dict[str, Callable[[HiveViewCatalog, str], HiveView]] = {
    "adopt": HiveViewCatalog.adopt_view,
    "repair": HiveViewCatalog.repair_view,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_torn_row_is_read_again_before_it_is_committed(
    catalog: HiveViewCatalog,
    open_catalog: CatalogFactory,
    database: str,
    metastore: MetastoreProcess,
    change: Callable[[HiveViewCatalog, str], HiveView],
) -> None:
    name = f"{database}.v"
    older = catalog.create_view_from_sql(name, "SELECT 1 AS n")
    with connect(metastore.port) as client:
        first = client.get_table_req(GetTableRequest(database, "v")).table
        newer = catalog.replace_view_from_sql(name, "SELECT 2 AS n")
        torn = copy.deepcopy(client.get_table_req(GetTableRequest(database, "v")).table)
    torn.viewOriginalText, torn.viewExpandedText = first.viewOriginalText, first.viewExpandedText
    assert older.metadata_location != newer.metadata_location
    with ScriptedServer(metastore.port) as server:
        behind = open_catalog({"uri": server.uri})
        server.on(READ_ROW, Reply(GetTableResult(torn)))
        assert behind.load_view(name).drift
        server.on(READ_ROW, Reply(GetTableResult(torn)))
        unchanged = change(behind, name)
    assert unchanged.metadata_location == newer.metadata_location
    assert catalog.load_view(name).metadata_location == newer.metadata_location
    assert catalog.load_view(name).drift == ()
