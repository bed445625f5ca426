"""Rules that write out what Hive and Spark take for granted differently, so that both return the author's rows.

Each rule replaces a construct by one that returns equal rows in Hive 4.1.0 and Spark 4.1.4
(`hive_views.sql.engines.answers`, `hive_views.sql.analysis.reader_rules`), and means in the author's engine what the
construct means there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.syntax_tree import function_token
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import Text
from hive_views.sql.writing.coral import RewrittenText, apply_rules
from hive_views.sql.writing.coral.edits import Edit, Rule

_NULLS = {(Dialect.HIVE, False): "LAST", (Dialect.HIVE, True): "FIRST"}
_NULLS |= {(Dialect.SPARK, False): "FIRST", (Dialect.SPARK, True): "LAST"}
"""Where NULL is, by the author's engine and whether the order is descending: in Hive with its default of
`hive.default.nulls.last` since Hive 4.0."""

_DEVIATIONS = {Dialect.HIVE: "pop", Dialect.SPARK: "samp"}
_NAMES = {"stddev": "stddev", "std": "stddev", "variance": "var"}
_ENDS = frozenset({",", "limit", "offset", "fetch", "rows", "range", "groups", "union", "intersect", "except"})
_LIMITS = ("limit", "offset", "fetch")


def explicit_text(
    sql: str, schemas: Schemas, *, database: str, dialect: Dialect, functions: Mapping[str, str] | None = None
) -> RewrittenText:
    """Return an expanded text with the rules applied; the text itself if it cannot be resolved.

    Args:
        sql: The text.
        schemas: The tables.
        database: The current database.
        dialect: The author's engine, `hive` or `spark`.
        functions: The registered functions that it calls, with their kinds.
    """
    return apply_rules(sql, schemas, database=database, dialect=dialect, functions=functions, rules=EXPLICIT_RULES)


def order_of_nulls(resolution: ResolvedQuery) -> Iterator[Edit]:
    """Yield NULLS FIRST or NULLS LAST for the orders of windows, and of ORDER BY with LIMIT."""
    text = resolution.text
    for item in resolution.tree.find_all(exp.Ordered):
        around = item.parent.parent if isinstance(item.parent, exp.Order) else None
        is_limited = isinstance(around, exp.Query) and any(around.args.get(name) is not None for name in _LIMITS)
        tokens = resolution.tokens_of(item) if is_limited or isinstance(around, exp.Window) else None
        last = None if tokens is None else _end_without_nulls(text, tokens[0])
        if last is not None:
            nulls = _NULLS[text.dialect, bool(item.args.get("desc"))]
            yield last, last, f"{text.raw(last)} NULLS {nulls}"


def _end_without_nulls(text: Text, first: int) -> int | None:
    """Return the last token of an element of an order; None if it says where NULL is."""
    level = text.enclosing[first]
    for at in range(first, len(text.tokens)):
        if text.enclosing[at] < level:
            return at - 1
        word = text.raw(at).lower()
        if text.enclosing[at] == level and word == "nulls":
            return None
        if text.enclosing[at] == level and (word in _ENDS or (at > first and _begins_windows(text, at))):
            return at - 1
    return len(text.tokens) - 1


def _begins_windows(text: Text, at: int) -> bool:
    """Return whether a token begins the clause `WINDOW w AS (…)`, which Spark reads behind ORDER BY."""
    is_as = text.kinds[at + 2 : at + 4] == [TokenType.ALIAS, TokenType.L_PAREN]
    return text.raw(at).lower() == "window" and is_as


def deviations(resolution: ResolvedQuery) -> Iterator[Edit]:
    """Yield the names of deviations and variances that say whether they are of the population or of a sample."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.Stddev, exp.Variance, exp.Anonymous):
        at = function_token(text, node)
        name = None if at is None else _NAMES.get(text.raw(at).lower())
        if at is not None and name is not None:
            yield at, at, f"{name}_{_DEVIATIONS[text.dialect]}"


EXPLICIT_RULES: tuple[tuple[Rule, type], ...] = (
    (order_of_nulls, exp.Ordered),
    (deviations, exp.Stddev),
    (deviations, exp.Variance),
    (deviations, exp.Anonymous),
)
"""The rules in the order in which they are applied, each with a node type of which the text must contain one."""
