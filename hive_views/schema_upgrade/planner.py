"""Planning of an upgrade, without input or output: equal schemas give equal plans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hive_views.errors import UpgradeError, UsageError
from hive_views.schema_upgrade import journal, versions, view_texts
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.hive_scripts import (
    early_objects,
    remaining_scripts,
    remedy_of_early_objects,
    script_of,
    scripts_first,
    upgrade_command,
)
from hive_views.schema_upgrade.plan_model import HiveScript, Kind, Step, UpgradePlan, identified
from hive_views.schema_upgrade.requirements import (
    ADDITIONS,
    INDEXES,
    RECODINGS,
    TABLES,
    WIDENINGS,
    Addition,
    NeededColumn,
    NeededTable,
    Recoding,
    Requirement,
    Widening,
    filled_column,
)
from hive_views.schema_upgrade.schema import Column, Obstacle, Schema, Table, last_landmark
from hive_views.schema_upgrade.undo import declaration_of, undo_of

KNOWN = f"schemas of {', '.join(versions.CHAIN)}, and their patch releases"
"""The known versions, for messages."""

OWNER_SUFFIX = " owner"
"""The end of the IDs of steps that give a table its owner and privileges."""

_WHILE_VALUES_FIT = "possible while all values fit"

_FROM_BACKUP = "from the backup in the same database"


def plan(schema: Schema, target: str | None = None) -> UpgradePlan:
    """Plan the steps that a schema needs to support views.

    Args:
        schema: The schema, with findings about its rows.
        target: The version of Hive whose views must be supported, e.g. `3.1.3`. The default is the version of the
            schema, but at least 0.6, the first version with views.

    Returns:
        The plan; it has no steps if the schema is complete.

    Raises:
        UsageError: If the target is not a known version, or is older than the schema or than 0.6.
        UpgradeError: If the table VERSION holds a text that is not a version, or a newer version than is known.
    """
    _check_version_rows(schema)
    target_version = _target(schema, target)
    dialect = dialect_of(schema.dialect)
    matched = [(step, _matching(step, schema)) for step in _Planner(schema, target_version, dialect).steps()]
    steps = tuple(
        replace(_blocked(step, obstacles), hive_script=script_of(step.id, dialect.hive_name, schema.version))
        for step, obstacles in matched
    )
    checks = [obstacle.reason for _, obstacles in matched for obstacle in obstacles if obstacle.is_note]
    scripts = remaining_scripts(schema, target_version, steps)
    unidentified = UpgradePlan(
        dialect=schema.dialect,
        place=schema.place,
        fingerprint=schema.fingerprint,
        version=schema.version,
        target=target_version,
        steps=steps,
        hive_scripts=scripts,
        notes=(*_notes(schema, target_version, scripts), *dict.fromkeys(checks)),
        db_schema=schema.db_schema,
    )
    return identified(unidentified)


def _matching(step: Step, schema: Schema) -> list[Obstacle]:
    """Return the obstacles to a step."""
    text = " ".join(step.statements)
    return [
        obstacle
        for obstacle in schema.obstacles
        if step.kind.value in obstacle.kinds
        and obstacle.table in ("", step.table)
        and (not obstacle.columns or any(dialect_of(schema.dialect).quote(name) in text for name in obstacle.columns))
        and not (obstacle.unless and obstacle.unless in text)
    ]


def _blocked(step: Step, obstacles: list[Obstacle]) -> Step:
    """Return the step with the reasons why it would fail."""
    reasons = [step.blocked] if step.blocked else []
    reasons += [obstacle.reason for obstacle in obstacles if not obstacle.is_note]
    return replace(step, blocked="; ".join(dict.fromkeys(reasons))) if reasons else step


def _check_version_rows(schema: Schema) -> None:
    """Reject a schema whose version is not known: its columns may have another meaning."""
    for row in schema.version_rows:
        if versions.chain_version(row) is None:
            raise UpgradeError(
                schema.place,
                f"the table VERSION holds {row!r}, which is not a version of Hive. The tables have the structure of "
                f"{schema.inferred_version}: correct SCHEMA_VERSION",
            )
        # Forks number their schemas like 3.1.3000.7.1.7.0-551.
        line = re.match(r"\d+\.\d+", row)
        if line and versions.known_version(row) is None and versions.known_version(f"{line[0]}.0") is None:
            raise UpgradeError(
                schema.place,
                f"the schema has version {row}, which this version of hive_views does not know: {KNOWN}. Use a newer "
                "version of hive_views",
            )


def added_columns(table: str, version: str) -> tuple[NeededColumn, ...]:
    """Return the columns that Hive added to a table up to a version."""
    return tuple(
        addition.column
        for addition in ADDITIONS
        if addition.table == table and versions.at_least(version, addition.since)
    )


def _target(schema: Schema, target: str | None) -> str:
    if target is None:
        has_views = versions.at_least(schema.version, versions.FIRST_WITH_VIEWS)
        return schema.version if has_views else versions.FIRST_WITH_VIEWS
    version = versions.known_version(target)
    if version is None:
        raise UsageError("--target", f"{target!r} is not a known version of Hive: {KNOWN}")
    if not versions.at_least(version, versions.FIRST_WITH_VIEWS):
        raise UsageError(
            "--target", f"Hive {target} has no views; the first version with views is {versions.FIRST_WITH_VIEWS}"
        )
    if not versions.at_least(version, schema.version):
        raise UsageError("--target", f"the schema has version {schema.version}, which is newer than {target}")
    return version


def table_at(table: NeededTable, version: str) -> NeededTable:
    """Return a table with the columns that it has in a version."""
    columns = tuple(
        replace(column, nullable=False)
        if column.required_since and versions.at_least(version, column.required_since)
        else column
        for column in table.columns
    )
    key = table.primary_key
    if table.name == "MV_TABLES_USED" and versions.at_least(version, "4.0.0-alpha-1"):
        key = ("TBL_ID", "MV_CREATION_METADATA_ID")
    return replace(table, columns=columns + added_columns(table.name, version), primary_key=key)


def _notes(schema: Schema, target: str, scripts: tuple[HiveScript, ...]) -> Iterator[str]:
    included = {step for script in scripts for step in script.conflicts}
    if early := early_objects(schema):
        scripts_that_fail = ", ".join(dict.fromkeys(each.script for each in early))
        yield (
            f"{', '.join(each.step for each in early)} exist already, and Hive's scripts that create them, which are "
            f"still to be run, fail ({scripts_that_fail}): {remedy_of_early_objects(schema)}"
        )
    if included:
        yield (
            f"{len(included)} step(s) are also made by Hive scripts that remain up to {target} and fail after them, so "
            f"apply rejects this plan: {scripts_first(schema)}"
        )
    if len(schema.version_rows) > 1:
        yield f"VERSION has {len(schema.version_rows)} rows, schematool expects one: {', '.join(schema.version_rows)}"
    recorded = versions.chain_version(schema.version_rows[0]) if schema.version_rows else None
    if recorded and schema.place and not versions.at_least(schema.inferred_version, last_landmark(recorded)):
        yield (
            f"the table VERSION has {recorded}, but the tables have the structure of {schema.inferred_version}, "
            "which is assumed"
        )
    if schema.rows.suspicious:
        listed = ", ".join(str(tbl_id) for tbl_id in sorted({row[0] for row in schema.rows.suspicious})[:20])
        yield (
            f"{len(schema.rows.suspicious)} view text(s) look damaged and cannot be repaired (verify lists them): "
            f"TBL_ID {listed}"
        )
    for table, column, nulls in schema.rows.null_primitives:
        yield (
            f"{nulls} row(s) of {table} hold NULL in {column}, and the metastore cannot read them: set a value, and "
            "find out which program wrote them"
        )
    if schema.vendor:
        yield (
            f"this is a fork of {schema.vendor}'s ({schema.vendor_version or 'version unknown'}): for the remaining "
            "changes use the scripts of that vendor, not those of Apache Hive"
        )
    if scripts and not included:
        yield (
            f"{len(scripts)} Hive script(s) remain up to {target}: this plan does not replace them. Run "
            f"{upgrade_command(schema)}"
        )
    is_before_2_2 = not versions.at_least(schema.version, "2.2.0")
    if is_before_2_2 and schema.dialect == Database.DERBY:
        yield "Hive's script to 2.2.0 changes PARAM_VALUE to CLOB, which Derby cannot compare; plan again after it"
    parameter = schema.column("TABLE_PARAMS", "PARAM_VALUE")
    if parameter and parameter.charset == "latin1" and is_before_2_2:
        yield (
            "TABLE_PARAMS.PARAM_VALUE is not changed to utf8mb4, because Hive's script to 2.2.0 changes it back to "
            "latin1 and damages its values. Plan again after that script"
        )


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A step before its undo is known."""

    kind: Kind
    table: str
    name: str
    reason: str
    statements: tuple[str, ...]
    rows: str
    undo_note: str
    earlier: Column | None = None
    """The declaration of a column that the step changes."""
    blocked: str | None = None


