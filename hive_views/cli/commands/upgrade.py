"""`hive-views upgrade`: upgrades of metastore databases for views. They need no running metastore."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.output import print_line, print_script, shown, write_file
from hive_views.errors import InvalidPlanError, UsageError

if TYPE_CHECKING:
    from hive_views.schema_upgrade import Address, Applied, RolledBack, Schema, Session, UpgradePlan, Verification
    from hive_views.schema_upgrade.hive_scripts import EarlyObject
    from hive_views.schema_upgrade.row_changes import Doubt, Progress
    from hive_views.schema_upgrade.schema import Column

_URL = {
    "metavar": "URL",
    "envvar": "HIVE_VIEWS_UPGRADE_URL",
    "help": "The database: mysql://host/db, postgresql://host/db, derby:/directory, or the JDBC URL of hive-site.xml.",
}
_USER = {"metavar": "NAME", "envvar": "HIVE_VIEWS_UPGRADE_USER", "help": "The database user."}
_PASSWORD = "A file with the password. Without it: HIVE_VIEWS_UPGRADE_PASSWORD, or a prompt."
_SCHEMA = "The schema in the database, if it is not the default schema of the user."
_TARGET = "The Hive version whose views must be supported, e.g. 4.0.1. The default is the version of the schema."

Url = Annotated[str, typer.Option(**_URL)]
MaybeUrl = Annotated[str | None, typer.Option(**_URL)]
User = Annotated[str | None, typer.Option(**_USER)]
PasswordFile = Annotated[Path | None, typer.Option(metavar="FILE", help=_PASSWORD)]
SchemaName = Annotated[str | None, typer.Option(metavar="NAME", help=_SCHEMA)]
Target = Annotated[str | None, typer.Option(metavar="VERSION", help=_TARGET)]
PlanFile = Annotated[Path | None, typer.Option("--plan", metavar="FILE")]
Output = Annotated[Path | None, typer.Option(metavar="FILE")]

_MAX_LINES = 20
"""Maximum number of lines that text output prints per list; JSON contains all items."""


@dataclass(frozen=True)
class DetectionReport:
    """The result of `upgrade detect`."""

    schema: Schema
    columns: dict[str, str | None]
    """The columns that views require, `table.column`, with their types; None if a column is missing."""
    early: tuple[EarlyObject, ...]
    """Columns, tables and indexes on which remaining scripts of Hive fail, because they exist already."""
    remedy: str | None
    """What to do about them before Hive's scripts; None if there are none."""

    def to_json(self) -> dict[str, Any]:
        """The JSON fields."""
        schema, rows = self.schema, self.schema.rows
        return {
            "place": schema.place,
            "server": schema.server,
            "version": schema.version,
            "stored_versions": schema.version_rows,
            "inferred_version": schema.inferred_version,
            "vendor": schema.vendor,
            "vendor_version": schema.vendor_version,
            "fingerprint": schema.fingerprint,
            "columns": [{"name": name, "type": kind} for name, kind in self.columns.items()],
            "early": [{"step": each.step, "script": each.script} for each in self.early],
            "remedy": self.remedy,
            "tables": rows.tables,
            "untyped": rows.untyped,
            "to_type": rows.to_type,
            "mangled": rows.mangled,
            "truncated": rows.truncated,
            "suspicious": rows.suspicious,
        }


@dataclass(frozen=True)
class Script:
    """The result of `upgrade render`."""

    dialect: str
    """The database system of the script."""
    plan_id: str
    """The ID of the rendered plan."""
    script: str
    """The script."""


def detect(
    url: Url, user: User = None, password_file: PasswordFile = None, schema_name: SchemaName = None
) -> DetectionReport:
    """Show the version, vendor, columns and rows of a metastore database."""
    from hive_views.schema_upgrade import detect as detect_schema
    from hive_views.schema_upgrade.hive_scripts import early_objects, remedy_of_early_objects
    from hive_views.schema_upgrade.requirements import ADDITIONS, WIDENINGS

    with _open(url, user, password_file, schema_name) as session:
        schema = detect_schema(session)
    names = [(addition.table, addition.column.name) for addition in ADDITIONS]
    names += [(widening.table, widening.column) for widening in WIDENINGS]
    columns = {f"{table}.{name}": _column_type(schema.column(table, name)) for table, name in names}
    early = early_objects(schema)
    return DetectionReport(schema, columns, early, remedy_of_early_objects(schema) if early else None)


