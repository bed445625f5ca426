"""Partition dependencies: the partitions of tables that a view's partition needs, which are missing, when written.

Hive's design left this open (Hive Views, Underlying Partition Dependencies; HIVE-1079). They are derived from the
view's text on request. Where it does not imply which partitions are needed, all partitions of the table are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from sqlglot import exp

from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.partition_expressions import evaluate, typed_value, with_value
from hive_views.dependencies.partition_flow import Relation, Restriction, TableUse, find_table_uses
from hive_views.dependencies.validity import stored_type
from hive_views.dependencies.view_text import read_view_text
from hive_views.errors import (
    InvalidViewError,
    MetadataFileError,
    MetadataFileNotFoundError,
    NoSuchViewError,
    SqlError,
)
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.partitions import (
    DEFAULT_PARTITION,
    canonical,
    partition_values,
    row_changed,
    stored_partitions,
)
from hive_views.metastore.row_cache import RowCache
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot

_UNCOMPARABLE_TYPES = ("char", "float", "double", "timestamp")
"""Types with equal values of different text: trailing blanks do not count in char; 0.1 as float is 0.10000000149 as
double, and -0.0 equals 0.0; a timestamp's text depends on the time zone."""


class Trust(Enum):
    """How reliable the time of the last change is."""

    SNAPSHOT = "snapshot"
    """The commit of an Iceberg snapshot: every change of the data updates it."""
    ROW = "row"
    """The metastore's `transient_lastDdlTime`: Hive and Spark update it when they write a partition by name. Files
    copied into the directory do not; changes of the row alone do."""
    CREATION = "creation"
    """Only the creation time of the partition or table."""
    NONE = "none"
    """No time is known."""


Spec = tuple[tuple[str, str], ...]
"""Partition columns and their values."""


