"""The context in which a statement runs, its result, and what all handlers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hive_views.config import PLAIN_ROW_TEXT, row_text_forms
from hive_views.dependencies.view_builder import Building, ViewDefinition, build_definition_of_statement
from hive_views.dependencies.view_query import Analyzer
from hive_views.errors import InvalidIdentifierError, SqlError
from hive_views.identifiers import ViewName
from hive_views.rendering import html_table
from hive_views.sql.parsing import statements as sql
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import error_at
from hive_views.text_enum import TextEnum

if TYPE_CHECKING:
    from hive_views.catalog.view_catalog import ViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.dependencies.drop import DropReport
    from hive_views.materialized.refresh.request import Engine

Row = tuple[str | None, ...]
"""One row of an answer."""


class ResultKind(TextEnum):
    """What a statement did."""

    CREATED = "created"
    REPLACED = "replaced"
    CHANGED = "changed"
    RECOMPILED = "recompiled"
    RENAMED = "renamed"
    DROPPED = "dropped"
    REFRESHED = "refreshed"
    UNCHANGED = "unchanged"
    """There was nothing to do."""
    ABSENT = "absent"
    """IF EXISTS applied."""
    ROWS = "rows"
    """It answered: SHOW, DESCRIBE and EXPLAIN REFRESH."""


@dataclass(frozen=True)
class Result:
    """What a statement did, or its answer."""

    kind: ResultKind
    """What it did."""
    identifier: tuple[str, ...] | None = None
    """The view, table or database, with its name after the statement; None for SHOW VIEWS, SHOW MATERIALIZED VIEWS and
    SHOW DATABASES."""
    columns: tuple[str, ...] = ()
    """The column names of the answer; empty if there is no answer."""
    rows: tuple[Row, ...] = ()
    """The answer. For DROP … CASCADE: the dropped objects, in order."""
    view: HiveView | None = None
    """The view after the statement; None if the statement is not about a single view, or dropped it."""

    def _repr_html_(self) -> str:
        """Return the result as a table, for notebooks."""
        name = "" if self.identifier is None else f" {'.'.join(self.identifier)}"
        return html_table(f"{self.kind}{name}", self.rows, self.columns)


@dataclass(frozen=True, kw_only=True)
class StatementContext:
    """A statement and what it is executed with."""

    catalog: ViewCatalog
    statement: Any  # each handler knows the class of its statement
    database: str
    analyzer: Analyzer | None
    summary: Mapping[str, str]
    engine: Engine | None = None

    def resolve_name(self, written: sql.ObjectName | None = None, database: str | None = None) -> ViewName:
        """Return the object that a name refers to; None is the name of the statement's object."""
        written = written or self.statement.name
        parts = written.parts if len(written.parts) > 1 else (database or self.database, *written.parts)
        try:
            return ViewName.parse(parts, catalog=self.catalog.name)
        except InvalidIdentifierError as error:
            reason = f"this catalog is {self.catalog.name}, not {parts[0]}" if len(parts) == 3 else error.reason
            raise error_at(self.statement.text, written.start, f"{written}: {reason}", str(written)) from None

    def define_view(self, name: ViewName, properties: Mapping[str, str] | None) -> ViewDefinition:
        """Resolve and expand the statement's query for a view with these properties; None is a materialized view."""
        return build_definition_of_statement(
            self.catalog.store,
            name,
            self.statement,
            database=self.database,
            analyzer=self.analyzer,
            summary=self.summary,
            building=Building(
                catalog_name=self.catalog.name,
                forms=PLAIN_ROW_TEXT if properties is None else row_text_forms(self.catalog.store.config, properties),
                is_new=isinstance(self.statement, sql.CreateView) and not self.statement.or_replace,
            ),
        )


def unsupported(statement: sql.Statement, reason: str) -> SqlError:
    """Return an error about a statement as a whole, located at the name of its object."""
    written = getattr(statement, "name", None)
    start = written.start if isinstance(written, sql.ObjectName) else 0
    return error_at(statement.text, start, reason, None if written is None else str(written))


def properties_of(statement: sql.Statement, pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the properties of a statement; raises if a key occurs twice."""
    keys = [key for key, _ in pairs]
    duplicate = next((key for key in keys if keys.count(key) > 1), None)
    if duplicate is not None:
        raise unsupported(statement, f"The property {duplicate!r} is given twice. Give it once")
    return dict(pairs)


def check_keys_exist(statement: sql.AlterViewUnsetProperties, properties: Mapping[str, str]) -> None:
    """Reject UNSET TBLPROPERTIES of missing keys, unless the statement has IF EXISTS."""
    missing = [key for key in statement.keys if key not in properties]
    if missing and not statement.if_exists:
        shown = ", ".join(repr(key) for key in missing)
        raise unsupported(statement, f"{statement.name} has no property {shown}: remove it by UNSET … IF EXISTS")


def drop_result(name: ViewName, report: DropReport | None) -> Result:
    """Return the result of a drop; with a report (CASCADE), the dropped objects in order."""
    rows = () if report is None else tuple((str(dropped),) for dropped in report.dropped)
    return Result(ResultKind.DROPPED, name.identifier, columns=("dropped",) if rows else (), rows=rows)


def name_filter(text: str | None, dialect: str) -> Callable[[str], object]:
    """Return a predicate for the names that a SHOW … LIKE pattern matches; None matches all.

    Spark's patterns have `*` and `|`, Hive's also `%` and `_`, Trino's only `%` and `_`.
    """
    if text is None:
        return lambda name: True
    any_text = {Dialect.SPARK: "*", Dialect.HIVE: "*%", Dialect.TRINO: "%"}[Dialect(dialect)]
    any_character = "" if dialect == Dialect.SPARK else "_"
    pieces = []
    for character in text.strip():
        if character in any_text:
            pieces.append(".*")
        elif character in any_character:
            pieces.append(".")
        elif character == "|" and dialect != Dialect.TRINO:
            pieces.append("|")
        else:
            pieces.append(re.escape(character))
    return re.compile("".join(pieces), re.IGNORECASE | re.DOTALL).fullmatch
