"""Which views Spark reads by itself according to their definitions, and what it would read incorrectly.

Spark 4.1.4 with Iceberg 1.11.0 (measured): Iceberg's catalog analyzes a view's text under the settings of the reading
session. Spark's session catalog reads the row's expanded text with ANSI off and the default time zone, whatever the
session's settings. Neither reads other versions than the current one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from hive_views.dependencies.table_findings import spark_findings
from hive_views.errors import SessionSettingsWarning, SqlError, UnreadableTableWarning
from hive_views.identifiers import ViewName
from hive_views.materialized.loading import is_materialized
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.spark.session.helper_session import is_own_view
from hive_views.spark.session.names import ResolvedName, session_setting
from hive_views.spark.session.plans import AnalyzedRelation, AnalyzedStatement
from hive_views.spark.session.reads import StatementReads
from hive_views.spark.session.settings import APPLIED_BY_ANALYSIS, applied_by_execution, not_applied_to_views
from hive_views.spark.session.table_reads import TableReadError
from hive_views.spark.sessions import SESSION_CATALOG, captured_settings
from hive_views.spark.text_settings import TEXT_SETTINGS, USE_CURRENT
from hive_views.spec.session_settings import (
    ANSI,
    RECORDED,
    can_change_results,
    differing_settings,
    is_same_setting,
    recorded_settings,
    typed_mode,
)
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.parsing.parser_settings import find_doubled_quote, reads_doubled_quotes
from hive_views.sql.text.file_names import FILE_NAME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.views import HiveView
    from hive_views.spark.session.services import SessionServices
    from hive_views.spec.metadata import ViewVersion

_SUMMARY_PREFIX = "hive-views."
"""The beginning of the summary keys of versions that this package has written."""
_WINDOW = re.compile(r"\bwindow\b", re.IGNORECASE)


class SessionSettings:
    """The settings of the user's session that can change results: read once for a statement, when they are needed."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @cached_property
    def captured(self) -> Mapping[str, str]:
        """Those that were set, ANSI mode and time zone."""
        return captured_settings(self._spark, can_change_results)


