"""`hive-views import plan|run|report|revert` and `hive-views export`: legacy views brought over, and back."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import bind
from hive_views.cli.commands.import_text import print_export, print_report
from hive_views.cli.connection import Connection
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.progress import bar
from hive_views.errors import JournalError, NoSuchViewError, PlanError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.options import MOST_CALLS, check_most_calls

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.legacy_import.plan import Plan
    from hive_views.legacy_import.report.report import Report

Databases = Annotated[list[str], typer.Argument(metavar="DATABASE...")]
Views = Annotated[list[str], typer.Option("--view", metavar="DATABASE.NAME")]
File = Annotated[str, typer.Argument(metavar="FILE")]
JournalFile = Annotated[str, typer.Option("--journal", "-j", metavar="FILE")]
ToCatalog = Annotated[str | None, typer.Option(metavar="NAME")]
ToUri = Annotated[str | None, typer.Option(metavar="URI")]
ToWarehouse = Annotated[str | None, typer.Option(metavar="DIR")]
Spark = Annotated[str | None, typer.Option(metavar="MASTER")]
MostCalls = Annotated[int, typer.Option(metavar="N")]

_MOST_CALLS = "--most-calls"


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
    spark: Spark = None,
    most_calls: MostCalls = MOST_CALLS,
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
        spark: Spread the work over the executors of this Spark, e.g. local[4], yarn; they need this package, too. Its
            analyzer is asked about each view that is ready and stays in this metastore: the plan tells what it says
            against a new text.
        most_calls: How many calls the metastore gets at once, at most.

    Returns:
        The plan.

    Raises:
        UsageError: If an option cannot be read, or no views are named, or the plan's file cannot be written.
        NoSuchNamespaceError: If a database does not exist, of the views or where they are to go.
        NoSuchViewError: If there is no legacy view of a name.
        ImportJobError: If Spark gives up.
    """
    from hive_views.legacy_import.options import TRINO_CATALOGS, ImportOptions, RenameRule
    from hive_views.legacy_import.plan import plan_import, write_plan
    from hive_views.legacy_import.report.report import report_plan

    check_most_calls(most_calls, _MOST_CALLS)
    if not databases and not view:
        raise UsageError("DATABASE", "name at least one database, or a view with --view")
    options = ImportOptions(
        renames=tuple(map(RenameRule.parse, rename)),
        to_database=to_database,
        mojibake=mangled,
        trino_catalogs=tuple(trino_catalog) or TRINO_CATALOGS,
        materialized=materialized,
    )
    if output is not None:
        _check_place(output, "--output")
    wanted = [name.lower() for name in databases]
    with _target(to_catalog, to_uri, to_warehouse) as target, bar("planning") as advance:
        if spark is None:
            plan = plan_import(
                catalog,
                databases=wanted,
                names=_names(view),
                options=options,
                to=target,
                most_calls=most_calls,
                progress=advance,
            )
        else:
            from hive_views.spark.legacy_import.command import plan_on_spark

            plan = plan_on_spark(
                catalog,
                databases=wanted,
                names=_names(view),
                options=options,
                to=target,
                master=spark,
                most_calls=most_calls,
                progress=advance,
                check_progress=lambda done, total: advance(done, total, "Spark's analyzer"),
            )
    named = {name for entry in plan.entries for name in (entry.name, *entry.reads)}
    for rule in options.renames:
        if all(rule.apply(name) is None for name in named):
            warnings.warn(f"--rename {rule} matches no view of the plan, and nothing that one reads", stacklevel=2)
    if output is not None:
        _write(output, write_plan(plan), "--output")
    return _report(report_plan(plan), output)


