"""The report of an import as one HTML file that opens from disk, with filters, a search and the difference of texts."""

from __future__ import annotations

from typing import Any

from hive_views.legacy_import.report.report import ImportReport, ReportEntry
from hive_views.rendering.escaping import escape
from hive_views.rendering.html_page import page, part

_PACKAGE = "hive_views.legacy_import.report"


def render_report_page(report: ImportReport, title: str) -> str:
    """Return a report as an HTML page."""
    return page(
        title,
        style=part(_PACKAGE, "page.css"),
        body=part(_PACKAGE, "page.html"),
        script=part(_PACKAGE, "page.js"),
        data=report_data(report, title),
    )


def report_data(report: ImportReport, title: str) -> dict[str, Any]:
    """Return the data for the page's script."""
    check_results = report.check_results or {}
    return {
        "title": escape(title),
        "seconds": round(report.seconds, 3),
        "writing": round(report.writing, 3),
        "cycles": [[escape(name) for name in cycle] for cycle in report.cycles],
        "views": [_view_data(view, check_results.get(view.entry.name)) for view in report.entries],
    }


def _view_data(view: ReportEntry, check_result: str | None) -> dict[str, Any]:
    entry, outcome = view.entry, view.outcome
    pieces = view.diff()
    return {
        "database": escape(entry.name.database),
        "name": escape(entry.name.name),
        "target": None if entry.in_place else escape(str(entry.target)),
        "status": view.status,
        "reason": None if outcome.reason is None else outcome.reason.value,
        "text": _text(outcome.text),
        "blocker": None if outcome.blocked_by is None else escape(str(outcome.blocked_by)),
        "writer": f"{entry.writer.value} as a materialized view" if entry.materialized else entry.writer.value,
        "dialect": escape(entry.dialect),
        "level": entry.level,
        "reads": [escape(str(name)) for name in entry.reads],
        "changes": [escape(change, lines=True) for change in entry.changes],
        "damages": [escape(item, lines=True) for item in outcome.damages],
        "rows": _text(check_result),
        # The difference holds both texts.
        "pieces": [[kind, escape(text, lines=True)] for kind, text in pieces],
        "old": None if pieces else _text(entry.old_text),
        "new": None if pieces or entry.new_text == entry.old_text else _text(entry.new_text),
        "same": entry.old_text is not None and entry.old_text == entry.new_text,
        "original": None if entry.old_original == entry.old_text else _text(entry.old_original),
        "seconds": round(outcome.seconds, 4),
        "writing": round(outcome.writing, 4),
        "file": _text(outcome.metadata_location),
        "backup": _text(outcome.backup),
    }


def _text(text: str | None) -> str | None:
    return None if text is None else escape(text, lines=True)
