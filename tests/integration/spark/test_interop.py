"""Views of ours under the other readers and writers of the metastore: Iceberg's Java catalog, and plain Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveView, HiveViewCatalog
from hive_views.errors import NoSuchViewError, NotAnIcebergViewError, SqlError, UnrecordedTextError
from hive_views.identifiers import ViewName
from hive_views.legacy_import import plan_import, run_plan
from hive_views.legacy_import.journal import ImportStatus
from hive_views.legacy_import.revert import revert_run
from hive_views.metastore.rows.serialization import row_fingerprint
from hive_views.spark.analyzer import schema_of
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import sql_texts
from tests.integration.spark.plain_reader import PlainReader

Create = Callable[..., HiveView]


@pytest.fixture
def orders(spark: SparkSession, database: str) -> Iterator[str]:
    """A parquet table of every column type that both worlds have, three rows."""
    name = f"{database}.orders"
    spark.sql(
        f"CREATE TABLE spark_catalog.{name} (id INT, item STRING, price DECIMAL(10, 2), at TIMESTAMP, day DATE, "
        "tags ARRAY<STRING>, more STRUCT<a: INT, b: STRING>, counts MAP<STRING, BIGINT>) STORED AS PARQUET"
    )
    spark.sql(
        f"INSERT INTO spark_catalog.{name} SELECT id, concat('itäm', id), id * 1.5, timestamp'2020-01-01 10:00:00', "
        "date'2020-01-01', array('x'), named_struct('a', 1, 'b', 'y'), map('k', 1L) FROM range(3)"
    )
    yield name
    spark.sql(f"DROP TABLE IF EXISTS spark_catalog.{name}")


@pytest.fixture
def create(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> Iterator[Create]:
    """Creates a view from a text typed in Spark, in the test's own database."""

    def make(name: str, sql: str, *, home: str = "spark_catalog", **given: Any) -> HiveView:
        def analyzer(query: str):
            spark.sql(f"USE {home}.{database}")
            return schema_of(spark, query)

        made = catalog.author(f"{database}.{name}", sql, analyzer=analyzer, **given)
        return catalog.create_or_replace_view(f"{database}.{name}", made.schema, made.version)

    yield make
    spark.sql("USE spark_catalog.default")


def definition(version: ViewVersion) -> tuple[object, ...]:
    """What Iceberg's Java keeps of a version: it drops the draft's keys in a representation."""
    return version.version_id, version.timestamp_ms, version.summary, sql_texts(version), version.default_namespace


def ids(rows: list) -> list[int]:
    return sorted(row[0] for row in rows)


def test_all_read_the_same(spark, plain, catalog, create, orders, database):
    """Also a timestamp: Spark's Hive client cannot read a row of type `timestamp with local time zone`."""
    view = create("v", "SELECT * FROM orders WHERE id > 0")
    assert view.drift == ()
    query = "SELECT id, item, price, at, day, tags[0], more.b, counts['k'] FROM {} ORDER BY id"
    java = spark.sql(query.format(f"prod.{database}.v")).collect()
    session = spark.sql(query.format(f"spark_catalog.{database}.v")).collect()
    assert java == session
    assert ids(java) == [1, 2]
    theirs = plain.sql(query.format(f"{database}.v"))
    assert [[str(value) for value in row] for row in theirs] == [[str(value) for value in row] for row in java]


def test_column_list_and_view_over_view(spark, plain, create, orders, database):
    create("named", "SELECT id, count(*) FROM orders GROUP BY id", column_names=("number", "how_many"))
    create("above", "SELECT n.number + 1 AS next FROM named n WHERE how_many = 1")
    for rows in (
        spark.sql(f"SELECT next FROM prod.{database}.above").collect(),
        spark.sql(f"SELECT next FROM spark_catalog.{database}.above").collect(),
        plain.sql(f"SELECT next FROM {database}.above"),
    ):
        assert ids(rows) == [1, 2, 3]
    assert spark.table(f"prod.{database}.named").columns == ["number", "how_many"]


