"""`hive-views upgrade`: a metastore's own database made ready for views. No metastore is needed, or spoken to."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import bind
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import console, shown
from hive_views.errors import InvalidPlanError, UsageError

if TYPE_CHECKING:
    from hive_views.schema_upgrade.address import Address
    from hive_views.schema_upgrade.execution import Applied
    from hive_views.schema_upgrade.plan_model import Plan
    from hive_views.schema_upgrade.reversal import RolledBack
    from hive_views.schema_upgrade.row_changes import Progress
    from hive_views.schema_upgrade.session import Session
    from hive_views.schema_upgrade.verification import Verification

Url = Annotated[str, typer.Option(metavar="URL", envvar="HIVE_VIEWS_UPGRADE_URL")]
MaybeUrl = Annotated[str | None, typer.Option(metavar="URL", envvar="HIVE_VIEWS_UPGRADE_URL")]
User = Annotated[str | None, typer.Option(metavar="NAME", envvar="HIVE_VIEWS_UPGRADE_USER")]
PasswordFile = Annotated[Path | None, typer.Option(metavar="FILE")]
SchemaName = Annotated[str | None, typer.Option(metavar="NAME")]
Target = Annotated[str | None, typer.Option(metavar="VERSION")]
PlanFile = Annotated[Path | None, typer.Option(metavar="FILE")]
Output = Annotated[Path | None, typer.Option(metavar="FILE")]

_SHOWN = 20
"""Rows of a report that are shown to people; JSON has all of them."""


@dataclass(frozen=True)
class DetectedColumn:
    """A column that views need, as it was found."""

    name: str
    """`table.column`."""
    type: str | None
    """Its type, with its length and character set; null where it is missing."""


@dataclass(frozen=True)
class Detected:
    """What `upgrade detect` found."""

    place: str
    """The database, without user and password."""
    server: str
    """What the server says of itself."""
    version: str
    """The schema version that plans start from."""
    stored_versions: tuple[str, ...]
    """What the table VERSION says; empty before 0.12."""
    inferred_version: str
    """The newest version whose tables and columns are there, whatever VERSION says."""
    vendor: str | None
    """Whose fork it is; null for Apache's."""
    vendor_version: str | None
    """The vendor's version."""
    fingerprint: str
    """A hash of all that a plan takes for granted."""
    columns: tuple[DetectedColumn, ...]
    """The columns that views need."""
    tables: int
    """Rows of TBLS."""
    untyped: int
    """Rows of TBLS without a TBL_TYPE."""
    to_type: int
    """Rows whose type can be filled in, or corrected."""
    mangled: tuple[int, ...]
    """TBL_IDs of views whose text is UTF-8 that was stored as latin1."""
    truncated: tuple[tuple[int, str, int], ...]
    """TBL_ID, column and length of view texts whose end is missing."""
    suspicious: tuple[tuple[int, str, str], ...]
    """TBL_ID, column and reason of view texts that look damaged, e.g. by characters that became `?`."""


@dataclass(frozen=True)
class Script:
    """What `upgrade render` wrote."""

    dialect: str
    """The database that it is for."""
    plan_id: str
    """The plan that it carries out."""
    script: str
    """The script."""


def detect(url: Url, user: User = None, password_file: PasswordFile = None, schema_name: SchemaName = None) -> Detected:
    """Tell what a metastore's database is like: its version, columns, types, vendor and rows.

    Args:
        url: The database: mysql://host/db, postgresql://host/db, derby:/directory, or hive-site.xml's JDBC URL.
        user: The database user.
        password_file: A file with the password; else HIVE_VIEWS_UPGRADE_PASSWORD, else it is asked for.
        schema_name: The schema in the database, where it is not the user's own.

    Returns:
        What was found.

    Raises:
        NotAMetastoreError: If the database holds no metastore.
        DatabaseError: If it cannot be reached or read.
    """
    from hive_views.schema_upgrade import detection as detecting
    from hive_views.schema_upgrade import requirements as needs

    with _open(url, user, password_file, schema_name) as session:
        found = detecting.detect(session)
    wanted = [(each.table, each.column.name) for each in needs.ADDITIONS]
    wanted += [(each.table, each.column) for each in needs.WIDENINGS if (each.table, each.column) not in wanted]
    columns = []
    for table, name in wanted:
        column = found.column(table, name)
        size = f"({column.length})" if column and column.length else ""
        charset = f" {column.charset}" if column and column.charset else ""
        columns.append(DetectedColumn(f"{table}.{name}", f"{column.type}{size}{charset}" if column else None))
    return Detected(
        found.place,
        found.server,
        found.version,
        found.version_rows,
        found.inferred_version,
        found.vendor,
        found.vendor_version,
        found.fingerprint,
        tuple(columns),
        found.rows.tables,
        found.rows.untyped,
        found.rows.to_type,
        found.rows.mangled,
        found.rows.truncated,
        found.rows.suspicious,
    )


