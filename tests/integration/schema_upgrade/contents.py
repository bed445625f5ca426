"""The contents of databases as comparable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hive_views.schema_upgrade import Applied, ApplyOptions, Schema, Session, UpgradePlan, apply, detect
from hive_views.schema_upgrade.row_changes import ProgressCallback
from hive_views.schema_upgrade.schema import Rows

_BACKUP = ("STEP", "TABLE_NAME", "FIELD", "FIRST_ID", "ROW_IDS", "OLD_VALUE", "NEW_VALUE")


def apply_before_scripts(
    session: Session, plan: UpgradePlan, *, progress: ProgressCallback = lambda _: None, **options: Any
) -> Applied:
    """Apply a plan although scripts of Hive make its steps as well: for tests of other rules on old schemas."""
    return apply(session, plan, ApplyOptions(before_hive_scripts=True, **options), progress=progress)


def schema_of(session: Session) -> Schema:
    """The schema without values that differ between copies of a database."""
    return replace(detect(session, rows=False), place="", rows=Rows())


def rows_of(session: Session, table: str) -> list[tuple[object, ...]]:
    """All rows of a table in a fixed order."""
    schema = detect(session, rows=False)
    existing = schema.table(table)
    assert existing is not None, table
    return select(session, table, [column.name for column in existing.columns])


def change(session: Session, sql: str, values: Mapping[str, object] | None = None) -> None:
    """Execute a statement whose names are written in brackets."""
    session.execute(session.dialect.sql(sql), values)
    session.commit()


def select(session: Session, table: str, columns: list[str]) -> list[tuple[Any, ...]]:
    names = session.dialect.names(columns)
    rows = session.query(f"SELECT {names} FROM {session.dialect.quote(table)}")
    session.rollback()
    return sorted(rows, key=repr)


def backup_of(session: Session) -> list[tuple[object, ...]]:
    return select(session, "HIVE_VIEWS_BACKUP", list(_BACKUP))


def types_of(session: Session) -> dict[str, str | None]:
    """TBL_TYPE by table name."""
    return {str(name): kind for name, kind in select(session, "TBLS", ["TBL_NAME", "TBL_TYPE"])}
