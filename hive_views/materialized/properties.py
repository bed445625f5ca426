"""The settings of a materialized view: properties that a user sets, where each layout keeps them, and what is refused.

One rule for each layout; in all of them what was set last holds:

- *registered*: they are properties of the view.
- *attached*: likewise; `hive-views.allow-stale-data` and the draft's field agree
  (`hive_views.spec.staleness_policy`).
- *table*: they are properties of the table, which is all that other engines see of it. A definition that an earlier
  release wrote may have them in the view's file as well: the table's go before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hive_views.errors import InvalidPropertyError
from hive_views.materialized.layouts.layouts import METADATA, Layout
from hive_views.materialized.layouts.storage_tables import STAGED_WRITES
from hive_views.materialized.state.sequence_numbers import SEQUENCE_IDS, SequenceIds
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE
from hive_views.spec.staleness_policy import ALLOW_STALE_DATA as ALLOW_STALE_DATA
from hive_views.spec.staleness_policy import is_stale_data_allowed, is_true
from hive_views.spec.storage_link import STORAGE_OF, STORAGE_TABLE_COPY

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from hive_views.spec.metadata import ViewMetadata

MAX_STALENESS_MS = "hive-views.max-staleness-ms"
"""For how many milliseconds after a refresh began its rows may answer queries in any case."""

TIME_TRAVEL = "hive-views.time-travel"
"""`true`: a time behind the view's name means its rows of then; the attached layout's list keeps every refresh."""

REPEATABLE = "hive-views.repeatable"
"""`true` says that the definition gives the same rows each time, whatever functions it calls."""

KNOWN = (ALLOW_STALE_DATA, MAX_STALENESS_MS, REPEATABLE, SEQUENCE_IDS, TIME_TRAVEL)
"""The settings of a materialized view; `ALLOW_STALE_DATA` lets rows that are not fresh answer queries."""

_OURS = frozenset({METADATA, STORAGE_TABLE_COPY, STORAGE_OF, STAGED_WRITES, SEQUENCE_LINEAGE})


def settings(layout: Layout, metadata: ViewMetadata, storage: Table | None) -> Mapping[str, str]:
    """The properties of a materialized view that hold."""
    if layout is Layout.TABLE and storage is not None:
        return {**metadata.properties, **storage.metadata.properties}
    return metadata.properties


def allows_stale_data(layout: Layout, properties: Mapping[str, str]) -> bool:
    """Whether rows that are not fresh may answer a query."""
    return is_stale_data_allowed(properties) if layout is Layout.ATTACHED else is_true(properties)


def max_staleness_ms(properties: Mapping[str, str]) -> int | None:
    """For how long after a refresh the rows are fresh enough, in milliseconds."""
    text = properties.get(MAX_STALENESS_MS, "")
    return int(text) if _is_number(text) else None


def check_settings(updates: Mapping[str, str], removals: Collection[str] = ()) -> None:
    """Refuse what would do nothing, or would part a materialized view from its storage."""
    for key in (*updates, *removals):
        if key in _OURS:
            raise InvalidPropertyError(
                key, updates.get(key), "it ties a materialized view to its storage, and is not set by hand"
            )
    for key in (ALLOW_STALE_DATA, REPEATABLE, TIME_TRAVEL):
        if key in updates and updates[key].lower() not in ("true", "false"):
            raise InvalidPropertyError(key, updates[key], "it is true or false")
    if MAX_STALENESS_MS in updates and not _is_number(updates[MAX_STALENESS_MS]):
        raise InvalidPropertyError(MAX_STALENESS_MS, updates[MAX_STALENESS_MS], "it is a number of milliseconds")
    SequenceIds.of(updates)


def _is_number(text: str) -> bool:
    # A longer one is longer than the world, and more digits than `int` reads.
    return text.isascii() and text.isdecimal() and len(text) <= 18