class NativeReads:
    """Decides whether Spark reads a view according to its definition."""

    def __init__(self, services: SessionServices, reads: StatementReads) -> None:
        self._spark = services.spark
        self._names = services.names
        self._helper = services.helper
        self._plans = services.plans
        self._reads = reads

    def reads_replaceable(self, statement: AnalyzedStatement) -> bool:
        """Return whether an analyzed statement reads a table or view that this class may replace."""
        relations = statement.relations
        if self._names.has_iceberg_catalog:
            relations = tuple(relation for relation in relations if relation.is_view or relation.may_be_iceberg)
            tables = [relation for relation in relations if not relation.is_view]
            is_current = all(self._names.loads_tables(table.parts[0]) for table in tables)
            if is_current and self._plans.lacks_property(statement, METADATA):
                relations = tuple(relation for relation in relations if relation.is_view)
        session = SessionSettings(self._spark)
        return any(self._may_be_replaced(*item, session) for item in self._reads.find(relations))

    def _may_be_replaced(
        self, relation: AnalyzedRelation, resolved: ResolvedName, row: Row, session: SessionSettings
    ) -> bool:
        """Return whether an object in an analyzed statement is one that this class may replace."""
        if row.kind is RowKind.ICEBERG_TABLE:
            return METADATA in row.parameters
        if row.kind is not RowKind.ICEBERG_VIEW:
            return False
        view = self._reads.view(row)
        if is_materialized(view.metadata):
            return True
        # `Replacer` has decided about the views in the definition of an own view.
        return not is_own_view(relation.reader) and self._is_misread(relation, resolved, view, session)

    def check_relations(self, relations: tuple[AnalyzedRelation, ...]) -> None:
        """Reject a statement that still reads a view that Spark does not read according to its definition."""
        views = (relation for relation in relations if relation.is_view and not is_own_view(relation.reader))
        session = SessionSettings(self._spark)
        for relation, resolved, row in self._reads.find(views):
            if row.kind is not RowKind.ICEBERG_VIEW:
                continue
            if self._is_misread(relation, resolved, self._reads.view(row), session):
                raise SqlError(
                    f"This statement reads {resolved.name}, a view that Spark by itself would read incorrectly, "
                    "through IDENTIFIER(…), a function, or a view of another kind. Name the view in the statement "
                    "itself, or create the function or view again in a ViewSession",
                    name=str(resolved.name),
                )

    def warn_of_unreadable(self, relations: tuple[AnalyzedRelation, ...]) -> None:
        """Warn of tables that a statement reads and of which Spark returns other rows than Hive, without an error."""
        tables = (relation for relation in relations if not relation.is_view and not relation.may_be_iceberg)
        for finding in spark_findings(row for _, _, row in self._reads.find(tables)):
            if finding.outcome is Outcome.OTHER_ROWS:
                message = f"Spark returns other rows than Hive for this statement: {finding.construct}"
                warnings.warn(message, UnreadableTableWarning, stacklevel=4)

    def _is_misread(
        self, relation: AnalyzedRelation, resolved: ResolvedName, view: HiveView, session: SessionSettings
    ) -> bool:
        """Return whether Spark by itself does not read a view according to its definition."""
        version = view.current_version()
        try:
            text = self.spark_text(resolved.name, version)
        except TableReadError:
            return True
        reader_settings = self._reads.settings_of(relation.reader)
        return not self.is_read_natively(resolved, view, version, text, session, reader_settings)

    def spark_text(self, name: ViewName, version: ViewVersion) -> str:
        """Return the text of a version that Spark runs."""
        texts = sql_texts(version)
        text = texts.get("spark", texts.get(HIVE))
        if text is None:
            # Iceberg's Spark catalog would run the first text: quotes and functions may mean something else in it.
            raise TableReadError(
                f"View {name} has no text for Spark, only for {', '.join(texts) or 'no dialect'}. Add one with CREATE "
                "OR REPLACE VIEW"
            )
        if not reads_doubled_quotes(self._spark.version) and find_doubled_quote(text) is not None:
            raise TableReadError(
                f"View {name} has a literal with a doubled quote, such as 'it''s', which Spark {self._spark.version} "
                "reads without the quote. Replace it by \\' with CREATE OR REPLACE VIEW, or read it with Spark 4.1"
            )
        return text

    def is_read_natively(
        self,
        resolved: ResolvedName,
        view: HiveView,
        version: ViewVersion,
        definition: str,
        session: SessionSettings,
        enclosing_settings: Mapping[str, str] | None = None,
    ) -> bool:
        """Return whether Spark reads the current version of a view according to its definition.

        `enclosing_settings` are the settings of the view that reads it; None or empty for the session's.
        """
        if any(mark in definition and self._is_on(key) for key, marks in TEXT_SETTINGS.items() for mark in marks):
            return False
        settings = recorded_settings(version.summary)
        if self._names.is_iceberg_catalog(resolved.catalog):
            texts = sql_texts(version)
            if definition != texts.get("spark", next(iter(texts.values()))):
                return False  # without a text for Spark, Iceberg takes the first one, whatever its dialect
            if FILE_NAME.search(definition):
                return False  # Iceberg's ResolveViews (1.11) reads the format as a database of its catalog
            if _WINDOW.search(definition):
                return False  # Iceberg's ResolveViews (1.11) leaves named windows unresolved
            if not settings:  # then they are those of the reader, but for the ANSI mode
                has_settings = self.settings_of(version, enclosing_settings or {}) == (enclosing_settings or {})
            else:
                has_settings = self._has_settings(settings, session, enclosing_settings)
            return has_settings and self._names.is_catalog(resolved.catalog)
        # The session catalog, also Iceberg's SparkSessionCatalog (1.11), reads the row's text, in the ANSI mode of the
        # row (off without one) and the default time zone; names without a catalog mean the session's current one,
        # whichever that is. It finds columns by their names, which the text of another program need not have.
        is_ours = any(key.startswith(_SUMMARY_PREFIX) for key in version.summary)
        if settings or has_other_definition(view) or not is_ours:
            return False
        context = self._reads.context_of(version, resolved.name)
        return context.catalog == SESSION_CATALOG and self._names.current().catalog == SESSION_CATALOG

    def settings_of(self, version: ViewVersion, enclosing: Mapping[str, str]) -> Mapping[str, str]:
        """Return the settings under which a version is analyzed; empty for those of the session.

        They are its own, else those of the view or session that reads it (`enclosing`), in the ANSI mode of its types.
        """
        recorded, mode = recorded_settings(version.summary), typed_mode(version.summary)
        if recorded or mode is None:
            return recorded or enclosing
        if is_same_setting(ANSI, enclosing.get(ANSI) or self._names.setting(ANSI), mode):
            return enclosing
        return {**(enclosing or captured_settings(self._spark, can_change_results)), ANSI: mode}

    def _has_settings(
        self, settings: Mapping[str, str], session: SessionSettings, enclosing: Mapping[str, str] | None
    ) -> bool:
        """Whether the reader has the recorded settings of a view, and Spark's defaults for those that it lacks."""
        if enclosing:
            return not differing_settings(settings, enclosing)
        relevant = settings.keys() | session.captured.keys() - {*RECORDED}
        return all(
            key in settings and is_same_setting(key, settings[key], self._names.setting(key)) for key in relevant
        )

    def _is_on(self, key: str) -> bool:
        return self._names.setting(key).lower() == "true"

    def check_settings_at_execution(self, name: ViewName, definition: str, settings: Mapping[str, str]) -> None:
        """Reject a view whose rows depend on settings of the session that Spark does not take from the view.

        Spark reads some settings when it computes rows, from the session that runs the query, also for its own
        views.
        """
        if not settings:
            return
        if self._is_on(USE_CURRENT):
            raise TableReadError(
                f"Spark would not apply the settings of view {name} in this session: RESET {USE_CURRENT}"
            )
        for key, changed in not_applied_to_views(self._spark).items():
            if settings.get(key, "").lower() == "true" and changed.search(definition):
                reason = f"View {name} was defined with {key}=true, which Spark {self._spark.version} does not apply"
                raise TableReadError(f"{reason} to views: read it with Spark 4, or define it with parentheses")
        by_execution = applied_by_execution(self._spark)
        not_applied = {*by_execution} | (
            {*captured_settings(self._spark, can_change_results), *settings} - APPLIED_BY_ANALYSIS
        )
        keys = not_applied - {*TEXT_SETTINGS}
        with self._helper.configured(None, settings) as (session, _):
            values = {key: session_setting(session, key) for key in keys}
        for key, value in sorted(values.items()):
            if is_same_setting(key, value, self._names.setting(key)):
                continue
            reason = f"View {name} was defined with {key}={value}, and this session has {self._names.setting(key)}"
            pattern = by_execution.get(key)
            if pattern is None:
                warnings.warn(
                    f"{reason}. Spark may apply this setting to the rows of the view",
                    SessionSettingsWarning,
                    stacklevel=7,
                )
            elif pattern.search(definition):
                remedy = f"SET {key}={value}" if value else f"RESET {key}"
                raise TableReadError(f"{reason}, which Spark would apply to the rows of the view: {remedy}")


def has_other_definition(view: HiveView) -> bool:
    """Return whether another program changed the definition in the view's row."""
    return any(difference.is_of_definition for difference in view.drift)
