"""Validity checks: whether views can be read and still mean what their authors typed.

Hive's design left this open (Hive Views, Dependency Invalidation): after a base table is dropped, or a column is
removed or changes its type, nothing is reported until a query fails or returns other rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from sqlglot import exp

from hive_views.dependencies.graph import components
from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.view_text import ViewText, text_of_hive_view, text_of_version
from hive_views.errors import MetadataFileError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.drift import find_drift
from hive_views.metastore.queries import load_view, names_of_views
from hive_views.metastore.row_cache import RowCache
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import LoadedView
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.expand import Expansion


class Validity(Enum):
    """The validity of a view or of an object that views read."""

    VALID = "valid"
    """Its text can be resolved and returns the declared columns, and everything that it reads can be read."""
    OUTDATED = "outdated"
    """Its stored text is valid, but the typed text means something else now; RECOMPILE would change the view."""
    UNEXPANDED = "unexpanded"
    """It has no text that means the same to Hive and plain Spark under any current database."""
    DRIFTED = "drifted"
    """Another program changed the row without the metadata file; the change can be adopted or repaired."""
    INVALID = "invalid"
    """It cannot be read, or not with its declared columns."""
    UNKNOWN = "unknown"
    """It has no text in a dialect that can be analyzed, or its dependencies are unknown."""
    BLOCKED = "blocked"
    """Its own text is valid, but it reads something, directly or through views, that is invalid or missing."""
    MISSING = "missing"
    """A view reads the name, and nothing has it."""
    UNCHECKED = "unchecked"
    """A table, or a view that was not checked."""

    @property
    def is_unreadable(self) -> bool:
        """Whether a query of the object fails, as far as known."""
        return self in (Validity.INVALID, Validity.MISSING, Validity.BLOCKED)


SEVERITY = (
    Validity.INVALID,
    Validity.MISSING,
    Validity.BLOCKED,
    Validity.DRIFTED,
    Validity.UNEXPANDED,
    Validity.OUTDATED,
    Validity.UNKNOWN,
    Validity.UNCHECKED,
    Validity.VALID,
)
"""From bad to good."""


CheckProgress = Callable[[int, int], None]
"""Called with the number of checked views and the number of all."""


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
    blocked_by: tuple[ViewName, ...] = ()
    """For `BLOCKED`: the root causes, which are invalid or missing themselves."""

    @property
    def text(self) -> str:
        """The reason with its position."""
        return self.reason if self.line is None else f"line {self.line}:{self.column}: {self.reason}"


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
        ordered = tuple(sorted(self.problems, key=lambda problem: SEVERITY.index(problem.validity)))
        object.__setattr__(self, "problems", ordered)
        object.__setattr__(self, "validity", ordered[0].validity if ordered else Validity.VALID)


def check_view(reader: LineageReader, name: ViewName) -> CheckedView:
    """Check one view, and what it reads, against the current tables."""
    checked = _check_names(reader, [name], RowCache(reader.store), workers=1)
    if not checked:
        raise NoSuchViewError(str(name))
    return checked[0]


def check_views(
    reader: LineageReader,
    scanned: Sequence[str] | None = None,
    *,
    workers: int = 4,
    progress: CheckProgress | None = None,
) -> tuple[CheckedView, ...]:
    """Check all views of some databases, or of all databases."""
    names = names_of_views(reader.store, scanned)
    return _check_names(reader, names, RowCache(reader.store), workers=workers, progress=progress)


def _check_names(
    reader: LineageReader,
    names: Sequence[ViewName],
    rows: RowCache,
    *,
    workers: int,
    progress: CheckProgress | None = None,
) -> tuple[CheckedView, ...]:
    checks = check_each(reader, names, rows, workers=workers, progress=progress)
    judged = judge(checks.results, checks.sources)
    return tuple(judged[name] for name in sorted(names) if name in judged)


@dataclass(frozen=True)
class ViewChecks:
    """The results for views and for all views that they read, each regardless of what it reads."""

    results: Mapping[ViewName, CheckedView]
    """By name; names that a view reads and nothing has are included."""
    sources: Mapping[ViewName, tuple[ViewName, ...]]
    """By view: what its text reads, or its recorded dependencies if the text cannot be resolved."""


def check_each(
    reader: LineageReader,
    names: Sequence[ViewName],
    rows: RowCache,
    *,
    workers: int = 4,
    progress: CheckProgress | None = None,
) -> ViewChecks:
    """Check views and all views that they read, each regardless of what it reads."""
    views: dict[ViewName, Row] = {}
    checked: dict[ViewName, CheckedView] = {}
    unread: Iterable[ViewName] = names
    while unread:
        rows.load(unread)
        level = [row for name in unread if (row := rows.get(name)) is not None and row.kind.is_view]
        views |= {row.name: row for row in level}
        sources = {source for row in level for source in reader.read_names(row)}
        rows.load(sources)
        unread = sorted(
            name for name in sources - views.keys() if (row := rows.get(name)) is not None and row.kind.is_view
        )
    schemas = MetastoreSchemas(reader.store, rows)
    sources_by_view: dict[ViewName, tuple[ViewName, ...]] = {}
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for number, view in enumerate(pool.map(lambda row: _read(reader, row), views.values()), start=1):
            name = view.row.name
            checked[name], tables = _check(view, schemas)
            sources_by_view[name] = reader.read_names(view.row) if tables is None else tables
            for source in sources_by_view[name]:
                if rows.get(source) is None:
                    checked[source] = missing_object(source)
            if progress is not None:
                progress(number, len(views))
    return ViewChecks(checked, sources_by_view)


def missing_object(name: ViewName) -> CheckedView:
    """Return the result for a name that a view reads and nothing has."""
    return CheckedView(name, (ViewProblem(Validity.MISSING, "nothing has this name"),))


def judge(
    checked: Mapping[ViewName, CheckedView], sources: Mapping[ViewName, Sequence[ViewName]]
) -> dict[ViewName, CheckedView]:
    """Add what follows from the sources: a view that reads itself is invalid, one over something unreadable blocked.

    Args:
        checked: The result for each object regardless of what it reads; objects without a result are readable.
        sources: What each view reads.
    """
    neighbors = {name: [source for source in names if source in sources] for name, names in sources.items()}
    judged = {name: result for name, result in checked.items() if name not in sources}
    for group in components(neighbors):
        for name in group:
            problems = checked[name].problems if name in checked else ()
            if len(group) > 1 or name in neighbors[name]:
                reason = f"it reads itself: {', '.join(map(str, group))} read each other"
                problems = (ViewProblem(Validity.INVALID, reason), *problems)
            if not any(problem.validity.is_unreadable for problem in problems):
                problems = (*_blocking(sources[name], judged), *problems)
            judged[name] = CheckedView(name, tuple(dict.fromkeys(problems)))
    return judged


_MAX_SHOWN_CAUSES = 3


def _blocking(sources: Sequence[ViewName], judged: Mapping[ViewName, CheckedView]) -> Iterator[ViewProblem]:
    """Yield a problem for each source that cannot be read, with the root causes."""
    for name in sources:
        source = judged.get(name)
        if source is None or not source.validity.is_unreadable:
            continue
        causes = dict.fromkeys(cause for problem in source.problems for cause in problem.blocked_by) or (name,)
        shown = "; ".join(_description(judged[cause]) for cause in islice(causes, _MAX_SHOWN_CAUSES))
        more = f"; and {len(causes) - _MAX_SHOWN_CAUSES} more" if len(causes) > _MAX_SHOWN_CAUSES else ""
        path = f"{name}, which is blocked by " if source.validity is Validity.BLOCKED else ""
        yield ViewProblem(Validity.BLOCKED, f"it reads {path}{shown}{more}", blocked_by=tuple(causes))


def _description(cause: CheckedView) -> str:
    if cause.validity is Validity.MISSING:
        return f"{cause.view}, which is missing"
    return f"{cause.view}, which is {cause.validity.value}: {cause.problems[0].text}"


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


def _check(view: _ReadView, schemas: Schemas) -> tuple[CheckedView, tuple[ViewName, ...] | None]:
    """Check a view's text; return the result and the names that the text reads, None if it cannot be resolved."""
    problems = list(view.problems)
    tables = None
    if view.text is not None:
        columns = [(name, kind) for name, kind, _ in view.row.declared_columns]
        text_problems, tables = find_problems(view.text, schemas, columns)
        problems += text_problems
    return CheckedView(view.row.name, tuple(problems)), tables


