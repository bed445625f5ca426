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
from enum import Enum, IntEnum

from sqlglot import exp

from hive_views.sql.parsing.builtin_functions import SPARK_FUNCTIONS
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import child_expressions, table_nodes, unwrapped
from hive_views.sql.rewriting.quoting import quote_identifier

# ruff: noqa: SIM905 (a long list of words)


AGGREGATES = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every
    first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum var_pop var_samp variance
    """.split()
)
"""Spark 4.1.4's function group `agg_funcs`; a test compares the set with Spark's own registry."""


def may_be_aggregate(function: str) -> bool:
    """Whether a function may be an aggregate: one of Spark's, or one that Spark does not have built in."""
    name = function.lower()
    return name in AGGREGATES or name not in SPARK_FUNCTIONS


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
    """A parsed query and the occurrences of its tables."""

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
        """Return whether columns added to a table, which take precedence over aliases, may change the query."""
        names = {column.lower() for column in columns}
        if not names:
            return False
        reads_all = not all(_counts_rows(star.parent) for star in self.tree.find_all(exp.Star))
        is_natural = any(join.args.get("method") for join in self.tree.find_all(exp.Join))
        # A PIVOT groups by all other columns; a list of column names fits one number of columns.
        reads_all |= self.tree.find(exp.Pivot) is not None or any(map(_renames, self.tree.find_all(exp.Table)))
        return reads_all or is_natural or any(node.name.lower() in names for node in self.tree.find_all(exp.Identifier))

    def aggregate(self, decimals: Sequence[int | None], floats: Sequence[bool]) -> Aggregate | None:
        """Return how the result of a GROUP BY at the top of the query is merged; None for a query without one."""
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
            if any(function.name.lower() == "session_window" for function in key.find_all(exp.Anonymous)):
                raise NotIncrementalError("a session_window, which new rows can extend")
        return Aggregate(tuple(merge))

    def added(self, changed: Iterable[int], *, grouped: bool = False) -> tuple[Mapping[int, RowSelection], ...]:
        """Return the queries that together compute the added rows: for each, which rows of each leaf to read."""
        self.refuse_scripts()
        assignments = _DeltaRules(self._numbers, frozenset(changed)).query(self.tree, grouped=grouped)
        leaves = range(len(self.leaves))
        return tuple({number: given.get(number, RowSelection.NOW) for number in leaves} for given in assignments)

    def passed_through(self, leaf: int, position: int) -> str:
        """Return the column of a table that an output column copies, if it also partitions the query's result.

        Every result row with a value of the column then comes from table rows with that value only. So the result rows
        with some values can be recomputed while all others stay.
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
        _refuse_source_clauses(node, names=True)
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
            _refuse_source_clauses(node)
            number = self._numbers.get(id(node))
            if number is None:
                raise NotIncrementalError(f"{node.sql()} is not a table")
            return [{number: RowSelection.ADDED}] if number in self._changed else []
        if isinstance(node, exp.Subquery):
            return self.query(node)
        raise NotIncrementalError(f"{type(node).__name__.upper()} in FROM")

    def _leaves(self, node: exp.Expr) -> list[int]:
        return [self._numbers[id(table)] for table in node.find_all(exp.Table) if id(table) in self._numbers]


_REFUSED = tuple("limit offset windows qualify laterals pivots match sample with_ connect kind into".split())
_UNSUPPORTED_CLAUSES = ("distinct", "cluster", "distribute", "sort", "order", *_REFUSED)

GROUPING_SETS = ("cube", "rollup", "grouping_sets", "all", "totals")
_MERGES: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Count: "sum", exp.Min: "min", exp.Max: "max"}
_MAX_PRECISION = 38


def refuse_clauses(node: exp.Expr, keys: Iterable[str]) -> None:
    """Raise NotIncrementalError if a node has one of some clauses."""
    for key in keys:
        if node.args.get(key):
            raise NotIncrementalError(key.rstrip("_").upper())


def _refuse_source_clauses(node: exp.Expr, *, names: bool = False) -> None:
    """Refuse clauses of a source in FROM, and on request a list of column names."""
    refuse_clauses(node, ("joins", "pivots", "laterals", "sample", "version", "when"))
    if names and _renames(node):
        raise NotIncrementalError("a table with a list of column names")


def _renames(node: exp.Expr) -> bool:
    return bool(node.alias_column_names)


def _counts_rows(node: exp.Expr | None) -> bool:
    """Whether a node with a star as its argument is `count(*)`, which reads no column."""
    return isinstance(node, exp.Count) and not node.expressions


def has_aggregates(select: exp.Select) -> bool:
    """Return whether a SELECT groups its rows."""
    if select.args.get("group") is not None:
        return True
    return any(
        call.find_ancestor(exp.Select) is select and call.find_ancestor(exp.Window) is None
        for item in select.expressions
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


# -- Output columns of a query through which its rows depend on the rows of a table: the keys of a recomputation -------
#
# If rows of a table change, only the result rows are affected whose key columns have the values of the changed rows.
# They are recomputed and replaced as a whole, which also maintains what cannot be merged: any aggregate by group,
# DISTINCT, outer, semi and anti joins by equality, windows by partition, HAVING, UNION, INTERSECT and EXCEPT.

_LEFT_JOINS = ({"LEFT"}, {"LEFT", "OUTER"}, {"SEMI"}, {"LEFT", "SEMI"}, {"ANTI"}, {"LEFT", "ANTI"})
_INNER_JOINS: tuple[set[str], ...] = (set(), {"INNER"}, {"CROSS"})


class _Conversion(IntEnum):
    """What may have converted a key's values to another type on the way to a column.

    The plan compares the types of both ends, which shows one conversion, but not one there and back: at most one
    equality, or any number of set operations, each of which only widens.
    """

    NONE = 0
    SET_OPERATION = 1
    EQUALITY = 2


@dataclass(frozen=True)
class _Columns:
    """The columns of a source, and the columns of the table that each stands for."""

    names: tuple[str, ...] | None
    """In order, in lower case; None for the table itself, whose columns stand for themselves."""
    keys: Mapping[str, tuple[str, _Conversion]]
    """The table's column by the name of the source's column; for some columns only."""

    def key(self, name: str) -> tuple[str, _Conversion] | None:
        return (name, _Conversion.NONE) if self.names is None else self.keys.get(name)


def key_columns(query: IncrementalQuery, leaf: int) -> dict[int, str]:
    """Return the key columns of a query for one of its tables, by the position of the output column.

    A result row depends on no other rows of the table than those that have its value in that column.
    """
    query.refuse_scripts()
    columns = _query(query.tree, query.leaf_node(leaf))
    keys = {at: columns.keys[name][0] for at, name in enumerate(columns.names or ()) if name in columns.keys}
    if not keys:
        raise NotIncrementalError("no output column is a key of the changed table")
    return keys


def _contains(node: exp.Expr, leaf: exp.Table) -> bool:
    return any(table is leaf for table in node.find_all(exp.Table))


def _query(node: exp.Expr, leaf: exp.Table) -> _Columns:
    while type(node) in (exp.Subquery, exp.Paren):
        refuse_clauses(node, ("pivots", "laterals", "joins", "sample", "with_", "limit", "offset"))
        node = node.this
    if isinstance(node, exp.SetOperation):
        refuse_clauses(node, ("limit", "offset", "with_", "by_name"))
        sides = [side for side in (node.left, node.right) if _contains(side, leaf)]
        columns, first = _query(sides[0], leaf), _query_names(node.left)
        # Rows are compared by position; the names are those of the first query.
        names = columns.names or ()
        if first is None or len(first) != len(names):
            raise NotIncrementalError("the columns of a set operation are not known")
        keys = {
            new: (columns.keys[old][0], _Conversion.SET_OPERATION)
            for new, old in zip(first, names, strict=True)
            if old in columns.keys and columns.keys[old][1] is not _Conversion.EQUALITY
        }
        return _Columns(first, keys)
    if not isinstance(node, exp.Select):
        raise NotIncrementalError(f"{type(node).__name__.upper()} is not a SELECT")
    return _select(node, leaf)


def _query_names(node: exp.Expr) -> tuple[str, ...] | None:
    """The output names of a query; None if they are not written."""
    while isinstance(node, (exp.Subquery, exp.Paren, exp.SetOperation)):
        node = node.left if isinstance(node, exp.SetOperation) else node.this
    names = tuple(item.alias_or_name.lower() for item in node.expressions) if isinstance(node, exp.Select) else ()
    return names if names and all(names) and "*" not in names and len(set(names)) == len(names) else None


def _select(node: exp.Select, leaf: exp.Table) -> _Columns:
    refuse_clauses(node, ("fetch", *_REFUSED))
    from_ = node.args.get("from_")
    joins = node.args.get("joins") or []
    sources = [] if from_ is None else [from_.this, *(join.this for join in joins)]
    number = next((at for at, source in enumerate(sources) if _contains(source, leaf)), None)
    if number is None:
        raise NotIncrementalError("the changed table is in a subquery outside FROM")
    own = _source(sources[number], leaf)
    owner = sources[number].alias_or_name.lower()
    is_only = len(sources) == 1
    if len(sources) > 1 and not all(source.alias_or_name for source in sources):
        raise NotIncrementalError("a source without a name")
    is_preserved = _check_joins(joins, number)
    keys: dict[tuple[str, str], tuple[str, _Conversion]] = {}
    for join_number, join in enumerate(joins, start=1):
        for left, right in _equalities(join):
            for column, other in ((left, right), (right, left)):
                key = own.key(column.name.lower()) if column.table.lower() == owner else None
                # In an outer join, only the join of the changed table itself says which rows depend on it.
                if key is not None and other.table.lower() != owner and (is_preserved or join_number == number):
                    if key[1] or (is_preserved and _words(join) not in _INNER_JOINS):
                        continue
                    keys[(other.table.lower(), other.name.lower())] = (key[0], _Conversion.EQUALITY)

    def key_of(item: exp.Expr) -> tuple[str, _Conversion] | None:
        column = unwrapped(item)
        if not isinstance(column, exp.Column) or len(column.parts) > 2 or (not column.table and not is_only):
            return None
        table, name = column.table.lower() or owner, column.name.lower()
        return (own.key(name) if is_preserved else None) if table == owner else keys.get((table, name))

    star = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(star, exp.Star) and not any(star.args.values()) and is_only:
        return own
    names = _query_names(node)
    if names is None:
        raise NotIncrementalError("a SELECT whose columns have no names, or a star")
    valid = _determining(node)
    found = {
        name: key
        for name, item in zip(names, node.expressions, strict=True)
        if (key := key_of(item)) is not None and valid(unwrapped(item))
    }
    return _Columns(names, found)


def _source(node: exp.Expr, leaf: exp.Table) -> _Columns:
    _refuse_source_clauses(node, names=node is leaf)
    if node is leaf:
        return _Columns(None, {})
    if not isinstance(node, exp.Subquery):
        raise NotIncrementalError(f"{type(node).__name__.upper()} in FROM")
    columns = _query(node.this, leaf)
    renamed = tuple(column.lower() for column in node.alias_column_names)
    if not renamed:
        return columns
    if columns.names is None or len(renamed) != len(columns.names):
        raise NotIncrementalError("a list of column names that do not fit")
    return _Columns(
        renamed,
        {new: columns.keys[old] for new, old in zip(renamed, columns.names, strict=True) if old in columns.keys},
    )


def _words(join: exp.Expr) -> set[str]:
    return set(" ".join(str(join.args.get(key) or "").upper() for key in ("side", "kind", "method")).split())


def _check_joins(joins: Iterable[exp.Join], number: int) -> bool:
    """Whether the changed source's rows are kept by all joins; an error for joins that are not supported."""
    is_preserved = True
    for join_number, join in enumerate(joins, start=1):
        words = _words(join)
        if words in _INNER_JOINS and not join.args.get("using"):
            continue
        if words not in _LEFT_JOINS or join.args.get("using"):
            raise NotIncrementalError(f"{' '.join(sorted(words)) or 'USING'} JOIN")
        if join_number == number:
            is_preserved = False
    return is_preserved


