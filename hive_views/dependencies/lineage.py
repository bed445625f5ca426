"""The objects that a view reads: its recorded or parsed direct dependencies, and the transitive ones.

A dependency is recorded by name and UUID. A query of the view resolves the name. The UUID shows whether the name still
denotes the object over which the view was defined, and otherwise the new name of that object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from hive_views.errors import (
    MetadataFileError,
    MetastoreRefusedError,
    NoSuchViewError,
    SqlError,
    UnidentifiedError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore.identities import KINDS, identify
from hive_views.metastore.queries import names_by_uuid, tables_without_uuid
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.trino_encoding import query_of, schema_of
from hive_views.spec.lineage_codec import Dependency, ObjectKind, lineage_in_row, lineage_of_version
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import HIVE, RowTexts, sql_texts
from hive_views.sql.parsing.parser import parse_query

_PARSED_DIALECTS = ("hive", "spark", "trino")
_CACHE_SIZE = 50_000
_WITH_DEFINITION = (ObjectKind.VIEW, ObjectKind.HIVE_VIEW, ObjectKind.TABLE)
"""Kinds of objects that may read others; a table only if it is a materialized view."""


class LineageOrigin(Enum):
    """Where the dependencies of a view were read from."""

    ROW = "row"
    """The row's copy of the current version's lineage."""
    VERSION = "version"
    """The summary of the current version, because the row's copy is missing or belongs to an earlier version."""
    TEXT = "text"
    """The view's text, because the writer of the version recorded no lineage."""
    NONE = "none"
    """No lineage is recorded, and no text can be parsed that names all sources; see `Lineage.problem`."""


@dataclass(frozen=True)
class Lineage:
    """The direct dependencies of one view."""

    view: ViewName
    """The view."""
    dependencies: tuple[Dependency, ...]
    """The dependencies, by name."""
    origin: LineageOrigin
    """Where they were read from."""
    missing: tuple[ViewName, ...] = ()
    """Names in the text that no object has; empty for recorded dependencies."""
    problem: str | None = None
    """Why some dependencies are unknown; `dependencies` has those that a parsed text names."""

    @property
    def names(self) -> tuple[ViewName, ...]:
        """All names that the view reads, as far as they are known."""
        return tuple(sorted({*(dependency.name for dependency in self.dependencies), *self.missing}))


class DependencyState(Enum):
    """A recorded dependency compared with the metastore's current state."""

    SAME = "same"
    """The name denotes the recorded object."""
    RENAMED = "renamed"
    """The object has another name, and no object has the recorded one: the view cannot be read."""
    REPLACED = "replaced"
    """The name denotes another object, which the view reads."""
    UNKNOWN = "unknown"
    """The name denotes an object whose UUID cannot be read."""
    MISSING = "missing"
    """No object has the name or the UUID."""


@dataclass(frozen=True)
class ResolvedDependency:
    """A recorded dependency and the object that it denotes now."""

    recorded: Dependency
    """The dependency as recorded."""
    state: DependencyState
    """The comparison with the current state."""
    current: Dependency | None
    """The object under the recorded name or, if renamed, under its new name; None if missing or unknown."""


@dataclass(frozen=True)
class TransitiveDependency:
    """An object that a view reads directly or through other views."""

    dependency: Dependency
    """The current object; the recorded one if missing or unknown. The UUID is empty if only a name is recorded."""
    state: DependencyState
    """The comparison with the dependency that the nearest reader recorded."""
    depth: int
    """The length of the shortest path; 1 for a direct dependency."""
    readers: tuple[ViewName, ...]
    """The views on paths to this object that read it directly, by their current names."""


