"""Views for one query: global temporary views, made in a session of their own, under settings of their own.

Spark keeps with a temporary view the catalog, the database and the SQL settings that were current when it was made, and
analyzes the view's text under them wherever it is read (`view.sqlConfig.*`, measured on 4.1.4, classic and Connect).
They are made in a second session so that the user's settings, current database and temporary views are neither
changed for a moment nor seen by a view's text.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from hive_views.errors import SqlError
from hive_views.spark.session.failures import Source, failures, pointing_into, unchanged
from hive_views.spark.session.names import GLOBAL_TEMP, Context
from hive_views.spark.session.settings import READING, SUBSTITUTE, all_of
from hive_views.sql.rewriting.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

logger = logging.getLogger(__name__)

_SESSION_ID = "session_id"
"""Parameter of a connection (PySpark's ChannelBuilder.PARAM_SESSION_ID): which session of the server it is."""


def other_connection(spark: SparkSession) -> SparkSession:
    """A second session of a Spark Connect server, for clients before 4.1, which open none by themselves."""
    builder = getattr(getattr(spark, "_client", None), "_builder", None)
    if builder is None:
        raise SqlError(
            "This Spark Connect client cannot open a second session, which this query needs. "
            "Give one: ViewSession(spark, catalog, helper=SparkSession.builder.remote(…).create())"
        )
    again = copy.deepcopy(builder)
    again.set(_SESSION_ID, str(uuid4()))
    session: SparkSession = type(spark)(connection=again)
    return session


def second_session(spark: SparkSession) -> SparkSession:
    """A second session of the same Spark, which has none of the first one's temporary views."""
    clone = getattr(spark, "cloneSession", None) if hasattr(type(spark), "cloneSession") else None
    if clone is not None:
        session: SparkSession = clone()
        # A clone has the user's temporary views, which a view's text must not find.
        for row in session.sql(f"SHOW VIEWS IN {GLOBAL_TEMP}").collect():
            if not row.namespace:
                session.sql(f"DROP VIEW {quote_identifier(row.viewName)}")
        return session
    if hasattr(type(spark), "newSession"):
        return spark.newSession()
    return other_connection(spark)


def is_classic(session: SparkSession) -> bool:
    """Whether a session has a JVM behind it, and not a server of Spark Connect."""
    return hasattr(session, "_jsparkSession")


def end_session(session: SparkSession) -> None:
    """End a session of Spark Connect; a classic one has nothing to be ended but the Spark that it shares.

    Not by `stop()` alone: PySpark's `SparkSession.__del__` (4.0, 4.1) stops a pool of threads that all sessions of the
    process share, whether the session was stopped or not. Where the garbage collector runs it in the midst of another
    session's call, that call fails ("cannot schedule new futures after shutdown"), or the process waits for itself
    (both seen with 4.0.5).
    """
    client = getattr(session, "_client", None)
    if client is None or is_classic(session):
        return
    try:
        client.release_session()
    except failures() as error:
        logger.debug("a session of Spark Connect is left to its server: %s", error)
    client.close()
    # Nothing is left for `__del__`.
    session._client = None


class HelperSession:
    """A second session of the same Spark.

    Args:
        spark: The user's session.
        session: The second one; None makes it, at the first need.
    """

    def __init__(self, spark: SparkSession, session: SparkSession | None = None) -> None:
        self._spark = spark
        self._session = session
        self._opened: SparkSession | None = None
        self._lock = threading.RLock()
        self._prefix = f"hive_views_{uuid4().hex[:8]}"
        self._made: dict[tuple[object, ...], str] = {}
        self._names: set[str] = set()
        self._kept: set[str] = set()
        self._sources: dict[str, Source] = {}

    def view(
        self,
        body: str,
        columns: tuple[str, ...],
        context: Context,
        settings: Mapping[str, str],
        source: Source,
        *,
        fresh: bool = False,
    ) -> str:
        """A global temporary view of a query; the same one for the same query."""
        with self.under(None, settings) as (session, state):
            key = (body, columns, context, state)
            known = self._made.get(key)
            if known is not None and not fresh:
                return known
            name = f"{quote_identifier(GLOBAL_TEMP)}.{self._name()}"
            listed = ", ".join(quote_identifier(column) for column in columns)
            head = f"CREATE GLOBAL TEMPORARY VIEW {name.split('.')[1]} ({listed}) AS "
            moved = Source(
                source.text,
                head + body,
                lambda at: source.offset(at - len(head)) if at >= len(head) else None,
                source.view,
            )
            with pointing_into(Source(source.text, context.use, lambda at: None, source.view)):
                session.sql(context.use)
            with pointing_into(moved):
                session.sql(head + body)
            self._made[key] = name
            self._names.add(name)
            self._sources[name] = source
            return name

    def source_of(self, name: str) -> Source | None:
        """The query of a view that was made here."""
        return self._sources.get(quote_name(name.split(".")))

    def frame_as_view(self, frame: DataFrame) -> str:
        """A global temporary view of a data frame of the user's session."""
        with self._lock:
            name = self._name()
            frame.createGlobalTempView(name.strip("`"))
            complete = f"{quote_identifier(GLOBAL_TEMP)}.{name}"
            self._names.add(complete)
            return complete

    @contextmanager
    def under(
        self, context: Context | None, settings: Mapping[str, str]
    ) -> Iterator[tuple[SparkSession, frozenset[tuple[str, str]]]]:
        """The second session with the user's SQL settings, some of them replaced, and a current database."""
        with self._lock:
            session = self._second()
            state = self._settle(session, settings)
            if context is not None:
                with pointing_into(unchanged(context.use)):
                    session.sql(context.use)
            yield session, state

    def keep(self, names: set[str]) -> None:
        """Do not drop some views at the end: a temporary view of the user's reads them."""
        self._kept |= names

    def close(self) -> None:
        """Drop the views that were made, and end the second session where it was opened here."""
        with self._lock:
            for name in self._names - self._kept:
                self._spark.sql(f"DROP VIEW IF EXISTS {name}")
            self._made, self._names, self._sources = {}, set(), {}
            opened, self._opened = self._opened, None
            if opened is not None:
                self._session = None
                end_session(opened)

    def _name(self) -> str:
        return quote_identifier(f"{self._prefix}_{uuid4().hex[:8]}")

    def _second(self) -> SparkSession:
        if self._session is not None:
            return self._session
        self._session = self._opened = session = second_session(self._spark)
        return session

    def _settle(self, session: SparkSession, settings: Mapping[str, str]) -> frozenset[tuple[str, str]]:
        wanted = {key: value for key, value in all_of(self._spark).items() if key.startswith("spark.sql.")}
        # What is analyzed here are texts of views, which say the same in every session.
        wanted.update({key: "false" for key in READING if key == SUBSTITUTE or key in wanted})
        wanted.update(settings)
        there = {key: value for key, value in all_of(session).items() if key.startswith("spark.sql.")}
        for key in there.keys() - wanted.keys():
            if session.conf.isModifiable(key):
                session.conf.unset(key)
        for key, value in wanted.items():
            if there.get(key) != value:
                session.conf.set(key, value)
        return frozenset(wanted.items())
