"""Dependents of one object, found with the server's filter, and the graph of whole databases, found by a scan.

A view depends on the names in its text. Recorded UUIDs identify objects that were renamed or replaced: a dependent of a
renamed object is broken and is listed under the object's new name; a dependent of a replaced object reads the new one.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from hive_views.dependencies.lineage import (
    DependencyState,
    Lineage,
    LineageOrigin,
    LineageReader,
    ResolvedDependency,
    dependency_names,
    texts_of_hive_view,
    unidentified_dependency,
)
from hive_views.errors import CommitFailedError, CyclicViewError, SourceDroppedError
from hive_views.identifiers import ViewName, components
from hive_views.metastore.commit.protocol import CommitPrecondition
from hive_views.metastore.identities import KINDS
from hive_views.metastore.locking.lock import LOCKABLE_NAME_LENGTH
from hive_views.metastore.queries import (
    MAX_ALTERNATIVES,
    RowCache,
    all_view_names,
    database_names,
    materialized_table_names,
    names_with_definition,
    read_view_texts,
    recorded_dependents,
    unreadable_row,
    view_names,
    views_without_row_lineage,
)
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import BATCH_SIZE
from hive_views.rendering import html_table
from hive_views.spec.lineage_codec import Dependency, ObjectKind, lineage_of_version
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import RowTexts

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Dependent:
    """A view that depends directly on an object."""

    row: Row
    """The view's row."""
    recorded: Dependency
    """The object as the view recorded it, or the name in its text."""
    is_reader: bool
    """Whether the view reads the object; False if the object was renamed and nothing has its old name."""

    @property
    def name(self) -> ViewName:
        """The view's name."""
        return self.row.name


@dataclass(frozen=True)
class TransitiveDependents:
    """All views that depend on an object, nearest first."""

    name: ViewName
    """The object."""
    levels: tuple[tuple[Dependent, ...], ...]
    """Direct dependents, their dependents and so on; each view once, at its shortest distance."""
    edges: tuple[tuple[ViewName, ViewName], ...] = ()
    """Pairs of a dependent and the object or other dependent that it reads."""
    unknown: tuple[Lineage, ...] = ()
    """Views whose dependencies are unknown: they may depend on the object too. A plain Hive view whose text contains
    neither the name of the object nor that of a dependent is omitted."""

    def __iter__(self) -> Iterator[Dependent]:
        return (dependent for level in self.levels for dependent in level)

    @property
    def views(self) -> tuple[ViewName, ...]:
        """The names of all dependents, nearest first."""
        return tuple(dependent.name for dependent in self)

    def order(self) -> tuple[ViewName, ...]:
        """Return the names of all dependents, each before the objects that it depends on."""
        ordered = [name for group in self.groups() for name in group if name != self.name]
        return tuple(reversed(ordered))

    def groups(self) -> list[tuple[ViewName, ...]]:
        """Return the object and its dependents, each after what it reads; each cycle is one group."""
        sources: dict[ViewName, list[ViewName]] = {name: [] for name in (self.name, *self.views)}
        for view, source in self.edges:
            sources[view].append(source)
        return components(sources)


