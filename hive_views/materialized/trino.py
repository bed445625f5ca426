"""Trino's materialized views in a Hive Metastore: their rows, storage and freshness.

Source: Trino's Iceberg connector (`AbstractTrinoCatalog`, `IcebergMetadata`). The row is a view whose original text is
a comment with JSON in base64; a parameter names the storage table; a snapshot's summary has the refresh state.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import TypeAdapter
from pyiceberg.exceptions import NoSuchTableError

from hive_views.errors import HiveViewsError, InvalidRefreshStateError, NoSuchViewError, NotMaterializedError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import MetadataCache
from hive_views.materialized.freshness.verdict import Cause, Freshness, StalenessReason, Verdict
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, optional, parse_name, required, summary_of
from hive_views.metastore import trino_encoding
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import Row, RowKind

if TYPE_CHECKING:
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore

DEPENDS_ON_TABLES = "dependsOnTables"
DEPENDS_ON_TABLE_FUNCTIONS = "dependsOnTableFunctions"
DEPENDS_ON_NON_DETERMINISTIC_FUNCTIONS = "dependsOnNonDeterministicFunctions"
QUERY_START_TIME = "trino-query-start-time"
"""Summary keys of a storage table's snapshot."""

STORAGE_SCHEMA = "storage_schema"
STORAGE_TABLE = "storage_table"
"""Parameters of a row whose storage is a table of the catalog; otherwise `metadata_location` names its metadata."""

_UNKNOWN = "UNKNOWN"
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h|d)?")
_INSTANT = TypeAdapter(datetime)
_UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}


@dataclass(frozen=True, kw_only=True)
class TrinoDefinition:
    """The definition in the row's text."""

    sql: str
    """The query, in Trino's dialect."""
    catalog: str | None
    """The catalog of unqualified names."""
    schema: str | None
    """The schema of unqualified names."""
    columns: tuple[tuple[str, str], ...]
    """Name and Trino type of each column."""
    grace_ms: float | None
    """How long after a refresh stale rows may answer queries, in milliseconds; None is unlimited, as in Trino."""
    comment: str | None
    """Its comment."""


@dataclass(frozen=True)
class TrinoRefresh:
    """The refresh state in a snapshot's summary."""

    tables: Mapping[ViewName, int | None]
    """The snapshot of each table; None for a table without one."""
    has_other_tables: bool
    """Whether it read tables that are not Iceberg's."""
    unrepeatable: tuple[str, ...]
    """Summary keys that report nondeterministic functions."""
    started_ms: int | None
    """When it started, in epoch milliseconds."""


def is_materialized_view(parameters: Mapping[str, str]) -> bool:
    """Return whether a row with these parameters is a materialized view of Trino."""
    is_view = parameters.get(trino_encoding.FLAG, "").lower() == "true"
    return is_view and parameters.get("comment") == trino_encoding.MATERIALIZED_VIEW_COMMENT


def is_trino_row(row: Row | None) -> bool:
    """Return whether a row is a materialized view of Trino."""
    return row is not None and row.kind is RowKind.HIVE_VIEW and is_materialized_view(row.parameters)


def definition(text: str | None) -> TrinoDefinition:
    """Decode a row's original text."""
    if text is None or not trino_encoding.is_materialized(text):
        raise InvalidRefreshStateError("viewOriginalText", "it is not the text of a Trino materialized view")
    try:
        document = trino_encoding.decode(text)
    except ValueError as error:
        raise InvalidRefreshStateError("viewOriginalText", f"it cannot be decoded: {error}") from None
    columns = required(document, "columns", list, "")
    return TrinoDefinition(
        sql=required(document, "originalSql", str, ""),
        catalog=optional(document, "catalog", str, ""),
        schema=optional(document, "schema", str, ""),
        columns=tuple(
            (required(item, "name", str, f"columns[{index}]"), required(item, "type", str, f"columns[{index}]"))
            for index, item in enumerate(columns)
            if isinstance(item, dict)
        ),
        grace_ms=grace_ms(document.get("gracePeriod")),
        comment=optional(document, "comment", str, ""),
    )


def refresh_of(summary: Mapping[str, str]) -> TrinoRefresh | None:
    """Decode the refresh state in a snapshot's summary; None if it has none."""
    text = summary.get(DEPENDS_ON_TABLES)
    if text is None:
        return None
    tables: dict[ViewName, int | None] = {}
    has_other_tables = False
    for entry in filter(None, (part.strip() for part in text.split(","))):
        if entry == _UNKNOWN:
            has_other_tables = True
            continue
        name, separator, snapshot = entry.rpartition("=")
        database, dot, table = name.partition(".")
        if not separator or not dot or (snapshot and not re.fullmatch(r"-?[0-9]+", snapshot)):
            raise InvalidRefreshStateError(DEPENDS_ON_TABLES, f"{entry!r} is not of the form schema.table=snapshot")
        tables[parse_name((database, table), DEPENDS_ON_TABLES)] = int(snapshot) if snapshot else None
    keys = (DEPENDS_ON_TABLE_FUNCTIONS, DEPENDS_ON_NON_DETERMINISTIC_FUNCTIONS)
    unrepeatable = tuple(key for key in keys if summary.get(key, "false").lower() == "true")
    return TrinoRefresh(tables, has_other_tables, unrepeatable, _parse_instant(summary.get(QUERY_START_TIME, "")))


