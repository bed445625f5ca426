"""What a materialized view's sources are now: its lineage walked down, each child in its current state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_views.dependencies.lineage import LineageOrigin, LineageReader, dependency_names
from hive_views.errors import (
    InvalidRefreshStateError,
    MetadataFileError,
    UnidentifiedError,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import FactReader, TableFacts
from hive_views.materialized.freshness.row_cache import Rows
from hive_views.materialized.freshness.verdict import Observed, ObservedSource
from hive_views.materialized.layouts.layouts import METADATA, AssociatedView
from hive_views.materialized.state.refresh_state import SourceKind
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.spec.lineage_codec import Dependency, ObjectKind
from hive_views.spec.metadata import ViewMetadata, ViewVersion
from hive_views.spec.session_settings import recorded_settings

_HIVE_STATE = ("transient_lastDdlTime", "numRows", "totalSize", "numFiles", "rawDataSize", "last_modified_time")
"""Row parameters that Hive and Spark may change when they change a table's rows."""


@dataclass(frozen=True)
class Sources:
    """A definition's sources, in one state: what freshness compares, and what a refresh pins."""

    observed: Observed
    """What is compared."""
    tables: Mapping[ViewName, TableFacts] = field(default_factory=dict)
    """The Iceberg tables, by the names under which they stand."""
    locations: Mapping[ViewName, str] = field(default_factory=dict)
    """Their metadata files."""
    views: Mapping[ViewName, ViewMetadata] = field(default_factory=dict)
    """The Iceberg views, and the definitions of materialized views of the layout `table`."""
    hive_views: Mapping[ViewName, Row] = field(default_factory=dict)
    """Views of Hive's own."""
    hive_tables: Mapping[ViewName, Row] = field(default_factory=dict)
    """Tables of Hive's own."""


class _Walk:
    def __init__(self, reader: LineageReader, facts: FactReader, rows: Rows) -> None:
        self.reader = reader
        self.facts = facts
        self.rows = rows
        self.sources: dict[tuple[str, ViewName], ObservedSource] = {}
        self.others: dict[ViewName, str] = {}
        self.gone: set[ViewName] = set()
        self.unknown: dict[ViewName, str] = {}
        self.tables: dict[ViewName, TableFacts] = {}
        self.locations: dict[ViewName, str] = {}
        self.views: dict[ViewName, ViewMetadata] = {}
        self.hive_views: dict[ViewName, Row] = {}
        self.hive_tables: dict[ViewName, Row] = {}
        self.seen: set[ViewName] = set()

    def level(self, wanted: Mapping[ViewName, str | None]) -> dict[ViewName, str | None]:
        """Look at children, by name with the UUID that was recorded; the children of the views among them."""
        names = [name for name in wanted if name not in self.seen]
        self.seen.update(names)
        there = self.rows.several(names)
        below: dict[ViewName, str | None] = {}
        for name in names:
            row = there.get(name)
            if row is None:
                row = self._moved(name, wanted[name])
            if row is None:
                self.gone.add(name)
                continue
            for child in self._row(row):
                below.setdefault(child[0], child[1])
        return below

    def _moved(self, name: ViewName, uuid: str | None) -> Row | None:
        """Where a child went that was renamed."""
        if uuid is None:
            return None
        found = self.reader.resolve(Dependency(name, uuid, ObjectKind.TABLE)).current
        return None if found is None else self.rows.one(found.name)

    def _row(self, row: Row) -> list[tuple[ViewName, str | None]]:
        name = row.name
        self.seen.add(name)
        if row.kind is RowKind.HIVE_TABLE:
            self.others[name] = hive_state(row)
            self.hive_tables[name] = row
            return []
        if row.kind is RowKind.HIVE_VIEW:
            self.others[name] = hive_state(row)
            self.hive_views[name] = row
            return self._children(row)
        try:
            if row.kind is RowKind.ICEBERG_TABLE and METADATA in row.parameters:
                # A materialized view of the layout `table`: a session reads its definition, as that of any other.
                location = AssociatedView.decode(row.parameters[METADATA]).associated_view_location
                return self._view(name, self.facts.view(location), None)
            if row.kind is RowKind.ICEBERG_TABLE:
                facts = self.facts.table(str(name), row.metadata_location)
                self.tables[name] = facts
                self.locations[name] = row.metadata_location or ""
                self.sources[facts.uuid, name] = ObservedSource(
                    SourceKind.TABLE,
                    name,
                    facts.uuid,
                    facts.snapshot_id,
                    facts.schema_id,
                    facts.written_schema_id,
                    facts.same_rows,
                )
                return []
            metadata = self.facts.view(row.metadata_location or "")
        except (UnidentifiedError, MetadataFileError, InvalidRefreshStateError) as error:
            self.unknown[name] = str(error)
            return []
        return self._view(name, metadata, row)

    def _view(self, name: ViewName, metadata: ViewMetadata, row: Row | None) -> list[tuple[ViewName, str | None]]:
        """A view's state and its children; `row` is None where its definition stands in no view's row."""
        self.views[name] = metadata
        uuid = metadata.view_uuid.lower()
        self.sources[uuid, name] = ObservedSource(
            SourceKind.VIEW, name, uuid, metadata.current_version_id, definition=self.facts.definition(metadata)
        )
        if row is not None:
            return self._children(row)
        children = children_of_version(metadata.current_version(), name)
        if children is None:
            self.unknown[name] = "its text cannot be read"
            return []
        return list(children.items())

    def _children(self, row: Row) -> list[tuple[ViewName, str | None]]:
        lineage = self.reader.read(row, self.rows.known)
        if lineage.origin is LineageOrigin.NONE:
            self.unknown[row.name] = lineage.problem or "it has no lineage"
            return []
        self.gone.update(lineage.missing)
        return [(child.name, child.uuid) for child in lineage.dependencies]


