"""What `catalog.materialized` answers: where to read, what was refreshed, what there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Freshness
from hive_views.materialized.layouts.layouts import Layout
from hive_views.materialized.state.refresh_state import RefreshState


@dataclass(frozen=True)
class Reading:
    """What a query on a materialized view should read, and why."""

    from_storage: bool
    """Whether the stored rows answer it; otherwise the definition does."""
    why: str
    """The reason, for people."""
    freshness: Freshness
    """How fresh the stored rows are."""
    storage: ViewName | None = None
    """The storage table's name in the catalog; None where no catalog knows it."""
    metadata_location: str | None = None
    """The storage table's metadata file."""
    snapshot_id: int | None = None
    """Which of its snapshots to read, so that the answer is the one that was decided on."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The engine's settings under which the rows were computed: a session with others reads the definition."""


@dataclass(frozen=True)
class PastRefresh:
    """One refresh that the storage still holds."""

    snapshot_id: int
    """Its snapshot."""
    timestamp_ms: int
    """When it was made."""
    state: RefreshState
    """What it read."""


@dataclass(frozen=True)
class Listed:
    """One line of a list of materialized views."""

    name: ViewName
    """Its name."""
    layout: Layout
    """Where it keeps its rows."""
    freshness: Freshness
    """How fresh they are."""
