"""Who depends on whom: the dependents of one object by the server's filter, the graph of whole databases by a scan.

A view depends on what its text names. The recorded UUIDs add what names alone cannot tell: a dependent whose child was
renamed is broken, and belongs to the child under its new name; one whose child was replaced reads another object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from hive_views.dependencies.lineage import (
    DependencyState,
    Lineage,
    LineageOrigin,
    LineageReader,
    ResolvedDependency,
    dependency_names,
    unidentified_dependency,
)
from hive_views.errors import CommitFailedError, CyclicViewError
from hive_views.identifiers import ViewName
from hive_views.metastore.commit.protocol import CommitPrecondition
from hive_views.metastore.identities import KINDS
from hive_views.metastore.locking.lock import LOCKABLE_NAME_LENGTH
from hive_views.metastore.queries import (
    all_view_names,
    database_names,
    read_rows,
    recorded_dependents,
    views_without_row_lineage,
)
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.lineage_codec import Dependency, ObjectKind
from hive_views.spec.metadata import ViewVersion


@dataclass(frozen=True)
class Dependent:
    """A view that depends on an object directly."""

    row: Row
    """The view's row, as it was read."""
    child: Dependency
    """What the view recorded of the object, or what its text names."""
    reads: bool
    """Whether its text reads the object: False where the object was renamed, and nothing has its old name now."""

    @property
    def name(self) -> ViewName:
        """The view's name."""
        return self.row.name


@dataclass(frozen=True)
class TransitiveDependents:
    """Everything that depends on an object, nearest first."""

    name: ViewName
    """The object."""
    levels: tuple[tuple[Dependent, ...], ...]
    """Its dependents, their dependents and so on; each view once, at its shortest distance."""
    edges: tuple[tuple[ViewName, ViewName], ...] = ()
    """Which of these views depends on which of these, or on the object."""
    unknown: tuple[Lineage, ...] = ()
    """Views whose children are not known: they may depend on it too."""

    def __iter__(self) -> Iterator[Dependent]:
        return (dependent for level in self.levels for dependent in level)

    @property
    def views(self) -> tuple[ViewName, ...]:
        """The names of all dependents, nearest first."""
        return tuple(dependent.name for dependent in self)

    def order(self) -> tuple[ViewName, ...]:
        """The names of all dependents, each before what it depends on."""
        ordered = [name for group in self.groups() for name in group if name != self.name]
        return tuple(reversed(ordered))

    def groups(self) -> list[tuple[ViewName, ...]]:
        """The object and its dependents, each behind what it reads; those that read each other are in one group."""
        below: dict[ViewName, list[ViewName]] = {name: [] for name in (self.name, *self.views)}
        for view, child in self.edges:
            below[view].append(child)
        return components(below)


class DependentFinder:
    """Answers who depends on an object, as the metastore is when each database is first asked about.

    The server's filter finds the views whose lineage this package wrote, without reading a row. What it cannot find
    (views that other programs wrote or changed last, Hive's own views) is read, once for each database. Where a server
    cannot filter, all views are; a later question needs another object, because no cheap call tells what has changed.
    """

    def __init__(
        self, reader: LineageReader, *, databases: Sequence[str] | None = None, recorded_only: bool = False
    ) -> None:
        """Prepare to look."""
        self._reader = reader
        self._databases = None if databases is None else tuple(databases)
        self._recorded_only = recorded_only
        self._unrecorded: dict[str, list[tuple[Row, Lineage]]] = {}
        self._scanned: dict[str, list[tuple[Row, Lineage]]] = {}

    def of(self, name: ViewName) -> list[Dependent]:
        """The views that depend on an object directly."""
        store = self._reader.store
        there = self._reader.child(name)
        uuid = None if there is None else there.uuid
        found: dict[ViewName, Dependent] = {}
        for database in self._databases or database_names(store):
            candidates = None if database in self._scanned else recorded_dependents(store, database, name, uuid)
            if candidates is None:
                views: Iterable[tuple[Row, Lineage]] = self._scan(database)
            else:
                views = [(row, self._reader.read(row)) for row in read_rows(store, sorted(candidates))]
                if not self._recorded_only:
                    views += self._others(database)
            for row, lineage in views:
                _match(found, row, lineage, name, uuid)
        return [found[key] for key in sorted(found) if key != name and self._depends(found[key])]

    def all_of(self, name: ViewName) -> TransitiveDependents:
        """Everything that depends on an object, directly or through other views."""
        seen = {name}
        levels = []
        edges = []
        level = [name]
        while level:
            below: dict[ViewName, Dependent] = {}
            for item in level:
                for dependent in self.of(item):
                    edges.append((dependent.name, item))
                    if dependent.name not in seen:
                        below.setdefault(dependent.name, dependent)
            seen |= below.keys()
            if below:
                levels.append(tuple(below[key] for key in sorted(below)))
            level = list(below)
        return TransitiveDependents(name, tuple(levels), tuple(edges), tuple(self.unknown()))

    def unknown(self) -> Iterator[Lineage]:
        """The views, of databases that were looked at, whose children are not known."""
        for views in (*self._unrecorded.values(), *self._scanned.values()):
            yield from (lineage for _, lineage in views if lineage.source is LineageOrigin.NONE)

    def _depends(self, dependent: Dependent) -> bool:
        """Whether a match by UUID counts: a view whose child was replaced under its old name reads that one."""
        return dependent.reads or self._reader.store.get_row(dependent.child.name) is None

    def _scan(self, database: str) -> list[tuple[Row, Lineage]]:
        if database not in self._scanned:
            store = self._reader.store
            self._unrecorded.pop(database, None)
            self._scanned[database] = [
                (row, self._reader.read(row)) for row in read_rows(store, all_view_names(store, database))
            ]
        return self._scanned[database]

    def _others(self, database: str) -> list[tuple[Row, Lineage]]:
        if database not in self._unrecorded:
            store = self._reader.store
            self._unrecorded[database] = [
                (row, self._reader.read(row)) for row in read_rows(store, views_without_row_lineage(store, database))
            ]
        return self._unrecorded[database]


