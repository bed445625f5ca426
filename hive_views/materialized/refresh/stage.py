"""Staging: an engine computes rows from fixed snapshots of the sources and writes them as an unpublished snapshot."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.update import RemovePropertiesUpdate, update_table_metadata
from pyiceberg.types import DecimalType, LongType

from hive_views.errors import CommitStateUnknownError, HiveViewsError, MetastoreError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layout import write_table_metadata
from hive_views.materialized.properties import MERGE_FROM_ROWS
from hive_views.materialized.redefine import schema_updates
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, row_count, summary_of
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STAGING_MARK
from hive_views.spec.whole_numbers import whole_number
from hive_views.sql.analysis.incremental import Aggregate, IncrementalQuery, RowSelection, TableLeaf
from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType

    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.materialized.freshness.sources import Sources
    from hive_views.materialized.freshness.verdict import RecordedRefresh
    from hive_views.materialized.layouts.loading import MaterializedView
    from hive_views.materialized.refresh.inline import StoredSource
    from hive_views.materialized.refresh.plan import Positions, RefreshPlan
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore

logger = logging.getLogger(__name__)


class Action(Enum):
    """What happens to the stored rows."""

    OVERWRITE = "overwrite"
    """They are replaced by the rows of the queries."""
    APPEND = "append"
    """The rows of the queries are added."""
    PARTITIONS = "partitions"
    """Those of some partitions are replaced."""
    KEYS = "keys"
    """Those with some keys are replaced."""
    MERGE = "merge"
    """The rows of the queries are merged into those with the same keys, or added."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class StagingRequest:
    """What an engine computes and writes in one refresh."""

    target: ViewName
    """The staging table's name in the catalog."""
    action: Action
    """What happens to its rows."""
    queries: tuple[str, ...]
    """Queries over the inputs; the rows of all of them are written."""
    inputs: tuple[Input, ...]
    """What the queries read."""
    columns: tuple[str, ...]
    """The names of the table's columns, in the order of the queries' columns."""
    summary: Mapping[str, str]
    """Entries for the snapshot's summary."""
    refresh_id: str
    """Identifies this refresh attempt."""
    schema: Schema
    """The table's columns at the start of the refresh."""
    where: str | None = None
    """For PARTITIONS: the condition on the table's columns that selects the partitions."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Write options of Iceberg's Spark runtime that override table properties."""
    keys_query: str | None = None
    """For KEYS: the query of the affected keys, without duplicates."""
    keys: tuple[tuple[str, ...], ...] = ()
    """For KEYS and MERGE: the table's columns of each key, whose value is that of the first one that is not NULL."""
    merges: Mapping[str, str] = field(default_factory=dict)
    """For MERGE: `sum`, `min` or `max` by the column that it merges."""
    max_keys: int = 0
    """For KEYS: with more affected keys all rows are recomputed."""


class Engine(Protocol):
    """Runs queries and writes Iceberg tables, like `hive_views.spark.SparkEngine`."""

    can_replace_keys: bool
    """Whether `stage` supports the actions KEYS and MERGE."""
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


# -- The staging table ------------------------------------------------------------------------------------------------


def staging_prefix(view: ViewName) -> str:
    """Return the beginning of the names of a view's staging tables."""
    return f"{view.name[:200]}{STAGING_MARK}"


@contextmanager
def staging_table(
    store: MetastoreStore,
    tables: TableOperations,
    view: MaterializedView,
    refresh_id: str,
    columns: Schema | None = None,
) -> Iterator[ViewName]:
    """A table of the catalog that an engine can write the rows of a refresh to.

    It is the storage table itself, unless that is in no catalog or gets other columns: then a temporary row is
    registered from its metadata, and what is written there becomes the view's when it is published.
    """
    if view.storage_name is not None and columns is None:
        yield view.storage_name
        return
    storage = view.readable_storage()
    name = ViewName(view.name.database, f"{staging_prefix(view.name)}{refresh_id}")
    location = storage.metadata_location
    if columns is not None:
        location = _write_with_columns(store.files, storage, columns)
    try:
        tables.register_table(name.identifier, location)
    except HiveViewsError as error:
        if columns is not None and not error.may_take_effect:
            store.files.delete(location)
        raise
    try:
        yield name
    finally:
        _remove_staging_row(store, tables, storage, name)


