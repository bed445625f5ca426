"""Type inference by Hive's rules: the types that the metastore stores for a view's columns.

The type of an expression is None if the rules do not determine it; types are never guessed. The tests compare the types
with those of the columns that Hive 4.1 stored (tests/unit/sql/fixtures).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any, Protocol

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.function_signatures import (
    CONVERSION_FUNCTIONS,
    FIRST_ARGUMENT_TYPE,
    RESULT_TYPES,
)
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import interval_unit, start_offsets
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types import hive_types
from hive_views.sql.types.hive_types import INTEGERS, arithmetic
from hive_views.sql.types.names import struct_of

Arguments = list[exp.Expr]


class BoundColumn(Protocol):
    """A column that a reference is bound to."""

    @property
    def type(self) -> str | None:
        """The Hive type; None if it is unknown."""


class TypeInference:
    """Infers the types of expressions in one resolved query.

    Args:
        query: The parsed query.
        bindings: The column that each column reference is bound to, by the id of its node.
        fields: The field names after the column, by the id of the node.
        subqueries: The result columns of each query inside an expression, by the id of its node.
    """

    def __init__(
        self,
        query: ParsedQuery,
        bindings: Mapping[int, BoundColumn],
        fields: Mapping[int, list[str]],
        subqueries: dict[int, Any],
    ) -> None:
        self.query = query
        self.text = query.text
        self._is_hive = query.text.dialect is Dialect.HIVE
        self.bindings = bindings
        self.fields = fields
        self.subqueries = subqueries

    def type_of(self, node: exp.Expr) -> str | None:
        """Return the Hive type of an expression; None if it is unknown."""
        while type(node) in (exp.Paren, exp.Alias, exp.Ordered, exp.Distinct, exp.IgnoreNulls, exp.RespectNulls):
            if type(node) is exp.Distinct:
                if len(node.expressions) != 1:
                    return None
                node = node.expressions[0]
            else:
                node = node.this
        if type(node) is not exp.Column and type(node) is not exp.Dot:
            computed = self.bindings.get(id(node))
            if computed is not None and computed.type is not None:
                return computed.type
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        if isinstance(node, exp.Func):
            return self._function(node)
        return None

    # -- Names and literals ----------------------------------------------------------------------------------------

    def _column(self, node: exp.Expr) -> str | None:
        column = self.bindings.get(id(node))
        type_text = column.type if column is not None else None
        for name in self.fields.get(id(node), ()):
            type_text = hive_types.field_of(type_text, name)
        return type_text

    def _dot(self, node: exp.Expr) -> str | None:
        if id(node) in self.bindings:
            return self._column(node)
        type_text = self.type_of(node.this)
        return hive_types.field_of(type_text, node.expression.name)

    def _bracket(self, node: exp.Expr) -> str | None:
        outer = self.type_of(node.this)
        inner = hive_types.arguments(outer) if outer is not None else ()
        return inner[-1] if inner and hive_types.base(str(outer)) in ("array", "map") else None

    def _literal(self, node: exp.Expr) -> str | None:
        if node.args.get("is_string"):
            return "string"
        written = node.this
        if written.isdigit():
            value = int(written)
            return "int" if value < 2**31 else "bigint" if value < 2**63 else f"decimal({len(written)},0)"
        if "e" in written.lower():
            return "double"
        whole, _, fraction = written.partition(".")
        whole = whole.lstrip("0")
        if not self._is_hive:  # Spark and Trino keep trailing zeros
            digits = len(whole) + len(fraction) if whole else len(fraction.lstrip("0"))
            return f"decimal({max(digits, len(fraction), 1)},{len(fraction)})"
        fraction = fraction.rstrip("0") or ("0" if not whole else "")
        return f"decimal({max(len(whole) + len(fraction), 1)},{len(fraction)})"

    def _cast(self, node: exp.Expr) -> str | None:
        inner = node.this
        if isinstance(inner, exp.Literal) and inner._meta:
            suffix = self.text.sql[inner._meta["start"] : inner._meta["end"] + 1]
            if not inner.is_string and suffix[-1:].isalpha():
                return self._suffixed(suffix)
        return self._target(node)

    def _suffixed(self, written: str) -> str | None:
        upper = written.upper()
        if upper.endswith("BD"):
            return self._exact_decimal(Decimal(written[:-2]))
        return {"L": "bigint", "S": "smallint", "Y": "tinyint", "D": "double", "F": "float"}.get(upper[-1])

    def _exact_decimal(self, value: Decimal) -> str:
        """Return the type of a literal with the suffix BD; Hive drops trailing zeros of its fraction."""
        if self._is_hive and value.as_tuple().exponent < 0:  # type: ignore[operator]
            value = value.normalize() if value else Decimal(0)
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        scale = max(-exponent, 0)
        return f"decimal({max(len(digits) + max(exponent, 0), scale)},{scale})"

    def _target(self, node: exp.Expr) -> str | None:
        to = node.args["to"]
        kind = to.this.value if hasattr(to.this, "value") else str(to.this)
        simple = CAST_TARGETS.get(kind)
        if kind == "TEXT":
            return self._written_string(node)
        if simple is not None:
            return simple
        if kind == "DECIMAL":
            sizes = [item.name for item in to.expressions]
            if not all(size.isdigit() for size in sizes):
                return None
            precision, scale = (*sizes, "0")[:2] if sizes else ("10", "0")
            return f"decimal({precision},{scale})"
        if kind in ("ARRAY", "MAP", "STRUCT") and self._is_hive:
            return self._written_nested(to)
        if kind in ("CHAR", "VARCHAR"):
            size = to.expressions[0].name if to.expressions else ""
            return f"{kind.lower()}({size})" if size.isdigit() else None
        return None

    def _written_nested(self, to: exp.Expr) -> str | None:
        """Return `array<int>` and the like; None if an inner type is not simple."""
        inner: list[str] = []
        for item in to.expressions:
            kind = item.this.value if hasattr(item.this, "value") else str(item.this)
            simple = CAST_TARGETS.get(kind) or ("string" if kind == "TEXT" else None)
            if simple is None or item.expressions:
                return None
            inner.append(simple)
        name = to.this.value.lower()
        return f"{name}<{','.join(inner)}>" if inner and name != "struct" else None

    def _written_string(self, node: exp.Expr) -> str | None:
        """Read `varchar(10)` or `string` from the text, since sqlglot's tree does not distinguish them."""
        offsets = start_offsets(node)
        index = self.text.starts.get(max(offsets)) if offsets else None
        while index is not None and index + 1 < len(self.text.tokens):
            index += 1
            word = self.text.raw(index).lower()
            if word == "string":
                return "string"
            if word in ("varchar", "char"):
                size = self.text.raw(index + 2) if index + 2 < len(self.text.tokens) else ""
                return f"{word}({size})" if size.isdigit() else None
        return None

    # -- Operators -------------------------------------------------------------------------------------------------

    def _arithmetic(self, node: exp.Expr) -> str | None:
        left, right = self.type_of(node.this), self.type_of(node.expression)
        if left is None or right is None or "interval" in left or "interval" in right:
            return self._interval(node, left, right)
        if not self._is_hive and {left, right} & {"date", "timestamp", "void"}:
            return None
        if "decimal" in (hive_types.base(left), hive_types.base(right)):
            if not self._is_hive and "float" in (left, right):
                return None
            left, right = self._digits(node.this, left), self._digits(node.expression, right)
        return arithmetic(type(node).__name__, left, right)

    def _interval(self, node: exp.Expr, left: str | None, right: str | None) -> str | None:
        if type(node) in (exp.Add, exp.Sub):
            for side, other in ((node.this, right), (node.expression, left)):
                if isinstance(side, exp.Interval) and other in ("timestamp", "date"):
                    unit = interval_unit(side)
                    if other == "timestamp":
                        return "timestamp"
                    return "date" if unit.startswith(("YEAR", "MONTH")) else "timestamp"
        return None

    def _interval_type(self, node: exp.Expr) -> str | None:
        unit = interval_unit(node)
        return "interval_year_month" if unit.startswith(("YEAR", "MONTH")) else "interval_day_time" if unit else None

    def _negative(self, node: exp.Expr) -> str | None:
        inner = self.type_of(node.this)
        if inner is None:
            return None
        return "double" if hive_types.base(inner) in hive_types.STRINGS else inner

    def _bitwise(self, node: exp.Expr) -> str | None:
        left, right = self.type_of(node.this), self.type_of(node.expression)
        if left in INTEGERS and right in INTEGERS:
            return max(left, right, key=INTEGERS.index)
        return None

    def _concatenation(self, node: exp.Expr) -> str | None:
        left, right = self.type_of(node.this), self.type_of(node.expression)
        if not self._is_hive:
            return "string" if left == "string" or right == "string" else None
        return self._joined([left, right])

    def _joined(self, kinds: list[str | None]) -> str | None:
        """Return the type of `||` and concat; its length is the sum of the lengths of the parts if all have one."""
        known_kinds = [kind for kind in kinds if kind is not None]
        bases = {hive_types.base(kind) for kind in known_kinds}
        if len(known_kinds) < len(kinds):
            return "string" if bases - {"char", "varchar"} else None
        if not bases or not bases <= {"char", "varchar"}:
            return "string"
        length = sum(int(kind.partition("(")[2][:-1]) for kind in known_kinds)
        if bases == {"char"}:
            return f"char({length})" if length <= 255 else None
        return f"varchar({length})" if length <= 65535 else None

    # -- Choices ---------------------------------------------------------------------------------------------------

    def common_type(self, types: Sequence[str | None]) -> str | None:
        """Return the type of a column of a set operation or of VALUES, where Hive's own rules do not apply."""
        return reduce(hive_types.common_in_trino, types)

    def _common(self, nodes: Arguments) -> str | None:
        """Return the common type of alternatives."""
        return self._shared([self.type_of(node) for node in nodes])

    def _shared(self, kinds: list[str | None]) -> str | None:
        """Return the common type of several types."""
        result: str | None = None
        rule = hive_types.choice if self._is_hive else hive_types.choice_in_trino
        for kind in kinds:
            if kind is None:
                return None
            if kind == "void":
                continue
            result = kind if result is None or result == kind else rule(result, kind)
            if result is None:
                return None
        return result if result is not None else "void"

    def _case(self, node: exp.Expr) -> str | None:
        options = [item.args["true"] for item in node.args.get("ifs") or ()]
        default = node.args.get("default")
        if default is None and self._is_hive:
            return self._case_without_else(node, options)
        return self._chosen(node, [*options, default] if default is not None else options)

    def _case_without_else(self, node: exp.Expr, options: Arguments) -> str | None:
        """Return Hive's type of a CASE without ELSE, where an integer literal beside decimals keeps its type INT.

        Measured on Hive 4.1.0 for `CASE x WHEN … END` whose last result is the literal; the type of others is unknown.
        """
        kinds = [self.type_of(option) for option in options]
        result = self._shared(kinds)
        is_decimal = result is not None and hive_types.base(result) == "decimal"
        literals = [
            position
            for position, (option, kind) in enumerate(zip(options, kinds, strict=True))
            if kind in INTEGERS and self._literal_in(option) is not None
        ]
        if not is_decimal or not literals:
            return self._chosen(node, options)
        is_measured = node.args.get("this") is not None and literals == [len(options) - 1]
        return result if is_measured else None

    def _if(self, node: exp.Expr) -> str | None:
        results = [item for item in (node.args.get("true"), node.args.get("false")) if item is not None]
        return self._chosen(node, results)

    def _chosen(self, choice: exp.Expr, nodes: Arguments) -> str | None:
        """Return the type of several results; Hive's planner gives integer literals only the digits they have."""
        kinds = [self.type_of(node) for node in nodes]  # once, or nested choices take exponential time
        result = self._shared(kinds)
        if result is None or not self._is_hive or not any(self._literal_in(node) for node in nodes):
            return result
        if choice.find(exp.Column) is None:
            return result
        kind = hive_types.base(result)
        if kind in ("varchar", "char"):
            return "string"
        return self._shortest(nodes, kinds) if kind == "decimal" else result

    def _shortest(self, nodes: Arguments, kinds: list[str | None]) -> str | None:
        """Return the decimal type of several values; if all integers are literals, only with the digits they have."""
        if any(kind in INTEGERS and not self._literal_in(node) for node, kind in zip(nodes, kinds, strict=True)):
            return self._shared(kinds)
        digits = [self._digits(node, kind) if kind else kind for node, kind in zip(nodes, kinds, strict=True)]
        return self._shared(digits)

    def _digits(self, node: exp.Expr, type_text: str) -> str:
        """Return the decimal type with the digits of an integer literal; return other types unchanged."""
        literal = self._literal_in(node)
        if literal is not None and not literal.is_string and type_text in INTEGERS:
            return f"decimal({len(literal.this.lstrip('0')) or 1},0)"
        return type_text

    def _literal_in(self, node: exp.Expr) -> exp.Literal | None:
        """Return a literal inside parentheses and signs; in Spark only a minus right before a number belongs to it."""
        is_spark = not self._is_hive
        path = [node]
        while True:
            is_sign = type(node) is exp.Neg and not (is_spark and type(node.this) in (exp.Paren, exp.Neg))
            if type(node) is exp.Paren or is_sign or (type(node) is exp.TryCast and _is_suffixed(node.this)):
                node = node.this
                path.append(node)
            else:
                break
        if not isinstance(node, exp.Literal) or (is_spark and any(map(self.has_plus, path))):
            return None
        return node

    def has_plus(self, node: exp.Expr) -> bool:
        """Return whether a plus, for which the tree has no node, is the sign of an operand, and no operator."""
        if not self.text.has_sign or (isinstance(node, (exp.Binary, exp.Predicate)) and type(node) is not exp.Dot):
            return False  # the sign is that of its first operand
        if type(node.parent) in _POSTFIX and node.arg_key == "this":
            return False  # the sign is that of the larger operand
        first, _ = self.query.ranges.get(id(node), (-1, -1))
        if first <= 0 or self.text.kinds[first - 1] is not TokenType.PLUS:
            return False
        while node.parent is not None:
            parent = node.parent
            if type(parent) is exp.Add and node.arg_key == "expression":
                _, end = self.query.ranges.get(id(parent.this), (-1, first - 2))
                return self.text.kinds[end + 1 : first].count(TokenType.PLUS) > 1
            if self.query.ranges.get(id(parent), (first, -1))[0] != first:
                return True
            node = parent
        return True

    def _coalesce(self, node: exp.Expr) -> str | None:
        nodes = [node.this, *node.expressions]
        kinds = [self.type_of(item) for item in nodes]
        result = self._shared(kinds)
        if result is None or hive_types.base(result) != "decimal" or not self._is_hive:
            return result
        token = self.query.function_token(node)
        is_planned = len(nodes) == 2 and token is not None and self.text.raw(token).lower() == "coalesce"
        return self._shortest(nodes, kinds) if is_planned and kinds[0] not in INTEGERS else result

    # -- Nested values ---------------------------------------------------------------------------------------------

    def _array(self, node: exp.Expr) -> str | None:
        if not node.expressions:
            return None
        inner = self._common(node.expressions)
        return f"array<{self._of_nulls(inner)}>" if inner is not None else None

    def _map(self, node: exp.Expr) -> str | None:
        keys, values = node.args.get("keys"), node.args.get("values")
        if keys is None or values is None or not keys.expressions:
            return None
        key, value = self._common(keys.expressions), self._common(values.expressions)
        return f"map<{self._of_nulls(key)},{self._of_nulls(value)}>" if None not in (key, value) else None

    def _of_nulls(self, kind: str | None) -> str | None:
        """Return the type of elements, which is STRING in Hive if all of them are NULL."""
        return "string" if self._is_hive and kind == "void" else kind

    def _struct(self, node: exp.Expr) -> str | None:
        parts = []
        for position, item in enumerate(node.expressions):
            named = isinstance(item, exp.PropertyEQ)
            value = item.expression if named else item
            name = item.this.name.lower() if named and self._is_written(node, item) else f"col{position + 1}"
            inner = self.type_of(value)
            if inner is None:
                return None
            parts.append((name, inner))
        return struct_of(parts) if parts else None

    def _is_written(self, struct: exp.Expr, item: exp.Expr) -> bool:
        """Return whether the text contains a struct field's name; sqlglot derives some names from columns."""
        token = self.query.function_token(struct)
        if token is None or self.text.raw(token).lower() != "struct":
            return True
        own = item.this._meta or {}
        inner = start_offsets(item.expression)
        return "start" in own and (not inner or own["start"] > max(inner))

    def _subquery(self, node: exp.Expr) -> str | None:
        scope = self.subqueries.get(id(node))
        return scope.columns[0].type if scope is not None and len(scope.columns) == 1 else None

    # -- Functions -------------------------------------------------------------------------------------------------

    def _window(self, node: exp.Expr) -> str | None:
        return self.type_of(node.this)

    def _within_group(self, node: exp.Expr) -> str | None:
        if not self._is_hive:
            return None
        return "bigint" if type(node.this) in (exp.Rank, exp.DenseRank) else "double"

    def _function(self, node: exp.Func) -> str | None:
        token = self.query.function_token(node)
        if token is None:
            return None
        if isinstance(node, (exp.Rank, exp.DenseRank)) and not isinstance(node.parent, exp.Window):
            return None
        name = self.text.raw(token).strip("`").lower()
        most = _MOST_ARGUMENTS.get(name) if not self._is_hive else None
        written = self.text.elements(token + 2, self.text.match.get(token + 1, 0) - 1)
        if most is not None and len(list(written)) > most:
            return "bigint" if name == "datediff" else None  # overloads that Hive does not have, such as floor(a, 1)
        fixed = RESULT_TYPES.get(name)
        if self._is_hive and name in CONVERSION_FUNCTIONS:
            return name
        if name == "concat" and self._is_hive:
            return self._joined([self.type_of(item) for item in node.iter_expressions()])
        if fixed is not None and name not in _DEPENDS_ON_FIRST:
            return fixed
        arguments: Arguments = [*node.iter_expressions()]
        if not arguments:
            return None
        rule = _FUNCTIONS.get(name)
        if rule is None and name not in _DEPENDS_ON_FIRST and name not in FIRST_ARGUMENT_TYPE:
            return None
        first = self.type_of(arguments[0])
        if name in _DEPENDS_ON_FIRST:
            return (
                first
                if first is not None and hive_types.base(first) in ("varchar", "char")
                else fixed
                if first
                else None
            )
        if first is None or rule is None:
            number = name in _NUMBERS_OF_STRINGS and first is not None and hive_types.base(first) in hive_types.STRINGS
            return "double" if number else first
        return rule(self, first, arguments)

    def has_rule(self, name: str) -> bool:
        """Return whether the type of a function depends on more than the types of its arguments."""
        return name in _FUNCTIONS or name in _DEPENDS_ON_FIRST or name in CONVERSION_FUNCTIONS

    def _sum(self, first: str, arguments: Arguments) -> str | None:
        if first in INTEGERS:
            return "bigint"
        size = hive_types.decimal(first)
        if size is not None:
            return f"decimal({min(38, size[0] + 10)},{size[1]})"
        return "double" if first in ("float", "double") or hive_types.base(first) in hive_types.STRINGS else None

    def _average(self, first: str, arguments: Arguments) -> str | None:
        size = hive_types.decimal(first)
        if size is not None:
            whole = size[0] - size[1]
            scale = min(size[1] + 4, 38 - whole)
            return f"decimal({min(whole + scale, 38)},{scale})"
        numbers = first in hive_types.NUMERIC or hive_types.base(first) in hive_types.STRINGS
        return "double" if numbers else None

    def _collected(self, first: str, arguments: Arguments) -> str | None:
        return f"array<{first}>"

    def _element(self, first: str, arguments: Arguments) -> str | None:
        inner = hive_types.arguments(first)
        return inner[0] if inner else None

    def _keys(self, first: str, arguments: Arguments) -> str | None:
        inner = hive_types.arguments(first)
        return f"array<{inner[0]}>" if len(inner) == 2 else None

    def _values(self, first: str, arguments: Arguments) -> str | None:
        inner = hive_types.arguments(first)
        return f"array<{inner[1]}>" if len(inner) == 2 else None

    def _greatest(self, first: str, arguments: Arguments) -> str | None:
        kinds = [first, *(self.type_of(node) for node in arguments[1:])]
        if not self._is_hive:
            return self._shared(list(kinds))
        result: str | None = first
        for kind in kinds[1:]:
            result = hive_types.greatest(result, kind) if result is not None and kind is not None else None
        return result

    def _rounded_up(self, first: str, arguments: Arguments) -> str | None:
        size = hive_types.decimal(first)
        if size is not None:
            precision, scale = size
            carry = 1 if scale or self._is_hive else 0
            return f"decimal({min(38, precision - scale + carry) or 1},0)"
        if first == "timestamp":
            return "timestamp"
        return "bigint" if first in (*hive_types.NUMERIC, "string") else None

    def _absolute(self, first: str, arguments: Arguments) -> str | None:
        if first == "string":
            return "double"
        if self._is_hive:
            return {"tinyint": "int", "smallint": "int", "float": "double"}.get(first, first)
        return first

    def _rounded(self, first: str, arguments: Arguments) -> str | None:
        """Apply Hive's `GenericUDFRound`: rounding can add one digit in front of the decimal point."""
        size = hive_types.decimal(first)
        if size is None:
            return "double" if hive_types.base(first) in hive_types.STRINGS else first
        digits = 0
        if len(arguments) > 1:
            negative = type(arguments[1]) is exp.Neg
            number = arguments[1].this if negative else arguments[1]
            if not isinstance(number, exp.Literal) or not number.this.isdigit():
                return None
            digits = -int(number.this) if negative else int(number.this)
        precision, scale = size
        whole = precision - scale + (1 if digits < scale else 0)
        scale = min(max(digits, 0), 38)
        return f"decimal({min(whole + scale, 38)},{scale})"

    def _sign(self, first: str, arguments: Arguments) -> str | None:
        return "int" if hive_types.base(first) == "decimal" and self._is_hive else "double"

    def _remainder(self, first: str, arguments: Arguments) -> str | None:
        second = self.type_of(arguments[1]) if len(arguments) > 1 else None
        if second is None or "decimal" in (hive_types.base(first), hive_types.base(second)):
            return None
        return arithmetic("Mod", first, second)

    def _masked(self, first: str, arguments: Arguments) -> str | None:
        """Return the type of Hive's `mask` functions: the longest type of its kind."""
        if not self._is_hive:
            return None
        longest = {"varchar": "varchar(65535)", "char": "char(255)", "decimal": "decimal(38,18)"}
        return longest.get(hive_types.base(first), first)

    def _truncated(self, first: str, arguments: Arguments) -> str | None:
        return "string" if hive_types.base(first) in (*hive_types.STRINGS, "date", "timestamp") else None

    def _percentile(self, first: str, arguments: Arguments) -> str | None:
        of_array = len(arguments) > 1 and isinstance(arguments[1], exp.Array)
        return "array<double>" if of_array else "double"


