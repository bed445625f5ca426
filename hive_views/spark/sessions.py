"""Opens, ends and inspects Spark sessions, classic and Connect."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hive_views.errors import SqlError
from hive_views.spark.java_features import SESSION_PACKAGE, SPARK_THROWABLE, Feature, can_use, class_in, has_methods
from hive_views.spark.jvm import is_classic, java_class, static_method
from hive_views.spec.session_settings import OF_APPLICATION, RECORDED, can_change_results, is_same_setting
from hive_views.sql.parsing.parser_settings import CASE_SENSITIVE
from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

logger = logging.getLogger(__name__)

SESSION_CATALOG = "spark_catalog"
"""Spark's own catalog. With Hive support it is the Hive Metastore."""
GLOBAL_TEMP = "global_temp"
"""The database of global temporary views."""
_SESSION_ID = "session_id"
"""Connection parameter with the id of the server's session (PySpark's ChannelBuilder.PARAM_SESSION_ID)."""


_handles_errors = ContextVar("_handles_errors", default=False)


@contextmanager
def errors_not_logged() -> Iterator[None]:
    """Keep PySpark from logging analyzer errors with their stack traces; the caller handles these errors."""
    _filter_error_log()
    token = _handles_errors.set(True)
    try:
        yield
    finally:
        _handles_errors.reset(token)


@cache
def _filter_error_log() -> None:
    try:
        from pyspark.logger import PySparkLogger
    except ModuleNotFoundError:  # Spark 3.5 does not log them
        return
    PySparkLogger.getLogger("SQLQueryContextLogger").addFilter(lambda _: not _handles_errors.get())


def temporary_views(spark: SparkSession) -> tuple[str, ...]:
    """Return the temporary views of a session, without the global ones."""
    rows = spark.sql(f"SHOW VIEWS IN {GLOBAL_TEMP}").collect()
    return tuple(row.viewName for row in rows if not row.namespace)


def temporary_views_among(spark: SparkSession, names: Collection[str]) -> frozenset[str]:
    """Return those of some names that are names of temporary views of a session, by Spark's rules of letter case."""
    if not names:
        return frozenset()
    if can_use(spark, Feature.TEMPORARY_VIEWS):
        with active_session(spark):  # from which Spark takes whether case matters
            views = spark._jsparkSession.sessionState().catalog()
            return frozenset(name for name in names if views.getRawTempView(name).isDefined())
    # As SessionCatalog: the name of a view is stored, and looked up, in lower case unless case matters.
    is_case_sensitive = str(spark.conf.get(CASE_SENSITIVE)).lower() == "true"
    existing = set(temporary_views(spark))
    return frozenset(name for name in names if (name if is_case_sensitive else name.lower()) in existing)


def second_session(spark: SparkSession) -> SparkSession:
    """Open a second session of the same Spark, without the first one's temporary views."""
    if hasattr(type(spark), "cloneSession"):
        session: SparkSession = spark.cloneSession()
        # A clone has the user's temporary views, which a view's text must not see.
        for name in temporary_views(session):
            session.sql(f"DROP VIEW {quote_identifier(name)}")
        return session
    if hasattr(type(spark), "newSession"):
        return spark.newSession()
    return open_connect_session(spark)


def open_connect_session(spark: SparkSession) -> SparkSession:
    """Open a second session of a Spark Connect server, for clients before 4.1, which have no method for it."""
    builder = getattr(getattr(spark, "_client", None), "_builder", None)
    if builder is None:
        raise SqlError(
            "This Spark Connect client cannot open a second session, which this query needs. "
            "Pass one: ViewSession(spark, catalog, helper=SparkSession.builder.remote(…).create())"
        )
    new_builder = copy.deepcopy(builder)
    new_builder.set(_SESSION_ID, str(uuid4()))
    session: SparkSession = type(spark)(connection=new_builder)
    return session


def is_spark_3(session: SparkSession) -> bool:
    """Return whether a session is one of Spark 3."""
    return str(session.version).startswith("3.")


def run_plan(session: SparkSession, plan: Any) -> DataFrame:
    """Run an analyzed plan of a classic session."""
    from pyspark.sql import DataFrame

    datasets = java_class(session._jvm, class_in(f"{SESSION_PACKAGE}.Dataset$.MODULE$", session.version))
    return DataFrame(datasets.ofRows(session._jsparkSession, plan), session)


@contextmanager
def active_session(session: SparkSession) -> Iterator[None]:
    """Make a classic session the JVM's active one, from which Spark's parser and Iceberg's reader take settings."""
    if not is_classic(session):
        yield
        return
    sessions = class_in(f"{SESSION_PACKAGE}.SparkSession", session.version)
    set_active = static_method(session._jvm, sessions, "setActiveSession")
    previous = static_method(session._jvm, sessions, "getActiveSession")()
    if previous.contains(session._jsparkSession):
        yield
        return
    set_active(session._jsparkSession)
    try:
        yield
    finally:
        if previous.isDefined():
            set_active(previous.get())


def end_session(session: SparkSession) -> None:
    """End a session of Spark Connect. A classic session has no resources apart from the shared Spark application.

    `stop()` is not enough: PySpark's `SparkSession.__del__` (4.0, 4.1) shuts down a thread pool that all sessions of
    the process share, whether the session was stopped or not. If the garbage collector runs it during another
    session's call, that call fails ("cannot schedule new futures after shutdown") or the process deadlocks (both
    observed with 4.0.5).
    """
    client = getattr(session, "_client", None)
    if client is None or is_classic(session):
        return
    try:
        client.release_session()
    except spark_exceptions() as error:
        logger.debug("Could not release a Spark Connect session; the server will expire it: %s", error)
    client.close()
    session._client = None  # so that `__del__` does nothing


