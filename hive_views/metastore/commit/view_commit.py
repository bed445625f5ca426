"""The atomic swap of a view's pointer: the whole protocol, and create, rename and drop by the same rules.

Every change is sent with what it expects to find (compare-and-swap, HIVE-26882) and, by default, under the
metastore's lock: servers before HIVE-26882 ignore the expectation, and Iceberg's Java writers that lock send none.

How a request is sent until the server has answered one is in `change_request`; what a row proves about a change whose
answer is not to be trusted is in `evidence`. A new metadata file is deleted only after a refusal, and never once a
request went unanswered, because that request may still arrive (Iceberg #14096).
"""

from __future__ import annotations

import time
import warnings

from hive_views.errors import (
    CommitFailedError,
    DamagedRowWarning,
    InvalidViewError,
    MetadataFileError,
    MetastoreError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchViewError,
    TableAlreadyExistsError,
    UnrecordedTextError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    Table,
)
from hive_views.metastore.commit.protocol import ChangeRequest, Watch
from hive_views.metastore.commit.verification import took_place
from hive_views.metastore.drift import damages, long_values, may_be_damaged, unrecorded_text
from hive_views.metastore.partitions import refuse_other_keys
from hive_views.metastore.row_codec import (
    METADATA_LOCATION,
    UUID,
    Row,
    RowKind,
    changed_row,
    check_columns,
    new_row,
    read_row,
    renamed_row,
)
from hive_views.metastore.shared_files import Owner, twins
from hive_views.metastore.store import LoadedView, MetastoreStore, Rejection, rejection_message
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE
from hive_views.spec.file_codec import new_location
from hive_views.spec.lineage_codec import file_id
from hive_views.spec.metadata import ViewMetadata


def commit(
    store: MetastoreStore,
    name: ViewName,
    base: LoadedView | None,
    metadata: ViewMetadata,
    *,
    registered: str | None = None,
    discard_text: bool = False,
    watch: Watch | None = None,
) -> LoadedView:
    """Make `metadata` the current state of a view, if it still is in the state `base`."""
    if base is not None and metadata is base.metadata:
        # Nothing to write; but what the caller wants to see must still be what stands there.
        return LoadedView(_check_unchanged(name, store.get_row(name), base), metadata)
    check_columns(name, metadata, store.config)
    location = registered
    if location is None:
        unique = file_id(metadata.current_version())
        location = new_location(metadata, base.row.metadata_location if base else None, unique)
        store.files.write(location, metadata)
    request = ChangeRequest(store.client, store.config, name, location)
    try:
        with request.locked(watch):
            current = store.get_row(name)
            if base is None:
                _check_free(name, current)
                table = new_row(name, metadata, location, store.config, now_s=int(time.time()))
                request.ensure_locked()
                _create(store, name, table, request, only_ours=registered is None)
            else:
                current = _check_unchanged(name, current, base)
                text = unrecorded_text(current, base.metadata, metadata)
                if text is not None and not discard_text:
                    raise UnrecordedTextError(str(name), text)
                table = changed_row(current, base.metadata, metadata, location, store.config)
                refuse_other_keys(store.client, current, table)
                request.ensure_locked()
                _swap(store, LoadedView(current, base.metadata), table, metadata, request)
            request.check_alone()
    except BaseException as error:
        if registered is None and request.left_nothing(error):
            store.files.delete(location)
        raise
    return LoadedView(_stored(store, name, table), metadata)


def rename(store: MetastoreStore, loaded: LoadedView, target: ViewName, *, watch: Watch | None = None) -> LoadedView:
    """Give a view another name, in the same or another database. Its files and its history stay where they are."""
    name = loaded.row.name
    request = ChangeRequest(store.client, store.config, name)
    with request.locked(watch, target):
        current = _check_unchanged(name, store.get_row(name), loaded)
        _check_free(target, store.get_row(target), message=f"Cannot rename {name} to {target}. {{}} already exists")
        table = renamed_row(current, target)
        request.ensure_locked()
        refusal = request.send(lambda: _alter(store, current, table))
        if refusal is not None:
            _explain_rename(store, current, target, refusal, request)
        request.check_alone()
    return LoadedView(read_row(table), loaded.metadata)


