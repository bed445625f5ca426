"""The partitions of tables behind a view's partition: which, whether all are there, and when each was last written.

Hive's design left this open (Hive Views, Underlying Partition Dependencies; HIVE-1079). It is derived from the view's
text when it is asked for. Where the text does not say which partitions are meant, all of the table are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from hive_views.dependencies.columns import read_view_text
from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.partition_flow import Bound, Node, Use, uses
from hive_views.dependencies.partition_times import IcebergPartitions, iceberg_partitions
from hive_views.dependencies.validity import stored_type
from hive_views.errors import InvalidViewError, MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.partitions import (
    DEFAULT_PARTITION,
    canonical,
    partition_keys,
    partition_values,
    row_changed,
    stored_partitions,
)
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas


class Trust(Enum):
    """What a time of the last change is worth."""

    SNAPSHOT = "snapshot"
    """The commit of an Iceberg snapshot: every change of the data moves it."""
    ROW = "row"
    """The metastore's `transient_lastDdlTime`: Hive and Spark set it when they write a partition by name. Files that
    were put into its directory leave it as it is, and a change of the row alone moves it."""
    CREATION = "creation"
    """Only the time at which the partition or the table was created."""
    NONE = "none"
    """There is no time."""


Spec = tuple[tuple[str, str], ...]
"""Partition columns and their values."""


@dataclass(frozen=True)
class BasePartition:
    """A partition of a table, or a whole table that has none."""

    spec: Spec
    """Its columns and values; empty for a table without partitions."""
    written: datetime | None
    """When it was last written, in UTC."""
    trust: Trust
    """What that time is worth."""

    @property
    def name(self) -> str:
        """As Hive writes it, not escaped: `ds=2026-01-01/hr=7`."""
        return "/".join(f"{column}={value}" for column, value in self.spec)


@dataclass(frozen=True)
class TableDependency:
    """What a view's partition needs of one table."""

    table: ViewName
    """The table."""
    partition_columns: tuple[str, ...]
    """Its partition columns; of an Iceberg table, those that it is partitioned by as they are (identity)."""
    restricted: tuple[tuple[str, str], ...]
    """Its partition columns that the view restricts, and by what: a column of the view, or a constant in quotes."""
    partitions: tuple[BasePartition, ...]
    """The partitions behind the view's, by name."""
    missing: tuple[Spec, ...]
    """Partitions that should be there: others behind the same view have them, the view has them, or they were asked
    for."""
    reasons: tuple[str, ...]
    """Why more partitions may be named than are read, or why something is not known; empty where it is exact."""
    exists: bool = True
    """Whether the table is there."""

    @property
    def all_partitions(self) -> bool:
        """Whether the view's text restricts none of its partition columns."""
        return not self.restricted

    @property
    def written(self) -> datetime | None:
        """When the latest of the partitions was written; None if none has a time."""
        return max((item.written for item in self.partitions if item.written is not None), default=None)


@dataclass(frozen=True)
class PartitionDependencies:
    """The answer for one partition of a view, or for all of it."""

    view: ViewName
    """The view."""
    partition: Spec
    """What was asked for; empty for the whole view."""
    tables: tuple[TableDependency, ...]
    """What it needs of each table, by name."""
    complete: bool | None
    """Whether everything is there that should be; None where the text does not tell what should be."""
    why: str
    """The reason for `complete`, as a sentence."""
    fresh_as_of: datetime | None
    """Until when every table has been written: the time of the table that was written longest ago. None where one has
    no time."""
    last_written: datetime | None
    """When anything behind it was last written."""


