"""The text of a legacy view that reads only tables: the legacy texts of the views that it reads are inside it.

After an import a name in the text means the converted view, so each view of the plan becomes a common table expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hive_views.errors import ComparisonError, SqlError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.backup import row_from_text
from hive_views.legacy_import.journal import History
from hive_views.legacy_import.legacy_view import LegacyView, Writer
from hive_views.legacy_import.plan import PlanEntry
from hive_views.legacy_import.readers.detection import read_view
from hive_views.metastore.rows.row import Row
from hive_views.metastore.rows.serialization import row_fingerprint
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.writing.rename import Name, rename_tables

_PREFIX = "hive_views_legacy_"
"""Begins the names of common table expressions."""


@dataclass(frozen=True)
class LegacyQuery:
    """How the rows of a legacy view are computed."""

    view: LegacyView
    """The view, as its row was when it was planned."""
    expressions: tuple[tuple[str, str], ...]
    """The names and texts of the common table expressions, each after those that it reads; the last is the view."""

    @property
    def source(self) -> str:
        """The name whose rows are those of the view."""
        return self.expressions[-1][0]

    def statement(self, query: str) -> str:
        """Return a query over `source` with the common table expressions in front of it."""
        # A text may end with a comment.
        listed = ", ".join(f"{name} AS ({text}\n)" for name, text in self.expressions)
        return f"WITH {listed} {query}"


class LegacyTexts:
    """The legacy views of a run, from its journal or, where the row is still the legacy one, from the metastore."""

    def __init__(self, current_row: Callable[[ViewName], Row | None], history: History) -> None:
        """Read no rows yet; `current_row` returns the row that has a name now."""
        self._current_row = current_row
        self._history = history
        self._views: dict[ViewName, LegacyView] = {}

    def view(self, entry: PlanEntry) -> LegacyView:
        """Return a legacy view as it was when it was planned; raises ComparisonError."""
        if entry.name not in self._views:
            row = next(self._rows(entry), None)
            if row is None:
                raise ComparisonError(str(entry.name), "its legacy row is neither in the metastore nor in the journal")
            self._views[entry.name] = read_view(row)
        return self._views[entry.name]

    def _rows(self, entry: PlanEntry) -> Iterator[Row]:
        for announcement in self._history.announcements.get(entry.name, ()):
            row = row_from_text(announcement.row)
            if row_fingerprint(row) == entry.fingerprint:
                yield row
        current = self._current_row(entry.name)
        if current is not None and row_fingerprint(current) == entry.fingerprint:
            yield current

    def query(self, entry: PlanEntry) -> LegacyQuery:
        """Return how the rows of a legacy view are computed; raises ComparisonError."""
        view = self.view(entry)
        expressions: dict[ViewName, tuple[str, str]] = {}
        self._add(entry, view, expressions)
        return LegacyQuery(view, tuple(expressions.values()))

    def _add(self, entry: PlanEntry, reader: LegacyView, expressions: dict[ViewName, tuple[str, str]]) -> None:
        view = self.view(entry)
        if (view.dialect, view.settings) != (reader.dialect, reader.settings):
            raise ComparisonError(str(reader.name), f"it reads {view.name}, which has another dialect or settings")
        if view.writer is Writer.SPARK and view.database != reader.database:
            raise ComparisonError(str(reader.name), f"it reads {view.name}, whose names are those of another database")
        by_name = self._history.plan.by_name
        sources = [by_name[name] for name in entry.reads if name in by_name and not by_name[name].materialized]
        for source in sources:
            if source.name not in expressions:
                self._add(source, reader, expressions)
        names = {source.name: expressions[source.name][0] for source in sources}
        try:
            text = rename_tables(parse_query(view.sql, view.dialect), lambda name: _new_name(name, view, names))
        except SqlError as error:
            raise ComparisonError(str(reader.name), f"the text of {view.name} cannot be read: {error}") from error
        expressions[entry.name] = f"{_PREFIX}{len(expressions)}", _with_names(text, view)


def _new_name(name: Name, view: LegacyView, names: Mapping[ViewName, str]) -> Name | None:
    """Return the name of the common table expression for a legacy view that a text reads."""
    if len(name) > 3:
        return None
    database, table = name[-2:] if len(name) > 1 else (view.database, name[-1])
    new = names.get(ViewName(database.lower(), table.lower()))
    return None if new is None else (new,)


def _with_names(text: str, view: LegacyView) -> str:
    """Return a text whose columns have the names of the view; those of Hive's expanded texts have them already."""
    if view.writer is not Writer.SPARK:
        return text
    names = ", ".join(quote_identifier(column.name) for column in view.columns)
    return f"SELECT * FROM ({text}\n) AS hive_views_text ({names})"
