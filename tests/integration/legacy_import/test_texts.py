"""Renaming in texts, portable Trino texts, rename rules, differences of texts, invalid plans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.errors import PlanError, SqlError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.options import ImportOptions, RenameRule
from hive_views.legacy_import.plan import ImportPlan, read_plan, write_plan
from hive_views.legacy_import.report.report import diff_texts
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.definition import to_portable_sql
from hive_views.sql.writing.rename import rename_tables

NEW = {("t",): ("new", "t2"), ("d", "t"): ("new", "t2"), ("d", "u"): ("e", "u"), ("c", "d", "u"): ("c", "e", "u")}


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        ("hive", "select t.a from t", "select t.a from `new`.t2 AS t"),
        ("hive", "select x.a from t x -- t", "select x.a from `new`.t2 x -- t"),
        ("hive", "select `t`.`a` from `d`.`t`", "select `t`.`a` from `new`.`t2` AS `t`"),
        ("spark", "select d.u.a, 'd.u' from d.u", "select e.u.a, 'd.u' from e.u"),
        ("spark", "with t as (select 1 a) select t.a from t", "with t as (select 1 a) select t.a from t"),
        (
            "spark",
            "with t as (select * from t) select * from t",
            "with t as (select * from `new`.t2 AS t) select * from t",
        ),
        ("spark", "select * from c.d.u", "select * from c.e.u"),
        ("trino", 'select "u"."a" from "d"."u"', 'select "u"."a" from "e"."u"'),
        ("hive", "select /* d.u */ a from d . u", "select /* d.u */ a from e.u"),
        ("hive", "select a from other", "select a from other"),
    ],
)
def test_rename_changes_only_table_names(dialect, sql, expected):
    assert (
        rename_tables(parse_query(sql, dialect), lambda parts: NEW.get(tuple(part.lower() for part in parts)))
        == expected
    )


@pytest.mark.parametrize("sql", ["select d.t.a from d.t", "select * from t tablesample (10 percent)"])
def test_unrenamable_texts_are_rejected(sql):
    with pytest.raises(SqlError, match="alias"):
        rename_tables(parse_query(sql, Dialect.SPARK), lambda parts: NEW.get(tuple(part.lower() for part in parts)))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ('SELECT "a", count(*) FROM "T" GROUP BY "a"', "SELECT `a`, count(*) FROM `T` GROUP BY `a`"),
        ("SELECT a FROM t WHERE d > DATE '2024-01-01'", None),
        ("SELECT sum(a) FROM t LEFT JOIN u ON t.x = u.x", None),
        ("SELECT a + 1 FROM t", "not"),
        ("SELECT a / 2 FROM t", "not"),
        ("SELECT substr(a, 1) FROM t", "not"),
        ("SELECT a FROM t ORDER BY a", "not"),
        ("SELECT a[1] FROM t", "not"),
        ("SELECT 'it''s' FROM t", "not"),
        ("SELECT '\\' FROM t", "not"),
        ("SELECT count(*) FILTER (WHERE a > 1) FROM t", "not"),
        ("SELECT a FROM t WHERE a LIKE b", "not"),
        ("SELECT a FROM t JOIN u USING (a)", "not"),
        ("SELECT a, count(*) FROM t GROUP BY 1", "not"),
        ("SELECT 1e0 FROM t", "not"),
        ("SELECT a FROM t FOR VERSION AS OF 3", "not"),
    ],
)
def test_only_portable_trino_texts_are_translated(sql, expected):
    if expected == "not":
        with pytest.raises(SqlError):
            to_portable_sql(sql)
    else:
        assert to_portable_sql(sql) == (expected or sql)


def test_refused_call_is_named_as_its_author_wrote_it():
    with pytest.raises(SqlError, match="Trino's date_trunc"):
        to_portable_sql("SELECT date_trunc('month', day) AS m FROM t")


@pytest.mark.parametrize(
    ("rule", "name", "expected"),
    [
        ("old_*:new_*", "d.old_a", "d.new_a"),
        ("old_*:new_*", "d.a_old_", None),
        ("d.*:e.*", "d.a", "e.a"),
        ("d.*:e.*", "dd.a", None),
        ("*_v:*", "d.a_v", "d.a"),
        ("a.b:c.d", "a.b", "c.d"),
        ("prod_*.t_*:dev_*.*", "prod_x.t_y", "dev_x.y"),
    ],
)
def test_rename_rule_is_applied(rule, name, expected):
    assert RenameRule.parse(rule).apply(ViewName.parse(name)) == (
        None if expected is None else ViewName.parse(expected)
    )


@pytest.mark.parametrize("rule", ["", "a", "a:", ":b", "a.b:c", "a:b.c", "a.b.c:d.e.f", "a:*b", "a*:*b*"])
def test_invalid_rename_rules_are_rejected(rule):
    with pytest.raises(UsageError):
        RenameRule.parse(rule)


def test_first_matching_rule_applies_before_the_database():
    options = ImportOptions(renames=(RenameRule.parse("a_*:b_*"), RenameRule.parse("a_x:never")), to_database="Target")
    assert options.rename(ViewName("d", "a_x")) == ViewName("d", "b_x")
    assert options.target_of(ViewName("d", "a_x")) == ViewName("target", "b_x")


@given(st.text(max_size=80), st.text(max_size=80))
def test_diff_contains_both_texts(old, new):
    pieces = diff_texts(old, new)
    assert "".join(text for kind, text in pieces if kind != "+") == old
    assert "".join(text for kind, text in pieces if kind != "-") == new


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 2, "entries": [1]}', "[" * 100_000])
def test_invalid_plans_are_rejected(text):
    with pytest.raises(PlanError):
        read_plan(text)


def test_plan_without_views_is_valid():
    assert read_plan(write_plan(ImportPlan(()))) == ImportPlan(())
