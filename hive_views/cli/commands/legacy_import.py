"""`hive-views import plan|run|report|revert` and `hive-views export`: the import of legacy views, and the way back."""

from __future__ import annotations

import contextlib
import os
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.connection import ConnectionOptions, open_catalog
from hive_views.cli.output import bar, console, print_line, print_script, print_table, shown, write_file
from hive_views.errors import JournalError, NoSuchViewError, PlanError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.options import MOST_CALLS, READERS, check_most_calls
from hive_views.sql.analysis.outcomes import Outcome

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.legacy_import import ExportedView, ImportPlan, ImportReport, ReportEntry, RevertOutcome
    from hive_views.metastore.rows.row import Row

Databases = Annotated[list[str], typer.Argument(metavar="DATABASE...")]
Views = Annotated[list[str], typer.Option("--view", metavar="DATABASE.NAME")]
File = Annotated[str, typer.Argument(metavar="FILE")]
ToCatalog = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The catalog for the new views, hive or rest, from PyIceberg's configuration."),
]
ToUri = Annotated[str | None, typer.Option(metavar="URI", help="Another metastore for the new views.")]
ToWarehouse = Annotated[str | None, typer.Option(metavar="DIR", help="Its warehouse.")]
Spark = Annotated[str | None, typer.Option(metavar="MASTER")]
Patterns = Annotated[list[str], typer.Option(metavar="PATTERN")]
MostCalls = Annotated[int, typer.Option(metavar="N", help="Maximum number of concurrent metastore calls.")]

_MOST_CALLS = "--most-calls"
_COLORS = {
    "ready": "green",
    "converted": "green",
    "would-convert": "green",
    "reverted": "green",
    "refused": "red",
    "failed": "red",
    "unknown": "red",
    "blocked": "yellow",
    "reported": "cyan",
}


