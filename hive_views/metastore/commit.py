"""The atomic swap of a view's pointer: the whole protocol, and create, rename and drop by the same rules.

Every change is sent with what it expects to find (compare-and-swap, HIVE-26882) and, by default, under the
metastore's lock: servers before HIVE-26882 ignore the expectation, and Iceberg's Java writers that lock send none.

What is not answered is not known. A request whose reply got lost is sent again, unchanged, until the server has
answered one: it names what it expects, so it cannot be applied twice. A new metadata file is deleted only after a
refusal, and never once a request went unanswered, because that request may still arrive (Iceberg #14096).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from hive_views.children import file_id
from hive_views.config import CatalogConfig
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    DamagedRowWarning,
    HiveViewsError,
    InvalidViewError,
    LockError,
    MetadataFileError,
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
    NoSuchNamespaceError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.metadata_files import MetadataFiles
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    Table,
)
from hive_views.metastore.client import MetastoreClient
from hive_views.metastore.flat_model import (
    METADATA_LOCATION,
    Row,
    RowKind,
    changed_row,
    check_columns,
    damages,
    may_be_damaged,
    new_row,
    read_row,
    renamed_row,
)
from hive_views.metastore.locks import HeldLock, locked
from hive_views.spec.files import new_location
from hive_views.spec.metadata import ViewMetadata

EXPECTED_KEY = "expected_parameter_key"
EXPECTED_VALUE = "expected_parameter_value"
"""Keys of the environment context that make an alter a compare-and-swap (HIVE-26882)."""

MODIFIED = "The table has been modified"
"""How the server's refusal of a compare-and-swap begins; the rest of its wording differs."""

