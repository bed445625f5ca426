"""Trino's materialized views on a metastore: their rows, their storage, and how fresh they are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError

from hive_views.errors import HiveViewsError, InvalidRefreshStateError, NoSuchViewError, NotMaterializedError
from hive_views.identifiers import ViewName
from hive_views.materialized import trino
from hive_views.materialized.freshness.cache import FactReader, facts_of
from hive_views.materialized.freshness.row_cache import Rows
from hive_views.materialized.freshness.verdict import Cause, Freshness, Reason, Verdict
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.metastore.row_codec import Row, RowKind

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog


class TrinoRows:
    """Reads what Trino wrote."""

    def __init__(self, catalog: HiveViewCatalog, facts: FactReader) -> None:
        """Prepare to read."""
        self._catalog = catalog
        self._store = catalog.store
        self._facts = facts

    def row(self, name: ViewName) -> Row:
        """The row of a materialized view of Trino."""
        row = self._store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        if row.kind is not RowKind.HIVE_VIEW or not trino.is_materialized_view(row.parameters):
            raise NotMaterializedError(str(name), "it is no materialized view of Trino")
        return row

    def storage(self, row: Row) -> str:
        """The metadata file of its storage."""
        if trino.STORAGE_TABLE in row.parameters:
            schema = row.parameters.get(trino.STORAGE_SCHEMA, row.name.database)
            return self._catalog.load_table((schema, row.parameters[trino.STORAGE_TABLE])).metadata_location
        location = row.metadata_location
        if location is None:
            raise InvalidRefreshStateError("metadata_location", "the row of a Trino materialized view names no storage")
        return location

    def freshness(self, row: Row, now_ms: int | None) -> Freshness:
        """How fresh it is, by Trino's rules."""
        try:
            return self._decided(row, now_ms)
        except InvalidRefreshStateError as error:
            raise error.of(str(row.name)) from error.__cause__

    def _decided(self, row: Row, now_ms: int | None) -> Freshness:
        definition = trino.definition(row.texts.original)
        try:
            metadata = self._facts.table_metadata(str(row.name), self.storage(row))
        except (NoSuchTableError, HiveViewsError) as error:
            return Freshness(Verdict.UNKNOWN, (Reason(Cause.STORAGE, detail=str(error)),))
        snapshot = metadata.current_snapshot()
        summary = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
        made = trino.refresh_of({key: str(value) for key, value in summary.items()})
        current: dict[ViewName, int | None] = {}
        gone = []
        tables = () if made is None else tuple(made.tables)
        rows = Rows(self._store, tables)
        for name in tables:
            there = rows.one(name)
            if there is None or there.kind is not RowKind.ICEBERG_TABLE:
                gone.append(name)
                continue
            facts = facts_of(self._facts.table_metadata(str(name), there.metadata_location or ""))
            current[name] = None if facts.snapshot_id == NO_SNAPSHOT else facts.snapshot_id
        now = int(time.time() * 1000) if now_ms is None else now_ms
        return trino.decide(made, current, gone=tuple(gone), now_ms=now, grace_ms=definition.grace_ms)