def register(app: typer.Typer, *, panel: str) -> typer.Typer:
    """Add the commands to the application, under a heading of its list of commands; return the group `import`."""
    group = typer.Typer(
        help="Import the legacy views of Hive, Spark and Trino: plan, run, report, revert.", no_args_is_help=True
    )
    bind(group, Command("plan", plan_views, print_plan))
    bind(group, Command("run", run_views, print_report, has_failed=lambda report: not report.complete))
    bind(group, Command("report", report_views, print_report))
    bind(
        group,
        Command(
            "revert",
            revert_views,
            print_revert,
            has_failed=lambda result: not result.complete,
            question=_revert_question,
        ),
    )
    app.add_typer(group, name="import", rich_help_panel=panel)
    bind(
        app,
        Command(
            "export",
            export_views,
            print_export,
            panel=panel,
            has_failed=lambda result: any(view.statement is None for view in result.views),
            question=_export_question,
        ),
    )
    return group


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
    trino_rows: Annotated[str, typer.Option(metavar="keep|release")] = "keep",
    accept_unreadable: Annotated[list[str], typer.Option(metavar="DATABASE.NAME")] = [],  # noqa: B006
    readers: Annotated[str, typer.Option(metavar="ENGINE,...")] = ",".join(READERS),
    strict: bool = False,
    to_catalog: ToCatalog = None,
    to_uri: ToUri = None,
    to_warehouse: ToWarehouse = None,
    spark: Spark = None,
    most_calls: MostCalls = MOST_CALLS,
    select: Patterns = [],  # noqa: B006
    exclude: Patterns = [],  # noqa: B006
    verbose: bool = False,
) -> PlannedImport:
    """Plan an import: which legacy views can become Iceberg views, in which order, and which cannot and why.

    Nothing is written except the plan's file. Prints a summary; --verbose and --json list every view.

    Args:
        databases: Databases whose legacy views are all planned.
        view: A further view; may be given several times.
        output: The file to write the plan to, for run.
        rename: A rule for new names of views, and of tables in their texts: old_*:new_* or db.*:other.*; the first that
            matches applies. May be given several times.
        to_database: Create the new views in this database, and leave the legacy ones unchanged.
        mangled: What to do with texts that look like UTF-8 damaged by a latin1 database.
        trino_catalog: A name of a Trino catalog on this metastore; may be given several times. Default: hive, iceberg,
            awsdatacatalog.
        materialized: What to do with materialized views of Hive and Trino: convert them, or list them and leave them
            unchanged.
        trino_rows: What to do with Trino's rows: keep Trino's encoding, which Trino goes on to read, or release them:
            replace it by the new texts, so that Trino reads them through its Hive connector.
        accept_unreadable: A table that Spark reads with other rows or not at all, such as a transactional table of
            Hive, whose views are nevertheless imported; or such a view. May be given several times.
        readers: The engines that are to read the new views: some of spark, hive and trino. The plan lists for each view
            why one of them does not, or may not, return the rows of the view's author.
        strict: Refuse views with such a finding, also if it is "not verified", and views that read them.
        spark: Run on the executors of this Spark master, e.g. local[4], yarn; they need this package. Its analyzer
            checks each ready view that stays in this metastore, and the plan lists its errors.
        select: Plan only views that match: a glob of databases (sales_*) or of views (sales.top_*), owner:NAME, or
            reason:REASON. May be given several times.
        exclude: Do not plan views that match; as for --select.
        verbose: List every view with the difference of its texts.
    """
    from hive_views.legacy_import import (
        ImportOptions,
        RenameRule,
        plan_import,
        report_plan,
        unchecked_promises,
        write_plan,
    )
    from hive_views.legacy_import.options import (
        TRINO_CATALOGS,
        MaterializedMode,
        MojibakeMode,
        TrinoRowMode,
        parse_mode,
    )
    from hive_views.legacy_import.plan import list_candidates, read_legacy_rows
    from hive_views.legacy_import.selection import ViewPattern, ViewSelection
    from hive_views.metastore.queries import warn_of_refused

    check_most_calls(most_calls, _MOST_CALLS)
    if not databases and not view:
        raise UsageError("DATABASE", "name at least one database, or a view with --view")
    options = ImportOptions(
        renames=tuple(map(RenameRule.parse, rename)),
        to_database=to_database,
        mojibake=parse_mode(MojibakeMode, mangled, "--mangled"),
        trino_catalogs=tuple(trino_catalog) or TRINO_CATALOGS,
        materialized=parse_mode(MaterializedMode, materialized, "--materialized"),
        trino_rows=parse_mode(TrinoRowMode, trino_rows, "--trino-rows"),
        accept_unreadable=tuple(parse_names(accept_unreadable)),
        readers=_parse_readers(readers),
        strict=strict,
    )
    if output is not None:
        _check_writable(output, "--output")
    selection = ViewSelection(
        tuple(ViewPattern.parse(text, "--select") for text in select),
        tuple(ViewPattern.parse(text, "--exclude") for text in exclude),
    )
    lower_databases, names = [name.lower() for name in databases], parse_names(view)
    rows: list[Row] = []
    if select or exclude:
        candidates = list_candidates(catalog, lower_databases, names, options, None)
        rows = list(read_legacy_rows(catalog, candidates, most_calls=most_calls, on_refused=warn_of_refused))
        missing = set(names) - {row.name for row in rows}  # the plan reports them
        lower_databases, names = [], [*selection.names(rows), *sorted(missing)]
    with open_target(to_catalog, to_uri, to_warehouse) as target, bar("planning") as advance:
        make_plan: Callable[..., ImportPlan] = partial(plan_import, catalog, to=target, most_calls=most_calls)
        if spark is not None:
            from hive_views.spark.legacy_import.command import ImportOnSpark

            on_spark = ImportOnSpark(
                catalog, to=check_metastore(target, "--spark"), master=spark, most_calls=most_calls
            )

            def report_checks(done: int, total: int) -> None:
                advance(done, total, "Spark's analyzer")

            make_plan = partial(on_spark.plan, check_progress=report_checks)
        plan = make_plan(databases=lower_databases, names=names, options=options, progress=advance)
    plan = selection.plan(plan)
    remarks = [f"--select {pattern.text} matches no legacy view" for pattern in selection.unmatched(rows) if rows]
    if rows and not plan.entries:
        patterns = " ".join((*(f"--select {text}" for text in select), *(f"--exclude {text}" for text in exclude)))
        what_happened = "nothing matched: {} selects none of" if select else "nothing is left: {} excludes all of the"
        remarks = [f"{what_happened.format(patterns)} {len(rows)} legacy views"]
    planned_names = {name for entry in plan.entries for name in (entry.name, *entry.reads)}
    for rule in options.renames:
        if all(rule.apply(name) is None for name in planned_names):
            warnings.warn(f"--rename {rule} matches no view of the plan, and nothing that one reads", stacklevel=2)
    if output is not None:
        write_file(output, write_plan(plan), "--output", is_private=True)
    unchecked = unchecked_promises(has_columns=spark is not None, has_rows=False)
    return PlannedImport(replace(report_plan(plan), file=output, unchecked=unchecked), verbose, tuple(remarks))


