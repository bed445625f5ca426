"""What a statement or the text of a view reads: tables and views, as Spark parses and names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from hive_views.catalog.views import HiveView
from hive_views.identifiers import ViewName
from hive_views.legacy_import.readers.detection import read_view
from hive_views.metastore.queries import RowCache, load_view
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.spark.session.names import NameContext, ResolvedName
from hive_views.spark.session.plans import AnalyzedRelation
from hive_views.spark.session.source_text import SourceText, convert_spark_errors
from hive_views.spark.session.table_reads import TableRead, table_reads
from hive_views.spark.sessions import SESSION_CATALOG, spark_exceptions
from hive_views.spec.json_text import parse_json
from hive_views.spec.session_settings import can_change_results

if TYPE_CHECKING:
    from hive_views.spark.session.services import SessionServices
    from hive_views.spec.metadata import ViewVersion


NO_CONTEXT = NameContext("", ())
"""The context for names that are complete."""


class StatementReads:
    """Finds what texts read, and the rows of the metastore behind the names."""

    def __init__(self, services: SessionServices) -> None:
        self._spark = services.spark
        self._catalog = services.catalog
        self._names = services.names
        self._helper = services.helper
        self._plans = services.plans

    def name_of(self, parts: tuple[str, ...]) -> ViewName | None:
        """Return the name on the metastore of an object that a plan names."""
        resolved = self._names.resolve(parts, NO_CONTEXT if len(parts) == 3 else self._names.current())
        return None if resolved is None else resolved.name

    def find(self, relations: Iterable[AnalyzedRelation]) -> Iterator[tuple[AnalyzedRelation, ResolvedName, Row]]:
        """Yield the relations of an analyzed plan that are objects of the metastore, with their names and rows."""
        resolved_names: list[tuple[AnalyzedRelation, ResolvedName]] = []
        for relation in relations:
            context = NO_CONTEXT if len(relation.parts) == 3 else self._names.current()
            resolved = self._names.resolve(relation.parts, context)
            if resolved is not None:
                resolved_names.append((relation, resolved))
        rows = RowCache(self._catalog.store)
        rows.load(resolved.name for _, resolved in resolved_names)
        for relation, resolved in resolved_names:
            row = rows.get(resolved.name)
            if row is not None:
                yield relation, resolved, row

    def settings_of(self, reader: tuple[str, ...]) -> Mapping[str, str]:
        """Return the settings that a plain view records; empty for a temporary view, whose settings are not known."""
        resolved = self._names.resolve(reader, NO_CONTEXT) if len(reader) == 3 else None
        row = None if resolved is None else self.row(resolved.name)
        if row is None or row.kind is not RowKind.HIVE_VIEW:
            return {}
        return {key: value for key, value in read_view(row).settings.items() if can_change_results(key)}

    def body_of(self, function: str) -> str:
        """Return the body of a function that is defined in SQL; empty for any other function."""
        try:
            rows = self._spark.sql(f"DESCRIBE FUNCTION EXTENDED {function}").collect()
        except spark_exceptions():
            return ""
        described = {label: text for label, _, text in (str(row[0]).partition(":") for row in rows)}
        if "Body" in described:
            return described["Body"]
        try:
            properties = parse_json(described.get("Usage", ""))  # so far Spark (4.1) prints the function as JSON
        except ValueError:
            properties = None
        if not isinstance(properties, dict):
            return ""
        return str(properties.get("sqlFunction.expression") or properties.get("sqlFunction.query") or "")

    def reads_of_statement(self, text: str) -> tuple[TableRead, ...]:
        """Return the tables that a text reads, as the user's session parses it."""
        with convert_spark_errors(SourceText.unchanged(text)):
            return table_reads(text, self._plans.parsed)

    def reads_of_definition(self, text: str, settings: Mapping[str, str] | None = None) -> tuple[TableRead, ...]:
        """Return the tables that a view's text reads, as Spark parses it under the view's settings."""
        configured = self._helper.configured(None, settings or {})
        with configured as (session, _), convert_spark_errors(SourceText.unchanged(text)):
            return table_reads(text, lambda part: self._plans.parsed(part, session))

    def definition_context(self, reads: Iterable[TableRead], database: str, rows: RowCache) -> NameContext:
        """Return the Spark catalog in which a definition with these reads of this metastore's tables is analyzed.

        It is the session catalog if the definition reads anything but Iceberg tables and views over Iceberg tables.
        """
        uses_session_catalog = not self._names.has_iceberg_catalog
        for read in reads:
            parts = read.parts[-2:] if len(read.parts) > 1 else (database, *read.parts)
            name = ViewName.parse(parts)
            row = rows.get(name)
            if row is not None and row.kind is RowKind.ICEBERG_VIEW:
                version = self.view(row).current_version()
                view_context = self.context_of(version, name, self._names.current().catalog)
                uses_session_catalog = uses_session_catalog or view_context.catalog == SESSION_CATALOG
            elif row is not None and row.kind is not RowKind.ICEBERG_TABLE:
                uses_session_catalog = True
        return NameContext(SESSION_CATALOG if uses_session_catalog else self._catalog.name, (database,))

    def row(self, name: ViewName) -> Row | None:
        """Return the row of an object; None if there is none."""
        return self._catalog.store.get_row(name)

    def view(self, row: Row) -> HiveView:
        """Load the view of a row that was read for the same statement."""
        store = self._catalog.store
        return HiveView(load_view(store, row.name, row), store)

    def is_temporary(self, parts: tuple[str, ...]) -> bool:
        """Return whether a name is that of a temporary view."""
        return len(parts) == 1 and self._names.is_temporary(parts[0])

    def context_of(self, version: ViewVersion, name: ViewName, catalog: str = "") -> NameContext:
        """The catalog and namespace that complete the names of a definition, which is read through a Spark catalog."""
        default_catalog = version.default_catalog or self._catalog.name
        if version.default_catalog is None and self._is_replaced_session_catalog(catalog):
            default_catalog = SESSION_CATALOG  # in Iceberg, the catalog through which the view is read
        if default_catalog == self._catalog.name and not self._names.has_iceberg_catalog:
            default_catalog = SESSION_CATALOG
        return NameContext(default_catalog, tuple(version.default_namespace) or (name.database,))

    def _is_replaced_session_catalog(self, catalog: str) -> bool:
        """Return whether a Spark catalog is the session catalog in the form of Iceberg's SparkSessionCatalog."""
        return catalog.lower() == SESSION_CATALOG and self._names.session_catalog_is_replaced