def _column_type(column: Column | None) -> str | None:
    if column is None:
        return None
    length = f"({column.length})" if column.length else ""
    charset = f" {column.charset}" if column.charset else ""
    return f"{column.type}{length}{charset}"


def plan(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    output: Output = None,
) -> UpgradePlan:
    """Plan the changes that a metastore database needs to support views. Nothing is changed.

    Args:
        output: Write the plan as JSON to this file, for render and apply.
    """
    from hive_views.schema_upgrade import dumps

    with _open(url, user, password_file, schema_name) as session:
        new_plan = _make_plan(session, target)
    if output is not None:
        write_file(output, dumps(new_plan), "--output", is_private=True)
    return new_plan


def render(
    url: MaybeUrl = None,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    plan_file: PlanFile = None,
    database: Annotated[str | None, typer.Option(metavar="KIND")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="VERSION")] = None,
    output: Output = None,
) -> Script:
    """Render a plan as a commented, repeatable SQL script for a database administrator.

    Args:
        url: The database to plan for; ignored with --plan or --database.
        plan_file: A plan written by `upgrade plan --output`, used instead of a database.
        database: A database system to render for without a connection: oracle, sqlserver, mysql, mariadb, postgresql,
            derby.
        start: The schema version of the database; required with --database.
        output: Write the script to this file.
    """
    from hive_views.schema_upgrade import assumed_schema
    from hive_views.schema_upgrade import plan as make_plan
    from hive_views.schema_upgrade import render as render_plan
    from hive_views.schema_upgrade.dialects.registry import NAMES

    if (plan_file is not None) + (database is not None) > 1 or (url, plan_file, database) == (None, None, None):
        raise UsageError("--url", "give one of --url, --plan, and --database with --from")
    if plan_file is not None:
        new_plan = _read_plan(plan_file)
    elif database is not None:
        if database not in NAMES or start is None:
            raise UsageError("--database", f"give one of {', '.join(NAMES)}, and its schema version with --from")
        new_plan = make_plan(assumed_schema(database, start), target)
    else:
        assert url is not None
        with _open(url, user, password_file, schema_name) as session:
            new_plan = _make_plan(session, target)
    script = render_plan(new_plan)
    if output is not None:
        write_file(output, script, "--output", is_private=True)
    return Script(new_plan.dialect, new_plan.id, script)


def apply(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    plan_file: PlanFile = None,
    dry_run: bool = False,
    while_running: bool = False,
    before_hive_scripts: bool = False,
    schema_only: bool = False,
    skip: Annotated[list[str] | None, typer.Option(metavar="STEP")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, max=100_000, metavar="ROWS")] = None,
    emit: Callable[[Progress], None] | None = None,
) -> Applied:
    """Apply a plan. To resume an interrupted run, run the command again.

    Args:
        target: The Hive version whose views must be supported; not with --plan.
        plan_file: A plan written by `upgrade plan --output`. It is rejected if the database has changed since.
        dry_run: Check everything and write nothing.
        while_running: Continue although other sessions use the database.
        before_hive_scripts: Apply also the steps that remaining scripts of Hive make as well. These scripts fail
            afterwards, unless you run `upgrade rollback --schema` before them.
        schema_only: Change the schema and no rows, e.g. while an old Hive still writes rows without types.
        skip: A step to leave out, e.g. because it would fail. Can be given several times.
        batch_size: The number of rows of TBLS per transaction.
        emit: Called after every statement.
    """
    from hive_views.schema_upgrade import ApplyOptions
    from hive_views.schema_upgrade import apply as apply_plan
    from hive_views.schema_upgrade.execution import without_rows

    stored_plan = _read_plan(plan_file) if plan_file is not None else None
    if stored_plan is not None and target is not None:
        raise UsageError("--target", "the plan has a target; omit --target or --plan")
    with _open(url, user, password_file, schema_name) as session:
        new_plan = stored_plan or _make_plan(session, target)
        if schema_only:
            new_plan = without_rows(new_plan)
        return apply_plan(
            session,
            new_plan,
            ApplyOptions(
                dry_run=dry_run,
                while_running=while_running,
                before_hive_scripts=before_hive_scripts,
                batch_size=batch_size,
                skip=tuple(skip or ()),
            ),
            progress=emit or (lambda _: None),
        )


