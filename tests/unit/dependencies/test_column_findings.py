"""Names of fields with which engines read rows."""

from __future__ import annotations

import pytest

from hive_views.dependencies.column_findings import column_findings
from hive_views.dependencies.table_findings import HIVE_ENGINE, SPARK, TRINO


@pytest.mark.parametrize(
    ("kind", "engines"),
    [
        ("int", set()),
        ("struct<a:int,b_1:array<struct<é:int>>>", set()),
        ("struct<a b:int>", {TRINO}),
        ("struct<a.b:int>", {TRINO}),
        ("struct<my-f:int>", {HIVE_ENGINE, TRINO}),
        ("map<string,struct<a>b:decimal(10,2)>>", {HIVE_ENGINE, TRINO}),
        ("struct<a,b:int>", {SPARK, HIVE_ENGINE, TRINO}),
        ("struct<a<b:int>", {SPARK, HIVE_ENGINE, TRINO}),
        ("struct<a`b:int>", {SPARK, HIVE_ENGINE, TRINO}),
        ("array<struct<a:b:int>>", {SPARK, HIVE_ENGINE, TRINO}),
        ("map<string, array<int>>", set()),
        ("uniontype<int,string>", set()),
    ],
)
def test_engines_that_do_not_read_a_type(kind: str, engines: set[str]) -> None:
    assert {item.engine for item in column_findings([("id", "int", None), ("s", kind, None)])} == engines


def test_finding_names_the_character_that_the_engine_does_not_read() -> None:
    found = {item.engine: item.construct for item in column_findings([("s", "struct<my-f,x:int>", None)])}
    assert found[SPARK].endswith("with ',' in its name (Spark 4.1.4)")
    assert found[HIVE_ENGINE].endswith("with '-' in its name (Hive 4.1.0)")
