"""The limits within which a text is parsed, and that texts within them need no exponential time."""

from __future__ import annotations

import pytest

from hive_views.sql.parsing.errors import ParseTextError
from hive_views.sql.parsing.nesting import MAX_BARE_JOINS, MAX_CALL_DEPTH, MAX_DEPTH, MAX_TYPE_DEPTH
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect


def _joins(join: str, count: int, condition: str = "") -> str:
    return "SELECT 1 FROM t0 " + " ".join(f"{join} t{number}{condition}" for number in range(1, count + 1))


@pytest.mark.parametrize(
    "join", ["NATURAL JOIN", "NATURAL LEFT OUTER JOIN", "NATURAL FULL JOIN", "NATURAL LEFT SEMI JOIN", "CROSS JOIN"]
)
def test_joins_that_take_no_condition_are_not_limited(join: str) -> None:
    assert len(parse_query(_joins(join, 60), Dialect.SPARK).tree.args["joins"]) == 60


def test_joins_with_conditions_are_not_limited() -> None:
    assert len(parse_query(_joins("LEFT JOIN", 60, " USING (k)"), Dialect.SPARK).tree.args["joins"]) == 60


@pytest.mark.parametrize(
    ("within", "beyond", "reason"),
    [
        (_joins("JOIN", MAX_BARE_JOINS), _joins("JOIN", MAX_BARE_JOINS + 1), "joins without ON"),
        (_joins("NATURAL JOIN", 20), _joins("LEFT JOIN", MAX_BARE_JOINS + 1), "joins without ON"),
        *(
            # Without the compiled parser, Python's own limit of recursion comes at about half of this one.
            (
                f"SELECT {first * (limit // 3)}1{last * (limit // 3)}",
                f"SELECT {first * (limit + 1)}1{last * (limit + 1)}",
                reason,
            )
            for first, last, limit, reason in (
                ("(", ")", MAX_DEPTH, "nested too deeply: more than 120 levels"),
                ("- ", "", MAX_DEPTH, "nested too deeply: more than 120 levels"),
                ("date(", ")", MAX_CALL_DEPTH, "Type names, LIMIT or OFFSET are nested too deeply"),
            )
        ),
        (
            f"SELECT CAST(a AS {'array<' * MAX_TYPE_DEPTH}int{'>' * MAX_TYPE_DEPTH}) FROM t",
            f"SELECT CAST(a AS {'array<' * (MAX_TYPE_DEPTH + 1)}int{'>' * (MAX_TYPE_DEPTH + 1)}) FROM t",
            "A type is nested too deeply",
        ),
    ],
)
def test_text_beyond_a_limit_is_refused(within: str, beyond: str, reason: str) -> None:
    assert parse_query(within, Dialect.SPARK).tree is not None
    with pytest.raises(ParseTextError, match=reason):
        parse_query(beyond, Dialect.SPARK)
