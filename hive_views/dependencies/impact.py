"""Impact analysis: the effect of a change to a table or view on every view that depends on it.

The dependents' texts are resolved twice: against the current tables and against the changed ones. If a view breaks, its
readers break too; a changed column type changes the column in every view that returns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.view_text import SchemaOverlay, read_view_text
from hive_views.errors import DependentsError, MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import Row
from hive_views.metastore.rows.types import view_columns
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.spec.metadata import ViewMetadata
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.resolver.scopes import Schemas, TableSchema


class Effect(Enum):
    """The effect of a change on a view, from bad to good."""

    BREAKS = "breaks"
    """The view could no longer be read."""
    BROKEN = "broken already"
    """The view cannot be read today; the change is not the reason."""
    TYPES = "changes types"
    """The view could be read, but some of its columns would have other types than it declares."""
    FROZEN = "stays frozen"
    """The view would not change; its typed text would mean something else, which RECOMPILE would adopt."""
    NONE = "none"
    """The view would not change."""
    UNKNOWN = "unknown"
    """The view's text cannot be analyzed."""


@dataclass(frozen=True, kw_only=True)
class AffectedView:
    """The effect of a change on one dependent."""

    view: ViewName
    """The view."""
    effect: Effect
    """The effect."""
    reason: str = ""
    """The reason."""
    line: int | None = None
    """Line in the view's text, from 1."""
    column: int | None = None
    """Character in that line, from 1."""
    types: tuple[tuple[str, str | None, str | None], ...] = ()
    """For `TYPES`: column, current type, new type; None for an unknown type."""


def impact(
    reader: LineageReader, name: ViewName, columns: Sequence[tuple[str, str]] | None
) -> tuple[AffectedView, ...]:
    """Return the effect of new columns, or of a drop (None), on every dependent, each after the views that it reads."""
    store = reader.store
    dependents = DependentFinder(reader).find_all(name)
    rows = {dependent.name: dependent.row for dependent in dependents if dependent.name != name}
    cache = RowCache(store)
    for row in rows.values():
        cache.add(row)
    cache.load(source for row in rows.values() for source in reader.read_names(row))
    before = SchemaOverlay(MetastoreSchemas(store, cache), {})
    changed = before.table(name.database, name.name)
    after = SchemaOverlay(before, {name: None if columns is None else _with_columns(columns, changed)})
    broken: set[ViewName] = set()
    affected_views = []
    for view in reversed(dependents.order()):
        affected = _affected(reader, rows[view], before, after, broken)
        if affected.effect is Effect.BREAKS:
            after.tables[view] = None
            broken.add(view)
        affected_views.append(affected)
    return tuple(affected_views)


def reject_breaking_change(
    store: MetastoreStore, name: ViewName, action: str, columns: Sequence[tuple[str, str]] | None
) -> None:
    """Reject a change that breaks a dependent, for catalogs in strict mode."""
    broken = [item for item in impact(LineageReader(store), name, columns) if item.effect is Effect.BREAKS]
    if broken:
        raise DependentsError(str(name), action, [str(item.view) for item in broken])


def reject_breaking_definition(store: MetastoreStore, name: ViewName, metadata: ViewMetadata) -> None:
    """Reject new columns of a view that break a dependent, for catalogs in strict mode."""
    reject_breaking_change(store, name, "change", view_columns(name, metadata, store.config))


def _affected(
    reader: LineageReader, row: Row, before: SchemaOverlay, after: SchemaOverlay, broken: set[ViewName]
) -> AffectedView:
    try:
        text = read_view_text(reader.store, row)
    except (SqlError, MetadataFileError, NoSuchViewError) as error:
        return AffectedView(view=row.name, effect=Effect.UNKNOWN, reason=str(error))
    try:
        old = text.expand_stored(before)
    except SqlError as error:
        # The columns of `database.table.files` are not known.
        effect = Effect.UNKNOWN if reader.read_text_lineage(row).other_names else Effect.BROKEN
        return AffectedView(view=row.name, effect=effect, reason=error.reason, line=error.line, column=error.column)
    broken_sources = [ViewName(*table) for table in old.tables if ViewName(*table) in broken]
    if broken_sources:
        return AffectedView(
            view=row.name, effect=Effect.BREAKS, reason=f"it reads {', '.join(map(str, broken_sources))}, which breaks"
        )
    try:
        new = text.expand_stored(after)
    except SqlError as error:
        # The author knows the typed text, so an error in that text is preferred.
        shown = _error_in_typed_text(text, after) or error
        return AffectedView(
            view=row.name, effect=Effect.BREAKS, reason=shown.reason, line=shown.line, column=shown.column
        )
    if len(new.names) != len(row.declared_columns):
        return AffectedView(view=row.name, effect=Effect.BREAKS, reason=f"its text would give {len(new.names)} columns")
    types = tuple(
        (name, old_column.type, new_column.type)
        for (name, _, _), old_column, new_column in zip(row.declared_columns, old.columns, new.columns, strict=True)
        if old_column.type != new_column.type
    )
    if types:
        columns = [
            (name, item.type or kind) for (name, kind, _), item in zip(row.declared_columns, new.columns, strict=True)
        ]
        after.tables[row.name] = _with_columns(columns, before.table(*row.name.identifier))
        shown_types = ", ".join(f"{name} {old_type} -> {new_type}" for name, old_type, new_type in types)
        return AffectedView(
            view=row.name, effect=Effect.TYPES, reason=f"types would change: {shown_types}", types=types
        )
    reason = _typed_text_change(text, before, after)
    return AffectedView(view=row.name, effect=Effect.NONE if reason is None else Effect.FROZEN, reason=reason or "")


def _error_in_typed_text(text: ViewText, schemas: Schemas) -> SqlError | None:
    try:
        text.expand_typed(schemas)
    except SqlError as error:
        return error
    return None


def _typed_text_change(text: ViewText, before: Schemas, after: Schemas) -> str | None:
    """Describe how the meaning of the typed text would change; None if it would not or is unknown."""
    try:
        old = text.expand_typed(before)
    except SqlError:
        return None
    try:
        new = text.expand_typed(after)
    except SqlError as error:
        return f"the typed text could no longer be resolved: {error.reason}"
    if old.expanded == new.expanded:
        return None
    added = [name for name in new.names if name not in old.names]
    return "the typed text would mean something else" + (f", with the columns {', '.join(added)}" if added else "")


def _with_columns(columns: Sequence[tuple[str, str]], table: TableSchema | None) -> TableSchema:
    return TableSchema(
        columns=tuple((column.lower(), kind) for column, kind in columns),
        kind="table" if table is None else table.kind,
        bucket_columns=() if table is None else table.bucket_columns,
    )
