"""Stored rows that are called fresh are the definition's, and a refresh stores those, after random changes on Spark.

Each history is one definition, layout and write mode over two tables, which change by its seed: rows, columns, files
and snapshots; the session's settings change, too. HIVE_VIEWS_HISTORIES sets how many,
HIVE_VIEWS_FIRST_HISTORY the seed of the first ones.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType, IcebergType, IntegerType, LongType, NestedField
from pyspark.sql import DataFrame, SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import RefreshError, SqlError
from hive_views.spark import SparkEngine, ViewSession
from tests.integration.materialized.conftest import LAYOUTS
from tests.integration.spark.equality_deletes import delete_by_equality
from tests.integration.spark.spark_versions import BY_KEYS, IS_SPARK_3

FIRST = int(os.environ.get("HIVE_VIEWS_FIRST_HISTORY", "0"))
HISTORIES = int(os.environ.get("HIVE_VIEWS_HISTORIES", "4"))
VIEWS = 4
"""Definitions over the same tables and changes."""
STEPS = 4
MODES = ("copy-on-write", "merge-on-read")
QUERIES = (
    "SELECT a, avg(c) AS m, count(DISTINCT b) AS d, max(b) AS x FROM t GROUP BY a HAVING count(*) > 1",
    "SELECT a, round(stddev(b), 6) AS s, percentile(b, 0.5) AS p, sum(b) FILTER (WHERE b > 1) AS f FROM t GROUP BY a",
    "SELECT a AS k, count(*) AS n, sum(b) AS s, min(ts) AS first FROM t GROUP BY a",
    "SELECT DISTINCT a, b FROM t",
    "SELECT a, b FROM t GROUP BY a, b",
    "SELECT a, b, c, CAST(ts AS STRING) AS shown FROM t ORDER BY a",
    "SELECT a, CAST(b AS STRING) AS b, to_date(ts) AS day FROM t WHERE b > 0 OR b IS NULL",
    "SELECT t.a, t.b, u.y FROM t LEFT JOIN u ON t.a = u.x",
    "SELECT t.a, t.b, u.x, u.y FROM t RIGHT JOIN u ON t.a = u.x",
    "SELECT t.a, t.b, u.x, u.y FROM t FULL JOIN u ON t.a = u.x",
    "SELECT coalesce(t.a, u.x) AS k, t.b, u.y FROM t FULL JOIN u ON t.a = u.x",
    "SELECT a, b, y FROM t JOIN u ON t.a = u.x WHERE u.y > 0",
    "SELECT t.a, t.b, u.y FROM t, u WHERE t.a = u.x",
    "SELECT t.a, count(u.y) AS n, sum(t.b) FILTER (WHERE u.y > 2) AS s FROM t LEFT JOIN u ON t.a = u.x GROUP BY t.a",
    "SELECT t.a, t.b FROM t LEFT ANTI JOIN u ON t.a = u.x",
    "SELECT t.a, t.c FROM t LEFT SEMI JOIN u ON t.a = u.x AND t.b > u.y",
    "SELECT a, b FROM t WHERE a IN (SELECT x FROM u WHERE y > 1)",
    "SELECT a, b FROM t WHERE a NOT IN (SELECT x FROM u)",
    "SELECT a, b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.a AND u.y > 1)",
    "SELECT a, b FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.x = t.a)",
    "SELECT a, b, (SELECT max(y) FROM u WHERE u.x = t.a) AS y FROM t",
    "SELECT a, b, rank() OVER (PARTITION BY a ORDER BY b) AS r FROM t",
    "SELECT a, b, r FROM (SELECT a, b, rank() OVER (PARTITION BY a ORDER BY b DESC) AS r FROM t) AS s WHERE r <= 2",
    "SELECT a, b, sum(b) OVER (PARTITION BY a) AS s, count(*) OVER (PARTITION BY a, b) AS n FROM t",
    "SELECT a, b FROM t UNION SELECT x, y FROM u",
    "SELECT a, b FROM t UNION ALL SELECT x, y FROM u WHERE y < 5",
    "SELECT a FROM t EXCEPT SELECT x FROM u",
    "SELECT a, b FROM t INTERSECT ALL SELECT x, y FROM u",
    "SELECT s.a, s.n, u.y FROM (SELECT a, count(*) AS n FROM t GROUP BY a) AS s JOIN u ON s.a = u.x",
    "SELECT l.a, l.b, r.c FROM t AS l JOIN t AS r ON l.a = r.a",
    "WITH s AS (SELECT a, sum(b) AS n FROM t GROUP BY a) SELECT s.a, s.n, u.y FROM s LEFT JOIN u ON s.a = u.x",
    "WITH s AS (SELECT a, b FROM t WHERE b > 0), r AS (SELECT a, count(*) AS n FROM s GROUP BY a) SELECT a, n FROM r",
    "SELECT a, b, w FROM t LATERAL VIEW explode(split(a, '')) e AS w",
    "SELECT a, w, count(*) AS n FROM t LATERAL VIEW OUTER explode(array(b, b + 1)) e AS w GROUP BY a, w",
    "SELECT v.k, v.n, u.y FROM v LEFT JOIN u ON v.k = u.x",
    "SELECT a, count(*) AS n FROM t GROUP BY ROLLUP (a)",
    "SELECT count(*) AS n, max(b) AS b FROM t",
    "SELECT c, count(*) AS n FROM t GROUP BY c",
    "SELECT f, count(*) AS n, max(g) AS g FROM t GROUP BY f",
)


def values(chance: random.Random, count: int) -> str:
    def row() -> str:
        key = chance.choice(["'x'", "'y'", "'z'", "''", "NULL", "'n'", "'xy'"])
        number = chance.choice(["NULL", "DOUBLE('NaN')", "-0.0D", "0.0D", "1.5D", "2.25D"])
        moment = chance.choice(["NULL", "TIMESTAMP '2026-03-29 00:30:00Z'", "TIMESTAMP '1969-12-31 23:59:59.999999Z'"])
        kind = chance.choice(["NULL", "1", "2"])
        return f"({key}, {chance.choice(['NULL', '1', '2', '3'])}, {number}, {moment}, {kind}, {kind})"

    return ", ".join(row() for _ in range(count))


COLUMNS = "(a, b, c, ts, f, g)"
KEYS = ("a = 'x'", "a IS NULL", "a >= 'y'", "b = 2", "b = 1 AND a = 'z'", "isnan(c)", "false", "true")
OTHER_KEYS = ("x = 'x'", "x IS NULL", "x >= 'y'", "y = 2", "y = 1 AND x = 'n'", "false")
PAIRS = ("'x'", "'y'", "NULL", "'q'")


def changes(chance: random.Random, database: str) -> list[str]:
    """One change of rows, columns, files or snapshots, as statements; those that Spark rejects change nothing."""
    key, other = chance.choice(KEYS), chance.choice(OTHER_KEYS)
    pairs = ", ".join(f"({name}, {chance.randrange(4)})" for name in PAIRS if chance.random() < 0.7) or "('x', 1)"
    table = f"{database}.{chance.choice('tu')}"
    rows = [
        f"INSERT INTO t {COLUMNS} VALUES {values(chance, 3)}",
        f"INSERT INTO t {COLUMNS} VALUES {values(chance, 1)}",
        f"DELETE FROM t WHERE {key}",
        f"UPDATE t SET b = b + 1, c = c * 2 WHERE {key}",
        f"UPDATE t SET a = 'z' WHERE {key}",
        f"INSERT INTO u VALUES {pairs}",
        f"DELETE FROM u WHERE {other}",
        f"UPDATE u SET y = 9 WHERE {other}",
        "MERGE INTO t USING (SELECT DISTINCT x FROM u) AS s ON t.a <=> s.x WHEN MATCHED THEN UPDATE SET b = 7 "
        f"WHEN NOT MATCHED THEN INSERT {COLUMNS} VALUES (s.x, 0, 0.5, NULL, 1, 1)",
        "INSERT OVERWRITE u SELECT DISTINCT x, y FROM u",
        f"EQUALITY DELETE {chance.choice('af')}",  # Py4J passes no value of a BIGINT
        f"EQUALITY DELETE {chance.choice('af')}",
    ]
    layout = [
        f"CALL prod.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))",
        f"CALL prod.system.rewrite_manifests('{table}')",
        f"CALL prod.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2099-01-01', retain_last => "
        f"{chance.choice((1, 2))}, clean_expired_metadata => true)",
        f"ROLLBACK {table}",
        f"INSERT INTO prod.{database}.t.branch_side {COLUMNS} VALUES {values(chance, 2)}",
        f"CALL prod.system.fast_forward('{database}.t', 'main', 'side')",
        "ALTER TABLE t CREATE OR REPLACE BRANCH side",
        f"FILES {values(chance, 2)}",
        "ALTER TABLE t ADD COLUMN z INT",
        "ALTER TABLE t ADD COLUMN z INT FIRST",
        "ALTER TABLE t DROP COLUMN z",
        "ALTER TABLE t RENAME COLUMN z TO zz",
        *sorted(WIDENED),
        "ALTER TABLE t ADD PARTITION FIELD a",
        "ALTER TABLE t REPLACE PARTITION FIELD a WITH bucket(2, a)",
        "ALTER TABLE t WRITE ORDERED BY b",
        "CREATE OR REPLACE VIEW v AS SELECT a AS k, count(*) AS n FROM t GROUP BY a",
        "CREATE OR REPLACE VIEW v AS SELECT a AS k, max(b) AS n FROM t GROUP BY a",
    ]
    return [chance.choice(rows), *([chance.choice(layout)] if chance.random() < 0.4 else [])]


WIDENED = {"ALTER TABLE t ALTER COLUMN f TYPE BIGINT", "ALTER TABLE t ALTER COLUMN g TYPE DOUBLE"}
SETTINGS = (
    "SET spark.sql.session.timeZone=Asia/Tokyo",
    "SET spark.sql.session.timeZone=UTC",
    "SET spark.sql.ansi.enabled=false",
    "SET spark.sql.ansi.enabled=true",
)
PRUNING = "spark.sql.optimizer.dynamicPartitionPruning.enabled"


class World:
    """Two tables and a view, and the changes that SQL cannot express."""

    def __init__(
        self, spark: SparkSession, database: str, directory: str, views: ViewSession, counts: Counter[str]
    ) -> None:
        self.spark, self.database, self.directory, self.views = spark, database, directory, views
        self.counts = counts
        self.files = 0

    def run(self, text: str) -> None:
        kind = " ".join(text.replace(f"{self.database}.", "").split("(")[0].split()[:5])
        try:
            self._change(text)
            self.counts[f"applied: {kind}"] += 1
        except Exception:  # noqa: BLE001 -- rejected by Spark or Iceberg: nothing changed
            self.counts[f"rejected: {kind}"] += 1
            assert "VIEW v" not in text, text

    def _change(self, text: str) -> None:
        if text.startswith("EQUALITY DELETE"):
            column = text[-1]
            [row] = self.spark.sql(f"SELECT min({column}) AS v FROM t").collect()
            delete_by_equality(self.spark, f"prod.{self.database}.t", {column: row.v})
        elif text.startswith("ROLLBACK"):
            name = text.split()[1]
            ids = self.spark.sql(f"SELECT snapshot_id FROM {name}.history WHERE is_current_ancestor").collect()
            self.spark.sql(f"CALL prod.system.rollback_to_snapshot('{name}', {ids[len(ids) // 2][0]})")
        elif text.startswith("FILES"):
            self.files += 1
            path = f"{self.directory}/files_{self.files}"
            frame = self.spark.sql(f"SELECT * FROM VALUES {text[6:]} AS s{COLUMNS}")
            frame.coalesce(1).write.parquet(path)
            self.spark.sql(
                f"CALL prod.system.add_files(table => '{self.database}.t', source_table => '`parquet`.`{path}`')"
            )
        elif "VIEW v" in text:
            self.views.sql(text)
        else:
            self.spark.sql(text)


WIDER: dict[type, IcebergType] = {IntegerType: LongType(), FloatType: DoubleType()}


def widened(schema: Schema) -> Schema:
    """The columns in types that have all values of their own types."""
    fields = [replace_type(field, WIDER.get(type(field.field_type), field.field_type)) for field in schema.fields]
    return Schema(*fields, schema_id=schema.schema_id)


def replace_type(field: NestedField, kind: IcebergType) -> NestedField:
    return NestedField(field.field_id, field.name, kind, field.required, field.doc)


def rows_of(frame: DataFrame) -> list[str]:
    """Rows in an order of their own; the sign of zero may depend on the order of rows."""
    return sorted(str(row).replace("-0.0", "0.0") for row in frame.collect())


def defined_rows(spark: SparkSession, query: str) -> list[str]:
    return rows_of(spark.sql(query))


def run_histories(
    spark: SparkSession,
    catalog: HiveViewCatalog,
    database: str,
    directory: str,
    seeds: range,
    report: Callable[[str], None] = lambda _: None,
) -> Counter[str]:
    """Run some histories and count the actions of their refreshes; an assertion fails for a wrong row or verdict."""
    engine, counts = SparkEngine(spark, catalog), Counter[str]()
    views = ViewSession(spark, catalog)
    for seed in seeds:
        chance = random.Random(seed)
        mode, version = chance.choice(MODES), "2" if IS_SPARK_3 else chance.choice("123")
        mode = "copy-on-write" if version == "1" else mode
        modes = ", ".join(f"'write.{name}.mode' = '{mode}'" for name in ("delete", "update", "merge"))
        divided = chance.choice(("", "PARTITIONED BY (a)"))
        properties = f"USING iceberg {divided} TBLPROPERTIES ({modes}, 'format-version' = '{version}')"
        spark.sql(f"CREATE TABLE t (a STRING, b BIGINT, c DOUBLE, ts TIMESTAMP, f INT, g FLOAT) {properties}")
        spark.sql(f"CREATE TABLE u (x STRING, y BIGINT) {properties.replace('(a)', '(x)')}")
        world = World(spark, database, f"{directory}/{seed}", views, counts)
        world.run(f"INSERT INTO t {COLUMNS} VALUES {values(chance, 12)}")
        world.run("INSERT INTO u VALUES ('x', 1), ('y', 2), ('n', 3)")
        world.run("CREATE OR REPLACE VIEW v AS SELECT a AS k, count(*) AS n FROM t GROUP BY a")
        start = (seed * VIEWS) % len(QUERIES)
        definitions = {f"mv{at}": QUERIES[(start + at) % len(QUERIES)] for at in range(VIEWS)}
        for name, query in definitions.items():
            layout = chance.choice(LAYOUTS)
            stored = {
                "write.merge.mode": chance.choice(MODES),
                "hive-views.merge-from-rows": chance.choice(("0", "50000")),
                "hive-views.max-keys-time-percent": chance.choice(("1000000", "1000000", "100")),
            }
            by = ["a"] if re.search(r"SELECT (t\.)?a,", query) and chance.random() < 0.4 else []
            definition = catalog.author(
                (database, name), query, database=database, analyzer=views.analyzer(query, database)
            )
            if chance.random() < 0.3:
                definition = replace(definition, schema=widened(definition.schema))
            catalog.materialized.create(
                (database, name), definition, layout=layout, partitioned_by=by, properties=stored
            )
            catalog.materialized.load((database, name)).refresh(engine)
        log: list[str] = []
        for step in range(STEPS):
            for _ in range(chance.randrange(1, 3)):
                for text in changes(chance, database):
                    log.append(text)
                    world.run(text)
            setting = chance.choice(("", "", "", *SETTINGS))
            if setting:
                spark.sql(setting)
                log.append(setting)
            for name, query in definitions.items():
                context = f"seed {seed}, step {step}, {name}: {query}\nmode {mode}, format {version}, {divided}\n{log}"
                counts["histories"] += step == 0
                spark.conf.set(PRUNING, "false")  # Iceberg 1.11 fails on NULL partitions
                try:
                    expected = defined_rows(spark, query)
                except Exception:  # noqa: BLE001 -- internal errors of Spark and Iceberg, without hive_views
                    counts["the definition fails in Spark"] += 1
                    continue
                try:
                    rows = rows_of(views.sql(f"SELECT * FROM {name}"))
                except SqlError as error:
                    assert re.search("CANNOT_UP_CAST|RECOMPILE", str(error)) and WIDENED & {*log}, context
                    counts["wider than the declared column"] += 1
                    continue
                spark.conf.unset(PRUNING)
                assert rows == expected, f"read {views.notes} {context}\n{rows}\n{expected}"
                [note] = (item for item in views.notes if item.view.name == name)
                kind = "fresh" if note.from_storage else "not fresh"
                counts[f"{kind if note.computed is None else 'partly fresh'} before"] += 1
                if chance.random() < 0.3:
                    continue  # more changes before the next refresh
                try:
                    done = catalog.materialized.load((database, name)).refresh(engine)[-1]
                except RefreshError as error:
                    assert f"{database}.v was defined under" in error.reason and "FROM v" in query, context
                    counts["refresh rejected for settings"] += 1
                    continue
                counts[done.action] += 1
                if "failed" in done.why:
                    counts["fallback"] += 1
                    report(f"{done.why} {context}")
                rows = rows_of(views.sql(f"SELECT * FROM {name}"))
                assert views.notes[0].from_storage, f"{views.notes} {context}"
                assert rows == expected, f"{done.action}: {done.why}\n{context}\n{rows}\n{expected}"
        for name in definitions:
            views.sql(f"DROP MATERIALIZED VIEW {name}")
        views.sql("DROP VIEW v")
        spark.sql("DROP TABLE t PURGE")
        spark.sql("DROP TABLE u PURGE")
    return counts


@contextmanager
def restored_settings(spark: SparkSession) -> Iterator[None]:
    """Set back what histories change."""
    before = {key: spark.conf.get(key) for key in ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")}
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
        spark.conf.unset(PRUNING)
        spark.sql("USE spark_catalog.default")


def test_rows_are_those_of_the_definition(spark: SparkSession, catalog: HiveViewCatalog, database: str, tmp_path):
    with restored_settings(spark):
        spark.sql(f"USE prod.{database}")
        seeds = range(FIRST, FIRST + max(1, HISTORIES // VIEWS))
        counts = run_histories(spark, catalog, database, str(tmp_path), seeds, print)
    print(dict(counts))
    assert counts[BY_KEYS] and counts["full"]
