"""The key columns of a query: output columns through which its rows depend on the rows of one table.

If rows of a table change, they affect only the result rows whose keys have the values of the changed rows. These
result rows are recomputed and replaced as a whole. This also works for queries whose results cannot be merged: any
aggregate by group, DISTINCT, outer, semi and anti joins by equality, IN and EXISTS, windows by partition, HAVING,
UNION, INTERSECT and EXCEPT.

A key is one output column, or two columns of which one may be NULL: the key of a row of `t FULL JOIN u ON t.a = u.x` is
`coalesce(t.a, u.x)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from sqlglot import exp

from hive_views.sql.analysis.incremental import (
    REFUSED_CLAUSES,
    IncrementalQuery,
    NotIncrementalError,
    output_items,
    query_inside,
    refuse_clauses,
    refuse_lateral,
    refuse_source_clauses,
)
from hive_views.sql.parsing.syntax_tree import conjuncts, unwrapped

_Ref = tuple[str, str]
"""A source's name and one of its columns, in lower case."""

_KEEPS_LEFT = ({"LEFT"}, {"LEFT", "OUTER"}, {"SEMI"}, {"LEFT", "SEMI"}, {"ANTI"}, {"LEFT", "ANTI"})
_KEEPS_RIGHT = ({"RIGHT"}, {"RIGHT", "OUTER"})
_KEEPS_BOTH = ({"FULL"}, {"FULL", "OUTER"})
_INNER: tuple[set[str], ...] = (set(), {"INNER"}, {"CROSS"})


class _Conversion(IntEnum):
    """The conversion of a key's values to another type between the changed table and an output column.

    The plan compares the types of these two columns. That detects one conversion, but not a second one back to the
    first type. So a key may pass one equality, or any number of set operations, which only widen types.
    """

    NONE = 0
    SET_OPERATION = 1
    EQUALITY = 2


@dataclass(frozen=True)
class KeyColumn:
    """The column of the changed table whose values a key contains."""

    column: str
    """Its name in lower case."""
    same_type: frozenset[tuple[int, str]] = frozenset()
    """Columns of tables, by leaf and name, that must have the same type: `1 = '01'` is true, but these are two keys."""
    conversion: _Conversion = field(default=_Conversion.NONE, compare=False)


@dataclass(frozen=True)
class _Relation:
    """The columns of a part of FROM, or of a query."""

    names: tuple[str, ...] | None
    """The column names in order, in lower case; None if they are unknown."""
    keys: Mapping[frozenset[str], KeyColumn] = field(default_factory=dict)
    """The keys by the names of their columns."""
    origins: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """The table column (leaf and name) whose values a column copies, by the name of the column."""

    def renamed(self, names: tuple[str, ...]) -> _Relation:
        """Return the same columns under other names."""
        if self.names is None or len(names) != len(self.names):
            raise NotIncrementalError("a list of column names that do not fit")
        new = dict(zip(self.names, names, strict=True))
        keys = {frozenset(new[name] for name in key): column for key, column in self.keys.items()}
        return _Relation(names, keys, {new[name]: origin for name, origin in self.origins.items()})


def key_columns(query: IncrementalQuery, leaf: int, width: int) -> dict[tuple[int, ...], KeyColumn]:
    """Return the keys of a query for one of its tables, by the positions of their output columns.

    A result row depends only on the rows of the table that have the value of its key, which is the first value of the
    key's columns that is not NULL.

    Args:
        query: The query.
        leaf: The number of the changed table, whose columns must be known.
        width: The number of output columns.
    """
    query.refuse_scripts()
    relation = _Analysis(query, leaf).query(query.tree)
    names = relation.names or ()
    if len(names) != width:
        raise NotIncrementalError("its columns are not those of its schema")
    keys = {tuple(sorted(map(names.index, key))): column for key, column in relation.keys.items()}
    if not keys:
        raise NotIncrementalError("no output column is a key of the changed table")
    return keys


