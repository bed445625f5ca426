"""Commits of plain Hive views, which have no metadata location: drop them, or swap a whole row for another one.

Without a metadata location there is no pointer for a compare-and-swap. It is replaced by three checks: the metastore's
lock; a comparison of the whole row, under the lock, with the row from which the change was derived; and the time of the
row's last change (`transient_lastDdlTime`), which Hive and Spark set with every ALTER and a server with HIVE-26882
compares. This time has a resolution of one second, so a commit first waits if the row was changed within this second.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

from hive_views.errors import CommitFailedError, MetastoreError, NoSuchViewError
from hive_views.metastore._thrift.hive_metastore.ttypes import NoSuchObjectException
from hive_views.metastore.commit.protocol import ChangeRequest
from hive_views.metastore.commit.view_commit import send_drop
from hive_views.metastore.drift import Difference, find_damage, long_values, may_be_damaged
from hive_views.metastore.invalid_requests import invalid_change
from hive_views.metastore.queries import all_view_names, database_names, read_rows
from hive_views.metastore.rows.row import CHANGE_TIME, METADATA_LOCATION, Row, RowKind
from hive_views.metastore.rows.serialization import row_as_json, row_fingerprint
from hive_views.metastore.store import MetastoreStore, Rejection
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE
from hive_views.spec.whole_numbers import whole_number

logger = logging.getLogger(__name__)

_MIN_AGE_SECONDS = 1.5


def drop_hive_view(store: MetastoreStore, expected: Row, *, check: Callable[[], None] = lambda: None) -> None:
    """Drop a plain Hive view if its row is still the expected one. `check` is called under the lock and may reject."""
    name = expected.name
    request = ChangeRequest(store.client, store.config, name, is_conditional=False)
    with request.locked():
        row = store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if not _is_same_hive_view(row, expected):
            raise CommitFailedError(
                str(name), "it was changed meanwhile", expected=expected.texts.expanded, found=row.texts.expanded
            )
        check()
        request.ensure_locked()
        # No file contains the definition, and a caller that is killed after the drop cannot report it.
        logger.warning("Dropping the plain Hive view %s: %s", name, json.dumps(row_as_json(row)))
        send_drop(
            store,
            expected,
            request,
            is_same=lambda current: _is_same_hive_view(current, expected),
            find_moved=lambda: _describe_moved(store, expected),
        )


def swap_row(
    store: MetastoreStore, expected: Row, new: Row, on_rejection: Callable[[], None] | None = None
) -> tuple[Difference, ...]:
    """Replace a row by another row of the same name, if it is still the expected one.

    Always takes the lock. `on_rejection` is called if the new row was certainly not applied. Returns the values that
    the metastore's database damaged.
    """
    name = expected.name
    config = store.config._replace(lock=store.config.lock._replace(enabled=True))
    is_conditional = CHANGE_TIME in expected.parameters
    request = ChangeRequest(store.client, config, name, new.metadata_location, is_conditional=is_conditional)
    try:
        with request.locked():
            current = _check_unchanged(store, expected)
            if (pause := _seconds_until_old_enough(current)) > 0:
                time.sleep(pause)
                current = _check_unchanged(store, expected)
            request.ensure_locked()
            rejection = request.send(
                lambda: _alter(store, current, new), invalid=invalid_change(store.client, current.name, new.table)
            )
            if rejection is not None:
                _resolve_swap(store, current, new, rejection, request)
            request.verify_lock_held()
    except BaseException as error:
        if on_rejection is not None and request.may_delete_file(error):
            on_rejection()
        raise
    if not may_be_damaged(new.table):
        return ()
    try:
        stored = store.get_row(name)
    except MetastoreError:
        return ()  # the change was applied; whether anything was damaged cannot be determined now
    return () if stored is None else find_damage(new.table, stored.table)


def _is_same_hive_view(row: Row, expected: Row) -> bool:
    is_hive_view = row.kind is RowKind.HIVE_VIEW
    return is_hive_view and row.texts == expected.texts and row.create_time == expected.create_time


def _describe_moved(store: MetastoreStore, expected: Row) -> str | None:
    """Describe the row that may be the view under another name: a plain Hive view has no identity except its row."""
    names = [name for database in database_names(store) for name in all_view_names(store, database)]
    for row in read_rows(store, names, on_refused=lambda *_: None):  # a row that cannot be read is no candidate
        # The same name and creation time with another text is the view after an ALTER.
        is_altered = row.name == expected.name and row.create_time == expected.create_time
        if is_altered or _is_same_hive_view(row, expected):
            return f"{row.name} may be the same view now"
    return None


def _check_unchanged(store: MetastoreStore, expected: Row) -> Row:
    current = store.get_row(expected.name)
    if current is None:
        raise NoSuchViewError(str(expected.name), "dropped meanwhile")
    if row_fingerprint(current) != row_fingerprint(expected):
        raise CommitFailedError(
            str(expected.name),
            "its row was changed concurrently",
            expected=expected.metadata_location,
            found=current.metadata_location,
        )
    return current


def _seconds_until_old_enough(row: Row) -> float:
    """Return the number of seconds in which another change could still get the same time as the row's last change."""
    changed = whole_number(row.parameters.get(CHANGE_TIME))
    remaining = 0.0 if changed is None else changed + _MIN_AGE_SECONDS - time.time()
    # A server whose clock is ahead must not delay the commit any longer.
    return min(remaining, _MIN_AGE_SECONDS)


def _alter(store: MetastoreStore, current: Row, new: Row) -> None:
    context = {"DO_NOT_UPDATE_STATS": "true"}
    change_time = current.parameters.get(CHANGE_TIME)
    if change_time and CHANGE_TIME in new.parameters:
        context |= {EXPECTED_PARAMETER_KEY: CHANGE_TIME, EXPECTED_PARAMETER_VALUE: change_time}
    store.client.alter_table(current.name.database, current.name.name, new.table, context)


def _resolve_swap(store: MetastoreStore, base: Row, new: Row, rejection: Rejection, request: ChangeRequest) -> None:
    """Return if a rejected swap was applied after all; otherwise raise the error that describes the outcome."""
    row = request.read_back(lambda: store.get_row(base.name))
    if row is not None and _is_new_row(row, new):
        request.mark_applied()
        return
    is_unchanged = (
        row is not None
        and row_fingerprint(row) == row_fingerprint(base)
        and row.parameters.get(CHANGE_TIME) == base.parameters.get(CHANGE_TIME)
    )
    if request.may_be_applied and not is_unchanged:
        raise request.outcome_unknown(f"{request.cause(rejection)}; the row is a different one now")
    if row is None or (isinstance(rejection, NoSuchObjectException) and not request.may_be_applied):
        raise NoSuchViewError(str(base.name), "dropped meanwhile")
    if not is_unchanged:
        raise CommitFailedError(str(base.name), "its row was changed concurrently")
    raise request.rejection_error("alter_table", rejection, long_values(new.table))


def _is_new_row(row: Row, new: Row) -> bool:
    if new.kind is RowKind.ICEBERG_VIEW:
        return row.kind is RowKind.ICEBERG_VIEW and row.parameters.get(METADATA_LOCATION) == new.metadata_location
    return row_fingerprint(row) == row_fingerprint(new)
