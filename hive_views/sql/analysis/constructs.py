"""The constructs of a resolved query as short texts with the types that decide what an engine returns for them.

For example `=(string,int)`, `sum(decimal)`, `cast(string as int)`, `over(rank; order: default nulls)`. A table of
answers has patterns of these texts (`hive_views.sql.analysis.reader_rules`). Whatever this module does not recognize is
a construct, too, so that it is never taken for a construct that was measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.analysis.conditions import (
    bare_operands,
    conditions_over_lateral_views,
    inequalities,
    joins_of_one_table,
    set_operations_of_one_table,
)
from hive_views.sql.analysis.known_values import (
    filtering_select,
    is_filter_of_values,
    is_from_end,
    is_never_negative,
    is_never_null,
    is_time,
)
from hive_views.sql.analysis.literals import (
    argument_literals,
    compared_literal,
    has_only_escaped_backslashes,
    has_time,
    is_number_format,
    is_plain_format,
    is_plain_regex,
)
from hive_views.sql.analysis.magnitudes import cannot_overflow, holds_integers, is_value_of
from hive_views.sql.analysis.operands import (
    LENGTHS,
    computing,
    has_nonzero_divisor,
    is_collected,
    is_collected_without_order,
    is_existing_element,
    is_first_of_month,
    is_later_element,
    is_nonzero,
    is_null_for_zero,
    is_position,
    is_quotient,
    is_rounded,
    is_under_choice,
    rounded_quotient,
    spelled,
    values_of_choice,
)
from hive_views.sql.analysis.written_names import with_written_name
from hive_views.sql.parsing.syntax_tree import (
    ADDED_BY_THE_PARSER,
    child_expressions,
    first_offsets_of,
    function_token,
    interval_unit,
    unwrapped,
    without_additions,
)
from hive_views.sql.parsing.variant_paths import variant_key
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.types.hive_types import INTEGERS, as_decimal, base, decimal
from hive_views.sql.types.hive_types import arguments as type_arguments


@dataclass(frozen=True)
class Construct:
    """A construct of a query."""

    signature: str
    """The construct and the types of its operands, by which rules are selected."""
    start: int
    """Where it begins in the text, in characters."""
    written: str | None = None
    """The signature with the names that the text has; None if that is the signature."""

    @property
    def shown(self) -> str:
        """The construct as it is shown to users."""
        return self.written or self.signature


_MANY_DIGITS = 11
"""The digits behind the point of a quotient of which both engines have one more or one less."""

_SMALL = 100
"""An integer that is a value of each type of numbers."""

_MOST_DIGITS = 37
"""The most digits of a decimal; one less than 38, since Spark gives BIGINT 20 digits and Hive 19."""

GROUPING_ID = "grouping__id"
"""The column of ROLLUP, CUBE and GROUPING SETS whose value says which keys are grouped."""

UNKNOWN = "?"
"""The type of an operand whose type is unknown."""

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>",
    exp.LT: "<",
    exp.LTE: "<",
    exp.GT: "<",
    exp.GTE: "<",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.DPipe: "||",
    exp.Like: "like",
    exp.RegexpLike: "rlike",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.And: "and",
    exp.Or: "and",
    exp.Not: "not",
    exp.Neg: "negative",
    exp.BitwiseNot: "~",
    exp.Between: "between",
    exp.Bracket: "[]",
}
"""Operators whose operands are nodes of the tree. `<>` differs from `=` only by NOT, and so on."""

_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
"""Operators that compare their operands with each other."""

_SILENT = (
    *(
        exp.Alias,
        exp.Aliases,
        exp.Boolean,
        exp.ColumnDef,
        exp.CTE,
        exp.DataType,
        exp.DataTypeParam,
        exp.Distinct,
        exp.From,
        exp.Group,
    ),
    *(exp.Having, exp.Identifier, exp.Literal, exp.Null, exp.Order, exp.Paren, exp.PropertyEQ, exp.Select, exp.Star),
    *(exp.TableAlias, exp.Tuple, exp.Var, exp.Where, exp.With),
    *(exp.Cluster, exp.Distribute, exp.Sort, exp.Cube, exp.GroupingSets, exp.Rollup),
    *(exp.JSONPath, exp.JSONPathKey, exp.JSONPathRoot, exp.JSONPathSubscript),
)
"""Nodes without an answer of their own: what is in them has one, or the node around them."""

# ruff: noqa: SIM905 (long lists of words)
LITERALS_DECIDE = frozenset(
    """
    concat_ws conv date_add date_format date_sub date_trunc decode elt extract field floor format_number
    from_utc_timestamp get_json_object lpad next_day parse_url regexp_extract regexp_replace rpad sha2 split substr
    substring substring_index to_utc_timestamp translate trunc
    """.split()
)
"""Functions whose literals are a part of the signature."""


_TRAILING_ZERO = re.compile(r"\d*\.\d*0")
_NUMBER = re.compile(r"\d+[LSY]?|\d+\.\d+|\d+(?:\.\d+)?(?:D|BD)", re.IGNORECASE)
"""The numbers that were measured. `10.`, `1.5F` and `1E3` were not."""

_MOST_PLAIN_DECIMALS = 6
"""The most digits behind the point of a decimal that Spark writes without an exponent, such as in 1E-7."""

_WORDS = {
    "try_cast": "try_cast",
    **dict.fromkeys(("long", "short", "byte"), "a name of a type that only Spark has"),
}
"""Words that sqlglot reads like others."""


_OF_WINDOWS = frozenset(
    "cume_dist dense_rank first_value lag last_value lead ntile percent_rank rank row_number".split()
)
"""Functions that only windows have."""

_WITH_FORMAT = ("date_format", "from_unixtime", "from_unixtime of a time", "unix_timestamp")
_WITHOUT_PARENTHESES: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date()",
    exp.CurrentTimestamp: "current_timestamp()",
}
_GENERATORS = frozenset({"explode", "explode_outer", "inline", "json_tuple", "parse_url_tuple", "posexplode", "stack"})


def constructs(resolution: ResolvedQuery) -> Iterator[Construct]:
    """Yield the constructs of a query, in no particular order."""
    return _Reader(resolution).read()


_MAX_SAMPLE = 12
"""Tokens of TABLESAMPLE up to its closing parenthesis, where its column is no expression."""


class _Reader:
    def __init__(self, resolution: ResolvedQuery) -> None:
        self._text = resolution.text
        self._tree = resolution.tree
        self._resolution = resolution
        self._starts = first_offsets_of(resolution.tree)

    def read(self) -> Iterator[Construct]:
        if self._tree.find(exp.Star) is not None:
            types = [column.type or UNKNOWN for column in self._resolution.output.columns]
            yield from (Construct(f"column({kind})", 0) for kind in {*map(base, types)} - _PLAIN)
            if any(map(_is_array_of_texts, types)):
                yield Construct("column(array of texts)", 0)
        compared: set[int] = set()
        """Where literals are that a comparison has, or that get the type of others: their scale changes no row."""
        for node in self._tree.walk():
            if isinstance(node, exp.Literal) and (_is_compared(node) or self._has_no_own_scale(node)):
                compared.add(self._starts.get(id(node), -1))
            for signature in self._signatures(node):
                shown = with_written_name(self._resolution.query, node, signature)
                yield Construct(signature, self._starts.get(id(node), 0), shown)
        for at, token in enumerate(self._text.tokens):
            # The parser drops some samples, and hints of the dialect hive that it does not know.
            if token.token_type is TokenType.TABLE_SAMPLE or self._text.raw(at).lower() == "tablesample":
                yield Construct(self._sample(at), token.start)
            elif token.token_type is TokenType.NUMBER and _TRAILING_ZERO.fullmatch(self._text.raw(at)):
                if token.start in compared:
                    continue
                yield Construct("decimal literal with trailing zeros", token.start)
            elif token.token_type is TokenType.NUMBER and (
                not _NUMBER.fullmatch(self._text.raw(at)) or self._is_fraction(at)
            ):
                yield Construct(
                    "number with an exponent, a suffix or without digits at a side of its point", token.start
                )
            elif token.token_type is TokenType.NOT and self._text.raw(at) == "!":
                yield Construct("not, written as !", token.start)
            elif self._text.raw(at).lower() in _WORDS and self._text.kinds[at - 1 : at] != [TokenType.DOT]:
                yield Construct(_WORDS[self._text.raw(at).lower()], token.start)
            elif token.token_type is TokenType.HINT:
                yield Construct("hint", token.start)
            elif token.token_type is TokenType.STRING and "\\" in self._text.raw(at):
                kind = "an escaped backslash" if has_only_escaped_backslashes(self._text.raw(at)) else "a backslash"
                yield Construct(f"string with {kind}", token.start)
            elif token.token_type is TokenType.STRING and self._text.kinds[at - 1 : at] == [TokenType.STRING]:
                yield Construct("adjacent strings", token.start)

    def _is_fraction(self, at: int) -> bool:
        """Return whether a number follows a point, as in `.5`."""
        return self._text.kinds[at - 1 : at] == [TokenType.DOT]

    def _sample(self, at: int) -> str:
        """Return the signature of a sample whose keyword is the token `at`."""
        tokens = [self._text.raw(index).lower() for index in range(at, min(at + _MAX_SAMPLE, len(self._text.tokens)))]
        words = tokens[: tokens.index(")")] if ")" in tokens else tokens
        if "on" in words:
            return "tablesample with on"
        return "tablesample" if {"percent", "rows", "bucket"} & {*words} else "tablesample of bytes"

    def _signatures(self, node: exp.Expr) -> Iterator[str]:
        kind = type(node)
        yield from bare_operands(node)
        if kind is exp.Column:
            if node.name.lower() in _VIRTUAL_COLUMNS:
                yield "a virtual column"
            if node.name.lower() == GROUPING_ID:
                yield GROUPING_ID
            is_output = isinstance(node.parent, (exp.Select, exp.Alias))
            if _is_array_of_texts(self._full_type(node)):
                yield "column(array of texts)"
            elif is_output and self._type(node) not in _PLAIN:
                yield f"column({self._type(node)})"
        elif variant_key(node) is not None:
            yield "a path into a variant"
        elif kind is exp.Dot:
            if not isinstance(node.expression, exp.Func):
                yield "field"
        elif isinstance(node, exp.Table):
            if node.catalog:
                yield f"catalog {node.catalog.lower()}"
            for clause in ("sample", "pivots", "version", "when", "changes", "only", "partition", "joins"):
                if node.args.get(clause):
                    yield f"table with {clause}"
        elif isinstance(node, exp.Query):
            yield from self._query(node)
        elif kind in _SILENT:
            if kind is exp.TableAlias and node.args.get("columns") and not isinstance(node.parent, exp.Lateral):
                yield f"{node.parent.key if node.parent is not None else ''} alias with column names"
            if kind is exp.Group:
                yield from self._group(node)
            elif kind in (exp.Where, exp.Having):
                yield from self._condition(node.this)
                yield from conditions_over_lateral_views(node)
            if kind is exp.Having and node.parent is not None and not node.parent.args.get("group"):
                yield "having without group by"
            elif kind is exp.Tuple and not isinstance(node.parent, (exp.Group, exp.Partition, *_OF_TUPLES)):
                yield "tuple"
        elif isinstance(node, exp.Join):
            yield from self._join(node)
        elif kind is exp.Lateral:
            is_written = isinstance(node.this, exp.Inline) and isinstance(node.this.this, exp.Array)
            outer, of_array = "outer " if node.args.get("outer") else "", " of array()" if is_written else ""
            yield f"lateral view {outer}{_name_of(node.this)}{of_array}"
        elif kind in (exp.Any, exp.All) and isinstance(node.parent, exp.Like):
            return  # a part of the operator
        elif isinstance(node, exp.Window):
            if not isinstance(node.this, exp.Identifier):  # a definition in the clause WINDOW
                yield self._window(node)
        elif kind is exp.Ordered:
            return  # reported with the LIMIT or the window
        elif kind in (exp.Limit, exp.Offset, exp.Fetch):
            yield from self._limit(node)
        elif kind in (exp.WindowSpec, exp.Hint, exp.JoinHint):
            return  # reported with the window; hints are found in the tokens
        elif kind is exp.Exists:
            yield "exists"
            yield from inequalities(node.this)
        elif kind is exp.In:
            yield from self._in(node)
        elif kind is exp.Is:
            right = unwrapped(node.expression)
            yield (
                f"is null({self._type(node.this)})"
                if isinstance(right, exp.Null)
                else f"is true({self._type(node.this)})"
            )
            if isinstance(right, exp.Null) and any(map(is_quotient, node.this.walk())):
                yield "is null(quotient)"
        elif isinstance(node, exp.Cast):
            yield self._cast(node)
        elif kind in (exp.Case, exp.If):
            if kind is exp.If and isinstance(node.parent, exp.Case):
                return
            yield from self._choice(node)
        elif kind is exp.QueryTransform:
            yield "TRANSFORM … USING"
        elif kind is exp.Interval or (kind is exp.Schema and isinstance(node.parent, exp.QueryTransform)):
            return  # the operator has the type; a part of TRANSFORM
        elif kind in _OPERATORS:
            yield from self._operator(node)
        elif isinstance(node, exp.Func):
            yield from self._call(node)
        elif isinstance(node.parent, (exp.Hint, exp.JoinHint)) or node.find_ancestor(exp.Hint) is not None:
            return
        else:
            yield kind.key.replace("_", " ")

    # -- Types -----------------------------------------------------------------------------------------------------

    def _type(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Interval):
            unit = (interval_unit(node) or "?").rstrip("S")
            return "interval " + ("month" if unit in ("YEAR", "MONTH") else unit.lower())
        kind = self._resolution.type_of(node)
        return UNKNOWN if kind is None else base(kind)

    def _type_in_text(self, node: exp.Expr) -> str:
        """Return the type of a value that becomes a part of a text."""
        size = decimal(self._full_type(node))
        return self._type(node) if size is None or size[1] <= _MOST_PLAIN_DECIMALS else "decimal with small digits"

    def _full_type(self, node: exp.Expr) -> str:
        return self._resolution.type_of(node) or UNKNOWN

    def _types(self, nodes: Iterable[exp.Expr]) -> str:
        return ",".join(map(self._type, nodes))

    def _compared(self, nodes: list[exp.Expr]) -> str:
        """Return the types of operands that are compared, with the classes of literals."""
        first, *others = map(self._type, nodes)
        right = [compared_literal(node, first) or kind for node, kind in zip(nodes[1:], others, strict=True)]
        left = compared_literal(nodes[0], others[0]) if len(others) == 1 else None
        return ",".join([left or first, *right])

    def _shared(self, nodes: Iterable[exp.Expr]) -> str:
        """Return the type that all values have; otherwise the types, as `different: …`."""
        full = {self._full_type(node) for node in nodes} - {"void"}
        if len(full) == 1 or not full:
            return base(next(iter(full), "void"))
        return f"different: {','.join(sorted(full))}"

    def _shared_exact(self, nodes: list[exp.Expr]) -> str | None:
        """Return the names of different types of integers and decimals that one decimal holds; None for others."""
        kinds = {*map(self._type, nodes)}
        is_different = len({*map(self._full_type, nodes)}) > 1
        is_held = kinds <= _EXACT and self._digits_of("+", nodes) <= _MOST_DIGITS
        return f"different: {','.join(sorted(kinds))}" if is_different and is_held else None

    def _has_no_own_scale(self, literal: exp.Literal) -> bool:
        """Return whether a number becomes a DOUBLE, or is a value of a choice that another value's DECIMAL holds."""
        around = computing(literal)
        if around is None or self._type(around) == "double":
            return around is not None
        quotient = rounded_quotient(around)
        if quotient is not None and self._has_many_digits(quotient):
            return True
        whole, _, fraction = literal.name.partition(".")
        values = () if isinstance(around, exp.Binary) else values_of_choice(around)
        sizes = [
            size for item in values if item is not literal and (size := decimal(self._full_type(item))) is not None
        ]
        return any(size[1] >= len(fraction) and size[0] - size[1] >= len(whole) for size in sizes)

    def _digits(self, node: exp.Expr) -> int:
        """Return the digits of a decimal; 0 for another type."""
        size = decimal(self._full_type(node))
        return 0 if size is None else size[0]

    def _has_many_digits(self, quotient: exp.Div) -> bool:
        """Return whether a decimal divided by an integer has so many digits that one more changes nothing once rounded.

        Hive's vectorized execution returns 0 for `100.0 * i / n` with a decimal n.
        """
        size = decimal(self._full_type(quotient))
        return size is not None and size[1] >= _MANY_DIGITS and self._type(quotient.expression) in INTEGERS

    def _digits_of(self, operator: str, operands: Iterable[exp.Expr]) -> int:
        """Return the digits that the exact result of an operator on decimals and integers needs."""
        sizes = [as_decimal(self._full_type(node)) for node in operands]
        if operator == "*":
            return sum(precision for precision, _ in sizes) + 1
        return max(precision - scale for precision, scale in sizes) + max(scale for _, scale in sizes) + 1

    def _is_held(self, pair: tuple[exp.Expr, ...]) -> bool:
        """Return whether one of two columns is a decimal that holds the values of the other, decimals or integers."""
        sizes = [decimal(self._full_type(node)) for node in pair]
        if sizes[0] is not None and sizes[1] is not None:
            return (
                max(size[0] - size[1] for size in sizes if size) + max(size[1] for size in sizes if size) < _MOST_DIGITS
            )
        for node, size in zip(pair, reversed(sizes), strict=True):
            if size is not None:
                literal = unwrapped(node.this if isinstance(node, exp.Alias) else node)
                whole = size[0] - size[1]
                if isinstance(literal, exp.Literal) and not literal.is_string:
                    return literal.name.isdecimal() and len(literal.name) <= whole
                return self._type(node) in INTEGERS and as_decimal(self._type(node))[0] <= whole
        return False

    # -- Expressions -----------------------------------------------------------------------------------------------

    def _operator(self, node: exp.Expr) -> Iterator[str]:
        name = _OPERATORS[type(node)]
        if name == "like" and isinstance(node.expression, (exp.Any, exp.All)):
            yield from self._like_any(node)
            return
        if name == "negative" and isinstance(node.this, exp.Literal):
            return
        if _is_negated_literal(node):
            return
        operands = [item for value in node.args.values() for item in child_expressions(value)]
        types = self._compared(operands) if isinstance(node, _COMPARED) else self._types(operands)
        if name in ("/", "%", "div"):
            divisor = "by constant" if is_nonzero(node.expression) else "by value"
            if divisor == "by value" and has_nonzero_divisor(node):
                divisor = "by a number that is not 0"
            is_few = isinstance(node, exp.Div) and is_rounded(node) and self._has_many_digits(node)
            rounded = "rounded " if is_few else ""
            yield f"{rounded}{name} {divisor}({types})"
            if divisor == "by value" and is_under_choice(node):
                yield "quotient in a condition"
            elif divisor == "by value" and not is_null_for_zero(node.expression):
                yield f"quotient by a possible 0{'' if _is_output(node) else ' in a subquery'}"
        elif name in ("+", "-") and isinstance(node.this, LENGTHS) and isinstance(node.expression, exp.Literal):
            yield f"{name} of a length({types})"
        elif name in ("+", "-", "*") and cannot_overflow(node, self._type(node)):
            yield f"{name} of small integers({types})"
        elif name in ("+", "-", "*") and "decimal" in types and self._digits_of(name, operands) > _MOST_DIGITS:
            yield "arithmetic beyond 38 digits"
        elif name == "[]" and is_existing_element(node):
            yield f"[] of an element that exists({types})"
        elif name == "between" and all(map(_is_constant, (node.args["low"], node.args["high"]))):
            yield f"between constants({types})"
        elif name == "||":
            yield f"||({','.join(map(self._type_in_text, operands))})"
        elif name in ("+", "-") and types == "date,int" and isinstance(node.expression, exp.Literal):
            yield f"{name}(date,n)"
        else:
            yield f"{name}({types})"
        if name in ("like", "rlike"):
            yield f"{name} pattern({_pattern(name, node.expression)})"

    def _like_any(self, node: exp.Expr) -> Iterator[str]:
        patterns = child_expressions(unwrapped(node.expression.this).args.get("expressions"))
        for pattern in patterns or (unwrapped(node.expression.this),):
            yield f"like {node.expression.key}({self._type(node.this)},{self._type(pattern)})"
            yield f"like pattern({_pattern('like', pattern)})"

    def _in(self, node: exp.Expr) -> Iterator[str]:
        query = node.args.get("query")
        if query is None:
            for item in node.expressions:
                yield f"in({self._compared([node.this, item])})"
            return
        inner = query.unnest() if isinstance(query, exp.Subquery) else query
        columns = inner.selects if isinstance(inner, exp.Query) else []
        kind = self._type(columns[0]) if len(columns) == 1 else UNKNOWN
        negated = isinstance(node.parent, exp.Not) or (
            isinstance(node.parent, exp.Paren) and isinstance(node.parent.parent, exp.Not)
        )
        is_filter = _is_conjunct(node.parent if negated else node)
        where = "" if is_filter and not negated else " not" if negated else " value"
        if is_filter and negated and len(columns) == 1 and is_never_null(columns[0], inner):
            where = " not of values"
        yield f"in query{where}({self._type(node.this)},{kind})"
        yield from inequalities(inner)

    def _cast(self, node: exp.Cast) -> str:
        target = self._type(node)
        if target == UNKNOWN:  # the type in the other engine is not determined, but it is written
            written = node.args["to"].this
            target = str(getattr(written, "value", written)).lower().replace("timestamptz", "timestamp")
        part = unwrapped(node.this)
        is_cast = isinstance(part, exp.Substring) and isinstance(part.this, exp.Cast)
        if is_cast and self._type(part.this.this) in ("date", "timestamp"):
            return f"cast(part of a date as {target})"  # the form of year(), date_format() … in the text of a row
        if isinstance(part, exp.TimeToStr) and self._is_number_of_date(part, target):
            return f"cast(part of a date as {target})"
        if isinstance(node.this, exp.Literal) and is_value_of(node.this, self._full_type(node), target):
            return f"cast(literal as {target})"
        if isinstance(node.this, exp.Literal):
            source = f"{'string' if node.this.is_string else self._type(node.this)} literal"
        else:
            source = self._type(node.this)
            if self._full_type(node.this) == self._full_type(node) != UNKNOWN:
                return "cast to its own type"
        if target == "decimal" and source == "decimal":
            sizes = [decimal(self._full_type(item)) or (0, 0) for item in (node.this, node)]
            (digits, scale), (to_digits, to_scale) = sizes
            spare = to_digits - to_scale - (digits - scale)
            if to_scale < scale and (spare > 0 or (spare == 0 and isinstance(part, (exp.Mul, exp.Add, exp.Sub)))):
                return "cast(decimal as decimal with fewer digits behind its point)"
            return f"cast(decimal as {'wider' if to_scale >= scale and spare >= 0 else 'narrower'} decimal)"
        size = decimal(self._full_type(node.this))
        if size is not None and holds_integers(size, target):
            return f"cast(small decimal as {target})"
        if target == "string":
            source = self._type_in_text(node.this)
        return f"cast({source} as {target})"

    def _choice(self, node: exp.Expr) -> Iterator[str]:
        """Yield CASE and IF: the comparisons with an operand, and the results."""
        ifs = node.args.get("ifs") or [node]
        results = [item.args["true"] for item in ifs]
        default = node.args.get("default") if type(node) is exp.Case else node.args.get("false")
        yield f"case({self._shared([*results, *([default] if default is not None else [])])})"
        for item in ifs:
            if type(node) is exp.Case and node.this is not None:
                yield f"=({self._type(node.this)},{self._type(item.this)})"
            else:
                yield from self._condition(item.this)

    def _call(self, node: exp.Func) -> Iterator[str]:
        at = function_token(self._text, node)
        if at is None:
            is_added = isinstance(node, ADDED_BY_THE_PARSER) and "start" not in (node._meta or {})
            if not is_added:  # what is around `current_date`, which is a name without parentheses
                yield _WITHOUT_PARENTHESES.get(type(node), f"{node.key.replace('_', ' ')}(?)")
            return
        if "start" in (node._meta or {}):
            name = self._text.raw(at).strip("`").lower()
            if self._text.kinds[at - 1 : at] == [TokenType.DOT]:
                yield f"database.{name}"
                return
        elif isinstance(node, ADDED_BY_THE_PARSER):
            return  # a part of the call around it
        else:
            # The parser keeps no position; `function_token` is that of a call inside, as in `initcap(trim(x))`.
            name = _NAMES_WITHOUT_POSITION.get(type(node)) or node.sql_name().lower()
        arguments = [without_additions(item) for value in node.args.values() for item in child_expressions(value)]
        if isinstance(node, exp.JSONExtractScalar) and isinstance(node.expression, exp.JSONPath):
            arguments = [node.this, exp.Literal.string("".join(self._strings_of(at)[-1:])[1:-1])]
        values = [item for item in arguments if not isinstance(item, exp.Var)]
        distinct = "distinct " if any(isinstance(item, exp.Distinct) for item in arguments) else ""
        flat = [inner for item in values for inner in (item.expressions if isinstance(item, exp.Distinct) else [item])]
        if isinstance(node, exp.Array) and isinstance(node.parent, exp.VarMap):
            return  # the keys or the values of a map
        if isinstance(node, exp.VarMap):
            yield f"{name}({','.join(self._shared(node.args[part].expressions) for part in ('keys', 'values'))})"
            return
        if name == "named_struct":
            yield from (f"named_struct({self._type(getattr(item, 'expression', item))})" for item in flat)
            return
        if is_collected_without_order(node) and not distinct and len(flat) == 1:
            yield f"{name} without order({self._type(flat[0])})"
            return
        if name == "nullif" and len(flat) == 2 and (types := self._nullif(*flat)) is not None:
            yield f"nullif({types})"
            return
        if name in ("coalesce", "nvl", "greatest", "least", "nullif", "ifnull", "array"):
            types = self._shared(flat)
            select = filtering_select(node)
            if name in ("greatest", "least") and all(is_never_null(item, select) for item in flat):
                yield f"{name} of values({self._shared_exact(flat) or types})"
                return
            yield f"{name}({types})"
            if name in ("coalesce", "nvl") and any(is_quotient(inner) for item in flat for inner in item.walk()):
                yield "coalesce of a quotient"
            return
        if name in _OF_WINDOWS and node.find_ancestor(exp.Window) is not None:
            return  # a part of the window's signature
        if name in _GENERATORS and not isinstance(node.parent, exp.Lateral):
            is_only = bool(flat) and name in ("explode", "posexplode") and _is_only_column(node)
            yield f"{name} as the only column({self._types(flat)})" if is_only else "a generator in the SELECT list"
            return
        if name == "inline":
            return  # a part of the signature of LATERAL VIEW
        if name == "avg" and flat and isinstance(flat[0], exp.Cast) and self._type(flat[0].this) in INTEGERS:
            yield f"avg({self._type(flat[0].this)} as {self._type(flat[0])})"
            return
        if name in ("sum", "avg") and len(flat) == 1 and self._digits(flat[0]) > _MOST_DIGITS - 10:
            yield f"{name} beyond 38 digits"
            return
        if name == "sqrt" and len(flat) == 1 and is_never_negative(flat[0], filtering_select(node)):
            yield f"sqrt of no negative number({self._types(flat)})"
            return
        if name == "from_unixtime" and self._type(flat[0]) == "bigint" and is_time(flat[0], filtering_select(node)):
            name = "from_unixtime of a time"
        if name == "add_months" and flat and is_first_of_month(flat[0]):
            name = "add_months of the first of a month"
        if name in _WITH_FORMAT and flat and len(self._strings_of(at)) == 1:
            yield f"{name}({self._type(flat[0])},{self._written_format(name, at)})"
            return
        if name in ("round", "bround") and flat and _is_within_scale(flat, self._full_type(flat[0])):
            yield f"{name}(decimal) to fewer digits"
            return
        if name == "array_contains" and _is_conjunct(node, exp.Where):
            yield f"array_contains as a filter({self._types(flat)})"
            return
        if isinstance(node, exp.ArraySort):
            elements = base((*type_arguments(self._full_type(node.this)), self._full_type(node.this))[0])
            yield "sort_array with order" if node.args.get("asc") is not None else f"{name}(array of {elements})"
            return
        if name == "concat_ws" and len(flat) > 1:
            yield from self._concat_ws(flat)
            return
        if name == "count" and distinct and len(flat) > 1:
            yield from (f"count(distinct several: {self._type(item)})" for item in flat)
            return
        if isinstance(node, exp.Trim) and node.args.get("position"):
            yield f"trim {str(node.args['position']).lower()} from({self._types(flat)})"
            return
        if name == "size" and len(flat) == 1:
            is_value = is_never_null(flat[0], filtering_select(node))
            of_filter = " as a filter" if is_filter_of_values(node) else ""
            yield f"size{of_filter}({'not null ' if is_value else ''}{self._type(flat[0])})"
            return
        kind = self._type_in_text if name in ("concat", "||") else self._type
        if name in LITERALS_DECIDE:
            kind = self._literal_or_type
        is_part = name in ("substr", "substring")
        if is_part and is_from_end(flat, filtering_select(node)):
            yield f"{name} from the end of a longer text({','.join((self._type(flat[0]), *['n'] * (len(flat) - 1)))})"
            return
        literals = argument_literals(name, flat)
        types = ",".join(
            "*"
            if isinstance(item, exp.Star)
            else "position"
            if is_part and number and is_position(item)
            else literal or kind(item)
            for number, (item, literal) in enumerate(zip(flat, literals, strict=False))
        )
        if name == "split" and is_later_element(node):
            name = "later element of split"
        unit = next((item.name.lower() for item in arguments if isinstance(item, exp.Var)), "")
        yield f"{name}({distinct}{f'{unit} from ' if unit and name in ('extract', 'trunc') else ''}{types})"

    def _is_number_of_date(self, call: exp.Expr, kind: str) -> bool:
        """Return whether a call prints a date or timestamp in digits only, of which an integer type has a value."""
        at = function_token(self._text, call)
        written = [] if at is None else self._strings_of(at)
        is_number = len(written) == 1 and is_number_format(written[0][1:-1], kind)
        return is_number and self._type(without_additions(call.this)) in ("date", "timestamp")

    def _nullif(self, value: exp.Expr, excluded: exp.Expr) -> str | None:
        """Return the types of nullif() in their order, with the class of a small integer; None for one type."""
        if self._full_type(value) == self._full_type(excluded):
            return None
        size = decimal(self._full_type(value))
        is_integer = isinstance(excluded, exp.Literal) and not excluded.is_string and excluded.name.isdecimal()
        if is_integer and int(excluded.name) <= _SMALL and (size is None or size[0] - size[1] >= len(str(_SMALL))):
            return f"{self._type(value)},small integer"
        return f"different: {self._full_type(value)},{self._full_type(excluded)}"

    def _written_format(self, name: str, at: int) -> str:
        """Return the format in the call whose name is the token `at`, or its class if the call prints."""
        (raw,) = self._strings_of(at)
        if name == "unix_timestamp" or not is_plain_format(raw[1:-1]):
            return raw
        return "'fields'" if has_time(raw) else "'fields of dates'"

    def _strings_of(self, at: int) -> list[str]:
        """Return the strings among the arguments of the call whose name is the token `at`, as they are written."""
        inside = range(at + 2, self._text.match.get(at + 1, at))
        own = (inner for inner in inside if self._text.enclosing[inner] == self._text.enclosing[at + 2])
        return [self._text.raw(inner) for inner in own if self._text.raw(inner)[0] in _QUOTES]

    def _concat_ws(self, values: list[exp.Expr]) -> Iterator[str]:
        """Yield concat_ws by its separator and each value: their number does not matter."""
        (separator, *_) = argument_literals("concat_ws", values)
        for item in values[1:]:
            kind = "collected texts" if is_collected(item) else self._type(item)
            yield f"concat_ws({separator or self._literal_or_type(values[0])},{kind})"

    def _literal_or_type(self, node: exp.Expr) -> str:
        is_literal = isinstance(node, (exp.Literal, exp.Neg)) or _is_negated_literal(node)
        return node.sql("hive") if is_literal else self._type(node)

    def _condition(self, node: exp.Expr) -> Iterator[str]:
        kind = self._type(node)
        if kind not in ("boolean", UNKNOWN):
            yield f"condition({kind})"

    # -- Clauses ---------------------------------------------------------------------------------------------------

    def _query(self, node: exp.Query) -> Iterator[str]:
        if isinstance(node, exp.SetOperation):
            yield from set_operations_of_one_table(node)
            name = node.key + (" distinct" if node.args.get("distinct") else " all")
            sides = [side.selects for side in (node.left, node.right)]
            if len(sides[0]) != len(sides[1]):
                yield f"{name}(?)"
            for pair in zip(*sides, strict=False):
                shared = self._shared(pair)
                is_held = shared.startswith("different: ") and self._is_held(pair)
                yield f"{name}(integers held by decimal)" if is_held else f"{name}({shared})"
            return
        if isinstance(node, exp.Subquery):
            around = node.parent
            if isinstance(around, (exp.From, exp.Join)) and not node.alias:
                yield "derived table without alias"
            if isinstance(node.this, exp.Table):
                yield "join in parentheses"
            elif not isinstance(around, (exp.From, exp.Join, exp.In, exp.Exists, exp.SetOperation, exp.Subquery)) and (
                around is not None
            ):
                inner = node.unnest()
                aggregated = (
                    isinstance(inner, exp.Select) and not inner.args.get("group") and len(inner.selects) == 1
                ) and isinstance(unwrapped(inner.selects[0]), exp.AggFunc)
                yield "scalar subquery of an aggregate" if aggregated else "scalar subquery"
                yield from inequalities(inner)
            if node.args.get("pivots"):
                yield "pivot"
            return
        if not isinstance(node, exp.Select):
            yield node.key
            return
        for clause in ("cluster", "distribute", "sort"):
            if node.args.get(clause) is not None:
                yield f"{clause} by"
        for clause in ("qualify", "windows", "match", "connect", "kind", "sample", "prewhere", "into"):
            if node.args.get(clause):
                yield clause
        if node.args.get("distinct") is not None:
            for item in node.selects:
                yield f"group by({self._type(item)})"

    def _group(self, node: exp.Expr) -> Iterator[str]:
        for item in node.expressions:
            if isinstance(item, _SETS):
                yield _grouping_sets(node)
                yield from (f"group by({self._type(key)})" for key in item.find_all(exp.Column))
            elif not isinstance(unwrapped(item), exp.Literal):
                yield f"group by({self._type(item)})"
        for clause in ("rollup", "cube", "grouping_sets", "all", "totals"):
            if node.args.get(clause):
                yield _grouping_sets(node)

    def _join(self, node: exp.Join) -> Iterator[str]:
        side, kind = node.side.lower(), node.kind.lower()
        method = str(node.args.get("method") or "").lower()
        using = " using" if node.args.get("using") else ""
        yield " ".join(filter(None, (method, side, kind, "join"))) + using
        if isinstance(node.this, exp.Lateral) or node.args.get("pivots"):
            yield "lateral join"
        yield from joins_of_one_table(node)

    def _window(self, node: exp.Window) -> str:
        function = node.this
        while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
            function = function.this
        name = _name_of(function)
        if isinstance(function.args.get("this"), exp.Distinct):
            name += " distinct"
        elif name in _OF_WINDOWS:
            arguments = [item for value in function.args.values() for item in child_expressions(value)]
            name += f"({self._types(arguments)})"
        defined = self._definition(node)
        order = node.args.get("order") or defined.args.get("order")
        frame = "; frame" if (node.args.get("spec") or defined.args.get("spec")) is not None else ""
        if frame and name not in _OF_WINDOWS and (kind := self._type(function.this)) not in _EXACT:
            name += f" of {kind}"
        if order is None:
            return f"over({name}{frame})"
        if name in _WITHOUT_ORDER and _is_whole_partition(node.args.get("spec") or defined.args.get("spec")):
            return f"over({name}; whole partition)"
        placed = self._nulls(order.expressions, node.find_ancestor(exp.Select), has_aliases=False)
        return f"over({name}; order: {placed}{frame})"

    def _definition(self, node: exp.Window) -> exp.Expr:
        """Return the window that `OVER name` names; otherwise the window itself."""
        select = node.find_ancestor(exp.Select)
        named = [] if select is None or not node.args.get("alias") else select.args.get("windows") or []
        return next((item for item in named if item.name.lower() == node.alias.lower()), node)

    def _nulls(self, items: Iterable[exp.Expr], select: exp.Expr | None, *, has_aliases: bool) -> str:
        """Return whether an order says where NULL is, or has no NULL."""
        placed = all(
            self._has_nulls(item) or is_never_null(item.this, select, has_aliases=has_aliases) for item in items
        )
        return "explicit nulls" if placed else "default nulls"

    def _has_nulls(self, item: exp.Expr) -> bool:
        start = self._starts.get(id(item))
        at = None if start is None else self._text.starts.get(start)
        if at is None:
            return False
        level = self._text.enclosing[at]
        for after in range(at + 1, len(self._text.tokens)):
            if self._text.enclosing[after] < level:
                return False
            if self._text.enclosing[after] == level:
                word = self._text.raw(after).lower()
                if word == "nulls":
                    return True
                if word in (",", ")", "limit", "rows", "range", "offset"):
                    return False
        return False

    def _limit(self, node: exp.Expr) -> Iterator[str]:
        order = node.parent.args.get("order") if node.parent is not None else None
        value = node.args.get("expression")
        if type(node) is exp.Limit and isinstance(value, exp.Literal) and value.name == "0":
            return
        if order is None:
            yield "limit"
            return
        ties = "" if self._is_unique(order.expressions, node.parent) else "; ties"
        yield f"limit; order: {self._nulls(order.expressions, node.parent, has_aliases=True)}{ties}"

    def _is_unique(self, items: list[exp.Expr], query: exp.Expr | None) -> bool:
        """Return whether rows that are equal in an order are equal in all columns, or cannot be.

        That holds if it has all columns of the result, or all keys of GROUP BY.
        """
        if not isinstance(query, exp.Select) or any(item.is_star for item in query.selects):
            return False
        if any(self._type(item.this) not in _ORDERED for item in items):
            return False
        keys = {spelled(item.this) for item in items}
        columns = [(item.alias_or_name.lower(), spelled(unwrapped(item.unalias()))) for item in query.selects]
        ordered = keys | {written for alias, written in columns if alias in keys}
        if all(written in ordered or alias in ordered for alias, written in columns):
            return True
        group = query.args.get("group")
        grouped = [] if group is None else group.expressions
        has_sets = group is not None and any(
            group.args.get(name) for name in ("rollup", "cube", "grouping_sets", "all")
        )
        return bool(grouped) and not has_sets and all(spelled(item) in ordered for item in grouped)


