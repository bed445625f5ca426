"""Output columns of a query through which its rows depend on the rows of a table: the keys of a recomputation.

If rows of a table change, only the result rows are affected whose key columns have the values of the changed rows. They
are recomputed and replaced as a whole, which also maintains what cannot be merged: any aggregate by group, DISTINCT,
outer, semi and anti joins by equality, windows by partition, HAVING, UNION, INTERSECT and EXCEPT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from hive_views.sql.analysis.incremental import (
    GROUPING_SETS,
    IncrementalQuery,
    NotIncrementalError,
    has_aggregates,
    refuse_clauses,
    resolve_ordinal,
)
from hive_views.sql.parsing.syntax_tree import unwrapped

_REFUSED = (
    "limit",
    "offset",
    "fetch",
    "windows",
    "qualify",
    "laterals",
    "pivots",
    "match",
    "sample",
    "with_",
    "connect",
    "kind",
    "into",
)
_LEFT_JOINS = ({"LEFT"}, {"LEFT", "OUTER"}, {"SEMI"}, {"LEFT", "SEMI"}, {"ANTI"}, {"LEFT", "ANTI"})
_INNER_JOINS: tuple[set[str], ...] = (set(), {"INNER"}, {"CROSS"})


@dataclass(frozen=True)
class _Columns:
    """The columns of a source, and the columns of the table that each stands for."""

    names: tuple[str, ...] | None
    """In order, in lower case; None for the table itself, whose columns stand for themselves."""
    keys: Mapping[str, str]
    """The table's column by the name of the source's column; for some columns only."""

    def key(self, name: str) -> str | None:
        return name if self.names is None else self.keys.get(name)


def key_columns(query: IncrementalQuery, leaf: int) -> dict[int, str]:
    """Return the key columns of a query for one of its tables.

    Args:
        query: The query.
        leaf: The index of the table's leaf.

    Returns:
        The table's column by the position of the output column. A result row depends on no other rows of the table than
        those that have its value in that column.

    Raises:
        NotIncrementalError: If there is none.
    """
    query.refuse_scripts()
    columns = _query(query.tree, query.leaf_node(leaf))
    keys = {at: columns.keys[name] for at, name in enumerate(columns.names or ()) if name in columns.keys}
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
        keys = {first[number]: columns.keys[name] for number, name in enumerate(names) if name in columns.keys}
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
    refuse_clauses(node, _REFUSED)
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
    keys: dict[tuple[str, str], str] = {}
    for join_number, join in enumerate(joins, start=1):
        for left, right in _equalities(join):
            for column, other in ((left, right), (right, left)):
                key = own.key(column.name.lower()) if column.table.lower() == owner else None
                # In an outer join, only the join of the changed table itself says which rows depend on it.
                if key is not None and other.table.lower() != owner and (is_preserved or join_number == number):
                    if is_preserved and _words(join) not in _INNER_JOINS:
                        continue
                    keys[(other.table.lower(), other.name.lower())] = key

    def key_of(item: exp.Expr) -> str | None:
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
    if any(node.args.get(key) for key in ("joins", "pivots", "laterals", "sample", "version", "when")):
        raise NotIncrementalError("a source with a clause that is not supported")
    alias = node.args.get("alias")
    renamed = tuple(column.name.lower() for column in alias.columns) if alias is not None else ()
    if node is leaf:
        if renamed:
            raise NotIncrementalError("a table with a list of column names")
        return _Columns(None, {})
    if not isinstance(node, exp.Subquery):
        raise NotIncrementalError(f"{type(node).__name__.upper()} in FROM")
    columns = _query(node.this, leaf)
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