def drop(store: MetastoreStore, name: ViewName, expected: str | None = None) -> Row:
    """Remove a view's row. Its files are left alone."""
    request = ChangeRequest(store.client, store.config, name, refusable=False)
    with request.locked():
        row = store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if row.kind is not RowKind.ICEBERG_VIEW:
            row.require_iceberg_view()
        if expected is not None and row.metadata_location != expected:
            raise _conflict(name, expected, row.metadata_location)
        request.ensure_locked()
        _drop(store, row, request)
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


def _check_unchanged(name: ViewName, current: Row | None, base: LoadedView) -> Row:
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


def _create(store: MetastoreStore, name: ViewName, table: Table, request: ChangeRequest, *, only_ours: bool) -> None:
    """Add the row; `only_ours` says that nobody else could create a view of this uuid."""
    refusal = request.send(lambda: store.client.create_table(table))
    if refusal is None:
        return
    row = request.find_out(lambda: store.get_row(name))
    if row is not None and row.uuid == table.parameters[UUID]:
        ours = only_ours or _names(row, table)
        # A server that tried again by itself finds its own first try in the way.
        if ours and (only_ours or request.doubtful or request.protected):
            request.found_done()
            return
        if not ours and request.doubtful:
            raise request.unknown(
                f"{request.unanswered or rejection_message(refusal)}; it is at {row.metadata_location} now"
            )
    if isinstance(refusal, AlreadyExistsException):
        _refuse_moved(store, table, refusal, request)
        _check_free(name, row)
        raise ViewAlreadyExistsError(str(name))
    _raise_missing_namespace(store, name)
    if isinstance(refusal, InvalidObjectException):
        raise InvalidViewError(str(name), f"Invalid Hive object: {rejection_message(refusal)}")
    raise request.failure("create_table", refusal, long_values(table))


def _swap(
    store: MetastoreStore, current: LoadedView, table: Table, metadata: ViewMetadata, request: ChangeRequest
) -> None:
    before, name = current.row, current.row.name
    refusal = request.send(lambda: _alter(store, before, table))
    if refusal is None:
        return
    # The server's own retries may have applied the request before they refused it, so a refusal is looked into too
    # (Iceberg #17074).
    row = request.find_out(lambda: store.get_row(name))
    location = table.parameters[METADATA_LOCATION]
    done = None if row is None else took_place(store.files, before, current.metadata, location, metadata, row)
    if done:
        request.found_done()
        return
    if row is not None and row.metadata_location == before.metadata_location:
        if isinstance(refusal, (InvalidObjectException, InvalidOperationException)) and not request.doubtful:
            raise InvalidViewError(str(name), f"Invalid Hive object: {rejection_message(refusal)}")
        raise request.failure("alter_table", refusal, long_values(table))
    if done is None and request.doubtful:
        since = "it is gone now" if row is None else "others have changed the view several times since"
        raise request.unknown(f"{request.unanswered or rejection_message(refusal)}; {since}")
    if row is None or not row.is_same_view(before):
        _refuse_moved(store, table, refusal, request)
    if row is None:
        raise NoSuchViewError(str(name), "dropped meanwhile")
    raise _conflict(name, before.metadata_location, row.metadata_location)


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
        tried=not store.config.lock.enabled,
    )


