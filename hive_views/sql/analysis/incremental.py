"""Incremental view maintenance: the queries that compute the new rows of a view from the new rows of its tables.

Source: incremental view maintenance in bag algebra. If rows were added to the tables of a query of projections,
filters, inner joins and UNION ALL, the following rows are added to its result:

- of a table: the rows that were added to it;
- of `a UNION ALL b`: the added rows of `a` and the added rows of `b`;
- of `a JOIN b`: the added rows of `a` joined with the current rows of `b`, and the previous rows of `a` joined with the
  added rows of `b`; accordingly for more tables.

Each of these queries is the text of the original query with other table names, so no SQL is generated. The result of a
GROUP BY over such a query is updated by merging partial results, if its aggregate functions allow an exact merge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.builtin_functions import SPARK_FUNCTIONS, may_be_aggregate
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import child_expressions, table_nodes, unwrapped
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.edits import replace_ranges
from hive_views.sql.text.quoting import quote_identifier

# ruff: noqa: SIM905 (a long list of words)


class RowSelection(Enum):
    """Which rows of a table a query reads."""

    NOW = "now"
    """All rows of the state that the refresh is to represent."""
    BEFORE = "before"
    """All rows of the state at the last refresh."""
    ADDED = "added"
    """The rows that were added between these two states."""
    CHANGED = "changed"
    """The rows that were added or deleted between these two states; an updated row with its old and its new values."""
    NONE = "none"
    """No rows: excludes the other side of a UNION ALL."""


@dataclass(frozen=True)
class TableLeaf:
    """One occurrence of a table's name in a query."""

    name: tuple[str, str]
    """Database and table, in lower case."""
    start: int
    """Where the name begins, in characters."""
    end: int
    """Where it ends, in characters (exclusive)."""
    aliased: bool
    """Whether an alias follows."""
    catalog: str | None = None
    """The catalog in front of the name, as written."""
    is_query: bool = False
    """Whether it is the query `TABLE t`, whose first word is then where the name begins."""


class NotIncrementalError(ValueError):
    """The new rows of a query cannot be computed from the new rows of its tables; the message is the reason."""


@dataclass(frozen=True)
class Aggregate:
    """How the columns of a GROUP BY are merged: the function of each column, or None for a key."""

    merge: tuple[str | None, ...]


