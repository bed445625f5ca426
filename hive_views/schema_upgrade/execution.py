"""Apply a plan step by step, each step in a transaction if the database has transactional DDL.

MySQL and MariaDB have none. There a schema step is a single statement, and the schema itself shows which steps are
complete, so that an interrupted run is continued by running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hive_views.errors import (
    BlockedStepsError,
    DatabaseError,
    InvalidPlanError,
    MetastoreRunningError,
    PlanChangedError,
    UpgradeError,
    UsageError,
)
from hive_views.schema_upgrade import journal
from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.plan_model import Kind, Step, Undo, UpgradePlan, grouped
from hive_views.schema_upgrade.planner import plan as make_plan
from hive_views.schema_upgrade.row_changes import Doubt, Progress, ProgressCallback, now, run_row_step
from hive_views.schema_upgrade.schema import VIEW_TABLES, Schema, Table
from hive_views.schema_upgrade.session import Session


@dataclass(frozen=True)
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


def apply(
    session: Session,
    plan: UpgradePlan,
    *,
    dry_run: bool = False,
    while_running: bool = False,
    batch_size: int | None = None,
    skip: Sequence[str] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Applied:
    """Apply a plan. An interrupted run is continued by applying the same plan or a new one.

    Args:
        session: The database that the plan is for.
        plan: The plan.
        dry_run: Run all checks and write nothing.
        while_running: Continue although other sessions use the database.
        batch_size: Rows of TBLS per transaction of a row step; None uses the dialect's default.
        skip: IDs of steps to leave out, for example because they are blocked.
        progress: Called after every statement and after every commit of a batch.

    Returns:
        The applied and the already complete steps.

    Raises:
        InvalidPlanError: If the plan is for another database.
        PlanChangedError: If the schema differs from the one that the plan was made for.
        BlockedStepsError: If steps would fail, for example because the user lacks a privilege. Nothing was changed.
        UsageError: If `skip` names a step that the plan does not have.
        MetastoreRunningError: If other sessions use the database and `while_running` is false.
        UpgradeError: If a table that may be changed does not support transactions, or if another upgrade or rollback
            runs.
        DatabaseError: If the database fails. Committed changes remain; apply the plan again.
    """
    if plan.dialect != session.dialect.name or plan.place not in ("", session.address.place):
        raise InvalidPlanError(f"it was made for {plan.place or plan.dialect}, not for {session.address.place}")
    schema = detect(session)
    if plan.db_schema not in ("", schema.db_schema):
        raise InvalidPlanError(f"it was made for the schema {plan.db_schema}, not for {schema.db_schema}")
    if unsafe := [table.name for table in schema.tables if not _transactional(table)]:
        raise UpgradeError(
            session.address.place,
            f"{', '.join(unsafe)} does not support transactions (MySQL engine MyISAM), so a change and its "
            "backup would not be atomic. Run ALTER TABLE … ENGINE=InnoDB first",
        )
    _reject_unknown(plan, skip)
    steps = tuple(step for step in _remaining(session, plan, schema) if step.id not in skip)
    if blocked := [step for step in steps if step.blocked]:
        raise BlockedStepsError(session.address.place, [(step.id, step.blocked or "") for step in blocked])
    other_sessions = session.other_sessions()
    if other_sessions and not while_running and not dry_run:
        raise MetastoreRunningError(session.address.place, other_sessions)
    warnings = (
        [f"{len(other_sessions)} other session(s) use the database: {'; '.join(other_sessions)}"]
        if other_sessions
        else []
    )
    found_done = tuple(step.id for step in plan.steps if step.id not in {remaining.id for remaining in steps})
    doubts: list[Doubt] = []
    if not dry_run and (steps or _existing_journal_tables(session)):
        try:
            with session.exclusive():
                _create_journal_tables(session, progress or _ignore_progress)
                _mark_finished_steps(session, steps)
                for group in grouped(steps, by_table=session.dialect.alter_list is not None):
                    mangled = schema.rows.mangled
                    doubts += _apply_steps(session, plan, group, batch_size, mangled, progress or _ignore_progress)
        except DatabaseError:
            # Make the session usable again, unless its connection is broken.
            with suppress(DatabaseError):
                session.rollback()
            raise
    return Applied(
        plan.id,
        session.address.place,
        tuple(step.id for step in steps),
        found_done,
        tuple(doubts),
        tuple(warnings),
        dry_run,
    )


def _reject_unknown(plan: UpgradePlan, skip: Sequence[str]) -> None:
    if unknown := sorted(set(skip) - {step.id for step in plan.steps}):
        listed = ", ".join(repr(step.id) for step in plan.steps) or "none"
        raise UsageError("--skip", f"the plan has no step {', '.join(map(repr, unknown))}; its steps are {listed}")


def _transactional(table: Table) -> bool:
    """Whether changes of this table are transactional; MySQL 5.1 created MyISAM tables, whose changes are not."""
    return table.name.upper() not in VIEW_TABLES or table.engine in (None, "InnoDB")


def _ignore_progress(_: Progress) -> None:
    """Discard progress reports."""


def _remaining(session: Session, plan: UpgradePlan, schema: Schema) -> tuple[Step, ...]:
    """The steps still to apply, after a check that the schema is the one that the plan was made for."""
    fresh = make_plan(schema, plan.target)
    if schema.fingerprint == plan.fingerprint:
        # Rows may have changed: row steps are planned again, schema steps are those of the plan.
        fresh_steps = {step.id: step for step in fresh.steps}
        if impossible := [step.id for step in plan.steps if step.kind.is_schema and step.id not in fresh_steps]:
            # The schema is unchanged, so rows prevent the step: new values do not fit the new type.
            raise PlanChangedError(session.address.place, [f"{', '.join(impossible)} is no longer possible"])
        return tuple(
            # What blocks a step depends on the user.
            replace(step, blocked=fresh_steps[step.id].blocked) if step.kind.is_schema else fresh_steps[step.id]
            for step in plan.steps
            if step.id in fresh_steps
        )
    differences = []
    if fresh.version != plan.version:
        differences.append(f"the schema version is {fresh.version}, the plan was made for {plan.version}")
    planned = {step.id: step for step in plan.steps}
    for step in fresh.steps:
        if step.kind.is_schema and (step.id not in planned or planned[step.id].statements != step.statements):
            differences.append(f"{step.id} is required ({step.statements[0]}) but not in the plan")
    if not differences and not _begun(session, plan, schema):
        differences.append("its columns, types or indexes differ, and this plan was never started")
    if differences:
        raise PlanChangedError(session.address.place, differences)
    return fresh.steps


def _begun(session: Session, plan: UpgradePlan, schema: Schema) -> bool:
    """Whether the journal has rows of the plan."""
    if not _existing_journal_tables(session):
        return False
    quote = session.dialect.quote
    rows = session.query(
        f"SELECT COUNT(*) FROM {quote(journal.JOURNAL.name)} WHERE {quote('PLAN_ID')} = :plan_id", {"plan_id": plan.id}
    )
    session.rollback()
    return bool(rows[0][0])


def _existing_journal_tables(session: Session) -> set[str]:
    return {name for name in (journal.JOURNAL.name, journal.BACKUP.name) if has_table(session, name)}


def has_table(session: Session, name: str) -> bool:
    """Whether the current schema has a table with this stored name."""
    sql = {
        "postgresql": "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = current_schema() AND c.relname = :name AND c.relkind IN ('r', 'p')",
        "derby": "SELECT COUNT(*) FROM SYS.SYSTABLES t JOIN SYS.SYSSCHEMAS s ON t.SCHEMAID = s.SCHEMAID "
        "WHERE s.SCHEMANAME = CURRENT SCHEMA AND t.TABLENAME = :name",
    }.get(
        session.dialect.name,
        "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = :name",
    )
    exists = bool(session.query(sql, {"name": name})[0][0])
    session.rollback()
    return exists


def _create_journal_tables(session: Session, progress: ProgressCallback) -> None:
    existing = _existing_journal_tables(session)
    for name, statement in journal.statements(session.dialect).items():
        if name not in existing:
            session.execute(statement)
            session.commit()
            progress(Progress(name, statement, 1, 1))


def _mark_finished_steps(session: Session, steps: tuple[Step, ...]) -> None:
    """Mark journal steps as done that an interrupted run began and that are no longer needed."""
    quote = session.dialect.quote
    table, state, step = quote(journal.JOURNAL.name), quote("STATE"), quote("STEP")
    open_steps = {
        str(row[0]) for row in session.query(f"SELECT DISTINCT {step} FROM {table} WHERE {state} = 'begun'")
    } - {remaining.id for remaining in steps}
    for step_id in sorted(open_steps):
        session.execute(
            f"UPDATE {table} SET {state} = 'done' WHERE {step} = :step AND {state} = 'begun'", {"step": step_id}
        )
    session.commit()


def _apply_steps(
    session: Session,
    plan: UpgradePlan,
    steps: tuple[Step, ...],
    batch_size: int | None,
    mangled: Sequence[int],
    progress: ProgressCallback,
) -> list[Doubt]:
    """Apply one step, or several that are one statement."""
    doubts: list[Doubt] = []
    step = steps[0]
    statements = step.statements
    if session.dialect.alter_list and len(steps) > 1:
        statements = (session.dialect.alter_list.merge([sql for each in steps for sql in each.statements]),)
    is_one_transaction = session.dialect.transactional_ddl and step.kind.is_schema
    for each in steps:
        _write_journal(session, plan, each, "begun")
    if not is_one_transaction:
        session.commit()
        progress(Progress(step.id, "begun", 0, len(statements)))
    if step.kind.is_schema or step.kind is Kind.FIRST_ROW:
        for number, statement in enumerate(statements, 1):
            session.execute(statement)
            progress(Progress(step.id, statement, number, len(statements)))
    else:
        doubts = run_row_step(session, plan, step, batch_size=batch_size, mangled=mangled, progress=progress)
    for each in steps:
        _write_journal(session, plan, each, "done")
    session.commit()
    for each in steps:
        progress(Progress(each.id, "done", len(statements), len(statements)))
    return doubts


def _write_journal(session: Session, plan: UpgradePlan, step: Step, state: str) -> None:
    """Write the state of a step into the journal, replacing the row of an interrupted run."""
    quote = session.dialect.quote
    table = quote(journal.JOURNAL.name)
    key = {"plan_id": plan.id, "step": step.id}
    where = f"{quote('PLAN_ID')} = :plan_id AND {quote('STEP')} = :step"
    session.execute(f"DELETE FROM {table} WHERE {where}", key)
    names = [column.name for column in journal.JOURNAL.columns]
    listed = ", ".join(f":{name.lower()}" for name in names)
    if state == "done":
        # An interrupted run of another plan began this step.
        others = f"{quote('STEP')} = :step AND {quote('STATE')} = 'begun'"
        session.execute(f"DELETE FROM {table} WHERE {others}", {"step": step.id})
    undo = step.undo
    session.execute(
        f"INSERT INTO {table} ({session.dialect.names(names)}) VALUES ({listed})",
        {
            **key,
            "state": state,
            "written_at": now(),
            "undo_check": (undo.declaration or undo.check) if undo else None,
            "undo": recorded(undo) if undo else None,
        },
    )


def recorded(undo: Undo) -> str:
    """The statements of an undo as the journal records them, for administrators."""
    return ";\n".join(undo.statements)


def without_rows(plan: UpgradePlan) -> UpgradePlan:
    """A plan without its row steps, e.g. while an old Hive still writes rows without types."""
    return replace(plan, steps=tuple(step for step in plan.steps if step.kind.is_schema or step.kind is Kind.FIRST_ROW))