def _explain_rename(
    store: MetastoreStore, current: Row, target: ViewName, refusal: Rejection, request: ChangeRequest
) -> None:
    """Decide what a refused rename means; returns where it did take place."""
    name = current.name
    there, here = request.find_out(lambda: store.get_row(target)), request.find_out(lambda: store.get_row(name))
    if there is not None and there.is_same_view(current) and not (here is not None and here.is_same_view(current)):
        request.found_done()
        return
    if here is None or not here.is_same_view(current):
        if request.doubtful:
            raise request.unknown(f"{request.unanswered or rejection_message(refusal)}; it is under neither name now")
        raise NoSuchViewError(str(name), "dropped meanwhile")
    if here.metadata_location != current.metadata_location:
        raise _conflict(name, current.metadata_location, here.metadata_location)
    _check_free(target, there, message=f"Cannot rename {name} to {target}. {{}} already exists")
    _raise_missing_namespace(store, target)
    raise request.failure("alter_table", refusal)


def _drop(store: MetastoreStore, row: Row, request: ChangeRequest) -> None:
    """Remove a row. The request cannot say which view it means, so it is only repeated while that one is there."""
    name = row.name

    def is_there() -> bool:
        found = store.get_row(name)
        return found is not None and found.is_same_view(row)

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
    # What is not there may have been renamed: then no request of ours has dropped it, and its files are in use.
    found = request.find_out(lambda: _elsewhere(store, row))
    if found is None or found:
        since = "whether it was renamed nobody can tell" if not found else f"{found[0].name} has its UUID or its files"
        raise request.unknown(f"{request.unanswered or rejection_message(refusal)}; {since} now")
    request.found_done()


def _refuse_moved(store: MetastoreStore, table: Table, refusal: Rejection, request: ChangeRequest) -> None:
    """Make sure that nothing names the file of a change that was refused, when its view is not under the name.

    The server may have made the change before it refused its own second try, and others have renamed the view since.
    """
    found = request.find_out(lambda: _elsewhere(store, read_row(table)))
    if found is None:
        request.keep_file()
    for row in found or ():
        if _names(row, table):
            raise request.unknown(f"{rejection_message(refusal)}; {row.name} has its metadata file now")


def _names(row: Row, table: Table) -> bool:
    """Whether a row names the file that another was to name, now or before its last change."""
    return table.parameters[METADATA_LOCATION] in (row.metadata_location, row.previous_metadata_location)


def _elsewhere(store: MetastoreStore, row: Row) -> list[Row] | None:
    """Rows that may be a view which is not found under its own name; None where the server does not say."""
    known = tuple(filter(None, (row.metadata_location, row.previous_metadata_location)))
    try:
        found = twins(store, Owner(row.uuid or store.files.read(known[0]).view_uuid, known, row.name))
    except (MetaException, MetadataFileError, MetastoreRefusedError):
        return None
    return [twin.row for twin in found]


def _stored(store: MetastoreStore, name: ViewName, table: Table) -> Row:
    """The row after a commit, read back where the metastore's database may have hurt it without an error."""
    if not may_be_damaged(table):
        return read_row(table)
    try:
        row = store.get_row(name)
    except MetastoreError:
        return read_row(table)
    if row is None or row.metadata_location != table.parameters[METADATA_LOCATION]:
        return read_row(table)
    hurt = damages(table, row.table)
    if hurt:
        warnings.warn(
            f"The metastore's database changed {', '.join(item.field for item in hurt)} of {name}: its tables cannot "
            "hold these characters or lengths (Hive's latin1 schema on MySQL and MariaDB). Hive and plain Spark read "
            "the damaged row; the metadata file is whole",
            DamagedRowWarning,
            stacklevel=4,
        )
    return row


# -- Words ------------------------------------------------------------------------------------------------------------


def _conflict(name: ViewName, expected: str | None, found: str | None) -> CommitFailedError:
    return CommitFailedError(
        str(name),
        f"it was changed by somebody else: its metadata location is {found}, not {expected}",
        expected=expected,
        found=found,
    )


def _raise_missing_namespace(store: MetastoreStore, name: ViewName) -> None:
    try:
        store.client.get_database(name.database)
    except NoSuchNamespaceError:
        raise
    except (MetastoreError, MetaException):
        return  # the refusal itself will do