def all_settings(spark: SparkSession) -> dict[str, str]:
    """Return all settings of a session, as `spark.conf.getAll` returns them, in two calls.

    PySpark's own getAll reads a map of the JVM entry by entry: about 150 round trips, 60 ms of a refresh's 200 ms
    (measured with 4.1.4, classic, on a busy machine).
    """
    if not can_use(spark, Feature.SETTINGS):
        if is_spark_3(spark):  # its PySpark has no getAll, and SET redacts values
            return {row.key: spark.conf.get(row.key) for row in spark.sql("SET").collect()}
        return dict(spark.conf.getAll)
    separator = uuid4().hex
    printed = str(spark.conf._jconf.getAll().mkString(separator))
    entries = (entry.partition(" -> ") for entry in printed.split(separator))
    return {key: value for key, _, value in entries}


def captured_settings(
    spark: SparkSession, is_relevant: Callable[[str], bool], settings: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The settings of a session that were set, can be modified and satisfy a rule; ANSI mode and time zone always.

    The rules are `is_captured_by_spark` and `can_change_results` in `hive_views.spec.session_settings`. Settings that
    are not entries of Spark's configuration, such as those of catalogs, cannot be modified in this sense.

    `settings` are all settings of the session, if they were read already.
    """
    captured = {
        key: value
        for key, value in (all_settings(spark) if settings is None else settings).items()
        if is_relevant(key) and not key.startswith(OF_APPLICATION) and spark.conf.isModifiable(key)
    }
    return {**captured, **{key: str(spark.conf.get(key)) for key in RECORDED}}


def result_settings(spark: SparkSession, keys: Collection[str] = ()) -> dict[str, str]:
    """Return the settings of a session that can change results and do not have their defaults; `keys` in any case."""
    settings = captured_settings(spark, can_change_results)
    optional = [key for key in settings if key not in RECORDED and key not in keys]
    if optional:
        defaults = _defaults(spark, optional)
        settings = {
            key: value
            for key, value in settings.items()
            if key not in defaults or defaults[key] is None or not is_same_setting(key, str(defaults[key]), value)
        }
    if is_spark_3(spark):
        settings[SPARK_LINE] = "3.5"
    for key in keys:
        value = settings.get(key) or spark.conf.get(key, None)
        if value is not None:
            settings[key] = value
    return settings


SPARK_LINE = "hive-views.spark-line"
"""The entry that marks the refresh states of Spark 3, whose defaults and functions differ from those of Spark 4."""

_DEFAULTS: dict[tuple[str, str], str | None] = {}
"""Spark's defaults by version and key; None for a setting without one."""


def _defaults(spark: SparkSession, keys: Collection[str]) -> dict[str, str | None]:
    """Spark's own defaults of settings: their values in a second session after `unset`."""
    version = spark.version
    missing = [key for key in keys if (version, key) not in _DEFAULTS]
    if missing:
        session = second_session(spark)
        try:
            for key in missing:
                session.conf.unset(key)
                _DEFAULTS[version, key] = _default(session, key)
        finally:
            end_session(session)
    return {key: _DEFAULTS[version, key] for key in keys}


def _default(session: SparkSession, key: str) -> str | None:
    """Return the value of a setting that is not set; None if it has none."""
    try:
        # With None as a default, Spark 3.5 returns that.
        value: str | None = session.conf.get(key) if is_spark_3(session) else session.conf.get(key, None)
    except spark_exceptions():
        return None
    return value


@dataclass(frozen=True)
class ErrorContext:
    """The part of a text that one of Spark's errors is about."""

    view: str
    """The view whose text it is, as Spark names it; empty for the statement."""
    start: int
    """The offset of the fragment in the text."""
    fragment: str
    """The part of the text."""


def error_contexts(error: Exception) -> list[ErrorContext]:
    """Return the parts of texts that an error is about."""
    if hasattr(error, "getQueryContext"):
        contexts = [context for context in error.getQueryContext() if context.contextType().name == "SQL"]
    else:
        java_error = _java_error(error)
        contexts = [] if java_error is None else list(java_error.getQueryContext())  # 3.5 has no other type
    return [
        ErrorContext(str(context.objectName()), int(context.startIndex()), str(context.fragment()))
        for context in contexts
    ]


def error_condition(error: Exception) -> tuple[str | None, str | None]:
    """Return the name of an error's condition, such as `TABLE_OR_VIEW_NOT_FOUND`, and its SQLSTATE."""
    from pyspark.errors import PySparkException

    if isinstance(error, PySparkException) and hasattr(error, "getCondition"):
        return error.getCondition(), error.getSqlState()
    java_error = _java_error(error)
    return (None, None) if java_error is None else (java_error.getErrorClass(), java_error.getSqlState())


def _java_error(error: Exception) -> Any:
    """Return the JVM's exception behind an error of PySpark 3.5, which itself has no error condition.

    None without one.
    """
    from py4j.java_gateway import is_instance_of
    from pyspark import SparkContext, __version__

    if SparkContext._jvm is None or not has_methods(SparkContext._jvm, Feature.ERROR_CONDITIONS, __version__):
        return None
    cause = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while cause is not None:
        if is_instance_of(SparkContext._gateway, cause, SPARK_THROWABLE) and cause.getErrorClass():
            return cause
        cause = cause.getCause()
    return None


def spark_exceptions() -> tuple[type[Exception], ...]:
    """The exceptions that PySpark raises: its own, and Py4J's for exceptions of the JVM that it does not convert."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JJavaError
    except ModuleNotFoundError:  # a client of Spark Connect alone
        return (PySparkException,)
    return (PySparkException, Py4JJavaError)
