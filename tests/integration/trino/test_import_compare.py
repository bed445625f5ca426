"""`import compare` with a real Trino: the texts of each type, and Trino's views after an import."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.legacy_import.comparison.checksums import relations
from hive_views.legacy_import.comparison.compare import CompareRequest
from hive_views.legacy_import.comparison.engines import connect_trino
from hive_views.legacy_import.journal import read_journal
from hive_views.legacy_import.legacy_view import LegacyView, Writer
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.run import run_plan
from hive_views.spark.legacy_import.command import compare_with_spark
from hive_views.sql.text.dialects import Dialect
from tests.integration.trino.server import TrinoServer

TYPES = (
    ("flag", "boolean", "boolean", ("true", "false", "NULL")),
    ("number", "int", "integer", ("2147483647", "-1", "NULL")),
    ("big", "bigint", "bigint", ("-9223372036854775807", "0", "NULL")),
    ("single", "float", "real", ("1.1", "nan()", "NULL")),
    ("dbl", "double", "double", ("-0.0E0", "1E23", "NULL")),
    ("other", "double", "double", ("infinity()", "4.9E-324", "NULL")),
    ("price", "decimal(10,2)", "decimal(10,2)", ("1.50", "-0.50", "NULL")),
    ("tiny_price", "decimal(10,7)", "decimal(10,7)", ("0.0000001", "100", "NULL")),
    ("wide", "decimal(38,18)", "decimal(38,18)", ("12345678901234567890.123456789012345678", "0", "NULL")),
    ("text", "string", "varchar", ("'é|x '", "''", "NULL")),
    ("padded", "char(5)", "char(5)", ("'ab'", "''", "NULL")),
    ("bytes", "binary", "varbinary", ("to_utf8('é')", "to_utf8('')", "NULL")),
    ("day", "date", "date", ("'2020-02-29'", "'1582-10-15'", "NULL")),
    ("moment", "timestamp", "timestamp(3)", ("'2020-02-29 12:34:56.120'", "'1969-12-31 23:59:59'", "NULL")),
    ("items", "array<double>", "array(double)", ("ARRAY[1.5, NULL, nan()]", "ARRAY[]", "NULL")),
    (
        "prices",
        "map<string,decimal(10,2)>",
        "map(varchar, decimal(10,2))",
        ("MAP(ARRAY['a'], ARRAY[1.50])",) * 2 + ("NULL",),
    ),
    (
        "parts",
        "array<struct<a:int,b:array<string>>>",
        "array(row(a integer, b array(varchar)))",
        ("ARRAY[ROW(1, ARRAY['x', NULL]), ROW(NULL, NULL)]", "ARRAY[NULL]", "NULL"),
    ),
    ("part", "struct<a:int,b:string>", "row(a integer, b varchar)", ("ROW(1, '|')", "ROW(NULL, '')", "NULL")),
)
"""Name, Hive's type, Trino's type and values in Trino."""


def test_texts_and_checksums_are_equal_in_trino_and_spark(
    trino: TrinoServer, spark: SparkSession, database: str
) -> None:
    columns = [(name, hive_type) for name, hive_type, _, _ in TYPES]
    rows = ", ".join(
        f"({', '.join(f'CAST({values[number]} AS {kind})' for _, _, kind, values in TYPES)})" for number in range(3)
    )
    names = ", ".join(name for name, _ in columns)
    trino.query(
        f"CREATE TABLE hive.{database}.all_types WITH (format = 'ORC') AS SELECT * FROM (VALUES {rows}) t ({names})"
    )
    view = LegacyView(
        name=ViewName(database, "v"),
        writer=Writer.TRINO,
        dialect=Dialect.TRINO,
        sql="",
        database=database,
        columns=(),
        catalog="hive",
    )
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with connect_trino(f"trino://alice@127.0.0.1:{trino.port}") as server:
        pairs = zip(
            relations("all_types", columns, Dialect.TRINO),
            relations(f"spark_catalog.{database}.all_types", columns, Dialect.SPARK),
            strict=True,
        )
        for left, right in pairs:

            def in_spark(sql: str) -> list[tuple[Any, ...]]:
                return [tuple(row) for row in spark.sql(sql).collect()]

            def in_trino(sql: str) -> list[tuple[Any, ...]]:
                return [tuple(row) for row in server.query(sql, view)]

            before, after = (
                Counter(run(f"SELECT * FROM ({side.sql}) t")) for run, side in ((in_trino, left), (in_spark, right))
            )
            assert (before - after, after - before) == (Counter(), Counter()), left.name
            for sample in (None, 2):
                assert in_trino(left.checksum_query(sample)) == in_spark(right.checksum_query(sample)), left.name
            buckets = sorted(in_trino(left.bucket_query((), 2)))
            assert buckets == sorted(in_spark(right.bucket_query((), 2)))
            prefixes = [bucket for bucket, *_ in buckets[:2]]
            kept = [
                sorted((row for row in run(side.rows_query(prefixes, 9)) if row[0]), key=str)
                for run, side in ((in_trino, left), (in_spark, right))
            ]
            assert kept[0] == kept[1]


def test_views_of_trino_after_an_import(
    trino: TrinoServer, spark: SparkSession, catalog: HiveViewCatalog, database: str, tmp_path: Path
) -> None:
    for statement in (
        "CREATE TABLE hive.{0}.h AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (id, name)",
        "CREATE VIEW hive.{0}.plain AS SELECT id, name FROM hive.{0}.h WHERE id > 0",
        "CREATE VIEW hive.{0}.over_it AS SELECT count(*) AS n, max(p.name) AS m FROM hive.{0}.plain p",
    ):
        trino.query(statement.format(database))
    plan = plan_import(catalog, databases=[database])
    journal = tmp_path / "journal"
    assert run_plan(plan, catalog, journal).complete
    request = CompareRequest(
        history=read_journal(journal),
        file=tmp_path / "compared",
        trino=f"trino://alice@127.0.0.1:{trino.port}",
    )
    results = compare_with_spark(request, catalog, session=spark)
    assert {result.name.name: (result.status.value, result.rows) for result in results} == {
        "plain": ("equal", (2, 2)),
        "over_it": ("equal", (1, 1)),
    }