def _write_with_columns(files: MetadataFiles, storage: Table, columns: Schema) -> str:
    """Write metadata of a storage table with other columns, and without the property of a materialized view."""
    removals = [METADATA] if METADATA in storage.metadata.properties else []
    updates = (*schema_updates(columns), RemovePropertiesUpdate(removals=removals))
    metadata = update_table_metadata(storage.metadata, updates, metadata_location=storage.metadata_location)
    return write_table_metadata(files, metadata, len(metadata.metadata_log))


def _remove_staging_row(store: MetastoreStore, tables: TableOperations, storage: Table, name: ViewName) -> None:
    """Drop a staging row and delete the metadata files that only it has. Its data files are the storage table's."""
    try:
        locations = _metadata_files(tables.load_table(name.identifier))
    except (MetastoreError, NoSuchTableError, OSError) as error:
        locations = []
        logger.info("Metadata files of the staging row %s may be left behind: %s", name, error)
    try:
        tables.remove_table(name.identifier)
    except NoSuchTableError:
        logger.info("The staging row %s was already gone", name)
        return
    except (MetastoreError, CommitStateUnknownError) as error:
        # This does not change the outcome of the refresh: garbage collection finds the row later.
        logger.warning("The staging row %s may be left behind: %s", name, error)
        return
    needed = _metadata_files(storage)
    for location in locations:
        if location not in needed:
            store.files.delete(location)


def _metadata_files(table: Table) -> list[str]:
    return [*(entry.metadata_file for entry in table.metadata.metadata_log), table.metadata_location]


# -- The request ------------------------------------------------------------------------------------------------------


