"""The choice between the affected keys and all rows, by the earlier refreshes."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2

from hive_views.materialized.refresh.costs import MeasuredRefresh, measured_refreshes, reason_against_keys
from hive_views.materialized.state.refresh_state import (
    ACTION,
    COMPARED_ROWS,
    DEFINITION,
    STARTED_MS,
    TABLE_ROWS,
)

MILLION = 1_000_000


FULL = MeasuredRefresh("full", 4.0, MILLION)
SLOW = MeasuredRefresh("keys", 5.0, MILLION, compared_rows=100)
FAST = MeasuredRefresh("keys", 3.0, MILLION, compared_rows=100)
OTHER = MeasuredRefresh("incremental", 1.0, MILLION)


@pytest.mark.parametrize(
    ("earlier", "table_rows", "compared_rows", "percent", "is_by_keys"),
    [
        ([SLOW, FULL], MILLION, 100, 100, False),
        ([FAST, FULL], MILLION, 100, 100, True),
        ([SLOW, FULL], MILLION, 100, 125, True),
        ([FAST, FULL], MILLION, 100, 74, False),
        ([FAST, FULL], MILLION, 100, 0, False),
        ([FULL, SLOW, FAST], MILLION, 100, 100, False),  # the last of each
        ([FULL, FAST, SLOW], MILLION, 100, 100, True),
        ([SLOW, FULL], MILLION, 50, 100, False),
        ([SLOW, FULL], MILLION, 49, 100, True),  # a much smaller change may take less time
        ([SLOW, FULL], 2 * MILLION, 100, 100, True),  # a full one takes 8 s now
        ([SLOW, FULL], MILLION // 2, 100, 100, False),
        ([*[FULL] * 9, SLOW], MILLION, 100, 100, False),
        ([*[FULL] * 10, SLOW], MILLION, 100, 100, True),  # tried again
        ([*[OTHER] * 9, SLOW, *[OTHER] * 9, FULL], MILLION, 100, 100, False),
        ([], MILLION, 100, 100, True),
        ([SLOW], MILLION, 100, 100, True),
        ([FULL], MILLION, 100, 100, True),
        ([SLOW, MeasuredRefresh("full", 4.0)], MILLION, 100, 100, True),
        ([SLOW, MeasuredRefresh("full", 4.0, 0)], MILLION, 100, 100, True),
        ([MeasuredRefresh("keys", 5.0, MILLION), FULL], MILLION, 100, 100, True),
        ([SLOW, MeasuredRefresh("full", 4.0), FULL], MILLION, 100, 100, False),  # not over the tables alone
        ([SLOW, MeasuredRefresh("full", 4.0, 0), FULL], MILLION, 100, 100, False),
        ([SLOW, MeasuredRefresh("full", -1.0, MILLION)], MILLION, 100, 100, True),  # clocks differ
        ([MeasuredRefresh("keys", -1.0, MILLION, 100), FULL], MILLION, 100, 0, True),
    ],
)
def test_choice(
    earlier: list[MeasuredRefresh], table_rows: int, compared_rows: int, percent: int, is_by_keys: bool
) -> None:
    assert (reason_against_keys(earlier, table_rows, compared_rows, percent) is None) == is_by_keys


def test_reason_names_what_was_compared() -> None:
    assert reason_against_keys([SLOW, FULL], 1_500_000, 70, 50) == (
        "70 row(s) would be compared, and the last refresh by keys, which compared 100, took 5.00 s: more than 50 % of "
        "the 6.00 s that a full one is expected to take"
    )


def storage(*summaries: dict[str, str], published: tuple[int, ...]) -> TableMetadataV2:
    """A storage table with a snapshot for each summary, which are numbered from 1 and were written at 10 s."""
    times = {"timestamp-ms": 10_000, "last-updated-ms": 10_000}
    snapshots = [
        {"snapshot-id": number, **times, "manifest-list": "", "summary": {"operation": "append", **summary}}
        for number, summary in enumerate(summaries, start=1)
    ]
    return TableMetadataV2.model_validate(
        {
            "location": "",
            "last-column-id": 0,
            "schemas": [Schema().model_dump()],
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "snapshots": snapshots,
            "snapshot-log": [{"snapshot-id": number, **times} for number in published],
        }
    )


def test_refreshes_are_read_in_the_order_in_which_they_were_published() -> None:
    def summary(action: str, definition: str = "d", started_ms: str = "8000", **more: str) -> dict[str, str]:
        return {DEFINITION: definition, ACTION: action, STARTED_MS: started_ms, **more}

    table = storage(
        summary("full", **{TABLE_ROWS: "7"}),
        summary("keys", started_ms="9500", **{TABLE_ROWS: "7", COMPARED_ROWS: "3"}),
        summary("full", definition="another"),
        summary("never published"),
        {},
        summary("keys", started_ms="9" * 5_000),
        summary("keys", **{TABLE_ROWS: "9" * 5_000, COMPARED_ROWS: "-1"}),
        published=(1, 3, 2, 5, 6, 7, 1),
    )
    assert list(measured_refreshes(table, "d")) == [
        MeasuredRefresh("full", 2.0, 7),
        MeasuredRefresh("keys", 2.0),
        MeasuredRefresh("keys", 0.5, 7, 3),
    ]
