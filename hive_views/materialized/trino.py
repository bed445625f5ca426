"""Trino's materialized views on a Hive Metastore, as values: the row's text, and what a refresh recorded.

Source: Trino's Iceberg connector (`AbstractTrinoCatalog`, `IcebergMetadata`): the row is a view whose original text is
a comment with JSON in base64; the storage is named by a parameter; a snapshot's summary says what the refresh read.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hive_views.errors import InvalidRefreshStateError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Cause, Freshness, Reason, Verdict
from hive_views.materialized.state.refresh_state import get, maybe, name_of, parse_object

DEPENDS_ON_TABLES = "dependsOnTables"
DEPENDS_ON_TABLE_FUNCTIONS = "dependsOnTableFunctions"
DEPENDS_ON_NON_DETERMINISTIC_FUNCTIONS = "dependsOnNonDeterministicFunctions"
QUERY_START_TIME = "trino-query-start-time"
"""Summary keys of a storage snapshot."""

STORAGE_SCHEMA = "storage_schema"
STORAGE_TABLE = "storage_table"
"""Parameters of a row whose storage is a table of the catalog; otherwise `metadata_location` names its metadata."""

_UNKNOWN = "UNKNOWN"
_COMMENT = "Presto Materialized View"
_TEXT = re.compile(r"/\* Presto Materialized View: ([A-Za-z0-9+/=\s]*) \*/")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h|d)")
_UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}


@dataclass(frozen=True)
class TrinoDefinition:
    """What the row's text holds."""

    sql: str
    """The query, in Trino's dialect."""
    catalog: str | None
    """What names without a catalog mean."""
    schema: str | None
    """What names without a schema mean."""
    columns: tuple[tuple[str, str], ...]
    """Name and Trino type of each column."""
    grace_ms: float | None
    """For how long after a refresh stale rows are good enough; None for ever, as in Trino."""
    comment: str | None
    """Its comment."""


@dataclass(frozen=True)
class TrinoRefresh:
    """What a snapshot of the storage says of the refresh that made it."""

    tables: Mapping[ViewName, int | None]
    """The snapshot of each table; None for a table without one."""
    others: bool
    """Whether it read something that is not Iceberg's."""
    unrepeatable: tuple[str, ...]
    """Which functions may give other rows each time."""
    started_ms: int | None
    """When it began."""


def is_materialized_view(parameters: Mapping[str, str]) -> bool:
    """Whether a row with these parameters is a materialized view of Trino."""
    return parameters.get("presto_view", "").lower() == "true" and parameters.get("comment") == _COMMENT


def definition(text: str | None) -> TrinoDefinition:
    """Read a row's original text."""
    found = _TEXT.fullmatch((text or "").strip())
    if found is None:
        raise InvalidRefreshStateError("viewOriginalText", "it is no text of a Trino materialized view")
    try:
        document = parse_object(base64.b64decode(found[1], validate=False).decode(), "viewOriginalText")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise InvalidRefreshStateError("viewOriginalText", f"it is not base64 of JSON: {error}") from None
    columns = get(document, "columns", list, "")
    return TrinoDefinition(
        get(document, "originalSql", str, ""),
        maybe(document, "catalog", str, ""),
        maybe(document, "schema", str, ""),
        tuple(
            (get(item, "name", str, f"columns[{index}]"), get(item, "type", str, f"columns[{index}]"))
            for index, item in enumerate(columns)
            if isinstance(item, dict)
        ),
        grace_ms(maybe(document, "gracePeriod", str, "")),
        maybe(document, "comment", str, ""),
    )


def refresh_of(summary: Mapping[str, str]) -> TrinoRefresh | None:
    """What a snapshot's summary says."""
    text = summary.get(DEPENDS_ON_TABLES)
    if text is None:
        return None
    tables: dict[ViewName, int | None] = {}
    others = False
    for entry in filter(None, (part.strip() for part in text.split(","))):
        if entry == _UNKNOWN:
            others = True
            continue
        name, separator, snapshot = entry.rpartition("=")
        database, dot, table = name.partition(".")
        if not separator or not dot or (snapshot and not re.fullmatch(r"-?[0-9]+", snapshot)):
            raise InvalidRefreshStateError(DEPENDS_ON_TABLES, f"{entry!r} is not of the form schema.table=snapshot")
        tables[name_of((database, table), DEPENDS_ON_TABLES)] = int(snapshot) if snapshot else None
    keys = (DEPENDS_ON_TABLE_FUNCTIONS, DEPENDS_ON_NON_DETERMINISTIC_FUNCTIONS)
    unrepeatable = tuple(key for key in keys if summary.get(key, "false").lower() == "true")
    return TrinoRefresh(tables, others, unrepeatable, _instant(summary.get(QUERY_START_TIME)))


def decide(
    refresh: TrinoRefresh | None,
    current: Mapping[ViewName, int | None],
    *,
    gone: tuple[ViewName, ...] = (),
    now_ms: int,
    grace_ms: float | None,
) -> Freshness:
    """Decide as Trino does (`IcebergMetadata.getMaterializedViewFreshness`), with reasons."""
    if refresh is None:
        return Freshness(Verdict.STALE, (Reason(Cause.NEVER_REFRESHED),))
    reasons = [Reason(Cause.GONE, name) for name in gone]
    if not refresh.tables and not refresh.others:
        reasons.append(Reason(Cause.NO_STATE, detail="the refresh recorded no table"))
    for name, before in sorted(refresh.tables.items()):
        if name in current and current[name] != before:
            reasons.append(Reason(Cause.CHANGED, name, f"snapshot {before}", f"snapshot {current[name]}"))
    stale = bool(reasons)
    if refresh.others:
        reasons.append(Reason(Cause.BEST_EFFORT, detail="it reads tables that are not Iceberg's"))
    if refresh.unrepeatable:
        reasons.append(Reason(Cause.UNREPEATABLE, detail=", ".join(refresh.unrepeatable)))
    if not reasons:
        return Freshness(Verdict.FRESH, (), refresh.started_ms)
    found = Freshness(Verdict.STALE if stale else Verdict.UNKNOWN, tuple(reasons), refresh.started_ms)
    age = None if refresh.started_ms is None else now_ms - refresh.started_ms
    if grace_ms is None or (age is not None and 0 <= age <= grace_ms):
        return replace(found, verdict=Verdict.WITHIN_GRACE)
    return found


def grace_ms(text: str | None) -> float | None:
    """Milliseconds of a duration as Trino writes it."""
    if text is None:
        return None
    found = _DURATION.fullmatch(text.replace(" ", ""))
    if found is None:
        raise InvalidRefreshStateError("gracePeriod", f"{text!r} is no duration such as 10.00m")
    return float(found[1]) * _UNITS[found[2]]


def _instant(text: str | None) -> int | None:
    """Milliseconds of what `Instant.toString` writes."""
    if text is None:
        return None
    from datetime import datetime

    trimmed = re.sub(r"(\.[0-9]{6})[0-9]*", r"\1", text).replace("Z", "+00:00")
    trimmed = re.sub(r"\.([0-9]{1,5})(?=[+-])", lambda match: "." + match[1].ljust(6, "0"), trimmed)
    try:
        return int(datetime.fromisoformat(trimmed).timestamp() * 1000)
    except ValueError:
        return None
