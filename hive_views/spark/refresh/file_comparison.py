"""The rows in which two snapshots of a table differ, found by their files, on classic sessions.

Iceberg's changelog rejects tables with delete files. Here Iceberg plans a scan of each snapshot, whose tasks are data
files with the delete files that apply to them, and Spark reads the tasks that only one of the scans has. If only the
delete files of a data file differ, the two sets of deleted rows are compared. The tasks are staged in the JVM under an
id, by which Spark reads them, as the procedure `rewrite_data_files` does.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from hive_views.spark.jvm import (
    relation_with_output,
    scala_list,
    scala_sequence,
    static_method,
)
from hive_views.spark.sessions import run_plan
from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

_SPARK = "org.apache.iceberg.spark"
_ROW_LINEAGE = ("_row_id", "_last_updated_sequence_number")
_Tasks = list[tuple[tuple[str, ...], Any]]
"""Tasks, each with its data file and the delete files that apply to it."""

_LISTS = "org.apache.iceberg.relocated.com.google.common.collect.Lists"


class FileComparison:
    """The tasks in which scans of two snapshots of a table differ; they are staged only by `read`."""

    def __init__(self, session: SparkSession, table: str, snapshots: Sequence[int | None]) -> None:
        """Plan both scans, in a session that can use `Feature.FILE_COMPARISON`.

        Args:
            session: A classic session.
            table: The table's quoted name in Spark.
            snapshots: The ids of the earlier and the later snapshot; None for a state without rows.
        """
        self._session = session
        self._jvm: Any = session._jvm
        load_table = static_method(self._jvm, f"{_SPARK}.Spark3Util", "loadIcebergTable")
        self._table = load_table(session._jsparkSession, table)
        self._name = table
        before, now = map(self._planned, snapshots)
        before, now = _only_in_first(before, now), _only_in_first(now, before)
        shared = _single_files(before) & _single_files(now)
        self._files, self._deletes = (
            tuple([task for key, task in tasks if (key[0] in shared) is is_shared] for tasks in (before, now))
            for is_shared in (False, True)
        )
        self._staged: list[str] = []

    @property
    def rows(self) -> int:
        """The number of rows in the differing files of both snapshots, deleted ones included."""
        return sum(task.file().recordCount() for side in (*self._files, self._deletes[1]) for task in side)

    def read(self) -> tuple[DataFrame, DataFrame]:
        """Rows that each snapshot has in the differing files, in the table's current columns.

        Rows that both have are omitted from both, where only the delete files of a data file differ: the rows of the
        file that are deleted now are returned for the earlier snapshot, and those that were deleted for the later one.
        """
        deleted, was_deleted = (self._read(self._deletes[side], deleted=True) for side in (1, 0))
        before, now = map(self._read, self._files)
        return before.unionAll(deleted), now.unionAll(was_deleted)

    def close(self) -> None:
        """Remove the staged tasks; the data frames of `read` cannot be computed afterwards."""
        for task_set in self._staged:
            self._manager().removeTasks(self._table, task_set)
            self._cache().remove(task_set)
        self._staged.clear()

    def _planned(self, snapshot_id: int | None) -> _Tasks:
        if snapshot_id is None:
            return []
        planned = self._table.newScan().useSnapshot(snapshot_id).ignoreResiduals().planFiles()
        try:
            tasks = static_method(self._jvm, _LISTS, "newArrayList")(planned)
            return [(_key(task), task) for task in _items(tasks)]
        finally:
            planned.close()

    def _read(self, tasks: Iterable[Any], *, deleted: bool = False) -> DataFrame:
        """Return the rows of tasks; if `deleted`, those that their delete files delete instead of the others."""
        staged = self._jvm.java.util.ArrayList()
        for task in tasks:
            if not deleted or task.deletes().size():
                staged.add(task)
        table = self._session.table(self._name)
        if staged.isEmpty():
            return table.limit(0)
        task_set = str(uuid.uuid4())
        self._staged.append(task_set)
        self._cache().add(task_set, self._table)
        self._manager().stageTasks(self._table, task_set, staged)
        rows = self._session.read.format("iceberg").option("scan-task-set-id", task_set).load(task_set)
        if deleted:
            rows = self._with_metadata_columns(rows).where("_deleted")
        # Drop the row lineage columns of format version 3, which only a staged scan returns.
        return rows.select(*map(quote_identifier, table.columns))

    def _with_metadata_columns(self, rows: DataFrame) -> DataFrame:
        """Staged rows of which all metadata columns can be read: Spark offers none beside the row lineage columns."""
        plan = cast(Any, rows)._jdf.queryExecution().analyzed()
        output = scala_list(plan.output())
        columns = [attribute for attribute in output if attribute.name() not in _ROW_LINEAGE]
        if len(columns) == len(output):
            return rows
        relation = relation_with_output(self._jvm, plan, scala_sequence(self._jvm, columns))
        return run_plan(self._session, relation)

    def _manager(self) -> Any:
        return static_method(self._jvm, f"{_SPARK}.ScanTaskSetManager", "get")()

    def _cache(self) -> Any:
        return static_method(self._jvm, f"{_SPARK}.SparkTableCache", "get")()


def _only_in_first(tasks: _Tasks, others: _Tasks) -> _Tasks:
    """Return the tasks that the other scan lacks, or has fewer times, since a file may have been added twice."""
    left, result = Counter(key for key, _ in others), list[tuple[tuple[str, ...], Any]]()
    for key, task in tasks:
        if left[key]:
            left[key] -= 1
        else:
            result.append((key, task))
    return result


def _single_files(tasks: _Tasks) -> set[str]:
    """Return the data files that one task alone reads."""
    count = Counter(key[0] for key, _ in tasks)
    return {file for file, times in count.items() if times == 1}


def _key(task: Any) -> tuple[str, ...]:
    deletes = (f"{file.location()} {file.contentOffset()}" for file in _items(task.deletes()))
    return (task.file().location(), *sorted(deletes))


def _items(items: Any) -> list[Any]:
    """Return the items of a Java list: its iterator ends with an exception, which PySpark takes 12 ms to convert."""
    return [items.get(position) for position in range(items.size())]
