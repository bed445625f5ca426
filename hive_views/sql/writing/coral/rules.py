"""The order of the rules, and their application to an expanded text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.errors import SqlError
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.edits import TokenEdits
from hive_views.sql.writing.coral.edits import Rule
from hive_views.sql.writing.coral.expressions import (
    date_parts,
    dates,
    decimal_averages,
    decimal_quotients,
    decimal_sums,
    distinct_sizes,
    integer_divisions,
    null_safe_comparisons,
    string_escapes,
    timestamp_literals,
)
from hive_views.sql.writing.coral.grouping import grouped_functions
from hive_views.sql.writing.coral.joins import join_conditions, scalar_subqueries, semi_joins, using_joins
from hive_views.sql.writing.coral.set_operations import intersections, unions
from hive_views.sql.writing.expand import AuthorContext, Expansion, expand

_ROUNDS = 20
"""The maximum number of repetitions of a rule, which are needed for nested constructs."""


@dataclass(frozen=True)
class RewrittenText:
    """A text after the rules."""

    sql: str
    rules: tuple[str, ...] = ()
    """The names of the rules that changed it."""


def apply_rules(
    sql: str,
    schemas: Schemas,
    *,
    database: str,
    dialect: Dialect,
    functions: Mapping[str, str] | None = None,
    rules: Sequence[tuple[Rule, type]] | None = None,
) -> RewrittenText:
    """Return an expanded text with rules applied, by default `RULES`; the text itself if it cannot be resolved."""

    def read(text: str) -> Expansion | None:
        try:
            result = expand(
                text, schemas, database=database, dialect=dialect, author=AuthorContext(functions=functions)
            )
        except SqlError:
            return None
        return result if result.expanded == text else None

    current = read(sql)
    if current is None or _is_only_for_spark(current.resolution):
        return RewrittenText(sql)
    applied: dict[str, None] = {}
    kinds = {type(node) for node in current.resolution.tree.walk()}
    for rule in dict.fromkeys(rule for rule, kind in (RULES if rules is None else rules) if kind in kinds):
        for _ in range(_ROUNDS):
            rewritten = read(_apply(rule, current.resolution))
            if rewritten is None or rewritten.expanded == current.expanded or rewritten.columns != current.columns:
                break
            current = rewritten
            applied[rule.__name__] = None
    return RewrittenText(current.expanded, tuple(applied))


def _is_only_for_spark(resolution: ResolvedQuery) -> bool:
    """Return whether neither Hive nor Trino reads a text: PIVOT and pipe operators."""
    return bool(resolution.bound.pivots) or TokenType.PIPE_GT in resolution.text.kind_set


def _apply(rule: Rule, resolution: ResolvedQuery) -> str:
    edits = TokenEdits(resolution.text)
    for edit in rule(resolution):
        edits.replace(*edit)
    return edits.apply().sql


RULES: tuple[tuple[Rule, type], ...] = (
    (join_conditions, exp.Join),
    (using_joins, exp.Join),
    (semi_joins, exp.Join),
    (scalar_subqueries, exp.Subquery),
    (timestamp_literals, exp.Cast),
    (null_safe_comparisons, exp.NullSafeEQ),
    (integer_divisions, exp.Div),
    (decimal_averages, exp.Avg),
    (decimal_quotients, exp.Div),
    (decimal_sums, exp.Sum),
    (dates, exp.TsOrDsAdd),
    (dates, exp.TsOrDsToDate),
    (date_parts, exp.Year),
    (date_parts, exp.Month),
    (date_parts, exp.Day),
    (date_parts, exp.DayOfMonth),
    (date_parts, exp.Quarter),
    (date_parts, exp.Minute),
    (date_parts, exp.TimeToStr),
    (distinct_sizes, exp.ArraySize),
    (string_escapes, exp.Literal),
    (grouped_functions, exp.Select),
    (unions, exp.Union),
    (intersections, exp.Intersect),
    (intersections, exp.Except),
)
"""The rules in the order in which they are applied, each with the node types of which the text must contain one."""
