"""Mermaid text: labels contain only letters, digits, blanks and entity codes; names occur in labels only."""

import re

from hypothesis import given

from hive_views.dependencies.render import make_picture, mermaid
from hive_views.rendering.escaping import escape
from tests.unit.dependencies.render.graphs import graph, graphs, invalid

LABEL = r'"((?:[\w ]|#\d+;)*)"'
LINES = [
    r"flowchart LR",
    rf"  subgraph d\d+\[{LABEL}\]",
    rf"    n\d+(?:\[\({LABEL}\)\]|\({LABEL}\)|\[{LABEL}\]):::[a-z]+",
    r"  end",
    rf"  n\d+ (?:-->|-\.->\|{LABEL}\|) n\d+",
    r"  classDef [a-z]+ fill:#\w{6},stroke:#\w{6},color:#\w{6}(?:,stroke-dasharray:4)?",
]


def label(text):
    found = re.search(LABEL, text)
    assert found, text
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), found[1])


@given(graphs())
def test_mermaid_lines_have_one_of_six_forms(generated):
    picture = make_picture(generated)
    lines = mermaid(picture).splitlines()
    assert "\n".join(lines) + "\n" == mermaid(picture)
    forms = [[line for line in lines if re.fullmatch(form, line)] for form in LINES]
    assert sum(map(len, forms)) == len(lines)
    assert [label(line) for line in forms[1]] == [escape(database) for database in picture.databases()]
    shown = [label(line) for line in forms[2]]
    for box, text in zip((box for boxes in picture.databases().values() for box in boxes), shown, strict=True):
        assert text.startswith(escape(box.name.name))
    assert len(forms[4]) == len({(edge.view, edge.target) for edge in generated.edges})
    styled = {line.split()[1] for line in forms[5]}
    assert styled == {line.rpartition(":::")[2] for line in forms[2]}


def test_mermaid_text_of_small_graph():
    picture = make_picture(graph({"v": ["t", "gone"]}, gone=None), [invalid("v")])
    assert mermaid(picture) == (
        "flowchart LR\n"
        '  subgraph d0["d"]\n'
        '    n0["gone #40;missing#41;"]:::missing\n'
        '    n1[("t")]:::unchecked\n'
        '    n2("v #40;invalid#41;"):::invalid\n'
        "  end\n"
        "  n1 --> n2\n"
        '  n0 -.->|"missing"| n2\n'
        "  classDef invalid fill:#fde8e9,stroke:#c3262f,color:#1b1f27\n"
        "  classDef missing fill:#fde8e9,stroke:#c3262f,color:#1b1f27,stroke-dasharray:4\n"
        "  classDef unchecked fill:#f6f7f9,stroke:#5d6675,color:#1b1f27\n"
    )
