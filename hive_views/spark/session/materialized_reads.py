"""How a session reads a materialized view: its stored rows if they are usable, its definition otherwise."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError, StaleRowsError
from hive_views.materialized.properties import WhenStale
from hive_views.materialized.refresh.plan import format_settings
from hive_views.spark.java_features import Feature, can_use
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.session.stale_rows import StaleRows, stale_rows
from hive_views.spark.sessions import active_session, result_settings
from hive_views.spec.session_settings import differing_settings
from hive_views.sql.text.quoting import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from hive_views.identifiers import ViewName
    from hive_views.materialized.partial_reads import PartialReading
    from hive_views.materialized.results import Reading
    from hive_views.materialized.time_travel import StoredSnapshot
    from hive_views.spark.session.plans import AnalyzedStatement
    from hive_views.spark.session.services import SessionServices

logger = logging.getLogger(__name__)

_WAP_BRANCH = "spark.wap.branch"
"""The setting by which a session reads a branch of tables instead of `main` (Iceberg's SparkSQLProperties)."""


@dataclass(frozen=True)
class Note:
    """How a statement read a materialized view."""

    view: ViewName
    """The materialized view."""
    from_storage: bool
    """Whether its stored rows were read; otherwise its definition."""
    why: str
    """The reason."""
    computed: str | None = None
    """The condition for the rows that were read from its definition, because only their partitions are stale."""

    def __str__(self) -> str:
        return f"{self.view}: {self.why}"


class MaterializedReader:
    """Reads stored rows of materialized views, and records for each view what was read.

    Attributes:
        notes: What the current statement reads in place of each materialized view.
        may_refresh: Whether the current statement may refresh a view with the property `hive-views.when-stale` =
            `refresh`; EXPLAIN may not.
        filters: The columns that the current statement filters, by the materialized view that may have them.
    """

    def __init__(self, services: SessionServices) -> None:
        self._spark = services.spark
        self._catalog = services.catalog
        self._can_read_iceberg = services.names.has_iceberg_catalog
        self.notes: list[Note] = []
        self.may_refresh = True
        self.filters: Mapping[ViewName, frozenset[str]] = {}
        self._reads_rows = True
        """Whether the current text is run, and not only analyzed."""
        self._stale_rows: list[StaleRows] | None = None
        """The stale rows that the current statement must not need; None outside of the context `checked`."""

    @contextmanager
    def checked(self) -> Iterator[list[StaleRows]]:
        """In this context, views with the property `hive-views.when-stale` = `fail` may be read where they are fresh.

        Their stale rows are replaced by rows whose computation fails; the context yields the list of these. `check`
        must be called before the statement runs.
        """
        self._stale_rows = []
        try:
            yield self._stale_rows
        finally:
            self._stale_rows = None

    @contextmanager
    def analyzing(self) -> Iterator[None]:
        """In this context, texts are analyzed but not run, so the property `hive-views.when-stale` does not apply."""
        self._reads_rows = False
        try:
            yield
        finally:
            self._reads_rows = True

    def check(self, rows: list[StaleRows], statement: AnalyzedStatement | None) -> None:
        """Reject a statement that may need stale rows of a view whose definition must not be read instead.

        Raises:
            StaleRowsError: If Spark's optimized plan still contains such rows.
        """
        for item in rows:
            if item.is_needed(self._spark, statement):
                raise item.error()

    def current_rows(self, name: ViewName, as_view: Callable[[DataFrame], str]) -> str | None:
        """Return a view of the stored rows of a materialized view; None if its definition has to be read.

        If only some partitions are stale, the returned view has the stored rows of the fresh partitions, and the
        rows of the definition for the others. `as_view` creates a view of a data frame and returns its name. Raises
        StaleRowsError if the view's property `hive-views.when-stale` forbids reading the definition.
        """
        if not self._can_read_iceberg:
            self._add_note(Note(name, False, "definition: this Spark cannot read Iceberg tables"))
            return None
        try:
            readings = self._catalog.materialized.readings(name.identifier, self.filters.get(name, ()))
        except HiveViewsError as error:
            # An error of the storage does not prevent reading the definition.
            self._add_note(Note(name, False, f"definition: {error}"))
            return None
        for reading in readings:
            if reading.from_storage and not self.other_settings(reading.settings):
                return self._stored_view(name, reading, as_view)
        reading = next(item for item in readings if item.copy is None)
        may_refresh = self.may_refresh and self._reads_rows
        if not reading.from_storage and reading.when_stale is WhenStale.REFRESH and may_refresh:
            try:
                view = self._catalog.materialized.load(name.identifier)
                view.refresh(SparkEngine(self._spark, self._catalog))
                reading = self._catalog.materialized.load(name.identifier).reading()
            except HiveViewsError as error:
                logger.warning("%s was not refreshed for a query: %s", name, error)
        computed = self.other_settings(reading.settings) if reading.from_storage else ""
        must_not_compute = reading.when_stale is WhenStale.FAIL and self._reads_rows
        if must_not_compute and computed:
            raise StaleRowsError(str(name), f"they were computed with {computed}")
        if must_not_compute and not reading.from_storage:
            return self._fresh_partitions(name, reading, as_view)
        if computed:
            self._add_note(Note(name, False, f"definition: the stored rows were computed with {computed}"))
            return None
        if not reading.from_storage:
            return self._partly_stored_rows(name, reading, as_view)
        return self._stored_view(name, reading, as_view)

    def _stored_view(self, name: ViewName, reading: Reading, as_view: Callable[[DataFrame], str]) -> str:
        self._add_note(Note(name, True, reading.why))
        return as_view(self.load(reading.storage, reading.metadata_location or "", reading.snapshot_id))

    def _fresh_partitions(self, name: ViewName, reading: Reading, as_view: Callable[[DataFrame], str]) -> str:
        """A view of a stale materialized view that has the rows of its fresh partitions; reading the other rows fails.

        Raises:
            StaleRowsError: If any row may be stale, or it is not checked which rows the statement needs.
        """
        try:
            partial = self._partial_reading(name, reading, SparkEngine(self._spark, self._catalog))
        except HiveViewsError as error:
            logger.info("No partition of %s is read from its storage: %s", name, error)
            partial = None
        if partial is None:
            raise StaleRowsError(str(name), str(reading.freshness))
        condition, freshness = partial.stale.condition, str(partial.freshness)
        if self._stale_rows is None or not can_use(self._spark, Feature.STALE_PARTITIONS):
            raise StaleRowsError(str(name), freshness, condition)
        stored = self.load(partial.storage, partial.metadata_location, partial.snapshot_id)
        stale, frame = stale_rows(stored, name, partial.stale, freshness)
        self._stale_rows.append(stale)
        self._add_note(Note(name, True, f"storage, of which no row is needed where {condition}: {freshness}"))
        return as_view(stored.where(partial.stale.complement).unionAll(frame))

    def _partial_reading(self, name: ViewName, reading: Reading, engine: SparkEngine) -> PartialReading | None:
        """How to read the fresh partitions of a stale view; None if any row may be stale."""
        if not reading.may_have_fresh_partitions or self._spark.conf.get(_WAP_BRANCH, None):
            return None
        return self._catalog.materialized.load(name.identifier).partial_reading(engine)

    def _partly_stored_rows(self, name: ViewName, reading: Reading, as_view: Callable[[DataFrame], str]) -> str | None:
        """Return a view of a stale materialized view, whose stale partitions are computed; None if impossible."""
        engine = SparkEngine(self._spark, self._catalog)
        try:
            partial = self._partial_reading(name, reading, engine)
            if partial is not None:
                with engine.computed(partial.request) as computed:
                    session = computed.sparkSession
                    stored = self.load(partial.storage, partial.metadata_location, partial.snapshot_id, session)
                    view = as_view(stored.where(partial.stale.complement).unionAll(computed))
                condition = partial.stale.condition
                why = f"storage, and where {condition} the definition: {partial.freshness}"
                self._add_note(Note(name, True, why, condition))
                return view
        except HiveViewsError as error:
            logger.info("No partition of %s is read from its storage: %s", name, error)
        self._add_note(Note(name, False, reading.why))
        return None

    def earlier_rows(self, stored: StoredSnapshot) -> DataFrame:
        """Return the stored rows of an earlier refresh that a statement names.

        Whether they are fresh is not checked.
        """
        computed = self.other_settings(stored.settings)
        reason = f"storage: {stored}" + (f", computed with {computed}" if computed else "")
        self._add_note(Note(stored.view, True, reason))
        return self.load(stored.storage, stored.metadata_location, stored.snapshot_id)

    def other_settings(self, recorded: Mapping[str, str]) -> str:
        """Return the recorded settings of stored rows that differ from the session's, as text."""
        differing = differing_settings(recorded, result_settings(self._spark, recorded)) if recorded else []
        if self._spark.conf.get(_WAP_BRANCH, None):
            differing.append(_WAP_BRANCH)  # a refresh never reads the branch, which the definition does
        return format_settings(recorded, differing)

    def add_rewritten(self, name: ViewName) -> None:
        """Record that a query reads the stored rows of a materialized view that it does not name."""
        self._add_note(Note(name, True, "storage: fresh; the query was rewritten"))

    def load(
        self,
        storage: ViewName | None,
        metadata_location: str,
        snapshot_id: int | None,
        session: SparkSession | None = None,
    ) -> DataFrame:
        """Return the rows of a storage table's snapshot, in the user's session or in a second one."""
        spark = session or self._spark
        # Iceberg's reader takes the location of a metadata file in place of a name, for storage without a table.
        table = metadata_location
        if storage is not None:
            table = quote_name((self._catalog.name, *storage.identifier))
            if session is None:  # a second session has a cache of its own
                self._refresh_cache(table)
        reader = spark.read.format("iceberg")
        if snapshot_id is not None:
            reader = reader.option("versionAsOf", str(snapshot_id))
        with active_session(spark):
            return reader.load(table)

    def _refresh_cache(self, table: str) -> None:
        """Remove a table from the cache of Iceberg's catalog, since another program may have written to it.

        The catalog caches tables for 30 seconds by default (`cache-enabled`), and does not see newer snapshots.
        """
        cache_enabled = self._spark.conf.get(f"spark.sql.catalog.{self._catalog.name}.cache-enabled", "true")
        if str(cache_enabled).lower() != "false":
            self._spark.sql(f"REFRESH TABLE {table}")

    def _add_note(self, note: Note) -> None:
        logger.info("%s", note)
        self.notes.append(note)
