"""Mutated, deep and long texts are expanded or rejected with an SqlError: none hangs or crashes."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_views.errors import SqlError
from hive_views.sql.analysis.references import references
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import expand
from hive_views.sql.writing.expand_request import expand_request
from tests.unit.sql.hive_fixtures import FUNCTIONS, Warehouse, load_cases
from tests.unit.sql.mutated_texts import Case, Mutations, corpus, problem, read
from tests.unit.sql.random_check import SCHEMAS

WAREHOUSE = Warehouse()
TEXTS = [case["ddl"] for case in load_cases("hive_answers.jsonl")]
PIECES = sorted(
    {word for text in TEXTS[:600] for word in text.split()} | set("()[]{},.;'\"`*+-/<>=|&^%!~?:\\\0\n\tä日\u202e")
)


def expand_or_reject(ddl: str, dialect: str = "hive", mode: str = "portable") -> None:
    """Expand a statement; any exception but an SqlError fails the test."""
    request = {"ddl": ddl, "database": "sales", "tables": TABLES}
    answer = expand_request(request, mode=mode, dialect=dialect, functions=FUNCTIONS)
    assert answer["error"] is None or answer["expanded"] is None


TABLES = {
    f"{database}.{name}": {"columns": [list(column) for column in table.columns], "type": "VIRTUAL_VIEW"}
    for (database, name), table in WAREHOUSE.tables.items()
}


@settings(max_examples=400)
@given(st.data())
def test_mutated_statement(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        size = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + size :]
    expand_or_reject(
        text,
        data.draw(st.sampled_from(["hive", "spark", "trino"])),
        data.draw(st.sampled_from(["portable", "hive-exact"])),
    )


@pytest.mark.extended
def test_ten_thousand_mutated_statements() -> None:
    generator = random.Random(20)
    for _ in range(10_000):
        text = generator.choice(TEXTS)
        for _ in range(generator.randint(1, 4)):
            at = generator.randint(0, len(text))
            text = text[:at] + generator.choice(PIECES) + text[at + generator.randint(0, 12) :]
        expand_or_reject(
            text, generator.choice(["hive", "spark", "trino"]), generator.choice(["portable", "hive-exact"])
        )


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join), st.sampled_from(["hive", "spark", "trino"]))
def test_shuffled_tokens_are_expanded_or_rejected(text: str, dialect: str) -> None:
    expand_or_reject(f"create view v as select {text}", dialect)


@settings(max_examples=100)
@given(st.text(max_size=80), st.sampled_from(["hive", "spark", "trino"]))
def test_arbitrary_text_is_parsed_or_rejected(text: str, dialect: str) -> None:
    for parse in (lambda: parse_statement(text, dialect), lambda: references(parse_query(text, dialect))):
        try:
            parse()
        except SqlError as error:
            assert error.line is None or error.line >= 1


@pytest.mark.parametrize(
    ("dialect", "sql", "reason"),
    [
        ("trino", "select x::array<string>[0] from a", "this cast needs a type"),
        ("spark", "select cast(k as struct<a:int>(1)) from a", "this cast needs a type"),
        ("hive", "select cast(k as array<string>[0]) from a", "Hive does not read '['"),
        ("hive", "select interval '1' day() from a", "Wrong number of arguments"),
        ("spark", "(with a |> select *)", "Cannot read the text"),
        ("spark", "select * from (with q |> where true) r", "Cannot read the text"),
        ("spark", "select interval interval 'foo' c", "Spark does not read ''foo''"),
        ("spark", "select `count(1)` from (select count(1) from a)", "There is no column `count(1)`"),
        ("spark", "select * from (select `a b` from (select 1 as `a b`)) unpivot (v for n in (`a b`))", None),
    ],
)
@pytest.mark.parametrize("setting", [{}, {"hive.support.quoted.identifiers": "none"}])
def test_statement_of_an_earlier_crash(dialect: str, sql: str, reason: str | None, setting: dict[str, str]) -> None:
    case = Case(sql, Dialect(dialect), "a", SCHEMAS, tuple(setting.items()))
    if reason is None:
        read(case)
    else:
        with pytest.raises(SqlError, match=re.escape(reason)):
            read(case)


@pytest.mark.parametrize("count", [400, pytest.param(15_000, marks=pytest.mark.extended)])
def test_mutated_fixtures(count: int) -> None:
    mutations = itertools.islice(Mutations(corpus(), seed=count), count)
    modes = itertools.cycle(["portable", "text", "hive-exact"])
    problems = {
        case.sql: problem(case, mode if case.dialect is Dialect.HIVE else "portable")
        for case, mode in zip(mutations, modes, strict=False)
    }
    assert {sql: found for sql, found in problems.items() if found is not None and not found.startswith("defect")} == {}


DEEP = {
    "parentheses": lambda n: "select " + "(" * n + "region" + ")" * n + " from regions",
    "not": lambda n: "select " + "not " * n + "true from regions",
    "minus": lambda n: "select " + "- " * n + "1 from regions",
    "case": lambda n: "select " + "case when true then " * n + "1" + " end" * n + " from regions",
    "functions": lambda n: "select " + "upper(" * n + "region" + ")" * n + " from regions",
    "greatest": lambda n: "select " + "greatest(" * n + "amount" + ", 1)" * n + " x from orders",
    "coalesce": lambda n: "select " + "coalesce(" * n + "amount" + ", 1)" * n + " x from orders",
    "if": lambda n: "select " + "if(ds = 'a', " * n + "amount" + ", 1)" * n + " x from orders",
    "choice": lambda n: "select " + "case when ds = 'a' then " * n + "1.5" + " else amount end" * n + " x from orders",
    "casts": lambda n: "select " + "cast(" * n + "region" + " as string)" * n + " from regions",
    "derived": lambda n: "select * from (" * n + "select * from regions" + ") t" * n,
    "types": lambda n: "select cast(null as " + "array<" * n + "int" + ">" * n + ") x from regions",
    "chain": lambda n: "select " + "region || " * n + "'x' from regions",
    "and": lambda n: "select region from regions where " + "region = 'a' and " * n + "true",
    "unions": lambda n: "select region from regions" + " union all select region from regions" * n,
    "columns": lambda n: "select " + ", ".join(f"region c{i}" for i in range(n)) + " from regions",
    "fields": lambda n: "select addr" + ".city" * n + " from customers",
    "indexes": lambda n: "select phones" + "[0]" * n + " from customers",
    "in": lambda n: "select region from regions where region in (" + ", ".join(["'a'"] * n) + ")",
    "joins": lambda n: "select t0.region from regions t0" + "".join(f" join regions t{i}" for i in range(1, n)),
    "open": lambda n: "select " + "(" * n,
    "exists": lambda n: "select 1 from regions where " + "exists (select 1 from regions where " * n + "true" + ")" * n,
    "select": lambda n: "select " * n,
    "quote": lambda n: "select '" + "x" * n,
}


@pytest.mark.parametrize("dialect", ["hive", "spark", "trino"])
@pytest.mark.parametrize("shape", DEEP)
def test_deep_and_long_texts(shape: str, dialect: str) -> None:
    for size in (20, 150, 1500):
        expand_or_reject("create view v as " + DEEP[shape](size), dialect)


def test_moderate_depth_is_accepted() -> None:
    for shape in ("parentheses", "case", "functions", "derived", "chain", "and", "unions"):
        expand(DEEP[shape](25), WAREHOUSE, database="sales")
    expand(DEEP["chain"](800), WAREHOUSE, database="sales")
    expand(DEEP["and"](800), WAREHOUSE, database="sales")
    expand(DEEP["unions"](400), WAREHOUSE, database="sales")


def test_text_of_one_megabyte_is_expanded() -> None:
    items = ", ".join(f"concat(region, '{'x' * 40}') as c{number}" for number in range(14_000))
    expansion = expand(f"select {items} from regions", WAREHOUSE, database="sales")

    assert len(expansion.original) > 900_000
    assert len(expansion.names) == 14_000
