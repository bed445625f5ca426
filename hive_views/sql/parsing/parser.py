"""Parser of queries: a text to sqlglot's syntax tree. Every failure is a typed error that points into the text."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise, product
from typing import TypeVar

import sqlglot.errors
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.errors import SqlError
from hive_views.sql.parsing.errors import ParseTextError, error_at
from hive_views.sql.parsing.expression_ranges import Range
from hive_views.sql.parsing.hive_grammar import (
    UNSUPPORTED_PAIRS,
    unsupported_pair,
    unsupported_token,
)
from hive_views.sql.parsing.nesting import check_depth
from hive_views.sql.parsing.node_ranges import node_ranges
from hive_views.sql.parsing.readable_tokens import (
    begins_with_script,
    readable_tokens,
    rename_foreign_functions,
    rename_refused_calls,
    unwrap_pivots,
)
from hive_views.sql.parsing.spark_grammar import may_have_keyword_names, name_offsets
from hive_views.sql.parsing.sqlglot_versions import (
    attach_pivots,
    misplaced_token,
    parser_tokens,
    pivot_query,
    same_tree,
    without_pivots_of_values,
)
from hive_views.sql.parsing.syntax_tree import function_token, is_never_call, start_offsets
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.text.tokens import Text, sqlglot_dialect

_Node = TypeVar("_Node", bound=exp.Expr)


@dataclass(frozen=True)
class ParsedQuery:
    """A query's text and syntax tree."""

    text: Text
    tree: exp.Expr
    tokens: Sequence[Token] = field(repr=False)
    """The tokens that the parser read: those of the text, and those that it needs to read them as the engine does."""

    @cached_property
    def ranges(self) -> Mapping[int, Range]:
        """The token range of each node by the node's `id`; nodes that the parser made up have none."""
        return node_ranges(self.text, self.tree, self.tokens)

    @cached_property
    def _nodes(self) -> Mapping[type[exp.Expr], Sequence[exp.Expr]]:
        """The nodes of the tree by their class."""
        nodes: dict[type[exp.Expr], list[exp.Expr]] = {}
        stack = [self.tree]
        while stack:
            node = stack.pop()
            nodes.setdefault(type(node), []).append(node)
            for value in node.args.values():
                if isinstance(value, exp.Expr):
                    stack.append(value)
                elif isinstance(value, list):
                    stack += [item for item in value if isinstance(item, exp.Expr)]
        return nodes

    @cached_property
    def depends_on_using(self) -> bool:
        """Whether no USING can be written as ON, since parts of the text that are not rewritten depend on USING.

        Such parts are a star in a function other than `count(*)`, an element of FROM without alias, NATURAL JOIN, and
        pipe operators that need a query around the operators before them. In Spark, very long chains of FULL JOIN
        depend on it, too: their conditions would name all tables before them.
        """
        if self.text.pipe_markers:
            return True
        full_joins = Counter(
            id(join.parent) for join in self.nodes_of(exp.Join) if join.side == "FULL" and join.args.get("using")
        )
        if self.text.dialect is Dialect.SPARK and max(full_joins.values(), default=0) > _MOST_FULL_JOINS:
            return True
        for star in self.nodes_of(exp.Star):
            parent = star.parent
            while isinstance(parent, (exp.Column, exp.Alias)):
                parent = parent.parent
            if not isinstance(parent, exp.Select) and not (type(parent) is exp.Count and star.parent is parent):
                return True
        for node in self.nodes_of(exp.From, exp.Join):
            source = node.this
            is_table = isinstance(source.this, (exp.Identifier, exp.Table))
            if (not is_table and not source.args.get("alias")) or node.args.get("method") == "NATURAL":
                return True
        return False

    def nodes_of(self, *kinds: type[_Node]) -> Iterator[_Node]:
        """Yield the nodes of some classes and of those below them, in no particular order."""
        for kind, nodes in self._nodes.items():
            if issubclass(kind, kinds):
                yield from nodes  # type: ignore[misc]

    def function_token(self, node: exp.Expr) -> int | None:
        """Return the index of the token that is a function's name; None if the node is not written as a call."""
        has_position = node._meta and "start" in node._meta
        if not has_position and not is_never_call(node):
            first, last = self.ranges.get(id(node), (-1, -1))
            text = self.text
            if 0 <= first < last == text.match.get(first + 1) and text.kinds[first + 1] is TokenType.L_PAREN:
                return first
        return function_token(self.text, node)

    def function_name(self, node: exp.Expr) -> str | None:
        """Return the name of the function that a node calls, in lower case; None if it is not written as a call."""
        token = self.function_token(node)
        return None if token is None else unquote_identifier(self.text.raw(token)).lower()


