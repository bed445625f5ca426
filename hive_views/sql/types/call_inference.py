"""Arguments of calls as a text writes them: sqlglot's nodes have other orders, and casts that are not in the text."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.expression_ranges import Range
from hive_views.sql.parsing.syntax_tree import child_expressions, start_offsets
from hive_views.sql.parsing.variant_paths import variant_key
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.call_types import Argument
from hive_views.sql.types.inference import TypeInference


class CallInference(TypeInference):
    """A type inference that takes the types of calls from a table, by the arguments as they are written."""

    def _number(self, written: str) -> str | None:
        """Return the type of a number as it is written, with its sign."""
        raise NotImplementedError

    def _passed_type(self, kind: str) -> str:
        """Return the type as which an engine passes a value of a type to a function."""
        return kind

    def arguments(self, node: exp.Expr, parts: list[Range]) -> list[Argument] | None:
        """Return all arguments; None if the type of one is unknown."""
        found = [self.argument(node, part) for part in parts]
        children = list(_children(node))
        # Some nodes, such as intervals, have no position; those of a map are arrays of its keys and its values.
        if len(children) == len(parts) and type(node) not in (exp.VarMap, exp.Map):
            kinds = [
                None if item is not None else self.type_of(child) for item, child in zip(found, children, strict=True)
            ]
            found = [item or (Argument(kind) if kind else None) for item, kind in zip(found, kinds, strict=True)]
        return None if None in found else [item for item in found if item is not None]

    def argument_ranges(self, token: int, separators: frozenset[str]) -> list[Range]:
        """Return the first and last token of each argument as it is written, between commas and some words."""
        tokens = self.text.tokens
        if token + 1 >= len(tokens) or self.text.kinds[token + 1] is not TokenType.L_PAREN:
            return []
        first, last = token + 2, self.text.match.get(token + 1, token + 1) - 1
        if first <= last and self.text.kinds[first] in (TokenType.DISTINCT, TokenType.ALL):
            first += 1
        parts = list(self.text.elements(first, last))
        return [piece for part in parts for piece in self._pieces(part, separators)] if separators else parts

    def _pieces(self, part: Range, separators: frozenset[str]) -> Iterator[Range]:
        """Yield the parts of a range between words such as FROM."""
        start = index = part[0]
        while index <= part[1]:
            if self.text.raw(index).lower() in separators:
                if index > start:
                    yield start, index - 1
                start = index + 1
            index = max(self.text.match.get(index, index), index) + 1
        if start <= part[1]:
            yield start, part[1]

    def argument(self, node: exp.Expr, part: Range) -> Argument | None:
        """Return an argument that is written in a range of tokens; None if its type is unknown."""
        literal = self.literal_argument(part)
        if literal is not None:
            return literal
        child = self.node_in(node, part)
        if child is None:
            return None
        kind = self.type_of(child)
        if kind is None:
            return None
        value = self._integer_value(child, kind)
        return Argument(self._passed_type(kind), value, self._field_name(child), is_number=value is not None)

    def _integer_value(self, node: exp.Expr, kind: str) -> str | None:
        """Return the digits of an integer literal that has only the digits that it is written with."""
        return None

    def literal_argument(self, part: Range) -> Argument | None:
        """Return NULL, TRUE, FALSE, a number or a string that is a whole argument."""
        first, last = part
        if first == last and self.text.kinds[first] in _WORDS:
            return Argument(_WORDS[self.text.kinds[first]])
        if first == last and self.text.kinds[first] is TokenType.STRING:
            return Argument("string", self.text.string_value(self.text.tokens[first]))
        sign = ""
        if first == last - 1 and self.text.kinds[first] is TokenType.DASH:
            sign, first = "-", last
        if first != last or self.text.kinds[first] is not TokenType.NUMBER:
            return None
        written = sign + self.text.raw(first)
        kind = self._number(written)
        return Argument(kind, written, is_number=kind in ("int", "bigint")) if kind is not None else None

    def is_star(self, part: Range) -> bool:
        """Return whether an argument is a star, or the star of a table."""
        return self.text.kinds[part[1]] is TokenType.STAR and (
            part[0] == part[1] or self.text.kinds[part[1] - 1] is TokenType.DOT
        )

    def node_in(self, node: exp.Expr, part: Range) -> exp.Expr | None:
        """Return the largest node under another that is written in a range of tokens."""
        start, end = self.text.tokens[part[0]].start, self.text.tokens[part[1]].end
        stack = list(_children(node))
        while stack:
            child = stack.pop(0)
            offsets = start_offsets(child)
            if not offsets or max(offsets) < start or min(offsets) > end:
                continue
            if start <= min(offsets) and max(offsets) <= end:
                return self._written(child, part)
            stack = [*_children(child), *stack]
        return None

    def _written(self, node: exp.Expr, part: Range) -> exp.Expr:
        """Return a node without the casts and calls that sqlglot adds around an argument."""
        while True:
            inner = _only_child(node)
            if inner is None:
                return node
            if type(node) in (exp.Cast, exp.TryCast):
                is_added = not self._has_cast(part) and not _has_suffix(self.text, inner)
            elif type(node) is exp.PropertyEQ:
                is_added = True
            elif isinstance(node, exp.Func) and not isinstance(node, _NO_CALLS):
                token = self.query.function_token(node)
                is_cast = token is not None and self.text.raw(token).lower() in ("cast", "try_cast")
                is_added = type(node) is exp.Array if token is None else token < part[0] or is_cast
            else:
                return node
            if not is_added:
                return node
            node = inner

    def _has_cast(self, part: Range) -> bool:
        """Return whether an argument is written as a cast: `cast(…)`, `x::t`, `date(…)` or `date '…'`."""
        first = part[0]
        while first < part[1] and self.text.kinds[first] is TokenType.L_PAREN:
            first += 1
        return self.text.raw(first).lower() in _CASTS or TokenType.DCOLON in self.text.kinds[part[0] : part[1] + 1]

    def _field_name(self, node: exp.Expr) -> str | None:
        """Return the name that a struct's field gets from an expression; None if it does not have one of its own."""
        if type(node) is exp.Identifier:
            return str(node.name)
        if type(node) in (exp.Column, exp.Dot):
            return str(node.name if type(node) is exp.Column else node.expression.name)
        return variant_key(node)


def _children(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        yield from child_expressions(value)


def _only_child(node: exp.Expr) -> exp.Expr | None:
    """Return what a node may have been added around."""
    if type(node) is exp.Array:
        return node.expressions[0] if len(node.expressions) == 1 else None
    inner = node.expression if type(node) is exp.PropertyEQ else node.this
    return inner if isinstance(inner, exp.Expr) else None


def _has_suffix(text: Text, node: exp.Expr) -> bool:
    meta = node._meta
    if type(node) is not exp.Literal or not meta or node.is_string:
        return False
    return text.sql[meta["end"]].isalpha()


_CASTS = frozenset(
    {"cast", "try_cast", "date", "timestamp", "timestamp_ltz", "timestamp_ntz", "string", "binary", "boolean"}
    | {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}
)
"""The words that casts begin with."""
_NO_CALLS = (exp.Binary, exp.Connector, exp.Case, exp.Interval, exp.Subquery, exp.Predicate)
_WORDS = {
    TokenType.NULL: "void",
    TokenType.TRUE: "boolean",
    TokenType.FALSE: "boolean",
    TokenType.CURRENT_DATE: "date",
    TokenType.CURRENT_TIMESTAMP: "timestamp",
}
