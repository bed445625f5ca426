"""Finding the tables that a statement reads, and replacing their names."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from hive_views.spark.session.plans import PlanReader
from hive_views.spark.session.source_text import offset_of
from hive_views.spark.session.table_reads import (
    Replacement,
    possible_table_reads,
    replace_tables,
    table_reads,
)
from hive_views.sql.text.positions import line_and_column
from tests.integration.spark.spark_versions import IS_SPARK_3

CASES = [
    ("SELECT * FROM db.v", "SELECT * FROM X AS `v`"),
    ("SELECT * FROM `Db`.`v w` AS x", "SELECT * FROM X AS x"),
    ("SELECT v.a, db.v.a, c.db.v.*, v.db FROM c.db.v", "SELECT v.a, v.a, v.*, v.db FROM X AS `v`"),
    ("SELECT db.v.a FROM v", "SELECT v.a FROM X AS `v`"),
    ("SELECT db.v.a FROM v AS x", "SELECT db.v.a FROM X AS x"),
    ("WITH v AS (SELECT 1) SELECT * FROM v, w", "WITH v AS (SELECT 1) SELECT * FROM v, X AS `w`"),
    ("WITH v AS (SELECT * FROM v) SELECT * FROM v", "WITH v AS (SELECT * FROM X AS `v`) SELECT * FROM v"),
    ("WITH v AS (SELECT 1) SELECT * FROM db.v", "WITH v AS (SELECT 1) SELECT * FROM X AS `v`"),
    ("SELECT (SELECT max(a) FROM v), 'FROM v' -- FROM v", "SELECT (SELECT max(a) FROM X AS `v`), 'FROM v' -- FROM v"),
    ("SELECT * FROM v VERSION AS OF 3", "SELECT * FROM X AS `v`"),
    ("SELECT * FROM v FOR SYSTEM_VERSION AS OF '3' y WHERE a", "SELECT * FROM X y WHERE a"),
    ("SELECT * FROM v TIMESTAMP AS OF now() - INTERVAL 1 DAY ORDER BY a", "SELECT * FROM X AS `v` ORDER BY a"),
    ("SELECT * FROM v FOR SYSTEM_TIME AS OF '2020' JOIN w ON 1 = 1", "SELECT * FROM X AS `v` JOIN X AS `w` ON 1 = 1"),
    ("SELECT * FROM (SELECT * FROM v VERSION AS OF 1) x", "SELECT * FROM (SELECT * FROM X AS `v`) x"),
    ("SELECT * FROM v TABLESAMPLE (5 ROWS) WHERE a", "SELECT * FROM X TABLESAMPLE (5 ROWS) AS `v` WHERE a"),
    ("SELECT * FROM v PIVOT (sum(a) FOR b IN (1, 2))", "SELECT * FROM X AS `v` PIVOT (sum(a) FOR b IN (1, 2))"),
    ("INSERT INTO t SELECT * FROM v", "INSERT INTO t SELECT * FROM X AS `v`"),
    ("CREATE TEMP VIEW v AS SELECT * FROM v", "CREATE TEMP VIEW v AS SELECT * FROM X AS `v`"),
    ("CREATE TABLE v USING parquet AS SELECT * FROM w", "CREATE TABLE v USING parquet AS SELECT * FROM X AS `w`"),
    ("CACHE TABLE v AS SELECT * FROM w", "CACHE TABLE v AS SELECT * FROM X AS `w`"),
    (
        "MERGE INTO t USING v ON a = b WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING X AS `v` ON a = b WHEN MATCHED THEN DELETE",
    ),
    ("EXPLAIN EXTENDED SELECT * FROM v", "EXPLAIN EXTENDED SELECT * FROM X AS `v`"),
    ("TABLE db.v", "TABLE X"),
    ("INSERT INTO t TABLE v", "INSERT INTO t TABLE X"),
    ("REPLACE TABLE t USING iceberg AS SELECT * FROM v", "REPLACE TABLE t USING iceberg AS SELECT * FROM X AS `v`"),
    ("EXPLAIN REPLACE TABLE t AS SELECT 1 FROM v", "EXPLAIN REPLACE TABLE t AS SELECT 1 FROM X AS `v`"),
    ("EXPLAIN DROP TABLE v", "EXPLAIN DROP TABLE v"),
    ("EXPLAIN EXTENDED ANALYZE TABLE v COMPUTE STATISTICS", "EXPLAIN EXTENDED ANALYZE TABLE v COMPUTE STATISTICS"),
    ("EXPLAIN CREATE OR REPLACE VIEW w AS SELECT * FROM v", "EXPLAIN CREATE OR REPLACE VIEW w AS SELECT * FROM v"),
    ("EXPLAIN ALTER VIEW w AS SELECT * FROM v", "EXPLAIN ALTER VIEW w AS SELECT * FROM v"),
    ("EXPLAIN INSERT INTO t SELECT * FROM v", "EXPLAIN INSERT INTO t SELECT * FROM X AS `v`"),
    ("FROM v SELECT a", "FROM X AS `v` SELECT a"),
    ("SELECT * FROM a LATERAL VIEW explode(b) v AS c", "SELECT * FROM X AS `a` LATERAL VIEW explode(b) v AS c"),
    ("SELECT * FROM range(3), VALUES (1) AS v(a)", "SELECT * FROM range(3), VALUES (1) AS v(a)"),
    ("TABLE t UNION ALL SELECT * FROM v", "TABLE X UNION ALL SELECT * FROM X AS `v`"),
    ("TABLE t |> JOIN v ON true |> WHERE v.a = 1", "TABLE X |> JOIN X AS `v` ON true |> WHERE v.a = 1"),
    ("FROM v |> UNION ALL TABLE v |> AS z", "FROM X AS `v` |> UNION ALL TABLE X |> AS z"),
    ("FROM v |> SET a = 1", "FROM X AS `v` |> SET a = 1"),
    ("INSERT OVERWRITE v (TABLE v)", "INSERT OVERWRITE v (TABLE X)"),
    ("INSERT INTO v SELECT * FROM w", "INSERT INTO v SELECT * FROM X AS `w`"),
    ("WITH c AS (TABLE v) SELECT v.a FROM c, v", "WITH c AS (TABLE X) SELECT v.a FROM c, X AS `v`"),
    (
        "MERGE INTO v USING (TABLE w) s ON v.a = s.a WHEN MATCHED THEN UPDATE SET a = (SELECT max(w.a) FROM w)",
        "MERGE INTO v USING (TABLE X) s ON v.a = s.a WHEN MATCHED THEN UPDATE SET a = (SELECT max(w.a) FROM X AS `w`)",
    ),
    ("UPDATE v SET a = (SELECT max(a) FROM w)", "UPDATE v SET a = (SELECT max(a) FROM X AS `w`)"),
    ("DELETE FROM v WHERE a IN (TABLE w)", "DELETE FROM v WHERE a IN (TABLE X)"),
    (
        "SELECT * FROM f(TABLE(v)), g(TABLE(v) PARTITION BY v.a)",
        "SELECT * FROM f(TABLE(SELECT * FROM X AS `v`)), g(TABLE(SELECT * FROM X AS `v`) PARTITION BY v.a)",
    ),
    (
        "SELECT * FROM g(TABLE(db.v) PARTITION BY db.v.a)",
        "SELECT * FROM g(TABLE(SELECT * FROM X AS `v`) PARTITION BY v.a)",
    ),
    ("SELECT * FROM t, LATERAL (TABLE v) x", "SELECT * FROM X AS `t`, LATERAL (TABLE X) x"),
    ("CREATE TABLE x USING parquet AS TABLE v", "CREATE TABLE x USING parquet AS TABLE X"),
    ("CACHE TABLE x AS TABLE v", "CACHE TABLE x AS TABLE X"),
    ("CACHE TABLE v", "CACHE TABLE v"),
    (
        "CREATE TEMPORARY FUNCTION f() RETURNS TABLE (a INT) RETURN TABLE v",
        "CREATE TEMPORARY FUNCTION f() RETURNS TABLE (a INT) RETURN TABLE X",
    ),
    (
        "CREATE FUNCTION f() RETURNS INT RETURN (SELECT max(v.a) FROM v)",
        "CREATE FUNCTION f() RETURNS INT RETURN (SELECT max(v.a) FROM X AS `v`)",
    ),
    (
        "SELECT * FROM v WITH (`k`='5') TABLESAMPLE (5 ROWS) WHERE a",
        "SELECT * FROM X WITH (`k`='5') TABLESAMPLE (5 ROWS) AS `v` WHERE a",
    ),
    ("SELECT * FROM v TIMESTAMP AS OF now() - INTERVAL 1 DAY x", "SELECT * FROM X x"),
    ("SELECT * FROM (TABLE v) x JOIN v USING (k)", "SELECT * FROM (TABLE X) x JOIN X AS `v` USING (k)"),
    (
        "INSERT INTO t REPLACE WHERE a IN (SELECT a FROM v) SELECT * FROM w",
        "INSERT INTO t REPLACE WHERE a IN (SELECT a FROM X AS `v`) SELECT * FROM X AS `w`",
    ),
    (
        "FROM v INSERT INTO a SELECT * INSERT INTO b SELECT *",
        "FROM X AS `v` INSERT INTO a SELECT * INSERT INTO b SELECT *",
    ),
    (
        "WITH RECURSIVE v AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM v) SELECT * FROM v, w",
        "WITH RECURSIVE v AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM v) SELECT * FROM v, X AS `w`",
    ),
    (
        "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b",
        "WITH a AS (SELECT * FROM X AS `b`), b AS (SELECT * FROM a) SELECT * FROM b",
    ),
    (
        "WITH a AS (WITH b AS (TABLE v) SELECT * FROM b) SELECT * FROM a, B",
        "WITH a AS (WITH b AS (TABLE X) SELECT * FROM b) SELECT * FROM a, X AS `B`",
    ),
    ("SELECT 'a\n+- CTE [v]', \"\\n:- v\" FROM v", "SELECT 'a\n+- CTE [v]', \"\\n:- v\" FROM X AS `v`"),
    ("SELECT from.a FROM from, date, `select`", "SELECT from.a FROM X AS `from`, X AS `date`, X AS `select`"),
    ("SELECT v(1), v.v, v FROM v v, v AS w", "SELECT v(1), v.v, v FROM X v, X AS w"),
    ("SELECT 1", "SELECT 1"),
]


_SPARK_4 = re.compile(r"\|>|\) PARTITION BY|WITH \(`k`|RECURSIVE")


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_replace_every_table(text: str, expected: str, spark: SparkSession) -> None:
    if IS_SPARK_3 and _SPARK_4.search(text):
        pytest.skip("needs Spark 4.0")
    assert replaced(text, spark) == expected


@pytest.mark.parametrize(("text", "expected"), CASES[::4])
def test_replace_every_table_on_connect(text: str, expected: str, connect_spark: ConnectSession) -> None:
    assert replaced(text, connect_spark) == expected


def replaced(text: str, session: SparkSession) -> str:
    """The text with every table replaced by X."""
    reads = table_reads(text, PlanReader(session).parsed)
    return replace_tables(text, [Replacement(read, "X", ("c", "db", read.parts[-1])) for read in reads], reads).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEGIN SELECT * FROM v; END", ["v"]),
        ("BEGIN SELECT * FROM (v); END", ["v"]),
        ("BEGIN SELECT * FROM ( /* c */ (db.`v w`)) x; END", ["db.v w"]),
        ("SET VAR x = (SELECT max(a) FROM (v))", ["v"]),
        ("BEGIN SELECT * FROM a, (v JOIN (b)); END", ["a", "v", "b"]),
        ("BEGIN SELECT * FROM (v JOIN LATERAL (b)); END", ["v", "LATERAL", "b"]),
        ("BEGIN SELECT * FROM LATERAL v; END", ["LATERAL", "v"]),
        ("BEGIN SELECT * FROM f(TABLE (v)); END", ["f", "v"]),
        ("BEGIN CACHE TABLE IF EXISTS v; CREATE TABLE IF NOT EXISTS w; END", ["v", "w"]),
        ("BEGIN DROP TABLE if; SELECT * FROM exists; END", ["if", "exists"]),
        ("BEGIN SELECT * FROM IDENTIFIER('v') JOIN IDENTIFIER('db.`a b`'); END", ["v", "db.a b"]),
        ("BEGIN SELECT * FROM IDENTIFIER(:v); END", [""]),
        ("BEGIN SELECT * FROM a, IDENTIFIER('d' || 'b.v'); END", ["a", ""]),
        ("BEGIN SELECT * FROM (IDENTIFIER('d\\u0062.v')); SELECT * FROM db.IDENTIFIER('v'); END", [""]),
        ('BEGIN SELECT * FROM IDENTIFIER("v"); END', [""]),
        ("BEGIN DROP TABLE IDENTIFIER(:t); INSERT INTO TABLE IDENTIFIER(:t) SELECT 1; END", []),
        ("BEGIN SELECT * FROM a JOIN b USING (v); SELECT identifier FROM a; END", ["a", "b"]),
        ("BEGIN SELECT * FROM", []),
    ],
)
def test_possible_tables_in_unparsed_text(text: str, expected: list[str]) -> None:
    reads = possible_table_reads(text)
    assert [".".join(read.parts) for read in reads] == expected


@pytest.mark.parametrize(
    "text", ["SELECT * FROM v VERSION AS OF", "SELECT 'open", "OPTIMIZE v", "SELECT * FROM v VERSION x"]
)
def test_invalid_statement_is_rejected(text: str, spark: SparkSession) -> None:
    with pytest.raises(ParseException):
        table_reads(text, PlanReader(spark).parsed)


NAMES = st.sampled_from(["v", "db.v", "`ü`", "c.db.`a b`", "v VERSION AS OF 1"])
TEXTS = st.lists(NAMES, min_size=1, max_size=4).map(
    lambda names: "SELECT 'é😀' AS x,\n  2 FROM " + " JOIN\n".join(names) + "\nWHERE x = 'db.v'"
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_offsets_lead_back_to_the_original(text: str, spark: SparkSession) -> None:
    reads = table_reads(text, PlanReader(spark).parsed)
    done = replace_tables(text, [Replacement(read, "`a`.`b`", ("c", "db", read.parts[-1])) for read in reads], reads)
    origins = [done.offset(at) for at in range(len(done.text))]
    assert origins == sorted(origins)
    replaced = {at for read in reads for at in range(read.start, read.end)} | {read.alias_offset for read in reads}
    kept = [(at, origin) for at, origin in enumerate(origins) if origin not in replaced]
    assert all(done.text[at] == text[origin] for at, origin in kept)
    assert {origin for _, origin in kept} == set(range(len(text))) - replaced


@given(st.text(alphabet="ab\n"), st.data())
def test_positions_and_offsets_are_inverse(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    line, column = line_and_column(text, at)
    assert offset_of(text, line, column - 1) == at