_WITHOUT_ORDER = ("count", "max", "min", "sum")


def _is_whole_partition(frame: exp.Expr | None) -> bool:
    """Return whether a window has all rows of the partition, so that their order decides about no exact value."""
    ends = () if frame is None else (frame.args.get("start"), frame.args.get("end"))
    return frame is not None and frame.args.get("kind") == "ROWS" and ends == ("UNBOUNDED", "UNBOUNDED")


def _is_only_column(node: exp.Expr) -> bool:
    """Return whether an expression, perhaps with names, is all that a SELECT returns."""
    child, parent = node, node.parent
    while isinstance(parent, (exp.Alias, exp.Aliases)):
        child, parent = parent, parent.parent
    return isinstance(parent, exp.Select) and child.arg_key == "expressions" and len(parent.selects) == 1


_ORDERED = frozenset({*INTEGERS, "decimal", "string", "varchar", "boolean", "date", "timestamp"})
"""Types that both engines order alike, apart from NULL."""


def _is_output(node: exp.Expr) -> bool:
    """Return whether a value is an operand of a column of the outermost query, and of no aggregate."""
    select = node.find_ancestor(exp.Select)
    return (
        select is not None
        and select.find_ancestor(exp.Select, exp.With) is None
        and not isinstance(node.find_ancestor(exp.AggFunc, exp.Window, exp.Select), (exp.AggFunc, exp.Window))
        and not isinstance(
            node.find_ancestor(exp.Order, exp.Group, exp.Where, exp.Having, exp.Join, exp.Select),
            (
                exp.Order,
                exp.Group,
                exp.Where,
                exp.Having,
                exp.Join,
            ),
        )
    )


