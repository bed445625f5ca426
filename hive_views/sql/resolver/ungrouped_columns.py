"""Columns that Spark refuses above GROUP BY, since no aggregate has them and no grouping key contains them.

Source of the rules: Spark 4.1's `CheckAnalysis` (MISSING_AGGREGATION, MISSING_GROUP_BY) and measurements with Spark
4.1.4. Only what is certain is found: a column in a query counts as grouped, and so does one in a call of a function
that is not built in, in a window that WINDOW names, and in an expression that may be equal to a key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from hive_views.sql.engines.builtin_functions import SPARK_AGGREGATES, may_be_aggregate
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import is_star, unwrapped, windowed_function
from hive_views.sql.resolver.context import BoundNames
from hive_views.sql.resolver.grouping_keys import GroupingKeys, written_keys
from hive_views.sql.resolver.scopes import MergedKey, Scope, ScopeColumn

HAVING_AS_WHERE = "spark.sql.legacy.parser.havingWithoutGroupByAsWhere"
"""The setting with which HAVING without GROUP BY is a filter."""


Ungrouped = tuple[exp.Expr, str]
"""A column that is no grouping key, or the star that has it, and why Spark refuses it."""


def ungrouped_columns(query: ParsedQuery, bound: BoundNames, conf: Mapping[str, str]) -> Iterator[Ungrouped]:
    """Yield the columns of a resolved Spark query that Spark refuses since they are not grouped."""
    for select in query.nodes_of(exp.Select):
        block = bound.blocks.get(id(select))
        if block is not None and not isinstance(select.args.get("kind"), exp.Expr):
            yield from _Block(query, bound, select, *block).ungrouped(conf)


@dataclass(frozen=True)
class _Block:
    """One SELECT with the columns of its FROM clause and of its result."""

    query: ParsedQuery
    bound: BoundNames
    select: exp.Select
    source: Scope
    output: Scope

    def ungrouped(self, conf: Mapping[str, str]) -> Iterator[Ungrouped]:
        """Yield its columns that are not grouped; none if it does not group."""
        arguments = self.select.args
        group, having = arguments.get("group"), arguments.get("having")
        items = [item.unalias() for item in self.select.expressions if not is_star(item)]
        is_filter = group is None and conf.get(HAVING_AS_WHERE, "").lower() == "true"
        if group is None and (having is None or is_filter) and not any(map(self._calls_aggregate, items)):
            return
        keys = self._keys(group)
        if keys is None:
            return
        order = arguments.get("order")
        sorted_by = [key.this for key in order.expressions] if order is not None else []
        filters = [having.this] if having is not None else []
        for part in (*items, *sorted_by, *filters):
            for node in self._columns(part, keys.equal_parts(part, self.bound, self._is_computed)):
                column = self.bound.bindings.get(id(node))
                if column is not None and column not in keys.columns and self._is_of_source(column):
                    yield node, _reason(column)
        for item, source in self._star_columns():
            if source not in keys.columns and self._is_of_source(source):
                yield item, _reason(source)

    def _star_columns(self) -> Iterator[tuple[exp.Expr, ScopeColumn]]:
        """Yield the stars of the SELECT list, each with the columns for which it stands."""
        for output in self.output.columns:
            item = self.bound.select_items.get(output)
            source = output.origins[0] if output.origins else None
            if item is not None and is_star(item) and isinstance(source, ScopeColumn):
                yield item, source

    def _is_of_source(self, column: ScopeColumn) -> bool:
        return column in self.source.names or isinstance(column, MergedKey)

    def _keys(self, group: exp.Expr | None) -> GroupingKeys | None:
        """Return the grouping keys; None if they are not known."""
        if not isinstance(group, exp.Group):
            return GroupingKeys(frozenset())
        if group.args.get("all"):
            return None
        keys: list[exp.Expr] = []
        for key in written_keys(group):
            item = self._item_of(key)
            if item is None or any(map(self._is_computed, item.walk())):
                return None
            keys.append(item)
        return GroupingKeys.of(keys, self.bound)

    def _item_of(self, key: exp.Expr) -> exp.Expr | None:
        """Return the expression of a grouping key: itself, or the element of the SELECT list that it names."""
        items: Sequence[exp.Expr] = self.select.expressions
        if isinstance(key, exp.Literal) and key.name.isdigit() and 0 < int(key.name) <= len(items):
            return unwrapped(items[int(key.name) - 1])
        column = self.bound.bindings.get(id(key))
        if not isinstance(key, exp.Column) or (column is not None and self._is_of_source(column)):
            return key
        named = (item for item in items if type(item) is exp.Alias)
        return next((unwrapped(item) for item in named if item.alias.lower() == key.name.lower()), None)

    def _calls_aggregate(self, item: exp.Expr) -> bool:
        """Return whether an element of the SELECT list calls an aggregate of its own block."""
        stack = [item]
        while stack:
            node = stack.pop()
            if self._name_of(node) in SPARK_AGGREGATES or _is_any(node):
                return True
            stack += [node.this] if isinstance(node, (exp.Filter, exp.WithinGroup)) else self._inside(node)
        return False

    def _columns(self, part: exp.Expr, keys: Collection[int]) -> Iterator[exp.Column]:
        """Yield the columns that are outside of aggregates and of the expressions whose ids are given."""
        stack = [part]
        while stack:
            node = stack.pop()
            if id(node) in keys:
                continue
            if isinstance(node, exp.Column):
                yield node
            is_function = isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func)
            stack += () if is_function or self._is_aggregate(node) else self._inside(node)

    def _is_aggregate(self, node: exp.Expr) -> bool:
        """Return whether a node calls an aggregate, or a function that may be one."""
        name = self._name_of(node)
        return isinstance(node, exp.Any) or (name is not None and may_be_aggregate(name))

    def _is_computed(self, node: exp.Expr) -> bool:
        """Return whether a node is computed after the rows are grouped, and so in no grouping key."""
        return isinstance(node, exp.Window) or self._is_aggregate(node)

    def _name_of(self, node: exp.Expr) -> str | None:
        """Return the name of the function that a node calls, in lower case; None if it is no call."""
        return self.query.function_name(node) if isinstance(node, exp.Func) else None

    def _inside(self, node: exp.Expr) -> list[exp.Expr]:
        """Return the expressions in a node; of a window function, its arguments and what its window names."""
        if isinstance(node, (exp.Query, exp.QueryTransform, exp.Filter, exp.WithinGroup)):
            return []
        if isinstance(node, exp.Dot):
            return [node.this]  # behind it is a field, or the function of a database
        if type(node) is not exp.Window:
            return [child for child in node.iter_expressions() if not isinstance(child, exp.Query)]
        function = windowed_function(node)
        arguments = () if isinstance(function, (exp.Filter, exp.WithinGroup)) else function.iter_expressions()
        return [*arguments, *(node.args.get("partition_by") or ()), *filter(None, [node.args.get("order")])]


def _is_any(node: exp.Expr) -> bool:
    """Return whether a node is the aggregate `any(condition)`, not the `ANY (…)` of a comparison or of LIKE."""
    return isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary)


def _reason(column: ScopeColumn) -> str:
    name = f"{column.table}.{column.name}" if column.table else column.name
    return f"{name} is neither in GROUP BY nor in an aggregate function"
