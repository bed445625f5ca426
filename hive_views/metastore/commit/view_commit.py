"""Commits of Iceberg views: create, replace, rename and drop, with the same protocol.

Every change contains the expected metadata location (compare-and-swap, HIVE-26882) and, by default, is sent under the
metastore's lock: servers before HIVE-26882 ignore the expected value, and Iceberg's Java writers with locks send none.

`protocol` sends a request until the server answers it; `verification` determines from the row whether a change was
applied when the answer cannot be trusted. A new metadata file is deleted only after a rejection that proves that
nothing was changed (`rejections`), and never once a request went without a reply, because that request may still arrive
(Iceberg #14096).
"""

from __future__ import annotations

import json
import logging
import time
import uuid
import warnings
from collections.abc import Callable

from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    DamagedRowWarning,
    HiveViewsError,
    InvalidViewError,
    MetadataFileError,
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchViewError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    UnrecordedTextError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    NoSuchObjectException,
    Table,
)
from hive_views.metastore.commit.protocol import ChangeRequest, CommitPrecondition
from hive_views.metastore.commit.verification import is_commit_applied
from hive_views.metastore.commit.view_properties import check_location
from hive_views.metastore.denials import is_denial
from hive_views.metastore.drift import find_damage, find_unrecorded_text, long_values, may_be_damaged
from hive_views.metastore.invalid_requests import invalid_change, invalid_create
from hive_views.metastore.partitions import check_partition_keys_unchanged
from hive_views.metastore.rows.codec import changed_row, new_row, renamed_row
from hive_views.metastore.rows.row import METADATA_LOCATION, UUID, Row, RowKind, read_row
from hive_views.metastore.rows.serialization import row_as_json
from hive_views.metastore.rows.types import check_columns
from hive_views.metastore.store import LoadedView, MetastoreStore, Rejection, rejection_message
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE
from hive_views.spec.file_codec import metadata_directory, new_location
from hive_views.spec.lineage_codec import file_id
from hive_views.spec.metadata import ViewMetadata

logger = logging.getLogger(__name__)

_MAX_NAME_PART = 90
"""The number of characters of its name that a view keeps when it is renamed for a drop; names have at most 128."""


def commit(
    store: MetastoreStore,
    name: ViewName,
    base: LoadedView | None,
    metadata: ViewMetadata,
    *,
    registered_location: str | None = None,
    discard_text: bool = False,
    precondition: CommitPrecondition | None = None,
) -> LoadedView:
    """Make `metadata` the current state of a view that is still in the state `base`, or create the view.

    Args:
        store: The metastore, its files and configuration.
        name: The view.
        base: The state from which `metadata` was derived; None creates the view.
        metadata: The new state. If it is the object `base.metadata` itself, nothing is committed.
        registered_location: An existing metadata file that holds `metadata`; it is neither written nor deleted.
        discard_text: Whether to overwrite a view text in the row that no metadata file holds.
        precondition: A condition on other views, checked under their shared locks.

    Raises:
        CommitFailedError: If the view has changed since `base`.
        CommitStateUnknownError: If the outcome could not be determined.
        InvalidPropertyError: If the directory for metadata files is not absolute.
        LockError: If the lock could not be acquired or was lost.
        UnrecordedTextError: If the row has a text that no metadata file holds.
    """
    if base is not None and metadata is base.metadata:
        return LoadedView(_check_unchanged(name, store.get_row(name), base), metadata)
    check_columns(name, metadata, store.config)
    location = registered_location
    if location is None:
        # Another program may have set a relative location, which each process would resolve differently.
        check_location(metadata_directory(metadata))
        base_location = base.row.metadata_location if base else None
        location = new_location(metadata, base_location, file_id(metadata.current_version()))
        store.files.write(location, metadata)
    request = ChangeRequest(store.client, store.config, name, location)
    try:
        with request.locked(precondition):
            current = store.get_row(name)
            if base is None:
                _check_name_free(name, current)
                owner = store.client.authenticated_user()
                table = new_row(name, metadata, location, store.config, owner=owner, now_s=int(time.time()))
                request.ensure_locked()
                _send_create(store, name, table, request, is_new_uuid=registered_location is None)
            else:
                current = _check_unchanged(name, current, base)
                text = find_unrecorded_text(current, base.metadata, metadata)
                if text is not None and not discard_text:
                    raise UnrecordedTextError(str(name), text)
                table = changed_row(current, base.metadata, metadata, location, store.config)
                check_partition_keys_unchanged(store.client, current, table)
                request.ensure_locked()
                _send_swap(store, LoadedView(current, base.metadata), table, metadata, request)
            request.verify_lock_held()
    except BaseException as error:
        is_final = request.may_delete_file(error)
        if isinstance(error, HiveViewsError):
            error.may_take_effect = not is_final
        if registered_location is None and is_final:
            store.files.delete(location)
        raise
    return LoadedView(_read_committed_row(store, name, table), metadata)