def _parse_readers(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reader.strip().lower() for reader in text.split(",")))


def run_views(
    catalog: HiveViewCatalog,
    plan: File,
    *,
    journal: Annotated[str | None, typer.Option("--journal", "-j", metavar="FILE")] = None,
    dry_run: bool = False,
    spark: Spark = None,
    most_calls: MostCalls = MOST_CALLS,
    verify: Annotated[str | None, typer.Option(metavar="columns|rows|none")] = None,
    readers: Annotated[str | None, typer.Option(metavar="ENGINE,...")] = None,
    strict: bool = False,
    to_catalog: ToCatalog = None,
    to_uri: ToUri = None,
    to_warehouse: ToWarehouse = None,
) -> ImportReport:
    """Run a plan: convert each ready view, after the views that it reads.

    A run that was killed is resumed by running it again. A view whose row changed since the plan is refused.

    Args:
        plan: The plan's file.
        journal: The file that records what is done, for report, revert and resuming. Default: the plan's name with
            .journal appended.
        dry_run: Check whether the plan can be run now, and write nothing.
        spark: Run on the executors of this Spark master, e.g. local[4], yarn; they need this package.
        verify: columns, the default with --spark, compares the columns of each view before and after with Spark's
            analyzer. rows compares the number of rows and their checksum as well. none compares nothing. Results from
            before the run are kept next to the journal, for a run that resumes.
        readers: The engines that are to read the new views, in place of those of the plan. The report has the reasons
            why one of them does not, or may not, return the rows of a view's author.
        strict: Refuse views with such a finding, also if it is "not verified", and views that read them.
    """
    from hive_views import legacy_import
    from hive_views.spark.legacy_import.verified_run import NONE, ROWS, is_other_metastore, resolve_verify_mode

    check_most_calls(most_calls, _MOST_CALLS)
    journal_path = Path(journal or f"{plan}.journal")
    activity, interrupted = "importing", f"Interrupted. Run the same plan again to resume it from {journal_path}"
    if dry_run:
        activity, interrupted = "checking", "Interrupted. Nothing was written"
    with open_target(to_catalog, to_uri, to_warehouse) as target, bar(activity) as advance, on_interrupt(interrupted):
        verify = resolve_verify_mode(
            verify,
            has_spark=spark is not None,
            is_other_metastore=is_other_metastore(catalog, target),
            catalog_name=(target or catalog).name,
        )
        import_plan = legacy_import.plan_for_readers(
            read_plan_file(plan),
            catalog,
            journal=journal_path,
            readers=None if readers is None else _parse_readers(readers),
            strict=strict,
            to=target,
            most_calls=most_calls,
        )

        def progress(done: int, total: int, _: object) -> None:
            advance(done, total)

        if dry_run:
            result = legacy_import.dry_run(import_plan, catalog, to=target, progress=progress)
            return replace(legacy_import.report_outcomes(import_plan, result.outcomes), complete=result.complete)
        if spark is None and verify == NONE:
            result = legacy_import.run_plan(
                import_plan, catalog, journal_path, to=target, most_calls=most_calls, progress=progress
            )
            report = legacy_import.report_run(legacy_import.read_journal(journal_path, with_rows=False))
            unchecked = legacy_import.unchecked_promises(has_columns=False, has_rows=False)
            return replace(report, file=str(journal_path), complete=result.complete, unchecked=unchecked)
        from hive_views.legacy_import.journal import ImportStatus
        from hive_views.spark.legacy_import.command import ImportOnSpark

        on_spark = ImportOnSpark(catalog, to=check_metastore(target, "--spark"), master=spark, most_calls=most_calls)
        checked_run = on_spark.run(
            import_plan,
            journal_path,
            verify=verify,
            progress=progress,
            check_progress=lambda when, done, total: advance(done, total, f"Spark's check {when}"),
        )
    return replace(
        legacy_import.report_run(legacy_import.read_journal(journal_path, with_rows=False)),
        file=str(journal_path),
        complete=checked_run.complete and checked_run.as_before,
        check_results={name: check.text for name, check in checked_run.checks.items()},
        unchecked=legacy_import.unchecked_promises(has_columns=verify != NONE, has_rows=verify == ROWS),
        differing=tuple(
            str(outcome.name)
            for outcome in checked_run.outcomes
            if outcome.name in checked_run.checks
            and not checked_run.checks[outcome.name].good
            and outcome.status is ImportStatus.CONVERTED  # and not restored
        ),
    )


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
        html: Write the report to this file as well, as one HTML page with filters and search that opens from disk.
    """
    from hive_views.legacy_import import read_check_results, read_journal, render_report_page, report_plan, report_run
    from hive_views.legacy_import.journal import is_journal

    if html is not None:
        _check_writable(html, "--html")
    path = Path(journal)
    try:
        report = report_run(read_journal(path, with_rows=False))
    except JournalError as journal_error:
        if not path.is_file() or is_journal(path):
            raise
        try:
            report = report_plan(read_plan_file(journal))
        except PlanError as plan_error:
            raise JournalError(
                journal, f"it is neither a journal ({journal_error.reason}) nor a plan ({plan_error})"
            ) from None
    names = parse_names(view)
    for name in names:
        if all(entry.name != name for entry in report.entries):
            raise NoSuchViewError(str(name), f"it is not in {journal}")
    if names:
        report = replace(report, entries=tuple(entry for entry in report.entries if entry.name in names))
    report = replace(report, file=html or journal, check_results=read_check_results(path))
    if html is not None:
        write_file(html, render_report_page(report, path.name), "--html")
    return report


def revert_views(
    catalog: HiveViewCatalog,
    *,
    journal: Annotated[str | None, typer.Option("--journal", "-j", metavar="FILE")] = None,
    view: Views = [],  # noqa: B006
    force: bool = False,
    to_catalog: ToCatalog = None,
    to_uri: ToUri = None,
    to_warehouse: ToWarehouse = None,
) -> RevertResult:
    """Revert an import: the legacy rows are restored byte for byte.

    Args:
        journal: The run's journal. Without it the rows are read from the files next to the views that --view names.
        view: Only these views; may be given several times.
        force: Discard changes that were made since the import; without it such a view is refused.
    """
    from hive_views import legacy_import

    names = parse_names(view)
    if journal is None and not names:
        raise UsageError("--journal", "name the run's journal, or with --view the views to revert without it")
    if journal is None and (to_catalog or to_uri):
        raise UsageError("--journal", "views in another metastore can only be reverted with the run's journal")
    interrupted = f"Interrupted. Views that are reverted stay so; revert {journal or 'the views'} again to resume"
    with (
        open_target(to_catalog, to_uri, to_warehouse) as target,
        bar("reverting") as advance,
        on_interrupt(interrupted),
    ):
        if journal is None:
            return RevertResult(legacy_import.revert_views(catalog, names, force=force), None)

        def progress(done: int, total: int, _: object) -> None:
            advance(done, total)

        outcomes = legacy_import.revert_run(
            catalog, Path(journal), names=names, force=force, to=target, progress=progress
        )
    return RevertResult(outcomes, journal)


def export_views(
    catalog: HiveViewCatalog,
    databases: Databases = [],  # noqa: B006
    *,
    view: Views = [],  # noqa: B006
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE")] = None,
    in_place: bool = False,
) -> ExportResult:
    """Export Iceberg views as a script of CREATE VIEW statements for Hive and Spark, each after those that it reads.

    With --in-place they become plain Hive views. Exits with 1 if a view could not be exported.

    Args:
        databases: Databases whose views are all exported.
        view: A further view; may be given several times.
        output: The file to write the script to. Default: standard output.
        in_place: Turn the views into plain Hive views in place. The metadata files are kept.
    """
    from hive_views.legacy_import import export_rows, export_script, script_text

    if not databases and not view:
        raise UsageError("DATABASE", "name at least one database, or a view with --view")
    if output is not None:
        _check_writable(output, "--output")
    export = export_rows if in_place else export_script
    exported = export(catalog, [name.lower() for name in databases], [ViewName.parse(name) for name in view])
    script = script_text(exported)
    if output is not None:
        write_file(output, script, "--output")
    return ExportResult(exported, script, output)


# -- Results -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedImport:
    """The result of `import plan`."""

    report: ImportReport
    """The plan's views."""
    is_verbose: bool
    """Whether the text lists every view."""
    remarks: tuple[str, ...] = ()
    """Sentences about patterns that match nothing, for people."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a report's JSON object."""
        return {**self.report.to_json(), "convertible": self.report.convertible}


