"""An adapter with which PyIceberg's HiveCatalog uses this package's metastore client; it has the methods it calls.

PyIceberg opens a connection for each call, without time-outs and fail-over, calls methods that Hive 4.0.1 removed, and
takes locks without heartbeats. With this adapter its table methods use the connection pool, the locks, and
compare-and-swap for table commits. PyIceberg catches exceptions and passes structs of its own stubs (`hive_metastore`),
so both are translated, by class name.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from hive_metastore import ttypes as pyiceberg_types
from pyiceberg.exceptions import CommitFailedException

from hive_views.config import CatalogConfig
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    LockError,
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.metastore.capabilities import is_cas_verified
from hive_views.metastore.commit.protocol import ChangeRequest
from hive_views.metastore.denials import is_denial
from hive_views.metastore.invalid_requests import invalid_change, invalid_create
from hive_views.metastore.locking.lock import MetastoreLock, acquire_lock, hold_lock
from hive_views.metastore.rejections import (
    are_columns_incompatible,
    are_columns_unreadable,
    denial_error,
    is_cas_rejection,
)
from hive_views.metastore.rows.row import (
    METADATA_LOCATION,
    PREVIOUS_METADATA_LOCATION,
    UUID,
    Row,
    RowKind,
    read_row,
    row_kind,
)
from hive_views.metastore.store import DECLARED_REJECTIONS, Rejection
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE, MetastoreClient

_NO_LOCK_ID = 0
"""The id that stands for no lock; the server's ids begin at 1."""


