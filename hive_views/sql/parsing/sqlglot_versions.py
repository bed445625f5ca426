"""One syntax tree for a text on all supported versions of sqlglot (30.8 to 30.30).

sqlglot changes its parser in minor versions. This module changes the tokens in front of the parser and the tree behind
it so that both are the same on every version. Most steps change nothing on the newest version. Measured in November
2026; `tests/unit/sql/parsing/test_sqlglot_versions.py` has a text for each row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.engines.builtin_functions import HIVE_FUNCTIONS
from hive_views.sql.parsing.syntax_tree import start_offsets
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.tokens import Text

NAMES = frozenset(
    kind
    for word in ("CONNECT", "DECLARE", "DISCONNECT", "OUT", "PASTE", "PROJECTION", "REF")
    if (kind := getattr(TokenType, word, None)) is not None
)
"""Keywords of other engines: sqlglot rejects `declare` and `out` as names before 30.20, and has no `ref` then."""

TIME_TRAVEL = {
    ("FOR", "SYSTEM_TIME"): "TIMESTAMP_SNAPSHOT",
    ("FOR", "TIMESTAMP"): "TIMESTAMP_SNAPSHOT",
    ("FOR", "VERSION"): "VERSION_SNAPSHOT",
    ("TIMESTAMP", "AS", "OF"): "TIMESTAMP_SNAPSHOT",
    ("VERSION", "AS", "OF"): "VERSION_SNAPSHOT",
}
"""The words of a time travel, which are one token on older versions, and not all of them there in each dialect."""

SNAPSHOTS = frozenset(
    kind for name in set(TIME_TRAVEL.values()) if (kind := getattr(TokenType, name, None)) is not None
)
"""The types of such a token; none on newer versions."""

CALLS_WITHOUT_CLASS = frozenset(
    "from_json nanvl negative regexp_substr rint shuffle stack weight_string".split()  # noqa: SIM905
)
"""Functions that have a class only on some versions, or one that loses arguments: their calls are `exp.Anonymous`."""

FOREIGN_CALLS_WITHOUT_CLASS = {Dialect.HIVE: frozenset({"max_by", "min_by"})}
"""Functions that are not built into an engine, and that sqlglot reads with other rules than a call, by dialect."""

OPERATORS_AS_CALLS = frozenset({TokenType.AND, TokenType.OR, TokenType.DIV})
"""Operators that Spark also has as functions (`and(a, b)`), which sqlglot reads since 30.26."""

NUMBERS_OF_ARGUMENTS = {
    "count_if": (1, 1),
    "max_by": (2, 3),
    "min_by": (2, 3),
    "parse_json": (1, 1),
    "regr_count": (2, 2),
    "regr_intercept": (2, 2),
    "regr_r2": (2, 2),
    "regr_slope": (2, 2),
    "split": (2, 3),
    "to_date": (1, 2),
}
"""The smallest and the largest number of arguments of functions in Spark 4.1, where sqlglot's versions disagree."""

RENAMED_CALL = "a_{}_without_a_class"
"""The name of a call that is to have no class, while it is parsed."""
_MARKED = re.compile("a_(.*)_without_a_class", re.DOTALL)
_BEFORE_CALL = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_BEFORE_NAME = frozenset(
    {
        *(TokenType.SELECT, TokenType.COMMA, TokenType.L_PAREN, TokenType.WHERE, TokenType.HAVING, TokenType.ON),
        *(TokenType.AND, TokenType.OR, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT),
        *(TokenType.GTE, TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD),
        *(TokenType.ORDER_BY, TokenType.GROUP_BY, TokenType.SORT_BY, TokenType.DISTRIBUTE_BY, TokenType.CLUSTER_BY),
        *(TokenType.PARTITION_BY, TokenType.DISTINCT, TokenType.ALL, TokenType.WHEN, TokenType.THEN, TokenType.ELSE),
        *(TokenType.CASE, TokenType.DOT, TokenType.ALIAS, TokenType.FROM, TokenType.JOIN, TokenType.NOT),
        *(TokenType.DIV, TokenType.DPIPE, TokenType.BETWEEN, TokenType.L_BRACKET),
    }
)
"""The tokens after which a word is an operand, not an operator."""
_AFTER_NOT = frozenset(
    {
        *(TokenType.IN, TokenType.LIKE, TokenType.RLIKE, TokenType.ILIKE, TokenType.BETWEEN, TokenType.NULL),
        *(TokenType.SIMILAR_TO, TokenType.GLOB),
    }
)
"""What may follow NOT behind an operand."""
_OPERAND_ENDS = frozenset(
    {
        *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN),
        *(TokenType.R_BRACKET, TokenType.NULL, TokenType.TRUE, TokenType.FALSE),
    }
)
_NEED_OPERAND = frozenset({TokenType.IN, TokenType.BETWEEN})


