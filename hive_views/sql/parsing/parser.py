"""Parser of queries: a text to sqlglot's syntax tree. Every failure is a typed error that points into the text."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise, product

import sqlglot.errors
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.errors import SqlError
from hive_views.sql.engines.builtin_functions import (
    HIVE_FUNCTIONS,
    HIVE_PARTITIONED_FUNCTIONS,
    SPARK_FUNCTIONS,
    may_call_partitioned_function,
)
from hive_views.sql.parsing.hive_grammar import (
    BEFORE_OPERAND,
    INTERVAL_UNITS,
    PARSED_ELSEWHERE,
    UNSUPPORTED_PAIRS,
    unsupported_pair,
    unsupported_token,
)
from hive_views.sql.parsing.node_ranges import Range, node_ranges
from hive_views.sql.parsing.pipes import chain_tokens, pipe_chains
from hive_views.sql.parsing.spark_grammar import may_have_keyword_names, name_offsets
from hive_views.sql.parsing.sqlglot_versions import (
    RENAMED_CALL,
    attach_pivots,
    misplaced_token,
    parser_tokens,
    pivot_query,
    same_tree,
    without_pivots_of_values,
)
from hive_views.sql.parsing.syntax_tree import function_token, is_never_call
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.spark_lexer import spark_tokens
from hive_views.sql.text.tokens import Text, sqlglot_dialect

ESCAPED_LITERALS = "spark.sql.parser.escapedStringLiterals"
DOUBLE_QUOTED_IDENTIFIERS = "spark.sql.ansi.doubleQuotedIdentifiers"

PARSER_SETTINGS = {
    ESCAPED_LITERALS: ("\\",),
    "spark.sql.parser.quotedRegexColumnNames": ("`",),
    DOUBLE_QUOTED_IDENTIFIERS: ('"',),
    "spark.sql.legacy.consecutiveStringLiterals.enabled": ("''", '""'),
}
"""Settings, off by default, that change how Spark parses a text, each with the characters whose meaning it changes."""

_VARIABLE = re.compile(r"\$\{\S+?\}", re.ASCII)
CASE_SENSITIVE = "spark.sql.caseSensitive"
"""The setting that makes names that differ only in case different names; off by default."""


def setting_dependence(sql: str, is_on: Callable[[str], bool]) -> tuple[str, int, str] | None:
    """A setting on which the meaning of a text depends, the offset of the part that depends on it, and the reason."""
    for key, marks in PARSER_SETTINGS.items():
        for mark in marks:
            offset = _find_mark(sql, mark)
            if offset >= 0 and is_on(key):
                reason = f"this text has a {mark} in it, which other readers of the view interpret differently"
                return key, offset, reason
    if not is_on(CASE_SENSITIVE):
        return None
    first_uses: dict[str, str] = {}
    for token in spark_tokens(sql):
        if token.kind not in ("word", "quoted"):
            continue
        name = token.text.strip("`")
        first_use = first_uses.setdefault(name.lower(), name)
        if first_use != name:
            reason = f"this text has {first_use} and {name}, which are one name to other readers of the view"
            return CASE_SENSITIVE, token.start, reason
    return None


def find_doubled_quote(sql: str) -> int | None:
    """Return the offset of the first literal with a doubled quote, such as `'it''s'`; see `reads_doubled_quotes`."""
    literals = (token for token in spark_tokens(sql) if token.kind == "string" and token.text[0] in "'\"")
    return next((token.start for token in literals if token.text[0] * 2 in token.text[1:-1]), None)


def reads_doubled_quotes(spark_version: str) -> bool:
    """Return whether a version of Spark reads `'it''s'` as `it's`.

    Those before 4.1 read `its` (2.4.8, 3.5.9 and 4.0.5).
    """
    return [int(number) for number in re.findall(r"\d+", spark_version)[:2]] >= [4, 1]


def find_variable(sql: str) -> str | None:
    """Return the first `${name}` in a Spark text outside comments, which Spark replaces by a value; None for none."""
    variables = (_VARIABLE.search(token.text) for token in spark_tokens(sql) if "${" in token.text)
    return next((variable.group() for variable in variables if variable is not None), None)


def _find_mark(sql: str, mark: str) -> int:
    """Return the offset of characters whose meaning a setting changes; two quotes count only within a string."""
    if len(mark) == 1 or mark not in sql:
        return sql.find(mark)
    doubled = find_doubled_quote(sql)
    return -1 if doubled is None else doubled


MAX_DEPTH = 120
"""The maximum nesting of parentheses, CASE, NOT and signs."""
MAX_TYPE_DEPTH = 40
"""The maximum nesting of `array<…>`, `map<…>` and `struct<…>`."""
MAX_BARE_JOINS = 12
"""The maximum number of joins in a row without a condition: sqlglot's time doubles with each of them."""
MAX_CALL_DEPTH = 9
"""The maximum nesting of what sqlglot reads twice: calls named like types, such as `date(…)`, `array[…]`, and
parentheses after LIMIT and OFFSET."""
MAX_TOKENS = 400_000
"""The maximum length of a text, in tokens."""


