"""The rows that one operation reads: each once, in batches."""

from __future__ import annotations

from collections.abc import Iterable

from hive_views.identifiers import ViewName
from hive_views.metastore.queries import read_rows
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import MetastoreStore


class RowCache:
    """Rows of tables and views by name; create a new one for the next operation, so that it sees changes."""

    def __init__(self, store: MetastoreStore) -> None:
        self.store = store
        self._rows: dict[ViewName, Row | None] = {}

    def load(self, names: Iterable[ViewName]) -> None:
        """Read the rows of names that were not read yet, in batches."""
        missing = sorted(set(names) - self._rows.keys())
        rows = {row.name: row for row in read_rows(self.store, missing)}
        self._rows.update((name, rows.get(name)) for name in missing)

    def add(self, row: Row) -> None:
        """Add a row that was read already."""
        self._rows[row.name] = row

    def get(self, name: ViewName) -> Row | None:
        """Return the row of a name, or None if nothing has it."""
        if name not in self._rows:
            self._rows[name] = self.store.get_row(name)
        return self._rows[name]