def misplaced_token(text: Text) -> tuple[int, str] | None:
    """Return the first token that some versions of sqlglot accept in error, and the reason for its rejection."""
    kinds, last = text.kinds, len(text.kinds) - 1
    if text.kind_set.isdisjoint(_CHECKED) and not any(name in text.lower for name in NUMBERS_OF_ARGUMENTS):
        return None
    for index, kind in enumerate(kinds):
        before = kinds[index - 1] if index else None
        after = kinds[index + 1] if index < last else None
        is_operator = kind is TokenType.NOT and before in _OPERAND_ENDS and after not in _AFTER_NOT
        if is_operator and after is not None and not is_negated_comparison(text, index):
            return index, f"Invalid expression / Unexpected token near '{text.raw(index)}'"
        if kind in _NEED_OPERAND and before in _BEFORE_NAME - {TokenType.NOT} and after is TokenType.L_PAREN:
            return index, f"an operand is missing in front of '{text.raw(index)}'"
        if kind is TokenType.ILIKE and before is TokenType.STAR and kinds[index - 2] in _BEFORE_STAR:
            return index, f"Invalid expression / Unexpected token near '{text.raw(index)}'"
        if after is TokenType.L_PAREN and before is not TokenType.DOT:
            name = text.tokens[index].text.lower()
            is_built_in = text.dialect is not Dialect.HIVE or name in HIVE_FUNCTIONS
            limits = NUMBERS_OF_ARGUMENTS.get(name) if is_built_in else None
            count = _number_of_arguments(text, index + 1) if limits is not None else None
            if limits is not None and count is not None and not limits[0] <= count <= limits[1]:
                least, most = limits
                return (
                    index,
                    f"{name} accepts {least if least == most else f'{least} or {most}'} arguments, not {count}",
                )
    return None


def is_negated_comparison(text: Text, index: int) -> bool:
    """Return whether `!>` or `!<` of Spark begins with a token."""
    negation, *following = text.tokens[index : index + 2]
    return (
        text.dialect is Dialect.SPARK
        and negation.text == "!"
        and bool(following)
        and following[0].token_type in (TokenType.GT, TokenType.LT)
        and following[0].start == negation.end + 1
    )


_BEFORE_STAR = frozenset({TokenType.SELECT, TokenType.COMMA, TokenType.DOT, TokenType.DISTINCT})
_CHECKED = frozenset({TokenType.NOT, TokenType.ILIKE, *_NEED_OPERAND})


def _number_of_arguments(text: Text, index: int) -> int | None:
    """Return the number of arguments in a parenthesis; None where the parenthesis is not closed."""
    end = text.match.get(index)
    return None if end is None else sum(1 for _ in text.elements(index + 1, end - 1))


# -- Tokens in front of the parser -------------------------------------------------------------------------------------


