"""`ViewSession` on Spark with Iceberg, on Spark Connect and on plain Spark: statements and queries about views."""

from __future__ import annotations

from collections.abc import Iterator
from logging.handlers import BufferingHandler
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError, UsageError
from hive_views.spark import ViewSession
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spec.session_settings import PREFIX
from hive_views.sql.types.upcasts import can_upcast
from tests.integration.spark.session_kinds import RefusedError, SessionClient
from tests.integration.spark.spark_versions import needs_iceberg
from tests.suites import extended


@pytest.fixture
def home(spark: SparkSession, database: str) -> Iterator[str]:
    """A database with a Hive table `orders` (id, item, price), which every Spark reads."""
    spark.sql(
        f"CREATE TABLE spark_catalog.{database}.orders (id INT, item STRING, price DECIMAL(10,2)) STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO spark_catalog.{database}.orders VALUES (1, 'a', 1.5), (2, 'b', 2.5), (3, 'x', 10)")
    yield database
    spark.sql(f"DROP TABLE IF EXISTS spark_catalog.{database}.orders")


@pytest.fixture
def catalog(session_catalog: HiveViewCatalog) -> HiveViewCatalog:
    return session_catalog


@pytest.mark.parametrize("client", ["iceberg", *extended("connect", "plain")], indirect=True)
def test_create_read_change_and_drop(client: SessionClient, catalog: HiveViewCatalog, home: str) -> None:
    client.rows(f"USE spark_catalog.{home}")
    assert (
        client.rows("CREATE VIEW v (n COMMENT 'the number', what) COMMENT 'a view' AS SELECT id, item FROM orders")
        == []
    )
    assert client.columns("CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS x") == []
    assert client.columns("SELECT * FROM v") == ["n", "what"]
    assert client.rows("SELECT v.n, what FROM v WHERE n > 1 ORDER BY n") == [(2, "b"), (3, "x")]
    assert client.rows(f"SELECT max({home}.v.n) FROM {home}.v") == [(3,)]
    assert client.rows(f"SELECT max(prod.{home}.v.n) FROM prod.{home}.v") == [(3,)]
    version = catalog.load_view((home, "v")).current_version()
    assert version.default_namespace == (home,)
    assert version.default_catalog == "spark_catalog"

    client.rows("CREATE OR REPLACE VIEW v AS SELECT id AS n, price FROM orders")
    client.rows(f"ALTER VIEW prod.{home}.v AS SELECT id * 2 AS n, price FROM orders")
    assert client.rows("SELECT sum(n), sum(price) FROM v") == [(12, "14.00")]
    client.rows("ALTER VIEW v SET TBLPROPERTIES ('note' = 'it\\'s')")
    assert catalog.load_view((home, "v")).metadata.properties["note"] == "it's"
    client.rows("ALTER VIEW v UNSET TBLPROPERTIES ('note')")
    assert "note" not in catalog.load_view((home, "v")).metadata.properties

    assert client.columns("DESCRIBE v") == ["col_name", "data_type", "comment"]
    assert client.rows("DESCRIBE TABLE v") == [("n", "int", ""), ("price", "decimal(10,2)", "")]
    details = {row[0]: row[1] for row in client.rows(f"DESC FORMATTED {home}.v")}
    assert details["Original Text"] == "SELECT id * 2 AS n, price FROM orders"
    assert client.columns("SHOW CREATE TABLE v") == ["createtab_stmt"]
    assert client.rows("SHOW CREATE TABLE v")[0][0].endswith("AS SELECT id * 2 AS n, price FROM orders")
    assert (home, "v", False) in client.rows("SHOW VIEWS")
    assert client.rows(f"SHOW VIEWS IN prod.{home} LIKE 'v*'") == [(home, "v", False)]

    client.rows("CREATE VIEW above AS SELECT n FROM v")
    client.rows("ALTER VIEW above RECOMPILE")
    assert client.rows("SELECT sum(n) FROM above") == [(12,)]
    with pytest.raises(RefusedError, match="above"):
        client.rows("DROP VIEW v RESTRICT")
    client.rows("ALTER VIEW above RENAME TO higher")
    assert client.columns("DROP VIEW v CASCADE") == ["dropped"]
    assert catalog.list_views(home) == []


