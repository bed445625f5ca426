"""Changes of rows in batches: each batch is one short transaction, in which the old values are put aside first.

A batch reads a range of TBL_IDs, decides row by row, and changes rows only where they still hold what was read. If one
does not, the batch is forgotten and done again: so the backup is exact, with a metastore running as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any

from hive_views.errors import DatabaseError
from hive_views.schema_upgrade import journal, view_texts
from hive_views.schema_upgrade.plan_model import Kind, Plan, Step
from hive_views.schema_upgrade.session import Session, in_list
from hive_views.schema_upgrade.table_types import TableRow, decide

_ATTEMPTS = 5


@dataclass(frozen=True)
class Doubt:
    """A row that could not be decided, or that contradicts itself."""

    tbl_id: int
    """Its TBL_ID."""
    name: str
    """Its name, `database.table`, as far as it is known."""
    reason: str
    """What is the matter."""


@dataclass(frozen=True)
class Progress:
    """How far a step is."""

    step: str
    """The step's id."""
    statement: str
    """What was just carried out; a batch's last statement was followed by a commit."""
    done: int
    """Rows seen, or statements carried out."""
    total: int
    """All of them."""


Tell = Callable[[Progress], None]


@dataclass(frozen=True)
class _Change:
    """Rows that go from one value to another one."""

    field: str
    ids: tuple[int, ...]
    old: Any
    new: Any
    rest: tuple[int, ...] | None = None
    """Where this is the last change of a batch's rows with the old value: those of them that keep it."""


@dataclass(frozen=True)
class _Batch:
    changes: tuple[_Change, ...]
    doubts: tuple[Doubt, ...]
    seen: int
    last: int


def run_row_step(session: Session, plan: Plan, step: Step, *, batch_size: int | None, tell: Tell) -> list[Doubt]:
    """Carry out a step that changes rows. It can be repeated at any time, and continues where it was stopped."""
    quote = session.dialect.quote
    total = int(session.query(f"SELECT COUNT(*) FROM {quote('TBLS')}")[0][0])
    session.rollback()
    size = batch_size or session.dialect.batch_size
    doubts: list[Doubt] = []
    done, after = 0, -1
    while True:
        batch = _carry_out(session, plan, step, after, size, partial(_report, tell, step.id, done, total))
        doubts += batch.doubts
        done += batch.seen
        after = batch.last
        tell(Progress(step.id, "COMMIT", done, total))
        if batch.seen < size:
            return doubts


def _report(tell: Tell, step_id: str, done: int, total: int, sql: str) -> None:
    tell(Progress(step_id, sql, done, total))


def doubtful_rows(session: Session) -> list[Doubt]:
    """All rows whose type cannot be decided, or contradicts the rest of the row; nothing is changed."""
    doubts: list[Doubt] = []
    after, size = -1, session.dialect.batch_size
    while True:
        batch = _read_types(session, after, size)
        doubts += batch.doubts
        after = batch.last
        if batch.seen < size:
            session.rollback()
            return doubts


def _carry_out(session: Session, plan: Plan, step: Step, after: int, size: int, tell: Callable[[str], None]) -> _Batch:
    read = {Kind.BACK_FILL: _read_types, Kind.FILL: _read_flags, Kind.REPAIR: _read_texts}[step.kind]
    for _ in range(_ATTEMPTS):
        batch = read(session, after, size)
        if all(_change(session, plan, step, change, tell) for change in batch.changes):
            session.commit()
            return batch
        session.rollback()
    raise DatabaseError(
        session.address.place,
        f"the rows after TBL_ID {after} went on changing meanwhile: stop the metastore, and run it again",
    )


