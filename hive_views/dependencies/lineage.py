"""What a view reads: its immediate children as recorded, or rebuilt from its text, and all below them by walking.

A child is recorded by name and UUID. The view's text finds it by its name, so that is what a query of the view reads;
the UUID tells whether it still is the object that the view was defined over, and where that went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from hive_views.errors import MetadataFileError, NoSuchViewError, SqlError, UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.metastore.identities import KINDS, identify
from hive_views.metastore.queries import names_by_uuid, tables_without_uuid
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.lineage_codec import Dependency, ObjectKind, lineage_in_row, lineage_of_version
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import HIVE, sql_texts

_READABLE = ("hive", "spark", "trino")


class LineageOrigin(Enum):
    """Where a view's children are known from."""

    ROW = "row"
    """The row's copy of the version's lineage."""
    VERSION = "version"
    """The summary of the current version: the row's copy is not there or belongs to an earlier version."""
    TEXT = "text"
    """The view's text, because whoever wrote the version left no lineage."""
    NONE = "none"
    """Nothing: neither a lineage, nor a text that could be read. `problem` says why."""


@dataclass(frozen=True)
class Lineage:
    """The immediate children of one view."""

    view: ViewName
    """The view."""
    children: tuple[Dependency, ...]
    """Its children, by name."""
    source: LineageOrigin
    """Where they are known from."""
    missing: tuple[ViewName, ...] = ()
    """Names in its text under which nothing stands; only where the children are known from the text."""
    problem: str | None = None
    """Why its children are not known."""

    @property
    def names(self) -> tuple[ViewName, ...]:
        """All names that its text reads, as far as they are known."""
        return tuple(sorted({*(child.name for child in self.children), *self.missing}))


class DependencyState(Enum):
    """How a recorded child stands today."""

    SAME = "same"
    """It is where it was."""
    RENAMED = "renamed"
    """It has another name now: the view's text does not find it."""
    REPLACED = "replaced"
    """Another object has its name now: the view's text reads that one."""
    UNKNOWN = "unknown"
    """Something has its name, and which object it is cannot be told: its metadata file cannot be read."""
    MISSING = "missing"
    """Nothing has its name, and nothing has its UUID."""


@dataclass(frozen=True)
class ResolvedDependency:
    """A recorded child, and what became of it."""

    child: Dependency
    """As it was recorded."""
    state: DependencyState
    """How it stands."""
    now: Dependency | None
    """As it is: under the name in the view's text, or where it was renamed to; None where it is missing or unknown."""


@dataclass(frozen=True)
class TransitiveDependency:
    """Anything that a view reads, directly or through other views."""

    child: Dependency
    """As it is today; as it was recorded where it is missing or unknown. A name of which nobody recorded more has an
    empty UUID."""
    state: DependencyState
    """How it stands to what the view above recorded."""
    depth: int
    """1 for an immediate child; the shortest way counts."""
    parents: tuple[ViewName, ...]
    """The views above it that read it, by the names under which they stand."""


@dataclass(frozen=True)
class TransitiveLineage:
    """All that a view reads, however deep."""

    view: ViewName
    """The view."""
    children: tuple[TransitiveDependency, ...]
    """By depth, then by name; those that are missing among them."""
    unknown: tuple[Lineage, ...] = ()
    """Views below it whose children are not known."""

    @property
    def missing(self) -> tuple[TransitiveDependency, ...]:
        """What it reads and is not there under any name."""
        return tuple(item for item in self.children if item.state is DependencyState.MISSING)

    def by_uuid(self) -> dict[str, str]:
        """L_deep with UUIDs: `database.name` to UUID, for every child that is there and has one."""
        return {str(item.child.name): item.child.uuid for item in self.children if self._is_there(item)}

    def by_sequence(self) -> dict[str, int]:
        """L with sequence numbers: `database.name` of every child to a number from 1.

        The numbers mean something only within this view, and until a child reads something else.
        """
        there = (item for item in self.children if self._is_there(item))
        return {str(item.child.name): number for number, item in enumerate(there, start=1)}

    @staticmethod
    def _is_there(item: TransitiveDependency) -> bool:
        return item.state is not DependencyState.MISSING and item.child.uuid != ""


