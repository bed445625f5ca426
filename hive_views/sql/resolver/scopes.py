"""Name scopes: the columns that a clause of a query can name, and their table aliases (Hive's `RowResolver`).

A scope is ordered: a star lists its columns in this order. Hive's rules are followed where they affect a stored text:
the second of two columns with one name gets its internal name (`_col3`), and the column of an expression has no table.
Source of the rules: Hive 4.1's `RowResolver`, `ColumnInfo`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlglot import exp

VIRTUAL_COLUMNS: dict[str, str] = {
    "block__offset__inside__file": "bigint",
    "input__file__name": "string",
    "row__id": "struct<writeid:bigint,bucketid:int,rowid:bigint>",
    "row__is__deleted": "boolean",
}
"""The virtual columns of stored tables, which no star lists, with their types."""


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table or view, and its other attributes that the resolver needs."""

    columns: tuple[tuple[str, str], ...]
    """Name (lower case) and Hive type text of each column, partition columns last."""
    kind: str = "table"
    """`table`, `view`, `materialized` or `temporary`."""
    bucket_columns: tuple[str, ...] = ()
    """The columns that the table is CLUSTERED BY, lower case."""
    spellings: Callable[[], Mapping[str, str]] | None = field(default=None, repr=False, compare=False)
    """Returns the names of columns that have letters in upper case, by their names in lower case; None if none has."""
    _named: dict[NamedColumnsKey, NamedColumns] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The cache of `named_columns`."""

    def __hash__(self) -> int:
        return hash(self.columns)


class Schemas(Protocol):
    """A source of table schemas, such as the metastore; each table is looked up when a text names it."""

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the schema of a table or view, given by names in lower case; None if it does not exist.

        For files that Spark reads as tables, the names are the format and the path as written; None if their columns
        are unknown.
        """
        ...


TableKey = tuple[str, str]
"""The database and the name of a table or view, in lower case."""

NamedColumnsKey = tuple[TableKey, str]


TypeSource = str | Callable[[], str | None] | None
"""A Hive type text, a function that infers it, or None if it is unknown."""


class ScopeColumn:
    """One column that can be named in a scope.

    Attributes:
        internal: Hive's internal name: the real name in a table's own scope, `_colN` after a join or a SELECT list.
        table: The alias of its table in lower case; None or empty for the column of an expression.
        name: Its name in the scope, lower case.
        origins: The other columns and expressions from which its value is computed; for a table's own column, whose
            name is `internal`, the database and the name of the table.
    """

    __slots__ = ("_type", "internal", "name", "origins", "table")

    def __init__(
        self,
        internal: str,
        table: str | None,
        name: str,
        type_: TypeSource = None,
        origins: tuple[Origin, ...] = (),
    ) -> None:
        self.internal = internal
        self.table = table
        self.name = name
        self._type = type_
        self.origins = origins

    def copy(self, internal: str, table: str | None, name: str) -> ScopeColumn:
        """Return the same column under another name, or in another scope."""
        return ScopeColumn(internal, table, name, self._type, (self,))

    @property
    def type(self) -> str | None:
        """The Hive type text, or None if it is unknown; inferred at the first access."""
        if callable(self._type):
            try:
                self._type = self._type()
            except RecursionError:
                self._type = None  # an expression with about a thousand operators exceeds the recursion limit
        return self._type

    @property
    def type_source(self) -> TypeSource:
        """The type, or the function that infers it, for another column of the same type."""
        return self._type


Origin = ScopeColumn | TableKey | exp.Expr
"""See `ScopeColumn.origins`."""

NamedColumns = tuple[dict[str, ScopeColumn], list[ScopeColumn], dict[ScopeColumn, tuple[str | None, str]]]
"""The columns of a table for a scope: by name, in order, and the alias and name of each."""

_MAX_CACHED_ALIASES = 64