def parser_tokens(text: Text, tokens: list[Token]) -> list[Token]:
    """Return the tokens from which every version of sqlglot makes the same tree, but for `same_tree`."""
    types = [token.token_type for token in tokens]
    kinds = set(types)
    lower = text.lower
    without_class = CALLS_WITHOUT_CLASS | FOREIGN_CALLS_WITHOUT_CLASS.get(text.dialect, frozenset())
    if not (
        not kinds.isdisjoint(_REPLACED)
        or "\\" in text.sql
        or "bd" in lower
        or any(name in lower for name in without_class)
        or (" of " in lower or "system_time" in lower or TokenType.FETCH in kinds)
    ):
        return tokens
    result: list[Token] = []
    skipped_to = -1
    ends: dict[int, int] = {}
    last = len(tokens) - 1
    for index, (token, kind) in enumerate(zip(tokens, types, strict=True)):
        if index in ends:
            result += [_retyped(token, TokenType.R_PAREN, ")")] * ends[index]
        if index <= skipped_to:
            continue
        after = types[index + 1] if index < last else None
        if kind in _NEVER_REPLACED or (
            kind in _BEFORE_CALL and after is not TokenType.L_PAREN and token.text.upper() not in _SPECIAL_WORDS
        ):
            result.append(token)
            continue
        before = types[index - 1] if index else None
        phrase = _time_travel(tokens, index)
        if phrase is not None:
            words, snapshot = phrase
            if snapshot is None:
                result += tokens[index : index + words]
            else:
                result.append(_retyped(token, snapshot, token.text, tokens[index + words - 1].end))
            skipped_to = index + words - 1
            end = _operand_end(tokens, _start_of_time(tokens, index + words))
            if end is not None:
                start = _start_of_time(tokens, index + words)
                result += tokens[index + words : start]
                result.append(_retyped(tokens[start], TokenType.L_PAREN, "("))
                skipped_to = start - 1
                ends[end + 1] = ends.get(end + 1, 0) + 1
        elif kind in NAMES or (kind is TokenType.IN and before in _BEFORE_NAME and after is not TokenType.L_PAREN):
            result.append(_retyped(token, TokenType.VAR, token.text))
        elif kind is TokenType.STRING and "\\" in text.sql[token.start : token.end + 1] and text.syntax.has_backslashes:
            result.append(_retyped(token, kind, text.string_value(token)))
        elif kind is TokenType.DOT and before not in _OPERAND_ENDS and _is_exact_decimal(tokens, index + 1):
            number = tokens[index + 1]  # .5BD
            result.append(_retyped(token, TokenType.NUMBER, f".{number.text}", number.end))
            skipped_to = index + 1
        elif kind is TokenType.DECIMAL and token.text.upper() == "BD" and before is TokenType.DCOLON:
            result.append(_retyped(token, kind, "DECIMAL"))
        elif token.text.upper() == "ROW" and before is TokenType.NUMBER and after is not TokenType.L_PAREN:
            result.append(_retyped(token, TokenType.ROW, token.text))  # FETCH FIRST 1 ROW
        elif kind is TokenType.ALL and before is TokenType.L_PAREN and index > 1 and _is_call(tokens, index - 2):
            continue
        elif (
            after is TokenType.L_PAREN
            and before is not TokenType.DOT
            and (
                (kind in _BEFORE_CALL and token.text.lower() in without_class)
                or (kind in OPERATORS_AS_CALLS and text.dialect is Dialect.SPARK and before in _BEFORE_NAME)
            )
        ):
            result.append(_retyped(token, TokenType.VAR, RENAMED_CALL.format(token.text)))
        else:
            result.append(token)
    if len(tokens) in ends:
        result += [_retyped(tokens[-1], TokenType.R_PAREN, ")")] * ends[len(tokens)]
    return result


_NEVER_REPLACED = frozenset(
    {
        *(TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.STAR, TokenType.NUMBER, TokenType.PLUS),
        *(TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.SLASH),
        *(TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.ALIAS, TokenType.GROUP_BY),
        *(TokenType.ORDER_BY, TokenType.JOIN, TokenType.ON, TokenType.CASE, TokenType.WHEN, TokenType.THEN),
    }
)
"""The most usual tokens that stay as they are."""
_REPLACED = frozenset({*NAMES, *SNAPSHOTS, TokenType.IN, TokenType.ALL, *OPERATORS_AS_CALLS})


