"""Checks of all stored view texts: each is parsed and expanded again over the columns of the table rows.

Hive's `schematool -validate` does not check views, so an unreadable text, a missing table or column, or a changed type
would show only when a query fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from hive_views.dependencies.validity import SEVERITY, CheckedView, Validity, ViewProblem, find_problems, judge
from hive_views.dependencies.view_text import ViewText
from hive_views.errors import InvalidIdentifierError, MetadataFileError, SqlError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.schema_upgrade.catalog_rows import DatabaseSchemas, ViewRow, views
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


def check_views(
    session: Session, schema: Schema, files: MetadataFiles | None = None
) -> tuple[int, list[ViewTextCheck]]:
    """Check all views; returns their number and those with problems."""
    schemas: dict[str, DatabaseSchemas] = {}
    results: dict[str, dict[ViewName, CheckedView]] = {}
    sources: dict[str, dict[ViewName, tuple[ViewName, ...]]] = {}
    checked: list[tuple[ViewRow, ViewName | None, list[ViewProblem]]] = []
    for view in views(session, schema):
        in_catalog = schemas.setdefault(view.catalog, DatabaseSchemas(session, schema, view.catalog))
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
        checked.append((view, name, problems))
    session.rollback()
    judged = {catalog: judge(results[catalog], sources[catalog]) for catalog in results}
    checks = []
    for view, name, own_problems in checked:
        all_problems = own_problems if name is None else judged[view.catalog][name].problems
        if all_problems:
            worst = min((problem.validity for problem in all_problems), key=SEVERITY.index)
            descriptions = tuple(_describe(problem) for problem in all_problems)
            checks.append(ViewTextCheck(view.tbl_id, view.identifier, worst.value, descriptions))
    return len(checked), checks


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
