"""The tokens that sqlglot reads in place of a text's own, where it reads those otherwise than the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.engines.builtin_functions import (
    HIVE_FUNCTIONS,
    HIVE_PARTITIONED_FUNCTIONS,
    SPARK_FUNCTIONS,
    may_call_partitioned_function,
)
from hive_views.sql.engines.tables import hive_argument_counts, spark_argument_counts
from hive_views.sql.parsing.errors import error_at
from hive_views.sql.parsing.hive_grammar import BEFORE_OPERAND, INTERVAL_UNITS, PARSED_ELSEWHERE
from hive_views.sql.parsing.pipes import chain_tokens, pipe_chains
from hive_views.sql.parsing.sqlglot_versions import RENAMED_CALL, is_negated_comparison
from hive_views.sql.parsing.struct_fields import names_with_as
from hive_views.sql.parsing.variant_paths import paths_read_as_indexes
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import Text


def readable_tokens(text: Text) -> list[Token]:
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
                raise error_at(text, "TABLESAMPLE cannot contain a query: write a number", token.start)
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
        if TokenType.COLON in text.kind_set:
            replacements |= {first: (words_read, last) for first, words_read, last in paths_read_as_indexes(text)}
        for index, kind in enumerate(kinds):
            for rule in _REWRITES.get(kind, ()):
                for first, words_read, last in rule(text, index):
                    replacements.setdefault(first, (words_read, last))
    return replacements


_Replacement = tuple[int, list[Token], int]
"""The first token of the text that is replaced, the tokens in its place, and the last token that is replaced."""


def _rewrite_word(text: Text, index: int) -> list[_Replacement]:
    """Drop MAX RECURSION LEVEL n, and read `X 'F0'` as `X'F0'`, and timediff() as its synonym."""
    token, word = text.tokens[index], text.raw(index).lower()
    following = text.tokens[index + 1 : index + 4]
    if word == "max" and [item.text.lower() for item in following[:2]] == ["recursion", "level"]:
        return [(index, [], index + len(following))]
    if word == "timediff" and following and following[0].token_type is TokenType.L_PAREN:
        return [
            (index, [Token(TokenType.VAR, "timestampdiff", token.line, token.col, token.start, token.end, [])], index)
        ]
    is_string = bool(following) and following[0].token_type is TokenType.STRING
    if word == "x" and is_string and _HEXADECIMAL.fullmatch(following[0].text):
        value = following[0]
        binary = Token(TokenType.HEX_STRING, value.text, token.line, token.col, token.start, value.end, [])
        return [(index, [binary], index + 1)]
    return []


def _rewrite_shift(text: Text, index: int) -> list[_Replacement]:
    """Read `a >>> b` as `a >> b`, which has the same types."""
    run = text.tokens[max(index - 2, 0) : index + 1]
    is_third = len(run) == 3 and all(item.token_type is TokenType.GT for item in run)
    is_one_word = is_third and run[2].start - run[0].start == 2
    return [(index, [], index)] if is_one_word and index not in text.type_brackets.values() else []


def _rewrite_negated_comparison(text: Text, index: int) -> list[_Replacement]:
    """Read `!>` as `<=`, and `!<` as `>=`."""
    if not index or not is_negated_comparison(text, index - 1):
        return []
    negation, comparison = text.tokens[index - 1], text.tokens[index]
    kind, word = (TokenType.LTE, "<=") if comparison.token_type is TokenType.GT else (TokenType.GTE, ">=")
    written = Token(kind, word, negation.line, negation.col, negation.start, comparison.end, [])
    return [(index - 1, [written], index)]


def _rewrite_lateral_view(text: Text, index: int) -> list[_Replacement]:
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


def _rewrite_cluster(text: Text, index: int) -> list[_Replacement]:
    """Read CLUSTER BY of expressions, and in a window, as DISTRIBUTE BY, which takes the same."""
    token, opened = text.tokens[index], text.enclosing[index]
    end = next((at for at in range(index + 1, len(text.kinds)) if text.kinds[at] in _ENDS_OF_KEYS), len(text.kinds))
    is_plain = all(kind in _PLAIN_NAMES or kind in _IN_NAMES for kind in text.kinds[index + 1 : end])
    if is_plain and not (opened > 0 and text.kinds[opened - 1] is TokenType.OVER):
        return []
    words = [Token(TokenType.DISTRIBUTE_BY, "DISTRIBUTE BY", token.line, token.col, token.start, token.end, [])]
    return [(index, words, index)]


def _rewrite_pivot(text: Text, index: int) -> list[_Replacement]:
    """Write each expression over aggregates of a PIVOT as the argument of a call, which `unwrap_pivots` removes."""
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


def _rewrite_index(text: Text, index: int) -> list[_Replacement]:
    """Write `c::array<int>[0]` as `(c::array<int>)[0]`."""
    end = text.type_brackets.get(index + 2)
    if end is None or text.kinds[end + 1 : end + 2] != [TokenType.L_BRACKET]:
        return []
    begin, close = text.tokens[_start_of_operand(text, index - 1)], text.tokens[end]
    # Their texts are those of the tokens at their positions, so that what begins or ends with them has a range.
    opening = Token(TokenType.L_PAREN, begin.text, begin.line, begin.col, begin.start, begin.start, [])
    closing = Token(TokenType.R_PAREN, close.text, close.line, close.col, close.end, close.end, [])
    first = text.starts[begin.start]
    return [(first, [opening, begin], first), (end, [close, closing], end)]


def _rewrite_typed_literal(text: Text, index: int) -> list[_Replacement]:
    """Write `date'2020-01-01'::string` as `(date'2020-01-01')::string`; sqlglot casts the string first."""
    if index < 2 or text.kinds[index - 1] is not TokenType.STRING or text.raw(index - 2).lower() not in _LITERAL_TYPES:
        return []
    begin, value = text.tokens[index - 2 : index]
    opening = Token(TokenType.L_PAREN, begin.text, begin.line, begin.col, begin.start, begin.start, [])
    closing = Token(TokenType.R_PAREN, value.text, value.line, value.col, value.end, value.end, [])
    return [(index - 2, [opening, begin], index - 2), (index - 1, [value, closing], index - 1)]


_LITERAL_TYPES = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz"})


def _rewrite_interval(text: Text, index: int) -> list[_Replacement]:
    """Write AS behind `::interval` in front of an alias, which would be read as its unit."""
    kinds, at = text.kinds, index + 2
    if kinds[index + 1 : at] != [TokenType.INTERVAL] or kinds[at : at + 1] != [TokenType.VAR]:
        return []
    if text.raw(at).lower() in INTERVAL_TYPE_UNITS:
        return []
    alias = text.tokens[at]
    return [(at, [Token(TokenType.ALIAS, "AS", alias.line, alias.col, alias.start, alias.start, []), alias], at)]


def _rewrite_script(text: Text, index: int) -> list[_Replacement]:
    """Read `MAP a, b USING 'script'`, and REDUCE in its place, as `SELECT TRANSFORM (a, b) USING 'script'`."""
    clause = _script_clause(text, index)
    if clause is None:
        return []
    start, end = clause
    word, following = text.tokens[start], text.tokens[end]
    words = [
        Token(kind, written, word.line, word.col, word.start, word.end, [])
        for kind, written in ((TokenType.SELECT, "SELECT"), (TokenType.VAR, "TRANSFORM"), (TokenType.L_PAREN, "("))
    ]
    at = following.start
    closing = Token(TokenType.R_PAREN, ")", following.line, following.col, at, at, [])
    return [(start, words, start), (end, [closing, following], end)]


def _script_clause(text: Text, using: int) -> tuple[int, int] | None:
    """Return the token of MAP or REDUCE to which a USING belongs, and the token behind its expressions."""
    kinds, opened = text.kinds, text.enclosing[using]
    if kinds[using + 1 : using + 2] != [TokenType.STRING]:
        return None
    end = using
    for at in range(using - 1, opened, -1):
        if text.enclosing[at] != opened:
            continue
        word, following = text.raw(at).lower(), kinds[at + 1]
        if kinds[at] in _BEFORE_SCRIPT:
            break
        if word == "recordwriter" or (word == "row" and text.raw(at + 1).lower() == "format"):
            end = at
        is_behind_from = at == 0 or kinds[at - 1] in _ENDS_OF_FROM
        if word in _SCRIPT_WORDS and is_behind_from and following not in _AFTER_NAME:
            return None if following in (TokenType.ALL, TokenType.DISTINCT) else (at, end)
    return None


def begins_with_script(text: Text) -> bool:
    """Return whether a text begins with MAP … USING or REDUCE … USING."""
    if text.dialect is not Dialect.SPARK or text.raw(0).lower() not in _SCRIPT_WORDS:
        return False
    clauses = (_script_clause(text, at) for at, kind in enumerate(text.kinds) if kind is TokenType.USING)
    return any(clause is not None and clause[0] == 0 for clause in clauses)


_SCRIPT_WORDS = frozenset({"map", "reduce"})
_AFTER_NAME = frozenset({TokenType.DOT, TokenType.COMMA, TokenType.USING, TokenType.L_BRACKET})
_BEFORE_SCRIPT = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.SEMICOLON})
"""What is in front of the expressions of a script in the same parentheses, or in front of the elements of FROM."""


def _start_of_operand(text: Text, last: int) -> int:
    """Return the first token of the operand of `::` that ends with a token: a name, a call, a path, a cast, CASE."""
    kinds, at = text.kinds, last
    while at > 0:
        if kinds[at] is TokenType.GT:  # of a type
            while at > 0 and kinds[at] is not TokenType.DCOLON:
                at -= 1
        elif kinds[at] is TokenType.END:
            depth = 1
            while depth and at > 0:
                at -= 1
                depth += (kinds[at] is TokenType.END) - (kinds[at] is TokenType.CASE)
        if kinds[at] in _CLOSING:
            at = text.match.get(at, at)
        is_indexed = kinds[at] is TokenType.L_BRACKET
        is_call = kinds[at] is TokenType.L_PAREN and kinds[at - 1] in _CALLED
        if is_indexed or is_call or kinds[at] in _BETWEEN_PARTS:
            at -= 1
        elif kinds[at - 1] in _BETWEEN_PARTS:
            at -= 2
        else:
            break
    return at


_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_CALLED = frozenset(Parser.FUNC_TOKENS) - {TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE, TokenType.ALL}
"""The tokens that are names of functions in front of a parenthesis."""
_BETWEEN_PARTS = frozenset({TokenType.DOT, TokenType.COLON, TokenType.DCOLON})


def unwrap_pivots(tree: exp.Expr) -> None:
    """Replace the calls around expressions over aggregates by their arguments."""
    for pivot in tree.find_all(exp.Pivot):
        for item in pivot.expressions:
            call = item.this if type(item) is exp.Alias else item
            if type(call) is exp.Anonymous and call.name == PIVOTED:
                call.replace(call.expressions[0])


_HEXADECIMAL = re.compile(r"[0-9a-fA-F]*")
PIVOTED = "an_expression_over_aggregates"
"""The name of the call around an expression over aggregates in a PIVOT, while it is parsed."""
_REWRITES: Mapping[TokenType, Sequence[Callable[[Text, int], Iterable[_Replacement]]]] = {
    TokenType.VAR: (_rewrite_word,),
    TokenType.GT: (_rewrite_shift, _rewrite_negated_comparison),
    TokenType.LT: (_rewrite_negated_comparison,),
    TokenType.VIEW: (_rewrite_lateral_view,),
    TokenType.CLUSTER_BY: (_rewrite_cluster,),
    TokenType.DCOLON: (_rewrite_index, _rewrite_typed_literal, _rewrite_interval),
    TokenType.PIVOT: (_rewrite_pivot,),
    TokenType.USING: (_rewrite_script,),
    TokenType.STRUCT: (names_with_as,),
}
"""What Spark reads and sqlglot does not, by the token that it begins with."""
INTERVAL_TYPE_UNITS = frozenset({"year", "month", "day", "hour", "minute", "second"})
"""The units of types such as INTERVAL DAY."""
_PLAIN_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_ENDS_OF_FROM = _PLAIN_NAMES | frozenset(Parser.ID_VAR_TOKENS) | {TokenType.L_PAREN, TokenType.R_PAREN}
"""What may be in front of MAP and REDUCE: the end of a FROM clause, or the parenthesis around the query."""
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
        if kinds[position] is TokenType.USING and kinds[position + 1 : position + 2] == [TokenType.STRING]:
            return False
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


def rename_foreign_functions(text: Text, tokens: list[Token]) -> list[Token] | None:
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
            and (token.text.lower() not in built_in or _is_unread_call(tokens, index))
        ):
            is_changed = True
            name = RENAMED_CALL.format(token.text)
            token = Token(TokenType.VAR, name, token.line, token.col, token.start, token.end, [])
        renamed.append(token)
    return renamed if is_changed else None


def rename_refused_calls(text: Text, tokens: list[Token], error: ParseError) -> list[Token] | None:
    """Rename the calls of a function that sqlglot refuses for a number of arguments that the engine accepts.

    Returns None for other errors.
    """
    details = error.errors[0] if error.errors else {}
    description = str(details.get("description"))
    counts_of = _COUNTS.get(text.dialect)
    if counts_of is None or not description.startswith(_WRONG_COUNT) or details.get("highlight") != ")":
        return None
    place = (details.get("line"), details.get("col"))
    closed = next((index for index, token in enumerate(tokens) if (token.line, token.col) == place), -1)
    opened = text.match.get(text.starts.get(tokens[closed].start, -1), 0) if closed >= 0 else 0
    if opened == 0:
        return None
    name = text.tokens[opened - 1].text
    counts = counts_of(name.lower())
    count = sum(1 for _ in text.elements(opened + 1, text.match[opened] - 1))
    if counts is None or not (count in counts[0] or (counts[1] and count > max(counts[0], default=0))):
        return None
    calls = {
        index
        for index, (token, after) in enumerate(pairwise(tokens))
        if token.text.lower() == name.lower() and after.token_type is TokenType.L_PAREN
    }
    if not calls:
        return None  # they are renamed already
    return [
        Token(TokenType.VAR, RENAMED_CALL.format(token.text), token.line, token.col, token.start, token.end, [])
        if index in calls
        else token
        for index, token in enumerate(tokens)
    ]


_COUNTS = {Dialect.HIVE: hive_argument_counts, Dialect.SPARK: spark_argument_counts}
_WRONG_COUNT = ("The number of provided arguments", "Required keyword")


def _is_unread_call(tokens: list[Token], index: int) -> bool:
    """Return whether a name is followed by `()` or `(DISTINCT`.

    sqlglot requires arguments for functions such as Spark's concat(), and does not read `corr(DISTINCT x, y)`.
    """
    return index + 2 < len(tokens) and tokens[index + 2].token_type in (TokenType.R_PAREN, TokenType.DISTINCT)


_MEASURES = frozenset({TokenType.NUMBER, TokenType.STRING})
_LITERAL_KEYWORDS = frozenset({TokenType.INTERVAL, TokenType.DATE, TokenType.TIMESTAMP})