@dataclass(frozen=True)
class RevertResult:
    """The result of `import revert`."""

    outcomes: tuple[RevertOutcome, ...]
    """The outcome of each view."""
    file: str | None
    """The journal."""

    @property
    def complete(self) -> bool:
        """Whether each view has its legacy row."""
        return all(outcome.status.is_restored for outcome in self.outcomes)

    @property
    def counts(self) -> dict[str, int]:
        """The number of views by status."""
        return dict(sorted(Counter(outcome.status.value for outcome in self.outcomes).items()))

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a report's JSON object."""
        return {
            "counts": self.counts,
            "reasons": {},
            "seconds": 0.0,
            "writing": 0.0,
            "cycles": [],
            "views": [
                {"name": str(outcome.name), "status": outcome.status.value, "text": outcome.text}
                for outcome in self.outcomes
            ],
            "file": self.file,
            "complete": self.complete,
            "differing": [],
            "unchecked": [],
        }


@dataclass(frozen=True)
class ExportResult:
    """The result of `export`."""

    views: tuple[ExportedView, ...]
    """Each view, in the order in which the statements have to be run."""
    script: str
    """The statements as one text."""
    file: str | None = None
    """The file that it was written to."""


def _revert_question(journal: str | None, view: list[str], force: bool, **_: object) -> str:
    """The question before an import is reverted; empty if the command reports that nothing is named."""
    if journal is None and not view:
        return ""
    views = ", ".join(view) if view else f"all views of {journal}"
    changes = ", and discard the changes that were made since the import" if force else ""
    return f"Revert the import of {views}{changes}?"


