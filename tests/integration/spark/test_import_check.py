"""Rows before and after an import: one form for equal rows, another for others, and true words about each view."""

from __future__ import annotations

import itertools

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import JournalError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportStatus, read_journal
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.readers.spark import DEFAULTS
from hive_views.legacy_import.report.report import read_check_results
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan
from hive_views.metastore.rows.serialization import row_fingerprint
from hive_views.spark.legacy_import.command import ImportOnSpark
from hive_views.spark.legacy_import.job import SparkImport
from hive_views.spark.legacy_import.verified_run import COLUMNS, ROWS, SparkCheck, ViewCheck, run_verified
from hive_views.spark.view_content import row_text
from tests.integration.catalog.samples import row_of
from tests.integration.legacy_import.rows import hive_view_row, trino_view_row
from tests.integration.spark.spark_versions import needs_spark_4

SAME = [
    ("map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
    ("map(map_keys(map('a', 1)), 'x')", "map(array('a'), 'x')"),
    ("named_struct('m', map(1, array(map('a', 1, 'b', 2))))", "named_struct('m', map(1, array(map('b', 2, 'a', 1))))"),
    ("0.0D", "-0.0D"),
    ("0.1D + 0.2D", "0.3D"),
    ("double('NaN')", "double('Infinity') - double('Infinity')"),
    ("CAST(1 AS SMALLINT)", "1"),
    ("CAST('a' AS VARCHAR(5))", "'a'"),
]
OTHER: list[list[tuple[str, ...]]] = [
    [("NULL", "''"), ("''", "NULL"), ("NULL", "NULL"), ("'NULL'", "''"), ("''", "'NULL'"), ("'a'", "'b'")],
    [("'b'", "'a'"), ("'a,b'", "''"), ("'a'", "',b'"), ("'a\"'", "'b'")],
    [("array(NULL, 1)",), ("array(1, NULL)",), ("array()",), ("NULL",), ("array(1)",), ("array(NULL)",)],
    [("named_struct('a', NULL)",), ("NULL",), ("named_struct('a', 1)",)],
    [("map('a', NULL)",), ("map()",), ("map('a', 1)",), ("map('b', 1)",), ("NULL",)],
    [("double('NaN')",), ("double('Infinity')",), ("double('-Infinity')",), ("NULL",), ("1.0D",), ("1.00000001D",)],
    [("timestamp'2024-01-01 00:00:00.000001'",), ("timestamp'2024-01-01 00:00:00.000002'",)],
    [("X'01'",), ("X'02'",), ("X''",), ("NULL",)],
    [("1.10",), ("1.11",)],
]


def texts(spark, rows):
    """The text of each of some rows of one type."""
    query = " UNION ALL ".join(
        f"SELECT {n} AS n, {', '.join(f'{v} AS c{i}' for i, v in enumerate(row))}" for n, row in enumerate(rows)
    )
    frame = spark.sql(query)
    expression = row_text([field.dataType for field in frame.schema.fields[1:]])
    return [row[1] for row in sorted(frame.selectExpr("n", expression).collect())]


def test_row_text_is_equal_only_for_equal_rows(spark):
    for one, other in SAME:
        assert texts(spark, [(one,)]) == texts(spark, [(other,)]), one
    for rows in OTHER:
        changed_texts = texts(spark, rows)
        for (one_row, text), (other_row, also) in itertools.combinations(zip(rows, changed_texts, strict=True), 2):
            assert text != also, (one_row, other_row)


def test_default_settings_match_the_installed_spark(spark):
    fresh = spark.newSession()
    assert {key: fresh.conf.get(key) for key in DEFAULTS} == DEFAULTS


@pytest.fixture
def views(spark, database):
    """Views that plain Hive support made, over a table with awkward values."""
    spark.sql(f"USE spark_catalog.{database}")
    spark.sql("CREATE TABLE t (id INT, x DOUBLE, m MAP<STRING, INT>, s STRING) USING parquet")
    spark.sql(
        "INSERT INTO t VALUES (1, double('NaN'), map('a', 1, 'b', 2), NULL), "
        "(2, -0.0D, NULL, ''), (2, 1.5D, map(), 'z')"
    )
    made = {
        "plain": "SELECT * FROM t",
        "above": "SELECT id, m FROM plain WHERE id > 1",
        "chance": "SELECT id, rand() AS r FROM t",
        "summed": "SELECT id, sum(x) AS x, collect_list(s) AS all FROM t GROUP BY id",
    }
    for name, query in made.items():
        spark.sql(f"CREATE VIEW {name} AS {query}")
    yield database
    spark.sql("USE spark_catalog.default")


def test_rows_are_compared_before_and_after_a_run(spark, catalog: HiveViewCatalog, views, tmp_path):
    plan = plan_import(catalog, databases=[views])
    journal = tmp_path / "journal"
    result = ImportOnSpark(catalog, master="local", most_calls=2, session=spark).run(plan, journal, verify=ROWS)
    assert result.complete
    assert result.as_before
    checks = result.checks
    results = {name.name: (verdict.good, verdict.text) for name, verdict in checks.items()}
    assert results["plain"] == (True, "the same 3 rows")
    assert results["above"] == (True, "the same 2 rows")
    assert results["summed"] == (True, "the same 2 rows")
    assert results["chance"][0]
    assert results["chance"][1].startswith("not comparable: it returns other rows each time")
    assert {name.name: text for name, text in read_check_results(journal).items()} == {
        n: text for n, (_, text) in results.items()
    }

    # A later run knows what was before, and says what is other now.
    spark.sql(f"INSERT INTO spark_catalog.{views}.t VALUES (9, 9, NULL, 'new')")
    result = ImportOnSpark(catalog, most_calls=2, session=spark).run(plan, journal, verify=ROWS)
    assert result.complete
    assert not result.as_before
    checks = result.checks
    verdict = checks[ViewName(views, "plain")]
    assert (verdict.good, verdict.text) == (False, "OTHER ROWS: 3 rows before, 4 after")
    assert checks[ViewName(views, "chance")].good

    # The check reports what is unreadable, and that nothing was counted before.
    (tmp_path / "journal.rows").unlink()
    spark.sql(f"DROP TABLE spark_catalog.{views}.t")
    checks = ImportOnSpark(catalog, most_calls=2, session=spark).run(plan, journal, verify=ROWS).checks
    verdict = checks[ViewName(views, "plain")]
    assert not verdict.good
    assert verdict.text.startswith("the legacy view was not read before the import, and Spark cannot read the new one:")
    revert_run(catalog, journal)


def test_columns_are_compared_without_reading_rows(spark, catalog: HiveViewCatalog, views, tmp_path):
    plan = plan_import(catalog, databases=[views])
    checks = ImportOnSpark(catalog, most_calls=1, session=spark).run(plan, tmp_path / "j", verify=COLUMNS).checks
    assert {verdict.text for verdict in checks.values()} == {"Spark's analyzer returns the same columns"}
    spark.sql(f"DROP TABLE spark_catalog.{views}.t")
    checks = ImportOnSpark(catalog, most_calls=1, session=spark).run(plan, tmp_path / "j", verify=COLUMNS).checks
    verdict = checks[ViewName(views, "plain")]
    assert not verdict.good
    assert verdict.text.startswith("Spark read the legacy view, and cannot read the new one:")


def test_changed_column_type_is_reported(spark, catalog: HiveViewCatalog, views, tmp_path):
    spark.sql(
        f"CREATE VIEW spark_catalog.{views}.narrow (a, b) AS "
        f"SELECT CAST(id AS SMALLINT), CAST(s AS VARCHAR(9)) FROM spark_catalog.{views}.t"
    )
    plan = plan_import(catalog, databases=[views])
    good = {"Spark's analyzer returns the same columns"}
    checks = ImportOnSpark(catalog, most_calls=1, session=spark).run(plan, tmp_path / "j", verify=COLUMNS).checks
    assert {verdict.text for verdict in checks.values()} == good
    catalog.execute(f"CREATE OR REPLACE VIEW {views}.above AS SELECT CAST(id AS BIGINT) AS id, m FROM {views}.t")
    catalog.execute(f"CREATE OR REPLACE VIEW {views}.narrow (a, b) AS SELECT id, id AS b FROM {views}.t")
    result = ImportOnSpark(catalog, most_calls=1, session=spark).run(plan, tmp_path / "j", verify=COLUMNS)
    assert not result.as_before
    bad = {name.name: verdict.text for name, verdict in result.checks.items() if not verdict.good}
    assert bad == {
        "above": "its columns have other types: id was int and is bigint",
        "narrow": "its columns have other types: b was string and is int",
    }


def test_spark_import_checks_columns_by_default(spark, catalog: HiveViewCatalog, raw, views, tmp_path):
    spark.sql(f"CREATE TABLE spark_catalog.{views}.gone (id INT) USING parquet")
    spark.sql(f"CREATE VIEW spark_catalog.{views}.over_gone AS SELECT id FROM spark_catalog.{views}.gone")
    raw.create_table(trino_view_row(views, "of_trino", "SELECT id FROM gone", [("id", "integer")]))
    job = SparkImport(spark, catalog, most_calls=2)
    plan = job.plan(databases=[views])
    journal, file = tmp_path / "journal", tmp_path / "journal.columns"
    # What a run left that was killed, while it wrote this: the journal is not begun, and a line is cut off.
    journal.touch()
    cut = ViewName(views, "plain")
    file.write_text(f'{{"name": "{cut}", "columns": ["id"')
    progress_calls: list[tuple[str, int, int]] = []
    result = job.run(plan, journal, check_progress=lambda *arguments: progress_calls.append(arguments))
    assert (result.complete, result.as_before, result.verify) == (True, True, COLUMNS)
    assert progress_calls == [("before", 5, 5), ("after", 6, 6)]
    texts = {name.name: verdict.text for name, verdict in result.checks.items()}
    assert texts.pop("of_trino") == "plain Spark cannot read legacy Trino views; Spark's analyzer accepts the new one"
    assert set(texts.values()) == {"Spark's analyzer returns the same columns"}
    assert set(result.checks) == {entry.name for entry in plan.entries} == set(read_check_results(journal))

    spark.sql(f"DROP TABLE spark_catalog.{views}.gone")
    result = job.run(plan, journal)
    assert (result.complete, result.as_before) == (True, False)
    assert {name.name for name, verdict in result.checks.items() if not verdict.good} == {"over_gone", "of_trino"}
    assert result.checks[ViewName(views, "over_gone")].text.startswith("Spark read the legacy view, and cannot")

    unchecked = job.run(plan, journal, verify="none")
    assert (unchecked.checks, unchecked.verify, unchecked.outcomes) == ({}, "none", result.outcomes)
    revert_run(catalog, journal)


def test_conversion_that_spark_rejects_is_restored(spark, catalog: HiveViewCatalog, views, tmp_path):
    spark.sql(f"CREATE VIEW spark_catalog.{views}.apart AS SELECT 1 AS one")
    plan = plan_import(catalog, databases=[views])
    journal = tmp_path / "journal"

    def run(alter: str):
        result = run_plan(plan, catalog, journal)
        assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}
        spark.sql(f"DROP TABLE spark_catalog.{views}.t")
        spark.sql(f"CREATE TABLE spark_catalog.{views}.t ({alter}) USING parquet")
        return result

    before = {entry.name: entry.fingerprint for entry in plan.entries}
    for columns in ("id INT, x DOUBLE, m MAP<STRING, INT>", "id STRING, x DOUBLE, m MAP<STRING, INT>, s STRING"):
        checked = run_verified(SparkCheck(spark), plan, catalog, journal, lambda columns=columns: run(columns))  # type: ignore[misc]
        statuses = {outcome.name.name: (outcome.status, outcome.reason) for outcome in checked.outcomes}
        rejected = {name for name, end in statuses.items() if end == (ImportStatus.REFUSED, Reason.UNREADABLE)}
        assert rejected == {"plain", "above", "summed"}, "chance was checked by the first run, apart reads no table"
        assert {name.name for name, check in checked.checks.items() if check.is_rejected} >= rejected
        assert {name.name for name in read_check_results(journal)} == statuses.keys() - rejected
        for outcome in checked.outcomes:
            row = row_of(catalog, outcome.name)
            assert (row_fingerprint(row) == before[outcome.name]) == (outcome.name.name in rejected)
        recorded = read_journal(journal).outcomes
        assert all(recorded[each.name].status is each.status for each in checked.outcomes)
        assert "The legacy row was restored" in next(o.text for o in checked.outcomes if o.name.name == "plain")
        spark.sql(f"DROP TABLE spark_catalog.{views}.t")
        spark.sql(
            f"CREATE TABLE spark_catalog.{views}.t (id INT, x DOUBLE, m MAP<STRING, INT>, s STRING) USING parquet"
        )
    # The next run converts what was restored.
    again = run_verified(SparkCheck(spark), plan, catalog, journal, lambda: run_plan(plan, catalog, journal))
    assert {outcome.status for outcome in again.outcomes} == {ImportStatus.CONVERTED}
    assert again.as_before
    revert_run(catalog, journal)