def plan(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    output: Output = None,
) -> Plan:
    """Plan what the database lacks of what views need; nothing is changed.

    Args:
        url: The database.
        user: The database user.
        password_file: A file with the password.
        schema_name: The schema in the database, where it is not the user's own.
        target: The Hive whose views are wanted, e.g. 4.0.1; by default the schema's own version.
        output: Write the plan there as JSON, for render and apply.

    Returns:
        The plan.

    Raises:
        NotAMetastoreError: If the database holds no metastore.
        DatabaseError: If it cannot be reached or read.
    """
    from hive_views.schema_upgrade import detection as detecting
    from hive_views.schema_upgrade import plan_model as plans
    from hive_views.schema_upgrade import planner as planning

    with _open(url, user, password_file, schema_name) as session:
        made = planning.plan(detecting.detect(session), target)
    if output is not None:
        _write(output, plans.dumps(made))
    return made


def render(
    url: MaybeUrl = None,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    plan_file: Annotated[Path | None, typer.Option("--plan", metavar="FILE")] = None,
    database: Annotated[str | None, typer.Option(metavar="KIND")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="VERSION")] = None,
    output: Output = None,
) -> Script:
    """Write a plan as a script for a database administrator: commented, safe to run twice.

    Args:
        url: The database to plan for; not looked at where a plan or a kind of database is given.
        user: The database user.
        password_file: A file with the password.
        schema_name: The schema in the database, where it is not the user's own.
        target: The Hive whose views are wanted.
        plan_file: A plan that `upgrade plan --output` wrote, in place of a database.
        database: A kind of database that cannot be asked: oracle, sqlserver, mysql, mariadb, postgresql, derby.
        start: The schema version of such a database.
        output: Write the script there.

    Returns:
        The script.

    Raises:
        UsageError: If it is not said what to render, or said twice.
        InvalidPlanError: If the plan cannot be read.
    """
    from hive_views.schema_upgrade import detection as detecting
    from hive_views.schema_upgrade import planner as planning
    from hive_views.schema_upgrade.dialects.registry import NAMES
    from hive_views.schema_upgrade.rendering import render as write_script

    if (plan_file is not None) + (database is not None) > 1 or (url, plan_file, database) == (None, None, None):
        raise UsageError("--url", "give one of --url, --plan, and --database with --from")
    if plan_file is not None:
        made = _read_plan(plan_file)
    elif database is not None:
        if database not in NAMES or start is None:
            raise UsageError("--database", f"give one of {', '.join(NAMES)}, and its schema version by --from")
        made = planning.plan(planning.assumed_schema(database, start), target)
    else:
        assert url is not None, "where neither of the others is given"
        with _open(url, user, password_file, schema_name) as session:
            made = planning.plan(detecting.detect(session), target)
    script = write_script(made)
    if output is not None:
        _write(output, script)
    return Script(made.dialect, made.id, script)


def apply(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    plan_file: Annotated[Path | None, typer.Option("--plan", metavar="FILE")] = None,
    dry_run: bool = False,
    while_running: bool = False,
    schema_only: bool = False,
    batch_size: Annotated[int | None, typer.Option(min=1, metavar="ROWS")] = None,
    tell: Callable[[Progress], None] | None = None,
) -> Applied:
    """Carry out a plan; a run that was stopped is continued by running it again.

    Args:
        url: The database.
        user: The database user.
        password_file: A file with the password.
        schema_name: The schema in the database, where it is not the user's own.
        target: The Hive whose views are wanted; without --plan.
        plan_file: A plan that `upgrade plan --output` wrote; refused if the database changed since.
        dry_run: Check everything and write nothing.
        while_running: Go on although other sessions use the database.
        schema_only: Change the schema and no rows, e.g. before an old Hive is upgraded.
        batch_size: Rows of TBLS that one transaction looks at.
        tell: Called after every statement.

    Returns:
        What was done.

    Raises:
        MetastoreRunningError: If other sessions use the database.
        PlanChangedError: If the database is not as it was when the plan was made.
        DatabaseError: If the database fails; what was committed stays, run it again.
    """
    from hive_views.schema_upgrade import detection as detecting
    from hive_views.schema_upgrade import execution as applying
    from hive_views.schema_upgrade import planner as planning

    given = _read_plan(plan_file) if plan_file is not None else None
    if given is not None and target is not None:
        raise UsageError("--target", "the plan has a target")
    with _open(url, user, password_file, schema_name) as session:
        made = given or planning.plan(detecting.detect(session), target)
        if schema_only:
            made = applying.without_rows(made)
        return applying.apply(
            session, made, dry_run=dry_run, while_running=while_running, batch_size=batch_size, progress=tell
        )


