"""A server with Hive 4's default translation of tables, for a client without capabilities of a processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import UnreadableTableWarning
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from hive_views.metastore.queries import read_rows
from tests.conftest import started
from tests.integration.hive.reader import WITHOUT_TRANSFORMER
from tests.integration.metastore.rpc import connect
from tests.integration.transactional.tables import create_tables
from tests.integration.transactional.test_commands import COLUMNS, TABLES

NEWEST = "4.2.0"


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