def test_impossible_comparison_is_rejected(spark, properties, catalog, tmp_path):
    with HiveViewCatalog("spark_catalog", **properties) as other, pytest.raises(UsageError, match="spark_catalog"):
        ImportOnSpark(other, most_calls=1, session=spark).run(
            plan_import(catalog, names=[]), tmp_path / "j", verify=ROWS
        )
    (tmp_path / "rows").write_text("[1]\n")
    with pytest.raises(JournalError, match="does not hold the content"):
        ViewCheck(spark, catalog, tmp_path / "rows")


@needs_spark_4  # 3.5 itself refuses such a view
def test_columns_with_changed_types_are_refused_or_restored(spark, catalog: HiveViewCatalog, database, tmp_path):
    table = f"spark_catalog.{database}.t"
    queries = {
        "plain": "id",
        "computed": "id + 1 AS id",
        "wider": "CAST(id AS DOUBLE) AS id",
        "fitting": "CAST(1 AS INT) AS id",
    }
    spark.sql(f"CREATE TABLE {table} (id INT) USING parquet")
    for name, column in queries.items():
        spark.sql(f"CREATE VIEW spark_catalog.{database}.{name} AS SELECT {column} FROM {table}")
    spark.sql(f"DROP TABLE {table}")
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING parquet")
    spark.sql(f"INSERT INTO {table} VALUES (7)")
    assert spark.sql(f"SELECT id FROM spark_catalog.{database}.plain").collect() == [(7,)]  # plain Spark casts it
    plan = ImportOnSpark(catalog, master="local", most_calls=2, session=spark).plan(databases=[database])
    entries = {entry.name.name: entry for entry in plan.entries}
    assert entries["plain"].problem.reason is Reason.TYPE
    assert entries["computed"].changes == (
        "Spark's analyzer refuses the new text: column id is declared as int, and its query returns bigint now, which "
        "readers through Iceberg do not cast",
    )
    assert {entries["wider"].changes, entries["fitting"].changes} == {()}
    result = ImportOnSpark(catalog, most_calls=2, session=spark).run(plan, tmp_path / "journal")
    statuses = {outcome.name.name: outcome.status for outcome in result.outcomes}
    converted = {name for name, status in statuses.items() if status is ImportStatus.CONVERTED}
    assert (converted, set(statuses) - converted) == ({"wider", "fitting"}, {"plain", "computed"})
    assert spark.sql(f"SELECT id FROM spark_catalog.{database}.computed").collect() == [(8,)]
    revert_run(catalog, tmp_path / "journal")


