"""`hive-views import compare`: legacy views in their engines, and the views that replaced them in Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hive_views.errors import HiveViewsError, QueryEngineError
from hive_views.legacy_import.comparison.compare import (
    ComparedView,
    CompareProgress,
    CompareRequest,
    Comparison,
    NewView,
)
from hive_views.legacy_import.comparison.engines import QueryEngine, connect_hive, connect_trino, first_line
from hive_views.legacy_import.comparison.legacy_text import LegacyTexts
from hive_views.legacy_import.legacy_view import LegacyView, Writer
from hive_views.legacy_import.plan import PlanEntry
from hive_views.spark.session.session import ViewSession
from hive_views.spark.sessions import SESSION_CATALOG, spark_exceptions
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog


class PlainSpark:
    """Spark's session catalog, in which plain Spark reads its legacy views."""

    dialect = Dialect.SPARK

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark.newSession()

    def query(self, sql: str, view: LegacyView) -> list[Sequence[Any]]:
        """Run a query in the database and under the settings of a view; raises QueryEngineError."""
        conf = self._spark.conf
        before = {key: conf.get(key, None) for key in view.settings}
        try:
            for key, value in view.settings.items():
                conf.set(key, value)
            self._spark.sql(f"USE {SESSION_CATALOG}.{quote_identifier(view.database)}")
            return list(map(tuple, self._spark.sql(sql).collect()))
        except spark_exceptions() as error:
            raise QueryEngineError("Spark", first_line(error)) from error
        finally:
            for key, value in before.items():
                if value is None:
                    conf.unset(key)
                else:
                    conf.set(key, value)


class NewViews:
    """A `ViewSession`, which reads the new views."""

    dialect = Dialect.SPARK

    def __init__(self, session: ViewSession) -> None:
        self._session = session

    def query(self, sql: str, view: LegacyView) -> list[Sequence[Any]]:
        """Run a query; raises QueryEngineError."""
        errors: tuple[type[Exception], ...] = (HiveViewsError, *spark_exceptions())
        try:
            return list(map(tuple, self._session.sql(sql).collect()))
        except errors as error:
            raise QueryEngineError("Spark", first_line(error)) from error

    def new_view(self, entry: PlanEntry) -> NewView:
        """Return how the new view of a plan entry is read."""
        return NewView(self, quote_name((self._session.view_catalog.name, *entry.target.identifier)))


def compare_on_spark(
    spark: SparkSession,
    catalog: HiveViewCatalog,
    request: CompareRequest,
    *,
    to: HiveViewCatalog | None = None,
    progress: CompareProgress | None = None,
) -> tuple[ComparedView, ...]:
    """Compare the legacy views of an import with the new ones.

    Args:
        spark: A session whose session catalog is on the metastore of the legacy views.
        catalog: The catalog of the legacy views.
        request: What is compared.
        to: The catalog for the new views; None for `catalog`.
        progress: Called after each view.

    Returns:
        The result of each view that the plan converts. Problems of single views are results, not exceptions.

    Raises:
        UsageError: If an address is of another form.
        MissingClientError: If the client of an engine is not installed.
        QueryEngineError: If HiveServer2 cannot be reached.
        JournalError: If the file cannot be used.
    """
    with contextlib.ExitStack() as stack:
        engines: dict[Writer, QueryEngine] = {Writer.SPARK: PlainSpark(spark)}
        if request.hive is not None:
            engines[Writer.HIVE] = stack.enter_context(connect_hive(request.hive))
        if request.trino is not None:
            engines[Writer.TRINO] = stack.enter_context(connect_trino(request.trino))
        new = NewViews(stack.enter_context(_view_session(spark, to or catalog)))
        texts = LegacyTexts(catalog.store.get_row, request.history)
        comparison = Comparison(texts, request.history, engines, new.new_view, request.options)
        return comparison.run(request.file, request.names, progress)


@contextlib.contextmanager
def _view_session(spark: SparkSession, catalog: HiveViewCatalog) -> Iterator[ViewSession]:
    session = ViewSession(spark, catalog)
    try:
        yield session
    finally:
        session.close()
