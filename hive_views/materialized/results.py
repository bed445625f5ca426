"""Results of `catalog.materialized`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hive_views.errors import InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Freshness
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.properties import TARGET_LAG, WhenStale, target_lag_ms
from hive_views.materialized.refresh.failures import FailedRefresh
from hive_views.materialized.state.refresh_state import (
    ACTION,
    REASON,
    STARTED_MS,
    RefreshState,
    row_count,
    summary_of,
)
from hive_views.spec.whole_numbers import whole_number

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a query on a materialized view should read."""

    from_storage: bool
    """Whether to read the stored rows; otherwise the definition."""
    why: str
    """The reason."""
    freshness: Freshness
    """How fresh the stored rows are."""
    storage: ViewName | None = None
    """The storage table's name in the catalog; None if it is in no catalog."""
    metadata_location: str | None = None
    """The storage table's metadata file."""
    snapshot_id: int | None = None
    """The snapshot to read, which is the one that was checked."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The engine settings under which the rows were computed: a session with other settings reads the definition."""
    when_stale: WhenStale = WhenStale.RECOMPUTE
    """What a query does if the rows must not answer it (`hive-views.when-stale`)."""
    copy: ViewName | None = None
    """The copy whose stored rows to read; None for the view's own."""
    may_have_fresh_partitions: bool = False
    """If the rows must not answer: whether those of some partitions may; see `partial_reading`."""


@dataclass(frozen=True, kw_only=True)
class PastRefresh:
    """A refresh whose rows the storage table still has."""

    snapshot_id: int
    """Its snapshot."""
    timestamp_ms: int
    """When it was written, in epoch milliseconds."""
    state: RefreshState
    """Its refresh state."""
    action: str | None = None
    """`full`, `incremental`, `partitions` or `keys`; None if it is not recorded."""
    why: str | None = None
    """Why the rows were computed in this way; None if it is not recorded."""
    seconds: float | None = None
    """From the start of the refresh to its snapshot; None if the start is not recorded."""
    rows: int | None = None
    """The number of stored rows."""
    written: int | None = None
    """The number of rows that it wrote."""
    bytes: int | None = None
    """The size of the files with the stored rows."""

    @classmethod
    def of(cls, snapshot: Snapshot, state: RefreshState) -> PastRefresh:
        """Read the refresh that wrote a snapshot."""
        summary = summary_of(snapshot)

        def number(key: str) -> int | None:
            return whole_number(summary.get(key))

        started = state.started_ms if state.started_ms is not None else number(STARTED_MS)
        return cls(
            snapshot_id=snapshot.snapshot_id,
            timestamp_ms=snapshot.timestamp_ms,
            state=state,
            action=summary.get(ACTION),
            why=summary.get(REASON),
            seconds=None if started is None else max(0, snapshot.timestamp_ms - started) / 1000,
            rows=row_count(summary),
            written=number("added-records") or 0,
            bytes=number("total-files-size"),
        )


@dataclass(frozen=True, kw_only=True)
class ListedView:
    """A materialized view in a list."""

    name: ViewName
    """Its name."""
    layout: Layout
    """Where it keeps its rows."""
    freshness: Freshness
    """How fresh they are."""
    last: PastRefresh | None = None
    """The refresh that wrote them; None if there was none, or it is not known."""
    target_lag: str | None = None
    """The property `hive-views.target-lag`."""
    reads: tuple[ViewName, ...] = ()
    """In an overview: the materialized views that it reads, directly or through other views."""
    failure: FailedRefresh | None = None
    """The last failed refresh, if it started after the one that wrote the rows."""

    @property
    def target_lag_ms(self) -> int | None:
        """The target lag in milliseconds; None without a valid one."""
        try:
            return target_lag_ms({} if self.target_lag is None else {TARGET_LAG: self.target_lag})
        except InvalidPropertyError:
            return None  # another program set it

    def to_json(self) -> dict[str, Any]:
        """Return the view in an overview as JSON values."""
        last = self.last
        return {
            "view": self.name,
            "layout": self.layout.value,
            "freshness": self.freshness.verdict.value,
            "reasons": tuple(map(str, self.freshness.reasons)),
            "refreshed_ms": self.freshness.refreshed_ms,
            "target_lag": self.target_lag,
            "reads": self.reads,
            "action": None if last is None else last.action,
            "why": None if last is None else last.why,
            "seconds": None if last is None else last.seconds,
            "rows": None if last is None else last.rows,
            "written": None if last is None else last.written,
            "bytes": None if last is None else last.bytes,
            "failure": self.failure,
        }
