"""The UUIDs of all objects that a view can read: those of Iceberg, or those assigned to Hive's tables and views.

A Hive table gets its UUID once, as a row parameter, which survives renames and every ALTER that keeps unknown
parameters. The UUID is derived from the table's name and creation time, so that concurrent writers assign the same
UUID, and a table whose row cannot be changed keeps its UUID until it is renamed.
"""

from __future__ import annotations

import copy
import logging
import uuid
from contextlib import nullcontext

from hive_views.errors import LockError, MetadataFileError, MetastoreError, UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.rows.row import CHANGE_TIME, HIVE_UUID, Row, RowKind
from hive_views.metastore.store import CAS_REJECTED, MetastoreStore
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE
from hive_views.spec.lineage_codec import Dependency, ObjectKind

logger = logging.getLogger(__name__)

MARK_TIMEOUT_MS = 5_000
"""Milliseconds to wait for the lock on a Hive table, which Hive's queries may hold; then no UUID is written."""

_NAMESPACE = uuid.UUID("68697665-7669-8577-8369-687669657773")
_ATTEMPTS = 3
KINDS = {
    RowKind.ICEBERG_TABLE: ObjectKind.TABLE,
    RowKind.ICEBERG_VIEW: ObjectKind.VIEW,
    RowKind.HIVE_TABLE: ObjectKind.HIVE_TABLE,
    RowKind.HIVE_VIEW: ObjectKind.HIVE_VIEW,
}
"""The kind of source in lineage for each kind of row."""


def identify(store: MetastoreStore, row: Row, *, mark: bool = True) -> Dependency:
    """Return a row as a source in lineage; with `mark`, assign a UUID to a Hive table without one."""
    kind = KINDS[row.kind]
    if row.kind in (RowKind.ICEBERG_TABLE, RowKind.ICEBERG_VIEW):
        return Dependency(row.name, _iceberg_uuid(store, row), kind)
    assigned = _parse_uuid(row.parameters.get(HIVE_UUID))
    if assigned is None and mark and store.config.mark_hive_tables:
        assigned = _assign_uuid(store, row)
    return Dependency(row.name, assigned or _derive_uuid(row), kind, by_name=assigned is None)


def _iceberg_uuid(store: MetastoreStore, row: Row) -> str:
    uuid_in_row = _parse_uuid(row.uuid)
    if uuid_in_row is not None:
        return uuid_in_row
    # PyIceberg writes no UUID into the rows of tables; rows written by hand may have none.
    location = row.metadata_location
    if location is None:
        raise UnidentifiedError(str(row.name), "its row names no metadata file")
    try:
        if row.kind is RowKind.ICEBERG_VIEW:
            return store.files.read(location).view_uuid.lower()
        table_uuid = _parse_uuid(store.files.read_table(location).get("table-uuid"))
    except MetadataFileError as error:
        raise UnidentifiedError(str(row.name), str(error)) from error
    if table_uuid is None:
        raise UnidentifiedError(str(row.name), f"{location} has no table-uuid")
    return table_uuid


def _derive_uuid(row: Row) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{row.name}@{row.create_time}"))


def _parse_uuid(text: object) -> str | None:
    try:
        return str(uuid.UUID(text)) if isinstance(text, str) else None
    except ValueError:
        return None


def _assign_uuid(store: MetastoreStore, row: Row) -> str | None:
    """Write only a UUID into a Hive table's row; return the UUID, or None if that fails.

    The row is read under the metastore's lock. The request contains the time of the row's last change, if there is one,
    as expected value, so that servers with HIVE-26882 reject it after a concurrent ALTER by a client without locks.
    """
    locks = store.config.lock._replace(timeout_ms=min(store.config.lock.timeout_ms, MARK_TIMEOUT_MS))
    try:
        with hold_lock(store.client, locks, row.name) if locks.enabled else nullcontext():
            for _ in range(_ATTEMPTS):
                current = store.get_row(row.name)
                if current is None or current.kind is not row.kind or current.create_time != row.create_time:
                    return None
                assigned = _parse_uuid(current.parameters.get(HIVE_UUID))
                if assigned is not None:
                    return assigned
                if not _send_uuid(store, current):
                    return None
    except (LockError, MetastoreError) as error:
        logger.warning("%s gets no UUID and is identified by its name only: %s", row.name, error)
    return None


def _send_uuid(store: MetastoreStore, current: Row) -> bool:
    """Send the alter; return whether the row must be read again."""
    table = copy.copy(current.table)
    table.parameters = {**current.parameters, HIVE_UUID: _derive_uuid(current)}
    context = {"DO_NOT_UPDATE_STATS": "true"}
    change_time = current.parameters.get(CHANGE_TIME)
    if change_time:
        context |= {EXPECTED_PARAMETER_KEY: CHANGE_TIME, EXPECTED_PARAMETER_VALUE: change_time}
    try:
        store.client.alter_table(current.name.database, current.name.name, table, context)
    except MetaException as error:
        if CAS_REJECTED in (error.message or ""):
            return True
        logger.warning("%s gets no UUID and is identified by its name only: %s", current.name, error.message)
        return False
    except (InvalidOperationException, InvalidObjectException, NoSuchObjectException) as error:
        logger.warning("%s gets no UUID and is identified by its name only: %s", current.name, error)
        return False
    return True


def identify_dependencies(
    store: MetastoreStore, rows: dict[ViewName, Row], *, mark: bool = True
) -> tuple[Dependency, ...] | None:
    """Return the lineage of a view over some rows; None if one of them has no identity."""
    try:
        return tuple(identify(store, rows[name], mark=mark) for name in sorted(rows))
    except UnidentifiedError as error:
        logger.warning("The view gets no lineage: %s", error)
        return None
