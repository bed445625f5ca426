"""Whether a materialized view may return stale rows: the draft's JSON field and the view property of this package.

Source: Iceberg Materialized View Concept, Design 1: the optional field `allow-stale-data` of the JSON in the view
property `materialized_view_metadata`. Users set a view property (ALTER … SET TBLPROPERTIES, in any engine), and engines
that implement the draft read the field, so each commit sets both to the value that was set last. The JSON also has a
copy of the property, which shows whether another program has changed the property or the field since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hive_views.spec.json_text import compact_json, parse_json

METADATA = "materialized_view_metadata"
"""The property of views and tables with the draft's JSON."""

ALLOW_STALE_DATA = "hive-views.allow-stale-data"
"""View property: with `true`, queries may return stale rows. In the draft's JSON: the copy of the property."""

_FIELD = "allow-stale-data"


def is_true(properties: Mapping[str, str], key: str = ALLOW_STALE_DATA) -> bool:
    """Return whether a property is `true`, ignoring case."""
    return properties.get(key, "").lower() == "true"


def is_stale_data_allowed(properties: Mapping[str, str]) -> bool:
    """Return whether a materialized view in the layout `attached` may return stale rows."""
    return bool(_effective_value(properties))


def synchronize_properties(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Set the field and the property in `after` to the value that was set last, compared with `before`."""
    synchronized = dict(after)
    document, previous_document = _decode_document(after), _decode_document(before)
    if document is None:
        return synchronized
    text = after.get(ALLOW_STALE_DATA)
    if text != before.get(ALLOW_STALE_DATA):
        value = _parse(text)
    elif previous_document is not None and previous_document.get(_FIELD) != document.get(_FIELD):
        value = document.get(_FIELD)
    else:
        value = _effective_value(after)
    if text is not None and _parse(text) != value:
        text = None if value is None else str(value).lower()
    for key, new in ((_FIELD, value), (ALLOW_STALE_DATA, text)):
        if new is not None:
            document[key] = new
        elif document.get(key) is not None:
            del document[key]
    if document != _decode_document(after):
        synchronized[METADATA] = compact_json(document)
    synchronized.pop(ALLOW_STALE_DATA, None)
    return synchronized if text is None else {**synchronized, ALLOW_STALE_DATA: text}


def _effective_value(properties: Mapping[str, str]) -> bool | None:
    """Return the value that was set last: the property if it differs from its copy, else the field."""
    document, text = _decode_document(properties), properties.get(ALLOW_STALE_DATA)
    if document is None or document.get(ALLOW_STALE_DATA) != text:
        return _parse(text)
    field: bool | None = document.get(_FIELD)
    return field


def _parse(text: str | None) -> bool | None:
    return None if text is None else text.lower() == "true"


def _decode_document(properties: Mapping[str, str]) -> dict[str, Any] | None:
    try:
        document = parse_json(properties.get(METADATA, ""))
    except ValueError:
        return None
    return document if isinstance(document, dict) and isinstance(document.get(_FIELD), bool | None) else None
