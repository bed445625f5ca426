"""A graph as a tree of lines, for terminals: each object's own branches once, a cycle cut where it closes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from hive_views.dependencies.render.diagram import Box, Picture, Standing
from hive_views.identifiers import ViewName
from hive_views.rendering.escaping import escape


class Direction(Enum):
    """Which way a tree grows."""

    UP = "up"
    """From a view to what it reads: upstream."""
    DOWN = "down"
    """From an object to what reads it: downstream."""


@dataclass(frozen=True)
class TreeLine:
    """One line of a tree."""

    branch: str
    """The lines that lead to it, such as `│  ├─ `."""
    depth: int
    """How far from its root; 0 for a root."""
    box: Box
    """The object."""
    note: str = ""
    """`cycle` where the object stands above itself, `repeated` where its branches are shown further up."""


_NOTES = {"cycle": "reads itself", "repeated": "see above"}


def tree(
    picture: Picture,
    roots: Sequence[ViewName] | None = None,
    direction: Direction = Direction.UP,
) -> tuple[TreeLine, ...]:
    """The lines of a tree, or of several."""
    beside = picture.graph.children if direction is Direction.UP else picture.graph.dependents
    shown: set[ViewName] = set()
    lines: list[TreeLine] = []
    for root in _roots(picture, direction, shown) if roots is None else roots:
        path: list[ViewName] = []
        on_path: set[ViewName] = set()
        work: list[tuple[ViewName, str, str]] = [(root, "", "")]
        depths = [0]
        while work:
            name, branch, under = work.pop()
            depth = depths.pop()
            on_path.difference_update(path[depth:])
            del path[depth:]
            children = beside(name)
            note = "cycle" if name in on_path else "repeated" if name in shown and children else ""
            lines.append(TreeLine(branch, depth, picture.boxes[name], note))
            shown.add(name)
            if note:
                continue
            path.append(name)
            on_path.add(name)
            for place, child in enumerate(sorted(children, reverse=True)):
                last = place == 0
                work.append((child, under + ("└─ " if last else "├─ "), under + ("   " if last else "│  ")))
                depths.append(depth + 1)
    return tuple(lines)


def tree_text(lines: Iterable[TreeLine]) -> str:
    """A tree as text without colors."""
    return "".join(f"{line.branch}{escape(str(line.box.name))}{_said(line)}\n" for line in lines)


def _said(line: TreeLine) -> str:
    box = line.box
    kind = "" if box.kind is None else f"  {box.kind_text}"
    if line.note:
        return f"{kind}  ({_NOTES[line.note]})"
    if box.standing in (Standing.VALID, Standing.UNCHECKED):
        return kind
    reason = f": {escape(box.reasons[0])}" if box.reasons and box.kind is not None else ""
    return f"{kind}  {box.standing.value}{reason}"


def _roots(picture: Picture, direction: Direction, shown: set[ViewName]) -> Iterator[ViewName]:
    """What nothing leads to; then, of what is left, one of each cycle."""
    above = picture.graph.dependents if direction is Direction.UP else picture.graph.children
    for name in picture.boxes:
        if not above(name):
            yield name
    for name in picture.boxes:
        if name not in shown:
            yield name
