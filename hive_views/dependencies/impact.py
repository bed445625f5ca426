"""What a change to a table or view would do to everything that depends on it, told before it is made.

The dependents' texts are resolved twice: against the tables as they are, and against the tables as they would be. A
view that breaks breaks what reads it; a column whose type changes changes it in every view that passes it on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hive_views.dependencies.columns import read_view_text
from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.resolved_texts import SchemaOverlay, ViewText
from hive_views.errors import DependentsError, MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.row_codec import Row, view_columns
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.spec.metadata import ViewMetadata
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.rewriting.expand import Expansion


class Effect(Enum):
    """What becomes of a view, from bad to good."""

    BREAKS = "breaks"
    """It could not be read any more."""
    BROKEN = "broken already"
    """It cannot be read as things are; the change is not what breaks it."""
    TYPES = "changes types"
    """It could be read, but some of its columns would have other types than it says."""
    FROZEN = "stays frozen"
    """It would stay what it is; what its author typed would mean something else, which RECOMPILE would make of it."""
    NONE = "none"
    """Nothing."""
    UNKNOWN = "unknown"
    """Its text cannot be looked into."""


@dataclass(frozen=True)
class AffectedView:
    """What becomes of one dependent."""

    view: ViewName
    """The view."""
    effect: Effect
    """What becomes of it."""
    reason: str = ""
    """Why."""
    line: int | None = None
    """Where in its text, from 1."""
    column: int | None = None
    """The character in that line, from 1."""
    types: tuple[tuple[str, str | None, str | None], ...] = ()
    """For `TYPES`: column, type now, type then; None for a type that cannot be told."""


def impact(
    reader: LineageReader,
    name: ViewName,
    columns: Sequence[tuple[str, str]] | None,
    *,
    databases: Sequence[str] | None = None,
) -> tuple[AffectedView, ...]:
    """What a change would do to every dependent."""
    store = reader.store
    dependents = DependentFinder(reader, databases=databases).all_of(name)
    by_name = {dependent.name: dependent.row for dependent in dependents if dependent.name != name}
    now = SchemaOverlay(MetastoreSchemas(store), {})
    changed = now.table(name.database, name.name)
    then = SchemaOverlay(now, {name: None if columns is None else _with(columns, changed)})
    lost: dict[ViewName, str] = {}
    found = []
    for view in reversed(dependents.order()):
        affected = _affected(store, by_name[view], now, then, lost)
        if affected.effect is Effect.BREAKS:
            then.known[view] = None
            lost[view] = affected.reason
        found.append(affected)
    return tuple(found)


def reject_breaking_change(
    store: MetastoreStore, name: ViewName, action: str, columns: Sequence[tuple[str, str]] | None
) -> None:
    """Refuse a change that breaks a dependent, for catalogs in strict mode."""
    broken = [item for item in impact(LineageReader(store), name, columns) if item.effect is Effect.BREAKS]
    if broken:
        raise DependentsError(str(name), action, [str(item.view) for item in broken])


def reject_breaking_definition(store: MetastoreStore, name: ViewName, metadata: ViewMetadata) -> None:
    """Refuse new columns of a view that break a dependent, for catalogs in strict mode."""
    reject_breaking_change(store, name, "change", view_columns(name, metadata, store.config))


def _affected(
    store: MetastoreStore, row: Row, now: SchemaOverlay, then: SchemaOverlay, lost: dict[ViewName, str]
) -> AffectedView:
    try:
        text = read_view_text(store, row)
    except (SqlError, MetadataFileError, NoSuchViewError) as error:
        return AffectedView(row.name, Effect.UNKNOWN, str(error))
    try:
        before = text.reading(now)
    except SqlError as error:
        return AffectedView(row.name, Effect.BROKEN, error.reason, error.line, error.column)
    gone = [ViewName(*table) for table in before.tables if ViewName(*table) in lost]
    if gone:
        return AffectedView(row.name, Effect.BREAKS, f"it reads {', '.join(map(str, gone))}, which breaks")
    try:
        after = text.reading(then)
    except SqlError as error:
        shown = _typed_error(text, then) or error
        return AffectedView(row.name, Effect.BREAKS, shown.reason, shown.line, shown.column)
    if len(after.names) != len(row.columns):
        return AffectedView(row.name, Effect.BREAKS, f"its text would give {len(after.names)} columns")
    types = tuple(
        (name, old.type, new.type)
        for (name, _, _), old, new in zip(row.columns, before.columns, after.columns, strict=True)
        if old.type != new.type
    )
    if types:
        then.known[row.name] = _retyped(row, after, now)
        shown_types = ", ".join(f"{name} {old} -> {new}" for name, old, new in types)
        return AffectedView(row.name, Effect.TYPES, f"types would change: {shown_types}", types=types)
    reason = _frozen(text, now, then)
    return AffectedView(row.name, Effect.NONE if reason is None else Effect.FROZEN, reason or "")


def _typed_error(text: ViewText, then: Schemas) -> SqlError | None:
    """The error at its place in what the author typed, which people know."""
    try:
        text.expansion(then)
    except SqlError as error:
        return error
    return None


def _frozen(text: ViewText, now: Schemas, then: Schemas) -> str | None:
    try:
        before = text.expansion(now)
    except SqlError:
        return None
    try:
        after = text.expansion(then)
    except SqlError as error:
        return f"what was typed could not be resolved any more: {error.reason}"
    if before.expanded == after.expanded:
        return None
    new = [name for name in after.names if name not in before.names]
    return "what was typed would mean another text" + (f", with the columns {', '.join(new)}" if new else "")


def _retyped(row: Row, after: Expansion, now: SchemaOverlay) -> TableSchema:
    columns = [(name, new.type or kind) for (name, kind, _), new in zip(row.columns, after.columns, strict=True)]
    return _with(columns, now.table(*row.name.identifier))


def _with(columns: Sequence[tuple[str, str]], before: TableSchema | None) -> TableSchema:
    return TableSchema(
        columns=tuple((column.lower(), kind) for column, kind in columns),
        kind="table" if before is None else before.kind,
        bucket_columns=() if before is None else before.bucket_columns,
    )
