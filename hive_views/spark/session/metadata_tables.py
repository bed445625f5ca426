"""Metadata tables of views: `view.versions`, `view.history`, `view.lineage` and `view.refreshes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from hive_views.spec.version_texts import sql_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.materialized.view import MaterializedView

STORAGE = "storage"
"""The suffix of a materialized view's name for its stored rows, current or AS OF."""

REFRESHES = "refreshes"
"""The suffix of a materialized view's name for the list of the refreshes that AS OF can read."""

METADATA_TABLES = {
    "versions": (
        "version_id INT, made_at TIMESTAMP, is_current BOOLEAN, schema_id INT, columns ARRAY<STRING>, "
        "default_catalog STRING, default_namespace STRING, texts MAP<STRING, STRING>, summary MAP<STRING, STRING>"
    ),
    "history": "made_current_at TIMESTAMP, version_id INT, is_current BOOLEAN",
    "lineage": (
        "database STRING, name STRING, kind STRING, uuid STRING, state STRING, depth INT, parents ARRAY<STRING>"
    ),
    REFRESHES: (
        "snapshot_id BIGINT, made_current_at TIMESTAMP, is_current BOOLEAN, version_id INT, started_at TIMESTAMP, "
        "sources MAP<STRING, BIGINT>"
    ),
}
"""The columns of each table, as Spark writes them."""


def metadata_table(spark: SparkSession, catalog: HiveViewCatalog, view: HiveView, table: str) -> DataFrame:
    """One of a view's metadata tables."""
    return spark.createDataFrame(_ROWS[table](catalog, view), METADATA_TABLES[table])


def refreshes_table(spark: SparkSession, view: MaterializedView) -> DataFrame:
    """Return the refreshes that a materialized view's storage still contains."""
    log = () if view.storage is None else view.storage.metadata.snapshot_log
    # A snapshot is created before it is published, and TIMESTAMP AS OF uses the time of publication.
    published_ms = {entry.snapshot_id: entry.timestamp_ms for entry in reversed(log)}
    rows = [
        (
            refresh.snapshot_id,
            _time(published_ms.get(refresh.snapshot_id, refresh.timestamp_ms)),
            view.snapshot is not None and refresh.snapshot_id == view.snapshot.snapshot_id,
            refresh.state.view_version_id,
            None if refresh.state.started_ms is None else _time(refresh.state.started_ms),
            {str(source.name): source.id for source in refresh.state.sources},
        )
        for refresh in view.refreshes()
    ]
    return spark.createDataFrame(rows, METADATA_TABLES[REFRESHES])


def _versions(_: HiveViewCatalog, view: HiveView) -> list[tuple[Any, ...]]:
    schemas = view.schemas()
    return [
        (
            version.version_id,
            _time(version.timestamp_ms),
            version.version_id == view.metadata.current_version_id,
            version.schema_id,
            [field.name for field in schemas[version.schema_id].fields],
            version.default_catalog,
            ".".join(version.default_namespace),
            sql_texts(version),
            dict(version.summary),
        )
        for version in view.versions
    ]


def _history(_: HiveViewCatalog, view: HiveView) -> list[tuple[Any, ...]]:
    entries = view.history()
    return [
        (_time(entry.timestamp_ms), entry.version_id, number == len(entries) - 1)
        for number, entry in enumerate(entries)
    ]


def _lineage(catalog: HiveViewCatalog, view: HiveView) -> list[tuple[Any, ...]]:
    return [
        (
            item.dependency.name.database,
            item.dependency.name.name,
            item.dependency.kind.value,
            item.dependency.uuid,
            item.state.value,
            item.depth,
            [str(reader) for reader in item.readers],
        )
        for item in catalog.dependencies.lineage(view.name()).dependencies
    ]


_ROWS: Mapping[str, Callable[[HiveViewCatalog, HiveView], list[tuple[Any, ...]]]] = {
    "versions": _versions,
    "history": _history,
    "lineage": _lineage,
}
"""The rows of the tables that every view has."""


def _time(timestamp_ms: int) -> datetime:
    return datetime.fromtimestamp(timestamp_ms / 1000, timezone.utc)
