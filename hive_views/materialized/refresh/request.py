"""Requests: what an engine computes from fixed snapshots of the sources, and writes as an unpublished snapshot."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Protocol

from pyiceberg.types import DecimalType, LongType
from typing_extensions import assert_never

from hive_views.errors import RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.properties import merge_from_rows
from hive_views.materialized.refresh.plan import ByKeys, ByPartitions, Full, Incremental
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, row_count, summary_of
from hive_views.spec.whole_numbers import whole_number
from hive_views.sql.analysis.incremental import Aggregate, IncrementalQuery, RowSelection, TableLeaf
from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType

    from hive_views.materialized.checks.inline import StoredSource
    from hive_views.materialized.checks.sources import Sources
    from hive_views.materialized.freshness.verdict import RecordedRefresh
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.refresh.plan import Positions, RefreshPlan

# -- What happens to the stored rows ----------------------------------------------------------------------------------

Key = tuple[str, ...]
"""The table's columns of a key, whose value is that of the first one that is not NULL."""


@dataclass(frozen=True)
class Overwrite:
    """They are replaced by the rows of the queries."""


@dataclass(frozen=True)
class Append:
    """The rows of the queries are added."""


@dataclass(frozen=True)
class ReplacePartitions:
    """Those of some partitions are replaced."""

    where: str
    """The condition on the table's columns that selects the partitions."""


@dataclass(frozen=True)
class ReplaceKeys:
    """Those with some keys are replaced."""

    query: str
    """The query of the affected keys, without duplicates."""
    keys: tuple[Key, ...]
    """The table's columns of each key, in the order of the query's columns."""
    limit: int
    """With more affected keys all rows are recomputed."""


class MergeFunction(Enum):
    """How a stored value and a new one become one; the value is the name of the SQL function."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class MergeGroups:
    """The rows of the queries are merged into those with the same keys, or added."""

    keys: tuple[Key, ...]
    """The table's columns of each key."""
    functions: Mapping[str, MergeFunction]
    """How the other columns are merged."""


Write = Overwrite | Append | ReplacePartitions | ReplaceKeys | MergeGroups
"""What happens to the stored rows."""


# -- The request ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Input:
    """Rows of one table, under the name by which the queries read them."""

    alias: str
    """The name in the queries."""
    table: ViewName
    """The table's name in the catalog."""
    part: RowSelection
    snapshot_id: int
    """The snapshot to read; `NO_SNAPSHOT` for a table without rows."""
    since: int | None = None
    """For ADDED: the snapshot after which rows count as added."""
    iceberg: bool = True
    """Whether it is an Iceberg table; a Hive table is read in its current state."""
    has_changelog: bool = False
    """For CHANGED: whether Iceberg can list the changes; otherwise two states are compared."""
    live: bool = False
    """Whether to read the current state without naming the snapshot: a snapshot is read with the columns it was written
    with, and the table's columns have changed since. The refresh checks afterwards that the table did not change."""


@dataclass(frozen=True, kw_only=True)
class StagingTarget:
    """Where one attempt of a refresh writes its rows."""

    table: ViewName
    """The staging table's name in the catalog."""
    refresh_id: str
    """Identifies this attempt."""
    summary: Mapping[str, str]
    """Entries for the snapshot's summary."""

    @classmethod
    def unwritten(cls, view: LoadedMaterializedView) -> StagingTarget:
        """Return a target for queries that are only analyzed or read."""
        return cls(table=view.storage_name or view.name, refresh_id=uuid.uuid4().hex, summary={})