class ParseTextError(SqlError):
    """A text that is not SQL, or not a query."""


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

    def function_token(self, node: exp.Expr) -> int | None:
        """Return the index of the token that is a function's name; None if the node is not written as a call."""
        has_position = node._meta and "start" in node._meta
        if not has_position and not is_never_call(node):
            first, last = self.ranges.get(id(node), (-1, -1))
            text = self.text
            if 0 <= first < last == text.match.get(first + 1) and text.kinds[first + 1] is TokenType.L_PAREN:
                return first
        return function_token(self.text, node)


def parse_query(sql: str, dialect: Dialect, *, whole: str | None = None, offset: int = 0) -> ParsedQuery:
    """Parse a query, at `offset` of `whole`; raises SqlError, or ParseTextError if it is no query."""
    text = Text(sql, dialect, whole=whole, offset=offset)
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
        raise _error(text, "The text is empty: a view needs a query", 0)
    check_depth(text)
    if tokens[0].token_type not in _BEGINNINGS:
        raise _error(text, f"A view's text must be a query, not '{tokens[0].text[:40]}'", tokens[0].start)
    if tokens[0].token_type is TokenType.FROM and text.dialect is Dialect.HIVE:
        raise _error(text, "A view's query cannot begin with FROM: write SELECT … FROM", tokens[0].start)
    if not text.syntax.has_pipes and TokenType.PIPE_GT in text.kind_set:
        start = tokens[text.kinds.index(TokenType.PIPE_GT)].start
        raise _error(text, "Cannot read the text: only Spark reads the pipe operator |>", start)
    if text.dialect is Dialect.HIVE:
        _check_pairs(text)
        index = unsupported_token(text)
        if index is not None:
            raise _unsupported_error(text, index)
    misplaced = misplaced_token(text)
    if misplaced is not None:
        index, reason = misplaced
        raise _error(text, f"Cannot read the text: {reason}", tokens[index].start)
    try:
        trees, read = _trees(text)
    except SqlError:
        raise
    except ParseError as error:
        raise _parse_error(text, error) from error
    except RecursionError as error:
        raise _error(text, "The text is nested too deeply", 0) from error
    except (sqlglot.errors.SqlglotError, *_PARSER_DEFECTS) as error:
        raise _error(text, f"Cannot read the text: {error}"[:300], 0) from error
    queries = [tree for tree in trees if tree is not None]
    if len(queries) != 1:
        semicolon = next((token.start for token in tokens if token.token_type is TokenType.SEMICOLON), 0)
        raise _error(text, "A view has exactly one query", semicolon)
    tree = queries[0]
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise _error(text, "A view's text must be a query: SELECT, WITH, VALUES or a set operation", tokens[0].start)
    if text.dialect is Dialect.SPARK and TokenType.PIVOT in text.kind_set:
        _unwrap_pivots(tree)
    return same_tree(text, tree), read


