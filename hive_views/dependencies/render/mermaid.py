"""A dependency graph as Mermaid flowchart text, for Markdown renderers. Arrows point from an object to its readers.

Ids are numbers, since Mermaid reserves words (`end`, `o---`); names occur in labels only, where every character with a
meaning is an entity code (https://mermaid.js.org/syntax/flowchart.html#entity-codes-to-escape-characters).
"""

from __future__ import annotations

import re

from hive_views.dependencies.lineage import DependencyState
from hive_views.dependencies.render.dot import COLORS
from hive_views.dependencies.render.picture import Picture, Standing
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
    """Return a picture as Mermaid text."""
    ids = {name: f"n{number}" for number, name in enumerate(picture.boxes)}
    lines = ["flowchart LR"]
    used: set[Standing] = set()
    for number, (database, boxes) in enumerate(picture.databases().items()):
        lines.append(f"  subgraph d{number}[{_label(database)}]")
        for box in boxes:
            opening, closing = _SHAPES[box.kind]
            standing = "" if box.standing in (Standing.VALID, Standing.UNCHECKED) else f" ({box.standing.value})"
            used.add(box.standing)
            label = _label(f"{box.name.name}{standing}")
            lines.append(f"    {ids[box.name]}{opening}{label}{closing}:::{box.standing.value}")
        lines.append("  end")
    for edge in picture.arrows():
        arrow = "-->" if edge.state is DependencyState.SAME else f"-.->|{_label(edge.state.value)}|"
        lines.append(f"  {ids[edge.target]} {arrow} {ids[edge.view]}")
    for used_standing in sorted(used, key=lambda item: item.value):
        fill, line = COLORS[used_standing]
        dashed = ",stroke-dasharray:4" if used_standing in (Standing.BLOCKED, Standing.MISSING) else ""
        lines.append(f"  classDef {used_standing.value} fill:{fill},stroke:{line},color:#1b1f27{dashed}")
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return '"' + _PLAIN.sub(lambda match: f"#{ord(match[0])};", escape(text)) + '"'