def _equalities(join: exp.Join) -> list[tuple[exp.Column, exp.Column]]:
    """The conjuncts `a.x = b.y` of a join's condition."""
    condition = join.args.get("on")
    conjuncts = [] if condition is None else [unwrapped(part) for part in unwrapped(condition).flatten()]
    if condition is not None and not isinstance(unwrapped(condition), exp.And):
        conjuncts = [unwrapped(condition)]
    pairs = []
    for part in conjuncts:
        if isinstance(part, exp.EQ):
            left, right = unwrapped(part.this), unwrapped(part.expression)
            if isinstance(left, exp.Column) and isinstance(right, exp.Column) and left.table and right.table:
                pairs.append((left, right))
    return pairs


def _determining(node: exp.Select) -> Callable[[exp.Expr], bool]:
    """A predicate: whether all rows that compute a result row have the result row's value of an item."""
    group = node.args.get("group")
    if group is not None and any(group.args.get(key) for key in GROUPING_SETS):
        raise NotIncrementalError("GROUP BY with grouping sets")
    items = list(node.expressions)
    group_keys = None
    if has_aggregates(node):
        group_keys = [] if group is None else [unwrapped(resolve_ordinal(key, items)) for key in group.expressions]
    windows = [
        [unwrapped(part) for part in window.args.get("partition_by") or ()]
        for item in items
        for window in item.find_all(exp.Window)
        if window.find_ancestor(exp.Select) is node
    ]

    def is_determining(item: exp.Expr) -> bool:
        return (group_keys is None or item in group_keys) and all(item in partition for partition in windows)

    return is_determining
