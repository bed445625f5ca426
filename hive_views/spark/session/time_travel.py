"""The rows and definitions that a view's name with VERSION AS OF or TIMESTAMP AS OF refers to."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hive_views.errors import NoSuchRefreshError, NoSuchVersionError, RefreshError
from hive_views.materialized.loading import is_materialized
from hive_views.materialized.properties import TIME_TRAVEL
from hive_views.materialized.time_travel import stored_rows
from hive_views.spark.session.source_text import SourceText, convert_spark_errors
from hive_views.spark.session.table_reads import TableRead, TableReadError, TimeTravel, TimeTravelKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hive_views.catalog.views import HiveView
    from hive_views.materialized.view import MaterializedView
    from hive_views.spark.session.materialized_reads import MaterializedReader
    from hive_views.spark.session.services import SessionServices
    from hive_views.spec.metadata import ViewVersion


class TimeTravelReader:
    """Finds the rows or definition that a statement reads as of a version or time; raises TableReadError if missing."""

    def __init__(self, services: SessionServices, reader: MaterializedReader) -> None:
        self._spark = services.spark
        self._catalog = services.catalog
        self._reader = reader
        self._can_read_iceberg = services.names.has_iceberg_catalog

    def storage_rows(self, text: str, read: TableRead, view: MaterializedView) -> DataFrame:
        """Return the stored rows that a read of `view.storage` means, with or without AS OF."""
        return self._earlier_rows(view, *self._storage_version(text, read))

    def _storage_version(self, text: str, read: TableRead) -> tuple[int | str | None, int | None]:
        """Return the snapshot, branch or tag, or the time in milliseconds, that an AS OF names.

        Both None without AS OF.
        """
        time_travel = read.time_travel
        if time_travel is None:
            return None, None
        if time_travel.kind is TimeTravelKind.TIMESTAMP:
            return None, self._timestamp_ms(text, time_travel)
        version = time_travel.expression.strip().strip("'\"")
        return (int(version) if version.isdecimal() else version), None

    def _earlier_rows(self, view: MaterializedView, version: int | str | None, timestamp_ms: int | None) -> DataFrame:
        if not self._can_read_iceberg:
            reason = f"The rows of {view.name} are stored in an Iceberg table, which this Spark cannot read"
            raise TableReadError(reason)
        try:
            return self._reader.earlier_rows(stored_rows(view, version=version, at_ms=timestamp_ms))
        except (NoSuchRefreshError, RefreshError) as error:
            raise TableReadError(str(error)) from None

    def rows_as_of(self, text: str, read: TableRead, view: HiveView) -> DataFrame | None:
        """Return the stored rows that AS OF after a materialized view's name means; None if it means a definition.

        The id of a version means that definition; any other number is a snapshot. A time means a definition, too,
        unless the view's property `hive-views.time-travel` makes it mean a refresh.
        """
        time_travel = read.time_travel
        if time_travel is None or not is_materialized(view.metadata):
            return None
        if (
            time_travel.kind is TimeTravelKind.TIMESTAMP
            and view.metadata.properties.get(TIME_TRAVEL, "").lower() != "true"
        ):
            return None
        version, timestamp_ms = self._storage_version(text, read)
        if isinstance(version, int) and view.version(version) is not None:
            return None
        try:
            return self._earlier_rows(self._catalog.materialized.load(view.name()), version, timestamp_ms)
        except TableReadError as error:
            if timestamp_ms is not None:
                raise
            version_ids = ", ".join(str(existing.version_id) for existing in view.versions)
            raise TableReadError(f"{error.reason}; versions of its definition are {version_ids}") from None

    def version_as_of(self, text: str, time_travel: TimeTravel, view: HiveView) -> ViewVersion:
        """Return the version of a view's definition that an AS OF names."""
        if time_travel.kind is TimeTravelKind.TIMESTAMP:
            try:
                return view.version_at(self._timestamp_ms(text, time_travel))
            except NoSuchVersionError as error:
                raise TableReadError(f"{error}; it was first defined at {_first_defined(view)}") from None
        number = time_travel.expression.strip("'\"")
        version = view.version(int(number)) if number.isdecimal() else None
        if version is None:
            version_ids = [existing.version_id for existing in view.versions]
            raise TableReadError(str(NoSuchVersionError(".".join(view.name()), number, version_ids)))
        return version

    def _timestamp_ms(self, text: str, time_travel: TimeTravel) -> int:
        """Return the time after TIMESTAMP AS OF in milliseconds from the epoch, evaluated by the session."""
        head = "SELECT unix_millis(CAST("
        query = f"{head}{time_travel.expression} AS TIMESTAMP)) AS timestamp_ms"
        source = SourceText(text, query, lambda offset: time_travel.start + max(offset - len(head), 0))
        with convert_spark_errors(source):
            timestamp_ms = self._spark.sql(query).collect()[0].timestamp_ms
        if timestamp_ms is None:
            raise TableReadError(f"{time_travel.expression} is not a time")
        return int(timestamp_ms)


def _first_defined(view: HiveView) -> str:
    first_ms = min(entry.timestamp_ms for entry in view.history())
    return datetime.fromtimestamp(first_ms / 1000, timezone.utc).isoformat(timespec="milliseconds")