def test_statements_log_no_errors_that_they_handle(
    spark: SparkSession, catalog: HiveViewCatalog, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = pytest.importorskip("pyspark.logger").PySparkLogger.getLogger("SQLQueryContextLogger")
    handler = BufferingHandler(100)
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "disabled", False)
    with ViewSession(spark.newSession(), catalog) as session:
        session.sql(f"CREATE VIEW prod.{home}.v AS SELECT id FROM spark_catalog.{home}.orders")
        assert session.sql(f"SELECT id FROM prod.{home}.v VERSION AS OF 1 WHERE id = 1").collect() == [(1,)]
        with pytest.raises(SqlError):
            session.sql(f"SELECT nothing FROM prod.{home}.v")
        assert handler.buffer == []
        with pytest.raises(AnalysisException):
            spark.sql(f"SELECT nothing FROM spark_catalog.{home}.orders")
        assert len(handler.buffer) == 1
        session.sql(f"DROP VIEW prod.{home}.v")


def test_members_of_the_spark_session(spark: SparkSession, catalog: HiveViewCatalog, home: str) -> None:
    with ViewSession(spark.newSession(), catalog) as session:
        session.catalog.setCurrentCatalog("spark_catalog")
        session.catalog.setCurrentDatabase(home)
        session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        session.create_view("hours", "SELECT hour(timestamp'1970-01-01 00:00:00Z') AS tokyo, id FROM orders")
        session.create_view("hours", "SELECT hour(timestamp_seconds(0)) AS tokyo FROM orders LIMIT 1", replace=True)
        session.conf.set("spark.sql.session.timeZone", "UTC")
        for name in ("hours", f"{home}.hours", f"`prod`.{home}.`hours`"):
            assert session.table(name).collect() == session.read.option("a", "b").table(name).collect() == [(9,)]
            assert session.readStream.table(name).collect() == [(9,)]  # not a stream, as for Spark's own views
        assert session.read.table("orders").count() == session.createDataFrame([(1,), (2,), (3,)], "id int").count()
        assert "view_catalog" in dir(session) and "createDataFrame" in dir(session)
        assert session.view_catalog is catalog
        with pytest.raises(SqlError, match="is not the name of a table or view"):
            session.table("orders LIMIT 1")
        with pytest.raises(UsageError, match="pass the text"):
            session.create_view("frame", session.table("orders"))  # type: ignore[arg-type]
        with pytest.raises(AttributeError, match="nothing"):
            session.nothing()


@pytest.mark.parametrize("kind", ["spark", "connect_spark"])
def test_values_and_data_frames_in_a_statement(
    kind: str, request: pytest.FixtureRequest, catalog: HiveViewCatalog, home: str
) -> None:
    spark = request.getfixturevalue(kind)
    with ViewSession(spark.newSession() if kind == "spark" else spark, catalog) as session:
        session.sql(f"CREATE VIEW prod.{home}.ids AS SELECT 7L AS id")
        frame = session.sql("SELECT id FROM {view}", view=session.table(f"prod.{home}.ids"))
        assert frame.collect() == [(7,)]
        assert session.sql(f"SELECT id, {{x}} AS x FROM prod.{home}.ids WHERE id > {{y}}", x="a'b", y=6).collect() == [
            (7, "a'b")
        ]
        assert not [row for row in session.sql("SHOW VIEWS").collect() if "pyspark" in row.viewName] or kind != "spark"


TYPES = (
    *("INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(12, 2)", "DECIMAL(12, 4)", "DECIMAL(20, 0)"),
    *("BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING", "BINARY", "ARRAY<INT>", "ARRAY<BIGINT>"),
    *("MAP<INT, DATE>", "MAP<STRING, TIMESTAMP>", "STRUCT<a: INT>", "STRUCT<b: BIGINT>", "STRUCT<a: INT, b: INT>"),
    *("STRUCT<a: STRUCT<b: ARRAY<INT>>, c: DATE>", "STRUCT<x: STRUCT<y: ARRAY<STRING>>, z: STRING>"),
)


def test_upcasts_are_those_of_spark(spark: SparkSession) -> None:
    spark_types = spark._jvm.org.apache.spark.sql.types.DataType
    rule = getattr(spark._jvm.org.apache.spark.sql.catalyst.expressions, "Cast$").__getattr__("MODULE$")
    columns = spark.sql(f"SELECT {', '.join(f'CAST(NULL AS {name})' for name in TYPES)}").toDF(*map(str, TYPES))
    iceberg = {field.name: field.field_type for field in iceberg_schema(columns.schema).fields}
    differing = {
        (source, target)
        for source in TYPES
        for target in TYPES
        if can_upcast(iceberg[source], iceberg[target])
        != rule.canUpCast(spark_types.fromDDL(source), spark_types.fromDDL(target))
    }
    others = ("BIGINT", "TIMESTAMP_NTZ")
    assert differing == {pair for kind in others for pair in (("TIMESTAMP", kind), (kind, "TIMESTAMP"))}
    assert can_upcast(iceberg[TYPES[-2]], iceberg[TYPES[-1]])


