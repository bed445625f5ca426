"""Carry out a plan: step by step, each in a transaction where the database has transactional DDL.

Where it has not (MySQL, MariaDB), a step of the schema is one statement, and what is done is read from the schema, not
from a note about it: so a run that was killed anywhere is simply run again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from hive_views.errors import DatabaseError, InvalidPlanError, MetastoreRunningError, PlanChangedError, UpgradeError
from hive_views.schema_upgrade import journal
from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.plan_model import Kind, Plan, Step
from hive_views.schema_upgrade.planner import plan as make_plan
from hive_views.schema_upgrade.row_changes import Doubt, Progress, Tell, now, run_row_step
from hive_views.schema_upgrade.schema import VIEW_TABLES, Schema, Table
from hive_views.schema_upgrade.session import Session


@dataclass(frozen=True)
class Applied:
    """What an upgrade did."""

    plan_id: str
    """The plan's id: what journal and backup are filed under."""
    place: str
    """The database."""
    done: tuple[str, ...]
    """Ids of the steps that were carried out now; with `dry_run`, that would be."""
    found_done: tuple[str, ...]
    """Ids of steps of the plan that were done already."""
    doubts: tuple[Doubt, ...]
    """Rows whose type could not be decided, or contradicts the rest of the row."""
    warnings: tuple[str, ...]
    """What a person should know."""
    dry_run: bool
    """Whether nothing was written."""


