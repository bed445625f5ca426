"""The order of the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.suites import sort_longest_first

SPARK = "tests/integration/spark/a.py::one"
FAULTS = ("tests/faults/a.py::one", "tests/faults/b.py::one")
UNIT = ("tests/unit/a.py::one", "tests/unit/a.py::two", "tests/unit/b.py::one", "tests/unit/c.py::one")


@dataclass(frozen=True)
class Item:
    """A test of pytest with its name alone."""

    nodeid: str


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (0, [SPARK, *FAULTS, *UNIT]),
        (1, [SPARK, *reversed(FAULTS), *UNIT[2:], *UNIT[:2]]),
        (2, [SPARK, *FAULTS, UNIT[3], *UNIT[:3]]),
        (3, [SPARK, *reversed(FAULTS), *UNIT]),
    ],
)
def test_each_turn_begins_with_another_module(turn: int, expected: list[str]) -> None:
    items: list[Any] = [Item(name) for name in (*UNIT, *FAULTS, SPARK)]
    sort_longest_first(items, turn)
    assert [item.nodeid for item in items] == expected