def _match(found: dict[ViewName, Dependent], row: Row, lineage: Lineage, name: ViewName, uuid: str | None) -> None:
    for child in lineage.children:
        if child.name == name:
            found[row.name] = Dependent(row, child, reads=True)
            return
    for child in lineage.children:
        if uuid is not None and child.uuid == uuid:
            found[row.name] = Dependent(row, child, reads=False)
            return
    if name in lineage.missing:
        found[row.name] = Dependent(row, unidentified_dependency(name), reads=True)


# -- Cycles -----------------------------------------------------------------------------------------------------------


MAX_LOCKED_VIEWS = 100
"""How many views below a new definition are locked while it is committed, nearest first."""


def reject_cycle(store: MetastoreStore, name: ViewName, version: ViewVersion) -> CommitPrecondition:
    """Refuse a definition by which a view would read itself."""
    named = dependency_names(version, name.database)
    if not named:
        return CommitPrecondition((), lambda: None)
    reader = LineageReader(store)
    seen = _walk(reader, name, named)

    def check() -> None:
        more = [str(item) for item in _walk(reader, name, named) if item not in seen]
        if more:
            raise CommitFailedError(str(name), f"what it reads was changed meanwhile, and reads {', '.join(more)} now")

    lockable = (item for item in seen if max(len(item.database), len(item.name)) <= LOCKABLE_NAME_LENGTH)
    return CommitPrecondition(tuple(islice(lockable, MAX_LOCKED_VIEWS)), check)


def _walk(reader: LineageReader, name: ViewName, named: Sequence[ViewName]) -> list[ViewName]:
    """The views below some names, and names under which nothing stands, nearest first; raises where one is `name`."""
    ways: deque[tuple[ViewName, ...]] = deque((name, child) for child in named)
    seen: set[ViewName] = set()
    found = []
    while ways:
        way = ways.popleft()
        if way[-1] == name:
            raise CyclicViewError(str(name), [str(item) for item in way])
        if way[-1] in seen:
            continue
        seen.add(way[-1])
        row = reader.store.get_row(way[-1])
        if row is None or row.kind.is_view:
            found.append(way[-1])
        if row is not None and row.kind.is_view:
            ways += [(*way, child) for child in reader.read(row).names]
    return found


# -- The graph of databases -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A table or view of the graph."""

    name: ViewName
    """Its name."""
    kind: ObjectKind | None
    """What it is; None where nothing has the name."""
    uuid: str | None
    """Its UUID; None where it is missing or cannot be told."""
    lineage: Lineage | None = None
    """What a view reads; None for tables, and for views of databases that were not scanned."""


@dataclass(frozen=True)
class Edge:
    """One view reads one object."""

    view: ViewName
    """The view."""
    child: Dependency
    """The child, as the view recorded it."""
    state: DependencyState
    """How the child stands today."""
    to: ViewName
    """The node that it leads to: where a renamed child stands now, else the name in the view's text."""