@dataclass(frozen=True)
class BasePartition:
    """A partition of a table, or an unpartitioned table."""

    spec: Spec
    """Its columns and values; empty for an unpartitioned table."""
    written: datetime | None
    """When it was last written, in UTC."""
    trust: Trust
    """How reliable that time is."""

    @property
    def name(self) -> str:
        """The name as Hive writes it, not escaped: `ds=2026-01-01/hr=7`."""
        return "/".join(f"{column}={value}" for column, value in self.spec)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `deps partitions`."""
        return {"name": self.name, "written": self.written, "trust": self.trust}


@dataclass(frozen=True)
class TableDependency:
    """What a view's partition needs of one table."""

    table: ViewName
    """The table."""
    exists: bool
    """Whether it exists."""
    partition_columns: tuple[str, ...]
    """Its partition columns; for an Iceberg table those with identity transform."""
    restricted: tuple[tuple[str, str], ...]
    """The partition columns that the view restricts, and to what: a column of the view, or a constant in quotes."""
    partitions: tuple[BasePartition, ...]
    """The needed partitions, by name."""
    missing: tuple[Spec, ...]
    """Partitions that should exist: another table of the view or the view itself has them, or they were requested."""
    reasons: tuple[str, ...]
    """Why more partitions may be listed than are read, or why something is unknown; empty for an exact result."""
    is_current: bool = True
    """Whether the view reads the table's current state; False for VERSION AS OF and the like, whose partitions are not
    determined."""

    @property
    def all_partitions(self) -> bool:
        """Whether the view restricts none of the partition columns."""
        return not self.restricted

    @property
    def written(self) -> datetime | None:
        """When the latest of the partitions was written; None if no time is known."""
        return max((item.written for item in self.partitions if item.written is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `deps partitions`."""
        return {**vars(self), "restricted": dict(self.restricted), "missing": [dict(spec) for spec in self.missing]}


@dataclass(frozen=True)
class PartitionDependencies:
    """The partitions of tables that a view, or one partition of it, needs."""

    view: ViewName
    """The view."""
    partition: Spec
    """The requested partition; empty for the whole view."""
    complete: bool | None
    """Whether every needed partition exists; None if the text does not imply which are needed."""
    why: str
    """The reason for `complete`, as a sentence."""
    fresh_as_of: datetime | None
    """The earliest of the tables' last write times; None if a table has no time."""
    last_written: datetime | None
    """The latest of the tables' last write times; None if no table has one, or another state of a table is read."""
    tables: tuple[TableDependency, ...]
    """What is needed of each table, by name."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `deps partitions`."""
        return {**vars(self), "partition": dict(self.partition)}


def partition_dependencies(
    store: MetastoreStore, name: ViewName, partition: Mapping[str, str]
) -> PartitionDependencies:
    """Return the partitions of tables that a view's partition needs.

    Reads a row of each table and view that it depends on, the partition names of each partitioned Hive table, the rows
    of the needed partitions, and for an Iceberg table its metadata file and the manifests of its current snapshot.
    """
    row = store.get_row(name)
    if row is None or not row.kind.is_view:
        raise NoSuchViewError(str(name))
    given = _checked_values(row, partition)
    relations = _RelationReader(store, name)
    uses: dict[ViewName, list[TableUse]] = {}
    for use in find_table_uses(relations.of_row(row), relations.get, given):
        uses.setdefault(use.table, []).append(use)
    analyzed = [_analyze_table(store, relations, table, uses[table], given) for table in sorted(uses)]
    registered = _registered_partitions(store, row, given)
    tables = tuple(_with_missing(item, analyzed, registered, given) for item in analyzed)
    by_expression = [str(item.dependency.table) for item in analyzed if not item.is_enumerable]
    complete, why = _completeness(tables, by_expression)
    times = [item.dependency.written for item in analyzed]
    known_times = [time for time in times if time is not None]
    is_last_known = all(item.dependency.is_current for item in analyzed)
    return PartitionDependencies(
        name,
        tuple(given.items()),
        complete,
        why,
        min(known_times) if known_times and len(known_times) == len(times) else None,
        max(known_times, default=None) if is_last_known else None,
        tables,
    )


def _checked_values(row: Row, partition: Mapping[str, str]) -> dict[str, str]:
    types = {column.lower(): kind for column, kind, _ in row.columns}
    values = {}
    for column, value in partition.items():
        kind = types.get(column.lower())
        if kind is None:
            raise InvalidViewError(str(row.name), f"it has no column {column}; it has {', '.join(types)}")
        text = canonical(value, kind)
        if text is None or value == DEFAULT_PARTITION:
            raise InvalidViewError(str(row.name), f"{value!r} is no value of {column}, which is {kind}")
        values[column.lower()] = text
    return values


class _RelationReader:
    """Reads each table and view once, for the analysis of restrictions."""

    def __init__(self, store: MetastoreStore, view: ViewName) -> None:
        self.view = view
        self._store = store
        self._rows = RowCache(store)
        self._schemas = MetastoreSchemas(store, self._rows)
        self._lineage = LineageReader(store)
        self._relations: dict[ViewName, Relation | None] = {}
        self.rows: dict[ViewName, Row] = {}

    def get(self, name: ViewName) -> Relation | None:
        if name not in self._relations:
            row = self._rows.get(name)
            self._relations[name] = None if row is None else self.of_row(row)
        return self._relations[name]

    def of_row(self, row: Row) -> Relation:
        self.rows[row.name] = row
        types = {column.lower(): stored_type(kind) if "char(" not in kind else kind for column, kind, _ in row.columns}
        if not row.kind.is_view:
            return Relation(row.name, types)
        try:
            text = read_view_text(self._store, row)
            expansion = text.expand_typed(self._schemas)
        except (SqlError, MetadataFileError) as error:
            return Relation(row.name, types, problem=str(error), reads=self._lineage.read_names(row))
        if len(expansion.names) != len(types):
            problem = f"{row.name} has {len(types)} columns, its text gives {len(expansion.names)}"
            return Relation(row.name, types, problem=problem, reads=self._lineage.read_names(row))
        return Relation(row.name, types, query=(expansion.expanded, text.dialect))


@dataclass(frozen=True)
class _AnalyzedTable:
    """A table's result without missing partitions, and what is needed to find those."""

    dependency: TableDependency
    by_column: Mapping[str, str]
    """By column of the view: the partition column that equals it in all uses."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Hive types of the partition columns."""
    may_match: Callable[[Mapping[str, str]], bool] = lambda values: True
    """Whether a partition with some values may be needed."""
    is_enumerable: bool = True
    """Whether partitions are required by value; False if only expressions of their columns are restricted."""


def _analyze_table(
    store: MetastoreStore,
    relations: _RelationReader,
    name: ViewName,
    uses: Sequence[TableUse],
    given: Mapping[str, str],
) -> _AnalyzedTable:
    reasons = list(dict.fromkeys(reason for use in uses for reason in use.reasons))
    if relations.get(name) is None:
        return _AnalyzedTable(TableDependency(name, False, (), (), (), (), ("nothing has that name", *reasons)), {})
    row = relations.rows[name]
    state_clause = next((use.state_clause for use in uses if use.state_clause is not None), None)
    if state_clause is not None and row.kind is RowKind.HIVE_TABLE:
        raise InvalidViewError(
            str(relations.view), f"it reads {name} {state_clause}, but a plain Hive table has only its current state"
        )
    partitions = _read_partitions(store, row)
    types = dict(partitions.keys)
    by_use = []
    for use in uses:
        restrictions = {column: equal for column, equal in use.columns if column in types}
        for column in [column for column in restrictions if types[column].startswith(_UNCOMPARABLE_TYPES)]:
            del restrictions[column]
            reasons.append(f"{column} is {types[column]}, whose values may be equal and look different")
        by_use.append(restrictions)
    is_restricted = bool(by_use) and all(by_use)
    needed = sorted(
        item
        for item, values in partitions.values.items()
        if any(may_match(values, restrictions, types, given) for restrictions in by_use)
    )
    shared = set.intersection(*(set(restrictions) for restrictions in by_use)) if is_restricted else set()
    restricted = tuple((column, _shown(by_use, column)) for column in types if column in shared)
    by_column = {
        restriction.column: column
        for column in types
        if column in shared
        for restriction in by_use[0][column]
        if restriction.column is not None
        and restriction.expression is None
        and all(restriction in restrictions[column] for restrictions in by_use)
    }
    is_enumerable = all(item.expression is None for values in by_use for equal in values.values() for item in equal)
    if types and not is_restricted and not reasons:
        reasons.append(f"the view's columns do not tell its partition columns {', '.join(types)}")
    if is_restricted and len(restricted) == len(types):
        # The result is exact, so reasons that concern other columns do not matter.
        reasons = []
    reasons += partitions.reasons
    read = partitions.read(needed if types else ())
    if state_clause is not None:
        # The partitions of the current state; those of another one, and when they were written, are not determined.
        read = tuple(replace(item, written=None, trust=Trust.NONE) for item in read)
    dependency = TableDependency(
        name,
        True,
        tuple(types),
        restricted,
        read,
        (),
        tuple(dict.fromkeys(reasons)),
        is_current=state_clause is None,
    )
    return _AnalyzedTable(
        dependency,
        by_column,
        types,
        may_match=lambda values: any(may_match(values, restrictions, types, given) for restrictions in by_use),
        is_enumerable=is_enumerable or bool(by_column),
    )


def may_match(
    values: Mapping[str, str | None],
    restrictions: Mapping[str, tuple[Restriction, ...]],
    types: Mapping[str, str],
    given: Mapping[str, str],
) -> bool:
    """Whether a partition may hold rows for the given values; unknown values match."""
    for column, equal in restrictions.items():
        value = values.get(column)
        for restriction in equal:
            text = restriction.literal if restriction.column is None else given.get(restriction.column)
            if value is None or (text is None and not restriction.is_condition):
                continue
            if restriction.expression is not None:
                if not _may_hold(restriction, value, types[column], text):
                    return False
                continue
            expected = canonical(text, types[column])
            if expected is not None and value != expected:
                return False
    return True


def _may_hold(restriction: Restriction, value: str, kind: str, text: str | None) -> bool:
    """Whether an expression of a partition's value may be true, or equal a text; an unknown result may."""
    if value == DEFAULT_PARTITION:
        return False  # all expressions that are followed are NULL for NULL
    typed = typed_value(value, kind)
    result = None if typed is None or restriction.expression is None else evaluate(restriction.expression, typed)
    if result is None:
        return True
    if restriction.is_condition:
        return result is not False
    return not isinstance(result, (str, int, date)) or isinstance(result, bool) or str(result) == text


def _shown(by_use: Sequence[Mapping[str, tuple[Restriction, ...]]], column: str) -> str:
    equal = dict.fromkeys(item for restrictions in by_use for item in restrictions[column])
    names = [item.column for item in equal if item.column is not None and item.expression is None]
    names = names or [f"'{item.literal}'" for item in equal if item.literal is not None and item.expression is None]
    return ", ".join(names or [_shown_expression(item, column) for item in equal])


def _shown_expression(restriction: Restriction, column: str) -> str:
    assert restriction.expression is not None, "restrictions of the column itself are shown first"
    text = with_value(restriction.expression, exp.Placeholder(), exp.column(column)).sql()
    return text if restriction.is_condition else f"{text} = {restriction.column or repr(restriction.literal)}"


# -- Partitions of tables ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TablePartitions:
    """The partitions of one table."""

    keys: tuple[tuple[str, str], ...]
    """Partition columns and their Hive types."""
    values: Mapping[str, Mapping[str, str | None]]
    """Values by partition column, by name of a partition."""
    read: Callable[[Sequence[str]], tuple[BasePartition, ...]]
    """Returns partitions by name, with their times."""
    reasons: tuple[str, ...] = ()
    """What is unknown."""


def _read_partitions(store: MetastoreStore, row: Row) -> _TablePartitions:
    if row.kind is RowKind.ICEBERG_TABLE:
        return _iceberg_partitions(store.files, row)
    keys = row.partition_keys
    if not keys:
        written, is_creation = row_changed(row)
        table = BasePartition((), written, _trust(written, is_creation))
        return _TablePartitions((), {}, lambda names: (table,))
    columns = [column for column, _ in keys]
    values: dict[str, dict[str, str | None]] = {}
    for name, stored in partition_values(store.client, row).items():
        # A NULL equals nothing; a text that is not a value of its type cannot be compared (None).
        values[name] = {
            column: value if value == DEFAULT_PARTITION else canonical(value, kind)
            for (column, kind), value in zip(keys, stored, strict=False)
        }

    def read(names: Sequence[str]) -> tuple[BasePartition, ...]:
        return tuple(
            BasePartition(
                tuple(zip(columns, item.values, strict=False)), item.written, _trust(item.written, item.from_creation)
            )
            for item in stored_partitions(store.client, row, names)
        )

    return _TablePartitions(keys, values, read)


def _iceberg_partitions(files: MetadataFiles, row: Row) -> _TablePartitions:
    """Read the identity partitions of an Iceberg table from its metadata file and its current snapshot's manifests.

    A partition's time is that of the last snapshot that wrote it, or None if that snapshot has expired.
    """

    def unpartitioned(written: datetime | None, *reasons: str) -> _TablePartitions:
        partition = BasePartition((), written, _trust(written, False, Trust.SNAPSHOT))
        return _TablePartitions((), {}, lambda names: (partition,), reasons)

    location = row.metadata_location
    if location is None:
        return unpartitioned(None, "its row names no metadata file")
    try:
        io = files.io(location)
        metadata = files.read_table_metadata(location)
        table = Table(row.name.identifier, metadata, location, io, NoopCatalog("partitions"))
        snapshot = table.current_snapshot()
        types = {column.lower(): kind for column, kind, _ in row.columns}
        schema = table.schema()
        columns_by_field = {
            item.name: column.lower()
            for item in table.spec().fields
            if isinstance(item.transform, IdentityTransform)
            and (column := schema.find_column_name(item.source_id)) is not None
            and column.lower() in types
        }
        others = [item.name for item in table.spec().fields if item.name not in columns_by_field]
        reasons = [f"partitions by {', '.join(others)} are computed, and not followed"] if others else []
        try:
            entries = table.inspect.partitions().to_pylist() if snapshot is not None and columns_by_field else []
        except ImportError as error:
            return unpartitioned(_time(snapshot), f"its partitions cannot be read without pyarrow: {error}")
    except FileNotFoundError as error:
        raise MetadataFileNotFoundError(location) from error
    except (OSError, ValueError) as error:
        raise MetadataFileError(location, str(error)) from error
    if not columns_by_field:
        return unpartitioned(_time(snapshot), *reasons)
    written_by_values: dict[tuple[tuple[str, str | None], ...], datetime | None] = {}
    for entry in entries:
        values = tuple(
            (column, canonical(entry["partition"].get(name), types[column]))
            for name, column in columns_by_field.items()
        )
        updated = entry["last_updated_at"]
        times = (written_by_values.get(values), None if updated is None else updated.replace(tzinfo=timezone.utc))
        written_by_values[values] = max((time for time in times if time is not None), default=None)
    if any(value is None for values in written_by_values for _, value in values):
        reasons.append("it has files without a value for a partition column; they are counted in")
    values_by_name = {"/".join(f"{column}={value}" for column, value in values): values for values in written_by_values}

    def read(names: Sequence[str]) -> tuple[BasePartition, ...]:
        return tuple(
            BasePartition(
                tuple((column, DEFAULT_PARTITION if value is None else value) for column, value in values),
                written_by_values[values],
                _trust(written_by_values[values], False, Trust.SNAPSHOT),
            )
            for values in (values_by_name[name] for name in names)
        )

    keys = tuple((column, types[column]) for column in columns_by_field.values())
    return _TablePartitions(keys, {name: dict(item) for name, item in values_by_name.items()}, read, tuple(reasons))


def _time(snapshot: Snapshot | None) -> datetime | None:
    return None if snapshot is None else datetime.fromtimestamp(snapshot.timestamp_ms / 1000, timezone.utc)


def _trust(written: datetime | None, is_creation: bool, otherwise: Trust = Trust.ROW) -> Trust:
    if written is None:
        return Trust.NONE
    return Trust.CREATION if is_creation else otherwise


# -- Missing partitions -----------------------------------------------------------------------------------------------


def _registered_partitions(store: MetastoreStore, row: Row, given: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the partitions that were added to the view and match the given values."""
    keys = row.partition_keys
    if not keys:
        return []
    partitions = []
    for stored in partition_values(store.client, row).values():
        values = {column: canonical(value, kind) or value for (column, kind), value in zip(keys, stored, strict=False)}
        if all(values.get(column, value) == value for column, value in given.items()):
            partitions.append(values)
    return partitions


def _with_missing(
    table: _AnalyzedTable,
    tables: Iterable[_AnalyzedTable],
    registered: Iterable[Mapping[str, str]],
    given: Mapping[str, str],
) -> TableDependency:
    """Add the partitions that the table lacks, compared by the view's columns that its partition columns equal."""
    columns = frozenset(table.by_column)
    if not columns or _has_unpartitioned_files(table.dependency):
        return table.dependency
    expected: set[Spec] = set()
    for other in tables:
        if columns <= other.by_column.keys():
            expected |= _existing(other, columns)
    expected |= {_select(values, columns) for values in registered if columns <= values.keys()}
    if columns <= given.keys():
        expected.add(_select(given, columns))
    absent = sorted(
        spec
        for spec in expected - _existing(table, columns)
        if table.may_match({table.by_column[column]: value for column, value in spec})
    )
    missing = tuple(tuple((table.by_column[column], value) for column, value in values) for values in absent)
    return replace(table.dependency, missing=missing)


def _existing(table: _AnalyzedTable, columns: Iterable[str]) -> set[Spec]:
    """Return a table's partitions by columns of the view."""
    existing = set()
    for partition in table.dependency.partitions:
        spec = dict(partition.spec)
        values = {}
        for column in columns:
            key = table.by_column[column]
            # A writer may have stored 07 for the number 7.
            values[column] = canonical(spec[key], table.types[key]) or spec[key]
        if DEFAULT_PARTITION not in values.values():
            existing.add(_select(values, columns))
    return existing


def _has_unpartitioned_files(table: TableDependency) -> bool:
    """Whether files of an Iceberg table have no value for a partition column, by NULL or an older partition spec."""
    return any(
        part.trust is Trust.SNAPSHOT and DEFAULT_PARTITION in dict(part.spec).values() for part in table.partitions
    )


def _select(values: Mapping[str, str], columns: Iterable[str]) -> Spec:
    return tuple((column, values[column]) for column in sorted(columns))


def _completeness(tables: Sequence[TableDependency], by_expression: Sequence[str]) -> tuple[bool | None, str]:
    """Return whether everything needed exists, and why."""
    missing_tables = [str(table.table) for table in tables if not table.exists]
    if missing_tables:
        return False, f"{', '.join(missing_tables)} does not exist"
    incomplete = [table for table in tables if table.missing]
    if incomplete:
        sentences = (
            f"{table.table} has no partition "
            + ", ".join(f"{column}={value}" for column, value in table.missing[0])
            + (f" and {len(table.missing) - 1} more" if len(table.missing) > 1 else "")
            for table in incomplete
        )
        return False, "; ".join(sentences)
    others = [str(table.table) for table in tables if not table.is_current]
    if others:
        return None, f"it reads another state of {', '.join(others)} than the current one"
    unrestricted = [str(table.table) for table in tables if table.partition_columns and table.all_partitions]
    if unrestricted:
        return None, f"the view's text does not tell which partitions of {', '.join(unrestricted)} it needs"
    if by_expression:
        return None, f"only expressions tell which partitions of {', '.join(by_expression)} it needs, not how many"
    mixed = [str(table.table) for table in tables if _has_unpartitioned_files(table)]
    if mixed:
        return None, f"{', '.join(mixed)} has files that are in no partition"
    if not any(table.restricted for table in tables):
        return None, "no table behind it has partitions"
    return True, "every partition that it needs is there"