class IncrementalQuery:
    """A parsed query and the occurrences of its tables."""

    def __init__(
        self,
        sql: str,
        dialect: Dialect,
        database: str,
        columns: Mapping[tuple[str, str], Sequence[str]] | None = None,
    ) -> None:
        self.sql = sql
        self.dialect = dialect
        self._columns = columns or {}
        """The columns of the tables whose columns are known."""
        self.query = parse_query(sql, dialect)
        self.tree = self.query.tree
        if TokenType.PIPE_GT in self.query.text.kind_set:
            raise NotIncrementalError("the pipe operator |>")
        if (TokenType.WITH, TokenType.L_PAREN) in pairwise(self.query.text.kinds):
            # They may name a branch, a tag or a snapshot; the syntax tree does not have them.
            raise NotIncrementalError("a table is read with options: WITH (…)")
        self._numbers: dict[int, int] = {}
        """The index into `leaves` by the id of the table's node."""
        leaves: list[TableLeaf] = []
        queries = {
            name.start: word.start
            for word, name in pairwise(self.query.text.tokens)
            if word.token_type is TokenType.TABLE
        }
        for node in self.tree.find_all(exp.Table):
            if isinstance(node.this, exp.Dot):
                # A branch, a tag or a metadata table may change although the table's current snapshot does not.
                raise NotIncrementalError(f"{node.this.sql(dialect)} has more than three parts: it is not a table")
        for node in table_nodes(self.tree):
            first, last = node.parts[0]._meta, node.parts[-1]._meta
            if first is None or last is None or any(node.args.get(key) for key in ("sample", "version", "when")):
                raise NotIncrementalError(f"{node.name} is read as a sample or by time travel")
            parts = [part.name.lower() for part in node.parts]
            if len(parts) > 3:
                raise NotIncrementalError(f"{'.'.join(parts)} has more than three parts: it is not a table")
            self._numbers[id(node)] = len(leaves)
            name = (parts[-2] if len(parts) > 1 else database.lower(), parts[-1])
            catalog = node.parts[0].name if len(parts) > 2 else None
            start, end = first["start"], last["end"] + 1
            is_query = start in queries
            leaves.append(TableLeaf(name, queries.get(start, start), end, bool(node.alias), catalog, is_query))
        self.leaves: tuple[TableLeaf, ...] = tuple(leaves)

    def render(self, replacement: Callable[[int, TableLeaf], str]) -> str:
        """Return the text with each table's name replaced; a table without an alias gets its old name as alias.

        The database and the catalog are removed in front of columns, as in `db.t.c`, because an alias has none.
        """
        edits = []
        for number, leaf in enumerate(self.leaves):
            alias = "" if leaf.aliased else f" AS {quote_identifier(leaf.name[1], self.query.text.quote)}"
            source = replacement(number, leaf) + alias
            edits.append((leaf.start, leaf.end, f"(SELECT * FROM {source})" if leaf.is_query else source))
        names = {leaf.name for leaf in self.leaves if not leaf.aliased}
        for column in self.tree.find_all(exp.Column):
            if column.db and (column.db.lower(), column.table.lower()) in names:
                first, table = column.parts[0]._meta, column.args["table"]._meta
                if first is not None and table is not None:
                    edits.append((first["start"], table["start"], ""))
        return replace_ranges(self.sql, sorted(edits))

    def may_read(self, columns: Collection[str]) -> bool:
        """Return whether new columns of a table may change the query, since columns take precedence over aliases."""
        names = {column.lower() for column in columns}
        if not names:
            return False
        reads_all = not all(_counts_rows(star.parent) for star in self.tree.find_all(exp.Star))
        is_natural = any(join.args.get("method") for join in self.tree.find_all(exp.Join))
        # A PIVOT groups by all other columns; a list of column names requires a certain number of columns.
        reads_all |= self.tree.find(exp.Pivot) is not None or any(map(_renames, self.tree.find_all(exp.Table)))
        return reads_all or is_natural or any(node.name.lower() in names for node in self.tree.find_all(exp.Identifier))

    def aggregate(self, decimals: Sequence[int | None], floats: Sequence[bool]) -> Aggregate | None:
        """Return how the result of a GROUP BY at the top of the query is merged; None for a query without one."""
        select = self.tree
        if not isinstance(select, exp.Select) or not has_aggregates(select):
            return None
        refuse_clauses(select, ("having", "distinct", "windows", "qualify", "limit", "offset"))
        keys = self.group_keys(select) or []
        items = [unwrapped(item) for item in output_items(select)]
        if len(items) != len(floats):
            raise NotIncrementalError("its columns are not those of its schema")
        merge: list[str | None] = []
        for number, item in enumerate(items):
            is_key = any(item == key for key in keys)
            merge.append(None if is_key else _merge_function(item, decimals[number], floats[number]))
        for key in keys:
            if key not in items:
                raise NotIncrementalError(f"it groups by {key.sql()}, which is not one of its columns")
            if any(function.name.lower() == "session_window" for function in key.find_all(exp.Anonymous)):
                raise NotIncrementalError("a session_window, which new rows can extend")
        return Aggregate(tuple(merge))

    def added(self, changed: Iterable[int], *, grouped: bool = False) -> tuple[Mapping[int, RowSelection], ...]:
        """Return the queries that together compute the added rows: for each, which rows of each leaf to read."""
        self.refuse_scripts()
        assignments = _DeltaRules(self._numbers, frozenset(changed)).query(self.tree, grouped=grouped)
        leaves = range(len(self.leaves))
        return tuple({number: given.get(number, RowSelection.NOW) for number in leaves} for given in assignments)

    def number_of(self, node: exp.Expr) -> int | None:
        """Return the number of a table's node in `leaves`; None for another node."""
        return self._numbers.get(id(node))

    def columns_of(self, leaf: int) -> tuple[str, ...] | None:
        """Return the columns of a table in lower case; None if they are not known."""
        columns = self._columns.get(self.leaves[leaf].name)
        return None if columns is None else tuple(column.lower() for column in columns)

    def group_keys(self, select: exp.Select) -> list[exp.Expr] | None:
        """Return the expressions that a SELECT groups its rows by; None if it does not group them."""
        if not has_aggregates(select):
            return None
        group, items = select.args.get("group"), list(select.expressions)
        if group is None:
            return []
        if group.args.get("all") is True and not group.expressions:
            return [unwrapped(item) for item in items if not _has_aggregate_calls(select, item)]
        if any(group.args.get(key) for key in GROUPING_SETS):
            raise NotIncrementalError("GROUP BY with grouping sets")
        return [self._group_key(select, unwrapped(resolve_ordinal(key, items))) for key in group.expressions]

    def _group_key(self, select: exp.Select, key: exp.Expr) -> exp.Expr:
        """Return the item whose alias a GROUP BY key names.

        The key itself if it is, or may be, a column of the sources.
        """
        if not isinstance(key, exp.Column) or key.table:
            return key
        item = next((item for item in select.expressions if item.alias.lower() == key.name.lower()), None)
        sources = [select.args.get("from_"), *(select.args.get("joins") or ()), *(select.args.get("laterals") or ())]
        names: set[str] = set()
        for source in filter(None, sources):
            names |= {node.name.lower() for node in source.find_all(exp.Identifier)}
            for table in source.find_all(exp.Table):
                number = self.number_of(table)
                columns = None if number is None else self.columns_of(number)
                if columns is None:
                    return key
                names |= set(columns)
        return key if item is None or key.name.lower() in names else unwrapped(item)

    def leaf_node(self, leaf: int) -> exp.Table:
        """Return the node of a table in the tree, by its number in `leaves`."""
        return next(table for table in self.tree.find_all(exp.Table) if self._numbers.get(id(table)) == leaf)

    def refuse_scripts(self) -> None:
        """Reject TRANSFORM: a script reads all rows of a task, and may return other results for the new rows alone."""
        if self.tree.find(exp.QueryTransform) is not None:
            raise NotIncrementalError("a script (TRANSFORM … USING)")


