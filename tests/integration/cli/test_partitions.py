"""deps partitions, on a real metastore."""

from __future__ import annotations

import json

import pytest

from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, Partition
from tests.integration.catalog.samples import hive_row
from tests.integration.cli.conftest import Cli
from tests.integration.metastore.rpc import connect


@pytest.fixture
def view(cli: Cli, metastore: EmbeddedMetastore, database: str) -> str:
    """orders (ds = 1, 2) joined with rates (ds = 1)."""
    with connect(metastore.port) as client:
        for name, days in (("orders", ("1", "2")), ("rates", ("1",))):
            row = hive_row(database, name, "EXTERNAL_TABLE", EXTERNAL="TRUE")
            row.partitionKeys = [FieldSchema(name="ds", type="string", comment=None)]
            client.create_table(row)
            sd = client.get_table(database, name).sd
            for day in days:
                client.add_partition(
                    Partition([day], database, name, 0, 0, sd, {"transient_lastDdlTime": "1800000000"})
                )
    query = "SELECT o.one, o.ds FROM orders o JOIN rates r ON o.ds = r.ds"
    assert cli("sql", f"CREATE VIEW v AS {query}", "--database", database).code == 0
    return f"{database}.v"


def test_complete_partition_exits_with_0(cli: Cli, view: str, database: str) -> None:
    result = cli("deps", "partitions", view, "ds=1", "--json").json
    assert (result["complete"], result["partition"]) == (True, {"ds": "1"})
    assert result["fresh_as_of"] == "2027-01-15T08:00:00Z"
    assert [(item["table"], item["restricted"]) for item in result["tables"]] == [
        (f"{database}.orders", {"ds": "ds"}),
        (f"{database}.rates", {"ds": "ds"}),
    ]
    assert result["tables"][0]["partitions"] == [{"name": "ds=1", "written": "2027-01-15T08:00:00Z", "trust": "row"}]


def test_incomplete_partition_exits_with_1(cli: Cli, view: str, database: str) -> None:
    done = cli("deps", "partitions", view, "ds=2")
    assert (done.code, done.err) == (1, "")
    assert "  ds=2  missing" in done.out.splitlines()
    assert f"incomplete: {database}.rates has no partition ds=2" in done.out.splitlines()


@pytest.mark.parametrize(("value", "code"), [("ds", 2), ("=1", 2), ("nope=1", 2)])
def test_invalid_partition_values_are_rejected(cli: Cli, view: str, value: str, code: int) -> None:
    assert cli("deps", "partitions", view, value).code == code


def test_stale_partitions_exit_with_1(cli: Cli, view: str, database: str, metastore: EmbeddedMetastore) -> None:
    query = "CREATE VIEW marked PARTITIONED ON (ds) AS SELECT one, ds FROM rates"
    assert cli("sql", query, "--database", database).code == 0
    with connect(metastore.port) as client:
        sd = client.get_table(database, "rates").sd
        client.add_partition(Partition(["0"], database, "rates", 0, 0, sd, {"transient_lastDdlTime": "1700000000"}))
    for day in ("0", "1"):
        assert cli("sql", f"ALTER VIEW marked ADD PARTITION (ds='{day}')", "--database", database).code == 0
    done = cli("deps", "partitions", database, "--stale")
    assert (done.code, done.out.splitlines()) == (
        1,
        [
            f"{database}.marked ds=1  stale: {database}.rates ds=1 was written at 2027-01-15 08:00:00",
            "1 of 2 partitions are stale",
        ],
    )
    result = json.loads(cli("deps", "partitions", f"{database}.marked", "--stale", "--json").out)
    assert [(item["partition"], item["stale"]) for item in result["partitions"]] == [({"ds": "1"}, True)]
    assert cli("deps", "partitions", f"{database}.v", "--stale").code == 0
    assert cli("deps", "partitions", view, "ds=1", "--stale").code == 2
    assert "not stale: nothing that it needs has changed" in cli("deps", "partitions", f"{database}.marked", "ds=0").out
