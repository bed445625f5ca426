"""Whether two texts of Hive's say the same."""

from __future__ import annotations

import pytest

from hive_views.legacy_import.convert import alike


@pytest.mark.parametrize(
    ("one", "other", "same"),
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
def test_strings_count_to_the_letter(one: str, other: str, same: bool) -> None:
    assert alike(one, other) is same
