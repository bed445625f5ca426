"""Operators, casts, calls and lambdas in expressions.

Source of the rules: Hive 4.1's `TypeCheckProcFactory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.hive_grammar import CAST_TARGETS
from hive_views.sql.parsing.syntax_tree import comparison_key, interval_unit
from hive_views.sql.parsing.variant_paths import variant_key
from hive_views.sql.resolver.context import Environment, Handler, ResolutionContext
from hive_views.sql.resolver.names import bind_star, visit, visit_children, widen
from hive_views.sql.resolver.scopes import Scope, ScopeColumn


def cast_target(context: ResolutionContext, node: exp.Expr) -> str | None:
    """Return the type that a cast names, as written but in lower case; None if it is more than one word."""
    tokens = context.tokens_of(node)
    if tokens is None or tokens[1] < 2 or context.text.tokens[tokens[1] - 2].token_type is not TokenType.ALIAS:
        return None
    written = context.text.raw(tokens[1] - 1).lower()
    return "int" if written == "integer" else written


def _paren(context: ResolutionContext, node: exp.Paren, env: Environment) -> ScopeColumn | None:
    return visit(context, node.this, env)


def _interval(context: ResolutionContext, node: exp.Interval, env: Environment) -> None:
    written, units = interval_unit(node).lower(), context.dialect.interval_units
    if units is not None and written not in units:
        raise context.fail(f"Hive has no interval of '{written}'", node)
    visit_children(context, node, env)


def _sign(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    visit(context, node.this, env)
    context.mode.check_operands(context, (node,))


def _with_children(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    visit_children(context, node, env)
    context.mode.check_operands(context, (node,))


def _index(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    _with_children(context, node, env)
    key = variant_key(node)
    kind = context.type_of(node.this) if key is not None else None
    if kind is not None and kind != "variant":
        raise context.fail(f"The path to {key} needs a value of type variant, not {kind}", node)


def _binary(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    """Resolve an operator; a long chain is resolved in a loop, since recursion would exceed Python's limit."""
    chain: list[exp.Expr] = []
    left: exp.Expr = node
    kind = type(node)
    is_searched = env.reuses_computed and (env.scopes[0].has_connector_keys or not isinstance(node, exp.Connector))
    keys = env.scopes[0].keys if is_searched else None
    while type(left) is kind and not (keys and left is not node and comparison_key(left) in keys):
        chain.append(left)
        left = left.this
    chain.reverse()
    operands = [(left, visit(context, left, env))]
    for operator in chain:
        right = operator.args.get("expression")
        if isinstance(right, exp.Expr):
            operands.append((right, visit(context, right, env)))
    context.mode.check_operands(context, chain)
    if not context.dialect.checks_types or kind in _ANY_OPERAND:
        return
    for operand, column in operands:
        if column is None:
            continue
        type_text = column.type
        if type_text is not None and type_text[-1] == ">":
            raise context.fail(
                f"Wrong argument: an operator cannot take {operand.name}, which is of type {type_text}",
                operand,
                operand.name,
            )


def _cast(context: ResolutionContext, node: exp.Expr, env: Environment) -> ScopeColumn | None:
    column = visit(context, node.this, env)
    context.dialect.checks.check_cast(context, node)
    context.mode.check_operands(context, (node,))
    # A portable text keeps the cast: readers may have another type than the row, as Hive's OpenCSVSerde has.
    if column is None or not context.dialect.removes_redundant_casts or context.mode.names_all_columns:
        return None
    target = cast_target(context, node)
    if target not in CAST_TARGETS or column.type != target:
        return None
    context.bound.bindings[id(node)] = column
    if column.table:
        tokens = context.tokens_of(node)
        if tokens is not None and context.writing.pending_edits:
            first, last = widen(context, *tokens)
            context.writing.pending_edits.append(((first, -last), context.writing.pending_edits[-1][1]))
    return column


def _window(context: ResolutionContext, node: exp.Window, env: Environment) -> None:
    if context.dialect.restricts_windows and not env.allows_windows:
        raise context.fail("Window functions are only allowed in the SELECT list and in QUALIFY", node)
    inner_env = replace(env, allows_aggregates=True, allows_windows=False, rejects_duplicates=False)
    visit(context, node.this, inner_env)
    for part in ("partition_by", "order", "spec"):
        value = node.args.get(part)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, exp.Expr):
                visit(context, item, inner_env)


def _in(context: ResolutionContext, node: exp.In, env: Environment) -> None:
    visit(context, node.this, env)
    query = node.args.get("query")
    if query is not None:
        resolve_subquery(context, query, env, is_operand=True)
    for item in node.expressions:
        visit(context, item, env)
    if query is None:
        context.mode.check_operands(context, (node,))


