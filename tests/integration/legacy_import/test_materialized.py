"""Materialized views of Hive and Trino: planned, imported with or without their rows, and reverted."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.types import StringType

from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportStatus, Journal, RevertStatus
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import PlanStatus, plan_import, read_plan, write_plan
from hive_views.legacy_import.readers.detection import read_view
from hive_views.legacy_import.revert import revert_run, revert_views
from hive_views.legacy_import.run import dry_run, importer_for, run_plan
from hive_views.legacy_import.storage import (
    LEGACY_STORAGE,
    StorageAction,
    StoragePlan,
    create_storage,
    recorded_refresh_state,
)
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.materialized.freshness.verdict import Cause
from hive_views.materialized.freshness.verdict import Verdict as Fresh
from hive_views.metastore._thrift.hive_metastore.ttypes import CreationMetadata
from hive_views.metastore.rows.row import read_row
from hive_views.metastore.rows.serialization import decode_row, encode_row, row_fingerprint
from tests.conftest import SERVER
from tests.integration.legacy_import.conftest import computed, entry_of, written
from tests.integration.legacy_import.materialized_rows import COLUMNS, ROWS, STARTED, hive_iceberg, hive_native, trino
from tests.integration.legacy_import.rows import alter, fields, hive_view_row
from tests.integration.materialized.conftest import SALES, engine, market, rows

__all__ = ["engine", "market"]


def encoded(catalog, name: str) -> bytes:
    """Return the row without the rows of its sources, which Hive 4 adds to its reply."""
    table = catalog.store.get_row(ViewName.parse(name)).table
    if table.creationMetadata is not None:
        table.creationMetadata.sourceTables = None
    return encode_row(read_row(table))


def names(raw, database: str) -> set[str]:
    return set(raw.get_all_tables(database))


def stored(catalog, name: str) -> list[tuple]:
    """Return the rows of the storage, sorted."""
    storage = catalog.materialized.load(name).storage
    return sorted(tuple(row.values()) for row in storage.scan().to_arrow().to_pylist())


@pytest.fixture
def make(catalog, raw, metastore, market):
    """A function that creates a materialized view of a kind."""

    def one(kind: str, name: str = "mv"):
        if kind == "trino":
            return trino(catalog, raw, market, name, visible=False)
        if kind == "trino table":
            return trino(catalog, raw, market, name, visible=True)
        if kind == "hive iceberg":
            return hive_iceberg(catalog, raw, market, name)
        return hive_native(raw, metastore.warehouse, market, name)

    return one


KINDS = {"trino": "registered", "trino table": "linked", "hive iceberg": "registered", "hive": "made"}


@pytest.mark.parametrize("kind", KINDS)
def test_materialized_view_is_imported_refreshed_and_reverted(catalog, raw, market, engine, make, plan, journal, kind):
    old = make(kind)
    before, files, tables = encoded(catalog, old.name), old.files(), names(raw, market)
    import_plan = plan()
    assert read_plan(write_plan(import_plan)) == import_plan
    entry = entry_of(import_plan, "mv")
    assert (entry.status, entry.materialized, entry.storage_plan) == (PlanStatus.READY, True, KINDS[kind])
    assert import_plan.to_json()["entries"][0]["kind"] == "materialized view"
    note = "is created by the first refresh" if kind == "hive" else "is used as it is"
    assert any(note in change for change in entry.changes), entry.changes
    is_read_as_query = not kind.startswith("trino")
    assert any("queries compute" in change.lower() for change in entry.changes) is is_read_as_query
    assert [end.status for end in dry_run(import_plan, catalog).outcomes] == [ImportStatus.WOULD_CONVERT]
    assert encoded(catalog, old.name) == before and names(raw, market) == tables and old.files() == files

    (outcome,) = run_plan(import_plan, catalog, journal).outcomes
    assert outcome.status is ImportStatus.CONVERTED, outcome
    views = catalog.materialized
    view = views.load(old.name)
    assert view.metadata.location.endswith("mv__view"), "not among the rows"
    verdict = views.freshness(old.name)
    new_storage = Path(urlparse(view.storage.metadata.location).path) if kind == "hive" else None
    if kind == "hive":
        assert verdict.reasons[0].cause is Cause.NEVER_REFRESHED
        assert view.snapshot is None
    else:
        assert stored(catalog, old.name) == [(1, 10), (3, 5)]
        assert verdict.verdict is (Fresh.FRESH if kind.startswith("trino") else Fresh.UNKNOWN), verdict
    assert views.load(old.name).reading().from_storage is kind.startswith("trino")
    assert files.items() <= old.files().items(), "a file of the old rows is gone or another one"
    assert [item.name.name for item in views.listing(market)] == ["mv"]

    # Reverted before any refresh: rows, tables and files are as before.
    (back,) = revert_run(catalog, journal)
    assert back.status is RevertStatus.REVERTED, back
    assert encoded(catalog, old.name) == before
    assert names(raw, market) == tables
    assert files.items() <= old.files().items()
    assert new_storage is None or not new_storage.exists()
    if kind == "trino table":
        properties = catalog.load_table((market, "st_mv")).metadata.properties
        assert not {"hive-views.storage-of", "write.wap.enabled"} & set(properties)
    if kind.startswith("trino"):
        assert views.freshness(old.name).is_fresh, "by Trino's own rules"

    # Imported again, refreshed, and reverted.
    assert run_plan(import_plan, catalog, journal).complete
    catalog.load_table((market, "sales")).append(rows((7, "a", 7)))
    assert not views.freshness(old.name).is_fresh
    action = views.load(old.name).refresh(engine)[-1].action
    assert action == "full", "the settings and columns of another program's refresh are not known"
    assert stored(catalog, old.name) == [(1, 10), (3, 5), (7, 7)]
    assert views.freshness(old.name).is_fresh
    assert files.items() <= old.files().items()
    (refused,) = revert_run(catalog, journal)
    assert refused.status is RevertStatus.REFUSED
    assert "refreshed" in refused.text
    assert views.freshness(old.name).is_fresh
    (forced,) = revert_run(catalog, journal, force=True)
    assert forced.status is RevertStatus.REVERTED
    assert encoded(catalog, old.name) == before
    assert names(raw, market) == tables
    assert files.items() <= old.files().items()
    assert {one.status for one in revert_run(catalog, journal)} == {RevertStatus.ALREADY}


@pytest.mark.parametrize("kind", ["trino", "trino table"])
def test_revert_after_the_former_rows_were_expired(catalog, market, engine, make, plan, journal, kind):
    """A row that names the former rows could not be read; one that names a table has its current rows."""
    old = make(kind)
    assert run_plan(plan(), catalog, journal).complete
    catalog.load_table((market, "sales")).append(rows((7, "a", 7)))
    catalog.materialized.load(old.name).refresh(engine)
    assert catalog.materialized.load(old.name).expire(older_than_ms=0).files > 0
    (outcome,) = revert_run(catalog, journal, force=True)
    if kind == "trino table":
        assert outcome.status is RevertStatus.REVERTED
        return
    assert outcome.status is RevertStatus.REFUSED and "were expired" in outcome.text
    assert stored(catalog, old.name) == [(1, 10), (3, 5), (7, 7)]


def test_trino_reads_imported_materialized_view_as_a_view(catalog, raw, market, make, plan, journal):
    make("trino")
    assert run_plan(plan(), catalog, journal).complete
    row = raw.get_table(market, "mv")
    head, _, text = row.viewOriginalText.removesuffix(" */").rpartition(" ")
    assert (head, row.viewExpandedText) == ("/* Presto View:", "/* Presto View */")
    document = json.loads(base64.b64decode(text))
    assert document == {
        "originalSql": "SELECT id, amount FROM sales WHERE shop = 'a'",
        "catalog": "iceberg",
        "schema": market,
        "columns": [{"name": name, "type": kind} for name, kind in COLUMNS],
        "comment": "of shop a",
        "owner": "analyst",
        "runAsInvoker": False,
        "path": [],
    }
    assert row.parameters["comment"] == "Presto View"
    assert not {"storage_schema", "storage_table"} & set(row.parameters)
    assert catalog.load_view((market, "mv")).metadata.properties["comment"] == "of shop a"


def test_row_of_hive_materialized_view_loses_only_storage_parameters(catalog, raw, market, plan, journal):
    old = hive_iceberg(catalog, raw, market, "mv", team="bi", **{"write.format.default": "orc"})
    import_plan = plan()
    warned = any("drops none of these tables" in change for change in import_plan.entries[0].changes)
    assert warned is (SERVER != EMBEDDED_VERSION)
    assert run_plan(import_plan, catalog, journal).complete
    row = raw.get_table(market, "mv")
    assert (row.tableType, row.owner, row.parameters["team"]) == ("VIRTUAL_VIEW", "hive", "bi")
    # With these a reader would expect a table, or a DROP by Hive would delete the definition.
    assert not {"storage_handler", "external.table.purge", "write.format.default", "current-snapshot-id"} & set(
        row.parameters
    )
    assert row.parameters["table_type"] == "ICEBERG-VIEW"
    assert "previous_metadata_location" not in row.parameters
    if SERVER != EMBEDDED_VERSION:
        # Hive 4 keeps the record of what its view read, and then rejects a drop.
        assert revert_run(catalog, journal)[0].status is RevertStatus.REVERTED
        return
    raw.drop_table(market, "mv", True)
    assert all(file.exists() for file in old.files())
    assert catalog.load_table((market, "mv__storage")).scan().to_arrow().num_rows == 2


INEXACT = {
    "functions": ("{db}.sales={at}", {"dependsOnNonDeterministicFunctions": "true"}),
    "table functions": ("{db}.sales={at}", {"dependsOnTableFunctions": "true"}),
    "others": ("{db}.sales={at},UNKNOWN", {}),
    "another table": ("{db}.shops={at}", {}),
    "more tables": ("{db}.sales={at},{db}.shops={at}", {}),
    "expired": ("{db}.sales=1{at}", {}),
    "nothing": ("", {}),
    "broken": ("sales", {}),
    "no start": ("{db}.sales={at}", {"trino-query-start-time": "then"}),
    "no refresh": (None, {"made": "by hand"}),
}


def test_refresh_state_is_adopted_only_if_trino_recorded_it_exactly(catalog, raw, market):
    """The snapshots of one storage record different refreshes."""
    old = trino(catalog, raw, market, "mv", visible=True)
    storage = catalog.load_table((market, "st_mv"))
    view = read_view(catalog.store.get_row(ViewName.parse(old.name)))
    reads = (ViewName(market, "sales"),)
    at = catalog.load_table((market, "sales")).metadata.current_snapshot_id

    def state(text=view.sql):
        return recorded_refresh_state(catalog.store, replace(view, sql=text), storage.metadata, reads, "f")[0]

    def source(import_plan):
        return [(item.name, item.id, item.schema_id) for item in import_plan.sources]

    assert source(state()) == [(reads[0], at, 0)]
    assert state("SELECT id FROM sales WHERE DATE '2024-01-01' IS NULL") is None, "an instant by Trino's time zone"
    for case, (tables, more) in INEXACT.items():
        summary = {} if tables is None else {"dependsOnTables": tables.format(db=market, at=at)}
        storage.append(ROWS.slice(0, 0), snapshot_properties={"trino-query-start-time": STARTED, **summary, **more})
        assert state() is None, case


def test_imported_rows_are_fresh_only_if_their_state_was_recorded(catalog, raw, market, plan, journal):
    trino(catalog, raw, market, "unknown", visible=False, summary={"made": "by hand"})
    trino(catalog, raw, market, "empty", visible=False, rows=None)
    trino(catalog, raw, market, "stale", visible=False)
    at = catalog.load_table((market, "sales")).metadata.current_snapshot_id
    catalog.load_table((market, "sales")).append(rows((7, "a", 7)))
    assert run_plan(plan(), catalog, journal).complete
    views = catalog.materialized
    assert views.freshness((market, "unknown")).verdict is Fresh.UNKNOWN
    assert views.freshness((market, "empty")).reasons[0].cause is Cause.NEVER_REFRESHED
    stale = views.freshness((market, "stale"))
    assert stale.verdict is Fresh.STALE
    assert (stale.reasons[0].cause, stale.reasons[0].before) == (Cause.CHANGED, f"snapshot {at}")
    assert not any(views.load((market, name)).reading().from_storage for name in ("unknown", "empty", "stale"))


def test_schema_younger_than_the_snapshot_makes_freshness_unknown(catalog, raw, market, plan, journal):
    trino(catalog, raw, market, "mv", visible=False)
    # The columns may have differed between snapshot and refresh.
    with catalog.load_table((market, "sales")).update_schema() as update:
        update.add_column("more", StringType())
    with catalog.load_table((market, "sales")).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("more")
    assert run_plan(plan(), catalog, journal).complete
    assert catalog.materialized.freshness((market, "mv")).verdict is Fresh.UNKNOWN


def test_grace_period_becomes_maximum_staleness(catalog, raw, market, plan, journal):
    trino(catalog, raw, market, "mv", visible=False, gracePeriod="10.00m")
    trino(catalog, raw, market, "old", visible=False, gracePeriod="soon")
    import_plan = plan()
    assert "its grace period of 600 s stays" in entry_of(import_plan, "mv").changes
    assert any("is not kept" in change for change in entry_of(import_plan, "old").changes)
    run_plan(import_plan, catalog, journal)
    catalog.load_table((market, "sales")).append(rows((7, "a", 7)))
    begun = catalog.materialized.freshness((market, "mv")).refreshed_ms
    verdicts = [catalog.materialized.freshness((market, "mv"), now_ms=begun + ms).verdict for ms in (600_000, 600_001)]
    assert verdicts == [Fresh.WITHIN_GRACE, Fresh.STALE]


def test_unusable_storage_is_replaced_or_view_is_refused(catalog, raw, metastore, market, add, plan):
    trino(catalog, raw, market, "halved", visible=False, sql="SELECT id, amount / 2 AS amount FROM sales")
    trino(catalog, raw, market, "gone", visible=False, sql="SELECT id, amount FROM nothing")
    for name, change in (
        (
            "other_columns",
            lambda row: setattr(row, "viewOriginalText", trino_text(market, [("id", "bigint"), ("x", "bigint")])),
        ),
        (
            "other_types",
            lambda row: setattr(row, "viewOriginalText", trino_text(market, [("id", "bigint"), ("amount", "varchar")])),
        ),
        ("no_storage", lambda row: row.parameters.pop("metadata_location")),
        ("storage_gone", lambda row: row.parameters.update(storage_table="st_gone")),
        ("unreadable", lambda row: row.parameters.update(metadata_location="file:/nowhere/00000-a.metadata.json")),
    ):
        trino(catalog, raw, market, name, visible=False)
        row = raw.get_table(market, name)
        change(row)
        alter(raw, row)
    hive_native(raw, metastore.warehouse, market, "parted")
    row = raw.get_table(market, "parted")
    raw.drop_table(market, "parted", False)
    row.partitionKeys, row.sd.cols = fields(COLUMNS[1:]), fields(COLUMNS[:1])
    raw.create_table(row)
    add(
        hive_view_row(
            market, "above", "select id from gone", f"select `gone`.`id` from `{market}`.`gone`", [("id", "bigint")]
        )
    )
    import_plan = plan()

    def reason(name: str) -> tuple[Reason | None, str]:
        entry = entry_of(import_plan, name)
        return (entry.problem.reason, entry.problem.text) if entry.problem else (None, "; ".join(entry.changes))

    assert reason("halved")[0] is Reason.NOT_PORTABLE
    assert reason("gone")[0] is Reason.MISSING_TABLE
    assert reason("parted")[0] is Reason.UNSUPPORTED and "partition" in reason("parted")[1]
    assert reason("above")[0] is Reason.BLOCKED
    for name, why in {
        "other_columns": "has the columns id, amount",
        "other_types": "is of type long, and the view's is of type string",
        "no_storage": "its row names no storage",
        "storage_gone": "its storage table",
        "unreadable": "cannot be read",
    }.items():
        refused, text = reason(name)
        assert refused is None and entry_of(import_plan, name).storage_plan == "made" and why in text, (name, text)


def trino_text(database: str, columns: list[tuple[str, str]]) -> str:
    document = {
        "originalSql": f"SELECT id, amount AS {columns[1][0]} FROM sales",
        "catalog": "iceberg",
        "schema": database,
        "columns": [{"name": name, "type": kind} for name, kind in columns],
    }
    return f"/* Presto Materialized View: {base64.b64encode(json.dumps(document).encode()).decode()} */"


def test_materialized_views_are_only_reported_if_requested(make, market, plan):
    make("trino")
    (entry,) = plan(materialized="report").entries
    assert (entry.status, entry.problem.reason) == (PlanStatus.REPORTED, Reason.MATERIALIZED)
    assert set(entry.storage) == {"metadata_location"}
    unknown: Any = "maybe"
    with pytest.raises(UsageError, match="convert, report"):
        ImportOptions(materialized=unknown)


def test_view_over_materialized_view_is_imported(catalog, market, make, add, plan, journal):
    make("hive iceberg")
    add(
        hive_view_row(
            market, "above", "select id from mv", f"select `mv`.`id` from `{market}`.`mv`", [("id", "bigint")]
        )
    )
    result = run_plan(plan(), catalog, journal)
    assert [outcome.status for outcome in result.outcomes] == [ImportStatus.CONVERTED] * 2, result
    child = next(
        item
        for item in catalog.dependencies.lineage((market, "above")).dependencies
        if item.dependency.name.name == "mv"
    ).dependency
    assert child.uuid == catalog.load_view((market, "mv")).metadata.view_uuid
    assert child.uuid != str(catalog.load_table((market, "mv__storage")).metadata.table_uuid)
    assert {one.status for one in revert_run(catalog, journal)} == {RevertStatus.REVERTED}


@pytest.mark.parametrize("kind", ["trino table", "hive iceberg"])
def test_copy_gets_its_own_storage(catalog, raw, market, other_database, make, engine, journal, kind):
    old = make(kind)
    before, files, tables = encoded(catalog, old.name), old.files(), names(raw, market)
    plan = plan_import(catalog, databases=[market], options=ImportOptions(to_database=other_database))
    (entry,) = plan.entries
    assert entry.storage_plan == "made" and any("keeps its own" in change for change in entry.changes)
    assert run_plan(plan, catalog, journal).complete
    copy = f"{other_database}.mv"
    assert names(raw, other_database) == {"mv", "mv__storage"}
    assert str(catalog.materialized.freshness(copy)) == "stale: it was never refreshed"
    assert revert_run(catalog, journal)[0].status is RevertStatus.REVERTED
    assert names(raw, other_database) == set()
    assert run_plan(plan, catalog, journal).complete
    catalog.materialized.load(copy).refresh(engine)
    assert stored(catalog, copy) == [(1, 10), (3, 5)]
    assert revert_run(catalog, journal)[0].status is RevertStatus.REFUSED
    assert revert_run(catalog, journal, force=True)[0].status is RevertStatus.REVERTED
    assert names(raw, other_database) == set()
    assert (encoded(catalog, old.name), names(raw, market)) == (before, tables)
    assert files.items() <= old.files().items()


@pytest.mark.parametrize("kind", ["trino table", "hive iceberg", "hive"])
def test_storage_of_killed_run_is_removed_or_reused(catalog, raw, market, make, plan, journal, kind):
    old = make(kind)
    before, tables = encoded(catalog, old.name), names(raw, market)
    import_plan = plan()
    pending = computed(importer_for(import_plan, catalog), import_plan.entries[0])
    converted = pending.converted
    assert converted.storage is not None
    with Journal(journal, import_plan) as file:
        file.announce([pending.announcement])
    create_storage(catalog, converted.storage, converted.definition.definition.schema)

    # Reverted: the created storage is removed.
    assert [one.status for one in revert_run(catalog, journal)] == [RevertStatus.ALREADY]
    assert (encoded(catalog, old.name), names(raw, market)) == (before, tables)

    # Or resumed: the same storage is used.
    create_storage(catalog, converted.storage, converted.definition.definition.schema)
    there = names(raw, market)
    assert run_plan(import_plan, catalog, journal).complete
    assert names(raw, market) == there
    assert catalog.materialized.load(old.name).storage_name == converted.storage.table
    assert revert_views(catalog, [ViewName.parse(old.name)])[0].status is RevertStatus.REVERTED
    assert (encoded(catalog, old.name), names(raw, market)) == (before, tables)


@pytest.mark.parametrize("kind", ["trino table", "hive iceberg", "hive"])
def test_storage_of_rejected_swap_is_removed(catalog, raw, market, make, plan, kind):
    old = make(kind)
    import_plan = plan()
    importer = importer_for(import_plan, catalog)
    pending = computed(importer, import_plan.entries[0])
    row = raw.get_table(market, "mv")
    row.parameters["note"] = "of another program"
    alter(raw, row)
    there, tables = encoded(catalog, old.name), names(raw, market)
    outcome = importer.swap(written(importer, pending))
    assert (outcome.status, outcome.reason) == (ImportStatus.REFUSED, Reason.CHANGED)
    assert (encoded(catalog, old.name), names(raw, market)) == (there, tables)


@pytest.mark.parametrize("is_own_uuid", [True, False])
def test_forced_revert_keeps_unrelated_table_that_row_names(
    catalog, raw, market, make, plan, journal, is_own_uuid
) -> None:
    """Any program can write the row parameter that names the storage."""
    old = make("trino table")
    assert run_plan(plan(), catalog, journal).complete
    unrelated = catalog.create_table((market, "unrelated"), pa.schema([("id", pa.int64())]))
    row = raw.get_table(market, ViewName.parse(old.name).name)
    forged = StoragePlan(
        action=StorageAction.REGISTERED,
        table=ViewName(market, "unrelated"),
        view_uuid=row.parameters["uuid"] if is_own_uuid else "",
        location=unrelated.metadata_location,
    )
    row.parameters[LEGACY_STORAGE] = forged.to_text()
    raw.alter_table_with_environment_context(row.dbName, row.tableName, row, None)
    (outcome,) = revert_views(catalog, [ViewName.parse(old.name)], force=True)
    assert outcome.status is (RevertStatus.REVERTED if is_own_uuid else RevertStatus.REFUSED)
    assert catalog.load_table((market, "unrelated")).metadata_location == unrelated.metadata_location


def test_existing_storage_name_is_not_reused(catalog, market, make, plan, journal):
    old = make("hive iceberg")
    catalog.create_table((market, "mv__storage"), SALES)
    assert run_plan(plan(), catalog, journal).complete
    assert catalog.materialized.load(old.name).storage_name.name.startswith("mv__storage_")
    assert revert_run(catalog, journal)[0].status is RevertStatus.REVERTED
    assert catalog.load_table((market, "mv__storage")).schema() == SALES


def test_row_fingerprint_is_the_same_in_every_process():
    row = hive_view_row("d", "mv", "select 1", "select 1", COLUMNS)
    row.tableType = "MATERIALIZED_VIEW"
    row.creationMetadata = CreationMetadata("hive", "d", "mv", {f"d.t{number}" for number in range(9)})
    data = encode_row(read_row(row))
    program = (
        "import base64, sys; "
        "from hive_views.metastore.rows.serialization import decode_row, encode_row, row_fingerprint; "
        "row = decode_row(base64.b64decode(sys.argv[1])); "
        "print(row_fingerprint(row), base64.b64encode(encode_row(row)).decode())"
    )
    fingerprints = {
        subprocess.run(
            [sys.executable, "-c", program, base64.b64encode(data).decode()],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[0]
        for seed in ("1", "2")
    }
    assert fingerprints == {row_fingerprint(decode_row(data))}
