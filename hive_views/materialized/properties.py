"""The settings of a materialized view: properties that a user sets, where each layout stores them, and their checks.

In all layouts the value that was set last is effective:

- *registered*: they are properties of the view.
- *attached*: likewise; `hive-views.allow-stale-data` and the draft's field are kept in agreement
  (`hive_views.spec.staleness_policy`).
- *table*: they are properties of the table, which is what other engines see. A definition that an earlier release wrote
  may have them in the view's file as well; the table's take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from hive_views.config import EXPLICIT_ROW_TEXT, REQUIRE_ENGINES, REWRITE_QUERIES, ROW_TEXT_FOR_TRINO
from hive_views.errors import InvalidIdentifierError, InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layout import DEFAULT_MERGE_MODE, MERGE_MODE, STAGED_WRITES, Layout
from hive_views.materialized.state.sequence_numbers import SEQUENCE_IDS, SequenceIds
from hive_views.property_table import Parser, Property, truth
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE
from hive_views.spec.staleness_policy import ALLOW_STALE_DATA, METADATA, is_stale_data_allowed, is_true
from hive_views.spec.storage_link import STORAGE_OF, STORAGE_TABLE_COPY
from hive_views.spec.whole_numbers import whole_number

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from hive_views.materialized.freshness.verdict import Freshness
    from hive_views.spec.metadata import ViewMetadata

MAX_STALENESS_MS = "hive-views.max-staleness-ms"
"""How many milliseconds after the start of a refresh its rows may answer queries in any case."""

TARGET_LAG = "hive-views.target-lag"
"""How long changes may wait for `refresh --due`: `10 minutes`, or `downstream` for the lag of what reads the view."""

MERGE_FROM_ROWS = "hive-views.merge-from-rows"
"""From how many stored groups on an incremental refresh writes only those that change, instead of all."""

MAX_COMPARED_PERCENT = "hive-views.max-compared-percent"
"""How many rows a refresh by keys may compare, in percent of the rows of its tables."""

MAX_KEYS_TIME_PERCENT = "hive-views.max-keys-time-percent"
"""How long a refresh by keys may take, in percent of the time of a full one, both by the last refreshes."""

COPIES = "hive-views.copies"
"""Names of materialized views that store the same rows in another order, with commas between."""

WHEN_STALE = "hive-views.when-stale"
"""What a query of a session does if the stored rows must not answer it: see `WhenStale`."""


class WhenStale(Enum):
    """What a query does if the stored rows must not answer it."""

    RECOMPUTE = "recompute"
    """It reads the definition."""
    REFRESH = "refresh"
    """It refreshes the rows and reads them; if they still must not answer it, the definition."""
    FAIL = "fail"
    """It raises `StaleRowsError`."""


TIME_TRAVEL = "hive-views.time-travel"
"""`true`: a time travel clause after the view's name reads earlier rows; an attached storage lists every refresh."""

READ_STORED_ROWS = "hive-views.read-stored-rows"
"""`true`: a refresh that computes all rows reads the stored rows of the materialized views that it reads, if fresh."""

REPEATABLE = "hive-views.repeatable"
"""`true` states that the definition is deterministic, whatever functions it calls."""

_PREFIX = "hive-views."

FORMAT_VERSION = "format-version"
"""The version of the storage table's format."""

_STORAGE_PREFIXES = ("write.", "read.", "history.", FORMAT_VERSION)
_VIEW_PREFIXES = ("write.metadata.",)
"""Those that a view's own metadata files have as well."""

_RESERVED = frozenset({METADATA, STORAGE_TABLE_COPY, STORAGE_OF, STAGED_WRITES, SEQUENCE_LINEAGE})


def effective_properties(layout: Layout, metadata: ViewMetadata, storage: Table | None) -> Mapping[str, str]:
    """Return the effective properties of a materialized view."""
    if layout is Layout.TABLE and storage is not None:
        return {**metadata.properties, **storage.metadata.properties}
    if storage is None:
        return metadata.properties
    return {**split_properties(storage.metadata.properties)[1], **metadata.properties}


def allows_stale_data(layout: Layout, properties: Mapping[str, str]) -> bool:
    """Return whether rows that are not fresh may answer a query."""
    return is_stale_data_allowed(properties) if layout is Layout.ATTACHED else is_true(properties)


def max_staleness_ms(properties: Mapping[str, str]) -> int | None:
    """How long after a refresh the rows may answer queries in any case, in milliseconds."""
    return whole_number(properties.get(MAX_STALENESS_MS))


def max_compared_percent(properties: Mapping[str, str]) -> int:
    """How many rows a refresh by keys may compare, in percent of the rows of the tables."""
    return int(_SETTING[MAX_COMPARED_PERCENT].stored(properties))


