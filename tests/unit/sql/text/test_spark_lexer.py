"""Tokens of Spark's lexer, and comments that other engines end elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.errors import SqlError
from hive_views.sql.parsing.parser_settings import find_doubled_quote, reads_doubled_quotes
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.spark_lexer import blank_comments, first_word, portable_comments, spark_tokens, unclosed_piece
from hive_views.sql.text.tokens import Text
from hive_views.sql.writing.definition import portable_text


@pytest.mark.parametrize(
    ("sql", "offset"),
    [
        ("SELECT 'it''s'", 7),
        ('SELECT "a""b"', 7),
        ("SELECT '', 'a' 'b', \"it's\", 'say \"\"', 'a\\'', '' ''", None),
        ("SELECT `a''b` /* 'it''s' */ -- 'it''s'", None),
    ],
)
def test_first_literal_with_a_doubled_quote(sql: str, offset: int | None) -> None:
    assert find_doubled_quote(sql) == offset


# Measured with Spark's own lexer (4.1.4), as were 17,000 random texts.
TOKENS = [
    ("-- old \\\nnote\nDROP VIEW v", ["DROP", "VIEW", "v"]),
    ("-- old \\\r\nDROP VIEW v", ["DROP", "VIEW", "v"]),
    ("-- old\rDROP/* a /* b */ c */VIEW v", ["DROP", "VIEW", "v"]),
    ("/* a /*+ b */ DROP", ["DROP"]),
    ("/*+ a */ b", ["/*+", "a", "*/", "b"]),
    ("2*/*c*/3", ["2", "*/", "*", "c", "*/", "3"]),
    ("'it''s' r'\\' 'a\\'b'", ["'it''s'", "r'\\'", "'a\\'b'"]),
    ("xr'a' \"b;\" `c``d`.e", ["xr", "'a'", '"b;"', "`c``d`", ".", "e"]),
    ("a://b--c d", ["a://b--c", "d"]),
    ("'open -- x", ["'", "open"]),
    ("DROP\u00a0VIEW\u2003v", ["DROP", "VIEW", "v"]),
    ("'a \\' \"b' c\" \\'d", ["'a \\' \"b'", "c", '"', "\\", "'", "d"]),
    ("'a \\'b \"c'' \\'", ["'a \\'b \"c'", "'", "\\", "'"]),
    ("'\\'\\'\"'\"r'", ["'\\'\\'\"'", '"', "r", "'"]),
]


@pytest.mark.parametrize(("text", "expected"), TOKENS)
def test_tokens_equal_those_of_spark(text: str, expected: list[str]) -> None:
    assert [token.text for token in spark_tokens(text)] == expected


TEXTS = st.lists(
    st.sampled_from(["--", "\\", "\n", "\r", "'", '"', "`", "/*", "*/", "/*+", "r'", " ", "a", "://", "''", "v", "é"])
).map("".join)


@given(TEXTS)
def test_tokens_keep_positions_and_survive_comment_rewrites(text: str) -> None:
    for dialect in ("spark", "hive"):
        for token in spark_tokens(text, dialect):
            assert text[token.start : token.end] == token.text
    blanked = blank_comments(text)
    assert len(blanked) == len(text)
    assert list(spark_tokens(blanked)) == list(spark_tokens(text)) or blanked == text
    for dialect in ("spark", "hive"):
        portable = portable_comments(text, dialect)
        expected = [token.text for token in spark_tokens(text, dialect)]
        assert [token.text for token in spark_tokens(portable, "spark")] == expected
        assert [token.text for token in spark_tokens(portable, "hive")] == expected


@given(TEXTS)
def test_tokens_do_not_depend_on_the_text_before_them(text: str) -> None:
    for token in spark_tokens(text):
        [first, *_] = spark_tokens(text[token.start :])
        assert first.text == token.text


@pytest.mark.parametrize(
    "text",
    [
        "SET a.c='" + "\\'a " * 40_000,
        '"' + '\\"' * 40_000,
        "r'" * 40_001,
        "'" * 80_001,
        "`" * 80_001,
        "-" * 160_000,
        "/*" * 80_000,
        "--\\\r" * 40_000,
    ],
)
def test_unclosed_quotes_and_comments_take_linear_time(text: str) -> None:
    # With a search up to the end of the text for each quote, one of these takes minutes.
    assert sum(len(token.text) for token in spark_tokens(text)) <= len(text)
    assert len(blank_comments(text)) == len(text)


def test_first_word_follows_comments_of_the_dialect() -> None:
    text = "-- old \\\nSELECT\nDROP VIEW v"
    assert first_word(text, "spark") == ("DROP", 16)
    assert first_word(text, "hive") == ("SELECT", 9)
    assert first_word("\ufeff create view", "hive") == ("CREATE", 2)


def test_continued_comment_hides_the_next_line_from_spark_only() -> None:
    text = "SELECT a -- FROM t \\\n, b FROM it's\n FROM u"
    assert [token.text for token in Text(text, "spark").tokens] == ["SELECT", "a", "FROM", "u"]
    with pytest.raises(SqlError):  # Hive reads a string that is not closed
        Text(text, "hive")


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("spark", "SELECT a -- b \\\n AS c\nFROM t", "SELECT a -- b   AS c\nFROM t"),
        ("hive", "SELECT a -- b \\\n AS c\nFROM t", "SELECT a -- b \\ \n AS c\nFROM t"),
        ("hive", "SELECT '--\\\n', a -- b\\c\n", "SELECT '--\\\n', a -- b\\c\n"),
        ("spark", "SELECT '--\\\n' /* -- \\\n */", "SELECT '--\\\n' /* -- \\\n */"),
    ],
)
def test_portable_text_ends_comments_where_the_author_does(dialect: str, text: str, expected: str) -> None:
    assert portable_text(text, dialect) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.4.8", False), ("3.5.9", False), ("4.0.5", False), ("4.0.1-amzn-0", False), ("4.1.0", True), ("4.10.0", True)],
)
def test_versions_that_read_doubled_quotes(version: str, expected: bool) -> None:
    """Measured with SELECT 'it''s' on 3.5.9, 4.0.5 and 4.1.4 (docs/spark.md)."""
    assert reads_doubled_quotes(version) is expected


@pytest.mark.parametrize(
    ("sql", "dialect", "unclosed"),
    [
        ("select 'abc from t", Dialect.SPARK, (7, "'")),
        ('select a, "abc from t', Dialect.HIVE, (10, '"')),
        ("select `a``b from t", Dialect.HIVE, (10, "`")),
        ('select "a""b from t', Dialect.TRINO, (10, '"')),
        ("select 1 /* x 'from' t", Dialect.SPARK, (9, "/*")),
        ("select a -- c'\n, 'b from t", Dialect.HIVE, (17, "'")),
        ("select 'a\\', 'b' from t", Dialect.SPARK, (15, "'")),
        ("select /* /* */ a from t", Dialect.SPARK, (7, "/*")),
        ("select r'\\' x, 'a from t", Dialect.SPARK, (15, "'")),
        ("select '`', \"'\", `\"'`, '/*', 1 /* ' */ -- '", Dialect.SPARK, None),
    ],
)
def test_part_that_is_not_closed(sql: str, dialect: Dialect, unclosed: tuple[int, str] | None) -> None:
    assert unclosed_piece(sql, dialect) == unclosed
