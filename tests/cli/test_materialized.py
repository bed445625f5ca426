"""`hive-views mv` against the real metastore; what it refreshes on Spark is in tests/spark/test_refresh.py."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hive_views import HiveViewCatalog
from tests.cli.conftest import Cli


@pytest.fixture
def sales(catalog: HiveViewCatalog, database: str) -> str:
    rows = pa.table({"id": [1, 2], "shop": ["a", "b"]})
    catalog.create_table((database, "sales"), rows.schema).append(rows)
    return database


def test_create_look_and_drop(cli: Cli, catalog: HiveViewCatalog, sales: str, tmp_path) -> None:
    file = tmp_path / "query.sql"
    file.write_text("SELECT id, shop FROM sales", encoding="utf-8")
    options = ("--partitioned-by", "shop", "-p", "team=bi")
    made = cli("mv", "create", f"{sales}.stored", "--file", str(file), *options, "--json").json
    assert made["view"] == f"{sales}.stored"
    assert (made["layout"], made["storage"]) == ("registered", f"{sales}.stored__storage")
    assert (made["freshness"], made["reasons"]) == ("stale", ["it was never refreshed"])
    assert cli("mv", "status", f"{sales}.stored", "--json").json == made
    [listed] = cli("mv", "list", sales, "--json").json["views"]
    assert (listed["view"], listed["freshness"]) == (f"{sales}.stored", "stale")
    assert cli("mv", "list", sales).out == f"{sales}.stored  stale  (registered)\n"
    shown = cli("mv", "status", f"{sales}.stored").out
    assert "it was never refreshed" in shown and f"{sales}.stored__storage" in shown
    assert cli("mv", "drop", f"{sales}.stored").code == 2, "there is no terminal to ask on"
    assert cli("mv", "drop", f"{sales}.stored", "--yes", "--json").json == {"dropped": f"{sales}.stored"}
    assert catalog.list_tables(sales) == [(sales, "sales")]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("create", "{}.v"), 2),
        (("create", "{}.v", "--sql", "SELECT 1 AS one", "--file", "x"), 2),
        (("create", "{}.sales", "--sql", "SELECT id FROM sales"), 4),
        (("refresh", "{}.v", "--full", "--incremental"), 2),
        (("status", "{}.nothing"), 3),
        (("status", "{}.sales"), 3),
        (("drop", "{}.sales", "--yes"), 3),
        (("list", "no_such_database"), 3),
    ],
)
def test_exit_codes(cli: Cli, sales: str, words: tuple[str, ...], code: int) -> None:
    assert cli("mv", *(word.format(sales) for word in words)).code == code


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