def max_keys_time_percent(properties: Mapping[str, str]) -> int:
    """How long a refresh by keys may take, in percent of the time of a full one."""
    return int(_SETTING[MAX_KEYS_TIME_PERCENT].stored(properties))


def merge_from_rows(properties: Mapping[str, str]) -> int:
    """From how many stored groups on an incremental refresh writes only those that change."""
    return int(_SETTING[MERGE_FROM_ROWS].stored(properties))


def may_answer_other_queries(properties: Mapping[str, str]) -> bool:
    """Return whether queries that do not name the view may read its rows."""
    # REPEATABLE states what cannot be checked.
    return not is_true(properties, REPEATABLE) and properties.get(REWRITE_QUERIES, "").lower() != "false"


def when_stale(properties: Mapping[str, str]) -> WhenStale:
    """What a query does if the stored rows must not answer it; unknown values, set by other programs, recompute."""
    stored: WhenStale = _SETTING[WHEN_STALE].stored(properties)
    return stored


def check_settings(updates: Mapping[str, str], removals: Collection[str] = ()) -> None:
    """Reject invalid settings, and properties that link a materialized view to its storage table."""
    for key in (*updates, *removals):
        if key in _RESERVED:
            raise InvalidPropertyError(
                key, updates.get(key), "it links a materialized view to its storage, and cannot be set by users"
            )
    for key in updates:
        if key.startswith(_PREFIX) and key not in SETTINGS:
            raise InvalidPropertyError(key, updates[key], f"there is no such setting; there are {_NAMES}")
    for item in MATERIALIZED_SETTINGS:
        item.check(updates)


def copy_names(properties: Mapping[str, str], database: str) -> tuple[ViewName, ...]:
    """Return the copies that a materialized view of a database names; raises InvalidPropertyError."""
    text = properties.get(COPIES, "")
    names = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return tuple(ViewName.parse(name if "." in name else (database, name)) for name in names)
    except InvalidIdentifierError as error:
        raise InvalidPropertyError(COPIES, text, f"it must be names with commas between: {error.reason}") from error


def target_lag_ms(properties: Mapping[str, str]) -> int | None:
    """Return the target lag in milliseconds, `DOWNSTREAM`, or None without one; raises InvalidPropertyError."""
    text = properties.get(TARGET_LAG)
    if text is None:
        return None
    if text.strip().lower() == "downstream":
        return DOWNSTREAM
    match = _LAG.fullmatch(text)
    if match is None:
        raise InvalidPropertyError(TARGET_LAG, text, "it must be downstream, or like '10 minutes'")
    return int(match[1]) * _UNITS[match[2].lower()]


DOWNSTREAM = -1
"""The target lag of a view that is refreshed with the views that read it."""

_UNITS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_LAG = re.compile(rf"\s*([0-9]{{1,9}})\s*({'|'.join(_UNITS)})s?\s*", re.IGNORECASE)


def _number(unit: str) -> Parser:
    def parse(key: str, text: str) -> int:
        number = whole_number(text)
        if number is None:
            raise InvalidPropertyError(key, text, f"it must be a number of {unit}")
        return number

    return parse


def _when_stale(key: str, text: str) -> WhenStale:
    try:
        return WhenStale(text.lower())
    except ValueError:
        choices = ", ".join(choice.value for choice in WhenStale)
        raise InvalidPropertyError(key, text, f"it must be one of {choices}") from None


def _copies(key: str, text: str) -> tuple[ViewName, ...]:
    return copy_names({key: text}, "default")


def _sequence_ids(key: str, text: str) -> SequenceIds:
    return SequenceIds.of({key: text})


def _target_lag(key: str, text: str) -> int | None:
    return target_lag_ms({key: text})


