"""The metastore as it will be after an import: planned views on top of the rows of a server. Nothing is written."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from hive_views.errors import MetastoreRefusedError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.legacy_import.legacy_view import LegacyView, Problem, Writer
from hive_views.metastore.queries import read_rows
from hive_views.metastore.rows.codec import row_with_columns
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.file_codec import parse, serialize
from hive_views.spec.metadata import ViewMetadata

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScannedView:
    """A legacy view with the facts that its row alone shows. Can be pickled."""

    row: Row
    """Its row."""
    view: LegacyView
    """The content of the row."""
    reads: tuple[ViewName, ...]
    """The tables and views that its text names."""
    problem: Problem | None
    """Why it cannot be converted, as far as the row alone shows."""
    files: tuple[str, ...] = ()
    """The files that its text reads as tables."""

    @property
    def name(self) -> ViewName:
        """The name of the view."""
        return self.row.name


class PlannedFiles(MetadataFiles):
    """Metadata files, including those that a plan would write.

    Planned files are kept as bytes, which need a quarter of the memory of parsed files; few of them are read again.
    """

    def __init__(self, files: MetadataFiles) -> None:
        super().__init__({})
        self._files = files
        self._planned: dict[str, bytes] = {}

    def read(self, location: str) -> ViewMetadata:
        """Read a metadata file or a planned one."""
        planned = self._planned.get(location)
        return self._files.read(location) if planned is None else parse(planned, location)

    def put(self, location: str, metadata: ViewMetadata) -> None:
        """Add a planned file; raises InvalidViewError if it would be too large."""
        self._planned[location] = serialize(metadata, codec="none")

    def io(self, location: str):  # type: ignore[no-untyped-def]  # as the base class does
        """Return the FileIO of the real files."""
        return self._files.io(location)


@dataclass(frozen=True)
class PlannedStore(MetastoreStore):
    """A metastore as it will be after an import. Each row is read from the server once."""

    planned: dict[ViewName, Row] = field(default_factory=dict)
    """Rows of planned views."""
    fetched: dict[ViewName, Row | None] = field(default_factory=dict)
    """Rows read from the server."""
    refused: dict[ViewName, MetastoreRefusedError] = field(default_factory=dict)
    """Rows that the server refuses to return."""
    legacy: dict[ViewName, ScannedView] = field(default_factory=dict)
    """Legacy views that are not planned yet."""
    functions: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Whether the metastore has each function that was looked up."""

    def has_function(self, database: str, name: str) -> bool:
        """Return whether a database has a permanent function; the views of a plan often call the same ones."""
        key = (database, name)
        if key not in self.functions:
            self.functions[key] = super().has_function(database, name)
        return self.functions[key]

    def get_row(self, name: ViewName) -> Row | None:
        """Return the planned row of a name, its legacy row, or the row in the metastore."""
        if name in self.planned:
            return self.planned[name]
        if name in self.legacy:
            return row_with_view_columns(self.legacy[name].row, self.legacy[name].view)
        if name in self.refused:
            raise self.refused[name]
        if name not in self.fetched:
            self.fetched[name] = super().get_row(name)
        return self.fetched[name]

    def fetch(self, names: Iterable[ViewName], *, most_calls: int) -> None:
        """Read rows of tables in batches; a row that a batch lacks is read by itself when it is needed."""
        known = (self.planned, self.legacy, self.fetched, self.refused)
        missing = sorted(name for name in set(names) if not any(name in rows for rows in known))

        def on_refused(name: ViewName, error: MetastoreRefusedError) -> None:
            self.refused[name] = error

        rows = read_rows(self, missing, most_calls=most_calls, on_refused=on_refused)
        try:
            self.fetched.update((row.name, row) for row in rows)
        except MetastoreRefusedError as error:
            logger.info("Rows that views read are read one by one: %s", error)

    def put(self, name: ViewName, loaded: LoadedView) -> None:
        """Add a planned view; raises InvalidViewError if its metadata file would be too large."""
        assert isinstance(self.files, PlannedFiles)
        self.files.put(loaded.row.metadata_location or "", loaded.metadata)
        self.planned[name] = loaded.row

    def remove(self, name: ViewName) -> None:
        """Remove a planned view, which is not converted after all."""
        del self.planned[name]


def planned_store(store: MetastoreStore, fetched: dict[ViewName, Row | None] | None = None) -> PlannedStore:
    """Return a store without planned views on top of another one; `fetched` holds rows that need not be read again."""
    return PlannedStore(
        store.client, PlannedFiles(store.files), store.config, fetched={} if fetched is None else fetched
    )


def row_with_view_columns(row: Row, view: LegacyView) -> Row:
    """Return the row with the view's columns; a Trino row declares a dummy column instead of these."""
    if view.writer is not Writer.TRINO:
        return row
    return row_with_columns(row, tuple((column.name, column.type, column.comment) for column in view.columns))
