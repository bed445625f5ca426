"""Apply a plan step by step, each step in a transaction if the database has transactional DDL.

MySQL and MariaDB have no transactional DDL. There a schema step is a single statement, and the schema itself shows
which steps are complete, so an interrupted run can be continued by running it again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace

from hive_views.errors import (
    BlockedStepsError,
    DatabaseError,
    InvalidPlanError,
    MetastoreRunningError,
    PlanChangedError,
    RemainingHiveScriptsError,
    UpgradeError,
    UsageError,
)
from hive_views.schema_upgrade import journal, versions, view_texts
from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.hive_scripts import remaining_scripts, scripts_first
from hive_views.schema_upgrade.journal import StepState
from hive_views.schema_upgrade.plan_model import Kind, Step, Undo, UpgradePlan, grouped
from hive_views.schema_upgrade.planner import OWNER_SUFFIX
from hive_views.schema_upgrade.planner import plan as make_plan
from hive_views.schema_upgrade.requirements import RECODINGS, REQUIREMENTS, NeededTable
from hive_views.schema_upgrade.row_changes import (
    Doubt,
    Progress,
    ProgressCallback,
    naming_committed_steps,
    now,
    run_row_step,
)
from hive_views.schema_upgrade.schema import VIEW_TABLES, Schema, Table
from hive_views.schema_upgrade.session import Session

LARGEST_BATCH = 100_000
"""Maximum number of rows in a batch. The server returns the IDs of a batch as one text, which MySQL and MariaDB
truncate at the maximum packet size."""


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The result of applying a plan."""

    plan_id: str
    """The ID of the plan, which is the key of its journal and backup rows."""
    place: str
    """The database."""
    done: tuple[str, ...]
    """IDs of the steps applied by this run; with `dry_run`, of those that would be applied."""
    found_done: tuple[str, ...]
    """IDs of steps of the plan that were already complete."""
    doubts: tuple[Doubt, ...]
    """Rows whose type could not be determined or contradicts the rest of the row."""
    warnings: tuple[str, ...]
    """Conditions that the user should check."""
    dry_run: bool
    """Whether this was a dry run, which writes nothing."""


@dataclass(frozen=True, kw_only=True)
class ApplyOptions:
    """How a plan is applied."""

    dry_run: bool = False
    """Run all checks and write nothing."""
    while_running: bool = False
    """Continue although other sessions use the database."""
    before_hive_scripts: bool = False
    """Apply also steps that scripts of Hive which are still to be run make as well. These scripts fail afterwards,
    unless the schema is rolled back before."""
    batch_size: int | None = None
    """Rows of TBLS per transaction of a row step; None uses the dialect's default."""
    skip: Sequence[str] = ()
    """IDs of steps to leave out, for example because they are blocked, with the steps that depend on them."""