def rename(
    store: MetastoreStore, loaded: LoadedView, target: ViewName, *, precondition: CommitPrecondition | None = None
) -> LoadedView:
    """Rename a view, possibly to another database. Its files are not moved, and its history is unchanged."""
    name = loaded.row.name
    request = ChangeRequest(store.client, store.config, name)
    with request.locked(precondition, target):
        current = _check_unchanged(name, store.get_row(name), loaded)
        _check_name_free(target, store.get_row(target), renamed_from=name)
        row = _send_rename(store, current, target, request)
    return LoadedView(row, loaded.metadata)


def drop(
    store: MetastoreStore,
    name: ViewName,
    expected_location: str | None = None,
    *,
    check: Callable[[], None] = lambda: None,
) -> Row:
    """Drop a view's row and return it, but keep its files. `check` is called under the lock and may reject the drop.

    A drop request contains no expected state. Without the lock another client may commit between the read and the drop,
    so the view is first renamed, with a compare-and-swap, to a name that no other client knows.
    """
    request = ChangeRequest(store.client, store.config, name, is_conditional=False)
    with request.locked():
        row = store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if row.kind is not RowKind.ICEBERG_VIEW:
            row.require_iceberg_view()
        if expected_location is not None and row.metadata_location != expected_location:
            raise _conflict(name, expected_location, row.metadata_location)
        check()
        _log_unrecorded_row(store, row)
        if store.config.lock.enabled:
            _send_view_drop(store, row, request)
        else:
            _drop_renamed(store, row)
    return row


def _log_unrecorded_row(store: MetastoreStore, row: Row) -> None:
    """Log a row before it is dropped if no readable file holds its text, e.g. because another program changed it."""
    try:
        is_recorded = find_unrecorded_text(row, store.files.read(row.metadata_location or "")) is None
    except HiveViewsError:
        is_recorded = False
    if not is_recorded:
        document = json.dumps(row_as_json(row))
        logger.warning("Dropping the view %s, whose text is in no readable metadata file: %s", row.name, document)


def _send_view_drop(store: MetastoreStore, row: Row, request: ChangeRequest) -> None:
    request.ensure_locked()
    send_drop(
        store,
        row,
        request,
        is_same=lambda current: current.is_same_view(row),
        find_moved=lambda: _describe_moved(store, row),
    )


def _drop_renamed(store: MetastoreStore, row: Row) -> None:
    """Rename a view if it is unchanged since it was read, and drop it under its new name."""
    hidden = ViewName(row.name.database, f"{row.name.name[:_MAX_NAME_PART]}__dropped_{uuid.uuid4().hex[:12]}")
    try:
        _rename_and_drop(store, row, hidden)
    except HiveViewsError:
        raise
    except BaseException:
        logger.warning("The drop of %s was interrupted; look for the view under the name %s, too", row.name, hidden)
        raise


def _rename_and_drop(store: MetastoreStore, row: Row, hidden: ViewName) -> None:
    name = row.name
    try:
        renamed = _send_rename(store, row, hidden, ChangeRequest(store.client, store.config, name))
    except CommitStateUnknownError as error:
        remark = f"{error.reason}. A drop without locks first renames the view: look for {hidden}, too"
        raise CommitStateUnknownError(str(name), None, remark) from error
    except PermissionDeniedError as error:
        raise PermissionDeniedError(error.method, str(name), "drop", error.reason, user=error.user) from error
    try:
        _send_view_drop(store, renamed, ChangeRequest(store.client, store.config, hidden, is_conditional=False))
    except HiveViewsError as error:
        if error.may_take_effect or not _is_renamed_back(store, renamed, name):
            error.add_completed_steps(f"{name} was renamed to {hidden}; drop that view, or rename it back")
        elif isinstance(error, PermissionDeniedError):
            raise PermissionDeniedError(error.method, str(name), "drop", error.reason, user=error.user) from error
        raise