@dataclass(frozen=True)
class TransitiveLineage:
    """All objects that a view reads, directly or through other views."""

    view: ViewName
    """The view."""
    dependencies: tuple[TransitiveDependency, ...]
    """The objects by depth, then by name, including missing ones."""
    unknown: tuple[Lineage, ...] = ()
    """Views among these objects whose dependencies are unknown."""

    @property
    def missing(self) -> tuple[TransitiveDependency, ...]:
        """The dependencies that exist under no name."""
        return tuple(item for item in self.dependencies if item.state is DependencyState.MISSING)

    def by_uuid(self) -> dict[str, str]:
        """Return `database.name` to UUID for every existing dependency that has one."""
        return {str(item.dependency.name): item.dependency.uuid for item in self._existing()}

    def by_sequence(self) -> dict[str, int]:
        """Return `database.name` to a number from 1 for every existing dependency.

        The numbers are specific to this view and change when a dependency is redefined.
        """
        return {str(item.dependency.name): number for number, item in enumerate(self._existing(), start=1)}

    def _existing(self) -> list[TransitiveDependency]:
        return [
            item
            for item in self.dependencies
            if item.state is not DependencyState.MISSING and item.dependency.uuid != ""
        ]


@dataclass(frozen=True)
class TextLineage:
    """The lineage in one metadata file or text: recorded dependencies, or else parsed names and a problem, if any."""

    dependencies: tuple[Dependency, ...] | None
    names: tuple[ViewName, ...]
    problem: str | None
    origin: LineageOrigin = LineageOrigin.VERSION
    """Where recorded dependencies were read from."""
    other_names: Mapping[ViewName, ViewName] = field(default_factory=dict)
    """For a parsed name: another name that the text may mean instead."""

    @property
    def all_names(self) -> tuple[ViewName, ...]:
        """All names that the view may read."""
        if self.dependencies is not None:
            return tuple(dependency.name for dependency in self.dependencies)
        return tuple(dict.fromkeys((*self.names, *self.other_names.values())))


