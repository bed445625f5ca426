"""Lineage and refresh state by sequence numbers ("Materialized Views: Lineage and State Representation")."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.errors import InvalidPropertyError, InvalidRefreshStateError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Cause, ObservedSource, ObservedState, RecordedRefresh, decide
from hive_views.materialized.state.refresh_state import RefreshState, SourceKind, SourceState
from hive_views.materialized.state.sequence_numbers import (
    SEQUENCE_DETAILS,
    SEQUENCE_STATE,
    SequenceIds,
    assign_numbers,
    decode_by_number,
    decode_lineage,
    encode_numbers_only,
    encode_with_uuids,
    has_numbers_only,
)
from tests.unit.materialized.test_json import states

V, T, U = ViewName("db", "v"), ViewName("db", "t"), ViewName("db", "u")
LINEAGE = {"db.v": 1, "db.t": 2, "db.u": 3}
STATES = {"1": 4, "2": 5310, "3": 5311}
"""A view over v and u; v reads t. The lineage has the transitive sources, too, and the state an entry for each."""
STATE = RefreshState(
    1,
    (
        SourceState(SourceKind.VIEW, V, "uuid-v", 4, definition="as it was"),
        SourceState(SourceKind.TABLE, T, "uuid-t", 5310, schema_id=0, definition="columns"),
        SourceState(SourceKind.TABLE, U, "uuid-u", 5311, schema_id=0, definition="columns"),
    ),
    1000,
)
NOW = ObservedState(
    "mv",
    1,
    (
        ObservedSource(SourceKind.VIEW, V, "uuid-v", 4, definition="as it was"),
        ObservedSource(SourceKind.TABLE, T, "uuid-t", 5310, 0, {5310: True}, "columns"),
        ObservedSource(SourceKind.TABLE, U, "uuid-u", 5311, 0, {5311: True}, "columns"),
    ),
)


def test_sequence_numbers_start_at_1_for_each_view():
    assert assign_numbers({}, [V, T, U]) == LINEAGE


def test_state_maps_numbers_to_states_only():
    summary = encode_numbers_only(STATE, LINEAGE)
    assert json.loads(summary[SEQUENCE_STATE]) == STATES
    assert has_numbers_only(summary) and not has_numbers_only(encode_with_uuids(STATE, LINEAGE))
    assert "uuid" not in "".join(summary.values())


def test_lineage_and_state_are_correlated_by_number():
    decoded = decode_by_number(encode_numbers_only(STATE, LINEAGE), LINEAGE)
    assert {source.name: source.id for source in decoded.sources} == {V: 4, T: 5310, U: 5311}
    assert decide(RecordedRefresh(decoded), NOW, now_ms=0).is_fresh
    other = {name: {1: 2, 2: 1}.get(number, number) for name, number in LINEAGE.items()}
    assert not decide(
        RecordedRefresh(decode_by_number(encode_numbers_only(STATE, LINEAGE), other)), NOW, now_ms=0
    ).is_fresh


@pytest.mark.parametrize("lineage", [{}, {"db.v": 1, "db.t": 2}])
def test_state_without_lineage_is_rejected(lineage):
    with pytest.raises(InvalidRefreshStateError):
        decode_by_number(encode_numbers_only(STATE, LINEAGE), lineage)


def test_state_of_other_writer_identifies_tables_but_not_views():
    pure = {key: value for key, value in encode_numbers_only(STATE, LINEAGE).items() if key != SEQUENCE_DETAILS}
    state = decode_by_number(pure, LINEAGE)
    [reason] = decide(RecordedRefresh(state), NOW, now_ms=0).reasons
    assert (reason.cause, reason.source) == (Cause.NO_STATE, V), "another view may have its name and its number"
    tables = replace(state, sources=state.sources[1:])
    assert decide(RecordedRefresh(tables), replace(NOW, sources=NOW.sources[1:]), now_ms=0).is_fresh


def observed(at: int, **changes) -> ObservedState:
    sources = [replace(source, **changes) if index == at else source for index, source in enumerate(NOW.sources)]
    return replace(NOW, sources=tuple(sources))


@pytest.mark.parametrize(
    ("now", "causes"),
    [
        (observed(0, id=5), [Cause.VIEW_CHANGED]),
        (observed(0, definition="another"), [Cause.VIEW_CHANGED]),
        (observed(0, uuid="a view of the same text"), []),
        (observed(1, id=6, same_rows={6: True}), [Cause.CHANGED]),
        (observed(1, id=6, same_rows={6: True, 5310: False}), []),
        (observed(1, schema_id=1, definition="others"), [Cause.SCHEMA]),
        (observed(1, definition="others"), [Cause.SCHEMA]),
        (observed(1, name=ViewName("db", "renamed")), [Cause.ADDED, Cause.REMOVED]),
        (observed(1, kind=SourceKind.VIEW, definition="d", id=1), [Cause.VIEW_CHANGED]),
        (replace(NOW, sources=NOW.sources[:2]), [Cause.REMOVED]),
        (replace(NOW, version_id=2), [Cause.DEFINITION]),
    ],
)
def test_freshness_by_sequence_numbers(now, causes):
    state = decode_by_number(encode_numbers_only(STATE, LINEAGE), LINEAGE)
    assert [reason.cause for reason in decide(RecordedRefresh(state), now, now_ms=0).reasons] == causes


@given(states)
def test_states_with_and_without_uuids_round_trip(state):
    numbers = assign_numbers({}, [source.name for source in state.sources])
    only = decode_by_number(encode_numbers_only(state, numbers), numbers)
    bare = {replace(source, kind=None, uuid=None) for source in state.sources}
    assert set(only.sources) == bare
    assert (only.view_version_id, only.started_ms, only.definition) == (
        state.view_version_id, state.started_ms, state.definition)  # fmt: skip
    decoded = decode_by_number(encode_with_uuids(state, numbers), numbers)
    assert {(item.kind, item.name, item.uuid, item.id) for item in decoded.sources} == {
        (item.kind, item.name, item.uuid, item.id) for item in state.sources
    }


children = st.lists(st.sampled_from("abcdef").map(lambda name: ViewName("d", name)), unique=True)


@given(st.lists(children, max_size=4), st.integers(0, 9))
def test_number_is_never_reassigned(lists, behind):
    numbers: dict[str, int] = {}
    for names in lists:
        more = assign_numbers(numbers, names, behind)
        assert {name: more[name] for name in numbers} == numbers
        assert {str(name) for name in names} <= more.keys()
        assert len(set(more.values())) == len(more) and all(number > behind for number in more.values())
        assert decode_lineage(json.dumps(more)) == more
        numbers = more


@pytest.mark.parametrize("text", ["", "[]", '{"a": 0}', '{"a": "1"}', '{"a": true}', '{"a": 1, "b": 1}'])
def test_invalid_lineage_is_rejected(text):
    with pytest.raises(InvalidRefreshStateError):
        decode_lineage(text if text else "no")


@pytest.mark.parametrize(
    "changes",
    [
        {SEQUENCE_STATE: '{"x": 1}'},
        {SEQUENCE_STATE: '{"1": "4"}'},
        {SEQUENCE_STATE: '{"1": {"type": "else", "id": 1}}'},
        {SEQUENCE_STATE: "[]"},
        {"version-id": "new"},
    ],
)
def test_invalid_state_is_rejected(changes):
    with pytest.raises(InvalidRefreshStateError):
        decode_by_number({**encode_numbers_only(STATE, LINEAGE), **changes}, LINEAGE)


def test_property_selects_sequence_ids():
    assert SequenceIds.of({}) is SequenceIds.NONE
    assert SequenceIds.of({"hive-views.sequence-ids": "Only"}) is SequenceIds.ONLY
    with pytest.raises(InvalidPropertyError):
        SequenceIds.of({"hive-views.sequence-ids": "yes"})
