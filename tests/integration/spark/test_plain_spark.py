"""What needs no Iceberg runtime: statements of a `ViewSession`, reads by Spark itself, and imports, on each version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.readers.detection import read_view
from hive_views.legacy_import.revert import revert_run
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from hive_views.spark import NoIcebergRuntimeError, SparkImport, ViewSession, iceberg_session
from hive_views.spark.legacy_import.verified_run import ROWS
from hive_views.spark.sessions import captured_settings, spark_exceptions
from hive_views.spark.versions import SPARK_LINES
from hive_views.spec.session_settings import is_captured_by_spark
from hive_views.sql.engines.tables import added_functions
from tests.integration.catalog.samples import row_bytes, row_of
from tests.integration.spark.spark_versions import IS_SPARK_3, LINE, needs_iceberg, needs_spark_4_1

pytestmark = pytest.mark.each_spark

STATEMENTS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("CREATE VIEW v AS SELECT id, name FROM t WHERE id > 1", []),
    ("SELECT * FROM v ORDER BY id", [(2, "b"), (3, None)]),
    ("TABLE v |> WHERE id = 2 |> SELECT name", [("b",)]),
    ("FROM v |> AGGREGATE count(*) AS n", [(2,)]),
    ("WITH w AS (SELECT max(id) AS m FROM v) SELECT m FROM w", [(3,)]),
    ("SELECT (SELECT count(*) FROM v) AS n", [(2,)]),
    ("SELECT t.id FROM t LEFT ANTI JOIN v ON t.id = v.id", [(1,)]),
    ("SELECT id FROM v EXCEPT SELECT 2", [(3,)]),
    ("SELECT row_number() OVER (ORDER BY id DESC) AS r FROM v ORDER BY r", [(1,), (2,)]),
    ("SELECT x FROM v LATERAL VIEW explode(array(id, -id)) e AS x ORDER BY x", [(-3,), (-2,), (2,), (3,)]),
    ("SELECT * FROM (SELECT id, 1 AS k FROM v) PIVOT (sum(id) FOR k IN (1))", [(5,)]),
    ("SELECT id FROM v TABLESAMPLE (100 PERCENT) ORDER BY id", [(2,), (3,)]),
    ("CREATE OR REPLACE VIEW v AS SELECT id * 10 AS id FROM t", []),
    ("SELECT sum(id) AS s FROM v", [(60,)]),
    ("SELECT count(*) AS n FROM v VERSION AS OF 1", [(2,)]),
    ("CREATE TABLE copied STORED AS PARQUET AS SELECT id FROM v", []),
    ("INSERT INTO copied SELECT id + 1 FROM v", []),
    ("SELECT count(*) AS n, max(id) AS m FROM copied", [(6, 31)]),
    ("CACHE TABLE cached AS SELECT id FROM v", []),
    ("SELECT sum(id) AS s FROM cached", [(60,)]),
    ("UNCACHE TABLE cached", []),
    ("CREATE VIEW over_it AS SELECT max(id) AS m FROM v", []),
    ("ALTER VIEW v AS SELECT id FROM t", []),
    ("ALTER VIEW over_it RECOMPILE", []),
    ("SELECT m FROM over_it", [(3,)]),
    ("ALTER VIEW over_it RENAME TO higher", []),
    ("SELECT m FROM higher", [(3,)]),
]
"""Statements in their order, with the rows that each returns."""
NEEDS_PIPES = "|>"

LEGACY = (
    "SELECT id, name FROM t",
    "SELECT * FROM t WHERE name IS NOT NULL",
    "SELECT count(*) AS n, max(name) AS m FROM t",
    "SELECT CAST(name AS INT) AS i, hour(timestamp_seconds(0)) AS h FROM t",
    "SELECT id, sum(id) OVER (ORDER BY id) AS s FROM t",
    "WITH c AS (SELECT id FROM t) SELECT a.id, b.id AS other FROM c a JOIN c b ON a.id < b.id",
    "SELECT x FROM t LATERAL VIEW explode(array(id, id + 1)) e AS x",
    "SELECT id, 'it\\'s' AS q, date'2024-02-29' AS d, 1.50 AS p FROM t",
    "SELECT named_struct('a', id, 'b', array(name)) AS s, map('k', id) AS m FROM t",
)
"""Queries of views that Spark itself creates, with ANSI mode on and off."""


@pytest.fixture
def home(spark: SparkSession, database: str) -> Iterator[str]:
    """A database with a Hive table `t` of three rows."""
    spark.sql(f"CREATE TABLE spark_catalog.{database}.t (id INT, name STRING) STORED AS PARQUET")
    spark.sql(f"INSERT INTO spark_catalog.{database}.t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    yield database
    for table in ("t", "copied"):
        spark.sql(f"DROP TABLE IF EXISTS spark_catalog.{database}.{table}")


@pytest.mark.parametrize("kind", ["spark", "connect_spark"])
def test_statements(kind: str, request: pytest.FixtureRequest, catalog: HiveViewCatalog, home: str) -> None:
    own = request.getfixturevalue(kind)
    with ViewSession(own.newSession() if kind == "spark" else own, catalog) as session:
        session.sql(f"USE spark_catalog.{home}")
        for text, expected in STATEMENTS:
            if not (IS_SPARK_3 and NEEDS_PIPES in text):
                assert [tuple(row) for row in session.sql(text).collect()] == expected, text
        session.sql("DROP TABLE copied")


TYPED_WITHOUT_SPARK = (
    ("SELECT id + CAST(id AS STRING) AS x FROM t", "true"),
    ("SELECT coalesce(id, CAST(id AS STRING)) AS x FROM t", "true"),
    ("SELECT id AS x FROM t UNION ALL SELECT CAST(id AS STRING) FROM t", "true"),
    ("SELECT CASE WHEN id > 1 THEN id ELSE '7' END AS x FROM t", "true"),
    ("SELECT CAST(id AS STRING) + '1' AS x, id + CAST(id AS STRING) AS y, id = true AS z FROM t", "false"),
)
"""Queries whose types depend on ANSI mode, with the mode in which Spark accepts them."""


@pytest.mark.parametrize(("query", "ansi"), TYPED_WITHOUT_SPARK)
def test_definition_without_spark_is_read_in_the_ansi_mode_of_its_types(
    query: str, ansi: str, spark: SparkSession, catalog: HiveViewCatalog, home: str
) -> None:
    """Plain Spark reads a row without settings with ANSI mode off, in which these queries have other types."""
    catalog.execute(f"CREATE VIEW v AS {query}", database=home)
    for session_mode in ("true", "false"):
        session = spark.newSession()
        session.sql(f"USE spark_catalog.{home}")
        session.conf.set("spark.sql.ansi.enabled", ansi)
        expected = session.sql(f"{query} ORDER BY ALL" if not IS_SPARK_3 else query).collect()
        session.conf.set("spark.sql.ansi.enabled", session_mode)
        read = session.sql(f"SELECT * FROM spark_catalog.{home}.v")
        assert sorted(map(repr, read.collect())) == sorted(map(repr, expected))
        with ViewSession(session, catalog) as views:
            assert sorted(map(repr, views.sql(f"SELECT * FROM {home}.v").collect())) == sorted(map(repr, expected))


def test_definition_without_spark_is_read_under_the_other_settings_of_the_reader(
    spark: SparkSession, catalog: HiveViewCatalog, home: str
) -> None:
    query = "SELECT CAST(to_date('2024-2-9 x', 'yyyy-MM-dd') AS STRING) AS d FROM t"
    catalog.execute(f"CREATE VIEW v AS {query}", database=home)
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    with ViewSession(session, catalog) as views:
        assert {tuple(row) for row in views.sql(f"SELECT * FROM {home}.v").collect()} == {("2024-02-09",)}


NEWER = ("hmac('key', 'text')", "jaro_winkler_similarity(name, 'b')", "vector_norm(array(1.0F, 2.0F))")
"""Calls of functions that Spark 4.1 does not have."""


@pytest.mark.parametrize("kind", ["spark", "connect_spark"])
@pytest.mark.parametrize("call", NEWER)
def test_function_of_a_newer_version(
    call: str, kind: str, request: pytest.FixtureRequest, catalog: HiveViewCatalog, home: str
) -> None:
    own = request.getfixturevalue(kind)
    own = own.newSession() if kind == "spark" else own
    name = call.partition("(")[0]
    with ViewSession(own, catalog) as session:
        session.sql(f"USE spark_catalog.{home}")
        definition = f"CREATE VIEW newer AS SELECT id, {call} AS c FROM t"
        if name not in added_functions(LINE):
            with pytest.raises(SqlError, match=rf"{name} is a function of Spark {added_functions()[name]} and later"):
                session.sql(definition)
            return
        session.sql(definition)
        expected = sorted(map(str, own.sql(f"SELECT id, {call} AS c FROM t").collect()))
        assert sorted(map(str, session.sql("SELECT * FROM newer").collect())) == expected
        assert sorted(map(str, own.sql("SELECT * FROM newer").collect())) == expected
        assert [item.validity.value for item in catalog.dependencies.check_view((home, "newer")).problems] == []
        findings = catalog.dependencies.check_engines((home, "newer"))
        since = added_functions()[name]
        assert any(f"only Spark {since} and later have the function {name}" in item.text for item in findings)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_reads_the_rows_of_the_author(
    spark: SparkSession, catalog: HiveViewCatalog, home: str, ansi: str
) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", ansi)
    with ViewSession(own, catalog) as session:
        session.sql(f"USE spark_catalog.{home}")
        for number, query in enumerate(LEGACY):
            if ansi == "true" and "AS INT" in query:
                continue
            session.sql(f"CREATE VIEW v{number} AS {query}")
            # The session without the package reads the expanded text of the row.
            expected = sorted(map(str, own.sql(query).collect()))
            assert sorted(map(str, own.sql(f"SELECT * FROM v{number}").collect())) == expected, query
            assert sorted(map(str, session.sql(f"SELECT * FROM v{number}").collect())) == expected, query


DEPENDENT = (
    "SELECT id, hour(timestamp_seconds(0)) AS h FROM t",
    "SELECT count(*) AS n FROM t WHERE to_date(timestamp_seconds(3600 * 20 * id)) = DATE'1970-01-02'",
    "SELECT CAST(name AS INT) AS i FROM t",
    "SELECT 2147483647 + id AS big FROM t",
    "SELECT coalesce(name, 0) AS c FROM t",
)
"""Queries with other rows under another time zone or ANSI mode."""
UNLIKE = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}
READER = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}


def configured(session: SparkSession, settings: dict[str, str]) -> SparkSession:
    for key, value in settings.items():
        session.conf.set(key, value)
    return session


def row_settings(catalog: HiveViewCatalog, name: str) -> dict[str, str]:
    parameters = catalog.store.get_view_row(ViewName.from_text(name)).parameters
    prefix = "view.sqlConfig."
    return {key.removeprefix(prefix): value for key, value in parameters.items() if key.startswith(prefix)}


def test_spark_applies_the_settings_of_the_author(spark: SparkSession, catalog: HiveViewCatalog, home: str) -> None:
    author, reader = configured(spark.newSession(), UNLIKE), configured(spark.newSession(), READER)
    with ViewSession(author, catalog) as session:
        session.sql(f"USE spark_catalog.{home}")
        for number, query in enumerate(DEPENDENT):
            session.sql(f"CREATE VIEW v{number} AS {query}")
            expected = sorted(map(str, author.sql(query).collect()))
            read = reader.sql(f"SELECT * FROM spark_catalog.{home}.v{number}")
            assert sorted(map(str, read.collect())) == expected, query
        assert row_settings(catalog, f"{home}.v0").items() >= UNLIKE.items()
        catalog.rename_view(f"{home}.v0", f"{home}.renamed")
        assert row_settings(catalog, f"{home}.renamed").items() >= UNLIKE.items()
    # A version of another author, and one without settings.
    with ViewSession(configured(spark.newSession(), READER), catalog) as session:
        session.sql(f"USE spark_catalog.{home}")
        session.sql(f"CREATE OR REPLACE VIEW renamed AS {DEPENDENT[0]}")
    assert row_settings(catalog, f"{home}.renamed").items() >= READER.items()
    assert {row.h for row in reader.sql(f"SELECT * FROM spark_catalog.{home}.renamed").collect()} == {0}
    catalog.execute(f"ALTER VIEW {home}.renamed AS SELECT id FROM {home}.t")
    assert row_settings(catalog, f"{home}.renamed") == {}
    catalog.load_view(f"{home}.renamed").update().rollback(version_id=1).commit()
    assert row_settings(catalog, f"{home}.renamed").items() >= UNLIKE.items()
    assert catalog.load_view(f"{home}.renamed").drift == ()


@needs_iceberg
def test_settings_after_a_replace_by_iceberg_are_drift(
    spark: SparkSession, catalog: HiveViewCatalog, home: str
) -> None:
    author, reader = configured(spark.newSession(), UNLIKE), configured(spark.newSession(), READER)
    spark.sql(f"CREATE TABLE prod.{home}.numbers (id INT)")
    spark.sql(f"INSERT INTO prod.{home}.numbers VALUES (1)")
    with ViewSession(author, catalog) as session:
        session.sql(f"CREATE VIEW prod.{home}.v AS SELECT id, hour(timestamp_seconds(0)) AS h FROM prod.{home}.numbers")
    text = f"SELECT id + 1 AS id, hour(timestamp_seconds(0)) AS h FROM prod.{home}.numbers"
    reader.sql(f"CREATE OR REPLACE VIEW prod.{home}.v AS {text}")
    view = catalog.load_view(f"{home}.v")
    stale = {f"setting {key}" for key in UNLIKE}
    assert {item.field for item in view.drift} >= stale
    assert {f"setting {item}" for item in row_settings(catalog, f"{home}.v")} >= stale
    assert "setting spark.sql.ansi.enabled" in str(catalog.dependencies.check_view(f"{home}.v").problems)
    with ViewSession(spark.newSession(), catalog) as session:
        assert session.sql(f"SELECT id FROM prod.{home}.v").collect() == [(2,)]
    catalog.repair_view(f"{home}.v")
    assert row_settings(catalog, f"{home}.v") == {}
    assert catalog.load_view(f"{home}.v").drift == ()
    reader.sql(f"DROP VIEW prod.{home}.v")
    reader.sql(f"DROP TABLE prod.{home}.numbers")


def test_import_of_views_of_this_spark(
    spark: SparkSession, catalog: HiveViewCatalog, home: str, tmp_path: Path
) -> None:
    own = spark.newSession()
    own.sql(f"USE spark_catalog.{home}")
    names = []
    for ansi in ("true", "false"):
        own.conf.set("spark.sql.ansi.enabled", ansi)
        own.conf.set("spark.sql.session.timeZone", "Asia/Tokyo" if ansi == "true" else "UTC")
        for number, query in enumerate(LEGACY):
            if ansi == "true" and "AS INT" in query:
                continue
            names.append(ViewName(home, f"v{number}_{ansi}"))
            own.sql(f"CREATE VIEW {names[-1].name} COMMENT 'of Spark {LINE}' AS {query}")
    names.append(ViewName(home, "commented"))
    own.sql("CREATE VIEW commented (x COMMENT 'first', y) AS SELECT id, name FROM t")
    before = {name: sorted(map(str, own.sql(f"SELECT * FROM {name.name}").collect())) for name in names}
    rows = {name: row_bytes(catalog, name) for name in names}

    job = SparkImport(spark, catalog)
    journal = tmp_path / "journal.jsonl"
    plan = job.plan(databases=[home])
    assert [entry.name for entry in plan.entries if entry.problem is not None] == []
    run = job.run(plan, journal, verify=ROWS)
    assert {outcome.status for outcome in run.outcomes} == {ImportStatus.CONVERTED}
    with ViewSession(own, catalog) as session:
        for name in names:
            assert sorted(map(str, session.sql(f"SELECT * FROM {name.name}").collect())) == before[name], name
    reverted = revert_run(catalog, journal)
    assert {outcome.status for outcome in reverted} == {RevertStatus.REVERTED}
    assert {name: row_bytes(catalog, name) for name in names} == rows


@needs_spark_4_1
@pytest.mark.parametrize(("version", "ansi"), [("4.1.4", "true"), ("4.0.0", "true"), ("3.5.9", "false"), ("", "false")])
def test_ansi_mode_of_a_view_that_records_none(
    spark: SparkSession, catalog: HiveViewCatalog, home: str, raw: Client, version: str, ansi: str
) -> None:
    own = configured(spark.newSession(), READER)
    own.sql(f"CREATE VIEW spark_catalog.{home}.v AS SELECT CAST(name AS INT) AS i FROM spark_catalog.{home}.t")
    row = raw.get_table(home, "v")
    del row.parameters["view.sqlConfig.spark.sql.ansi.enabled"]
    row.parameters["spark.sql.create.version"] = version
    raw.alter_table_with_environment_context(home, "v", row, EnvironmentContext(properties={}))
    try:
        read = {item.i for item in own.sql(f"SELECT * FROM spark_catalog.{home}.v").collect()}
    except spark_exceptions() as error:
        assert "CAST_INVALID_INPUT" in str(error)
        read = None
    assert read == (None if ansi == "true" else {None})
    assert read_view(row_of(catalog, ViewName(home, "v"))).settings["spark.sql.ansi.enabled"] == ansi


def test_setting_that_was_set_is_captured(spark: SparkSession) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.legacy.charVarcharAsString", "true")
    assert captured_settings(own, is_captured_by_spark)["spark.sql.legacy.charVarcharAsString"] == "true"


@pytest.mark.skipif(bool(SPARK_LINES[LINE].iceberg), reason="there is a runtime of Iceberg")
def test_session_with_iceberg_names_the_versions_with_a_runtime() -> None:
    with pytest.raises(NoIcebergRuntimeError, match=r"Install Spark 3\.5, 4\.0, 4\.1 .* in a `plain_session`"):
        iceberg_session("thrift://127.0.0.1:1", "")
