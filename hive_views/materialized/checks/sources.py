"""The current state of a materialized view's sources, found by following its lineage."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_views.dependencies.lineage import LineageOrigin, LineageReader, dependency_names
from hive_views.errors import InvalidRefreshStateError, MetadataFileError, UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import MetadataCache, TableState
from hive_views.materialized.freshness.verdict import ObservedSource, ObservedState
from hive_views.materialized.layouts.table import AssociatedView
from hive_views.materialized.state.refresh_state import SourceKind, fingerprint
from hive_views.metastore.queries import RowCache, unreadable_row
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.trino_encoding import is_encoded
from hive_views.spec.lineage_codec import Dependency, ObjectKind, lineage_of_version
from hive_views.spec.metadata import ViewMetadata, ViewVersion
from hive_views.spec.session_settings import author_settings
from hive_views.spec.staleness_policy import METADATA

_HIVE_STATE = ("transient_lastDdlTime", "numRows", "totalSize", "numFiles", "rawDataSize", "last_modified_time")
"""Row parameters that Hive and Spark may change when they change a table's rows."""


@dataclass(frozen=True)
class Sources:
    """A definition's direct and transitive sources in one state, which freshness compares and a refresh reads."""

    observed: ObservedState
    """The state that is compared."""
    tables: Mapping[ViewName, TableState] = field(default_factory=dict)
    """The Iceberg tables by current name."""
    views: Mapping[ViewName, ViewMetadata] = field(default_factory=dict)
    """The Iceberg views, and the definitions of materialized views of the layout `table`."""
    hive_views: Mapping[ViewName, Row] = field(default_factory=dict)
    hive_tables: Mapping[ViewName, Row] = field(default_factory=dict)


_NamedSources = dict[ViewName, str | None]
"""Names of sources with their UUIDs, if recorded."""


