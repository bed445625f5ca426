"""Words and tokens of Hive's language: reserved words (each was tried on a real Hive 4.1), types, operators."""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

RESERVED = frozenset(
    """
    all alter and any array as authorization between bigint binary boolean both by case cast char column commit
    conf constraint convert create cross cube current current_date current_timestamp cursor database date dec
    decimal delete describe distinct div double drop else end except exchange exists extended external extract
    false fetch float floor following for foreign from full function grant group grouping having if import in
    inner insert int integer intersect interval into is join lateral leading left less like local macro map
    merge minus more none not null numeric of on only or order out outer over partition percent preceding
    precision prepare preserve primary procedure qualify range reads real reduce references regexp revoke right
    rlike rollback rollup row rows select set smallint some start sync table tablesample then time timestamp to
    trailing transform trigger true truncate unbounded union unique uniquejoin update user using values varchar
    when where window with
    """.split()
)
"""The words that are not read as a name unless they are quoted, in lower case."""

INTERVAL_UNITS = frozenset(
    f"{unit}{plural}" for unit in ("year", "month", "day", "hour", "minute", "second") for plural in ("", "s")
)
"""The units of `1 day` and `interval '1' day`."""

CAST_TARGETS = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp"}
)
"""The types for which a cast of a column that has it already is no cast (Hive's CONVERSION_FUNCTION_TEXT_MAP)."""

PARSED_ELSEWHERE = frozenset(
    {"extract", "trim", "cast", "exists", "interval", "case", "any", "all", "some", "distinct"}
)
"""Words in front of a parenthesis that are no functions of the registry."""

BEFORE_OPERAND = frozenset(
    {
        TokenType.SELECT,
        TokenType.COMMA,
        TokenType.L_PAREN,
        TokenType.WHERE,
        TokenType.HAVING,
        TokenType.ON,
        TokenType.AND,
        TokenType.OR,
        TokenType.NOT,
        TokenType.EQ,
        TokenType.NEQ,
        TokenType.LT,
        TokenType.LTE,
        TokenType.GT,
        TokenType.GTE,
        TokenType.NULLSAFE_EQ,
        TokenType.PLUS,
        TokenType.DASH,
        TokenType.STAR,
        TokenType.SLASH,
        TokenType.MOD,
        TokenType.DIV,
        TokenType.DPIPE,
        TokenType.PIPE,
        TokenType.AMP,
        TokenType.CARET,
        TokenType.TILDE,
        TokenType.CASE,
        TokenType.WHEN,
        TokenType.THEN,
        TokenType.ELSE,
        TokenType.BETWEEN,
        TokenType.LIKE,
        TokenType.RLIKE,
        TokenType.ORDER_BY,
        TokenType.GROUP_BY,
        TokenType.SORT_BY,
        TokenType.DISTRIBUTE_BY,
        TokenType.CLUSTER_BY,
        TokenType.PARTITION_BY,
        TokenType.DISTINCT,
        TokenType.L_BRACKET,
        TokenType.HINT,
        TokenType.QUALIFY,
        TokenType.ALL,
    }
)
"""The tokens behind which an operand begins: there a plus sign and a parenthesis belong to the operand."""
