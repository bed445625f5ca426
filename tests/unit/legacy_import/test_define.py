"""Comparison of two texts of Hive by their tokens."""

from __future__ import annotations

import pytest

from hive_views.legacy_import.definition import has_same_tokens


@pytest.mark.parametrize(
    ("sql", "other_sql", "expected"),
    [
        ("SELECT `T`.`a` FROM t -- c", "select `t`.`A`\n  from T", True),
        ("select '${a}', 'it''s'", r"select '$\{a}', 'it' 's'", True),
        (r"select 'a\\b'", r"select 'a\b'", False),
        (r"select 'it\'s'", r"select 'its'", False),
        (r"select '\${a}'", r"select '\\${a}'", False),
        ("select 'A'", "select 'a'", False),
        ("select N'A'", "select N'a'", False),
        ("select 'a' 'b'", "select 'ab'", False),
        ("select a -- x \\\n, b", "select a, b", True),
    ],
)
def test_has_same_tokens_compares_strings_exactly(sql: str, other_sql: str, expected: bool) -> None:
    assert has_same_tokens(sql, other_sql) is expected