def _export_question(databases: list[str], view: list[str], in_place: bool, **_: object) -> str:
    """The question before views become Hive views; empty for a script."""
    if not in_place or not (databases or view):
        return ""
    names = ", ".join([*(f"all views of {database}" for database in databases), *view])
    return f"Turn {names} into plain Hive views? Their history and properties stay only in their metadata files."


_MAX_REASONS = 10


def print_plan(planned: PlannedImport) -> None:
    """Print a summary: how many views can be converted, the most frequent reasons with an example, and what to do."""
    report = planned.report
    for remark in planned.remarks:
        print_line(shown(remark), style="yellow")
    if planned.remarks and not report.entries:
        return
    if planned.is_verbose:
        print_report(report)
        return
    _print_counts(report.counts)
    if not report.entries:
        return
    reasons = list(report.reasons.items())
    if reasons:
        examples = ((count, reason, report.example(reason)) for reason, count in reasons[:_MAX_REASONS])
        print_table(
            ("views", "reason", "for example", ""),
            ((count, reason, item.name, _first_line(item.outcome.text or "")) for count, reason, item in examples),
        )
    changed = [entry for entry in report.entries if entry.outcome.reason is None and entry.entry.changes]
    if changed:
        text = f"{len(changed)} will differ, for example {changed[0].name}: {_first_line(changed[0].entry.changes[0])}"
        print_line(shown(text), style="yellow")
    for line in _engine_lines(report):
        print_line(shown(_first_line(line)), style="yellow")
    if len(reasons) > _MAX_REASONS:
        print_line(f"and {len(reasons) - _MAX_REASONS} more reasons")
    for cycle in report.cycles[:_MAX_REASONS]:
        print_line(f"cycle: {' -> '.join(map(shown, (*cycle, cycle[0])))}")
    print_line(_convertible(report), style="bold")
    _print_unchecked(report)
    steps = ["--verbose lists every view"]
    if reasons:
        steps.append(f"--select reason:{reasons[0][0]} --verbose lists those of a reason")
    if report.file is None:
        steps.append("--output FILE writes the plan for `hive-views import run FILE`")
    else:
        file = shlex.quote(shown(report.file))
        steps.append(f"`hive-views import run {file} --dry-run` checks it again")
        steps.append(f"`hive-views import report {file} --html PAGE` shows all texts")
    for step in steps:
        print_line(f"  {step}", style="dim")


