"""Take an upgrade back: rows from the backup, and the schema where nothing would be lost by it."""

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
    """What a rollback did."""

    place: str
    """The database."""
    rows: int
    """Values that were put back; with `dry_run`, that would be."""
    changed_since: tuple[str, ...]
    """Rows that somebody else changed since: left as they are, and their backup with them."""
    undone: tuple[str, ...]
    """Steps of the schema that were undone."""
    kept: tuple[str, ...]
    """Steps of the schema that were not, each with the reason."""
    dry_run: bool
    """Whether nothing was written."""


_FIELDS = ("PLAN_ID", "STEP", "FIELD", "FIRST_ID", "ROW_IDS", "OLD_VALUE", "NEW_VALUE", "WRITTEN_AT")


def rollback(
    session: Session,
    *,
    plan_id: str | None = None,
    schema: bool = False,
    dry_run: bool = False,
    while_running: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> RolledBack:
    """Put back what rows held before, and with `schema` take away what was added to the schema.

    A value is put back only where the row still holds what the upgrade wrote. It can be repeated, and goes on where it
    was stopped.

    Args:
        session: The database.
        plan_id: The plan to take back; None takes all, the latest first.
        schema: Whether the steps of the schema are undone as well: only those by which no row loses anything.
        dry_run: Say what would be done, and write nothing.
        while_running: Go on although other sessions use the database.
        tell: Called after every statement that changes something.

    Returns:
        What was done.

    Raises:
        InvalidPlanError: If no plan of that id was carried out.
        MetastoreRunningError: If other sessions use the database, and that was not allowed.
        DatabaseError: If the database fails; what was committed before stays.
    """
    if plan_id is not None and not _known(session, plan_id):
        raise InvalidPlanError(f"no plan {plan_id} was carried out on {session.address.place}")
    others = [] if dry_run or while_running else session.others()
    if others:
        raise MetastoreRunningError(session.address.place, others)
    rows, changed = 0, list[str]()
    if has_table(session, journal.BACKUP.name):
        rows, changed = _rows(session, plan_id, dry_run, tell)
    undone, kept = list[str](), list[str]()
    if schema and has_table(session, journal.JOURNAL.name):
        undone, kept = _schema(session, plan_id, dry_run, tell)
    return RolledBack(session.address.place, rows, tuple(changed), tuple(undone), tuple(kept), dry_run)


def _known(session: Session, plan_id: str) -> bool:
    """Whether journal or backup (a script keeps no journal) have a plan."""
    quote = session.dialect.quote
    for table in (journal.JOURNAL.name, journal.BACKUP.name):
        if has_table(session, table):
            sql = f"SELECT COUNT(*) FROM {quote(table)} WHERE {quote('PLAN_ID')} = :plan_id"
            found = session.query(sql, {"plan_id": plan_id})[0][0]
            session.rollback()
            if found:
                return True
    return False


def _rows(session: Session, plan_id: str | None, dry_run: bool, tell: Callable[[str], None]) -> tuple[int, list[str]]:
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
        wanted = journal.unpack(ids)
        held = _holding(session, field, wanted, new, lock=not dry_run)
        changed += [f"TBL_ID {each}: {field}" for each in sorted(set(wanted).difference(held))]
        done += len(held)
        if dry_run:
            session.rollback()
            continue
        if held:
            _put_back(session, field, held, old)
            tell("UPDATE TBLS")
        if len(held) == len(wanted):
            key = {"plan_id": plan, "step": step, "field": field, "first_id": first, "written_at": written}
            where = " AND ".join(f"{quote(name.upper())} = :{name}" for name in key)
            session.execute(f"DELETE FROM {table} WHERE {where}", key)
        session.commit()
        tell("COMMIT")
    return done, changed


def _holding(session: Session, field: str, ids: list[int], value: str | None, *, lock: bool) -> list[int]:
    """Those of the rows that still hold a value; locked, so that they hold it when they are changed."""
    quote = session.dialect.quote
    rows = session.query(
        f"SELECT {quote('TBL_ID')}, {quote(field)} FROM {quote('TBLS')} WHERE {quote('TBL_ID')} IN ({in_list(ids)}) "
        f"ORDER BY {quote('TBL_ID')}{session.dialect.locked if lock else ''}"
    )
    return [int(row[0]) for row in rows if _same(row[1], value)]


def _same(found: object, wanted: str | None) -> bool:
    if isinstance(found, bytes):
        found = bool(int.from_bytes(found, "big"))
    if isinstance(found, bool):
        return wanted in ("false", "0") if not found else wanted in ("true", "1")
    return found == wanted


def _put_back(session: Session, field: str, ids: list[int], old: str | None) -> None:
    quote = session.dialect.quote
    value = "NULL" if old is None else ":old"
    session.execute(
        f"UPDATE {quote('TBLS')} SET {quote(field)} = {value} WHERE {quote('TBL_ID')} IN ({in_list(ids)})",
        None if old is None else {"old": old},
    )


def _schema(
    session: Session, plan_id: str | None, dry_run: bool, tell: Callable[[str], None]
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
    found = detect(session, rows=False)
    # Backwards: what refers to a table was made after it.
    for plan, step, check, undo, _, state in sorted(listed, key=lambda row: str(row[4]), reverse=True):
        if undo is None:
            if not step.startswith("rows "):
                kept.append(f"{step}: it is not undone, since nothing reads worse with it")
            continue
        if state == "begun":
            kept.append(f"{step}: it was begun and not finished: apply the plan again first")
            continue
        # A rollback that was killed between the statement and its note has taken it away, or somebody else did.
        there = _is_there(found, step)
        loss = int(session.query(check)[0][0]) if check and there else 0
        session.rollback()
        if loss:
            kept.append(f"{step}: {loss} row(s) hold something in it, which would be lost")
            continue
        undone.append(step)
        if dry_run:
            continue
        for statement in undo.split(";\n") if there else ():
            session.execute(statement)
            tell(statement)
        session.execute(
            f"UPDATE {table} SET {quote('STATE')} = 'undone', {quote('WRITTEN_AT')} = :at "
            f"WHERE {quote('PLAN_ID')} = :plan_id AND {quote('STEP')} = :step",
            {"plan_id": plan, "step": step, "at": now()},
        )
        session.commit()
    return undone, kept


def _is_there(found: Schema, step: str) -> bool:
    """Whether what a step added is in the schema: `TABLE`, `TABLE.COLUMN` or `TABLE index NAME`."""
    table_name, of_index, index = step.partition(" index ")
    table_name, _, column = table_name.partition(".")
    table = found.table(table_name)
    if table is None:
        return False
    if of_index:
        return any(each.name.upper() == index.upper() for each in table.indexes)
    return not column or table.column(column) is not None
