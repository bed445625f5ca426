"""Name scopes: which columns a clause of a query can name, under which table alias (Hive's `RowResolver`).

A scope is ordered: a star lists its columns in this order. Hive's own rules are kept where they show in a stored text:
a second column of the same name gets its internal name (`_col3`), a column that came from an expression has no table.
Source of the rules: Hive 4.1's `RowResolver`, `ColumnInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

VIRTUAL_COLUMNS: dict[str, str] = {
    "block__offset__inside__file": "bigint",
    "input__file__name": "string",
    "row__id": "struct<writeid:bigint,bucketid:int,rowid:bigint>",
    "row__is__deleted": "boolean",
}
"""Columns that every stored table of Hive has and no star lists, with their types."""


@dataclass(frozen=True)
class TableSchema:
    """What the resolver has to know about a table or view."""

    columns: tuple[tuple[str, str], ...]
    """Name (lower case) and Hive type text of each column, partition columns last."""
    kind: str = "table"
    """`table`, `view`, `materialized` or `temporary`."""
    bucket_columns: tuple[str, ...] = ()
    """The columns that the table is CLUSTERED BY, lower case."""
    _named: dict[tuple[str, str, str], NamedColumns] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What `columns_of` made of it before."""

    def __hash__(self) -> int:
        return hash(self.columns)


class Schemas(Protocol):
    """Where table schemas come from: the metastore, asked lazily, table by table."""

    def table(self, database: str, name: str) -> TableSchema | None:
        """The schema of one table or view."""
        ...


TypeSource = str | Callable[[], str | None] | None


class Column:
    """One column that can be named in a scope.

    Attributes:
        internal: Hive's internal name: the real name in a table's own scope, `_colN` after a join or a select list.
        table: The alias of its table as Hive writes it (lower case); None or empty where it came from an expression.
        name: Its name in the scope, lower case.
        base: Database, table and column, where it is a table's own column.
    """

    __slots__ = ("_type", "base", "internal", "name", "table")

    def __init__(
        self,
        internal: str,
        table: str | None,
        name: str,
        type_: TypeSource = None,
        base: tuple[str, str, str] | None = None,
    ) -> None:
        self.internal = internal
        self.table = table
        self.name = name
        self._type = type_
        self.base = base

    @property
    def type(self) -> str | None:
        """The Hive type text, or None where it is not known; worked out when first asked for."""
        if callable(self._type):
            try:
                self._type = self._type()
            except RecursionError:
                self._type = None  # an expression of a thousand operators: its type is not known
        return self._type

    @property
    def type_source(self) -> TypeSource:
        """The type, or what will say it: for another column of the same type."""
        return self._type


NamedColumns = tuple[dict[str, Column], list[Column], dict[Column, tuple[str | None, str]]]
"""A table's columns under an alias as a scope has them: by name, in order, and the alias and name of each."""

_MOST_ALIASES = 64


def columns_of(schema: TableSchema, alias: str, database: str, table: str) -> NamedColumns:
    """The columns of a table under an alias; shared by every query that reads this schema, so never to be changed."""
    found = schema._named.get((alias, database, table))
    if found is None:
        known = {
            name: Column(name, alias, name, type_text, (database, table, name)) for name, type_text in schema.columns
        }
        found = (known, list(known.values()), {column: (alias, name) for name, column in known.items()})
        if len(schema._named) >= _MOST_ALIASES:
            schema._named.clear()
        schema._named[alias, database, table] = found
    return found


class AmbiguousName(Exception):  # noqa: N818  (the message and the position are added by the caller)
    """A name that more than one table of a scope answers to."""


@dataclass(slots=True)
class Using:
    """What a join with USING leaves for a star: the named columns come first, once."""

    left: str
    right: str
    columns: list[str]
    right_outer: bool
    full_outer: bool = False


_NO_KEYS: dict[str, Column] = {}
_NO_NODES: dict[str, Any] = {}
"""What most scopes have none of, shared by them: a scope that gets a key makes its own."""


