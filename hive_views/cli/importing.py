"""`hive-views import plan|run|report|revert` and `hive-views export`: legacy views brought over, and back."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import bind
from hive_views.cli.connection import Connection
from hive_views.cli.exits import ExitCode
from hive_views.cli.output import console, print_table, shown
from hive_views.errors import PlanError, UsageError
from hive_views.identifiers import ViewName

if TYPE_CHECKING:
    from hive_views.catalog import HiveViewCatalog
    from hive_views.legacy.plan import Plan
    from hive_views.legacy.report import Report

Databases = Annotated[list[str], typer.Argument(metavar="DATABASE...")]
Views = Annotated[list[str], typer.Option("--view", metavar="DATABASE.NAME")]
File = Annotated[str, typer.Argument(metavar="FILE")]
JournalFile = Annotated[str, typer.Option("--journal", "-j", metavar="FILE")]
ToCatalog = Annotated[str | None, typer.Option(metavar="NAME")]
ToUri = Annotated[str | None, typer.Option(metavar="URI")]
ToWarehouse = Annotated[str | None, typer.Option(metavar="DIR")]


@dataclass(frozen=True)
class ImportReport:
    """What `import plan`, `run`, `report` and `revert` return."""

    counts: dict[str, int]
    """How many views stand in which way."""
    reasons: dict[str, int]
    """How many views were not converted for which reason."""
    seconds: float
    """How long the views took together, and"""
    writing: float
    """how much of that were writes of metastore and storage."""
    cycles: tuple[tuple[str, ...], ...]
    """Views that read each other."""
    views: tuple[dict[str, Any], ...]
    """Each view: `name`, `target`, `status`, `reason`, `text`, `blocked_by`, `changes`, `old_text`, `new_text`,
    `difference`, `seconds` and so on."""
    file: str | None = None
    """The file that was written: the plan's, or the journal."""
    complete: bool = True
    """Whether nothing is left to do, and no view is other than before."""
    differing: tuple[str, ...] = ()
    """Views that Spark read before and cannot read now, or that have other columns or rows."""