def _trees(text: Text) -> tuple[list[exp.Expr | None], Sequence[Token]]:
    """Return sqlglot's trees and what it read; if it rejects a function's arguments, rename the function and retry."""
    tokens = parser_tokens(text, _readable_tokens(text))
    try:
        return _parsed(text, tokens), tokens
    except ParseError:
        renamed = _rename_foreign_functions(text, tokens)
        if renamed is None:
            raise
        return _parsed(text, renamed), renamed


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


def _rename_foreign_functions(text: Text, tokens: list[Token]) -> list[Token] | None:
    """Rename calls without arguments and functions that only other engines have built in; None if there are none."""
    built_in = HIVE_FUNCTIONS | PARSED_ELSEWHERE
    if text.dialect is not Dialect.HIVE:
        built_in |= SPARK_FUNCTIONS
    renamed: list[Token] = []
    is_changed = False
    for index, token in enumerate(tokens):
        if (
            token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
            and 0 < index < len(tokens) - 1
            and tokens[index + 1].token_type is TokenType.L_PAREN
            and tokens[index - 1].token_type in BEFORE_OPERAND
            and token.text.upper() in Parser.FUNCTIONS
            and token.text.upper() not in Parser.FUNCTION_PARSERS
            and (token.text.lower() not in built_in or _is_empty_call(tokens, index))
        ):
            is_changed = True
            name = RENAMED_CALL.format(token.text)
            token = Token(TokenType.VAR, name, token.line, token.col, token.start, token.end, [])
        renamed.append(token)
    return renamed if is_changed else None


def _is_empty_call(tokens: list[Token], index: int) -> bool:
    """Return whether a name is followed by `()`; sqlglot requires arguments for functions such as Spark's concat()."""
    return index + 2 < len(tokens) and tokens[index + 2].token_type is TokenType.R_PAREN


def check_depth(text: Text) -> None:
    """Reject a text that is too long or too deeply nested to be parsed safely."""
    tokens = text.tokens
    if len(tokens) > MAX_TOKENS:
        raise _error(text, f"The text has {len(tokens)} tokens; at most {MAX_TOKENS} are read", 0)
    if (
        text.count(_DEEPER | _PREFIX) <= MAX_DEPTH
        and text.sql.count("<") <= MAX_TYPE_DEPTH
        and text.count(_READ_TWICE) <= MAX_CALL_DEPTH
        and text.lower.count("join") <= MAX_BARE_JOINS
    ):
        return  # the text is too short to exceed a limit
    depth = prefixes = types = casts = joins = indexes = 0
    calls: list[bool] = []
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.LT and tokens[index - 1].token_type in _NESTED_TYPES:
            types += 1
        elif kind is TokenType.GT:
            types = max(types - 1, 0)
        if types > MAX_TYPE_DEPTH:
            raise _error(text, f"A type is nested too deeply: more than {MAX_TYPE_DEPTH} levels", token.start)
        if kind in _DEEPER:
            depth += 1
            calls.append(kind in _OPENING and index > 0 and tokens[index - 1].token_type in _READ_TWICE)
            if calls[-1]:
                casts += 1
                if casts > MAX_CALL_DEPTH:
                    reason = f"Type names, LIMIT or OFFSET are nested too deeply: more than {MAX_CALL_DEPTH}"
                    raise _error(text, reason, token.start)
        elif kind in _SHALLOWER and calls:
            depth -= 1
            casts -= calls.pop()
        if kind is TokenType.JOIN and tokens[index - 1].token_type is not TokenType.CROSS:
            joins += 1
            if joins > MAX_BARE_JOINS:
                raise _error(text, f"More than {MAX_BARE_JOINS} joins without ON: write CROSS JOIN", token.start)
        elif kind in (TokenType.ON, TokenType.USING):
            joins = 0
        if kind is TokenType.L_BRACKET and tokens[index - 1].token_type is TokenType.R_BRACKET:
            indexes += 1
            if indexes > MAX_DEPTH:
                raise _error(text, f"More than {MAX_DEPTH} indexes in a row", token.start)
        elif kind is TokenType.IDENTIFIER or kind is TokenType.VAR:
            indexes = 0
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        if depth + prefixes > MAX_DEPTH:
            raise _error(text, f"The text is nested too deeply: more than {MAX_DEPTH} levels", token.start)