def _like(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    _binary(context, node, env)
    context.mode.check_call(context, node)


def _lambda(context: ResolutionContext, node: exp.Lambda, env: Environment) -> None:
    inner = Scope()
    parameters = [item.name.lower() for item in node.expressions]
    inner.tables[None] = {name: ScopeColumn(name, None, name) for name in parameters}
    visit(context, node.this, replace(env, reuses_computed=False, parameters=(inner, *env.parameters)))


def _property(context: ResolutionContext, node: exp.PropertyEQ, env: Environment) -> None:
    visit(context, node.expression, env)


def _current(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    """Reject `current_date` and similar words if a column has the name, because Spark then reads the column."""
    name = _WORDS[type(node)]
    index = context.query.function_token(node)
    is_call = index is not None and index + 1 < len(context.text.tokens) and context.text.raw(index + 1) == "("
    has_column = any(scope.find_any(name) is not None for scope in env.scopes)
    if has_column and not is_call and not context.dialect.computes_groups_first:
        tokens = context.text.tokens
        starts = [token.start for at, token in enumerate(tokens) if context.text.raw(at).lower() == name]
        raise context.fail(
            f"'{name}' is a function and a column: write the column in quotes or the call as {name}()",
            starts[0] if len(starts) == 1 else node,
        )


def _star(context: ResolutionContext, node: exp.Star, env: Environment) -> None:
    """A star in a function: `struct(*)`; `count(*)` reads no column."""
    if type(node.parent) is not exp.Count:
        bind_star(context, node, env)


def _skip(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    """Literals and similar nodes contain no names to resolve."""


# -- Subqueries --------------------------------------------------------------------------------------------------------


def _subquery(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    resolve_subquery(context, node, env, is_operand=isinstance(node, exp.Subquery))


def _exists(context: ResolutionContext, node: exp.Exists, env: Environment) -> None:
    query = node.this
    if node.args.get("expression") is not None:
        visit_children(context, node, env)  # the function `exists(array, x -> …)`
        return
    resolve_subquery(context, query, env, is_operand=isinstance(query, exp.Subquery), is_exists=True)


def resolve_subquery(
    context: ResolutionContext, query: exp.Expr, env: Environment, *, is_operand: bool, is_exists: bool = False
) -> None:
    """Resolve a query inside an expression, which can name columns of the query around it."""
    context.dialect.checks.check_subquery(context, query, env)
    if is_exists and context.mode.skips_exists(context, query):
        return
    outer = env.scopes[0]
    if len(env.scopes) > 1:
        outer = Scope()
        for scope in env.scopes:
            outer.add_tables(scope)
    if env.outer is not None and not context.dialect.restricts_subqueries:
        outer = outer.over(env.outer)
    result = context.dispatch.resolve_query(
        context, query, context.with_clauses.visible, outer, level=NEVER_REMOVED, names_columns=False
    )
    context.bound.subqueries[id(query)] = result
    if is_exists:
        context.mode.check_exists(context, query, outer)
    if is_operand and context.dialect.restricts_subqueries and len(result.columns) != 1:
        raise context.fail("Invalid SubQuery expression: SubQuery can contain only 1 item in Select List", query)


NEVER_REMOVED = 99
"""The level of a subquery in an expression; at this level Hive's planner removes no ORDER BY."""
_WORDS: Mapping[type, str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.Localtimestamp: "localtimestamp",
    exp.SessionUser: "session_user",
}
"""Functions that are called without parentheses."""
_ANY_OPERAND = frozenset({exp.DPipe, exp.NullSafeEQ, exp.EQ, exp.NEQ, exp.And, exp.Or})
HANDLERS: Mapping[type, Handler] = {
    exp.Paren: _paren,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Window: _window,
    exp.Bracket: _index,
    exp.Between: _with_children,
    exp.Neg: _sign,
    exp.BitwiseNot: _sign,
    exp.Not: _sign,
    exp.In: _in,
    exp.Lambda: _lambda,
    exp.PropertyEQ: _property,
    exp.Interval: _interval,
    exp.RegexpLike: _like,
    exp.Exists: _exists,
    exp.Star: _star,
    **dict.fromkeys(_WORDS, _current),
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect), _subquery),
    **dict.fromkeys(
        (
            *(exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe),
            *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Like),
            *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor),
        ),
        _binary,
    ),
    **dict.fromkeys((exp.Identifier, exp.Literal, exp.DataType, exp.Var, exp.Null, exp.Boolean, exp.Hint), _skip),
}
"""The function for each kind of node. For other nodes the children are resolved, and calls are checked."""