def _is_array_of_texts(kind: str) -> bool:
    return kind.startswith(("array<string", "array<varchar", "array<char"))


_EXACT = frozenset({*INTEGERS, "decimal"})

_VIRTUAL_COLUMNS = frozenset(
    """
    _metadata block__offset__inside__file input__file__name row__id row__is__deleted row__offset__inside__block
    """.split()
)

_PLAIN = frozenset(
    """
    array bigint binary boolean date decimal double float int smallint string struct timestamp tinyint varchar void ?
    """.split()
)
"""Types of columns that all engines return alike; `?` is the type of an expression, which has a construct itself."""


_QUOTES = ("'", '"')
_SETS = (exp.Cube, exp.GroupingSets, exp.Rollup)
_OF_TUPLES = (*_SETS, exp.Any, exp.All)


def _grouping_sets(group: exp.Expr) -> str:
    """Return the signature of ROLLUP, CUBE or GROUPING SETS: whether a key may be constant."""
    select = group.parent
    sources = [] if select is None else [source.this for source in select.find_all(exp.From, exp.Join)]
    defined = {cte.alias.lower() for cte in group.root().find_all(exp.CTE)}
    is_simple = all(isinstance(source, exp.Table) and source.name.lower() not in defined for source in sources)
    keys = {column.name.lower() for column in group.find_all(exp.Column)}
    conditions = () if select is None else select.find_all(exp.EQ, exp.NullSafeEQ, exp.In)
    compared = {column.name.lower() for item in conditions for column in item.find_all(exp.Column)}
    return "grouping sets" if is_simple and not keys & compared else "grouping sets; constant"


