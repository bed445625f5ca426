"""`hive-views doctor`: what the metastore can do, what is wrong, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import console, print_table, shown

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.doctor import Finding, Report

_SIGNS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red"), "skipped": ("-", "dim")}
_SIGN_WIDTH = 2
_CHECK_WIDTH = 18


def doctor(
    catalog: HiveViewCatalog,
    *,
    database: Annotated[str | None, typer.Option(metavar="DATABASE")] = None,
    no_write: bool = False,
    tell: Callable[[Finding], None] | None = None,
) -> Report:
    """Find out what the metastore can do, what is wrong, and what to do about it.

    A temporary row and a temporary file are made, and removed again: servers cannot be known otherwise, since their
    version strings lie. The exit code is 1 if there is a problem.

    Args:
        catalog: The catalog to examine.
        database: Where the temporary row and file are made, and whose views are examined. By default the row is made in
            the database default, and no views are examined.
        no_write: Make neither a row nor a file.
        tell: Called with each finding as soon as it is made.

    Returns:
        All findings.

    Raises:
        InvalidIdentifierError: If `database` is no name of a database.
    """
    from hive_views.doctor import examine

    return examine(catalog, database=database, write=not no_write, tell=tell)


def exit_code(report: Report) -> ExitCode:
    """The exit code of an examination: 1 if there is a problem."""
    return ExitCode.FAILED if report.level.value == "problem" else ExitCode.OK


def print_finding(finding: Finding) -> None:
    """Show a finding to people, at once."""
    from rich.table import Table
    from rich.text import Text

    sign, style = _SIGNS[finding.level.value]
    said = Text(shown(finding.message))
    if finding.subject:
        said = Text.assemble((shown(finding.subject), "cyan"), ": ", said)
    if finding.advice:
        said.append(f"\n-> {shown(finding.advice)}", style="italic")
    row = Table.grid(padding=0)
    row.add_column(width=_SIGN_WIDTH, style=style)
    row.add_column(width=_CHECK_WIDTH)
    row.add_column(overflow="fold")
    row.add_row(sign, finding.check, said)
    print_table(row)
    sys.stdout.flush()


def print_summary(report: Report) -> None:
    """Count the findings; they themselves were shown when they were made."""
    levels = [finding.level.value for finding in report.findings]
    console().print(
        f"{_count(levels, 'problem')}, {_count(levels, 'warning')}, {levels.count('ok')} ok",
        style=_SIGNS[report.level.value][1],
    )


def _count(levels: list[str], level: str) -> str:
    number = levels.count(level)
    return f"{number or 'no'} {level}{'' if number == 1 else 's'}"