class Scope:
    """The columns that a clause can name.

    `tables` maps a table alias (lower case; None for columns of a select list that have none) to its columns by name.
    `keys` maps an expression's key to the column that holds its value: a GROUP BY key, an aggregate, a window function;
    `key_nodes` maps it to the expression itself.
    """

    keys: dict[str, Column] = _NO_KEYS
    key_nodes: dict[str, Any] = _NO_NODES
    ambiguous: frozenset[tuple[str | None, str]] = frozenset()
    with_virtual: tuple[str, ...] = ()
    using: Using | None = None
    hidden: Container[str] = ()
    around: Scope | None = None
    grouped = False
    has_grouping_sets = False

    def __init__(self, *, grouped: bool = False, around: Scope | None = None, like: Scope | None = None) -> None:
        self.tables: dict[str | None, dict[str, Column]] = {}
        self.columns: list[Column] = []
        self.names: dict[Column, tuple[str | None, str]] = {}
        if grouped:
            self.grouped = True
        if around is not None:
            self.around = around
        if like is not None:
            self.keys = like.keys
            self.key_nodes = like.key_nodes
            self.with_virtual = like.with_virtual
            self.grouped = like.grouped

    def put(self, table: str | None, name: str, column: Column) -> None:
        """Add a column under a table alias, or a further name for a column that is in the scope already."""
        known = self.tables.get(table)
        if known is None:
            known = self.tables[table] = {}
        elif name in known:
            self.ambiguous |= {(table, name)}
        known[name] = column
        if column not in self.names:
            self.names[column] = (table, name)
            self.columns.append(column)

    def put_unique(self, table: str | None, name: str, column: Column) -> bool:
        """Add a column; under its internal name where the scope has one of that name already."""
        existing = self.find(table, name)
        if existing is None:
            self.put(table, name, column)
            return True
        if _same(existing, column):
            return True
        if self.find(table, column.internal) is None:
            self.ambiguous |= {(table, name)}
            self.put(table, column.internal, column)
            return True
        return False

    def put_key(self, key: str, column: Column, node: Any = None) -> None:
        """Remember that a column holds the value of an expression, and which one."""
        if self.keys is _NO_KEYS:
            self.keys = {}
        self.keys[key] = column
        if node is not None:
            if self.key_nodes is _NO_NODES:
                self.key_nodes = {}
            self.key_nodes[key] = node
        if column not in self.names:
            self.names[column] = ("", key)
            self.columns.append(column)

    def has_table(self, alias: str) -> bool:
        """Whether a table alias (lower case) is in the scope."""
        return alias in self.tables or (self.around is not None and self.around.has_table(alias))

    def find(self, table: str | None, name: str) -> Column | None:
        """The column of a name, in one table or (None) in any."""
        if table is not None:
            known = self.tables.get(table)
            if known is not None and name in known:
                return known[name]
        elif len(self.tables) == 1 and not self.hidden:
            for known in self.tables.values():
                if name in known:
                    return known[name]
        found = self._find(table, name)
        if found is None and self.around is not None and (table is None or table not in self.tables):
            return self.around.find(table, name)
        return found

    def _find(self, table: str | None, name: str) -> Column | None:
        if table is not None:
            known = self.tables.get(table)
            found = known.get(name) if known is not None else None
            if found is None and name in VIRTUAL_COLUMNS and table in self.with_virtual:
                return self._virtual(table, name)
            return found
        found = None
        if name in self.hidden:
            return self.tables.get(None, {}).get(name)
        found_in: str | None = None
        for alias, columns in self.tables.items():
            column = columns.get(name)
            if column is not None:
                if found is not None and found_in is not None and alias is not None:
                    raise AmbiguousName(name)
                found_in = found_in if alias is None else alias
                found = column
        if found is None and name in VIRTUAL_COLUMNS:
            if len(self.with_virtual) > 1:
                raise AmbiguousName(name)
            if self.with_virtual:
                return self._virtual(self.with_virtual[0], name)
        return found

    def is_ambiguous(self, table: str | None, name: str) -> bool:
        """Whether a name stands for several columns of one table (of any, for None)."""
        if not self.ambiguous:
            return False
        if table is not None:
            return (table, name) in self.ambiguous
        return any(column == name for _, column in self.ambiguous)

    def original(self, column: Column) -> tuple[str | None, str]:
        """The table alias and name under which a column came into the scope."""
        known = self.names.get(column)
        if known is None and self.around is not None:
            return self.around.original(column)
        return known if known is not None else (column.table, column.name)

    def add(self, other: Scope) -> None:
        """Add every column of another scope, as a join does."""
        position = len(self.columns)
        if self.around is None and other.has_own_tables(self.tables):
            for table in other.tables:
                self.tables[table] = {}
            for column in other.columns:
                table, name = known = other.names[column]
                new = Column(f"_col{position}", column.table, column.name, column.type_source, column.base)
                position += 1
                self.tables[table][name] = new
                self.columns.append(new)
                self.names[new] = known
            self.with_virtual += other.with_virtual
            return
        alternates: dict[Column, list[tuple[str | None, str]]] = {}
        for table, columns in other.tables.items():
            for name, column in columns.items():
                if other.names[column] != (table, name):
                    alternates.setdefault(column, []).append((table, name))
        for column in other.columns:
            table, name = other.names[column]
            new = Column(f"_col{position}", column.table, column.name, column.type_source, column.base)
            position += 1
            if table == "" and name in other.keys:
                self.put_key(name, new)
            else:
                self.put_unique(table, name, new)
            for alternate in alternates.get(column, ()):
                self.put(alternate[0], alternate[1], new)
        self.with_virtual += other.with_virtual

    def has_own_tables(self, others: Container[str | None]) -> bool:
        """Whether no table of it is among some others, and each column is there once, under its own name."""
        return (
            not self.keys
            and not self.ambiguous
            and None not in self.tables
            and sum(map(len, self.tables.values())) == len(self.columns)
            and not any(table in others for table in self.tables)
        )

    def add_tables(self, other: Scope) -> None:
        """Add another scope's columns as they are, without new internal names."""
        for table, columns in other.tables.items():
            self.tables.setdefault(table, {}).update(columns)
        self.columns += other.columns
        self.names.update(other.names)
        self.with_virtual += other.with_virtual

    def over(self, outer: Scope) -> Scope:
        """This scope's names, and behind them those of the scope around it."""
        result = Scope(around=outer, like=self)
        result.with_virtual = ()
        result.add_tables(self)
        return result

    def find_any(self, name: str) -> Column | None:
        """A column of a name in whichever table has it, the first of several."""
        for columns in self.tables.values():
            if name in columns:
                return columns[name]
        return None

    def with_inputs(self, inputs: Scope) -> Scope:
        """This scope (of a SELECT list), and what the list was made from where no name is in the way."""
        result = Scope()
        result.add_tables(self)
        result.tables = {table: dict(columns) for table, columns in result.tables.items()}
        keys: dict[str, Column] = {}
        for column in inputs.columns:
            table, name = inputs.names[column]
            if table == "" and name in inputs.keys:
                keys[name] = column
                result.names[column] = ("", name)
                continue
            try:
                existing = result.find(table, name)
            except AmbiguousName:
                continue
            if existing is None:
                result.put(table, name, column)
        for alias, columns in inputs.tables.items() if not inputs.grouped else ():
            for name, column in columns.items():
                if name not in result.tables.setdefault(alias, {}):
                    result.tables[alias][name] = column
                    result.names.setdefault(column, (alias, name))
        result.keys = keys or _NO_KEYS
        result.key_nodes = inputs.key_nodes
        result.hidden = inputs.hidden
        result.with_virtual = inputs.with_virtual
        return result

    def only_names(self) -> Scope:
        """The names of a query's result as ORDER BY sees them: without a table."""
        result = Scope()
        for column in self.columns:
            _, name = self.names[column]
            result.put(None, name, Column(column.internal, None, name, column.type_source))
        return result

    def hiding(self, names: Container[str]) -> Scope:
        """This scope without the columns of some names where these are written without a table."""
        result = Scope(like=self)
        result.tables = self.tables
        result.columns = self.columns
        result.names = self.names
        result.hidden = names
        return result

    def with_aliases(self, items: list[Any]) -> Scope:
        """This scope and the aliases of a SELECT list, which stand behind its own names."""
        missing = {}
        for item in items:
            name = item.alias.lower() if item.alias else ""
            if name and self.find_any(name) is None:
                missing[name] = Column("", None, name)
        return self.below(missing) if missing else self

    def below(self, missing: dict[str, Column]) -> Scope:
        """This scope and further names without a table, where it does not have them itself."""
        result = Scope(like=self)
        result.with_virtual = ()
        result.add_tables(self)
        result.tables = dict(self.tables)
        own = dict(self.tables.get(None, {}))
        for name, column in missing.items():
            if self.find_any(name) is None:
                own[name] = column
                result.names[column] = (None, name)
        result.tables[None] = own
        return result

    def visible(self) -> Iterator[str]:
        """The names a message can offer."""
        several = len(self.tables) > 1
        for column in self.columns:
            table, name = self.names[column]
            if not (table == "" and name in self.keys):
                yield f"{table}.{name}" if several and table else name

    def _virtual(self, table: str, name: str) -> Column:
        column = Column(name, table, name, VIRTUAL_COLUMNS[name])
        self.names[column] = (table, name)
        return column


def _same(one: Column, other: Column) -> bool:
    return (one.table, one.name, one.internal) == (other.table, other.name, other.internal)
