"""Take an upgrade back: rows from the backup, and the schema where nothing would be lost by it."""

from __future__ import annotations

from dataclasses import dataclass

from hive_views.upgrade import journal
from hive_views.upgrade.applying import has_table
from hive_views.upgrade.row_changes import now
from hive_views.upgrade.session import Session, in_list


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
    session: Session, *, plan_id: str | None = None, schema: bool = False, dry_run: bool = False
) -> RolledBack:
    """Put back what rows held before, and with `schema` take away what was added to the schema.

    A value is put back only where the row still holds what the upgrade wrote. It can be repeated, and goes on where it
    was stopped.

    Args:
        session: The database.
        plan_id: The plan to take back; None takes all, the latest first.
        schema: Whether the steps of the schema are undone as well: only those by which no row loses anything.
        dry_run: Say what would be done, and write nothing.

    Returns:
        What was done.

    Raises:
        DatabaseError: If the database fails; what was committed before stays.
    """
    rows, changed = 0, list[str]()
    if has_table(session, journal.BACKUP.name):
        rows, changed = _rows(session, plan_id, dry_run)
    undone, kept = list[str](), list[str]()
    if schema and has_table(session, journal.JOURNAL.name):
        undone, kept = _schema(session, plan_id, dry_run)
    return RolledBack(session.address.place, rows, tuple(changed), tuple(undone), tuple(kept), dry_run)


def _rows(session: Session, plan_id: str | None, dry_run: bool) -> tuple[int, list[str]]:
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
    for plan, step, field, first, ids, old, new, _ in listed:
        wanted = journal.unpack(ids)
        held = _holding(session, field, wanted, new)
        changed += [f"TBL_ID {each}: {field}" for each in wanted if each not in held]
        done += len(held)
        if dry_run:
            session.rollback()
            continue
        if held:
            _put_back(session, field, held, old)
        if len(held) == len(wanted):
            key = {"plan_id": plan, "step": step, "field": field, "first_id": first}
            where = " AND ".join(f"{quote(name.upper())} = :{name}" for name in key)
            session.execute(f"DELETE FROM {table} WHERE {where} AND {_is(session, 'NEW_VALUE', new)}", key)
        session.commit()
    return done, changed


def _is(session: Session, column: str, value: str | None) -> str:
    """A comparison of one of our own text columns, which hold a CLOB in Derby."""
    quoted = session.dialect.quote(column)
    if value is None:
        return f"{quoted} IS NULL"
    # Derby compares the beginning of a CLOB, no more.
    known = value[:128] if session.dialect.name == "derby" else value
    return f"{session.dialect.short_text(quoted)} = {session.dialect.literal(known)}"


def _holding(session: Session, field: str, ids: list[int], value: str | None) -> list[int]:
    """Those of the rows that still hold a value."""
    quote = session.dialect.quote
    rows = session.query(
        f"SELECT {quote('TBL_ID')}, {quote(field)} FROM {quote('TBLS')} WHERE {quote('TBL_ID')} IN ({in_list(ids)}) "
        f"ORDER BY {quote('TBL_ID')}"
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


def _schema(session: Session, plan_id: str | None, dry_run: bool) -> tuple[list[str], list[str]]:
    quote = session.dialect.quote
    table = quote(journal.JOURNAL.name)
    chosen = f" AND {quote('PLAN_ID')} = :plan_id" if plan_id else ""
    listed = session.query(
        f"SELECT {session.dialect.names(['PLAN_ID', 'STEP', 'UNDO_CHECK', 'UNDO', 'WRITTEN_AT'])} FROM {table} "
        f"WHERE {quote('STATE')} = 'done'{chosen}",
        {"plan_id": plan_id} if plan_id else None,
    )
    session.rollback()
    undone, kept = list[str](), list[str]()
    # Backwards: what refers to a table was made after it.
    for plan, step, check, undo, _ in sorted(listed, key=lambda row: str(row[4]), reverse=True):
        if undo is None:
            if not step.startswith("rows "):
                kept.append(f"{step}: it is not undone, since nothing reads worse with it")
            continue
        loss = int(session.query(check)[0][0]) if check else 0
        session.rollback()
        if loss:
            kept.append(f"{step}: {loss} row(s) hold something in it, which would be lost")
            continue
        undone.append(step)
        if dry_run:
            continue
        for statement in undo.split(";\n"):
            session.execute(statement)
        session.execute(
            f"UPDATE {table} SET {quote('STATE')} = 'undone', {quote('WRITTEN_AT')} = :at "
            f"WHERE {quote('PLAN_ID')} = :plan_id AND {quote('STEP')} = :step",
            {"plan_id": plan, "step": step, "at": now()},
        )
        session.commit()
    return undone, kept
