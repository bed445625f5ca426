"""The choice between the affected keys and all rows, by what the last refreshes of the same definition took.

How long either takes depends on the definition, the machine and the width of the rows, so it is not estimated from
the numbers of rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.materialized.state.refresh_state import (
    ACTION,
    COMPARED_ROWS,
    DEFINITION,
    STARTED_MS,
    TABLE_ROWS,
    summary_of,
)

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

_MOST_LATER_REFRESHES = 10
"""After this many other refreshes the time of a refresh by keys is measured again: the machine may have been busy."""

_NUMBERS = (STARTED_MS, TABLE_ROWS, COMPARED_ROWS)


@dataclass(frozen=True)
class MeasuredRefresh:
    """What an earlier refresh took."""

    action: str
    """`full`, `incremental`, `partitions` or `keys`."""
    seconds: float
    """From its start to its snapshot."""
    table_rows: int | None = None
    """The number of rows of the tables that the definition reads; None if it is not recorded."""
    compared_rows: int | None = None
    """For `keys`: the number of rows that were compared to find the affected keys; None if it is not recorded."""


def measured_refreshes(storage: TableMetadata, definition: str) -> Iterator[MeasuredRefresh]:
    """The refreshes in the history of a storage table that computed a definition, newest first.

    Args:
        storage: The storage table.
        definition: The fingerprint of the definition.
    """
    published = {entry.snapshot_id for entry in storage.snapshot_log}
    for snapshot in sorted(storage.snapshots, key=lambda item: item.timestamp_ms, reverse=True):
        summary = summary_of(snapshot)
        numbers = {key: int(summary[key]) for key in _NUMBERS if summary.get(key, "").isdecimal()}
        is_measured = summary.get(DEFINITION) == definition and ACTION in summary and STARTED_MS in numbers
        if is_measured and snapshot.snapshot_id in published:
            seconds = max(0, snapshot.timestamp_ms - numbers[STARTED_MS]) / 1000
            yield MeasuredRefresh(summary[ACTION], seconds, numbers.get(TABLE_ROWS), numbers.get(COMPARED_ROWS))


def reason_against_keys(
    earlier: Iterable[MeasuredRefresh], table_rows: int, compared_rows: int, max_percent: int
) -> str | None:
    """Why a refresh by keys is expected to take longer than a full one; None if it is not, or not known.

    The time of a full refresh is assumed to grow with the tables, and that of a refresh by keys not to fall with the
    number of compared rows until that is half as large.

    Args:
        earlier: The earlier refreshes of the same definition, newest first.
        table_rows: The rows of the tables that the definition reads.
        compared_rows: The rows that would be compared to find the affected keys.
        max_percent: How long a refresh by keys may take, in percent of the time of a full one.
    """
    refreshes = list(earlier)
    full = next((refresh for refresh in refreshes if refresh.action == "full"), None)
    by_keys = next((refresh for refresh in refreshes[: _MOST_LATER_REFRESHES + 1] if refresh.action == "keys"), None)
    if full is None or not full.table_rows or by_keys is None or by_keys.compared_rows is None:
        return None
    expected = full.seconds * max(1.0, table_rows / full.table_rows)
    if compared_rows * 2 < by_keys.compared_rows or by_keys.seconds * 100 <= expected * max_percent:
        return None
    return (
        f"{compared_rows:,} row(s) would be compared; the last refresh by keys compared {by_keys.compared_rows:,} in "
        f"{by_keys.seconds:.1f} s, and a full one is expected to take {expected:.1f} s"
    )
