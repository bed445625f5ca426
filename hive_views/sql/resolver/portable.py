"""The mode of the texts that this package stores: every name is resolved, and every column has a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from hive_views.sql.resolver.context import Environment, ExpansionMode, ResolutionContext
from hive_views.sql.resolver.names import visit
from hive_views.sql.resolver.ordering import resolve_order
from hive_views.sql.resolver.scopes import Scope, ScopeColumn


def _reuse_column(context: ResolutionContext, node: exp.Expr, source: exp.Expr | None, env: Environment) -> None:
    """Resolve the names inside the expression under GROUP BY."""
    if env.ungrouped is not None:
        visit(context, node, Environment((env.ungrouped,), env.outer, None, False, True, True))


def _star_name(context: ResolutionContext, scope: Scope, column: ScopeColumn, name: str) -> tuple[str | None, str]:
    source = context.key_binding(scope, column)
    return (source.table, source.name) if source is not None else (scope.original(column)[0], name)


def _sampled_name(context: ResolutionContext, name: str, qualified: str | None, buckets: Sequence[str]) -> str | None:
    return qualified


def _always(*_: Any) -> bool:
    return True


def _never(*_: Any) -> bool:
    return False


PORTABLE = ExpansionMode(
    resolves_all_names=True,
    names_all_columns=True,
    writes_generated_aliases=False,
    quotes_regex_names=True,
    qualifies_inner_ctes=False,
    shares_ctes=False,
    checks_captures=True,
    replaces_ordinals=True,
    keeps_keys_under_windows=True,
    reuse_column=_reuse_column,
    key_source=ResolutionContext.key_binding,
    star_name=_star_name,
    sampled_name=_sampled_name,
    collection_type=ResolutionContext.type_of,
    resolve_order=resolve_order,
    uses_cbo=_always,
    skips_exists=_never,
)
