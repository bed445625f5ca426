"""Incremental view maintenance: the queries that compute the new rows of a view from the new rows of its tables.

Source: incremental view maintenance in bag algebra. For rows that were added to its tables, the rows that are added to
a query of projections, filters, inner joins and UNION ALL are:

- of a table: the rows that were added to it;
- of `a UNION ALL b`: the added rows of `a` and the added rows of `b`;
- of `a JOIN b`: the added rows of `a` joined with `b` as it is now, and `a` as it was before joined with the added rows
  of `b`; accordingly for more tables.

Each of these is the query's own text with its tables replaced, so no SQL is generated. The result of a GROUP BY over
such a query is updated by merging partial results, if its aggregate functions allow an exact merge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from hive_views.sql.analysis.aggregates import may_be_aggregate
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import child_expressions, table_nodes, unwrapped
from hive_views.sql.rewriting.quoting import quote_identifier


class RowSelection(Enum):
    """Which rows of a table a query reads."""

    NOW = "now"
    """All rows at the state that is refreshed to."""
    BEFORE = "before"
    """All rows at the state of the last refresh."""
    ADDED = "added"
    """The rows that were added in between."""
    CHANGED = "changed"
    """The rows that were added or deleted in between; an updated row with its old and its new values."""
    NONE = "none"
    """No rows: for the other side of a UNION ALL."""


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


class NotIncrementalError(ValueError):
    """A query whose new rows cannot be computed from its tables' new rows; the message is the reason."""


@dataclass(frozen=True)
class Aggregate:
    """How the columns of a GROUP BY are merged: the function of each column, or None for a key."""

    merge: tuple[str | None, ...]