class _Planner:
    """Derives the steps of a plan from a schema."""

    def __init__(self, schema: Schema, target: str, dialect: Dialect) -> None:
        self._schema = schema
        self._target = target
        self._sql = dialect

    def steps(self) -> Iterator[Step]:
        """Yield all steps, in their order."""
        for table in TABLES:
            if versions.at_least(self._target, table.since):
                yield from self._table(table)
        for addition in ADDITIONS:
            if versions.at_least(self._target, addition.since):
                yield from self._addition(addition)
        for widening in WIDENINGS:
            if widening.since is None or versions.at_least(self._target, widening.since):
                yield from self._widening(widening)
        for recoding in RECODINGS:
            since = recoding.unchanged_before
            if since is None or versions.at_least(self._schema.version, since):
                yield from self._recoding(recoding)
        yield from self._indexes()
        yield from self._owners()
        yield from self._rows()

    def _step(self, requirement: Requirement, draft: _Draft) -> Step:
        """Return a step that meets a requirement."""
        earlier, undo_note = draft.earlier, draft.undo_note
        undo = undo_of(self._sql, requirement.id, draft.table, declaration_of(earlier) if earlier else None)
        if undo is None:
            undo_note = "not undone: all versions of Hive read the new type"
        return Step(
            id=requirement.id,
            kind=draft.kind,
            table=draft.table,
            name=draft.name,
            reason=draft.reason,
            statements=draft.statements,
            locks=self._sql.locks(draft.kind.value),
            rows=draft.rows,
            undo=undo,
            undo_note=undo_note,
            blocked=draft.blocked,
        )

    def _table(self, table: NeededTable) -> Iterator[Step]:
        existing = self._schema.table(table.name)
        required = replace(table_at(table, self._target), name=self._sql.table_name(table, self._target))
        if existing is None:
            yield self._step(
                table,
                _Draft(
                    kind=Kind.CREATE_TABLE,
                    table=required.name,
                    name=required.name,
                    reason=f"{table.reason} ({table.source})",
                    statements=self._sql.create_table(required) + self._privileges(required.name),
                    rows="none",
                    undo_note="while it is empty" if table.first_value is None else "yes",
                ),
            )
        if table.first_value is not None and (existing is None or self._schema.rows.is_lock_counter_empty):
            name = existing.name if existing else required.name
            column = self._sql.stored_name(table.columns[0].name, name)
            yield Step(
                id=f"{table.name} row",
                kind=Kind.FIRST_ROW,
                table=name,
                name=column,
                reason=f"the counter must have one row, otherwise every lock request fails ({table.source})",
                statements=(self._sql.first_row(name, column, table.first_value),),
                locks=self._sql.locks("first-row"),
                rows="one row is added if there is none",
                undo=None,
                undo_note="not needed",
            )

    def _privileges(self, table: str) -> tuple[str, ...]:
        """Statements that give a new table the owner and the privileges of TBLS."""
        tbls = self._schema.table("TBLS")
        return self._sql.give(table, tbls.owner, tbls.grants) if tbls else ()

    def _addition(self, addition: Addition) -> Iterator[Step]:
        table = self._schema.table(addition.table)
        if table is None or table.column(addition.column.name):
            return
        column = replace(addition.column, name=self._sql.stored_name(addition.column.name, table.name))
        yield self._step(
            addition,
            _Draft(
                kind=Kind.ADD_COLUMN,
                table=table.name,
                name=column.name,
                reason=f"{addition.reason} ({addition.source})",
                statements=(self._sql.add_column(table.name, column),),
                rows="all rows get NULL" if column.default is None else f"all rows get {self._sql.default(column)}",
                undo_note="possible while no row has a value in it",
            ),
        )

    def _widening(self, widening: Widening) -> Iterator[Step]:
        table = self._schema.table(widening.table)
        column = table.column(widening.column) if table else None
        if table is None or column is None or self._sql.fits(column, widening.type):
            return
        longest = self._schema.rows.longest_parameter if widening.table == "TABLE_PARAMS" else 0
        if self._sql.widening_loses(column, longest):
            return
        size = f"({column.length})" if column.length and column.length > 0 else ""
        yield self._step(
            widening,
            _Draft(
                kind=Kind.WIDEN,
                table=table.name,
                name=column.name,
                reason=f"{widening.reason}; its type is {column.type}{size} ({widening.source})",
                statements=self._sql.widen(table.name, column, widening.type),
                rows="no value changes",
                undo_note=_WHILE_VALUES_FIT,
                earlier=column,
            ),
        )

    def _recoding(self, recoding: Recoding) -> Iterator[Step]:
        table = self._schema.table(recoding.table)
        column = table.column(recoding.column) if table else None
        if table is None or column is None:
            return
        statement = self._sql.recode(table.name, column)
        if statement is None:
            return
        yield self._step(
            recoding,
            _Draft(
                kind=Kind.RECODE,
                table=table.name,
                name=column.name,
                reason=f"{column.charset} replaces all other characters by '?' without an error (measured on MariaDB "
                "10.11)",
                statements=(statement,),
                rows="no value changes; new values may contain all characters",
                undo_note=_WHILE_VALUES_FIT,
                earlier=column,
            ),
        )

    def _indexes(self) -> Iterator[Step]:
        for index in INDEXES:
            if index.since is not None and not versions.at_least(self._target, index.since):
                continue
            table = self._schema.table(index.table)
            if table is not None and table.has_index_on(*index.columns):
                continue
            # A table that does not exist yet is created by an earlier step.
            table_name = (
                table.name
                if table
                else next(self._sql.table_name(each, self._target) for each in TABLES if each.name == index.table)
            )
            columns = [self._sql.stored_name(name, table_name) for name in index.columns]
            holder = self._holder(index.name, table)
            yield self._step(
                index,
                _Draft(
                    kind=Kind.CREATE_INDEX,
                    table=table_name,
                    name=index.name,
                    reason=index.reason,
                    statements=(self._sql.create_index(index.name, table_name, columns, unique=index.unique),),
                    rows="none",
                    undo_note="yes",
                    blocked=f"{holder} has another index of this name: rename or drop it" if holder else None,
                ),
            )

    def _holder(self, index: str, table: Table | None) -> str | None:
        """Return the table that already has an index of this name.

        Most databases require unique index names in a schema.
        """
        in_scope = [table] if table and self._sql.has_indexes_by_table else self._schema.tables
        return next((each.name for each in in_scope if any(item.name == index for item in each.indexes)), None)

    def _owners(self) -> Iterator[Step]:
        """Steps for tables that the metastore may lack privileges on, because another user created them."""
        tbls = self._schema.table("TBLS")
        grants = tbls.metastore_grants if tbls else ()
        for needed in TABLES:
            table = self._schema.table(needed.name)
            if tbls is None or table is None:
                continue
            missing = [] if table.owner == tbls.owner else [f"the owner of TBLS, {tbls.owner}"]
            missing += [f"{user} ({privilege})" for user, privilege in grants if not table.allows(user, privilege)]
            if not missing:
                continue
            yield Step(
                id=f"{needed.name}{OWNER_SUFFIX}",
                kind=Kind.OWNER,
                table=table.name,
                name=table.name,
                reason=f"the metastore may not be able to use it, for lack of privileges: {', '.join(missing)}"
                + (f"; it belongs to {table.owner}" if table.owner else ""),
                statements=self._sql.give(table.name, tbls.owner, grants),
                locks=self._sql.locks("owner"),
                rows="none",
                undo=None,
                undo_note="not undone: the metastore needs the privileges",
            )

    def _rows(self) -> Iterator[Step]:
        rows = self._schema.rows
        has_types = all(self._schema.column("TBLS", name) for name in ("TBL_TYPE", *view_texts.COLUMNS))
        for name, invalid, since, reason in (
            (
                "IS_REWRITE_ENABLED",
                rows.bad_flags,
                "2.2.0",
                "the metastore cannot read a row whose flag is neither true nor false (HIVE-14496; Hive's script to "
                "3.0.0 overwrites the column on Derby)",
            ),
            (
                "WRITE_ID",
                rows.missing_write_ids,
                "4.0.0-alpha-1",
                "Hive 4 cannot read a row without a write ID (HIVE-19416)",
            ),
        ):
            # Without a connection the rows are unknown.
            if invalid or (not rows.counted and versions.at_least(self._target, since)):
                yield self._row_step(
                    f"rows {name}",
                    Kind.FILL,
                    name,
                    reason,
                    f"{invalid if rows.counted else 'invalid'} rows get {self._sql.default(filled_column(name))}",
                )
        untyped = rows.to_type if has_types else rows.tables
        if untyped or not rows.counted:
            number = f"{untyped} rows" if rows.counted else "rows without a type"
            yield self._row_step(
                "rows TBL_TYPE",
                Kind.BACK_FILL,
                "TBL_TYPE",
                "the type is missing, or is MANAGED_TABLE for an external table; Hive derives the type when it reads a "
                "row, but does not store it (Hive Views, Existing Row UPDATE)",
                f"{number} get a type; undecidable rows are reported",
            )
        if rows.mangled:
            yield self._row_step(
                "rows view texts",
                Kind.REPAIR,
                "VIEW_ORIGINAL_TEXT, VIEW_EXPANDED_TEXT",
                "UTF-8 was stored as latin1, so each non-ASCII character reads as two or more others",
                f"the texts of {len(rows.mangled)} view(s) are repaired: TBL_ID "
                + ", ".join(str(tbl_id) for tbl_id in rows.mangled[:20])
                + (" …" if len(rows.mangled) > 20 else ""),
            )

    def _row_step(self, step_id: str, kind: Kind, column: str, reason: str, effect: str) -> Step:
        quoted = self._sql.quote
        statements = tuple(
            f"UPDATE {quoted('TBLS')} SET {quoted(name)} = :new WHERE {quoted('TBL_ID')} IN (:ids) "
            f"AND {quoted(name)} = :old"
            for name in column.split(", ")
        )
        return Step(
            id=step_id,
            kind=kind,
            table="TBLS",
            name=column,
            reason=reason,
            statements=(f"INSERT INTO {quoted(journal.BACKUP.name)} … the old values", *statements),
            locks=self._sql.locks(kind.value),
            rows=effect,
            undo=None,
            undo_note=_FROM_BACKUP,
        )