def _readable_tokens(text: Text) -> list[Token]:
    """Drop the parts that sqlglot reads differently than Hive: TABLESAMPLE (…), the arguments of `noop(on t …)`."""
    tokens = text.tokens
    lower = text.lower
    if text.dialect is Dialect.SPARK or (text.dialect is Dialect.TRINO and TokenType.TABLE in text.kind_set):
        return _readable_spark_tokens(text)
    if text.dialect is not Dialect.HIVE:
        return tokens
    if any(unit in lower for unit in ("day", "hour", "month", "year", "minute", "second")):
        tokens = _with_interval_keywords(text)
    if not ("tablesample" in lower or may_call_partitioned_function(lower)):
        return tokens
    readable: list[Token] = []
    skipped_to = -1
    for index, token in enumerate(tokens):
        if index <= skipped_to:
            continue
        if token.token_type is TokenType.TABLE_SAMPLE:
            skipped_to = text.match.get(index + 1, index)
            if TokenType.SELECT in text.kinds[index:skipped_to]:
                raise _error(text, "TABLESAMPLE cannot contain a query: write a number", token.start)
            continue
        readable.append(token)
        if (
            token.text.lower() in HIVE_PARTITIONED_FUNCTIONS
            and index + 2 < len(tokens)
            and tokens[index + 1].token_type is TokenType.L_PAREN
            and tokens[index + 2].token_type is TokenType.ON
        ):
            skipped_to = text.match.get(index + 1, index)
    return readable


def _readable_spark_tokens(text: Text) -> list[Token]:
    """Write pipe operators as nested queries, `SELECT * FROM t` for `FROM t` and `TABLE t`; drop `WITH (options)`."""
    replacements = _spark_replacements(text)
    chains = pipe_chains(text) if TokenType.PIPE_GT in text.kind_set else {}

    def emit(first: int, last: int) -> list[Token]:
        readable: list[Token] = []
        copied_to = index = first
        while index <= last:
            words, end = replacements.get(index, (None, index))
            if words is None and index in chains:
                end = text.match.get(index, last + 1) - 1
                words = [text.tokens[index], *chain_tokens(text, index + 1, end, chains[index], emit)]
            if words is not None:
                readable += text.tokens[copied_to:index]
                readable += words
                copied_to = end + 1
            index = end + 1
        return readable + text.tokens[copied_to : last + 1]

    last = len(text.tokens) - 1
    if -1 in chains:
        return chain_tokens(text, 0, last, chains[-1], emit)
    return emit(0, last) if replacements or chains else text.tokens


def _spark_replacements(text: Text) -> dict[int, tuple[list[Token], int]]:
    """Return, by token index, the tokens that replace a range of a Spark text, and the last token of the range."""
    kinds, tokens = text.kinds, text.tokens
    replacements: dict[int, tuple[list[Token], int]] = {}
    rewritten = _REWRITTEN if text.dialect is Dialect.SPARK else _TABLE_WORD
    for index in [position for position, kind in enumerate(kinds) if kind in rewritten]:
        kind, token = kinds[index], tokens[index]
        is_call = index + 1 < len(kinds) and kinds[index + 1] is TokenType.L_PAREN
        words: list[tuple[TokenType, str]]
        if kind is TokenType.WITH and is_call and index:
            words, end = [], text.match.get(index + 1, index)
        elif kind in (TokenType.TABLE, TokenType.FROM) and _begins_query(text, index):
            # All have the position of FROM or TABLE, because the columns of the star replace that word in the text.
            words, end = [(TokenType.FROM, "FROM")], index
            if _is_without_select(text, index):
                words = [(TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), *words]
        elif kind is TokenType.WINDOW and is_call:
            words, end = [(TokenType.VAR, token.text)], index
        else:
            continue
        written = [Token(kind, word, token.line, token.col, token.start, token.end, []) for kind, word in words]
        replacements[index] = written, end
    if text.dialect is Dialect.SPARK:
        for index, kind in enumerate(kinds):
            rule = _UNREAD.get(kind)
            for first, words_read, last in () if rule is None else rule(text, index):
                replacements.setdefault(first, (words_read, last))
    return replacements


