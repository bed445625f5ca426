"""The rows of the data files in which two snapshots of a table differ, on classic sessions.

Iceberg's changelog rejects tables with delete files. Here Iceberg plans a scan of each snapshot, whose tasks are data
files with the delete files that apply to them, and Spark reads the tasks that only one of the scans has. As for the
procedure `rewrite_data_files`, the tasks are staged in the JVM under an id, by which Spark reads them.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

from hive_views.spark.sessions import is_classic, java_class
from hive_views.sql.rewriting.quoting import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

_SPARK = "org.apache.iceberg.spark"
_Tasks = list[tuple[tuple[str, ...], Any]]
"""Tasks, each with its data file and the delete files that apply to it."""


def can_compare_files(session: SparkSession) -> bool:
    """Whether a session is a classic one with the classes of Iceberg's Spark runtime that a comparison needs."""
    if not is_classic(session):
        return False
    from py4j.java_gateway import JavaClass

    names = ("ScanTaskSetManager", "Spark3Util", "SparkTableCache")
    return all(isinstance(java_class(session._jvm, f"{_SPARK}.{name}"), JavaClass) for name in names)


class FileComparison:
    """The tasks in which scans of two snapshots of a table differ; they are staged only by `read`."""

    def __init__(self, session: SparkSession, table: str, snapshots: Sequence[int | None]) -> None:
        """Plan both scans.

        Args:
            session: A classic session.
            table: The table's quoted name in Spark.
            snapshots: The ids of the earlier and the later snapshot; None for a state without rows.
        """
        self._session = session
        self._jvm: Any = session._jvm
        self._table = java_class(self._jvm, f"{_SPARK}.Spark3Util.loadIcebergTable")(session._jsparkSession, table)
        self._name = table
        before, now = map(self._planned, snapshots)
        self._sides = _only_in_first(before, now), _only_in_first(now, before)
        self._staged: list[str] = []

    @property
    def rows(self) -> int:
        """The number of rows in the differing files of both snapshots, deleted ones included."""
        return sum(task.file().recordCount() for side in self._sides for task in side)

    def read(self) -> tuple[DataFrame, DataFrame]:
        """The rows that each snapshot has in the differing files, in the table's current columns."""
        before, now = map(self._read, self._sides)
        return before, now

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
            lists = java_class(self._jvm, "org.apache.iceberg.relocated.com.google.common.collect.Lists")
            return [(_key(task), task) for task in lists.newArrayList(planned)]
        finally:
            planned.close()

    def _read(self, tasks: Iterable[Any]) -> DataFrame:
        staged = self._jvm.java.util.ArrayList()
        for task in tasks:
            staged.add(task)
        table = self._session.table(self._name)
        if staged.isEmpty():
            return table.limit(0)
        task_set = str(uuid.uuid4())
        self._staged.append(task_set)
        self._cache().add(task_set, self._table)
        self._manager().stageTasks(self._table, task_set, staged)
        rows = self._session.read.format("iceberg").option("scan-task-set-id", task_set).load(task_set)
        # Drop the row lineage columns of format version 3, which only a staged scan returns.
        return rows.select(*map(quote_identifier, table.columns))

    def _manager(self) -> Any:
        return java_class(self._jvm, f"{_SPARK}.ScanTaskSetManager.get")()

    def _cache(self) -> Any:
        return java_class(self._jvm, f"{_SPARK}.SparkTableCache.get")()


def _only_in_first(tasks: _Tasks, others: _Tasks) -> list[Any]:
    """The tasks that the other scan lacks, or has fewer times, since a file may have been added twice."""
    left, result = Counter(key for key, _ in others), []
    for key, task in tasks:
        if left[key]:
            left[key] -= 1
        else:
            result.append(task)
    return result


def _key(task: Any) -> tuple[str, ...]:
    deletes = (f"{file.location()} {file.contentOffset()}" for file in task.deletes())
    return (task.file().location(), *sorted(deletes))
