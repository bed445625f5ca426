"""Checks of all stored view texts: each is parsed and expanded again over the columns of the table rows.

Hive's `schematool -validate` does not check views, so an unreadable text, a missing table or column, or a changed type
would show only when a query fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from hive_views.dependencies.validity import Validity, ViewProblem, find_problems
from hive_views.dependencies.view_text import ViewText
from hive_views.errors import InvalidIdentifierError, MetadataFileError, SqlError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.schema_upgrade.catalog_rows import DatabaseSchemas, ViewRow, views
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session
from hive_views.spec.version_texts import HIVE


@dataclass(frozen=True)
class ViewCheck:
    """The problems of one view."""

    tbl_id: int
    """Its TBL_ID."""
    view: str
    """`database.view`."""
    validity: str
    """The worst of its problems: `outdated`, `drifted`, `invalid`, `unknown` (`hive_views.dependencies.validity`)."""
    problems: tuple[str, ...]
    """Descriptions of all its problems."""


def check_views(session: Session, schema: Schema, files: MetadataFiles | None = None) -> tuple[int, list[ViewCheck]]:
    """Check all views."""
    by_catalog: dict[str, DatabaseSchemas] = {}
    count, found = 0, list[ViewCheck]()
    for view in views(session, schema):
        count += 1
        schemas = by_catalog.setdefault(view.catalog, DatabaseSchemas(session, schema, view.catalog))
        problems = _check(view, schemas) + (_drift(view, files) if files else [])
        if problems:
            order = (Validity.INVALID, Validity.DRIFTED, Validity.OUTDATED, Validity.UNKNOWN)
            worst = min((problem.validity for problem in problems), key=order.index)
            said = tuple(_said(problem) for problem in problems)
            found.append(ViewCheck(view.tbl_id, view.identifier, worst.value, said))
    session.rollback()
    return count, found


def _said(problem: ViewProblem) -> str:
    where = f"line {problem.line}:{problem.column} " if problem.line is not None else ""
    return f"{where}{problem.reason}"


def _check(view: ViewRow, schemas: DatabaseSchemas) -> list[ViewProblem]:
    text = view.expanded or view.original
    if not text:
        return [ViewProblem(Validity.INVALID, "it has no text")]
    try:
        name = ViewName(view.database, view.name)
    except InvalidIdentifierError as error:
        return [ViewProblem(Validity.UNKNOWN, str(error))]
    spark = any(key.startswith("spark.sql.") for key in view.parameters)
    dialect = "spark" if spark else HIVE
    # Nobody knows the author's current database: what readers run is checked, which needs none.
    return find_problems(ViewText(name, text, dialect, view.database, None), schemas, list(view.columns)) + _outdated(
        view, name, dialect, schemas
    )


def _outdated(view: ViewRow, name: ViewName, dialect: str, schemas: DatabaseSchemas) -> list[ViewProblem]:
    """Whether what was typed gives other columns by now, as far as it can be told.

    Hive takes the quotes off the original text, and does not say in which database it was typed: where it cannot be
    read, or names nothing in the view's own database, nothing is concluded.
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
            f"what was typed gives {len(typed.names)} columns by now, and the view has {len(view.columns)}",
        )
    ]


def _drift(view: ViewRow, files: MetadataFiles) -> list[ViewProblem]:
    if view.parameters.get("table_type", "").upper() != "ICEBERG-VIEW":
        return []
    location = view.parameters.get("metadata_location")
    if not location:
        return [ViewProblem(Validity.INVALID, "it calls itself an Iceberg view and points to no metadata file")]
    try:
        metadata = files.read(location)
    except MetadataFileError as error:
        return [ViewProblem(Validity.INVALID, str(error))]
    from hive_views.spec.version_texts import row_texts

    texts = row_texts(metadata.current_version())
    pairs = (("viewOriginalText", view.original, texts.original), ("viewExpandedText", view.expanded, texts.expanded))
    return [
        ViewProblem(Validity.DRIFTED, f"the row's {name} is not the metadata file's")
        for name, row, file in pairs
        if row != file
    ]