@dataclass(frozen=True)
class _FromFile:
    """What a metadata file says; it never changes, so it is remembered by the file's location."""

    children: tuple[Dependency, ...] | None
    names: tuple[ViewName, ...]
    problem: str | None


class LineageReader:
    """Reads lineages; what metadata files say is remembered. Safe for threads."""

    def __init__(self, store: MetastoreStore, *, remembered: int = 50_000) -> None:
        """Make a reader."""
        self.store = store
        self._remembered = remembered
        self._files: dict[str, _FromFile] = {}
        self._tables: dict[tuple[ViewName, int], Dependency] = {}

    def read(self, row: Row, rows: Mapping[ViewName, Row | None] | None = None) -> Lineage:
        """The immediate children of a view."""
        if row.kind is RowKind.ICEBERG_VIEW:
            known = lineage_in_row(row.parameters, row.metadata_location)
            if known is not None:
                return Lineage(row.name, known, LineageOrigin.ROW)
            said = self._file(row)
            if said.children is not None:
                return Lineage(row.name, said.children, LineageOrigin.VERSION)
        elif row.kind is RowKind.HIVE_VIEW:
            said = _of_hive_view(row)
        else:
            return Lineage(row.name, (), LineageOrigin.ROW)
        if said.problem is not None:
            return Lineage(row.name, (), LineageOrigin.NONE, problem=said.problem)
        children, missing = [], []
        for name in said.names:
            child = self._child(name, rows or {})
            if child is None:
                missing.append(name)
            else:
                children.append(child)
        return Lineage(row.name, tuple(children), LineageOrigin.TEXT, tuple(missing))

    def recorded(self, row: Row) -> tuple[ViewName, ...]:
        """The names that a view's text reads, without a look at what stands there."""
        if row.kind is RowKind.ICEBERG_VIEW:
            known = lineage_in_row(row.parameters, row.metadata_location)
            if known is None:
                known = self._file(row).children
            return self._file(row).names if known is None else tuple(child.name for child in known)
        if row.kind is RowKind.HIVE_VIEW:
            return _of_hive_view(row).names
        return ()

    def identified(self, row: Row) -> Dependency | None:
        """A row as a child, without giving it a mark; None where its UUID cannot be told."""
        key = (row.name, row.create_time)
        if row.kind is RowKind.ICEBERG_TABLE and row.uuid is None and key in self._tables:
            return self._tables[key]
        try:
            child = identify(self.store, row, mark=False)
        except UnidentifiedError:
            return None
        if row.kind is RowKind.ICEBERG_TABLE and row.uuid is None:
            # PyIceberg's rows have no UUID, and a table's metadata file may be large.
            self._tables[key] = child
        return child

    def child(self, name: ViewName) -> Dependency | None:
        """What stands under a name; None where nothing does, or where its UUID cannot be told."""
        row = self.store.get_row(name)
        return None if row is None else self.identified(row)

    def _child(self, name: ViewName, rows: Mapping[ViewName, Row | None]) -> Dependency | None:
        row = rows[name] if name in rows else self.store.get_row(name)
        if row is None:
            return None
        return self.identified(row) or unidentified_dependency(name, KINDS[row.kind])

    def _file(self, row: Row) -> _FromFile:
        location = row.metadata_location
        if location is None:
            return _FromFile(None, (), "its row names no metadata file")
        known = self._files.get(location)
        if known is None:
            try:
                version = self.store.files.read(location).current_version()
            except MetadataFileError as error:
                return _FromFile(None, (), str(error))
            known = _from_version(version, row.name.database)
            if len(self._files) >= self._remembered:
                self._files.clear()
            self._files[location] = known
        return known

    def find(self, child: Dependency) -> ResolvedDependency:
        """What became of a recorded child."""
        row = self.store.get_row(child.name)
        if row is not None:
            there = self.identified(row)
            if there is None or not child.uuid:
                return ResolvedDependency(
                    child, DependencyState.UNKNOWN if there is None else DependencyState.SAME, there
                )
            return ResolvedDependency(
                child, DependencyState.SAME if there.uuid == child.uuid else DependencyState.REPLACED, there
            )
        moved = self._named(child) if child.uuid else None
        return ResolvedDependency(child, DependencyState.MISSING if moved is None else DependencyState.RENAMED, moved)

    def _named(self, child: Dependency) -> Dependency | None:
        """What has a child's UUID today: by the server's filter, or by the metadata files of tables without one."""
        for name in names_by_uuid(self.store, child.uuid):
            found = self.child(name)
            if found is not None and found.uuid == child.uuid:
                return found
        if child.kind is ObjectKind.TABLE:
            for row in tables_without_uuid(self.store):
                found = self.identified(row)
                if found is not None and found.uuid == child.uuid:
                    return found
        return None

    def deep(self, name: ViewName) -> TransitiveLineage:
        """All that a view reads, by walking down."""
        row = self.store.get_row(name)
        if row is None:
            raise NoSuchViewError(str(name))
        found: dict[ViewName, TransitiveDependency] = {}
        unknown = []
        level: list[Row] = [row]
        seen = {name}
        depth = 0
        while level:
            depth += 1
            below: list[Row] = []
            for parent in level:
                lineage = self.read(parent)
                if lineage.source is LineageOrigin.NONE:
                    unknown.append(lineage)
                lost = (unidentified_dependency(name) for name in lineage.missing)
                for child in (*lineage.children, *lost):
                    now = self.find(child)
                    _note(found, now, depth, parent.name)
                    if now.now is not None and now.now.kind.is_view and now.now.name not in seen:
                        seen.add(now.now.name)
                        next_row = self.store.get_row(now.now.name)
                        if next_row is not None:
                            below.append(next_row)
            level = below
        ordered = sorted(found.values(), key=lambda item: (item.depth, item.child.name))
        return TransitiveLineage(name, tuple(ordered), tuple(unknown))


