"""Expressions that Spark refuses for the types in them, in any clause of a query.

Only what is known to be refused is found, from the answers of Spark's analyzer (`python -m tests.engine_tables`).
What is in arrays, maps and structs was not measured completely, so that any is accepted where one is. Where a type is
not known, nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from hive_views.sql.engines.tables import Signature
from hive_views.sql.parsing.syntax_tree import start_offsets, windowed_function
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.types.argument_counts import SEPARATORS
from hive_views.sql.types.call_types import Argument, kind_of
from hive_views.sql.types.clause_refusals import clause_refusals, has_no_order, reason_of_set
from hive_views.sql.types.inference import BoundColumn
from hive_views.sql.types.spark_inference import (
    ANSI,
    COMPARISONS,
    OPERATORS,
    TYPED_BY_RULES,
    SparkTypeInference,
    data_type,
    spark_rules,
)
from hive_views.sql.types.window_frames import frame_refusals


@dataclass(frozen=True)
class Refusal:
    """An expression that Spark refuses.

    Attributes:
        start: The character where it begins.
        reason: Why it is refused, for the author.
    """

    start: int
    reason: str


Compared = tuple[exp.Expr, BoundColumn, BoundColumn]
"""Two columns that are compared, and the clause that compares them."""
Merged = tuple[exp.Expr, BoundColumn]
"""A column of rows that are compared as a whole, and the clause that compares them."""


class SparkRefusals(SparkTypeInference):
    """Finds the expressions of a resolved query that Spark refuses; the resolution must be complete."""

    @classmethod
    def of(cls, types: SparkTypeInference) -> SparkRefusals:
        """Return the search in the query of a type inference."""
        return cls(types.query, types.bindings, types.fields, types.subqueries, types.conf)

    def type_of(self, node: exp.Expr) -> str | None:
        """Return the type of an expression, which is inferred once; not inside a lambda, whose parameters vary."""
        if self._parameters:
            return super().type_of(node)
        if id(node) not in self._known:
            self._known[id(node)] = super().type_of(node)
        return self._known[id(node)]

    def first(self, compared: Iterable[Compared], merged: Iterable[Merged]) -> Refusal | None:
        """Return the first refused expression of the text; None if none is known to be refused.

        Args:
            compared: The columns that joins with USING and NATURAL compare.
            merged: The columns of DISTINCT and set operations.
        """
        found = [*self._all(), *self._in_clauses(compared, merged)]
        return min(found, key=lambda refusal: refusal.start) if found else None

    def _all(self) -> Iterator[Refusal]:
        roots = self.query.nodes_of(exp.Pivot, exp.Lambda)
        left_out = {id(node) for root in roots for node in root.walk()}  # names and parameters without a type
        # Children come first, so that the types in a long chain of operators are inferred once.
        for node in reversed(list(self.query.nodes_of(*_EXAMINED, exp.Func))):
            reason = self._reason(node) if id(node) not in left_out and self._is_in_text(node) else None
            if reason is not None:
                yield Refusal(self._start_of(_condition(node) or node), reason)

    def _in_clauses(self, compared: Iterable[Compared], merged: Iterable[Merged]) -> Iterator[Refusal]:
        for node, refused in clause_refusals(self.query.nodes_of, self.type_of):
            yield Refusal(self._start_of(node), refused)
        for window, refused in frame_refusals(self.query.nodes_of(exp.Window), self.type_of, self._function_of):
            yield Refusal(self._start_of(window), refused)
        for node, *columns in compared:
            kinds = [column.type for column in columns if column.type is not None]
            if len(kinds) == len(columns) and not self._accepts("=", kinds):
                yield Refusal(self._start_of(node), _incomparable("=", kinds))
        for node, column in merged:
            reason = reason_of_set(column.type) if column.type is not None else None
            if reason is not None:
                yield Refusal(self._start_of(node), reason)

    def _function_of(self, window: exp.Expr) -> str | None:
        """Return the name of the function in front of an OVER; None for a definition in WINDOW."""
        function = windowed_function(window)
        return self.query.function_name(function) if isinstance(function, exp.Func) else None

    def _is_in_text(self, node: exp.Expr) -> bool:
        """Return whether the text has a node: the parser adds operators and casts, which have no tokens."""
        part = self.query.ranges.get(id(node))
        if type(node) is exp.Case:
            return part is not None and self.text.raw(part[0]).lower() == "case"
        return part is not None or type(node) is exp.Is or not isinstance(node, _MADE_UP)

    def _start_of(self, node: exp.Expr) -> int:
        part = self.query.ranges.get(id(node))
        return self.text.tokens[part[0]].start if part is not None else min(start_offsets(node), default=0)

    def _reason(self, node: exp.Expr) -> str | None:
        condition = _condition(node)
        reason = self._reason_of_condition(node, condition) if condition is not None else None
        if reason is not None or isinstance(node, (exp.Where, exp.Having, exp.Join)):
            return reason
        if type(node) in (exp.Cast, exp.TryCast):
            return self._reason_of_cast(node)
        if type(node) not in _OPERATORS and self.query.function_token(node) is not None:
            return self._reason_of_call(node)
        reasons = [self._reason_of_operands(*pair) for pair in _operations(node)]
        if type(node) is exp.In and node.expressions:
            reasons.append(self._reason_of_elements([node.this, *node.expressions]))
        if type(node) is exp.Case:
            results = [item.args["true"] for item in node.args["ifs"]]
            default = node.args.get("default")
            given = [self._operand(item) for item in (results if default is None else [*results, default])]
            reasons.append(self._reason_of_choice(given))
        return next((reason for reason in reasons if reason is not None), None)

    def _reason_of_condition(self, node: exp.Expr, condition: exp.Expr) -> str | None:
        kind = self.type_of(condition)
        if kind is None or kind == "boolean" or kind_of(kind) == "?":
            return None
        if type(node) is exp.If and type(node.parent) is not exp.Case and kind == "void":
            return None
        if type(node) is exp.Having and self._can_cast(condition, "boolean"):
            return None
        return f"Spark refuses a condition of type {kind.upper()}: write a comparison"

    def _reason_of_cast(self, node: exp.Expr) -> str | None:
        inner, target = node.this, node.args["to"]
        part = self.query.ranges[id(node)]
        kind = data_type(target) if isinstance(target, exp.DataType) and not target.args.get("collate") else None
        given = self._operand(inner) if self._has_cast(part) and type(inner) is not exp.Literal else None
        if kind is None or given is None or kind_of(kind) not in _SIMPLE or "?" in kind_of(given.type):
            return None
        has_other_units = any(item.startswith("interval ") and item not in _ASKED for item in (kind, given.type))
        # TRY_CAST has the rules of ANSI mode in both modes.
        conf = _ANSI_MODE if self.text.raw(part[0]).lower() == "try_cast" else self.conf
        if has_other_units or self._casts(inner, kind, conf):
            return None
        return f"Spark does not cast {given.type.upper()} to {kind.upper()}"

    def _reason_of_call(self, node: exp.Expr) -> str | None:
        """Return why Spark refuses a call with one argument, or of a function that was measured with all pairs."""
        token = self.query.function_token(node) or 0
        name = unquote_identifier(self.text.raw(token)).lower()
        if name in TYPED_BY_RULES or name in SEPARATORS or (token and self.text.raw(token - 1) == "."):
            return None
        parts = self.argument_ranges(token, frozenset())
        if name in _CHOICES:
            return self._reason_of_choice([self.argument(node, part) for part in parts[_CHOICES[name] :]])
        if len(parts) != 1 and not (len(parts) == 2 and name in _WITH_ALL_PAIRS):
            return None
        if any(self.is_star(part) for part in parts):
            return None
        arguments = self.arguments(node, parts)
        kinds = [argument.type for argument in arguments or ()]
        if not kinds or self._accepts(name, kinds):
            return None
        given = " and ".join(map(str.upper, kinds))
        return f"Spark does not call {name}() with {given}: write a CAST around an argument"

    def _reason_of_operands(self, name: str, nodes: Sequence[exp.Expr]) -> str | None:
        """Return why Spark refuses an operator."""
        given = [self._operand(node) for node in nodes]
        kinds = [item.type for item in given if item is not None]
        if len(kinds) < len(given) or self._accepts(name, kinds):
            return None
        return _incomparable(name, kinds)

    def _reason_of_elements(self, nodes: Sequence[exp.Expr]) -> str | None:
        """Return why Spark refuses IN with a list: its value and elements have no common type."""
        given = [self._operand(node) for node in nodes]
        kinds = list(dict.fromkeys(item.type for item in given if item is not None))
        if None in given:
            return None
        if len(kinds) > 2:
            return self._reason_of_choice(given)
        pair = (kinds[0], kinds[-1])
        return None if self._accepts("in", pair) else _incomparable("in", pair)

    def _reason_of_choice(self, results: Sequence[Argument | None]) -> str | None:
        """Return why Spark refuses a choice between types that have no common one."""
        kinds = list(dict.fromkeys(item.type for item in results if item is not None))
        codes = {kind_of(kind) for kind in kinds}
        if None in results or len(kinds) < 2 or not _MERGED.issuperset(codes) or _INTERVALS.issuperset(codes):
            return None
        if any(rules.wide.has_common(kinds) for rules in spark_rules(self.conf)):
            return None
        given = " and ".join(sorted(map(str.upper, kinds)))
        return f"Spark has no common type of {given}: write a CAST around one of them"

    def _accepts(self, name: str, types: Sequence[str]) -> bool:
        """Return whether Spark may accept a call or an operator; only what was measured is known to be refused."""
        if name in _COMPARING and has_no_order(types):
            return False
        kinds = tuple(kind_of(kind) for kind in types)
        return any("?" in kind for kind in kinds) or _is_accepted(name, kinds, self.conf.get(ANSI))


def _incomparable(name: str, kinds: Sequence[str]) -> str:
    shown = _SHOWN.get(name, name.upper())
    return f"Spark has no {shown} for {' and '.join(map(str.upper, kinds))}: write a CAST around an operand"


@lru_cache(maxsize=4096)
def _is_accepted(name: str, kinds: tuple[str, ...], mode: str | None) -> bool:
    """Return whether Spark may accept kinds of arguments in an ANSI mode, or in one of them."""
    listed = [rules.table.signatures(name, len(kinds)) for rules in spark_rules({} if mode is None else {ANSI: mode})]
    return any(not signatures or any(_may_fit(item, kinds) for item in signatures) for signatures in listed)


def _may_fit(signature: Signature, kinds: Sequence[str]) -> bool:
    """Return whether a signature may accept kinds; what is in arrays, maps and structs was not measured completely."""
    return all(
        kind in given or (kind not in _SIMPLE and any(other[0] == kind[0] for other in given))
        for kind, given in zip(kinds, signature.kinds_of(len(kinds)), strict=True)
    )


def _condition(node: exp.Expr) -> exp.Expr | None:
    """Return the condition that a node has; None for other nodes."""
    if type(node) is exp.If and type(node.parent) is exp.Case and node.parent.this is not None:
        return None  # a value, which is compared
    condition = node.args.get("on") if type(node) is exp.Join else node.this if isinstance(node, _CONDITIONS) else None
    return condition if isinstance(condition, exp.Expr) else None


def _operations(node: exp.Expr) -> Iterator[tuple[str, Sequence[exp.Expr]]]:
    """Yield the operators that a node consists of: the name and the operands of each."""
    kind = type(node)
    name = OPERATORS.get(kind) or COMPARISONS.get(kind) or _OF_TWO.get(kind)
    if name is not None:
        if not isinstance(node.expression, (exp.Any, exp.All)):
            yield name, (node.this, node.expression)
    elif kind in _OF_ONE:
        if kind is not exp.Neg or not isinstance(node.this, exp.Literal):
            yield _OF_ONE[kind], (node.this,)
    elif kind is exp.Is and type(node.expression) is exp.Boolean:
        yield "<=>", (node.this, node.expression)
    elif kind is exp.Between:
        for limit in (node.args["low"], node.args["high"]):
            yield "between", (node.this, limit, limit)
    elif kind is exp.Case and node.this is not None:
        for item in node.args["ifs"]:
            yield "=", (node.this, item.this)


_COMPARING = frozenset({*COMPARISONS.values(), "=", "<=>", "in", "between", "nullif", "equal_null"})
_ANSI_MODE = {ANSI: "true"}
_CONDITIONS = (exp.Where, exp.Having, exp.If)
_CLAUSES = (exp.Where, exp.Having, exp.Join, exp.If)
_OF_TWO: Mapping[type, str] = {exp.Like: "like", exp.ILike: "ilike", exp.RegexpLike: "rlike"}
_OF_ONE: Mapping[type, str] = {exp.Not: "not", exp.Neg: "negative", exp.BitwiseNot: "~"}
_OPERATORS = frozenset({*OPERATORS, *COMPARISONS, *_OF_TWO, *_OF_ONE, exp.Is, exp.In, exp.Between, exp.Case})
_EXAMINED = (*_CLAUSES, *_OPERATORS, exp.Cast, exp.TryCast)
_SIMPLE = frozenset("vb1248fdpsxtTNIYZDV")
"""The codes of the types that have no other types in them."""
_MERGED = _SIMPLE - {"v"}
"""The codes of the types with which a common type is in the table for each two; NULL has one with every type."""
_INTERVALS = frozenset("IYZD")
_CHOICES = {"coalesce": 0, "nvl": 0, "ifnull": 0, "if": 1, "iff": 1}
"""The functions whose result has the common type of the arguments from a position on."""
_MADE_UP = (exp.Cast, exp.TryCast, exp.Binary, exp.Func)
"""Nodes that the parser also adds to what the text has."""
_ASKED = frozenset({"interval", "interval year to month", "interval day to second", "interval day"})
"""The intervals that were cast."""
_WITH_ALL_PAIRS = frozenset(
    {"nullif", "equal_null", "greatest", "least", "try_add", "try_subtract", "try_multiply", "try_divide"}
)
"""The functions of two arguments that were measured with all pairs of types."""
_SHOWN = {"negative": "-", "<=>": "comparison", "=": "comparison", "<": "comparison", "concat": "||"}
"""Names of operators in messages."""
