"""Planning: decides how a refresh computes the rows. Nothing is read or written here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pyiceberg.types import DecimalType, DoubleType, FloatType

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Freshness, RecordedRefresh, changed_tables
from hive_views.materialized.refresh.actions import Action
from hive_views.materialized.refresh.costs import MeasuredRefresh, reason_against_keys
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.spec.session_settings import differing_settings
from hive_views.sql.analysis.incremental import (
    Aggregate,
    IncrementalQuery,
    NotIncrementalError,
    RowSelection,
)
from hive_views.sql.analysis.key_columns import key_columns
from hive_views.sql.types.spark_types import has_map, spark_type

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType

    from hive_views.materialized.freshness.cache import TableState
    from hive_views.materialized.refresh.partition_changes import PartitionSelection
    from hive_views.materialized.state.refresh_state import RefreshState


Positions = tuple[int, ...]
"""The positions of the output columns of a key: its value is that of the first one that is not NULL."""


@dataclass(frozen=True, kw_only=True)
class Full:
    """All rows are computed."""

    action: ClassVar = Action.FULL
    why: str
    """The reason."""
    reads_stored_rows: bool = False
    """Whether it reads stored rows of materialized views in place of their definitions."""


@dataclass(frozen=True, kw_only=True)
class Incremental:
    """The results of added rows are computed, and added to the stored rows or merged with them."""

    action: ClassVar = Action.INCREMENTAL
    why: str
    """The reason."""
    selections: tuple[Mapping[int, RowSelection], ...] = ()
    """One entry per query to run, with the rows that it reads of each leaf, by the leaf's number."""
    aggregate: Aggregate | None = None
    """How new rows are merged with the stored ones; None appends them."""
    in_place: bool = False
    """With an aggregate: whether only the stored groups that change are written."""


@dataclass(frozen=True, kw_only=True)
class ByPartitions:
    """The rows of the partitions are computed that a change may concern."""

    action: ClassVar = Action.PARTITIONS
    why: str
    """The reason."""
    partitions: PartitionSelection
    """Which ones."""


@dataclass(frozen=True, kw_only=True)
class ByKeys:
    """The rows with the keys of changed rows are computed."""

    action: ClassVar = Action.KEYS
    why: str
    """The reason."""
    keys: Mapping[int, Mapping[Positions, str]]
    """By changed leaf, the table's columns by the positions of the output columns of each key."""
    compared_rows: int | None
    """How many rows are compared to find the affected keys; None if it is not known."""


RefreshPlan = Full | Incremental | ByPartitions | ByKeys
"""How the rows will be computed."""


PartitionChanges = Callable[[int, int, Mapping[int, str]], "PartitionSelection"]
"""Maps a leaf, a snapshot and keys to the partitions that changed since; raises NotIncrementalError.
The keys are the table's columns by the position of the output column."""


@dataclass(frozen=True, kw_only=True)
class PlanInput:
    """What a plan is based on."""

    recorded: RecordedRefresh
    """The refresh that wrote the stored rows."""
    freshness: Freshness
    tables: Mapping[ViewName, TableState]
    """The Iceberg tables among the sources."""
    leaves: IncrementalQuery
    """The definition over tables alone."""
    schema: Schema
    """The columns of the storage table after the refresh."""
    is_repeatable: bool
    """Whether the definition is deterministic."""
    settings: Mapping[str, str]
    can_replace_keys: bool = False
    """Whether the engine can replace the rows with some keys."""
    can_compare_files: bool = False
    """Whether the engine finds the changed rows of tables with delete files by the files that differ."""
    merges_in_place: bool = False
    """Whether changed groups are better written alone than with all others."""
    max_compared_percent: int | None = None
    """How many rows may be compared to find the affected keys, in percent of the rows of all tables; None for any."""
    max_keys_time_percent: int | None = None
    """How long a refresh by keys may take, in percent of the time of a full one; None for any time."""
    earlier: Sequence[MeasuredRefresh] = ()
    """The earlier refreshes of the same definition, newest first."""