def unidentified_dependency(name: ViewName, kind: ObjectKind = ObjectKind.TABLE) -> Dependency:
    """A child of which only the name is known."""
    return Dependency(name, "", kind, by_name=True)


def _note(found: dict[ViewName, TransitiveDependency], now: ResolvedDependency, depth: int, parent: ViewName) -> None:
    child = now.now or now.child
    known = found.get(child.name)
    if known is None:
        found[child.name] = TransitiveDependency(child, now.state, depth, (parent,))
    elif parent not in known.parents:
        found[child.name] = TransitiveDependency(known.child, known.state, known.depth, (*known.parents, parent))


def dependency_names(version: ViewVersion, database: str) -> tuple[ViewName, ...] | None:
    """The tables and views that a version's text names, with or without a lineage."""
    said = _from_version(version, database)
    if said.children is not None:
        return tuple(child.name for child in said.children)
    return None if said.problem is not None else said.names


def _from_version(version: ViewVersion, database: str) -> _FromFile:
    children = lineage_of_version(version)
    if children is not None:
        return _FromFile(children, (), None)
    namespace = version.default_namespace
    return _from_texts(sql_texts(version), namespace[0].lower() if len(namespace) == 1 else database)


def _of_hive_view(row: Row) -> _FromFile:
    return _from_texts({HIVE: row.texts.expanded or row.texts.original or ""}, row.name.database)


def _from_texts(texts: Mapping[str, str], database: str) -> _FromFile:
    """The names in a view's text: in the expanded one if it can be read, else in the first that can."""
    from hive_views.sql.analysis.references import references  # sqlglot takes 0.1 s to import

    problem = "it has no text in a dialect that can be read here"
    ordered = sorted(texts, key=lambda dialect: dialect != HIVE)
    for dialect in ordered:
        # Texts of dialect hive are mostly expanded texts of Spark's authors, with Spark's functions and literals.
        for parser in dict.fromkeys((dialect, *(("spark",) if dialect == HIVE else ()))):
            if parser not in _READABLE:
                continue
            try:
                named = references(texts[dialect], parser).tables
            except SqlError as error:
                problem = f"its {dialect} text cannot be read: {error}"
                continue
            return _FromFile(None, _names(reference.resolved(database) for reference in named), None)
    return _FromFile(None, (), problem)


def _names(pairs: Iterable[tuple[str, str]]) -> tuple[ViewName, ...]:
    return tuple(sorted({ViewName(*pair) for pair in pairs}))
