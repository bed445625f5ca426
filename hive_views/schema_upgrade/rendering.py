"""Rendering of a plan as a commented script for a database administrator, which is safe to run twice."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from hive_views.schema_upgrade import journal
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Change, Dialect, Missing
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.plan_model import Kind, Step, UpgradePlan, grouped
from hive_views.schema_upgrade.requirements import REQUIREMENTS, Widening, filled_column
from hive_views.schema_upgrade.row_changes import invalid_value
from hive_views.schema_upgrade.table_types import decidable, new_type

_WIDTH = 110

_MISSING = {
    Kind.ADD_COLUMN: Missing.COLUMN,
    Kind.CREATE_TABLE: Missing.TABLE,
    Kind.CREATE_INDEX: Missing.INDEX,
    Kind.WIDEN: Missing.WIDTH,
    Kind.RECODE: Missing.CHARSET,
}


def render(plan: UpgradePlan) -> str:
    """Render a plan as a script for the database's client (mysql, psql, ij, SQL*Plus, sqlcmd).

    Unlike `apply`, the script does not check that it runs on the database of the plan, and writes no journal, so that
    `rollback` can undo only its row changes. It leaves out what SQL alone cannot do safely: the repair of texts, and on
    Derby a type change in several statements.

    Args:
        plan: The plan.
    """
    sql = dialect_of(plan.dialect)
    return "\n".join(_Renderer(plan, sql).lines()) + "\n"


class _Renderer:
    def __init__(self, plan: UpgradePlan, sql: Dialect) -> None:
        self._plan = plan
        self._sql = sql

    def lines(self) -> Iterator[str]:
        plan, sql = self._plan, self._sql
        if any(script.conflicts for script in plan.hive_scripts):
            yield from self._comment(
                "DO NOT RUN THIS SCRIPT YET: scripts of Hive that are still to be run make some of its steps as well, "
                "and fail after it. Run them first, and plan again; the notes name the command."
            )
        yield from self._comment(
            f"Views for a Hive metastore on {sql.title}: from schema {plan.version} to what {plan.target} needs."
        )
        yield from self._comment(
            f"Plan {plan.id}" + (f" for {plan.place}." if plan.place else ", for an assumed schema.")
        )
        yield from self._comment("It can be run again: completed steps are skipped. Back up the database first.")
        for note in plan.notes:
            yield from self._comment(f"Note: {note}.")
        for script in plan.hive_scripts:
            same = f" (it includes: {', '.join(script.conflicts)})" if script.conflicts else ""
            yield from self._comment(f"Hive's script is still to be run: {script.name}{same}.")
        if not plan.steps:
            yield from self._comment("Nothing to do.")
            return
        yield ""
        if head := sql.head():
            yield head
        if plan.db_schema and (use := sql.use(plan.db_schema)):
            yield use
        if any(not step.kind.is_schema for step in plan.steps):
            yield ""
            yield from self._comment("The previous values of rows are saved in a separate table.")
            statement = journal.statements(sql)[journal.BACKUP.name]
            yield sql.guarded(
                Change(
                    statement=statement,
                    table=journal.BACKUP.name,
                    missing=Missing.TABLE,
                    name=journal.BACKUP.name,
                )
            )
        number = 0
        for group in grouped(plan.steps, by_table=sql.alter_list is not None):
            yield ""
            for step in group:
                number += 1
                yield from self._describe(number, step)
            yield from self._statements(group)
        if plan.dialect == Database.DERBY:
            yield ""
            yield "COMMIT;"

    def _describe(self, number: int, step: Step) -> Iterator[str]:
        yield from self._comment(f"{number}. {step.id}: {step.reason}.")
        yield from self._comment(f"Locks: {step.locks}. Rows: {step.rows}. Undone: {step.undo_note}.")
        if step.blocked:
            yield from self._comment(f"It would fail at the time of planning: {step.blocked}.")
        if step.hive_script:
            yield from self._comment(f"Hive's {step.hive_script} does the same.")

    def _statements(self, group: tuple[Step, ...]) -> Iterator[str]:
        step = group[0]
        if self._sql.alter_list and len(group) > 1:
            yield self._sql.alter_list.guard([self._change(each, 0) for each in group])
        elif step.kind is Kind.BACK_FILL:
            yield self._back_fill(step)
        elif step.kind is Kind.FILL:
            yield self._fill(step)
        elif step.kind is Kind.REPAIR:
            yield from self._comment(
                "Texts are repaired by `hive-views upgrade apply` only, which decides text by text."
            )
        else:
            yield from self._schema(step)

    def _schema(self, step: Step) -> Iterator[str]:
        if self._sql.name == Database.DERBY and len(step.statements) > 1:
            # ij continues after a failed UPDATE and would drop the column with all its values.
            yield from self._comment(
                "This is done by `hive-views upgrade apply` only: ij continues after an error, and each statement "
                "depends on the one before it."
            )
            return
        for number, statement in enumerate(step.statements):
            # The statements for the owner and privileges of a new table follow its creation and need no guard.
            is_follower = step.kind is Kind.CREATE_TABLE and number
            yield f"{statement};" if is_follower else self._sql.guarded(self._change(step, number))
        if step.kind is Kind.CREATE_TABLE and (privileges := self._sql.copy_privileges(step.name)):
            yield privileges

    @staticmethod
    def _change(step: Step, position: int) -> Change:
        requirement = REQUIREMENTS.get(step.id)
        needed = requirement.type if isinstance(requirement, Widening) else None
        return Change(
            statement=step.statements[position],
            table=step.table,
            missing=_MISSING.get(step.kind, Missing.NOTHING),
            name=step.name,
            needed=needed,
            position=position,
        )

    def _back_fill(self, step: Step) -> str:
        kind, condition = new_type(self._sql, "[TBLS]"), decidable(self._sql, "[TBLS]")
        return self._update(step, "[TBLS].[TBL_TYPE]", kind, kind, condition)

    def _fill(self, step: Step) -> str:
        old, invalid = invalid_value(self._sql, step.name)
        default = self._sql.default(filled_column(step.name))
        return self._update(step, old, default, self._sql.literal(default.strip("'")), f"({invalid})")

    def _update(self, step: Step, old: str, new: str, new_text: str, condition: str) -> str:
        """Batches that first save the old values of a column of TBLS, one backup row each, and then change them."""
        sql, key = self._sql, "[TBLS].[TBL_ID]"
        texts = map(sql.literal, (self._plan.id, step.id, "TBLS", step.name))
        values = [*texts, key, sql.number_as_text(key), sql.as_own_text(old), sql.as_own_text(new_text), sql.now]
        names = sql.names([column.name for column in journal.BACKUP.columns])
        chosen = f"{key} BETWEEN :first AND :last AND {condition}"
        backup = f"INSERT INTO [{journal.BACKUP.name}] ({names}) SELECT {', '.join(values)} FROM [TBLS] WHERE {chosen}"
        update = f"UPDATE [TBLS] SET [{step.name}] = {new} WHERE {chosen}"
        return sql.batches([sql.sql(backup), sql.sql(update)], sql.batch_size)

    def _comment(self, text: str) -> Iterator[str]:
        for line in textwrap.wrap(text, _WIDTH, break_on_hyphens=False, break_long_words=False):
            yield self._sql.comment(line)
