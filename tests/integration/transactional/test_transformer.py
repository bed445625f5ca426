"""A server with Hive 4's default translation of tables, for a client without capabilities of a processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from thrift.Thrift import TException

from hive_views import HiveViewCatalog
from hive_views.errors import UnreadableTableWarning
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    ClientCapabilities,
    ClientCapability,
    Database,
    GetTableRequest,
    GetTablesRequest,
    Table,
)
from hive_views.metastore.queries import read_rows
from tests.conftest import started
from tests.integration.hive.reader import WITHOUT_TRANSFORMER
from tests.integration.metastore.rpc import connect
from tests.integration.transactional.tables import ACID, INSERT_ONLY, ORC, TEXT, create_tables, table
from tests.integration.transactional.test_commands import COLUMNS, TABLES

NEWEST = "4.2.0"
INSERT_ONLY_TABLES = ClientCapabilities(values=[ClientCapability.INSERT_ONLY_TABLES])
FOREIGN = {"processorCapabilities": ["EXTREAD"], "processorIdentifier": "test"}
"""A processor that can read external tables, and nothing else."""
ADDED = {
    "plain": {"accessType": 8},
    "external": {"accessType": 2, "requiredWriteCapabilities": ["EXTWRITE"]},
    "insert_only": {
        "accessType": 1,
        "requiredReadCapabilities": ["CONNECTORREAD", "HIVEMANAGEDINSERTREAD"],
        "requiredWriteCapabilities": [
            "HIVEMANAGEDINSERTWRITE",
            "HIVEMANAGESTATS",
            "HIVECACHEINVALIDATE",
            "CONNECTORWRITE",
        ],
    },
}
"""What the server adds to each kind of row for a client with such a processor."""


def test_rows_are_complete_and_survive_a_view(tmp_path: Path) -> None:
    directory = tmp_path / "hms"
    with started(directory, NEWEST, properties=WITHOUT_TRANSFORMER) as server, connect(server.port) as raw:
        raw.create_database(Database(name="ac", locationUri=f"{server.warehouse}/ac.db"))
        create_tables(raw, "ac")
    names = [ViewName("ac", name) for name in TABLES]
    with (
        started(directory, NEWEST) as server,
        HiveViewCatalog("prod", uri=server.uri, warehouse=server.warehouse) as catalog,
    ):
        before = {row.name: row for row in read_rows(catalog.store, names)}
        assert sorted(before) == sorted(names)
        for name in names:
            single = catalog.store.get_row(name)
            assert single is not None
            assert single.columns == before[name].columns == tuple((*column, None) for column in COLUMNS)
            assert single.parameters == before[name].parameters
        with pytest.warns(UnreadableTableWarning):
            for name in names:
                catalog.execute(f"CREATE VIEW ac.v_{name.name} AS SELECT * FROM {name}")  # writes a UUID
        after = {row.name: row for row in read_rows(catalog.store, names)}
    for name in names:
        changed = {
            key
            for key in before[name].parameters.keys() | after[name].parameters.keys()
            if before[name].parameters.get(key) != after[name].parameters.get(key)
        }
        assert changed <= {"hive-views.uuid", "transient_lastDdlTime", "hive_views_uuid"}, name
        assert after[name].table_type == before[name].table_type


def fields(row: Table) -> dict[str, Any]:
    """Return the fields of a row that have a value."""
    return {name: value for name in row.__slots__ if (value := getattr(row, name)) is not None}


@pytest.mark.parametrize(
    "version", [NEWEST, *(pytest.param(other, marks=pytest.mark.extended) for other in ("4.0.1", "4.1.0", "4.2.1"))]
)
def test_what_the_translation_changes_for_clients_without_capabilities(tmp_path: Path, version: str) -> None:
    """docs/servers.md has the results."""
    rows = {
        "plain": table("ac", "plain", ORC, {}),
        "external": table("ac", "external", ORC, {"EXTERNAL": "TRUE"}),
        "insert_only": table("ac", "insert_only", TEXT, INSERT_ONLY),
    }
    with started(tmp_path / "hms", version, properties=WITHOUT_TRANSFORMER) as server, connect(server.port) as raw:
        raw.create_database(Database(name="ac", locationUri=f"{server.warehouse}/ac.db"))
        raw.create_database(Database(name="moved", locationUri=f"{server.warehouse}/other_name.db"))
        for row in rows.values():
            raw.create_table(row)
        request = GetTablesRequest(dbName="ac", tblNames=list(rows), capabilities=INSERT_ONLY_TABLES)
        before = {row.tableName: fields(row) for row in raw.get_table_objects_by_name_req(request).tables}
    with started(tmp_path / "hms", version) as server, connect(server.port) as raw:

        def read(name: str, **processor: Any) -> dict[str, Any]:
            one = GetTableRequest(dbName="ac", tblName=name, capabilities=INSERT_ONLY_TABLES, **processor)
            return fields(raw.get_table_req(one).table)

        assert {row.tableName: fields(row) for row in raw.get_table_objects_by_name_req(request).tables} == before
        assert {name: read(name) for name in rows} == before
        assert {name: read(name, **FOREIGN) for name in rows} == {name: before[name] | ADDED[name] for name in rows}

        # Clients create tables and views in these directories.
        assert raw.get_database("ac").locationUri.endswith("/warehouse/ac.db")
        assert raw.get_database("moved").locationUri.endswith("/warehouse/moved.db")

        raw.create_table(table("ac", "managed", ORC, {}))
        created = read("managed")
        assert created["tableType"] == "EXTERNAL_TABLE"
        assert (
            created["parameters"].items() >= {"TRANSLATED_TO_EXTERNAL": "TRUE", "external.table.purge": "TRUE"}.items()
        )
        for parameters in (ACID, INSERT_ONLY):
            with pytest.raises(TException, match="Processor has no capabilities, cannot create an ACID table"):
                raw.create_table(table("ac", "transactional", ORC, parameters))
