"""Types of the expressions of a Spark text, as Spark's analyzer gives them.

The types of calls and operators come from the table of Spark's answers (`hive_views.sql.engines`). What is not in the
table has no type here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.tables import engine_table, spark_versions
from hive_views.sql.parsing.expression_ranges import Range
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.struct_fields import has_name_without_as
from hive_views.sql.parsing.syntax_tree import interval_unit
from hive_views.sql.parsing.variant_paths import variant_key
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.types import hive_types
from hive_views.sql.types.argument_counts import SEPARATORS, SPARK_COUNTS
from hive_views.sql.types.call_inference import CallInference
from hive_views.sql.types.call_types import Argument, CallRules, kind_of
from hive_views.sql.types.inference import CAST_TARGETS, BoundColumn, TypeInference
from hive_views.sql.types.names import struct_of
from hive_views.sql.types.written_types import written_schema, written_type

ANSI = "spark.sql.ansi.enabled"


def spark_rules(conf: Mapping[str, str]) -> list[CallRules]:
    """Return the rules that apply, in the order in which they are tried.

    Without a setting, ANSI is on, as in Spark 4; an expression that Spark then refuses has the type of the other rules.
    """
    names = {"true": ["ansi"], "false": ["legacy"]}.get(conf.get(ANSI, "").lower(), ["ansi", "legacy"])
    return [_read_rules(name) for name in names]


@cache
def _read_rules(name: str) -> CallRules:
    table = engine_table("spark", name)
    own = table.common["wide"]["prefers_integral"]
    differs = any(version["prefers_integral"] != own for version in spark_versions().values())
    return CallRules(table, is_limited=differs)


class SparkTypeInference(CallInference):
    """Infers the types of expressions in one resolved Spark query.

    Args:
        conf: The author's settings.
    """

    def __init__(
        self,
        query: ParsedQuery,
        bindings: Mapping[int, BoundColumn],
        fields: Mapping[int, list[str]],
        subqueries: dict[int, Any],
        conf: Mapping[str, str],
    ) -> None:
        super().__init__(query, bindings, fields, subqueries)
        self.conf = conf
        self._parameters: list[dict[str, str | None]] = []
        self._known: dict[int, str | None] = {}  # the types that a subclass keeps

    def type_of(self, node: exp.Expr) -> str | None:
        """Return the type of an expression; None if it is unknown."""
        kind = self._type_without_sign(node)
        if kind is None or not self.has_plus(node):
            return kind
        return self.result("positive", [Argument(self._passed_type(kind))])

    def _type_without_sign(self, node: exp.Expr) -> str | None:
        if type(node) in _WRAPPERS:
            if type(node) is exp.Distinct and len(node.expressions) != 1:
                return None
            return self.type_of(node.expressions[0] if type(node) is exp.Distinct else node.this)
        computed = self.bindings.get(id(node))
        if computed is not None and computed.type is not None and type(node) not in (exp.Column, exp.Dot):
            return computed.type
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return self._call(node)

    def common_type(self, types: Sequence[str | None]) -> str | None:
        """Return the common type of the results of a CASE, of a set operation or of the rows of VALUES."""
        if None in types:
            return None
        given = [_without_length(str(kind)) for kind in types]
        merged = (rules.wide.of(given) for rules in spark_rules(self.conf))
        return next((kind for kind in merged if kind is not None), None)

    # -- Calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: exp.Expr) -> str | None:
        token = self.query.function_token(node)
        if token is None:
            return None
        name = unquote_identifier(self.text.raw(token)).lower()
        return self._named_call(name, token, node)

    def _named_call(self, name: str, token: int, node: exp.Expr) -> str | None:
        if token and self.text.raw(token - 1) == ".":
            return None  # a function of a database
        special = TYPED_BY_RULES.get(name)
        parts = self.argument_ranges(token, SEPARATORS.get(name, frozenset()))
        if special is not None:
            return special(self, node, parts)
        if any(self.is_star(part) for part in parts):
            return self._only_result(name)
        arguments = self.arguments(node, parts)
        return self.result(name, arguments) if arguments is not None else None

    def _only_result(self, name: str) -> str | None:
        """Return the type of a function that has the same for all arguments, such as `count(*)` or `hash(t.*)`."""
        results = {result for rules in spark_rules(self.conf) for result in rules.table.results(name)}
        return results.pop() if len(results) == 1 and not any(item.startswith("=") for item in results) else None

    def _number(self, written: str) -> str | None:
        return number_type(written)

    def _passed_type(self, kind: str) -> str:
        return _without_length(kind)

    def result(self, name: str, arguments: list[Argument]) -> str | None:
        """Return the type of a call, by its name or operator."""
        results = (rules.result(name, arguments) for rules in spark_rules(self.conf))
        return next((kind for kind in results if kind is not None), None)

    # -- Functions with rules of their own ---------------------------------------------------------------------------

    def _struct_call(self, node: exp.Expr, parts: list[Range]) -> str | None:
        fields = []
        for position, part in enumerate(parts):
            name = None
            first, last = part
            has_as = last - 2 >= first and self.text.kinds[last - 1] is TokenType.ALIAS
            if has_as or has_name_without_as(self.text, part):
                name, last = unquote_identifier(self.text.raw(last)), last - 1 - has_as
            argument = self.argument(node, (first, last))
            if argument is None or self.is_star(part):
                return None
            fields.append((name or argument.name or f"col{position + 1}", argument.type))
        return struct_of(fields)

    def _named_struct(self, node: exp.Expr, parts: list[Range]) -> str | None:
        if len(parts) % 2 or not parts:
            return None
        fields = []
        for name, value in zip(parts[::2], parts[1::2], strict=True):
            key, argument = self.literal_argument(name), self.argument(node, value)
            if key is None or key.literal is None or key.type != "string" or argument is None:
                return None
            fields.append((key.literal, argument.type))
        return struct_of(fields)

    def _zipped(self, node: exp.Expr, parts: list[Range]) -> str | None:
        fields = []
        for position, part in enumerate(parts):
            argument = self.argument(node, part)
            inner = hive_types.arguments(argument.type) if argument is not None else ()
            if argument is None or len(inner) != 1:
                return None
            fields.append((argument.name or str(position), inner[0]))
        return f"array<{struct_of(fields)}>" if fields else None

    def _parsed(self, node: exp.Expr, parts: list[Range]) -> str | None:
        """Return the type of `from_json`, `from_csv` and `from_xml`, which their second argument names."""
        schema = self.literal_argument(parts[1]) if 2 <= len(parts) <= 3 else None
        return written_schema(schema.literal) if schema is not None and schema.literal is not None else None

    def _variant_get(self, node: exp.Expr, parts: list[Range]) -> str | None:
        if len(parts) == 2:
            return "variant"
        target = self.literal_argument(parts[2]) if len(parts) == 3 else None
        return written_type(target.literal) if target is not None and target.literal is not None else None

    def _form(self, node: exp.Expr, parts: list[Range]) -> str | None:
        """Return the type of a call that depends on the type of one argument: the last one, or the time of a window."""
        name = self._word(node) or ""
        is_unit_call = name in SPARK_COUNTS.further
        if is_unit_call and len(parts) == 2:
            arguments = self.arguments(node, parts)
            return self.result(name, arguments) if arguments is not None else None
        time = self.argument(node, parts[-1 if is_unit_call else 0]) if parts else None
        if time is None:
            return None
        answers = (rules.table.forms.get(name, {}) for rules in spark_rules(self.conf))
        return next((kinds[kind_of(time.type)] for kinds in answers if kind_of(time.type) in kinds), None)

    def _date_part(self, node: exp.Expr, parts: list[Range]) -> str | None:
        if len(parts) != 2:
            return None
        field, argument = self.literal_argument(parts[0]), self.argument(node, parts[1])
        if field is None or argument is None or field.literal is None:
            return None
        return self._field(field.literal, argument.type)

    def _extract(self, node: exp.Expr) -> str | None:
        kind = self.type_of(node.args["expression"])
        return self._field(node.name, _without_length(kind)) if kind is not None else None

    def _field(self, field: str, kind: str) -> str | None:
        for rules in spark_rules(self.conf):
            result = rules.table.fields.get(field.lower(), {}).get(kind_of(kind))
            if result is not None:
                return result
        return None

    def _word(self, node: exp.Expr) -> str | None:
        return self.query.function_name(node)

    # -- Functions that take lambdas -----------------------------------------------------------------------------------

    def _body(self, node: exp.Expr, part: Range, *types: str | None) -> str | None:
        """Return the type of a lambda's result for the types of its parameters."""
        function = self.node_in(node, part)
        if not isinstance(function, exp.Lambda):
            constant = self.argument(node, part)
            return constant.type if constant is not None else None
        if len(function.expressions) > len(types):
            return None
        names = [item.name.lower() for item in function.expressions]
        self._parameters.append(dict(zip(names, types, strict=False)))
        try:
            return self.type_of(function.this)
        finally:
            self._parameters.pop()

    def _parameter(self, node: exp.Expr) -> str | None:
        name = node.name.lower()
        scope = next((names for names in reversed(self._parameters) if name in names), None)
        return scope[name] if scope is not None else None

    def _first_and_inner(self, node: exp.Expr, parts: list[Range], *bases: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the type of the first argument, an array or a map, and the types in it."""
        first = self.argument(node, parts[0]) if parts else None
        inner = hive_types.arguments(first.type) if first is not None else ()
        return (first.type, inner) if first is not None and hive_types.base(first.type) in bases and inner else None

    def _transform(self, node: exp.Expr, parts: list[Range]) -> str | None:
        first = self._first_and_inner(node, parts, "array")
        body = self._body(node, parts[1], first[1][0], "int") if first is not None and len(parts) == 2 else None
        return f"array<{body}>" if body is not None else None

    def _first_type(self, node: exp.Expr, parts: list[Range]) -> str | None:
        first = self._first_and_inner(node, parts, "array", "map")
        return first[0] if first is not None else None

    def _aggregate(self, node: exp.Expr, parts: list[Range]) -> str | None:
        first = self._first_and_inner(node, parts, "array")
        zero = self.argument(node, parts[1]) if first is not None and len(parts) in (3, 4) else None
        if first is None or zero is None:
            return None
        merged = self._body(node, parts[2], zero.type, first[1][0])
        if merged != zero.type:
            return None  # Spark may cast the start or refuse the call
        return self._body(node, parts[3], zero.type) if len(parts) == 4 else zero.type

    def _zip_with(self, node: exp.Expr, parts: list[Range]) -> str | None:
        if len(parts) != 3:
            return None
        items = [self._first_and_inner(node, [part], "array") for part in parts[:2]]
        if None in items:
            return None
        body = self._body(node, parts[2], *(item[1][0] for item in items if item is not None))
        return f"array<{body}>" if body is not None else None

    def _transform_keys(self, node: exp.Expr, parts: list[Range]) -> str | None:
        first = self._first_and_inner(node, parts, "map")
        body = self._body(node, parts[1], *first[1]) if first is not None and len(parts) == 2 else None
        return f"map<{body},{first[1][1]}>" if first is not None and body is not None else None

    def _transform_values(self, node: exp.Expr, parts: list[Range]) -> str | None:
        first = self._first_and_inner(node, parts, "map")
        body = self._body(node, parts[1], *first[1]) if first is not None and len(parts) == 2 else None
        return f"map<{first[1][0]},{body}>" if first is not None and body is not None else None

    def _map_zip_with(self, node: exp.Expr, parts: list[Range]) -> str | None:
        if len(parts) != 3:
            return None
        first, second = (self._first_and_inner(node, [part], "map") for part in parts[:2])
        if first is None or second is None or len(first[1]) != 2 or first[1][0] != second[1][0]:
            return None
        body = self._body(node, parts[2], first[1][0], first[1][1], second[1][1])
        return f"map<{first[1][0]},{body}>" if body is not None else None

    # -- Names, literals and casts -----------------------------------------------------------------------------------

    def _column_or_parameter(self, node: exp.Expr) -> str | None:
        column = self.bindings.get(id(node))
        kind = column.type if column is not None else None
        if kind is None and type(node) is exp.Column:
            first = node.parts[0].name.lower()
            scope = next((names for names in reversed(self._parameters) if first in names), {})
            return self._field_of(scope.get(first), [part.name for part in node.parts[1:]])
        return self._field_of(kind, self.fields.get(id(node), ()))

    def _dotted(self, node: exp.Expr) -> str | None:
        if id(node) in self.bindings:
            return self._column_or_parameter(node)
        return self._field_of(self.type_of(node.this), [node.expression.name])

    def _field_of(self, kind: str | None, names: Sequence[str]) -> str | None:
        """Return the type of a field, or of the value of a map for a key."""
        for name in names:
            is_map = kind is not None and hive_types.base(kind) == "map"
            kind = hive_types.arguments(str(kind))[1] if is_map else hive_types.field_of(kind, name)
        return kind

    def _item(self, node: exp.Expr) -> str | None:
        token = self.query.function_token(node)
        name = unquote_identifier(self.text.raw(token)).lower() if token is not None else ""
        if name in ("element_at", "try_element_at", "get") and node.args.get("offset"):
            return self._named_call(name, token or 0, node)
        outer = self.type_of(node.this)
        if variant_key(node) is not None:
            return "variant" if outer == "variant" else None
        inner = hive_types.arguments(outer) if outer is not None else ()
        return inner[-1] if inner and hive_types.base(str(outer)) in ("array", "map") else None

    def _number_or_string(self, node: exp.Expr) -> str | None:
        return "string" if node.args.get("is_string") else number_type(str(node.this))

    def _cast_type(self, node: exp.Expr) -> str | None:
        inner = node.this
        if isinstance(inner, exp.Literal) and inner._meta and not inner.is_string:
            suffix = self.text.sql[inner._meta["start"] : inner._meta["end"] + 1]
            if suffix[-1:].isalpha():
                return number_type(suffix)
        target = node.args["to"]
        if target.args.get("collate"):
            return None
        kind = data_type(target)
        if kind is None or not self._can_cast(inner, kind):
            return None
        return self._target(node) or kind if kind == "string" else kind

    def _can_cast(self, node: exp.Expr, target: str) -> bool:
        """Return whether Spark casts an expression to a type; also for types that are not known or not simple."""
        return self._casts(node, target, self.conf)

    def _casts(self, node: exp.Expr, target: str, conf: Mapping[str, str]) -> bool:
        operand = self._operand(node)
        kinds = kind_of(operand.type) if operand is not None else "?", kind_of(target)
        casts = [rules.table.casts for rules in spark_rules(conf)]
        if any(kind not in accepted for kind in kinds for accepted in casts):
            return True
        return any(kinds[1] in accepted[kinds[0]].split() for accepted in casts)

    def _concatenation_of_strings(self, node: exp.Expr) -> str | None:
        """Return the type of `concat(…)`, or of strings one after the other."""
        return self._call(node) if self.query.function_token(node) is not None else "string"

    def _negative_type(self, node: exp.Expr) -> str | None:
        inner = node.this
        if type(inner) is exp.Literal and not inner.is_string:
            return number_type("-" + str(inner.this))
        return self._operator_of("negative", inner)

    def _interval_of(self, node: exp.Expr) -> str | None:
        written = interval_unit(node).lower()
        units = [_UNITS.get(word.rstrip("s"), "") for word in written.split(" to ")]
        return f"interval {' to '.join(units)}" if units[0] and units[-1] else None

    # -- Operators -----------------------------------------------------------------------------------------------------

    def _operand(self, node: exp.Expr) -> Argument | None:
        kind = self.type_of(node)
        if kind is None:
            return None
        value = self._integer_value(node, kind)
        return Argument(_without_length(kind), value, is_number=value is not None)

    def _integer_value(self, node: exp.Expr, kind: str) -> str | None:
        literal = self._literal_in(node) if kind in hive_types.INTEGERS[1:] else None
        return str(literal.this) if literal is not None and not literal.is_string else None

    def _operator_of(self, name: str, *nodes: exp.Expr) -> str | None:
        operands = [self._operand(node) for node in nodes]
        return None if None in operands else self.result(name, [item for item in operands if item is not None])

    def _binary(self, node: exp.Expr) -> str | None:
        """Return the type of an operator, or of a chain of operators, in a loop: a chain may be long."""
        chain = [node]
        while type(chain[-1].this) in OPERATORS and not self._has_type(chain[-1].this):
            chain.append(chain[-1].this)
        left = self._operand(chain[-1].this)
        for operator in reversed(chain):
            right = self._operand(operator.expression)
            if left is None or right is None:
                operands = (operator.this, operator.expression)
                is_refused = any(
                    item is None and _is_predicate(node) for item, node in zip((left, right), operands, strict=True)
                )
                kind = "boolean" if isinstance(operator, exp.Connector) and not is_refused else None
            else:
                kind = self.result(OPERATORS[type(operator)], [left, right])
            left = Argument(kind) if kind is not None else None
        return left.type if left is not None else None

    def _has_type(self, node: exp.Expr) -> bool:
        """Return whether the type of an operator need not be inferred from its operands."""
        return id(node) in self.bindings or (id(node) in self._known and not self._parameters)

    def _not(self, node: exp.Expr) -> str | None:
        return self._operator_of("~", node.this)

    def _predicate(self, name: str, *nodes: exp.Expr) -> str | None:
        """Return BOOLEAN, or None if Spark has no such predicate for the types of its operands."""
        operands = [self._operand(node) for node in nodes]
        known = [item for item in operands if item is not None]
        if len(known) == len(operands):
            return self.result(name, known)
        # A predicate without a type is refused, also as a part of another one.
        is_refused = any(given is None and _is_predicate(node) for given, node in zip(operands, nodes, strict=True))
        return None if is_refused else "boolean"

    def _comparison(self, node: exp.Expr) -> str | None:
        return self._predicate(COMPARISONS[type(node)], node.this, node.expression)

    def _like(self, node: exp.Expr) -> str | None:
        if isinstance(node.expression, (exp.Any, exp.All)):
            return "boolean"
        return self._predicate("like", node.this, node.expression)

    def _between(self, node: exp.Expr) -> str | None:
        return self._predicate("between", node.this, node.args["low"], node.args["high"])

    def _in(self, node: exp.Expr) -> str | None:
        pairs = [self._predicate("in", node.this, item) for item in node.expressions]
        return None if None in pairs else "boolean"

    def _is(self, node: exp.Expr) -> str | None:
        is_truth = type(node.expression) is exp.Boolean
        return self._predicate("<=>", node.this, node.expression) if is_truth else "boolean"

    def _negation(self, node: exp.Expr) -> str | None:
        return self._predicate("not", node.this)

    def _choice(self, node: exp.Expr) -> str | None:
        if type(node) is exp.Case and node.this is not None:
            compared = [self._predicate("=", node.this, item.this) for item in node.args["ifs"]]
            if None in compared:
                return None
        options = [item.args["true"] for item in node.args.get("ifs") or ()]
        default = node.args.get("default")
        types = [self.type_of(item) for item in options]
        return self.common_type([*types, self.type_of(default)] if default is not None else types)

    def _array_of(self, node: exp.Expr) -> str | None:
        if self.query.function_token(node) is not None:
            return self._call(node)
        inner = self.common_type([self.type_of(item) for item in node.expressions]) if node.expressions else None
        return f"array<{inner}>" if inner is not None else None

    def _ordered_set(self, node: exp.Expr) -> str | None:
        """Return the type of `f(…) WITHIN GROUP (ORDER BY x)`."""
        function, order = node.this, node.expression
        name = self._word(function) or self._word(node)
        item = order.expressions[0] if order is not None and order.expressions else None
        operand = self._operand(item) if item is not None else None
        if name is None or operand is None:
            return None
        if name in ("percentile_cont", "percentile_disc"):
            fraction = self._operand(function.this) if isinstance(function.this, exp.Expr) else None
            return self.result("percentile", [operand, fraction]) if fraction is not None else None
        return self._call(function) if name in ("listagg", "string_agg") else operand.type if name == "mode" else None


def number_type(written: str) -> str | None:
    """Return the type of a number as it is written, with its sign and its suffix."""
    sign, digits = ("-", written[1:]) if written.startswith("-") else ("", written)
    upper = digits.upper()
    if upper.endswith("BD"):
        return _exact_type(upper[:-2])
    suffixed = {"L": "bigint", "S": "smallint", "Y": "tinyint", "D": "double", "F": "float"}.get(upper[-1:])
    if suffixed is not None:
        return suffixed
    if upper.isdigit():
        value = int(sign + upper)
        if -(2**31) <= value < 2**31:
            return "int"
        return "bigint" if -(2**63) <= value < 2**63 else _exact_type(upper)
    return "double" if "E" in upper else _exact_type(upper)


def _exact_type(written: str) -> str | None:
    """Return the decimal of a number without sign and suffix."""
    mantissa, _, exponent = written.partition("E")
    whole, _, fraction = mantissa.partition(".")
    if not (whole + fraction).isdigit():
        return None
    digits = (whole + fraction).lstrip("0")
    scale = len(fraction) - int(exponent or 0)
    precision = len(digits) + max(-scale, 0)
    scale = max(scale, 0)
    precision = max(precision, scale, 1)
    return f"decimal({precision},{scale})" if precision <= 38 else None


def data_type(node: exp.Expr) -> str | None:
    """Return the type that a cast names; strings of limited length are strings in Spark."""
    if isinstance(node.this, exp.Interval):
        return f"interval {interval_unit(node.this).lower()}"
    kind = node.this.value if hasattr(node.this, "value") else str(node.this)
    inner = node.expressions
    if kind == "DECIMAL":
        sizes = [item.name for item in inner] or ["10", "0"]
        return f"decimal({sizes[0]},{sizes[1] if len(sizes) > 1 else 0})" if all(map(str.isdigit, sizes)) else None
    if kind in ("ARRAY", "MAP"):
        parts = [data_type(item) for item in inner if isinstance(item, exp.DataType)]
        is_whole = len(parts) == len(inner) == (1 if kind == "ARRAY" else 2)
        return f"{kind.lower()}<{','.join(map(str, parts))}>" if is_whole and None not in parts else None
    if kind == "STRUCT":
        fields = [(item.name, data_type(item.args["kind"])) for item in inner if isinstance(item, exp.ColumnDef)]
        is_whole = len(fields) == len(inner) > 0 and all(field is not None for _, field in fields)
        return struct_of([(name, str(field)) for name, field in fields]) if is_whole else None
    return _TARGETS.get(kind)


def _without_length(kind: str) -> str:
    """Return STRING for CHAR and VARCHAR, as which Spark reads such columns, and Spark's name of TIMESTAMP."""
    if hive_types.base(kind) in ("varchar", "char"):
        return "string"
    return "timestamp" if kind == "timestamp with local time zone" else kind


def _is_predicate(node: exp.Expr) -> bool:
    """Return whether an expression is a predicate, which has no type if Spark refuses it."""
    while type(node) is exp.Paren:
        node = node.this
    return type(node) in _PREDICATES


def _boolean(types: TypeInference, node: exp.Expr) -> str | None:
    return "boolean"


def _constant(kind: str) -> Callable[[Any, exp.Expr], str | None]:
    return lambda types, node: kind


_UNITS = {
    **{unit: unit for unit in ("year", "month", "day", "hour", "minute", "second")},
    **dict.fromkeys(("millisecond", "microsecond"), "second"),
    "week": "day",
}
"""The units of Spark's interval types by the units of interval literals."""
_WRAPPERS = frozenset(
    {exp.Paren, exp.Alias, exp.Ordered, exp.Distinct, exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.Window}
)
_TARGETS = {
    **CAST_TARGETS,
    "TIMESTAMPLTZ": "timestamp",
    "TIMESTAMPTZ": "timestamp",
    "TIMESTAMPNTZ": "timestamp_ntz",
    "TEXT": "string",
    "VARCHAR": "string",
    "CHAR": "string",
    "VARIANT": "variant",
    "INTERVAL": "interval",
}
COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "=",
    exp.LT: "<",
    exp.LTE: "<",
    exp.GT: "<",
    exp.GTE: "<",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>",
}
"""The comparisons whose operands have the types of another one."""
_PREDICATES = frozenset(
    {exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.RegexpLike, *COMPARISONS}
)
OPERATORS: dict[type, str] = {
    exp.And: "and",
    exp.Or: "or",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.DPipe: "concat",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
_RULES: dict[type, Callable[[SparkTypeInference, Any], str | None]] = {
    exp.Column: SparkTypeInference._column_or_parameter,
    exp.Dot: SparkTypeInference._dotted,
    exp.Identifier: SparkTypeInference._parameter,
    exp.Bracket: SparkTypeInference._item,
    exp.Literal: SparkTypeInference._number_or_string,
    exp.Boolean: _boolean,
    exp.Null: _constant("void"),
    exp.HexString: _constant("binary"),
    exp.RawString: _constant("string"),
    exp.Any: _boolean,
    exp.Concat: SparkTypeInference._concatenation_of_strings,
    exp.Cast: SparkTypeInference._cast_type,
    exp.TryCast: SparkTypeInference._cast_type,
    exp.Case: SparkTypeInference._choice,
    exp.Subquery: TypeInference._subquery,
    exp.WithinGroup: SparkTypeInference._ordered_set,
    exp.Neg: SparkTypeInference._negative_type,
    exp.BitwiseNot: SparkTypeInference._not,
    exp.Extract: SparkTypeInference._extract,
    exp.Interval: SparkTypeInference._interval_of,
    exp.Array: SparkTypeInference._array_of,
    exp.Tuple: lambda types, node: None,
    exp.CurrentDate: _constant("date"),
    exp.CurrentTimestamp: _constant("timestamp"),
    exp.Localtimestamp: _constant("timestamp_ntz"),
    exp.CurrentUser: _constant("string"),
    **dict.fromkeys(OPERATORS, SparkTypeInference._binary),
    exp.Not: SparkTypeInference._negation,
    exp.Exists: _boolean,
    exp.In: SparkTypeInference._in,
    exp.Between: SparkTypeInference._between,
    exp.Is: SparkTypeInference._is,
    **dict.fromkeys(COMPARISONS, SparkTypeInference._comparison),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike), SparkTypeInference._like),
}
TYPED_BY_RULES: dict[str, Callable[[SparkTypeInference, exp.Expr, list[Range]], str | None]] = {
    "struct": SparkTypeInference._struct_call,
    "named_struct": SparkTypeInference._named_struct,
    "arrays_zip": SparkTypeInference._zipped,
    "variant_get": SparkTypeInference._variant_get,
    "try_variant_get": SparkTypeInference._variant_get,
    "transform": SparkTypeInference._transform,
    "filter": SparkTypeInference._first_type,
    "map_filter": SparkTypeInference._first_type,
    "array_sort": SparkTypeInference._first_type,
    "aggregate": SparkTypeInference._aggregate,
    "reduce": SparkTypeInference._aggregate,
    "zip_with": SparkTypeInference._zip_with,
    "transform_keys": SparkTypeInference._transform_keys,
    "transform_values": SparkTypeInference._transform_values,
    "map_zip_with": SparkTypeInference._map_zip_with,
    "exists": lambda types, node, parts: "boolean",
    "forall": lambda types, node, parts: "boolean",
    **dict.fromkeys(("window", "session_window"), SparkTypeInference._form),
    **dict.fromkeys(("from_json", "from_csv", "from_xml"), SparkTypeInference._parsed),
    **dict.fromkeys(("date_part", "datepart"), SparkTypeInference._date_part),
    **dict.fromkeys(SPARK_COUNTS.further, SparkTypeInference._form),
}
"""The functions whose type depends on names, literals or lambdas, which the table does not have."""