def _retyped(token: Token, kind: TokenType, text: str, end: int | None = None) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end if end is None else end, [])


def _is_exact_decimal(tokens: list[Token], index: int) -> bool:
    """Return whether a number with the suffix BD, which sqlglot reads as a cast, begins at a token."""
    return (
        index + 2 < len(tokens)
        and tokens[index].token_type is TokenType.NUMBER
        and tokens[index + 2].text.upper() == "BD"
    )


def _is_call(tokens: list[Token], index: int) -> bool:
    """Return whether a token in front of a parenthesis is the name of a function."""
    return tokens[index].token_type in _BEFORE_CALL


def _time_travel(tokens: list[Token], index: int) -> tuple[int, TokenType | None] | None:
    """Return the number of tokens of `FOR VERSION` and the like, and the type of one token for them, if one exists."""
    if not index or tokens[index].token_type in _OPERAND_STARTS:
        return None
    if tokens[index].token_type in SNAPSHOTS:
        return 1, tokens[index].token_type
    if tokens[index].text.upper() not in _TRAVEL_WORDS:
        return None
    for words, name in TIME_TRAVEL.items():
        if len(words) + index <= len(tokens) and all(
            tokens[index + at].text.upper() == word and tokens[index + at].token_type not in _QUOTED
            for at, word in enumerate(words)
        ):
            is_travel = words[0] != "FOR" or _is_as_of(tokens, index + 2)
            return (len(words), getattr(TokenType, name, None)) if is_travel else None
    return None


_TRAVEL_WORDS = frozenset(words[0] for words in TIME_TRAVEL)
_SPECIAL_WORDS = _TRAVEL_WORDS | {"ROW"}
_QUOTED = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_OPERAND_STARTS = frozenset({TokenType.L_PAREN, TokenType.COMMA, TokenType.R_PAREN})


def _is_as_of(tokens: list[Token], index: int) -> bool:
    return [token.text.upper() for token in tokens[index : index + 2]] == ["AS", "OF"]


def _start_of_time(tokens: list[Token], index: int) -> int:
    """Return the first token of the time, after AS OF."""
    return index + 2 if _is_as_of(tokens, index) else index


_ARITHMETIC = frozenset({TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.DPIPE})


def _operand_end(tokens: list[Token], index: int) -> int | None:
    """Return the last token of an expression with an operator; None for a single operand.

    Older versions read only one operand after AS OF, others a whole expression.
    """
    has_operator = False
    while index < len(tokens):
        kind = tokens[index].token_type
        if kind is TokenType.INTERVAL:
            index += 2  # the value and the unit
        elif kind is not TokenType.L_PAREN and index + 1 < len(tokens):
            while index + 2 < len(tokens) and tokens[index + 1].token_type is TokenType.DOT:
                index += 2
            if tokens[index + 1].token_type is TokenType.STRING:
                index += 1  # TIMESTAMP '…'
            elif tokens[index + 1].token_type is TokenType.L_PAREN:
                index += 1
        if index < len(tokens) and tokens[index].token_type is TokenType.L_PAREN:
            index = _closing(tokens, index)
        if index + 2 >= len(tokens) or tokens[index + 1].token_type not in _ARITHMETIC:
            break
        has_operator = True
        index += 2
    return min(index, len(tokens) - 1) if has_operator else None


def _closing(tokens: list[Token], index: int) -> int:
    depth = 0
    for at in range(index, len(tokens)):
        depth += (tokens[at].token_type is TokenType.L_PAREN) - (tokens[at].token_type is TokenType.R_PAREN)
        if not depth:
            return at
    return len(tokens) - 1


_PIVOTS = frozenset({TokenType.PIVOT, TokenType.UNPIVOT})


@dataclass(frozen=True, slots=True)
class ValuesPivots:
    """The PIVOT and UNPIVOT clauses behind VALUES, which sqlglot reads only in the newest versions."""

    start: int
    """Where VALUES begins, in characters."""
    tokens: list[Token]


