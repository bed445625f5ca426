"""Trees for terminals: branches once, cycles cut, all that is there shown."""

from hypothesis import given
from hypothesis import strategies as st

from hive_views.dependencies.render import Direction, make_picture, tree, tree_text
from hive_views.identifiers import ViewName
from tests.unit.dependencies.render.graphs import graph, graphs, invalid, valid


def test_upstream_tree_of_database():
    reads = {"top": ["left", "right"], "left": ["t"], "right": ["left", "gone"], "alone": ["t"]}
    picture = make_picture(graph(reads, gone=None), [invalid("right", "no table gone"), *valid("top", "left", "alone")])
    assert tree_text(tree(picture)) == (
        "d.alone  view\n"
        "└─ d.t  table\n"
        "d.top  view  blocked: it reads d.right, which is invalid: line 1:15: no table gone\n"
        "├─ d.left  view\n"
        "│  └─ d.t  table\n"
        "└─ d.right  view  invalid: line 1:15: no table gone\n"
        "   ├─ d.gone  missing\n"
        "   └─ d.left  view  (see above)\n"
    )


def test_downstream_tree_of_object():
    picture = make_picture(graph({"top": ["left", "right"], "left": ["t"], "right": ["t"]}))
    assert tree_text(tree(picture, [ViewName("d", "t")], Direction.DOWN)) == (
        "d.t  table\n"
        "├─ d.left  view\n"
        "│  └─ d.top  view\n"
        "└─ d.right  view\n"
        "   └─ d.top  view\n"
    )  # fmt: skip


def test_tree_cuts_cycle_where_it_closes():
    picture = make_picture(graph({"a": ["b"], "b": ["c"], "c": ["a"], "own": ["own"]}))
    lines = tree(picture)
    assert [(line.name.name, line.depth, line.note or "") for line in lines] == [
        ("a", 0, ""),
        ("b", 1, ""),
        ("c", 2, ""),
        ("a", 3, "cycle"),
        ("own", 0, ""),
        ("own", 1, "cycle"),
    ]


def test_tree_of_ten_thousand_nested_views():
    picture = make_picture(graph({f"v{number:05}": [f"v{number + 1:05}"] for number in range(10_000)}))
    lines = tree(picture)
    assert [lines[0].depth, lines[-1].depth, len(lines)] == [0, 10_000, 10_001]


def test_tree_shows_shared_subtree_once():
    """Each layer doubles the ways; the lines only add up."""
    reads = {f"{side}{layer}": [f"l{layer + 1}", f"r{layer + 1}"] for layer in range(40) for side in "lr"}
    assert len(tree(make_picture(graph(reads)))) == 2 + 2 * 80


def test_tree_escapes_control_characters():
    picture = make_picture(graph({"a\x1b[2m\u202eb": ["t\nt"]}))
    assert tree_text(tree(picture)) == "d.a\\x1b[2m\\u202eb  view\n└─ d.t\\x0at  table\n"


@given(graphs(), st.sampled_from(Direction))
def test_tree_shows_every_object_and_edge(generated, direction):
    lines = tree(make_picture(generated), direction=direction)
    assert {line.name for line in lines} == set(generated.nodes)
    pairs, path = set(), []
    for line in lines:
        del path[line.depth :]
        assert len(path) == line.depth
        if path:
            pairs.add((path[-1], line.name) if direction is Direction.UP else (line.name, path[-1]))
        assert (line.note == "cycle") == (line.name in path)
        path.append(line.name)
    assert pairs == {(edge.view, edge.target) for edge in generated.edges}
    assert len(lines) <= len(generated.nodes) + len(generated.edges)
    assert tree_text(lines).count("\n") == len(lines)
    tree_text(lines).encode("utf-8")