def test_star_view_keeps_its_columns_when_table_grows(spark, create, database):
    """Iceberg's own star view returns another column's values, without an error (facts on Spark)."""
    spark.sql(f"CREATE TABLE prod.{database}.t (a STRING, b STRING) USING iceberg")
    try:
        spark.sql(f"INSERT INTO prod.{database}.t VALUES ('a1', 'b1')")
        create("ours", "SELECT * FROM t", home="prod")
        spark.sql(f"USE prod.{database}")
        spark.sql("CREATE VIEW theirs AS SELECT * FROM t")
        spark.sql(f"ALTER TABLE prod.{database}.t ADD COLUMN z STRING FIRST")
        assert [tuple(row) for row in spark.sql("SELECT a, b FROM ours").collect()] == [("a1", "b1")]
        assert [tuple(row) for row in spark.sql("SELECT a, b FROM theirs").collect()] == [(None, "a1")]
    finally:
        spark.sql(f"DROP TABLE prod.{database}.t")


def test_spark_replaces_and_we_read_its_version(spark, plain, catalog, create, orders, database):
    first = create("v", "SELECT id FROM orders")
    spark.sql(f"CREATE OR REPLACE VIEW prod.{database}.v AS SELECT id + 10 AS id FROM spark_catalog.{database}.orders")
    view = catalog.load_view(f"{database}.v")
    assert [entry.version_id for entry in view.history()] == [1, 2]
    assert view.uuid() == first.uuid()
    assert definition(view.version(1)) == definition(first.current_version())
    assert view.current_version().summary["engine-name"] == "spark"
    assert view.drift == ()
    back = view.update().rollback(version_id=1).commit()
    assert (back.original_text, back.expanded_text) == (first.original_text, first.expanded_text)
    assert ids(spark.sql(f"SELECT id FROM prod.{database}.v").collect()) == [0, 1, 2]
    assert ids(plain.sql(f"SELECT id FROM {database}.v")) == [0, 1, 2]


def test_spark_changes_properties_and_plain_readers_go_on(spark, plain, catalog, create, orders, database):
    before = create("v", "SELECT * FROM orders")
    spark.sql(f"ALTER VIEW prod.{database}.v SET TBLPROPERTIES ('team' = 'bi')")
    after = catalog.load_view(f"{database}.v")
    assert after.properties["team"] == "bi"
    assert [definition(version) for version in after.versions] == [definition(version) for version in before.versions]
    assert after.drift == ()
    assert after.expanded_text == before.expanded_text
    assert ids(plain.sql(f"SELECT id FROM {database}.v")) == [0, 1, 2]
    restored = after.update().remove_properties("team").commit()
    assert restored.original_text == "SELECT * FROM orders"


def test_property_commit_of_java_does_not_conflict_with_replace(spark, catalog, create, orders, database):
    """Java rewrites the version without the draft's keys; whoever saw it before may still replace it."""
    seen = create("v", "SELECT id FROM orders")
    spark.sql(f"ALTER VIEW prod.{database}.v SET TBLPROPERTIES ('team' = 'bi')")
    version = catalog.author(f"{database}.v", "SELECT id + 1 AS id FROM orders", analyzer=lambda query: seen.schema())
    replaced = seen.update().replace_version(version.version).commit()
    assert (replaced.current_version().version_id, replaced.properties["team"]) == (2, "bi")


def test_spark_renames_and_drops(spark, catalog, create, orders, database):
    view = create("v", "SELECT id FROM orders")
    spark.sql(f"ALTER VIEW prod.{database}.v RENAME TO prod.{database}.w")
    assert catalog.load_view(f"{database}.w").metadata == view.metadata
    assert not catalog.view_exists(f"{database}.v")
    spark.sql(f"DROP VIEW prod.{database}.w")
    with pytest.raises(NoSuchViewError):
        catalog.load_view(f"{database}.w")


