"""The grammar of Spark: what it reads, which keywords it reads as names, and what a create rejects."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from hive_views.errors import SqlError
from hive_views.sql.engines.grammar import Grammar, spark_grammar
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.spark_grammar import check_spark_text, name_offsets, unreadable_position
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.definition import define_view
from hive_views.sql.writing.expand import expand
from tests.engine_tables.parsing import FORMS, with_keyword
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"id": "int", "x": "string", "values": "int", "limit": "int"}})
CASES = load_cases("spark_parses.jsonl")
KEYWORDS = [word for word in spark_grammar().words if word[0].isalpha()]


def test_texts_are_read_as_by_spark() -> None:
    """Texts that another part of Spark's parser rejects, such as unknown types, are marked in the fixture."""
    expected = {case["sql"]: bool(case["read_by"] or case.get("refused_by")) for case in CASES}
    assert {sql: unreadable_position(sql) is None for sql in expected} == expected


def test_kept_sets_are_limited() -> None:
    grammar, limited = spark_grammar(), Grammar(spark_grammar().document, max_sets=100)
    select, comma, name = grammar.words["SELECT"], grammar.words[","], grammar.types["IDENTIFIER"]
    texts = [[grammar.words[word] for word in words] for words in product(("SELECT", "FROM", "(", ")", "*"), repeat=4)]
    texts += [[select, name, *[comma, name] * count] for count in range(40)]
    kept = []
    for types in texts:
        assert limited.recognize(types) == grammar.recognize(types)
        kept.append(limited.kept_sets)
    assert sum(after < before for before, after in pairwise(kept)) > 1  # it began anew
    assert max(kept) < 300


def test_each_keyword_is_a_name_where_spark_reads_it() -> None:
    refused = {case["sql"] for case in CASES if not case["read_by"]}
    texts = {with_keyword(form, word) for form in FORMS for word in KEYWORDS}
    assert len(texts) > 11_000
    assert {text for text in texts if unreadable_position(text) is not None} == texts & refused


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select from from from", ["from", "from"]),
        ("select all from t", ["from", "t"]),
        ("select count(all) from t", ["count", "all", "t"]),
        ("select trim(both 'a' from x) from t", ["x", "t"]),
        ("select a from t where having in (1)", ["a", "t", "where", "in"]),
        ("select a, left(b, 1) from t left join u on a = b", ["a", "b", "t", "u", "a", "b"]),
        ("select 1 union select 2", []),
    ],
)
def test_keywords_that_are_names(sql: str, names: list[str]) -> None:
    read = [
        sql[start:].replace("(", " ").replace(")", " ").replace(",", " ").split()[0]
        for start in sorted(name_offsets(sql))
    ]
    assert read == names


@pytest.mark.parametrize(
    ("sql", "expanded"),
    [
        ("select values from t", "select `t`.`values` from `d`.`t`"),
        ("select id limit from t limit 1", "select `t`.`id` `limit` from `d`.`t` limit 1"),
        ("select where.id from t where", "select `where`.`id` from `d`.`t` `where`"),
        (
            "with union as (select 1 a) select a from union",
            "with union as (select 1 `a`) select `union`.`a` from union",
        ),
        ("select id from t order by values", "select `t`.`id` from `d`.`t` order by `t`.`values`"),
    ],
)
def test_expanded_text_of_keywords_as_names(sql: str, expanded: str) -> None:
    assert expand(sql, TABLES, database="d", dialect=Dialect.SPARK).expanded == expanded


def test_texts_that_no_spark_reads_are_rejected() -> None:
    """Those marked in the fixture are accepted: values of literals, frames and samples are not examined."""
    unreadable = {case["sql"]: case.get("is_accepted", False) for case in CASES if not case["read_by"]}
    assert {sql: _is_accepted(sql) for sql in unreadable} == unreadable


def _is_accepted(sql: str) -> bool:
    try:
        define_view(parse_statement(f"create view d.v as {sql}", Dialect.SPARK), TABLES, database="d")
    except SqlError:
        return False
    return True


def test_error_points_at_the_token() -> None:
    with pytest.raises(SqlError, match=r"line 1:21 .*Spark does not read 'union' here") as caught:
        check_spark_text("select 1 order by 1 union select 2")
    assert caught.value.column == 21


def test_error_at_the_end() -> None:
    with pytest.raises(SqlError, match="Spark expects more at the end of the text"):
        check_spark_text("select case when a")


@pytest.mark.parametrize(
    "kind",
    [
        "struct<a:int not null,b:string>",
        "struct<a:int comment 'a,text,b', b:string NOT NULL>",
        "struct<`a,text,b`:int>",
        "array<struct<a: string collate utf8_lcase not null>>",
        "map<string,array<decimal(38, 0)>>",
        "interval day to second",
        "timestamp without time zone",
        "time(6)",
    ],
)
def test_type_of_spark_is_accepted(kind: str) -> None:
    sql = f"select cast(null as {kind}) a from t"
    assert expand(sql, TABLES, database="d", dialect=Dialect.SPARK).stored == sql


@pytest.mark.parametrize("sql", ["select id ß from t", "select id ﬁ from t", "select größe from t"])
def test_letter_outside_ascii_is_rejected(sql: str) -> None:
    with pytest.raises(SqlError, match="does not read"):
        check_spark_text(sql)


@pytest.mark.parametrize("sql", ["select 1 as 1e5L", "select t.1e5S from t", "select 1e5, 1e5D, 1e5BD, 5L, 5BD"])
def test_exponent_has_no_suffix_of_an_integer(sql: str) -> None:
    check_spark_text(sql)


@pytest.mark.parametrize(
    ("sql", "expanded"),
    [
        ("select (select 1) pivot", "select (select 1) `pivot`"),
        (
            "select (select max(id) from t) unpivot from t",
            "select (select max(`t`.`id`) from `d`.`t`) `unpivot` from `d`.`t`",
        ),
    ],
)
def test_alias_that_is_the_word_of_a_clause(sql: str, expanded: str) -> None:
    assert expand(sql, TABLES, database="d", dialect=Dialect.SPARK).expanded == expanded


def test_literal_of_another_engine_is_rejected() -> None:
    with pytest.raises(SqlError, match="Spark has no literals of the type n"):
        check_spark_text("select n'a'")