def _pattern(operator: str, pattern: exp.Expr) -> str:
    """Return the pattern of LIKE or RLIKE, or its class."""
    if not isinstance(pattern, exp.Literal):
        return "value"
    return "'regex'" if operator == "rlike" and is_plain_regex(pattern.name) else pattern.sql("hive")


def _is_within_scale(arguments: list[exp.Expr], kind: str) -> bool:
    """Return whether round() of a decimal leaves no more digits than it has."""
    size, digits = decimal(kind), arguments[1:]
    if size is None or len(digits) > 1:
        return False
    return not digits or (
        isinstance(digits[0], exp.Literal) and digits[0].name.isdecimal() and int(digits[0].name) <= size[1]
    )


_NAMES_WITHOUT_POSITION: dict[type[exp.Expr], str] = {
    exp.Quantile: "percentile",
    exp.ApproxQuantile: "percentile_approx",
    exp.DecodeCase: "decode",
}
"""Names of functions that sqlglot calls otherwise."""


def _name_of(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return (node.sql_name() if isinstance(node, exp.Func) else node.key).lower()


def _is_negated_literal(node: exp.Expr) -> bool:
    """Return whether the parser made a node for the days of `date_sub(…, 40)`."""
    return isinstance(node, exp.Mul) and isinstance(node.parent, exp.TsOrDsAdd) and isinstance(node.this, exp.Literal)


def _is_compared(literal: exp.Literal) -> bool:
    """Return whether a literal, perhaps with a sign, is an operand of a comparison."""
    parent = literal.parent
    while isinstance(parent, (exp.Neg, exp.Paren)):
        parent = parent.parent
    return isinstance(parent, (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between))


def _is_constant(node: exp.Expr) -> bool:
    """Return whether a value is a literal, perhaps with a sign or a cast, and so not NULL."""
    while isinstance(node, (exp.Neg, exp.Paren, exp.Cast)):
        node = node.this
    return isinstance(node, exp.Literal)


def _is_conjunct(node: exp.Expr | None, *clauses: type[exp.Expr]) -> bool:
    """Return whether a condition is combined by AND with others in one of some clauses: WHERE, HAVING or ON."""
    parent = None if node is None else node.parent
    while isinstance(parent, (exp.And, exp.Paren)):
        parent = parent.parent
    return isinstance(parent, clauses or (exp.Where, exp.Having, exp.Join))