@needs_iceberg
def test_column_of_a_wider_nested_type_is_read(spark: SparkSession, catalog: HiveViewCatalog, home: str) -> None:
    narrow, wide = (f"STRUCT<`a b`: STRUCT<c: {kind}>, d: ARRAY<{kind}>>" for kind in ("INT", "BIGINT"))
    value = "named_struct('a b', named_struct('c', 1), 'd', array(2))"
    with ViewSession(spark.newSession(), catalog) as session:
        session.sql(f"USE prod.{home}")
        for kind in (wide, narrow):
            session.sql("DROP TABLE IF EXISTS nested")
            session.sql(f"CREATE TABLE nested (s {kind}) USING iceberg")
            session.sql(f"INSERT INTO nested SELECT CAST({value} AS {kind})")
            if kind == wide:
                session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
                session.sql("CREATE VIEW reads_nested AS SELECT s FROM nested")
                session.conf.set("spark.sql.session.timeZone", "UTC")
            [row] = session.table("reads_nested").collect()
            assert row.s.asDict(recursive=True) == {"a b": {"c": 1}, "d": [2]}
        assert "bigint" in dict(session.table("reads_nested").dtypes)["s"]
        session.sql("DROP TABLE nested")


def test_time_travel_and_metadata_tables(client: SessionClient, catalog: HiveViewCatalog, home: str) -> None:
    client.rows(f"USE spark_catalog.{home}")
    client.rows("CREATE VIEW v AS SELECT id AS first FROM orders")
    client.rows("ALTER VIEW v AS SELECT item AS second, id FROM orders WHERE id > 1")
    client.rows("ALTER VIEW v AS SELECT 7 AS third")
    assert client.columns("SELECT * FROM v VERSION AS OF 1") == ["first"]
    assert client.rows("SELECT v.second FROM v FOR VERSION AS OF 2 ORDER BY id") == [("b",), ("x",)]
    assert client.rows(
        f"SELECT a.third, b.first FROM prod.{home}.v a JOIN {home}.v FOR SYSTEM_VERSION AS OF '1' b ON b.first = 2"
    )
    history = catalog.load_view((home, "v")).history()
    at = f"timestamp_millis({history[1].timestamp_ms}L)"
    assert client.columns(f"SELECT * FROM v TIMESTAMP AS OF {at} AS old") == ["second", "id"]
    assert client.columns(f"SELECT * FROM v FOR SYSTEM_TIME AS OF {at} - INTERVAL 1 MILLISECOND WHERE first > 1") == [
        "first"
    ]
    with pytest.raises(RefusedError, match=r"no version 9; its metadata holds \[1, 2, 3\]") as caught:
        client.rows("SELECT *\nFROM v VERSION AS OF 9")
    assert (caught.value.line, caught.value.column) == (2, 6)
    with pytest.raises(RefusedError, match=r"holds \[1, 2, 3\].*first defined at"):
        client.rows("SELECT * FROM v TIMESTAMP AS OF '2001-01-01'")

    assert client.rows("SELECT version_id, is_current FROM v.versions ORDER BY 1") == [
        (1, False),
        (2, False),
        (3, True),
    ]
    assert client.rows(f"SELECT versions.texts['spark'] FROM prod.{home}.v.versions WHERE version_id = 3") == [
        ("SELECT 7 AS third",)
    ]
    assert client.rows(f"SELECT h.version_id FROM {home}.v.history h ORDER BY made_current_at") == [
        (1,),
        (2,),
        (3,),
    ]
    assert client.rows("SELECT unix_millis(made_current_at) FROM v.history WHERE version_id = 2") == [
        (history[1].timestamp_ms,)
    ]
    client.rows("CREATE OR REPLACE VIEW v AS SELECT id FROM orders")
    assert client.rows("SELECT database, name, kind, state, depth FROM v.lineage") == [
        (home, "orders", "hive-table", "same", 1)
    ]


