"""A plan as text and in a journal, read and written piece by piece; and views that wait packed."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from hive_views.errors import JournalError, PlanError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import Journal, Prepared, known_history, read_journal
from hive_views.legacy_import.model import Reason, Refusal, Writer
from hive_views.legacy_import.options import Options, Rule
from hive_views.legacy_import.outcome import planned
from hive_views.legacy_import.plan import Entry, Plan, Verdict, read_plan, write_plan
from hive_views.legacy_import.planner import look, order_of
from hive_views.legacy_import.report.verification import rows_said, write_rows_said
from hive_views.metastore.row_codec import read_row
from tests.integration.legacy_import.rows import hive_view_row, trino_view_row


def plan_of(views: int) -> Plan:
    """A plan of views that are much alike, as views are."""
    entries = [
        Entry(
            name=ViewName("sales", f"v_{number}"),
            target=ViewName("sales", f"v_{number}"),
            writer=Writer.HIVE,
            dialect="hive",
            verdict=Verdict.READY,
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
        Entry(
            name=ViewName("sales", "bad"),
            target=ViewName("sales", "bad"),
            writer=Writer.SPARK,
            dialect="spark",
            verdict=Verdict.REFUSED,
            fingerprint="f",
            refusal=Refusal(Reason.CYCLE, "it reads itself"),
            storage={"kind": "none"},
        )
    )
    options = Options(renames=(Rule.parse("old_*:new_*"),))
    return Plan(tuple(entries), options, ((ViewName("sales", "bad"),),), "thrift://other:9083")


def test_the_text_in_pieces_is_the_plan():
    plan = plan_of(4)
    for text in (write_plan(plan), "".join(plan.json_pieces(ensure_ascii=True))):
        assert json.loads(text) == json.loads(json.dumps(plan.to_json()))
        assert read_plan(text) == plan
    assert "\n" not in "".join(plan.json_pieces(ensure_ascii=True))
    assert read_plan(json.dumps(Plan(()).to_json())) == Plan(())
    assert read_plan(write_plan(Plan(()))) == Plan(())


def test_what_is_no_plan_is_still_refused():
    document = plan_of(1).to_json()
    for change in ({"entries": [{"verdict": "ready", "fingerprint": "f"}]}, {"entries": [7]}, {"format": 1}):
        with pytest.raises(PlanError):
            read_plan(json.dumps({**document, **change}))


def test_a_plan_that_was_read_shares_what_its_entries_have_in_common():
    entries = read_plan(write_plan(plan_of(7))).entries
    assert entries[0].columns is entries[5].columns
    assert entries[0].changes is entries[5].changes
    assert entries[0].reads[0] is entries[3].reads[0]
    assert entries[0].new_text is entries[0].old_text


def test_a_view_of_a_plan_takes_less_than_two_kilobytes():
    text = write_plan(plan_of(500))
    read_plan(text)
    tracemalloc.start()
    try:
        plan = read_plan(text)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(plan.entries) == 501
    assert kept / 500 < 2_000


def test_a_journal_goes_on_and_is_read_by_line(tmp_path: Path):
    plan, path = plan_of(3), tmp_path / "journal"
    assert known_history(path, plan) is None
    with Journal(path, plan) as journal:
        journal.outcome(planned(plan.entries[0]))
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
    assert known_history(path, plan) is None
    with pytest.raises(JournalError, match="no line"):
        read_journal(path)
    with Journal(path, plan):
        pass
    assert read_journal(path).plan == plan
    with pytest.raises(JournalError, match="another plan"):
        known_history(path, plan_of(2))


def test_a_name_with_dots_is_read_as_it_was_written(tmp_path: Path):
    # Hive 4 takes nearly every character in the name of a table.
    plan, path = plan_of(1), tmp_path / "journal"
    odd = ViewName("sales", "a.b.c`ü")
    plan = replace(plan, entries=(replace(plan.entries[0], name=odd, target=odd, reads=(odd,)),), cycles=((odd,),))
    assert read_plan(write_plan(plan)) == plan
    with Journal(path, plan) as journal:
        journal.prepared(Prepared(odd, odd, "row", "backup", "location"))
        journal.outcome(replace(planned(plan.entries[0]), blocked_by=odd))
        journal.reverted(odd, "reverted")
    found = read_journal(path)
    assert (found.plan, set(found.prepared), found.outcomes[odd].blocked_by) == (plan, {odd}, odd)
    assert found.reverted == {odd: "reverted"}
    write_rows_said(path, {odd: "the same 7 rows"})
    assert rows_said(path) == {odd: "the same 7 rows"}
    assert Rule.parse("sales.*:other.*").apply(odd) == ViewName("other", odd.name)


@pytest.mark.parametrize("content", [b"a letter without a line break", b"a letter\n", b'{"event": "plan", "other": 1'])
def test_another_file_is_left_as_it_is(tmp_path: Path, content: bytes):
    path = tmp_path / "letter"
    path.write_bytes(content)
    with pytest.raises(JournalError):
        Journal(path, plan_of(1))
    assert path.read_bytes() == content


def test_a_view_that_waits_is_what_was_found():
    rows = [
        read_row(hive_view_row("sales", "h", "select id from t", "select `t`.`id` from `sales`.`t`", [("id", "int")])),
        read_row(trino_view_row("sales", "t", "SELECT id FROM h", [("id", "integer")])),
    ]
    found = [look(row, Options()) for row in rows]
    assert [item.opened()[0] for item in found] == rows
    assert found[0].shown == rows[0]
    # Trino's row has a column that is none; those who read the view see its own.
    assert [name for name, _, _ in rows[1].columns] == ["dummy"]
    assert [(name, kind) for name, kind, _ in found[1].shown.columns] == [("id", "int")]
    order = order_of(reversed(found))
    assert [str(name) for name in order.found] == ["sales.h", "sales.t"]
