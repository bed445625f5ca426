"""Whether stale rows may answer, where a view keeps its storage to itself: the draft's field and our property agree.

Source: Iceberg Materialized View Concept, Design 1: the optional field `allow-stale-data` of the JSON in the view's
property `materialized_view_metadata`. Users set a view property (ALTER … SET TBLPROPERTIES, in any engine), and engines
that know the draft read the field. So each commit of ours makes both say what was set last. For that it notes the
property's text beside the field: where another program has changed one of the two since, the note tells which.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

METADATA = "materialized_view_metadata"
"""The property of views and tables that holds the draft's JSON."""

ALLOW_STALE_DATA = "hive-views.allow-stale-data"
"""View property: `true` lets stale rows answer queries. In the draft's JSON: the note of its text."""

_FIELD = "allow-stale-data"


def says_true(properties: Mapping[str, str], key: str = ALLOW_STALE_DATA) -> bool:
    """Whether a property is `true`, in any case of letters."""
    return properties.get(key, "").lower() == "true"


def stale_data_allowed(properties: Mapping[str, str]) -> bool:
    """What a view in the layout `attached` says."""
    return bool(_meant(properties))


def agreed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Make field and property say the same."""
    found = dict(after)
    document, known = _document(after), _document(before)
    if document is None:
        return found
    said = after.get(ALLOW_STALE_DATA)
    if said != before.get(ALLOW_STALE_DATA):
        meant = _read(said)
    elif known is not None and known.get(_FIELD) != document.get(_FIELD):
        meant = document.get(_FIELD)
    else:
        meant = _meant(after)
    if said is not None and _read(said) != meant:
        said = None if meant is None else str(meant).lower()
    for key, value in ((_FIELD, meant), (ALLOW_STALE_DATA, said)):
        if value is not None:
            document[key] = value
        elif document.get(key) is not None:
            del document[key]
    if document != _document(after):
        found[METADATA] = json.dumps(document, separators=(",", ":"))
    found.pop(ALLOW_STALE_DATA, None)
    return found if said is None else {**found, ALLOW_STALE_DATA: said}


def _meant(properties: Mapping[str, str]) -> bool | None:
    """What was set last: the property where it is not as noted, else the field."""
    document, said = _document(properties), properties.get(ALLOW_STALE_DATA)
    if document is None or document.get(ALLOW_STALE_DATA) != said:
        return _read(said)
    field: bool | None = document.get(_FIELD)
    return field


def _read(said: str | None) -> bool | None:
    return None if said is None else said.lower() == "true"


def _document(properties: Mapping[str, str]) -> dict[str, Any] | None:
    try:
        found = json.loads(properties.get(METADATA, ""))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get(_FIELD), bool | None) else None
