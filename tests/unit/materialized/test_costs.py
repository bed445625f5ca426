"""The choice between the affected keys and all rows, by the earlier refreshes."""

from __future__ import annotations

import pytest

from hive_views.materialized.refresh.costs import MeasuredRefresh, reason_against_keys

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
        ([*[FULL] * 10, SLOW], MILLION, 100, 100, False),
        ([*[FULL] * 11, SLOW], MILLION, 100, 100, True),  # tried again
        ([*[OTHER] * 9, SLOW, *[OTHER] * 9, FULL], MILLION, 100, 100, False),
        ([], MILLION, 100, 100, True),
        ([SLOW], MILLION, 100, 100, True),
        ([FULL], MILLION, 100, 100, True),
        ([SLOW, MeasuredRefresh("full", 4.0)], MILLION, 100, 100, True),
        ([SLOW, MeasuredRefresh("full", 4.0, 0)], MILLION, 100, 100, True),
        ([MeasuredRefresh("keys", 5.0, MILLION), FULL], MILLION, 100, 100, True),
    ],
)
def test_choice(
    earlier: list[MeasuredRefresh], table_rows: int, compared_rows: int, percent: int, is_by_keys: bool
) -> None:
    assert (reason_against_keys(earlier, table_rows, compared_rows, percent) is None) == is_by_keys


def test_reason_names_what_was_compared() -> None:
    assert reason_against_keys([SLOW, FULL], 1_500_000, 70, 50) == (
        "70 row(s) would be compared; the last refresh by keys compared 100 in 5.0 s, and a full one is expected to "
        "take 6.0 s"
    )
