"""What a session does with a statement, by its first words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from hive_views.sql.text.spark_lexer import spark_tokens


@dataclass(frozen=True, kw_only=True)
class Handling:
    """What a session does with a statement before Spark runs it."""

    is_passed: bool = False
    """Nothing: it contains no query and no statement."""
    is_about_views: bool = False
    """The catalog runs it if it is about the catalog's views."""
    is_rewritten: bool = False
    """The views that it reads are replaced where Spark would read them incorrectly."""
    may_contain_statements: bool = False
    """The statements in it are checked."""
    names_are_checked: bool = False
    """It is rejected if it names a view that would have to be replaced."""
    changes_tables: bool = False
    """It may drop tables or change their rows, which is rejected for some."""
    describes_tables: bool = False
    lists_views: bool = False
    keeps_views: bool = False
    """What it creates reads the views that replace others, which therefore are kept."""


_OTHER = Handling(may_contain_statements=True, names_are_checked=True)
_PASSED = Handling(is_passed=True)
_QUERY = Handling(is_rewritten=True)
_ROW_CHANGE = Handling(is_rewritten=True, changes_tables=True)
_CONTAINER = Handling(is_rewritten=True, may_contain_statements=True)
_ABOUT_VIEWS = Handling(is_about_views=True)
_DESCRIBE = Handling(is_about_views=True, describes_tables=True)
_COMMENT = Handling(is_about_views=True, names_are_checked=True)

HANDLING: Mapping[tuple[str, ...], Handling] = {
    ("",): _CONTAINER,
    ("(",): _QUERY,
    ("ALTER",): _ABOUT_VIEWS,
    ("CACHE",): Handling(is_rewritten=True, keeps_views=True),
    ("COMMENT", "ON", "MATERIALIZED"): _COMMENT,
    ("COMMENT", "ON", "VIEW"): _COMMENT,
    ("CREATE",): Handling(is_about_views=True, is_rewritten=True, keeps_views=True),
    ("DELETE",): _ROW_CHANGE,
    ("DESC",): _DESCRIBE,
    ("DESCRIBE",): _DESCRIBE,
    ("DROP",): Handling(is_about_views=True, changes_tables=True),
    ("EXPLAIN",): _CONTAINER,
    ("EXPLAIN", "REFRESH"): Handling(is_about_views=True, is_rewritten=True),
    ("FROM",): _QUERY,
    ("INSERT",): _QUERY,
    ("MERGE",): _ROW_CHANGE,
    ("REFRESH",): _ABOUT_VIEWS,
    ("REPLACE",): _CONTAINER,
    ("SELECT",): _QUERY,
    ("SET",): _PASSED,
    ("SET", "VAR"): _OTHER,
    ("SET", "VARIABLE"): _OTHER,
    ("SHOW",): Handling(is_about_views=True, lists_views=True),
    ("TABLE",): _QUERY,
    ("UNCACHE",): _PASSED,
    ("UPDATE",): _ROW_CHANGE,
    ("VALUES",): _QUERY,
    ("WITH",): _ROW_CHANGE,
}
"""The handling of statements by their first words; the longest entry applies, and `_OTHER` to all others."""


def handling_of(text: str) -> Handling:
    """Return what a session does with a statement."""
    first, second, third = _first_words(text)
    words = (first, second, third.upper())
    return next((HANDLING[words[:count]] for count in (3, 2, 1) if words[:count] in HANDLING), _OTHER)


def first_word(text: str) -> str:
    """Return the first word of a statement; empty if it has none."""
    return _first_words(text)[0]


def _first_words(text: str) -> tuple[str, str, str]:
    words = [*(word.keyword or word.text for word in islice(spark_tokens(text), 3)), "", "", ""]
    return words[0], words[1], words[2]
