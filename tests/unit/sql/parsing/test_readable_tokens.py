"""Forms that sqlglot reads otherwise than Spark, as the tree has them."""

from __future__ import annotations

import pytest
from sqlglot import exp

from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect

OPERANDS = (
    *("a", "t.a", "d.t.a", "`a b`.c", "split(a, ',')", "d.f(a)[0]", "(a)", "s.f.g", "m['k'].f[0]", "'x'", "NULL"),
    *("CAST(a AS array<string>)", "CASE WHEN a THEN CASE a WHEN 1 THEN 2 END END", "a::decimal(10,2)"),
    *("a::array<array<int>>", "v:a.b[0]", "v:a['b']::map<string,int>", "array(1, 2)", "(SELECT max(a) FROM u)"),
)
TYPES = ("array<int>", "map<string,array<int>>", "struct<a:int>", "array<struct<a:int,b:array<int>>>")


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("before", ["", "- ", "1 + ", "NOT ", "x IN (1) AND ", "CASE WHEN y THEN 1 END || "])
def test_index_of_a_cast_is_no_part_of_its_type(before: str, operand: str, type_: str) -> None:
    query = parse_query(f"SELECT {before}{operand}::{type_}['i'] FROM t", Dialect.SPARK)
    [index] = [
        node
        for node in query.tree.find_all(exp.Bracket)
        if type(node.this) is exp.Paren and query.text.between(*query.ranges[id(node)]).endswith("['i']")
    ]
    assert query.text.between(*query.ranges[id(index)]) == f"{operand}::{type_}['i']"
    assert not any(
        isinstance(node.parent, exp.Cast) and node.arg_key == "this" for node in query.tree.find_all(exp.Identifier)
    )


@pytest.mark.parametrize("alias", ["c", "`c`", "days", "AS c"])
def test_alias_of_a_cast_to_interval_is_no_unit(alias: str) -> None:
    tree = parse_query(f"SELECT a::interval {alias} FROM t", Dialect.SPARK).tree
    assert tree.expressions[0].alias == alias.removeprefix("AS ").strip("`")


@pytest.mark.parametrize("word", ["MAP", "reduce"])
@pytest.mark.parametrize(
    ("form", "sources"),
    [
        ("FROM t {} a, b USING 'cat' AS (x)", 1),
        ("FROM t q {} q.a + 1 USING 'cat' AS (x int) WHERE a > 1", 1),
        ("{} a USING 'cat' FROM t", 1),
        ("FROM t {0} {0} (a, b) USING 'cat'", 1),
        ("FROM t JOIN u USING (k) {} a ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING 'cat' AS x", 2),
        ("SELECT * FROM ({} a USING 'cat' AS x FROM t) q, u", 2),
    ],
)
def test_script_behind_map_or_reduce_is_read(form: str, word: str, sources: int) -> None:
    tree = parse_query(form.format(word), Dialect.SPARK).tree
    script = tree.find(exp.QueryTransform)
    assert script is not None
    assert script.args["command_script"].this == "cat"
    assert len(list(tree.find_all(exp.Table))) == sources


@pytest.mark.parametrize(
    "sql", ["SELECT map(a, b) m, map FROM t JOIN u USING (k)", "SELECT map.a FROM t map JOIN u USING (k) WHERE map.b"]
)
def test_name_map_is_no_script(sql: str) -> None:
    assert parse_query(sql, Dialect.SPARK).tree.find(exp.QueryTransform) is None
