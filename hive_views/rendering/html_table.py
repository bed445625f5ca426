"""Tables for notebooks: what `_repr_html_` of results returns."""

from __future__ import annotations

import html
from collections.abc import Iterable

from hive_views.rendering.escaping import escape


def html_table(caption: str, rows: Iterable[Iterable[object]], header: Iterable[str] = ()) -> str:
    """Return a table; without a header, the first cell of each row is its heading. None is an empty cell."""
    names = tuple(header)
    parts = [f"<table>\n<caption>{_text(caption)}</caption>\n"]
    if names:
        parts.append(f"<tr>{''.join(f'<th>{_text(name)}</th>' for name in names)}</tr>\n")
    for row in rows:
        cells = [_text(cell) for cell in row]
        tags = ["td"] * len(cells) if names else ["th", *["td"] * (len(cells) - 1)]
        content = "".join(
            f'<{tag} style="text-align: left; white-space: pre-wrap">{cell}</{tag}>'
            for tag, cell in zip(tags, cells, strict=True)
        )
        parts.append(f"<tr>{content}</tr>\n")
    return "".join([*parts, "</table>"])


def _text(value: object) -> str:
    return "" if value is None else html.escape(escape(str(value), lines=True))
