"""The mode that creates exactly the texts that Hive 4.1 stores, and rejects the texts that it rejects."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.builtin_functions import HIVE_PARTITIONED_FUNCTIONS, may_call_partitioned_function
from hive_views.sql.resolver.context import Environment, ExpansionMode, OrderedQuery, QueryBlock, ResolutionContext
from hive_views.sql.resolver.grouping import collect_calls
from hive_views.sql.resolver.hive_exact import operand_types, refusals
from hive_views.sql.resolver.names import resolve
from hive_views.sql.resolver.ordering import is_resolved, keys_of
from hive_views.sql.resolver.scopes import Scope, ScopeColumn
from hive_views.sql.resolver.sources import resolve_table
from hive_views.sql.text.tokens import Text

# -- ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY as Hive's planner resolves them -----------------------------------
#
# Source of the rules: Hive 4.1's `CalcitePlanner.OrderByRelBuilder`.


def resolve_order(context: ResolutionContext, query: OrderedQuery) -> None:
    """Resolve the clauses: names of the result first, then names of the inputs of the SELECT list.

    The planner drops ORDER BY and SORT BY of a derived table without LIMIT, so their names are not resolved.
    """
    node = query.node
    has_limit, has_sort = node.args.get("limit") is not None, node.args.get("sort") is not None
    is_dropped = query.level == 1 and not has_limit
    sort_keys = [] if is_dropped else keys_of(node, "order", "sort")
    without_cbo = not context.settings.uses_cbo or (has_sort and has_limit)
    output_env = Environment.of_output(query.output, query.ungrouped, reuses_computed=False)
    input_env: Environment | None = None
    for item in sort_keys:
        if isinstance(item, exp.Literal) or _remove_star_column(context, item, query.distinct_star_aliases):
            continue
        if not without_cbo and not query.names_output_only:
            is_resolved(context, item, Environment.of_output(query.scope, query.ungrouped, rejects_duplicates=True))
        if is_resolved(context, item, output_env):
            continue
        if query.names_output_only:
            resolve(context, item, output_env)
        if without_cbo or query.is_set_operation:
            resolve(context, item, Environment.of_output(query.output, query.ungrouped))
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
    return Environment.of_output(names, query.ungrouped)


def _remove_star_column(context: ResolutionContext, item: exp.Expr, aliases: Sequence[str]) -> bool:
    """Remove `t.a` from an ORDER BY item of `SELECT DISTINCT *`, as Hive does; return whether there was such a name."""
    columns = [
        column
        for column in (item.find_all(exp.Column) if aliases else ())
        if len(column.parts) > 1 and column.parts[0].name.lower() in aliases
    ]
    for column in columns:
        first, last = context.tokens_of(column.parts[0]), context.tokens_of(column.parts[1])
        if first is not None and last is not None:
            context.writing.edits.replace(first[0], last[1], "")
        for part in column.parts[2:]:
            tokens = context.tokens_of(part)
            if tokens is not None:
                context.writing.edits.replace(*tokens, context.quote(part.name.lower()))
    return bool(columns)


def _copy_source(context: ResolutionContext, node: exp.Expr, source: exp.Expr | None, env: Environment) -> None:
    """Replace the text of an expression by the text of an equal earlier expression, as Hive does."""
    if source is None:
        return
    target_tokens, source_tokens = context.tokens_of(node), context.tokens_of(source)
    if target_tokens is not None and source_tokens is not None:
        context.writing.pending_copies.append((target_tokens, source_tokens))


def _no_key_source(context: ResolutionContext, scope: Scope, column: ScopeColumn) -> None:
    """Return None: Hive does not qualify a grouping key with the name of a column of FROM."""


def _star_name(context: ResolutionContext, scope: Scope, column: ScopeColumn, name: str) -> tuple[str | None, str]:
    return scope.original(column)


def _sampled_name(context: ResolutionContext, name: str, qualified: str | None, buckets: Sequence[str]) -> str:
    return context.quote(name) if qualified is None or name.lower() in buckets else qualified


def _uses_cbo(text: Text, tree: exp.Expr) -> bool:
    lower = text.lower
    if "tablesample" in lower and any(token.token_type is TokenType.TABLE_SAMPLE for token in text.tokens):
        return False
    if may_call_partitioned_function(lower) and any(name in lower for name in HIVE_PARTITIONED_FUNCTIONS):
        return False
    if "using" in lower and tree.find(exp.QueryTransform) is not None:
        return False
    return "outer" not in lower or not any(lateral.args.get("outer") for lateral in tree.find_all(exp.Lateral))


def _skips_exists(context: ResolutionContext, query: exp.Expr) -> bool:
    """Return whether a query is one aggregate without groups, which always has a row: Hive only looks up its tables."""
    if not isinstance(query, exp.Select) or query.args.get("group") is not None:
        return False
    if not collect_calls(context, query).aggregates:
        return False
    for table in query.find_all(exp.Table):
        resolve_table(context, table, QueryBlock(context.with_clauses.visible))
    return True


class _HiveExact(ExpansionMode):
    resolves_all_names = False
    names_all_columns = False
    writes_generated_aliases = True
    quotes_regex_names = False
    qualifies_inner_ctes = True
    shares_ctes = True
    checks_captures = False
    replaces_ordinals = False
    keeps_keys_under_windows = False
    reuse_column = staticmethod(_copy_source)
    key_source = staticmethod(_no_key_source)
    star_name = staticmethod(_star_name)
    sampled_name = staticmethod(_sampled_name)
    collection_type = staticmethod(operand_types.element_type)
    resolve_order = staticmethod(resolve_order)
    uses_cbo = staticmethod(_uses_cbo)
    skips_exists = staticmethod(_skips_exists)
    check_call = staticmethod(refusals.check_call)
    check_operands = staticmethod(operand_types.check_operands)
    check_exists = staticmethod(refusals.check_exists)
    check_grouping_sets = staticmethod(refusals.check_grouping_sets)
    check_lateral_where = staticmethod(refusals.check_lateral_where)
    check_having = staticmethod(refusals.check_having)


HIVE_EXACT = _HiveExact()
