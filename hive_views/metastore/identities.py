"""The UUID of anything that a view can read. Iceberg's tables and views have one; Hive's own get one from us.

A Hive table is marked once, by a parameter of its row, which survives renames and every ALTER that keeps the parameters
it does not know. The mark is derived from the table's name and creation time, so two writers that mark it at once write
the same, and a table that may not be marked has the same UUID until somebody renames it.
"""

from __future__ import annotations

import copy
import logging
import uuid
from contextlib import nullcontext
from dataclasses import replace

from hive_views.errors import LockError, MetadataFileError, MetastoreError, UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.row_codec import HIVE_UUID, Row, RowKind
from hive_views.metastore.store import CAS_REJECTED, MetastoreStore
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE
from hive_views.spec.lineage_codec import Dependency, ObjectKind

logger = logging.getLogger(__name__)

MARK_TIMEOUT_MS = 5_000
"""Milliseconds to wait for somebody else's lock on a Hive table before its row is left unmarked: running queries of
Hive hold one."""

_NAMESPACE = uuid.UUID("68697665-7669-8577-8369-687669657773")
_ATTEMPTS = 3
_CHANGE_TIME = "transient_lastDdlTime"
KINDS = {
    RowKind.ICEBERG_TABLE: ObjectKind.TABLE,
    RowKind.ICEBERG_VIEW: ObjectKind.VIEW,
    RowKind.HIVE_TABLE: ObjectKind.HIVE_TABLE,
    RowKind.HIVE_VIEW: ObjectKind.HIVE_VIEW,
}
"""What each kind of row is as a child."""


def identify(store: MetastoreStore, row: Row, *, mark: bool = True) -> Dependency:
    """A row as a child of a view."""
    kind = KINDS[row.kind]
    if row.kind in (RowKind.ICEBERG_TABLE, RowKind.ICEBERG_VIEW):
        return Dependency(row.name, _iceberg_uuid(store, row), kind)
    known = _valid(row.parameters.get(HIVE_UUID))
    if known is None and mark and store.config.mark_hive_tables:
        known = _mark(store, row)
    return Dependency(row.name, known or _derived(row), kind, by_name=known is None)


def _iceberg_uuid(store: MetastoreStore, row: Row) -> str:
    known = _valid(row.uuid)
    if known is not None:
        return known
    # Rows written by PyIceberg have none for tables; rows written by hand have none at all.
    location = row.metadata_location
    if location is None:
        raise UnidentifiedError(str(row.name), "its row names no metadata file")
    try:
        if row.kind is RowKind.ICEBERG_VIEW:
            return store.files.read(location).view_uuid.lower()
        found = _valid(store.files.read_table(location).get("table-uuid"))
    except MetadataFileError as error:
        raise UnidentifiedError(str(row.name), str(error)) from error
    if found is None:
        raise UnidentifiedError(str(row.name), f"{location} has no table-uuid")
    return found


def _derived(row: Row) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{row.name}@{row.create_time}"))


def _valid(text: object) -> str | None:
    try:
        return str(uuid.UUID(text)) if isinstance(text, str) else None
    except ValueError:
        return None


def _mark(store: MetastoreStore, row: Row) -> str | None:
    """Write the UUID into a Hive table's row, and nothing else.

    The row is read under the metastore's lock. The alter expects the time of the last change that the row has, where it
    has one: servers that compare (HIVE-26882) then refuse it after an ALTER of somebody who takes no lock.
    """
    locks = replace(store.config.lock, timeout_ms=min(store.config.lock.timeout_ms, MARK_TIMEOUT_MS))
    try:
        with hold_lock(store.client, locks, row.name) if locks.enabled else nullcontext():
            for _ in range(_ATTEMPTS):
                current = store.get_row(row.name)
                if current is None or current.kind is not row.kind or current.create_time != row.create_time:
                    return None
                known = _valid(current.parameters.get(HIVE_UUID))
                if known is not None:
                    return known
                if not _send(store, current):
                    return None
    except (LockError, MetastoreError) as error:
        logger.warning("%s stays without a mark, and is known by its name only: %s", row.name, error)
    return None


def _send(store: MetastoreStore, current: Row) -> bool:
    """Send the alter; whether it is worth looking at the row again."""
    table = copy.copy(current.table)
    table.parameters = {**current.parameters, HIVE_UUID: _derived(current)}
    context = {"DO_NOT_UPDATE_STATS": "true"}
    changed = current.parameters.get(_CHANGE_TIME)
    if changed:
        context |= {EXPECTED_PARAMETER_KEY: _CHANGE_TIME, EXPECTED_PARAMETER_VALUE: changed}
    try:
        store.client.alter_table(current.name.database, current.name.name, table, context)
    except MetaException as error:
        if CAS_REJECTED in (error.message or ""):
            return True
        logger.warning("%s cannot be marked, and is known by its name only: %s", current.name, error.message)
        return False
    except (InvalidOperationException, InvalidObjectException, NoSuchObjectException) as error:
        logger.warning("%s cannot be marked, and is known by its name only: %s", current.name, error)
        return False
    return True


def identify_dependencies(
    store: MetastoreStore, rows: dict[ViewName, Row], *, mark: bool = True
) -> tuple[Dependency, ...] | None:
    """L of a view over some rows."""
    try:
        return tuple(identify(store, rows[name], mark=mark) for name in sorted(rows))
    except UnidentifiedError as error:
        logger.warning("The view gets no lineage: %s", error)
        return None
