"""The JSON of the layouts and of the refresh state: fields, round trips, and rejected documents."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.errors import InvalidRefreshStateError, UnsupportedMaterializedViewError
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.attached import AttachedStorage, AttachedView
from hive_views.materialized.layouts.table import AssociatedView, decode_summary, encode_summary
from hive_views.materialized.state.refresh_state import (
    RefreshState,
    SourceKind,
    SourceState,
    decode,
    encode,
    row_count,
)
from hive_views.spec.storage_link import StorageLink

names = st.builds(
    ViewName, st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.from_regex(r"[a-z0-9_]{1,8}", fullmatch=True)
)
ids = st.integers(-(2**63), 2**63 - 1)
uuids = st.uuids().map(str)
definitions = st.none() | st.from_regex("[0-9a-f]{24}", fullmatch=True)
tables = st.builds(
    SourceState,
    st.just(SourceKind.TABLE),
    names,
    uuids,
    ids,
    schema_id=st.none() | st.integers(0, 9),
    definition=definitions,
)
views = st.builds(SourceState, st.just(SourceKind.VIEW), names, uuids, st.integers(1, 99), definition=definitions)
sources = st.lists(tables | views, max_size=5, unique_by=lambda source: source.name).map(tuple)
states = st.builds(RefreshState, st.integers(1, 99), sources, st.integers(0, 2**45), definitions)

TABLE = SourceState(SourceKind.TABLE, ViewName("db", "t"), "0f5cb8f0-4b8a-4b38-9f4d-3c1c2b0a0001", 7)
VIEW = SourceState(SourceKind.VIEW, ViewName("db", "v"), "0f5cb8f0-4b8a-4b38-9f4d-3c1c2b0a0002", 3)


def test_refresh_state_has_fields_of_specification():
    text = encode(RefreshState(2, (TABLE, VIEW), 1700000000000))
    assert json.loads(text) == {
        "view-version-id": 2,
        "source-states": [
            {"type": "table", "name": "t", "namespace": ["db"], "uuid": TABLE.uuid, "snapshot-id": 7},
            {"type": "view", "name": "v", "namespace": ["db"], "uuid": VIEW.uuid, "version-id": 3},
        ],
        "refresh-start-timestamp-ms": 1700000000000,
    }


def test_refresh_state_with_unknown_keys_is_decoded():
    text = json.dumps(
        {
            "view-version-id": 1,
            "source-states": [
                {
                    "type": "table",
                    "name": "T",
                    "namespace": ["DB"],
                    "catalog": "c",
                    "ref": "b",
                    "uuid": "A-1",
                    "snapshot-id": 5,
                    "new": 1,
                }
            ],
            "refresh-start-timestamp-ms": 9,
            "new": [],
        }
    )
    [source] = decode(text).sources
    assert source == SourceState(SourceKind.TABLE, ViewName("db", "t"), "a-1", 5, "c", "b")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "refresh-state"),
        ("[]", "refresh-state"),
        ('{"source-states": [], "refresh-start-timestamp-ms": 1}', "view-version-id"),
        ('{"view-version-id": "1", "source-states": [], "refresh-start-timestamp-ms": 1}', "view-version-id"),
        ('{"view-version-id": true, "source-states": [], "refresh-start-timestamp-ms": 1}', "view-version-id"),
        ('{"view-version-id": 1, "refresh-start-timestamp-ms": 1}', "source-states"),
        ('{"view-version-id": 1, "source-states": [], "refresh-start-timestamp-ms": null}', "refresh-start"),
        ('{"view-version-id": 1, "source-states": [1], "refresh-start-timestamp-ms": 1}', "source-states[0]"),
        ('{"view-version-id": 1, "source-states": [{"type": "materialized-view"}], "refresh-start-timestamp-ms": 1}',
         "source-states[0].type"),
        ('{"view-version-id": 1, "source-states": [{"type": "table", "name": "t", "namespace": ["a", "b"], '
         '"uuid": "u", "snapshot-id": 1}], "refresh-start-timestamp-ms": 1}', "source-states[0].namespace"),
        ('{"view-version-id": 1, "source-states": [{"type": "view", "name": "t", "namespace": ["a"], "uuid": "u", '
         '"snapshot-id": 1}], "refresh-start-timestamp-ms": 1}', "source-states[0].version-id"),
    ],
)  # fmt: skip
def test_invalid_refresh_state_is_rejected_with_path(text, path):
    with pytest.raises(InvalidRefreshStateError) as caught:
        decode(text)
    assert caught.value.path.startswith(path)


@given(states)
def test_refresh_state_round_trip(state):
    assert decode(encode(state)) == state


@given(states)
def test_summary_of_table_layout_round_trip(state):
    assert decode_summary(encode_summary(state)) == state


@given(st.lists(states, min_size=1, max_size=4), st.booleans())
def test_attached_refreshes_round_trip(history, keep):
    storage = AttachedStorage()
    for number, state in enumerate(history):
        storage = storage.with_refresh(state, sequence_number=number, keep=keep)
    decoded = AttachedStorage.decode(storage.encode())
    assert decoded == storage
    assert [item.state() for item in decoded.refreshes] == (history if keep else history[-1:])
    assert decoded.current is not None and decoded.current.state() == history[-1]


def test_attached_layout_has_fields_of_draft():
    assert json.loads(AttachedView("file:/m.json").encode()) == {
        "format-version": 1, "storage-table-location": "file:/m.json"}  # fmt: skip
    assert json.loads(AttachedView("file:/m.json", True).encode())["allow-stale-data"] is True
    storage = AttachedStorage().with_refresh(RefreshState(2, (TABLE,), None), sequence_number=4, keep=False)
    assert json.loads(storage.encode()) == {
        "format-version": 1,
        "refreshes": [
            {
                "refresh-id": 1,
                "version-id": 2,
                "base-tables": [
                    {
                        "type": "iceberg-metastore",
                        "identifier": "db.t",
                        "snapshot-reference": 7,
                        "properties": {"uuid": TABLE.uuid},
                    }
                ],
                "sequence-number": 4,
            }
        ],
        "current-refresh-id": 1,
    }


def test_table_layout_has_fields_of_draft():
    assert json.loads(AssociatedView("file:/v.json").encode()) == {
        "format-version": 1, "associated-view-location": "file:/v.json"}  # fmt: skip
    summary = encode_summary(RefreshState(2, (TABLE,), None))
    assert summary["version-id"] == "2"
    assert json.loads(summary["base-tables"]) == [{"identifier": "db.t", "snapshot-id": 7, "uuid": TABLE.uuid}]


def test_unknown_keys_are_preserved():
    text = '{"format-version":1,"storage-table-location":"file:/m.json","allow-stale-data":false,"theirs":[1]}'
    assert json.loads(AttachedView.decode(text).encode()) == json.loads(text)
    text = (
        '{"format-version":1,"refreshes":[{"refresh-id":"r1","version-id":1,"base-tables":[{"type":"iceberg-metastore",'
        '"identifier":"`db`.`t`","snapshot-reference":5,"theirs":2}],"theirs":3}],"current-refresh-id":"r1","theirs":4}'
    )
    assert json.loads(AttachedStorage.decode(text).encode()) == json.loads(text)
    assert AttachedStorage.decode(text).refreshes[0].state().sources[0].name == ViewName("db", "t")


@pytest.mark.parametrize("reader", [AttachedView.decode, AttachedStorage.decode, AssociatedView.decode])
def test_later_format_version_is_rejected(reader):
    with pytest.raises(UnsupportedMaterializedViewError) as caught:
        reader('{"format-version": 2}')
    assert (caught.value.found, caught.value.supported) == (2, 1)
    for text in ('{"format-version": 0}', "{}", '{"format-version": "1"}', "no"):
        with pytest.raises(InvalidRefreshStateError):
            reader(text)


@pytest.mark.parametrize(
    "current", ['"current-refresh-id":2', '"current-refresh-id":null', '"current-refresh-id":true', ""]
)
def test_current_refresh_must_be_listed(current):
    refresh = '{"refresh-id":1,"version-id":1,"base-tables":[]}'
    with pytest.raises(InvalidRefreshStateError):
        AttachedStorage.decode(f'{{"format-version":1,"refreshes":[{refresh}]{"," if current else ""}{current}}}')
    assert AttachedStorage.decode(f'{{"format-version":1,"refreshes":[{refresh}],"current-refresh-id":1}}').current


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("sales", ("home", "sales")),
        ("db.sales", ("db", "sales")),
        ("Cat.DB.Sales", ("db", "sales")),
        ("`a.b`.`c d`", ("a.b", "c d")),
        ('"db"."sales"', ("db", "sales")),
        ("", None),
        ("a..b", None),
        ("`a", None),
    ],
)
def test_identifier_is_parsed_as_in_sql_expression(identifier, name):
    records = json.dumps([{"identifier": identifier, "snapshot-id": 1}])
    record = {"type": "iceberg-metastore", "identifier": identifier, "snapshot-reference": 1}
    refresh = {"refresh-id": 1, "version-id": 1, "base-tables": [record]}
    text = json.dumps({"format-version": 1, "refreshes": [refresh], "current-refresh-id": 1})
    readers = (
        lambda: decode_summary({"version-id": "1", "base-tables": records}, "home"),
        lambda: AttachedStorage.decode(text).refreshes[0].state("home"),
    )
    for read in readers:
        if name is None:
            with pytest.raises(InvalidRefreshStateError):
                read()
        else:
            assert read().sources[0].name == ViewName(*name)


@given(names, st.none() | st.just("cat"))
def test_storage_link_round_trip(name, catalog):
    link = StorageLink((name.database,), name.name, catalog)
    assert StorageLink.decode(link.encode()) == link == StorageLink.decode(link.to_json())


@pytest.mark.parametrize(
    "value", [None, "", "no", "[]", "{}", 5, {"namespace": [], "name": "a"}, {"namespace": "d", "name": "a"}]
)
def test_invalid_storage_link_is_ignored(value):
    assert StorageLink.decode(value) is None


@pytest.mark.parametrize(
    ("summary", "rows"),
    [
        ({"total-records": "5"}, 5),
        ({"total-records": "5", "total-position-deletes": "2", "total-equality-deletes": "0"}, 3),
        ({"total-records": "5", "total-equality-deletes": "1"}, None),
        ({}, None),
    ],
)
def test_rows_in_delete_files_are_not_counted(summary: dict[str, str], rows: int | None):
    assert row_count(summary) == rows
