"""Roll back an upgrade: rows from the backup, and the schema where that loses no data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hive_views.errors import InvalidPlanError, MetastoreRunningError
from hive_views.schema_upgrade import journal
from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.execution import has_table
from hive_views.schema_upgrade.row_changes import now
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session, in_list


@dataclass(frozen=True)
class RolledBack:
    """The result of a rollback."""

    place: str
    """The database."""
    rows: int
    """Values restored; with `dry_run`, values that would be restored."""
    changed_since: tuple[str, ...]
    """Rows changed since the upgrade: they and their backup are left as they are."""
    undone: tuple[str, ...]
    """Schema steps that were undone."""
    kept: tuple[str, ...]
    """Schema steps that were not undone, each with the reason."""
    dry_run: bool
    """Whether this was a dry run, which writes nothing."""


_FIELDS = ("PLAN_ID", "STEP", "FIELD", "FIRST_ID", "ROW_IDS", "OLD_VALUE", "NEW_VALUE", "WRITTEN_AT")


def rollback(
    session: Session,
    *,
    plan_id: str | None = None,
    schema: bool = False,
    dry_run: bool = False,
    while_running: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> RolledBack:
    """Restore the old values of rows and, with `schema`, remove what was added to the schema.

    A value is restored only if the row still holds what the upgrade wrote. An interrupted rollback can be repeated.

    Args:
        session: The database.
        plan_id: The plan to roll back; None means all plans, the latest first.
        schema: Whether schema steps are undone as well, if no row loses data.
        dry_run: Report what would be done and write nothing.
        while_running: Continue although other sessions use the database.
        progress: Called after every statement that changes something.

    Returns:
        The restored values and undone steps.

    Raises:
        InvalidPlanError: If no plan with that ID was applied.
        MetastoreRunningError: If other sessions use the database and `while_running` is false.
        DatabaseError: If the database fails; committed changes remain.
    """
    if plan_id is not None and not _is_applied(session, plan_id):
        raise InvalidPlanError(f"no plan {plan_id} was applied to {session.address.place}")
    other_sessions = [] if dry_run or while_running else session.other_sessions()
    if other_sessions:
        raise MetastoreRunningError(session.address.place, other_sessions)
    rows, changed = 0, list[str]()
    if has_table(session, journal.BACKUP.name):
        rows, changed = _restore_rows(session, plan_id, dry_run, progress)
    undone, kept = list[str](), list[str]()
    if schema and has_table(session, journal.JOURNAL.name):
        undone, kept = _undo_schema(session, plan_id, dry_run, progress)
    return RolledBack(session.address.place, rows, tuple(changed), tuple(undone), tuple(kept), dry_run)


def _is_applied(session: Session, plan_id: str) -> bool:
    """Whether the journal or the backup has rows of a plan (a rendered script writes no journal)."""
    quote = session.dialect.quote
    for table in (journal.JOURNAL.name, journal.BACKUP.name):
        if has_table(session, table):
            sql = f"SELECT COUNT(*) FROM {quote(table)} WHERE {quote('PLAN_ID')} = :plan_id"
            count = session.query(sql, {"plan_id": plan_id})[0][0]
            session.rollback()
            if count:
                return True
    return False


def _restore_rows(
    session: Session, plan_id: str | None, dry_run: bool, progress: Callable[[str], None]
) -> tuple[int, list[str]]:
    quote = session.dialect.quote
    table = quote(journal.BACKUP.name)
    chosen = f" WHERE {quote('PLAN_ID')} = :plan_id" if plan_id else ""
    listed = session.query(
        f"SELECT {session.dialect.names(_FIELDS)} FROM {table}{chosen} "
        f"ORDER BY {quote('WRITTEN_AT')} DESC, {quote('FIRST_ID')} DESC",
        {"plan_id": plan_id} if plan_id else None,
    )
    session.rollback()
    done, changed = 0, list[str]()
    for plan, step, field, first, ids, old, new, written in listed:
        row_ids = journal.unpack(ids)
        unchanged = _rows_with_value(session, field, row_ids, new, lock=not dry_run)
        changed += [f"TBL_ID {row_id}: {field}" for row_id in sorted(set(row_ids).difference(unchanged))]
        done += len(unchanged)
        if dry_run:
            session.rollback()
            continue
        if unchanged:
            _restore(session, field, unchanged, old)
            progress("UPDATE TBLS")
        if len(unchanged) == len(row_ids):
            key = {"plan_id": plan, "step": step, "field": field, "first_id": first, "written_at": written}
            where = " AND ".join(f"{quote(name.upper())} = :{name}" for name in key)
            session.execute(f"DELETE FROM {table} WHERE {where}", key)
        session.commit()
        progress("COMMIT")
    return done, changed


def _rows_with_value(session: Session, field: str, ids: list[int], value: str | None, *, lock: bool) -> list[int]:
    """The rows that still hold a value, locked until they are changed."""
    quote = session.dialect.quote
    rows = session.query(
        f"SELECT {quote('TBL_ID')}, {quote(field)} FROM {quote('TBLS')} WHERE {quote('TBL_ID')} IN ({in_list(ids)}) "
        f"ORDER BY {quote('TBL_ID')}{session.dialect.locked if lock else ''}"
    )
    return [int(row[0]) for row in rows if _same(row[1], value)]


def _same(stored: object, expected: str | None) -> bool:
    """Whether a stored value equals the text of the backup; flags are bits or booleans in some databases."""
    if isinstance(stored, bytes):
        stored = bool(int.from_bytes(stored, "big"))
    if isinstance(stored, bool):
        return expected in ("false", "0") if not stored else expected in ("true", "1")
    return (str(stored) if isinstance(stored, int) else stored) == expected


def _restore(session: Session, field: str, ids: list[int], old: str | None) -> None:
    quote = session.dialect.quote
    value = "NULL" if old is None else ":old"
    session.execute(
        f"UPDATE {quote('TBLS')} SET {quote(field)} = {value} WHERE {quote('TBL_ID')} IN ({in_list(ids)})",
        None if old is None else {"old": old},
    )


def _undo_schema(
    session: Session, plan_id: str | None, dry_run: bool, progress: Callable[[str], None]
) -> tuple[list[str], list[str]]:
    quote = session.dialect.quote
    table = quote(journal.JOURNAL.name)
    chosen = f" AND {quote('PLAN_ID')} = :plan_id" if plan_id else ""
    fields = ["PLAN_ID", "STEP", "UNDO_CHECK", "UNDO", "WRITTEN_AT", "STATE"]
    listed = session.query(
        f"SELECT {session.dialect.names(fields)} FROM {table} WHERE {quote('STATE')} <> 'undone'{chosen}",
        {"plan_id": plan_id} if plan_id else None,
    )
    session.rollback()
    undone, kept = list[str](), list[str]()
    current = detect(session, rows=False)
    # In reverse order: what refers to a table was created after it.
    for plan, step, check, undo, _, state in sorted(listed, key=lambda row: str(row[4]), reverse=True):
        if undo is None:
            if not step.startswith("rows "):
                kept.append(f"{step}: not undone, because older versions of Hive read it as well")
            continue
        if state == "begun":
            kept.append(f"{step}: started and not finished. Apply the plan again first")
            continue
        # It may already be gone: removed by an interrupted rollback or by another program.
        exists = _exists(current, step)
        loss = int(session.query(check)[0][0]) if check and exists else 0
        session.rollback()
        if loss:
            kept.append(f"{step}: {loss} row(s) hold values that would be lost")
            continue
        undone.append(step)
        if dry_run:
            continue
        for statement in undo.split(";\n") if exists else ():
            session.execute(statement)
            progress(statement)
        session.execute(
            f"UPDATE {table} SET {quote('STATE')} = 'undone', {quote('WRITTEN_AT')} = :at "
            f"WHERE {quote('PLAN_ID')} = :plan_id AND {quote('STEP')} = :step",
            {"plan_id": plan, "step": step, "at": now()},
        )
        session.commit()
    return undone, kept


def _exists(schema: Schema, step: str) -> bool:
    """Whether the object that a step added exists: `TABLE`, `TABLE.COLUMN` or `TABLE index NAME`."""
    table_name, is_index, index_name = step.partition(" index ")
    table_name, _, column = table_name.partition(".")
    table = schema.table(table_name)
    if table is None:
        return False
    if is_index:
        return any(index.name.upper() == index_name.upper() for index in table.indexes)
    return not column or table.column(column) is not None