def test_settings_at_creation_apply_to_every_read(client: SessionClient, catalog: HiveViewCatalog, home: str) -> None:
    client.rows(f"USE spark_catalog.{home}")
    query = "SELECT id, CAST(item AS INT) AS n, CAST(TIMESTAMP'2020-01-01 00:00:00Z' AS STRING) AS at FROM orders"
    client.rows("SET spark.sql.ansi.enabled=false")
    client.rows("SET spark.sql.session.timeZone=Asia/Tokyo")
    client.rows(f"CREATE VIEW lax AS {query}")
    client.rows("SET spark.sql.ansi.enabled=true")
    client.rows("SET spark.sql.session.timeZone=UTC")
    client.rows(f"CREATE VIEW strict AS {query}")
    client.rows("CREATE VIEW over_lax AS SELECT sum(id) AS ids, count(n) AS ns, min(at) AS at FROM lax")
    summary = catalog.load_view((home, "lax")).current_version().summary
    assert summary[f"{PREFIX}spark.sql.ansi.enabled"] == "false"
    assert summary[f"{PREFIX}spark.sql.session.timeZone"] == "Asia/Tokyo"

    for ansi in ("true", "false"):
        client.rows(f"SET spark.sql.ansi.enabled={ansi}")
        for name in ("lax", f"prod.{home}.lax"):
            assert client.rows(f"SELECT * FROM {name} WHERE id = 1") == [(1, None, "2020-01-01 09:00:00")]
        assert client.rows("SELECT * FROM over_lax") == [(6, 0, "2020-01-01 09:00:00")]
        assert client.rows("SELECT at FROM strict WHERE id = 1") == [("2020-01-01 00:00:00",)]
        with pytest.raises(RefusedError, match="CAST_INVALID_INPUT"):
            client.rows("SELECT n FROM strict")
        # Both settings in one query, in addition to the session's own.
        assert client.rows("SELECT lax.at, strict.at FROM lax JOIN strict ON lax.id = strict.id AND lax.id = 1") == [
            ("2020-01-01 09:00:00", "2020-01-01 00:00:00")
        ]
        if ansi == "false":
            assert client.rows("SELECT CAST('x' AS INT), n FROM lax WHERE id = 1") == [(None, None)]
    client.rows("ALTER VIEW lax RECOMPILE")
    assert catalog.load_view((home, "lax")).current_version().summary == summary


def test_other_statements_are_passed_to_spark(client: SessionClient, home: str) -> None:
    client.rows(f"USE spark_catalog.{home}")
    client.rows("CREATE VIEW v AS SELECT id FROM orders")
    client.rows("CREATE TEMPORARY VIEW v AS SELECT 'temporary' AS x")
    assert client.rows("SELECT * FROM v") == [("temporary",)]
    assert client.columns(f"SELECT * FROM {home}.v") == ["id"]
    assert client.rows("WITH w AS (SELECT 5 AS x) SELECT * FROM w") == [(5,)]
    assert ("", "v", True) in client.rows("SHOW VIEWS")
    assert client.rows("DESCRIBE v") == [("x", "string", None)]
    client.rows("DROP VIEW v")
    assert client.columns("SELECT * FROM v") == ["id"]
    assert client.rows("WITH v AS (SELECT 6 AS x) SELECT * FROM v") == [(6,)]
    assert client.rows("DESCRIBE orders")[0][:2] == ("id", "int")
    assert client.rows("SELECT current_schema()") == [(home,)]
    assert client.rows("DROP VIEW IF EXISTS nothing_here") == []
    for text, condition in (
        ("DROP VIEW nothing_here", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM nothing_here", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELEKT 1", "PARSE_SYNTAX_ERROR"),
    ):
        with pytest.raises(RefusedError) as caught:
            client.rows(text)
        assert caught.value.condition in (condition, "VIEW_NOT_FOUND")
    with pytest.raises(RefusedError, match="is a view: use DROP VIEW"):
        client.rows("DROP TABLE v")


