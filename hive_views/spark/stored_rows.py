"""Reading a materialized view in a session: its stored rows where they will do, and a note that says which it was."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.materialized.layout import METADATA
from hive_views.materialized.loading import storage_link
from hive_views.spark.refresh_job import session_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.catalog import HiveViewCatalog
    from hive_views.identifiers import ViewName
    from hive_views.view import HiveView

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
        """Remember the session.

        Args:
            spark: The user's session.
            catalog: Where the views are.
            iceberg: Whether the session has the catalog, with Iceberg's runtime.
        """
        self._spark = spark
        self._catalog = catalog
        self._iceberg = iceberg
        self.notes: list[Note] = []

    def frame(self, name: ViewName, view: HiveView) -> DataFrame | None:
        """The stored rows of a view, if it has any that will do.

        Args:
            name: The view.
            view: As it was loaded.

        Returns:
            The rows, at the snapshot that was decided on; None where the definition is to be read.
        """
        metadata = view.metadata
        if storage_link(metadata) is None and METADATA not in metadata.properties:
            return None
        return self.frame_of(name)

    def frame_of(self, name: ViewName) -> DataFrame | None:
        """The stored rows of a materialized view, if it has any that will do.

        Args:
            name: A materialized view of any layout.

        Returns:
            The rows, at the snapshot that was decided on; None where the definition is to be read.
        """
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
        place = reading.metadata_location or ""
        if reading.storage is not None:
            place = ".".join(f"`{part}`" for part in (self._catalog.name, *reading.storage.identifier))
        return self._spark.read.format("iceberg").option("versionAsOf", str(reading.snapshot_id)).load(place)

    def _note(self, note: Note) -> None:
        logger.info("%s", note)
        self.notes.append(note)
