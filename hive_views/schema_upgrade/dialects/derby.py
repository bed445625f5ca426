"""Apache Derby: DDL is transactional; text columns have length limits, and CLOBs cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Change, Dialect, Missing
from hive_views.schema_upgrade.requirements import PARAMETER_LENGTH, Type, TypeKind
from hive_views.schema_upgrade.schema import Column

SPARE = "HIVE_VIEWS_SPARE"
"""The column that holds the values while the type of a column changes."""


class Derby(Dialect):
    """Derby 10.10 and newer."""

    name = Database.DERBY
    hive_name = "derby"
    title = "Derby"
    transactional_ddl = True
    types: Mapping[TypeKind, str] = {
        TypeKind.BIGINT: "BIGINT",
        TypeKind.INT: "INTEGER",
        TypeKind.VARCHAR: "VARCHAR({length})",
        TypeKind.CHAR: "CHAR({length})",
        TypeKind.VIEW_TEXT: "LONG VARCHAR",
        TypeKind.PARAMETER: f"VARCHAR({PARAMETER_LENGTH})",
        TypeKind.LONG_TEXT: "CLOB",
        TypeKind.FLAG: "CHAR(1)",
    }
    false = "'N'"
    # Derby can return only local time.
    now = "CAST(CURRENT_TIMESTAMP AS CHAR(26))"
    own_text = "CLOB"
    one_row = " FROM SYSIBM.SYSDUMMY1"
    batch_size = 500
    locking: Mapping[str, str] = {}

    def fits(self, column: Column, needed: Type) -> bool:
        """Return whether a column can hold values of the needed type.

        A CLOB could, but the server cannot compare it.
        """
        if needed.kind is TypeKind.VIEW_TEXT:
            return column.type in ("long varchar", "clob")
        wanted = PARAMETER_LENGTH if needed.kind is TypeKind.PARAMETER else needed.length
        return column.type == "varchar" and column.length is not None and column.length >= wanted

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Widen a column; a change of type goes through a spare column."""
        name, kind = self.quote(table), self.type(needed)
        old, spare = self.quote(column.name), self.quote(SPARE)
        if column.type == "varchar" and needed.kind is not TypeKind.VIEW_TEXT:
            return (f"ALTER TABLE {name} ALTER COLUMN {old} SET DATA TYPE {kind}",)
        value = f"CAST({old} AS {kind})" if column.type == "clob" else old
        return (
            f"ALTER TABLE {name} ADD COLUMN {spare} {kind}",
            f"UPDATE {name} SET {spare} = {value}",
            f"ALTER TABLE {name} DROP COLUMN {old}",
            f"RENAME COLUMN {name}.{spare} TO {old}",
        )

    def number_as_text(self, expression: str) -> str:
        """Return a number as a CLOB, without the trailing blanks of CHAR."""
        return f"CAST(RTRIM({super().number_as_text(expression)}) AS CLOB)"

    def as_own_text(self, expression: str) -> str:
        """Return a short text as a CLOB; Derby does not convert it implicitly."""
        return f"CAST({expression} AS CLOB)"

    def byte_length(self, column: str) -> str:
        """Return the length of a text in characters."""
        return f"LENGTH({column})"

    def widening_loses(self, column: Column, longest: int) -> bool:
        """Return whether a CLOB holds a value longer than the longest VARCHAR."""
        return column.type == "clob" and longest > PARAMETER_LENGTH

    def short_text(self, expression: str) -> str:
        """Return the beginning of a CLOB, which can be compared."""
        return f"CAST({expression} AS VARCHAR(128))"

    def locks(self, kind: str) -> str:
        return "the whole database: only one process can open it"

    def guarded(self, change: Change) -> str:
        """Return a statement for a script of `ij`, which continues after an error."""
        fails_when_repeated = change.missing in (Missing.COLUMN, Missing.TABLE, Missing.INDEX)
        note = (
            f"-- A second run prints an error here: the {change.missing.value} {change.name} exists already.\n"
            if fails_when_repeated
            else ""
        )
        return f"{note if fails_when_repeated else ''}{change.statement};"

    def bad_flag(self, flag: str) -> str:
        """Return the condition for flags that are neither Y nor N: Hive's script for 3.0.0 writes a timestamp there."""
        return f"{flag} IS NULL OR {flag} NOT IN ('Y', 'N')"

    locked = ""

    def same_text(self, column: str, value: str) -> None:
        """None: a LONG VARCHAR cannot be compared, which is not needed since no other process can open the database."""

    def batches(self, statements: Sequence[str], size: int) -> str:
        """Statements over all rows at once: Derby has no loops, and no other session has to wait."""
        return self.bounded(statements, "0", "9223372036854775807", "")

    def head(self) -> str:
        return (
            "-- Run it with ij as the user that Hive connects as (APP by default).\n"
            "-- The script is one transaction: if it is interrupted, nothing is changed.\n"
            "AUTOCOMMIT OFF;"
        )

    def use(self, schema: str) -> str:
        return f"SET SCHEMA {self.quote(schema)};"
