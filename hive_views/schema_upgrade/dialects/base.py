"""What a database's SQL for a plan looks like: the base of the small modules of which there is one a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from hive_views.schema_upgrade.requirements import NeededColumn, NeededTable, Type
from hive_views.schema_upgrade.schema import Column

_BATCH = "rows of one batch at a time"

_LOCKING = {
    "create-table": "none",
    "create-index": "readers go on, writers wait while it is built",
    "recode": "none",
    "first-row": "one row",
    "fill": _BATCH,
    "back-fill": _BATCH,
    "repair": _BATCH,
}


class Dialect(ABC):
    """The SQL of one database. Statements have no semicolon at their end."""

    name: str
    """Our name of the database."""
    hive_name: str
    """Hive's name of it, in the names of its scripts."""
    title: str
    """Its name for people."""
    sqlglot: str
    """Sqlglot's name of its SQL; empty where it has none."""
    transactional_ddl: bool
    """Whether a change of the schema can be rolled back."""
    types: Mapping[str, str]
    """The types by their kinds (`hive_views.schema_upgrade.requirements.Type`); `{length}` stands for a length."""
    false: str
    """The literal of a flag that is not set."""
    own_text: str
    """The type of our own tables' long texts."""
    locking: Mapping[str, str]
    """What steps mean for other users of the database, by their kinds, where it is not `_LOCKING`."""
    locked = " FOR UPDATE"
    """The end of a query whose rows nobody else changes until the transaction ends."""
    add = "ADD COLUMN"
    """How a column is added."""
    batch_size = 10_000
    """Rows of TBLS that one transaction of the back-fill looks at."""

    def quote(self, name: str) -> str:
        """An identifier, quoted."""
        return f'"{name}"'

    def literal(self, text: str) -> str:
        """A string literal."""
        return "'" + text.replace("'", "''") + "'"

    def type(self, needed: Type) -> str:
        """The type in this database."""
        return self.types[needed.kind].format(length=needed.length)

    def default(self, column: NeededColumn) -> str:
        """The literal of a column's default."""
        return self.false if column.default == "false" else str(column.default)

    def column(self, column: NeededColumn) -> str:
        """A column as it is declared."""
        parts = [self.quote(column.name), self.type(column.type)]
        if column.default is not None:
            parts.append(f"DEFAULT {self.default(column)}")
        if not column.nullable:
            parts.append("NOT NULL")
        return " ".join(parts)

    def add_column(self, table: str, column: NeededColumn) -> str:
        """Add a column."""
        return f"ALTER TABLE {self.quote(table)} {self.add} {self.column(column)}"

    def drop_column(self, table: str, column: str) -> str:
        """Take a column away."""
        return f"ALTER TABLE {self.quote(table)} DROP COLUMN {self.quote(column)}"

    def create_table(self, table: NeededTable) -> tuple[str, ...]:
        """Make a table: one statement, or its counter's first row with it."""
        parts = [self.column(column) for column in table.columns]
        if table.primary_key:
            name = f"CONSTRAINT {self.quote(table.key_name)} " if table.key_name else ""
            parts.append(f"{name}PRIMARY KEY ({self.names(table.primary_key)})")
        parts += [
            f"CONSTRAINT {self.quote(key.name)} FOREIGN KEY ({self.quote(key.column)}) "
            f"REFERENCES {self.quote(key.table)} ({self.quote(key.column)})"
            for key in table.foreign_keys
        ]
        return (f"CREATE TABLE {self.quote(table.name)} ({', '.join(parts)}){self.table_options}",)

    table_options = ""
    """What follows a table's columns."""

    def first_row(self, table: NeededTable) -> str:
        """Give a counter's table its one row; does nothing where it has one."""
        name, column = self.quote(table.name), self.quote(table.columns[0].name)
        return (
            f"INSERT INTO {name} ({column}) SELECT {table.first_value}{self.one_row} "
            f"WHERE NOT EXISTS (SELECT 1 FROM {name})"
        )

    one_row = ""
    """The FROM of a query that gives one row."""

    def create_index(self, name: str, table: str, columns: Sequence[str], *, unique: bool = False) -> str:
        """Make an index."""
        kind = "UNIQUE INDEX" if unique else "INDEX"
        return f"CREATE {kind} {self.quote(name)} ON {self.quote(table)} ({self.names(columns)})"

    def drop_index(self, name: str, table: str) -> str:
        """Take an index away."""
        return f"DROP INDEX {self.quote(name)}"

    def drop_table(self, table: str) -> str:
        """Take a table away."""
        return f"DROP TABLE {self.quote(table)}"

    def names(self, columns: Sequence[str]) -> str:
        """A list of columns."""
        return ", ".join(self.quote(column) for column in columns)

    @abstractmethod
    def fits(self, column: Column, needed: Type) -> bool:
        """Whether a column can hold what is needed of it."""

    @abstractmethod
    def widen(self, table: str, column: Column, needed: Type) -> tuple[str, ...]:
        """Let a column hold more. More than one statement only where one transaction holds them all."""

    def widening_loses(self, column: Column, longest: int) -> bool:
        """Whether a column cannot become what is needed because of a value that it has."""
        return False

    def recode(self, table: str, column: Column) -> str | None:
        """Let a column of texts hold every character; None where it can, or cannot be told to."""
        return None

    def locks(self, kind: str) -> str:
        """How a step of a `hive_views.schema_upgrade.plan_model.Kind` affects concurrent users of the database."""
        return {**_LOCKING, **self.locking}[kind]

    @abstractmethod
    def guarded(self, statement: str, table: str, missing: str, name: str, needed: Type | None = None) -> str:
        """A statement for a script that may run twice, also long after: what was widened further since stays so."""

    @abstractmethod
    def batches(self, begin: str, statements: Sequence[str], size: int) -> str:
        """Statements over a range of rows, repeated in batches until all rows were seen."""

    def head(self) -> str:
        """What a script begins with."""
        return ""

    def use(self, schema: str) -> str:
        """Go to the schema that the tables are in, where a database has several; nothing where it has not."""
        return ""

    def bad_flag(self, flag: str) -> str:
        """The condition of flags that are neither set nor unset; `flag` is the quoted column."""
        return f"{flag} IS NULL"

    def same_text(self, column: str, value: str) -> str | None:
        """Whether a text column holds a value to the last byte, in SQL; None where the database cannot compare it."""
        return f"{column} = {value}"

    def foot(self) -> str:
        """What a script ends with."""
        return ""

    def comment(self, line: str) -> str:
        """A line of comment."""
        return f"-- {line}".rstrip()

    def short_text(self, expression: str) -> str:
        """A text column as something that can be compared with a literal."""
        return expression

    def gather(self, key: str) -> str | None:
        """All ids of a group as one text, `1,2,9`; None where the database cannot."""
        return None

    def limit(self, count: int) -> str:
        """The end of a query that gives at most so many rows."""
        return f"FETCH FIRST {count} ROWS ONLY"
