"""The content of a picture in any format: a dependency graph and the standing of each object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hive_views.dependencies.columns import ColumnLineage, column_lineages
from hive_views.dependencies.graph import DependentFinder, Edge, Graph, Node, make_graph, read_graph
from hive_views.dependencies.lineage import (
    DependencyState,
    Lineage,
    LineageOrigin,
    LineageReader,
    unidentified_dependency,
)
from hive_views.dependencies.validity import CheckProgress, check_each
from hive_views.identifiers import ViewName
from hive_views.metastore.identities import KINDS
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import Row
from hive_views.spec.lineage_codec import ObjectKind
from hive_views.sql.analysis.validity import CheckedView, Validity, ViewProblem, missing_object, with_source_problems

Standing = Validity
"""The standing of an object in a picture is its validity."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """An object in a picture."""

    name: ViewName
    """Its name."""
    kind: ObjectKind | None
    """The kind of object; None if no object has the name, or if its row cannot be read."""
    standing: Standing
    """Its standing."""
    reasons: tuple[str, ...] = ()
    """The problems of the object, worst first."""
    typed: str | None = None
    """A view's text as its author typed it."""
    expanded: str | None = None
    """A view's text as Hive and plain Spark run it."""
    columns: tuple[tuple[str, str, str | None], ...] = ()
    """Name, Hive type and comment of each column."""
    column_sources: ColumnLineage = field(default_factory=dict)
    """For each column of a view (in lower case), the columns of its sources from which it is computed."""

    @property
    def kind_text(self) -> str:
        """The kind in one word."""
        if self.kind is not None:
            return self.kind.value
        return "missing" if self.standing is Validity.MISSING else "unknown"


@dataclass(frozen=True)
class Picture:
    """The content of a picture."""

    graph: Graph
    """The objects and the edges from views to the objects that they read."""
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
        """Yield one edge per view and object that it reads; the worst edge if it reads the object by two names."""
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
    reader: LineageReader,
    scanned: Sequence[str] | None = None,
    *,
    check: bool = True,
    with_columns: bool = False,
    workers: int = 4,
    progress: CheckProgress | None = None,
) -> Picture:
    """Read the graph of whole databases, with validity, texts, columns and optionally the lineage of columns."""
    rows = RowCache(reader.store)
    graph = read_graph(reader, scanned, rows)
    views = [name for name, node in graph.nodes.items() if node.lineage is not None]
    checks = check_each(reader, views if check else [], rows, workers=workers, progress=progress)
    return make_picture(
        graph,
        checks.results.values(),
        rows,
        sources=checks.sources,
        column_sources=column_lineages(reader.store, views, rows) if with_columns else None,
        title=", ".join(scanned or ()) or "All databases",
    )


def read_tree(reader: LineageReader, name: ViewName, direction: Direction) -> Picture:
    """Read the objects up- or downstream of one object, and check each view among them."""
    rows = RowCache(reader.store)
    graph = _upstream(reader, name, rows) if direction is Direction.UP else _downstream(reader, name, rows)
    views = [node.name for node in graph.nodes.values() if node.kind is not None and node.kind.is_view]
    checks = check_each(reader, views, rows, workers=1)
    return make_picture(graph, checks.results.values(), sources=checks.sources, title=str(name))


def make_picture(
    graph: Graph,
    checked: Iterable[CheckedView] = (),
    rows: RowCache | Mapping[ViewName, Row] | None = None,
    *,
    sources: Mapping[ViewName, Sequence[ViewName]] | None = None,
    column_sources: Mapping[ViewName, ColumnLineage] | None = None,
    title: str = "Views",
) -> Picture:
    """Combine a graph with the results of checks and the rows of its objects.

    Args:
        graph: The objects and the edges from views to the objects that they read.
        checked: The result for each checked view, disregarding its sources.
        rows: The objects' rows, for texts and columns.
        sources: The objects that the texts of checked views read; by default those in the graph.
        column_sources: For each view, the columns from which each of its columns is computed.
        title: The picture's title.
    """
    results = {check.view: check for check in checked}
    checked_names = frozenset(results)
    edges: dict[ViewName, list[Edge]] = {}
    for edge in graph.edges:
        edges.setdefault(edge.view, []).append(edge)
    remarks: dict[ViewName, list[str]] = {}
    for name, node in graph.nodes.items():
        if node.problem is not None:
            results[name] = CheckedView(name, (ViewProblem(Validity.UNKNOWN, node.problem),))
            continue
        if node.kind is None:
            results[name] = missing_object(name)
            continue
        problems = list(results[name].problems) if name in results else []
        remarks[name] = []
        for edge in edges.get(name, ()):
            if name not in checked_names and edge.state in (DependencyState.RENAMED, DependencyState.MISSING):
                problems.append(ViewProblem(Validity.INVALID, _REMARKS[edge.state].format(edge)))
            elif edge.state in _REMARKS:
                # The recorded lineage does not make a checked view invalid: its text may not read the object now.
                remarks[name].append(_REMARKS[edge.state].format(edge))
        lineage = node.lineage
        if lineage is not None and lineage.origin is LineageOrigin.NONE and name not in checked_names:
            problems.append(ViewProblem(Validity.UNKNOWN, lineage.problem or "what it reads is not known"))
        results[name] = CheckedView(name, tuple(problems))
    results = with_source_problems(results, {name: graph.dependencies(name) for name in edges} | dict(sources or {}))
    boxes: dict[ViewName, Box] = {}
    for name, node in graph.nodes.items():
        result = results[name]
        is_unchecked = name not in checked_names and result.validity is Validity.VALID
        reasons = [*(_reason(problem, result.validity) for problem in result.problems), *remarks.get(name, ())]
        row = None if rows is None or node.problem is not None else rows.get(name)
        texts = row.texts if row is not None and row.kind.is_view else None
        boxes[name] = Box(
            name=name,
            kind=node.kind,
            standing=Validity.UNCHECKED if is_unchecked else result.validity,
            reasons=tuple(dict.fromkeys(reasons)),
            typed=None if texts is None else texts.original,
            expanded=None if texts is None else texts.expanded,
            columns=() if row is None else tuple(row.declared_columns),
            column_sources=(column_sources or {}).get(name, {}),
        )
    return Picture(graph, {name: boxes[name] for name in sorted(boxes)}, title)


_REMARKS = {
    DependencyState.RENAMED: "{0.recorded.name}, which its text names, is {0.target} now",
    DependencyState.REPLACED: "{0.target} is another object than when the view was defined",
    DependencyState.MISSING: "{0.recorded.name} is missing",
    DependencyState.UNKNOWN: "{0.target} cannot be identified: its row or its metadata file cannot be read",
}
"""For each state of an edge, its meaning for the view."""


def _reason(problem: ViewProblem, worst: Validity) -> str:
    position = "" if problem.line is None else f"line {problem.line}:{problem.column}: "
    return f"{position}{'' if problem.validity is worst else f'{problem.validity.value}: '}{problem.reason}"


def _upstream(reader: LineageReader, name: ViewName, rows: RowCache) -> Graph:
    nodes: dict[ViewName, Node] = {}
    edges: list[Edge] = []
    level = [name]
    while level:
        rows.load(level)
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


def _downstream(reader: LineageReader, name: ViewName, rows: RowCache) -> Graph:
    nodes = {name: _node(reader, name, rows.get(name), None)}
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