def decide(
    refresh: TrinoRefresh | None,
    current: Mapping[ViewName, int | None],
    *,
    missing: tuple[ViewName, ...] = (),
    now_ms: int,
    grace_ms: float | None,
) -> Freshness:
    """Decide as Trino does (`IcebergMetadata.getMaterializedViewFreshness`), with reasons."""
    if refresh is None:
        return Freshness(Verdict.STALE, (StalenessReason(Cause.NEVER_REFRESHED),))
    reasons = [StalenessReason(Cause.GONE, name) for name in missing]
    if not refresh.tables and not refresh.has_other_tables:
        reasons.append(StalenessReason(Cause.NO_STATE, detail="the refresh recorded no table"))
    for name, before in sorted(refresh.tables.items()):
        if name in current and current[name] != before:
            reasons.append(StalenessReason(Cause.CHANGED, name, f"snapshot {before}", f"snapshot {current[name]}"))
    is_stale = bool(reasons)
    if refresh.has_other_tables:
        reasons.append(StalenessReason(Cause.BEST_EFFORT, detail="it reads tables that are not Iceberg's"))
    if refresh.unrepeatable:
        reasons.append(StalenessReason(Cause.UNREPEATABLE, detail=", ".join(refresh.unrepeatable)))
    if not reasons:
        return Freshness(Verdict.FRESH, (), refresh.started_ms)
    freshness = Freshness(Verdict.STALE if is_stale else Verdict.UNKNOWN, tuple(reasons), refresh.started_ms)
    age_ms = None if refresh.started_ms is None else now_ms - refresh.started_ms
    if grace_ms is None or (age_ms is not None and 0 <= age_ms <= grace_ms):
        return replace(freshness, verdict=Verdict.WITHIN_GRACE)
    return freshness


def grace_ms(period: object) -> float | None:
    """Parse a grace period to milliseconds: Trino 483 writes a JSON number of seconds, other releases `10.00m`."""
    if period is None:
        return None
    match = _DURATION.fullmatch(str(period).replace(" ", ""))
    if match is None:
        raise InvalidRefreshStateError(
            "gracePeriod", f"{period!r} is neither a number of seconds nor a duration such as 10.00m"
        )
    return float(match[1]) * _UNITS[match[2] or "s"]


def _parse_instant(text: str) -> int | None:
    """Parse what Java's `Instant.toString` writes, to epoch milliseconds; None if it cannot be parsed."""
    try:
        return int(_INSTANT.validate_strings(text).timestamp() * 1000)
    except ValueError:
        return None


class TrinoViews:
    """Reads Trino's materialized views."""

    def __init__(self, store: MetastoreStore, tables: TableOperations, cache: MetadataCache) -> None:
        """Make a reader."""
        self._store = store
        self._tables = tables
        self._cache = cache

    def row(self, name: ViewName) -> Row:
        """Return the row of a materialized view of Trino."""
        row = self._store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if not is_trino_row(row):
            raise NotMaterializedError(str(name), "it is not a materialized view of Trino")
        return row

    def definition(self, name: ViewName) -> TrinoDefinition:
        """Return the definition of a materialized view."""
        row = self.row(name)
        try:
            return definition(row.texts.original)
        except InvalidRefreshStateError as error:
            raise error.of(str(row.name)) from error.__cause__

    def storage(self, row: Row) -> str:
        """Return the metadata file of the storage table."""
        if STORAGE_TABLE in row.parameters:
            schema = row.parameters.get(STORAGE_SCHEMA, row.name.database)
            return self._tables.load_table((schema, row.parameters[STORAGE_TABLE])).metadata_location
        location = row.metadata_location
        if location is None:
            raise InvalidRefreshStateError("metadata_location", "the row of a Trino materialized view names no storage")
        return location

    def freshness(self, row: Row, now_ms: int | None) -> Freshness:
        """How fresh the stored rows are, by Trino's rules."""
        try:
            return self._decide(row, now_ms)
        except InvalidRefreshStateError as error:
            raise error.of(str(row.name)) from error.__cause__

    def _decide(self, row: Row, now_ms: int | None) -> Freshness:
        view_definition = definition(row.texts.original)
        try:
            metadata = self._cache.table_metadata(str(row.name), self.storage(row))
        except (NoSuchTableError, HiveViewsError) as error:
            return Freshness(Verdict.UNKNOWN, (StalenessReason(Cause.STORAGE, detail=str(error)),))
        refresh = refresh_of(summary_of(metadata.current_snapshot()))
        current: dict[ViewName, int | None] = {}
        missing = []
        names = () if refresh is None else tuple(refresh.tables)
        rows = RowCache(self._store)
        rows.load(names)
        for name in names:
            source = rows.find(name)
            if source is None or source.kind is not RowKind.ICEBERG_TABLE:
                missing.append(name)
                continue
            state = self._cache.table_state(str(name), source.metadata_location)
            current[name] = None if state.snapshot_id == NO_SNAPSHOT else state.snapshot_id
        now = int(time.time() * 1000) if now_ms is None else now_ms
        return decide(refresh, current, missing=tuple(missing), now_ms=now, grace_ms=view_definition.grace_ms)
