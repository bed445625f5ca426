"""The base class of the dialects: the SQL of a plan on one database."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from hive_views.rendering.escaping import escape
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.requirements import NeededColumn, NeededTable, Type, TypeKind
from hive_views.schema_upgrade.schema import Column
from hive_views.sql.text.quoting import quote_identifier

_BATCH = "rows of one batch at a time"

_LOCKING = {
    "create-table": "none",
    "create-index": "readers continue, writers wait while it is built",
    "recode": "none",
    "first-row": "one row",
    "fill": _BATCH,
    "back-fill": _BATCH,
    "repair": _BATCH,
    "owner": "none",
}


class Missing(Enum):
    """What a script looks for to find out whether a change was made before."""

    NOTHING = ""
    """The change can simply be repeated."""
    COLUMN = "column"
    TABLE = "table"
    INDEX = "index"
    WIDTH = "width"
    CHARSET = "charset"


@dataclass(frozen=True, kw_only=True)
class Change:
    """A statement of a script. It must have no effect if the change has been made already."""

    statement: str
    table: str
    """The stored name of its table."""
    missing: Missing
    """What it adds or changes."""
    name: str
    """The name of that column, table or index."""
    needed: Type | None = None
    """For WIDTH: the type that the column needs."""
    position: int = 0
    """The position of the statement among those of its step."""


@dataclass(frozen=True)
class AlterList:
    """Combines all changes of a table in one ALTER TABLE, for databases where each ALTER TABLE may copy the table."""

    merge: Callable[[Sequence[str]], str]
    """One statement for several ALTER TABLE of the same table."""
    guard: Callable[[Sequence[Change]], str]
    """One statement of a script, which makes those changes that are still needed."""


class Dialect(ABC):
    """The SQL of one database. Statements have no semicolon at their end."""

    name: Database
    """The database."""
    hive_name: str
    """The name that Hive's scripts use for the database."""
    title: str
    """The display name."""
    transactional_ddl: bool
    """Whether a change of the schema can be rolled back."""
    alter_list: AlterList | None = None
    """How several ALTER TABLE statements of a table are combined; None if they are not."""
    types: Mapping[TypeKind, str]
    """The types by their kinds (`hive_views.schema_upgrade.requirements.Type`); `{length}` stands for a length."""
    false: str
    """The literal of a false flag."""
    own_text: str
    """The type of long texts in the journal and the backup."""
    locking: Mapping[str, str]
    """The effect of steps on concurrent users, by kind, where it differs from `_LOCKING`."""
    locked = " FOR UPDATE"
    """The end of a query that locks its rows until the end of the transaction."""
    add = "ADD COLUMN"
    """The clause that adds a column."""
    has_indexes_by_table = False
    """Whether several tables may have indexes of one name."""
    batch_size = 10_000
    """Rows of TBLS per transaction of a row step."""

    def quote(self, name: str) -> str:
        """Return an identifier, quoted."""
        return quote_identifier(name, '"')

    def sql(self, text: str) -> str:
        """SQL whose names are written in brackets: `SELECT [TBL_ID] FROM [TBLS]`."""
        return re.sub(r"\[(\w+)\]", lambda match: self.quote(match[1]), text)

    def table_name(self, table: NeededTable, version: str) -> str:
        """Return the name of a table in a schema version."""
        return table.name

    def stored_name(self, name: str, table: str) -> str:
        """Return the name of a column or an index of a table as it is stored."""
        return name

    def literal(self, text: str) -> str:
        """Return a string literal."""
        return "'" + text.replace("'", "''") + "'"

    def type(self, needed: Type) -> str:
        """Return the type in this database."""
        return self.types[needed.kind].format(length=needed.length)

    def default(self, column: NeededColumn) -> str:
        """Return the literal of a column's default."""
        return self.false if column.default == "false" else str(column.default)

    def column(self, column: NeededColumn) -> str:
        """Return a column as it is declared."""
        parts = [self.quote(column.name), self.type(column.type)]
        if column.default is not None:
            parts.append(f"DEFAULT {self.default(column)}")
        if not column.nullable or self.name in column.required_on:
            parts.append("NOT NULL")
        return " ".join(parts)

    def add_column(self, table: str, column: NeededColumn) -> str:
        """Add a column."""
        return f"ALTER TABLE {self.quote(table)} {self.add} {self.column(column)}"

    def drop_column(self, table: str, column: str) -> str:
        """Drop a column."""
        return f"ALTER TABLE {self.quote(table)} DROP COLUMN {self.quote(column)}"

    def create_table(self, table: NeededTable) -> tuple[str, ...]:
        """Return the statements that create a table."""
        stored = {column.name: self.stored_name(column.name, table.name) for column in table.columns}
        parts = [self.column(replace(column, name=stored[column.name])) for column in table.columns]
        if table.primary_key:
            name = f"CONSTRAINT {self.quote(table.key_name)} " if table.key_name else ""
            parts.append(f"{name}PRIMARY KEY ({self.names([stored[key] for key in table.primary_key])})")
        parts += [
            f"CONSTRAINT {self.quote(key.name)} FOREIGN KEY ({self.quote(key.column)}) "
            f"REFERENCES {self.quote(key.table)} ({self.quote(key.column)})"
            for key in table.foreign_keys
        ]
        options = self.table_options + table.options.get(self.name, "")
        return (f"CREATE TABLE {self.quote(table.name)} ({', '.join(parts)}){options}",)

    now: str
    """The SQL of the current time in UTC as text, in the form of `hive_views.schema_upgrade.row_changes.now`."""

    table_options = ""
    """Options after the columns of CREATE TABLE."""

    def first_row(self, table: str, column: str, value: int) -> str:
        """Insert the single row of a counter table, unless it exists."""
        name = self.quote(table)
        return (
            f"INSERT INTO {name} ({self.quote(column)}) SELECT {value}{self.one_row} "
            f"WHERE NOT EXISTS (SELECT 1 FROM {name})"
        )

    one_row = ""
    """The FROM clause of a query that returns one row."""

    def create_index(self, name: str, table: str, columns: Sequence[str], *, unique: bool = False) -> str:
        """Create an index."""
        kind = "UNIQUE INDEX" if unique else "INDEX"
        return f"CREATE {kind} {self.quote(name)} ON {self.quote(table)} ({self.names(columns)})"

    def drop_index(self, name: str, table: str) -> str:
        """Drop an index."""
        return f"DROP INDEX {self.quote(name)}"

    def drop_table(self, table: str) -> str:
        """Drop a table."""
        return f"DROP TABLE {self.quote(table)}"

    def names(self, columns: Sequence[str]) -> str:
        """Return a list of columns."""
        return ", ".join(self.quote(column) for column in columns)

    @abstractmethod
    def fits(self, column: Column, needed: Type) -> bool:
        """Return whether a column can hold values of the needed type."""

    @abstractmethod
    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Return the statements that widen a column; more than one only if DDL is transactional."""

    def restore(self, table: str, column: Column) -> tuple[str, str] | None:
        """The statement that restores an earlier declaration of a column, and the condition for values that do not fit.

        The declaration comes from the journal and is not trusted. None if the column cannot be restored.
        """
        return None

    def lock(self, table: str) -> tuple[str, str] | None:
        """Two statements: one that locks a table against other sessions during DDL, and one that unlocks it.

        The second is empty if the end of the transaction unlocks the table. None if there cannot be other sessions.
        """
        return None

    def widening_loses(self, column: Column, longest: int) -> bool:
        """Return whether widening would lose a value of the column."""
        return False

    def recode(self, table: str, column: Column) -> str | None:
        """Return the statement that lets a text column hold all characters; None if not needed or not possible."""
        return None

    def locks(self, kind: str) -> str:
        """How a step of a `hive_views.schema_upgrade.plan_model.Kind` affects concurrent users of the database."""
        return {**_LOCKING, **self.locking}[kind]

    @abstractmethod
    def guarded(self, change: Change) -> str:
        """Return a statement of a repeatable script; it does not narrow columns that were widened further since."""

    def largest_id(self) -> str:
        """Return the SQL of the largest TBL_ID; its value is 0 if TBLS is empty."""
        return f"COALESCE((SELECT MAX({self.quote('TBL_ID')}) FROM {self.quote('TBLS')}), 0)"

    def bounded(self, statements: Sequence[str], first: str, last: str, indent: str) -> str:
        """Statements with the bounds of their range of rows filled in, one on each line."""
        bounds = (each.replace(":first", first).replace(":last", last) for each in statements)
        return "\n".join(f"{indent}{each};" for each in bounds)

    @abstractmethod
    def batches(self, statements: Sequence[str], size: int) -> str:
        """Statements over a range of rows, repeated in batches over all rows."""

    def head(self) -> str:
        """Return the beginning of a script."""
        return ""

    def use(self, schema: str) -> str:
        """Select the schema of the tables; empty if the database has only one."""
        return ""

    def bad_flag(self, flag: str) -> str:
        """Return the condition for flags that are neither true nor false; `flag` is the quoted column."""
        return f"{flag} IS NULL"

    def same_text(self, column: str, value: str) -> str | None:
        """Return the SQL condition that a text column equals a value exactly.

        None if the database cannot compare it.
        """
        return f"{column} = {value}"

    def give(self, table: str, owner: str | None, grants: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """The statements that give a table to an owner, if tables have one, and privileges on it to other users."""
        return ()

    def copy_privileges(self, table: str) -> str:
        """Return a part of a script that gives the users of TBLS privileges on a new table, read when it runs."""
        return ""

    def comment(self, line: str) -> str:
        """Return a comment line; characters of the text that would end it are escaped."""
        return f"-- {escape(line)}".rstrip()

    def short_text(self, expression: str) -> str:
        """Return a text column in a form that can be compared with a literal."""
        return expression

    def number_as_text(self, expression: str) -> str:
        """Return a number as a value of the type `own_text`."""
        return f"CAST({expression} AS CHAR(20))"

    def as_own_text(self, expression: str) -> str:
        """Return a short text as a value of the type `own_text`."""
        return expression

    def byte_length(self, column: str) -> str:
        """Return the length of a text: in bytes if the database can return that, else in characters."""
        return f"OCTET_LENGTH({column})"

    def gather(self, key: str) -> str | None:
        """Return an aggregate of all IDs of a group as text, `1,2,9`; None if the database has none."""
        return None

    def limit(self, count: int) -> str:
        """Return the clause that limits a query to a number of rows."""
        return f"FETCH FIRST {count} ROWS ONLY"