class DependentFinder:
    """Finds dependents; each view's row is read once, in batches.

    The server's filter finds views with a recorded lineage without reading rows. The rows of views that other programs
    wrote or changed last are read, and the rows of plain Hive views, or only their texts if the server supports that.
    All rows are read on servers without a working filter, and when that takes fewer calls than further filters. Call
    `refresh` to see later changes.
    """

    def __init__(
        self,
        reader: LineageReader,
        *,
        databases: Sequence[str] | None = None,
        recorded_only: bool = False,
        max_unfiltered: int = BATCH_SIZE,
    ) -> None:
        """Prepare a search; a database with `max_unfiltered` views or fewer is read as a whole."""
        self._max_unfiltered = max_unfiltered
        self._reader = reader
        self._selected = databases
        self._recorded_only = recorded_only
        self._filtered: dict[str, list[ViewName]] = {}
        """By database: the views that the server's filter finds."""
        self._tables: dict[str, list[ViewName]] = {}
        """By database: the tables that may be materialized views."""
        self._rows = RowCache(reader.store)
        self._index = _ViewIndex(reader, self._rows, max_unfiltered)
        self._complete: set[str] = set()
        """Databases whose views are all in the index."""
        self._searched: set[ViewName] = set()

    @property
    def databases(self) -> Sequence[str]:
        """The databases that are searched."""
        if self._selected is None:
            self._selected = tuple(database_names(self._reader.store))
        return self._selected

    def refresh(self, changed: Iterable[ViewName] = ()) -> None:
        """Let the next search see views that were created, or changed by this package, since the last one.

        Views that the server's filter does not find are read again only if they are new or in `changed`. If another
        program changes such a view in the meantime, the search uses its former state.
        """
        self._filtered.clear()
        self._tables.clear()
        self._complete.clear()
        self._searched.clear()
        self._rows.clear()
        self._index.remove({*changed, *self._index.views - self._index.unrecorded})

    def find_direct(self, name: ViewName) -> list[Dependent]:
        """Return the views that depend directly on an object, sorted by name."""
        return self._find_level([name])[name]

    def find_dangling(self, names: Sequence[ViewName]) -> dict[ViewName, list[Dependent]]:
        """Return the views that read names which no object has, by these names; names without readers are omitted."""
        found = self._find_level(names)
        return {name: views for name, views in found.items() if views and self._rows.get(name) is None}

    def find_all(self, name: ViewName) -> TransitiveDependents:
        """Return the views that depend on an object, directly or through other views."""
        seen = {name}
        levels = []
        edges = []
        level = [name]
        while level:
            next_level: dict[ViewName, Dependent] = {}
            for source, dependents in self._find_level(level).items():
                for dependent in dependents:
                    edges.append((dependent.name, source))
                    if dependent.name not in seen:
                        next_level.setdefault(dependent.name, dependent)
            seen |= next_level.keys()
            if next_level:
                levels.append(tuple(next_level[key] for key in sorted(next_level)))
            level = list(next_level)
        return TransitiveDependents(name, tuple(levels), tuple(edges), self.unknown())

    def unknown(self) -> tuple[Lineage, ...]:
        """Return the views whose dependencies are unknown, among those that were read."""
        return tuple(self._index.unknown())

    def _find_level(self, names: Sequence[ViewName]) -> dict[ViewName, list[Dependent]]:
        """Return the direct dependents of some objects, by object."""
        self._rows.load(names)
        rows = {name: self._rows.get(name) for name in names}
        current = {name: None if row is None else self._reader.identify(row) for name, row in rows.items()}
        self._searched.update(names)
        sources = [(name, None if item is None else item.uuid) for name, item in current.items()]
        for database in self.databases:
            self._load(database, sources)
        found = {name: self._index.find(name, current[name]) for name in names}
        # A match by UUID is ignored if the recorded name denotes another object now, and a match by name if the text
        # may mean another object: otherwise CASCADE would drop the view.
        others = {
            (name, item.name): item.recorded.name if not item.is_reader else self._index.other_name(item.name, name)
            for name, items in found.items()
            for item in items
        }
        self._rows.load(other for other in others.values() if other is not None)
        for (name, view), other in others.items():
            if other is not None and other != name and self._rows.get(other) is not None:
                found[name] = [item for item in found[name] if item.name != view]
                self._index.report_ambiguity(view, name)
        return found

    def _load(self, database: str, sources: Sequence[tuple[ViewName, str | None]]) -> None:
        """Put the views of a database that may depend on some objects into the index."""
        store = self._reader.store
        if database in self._complete:
            return
        if not self._recorded_only and database not in self._filtered:
            self._filtered[database] = views = all_view_names(store, database)
            if len(views) > self._max_unfiltered:
                unrecorded = views_without_row_lineage(store, database, views)
                self._index.load_unrecorded(database, [name for name in unrecorded if name not in self._index.views])
                self._filtered[database] = sorted(set(views) - set(unrecorded))
        if database not in self._tables:
            self._tables[database] = materialized_table_names(store, database)
        names: Iterable[ViewName] | None = None
        filters = -(-2 * len(self._searched) // MAX_ALTERNATIVES)
        if self._recorded_only or 3 * filters * self._max_unfiltered < len(self._filtered[database]):
            # For many objects, reading all rows takes fewer calls than filtering.
            names = recorded_dependents(store, database, sources)
        if names is None:
            names = all_view_names(store, database) if self._recorded_only else self._filtered[database]
            self._complete.add(database)
        self._index.load({*names, *self._tables[database]})


class _ViewIndex:
    """An index of views by the names and UUIDs that they read.

    Parsing the text of a plain Hive view takes milliseconds. It is parsed only when a name is searched for whose words
    the text contains; a text without these words cannot read that name.
    """

    def __init__(self, reader: LineageReader, rows: RowCache, max_unfiltered: int) -> None:
        self._max_unfiltered = max_unfiltered
        self._reader = reader
        self._rows = rows
        self.views: set[ViewName] = set()
        self.unrecorded: set[ViewName] = set()
        """The views whose row does not hold their lineage, in databases that are searched with filters."""
        self._by_name: dict[ViewName, dict[ViewName, Dependent]] = {}
        self._by_uuid: dict[str, dict[ViewName, Dependent]] = {}
        self._unparsed: set[ViewName] = set()
        self._unparsed_by_word: dict[str, set[ViewName]] = {}
        self._unknown: dict[ViewName, Lineage] = {}
        self._other_names: dict[ViewName, Mapping[ViewName, ViewName]] = {}
        """For views with an ambiguous text: the other meaning of a name."""

    def load(self, names: Iterable[ViewName]) -> None:
        """Add views, reading their rows."""
        new = sorted(set(names) - self.views)
        self._rows.load(new)
        for name in new:
            row = self._rows.find(name)
            if name in self._rows.refused:
                problem = unreadable_row(self._rows.refused[name])
                self._unknown[name] = Lineage(name, (), LineageOrigin.NONE, problem=problem)
            if row is None or not row.has_definition:
                continue  # dropped since it was listed, or a table
            self.views.add(name)
            if row.kind is not RowKind.HIVE_VIEW or not self._postpone(name, row.texts):
                self._add_parsed(row)

    def load_unrecorded(self, database: str, names: Sequence[ViewName]) -> None:
        """Add views without a lineage in their row, reading only the texts of plain Hive views if the server can."""
        self.unrecorded.update(names)
        store = self._reader.store
        if len(names) > self._max_unfiltered and store.client.supports("alter_table_req"):  # of Hive 4
            iceberg_views = set(view_names(store, database))
            plain = [name for name in names if name not in iceberg_views]
            for name, texts in read_view_texts(store, plain).items() if plain else ():
                if self._postpone(name, texts):
                    self.views.add(name)
        self.load(names)

    def remove(self, names: Iterable[ViewName]) -> None:
        """Remove views, so that they are read again."""
        removed = set(names) & self.views
        self.views -= removed
        self._unparsed -= removed
        for views in (*self._by_name.values(), *self._by_uuid.values()):
            for name in removed & views.keys():
                del views[name]
        for name in removed & self._unknown.keys():
            del self._unknown[name]

    def find(self, name: ViewName, current: Dependency | None) -> list[Dependent]:
        """Return the views that read a name, or recorded the UUID of the object with this name, sorted by name."""
        words = set(_WORDS.findall(name.name.lower()))
        unparsed = self._unparsed.intersection(*(self._unparsed_by_word.get(word, set()) for word in words))
        self._rows.load(unparsed)
        for view in unparsed:
            self._unparsed.remove(view)
            row = self._rows.find(view)
            if view in self._rows.refused:
                problem = unreadable_row(self._rows.refused[view])
                self._unknown[view] = Lineage(view, (), LineageOrigin.NONE, problem=problem)
            if row is not None:
                self._add_parsed(row)
        dependents = {} if current is None else dict(self._by_uuid.get(current.uuid, {}))
        dependents |= self._by_name.get(name, {})
        dependents.pop(name, None)
        ordered = [dependents[view] for view in sorted(dependents)]
        # Without a recorded UUID, the name in the text denotes the current object.
        return [item if item.recorded.uuid or current is None else replace(item, recorded=current) for item in ordered]

    def other_name(self, view: ViewName, name: ViewName) -> ViewName | None:
        """Return the other object that a name in a view's text may denote; None if the name has one meaning."""
        return self._other_names.get(view, {}).get(name)

    def report_ambiguity(self, view: ViewName, name: ViewName) -> None:
        """Add a view to the unknown ones if a name in its text may denote another object."""
        other = self.other_name(view, name)
        if other is not None:
            problem = f"its text may mean {name} or {other}"
            self._unknown.setdefault(view, Lineage(view, (), LineageOrigin.NONE, problem=problem))

    def unknown(self) -> list[Lineage]:
        """Return the views whose dependencies are unknown, sorted by name."""
        return [self._unknown[view] for view in sorted(self._unknown)]

    def _postpone(self, view: ViewName, texts: RowTexts) -> bool:
        """Index a plain Hive view by the words of its text; return False if it may read names without these words."""
        from hive_views.sql.analysis.references import may_read_unnamed_tables  # sqlglot takes 0.1 s to import

        text = " ".join(texts_of_hive_view(view.database, texts)[0].values()).lower()
        words = set(_WORDS.findall(text))
        # Trino's U&"…" may write a name with escapes.
        if "from" not in words or 'u&"' in text or may_read_unnamed_tables(text):
            return False
        self._unparsed.add(view)
        for word in words:
            self._unparsed_by_word.setdefault(word, set()).add(view)
        return True

    def _add_parsed(self, row: Row) -> None:
        lineage = self._reader.read_text_lineage(row)
        if lineage.problem is not None:
            self._unknown[row.name] = Lineage(row.name, (), LineageOrigin.NONE, problem=lineage.problem)
        if lineage.other_names:
            meanings = lineage.other_names.items()
            self._other_names[row.name] = dict((*meanings, *((other, name) for name, other in meanings)))
        names = map(unidentified_dependency, lineage.all_names)
        for recorded in names if lineage.dependencies is None else lineage.dependencies:
            self._by_name.setdefault(recorded.name, {})[row.name] = Dependent(row, recorded, is_reader=True)
            if recorded.uuid:
                self._by_uuid.setdefault(recorded.uuid, {}).setdefault(
                    row.name, Dependent(row, recorded, is_reader=False)
                )


_WORDS = re.compile(r"\w+")


# -- Cycles -----------------------------------------------------------------------------------------------------------


MAX_LOCKED_VIEWS = 100
"""The maximum number of objects read by a new definition that are locked during its commit, nearest first."""


def reject_cycle(
    store: MetastoreStore,
    name: ViewName,
    version: ViewVersion,
    *,
    is_new: bool = False,
    renamed_from: ViewName | None = None,
) -> CommitPrecondition:
    """Reject a definition by which a view would read itself; return the precondition of its commit.

    The commit takes shared locks on the objects that the definition reads, and is rejected with SourceDroppedError if
    one of them was dropped since. With `is_new`, this function raises the same error if an object in the recorded
    lineage of the version is missing already; a source that never existed is accepted. `renamed_from` is the current
    name of a view that is to be renamed to `name`, for the error.
    """
    sources = dependency_names(version, name.database)
    if not sources:
        return CommitPrecondition((), lambda: None)
    reader = LineageReader(store)
    rows = _rows_read(reader, name, sources, renamed_from)
    recorded = {source.name for source in lineage_of_version(version) or () if source.uuid}
    dropped = [str(source) for source in sources if source in recorded and rows[source] is None] if is_new else []
    if dropped:
        raise SourceDroppedError(str(name), dropped)
    views = {source for source, row in rows.items() if row is None or row.has_definition}

    def check() -> None:
        current = _rows_read(reader, name, sources, renamed_from)
        lost = [str(source) for source in sources if rows[source] is not None and current[source] is None]
        if lost:
            raise SourceDroppedError(str(name), lost)
        new_views = [
            str(view) for view, row in current.items() if view not in views and (row is None or row.has_definition)
        ]
        if new_views:
            raise CommitFailedError(
                str(name), f"a view that it reads was changed meanwhile and now reads {', '.join(new_views)}"
            )

    lockable = (
        source
        for source in rows
        if (source in views or source in sources)
        and max(len(source.database), len(source.name)) <= LOCKABLE_NAME_LENGTH
    )
    sources_read = tuple(row for row in rows.values() if row is not None)
    return CommitPrecondition(tuple(islice(lockable, MAX_LOCKED_VIEWS)), check, sources_read)


def _rows_read(
    reader: LineageReader, name: ViewName, sources: Sequence[ViewName], renamed_from: ViewName | None
) -> dict[ViewName, Row | None]:
    """Return the rows of some sources and of everything that they read, nearest first, read in batches.

    Raises:
        CyclicViewError: If `name` is among them.
    """
    cache = RowCache(reader.store)
    paths: dict[ViewName, tuple[ViewName, ...]] = {source: (name, source) for source in sources}
    rows: dict[ViewName, Row | None] = {}
    while paths:
        if name in paths:
            old_name = None if renamed_from is None else str(renamed_from)
            raise CyclicViewError(str(name), [str(item) for item in paths[name]], renamed_from=old_name)
        cache.load(paths)
        rows |= {source: cache.get(source) for source in paths}
        next_paths: dict[ViewName, tuple[ViewName, ...]] = {}
        for source, path in paths.items():
            row = rows[source]
            if row is not None and row.has_definition:
                for next_source in reader.read_names(row):
                    if next_source not in rows:
                        next_paths.setdefault(next_source, (*path, next_source))
        paths = next_paths
    return rows


# -- The graph of databases -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A table or view of the graph."""

    name: ViewName
    """Its name."""
    kind: ObjectKind | None
    """The kind of object; None if no object has the name, or if its row cannot be read."""
    uuid: str | None
    """Its UUID; None if it is missing or its UUID cannot be determined."""
    lineage: Lineage | None = None
    """The sources of a view; None for tables, and for views of databases that were not scanned."""
    problem: str | None = None
    """Why its row cannot be read; then `kind` is None."""


@dataclass(frozen=True)
class Edge:
    """A view reads an object."""

    view: ViewName
    """The view."""
    recorded: Dependency
    """The object as the view recorded it."""
    state: DependencyState
    """The comparison with the object's current state."""
    target: ViewName
    """The object's node: the name in the view's text, or the new name of a renamed object."""


@dataclass(frozen=True)
class Graph:
    """The views of some databases and all objects that they read."""

    nodes: Mapping[ViewName, Node]
    """By name."""
    edges: tuple[Edge, ...]
    """By view, then by dependency."""
    _sources: dict[ViewName, list[ViewName]] = field(init=False, repr=False, compare=False)
    _dependents: dict[ViewName, list[ViewName]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sources: dict[ViewName, list[ViewName]] = {name: [] for name in self.nodes}
        dependents: dict[ViewName, list[ViewName]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            if edge.target not in sources[edge.view]:
                sources[edge.view].append(edge.target)
                dependents[edge.target].append(edge.view)
        object.__setattr__(self, "_sources", sources)
        object.__setattr__(self, "_dependents", dependents)

    def _repr_html_(self) -> str:
        """Return the edges as a table, for notebooks."""
        rows = ((edge.view, edge.target, edge.state.value) for edge in self.edges)
        return html_table(f"{len(self.nodes)} objects", rows, ("view", "reads", "state"))

    def dependencies(self, name: ViewName) -> tuple[ViewName, ...]:
        """Return the objects that a view reads directly."""
        return tuple(self._sources.get(name, ()))

    def dependents(self, name: ViewName) -> tuple[ViewName, ...]:
        """Return the views that read an object directly."""
        return tuple(self._dependents.get(name, ()))

    def upstream(self, name: ViewName) -> tuple[ViewName, ...]:
        """Return everything that a view reads, nearest first."""
        return _reachable(self._sources, name)

    def downstream(self, name: ViewName) -> tuple[ViewName, ...]:
        """Return everything that depends on an object, nearest first."""
        return _reachable(self._dependents, name)

    def order(self) -> tuple[ViewName, ...]:
        """Return all nodes, each after the objects that it reads; members of a cycle are sorted by name."""
        return tuple(name for group in components(self._sources) for name in group)

    def cycles(self) -> tuple[tuple[ViewName, ...], ...]:
        """Return the groups of views that read each other or themselves."""
        groups = components(self._sources)
        return tuple(group for group in groups if len(group) > 1 or group[0] in self._sources[group[0]])

    def broken(self) -> tuple[Edge, ...]:
        """Return the edges whose view cannot be read because the dependency is missing or was renamed."""
        return tuple(edge for edge in self.edges if edge.state in (DependencyState.MISSING, DependencyState.RENAMED))

    def unknown(self) -> tuple[Lineage, ...]:
        """Return the lineages of views whose dependencies are unknown."""
        lineages = (node.lineage for node in self.nodes.values() if node.lineage is not None)
        return tuple(lineage for lineage in lineages if lineage.origin is LineageOrigin.NONE)


def read_graph(reader: LineageReader, scanned: Sequence[str] | None = None, rows: RowCache | None = None) -> Graph:
    """Build the graph of all views of some databases, or of all databases, from their rows."""
    rows = RowCache(reader.store) if rows is None else rows
    names = names_with_definition(reader.store, scanned)
    rows.load(names)
    views = [row for name in names if (row := rows.find(name)) is not None and row.has_definition]
    refused_views = [name for name in names if name in rows.refused]
    sources = {name for row in views for name in reader.read_names(row)}
    rows.load(sources)
    nodes: dict[ViewName, Node] = {}
    for name in dict.fromkeys((*(row.name for row in views), *refused_views, *sorted(sources))):
        row = rows.find(name)
        problem = unreadable_row(rows.refused[name]) if name in rows.refused else None
        current = None if row is None else reader.identify(row)
        uuid = None if current is None else current.uuid
        nodes[name] = Node(name, None if row is None else KINDS[row.kind], uuid, problem=problem)
    for name in refused_views:
        lineage = Lineage(name, (), LineageOrigin.NONE, problem=nodes[name].problem)
        nodes[name] = replace(nodes[name], lineage=lineage)
    names_by_uuid: dict[str | None, ViewName] = {
        node.uuid: node.name for node in nodes.values() if node.uuid is not None
    }
    edges = []
    resolved: dict[Dependency, ResolvedDependency] = {}
    for row in views:
        lineage = reader.read(row, rows.get)
        nodes[row.name] = replace(nodes[row.name], lineage=lineage)
        for dependency in lineage.dependencies:
            edge = _edge(reader, row.name, dependency, nodes, names_by_uuid, resolved)
            nodes.setdefault(edge.target, Node(edge.target, dependency.kind, dependency.uuid))
            edges.append(edge)
        edges += [
            Edge(row.name, unidentified_dependency(name), DependencyState.MISSING, name) for name in lineage.missing
        ]
    targets = {edge.target for edge in edges}
    # Omit the second possible reading of a name if no object has it.
    shown = {
        name: node
        for name, node in nodes.items()
        if node.kind is not None or node.problem is not None or name in targets
    }
    return make_graph(shown, edges)


def make_graph(nodes: Mapping[ViewName, Node], edges: Iterable[Edge]) -> Graph:
    """Return a graph with sorted nodes and edges."""
    ordered = tuple(sorted(edges, key=lambda edge: (edge.view, edge.recorded.name)))
    return Graph({name: nodes[name] for name in sorted(nodes)}, ordered)


def _edge(
    reader: LineageReader,
    view: ViewName,
    recorded: Dependency,
    nodes: Mapping[ViewName, Node],
    names_by_uuid: Mapping[str | None, ViewName],
    resolved: dict[Dependency, ResolvedDependency],
) -> Edge:
    node = nodes.get(recorded.name)
    if node is not None and node.problem is not None:
        return Edge(view, recorded, DependencyState.UNKNOWN, recorded.name)
    if node is not None and node.kind is not None:
        state = DependencyState.SAME if node.uuid == recorded.uuid else DependencyState.REPLACED
        return Edge(view, recorded, DependencyState.UNKNOWN if node.uuid is None else state, recorded.name)
    new_name = names_by_uuid.get(recorded.uuid)
    if new_name is None:
        if recorded not in resolved:
            # Once for all views that recorded it: the lookup sends requests for every database.
            resolved[recorded] = reader.resolve(recorded)
        current = resolved[recorded].current
        new_name = None if current is None else current.name
    if new_name is None:
        return Edge(view, recorded, DependencyState.MISSING, recorded.name)
    return Edge(view, recorded, DependencyState.RENAMED, new_name)


def _reachable(neighbors: Mapping[ViewName, Sequence[ViewName]], start: ViewName) -> tuple[ViewName, ...]:
    seen = {start: None}
    level: Iterable[ViewName] = (start,)
    while level:
        level = [name for item in level for name in neighbors.get(item, ()) if name not in seen]
        seen |= dict.fromkeys(level)
    return tuple(name for name in seen if name != start)
