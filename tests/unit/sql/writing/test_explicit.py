"""Texts of the metastore's row that say what Hive and Spark take for granted differently."""

from __future__ import annotations

import pytest

from hive_views.config import RowTextForms
from hive_views.sql.analysis.reader_findings import Reader, reader_findings
from hive_views.sql.analysis.row_text import describe_rules, row_text
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

TABLES = Tables({"k.t": {"i": "int", "d": "double", "s": "string"}})
HIVE, SPARK = Dialect.HIVE, Dialect.SPARK

# Author, query, what follows SELECT in the row without backquotes.
EXPLICIT = [
    (HIVE, "rank() OVER (ORDER BY i) AS r FROM t", "rank() OVER (ORDER BY t.i NULLS LAST) AS r FROM k.t"),
    (HIVE, "rank() OVER (ORDER BY i DESC) AS r FROM t", "rank() OVER (ORDER BY t.i DESC NULLS FIRST) AS r FROM k.t"),
    (SPARK, "rank() OVER (ORDER BY i) AS r FROM t", "rank() OVER (ORDER BY t.i NULLS FIRST) AS r FROM k.t"),
    (SPARK, "rank() OVER (ORDER BY i DESC) AS r FROM t", "rank() OVER (ORDER BY t.i DESC NULLS LAST) AS r FROM k.t"),
    (
        SPARK,
        "sum(i) OVER (PARTITION BY s ORDER BY i, d DESC NULLS FIRST, s ASC ROWS 1 PRECEDING) AS r FROM t",
        "sum(t.i) OVER (PARTITION BY t.s ORDER BY t.i NULLS FIRST, t.d DESC NULLS FIRST, t.s ASC NULLS FIRST "
        "ROWS 1 PRECEDING) AS r FROM k.t",
    ),
    (
        SPARK,
        "sum(d) OVER w AS r FROM t WINDOW w AS (ORDER BY i)",
        "sum(t.d) OVER w AS r FROM k.t WINDOW w AS (ORDER BY t.i NULLS FIRST)",
    ),
    (
        SPARK,
        "i, sum(d) OVER w AS r FROM t ORDER BY i DESC, s WINDOW w AS (ORDER BY d) LIMIT 3",
        "t.i, sum(t.d) OVER w AS r FROM k.t ORDER BY i DESC NULLS LAST, t.s NULLS FIRST "
        "WINDOW w AS (ORDER BY t.d NULLS FIRST) LIMIT 3",
    ),
    (
        HIVE,
        "i, sum(d) OVER w AS r FROM t WINDOW w AS (ORDER BY d) ORDER BY i LIMIT 3",
        "t.i, sum(t.d) OVER w AS r FROM k.t WINDOW w AS (ORDER BY t.d NULLS LAST) ORDER BY t.i NULLS LAST LIMIT 3",
    ),
    (
        SPARK,
        "i FROM t ORDER BY i + 1 WINDOW w AS (ORDER BY d), v AS (ORDER BY s DESC) LIMIT 2 OFFSET 2",
        "t.i FROM k.t ORDER BY i + 1 NULLS FIRST WINDOW w AS (ORDER BY t.d NULLS FIRST), "
        "v AS (ORDER BY t.s DESC NULLS LAST) LIMIT 2 OFFSET 2",
    ),
    (SPARK, "i window FROM t ORDER BY window LIMIT 3", "t.i window FROM k.t ORDER BY window NULLS FIRST LIMIT 3"),
    (HIVE, "i FROM t ORDER BY i LIMIT 3", "t.i FROM k.t ORDER BY t.i NULLS LAST LIMIT 3"),
    (
        SPARK,
        "x.i FROM (SELECT i FROM t ORDER BY lower(s), i DESC LIMIT 3 OFFSET 1) x",
        "x.i FROM (SELECT t.i FROM k.t ORDER BY lower(t.s) NULLS FIRST, i DESC NULLS LAST LIMIT 3 OFFSET 1) x",
    ),
    (SPARK, "i FROM t ORDER BY i -- last\n LIMIT 3", "t.i FROM k.t ORDER BY i NULLS FIRST -- last\n LIMIT 3"),
    (HIVE, "stddev(i) AS r FROM t", "stddev_pop(t.i) AS r FROM k.t"),
    (HIVE, "std(i) AS r, variance(d) AS v FROM t", "stddev_pop(t.i) AS r, var_pop(t.d) AS v FROM k.t"),
    (SPARK, "stddev(i) AS r, std(d) AS s FROM t", "stddev_samp(t.i) AS r, stddev_samp(t.d) AS s FROM k.t"),
    (SPARK, "variance(DISTINCT i) AS r FROM t", "var_samp(DISTINCT t.i) AS r FROM k.t"),
]

UNCHANGED = [
    "i FROM t ORDER BY i",
    "rank() OVER (ORDER BY i NULLS LAST) AS r FROM t",
    "sum(i) OVER (PARTITION BY s) AS r FROM t",
    "stddev_pop(i) AS r, stddev_samp(i) AS s, var_pop(i) AS v, var_samp(i) AS w FROM t",
    "i AS stddev FROM t WHERE s = 'ORDER BY i LIMIT 1'",
]


def row(author: Dialect, query: str, *, explicit: bool = True) -> tuple[str, tuple[str, ...]]:
    expansion = expand(f"SELECT {query}", TABLES, database="k", dialect=author)
    text = row_text(author, expansion, TABLES, database="k", forms=RowTextForms(explicit=explicit))
    assert text is not None
    return text.sql, text.rules


@pytest.mark.parametrize(("author", "query", "expected"), EXPLICIT)
def test_text_says_what_the_authors_engine_takes_for_granted(author: Dialect, query: str, expected: str):
    text, rules = row(author, query)
    assert text.replace("`", "") == f"SELECT {expected}"
    assert rules
    assert row(author, text.removeprefix("SELECT "))[0] == text
    assert row(author, query, explicit=False)[1] == ()


@pytest.mark.parametrize(("author", "query", "_"), EXPLICIT)
def test_reader_returns_the_same_rows_for_it(author: Dialect, query: str, _: str):
    reader = SPARK if author is HIVE else HIVE

    def is_found(text: str) -> bool:
        readers = [Reader(reader, ansi=False)]
        found = reader_findings(text, TABLES, database="k", author=author, readers=readers)[reader]
        return any(not item.outcome.is_note and "only" not in item.construct for item in found)

    assert is_found(f"SELECT {query}")
    if "LIMIT" not in query and "DISTINCT" not in query:  # other findings remain: ties, and sums of different values
        assert not is_found(row(author, query)[0])


@pytest.mark.parametrize("author", [HIVE, SPARK])
@pytest.mark.parametrize("query", UNCHANGED)
def test_text_that_takes_nothing_for_granted_is_unchanged(query: str, author: Dialect):
    assert row(author, query) == row(author, query, explicit=False)


def test_sentences_about_rules():
    assert list(describe_rules("order_of_nulls,deviations,join_conditions")) == [
        "the row's text says what Hive and Spark take for granted differently (order_of_nulls,deviations)",
        "the row's text is rewritten for Trino's Hive connector (join_conditions)",
    ]
    assert len(list(describe_rules("unions"))) == 1
