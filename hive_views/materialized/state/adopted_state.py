"""The state of rows that another program computed, and that a view has taken over: kept in the view, not in a snapshot.

A snapshot's summary is written once, by whoever made the rows. Where what they were computed from is known exactly
from another source (Trino's `dependsOnTables`), the view that takes the rows over says so in a property, for one
snapshot of its storage and no other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hive_views.materialized.state.refresh_state import REFRESH_STATE, RefreshState, decode, encode, get, parse_object

TAKEN_OVER = "hive-views.taken-over-refresh"
"""View property: JSON of a snapshot of the storage and the `refresh-state` of its rows."""

_SNAPSHOT = "snapshot-id"


def encode_taken_over(snapshot_id: int, state: RefreshState) -> str:
    """The property's text."""
    return json.dumps({_SNAPSHOT: snapshot_id, REFRESH_STATE: encode(state)}, separators=(",", ":"))


def taken_over_state(properties: Mapping[str, str], snapshot_id: int) -> RefreshState | None:
    """What the rows of a snapshot were computed from, where the view says it."""
    text = properties.get(TAKEN_OVER)
    if text is None:
        return None
    document = parse_object(text, TAKEN_OVER)
    if get(document, _SNAPSHOT, int, TAKEN_OVER) != snapshot_id:
        return None
    return decode(get(document, REFRESH_STATE, str, TAKEN_OVER))
