"""A dependency graph as a tree of lines: each object's subtree is shown once, cycles are cut where they close."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hive_views.dependencies.render.picture import Direction, Picture, Standing
from hive_views.identifiers import ViewName
from hive_views.rendering.escaping import escape


@dataclass(frozen=True, kw_only=True)
class TreeLine:
    """One line of a tree."""

    name: ViewName
    """The object."""
    kind: str
    """`table`, `view`, `hive-table`, `hive-view`, `missing`, or `unknown` if its row cannot be read."""
    standing: Standing
    """Its standing."""
    reasons: tuple[str, ...]
    """The problems of the object, worst first."""
    depth: int
    """The distance from the root; 0 for a root."""
    note: str | None
    """`cycle` if the object is its own ancestor in the tree, `repeated` if its subtree is shown above; else None."""
    branch: str
    """The lines drawn before the name, such as `│  ├─ `."""

    @property
    def is_missing(self) -> bool:
        """Whether no object has the name."""
        return self.kind == Standing.MISSING.value


NOTES = {"cycle": "(reads itself)", "repeated": "(see above)"}


def tree(
    picture: Picture,
    roots: Sequence[ViewName] | None = None,
    direction: Direction = Direction.UP,
) -> tuple[TreeLine, ...]:
    """Return the lines of one or more trees."""
    neighbors = picture.graph.dependencies if direction is Direction.UP else picture.graph.dependents
    shown: set[ViewName] = set()
    lines: list[TreeLine] = []
    for root in _roots(picture, direction, shown) if roots is None else roots:
        path: list[ViewName] = []
        ancestors: set[ViewName] = set()
        unvisited: list[tuple[ViewName, int, str, str]] = [(root, 0, "", "")]
        while unvisited:
            name, depth, branch, indent = unvisited.pop()
            ancestors.difference_update(path[depth:])
            del path[depth:]
            children = neighbors(name)
            note = "cycle" if name in ancestors else "repeated" if name in shown and children else None
            box = picture.boxes[name]
            lines.append(
                TreeLine(
                    name=name,
                    kind=box.kind_text,
                    standing=box.standing,
                    reasons=box.reasons,
                    depth=depth,
                    note=note,
                    branch=branch,
                )
            )
            shown.add(name)
            if note is not None:
                continue
            path.append(name)
            ancestors.add(name)
            for number, child in enumerate(sorted(children, reverse=True)):
                fork, line = ("└─ ", "   ") if number == 0 else ("├─ ", "│  ")
                unvisited.append((child, depth + 1, indent + fork, indent + line))
    return tuple(lines)


def tree_text(lines: Iterable[TreeLine]) -> str:
    """Return a tree as text without colors."""
    return "".join(f"{line.branch}{escape(str(line.name))}{_description(line)}\n" for line in lines)


def _description(line: TreeLine) -> str:
    kind = "" if line.is_missing else f"  {line.kind}"
    if line.note is not None:
        return f"{kind}  {NOTES[line.note]}"
    if line.standing in (Standing.VALID, Standing.UNCHECKED):
        return kind
    reason = f": {escape(line.reasons[0])}" if line.reasons and not line.is_missing else ""
    return f"{kind}  {line.standing.value}{reason}"


def _roots(picture: Picture, direction: Direction, shown: set[ViewName]) -> Iterator[ViewName]:
    """Yield the objects that cannot be reached from others, then one member of each cycle that is not shown yet."""
    predecessors = picture.graph.dependents if direction is Direction.UP else picture.graph.dependencies
    for name in picture.boxes:
        if not predecessors(name):
            yield name
    for name in picture.boxes:
        if name not in shown:
            yield name
