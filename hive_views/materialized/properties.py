"""The settings of a materialized view: properties that a user sets, where each layout stores them, and their checks.

In all layouts the value that was set last is effective:

- *registered*: they are properties of the view.
- *attached*: likewise; `hive-views.allow-stale-data` and the draft's field are kept in agreement
  (`hive_views.spec.staleness_policy`).
- *table*: they are properties of the table, which is what other engines see. A definition that an earlier release wrote
  may have them in the view's file as well; the table's take precedence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hive_views.errors import InvalidPropertyError
from hive_views.materialized.layouts.layout import STAGED_WRITES, Layout
from hive_views.materialized.state.sequence_numbers import SequenceIds
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE
from hive_views.spec.staleness_policy import ALLOW_STALE_DATA, METADATA, is_stale_data_allowed, is_true
from hive_views.spec.storage_link import STORAGE_OF, STORAGE_TABLE_COPY

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from hive_views.spec.metadata import ViewMetadata

MAX_STALENESS_MS = "hive-views.max-staleness-ms"
"""How many milliseconds after the start of a refresh its rows may answer queries in any case."""

TIME_TRAVEL = "hive-views.time-travel"
"""`true`: a time travel clause after the view's name reads earlier rows; an attached storage lists every refresh."""

REPEATABLE = "hive-views.repeatable"
"""`true` states that the definition is deterministic, whatever functions it calls."""

_RESERVED = frozenset({METADATA, STORAGE_TABLE_COPY, STORAGE_OF, STAGED_WRITES, SEQUENCE_LINEAGE})


def effective_properties(layout: Layout, metadata: ViewMetadata, storage: Table | None) -> Mapping[str, str]:
    """The effective properties of a materialized view."""
    if layout is Layout.TABLE and storage is not None:
        return {**metadata.properties, **storage.metadata.properties}
    return metadata.properties


def allows_stale_data(layout: Layout, properties: Mapping[str, str]) -> bool:
    """Whether rows that are not fresh may answer a query."""
    return is_stale_data_allowed(properties) if layout is Layout.ATTACHED else is_true(properties)


def max_staleness_ms(properties: Mapping[str, str]) -> int | None:
    """How long after a refresh the rows may answer queries in any case, in milliseconds."""
    text = properties.get(MAX_STALENESS_MS, "")
    return int(text) if _is_number(text) else None


def check_settings(updates: Mapping[str, str], removals: Collection[str] = ()) -> None:
    """Reject invalid settings, and properties that link a materialized view to its storage table."""
    for key in (*updates, *removals):
        if key in _RESERVED:
            raise InvalidPropertyError(
                key, updates.get(key), "it links a materialized view to its storage, and cannot be set by users"
            )
    for key in (ALLOW_STALE_DATA, REPEATABLE, TIME_TRAVEL):
        if key in updates and updates[key].lower() not in ("true", "false"):
            raise InvalidPropertyError(key, updates[key], "it must be true or false")
    if MAX_STALENESS_MS in updates and not _is_number(updates[MAX_STALENESS_MS]):
        raise InvalidPropertyError(MAX_STALENESS_MS, updates[MAX_STALENESS_MS], "it must be a number of milliseconds")
    SequenceIds.of(updates)


def _is_number(text: str) -> bool:
    # `int` rejects texts of more than 4,300 digits; 18 digits are 30 million years.
    return text.isascii() and text.isdecimal() and len(text) <= 18
