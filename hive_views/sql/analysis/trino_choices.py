"""What Trino's Hive connector returns for if() and nvl(), as measured on Trino 483: they have the first value's type.

CASE and coalesce() have the type that holds all values, as in Hive and Spark. A text that is written in the query has
its own length as its type, to which Trino cuts or fills the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from hive_views.sql.analysis.operands import values_of_choice
from hive_views.sql.analysis.trino_rules import TrinoFinding, other_rows, refused, unverified
from hive_views.sql.analysis.written_names import called_name
from hive_views.sql.parsing.syntax_tree import unwrapped
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.types.hive_types import INTEGERS, base, decimal
from hive_views.sql.writing.coral.decimals import TypeOf

_NUMBERS = frozenset({*INTEGERS, "decimal", "double"})
_KEEPING_TEXTS = (exp.Cast, exp.TryCast, exp.Concat, exp.EQ, exp.Length)
"""What returns equal rows around a text that Trino cuts or fills."""


def choice_findings(resolution: ResolvedQuery) -> Iterator[tuple[TrinoFinding, exp.Expr]]:
    """Yield what differs in if(), nvl(), coalesce(), lag() and lead()."""
    for node in resolution.tree.find_all(exp.If, exp.Coalesce, exp.Lag, exp.Lead):
        if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
            continue
        name, values = called_name(resolution.query, node) or node.key, _values(node)
        finding = _finding(name, node, values, resolution.type_of) if len(values) > 1 else None
        if finding is not None:
            yield finding, node


def _values(node: exp.Expr) -> list[exp.Expr]:
    """Return the values of which a call returns one."""
    if isinstance(node, exp.If):
        listed = [node.args["true"], node.args.get("false")]
    elif isinstance(node, exp.Coalesce):
        listed = [node.this, *node.expressions]
    else:
        listed = [node.this, node.args.get("default")]
    return [unwrapped(item) for item in listed if item is not None]


def _finding(name: str, node: exp.Expr, values: list[exp.Expr], type_of: TypeOf) -> TrinoFinding | None:
    first, second = values[:2]
    if name == "if" and isinstance(second, exp.Null) and isinstance(first, (exp.Literal, exp.Boolean)):
        return None if isinstance(node.parent, exp.Count) else refused("if() of a literal and NULL; CASE is read")
    if name == "nvl" and isinstance(first, exp.Null):
        return unverified("nvl() of NULL")
    lengths = _lengths(values, with_case=name == "nvl")
    has_choice = name != "coalesce" or any(isinstance(item, exp.If) for item in values)
    if has_choice and lengths is not None and len(lengths) > 1:
        is_kept = isinstance(node.parent, _KEEPING_TEXTS)
        return None if is_kept else other_rows(f"{name}() of texts of different lengths: cut or filled; CASE is read")
    if name == "coalesce" or _holds(first, second, type_of):
        return None
    if all(isinstance(item, exp.Literal) and base(type_of(item) or "") == "decimal" for item in (first, second)):
        return unverified(f"{name}() of numbers of different types; CASE is read")
    return other_rows(f"{name}() of numbers of different types: the type of the first one; CASE is read")


def _lengths(values: Iterable[exp.Expr], *, with_case: bool = False) -> set[int] | None:
    """Return the lengths of values that are all written in the query; None if one is another value."""
    found: set[int] = set()
    for value in map(unwrapped, values):
        if isinstance(value, exp.Null):
            continue
        if isinstance(value, exp.Literal) and value.is_string:
            found.add(len(value.name))
            continue
        inner = None
        if isinstance(value, (exp.Lower, exp.Upper)):
            inner = _lengths([value.this])
        elif isinstance(value, exp.If):
            inner = _lengths(_values(value))
        elif isinstance(value, exp.Case) and with_case:
            inner = _lengths(values_of_choice(value))
        if inner is None:
            return None
        found |= inner
    return found


def _holds(first: exp.Expr, second: exp.Expr, type_of: TypeOf) -> bool:
    """Return whether the type that Trino derives from the first number holds the second one."""
    types = [type_of(item) or "" for item in (first, second)]
    kinds = [base(kind) for kind in types]
    if types[0] == types[1] or not _NUMBERS.issuperset(kinds) or kinds[0] == "double":
        return True
    is_written = isinstance(first, exp.Literal)
    if kinds[0] in INTEGERS:
        return kinds[1] in INTEGERS or is_written
    if kinds[1] in INTEGERS:
        return not is_written
    scales = [(decimal(kind) or (0, 0))[1] for kind in types]
    if kinds[1] == "double" or isinstance(second, exp.Literal) is is_written:
        return is_written and kinds[1] == "double"
    return scales[1] >= scales[0] if is_written else scales[0] >= scales[1]