@dataclass(frozen=True)
class Graph:
    """The views of some databases and all that they read."""

    nodes: Mapping[ViewName, Node]
    """By name."""
    edges: tuple[Edge, ...]
    """By view, then by child."""
    _below: dict[ViewName, list[ViewName]] = field(init=False, repr=False, compare=False)
    _above: dict[ViewName, list[ViewName]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        below: dict[ViewName, list[ViewName]] = {name: [] for name in self.nodes}
        above: dict[ViewName, list[ViewName]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            if edge.to not in below[edge.view]:
                below[edge.view].append(edge.to)
                above[edge.to].append(edge.view)
        object.__setattr__(self, "_below", below)
        object.__setattr__(self, "_above", above)

    def children(self, name: ViewName) -> tuple[ViewName, ...]:
        """What a view reads directly."""
        return tuple(self._below.get(name, ()))

    def dependents(self, name: ViewName) -> tuple[ViewName, ...]:
        """What depends on an object directly."""
        return tuple(self._above.get(name, ()))

    def upstream(self, name: ViewName) -> tuple[ViewName, ...]:
        """All that a view reads, nearest first."""
        return _reached(self._below, name)

    def downstream(self, name: ViewName) -> tuple[ViewName, ...]:
        """All that depends on an object, nearest first."""
        return _reached(self._above, name)

    def order(self) -> tuple[ViewName, ...]:
        """All nodes, each behind what it reads; members of a cycle stand in the order of their names."""
        return tuple(name for group in components(self._below) for name in group)

    def cycles(self) -> tuple[tuple[ViewName, ...], ...]:
        """Groups of views that read each other or themselves; each by name."""
        return tuple(group for group in components(self._below) if len(group) > 1 or group[0] in self._below[group[0]])

    def broken(self) -> tuple[Edge, ...]:
        """The edges whose view cannot read its child: it is missing or was renamed."""
        return tuple(edge for edge in self.edges if edge.state in (DependencyState.MISSING, DependencyState.RENAMED))

    def unknown(self) -> tuple[Lineage, ...]:
        """The lineages of views whose children are not known."""
        found = (node.lineage for node in self.nodes.values() if node.lineage is not None)
        return tuple(lineage for lineage in found if lineage.source is LineageOrigin.NONE)


def read_graph(reader: LineageReader, scanned: Sequence[str] | None = None) -> Graph:
    """The graph of all views of some databases, by reading their rows."""
    store = reader.store
    names = [name for database in scanned or database_names(store) for name in all_view_names(store, database)]
    known: dict[ViewName, Row | None] = {row.name: row for row in read_rows(store, names)}
    views = [row for row in known.values() if row is not None]
    lineages = {row.name: reader.recorded(row) for row in views}
    wanted = {name for said in lineages.values() for name in said if name not in known}
    known |= dict.fromkeys(wanted)
    known |= {row.name: row for row in read_rows(store, sorted(wanted))}
    nodes: dict[ViewName, Node] = {}
    for name, row in known.items():
        child = None if row is None else reader.identified(row)
        kind = None if row is None else KINDS[row.kind]
        nodes[name] = Node(name, kind, None if child is None else child.uuid)
    homes: dict[str | None, ViewName] = {node.uuid: node.name for node in nodes.values() if node.uuid is not None}
    edges = []
    lost: dict[Dependency, ResolvedDependency] = {}
    for row in views:
        lineage = reader.read(row, known)
        nodes[row.name] = Node(row.name, nodes[row.name].kind, nodes[row.name].uuid, lineage)
        for child in lineage.children:
            edge = _edge(reader, row.name, child, nodes, homes, lost)
            nodes.setdefault(edge.to, Node(edge.to, child.kind, child.uuid))
            edges.append(edge)
        for missing in lineage.missing:
            edges.append(Edge(row.name, unidentified_dependency(missing), DependencyState.MISSING, missing))
    ordered = tuple(sorted(edges, key=lambda edge: (edge.view, edge.child.name)))
    return Graph({name: nodes[name] for name in sorted(nodes)}, ordered)


def _edge(
    reader: LineageReader,
    view: ViewName,
    child: Dependency,
    nodes: Mapping[ViewName, Node],
    homes: Mapping[str | None, ViewName],
    lost: dict[Dependency, ResolvedDependency],
) -> Edge:
    there = nodes.get(child.name)
    if there is not None and there.kind is not None:
        state = DependencyState.SAME if there.uuid == child.uuid else DependencyState.REPLACED
        return Edge(view, child, DependencyState.UNKNOWN if there.uuid is None else state, child.name)
    home = homes.get(child.uuid)
    if home is None:
        if child not in lost:
            # Asked once for all views that lost it: it takes questions about every database.
            lost[child] = reader.find(child)
        moved = lost[child].now
        home = None if moved is None else moved.name
    if home is None:
        return Edge(view, child, DependencyState.MISSING, child.name)
    return Edge(view, child, DependencyState.RENAMED, home)


def _reached(neighbors: Mapping[ViewName, Sequence[ViewName]], start: ViewName) -> tuple[ViewName, ...]:
    seen = {start: None}
    level: Iterable[ViewName] = (start,)
    while level:
        level = [name for item in level for name in neighbors.get(item, ()) if name not in seen]
        seen |= dict.fromkeys(level)
    return tuple(name for name in seen if name != start)


def components(below: Mapping[ViewName, Sequence[ViewName]]) -> list[tuple[ViewName, ...]]:
    """Tarjan's strongly connected components, children first; without recursion, since views nest deeply."""
    index: dict[ViewName, int] = {}
    low: dict[ViewName, int] = {}
    stack: list[ViewName] = []
    on_stack: set[ViewName] = set()
    groups: list[tuple[ViewName, ...]] = []
    for root in sorted(below):
        if root in index:
            continue
        work = [(root, iter(sorted(below[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, children = work[-1]
            for child in children:
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, iter(sorted(below[child]))))
                    break
                if child in on_stack:
                    low[name] = min(low[name], index[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    group = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.append(member)
                        if member == name:
                            break
                    groups.append(tuple(sorted(group)))
    return groups
