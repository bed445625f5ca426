"""Apache Derby: DDL is transactional; texts have limits, and a CLOB cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.requirements import PARAMETER_LENGTH, Type
from hive_views.schema_upgrade.schema import Column

SPARE = "HIVE_VIEWS_SPARE"
"""The column that holds the values while a column changes its type."""


class Derby(Dialect):
    """Derby 10.10 and newer."""

    name = "derby"
    hive_name = "derby"
    title = "Derby"
    sqlglot = ""
    transactional_ddl = True
    types: Mapping[str, str] = {
        "bigint": "BIGINT",
        "int": "INTEGER",
        "varchar": "VARCHAR({length})",
        "char": "CHAR({length})",
        "view_text": "LONG VARCHAR",
        "parameter": f"VARCHAR({PARAMETER_LENGTH})",
        "long_text": "CLOB",
        "flag": "CHAR(1)",
    }
    false = "'N'"
    own_text = "CLOB"
    one_row = " FROM SYSIBM.SYSDUMMY1"
    batch_size = 500
    locking: Mapping[str, str] = {}

    def fits(self, column: Column, needed: Type) -> bool:
        """Whether a column can hold what is needed of it. A CLOB could, but the server cannot compare it."""
        if needed.kind == "view_text":
            return column.type in ("long varchar", "clob")
        wanted = PARAMETER_LENGTH if needed.kind == "parameter" else needed.length
        return column.type == "varchar" and column.length is not None and column.length >= wanted

    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Let a column hold more; where its type must become another one, over a spare column."""
        name, kind = self.quote(table), self.type(needed)
        old, spare = self.quote(column.name), self.quote(SPARE)
        if column.type == "varchar" and needed.kind != "view_text":
            return (f"ALTER TABLE {name} ALTER COLUMN {old} SET DATA TYPE {kind}",)
        value = f"CAST({old} AS {kind})" if column.type == "clob" else old
        return (
            f"ALTER TABLE {name} ADD COLUMN {spare} {kind}",
            f"UPDATE {name} SET {spare} = {value}",
            f"ALTER TABLE {name} DROP COLUMN {old}",
            f"RENAME COLUMN {name}.{spare} TO {old}",
        )

    def widening_loses(self, column: Column, longest: int) -> bool:
        """Whether a CLOB holds a value that is longer than any VARCHAR."""
        return column.type == "clob" and longest > PARAMETER_LENGTH

    def short_text(self, expression: str) -> str:
        """A CLOB cannot be compared, its beginning can."""
        return f"CAST({expression} AS VARCHAR(128))"

    def locks(self, kind: str) -> str:
        """What a step of a kind means for those who use the database meanwhile."""
        return "the whole database: it is open in one program at a time, and that is this one"

    def guarded(self, statement: str, table: str, missing: str, name: str, needed: Type | None = None) -> str:
        """A statement for a script of `ij`, which goes on after an error."""
        known = missing in ("column", "table", "index")
        note = f"-- A second run prints an error here: the {missing} {name} is there already.\n" if known else ""
        return f"{note}{statement};"

    def bad_flag(self, flag: str) -> str:
        """The condition of flags that are neither set nor unset; Hive's script to 3.0.0 writes a timestamp there."""
        return f"{flag} IS NULL OR {flag} NOT IN ('Y', 'N')"

    locked = ""

    def same_text(self, column: str, value: str) -> None:
        """A LONG VARCHAR cannot be compared; nobody else has the database open meanwhile."""

    def batches(self, begin: str, statements: Sequence[str], size: int) -> str:
        """Statements over all rows at once: Derby has no loops, and nobody else waits."""
        wide = (each.replace(":first", "0").replace(":last", "9223372036854775807") for each in statements)
        return "\n".join(f"{each};" for each in wide)

    def head(self) -> str:
        """What a script begins with."""
        return (
            "-- Run it with ij; the user must be the one that Hive connects as (APP by default).\n"
            "-- All of it is one transaction: where it was stopped, nothing was done.\n"
            "AUTOCOMMIT OFF;"
        )

    def use(self, schema: str) -> str:
        """Go to the schema that the tables are in."""
        return f"SET SCHEMA {self.quote(schema)};"
