"""The choice between the affected keys and all rows, by what the last refreshes of the same definition took.

How long either takes depends on the definition, the machine and the width of the rows, so it is not estimated from
the numbers of rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.materialized.refresh.actions import Action
from hive_views.materialized.state.refresh_state import (
    ACTION,
    COMPARED_ROWS,
    DEFINITION,
    STARTED_MS,
    TABLE_ROWS,
    summary_of,
)
from hive_views.spec.whole_numbers import whole_number

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

_MOST_LATER_REFRESHES = 10
"""If so many refreshes followed, the time of a refresh by keys is measured again: the machine may have been busy."""


@dataclass(frozen=True)
class MeasuredRefresh:
    """What an earlier refresh took."""

    action: str
    """The recorded `Action`; another word if a later release wrote it."""
    seconds: float
    """From its start to its snapshot, by the clocks of two machines: it may be negative."""
    table_rows: int | None = None
    """The number of rows of the tables that the definition reads; None if its time is not that of a plan over them."""
    compared_rows: int | None = None
    """For `keys`: the number of rows that were compared to find the affected keys; None as for `table_rows`."""


def measured_refreshes(storage: TableMetadata, definition: str) -> Iterator[MeasuredRefresh]:
    """Yield the refreshes in the history of a storage table that computed a definition, newest first.

    Args:
        storage: The storage table.
        definition: The fingerprint of the definition.
    """
    published = dict.fromkeys(entry.snapshot_id for entry in reversed(storage.snapshot_log))
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in storage.snapshots}
    for snapshot in filter(None, map(snapshots.get, published)):
        summary = summary_of(snapshot)
        started, rows, compared = (whole_number(summary.get(key)) for key in (STARTED_MS, TABLE_ROWS, COMPARED_ROWS))
        if summary.get(DEFINITION) == definition and started is not None:
            seconds = (snapshot.timestamp_ms - started) / 1000
            yield MeasuredRefresh(str(summary.get(ACTION)), seconds, rows, compared)


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
    full = next(
        (item for item in refreshes if item.action == Action.FULL and item.table_rows and item.seconds > 0), None
    )
    recent = (item for item in refreshes[:_MOST_LATER_REFRESHES] if item.action == Action.KEYS and item.seconds > 0)
    by_keys = next((item for item in recent if item.compared_rows is not None), None)
    if full is None or not full.table_rows or by_keys is None or by_keys.compared_rows is None:
        return None
    expected = full.seconds * max(1.0, table_rows / full.table_rows)
    if compared_rows * 2 < by_keys.compared_rows or by_keys.seconds * 100 <= expected * max_percent:
        return None
    return (
        f"{compared_rows:,} row(s) would be compared, and the last refresh by keys, which compared "
        f"{by_keys.compared_rows:,}, took {by_keys.seconds:.2f} s: more than {max_percent} % of the {expected:.2f} s "
        "that a full one is expected to take"
    )
