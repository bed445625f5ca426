r"""A graph as DOT text for Graphviz. An arrow leads from what is read to who reads it.

Quoting: https://graphviz.org/doc/info/lang.html. In a quoted string only `\"` is an escape; in labels Graphviz also
takes `\N`, `\l` … for something else, and `&amp;` for a character.
"""

from __future__ import annotations

from hive_views.dependencies.lineage import DependencyState
from hive_views.dependencies.render.diagram import Box, Picture, Standing
from hive_views.identifiers import ViewName
from hive_views.rendering.escaping import escape
from hive_views.spec.lineage_codec import ObjectKind

_SHAPES = {
    ObjectKind.TABLE: ("cylinder", "filled"),
    ObjectKind.HIVE_TABLE: ("cylinder", "filled,dashed"),
    ObjectKind.VIEW: ("box", "filled,rounded"),
    ObjectKind.HIVE_VIEW: ("box", "filled,rounded,dashed"),
    None: ("box", "filled,dotted"),
}

COLORS = {
    Standing.VALID: ("#e6f4ec", "#1a7f4b"),
    Standing.OUTDATED: ("#fdf1dc", "#9a5b00"),
    Standing.DRIFTED: ("#fdf1dc", "#9a5b00"),
    Standing.INVALID: ("#fde8e9", "#c3262f"),
    Standing.UNKNOWN: ("#eeecf9", "#6b5fa8"),
    Standing.BLOCKED: ("#ffffff", "#c3262f"),
    Standing.MISSING: ("#fde8e9", "#c3262f"),
    Standing.UNCHECKED: ("#f6f7f9", "#5d6675"),
}
"""Fill and line of each standing, for text on light ground."""


def dot(picture: Picture) -> str:
    """A picture as DOT."""
    lines = [
        f"digraph {_label(picture.title)} {{",
        "  rankdir=LR;",
        '  node [fontname="Helvetica", fontsize=11, margin="0.15,0.06"];',
        '  edge [color="#5d6675", fontname="Helvetica", fontsize=9];',
    ]
    for number, (database, boxes) in enumerate(picture.databases().items()):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f'    label={_label(database)}; color="#d5d9e0"; fontname="Helvetica";')
        lines += [f"    {_node(box)}" for box in boxes]
        lines.append("  }")
    for edge in picture.arrows():
        style = ""
        if edge.state is not DependencyState.SAME:
            style = f' [style=dashed, color="#c3262f", label={_label(edge.state.value)}]'
        lines.append(f"  {identity(edge.to)} -> {identity(edge.view)}{style};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def identity(name: ViewName) -> str:
    """A node's id: no two names have the same."""
    parts = (part.replace("\\", "\\\\").replace(".", "\\.") for part in name.identifier)
    # What `visible` spells out has one backslash, what has one itself two.
    return '"' + escape(".".join(parts)).replace('"', '\\"') + '"'


def _node(box: Box) -> str:
    shape, style = _SHAPES[box.kind]
    fill, line = COLORS[box.standing]
    said = "" if box.standing in (Standing.VALID, Standing.UNCHECKED, Standing.MISSING) else f": {box.standing.value}"
    return (
        f"{identity(box.name)} [label={_label(box.name.name, box.kind_text + said)}, shape={shape}, "
        f'style="{style}", fillcolor="{fill}", color="{line}", tooltip={_label(str(box.name), *box.reasons)}];'
    )


def _label(*lines: str) -> str:
    return '"' + "\\n".join(_escaped(escape(line).replace("&", "&amp;")) for line in lines) + '"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
