"""Commits set the draft's field and the property of this package to the value that was set last."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.spec.staleness_policy import ALLOW_STALE_DATA, METADATA, is_stale_data_allowed, synchronize_properties

PLAIN = '{"format-version":1,"storage-table-location":"x"}'


def field(properties: dict[str, str]) -> bool | None:
    return json.loads(properties[METADATA]).get("allow-stale-data")


def with_field(properties: dict[str, str], value: bool | None) -> dict[str, str]:
    document = json.loads(properties[METADATA])
    document.pop("allow-stale-data", None)
    return {**properties, METADATA: json.dumps(document if value is None else {**document, "allow-stale-data": value})}


def with_property(properties: dict[str, str], value: bool | None) -> dict[str, str]:
    rest = {key: text for key, text in properties.items() if key != ALLOW_STALE_DATA}
    return rest if value is None else {**rest, ALLOW_STALE_DATA: str(value).lower()}


VALUES = st.sampled_from([True, False, None])
STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from([with_field, with_property]), VALUES), max_size=6)


@given(VALUES, STEPS)
def test_last_set_value_is_effective(first, steps):
    """Each step changes one of the two: a commit of this package, or of a program that supports only one."""
    held = with_property({METADATA: PLAIN, "team": "bi"}, first)
    held, meant = synchronize_properties({}, held), first
    for ours, change, value in steps:
        settled = synchronize_properties(held, held)
        before = settled if ours else held
        after = change(before, value)
        if after == before or (not ours and held != settled):
            continue  # two others in a row, without a commit of ours between, are indistinguishable
        held, meant = synchronize_properties(before, after) if ours else after, value
        assert is_stale_data_allowed(held) is bool(meant)
        done = synchronize_properties(held, held)
        assert is_stale_data_allowed(done) is bool(meant) and bool(field(done)) is bool(meant)
        assert done.get(ALLOW_STALE_DATA, str(bool(meant)).lower()) == str(bool(meant)).lower()
        assert synchronize_properties(done, done) == done and done["team"] == "bi"


def test_files_of_earlier_release_are_readable():
    """The field of the creation and a property that was set later: the property, which is the later one."""
    stored = {METADATA: with_field({METADATA: PLAIN}, True)[METADATA], ALLOW_STALE_DATA: "false"}
    assert not is_stale_data_allowed(stored)
    assert field(synchronize_properties(stored, stored)) is False
    assert is_stale_data_allowed(with_property(stored, None)), "only the field is left"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"allow-stale-data":"yes"}'])
def test_invalid_document_is_not_changed(text):
    stored = {METADATA: text, ALLOW_STALE_DATA: "true"}
    assert synchronize_properties({}, stored) == stored
    assert synchronize_properties(stored, {"a": "b"}) == {"a": "b"}
