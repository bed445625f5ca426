"""`hive-views import compare`: the rows of legacy views and of the views that replaced them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.commands.legacy_import import (
    File,
    Spark,
    ToCatalog,
    ToUri,
    ToWarehouse,
    Views,
    on_interrupt,
    open_target,
    parse_names,
    read_plan_file,
)
from hive_views.cli.output import bar, print_line, print_table, shown
from hive_views.errors import NoSuchViewError, UsageError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.legacy_import.comparison.compare import ComparedView

_COLORS = {"equal": "green", "different": "red", "failed": "red", "unstable": "yellow", "skipped": "yellow"}


def register(group: typer.Typer) -> None:
    """Add the command to the group `import`."""
    bind(group, Command("compare", compare_views, print_compared, has_failed=lambda result: result.has_failed))


def compare_views(
    catalog: HiveViewCatalog,
    plan: File,
    *,
    journal: Annotated[str | None, typer.Option("--journal", "-j", metavar="FILE")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE")] = None,
    view: Views = [],  # noqa: B006 -- never changed
    hive: Annotated[str | None, typer.Option(metavar="URL")] = None,
    trino: Annotated[str | None, typer.Option(metavar="URL")] = None,
    spark: Spark = None,
    where: Annotated[str | None, typer.Option(metavar="PREDICATE")] = None,
    sample: Annotated[int | None, typer.Option(metavar="N")] = None,
    rows: Annotated[int, typer.Option(metavar="N")] = 5,
    to_catalog: ToCatalog = None,
    to_uri: ToUri = None,
    to_warehouse: ToWarehouse = None,
) -> ComparedImport:
    """Compare the rows of each legacy view, in its own engine, with those of the view that replaced it, in Spark.

    Both engines compute the numbers of rows and checksums of each column; rows are read only to show which differ. The
    text of a legacy view is that of its row before the import. An interrupted comparison is resumed by running it
    again.
    Exits with 1 if a view has other rows, or could not be compared because an engine failed.

    Args:
        plan: The plan's file.
        journal: The run's journal. Default: the plan's name with .journal appended.
        output: The file with the results, which a later comparison continues. Default: the journal's name with
            .compared appended.
        view: Only these views; may be given several times.
        hive: The HiveServer2 that runs the legacy views of Hive, such as hive2://USER@HOST:10000. Without it, they are
            skipped.
        trino: The Trino that runs the legacy views of Trino, such as trino://USER@HOST:8080. Without it, they are
            skipped.
        spark: The Spark master, e.g. local[4], yarn. Default: local[2].
        where: Compare only the rows for which this predicate on columns of the views is true, such as
            "ds = '2026-11-01'".
        sample: Compare one of N rows, chosen by their hashes.
        rows: Maximum number of differing rows of each side that are shown.
    """
    from hive_views.legacy_import.comparison.compare import CompareOptions, CompareRequest
    from hive_views.legacy_import.journal import read_journal
    from hive_views.spark.legacy_import.command import compare_with_spark

    for option, value, least in (("--sample", sample, 1), ("--rows", rows, 0)):
        if value is not None and value < least:
            raise UsageError(option, f"{value} is less than {least}")
    journal_path = Path(journal or f"{plan}.journal")
    file = Path(output or f"{journal_path}.compared")
    import_plan, names = read_plan_file(plan), parse_names(view)
    history = read_journal(journal_path)
    if history.plan != import_plan:
        raise UsageError("--journal", f"{journal_path} is the journal of another plan")
    for name in names:
        if name not in import_plan.by_name:
            raise NoSuchViewError(str(name), f"the plan {plan} does not have it")
    interrupted = f"Interrupted. Run the same command again to resume it from {file}"
    target_of = open_target(to_catalog, to_uri, to_warehouse)
    options = CompareOptions(where, sample, rows)
    request = CompareRequest(history=history, file=file, hive=hive, trino=trino, names=tuple(names), options=options)
    with target_of as target, bar("comparing") as advance, on_interrupt(interrupted):
        results = compare_with_spark(
            request,
            catalog,
            to=_check_hive(target),
            master=spark,
            progress=lambda done, total, _: advance(done, total),
        )
    return ComparedImport(results, str(file))


def _check_hive(target: Catalog | None) -> HiveViewCatalog | None:
    from hive_views.catalog.catalog import HiveViewCatalog

    if target is not None and not isinstance(target, HiveViewCatalog):
        raise UsageError("--to-catalog", f"{target.name} is a REST catalog, whose views are not compared")
    return target


@dataclass(frozen=True)
class ComparedImport:
    """The result of `import compare`."""

    views: tuple[ComparedView, ...]
    """The result of each view."""
    file: str
    """The file with the results."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of views by status."""
        return dict(sorted(Counter(view.status.value for view in self.views).items()))

    @property
    def has_failed(self) -> bool:
        """Whether a view has other rows, or an engine failed."""
        return bool({"different", "failed"} & self.counts.keys())

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"counts": self.counts, "views": [view.to_json() for view in self.views], "file": self.file}


def print_compared(result: ComparedImport) -> None:
    """Print the views that are not equal, their first differing rows, and the sums."""
    from rich.text import Text

    from hive_views.legacy_import.comparison.compare import CompareStatus

    others = [view for view in result.views if view.status is not CompareStatus.EQUAL]
    if others:
        print_table(
            ("view", "status", "what"),
            ((view.name, Text(view.status.value, style=_COLORS[view.status.value]), view.text) for view in others),
        )
    for view in others:
        for row in view.differences:
            values = ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in row.values.items())
            times = f" ({row.number} times)" if row.number > 1 else ""
            print_line(shown(f"{view.name}: only in the {row.only_in} view{times}: {values}"))
    print_line(", ".join(f"{count} {status}" for status, count in result.counts.items()) or "no views")
    print_line(f"see {result.file}")
