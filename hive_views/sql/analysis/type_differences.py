"""Where a text that two engines read has operands of different types, or other operators."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from sqlglot import exp

from hive_views.sql.analysis.constructs import UNKNOWN
from hive_views.sql.engines.tables import engine_table
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import child_expressions, first_offsets_of, without_additions
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.types.hive_types import base


@dataclass(frozen=True)
class TypeDifference:
    """An operand that has another type in another engine, or an operator that it reads otherwise."""

    types: tuple[str, str] | None
    """The type in either engine; None if the trees differ."""
    start: int
    """Where the operand begins in the text, in characters."""


def type_differences(resolution: ResolvedQuery, other: ResolvedQuery) -> Iterator[TypeDifference]:
    """Yield where a text, resolved by the rules of two engines, has operands of different types."""
    starts = first_offsets_of(resolution.tree)
    stack = [(resolution.tree, other.tree)]
    while stack:
        one, two = map(without_additions, stack.pop())
        start = starts.get(id(one), 0)
        is_renamed = type(one) is not type(two) and _is_one_call(resolution.query, one, other.query, two)
        if type(one) is not type(two) and not is_renamed:
            yield TypeDifference(None, start)
            continue
        types = (base(resolution.type_of(one) or UNKNOWN), base(other.type_of(two) or UNKNOWN))
        is_same = types[0] == types[1] or (UNKNOWN in types and _has_one_type(resolution.query, one))
        if not is_same and _is_operand(one):
            yield TypeDifference(types, start)
        for name in ("this",) if is_renamed else {**one.args, **two.args}:
            parts = [child_expressions(node.args.get(name)) for node in (one, two)]
            if len(parts[0]) != len(parts[1]):
                yield TypeDifference(None, start)
            stack += zip(*parts, strict=False)


def _is_one_call(query: ParsedQuery, one: exp.Expr, other_query: ParsedQuery, two: exp.Expr) -> bool:
    """Return whether two nodes are one call of the text, for which sqlglot has a class in each dialect."""
    token = query.function_token(one)
    return token is not None and token == other_query.function_token(two)


def _has_one_type(query: ParsedQuery, node: exp.Expr) -> bool:
    """Return whether an expression is a cast, or a call with the same results in both engines."""
    if isinstance(node, exp.Cast):
        return True
    token = query.function_token(node)
    return token is not None and unquote_identifier(query.text.raw(token)).lower() in _functions_of_one_type()


@cache
def _functions_of_one_type() -> frozenset[str]:
    """Return the functions whose results are the same types, and no formulas, in the tables of Hive and Spark."""
    hive, spark = engine_table("hive", "hive"), engine_table("spark", "ansi")
    results = {name: (hive.results(name), spark.results(name)) for name in hive.names if name in spark.names}
    return frozenset(
        name
        for name, (ours, theirs) in results.items()
        if ours == theirs and not any(result.startswith("=") for result in ours)
    )


_NO_OPERANDS: Mapping[str, Collection[tuple[type[exp.Expr], str]]] = {
    "the column of a result": {(exp.Select, "expressions")},
    "a key, of which equal values remain equal": {(exp.Group, "expressions"), (exp.Ordered, "this")},
    "its type is that of what is in it": {(exp.Paren, "this"), (exp.Alias, "this"), (exp.Window, "this")},
    "WHEN … THEN …, whose parts are operands": {(exp.Case, "ifs")},
    "a part of a literal or of the name of a type": {
        *((exp.Interval, part) for part in ("this", "unit")),
        *((exp.DataType, part) for part in ("this", "expressions", "kind")),
    },
}
"""The places of a tree whose values decide about no other value, by the class of the node and the name of the part."""
_PLACES = frozenset(place for places in _NO_OPERANDS.values() for place in places)
_COMBINED = (exp.SetOperation, exp.In)
"""What merges or compares the columns of the queries in it."""


def _is_operand(node: exp.Expr) -> bool:
    """Return whether a node is a value whose type decides about another value: no column of a result, and no key."""
    if not isinstance(node, exp.Condition) or isinstance(node, (exp.DataType, exp.Star)):
        return False
    if isinstance(node.parent, exp.Alias):
        node = node.parent
    parent = node.parent
    if isinstance(node, (exp.Any, exp.All)) or isinstance(parent, exp.VarMap):
        return False  # LIKE ANY (…), whose patterns are operands; the keys or the values of a map
    if isinstance(parent, exp.Select) and node.arg_key == "expressions":
        around = parent.parent
        while isinstance(around, (exp.Subquery, exp.Paren)):
            around = around.parent
        return isinstance(around, _COMBINED)
    return (type(parent), node.arg_key) not in _PLACES