def observe(
    reader: LineageReader, facts: FactReader, rows: Rows, name: ViewName, row: Row | None, metadata: ViewMetadata
) -> Sources:
    """Look at everything that a materialized view reads."""
    walk = _Walk(reader, facts, rows)
    walk.seen.add(name)
    wanted: dict[ViewName, str | None] = {}
    if row is not None:
        lineage = reader.read(row, rows.known)
        if lineage.origin is LineageOrigin.NONE:
            walk.unknown[name] = lineage.problem or "it has no lineage"
        walk.gone.update(lineage.missing)
        wanted = {child.name: child.uuid for child in lineage.dependencies}
    else:
        from_version = children_of_version(metadata.current_version(), name)
        if from_version is None:
            walk.unknown[name] = "its text cannot be read"
        wanted = dict(from_version or {})
    while wanted:
        wanted = walk.level(wanted)
    observed = Observed(
        metadata.view_uuid.lower(),
        metadata.current_version_id,
        tuple(sorted(walk.sources.values(), key=lambda source: source.name)),
        walk.others,
        tuple(sorted(walk.gone)),
        walk.unknown,
        facts.definition(metadata),
        {
            view: own
            for view, known in ((name, metadata), *walk.views.items())
            if (own := recorded_settings(known.current_version().summary))
        },
    )
    return Sources(observed, walk.tables, walk.locations, walk.views, walk.hive_views, walk.hive_tables)


def children_of_version(version: ViewVersion, name: ViewName) -> dict[ViewName, str | None] | None:
    """The immediate children of a definition that stands in no view's row."""
    from hive_views.spec.lineage_codec import lineage_of_version

    recorded = lineage_of_version(version)
    if recorded is not None:
        return {child.name: child.uuid for child in recorded}
    named = dependency_names(version, name.database)
    return None if named is None else dict.fromkeys(named)


def hive_state(row: Row) -> str:
    """The best-effort state of a table or view of Hive's own."""
    known = {key: row.parameters[key] for key in _HIVE_STATE if key in row.parameters}
    text = repr((row.create_time, sorted(known.items()), row.columns, row.texts.expanded))
    return "hive:" + hashlib.sha256(text.encode()).hexdigest()[:24]
