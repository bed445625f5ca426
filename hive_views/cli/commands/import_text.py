"""What the commands of an import show to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hive_views.cli.output import console, print_table, shown

if TYPE_CHECKING:
    from hive_views.cli.commands.legacy_import import ExportResult, ImportReport

_COLORS = {
    "ready": "green",
    "pending": "green",
    "converted": "green",
    "would-convert": "green",
    "reverted": "green",
    "refused": "red",
    "failed": "red",
    "unknown": "red",
    "blocked": "yellow",
    "reported": "cyan",
}


def print_report(value: ImportReport) -> None:
    """The views as a table, what will not be as it was, and the texts' differences in colors; then the sums."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table("view", "status", "target", "what", box=SIMPLE_HEAD if out.is_terminal else None, pad_edge=False)
    for view in value.views:
        status = Text(view["status"], style=_COLORS.get(view["status"], ""))
        target = view.get("target")
        what = view["text"] or "; ".join([*filter(None, [view.get("rows")]), *(view.get("changes") or ())])
        reason = f"{view['reason']}: " if view.get("reason") else ""
        table.add_row(
            shown(view["name"]), status, "" if target in (None, view["name"]) else shown(target), shown(reason + what)
        )
    print_table(table)
    for view in value.views:
        if view.get("difference"):
            _print_difference(view)
    counts = ", ".join(f"{count} {status}" for status, count in value.counts.items()) or "no legacy views"
    out.print(counts, soft_wrap=True)
    for cycle in value.cycles:
        out.print(f"cycle: {' -> '.join(map(shown, (*cycle, cycle[0])))}", soft_wrap=True)
    if value.seconds:
        share = value.writing / value.seconds
        out.print(f"{value.seconds:.1f} s, of which {share:.0%} were writes", soft_wrap=True)
    if value.differing:
        many = f"{len(value.differing)} views are" if len(value.differing) > 1 else "1 view is"
        out.print(
            f"{many} not as before to Spark: {', '.join(map(shown, value.differing))}. To have the legacy row back: "
            f"hive-views import revert --journal {shown(value.file)} --view NAME",
            style="red",
            soft_wrap=True,
        )
    if value.file is not None:
        out.print(f"see {shown(value.file)}", soft_wrap=True)


def _print_difference(view: dict[str, Any]) -> None:
    from rich.text import Text

    out = console()
    styles = {"=": "dim", "-": "red strike", "+": "green"}
    marks = {"-": ("[-", "-]"), "+": ("{+", "+}")}
    text = Text()
    for kind, piece in view["difference"]:
        before, after = ("", "") if out.is_terminal else marks.get(kind, ("", ""))
        text.append(before + shown(piece) + after, style=styles[kind])
    out.print(f"{shown(view['name'])}:", soft_wrap=True)
    out.print(text, soft_wrap=True)


def print_export(value: ExportResult) -> None:
    """The script, or where it was written; what could not be exported is in it as comments."""
    out = console()
    if value.file is None:
        out.print(shown(value.script), end="", soft_wrap=True)
        return
    bad = sum(view["statement"] is None for view in value.views)
    problems = f", {bad} could not be exported (see the comments)" if bad else ""
    out.print(f"{len(value.views) - bad} views written to {shown(value.file)}{problems}", soft_wrap=True)
