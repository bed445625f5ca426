"""Clauses that Spark refuses for the types in them: what it cannot sort or compare, and numbers of rows.

Measured with Spark 4.1.4: each clause with each type, in arrays and structs, too
(`tests/integration/spark/test_refused_queries.py`). Where a type is not known, nothing is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from hive_views.sql.types import hive_types

TypeOf = Callable[[exp.Expr], str | None]
"""Returns the type of an expression; None if it is unknown."""

_WITHOUT_ORDER = frozenset({"map", "variant", "interval"})
"""The types that Spark does not sort; `interval` is the one of `make_interval`, without units."""
_WITHOUT_SETS = frozenset({"map", "variant"})
"""The types that it does not compare as rows of DISTINCT, UNION, INTERSECT and EXCEPT."""
_WITHOUT_GROUPS = frozenset({"variant"})
"""The types by which it does not group and distribute rows; Spark 3.5 refuses maps, too."""


def clause_refusals(nodes_of: Callable[..., Iterator[exp.Expr]], type_of: TypeOf) -> Iterator[tuple[exp.Expr, str]]:
    """Yield the expressions that Spark refuses in their clauses, with the reasons."""
    for node in nodes_of(exp.Ordered, exp.Cluster, exp.Window, exp.Group, exp.Distribute):
        for key, refused, clause in _keys(node):
            kind = type_of(key)
            if kind is not None and has_one_of(kind, refused):
                yield key, f"Spark does not {clause} {kind.upper()}"
    for node in nodes_of(exp.Limit, exp.Offset, exp.TableSample):
        number = node.args.get("size") if type(node) is exp.TableSample else node.args.get("expression")
        reason = _reason_of_number(number, type_of) if isinstance(number, exp.Expr) else None
        if isinstance(number, exp.Expr) and reason is not None:
            yield number, reason


def has_no_order(kinds: Sequence[str]) -> bool:
    """Return whether one of some types cannot be compared."""
    return any(has_one_of(kind, _WITHOUT_ORDER) for kind in kinds)


def reason_of_set(kind: str) -> str | None:
    """Return why Spark refuses a column of a type in DISTINCT, or in a set operation that compares rows."""
    if has_one_of(kind, _WITHOUT_SETS):
        return f"Spark does not compare rows with a column of type {kind.upper()} (DISTINCT, UNION, INTERSECT, EXCEPT)"
    return None


def has_one_of(kind: str, bases: frozenset[str]) -> bool:
    """Return whether a type, or a type in it, is one of some types without their arguments."""
    if kind in bases or hive_types.base(kind) in bases:
        return not kind.startswith("interval ")
    fields = hive_types.written_fields(kind)
    inner = [field for _, field in fields] if fields is not None else hive_types.arguments(kind) if "<" in kind else ()
    return any(has_one_of(part, bases) for part in inner)


def _keys(node: exp.Expr) -> Iterator[tuple[exp.Expr, frozenset[str], str]]:
    """Yield the keys of a clause, the types that it refuses, and what it does."""
    if type(node) is exp.Ordered and type(node.parent) is not exp.Distribute:
        yield node.this, _WITHOUT_ORDER, "sort by"
    elif type(node) is exp.Cluster:
        yield from ((key, _WITHOUT_ORDER, "sort by") for key in node.expressions)
    elif type(node) is exp.Window:
        yield from ((key, _WITHOUT_ORDER, "partition a window by") for key in node.args.get("partition_by") or ())
    elif type(node) is exp.Group:
        yield from ((key, _WITHOUT_GROUPS, "group by") for key in node.expressions)
    elif type(node) is exp.Distribute:
        yield from ((key.this, _WITHOUT_GROUPS, "distribute by") for key in node.expressions)


def _reason_of_number(number: exp.Expr, type_of: TypeOf) -> str | None:
    """Return why Spark refuses a number of rows."""
    if isinstance(number, exp.Column) and number.sql().upper() == "ALL":
        return None  # sqlglot 30.8 reads LIMIT ALL as a column
    if number.find(exp.Column, exp.Query) is not None:
        return "Spark needs a constant number of rows"
    kind = type_of(number)
    if kind is not None and kind != "int":
        return f"Spark needs a number of rows of type INT, not {kind.upper()}"
    is_negative = type(number) is exp.Neg and type(number.this) is exp.Literal and number.this.name != "0"
    return "Spark needs a number of rows of at least 0" if is_negative else None
