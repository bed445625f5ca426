"""`hive-views doctor`: a diagnosis of the metastore."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.output import bar, print_grid, print_line, shown

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.doctor import DoctorReport, Finding

_SIGNS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red"), "skipped": ("-", "dim")}
_SIGN_WIDTH = 2
_CHECK_WIDTH = 18


def doctor(
    catalog: HiveViewCatalog,
    *,
    database: Annotated[str | None, typer.Option(metavar="DATABASE")] = None,
    no_write: bool = False,
    emit: Callable[[Finding], None] | None = None,
) -> DoctorReport:
    """Check what the metastore supports, what is wrong, and what to do about it.

    Creates and removes a temporary row and a temporary file, since servers report wrong versions. The exit code is 1 if
    there is a problem.

    Args:
        database: The database of the temporary row and file, whose views are examined. By default the row is created in
            the database default, and no views are examined.
        no_write: Create neither a row nor a file.
        emit: Called with each finding as soon as it is available.
    """
    from hive_views.doctor import examine

    return examine(catalog, database=database, write=not no_write, on_finding=emit, progress=bar)


def print_finding(finding: Finding) -> None:
    """Print a finding immediately."""
    from rich.table import Table
    from rich.text import Text

    sign, style = _SIGNS[finding.level.value]
    text = Text(shown(finding.message))
    if finding.subject:
        text = Text.assemble((shown(finding.subject), "cyan"), ": ", text)
    if finding.advice:
        text.append(f"\n-> {shown(finding.advice)}", style="italic")
    row = Table.grid(padding=0)
    row.add_column(width=_SIGN_WIDTH, style=style)
    row.add_column(width=_CHECK_WIDTH)
    row.add_column(overflow="fold")
    row.add_row(sign, finding.check, text)
    print_grid(row)
    sys.stdout.flush()


def has_problems(report: DoctorReport) -> bool:
    """Return whether something has to be done."""
    from hive_views.doctor.report import Level

    return report.level is Level.PROBLEM


def print_summary(report: DoctorReport) -> None:
    """Print the numbers of findings, which were printed before."""
    levels = [finding.level.value for finding in report.findings]
    print_line(
        f"{_count(levels, 'problem')}, {_count(levels, 'warning')}, {levels.count('ok')} ok",
        style=_SIGNS[report.level.value][1],
    )


def _count(levels: list[str], level: str) -> str:
    number = levels.count(level)
    return f"{number or 'no'} {level}{'' if number == 1 else 's'}"
