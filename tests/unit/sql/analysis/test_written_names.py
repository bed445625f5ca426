"""Findings name functions as the author wrote them, and not as the parser calls their nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.analysis.constructs import constructs
from hive_views.sql.analysis.trino_translation import trino_findings
from hive_views.sql.engines.tables import engine_table
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.text.dialects import Dialect
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"a": "string", "b": "int", "c": "date"}})
FORMS = {Dialect.SPARK: "ansi", Dialect.HIVE: "hive"}
SQL_WORDS = frozenset(
    {"and", "array", "between", "case", "cast", "div", "escape", "exists", "filter", "in", "like", "not", "or"}
    | {"rlike", "select", "struct", "subquery", "tuple", "union", "window"}
)
"""Keys of nodes that are words of SQL, with which findings describe constructs."""
KEYS = {node.key for node in vars(exp).values() if isinstance(node, type) and issubclass(node, exp.Expr)} - SQL_WORDS


def calls(dialect: Dialect) -> Iterator[str]:
    """Yield calls of each function, alone, twice in another call, and with a call inside."""
    table = engine_table(dialect.value, FORMS[dialect])
    for name in filter(str.isidentifier, table.names):
        known = table.counts(name)
        for count in sorted(known[0] if known is not None else ())[:3]:
            for column in ("a", "b"):
                call = f"{name}({', '.join([column] * count)})"
                yield from (call, f"coalesce({call}, {call})")
            yield f"{name}(trim(a){', b' * (count - 1)})" if count else name


def shown(sql: str, dialect: Dialect) -> list[str]:
    """Return what findings can show about a text; nothing for a text that the dialect does not read."""
    try:
        resolution = resolve(parse_query(sql, dialect), TABLES, "d")
        read_by_trino = trino_findings(sql, TABLES, database="d", dialect=dialect)
    except SqlError:
        return []
    return [item.shown for item in constructs(resolution)] + [item.construct for item in read_by_trino]


@pytest.mark.parametrize("dialect", FORMS)
def test_no_finding_about_a_function_has_a_name_of_the_parser(dialect: Dialect) -> None:
    examined, wrong = 0, []
    for call in calls(dialect):
        sql = f"SELECT {call} AS z FROM t"
        words_of_text = set(re.findall(r"\w+", sql.lower()))
        for text in shown(sql, dialect):
            examined += 1
            called = re.findall(r"(\w+)(?:\(\?\)|\(\))", text) + re.findall(r"^\w+$", text)
            wrong += [(sql, text) for word in called if word in KEYS and word not in words_of_text | _GIVEN]
    assert wrong == []
    assert examined > 2000


_GIVEN = {"date_add", "date_sub", "to_date", "hour", "limit"}
"""What messages about other functions name as examples or remedies."""


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT current_date AS z FROM t", "current_date()"),
        ("SELECT date_sub(current_date, 30) AS z FROM t", "current_date()"),
        ("SELECT unix_micros(current_timestamp()) AS z FROM t", "unix_micros"),
        ("SELECT TRANSFORM (a) USING 'cat' AS (z STRING) FROM t", "TRANSFORM … USING"),
        ("SELECT approx_percentile(b, 0.5) OVER (PARTITION BY a) AS z FROM t", "over(approx_percentile)"),
        ("SELECT array_join(array(a), ',') AS z FROM t", "array_join"),
        ("SELECT char(b) AS z FROM t", "char("),
    ],
)
def test_findings_have_the_words_of_the_text(sql: str, words: str) -> None:
    assert any(text.startswith(words) for text in shown(sql, Dialect.SPARK))
