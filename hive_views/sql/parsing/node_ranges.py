"""The token range of each node of a syntax tree, in one pass over the tokens that the parser read and its tree.

sqlglot keeps the positions of names, literals and most calls only. The pass reads the tokens again, but with the tree
in hand: the type of a node determines what comes next. A node has no range if its tokens are not those of its type's
form, or if the parser made it up; the nodes around it have theirs where their own words show where they end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.parsing.syntax_tree import child_expressions, first_offsets_of
from hive_views.sql.text.tokens import Text

_T = TokenType
Range = tuple[int, int]
"""The first and the last token of a node in its text."""


class _UnreadableError(Exception):
    """The tokens are not those of a node's form."""


def node_ranges(text: Text, tree: exp.Expr, tokens: Sequence[Token]) -> dict[int, Range]:
    """Return the ranges of the nodes of a tree by their ids; `tokens` are those that the parser read."""
    reader = _Reader(tree, tokens)
    with suppress(_UnreadableError, IndexError, RecursionError):
        reader.query(tree, 0)
    return dict(_ranges_in_text(text, tokens, reader.ranges))


def _ranges_in_text(text: Text, tokens: Sequence[Token], ranges: dict[int, Range]) -> Iterator[tuple[int, Range]]:
    """Yield the ranges in the text; those of nodes with tokens that are not in the text are left out."""
    indexes = [_index_in_text(text, token) for token in tokens]
    moved, last_index = [0], -1
    """The number of tokens in front of each that are in another order than in the text."""
    for token, index in zip(tokens, indexes, strict=True):
        is_moved = token.start >= len(text.sql) or 0 <= index < last_index
        moved.append(moved[-1] + is_moved)
        last_index = index if index >= 0 else last_index
    for node, (first, last) in ranges.items():
        if indexes[first] >= 0 and indexes[last] >= 0 and moved[last + 1] == moved[first + 1]:
            yield node, (indexes[first], indexes[last])


def _index_in_text(text: Text, token: Token) -> int:
    """Return the index of a token that the parser read in its text; -1 for one that stands for others."""
    index = at = text.starts.get(token.start, -1)
    if token.token_type is _T.INTERVAL:
        return index  # Hive reads `1 day` without the word
    while at >= 0 and text.tokens[at].start == token.start:  # the tokens of a number with a suffix have one position
        written = text.tokens[at]
        if token.token_type is written.token_type or token.text.upper() == written.text.upper():
            return index
        at -= 1
    return -1


_OPEN = {_T.L_PAREN: _T.R_PAREN, _T.L_BRACKET: _T.R_BRACKET, _T.L_BRACE: _T.R_BRACE}
_CLOSE = frozenset(_OPEN.values())

_OPERATORS: dict[type[exp.Expr], tuple[tuple[TokenType, ...], ...]] = {
    exp.Add: ((_T.PLUS,),),
    exp.Sub: ((_T.DASH,),),
    exp.Mul: ((_T.STAR,),),
    exp.Div: ((_T.SLASH,),),
    exp.IntDiv: ((_T.DIV,),),
    exp.Mod: ((_T.MOD,),),
    exp.DPipe: ((_T.DPIPE,),),
    exp.EQ: ((_T.EQ,),),
    exp.NEQ: ((_T.NEQ,),),
    exp.LT: ((_T.LT,),),
    exp.LTE: ((_T.LTE,),),
    exp.GT: ((_T.GT,),),
    exp.GTE: ((_T.GTE,),),
    exp.And: ((_T.AND,),),
    exp.Or: ((_T.OR,),),
    exp.BitwiseAnd: ((_T.AMP,),),
    exp.BitwiseOr: ((_T.PIPE,),),
    exp.BitwiseXor: ((_T.CARET,),),
    exp.BitwiseLeftShift: ((_T.LT, _T.LT),),
    exp.BitwiseRightShift: ((_T.GT, _T.GT),),
    exp.Like: ((_T.LIKE,),),
    exp.ILike: ((_T.ILIKE,),),
    exp.RegexpLike: ((_T.RLIKE,),),
    exp.Escape: ((_T.ESCAPE,),),
    exp.NullSafeEQ: ((_T.NULLSAFE_EQ,), (_T.IS, _T.NOT, _T.DISTINCT, _T.FROM)),
    exp.NullSafeNEQ: ((_T.IS, _T.DISTINCT, _T.FROM),),
    exp.Is: ((_T.IS,),),
    exp.Dot: ((_T.DOT,),),
}
"""The tokens between the operands of each operator."""
_AFTER_NOT = (exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Is)
"""The predicates that NOT negates inside: `a NOT IN (1)`, `a IS NOT NULL`."""
_WORDS_BEFORE_ARGUMENT = frozenset({"ALL", "BOTH", "LEADING", "TRAILING"})
_SEPARATORS = frozenset({"TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY", "EXTRACT"})
"""The functions whose arguments may be separated by FROM, FOR, IN and PLACING."""
_SEPARATING = frozenset({"FROM", "FOR", "IN", "PLACING"})
_SORTS = {
    _T.ORDER_BY: "order",
    _T.SORT_BY: "sort",
    _T.CLUSTER_BY: "cluster",
    _T.DISTRIBUTE_BY: "distribute",
}
_CONDITIONS = {_T.WHERE: "where", _T.HAVING: "having", _T.QUALIFY: "qualify"}
_SET_WORDS = frozenset({_T.UNION, _T.EXCEPT, _T.INTERSECT})
_JOIN_WORDS = frozenset(
    {
        *(_T.JOIN, _T.INNER, _T.LEFT, _T.RIGHT, _T.FULL, _T.CROSS, _T.NATURAL, _T.SEMI, _T.ANTI, _T.OUTER),
        *(_T.COMMA, _T.STRAIGHT_JOIN),
    }
)
_QUERIES = (exp.Select, exp.SetOperation)


