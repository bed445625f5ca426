"""An engine without Spark: DuckDB runs the queries, PyIceberg reads and writes. Hundreds of histories need it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from pyiceberg.io.pyarrow import _dataframe_to_data_files, schema_to_pyarrow
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import AddSnapshotUpdate, TableUpdate

from hive_views import HiveViewCatalog
from hive_views.materialized.refresh.request import (
    KEYS_VIEW,
    Append,
    Input,
    MergeGroups,
    Overwrite,
    ReplaceKeys,
    ReplacePartitions,
    StagingRequest,
    Write,
    key_name,
    key_value,
)
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.spec.session_settings import TIME_ZONE
from hive_views.sql.analysis.incremental import RowSelection


class DuckEngine:
    """Real rows, real files and a real metastore; only Spark is not there."""

    def __init__(
        self, catalog: HiveViewCatalog, settings: Mapping[str, str] | None = None, *, can_replace_keys: bool = False
    ) -> None:
        self.catalog = catalog
        self.can_replace_keys = can_replace_keys
        self.can_compare_files = False
        self._settings = dict(settings or {})
        self.works: list[StagingRequest] = []

    def settings(self, keys: Collection[str] = ()) -> dict[str, str]:
        return dict(self._settings)

    def casts_relative_times(self, work: StagingRequest) -> bool | None:
        return None

    def stage(self, work: StagingRequest) -> int:
        self.works.append(work)
        table = self.catalog.load_table(work.target.table.identifier)
        rows = self.rows(work)
        write = Overwrite() if isinstance(work.write, ReplaceKeys | MergeGroups) else work.write
        return stage_rows(table, rows, write, dict(work.target.summary), f"branch_{work.target.refresh_id}")

    def rows(self, work: StagingRequest) -> pa.Table:
        connection = duckdb.connect(config={"threads": 1})
        if TIME_ZONE in self._settings:
            connection.execute(f"SET TimeZone = '{self._settings[TIME_ZONE]}'")
        for item in work.inputs:
            connection.register(item.alias, self.read(item))
        target = schema_to_pyarrow(
            self.catalog.load_table(work.target.table.identifier).schema(), include_field_ids=False
        )
        if isinstance(work.write, ReplaceKeys):
            connection.register(KEYS_VIEW, connection.sql(translated(work.write.query)).to_arrow_table())
        parts = []
        for query in work.queries:
            result = connection.sql(translated(query)).to_arrow_table().rename_columns(list(work.columns))
            parts.append(result.cast(target))
        rows = pa.concat_tables(parts) if parts else target.empty_table()
        if not isinstance(work.write, ReplaceKeys | MergeGroups):
            return rows
        connection.register("hive_views_new", rows)
        connection.register(
            "hive_views_stored", self.catalog.load_table(work.target.table.identifier).scan().to_arrow()
        )
        listed = ", ".join(f"`{column}`" for column in work.columns)
        if isinstance(work.write, ReplaceKeys):
            is_key = " AND ".join(
                f"{key_value('t', key)} <=> s.{key_name(at)}" for at, key in enumerate(work.write.keys)
            )
            query = f"SELECT {listed} FROM hive_views_stored AS t LEFT ANTI JOIN {KEYS_VIEW} AS s ON {is_key} "
            query += f"UNION ALL SELECT {listed} FROM hive_views_new"
        else:
            functions = work.write.functions
            both = f"SELECT {listed} FROM hive_views_stored UNION ALL SELECT {listed} FROM hive_views_new"
            items = [
                f"{functions[name].value}(`{name}`) AS `{name}`" if name in functions else f"`{name}`"
                for name in work.columns
            ]
            group = ", ".join(f"`{name}`" for [name] in work.write.keys)
            query = f"SELECT {', '.join(items)} FROM ({both}) AS b GROUP BY {group}"
        return connection.sql(translated(query)).to_arrow_table().cast(target)

    def read(self, item: Input) -> pa.Table:
        table = self.catalog.load_table(item.table.identifier)
        if item.part is RowSelection.NONE or item.snapshot_id == NO_SNAPSHOT:
            return _empty(table)
        if item.live:
            return table.scan().to_arrow()
        if item.part is RowSelection.CHANGED:
            return _changed_rows(table, item.since, item.snapshot_id)
        if item.part is RowSelection.ADDED:
            return added_rows(table, item.since, item.snapshot_id)
        return table.scan(snapshot_id=item.snapshot_id).to_arrow()


class ConcurrentWriterEngine:
    """An engine while another program writes: before the rows are read, and after they are staged."""

    def __init__(
        self, engine: Any, *, before: Callable[[], object] = lambda: None, after: Callable[[], object] = lambda: None
    ) -> None:
        self._engine, self._before, self._after = engine, before, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def stage(self, work: StagingRequest) -> int | None:
        self._before()
        staged = self._engine.stage(work)
        self._after()
        return staged


def translated(sql: str) -> str:
    """A text of Spark in DuckDB's dialect, which puts NULLs first where Spark does."""
    [text] = sqlglot.transpile(sql, read="spark", write="duckdb")
    return text