def without_pivots_of_values(tokens: list[Token]) -> tuple[list[Token], list[ValuesPivots]]:
    """Return the tokens without the pivots of VALUES, and these pivots."""
    remaining: list[Token] = []
    pivots: list[ValuesPivots] = []
    copied_to = 0
    for index, token in enumerate(tokens):
        if token.token_type is TokenType.VALUES:
            start = _end_of_values(tokens, index)
            end = start
            while end < len(tokens) and tokens[end].token_type in _PIVOTS:
                while end < len(tokens) and tokens[end].token_type is not TokenType.L_PAREN:
                    end += 1
                end = _end_of_alias(tokens, _closing(tokens, end) + 1) if end < len(tokens) else end
            if end > start:
                remaining += tokens[copied_to:start]
                pivots.append(ValuesPivots(token.start, tokens[start:end]))
                copied_to = end
    return remaining + tokens[copied_to:], pivots


def _end_of_values(tokens: list[Token], index: int) -> int:
    """Return the token after the rows of VALUES, the parenthesis around them and the alias."""
    at = index + 1
    while at < len(tokens) and tokens[at].token_type is TokenType.L_PAREN:
        at = _closing(tokens, at) + 1
        if at < len(tokens) and tokens[at].token_type is TokenType.COMMA:
            at += 1
    rows_end, at = at, _end_of_alias(tokens, at)
    if index and tokens[index - 1].token_type is TokenType.L_PAREN and _is(tokens, at, TokenType.R_PAREN):
        at = _end_of_alias(tokens, at + 1)
    return at if at > rows_end else len(tokens)  # PIVOT behind the rows would be their alias


def _end_of_alias(tokens: list[Token], index: int) -> int:
    """Return the token after an alias with or without columns; the same token if there is none."""
    at = index + 1 if _is(tokens, index, TokenType.ALIAS) else index
    if not (_is(tokens, at, TokenType.VAR) or _is(tokens, at, TokenType.IDENTIFIER)):
        return index
    return _closing(tokens, at + 1) + 1 if _is(tokens, at + 1, TokenType.L_PAREN) else at + 1


def _is(tokens: list[Token], index: int, kind: TokenType) -> bool:
    return index < len(tokens) and tokens[index].token_type is kind


def pivot_query(pivots: ValuesPivots) -> list[Token]:
    """Return the tokens of a query with the pivots behind a table."""
    first = pivots.tokens[0]
    words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"), (TokenType.VAR, "t"))
    return [*(_retyped(first, kind, word) for kind, word in words), *pivots.tokens]


def attach_pivots(tree: exp.Expr, pivots: ValuesPivots, query: exp.Expr) -> None:
    """Attach the pivots of a `pivot_query` to their VALUES."""
    clauses = query.find(exp.Table).args["pivots"]  # type: ignore[union-attr]
    rows = [(min(start_offsets(node), default=-1), node) for node in tree.find_all(exp.Values)]
    _, values = min(((start, node) for start, node in rows if start > pivots.start), key=itemgetter(0))
    values.set("pivots", clauses)


# -- The tree behind the parser ----------------------------------------------------------------------------------------

_TERMS = (exp.Add, exp.Sub, exp.Mod)
_FACTORS = (exp.Mul, exp.Div, exp.IntDiv)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_IS = (exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ)
_OPERANDS = frozenset({"this", "expression", "distinct", "by_name", "kind", "side", "on"})
_SORTS = ("sort", "distribute", "cluster")
_MOD_IS_TERM = TokenType.MOD in Parser.TERM
"""Older versions read `a * b % c` as `(a * b) % c`, like newer ones, but `a + b % c` as `(a + b) % c`."""
_SORT_ARRAY: type[exp.Expr] | None = getattr(exp, "SortArray", None)
"""The class of `sort_array` before 30.24, where newer versions have `exp.ArraySort`."""