def plan_refresh(given: PlanInput, changed_partitions: PartitionChanges) -> Iterator[RefreshPlan]:
    """Decide how to compute rows that are not fresh, or that were computed under other settings.

    Yields plans in the order of preference; each is used if the one before it fails. The last computes everything.
    """
    why = _reason_for_full(given)
    if why is not None:
        yield Full(why=why)
        return
    state = given.recorded.state
    assert state is not None, "without a state everything is computed"
    changed = changed_tables(given.freshness)
    if not changed:
        grown = sorted({str(reason.source) for reason in given.freshness.reasons})
        yield Incremental(why=f"columns that it does not read were added to {', '.join(grown)}")
        yield Full(why="its sources have other columns")
        return
    rewritten = [
        name for name in changed if not given.tables[name].only_grew_since(_known_snapshot(state, given.tables, name))
    ]
    changed_leaves = [number for number, leaf in enumerate(given.leaves.leaves) if ViewName(*leaf.name) in changed]
    if not changed_leaves:
        yield Incremental(why="only tables changed that a query in WITH reads, which is not used")
        yield Full(why="its sources changed")
        return
    if rewritten:
        why = f"rows of {', '.join(map(str, rewritten))} were changed or deleted"
    else:
        why = f"rows were added to {', '.join(map(str, sorted(set(changed))))}"
        try:
            aggregate = given.leaves.aggregate(_decimal_precisions(given.schema), _are_floats(given.schema))
            selections = given.leaves.added(changed_leaves, grouped=aggregate is not None)
            has_keys = aggregate is not None and None in aggregate.merge
            in_place = has_keys and given.can_replace_keys and given.merges_in_place
            yield Incremental(why=why, selections=selections, aggregate=aggregate, in_place=in_place)
        except NotIncrementalError as error:
            why = f"its definition cannot be updated from added rows: {error}"
    try:
        keys = {leaf: _keys(given, leaf) for leaf in changed_leaves}
    except NotIncrementalError as error:
        yield Full(why=f"{why}; keys: {error}")
        return
    if len(changed) == 1 and len(keys) == 1:
        [(leaf, columns)] = keys.items()
        single = {positions[0]: column for positions, column in columns.items() if len(positions) == 1}
        try:
            partitions = changed_partitions(leaf, _known_snapshot(state, given.tables, changed[0]), single)
            yield ByPartitions(why=f"{why}, where {partitions.condition}", partitions=partitions)
        except NotIncrementalError as error:
            why = f"{why}; partitions: {error}"
    if given.can_replace_keys:
        common = sorted(set.intersection(*map(set, keys.values())))
        compared_rows = _compared_rows(given, state, changed)
        costs = _reason_against_comparing(given, compared_rows)
        if costs is not None:
            why = f"{why}; keys: {costs}"
        elif common:
            chosen = {leaf: {at: columns[at] for at in common} for leaf, columns in keys.items()}
            names = [[given.schema.fields[at].name for at in positions] for positions in common]
            listed = ", ".join(name[0] if len(name) == 1 else f"coalesce({', '.join(name)})" for name in names)
            yield ByKeys(why=f"{why}; by the keys {listed}", keys=chosen, compared_rows=compared_rows)
        else:
            why = f"{why}; keys: the changed tables have no key in common"
    yield Full(why=why)


_MIN_COMPARED_ROWS = 100_000
"""Below this number a comparison takes less than a second."""


def _compared_rows(given: PlanInput, state: RefreshState, changed: Iterable[ViewName]) -> int | None:
    """How many rows are compared to find the affected keys; None if it is not known."""
    return _sum(
        [
            given.tables[name].compared_rows_since(
                _known_snapshot(state, given.tables, name), by_files=given.can_compare_files
            )
            for name in changed
        ]
    )


def _reason_against_comparing(given: PlanInput, compared_rows: int | None) -> str | None:
    """Why computing everything costs less than to find the affected keys; None if it costs more, or is not known.

    To compare a row takes about five times as long as to read it, and the tables are read in either case.
    """
    rows = table_rows(given.leaves, given.tables)
    if compared_rows is None or rows is None:
        return None
    if given.max_compared_percent is not None:
        is_cheap = compared_rows < _MIN_COMPARED_ROWS and given.max_compared_percent > 0
        if not is_cheap and compared_rows * 100 > rows * given.max_compared_percent:
            return f"{compared_rows:,} row(s) would be compared to find them, and its tables have {rows:,}"
    if given.max_keys_time_percent is not None:
        return reason_against_keys(given.earlier, rows, compared_rows, given.max_keys_time_percent)
    return None


