"""PyIceberg's HiveCatalog on our client: the methods of its own Thrift client that it calls, no more.

PyIceberg opens a connection for each call, without time-outs and without fail-over, calls methods that Hive 4.0.1
removed, and locks without heartbeats. Behind this face its table methods use our pool, our locks, and compare-and-swap
for the tables that they commit. Its exceptions and structs are those of its own stubs (`hive_metastore`), so both are
translated, by name.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import TracebackType
from typing import Any

from hive_metastore import ttypes as theirs
from pyiceberg.exceptions import CommitFailedException

from hive_views.config import LockConfig
from hive_views.errors import (
    LockError,
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore import ttypes as ours
from hive_views.metastore.capabilities import honors_cas, is_cas_verified
from hive_views.metastore.locking.lock import HeldLock, acquire
from hive_views.metastore.row_codec import METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, UUID
from hive_views.metastore.store import CAS_REJECTED
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE, MetastoreClient

_DOUBTFUL = (
    MetastoreConnectionLostError,
    MetastoreRefusedError,
    ours.AlreadyExistsException,
    ours.InvalidObjectException,
    ours.InvalidOperationException,
    ours.MetaException,
    ours.NoSuchObjectException,
)
"""After each of these a change may have been made: a listener fails behind it, a server that tried again by itself
finds its first try in the way, or what handles the request breaks down."""

_INCOMPATIBLE = "types incompatible with the existing columns"
"""Stands in the server's refusal of other columns (2.3 to 4.1)."""

STORAGE_OF = "hive-views.storage-of"
"""Property of a materialized view's storage table: the UUID of the view."""

_IGNORED = (
    "the metastore that answers now ignores compare-and-swap, and no lock was taken. Nothing was changed; set "
    "iceberg.engine.hive.lock-enabled=true"
)

_NO_LOCK = 0
"""The id of a lock that was not taken; the server's begin at 1."""


