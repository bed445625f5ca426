"""A text as Spark's lexer splits it, and comments that end elsewhere to other engines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.errors import SqlError
from hive_views.spark.session.table_references import table_references
from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.spark_lexer import blank_comments, first_word, portable_comments, spark_tokens
from hive_views.sql.rewriting.dialects import portable_text

# Spark's own lexer (4.1.4) gave these for each text, and for 17,000 random ones.
SPLIT = [
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


@pytest.mark.parametrize(("text", "expected"), SPLIT)
def test_a_text_is_split_as_spark_does(text: str, expected: list[str]) -> None:
    assert [word.text for word in spark_tokens(text)] == expected


ODD = st.lists(
    st.sampled_from(["--", "\\", "\n", "\r", "'", '"', "`", "/*", "*/", "/*+", "r'", " ", "a", "://", "''", "v", "é"])
).map("".join)


@given(ODD)
def test_any_text_is_split_and_keeps_its_places(text: str) -> None:
    for dialect in ("spark", "hive"):
        for word in spark_tokens(text, dialect):
            assert text[word.start : word.end] == word.text
    shown = blank_comments(text)
    assert len(shown) == len(text)
    assert list(spark_tokens(shown)) == list(spark_tokens(text)) or shown == text
    for dialect in ("spark", "hive"):
        plain = portable_comments(text, dialect)
        told = [word.text for word in spark_tokens(text, dialect)]
        assert [word.text for word in spark_tokens(plain, "spark")] == told
        assert [word.text for word in spark_tokens(plain, "hive")] == told


@given(ODD)
def test_what_is_never_closed_is_left_as_the_lexer_would_leave_it(text: str) -> None:
    # One word at a time, without anything known of the text in front of it.
    for word in spark_tokens(text):
        [alone, *_] = spark_tokens(text[word.start :])
        assert alone.text == word.text


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
def test_long_texts_that_are_never_closed_are_split_in_one_step(text: str) -> None:
    # Where each quote is looked for to the end of the text, one of these takes minutes.
    assert sum(len(word.text) for word in spark_tokens(text)) <= len(text)
    assert len(blank_comments(text)) == len(text)


def test_the_first_word_stands_behind_the_comments_of_its_dialect() -> None:
    text = "-- old \\\nSELECT\nDROP VIEW v"
    assert first_word(text, "spark") == ("DROP", 16)
    assert first_word(text, "hive") == ("SELECT", 9)
    assert first_word("\ufeff create view", "hive") == ("CREATE", 2)


def test_a_comment_that_goes_on_hides_what_spark_hides() -> None:
    text = "SELECT a -- FROM t \\\n, b FROM it's\n FROM u"
    assert [place.parts for place in table_references(text)] == [("u",)]
    assert [place.start for place in table_references(text)] == [text.index("u", 40)]
    with pytest.raises(SqlError):  # to Hive it is a string that is never closed
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
def test_the_expanded_text_has_comments_that_all_engines_end_alike(dialect: str, text: str, expected: str) -> None:
    assert portable_text(text, dialect) == expected
