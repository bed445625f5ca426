"""Checks of all stored view texts: each is parsed and expanded again over the columns of the table rows.

Hive's `schematool -validate` does not check views, so an unreadable text, a missing table or column, or a changed type
would show only when a query fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hive_views.dependencies.validity import SEVERITY, CheckedView, Validity, ViewProblem, find_problems, judge
from hive_views.dependencies.view_text import ViewText
from hive_views.errors import InvalidIdentifierError, MetadataFileError, SqlError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.schema_upgrade.catalog_rows import DatabaseSchemas, ViewRow, view_batches
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session
from hive_views.spec.version_texts import HIVE, row_texts


@dataclass(frozen=True)
class ViewTextCheck:
    """The problems of one view."""

    tbl_id: int
    """Its TBL_ID."""
    view: str
    """`database.view`."""
    validity: str
    """The worst of its problems, as in `hive_views.dependencies.validity`: `outdated`, `drifted`, `blocked` …"""
    problems: tuple[str, ...]
    """Descriptions of all its problems."""


_PROGRESS = 1_000
"""Views between two progress reports."""


def check_views(
    session: Session, schema: Schema, files: MetadataFiles | None, progress: Callable[[int], None]
) -> tuple[int, list[ViewTextCheck]]:
    """Check all views; returns their number and those with problems."""
    schemas: dict[str, DatabaseSchemas] = {}
    results: dict[str, dict[ViewName, CheckedView]] = {}
    sources: dict[str, dict[ViewName, tuple[ViewName, ...]]] = {}
    # Without the texts, which do not fit into memory together.
    checked: list[tuple[int, str, str, ViewName | None, list[ViewProblem]]] = []
    for view in _prefetched(session, schema, schemas):
        in_catalog = schemas[view.catalog]
        name, problems = None, list[ViewProblem]()
        try:
            name = ViewName(view.database, view.name)
        except InvalidIdentifierError as error:
            problems.append(ViewProblem(Validity.UNKNOWN, str(error)))
        else:
            problems, tables = _check(view, name, in_catalog)
            problems += _drift(view, files) if files else []
            results.setdefault(view.catalog, {})[name] = CheckedView(name, tuple(problems))
            sources.setdefault(view.catalog, {})[name] = tables
        checked.append((view.tbl_id, view.identifier, view.catalog, name, problems))
        if len(checked) % _PROGRESS == 0:
            progress(len(checked))
    session.rollback()
    judged = {catalog: judge(results[catalog], sources[catalog]) for catalog in results}
    checks = []
    for tbl_id, identifier, catalog, name, own_problems in checked:
        all_problems = own_problems if name is None else judged[catalog][name].problems
        if all_problems:
            worst = min((problem.validity for problem in all_problems), key=SEVERITY.index)
            descriptions = tuple(_describe(problem) for problem in all_problems)
            checks.append(ViewTextCheck(tbl_id, identifier, worst.value, descriptions))
    return len(checked), checks


def _prefetched(session: Session, schema: Schema, schemas: dict[str, DatabaseSchemas]) -> Iterator[ViewRow]:
    """All views; the tables that the views of a batch read are read together."""
    for batch in view_batches(session, schema):
        texts: dict[str, list[str]] = defaultdict(list)
        for view in batch:
            texts[view.catalog] += [text for text in (view.expanded, view.original) if text]
        for catalog in {view.catalog for view in batch}:
            schemas.setdefault(catalog, DatabaseSchemas(session, schema, catalog)).prefetch(texts[catalog])
        yield from batch


def _describe(problem: ViewProblem) -> str:
    position = f"line {problem.line}:{problem.column} " if problem.line is not None else ""
    return f"{position}{problem.reason}"


def _check(view: ViewRow, name: ViewName, schemas: DatabaseSchemas) -> tuple[list[ViewProblem], tuple[ViewName, ...]]:
    """Return the problems of a view's text and what it reads."""
    text = view.expanded or view.original
    if not text:
        return [ViewProblem(Validity.INVALID, "it has no text")], ()
    is_spark = any(key.startswith("spark.sql.") for key in view.parameters)
    dialect = "spark" if is_spark else HIVE
    # The author's current database is unknown, so the expanded text, which does not depend on it, is checked.
    view_text = ViewText(name, text, dialect, view.database, None)
    problems, tables = find_problems(view_text, schemas, list(view.columns))
    return problems + _outdated(view, name, dialect, schemas), tables or ()


def _outdated(view: ViewRow, name: ViewName, dialect: str, schemas: DatabaseSchemas) -> list[ViewProblem]:
    """A problem if the original text now has another number of columns than the view.

    Hive removes quotes from the original text and does not record the current database of its author, so a text that
    cannot be parsed or resolved in the view's database is not a problem.
    """
    if not view.original or not view.expanded or view.original == view.expanded:
        return []
    try:
        typed = ViewText(name, view.original, dialect, view.database, None).expand_typed(schemas)
    except SqlError:
        return []
    if len(typed.names) == len(view.columns):
        return []
    return [
        ViewProblem(
            Validity.OUTDATED,
            f"its original text now has {len(typed.names)} columns, the view has {len(view.columns)}",
        )
    ]


def _drift(view: ViewRow, files: MetadataFiles) -> list[ViewProblem]:
    if view.parameters.get("table_type", "").upper() != "ICEBERG-VIEW":
        return []
    location = view.parameters.get("metadata_location")
    if not location:
        return [ViewProblem(Validity.INVALID, "it is marked as an Iceberg view but has no metadata_location")]
    try:
        metadata = files.read(location)
    except MetadataFileError as error:
        return [ViewProblem(Validity.INVALID, str(error))]
    texts = row_texts(metadata.current_version())
    pairs = (("viewOriginalText", view.original, texts.original), ("viewExpandedText", view.expanded, texts.expanded))
    return [
        ViewProblem(Validity.DRIFTED, f"{name} of the row differs from the metadata file")
        for name, row, file in pairs
        if row != file
    ]
