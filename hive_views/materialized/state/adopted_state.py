"""The refresh state of rows that another program computed and a view has adopted, kept in a view property.

A snapshot's summary is written once, by the program that made the rows. When the sources of these rows are known from
elsewhere (Trino's `dependsOnTables`), the adopting view records them in a property that is valid for one snapshot of
its storage table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hive_views.materialized.state.refresh_state import (
    REFRESH_STATE,
    RefreshState,
    decode,
    encode,
    parse_object,
    required,
)

ADOPTED_REFRESH = "hive-views.taken-over-refresh"
"""View property: JSON of a snapshot of the storage table and the `refresh-state` of its rows."""

_SNAPSHOT = "snapshot-id"


def encode_adopted_state(snapshot_id: int, state: RefreshState) -> str:
    """Encode the property's value."""
    return json.dumps({_SNAPSHOT: snapshot_id, REFRESH_STATE: encode(state)}, separators=(",", ":"))


def adopted_state_of(properties: Mapping[str, str], snapshot_id: int) -> RefreshState | None:
    """The refresh state that the view properties record for a snapshot; None if they record none."""
    text = properties.get(ADOPTED_REFRESH)
    if text is None:
        return None
    document = parse_object(text, ADOPTED_REFRESH)
    if required(document, _SNAPSHOT, int, ADOPTED_REFRESH) != snapshot_id:
        return None
    return decode(required(document, REFRESH_STATE, str, ADOPTED_REFRESH))
