"""Pictures of what is in a metastore: of whole databases, or of what is up- or downstream of one object."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.dependencies.graph import DependentFinder, Edge, Graph, Node, read_graph
from hive_views.dependencies.lineage import DependencyState, Lineage, LineageReader, unidentified_dependency
from hive_views.dependencies.render.diagram import Picture, draw
from hive_views.dependencies.render.tree import Direction
from hive_views.dependencies.validity import check_view, check_views
from hive_views.errors import NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore.identities import KINDS
from hive_views.metastore.queries import read_rows
from hive_views.metastore.row_codec import Row


def read_picture(
    reader: LineageReader, scanned: Sequence[str] | None = None, *, check: bool = True, workers: int = 4
) -> Picture:
    """Read databases for a picture: graph, validity, texts and columns."""
    graph = read_graph(reader, scanned)
    findings = check_views(reader, scanned, workers=workers) if check else ()
    rows_of = {row.name: row for row in read_rows(reader.store, sorted(graph.nodes))}
    return draw(graph, findings, rows_of, title=", ".join(scanned or ()) or "All databases")


def read_tree(reader: LineageReader, name: ViewName, direction: Direction) -> Picture:
    """Read what is up- or downstream of one object, and nothing else, and how each view of it stands."""
    graph = _upstream(reader, name) if direction is Direction.UP else _downstream(reader, name)
    findings = []
    for node in graph.nodes.values():
        if node.kind is not None and node.kind.is_view:
            try:
                findings.append(check_view(reader, node.name))
            except NoSuchViewError:
                continue  # dropped since it was read
    return draw(graph, findings, title=str(name))


def _upstream(reader: LineageReader, name: ViewName) -> Graph:
    nodes: dict[ViewName, Node] = {}
    edges: list[Edge] = []
    level = [name]
    while level:
        there = {row.name: row for row in read_rows(reader.store, level)}
        below: set[ViewName] = set()
        for item in level:
            row = there.get(item)
            lineage = reader.read(row) if row is not None and row.kind.is_view else None
            nodes[item] = _node(reader, item, row, lineage)
            for child in lineage.children if lineage is not None else ():
                found = reader.find(child)
                edges.append(Edge(item, child, found.state, child.name if found.now is None else found.now.name))
            for missing in lineage.missing if lineage is not None else ():
                edges.append(Edge(item, unidentified_dependency(missing), DependencyState.MISSING, missing))
            below |= {edge.to for edge in edges if edge.view == item}
        level = sorted(below - nodes.keys())
    return _graph(nodes, edges)


def _downstream(reader: LineageReader, name: ViewName) -> Graph:
    row = reader.store.get_row(name)
    nodes = {name: _node(reader, name, row, None)}
    edges: list[Edge] = []
    dependents = DependentFinder(reader)
    work = [name]
    while work:
        item = work.pop()
        for dependent in dependents.of(item):
            state = DependencyState.SAME if dependent.reads else DependencyState.RENAMED
            if nodes[item].kind is None:
                state = DependencyState.MISSING
            edges.append(Edge(dependent.name, dependent.child, state, item))
            if dependent.name not in nodes:
                nodes[dependent.name] = _node(reader, dependent.name, dependent.row, None)
                work.append(dependent.name)
    return _graph(nodes, edges)


def _node(reader: LineageReader, name: ViewName, row: Row | None, lineage: Lineage | None) -> Node:
    child = None if row is None else reader.identified(row)
    return Node(name, None if row is None else KINDS[row.kind], None if child is None else child.uuid, lineage)


def _graph(nodes: dict[ViewName, Node], edges: list[Edge]) -> Graph:
    ordered = tuple(sorted(edges, key=lambda edge: (edge.view, edge.child.name)))
    return Graph({name: nodes[name] for name in sorted(nodes)}, ordered)