class PyIcebergClient:
    """The client that PyIceberg's HiveCatalog calls."""

    def __init__(
        self, client: MetastoreClient, config: CatalogConfig, may_replace_columns: Callable[[Mapping[str, str]], bool]
    ) -> None:
        """Create an adapter.

        `may_replace_columns` decides, by a row's parameters, whether its table may get columns of other types.
        """
        self._client = client
        self._config = config
        self._may_replace_columns = may_replace_columns
        self._locks: dict[int, tuple[ViewName, MetastoreLock]] = {}
        """The held locks with the locked tables, by lock id."""

    def __enter__(self) -> PyIcebergClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: the pool keeps the connections."""

    # -- Tables -----------------------------------------------------------------------------------------------------

    def get_table(self, dbname: str, tbl_name: str) -> Any:
        """Return the row of a table."""
        with _TranslatedErrors(self._client, "get_table", ViewName(dbname, tbl_name)):
            table = self._client.get_table(dbname, tbl_name)
        if table is None:
            raise pyiceberg_types.NoSuchObjectException(f"{dbname}.{tbl_name} table not found")
        translated = _translate(table, pyiceberg_types)
        translated.hive_views_origin = table
        return translated

    def create_table(self, tbl: Any) -> None:
        """Add a row."""
        table = _translate(tbl, ttypes)
        name = ViewName(table.dbName, table.tableName)
        with _TranslatedErrors(self._client, "create_table", name, table):
            try:
                self._change(
                    "create_table",
                    name,
                    lambda: self._client.create_table(table),
                    lambda: self._is_applied(table, None),
                    invalid=invalid_create(self._client, table),
                )
            except ttypes.AlreadyExistsException as error:
                # The server may have retried internally, and others may have renamed the row of the first attempt.
                if self._client.get_table(*name.identifier) is None:
                    raise MetastoreConnectionLostError("create_table", f"{_message(error)}; it is gone now") from error
                raise

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Any, environment_context: Any
    ) -> None:
        """Commit a change of a table: a compare-and-swap with the previous metadata location in the new row.

        A server compares columns by position and rejects other types (hive.metastore.disallow.incompatible.col.type.
        changes, on by default), and Hive 2.3 rejects types that it cannot parse. Then the columns are removed from the
        row first (`_may_remove_columns`). They are for Hive's own readers; Iceberg's read the metadata file.
        """
        # Fields that PyIceberg's stubs do not have are copied from the row that PyIceberg received.
        origin: Any = getattr(new_tbl, "hive_views_origin", None)
        table = _translate(new_tbl, ttypes, into=copy.copy(origin))
        name = ViewName(dbname, tbl_name)
        context = dict(environment_context.properties or {})
        previous = (table.parameters or {}).get(PREVIOUS_METADATA_LOCATION)
        if previous:
            context.update({EXPECTED_PARAMETER_KEY: METADATA_LOCATION, EXPECTED_PARAMETER_VALUE: previous})
        with _TranslatedErrors(self._client, "alter_table", name, table):
            try:
                self._alter(name, table, context, lambda: self._is_applied(table, previous))
            except (ttypes.InvalidOperationException, ttypes.MetaException) as error:
                if (
                    origin is None
                    or not self._may_remove_columns(error, origin)
                    or EXPECTED_PARAMETER_KEY not in context
                ):
                    raise
                without_columns = copy.copy(origin)
                without_columns.sd = copy.copy(origin.sd)
                without_columns.sd.cols = []
                # This change keeps the metadata location, so the row does not show whether a lost request was applied.
                self._alter(name, without_columns, context, lambda: False)
                self._alter(name, table, context, lambda: self._is_applied(table, previous))

    def _may_remove_columns(self, error: Exception, row: Any) -> bool:
        # Hive 2.3 reads no row whose types it cannot parse, so its readers lose nothing.
        is_replaceable = are_columns_incompatible(error) and self._may_replace_columns(row.parameters or {})
        return is_replaceable or are_columns_unreadable(error)

    def rename_row(self, name: ViewName, target: ViewName) -> Row:
        """Give a table another name, and return its row with it.

        The request has the whole row, so that a commit in between would be lost: the row is read under the lock of
        commits, and a server that can compare and swap rejects the request if its metadata location has changed.
        """
        with self._locked(name):
            row = self._client.get_table(*name.identifier)
            if row is None or row_kind(row) is not RowKind.ICEBERG_TABLE:
                raise NoSuchTableError(str(name), "it was dropped or renamed concurrently")
            renamed = copy.copy(row)
            renamed.dbName, renamed.tableName = target.identifier
            context = {"DO_NOT_UPDATE_STATS": "true", EXPECTED_PARAMETER_KEY: METADATA_LOCATION}
            context[EXPECTED_PARAMETER_VALUE] = row.parameters[METADATA_LOCATION]
            try:
                self._alter(name, renamed, context, lambda: self._is_renamed(name, renamed))
            except DECLARED_REJECTIONS as error:
                raise self._rename_rejection(name, target, error) from error
            except MetastoreConnectionLostError as error:
                raise CommitStateUnknownError(str(name), None, str(error)) from error
            return read_row(renamed)

    def _rename_rejection(self, name: ViewName, target: ViewName, rejection: Rejection) -> Exception:
        """Return the error for a rename that the server certainly refused, by the rows and databases that exist.

        A server refuses it with InvalidOperationException whatever the reason is, and the texts differ between releases
        (2.3.10, 3.1.3, 4.0.1, 4.2.0).
        """
        if is_denial(rejection):
            return denial_error(self._client, "alter_table", str(name), rejection, "rename")
        if is_cas_rejection(rejection):
            return CommitFailedError(str(name), "it was changed concurrently. Repeat the rename")
        try:
            source = self._client.get_table(*name.identifier)
            if source is None:
                return NoSuchTableError(str(name), "it was dropped or renamed concurrently")
            taken = self._client.get_table(*target.identifier)
            if taken is not None:
                return name_taken_error(name, target, read_row(taken))
            self._client.get_database(target.database)
        except NoSuchNamespaceError as missing:
            return missing
        except MetastoreError:
            pass  # the server's message has the reason
        return MetastoreRefusedError("alter_table", f"{name} was not changed: {_message(rejection)}")

    def drop_row(self, row: ttypes.Table) -> None:
        """Remove a row that was read just now; the server never deletes data.

        PyIceberg's `drop_table` does not know the row, by which a refusal is confirmed.
        """
        name = ViewName(row.dbName, row.tableName)
        with _TranslatedErrors(self._client, "drop_table", name):
            request = ChangeRequest(self._client, self._config, name, is_conditional=False)
            rejection = request.send_once(lambda: self._client.drop_table(*name.identifier))
            request.confirm(rejection, invalid_change(self._client, name, row))
            if rejection is None:
                return
            if isinstance(rejection, ttypes.NoSuchObjectException) and not request.may_be_applied:
                raise NoSuchTableError(str(name), "it was dropped or renamed concurrently") from rejection
            is_refused = is_denial(rejection) or request.is_refused_by_check

            def is_dropped() -> bool:
                # Not after a lost connection: a missing row may have been renamed, and the request may still arrive.
                if self._client.get_table(*name.identifier) is not None:
                    return False
                # Another client dropped or renamed it, or a listener refused what the server had carried out.
                if is_refused:
                    raise MetastoreConnectionLostError("drop_table", f"{name} is gone now")
                return True

            self._resolve("drop_table", rejection, is_dropped, is_proof=not request.may_be_applied)

    def get_all_databases(self) -> list[str]:
        """Return the names of all databases."""
        return self._client.get_all_databases()

    # -- Changes and their outcome ------------------------------------------------------------------------------------

    def _alter(
        self, name: ViewName, table: Any, context: dict[str, str], read_outcome: Callable[[], bool | None]
    ) -> None:
        only_verified_cas = EXPECTED_PARAMETER_KEY in context and not self._config.lock.enabled

        def send() -> None:
            self._client.alter_table(*name.identifier, table, context, only_verified_cas=only_verified_cas)

        def send_to_verified_server() -> None:
            try:
                send()
            except MetastoreUnavailableError:
                # The client may have switched to another server, to which nothing was sent.
                if not only_verified_cas:
                    raise
                if not self._is_cas_verified(name.database):
                    raise CommitFailedException(
                        f"{name}: the metastore that answers now ignores compare-and-swap, and no lock was taken. "
                        "Nothing was changed; set iceberg.engine.hive.lock-enabled=true"
                    ) from None
                send()

        invalid = invalid_change(self._client, name, table)
        self._change("alter_table", name, send_to_verified_server, read_outcome, invalid=invalid)

    def _change(
        self,
        method: str,
        name: ViewName,
        call: Callable[[], None],
        read_outcome: Callable[[], bool | None],
        *,
        invalid: Callable[[], None],
    ) -> None:
        """Send a change once, under the lock of its commit if there is one, and determine its outcome.

        `invalid` is for `ChangeRequest.confirm`.
        """
        lock = next((lock for locked_name, lock in list(self._locks.values()) if locked_name == name), None)
        request = ChangeRequest(self._client, self._config, name, lock=lock)
        request.ensure_locked()
        failure: Exception | None
        try:
            failure = request.send_once(call)
            request.confirm(failure, invalid)
        except MetastoreConnectionLostError as error:
            failure = error
        if failure is not None:
            try:
                self._resolve(method, failure, read_outcome, is_proof=not request.may_be_applied)
            except MetastoreConnectionLostError:
                request.abandon_lock_if_pending()
                raise
            request.mark_applied()
        request.verify_lock_held()

    def _resolve(
        self, method: str, failure: Exception, read_outcome: Callable[[], bool | None], *, is_proof: bool
    ) -> None:
        """After a rejection or a lost reply: return if the change was applied, raise otherwise.

        Raises a MetastoreConnectionLostError, which callers report as an unknown outcome, unless the rejection is a
        proof that nothing was changed.
        """
        try:
            is_applied = read_outcome()
        except MetastoreError as error:
            raise MetastoreConnectionLostError(method, f"{_message(failure)}; then: {_message(error)}") from failure
        if is_applied:
            return
        is_contradicted = is_applied is False and is_cas_rejection(failure)
        if isinstance(failure, MetastoreConnectionLostError) or (is_proof and not is_contradicted):
            raise failure
        reason = failure.reason if isinstance(failure, MetastoreError) else _message(failure)
        state = (
            "the table was changed concurrently since"
            if is_applied is None
            else "the metastore's database may still carry it out, although nothing is changed so far"
        )
        raise MetastoreConnectionLostError(method, f"{reason}; {state}") from failure

    def _is_applied(self, table: Any, previous: str | None) -> bool | None:
        """Return whether the row has, or had before its last commit, the metadata location and UUID of a request."""
        row = self._client.get_table(table.dbName, table.tableName)
        parameters = (row.parameters or {}) if row is not None else {}
        locations = (parameters.get(METADATA_LOCATION), parameters.get(PREVIOUS_METADATA_LOCATION))
        is_same = row is not None and parameters.get(UUID) == table.parameters.get(UUID)
        if is_same and table.parameters.get(METADATA_LOCATION) in locations:
            return True
        return False if locations[0] == previous else None

    def _is_renamed(self, old_name: ViewName, table: Any) -> bool | None:
        """Return whether the row has its new name, and no longer the old one; None if it was changed concurrently."""
        is_at_target = self._is_applied(table, None)
        row = self._client.get_table(*old_name.identifier)
        parameters = (row.parameters or {}) if row is not None else {}
        if row is not None and parameters.get(UUID) == table.parameters.get(UUID):
            return False if parameters.get(METADATA_LOCATION) == table.parameters.get(METADATA_LOCATION) else None
        return is_at_target or None

    # -- Locks ------------------------------------------------------------------------------------------------------

    def lock(self, rqst: Any) -> Any:
        """Acquire a lock like view commits: with heartbeats and the configured time-out.

        Takes none if the catalog disables locks and the server honors compare-and-swap.
        """
        component = rqst.component[0]
        name = ViewName(component.dbname, component.tablename)
        if not self._config.lock.enabled and self._is_cas_verified(name.database):
            return pyiceberg_types.LockResponse(lockid=_NO_LOCK_ID, state=pyiceberg_types.LockState.ACQUIRED)
        try:
            lock = acquire_lock(self._client, self._config.lock, name)
        except LockError as error:
            state = pyiceberg_types.LockState.NOT_ACQUIRED
            return pyiceberg_types.LockResponse(lockid=error.lock_id or 0, state=state)
        self._locks[lock.lock_id] = (name, lock)
        return pyiceberg_types.LockResponse(lockid=lock.lock_id, state=pyiceberg_types.LockState.ACQUIRED)

    @contextmanager
    def _locked(self, name: ViewName) -> Iterator[None]:
        """Hold the lock of commits on a table for the body of a `with` statement; only errors of this package pass."""
        if not self._config.lock.enabled and self._is_cas_verified(name.database):
            yield
            return
        with hold_lock(self._client, self._config.lock, name) as lock:
            self._locks[lock.lock_id] = (name, lock)
            try:
                yield
            finally:
                del self._locks[lock.lock_id]

    def unlock(self, rqst: Any) -> None:
        """Release a lock that `lock` acquired; other ids are ignored."""
        _, lock = self._locks.pop(rqst.lockid, (None, None))
        if lock is not None:
            lock.release()

    def _is_cas_verified(self, database: str) -> bool:
        try:
            return is_cas_verified(self._client, database)
        except MetastoreRefusedError:
            return False  # the server rejects the temporary row for the verification


class _TranslatedErrors:
    """Translates exceptions declared by the server into those of PyIceberg's stubs if PyIceberg catches them.

    Other exceptions become errors of this package, so that callers need not know two sets of stubs.
    """

    def __init__(self, client: MetastoreClient, method: str, name: ViewName, table: Any = None) -> None:
        """Prepare for a call on a table; `table` is the row of the request.

        PyIceberg catches InvalidOperationException around a drop.
        """
        self._client = client
        self._method = method
        self._name = name
        self._table = table
        self._refused: tuple[type[Exception], ...] = (ttypes.MetaException, ttypes.InvalidObjectException)
        if method == "alter_table":
            self._refused += (ttypes.InvalidOperationException,)

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (ttypes.MetaException, ttypes.InvalidOperationException)) and is_denial(error):
            denied = denial_error(self._client, self._method, str(self._name), error)
            raise self._refusal(denied) from error
        if error is not None and is_cas_rejection(error):
            raise CommitFailedException(_message(error)) from error
        if isinstance(error, self._refused):
            raise self._refusal(MetastoreRefusedError(self._method, _message(error))) from error
        if type(error).__module__ == ttypes.__name__:
            translated = getattr(pyiceberg_types, type(error).__name__, None)
            if translated is not None:
                raise translated(getattr(error, "message", None)) from error

    def _refusal(self, error: MetastoreRefusedError) -> MetastoreRefusedError:
        if self._table is not None:
            error.rejected_location = (self._table.parameters or {}).get(METADATA_LOCATION)
        return error


def name_taken_error(source: ViewName, target: ViewName, row: Row) -> ViewAlreadyExistsError | TableAlreadyExistsError:
    """Return the error for a rename of a table to a name that a row has."""
    kind, error = ("View", ViewAlreadyExistsError) if row.kind.is_view else ("Table", TableAlreadyExistsError)
    return error(str(target), f"Cannot rename {source} to {target}. {kind} already exists")


def _message(error: BaseException) -> str:
    return getattr(error, "message", None) or str(error) or type(error).__name__


def _translate(value: Any, module: Any, *, into: Any = None) -> Any:
    """Return a Thrift value in the classes of another stub module; fields that only one module has are omitted."""
    if isinstance(value, list):
        return [_translate(item, module) for item in value]
    if isinstance(value, dict):
        return {key: _translate(item, module) for key, item in value.items()}
    if not hasattr(value, "thrift_spec"):
        return value
    translated = getattr(module, type(value).__name__)() if into is None else into
    for field in translated.thrift_spec or ():
        if field is not None and hasattr(value, field[2]):
            setattr(translated, field[2], _translate(getattr(value, field[2]), module))
    return translated
