"""A graph as one HTML page that opens from disk; layout and all drawing are the page's own script."""

from __future__ import annotations

from typing import Any

from hive_views.dependencies.render.diagram import Picture
from hive_views.rendering.escaping import escape
from hive_views.rendering.html_page import page, part

_PACKAGE = "hive_views.dependencies.render"


def html(picture: Picture) -> str:
    """A picture as a page of one file."""
    return page(
        picture.title,
        style=part(_PACKAGE, "page.css"),
        body=part(_PACKAGE, "page.html"),
        script=part(_PACKAGE, "layout.js") + part(_PACKAGE, "page.js"),
        data=document(picture),
    )


def document(picture: Picture) -> dict[str, Any]:
    """What the page's script gets."""
    numbers = {name: number for number, name in enumerate(picture.boxes)}
    nodes = [
        {
            "database": escape(box.name.database),
            "name": escape(box.name.name),
            "kind": box.kind_text,
            "standing": box.standing.value,
            "reasons": [escape(reason, lines=True) for reason in box.reasons],
            "typed": _text(box.typed),
            "expanded": _text(box.expanded) if box.expanded != box.typed else None,
            "columns": [[escape(name), escape(kind), _text(comment)] for name, kind, comment in box.columns],
        }
        for box in picture.boxes.values()
    ]
    edges = [[numbers[edge.to], numbers[edge.view], edge.state.value] for edge in picture.arrows()]
    return {"title": escape(picture.title), "nodes": nodes, "edges": edges}


def _text(text: str | None) -> str | None:
    return None if text is None else escape(text, lines=True)
