"""Kinds of objects in lists: materialized views of other programs, index tables, views whose metadata file is gone."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pytest

from hive_views import HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.integration.cli.conftest import Cli
from tests.integration.legacy_import.rows import alter, hive_view_row, table_row, trino_view_row

COLUMNS = [("id", "int")]


def test_materialized_views_of_other_programs_and_index_tables(cli: Cli, raw: Client, database: str) -> None:
    raw.create_table(table_row(database, "t", COLUMNS))
    raw.create_table(hive_view_row(database, "v", "select id from t", "select id from t", COLUMNS))
    for name, kind in {"mv": "MATERIALIZED_VIEW", "index": "INDEX_TABLE"}.items():
        row = table_row(database, name, COLUMNS)
        row.tableType = kind
        raw.create_table(row)
    for name, parameters in {"trino_mv": None, "trino_mv_without_comment": {"comment": ""}}.items():
        sql = f"SELECT id FROM {database}.t"
        raw.create_table(trino_view_row(database, name, sql, COLUMNS, materialized=True, parameters=parameters))
    raw.create_table(trino_view_row(database, "trino_v", f"SELECT id FROM {database}.t", COLUMNS))
    expected = {
        "t": "hive-table",
        "v": "hive-view",
        "mv": "hive-materialized-view",
        "index": "hive-index-table",
        "trino_mv": "trino-materialized-view",
        "trino_mv_without_comment": "trino-materialized-view",
        "trino_v": "hive-view",
    }
    listed = cli("list", database, "--all", "--long", "--json").json["views"]
    assert {entry["name"]: entry["kind"] for entry in listed} == expected
    assert cli("--json", "show", f"{database}.trino_mv").json["kind"] == "trino-materialized-view"
    # The metastore drops no database with an index table.
    row = raw.get_table(database, "index")
    row.tableType = "MANAGED_TABLE"
    alter(raw, row)


@pytest.mark.parametrize("content", [None, b"{"])
def test_plain_view_without_a_readable_file_is_no_materialized_view(
    cli: Cli, catalog: HiveViewCatalog, raw: Client, database: str, content: bytes | None
) -> None:
    raw.create_table(table_row(database, "t", COLUMNS))
    catalog.execute(f"CREATE VIEW {database}.plain AS SELECT id FROM {database}.t")
    for layout in ("registered", "attached", "table"):
        sql = f"SELECT id FROM {database}.t"
        assert cli("mv", "create", f"{database}.{layout}", "--sql", sql, "--layout", layout).code == 0
    for name in ("plain", "registered", "attached"):
        path = Path(urlparse(raw.get_table(database, name).parameters["metadata_location"]).path)
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    listed = {item["view"]: item for item in cli("--json", "mv", "list", database).json["views"]}
    assert {name.partition(".")[2]: item["layout"] for name, item in listed.items()} == {
        "registered": "registered",
        "attached": "attached",
        "table": "table",
    }
    unreadable = [listed[f"{database}.{name}"] for name in ("registered", "attached")]
    assert [item["freshness"] for item in unreadable] == ["unknown", "unknown"]
    status = cli("--json", "mv", "status", "--database", database)
    assert f'"{database}.plain"' not in status.out
    assert f"{database}.registered" in status.out
    assert cli("list", database).out.split().count(f"{database}.plain") == 1