class _Analysis:
    """A recursion over the tree that visits each query with the changed table once."""

    def __init__(self, query: IncrementalQuery, leaf: int) -> None:
        self.text = query
        self._node = query.leaf_node(leaf)

    def query(self, node: exp.Expr) -> _Relation:
        """Return the columns of a query."""
        node = query_inside(node)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node)
        if not isinstance(node, exp.Select):
            raise NotIncrementalError(f"{type(node).__name__.upper()} is not a SELECT")
        return self._select(node)

    def _set_operation(self, node: exp.SetOperation) -> _Relation:
        refuse_clauses(node, ("limit", "offset", "with_", "by_name"))
        first = self.query(node.left)
        side = first if self._contains(node.left) else self.query(node.right)
        # Rows are compared by position; the names are those of the first query.
        if first.names is None or side.names is None or len(first.names) != len(side.names):
            raise NotIncrementalError("the columns of a set operation are not known")
        keys = {
            key: replace(column, conversion=_Conversion.SET_OPERATION)
            for key, column in side.renamed(first.names).keys.items()
            if column.conversion is not _Conversion.EQUALITY
        }
        return _Relation(first.names, keys)

    def _select(self, node: exp.Select) -> _Relation:
        refuse_clauses(node, REFUSED_CLAUSES)
        scope = _Scope(self, node)
        keys = self._keys_of_rows(node, scope) if self._contains(node) else {}
        items = _without_star(output_items(node), scope)
        names = tuple(item.alias_or_name.lower() for item in items)
        if not all(names) or "*" in names or len(set(names)) < len(names):
            raise NotIncrementalError("a SELECT whose columns have no names, or a star over several sources")
        is_determining = self._determining(node, scope)
        by_ref: dict[frozenset[_Ref], list[str]] = {}
        origins: dict[str, tuple[int, str]] = {}
        for name, item in zip(names, map(unwrapped, items), strict=True):
            refs = scope.coalesced(item)
            origin = scope.origin(scope.ref(item))
            if origin is not None:
                origins[name] = origin
            if refs is not None and is_determining(item):
                by_ref.setdefault(refs, []).append(name)
        result: dict[frozenset[str], KeyColumn] = {}
        for refs, column in keys.items():
            result |= {frozenset({name}): column for name in by_ref.get(refs, ())}
            if len(refs) > 1 and refs not in by_ref:
                parts = [by_ref.get(frozenset({ref}), []) for ref in refs]
                if all(parts):
                    result[frozenset(part[0] for part in parts)] = column
        return _Relation(names, result, origins)

    def _keys_of_rows(self, node: exp.Select, scope: _Scope) -> dict[frozenset[_Ref], KeyColumn]:
        """Return the keys of the rows that FROM and WHERE return, by the columns of the sources."""
        number = next((at for at, source in enumerate(scope.nodes) if self._contains(source)), None)
        for join in scope.joins:
            if _words(join) not in (*_INNER, *_KEEPS_LEFT, *_KEEPS_RIGHT, *_KEEPS_BOTH):
                raise NotIncrementalError(f"{' '.join(sorted(_words(join)))} JOIN")
        keys = self._subquery_keys(node, scope) if number is None else scope.own_keys(number)
        for at, join in enumerate(scope.joins, start=1):
            if number is not None and at >= number:
                keys = _joined(keys, _words(join), scope.equalities(at, join), scope, is_right=at == number)
        where = node.args.get("where")
        for left, right in () if where is None else scope.column_pairs(conjuncts(where.this)):
            for ref, other in ((left, right), (right, left)):
                key = keys.get(frozenset({ref}))
                if key is not None and key.conversion is _Conversion.NONE:
                    keys.setdefault(frozenset({other}), replace(key, conversion=_Conversion.EQUALITY))
        return keys

    def _subquery_keys(self, node: exp.Select, scope: _Scope) -> dict[frozenset[_Ref], KeyColumn]:
        """Return the keys of rows that depend on the changed table through a subquery outside FROM."""
        inner: exp.Expr = self._node
        clause: exp.Expr = self._node
        while clause.parent is not None and clause.parent is not node:
            if isinstance(clause, exp.Query):
                inner = clause
            clause = clause.parent
        while isinstance(inner.parent, exp.Subquery):
            inner = inner.parent
        if clause.arg_key != "expressions" and not isinstance(clause, exp.Where):
            raise NotIncrementalError("the changed table is in a subquery outside FROM, WHERE and SELECT")
        if isinstance(inner.parent, exp.In) and isinstance(clause, exp.Where):
            ref = scope.ref(unwrapped(inner.parent.this))
            if any(part is inner.parent for part in conjuncts(clause.this)) and ref is not None:
                relation = self.query(inner)
                names = relation.names or ()
                key = relation.keys.get(frozenset(names)) if len(names) == 1 else None
                if key is not None and key.conversion is _Conversion.NONE:
                    return {frozenset({ref}): replace(key, conversion=_Conversion.EQUALITY)}
            raise NotIncrementalError("IN with a query over the changed table that no key determines")
        if not isinstance(inner.parent, exp.Exists) and not isinstance(inner, exp.Subquery):
            raise NotIncrementalError("the changed table is in a subquery outside FROM")
        return self._correlated_keys(inner, scope)

    def _correlated_keys(self, node: exp.Expr, outer: _Scope) -> dict[frozenset[_Ref], KeyColumn]:
        """Return the outer columns that a correlated subquery compares with keys of the changed table."""
        node = query_inside(node)
        if not isinstance(node, exp.Select):
            raise NotIncrementalError("a set operation in a subquery outside FROM")
        refuse_clauses(node, REFUSED_CLAUSES)
        scope = _Scope(self, node)
        if not any(map(self._contains, scope.nodes)):
            raise NotIncrementalError("the changed table is in a subquery of a subquery outside FROM")
        keys = self._keys_of_rows(node, scope)
        result: dict[frozenset[_Ref], KeyColumn] = {}
        where = node.args.get("where")
        for part in () if where is None else conjuncts(where.this):
            if not isinstance(part, (exp.EQ, exp.NullSafeEQ)):
                continue
            left, right = unwrapped(part.this), unwrapped(part.expression)
            for column, other in ((left, right), (right, left)):
                own, ref = scope.ref(column), None if scope.may_have(other) else outer.ref(other)
                key = None if own is None else keys.get(frozenset({own}))
                if ref is not None and key is not None and key.conversion is _Conversion.NONE:
                    result[frozenset({ref})] = replace(key, conversion=_Conversion.EQUALITY)
        if not result:
            raise NotIncrementalError("a subquery outside FROM without an equality with a column of the outer query")
        return result

    def source(self, node: exp.Expr) -> _Relation:
        """Return the columns of a part of FROM."""
        refuse_source_clauses(node, names=node is self._node)
        if isinstance(node, exp.Table):
            number = self.text.number_of(node)
            names = None if number is None else self.text.columns_of(number)
            if number is None or names is None:
                return _Relation(None)
            keys = {frozenset({name}): KeyColumn(name) for name in names} if node is self._node else {}
            return _Relation(names, keys, {name: (number, name) for name in names})
        if not isinstance(node, exp.Subquery):
            if self._contains(node):
                raise NotIncrementalError(f"{type(node).__name__.upper()} in FROM")
            return _Relation(None)
        try:
            relation = self.query(node.this)
        except NotIncrementalError:
            if self._contains(node):
                raise
            return _Relation(None)
        renamed = tuple(column.lower() for column in node.alias_column_names)
        return relation.renamed(renamed) if renamed else relation

    def _determining(self, node: exp.Select, scope: _Scope) -> Callable[[exp.Expr], bool]:
        """A predicate for items: whether all input rows of a result row have the result row's value of the item."""
        keys = self.text.group_keys(node)
        group = None if keys is None else [scope.comparable(key) for key in keys]
        windows = [
            [scope.comparable(unwrapped(part)) for part in window.args.get("partition_by") or ()]
            for item in node.expressions
            for window in item.find_all(exp.Window)
            if window.find_ancestor(exp.Select) is node
        ]

        def is_determining(item: exp.Expr) -> bool:
            value = scope.comparable(item)
            return (group is None or value in group) and all(value in partition for partition in windows)

        return is_determining

    def _contains(self, node: exp.Expr) -> bool:
        return any(table is self._node for table in node.find_all(exp.Table))


