"""What all pictures show: the graph, and how each object stands.

A check tells of each view on its own. A view over one that cannot be read is valid by itself and cannot be read either:
only the graph tells that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from hive_views.dependencies.graph import Edge, Graph
from hive_views.dependencies.lineage import DependencyState, LineageOrigin
from hive_views.dependencies.validity import CheckedView, Problem, Validity
from hive_views.identifiers import ViewName
from hive_views.metastore.row_codec import Row
from hive_views.spec.lineage_codec import ObjectKind


class Standing(Enum):
    """How an object stands; the first five are those of `Validity`."""

    VALID = "valid"
    """It was checked, and can be read."""
    OUTDATED = "outdated"
    """It can be read as it was frozen; RECOMPILE would change it."""
    DRIFTED = "drifted"
    """Another program changed its row."""
    INVALID = "invalid"
    """It cannot be read, or not with its columns."""
    UNKNOWN = "unknown"
    """Its text, or what it reads, cannot be looked into."""
    BLOCKED = "blocked"
    """Nothing is wrong with it, but it reads something that is invalid or missing."""
    MISSING = "missing"
    """Nothing has the name that a view reads."""
    UNCHECKED = "unchecked"
    """A table, or a view that was not checked."""

    @property
    def cannot_be_read(self) -> bool:
        """Whether a query that names the object fails, as far as that can be told."""
        return self in (Standing.INVALID, Standing.MISSING, Standing.BLOCKED)


@dataclass(frozen=True)
class Box:
    """An object of a picture."""

    name: ViewName
    """Its name."""
    kind: ObjectKind | None
    """What it is; None where nothing has the name."""
    standing: Standing
    """How it stands."""
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
        """What it is, in a word."""
        return "missing" if self.kind is None else self.kind.value


@dataclass(frozen=True)
class Picture:
    """What is drawn."""

    graph: Graph
    """Who reads what."""
    boxes: Mapping[ViewName, Box]
    """Each node of the graph, by name."""
    title: str = "Views"
    """What the picture is of."""

    def databases(self) -> dict[str, list[Box]]:
        """The boxes by database, both in the order of their names."""
        found: dict[str, list[Box]] = {}
        for name in sorted(self.boxes):
            found.setdefault(name.database, []).append(self.boxes[name])
        return found

    def arrows(self) -> Iterator[Edge]:
        """The edges, one for each view and what it reads; the worst state where it reads it under two names."""
        worst: dict[tuple[ViewName, ViewName], Edge] = {}
        for edge in self.graph.edges:
            before = worst.get((edge.view, edge.to))
            if before is None or _STATES.index(edge.state) > _STATES.index(before.state):
                worst[edge.view, edge.to] = edge
        yield from worst.values()


_STATES = (
    DependencyState.SAME,
    DependencyState.UNKNOWN,
    DependencyState.REPLACED,
    DependencyState.RENAMED,
    DependencyState.MISSING,
)


def draw(
    graph: Graph,
    findings: Iterable[CheckedView] = (),
    rows_of: Mapping[ViewName, Row] | None = None,
    *,
    title: str = "Views",
) -> Picture:
    """Put together what a picture shows."""
    checked = {finding.view: finding for finding in findings}
    reading: dict[ViewName, list[Edge]] = {}
    for edge in graph.edges:
        reading.setdefault(edge.view, []).append(edge)
    cyclic = {name: group for group in graph.cycles() for name in group}
    boxes: dict[ViewName, Box] = {}
    for name in graph.order():
        node = graph.nodes[name]
        edges = reading.get(name, [])
        standing, reasons = _own(node.kind, checked.get(name), edges)
        if node.lineage is not None and node.lineage.source is LineageOrigin.NONE:
            standing = Standing.UNKNOWN if standing in (Standing.VALID, Standing.UNCHECKED) else standing
            reasons.append(node.lineage.problem or "what it reads is not known")
        if name in cyclic:
            standing = Standing.INVALID
            reasons.insert(0, f"it reads itself: {', '.join(map(str, cyclic[name]))} read each other")
        below = [boxes[child] for child in graph.children(name) if child in boxes]
        closed = [box for box in below if box.standing.cannot_be_read]
        if closed and not standing.cannot_be_read:
            standing = Standing.BLOCKED
            reasons[:0] = [f"it reads {box.name}, which is {box.standing.value}" for box in closed]
        row = (rows_of or {}).get(name)
        boxes[name] = Box(
            name,
            node.kind,
            standing,
            tuple(dict.fromkeys(reasons)),
            None if row is None or not row.kind.is_view else row.texts.original,
            None if row is None or not row.kind.is_view else row.texts.expanded,
            () if row is None else tuple((column, kind, comment) for column, kind, comment in row.columns),
        )
    return Picture(graph, {name: boxes[name] for name in sorted(boxes)}, title)


def _own(kind: ObjectKind | None, finding: CheckedView | None, edges: list[Edge]) -> tuple[Standing, list[str]]:
    """How an object stands without a look at what it reads."""
    if kind is None:
        return Standing.MISSING, ["nothing has this name"]
    reasons = [] if finding is None else [_reason(problem, finding.validity) for problem in finding.problems]
    for edge in edges:
        if edge.state is DependencyState.RENAMED:
            reasons.append(f"{edge.child.name}, which its text names, is {edge.to} now")
        elif edge.state is DependencyState.REPLACED:
            reasons.append(f"{edge.to} is another object than when the view was defined")
        elif edge.state is DependencyState.MISSING:
            reasons.append(f"{edge.child.name} is missing")
        elif edge.state is DependencyState.UNKNOWN:
            reasons.append(f"it cannot be told which object {edge.to} is: its metadata file cannot be read")
    if finding is not None:
        # A stale record is no fault by itself: the text may not read the child any more.
        return Standing(finding.validity.value), reasons
    broken = any(edge.state in (DependencyState.RENAMED, DependencyState.MISSING) for edge in edges)
    return (Standing.INVALID if broken else Standing.UNCHECKED), reasons


def _reason(problem: Problem, worst: Validity) -> str:
    where = "" if problem.line is None else f"line {problem.line}:{problem.column}: "
    return f"{where}{'' if problem.validity is worst else f'{problem.validity.value}: '}{problem.reason}"
