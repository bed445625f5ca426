"""Reading a materialized view in a session: its stored rows where they will do, and a note that says which it was."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.materialized.loading import is_materialized
from hive_views.spark.refresh.job import session_settings
from hive_views.sql.rewriting.quoting import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.identifiers import ViewName
    from hive_views.materialized.time_travel import Stored

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Note:
    """What a statement read in place of a materialized view."""

    view: ViewName
    """The materialized view."""
    from_storage: bool
    """Whether it was the stored rows; otherwise the definition."""
    why: str
    """Why."""

    def __str__(self) -> str:
        return f"{self.view}: {self.why}"


class StoredRows:
    """Decides, for one session, what a query on a materialized view reads."""

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, *, iceberg: bool) -> None:
        """Remember the session."""
        self._spark = spark
        self._catalog = catalog
        self._iceberg = iceberg
        self.notes: list[Note] = []

    def frame(self, name: ViewName, view: HiveView) -> DataFrame | None:
        """The stored rows of a view, if it has any that will do."""
        return self.frame_of(name) if is_materialized(view.metadata) else None

    def frame_of(self, name: ViewName) -> DataFrame | None:
        """The stored rows of a materialized view, if it has any that will do."""
        if not self._iceberg:
            self._note(Note(name, False, "definition: this Spark cannot read Iceberg tables"))
            return None
        try:
            reading = self._catalog.materialized.reading(name.identifier)
        except HiveViewsError as error:
            # The definition is there all the same; whatever is wrong with the storage must not hide it.
            self._note(Note(name, False, f"definition: {error}"))
            return None
        settings = session_settings(self._spark) if reading.from_storage and reading.settings else {}
        other = {key: value for key, value in settings.items() if reading.settings.get(key, value) != value}
        if other:
            shown = ", ".join(f"{key}={reading.settings[key]}" for key in sorted(other))
            self._note(Note(name, False, f"definition: the stored rows were computed with {shown}"))
            return None
        self._note(Note(name, reading.from_storage, reading.why))
        if not reading.from_storage:
            return None
        return self._load(reading.storage, reading.metadata_location or "", reading.snapshot_id)

    def frame_at(self, stored: Stored) -> DataFrame:
        """Stored rows as they were, fresh or not: for a statement that asks for just these."""
        other = {key: value for key, value in session_settings(self._spark).items() if key in stored.settings}
        differs = ", ".join(f"{key}={stored.settings[key]}" for key in other if stored.settings[key] != other[key])
        self._note(Note(stored.view, True, f"storage: {stored}" + (f", computed with {differs}" if differs else "")))
        return self._load(stored.storage, stored.metadata_location, stored.snapshot_id)

    def _load(self, storage: ViewName | None, location: str, snapshot_id: int | None) -> DataFrame:
        # Iceberg's reader takes a metadata file in place of a name: so it reads a storage that no catalog knows.
        place = location
        if storage is not None:
            place = quote_name((self._catalog.name, *storage.identifier))
            self._forget(place)
        reader = self._spark.read.format("iceberg")
        if snapshot_id is not None:
            reader = reader.option("versionAsOf", str(snapshot_id))
        return reader.load(place)

    def _forget(self, place: str) -> None:
        """Let Iceberg's catalog forget a table that another session or program may have written to since.

        It keeps tables for half a minute by default (`cache-enabled`), and knows no snapshot that is newer.
        """
        cached = self._spark.conf.get(f"spark.sql.catalog.{self._catalog.name}.cache-enabled", "true")
        if str(cached).lower() != "false":
            self._spark.sql(f"REFRESH TABLE {place}")

    def _note(self, note: Note) -> None:
        logger.info("%s", note)
        self.notes.append(note)