class _Scope:
    """The sources of a SELECT, and the columns that its expressions name."""

    def __init__(self, analysis: _Analysis, node: exp.Select) -> None:
        from_ = node.args.get("from_")
        self.joins: list[exp.Join] = node.args.get("joins") or []
        self.nodes: list[exp.Expr] = [] if from_ is None else [from_.this, *(join.this for join in self.joins)]
        self.laterals: list[exp.Lateral] = node.args.get("laterals") or []
        names = [source.alias_or_name.lower() for source in self.nodes]
        if len(set(names)) < len(names) or (len(names) > 1 and not all(names)):
            raise NotIncrementalError("sources without a name, or with the same name")
        self.sources = {name: analysis.source(source) for name, source in zip(names, self.nodes, strict=True)}
        for lateral in self.laterals:
            refuse_lateral(lateral)
            if lateral.alias.lower() in self.sources:
                raise NotIncrementalError("sources with the same name")
            columns = tuple(column.lower() for column in lateral.alias_column_names)
            self.sources[lateral.alias.lower()] = _Relation(columns or None)
        self._order = names

    def own_keys(self, number: int) -> dict[frozenset[_Ref], KeyColumn]:
        """Return the keys of a source that contains the changed table."""
        name = self._order[number]
        keys = self.sources[name].keys
        return {frozenset((name, part) for part in key): column for key, column in keys.items()}

    def ref(self, node: exp.Expr) -> _Ref | None:
        """Return the source and column that an expression names; None for other expressions and unknown columns."""
        if not isinstance(node, exp.Column) or len(node.parts) > 2 or isinstance(node.this, exp.Star):
            return None
        name, table = node.name.lower(), node.table.lower()
        if table:
            names = self.sources[table].names if table in self.sources else ()
            return (table, name) if names is None or name in names else None
        if len(self.sources) == 1:
            [(source, relation)] = self.sources.items()
            return (source, name) if relation.names is None or name in relation.names else None
        if any(relation.names is None for relation in self.sources.values()):
            return None
        owners = [source for source, relation in self.sources.items() if name in (relation.names or ())]
        return (owners[0], name) if len(owners) == 1 else None

    def may_have(self, node: exp.Expr) -> bool:
        """Return whether a column may belong to one of these sources, and so not to an outer query."""
        if not isinstance(node, exp.Column) or len(node.parts) > 2:
            return True
        if node.table:
            return node.table.lower() in self.sources
        return any(relation.names is None or node.name.lower() in relation.names for relation in self.sources.values())

    def coalesced(self, node: exp.Expr) -> frozenset[_Ref] | None:
        """Return the columns of COALESCE, or the one column that an expression names; None for other expressions."""
        parts = [node.this, *node.expressions] if isinstance(node, exp.Coalesce) else [node]
        refs = [self.ref(unwrapped(part)) for part in parts]
        return None if None in refs else frozenset(ref for ref in refs if ref is not None)

    def origin(self, ref: _Ref | None) -> tuple[int, str] | None:
        """Return the table column (leaf and name) whose values a column copies; None for a computed column."""
        return None if ref is None else self.sources[ref[0]].origins.get(ref[1])

    def comparable(self, node: exp.Expr) -> object:
        """Return a value that is equal for expressions that name the same column, with or without its table."""
        ref = self.ref(node)
        return node if ref is None else ref

    def column_pairs(self, conditions: Iterable[exp.Expr]) -> Iterator[tuple[_Ref, _Ref]]:
        """Yield the conditions of the form `a.x = b.y`."""
        for part in conditions:
            if isinstance(part, (exp.EQ, exp.NullSafeEQ)):
                left, right = self.ref(unwrapped(part.this)), self.ref(unwrapped(part.expression))
                if left is not None and right is not None and left[0] != right[0]:
                    yield left, right

    def equalities(self, number: int, join: exp.Join) -> list[tuple[_Ref, _Ref]]:
        """The pairs of columns that a join compares for equality: of an earlier source, and of the joined source."""
        own, earlier = self._order[number], self._order[:number]
        condition, using = join.args.get("on"), join.args.get("using")
        if using:
            if number > 1:
                raise NotIncrementalError("USING of a third source")
            return [((earlier[0], column.name.lower()), (own, column.name.lower())) for column in using]
        pairs = []
        for left, right in () if condition is None else self.column_pairs(conjuncts(condition)):
            if left[0] == own:
                left, right = right, left
            if right[0] == own and left[0] in earlier:
                pairs.append((left, right))
        return pairs


