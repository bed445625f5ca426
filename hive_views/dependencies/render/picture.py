"""What the pictures of all formats show: a dependency graph and the standing of each object.

A check judges each view on its own. A view over one that cannot be read is valid by itself but cannot be read either;
only the graph shows that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from hive_views.dependencies.graph import DependentFinder, Edge, Graph, Node, make_graph, read_graph
from hive_views.dependencies.lineage import (
    DependencyState,
    Lineage,
    LineageOrigin,
    LineageReader,
    unidentified_dependency,
)
from hive_views.dependencies.validity import CheckedView, Validity, ViewProblem, check_view, check_views
from hive_views.errors import NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore.identities import KINDS
from hive_views.metastore.queries import read_rows
from hive_views.metastore.row_codec import Row
from hive_views.spec.lineage_codec import ObjectKind


class Standing(Enum):
    """The standing of an object in the picture; the first five are those of `Validity`."""

    VALID = "valid"
    """It was checked and can be read."""
    OUTDATED = "outdated"
    """It can be read with its stored text; RECOMPILE would change it."""
    DRIFTED = "drifted"
    """Another program changed its row."""
    INVALID = "invalid"
    """It cannot be read, or not with its declared columns."""
    UNKNOWN = "unknown"
    """Its text or its dependencies cannot be analyzed."""
    BLOCKED = "blocked"
    """It is valid itself, but reads something that is invalid or missing."""
    MISSING = "missing"
    """A view reads the name, and nothing has it."""
    UNCHECKED = "unchecked"
    """A table, or a view that was not checked."""

    @property
    def is_unreadable(self) -> bool:
        """Whether a query of the object fails, as far as known."""
        return self in (Standing.INVALID, Standing.MISSING, Standing.BLOCKED)


@dataclass(frozen=True)
class Box:
    """An object in a picture."""

    name: ViewName
    """Its name."""
    kind: ObjectKind | None
    """What it is; None if nothing has the name."""
    standing: Standing
    """Its standing."""
    reasons: tuple[str, ...] = ()
    """What is wrong with it, worst first."""
    typed: str | None = None
    """A view's text as its author typed it."""
    expanded: str | None = None
    """A view's text as Hive and plain Spark run it."""
    columns: tuple[tuple[str, str, str | None], ...] = ()
    """Name, Hive type and comment of each column."""

    @property
    def kind_text(self) -> str:
        """The kind in one word."""
        return "missing" if self.kind is None else self.kind.value


@dataclass(frozen=True)
class Picture:
    """The content of a picture."""

    graph: Graph
    """Which view reads what."""
    boxes: Mapping[ViewName, Box]
    """The nodes of the graph, by name."""
    title: str = "Views"
    """The title."""

    def databases(self) -> dict[str, list[Box]]:
        """Return the boxes by database, both by name."""
        databases: dict[str, list[Box]] = {}
        for name in sorted(self.boxes):
            databases.setdefault(name.database, []).append(self.boxes[name])
        return databases

    def arrows(self) -> Iterator[Edge]:
        """Return one edge for each view and what it reads; the worst if it reads that under two names."""
        worst: dict[tuple[ViewName, ViewName], Edge] = {}
        for edge in self.graph.edges:
            previous = worst.get((edge.view, edge.target))
            if previous is None or _STATES.index(edge.state) > _STATES.index(previous.state):
                worst[edge.view, edge.target] = edge
        yield from worst.values()


_STATES = (
    DependencyState.SAME,
    DependencyState.UNKNOWN,
    DependencyState.REPLACED,
    DependencyState.RENAMED,
    DependencyState.MISSING,
)
"""From good to bad."""


class Direction(Enum):
    """The direction of a tree."""

    UP = "up"
    """From a view to what it reads: upstream."""
    DOWN = "down"
    """From an object to its dependents: downstream."""


def read_picture(
    reader: LineageReader, scanned: Sequence[str] | None = None, *, check: bool = True, workers: int = 4
) -> Picture:
    """Read graph, validity, texts and columns of whole databases."""
    graph = read_graph(reader, scanned)
    checked = check_views(reader, scanned, workers=workers) if check else ()
    rows = {row.name: row for row in read_rows(reader.store, sorted(graph.nodes))}
    return make_picture(graph, checked, rows, title=", ".join(scanned or ()) or "All databases")


def read_tree(reader: LineageReader, name: ViewName, direction: Direction) -> Picture:
    """Read what is up- or downstream of one object, and check each view of it."""
    graph = _upstream(reader, name) if direction is Direction.UP else _downstream(reader, name)
    checked = []
    for node in graph.nodes.values():
        if node.kind is not None and node.kind.is_view:
            try:
                checked.append(check_view(reader, node.name))
            except NoSuchViewError:
                continue  # dropped since it was read
    return make_picture(graph, checked, title=str(name))


