"""The token range of each expression of a syntax tree, and of the nodes in it; `node_ranges` reads the queries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.parsing.syntax_tree import child_expressions, first_offsets_of

_T = TokenType
Range = tuple[int, int]
"""The first and the last token of a node in its text."""


class UnreadableError(Exception):
    """The tokens are not those of a node's form."""


_OPEN = {_T.L_PAREN: _T.R_PAREN, _T.L_BRACKET: _T.R_BRACKET, _T.L_BRACE: _T.R_BRACE}
CLOSE = frozenset(_OPEN.values())

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
QUERIES = (exp.Select, exp.SetOperation)


def _children(node: exp.Expr) -> list[exp.Expr]:
    return [child for value in node.args.values() for child in child_expressions(value)]


class ExpressionReader:
    """Reads the tokens of a tree; a method returns the token after a node, or raises `UnreadableError`.

    A subclass reads queries.
    """

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
            elif kind in CLOSE and opened:
                self._partners[opened.pop()] = index
        self._forms: dict[type[exp.Expr], Callable[[Any, int], int]] = {
            exp.Column: self._column,
            exp.Paren: self._paren,
            exp.Tuple: self._tuple,
            exp.Alias: self._alias,
            exp.Aliases: self._aliases,
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
                raise UnreadableError
        return at + len(kinds)

    def _expect_word(self, at: int, *words: str) -> int:
        for number, word in enumerate(words):
            if self._word(at + number) != word:
                raise UnreadableError
        return at + len(words)

    def _close(self, opened: int) -> int:
        if opened not in self._partners:
            raise UnreadableError
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
            raise UnreadableError
        if end > at:
            self.ranges[id(node)] = (at, end - 1)
        return end

    def read(self, node: Any, at: int) -> int:
        """Read a node and note its range."""
        while self._kind(at) is _T.PLUS:
            at += 1  # a sign that the tree does not have
        if not isinstance(node, exp.Expr):
            raise UnreadableError
        if type(node) is exp.PropertyEQ:
            return self._property(node, at)
        form = self._forms.get(type(node))
        if form is not None:
            return self._record(node, at, form(node, at))
        if isinstance(node, QUERIES):
            return self.query(node, at)
        meta = node._meta
        has_position = meta is not None and "start" in meta
        if type(node) in _OPERATORS and not has_position:
            return self._chain(node, at)
        if isinstance(node, exp.Func):
            return self._function(node, at, has_position)
        if meta and has_position:
            if self._tokens[at].start != meta["start"]:
                raise UnreadableError
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
            raise UnreadableError
        return at + 1

    def _try(self, node: Any, at: int, end: int) -> bool:
        """Read a node that ends in front of a known token; return whether it has a range there."""
        known = dict(self.ranges) if len(self.ranges) < 64 else None
        try:
            if self.read(node, at) == end:
                return True
        except (UnreadableError, IndexError):
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
            raise UnreadableError
        for node, (start, end) in zip(nodes, elements, strict=True):
            self._try(node, start, end)
        return self._close(opened) + 1

    def query(self, node: exp.Expr, at: int) -> int:
        """Read a query."""
        raise NotImplementedError

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
            raise UnreadableError
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
            raise UnreadableError
        if isinstance(inner, exp.Escape):
            like = inner.this
            end = self._right(like, self.read(like.this, at), is_negated=True)
            return self._right(inner, end, is_negated=False)
        if isinstance(inner, _AFTER_NOT):
            return self._right(inner, self.read(inner.this, at), is_negated=True)
        raise UnreadableError

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
        has_as = self._kind(end) is _T.ALIAS
        if not has_as and not self._is_start(node.this, end):
            return end
        return self._record(node, at, self.read(node.this, end + has_as))

    def _bracket(self, node: exp.Bracket, at: int) -> int:
        opened = self._expect(self.read(node.this, at), _T.L_BRACKET) - 1
        return self._in_parentheses(node.expressions, opened)

    # -- Calls -------------------------------------------------------------------------------------------------------

    def _function(self, node: exp.Func, at: int, has_position: bool) -> int:
        """Read `f(a, b)` or `current_date`; a call that the parser put around an operand has no range."""
        if has_position and self._tokens[at].start != node.meta["start"]:
            raise UnreadableError
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
                raise UnreadableError
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
        except (UnreadableError, IndexError):
            return False

    def _cast(self, node: exp.Cast, at: int) -> int:
        type_ = node.args["to"]
        if self._word(at) in ("CAST", "TRY_CAST") and self._kind(at + 1) is _T.L_PAREN:
            close = self._close(at + 1)
            end = self.read(node.this, at + 2)
            if self._type(type_, self._expect(end, _T.ALIAS)) != close:
                raise UnreadableError
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
                raise UnreadableError
            at += 1
            if not depth and self._kind(at) not in (_T.L_PAREN, _T.LT):
                break
        if self._word(at) in ("WITH", "WITHOUT"):
            at += 1 + (self._word(at + 1) == "LOCAL")
            at = self._expect_word(at, "TIME", "ZONE")
        return at

    def _case(self, node: exp.Case, at: int) -> int:
        if self._kind(at) is not _T.CASE:
            raise UnreadableError
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
        except (UnreadableError, IndexError):
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
            raise UnreadableError
        inner = node.this
        if isinstance(inner, exp.Expr) and not isinstance(inner, (exp.Tuple, exp.Paren, exp.Subquery)):
            return self._in_parentheses([inner], at + 1)
        return self.read(inner, at + 1)
