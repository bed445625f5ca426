"""Parsing of the view DDL, and the positions of its errors."""

from __future__ import annotations

from typing import Any

import pytest

from hive_views.errors import SqlError
from hive_views.sql.parsing import statements as s
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.text.spark_lexer import first_word

NAME = s.ObjectName(("v",))
QUERY = s.Query("select 1")

STATEMENTS: list[tuple[str, str, s.Statement | Any]] = [
    ("hive", "create view v as select 1", (s.CreateView, {})),
    ("hive", "CREATE OR REPLACE VIEW v AS select 1;", (s.CreateView, {"or_replace": True})),
    ("hive", "create view if not exists v as select 1", (s.CreateView, {"if_not_exists": True})),
    (
        "hive",
        "create view v (a comment 'x\\ty', `b c`) comment \"it's\" partitioned on (B) "
        "tblproperties ('k'='v') as select 1",
        (
            s.CreateView,
            {
                "columns": (s.ColumnSpec("a", "x\ty"), s.ColumnSpec("b c")),
                "comment": "it's",
                "partitioned_on": ("b",),
                "properties": (("k", "v"),),
            },
        ),
    ),
    (
        "spark",
        "CREATE VIEW v TBLPROPERTIES (a.b = 1, 'c' == true, 'd' 'e''f', g 2) WITH SCHEMA TYPE EVOLUTION AS select 1",
        (
            s.CreateView,
            {
                "properties": (("a.b", "1"), ("c", "true"), ("d", "e'f"), ("g", "2")),
                "schema_mode": "type evolution",
            },
        ),
    ),
    (
        "trino",
        "create view v comment 'it''s \\n' security invoker as select 1",
        (s.CreateView, {"comment": "it's \\n", "security": "invoker"}),
    ),
    ("hive", "create temporary view v as select 1", (s.CreateView, {"temporary": True})),
    (
        "hive",
        "create materialized view v disable rewrite partitioned on (a) clustered on (b, c) stored as orc as select 1",
        (
            s.CreateMaterializedView,
            {"rewrite": False, "partitioned_on": ("a",), "clustered_on": ("b", "c"), "stored_as": "orc"},
        ),
    ),
    (
        "spark",
        "create materialized view v sorted by (a, day(b) desc nulls last) as select 1",
        (s.CreateMaterializedView, {"sorted_by": ("a", "day(b) desc nulls last")}),
    ),
    (
        "hive",
        "create materialized view v stored by iceberg location '/l' tblproperties ('a'='b') as select 1",
        (s.CreateMaterializedView, {"stored_by": "iceberg", "location": "/l", "properties": (("a", "b"),)}),
    ),
    (
        "trino",
        "create materialized view v grace period interval '1' hour with (format = 'ORC') as select 1",
        (s.CreateMaterializedView, {"grace_period": "interval '1' hour", "properties": (("format", "ORC"),)}),
    ),
    ("hive", "alter view v as select 1", (s.AlterViewAs, {})),
    ("hive", "alter view v select 1", (s.AlterViewAs, {})),
    (
        "hive",
        "alter view v set tblproperties ('a'='b', 'c'='d')",
        (s.AlterViewSetProperties, {"properties": (("a", "b"), ("c", "d"))}),
    ),
    (
        "hive",
        "alter view v unset tblproperties if exists ('a', 'b')",
        (s.AlterViewUnsetProperties, {"keys": ("a", "b"), "if_exists": True}),
    ),
    (
        "spark",
        "alter view v unset tblproperties (a.b, c, 'd')",
        (s.AlterViewUnsetProperties, {"keys": ("a.b", "c", "d")}),
    ),
    ("hive", "alter view v rename to d.w", (s.AlterViewRename, {"new_name": s.ObjectName(("d", "w"))})),
    ("hive", "alter view v recompile", (s.AlterViewRecompile, {})),
    (
        "hive",
        "alter view v add if not exists partition (ds='x', hr=1) partition (ds='y', hr=2)",
        (
            s.AlterViewAddPartitions,
            {"partitions": ((("ds", "x"), ("hr", "1")), (("ds", "y"), ("hr", "2"))), "if_not_exists": True},
        ),
    ),
    (
        "hive",
        "alter view v drop if exists partition (ds='x'), partition (ds='y')",
        (s.AlterViewDropPartitions, {"partitions": ((("ds", "x"),), (("ds", "y"),)), "if_exists": True}),
    ),
    ("hive", "alter materialized view v rebuild", (s.RefreshMaterializedView, {})),
    ("trino", "refresh materialized view v", (s.RefreshMaterializedView, {})),
    ("spark", "explain refresh materialized view v", (s.ExplainRefresh, {})),
    ("hive", "alter materialized view v enable rewrite", (s.AlterMaterializedViewRewrite, {"enabled": True})),
    ("hive", "drop view v", (s.Drop, {"kind": "view"})),
    ("hive", "drop view if exists v cascade", (s.Drop, {"kind": "view", "if_exists": True, "behavior": "cascade"})),
    ("hive", "drop table v restrict", (s.Drop, {"kind": "table", "behavior": "restrict"})),
    ("hive", "drop materialized view v", (s.Drop, {"kind": "materialized view"})),
    ("hive", "show create view v", (s.ShowCreate, {"kind": "view"})),
    ("hive", "describe v", (s.Describe, {})),
    ("hive", "desc formatted v", (s.Describe, {"formatted": True})),
    ("spark", "DESCRIBE TABLE EXTENDED v", (s.Describe, {"extended": True})),
    ("hive", "-- one\n/* two */ drop view v -- three\n;", (s.Drop, {"kind": "view"})),
]