def _changed_rows(table: Table, since: int | None, until: int) -> pa.Table:
    """The rows that two snapshots do not have in common."""
    connection = duckdb.connect(config={"threads": 1})
    connection.register("now", table.scan(snapshot_id=until).to_arrow())
    is_empty = since is None or since == NO_SNAPSHOT
    connection.register("before", _empty(table) if is_empty else table.scan(snapshot_id=since).to_arrow())
    names = set(connection.table("before").columns)
    listed = ", ".join(f'"{column}"' for column in connection.table("now").columns if column in names)
    parts = (f"SELECT {listed} FROM {first} EXCEPT ALL SELECT {listed} FROM {second}"
             for first, second in (("now", "before"), ("before", "now")))  # fmt: skip
    return connection.sql(" UNION ALL ".join(f"({part})" for part in parts)).to_arrow_table()


def query(catalog: HiveViewCatalog, sql: str, tables: dict[str, str]) -> list[tuple]:
    """The rows of a query over the tables as they are now, sorted."""
    connection = duckdb.connect(config={"threads": 1})
    for alias, name in tables.items():
        connection.register(alias, catalog.load_table(name).scan().to_arrow())
    return bag(connection.sql(translated(sql)).fetchall())


def bag(rows: list[tuple]) -> list[tuple]:
    """Rows in an order of their own, so that two bags can be compared."""
    return sorted((tuple(row) for row in rows), key=repr)


def stage_rows(table: Table, rows: pa.Table, write: Write, summary: dict[str, str], branch: str) -> int:
    """Write rows as a snapshot that no branch names."""
    current = table.metadata.current_snapshot_id
    if current is not None:
        table.manage_snapshots().create_branch(snapshot_id=current, branch_name=branch).commit()
    with table.transaction() as transaction:
        # A table without snapshots has no branch to begin one from; without one, the snapshot is only added.
        update = transaction.update_snapshot(snapshot_properties=summary, branch=None if current is None else branch)
        with update.fast_append() if isinstance(write, Append) else update.overwrite() as producer:
            if not isinstance(write, Append) and current is not None:
                where = write.where.replace("`", "") if isinstance(write, ReplacePartitions) else None
                scan = table.scan(row_filter=where) if where else table.scan()
                for task in scan.plan_files():
                    producer.delete_data_file(task.file)
            if rows.num_rows:
                for file in _dataframe_to_data_files(transaction.table_metadata, rows, table.io, producer.commit_uuid):
                    producer.append_data_file(file)
    if current is None:
        return table.metadata.snapshots[-1].snapshot_id
    staged = table.metadata.refs[branch].snapshot_id
    table.manage_snapshots().remove_branch(branch).commit()
    return staged


def added_rows(table: Table, since: int | None, until: int) -> pa.Table:
    """The rows that append snapshots added behind one snapshot, up to another."""
    at: int | None = until
    paths = []
    while at is not None and at != since:
        snapshot = table.metadata.snapshot_by_id(at)
        assert snapshot is not None and snapshot.summary is not None
        if snapshot.summary.operation is Operation.APPEND:
            for manifest in snapshot.manifests(table.io):
                for entry in manifest.fetch_manifest_entry(table.io):
                    if entry.status is ManifestEntryStatus.ADDED and entry.snapshot_id == at:
                        paths.append(entry.data_file.file_path)
        at = snapshot.parent_snapshot_id
    empty = _empty(table)
    import pyarrow.parquet as parquet

    parts = [parquet.read_table(table.io.new_input(path).open()).cast(empty.schema) for path in paths]
    return pa.concat_tables([empty, *parts])


def compact(table: Table) -> None:
    """Rewrite all rows of a table into one file, as a snapshot of operation `replace`, which PyIceberg never makes."""
    rows = table.scan().to_arrow()
    transaction = table.transaction()
    with transaction.update_snapshot().overwrite() as producer:
        for task in table.scan().plan_files():
            producer.delete_data_file(task.file)
        if rows.num_rows:
            for file in _dataframe_to_data_files(transaction.table_metadata, rows, table.io, producer.commit_uuid):
                producer.append_data_file(file)
    transaction._updates = tuple(_as_replace(update) for update in transaction._updates)
    transaction.commit_transaction()


def _as_replace(update: TableUpdate) -> TableUpdate:
    if not isinstance(update, AddSnapshotUpdate) or update.snapshot.summary is None:
        return update
    summary = update.snapshot.summary
    same = Summary(Operation.REPLACE, **summary.additional_properties)
    return AddSnapshotUpdate(snapshot=update.snapshot.model_copy(update={"summary": same}))


def _empty(table: Table) -> pa.Table:
    return schema_to_pyarrow(table.schema(), include_field_ids=False).empty_table()
