"""Which statements `ViewSession` passes to Spark unchanged, rewrites, or rejects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog, define
from hive_views.errors import InvalidPropertyError, SparkSqlError, SqlError, ViewDriftWarning
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.spark import ViewSession
from tests.integration.spark.plain_reader import PlainReader
from tests.integration.spark.session_kinds import RefusedError, SessionClient
from tests.integration.spark.spark_versions import needs_spark_4_1


@pytest.fixture
def home(spark: SparkSession, database: str) -> Iterator[str]:
    """A database with a Hive table `plain` and an Iceberg table `iced`."""
    spark.sql(f"CREATE TABLE spark_catalog.{database}.plain (a INT, b STRING) STORED AS PARQUET")
    spark.sql(f"INSERT INTO spark_catalog.{database}.plain VALUES (1, 'one'), (2, 'two')")
    spark.sql(f"CREATE TABLE prod.{database}.iced (a INT, b STRING) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.iced VALUES (1, 'ice'), (3, 'three')")
    yield database
    for name in (f"spark_catalog.{database}.plain", f"prod.{database}.iced"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture
def session(spark: SparkSession, session_catalog: HiveViewCatalog, home: str) -> Iterator[ViewSession]:
    """On Spark with Iceberg; the test's database is current in Iceberg's catalog."""
    with ViewSession(spark.newSession(), session_catalog) as session:
        session.sql(f"USE prod.{home}")
        yield session


def rows(session: ViewSession, text: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql(text).collect())


def given_to_spark(session: ViewSession, text: str) -> str:
    return session._queries.prepare(text).rewritten.text


def test_views_that_spark_reads_correctly_are_not_replaced(session: ViewSession, home: str) -> None:
    session.sql("CREATE VIEW i AS SELECT * FROM iced")
    session.sql("CREATE VIEW p AS SELECT * FROM plain")
    session.sql("CREATE VIEW over AS SELECT i.a FROM i JOIN iced ON i.a = iced.a")
    for text in (
        f"SELECT * FROM prod.{home}.i",
        "SELECT * FROM i, p",
        "SELECT a -- i\nFROM over",
        "SELECT * FROM iced",
    ):
        assert given_to_spark(session, text) == text
        session.sql(text).collect()
    # The session catalog reads the row: with ANSI off, and no Iceberg tables.
    assert given_to_spark(session, f"SELECT * FROM spark_catalog.{home}.p") != f"SELECT * FROM spark_catalog.{home}.p"
    assert rows(session, f"SELECT * FROM spark_catalog.{home}.i") == [(1, "ice"), (3, "three")]
    session.sql("SET spark.sql.ansi.enabled=false")
    assert given_to_spark(session, "SELECT * FROM i") != "SELECT * FROM i"
    assert rows(session, "SELECT a FROM over") == [(1,), (3,)]


def test_views_of_other_writers_are_not_replaced(
    session: ViewSession, spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    spark.newSession().sql(f"CREATE VIEW prod.{home}.java AS SELECT a FROM prod.{home}.iced")
    session_catalog.execute("CREATE VIEW rules AS SELECT a, b FROM plain", database=home)
    spark.newSession().sql(f"CREATE VIEW spark_catalog.{home}.hive_view AS SELECT 1 AS x")
    session.sql(f"USE spark_catalog.{home}")
    for text in (
        f"SELECT * FROM prod.{home}.java",
        "SELECT * FROM rules",
        f"SELECT * FROM spark_catalog.{home}.hive_view",
    ):
        assert given_to_spark(session, text) == text
        session.sql(text).collect()
    session.sql(f"USE prod.{home}")
    # The row's text says no catalog, so Spark would look for its tables in the current one.
    assert rows(session, f"SELECT * FROM spark_catalog.{home}.rules") == [(1, "one"), (2, "two")]
    assert rows(session, "SELECT * FROM java VERSION AS OF 1") == [(1,), (3,)]
    session.sql(f"ALTER VIEW spark_catalog.{home}.hive_view SET TBLPROPERTIES ('a' = 'b')")
    session.sql(f"DROP VIEW spark_catalog.{home}.hive_view")


def test_view_over_view_with_other_settings(session: ViewSession, home: str) -> None:
    session.sql("SET spark.sql.ansi.enabled=false")
    session.sql("CREATE VIEW lax AS SELECT a, CAST(b AS INT) AS n FROM iced")
    session.sql("SET spark.sql.ansi.enabled=true")
    session.sql("CREATE VIEW over AS SELECT l.a, n FROM lax AS l JOIN iced ON iced.a = l.a AND l.a = 1")
    assert given_to_spark(session, "SELECT * FROM over") != "SELECT * FROM over"
    assert rows(session, "SELECT * FROM over") == [(1, None)]
    session.sql(f"USE spark_catalog.{home}")
    assert rows(session, "SELECT * FROM over") == [(1, None)]
    assert rows(session, "SELECT * FROM lax VERSION AS OF 1 WHERE a = 3") == [(3, None)]


def test_nested_views_have_their_own_settings(session: ViewSession) -> None:
    hours = {"UTC": 0, "Asia/Tokyo": 9}
    for number, zone in enumerate(hours):
        session.sql(f"SET spark.sql.session.timeZone={zone}")
        session.sql(f"CREATE VIEW inner_{number} AS SELECT hour(timestamp_seconds(0)) AS i FROM iced LIMIT 1")
    for number, zone in enumerate(hours):
        session.sql(f"SET spark.sql.session.timeZone={zone}")
        for inner in range(len(hours)):
            query = f"SELECT i, hour(timestamp_seconds(0)) AS o FROM inner_{inner}"
            session.sql(f"CREATE VIEW outer_{number}_{inner} AS {query}")
    for zone in hours:
        session.sql(f"SET spark.sql.session.timeZone={zone}")
        for number, outer in enumerate(hours.values()):
            for inner_number, inner in enumerate(hours.values()):
                assert rows(session, f"SELECT i, o FROM outer_{number}_{inner_number}") == [(inner, outer)]


def test_versions_are_read_in_insert_create_table_and_merge(session: ViewSession, home: str) -> None:
    session.sql("CREATE VIEW v AS SELECT a FROM iced")
    session.sql("ALTER VIEW v AS SELECT a, b FROM iced")
    session.sql("INSERT INTO iced SELECT a + 10, 'new' FROM v VERSION AS OF 1")
    assert rows(session, "SELECT max(a) FROM v") == [(13,)]
    session.sql("CREATE TABLE copy USING iceberg AS SELECT * FROM v VERSION AS OF 1")
    assert rows(session, "TABLE copy") == [(1,), (3,), (11,), (13,)]
    source = "(SELECT * FROM v VERSION AS OF 1) v"
    session.sql(f"MERGE INTO copy USING {source} ON copy.a = v.a WHEN MATCHED AND v.a > 3 THEN DELETE")
    assert rows(session, "SELECT * FROM copy") == [(1,), (3,)]
    assert "Iced" not in session.sql("EXPLAIN SELECT * FROM v VERSION AS OF 1").collect()[0][0]
    session.sql("CREATE TEMPORARY VIEW kept AS SELECT count(*) AS n FROM v VERSION AS OF 1")
    session.close()
    assert rows(session, "SELECT * FROM kept") == [(4,)]
    session.sql("DROP TABLE copy")


def test_frame_keeps_definition_after_view_changes(session: ViewSession) -> None:
    session.sql("CREATE VIEW v AS SELECT a FROM iced")
    old = session.sql("SELECT * FROM v VERSION AS OF 1")
    session.sql("ALTER VIEW v AS SELECT b FROM iced")
    session.sql("DROP VIEW v")
    assert old.columns == ["a"]
    assert sorted(row.a for row in old.collect()) == [1, 3]


def test_table_takes_precedence_over_metadata_table(
    session: ViewSession, spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    session.sql("CREATE VIEW v AS SELECT a FROM iced")
    assert session.sql("SELECT * FROM v.history").columns == ["made_current_at", "version_id", "is_current"]
    assert rows(session, f"SELECT count(*) FROM {home}.iced.snapshots") == [(1,)]
    session_catalog.create_namespace(home + "_v")
    session.sql(f"CREATE VIEW {home}_v AS SELECT a FROM iced")
    assert rows(session, f"SELECT count(*) FROM {home}_v.history") == [(1,)]
    spark.sql(f"CREATE TABLE prod.{home}_v.history (real INT) USING iceberg")
    try:
        assert session.sql(f"SELECT * FROM {home}_v.history").columns == ["real"]
    finally:
        spark.sql(f"DROP TABLE prod.{home}_v.history")
        session_catalog.drop_namespace(home + "_v")


def test_drifted_row_warns_and_metadata_file_is_read(session: ViewSession, plain: PlainReader, home: str) -> None:
    session.sql("CREATE VIEW v AS SELECT a FROM plain")
    plain.sql(f"ALTER VIEW {home}.v AS SELECT b FROM {home}.plain")
    with pytest.warns(ViewDriftWarning, match=f"{home}.v"):
        assert session.sql(f"SELECT * FROM spark_catalog.{home}.v").columns == ["a"]


def test_text_of_another_dialect_is_rejected(session: ViewSession, session_catalog: HiveViewCatalog, home: str) -> None:
    made = session_catalog.author((home, "t"), "SELECT a FROM plain", database=home)
    version = define('SELECT "a" FROM plain', dialect="trino", default_namespace=(home,))
    session_catalog.create_view((home, "t"), made.schema, version)
    with pytest.raises(SqlError, match="has no text for Spark, only for trino") as caught:
        session.sql("SELECT *\n FROM t")
    assert (caught.value.line, caught.value.column) == (2, 7)


def test_text_for_hive_is_preferred_to_other_dialects(
    session: ViewSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    made = session_catalog.author((home, "t"), "SELECT 1 AS a", database=home)
    trino, hive = (
        define(f"SELECT {value} AS a", dialect=dialect, default_namespace=(home,))
        for dialect, value in (("trino", 1), ("hive", 2))
    )
    version = trino.model_copy(update={"representations": [*trino.representations, *hive.representations]})
    session_catalog.create_view((home, "t"), made.schema, version)
    assert session.sql("SELECT a FROM t").collect() == [(2,)]


def test_columns_have_declared_types_or_raise(
    session: ViewSession, spark: SparkSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    session.sql("CREATE VIEW wide AS SELECT CAST(a AS BIGINT) AS a FROM iced")
    schema = session_catalog.load_view((home, "wide")).schema()
    narrow = session_catalog.author((home, "w2"), "SELECT a FROM iced", database=home)
    session_catalog.create_view((home, "w2"), schema, narrow.version)
    assert session.sql("SELECT * FROM w2 VERSION AS OF 1").dtypes == [("a", "bigint")]
    session.sql("CREATE VIEW v AS SELECT a FROM iced")
    spark.sql(f"ALTER TABLE prod.{home}.iced ALTER COLUMN a TYPE BIGINT")
    with pytest.raises(SqlError, match=r"declared as int, and its query returns bigint now.*RECOMPILE"):
        session.sql("SELECT * FROM v VERSION AS OF 1")
    with pytest.raises(SparkSqlError, match=r'"BIGINT" to "INT"\. A table was changed .*RECOMPILE') as caught:
        session.sql("SELECT * FROM v")
    assert caught.value.condition == "CANNOT_UP_CAST_DATATYPE"
    session.sql("ALTER VIEW v RECOMPILE")
    assert session.sql("SELECT * FROM v").dtypes == [("a", "bigint")]


def test_view_over_iceberg_table_needs_iceberg(session: ViewSession, plain: PlainReader, home: str) -> None:
    session.sql("CREATE VIEW v AS SELECT a FROM iced")
    session.sql("CREATE VIEW p AS SELECT a FROM plain")
    client = SessionClient("plain", plain.ask_views)
    for text in (f"SELECT * FROM {home}.v", f"SELECT * FROM prod.{home}.v VERSION AS OF 1"):
        with pytest.raises(RefusedError, match=f"{home}.iced is an Iceberg table, which this Spark cannot read"):
            client.rows(text)
    # Parameters of a query (with Iceberg's extensions Spark 4.1 loses them, in any query).
    answer = plain.ask_views(f"SELECT b FROM {home}.p JOIN {home}.plain USING (a) WHERE a = :x", {"x": 2})
    assert answer["rows"] == [["two"]]
    # Our catalog's name works there all the same, for what plain Spark reads.
    assert client.rows(
        f"SELECT p.a, plain.b FROM prod.{home}.p JOIN prod.{home}.plain ON p.a = plain.a AND p.a = 2"
    ) == [(2, "two")]


def test_names_of_other_catalogs(session: ViewSession, home: str, tmp_path: Path) -> None:
    for key, value in (
        ("", "org.apache.iceberg.spark.SparkCatalog"),
        (".type", "hadoop"),
        (".warehouse", str(tmp_path)),
    ):
        session.spark.conf.set(f"spark.sql.catalog.other{key}", value)
    session.sql("CREATE VIEW v AS SELECT a FROM iced")
    session.sql(f"CREATE TABLE other.{home}.v (z INT) USING iceberg")
    session.sql(f"USE other.{home}")
    assert session.sql("SELECT * FROM v").columns == ["z"]
    assert session.sql("DESCRIBE v").collect()[0].col_name == "z"
    assert rows(session, f"SELECT * FROM prod.{home}.v") == [(1,), (3,)]
    with pytest.raises(SqlError, match="v is a name in other, the current catalog") as caught:
        session.sql(f"CREATE VIEW prod.{home}.w AS\nSELECT z FROM v")
    assert (caught.value.line, caught.value.column) == (2, 15)
    with pytest.raises(SqlError, match="other is a catalog"):
        session.sql(f"CREATE VIEW prod.{home}.w AS SELECT z FROM other.v")
    session.sql(f"CREATE VIEW prod.{home}.w AS SELECT a FROM prod.{home}.v")
    session.sql("DROP TABLE v")


def test_spark_on_another_metastore_is_rejected(spark: SparkSession, metastore: EmbeddedMetastore) -> None:
    elsewhere = HiveViewCatalog("prod", uri="thrift://127.0.0.1:1", warehouse=metastore.warehouse)
    with pytest.raises(InvalidPropertyError, match="is not on the metastore of this HiveViewCatalog"):
        ViewSession(spark, elsewhere)


def test_runtime_failures_are_converted(session: ViewSession) -> None:
    session.sql("CREATE VIEW v AS SELECT a, CAST(b AS INT) AS n FROM iced")
    with pytest.raises(SparkSqlError) as caught, session.errors():
        session.sql("SELECT 1,\n x.n FROM v VERSION AS OF 1 AS x").collect()
    assert caught.value.condition == "CAST_INVALID_INPUT"
    assert caught.value.sql_state == "22018"
    assert (caught.value.line, caught.value.column) == (2, 11)


def test_failures_in_view_point_into_its_definition(session: ViewSession, spark: SparkSession, home: str) -> None:
    session.sql("CREATE VIEW v AS SELECT a, CAST(b AS INT) AS n FROM iced")
    session.sql("CREATE VIEW higher AS\nSELECT 'ü' AS u,\n n + 1 AS m FROM v")
    for text in ("SELECT m FROM higher", "SELECT 1, 2, 3, 4, 5, m FROM higher VERSION AS OF 1"):
        with pytest.raises(SparkSqlError) as caught, session.errors():
            session.sql(text).collect()
        assert (caught.value.view, caught.value.line, caught.value.column) == (f"{home}.higher", 2, 18)
    # Passed to Spark unchanged.
    with pytest.raises(SparkSqlError) as caught, session.errors():
        session.sql("SELECT 1,\n x.n FROM v AS x").collect()
    assert (caught.value.view, caught.value.line, caught.value.column) == (None, 2, 11)
    # Spark's analyzer, in a view below the one that is read.
    spark.sql(f"ALTER TABLE prod.{home}.iced RENAME COLUMN b TO c")
    for text in ("SELECT 1 AS one,\n m FROM higher", "CREATE VIEW top AS SELECT m FROM higher"):
        with pytest.raises(SparkSqlError, match="UNRESOLVED_COLUMN") as caught:
            session.sql(text)
        assert (caught.value.view, caught.value.line, caught.value.column) == (f"{home}.v", 1, 16)


@needs_spark_4_1  # scripts are off by default in 4.0
def test_unparsable_statement_is_not_rewritten(session: ViewSession, home: str) -> None:
    session.sql("CREATE VIEW v AS SELECT a FROM iced")
    scripted = f"BEGIN SELECT a FROM {home}.v; END"
    assert rows(session, scripted) == [(1,), (3,)]
    session.sql("SET spark.sql.ansi.enabled=false")
    with pytest.raises(
        SqlError, match=r"v is a view that Spark by itself would read incorrectly.*cannot be rewritten: BEGIN"
    ) as caught:
        session.sql(scripted)
    assert (caught.value.line, caught.value.column) == (1, 21)