def test_view_created_by_spark_can_be_changed(spark, catalog, database):
    spark.sql(f"CREATE VIEW prod.{database}.v (a COMMENT 'the a') TBLPROPERTIES ('k' = 'v') AS SELECT 1 AS x")
    view = catalog.load_view(f"{database}.v")
    assert view.properties["k"] == "v"
    assert view.schema().find_field("a").doc == "the a"
    assert view.drift == ()
    changed = view.update().set_properties(team="bi").commit()
    assert changed.current_version() == view.current_version()
    assert spark.sql(f"SELECT a FROM prod.{database}.v").collect()[0].a == 1
    assert "'team' = 'bi'" in spark.sql(f"SHOW CREATE TABLE prod.{database}.v").collect()[0][0]
    assert [row.viewName for row in spark.sql(f"SHOW VIEWS IN prod.{database}").collect()] == ["v"]


def test_plain_spark_altering_the_row_is_drift(plain: PlainReader, catalog, create, orders, database):
    create("v", "SELECT id FROM orders")
    plain.sql(f"ALTER VIEW {database}.v AS SELECT id + 1 AS id FROM {database}.orders")
    view = catalog.load_view(f"{database}.v")
    assert {difference.field for difference in view.drift} == {"expanded-text", "original-text"}
    assert view.current_version().version_id == 1
    # Only the row has the text that plain Spark wrote: no commit overwrites it implicitly.
    with pytest.raises(UnrecordedTextError) as caught:
        view.update().set_properties(a="b").commit()
    assert "id + 1" in caught.value.text
    with pytest.raises(UnrecordedTextError):
        create("v", "SELECT id + 2 AS id FROM orders")
    assert catalog.load_view(f"{database}.v").drift == view.drift
    assert catalog.repair_view(f"{database}.v").drift == ()
    assert ids(plain.sql(f"SELECT id FROM {database}.v")) == [0, 1, 2]


def test_properties_changed_by_plain_spark_are_drift(plain: PlainReader, catalog, create, orders, database):
    create("v", "SELECT id FROM orders")
    name = f"{database}.v"
    properties = {"kept": "1", "changed": "1", "removed": "1", "comment": "old"}
    before = catalog.load_view(name).update().set_properties(properties).commit()
    plain.sql(f"ALTER VIEW {name} SET TBLPROPERTIES ('changed' = '2', 'new' = 'n', 'comment' = 'other')")
    plain.sql(f"ALTER VIEW {name} UNSET TBLPROPERTIES ('removed')")
    changes = [("property changed", "2", "1"), ("property comment", "other", "old"), ("property removed", None, "1")]
    drift = catalog.load_view(name).drift
    assert sorted((item.field, item.row, item.file) for item in drift) == changes
    [checked] = [result for result in catalog.dependencies.check_views(database) if str(result.view) == name]
    assert {problem.validity.value for problem in checked.problems} == {"drifted"}
    repaired = catalog.repair_view(name)
    assert (repaired.drift, repaired.metadata.properties) == ((), before.metadata.properties)
    plain.sql(f"ALTER VIEW {name} SET TBLPROPERTIES ('changed' = '2')")
    plain.sql(f"ALTER VIEW {name} UNSET TBLPROPERTIES ('removed')")
    adopted = catalog.adopt_view(name)
    removed = {key: value for key, value in before.metadata.properties.items() if key != "removed"}
    assert (adopted.drift, adopted.metadata.properties) == ((), {**removed, "changed": "2", "new": "n"})
    assert adopted.current_version() == before.current_version()
    assert catalog.adopt_view(name).metadata_location == adopted.metadata_location
    assert plain.sql(f"SHOW TBLPROPERTIES {name} ('changed')")[0][-1] == "2"
    assert ids(plain.sql(f"SELECT id FROM {name}")) == [0, 1, 2]


