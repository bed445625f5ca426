"""Roll back an upgrade: restore rows from the backup, and undo schema changes where that loses no data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial

from hive_views.errors import DatabaseError, InvalidPlanError, MetastoreRunningError, UpgradeError
from hive_views.schema_upgrade import journal, versions, view_texts
from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.execution import recorded
from hive_views.schema_upgrade.journal import StepState
from hive_views.schema_upgrade.obstacles import check_rollback
from hive_views.schema_upgrade.plan_model import Undo
from hive_views.schema_upgrade.requirements import (
    REQUIREMENTS,
    Addition,
    NeededIndex,
    Recoding,
    Requirement,
    Widening,
)
from hive_views.schema_upgrade.row_changes import COMMIT, Progress, ProgressCallback, naming_committed_steps, now
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session, in_list
from hive_views.schema_upgrade.undo import declared, undo_of


@dataclass(frozen=True, kw_only=True)
class RolledBack:
    """The result of a rollback."""

    place: str
    """The database."""
    rows: int
    """Values restored; with `dry_run`, values that would be restored."""
    changed_since: tuple[str, ...]
    """Rows changed since the upgrade; these and their backup are left unchanged."""
    undone: tuple[str, ...]
    """Schema steps that were undone."""
    kept: tuple[str, ...]
    """Schema steps that were not undone, each with the reason."""
    dry_run: bool
    """Whether this was a dry run, which writes nothing."""


_FIELDS = ("TBL_TYPE", "IS_REWRITE_ENABLED", "WRITE_ID", *view_texts.COLUMNS)
"""The columns of TBLS that upgrades change. Backup rows are checked, since other programs can write into the table."""

_MAX_IDS = 1_000_000
"""Maximum number of row IDs in one backup row; a batch has far fewer."""


@dataclass(frozen=True, kw_only=True)
class _RecordedChange:
    """A row of the backup without its values, which can be long texts."""

    plan: str
    step: str
    table: str
    field: str
    first_id: int
    ids: str
    written_at: str


def rollback(
    session: Session,
    *,
    plan_id: str | None = None,
    schema: bool = False,
    dry_run: bool = False,
    while_running: bool = False,
    progress: ProgressCallback = lambda _: None,
) -> RolledBack:
    """Restore the old values of rows and, with `schema`, remove what was added to the schema.

    A value is restored only if the row still holds the value that the upgrade wrote. An interrupted rollback can be
    repeated. No SQL of the journal is executed: the statements are computed from the names of the steps, and a step
    whose recorded statements differ is kept.

    Args:
        session: The database.
        plan_id: The plan to roll back; None means all plans, the latest first.
        schema: Whether schema steps are undone as well, if no row loses data.
        dry_run: Report what would be done and write nothing.
        while_running: Continue although other sessions use the database.
        progress: Called after every statement that changes something and after every commit of a batch.

    Raises:
        InvalidPlanError: If no plan with that ID was applied.
        NotAMetastoreError: If the database is not a metastore.
        UpgradeError: If no upgrade is recorded; if the backup is missing or may be hidden from the user, or has rows
            that an upgrade did not write; or if another upgrade or rollback runs.
        MetastoreRunningError: If other sessions use the database and `while_running` is false.
        DatabaseError: If the database fails; committed changes remain, and `completed_steps` names them.
    """
    other_sessions = [] if dry_run or while_running else session.other_sessions()
    if other_sessions:
        raise MetastoreRunningError(session.address.place, other_sessions)
    # Lock first: another upgrade must not change the data that is read here.
    with nullcontext() if dry_run else session.exclusive():
        current = detect(session, rows=False)
        check_rollback(session, schema=schema)
        has_backup, has_journal = (table.name in current.own_tables for table in (journal.BACKUP, journal.JOURNAL))
        steps = _journal_rows(session, plan_id) if has_journal else []
        if plan_id is not None and not steps and not (has_backup and _changes(session, plan_id)):
            raise InvalidPlanError(f"no plan {plan_id} was applied to {session.address.place}")
        if not has_backup and not has_journal:
            raise UpgradeError(
                session.address.place,
                f"no upgrade is recorded: {f'the schema {current.db_schema}' if current.db_schema else 'the database'} "
                f"has neither {journal.JOURNAL.name} nor {journal.BACKUP.name}",
            )
        if not has_backup and any(row.step.startswith("rows ") and row.state == StepState.DONE for row in steps):
            raise UpgradeError(
                session.address.place,
                f"the journal records changes of rows, but there is no table {journal.BACKUP.name}: it was dropped or "
                "is in another schema. Without it rows cannot be restored",
            )
        with nullcontext(progress) if dry_run else naming_committed_steps(progress, "undone") as report:
            rows, changed = _restore_rows(session, current, plan_id, dry_run, report) if has_backup else (0, [])
            undone, kept = _undo_schema(session, current, steps, dry_run, report) if schema else ([], [])
    return RolledBack(
        place=session.address.place,
        rows=rows,
        changed_since=tuple(changed),
        undone=tuple(undone),
        kept=tuple(kept),
        dry_run=dry_run,
    )


def _changes(session: Session, plan_id: str | None) -> list[_RecordedChange]:
    """Return the rows of the backup, the latest first."""
    sql = "SELECT [PLAN_ID], [STEP], [TABLE_NAME], [FIELD], [FIRST_ID], [ROW_IDS], [WRITTEN_AT] "
    sql += f"FROM [{journal.BACKUP.name}]{' WHERE [PLAN_ID] = :plan_id' if plan_id else ''}"
    listed = session.query(session.dialect.sql(sql), {"plan_id": plan_id} if plan_id else None)
    session.rollback()
    changes = [
        _RecordedChange(
            plan=plan, step=step, table=table, field=field, first_id=int(first), ids=ids, written_at=written
        )
        for plan, step, table, field, first, ids, written in listed
    ]
    # Scripts of older versions of hive_views wrote no time.
    order = sorted(changes, key=lambda change: (change.written_at[:1].isdigit(), change.written_at, change.first_id))
    return order[::-1]


def _check(session: Session, change: _RecordedChange) -> list[int]:
    """Return the row IDs of a backup row; raises UpgradeError if hive_views did not write it."""
    if change.table == "TBLS" and change.field in _FIELDS:
        with suppress(ValueError, OverflowError):
            return journal.unpack(change.ids, _MAX_IDS)
    raise UpgradeError(
        session.address.place,
        f"{journal.BACKUP.name} has a row that hive_views did not write (TABLE_NAME {change.table!r}, FIELD "
        f"{change.field!r}, ROW_IDS {change.ids[:40]!r}): nothing was restored. Find out who wrote it and delete it",
    )


_Simulated = dict[tuple[str, int], str | None]
"""Values of columns and rows that a dry run would have restored."""


def _restore_rows(
    session: Session, current: Schema, plan_id: str | None, dry_run: bool, progress: ProgressCallback
) -> tuple[int, list[str]]:
    remaining = {change: _check(session, change) for change in _changes(session, plan_id)}
    done, total = 0, sum(map(len, remaining.values()))
    simulated: _Simulated | None = {} if dry_run else None
    # A row that was changed several times is restored in several passes, since clocks may differ and the order of
    # backup rows is not reliable.
    while remaining:
        restored = 0
        for change, row_ids in list(remaining.items()):
            if current.column("TBLS", change.field) is None:
                # An earlier rollback dropped the column; backup rows of tables dropped before that were kept.
                continue
            unchanged = _restore_change(session, change, row_ids, simulated, progress)
            restored += len(unchanged)
            progress(Progress(change.step, COMMIT, done + restored, total))
            remaining[change] = sorted(set(row_ids).difference(unchanged))
            if not remaining[change]:
                del remaining[change]
        done += restored
        if not restored:
            break
    return done, [f"TBL_ID {row_id}: {change.field}" for change, ids in remaining.items() for row_id in ids]


def _restore_change(
    session: Session,
    change: _RecordedChange,
    row_ids: list[int],
    simulated: _Simulated | None,
    progress: ProgressCallback,
) -> list[int]:
    """Restore the rows that still hold the new value; returns their IDs."""
    sql, table = session.dialect.sql, f"[{journal.BACKUP.name}]"
    key = {
        "plan_id": change.plan,
        "step": change.step,
        "field": change.field,
        "first_id": change.first_id,
        "written_at": change.written_at,
    }
    where = " AND ".join(f"[{name.upper()}] = :{name}" for name in key)
    values = session.query(sql(f"SELECT [OLD_VALUE], [NEW_VALUE] FROM {table} WHERE {where}"), key)
    unchanged: list[int] = []
    # Several rows, in any order, have the same key if scripts of older versions of hive_views ran more than once.
    for old, new in values * len(values):
        matching = _rows_with_value(session, change.field, row_ids, new, simulated)
        if simulated is not None:
            simulated |= {(change.field, row_id): old for row_id in matching}
        elif matching:
            _restore(session, change.field, matching, old)
            progress(Progress(change.step, "UPDATE TBLS", 0, len(row_ids)))
        unchanged += matching
    if simulated is None and unchanged:
        if len(set(unchanged)) == len(row_ids):
            session.execute(sql(f"DELETE FROM {table} WHERE {where}"), key)
        else:
            left = journal.pack(sorted(set(row_ids).difference(unchanged)))
            session.execute(sql(f"UPDATE {table} SET [ROW_IDS] = :row_ids WHERE {where}"), {**key, "row_ids": left})
        session.commit()
    else:
        session.rollback()
    return unchanged


def _rows_with_value(
    session: Session, field: str, ids: list[int], value: str | None, simulated: _Simulated | None
) -> list[int]:
    """Return the rows that still hold a value, locked until the transaction ends.

    In a dry run, those that would hold it.
    """
    lock = session.dialect.locked if simulated is None else ""
    sql = f"SELECT [TBL_ID], [{field}] FROM [TBLS] WHERE [TBL_ID] IN ({in_list(ids)}) ORDER BY [TBL_ID]{lock}"
    rows = session.query(session.dialect.sql(sql))
    if simulated:
        rows = [(row_id, simulated.get((field, int(row_id)), stored)) for row_id, stored in rows]
    return [int(row_id) for row_id, stored in rows if _same(stored, value)]


def _same(stored: object, expected: str | None) -> bool:
    """Return whether a stored value equals the text of the backup; flags are bits or booleans in some databases."""
    if isinstance(stored, bytes):
        stored = bool(int.from_bytes(stored, "big"))
    if isinstance(stored, bool):
        return expected in ("false", "0") if not stored else expected in ("true", "1")
    return (str(stored) if isinstance(stored, int) else stored) == expected


def _restore(session: Session, field: str, ids: list[int], old: str | None) -> None:
    value = "NULL" if old is None else ":old"
    sql = session.dialect.sql(f"UPDATE [TBLS] SET [{field}] = {value} WHERE [TBL_ID] IN ({in_list(ids)})")
    session.execute(sql, None if old is None else {"old": old})


@dataclass(frozen=True)
class _JournalRow:
    plan: str
    step: str
    check: str | None
    undo: str | None
    written_at: str
    state: str


def _journal_rows(session: Session, plan_id: str | None) -> list[_JournalRow]:
    """The steps that are not undone yet, latest first, since objects that refer to a table were created after it."""
    sql = f"SELECT [PLAN_ID], [STEP], [UNDO_CHECK], [UNDO], [WRITTEN_AT], [STATE] FROM [{journal.JOURNAL.name}] "
    sql += "WHERE [STATE] <> 'undone'" + (" AND [PLAN_ID] = :plan_id" if plan_id else "")
    listed = session.query(session.dialect.sql(sql), {"plan_id": plan_id} if plan_id else None)
    session.rollback()
    return sorted((_JournalRow(*row) for row in listed), key=lambda row: row.written_at, reverse=True)


def _undo_schema(
    session: Session, current: Schema, rows: list[_JournalRow], dry_run: bool, progress: ProgressCallback
) -> tuple[list[str], list[str]]:
    """Undo the steps whose undoing loses no data; returns these, and the others with the reasons."""
    versions_before = {row.plan: row.check for row in rows if row.step == journal.VERSION_STEP}
    undone, kept = list[str](), list[str]()
    for row in rows:
        step = row.step
        if step == journal.VERSION_STEP:
            continue
        requirement = REQUIREMENTS.get(step)
        table = current.table(requirement.table) if requirement else None
        undo = undo_of(session.dialect, step, table.name if table else "", row.check)
        if undo is None:
            if row.undo is not None:
                kept.append(f"{step}: it is no step of hive_views, so its SQL in the journal is not executed")
            elif not step.startswith("rows "):
                kept.append(f"{step}: not undone, because every version of Hive works with it")
            continue
        if row.state == StepState.BEGUN:
            kept.append(f"{step}: started and not finished. Apply the plan again first")
            continue
        # An interrupted rollback or another program may have removed it already.
        exists = requirement is not None and _is_met(current, requirement, undo.declaration)
        if exists and (row.check, row.undo) != (undo.declaration or undo.check, recorded(undo)):
            kept.append(f"{step}: the SQL in the journal is not that of the step, and is not executed")
            continue
        if requirement and _is_hives(current, requirement.since, versions_before.get(row.plan)):
            kept.append(f"{step}: it belongs to the schema of Hive {current.version}, to which Hive has been upgraded")
            continue
        target = table.name if table and exists else None
        if loss := _undo_step(session, undo, target, partial(_report, progress, step, undo), dry_run):
            kept.append(f"{step}: {loss}")
            session.rollback()
            continue
        undone.append(step)
        if dry_run:
            session.rollback()
            continue
        sql = f"UPDATE [{journal.JOURNAL.name}] SET [STATE] = '{StepState.UNDONE}', [WRITTEN_AT] = :at "
        sql += "WHERE [PLAN_ID] = :plan_id AND [STEP] = :step"
        session.execute(session.dialect.sql(sql), {"plan_id": row.plan, "step": step, "at": now()})
        session.commit()
        progress(Progress(step, StepState.DONE, len(undo.statements), len(undo.statements)))
        if undo.declaration is not None:
            # Restoring one declaration may undo two steps, that of the length and that of the character set.
            current = detect(session, rows=False)
    return undone, kept


def _report(progress: ProgressCallback, step: str, undo: Undo, number: int, statement: str) -> None:
    progress(Progress(step, statement, number, len(undo.statements)))


def _is_hives(current: Schema, since: str | None, version_before: str | None) -> bool:
    """Whether Hive's scripts, run after the upgrade, raised the version to one whose schema has what a step added."""
    before = versions.chain_version(version_before or "")
    return (
        since is not None
        and before is not None
        and versions.at_least(current.version, since)
        and not versions.at_least(before, since)
    )


