"""Imports with concurrent changes, outages and repeated steps."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.convert import LEGACY_ROW
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import plan_views, scan_row
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import importer_for, run_plan
from hive_views.metastore._thrift.hive_metastore.ttypes import ShowLocksRequest, UnlockRequest
from hive_views.metastore.rows.serialization import encode_row, row_fingerprint
from tests.faults.observer import until
from tests.integration.catalog.samples import path
from tests.integration.legacy_import.conftest import computed, entry_of, written
from tests.integration.legacy_import.rows import alter, hive_view_row
from tests.proxy import EVERY, DropReply, DropRequest, ReplaceReply

IDS = [("id", "bigint")]
ALTER = "alter_table_with_environment_context"
READ_ROWS = "get_table_objects_by_name_req"


@pytest.fixture
def views(add, sales) -> str:
    """Three views, each of which reads the previous one."""
    for name, below in (("base", "orders"), ("middle", "base"), ("top", "middle")):
        text = f"select `{below}`.`id` from `{sales}`.`{below}`"
        add(hive_view_row(sales, name, f"select id from {below}", text, IDS, transient_lastDdlTime="1700000000"))
    return sales


def altered_by_hive(raw, database: str, name: str) -> None:
    """Alter a view as Hive does: without lock or compare-and-swap, with a new change time."""
    row = raw.get_table(database, name)
    row.viewExpandedText += " where `orders`.`id` > 7"
    row.parameters["transient_lastDdlTime"] = "1800000000"
    alter(raw, row)


def test_concurrent_change_before_the_swap_is_not_lost(views, plan, open_catalog, proxy, journal, raw):
    import_plan = plan()
    behind = open_catalog({"uri": proxy.uri})
    # The first one marks the table.
    with proxy.in_flight(ALTER, run_plan, import_plan, behind, journal, nth=2) as running:
        altered_by_hive(raw, views, "base")
    ends = {outcome.name.name: outcome for outcome in running.result().outcomes}
    assert (ends["base"].status, ends["base"].reason) == (ImportStatus.REFUSED, Reason.CHANGED)
    assert (ends["top"].status, ends["top"].blocked_by) == (ImportStatus.BLOCKED, ViewName(views, "base"))
    row = raw.get_table(views, "base")
    assert row.viewExpandedText.endswith("> 7")
    assert "metadata_location" not in row.parameters


def test_files_are_kept_if_the_lock_is_lost_and_the_outcome_unknown(
    add, sales, plan, open_catalog, catalog, proxy, journal, raw, caplog
):
    """The row is that of an Iceberg view by then, so the metadata file and the legacy row stay."""
    text = f"select `o`.`id` from `{sales}`.`orders` `o`"
    add(hive_view_row(sales, "base", "select id from orders o", text, IDS, transient_lastDdlTime="1700000000"))
    import_plan = plan()
    behind = open_catalog({"uri": proxy.uri, "iceberg.hive.lock-heartbeat-interval-ms": "500"})
    for method in ("alter_table_req", "get_catalogs"):
        proxy.on(method, DropRequest(), nth=EVERY)
    # The first one marks the table.
    with proxy.in_flight(ALTER, run_plan, import_plan, behind, journal, nth=2) as running:
        for lock in raw.show_locks(ShowLocksRequest(dbname=sales)).locks:
            raw.unlock(UnlockRequest(lockid=lock.lockid))
        until(lambda: "is lost" in caplog.text)
    (outcome,) = running.result().outcomes
    assert outcome.status is ImportStatus.UNKNOWN
    view = catalog.load_view((sales, "base"))
    assert view.metadata.current_version_id == 1
    backup = raw.get_table(sales, "base").parameters[LEGACY_ROW]
    assert path(backup).exists()


def test_next_view_is_computed_during_a_swap(add, sales, plan, open_catalog, proxy, journal):
    for name in ("first", "second"):
        add(hive_view_row(sales, name, "select id from orders", f"select `o`.`id` from `{sales}`.`orders` `o`", IDS))
    import_plan = plan()
    behind = open_catalog({"uri": proxy.uri})
    with proxy.in_flight(ALTER, run_plan, import_plan, behind, journal, nth=2) as running:
        until(lambda: any(call.method.startswith("get_table") and b"second" in call.request for call in proxy.calls))
        assert not any(call.method == ALTER and b"second" in call.request for call in proxy.calls)
    assert running.result().complete


def test_table_dropped_during_a_run_blocks_only_its_readers(views, add, plan, open_catalog, proxy, journal, raw):
    text = f"select `b`.`id` from `{views}`.`base` `b` join `{views}`.`customers` `c` on `b`.`id` = `c`.`id`"
    add(hive_view_row(views, "late", text, text, IDS))
    add(hive_view_row(views, "later", "x", f"select `late`.`id` from `{views}`.`late`", IDS))
    import_plan = plan()
    behind = open_catalog({"uri": proxy.uri})
    before = {name: encode_row(behind.store.get_row(ViewName(views, name))) for name in ("late", "later")}
    with proxy.in_flight(ALTER, run_plan, import_plan, behind, journal, nth=2) as running:
        raw.drop_table(views, "customers", True)
    ends = {outcome.name.name: outcome for outcome in running.result().outcomes}
    assert [ends[name].status for name in ("base", "middle", "top")] == [ImportStatus.CONVERTED] * 3
    assert (ends["late"].status, ends["late"].reason) == (ImportStatus.REFUSED, Reason.MISSING_TABLE)
    assert (ends["later"].status, ends["later"].blocked_by) == (ImportStatus.BLOCKED, ViewName(views, "late"))
    assert {name: encode_row(behind.store.get_row(ViewName(views, name))) for name in before} == before


def test_lost_reply_is_resolved(views, plan, open_catalog, proxy, journal):
    import_plan = plan()
    behind = open_catalog({"uri": proxy.uri})
    proxy.on(ALTER, DropReply(), nth=2)
    result = run_plan(import_plan, behind, journal)
    assert [outcome.status for outcome in result.outcomes] == [ImportStatus.CONVERTED] * 3
    assert any(isinstance(call.action, DropReply) and call.answered for call in proxy.calls)


def test_outage_leaves_remaining_views_for_the_next_run(views, plan, open_catalog, proxy, journal):
    import_plan = plan()
    behind = open_catalog({"uri": proxy.uri})

    def fail(done, total, outcome):
        if done == 1:
            proxy.refuse()
            proxy.disconnect()

    first = run_plan(import_plan, behind, journal, progress=fail)
    assert [outcome.status for outcome in first.outcomes] == [
        ImportStatus.CONVERTED,
        ImportStatus.FAILED,
        ImportStatus.BLOCKED,
    ]
    assert not first.complete
    proxy.accept()
    again = run_plan(import_plan, behind, journal)
    assert [outcome.status for outcome in again.outcomes] == [ImportStatus.CONVERTED] * 3
    assert again.complete


def test_concurrent_change_before_the_revert_is_not_lost(views, plan, catalog, open_catalog, proxy, journal, raw):
    import_plan = plan()
    run_plan(import_plan, catalog, journal)
    revert = partial(revert_run, open_catalog({"uri": proxy.uri}), journal, names=[ViewName(views, "top")])
    with proxy.in_flight(ALTER, revert) as running:
        altered_by_hive(raw, views, "top")
    (outcome,) = running.result()
    assert outcome.status is RevertStatus.FAILED
    assert raw.get_table(views, "top").viewExpandedText.endswith("> 7")


def test_registration_during_revert_keeps_the_file(views, plan, catalog, open_catalog, proxy, journal, raw):
    """The registration holds the lock on the file that it read; the revert waits before it searches for other rows."""
    run_plan(plan(), catalog, journal)
    location = catalog.load_view((views, "top")).metadata_location
    register = open_catalog({"uri": proxy.uri}).register_view
    with ThreadPoolExecutor(1) as pool:
        with proxy.in_flight("create_table", register, (views, "second"), location) as registering:
            reverting = pool.submit(revert_run, catalog, journal, names=[ViewName(views, "top")])
            until(lambda: "metadata_location" not in raw.get_table(views, "top").parameters)
        registering.result()
        assert [outcome.status for outcome in reverting.result()] == [RevertStatus.REVERTED]
    assert catalog.load_view((views, "second")).metadata_location == location


def test_steps_of_an_import_can_be_pickled(views, catalog, plan):
    rows = [catalog.store.get_row(ViewName(views, name)) for name in ("base", "middle", "top")]
    import_plan = pickle.loads(pickle.dumps([scan_row(row, ImportOptions()) for row in rows]))
    arranged = plan_views(import_plan, catalog, ImportOptions())
    assert arranged == plan()
    work = pickle.loads(pickle.dumps(importer_for(arranged, catalog)))
    before = {entry.name: entry.fingerprint for entry in arranged.entries}
    outcomes = []
    for entry in arranged.entries:
        step = pickle.loads(pickle.dumps(work.compute(pickle.loads(pickle.dumps(entry)))))
        outcomes.append(work.swap(work.write_files(step)))
    assert [outcome.status for outcome in outcomes] == [ImportStatus.CONVERTED] * 3
    assert {outcome.name for outcome in outcomes} == set(before)


def test_view_replaced_by_another_program_is_refused(views, plan, catalog, journal, raw):
    import_plan = plan()
    raw.drop_table(views, "base", False)
    catalog.execute(f"CREATE VIEW {views}.base AS SELECT 1L AS id")
    ours = encode_row(catalog.store.get_row(ViewName(views, "base")))
    ends = {outcome.name.name: outcome for outcome in run_plan(import_plan, catalog, journal).outcomes}
    assert (ends["base"].status, ends["base"].reason) == (ImportStatus.REFUSED, Reason.CHANGED)
    assert encode_row(catalog.store.get_row(ViewName(views, "base"))) == ours


def test_repeated_steps_report_the_view_as_converted(views, plan, catalog):
    """Spark may retry a task or run it twice."""
    entry = entry_of(plan(), "base")
    importer = importer_for(plan(), catalog)
    pending = computed(importer, entry)
    first = importer.swap(written(importer, pending, is_shared=True), is_shared=True)
    again = importer.swap(written(importer, pending, is_shared=True), is_shared=True)
    assert first.status is again.status is ImportStatus.CONVERTED
    assert (again.metadata_location, again.backup) == (first.metadata_location, first.backup)
    assert not again.was_converted_before
    assert catalog.load_view((views, "base")).metadata_location == pending.converted.location
    assert path(pending.converted.backup).exists()


def test_view_converted_by_another_run_before_the_swap_is_converted(views, plan, catalog):
    entry = entry_of(plan(), "base")
    importer = importer_for(plan(), catalog)
    pending, other = computed(importer, entry), computed(importer, entry)
    first = importer.swap(written(importer, other))
    outcome = importer.swap(written(importer, pending))
    assert (outcome.status, outcome.was_converted_before) == (ImportStatus.CONVERTED, True)
    assert outcome.metadata_location == first.metadata_location
    assert not path(pending.converted.location).exists() and not path(pending.converted.backup).exists()


def test_incomplete_file_of_an_earlier_attempt_fails_the_view(views, plan, catalog, raw):
    importer = importer_for(plan(), catalog)
    pending = computed(importer, entry_of(plan(), "base"))
    importer.write_files(pending, is_shared=True)
    metadata_file = path(pending.converted.location)
    metadata_file.write_bytes(metadata_file.read_bytes()[:10])
    outcome = importer.write_files(pending, is_shared=True)
    assert (outcome.status, outcome.reason) == (ImportStatus.FAILED, Reason.METASTORE)
    assert "metadata_location" not in raw.get_table(views, "base").parameters


def test_row_read_during_a_swap_is_read_again(plan, views, open_catalog, proxy, journal):
    """The first read of the rows returns a text that no other read returns."""
    import_plan = plan()
    mixed = proxy.on(READ_ROWS, ReplaceReply(b"select `orders`.`id`", b"select `0rders`.`id`"))
    assert run_plan(import_plan, open_catalog({"uri": proxy.uri}), journal).complete and mixed.applied.is_set()


def test_view_that_is_not_readable_after_its_swap_is_restored_and_blocks_its_readers(
    plan, views, catalog, open_catalog, proxy, journal
):
    before = catalog.store.get_row(ViewName(views, "base"))
    # The first swap's lock is released after the row is altered, and before the view is read back.
    with proxy.in_flight("unlock", run_plan, plan(), open_catalog({"uri": proxy.uri}), journal, nth=2) as running:
        catalog.store.files.delete(catalog.load_view((views, "base")).metadata_location)
    statuses = {outcome.name.name: outcome.status for outcome in running.result().outcomes}
    assert statuses == {
        "base": ImportStatus.REFUSED,
        "middle": ImportStatus.BLOCKED,
        "top": ImportStatus.BLOCKED,
    }
    assert row_fingerprint(catalog.store.get_row(ViewName(views, "base"))) == row_fingerprint(before)
    assert run_plan(plan(), catalog, journal.with_name("second")).complete


def test_two_runs_at_once_convert_each_view_once(views, add, plan, open_catalog, tmp_path):
    for number in range(9):
        text = f"select `top`.`id` from `{views}`.`top`"
        add(hive_view_row(views, f"v{number}", "select id from top", text, IDS, transient_lastDdlTime="1700000000"))
    import_plan = plan()
    journals = [tmp_path / "one", tmp_path / "two"]
    catalogs = [open_catalog(), open_catalog()]
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(run_plan, [import_plan] * 2, catalogs, journals))
    for run in runs:
        assert {outcome.status for outcome in run.outcomes} == {ImportStatus.CONVERTED}, run.outcomes
        assert len(run.outcomes) == 12
    locations = [{outcome.name: outcome.metadata_location or "" for outcome in run.outcomes} for run in runs]
    assert locations[0] == locations[1]
    for name, location in locations[0].items():
        assert catalogs[0].load_view(name.identifier).metadata_location == location
        files = [file.name for file in path(location).parent.iterdir()]
        assert len(files) == 2, files  # the metadata file, and the legacy row
    for journal, status in zip(journals, (RevertStatus.REVERTED, RevertStatus.ALREADY), strict=True):
        assert {reverted.status for reverted in revert_run(catalogs[0], journal)} == {status}
    assert not any(path(location).parent.exists() for location in locations[0].values())