def _change(session: Session, plan: Plan, step: Step, change: _Change, tell: Callable[[str], None]) -> bool:
    """Change rows and put their old values aside; False if one of them did not hold the old value any more."""
    quote = session.dialect.quote
    field, key = quote(change.field), quote("TBL_ID")
    chosen = _chosen(change, key)
    sql = f"UPDATE {quote('TBLS')} SET {field} = :new WHERE {chosen}"
    values: dict[str, Any] = {"new": change.new}
    if change.old is None:
        sql += f" AND {field} IS NULL"
    elif change.field not in view_texts.COLUMNS:
        sql += f" AND {field} = :old"
        values["old"] = change.old
    elif same := session.dialect.same_text(field, ":old"):
        sql += f" AND {same}"
        values["old"] = change.old
    if step.kind is Kind.FILL:
        sql = sql.replace(":new", session.dialect.false)
        values.pop("new")
    if session.execute(sql, values) != len(change.ids):
        return False
    tell(sql)
    put_aside(session, plan.id, step.id, change.field, change.ids, change.old, change.new)
    tell("INSERT INTO " + journal.BACKUP.name)
    return True


def _chosen(change: _Change, key: str) -> str:
    """The rows by their ids, or as a range where that is shorter. Rows that came in between show in the number."""
    if change.rest is not None and len(change.rest) < len(change.ids):
        first, last = change.ids[0], change.ids[-1]
        kept = [each for each in change.rest if first < each < last]
        return f"{key} BETWEEN {first} AND {last}" + (f" AND {key} NOT IN ({in_list(kept)})" if kept else "")
    return f"{key} IN ({in_list(change.ids)})"


def put_aside(
    session: Session, plan_id: str, step_id: str, field: str, ids: tuple[int, ...], old: str | None, new: str | None
) -> None:
    """Write what rows held into the backup, in the transaction that changes them."""
    names = [column.name for column in journal.BACKUP.columns]
    listed = ", ".join(f":{name.lower()}" for name in names)
    session.execute(
        f"INSERT INTO {session.dialect.quote(journal.BACKUP.name)} ({session.dialect.names(names)}) VALUES ({listed})",
        {
            "plan_id": plan_id,
            "step": step_id,
            "table_name": "TBLS",
            "field": field,
            "first_id": ids[0],
            "row_ids": journal.pack(list(ids)),
            "old_value": old,
            "new_value": new,
            "written_at": now(),
        },
    )


