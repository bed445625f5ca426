"""Paths into variants: what they are named after, where they end, and which brackets are refused.

The names and the refusals are those of Spark 4.1.4.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.errors import ParseTextError
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.variant_paths import variant_key
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.expand import AuthorContext, Expansion, expand
from tests.unit.sql.tables import Tables

TABLES = Tables(
    {"t": {"id": "int", "a": "array<int>", "name": "string", "s": "struct<f:int>", "m": "map<string,array<int>>"}}
)


def expanded(sql: str) -> Expansion:
    return expand(sql, TABLES, database="d", dialect=Dialect.SPARK, author=AuthorContext(conf={ANSI: "true"}))


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (":a", "a"),
        (":a.B", "B"),
        (":a[0]", "a"),
        (":['x y'].z[1][2]", "z"),
        (":a['q']", "q"),
        (":`b.c`", "c"),
        (":['b.c']", "b.c"),
        (":[0].a", "a"),
        (":[0]", ""),
        (": a . b", "b"),
        (":select", "select"),
        (":a:b", "b"),
        # A quoted name is a path of its own.
        (":`a[0]`", "a"),
        (":`a[0][1]`", "a"),
        (":`a[00]`", "a"),
        (":`a[*]`", "a"),
        (":`a`[0]", "a"),
        (":`a[0]`[1]", "a"),
        (":`a[0]`.b", "b"),
        (":`a[0].b`", "b"),
        (":b.`c[0]`", "c"),
        (":`b.c[1]`", "c"),
        (":b.`c.d[2]`", "d"),
        (":`a['b']`", "b"),
        (":`['b']`", "b"),
        (":`a['b.c']`", "b.c"),
        (":`[0]`", ""),
        (":`$`", "$"),
        (":`$.a`", "a"),
        (":`a]`", "a]"),
        (":`a'b`", "a'b"),
        (":`a b`", "a b"),
        (":b['c[0]']", "c[0]"),
    ],
)
def test_path_is_named_after_its_last_key(path: str, key: str) -> None:
    query = parse_query(f"SELECT v{path} FROM t", Dialect.SPARK)
    [item] = query.tree.expressions
    assert variant_key(item) == key
    first, last = query.ranges[id(item)]
    assert query.text.between(first, last) == f"v{path}"


@pytest.mark.parametrize("brackets", ["[id]", '["x"]', "[1 + 1]", "[*]"])
def test_other_brackets_are_refused(brackets: str) -> None:
    with pytest.raises(ParseTextError, match="brackets have a number, or a string in single quotes"):
        parse_query(f"SELECT v:a{brackets} FROM t", Dialect.SPARK)


@pytest.mark.parametrize("name", ["`a.`", "`.a`", "`a[`", "`a[-1]`", "`a[b]`", "`a[0]b`", '`a["b"]`', "``"])
def test_name_that_is_no_path_is_refused(name: str) -> None:
    with pytest.raises(ParseTextError, match=r"Cannot read the text|no path of a variant"):
        parse_query(f"SELECT v:{name} FROM t", Dialect.SPARK)


@pytest.mark.parametrize("path", ["a[0]", "`a[0]`", "`a`[0]"])
def test_view_column_of_an_indexed_path_has_the_name_of_its_key(path: str) -> None:
    for form in ("{}", "{}::int", "cast({} as string)"):
        item = form.format(f"parse_json(name):{path}")
        assert [column.name for column in expanded(f"SELECT {item} FROM t").columns] == ["a"]


def test_colons_of_types_are_no_paths() -> None:
    tree = parse_query("SELECT CAST(a AS struct<x:int,y:array<struct<z:int>>>), v:x FROM t", Dialect.SPARK).tree
    assert [variant_key(item) for item in tree.expressions] == [None, "x"]


@given(
    steps=st.lists(st.sampled_from([".a", ".`b c`", "[0]", "['k']"]), max_size=5), type_=st.sampled_from(["", "::int"])
)
def test_path_of_any_steps(steps: list[str], type_: str) -> None:
    [item] = parse_query(f"SELECT v:z{''.join(steps)}{type_} FROM t", Dialect.SPARK).tree.expressions
    path = item.this if type_ else item
    keys = [step.strip(".`[]'") for step in steps if step != "[0]"]
    assert variant_key(path) == (keys[-1] if keys else "z")
    assert isinstance(path.this, exp.Column)


@pytest.mark.parametrize("operand", ["id", "name", "s", "a[0]", "named_struct('a', 1)"])
def test_path_into_another_type_is_refused(operand: str) -> None:
    with pytest.raises(SqlError, match="needs a value of type variant"):
        expanded(f"SELECT {operand}:a FROM t")


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("parse_json(name):q", "q"),
        ("parse_json(name):q::int", "q"),
        ("string(parse_json(name):q)", "q"),
        ("int(parse_json(name):q.r)", "r"),
        ("parse_json(name):q::array<int>[0]", "_c0"),
        ("coalesce(parse_json(name):q, parse_json(name):r)", "_c0"),
        ("a::array<string>[0]", "_c0"),
        ("m::map<string,array<bigint>>['k'][0]", "_c0"),
        ("cast(a as array<string>)[0]", "_c0"),
        ("name::string", "name"),
        ("name::string::string", "_c0"),
    ],
)
def test_name_of_a_view_column(item: str, name: str) -> None:
    assert [column.name for column in expanded(f"SELECT {item}, id AS zz FROM t").columns] == [name, "zz"]