def _undo_step(
    session: Session, undo: Undo, table: str | None, report: Callable[[int, str], None], dry_run: bool
) -> str | None:
    """Undo a step; returns the reason if it is kept. `table` is None if the table no longer exists.

    The table is locked from the check to the change, so that no row written between them is lost.
    """
    if table is None:
        return None
    lock, unlock = (session.dialect.lock(table) if undo.check and not dry_run else None) or ("", "")
    if lock:
        session.execute(lock)
    try:
        count, *first = session.query(undo.check)[0] if undo.check else (0,)
        if count:
            remedy = f", the first with ID {first[0]}: shorten them, or keep the column" if first else ""
            return f"{count} row(s) hold values that would be lost{remedy}"
        for number, statement in enumerate(() if dry_run else undo.statements, 1):
            session.execute(statement)
            report(number, statement)
    finally:
        if unlock:
            # If the connection is broken, the lock is released already.
            with suppress(DatabaseError):
                session.execute(unlock)
    return None


def _is_met(schema: Schema, requirement: Requirement, declaration: str | None) -> bool:
    """Return whether the object that a step added exists, or a changed column differs from its earlier declaration."""
    table = schema.table(requirement.table)
    if table is None:
        return False
    match requirement:
        case NeededIndex(name=name):
            return any(index.name.upper() == name for index in table.indexes)
        case Addition(column=needed):
            return table.column(needed.name) is not None
        case Widening(column=name) | Recoding(column=name):
            return table.column(name) != declared(declaration)
    return True