def make_picture(
    graph: Graph,
    checked: Iterable[CheckedView] = (),
    rows: Mapping[ViewName, Row] | None = None,
    *,
    title: str = "Views",
) -> Picture:
    """Combine a graph with the results of checks and the rows of its objects."""
    checks = {check.view: check for check in checked}
    edges: dict[ViewName, list[Edge]] = {}
    for edge in graph.edges:
        edges.setdefault(edge.view, []).append(edge)
    cycles = {name: group for group in graph.cycles() for name in group}
    boxes: dict[ViewName, Box] = {}
    for name in graph.order():
        node = graph.nodes[name]
        standing, reasons = _own_standing(node.kind, checks.get(name), edges.get(name, []))
        if node.lineage is not None and node.lineage.origin is LineageOrigin.NONE:
            standing = Standing.UNKNOWN if standing in (Standing.VALID, Standing.UNCHECKED) else standing
            reasons.append(node.lineage.problem or "what it reads is not known")
        if name in cycles:
            standing = Standing.INVALID
            reasons.insert(0, f"it reads itself: {', '.join(map(str, cycles[name]))} read each other")
        sources = [boxes[source] for source in graph.dependencies(name) if source in boxes]
        unreadable = [box for box in sources if box.standing.is_unreadable]
        if unreadable and not standing.is_unreadable:
            standing = Standing.BLOCKED
            reasons[:0] = [f"it reads {box.name}, which is {box.standing.value}" for box in unreadable]
        row = (rows or {}).get(name)
        texts = row.texts if row is not None and row.kind.is_view else None
        boxes[name] = Box(
            name,
            node.kind,
            standing,
            tuple(dict.fromkeys(reasons)),
            None if texts is None else texts.original,
            None if texts is None else texts.expanded,
            () if row is None else tuple(row.columns),
        )
    return Picture(graph, {name: boxes[name] for name in sorted(boxes)}, title)


def _own_standing(kind: ObjectKind | None, check: CheckedView | None, edges: list[Edge]) -> tuple[Standing, list[str]]:
    """Return the standing of an object regardless of the standing of what it reads."""
    if kind is None:
        return Standing.MISSING, ["nothing has this name"]
    reasons = [] if check is None else [_reason(problem, check.validity) for problem in check.problems]
    for edge in edges:
        if edge.state is DependencyState.RENAMED:
            reasons.append(f"{edge.recorded.name}, which its text names, is {edge.target} now")
        elif edge.state is DependencyState.REPLACED:
            reasons.append(f"{edge.target} is another object than when the view was defined")
        elif edge.state is DependencyState.MISSING:
            reasons.append(f"{edge.recorded.name} is missing")
        elif edge.state is DependencyState.UNKNOWN:
            reasons.append(f"{edge.target} cannot be identified: its metadata file cannot be read")
    if check is not None:
        # An outdated lineage alone is no problem: the text may no longer read the dependency.
        return Standing(check.validity.value), reasons
    is_broken = any(edge.state in (DependencyState.RENAMED, DependencyState.MISSING) for edge in edges)
    return (Standing.INVALID if is_broken else Standing.UNCHECKED), reasons


def _reason(problem: ViewProblem, worst: Validity) -> str:
    position = "" if problem.line is None else f"line {problem.line}:{problem.column}: "
    return f"{position}{'' if problem.validity is worst else f'{problem.validity.value}: '}{problem.reason}"


def _upstream(reader: LineageReader, name: ViewName) -> Graph:
    nodes: dict[ViewName, Node] = {}
    edges: list[Edge] = []
    level = [name]
    while level:
        rows = {row.name: row for row in read_rows(reader.store, level)}
        targets: set[ViewName] = set()
        for view in level:
            row = rows.get(view)
            lineage = reader.read(row) if row is not None and row.kind.is_view else None
            nodes[view] = _node(reader, view, row, lineage)
            if lineage is None:
                continue
            for recorded in lineage.dependencies:
                resolved = reader.resolve(recorded)
                target = recorded.name if resolved.current is None else resolved.current.name
                edges.append(Edge(view, recorded, resolved.state, target))
                targets.add(target)
            for missing in lineage.missing:
                edges.append(Edge(view, unidentified_dependency(missing), DependencyState.MISSING, missing))
                targets.add(missing)
        level = sorted(targets - nodes.keys())
    return make_graph(nodes, edges)


def _downstream(reader: LineageReader, name: ViewName) -> Graph:
    nodes = {name: _node(reader, name, reader.store.get_row(name), None)}
    edges: list[Edge] = []
    finder = DependentFinder(reader)
    unvisited = [name]
    while unvisited:
        source = unvisited.pop()
        for dependent in finder.find_direct(source):
            state = DependencyState.SAME if dependent.is_reader else DependencyState.RENAMED
            if nodes[source].kind is None:
                state = DependencyState.MISSING
            edges.append(Edge(dependent.name, dependent.recorded, state, source))
            if dependent.name not in nodes:
                nodes[dependent.name] = _node(reader, dependent.name, dependent.row, None)
                unvisited.append(dependent.name)
    return make_graph(nodes, edges)


def _node(reader: LineageReader, name: ViewName, row: Row | None, lineage: Lineage | None) -> Node:
    current = None if row is None else reader.identify(row)
    return Node(name, None if row is None else KINDS[row.kind], None if current is None else current.uuid, lineage)