def same_tree(text: Text, tree: exp.Expr) -> exp.Expr:
    """Change a tree to the one that every version gives, and return it; its root may be another node."""
    kinds = text.kind_set
    _restore_names(tree)
    if _SORT_ARRAY is not None:
        _replace_class(tree, _SORT_ARRAY, exp.ArraySort)
    if not kinds.isdisjoint(_IS_TOKENS):
        _unwrap(text, tree)
        _raise_predicates(tree)
    if _MOD_IS_TERM and TokenType.MOD in kinds:
        _raise_remainders(tree)
    if text.dialect is Dialect.SPARK and TokenType.DPIPE in kinds:
        _regroup_concatenations(tree)
    if not kinds.isdisjoint(_GROUPINGS):
        for group in tree.find_all(exp.Group):
            _move_sets(text, group)
    if not kinds.isdisjoint(_SET_OPERATORS):
        tree = _regroup_set_operations(tree, is_intersect_first=text.dialect is not Dialect.HIVE)
    return tree


_IS_TOKENS = frozenset({TokenType.IS, TokenType.ISNULL, TokenType.NOTNULL, TokenType.NULL, TokenType.NULLSAFE_EQ})
_GROUPINGS = frozenset({TokenType.CUBE, TokenType.ROLLUP, TokenType.GROUPING_SETS})
_SET_OPERATORS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})


def _restore_names(tree: exp.Expr) -> None:
    """Give the calls that `parser_tokens` renamed their names back."""
    for call in tree.find_all(exp.Anonymous):
        marked = _MARKED.fullmatch(call.this) if isinstance(call.this, str) else None
        if marked is not None:
            call.set("this", marked.group(1))


def _replace_class(tree: exp.Expr, old: type[exp.Expr], new: type[exp.Expr]) -> None:
    """Give the calls of one class another."""
    for call in list(tree.find_all(old)):
        replacement = new(**call.args)
        replacement.meta.update(call.meta)
        call.replace(replacement)


def _unwrap(text: Text, tree: exp.Expr) -> None:
    """Remove the parentheses that are not in the text, which newer versions add around operands of IS."""
    for node in list(tree.find_all(exp.Paren)):
        inner = node.this
        if isinstance(node.parent, exp.Predicate) and isinstance(inner, _UNWRAPPED):
            first = min(start_offsets(inner), default=None)
            index = text.starts.get(first) if first is not None else None
            if index is not None and not _is_in_parentheses(text, index, inner):
                node.replace(inner)


_UNWRAPPED = (*_COMPARISONS, exp.Is, exp.Not, exp.Connector, exp.Between, exp.In, exp.Like)


def _is_in_parentheses(text: Text, index: int, inner: exp.Expr) -> bool:
    """Return whether an expression, whose first token with a position is given, is in parentheses in the text."""
    last = max((text.starts.get(start, -1) for start in start_offsets(inner)), default=-1)
    block = text.enclosing[index]
    while block >= 0 and text.match.get(block, -1) < last:
        block = text.enclosing[block]
    if block < 0:
        return False
    begins = block + 1
    while begins < index and text.kinds[begins] in (TokenType.NOT, TokenType.L_PAREN):
        begins += 1
    is_call = block > 0 and text.kinds[block - 1] in (*_BEFORE_CALL, TokenType.IN)
    return not is_call and begins >= index


def _raise_predicates(tree: exp.Expr) -> None:
    """Change `a = (b IS NULL)` to `(a = b) IS NULL`, where the text has no parentheses: IS binds less than `=`."""
    for node in list(tree.find_all(*_IS)):
        top = node.parent if isinstance(node.parent, exp.Not) and isinstance(node, exp.Is) else node
        while isinstance(top.parent, _COMPARISONS) and top.parent.args.get("expression") is top:
            comparison = top.parent
            left = node.this
            comparison.replace(top)
            comparison.set("expression", left)
            node.set("this", comparison)


def _raise_remainders(tree: exp.Expr) -> None:
    """Give `%` the precedence of `*` and `/` where sqlglot gave it that of `+`."""
    for node in list(tree.find_all(exp.Mod)):
        root: exp.Expr = node
        while isinstance(root.parent, (*_TERMS, *_FACTORS)) and root.parent.this is root:
            root = root.parent
        operands, operators = _chain(root)
        if not any(isinstance(item, exp.Mod) for item in operators):
            continue
        place = exp.Placeholder()
        root.replace(place)
        place.replace(_rebuilt(operands, operators))


