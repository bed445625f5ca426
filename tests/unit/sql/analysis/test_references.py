"""The tables that a query reads and the functions that it calls."""

# ruff: noqa: E501 (one case a line)

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.analysis.references import (
    may_call_registered_functions,
    may_read_unnamed_tables,
    references,
    source_without_schema,
)
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect

CALLS = [
    ("hive", "select secret(a), upper(b) from t", {"secret": True, "upper": False}),
    ("hive", "select `secret` (a), `upper`(b) from t", {"secret": True, "upper": False}),
    ("spark", "select secret(a), `my f`(b) from t", {"secret": True, "my f": True}),
    ("spark", "select element_at(a, 1), mod(a, 2), shiftleft(a, 1) from t", dict.fromkeys(("element_at", "mod", "shiftleft"), False)),
    ("spark", "select arg_max(a, b), sales.f(a) from t", {"arg_max": True, "f": True}),
    ("hive", "with q (a, b) as (select 1, 2) select f(a) from q x", {"f": True}),
    ("spark", "select * from t as x(a, b) join u using (a) where a in (1) and exists (select 1)", {}),
    ("hive", "select cast(a as decimal(10,2)), extract(year from b), if(a, 1, 2) from t", {"extract": False, "if": False}),
    ("hive", "select * from t tablesample (bucket 1 out of 4 on rand())", {"rand": False}),
    ("spark", "select pi(), spark_catalog.db.pi(), db /* c */ . `upper` (a), lower(a) from t", {"pi": True, "upper": True, "lower": False}),
    ("hive", "select abs(a), db.abs(a) from t", {"abs": True}),
    ("trino", 'select "f"(a), date_trunc(\'day\', b) from t', {"f": True, "date_trunc": False}),
    ("spark", "select count(*) filter (where g(a)), transform(b, x -> h(x)) from t", {"count": False, "g": True, "transform": False, "h": True}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql", "expected"), CALLS, ids=[sql for _, sql, _ in CALLS])
def test_calls_are_reported_by_written_name(dialect: str, sql: str, expected: dict[str, bool]) -> None:
    registered = {function.name: function.registered for function in references(parse_query(sql, dialect)).functions}
    assert {name: registered[name] for name in registered if name in expected or registered[name]} == expected


HIVE_TEXTS = [
    "select secret(a) from t", "select `f` (a) from t", "select sales.secret(a) from t", "select sales . upper(a) from t", "select `my-count`(a) from t",
    "select upper(a), count(*), cast(b as int) from t where a in (1, 2) and exists (select 1)", "select a, current_date from t",
    "select count /* of */ (a) from t", "select secret -- of\n (a) from t", "select 'secret(' from t", "select a from t",
]  # fmt: skip


@pytest.mark.parametrize("sql", HIVE_TEXTS)
def test_text_with_registered_functions_is_never_skipped(sql: str) -> None:
    if any(function.registered for function in references(parse_query(sql, Dialect.HIVE)).functions):
        assert may_call_registered_functions(sql)
    assert not may_call_registered_functions("select upper(a), sum(b) over (partition by c) from t")


RELATIONS = [  # dialects, query, what it reads; `?` if it may read more, or cannot be parsed
    ("hive spark", "SELECT * FROM a, d.b x JOIN (c) ON true LEFT SEMI JOIN ((SELECT * FROM e)) y ON true", "a d.b c e"),
    ("hive spark", "SELECT * FROM (a JOIN b ON true) CROSS JOIN spark_catalog.d.c", "a b spark_catalog.d.c"),
    ("hive", "SELECT * FROM `d.a`", "d.a"),
    ("spark", "SELECT * FROM d.a.files JOIN spark_catalog.d.b.snapshots JOIN spark_catalog.d.files", "d.a spark_catalog.d.b spark_catalog.d.files"),
    ("spark", "SELECT * FROM IDENTIFIER('d.' || 'a') x JOIN identifier /* b */ (concat('d', '.', '`b`')) ON true", "d.a d.b"),
    ("spark", "TABLE IDENTIFIER('a')", "a"),
    ("spark", "SELECT * FROM c, LATERAL (SELECT * FROM IDENTIFIER(('a')))", "c a"),
    ("spark", "SELECT * FROM b WHERE EXISTS (SELECT 1 FROM IDENTIFIER('d.' || lower('A')))", "b ?"),
    ("spark", "SELECT IDENTIFIER('x'), IDENTIFIER('f')(x) FROM a", "a"),
    ("spark", "TABLE a UNION ALL (TABLE d.b) EXCEPT SELECT * FROM (TABLE c) q", "a d.b c"),
    ("spark", "WITH q AS (TABLE a) TABLE q", "a"),
    ("spark", "SELECT * FROM b WHERE x IN (TABLE a)", "b a"),
    ("hive spark", "SELECT * FROM VALUES ((SELECT max(x) FROM a)) AS t(z)", "a"),
    ("hive spark", "VALUES (1), (2)", ""),
    ("hive", "SELECT * FROM TABLE(VALUES (1), (2)) AS t(a)", ""),
    ("spark", "SELECT * FROM range(3), explode(array(1)), json_tuple('x', 'y'), b, LATERAL explode(b.x), LATERAL inline(y)", "b"),
    ("spark", "SELECT * FROM f(TABLE(a), x => TABLE(SELECT * FROM d.b))", "a d.b ?"),
    ("spark", "SELECT * FROM f(TABLE(IDENTIFIER('d.a')))", "d.a ?"),
    ("spark", "WITH a AS (SELECT 1 FROM c) SELECT * FROM f(TABLE(a))", "c ?"),
    ("spark", "SELECT * FROM b, LATERAL d.f((SELECT max(x) FROM a))", "b a ?"),
    ("spark", "SELECT * FROM f(TABLE a PARTITION BY x)", "?"),
    ("spark", "SELECT * FROM a, range(d.f(1)), stream(b)", "a ?"),
    ("spark", "SELECT * FROM read_files('/x')", "?"),
    ("hive", "SELECT * FROM noop(ON a PARTITION BY x)", "?"),
    ("hive", "SELECT * FROM a('k' = 'v')", "?"),
    ("hive", "FROM a MAP x USING 'cat' AS y", "?"),
    ("hive", "SELECT * FROM UNIQUEJOIN PRESERVE a (a.x), PRESERVE b (b.x)", "?"),
    ("hive spark", "SELECT TRANSFORM(x) USING 'cat' AS (y) FROM a", "a"),
    ("hive spark", "SELECT * FROM b LATERAL VIEW OUTER explode(split((SELECT max(x) FROM a), ',')) t AS y JOIN c", "b a c"),
    ("hive spark", "SELECT * FROM b LATERAL VIEW my_udtf(x) t AS y", "b"),
    ("spark", "SELECT * FROM a PIVOT (sum(x) FOR y IN (1)) JOIN (SELECT * FROM b) UNPIVOT (x FOR y IN (c, d))", "a b"),
    ("spark", "FROM a JOIN b SELECT x", "a b"),
    ("spark", "FROM b |> JOIN a USING (x) |> WHERE EXISTS (SELECT 1 FROM c) |> UNION ALL (SELECT * FROM d)", "b a c d"),
    ("spark", "FROM b |> UNION ALL TABLE a", "b a"),
    ("hive spark", "SELECT (SELECT max(x) FROM a), sum(x) FILTER (WHERE x IN (SELECT x FROM b)), named_struct('a', (SELECT 1 FROM c)), CASE WHEN x THEN (SELECT 1 FROM d) END, y[(SELECT 1 FROM e)] FROM f", "a b c d e f"),
    ("hive spark", "SELECT first(x) OVER (ORDER BY (SELECT 1 FROM b)) FROM a JOIN c ON a.x = (SELECT max(x) FROM d) WHERE x = ANY (SELECT x FROM e)", "b a c d e"),
    ("hive spark", "SELECT x FROM a GROUP BY x HAVING max(y) > (SELECT 1 FROM b) ORDER BY (SELECT 1 FROM c) LIMIT 3", "a b c"),
    ("spark", "SELECT transform(x, y -> y + (SELECT max(x) FROM b)) FROM a QUALIFY 1 = (SELECT 1 FROM c) WINDOW w AS (PARTITION BY (SELECT 1 FROM d))", "b a c d"),
    ("hive spark", "WITH q AS (SELECT * FROM r), r AS (WITH s AS (SELECT * FROM t) SELECT * FROM s) SELECT * FROM q, r, s", "r t s"),
    ("spark", "WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + x FROM q JOIN a) SELECT * FROM q", "a"),
    ("hive spark", "WITH a AS (SELECT * FROM a) SELECT * FROM a WHERE x IN (WITH q AS (SELECT x FROM b) SELECT * FROM q)", "a b"),
    ("spark", "SELECT * FROM a VERSION AS OF 1 JOIN b TIMESTAMP AS OF (SELECT max(x) FROM c) JOIN d@v1 JOIN e WITH ('k' = 'v')", "a b c d e"),
    ("hive spark", "SELECT /*+ BROADCAST(z) */ * FROM a z TABLESAMPLE (BUCKET 1 OUT OF 4 ON x) JOIN b TABLESAMPLE (10 PERCENT)", "a b"),
    ("trino", "SELECT * FROM hive.d.a, UNNEST(x) t(y), TABLE(sequence(1, 3)), LATERAL (SELECT * FROM b)", "hive.d.a b"),
    ("trino", "SELECT * FROM TABLE(c.system.query(query => 'SELECT 1'))", "?"),
]  # fmt: skip


@pytest.mark.parametrize(("dialects", "sql", "reads"), RELATIONS, ids=[sql for _, sql, _ in RELATIONS])
def test_every_relation_is_read_or_unknown(dialects: str, sql: str, reads: str) -> None:
    for dialect in dialects.split():
        names, is_opaque = [], False
        try:
            result = references(parse_query(sql, dialect))
            names, is_opaque = [".".join(table.parts) for table in result.tables], bool(result.opaque)
            expected = [*names, *(["?"] if is_opaque else [])]
        except SqlError:
            expected = ["?"]
        assert sorted(expected) == sorted(reads.split()), dialect
        # A search for dependents does not parse texts without the words of a name.
        if not may_read_unnamed_tables(sql.lower()):
            assert not is_opaque and all(part in sql for name in names for part in name.split("."))


UNMODELLED = [
    ("spark", "SELECT * FROM csv.`/data/x`", "the files csv.`/data/x`"),
    (
        "spark",
        "SELECT a.id FROM d.t a JOIN parquet.`s3://bucket/x` b ON a.id = b.id",
        "the files parquet.`s3://bucket/x`",
    ),
    ("hive", "select * from csv.`file:/x`", "the files csv.`file:/x`"),
    ("spark", "SELECT count(*) FROM prod.d.t.snapshots", "metadata of the table prod.d.t"),
    ("spark", "SELECT _metadata.file_name, id FROM d.t", "Spark's column _metadata of the files of a table"),
    ("spark", "SELECT t._metadata FROM d.t", "Spark's column _metadata of the files of a table"),
    ("hive", "select * from d.t", None),
    ("hive", "select `_metadata` from d.t", None),
    ("spark", "SELECT * FROM csv.t JOIN d.snapshots JOIN prod.d.snapshots", None),
    ("trino", 'SELECT * FROM csv."/x"', None),
]


@pytest.mark.parametrize(("dialect", "sql", "expected"), UNMODELLED, ids=[sql for _, sql, _ in UNMODELLED])
def test_sources_whose_columns_no_row_has(dialect: str, sql: str, expected: str | None) -> None:
    assert source_without_schema(parse_query(sql, dialect)) == expected


def test_files_are_no_tables() -> None:
    for dialect in ("hive", "spark"):
        tables = references(parse_query("SELECT a.id FROM d.t a JOIN csv.`file:/x` b ON a.id = b.id", dialect)).tables
        assert [table.parts for table in tables] == [("d", "t")]