class LineageReader:
    """Reads lineages; caches those of metadata files, which never change, and of texts. Thread-safe."""

    def __init__(self, store: MetastoreStore) -> None:
        self.store = store
        self._lineages: dict[object, TextLineage] = {}
        self._tables: dict[tuple[ViewName, int], Dependency] = {}

    def read(self, row: Row, get_row: Callable[[ViewName], Row | None] | None = None) -> Lineage:
        """Return the direct dependencies of a view; `get_row` avoids requests for rows that were read already."""
        get_row = get_row or self.store.get_row
        if not row.has_definition:
            return Lineage(row.name, (), LineageOrigin.ROW)
        lineage = self.read_text_lineage(row)
        if lineage.dependencies is not None:
            return Lineage(row.name, lineage.dependencies, lineage.origin)
        dependencies: list[Dependency] = []
        missing: list[ViewName] = []
        for name in lineage.names:
            sources: list[Dependency] = []
            for possible in dict.fromkeys((name, lineage.other_names.get(name, name))):
                try:
                    source = get_row(possible)
                except MetastoreRefusedError:
                    sources.append(unidentified_dependency(possible))
                    continue
                if source is not None:
                    kind = KINDS[source.kind]
                    sources.append(self.identify(source) or unidentified_dependency(source.name, kind))
            if not sources:
                missing.append(name)
            dependencies += sources
        origin = LineageOrigin.TEXT if lineage.problem is None else LineageOrigin.NONE
        return Lineage(row.name, tuple(dependencies), origin, tuple(missing), lineage.problem)

    def read_text_lineage(self, row: Row) -> TextLineage:
        """Return the recorded dependencies of a view, or the names in its text, without reading their rows."""
        if row.is_metric_view:
            return _lineage_of_metrics(row)
        if row.kind is RowKind.HIVE_VIEW:
            texts, database = texts_of_hive_view(row.default_database, row.texts)
            return self._cached((*texts.items(), database), lambda: _of_texts(texts, database))
        if row.kind is RowKind.ICEBERG_TABLE:
            return self._read_file(row, row.definition_location)
        recorded = lineage_in_row(row.parameters, row.metadata_location)
        if recorded is None:
            return self._read_file(row, row.metadata_location)
        return TextLineage(recorded, (), None, LineageOrigin.ROW)

    def read_names(self, row: Row) -> tuple[ViewName, ...]:
        """Return the names that a view may read, without reading the rows of these objects."""
        return self.read_text_lineage(row).all_names if row.has_definition else ()

    def identify(self, row: Row) -> Dependency | None:
        """Return a row as a dependency without writing a UUID into it; None if its UUID cannot be determined."""
        # PyIceberg's table rows have no UUID, and a table's metadata file may be large.
        is_cached = row.kind is RowKind.ICEBERG_TABLE and row.uuid is None
        key = (row.name, row.create_time)
        if is_cached and key in self._tables:
            return self._tables[key]
        try:
            dependency = identify(self.store, row, mark=False)
        except UnidentifiedError:
            return None
        if is_cached:
            self._tables[key] = dependency
        return dependency

    def identify_name(self, name: ViewName) -> Dependency | None:
        """Return the object under a name; None if there is none or its UUID cannot be determined."""
        row = self.store.get_row(name)
        return None if row is None else self.identify(row)

    def _read_file(self, row: Row, location: str | None) -> TextLineage:
        if location is None:
            return TextLineage(None, (), "its row names no metadata file")
        try:
            return self._cached(
                location, lambda: _of_version(self.store.files.read(location).current_version(), row.name.database)
            )
        except MetadataFileError as error:
            return TextLineage(None, (), str(error))

    def _cached(self, key: object, read: Callable[[], TextLineage]) -> TextLineage:
        lineage = self._lineages.get(key)
        if lineage is None:
            lineage = read()
            if len(self._lineages) >= _CACHE_SIZE:
                self._lineages.clear()
            self._lineages[key] = lineage
        return lineage

    def resolve(self, recorded: Dependency) -> ResolvedDependency:
        """Look up a recorded dependency by name and then by UUID."""
        row = self.store.get_row(recorded.name)
        if row is None:
            renamed = self._find_by_uuid(recorded) if recorded.uuid else None
            state = DependencyState.MISSING if renamed is None else DependencyState.RENAMED
            return ResolvedDependency(recorded, state, renamed)
        current = self.identify(row)
        if current is None:
            return ResolvedDependency(recorded, DependencyState.UNKNOWN, None)
        is_same = not recorded.uuid or current.uuid == recorded.uuid
        return ResolvedDependency(recorded, DependencyState.SAME if is_same else DependencyState.REPLACED, current)

    def _find_by_uuid(self, recorded: Dependency) -> Dependency | None:
        """Find an object by UUID: with the server's filter, then in the metadata files of tables without UUID."""
        for name in names_by_uuid(self.store, recorded.uuid):
            current = self.identify_name(name)
            if current is not None and current.uuid == recorded.uuid:
                return current
        if recorded.kind is ObjectKind.TABLE:
            for row in tables_without_uuid(self.store):
                current = self.identify(row)
                if current is not None and current.uuid == recorded.uuid:
                    return current
        return None

    def read_transitive(self, name: ViewName) -> TransitiveLineage:
        """Return all objects that a view reads, breadth first."""
        row = self.store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        dependencies: dict[ViewName, TransitiveDependency] = {}
        unknown = []
        level: list[Row] = [row]
        seen = {name}
        depth = 0
        while level:
            depth += 1
            next_level: list[Row] = []
            for reader in level:
                lineage = self.read(reader)
                if lineage.origin is LineageOrigin.NONE:
                    unknown.append(lineage)
                missing = (unidentified_dependency(name) for name in lineage.missing)
                for recorded in (*lineage.dependencies, *missing):
                    resolved = self.resolve(recorded)
                    _add(dependencies, resolved, depth, reader.name)
                    source = resolved.current
                    may_read = source is not None and source.kind in _WITH_DEFINITION
                    if source is not None and may_read and source.name not in seen:
                        seen.add(source.name)
                        source_row = self.store.get_row(source.name)
                        if source_row is not None and source_row.has_definition:
                            next_level.append(source_row)
            level = next_level
        ordered = sorted(dependencies.values(), key=lambda item: (item.depth, item.dependency.name))
        return TransitiveLineage(name, tuple(ordered), tuple(unknown))


