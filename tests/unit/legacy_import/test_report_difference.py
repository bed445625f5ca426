"""The difference of two texts in a report."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.legacy_import.report.report import diff_texts

WORDS = st.lists(st.sampled_from(["a", "b", "`c`", ",", " ", "select", "."]), max_size=900).map("".join)


@given(WORDS, WORDS)
def test_pieces_contain_both_texts(old: str, new: str) -> None:
    pieces = diff_texts(old, new)
    assert "".join(text for mark, text in pieces if mark != "+") == old
    assert "".join(text for mark, text in pieces if mark != "-") == new
    assert all(text for _, text in pieces)
    assert all(first[0] != second[0] for first, second in pairwise(pieces))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ()),
        ("select a", "select a", (("=", "select a"),)),
        ("select a", "select b", (("=", "select "), ("-", "a"), ("+", "b"))),
        ("select a", "select `t`.a", (("=", "select "), ("+", "`t`."), ("=", "a"))),
    ],
)
def test_diff_texts_returns_changed_pieces(old: str, new: str, expected: tuple[tuple[str, str], ...]) -> None:
    assert diff_texts(old, new) == expected


def wide_view(columns: int) -> tuple[str, str]:
    """The typed and the expanded text of a view with many columns."""
    names = [f"column_{number}" for number in range(columns)]
    return (
        f"select {', '.join(names)} from wide",
        "SELECT " + ", ".join(f"`wide`.`{name}` AS `{name}`" for name in names) + " FROM `db`.`wide`",
    )


def test_time_is_linear() -> None:
    seconds = {}
    for columns in (500, 4000):
        started = time.process_time()
        pieces = diff_texts(*wide_view(columns))
        seconds[columns] = time.process_time() - started
        assert sum(mark == "=" for mark, _ in pieces) >= columns / 2
    assert seconds[4000] < 8 * 3 * seconds[500]
