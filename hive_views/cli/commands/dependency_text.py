"""What the commands about dependencies show to people, and the commands put together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from hive_views.cli import text
from hive_views.cli.binding import bind
from hive_views.cli.commands import dependencies, partitions
from hive_views.cli.commands.dependency_values import (
    CheckReport,
    DependencyGraph,
    DependencyTrees,
    ImpactReport,
    RecompileReport,
    TreeNode,
)
from hive_views.cli.output import console, print_json, shown

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    "valid": "green",
    "outdated": "yellow",
    "drifted": "yellow",
    "invalid": "red",
    "missing": "red",
    "blocked": "red",
    "unknown": "magenta",
    "breaks": "red",
    "broken already": "red",
    "changes types": "yellow",
    "stays frozen": "yellow",
}

_NOTES = {"cycle": "(reads itself)", "repeated": "(see above)"}

_ASCII = str.maketrans("├└│─", "|`|-")


def register(app: typer.Typer, *, look: str, change: str) -> None:
    """Add the commands to the command line.

    Args:
        app: The application.
        look: The heading that `deps` stands under.
        change: The heading of the commands that change views.
    """
    group = typer.Typer(help="Show what views depend on, what a change would break, and how they stand.")
    bind(group, "tree", dependencies.show_tree, print_trees)
    bind(group, "graph", dependencies.show_graph, print_graph)
    bind(group, "impact", dependencies.tell_impact, print_impact, code=dependencies.impact_code)
    bind(group, "check", dependencies.check, print_check, code=dependencies.check_code)
    partitions.register(group)
    app.add_typer(group, name="deps", rich_help_panel=look)
    bind(app, "recompile", dependencies.recompile, print_recompiled, panel=change, code=dependencies.recompile_code)
    bind(app, "adopt", dependencies.adopt, text.print_written, panel=change)
    bind(
        app,
        "repair",
        dependencies.repair,
        text.print_written,
        panel=change,
        question=dependencies.question_before_repair,
    )


def print_trees(value: DependencyTrees) -> None:
    """One tree below the other, each with a heading where there are two."""
    out = console()
    headings = {"up": "Reads", "down": "Is read by"}
    for number, tree in enumerate(value.trees):
        if len(value.trees) > 1:
            out.print(f"{chr(10) if number else ''}{headings[tree.direction]}", style="bold")
        for line in tree.lines:
            _print_line(out, line)


def print_graph(value: DependencyGraph) -> None:
    """The picture as it is, or where it is."""
    if value.output is not None:
        cycles = f", {len(value.cycles)} cycles" if value.cycles else ""
        console().print(f"{value.output}: {len(value.nodes)} objects, {len(value.edges)} edges{cycles}", soft_wrap=True)
    elif value.picture is None:
        print_json(value)
    else:
        sys.stdout.write(value.picture if _has_lines() else value.picture.translate(_ASCII))


def print_impact(value: ImpactReport) -> None:
    """One line a view, and how many break."""
    out = console()
    for item in value.views:
        where = f" (line {item.line}:{item.column})" if item.line is not None else ""
        _print_state(out, item.view, item.effect, f"{item.reason}{where}")
    broken = sum(item.effect == "breaks" for item in value.views)
    change = "changed" if value.columns is not None else "dropped"
    out.print(f"{_count(broken, 'view')} of {len(value.views)} would break if {shown(value.name)} was {change}")


def print_check(value: CheckReport) -> None:
    """The problems of each view that has some, then how many views stand how."""
    out = console()
    for view in value.views:
        for problem in view.problems:
            where = f" (line {problem.line}:{problem.column})" if problem.line is not None else ""
            _print_state(out, view.view, problem.validity, f"{problem.reason}{where}")
    told = ", ".join(f"{count} {validity}" for validity, count in value.counts.items()) or "none"
    out.print(f"{_count(len(value.views), 'view')}: {told}")


def print_recompiled(value: RecompileReport) -> None:
    """One line a view."""
    out = console()
    for view in value.views:
        if view.error is not None:
            out.print(f"{shown(view.view)}: failed: {shown(view.error)}", style="red", soft_wrap=True)
            continue
        changes = [
            f"{sign} {', '.join(map(shown, columns))}"
            for sign, columns in (("+", view.added), ("-", view.removed), ("~", view.retyped))
            if columns
        ]
        out.print(
            f"{shown(view.view)}: {view.outcome}, version {view.version_id} is current"
            f"{''.join(f'; {change}' for change in changes)}",
            soft_wrap=True,
        )


def _print_line(out: Console, line: TreeNode) -> None:
    from rich.text import Text

    said = Text(line.branch if _has_lines() else line.branch.translate(_ASCII), style="dim")
    said.append(shown(line.name), style="not dim")
    style = f"not dim {_STYLES.get(line.standing, '')}"
    if line.kind != "missing":
        said.append(f"  {line.kind}")
    if line.note is not None:
        said.append(f"  {_NOTES[line.note]}")
    elif line.standing not in ("valid", "unchecked"):
        said.append(f"  {line.standing}", style=style)
        if line.reasons and line.standing != "missing":
            said.append(f": {shown(line.reasons[0])}", style="not dim")
    out.print(said, soft_wrap=True)


def _print_state(out: Console, view: str, state: str, reason: str) -> None:
    from rich.text import Text

    said = Text.assemble(shown(view), "  ", (state, _STYLES.get(state, "")))
    out.print(said.append(f": {shown(reason)}" if reason else ""), soft_wrap=True)


def _has_lines() -> bool:
    """Whether stdout can show the lines of a tree."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
