"""Runs killed with SIGKILL at many points and resumed, with late delivery of the killed process' last request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportStatus, RevertStatus, read_journal, read_journal_of
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.plan import ImportPlan, plan_import, write_plan
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from hive_views.metastore.rows.serialization import encode_row
from tests.faults.observer import until
from tests.integration.catalog.samples import files_below
from tests.integration.legacy_import.rows import hive_view_row, table_row
from tests.integration.metastore.rpc import connect
from tests.proxy import ANY, DropReply, Hold, ThriftProxy

REPOSITORY = Path(__file__).parents[3]
NAMES = ("base", "middle", "top")
IDS = [("id", "bigint")]
ALTER = "alter_table_with_environment_context"


@pytest.fixture
def shop(short: EmbeddedMetastore) -> Iterator[str]:
    """A database with a table and three views, each of which reads the previous one."""
    name = f"kill_{uuid4().hex[:12]}"
    with connect(short.port) as raw:
        raw.create_database(Database(name=name, locationUri=f"{short.warehouse}/{name}.db"))
        raw.create_table(table_row(name, "orders", IDS))
        for view, below in zip(NAMES, ("orders", *NAMES), strict=False):
            text = f"select `{below}`.`id` from `{name}`.`{below}`"
            raw.create_table(hive_view_row(name, view, f"select id from {below}", text, IDS))
    yield name
    with connect(short.port) as raw:
        raw.drop_database(name, True, True)


@pytest.fixture
def settings(short: EmbeddedMetastore) -> dict[str, str]:
    """Catalog properties with a heartbeat that is short enough for that metastore."""
    return {"uri": short.uri, "warehouse": short.warehouse, "iceberg.hive.lock-heartbeat-interval-ms": "1000"}


@pytest.fixture
def catalog(settings: dict[str, str]) -> Iterator[HiveViewCatalog]:
    """A catalog on that metastore."""
    with HiveViewCatalog("prod", **settings) as opened:
        yield opened


def start(
    settings: dict[str, str], proxy: ThriftProxy, plan: Path, journal: Path, how: str = "run"
) -> subprocess.Popen[str]:
    """Start a run in another process, behind the proxy; see `tests.integration.legacy_import.run_worker`."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.integration.legacy_import.run_worker",
            json.dumps({**settings, "uri": proxy.uri}),
            str(plan),
            str(journal),
            how,
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


def lost_a_lock(text: str | None) -> bool:
    """Return whether a lock expired: this metastore drops a lock after seconds, and a busy machine may be slower.

    Nothing was changed then, and the user is to run it again.
    """
    return text is not None and text.startswith("Lock on ") and ("heartbeat" in text or "the server dropped" in text)


def check_reverted(catalog: HiveViewCatalog, journal: Path) -> None:
    """Revert a run, and check that all views are reverted."""
    outcomes = list(revert_run(catalog, journal))
    while lost := [outcome for outcome in outcomes if lost_a_lock(outcome.text)]:
        outcomes = [outcome for outcome in outcomes if outcome not in lost]
        outcomes += revert_run(catalog, journal, names=[outcome.name for outcome in lost])
    assert {outcome.status for outcome in outcomes} == {RevertStatus.REVERTED}, outcomes


def check_end(catalog: HiveViewCatalog, short: EmbeddedMetastore, shop: str, plan: ImportPlan, journal: Path) -> None:
    """Resume a run, and check its end: each view is converted once, and no unused file is left."""
    result = run_plan(plan, catalog, journal)
    while any(lost_a_lock(outcome.text) for outcome in result.outcomes):
        result = run_plan(plan, catalog, journal)
    assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}, result
    assert result.complete
    for name in (entry.name.name for entry in plan.entries):
        view = catalog.load_view(f"{shop}.{name}")
        assert len(view.versions) == 1
        assert view.previous_metadata_location is None
        assert not view.drift
        files = {file.name for file in files_below(f"{short.warehouse}/{shop}.db/{name}")}
        assert files == {
            view.metadata_location.rpartition("/")[2],
            view.metadata.properties["hive-views.legacy-row"].rpartition("/")[2],
        }


CALLS = [7, 9, 12, 13, 21]
"""Numbers of the metastore calls at which a run is killed."""
if "HIVE_VIEWS_TEST_KILLS" in os.environ:
    CALLS = list(range(1, int(os.environ["HIVE_VIEWS_TEST_KILLS"]) + 1))