def apply(
    session: Session,
    plan: UpgradePlan,
    options: ApplyOptions | None = None,
    *,
    progress: ProgressCallback = lambda _: None,
) -> Applied:
    """Apply a plan. To continue an interrupted run, apply the same plan or a new one.

    Args:
        session: The database that the plan is for.
        plan: The plan.
        options: How it is applied.
        progress: Called after every statement and after every commit of a batch.

    Raises:
        InvalidPlanError: If the plan is for another database or database schema.
        PlanChangedError: If the schema differs from the one that the plan was made for.
        RemainingHiveScriptsError: If scripts of Hive that are still to be run make steps of the plan as well, and
            `before_hive_scripts` is false. Nothing was changed.
        BlockedStepsError: If steps would fail, for example because the user lacks a privilege. Nothing was changed.
        UsageError: If `skip` names a step that the plan does not have, or `batch_size` is not from 1 to 100,000.
        MetastoreRunningError: If other sessions use the database, `while_running` is false and this is no dry run.
        UpgradeError: If a table that may be changed does not support transactions, or if another upgrade or rollback
            runs.
        DatabaseError: If the database fails. Committed changes remain, and `completed_steps` names them; apply the
            plan again.
    """
    options = options or ApplyOptions()
    if plan.dialect != session.dialect.name or plan.place not in ("", session.address.place):
        raise InvalidPlanError(f"it was made for {plan.place or plan.dialect}, not for {session.address.place}")
    if options.batch_size is not None and not 0 < options.batch_size <= LARGEST_BATCH:
        raise UsageError("--batch-size", f"it must be from 1 to {LARGEST_BATCH}")
    # Lock first: if another upgrade changed the database after the plan was compared with it, steps would fail.
    with nullcontext() if options.dry_run else session.exclusive():
        schema = detect(session)
        if plan.db_schema not in ("", schema.db_schema):
            raise InvalidPlanError(f"it was made for the schema {plan.db_schema}, not for {schema.db_schema}")
        if unsafe := [table.name for table in schema.tables if not _transactional(table)]:
            raise UpgradeError(
                session.address.place,
                f"{', '.join(unsafe)} does not support transactions (MySQL engine MyISAM), so a change and its "
                "backup would not be atomic. Run ALTER TABLE … ENGINE=InnoDB first",
            )
        _reject_unknown(plan, options.skip)
        remaining = _remaining(session, plan, schema)
        left_out = _with_dependent_steps(remaining, options.skip)
        steps = tuple(step for step in remaining if step.id not in left_out)
        if not options.before_hive_scripts:
            _reject_steps_of_scripts(session, schema, plan.target, steps)
        if blocked := [step for step in steps if step.blocked]:
            raise BlockedStepsError(session.address.place, [(step.id, step.blocked or "") for step in blocked])
        other_sessions = session.other_sessions()
        if other_sessions and not options.while_running and not options.dry_run:
            raise MetastoreRunningError(session.address.place, other_sessions)
        doubts: list[Doubt] = []
        if not options.dry_run and (steps or schema.own_tables):
            with naming_committed_steps(progress, "applied") as report:
                doubts = _run(session, plan, schema, steps, options.batch_size, report)
    incomplete = {step.id for step in remaining}
    return Applied(
        plan_id=plan.id,
        place=session.address.place,
        done=tuple(step.id for step in steps),
        found_done=tuple(step.id for step in plan.steps if step.id not in incomplete),
        doubts=tuple(doubts),
        warnings=tuple(_warnings(other_sessions, sorted(left_out - set(options.skip)))),
        dry_run=options.dry_run,
    )


def _warnings(other_sessions: Sequence[str], left_out: Sequence[str]) -> Iterator[str]:
    if other_sessions:
        yield f"{len(other_sessions)} other session(s) use the database: {'; '.join(other_sessions)}"
    if left_out:
        yield f"left out, because they depend on skipped steps: {', '.join(left_out)}"


def _with_dependent_steps(steps: Sequence[Step], skip: Sequence[str]) -> set[str]:
    """Return the skipped steps and those that would fail without them."""
    left_out = {step.id for step in steps if step.id in skip}
    for step in steps:
        if not left_out.isdisjoint(_prerequisites(step)):
            left_out.add(step.id)
    return left_out


def _prerequisites(step: Step) -> Iterator[str]:
    """Yield the IDs of the steps that create what a step uses; in a plan they precede it, unless they are complete."""
    table, requirement = step.table.upper(), REQUIREMENTS.get(step.id)
    if step.kind is Kind.CREATE_TABLE and isinstance(requirement, NeededTable):
        yield from (key.table for key in requirement.foreign_keys)
    else:
        yield table
    if step.kind in (Kind.BACK_FILL, Kind.REPAIR):
        yield from (f"{table}.{name}" for name in view_texts.COLUMNS)
    if step.kind is Kind.REPAIR:
        yield from (each.id for each in RECODINGS if each.table == table)
    yield from (f"{table}.{name}" for name in step.name.split(", ") if not step.kind.is_schema)