def named_columns(schema: TableSchema, table: TableKey, alias: str) -> NamedColumns:
    """Return the columns of a table under an alias; the result is shared by queries and must not be changed."""
    named = schema._named.get((table, alias))
    if named is None:
        by_name = {name: ScopeColumn(name, alias, name, type_text, (table,)) for name, type_text in schema.columns}
        named = (by_name, list(by_name.values()), {column: (alias, name) for name, column in by_name.items()})
        if len(schema._named) >= _MAX_CACHED_ALIASES:
            schema._named.clear()
        schema._named[table, alias] = named
    return named


class AmbiguousName(Exception):  # noqa: N818  (the position is added by the caller)
    """More than one table of a scope has a column of the same name, or one has several."""

    def __init__(self, name: str, *, is_repeated: bool = False) -> None:
        super().__init__(name)
        cause = "more than one table has it. Write its table in front"
        if is_repeated:
            cause = "its table has several columns of that name. Give them other names"
        self.reason = f"Ambiguous column reference '{name}': {cause}"


@dataclass(slots=True)
class Using:
    """The USING clause of a join: a star lists the named columns first and once."""

    left: str
    right: str
    columns: list[str]
    right_outer: bool


@dataclass(frozen=True, slots=True)
class JoinColumn:
    """A column of a join's result in Spark and Trino.

    Attributes:
        name: Its name, lower case.
        tables: The alias of its table; several for the key of a FULL JOIN, whose value is the first that is not NULL.
        is_key: Whether it is the key of a join with USING or NATURAL.
        is_qualified: Whether the text can name it with its table; False for a key of USING in Trino.
    """

    name: str
    tables: tuple[str, ...]
    is_key: bool = False
    is_qualified: bool = True


class MergedKey(ScopeColumn):
    """A key of a join with USING or NATURAL whose value does not come from one table only."""

    __slots__ = ("join_column",)

    def __init__(self, join_column: JoinColumn, type_: TypeSource, columns: Sequence[ScopeColumn]) -> None:
        super().__init__("", None, join_column.name, type_, tuple(columns))
        self.join_column = join_column


Tables = dict[str | None, dict[str, ScopeColumn]]
"""The columns of each table alias by name."""


class MergedColumns:
    """The columns of joins with USING or NATURAL in Spark and Trino, where each key is one column of the result.

    A further join changes them in place, so that a chain of joins takes linear time.

    Attributes:
        named: The columns of the result by name, in the order of a star.
        hidden: The keys of single tables that are not columns of the result; they can be named only with their table.
        counts: The number of tables that have a column of each name.
        is_repeating: Whether PIVOT or UNPIVOT has several columns of one name, so that no star can be written.
    """

    is_repeating = False

    def __init__(
        self, tables: Tables, visible: Iterable[JoinColumn], common_type: Callable[..., TypeSource] = lambda *_: None
    ) -> None:
        self._tables = tables
        self._common_type = common_type
        self._positions: dict[JoinColumn, int] = {}
        self._first = self._end = 0
        self._keys: dict[JoinColumn, MergedKey] = {}
        self.named: dict[str, list[JoinColumn]] = {}
        self.hidden: deque[JoinColumn] = deque()
        self.counts: Counter[str] = Counter()
        self.append(visible, tables)

    def copy(self, tables: Tables) -> MergedColumns:
        """Return a copy of these columns that refers to copies of the tables."""
        result = MergedColumns({}, self.visible, self._common_type)
        result._tables = tables
        result.hidden = self.hidden.copy()
        result.counts = self.counts.copy()
        result.is_repeating = self.is_repeating
        return result

    @property
    def visible(self) -> list[JoinColumn]:
        """The columns of the result, in the order of a star."""
        return sorted(self._positions, key=self._positions.__getitem__)

    def append(self, entries: Iterable[JoinColumn], tables: Tables) -> None:
        """Add columns after the existing ones, and count the columns of their tables by name."""
        for entry in entries:
            self._positions[entry] = self._end
            self._end += 1
            self.named.setdefault(entry.name, []).append(entry)
        for columns in tables.values():
            self.counts.update(columns.keys())

    def remove(self, entry: JoinColumn) -> None:
        """Remove a column."""
        del self._positions[entry]
        self.named[entry.name].remove(entry)
        if not self.named[entry.name]:
            del self.named[entry.name]

    def put_first(self, entries: Sequence[JoinColumn]) -> None:
        """Add columns in front of the existing ones."""
        for entry in reversed(entries):
            self._first -= 1
            self._positions[entry] = self._first
            self.named.setdefault(entry.name, []).insert(0, entry)

    def hide(self, first: Sequence[JoinColumn], last: Iterable[JoinColumn]) -> None:
        """Add hidden keys in front of the existing ones and after them."""
        self.hidden.extendleft(reversed(first))
        self.hidden.extend(last)

    def column(self, entry: JoinColumn) -> ScopeColumn:
        """Return a column of the result: the column of its table, or a `MergedKey` for the key of several tables."""
        key = self._keys.get(entry)
        if key is not None:
            return key
        columns = [self._tables[table or None][entry.name] for table in entry.tables]
        if entry.is_qualified and len(columns) == 1:
            return columns[0]
        types = {column.type for column in columns}
        type_source = types.pop() if len(types) == 1 else self._common_type(*columns)
        key = self._keys[entry] = MergedKey(entry, type_source, columns)
        return key

    def has_key(self, column: ScopeColumn) -> bool:
        """Return whether a column is a key of the result."""
        return type(column) is MergedKey and self._keys.get(column.join_column) is column