def _chain(root: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the operands of a chain of arithmetic operators, and the operators between them, from left to right."""
    operands: list[exp.Expr] = []
    operators: list[exp.Expr] = []

    def factors(node: exp.Expr) -> None:
        spine: list[exp.Expr] = []
        while isinstance(node, _FACTORS):
            spine.append(node)
            node = node.this
        operands.append(node)
        for operation in reversed(spine):
            operators.append(operation)
            operands.append(operation.args["expression"])

    spine: list[exp.Expr] = []
    node = root
    while isinstance(node, _TERMS):
        spine.append(node)
        node = node.this
    factors(node)
    for operation in reversed(spine):
        operators.append(operation)
        factors(operation.args["expression"])
    return operands, operators


def _rebuilt(operands: list[exp.Expr], operators: list[exp.Expr]) -> exp.Expr:
    terms = [operands[0]]
    sums: list[exp.Expr] = []
    for operation, operand in zip(operators, operands[1:], strict=True):
        if isinstance(operation, (exp.Mod, *_FACTORS)):
            terms[-1] = _binary(operation, terms[-1], operand)
        else:
            sums.append(operation)
            terms.append(operand)
    result = terms[0]
    for operation, term in zip(sums, terms[1:], strict=True):
        result = _binary(operation, result, term)
    return result


_SPARK_LEVELS: dict[type[exp.Expr], int] = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.DPipe), 4),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), 3),
    exp.BitwiseAnd: 2,
    exp.BitwiseXor: 1,
    exp.BitwiseOr: 0,
}
"""The precedence of operators in Spark's grammar; `*` and the like come before them all (measured in Spark 4.1.4)."""


def _regroup_concatenations(tree: exp.Expr) -> None:
    """Give `||` the precedence of `+`, as in Spark; in sqlglot it has that of `|`, in Hive one between `+` and `|`."""
    done: set[int] = set()
    for node in list(tree.find_all(exp.DPipe)):
        root: exp.Expr = node
        while root.parent is not None and type(root.parent) in _SPARK_LEVELS:
            root = root.parent
        if id(root) in done:
            continue
        operands, operators = _operations(root)
        done.update(map(id, operators))
        if len({type(item) for item in operators}) == 1:
            continue
        place = exp.Placeholder()
        root.replace(place)
        place.replace(_by_level(operands, operators))


def _operations(root: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the operands of operators without parentheses, and the operators, from left to right."""
    operands: list[exp.Expr] = []
    operators: list[exp.Expr] = []
    open_: list[exp.Expr] = []
    node = root
    while True:
        while type(node) in _SPARK_LEVELS:
            open_.append(node)
            node = node.this
        operands.append(node)
        if not open_:
            return operands, operators
        operators.append(open_.pop())
        node = operators[-1].args["expression"]


def _by_level(operands: list[exp.Expr], operators: list[exp.Expr]) -> exp.Expr:
    done, waiting = [operands[0]], list[exp.Expr]()

    def combine(level: int) -> None:
        while waiting and _SPARK_LEVELS[type(waiting[-1])] >= level:
            right = done.pop()
            done.append(_binary(waiting.pop(), done.pop(), right))

    for operation, operand in zip(operators, operands[1:], strict=True):
        combine(_SPARK_LEVELS[type(operation)])
        waiting.append(operation)
        done.append(operand)
    combine(0)
    return done[0]


def _binary(operation: exp.Expr, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    operation.set("this", left)
    operation.set("expression", right)
    return operation


def _move_sets(text: Text, group: exp.Group) -> None:
    """Move `ROLLUP (…)`, `CUBE (…)` and `GROUPING SETS (…)` into the list of keys, unless they follow it directly."""
    moved: list[exp.Expr] = []
    for name in ("rollup", "cube", "grouping_sets"):
        parts = [part for part in group.args.get(name) or () if isinstance(part, exp.Expr)]
        stays = [part for part in parts if not part.expressions or _is_suffix(text, group, part)]
        if len(stays) < len(parts):
            moved += [part for part in parts if part not in stays]
            group.set(name, stays or None)
    if moved:
        keys = [*group.expressions, *moved]
        first = {id(key): min(start_offsets(key), default=len(text.sql)) for key in keys}
        group.set("expressions", sorted(keys, key=lambda key: first[id(key)]))


def _is_suffix(text: Text, group: exp.Group, part: exp.Expr) -> bool:
    """Return whether GROUPING SETS follows the keys without a comma, as Hive writes it."""
    if type(part) is not exp.GroupingSets:
        return False
    keys = [start for key in group.expressions for start in start_offsets(key)]
    start = min(start_offsets(part), default=None)
    index = text.starts.get(start, -1) if start is not None else _first_empty_sets(text, keys)
    while index > 0 and text.kinds[index] is not TokenType.GROUPING_SETS:
        index -= 1
    return index > 0 and text.kinds[index - 1] not in (TokenType.COMMA, TokenType.GROUP_BY)


def _first_empty_sets(text: Text, keys: Iterable[int]) -> int:
    last = max(keys, default=0)
    return next(
        (
            index
            for index, kind in enumerate(text.kinds)
            if kind is TokenType.GROUPING_SETS and text.tokens[index].start > last
        ),
        -1,
    )


def _regroup_set_operations(tree: exp.Expr, *, is_intersect_first: bool) -> exp.Expr:
    """Give INTERSECT the precedence that it has in the dialect, and attach SORT BY and the like to the operation."""
    roots = [node for node in tree.find_all(exp.SetOperation) if not _is_left_operand(node)]
    for root in roots:
        branches, operations = _set_chain(root)
        last = branches[-1]
        if isinstance(last, exp.Select):
            for name in _SORTS:
                if last.args.get(name) is not None:
                    clause = last.args[name]
                    last.set(name, None)
                    root.set(name, clause)
        if not any(isinstance(item, exp.Intersect) for item in operations[1:]) or len(operations) < 2:
            continue
        if not is_intersect_first:
            for operation in operations:
                if isinstance(operation, exp.Intersect) and isinstance(operation.this, (exp.Union, exp.Except)):
                    operation.set("this", operation.this.subquery(copy=False))
            continue
        clauses = {name: value for name, value in root.args.items() if name not in _OPERANDS and value is not None}
        place = exp.Placeholder()
        parent = root.parent
        if parent is not None:
            root.replace(place)
        for name in clauses:
            root.set(name, None)
        new = _with_intersections_first(branches, operations)
        for name, value in clauses.items():
            new.set(name, value)
        if parent is not None:
            place.replace(new)
        elif root is tree:
            tree = new
            tree.parent = None
    return tree


def _is_left_operand(node: exp.Expr) -> bool:
    return isinstance(node.parent, exp.SetOperation) and node.parent.this is node


def _set_chain(root: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the queries of a chain of set operations without parentheses, and the operations, from left to right."""
    operations: list[exp.Expr] = []
    node = root
    while isinstance(node, exp.SetOperation):
        operations.insert(0, node)
        node = node.this
    return [node, *(operation.args["expression"] for operation in operations)], operations


def _with_intersections_first(branches: list[exp.Expr], operations: list[exp.Expr]) -> exp.Expr:
    queries = [branches[0]]
    outer: list[exp.Expr] = []
    for operation, branch in zip(operations, branches[1:], strict=True):
        if isinstance(operation, exp.Intersect):
            queries[-1] = _binary(operation, queries[-1], branch)
        else:
            outer.append(operation)
            queries.append(branch)
    result = queries[0]
    for operation, query in zip(outer, queries[1:], strict=True):
        right = query.subquery(copy=False) if isinstance(query, exp.Intersect) else query
        result = _binary(operation, result, right)
    return result