_Replacement = tuple[int, list[Token], int]
"""The first token of the text that is replaced, the tokens in its place, and the last token that is replaced."""


def _unread_word(text: Text, index: int) -> list[_Replacement]:
    """Drop MAX RECURSION LEVEL n, and read `X 'F0'` as `X'F0'`."""
    token, word = text.tokens[index], text.raw(index).lower()
    following = text.tokens[index + 1 : index + 4]
    if word == "max" and [item.text.lower() for item in following[:2]] == ["recursion", "level"]:
        return [(index, [], index + len(following))]
    is_string = bool(following) and following[0].token_type is TokenType.STRING
    if word == "x" and is_string and _HEXADECIMAL.fullmatch(following[0].text):
        value = following[0]
        binary = Token(TokenType.HEX_STRING, value.text, token.line, token.col, token.start, value.end, [])
        return [(index, [binary], index + 1)]
    return []


def _unread_shift(text: Text, index: int) -> list[_Replacement]:
    """Read `a >>> b` as `a >> b`, which has the same types."""
    run = text.tokens[max(index - 2, 0) : index + 1]
    is_third = len(run) == 3 and all(item.token_type is TokenType.GT for item in run)
    is_one_word = is_third and run[2].start - run[0].start == 2
    return [(index, [], index)] if is_one_word and not _closes_type(text, index - 2) else []


def _closes_type(text: Text, index: int) -> bool:
    """Return whether a `>` closes `array<…>`, `map<…>` or `struct<…>`."""
    at = index - 1
    while at > 0:
        kind = text.kinds[at]
        if kind is TokenType.LT:
            return text.raw(at - 1).lower() in ("array", "map", "struct")
        if kind is TokenType.R_PAREN:  # of decimal(10, 2)
            at = text.match.get(at, 0) - 1
            if text.raw(at).lower() not in ("decimal", "dec", "numeric", "varchar", "char"):
                return False
        elif not (kind in (TokenType.COMMA, TokenType.COLON, TokenType.GT) or text.raw(at).strip("`").isidentifier()):
            return False
        at -= 1
    return False


def _unread_lateral_view(text: Text, index: int) -> list[_Replacement]:
    """Write AS behind the alias of a LATERAL VIEW whose columns follow without it."""
    kinds = text.kinds
    if kinds[index - 1 : index] != [TokenType.LATERAL]:
        return []
    opened = next((at for at in range(index + 1, len(kinds)) if kinds[at] is TokenType.L_PAREN), len(kinds))
    alias = text.match.get(opened, len(kinds)) + 1
    if alias + 1 >= len(kinds) or not all(kind in _NAMES for kind in kinds[alias : alias + 2]):
        return []
    column = text.tokens[alias + 1]
    keyword = Token(TokenType.ALIAS, "AS", column.line, column.col, column.start, column.start, [])
    return [(alias, [text.tokens[alias], keyword], alias)]


def _unread_cluster(text: Text, index: int) -> list[_Replacement]:
    """Read CLUSTER BY of expressions, and in a window, as DISTRIBUTE BY, which takes the same."""
    token, opened = text.tokens[index], text.enclosing[index]
    end = next((at for at in range(index + 1, len(text.kinds)) if text.kinds[at] in _ENDS_OF_KEYS), len(text.kinds))
    is_plain = all(kind in _PLAIN_NAMES or kind in _IN_NAMES for kind in text.kinds[index + 1 : end])
    if is_plain and not (opened > 0 and text.kinds[opened - 1] is TokenType.OVER):
        return []
    words = [Token(TokenType.DISTRIBUTE_BY, "DISTRIBUTE BY", token.line, token.col, token.start, token.end, [])]
    return [(index, words, index)]