@dataclass(frozen=True, kw_only=True)
class StagingRequest:
    """What an engine computes and writes in one refresh."""

    target: StagingTarget
    """Where the rows are written."""
    write: Write
    """What happens to the rows that are stored there."""
    queries: tuple[str, ...]
    """Queries over the inputs; the rows of all of them are written."""
    inputs: tuple[Input, ...]
    """What the queries read."""
    schema: Schema
    """The table's columns at the start of the refresh, in the order of the queries' columns."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Write options of Iceberg's Spark runtime that override table properties."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        return tuple(field.name for field in self.schema.fields)


class Engine(Protocol):
    """Runs queries and writes Iceberg tables, like `hive_views.spark.SparkEngine`."""

    can_replace_keys: bool
    """Whether `stage` supports `ReplaceKeys` and `MergeGroups`."""
    can_compare_files: bool
    """Whether it finds the changed rows of tables with delete files by the files that differ, and not by all rows."""

    def settings(self, keys: Collection[str] = ()) -> Mapping[str, str]:
        """Settings that query results depend on, e.g. the session's time zone, if they differ from the defaults.

        Args:
            keys: Settings to return in any case, if they exist.
        """
        ...

    def casts_relative_times(self, request: StagingRequest) -> bool | None:
        """Return whether the queries cast a constant text such as `now` or `today` to a date or time.

        None if unknown.
        """
        ...

    def stage(self, request: StagingRequest) -> int | None:
        """Write the rows as a snapshot on top of the staging table's current one, without making it the current one.

        Returns:
            The snapshot's id, or None to have it found by the refresh id in its summary.
        """
        ...


# -- From a plan to a request -----------------------------------------------------------------------------------------


def staging_request(
    target: StagingTarget, inputs: Inputs, leaves: IncrementalQuery, plan: RefreshPlan, schema: Schema
) -> StagingRequest:
    """Turn a plan into queries over fixed snapshots of the sources."""
    builder = _QueryBuilder(target, inputs, leaves, schema)
    match plan:
        case Full():
            queries, write = builder.full()
        case Incremental():
            queries, write = builder.incremental(plan)
        case ByPartitions():
            queries, write = builder.by_partitions(plan)
        case ByKeys():
            queries, write = builder.by_keys(plan)
        case _:
            assert_never(plan)
    storage = inputs.view.storage
    return StagingRequest(
        target=target,
        write=write,
        queries=queries,
        inputs=inputs.all(),
        schema=schema,
        options=_write_options({} if storage is None else storage.properties),
    )


class _QueryBuilder:
    """The queries of each kind of plan, and what happens to the stored rows."""

    def __init__(self, target: StagingTarget, inputs: Inputs, leaves: IncrementalQuery, schema: Schema) -> None:
        self._target = target
        self._inputs = inputs
        self._leaves = leaves
        self._schema = schema
        self._columns = tuple(field.name for field in schema.fields)
        self._listed = ", ".join(map(quote_identifier, self._columns))

    def full(self) -> tuple[tuple[str, ...], Write]:
        return (self._all_rows(),), Overwrite()

    def incremental(self, plan: Incremental) -> tuple[tuple[str, ...], Write]:
        # If no row changed, only the new state is recorded.
        no_rows = () if plan.selections else (f"SELECT * FROM ({self._all_rows()}) AS q WHERE false",)
        queries = (*map(self._query, plan.selections), *no_rows)
        if plan.aggregate is None:
            return queries, Append()
        if not plan.in_place:
            stored = self._inputs.add_stored_rows(self._target.table)
            return (_merge_query(stored, plan.aggregate, queries, self._schema),), Overwrite()
        merged = zip(self._columns, plan.aggregate.merge, strict=True)
        functions = {name: MergeFunction(function) for name, function in merged if function is not None}
        keys = tuple((name,) for name in self._columns if name not in functions)
        return (_merge_query(None, plan.aggregate, queries, self._schema),), MergeGroups(keys, functions)

    def by_partitions(self, plan: ByPartitions) -> tuple[tuple[str, ...], Write]:
        where = plan.partitions.condition
        query = f"SELECT {self._listed} FROM ({self._all_rows()}) AS q ({self._listed}) WHERE {where}"
        return (query,), ReplacePartitions(where)

    def by_keys(self, plan: ByKeys) -> tuple[tuple[str, ...], Write]:
        positions = sorted(next(iter(plan.keys.values())))
        keys = tuple(tuple(self._columns[at] for at in key) for key in positions)
        is_key = " AND ".join(f"{key_value('q', key)} <=> k.{key_name(number)}" for number, key in enumerate(keys))
        query = (
            f"SELECT {self._listed} FROM ({self._all_rows()}) AS q ({self._listed}) "
            f"LEFT SEMI JOIN {KEYS_VIEW} AS k ON {is_key}"
        )
        limit = max(_MIN_MAX_KEYS, stored_row_count(self._inputs.view) // _MAX_KEYS_SHARE)
        return (query,), ReplaceKeys(_keys_query(plan, positions, self._leaves, self._inputs), keys, limit)

    def _all_rows(self) -> str:
        return self._query(dict.fromkeys(range(len(self._leaves.leaves)), RowSelection.NOW))

    def _query(self, rows: Mapping[int, RowSelection]) -> str:
        return self._leaves.render(lambda number, leaf: self._inputs.add(leaf, rows[number]))


def _keys_query(plan: ByKeys, positions: Sequence[Positions], leaves: IncrementalQuery, inputs: Inputs) -> str:
    """Return the query of the keys of all changed rows."""
    queries = []
    for number, columns in sorted(plan.keys.items()):
        items = (f"{quote_identifier(columns[at])} AS {key_name(n)}" for n, at in enumerate(positions))
        changed_rows = inputs.add(leaves.leaves[number], RowSelection.CHANGED)
        queries.append(f"SELECT {', '.join(items)} FROM {changed_rows}")
    return f"SELECT DISTINCT * FROM ({' UNION '.join(queries)}) AS k"


_MIN_MAX_KEYS = 1_000
_MAX_KEYS_SHARE = 5
"""A refresh by keys may replace a fifth of the stored rows, if there is one row for each key."""


def stored_row_count(view: LoadedMaterializedView) -> int:
    """Return the number of stored rows, by the summary of their snapshot; 0 if it is not recorded."""
    return row_count(summary_of(view.snapshot)) or 0


KEYS_VIEW = "hive_views_keys"
"""The name by which the queries of `ReplaceKeys` read the affected keys."""


def key_name(number: int) -> str:
    """Return the column of the affected keys with the values of a key."""
    return f"hive_views_key_{number}"


def key_value(alias: str, columns: tuple[str, ...]) -> str:
    """Return the value of a key in a row; the alias may be empty."""
    names = [f"{alias}{'.' if alias else ''}{quote_identifier(column)}" for column in columns]
    return names[0] if len(names) == 1 else f"coalesce({', '.join(names)})"


_MAX_DELETED_SHARE = 5


def merges_in_place(view: LoadedMaterializedView) -> bool:
    """Return whether a refresh writes only the groups that change: if there are many, and few rows in delete files.

    Otherwise it writes all of them, which also removes the delete files of earlier refreshes.
    """
    rows = stored_row_count(view)
    deleted = whole_number(summary_of(view.snapshot).get("total-position-deletes")) or 0
    return rows >= merge_from_rows(view.properties) and deleted * _MAX_DELETED_SHARE <= max(rows, 1)


def _write_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options for a storage table; Trino writes an empty codec, which Iceberg's Spark runtime rejects."""
    file_format = properties.get("write.format.default", "parquet").lower()
    return {"compression-codec": "zstd"} if properties.get(f"write.{file_format}.compression-codec") == "" else {}