def _run(
    session: Session,
    plan: UpgradePlan,
    schema: Schema,
    steps: tuple[Step, ...],
    batch_size: int | None,
    progress: ProgressCallback,
) -> list[Doubt]:
    """Apply the steps, and write the journal."""
    doubts: list[Doubt] = []
    try:
        for name, statement in journal.statements(session.dialect).items():
            if name not in schema.own_tables:
                session.execute(statement)
                session.commit()
                progress(Progress(name, statement, 1, 1))
        _mark_finished_steps(session, schema)
        _write_row(session, plan.id, journal.VERSION_STEP, StepState.DONE, plan.version, None)
        for group in grouped(steps, by_table=session.dialect.alter_list is not None):
            doubts += _apply_steps(session, plan, group, batch_size, schema.rows.mangled, progress)
    except DatabaseError:
        # Make the session usable again, unless its connection is broken.
        with suppress(DatabaseError):
            session.rollback()
        raise
    return doubts


def _reject_unknown(plan: UpgradePlan, skip: Sequence[str]) -> None:
    if unknown := sorted(set(skip) - {step.id for step in plan.steps}):
        listed = ", ".join(repr(step.id) for step in plan.steps) or "none"
        raise UsageError("--skip", f"the plan has no step {', '.join(map(repr, unknown))}; its steps are {listed}")


def _reject_steps_of_scripts(session: Session, schema: Schema, target: str, steps: Sequence[Step]) -> None:
    scripts = [(each.name, each.conflicts) for each in remaining_scripts(schema, target, steps) if each.conflicts]
    if scripts:
        raise RemainingHiveScriptsError(session.address.place, scripts, scripts_first(schema))


def _transactional(table: Table) -> bool:
    """Return whether changes of this table are transactional.

    MySQL 5.1 created MyISAM tables, whose changes are not.
    """
    return table.name.upper() not in VIEW_TABLES or table.engine in (None, "InnoDB")


def _remaining(session: Session, plan: UpgradePlan, schema: Schema) -> tuple[Step, ...]:
    """The steps of a plan that remain, planned again: the SQL of a plan file is only compared, never executed."""
    fresh = make_plan(schema, plan.target)
    planned = {step.id: step for step in plan.steps}
    is_same_schema = schema.fingerprint == plan.fingerprint
    differences = []
    if fresh.version != plan.version:
        differences.append(f"the schema version is {fresh.version}, the plan was made for {plan.version}")
    for step in fresh.steps:
        if not step.kind.is_schema:
            continue
        if step.id in planned and planned[step.id].statements != step.statements:
            differences.append(f"{step.id} is now {'; '.join(step.statements)}")
        elif not _belongs(step, planned) and not is_same_schema:
            differences.append(f"{step.id} is required ({step.statements[0]}) but not in the plan")
    if is_same_schema:
        possible = {step.id for step in fresh.steps}
        impossible = [step.id for step in plan.steps if step.kind is Kind.WIDEN and step.id not in possible]
        # The schema is unchanged, so the rows prevent the step: values written since do not fit the new type.
        differences += [f"{step_id} is no longer possible" for step_id in impossible]
    elif not differences and not _begun(session, plan, schema):
        differences.append("its columns, types or indexes differ, and this plan was never started")
    if differences:
        raise PlanChangedError(session.address.place, differences)
    return tuple(step for step in fresh.steps if _belongs(step, planned))


def _belongs(step: Step, planned: Container[str]) -> bool:
    """Return whether a step is one of a plan; a table that an interrupted run created may lack its privileges."""
    return step.id in planned or (step.kind is Kind.OWNER and step.id.removesuffix(OWNER_SUFFIX) in planned)


def _begun(session: Session, plan: UpgradePlan, schema: Schema) -> bool:
    """Return whether the journal has rows of the plan."""
    if journal.JOURNAL.name not in schema.own_tables:
        return False
    sql = session.dialect.sql(f"SELECT COUNT(*) FROM [{journal.JOURNAL.name}] WHERE [PLAN_ID] = :plan_id")
    rows = session.query(sql, {"plan_id": plan.id})
    session.rollback()
    return bool(rows[0][0])


