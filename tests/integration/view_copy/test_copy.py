"""Copies of views between a Hive Metastore and an Iceberg REST catalog, both real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidPropertyError, JournalError
from hive_views.spec.json_codec import write_document
from hive_views.view_copy import CopyStatus, copy_views, plan_copy, revert_copies
from hive_views.view_copy.metadata import fingerprint, metadata_of
from tests.faults.view_changes import ALTER_TABLE
from tests.integration.cli.terminal import run_at_terminal
from tests.integration.legacy_import.rows import alter
from tests.integration.view_copy.conftest import forwarder
from tests.suites import extended


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "copy.jsonl"


@pytest.fixture
def back(catalog, rest, database, tmp_path):
    """A database in the metastore for copies from the REST catalog: its namespace of the same name."""
    other = f"{database}_back"
    catalog.create_namespace(other, {"location": f"file://{tmp_path}/back"})
    rest.create_namespace(other, {"location": f"file://{tmp_path}/rest-back"})
    yield other
    for name in catalog.list_views(other):
        catalog.drop_view(name)
    catalog.drop_namespace(other)


def statuses(views):
    return [view.status for view in views]


def test_copy_has_history_representations_and_properties(catalog, rest, name, journal):
    (planned,) = plan_copy(catalog, rest, [name])
    assert (planned.status, planned.notes) == (CopyStatus.READY, ())
    assert not rest.view_exists(name) and not journal.exists(), "a plan writes nothing"
    (copied,) = copy_views(catalog, rest, [name], journal=journal)
    assert copied.status is CopyStatus.COPIED and copied.problem is None
    original, copy = catalog.load_view(name), rest.load_view(name)
    assert fingerprint(metadata_of(original)) == fingerprint(metadata_of(copy))
    assert [entry.version_id for entry in copy.history()] == [1, 2, 1]
    assert {text.root.dialect for text in copy.current_version().representations} == set(original.dialects)
    assert copy.metadata.properties["comment"] == "numbers" and str(copy.uuid()) == original.metadata.view_uuid
    assert copy.location() != original.location() and "/rest/" in copied.metadata_location


def test_copy_to_rest_and_back_to_metastore_is_equal(catalog, rest, database, name, journal, tmp_path, properties):
    original = metadata_of(catalog.load_view(name))
    copy_views(catalog, rest, [name], journal=journal)
    catalog.drop_view(name)
    (restored,) = copy_views(rest, catalog, [name], journal=journal, location=f"file://{tmp_path}/back")
    assert restored.status is CopyStatus.COPIED
    view = catalog.load_view(name)
    assert (
        fingerprint(view.metadata) == fingerprint(original)
        and view.location() == f"file://{tmp_path}/back/{name.replace('.', '/')}"
    )
    assert view.expanded_text == "SELECT 1 AS `id`, 'one' AS `name`" and not view.drift
    catalog.drop_view(name, purge_files=True)
    assert rest.load_view(name), "the copies share no file"


def test_repeated_copy_copies_missing_views(catalog, rest, database, name, journal):
    other = f"{database}.other"
    catalog.create_view_from_sql(other, "SELECT 3 AS id")
    assert statuses(copy_views(catalog, rest, [name], journal=journal)) == [CopyStatus.COPIED]
    assert statuses(copy_views(catalog, rest, [name, other], journal=journal)) == [
        CopyStatus.PRESENT,
        CopyStatus.COPIED,
    ]
    catalog.replace_view_from_sql(name, "SELECT 9 AS id, 'nine' AS name")
    (changed,) = copy_views(catalog, rest, [name], journal=journal)
    assert changed.status is CopyStatus.REFUSED and "another view or table" in changed.problem
    assert rest.load_view(name).current_version().version_id == 1


def test_revert_drops_unchanged_copies_only(catalog, rest, database, name, journal):
    other, absent = f"{database}.other", f"{database}.absent"
    for view in (other, absent):
        catalog.create_view_from_sql(view, "SELECT 3 AS id")
    copy_views(catalog, rest, [name, other, absent], journal=journal)
    rest.drop_view(absent)
    rest.drop_view(other)
    catalog.replace_view_from_sql(other, "SELECT 4 AS id")
    copy_views(catalog, rest, [other], journal=journal.with_name("foreign"))
    reverted = revert_copies(rest, journal)
    assert [(view.name, view.outcome) for view in reverted] == [
        (absent, "absent"),
        (other, "changed"),
        (name, "dropped"),
    ]
    assert not rest.view_exists(name) and rest.view_exists(other)
    assert [view.outcome for view in revert_copies(rest, journal)] == ["absent", "changed", "absent"]


def test_revert_keeps_copy_that_another_program_changed(catalog, database, journal, raw):
    view = catalog.create_view_from_sql(f"{database}.v", "SELECT 1 AS id")
    entry = (f"{database}.v", view.metadata_location, fingerprint(view.metadata))
    journal.write_text(json.dumps(dict(zip(("view", "metadata_location", "fingerprint"), entry, strict=True))) + "\n")
    row = raw.get_table(database, "v")
    original, row.viewExpandedText = row.viewExpandedText, "select 7 as id"
    alter(raw, row)
    assert [each.outcome for each in revert_copies(catalog, journal)] == ["changed"]
    row.viewExpandedText = original
    alter(raw, row)
    assert [each.outcome for each in revert_copies(catalog, journal)] == ["dropped"]


def test_plan_reports_missing_sources_at_the_target(catalog, rest, database):
    table = catalog.create_table(f"{database}.orders", schema=pa.schema([("id", pa.int64())]))
    view, materialized = f"{database}.large", f"{database}.totals"
    catalog.create_view_from_sql(view, f"SELECT id FROM {database}.orders")
    catalog.materialized.create(materialized, f"SELECT id FROM {database}.large")
    missing = f"it reads {database}.orders, which the target does not have"
    first, second = plan_copy(catalog, rest, [view, materialized])
    assert first.notes == (missing,)
    assert second.notes == (
        "its stored rows are not copied: the copy is a plain view (`mv back` makes it materialized)",
    )
    rest.register_table(f"{database}.orders", table.metadata_location)
    assert plan_copy(catalog, rest, [view])[0].notes == ()
    (absent, unknown) = plan_copy(catalog, rest, [f"{database}.absent", "nowhere.v"])
    assert statuses([absent, unknown]) == [CopyStatus.REFUSED] * 2 and "no such view" in absent.problem
    (taken,) = plan_copy(rest, catalog, [f"{database}.orders"])
    assert taken.status is CopyStatus.REFUSED
    catalog.materialized.load(materialized).drop()


def test_copy_of_materialized_view_has_no_reference_to_stored_rows(catalog, rest, database, journal):
    for layout in ("registered", "attached"):
        name = f"{database}.{layout}"
        catalog.materialized.create(name, "SELECT 1 AS id", layout=layout)
        (copied,) = copy_views(catalog, rest, [name], journal=journal)
        assert copied.status is CopyStatus.COPIED
        copy = metadata_of(rest.load_view(name))
        assert "storage" not in str(copy.properties) + str([version.summary for version in copy.versions])
        catalog.materialized.load(name).drop()


def test_namespace_that_is_missing_is_refused(catalog, rest, name):
    rest.drop_namespace(name.split(".")[0])
    (view,) = plan_copy(catalog, rest, [name])
    assert view.status is CopyStatus.REFUSED and "create it first" in view.problem


@pytest.mark.parametrize("upper", ["Top"])
def test_names_that_a_metastore_changes_are_reported(catalog, rest, name, database, journal, upper):
    copy_views(catalog, rest, [name], journal=journal)
    source = f"{database}.{upper}"
    rest.register_view(source, catalog.load_view(name).metadata_location)
    (view,) = plan_copy(rest, catalog, [source])
    assert f"its name becomes {database}.top" in view.notes


def test_catalogs_of_one_metastore_are_rejected(catalog, properties, name):
    with HiveViewCatalog("other", **properties) as other, pytest.raises(InvalidPropertyError, match="this metastore"):
        plan_copy(catalog, other, [name])


def test_invalid_journal_is_reported(rest, journal):
    with pytest.raises(JournalError):
        revert_copies(rest, journal)
    for line in ("{}", '{"view": 5, "metadata_location": "/f", "fingerprint": ""}'):
        journal.write_text(f"{line}\n")
        with pytest.raises(JournalError):
            revert_copies(rest, journal)


def test_lost_answer_leaves_an_unknown_outcome(catalog, rest, rest_server, name, journal):
    with forwarder(rest_server, lost="POST .*/register-view") as uri:
        behind = load_catalog("rest", type="rest", uri=uri)
        (view,) = copy_views(catalog, behind, [name], journal=journal)
    assert view.status is CopyStatus.UNKNOWN and view.problem
    assert statuses(copy_views(catalog, rest, [name], journal=journal)) == [CopyStatus.PRESENT]
    assert [each.outcome for each in revert_copies(rest, journal)] == ["dropped"]


@pytest.mark.parametrize("lock_enabled", ["true", "false"])
def test_revert_drops_only_the_state_that_it_checked(
    catalog, rest, name, journal, proxy, open_catalog, database, tmp_path, lock_enabled
):
    copy_views(catalog, rest, [name], journal=tmp_path / "other.jsonl")
    catalog.drop_view(name)
    copy_views(rest, catalog, [name], journal=journal)
    method = "lock" if lock_enabled == "true" else ALTER_TABLE
    behind = open_catalog({"uri": proxy.uri, "iceberg.engine.hive.lock-enabled": lock_enabled})
    with proxy.in_flight(method, revert_copies, behind, journal) as reverting:
        catalog.load_view(name).update().set_properties(owner="finance").commit()
    (reverted,) = reverting.result()
    assert reverted.outcome == "changed"
    assert catalog.load_view(name).properties["owner"] == "finance"


def test_revert_reports_lost_answers_by_view(catalog, rest, rest_server, name, database, journal):
    other = f"{database}.other"
    catalog.create_view_from_sql(other, "SELECT 3 AS id")
    copy_views(catalog, rest, [name, other], journal=journal)
    with forwarder(rest_server, lost="DELETE .*/other") as uri:
        reverted = revert_copies(load_catalog("rest", type="rest", uri=uri), journal)
    assert [(view.name, view.outcome) for view in reverted] == [(other, "unknown"), (name, "dropped")]
    assert reverted[0].problem
    assert [view.outcome for view in revert_copies(rest, journal)] == ["absent", "absent"]


def test_commands_report_an_unreachable_catalog(cli, rest_server, name, rest, monkeypatch, tmp_path):
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "rest")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", rest_server)
    monkeypatch.chdir(tmp_path)
    assert cli("copy", "run", "--view", name, "--to-catalog", "lake").code == 0
    with forwarder(rest_server, lost="(GET|HEAD|DELETE) .*/(views|namespaces)/.*") as uri:
        monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
        planned = cli("copy", "plan", "--view", name, "--to-catalog", "lake")
        assert (planned.code, planned.out) == (6, "") and "Traceback" not in planned.err
        reverted = cli("copy", "revert", "--to-catalog", "lake", "--yes")
        assert reverted.code == 1 and reverted.out.startswith(f"{name}: failed: ")


def test_commands_copy_and_revert(cli, rest_server, rest, name, database, monkeypatch, tmp_path):
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "rest")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", rest_server)
    monkeypatch.chdir(tmp_path)
    planned = cli("copy", "plan", database, "--to-catalog", "lake", "--json")
    assert planned.json["views"][0]["status"] == "ready"
    copied = cli("copy", "run", "--view", name, "--to-catalog", "lake")
    assert (copied.code, copied.out) == (0, f"{name}: copied\n")
    again = cli("copy", "run", "--view", name, "--from-catalog", "lake")
    assert (again.code, again.out) == (0, f"{name}: present\n")
    missing = cli("copy", "plan", "--view", f"{database}.absent", "--to-catalog", "lake")
    assert (missing.code, missing.out) == (1, f"{database}.absent: refused: the source has no such view\n")
    assert cli("copy", "plan", database).code == 2
    reverted = cli("copy", "revert", "--to-catalog", "lake", "--yes")
    assert (reverted.code, reverted.out) == (0, f"{name}: dropped\n")
    assert rest.list_views(database) == []


def test_terminal_shows_progress_of_copies(rest_server, rest, name, metastore, monkeypatch, tmp_path):
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "rest")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", rest_server)
    monkeypatch.chdir(tmp_path)
    for words, printed, step in (
        (["plan", "--view", name], "ready", "planning"),
        (["run", "--view", name], "copied", "copying"),
        (["revert", "--yes"], "dropped", "reverting"),
    ):
        code, out, terminal_output = run_at_terminal(["copy", *words, "--to-catalog", "lake"], metastore.uri)
        assert (code, out) == (0, f"{name}: {printed}\n")
        assert re.search(rf"{step} [━╸╺ ]+ 1/1 [0-9.]+/s 0:00:00", terminal_output), terminal_output


def test_text_that_only_the_row_has_is_not_lost(catalog, rest, name, database, journal, raw):
    row = raw.get_table(database, name.split(".")[1])
    row.viewExpandedText = row.viewOriginalText = "select 7 as id, 'seven' as name"
    alter(raw, row)
    other = f"{database}.other"
    catalog.create_view_from_sql(other, "SELECT 3 AS id")
    refused, copied = copy_views(catalog, rest, [name, other], journal=journal)
    assert refused.status is CopyStatus.REFUSED and "`adopt`" in refused.problem
    assert copied.status is CopyStatus.COPIED and not rest.view_exists(name)
    catalog.adopt_view(name)
    assert statuses(copy_views(catalog, rest, [name], journal=journal)) == [CopyStatus.COPIED]
    texts = [text.root.sql for text in rest.load_view(name).current_version().representations]
    assert all("seven" in text for text in texts)


def test_other_values_of_the_row_are_reported(catalog, rest, name, database, raw):
    row = raw.get_table(database, name.split(".")[1])
    row.parameters["owner"] = "finance"
    alter(raw, row)
    (planned,) = plan_copy(catalog, rest, [name])
    assert planned.notes == ("its row has other values, which are not copied: property owner",)


def test_unreadable_view_does_not_stop_the_others(catalog, rest, name, database, journal):
    other = f"{database}.other"
    catalog.create_view_from_sql(other, "SELECT 3 AS id")
    catalog.store.files.delete(catalog.load_view(name).metadata_location)
    refused, copied = copy_views(catalog, rest, [name, other], journal=journal)
    assert (refused.status, copied.status) == (CopyStatus.REFUSED, CopyStatus.COPIED)
    assert "cannot be read in the source" in refused.problem


def test_revert_in_another_catalog_is_reported(catalog, rest, name, database, journal, cli):
    copy_views(catalog, rest, [name], journal=journal)
    catalog.drop_view(name)
    (reverted,) = revert_copies(catalog, journal)
    assert reverted.outcome == "absent" and "the copy was made in the catalog at http" in reverted.problem
    assert cli("copy", "revert", "--journal", str(journal), "--yes").code == 1
    assert [view.outcome for view in revert_copies(rest, journal)] == ["dropped"]


ODD = "ünï 'quote' \"double\" \\n {${x}} %s \u2028 😀"


def test_copy_to_another_metastore_and_back_is_equal(catalog, second, database, journal, tmp_path):
    """With texts that are hard to store; the second metastore has a table of the same name."""
    name = f"{database}.odd"
    for each in (catalog, second):
        each.create_table(f"{database}.orders", schema=pa.schema([("id", pa.int64())]))
    long = "x" * 3000
    catalog.create_view_from_sql(
        name, f"SELECT id, '{long}' AS `l ö`, 'ü' AS s FROM {database}.orders", column_comments=[ODD, None, "c"]
    )
    catalog.load_view(name).update().set_comment(ODD).set_properties(**{"odd key ü": ODD, "empty": "v"}).commit()
    original = catalog.load_view(name)
    (planned,) = plan_copy(catalog, second, [name])
    assert (planned.status, planned.notes) == (CopyStatus.READY, ())
    assert statuses(copy_views(catalog, second, [name], journal=journal)) == [CopyStatus.COPIED]
    copy = second.load_view(name)
    assert document_of(copy) == document_of(original) and not copy.drift
    assert (copy.original_text, copy.expanded_text) == (original.original_text, original.expanded_text)
    assert [str(view.name) for view in second.dependencies.dependents(f"{database}.orders")] == [name]
    catalog.drop_view(name)
    back = copy_views(second, catalog, [name], journal=journal.with_name("second"), location=f"file://{tmp_path}/back")
    assert statuses(back) == [CopyStatus.COPIED]
    restored = catalog.load_view(name)
    assert document_of(restored) == document_of(original) and not restored.drift
    assert [view.outcome for view in revert_copies(second, journal)] == ["dropped"]


def document_of(view):
    document = write_document(view.metadata)
    return {key: value for key, value in document.items() if key != "location"}


@pytest.mark.parametrize("lines", [*extended(1), 4])
def test_killed_copy_is_repeated_and_reverted(catalog, rest, rest_server, database, journal, properties, lines):
    names = [f"{database}.k_{number}" for number in range(6)]
    for name in names:
        catalog.create_view_from_sql(name, f"SELECT {name[-1]} AS id")
    command = [sys.executable, "-m", "hive_views", "--uri", properties["uri"], "--warehouse", properties["warehouse"]]
    lake = {"PYICEBERG_CATALOG__LAKE__TYPE": "rest", "PYICEBERG_CATALOG__LAKE__URI": rest_server}
    run = subprocess.Popen(
        [*command, "copy", "run", database, "--to-catalog", "lake", "--journal", journal], env={**os.environ, **lake}
    )
    deadline = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") >= lines:
            break
        time.sleep(0.001)
    run.kill()
    assert run.wait() == -9
    again = copy_views(catalog, rest, names, journal=journal)
    assert {view.status for view in again} <= {CopyStatus.PRESENT, CopyStatus.COPIED}
    assert sum(view.status is CopyStatus.PRESENT for view in again) < len(names)
    assert {view.outcome for view in revert_copies(rest, journal)} == {"dropped"}
    assert rest.list_views(database) == [] and len(catalog.list_views(database)) == len(names)
