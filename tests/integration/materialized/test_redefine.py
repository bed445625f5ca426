"""Replacing a definition: stored rows of the old one answer no query, and an interruption loses no row."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    CyclicViewError,
    InvalidPropertyError,
    MetastoreError,
    NotMaterializedError,
    RefreshConflictError,
    RefreshError,
    SqlError,
)
from hive_views.materialized.freshness.verdict import Cause, Verdict
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.redefine import redefine
from tests.integration.materialized.conftest import LAYOUTS, SALES, SAMPLED_LAYOUTS, rows
from tests.integration.materialized.duck_engine import ConcurrentWriterEngine, DuckEngine
from tests.proxy import DropReply, DropRequest

KILL_STEP = 1 if os.environ.get("HIVE_VIEWS_EVERY_KILL") else 31

OLD, NEW = "SELECT id, amount FROM sales WHERE amount > 1", "SELECT shop, id, amount * 2 AS amount FROM sales"
OLD_ROWS, NEW_ROWS = [(1, 10), (2, 20), (3, 5)], [("a", 1, 20), ("a", 3, 10), ("b", 2, 40)]


def stored(views, name, snapshot: int | None = None) -> list[tuple]:
    storage = views.load(name).storage
    return sorted(tuple(row.values()) for row in storage.scan(snapshot_id=snapshot).to_arrow().to_pylist())


@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
def test_next_refresh_publishes_columns_with_rows(catalog, views, engine, market, run, layout):
    name = (market, "mv")
    views.create(name, OLD, layout=layout)
    views.load(name).refresh(engine)
    first = views.load(name).snapshot.snapshot_id
    done = run(f"CREATE OR REPLACE MATERIALIZED VIEW mv TBLPROPERTIES ('team' = 'bi') AS {NEW}")
    assert done.kind == "replaced"
    view = views.load(name)
    assert view.metadata.current_version_id == 2 and view.properties["team"] == "bi"
    assert stored(views, name) == OLD_ROWS, "readers of the storage table get the old columns with the old rows"
    reading = views.load(name).reading(allow_stale_data=True, max_staleness_ms=10**9)
    assert not reading.from_storage and Cause.DEFINITION in {reason.cause for reason in reading.freshness.reasons}
    with pytest.raises(RefreshError, match="incrementally"):
        views.load(name).refresh(engine, mode="incremental")
    assert stored(views, name) == OLD_ROWS
    assert views.load(name).refresh(engine)[-1].action == "full"
    assert stored(views, name) == NEW_ROWS and views.freshness(name).is_fresh
    assert stored(views, name, first) == OLD_ROWS, "time travel"
    fields = {field.name: field.field_id for field in views.load(name).storage.schema().fields}
    assert fields["id"] == 1 and fields["shop"] == 3
    catalog.load_table((market, "sales")).append(rows((9, "c", 9)))
    assert views.load(name).refresh(engine)[-1].action == "incremental"
    assert stored(views, name) == [*NEW_ROWS, ("c", 9, 18)]
    run(f"ALTER MATERIALIZED VIEW mv AS {OLD}")
    assert views.load(name).refresh(engine)[-1].action == "full"
    assert stored(views, name) == [*OLD_ROWS, (9, 9)] and views.freshness(name).is_fresh
    assert run(f"ALTER MATERIALIZED VIEW mv AS {OLD}").kind == "unchanged"
    left = views.load(name).orphans(older_than_ms=0)
    assert (left.snapshots, left.rows, left.files) == ((), (), ())
    directory = Path(view.metadata.location.removeprefix("file:"))
    views.load(name).drop()
    assert catalog.list_tables(market) == [(market, "sales"), (market, "shops")]
    assert layout != "table" or list(directory.rglob("*.metadata.json")) == [], "the earlier definitions' files as well"


def test_rejected_replacement_changes_nothing(catalog, views, engine, market, run):
    for layout in LAYOUTS:
        name = (market, layout)
        views.create(name, "SELECT shop, id FROM sales", layout=layout, partitioned_by=("shop",))
        views.load(name).refresh(engine)
        for query in ("SELECT id FROM sales", "SELECT length(shop) AS shop, id FROM sales"):
            with pytest.raises(SqlError, match="partitioned or sorted by this column"):
                run(f"CREATE OR REPLACE MATERIALIZED VIEW {layout} AS {query}")
            with pytest.raises(InvalidPropertyError):
                views.load(name).replace(query)
        with pytest.raises(SqlError, match="layout"):
            other = "table" if layout != "table" else "attached"
            run(
                f"CREATE OR REPLACE MATERIALIZED VIEW {layout} TBLPROPERTIES ('hive-views.layout' = '{other}') AS {OLD}"
            )
        assert views.freshness(name).is_fresh
    catalog.execute("CREATE VIEW over AS SELECT shop FROM registered", database=market)
    with pytest.raises(CyclicViewError):
        run("ALTER MATERIALIZED VIEW registered AS SELECT shop, 1 AS id FROM over")
    assert views.freshness((market, "registered")).is_fresh


def test_concurrent_definition_of_table_layout_is_not_overwritten(catalog, open_catalog, views, market):
    name = (market, "mv")
    views.create(name, OLD, layout="table")
    seen = views.load(name)
    faster = open_catalog({})
    faster.materialized.load(name).replace("SELECT id FROM sales")
    with pytest.raises(CommitFailedError, match="definition was replaced concurrently"):
        redefine(catalog.store, seen, catalog.author(name, NEW), {})
    now = views.load(name)
    assert (now.metadata.current_version_id, [field.name for field in now.metadata.current_schema().fields]) == (
        2,
        ["id"],
    )
    # An unrelated change of the table is no conflict.
    catalog.load_table(name).transaction().set_properties({"team": "bi"}).commit_transaction()
    redefine(catalog.store, now, catalog.author(name, NEW), {})
    assert views.load(name).metadata.current_version_id == 3
    assert views.load(name).storage.metadata.properties["team"] == "bi"


@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
def test_definition_replaced_during_refresh(views, engine, market, layout):
    name = (market, "mv")
    views.create(name, OLD, layout=layout)
    views.load(name).refresh(ConcurrentWriterEngine(engine, after=lambda: views.load(name).replace(NEW)), mode="full")
    assert stored(views, name) == OLD_ROWS, "columns and rows are those of one definition"
    assert views.freshness(name).verdict is Verdict.STALE
    assert not views.load(name).reading(allow_stale_data=True).from_storage
    views.load(name).refresh(engine)
    assert stored(views, name) == NEW_ROWS and views.freshness(name).is_fresh


@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
def test_staging_row_is_not_listed(catalog, views, engine, market, run, layout):
    """An attached storage has a row while it is written, and after a kill; columns to come have one in any layout."""
    name, seen = (market, "mv"), []
    views.create(name, OLD, layout=layout)

    def record() -> None:
        tables = [table for _, table in catalog.list_tables(market) if "__refresh_" in table]
        listed = [item.name.name for item in views.listing(market)]
        shown = [row[1] for row in run("SHOW MATERIALIZED VIEWS").rows]
        seen.append((len(tables), listed, shown))
        for table in tables:
            with pytest.raises(NotMaterializedError):
                views.load((market, table))

    for _ in range(2):
        views.load(name).refresh(ConcurrentWriterEngine(engine, after=record), mode="full")
    views.load(name).replace(NEW)
    views.load(name).refresh(ConcurrentWriterEngine(engine, after=record))
    there = 1 if layout == "attached" else 0
    assert [number for number, *_ in seen] == [there, there, 1], "else this proves nothing"
    assert [lists for _, *lists in seen] == [[["mv"], ["mv"]]] * 3


@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
@pytest.mark.parametrize("query", [OLD, NEW], ids=["same columns", "new columns"])
def test_concurrent_refreshes_conflict(catalog, views, engine, market, layout, query):
    name = (market, "mv")
    views.create(name, OLD, layout=layout)
    views.load(name).refresh(engine)
    catalog.load_table((market, "sales")).append(rows((9, "c", 9)))
    views.load(name).replace(query)
    with pytest.raises(RefreshConflictError):
        views.load(name).refresh(ConcurrentWriterEngine(engine, after=lambda: views.load(name).refresh(engine)))
    assert stored(views, name) == ([*OLD_ROWS, (9, 9)] if query == OLD else [*NEW_ROWS, ("c", 9, 18)])
    assert views.freshness(name).is_fresh
    left = views.load(name).orphans(older_than_ms=0)
    assert (left.snapshots, left.rows, left.files) == ((), (), ())


@pytest.mark.parametrize("action", [DropRequest(), DropReply()], ids=["before", "behind"])
def test_connection_lost_at_definition_swap(proxy, open_catalog, views, engine, market, action):
    """The new metadata file is there, and the table names it, or does not: either way a definition is."""
    name = (market, "mv")
    views.create(name, OLD, layout="table")
    views.load(name).refresh(engine)
    behind = open_catalog({"uri": proxy.uri})
    created = behind.author(name, NEW)
    proxy.on("alter_table_with_environment_context", action, onwards=True)
    with suppress(CommitStateUnknownError, MetastoreError):
        behind.materialized.load(name).replace(created)
    assert "alter_table_with_environment_context" in proxy.methods
    view = views.load(name)
    assert view.metadata.current_version_id == (2 if isinstance(action, DropReply) else 1)
    assert view.layout is Layout.TABLE and stored(views, name) == OLD_ROWS
    assert views.freshness(name).is_fresh is isinstance(action, DropRequest)
    views.load(name).replace(NEW)
    assert [version.version_id for version in views.load(name).metadata.versions] == [1, 2], "none is lost"
    views.load(name).refresh(engine)
    assert stored(views, name) == NEW_ROWS and views.freshness(name).is_fresh


@pytest.mark.timeout(1200)
def test_killed_refresh_with_new_columns(open_catalog, market, killer):
    """SIGKILL at some of its moments (`HIVE_VIEWS_EVERY_KILL=1`: at each): old columns and rows, or new ones."""
    catalog = open_catalog({"iceberg.engine.hive.lock-enabled": "false"})
    views, engine, name = catalog.materialized, DuckEngine(catalog), (market, "mv")
    views.create(name, OLD, layout="table")
    views.load(name).refresh(engine)
    point, moments, texts = 15, [], {OLD: OLD_ROWS, NEW: NEW_ROWS}
    known, expected = OLD, NEW
    while True:
        views.load(name).replace(expected)
        if (printed := killer(name, point, "refresh")) == "done":
            break
        assert printed == "killed"
        fresh = views.freshness(name).is_fresh
        assert stored(views, name) == (texts[expected] if fresh else texts[known]), point
        moments.append(fresh)
        views.load(name).refresh(engine)
        assert stored(views, name) == texts[expected] and views.freshness(name).is_fresh, point
        views.load(name).remove_orphans(older_than_ms=0)
        left = views.load(name).orphans(older_than_ms=0)
        assert (left.snapshots, left.rows, left.files) == ((), (), ()), point
        known, expected = expected, known
        point += KILL_STEP
    assert len(moments) > 2 and not moments[0], "else this proves nothing"
    assert catalog.list_tables(market) == [(market, name) for name in ("mv", "sales", "shops")]


TOTALS = "SELECT shop, sum(amount) AS total FROM sales GROUP BY shop"
SAME_TOTALS = "select s.shop, SUM(s.amount) as total -- by shop\nfrom sales AS s\ngroup by s.shop"


@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
def test_rows_stay_fresh_if_only_formatting_changed(views, engine, market, layout, catalog):
    """Formatting, comments, the case of keywords and aliases; the next refresh is incremental."""
    name = (market, "mv")
    views.create(name, TOTALS.replace("sales", "sales AS x"), layout=layout)
    views.load(name).refresh(engine)
    assert views.load(name).replace(SAME_TOTALS)
    view = views.load(name)
    assert view.metadata.current_version_id == 2
    assert views.freshness(name).verdict is Verdict.FRESH
    assert views.load(name).reading().from_storage
    assert [report.action for report in views.load(name).refresh(engine)] == ["unchanged"]
    catalog.load_table((market, "sales")).append(rows((4, "c", 7)))
    assert [reason.cause for reason in views.freshness(name).reasons] == [Cause.CHANGED]
    assert views.load(name).refresh(engine)[-1].action == "incremental"
    assert stored(views, name) == [("a", 15), ("b", 20), ("c", 7)]
    assert views.freshness(name).verdict is Verdict.FRESH


@pytest.mark.parametrize(
    "query",
    [
        TOTALS.replace("sum", "max"),
        TOTALS.replace("FROM sales", "FROM sales WHERE amount > 1"),
        TOTALS.replace("total", "Total"),
        TOTALS.replace("sum(amount)", "sum(DISTINCT amount)"),
        TOTALS.replace("sales", "others"),
        TOTALS.replace("sum(amount)", "sum(id)"),
    ],
)
def test_rows_of_another_query_answer_nothing(views, engine, market, catalog, query):
    catalog.create_table((market, "others"), SALES)
    name = (market, "mv")
    views.create(name, TOTALS)
    views.load(name).refresh(engine)
    views.load(name).replace(query)
    assert [reason.cause for reason in views.freshness(name).reasons][:1] == [Cause.DEFINITION]
    assert not views.load(name).reading().from_storage


def test_rows_of_a_replaced_source_are_not_kept(views, engine, market, catalog):
    """The same text over another table of the same name."""
    name = (market, "mv")
    views.create(name, TOTALS)
    views.load(name).refresh(engine)
    catalog.drop_table((market, "sales"))
    catalog.create_table((market, "sales"), SALES)
    views.load(name).replace(SAME_TOTALS)
    assert Cause.REPLACED in [reason.cause for reason in views.freshness(name).reasons]
    assert not views.load(name).reading().from_storage


def test_rows_of_an_expired_version_are_not_kept(views, engine, market, catalog):
    """The metadata no longer contains the refreshed version, so its definition is not known."""
    name = (market, "mv")
    views.create(name, TOTALS, properties={"version.history.num-entries": "1"})
    views.load(name).refresh(engine)
    views.load(name).replace(SAME_TOTALS)
    assert views.load(name).metadata.version(1) is None
    assert [reason.cause for reason in views.freshness(name).reasons] == [Cause.DEFINITION]