def _unread_pivot(text: Text, index: int) -> list[_Replacement]:
    """Write each expression over aggregates of a PIVOT as the argument of a call, which `_unwrap_pivots` removes."""
    kinds, tokens = text.kinds, text.tokens
    opened = index + 1
    inside = range(opened + 1, text.match.get(opened, opened))
    for_ = next((at for at in inside if kinds[at] is TokenType.FOR and text.enclosing[at] == opened), -1)
    replacements: list[_Replacement] = []
    for first, last in text.elements(opened + 1, for_ - 1) if for_ > 0 else ():
        end = last - 2 if kinds[last - 1] is TokenType.ALIAS else last
        if end == last and kinds[last] in _PLAIN_NAMES and kinds[last - 1] in _OPERAND_ENDS:
            end -= 1  # an alias without AS
        if first == end or (kinds[first + 1] is TokenType.L_PAREN and text.match.get(first + 1) == end):
            continue
        begin, stop = tokens[first], tokens[end]
        call = [
            Token(kind, word, begin.line, begin.col, begin.start, begin.start, [])
            for kind, word in ((TokenType.VAR, PIVOTED), (TokenType.L_PAREN, "("))
        ]
        closing = Token(TokenType.R_PAREN, ")", stop.line, stop.col, stop.end, stop.end, [])
        replacements += [(first, [*call, begin], first), (end, [stop, closing], end)]
    return replacements


def _unwrap_pivots(tree: exp.Expr) -> None:
    """Replace the calls around expressions over aggregates by their arguments."""
    for pivot in tree.find_all(exp.Pivot):
        for item in pivot.expressions:
            call = item.this if type(item) is exp.Alias else item
            if type(call) is exp.Anonymous and call.name == PIVOTED:
                call.replace(call.expressions[0])


_HEXADECIMAL = re.compile(r"[0-9a-fA-F]*")
PIVOTED = "an_expression_over_aggregates"
"""The name of the call around an expression over aggregates in a PIVOT, while it is parsed."""
_UNREAD: Mapping[TokenType, Callable[[Text, int], list[_Replacement]]] = {
    TokenType.VAR: _unread_word,
    TokenType.GT: _unread_shift,
    TokenType.VIEW: _unread_lateral_view,
    TokenType.CLUSTER_BY: _unread_cluster,
    TokenType.PIVOT: _unread_pivot,
}
"""What Spark reads and sqlglot does not, by the token that it begins with."""
_PLAIN_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_NAMES = _PLAIN_NAMES | frozenset(Parser.TYPE_TOKENS) | {TokenType.RANGE}
_IN_NAMES = frozenset({TokenType.DOT, TokenType.COMMA})
_OPERAND_ENDS = _PLAIN_NAMES | {
    *(TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NUMBER, TokenType.STRING, TokenType.HEX_STRING),
    *(TokenType.END, TokenType.NULL, TokenType.TRUE, TokenType.FALSE),
}
_ENDS_OF_KEYS = frozenset(
    {
        *(TokenType.R_PAREN, TokenType.LIMIT, TokenType.WINDOW, TokenType.UNION, TokenType.EXCEPT),
        *(TokenType.INTERSECT, TokenType.OFFSET, TokenType.PIPE_GT),
    }
)


_REWRITTEN = frozenset({TokenType.WITH, TokenType.TABLE, TokenType.FROM, TokenType.WINDOW})
_TABLE_WORD = frozenset({TokenType.TABLE})
_SET_OPERATORS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_QUERY_WORDS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.TABLE, TokenType.VALUES})
_BEFORE_SUBQUERY = _SET_OPERATORS | {
    *(TokenType.L_PAREN, TokenType.ALIAS, TokenType.IN, TokenType.FROM, TokenType.JOIN, TokenType.COMMA),
    *(TokenType.EXISTS, TokenType.ALL, TokenType.DISTINCT, TokenType.LATERAL),
}