MATERIALIZED_SETTINGS = (
    Property(
        keys=(MAX_STALENESS_MS,),
        parse=_number("milliseconds"),
        meaning="rows are usable for this many milliseconds after the start of their refresh",
    ),
    Property(
        keys=(ALLOW_STALE_DATA,),
        parse=truth,
        default=False,
        meaning="`true`: stale rows are usable, whatever their age",
    ),
    Property(
        keys=(WHEN_STALE,),
        parse=_when_stale,
        default=WhenStale.RECOMPUTE,
        shown_default="recompute",
        meaning=(
            "what a query in a `ViewSession` does if it must not read the stored rows: `recompute` reads the "
            "definition (only for the [partitions](#what-a-query-reads) that are stale, if others are fresh); "
            "`refresh` refreshes the rows first, and reads the definition if that fails (EXPLAIN does not "
            "refresh); `fail` raises `StaleRowsError`, unless the query needs only rows of fresh partitions"
        ),
    ),
    Property(
        keys=(COPIES,),
        parse=_copies,
        meaning=(
            "comma-separated names of materialized views that store the same rows with another partitioning or "
            "sort order: see [copies](#what-a-query-reads)"
        ),
    ),
    Property(
        keys=(TIME_TRAVEL,),
        parse=truth,
        default=False,
        meaning=(
            "`true`: a time after the view's name selects the rows of that time; the layout `attached` lists "
            "every refresh"
        ),
    ),
    Property(
        keys=(REPEATABLE,),
        parse=truth,
        default=False,
        meaning="`true`: the definition returns the same rows each time, whatever functions it calls",
    ),
    Property(
        keys=(SEQUENCE_IDS,),
        parse=_sequence_ids,
        default=SequenceIds.NONE,
        shown_default="false",
        meaning="`true` or `only`: see [sequence numbers](#sequence-numbers)",
    ),
    Property(
        keys=(TARGET_LAG,),
        parse=_target_lag,
        meaning="such as `10 minutes`, or `downstream`: see [many views](#many-views)",
    ),
    Property(
        keys=(MAX_COMPARED_PERCENT,),
        parse=_number("percent"),
        default=20,
        meaning=(
            "how many rows of the changed tables a refresh [by keys](#refresh) may compare, in percent of the "
            "rows of all tables that the view reads. Otherwise everything is computed"
        ),
    ),
    Property(
        keys=(MAX_KEYS_TIME_PERCENT,),
        parse=_number("percent"),
        default=100,
        meaning=(
            "how long the last refresh [by keys](#refresh) may have taken, in percent of the time that a full "
            "one is expected to take. If it took longer, everything is computed. A large number such as 1000000"
            " switches the rule off"
        ),
    ),
    Property(
        keys=(MERGE_FROM_ROWS,),
        parse=_number("rows"),
        default=50_000,
        meaning=("the number of stored groups from which on an incremental refresh writes only the groups that change"),
    ),
    Property(
        keys=(REWRITE_QUERIES,),
        parse=truth,
        default=True,
        meaning=(
            "`false` (also by DISABLE REWRITE): queries on the tables never read the view's rows ([query "
            "rewriting](how-to/rewrite-queries.md)); `true` has no effect without the catalog's property of "
            "this name"
        ),
    ),
    Property(
        keys=(READ_STORED_ROWS,),
        parse=truth,
        default=False,
        meaning=(
            "`true`: a refresh that computes all rows reads the stored rows of other materialized views in "
            'place of their definitions, where they are fresh ("Nested views" below)'
        ),
    ),
)
"""The settings of a materialized view, in the order of docs/materialized.md, which has this table."""

_SETTING = {item.keys[0]: item for item in MATERIALIZED_SETTINGS}

SETTINGS = frozenset({*_SETTING, REQUIRE_ENGINES, ROW_TEXT_FOR_TRINO, EXPLICIT_ROW_TEXT})
"""The view properties with the prefix `hive-views.` that users set; all but two are for materialized views."""

_NAMES = ", ".join(sorted(SETTINGS))


def is_due(freshness: Freshness, lag_ms: int | None, now_ms: int) -> bool:
    """Return whether rows are not fresh, and the refresh that wrote them started longer ago than a target lag."""
    if lag_ms is None or lag_ms == DOWNSTREAM or freshness.is_fresh:
        return False
    return freshness.refreshed_ms is None or now_ms - freshness.refreshed_ms >= lag_ms


def split_properties(properties: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split properties of a materialized view with a storage table of its own into the view's and the table's."""
    view = {key: value for key, value in properties.items() if is_view_property(key)}
    return view, {key: value for key, value in properties.items() if is_storage_property(key)}


def user_properties(
    layout: Layout, metadata: ViewMetadata, storage: Table | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the properties that users set, of a materialized view and of its storage table."""

    def visible(properties: Mapping[str, str]) -> dict[str, str]:
        return {
            key: value
            for key, value in properties.items()
            if key not in _RESERVED and (key in SETTINGS or not key.startswith(_PREFIX))
        }

    table = {} if storage is None else visible(storage.metadata.properties)
    if layout is Layout.TABLE:
        return table, {}
    if storage is not None and table.get(MERGE_MODE) == DEFAULT_MERGE_MODE:
        del table[MERGE_MODE]
    if storage is not None and storage.format_version != 2:
        table[FORMAT_VERSION] = str(storage.format_version)
    return visible(metadata.properties), table


def is_storage_property(key: str) -> bool:
    """Return whether a property belongs to the storage table."""
    return key.startswith(_STORAGE_PREFIXES)


def is_view_property(key: str) -> bool:
    """Return whether a property belongs to the view."""
    return not is_storage_property(key) or key.startswith(_VIEW_PREFIXES)