def _mark_finished_steps(session: Session, schema: Schema) -> None:
    """Mark journal steps as done that an interrupted run of any plan began and that are no longer needed."""
    sql, table = session.dialect.sql, f"[{journal.JOURNAL.name}]"
    begun = {
        str(row[0])
        for row in session.query(sql(f"SELECT DISTINCT [STEP] FROM {table} WHERE [STATE] = '{StepState.BEGUN}'"))
    }
    needed = {each.id for each in make_plan(schema, versions.CHAIN[-1]).steps} if begun else set()
    for step_id in sorted(begun - needed):
        update = sql(
            f"UPDATE {table} SET [STATE] = '{StepState.DONE}' WHERE [STEP] = :step AND [STATE] = '{StepState.BEGUN}'"
        )
        session.execute(update, {"step": step_id})
    session.commit()


def _apply_steps(
    session: Session,
    plan: UpgradePlan,
    steps: tuple[Step, ...],
    batch_size: int | None,
    mangled: Sequence[int],
    progress: ProgressCallback,
) -> list[Doubt]:
    """Apply one step, or several that are combined in one statement."""
    doubts: list[Doubt] = []
    step = steps[0]
    statements = step.statements
    if session.dialect.alter_list and len(steps) > 1:
        statements = (session.dialect.alter_list.merge([sql for each in steps for sql in each.statements]),)
    is_one_transaction = session.dialect.transactional_ddl and step.kind.is_schema
    for each in steps:
        _write_journal(session, plan, each, StepState.BEGUN)
    if not is_one_transaction:
        session.commit()
        progress(Progress(step.id, StepState.BEGUN, 0, len(statements)))
    if step.kind.is_schema or step.kind is Kind.FIRST_ROW:
        for number, statement in enumerate(statements, 1):
            session.execute(statement)
            progress(Progress(step.id, statement, number, len(statements)))
    else:
        doubts = run_row_step(session, plan, step, batch_size=batch_size, mangled=mangled, progress=progress)
    for each in steps:
        _write_journal(session, plan, each, StepState.DONE)
    session.commit()
    for each in steps:
        progress(Progress(each.id, StepState.DONE, len(statements), len(statements)))
    return doubts


def _write_journal(session: Session, plan: UpgradePlan, step: Step, state: StepState) -> None:
    """Write the state of a step into the journal."""
    if state is StepState.DONE:
        # An interrupted run of another plan began this step.
        delete = f"DELETE FROM [{journal.JOURNAL.name}] WHERE [STEP] = :step AND [STATE] = '{StepState.BEGUN}'"
        session.execute(session.dialect.sql(delete), {"step": step.id})
    undo = step.undo
    check, sql = (undo.declaration or undo.check, recorded(undo)) if undo else (None, None)
    _write_row(session, plan.id, step.id, state, check, sql)


def _write_row(
    session: Session, plan_id: str, step_id: str, state: StepState, check: str | None, undo: str | None
) -> None:
    """Write a row of the journal, replacing that of an interrupted run."""
    sql, table = session.dialect.sql, f"[{journal.JOURNAL.name}]"
    key = {"plan_id": plan_id, "step": step_id}
    session.execute(sql(f"DELETE FROM {table} WHERE [PLAN_ID] = :plan_id AND [STEP] = :step"), key)
    names = [column.name for column in journal.JOURNAL.columns]
    listed = ", ".join(f":{name.lower()}" for name in names)
    session.execute(
        sql(f"INSERT INTO {table} ({session.dialect.names(names)}) VALUES ({listed})"),
        {**key, "state": state.value, "written_at": now(), "undo_check": check, "undo": undo},
    )


def recorded(undo: Undo) -> str:
    """Return the statements of an undo as the journal records them, for administrators."""
    return ";\n".join(undo.statements)


def without_rows(plan: UpgradePlan) -> UpgradePlan:
    """Return a plan without its row steps, e.g. while an old Hive still writes rows without types."""
    return replace(plan, steps=tuple(step for step in plan.steps if step.kind.is_schema or step.kind is Kind.FIRST_ROW))
