"""Changes of rows in batches: each batch is one short transaction that also writes the old values to the backup.

A batch reads a range of TBL_IDs, decides row by row, and changes rows only if they still hold the value that was read.
Otherwise it is rolled back and repeated, so that the backup is exact even while a metastore is running.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any

from hive_views.errors import DatabaseError
from hive_views.schema_upgrade import journal, view_texts
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.journal import StepState
from hive_views.schema_upgrade.plan_model import Kind, Step, UpgradePlan
from hive_views.schema_upgrade.requirements import filled_column
from hive_views.schema_upgrade.schema import TableRow
from hive_views.schema_upgrade.session import Session, in_list
from hive_views.schema_upgrade.table_types import decide

_ATTEMPTS = 5

_IDS = 1_000
"""Maximum number of TBL_IDs in one condition."""


@dataclass(frozen=True)
class Doubt:
    """A row whose type could not be determined or contradicts the rest of the row."""

    tbl_id: int
    """Its TBL_ID."""
    name: str
    """`database.table`, with `?` for missing parts."""
    reason: str
    """The reason for the doubt."""


COMMIT = "COMMIT"
"""The statement of a `Progress` after a batch of rows."""


@dataclass(frozen=True)
class Progress:
    """The progress of a step."""

    step: str
    """The ID of the step."""
    statement: str
    """The statement just executed; `COMMIT` after a batch, and the state of the step when it begins and ends."""
    done: int
    """Rows processed, or statements executed."""
    total: int
    """The total number of rows or statements."""


ProgressCallback = Callable[[Progress], None]


@contextmanager
def naming_committed_steps(progress: ProgressCallback, verb: str) -> Iterator[ProgressCallback]:
    """Yield a callback that also records the committed steps; a DatabaseError gets them as `completed_steps`."""
    committed: dict[str, str] = {}

    def report(each: Progress) -> None:
        if each.statement == StepState.DONE:
            committed[each.step] = f"{each.step} was {verb}"
        elif each.statement == COMMIT and each.done:
            committed[each.step] = f"{each.step} was {verb} up to row {each.done} of {each.total}"
        progress(each)

    try:
        yield report
    except DatabaseError as error:
        error.add_completed_steps(*committed.values())
        raise


@dataclass(frozen=True)
class _Change:
    """Rows of a batch that change from one value to another."""

    field: str
    ids: tuple[int, ...]
    old: Any
    new: Any
    rest: tuple[int, ...] | None = None
    """For the last change of rows with the old value: the rows of the batch that keep it; None otherwise."""


@dataclass(frozen=True)
class _Batch:
    changes: tuple[_Change, ...]
    doubts: tuple[Doubt, ...]
    seen: int
    last: int


def run_row_step(
    session: Session,
    plan: UpgradePlan,
    step: Step,
    *,
    batch_size: int | None,
    mangled: Sequence[int],
    progress: ProgressCallback,
) -> list[Doubt]:
    """Apply a step that changes rows. A repetition continues where the step stopped.

    `mangled` are the TBL_IDs of the rows whose texts are repaired.
    """
    if step.kind is Kind.REPAIR:
        done = 0
        for start in range(0, len(mangled), _IDS):
            condition = f"[TBL_ID] IN ({in_list(mangled[start : start + _IDS])})"
            for ids in view_texts.id_batches(session, condition):
                report = partial(_progress_of_statement, progress, step.id, done, len(mangled))
                _apply_batch(session, plan, step, partial(_read_texts, session, ids), ids[0] - 1, report)
                done += len(ids)
                progress(Progress(step.id, COMMIT, done, len(mangled)))
        return []
    total = int(session.query(session.dialect.sql("SELECT COUNT(*) FROM [TBLS]"))[0][0])
    session.rollback()
    size = batch_size or session.dialect.batch_size
    read_after = _read_types if step.kind is Kind.BACK_FILL else partial(_read_values, name=step.name)
    doubts: list[Doubt] = []
    done, after = 0, -1
    while True:
        report = partial(_progress_of_statement, progress, step.id, done, total)
        batch = _apply_batch(session, plan, step, partial(read_after, session, after, size), after, report)
        doubts += batch.doubts
        done += batch.seen
        after = batch.last
        progress(Progress(step.id, COMMIT, done, total))
        if batch.seen < size:
            return doubts


def _progress_of_statement(progress: ProgressCallback, step_id: str, done: int, total: int, sql: str) -> None:
    progress(Progress(step_id, sql, done, total))


def count_rows_by_kind(session: Session) -> list[tuple[TableRow, int]]:
    """Return each combination of the values that determine a row's type, with the number of its rows."""
    listed = session.dialect.names(_DECISIVE)
    rows = session.query(f"SELECT {listed}, COUNT(*) FROM ({_decisive_values(session.dialect)}) b GROUP BY {listed}")
    return [(_table_row(*values), int(count)) for *values, count in rows]