class IncrementalQuery:
    """A parsed query and the occurrences of its tables.

    Args:
        sql: The query.
        dialect: `hive`, `spark` or `trino`.
        database: The current database.

    Raises:
        SqlError: If the query cannot be read.
        NotIncrementalError: If it reads something that is not the current rows of a table.
    """

    def __init__(self, sql: str, dialect: str, database: str) -> None:
        self.sql = sql
        self.dialect = dialect
        self.query = parse_query(sql, dialect)
        self.tree = self.query.tree
        self._numbers: dict[int, int] = {}
        """The index into `leaves` by the id of the table's node."""
        leaves: list[TableLeaf] = []
        for node in self.tree.find_all(exp.Table):
            if isinstance(node.this, exp.Dot):
                # A branch, a tag or a metadata table: it may change while the table's current snapshot does not.
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
            leaves.append(TableLeaf(name, first["start"], last["end"] + 1, bool(node.alias), catalog))
        self.leaves: tuple[TableLeaf, ...] = tuple(leaves)

    def render(self, replacement: Callable[[int, TableLeaf], str]) -> str:
        """Return the text with each table's name replaced; a table without an alias gets its old name as alias."""
        pieces, at = [], 0
        for number, leaf in sorted(enumerate(self.leaves), key=lambda item: item[1].start):
            alias = "" if leaf.aliased else f" AS {quote_identifier(leaf.name[1], self.query.text.quote)}"
            pieces += [self.sql[at : leaf.start], replacement(number, leaf), alias]
            at = leaf.end
        return "".join([*pieces, self.sql[at:]])

    def may_read(self, columns: Collection[str]) -> bool:
        """Return whether columns that were added to a table may have a meaning in the query.

        Args:
            columns: Their names. A name may be that of an alias, which a column takes precedence over.
        """
        names = {column.lower() for column in columns}
        if not names:
            return False
        reads_all = any(star.find_ancestor(exp.Count) is None for star in self.tree.find_all(exp.Star))
        is_natural = any(join.args.get("method") for join in self.tree.find_all(exp.Join))
        return reads_all or is_natural or any(node.name.lower() in names for node in self.tree.find_all(exp.Identifier))

    def aggregate(self, decimals: Sequence[int | None], floats: Sequence[bool]) -> Aggregate | None:
        """Return how the result of a GROUP BY at the top of the query is merged; None for a query without one.

        Args:
            decimals: The precision of each column that is a decimal, None for the others.
            floats: Whether each column is a floating-point number.

        Raises:
            NotIncrementalError: If it cannot be merged exactly.
        """
        select = self.tree
        if not isinstance(select, exp.Select) or not has_aggregates(select):
            return None
        refuse_clauses(select, ("having", "distinct", "windows", "qualify", "limit", "offset"))
        group = select.args.get("group")
        if group is not None and any(group.args.get(key) for key in GROUPING_SETS):
            raise NotIncrementalError("GROUP BY with grouping sets")
        items = [unwrapped(item) for item in select.expressions]
        if len(items) != len(floats):
            raise NotIncrementalError("its columns are not those of its schema")
        keys = [resolve_ordinal(unwrapped(key), items) for key in (group.expressions if group is not None else ())]
        merge: list[str | None] = []
        for number, item in enumerate(items):
            is_key = any(item == key for key in keys)
            merge.append(None if is_key else _merge_function(item, decimals[number], floats[number]))
        for key in keys:
            if key not in items:
                raise NotIncrementalError(f"it groups by {key.sql()}, which is not one of its columns")
        return Aggregate(tuple(merge))

    def added(self, changed: Iterable[int], *, grouped: bool = False) -> tuple[Mapping[int, RowSelection], ...]:
        """Return the queries that together compute the added rows: for each, which rows of each leaf to read.

        Args:
            changed: The indexes of the leaves whose tables got new rows.
            grouped: Whether a GROUP BY at the top is allowed; its partial results are then merged.

        Raises:
            NotIncrementalError: If the added rows cannot be computed.
        """
        self.refuse_scripts()
        assignments = _DeltaRules(self._numbers, frozenset(changed)).query(self.tree, grouped=grouped)
        leaves = range(len(self.leaves))
        return tuple({number: given.get(number, RowSelection.NOW) for number in leaves} for given in assignments)

    def passed_through(self, leaf: int, position: int) -> str:
        """Return the column of a table that an output column copies, if it also partitions the query's result.

        Every result row with a value of the column then comes from table rows with that value only. So the result rows
        with some values can be recomputed while all others stay.

        Args:
            leaf: The index of the table's leaf.
            position: The index of the output column.

        Raises:
            NotIncrementalError: If there is no such column.
        """
        self.refuse_scripts()
        select = self.tree
        if not isinstance(select, exp.Select):
            raise NotIncrementalError("it is not a SELECT at the top")
        refuse_clauses(select, (key for key in _UNSUPPORTED_CLAUSES if key != "distinct"))
        from_ = select.args.get("from_")
        joins = select.args.get("joins") or []
        sources = [] if from_ is None else [from_.this, *(join.this for join in joins)]
        for number, join in enumerate(joins, start=1):
            words = " ".join(str(join.args.get(key) or "").upper() for key in ("side", "kind", "method")).split()
            is_inner = set(words) <= {"INNER", "CROSS"}
            keeps_leaf = set(words) <= {"LEFT", "OUTER"} and self._numbers.get(id(sources[number])) != leaf
            if not is_inner and not keeps_leaf:
                raise NotIncrementalError(f"{' '.join(words)} JOIN")
        node = next((source for source in sources if self._numbers.get(id(source)) == leaf), None)
        if node is None:
            raise NotIncrementalError("the changed table is not in the FROM clause at the top")
        if select.find(exp.Window) is not None:
            raise NotIncrementalError("a window function")
        item = unwrapped(select.expressions[position])
        owner = node.alias_or_name.lower()
        if not isinstance(item, exp.Column) or not (
            item.table.lower() == owner or (not item.table and len(sources) == 1)
        ):
            raise NotIncrementalError(f"{item.sql()} is not a column of the changed table")
        if has_aggregates(select):
            group = select.args.get("group")
            items = list(select.expressions)
            keys = [] if group is None else [resolve_ordinal(unwrapped(key), items) for key in group.expressions]
            has_sets = group is not None and any(group.args.get(key) for key in GROUPING_SETS)
            if item not in [unwrapped(key) for key in keys] or has_sets:
                raise NotIncrementalError(f"it does not group by {item.sql()}")
        return item.name.lower()

    def leaf_node(self, leaf: int) -> exp.Table:
        """Return the node of a leaf in the tree."""
        return next(table for table in self.tree.find_all(exp.Table) if self._numbers.get(id(table)) == leaf)

    def refuse_scripts(self) -> None:
        """Refuse TRANSFORM: a script reads all rows of a task, and may give other results for the new rows alone."""
        if self.tree.find(exp.QueryTransform) is not None:
            raise NotIncrementalError("a script (TRANSFORM … USING)")