def _is_renamed_back(store: MetastoreStore, renamed: Row, name: ViewName) -> bool:
    try:
        _send_rename(store, renamed, name, ChangeRequest(store.client, store.config, renamed.name))
    except HiveViewsError as error:
        logger.warning("%s could not be renamed back to %s: %s", renamed.name, name, error)
        return False
    return True


def _send_rename(store: MetastoreStore, current: Row, target: ViewName, request: ChangeRequest) -> Row:
    table = renamed_row(current, target)
    request.ensure_locked()
    rejection = request.send(
        lambda: _alter(store, current, table), invalid=invalid_change(store.client, current.name, table)
    )
    if rejection is not None:
        _resolve_rename(store, current, target, rejection, request)
    request.verify_lock_held()
    return read_row(table)


# -- Before the request -----------------------------------------------------------------------------------------------


def _check_name_free(name: ViewName, current: Row | None, renamed_from: ViewName | None = None) -> None:
    if current is None:
        return
    is_view = current.kind is RowKind.ICEBERG_VIEW
    if current.kind is RowKind.HIVE_VIEW:
        current.require_iceberg_view()
    if renamed_from is None:
        message = "View already exists: {}" if is_view else "Table with same name already exists: {}"
    else:
        message = f"Cannot rename {renamed_from} to {name}. {'View' if is_view else 'Table'} already exists"
    error = ViewAlreadyExistsError if is_view else TableAlreadyExistsError
    raise error(str(name), message)


def _check_unchanged(name: ViewName, current: Row | None, base: LoadedView) -> Row:
    if current is None:
        raise NoSuchViewError(str(name), "it was dropped or renamed concurrently")
    current.require_iceberg_view()
    if current.metadata_location != base.row.metadata_location:
        raise _conflict(name, base.row.metadata_location, current.metadata_location)
    if current.uuid != base.row.uuid:
        raise CommitFailedError(
            str(name),
            "another view has this name now (its uuid differs)",
            expected=base.row.uuid,
            found=current.uuid,
        )
    return current


# -- The request, and the meaning of its rejection --------------------------------------------------------------------


def _send_create(
    store: MetastoreStore, name: ViewName, table: Table, request: ChangeRequest, *, is_new_uuid: bool
) -> None:
    """Add the row. `is_new_uuid` states that no other client can create a view with this UUID.

    A create contains no expectation: sent again after the first row was renamed, it adds a second row with the same
    UUID. The lock keeps other clients with locks from renaming or dropping the row, so only with the lock it is sent
    again, if nothing shows that a client without locks has done so.
    """

    def create_again() -> None:
        rows = _find_renamed(store, read_row(table))
        if rows is None or any(_is_created(row, table, is_new_uuid) for row in rows):
            raise AlreadyExistsException("the row has another name now, or this could not be determined")
        store.files.read(table.parameters[METADATA_LOCATION])  # the row may have been dropped and its file deleted
        request.ensure_locked()
        store.client.create_table(table)

    rejection: Rejection | None = None
    try:
        rejection = request.send(
            lambda: store.client.create_table(table),
            create_again,
            may_repeat=request.has_lock,
            invalid=invalid_create(store.client, table),
        )
        if rejection is None:
            return
    except MetadataFileError as error:
        raise request.outcome_unknown(f"{request.cause(None)}; then: {error}") from error
    except MetastoreConnectionLostError:
        pass  # the row determines the outcome
    row = request.read_back(lambda: store.get_row(name))
    if row is not None and row.uuid == table.parameters[UUID]:
        is_ours = _is_created(row, table, is_new_uuid)
        # A server that retries internally is blocked by the row of its own first attempt.
        if is_ours and (is_new_uuid or request.may_be_applied or request.has_lock):
            request.mark_applied()
            return
        if is_ours or request.may_be_applied:
            # The row may come from the server's first attempt, or from another client that registered the same file.
            raise request.outcome_unknown(
                f"{request.cause(rejection)}; the view's metadata location is {row.metadata_location} now"
            )
    if request.lost_reply is not None or isinstance(rejection, AlreadyExistsException):
        _check_not_renamed(store, table, request, rejection, is_new_uuid=is_new_uuid)
    if request.lost_reply is not None:
        state = "no row has the name" if row is None else "another view or table has the name now"
        raise request.outcome_unknown(f"{request.lost_reply}; {state}, but the request may still arrive")
    if isinstance(rejection, AlreadyExistsException):
        _check_name_free(name, row)
        raise ViewAlreadyExistsError(str(name))
    assert rejection is not None
    _raise_missing_namespace(store, name)
    if isinstance(rejection, InvalidObjectException) and not request.may_be_applied:
        raise InvalidViewError(str(name), f"Invalid Hive object: {rejection_message(rejection)}")
    raise request.rejection_error("create_table", rejection, long_values(table))


