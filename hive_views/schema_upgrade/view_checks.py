"""Checks of all stored view texts: each is parsed and expanded again over the columns of the table rows.

Hive's `schematool -validate` does not check views, so an unreadable text, a missing table or column, or a changed type
would be noticed only when a query fails.
"""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hive_views.errors import InvalidIdentifierError, MetadataFileError, SqlError
from hive_views.identifiers import ViewName
from hive_views.schema_upgrade.catalog_rows import DatabaseSchemas, ViewRow, view_batches
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session
from hive_views.sql.analysis.references import may_call_registered_functions
from hive_views.sql.analysis.validity import (
    SEVERITY,
    CheckedView,
    Validity,
    ViewProblem,
    find_problems,
    with_source_problems,
)
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.engines.builtin_functions import HIVE_TABLE_FUNCTIONS
from hive_views.sql.text.dialects import Dialect

if TYPE_CHECKING:
    from hive_views.io.metadata_files import MetadataFiles


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
"""Number of views between two progress reports."""

_VARIABLE = re.compile(
    rf"(?<!\()\*|[+?]|\b(?:{'|'.join(sorted(HIVE_TABLE_FUNCTIONS))}|transform|map|reduce)\b", re.IGNORECASE
)
"""Matches what can make the number of columns depend on tables: a star, a regular expression, a table function."""


def has_fixed_columns(text: str) -> bool:
    """Return whether the number of columns of a Hive text cannot change with the tables; the text is not parsed."""
    return not _VARIABLE.search(text) and not may_call_registered_functions(text)


def check_views(
    session: Session, schema: Schema, files: MetadataFiles | None, progress: Callable[[int], None]
) -> tuple[int, list[ViewTextCheck]]:
    """Check all views; returns their number and those with problems."""
    schemas: dict[str, DatabaseSchemas] = {}
    results: dict[str, dict[ViewName, CheckedView]] = {}
    sources: dict[str, dict[ViewName, tuple[ViewName, ...]]] = {}
    # Holds only views that have problems or read views, without their texts: all views might not fit into memory.
    listed: list[tuple[int, str, str, ViewName | None, list[ViewProblem]]] = []
    count = 0
    with _collecting_new_objects_only():
        for count, (view, texts) in enumerate(_prefetched(session, schema, schemas), 1):
            in_catalog = schemas[view.catalog]
            name, problems, reads_views = None, list[ViewProblem](), False
            try:
                name = ViewName(view.database, view.name)
            except InvalidIdentifierError as error:
                problems.append(ViewProblem(Validity.UNKNOWN, str(error)))
            else:
                problems, tables = _check(view, texts, name, in_catalog)
                problems += _drift(view, files) if files else []
                reads_views = any(in_catalog.is_view(table) for table in tables)
                if problems or reads_views:
                    results.setdefault(view.catalog, {})[name] = CheckedView(name, tuple(problems))
                    sources.setdefault(view.catalog, {})[name] = tables
            if problems or reads_views:
                listed.append((view.tbl_id, view.identifier, view.catalog, name, problems))
            if count % _PROGRESS == 0:
                progress(count)
    session.rollback()
    judged = {catalog: with_source_problems(results[catalog], sources[catalog]) for catalog in results}
    checks = []
    for tbl_id, identifier, catalog, name, own_problems in listed:
        all_problems = own_problems if name is None else judged[catalog][name].problems
        if all_problems:
            worst = min((problem.validity for problem in all_problems), key=SEVERITY.index)
            descriptions = tuple(_describe(problem) for problem in all_problems)
            checks.append(ViewTextCheck(tbl_id, identifier, worst.value, descriptions))
    return count, checks


@contextmanager
def _collecting_new_objects_only() -> Iterator[None]:
    """Exclude existing objects from garbage collection: traversing them took half of the time."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _prefetched(
    session: Session, schema: Schema, schemas: dict[str, DatabaseSchemas]
) -> Iterator[tuple[ViewRow, list[str]]]:
    """Yield all views with the texts to check; the tables that the texts of a batch name are read together."""
    for batch in view_batches(session, schema):
        checked = [(view, _checked_texts(view)) for view in batch]
        texts: dict[str, list[str]] = defaultdict(list)
        for view, own_texts in checked:
            texts[view.catalog] += own_texts
        for catalog, all_texts in texts.items():
            schemas.setdefault(catalog, DatabaseSchemas(session, schema, catalog)).prefetch(all_texts)
        yield from checked


def _checked_texts(view: ViewRow) -> list[str]:
    """Return the expanded text, and the original text if the number of its columns may have changed."""
    texts = dict.fromkeys(text for text in (view.expanded, view.original) if text)
    return [text for number, text in enumerate(texts) if not number or not has_fixed_columns(text)]


def _describe(problem: ViewProblem) -> str:
    position = f"line {problem.line}:{problem.column} " if problem.line is not None else ""
    return f"{position}{problem.reason}"


def _check(
    view: ViewRow, texts: list[str], name: ViewName, schemas: DatabaseSchemas
) -> tuple[list[ViewProblem], tuple[ViewName, ...]]:
    """Return the problems of a view's text and what it reads."""
    if not texts:
        return [ViewProblem(Validity.INVALID, "it has no text")], ()
    is_spark = any(key.startswith("spark.sql.") for key in view.parameters)
    dialect = Dialect.SPARK if is_spark else Dialect.HIVE
    # The author's current database is unknown, so the expanded text, which does not depend on it, is checked.
    view_text = ViewText(name, texts[0], dialect, view.database, None)
    problems, tables = find_problems(view_text, schemas, list(view.columns))
    if len(texts) > 1:
        problems += _outdated(view, replace(view_text, typed=texts[1]), schemas)
    return problems, tables or ()


def _outdated(view: ViewRow, original: ViewText, schemas: DatabaseSchemas) -> list[ViewProblem]:
    """Return a problem if the original text now has another number of columns than the view.

    Hive removes quotes from the original text and does not record the current database of its author, so a text that
    cannot be parsed or resolved in the view's database is not a problem.
    """
    try:
        typed = original.expand_typed(schemas)
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
    # Importing it takes 30 MB, which are in memory already if metadata files are read.
    from hive_views.spec.version_texts import row_texts

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