def doubtful_rows(session: Session) -> list[Doubt]:
    """Return all rows whose type cannot be determined or contradicts the rest of the row."""
    doubts: list[Doubt] = []
    after, size = -1, session.dialect.batch_size
    while True:
        batch = _read_types(session, after, size)
        session.rollback()
        doubts += batch.doubts
        if batch.seen < size:
            return doubts
        after = batch.last


def _apply_batch(
    session: Session,
    plan: UpgradePlan,
    step: Step,
    read: Callable[[], _Batch],
    after: int,
    progress: Callable[[str], None],
) -> _Batch:
    for _ in range(_ATTEMPTS):
        batch = read()
        if all(_change(session, plan, step, change, progress) for change in batch.changes):
            session.commit()
            return batch
        session.rollback()
    raise DatabaseError(
        session.address.place,
        f"the rows after TBL_ID {after} kept changing during the update. Stop the metastore and apply the plan again",
    )


def _change(session: Session, plan: UpgradePlan, step: Step, change: _Change, progress: Callable[[str], None]) -> bool:
    """Change rows and back up their old values; False if a row no longer holds the old value."""
    field = session.dialect.quote(change.field)
    sql = session.dialect.sql(f"UPDATE [TBLS] SET [{change.field}] = :new WHERE {_chosen(change)}")
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
        sql = sql.replace(":new", session.dialect.default(filled_column(change.field)))
        values.pop("new")
    if session.execute(sql, values) != len(change.ids):
        return False
    progress(sql)
    write_backup(session, plan.id, step.id, change.field, change.ids, change.old, change.new)
    progress("INSERT INTO " + journal.BACKUP.name)
    return True


def _chosen(change: _Change) -> str:
    """The condition for the rows: a list of IDs, or a range if shorter. The row count reveals new rows in the range."""
    if change.rest is not None and len(change.rest) < len(change.ids):
        first, last = change.ids[0], change.ids[-1]
        unchanged = [row_id for row_id in change.rest if first < row_id < last]
        exceptions = f" AND [TBL_ID] NOT IN ({in_list(unchanged)})" if unchanged else ""
        return f"[TBL_ID] BETWEEN {first} AND {last}{exceptions}"
    return f"[TBL_ID] IN ({in_list(change.ids)})"


def write_backup(
    session: Session, plan_id: str, step_id: str, field: str, ids: tuple[int, ...], old: str | None, new: str | None
) -> None:
    """Write the old values into the backup, in the transaction that changes them."""
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
    """The current time in UTC for journal and backup, in microseconds: a rollback processes them in reverse order."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read_types(session: Session, after: int, size: int) -> _Batch:
    groups: dict[tuple[str | None, str], list[int]] = defaultdict(list)
    doubts: dict[int, str] = {}
    left: dict[str | None, list[int]] = defaultdict(list)
    seen, last = 0, after
    for row, ids in _group_rows(session, after, size):
        seen, last, kind = seen + len(ids), max(last, ids[-1]), row.table_type
        decision = decide(row)
        if decision.new is not None:
            groups[kind, decision.new] += ids
            continue
        left[kind] += ids
        if decision.doubt is not None:
            doubts |= dict.fromkeys(ids, decision.doubt)
    # The largest group comes last. By then only this group and the rows that keep the old value hold it, so a range
    # without these rows selects exactly the group.
    ordered = sorted(groups.items(), key=lambda item: len(item[1]))
    final = {old: new for (old, new), _ in ordered}
    changes = tuple(
        _Change("TBL_TYPE", tuple(sorted(ids)), old, new, tuple(left[old]) if final[old] == new else None)
        for (old, new), ids in ordered
    )
    named = tuple(Doubt(tbl_id, name, doubts[tbl_id]) for tbl_id, name in _names(session, doubts))
    return _Batch(changes, named, seen, last)


_DECISIVE = ("TBL_TYPE", "ORIGINAL", "EXPANDED", "STORAGE", "EXTERNAL")
"""The values that determine a row's type, as `_decisive_values` names them."""