def _send_swap(
    store: MetastoreStore, base: LoadedView, table: Table, metadata: ViewMetadata, request: ChangeRequest
) -> None:
    """Swap the metadata location in the row."""
    name = base.row.name
    rejection = request.send(lambda: _alter(store, base.row, table), invalid=invalid_change(store.client, name, table))
    if rejection is None:
        return
    # The server may have applied the request in its first attempt and rejected its own retry (Iceberg #17074).
    row = request.read_back(lambda: store.get_row(name))
    new = LoadedView(read_row(table), metadata)
    is_applied = None if row is None else is_commit_applied(store.files, base, new, row)
    if is_applied:
        request.mark_applied()
        return
    if row is not None and row.metadata_location == base.row.metadata_location:
        is_invalid = isinstance(rejection, (InvalidObjectException, InvalidOperationException))
        if is_invalid and not is_denial(rejection) and not request.may_be_applied:
            raise InvalidViewError(str(name), f"Invalid Hive object: {rejection_message(rejection)}")
        raise request.rejection_error("alter_table", rejection, long_values(table))
    if is_applied is None and request.may_be_applied:
        state = "it is gone now" if row is None else "the view was changed several times since"
        raise request.outcome_unknown(f"{request.cause(rejection)}; {state}")
    if row is None or not row.is_same_view(base.row):
        _check_not_renamed(store, table, request, rejection)
    if row is None:
        raise NoSuchViewError(str(name), "it was dropped or renamed concurrently")
    raise _conflict(name, base.row.metadata_location, row.metadata_location)


def _alter(store: MetastoreStore, current: Row, table: Table) -> None:
    store.client.alter_table(
        current.name.database,
        current.name.name,
        table,
        {
            EXPECTED_PARAMETER_KEY: METADATA_LOCATION,
            EXPECTED_PARAMETER_VALUE: current.metadata_location or "",
            "DO_NOT_UPDATE_STATS": "true",
        },
        only_verified_cas=not store.config.lock.enabled,
    )


def _resolve_rename(
    store: MetastoreStore, current: Row, target: ViewName, rejection: Rejection, request: ChangeRequest
) -> None:
    """Return if a rejected rename was applied after all; otherwise raise the error that describes the outcome."""
    name = current.name
    target_row = request.read_back(lambda: store.get_row(target))
    source_row = request.read_back(lambda: store.get_row(name))
    is_at_source = source_row is not None and source_row.is_same_view(current)
    if target_row is not None and target_row.is_same_view(current) and not is_at_source:
        request.mark_applied()
        return
    if source_row is None or not is_at_source:
        if request.may_be_applied:
            raise request.outcome_unknown(f"{request.cause(rejection)}; neither name has the view now")
        raise NoSuchViewError(str(name), "it was dropped or renamed concurrently")
    if source_row.metadata_location != current.metadata_location:
        raise _conflict(name, current.metadata_location, source_row.metadata_location)
    _check_name_free(target, target_row, renamed_from=name)
    _raise_missing_namespace(store, target)
    raise request.rejection_error("alter_table", rejection, operation="rename")


