"""DOT text, parsed by its grammar, and by Graphviz if installed."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from hypothesis import given

from hive_views.dependencies.render import dot, make_picture
from hive_views.dependencies.render.dot import node_id
from hive_views.rendering.escaping import escape
from tests.unit.dependencies.render.graphs import graph, graphs, hostile, invalid

# scan.l of Graphviz: within a quoted string, a backslash takes the next backslash or quote with it.
STRING = r'"((?:\\[\\"]|[^"\\]|\\(?![\\"]))*)"'
TOKEN = re.compile(rf"\s*({STRING}|->|[A-Za-z_0-9]+|[\[\]{{}}=,;])", re.DOTALL)


def statements(text):
    """Return the tokens of each statement; fail on anything else."""
    tokens, at = [], 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        assert found, text[at : at + 80]
        tokens.append(found[1])
        at = found.end()
    lines, depth = [[]], 0
    for token in tokens:
        depth += (token == "{") - (token == "}")
        assert depth >= 0
        lines[-1].append(token)
        if token in (";", "{", "}"):
            lines.append([])
    assert depth == 0
    return [line for line in lines if line]


@given(graphs())
def test_dot_text_parses_to_the_same_graph(generated):
    parsed = statements(dot(make_picture(generated)))
    nodes = [line[0] for line in parsed if line[0].startswith('"') and line[1] == "["]
    edges = [(line[0], line[2]) for line in parsed if len(line) > 1 and line[1] == "->"]
    assert sorted(nodes) == sorted(node_id(name) for name in generated.nodes)
    assert len(set(nodes)) == len(nodes)
    assert sorted(edges) == sorted({(node_id(edge.target), node_id(edge.view)) for edge in generated.edges})


def test_dot_shows_kinds_standings_and_databases():
    text = dot(
        make_picture(
            graph({"v": ["t", "gone"], "e.w": ["v"]}, gone=None), [invalid("v", 'no "t"')], title='my "views" \\'
        )
    )
    assert text.startswith('digraph "my \\"views\\" \\\\" {\n')
    assert '  subgraph cluster_0 {\n    label="d";' in text
    assert '  subgraph cluster_1 {\n    label="e";' in text
    assert '"d.v" [label="v\\nview: invalid", shape=box, style="filled,rounded", fillcolor="#fde8e9"' in text
    assert 'tooltip="d.v\\nline 1:15: no \\"t\\"\\nd.gone is missing"]' in text
    assert '"d.t" [label="t\\ntable", shape=cylinder' in text
    assert '"d.gone" [label="gone\\nmissing", shape=box, style="filled,dotted"' in text
    assert '  "d.gone" -> "d.v" [style=dashed, color="#c3262f", label="missing"];' in text
    assert '  "d.v" -> "e.w";' in text


def test_graphviz_renders_hostile_names_unchanged():
    program = shutil.which("dot")
    if program is None:
        pytest.skip("needs Graphviz: apt-get install graphviz")
    generated = hostile()
    done = subprocess.run(
        [program, "-Tsvg"], input=dot(make_picture(generated)), capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    texts = [element.text for element in ElementTree.fromstring(done.stdout).iter("{http://www.w3.org/2000/svg}text")]
    for name in generated.nodes:
        # Once for the database, once for the view.
        assert texts.count(escape(name.name)) == 2, name
    assert len(texts) == 3 * len(generated.nodes)