@pytest.mark.parametrize("call", CALLS)
def test_run_killed_at_a_metastore_call_is_resumed(catalog, short, shop, settings, tmp_path, call):
    plan, file, journal = plan_import(catalog, databases=[shop]), tmp_path / "plan", tmp_path / "journal"
    before = {name: encode_row(catalog.store.get_row(ViewName(shop, name))) for name in NAMES}
    file.write_text(write_plan(plan))
    hold = Hold()
    with ThriftProxy(short.port) as proxy:
        proxy.on(ANY, hold, nth=call)
        with start(settings, proxy, file, journal) as run:
            # A run makes 25 calls, or a few more with heartbeats.
            until(lambda: hold.arrived.is_set() or run.poll() is not None)
            run.kill()
        assert run.returncode == (-9 if hold.arrived.is_set() else 0)
        assert hold.arrived.is_set() or call > 25
        check_end(catalog, short, shop, plan, journal)
        pointers = [catalog.load_view(f"{shop}.{name}").metadata_location for name in NAMES]
        if hold.arrived.is_set():
            hold.release()
    assert [catalog.load_view(f"{shop}.{name}").metadata_location for name in NAMES] == pointers
    check_reverted(catalog, journal)
    assert {name: encode_row(catalog.store.get_row(ViewName(shop, name))) for name in NAMES} == before


def test_run_killed_after_writing_files_of_later_views_is_resumed(catalog, short, shop, settings, tmp_path):
    with connect(short.port) as raw:
        for name in ("left", "right"):
            text = f"select `orders`.`id` from `{shop}`.`orders`"
            raw.create_table(hive_view_row(shop, name, "select id from orders", text, IDS))
    plan, file, journal = plan_import(catalog, databases=[shop]), tmp_path / "plan", tmp_path / "journal"
    file.write_text(write_plan(plan))
    hold = Hold()
    with ThriftProxy(short.port) as proxy:
        proxy.on(ALTER, hold, nth=2)  # the first one marks the table
        with start(settings, proxy, file, journal) as run:
            hold.wait_until_held()
            until(lambda: len(read_journal(journal).announcements) > 1)
            run.kill()
        check_end(catalog, short, shop, plan, journal)
        hold.release()
    check_reverted(catalog, journal)


@pytest.mark.parametrize("nth", [1, 3])
def test_run_killed_between_swap_and_reply_is_resumed(catalog, short, shop, settings, tmp_path, nth):
    plan, file, journal = plan_import(catalog, databases=[shop]), tmp_path / "plan", tmp_path / "journal"
    file.write_text(write_plan(plan))
    with ThriftProxy(short.port) as proxy:
        # The first alter marks the table for lineage.
        proxy.on(ALTER, DropReply(silent=True), nth=nth + 1)
        with start(settings, proxy, file, journal) as run:
            until(lambda: any(isinstance(call.action, DropReply) and call.answered for call in proxy.calls))
            run.kill()
        assert run.returncode == -9
    done = catalog.load_view(f"{shop}.{NAMES[nth - 1]}").metadata_location
    check_end(catalog, short, shop, plan, journal)
    assert catalog.load_view(f"{shop}.{NAMES[nth - 1]}").metadata_location == done


def test_run_survives_kill_and_restart_of_the_metastore(catalog, short, shop, settings, tmp_path):
    plan, journal = plan_import(catalog, databases=[shop]), tmp_path / "journal"
    hold = Hold()
    with (
        ThriftProxy(short.port) as proxy,
        HiveViewCatalog("prod", **{**settings, "uri": proxy.uri}) as behind,
        ThreadPoolExecutor(1) as pool,
    ):
        proxy.on(ALTER, hold, nth=3)  # after the table's mark and the first view
        running = pool.submit(run_plan, plan, behind, journal)
        hold.wait_until_held()
        os.kill(short.pid, signal.SIGKILL)
        short.stop()
        proxy.disconnect()
        short.start()
        outcomes = {outcome.name.name: outcome for outcome in running.result().outcomes}
    assert outcomes["base"].status is ImportStatus.CONVERTED
    for name, outcome in outcomes.items():
        if outcome.status is ImportStatus.CONVERTED:
            assert catalog.load_view((shop, name)).metadata_location == outcome.metadata_location
        elif outcome.status is not ImportStatus.UNKNOWN:
            assert outcome.status in (ImportStatus.FAILED, ImportStatus.BLOCKED)
            assert not catalog.view_exists((shop, name))
    check_end(catalog, short, shop, plan, journal)


