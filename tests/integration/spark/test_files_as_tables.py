"""Views over files that Spark reads as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SparkSqlError, SqlError
from hive_views.legacy_import import plan_import
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.plan import ImportPlan
from hive_views.legacy_import.revert import revert_run
from hive_views.spark import SparkImport, ViewSession
from hive_views.spark.legacy_import.verified_run import ROWS
from hive_views.sql.analysis.validity import Validity
from tests.integration.spark.spark_versions import CATALOG, HAS_ICEBERG, IS_SPARK_3, TABLE_FORMAT
from tests.suites import extended

FORMATS = ("parquet", "json", "orc", "csv")


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a directory of files in each format; the letter case of its name matters."""
    directory = tmp_path_factory.mktemp("files") / "Data"
    frame = spark.sql("SELECT id AS Id, named_struct('Inner', id) AS s FROM range(3)")
    for name in FORMATS:
        written = frame if name != "csv" else frame.select("Id")
        written.write.format(name).save(str(directory / name))
    return directory


@pytest.fixture
def session(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> Iterator[ViewSession]:
    spark.sql(f"CREATE TABLE {CATALOG}.{database}.t (a BIGINT) USING {TABLE_FORMAT}")
    spark.sql(f"INSERT INTO {CATALOG}.{database}.t VALUES (1), (7)")
    with ViewSession(spark.newSession(), catalog) as views:
        views.sql(f"USE {CATALOG}.{database}")
        yield views
    spark.sql(f"DROP TABLE {CATALOG}.{database}.t")


QUERIES = (
    "SELECT * FROM {files}",
    "SELECT f.Id, f.s.inner FROM {files} AS f WHERE f.id > 0",
    "SELECT t.a, f.id FROM t JOIN {files} f ON f.id = t.a",
    *extended(
        "SELECT id FROM {files}",
        "SELECT x.* FROM {files} x",
        "SELECT id + 1 AS n FROM {files} WHERE s.`Inner` < 2",
        "SELECT x, y FROM {files} AS f (x, y)",
        "SELECT a FROM t WHERE a IN (SELECT id FROM {files})",
        "SELECT count(*) AS n FROM {files} UNION ALL SELECT id FROM {files}",
        "WITH c AS (SELECT * FROM {files}) SELECT c.id FROM c",
        "SELECT id, s FROM {files} TABLESAMPLE (100 PERCENT)",
        "SELECT a, id FROM t, {files}",
        "FROM {files} |> WHERE id > 1 |> SELECT id",
    ),
)


@pytest.mark.parametrize("query", QUERIES)
def test_view_over_files_has_their_rows(
    query: str, session: ViewSession, spark: SparkSession, catalog: HiveViewCatalog, database: str, files: Path
) -> None:
    if IS_SPARK_3 and "|>" in query:
        pytest.skip("needs Spark 4.0")
    text = query.format(files=f"parquet.`{files}/parquet`")
    expected = sorted(map(str, session.sql(text).collect()))
    session.sql(f"CREATE VIEW v AS {text}")
    session.sql("CREATE VIEW above AS SELECT * FROM v")
    names = ["v", f"{CATALOG}.{database}.v", f"spark_catalog.{database}.v", "v VERSION AS OF 1", "above"]
    for name in names:
        rows = sorted(map(str, session.sql(f"SELECT * FROM {name}").collect()))
        assert [row.lower() for row in rows] == [row.lower() for row in expected], name
    if not (HAS_ICEBERG and " t" in query):  # plain Spark without the tables of Iceberg
        plain = spark.sql(f"SELECT * FROM spark_catalog.{database}.v").collect()
        assert sorted(map(str.lower, map(str, plain))) == [row.lower() for row in expected]
    session.sql("ALTER VIEW v RECOMPILE")
    assert catalog.load_view((database, "v")).original_text == text


@pytest.mark.parametrize("name", ["csv", *extended("parquet", "json", "orc")])
def test_formats(name: str, session: ViewSession, catalog: HiveViewCatalog, database: str, files: Path) -> None:
    session.sql(f"CREATE VIEW v AS SELECT * FROM {name}.`{files}/{name}`")
    assert session.sql("SELECT * FROM v").count() == 3
    [unknown] = catalog.dependencies.lineage((database, "v")).unknown
    assert unknown.problem == f"its spark text reads the files {name}.`{files}/{name}`"
    assert catalog.dependencies.check_view((database, "v")).validity is Validity.UNKNOWN
    found = {item.engine: item.text for item in catalog.dependencies.check_engines((database, "v"))}
    assert set(found) == {"hive", "trino"}
    assert found["hive"] == f"hive: refused: it reads the files {name}.`{files}/{name}`, as only Spark does"


def test_files_without_spark_are_refused_as_what_they_are(
    session: ViewSession, catalog: HiveViewCatalog, database: str, files: Path
) -> None:
    with pytest.raises(SqlError, match=r"json\.`/x/y` are files, whose columns only Spark knows: .* ViewSession"):
        catalog.execute(f"CREATE VIEW {database}.v AS SELECT * FROM json.`/x/y`")
    with pytest.raises(SparkSqlError, match="/no/such/files") as caught:
        session.sql("CREATE VIEW v AS SELECT * FROM parquet.`/no/such/files`")
    assert caught.value.condition == "PATH_NOT_FOUND"
    assert not catalog.view_exists((database, "v"))


@pytest.mark.extended
def test_import_of_a_view_over_files(
    spark: SparkSession, catalog: HiveViewCatalog, database: str, files: Path, tmp_path: Path
) -> None:
    own = spark.newSession()
    own.sql(f"USE spark_catalog.{database}")
    texts = {
        "star": f"SELECT * FROM parquet.`{files}/parquet`",
        "named": f"SELECT f.id AS n, f.s.inner AS i FROM json.`{files}/json` f WHERE f.id > 0",
    }
    if not IS_SPARK_3:  # which cannot read the row of such a view
        texts["odd"] = "SELECT named_struct('my-f', 1, 'a b', 2) AS s"
    for name, text in texts.items():
        own.sql(f"CREATE VIEW {name} AS {text}")
    before = {name: sorted(map(str, own.table(name).collect())) for name in texts}
    planned = {entry.name.name: entry for entry in plan_import(catalog, databases=[database]).entries}
    assert IS_SPARK_3 or planned["odd"].problem is None
    for name in ("star", "named"):
        problem = planned[name].problem
        assert problem is not None
        assert "reads the files" in problem.text and "import it on Spark (--spark)" in problem.text
    job = SparkImport(spark, catalog)
    journal = tmp_path / "journal.jsonl"
    plan = ImportPlan.from_json(job.plan(databases=[database]).to_json())
    assert {entry.problem for entry in plan.entries} == {None}
    run = job.run(plan, journal, verify=ROWS)
    assert {outcome.status for outcome in run.outcomes} == {ImportStatus.CONVERTED}
    with ViewSession(own, catalog) as session:
        for name in texts:
            for reader in (session, own):
                rows = sorted(map(str, reader.table(name).collect()))
                assert [row.lower() for row in rows] == [row.lower() for row in before[name]]
    assert {outcome.status for outcome in revert_run(catalog, journal)} == {RevertStatus.REVERTED}
    assert {name: sorted(map(str, own.table(name).collect())) for name in texts} == before