_Assignments = list[dict[int, RowSelection]]


class _DeltaRules:
    """A recursion over the tree that returns, for each node, the row selections that compute its added rows."""

    def __init__(self, numbers: Mapping[int, int], changed: frozenset[int]) -> None:
        self._numbers = numbers
        self._changed = changed

    def query(self, node: exp.Expr, *, grouped: bool = False) -> _Assignments:
        node = query_inside(node)
        if node.args.get("with_") is not None:
            raise NotIncrementalError("WITH")
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            refuse_clauses(node, ("limit", "offset"))
            left, right = node.left, node.right
            no_left = dict.fromkeys(self._leaves(left), RowSelection.NONE)
            no_right = dict.fromkeys(self._leaves(right), RowSelection.NONE)
            return [
                *({**given, **no_right} for given in self.query(left)),
                *({**given, **no_left} for given in self.query(right)),
            ]
        if not isinstance(node, exp.Select):
            raise NotIncrementalError(f"{type(node).__name__.upper()} is not a SELECT or UNION ALL")
        return self._select(node, grouped)

    def _select(self, node: exp.Select, grouped: bool) -> _Assignments:
        refuse_clauses(node, ("distinct", *REFUSED_CLAUSES))
        for lateral in node.args.get("laterals") or ():
            refuse_lateral(lateral)
        if not grouped and (has_aggregates(node) or node.args.get("having") is not None):
            raise NotIncrementalError("GROUP BY or an aggregate below the top of the query")
        from_ = node.args.get("from_")
        if from_ is None:
            # Its only row is never added again, but is joined with each added row of another source.
            raise NotIncrementalError("SELECT without FROM")
        joins = node.args.get("joins") or ()
        for join in joins:
            side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
            if side or kind not in ("", "INNER", "CROSS") or method:
                raise NotIncrementalError(f"{' '.join(filter(None, (method, side, kind)))} JOIN")
        sources: list[exp.Expr] = [from_.this, *(join.this for join in joins)]
        conditions = [node.args.get("where"), *(join.args.get("on") for join in joins)]
        for part in [*node.expressions, *filter(None, conditions)]:
            if part.find(exp.Query) is not None:
                raise NotIncrementalError("a subquery outside FROM")
            if part.find(exp.Window) is not None:
                raise NotIncrementalError("a window function")
        assignments: _Assignments = []
        for number, source in enumerate(sources):
            for given in self._source(source):
                for other_number, other in enumerate(sources):
                    if other_number != number:
                        selection = RowSelection.NOW if other_number < number else RowSelection.BEFORE
                        given = {**given, **dict.fromkeys(self._leaves(other), selection)}
                assignments.append(given)
        return assignments

    def _source(self, node: exp.Expr) -> _Assignments:
        if isinstance(node, exp.Table):
            refuse_source_clauses(node)
            number = self._numbers.get(id(node))
            if number is None:
                raise NotIncrementalError(f"{node.sql()} is not a table")
            return [{number: RowSelection.ADDED}] if number in self._changed else []
        if isinstance(node, exp.Subquery):
            return self.query(node)
        raise NotIncrementalError(f"{type(node).__name__.upper()} in FROM")

    def _leaves(self, node: exp.Expr) -> list[int]:
        return [self._numbers[id(table)] for table in node.find_all(exp.Table) if id(table) in self._numbers]