def parse_query(sql: str, dialect: Dialect, *, whole: str | None = None, offset: int = 0) -> ParsedQuery:
    """Parse a query, at `offset` of `whole`; raises SqlError, or ParseTextError if it is no query."""
    return parse_text(Text(sql, dialect, whole=whole, offset=offset))


def parse_text(text: Text) -> ParsedQuery:
    """Parse a text that is split into tokens; raises SqlError, or ParseTextError if it is no query."""
    if text.dialect is not Dialect.SPARK:
        return ParsedQuery(text, *_tree(text))
    if may_have_keyword_names(text):
        text = _with_names(text)
    try:
        return ParsedQuery(text, *_tree(text))
    except ParseTextError:
        named = _with_names(text)
        if named.kinds == text.kinds:
            raise
        return ParsedQuery(named, *_tree(named))


def _with_names(text: Text) -> Text:
    """Return a text with the keywords that Spark reads as names marked as names."""
    return Text(text.sql, text.dialect, whole=text.whole, offset=text.offset, names=name_offsets(text.sql))


def _tree(text: Text) -> tuple[exp.Expr, Sequence[Token]]:
    tokens = text.tokens
    if not tokens:
        raise error_at(text, "The text is empty: a view needs a query", 0)
    check_depth(text)
    if tokens[0].token_type not in _BEGINNINGS and not begins_with_script(text):
        raise error_at(text, f"A view's text must be a query, not '{tokens[0].text[:40]}'", tokens[0].start)
    if tokens[0].token_type is TokenType.FROM and text.dialect is Dialect.HIVE:
        raise error_at(text, "A view's query cannot begin with FROM: write SELECT … FROM", tokens[0].start)
    if not text.syntax.has_pipes and TokenType.PIPE_GT in text.kind_set:
        start = tokens[text.kinds.index(TokenType.PIPE_GT)].start
        raise error_at(text, "Cannot read the text: only Spark reads the pipe operator |>", start)
    if text.dialect is Dialect.HIVE:
        _check_pairs(text)
        index = unsupported_token(text)
        if index is not None:
            raise _unsupported_error(text, index)
    misplaced = misplaced_token(text)
    if misplaced is not None:
        index, reason = misplaced
        raise error_at(text, f"Cannot read the text: {reason}", tokens[index].start)
    try:
        trees, read = _trees(text)
    except SqlError:
        raise
    except ParseError as error:
        raise _parse_error(text, error) from error
    except RecursionError as error:
        raise error_at(text, "The text is nested too deeply", 0) from error
    except (sqlglot.errors.SqlglotError, *_PARSER_DEFECTS) as error:
        raise error_at(text, f"Cannot read the text: {error}"[:300], 0) from error
    queries = [tree for tree in trees if tree is not None]
    if len(queries) != 1:
        semicolon = next((token.start for token in tokens if token.token_type is TokenType.SEMICOLON), 0)
        raise error_at(text, "A view has exactly one query", semicolon)
    tree = queries[0]
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise error_at(text, "A view's text must be a query: SELECT, WITH, VALUES or a set operation", tokens[0].start)
    if not _VALUES_OF_TYPES.isdisjoint(pairwise(text.kinds)):
        _check_types_of_casts(text, tree)
    if text.dialect is Dialect.SPARK and TokenType.PIVOT in text.kind_set:
        unwrap_pivots(tree)
    return same_tree(text, tree), read


def _check_types_of_casts(text: Text, tree: exp.Expr) -> None:
    """Reject a value where a cast needs a type: sqlglot reads `array<int>[1]` as an array."""
    for cast in tree.find_all(exp.Cast):
        if not isinstance(cast.args.get("to"), exp.DataType):
            start = min(start_offsets(cast), default=text.tokens[0].start)
            raise error_at(text, "Cannot read the text: this cast needs a type", start)


def _trees(text: Text) -> tuple[list[exp.Expr | None], Sequence[Token]]:
    """Return sqlglot's trees and what it read; if it rejects a function's arguments, rename the function and retry."""
    tokens = parser_tokens(text, readable_tokens(text))
    rename_foreign = True
    while True:
        try:
            return _parsed(text, tokens), tokens
        except ParseError as error:
            renamed = rename_foreign_functions(text, tokens) if rename_foreign else None
            renamed = renamed or rename_refused_calls(text, tokens, error)
            if renamed is None:
                raise
            tokens, rename_foreign = renamed, False