def verify(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    files: bool = False,
    skip_views: bool = False,
    emit: Callable[[Progress], None] | None = None,
) -> Verification:
    """Check the schema, rows and view texts. The exit code is 1 if steps are missing or a metastore would fail.

    Args:
        files: Read the metadata files of Iceberg views as well, and compare the rows with them.
        skip_views: Check the schema and the rows only, which is faster.
        emit: Called after each batch of views and of rows.
    """
    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.schema_upgrade import verify as verify_database

    with _open(url, user, password_file, schema_name) as session:
        checked_files = MetadataFiles({}) if files else None
        return verify_database(
            session, target, views=not skip_views, files=checked_files, progress=emit or (lambda _: None)
        )


def rollback(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    plan_id: Annotated[str | None, typer.Option(metavar="ID")] = None,
    schema: bool = False,
    dry_run: bool = False,
    while_running: bool = False,
    emit: Callable[[Progress], None] | None = None,
) -> RolledBack:
    """Restore the values that rows had before an upgrade, from the backup in the same database.

    Args:
        plan_id: The plan to roll back. The default is all plans.
        schema: Also drop the added columns, tables and indexes that contain no values.
        dry_run: Report the changes and write nothing.
        while_running: Continue although other sessions use the database.
        emit: Called after every statement.
    """
    from hive_views.schema_upgrade import rollback as roll_back

    with _open(url, user, password_file, schema_name) as session:
        return roll_back(
            session,
            plan_id=plan_id,
            schema=schema,
            dry_run=dry_run,
            while_running=while_running,
            progress=emit or (lambda _: None),
        )


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the application, under a heading of its list of commands."""
    group = typer.Typer(help="Upgrade the database of a metastore for views.", no_args_is_help=True)
    bind(group, Command("detect", detect, _print_detection))
    bind(group, Command("plan", plan, _print_plan))
    bind(group, Command("render", render, lambda result: print_script(result.script)))
    bind(group, Command("apply", apply, _print_applied, question=_question, emit=_print_progress))
    bind(
        group,
        Command(
            "verify",
            verify,
            _print_verification,
            has_failed=lambda report: not report.complete,
            emit=_print_progress,
        ),
    )
    bind(group, Command("rollback", rollback, _print_rollback, question=_question, emit=_print_progress))
    app.add_typer(group, name="upgrade", rich_help_panel=panel)


def _question(**arguments: object) -> str:
    if arguments.get("dry_run"):
        return ""
    address = _address(str(arguments["url"]), None, None, None, prompt=False)
    return f"Change the metastore database {address.place}?"


def _address(
    url: str, user: str | None, password_file: Path | None, schema_name: str | None, *, prompt: bool = True
) -> Address:
    from hive_views.schema_upgrade import Password, find_password, parse_address
    from hive_views.schema_upgrade.databases import Database

    address = parse_address(url, user=user, schema=schema_name)
    password = find_password(password_file)
    if password is None and prompt and address.kind != Database.DERBY and sys.stdin.isatty() and sys.stderr.isatty():
        password = Password(getpass.getpass(f"Password of {address.user or 'the user'} for {address.place}: "))
    return parse_address(url, user=user, password=password, schema=schema_name)


def _open(url: str, user: str | None, password_file: Path | None, schema_name: str | None) -> Session:
    from hive_views.schema_upgrade import connect

    return connect(_address(url, user, password_file, schema_name))


def _make_plan(session: Session, target: str | None) -> UpgradePlan:
    from hive_views.schema_upgrade import detect as detect_schema
    from hive_views.schema_upgrade import plan as make_plan

    return make_plan(detect_schema(session), target)


def _read_plan(path: Path) -> UpgradePlan:
    from hive_views.schema_upgrade import loads

    try:
        return loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPlanError(f"{path} cannot be read: {error}") from None


def _print_detection(report: DetectionReport) -> None:
    schema, rows = report.schema, report.schema.rows
    print_line(f"{schema.place} ({schema.server})")
    stored = ", ".join(schema.version_rows) or "no table VERSION"
    print_line(f"  schema     {schema.version} (VERSION: {stored}; tables of {schema.inferred_version} or later)")
    if schema.vendor:
        print_line(f"  fork       {schema.vendor} {shown(schema.vendor_version)}")
    print_line(f"  tables     {rows.tables}, {rows.untyped} without a type")
    damaged = f"{len(rows.mangled)} mojibake, {len(rows.truncated)} truncated, {len(rows.suspicious)} suspicious"
    print_line(f"  texts      {damaged}")
    for name, kind in report.columns.items():
        print_line(f"  {name:<44} {kind or 'missing'}")
    for each in report.early:
        print_line(f"  before its script: {each.step} exists already, and Hive's {each.script} fails")
    if report.remedy:
        print_line(f"  {report.remedy}")


def _print_plan(new_plan: UpgradePlan) -> None:
    versions = f"schema {new_plan.version}, views of {new_plan.target}"
    print_line(f"Plan {new_plan.id} for {new_plan.place}: {versions}")
    for note in new_plan.notes:
        print_line(f"  note: {note}")
    for script in new_plan.hive_scripts:
        included = f" (includes {', '.join(script.conflicts)})" if script.conflicts else ""
        print_line(f"  remaining Hive script: {script.name}{included}")
    for number, step in enumerate(new_plan.steps, 1):
        print_line(f"{number}. {step.id}: {step.reason}")
        for statement in step.statements:
            print_line(f"     {statement}")
        if step.blocked:
            print_line(f"     BLOCKED: {step.blocked}")
        for heading, effect in (("locks", step.locks), ("rows", step.rows), ("rollback", step.undo_note)):
            print_line(f"     {heading + ':':<10}{effect}")
    if not new_plan.steps:
        print_line("No changes are needed.")


def _print_progress(progress: Progress) -> None:
    """Print each schema statement and each committed batch."""
    from hive_views.schema_upgrade.journal import StepState
    from hive_views.schema_upgrade.row_changes import COMMIT

    if progress.statement in {*StepState} or progress.statement.startswith(("UPDATE ", "INSERT ")):
        return
    is_batch = progress.statement == COMMIT
    action = f"{progress.done} of {progress.total} rows" if is_batch else progress.statement
    print_line(f"  {progress.step}: {action}")
    sys.stdout.flush()


def _print_applied(applied: Applied) -> None:
    for warning in applied.warnings:
        print_line(f"warning: {warning}")
    action = "would be applied" if applied.dry_run else "applied"
    print_line(f"Plan {applied.plan_id} at {applied.place}: {len(applied.done)} step(s) {action}")
    for step in applied.done:
        print_line(f"  {step}")
    _print_doubts(applied.doubts)


def _print_verification(report: Verification) -> None:
    state = "incomplete"
    if report.lacking:
        state = f"{len(report.lacking)} step(s) are missing"
    elif report.complete:
        state = "meets all requirements of views"
    print_line(f"{report.place}: schema {report.version}, views of {report.target}: {state}")
    for step in report.lacking:
        print_line(f"  {step.id}: {step.reason}")
    for table, column, number in report.null_primitives:
        print_line(f"  unreadable: {number} row(s) of {table} hold NULL in {column}")
    for problem in report.metastore_problems:
        print_line(f"  a metastore of Hive {report.target} would fail: {problem}")
    _print_doubts(report.doubts)
    for tbl_id, column, length in report.truncated[:_MAX_LINES]:
        print_line(f"  truncated: TBL_ID {tbl_id}, {column}, {length} characters")
    for tbl_id, column, reason in report.suspicious[:_MAX_LINES]:
        print_line(f"  suspicious: TBL_ID {tbl_id}, {column}: {reason}")
    if report.views is not None:
        print_line(f"{report.views} view(s), {len(report.broken)} of them not valid")
    _print_lines(f"{check.view}: {check.validity}: {'; '.join(check.problems)}" for check in report.broken)


def _print_rollback(report: RolledBack) -> None:
    would_be = "would be " if report.dry_run else ""
    print_line(f"{report.place}: {report.rows} value(s) {would_be}restored")
    for heading, items in (
        ("changed since the upgrade, not restored", report.changed_since),
        (f"{would_be}undone", report.undone),
        (f"{would_be}kept", report.kept),
    ):
        for item in items:
            print_line(f"  {heading}: {item}")


def _print_doubts(doubts: Iterable[Doubt]) -> None:
    _print_lines(f"undecidable: {doubt.name} (TBL_ID {doubt.tbl_id}): {doubt.reason}" for doubt in doubts)


def _print_lines(lines: Iterable[str]) -> None:
    all_lines = list(lines)
    for line in all_lines[:_MAX_LINES]:
        print_line(f"  {line}")
    if len(all_lines) > _MAX_LINES:
        print_line(f"  … and {len(all_lines) - _MAX_LINES} more: --json lists all")
