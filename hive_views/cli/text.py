"""What commands show to people. Nothing here is meant to be read by programs: they use `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hive_views.cli.output import console, print_table, shown
from hive_views.cli.values import (
    Column,
    Dropped,
    HistoryEntry,
    ViewDetails,
    ViewDiff,
    ViewHistory,
    ViewList,
    Written,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_INDENT = "  "


def print_list(value: ViewList) -> None:
    """One name a line, for people and for pipes."""
    out = console()
    for item in value.views:
        out.print(shown(item.view), soft_wrap=True)


def print_view(value: ViewDetails) -> None:
    """A page about a view."""
    out = console()
    version = value.version
    others = f"one of {len(value.version_ids)}" if len(value.version_ids) > 1 else "the only one"
    engine = f" by {version.engine}" if version.engine else ""
    which = "current" if version.current else f"not current: version {value.current_version_id} is"
    out.print(_heading(value.view), f"  version {version.version_id} ({which}; {others})", sep="", soft_wrap=True)
    _facts(
        out,
        {
            "Comment": value.comment,
            "Owner": value.owner,
            "Created": value.create_time,
            "This version": f"{version.time}  {version.operation}{engine}",
            "Names mean": ".".join((version.default_catalog or "(this catalog)", *version.default_namespace)),
            "UUID": value.uuid,
            "Location": value.location,
            "Metadata": value.metadata_location,
            "Before that": value.previous_metadata_location,
        },
    )
    _section(out, "Columns")
    print_table(_column_table(version.columns), _INDENT)
    _print_texts(out, value)
    _section(out, "Properties")
    for key, text in sorted(value.properties.items()):
        out.print(f"{_INDENT}{shown(key)} = {shown(text)}", soft_wrap=True)
    if not value.properties:
        out.print(f"{_INDENT}none", style="dim")
    _print_drift(out, value)
    _section(out, "History")
    print_table(_history_table(value.history), _INDENT)


def print_history(value: ViewHistory) -> None:
    """The version log, oldest first."""
    print_table(_history_table(value.entries))


def print_diff(value: ViewDiff) -> None:
    """Unified diffs of the texts, then the columns that differ."""
    out = console()
    old, new = value.old, value.new
    out.print(_heading(value.view), f"  version {old.version_id} -> {new.version_id}", sep="", soft_wrap=True)
    for label, one, other in (
        ("Default catalog", old.default_catalog, new.default_catalog),
        ("Default namespace", ".".join(old.default_namespace), ".".join(new.default_namespace)),
    ):
        if one != other:
            out.print(f"{label}: {shown(one) or '(none)'} -> {shown(other) or '(none)'}", soft_wrap=True)
    for text in value.texts:
        _section(out, f"Text: {shown(text.text)} ({text.change})")
        for line in shown(text.diff).split("\n") if text.diff else ():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            out.print(line, style="bold" if line.startswith(("+++", "---")) else style, soft_wrap=True)
    _section(out, "Columns" if value.columns else "Columns (same)")
    for column in value.columns:
        sign, style = {"added": ("+", "green"), "removed": ("-", "red")}.get(column.change, ("~", "yellow"))
        said = " -> ".join(_column_text(side) for side in (column.old, column.new) if side is not None)
        if column.change == "moved":
            said = f"{shown(column.name)} (moved)"
        out.print(f"{sign} {said}", style=style, soft_wrap=True)
    out.print("\nProperties have no versions and are not compared.", style="dim")


def print_written(value: Written) -> None:
    """One sentence on what was done."""
    out = console()
    before = f"{shown(value.renamed_from)} -> " if value.renamed_from else ""
    out.print(f"{before}{shown(value.view)}: {value.outcome}, version {value.version_id} is current", soft_wrap=True)


def print_dropped(value: Dropped) -> None:
    """One sentence on what was done to each view, and how to undo it."""
    out = console()
    for other in value.others:
        verb = value.outcome if value.outcome.startswith("would") else "dropped"
        hive = "" if other.kind == "view" else f" ({other.kind}: it cannot be brought back)"
        out.print(f"{shown(other.view)}: {verb}{hive}", soft_wrap=True)
    purged = ", its metadata files deleted" if value.purged else ""
    out.print(f"{shown(value.view)}: {value.outcome}{purged}", soft_wrap=True)
    if value.outcome.startswith("would"):
        left = [name for name in value.dependents if name not in {other.view for other in value.others}]
        if left:
            said = "These views depend on it" if value.outcome == "would be refused" else "Left dangling"
            out.print(f"{said}: {', '.join(map(shown, left))}", style="yellow", soft_wrap=True)
        return
    # What others read has to be there first.
    for name, location in (
        (value.view, value.metadata_location),
        *((o.view, o.metadata_location) for o in value.others[::-1]),
    ):
        if location:
            again = f"hive-views register {shown(name)} {shown(location)}"
            out.print(f"To bring it back: {again}", style="dim", soft_wrap=True)
    for other in value.others:
        if other.text is not None:
            out.print(f"The text of {shown(other.view)} was: {shown(other.text)}", style="dim", soft_wrap=True)


def _print_texts(out: Console, value: ViewDetails) -> None:
    """The author's text, what Hive runs, and what each dialect has; a text that was shown is not shown again."""
    version = value.version
    original = value.row.original_text if version.current else version.original_text
    expanded = value.row.expanded_text if version.current else version.expanded_text
    where = "in the metastore's row" if version.current else "of this version"
    seen: dict[str, str] = {}
    texts = [("Text as typed", f"viewOriginalText {where}", original)]
    texts.append(("Text for Hive and plain Spark", f"viewExpandedText {where}", expanded))
    for item in version.representations:
        made = "generated" if item.generated else "authored"
        title = f"Representation: {item.dialect or item.type}"
        texts.append((title, made if item.type == "sql" else "not SQL; kept as it is", item.sql))
    for title, remark, text in texts:
        _section(out, shown(title), shown(remark))
        if text is None:
            out.print(f"{_INDENT}none", style="dim")
        elif text in seen:
            out.print(f"{_INDENT}the same as: {seen[text]}", style="dim")
        else:
            seen[text] = title[0].lower() + title[1:]
            out.print(_sql(text), soft_wrap=True)


