"""Rows of views that others wrote: as bytes, as a fingerprint, and swapped for an Iceberg view's row and back.

A row without a `metadata_location` has no pointer that a compare-and-swap could expect. Three things stand in for it:
the metastore's lock; the whole row, compared under the lock with the row that the change was built from; and the time
of the row's last change (`transient_lastDdlTime`), which Hive and Spark set at every ALTER and which a server with
HIVE-26882 compares. That time counts in seconds, so a row that was changed in this very second is let grow older first.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TTransport import TMemoryBuffer

from hive_views.errors import CommitFailedError, MetastoreError, MetastoreRefusedError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    FieldSchema,
    MetaException,
    NoSuchObjectException,
    Table,
    UnknownDBException,
)
from hive_views.metastore.commit.protocol import ChangeRequest
from hive_views.metastore.drift import Difference, damages, long_values, may_be_damaged
from hive_views.metastore.identities import HIVE_UUID
from hive_views.metastore.row_codec import (
    CURRENT_SCHEMA,
    METADATA_LOCATION,
    PREVIOUS_METADATA_LOCATION,
    TABLE_TYPE,
    UUID,
    Row,
    RowKind,
    changed_row,
    read_row,
)
from hive_views.metastore.store import MetastoreStore, Rejection, rejection_message
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE
from hive_views.spec.metadata import ViewMetadata

CHANGE_TIME = "transient_lastDdlTime"
"""Row parameter: when the row was last changed, in seconds from the epoch. The server writes it where it is missing."""

MATERIALIZED_VIEW = "MATERIALIZED_VIEW"
"""Hive's tableType of its own materialized views."""

_PASSING = frozenset({CHANGE_TIME, HIVE_UUID})
_YOUNG_SECONDS = 1.5
_INPUT_FORMAT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"


def encode(row: Row) -> bytes:
    """A row as Thrift's binary protocol writes it, with all that the server gave, its maps sorted. See `decode`."""
    return _bytes(row.table)


def decode(data: bytes) -> Row:
    """Read what `encode` wrote."""
    table = Table()
    try:
        table.read(TBinaryProtocol(TMemoryBuffer(data)))
    except (TException, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"not a row: {error}") from error
    if not table.dbName or not table.tableName:
        raise ValueError("not a row: it has no name")
    return read_row(table)


def readable(row: Row) -> dict[str, Any]:
    """A row as a JSON object for people: field names and values, without those that are not set."""
    found = _plain(row.table)
    assert isinstance(found, dict)
    return found


def fingerprint(row: Row) -> str:
    """What tells whether a row was changed: a digest of all its fields, the order of its parameters apart.

    The time of the last change and the mark that lineage gives to Hive's own tables do not count.
    """
    plain = readable(row)
    plain["parameters"] = {key: value for key, value in plain.get("parameters", {}).items() if key not in _PASSING}
    plain.pop("privileges", None)
    # Not of this row: the server puts the rows of its source tables there, as they are when it is asked.
    plain.get("creationMetadata", {}).pop("sourceTables", None)
    data = json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(data).hexdigest()


def view_names(store: MetastoreStore, database: str, table_type: str) -> list[ViewName]:
    """The views of one tableType in a database, sorted."""
    store.client.get_database(database)
    try:
        names = store.client.get_table_names_by_type(database, table_type)
    except (MetaException, UnknownDBException) as error:
        raise MetastoreRefusedError("get_tables_by_type", f"{database}: {error.message}") from error
    return sorted(ViewName(database, name) for name in names)


def with_columns(row: Row, columns: tuple[tuple[str, str, str | None], ...]) -> Row:
    """A row with other columns, for those who resolve names against it; `row` is not touched."""
    table = copy.copy(row.table)
    table.sd = copy.copy(table.sd)
    table.sd.cols = [FieldSchema(name=name, type=kind, comment=comment) for name, kind, comment in columns]
    table.partitionKeys = []
    return read_row(table)


