"""Names of fields with which engines read rows."""

from __future__ import annotations

import pytest

from hive_views.dependencies.column_findings import column_findings, type_findings
from hive_views.dependencies.table_findings import HIVE_ENGINE, SPARK, TRINO
from hive_views.sql.analysis.outcomes import Outcome

REFUSED, UNVERIFIED = Outcome.REFUSED, Outcome.UNVERIFIED
ALL = {SPARK: REFUSED, HIVE_ENGINE: REFUSED, TRINO: UNVERIFIED}


@pytest.mark.parametrize(
    ("kind", "engines"),
    [
        ("int", {}),
        ("struct<a:int,b_1:array<struct<c:int>>>", {}),
        ("struct<é:int>", {}),
        ("struct<12:int>", {}),
        ("struct<a b:int>", {TRINO: UNVERIFIED}),
        ("struct<a.b:int>", {TRINO: UNVERIFIED}),
        ("struct<my-f:int>", {HIVE_ENGINE: REFUSED, TRINO: UNVERIFIED}),
        ("map<string,struct<a>b:decimal(10,2)>>", {HIVE_ENGINE: REFUSED, TRINO: UNVERIFIED}),
        ("struct<a,b:int>", ALL),
        ("struct<a<b:int>", ALL),
        ("struct<a`b:int>", ALL),
        ("array<struct<a:b:int>>", ALL),
        ("map<string, array<int>>", {}),
        ("uniontype<int,string>", {}),
    ],
)
def test_engines_that_do_not_read_a_type(kind: str, engines: dict[str, Outcome]) -> None:
    found = [(item.engine, item.outcome) for item in column_findings([("id", "int", None), ("s", kind, None)])]
    assert (dict(found), len(found)) == (engines, len(engines))


@pytest.mark.parametrize(
    ("kind", "engine", "reason"),
    [
        ("struct<my-f,x:int>", SPARK, "with ',' in its name (Spark 4.0.5, 4.1.4, 4.2.1 and 4.3.0)"),
        ("struct<my-f,x:int>", HIVE_ENGINE, "with '-' in its name (Hive 4.1.0)"),
    ],
)
def test_finding_names_the_character_that_the_engine_does_not_read(kind: str, engine: str, reason: str) -> None:
    found = {item.engine: item.construct for item in column_findings([("s", kind, None)])}
    assert found[engine].endswith(reason)


@pytest.mark.parametrize(
    ("declared", "computed", "is_found"),
    [
        ("decimal(2,1)", "decimal(11,1)", True),
        ("decimal(12,1)", "decimal(11,1)", False),
        ("int", "double", True),
        ("int", "bigint", True),
        ("smallint", "int", False),
        ("double", "bigint", False),
        ("string", "bigint", False),
        ("varchar(3)", "string", False),
        ("int", "string", True),
        ("string", "date", False),
        ("date", "timestamp", True),
        ("timestamp", "timestamp_ntz", False),
        ("array<int>", "array<bigint>", True),
        ("uniontype<int,string>", "int", False),
        ("int", None, False),
    ],
)
def test_types_that_spark_does_not_cast(declared: str, computed: str | None, is_found: bool) -> None:
    found = [(item.engine, item.outcome) for item in type_findings([("c", declared, None)], [computed])]
    assert found == ([(SPARK, REFUSED)] if is_found else [])
