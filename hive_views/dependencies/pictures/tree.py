"""A graph as a tree of lines, for terminals: each object's own branches once, a cycle cut where it closes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from hive_views.dependencies.pictures.picture import Box, Picture, Standing
from hive_views.identifiers import ViewName
from hive_views.visible import visible


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

    def pieces(self) -> Iterator[tuple[str, str]]:
        """The line's texts, each with what it is: `branch`, `name`, `kind`, `standing`, `reason` or `note`."""
        yield self.branch, "branch"
        yield visible(str(self.box.name)), "name"
        if self.box.kind is not None:
            yield f"  {self.box.kind_text}", "kind"
        if self.note:
            yield f"  ({_NOTES[self.note]})", "note"
        elif self.box.standing not in (Standing.VALID, Standing.UNCHECKED):
            yield f"  {self.box.standing.value}", "standing"
            if self.box.reasons and self.box.standing is not Standing.MISSING:
                yield f": {visible(self.box.reasons[0])}", "reason"


_NOTES = {"cycle": "reads itself", "repeated": "see above"}

_LINES = ("├─ ", "└─ ", "│  ", "   ")
_ASCII = ("|- ", "`- ", "|  ", "   ")


def tree(
    picture: Picture,
    roots: Sequence[ViewName] | None = None,
    direction: Direction = Direction.UP,
    *,
    ascii_only: bool = False,
) -> tuple[TreeLine, ...]:
    """The lines of a tree, or of several.

    Args:
        picture: What is drawn.
        roots: Where trees begin; None takes as many as are needed for every object to be in one.
        direction: Which way they grow.
        ascii_only: Draw branches with `|` and `-`.

    Returns:
        The lines; at most one for each edge and each root.

    Raises:
        KeyError: If a root is not in the picture.
    """
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
                fork, corner, through, blank = _ASCII if ascii_only else _LINES
                last = place == 0
                work.append((child, under + (corner if last else fork), under + (blank if last else through)))
                depths.append(depth + 1)
    return tuple(lines)


def tree_text(lines: Iterable[TreeLine]) -> str:
    """A tree as text without colors.

    Args:
        lines: Its lines.

    Returns:
        One text, each line ended.
    """
    return "".join("".join(text for text, _ in line.pieces()) + "\n" for line in lines)


def _roots(picture: Picture, direction: Direction, shown: set[ViewName]) -> Iterator[ViewName]:
    """What nothing leads to; then, of what is left, one of each cycle."""
    above = picture.graph.dependents if direction is Direction.UP else picture.graph.children
    for name in picture.boxes:
        if not above(name):
            yield name
    for name in picture.boxes:
        if name not in shown:
            yield name
