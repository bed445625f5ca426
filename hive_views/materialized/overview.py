"""All materialized views at once: their freshness, their last refresh and what they read, also as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape as escape_html

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Verdict
from hive_views.materialized.results import ListedView
from hive_views.rendering.escaping import escape
from hive_views.rendering.html_page import page

_CLASSES = {
    Verdict.FRESH: "good",
    Verdict.WITHIN_GRACE: "good",
    Verdict.STALE: "bad",
    Verdict.UNKNOWN: "unknown",
}
_STYLE = """
body { padding: 1.5em; }
table { border-collapse: collapse; margin-top: 1.5em; }
th, td { text-align: left; vertical-align: top; padding: .3em .8em; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); } .unknown { color: var(--unknown); }
svg text { font: 12px var(--mono); fill: currentColor; }
svg rect { fill: var(--raised); stroke: currentColor; }
svg line { stroke: var(--faint); }
"""
_HEADINGS = (
    "view",
    "freshness",
    "reason",
    "refreshed by",
    "seconds",
    "rows",
    "written",
    "bytes",
    "target lag",
    "reads",
)


def overview_page(statuses: Sequence[ListedView]) -> str:
    """Return an HTML page with a graph and a table of materialized views, which opens from disk."""
    rows = "\n".join(map(_table_row, statuses))
    headings = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
    body = f"<h1>Materialized views</h1>\n{_graph(statuses)}\n<table>\n<tr>{headings}</tr>\n{rows}\n</table>"
    return page("Materialized views", style=_STYLE, body=body, script="", data={})


def _shown(value: object) -> str:
    return "" if value is None else escape_html(escape(str(value)))


def _table_row(status: ListedView) -> str:
    last = status.last
    numbers = (None,) * 4 if last is None else (last.seconds, last.rows, last.written, last.bytes)
    failed = () if status.failure is None else (f"the last refresh failed: {status.failure.error}",)
    verdict = f'<td class="{_CLASSES[status.freshness.verdict]}">{status.freshness.verdict.value}</td>'
    cells = [
        f"<td>{_shown(status.name)}</td>",
        verdict,
        f"<td>{_shown('; '.join((*map(str, status.freshness.reasons), *failed)))}</td>",
        f"<td>{_shown(None if last is None else last.action)}</td>",
        *(f'<td class="number">{_shown(number)}</td>' for number in numbers),
        f"<td>{_shown(status.target_lag)}</td>",
        f"<td>{_shown(', '.join(map(str, status.reads)))}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 240, 26, 60, 12


def _graph(statuses: Sequence[ListedView]) -> str:
    """Return the materialized views that read each other, from left to right; empty if none does."""
    reads = {status.name: status.reads for status in statuses}
    related = {name for items in reads.values() for name in items} | {name for name, items in reads.items() if items}
    shown = [status for status in statuses if status.name in related]
    if not shown:
        return ""
    levels: dict[ViewName, int] = {}
    for name in sorted(related, key=lambda name: len(reads.get(name, ()))):  # a view reads more than its sources do
        levels[name] = max((levels.get(source, 0) + 1 for source in reads.get(name, ())), default=0)
    places: dict[ViewName, tuple[int, int]] = {}
    used: dict[int, int] = {}
    for status in shown:
        level = levels[status.name]
        places[status.name] = (level * (_WIDTH + _GAP_X), used.get(level, 0) * (_HEIGHT + _GAP_Y))
        used[level] = used.get(level, 0) + 1
    lines = [
        f'<line x1="{places[source][0] + _WIDTH}" y1="{places[source][1] + _HEIGHT // 2}" '
        f'x2="{places[status.name][0]}" y2="{places[status.name][1] + _HEIGHT // 2}"/>'
        for status in shown
        for source in _direct(status.name, reads)
        if source in places
    ]
    boxes = [
        f'<g class="{_CLASSES[status.freshness.verdict]}"><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'rx="4"/><text x="{x + 8}" y="{y + 17}">{_shown(_shortened(str(status.name)))}</text></g>'
        for status in shown
        for x, y in (places[status.name],)
    ]
    width = (max(levels.values()) + 1) * (_WIDTH + _GAP_X)
    height = max(used.values()) * (_HEIGHT + _GAP_Y)
    return f'<svg width="{width}" height="{height}" role="img">{"".join([*lines, *boxes])}</svg>'


def _direct(name: ViewName, reads: Mapping[ViewName, Sequence[ViewName]]) -> list[ViewName]:
    """Return the views that one reads and none of the others that it reads does."""
    sources = reads.get(name, ())
    return [source for source in sources if not any(source in reads.get(other, ()) for other in sources)]


def _shortened(text: str) -> str:
    return text if len(text) <= 32 else f"…{text[-31:]}"
