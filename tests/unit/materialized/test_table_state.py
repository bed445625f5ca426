"""What the metadata file of a table says about its snapshots: columns, growth, changelog and numbers of rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyiceberg.types import LongType, NestedField, StringType

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import SnapshotInfo, TableState
from hive_views.materialized.freshness.verdict import Cause, StalenessReason
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT

A, B, C = (NestedField(number, name, LongType()) for number, name in enumerate("abc", 1))
OTHER_B = NestedField(2, "b", StringType())
FIRST = SnapshotInfo(parent=None, operation="append", schema_id=0, has_delete_files=False, rows=10, changed_rows=10)
SECOND = replace(FIRST, parent=1, operation="overwrite", rows=12, changed_rows=4, deletes=3)
THIRD = replace(FIRST, parent=2, operation="replace", schema_id=1, rows=12, changed_rows=24)
TABLE = TableState(
    uuid="u",
    snapshot_id=3,
    schema_id=1,
    snapshots={1: FIRST, 2: SECOND, 3: THIRD},
    columns={0: (A, B), 1: (A, B, C), 2: (A, OTHER_B, C), 3: (B, A)},
)


def test_columns_of_a_snapshot_are_those_of_the_table() -> None:
    answers = {number: TABLE.has_schema_of(number) for number in (NO_SNAPSHOT, 1, 3, 9)}
    assert answers == {NO_SNAPSHOT: True, 1: False, 3: True, 9: False}
    assert TABLE.written_schema_id == 1
    assert replace(TABLE, snapshot_id=NO_SNAPSHOT).written_schema_id is None


@pytest.mark.parametrize(
    ("schema_id", "added"), [(0, {"c"}), (1, set()), (2, None), (3, None), (9, None), (None, None)]
)
def test_added_columns(schema_id: int | None, added: set[str] | None) -> None:
    assert TABLE.columns_added_since(schema_id) == added


def test_changelog_ends_at_delete_files_and_at_expired_snapshots() -> None:
    assert [TABLE.has_changelog_since(number) for number in (1, 2, 3, 9, NO_SNAPSHOT)] == [True] * 3 + [False] * 2
    with_deletes = replace(TABLE, snapshots={**TABLE.snapshots, 2: replace(SECOND, has_delete_files=True)})
    assert [with_deletes.has_changelog_since(number) for number in (1, 2)] == [False, True]


def test_growth_has_no_changed_or_deleted_rows() -> None:
    assert [TABLE.only_grew_since(number) for number in (1, 2, 3, 9, NO_SNAPSHOT)] == [False, True, True, False, False]
    grown = replace(TABLE, snapshots={**TABLE.snapshots, 2: replace(SECOND, operation="append")})
    assert grown.only_grew_since(1) and grown.only_grew_since(NO_SNAPSHOT)


@pytest.mark.parametrize(
    ("since", "by_files", "rows"),
    [
        (1, False, 4),  # the changelog omits compactions
        (2, False, 0),
        (NO_SNAPSHOT, False, 12),  # all rows, since no changelog begins there
        (9, False, None),
        (9, True, None),
    ],
)
def test_compared_rows(since: int, by_files: bool, rows: int | None) -> None:
    assert TABLE.compared_rows_since(since, by_files=by_files) == rows


def test_compared_rows_with_delete_files() -> None:
    table = replace(TABLE, snapshots={**TABLE.snapshots, 3: replace(THIRD, has_delete_files=True)})
    assert table.compared_rows_since(1, by_files=True) == 24 + 4 + 3
    assert table.compared_rows_since(1, by_files=False) == 10 + 12
    unrecorded = replace(table, snapshots={**table.snapshots, 2: replace(SECOND, changed_rows=None)})
    assert unrecorded.compared_rows_since(1, by_files=True) is None


def test_same_rows_are_those_before_compactions() -> None:
    assert TABLE.same_rows == {3: True, 2: False}
    assert replace(TABLE, schema_id=0, columns={0: (A, B)}).same_rows == {3: False, 2: True}
    assert replace(TABLE, name_mapping="m").same_rows == {3: False, 2: False}
    assert replace(TABLE, snapshots={3: THIRD}).same_rows == {3: True, 2: False}


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (StalenessReason(Cause.NEVER_REFRESHED), Cause.NEVER_REFRESHED.value),
        (StalenessReason(Cause.CHANGED, ViewName("d", "t")), f"d.t: {Cause.CHANGED.value}"),
        (StalenessReason(Cause.CHANGED, None, "1", "2"), f"{Cause.CHANGED.value}, from 1 to 2"),
        (StalenessReason(Cause.CHANGED, now="2", detail="x"), f"{Cause.CHANGED.value}, from None to 2 (x)"),
    ],
)
def test_text_of_a_reason(reason: StalenessReason, text: str) -> None:
    assert str(reason) == text
