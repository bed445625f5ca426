"""Partition dependencies: the partitions of tables that a view's partition needs, the missing ones, and write times.

Hive's design left this open (Hive Views, Underlying Partition Dependencies; HIVE-1079). The dependencies are derived
from the view's text on request. If it does not imply which partitions of a table are needed, all of them are returned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from sqlglot import exp

from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.partition_expressions import Value, evaluate, shown_sql, typed_value, with_value
from hive_views.dependencies.partition_flow import Relation, Restriction, TableUse, find_table_uses
from hive_views.dependencies.table_partitions import BasePartition, Spec, TablePartitions, Trust, read_partitions
from hive_views.dependencies.view_text import read_view_text
from hive_views.errors import (
    InvalidViewError,
    MetadataFileError,
    NoSuchViewError,
    SqlError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore.partitions import (
    DEFAULT_PARTITION,
    StoredPartition,
    canonical,
    partition_values,
    stored_partitions,
)
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.sql.analysis.validity import stored_type

_UNCOMPARABLE_TYPES = ("char", "float", "double", "timestamp", "binary")
"""Types whose equal values may have different texts: char ignores trailing blanks; 0.1 as float is 0.10000000149 as
double, and -0.0 equals 0.0; a timestamp's text depends on the time zone; bytes have several notations."""


@dataclass(frozen=True, kw_only=True)
class TableDependency:
    """The partitions of one table that a view's partition needs."""

    table: ViewName
    """The table."""
    exists: bool
    """Whether the table exists."""
    partition_columns: tuple[str, ...]
    """The table's partition columns; for an Iceberg table those with identity transform."""
    restricted: tuple[tuple[str, str], ...]
    """The partition columns that the view restricts, each with a column of the view or a constant in quotes."""
    partitions: tuple[BasePartition, ...]
    """The needed partitions, by name."""
    missing: tuple[Spec, ...]
    """Needed partitions that do not exist: another source or the view itself has them, or they were requested."""
    reasons: tuple[str, ...]
    """Why more partitions may be listed than the view reads, or why something is unknown; empty if exact."""
    is_current: bool = True
    """Whether the view reads the table's current state; False for VERSION AS OF and the like."""
    state: str | None = None
    """The clause that names another state; None for the current state."""
    is_determined: bool = True
    """Whether `partitions` are those of the state that the view reads; False for TIMESTAMP AS OF, for example."""

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


@dataclass(frozen=True, kw_only=True)
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
    """The latest of the tables' last write times; None if no table has one, or something is not determined."""
    tables: tuple[TableDependency, ...]
    """The needed partitions of each table, by the table's name."""
    marked_at: datetime | None = None
    """When the requested partition was added to the view; None if the view does not have it."""
    stale: bool | None = None
    """Whether a needed partition was written, added or dropped since `marked_at`; None if unknown or not added."""
    stale_reason: str = ""
    """The reason for `stale`, as a sentence."""
    problem: str | None = None
    """Why a view cannot be read, or may read tables that are not listed; None if all tables are known."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `deps partitions`."""
        return {**vars(self), "partition": dict(self.partition)}


@dataclass(frozen=True)
class MarkedPartition:
    """A partition that was added to a view, compared with the partitions of tables that it needs."""

    view: ViewName
    """The view."""
    partition: Spec
    """The partition's columns and values."""
    marked_at: datetime | None
    """When the partition was added."""
    stale: bool | None
    """Whether a needed partition was written, added or dropped since `marked_at`; None if unknown."""
    reason: str
    """The reason for `stale`, as a sentence."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `deps partitions --stale`."""
        return {**vars(self), "partition": dict(self.partition)}


def partition_dependencies(
    store: MetastoreStore, name: ViewName, partition: Mapping[str, str]
) -> PartitionDependencies:
    """Return the partitions of tables that a view's partition needs.

    Reads the rows of all tables and views on which the view depends, the partition names of each partitioned Hive
    table, the needed partitions, and for an Iceberg table its metadata file and the manifests of its current snapshot.
    """
    row = store.get_view_row(name)
    given = _checked_values(row, partition)
    analysis = PartitionAnalysis(store, row, given)
    answer = analysis.answer(given)
    if given and given.keys() == {column for column, _ in row.partition_keys}:
        values = tuple(given[column] for column, _ in row.partition_keys)
        names = [
            item
            for item, stored in partition_values(store.client, row).items()
            if _canonical_values(row, stored) == values
        ]
        for mark in stored_partitions(store.client, row, names[:1]) if names else ():
            stale, reason = _staleness(mark, answer, analysis.definitions)
            return replace(answer, marked_at=mark.written, stale=stale, stale_reason=reason)
    return answer