REFUSED_CLAUSES = tuple("limit offset windows qualify pivots match sample with_ connect kind into fetch".split())
"""Clauses of a SELECT that no rule covers. ORDER BY is not among them, because stored rows have no order."""

GROUPING_SETS = ("cube", "rollup", "grouping_sets", "all", "totals")
_MERGES: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Count: "sum", exp.Min: "min", exp.Max: "max"}
_MAX_PRECISION = 38


def refuse_clauses(node: exp.Expr, keys: Iterable[str]) -> None:
    """Raise NotIncrementalError if a node has any of the given clauses."""
    for key in keys:
        if node.args.get(key):
            raise NotIncrementalError(key.rstrip("_").upper())


def query_inside(node: exp.Expr) -> exp.Expr:
    """Return a query without the parentheses around it; reject clauses that apply to the parentheses."""
    while type(node) in (exp.Subquery, exp.Paren):
        refuse_clauses(node, ("pivots", "laterals", "joins", "sample", "with_", "limit", "offset"))
        node = node.this
    return node


def refuse_source_clauses(node: exp.Expr, *, names: bool = False) -> None:
    """Reject clauses of a source in FROM and, with `names`, a list of column names."""
    refuse_clauses(node, ("joins", "pivots", "laterals", "sample", "version", "when"))
    if names and _renames(node):
        raise NotIncrementalError("a table with a list of column names")


def refuse_lateral(node: exp.Expr) -> None:
    """Reject a LATERAL VIEW that is not computed from a single row."""
    if not node.args.get("view") or node.find(exp.Query) is not None:
        raise NotIncrementalError("LATERAL with a query")


def output_items(select: exp.Select) -> list[exp.Expr]:
    """Return the items of a SELECT; raise NotIncrementalError if one may return several columns.

    After a table-generating function the positions of items and columns may differ.
    """
    items = list(select.expressions)
    for item in items:
        call = item.expression if isinstance(item, exp.Dot) else item
        is_unknown = isinstance(call, exp.Anonymous) and (
            call is not item or call.name.lower() in _GENERATORS or call.name.lower() not in SPARK_FUNCTIONS
        )
        if is_unknown or isinstance(item, (exp.Explode, exp.Inline, exp.Aliases)):
            raise NotIncrementalError("a function without a name that may return several columns")
    return items


_GENERATORS = frozenset({"explode_outer", "inline_outer", "json_tuple", "posexplode_outer", "stack", "variant_explode"})


def _renames(node: exp.Expr) -> bool:
    return bool(node.alias_column_names)


def _counts_rows(node: exp.Expr | None) -> bool:
    """Return whether a node with a star as its argument is `count(*)`, which reads no column."""
    return isinstance(node, exp.Count) and not node.expressions


def has_aggregates(select: exp.Select) -> bool:
    """Return whether a SELECT groups its rows."""
    return select.args.get("group") is not None or any(
        _has_aggregate_calls(select, item) for item in select.expressions
    )


def _has_aggregate_calls(select: exp.Select, item: exp.Expr) -> bool:
    """Return whether an item of a SELECT calls a function that is, or may be, an aggregate."""
    return any(
        call.find_ancestor(exp.Select) is select and call.find_ancestor(exp.Window) is None
        for call in item.find_all(exp.AggFunc, exp.Any, exp.Anonymous)
        if not isinstance(call, exp.Anonymous) or isinstance(call.parent, exp.Dot) or may_be_aggregate(call.name)
    )


def resolve_ordinal(key: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """Return the item that `GROUP BY 1` stands for, and other keys unchanged."""
    if isinstance(key, exp.Literal) and not key.is_string:
        at = int(key.this) - 1 if str(key.this).isdigit() else -1
        if 0 <= at < len(items):
            return items[at]
    return key


def _merge_function(item: exp.Expr, precision: int | None, floating: bool) -> str:
    function = _MERGES.get(type(item))
    if function is None:
        raise NotIncrementalError(f"{item.sql()} cannot be merged from partial results")
    if item.find(exp.Distinct) is not None:
        raise NotIncrementalError(f"{item.sql()}: DISTINCT cannot be merged from partial results")
    if len(child_expressions(item.args.get("expressions"))) > 0 and function != "sum":
        raise NotIncrementalError(f"{item.sql()} has several arguments")
    if floating and function == "sum":
        raise NotIncrementalError(f"{item.sql()}: the order in which floating-point numbers are added changes the sum")
    if precision is not None and precision >= _MAX_PRECISION and function == "sum":
        raise NotIncrementalError(f"{item.sql()} may overflow in a partial result only")
    return function
