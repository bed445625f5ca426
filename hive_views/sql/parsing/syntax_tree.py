"""Token ranges of sqlglot's nodes, and small queries about its syntax trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.text.tokens import Text


def child_expressions(value: Any) -> list[exp.Expr]:
    """Return the nodes in one argument of a node: the argument itself, or the nodes in its list."""
    if isinstance(value, exp.Expr):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, exp.Expr)]
    return []


def start_offsets(node: exp.Expr) -> list[int]:
    """Return the text offsets of all names and calls in an expression, in no particular order."""
    offsets: list[int] = []
    stack = [node]
    while stack:
        current = stack.pop()
        meta = current._meta
        if meta and "start" in meta:
            offsets.append(meta["start"])
        for value in current.args.values():
            if isinstance(value, exp.Expr):
                stack.append(value)
            elif isinstance(value, list):
                stack += [item for item in value if isinstance(item, exp.Expr)]
    return offsets


def first_offsets_of(tree: exp.Expr) -> dict[int, int]:
    """Return the smallest of the `start_offsets` of each node of a tree, by the node's `id`."""
    first: dict[int, int] = {}
    for node in reversed(list(tree.walk())):  # each node before its parent
        offsets = [first[id(node)]] if id(node) in first else []
        if node._meta and "start" in node._meta:
            offsets.append(node._meta["start"])
        if offsets:
            first[id(node)] = min(offsets)
            if node.parent is not None:
                first[id(node.parent)] = min(first.get(id(node.parent), first[id(node)]), first[id(node)])
    return first


def interval_unit(interval: exp.Expr) -> str:
    """Return the unit of an interval in upper case, such as `DAY TO SECOND`; nothing if it has none."""
    unit = interval.args.get("unit")
    ends = (unit.this, unit.expression) if isinstance(unit, exp.IntervalSpan) else (unit,)
    return " TO ".join(end.name or end.key for end in ends if isinstance(end, exp.Expr)).upper()


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return an expression without its alias and the parentheses around it."""
    if type(node) is exp.Alias:
        node = node.this
    while type(node) is exp.Paren:
        node = node.this
    return node


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that AND combines, without parentheses."""
    stack = [node]
    while stack:
        condition = unwrapped(stack.pop())
        if type(condition) is exp.And:
            stack += [condition.expression, condition.this]
        else:
            yield condition


def table_nodes(tree: exp.Expr) -> Iterator[exp.Table]:
    """Yield the nodes that name the tables and views that a tree reads; not CTEs and the targets of writes."""
    nodes = relation_nodes(tree)
    return (node for node in nodes if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier))