def verify(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    target: Target = None,
    files: bool = False,
) -> Verification:
    """Look at everything again: the schema, the rows, and every stored view text. The exit code is 1 if steps are left.

    Args:
        url: The database.
        user: The database user.
        password_file: A file with the password.
        schema_name: The schema in the database, where it is not the user's own.
        target: The Hive whose views are wanted.
        files: Read the metadata files of Iceberg views as well, and compare their rows with them.

    Returns:
        What was found.

    Raises:
        NotAMetastoreError: If the database holds no metastore.
        DatabaseError: If it cannot be reached or read.
    """
    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.schema_upgrade import verification as verifying

    with _open(url, user, password_file, schema_name) as session:
        return verifying.verify(session, target, files=MetadataFiles({}) if files else None)


def rollback(
    url: Url,
    user: User = None,
    password_file: PasswordFile = None,
    schema_name: SchemaName = None,
    plan_id: Annotated[str | None, typer.Option(metavar="ID")] = None,
    schema: bool = False,
    dry_run: bool = False,
    while_running: bool = False,
) -> RolledBack:
    """Put back what rows held before an upgrade, from the backup in the same database.

    Args:
        url: The database.
        user: The database user.
        password_file: A file with the password.
        schema_name: The schema in the database, where it is not the user's own.
        plan_id: The plan to take back; all of them by default.
        schema: Take away what was added to the schema as well, where no row holds anything in it.
        dry_run: Say what would be done, and write nothing.
        while_running: Go on although other sessions use the database.

    Returns:
        What was done.

    Raises:
        InvalidPlanError: If no plan of that id was carried out.
        MetastoreRunningError: If other sessions use the database.
        DatabaseError: If the database fails; what was committed stays, run it again.
    """
    from hive_views.schema_upgrade import reversal as undoing

    with _open(url, user, password_file, schema_name) as session:
        return undoing.rollback(session, plan_id=plan_id, schema=schema, dry_run=dry_run, while_running=while_running)


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the command line.

    Args:
        app: The application.
        panel: The heading of the list of commands that they stand under.
    """
    group = typer.Typer(help="Make a metastore's own database ready for views.", no_args_is_help=True)
    bind(group, "detect", detect, print_detected)
    bind(group, "plan", plan, print_plan)
    bind(group, "render", render, print_script)
    bind(group, "apply", apply, print_applied, question=_question, tell=print_progress)
    bind(group, "verify", verify, print_verification, code=_code)
    bind(group, "rollback", rollback, print_rolled_back, question=_question)
    app.add_typer(group, name="upgrade", rich_help_panel=panel)


def _code(found: Verification) -> ExitCode:
    return ExitCode.OK if found.complete else ExitCode.FAILED


def _question(**arguments: object) -> str:
    if arguments.get("dry_run"):
        return ""
    address = _address(str(arguments["url"]), None, None, None, ask=False)
    return f"Change the metastore's database {address.place}?"


def _address(
    url: str, user: str | None, password_file: Path | None, schema_name: str | None, *, ask: bool = True
) -> Address:
    from hive_views.schema_upgrade.address import Password, find_password, parse_address

    address = parse_address(url, user=user, schema=schema_name)
    password = find_password(password_file)
    if password is None and ask and address.kind != "derby" and sys.stdin.isatty() and sys.stderr.isatty():
        password = Password(getpass.getpass(f"Password of {address.user or 'the user'} at {address.place}: "))
    return parse_address(url, user=user, password=password, schema=schema_name)


def _open(url: str, user: str | None, password_file: Path | None, schema_name: str | None) -> Session:
    from hive_views.schema_upgrade.connection import connect

    return connect(_address(url, user, password_file, schema_name))


def _read_plan(path: Path) -> Plan:
    from hive_views.schema_upgrade.plan_model import loads

    try:
        return loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPlanError(f"{path} cannot be read: {error}") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("--output", f"it cannot be written: {error}") from None


def print_detected(found: Detected) -> None:
    """Show to people what a database is like."""
    out = console()
    out.print(f"{found.place} ({found.server})", soft_wrap=True)
    stored = ", ".join(found.stored_versions) or "no table VERSION"
    out.print(f"  schema     {found.version} (VERSION: {stored}; tables of {found.inferred_version})", soft_wrap=True)
    if found.vendor:
        out.print(f"  fork       {found.vendor} {shown(found.vendor_version)}", soft_wrap=True)
    out.print(f"  tables     {found.tables}, {found.untyped} of them without a type", soft_wrap=True)
    out.print(
        f"  texts      {len(found.mangled)} mangled, {len(found.truncated)} cut off, {len(found.suspicious)} suspicious"
    )
    for column in found.columns:
        out.print(f"  {column.name:<44} {column.type or 'missing'}", soft_wrap=True)


def print_plan(made: Plan) -> None:
    """Show a plan to people."""
    out = console()
    out.print(f"Plan {made.id} for {made.place}: schema {made.version}, views of {made.target}", soft_wrap=True)
    for note in made.notes:
        out.print(f"  note: {note}", soft_wrap=True)
    for script in made.hive_scripts:
        same = f" (does as well: {', '.join(script.conflicts)})" if script.conflicts else ""
        out.print(f"  Hive's own script remains: {script.name}{same}", soft_wrap=True)
    for number, step in enumerate(made.steps, 1):
        out.print(f"{number}. {step.id}: {step.reason}", soft_wrap=True)
        for statement in step.statements:
            out.print(f"     {shown(statement)}", soft_wrap=True)
        out.print(f"     locks: {step.locks}; rows: {step.rows}; undone: {step.undo_note}", soft_wrap=True)
    if not made.steps:
        out.print("Nothing is to be done.", soft_wrap=True)


def print_script(made: Script) -> None:
    """Print a script as it is."""
    sys.stdout.write(made.script)


def print_progress(progress: Progress) -> None:
    """Show how far a step is, after each batch and each statement of the schema."""
    if progress.statement in ("begun", "done") or progress.statement.startswith(("UPDATE ", "INSERT ")):
        return
    said = f"{progress.done} of {progress.total} rows" if progress.statement == "COMMIT" else progress.statement
    console().print(f"  {progress.step}: {shown(said)}", soft_wrap=True)
    sys.stdout.flush()


def print_applied(found: Applied) -> None:
    """Show to people what was done."""
    out = console()
    for warning in found.warnings:
        out.print(f"warning: {warning}", soft_wrap=True)
    would = "would be done" if found.dry_run else "done"
    out.print(f"Plan {found.plan_id} at {found.place}: {len(found.done)} step(s) {would}", soft_wrap=True)
    for step in found.done:
        out.print(f"  {step}", soft_wrap=True)
    _print_doubts([f"{doubt.name} (TBL_ID {doubt.tbl_id}): {doubt.reason}" for doubt in found.doubts])


def print_verification(found: Verification) -> None:
    """Show to people what was found."""
    out = console()
    state = "has all that views need" if found.complete else f"lacks {len(found.lacking)} step(s)"
    out.print(f"{found.place}: schema {found.version}, views of {found.target}: {state}", soft_wrap=True)
    for step in found.lacking:
        out.print(f"  {step.id}: {step.reason}", soft_wrap=True)
    _print_doubts([f"{doubt.name} (TBL_ID {doubt.tbl_id}): {doubt.reason}" for doubt in found.doubts])
    for tbl_id, column, length in found.truncated[:_SHOWN]:
        out.print(f"  cut off: TBL_ID {tbl_id}, {column}, {length} characters", soft_wrap=True)
    for tbl_id, column, reason in found.suspicious[:_SHOWN]:
        out.print(f"  suspicious: TBL_ID {tbl_id}, {column}: {shown(reason)}", soft_wrap=True)
    out.print(f"{found.views} view(s), {len(found.broken)} of them not valid", soft_wrap=True)
    for check in found.broken[:_SHOWN]:
        out.print(f"  {shown(check.view)}: {check.validity}: {shown('; '.join(check.problems))}", soft_wrap=True)
    if len(found.broken) > _SHOWN:
        out.print(f"  … and {len(found.broken) - _SHOWN} more: --json lists all", soft_wrap=True)


def print_rolled_back(found: RolledBack) -> None:
    """Show to people what was put back."""
    out = console()
    out.print(f"{found.place}: {found.rows} value(s) {'would be ' if found.dry_run else ''}put back", soft_wrap=True)
    for heading, items in (
        ("changed since, left as it is", found.changed_since),
        ("undone", found.undone),
        ("kept", found.kept),
    ):
        for item in items:
            out.print(f"  {heading}: {item}", soft_wrap=True)


def _print_doubts(lines: list[str]) -> None:
    out = console()
    for line in lines[:_SHOWN]:
        out.print(f"  cannot be decided: {shown(line)}", soft_wrap=True)
    if len(lines) > _SHOWN:
        out.print(f"  … and {len(lines) - _SHOWN} more: --json lists all", soft_wrap=True)