def _is_suffixed(node: exp.Expr) -> bool:
    """Return whether a literal has a suffix, such as `2L`, which is parsed as a cast."""
    meta = node._meta or {"start": 0, "end": 0}
    return type(node) is exp.Literal and meta["end"] - meta["start"] >= len(node.this)


def _boolean(types: TypeInference, node: exp.Expr) -> str | None:
    return "boolean"


_POSTFIX = frozenset({exp.Bracket, exp.Dot, exp.Cast, exp.TryCast, exp.Window, exp.Filter})
"""The operands that begin with another operand."""
"""Tokens after which a plus has one operand."""
_NUMBERS_OF_STRINGS = frozenset({"negative", "positive"})
"""The numeric functions that read a string as a double."""
_DEPENDS_ON_FIRST = frozenset({"upper", "lower", "ucase", "lcase"})
CAST_TARGETS = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BINARY": "binary",
    "VARBINARY": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
}
_RULES: dict[type, Callable[[TypeInference, Any], str | None]] = {
    exp.Column: TypeInference._column,
    exp.Dot: TypeInference._dot,
    exp.Bracket: TypeInference._bracket,
    exp.Literal: TypeInference._literal,
    exp.Boolean: _boolean,
    exp.Null: lambda types, node: "void",
    exp.Cast: TypeInference._cast,
    exp.TryCast: TypeInference._cast,
    exp.Case: TypeInference._case,
    exp.If: TypeInference._if,
    exp.Coalesce: TypeInference._coalesce,
    exp.Array: TypeInference._array,
    exp.VarMap: TypeInference._map,
    exp.Map: TypeInference._map,
    exp.Struct: TypeInference._struct,
    exp.Subquery: TypeInference._subquery,
    exp.Window: TypeInference._window,
    exp.WithinGroup: TypeInference._within_group,
    exp.Neg: TypeInference._negative,
    exp.DPipe: TypeInference._concatenation,
    exp.BitwiseNot: TypeInference._negative,
    exp.Extract: lambda types, node: "int",
    exp.Interval: TypeInference._interval_type,
    exp.CurrentDate: lambda types, node: "date",
    exp.CurrentTimestamp: lambda types, node: "timestamp",
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod), TypeInference._arithmetic),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), TypeInference._bitwise),
    **dict.fromkeys(
        (
            *(
                exp.And,
                exp.Or,
                exp.Not,
                exp.EQ,
                exp.NEQ,
                exp.LT,
                exp.LTE,
                exp.GT,
                exp.GTE,
                exp.NullSafeEQ,
                exp.NullSafeNEQ,
            ),
            *(exp.Like, exp.ILike, exp.RegexpLike, exp.In, exp.Between, exp.Is, exp.Exists),
        ),
        _boolean,
    ),
}
_MOST_ARGUMENTS = dict.fromkeys(("datediff", "date_add", "date_sub"), 2) | dict.fromkeys(
    ("ceil", "ceiling", "floor"), 1
)
"""For functions that accept more arguments in Spark and Trino: the numbers of arguments that Hive has a type for."""
_FUNCTIONS: dict[str, Callable[[TypeInference, str, Arguments], str | None]] = {
    "sum": TypeInference._sum,
    "avg": TypeInference._average,
    "collect_set": TypeInference._collected,
    "collect_list": TypeInference._collected,
    "array_max": TypeInference._element,
    "array_min": TypeInference._element,
    "map_keys": TypeInference._keys,
    "map_values": TypeInference._values,
    "greatest": TypeInference._greatest,
    "least": TypeInference._greatest,
    "ceil": TypeInference._rounded_up,
    "ceiling": TypeInference._rounded_up,
    "floor": TypeInference._rounded_up,
    "abs": TypeInference._absolute,
    "percentile_approx": TypeInference._percentile,
    "percentile": TypeInference._percentile,
    **dict.fromkeys(
        ("mask", "mask_hash", "mask_first_n", "mask_last_n", "mask_show_first_n", "mask_show_last_n"),
        TypeInference._masked,
    ),
    "round": TypeInference._rounded,
    "bround": TypeInference._rounded,
    "sign": TypeInference._sign,
    "pmod": TypeInference._remainder,
    "trunc": TypeInference._truncated,
}