def marked_partitions(store: MetastoreStore, name: ViewName) -> tuple[MarkedPartition, ...]:
    """Compare each partition that was added to a view with the partitions of tables that it needs.

    The view is analyzed once, and each partition of a table is read once.
    """
    row = store.get_view_row(name)
    columns = [column for column, _ in row.partition_keys]
    names = list(partition_values(store.client, row)) if columns else []
    if not names:
        return ()
    analysis = PartitionAnalysis(store, row, columns)
    marks = stored_partitions(store.client, row, names)
    given = [dict(zip(columns, _canonical_values(row, mark.values), strict=True)) for mark in marks]
    analysis.prefetch(given)
    marked = []
    for mark, values in zip(marks, given, strict=True):
        stale, reason = _staleness(mark, analysis.answer(values), analysis.definitions)
        marked.append(MarkedPartition(name, tuple(values.items()), mark.written, stale, reason))
    return tuple(marked)


def _canonical_values(row: Row, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(canonical(value, kind) or value for (_, kind), value in zip(row.partition_keys, values, strict=True))


class PartitionAnalysis:
    """The partition dependencies of one view, for any values of the same partition columns."""

    def __init__(self, store: MetastoreStore, row: Row, columns: Iterable[str]) -> None:
        self._store = store
        self._row = row
        self._columns = frozenset(columns)
        relations = _RelationReader(store, row.name)
        uses = find_table_uses(relations.of_row(row), relations.get, self._columns)
        by_state: dict[tuple[ViewName, str, str], list[TableUse]] = {}
        for use in uses.tables:
            by_state.setdefault((use.table, use.state_clause or "", use.version or ""), []).append(use)
        self._tables = [
            _analyze_table(store, relations, key[0], by_state[key], self._columns) for key in sorted(by_state)
        ]
        self._problem = next((f"{view} cannot be analyzed: {reason}" for view, reason in uses.problems.items()), None)
        self._registered = _registered_partitions(store, row)
        self.definitions = sorted(relations.definitions)
        """The texts of the view and of the views that it reads."""

    def prefetch(self, partitions: Iterable[Mapping[str, str]]) -> None:
        """Read the partitions of tables that several partitions of the view need, in batches."""
        given = list(partitions)
        for table in self._tables:
            if table.types:
                table.read({name for values in given for name in table.needed(values)})

    def answer(self, given: Mapping[str, str]) -> PartitionDependencies:
        """Return the dependencies of the partition with some canonical values."""
        analyzed = [replace(table, dependency=table.with_partitions(given)) for table in self._tables]
        keys = {column for column, _ in self._row.partition_keys}
        # If all values are given, the requested partition is the only expected one.
        registered = () if keys <= given.keys() else [values for values in self._registered if _includes(values, given)]
        tables = tuple(_with_missing(item, analyzed, registered, given) for item in analyzed)
        by_expression = [str(item.dependency.table) for item in analyzed if not item.is_enumerable]
        undetermined = [text for item in analyzed for text in item.undetermined_columns(given)] if given else []
        complete, why = _completeness(tables, by_expression, undetermined, self._problem)
        times = [table.written for table in tables]
        known_times = [time for time in times if time is not None]
        is_determined = self._problem is None and all(table.is_determined for table in tables)
        return PartitionDependencies(
            view=self._row.name,
            partition=tuple(given.items()),
            complete=complete,
            why=why,
            fresh_as_of=min(known_times) if is_determined and known_times and len(known_times) == len(times) else None,
            last_written=max(known_times, default=None) if is_determined else None,
            tables=tables,
            problem=self._problem,
        )


def _includes(values: Mapping[str, str], given: Mapping[str, str]) -> bool:
    return all(values.get(column, value) == value for column, value in given.items())


# -- Marks ------------------------------------------------------------------------------------------------------------


def source_fingerprints(store: MetastoreStore, name: ViewName, partitions: Sequence[Mapping[str, str]]) -> list[str]:
    """Return fingerprints of the current dependencies of some partitions of a view."""
    row = store.get_view_row(name)
    given = [_checked_values(row, partition) for partition in partitions]
    analysis = PartitionAnalysis(store, row, (column for column, _ in row.partition_keys))
    analysis.prefetch(given)
    return [_fingerprint(analysis.answer(values), analysis.definitions) for values in given]


def _fingerprint(answer: PartitionDependencies, definitions: Sequence[str]) -> str:
    """Return a short text that changes if the needed partitions, their last changes or the definitions change."""
    state = [
        (
            str(table.table),
            table.exists,
            table.state,
            [(item.name, str(item.written), item.content) for item in table.partitions],
        )
        for table in answer.tables
    ]
    return hashlib.sha256(json.dumps([state, list(definitions)]).encode()).hexdigest()[:32]


def _staleness(
    mark: StoredPartition, answer: PartitionDependencies, definitions: Sequence[str]
) -> tuple[bool | None, str]:
    """Return whether the dependencies of a view's partition have changed since it was added, and the reason."""
    if answer.complete is False:
        return True, answer.why
    if answer.problem is not None:
        return None, answer.problem
    for table in answer.tables:
        for item in table.partitions:
            shown = f"{table.table} {item.name}".rstrip()
            # A metastore's times are whole seconds: a change in the same second may be later than the mark.
            is_exact = item.trust is Trust.SNAPSHOT and mark.fingerprint is not None
            if not is_exact and item.written is not None and mark.written is not None and item.written >= mark.written:
                return True, f"{shown} was written at {item.written:%Y-%m-%d %H:%M:%S}"
    if not all(table.is_determined for table in answer.tables):
        return None, answer.why
    if mark.fingerprint is not None and mark.fingerprint != _fingerprint(answer, definitions):
        return True, "a partition that it needs was written, added or dropped, or a view was redefined"
    if mark.fingerprint is None:
        return None, "it was not added by hive_views, so a partition that it needs may have been dropped"
    unknown = [
        f"{table.table} {item.name}".rstrip()
        for table in answer.tables
        for item in table.partitions
        if item.written is None
    ]
    if unknown:
        return None, f"the time of the last change of {unknown[0]} is unknown"
    return False, "nothing that it needs has changed"


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
        self.definitions: list[str] = []

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
            self.definitions.append(f"{text.database}: {text.typed}")
            expansion = text.expand_typed(self._schemas)
            if len(expansion.names) == len(types):
                problem = self._lineage.read_text_lineage(row).problem
                return Relation(row.name, types, query=expansion.resolution, problem=problem)
            problem = f"{row.name} has {len(types)} columns, its text gives {len(expansion.names)}"
        except (SqlError, MetadataFileError, NoSuchViewError) as error:
            problem = str(error)
        return Relation(row.name, types, problem=problem, reads=self._lineage.read(row, self._rows.get).names)


@dataclass(frozen=True, kw_only=True)
class _AnalyzedTable:
    """The analysis of one table of a view: `dependency` without partitions, and how to select the partitions."""

    dependency: TableDependency
    by_column: Mapping[str, str] = field(default_factory=dict)
    """For each column of the view, the partition column that equals it in all uses."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Hive types of the partition columns."""
    by_use: Sequence[Mapping[str, tuple[Restriction, ...]]] = ()
    """The restricted partition columns, by use of the table."""
    partitions: TablePartitions | None = None
    """All partitions; None if the table does not exist."""
    is_enumerable: bool = True
    """Whether needed partitions can be enumerated by value; False if only expressions of columns are restricted."""
    _read: dict[str, BasePartition] = field(default_factory=dict)
    _buckets: dict[tuple[int, tuple[tuple[str, int], ...]], dict[tuple[str | None, ...], list[str]]] = field(
        default_factory=dict
    )

    def may_match(self, values: Mapping[str, str], given: Mapping[str, str]) -> bool:
        """Return whether a partition with the given values may be needed."""
        return any(may_match(values, restrictions, self.types, given) for restrictions in self.by_use)

    def absent_constants(self, given: Mapping[str, str]) -> set[Spec]:
        """Return the constants that the text requires for partition columns but that no listed partition has."""
        absent = set()
        for restrictions in self.by_use:
            constants = {
                column: canonical(item.literal, self.types[column]) or item.literal
                for column, equal in restrictions.items()
                for item in equal
                if item.literal is not None and item.expression is None
            }
            exists = any(
                all(
                    constants.get(column) in (None, canonical(value, self.types[column])) for column, value in part.spec
                )
                for part in self.dependency.partitions
            )
            if constants and not exists and may_match(constants, restrictions, self.types, given):
                absent.add(tuple(constants.items()))
        return absent

    def undetermined_columns(self, given: Mapping[str, str]) -> list[str]:
        """Return the partition columns whose value does not follow from the given values."""
        columns = [
            column
            for column in self.types
            if not all(
                any(
                    item.expression is None and (item.literal is not None or item.column in given)
                    for item in restrictions.get(column, ())
                )
                for restrictions in self.by_use
            )
        ]
        columns += self.partitions.not_followed if self.partitions is not None else ()
        return [f"{column} of {self.dependency.table}" for column in columns]

    def needed(self, given: Mapping[str, str]) -> list[str]:
        """Return the names of the partitions that may be needed for the given values, sorted."""
        if self.partitions is None or not self.types:
            return []
        names: set[str] = set()
        for number, restrictions in enumerate(self.by_use):
            names.update(
                name
                for name in self._candidates(number, restrictions, given)
                if may_match(self.partitions.values[name], restrictions, self.types, given)
            )
        return sorted(names)

    def _candidates(
        self, number: int, restrictions: Mapping[str, tuple[Restriction, ...]], given: Mapping[str, str]
    ) -> Iterable[str]:
        """Return the partitions whose columns, or expressions of them, equal the given values or are unknown."""
        assert self.partitions is not None, "`needed` checks it"
        pinned: dict[tuple[str, int], str] = {}
        for column, equal in restrictions.items():
            for position, item in enumerate(equal):
                text = given.get(item.column or "")
                if text is not None and item.expression is None:
                    text = canonical(text, self.types[column])
                if text is not None:
                    pinned[column, position] = text
        if not pinned:
            return self.partitions.values
        buckets = self._buckets.get((number, tuple(pinned)))
        if buckets is None:
            # The expressions are evaluated once for all requested values.
            buckets = self._buckets[number, tuple(pinned)] = {}
            for name, values in self.partitions.values.items():
                key = tuple(
                    _pinned_value(restrictions[column][position], values.get(column), self.types[column])
                    for column, position in pinned
                )
                buckets.setdefault(() if None in key else key, []).append(name)
        return [*buckets.get(tuple(pinned.values()), ()), *buckets.get((), ())]

    def read(self, names: Iterable[str]) -> list[BasePartition]:
        """Return partitions with their times; each is read once."""
        assert self.partitions is not None, "a table that does not exist has no partitions"
        wanted = sorted(names)
        missing = [name for name in wanted if name not in self._read]
        if missing:
            self._read.update(self.partitions.read(missing))
        # A partition that was dropped after it was listed is omitted.
        return [self._read[name] for name in wanted if name in self._read]

    def with_partitions(self, given: Mapping[str, str]) -> TableDependency:
        """Return the result with the partitions that may be needed for the given values."""
        if self.partitions is None:
            return self.dependency
        read = self.read(self.needed(given) if self.types else [""])
        if not self.dependency.is_determined:
            # These are the partitions of the current state; those of the state that the view reads are not determined.
            read = [replace(item, written=None, trust=Trust.NONE) for item in read]
        return replace(self.dependency, partitions=tuple(read))


def _analyze_table(
    store: MetastoreStore, relations: _RelationReader, name: ViewName, uses: Sequence[TableUse], given: frozenset[str]
) -> _AnalyzedTable:
    reasons = list(dict.fromkeys(reason for use in uses for reason in use.reasons))
    if relations.get(name) is None:
        return _AnalyzedTable(
            dependency=TableDependency(
                table=name,
                exists=False,
                partition_columns=(),
                restricted=(),
                partitions=(),
                missing=(),
                reasons=("nothing has that name", *reasons),
            )
        )
    row = relations.rows[name]
    state, version = uses[0].state_clause, uses[0].version
    if state is not None and row.kind is RowKind.HIVE_TABLE:
        if version is not None or not state.upper().startswith("WITH"):
            raise InvalidViewError(
                str(relations.view), f"it reads {name} {state}, but a plain Hive table has only its current state"
            )
        state = None  # options, by which only Iceberg names a state
    partitions = read_partitions(store, row, version)
    types = dict(partitions.keys)
    by_use = []
    for use in uses:
        restrictions = {column: equal for column, equal in use.columns if column in types}
        for column in [column for column in restrictions if types[column].startswith(_UNCOMPARABLE_TYPES)]:
            del restrictions[column]
            reasons.append(f"{column} is {types[column]}, whose values may be equal and look different")
        by_use.append(restrictions)
    is_restricted = bool(by_use) and all(by_use)
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
        reasons.append(f"the view's columns do not determine its partition columns {', '.join(types)}")
    is_exact = all(
        any(item.column is None or item.column in given for item in restrictions[column])
        for restrictions in by_use
        for column in shared
    )
    if is_restricted and len(restricted) == len(types) and (is_exact or not given):
        reasons = []  # the reasons concern other columns
    reasons += partitions.reasons
    if state is not None and version is None:
        because = ": it depends on the reader's time zone" if "TIMESTAMP" in state.upper() else ""
        reasons.append(f"the snapshot that {state} selects is not determined{because}")
    dependency = TableDependency(
        table=name,
        exists=True,
        partition_columns=tuple(types),
        restricted=restricted,
        partitions=(),
        missing=(),
        reasons=tuple(dict.fromkeys(reasons)),
        is_current=state is None,
        state=state,
        is_determined=partitions.is_determined and (state is None or version is not None),
    )
    return _AnalyzedTable(
        dependency=dependency,
        by_column=by_column,
        types=types,
        by_use=by_use,
        partitions=partitions,
        is_enumerable=is_enumerable or bool(by_column),
    )


def may_match(
    values: Mapping[str, str | None],
    restrictions: Mapping[str, tuple[Restriction, ...]],
    types: Mapping[str, str],
    given: Mapping[str, str],
) -> bool:
    """Return whether a partition may hold rows for the given values; unknown values match."""
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
    """Return whether an expression of a partition's value may be true or equal to a text.

    True if its value is unknown.
    """
    if value == DEFAULT_PARTITION:
        return False  # all supported expressions are NULL for NULL
    if restriction.is_condition:
        return _evaluate(restriction, value, kind) is not False
    result = _pinned_value(restriction, value, kind)
    return result is None or result == text


def _pinned_value(restriction: Restriction, value: str | None, kind: str) -> str | None:
    """Return the value of the column or expression that must equal the restricting value, as text; None if unknown."""
    if value is None or value == DEFAULT_PARTITION or restriction.expression is None:
        return value
    result = _evaluate(restriction, value, kind)
    return str(result) if isinstance(result, (str, int, date)) and not isinstance(result, bool) else None


def _evaluate(restriction: Restriction, value: str, kind: str) -> Value | None:
    typed = typed_value(value, kind)
    return None if typed is None or restriction.expression is None else evaluate(restriction.expression, typed)


def _shown(by_use: Sequence[Mapping[str, tuple[Restriction, ...]]], column: str) -> str:
    equal = dict.fromkeys(item for restrictions in by_use for item in restrictions[column])
    names = [item.column for item in equal if item.column is not None and item.expression is None]
    names = names or [f"'{item.literal}'" for item in equal if item.literal is not None and item.expression is None]
    return ", ".join(names or [_shown_expression(item, column) for item in equal])


def _shown_expression(restriction: Restriction, column: str) -> str:
    assert restriction.expression is not None, "restrictions of the column itself are shown first"
    text = shown_sql(with_value(restriction.expression, exp.Placeholder(), exp.column(column)))
    return text if restriction.is_condition else f"{text} = {restriction.column or repr(restriction.literal)}"


# -- Missing partitions -----------------------------------------------------------------------------------------------


def _registered_partitions(store: MetastoreStore, row: Row) -> list[dict[str, str]]:
    """Return the partitions that were added to the view."""
    columns = [column for column, _ in row.partition_keys]
    if not columns:
        return []
    return [
        dict(zip(columns, _canonical_values(row, values), strict=True))
        for values in partition_values(store.client, row).values()
    ]


def _with_missing(
    table: _AnalyzedTable,
    tables: Iterable[_AnalyzedTable],
    registered: Iterable[Mapping[str, str]],
    given: Mapping[str, str],
) -> TableDependency:
    """Add the missing partitions; tables are compared by the view's columns that equal their partition columns."""
    columns = frozenset(table.by_column)
    if not table.dependency.is_determined or _columns_without_values(table.dependency):
        return table.dependency
    if not columns:
        return replace(table.dependency, missing=tuple(sorted(table.absent_constants(given))))
    expected: set[Spec] = set()
    for other in tables:
        if columns <= other.by_column.keys() and other.dependency.is_determined:
            expected |= _existing(other, columns)
    expected |= {_select(values, columns) for values in registered if columns <= values.keys()}
    if columns <= given.keys():
        expected.add(_select(given, columns))
    absent = sorted(
        spec
        for spec in expected - _existing(table, columns)
        if table.may_match({table.by_column[column]: value for column, value in spec}, given)
    )
    missing = tuple(tuple((table.by_column[column], value) for column, value in values) for values in absent)
    return replace(table.dependency, missing=missing)


def _existing(table: _AnalyzedTable, columns: Iterable[str]) -> set[Spec]:
    """Return the values of columns of the view for which a table has partitions."""
    existing = set()
    for partition in table.dependency.partitions:
        spec = dict(partition.spec)
        if not spec.keys() >= {table.by_column[column] for column in columns}:
            continue
        values = {}
        for column in columns:
            key = table.by_column[column]
            # A writer may have stored 07 for the number 7.
            values[column] = canonical(spec[key], table.types[key]) or spec[key]
        if DEFAULT_PARTITION not in values.values():
            existing.add(_select(values, columns))
    return existing


def _columns_without_values(table: TableDependency) -> list[str]:
    """Return the restricted partition columns by which some files of an Iceberg table are not partitioned."""
    return [column for column, _ in table.restricted if any(column not in dict(part.spec) for part in table.partitions)]


def _select(values: Mapping[str, str], columns: Iterable[str]) -> Spec:
    return tuple((column, values[column]) for column in sorted(columns))


def _completeness(
    tables: Sequence[TableDependency], by_expression: Sequence[str], columns: Sequence[str], problem: str | None
) -> tuple[bool | None, str]:
    """Return whether all needed partitions exist, and the reason."""
    missing_tables = [str(table.table) for table in tables if not table.exists]
    if missing_tables:
        return False, f"{', '.join(missing_tables)} does not exist"
    incomplete = [table for table in tables if table.missing]
    if incomplete:
        sentences = (
            f"{table.table}{f' {table.state}' if table.state else ''} has no partition "
            + ", ".join(f"{column}={value}" for column, value in table.missing[0])
            + (f" and {len(table.missing) - 1} more" if len(table.missing) > 1 else "")
            for table in incomplete
        )
        return False, "; ".join(sentences)
    if problem is not None:
        return None, problem
    undetermined = next((table for table in tables if not table.is_determined), None)
    if undetermined is not None:
        return None, f"the partitions of {undetermined.table} are not determined: {undetermined.reasons[-1]}"
    unrestricted = [str(table.table) for table in tables if table.partition_columns and table.all_partitions]
    if unrestricted:
        return None, f"the view's text does not determine which partitions of {', '.join(unrestricted)} it needs"
    if by_expression:
        return (
            None,
            f"only expressions restrict the partitions of {', '.join(by_expression)}: their number is unknown",
        )
    if columns:
        return None, f"nothing determines {', '.join(columns)}: the number of needed partitions is unknown"
    for table in tables:
        if without := _columns_without_values(table):
            return None, f"{table.table} has files that are not partitioned by {', '.join(without)}"
    if not any(table.restricted for table in tables):
        return None, "no table behind it has partitions"
    return True, "every partition that it needs is there"
