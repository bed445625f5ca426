"""A graph as Mermaid text (flowchart), which Markdown renderers draw. An arrow leads from what is read to who reads it.

Ids are numbers, since Mermaid has words of its own (`end`, `o---`); names stand in labels alone, where every character
that could mean something is an entity code (https://mermaid.js.org/syntax/flowchart.html#entity-codes-to-escape-characters).
"""

from __future__ import annotations

import re

from hive_views.dependencies.lineage import DependencyState
from hive_views.dependencies.render.diagram import Picture, Standing
from hive_views.dependencies.render.dot import COLORS
from hive_views.rendering.escaping import escape
from hive_views.spec.lineage_codec import ObjectKind

_SHAPES = {
    ObjectKind.TABLE: ("[(", ")]"),
    ObjectKind.HIVE_TABLE: ("[(", ")]"),
    ObjectKind.VIEW: ("(", ")"),
    ObjectKind.HIVE_VIEW: ("(", ")"),
    None: ("[", "]"),
}

_PLAIN = re.compile(r"[^\w ]")


def mermaid(picture: Picture) -> str:
    """A picture as Mermaid."""
    ids = {name: f"n{number}" for number, name in enumerate(picture.boxes)}
    lines = ["flowchart LR"]
    used: set[Standing] = set()
    for number, (database, boxes) in enumerate(picture.databases().items()):
        lines.append(f"  subgraph d{number}[{_label(database)}]")
        for box in boxes:
            opening, closing = _SHAPES[box.kind]
            said = "" if box.standing in (Standing.VALID, Standing.UNCHECKED) else f" ({box.standing.value})"
            used.add(box.standing)
            label = _label(f"{box.name.name}{said}")
            lines.append(f"    {ids[box.name]}{opening}{label}{closing}:::{box.standing.value}")
        lines.append("  end")
    for edge in picture.arrows():
        arrow = "-->" if edge.state is DependencyState.SAME else f"-.->|{_label(edge.state.value)}|"
        lines.append(f"  {ids[edge.to]} {arrow} {ids[edge.view]}")
    for standing in sorted(used, key=lambda standing: standing.value):
        fill, line = COLORS[standing]
        dashed = ",stroke-dasharray:4" if standing in (Standing.BLOCKED, Standing.MISSING) else ""
        lines.append(f"  classDef {standing.value} fill:{fill},stroke:{line},color:#1b1f27{dashed}")
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return '"' + _PLAIN.sub(lambda found: f"#{ord(found[0])};", escape(text)) + '"'
