"""Checks of views: whether views can be read and still mean what their authors typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.registered_functions import RegisteredFunctions, missing_function
from hive_views.dependencies.table_contents import missing_metadata_file
from hive_views.dependencies.view_text import read_view_text, text_of_hive_view, text_of_version
from hive_views.errors import MetadataFileError, MetastoreRefusedError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.drift import find_drift, has_contradictory_flag
from hive_views.metastore.queries import RowCache, load_view, names_with_definition, unreadable_row
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import LoadedView
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.metastore.trino_encoding import FLAG
from hive_views.sql.analysis.references import source_without_schema
from hive_views.sql.analysis.validity import (
    CheckedView,
    Validity,
    ViewProblem,
    find_problems,
    missing_object,
    with_source_problems,
)
from hive_views.sql.analysis.view_text import ViewText, qualified_functions
from hive_views.sql.parsing.parser import parse_query

CheckProgress = Callable[[int, int], None]
"""Called with the number of checked views and the number of all views."""


def check_view(reader: LineageReader, name: ViewName) -> CheckedView:
    """Check one view and its sources against the current tables."""
    rows = RowCache(reader.store)
    checked = _check_names(reader, [name], rows, workers=1)
    if checked:
        return checked[0]
    row = rows.get(name)
    if row is not None:
        row.require_view()
    raise NoSuchViewError(str(name))


def check_views(
    reader: LineageReader,
    scanned: Sequence[str] | None = None,
    *,
    workers: int = 4,
    progress: CheckProgress | None = None,
) -> tuple[CheckedView, ...]:
    """Check all views of some databases, or of all databases."""
    names = names_with_definition(reader.store, scanned)
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
    judged = with_source_problems(checks.results, checks.sources)
    return tuple(judged[name] for name in sorted(names) if name in judged)


@dataclass(frozen=True)
class ViewChecks:
    """The results for views and for all views that they read; each result disregards the sources of the view."""

    results: Mapping[ViewName, CheckedView]
    """The results by name, including names that no object has and tables that cannot be read."""
    sources: Mapping[ViewName, tuple[ViewName, ...]]
    """For each view, the objects that its text reads, or its recorded dependencies if it cannot be resolved."""


def check_each(
    reader: LineageReader,
    names: Sequence[ViewName],
    rows: RowCache,
    *,
    workers: int = 4,
    progress: CheckProgress | None = None,
) -> ViewChecks:
    """Check views and all views that they read, each without regard to the results for its sources."""
    views: dict[ViewName, Row] = {}
    checked: dict[ViewName, CheckedView] = {}
    unread: Iterable[ViewName] = names
    while unread:
        rows.load(unread)
        level = [row for name in unread if (row := rows.find(name)) is not None and row.has_definition]
        checked |= {name: unreadable_object(name, rows.refused[name]) for name in unread if name in rows.refused}
        views |= {row.name: row for row in level}
        sources = {source for row in level for source in reader.read_names(row)}
        rows.load(sources)
        unread = sorted(
            name for name in sources - views.keys() if (row := rows.find(name)) is not None and row.has_definition
        )
    schemas = MetastoreSchemas(reader.store, rows)
    functions = RegisteredFunctions(reader.store)
    sources_by_view: dict[ViewName, tuple[ViewName, ...]] = {}
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for number, view in enumerate(pool.map(lambda row: _read(reader, functions, row), views.values()), start=1):
            name = view.row.name
            checked[name], tables = _check(view, schemas, reader.read_text_lineage(view.row).other_names)
            sources_by_view[name] = reader.read(view.row, rows.get).names if tables is None else tables
            for source in sources_by_view[name]:
                if rows.find(source) is None:
                    refusal = rows.refused.get(source)
                    missing = missing_object(source) if refusal is None else unreadable_object(source, refusal)
                    checked[source] = missing
            if progress is not None:
                progress(number, len(views))
        read = (rows.find(source) for source in {item for items in sources_by_view.values() for item in items})
        iceberg_tables = [row for row in read if row is not None and row.kind is RowKind.ICEBERG_TABLE]
        for table, problem in pool.map(lambda row: (row, _problem_of_table(reader, row)), iceberg_tables):
            if problem is not None:
                checked[table.name] = CheckedView(table.name, (problem,))
    return ViewChecks(checked, sources_by_view)


def unreadable_object(name: ViewName, error: MetastoreRefusedError) -> CheckedView:
    """Return the result for an object whose row the server refuses to return."""
    return CheckedView(name, (ViewProblem(Validity.UNKNOWN, unreadable_row(error)),))


def _problem_of_table(reader: LineageReader, row: Row) -> ViewProblem | None:
    """Return the problem of an Iceberg table whose metadata file is missing; None if it exists or that is unknown."""
    problem = missing_metadata_file(reader.store, row)
    return None if problem is None else ViewProblem(Validity.INVALID, problem)


_CONTRADICTORY_FLAG = (
    f"the row has the parameter {FLAG} and a text that is not Trino's, so Trino can list no view of its catalog: "
    f"import the view, or remove the parameter by ALTER VIEW … UNSET TBLPROPERTIES ('{FLAG}') in Hive or plain Spark"
)


@dataclass(frozen=True)
class _ReadView:
    """A view's row and texts, and the problems of reading them."""

    row: Row
    text: ViewText | None
    problems: tuple[ViewProblem, ...]


