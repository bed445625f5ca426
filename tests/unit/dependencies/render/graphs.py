"""Graphs for the tests of pictures: literal, hostile, random, and large."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

from hypothesis import strategies as st

from hive_views.dependencies.graph import Edge, Graph, Node
from hive_views.dependencies.lineage import DependencyState
from hive_views.identifiers import ViewName
from hive_views.spec.lineage_codec import Dependency, ObjectKind
from hive_views.sql.analysis.validity import CheckedView, Validity, ViewProblem

HOSTILE = [
    "end",
    'a"b',
    "a\\",
    'a\\"',
    "</script><script>window.escaped=1</script>",
    "<img src=x onerror=window.escaped=1>",
    "&lt;x&amp;",
    "#35;",
    "]) ; %% subgraph",
    "`md` **b** $$x$$",
    "1. x",
    "\u202egnp.exe",
    "a\nb\x1b[31m\x00",
    "\ud800",
    "注文 😀",
    "مبيعات",
    "\\N\\l\\u202e",
    "__proto__",
    "constructor",
    "x" * 256,
]


def graph(reads: Mapping[str, Sequence[str]], **kinds: ObjectKind | None) -> Graph:
    """Return a graph of `name` or `database.name`s; `kinds` overrides the kinds, None is missing."""

    def full(name: str) -> ViewName:
        return ViewName.parse(name if "." in name else f"d.{name}")

    def kind(name: str) -> ObjectKind | None:
        return kinds.get(name, ObjectKind.VIEW if reads.get(name) else ObjectKind.TABLE)

    names = {*reads, *(child for children in reads.values() for child in children)}
    nodes = {full(name): Node(full(name), kind(name), None) for name in names}
    edges = [
        Edge(
            full(view),
            Dependency(full(child), "", ObjectKind.TABLE),
            DependencyState.MISSING if kind(child) is None else DependencyState.SAME,
            full(child),
        )
        for view, children in reads.items()
        for child in children
    ]
    return Graph({name: nodes[name] for name in sorted(nodes)}, tuple(sorted(edges, key=lambda edge: edge.view)))


def invalid(name: str, reason: str = "no such table", validity: Validity = Validity.INVALID) -> CheckedView:
    return CheckedView(ViewName.parse(f"d.{name}"), (ViewProblem(validity, reason, 1, 15),))


def valid(*names: str) -> list[CheckedView]:
    return [CheckedView(ViewName.parse(f"d.{name}"), ()) for name in names]


def hostile() -> Graph:
    """Return a graph of views with hostile names in databases of the same name; each reads the previous one."""
    names = [ViewName(text, text) for text in HOSTILE]
    nodes = {name: Node(name, ObjectKind.VIEW, None) for name in names}
    edges = [
        Edge(view, Dependency(child, "", ObjectKind.VIEW), DependencyState.SAME, child)
        for child, view in pairwise(names)
    ]
    return Graph({name: nodes[name] for name in sorted(nodes)}, tuple(edges))


def warehouse(views: int = 200, seed: int = 7) -> Graph:
    """Return a graph of views in four layers over tables; most read the next lower layer."""
    pick = random.Random(seed)
    tables = [f"raw.source_{number}" for number in range(views // 5)]
    layers, reads = [tables], {}
    for database, share in (("staging", 0.3), ("core", 0.3), ("mart", 0.25), ("report", 0.15)):
        names_of_layer = []
        for number in range(round(views * share)):
            below = {pick.choice(layers[-1]) for _ in range(pick.choice([1, 1, 2, 2, 3]))}
            if pick.random() < 0.2:
                below.add(pick.choice(pick.choice(layers)))
            names_of_layer.append(
                f"{database}.{pick.choice(['daily', 'clean', 'by_region', 'enriched_rolling_30d'])}_{number}"
            )
            reads[names_of_layer[-1]] = sorted(below)
        layers.append(names_of_layer)
    return graph(reads)


NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), min_size=1, max_size=12))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw any graph: cycles, self-references, missing dependencies, all states, any names."""
    names = draw(st.lists(st.builds(ViewName, NAMES, NAMES), min_size=1, max_size=10, unique=True))
    kinds = {name: draw(st.sampled_from([*ObjectKind, None])) for name in names}
    nodes = {name: Node(name, kinds[name], None) for name in sorted(names)}
    views = [name for name in names if kinds[name] is not None and kinds[name].is_view]
    edges = []
    if views:
        pairs = draw(st.lists(st.tuples(st.sampled_from(views), st.sampled_from(names)), max_size=25))
        for view, to in pairs:
            state = draw(st.sampled_from(DependencyState)) if kinds[to] is not None else DependencyState.MISSING
            edges.append(Edge(view, Dependency(to, "", ObjectKind.TABLE), state, to))
    return Graph(nodes, tuple(sorted(edges, key=lambda edge: (edge.view, edge.recorded.name))))
