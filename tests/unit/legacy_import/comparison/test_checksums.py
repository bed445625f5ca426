"""The relations and queries of a comparison; tests/integration runs them in Hive, Spark and Trino."""

from __future__ import annotations

import pytest
import sqlglot

from hive_views.legacy_import.comparison.checksums import Relation, relations, uncompared
from hive_views.sql.text.dialects import Dialect

COLUMNS = [
    ("id", "int"),
    ("Odd `name", "decimal(10,2)"),
    ("part", "struct<a:int,`b c`:array<struct<k:string,l:map<int,double>>>>"),
    ("tags", "array<array<string>>"),
]
PATHS = {
    "": ("id", "Odd `name", "part", "tags"),
    "part.b c": ("row", "position", "value"),
    "part.b c.l": ("row", "key", "value"),
    "tags": ("row", "position", "value"),
}


def queries(relation: Relation) -> list[str]:
    return [
        relation.checksum_query(),
        relation.checksum_query(sample=10),
        relation.bucket_query((), 2),
        relation.bucket_query(("0a", "ff"), 4),
        relation.rows_query(("0a",), 9),
    ]


@pytest.mark.parametrize("dialect", [Dialect.HIVE, Dialect.SPARK, Dialect.TRINO])
def test_each_array_and_map_is_a_relation(dialect: Dialect) -> None:
    made = relations("t", COLUMNS, dialect)
    # An array in an array has no name of its own.
    assert [(item.name, item.columns) for item in made] == [*PATHS.items(), ("tags", ("row", "position", "value"))]
    for item in made:
        for query in queries(item):
            tree = sqlglot.parse_one(query, dialect=dialect.value)
            assert isinstance(tree, sqlglot.exp.Select)
            # Hive ignores conditions on both sides of a LATERAL VIEW.
            assert tree.find(sqlglot.exp.Where) is None


def test_names_are_quoted_as_the_engine_does() -> None:
    hive, trino = (relations("t", COLUMNS, dialect)[1].sql for dialect in (Dialect.HIVE, Dialect.TRINO))
    assert "v.`part`.`b c`" in hive
    assert "v.`Odd ``name`" in hive
    assert 'v."part"."b c"' in trino
    assert 'v."Odd `name"' in trino


def test_columns_without_a_common_text_are_left_out() -> None:
    columns = [
        ("a", "int"),
        ("b", "uniontype<int,string>"),
        ("c", "array<struct<x:interval_day_time>>"),
        ("d", "timestamp with local time zone"),
        ("e", "map<string,void>"),
        ("f", "struct<x:array<binary>>"),
    ]
    assert uncompared(columns) == ("b", "c", "e")