def partition_dependencies(
    store: MetastoreStore, name: ViewName, partition: Mapping[str, str]
) -> PartitionDependencies:
    """Find the partitions of tables behind a view's partition.

    Costs a row of each table and view below it, one listing of names for each partitioned Hive table, the rows of the
    partitions that are behind it, and for an Iceberg table its metadata file and the manifests of its snapshot.
    """
    row = store.get_row(name)
    if row is None or not row.kind.is_view:
        raise NoSuchViewError(str(name))
    asked = _asked(row, partition)
    looking = _Looking(store)
    found: dict[ViewName, list[Use]] = {}
    for use in uses(looking.node_of(row), looking.node, asked):
        found.setdefault(use.table, []).append(use)
    tables = [_table(store, looking, table, found[table], asked) for table in sorted(found)]
    registered = _registered(store, row, asked)
    answered = tuple(_with_missing(item, tables, registered, asked) for item in tables)
    complete, why = _verdict(answered)
    times = [item.dependency.written for item in tables]
    known = [time for time in times if time is not None]
    return PartitionDependencies(
        name,
        tuple(asked.items()),
        answered,
        complete,
        why,
        min(known) if known and len(known) == len(times) else None,
        max(known, default=None),
    )


def _asked(row: Row, partition: Mapping[str, str]) -> dict[str, str]:
    types = {column.lower(): kind for column, kind, _ in row.columns}
    asked = {}
    for column, value in partition.items():
        kind = types.get(column.lower())
        if kind is None:
            raise InvalidViewError(str(row.name), f"it has no column {column}; it has {', '.join(types)}")
        text = canonical(value, kind)
        if text is None or value == DEFAULT_PARTITION:
            raise InvalidViewError(str(row.name), f"{value!r} is no value of {column}, which is {kind}")
        asked[column.lower()] = text
    return asked


class _Looking:
    """Rows as the flow sees them, each read once."""

    def __init__(self, store: MetastoreStore) -> None:
        self._store = store
        self._schemas = MetastoreSchemas(store)
        self._reader = LineageReader(store)
        self._nodes: dict[ViewName, Node | None] = {}
        self.rows: dict[ViewName, Row] = {}

    def node(self, name: ViewName) -> Node | None:
        if name not in self._nodes:
            row = self._store.get_row(name)
            self._nodes[name] = None if row is None else self.node_of(row)
        return self._nodes[name]

    def node_of(self, row: Row) -> Node:
        self.rows[row.name] = row
        types = {column.lower(): stored_type(kind) if "char(" not in kind else kind for column, kind, _ in row.columns}
        if not row.kind.is_view:
            return Node(row.name, types)
        try:
            text = read_view_text(self._store, row)
            expansion = text.expansion(self._schemas)
        except (SqlError, MetadataFileError) as error:
            return Node(row.name, types, problem=str(error), reads=self._reader.recorded(row))
        if len(expansion.names) != len(types):
            problem = f"{row.name} has {len(types)} columns, its text gives {len(expansion.names)}"
            return Node(row.name, types, problem=problem, reads=self._reader.recorded(row))
        return Node(row.name, types, query=(expansion.expanded, text.dialect))


@dataclass(frozen=True)
class _Found:
    """One table, and what is needed to say which of its partitions are missing."""

    dependency: TableDependency
    by_column: Mapping[str, str]
    """Its partition columns by the view's column that they are equal to, where all uses agree."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Hive types of its partition columns."""


