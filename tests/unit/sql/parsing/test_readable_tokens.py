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