class Inputs:
    """The inputs of a request, without duplicates."""

    def __init__(
        self,
        view: LoadedMaterializedView,
        recorded: RecordedRefresh,
        sources: Sources,
        storages: Collection[StoredSource] = (),
    ) -> None:
        """Make inputs for a view whose query reads these sources, and stored rows of other materialized views."""
        self.view = view
        self._storages = {storage.table: storage.snapshot_id for storage in storages}
        self._state = recorded.state
        self._sources = sources
        self._inputs: dict[tuple[ViewName, RowSelection], Input] = {}

    def all(self) -> tuple[Input, ...]:
        """Return all inputs that were added."""
        return tuple(self._inputs.values())

    def add(self, leaf: TableLeaf, part: RowSelection) -> str:
        """Add rows of a leaf, and return their name in the queries."""
        name = ViewName(*leaf.name)
        table = self._sources.tables.get(name)
        read = partial(Input, alias="", table=name, part=part)
        if table is None and name in self._storages:
            return self._add(read(part=RowSelection.NOW, snapshot_id=self._storages[name]))
        if table is None:
            if name not in self._sources.hive_tables:
                raise RefreshError(str(self.view.name), f"{name} is not among its sources")
            return self._add(read(part=RowSelection.NOW, snapshot_id=NO_SNAPSHOT, iceberg=False))
        recorded = None if self._state is None else self._state.source(name, table.uuid)
        since = NO_SNAPSHOT if recorded is None else recorded.id
        if part is RowSelection.CHANGED:
            has_changelog = table.has_changelog_since(since)
            return self._add(read(snapshot_id=table.snapshot_id, since=since, has_changelog=has_changelog))
        if part is RowSelection.BEFORE:
            return self._add(read(snapshot_id=since))
        if part is RowSelection.NOW and not table.has_schema_of(table.snapshot_id):
            return self._add(read(snapshot_id=table.snapshot_id, live=True))
        return self._add(read(snapshot_id=table.snapshot_id, since=since if part is RowSelection.ADDED else None))

    def add_stored_rows(self, target: ViewName) -> str:
        """Add the stored rows, and return their name in the queries."""
        current = self.view.readable_storage().metadata.current_snapshot_id
        snapshot_id = NO_SNAPSHOT if current is None else current
        return self._add(Input(alias="", table=target, part=RowSelection.NOW, snapshot_id=snapshot_id))

    def _add(self, new_input: Input) -> str:
        key = (new_input.table, new_input.part)
        if key not in self._inputs:
            self._inputs[key] = replace(new_input, alias=f"hive_views_input_{len(self._inputs)}")
        return quote_identifier(self._inputs[key].alias)


def _merge_query(stored: str | None, aggregate: Aggregate, queries: tuple[str, ...], schema: Schema) -> str:
    """Return a query that groups the partial results of the new rows, and the stored rows if they are given."""
    columns = [quote_identifier(field.name) for field in schema.fields]
    listed = ", ".join(columns)
    parts = [] if stored is None else [f"SELECT {listed} FROM {stored} AS s"]
    parts += [f"SELECT {listed} FROM ({query}) AS a ({listed})" for query in queries]
    items, keys = [], []
    for column, stored_field, function in zip(columns, schema.fields, aggregate.merge, strict=True):
        if function is None:
            items.append(column)
            keys.append(column)
            continue
        items.append(f"{merged_type(f'{function}({column})', stored_field.field_type)} AS {column}")
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join(items)} FROM ({' UNION ALL '.join(parts)}) AS m{group}"


def merged_type(value: str, field_type: IcebergType) -> str:
    """Return a merged value in the type of its column: a sum of decimals or integers has a wider one."""
    if isinstance(field_type, DecimalType):
        return f"CAST({value} AS DECIMAL({field_type.precision}, {field_type.scale}))"
    return f"CAST({value} AS BIGINT)" if isinstance(field_type, LongType) else value