@pytest.mark.parametrize(("dialect", "sql", "expected"), STATEMENTS, ids=[sql for _, sql, _ in STATEMENTS])
def test_parse_statement(dialect: str, sql: str, expected: tuple[type[Any], dict[str, Any]]) -> None:
    kind, fields = expected
    if kind in (s.CreateView, s.CreateMaterializedView, s.AlterViewAs):
        fields = {"query": QUERY, **fields}

    assert parse_statement(sql, dialect) == kind(text=sql, dialect=dialect, name=NAME, **fields)


def test_show_views() -> None:
    assert parse_statement("show views in d like 'a*'") == s.ShowViews("show views in d like 'a*'", "hive", "d", "a*")
    assert parse_statement("show views 'x'") == s.ShowViews("show views 'x'", "hive", None, "x")
    assert parse_statement("show materialized views") == s.ShowViews(
        "show materialized views", "hive", materialized=True
    )


def test_query_has_text_and_start() -> None:
    sql = "create view `my db`.v as\n  select ';' x -- why\n;  "
    statement = parse_statement(sql)

    assert isinstance(statement, s.CreateView)
    assert statement.name.parts == ("my db", "v")
    assert statement.query.sql == "select ';' x"
    assert sql[statement.query.start :].startswith("select")


REFUSED = [
    ("create view", 1, 12, "a name"),
    ("create view v as", 1, 17, "a query"),
    ("create table t (a int)", 1, 8, "VIEW"),
    ("select 1", 1, 1, "a statement about views"),
    ("", 1, 1, "nothing"),
    ("create view v (a, ) as select 1", 1, 19, "a name"),
    ("create view v comment c as select 1", 1, 23, "a string"),
    ("create view v\n  tblproperties ('a' 'b') as select 1", 2, 22, "="),
    ("create view a.b.c.d as select 1", 1, 21, "at most three"),
    ("create or replace view if not exists v as select 1", 1, 24, "Can't combine"),
    ("create view v comment 'a' comment 'b' as select 1", 1, 27, "second COMMENT"),
    ("create view v clustered on (a) as select 1", 1, 15, "not possible here"),
    ("alter view v foo", 1, 14, "RECOMPILE"),
    ("alter view v with schema binding", 1, 14, "WITH SCHEMA: an Iceberg view does not keep it"),
    ("alter view v with schema type evolution", 1, 14, "WITH SCHEMA"),
    ("drop view v extra", 1, 13, "the end"),
    ("show tables", 1, 6, "VIEWS"),
    ("create view 'v' as select 1", 1, 13, "a name"),
    ("drop view `v", 1, 11, "` is not closed"),
]


@pytest.mark.parametrize(("sql", "line", "column", "reason"), REFUSED, ids=[sql for sql, *_ in REFUSED])
def test_syntax_errors_point_at_line_and_column(sql: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(SqlError) as refused:
        parse_statement(sql)

    assert (refused.value.line, refused.value.column) == (line, column)
    assert reason in str(refused.value)


def test_cte_named_schema_is_no_schema_clause() -> None:
    statement = parse_statement("alter view v with schema as (select 1 a) select a from schema", "spark")
    assert isinstance(statement, s.AlterViewAs)


# Measured: Spark 4.1.4 (SHOW TBLPROPERTIES), Hive 2.3.10 (BaseSemanticAnalyzer.unescapeSQLString).
STRINGS = [
    ("'it''s'", "it's", "its", "it's"),
    (r"'it\'s'", "it's", "it's", None),
    ('"q""r"', 'q"r', "qr", None),
    ("'a'\"b\"", "ab", "ab", None),
    ("'a' 'b'", "ab", None, None),
    ("''''", "'", "", "'"),
    ("''", "", "", ""),
    (r"'\377 \101'", "377 A", "377 A", r"\377 \101"),
    (r"'\U000000e9'", "é", "U000000e9", r"\U000000e9"),
    (r"'\U0001F600\ud83d\ude00'", "😀😀", "U0001F600😀", r"\U0001F600\ud83d\ude00"),
]


@pytest.mark.parametrize(("text", "spark", "hive", "trino"), STRINGS, ids=[text for text, *_ in STRINGS])
def test_string_literals_have_the_value_of_each_engine(
    text: str, spark: str | None, hive: str | None, trino: str | None
) -> None:
    for dialect, value in (("spark", spark), ("hive", hive), ("trino", trino)):
        sql = f"create view v comment {text} as select 1"
        if value is None:
            with pytest.raises(SqlError):
                parse_statement(sql, dialect)
            continue
        statement = parse_statement(sql, dialect)
        assert isinstance(statement, s.CreateView)
        assert statement.comment == value


@pytest.mark.parametrize(
    ("text", "word", "at"),
    [
        ("  select 1", "SELECT", 2),
        ("/* a /* b */ c */ CREATE VIEW v AS SELECT 1", "CREATE", 18),
        ("-- it's\rDROP VIEW v\n-- SELECT", "DROP", 8),
        ("-- goes \\\n on\nDROP VIEW v", "DROP", 14),
        ("/* x */ " * 60 + "(SELECT 1)", "", 480),  # must not backtrack
        ("/*+ a hint */ SELECT", "", 0),
        ("/* open SELECT", "", 14),
        ("-- nothing", "", 10),
        ("", "", 0),
    ],
)
def test_first_word_follows_spark_comments(text: str, word: str, at: int) -> None:
    assert first_word(text, "spark") == (word, at)
