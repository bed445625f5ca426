"""CREATE VIEW, ALTER VIEW AS and RECOMPILE in a session: types by Spark's analyzer, the session's settings recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.dependencies.resolved_texts import text_of_version
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.session.failures import Source, pointing_into
from hive_views.spark.session.names import Context, Names
from hive_views.spark.session.reading import Reader
from hive_views.spark.session.rewrite import places
from hive_views.spark.session.settings import PARSER
from hive_views.spark.session.temporary_views import HelperSession
from hive_views.spec.session_settings import RECORDED, encode, recorded
from hive_views.sql.parsing.lexer import error_at, line_and_column
from hive_views.sql.parsing.statements import AlterViewAs, CreateMaterializedView, CreateView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.schema import Schema

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.view_builder import Analyzer


class Definer:
    """Analyzes definitions in Spark; nothing is run there.

    Args:
        catalog: Where the views are.
        names: Resolves names in the user's session.
        reader: Finds the views that a definition reads.
        helper: The session in which Spark analyzes.
    """

    def __init__(self, catalog: HiveViewCatalog, names: Names, reader: Reader, helper: HelperSession) -> None:
        self._catalog = catalog
        self._names = names
        self._reader = reader
        self._helper = helper

    def settings(self) -> dict[str, str]:
        """The settings in force, as a version's summary keeps them."""
        return encode({key: self._names.setting(key) for key in RECORDED})

    def check(self, statement: CreateView | AlterViewAs | CreateMaterializedView, current: Context) -> None:
        """Refuse names that mean something else in the user's session than in a view."""
        query = statement.query
        self._check_parser(statement)
        temporary: tuple[str, ...] | None = None
        for place in places(query.sql):
            written = ".".join(place.parts)
            reason = None
            if place.travel is not None:
                # What it names may be a table: whether the definition can hold it is not ours to say.
                continue
            if len(place.parts) == 1:
                if temporary is None:
                    temporary = tuple(name.lower() for name in self._names.temporary_views())
                if written.lower() in temporary:
                    reason = f"{written} is a temporary view, which ends with its session: a view cannot read it"
            elif len(place.parts) == 2 and self._names.is_catalog(place.parts[0]):
                reason = f"{place.parts[0]} is a catalog: write catalog, database and name"
            if reason is None and len(place.parts) < 3 and not self._names.is_ours(current.catalog):
                reason = (
                    f"{written} is a name in {current.catalog}, the current catalog, which is not on this metastore: "
                    f"USE {self._catalog.name}, or write its catalog and database"
                )
            if reason is not None:
                raise error_at(statement.text, query.start + place.start, reason, written)

    def _check_parser(self, statement: CreateView | AlterViewAs | CreateMaterializedView) -> None:
        query = statement.query
        for key, character in PARSER.items():
            at = query.sql.find(character)
            if at >= 0 and self._names.setting(key).lower() == "true":
                line, column = line_and_column(statement.text, query.start + at)
                reason = f"{key} is on, and this text has a {character} in it, which other readers of the view take for"
                raise SqlError(
                    f"{reason} something else. Write it another way, or set it off", line=line, column=column
                )

    def analyzer(self, statement: CreateView | AlterViewAs | CreateMaterializedView, database: str) -> Analyzer:
        """Where the column types of a statement's query come from; errors point into the statement."""
        start, query = statement.query.start, statement.query.sql
        return self._typed(statement.text, query, start, database, {}, None)

    def recompiler(self, name: ViewName) -> Analyzer:
        """Where the column types of a view come from that is recompiled: under the settings of its definition."""
        version = self._catalog.load_view(name.identifier).current_version()
        text = text_of_version(name, version)
        return self._typed(text.typed, text.typed, 0, text.database, recorded(version.summary), str(name))

    def _typed(
        self, whole: str, typed: str, start: int, database: str, settings: Mapping[str, str], view: str | None
    ) -> Analyzer:
        def analyze(expanded: str) -> Schema:
            home = self._reader.home(expanded, database)
            # What was typed, so that Spark's errors point into it; then the text whose columns have their final names.
            prepared = self._reader.prepare_definition(typed, home, (whole, start), view)
            inner = prepared.source
            source = Source(whole, inner.given, lambda at: start + (inner.offset(at) or 0), view)
            with self._helper.under(home, settings) as (session, _), pointing_into(source, self._reader.definition):
                _ = session.sql(inner.given).schema
            final = self._reader.prepare_definition(expanded, home).source
            nowhere = Source(expanded, final.given, lambda at: None, view)
            with self._helper.under(home, settings) as (session, _), pointing_into(nowhere, self._reader.definition):
                return iceberg_schema(session.sql(final.given).schema)

        return analyze
