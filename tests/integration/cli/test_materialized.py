"""`hive-views mv` against the real metastore; refreshes on Spark are in tests/integration/spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import RefreshError
from tests.integration.catalog.samples import path
from tests.integration.cli.conftest import Cli
from tests.integration.materialized.duck_engine import DuckEngine
from tests.integration.materialized.test_refresh_many import FailingEngine
from tests.suites import extended


@pytest.fixture
def sales(catalog: HiveViewCatalog, database: str) -> str:
    rows = pa.table({"id": [1, 2], "shop": ["a", "b"]})
    catalog.create_table((database, "sales"), rows.schema).append(rows)
    return database


def test_create_show_and_drop(cli: Cli, catalog: HiveViewCatalog, sales: str, tmp_path) -> None:
    file = tmp_path / "query.sql"
    file.write_text("SELECT id, shop FROM sales", encoding="utf-8")
    options = ("--partitioned-by", "shop", "-p", "team=bi")
    created = cli("mv", "create", f"{sales}.stored", "--file", str(file), *options, "--json").json
    assert created["view"] == f"{sales}.stored"
    assert (created["layout"], created["storage"]) == ("registered", f"{sales}.stored__storage")
    assert (created["freshness"], created["reasons"]) == ("stale", ["it was never refreshed"])
    stale = cli("mv", "status", f"{sales}.stored", "--json")
    assert (stale.code, json.loads(stale.out)) == (1, created)
    [listed] = cli("mv", "list", sales, "--json").json["views"]
    assert (listed["view"], listed["freshness"]) == (f"{sales}.stored", "stale")
    assert cli("mv", "list", sales).out == f"{sales}.stored  stale  (registered)\n"
    shown = cli("mv", "status", f"{sales}.stored").out
    assert "it was never refreshed" in shown and f"{sales}.stored__storage" in shown
    explained = cli("mv", "explain", f"{sales}.stored", "--json").json
    assert explained["plans"] == [{"action": "full", "why": "it was never refreshed", "where": None}]
    assert [source["name"] for source in explained["sources"]] == [f"{sales}.sales"]
    text = cli("mv", "explain", f"{sales}.stored").out
    assert text.startswith(f"{sales}.stored: full refresh: it was never refreshed\n{sales}.sales: ")
    assert cli("mv", "drop", f"{sales}.stored").code == 2, "there is no terminal to ask on"
    assert cli("mv", "drop", f"{sales}.stored", "--yes", "--json").json == {
        "dropped": f"{sales}.stored",
        "remaining_files": [],
    }
    assert catalog.list_tables(sales) == [(sales, "sales")]


@pytest.mark.parametrize("layout", ["registered", "attached", "table"])
def test_drop_that_leaves_files_fails_after_the_drop(
    cli: Cli, catalog: HiveViewCatalog, sales: str, layout: str
) -> None:
    view = catalog.materialized.create((sales, "mv"), "SELECT id FROM sales", layout=layout)
    assert view.storage is not None
    storage = "py-io-impl=tests.unit.io.test_deletion.Undeletable"  # it keeps the first files
    done = cli("--property", storage, "mv", "drop", f"{sales}.mv", "--yes", "--json")
    assert done.code == 1
    remaining = set(json.loads(done.out)["remaining_files"])
    assert view.storage.metadata_location in remaining
    assert len(remaining) == 2
    assert all(path(location).exists() for location in remaining)
    assert catalog.list_tables(sales) == [(sales, "sales")]


CODES = [
    (("create", "{}.v"), 2),
    (("create", "{}.v", "--sql", "SELECT 1 AS one", "--file", "x"), 2),
    (("create", "{}.sales", "--sql", "SELECT id FROM sales"), 4),
    (("create", "{}.v", "--sql", "SELECT id FROM sales", "--layout", "odd"), 2),
    (("create", "{}.v", "--file", "no such file"), 2),
    (("create", "{}.v", "--sql", "SELECT id FROM sales", "-p", "hive-views.allow-stale-data=yes"), 2),
    (("refresh", "{}.nothing"), 3),
    (("refresh", "{}.v", "--conf", "spark.master"), 2),
    (("replace", "{}.sales", "--sql", "SELECT id FROM sales"), 3),
    (("set", "{}.v"), 2),
    (("set", "{}.nothing", "--unset", "a"), 3),
    (("plain", "{}.sales"), 3),
    (("back", "{}.nothing"), 3),
    (("refreshes", "{}.nothing"), 3),
    (("rows", "{}.nothing"), 3),
    (("rows", "{}.v", "--version", "1", "--at", "2026-01-01"), 2),
    (("rows", "{}.v", "--at", "yesterday"), 2),
    (("rows", "{}.v", "--limit", "0"), 2),
    (("refresh", "{}.v", "--full", "--incremental"), 2),
    (("status", "{}.nothing"), 3),
    (("status",), 2),
    (("status", "{}.v", "--all"), 2),
    (("status", "{}.v", "--html", "page.html"), 2),
    (("status", "--database", "no_such_database"), 3),
    (("refresh",), 2),
    (("refresh", "{}.v", "--all"), 2),
    (("refresh", "--all", "--parallel", "0"), 2),
    (("refresh", "--all", "--cascade"), 2),
    (("status", "{}.sales"), 3),
    (("drop", "{}.sales", "--yes"), 3),
    (("list", "no_such_database"), 3),
]


def test_exit_codes(cli: Cli, sales: str) -> None:
    for words, code in CODES:
        done = cli("mv", *(word.format(sales) for word in words))
        assert done.code == code, (words, done)


@pytest.mark.parametrize("layout", ["attached", *extended("registered", "table")])
def test_change_and_read(cli: Cli, catalog: HiveViewCatalog, sales: str, layout: str) -> None:
    name = f"{sales}.stored"
    cli("mv", "create", name, "--sql", "SELECT id, shop FROM sales", "--layout", layout)
    assert cli("mv", "rows", name).out == "it was never refreshed\n"
    assert cli("mv", "rows", name, "--json").json["columns"] == ["id", "shop"]
    first = catalog.materialized.load(name).refresh(DuckEngine(catalog))[-1].snapshot_id
    catalog.load_table((sales, "sales")).append(pa.table({"id": [3], "shop": ["c"]}))
    changed = cli("mv", "set", name, "-p", "hive-views.max-staleness-ms=3600000", "-p", "team=bi").out
    assert changed == f"{name}  changed\n"
    status = cli("mv", "status", name, "--json").json
    assert (status["freshness"], status["max_staleness_ms"]) == ("fresh within grace", 3_600_000)
    assert cli("mv", "set", name, "--unset", "hive-views.max-staleness-ms", "--json").json["action"] == "changed"
    stale = cli("mv", "status", name, "--json")
    assert (stale.code, json.loads(stale.out)["freshness"]) == (1, "stale")
    catalog.materialized.load(name).refresh(DuckEngine(catalog))
    listed = cli("mv", "refreshes", name, "--json").json["refreshes"]
    # Without time travel the list of an attached storage holds the last one; the snapshots are there all the same.
    assert [item["current"] for item in listed] == ([True] if layout == "attached" else [False, True])
    page = cli("mv", "rows", name, "--version", str(first), "--json").json
    assert (page["snapshot_id"], sorted(page["rows"])) == (first, [[1, "a"], [2, "b"]])
    then = cli("mv", "rows", name, "--at", listed[0]["time"], "--json").json
    assert then["snapshot_id"] == listed[0]["snapshot_id"] and len(then["rows"]) == (3 if layout == "attached" else 2)
    *printed, state = cli("mv", "rows", name).out.splitlines()
    assert sorted(printed)[-1].split() == ["id", "shop"] and state.startswith("stored 20") and "; fresh" in state
    assert len(cli("mv", "rows", name, "--limit", "1", "--json").json["rows"]) == 1
    assert cli("mv", "rows", name, "--version", "1").code == 3
    words = ("mv", "replace", name, "--sql", "SELECT shop FROM sales", "--json")
    assert [cli(*words).json["action"] for _ in range(2)] == ["replaced", "unchanged"]
    if layout == "table":
        assert cli("mv", "plain", name).code == 3
        return
    assert cli("mv", "plain", name).out == f"{name}  plain\n"
    assert cli("mv", "status", name).code == 3 and cli("mv", "rows", name).code == 3
    assert cli("mv", "back", name, "--json").json == {"view": name, "action": "materialized"}
    assert len(cli("mv", "rows", name, "--json").json["rows"]) == 3, "no row was copied or lost"


def test_copy(cli: Cli, catalog: HiveViewCatalog, sales: str) -> None:
    cli("mv", "create", f"{sales}.stored", "--sql", "SELECT id, shop FROM sales")
    words = ("mv", "copy", f"{sales}.stored", "by_shop", "--partitioned-by", "shop", "--sorted-by", "id DESC", "--json")
    status = cli(*words).json
    assert (status["view"], status["freshness"]) == (f"{sales}.by_shop", "stale")
    assert catalog.materialized.load(f"{sales}.stored").properties["hive-views.copies"] == "by_shop"
    storage = catalog.materialized.load(f"{sales}.by_shop").storage
    assert storage is not None and len(storage.spec().fields) == 1 and len(storage.sort_order().fields) == 1
    assert cli(*words).code == 4
    assert cli("mv", "copy", f"{sales}.none", "other").code == 3


def test_status_of_all(cli: Cli, catalog: HiveViewCatalog, sales: str, tmp_path: Path) -> None:
    for name, query in (("low", "SELECT id, shop FROM sales"), ("top", "SELECT shop FROM low")):
        cli("mv", "create", f"{sales}.{name}", "--sql", query)
    catalog.materialized.load(f"{sales}.low").refresh(DuckEngine(catalog))
    page = tmp_path / "page.html"
    done = cli("mv", "status", "--database", sales, "--html", str(page), "--json")
    low, top = json.loads(done.out)["views"]
    assert (done.code, low["freshness"], low["action"], low["rows"]) == (1, "fresh", "full", 2)
    assert (top["freshness"], top["reads"], top["action"]) == ("stale", [f"{sales}.low"], None)
    assert f"{sales}.top" in page.read_text() and "<svg" in page.read_text()
    catalog.materialized.load(f"{sales}.top").refresh(DuckEngine(catalog))
    done = cli("mv", "status", "--database", sales)
    assert done.code == 0 and f"{sales}.top" in done.out


def test_status_shows_last_failure(cli: Cli, catalog: HiveViewCatalog, sales: str) -> None:
    name = f"{sales}.mv"
    cli("mv", "create", name, "--sql", "SELECT id FROM sales", "--sorted-by", "id desc")
    assert "SORTED BY (`id` DESC NULLS LAST)" in cli("sql", f"SHOW CREATE MATERIALIZED VIEW {name}").out
    with pytest.raises(RefreshError):
        catalog.materialized.load(name).refresh(FailingEngine(catalog, "mv"))
    assert "its last refresh failed 20" in cli("mv", "status", name).out
    assert json.loads(cli("mv", "status", name, "--json").out)["failure"]["error"] == "disk full"
    catalog.materialized.load(name).refresh(DuckEngine(catalog))
    assert cli("mv", "status", name, "--json").json["failure"] is None


def test_orphans_are_listed_and_removed(cli: Cli, catalog: HiveViewCatalog, sales: str) -> None:
    name = f"{sales}.stored"
    cli("mv", "create", name, "--sql", "SELECT id FROM sales")
    storage = catalog.materialized.load(name).storage
    stray = Path(storage.metadata.location.removeprefix("file:")) / "data" / "stray.parquet"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"PAR1")
    assert cli("mv", "orphans", name).out == "0 orphan(s)\n", "it is too young"
    assert cli("mv", "orphans", name, "--older-than", "0", "--json").json["files"] == [f"file:{stray}"]
    assert stray.exists()
    assert cli("mv", "orphans", name, "--older-than", "0", "--remove").code == 2, "there is no terminal to ask on"
    done = cli("mv", "orphans", name, "--older-than", "0", "--remove", "--yes")
    assert done.out == f"file     file:{stray}\n1 orphan(s) removed\n" and not stray.exists()
    assert cli("mv", "orphans", f"{sales}.sales").code == 3


@pytest.mark.parametrize("option", ["--select", "--database"])
def test_empty_selection_is_rejected(cli: Cli, option: str) -> None:
    """A script whose variable is not set must not refresh all views."""
    done = cli("mv", "refresh", "--stale", option, "")
    assert done.code == 2 and f"{option}: it is empty" in done.err