def table_rows(leaves: IncrementalQuery, tables: Mapping[ViewName, TableState]) -> int | None:
    """Count the rows of the tables that a definition reads; None if that is not recorded."""
    names = {ViewName(*leaf.name) for leaf in leaves.leaves}
    return _sum([tables[name].rows if name in tables else None for name in names])


def _sum(counts: Collection[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _keys(given: PlanInput, leaf: int) -> dict[Positions, str]:
    """Return the keys of a leaf whose columns all have its own type: 1 = '01', but their texts differ."""

    def type_of(number: int, column: str) -> IcebergType | None:
        table = given.tables.get(ViewName(*given.leaves.leaves[number].name))
        fields = () if table is None else table.columns[table.schema_id]
        return next((item.field_type for item in fields if item.name.lower() == column), None)

    def name_of(kind: IcebergType | None) -> str | None:
        return None if kind is None else spark_type(kind)  # without the field ids of nested columns

    keys = {}
    for positions, key in key_columns(given.leaves, leaf, len(given.schema.fields)).items():
        types: list[IcebergType | None] = [given.schema.fields[at].field_type for at in positions]
        types += [type_of(number, column) for number, column in key.same_type]
        own_type = type_of(leaf, key.column)
        if all(name_of(item) == name_of(own_type) for item in types) and not has_map(own_type):
            keys[positions] = key.column
    if not keys:
        raise NotIncrementalError("no output column has the type of the key that it is compared with, without a MAP")
    return keys


def _reason_for_full(given: PlanInput) -> str | None:
    """Why everything has to be computed, whatever changed; None if that depends on the changes."""
    recorded, freshness = given.recorded, given.freshness
    state = recorded.state
    if state is None or changed_tables(freshness) is None:
        return "; ".join(map(str, freshness.reasons))
    if given.settings and not recorded.settings:
        return "the session settings with which its rows were computed are not known"
    differing = differing_settings(recorded.settings, given.settings)
    if differing:
        return f"its rows were computed with {format_settings(recorded.settings, differing)}"
    if not freshness.reasons:
        return "it was requested"
    if not given.is_repeatable:
        return "its definition may give other rows each time"
    if not state.has_unique_uuids:
        return "more than one of its sources has the same UUID"
    for leaf in given.leaves.leaves:
        name = ViewName(*leaf.name)
        table = given.tables.get(name)
        source = None if table is None else state.source(name, table.uuid)
        if table is None or source is None:
            return f"the earlier state of {name} is not known"
        if source.id != NO_SNAPSHOT and source.id not in table.snapshots:
            return f"the history of {name} since the last refresh has expired"
        if source.definition is None or source.definition != table.definition(source.schema_id):
            return f"the earlier columns of {name} are not known, or its name mapping changed"
        schema_ids = {source.schema_id, table.written_schema_id}
        if source.id != NO_SNAPSHOT:
            schema_ids.add(table.snapshots[source.id].schema_id)
        for schema_id in schema_ids - {None, table.schema_id}:
            added = table.columns_added_since(schema_id)
            if added is None or given.leaves.may_read(added):
                return f"{name} has other columns than it had"
    return None


def format_settings(settings: Mapping[str, str], keys: Iterable[str]) -> str:
    """Format some settings for messages."""
    return ", ".join(f"{key}={settings.get(key, 'its default')}" for key in keys)


def _known_snapshot(state: RefreshState, tables: Mapping[ViewName, TableState], name: ViewName) -> int:
    """Return the snapshot of a table that the last refresh read."""
    source = state.source(name, tables[name].uuid)
    assert source is not None, "otherwise everything is computed"
    return source.id


def _decimal_precisions(schema: Schema) -> list[int | None]:
    types = [field.field_type for field in schema.fields]
    return [field_type.precision if isinstance(field_type, DecimalType) else None for field_type in types]


def _are_floats(schema: Schema) -> list[bool]:
    return [isinstance(field.field_type, (FloatType, DoubleType)) for field in schema.fields]