def _convertible(report: ImportReport) -> str:
    """Return how many views are convertible, and how many of them a reader may not read as before."""
    text = f"{report.convertible:,} of {len(report.entries):,} convertible"
    limited = report.with_findings
    return f"{text}, {limited:,} of them with findings for {report.readers}" if limited else text


def _engine_lines(report: ImportReport) -> Iterator[str]:
    """Yield, for each engine, the numbers of convertible views that it may not read as before, with an example."""
    for engine, counts in report.engines.items():
        numbers = ", ".join(
            f"{counts[outcome.value]:,} {outcome.value}" for outcome in Outcome if outcome.value in counts
        )
        entries = (entry for entry in report.entries if entry.outcome.reason is None and entry.entry.problem is None)
        findings = ((entry, item) for entry in entries for item in entry.entry.engines)
        entry, finding = next(pair for pair in findings if pair[1].startswith(f"{engine}: "))
        yield f"{engine}: {numbers}, for example {entry.name}: {finding.partition(': ')[2]}"


def _print_unchecked(report: ImportReport) -> None:
    for sentence in report.unchecked if report.convertible else ():
        print_line(f"  not checked: {sentence}", style="dim")


def _first_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def print_report(report: ImportReport) -> None:
    """Print the views as a table, the differences of their texts in colors, and the sums."""
    check_results = report.check_results or {}
    _print_views(
        (
            entry.name,
            entry.status,
            entry.entry.target,
            entry.outcome.text
            or "; ".join(filter(None, [check_results.get(entry.name), *entry.entry.changes, *entry.entry.engines])),
            "" if entry.outcome.reason is None else f"{entry.outcome.reason.value}: ",
        )
        for entry in report.entries
    )
    for entry in report.entries:
        _print_diff(entry)
    _print_counts(report.counts)
    for line in _engine_lines(report):
        print_line(shown(_first_line(line)), style="yellow")
    for cycle in report.cycles:
        print_line(f"cycle: {' -> '.join(map(shown, (*cycle, cycle[0])))}")
    seconds, writing = round(report.seconds, 3), round(report.writing, 3)
    if seconds:
        print_line(f"{seconds:.1f} s, of which {writing / seconds:.0%} were writes")
    if report.differing:
        views = f"{len(report.differing)} views are" if len(report.differing) > 1 else "1 view is"
        print_line(
            f"{views} not as before to Spark: {', '.join(map(shown, report.differing))}. To restore the legacy row: "
            f"hive-views import revert --journal {shlex.quote(shown(report.file))} --view NAME",
            style="red",
        )
    _print_unchecked(report)
    if report.file is not None:
        print_line(f"see {report.file}")


def print_revert(result: RevertResult) -> None:
    """Print the views as a table, and the sums."""
    _print_views(
        (outcome.name, outcome.status.value, outcome.name, outcome.text or "", "") for outcome in result.outcomes
    )
    _print_counts(result.counts)
    if result.file is not None:
        print_line(f"see {result.file}")


def print_export(result: ExportResult) -> None:
    """Print the script, in which views that could not be exported are comments, or where it was written."""
    if result.file is None:
        print_script(result.script)
        return
    failed = sum(view.statement is None for view in result.views)
    problems = f", {failed} could not be exported (see the comments)" if failed else ""
    print_line(f"{len(result.views) - failed} views written to {result.file}{problems}")


