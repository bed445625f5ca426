"""Tables that Spark reads with other rows, or not at all, among everything that a definition reads.

The facts are in `hive_views.dependencies.table_findings`, and those about the view's own columns in
`hive_views.dependencies.column_findings`. A definition is accepted with a warning, a materialized view
is refused, because its stored rows would be wrong, and an import needs the user's consent.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator

from hive_views.dependencies.column_findings import column_findings
from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.table_findings import SPARK, EngineFinding, spark_findings
from hive_views.errors import UnreadableColumnWarning, UnreadableTableError, UnreadableTableWarning
from hive_views.identifiers import ViewName
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import MetastoreStore


def find_unreadable(store: MetastoreStore, names: Iterable[ViewName]) -> tuple[EngineFinding, ...]:
    """Return the findings about Spark of the tables that a definition reads, directly or through views."""
    return spark_findings(_rows_read(LineageReader(store), names))


def warn_of_unreadable(view: Row, sources: Iterable[Row]) -> None:
    """Issue a warning about each source that Spark does not read as Hive does, and each column that it cannot read."""
    for finding in spark_findings(sources):
        warnings.warn(f"{view.name}: {finding.text}", UnreadableTableWarning, stacklevel=4)
    for finding in column_findings(view.columns):
        if finding.engine == SPARK:
            remedy = "A ViewSession and Spark's catalog of Iceberg read the view"
            warnings.warn(f"{view.name}: {finding.text}. {remedy}", UnreadableColumnWarning, stacklevel=4)


def reject_unreadable_tables(store: MetastoreStore, name: ViewName, names: Iterable[ViewName]) -> None:
    """Reject the definition of a materialized view that Spark could not refresh correctly."""
    findings = find_unreadable(store, names)
    if findings:
        raise UnreadableTableError(str(name), [item.construct for item in findings])


def _rows_read(reader: LineageReader, names: Iterable[ViewName]) -> Iterator[Row]:
    """Yield the rows of some objects and of everything that they read, nearest first.

    Each row is requested by itself, so that the store of a planned import can return planned rows.
    """
    pending = deque(dict.fromkeys(names))
    seen = set(pending)
    while pending:
        row = reader.store.get_row(pending.popleft())
        if row is None:
            continue
        yield row
        if row.has_definition:
            sources = [source for source in dict.fromkeys(reader.read_names(row)) if source not in seen]
            seen.update(sources)
            pending += sources