class PyIcebergClient:
    """What PyIceberg's HiveCatalog takes for its client."""

    def __init__(self, client: MetastoreClient, locks: LockConfig) -> None:
        self._client = client
        self._locks = locks
        self._held: dict[int, tuple[str, str]] = {}
        """The tables on which the locks are."""
        self._locked: dict[tuple[str, str], HeldLock] = {}

    def __enter__(self) -> PyIcebergClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close: connections are kept."""

    # -- Tables -----------------------------------------------------------------------------------------------------

    def get_table(self, dbname: str, tbl_name: str) -> Any:
        """The row of a table."""
        with _Declared("get_table"):
            table = self._client.get_table(dbname, tbl_name)
        if table is None:
            raise theirs.NoSuchObjectException(f"{dbname}.{tbl_name} table not found")
        translated = _translate(table, theirs)
        translated.hive_views_origin = table
        return translated

    def create_table(self, tbl: Any) -> None:
        """Add a row."""
        table = _translate(tbl, ours)
        with _Declared("create_table"):
            try:
                self._change(
                    "create_table",
                    (table.dbName, table.tableName),
                    lambda: self._client.create_table(table),
                    lambda: self._stands(table, None),
                )
            except ours.AlreadyExistsException as error:
                # The server may have found its own first try in the way, and others have renamed that since.
                if self._client.get_table(table.dbName, table.tableName) is None:
                    raise MetastoreConnectionLostError("create_table", f"{_said(error)}; it is gone now") from error
                raise

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Any, environment_context: Any
    ) -> None:
        """Change a row; a table's commit becomes a compare-and-swap, since its row says what pointer it replaces.

        A server compares columns by position, and refuses other types (hive.metastore.disallow.incompatible.col.type.
        changes, on by default). The storage of a materialized view gets the columns of its definition all the same: its
        row is rid of its columns first. They are for readers of Hive's own; Iceberg's read the metadata file.
        """
        # Fields that PyIceberg's stubs do not know are kept from the row that it was given.
        origin = copy.copy(getattr(new_tbl, "hive_views_origin", None))
        table = _translate(new_tbl, ours, into=origin)
        context = dict(environment_context.properties or {})
        previous = (table.parameters or {}).get(PREVIOUS_METADATA_LOCATION)
        renamed = (table.dbName, table.tableName) != (dbname, tbl_name)
        if previous and not renamed:
            context.update({EXPECTED_PARAMETER_KEY: METADATA_LOCATION, EXPECTED_PARAMETER_VALUE: previous})
        with _Declared("alter_table", renames=renamed):
            if renamed:
                self._alter(dbname, tbl_name, table, context, lambda: self._moved(dbname, tbl_name, table))
                return
            try:
                self._alter(dbname, tbl_name, table, context, lambda: self._stands(table, previous))
            except ours.InvalidOperationException as error:
                before: Any = getattr(new_tbl, "hive_views_origin", None)
                is_storage = before is not None and STORAGE_OF in (before.parameters or {})
                if (
                    not is_storage
                    or EXPECTED_PARAMETER_KEY not in context
                    or _INCOMPATIBLE not in (error.message or "")
                ):
                    raise
                bare = copy.copy(before)
                bare.sd = copy.copy(before.sd)
                bare.sd.cols = []
                # Its pointer stays: what nobody answered cannot be told from what never arrived.
                self._alter(dbname, tbl_name, bare, context, lambda: False)
                self._alter(dbname, tbl_name, table, context, lambda: self._stands(table, previous))

    def drop_table(self, dbname: str, name: str, deleteData: bool) -> None:  # noqa: N803 -- PyIceberg's keyword
        """Remove a row; data are never deleted by the server."""
        with _Declared("drop_table"):
            try:
                self._client.drop_table(dbname, name)
            except (ours.MetaException, ours.InvalidOperationException, MetastoreRefusedError) as error:
                # Not after a request that is lost: what is gone may have been renamed, and it may still arrive.
                self._settle("drop_table", error, lambda: self._client.get_table(dbname, name) is None)

    # -- What becomes of a change -----------------------------------------------------------------------------------

    def _alter(
        self, dbname: str, tbl_name: str, table: Any, context: dict[str, str], made: Callable[[], bool | None]
    ) -> None:
        tried = EXPECTED_PARAMETER_KEY in context and not self._locks.enabled

        def send() -> None:
            try:
                self._client.alter_table(dbname, tbl_name, table, context, tried=tried)
            except MetastoreUnavailableError:
                # Another server answers by now, it may be: nothing was sent to it.
                if not tried:
                    raise
                if not self._swaps(dbname):
                    raise CommitFailedException(f"{dbname}.{tbl_name}: {_IGNORED}") from None
                self._client.alter_table(dbname, tbl_name, table, context, tried=tried)

        self._change("alter_table", (dbname, tbl_name), send, made)

    def _change(
        self, method: str, name: tuple[str, str], send: Callable[[], None], made: Callable[[], bool | None]
    ) -> None:
        """Send a change, under the lock of its commit where that has one, and find out what became of it."""
        lock = self._locked.get(name)
        if lock is not None:
            lock.ensure_active()
        try:
            send()
        except _DOUBTFUL as error:
            try:
                self._settle(method, error, made)
            except MetastoreConnectionLostError:
                # The request may still arrive. Where nothing refuses it then, nobody else may change the table first.
                if lock is not None and isinstance(error, MetastoreConnectionLostError) and not self._honors():
                    lock.abandon()
                raise
        try:
            if lock is not None:
                lock.ensure_active()
        except LockError as error:
            if not self._honors():
                raise MetastoreConnectionLostError(
                    method, f"the lock was lost during the change, and this server cannot refuse others ({error})"
                ) from error

    def _settle(self, method: str, error: Exception, made: Callable[[], bool | None]) -> None:
        """After an answer that is not to be trusted, or none: return where the change was made, else raise."""
        try:
            done = made()
        except (MetastoreError, ours.MetaException) as unreadable:
            raise MetastoreConnectionLostError(method, f"{_said(error)}; then: {_said(unreadable)}") from error
        if done:
            return
        if done is None and isinstance(error, MetastoreRefusedError):
            raise MetastoreConnectionLostError(method, f"{error.reason}; others changed the table since") from error
        raise error

    def _stands(self, table: Any, before: str | None) -> bool | None:
        """Whether a row has, or had until its last commit, the pointer and the identity that it was to have."""
        there = self._client.get_table(table.dbName, table.tableName)
        found = (there.parameters or {}) if there is not None else {}
        location = table.parameters.get(METADATA_LOCATION)
        last = (found.get(METADATA_LOCATION), found.get(PREVIOUS_METADATA_LOCATION))
        if there is not None and location in last and found.get(UUID) == table.parameters.get(UUID):
            return True
        return False if last[0] == before else None

    def _moved(self, dbname: str, tbl_name: str, table: Any) -> bool | None:
        """Whether a row stands under its new name, and no longer under the one that it had."""
        there, here = self._stands(table, None), self._client.get_table(dbname, tbl_name)
        if here is not None and (here.parameters or {}).get(UUID) == table.parameters.get(UUID):
            return False
        return there or None

    def _honors(self) -> bool:
        """Whether the server refuses what comes late, once the row has another pointer."""
        try:
            return honors_cas(self._client)
        except MetastoreError:
            return False

    def get_all_databases(self) -> list[str]:
        """The names of all databases."""
        return self._client.get_all_databases()

    # -- Locks ------------------------------------------------------------------------------------------------------

    def lock(self, rqst: Any) -> Any:
        """Take a lock as our commits do: with heartbeats, and waiting as long as the catalog's properties say.

        None is taken where the properties turn locks off and the server honors compare-and-swap.
        """
        component = rqst.component[0]
        if not self._locks.enabled and self._swaps(component.dbname):
            return theirs.LockResponse(lockid=_NO_LOCK, state=theirs.LockState.ACQUIRED)
        try:
            held = acquire(self._client, self._locks, ViewName(component.dbname, component.tablename))
        except LockError as error:
            return theirs.LockResponse(lockid=error.lock_id or 0, state=theirs.LockState.NOT_ACQUIRED)
        self._held[held.lock_id] = name = (component.dbname, component.tablename)
        self._locked[name] = held
        return theirs.LockResponse(lockid=held.lock_id, state=theirs.LockState.ACQUIRED)

    def unlock(self, rqst: Any) -> None:
        """Release a lock that `lock` took; a request for one that was never had does nothing."""
        name = self._held.pop(rqst.lockid, None)
        if name is not None:
            self._locked.pop(name).release()

    def _swaps(self, database: str) -> bool:
        try:
            return is_cas_verified(self._client, database)
        except MetastoreRefusedError:
            return False  # it cannot be tried out


class _Declared:
    """Turns exceptions that the server declared into those of PyIceberg's stubs, where PyIceberg catches those.

    What it does not catch becomes an error of its own or of ours: nobody should have to know two sets of stubs.
    """

    def __init__(self, method: str, *, renames: bool = True) -> None:
        """`renames` says that PyIceberg catches an operation that is invalid, as it does around a rename only."""
        self._method = method
        self._refusals: tuple[type[Exception], ...] = (ours.MetaException, ours.InvalidObjectException)
        if not renames:
            self._refusals += (ours.InvalidOperationException,)

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ours.MetaException) and (error.message or "").startswith(CAS_REJECTED):
            raise CommitFailedException(error.message) from error
        if isinstance(error, self._refusals):
            raise MetastoreRefusedError(self._method, _said(error)) from error
        same = getattr(theirs, type(error).__name__, None) if type(error).__module__ == ours.__name__ else None
        if same is not None:
            raise same(getattr(error, "message", None)) from error


def _said(error: BaseException) -> str:
    """What a server answered, in its own words where it has some."""
    return getattr(error, "message", None) or str(error) or type(error).__name__


def _translate(value: Any, module: Any, *, into: Any = None) -> Any:
    """The same Thrift value in the classes of another set of stubs; a field that one of them lacks is left alone."""
    if isinstance(value, list):
        return [_translate(item, module) for item in value]
    if isinstance(value, dict):
        return {key: _translate(item, module) for key, item in value.items()}
    if not hasattr(value, "thrift_spec"):
        return value
    kind = getattr(module, type(value).__name__)
    translated = kind() if into is None else into
    for field in kind.thrift_spec or ():
        if field is not None and hasattr(value, field[2]):
            setattr(translated, field[2], _translate(getattr(value, field[2]), module))
    return translated