def now() -> str:
    """The time, UTC, for journal and backup. A rollback goes through them backwards: seconds are too coarse."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read_types(session: Session, after: int, size: int) -> _Batch:
    groups: dict[tuple[str | None, str], list[int]] = defaultdict(list)
    doubts: dict[int, str] = {}
    left: dict[str | None, list[int]] = defaultdict(list)
    seen, last = 0, after
    for kind, original, expanded, storage, external, ids in _alike(session, after, size):
        seen, last = seen + len(ids), max(last, ids[-1])
        found = decide(TableRow(ids[0], kind, bool(original), bool(expanded), bool(storage), external))
        if found.new is not None:
            groups[kind, found.new] += ids
            continue
        left[kind] += ids
        if found.doubt is not None:
            doubts |= dict.fromkeys(ids, found.doubt)
    # The largest comes last: by then no other row of the batch holds the old value, but for those that keep it.
    ordered = sorted(groups.items(), key=lambda item: len(item[1]))
    final = {old: new for (old, new), _ in ordered}
    changes = tuple(
        _Change("TBL_TYPE", tuple(sorted(ids)), old, new, tuple(left[old]) if final[old] == new else None)
        for (old, new), ids in ordered
    )
    named = tuple(Doubt(each, name, doubts[each]) for each, name in _names(session, doubts))
    return _Batch(changes, named, seen, last)


def _alike(session: Session, after: int, size: int) -> Iterator[tuple[Any, ...]]:
    """What decides about the rows of a batch, each combination once, with the ids of the rows that are so."""
    quote = session.dialect.quote
    key, params = quote("TBL_ID"), quote("TABLE_PARAMS")
    names = ["TBL_TYPE", "ORIGINAL", "EXPANDED", "STORAGE", "EXTERNAL"]
    there = (f"CASE WHEN t.{quote(name)} IS NULL THEN 0 ELSE 1 END" for name in (*view_texts.COLUMNS, "SD_ID"))
    value = session.dialect.short_text(f"p.{quote('PARAM_VALUE')}")
    parts = [f"t.{quote('TBL_TYPE')}", *there, value]
    columns = ", ".join(f"{part} AS {quote(name)}" for part, name in zip(parts, names, strict=True))
    batch = (
        f"SELECT {columns}, t.{key} AS {key} FROM {quote('TBLS')} t LEFT JOIN {params} p ON p.{key} = t.{key} "
        f"AND p.{quote('PARAM_KEY')} = 'EXTERNAL' WHERE t.{key} > :after ORDER BY t.{key} {session.dialect.limit(size)}"
    )
    gathered = session.dialect.gather(key)
    if gathered is None:
        for *decisive, tbl_id in session.query(batch, {"after": after}):
            yield *decisive, [int(tbl_id)]
        return
    listed = session.dialect.names(names)
    # The rows stay with the server: a driver takes longer to read them than the server to change them.
    rows = session.query(f"SELECT {listed}, {gathered} FROM ({batch}) b GROUP BY {listed}", {"after": after})
    for *decisive, ids in rows:
        yield *decisive, [int(each) for each in str(ids).split(",")]


def _names(session: Session, wanted: dict[int, str]) -> Iterator[tuple[int, str]]:
    if not wanted:
        return
    quote = session.dialect.quote
    rows = session.query(
        f"SELECT t.{quote('TBL_ID')}, d.{quote('NAME')}, t.{quote('TBL_NAME')} FROM {quote('TBLS')} t "
        f"LEFT JOIN {quote('DBS')} d ON d.{quote('DB_ID')} = t.{quote('DB_ID')} "
        f"WHERE t.{quote('TBL_ID')} IN ({in_list(sorted(wanted))}) ORDER BY t.{quote('TBL_ID')}"
    )
    for tbl_id, database, name in rows:
        yield int(tbl_id), f"{database or '?'}.{name or '?'}"


def _read_flags(session: Session, after: int, size: int) -> _Batch:
    quote = session.dialect.quote
    key, flag = quote("TBL_ID"), quote("IS_REWRITE_ENABLED")
    shown = flag if session.dialect.name == "derby" else "NULL"
    bad = session.dialect.bad_flag(flag)
    rows = session.query(
        f"SELECT {key}, CASE WHEN {bad} THEN 1 ELSE 0 END, {shown} FROM {quote('TBLS')} WHERE {key} > :after "
        f"ORDER BY {key} {session.dialect.limit(size)}",
        {"after": after},
    )
    groups: dict[str | None, list[int]] = defaultdict(list)
    for tbl_id, wrong, value in rows:
        if wrong:
            groups[value].append(int(tbl_id))
    false = session.dialect.false.strip("'")
    changes = tuple(_Change("IS_REWRITE_ENABLED", tuple(ids), old, false) for old, ids in groups.items())
    return _Batch(changes, (), len(rows), int(rows[-1][0]) if rows else after)


def _read_texts(session: Session, after: int, size: int) -> _Batch:
    quote = session.dialect.quote
    key, texts = quote("TBL_ID"), [quote(name) for name in view_texts.COLUMNS]
    rows = session.query(
        f"SELECT {key}, {', '.join(texts)} FROM {quote('TBLS')} WHERE {key} > :after ORDER BY {key} "
        f"{session.dialect.limit(size)}",
        {"after": after},
    )
    changes = []
    for tbl_id, *found in rows:
        for name, text in zip(view_texts.COLUMNS, found, strict=True):
            mended = view_texts.repaired(text) if text is not None else None
            if mended is not None:
                changes.append(_Change(name, (int(tbl_id),), text, mended))
    return _Batch(tuple(changes), (), len(rows), int(rows[-1][0]) if rows else after)