def _print_drift(out: Console, value: ViewDetails) -> None:
    if not value.drift:
        return
    _section(out, "Drift", "others changed the metastore's row; Iceberg readers follow the metadata file")
    for item in value.drift:
        for label, said in (("row ", item.row), ("file", item.file)):
            text = ", ".join(f"{name} {kind}" for name, kind in said) if isinstance(said, list) else said
            out.print(f"{_INDENT}{item.field}, {label}: {shown(text)}", style="yellow", soft_wrap=True)


def _heading(text: str) -> Text:
    from rich.text import Text

    return Text(shown(text), style="bold")


def _section(out: Console, title: str, remark: str = "") -> None:
    from rich.text import Text

    out.print()
    out.print(Text.assemble((title, "bold"), (f"  ({remark})" if remark else "", "dim")), soft_wrap=True)


def _facts(out: Console, facts: Mapping[str, str | None]) -> None:
    from rich.text import Text

    width = max(len(label) for label in facts)
    for label, text in facts.items():
        if text:
            out.print(Text.assemble((f"{_INDENT}{label:<{width}}  ", "dim"), shown(text)), soft_wrap=True)


def _sql(text: str) -> Text:
    from rich.syntax import Syntax
    from rich.text import Text

    colored = Syntax("", "sql", theme="ansi_dark", background_color="default").highlight(shown(text))
    colored.rstrip()
    return Text("\n").join(Text(_INDENT) + line for line in colored.split("\n", allow_blank=True))


def _column_table(columns: Iterable[Column]) -> Table:
    table = _table("#", "Name", "Type", "Comment")
    for number, column in enumerate(columns, start=1):
        kind = f"{column.type}{' not null' if column.required else ''}"
        table.add_row(str(number), shown(column.name), shown(kind), shown(column.comment))
    return table


def _history_table(entries: Iterable[HistoryEntry]) -> Table:
    table = _table("Version", "Made current", "By", "Engine", "")
    for entry in entries:
        state = "current" if entry.current else "expired" if entry.expired else ""
        table.add_row(
            str(entry.version_id), entry.time, shown(entry.operation), shown(entry.engine), state,
            style="bold" if entry.current else "",
        )  # fmt: skip
    return table


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _column_text(column: Column) -> str:
    comment = f" ({shown(column.comment)})" if column.comment else ""
    return f"{shown(column.name)} {shown(column.type)}{' not null' if column.required else ''}{comment}"