def converted_row(
    store: MetastoreStore,
    seen: Row,
    metadata: ViewMetadata,
    location: str,
    *,
    dropped: Callable[[str], bool],
    face: tuple[str | None, str | None] | None = None,
) -> Row:
    """The Iceberg view's row that takes a legacy row's place: a copy of it with what Iceberg's readers need."""
    table = changed_row(seen, metadata, metadata, location, store.config)
    original = seen.parameters
    # View properties never overwrite what a row of others says under the same key.
    table.parameters.update({key: value for key, value in original.items() if key != CHANGE_TIME})
    for key in [key for key in table.parameters if dropped(key)]:
        del table.parameters[key]
    if face is not None:
        table.viewOriginalText, table.viewExpandedText = face
    if seen.table.partitionKeys:
        # A server rewrites the partitions of a view whose columns change, and stumbles over those without a storage
        # descriptor (HIVE-2966): so a partitioned view keeps its columns' own types.
        table.partitionKeys, table.sd.cols = seen.table.partitionKeys, list(seen.table.sd.cols)
    # As every server stores them, so that the row can be told from one that somebody changed.
    table.sd = copy.copy(table.sd)
    table.sd.cols = [
        FieldSchema(name=item.name.lower(), type=item.type, comment=item.comment) for item in table.sd.cols
    ]
    table.parameters[CHANGE_TIME] = _later(original.get(CHANGE_TIME))
    return read_row(table)


def plain_row(row: Row, *, dropped: Callable[[str], bool]) -> Row:
    """A plain Hive view's row in an Iceberg view's place: the same texts and columns, without what Iceberg reads."""
    table = copy.copy(row.table)
    own = {TABLE_TYPE, METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, UUID, CURRENT_SCHEMA}
    table.parameters = {key: value for key, value in row.parameters.items() if key not in own and not dropped(key)}
    table.parameters[CHANGE_TIME] = _later(row.parameters.get(CHANGE_TIME))
    table.sd = copy.copy(table.sd)
    table.sd.location = None
    table.sd.inputFormat, table.sd.outputFormat = _INPUT_FORMAT, _OUTPUT_FORMAT
    return read_row(table)


def _later(before: str | None) -> str:
    then = int(before) if before and before.isdigit() else 0
    return str(max(int(time.time()), then + 1))


def swap(store: MetastoreStore, seen: Row, to: Row, undo: Callable[[], None] | None = None) -> tuple[Difference, ...]:
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
    if fingerprint(current) != fingerprint(seen):
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
    if fingerprint(row) != fingerprint(before) or row.parameters.get(CHANGE_TIME) != before.parameters.get(CHANGE_TIME):
        raise CommitFailedError(str(before.name), "its row was changed by somebody else")
    raise request.failure("alter_table", refusal, long_values(to.table))


def _is_ours(row: Row, to: Row) -> bool:
    if to.kind is RowKind.ICEBERG_VIEW:
        return row.kind is RowKind.ICEBERG_VIEW and row.parameters.get(METADATA_LOCATION) == to.metadata_location
    return fingerprint(row) == fingerprint(to)


def _bytes(table: Table) -> bytes:
    buffer = TMemoryBuffer()
    # Servers give maps in an order that means nothing and changes.
    _sorted(copy.deepcopy(table)).write(TBinaryProtocol(buffer))
    return bytes(buffer.getvalue())


def _sorted(value: Any) -> Any:
    """A Thrift value whose maps are sorted by key, in place; it is of the caller's own."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)  # of strings alone: `CreationMetadata.tablesUsed`
    for item in getattr(value, "thrift_spec", None) or ():
        if item is not None:
            setattr(value, item[2], _sorted(getattr(value, item[2])))
    return value


def _plain(value: Any) -> Any:
    """A Thrift value as JSON values, what is not set left out."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value))  # Python gives a set of texts in another order in each process
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    spec = getattr(value, "thrift_spec", None)
    if spec is None:
        return value
    fields = ((item[2], getattr(value, item[2])) for item in spec if item is not None)
    return {name: _plain(item) for name, item in fields if item is not None}