def test_converted_texts_are_read_by_iceberg(spark, catalog: HiveViewCatalog, raw, database, tmp_path):
    session = spark.newSession()
    session.sql(f"USE spark_catalog.{database}")
    session.sql("SET spark.sql.variable.substitute=false")
    session.sql("CREATE VIEW variable AS SELECT '${hive_views.a}' AS s, r'\\d${hive_views.a}' AS r")
    columns = [("s", "string"), ("r", "string")]
    text = "select '${hive_views.a}' as `s`, '\\\\d${hive_views.a}' as `r`"
    raw.create_table(hive_view_row(database, "of_hive", text, text, columns))
    text = f"select `variable`.`s` from `{database}`.`variable` limit 0,1"
    raw.create_table(hive_view_row(database, "limited", text, text, columns[:1]))
    plan = plan_import(catalog, databases=[database])
    assert [entry.changes for entry in plan.entries if entry.name.name == "variable"] == [()]
    assert run_plan(plan, catalog, tmp_path / "journal").complete
    session.sql("SET hive_views.a=value")
    for substitute in ("true", "false"):
        session.sql(f"SET spark.sql.variable.substitute={substitute}")
        for name in ("spark_catalog", "prod"):
            rows = [session.table(f"{name}.{database}.{view}").collect() for view in ("variable", "of_hive", "limited")]
            row = ("${hive_views.a}", "\\d${hive_views.a}")
            assert rows == [[row], [row], [row[:1]]], (substitute, name)
    revert_run(catalog, tmp_path / "journal")