def _print_views(views: Iterable[tuple[ViewName, str, ViewName, str, str]]) -> None:
    """Print a table of names, statuses, targets, texts and the reasons before the texts."""
    from rich.text import Text

    from hive_views.legacy_import.report.report import shown_status

    words = ((name, shown_status(status), target, reason + text) for name, status, target, text, reason in views)
    print_table(
        ("view", "status", "target", "what"),
        (
            (name, Text(word, style=_COLORS.get(word, "")), None if target == name else target, text)
            for name, word, target, text in words
        ),
    )


def _print_counts(counts: dict[str, int]) -> None:
    from hive_views.legacy_import.report.report import shown_status

    text = ", ".join(f"{count} {shown_status(status)}" for status, count in counts.items()) or "no legacy views"
    print_line(text)


def _print_diff(entry: ReportEntry) -> None:
    from rich.text import Text

    pieces = entry.diff()
    if not pieces:
        return
    out = console()
    styles = {"=": "dim", "-": "red strike", "+": "green"}
    marks = {"-": ("[-", "-]"), "+": ("{+", "+}")}
    text = Text()
    for kind, piece in pieces:
        before, after = ("", "") if out.is_terminal else marks.get(kind, ("", ""))
        text.append(before + shown(piece) + after, style=styles[kind])
    print_line(f"{entry.name}:")
    print_line(text)


# -- Arguments ---------------------------------------------------------------------------------------------------------


def read_plan_file(path: str) -> ImportPlan:
    """Read the file of a plan; raises PlanError."""
    from hive_views.legacy_import import read_plan
    from hive_views.legacy_import.journal import is_journal

    if is_journal(Path(path)):
        raise PlanError(f"{path} is a journal of an import: name its plan here, and the journal with --journal")
    try:
        return read_plan(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, PlanError) as error:
        raise PlanError(f"{path}: {error}") from error


def parse_names(views: list[str]) -> list[ViewName]:
    """Parse names of legacy views; a table name of Hive 4 may contain dots."""
    return [ViewName.from_text(name.lower()) for name in views]


def _check_writable(path: str, option: str) -> None:
    """Raise UsageError if a file cannot be written, or is a journal, which holds the legacy rows."""
    from hive_views.legacy_import.journal import is_journal

    file = Path(path)
    if file.is_dir():
        raise UsageError(option, f"{path} is a directory; name a file")
    if not file.parent.is_dir():
        raise UsageError(option, f"{path} cannot be written: there is no directory {file.parent}")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UsageError(option, f"{path} cannot be written: permission denied")
    if is_journal(file):
        raise UsageError(option, f"{path} is the journal of an import, which holds the legacy rows; name another file")


@contextlib.contextmanager
def on_interrupt(message: str) -> Iterator[None]:
    """Give Ctrl-C a message about what the user can do next."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(message) from None


@contextlib.contextmanager
def open_target(name: str | None, uri: str | None, warehouse: str | None) -> Iterator[Catalog | None]:
    """Open the catalog for new views if it is another one."""
    if name is not None and uri is not None:
        raise UsageError("--to-catalog", "it and --to-uri exclude each other; give one of them")
    if name is None and uri is None:
        if warehouse is not None:
            raise UsageError("--to-warehouse", "it needs --to-uri or --to-catalog; add one of them")
        yield None
        return
    target = (
        ConnectionOptions(uri=uri, warehouse=warehouse).catalog()
        if name is None
        else open_catalog(name, warehouse=warehouse)
    )
    with contextlib.closing(target) as catalog:
        yield catalog


def check_metastore(target: Catalog | None, option: str) -> HiveViewCatalog | None:
    """Return a target on a metastore; raise UsageError for a REST catalog, for which an option cannot be used."""
    from hive_views.catalog.catalog import HiveViewCatalog

    if target is not None and not isinstance(target, HiveViewCatalog):
        raise UsageError(option, f"{target.name} is a REST catalog, to which Spark cannot import; leave the option out")
    return target
