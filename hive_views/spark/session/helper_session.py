"""A second Spark session, in which global temporary views are created that queries read in place of catalog views.

With a temporary view, Spark stores the catalog, the database and the SQL settings that are current at its creation,
and analyzes the view's text under them wherever the view is read (`view.sqlConfig.*`, measured with 4.1.4, classic and
Connect). A second session is used so that the user's settings, current database and temporary views are not changed,
and so that the view's text cannot refer to the user's temporary views.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from hive_views.spark.session.names import NameContext, session_setting
from hive_views.spark.session.source_text import SourceText, convert_spark_errors
from hive_views.spark.sessions import GLOBAL_TEMP, all_settings, end_session, second_session
from hive_views.spark.text_settings import STORE_PLAN, SUBSTITUTE, TEXT_SETTINGS
from hive_views.spec.session_settings import RECORDED, can_change_results
from hive_views.sql.text.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_PREFIX = "hive_views_"
"""The beginning of the names of the views that are created here."""


def is_own_view(parts: tuple[str, ...]) -> bool:
    """Return whether a name is that of a view that a `ViewSession` created in place of a view of its catalog."""
    return parts[:1] == (GLOBAL_TEMP,) and parts[-1].startswith(_PREFIX)


@dataclass
class _Settings:
    """The settings of two sessions, as they are now."""

    user: Mapping[str, str]
    """Those of the user's session."""
    helper: dict[str, str]
    """Those of the second session."""


class HelperSession:
    """The second session of a `ViewSession`, opened when it is first needed."""

    def __init__(self, spark: SparkSession, session: SparkSession | None = None) -> None:
        self._spark = spark
        self._session = session
        self._opened: SparkSession | None = None
        self._lock = threading.RLock()
        self._settings: _Settings | None = None
        """The settings of both sessions, while this one is held."""
        self._prefix = f"{_PREFIX}{uuid4().hex[:8]}"
        self._views: dict[tuple[object, ...], str] = {}
        """The names of the temporary views by their query, columns, context and settings."""
        self._names: set[str] = set()
        self._retained: set[str] = set()
        self._sources: dict[str, SourceText] = {}

    def view(
        self,
        query: str,
        columns: tuple[str, ...],
        context: NameContext,
        settings: Mapping[str, str],
        source: SourceText,
        *,
        recreate: bool = False,
    ) -> str:
        """Create a global temporary view of a query, or return the existing one of the same query."""
        with self.configured(None, settings) as (session, state):
            key = (query, columns, context, state)
            existing = self._views.get(key)
            if existing is not None and not recreate:
                return existing
            short_name = self._new_name()
            name = f"{quote_identifier(GLOBAL_TEMP)}.{short_name}"
            head = f"CREATE GLOBAL TEMPORARY VIEW {short_name} ({', '.join(map(quote_identifier, columns))}) AS "
            statement = head + query
            statement_source = SourceText(
                source.text,
                statement,
                lambda offset: source.offset(offset - len(head)) if offset >= len(head) else None,
                source.view,
            )
            with convert_spark_errors(SourceText(source.text, context.use_statement, lambda _: None, source.view)):
                _use(session, context)
            with convert_spark_errors(statement_source):
                session.sql(statement)
            self._views[key] = name
            self._names.add(name)
            self._sources[name] = source
            return name

    def source_of(self, name: str) -> SourceText | None:
        """Return the query of a view that was created here, by the name that Spark's errors give it."""
        return self._sources.get(quote_name(name.split(".")))

    def frame_as_view(self, frame: DataFrame) -> str:
        """Create a global temporary view of a data frame of the user's session."""
        with self._lock:
            short_name = self._new_name()
            frame.createGlobalTempView(short_name.strip("`"))
            name = f"{quote_identifier(GLOBAL_TEMP)}.{short_name}"
            self._names.add(name)
            return name

    @contextmanager
    def held(self, user_settings: Mapping[str, str] | None = None) -> Iterator[None]:
        """Use the second session several times for one statement: the settings of both sessions are read once.

        `user_settings` are those of the user's session, if they were read already for the statement.
        """
        with self._lock:
            if self._settings is not None:
                yield
                return
            user = all_settings(self._spark) if user_settings is None else user_settings
            self._settings = _Settings(user, all_settings(self._open()))
            try:
                yield
            finally:
                self._settings = None

    @contextmanager
    def configured(
        self, context: NameContext | None, settings: Mapping[str, str]
    ) -> Iterator[tuple[SparkSession, frozenset[tuple[str, str]]]]:
        """The second session with the user's SQL settings, some of them replaced, and a current namespace."""
        with self.held():
            session = self._open()
            state = self._apply_settings(session, settings)
            if context is not None:
                with convert_spark_errors(SourceText.unchanged(context.use_statement)):
                    _use(session, context)
            yield session, state

    def default_setting(self, key: str) -> str:
        """Return Spark's default of a setting, whatever the session has."""
        with self._lock:
            session = self._open()
            if self._settings is None or self._settings.helper.pop(key, None) is not None:
                session.conf.unset(key)  # `configured` sets it again
            return session_setting(session, key)

    def retain(self, names: set[str]) -> None:
        """Keep `close` from dropping some views, because a temporary view of the user reads them."""
        self._retained |= names

    def close(self) -> None:
        """Drop the views, and end the second session if it was opened here."""
        with self._lock:
            for name in self._names - self._retained:
                self._spark.sql(f"DROP VIEW IF EXISTS {name}")
            self._views, self._names, self._sources = {}, set(), {}
            opened, self._opened = self._opened, None
            if opened is not None:
                self._session = None
                end_session(opened)

    def _new_name(self) -> str:
        return quote_identifier(f"{self._prefix}_{uuid4().hex[:8]}")

    def _open(self) -> SparkSession:
        if self._session is None:
            self._session = self._opened = second_session(self._spark)
        return self._session

    def _apply_settings(self, session: SparkSession, settings: Mapping[str, str]) -> frozenset[tuple[str, str]]:
        """Apply recorded settings, with Spark's defaults for those not recorded; or the user's if none are recorded."""
        assert self._settings is not None
        target = {key: value for key, value in self._settings.user.items() if key.startswith("spark.sql.")}
        if settings:
            target = {key: value for key, value in target.items() if key in RECORDED or not can_change_results(key)}
        # The texts analyzed here are those of views, whose meaning must not depend on the session.
        target.update({key: "false" for key in TEXT_SETTINGS if key == SUBSTITUTE or key in target})
        target.update(settings)
        target.pop(STORE_PLAN, None)
        current = self._settings.helper
        for key in [key for key in current if key.startswith("spark.sql.") and key not in target]:
            if session.conf.isModifiable(key):
                session.conf.unset(key)
                del current[key]
        for key, value in target.items():
            if current.get(key) != value:
                with convert_spark_errors(SourceText.unchanged(f"SET {key}={value}")):
                    session.conf.set(key, value)
                current[key] = value
        return frozenset(target.items())


def _use(session: SparkSession, context: NameContext) -> None:
    """Make a namespace the current one of a session."""
    names = session.catalog
    # Spark takes about 5 ms for USE (4.1.4), also if it changes nothing. A name that needs quotes is not compared.
    current = (names.currentCatalog(), names.currentDatabase())
    is_plain = all(part.isidentifier() for part in context.namespace)
    if not is_plain or current != (context.catalog, ".".join(context.namespace)):
        session.sql(context.use_statement)
