"""Texts that are the same query, written differently."""

from __future__ import annotations

import pytest

from hive_views.sql.analysis.same_text import is_same_text

QUERY = "SELECT id, sum(amount) AS total FROM sales WHERE shop = 'a' GROUP BY id"
SAME = (
    "select id, sum(amount) as total from sales where shop = 'a' group by id",
    "SELECT id,\n       SUM(amount) AS total -- the total\nFROM sales /* all */ WHERE shop='a'\nGROUP BY id",
)
OTHER = (
    "SELECT id, sum(amount) AS Total FROM sales WHERE shop = 'a' GROUP BY id",
    "SELECT ID, sum(amount) AS total FROM sales WHERE shop = 'a' GROUP BY id",
    "SELECT id, sum(amount) AS total FROM sales WHERE shop = 'A' GROUP BY id",
    "SELECT id, max(amount) AS total FROM sales WHERE shop = 'a' GROUP BY id",
    "SELECT id, sum(amount) total FROM sales WHERE shop = 'a' GROUP BY id",
    "SELECT `id`, sum(amount) AS total FROM sales WHERE shop = 'a' GROUP BY id",
    "SELECT id, sum(amount) AS total FROM sales s WHERE shop = 'a' GROUP BY id",
    "SELECT id, sum(amount) AS total FROM sales WHERE shop = 'a' GROUP BY",
    "SELECT id, sum(DISTINCT amount) AS total FROM sales WHERE shop = 'a' GROUP BY id",
)


@pytest.mark.parametrize("text", SAME)
def test_query_with_other_formatting_is_the_same(text):
    assert is_same_text(QUERY, text, "spark") and is_same_text(text, QUERY, "spark")


@pytest.mark.parametrize("text", OTHER)
def test_query_with_another_meaning_is_not_the_same(text):
    assert not is_same_text(QUERY, text, "spark") and not is_same_text(text, QUERY, "spark")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT 'a' 'b' AS x", "SELECT 'a''b' AS x"),
        ("SELECT to_json(struct(date)) AS x FROM t", "SELECT to_json(struct(DATE)) AS x FROM t"),
        ("SELECT r'A' AS x", "SELECT r'a' AS x"),
        ("SELECT x'1a' AS x", "SELECT x'1b' AS x"),
        ("SELECT ceil(a) AS x FROM t", "SELECT ceiling(a) AS x FROM t"),
        ("SELECT date_add(a, 1) AS x FROM t", "SELECT date_sub(a, -1) AS x FROM t"),
        ("SELECT a - -1 AS x FROM t", "SELECT a --1 AS x FROM t\n"),
        ("SELECT a -- b \\\n + 1 AS x FROM t", "SELECT a AS x FROM t"),
        ("SELECT a FROM t", "SELECT b FROM t"),
        ("SELECT 1 AS x", "SELECT 1L AS x"),
        ("SELECT cast(a AS INT) AS x FROM t", "SELECT try_cast(a AS INT) AS x FROM t"),
        ("SELECT a FROM t ORDER BY a LIMIT 1", "SELECT a FROM t ORDER BY a DESC LIMIT 1"),
        ("SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM t UNION ALL SELECT a FROM u"),
    ],
)
def test_similar_queries_with_another_meaning_are_not_the_same(before, after):
    assert not is_same_text(before, after, "spark")


EXPANDED = "SELECT `s`.`id`, `t`.`s` FROM `db`.`sales` `s` JOIN `db`.`t` `t` ON `s`.`id` = `t`.`id` WHERE `s`.`x` = 's'"


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        (EXPANDED.replace("`s`.", "`o`.").replace("`sales` `s`", "`sales` `o`"), True),
        (EXPANDED.replace("`s`.", "`o`.").replace("`sales` `s`", "`sales` `o`").replace("'s'", "'o'"), False),
        (EXPANDED.replace("`s`", "`o`"), False),  # the column s as well
        (EXPANDED.replace("`s`.`id`, ", "`t`.`id`, "), False),
        (EXPANDED.replace("`sales`", "`s`"), False),
        (EXPANDED.replace("`db`.`sales`", "`dc`.`sales`"), False),
    ],
)
def test_aliases_of_tables(text, is_same):
    assert is_same_text(EXPANDED, text, "spark", is_expanded=True) is is_same
    assert not is_same_text(EXPANDED, text, "spark")


def test_exchanged_aliases():
    """The tables exchange their aliases: the same query only if the columns follow."""
    before = "SELECT `a`.`x`, `b`.`y` FROM `d`.`t` `a` CROSS JOIN `d`.`u` `b`"
    same = "SELECT `b`.`x`, `a`.`y` FROM `d`.`t` `b` CROSS JOIN `d`.`u` `a`"
    other = "SELECT `a`.`x`, `b`.`y` FROM `d`.`t` `b` CROSS JOIN `d`.`u` `a`"
    assert is_same_text(before, same, "spark", is_expanded=True)
    assert not is_same_text(before, other, "spark", is_expanded=True)


def test_aliases_that_are_given_twice_are_not_renamed():
    before = "SELECT `a`.`x` FROM `d`.`t` `a` UNION ALL SELECT `a`.`x` FROM `d`.`u` `a`"
    assert not is_same_text(before, before.replace("`a`", "`b`"), "spark", is_expanded=True)


def test_fields_of_structs_are_not_aliases():
    before = "SELECT `a`.`a`.`f` FROM `d`.`t` `a`"
    assert is_same_text(before, "SELECT `b`.`a`.`f` FROM `d`.`t` `b`", "spark", is_expanded=True)
    assert not is_same_text(before, "SELECT `b`.`b`.`f` FROM `d`.`t` `b`", "spark", is_expanded=True)