def apply(
    session: Session,
    plan: Plan,
    *,
    dry_run: bool = False,
    while_running: bool = False,
    batch_size: int | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Applied:
    """Carry out a plan. A run that was killed is continued by running it again, with the same plan or a new one.

    Args:
        session: The database that the plan is for.
        plan: The plan.
        dry_run: Check everything and write nothing.
        while_running: Go on although other sessions use the database.
        batch_size: Rows of TBLS that one transaction of a row step looks at; None takes the database's own.
        tell: Called after every statement, and after every commit of a batch.

    Returns:
        What was done.

    Raises:
        InvalidPlanError: If the plan is for another database.
        PlanChangedError: If the database is not as it was when the plan was made.
        MetastoreRunningError: If other sessions use the database, and that was not allowed.
        UpgradeError: If a table that may be changed has no transactions.
        DatabaseError: If the database fails. What was committed before stays; run it again.
    """
    if plan.dialect != session.dialect.name or plan.place not in ("", session.address.place):
        raise InvalidPlanError(f"it was made for {plan.place or plan.dialect}, not for {session.address.place}")
    schema = detect(session)
    if plan.db_schema not in ("", schema.db_schema):
        raise InvalidPlanError(f"it was made for the schema {plan.db_schema}, not for {schema.db_schema}")
    if unsafe := [table.name for table in schema.tables if not _transactional(table)]:
        raise UpgradeError(
            session.address.place,
            f"{', '.join(unsafe)} has no transactions (MySQL's old engine MyISAM), so a change and its backup would "
            "not be one: first ALTER TABLE … ENGINE=InnoDB",
        )
    steps = _remaining(session, plan, schema)
    others = session.others()
    if others and not while_running and not dry_run:
        raise MetastoreRunningError(session.address.place, others)
    warnings = [f"{len(others)} other session(s) use the database: {'; '.join(others)}"] if others else []
    found_done = tuple(step.id for step in plan.steps if step.id not in {each.id for each in steps})
    doubts: list[Doubt] = []
    if not dry_run and steps:
        try:
            _make_own_tables(session, tell or _silent)
            _settle(session, steps)
            for step in steps:
                doubts += _carry_out(session, plan, step, batch_size, tell or _silent)
        except DatabaseError:
            # The session can be used again, unless it is the connection that broke.
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


def _transactional(table: Table) -> bool:
    """Whether a table that a plan may change takes part in transactions; MySQL 5.1 made tables that do not."""
    return table.name.upper() not in VIEW_TABLES or table.engine in (None, "InnoDB")


def _silent(_: Progress) -> None:
    pass


def _remaining(session: Session, plan: Plan, schema: Schema) -> tuple[Step, ...]:
    """The steps that are still to be done, after a check that the database is the one that the plan was made for."""
    fresh = make_plan(schema, plan.target)
    if schema.fingerprint == plan.fingerprint:
        # Rows come and go: what is to be done about them is found anew, and changes nothing else.
        known = {step.id: step for step in fresh.steps}
        if gone := [step.id for step in plan.steps if step.kind.is_schema and step.id not in known]:
            # The schema is the same, so rows forbid it: values that came since would not fit the new type.
            raise PlanChangedError(session.address.place, [f"{', '.join(gone)} is no longer possible"])
        return tuple(known.get(step.id, step) for step in plan.steps if step.kind.is_schema or step.id in known)
    differences = []
    if fresh.version != plan.version:
        differences.append(f"the schema is of {fresh.version}, and was of {plan.version}")
    known = {step.id: step for step in plan.steps}
    for step in fresh.steps:
        if step.kind.is_schema and (step.id not in known or known[step.id].statements != step.statements):
            differences.append(f"{step.id} is to be done ({step.statements[0]}), which the plan does not say")
    if not differences and not _begun(session, plan, schema):
        differences.append("its columns, types or indexes are others, and this plan was never begun")
    if differences:
        raise PlanChangedError(session.address.place, differences)
    return fresh.steps


def _begun(session: Session, plan: Plan, schema: Schema) -> bool:
    """Whether the journal knows the plan."""
    if not _own_tables(session):
        return False
    quote = session.dialect.quote
    rows = session.query(
        f"SELECT COUNT(*) FROM {quote(journal.JOURNAL.name)} WHERE {quote('PLAN_ID')} = :plan_id", {"plan_id": plan.id}
    )
    session.rollback()
    return bool(rows[0][0])


def _own_tables(session: Session) -> set[str]:
    wanted = {journal.JOURNAL.name, journal.BACKUP.name}
    return {name for name in wanted if has_table(session, name)}


def has_table(session: Session, name: str) -> bool:
    """Whether a table is there.

    Args:
        session: The database.
        name: Its name as stored.

    Returns:
        True if so.
    """
    sql = {
        "postgresql": "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() "
        "AND table_name = :name",
        "derby": "SELECT COUNT(*) FROM SYS.SYSTABLES t JOIN SYS.SYSSCHEMAS s ON t.SCHEMAID = s.SCHEMAID "
        "WHERE s.SCHEMANAME = CURRENT SCHEMA AND t.TABLENAME = :name",
    }.get(
        session.dialect.name,
        "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = :name",
    )
    found = bool(session.query(sql, {"name": name})[0][0])
    session.rollback()
    return found


def _make_own_tables(session: Session, tell: Tell) -> None:
    there = _own_tables(session)
    for name, statement in journal.statements(session.dialect).items():
        if name not in there:
            session.execute(statement)
            session.commit()
            tell(Progress(name, statement, 1, 1))


def _settle(session: Session, steps: tuple[Step, ...]) -> None:
    """Steps that were begun by a killed run and are no longer needed were done: the journal says so from now on."""
    quote = session.dialect.quote
    table, state, step = quote(journal.JOURNAL.name), quote("STATE"), quote("STEP")
    open_steps = {
        str(row[0]) for row in session.query(f"SELECT DISTINCT {step} FROM {table} WHERE {state} = 'begun'")
    } - {each.id for each in steps}
    for each in sorted(open_steps):
        session.execute(
            f"UPDATE {table} SET {state} = 'done' WHERE {step} = :step AND {state} = 'begun'", {"step": each}
        )
    session.commit()


def _carry_out(session: Session, plan: Plan, step: Step, batch_size: int | None, tell: Tell) -> list[Doubt]:
    doubts: list[Doubt] = []
    together = session.dialect.transactional_ddl and step.kind.is_schema
    _note(session, plan, step, "begun")
    if not together:
        session.commit()
        tell(Progress(step.id, "begun", 0, len(step.statements)))
    if step.kind.is_schema or step.kind is Kind.FIRST_ROW:
        for number, statement in enumerate(step.statements, 1):
            session.execute(statement)
            tell(Progress(step.id, statement, number, len(step.statements)))
    else:
        doubts = run_row_step(session, plan, step, batch_size=batch_size, tell=tell)
    _note(session, plan, step, "done")
    session.commit()
    tell(Progress(step.id, "done", len(step.statements), len(step.statements)))
    return doubts


def _note(session: Session, plan: Plan, step: Step, state: str) -> None:
    """Write a step's state into the journal, over what a killed run left of it."""
    quote = session.dialect.quote
    table = quote(journal.JOURNAL.name)
    key = {"plan_id": plan.id, "step": step.id}
    where = f"{quote('PLAN_ID')} = :plan_id AND {quote('STEP')} = :step"
    session.execute(f"DELETE FROM {table} WHERE {where}", key)
    names = [column.name for column in journal.JOURNAL.columns]
    listed = ", ".join(f":{name.lower()}" for name in names)
    undo = step.undo
    session.execute(
        f"INSERT INTO {table} ({session.dialect.names(names)}) VALUES ({listed})",
        {
            **key,
            "state": state,
            "written_at": now(),
            "undo_check": undo.check if undo else None,
            "undo": ";\n".join(undo.statements) if undo else None,
        },
    )


def without_rows(plan: Plan) -> Plan:
    """A plan without the steps that change rows, e.g. while an old Hive still writes rows without types.

    Args:
        plan: A plan.

    Returns:
        The steps of the schema alone, under the same id.
    """
    return replace(plan, steps=tuple(step for step in plan.steps if step.kind.is_schema or step.kind is Kind.FIRST_ROW))
