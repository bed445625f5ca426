"""Plans as text and in journals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hive_views.errors import JournalError, PlanError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import (
    Announcement,
    Journal,
    RevertStatus,
    planned_outcome,
    read_journal,
    read_journal_of,
)
from hive_views.legacy_import.legacy_view import Problem, Reason, Writer
from hive_views.legacy_import.options import ImportOptions, RenameRule
from hive_views.legacy_import.plan import (
    ImportPlan,
    PlanEntry,
    PlanStatus,
    order_views,
    read_plan,
    scan_row,
    write_plan,
)
from hive_views.legacy_import.planned_store import row_with_view_columns
from hive_views.legacy_import.report.report import read_check_results, write_check_results
from hive_views.metastore.rows.row import read_row
from tests.integration.legacy_import.rows import hive_view_row, trino_view_row


def plan_of(views: int) -> ImportPlan:
    """A plan of views that are much alike, as views are."""
    entries = [
        PlanEntry(
            name=ViewName("sales", f"v_{number}"),
            target=ViewName("sales", f"v_{number}"),
            writer=Writer.HIVE,
            dialect="hive",
            status=PlanStatus.READY,
            fingerprint=f"{number:064x}",
            reads=(ViewName("sales", f"t_{number % 3}"),),
            old_text=f"select 'ä' from t where id > {number}",
            new_text=f"select 'ä' from t where id > {number}",
            columns=(("id", "bigint"), ("".join(("lab", "el")), "string")),
            changes=("a column changes",),
        )
        for number in range(views)
    ]
    entries.append(
        PlanEntry(
            name=ViewName("sales", "bad"),
            target=ViewName("sales", "bad"),
            writer=Writer.SPARK,
            dialect="spark",
            status=PlanStatus.REFUSED,
            fingerprint="f",
            problem=Problem(Reason.CYCLE, "it reads itself"),
            storage={"kind": "none"},
        )
    )
    options = ImportOptions(renames=(RenameRule.parse("old_*:new_*"),))
    return ImportPlan(tuple(entries), options, ((ViewName("sales", "bad"),),), "thrift://other:9083")


def test_plan_equals_its_text_read_again():
    plan = plan_of(4)
    assert json.loads(write_plan(plan)) == json.loads(json.dumps(plan.to_json()))
    for written in (plan, ImportPlan(())):
        assert read_plan(write_plan(written)) == written


def test_plan_has_the_oldest_format_that_older_releases_read():
    plan = plan_of(1)
    unreadable = replace(plan.entries[-1], problem=Problem(Reason.UNREADABLE_TABLE, "it reads a table"))
    accepting = ImportOptions(accept_unreadable=(ViewName("sales", "t"),))
    newer = replace(plan, entries=(unreadable,)), replace(plan, options=accepting)
    assert [each.to_json()["format"] for each in (plan, *newer)] == [2, 3, 3]
    for each in newer:
        assert read_plan(write_plan(each)) == each
    with pytest.raises(PlanError, match=r"the plan is of format 4; this version reads 2 and 3\. Plan again"):
        read_plan(json.dumps({**plan.to_json(), "format": 4}))


def test_plan_has_the_options_of_older_releases_unless_newer_ones_are_used():
    plan = plan_of(1)
    assert {"readers", "strict", "file_columns"}.isdisjoint(plan.to_json()["options"])
    strict = replace(plan, options=ImportOptions(readers=("spark", "hive"), strict=True))
    assert strict.to_json()["options"]["readers"] == ["spark", "hive"]
    assert read_plan(write_plan(strict)) == strict


def test_other_json_is_not_a_plan():
    document = plan_of(1).to_json()
    for change in ({"entries": [{"verdict": "ready", "fingerprint": "f"}]}, {"entries": [7]}, {"format": 1}):
        with pytest.raises(PlanError):
            read_plan(json.dumps({**document, **change}))


def test_journal_is_resumed_without_an_incomplete_line(tmp_path: Path):
    plan, path = plan_of(3), tmp_path / "journal"
    assert read_journal_of(path, plan) is None
    with Journal(path, plan) as journal:
        journal.record_outcome(planned_outcome(plan.entries[0]))
    whole = path.read_bytes()
    for cut in (b'{"event": "outco', b"\xff\xfe"):
        path.write_bytes(whole + cut)
        assert set(read_journal(path).outcomes) == {plan.entries[0].name}
        with Journal(path, plan) as journal:
            assert journal.history.plan is plan
            assert set(journal.history.outcomes) == {plan.entries[0].name}
        assert path.read_bytes() == whole
    # The first line was cut off: nothing was done yet.
    path.write_bytes(whole[:50])
    assert read_journal_of(path, plan) is None
    with pytest.raises(JournalError, match="no complete line"):
        read_journal(path)
    with Journal(path, plan):
        pass
    assert read_journal(path).plan == plan
    with pytest.raises(JournalError, match="another plan"):
        read_journal_of(path, plan_of(2))


def test_name_with_dots_survives_plan_and_journal(tmp_path: Path):
    # Hive 4 takes nearly every character in the name of a table.
    plan, path = plan_of(1), tmp_path / "journal"
    odd = ViewName("sales", "a.b.c`ü")
    plan = replace(plan, entries=(replace(plan.entries[0], name=odd, target=odd, reads=(odd,)),), cycles=((odd,),))
    assert read_plan(write_plan(plan)) == plan
    with Journal(path, plan) as journal:
        journal.announce([Announcement(name=odd, target=odd, row="row", backup="backup", metadata_location="location")])
        journal.record_outcome(replace(planned_outcome(plan.entries[0]), blocked_by=odd))
        journal.record_revert(odd, RevertStatus.REVERTED)
    found = read_journal(path)
    assert (found.plan, set(found.announcements), found.outcomes[odd].blocked_by) == (plan, {odd}, odd)
    assert found.reverted == {odd: RevertStatus.REVERTED}
    write_check_results(path, {odd: "the same 7 rows"})
    assert read_check_results(path) == {odd: "the same 7 rows"}
    assert RenameRule.parse("sales.*:other.*").apply(odd) == ViewName("other", odd.name)


@pytest.mark.parametrize(
    "content", [b"a letter without a line break", b"a letter\n", b'{"event": "plan", "other": 1', b"[" * 50_000 + b"\n"]
)
def test_file_that_is_not_a_journal_is_not_changed(tmp_path: Path, content: bytes):
    path = tmp_path / "letter"
    path.write_bytes(content)
    with pytest.raises(JournalError):
        Journal(path, plan_of(1))
    assert path.read_bytes() == content


def test_scanned_trino_view_is_shown_with_its_own_columns():
    rows = [
        read_row(hive_view_row("sales", "h", "select id from t", "select `t`.`id` from `sales`.`t`", [("id", "int")])),
        read_row(trino_view_row("sales", "t", "SELECT id FROM h", [("id", "integer")])),
    ]
    views = [scan_row(row, ImportOptions()) for row in rows]
    shown = [row_with_view_columns(view.row, view.view) for view in views]
    assert shown[0] == rows[0]
    # The row declares a dummy column.
    assert [name for name, _, _ in rows[1].columns] == ["dummy"]
    assert [(name, type_text) for name, type_text, _ in shown[1].columns] == [("id", "int")]
    assert [str(name) for name in order_views(reversed(views)).views] == ["sales.h", "sales.t"]