def test_copy_of_a_views_create_statement_in_plain_spark(
    plain: PlainReader, catalog, create, orders, database, tmp_path
) -> None:
    view = create("v", "SELECT id FROM orders")
    [(statement,)] = plain.sql(f"SHOW CREATE TABLE {database}.v")
    assert "'metadata_location'" in statement
    copied = statement.replace(f"{database}.v", f"{database}.w").rpartition("AS ")[0]
    plain.sql(f"{copied} AS SELECT 7 AS id")
    assert plain.sql(f"SELECT * FROM {database}.w") == [(7,)]
    assert catalog.list_views(database) == [(database, "v")]
    with pytest.raises(NotAnIcebergViewError):
        catalog.load_view(f"{database}.w")
    before = catalog.store.get_row(ViewName(database, "w"))
    [outcome] = run_plan(plan_import(catalog, databases=[database]), catalog, tmp_path / "journal").outcomes
    assert (outcome.name.name, outcome.status) == ("w", ImportStatus.CONVERTED)
    converted = catalog.load_view(f"{database}.w")
    assert converted.uuid() != view.uuid()
    assert "7" in sql_texts(converted.current_version())["spark"]
    revert_run(catalog, tmp_path / "journal")
    assert row_fingerprint(catalog.store.get_row(ViewName(database, "w"))) == row_fingerprint(before)
    assert catalog.load_view(f"{database}.v") == view


@pytest.mark.parametrize(
    "statement", ["DROP VIEW {view}", "CREATE OR REPLACE VIEW {view} AS SELECT 1 AS id", "DROP VIEW IF EXISTS {view}"]
)
def test_plain_spark_dropping_the_row_spares_the_files(plain, catalog, create, orders, database, statement):
    """Plain Spark asks the server to delete the data, and a replace by it is a drop and a create (decision 0010)."""
    view = create("v", "SELECT id FROM orders").update().set_properties(a="b").commit()
    plain.sql(statement.format(view=f"{database}.v"))
    assert not catalog.view_exists(f"{database}.v")
    plain.sql(f"DROP VIEW IF EXISTS {database}.v")
    assert catalog.register_view(f"{database}.v", view.metadata_location) == view
    assert ids(plain.sql(f"SELECT id FROM {database}.v")) == [0, 1, 2]


def test_tables_of_two_worlds_are_not_mixed(spark, catalog, create, orders, database):
    spark.sql(f"CREATE TABLE prod.{database}.t (id INT) USING iceberg")
    try:
        with pytest.raises(SqlError, match="no one catalog of Spark reads both"):
            create("v", f"SELECT o.id FROM orders o JOIN {database}.t ON o.id = t.id")
        assert not catalog.view_exists(f"{database}.v")
    finally:
        spark.sql(f"DROP TABLE prod.{database}.t")


def test_type_unsupported_by_iceberg_raises_with_column_name(spark, create, database):
    with pytest.raises(SqlError, match="column 'x'") as caught:
        create("v", "SELECT INTERVAL '1' DAY AS x")
    assert caught.value.name == "x"


@pytest.mark.parametrize(
    "clauses",
    [
        "(id BIGINT, note STRING, ds STRING) USING PARQUET PARTITIONED BY (ds) COMMENT 'it\\'s'",
        "(id BIGINT, note STRING) COMMENT 'it\\'s' PARTITIONED BY (ds STRING) STORED AS ORC",
        "(id BIGINT, note STRING) PARTITIONED BY (ds STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|'",
    ],
    ids=["parquet", "orc", "text"],
)
def test_dropped_hive_table_is_brought_back_with_its_rows(plain: PlainReader, catalog, database, clauses):
    """By the statement in the report of the drop; no file is deleted, although the table was a managed one."""
    name = f"{database}.facts"
    plain.sql(f"CREATE TABLE {name} {clauses}")
    plain.sql(f"INSERT INTO {name} PARTITION (ds = 'a') VALUES (1, 'one')")
    plain.sql(f"INSERT INTO {name} PARTITION (ds = 'b') VALUES (2, NULL), (3, 'it is')")
    before = sorted(plain.sql(f"SELECT * FROM {name}"), key=str)
    (step,) = catalog.drop_table(name, behavior="restrict").steps
    assert plain.sql(f"SHOW TABLES IN {database}") == []
    plain.sql(step.text)
    plain.sql(f"MSCK REPAIR TABLE {name}")
    assert sorted(plain.sql(f"SELECT * FROM {name}"), key=str) == before
    assert len(before) == 3
