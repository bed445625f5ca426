"""A dependency graph as a self-contained HTML page; its script computes the layout and draws the graph."""

from __future__ import annotations

from typing import Any

from hive_views.dependencies.columns import ColumnName
from hive_views.dependencies.render.picture import Picture
from hive_views.rendering.escaping import escape, escape_optional
from hive_views.rendering.html_page import page, part

_PACKAGE = "hive_views.dependencies.render"
_SCRIPTS = ("layout", "page", "scope", "columns", "export", "start")


def html(picture: Picture) -> str:
    """Return a picture as an HTML page."""
    return page(
        picture.title,
        style=part(_PACKAGE, "page.css"),
        body=part(_PACKAGE, "page.html"),
        script="".join(part(_PACKAGE, f"{name}.js") for name in _SCRIPTS),
        data=page_data(picture),
        uses_images=True,
    )


def page_data(picture: Picture) -> dict[str, Any]:
    """Return the data for the page's script."""
    numbers = {name: number for number, name in enumerate(picture.boxes)}
    places = {
        ColumnName(box.name, name.lower()): (numbers[box.name], place)
        for box in picture.boxes.values()
        for place, (name, _, _) in enumerate(box.columns)
    }
    nodes = [
        {
            "database": escape(box.name.database),
            "name": escape(box.name.name),
            "kind": box.kind_text,
            "standing": box.standing.value,
            "reasons": [escape(reason, lines=True) for reason in box.reasons],
            "typed": escape_optional(box.typed),
            "expanded": escape_optional(box.expanded) if box.expanded != box.typed else None,
            "columns": [[escape(name), escape(kind), escape_optional(comment)] for name, kind, comment in box.columns],
            "sources": [
                [places[source] for source in box.column_sources.get(name.lower(), ()) if source in places]
                for name, _, _ in box.columns
            ]
            if box.column_sources
            else [],
        }
        for box in picture.boxes.values()
    ]
    edges = [[numbers[edge.target], numbers[edge.view], edge.state.value] for edge in picture.arrows()]
    return {"title": escape(picture.title), "nodes": nodes, "edges": edges}
