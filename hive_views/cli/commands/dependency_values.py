"""What the commands about dependencies return: frozen values, whose fields are the keys of their JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeNode:
    """One line of a tree."""

    name: str
    """`database.name`."""
    kind: str
    """`table`, `view`, `hive-table`, `hive-view`, or `missing`."""
    standing: str
    """How it stands: `valid`, `outdated`, `drifted`, `invalid`, `unknown`, `blocked`, `missing` or `unchecked`."""
    reasons: tuple[str, ...]
    """What is wrong with it."""
    depth: int
    """How far from the tree's root; 0 for a root."""
    note: str | None
    """`cycle` where the object stands above itself, `repeated` where its branches are shown further up; else null."""
    branch: str
    """What is drawn in front of it."""


@dataclass(frozen=True)
class DependencyTree:
    """One direction of what `deps tree` shows."""

    direction: str
    """`up`: what the object reads; `down`: what reads it."""
    lines: tuple[TreeNode, ...]
    """The object, and all below it in the order of the tree."""


@dataclass(frozen=True)
class DependencyTrees:
    """What `deps tree` returns."""

    name: str
    """The object."""
    trees: tuple[DependencyTree, ...]
    """One or both directions."""


@dataclass(frozen=True)
class GraphNode:
    """A table or view of a graph."""

    name: str
    """`database.name`."""
    kind: str
    """`table`, `view`, `hive-table`, `hive-view`, or `missing`."""
    uuid: str | None
    """Its identity; null where it has none."""
    standing: str
    """How it stands, as in [TreeNode](#treenode)."""
    reasons: tuple[str, ...]
    """What is wrong with it."""


@dataclass(frozen=True)
class GraphEdge:
    """A view reads an object."""

    view: str
    """The view."""
    reads: str
    """The object, where it stands today."""
    state: str
    """How it stands to what the view recorded: `same`, `renamed`, `replaced` or `missing`."""


@dataclass(frozen=True)
class DependencyGraph:
    """What `deps graph` returns."""

    format: str
    """The picture's format."""
    output: str | None
    """The file that the picture was written to; null where it was not."""
    nodes: tuple[GraphNode, ...]
    """All objects, by name."""
    edges: tuple[GraphEdge, ...]
    """Which view reads which object."""
    cycles: tuple[tuple[str, ...], ...]
    """Views that read each other, or themselves."""
    picture: str | None
    """The picture; null where it was written to a file, and for the format `json`."""


@dataclass(frozen=True)
class AffectedView:
    """What a change does to one view."""

    view: str
    """The view."""
    effect: str
    """`breaks`, `broken already`, `changes types`, `stays frozen`, `none` or `unknown`."""
    reason: str
    """Why."""
    line: int | None
    """Where in its text, from 1."""
    column: int | None
    """The character in that line, from 1."""
    types: tuple[tuple[str, str | None, str | None], ...]
    """For `changes types`: column, type now, type then."""


@dataclass(frozen=True)
class ImpactReport:
    """What `deps impact` returns."""

    name: str
    """The object."""
    columns: tuple[tuple[str, str], ...] | None
    """Name and Hive type of each column that it would have; null if it was dropped."""
    breaks: bool
    """Whether any view would break."""
    views: tuple[AffectedView, ...]
    """Every dependent, each behind what it reads."""


@dataclass(frozen=True)
class FoundProblem:
    """One thing that is wrong with a view."""

    validity: str
    """How bad it is."""
    reason: str
    """What is wrong."""
    line: int | None
    """Where in the text, from 1."""
    column: int | None
    """The character in that line, from 1."""


@dataclass(frozen=True)
class CheckedView:
    """What a check found about one view."""

    view: str
    """The view."""
    validity: str
    """`valid`, `outdated`, `drifted`, `invalid` or `unknown`: the worst of its problems."""
    problems: tuple[FoundProblem, ...]
    """All that is wrong, worst first."""


@dataclass(frozen=True)
class CheckReport:
    """What `deps check` returns."""

    ok: bool
    """Whether the exit code is 0: no view is invalid; with `--strict` every view is valid."""
    counts: dict[str, int]
    """How many views stand how."""
    views: tuple[CheckedView, ...]
    """Every view, by name."""


@dataclass(frozen=True)
class RecompiledView:
    """What `recompile` did to one view."""

    view: str
    """The view."""
    outcome: str
    """`recompiled`, `unchanged` or `failed`."""
    version_id: int | None
    """The version that readers get; null where it failed."""
    added: tuple[str, ...]
    """Columns that it has now and had not."""
    removed: tuple[str, ...]
    """Columns that it had and has no more."""
    retyped: tuple[str, ...]
    """Columns whose type changed."""
    error: str | None
    """Why it failed; nothing was changed then."""


@dataclass(frozen=True)
class RecompileReport:
    """What `recompile` returns."""

    views: tuple[RecompiledView, ...]
    """The views, in the order in which they were recompiled."""
