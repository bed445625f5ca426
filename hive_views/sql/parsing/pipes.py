"""Pipe operators of Spark: `FROM t |> WHERE … |> SET …` as the tokens of nested queries, which the parser reads.

Each operator becomes a clause of a query around the operators before it: `SELECT * FROM (…) <marker> WHERE …`. Tokens
of the text keep their positions. Added tokens get positions after the end of the text. A `PipeStar` describes each
added star. The alias of a query under an operator is a marker, which keeps the table aliases of the query visible.

Source of the rules: Spark 4.1's `AstBuilder.visitOperatorPipeRightSide`, and measurements with Spark 4.1.4: an operator
can name the tables of earlier operators, until AS gives their result another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.text.tokens import Text

MAX_OPERATORS = 100
"""The maximum number of operators in a row: each adds a nested query."""


@dataclass(frozen=True, slots=True)
class PipeStar:
    """A star that an operator implies.

    Attributes:
        kind: `all` for the rows of the operators so far, after which `|> SELECT …` can be written; `extend` for EXTEND,
            whose word is replaced; `before` and `after` for the columns around an assignment of SET; `drop` for DROP;
            `key` for the column at a position in GROUP BY of AGGREGATE.
        first: The first of the tokens that the columns replace, or after which they are written.
        last: The last of these tokens.
        names: The tokens of the columns that SET or DROP names.
    """

    kind: str
    first: int
    last: int
    names: tuple[int, ...] = ()


Emit = Callable[[int, int], list[Token]]
"""Returns the readable tokens of a token range, both ends included."""


def pipe_chains(text: Text) -> dict[int, list[int]]:
    """Return the pipe operators of each query that has any, by the token of the parenthesis around it (-1 for none)."""
    chains: dict[int, list[int]] = {}
    for index, kind in enumerate(text.kinds):
        if kind is TokenType.PIPE_GT:
            chains.setdefault(text.enclosing[index], []).append(index)
    return chains


def chain_tokens(text: Text, first: int, last: int, operators: Sequence[int], emit: Emit) -> list[Token]:
    """Return the tokens of a query with pipe operators as tokens of nested queries."""
    if len(operators) > MAX_OPERATORS:
        raise text.error(f"More than {MAX_OPERATORS} pipe operators in a row", text.tokens[operators[-1]].start)
    head = _end_of_with(text, first)
    chain = _Chain(text, emit)
    chain.begin(head, operators[0] - 1)
    for position, operator in enumerate(operators):
        end = operators[position + 1] - 1 if position + 1 < len(operators) else last
        if operator + 1 > end:
            raise text.error("Cannot read the text: nothing follows |>", text.tokens[operator].start)
        chain.add(operator + 1, end)
    return (emit(first, head - 1) if head > first else []) + chain.result()


def _end_of_with(text: Text, first: int) -> int:
    """Return the first token after the WITH clause at the beginning of a query."""
    if text.kinds[first] is not TokenType.WITH:
        return first
    index = first
    while index + 2 < len(text.kinds) and text.kinds[index] is not TokenType.R_PAREN:
        index = text.match.get(index, index) + 1
        if text.kinds[index - 1] is TokenType.ALIAS and text.kinds[index] is TokenType.L_PAREN:
            index = text.match.get(index, index) + 1
            if index >= len(text.kinds) or text.kinds[index] is not TokenType.COMMA:
                return index
    return first


def _has_alias(text: Text, first: int, last: int) -> bool:
    """Return whether VALUES has a table alias: `VALUES (1) t`, `VALUES (1) AS t (a)`."""
    if text.kinds[last] is not TokenType.R_PAREN:
        return text.kinds[last] in _NAMES
    before = text.match.get(last, first) - 1
    return before > first and text.kinds[before] in _NAMES and text.raw(before - 1) != ","


_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


class _Chain:
    """The query of the operators so far: what its FROM and WHERE clauses contain."""

    def __init__(self, text: Text, emit: Emit) -> None:
        self._text = text
        self._emit = emit
        self._inner: list[Token] | None = None
        """The query of the operators so far; None while they are parts of `_source` and `_where`."""
        self._source: list[Token] = []
        self._where: list[Token] = []
        self._can_join = True
        self._end = 0
        """The last token of the operators so far."""

    def begin(self, first: int, last: int) -> None:
        """Start with the query in front of the first operator."""
        text = self._text
        kind = text.kinds[first] if first <= last else None
        self._end = last
        items = list(self._outside_parentheses(first, last))
        if kind is TokenType.TABLE or (kind is TokenType.FROM and TokenType.SELECT not in map(self._kind, items)):
            self._source = self._emit(first + 1, last)
            self._can_join = {TokenType.COMMA, TokenType.LATERAL}.isdisjoint(map(self._kind, items))
            return
        if kind is TokenType.VALUES and _has_alias(text, first, last):
            self._source = self._emit(first, last)
            return
        self._close(self._emit(first, last))

    def result(self) -> list[Token]:
        """Return the query of all operators."""
        self._normalize()
        assert self._inner is not None
        return self._inner

    def add(self, first: int, last: int) -> None:
        """Add the operator in a range of tokens."""
        text = self._text
        kind, word = text.kinds[first], text.raw(first).upper()
        for index in self._outside_parentheses(first + 1, last):
            is_star = text.raw(index - 1) == "*"
            if text.kinds[index] in _SET_OPERATORS and not is_star and kind not in _SET_OPERATORS:
                reason = f"Cannot read the text: write |> in front of {text.raw(index).upper()}"
                raise text.error(reason, text.tokens[index].start)
        rest = (first + 1, last)
        if kind is TokenType.SELECT:
            self._select(first, last)
        elif word == "EXTEND":
            star = self._star("extend", first, first)
            self._end = last
            self._query([star, self._token(TokenType.COMMA, ","), *self._emit(*rest)])
        elif word == "SET":
            self._set(first, last)
        elif word == "DROP":
            self._drop(first, last)
        elif word == "AGGREGATE":
            self._aggregate(first, last)
        elif word == "WHERE":
            if self._where:
                self._normalize()
            self._split()
            self._where = self._emit(first, last)
            self._end = last
        elif kind in _JOIN_WORDS:
            if self._where or not self._can_join:
                self._normalize()
            self._split()
            self._source = [*self._source, *self._emit(first, last)]
            self._end = last
        else:
            self._normalize()
            self._add_to_query(kind, word, first, last)

    def _add_to_query(self, kind: TokenType, word: str, first: int, last: int) -> None:
        """Add an operator that is applied to a whole query."""
        assert self._inner is not None
        written = self._emit(first, last)
        self._end = last
        if word == "AS" and last == first + 1:
            self._source = [*self._in_parentheses(self._inner), *self._emit(last, last)]
            self._inner = None
        elif word in ("PIVOT", "UNPIVOT") or kind is TokenType.TABLE_SAMPLE:
            self._split()
            self._source += written
            self._query([self._star("all", last, last)])
        elif kind in _SET_OPERATORS:
            self._close([*self._in_parentheses(self._inner), *written])
        elif kind in _ORDER_WORDS or word in ("OFFSET", "LIMIT"):
            self._split()
            self._query([self._star("all", last, last)], written)
        else:
            reason = f"Cannot read the text: the pipe operator {word} is not supported"
            raise self._text.error(reason, self._text.tokens[first].start)

    def _select(self, first: int, last: int) -> None:
        kinds = self._text.kinds
        is_window = (
            index
            for index in self._outside_parentheses(first, last)
            if kinds[index] is TokenType.WINDOW and index < last and kinds[index + 1] is not TokenType.L_PAREN
        )
        window = next(is_window, last + 1)
        self._end = last
        tail = self._emit(window, last) if window <= last else []
        self._query(self._emit(first + 1, window - 1), tail)

    def _set(self, first: int, last: int) -> None:
        """SET assigns one column after the other: a value can use the columns assigned before it."""
        text = self._text
        begin = first
        for start, end in text.elements(first + 1, last):
            name = start
            if start + 2 > end or text.kinds[start + 1] is not TokenType.EQ:
                raise text.error("SET takes a column without its table: SET a = …", text.tokens[min(start, last)].start)
            value = self._emit(start + 2, end)
            alias = [self._token(TokenType.ALIAS, "AS"), text.tokens[name]]
            comma = self._token(TokenType.COMMA, ",")
            before = self._star("before", begin, start + 1, (name,))
            after = self._star("after", end, end, (name,))
            self._query([before, comma, *value, *alias, comma, after])
            self._end = end
            begin = end + 1

    def _drop(self, first: int, last: int) -> None:
        items = list(self._text.elements(first + 1, last))
        if not items or any(start != end for start, end in items):
            raise self._text.error("DROP takes columns without their table", self._text.tokens[first].start)
        star = self._star("drop", first, last, tuple(start for start, _ in items))
        self._end = last
        self._query([star])

    def _aggregate(self, first: int, last: int) -> None:
        """`AGGREGATE f(b) AS s GROUP BY k AS key`: the result has the keys as its first columns."""
        text = self._text
        group = next(
            (at for at in self._outside_parentheses(first, last) if text.kinds[at] is TokenType.GROUP_BY), last + 1
        )
        aggregates = self._emit(first + 1, group - 1) if group > first + 1 else []
        selected: list[Token] = []
        keys: list[Token] = []
        for start, end in text.elements(group + 1, last):
            position = self._position(start, end)
            if position is None and text.kinds[start] in _NO_KEYS and not self._has_alias_or_operator(start, end):
                reason = f"'{text.raw(start)}' in GROUP BY after |> AGGREGATE is not supported: write columns"
                raise text.error(reason, text.tokens[start].start)
            if selected:
                selected.append(self._token(TokenType.COMMA, ","))
                keys.append(self._token(TokenType.COMMA, ","))
            selected += self._emit(start, end) if position is None else [position]
            keys += self._emit(start, self._end_of_value(start, end)) if position is None else [position]
        if selected and aggregates:
            selected.append(self._token(TokenType.COMMA, ","))
        self._end = last
        tail = [self._token(TokenType.GROUP_BY, "GROUP BY"), *keys] if keys else []
        self._query([*selected, *aggregates], tail)

    def _has_alias_or_operator(self, start: int, end: int) -> bool:
        """Return whether a number begins an expression, or has a name: then it is a constant."""
        return start < end and self._text.kinds[start] is TokenType.NUMBER

    def _position(self, start: int, end: int) -> Token | None:
        """Return a name that stands for the position of a column, in parentheses or not; None for other elements."""
        text = self._text
        while text.kinds[start] is TokenType.L_PAREN and text.match.get(start) == end:
            start, end = start + 1, end - 1
        token = text.tokens[start]
        if start != end or not token.text.isdigit() or text.kinds[start] is not TokenType.NUMBER:
            return None
        text.pipe_keys[token.start] = int(token.text)
        return Token(TokenType.VAR, f"__key_{start}", token.line, token.col, token.start, token.end, [])

    def _end_of_value(self, start: int, end: int) -> int:
        """Return the last token of an element before its alias."""
        kinds = self._text.kinds
        if end - 1 > start and kinds[end - 1] is TokenType.ALIAS:
            return end - 2
        is_alias = end > start and kinds[end] in _NAMES and kinds[end - 1] in _BEFORE_ALIAS
        return end - 1 if is_alias else end

    # -- Queries -----------------------------------------------------------------------------------------------------

    def _normalize(self) -> None:
        """Combine the operators so far into one query, `_inner`."""
        if self._inner is None:
            self._query([self._star("all", self._end, self._end)])

    def _query(self, items: Iterable[Token], tail: Sequence[Token] = ()) -> None:
        """Build a query of a SELECT list and final clauses over the operators so far."""
        self._split()
        select = self._token(TokenType.SELECT, "SELECT")
        from_ = self._token(TokenType.FROM, "FROM")
        self._close([select, *items, from_, *self._source, *self._where, *tail])

    def _close(self, query: list[Token]) -> None:
        self._inner, self._source, self._where, self._can_join = query, [], [], True

    def _split(self) -> None:
        """Make the query of the operators so far the source of a FROM clause."""
        if self._inner is not None:
            self._source = [*self._in_parentheses(self._inner), self._marker()]
            self._inner = None

    def _in_parentheses(self, query: list[Token]) -> list[Token]:
        return [self._token(TokenType.L_PAREN, "("), *query, self._token(TokenType.R_PAREN, ")")]

    # -- Tokens ------------------------------------------------------------------------------------------------------

    def _star(self, kind: str, first: int, last: int, names: tuple[int, ...] = ()) -> Token:
        token = self._token(TokenType.STAR, "*")
        self._text.pipe_stars[token.start] = PipeStar(kind, first, last, names)
        return token

    def _marker(self) -> Token:
        token = self._token(TokenType.VAR, "__pipe")
        self._text.pipe_markers.add(token.start)
        return token

    def _token(self, kind: TokenType, word: str) -> Token:
        """Return a token that is not in the text, with a unique position."""
        text = self._text
        text.added_tokens += 1
        start = len(text.sql) + text.added_tokens
        near = text.tokens[min(self._end, len(text.tokens) - 1)]
        return Token(kind, word, near.line, near.col, start, start, [])

    def _outside_parentheses(self, first: int, last: int) -> Iterable[int]:
        """Yield the tokens of a range outside of parentheses, and the opening parentheses."""
        index = first
        while index <= last:
            yield index
            index = max(self._text.match.get(index, index), index) + 1

    def _kind(self, index: int) -> TokenType:
        return self._text.kinds[index]


_SET_OPERATORS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_JOIN_WORDS = frozenset(
    {
        *(TokenType.JOIN, TokenType.INNER, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.CROSS),
        *(TokenType.NATURAL, TokenType.SEMI, TokenType.ANTI),
    }
)
_ORDER_WORDS = frozenset(
    {
        *(TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
        *(TokenType.LIMIT, TokenType.OFFSET),
    }
)
_NO_KEYS = frozenset({TokenType.NUMBER, TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS, TokenType.ALL})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_BEFORE_ALIAS = _NAMES | {
    *(TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NUMBER, TokenType.STRING, TokenType.END),
}