def _decisive_values(sql: Dialect) -> str:
    """Return a query for the values that determine each row's type, and the TBL_ID; the alias of TBLS is `t`."""
    has_value = (f"CASE WHEN t.[{name}] IS NULL THEN 0 ELSE 1 END" for name in (*view_texts.COLUMNS, "SD_ID"))
    parts = ["t.[TBL_TYPE]", *has_value, sql.short_text("p.[PARAM_VALUE]")]
    columns = ", ".join(f"{part} AS [{name}]" for part, name in zip(parts, _DECISIVE, strict=True))
    return sql.sql(
        f"SELECT {columns}, t.[TBL_ID] AS [TBL_ID] FROM [TBLS] t LEFT JOIN [TABLE_PARAMS] p "
        "ON p.[TBL_ID] = t.[TBL_ID] AND p.[PARAM_KEY] = 'EXTERNAL'"
    )


def _table_row(kind: Any, original: Any, expanded: Any, storage: Any, external: Any) -> TableRow:
    return TableRow(kind, bool(original), bool(expanded), bool(storage), external)


def _group_rows(session: Session, after: int, size: int) -> Iterator[tuple[TableRow, list[int]]]:
    """Yield each combination of the `_DECISIVE` values in a batch, with the IDs of its rows."""
    key = session.dialect.quote("TBL_ID")
    batch = f"{_decisive_values(session.dialect)} WHERE t.{key} > :after ORDER BY t.{key} {session.dialect.limit(size)}"
    gathered = session.dialect.gather(key)
    if gathered is None:
        for *decisive, tbl_id in session.query(batch, {"after": after}):
            yield _table_row(*decisive), [int(tbl_id)]
        return
    listed = session.dialect.names(_DECISIVE)
    # Group on the server: reading all rows through the driver takes longer than changing them.
    rows = session.query(f"SELECT {listed}, {gathered} FROM ({batch}) b GROUP BY {listed}", {"after": after})
    for *decisive, gathered_ids in rows:
        yield _table_row(*decisive), [int(row_id) for row_id in str(gathered_ids).split(",")]


def _names(session: Session, reasons: dict[int, str]) -> Iterator[tuple[int, str]]:
    if not reasons:
        return
    sql = session.dialect.sql(
        "SELECT t.[TBL_ID], d.[NAME], t.[TBL_NAME] FROM [TBLS] t LEFT JOIN [DBS] d ON d.[DB_ID] = t.[DB_ID] "
        f"WHERE t.[TBL_ID] IN ({in_list(sorted(reasons))}) ORDER BY t.[TBL_ID]"
    )
    for tbl_id, database, name in session.query(sql):
        yield int(tbl_id), f"{database or '?'}.{name or '?'}"


def _read_values(session: Session, after: int, size: int, *, name: str) -> _Batch:
    """Invalid values of a column that the metastore reads as a primitive."""
    shown, bad = invalid_value(session.dialect, name)
    sql = session.dialect.sql(
        f"SELECT [TBL_ID], CASE WHEN {bad} THEN 1 ELSE 0 END, {shown} FROM [TBLS] WHERE [TBL_ID] > :after "
        f"ORDER BY [TBL_ID] {session.dialect.limit(size)}"
    )
    rows = session.query(sql, {"after": after})
    groups: dict[str | None, list[int]] = defaultdict(list)
    for tbl_id, is_bad, value in rows:
        if is_bad:
            groups[value].append(int(tbl_id))
    new = session.dialect.default(filled_column(name)).strip("'")
    changes = tuple(_Change(name, tuple(ids), old, new) for old, ids in groups.items())
    return _Batch(changes, (), len(rows), int(rows[-1][0]) if rows else after)


def invalid_value(sql: Dialect, name: str) -> tuple[str, str]:
    """The SQL of the old value, and of the condition for invalid values, of a column of TBLS that is filled in."""
    column = sql.quote(name)
    if name == "IS_REWRITE_ENABLED":
        return column if sql.name == Database.DERBY else "NULL", sql.bad_flag(column)
    return "NULL", f"{column} IS NULL"


def _read_texts(session: Session, ids: Sequence[int]) -> _Batch:
    rows = view_texts.read_texts(session, ids)
    changes = []
    for tbl_id, *row_texts in rows:
        for name, text in zip(view_texts.COLUMNS, row_texts, strict=True):
            new_text = view_texts.repair(text) if text is not None else None
            if new_text is not None:
                changes.append(_Change(name, (int(tbl_id),), text, new_text))
    return _Batch(tuple(changes), (), len(rows), ids[-1])
