"""The rows of the files by which two snapshots differ, compared with all rows of both."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from pyspark.sql import DataFrame, SparkSession

from hive_views import HiveViewCatalog
from hive_views.materialized.refresh.refresh import RefreshReport
from hive_views.spark import SparkEngine, ViewSession
from hive_views.spark.java_features import Feature, can_use
from hive_views.spark.refresh.file_comparison import FileComparison
from tests.function_calls import count_function_calls
from tests.integration.spark.equality_deletes import delete_by_equality
from tests.integration.spark.spark_versions import BY_KEYS, IS_SPARK_3, needs_spark_4
from tests.suites import extended

VERSIONS = ("2",) if IS_SPARK_3 else ("2", *extended("3"))


@pytest.fixture(params=VERSIONS)
def table(request: pytest.FixtureRequest, spark: SparkSession, database: str) -> Iterator[str]:
    """A merge-on-read table with four files of 25 rows."""
    name = f"prod.{database}.t"
    modes = ", ".join(f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE {name} (a BIGINT, b INT, d DOUBLE) USING iceberg "
        f"TBLPROPERTIES ({modes}, 'format-version' = '{request.param}')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, INT(id % 7), id FROM range(0, 100, 1, 4)")  # a file for each part
    yield name
    spark.sql(f"DROP TABLE {name} PURGE")


def snapshot(spark: SparkSession, table: str) -> int:
    rows = spark.sql(f"SELECT snapshot_id FROM {table}.history ORDER BY made_current_at DESC LIMIT 1").collect()
    return int(rows[0][0])


def all_rows(spark: SparkSession, table: str, snapshot_id: int) -> DataFrame:
    return spark.read.format("iceberg").option("versionAsOf", str(snapshot_id)).load(table)


def counted(frame: DataFrame) -> Counter[str]:
    return Counter(map(str, frame.collect()))


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ((), 0),
        (("DELETE FROM {t} WHERE a = 3",), 25),  # the file is read once, for the deleted row
        *extended((("DELETE FROM {t} WHERE a = 3", "DELETE FROM {t} WHERE a IN (4, 30)"), 50)),
        (("UPDATE {t} SET b = 1 WHERE a = 60",), 26),
        *extended((("INSERT INTO {t} VALUES (200, 1, 1)", "DELETE FROM {t} WHERE a = 200"), 0)),
        *extended((("DELETE FROM {t} WHERE a < 25",), 25)),
        (
            ("INSERT INTO {t} VALUES (200, 1, 1)", "ALTER TABLE {t} ADD COLUMN c INT", "DELETE FROM {t} WHERE a = 99"),
            26,
        ),
    ],
)
def test_only_files_that_differ_are_read(spark: SparkSession, table: str, changes: tuple[str, ...], rows: int) -> None:
    before = snapshot(spark, table)
    for change in changes:
        spark.sql(change.format(t=table))
    now = snapshot(spark, table)
    with closing(FileComparison(spark, table, (before, now))) as comparison:
        assert comparison.rows == rows
        was, became = map(counted, comparison.read())
    everything = [
        counted(all_rows(spark, table, number).selectExpr(*spark.table(table).columns[:3])) for number in (before, now)
    ]
    if len(changes) < 3:
        assert was - became == everything[0] - everything[1]
        assert became - was == everything[1] - everything[0]
    else:
        assert sum(became.values()) - sum(was.values()) == sum(everything[1].values()) - sum(everything[0].values())


def test_equality_deletes_apply_to_older_files(spark: SparkSession, table: str) -> None:
    before = snapshot(spark, table)
    delete_by_equality(spark, table, {"b": 3})
    spark.sql(f"INSERT INTO {table} VALUES (300, 3, 3)")
    with closing(FileComparison(spark, table, (before, snapshot(spark, table)))) as comparison:
        assert comparison.rows == 101
        was, became = map(counted, comparison.read())
    assert sum((was - became).values()) == 14 and became - was == Counter(["Row(a=300, b=3, d=3.0)"])


@pytest.mark.parametrize("seed", [0, *extended(1, 2)])
def test_differences_equal_those_of_all_rows(spark: SparkSession, table: str, seed: int) -> None:
    chance = random.Random(seed)
    database = table.split(".")[1]
    compact = f"CALL prod.system.rewrite_data_files(table => '{database}.t', options => map('rewrite-all', 'true'))"
    snapshots = [snapshot(spark, table)]
    for _ in range(6):
        at = chance.randrange(100)
        spark.sql(
            chance.choice(
                (
                    f"DELETE FROM {table} WHERE a BETWEEN {at} AND {at + 3}",
                    f"UPDATE {table} SET d = -d WHERE a % 20 = {at % 20}",
                    f"INSERT INTO {table} VALUES ({at}, NULL, double('NaN')), ({at}, NULL, -0.0D)",
                    f"MERGE INTO {table} AS t USING (SELECT {at} AS a) AS s ON t.a = s.a "
                    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a, b, d) VALUES (s.a, 0, 0)",
                    compact,
                )
            )
        )
        snapshots.append(snapshot(spark, table))
    now = snapshots[-1]
    for before in snapshots[:-1]:
        with closing(FileComparison(spark, table, (before, now))) as comparison:
            was, became = map(counted, comparison.read())
        everything = [counted(all_rows(spark, table, number)) for number in (before, now)]
        assert was - became == everything[0] - everything[1], (before, now)
        assert became - was == everything[1] - everything[0], (before, now)


def test_sessions_that_compare_files(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    assert can_use(spark, Feature.FILE_COMPARISON)
    assert not can_use(request.getfixturevalue("connect_spark"), Feature.FILE_COMPARISON)


def test_staged_tasks_are_removed(spark: SparkSession, table: str) -> None:
    before = snapshot(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE a = 3")
    loaded = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)  # type: ignore[union-attr]
    manager = spark._jvm.org.apache.iceberg.spark.ScanTaskSetManager.get()  # type: ignore[union-attr]
    with closing(FileComparison(spark, table, (before, snapshot(spark, table)))) as comparison:
        comparison.read()
        assert manager.fetchSetIds(loaded).size() == 1
    assert manager.fetchSetIds(loaded).isEmpty()


@needs_spark_4
def test_refresh_by_keys_reads_files_that_differ(
    spark: SparkSession, session: ViewSession, catalog: HiveViewCatalog, database: str
) -> None:
    spark.sql("CREATE TABLE t (a BIGINT, b BIGINT) USING iceberg TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    for start in (0, 50, 100):
        spark.sql(f"INSERT INTO t SELECT /*+ COALESCE(1) */ id, id % 7 FROM range({start}, {start + 50})")
    query = "SELECT a, avg(b) AS b FROM t GROUP BY a"
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")

    def refresh() -> RefreshReport:
        return catalog.materialized.load((database, "mv")).refresh(SparkEngine(spark, catalog))[-1]

    refresh()
    spark.sql("DELETE FROM t WHERE a = 3")
    with count_function_calls(FileComparison.__init__) as compared:
        report = refresh()
    assert (report.action, "failed" in report.why, sum(compared.values())) == (BY_KEYS, False, 1)
    assert spark.sql(f"SELECT * FROM ({query}) EXCEPT SELECT * FROM mv__storage").isEmpty()
    assert spark.sql("SELECT * FROM mv__storage WHERE a = 3").isEmpty()