_Assignments = list[dict[int, RowSelection]]


class _DeltaRules:
    """The recursion over the tree: for each node, the assignments that give its added rows."""

    def __init__(self, numbers: Mapping[int, int], changed: frozenset[int]) -> None:
        self._numbers = numbers
        self._changed = changed

    def query(self, node: exp.Expr, *, grouped: bool = False) -> _Assignments:
        while type(node) in (exp.Subquery, exp.Paren):
            refuse_clauses(node, ("pivots", "laterals", "joins", "sample", "with_", "limit", "offset"))
            node = node.this
        if node.args.get("with_") is not None:
            raise NotIncrementalError("WITH")
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            refuse_clauses(node, ("limit", "offset", "order"))
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
        refuse_clauses(node, _UNSUPPORTED_CLAUSES)
        if not grouped and (has_aggregates(node) or node.args.get("having") is not None):
            raise NotIncrementalError("GROUP BY or an aggregate below the top of the query")
        from_ = node.args.get("from_")
        if from_ is None:
            # Its one row is never added again, but it joins with each added row of another source.
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
            if part.find(exp.Explode, exp.Posexplode, exp.Inline, exp.UDTF) is not None:
                raise NotIncrementalError("a table-generating function")
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
            if any(node.args.get(key) for key in ("joins", "pivots", "laterals", "sample", "version", "when")):
                raise NotIncrementalError(f"{node.name} has a clause that is not supported")
            number = self._numbers.get(id(node))
            if number is None:
                raise NotIncrementalError(f"{node.sql()} is not a table")
            return [{number: RowSelection.ADDED}] if number in self._changed else []
        if isinstance(node, exp.Subquery):
            return self.query(node)
        raise NotIncrementalError(f"{type(node).__name__.upper()} in FROM")

    def _leaves(self, node: exp.Expr) -> list[int]:
        return [self._numbers[id(table)] for table in node.find_all(exp.Table) if id(table) in self._numbers]


_UNSUPPORTED_CLAUSES = (
    "distinct",
    "limit",
    "offset",
    "windows",
    "qualify",
    "laterals",
    "pivots",
    "match",
    "sample",
    "with_",
    "cluster",
    "distribute",
    "sort",
    "order",
    "connect",
    "kind",
    "into",
)

GROUPING_SETS = ("cube", "rollup", "grouping_sets", "all", "totals")
_MERGES: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Count: "sum", exp.Min: "min", exp.Max: "max"}
_MAX_PRECISION = 38


def refuse_clauses(node: exp.Expr, keys: Iterable[str]) -> None:
    """Raise NotIncrementalError if a node has one of some clauses."""
    for key in keys:
        if node.args.get(key):
            raise NotIncrementalError(key.rstrip("_").upper())


def has_aggregates(select: exp.Select) -> bool:
    """Return whether a SELECT groups its rows."""
    if select.args.get("group") is not None:
        return True
    return any(
        call.find_ancestor(exp.Select) is select and call.find_ancestor(exp.Window) is None
        for item in select.expressions
        for call in item.find_all(exp.AggFunc, exp.Any, exp.Anonymous)
        if not isinstance(call, exp.Anonymous) or may_be_aggregate(call.name)
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
