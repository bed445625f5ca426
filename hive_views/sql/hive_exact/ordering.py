"""ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY as Hive's planner resolves them.

Source of the rules: Hive 4.1's `CalcitePlanner.OrderByRelBuilder`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import token_span
from hive_views.sql.resolver.context import Environment, OrderedQuery, ResolutionContext
from hive_views.sql.resolver.names import resolve
from hive_views.sql.resolver.ordering import is_resolved, keys_of
from hive_views.sql.resolver.scopes import Scope


def resolve_order(context: ResolutionContext, query: OrderedQuery) -> None:
    """Resolve the clauses: names of the result first, then names of what is under it.

    The planner drops ORDER BY and SORT BY of a derived table without LIMIT, so their names stay unresolved.
    """
    node = query.node
    has_limit, has_sort = node.args.get("limit") is not None, node.args.get("sort") is not None
    is_dropped = query.level == 1 and not has_limit
    sort_keys = [] if is_dropped else keys_of(node, "order", "sort")
    without_cbo = not context.uses_cbo or (has_sort and has_limit)
    output_env = Environment((query.output,), None, query.ungrouped, False, True, True)
    input_env: Environment | None = None
    for item in sort_keys:
        if isinstance(item, exp.Literal) or _remove_star_column(context, item, query.distinct_star_aliases):
            continue
        if not without_cbo and not query.names_output_only:
            is_resolved(context, item, Environment((query.scope,), None, query.ungrouped, True, True, True, True))
        if is_resolved(context, item, output_env):
            continue
        if query.names_output_only:
            resolve(context, item, output_env)
        if without_cbo or query.is_set_operation:
            resolve(context, item, Environment((query.output,), None, query.ungrouped, True, True, True))
        input_env = input_env or _environment_with_inputs(query)
        if has_sort and type(item) is exp.Column:
            raise context.fail(f"SORT BY a column that is not selected: '{item.name}'", item, item.name)
        resolve(context, item, input_env)
    for item in keys_of(node, "distribute", "cluster"):
        if isinstance(item, exp.Literal) or is_resolved(context, item, output_env):
            continue
        if not sort_keys or without_cbo:
            resolve(context, item, output_env)
        input_env = input_env or _environment_with_inputs(query)
        resolve(context, item, input_env)


def _environment_with_inputs(query: OrderedQuery) -> Environment:
    names: Scope = query.output.with_inputs(query.scope)
    return Environment((names,), None, query.ungrouped, True, True, True)


def _remove_star_column(context: ResolutionContext, item: exp.Expr, aliases: Sequence[str]) -> bool:
    """Remove `t.a` from an ORDER BY item of `SELECT DISTINCT *`, as Hive does; return whether there was such a name."""
    columns = [
        column
        for column in (item.find_all(exp.Column) if aliases else ())
        if len(column.parts) > 1 and column.parts[0].name.lower() in aliases
    ]
    for column in columns:
        first, last = token_span(context.text, column.parts[0]), token_span(context.text, column.parts[1])
        if first is not None and last is not None:
            context.edits.replace(first[0], last[1], "")
        for part in column.parts[2:]:
            tokens = token_span(context.text, part)
            if tokens is not None:
                context.edits.replace(*tokens, context.quote(part.name.lower()))
    return bool(columns)
