"""The numbers of arguments in the calls of a text, compared with those that an engine accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.tables import hive_argument_counts, spark_argument_counts
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.text.quoting import unquote_identifier


@dataclass(frozen=True)
class ArgumentCounts:
    """What an engine accepts.

    Attributes:
        engine: Its name, for messages.
        counts: Returns the numbers of arguments of a function, and whether it takes more; None if they are not known.
        further: Further numbers of arguments that the table does not have.
    """

    engine: str
    counts: Callable[[str], tuple[frozenset[int], bool] | None]
    further: Mapping[str, frozenset[int]]


_UNITS = ("dateadd", "date_add", "datediff", "date_diff", "timediff", "timestampadd", "timestampdiff")
SPARK_COUNTS = ArgumentCounts("Spark", spark_argument_counts, dict.fromkeys(_UNITS, frozenset({3})))
"""In Spark, the arguments of functions of times may begin with a unit."""
HIVE_COUNTS = ArgumentCounts("Hive", hive_argument_counts, {})

SEPARATORS = {
    "extract": frozenset({"from"}),
    "position": frozenset({"in"}),
    **dict.fromkeys(("substring", "substr"), frozenset({"from", "for"})),
    "overlay": frozenset({"placing", "from", "for"}),
    "trim": frozenset({"both", "leading", "trailing", "from"}),
    **dict.fromkeys(("floor", "ceil", "ceiling"), frozenset({"to"})),
}
"""The words that separate the arguments of functions with a syntax of their own."""


def wrong_argument_count(query: ParsedQuery, node: exp.Expr, accepted: ArgumentCounts) -> str | None:
    """Return a message if a call of a built-in function has a number of arguments that an engine does not accept."""
    text, token = query.text, query.function_token(node)
    if token is None or token + 2 >= len(text.tokens) or text.kinds[token + 1] is not TokenType.L_PAREN:
        return None
    name = unquote_identifier(text.raw(token)).lower()
    counts = accepted.counts(name)
    if counts is None or (token and text.raw(token - 1) == "."):
        return None
    numbers, takes_more = counts
    numbers |= accepted.further.get(name, frozenset())
    closed = text.match.get(token + 1, token + 2)
    parts = list(text.elements(token + 2, closed - 1))
    count = len(parts)
    if count in numbers or (takes_more and count > max(numbers)):
        return None
    if closed + 1 < len(text.tokens) and text.raw(closed + 1).lower() == "within":
        return None
    words = {text.raw(index).lower() for first, last in parts for index in range(first, last + 1)}
    if not words.isdisjoint(SEPARATORS.get(name, ())) or any(text.kinds[last] is TokenType.STAR for _, last in parts):
        return None
    shown = [min(numbers)] if takes_more else sorted(numbers)
    expected = " or ".join(map(str, shown)) + (" or more" if takes_more else "")
    return f"Wrong number of arguments: {name}() takes {expected} in {accepted.engine}, not {count}"
