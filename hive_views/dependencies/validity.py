"""Validity checks: whether views can be read and still mean what their authors typed.

Hive's design left this open (Hive Views, Dependency Invalidation): after a base table is dropped, or a column is
removed or changes its type, nothing is reported until a query fails or returns other rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from sqlglot import exp

from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.view_text import (
    SchemaOverlay,
    ViewText,
    schemas_of_rows,
    text_of_hive_view,
    text_of_version,
)
from hive_views.errors import MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.drift import find_drift
from hive_views.metastore.queries import all_view_names, database_names, load_view, read_rows
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import LoadedView
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.metastore.transport.client import BATCH_SIZE
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.expand import Expansion


class Validity(Enum):
    """The validity of a view, from good to bad."""

    VALID = "valid"
    """Its text can be resolved and returns the declared columns."""
    OUTDATED = "outdated"
    """Its stored text is valid, but the typed text means something else now; RECOMPILE would change the view."""
    DRIFTED = "drifted"
    """Another program changed the row without the metadata file; the change can be adopted or repaired."""
    INVALID = "invalid"
    """It cannot be read, or not with its declared columns."""
    UNKNOWN = "unknown"
    """It has no text in a dialect that can be analyzed."""


_SEVERITY = (Validity.INVALID, Validity.DRIFTED, Validity.OUTDATED, Validity.UNKNOWN)


@dataclass(frozen=True)
class ViewProblem:
    """A problem of a view."""

    validity: Validity
    """The validity that it implies."""
    reason: str
    """What is wrong."""
    line: int | None = None
    """Line in the view's text, from 1; None if the problem concerns the view as a whole."""
    column: int | None = None
    """Character in that line, from 1."""


@dataclass(frozen=True)
class CheckedView:
    """The result of the check of one view."""

    view: ViewName
    """The view."""
    validity: Validity = field(init=False)
    """The validity of its worst problem."""
    problems: tuple[ViewProblem, ...]
    """Its problems, worst first; empty for a valid view."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "validity", self.problems[0].validity if self.problems else Validity.VALID)


def check_view(reader: LineageReader, name: ViewName) -> CheckedView:
    """Check one view against the current tables."""
    row = reader.store.get_row(name)
    if row is None or not row.kind.is_view:
        raise NoSuchViewError(str(name))
    return _check(_read(reader, row), MetastoreSchemas(reader.store))


def check_views(
    reader: LineageReader, scanned: Sequence[str] | None = None, *, workers: int = 4
) -> tuple[CheckedView, ...]:
    """Check all views of some databases, or of all databases."""
    store = reader.store
    names = [name for database in scanned or database_names(store) for name in all_view_names(store, database)]
    schemas = SchemaOverlay(MetastoreSchemas(store), {})
    checked: list[CheckedView] = []
    with ThreadPoolExecutor(max_workers=workers) as pool:
        view_rows = read_rows(store, names)
        # The server reads the next batch while this one is checked.
        while batch := list(islice(view_rows, BATCH_SIZE)):
            schemas.tables |= schemas_of_rows({row.name: row for row in batch})
            views = list(pool.map(lambda row: _read(reader, row), batch))
            sources = {name for row in batch for name in reader.read_names(row)} - schemas.tables.keys()
            schemas.tables |= dict.fromkeys(sources)
            schemas.tables |= schemas_of_rows({row.name: row for row in read_rows(store, sorted(sources))})
            checked += [_check(view, schemas) for view in views]
    return tuple(sorted(checked, key=lambda item: item.view))


@dataclass(frozen=True)
class _ReadView:
    """A view's row and texts, and the problems of reading them."""

    row: Row
    text: ViewText | None
    problems: tuple[ViewProblem, ...]