def run_views(
    catalog: HiveViewCatalog,
    plan: File,
    *,
    journal: Annotated[str | None, typer.Option("--journal", "-j", metavar="FILE")] = None,
    dry_run: bool = False,
    spark: Spark = None,
    most_calls: MostCalls = MOST_CALLS,
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
        most_calls: How many calls the metastore gets at once, at most.
        verify: `columns`, the default with --spark: ask Spark's analyzer for the columns of each view, before and
            after. `rows`: count its rows as well, and add up their checksums. `none`: ask nothing. What was before is
            kept beside the journal, for a run that goes on.
        to_catalog: As for plan.
        to_uri: As for plan.
        to_warehouse: As for plan.

    Returns:
        How each view ended. Exit code 1 where something is left to do, or a view has other rows than before.

    Raises:
        UsageError: If there is no such verification, or an option cannot be used.
        PlanError: If the file holds no plan, or one for another target.
        JournalError: If the journal is of another plan, or another run is writing it.
        ImportJobError: If Spark gives up. Run again.
    """
    from hive_views.legacy_import import run
    from hive_views.legacy_import.journal import read_journal
    from hive_views.legacy_import.report.report import Report, ReportEntry, report_run
    from hive_views.spark.legacy_import.verified_run import NONE, is_other_metastore, resolve_verify_mode

    check_most_calls(most_calls, _MOST_CALLS)
    place = Path(journal or f"{plan}.journal")
    doing, words = ("checking", "Interrupted. Nothing was written") if dry_run else ("importing", _goes_on(str(place)))
    with _target(to_catalog, to_uri, to_warehouse) as target, bar(doing) as advance, _interrupted(words):
        verify = resolve_verify_mode(
            verify,
            has_spark=spark is not None,
            is_other_metastore=is_other_metastore(catalog, target),
            catalog_name=(target or catalog).name,
        )
        read = _read_plan(plan)

        def told(done: int, total: int, _: object) -> None:
            advance(done, total)

        if dry_run:
            result = run.dry_run(read, catalog, to=target, progress=told)
            ends = {outcome.name: outcome for outcome in result.outcomes}
            lines = tuple(ReportEntry(entry, ends[entry.name]) for entry in read.entries)
            return _report(Report(lines, tuple(tuple(map(str, cycle)) for cycle in read.cycles)), None, result.complete)
        if spark is None and verify == NONE:
            result = run.run_plan(read, catalog, place, to=target, most_calls=most_calls, progress=told)
            return _report(report_run(read_journal(place)), str(place), result.complete)
        from hive_views.spark.legacy_import.command import run_on_spark

        result = run_on_spark(
            read,
            catalog,
            place,
            to=target,
            master=spark,
            most_calls=most_calls,
            verify=verify,
            progress=told,
            check_progress=lambda when, done, total: advance(done, total, f"Spark's check {when}"),
        )
    report = _report(report_run(read_journal(place)), str(place), result.complete and result.as_before)
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
        JournalError: If the file is neither, or cannot be read.
        NoSuchViewError: If it has no view of a name.
        UsageError: If the page cannot be written.
    """
    from hive_views.legacy_import.journal import is_journal, read_journal
    from hive_views.legacy_import.report.report import Report, read_check_results, report_plan, report_run

    if html is not None:
        _check_place(html, "--html")
    try:
        found = report_run(read_journal(Path(journal)))
    except JournalError as error:
        if not Path(journal).is_file() or is_journal(Path(journal)):
            raise
        try:
            found = report_plan(_read_plan(journal))
        except PlanError as other:
            raise JournalError(journal, f"it is neither a journal ({error.reason}) nor a plan ({other})") from None
    names = _names(view)
    for name in names:
        if all(line.entry.name != name for line in found.entries):
            raise NoSuchViewError(str(name), f"it is not in {journal}")
    if names:
        found = Report(tuple(line for line in found.entries if line.entry.name in names), found.cycles)
    said = read_check_results(Path(journal))
    if html is not None:
        from hive_views.legacy_import.report.page.page import render_report_page

        _write(html, render_report_page(found, Path(journal).name, check_results=said), "--html")
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
        UsageError: If neither a journal nor a view is named, or another target without a journal.
        JournalError: If the journal cannot be used.
        PlanError: If the run was for another target.
    """
    from hive_views.legacy_import import revert

    names = _names(view)
    if journal is None and not names:
        raise UsageError("--journal", "name the run's journal, or with --view the views to revert without it")
    if journal is None and (to_catalog or to_uri):
        raise UsageError("--journal", "what was made in another metastore is only reverted by the run's journal")
    words = f"Interrupted. Legacy rows that are back stay so; revert {journal or 'the views'} again, and it goes on"
    with _target(to_catalog, to_uri, to_warehouse) as target, bar("reverting") as advance, _interrupted(words):

        def told(done: int, total: int, _: object) -> None:
            advance(done, total)

        if journal is None:
            outcomes = revert.revert_views(catalog, names, force=force)
        else:
            outcomes = revert.revert_run(catalog, Path(journal), names=names, force=force, to=target, progress=told)
    bad = (revert.RevertStatus.REFUSED, revert.RevertStatus.FAILED)
    return ImportReport(
        counts=dict(sorted(Counter(item.status.value for item in outcomes).items())),
        reasons={},
        seconds=0.0,
        writing=0.0,
        cycles=(),
        views=tuple({"name": str(item.name), "status": item.status.value, "text": item.text} for item in outcomes),
        file=journal,
        complete=not any(item.status in bad for item in outcomes),
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
    from hive_views.legacy_import.export import export_rows, export_script, script_text

    if not databases and not view:
        raise UsageError("DATABASE", "name at least one database, or a view with --view")
    work = export_rows if in_place else export_script
    if output is not None:
        _check_place(output, "--output")
    found = work(catalog, [name.lower() for name in databases], [ViewName.parse(name) for name in view])
    script = script_text(found)
    if output is not None:
        _write(output, script, "--output")
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


# -- From here to there ------------------------------------------------------------------------------------------------


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
    from hive_views.legacy_import.journal import is_journal
    from hive_views.legacy_import.plan import read_plan

    if is_journal(Path(path)):
        raise PlanError(f"{path} is a journal of an import: name its plan here, and the journal with --journal")
    try:
        return read_plan(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, PlanError) as error:
        raise PlanError(f"{path}: {error}") from error


def _names(views: list[str]) -> list[ViewName]:
    """Names of legacy views as the user wrote them; a table of Hive 4 may have dots in its name."""
    return [ViewName.from_text(name.lower()) for name in views]


def _check_place(path: str, option: str) -> None:
    """Refuse a file that could not be written, before the work is done; and a journal, which holds the legacy rows."""
    from hive_views.legacy_import.journal import is_journal

    place = Path(path)
    if place.is_dir():
        raise UsageError(option, f"{path} is a directory; name a file")
    if not place.parent.is_dir():
        raise UsageError(option, f"{path} cannot be written: there is no directory {place.parent}")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise UsageError(option, f"{path} cannot be written: permission denied")
    if is_journal(place):
        raise UsageError(option, f"{path} is the journal of an import, which holds the legacy rows; name another file")


def _write(path: str, text: str, option: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(option, f"{path} cannot be written: {error.strerror or error}") from error


def _goes_on(journal: str) -> str:
    return f"Interrupted. What was done is noted in {journal}: run the same plan again, and it goes on there"


@contextlib.contextmanager
def _interrupted(words: str) -> Iterator[None]:
    """Say after Ctrl-C what the user can do now."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(words) from None


@contextlib.contextmanager
def _target(name: str | None, uri: str | None, warehouse: str | None) -> Iterator[HiveViewCatalog | None]:
    """The catalog that new views go to, where it is another one."""
    if name is not None and uri is not None:
        raise UsageError("--to-catalog", "it and --to-uri exclude each other: the new views go to one place")
    if name is None and uri is None:
        if warehouse is not None:
            raise UsageError("--to-warehouse", "it says of --to-uri or --to-catalog where its views are kept: add one")
        yield None
        return
    with contextlib.closing(Connection(name=name, uri=uri, warehouse=warehouse).catalog()) as catalog:
        yield catalog