_Answer = (
    AlreadyExistsException
    | InvalidObjectException
    | InvalidOperationException
    | MetaException
    | NoSuchObjectException
    | None
)
_ANSWERS = (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Store:
    """What a commit works on."""

    client: MetastoreClient
    """The metastore."""
    files: MetadataFiles
    """Where metadata files are."""
    config: CatalogConfig
    """The catalog's properties."""

    def row(self, name: ViewName) -> Row | None:
        """What stands under a name, whatever it is; None for nothing."""
        table = self.client.get_table(name.database, name.name)
        return None if table is None else read_row(table)


@dataclass(frozen=True)
class Loaded:
    """A view as it was at one moment: its row, and the content of the file that the row pointed to."""

    row: Row
    """The row."""
    metadata: ViewMetadata
    """The content of the file at `row.metadata_location`."""


@dataclass
class _Request:
    """One change on its way: whether a request for it went out without an answer."""

    unanswered: MetastoreError | None = field(default=None)


def commit(
    store: Store, name: ViewName, base: Loaded | None, metadata: ViewMetadata, *, registered: str | None = None
) -> Loaded:
    """Make `metadata` the current state of a view, if it still is in the state `base`.

    Args:
        store: Metastore, files and properties.
        name: The view.
        base: The state that the change was built from; None creates the view.
        metadata: The new state.
        registered: The file that holds `metadata` already; None writes a new one. Such a file is never deleted.

    Returns:
        The view as it now is.

    Raises:
        CommitFailedError: If somebody else changed the view meanwhile; nothing was changed by us.
        ViewAlreadyExistsError, TableAlreadyExistsError: If a new view's name is taken.
        NoSuchViewError: If the view is gone, or another kind of row stands there.
        NoSuchNamespaceError: If a new view's database does not exist.
        InvalidViewError: If the metastore cannot hold the view.
        MetadataWriteError: If the new file could not be written.
        LockError: If the lock could not be had, or was lost before anything was sent.
        MetastoreUnavailableError: If no metastore could be reached; nothing was sent.
        MetastoreRefusedError: If the server failed; the row is unchanged.
        CommitStateUnknownError: If the server never said whether it did it. The new file is kept.
    """
    if base is not None and metadata is base.metadata:
        # Nothing to write; but what the caller wants to see must still be what stands there.
        return Loaded(_check_unchanged(name, store.row(name), base), metadata)
    check_columns(name, metadata, store.config)
    location = registered
    if location is None:
        unique = file_id(metadata.current_version())
        location = new_location(metadata, base.row.metadata_location if base else None, unique)
        store.files.write(location, metadata)
    request = _Request()
    try:
        with _lock(store, name, request) as lock:
            current = store.row(name)
            if base is None:
                _check_free(name, current)
                table = new_row(name, metadata, location, store.config, now_s=int(time.time()))
                lock.ensure_active()
                _create(store, name, table, request)
            else:
                current = _check_unchanged(name, current, base)
                table = changed_row(current, base.metadata, metadata, location, store.config)
                lock.ensure_active()
                _swap(store, current, table, base.metadata, metadata, request)
            _check_alone(store, name, lock, location)
    except (CommitStateUnknownError, MetastoreRefusedError):
        raise
    except HiveViewsError:
        if registered is None and request.unanswered is None:
            store.files.delete(location)
        raise
    return Loaded(_stored(store, name, table), metadata)


def rename(store: Store, loaded: Loaded, target: ViewName) -> Loaded:
    """Give a view another name, in the same or another database. Its files and its history stay where they are.

    Args:
        store: Metastore, files and properties.
        loaded: The view as it was loaded.
        target: The new name.

    Returns:
        The view under its new name.

    Raises:
        CommitFailedError: If somebody else changed the view meanwhile.
        NoSuchViewError: If the view is gone.
        NoSuchNamespaceError: If the new database does not exist.
        ViewAlreadyExistsError, TableAlreadyExistsError: If the new name is taken.
        LockError, MetastoreUnavailableError, MetastoreRefusedError, CommitStateUnknownError: As in `commit`.
    """
    name = loaded.row.name
    request = _Request()
    with _lock(store, name, request) as lock:
        current = _check_unchanged(name, store.row(name), loaded)
        _check_free(target, store.row(target), message=f"Cannot rename {name} to {target}. {{}} already exists")
        table = renamed_row(current, target)
        lock.ensure_active()
        answer = _until_answered(store, name, None, request, lambda: _alter(store, name, current, table))
        if answer is not None:
            _explain_rename(store, name, target, loaded, answer, request)
        _check_alone(store, name, lock, None)
    return Loaded(read_row(table), loaded.metadata)


def drop(store: Store, name: ViewName, expected: str | None = None) -> Row:
    """Remove a view's row. Its files are left alone.

    Args:
        store: Metastore, files and properties.
        name: The view.
        expected: The metadata location that it must still have; None takes any.

    Returns:
        The row as it was.

    Raises:
        CommitFailedError: If the view is not at `expected`.
        NoSuchViewError: If there is no such view, or another kind of row stands there.
        LockError, MetastoreUnavailableError, MetastoreRefusedError, CommitStateUnknownError: As in `commit`.
    """
    request = _Request()
    with _lock(store, name, request, refusable=False) as lock:
        row = store.row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        row.require_iceberg_view()
        if expected is not None and row.metadata_location != expected:
            raise _conflict(name, expected, row.metadata_location)
        lock.ensure_active()
        answer = _until_answered(store, name, None, request, lambda: store.client.drop_table(name.database, name.name))
        if isinstance(answer, NoSuchObjectException):
            if request.unanswered is None:
                raise NoSuchViewError(str(name), "dropped meanwhile")
        elif answer is not None:
            there = _look(store, name, None, request)
            if there is not None and there.metadata_location == row.metadata_location:
                raise _failure("drop_table", name, None, answer, request)
    return row


# -- The steps --------------------------------------------------------------------------------------------------------


def _check_free(name: ViewName, current: Row | None, message: str = "{} already exists") -> None:
    if current is None:
        return
    if current.kind is RowKind.ICEBERG_VIEW:
        standard = "View already exists: {}"
        raise ViewAlreadyExistsError(str(name), standard if message.startswith("{}") else message.format("View"))
    if current.kind is RowKind.HIVE_VIEW:
        current.require_iceberg_view()
    standard = "Table with same name already exists: {}"
    raise TableAlreadyExistsError(str(name), standard if message.startswith("{}") else message.format("Table"))


def _check_unchanged(name: ViewName, current: Row | None, base: Loaded) -> Row:
    if current is None:
        raise NoSuchViewError(str(name), "dropped meanwhile")
    current.require_iceberg_view()
    if current.metadata_location != base.row.metadata_location:
        raise _conflict(name, base.row.metadata_location, current.metadata_location)
    if current.uuid != base.row.uuid:
        raise CommitFailedError(
            str(name), "another view stands there now (its uuid differs)", expected=base.row.uuid, found=current.uuid
        )
    return current


def _create(store: Store, name: ViewName, table: Table, request: _Request) -> None:
    location = table.parameters[METADATA_LOCATION]
    answer = _until_answered(store, name, location, request, lambda: store.client.create_table(table))
    if answer is None:
        return
    row = _look(store, name, location, request)
    if row is not None and row.uuid == table.parameters["uuid"] and row.metadata_location == location:
        return
    if isinstance(answer, AlreadyExistsException):
        _check_free(name, row)
        raise ViewAlreadyExistsError(str(name))
    _raise_missing_namespace(store, name)
    if isinstance(answer, InvalidObjectException):
        raise InvalidViewError(str(name), f"Invalid Hive object: {_message(answer)}")
    raise _failure("create_table", name, location, answer, request)


def _swap(
    store: Store, current: Row, table: Table, base: ViewMetadata, metadata: ViewMetadata, request: _Request
) -> None:
    name, location = current.name, table.parameters[METADATA_LOCATION]
    answer = _until_answered(store, name, location, request, lambda: _alter(store, name, current, table))
    if answer is None:
        return
    # The server's own retries may have applied the request before they refused it, so a refusal is looked into too
    # (Iceberg #17074).
    row = _look(store, name, location, request)
    if row is None:
        raise NoSuchViewError(str(name), "dropped meanwhile")
    ours = _holds(store, row, location, base, metadata, current)
    if ours:
        return
    if row.metadata_location != current.metadata_location:
        if ours is None and request.unanswered is not None:
            raise CommitStateUnknownError(
                str(name), location, f"{request.unanswered}; others have changed the view several times since"
            )
        raise _conflict(name, current.metadata_location, row.metadata_location)
    if isinstance(answer, (InvalidObjectException, InvalidOperationException)) and request.unanswered is None:
        raise InvalidViewError(str(name), f"Invalid Hive object: {_message(answer)}")
    raise _failure("alter_table", name, location, answer, request)


def _alter(store: Store, name: ViewName, current: Row, table: Table) -> None:
    store.client.alter_table(
        name.database,
        name.name,
        table,
        {
            EXPECTED_KEY: METADATA_LOCATION,
            EXPECTED_VALUE: current.metadata_location or "",
            "DO_NOT_UPDATE_STATS": "true",
        },
    )


def _explain_rename(
    store: Store, name: ViewName, target: ViewName, loaded: Loaded, answer: _Answer, request: _Request
) -> None:
    """Decide what a refused rename means; returns where it did take place."""
    there = _look(store, target, None, request)
    if there is not None and there.metadata_location == loaded.row.metadata_location:
        return
    here = _look(store, name, None, request)
    if here is None:
        raise NoSuchViewError(str(name), "dropped meanwhile")
    if here.metadata_location != loaded.row.metadata_location:
        raise _conflict(name, loaded.row.metadata_location, here.metadata_location)
    _check_free(target, there, message=f"Cannot rename {name} to {target}. {{}} already exists")
    _raise_missing_namespace(store, target)
    raise _failure("alter_table", name, None, answer, request)


def _until_answered(
    store: Store, name: ViewName, location: str | None, request: _Request, send: Callable[[], None]
) -> _Answer:
    """Send a request, and again while nobody answers: it names what it expects, so it is applied once at most.

    Returns:
        None if the server did it, else the exception that it declared.

    Raises:
        MetastoreUnavailableError: If it could not be sent at all.
        MetastoreRefusedError: If the server does not know the method, or broke down with an undeclared exception.
        CommitStateUnknownError: If it was sent and no answer came in time.
    """
    try:
        send()
    except _ANSWERS as answer:
        return answer
    except MetastoreConnectionLostError as error:
        request.unanswered = error
    else:
        return None
    try:
        for attempt in Retrying(
            retry=retry_if_exception_type((MetastoreConnectionLostError, MetastoreUnavailableError)),
            stop=stop_after_delay(store.config.settle_timeout_ms / 1000),
            wait=wait_random_exponential(multiplier=0.1, max=5),
        ):
            with attempt:
                try:
                    send()
                except _ANSWERS as answer:
                    return answer
                return None
    except RetryError:
        raise CommitStateUnknownError(str(name), location, str(request.unanswered)) from request.unanswered
    except MetastoreRefusedError as error:
        raise CommitStateUnknownError(str(name), location, str(error)) from error
    raise AssertionError("unreachable: a retry either returns or raises")


def _look(store: Store, name: ViewName, location: str | None, request: _Request) -> Row | None:
    """Read the row to find out what an answer means.

    Raises:
        CommitStateUnknownError: If it cannot be read.
    """
    try:
        return store.row(name)
    except MetastoreError as error:
        raise CommitStateUnknownError(str(name), location, str(request.unanswered or error)) from error


def _holds(
    store: Store, row: Row, location: str, base: ViewMetadata, metadata: ViewMetadata, before: Row
) -> bool | None:
    """Whether a row shows that our commit took place: its pointer is ours, or others built on ours.

    Returns:
        True or False where the row or its history proves it; None where several commits of others have covered it.
    """
    if location in (row.metadata_location, row.previous_metadata_location):
        return True
    if before.metadata_location in (row.metadata_location, row.previous_metadata_location):
        return False
    if row.kind is not RowKind.ICEBERG_VIEW or row.metadata_location is None:
        return False
    if metadata.version_log == base.version_log:
        return None
    try:
        history = store.files.read(row.metadata_location)
    except MetadataFileError:
        return None
    version = metadata.current_version()
    return (history.version(version.version_id) == version and metadata.version_log[-1] in history.version_log) or None


def _check_alone(store: Store, name: ViewName, lock: HeldLock | _NoLock, location: str | None) -> None:
    """After a success on a server that only the lock protects: the lock must have held all the time."""
    try:
        lock.ensure_active()
    except LockError as error:
        if not honors_expectations(store.client):
            raise CommitStateUnknownError(
                str(name),
                location,
                f"the lock was lost during the change, and this server cannot refuse others ({error})",
            ) from error


def _stored(store: Store, name: ViewName, table: Table) -> Row:
    """The row after a commit, read back where the metastore's database may have hurt it without an error."""
    if not may_be_damaged(table):
        return read_row(table)
    try:
        stored = store.client.get_table(name.database, name.name)
    except MetastoreError:
        return read_row(table)
    if stored is None or stored.parameters.get(METADATA_LOCATION) != table.parameters[METADATA_LOCATION]:
        return read_row(table)
    hurt = damages(table, stored)
    if hurt:
        warnings.warn(
            f"The metastore's database changed {', '.join(item.field for item in hurt)} of {name}: its tables cannot "
            "hold these characters or lengths (Hive's latin1 schema on MySQL and MariaDB). Hive and plain Spark read "
            "the damaged row; the metadata file is whole",
            DamagedRowWarning,
            stacklevel=4,
        )
    return read_row(stored)


# -- Locks, and what a server can do ----------------------------------------------------------------------------------


class _NoLock:
    """Stands where a lock would: compare-and-swap alone protects the commit."""

    def ensure_active(self) -> None:
        """There is nothing to lose."""


@contextmanager
def _lock(store: Store, name: ViewName, request: _Request, *, refusable: bool = True) -> Iterator[HeldLock | _NoLock]:
    """Hold the metastore's lock for the body, or none where the catalog's property says so.

    A lock is left to its time-out where a request went unanswered that the server would not refuse later: it keeps
    others away until that request can no longer arrive.
    """
    if not store.config.lock.enabled:
        if not honors_expectations(store.client):
            raise LockError(
                str(name),
                "this metastore ignores compare-and-swap (HIVE-26882 is in 2.3.10 and 4.x), so commits without "
                "its lock would lose updates. Set iceberg.engine.hive.lock-enabled=true",
            )
        yield _NoLock()
        return
    with locked(store.client, store.config.lock, name) as lock:
        try:
            yield lock
        except CommitStateUnknownError:
            if request.unanswered is not None and not (refusable and _surely_refuses(store)):
                lock.abandon()
            raise


def _surely_refuses(store: Store) -> bool:
    try:
        return honors_expectations(store.client)
    except MetastoreError:
        return False


def honors_expectations(client: MetastoreClient) -> bool:
    """Whether the server refuses an alter whose expectation does not hold (HIVE-26882).

    Told by its methods, because versions lie (facts: metastore.md): 4.x has alter_table_req, 2.3 has no catalogs; what
    has catalogs and no alter_table_req is a 3.x, which ignores expectations.

    Args:
        client: The metastore.

    Returns:
        True where compare-and-swap can be trusted.

    Raises:
        MetastoreUnavailableError: If no metastore can be reached.
    """
    return client.supports("alter_table_req") or not client.supports("get_catalogs")


# -- Words ------------------------------------------------------------------------------------------------------------


def _conflict(name: ViewName, expected: str | None, found: str | None) -> CommitFailedError:
    return CommitFailedError(
        str(name),
        f"it was changed by somebody else: its metadata location is {found}, not {expected}",
        expected=expected,
        found=found,
    )


def _failure(
    method: str, name: ViewName, location: str | None, answer: _Answer, request: _Request
) -> MetastoreRefusedError | CommitStateUnknownError:
    """The row is as it was. That is a failure if each request was answered; else one of them may still arrive."""
    if request.unanswered is not None:
        return CommitStateUnknownError(str(name), location, f"{request.unanswered}; then: {_message(answer)}")
    return MetastoreRefusedError(method, f"{name} was not changed: {_message(answer)}")


def _message(answer: _Answer) -> str:
    text = getattr(answer, "message", None)
    return str(text) if text else type(answer).__name__


def _raise_missing_namespace(store: Store, name: ViewName) -> None:
    try:
        store.client.get_database(name.database)
    except NoSuchNamespaceError:
        raise
    except MetastoreError:
        return