def test_errors_point_into_the_typed_text(
    client: SessionClient, catalog: HiveViewCatalog, spark: SparkSession, home: str
) -> None:
    client.rows(f"USE spark_catalog.{home}")
    client.rows("SET spark.sql.ansi.enabled=true")

    def refused(text: str) -> RefusedError:
        with pytest.raises(RefusedError) as caught:
            client.rows(text)
        return caught.value

    error = refused("CREATE VIEW v AS\nSELECT '😀', id + missing FROM orders")
    assert (error.line, error.column, error.view) == (2, 18, None)
    error = refused("CREATE VIEW v AS\n  SELECT id, array(1, map(1, 2)) AS a FROM orders")
    assert (error.kind, error.line, error.column) == ("SparkSqlError", 2, 14)
    assert error.condition == "DATATYPE_MISMATCH.DATA_DIFF_TYPES"
    assert not catalog.view_exists((home, "v"))

    client.rows("CREATE VIEW v AS SELECT id, item FROM orders")
    client.rows("ALTER VIEW v AS SELECT id FROM orders")
    error = refused("SELECT '😀' AS a,\n  v.id, item FROM v VERSION AS OF 1, v AS second WHERE nothing = 1")
    assert (error.line, error.column) == (2, 56)
    assert error.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    error = refused("SELECT id FROM v VERSION AS OF 1 AS one,\n v WHERE id = CAST('x' AS INT)")
    assert error.condition == "AMBIGUOUS_REFERENCE"
    error = refused("SELECT 1, one.id FROM v VERSION AS OF 1 AS one\nWHERE CAST(one.item AS INT) = 1")
    assert (error.condition, error.line, error.column) == ("CAST_INVALID_INPUT", 2, 7)

    # A definition that a change of its table broke: the error names the view, and points into its definition.
    spark.sql(f"DROP TABLE spark_catalog.{home}.orders")
    spark.sql(f"CREATE TABLE spark_catalog.{home}.orders (other INT) STORED AS PARQUET")
    error = refused("SELECT * FROM v VERSION AS OF 1")
    assert (error.view, error.line, error.column) == (f"{home}.v", 1, 8)
    assert "In the definition of view" in str(error)


@needs_iceberg
def test_catalog_of_iceberg_without_a_current_database(session: ViewSession, database: str) -> None:
    session.sql("USE prod")
    session.sql(f"CREATE VIEW prod.{database}.v AS SELECT 1 AS a")
    session.sql(f"CREATE OR REPLACE VIEW {database}.v AS SELECT 2 AS a")
    assert session.sql(f"SELECT a FROM prod.{database}.v").collect()[0].a == 2
    session.sql(f"DROP VIEW prod.{database}.v")
    assert [row for row in session.sql(f"SHOW VIEWS IN prod.{database}").collect() if not row.isTemporary] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CREATE VIEW v AS SELECT * FROM temporary_one", "temporary_one is a temporary view"),
        ("CREATE VIEW v AS SELECT temporary_f(1) AS x", "A view cannot call a temporary function"),
        ("CREATE VIEW v AS SELECT * FROM other_catalog.x.y", "another catalog"),
        ("CREATE VIEW v SELECT 1", "Expected AS"),
        ("ALTER VIEW there WITH SCHEMA BINDING", "WITH SCHEMA: an Iceberg view does not keep it"),
        ("ALTER VIEW there SET TBLPROPERTIES ('a')", "Expected a value"),
        ("DROP TABLE there", "is a view: use DROP VIEW"),
        ("ALTER VIEW there RENAME TO other_catalog.x.y", "is in another catalog"),
    ],
)
def test_invalid_statement_is_rejected(
    spark: SparkSession, catalog: HiveViewCatalog, home: str, text: str, reason: str
) -> None:
    with ViewSession(spark.newSession(), catalog) as session:
        session.sql(f"USE spark_catalog.{home}")
        session.sql("CREATE TEMPORARY VIEW temporary_one AS SELECT 1 AS x")
        session.spark.udf.register("temporary_f", str)
        session.sql("CREATE VIEW there AS SELECT 1 AS x")
        with pytest.raises(SqlError, match=reason):
            session.sql(text)
        assert [name for _, name in catalog.list_views(home)] == ["there"]


def test_definition_runs_no_job(spark: SparkSession, catalog: HiveViewCatalog, home: str) -> None:
    tracker = spark.sparkContext.statusTracker()

    def jobs() -> set[Any]:
        return set(tracker.getJobIdsForGroup(None))

    with ViewSession(spark.newSession(), catalog) as session:
        session.sql(f"USE spark_catalog.{home}")
        before = jobs()
        session.sql("CREATE VIEW v AS SELECT item, sum(price) AS total FROM orders GROUP BY item ORDER BY 2")
        session.sql("ALTER VIEW v AS SELECT item, count(*) AS total FROM orders GROUP BY item")
        session.sql("ALTER VIEW v RECOMPILE")
        session.sql("SELECT * FROM v VERSION AS OF 1")
        assert not jobs() - before  # Spark forgets old ones
        session.sql("SELECT * FROM v VERSION AS OF 1").collect()
        assert jobs() - before