def _table(
    store: MetastoreStore, looking: _Looking, name: ViewName, found: Sequence[Use], asked: Mapping[str, str]
) -> _Found:
    reasons = list(dict.fromkeys(reason for use in found for reason in use.reasons))
    if looking.node(name) is None:
        return _Found(TableDependency(name, (), (), (), (), ("nothing has that name", *reasons), exists=False), {})
    row = looking.rows[name]
    source = _source(store, row)
    types = dict(source.keys)
    tests = []
    for use in found:
        restricting = {column: bounds for column, bounds in use.columns if column in types}
        for column in [column for column in restricting if types[column].startswith(_ODD_TYPES)]:
            del restricting[column]
            reasons.append(f"{column} is {types[column]}, whose values may be equal and look different")
        tests.append(restricting)
    exact = bool(tests) and all(tests)
    wanted = {
        item: values
        for item, values in source.values.items()
        if any(_matches(values, test, types, asked) for test in tests)
    }
    shared = set.intersection(*(set(test) for test in tests)) if exact else set()
    restricted = tuple((column, _shown(tests, column)) for column in types if column in shared)
    by_column = {
        bound.column: column
        for column in types
        if column in shared
        for bound in tests[0][column]
        if bound.column is not None and all(bound in test[column] for test in tests)
    }
    if types and not exact and not reasons:
        reasons.append(f"the view's columns do not tell its partition columns {', '.join(types)}")
    if exact and len(restricted) == len(types):
        # What is said of other columns does not matter where these are known.
        reasons = []
    reasons += source.reasons
    partitions = source.read(sorted(wanted)) if types else source.read(())
    dependency = TableDependency(name, tuple(types), restricted, partitions, (), tuple(dict.fromkeys(reasons)))
    return _Found(dependency, by_column, types)


_ODD_TYPES = ("char", "float", "double", "timestamp")
"""Trailing blanks do not count; 0.1 of a float is 0.10000000149 of a double, and -0.0 is 0.0; one moment has another
text in each time zone."""


def _matches(
    values: Mapping[str, str | None],
    test: Mapping[str, tuple[Bound, ...]],
    types: Mapping[str, str],
    asked: Mapping[str, str],
) -> bool:
    """Whether a partition may hold rows for what was asked for; one whose value is not known may."""
    for column, bounds in test.items():
        there = values.get(column)
        for bound in bounds:
            wanted = bound.literal if bound.column is None else asked.get(bound.column)
            if wanted is None or there is None:
                continue
            expected = canonical(wanted, types[column])
            if expected is not None and there != expected:
                return False
    return True


def _shown(tests: Sequence[Mapping[str, tuple[Bound, ...]]], column: str) -> str:
    bounds = dict.fromkeys(bound for test in tests for bound in test[column])
    names = [bound.column for bound in bounds if bound.column is not None]
    return ", ".join(names or [f"'{bound.literal}'" for bound in bounds])


# -- Where partitions are read ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """The partitions of one table."""

    keys: tuple[tuple[str, str], ...]
    values: Mapping[str, Mapping[str, str | None]]
    """By name."""
    read: Callable[[Sequence[str]], tuple[BasePartition, ...]]
    """Reads the times of some."""
    reasons: tuple[str, ...] = ()


def _source(store: MetastoreStore, row: Row) -> _Source:
    if row.kind is RowKind.ICEBERG_TABLE:
        return _iceberg(iceberg_partitions(store.files, row))
    keys = partition_keys(row)
    if not keys:
        written, created = row_changed(row)
        whole = BasePartition((), written, _trust(written, created))
        return _Source((), {}, lambda names: (whole,))
    types = dict(keys)
    stored = partition_values(store.client, row)
    values: dict[str, dict[str, str | None]] = {}
    for name, item in stored.items():
        pairs = zip(types.items(), item, strict=False)
        # A NULL equals nothing, but a text that is no value of its type cannot be compared.
        values[name] = {
            column: value if value == DEFAULT_PARTITION else canonical(value, kind) for (column, kind), value in pairs
        }

    def read(names: Sequence[str]) -> tuple[BasePartition, ...]:
        return tuple(
            BasePartition(
                tuple(zip(types, item.values, strict=False)), item.written, _trust(item.written, item.from_creation)
            )
            for item in stored_partitions(store.client, row, names)
        )

    return _Source(keys, values, read)


def _iceberg(found: IcebergPartitions) -> _Source:
    names = {
        "/".join(f"{column}={value}" for column, value in values): (values, written)
        for values, written in found.partitions
    }

    def read(wanted: Sequence[str]) -> tuple[BasePartition, ...]:
        if not found.keys:
            return (BasePartition((), found.written, _trust(found.written, False, Trust.SNAPSHOT)),)
        return tuple(
            BasePartition(
                tuple((column, DEFAULT_PARTITION if value is None else value) for column, value in names[name][0]),
                names[name][1],
                _trust(names[name][1], False, Trust.SNAPSHOT),
            )
            for name in wanted
        )

    return _Source(found.keys, {name: dict(values) for name, (values, _) in names.items()}, read, found.reasons)