class _SourceCollector:
    """Collects sources, one level of the lineage after another."""

    def __init__(self, lineage_reader: LineageReader, cache: MetadataCache, rows: RowCache) -> None:
        self.lineage_reader = lineage_reader
        self.cache = cache
        self.rows = rows
        self.iceberg_sources: dict[tuple[str, ViewName], ObservedSource] = {}
        self.hive_sources: dict[ViewName, str] = {}
        self.missing: set[ViewName] = set()
        self.unreadable: dict[ViewName, str] = {}
        self.tables: dict[ViewName, TableState] = {}
        self.views: dict[ViewName, ViewMetadata] = {}
        self.hive_views: dict[ViewName, Row] = {}
        self.hive_tables: dict[ViewName, Row] = {}
        self.visited: set[ViewName] = set()

    def collect_level(self, wanted: _NamedSources) -> _NamedSources:
        """Collect some sources, and return the sources of the views among them."""
        names = [name for name in wanted if name not in self.visited]
        self.visited.update(names)
        self.rows.load(names)
        next_level: _NamedSources = {}
        for name in names:
            row = self.rows.find(name)
            if name in self.rows.refused:
                self.unreadable[name] = unreadable_row(self.rows.refused[name])
                continue
            if row is None:
                row = self._find_renamed(name, wanted[name])
            if row is None:
                self.missing.add(name)
                continue
            for source, uuid in self._collect(row).items():
                next_level.setdefault(source, uuid)
        return next_level

    def sources_of_row(self, row: Row) -> _NamedSources:
        """Return the direct sources of a view that has a row of its own."""
        lineage = self.lineage_reader.read(row, self.rows.get)
        if lineage.origin is LineageOrigin.NONE:
            self.unreadable[row.name] = lineage.problem or "it has no lineage"
            return {}
        self.missing.update(lineage.missing)
        return {item.name: item.uuid for item in lineage.dependencies}

    def sources_of_version(self, name: ViewName, version: ViewVersion) -> _NamedSources:
        """Return the direct sources of a definition without a view's row: that of a table in the layout `table`."""
        recorded_sources = lineage_of_version(version)
        if recorded_sources is not None:
            return {source.name: source.uuid for source in recorded_sources}
        names = dependency_names(version, name.database)
        if names is None:
            self.unreadable[name] = "its text cannot be read"
        return dict.fromkeys(names or ())

    def _find_renamed(self, name: ViewName, uuid: str | None) -> Row | None:
        if uuid is None:
            return None
        renamed = self.lineage_reader.resolve(Dependency(name, uuid, ObjectKind.TABLE)).current
        return None if renamed is None else self.rows.get(renamed.name)

    def _collect(self, row: Row) -> _NamedSources:
        name = row.name
        self.visited.add(name)
        if row.kind is RowKind.HIVE_TABLE:
            self.hive_sources[name] = _hive_state(row)
            self.hive_tables[name] = row
            return {}
        if row.kind is RowKind.HIVE_VIEW:
            self.hive_sources[name] = _hive_state(row)
            self.hive_views[name] = row
            return self.sources_of_row(row)
        try:
            if row.kind is RowKind.ICEBERG_TABLE and METADATA in row.parameters:
                # A materialized view of the layout `table` is read through its definition, like any other.
                metadata = self.cache.view(AssociatedView.of(row.parameters).associated_view_location)
                self._add_view(name, metadata)
                return self.sources_of_version(name, metadata.current_version())
            if row.kind is RowKind.ICEBERG_TABLE:
                self._add_table(name, row.metadata_location)
                return {}
            metadata = self.cache.view(row.metadata_location or "")
        except (UnidentifiedError, MetadataFileError, InvalidRefreshStateError) as error:
            self.unreadable[name] = str(error)
            return {}
        self._add_view(name, metadata)
        return self.sources_of_row(row)

    def _add_view(self, name: ViewName, metadata: ViewMetadata) -> None:
        self.views[name] = metadata
        uuid = metadata.view_uuid.lower()
        self.iceberg_sources[uuid, name] = ObservedSource(
            SourceKind.VIEW, name, uuid, metadata.current_version_id, definition=fingerprint(metadata)
        )

    def _add_table(self, name: ViewName, location: str | None) -> None:
        state = self.cache.table_state(str(name), location)
        self.tables[name] = state
        self.iceberg_sources[state.uuid, name] = ObservedSource(
            SourceKind.TABLE,
            name,
            state.uuid,
            state.snapshot_id,
            state.schema_id,
            state.same_rows,
            state.definition(state.schema_id),
        )


def observe_sources(
    lineage_reader: LineageReader,
    cache: MetadataCache,
    rows: RowCache,
    name: ViewName,
    row: Row | None,
    metadata: ViewMetadata,
) -> Sources:
    """Read the state of all sources of a materialized view; `row` is None for the layout `table`."""
    collector = _SourceCollector(lineage_reader, cache, rows)
    collector.visited.add(name)
    if row is not None:
        level = collector.sources_of_row(row)
    else:
        level = collector.sources_of_version(name, metadata.current_version())
    while level:
        level = collector.collect_level(level)
    observed = ObservedState(
        metadata.view_uuid.lower(),
        metadata.current_version_id,
        tuple(sorted(collector.iceberg_sources.values(), key=lambda source: source.name)),
        collector.hive_sources,
        tuple(sorted(collector.missing)),
        collector.unreadable,
        fingerprint(metadata),
        {
            view: settings
            for view, view_metadata in ((name, metadata), *collector.views.items())
            if (settings := author_settings(view_metadata.current_version().summary))
        },
        frozenset(collector.hive_views),
    )
    return Sources(
        observed,
        collector.tables,
        collector.views,
        collector.hive_views,
        collector.hive_tables,
    )


def _hive_state(row: Row) -> str:
    """Return the best-effort state of a Hive table or view."""
    parameters = {key: row.parameters[key] for key in _HIVE_STATE if key in row.parameters}
    # The expanded text of a Trino view is constant.
    view_text = row.texts.original if is_encoded(row.texts.original) else row.texts.expanded
    text = repr((row.create_time, sorted(parameters.items()), row.columns, view_text))
    return "hive:" + hashlib.sha256(text.encode()).hexdigest()[:24]