def _begins_query(text: Text, index: int) -> bool:
    """Whether a word is at the beginning of a text, a subquery, a part of a set operation, or the query after WITH."""
    kinds = text.kinds
    if index == 0:
        return True
    previous = kinds[index - 1]
    if previous is TokenType.L_PAREN:
        return index == 1 or kinds[index - 2] in _BEFORE_SUBQUERY
    if previous is TokenType.R_PAREN:
        start = text.match.get(index - 1, 0)
        return start > 0 and kinds[start - 1] is TokenType.ALIAS and kinds[start + 1] in _QUERY_WORDS
    if previous in (TokenType.ALL, TokenType.DISTINCT):
        previous = kinds[index - 2]
    return previous in _SET_OPERATORS


def _is_without_select(text: Text, index: int) -> bool:
    """Return whether a query that begins with FROM or TABLE has no SELECT, or has one only after `|>`."""
    kinds = text.kinds
    position = index + 1
    while position < len(kinds) and kinds[position] not in (*_SET_OPERATORS, TokenType.R_PAREN):
        if kinds[position] in (TokenType.SELECT, TokenType.PIPE_GT):
            return kinds[position] is TokenType.PIPE_GT
        position = text.match.get(position, position) + 1 if kinds[position] is TokenType.L_PAREN else position + 1
    return True


def _with_interval_keywords(text: Text) -> list[Token]:
    """Insert INTERVAL in front of `1 day` and the like, where Hive's grammar does not need it."""
    kinds, last = text.kinds, len(text.kinds) - 1
    tokens: list[Token] = []
    copied_to = 0
    for index in [position for position, kind in enumerate(kinds) if kind in _MEASURES and position < last]:
        if text.raw(index + 1).lower() in INTERVAL_UNITS and not (index and kinds[index - 1] in _LITERAL_KEYWORDS):
            token = text.tokens[index]
            tokens += text.tokens[copied_to:index]
            tokens.append(Token(TokenType.INTERVAL, "INTERVAL", token.line, token.col, token.start, token.start, []))
            copied_to = index
    return tokens + text.tokens[copied_to:]


def _unsupported_error(text: Text, index: int) -> ParseTextError:
    reason = f"Cannot read the text: Hive does not read '{text.raw(index)[:40]}' here"
    return _error(text, reason, text.tokens[index].start)


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
                raise _error(text, f"Cannot read the text: nothing follows '{token.text}'", token.start)
    if _UNDERSCORE.search(text.sql) is not None:
        for token, kind in zip(tokens, kinds, strict=True):
            if kind is TokenType.VAR and token.text[:1] == "_":
                raise _error(text, f"'{token.text}' cannot be a name here: write it as `{token.text}`", token.start)


def _error(text: Text, reason: str, start: int) -> ParseTextError:
    line, column = text.position(start)
    return ParseTextError(reason, line=line, column=column)


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
    return _error(text, f"Cannot read the text: {reason.rstrip('.')}{suffix}", start)


_TOKEN = re.compile(r"<Token token_type: \S+, text: (.*?), line: .*?>", re.DOTALL)
_PARSER_DEFECTS = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)
_DEEPER = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE, TokenType.L_BRACE})
_SHALLOWER = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END, TokenType.R_BRACE})
_BEGINNINGS = frozenset(
    {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN, TokenType.TABLE}
)
_NEVER_LAST = frozenset({TokenType.COMMA, TokenType.ALIAS})
_MEASURES = frozenset({TokenType.NUMBER, TokenType.STRING})
_LITERAL_KEYWORDS = frozenset({TokenType.INTERVAL, TokenType.DATE, TokenType.TIMESTAMP})
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
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_READ_TWICE = frozenset(Parser.TYPE_TOKENS) | {TokenType.LIMIT, TokenType.OFFSET}
"""The tokens in front of parentheses and brackets whose inside sqlglot reads twice."""
_NESTED_TYPES = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_PREFIX = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