def _load(reader: LineageReader, row: Row) -> LoadedView:
    try:
        return LoadedView(row, reader.store.files.read(row.metadata_location or ""))
    except MetadataFileError:
        # A commit or drop since the row was listed may have deleted the file.
        return load_view(reader.store, row.name)


def find_problems(
    text: ViewText, schemas: Schemas, columns: Sequence[tuple[str, str]]
) -> tuple[list[ViewProblem], tuple[ViewName, ...] | None]:
    """Resolve a view's texts and compare the results with its declared columns (names and Hive types).

    Returns the problems and the tables that the stored text reads, None if it cannot be resolved.
    """
    typed: Expansion | None = None
    outdated: ViewProblem | None = None
    try:
        typed = text.expand_typed(schemas)
    except SqlError as error:
        reason = f"the typed text can no longer be resolved: {error.reason}"
        outdated = ViewProblem(Validity.OUTDATED, reason, error.line, error.column)
    stored = typed
    is_row_text_checked = text.expanded is None
    if typed is None or (text.expanded is not None and text.row_text(typed, schemas) != text.expanded):
        if typed is not None:
            reason = "the typed text means something else now: recompile the view to adopt that"
            outdated = ViewProblem(Validity.OUTDATED, reason)
        try:
            stored = text.expand_stored(schemas)
        except SqlError as error:
            # The author knows the typed text, so an error in it is the one to show.
            shown = outdated if outdated is not None and outdated.line is not None else error
            return [ViewProblem(Validity.INVALID, shown.reason, shown.line, shown.column)], None
        is_row_text_checked = True
    assert stored is not None, "a text that cannot be resolved has returned"
    problems = [] if outdated is None else [outdated]
    if is_row_text_checked and (unexpanded := text.unexpanded_reason(stored, schemas)) is not None:
        problems.append(ViewProblem(Validity.UNEXPANDED, unexpanded))
    tables = tuple(dict.fromkeys(ViewName(*table) for table in stored.tables))
    if len(stored.names) != len(columns):
        reason = f"the view has {len(columns)} columns, its text gives {len(stored.names)}"
        return [ViewProblem(Validity.INVALID, reason), *problems], tables
    for (name, kind), current in zip(columns, plain_types(stored), strict=True):
        if current is not None and stored_type(current) != stored_type(kind):
            reason = f"column {name} is {kind}, but its table's column is now {current}"
            problems.append(ViewProblem(Validity.INVALID, reason))
    return problems, tables


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
