"""Failed refreshes: a failure writes no snapshot that could record it, so a property keeps the last ones.

It is a property of the view, or of the table in the layout `table`. A failure that repeats the one before it is not
recorded again, so that a schedule that fails every minute does not write a metadata file every minute.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from hive_views.dependencies.view_changes import commit_changes
from hive_views.errors import HiveViewsError
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.redefine import set_on_storage
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import SetProperties

if TYPE_CHECKING:
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.metastore.store import MetastoreStore

logger = logging.getLogger(__name__)

FAILED_REFRESHES = "hive-views.failed-refreshes"
"""Property: JSON of the last failed refreshes, oldest first."""

_MAX_FAILURES = 5
_MAX_ERROR = 300
"""Characters of an error. Some metastores store 4,000 bytes of a property."""


@dataclass(frozen=True)
class FailedRefresh:
    """A refresh that failed."""

    started_ms: int
    """When it started, in epoch milliseconds."""
    seconds: float
    """From its start to its failure."""
    error: str
    """Why it failed, at most 300 characters."""


_FAILURES = TypeAdapter(tuple[FailedRefresh, ...])


def failed_refreshes(properties: Mapping[str, str]) -> tuple[FailedRefresh, ...]:
    """Return the failed refreshes that the properties of a materialized view record.

    None if another program changed them.
    """
    try:
        return _FAILURES.validate_json(properties.get(FAILED_REFRESHES, "[]"), strict=True)
    except ValueError:
        return ()


def last_failure(view: LoadedMaterializedView, refreshed_ms: int | None) -> FailedRefresh | None:
    """Return the last failed refresh, if it started after the refresh that wrote the rows."""
    failures = failed_refreshes(view.properties)
    return failures[-1] if failures and failures[-1].started_ms > (refreshed_ms or 0) else None


def record_failure(
    store: MetastoreStore, view: LoadedMaterializedView, started_ms: int, seconds: float, error: str
) -> None:
    """Record that a refresh failed. If that fails as well, the failure of the refresh is reported alone."""
    text = " ".join(error.split())[:_MAX_ERROR]
    try:
        state = view.last_refresh().state
        last = last_failure(view, None if state is None else state.started_ms)
        if last is not None and last.error == text:
            return
        failures = (*failed_refreshes(view.properties), FailedRefresh(started_ms, round(seconds, 3), text))
        value = _FAILURES.dump_json(failures[-_MAX_FAILURES:]).decode()
        change = SetProperties({FAILED_REFRESHES: value})
        if view.layout is Layout.TABLE:
            set_on_storage(view, change)
        else:
            commit_changes(store, load_view(store, view.name), [change])
    except HiveViewsError as failure:
        logger.warning("The failed refresh of %s could not be recorded: %s", view.name, failure)