_NO_NAMES: dict[str, set[str | None]] = {}
_NO_KEYS: dict[str, ScopeColumn] = {}
_NO_NODES: dict[str, Any] = {}
"""The keys of scopes without keys: one shared pair, since most scopes have none."""
_MAX_SEARCHED = 16
"""The number of tables that are searched one by one for a column without a table."""
_NO_QUALIFIERS: dict[str, tuple[str, str]] = {}

QualifiedName = tuple[str | None, str]
"""The alias of a table and the name of a column."""


class Scope:
    """The columns that a clause can name.

    Attributes:
        tables: The columns of each table alias by name, in lower case; the alias is None for the columns of a SELECT
            list that have no table.
        columns: All columns in order.
        names: The table alias and the name of each column.
        keys: The column that holds the value of an expression (a GROUP BY key, an aggregate, a window function), by the
            expression's key.
        key_nodes: The expression of each key.
        has_connector_keys: Whether AND or OR is the outermost operator of a key.
        ambiguous: The aliases of the tables in which several columns have a name, by the name.
        repeated: The names of several columns, by which none can be found (`repeated_names`).
        with_virtual: The aliases of stored tables, which have virtual columns.
        using: In Hive, the USING clause of the join whose result the scope is.
        merged: The columns of joins with USING or NATURAL, in Spark and Trino.
        qualifiers: The catalog (empty if not written) and the database of each stored table without another alias.
        hidden: The names of columns that have to be written with their table.
        around: The scope of the query around a correlated subquery.
        is_lateral: Whether a query after LATERAL reads it, whose stars can stand for its tables.
        grouped: Whether the scope is the result of GROUP BY.
        has_grouping_sets: Whether it is the result of GROUP BY with ROLLUP, CUBE or GROUPING SETS.
    """

    keys: dict[str, ScopeColumn] = _NO_KEYS
    key_nodes: dict[str, Any] = _NO_NODES
    has_connector_keys = False
    ambiguous: dict[str, set[str | None]] = _NO_NAMES
    repeated: frozenset[QualifiedName] = frozenset()
    with_virtual: tuple[str, ...] = ()
    using: Using | None = None
    merged: MergedColumns | None = None
    qualifiers: dict[str, tuple[str, str]] = _NO_QUALIFIERS
    hidden: Container[str] = ()
    around: Scope | None = None
    is_lateral = False
    grouped = False
    has_grouping_sets = False
    _aliases: dict[str, list[str | None]] | None = None
    """The aliases of the tables that have a column of each name; None before it is needed."""

    def __init__(self, *, grouped: bool = False, around: Scope | None = None, like: Scope | None = None) -> None:
        self.tables: Tables = {}
        self.columns: list[ScopeColumn] = []
        self.names: dict[ScopeColumn, tuple[str | None, str]] = {}
        if grouped:
            self.grouped = True
        if around is not None:
            self.around = around
        if like is not None:
            self.keys = like.keys
            self.key_nodes = like.key_nodes
            self.has_connector_keys = like.has_connector_keys
            self.with_virtual = like.with_virtual
            self.grouped = like.grouped
            self.merged = like.merged
            self.qualifiers = like.qualifiers
            self.repeated = like.repeated

    def put(self, table: str | None, name: str, column: ScopeColumn) -> None:
        """Add a column under a table alias, or a further name for a column of the scope."""
        self._aliases = None
        columns = self.tables.get(table)
        if columns is None:
            columns = self.tables[table] = {}
        elif name in columns:
            self.add_ambiguous(table, name)
        columns[name] = column
        if column not in self.names:
            self.names[column] = (table, name)
            self.columns.append(column)

    def put_unique(self, table: str | None, name: str, column: ScopeColumn) -> bool:
        """Add a column, under its internal name if its name is taken; return False if both names are taken."""
        existing = self.find(table, name)
        if existing is None:
            self.put(table, name, column)
        elif (existing.table, existing.name, existing.internal) == (column.table, column.name, column.internal):
            pass
        elif self.find(table, column.internal) is None:
            self.add_ambiguous(table, name)
            self.put(table, column.internal, column)
        else:
            return False
        return True

    def put_key(self, key: str, column: ScopeColumn, node: Any = None) -> None:
        """Add the column that holds the value of an expression."""
        if self.keys is _NO_KEYS:
            self.keys = {}
        self.keys[key] = column
        if key.startswith(("And(", "Or(")):
            self.has_connector_keys = True
        if node is not None:
            if self.key_nodes is _NO_NODES:
                self.key_nodes = {}
            self.key_nodes[key] = node
        if column not in self.names:
            self.names[column] = ("", key)
            self.columns.append(column)

    def has_table(self, alias: str) -> bool:
        """Return whether a table alias (lower case) is in the scope."""
        return alias in self.tables or (self.around is not None and self.around.has_table(alias))

    def find(self, table: str | None, name: str) -> ScopeColumn | None:
        """Return the column of a name in one table, or in any table if `table` is None; raises AmbiguousName."""
        column = self.find_own(table, name)
        if column is None and self.around is not None and (table is None or table not in self.tables):
            return self.around.find(table, name)
        return column

    def find_own(self, table: str | None, name: str) -> ScopeColumn | None:
        """Do what `find` does, but do not search the scope around this one."""
        return self._find_in_table(table, name) if table is not None else self._find_in_tables(name)

    def _find_in_table(self, table: str, name: str) -> ScopeColumn | None:
        column = self.tables.get(table, {}).get(name)
        if column is None and name in VIRTUAL_COLUMNS and table in self.with_virtual:
            return self._add_virtual(table, name)
        return column

    def _find_in_tables(self, name: str) -> ScopeColumn | None:
        if name in self.hidden:
            return self.tables.get(None, {}).get(name)
        if self.merged is not None and name in self.merged.named:
            entries = self.merged.named[name]
            if len(entries) > 1:
                raise AmbiguousName(name)
            return self.merged.column(entries[0])
        match: ScopeColumn | None = None
        match_alias: str | None = None
        for alias in self._tables_with(name):
            column = self.tables[alias].get(name)
            if column is not None:
                if match_alias is not None and alias is not None:
                    raise AmbiguousName(name)
                match_alias = match_alias if alias is None else alias
                match = column
        if match is None and name in VIRTUAL_COLUMNS:
            if len(self.with_virtual) > 1:
                raise AmbiguousName(name)
            if self.with_virtual:
                return self._add_virtual(self.with_virtual[0], name)
        return match

    def _tables_with(self, name: str) -> Iterable[str | None]:
        """Return the aliases of the tables that may have a column of a name, in their order."""
        is_last = next(reversed(self.tables), "") is None
        if len(self.tables) <= _MAX_SEARCHED or (None in self.tables and not is_last):
            return self.tables
        if self._aliases is None:
            self._aliases = {}
            for alias, columns in self.tables.items():
                for column in columns if alias is not None else ():
                    self._aliases.setdefault(column, []).append(alias)
        aliases = self._aliases.get(name, [])
        return [*aliases, None] if is_last else aliases

    def is_ambiguous(self, table: str | None, name: str) -> bool:
        """Return whether several columns of one table, or of all tables if `table` is None, have a name."""
        if table is not None:
            return table in self.ambiguous.get(name, ())
        return name in self.ambiguous

    def add_ambiguous(self, table: str | None, name: str) -> None:
        """Record that several columns of a table have a name."""
        if self.ambiguous is _NO_NAMES:
            self.ambiguous = {}
        self.ambiguous.setdefault(name, set()).add(table)

    def original(self, column: ScopeColumn) -> tuple[str | None, str]:
        """Return the table alias and the name under which a column was added."""
        alias_and_name = self.names.get(column)
        if alias_and_name is None and self.around is not None:
            return self.around.original(column)
        return alias_and_name if alias_and_name is not None else (column.table, column.name)

    def add(self, other: Scope) -> None:
        """Add every column of another scope under a new internal name, as a join does."""
        self._add_qualifiers(other)
        self._aliases = None
        self.repeated |= other.repeated
        if self.around is None and other.is_disjoint_with(self.tables):
            for table in other.tables:
                self.tables[table] = {}
            for column in other.columns:
                table, name = other.names[column]
                new = column.copy(f"_col{len(self.columns)}", column.table, column.name)
                self.tables[table][name] = new
                self.columns.append(new)
                self.names[new] = (table, name)
            self.with_virtual += other.with_virtual
            return
        further_names: dict[ScopeColumn, list[tuple[str | None, str]]] = {}
        for table, columns in other.tables.items():
            for name, column in columns.items():
                if other.names[column] != (table, name):
                    further_names.setdefault(column, []).append((table, name))
        first = len(self.columns)
        for position, column in enumerate(other.columns, first):
            table, name = other.names[column]
            new = column.copy(f"_col{position}", column.table, column.name)
            if table == "" and name in other.keys:
                self.put_key(name, new)
            else:
                self.put_unique(table, name, new)
            for table, name in further_names.get(column, ()):
                self.put(table, name, new)
        self.with_virtual += other.with_virtual

    def is_disjoint_with(self, tables: Container[str | None]) -> bool:
        """Return whether the scope has none of the given tables, and each of its columns once, under its own name."""
        return (
            not self.keys
            and not self.ambiguous
            and None not in self.tables
            and sum(map(len, self.tables.values())) == len(self.columns)
            and not any(table in tables for table in self.tables)
        )

    def join_columns(self) -> list[JoinColumn]:
        """Return the columns in the order in which a star lists them in Spark and Trino."""
        if self.merged is not None:
            return self.merged.visible
        return [JoinColumn(name, (table or "",)) for table, name in map(self.names.__getitem__, self.columns)]

    def join_columns_of(self, name: str) -> list[JoinColumn]:
        """Return the columns of a name, in the order in which a star lists them."""
        if self.merged is not None:
            return self.merged.named.get(name, [])
        return [entry for entry in self.join_columns() if entry.name == name]

    def column_of(self, entry: JoinColumn) -> ScopeColumn:
        """Return the scope's column for a column of a join's result."""
        return (
            self.merged.column(entry) if self.merged is not None else self.tables[entry.tables[0] or None][entry.name]
        )

    def count_tables(self, name: str) -> int:
        """Return the number of tables that have a column of a name."""
        if self.merged is not None:
            return self.merged.counts[name]
        return sum(name in columns for columns in self.tables.values())

    def star_columns(self, table: str) -> list[ScopeColumn]:
        """Return the columns of a star, or of a table's star."""
        if table:
            return list(self.tables.get(table, {}).values())
        return self.columns if self.merged is None else [self.merged.column(entry) for entry in self.merged.visible]

    def keep_merged(self, scope: Scope, alias: str) -> None:
        """Copy the merged columns of the scope to which a lateral view is applied, and add those of the view."""
        if scope.merged is not None:
            if self is not scope:
                self.merged = scope.merged.copy(self.tables)
            own = self.tables.get(alias, {})
            assert self.merged is not None
            self.merged.append([JoinColumn(name, (alias,)) for name in own], {alias: own})

    def add_tables(self, other: Scope) -> None:
        """Add another scope's columns under their own internal names."""
        self._aliases = None
        for table, columns in other.tables.items():
            self.tables.setdefault(table, {}).update(columns)
        self.columns += other.columns
        self.names.update(other.names)
        self.with_virtual += other.with_virtual
        self.repeated |= other.repeated
        self._add_qualifiers(other)

    def _add_qualifiers(self, other: Scope) -> None:
        if other.qualifiers:
            if self.qualifiers is _NO_QUALIFIERS:
                self.qualifiers = {}
            self.qualifiers.update(other.qualifiers)

    def over(self, outer: Scope) -> Scope:
        """Return this scope with an outer scope, in which names are looked up that are missing here."""
        result = Scope(around=outer, like=self)
        result.with_virtual = ()
        result.add_tables(self)
        return result

    def find_any(self, name: str) -> ScopeColumn | None:
        """Return the first column of a name in any table."""
        columns = (self.tables[alias].get(name) for alias in self._tables_with(name))
        return next((column for column in columns if column is not None), None)

    def with_inputs(self, inputs: Scope) -> Scope:
        """Return this scope of a SELECT list, with the columns of its inputs whose names it does not have."""
        result = Scope()
        result.add_tables(self)
        result.tables = {table: dict(columns) for table, columns in result.tables.items()}
        keys: dict[str, ScopeColumn] = {}
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
        result._aliases = None
        result.keys = keys or _NO_KEYS
        result.key_nodes = inputs.key_nodes
        result.has_connector_keys = inputs.has_connector_keys
        result.hidden = inputs.hidden
        result.merged = inputs.merged
        result.qualifiers = inputs.qualifiers
        result.repeated = inputs.repeated
        result.with_virtual = inputs.with_virtual
        return result

    def only_names(self) -> Scope:
        """Return the names of a query's result without tables, as ORDER BY can name them."""
        result = Scope()
        for column in self.columns:
            _, name = self.names[column]
            result.put(None, name, column.copy(column.internal, None, name))
        return result

    def hiding(self, names: Container[str]) -> Scope:
        """Return a copy of this scope in which columns with the given names have to be written with their table."""
        result = Scope(like=self)
        result.tables = self.tables
        result.columns = self.columns
        result.names = self.names
        result.hidden = names
        return result

    def with_names(self, columns: dict[str, ScopeColumn]) -> Scope:
        """Return this scope with additional names without a table, except for names that it has already."""
        result = Scope(like=self)
        result.with_virtual = ()
        result.add_tables(self)
        result.tables = dict(self.tables)
        own = dict(self.tables.get(None, {}))
        for name, column in columns.items():
            if self.find_any(name) is None:
                own[name] = column
                result.names[column] = (None, name)
        result.tables[None] = own
        return result

    def visible(self) -> Iterator[str]:
        """Yield the column names that error messages list."""
        has_tables = len(self.tables) > 1
        for column in self.columns:
            table, name = self.names[column]
            if not (table == "" and name in self.keys):
                is_written = has_tables and table and not table.startswith("__")
                yield f"{table}.{name}" if is_written else name

    def _add_virtual(self, table: str, name: str) -> ScopeColumn:
        column = ScopeColumn(name, table, name, VIRTUAL_COLUMNS[name])
        self.names[column] = (table, name)
        return column
