"""Changes to views of Hive's own, which have no metadata file and no pointer that a change could expect."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from hive_views.errors import CommitFailedError, MetastoreError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    NoSuchObjectException,
)
from hive_views.metastore.commit.protocol import ChangeRequest
from hive_views.metastore.drift import Difference, damages, long_values, may_be_damaged
from hive_views.metastore.queries import all_view_names, database_names, read_rows
from hive_views.metastore.row_codec import CHANGE_TIME, METADATA_LOCATION, Row, RowKind, row_fingerprint
from hive_views.metastore.store import MetastoreStore, Rejection, rejection_message
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE

_YOUNG_SECONDS = 1.5


def drop_hive_view(store: MetastoreStore, seen: Row) -> None:
    """Drop a plain Hive view, if it still is what was seen."""
    name = seen.name
    request = ChangeRequest(store.client, store.config, name, refusable=False)
    with request.locked():
        row = store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if not _is_same(row, seen):
            raise CommitFailedError(
                str(name), "it was changed meanwhile", expected=seen.texts.expanded, found=row.texts.expanded
            )
        request.ensure_locked()

        def is_there() -> bool:
            found = store.get_row(name)
            return found is not None and _is_same(found, seen)

        def again() -> None:
            if not is_there():
                raise NoSuchObjectException(f"{name} is gone")
            store.client.drop_table(name.database, name.name)

        refusal = request.send(lambda: store.client.drop_table(name.database, name.name), again)
        if refusal is None:
            return
        if isinstance(refusal, NoSuchObjectException) and not request.doubtful:
            raise NoSuchViewError(str(name), "dropped meanwhile")
        if request.find_out(is_there):
            raise request.failure("drop_table", refusal)
        found = request.find_out(lambda: _elsewhere(store, seen))
        if found is not None:
            raise request.unknown(f"{request.unanswered or rejection_message(refusal)}; {found} may be it now")
        request.found_done()


def _elsewhere(store: MetastoreStore, seen: Row) -> ViewName | None:
    """The name of a view that may be one which is not found under its own: nothing but its row tells which it is."""
    names = [name for database in database_names(store) for name in all_view_names(store, database)]
    for row in read_rows(store, names):
        # What stands under its own name by now, and was not made since, is it with another text.
        if _is_same(row, seen) or (row.name == seen.name and row.create_time == seen.create_time):
            return row.name
    return None


def _is_same(row: Row, seen: Row) -> bool:
    return row.kind is RowKind.HIVE_VIEW and row.texts == seen.texts and row.create_time == seen.create_time


def swap_row(
    store: MetastoreStore, seen: Row, to: Row, undo: Callable[[], None] | None = None
) -> tuple[Difference, ...]:
    """Put a row in a row's place, if that is still what stands there."""
    name = seen.name
    config = replace(store.config, lock=replace(store.config.lock, enabled=True))
    request = ChangeRequest(store.client, config, name, to.metadata_location, refusable=CHANGE_TIME in seen.parameters)
    try:
        with request.locked():
            current = _unchanged(store, seen)
            if (pause := _young_for(current)) > 0:
                time.sleep(pause)
                current = _unchanged(store, seen)
            request.ensure_locked()
            refusal = request.send(lambda: _alter(store, current, to))
            if refusal is not None:
                _explain(store, current, to, refusal, request)
            request.check_alone()
    except BaseException as error:
        if undo is not None and request.left_nothing(error):
            undo()
        raise
    if not may_be_damaged(to.table):
        return ()
    try:
        stored = store.get_row(name)
    except MetastoreError:
        return ()  # the change was made; nobody can tell now whether anything was damaged
    return () if stored is None else damages(to.table, stored.table)


def _unchanged(store: MetastoreStore, seen: Row) -> Row:
    current = store.get_row(seen.name)
    if current is None:
        raise NoSuchViewError(str(seen.name), "dropped meanwhile")
    if row_fingerprint(current) != row_fingerprint(seen):
        raise CommitFailedError(
            str(seen.name),
            "its row was changed by somebody else",
            expected=seen.metadata_location,
            found=current.metadata_location,
        )
    return current


def _young_for(row: Row) -> float:
    """How many seconds a change by others could yet hide behind the time of the last one."""
    changed = row.parameters.get(CHANGE_TIME, "")
    left = int(changed) + _YOUNG_SECONDS - time.time() if changed.isdigit() else 0.0
    # A server whose clock is ahead makes no row young for long.
    return min(left, _YOUNG_SECONDS)


def _alter(store: MetastoreStore, current: Row, to: Row) -> None:
    context = {"DO_NOT_UPDATE_STATS": "true"}
    changed = current.parameters.get(CHANGE_TIME)
    if changed and CHANGE_TIME in to.parameters:
        context |= {EXPECTED_PARAMETER_KEY: CHANGE_TIME, EXPECTED_PARAMETER_VALUE: changed}
    store.client.alter_table(current.name.database, current.name.name, to.table, context)


def _explain(store: MetastoreStore, before: Row, to: Row, refusal: Rejection, request: ChangeRequest) -> None:
    """Decide what a refusal means; returns where the change did take place."""
    row = request.find_out(lambda: store.get_row(before.name))
    if row is not None and _is_ours(row, to):
        request.found_done()
        return
    if request.doubtful:
        raise request.unknown(f"{request.unanswered or rejection_message(refusal)}; the row is another one now")
    if row is None or isinstance(refusal, NoSuchObjectException):
        raise NoSuchViewError(str(before.name), "dropped meanwhile")
    if row_fingerprint(row) != row_fingerprint(before) or row.parameters.get(CHANGE_TIME) != before.parameters.get(
        CHANGE_TIME
    ):
        raise CommitFailedError(str(before.name), "its row was changed by somebody else")
    raise request.failure("alter_table", refusal, long_values(to.table))


def _is_ours(row: Row, to: Row) -> bool:
    if to.kind is RowKind.ICEBERG_VIEW:
        return row.kind is RowKind.ICEBERG_VIEW and row.parameters.get(METADATA_LOCATION) == to.metadata_location
    return row_fingerprint(row) == row_fingerprint(to)
