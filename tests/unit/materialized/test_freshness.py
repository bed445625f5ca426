"""The freshness decision: every difference makes rows stale, and unknown states are never fresh."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import SnapshotInfo, TableState
from hive_views.materialized.freshness.verdict import (
    Cause,
    Freshness,
    ObservedSource,
    ObservedState,
    RecordedRefresh,
    StalenessReason,
    Verdict,
    changed_tables,
    decide,
)
from hive_views.materialized.refresh.plan import PlanInput, plan_refresh
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, RefreshState, SourceKind, SourceState
from hive_views.spec.session_settings import ANSI, TIME_ZONE
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.text.dialects import Dialect

T, V = ViewName("db", "t"), ViewName("db", "v")
VIEW = "view-uuid"
STATE = RefreshState(
    1,
    (
        SourceState(SourceKind.TABLE, T, "uuid-t", 10, schema_id=0, definition="columns"),
        SourceState(SourceKind.VIEW, V, "uuid-v", 2),
    ),
    1000,
)
NOW = ObservedState(
    VIEW,
    1,
    (
        ObservedSource(SourceKind.TABLE, T, "uuid-t", 10, 0, {10: True}, "columns"),
        ObservedSource(SourceKind.VIEW, V, "uuid-v", 2),
    ),
)
RECORDED = RecordedRefresh(STATE, VIEW)
TOKYO = {TIME_ZONE: "Asia/Tokyo", ANSI: "false"}


def table(**changes) -> ObservedState:
    changes = {"same_rows": {changes["id"]: True}, **changes} if "id" in changes else changes
    return replace(NOW, sources=(replace(NOW.sources[0], **changes), NOW.sources[1]))


def view(**changes) -> ObservedState:
    return replace(NOW, sources=(NOW.sources[0], replace(NOW.sources[1], **changes)))


def foreign(**changes) -> RecordedRefresh:
    return replace(RECORDED, state=replace(STATE, sources=(replace(STATE.sources[0], **changes), STATE.sources[1])))


CASES = [
    (RECORDED, NOW, Verdict.FRESH, []),
    (RECORDED, table(name=ViewName("db", "renamed")), Verdict.FRESH, []),
    (RECORDED, table(id=12, same_rows={12: True, 11: False, 10: False}), Verdict.FRESH, []),
    (RECORDED, table(id=12, same_rows={12: True, 11: True}), Verdict.STALE, [Cause.CHANGED]),
    (RECORDED, table(id=11), Verdict.STALE, [Cause.CHANGED]),
    (RECORDED, table(id=NO_SNAPSHOT), Verdict.STALE, [Cause.CHANGED]),
    (RECORDED, table(schema_id=1, definition="others"), Verdict.STALE, [Cause.SCHEMA]),
    # The id of an expired schema is used again, also before the table has rows.
    (RECORDED, table(definition="others"), Verdict.STALE, [Cause.SCHEMA]),
    (foreign(id=NO_SNAPSHOT), table(id=NO_SNAPSHOT, definition="others"), Verdict.STALE, [Cause.SCHEMA]),
    (foreign(id=NO_SNAPSHOT), table(id=NO_SNAPSHOT), Verdict.FRESH, []),
    # Without columns, their schema's id counts if the snapshot was written with it.
    (foreign(definition=None), NOW, Verdict.FRESH, []),
    (foreign(definition=None, schema_id=None), NOW, Verdict.FRESH, []),
    (foreign(definition=None), table(id=12, same_rows={12: True, 10: True}), Verdict.FRESH, []),
    (foreign(definition=None), table(id=12, same_rows={12: True, 10: False}), Verdict.STALE, [Cause.SCHEMA]),
    (foreign(definition=None), table(same_rows={10: False}), Verdict.STALE, [Cause.SCHEMA]),
    (foreign(definition=None, schema_id=1), NOW, Verdict.STALE, [Cause.SCHEMA]),
    (foreign(ref="audit"), NOW, Verdict.UNKNOWN, [Cause.NO_STATE]),
    (foreign(uuid=None), NOW, Verdict.FRESH, []),
    (RECORDED, table(uuid="another"), Verdict.STALE, [Cause.REPLACED]),
    (RECORDED, view(uuid="another"), Verdict.STALE, [Cause.REPLACED]),
    (RECORDED, replace(NOW, sources=(replace(NOW.sources[0], name=V), replace(NOW.sources[1], name=T))),
     Verdict.STALE, [Cause.REPLACED, Cause.REPLACED]),
    (RECORDED, view(id=3), Verdict.STALE, [Cause.VIEW_CHANGED]),
    (RECORDED, view(kind=SourceKind.TABLE), Verdict.STALE, [Cause.REPLACED]),
    (RECORDED, replace(NOW, version_id=2), Verdict.STALE, [Cause.DEFINITION]),
    (RECORDED, replace(NOW, view_uuid="another"), Verdict.STALE, [Cause.OTHER_VIEW]),
    (replace(RECORDED, view_uuid=None), NOW, Verdict.FRESH, []),
    (RECORDED, replace(NOW, sources=NOW.sources[:1]), Verdict.STALE, [Cause.REMOVED]),
    (RECORDED, replace(NOW, sources=NOW.sources[:1], missing=(V,)), Verdict.STALE, [Cause.GONE]),
    (RECORDED, replace(NOW, unreadable={V: "why"}), Verdict.UNKNOWN, [Cause.NO_LINEAGE]),
    (replace(RECORDED, unrepeatable=("rand",)), NOW, Verdict.UNKNOWN, [Cause.UNREPEATABLE]),
    (RECORDED, replace(NOW, hive_sources={ViewName("h", "t"): "a"}), Verdict.UNKNOWN, [Cause.BEST_EFFORT]),
    (replace(RECORDED, hive_sources={ViewName("h", "t"): "a"}), replace(NOW, hive_sources={ViewName("h", "t"): "a"}),
     Verdict.UNKNOWN, [Cause.BEST_EFFORT]),
    (replace(RECORDED, hive_sources={ViewName("h", "t"): "a"}), replace(NOW, hive_sources={ViewName("h", "t"): "b"}),
     Verdict.STALE, [Cause.CHANGED]),
    (replace(RECORDED, hive_sources={V: "a"}), replace(NOW, hive_sources={V: "b"}, hive_views=frozenset({V})),
     Verdict.STALE, [Cause.VIEW_CHANGED]),
    (replace(RECORDED, hive_sources={ViewName("h", "t"): "a"}), NOW, Verdict.STALE, [Cause.REMOVED]),
    (replace(RECORDED, settings=TOKYO), NOW, Verdict.FRESH, []),
    (replace(RECORDED, settings=TOKYO), replace(NOW, settings={V: {TIME_ZONE: "UTC"}}),
     Verdict.STALE, [Cause.SETTINGS]),
    (replace(RECORDED, settings=TOKYO), replace(NOW, settings={V: {TIME_ZONE: "Asia/Tokyo", ANSI: "FALSE"}}),
     Verdict.FRESH, []),
    (replace(RECORDED, settings=TOKYO), replace(NOW, settings={T: {ANSI: "true"}, V: {TIME_ZONE: "UTC"}}),
     Verdict.STALE, [Cause.SETTINGS, Cause.SETTINGS]),
    (RECORDED, replace(NOW, settings={V: {TIME_ZONE: "UTC"}}), Verdict.FRESH, []),
    (RecordedRefresh(None), NOW, Verdict.STALE, [Cause.NEVER_REFRESHED]),
    (RecordedRefresh(None, problem=StalenessReason(Cause.NO_STATE)), NOW, Verdict.UNKNOWN, [Cause.NO_STATE]),
    (RecordedRefresh(None, problem=StalenessReason(Cause.STORAGE)), NOW, Verdict.UNKNOWN, [Cause.STORAGE]),
]  # fmt: skip


@pytest.mark.parametrize(("recorded", "observed", "verdict", "causes"), CASES)
def test_freshness_verdict_and_causes(recorded, observed, verdict, causes):
    freshness = decide(recorded, observed, now_ms=2000)
    assert (freshness.verdict, [reason.cause for reason in freshness.reasons]) == (verdict, causes)
    assert str(freshness).startswith(verdict.value)


@pytest.mark.parametrize(("recorded", "observed", "verdict", "causes"), CASES)
def test_grace_period_excuses_age_but_not_redefinition(recorded, observed, verdict, causes):
    freshness = decide(recorded, observed, now_ms=2000, max_staleness_ms=1000)
    hard = {
        Cause.DEFINITION,
        Cause.OTHER_VIEW,
        Cause.VIEW_CHANGED,
        Cause.NEVER_REFRESHED,
        Cause.STORAGE,
        Cause.SETTINGS,
    }
    if verdict is Verdict.FRESH or hard & set(causes) or recorded.state is None:
        assert freshness.verdict is verdict
    else:
        assert freshness.verdict is Verdict.WITHIN_GRACE
    assert decide(recorded, observed, now_ms=2001, max_staleness_ms=1000).verdict is verdict
    assert decide(recorded, observed, now_ms=999, max_staleness_ms=1000).verdict is verdict, "a clock that was set back"


@pytest.mark.parametrize("is_first", [True, False])
def test_second_name_of_a_source_is_not_what_the_refresh_read(is_first):
    """A table was registered again under another name, which the definition reads, too."""
    again = replace(NOW.sources[0], name=ViewName("db", "again"))
    sources = (again, *NOW.sources) if is_first else (*NOW.sources, again)
    freshness = decide(RECORDED, replace(NOW, sources=sources), now_ms=2000)
    assert freshness.verdict is Verdict.UNKNOWN
    assert [(reason.cause, reason.source) for reason in freshness.reasons] == [(Cause.NO_STATE, again.name)]


def test_view_without_recorded_uuid_has_unknown_freshness():
    state = replace(STATE, sources=(STATE.sources[0], replace(STATE.sources[1], uuid=None)))
    freshness = decide(replace(RECORDED, state=state), NOW, now_ms=2000)
    assert [reason.cause for reason in freshness.reasons] == [Cause.NO_STATE]


def test_reasons_name_source_and_both_states():
    [reason] = decide(RECORDED, table(id=11), now_ms=2000).reasons
    assert (reason.source, reason.before, reason.now) == (T, "snapshot 10", "snapshot 11")
    assert str(reason) == "db.t: a table changed, from snapshot 10 to snapshot 11"


def test_only_changed_tables_allow_incremental_refresh():
    assert changed_tables(decide(RECORDED, table(id=11), now_ms=2000)) == (T,)
    assert changed_tables(decide(RECORDED, NOW, now_ms=2000)) == ()
    assert changed_tables(decide(RECORDED, replace(table(id=11), version_id=2), now_ms=2000)) is None


numbers = st.integers(1, 4)
kinds = st.sampled_from(SourceKind)
recorded_sources = st.lists(
    st.tuples(kinds, st.sampled_from("abc"), st.sampled_from("xyz"), numbers, st.integers(0, 1)),
    max_size=3,
    unique_by=(lambda item: item[1], lambda item: item[2]),
)


@given(recorded_sources, recorded_sources, st.integers(1, 2), st.integers(1, 2))
def test_fresh_requires_same_objects_in_same_state(before, now, version, current):
    def unique(values):
        return {
            (kind, uuid, number, schema if kind is SourceKind.TABLE else 0) for kind, _, uuid, number, schema in values
        }

    def columns(kind, schema):
        return str(schema) if kind is SourceKind.TABLE else None

    state = RefreshState(
        version,
        tuple(SourceState(kind, ViewName("d", name), uuid, number, schema_id=schema, definition=columns(kind, schema))
              for kind, name, uuid, number, schema in before),
        0,
    )  # fmt: skip
    observed = ObservedState(
        "v",
        current,
        tuple(ObservedSource(kind, ViewName("d", name), uuid, number, schema, {}, columns(kind, schema))
              for kind, name, uuid, number, schema in now),
    )  # fmt: skip
    freshness = decide(RecordedRefresh(state), observed, now_ms=1)
    named = {name: uuid for _, name, uuid, _, _ in before}
    moved = any(named.get(name, uuid) != uuid for _, name, uuid, _, _ in now)
    assert freshness.is_fresh == (version == current and unique(before) == unique(now) and not moved)


# -- Snapshots --------------------------------------------------------------------------------------------------------

operations = st.lists(st.sampled_from(("append", "replace", "overwrite", "delete")), max_size=6)


def chain(names: list[str], expired: int = 0) -> TableState:
    snapshots = {
        number: SnapshotInfo(parent=number - 1 or None, operation=name, schema_id=0)
        for number, name in enumerate(names, start=1)
    }
    kept = {number: fact for number, fact in snapshots.items() if number > expired}
    return TableState(uuid="u", snapshot_id=len(names) or NO_SNAPSHOT, schema_id=0, snapshots=kept)


@given(operations, st.integers(0, 6), st.integers(0, 6))
def test_snapshots_since_another(names, since, expired):
    assume(since <= len(names) and expired <= max(len(names) - 1, 0))
    table = chain(names, expired)
    later = table.snapshots_since(since or NO_SNAPSHOT)
    if since > expired or (since == 0 and expired == 0):
        assert later == tuple(range(len(names), since, -1))
        assert table.only_grew_since(since or NO_SNAPSHOT) == (set(names[since:]) <= {"append", "replace"})
    else:
        assert later is None and not table.only_grew_since(since or NO_SNAPSHOT)
    for snapshot in table.same_rows.keys() - {table.snapshot_id}:
        assert set(names[snapshot:]) == {"replace"}


# -- Plans ------------------------------------------------------------------------------------------------------------

A, B, Z = (NestedField(number, name, LongType()) for number, name in enumerate("abz", start=1))
C = NestedField(5, "c", StringType())
U = ViewName("db", "u")
SETTINGS = {TIME_ZONE: "UTC", ANSI: "true"}


def no_partitions(*_: object) -> NoReturn:
    raise NotIncrementalError("no partitions")


def first_action(
    sql: str, before: tuple[NestedField, ...], now: tuple[NestedField, ...], operation: str = "append", **recorded
) -> str:
    """The first plan for a view of `db.t` and `db.u`, of which `t` got the columns `now` and a further snapshot."""
    snapshots = {
        10: SnapshotInfo(parent=None, operation="append", schema_id=0),
        11: SnapshotInfo(parent=10, operation=operation, schema_id=1),
    }
    before_table = TableState(
        uuid="uuid-t", snapshot_id=10, schema_id=0, snapshots=snapshots, columns={0: before, 1: now}
    )
    u_columns = {0: (A, NestedField(4, "s", StringType()))}
    tables = {
        T: replace(before_table, snapshot_id=11, schema_id=1 if before != now else 0),
        U: TableState(uuid="uuid-u", snapshot_id=10, schema_id=0, snapshots=snapshots, columns=u_columns),
    }
    state = RefreshState(
        1,
        tuple(
            SourceState(SourceKind.TABLE, name, table.uuid, 10, schema_id=0, definition=table.definition(0))
            for name, table in ((T, before_table), (U, tables[U]))
        ),
        0,
    )
    reasons = (StalenessReason(Cause.CHANGED, T, "snapshot 10", "snapshot 11"),)
    refresh = replace(RecordedRefresh(state, settings=SETTINGS), **recorded)
    stored = Schema(NestedField(1, "x", LongType()), NestedField(2, "y", LongType()))
    columns = {
        (name.database, name.name): [column.name for column in table.columns[table.schema_id]]
        for name, table in tables.items()
    }
    query = IncrementalQuery(sql, Dialect.SPARK, "db", columns)
    given = PlanInput(
        recorded=refresh,
        freshness=Freshness(Verdict.STALE, reasons),
        tables=tables,
        leaves=query,
        schema=stored,
        is_repeatable=True,
        settings=SETTINGS,
        can_replace_keys=True,
    )
    return next(plan_refresh(given, no_partitions)).action


@pytest.mark.parametrize(
    ("action", "sql", "before", "now", "operation"),
    [
        ("incremental", "SELECT a AS x, b AS y FROM t", (A, B), (A, B), "append"),
        ("incremental", "SELECT a AS x, b AS y FROM t", (A, B), (A, B, Z), "append"),
        ("full", "SELECT a AS x, b AS z FROM t", (A, B), (A, B, Z), "append"),
        ("full", "SELECT x.a, x.b FROM t AS x (a, b)", (A, B), (B, A), "append"),
        ("full", "SELECT a AS x, b AS y FROM t", (A, B), (A, Z, B), "append"),
        ("full", "SELECT a AS x, b AS y FROM t", (A, B), (A,), "append"),
        ("keys", "SELECT t.a AS x, u.a AS y FROM u LEFT JOIN t ON u.a = t.b", (A, B), (A, B), "append"),
        ("keys", "SELECT a AS x, b AS y FROM t", (A, B), (A, B), "delete"),
        # The key is compared as text in the stored rows, and as a number by the definition.
        ("full", "SELECT u.a AS x, t.a AS y FROM u LEFT JOIN t ON u.a = t.c", (A, C), (A, C), "delete"),
        ("keys", "SELECT u.a AS x, t.a AS y FROM u LEFT JOIN t ON u.a = t.c AND u.a = t.a", (A, C), (A, C), "delete"),
        ("full", "SELECT c AS x, count(*) AS y FROM t GROUP BY c", (A, C), (A, C), "delete"),
    ],
)
def test_first_plan_depends_on_changed_columns(action, sql, before, now, operation):
    assert first_action(sql, before, now, operation) == action


def test_rows_of_unknown_settings_or_columns_are_computed_in_full():
    query = "SELECT a AS x, b AS y FROM t"
    assert first_action(query, (A, B), (A, B), settings={}) == "full"
    assert first_action(query, (A, B), (A, B), state=STATE) == "full"