class _ThreadParsers(threading.local):
    """One parser per thread and dialect, which stops at the first error: creating one takes as long as a short text."""

    def __init__(self) -> None:
        self.of = cache(lambda name: sqlglot_dialect(name).parser(error_level=ErrorLevel.IMMEDIATE))


_PARSERS = _ThreadParsers()


def _parsed(text: Text, tokens: list[Token]) -> list[exp.Expr | None]:
    """Return sqlglot's trees; if it rejects a PIVOT behind VALUES, as older versions do, read the two one by one."""
    parser: Parser = _PARSERS.of(text.dialect)
    try:
        return parser.parse(tokens, text.sql)
    except ParseError:
        remaining, pivots = without_pivots_of_values(tokens)
        if not pivots:
            raise
        trees = parser.parse(remaining, text.sql)
        for item in pivots:
            (query,) = parser.parse(pivot_query(item), text.sql)
            if trees[0] is not None and query is not None:
                attach_pivots(trees[0], item, query)
        return trees


def _unsupported_error(text: Text, index: int) -> ParseTextError:
    reason = f"Cannot read the text: Hive does not read '{text.raw(index)[:40]}' here"
    return error_at(text, reason, text.tokens[index].start)


def _check_pairs(text: Text) -> None:
    """Reject errors that sqlglot accepts: a comma or AS that nothing follows, names that begin with an underscore."""
    tokens, kinds = text.tokens, text.kinds
    if kinds[-1] in _NEVER_LAST or not _PAIRS.isdisjoint(pairwise(kinds)):
        pair = unsupported_pair(text)
        if pair is not None:
            raise _unsupported_error(text, pair)
        for index, kind in enumerate(kinds):
            if kind in _NEVER_LAST and (index + 1 == len(kinds) or kinds[index + 1] in _NEVER_AFTER_COMMA):
                token = tokens[index]
                raise error_at(text, f"Cannot read the text: nothing follows '{token.text}'", token.start)
    if _UNDERSCORE.search(text.sql) is not None:
        for token, kind in zip(tokens, kinds, strict=True):
            if kind is TokenType.VAR and token.text[:1] == "_":
                raise error_at(text, f"'{token.text}' cannot be a name here: write it as `{token.text}`", token.start)


def _parse_error(text: Text, error: ParseError) -> ParseTextError:
    details = error.errors[0] if error.errors else {}
    reason = str(details.get("description") or str(error).split("\n", 1)[0])
    reason = _TOKEN.sub(lambda match: f"'{match[1]}'" if match[1] != "SENTINEL" else "the end of the text", reason)
    if reason.startswith("Required keyword"):  # versions of sqlglot name other arguments
        reason = "an operand or an argument is missing"
    line, column = details.get("line"), details.get("col")
    near = str(details.get("highlight") or "")
    start = 0
    if isinstance(line, int) and isinstance(column, int):
        lines = text.sql.split("\n")
        start = sum(len(item) + 1 for item in lines[: line - 1]) + max(column - len(near), 0)
    suffix = f" near '{near[:60]}'" if near else ""
    return error_at(text, f"Cannot read the text: {reason.rstrip('.')}{suffix}", start)


_TOKEN = re.compile(r"<Token token_type: \S+, text: (.*?), line: .*?>", re.DOTALL)
_PARSER_DEFECTS = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)
_BEGINNINGS = frozenset(
    {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN, TokenType.TABLE}
)
_MOST_FULL_JOINS = 100
"""The number of FULL JOINs with USING in a FROM clause up to which they are written with ON."""
_VALUES_OF_TYPES = frozenset({(TokenType.GT, TokenType.L_BRACKET), (TokenType.GT, TokenType.L_PAREN)})
_NEVER_LAST = frozenset({TokenType.COMMA, TokenType.ALIAS})
_UNDERSCORE = re.compile(r"_(?<!\w_)")
_NEVER_AFTER_COMMA = frozenset(
    {
        TokenType.COMMA,
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.R_PAREN,
        TokenType.GROUP_BY,
        TokenType.ORDER_BY,
        TokenType.HAVING,
        TokenType.UNION,
        TokenType.ALIAS,
    }
)
_PAIRS = frozenset(product(_NEVER_LAST, _NEVER_AFTER_COMMA)) | UNSUPPORTED_PAIRS