def _trust(written: datetime | None, created: bool, otherwise: Trust = Trust.ROW) -> Trust:
    if written is None:
        return Trust.NONE
    return Trust.CREATION if created else otherwise


# -- What is missing --------------------------------------------------------------------------------------------------

_Values = tuple[tuple[str, str], ...]
"""Columns of the view, sorted, and values."""


def _registered(store: MetastoreStore, row: Row, asked: Mapping[str, str]) -> list[dict[str, str]]:
    """The partitions that were added to the view, as far as they were asked for."""
    keys = partition_keys(row)
    if not keys:
        return []
    found = []
    for values in partition_values(store.client, row).values():
        item = {column: canonical(value, kind) or value for (column, kind), value in zip(keys, values, strict=False)}
        if all(item.get(column, value) == value for column, value in asked.items()):
            found.append(item)
    return found


def _with_missing(
    item: _Found, tables: Iterable[_Found], registered: Iterable[Mapping[str, str]], asked: Mapping[str, str]
) -> TableDependency:
    """A table with what it lacks, by the values of the view's columns that its partition columns are equal to."""
    columns = frozenset(item.by_column)
    if not columns or _may_hold_any(item.dependency):
        return item.dependency
    expected: set[_Values] = set()
    for other in tables:
        if columns <= other.by_column.keys():
            expected |= _observed(other, columns)
    expected |= {_values(there, columns) for there in registered if columns <= there.keys()}
    if columns <= asked.keys():
        expected.add(_values(asked, columns))
    lacking = sorted(expected - _observed(item, columns))
    missing = tuple(tuple((item.by_column[column], value) for column, value in values) for values in lacking)
    return replace(item.dependency, missing=missing)


def _observed(item: _Found, columns: Iterable[str]) -> set[_Values]:
    found = set()
    for partition in item.dependency.partitions:
        spec = dict(partition.spec)
        values = {}
        for column in columns:
            own = item.by_column[column]
            # Some writer may have stored 07 for the number 7.
            values[column] = canonical(spec[own], item.types[own]) or spec[own]
        if DEFAULT_PARTITION not in values.values():
            found.add(_values(values, columns))
    return found


def _may_hold_any(item: TableDependency) -> bool:
    """Whether files of an Iceberg table have no value for a partition column: it was partitioned later, or is NULL."""
    return any(
        part.trust is Trust.SNAPSHOT and DEFAULT_PARTITION in dict(part.spec).values() for part in item.partitions
    )


def _values(there: Mapping[str, str], columns: Iterable[str]) -> _Values:
    return tuple((column, there[column]) for column in sorted(columns))


def _verdict(tables: Sequence[TableDependency]) -> tuple[bool | None, str]:
    gone = [str(item.table) for item in tables if not item.exists]
    if gone:
        return False, f"{', '.join(gone)} does not exist"
    lacking = [item for item in tables if item.missing]
    if lacking:
        names = (
            f"{item.table} has no partition "
            + ", ".join(f"{column}={value}" for column, value in item.missing[0])
            + (f" and {len(item.missing) - 1} more" if len(item.missing) > 1 else "")
            for item in lacking
        )
        return False, "; ".join(names)
    vague = [str(item.table) for item in tables if item.partition_columns and item.all_partitions]
    if vague:
        return None, f"the view's text does not tell which partitions of {', '.join(vague)} it needs"
    mixed = [str(item.table) for item in tables if _may_hold_any(item)]
    if mixed:
        return None, f"{', '.join(mixed)} has files that are in no partition"
    if not any(item.restricted for item in tables):
        return None, "no table behind it has partitions"
    return True, "every partition that it needs is there"