def _read(reader: LineageReader, row: Row) -> _ReadView:
    problems: list[ViewProblem] = []
    text = None
    try:
        if row.kind is RowKind.HIVE_VIEW:
            text = text_of_hive_view(row)
        else:
            loaded = _load(reader, row)
            row = loaded.row
            for difference in find_drift(row, loaded.metadata, reader.store.config):
                reason = f"the row's {difference.field} is not the metadata file's: {difference.row}"
                problems.append(ViewProblem(Validity.DRIFTED, reason))
            text = text_of_version(row.name, loaded.metadata.current_version())
    except SqlError as error:
        problems.append(ViewProblem(Validity.UNKNOWN, error.reason))
    except (MetadataFileError, NoSuchViewError) as error:
        problems.append(ViewProblem(Validity.INVALID, str(error)))
    return _ReadView(row, text, tuple(problems))


def _check(view: _ReadView, schemas: Schemas) -> CheckedView:
    problems = list(view.problems)
    if view.text is not None:
        problems += find_problems(view.text, schemas, [(name, kind) for name, kind, _ in view.row.columns])
    return CheckedView(view.row.name, tuple(sorted(problems, key=lambda problem: _SEVERITY.index(problem.validity))))


def _load(reader: LineageReader, row: Row) -> LoadedView:
    try:
        return LoadedView(row, reader.store.files.read(row.metadata_location or ""))
    except MetadataFileError:
        # A commit or drop since the row was listed may have deleted the file.
        return load_view(reader.store, row.name)


def find_problems(text: ViewText, schemas: Schemas, columns: Sequence[tuple[str, str]]) -> list[ViewProblem]:
    """Resolve a view's texts and compare the results with its declared columns (names and Hive types)."""
    typed: Expansion | None = None
    outdated: ViewProblem | None = None
    try:
        typed = text.expand_typed(schemas)
    except SqlError as error:
        reason = f"the typed text can no longer be resolved: {error.reason}"
        outdated = ViewProblem(Validity.OUTDATED, reason, error.line, error.column)
    stored = typed
    if typed is None or (text.expanded is not None and text.row_text(typed, schemas) != text.expanded):
        if typed is not None:
            reason = "the typed text means something else now: recompile the view to adopt that"
            outdated = ViewProblem(Validity.OUTDATED, reason)
        try:
            stored = text.expand_stored(schemas)
        except SqlError as error:
            # The author knows the typed text, so an error in it is the one to show.
            shown = outdated if outdated is not None and outdated.line is not None else error
            return [ViewProblem(Validity.INVALID, shown.reason, shown.line, shown.column)]
    assert stored is not None, "a text that cannot be resolved has returned"
    problems = [] if outdated is None else [outdated]
    if len(stored.names) != len(columns):
        reason = f"the view has {len(columns)} columns, its text gives {len(stored.names)}"
        return [ViewProblem(Validity.INVALID, reason), *problems]
    for (name, kind), current in zip(columns, plain_types(stored), strict=True):
        if current is not None and stored_type(current) != stored_type(kind):
            reason = f"column {name} is {kind}, but its table's column is now {current}"
            problems.append(ViewProblem(Validity.INVALID, reason))
    return problems


def plain_types(expansion: Expansion) -> list[str | None]:
    """Return the Hive types of columns that are unchanged columns of tables; None for computed columns."""
    resolution = expansion.resolution
    if not isinstance(resolution.tree, exp.Select):
        return [None] * len(expansion.names)
    types: list[str | None] = []
    for (_, source), column in zip(resolution.columns, expansion.columns, strict=True):
        item = resolution.context.select_items.get(source)
        is_plain = item is None or isinstance(item.unalias(), (exp.Column, exp.Star))
        types.append(column.type if is_plain else None)
    return types


def stored_type(kind: str) -> str:
    """Return a Hive type as it is after a conversion to Iceberg and back, as in a view's row."""
    kind = kind.lower().replace(" ", "")
    kind = re.sub(r"\b(tinyint|smallint)\b", "int", kind)
    kind = re.sub(r"\b(?:var)?char\(\d+\)", "string", kind)
    return kind.replace("timestampwithlocaltimezone", "timestamp")
