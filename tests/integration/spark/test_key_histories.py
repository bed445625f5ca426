"""What a refresh stores is what the definition returns, after random inserts, updates and deletes.

Each history is one definition, layout and write mode, by its seed. HIVE_VIEWS_HISTORIES sets how many.
"""

from __future__ import annotations

import os
import random
from collections import Counter

from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.spark import SparkEngine, ViewSession
from tests.integration.catalog.fixtures import catalog, open_catalog
from tests.integration.spark.spark_versions import BY_KEYS

__all__ = ["catalog", "open_catalog"]

HISTORIES = int(os.environ.get("HIVE_VIEWS_HISTORIES", "4"))
STEPS = 4
LAYOUTS = ("registered", "attached", "table")
MODES = ("copy-on-write", "merge-on-read")
QUERIES = (
    "SELECT a, avg(c) AS m, count(DISTINCT b) AS d, max(c) AS x FROM t GROUP BY a HAVING count(*) > 1",
    "SELECT DISTINCT a, b FROM t",
    "SELECT a, b, c FROM t ORDER BY a",
    "SELECT t.a, t.b, u.y FROM t LEFT JOIN u ON t.a = u.x",
    "SELECT t.a, count(u.y) AS n, sum(t.b) FILTER (WHERE u.y > 2) AS s FROM t LEFT JOIN u ON t.a = u.x GROUP BY t.a",
    "SELECT t.a, t.b FROM t LEFT ANTI JOIN u ON t.a = u.x",
    "SELECT t.a, t.c FROM t LEFT SEMI JOIN u ON t.a = u.x AND t.b > u.y",
    "SELECT a, b, rank() OVER (PARTITION BY a ORDER BY b) AS r FROM t",
    "SELECT a, b FROM t UNION SELECT x, y FROM u",
    "SELECT a FROM t EXCEPT SELECT x FROM u",
    "SELECT s.a, s.n, u.y FROM (SELECT a, count(*) AS n FROM t GROUP BY a) AS s JOIN u ON s.a = u.x",
    "SELECT l.a, l.b, r.c FROM t AS l JOIN t AS r ON l.a = r.a",
)


def values(chance: random.Random, count: int) -> str:
    def row() -> str:
        key = chance.choice(["'x'", "'y'", "'z'", "''", "NULL", "'n'"])
        number = chance.choice(["NULL", "DOUBLE('NaN')", "-0.0D", "0.0D", "1.5D", "2.25D"])
        return f"({key}, {chance.choice(['NULL', '1', '2', '3'])}, {number})"

    return ", ".join(row() for _ in range(count))


def change(chance: random.Random, spark: SparkSession) -> None:
    keys = ["a = 'x'", "a IS NULL", "a >= 'y'", "b = 2", "b = 1 AND a = 'z'", "isnan(c)"]
    other = [condition.replace("a ", "x ").replace("b ", "y ") for condition in keys[:5]]
    pairs = ", ".join(f"({item.split(',')[0]}, {chance.randrange(4)})" for item in ("'x'", "'y'", "NULL", "'q'"))
    spark.sql(
        chance.choice(
            [
                f"INSERT INTO t VALUES {values(chance, 3)}",
                f"DELETE FROM t WHERE {chance.choice(keys)}",
                f"UPDATE t SET b = b + 1, c = c * 2 WHERE {chance.choice(keys)}",
                f"UPDATE t SET a = 'z' WHERE {chance.choice(keys)}",
                f"INSERT INTO u VALUES {pairs}",
                f"DELETE FROM u WHERE {chance.choice(other)}",
                f"UPDATE u SET y = 9 WHERE {chance.choice(other)}",
                "MERGE INTO t USING (SELECT DISTINCT x FROM u) AS s ON t.a <=> s.x WHEN MATCHED THEN UPDATE SET b = 7 "
                "WHEN NOT MATCHED THEN INSERT (a, b, c) VALUES (s.x, 0, 0.5)",
            ]
        )
    )


def test_rows_are_those_of_the_definition(spark: SparkSession, catalog: HiveViewCatalog, database: str):
    views, engine, actions = catalog.materialized, SparkEngine(spark, catalog), Counter()
    spark.sql(f"USE prod.{database}")
    try:
        for seed in range(HISTORIES):
            chance = random.Random(seed)
            query, layout, mode = QUERIES[seed % len(QUERIES)], chance.choice(LAYOUTS), chance.choice(MODES)
            modes = ", ".join(f"'write.{name}.mode' = '{mode}'" for name in ("delete", "update", "merge"))
            properties = f"TBLPROPERTIES ({modes}, 'format-version' = '2')"
            spark.sql(f"CREATE TABLE t (a STRING, b BIGINT, c DOUBLE) USING iceberg {properties}")
            spark.sql(f"CREATE TABLE u (x STRING, y BIGINT) USING iceberg {properties}")
            spark.sql(f"INSERT INTO t VALUES {values(chance, 12)}")
            spark.sql("INSERT INTO u VALUES ('x', 1), ('y', 2), ('n', 3)")
            session = ViewSession(spark, catalog)
            stored = f"TBLPROPERTIES ('hive-views.layout' = '{layout}', 'write.merge.mode' = '{chance.choice(MODES)}')"
            session.sql(f"CREATE MATERIALIZED VIEW mv {stored} AS {query}")
            views.refresh((database, "mv"), engine)
            for step in range(STEPS):
                for _ in range(chance.randrange(1, 3)):
                    change(chance, spark)
                report = views.refresh((database, "mv"), engine)[-1]
                actions[report.action] += 1
                rows = sorted(map(str, session.sql("SELECT * FROM mv").collect()))
                assert session.notes[0].from_storage, session.notes
                expected = sorted(map(str, spark.sql(query).collect()))
                assert rows == expected, f"seed {seed}, step {step}, {layout}, {mode}: {report.action}: {report.why}"
            session.sql("DROP MATERIALIZED VIEW mv")
            spark.sql("DROP TABLE t PURGE")
            spark.sql("DROP TABLE u PURGE")
    finally:
        spark.sql("USE spark_catalog.default")
    print(dict(actions))
    assert actions[BY_KEYS] >= HISTORIES // 2 and not any("failed" in action for action in actions)
