"""`import compare` of Spark's own legacy views, and what checksums detect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import JournalError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.comparison.checksums import relations
from hive_views.legacy_import.comparison.compare import ComparedView, CompareOptions, CompareRequest
from hive_views.legacy_import.journal import read_journal
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan
from hive_views.spark.legacy_import.command import compare_with_spark
from hive_views.sql.text.dialects import Dialect

CHANGES = {
    "a null": ("string", "'a', NULL", "'a', ''"),
    "a blank": ("string", "'a'", "'a '"),
    "upper case": ("string", "'a'", "'A'"),
    "a digit of a decimal": ("decimal(10,7)", "0.0000001", "0.0000002"),
    "a digit of a double": ("double", "0.1", "0.10000000001"),
    "the zone of a timestamp": ("timestamp", "'2024-01-01 00:00:00'", "'2024-01-01 01:00:00'"),
    "a microsecond": ("timestamp", "'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.000001'"),
    "the order of an array": ("array<int>", "array(1, 2)", "array(2, 1)"),
    "a value of a map": ("map<string,int>", "map('a', 1)", "map('a', 2)"),
    "a field of a struct": ("struct<a:int,b:int>", "struct(1, 2)", "struct(2, 1)"),
    "the limits of texts in a struct": ("struct<a:string,b:string>", "struct('a|,=b', 'c')", "struct('a', 'b|,=c')"),
    "an empty array": ("array<int>", "NULL", "array()"),
    "the number of rows": ("int", "1, 1", "1"),
}
"""A type, and the values of two tables of it that differ."""


@pytest.mark.parametrize("case", CHANGES)
def test_changes_are_detected(spark: Any, case: str) -> None:
    kind, *tables = CHANGES[case]
    sums = []
    for values in tables:
        rows = values if "(" in values else f"explode(array({values}))"
        source = f"(SELECT CAST(c AS {kind}) AS c FROM (SELECT {rows} AS c))"
        sums.append(
            [spark.sql(item.checksum_query()).collect() for item in relations(source, [("c", kind)], Dialect.SPARK)]
        )
    assert sums[0] != sums[1]


def test_values_in_another_row_are_detected(spark: Any) -> None:
    def sums(values: str) -> list[Any]:
        columns = [("a", "int"), ("b", "array<int>")]
        found = relations(f"(SELECT * FROM VALUES {values} AS t(a, b))", columns, Dialect.SPARK)
        return [spark.sql(item.checksum_query()).collect()[0] for item in found]

    before, after = sums("(1, array(1)), (2, array(2))"), sums("(2, array(1)), (1, array(2))")
    assert before[0][:-1] == after[0][:-1]
    assert before[1] != after[1]


ROWS = 2000
VIEWS = {
    "plain": "SELECT id, name, tags FROM t",
    "above": "SELECT id, upper(name) AS name FROM plain WHERE id > 1",
    "renamed (a, b)": "SELECT id, length(name) AS n FROM plain",
    "chance": "SELECT id, rand() AS r FROM plain",
    "nothing": "SELECT id FROM plain WHERE id < 0",
}


@pytest.fixture
def imported(spark: SparkSession, catalog: HiveViewCatalog, database: str, tmp_path: Path) -> Iterator[Path]:
    """The journal of an import of views that plain Spark made."""
    spark.sql(f"USE spark_catalog.{database}")
    spark.sql(
        "CREATE TABLE t USING parquet AS SELECT CAST(id AS INT) AS id, concat('name ', id) AS name, "
        f"array(CAST(id AS INT), NULL) AS tags FROM range({ROWS})"
    )
    for name, query in VIEWS.items():
        spark.sql(f"CREATE VIEW {name} AS {query}")
    plan = plan_import(catalog, databases=[database])
    assert run_plan(plan, catalog, tmp_path / "journal").complete
    yield tmp_path / "journal"
    spark.sql("USE spark_catalog.default")


def compare(
    spark: SparkSession, catalog: HiveViewCatalog, journal: Path, *names: str, **options: Any
) -> dict[str, ComparedView]:
    request = CompareRequest(
        history=read_journal(journal),
        file=journal.with_name("compared"),
        names=tuple(map(ViewName.parse, names)),
        options=CompareOptions(**options),
    )
    results = compare_with_spark(request, catalog, session=spark)
    return {result.name.name: result for result in results}


def test_converted_views_have_the_same_rows(
    spark: SparkSession, catalog: HiveViewCatalog, imported: Path, database: str
) -> None:
    results = compare(spark, catalog, imported)
    assert {name: (result.status.value, result.rows) for name, result in results.items()} == {
        "plain": ("equal", (ROWS, ROWS)),
        "above": ("equal", (ROWS - 2, ROWS - 2)),
        "renamed": ("equal", (ROWS, ROWS)),
        "chance": ("unstable", (ROWS, ROWS)),
        "nothing": ("equal", (0, 0)),
    }
    sample = compare(spark, catalog, imported, f"{database}.plain", sample=10)["plain"]
    assert sample.status.value == "equal"
    assert sample.rows is not None and 0 < sample.rows[0] < ROWS / 5
    limited = compare(spark, catalog, imported, f"{database}.plain", where="id BETWEEN 3 AND 5")["plain"]
    assert (limited.status.value, limited.rows) == ("equal", (3, 3))


def test_one_other_row_of_many_is_shown(
    spark: SparkSession, catalog: HiveViewCatalog, imported: Path, database: str
) -> None:
    # The legacy text of a view above is that of all legacy views below it.
    query = f"SELECT id, IF(id = 1321, 'other', name) AS name, tags FROM {database}.t"
    catalog.execute(f"CREATE OR REPLACE VIEW {database}.plain AS {query}", dialect="spark")
    results = compare(spark, catalog, imported)
    expected = {"plain": ("name", "name 1321", "other"), "above": ("name", "NAME 1321", "OTHER")}
    for name, (column, before, after) in expected.items():
        result = results[name]
        assert (result.status.value, result.columns) == ("different", (column,))
        differences = [(row.only_in, row.number, row.values["id"], row.values[column]) for row in result.differences]
        assert differences == [("legacy", 1, "1321", before), ("new", 1, "1321", after)]
    assert results["nothing"].status.value == "equal"


def test_other_elements_of_arrays_are_shown(
    spark: SparkSession, catalog: HiveViewCatalog, imported: Path, database: str
) -> None:
    query = f"SELECT id, name, IF(id = 7, array(NULL, 7), tags) AS tags FROM {database}.t"
    catalog.execute(f"CREATE OR REPLACE VIEW {database}.plain AS {query}", dialect="spark")
    result = compare(spark, catalog, imported, f"{database}.plain")["plain"]
    assert (result.status.value, result.columns) == ("different", ("tags",))
    values = sorted(
        (row.only_in, row.values["position"], row.values["value"]) for row in result.differences if row.values
    )
    assert sorted(values, key=str) == sorted(
        [("legacy", "0", "7"), ("legacy", "1", None), ("new", "0", None), ("new", "1", "7")], key=str
    )


def test_results_are_kept_and_failures_repeated(
    spark: SparkSession, catalog: HiveViewCatalog, imported: Path, database: str
) -> None:
    compared = imported.with_name("compared")
    above = compare(spark, catalog, imported, f"{database}.above")["above"]
    compared.write_bytes(compared.read_bytes() + b'{"key": "cut')  # as a crash leaves it
    spark.sql(f"ALTER TABLE {database}.t RENAME TO {database}.other")
    results = compare(spark, catalog, imported)
    assert results["above"] == above
    assert results["plain"].status.value == "failed"
    assert results["plain"].text.startswith("Spark: ")
    spark.sql(f"ALTER TABLE {database}.other RENAME TO {database}.t")
    assert compare(spark, catalog, imported, f"{database}.plain")["plain"].status.value == "equal"
    revert_run(catalog, imported, names=[ViewName(database, "renamed")])
    skipped = compare(spark, catalog, imported, f"{database}.renamed")["renamed"]
    # A result holds for the attempt that converted the view, and this one was compared before it was reverted.
    assert skipped.status.value == "skipped"
    assert "not converted" in skipped.text
    compared.write_text("no results\n")
    with pytest.raises(JournalError, match="does not hold results"):
        compare(spark, catalog, imported)


def test_copies_are_compared_and_other_metastores_are_not(
    spark: SparkSession, catalog: HiveViewCatalog, imported: Path, database: str, tmp_path: Path
) -> None:
    spark.sql("CREATE VIEW late AS SELECT id FROM t")
    catalog.create_namespace(f"{database}_copies")
    options = ImportOptions(to_database=f"{database}_copies")
    plan = plan_import(catalog, names=[ViewName(database, "late")], options=options)
    journal = tmp_path / "copies"
    assert run_plan(plan, catalog, journal).complete
    assert compare(spark, catalog, journal)["late"].text == f"the same {ROWS:,} rows"
    with HiveViewCatalog("spark_catalog", **catalog.properties) as other, pytest.raises(UsageError, match="not called"):
        request = CompareRequest(history=read_journal(journal), file=tmp_path / "results")
        compare_with_spark(request, other, session=spark)