def _without_star(items: list[exp.Expr], scope: _Scope) -> list[exp.Expr]:
    """Return the columns of `SELECT *` over one source; other items unchanged."""
    star = items[0] if len(items) == 1 else None
    names = next(iter(scope.sources.values())).names if len(scope.sources) == 1 else None
    if not isinstance(star, exp.Star) or any(star.args.values()) or names is None:
        return items
    return [exp.column(name, quoted=True) for name in names]


def _words(join: exp.Expr) -> set[str]:
    return set(" ".join(str(join.args.get(key) or "").upper() for key in ("side", "kind", "method")).split())


def _joined(
    keys: Mapping[frozenset[_Ref], KeyColumn],
    words: set[str],
    equalities: Iterable[tuple[_Ref, _Ref]],
    scope: _Scope,
    *,
    is_right: bool,
) -> dict[frozenset[_Ref], KeyColumn]:
    """Return the keys after a join, from those of the side with the changed table.

    `is_right` if it is the joined source.
    """
    other_keys: dict[frozenset[_Ref], KeyColumn] = {}
    both: dict[frozenset[_Ref], KeyColumn] = {}
    for left, right in equalities:
        ref, other = (right, left) if is_right else (left, right)
        key = keys.get(frozenset({ref}))
        if key is not None and key.conversion is _Conversion.NONE:
            key = replace(key, conversion=_Conversion.EQUALITY)
            other_keys[frozenset({other})] = key
            origin = scope.origin(other)
            if origin is not None:
                both[frozenset({left, right})] = replace(key, same_type=frozenset({origin}))
    if words in _INNER:
        return {**other_keys, **keys}
    if words in _KEEPS_BOTH:
        return both
    # An outer join adds NULLs to rows of the other side without a match, so only the equality tells their keys.
    return dict(keys) if (words in _KEEPS_RIGHT) is is_right else other_keys