def _children(node: exp.Expr) -> list[exp.Expr]:
    return [child for value in node.args.values() for child in child_expressions(value)]


class _Reader:
    """Reads the tokens of a tree; a method returns the token after a node, or raises `_UnreadableError`."""

    def __init__(self, tree: exp.Expr, tokens: Sequence[Token]) -> None:
        self.ranges: dict[int, Range] = {}
        self._tokens = tokens
        self._kinds = [token.token_type for token in tokens]
        self._words = [token.text.upper() for token in tokens]
        self._first_offsets = first_offsets_of(tree)
        self._partners: dict[int, int] = {}
        opened: list[int] = []
        for index, kind in enumerate(self._kinds):
            if kind in _OPEN:
                opened.append(index)
            elif kind in _CLOSE and opened:
                self._partners[opened.pop()] = index
        self._forms: dict[type[exp.Expr], Callable[[Any, int], int]] = {
            exp.Column: self._column,
            exp.Paren: self._paren,
            exp.Tuple: self._tuple,
            exp.Subquery: self._subquery,
            exp.Alias: self._alias,
            exp.Aliases: self._aliases,
            exp.Rollup: self._sets,
            exp.Cube: self._sets,
            exp.GroupingSets: self._sets,
            exp.Bracket: self._bracket,
            exp.Between: self._between,
            exp.In: self._in,
            exp.Not: self._not,
            exp.Neg: self._prefix,
            exp.BitwiseNot: self._prefix,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Case: self._case,
            exp.Interval: self._interval,
            exp.Window: self._window,
            exp.WithinGroup: self._within_group,
            exp.Filter: self._filter,
            exp.IgnoreNulls: self._nulls,
            exp.RespectNulls: self._nulls,
            exp.Distinct: self._distinct,
            exp.Ordered: self._ordered,
            exp.Lambda: self._lambda,
            exp.Kwarg: self._keyword,
            exp.Any: self._quantified,
            exp.All: self._quantified,
            exp.DataType: self._type,
            exp.Star: self._star,
            exp.Values: self._source,
        }

    # -- Tokens ------------------------------------------------------------------------------------------------------

    def _kind(self, at: int) -> TokenType | None:
        return self._kinds[at] if at < len(self._kinds) else None

    def _word(self, at: int) -> str:
        return self._words[at] if at < len(self._words) else ""

    def _expect(self, at: int, *kinds: TokenType) -> int:
        """Return the token after some tokens, which must come next."""
        for number, kind in enumerate(kinds):
            if self._kind(at + number) is not kind:
                raise _UnreadableError
        return at + len(kinds)

    def _expect_word(self, at: int, *words: str) -> int:
        for number, word in enumerate(words):
            if self._word(at + number) != word:
                raise _UnreadableError
        return at + len(words)

    def _close(self, opened: int) -> int:
        if opened not in self._partners:
            raise _UnreadableError
        return self._partners[opened]

    def _elements(self, opened: int, separators: frozenset[str] = frozenset()) -> list[Range]:
        """Return the first token of each element of a list in parentheses, and the token after it."""
        close = self._close(opened)
        elements: list[Range] = []
        start = at = opened + 1
        while at < close:
            if self._kinds[at] is _T.COMMA or (at > start and self._words[at] in separators):
                elements.append((start, at))
                start = at + 1
            at = self._partners.get(at, at) + 1
        return [*elements, (start, close)] if start < close else elements

    # -- Nodes -------------------------------------------------------------------------------------------------------

    def _record(self, node: exp.Expr, at: int, end: int) -> int:
        if end > len(self._kinds):
            raise _UnreadableError
        if end > at:
            self.ranges[id(node)] = (at, end - 1)
        return end

    def read(self, node: Any, at: int) -> int:
        """Read a node and note its range."""
        while self._kind(at) is _T.PLUS:
            at += 1  # a sign that the tree does not have
        if not isinstance(node, exp.Expr):
            raise _UnreadableError
        if type(node) is exp.PropertyEQ:
            return self._property(node, at)
        form = self._forms.get(type(node))
        if form is not None:
            return self._record(node, at, form(node, at))
        if isinstance(node, _QUERIES):
            return self.query(node, at)
        meta = node._meta
        has_position = meta is not None and "start" in meta
        if type(node) in _OPERATORS and not has_position:
            return self._chain(node, at)
        if isinstance(node, exp.Func):
            return self._function(node, at, has_position)
        if meta and has_position:
            if self._tokens[at].start != meta["start"]:
                raise _UnreadableError
            return self._record(node, at, at + 1)
        return self._record(node, at, self._leaf(node, at))

    def _leaf(self, node: exp.Expr, at: int) -> int:
        kind, word = self._kind(at), self._word(at)
        if isinstance(node, (exp.Identifier, exp.Var)):
            is_written = word == node.name.upper()
        elif isinstance(node, exp.Literal):
            is_written = self._tokens[at].text == node.this and (kind is _T.NUMBER) is not node.is_string
        elif isinstance(node, exp.Null):
            is_written = kind is _T.NULL
        elif isinstance(node, exp.Boolean):
            is_written = kind is (_T.TRUE if node.this else _T.FALSE)
        else:
            is_written = False
        if kind is _T.DOT and isinstance(node, exp.Literal) and node.this == f"0.{self._word(at + 1)}":
            return at + 2  # .5
        if not is_written:
            raise _UnreadableError
        return at + 1

    def _try(self, node: Any, at: int, end: int) -> bool:
        """Read a node that ends in front of a known token; return whether it has a range there."""
        known = dict(self.ranges) if len(self.ranges) < 64 else None
        try:
            if self.read(node, at) == end:
                return True
        except (_UnreadableError, IndexError):
            pass
        if known is not None:
            self.ranges = known
        else:
            self._forget(node)
        return False

    def _forget(self, node: Any) -> None:
        if isinstance(node, exp.Expr):
            for inner in node.walk():
                self.ranges.pop(id(inner), None)

    def _list(self, nodes: Sequence[exp.Expr], at: int) -> int:
        """Read nodes with commas between them."""
        for number, node in enumerate(nodes):
            at = self.read(node, self._expect(at, _T.COMMA) if number else at)
        return at

    def _in_parentheses(self, nodes: Sequence[exp.Expr], opened: int) -> int:
        """Read a list in parentheses; an element that cannot be read does not hide the others."""
        elements = self._elements(opened)
        if len(elements) != len(nodes):
            raise _UnreadableError
        for node, (start, end) in zip(nodes, elements, strict=True):
            self._try(node, start, end)
        return self._close(opened) + 1

    # -- Operators ---------------------------------------------------------------------------------------------------

    def _chain(self, node: exp.Expr, at: int) -> int:
        """Read `a + b + …` without recursion."""
        spine = [node]
        while type(spine[-1].this) in _OPERATORS and not (spine[-1].this._meta and "start" in spine[-1].this._meta):
            spine.append(spine[-1].this)
        end = self.read(spine[-1].this, at)
        for operation in reversed(spine):
            end = self._record(operation, at, self._right(operation, end, is_negated=False))
        return end

    def _right(self, node: exp.Expr, at: int, *, is_negated: bool) -> int:
        """Read an operator and what follows it; with NOT in front of it, or behind IS, if it is negated."""
        if type(node) is exp.Is and self._kind(at) in (_T.ISNULL, _T.NOTNULL):
            return at + 1
        if (is_negated or node.args.get("negate")) and type(node) is not exp.Is:
            at = self._expect(at, _T.NOT)
        for words in _OPERATORS[type(node)]:
            if all(self._kind(at + number) is kind for number, kind in enumerate(words)):
                at += len(words)
                break
        else:
            raise _UnreadableError
        if is_negated and type(node) is exp.Is:
            at = self._expect(at, _T.NOT)
        return self.read(node.args.get("expression"), at)

    def _not(self, node: exp.Not, at: int) -> int:
        if self._kind(at) is _T.NOT:
            return self.read(node.this, at + 1)
        inner = node.this
        if isinstance(inner, (exp.In, exp.Between)):
            return self._form_of_predicate(inner, at, is_negated=True)
        if isinstance(inner, exp.Escape) and not isinstance(inner.this, _AFTER_NOT):
            raise _UnreadableError
        if isinstance(inner, exp.Escape):
            like = inner.this
            end = self._right(like, self.read(like.this, at), is_negated=True)
            return self._right(inner, end, is_negated=False)
        if isinstance(inner, _AFTER_NOT):
            return self._right(inner, self.read(inner.this, at), is_negated=True)
        raise _UnreadableError

    def _form_of_predicate(self, node: exp.Expr, at: int, *, is_negated: bool) -> int:
        end = self.read(node.this, at)
        if is_negated:
            end = self._expect(end, _T.NOT)
        if isinstance(node, exp.Between):
            end = self.read(node.args["low"], self._expect(end, _T.BETWEEN))
            return self.read(node.args["high"], self._expect(end, _T.AND))
        end = self._expect(end, _T.IN)
        query = node.args.get("query")
        if query is not None:
            return self.read(query, end)
        if self._kind(end) is not _T.L_PAREN:
            return self.read(node.args.get("field"), end)
        return self._in_parentheses(node.expressions, end)

    def _between(self, node: exp.Between, at: int) -> int:
        return self._form_of_predicate(node, at, is_negated=False)

    def _in(self, node: exp.In, at: int) -> int:
        return self._form_of_predicate(node, at, is_negated=False)

    def _prefix(self, node: exp.Expr, at: int) -> int:
        kind = _T.DASH if type(node) is exp.Neg else _T.TILDE
        return self.read(node.this, self._expect(at, kind))

    # -- Names and parentheses ---------------------------------------------------------------------------------------

    def _column(self, node: exp.Column, at: int) -> int:
        for number, part in enumerate(node.parts):
            at = self.read(part, self._expect(at, _T.DOT) if number else at)
        return at

    def _star(self, node: exp.Star, at: int) -> int:
        at = self._expect(at, _T.STAR)
        while self._word(at) in ("EXCEPT", "EXCLUDE", "REPLACE", "RENAME") and self._kind(at + 1) is _T.L_PAREN:
            at = self._close(at + 1) + 1
        return at

    def _paren(self, node: exp.Paren, at: int) -> int:
        end = self._close(self._expect(at, _T.L_PAREN) - 1)
        self._try(node.this, at + 1, end)
        return end + 1

    def _tuple(self, node: exp.Tuple, at: int) -> int:
        return self._in_parentheses(node.expressions, self._expect(at, _T.L_PAREN) - 1)

    def _alias(self, node: exp.Alias, at: int) -> int:
        end = self.read(node.this, at)
        return self.read(node.args["alias"], end + (self._kind(end) is _T.ALIAS))

    def _aliases(self, node: exp.Aliases, at: int) -> int:
        end = self.read(node.this, at)
        return self._in_parentheses(node.args["expressions"], end + (self._kind(end) is _T.ALIAS))

    def _property(self, node: exp.PropertyEQ, at: int) -> int:
        """Read the field of a struct: `value AS name`, or a value, which gives the field its name."""
        end = self.read(node.expression, at)
        if self._kind(end) is not _T.ALIAS:
            return end
        return self._record(node, at, self.read(node.this, end + 1))

    def _bracket(self, node: exp.Bracket, at: int) -> int:
        opened = self._expect(self.read(node.this, at), _T.L_BRACKET) - 1
        return self._in_parentheses(node.expressions, opened)

    # -- Calls -------------------------------------------------------------------------------------------------------

    def _function(self, node: exp.Func, at: int, has_position: bool) -> int:
        """Read `f(a, b)` or `current_date`; a call that the parser put around an operand has no range."""
        if has_position and self._tokens[at].start != node.meta["start"]:
            raise _UnreadableError
        children = _children(node)
        if isinstance(node, exp.Concat) and self._kind(at) is _T.STRING:
            return self._record(node, at, self._strings(children, at))
        operand = None if has_position else next((child for child in children if self._is_start(child, at)), None)
        if operand is None and not has_position and self._word(at) in ("CAST", "TRY_CAST") and children:
            operand = children[0]
        if operand is not None:
            return self.read(operand, at)
        if self._kind(at + 1) is not _T.L_PAREN:
            if children or self._kind(at) in (_T.NUMBER, _T.STRING, _T.L_PAREN):
                raise _UnreadableError
            return self._record(node, at, at + 1)
        separators = _SEPARATING if self._word(at) in _SEPARATORS else frozenset[str]()
        is_query = len(children) == 1 and isinstance(children[0], exp.Query)
        whole = [(at + 2, self._close(at + 1))]
        self._arguments(children, whole if is_query else self._elements(at + 1, separators))
        return self._record(node, at, self._close(at + 1) + 1)

    def _is_start(self, node: exp.Expr, at: int) -> bool:
        return self._first_offsets.get(id(node)) == self._tokens[at].start

    def _strings(self, nodes: Sequence[exp.Expr], at: int) -> int:
        """Read adjacent strings, which are parsed as concat()."""
        for node in nodes:
            at = self.read(node, at)
        return at

    def _arguments(self, nodes: Sequence[exp.Expr], elements: Sequence[Range]) -> None:
        """Read the arguments of a call, each where its first name or literal is; their order in the tree may differ."""
        starts = [self._tokens[start].start for start, _ in elements]
        is_in_order = len(nodes) == len(elements)
        for number, node in enumerate(nodes):
            offset = self._first_offsets.get(id(node))
            at = bisect_right(starts, offset) - 1 if offset is not None else number if is_in_order else -1
            if 0 <= at < len(elements):
                self._argument(node, *elements[at])

    def _argument(self, node: exp.Expr, start: int, end: int) -> None:
        while self._word(start) in _WORDS_BEFORE_ARGUMENT and end - start > 1:
            start += 1
        if self._try(node, start, end) or self._try_ordered(node, start, end):
            return
        if isinstance(node, exp.Func) or type(node) in (exp.Paren, exp.PropertyEQ, exp.Cast, exp.TryCast):
            # The parser made the node up: its operands may be what is written.
            self._arguments(_children(node), [(start, end)])

    def _try_ordered(self, node: exp.Expr, start: int, end: int) -> bool:
        """Read an argument with ORDER BY behind it, whose node is a clause around the argument."""
        if type(node) is not exp.Order or not isinstance(node.this, exp.Expr):
            return False
        try:
            at = self.read(node.this, start)
            return self._list(node.expressions, self._expect(at, _T.ORDER_BY)) == end
        except (_UnreadableError, IndexError):
            return False

    def _cast(self, node: exp.Cast, at: int) -> int:
        type_ = node.args["to"]
        if self._word(at) in ("CAST", "TRY_CAST") and self._kind(at + 1) is _T.L_PAREN:
            close = self._close(at + 1)
            end = self.read(node.this, at + 2)
            if self._type(type_, self._expect(end, _T.ALIAS)) != close:
                raise _UnreadableError
            self._record(type_, end + 1, close)
            return close + 1
        if self._kind(at + 1) is _T.DCOLON and self._tokens[at + 2].start == self._tokens[at + 1].start:
            return at + 3  # 10L
        if self._is_start(node.this, at):
            end = self._expect(self.read(node.this, at), _T.DCOLON)
            return self._record(type_, end, self._type(type_, end))
        if self._kind(at + 1) is _T.L_PAREN:
            self._arguments([node.this], self._elements(at + 1))
            return self._close(at + 1) + 1
        while self._word(at + 1) in ("WITH", "WITHOUT", "LOCAL", "TIME", "ZONE"):
            at += 1  # TIMESTAMP WITH LOCAL TIME ZONE '…'
        return self.read(node.this, at + 1)  # DATE '2024-01-01'

    def _type(self, node: exp.DataType, at: int) -> int:
        """Read the tokens of a type."""
        depth = 0
        while True:
            if self._kind(at) is _T.L_PAREN:
                at = self._close(at)
            elif self._kind(at) is _T.LT:
                depth += 1
            elif self._kind(at) is _T.GT:
                depth -= 1
            elif self._kind(at) is None:
                raise _UnreadableError
            at += 1
            if not depth and self._kind(at) not in (_T.L_PAREN, _T.LT):
                break
        if self._word(at) in ("WITH", "WITHOUT"):
            at += 1 + (self._word(at + 1) == "LOCAL")
            at = self._expect_word(at, "TIME", "ZONE")
        return at

    def _case(self, node: exp.Case, at: int) -> int:
        if self._kind(at) is not _T.CASE:
            raise _UnreadableError
        at += 1
        if node.args.get("this") is not None:
            at = self.read(node.this, at)
        for branch in node.args["ifs"]:
            start = at
            at = self.read(branch.this, self._expect(at, _T.WHEN))
            at = self._record(branch, start, self.read(branch.args["true"], self._expect(at, _T.THEN)))
        if node.args.get("default") is not None:
            at = self.read(node.args["default"], self._expect(at, _T.ELSE))
        return self._expect(at, _T.END)

    def _interval(self, node: exp.Interval, at: int) -> int:
        at = self._expect(at, _T.INTERVAL)
        unit = node.args.get("unit")
        if self._kind(at) is _T.STRING and self._tokens[at].text != getattr(node.this, "this", None):
            return at + 1  # INTERVAL '1 day'
        if self._kind(at) is _T.STRING and unit is None:
            return at + 1  # INTERVAL '1 day 2 hours'
        is_number = self._kind(at) is _T.NUMBER and isinstance(node.this, exp.Literal)
        at = at + 1 if is_number else self.read(node.this, at)
        if isinstance(unit, exp.IntervalSpan):
            at = self._expect_word(at + 1, "TO")
        return at + 1

    def _window(self, node: exp.Window, at: int) -> int:
        at = self.read(node.this, at)
        at = self._expect(at, _T.OVER)
        if self._kind(at) is not _T.L_PAREN:
            return self.read(node.args["alias"], at)
        self._window_body(node, at)
        return self._close(at) + 1

    def _window_body(self, node: exp.Expr, opened: int) -> None:
        at, close = opened + 1, self._close(opened)
        try:
            if node.args.get("alias") is not None and self._is_start(node.args["alias"], at):
                at = self.read(node.args["alias"], at)
            if self._kind(at) in (_T.PARTITION_BY, _T.DISTRIBUTE_BY):
                at = self._list(node.args.get("partition_by") or (), at + 1)
            order = node.args.get("order")
            if order is not None and at < close:
                end = self._list(order.expressions, at + 1)
                self._record(order, at, end if self._kind(at) is _T.ORDER_BY else at)
        except (_UnreadableError, IndexError):
            return

    def _within_group(self, node: exp.WithinGroup, at: int) -> int:
        at = self._expect_word(self.read(node.this, at), "WITHIN", "GROUP")
        order = node.args.get("expression")
        if isinstance(order, exp.Order) and self._kind(at + 1) is _T.ORDER_BY:
            self._record(order, at + 1, self._list(order.expressions, at + 2))
        return self._close(at) + 1

    def _filter(self, node: exp.Filter, at: int) -> int:
        at = self._expect(self.read(node.this, at), _T.FILTER, _T.L_PAREN)
        end = self._close(at - 1)
        condition = node.args.get("expression")
        if isinstance(condition, exp.Where) and self._try(condition.this, at + 1, end):
            self._record(condition, at, end)
        return end + 1

    def _nulls(self, node: exp.Expr, at: int) -> int:
        end = self.read(node.this, at)
        if self._word(end) not in ("IGNORE", "RESPECT"):
            self.ranges.pop(id(node.this), None)  # first(a, true)
            return end
        return self._expect_word(end + 1, "NULLS")

    def _distinct(self, node: exp.Distinct, at: int) -> int:
        return self._list(node.expressions, self._expect(at, _T.DISTINCT))

    def _ordered(self, node: exp.Ordered, at: int) -> int:
        at = self.read(node.this, at)
        at += self._word(at) in ("ASC", "DESC")
        return at + 2 if self._word(at) == "NULLS" and self._word(at + 1) in ("FIRST", "LAST") else at

    def _lambda(self, node: exp.Lambda, at: int) -> int:
        if self._kind(at) is _T.L_PAREN:
            at = self._in_parentheses(node.expressions, at)
        else:
            at = self._list(node.expressions, at)
        return self.read(node.this, self._expect(at, _T.ARROW))

    def _keyword(self, node: exp.Kwarg, at: int) -> int:
        return self.read(node.expression, self._expect(self.read(node.this, at), _T.FARROW))

    def _quantified(self, node: exp.Expr, at: int) -> int:
        if self._kind(at) not in (_T.ANY, _T.ALL, _T.SOME):
            raise _UnreadableError
        inner = node.this
        if isinstance(inner, exp.Expr) and not isinstance(inner, (exp.Tuple, exp.Paren, exp.Subquery)):
            return self._in_parentheses([inner], at + 1)
        return self.read(inner, at + 1)

    # -- Queries -----------------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, at: int) -> int:
        """Read a query with the WITH in front of it and the clauses behind it."""
        start = at
        if isinstance(node, exp.Subquery):
            return self.read(node, at)
        if isinstance(node, exp.Values):
            return self._source(node, at)
        if not isinstance(node, _QUERIES):
            raise _UnreadableError
        at = self._with(node, at)
        at = self._set_operation(node, at) if isinstance(node, exp.SetOperation) else self._select(node, at)
        at = self._final_clauses(node, at)
        if self._kind(at) is None or self._kind(at) in _AFTER_QUERY:
            return self._record(node, start, at)
        while not (self._kind(at) is None or self._kind(at) in _AFTER_QUERY):
            at = self._partners.get(at, at) + 1
        return at

    def _with(self, node: exp.Expr, at: int) -> int:
        with_ = node.args.get("with_")
        if with_ is None:
            return at
        start = at
        at = self._expect(at, _T.WITH)
        at += self._kind(at) is _T.RECURSIVE
        for number, cte in enumerate(with_.expressions):
            at = self._cte(cte, self._expect(at, _T.COMMA) if number else at)
        return self._record(with_, start, at)

    def _cte(self, node: exp.CTE, at: int) -> int:
        start, alias = at, node.args["alias"]
        at = self.read(alias.this, at)
        if self._kind(at) is _T.L_PAREN:
            at = self._in_parentheses(alias.args.get("columns") or (), at)
        self._record(alias, start, at)
        while self._kind(at) is not _T.L_PAREN:
            at += 1  # AS, NOT MATERIALIZED, MAX RECURSION LEVEL 5
        end = self._close(at)
        self._try(node.this, at + 1, end)
        return self._record(node, start, end + 1)

    def _set_operation(self, node: exp.SetOperation, at: int) -> int:
        spine: list[exp.Expr] = [node]
        while isinstance(spine[-1].this, exp.SetOperation) and not self._has_own_clauses(spine[-1].this):
            spine.append(spine[-1].this)
        start = at
        end = self._branch(spine[-1].this, at)
        for operation in reversed(spine):
            if self._kind(end) not in _SET_WORDS:
                raise _UnreadableError
            end += 1
            end += self._kind(end) in (_T.ALL, _T.DISTINCT)
            if self._word(end) == "BY":
                end = self._expect_word(end, "BY", "NAME")
            end = self._branch(operation.args["expression"], end)
            if operation is not node:
                self._record(operation, start, end)
        return end

    def _has_own_clauses(self, node: exp.Expr) -> bool:
        return any(node.args.get(name) for name in ("with_", "limit", "offset", *_SORTS.values()))

    def _branch(self, node: exp.Expr, at: int) -> int:
        if isinstance(node, exp.Subquery):
            with suppress(_UnreadableError, IndexError):
                return self.read(node, at)
            return self.query(node.this, at)  # the parentheses are not in the text
        if self._kind(at) is _T.VALUES and isinstance(node, exp.Select) and node.args.get("from_") is not None:
            return self._record(node, at, self.read(node.args["from_"].this, at))  # sqlglot's SELECT * FROM (VALUES …)
        return self.query(node, at) if isinstance(node, (*_QUERIES, exp.Values)) else self.read(node, at)

    def _select(self, node: exp.Select, at: int) -> int:
        if self._kind(at) is _T.FROM and node.args.get("from_") is not None:
            at = self._from(node, node.args["from_"], at)
        at = self._expect(at, _T.SELECT)
        while self._kind(at) in (_T.HINT, _T.ALL, _T.DISTINCT) and self._kind(at + 1) is not _T.DOT:
            at += 1
        for number, item in enumerate(node.expressions):
            start = self._expect(at, _T.COMMA) if number else at
            at = self._item(item, start)
            if id(item) not in self.ranges and self._kind(at) not in (_T.USING, _T.WITH, _T.ON):
                self._unread_item(item, start, at)
        return at

    def _unread_item(self, node: exp.Expr, start: int, end: int) -> None:
        """Note the range of an item whose words are not understood; its alias shows where its expression ends."""
        self._record(node, start, end)
        if type(node) is exp.Alias and self._is_start(node.args["alias"], end - 1):
            self._record(node.args["alias"], end - 1, end)
            self._record(node.this, start, end - 1 - (self._kind(end - 2) is _T.ALIAS))

    def _item(self, node: exp.Expr, at: int) -> int:
        """Read an item of a list of a clause; if it cannot be read, skip to the end of the item."""
        try:
            end = self.read(node, at)
            if self._is_item_end(end):
                return end
        except (_UnreadableError, IndexError):
            pass
        self._forget(node)
        while not self._is_item_end(at):
            at = self._partners.get(at, at) + 1
        return at

    def _is_item_end(self, at: int) -> bool:
        kind = self._kind(at)
        return kind is None or kind in _ITEM_ENDS or kind in _CLOSE

    def _final_clauses(self, node: exp.Expr, at: int) -> int:
        """Read FROM and all clauses behind it; one that cannot be read is skipped to the next word of a clause."""
        while True:
            kind, start = self._kind(at), at
            if kind is _T.FROM and node.args.get("from_") is not None:
                at = self._from(node, node.args["from_"], at)
            elif kind in _CONDITIONS and (clause := node.args.get(_CONDITIONS[kind])) is not None:
                at = self._clause(clause, clause.this, start)
            elif kind in _SORTS and (clause := node.args.get(_SORTS[kind])) is not None:
                at = self._record(clause, start, self._items(clause.expressions, at + 1))
            elif kind is _T.GROUP_BY and (clause := node.args.get("group")) is not None:
                at = self._record(clause, start, self._group(clause, at + 1))
            elif kind in (_T.LIMIT, _T.OFFSET) and (clause := node.args.get(self._words[at].lower())) is not None:
                at = self._clause(clause, clause.args.get("expression"), start)
            elif kind is _T.LATERAL and node.args.get("laterals"):
                at = self._laterals(node.args["laterals"], at)
            elif kind is _T.WINDOW and node.args.get("windows"):
                self._named_windows(node.args["windows"], at + 1)
                at = self._skip_clause(at + 1)
            elif kind is _T.FETCH:
                at = self._skip_clause(at + 1)
            else:
                return at

    def _clause(self, node: exp.Expr, operand: Any, at: int) -> int:
        """Read a word and its operand."""
        end = self._item(operand, at + 1)
        return self._record(node, at, end) if id(operand) in self.ranges else self._skip_clause(end)

    def _named_windows(self, nodes: Sequence[exp.Expr], at: int) -> None:
        try:
            for number, node in enumerate(nodes):
                start = self._expect(at, _T.COMMA) if number else at
                opened = self._expect(self.read(node.this, start), _T.ALIAS)
                self._window_body(node, opened)
                at = self._record(node, start, self._close(opened) + 1)
        except (_UnreadableError, IndexError):
            return

    def _skip_clause(self, at: int) -> int:
        while not (self._kind(at) is None or self._kind(at) in _CLAUSE_ENDS or self._kind(at) in _CLOSE):
            at = self._partners.get(at, at) + 1
        return at

    def _items(self, nodes: Sequence[exp.Expr], at: int) -> int:
        for number, node in enumerate(nodes):
            at = self._item(node, self._expect(at, _T.COMMA) if number else at)
        return at

    def _group(self, node: exp.Group, at: int) -> int:
        with suppress(_UnreadableError, IndexError):
            end = self._items(node.expressions, at)
            for name in ("rollup", "cube", "grouping_sets"):
                for sets in child_expressions(node.args.get(name)):
                    end = self.read(sets, end + (bool(node.expressions) and self._kind(end) is _T.COMMA))
        return self._skip_clause(at)

    def _sets(self, node: exp.Expr, at: int) -> int:
        """Read `ROLLUP (…)`, `CUBE (…)` or `GROUPING SETS (…)`."""
        if self._kind(at) not in (_T.ROLLUP, _T.CUBE, _T.GROUPING_SETS):
            raise _UnreadableError
        return self._in_parentheses(node.expressions, at + 1)

    # -- FROM --------------------------------------------------------------------------------------------------------

    def _from(self, select: exp.Expr, node: exp.Expr, at: int) -> int:
        start = at
        try:
            return self._joins(select, self._record(node, start, self._source(node.this, at + 1)))
        except (_UnreadableError, IndexError):
            return self._skip_clause(at + 1)

    def _joins(self, owner: exp.Expr, at: int) -> int:
        joins = list(owner.args.get("joins") or ())
        laterals = list(owner.args.get("laterals") or ())
        while True:
            kind = self._kind(at)
            if kind in _JOIN_WORDS and joins:
                at = self._join(joins.pop(0), at)
            elif kind is _T.LATERAL and laterals:
                at = self._lateral(laterals.pop(0), at)
            else:
                return at

    def _join(self, node: exp.Join, at: int) -> int:
        start = at
        while self._kind(at) in _JOIN_WORDS:
            at += 1
        at = self._source(node.this, at)
        if self._kind(at) is _T.ON and node.args.get("on") is not None:
            at = self._item(node.args["on"], at + 1)
        elif self._kind(at) is _T.USING:
            at = self._in_parentheses(node.args.get("using") or (), at + 1)
        return self._record(node, start, at)

    def _laterals(self, nodes: Sequence[exp.Expr], at: int) -> int:
        for node in nodes:
            at = self._lateral(node, at)
        return at

    def _lateral(self, node: exp.Expr, at: int) -> int:
        start = at
        at = self._expect(at, _T.LATERAL)
        at += self._kind(at) is _T.VIEW
        at += self._kind(at) is _T.OUTER
        at = self.read(node.this, at)
        alias = node.args.get("alias")
        if alias is None:
            return self._record(node, start, at)
        if node.args.get("view"):
            begin = at
            if alias.this is not None:
                at = self.read(alias.this, at)
            if self._kind(at) is _T.ALIAS:
                at = self._list(alias.args.get("columns") or (), at + 1)
            return self._record(node, start, self._record(alias, begin, at))
        return self._record(node, start, self._table_alias(alias, at))

    def _table_alias(self, alias: exp.Expr, at: int) -> int:
        start = at
        at += self._kind(at) is _T.ALIAS
        if alias.this is not None:
            at = self.read(alias.this, at)
        if alias.args.get("columns") and self._kind(at) is _T.L_PAREN:
            at = self._in_parentheses(alias.args["columns"], at)
        return self._record(alias, start, at)

    def _subquery(self, node: exp.Subquery, at: int) -> int:
        at = self._with(node, at)
        end = self._close(self._expect(at, _T.L_PAREN) - 1)
        inner = node.this
        if (self._nested_source if isinstance(inner, exp.Table) else self.query)(inner, at + 1) != end:
            raise _UnreadableError
        return self._final_clauses(node, self._suffix(node, end + 1))

    def _nested_source(self, node: exp.Expr, at: int) -> int:
        return self._joins(node, self._source(node, at))

    def _source(self, node: Any, at: int) -> int:
        """Read an element of FROM with its alias."""
        start = at
        if isinstance(node, exp.Table):
            end = self._table(node, at)
        elif isinstance(node, exp.Values):
            end = self._values(node, at)
        elif isinstance(node, exp.Lateral):
            return self._lateral(node, at)
        elif isinstance(node, exp.Subquery):
            end = self.read(node, at)
        elif isinstance(node, exp.Expr):
            end = (
                self._suffix(node, self.read(node, at)) if not isinstance(node, exp.Unnest) else self._unnest(node, at)
            )
        else:
            raise _UnreadableError
        end = self._joins(node, end)
        return self._record(node, start, end)

    def _unnest(self, node: exp.Unnest, at: int) -> int:
        at = self._expect(at, _T.UNNEST)
        self._arguments(node.expressions, self._elements(at))
        end = self._close(at) + 1
        end += 2 * (self._kind(end) is _T.WITH)
        return self._suffix(node, end)

    def _table(self, node: exp.Table, at: int) -> int:
        if not isinstance(node.this, exp.Identifier):
            return self._suffix(node, self.read(node.this, at))
        for number, part in enumerate(node.parts):
            at = self.read(part, self._expect(at, _T.DOT) if number else at)
        return self._suffix(node, at)

    def _values(self, node: exp.Values, at: int) -> int:
        is_wrapped = self._kind(at) is _T.L_PAREN
        at += is_wrapped
        if self._kind(at) is not _T.VALUES:
            raise _UnreadableError
        at += 1
        for number, row in enumerate(node.expressions):
            if number:
                at = self._expect(at, _T.COMMA)
            if isinstance(row, exp.Tuple) and self._kind(at) is not _T.L_PAREN:
                at = self._list(row.expressions, at)
            else:
                at = self.read(row, at)
        return self._suffix(node, at + is_wrapped)

    def _suffix(self, node: exp.Expr, at: int) -> int:
        """Read the alias behind a source, and skip its sample, version and pivots."""
        alias: Any = node.args.get("alias")
        is_read = not isinstance(alias, exp.TableAlias)
        if node.args.get("version") is not None or node.args.get("when") is not None:
            raise _UnreadableError
        while True:
            opened = self._opened_suffix(at)
            if opened is not None:
                at = self._close(opened) + 1
                pivots = node.args.get("pivots") or ()
                for pivot in pivots:
                    pivot_alias = pivot.args.get("alias")
                    if pivot_alias is not None and self._is_alias(pivot_alias, at):
                        at = self._table_alias(pivot_alias, at)
            elif not is_read and self._is_alias(alias, at):
                at, is_read = self._table_alias(alias, at), True
            else:
                return at

    def _opened_suffix(self, at: int) -> int | None:
        """Return the parenthesis of a sample or a pivot that begins at a token; None if none begins there."""
        word = "TABLESAMPLE" if self._kind(at) is _T.TABLE_SAMPLE else self._word(at)
        distances = _SUFFIXES.get(word, ())
        return next((at + distance for distance in distances if self._kind(at + distance) is _T.L_PAREN), None)

    def _is_alias(self, alias: Any, at: int) -> bool:
        name = alias.this if alias.this is not None else next(iter(alias.args.get("columns") or ()), None)
        begin = at + (self._kind(at) is _T.ALIAS)
        if alias.this is None:
            begin += 1
        return isinstance(name, exp.Expr) and begin < len(self._tokens) and self._is_start(name, begin)


_SUFFIXES = {"TABLESAMPLE": (1, 2), "PIVOT": (1,), "UNPIVOT": (1, 3)}
"""How far behind the word the parenthesis is: after a method, or after INCLUDE NULLS."""
_CLAUSES = frozenset(
    {
        *(_T.FROM, _T.WHERE, _T.GROUP_BY, _T.HAVING, _T.QUALIFY, _T.WINDOW, _T.LIMIT, _T.OFFSET, _T.FETCH),
        *(_T.LATERAL, *_SORTS, *_SET_WORDS),
    }
)
_CLAUSE_ENDS = _CLAUSES | {_T.SEMICOLON}
_AFTER_QUERY = _CLOSE | _SET_WORDS | {_T.SEMICOLON, _T.LIMIT, _T.OFFSET, _T.FETCH, *_SORTS}
_ITEM_ENDS = _CLAUSE_ENDS | _JOIN_WORDS | {_T.ON, _T.USING, _T.WITH, _T.GROUPING_SETS, _T.ROLLUP, _T.CUBE}