def staging_request(
    target: ViewName,
    view: MaterializedView,
    inputs: Inputs,
    leaves: IncrementalQuery,
    plan: RefreshPlan,
    schema: Schema,
    summary: Mapping[str, str],
    refresh_id: str,
) -> StagingRequest:
    """Turn a plan into queries over fixed snapshots of the sources."""
    columns = tuple(field.name for field in schema.fields)
    listed = ", ".join(map(quote_identifier, columns))

    def query(rows: Mapping[int, RowSelection]) -> str:
        return leaves.render(lambda number, leaf: inputs.add(leaf, rows[number]))

    all_rows = dict.fromkeys(range(len(leaves.leaves)), RowSelection.NOW)
    action = Action.OVERWRITE
    keys_query: str | None = None
    keys: tuple[tuple[str, ...], ...] = ()
    merges: dict[str, str] = {}
    if plan.action == "incremental":
        # If no row changed, only the new state is recorded.
        no_rows = () if plan.selections else (f"SELECT * FROM ({query(all_rows)}) AS q WHERE false",)
        queries = (*map(query, plan.selections), *no_rows)
        if plan.aggregate is None:
            action = Action.APPEND
        else:
            stored = None if plan.in_place else inputs.add_stored_rows(target)
            queries = (_merge_query(stored, plan.aggregate, queries, schema),)
            if plan.in_place:
                action = Action.MERGE
                merged = zip(columns, plan.aggregate.merge, strict=True)
                merges = {name: function for name, function in merged if function is not None}
                keys = tuple((name,) for name in columns if name not in merges)
    elif plan.where is not None:
        action = Action.PARTITIONS
        queries = (f"SELECT {listed} FROM ({query(all_rows)}) AS q ({listed}) WHERE {plan.where}",)
    elif plan.keys:
        action = Action.KEYS
        positions = sorted(next(iter(plan.keys.values())))
        keys = tuple(tuple(columns[at] for at in key) for key in positions)
        is_key = " AND ".join(f"{key_value('q', key)} <=> k.{key_name(number)}" for number, key in enumerate(keys))
        queries = (
            f"SELECT {listed} FROM ({query(all_rows)}) AS q ({listed}) LEFT SEMI JOIN {KEYS_VIEW} AS k ON {is_key}",
        )
        keys_query = _keys_query(plan, positions, leaves, inputs)
    else:
        queries = (query(all_rows),)
    return StagingRequest(
        target,
        action,
        queries,
        inputs.all(),
        columns,
        summary,
        refresh_id,
        schema,
        plan.where,
        _write_options({} if view.storage is None else view.storage.properties),
        keys_query,
        keys,
        merges,
        max(_MIN_MAX_KEYS, stored_row_count(view) // _MAX_KEYS_SHARE),
    )


def _keys_query(plan: RefreshPlan, positions: Sequence[Positions], leaves: IncrementalQuery, inputs: Inputs) -> str:
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


def stored_row_count(view: MaterializedView) -> int:
    """Return the number of stored rows, by the summary of their snapshot; 0 if it is not recorded."""
    return row_count(summary_of(view.snapshot)) or 0


KEYS_VIEW = "hive_views_keys"
"""The name by which the queries of the action KEYS read the rows of `keys_query`."""


def key_name(number: int) -> str:
    """Return the column of `keys_query` with the values of a key."""
    return f"hive_views_key_{number}"


def key_value(alias: str, columns: tuple[str, ...]) -> str:
    """Return the value of a key in a row; the alias may be empty."""
    names = [f"{alias}{'.' if alias else ''}{quote_identifier(column)}" for column in columns]
    return names[0] if len(names) == 1 else f"coalesce({', '.join(names)})"


_MIN_ROWS_IN_PLACE = 50_000
_MAX_DELETED_SHARE = 5


def merges_in_place(view: MaterializedView) -> bool:
    """Return whether a refresh writes only the groups that change: if there are many, and few rows in delete files.

    Otherwise it writes all of them, which also removes the delete files of earlier refreshes.
    """
    rows = stored_row_count(view)
    deleted = whole_number(summary_of(view.snapshot).get("total-position-deletes")) or 0
    threshold = whole_number(view.properties.get(MERGE_FROM_ROWS))
    minimum = _MIN_ROWS_IN_PLACE if threshold is None else threshold
    return rows >= minimum and deleted * _MAX_DELETED_SHARE <= max(rows, 1)


def _write_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options for a storage table; Trino writes an empty codec, which Iceberg's Spark runtime rejects."""
    file_format = properties.get("write.format.default", "parquet").lower()
    return {"compression-codec": "zstd"} if properties.get(f"write.{file_format}.compression-codec") == "" else {}


class Inputs:
    """The inputs of a request, without duplicates."""

    def __init__(
        self,
        view: MaterializedView,
        recorded: RecordedRefresh,
        sources: Sources,
        storages: Collection[StoredSource] = (),
    ) -> None:
        """Make inputs for a view whose query reads these sources, and stored rows of other materialized views."""
        self._view = view
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
        if table is None and name in self._storages:
            return self._add(Input("", name, RowSelection.NOW, self._storages[name]))
        if table is None:
            if name not in self._sources.hive_tables:
                raise RefreshError(str(self._view.name), f"{name} is not among its sources")
            return self._add(Input("", name, RowSelection.NOW, NO_SNAPSHOT, iceberg=False))
        recorded = None if self._state is None else self._state.source(name, table.uuid)
        since = NO_SNAPSHOT if recorded is None else recorded.id
        if part is RowSelection.CHANGED:
            has_changelog = table.has_changelog_since(since)
            return self._add(Input("", name, part, table.snapshot_id, since, has_changelog=has_changelog))
        if part is RowSelection.BEFORE:
            return self._add(Input("", name, part, since))
        if part is RowSelection.NOW and not table.has_schema_of(table.snapshot_id):
            return self._add(Input("", name, part, table.snapshot_id, live=True))
        return self._add(Input("", name, part, table.snapshot_id, since if part is RowSelection.ADDED else None))

    def add_stored_rows(self, target: ViewName) -> str:
        """Add the stored rows, and return their name in the queries."""
        current = self._view.readable_storage().metadata.current_snapshot_id
        return self._add(Input("", target, RowSelection.NOW, NO_SNAPSHOT if current is None else current))

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