def unidentified_dependency(name: ViewName, kind: ObjectKind = ObjectKind.TABLE) -> Dependency:
    """Return a dependency whose UUID is unknown."""
    return Dependency(name, "", kind, by_name=True)


def _add(
    dependencies: dict[ViewName, TransitiveDependency], resolved: ResolvedDependency, depth: int, reader: ViewName
) -> None:
    current = resolved.current or resolved.recorded
    previous = dependencies.get(current.name)
    if previous is None:
        dependencies[current.name] = TransitiveDependency(current, resolved.state, depth, (reader,))
    elif reader not in previous.readers:
        readers = (*previous.readers, reader)
        dependencies[current.name] = TransitiveDependency(previous.dependency, previous.state, previous.depth, readers)


def dependency_names(version: ViewVersion, database: str) -> tuple[ViewName, ...] | None:
    """Return the names that a version reads, recorded or parsed; None if they are unknown."""
    lineage = _of_version(version, database)
    return None if lineage.problem is not None else lineage.all_names


def _of_version(version: ViewVersion, database: str) -> TextLineage:
    dependencies = lineage_of_version(version)
    if dependencies is not None:
        return TextLineage(dependencies, (), None)
    namespace = version.default_namespace
    return _of_texts(sql_texts(version), namespace[0].lower() if len(namespace) == 1 else database)


def texts_of_hive_view(database: str, texts: RowTexts) -> tuple[dict[str, str], str]:
    """Return the texts of a plain Hive or Trino view by dialect, and the database of unqualified names."""
    query = query_of(texts)
    if query is not None:
        return {"trino": query}, schema_of(texts, database)
    return {HIVE: texts.expanded or texts.original or ""}, database


def _lineage_of_metrics(row: Row) -> TextLineage:
    """Return the source that Spark records for a metric view."""
    source = row.metric_source
    if source is None:
        return TextLineage(None, (), f"{row.name} is a metric view of Spark, and what it reads is not recorded")
    *qualifier, name = source.replace("`", "").lower().split(".")
    return TextLineage(None, (ViewName(qualifier[-1] if qualifier else row.default_database, name),), None)


def _of_texts(texts: Mapping[str, str], database: str) -> TextLineage:
    """Parse the names in a view's texts: in the expanded text if possible, else in the first that names all sources."""
    from hive_views.sql.analysis.references import references  # sqlglot takes 0.1 s to import

    result = TextLineage(None, (), "it has no text in a dialect that can be read here")
    for dialect in sorted(texts, key=lambda dialect: dialect != HIVE):
        # Most texts of dialect hive are expanded texts of views from Spark, with Spark's functions and literals.
        for parser in dict.fromkeys((dialect, *(("spark",) if dialect == HIVE else ()))):
            if parser not in _PARSED_DIALECTS:
                continue
            try:
                parsed = references(parse_query(texts[dialect], parser))
            except SqlError as error:
                if not result.names:
                    result = TextLineage(None, (), f"its {dialect} text cannot be read: {error}")
                continue
            resolved = {
                ViewName(*item.resolved(database)): item.other_resolved(database)
                for item in sorted(parsed.tables, key=lambda item: item.other_parts is not None, reverse=True)
            }
            names = tuple(sorted(resolved))
            others = {name: ViewName(*other) for name, other in resolved.items() if other is not None}
            problem = None
            if parsed.opaque:
                problem = f"its {dialect} text reads {', '.join(parsed.opaque)}, whose tables are unknown"
            if parsed.files:
                problem = f"its {dialect} text reads the files {', '.join(parsed.files)}"
            result = TextLineage(None, names, problem, other_names=others)
            if problem is None:
                return result
    return result