@dataclass(frozen=True)
class ExportResult:
    """What `export` returns."""

    views: tuple[dict[str, str | None], ...]
    """Each view, in the order in which the statements have to be run: `name`, `statement`, `problem` and
    `metadata_location`."""
    script: str
    """The statements as one text."""
    file: str | None = None
    """The file that it was written to."""


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the command line.

    Args:
        app: The application.
        panel: The heading of the list of commands that they stand under.
    """
    group = typer.Typer(
        help="Bring the legacy views of Hive, Spark and Trino over: plan, run, report, revert.", no_args_is_help=True
    )
    bind(group, "plan", plan_views, print_report)
    bind(group, "run", run_views, print_report, code=_code)
    bind(group, "report", report_views, print_report)
    bind(group, "revert", revert_views, print_report, code=_code)
    app.add_typer(group, name="import", rich_help_panel=panel)
    bind(app, "export", export_views, print_export, panel=panel)


def plan_views(
    catalog: HiveViewCatalog,
    databases: Databases = [],  # noqa: B006 -- never changed
    *,
    view: Views = [],  # noqa: B006
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE")] = None,
    rename: Annotated[list[str], typer.Option(metavar="OLD:NEW")] = [],  # noqa: B006
    to_database: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    mangled: Annotated[str, typer.Option(metavar="refuse|repair|keep")] = "refuse",
    trino_catalog: Annotated[list[str], typer.Option(metavar="NAME")] = [],  # noqa: B006
    materialized: Annotated[str, typer.Option(metavar="convert|report")] = "convert",
    to_catalog: ToCatalog = None,
    to_uri: ToUri = None,
    to_warehouse: ToWarehouse = None,
) -> ImportReport:
    """Plan an import: which legacy views can become Iceberg views, in which order, and which cannot and why.

    Nothing is written but the plan's file.

    Args:
        catalog: Where the views are.
        databases: Their databases.
        view: A view, besides those of the databases; may be given several times.
        output: Where to write the plan, for run.
        rename: New names for views, and for tables in their texts: old_*:new_* or db.*:other.*; the first that matches
            counts. May be given several times.
        to_database: Make the new views there, and leave the legacy ones as they are.
        mangled: What to do with texts that a latin1 database seems to have damaged.
        trino_catalog: A name that Trino gives to a catalog on this metastore; may be given several times. Default:
            hive, iceberg, awsdatacatalog.
        materialized: What to do with materialized views of Hive and Trino: make them ours, or leave them as they are.
        to_catalog: A catalog of PyIceberg's configuration, where the new views go.
        to_uri: Another metastore, where the new views go.
        to_warehouse: Its warehouse.

    Returns:
        The plan.

    Raises:
        UsageError: If an option cannot be read, or no views are named.
        NoSuchNamespaceError: If a database does not exist.
    """
    from hive_views.legacy.options import TRINO_CATALOGS, Options, Rule
    from hive_views.legacy.plan import write_plan
    from hive_views.legacy.planning import plan_import
    from hive_views.legacy.report import report_of_plan

    if not databases and not view:
        raise UsageError("DATABASE", "name at least one database, or a view with --view")
    options = Options(
        renames=tuple(map(Rule.parse, rename)),
        to_database=to_database,
        mangled=mangled,
        trino_catalogs=tuple(trino_catalog) or TRINO_CATALOGS,
        materialized=materialized,
    )
    with _target(to_catalog, to_uri, to_warehouse) as target, _bar("planning") as advance:
        plan = plan_import(
            catalog,
            databases=[name.lower() for name in databases],
            names=[ViewName.parse(name) for name in view],
            options=options,
            to=target,
            progress=advance,
        )
    if output is not None:
        _write(output, write_plan(plan))
    return _report(report_of_plan(plan), output)


def run_views(
    catalog: HiveViewCatalog,
    plan: File,
    *,
    journal: Annotated[str | None, typer.Option("--journal", "-j", metavar="FILE")] = None,
    dry_run: bool = False,
    spark: Annotated[str | None, typer.Option(metavar="MASTER")] = None,
    most_calls: Annotated[int, typer.Option(metavar="N")] = 8,
    verify: Annotated[str | None, typer.Option(metavar="columns|rows|none")] = None,
    to_catalog: ToCatalog = None,
    to_uri: ToUri = None,
    to_warehouse: ToWarehouse = None,
) -> ImportReport:
    """Run a plan: convert each view that is ready, behind those that it reads.

    Killed at any moment and run again it goes on where it was. A view whose row changed since the plan is refused.

    Args:
        catalog: Where the views are.
        plan: The plan's file.
        journal: Where to note what is done, for report, revert and running again. Default: the plan's name with
            .journal at its end.
        dry_run: Look whether it can be done now, and write nothing.
        spark: Spread the work over the executors of this Spark, e.g. local[4], yarn; they need this package, too.
        most_calls: With --spark: how many calls the metastore gets at once, at most.
        verify: `columns`, the default with --spark: ask Spark's analyzer for the columns of each view, before and
            after. `rows`: count its rows as well, and add up their checksums. `none`: ask nothing. What was before is
            kept beside the journal, for a run that goes on.
        to_catalog: As for plan.
        to_uri: As for plan.
        to_warehouse: As for plan.

    Returns:
        How each view ended. Exit code 1 where something is left to do, or a view has other rows than before.

    Raises:
        UsageError: If there is no such verification.
        PlanError: If the file holds no plan, or one for another target.
        JournalError: If the journal is of another plan, or another run is writing it.
        ImportJobError: If Spark gives up. Run again.
    """
    from hive_views.legacy import run
    from hive_views.legacy.journal import read_journal
    from hive_views.legacy.report import Line, Report, report_of
    from hive_views.spark.import_verified import NONE, is_elsewhere, verification

    place = Path(journal or f"{plan}.journal")
    with _target(to_catalog, to_uri, to_warehouse) as target, _bar("checking" if dry_run else "importing") as advance:
        elsewhere = is_elsewhere(catalog, target)
        verify = verification(verify, spark=spark is not None, elsewhere=elsewhere, catalog=(target or catalog).name)
        read = _read_plan(plan)

        def told(done: int, total: int, _: object) -> None:
            advance(done, total)

        if dry_run:
            result = run.dry_run(read, catalog, to=target, progress=told)
            ends = {outcome.name: outcome for outcome in result.outcomes}
            lines = tuple(Line(entry, ends[entry.name]) for entry in read.entries)
            return _report(Report(lines, tuple(tuple(map(str, cycle)) for cycle in read.cycles)), None, result.complete)
        if spark is None and verify == NONE:
            result = run.run_plan(read, catalog, place, to=target, progress=told)
            return _report(report_of(read_journal(place)), str(place), result.complete)
        from hive_views.spark.import_command import run_on_spark

        result = run_on_spark(
            read,
            catalog,
            place,
            to=target,
            master=spark,
            most_calls=most_calls,
            verify=verify,
            progress=told,
            told=lambda when, done, total: advance(done, total, f"Spark's check {when}"),
        )
    report = _report(report_of(read_journal(place)), str(place), result.complete and result.as_before)
    differing = tuple(str(name) for name, verdict in result.checks.items() if not verdict.good)
    report = _with_rows(report, {name: verdict.text for name, verdict in result.checks.items()})
    return replace(report, differing=differing)


def report_views(
    journal: File,
    *,
    view: Views = [],  # noqa: B006
    html: Annotated[str | None, typer.Option(metavar="FILE")] = None,
) -> ImportReport:
    """Report on an import: per view its status, the reason, the old and the new text and their difference, and timings.

    Args:
        journal: The run's journal, or a plan's file.
        view: Only these views; may be given several times.
        html: Write it there as well, as one HTML page with filters and search that opens from disk.

    Returns:
        The report.

    Raises:
        JournalError: If the file is neither.
    """
    from hive_views.errors import JournalError
    from hive_views.legacy.journal import read_journal
    from hive_views.legacy.report import Report, report_of, report_of_plan
    from hive_views.legacy.rows_said import rows_said

    try:
        found = report_of(read_journal(Path(journal)))
    except JournalError:
        try:
            found = report_of_plan(_read_plan(journal))
        except PlanError:
            raise JournalError(journal, "it is neither a journal nor a plan") from None
    names = {ViewName.parse(name) for name in view}
    if names:
        found = Report(tuple(line for line in found.lines if line.entry.name in names), found.cycles)
    said = rows_said(Path(journal))
    if html is not None:
        from hive_views.legacy.report_page.page import html as page

        _write(html, page(found, Path(journal).name, rows=said))
    return _with_rows(_report(found, html or journal), said)


def revert_views(
    catalog: HiveViewCatalog,
    *,
    journal: Annotated[str | None, typer.Option("--journal", "-j", metavar="FILE")] = None,
    view: Views = [],  # noqa: B006
    force: bool = False,
    to_catalog: ToCatalog = None,
    to_uri: ToUri = None,
    to_warehouse: ToWarehouse = None,
) -> ImportReport:
    """Revert an import: the legacy rows stand again as they stood, to the byte.

    Args:
        catalog: Where the views are.
        journal: The run's journal. Without it the rows are taken from the files next to the views that --view names.
        view: Only these views; may be given several times.
        force: Lose changes that were made since the import; without it such a view is refused.
        to_catalog: As for plan.
        to_uri: As for plan.
        to_warehouse: As for plan.

    Returns:
        What became of each view. Exit code 1 where one was not reverted.

    Raises:
        UsageError: If neither a journal nor a view is named.
        JournalError: If the journal cannot be used.
        PlanError: If the run was for another target.
    """
    from hive_views.legacy import revert

    names = [ViewName.parse(name) for name in view]
    if journal is None and not names:
        raise UsageError("--journal", "name the run's journal, or with --view the views to revert without it")
    with _target(to_catalog, to_uri, to_warehouse) as target, _bar("reverting") as advance:

        def told(done: int, total: int, _: object) -> None:
            advance(done, total)

        if journal is None:
            outcomes = revert.revert_views(catalog, names, force=force)
        else:
            outcomes = revert.revert_run(catalog, Path(journal), names=names, force=force, to=target, progress=told)
    bad = (revert.Reverted.REFUSED, revert.Reverted.FAILED)
    return ImportReport(
        counts=dict(sorted(Counter(item.result.value for item in outcomes).items())),
        reasons={},
        seconds=0.0,
        writing=0.0,
        cycles=(),
        views=tuple({"name": str(item.name), "status": item.result.value, "text": item.text} for item in outcomes),
        file=journal,
        complete=not any(item.result in bad for item in outcomes),
    )


def export_views(
    catalog: HiveViewCatalog,
    databases: Databases = [],  # noqa: B006
    *,
    view: Views = [],  # noqa: B006
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE")] = None,
    in_place: bool = False,
) -> ExportResult:
    """Export Iceberg views as a script of CREATE VIEW statements for Hive and Spark, each behind those that it reads.

    With --in-place they become plain Hive views where they stand.

    Args:
        catalog: Where the views are.
        databases: Their databases.
        view: A view, besides those of the databases; may be given several times.
        output: Where to write the script. Default: standard output.
        in_place: Turn the views into plain Hive views where they stand. The metadata files stay.

    Returns:
        The script.

    Raises:
        UsageError: If no views are named.
        NoSuchNamespaceError: If a database does not exist.
    """
    from hive_views.legacy.export import export_rows, export_script, script_text

    if not databases and not view:
        raise UsageError("DATABASE", "name at least one database, or a view with --view")
    work = export_rows if in_place else export_script
    found = work(catalog, [name.lower() for name in databases], [ViewName.parse(name) for name in view])
    script = script_text(found)
    if output is not None:
        _write(output, script)
    return ExportResult(
        tuple(
            {
                "name": str(item.name),
                "statement": item.statement,
                "problem": item.problem,
                "metadata_location": item.metadata_location,
            }
            for item in found
        ),
        script,
        output,
    )


# -- For people -------------------------------------------------------------------------------------------------------

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


def _report(report: Report, file: str | None, complete: bool = True) -> ImportReport:
    document = report.to_json()
    return ImportReport(
        counts=document["counts"],
        reasons=document["reasons"],
        seconds=document["seconds"],
        writing=document["writing"],
        cycles=report.cycles,
        views=tuple(document["views"]),
        file=file,
        complete=complete,
    )


def _with_rows(report: ImportReport, said: Mapping[ViewName, str]) -> ImportReport:
    """The report with what Spark's check said of each view; `rows` is None where it said nothing."""
    by_name = {str(name): text for name, text in said.items()}
    return replace(report, views=tuple({**view, "rows": by_name.get(view["name"])} for view in report.views))


def _code(value: ImportReport) -> ExitCode:
    return ExitCode.OK if value.complete else ExitCode.FAILED


def _read_plan(path: str) -> Plan:
    from hive_views.legacy.plan import read_plan

    try:
        return read_plan(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: {error}") from error


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("--output", str(error)) from error


@contextlib.contextmanager
def _target(name: str | None, uri: str | None, warehouse: str | None) -> Iterator[HiveViewCatalog | None]:
    """The catalog that new views go to, where it is another one."""
    if name is None and uri is None:
        yield None
        return
    with contextlib.closing(Connection(name=name, uri=uri, warehouse=warehouse).catalog()) as catalog:
        yield catalog


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[..., None]]:
    """A bar with rate and time left on stderr, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total, now=None: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:.1f}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        shown_now = what

        def advance(done: int, total: int, now: str = what) -> None:
            nonlocal task, shown_now
            if now != shown_now:
                # Another sort of work has a rate of its own.
                progress.remove_task(task)
                task, shown_now = progress.add_task(now, total=None), now
            progress.update(task, completed=done, total=total)

        yield advance
