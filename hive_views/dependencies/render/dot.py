r"""A dependency graph as DOT text for Graphviz. Arrows point from an object to its readers.

Quoting: https://graphviz.org/doc/info/lang.html. In a quoted string only `\"` is an escape; labels also interpret `\N`,
`\l` and others, and HTML entities such as `&amp;`.
"""

from __future__ import annotations

from hive_views.dependencies.lineage import DependencyState
from hive_views.dependencies.render.picture import Box, Picture, Standing
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
    Standing.UNEXPANDED: ("#fdf1dc", "#9a5b00"),
    Standing.DRIFTED: ("#fdf1dc", "#9a5b00"),
    Standing.INVALID: ("#fde8e9", "#c3262f"),
    Standing.UNKNOWN: ("#eeecf9", "#6b5fa8"),
    Standing.BLOCKED: ("#ffffff", "#c3262f"),
    Standing.MISSING: ("#fde8e9", "#c3262f"),
    Standing.UNCHECKED: ("#f6f7f9", "#5d6675"),
}
"""Fill and line color of each standing, for dark text."""


def dot(picture: Picture) -> str:
    """Return a picture as DOT text."""
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
        lines.append(f"  {node_id(edge.target)} -> {node_id(edge.view)}{style};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def node_id(name: ViewName) -> str:
    """Return a node's quoted id, unique for each name."""
    parts = (part.replace("\\", "\\\\").replace(".", "\\.") for part in name.identifier)
    # `escape` writes one backslash; a backslash in the name itself is doubled.
    return '"' + escape(".".join(parts)).replace('"', '\\"') + '"'


def _node(box: Box) -> str:
    shape, style = _SHAPES[box.kind]
    fill, line = COLORS[box.standing]
    is_normal = box.standing in (Standing.VALID, Standing.UNCHECKED, Standing.MISSING)
    standing = "" if is_normal else f": {box.standing.value}"
    return (
        f"{node_id(box.name)} [label={_label(box.name.name, box.kind_text + standing)}, shape={shape}, "
        f'style="{style}", fillcolor="{fill}", color="{line}", tooltip={_label(str(box.name), *box.reasons)}];'
    )


def _label(*lines: str) -> str:
    return '"' + "\\n".join(_escaped(escape(line).replace("&", "&amp;")) for line in lines) + '"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
