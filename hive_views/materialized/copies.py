"""Copies: materialized views that store the rows of another one in a different partitioning or sort order.

A copy is a materialized view `SELECT * FROM v`, which the property `hive-views.copies` of `v` names. It has its own
storage, state and history. A query on `v` reads the stored rows of a fresh copy if they suit its filters better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from hive_views.errors import CommitFailedError, HiveViewsError, InvalidPropertyError
from hive_views.materialized.checks.inline import text_of
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.properties import COPIES, copy_names
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import SetProperties, apply
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from hive_views.identifiers import ViewName
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.results import Reading
    from hive_views.metastore.store import MetastoreStore


_MAX_ATTEMPTS = 10
"""How many times the commit is attempted if other clients change the property at the same time."""


def add_copy(store: MetastoreStore, view: ViewName, copy: ViewName) -> None:
    """Add a copy to the property of a view, unless it has it; names that others add meanwhile are kept."""
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        loaded = load_view(store, view)
        if copy in copy_names(loaded.metadata.properties, view.database):
            return
        text = loaded.metadata.properties.get(COPIES, "").strip()
        written = copy.name if copy.database == view.database else str(copy)
        change = SetProperties({COPIES: f"{text}, {written}" if text else written})
        metadata = apply(loaded.metadata, [change], now_ms=int(time.time() * 1000), identifier=str(view))
        try:
            commit(store, view, loaded, metadata)
        except CommitFailedError:
            if attempt == _MAX_ATTEMPTS:
                raise
        else:
            return


def readings_by_filters(
    view: LoadedMaterializedView,
    reading: Reading,
    decide: Callable[[ViewName], tuple[LoadedMaterializedView, Reading]],
    columns: Collection[str],
    catalogs: frozenset[str],
) -> list[Reading]:
    """How a query with filters on some columns may read a view: the best of its storages first, the definition last."""
    candidates = [(_suitability(view.storage, columns), reading)]
    for copy, copy_reading in _readable_copies(view, decide, catalogs):
        candidates.append((_suitability(copy.storage, columns), replace(copy_reading, copy=copy.name)))
    candidates.sort(key=lambda candidate: (not candidate[1].from_storage, -candidate[0]))
    return [candidate for _, candidate in candidates]


def _readable_copies(
    view: LoadedMaterializedView,
    decide: Callable[[ViewName], tuple[LoadedMaterializedView, Reading]],
    catalogs: frozenset[str],
) -> Iterator[tuple[LoadedMaterializedView, Reading]]:
    """Yield the copies whose rows are exactly those of the view now."""
    if view.layout is Layout.TABLE:
        return  # its name means a table to other programs, whose rows a text would copy
    try:
        names = copy_names(view.properties, view.name.database)
    except InvalidPropertyError:
        return  # another program set it
    for name in names:
        try:
            copy, reading = decide(name)
            is_readable = reading.from_storage and reading.freshness.is_fresh and is_copy(copy, view, catalogs)
        except (HiveViewsError, OSError):
            continue  # it was dropped or renamed, or cannot be read
        if is_readable:
            yield copy, replace(reading, why=f"storage of {name}: {reading.freshness}")


def is_copy(copy: LoadedMaterializedView, view: LoadedMaterializedView, catalogs: frozenset[str]) -> bool:
    """Return whether the definition of a materialized view is all rows and columns of another one, and nothing else."""
    fields, copied = (
        [(field.name, field.field_type) for field in item.metadata.current_schema().fields] for item in (view, copy)
    )
    if fields != copied or copy.name == view.name:
        return False
    text = text_of(copy.name, copy.metadata.current_version())
    try:
        query = IncrementalQuery(text.sql, text.dialect, text.database)
    except NotIncrementalError:
        return False
    tree = query.tree
    names = {leaf.name for leaf in query.leaves}
    used = {leaf.catalog.lower() for leaf in query.leaves if leaf.catalog is not None}
    used |= {text.catalog.lower()} if text.catalog else set()
    if not isinstance(tree, exp.Select) or names != {(view.name.database, view.name.name)} or not used <= catalogs:
        return False
    if {key for key, value in tree.args.items() if value} - {"expressions", "from", "from_"}:
        return False
    source = tree.args.get("from_") or tree.args.get("from")
    table = source.this if isinstance(source, exp.From) else None
    if not isinstance(table, exp.Table) or [*tree.find_all(exp.Table)] != [table]:
        return False  # such as a subquery with that alias
    alias = table.args.get("alias")
    if alias is not None and alias.columns:  # they may exchange columns
        return False
    if {key for key, value in table.args.items() if value} - {"this", "db", "catalog", "alias"}:
        return False
    items = [item.unalias() for item in tree.expressions]
    return len(items) == len(fields) and all(
        isinstance(item, exp.Column) and item.name.lower() == name.lower() and _is_qualified_by(item, table)
        for item, (name, _) in zip(items, fields, strict=True)
    )


def _is_qualified_by(column: exp.Column, table: exp.Table) -> bool:
    """Whether the qualifier of a column is a table's name or alias, and not a column with a field of that name."""
    qualifier = [part.name.lower() for part in column.parts[:-1]]
    full = [table.alias.lower()] if table.alias else [part.name.lower() for part in table.parts]
    return not qualifier or qualifier == full[-len(qualifier) :]


def _suitability(storage: Table | None, columns: Collection[str]) -> int:
    """A score: two for each of the columns that partitions the storage, one if it is sorted by one of them first."""
    if storage is None:
        return 0
    wanted = {column.lower() for column in columns}

    def is_wanted(source_id: int) -> bool:
        return (storage.schema().find_column_name(source_id) or "").lower() in wanted

    partitioned = {field.source_id for field in storage.spec().fields if is_wanted(field.source_id)}
    order = storage.sort_order().fields
    return 2 * len(partitioned) + bool(order and is_wanted(order[0].source_id))