def send_drop(
    store: MetastoreStore,
    row: Row,
    request: ChangeRequest,
    *,
    is_same: Callable[[Row], bool],
    find_moved: Callable[[], str | None],
) -> None:
    """Drop a row. The request contains only a name, so it is repeated only while the row of that name is the same view.

    `is_same` returns whether a row is the view to drop; `find_moved` describes the row that it may have under another
    name.
    """
    name = row.name

    def is_there() -> bool:
        current = store.get_row(name)
        return current is not None and is_same(current)

    def drop() -> None:
        store.client.drop_table(name.database, name.name)

    def drop_again() -> None:
        if not is_there():
            raise NoSuchObjectException(f"{name} is gone")
        drop()

    rejection = request.send(drop, drop_again, invalid=invalid_change(store.client, name, row.table))
    if rejection is None:
        return
    if isinstance(rejection, NoSuchObjectException) and not request.may_be_applied:
        raise NoSuchViewError(str(name), "it was dropped or renamed concurrently")
    if request.read_back(is_there):
        raise request.rejection_error("drop_table", rejection)
    if (is_denial(rejection) or request.is_refused_by_check) and not request.may_be_applied:
        # Another client dropped or renamed it, or a listener of the server refused what the server had carried out.
        raise request.outcome_unknown(f"{request.cause(rejection)}; the view is gone now")
    if request.lost_reply is not None and not request.read_back(request.is_read_current):
        raise request.outcome_unknown(f"{request.lost_reply}; the metastore that answers now may lag behind")
    # The view may have been renamed: then none of the requests dropped it, and its files are in use.
    moved = request.read_back(find_moved)
    if moved is not None:
        raise request.outcome_unknown(f"{request.cause(rejection)}; {moved}")
    request.mark_applied()


def _check_not_renamed(
    store: MetastoreStore,
    table: Table,
    request: ChangeRequest,
    rejection: Rejection | None,
    *,
    is_new_uuid: bool = False,
) -> None:
    """After a rejection or a lost reply, check that no row under another name shows that the change was applied.

    The server may have applied the change before it rejected its own retry, and others may have renamed the view since.
    """
    rows = request.read_back(lambda: _find_renamed(store, read_row(table)))
    if rows is None:
        request.keep_file()
    for row in rows or ():
        if _is_created(row, table, is_new_uuid):
            identity = "metadata file" if _references_file(row, table) else "UUID"
            raise request.outcome_unknown(f"{request.cause(rejection)}; {row.name} has its {identity} now")


def _is_created(row: Row, table: Table, is_new_uuid: bool) -> bool:
    """Return whether a row comes from a request: it has its metadata file, or a UUID that no other request has."""
    return _references_file(row, table) or (is_new_uuid and row.uuid == table.parameters[UUID])


def _references_file(row: Row, table: Table) -> bool:
    """Return whether a row has the metadata file of a request, as its current or its previous one."""
    return table.parameters[METADATA_LOCATION] in (row.metadata_location, row.previous_metadata_location)


def _describe_moved(store: MetastoreStore, row: Row) -> str | None:
    rows = _find_renamed(store, row)
    if rows is None:
        return "could not determine whether it was renamed"
    return f"{rows[0].name} has its UUID or its files now" if rows else None


def _find_renamed(store: MetastoreStore, row: Row) -> list[Row] | None:
    """Return rows under other names that may be the view of a row; None if the server cannot search for them."""
    from hive_views.metastore.shared_files import FileOwner, find_rows_sharing_files

    locations = tuple(filter(None, (row.metadata_location, row.previous_metadata_location)))
    try:
        owner = FileOwner(row.uuid or store.files.read(locations[0]).view_uuid, locations, row.name)
        return [sharing.row for sharing in find_rows_sharing_files(store, owner)]
    except (MetadataFileError, MetastoreRefusedError):
        return None


# -- After the request ------------------------------------------------------------------------------------------------


def _read_committed_row(store: MetastoreStore, name: ViewName, table: Table) -> Row:
    """Return the row after a commit; read it again if the metastore's database may have damaged it without an error."""
    if not may_be_damaged(table):
        return read_row(table)
    try:
        row = store.get_row(name)
    except MetastoreError:
        return read_row(table)
    if row is None or row.metadata_location != table.parameters[METADATA_LOCATION]:
        return read_row(table)
    damage = find_damage(table, row.table)
    if damage:
        warnings.warn(
            f"The metastore's database changed {', '.join(item.field for item in damage)} of {name}: its tables cannot "
            "hold these characters or lengths (Hive's latin1 schema on MySQL and MariaDB). Hive and plain Spark read "
            "the damaged row; the metadata file is complete",
            DamagedRowWarning,
            stacklevel=4,
        )
    return row


def _conflict(name: ViewName, expected: str | None, found: str | None) -> CommitFailedError:
    return CommitFailedError(
        str(name),
        f"it was changed concurrently: its metadata location is {found}, not {expected}. Load it again and "
        "repeat the change",
        expected=expected,
        found=found,
    )


def _raise_missing_namespace(store: MetastoreStore, name: ViewName) -> None:
    try:
        store.client.get_database(name.database)
    except NoSuchNamespaceError:
        raise
    except MetastoreError:
        return  # the caller raises the rejection itself
