"""The mode that gives exactly the texts that Hive 4.1 stores, and rejects what it rejects."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.hive_exact import operand_types, refusals
from hive_views.sql.hive_exact.ordering import resolve_order
from hive_views.sql.parsing.builtin_functions import HIVE_PARTITIONED_FUNCTIONS, may_call_partitioned_function
from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.syntax_tree import token_span
from hive_views.sql.resolver.context import Environment, ExpansionMode, QueryBlock, ResolutionContext
from hive_views.sql.resolver.grouping import collect_calls
from hive_views.sql.resolver.scopes import Scope, ScopeColumn
from hive_views.sql.resolver.sources import resolve_table


def _copy_source(context: ResolutionContext, node: exp.Expr, source: exp.Expr | None, env: Environment) -> None:
    """Hive writes the text of the first expression again."""
    if source is None:
        return
    target_tokens, source_tokens = token_span(context.text, node), token_span(context.text, source)
    if target_tokens is not None and source_tokens is not None:
        context.pending_copies.append((target_tokens, source_tokens))


def _no_key_source(context: ResolutionContext, scope: Scope, column: ScopeColumn) -> None:
    """Hive does not qualify a grouping key by the names under GROUP BY."""


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
    """One aggregate over everything always gives a row: Hive only looks up the tables of such a query."""
    if not isinstance(query, exp.Select) or query.args.get("group") is not None:
        return False
    if not collect_calls(context, query).aggregates:
        return False
    for table in query.find_all(exp.Table):
        resolve_table(context, table, QueryBlock(context.ctes))
    return True


HIVE_EXACT = ExpansionMode(
    resolves_all_names=False,
    names_all_columns=False,
    writes_generated_aliases=True,
    quotes_regex_names=False,
    qualifies_inner_ctes=True,
    shares_ctes=True,
    checks_captures=False,
    replaces_ordinals=False,
    keeps_keys_under_windows=False,
    reuse_column=_copy_source,
    key_source=_no_key_source,
    star_name=_star_name,
    sampled_name=_sampled_name,
    collection_type=operand_types.element_type,
    resolve_order=resolve_order,
    uses_cbo=_uses_cbo,
    skips_exists=_skips_exists,
    check_call=refusals.check_call,
    check_operands=operand_types.check_operands,
    check_exists=refusals.check_exists,
    check_grouping_sets=refusals.check_grouping_sets,
    check_lateral_where=refusals.check_lateral_where,
    check_having=refusals.check_having,
)