def relation_nodes(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes from which a tree may read rows, except queries: tables, functions, the arguments `TABLE(…)`.

    Includes every other part of FROM that is neither a query nor VALUES.
    """
    stack: list[tuple[exp.Expr, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, visible = stack.pop()
        kind = type(node)
        if kind is exp.Hint:
            continue  # BROADCAST(name) repeats a name of the FROM clause
        with_ = node.args.get("with_")
        if with_ is not None:
            recursive = bool(with_.args.get("recursive"))
            for cte in with_.expressions:
                own = visible | {cte.alias.lower()}
                stack.append((cte.this, own if recursive else visible))
                visible = own
        if isinstance(node, exp.Table):
            is_cte = isinstance(node.this, exp.Identifier) and len(node.parts) == 1 and node.name.lower() in visible
            if not is_cte:
                yield node
        elif kind is exp.Anonymous and node.name.upper() == "TABLE":
            argument = node.expressions[0] if len(node.expressions) == 1 else node
            if not (isinstance(argument, exp.Column) and not argument.table and argument.name.lower() in visible):
                yield node
        elif kind is exp.Lateral and not node.args.get("view"):
            yield node
        elif kind in (exp.From, exp.Join) and not isinstance(node.this, _RELATIONS):
            yield node.this
        for name, value in node.args.items():
            if name == "with_" or (name == "this" and isinstance(node, _WRITERS)):
                continue
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, exp.Expr):
                    stack.append((item, visible))


_RELATIONS = (exp.Table, exp.Query, exp.Values, exp.Unnest, exp.Lateral, exp.Paren)
_WRITERS = (exp.Insert, exp.Create, exp.Merge, exp.Cache, exp.Delete, exp.Update, exp.Drop)


def begins_with_with(query: exp.Expr) -> bool:
    """Return whether a query, in parentheses or not, begins with WITH."""
    while type(query) in (exp.Subquery, exp.Paren):
        if query.args.get("with_") is not None:
            return True
        query = query.this
    return query.args.get("with_") is not None


def windowed_function(window: exp.Expr) -> Any:
    """Return the function of `f(…) IGNORE NULLS OVER (…)`."""
    function = window.this
    while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
        function = function.this
    return function


def window_definition(window: exp.Expr) -> exp.Expr | None:
    """Return the window of the clause WINDOW that OVER names, in the same letter case, otherwise the window itself.

    None if there is no window of the name.
    """
    name = window.args.get("alias")
    if not isinstance(name, exp.Identifier):
        return window
    select = window.find_ancestor(exp.Select)
    named: list[exp.Expr] = (select.args.get("windows") or []) if select is not None else []
    return next((item for item in named if item is not window and item.name == name.name), None)


def is_star(item: exp.Expr) -> bool:
    """Return whether an item of a SELECT list is `*` or `t.*`."""
    return type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star)


def has_grouping_sets(group: exp.Expr) -> bool:
    """Return whether a GROUP BY has ROLLUP, CUBE or GROUPING SETS."""
    return any(group.args.get(name) for name in ("cube", "rollup", "grouping_sets")) or any(
        isinstance(unwrapped(item), (exp.Rollup, exp.Cube, exp.GroupingSets)) for item in group.expressions
    )


def comparison_key(node: exp.Expr) -> str:
    """Return a text that is equal for expressions whose Hive trees are equal, ignoring parentheses and case."""
    kind = type(node)
    if kind is exp.Paren:
        return comparison_key(node.this)
    if kind is exp.Column and "db" not in node.args:
        table = node.args.get("table")
        name = f"(tok_table_or_col {(table or node.args['this']).name.lower()})"
        return name if table is None else f"(. {name} {node.args['this'].name.lower()})"
    if isinstance(node, exp.Column):
        return _dotted([part.name.lower() for part in node.parts])
    if kind is exp.Dot:
        return f"(. {comparison_key(node.this)} {node.expression.name.lower()})"
    if kind is exp.Literal:
        return f"'{node.this}'" if node.is_string else node.this
    if kind is exp.Identifier or kind is exp.Var:
        return str(node.this).lower()
    pieces = []
    for name, value in node.args.items():
        if isinstance(value, exp.Expr):
            pieces.append(f"{name}={comparison_key(value)}")
        elif isinstance(value, list):
            items = (comparison_key(item) if isinstance(item, exp.Expr) else str(item) for item in value)
            pieces.append(f"{name}=[{','.join(items)}]")
        elif value is not None and value is not False:
            pieces.append(f"{name}={str(value).lower()}")
    return f"{kind.__name__}({';'.join(pieces)})"


def _dotted(names: list[str]) -> str:
    result = f"(tok_table_or_col {names[0]})"
    for name in names[1:]:
        result = f"(. {result} {name})"
    return result


def is_never_call(node: exp.Expr) -> bool:
    """Return whether a node without a position of its own is not written as a call."""
    return isinstance(node, _NO_FUNCTION) or (type(node) is exp.If and type(node.parent) is exp.Case)


def function_token(text: Text, node: exp.Expr) -> int | None:
    """Return the index of the token that is a function's name; None if the node is not written as a call.

    A call whose node has no position gets that of a call inside if the first call inside has no position either:
    `ParsedQuery.function_token` gives the right one.
    """
    meta = node._meta
    if meta and "start" in meta:
        return text.starts.get(meta["start"])
    if is_never_call(node):
        return None
    index = text.starts.get(min(start_offsets(node), default=-1))
    if index is None:
        return None
    at = text.enclosing[index]
    while at > 0 and text.kinds[at - 1] is TokenType.L_PAREN:
        at -= 1  # parentheses around the first argument
    if at <= 0 or (type(node) is exp.Concat and text.raw(at - 1).lower() != "concat"):
        return None  # adjacent strings are parsed as concat()
    return at - 1


_NO_FUNCTION = (exp.Binary, exp.Connector, exp.Cast, exp.Case, exp.Interval, exp.Subquery, exp.Predicate)


ADDED_BY_THE_PARSER = (exp.TsOrDsToDate, exp.TimeStrToTime)
"""Nodes that the parser puts around arguments; where a text calls such a function, the node has a position."""


def without_additions(node: exp.Expr) -> exp.Expr:
    """Return an expression without the nodes that the parser puts around arguments in one of the dialects."""
    while isinstance(node, ADDED_BY_THE_PARSER) and "start" not in (node._meta or {}):
        node = node.this
    return node
