"""Operators, calls, casts and subqueries in expressions: what is looked up in them, and what Hive refuses.

Source of the rules: Hive 4.1's `TypeCheckProcFactory`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.hive_exact import operand_types, refusals
from hive_views.sql.parsing.builtin_functions import (
    HIVE_AGGREGATES,
    HIVE_FUNCTIONS,
    HIVE_TABLE_FUNCTIONS,
    HIVE_WINDOW_FUNCTIONS,
)
from hive_views.sql.parsing.hive_grammar import CAST_TARGETS, INTERVAL_UNITS, PARSED_ELSEWHERE
from hive_views.sql.parsing.lexer import unquote_identifier
from hive_views.sql.parsing.syntax_tree import function_token, key, span
from hive_views.sql.resolver.context import VALUE, Place
from hive_views.sql.resolver.names import Names
from hive_views.sql.resolver.scopes import Column, Scope


class Operators(Names):
    """Looks up the names in expressions of every kind."""

    handlers: ClassVar[dict[type, Any]] = {}
    """The method for each kind of node; other ones are looked into, or are calls."""

    def _paren(self, node: exp.Paren, place: Place) -> Any:
        return self.visit(node.this, place)

    def cast_target(self, node: exp.Expr) -> str | None:
        """The type that a cast names, as it is written, in lower case; None where it is no plain name."""
        whole = span(self.state.text, node)
        text = self.state.text
        if whole is None or whole[1] < 2 or text.tokens[whole[1] - 2].token_type is not TokenType.ALIAS:
            return None
        written = text.raw(whole[1] - 1).lower()
        return "int" if written == "integer" else written

    def written_type(self, node: exp.Expr) -> str | None:
        """The name of the type that a cast names, without its parameters; refused where Hive has no such type."""
        text = self.state.text
        whole = span(text, node)
        at = whole[1] if whole is not None else 0
        while at > 0 and text.tokens[at].token_type is not TokenType.ALIAS:
            at -= 1
        if not at or whole is None:
            return None
        written = text.raw(at + 1).lower()
        alone = text.kinds[at + 2] is TokenType.R_PAREN
        if written == "interval" or (alone and written in ("varchar", "char")):
            raise self.state.fail(f"Cannot read the text: Hive has no type '{written}'", text.tokens[at + 1].start)
        return {"integer": "int", "dec": "decimal", "numeric": "decimal"}.get(written, written)

    def _interval(self, node: exp.Interval, place: Place) -> Any:
        unit = node.args.get("unit")
        written = unit.sql().lower() if isinstance(unit, exp.Expr) else ""
        if self.state.strict and written not in _SPANS and written not in INTERVAL_UNITS:
            raise self.state.fail(f"Hive has no interval of '{written}'", node)
        self.visit_children(node, place)
        return VALUE

    def _sign(self, node: exp.Expr, place: Place) -> Any:
        self.visit(node.this, place)
        if self.state.exact:
            operand_types.check_sign(self.state, node, self.type_of)
        return VALUE

    def _between(self, node: exp.Between, place: Place) -> Any:
        self.visit_children(node, place)
        if self.state.exact:
            operand_types.check_between(self.state, node, self.type_of)
        return VALUE

    def _binary(self, node: exp.Expr, place: Place) -> Any:
        """An operator; a long chain of them is walked, not recursed into."""
        chain: list[exp.Expr] = []
        left: exp.Expr = node
        kind = type(node)
        while type(left) is kind and not (place.keys and left is not node and self._has_key(left, place)):
            chain.append(left)
            left = left.this
        results = [(left, self.visit(left, place))]
        for item in reversed(chain):
            right = item.args.get("expression")
            if isinstance(right, exp.Expr):
                results.append((right, self.visit(right, place)))
        if self.state.exact and kind in _COMPARISONS:
            refusals.check_comparison(self.state, node.this, node.args["expression"], self.type_of, kind)
        elif self.state.exact and len(chain) <= _CHECKED_CHAIN:
            for item in reversed(chain):
                operand_types.check_operator(self.state, item, self.type_of)
        if self.state.strict and kind not in _ANY_OPERAND:
            for operand, result in results:
                if isinstance(result, Column):
                    type_text = result.type
                    if type_text is not None and type_text[-1] == ">":
                        raise self.state.fail(
                            f"Wrong argument: an operator cannot take {operand.name}, which is of type {type_text}",
                            operand,
                            operand.name,
                        )
        return VALUE

    def _has_key(self, node: exp.Expr, place: Place) -> bool:
        keys = place.scopes[0].keys
        return bool(keys) and key(node) in keys

    def _cast(self, node: exp.Expr, place: Place) -> Any:
        inner = node.this
        result = self.visit(inner, place)
        state = self.state
        if state.exact:
            operand_types.check_cast(state, node, self.written_type(node), self.type_of)
        if not state.strict or not isinstance(result, Column):
            return VALUE
        target = self.cast_target(node)
        if target not in CAST_TARGETS or result.type != target:
            return VALUE
        state.bindings[id(node)] = result
        if result.table:
            whole = span(state.text, node)
            if whole is not None and state.pending:
                first, last = self._widen(*whole)
                state.pending.append(((first, -last), state.pending[-1][1]))
        return result

    def _window(self, node: exp.Window, place: Place) -> Any:
        if self.state.strict and not place.windows:
            raise self.state.fail("Window functions are only allowed in the SELECT list and in QUALIFY", node)
        self.visit(node.this, Place(place.scopes, place.outer, place.plain, place.keys, True, False))
        for part in ("partition_by", "order", "spec"):
            value = node.args.get(part)
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, exp.Expr):
                    self.visit(item, Place(place.scopes, place.outer, place.plain, place.keys, True, False))
        return VALUE

    def _bracket(self, node: exp.Bracket, place: Place) -> Any:
        self.visit_children(node, place)
        if self.state.exact:
            refusals.check_index(self.state, node, self.type_of)
        return VALUE

    def _like(self, node: exp.Expr, place: Place) -> Any:
        self._binary(node, place)
        if self.state.exact:
            refusals.check_function(self.state, "rlike", node, [node.this], self.type_of)
        return VALUE

    def _subquery(self, node: exp.Expr, place: Place) -> Any:
        self.subquery(node, place)
        return VALUE

    def _exists(self, node: exp.Exists, place: Place) -> Any:
        self.subquery(node.this, place, exists=True)
        return VALUE

    def _in(self, node: exp.In, place: Place) -> Any:
        self.visit(node.this, place)
        query = node.args.get("query")
        if query is not None:
            self.subquery(query, place, single=True)
        for item in node.expressions:
            self.visit(item, place)
        if self.state.exact and query is None:
            operand_types.check_member(self.state, node, self.type_of)
        return VALUE

    def subquery(self, node: exp.Expr, place: Place, *, single: bool = False, exists: bool = False) -> None:
        """Resolve a query inside an expression; the query blocks know how."""
        raise NotImplementedError

    def _function(self, node: exp.Func, place: Place) -> None:
        """A function must exist; one that somebody registered is quoted."""
        if not self.state.strict:
            return
        at = function_token(self.state.text, node)
        if at is None:
            return
        state = self.state
        meta = {"start": state.text.tokens[at].start}
        written = unquote_identifier(state.text.raw(at))
        name = written.lower()
        if name in _KNOWN:
            if name == "grouping" and not place.scopes[0].with_sets:
                raise state.fail("grouping() needs GROUP BY with ROLLUP, CUBE or GROUPING SETS", meta["start"], name)
            if name in HIVE_AGGREGATES and name not in HIVE_WINDOW_FUNCTIONS and not place.aggregates:
                raise state.fail(f"Not yet supported place for UDAF '{name}'", meta["start"], name)
            if name in HIVE_TABLE_FUNCTIONS:
                raise state.fail(
                    f"{name}: UDTF's are not supported outside the SELECT clause, nor nested in expressions",
                    meta["start"],
                    name,
                )
            return
        if name.startswith("ds_") or at + 1 >= len(state.text.tokens):
            return
        if state.text.tokens[at + 1].token_type is not TokenType.L_PAREN and not isinstance(node, exp.Anonymous):
            return
        if name in state.functions:
            state.pending.append(((at, -at), state.quoted(written)))
        elif name not in PARSED_ELSEWHERE:
            raise state.fail(
                f"Invalid function '{written}': it is neither built in nor registered", meta["start"], written
            )

    def _lambda(self, node: exp.Lambda, place: Place) -> Any:
        parameters = {item.name.lower() for item in node.expressions}
        inner = Scope()
        inner.tables[None] = {name: Column(name, None, name) for name in parameters}
        self.visit(node.this, Place((inner,), place.scopes[0], keys=False))
        return VALUE

    def _property(self, node: exp.PropertyEQ, place: Place) -> Any:
        self.visit(node.expression, place)
        return VALUE

    def _skip(self, node: exp.Expr, place: Place) -> Any:
        return VALUE


_KNOWN = HIVE_FUNCTIONS
_COMPARISONS = frozenset({exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ})
_ANY_OPERAND = frozenset({exp.DPipe, exp.NullSafeEQ, exp.EQ, exp.NEQ, exp.And, exp.Or})
_SPANS = frozenset({"year to month", "day to second"})
_CHECKED_CHAIN = 30
"""The longest chain of one operator whose operands' types are looked at."""
_HANDLERS: dict[type, Any] = {
    exp.Column: Operators._column,
    exp.Dot: Operators._dot,
    exp.Paren: Operators._paren,
    exp.Cast: Operators._cast,
    exp.TryCast: Operators._cast,
    exp.Window: Operators._window,
    exp.Bracket: Operators._bracket,
    exp.Subquery: Operators._subquery,
    exp.Select: Operators._subquery,
    exp.Union: Operators._subquery,
    exp.Except: Operators._subquery,
    exp.Intersect: Operators._subquery,
    exp.In: Operators._in,
    exp.Exists: Operators._exists,
    exp.Lambda: Operators._lambda,
    exp.PropertyEQ: Operators._property,
    exp.Neg: Operators._sign,
    exp.BitwiseNot: Operators._sign,
    exp.Not: Operators._sign,
    exp.Between: Operators._between,
    exp.Interval: Operators._interval,
    exp.Identifier: Operators._skip,
    exp.Literal: Operators._skip,
    exp.DataType: Operators._skip,
    exp.Var: Operators._skip,
    exp.Null: Operators._skip,
    exp.Boolean: Operators._skip,
    exp.Star: Operators._skip,
    exp.Hint: Operators._skip,
    **dict.fromkeys(
        (
            *(exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe),
            *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Like),
            *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor),
        ),
        Operators._binary,
    ),
    exp.RegexpLike: Operators._like,
}
Operators.handlers.update(_HANDLERS)