def _read(reader: LineageReader, functions: RegisteredFunctions, row: Row) -> _ReadView:
    problems: list[ViewProblem] = []
    text = None
    try:
        if row.kind is RowKind.HIVE_VIEW:
            if has_contradictory_flag(row):
                problems.append(ViewProblem(Validity.DRIFTED, _CONTRADICTORY_FLAG))
            text = text_of_hive_view(row)
        elif row.kind is RowKind.ICEBERG_TABLE:
            text = read_view_text(reader.store, row)
        else:
            loaded = _load(reader, row)
            row = loaded.row
            for difference in find_drift(row, loaded.metadata, reader.store.config):
                reason = f"the row's {difference.field} is not the metadata file's: {difference.row}"
                problems.append(ViewProblem(Validity.DRIFTED, reason))
            text = text_of_version(row.name, loaded.metadata.current_version())
        problems += _missing_functions(functions, text)
        unknown_sources = reader.read_text_lineage(row).problem
        if unknown_sources is not None:
            problems.append(ViewProblem(Validity.UNKNOWN, unknown_sources))
    except SqlError as error:
        problems.append(ViewProblem(Validity.UNKNOWN, error.reason))
    except (MetadataFileError, NoSuchViewError) as error:
        problems.append(ViewProblem(Validity.INVALID, str(error)))
    return _ReadView(row, text, tuple(problems))


def _missing_functions(functions: RegisteredFunctions, text: ViewText) -> Iterator[ViewProblem]:
    called = qualified_functions(text.typed, text.dialect)
    try:
        for function in functions.missing(called, text.dialect):
            yield ViewProblem(Validity.INVALID, f"there is {missing_function(function)}")
    except MetastoreRefusedError as error:
        yield ViewProblem(Validity.UNKNOWN, f"its functions cannot be looked up: {error}")


def _check(
    view: _ReadView, schemas: MetastoreSchemas, other_names: Mapping[ViewName, ViewName]
) -> tuple[CheckedView, tuple[ViewName, ...] | None]:
    """Check a view's text; return the result and the names that the text reads, None if it cannot be resolved."""
    problems = list(view.problems)
    tables = None
    if view.text is not None:
        columns = schemas.columns_of(view.row)
        try:
            text_problems, tables = find_problems(view.text, schemas, columns)
        except MetastoreRefusedError as error:
            reason = f"it reads an object that cannot be read: {error}"
            return CheckedView(view.row.name, (*problems, ViewProblem(Validity.UNKNOWN, reason))), None
        if tables is None and any(schemas.table(*name.identifier) for names in other_names.items() for name in names):
            # The resolver does not know the columns of metadata tables such as `database.table.files`.
            reason = f"it may read states or metadata of tables: {text_problems[0].text}"
            text_problems = [ViewProblem(Validity.UNKNOWN, reason)]
        elif tables is None and (source := _source_without_schema(view.text)) is not None:
            text_problems = [ViewProblem(Validity.UNKNOWN, f"it reads {source}: {text_problems[0].text}")]
        problems += text_problems
    return CheckedView(view.row.name, tuple(problems)), tables


def _source_without_schema(text: ViewText) -> str | None:
    try:
        return source_without_schema(parse_query(text.typed, text.dialect))
    except SqlError:
        return None


def _load(reader: LineageReader, row: Row) -> LoadedView:
    try:
        return LoadedView(row, reader.store.files.read(row.metadata_location or ""))
    except MetadataFileError:
        # A commit or drop since the row was listed may have deleted the file.
        return load_view(reader.store, row.name)