def test_killed_revert_is_resumed(catalog, short, shop, settings, tmp_path):
    plan, journal = plan_import(catalog, databases=[shop]), tmp_path / "journal"
    before = {name: encode_row(catalog.store.get_row(ViewName(shop, name))) for name in NAMES}
    assert run_plan(plan, catalog, journal).complete
    hold = Hold()
    with ThriftProxy(short.port) as proxy:
        # The topmost view comes first: its row is restored, and the process is killed before the reply.
        proxy.on(ALTER, DropReply(silent=True))
        with start(settings, proxy, journal, journal, "revert") as first:
            until(lambda: any(isinstance(call.action, DropReply) and call.answered for call in proxy.calls))
            first.kill()
        proxy.clear()
        proxy.on(ALTER, hold)
        with start(settings, proxy, journal, journal, "revert") as second:
            hold.wait_until_held()
            second.kill()
        assert (first.returncode, second.returncode) == (-9, -9)
        assert [catalog.view_exists((shop, name)) for name in NAMES] == [True, True, False]
        outcomes = {outcome.name.name: outcome for outcome in revert_run(catalog, journal)}
        while lost := [outcome.name for outcome in outcomes.values() if lost_a_lock(outcome.text)]:
            outcomes |= {outcome.name.name: outcome for outcome in revert_run(catalog, journal, names=lost)}
        hold.release()  # the request of the killed process arrives late
    results = {name: outcome.status for name, outcome in outcomes.items()}
    assert results == {"top": RevertStatus.ALREADY, "middle": RevertStatus.REVERTED, "base": RevertStatus.REVERTED}
    assert {name: encode_row(catalog.store.get_row(ViewName(shop, name))) for name in NAMES} == before
    # Unused files of the first import are left; they do not affect a second import.
    assert {outcome.status for outcome in revert_run(catalog, journal)} <= {RevertStatus.ALREADY}
    assert run_plan(plan, catalog, tmp_path / "second").complete


def noted(journal: Path, plan: ImportPlan) -> bool:
    """Return whether a running import has announced a view or recorded an outcome."""
    history = read_journal_of(journal, plan)
    return history is not None and bool(history.announcements or history.outcomes)


def check_reports(catalog: HiveViewCatalog, plan: ImportPlan, *journals: Path) -> None:
    """Check that the journals of several runs of a plan are true, and that no view was converted by two of them."""
    reports = [read_journal(journal).outcomes for journal in journals]
    for entry in plan.ready:
        ends = [report[entry.name] for report in reports]
        there = catalog.view_exists(entry.target.identifier)
        pointer = catalog.load_view(entry.target.identifier).metadata_location if there else None
        done = [end for end in ends if end.status is ImportStatus.CONVERTED]
        assert bool(done) == there, ends
        assert len([end for end in done if not end.was_converted_before]) <= 1, ends
        for end, report in zip(ends, reports, strict=True):
            if end.status is ImportStatus.CONVERTED:
                assert end.metadata_location == pointer, ends
            elif end.status is ImportStatus.REFUSED:
                assert (end.reason, there) == (Reason.CHANGED, True), ends
            elif end.status is ImportStatus.BLOCKED:
                assert end.blocked_by is not None
                assert report[end.blocked_by].status is not ImportStatus.CONVERTED, ends
            else:
                assert lost_a_lock(end.text), ends


def test_concurrent_imports_convert_each_view_once(catalog, short, shop, settings, tmp_path):
    plan, file = plan_import(catalog, databases=[shop]), tmp_path / "plan"
    file.write_text(write_plan(plan))
    journals = tmp_path / "journal0", tmp_path / "journal1"
    hold = Hold()
    with ThriftProxy(short.port) as proxy, ThreadPoolExecutor(1) as pool:
        proxy.on(ALTER, hold, nth=2)  # the first one marks the table
        with start(settings, proxy, file, journals[0]) as first:
            hold.wait_until_held()
            second = pool.submit(run_plan, plan, catalog, journals[1])
            # Both process the first view: one is swapping its row, the other has computed it.
            until(lambda: noted(journals[1], plan))
            hold.release()
            printed = first.communicate(timeout=120)[0].strip()
        result = second.result()
    check_reports(catalog, plan, *journals)
    ends = read_journal(journals[0]).outcomes.values()
    assert printed == ("complete" if {end.status for end in ends} == {ImportStatus.CONVERTED} else "incomplete")
    assert result.complete == ({end.status for end in result.outcomes} == {ImportStatus.CONVERTED})
    check_end(catalog, short, shop, plan, journals[0])
    check_end(catalog, short, shop, plan, journals[1])
