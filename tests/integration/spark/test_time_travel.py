"""Stored rows as they were: `mv VERSION AS OF snapshot`, `mv.storage`, `mv.refreshes`, with a JVM and without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import NoSuchRefreshError, SqlError
from hive_views.materialized.properties import TIME_TRAVEL
from hive_views.spark import ViewSession
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.duck_engine import DuckEngine
from tests.integration.spark.session_kinds import RefusedError, SessionClient


@pytest.fixture
def market(catalog: HiveViewCatalog, database: str) -> Iterator[str]:
    """A database with a table of two rows."""
    catalog.create_table((database, "sales"), SALES).append(rows((1, "a", 10), (2, "b", 20)))
    yield database
    for _, name in catalog.list_tables(database):
        catalog.drop_table((database, name))


def refreshed_twice(catalog: HiveViewCatalog, market: str, layout: str, travel: str = "true") -> tuple[int, int]:
    """A materialized view `mv`: of two rows at its first refresh, of three at the second, of four by its definition."""
    views, engine, name = catalog.materialized, DuckEngine(catalog), (market, "mv")
    views.create(name, "SELECT id, amount FROM sales", layout=layout, properties={TIME_TRAVEL: travel})
    first = views.load(name).refresh(engine)[-1].snapshot_id
    catalog.load_table((market, "sales")).append(rows((3, "c", 30)))
    second = views.load(name).refresh(engine)[-1].snapshot_id
    catalog.load_table((market, "sales")).append(rows((4, "d", 40)))
    assert first is not None and second is not None and first != second
    return first, second


def ids(client: SessionClient, table: str) -> list[int]:
    return sorted(row[0] for row in client.rows(f"SELECT id FROM {table}"))


@pytest.mark.parametrize(
    ("client", "layout"),
    [("iceberg", "registered"), ("iceberg", "attached"), ("connect", "attached")],
    indirect=["client"],
)
def test_as_of_after_view_name_and_storage(client, catalog, market, layout: str):
    first, second = refreshed_twice(catalog, market, layout)
    mv = f"prod.{market}.mv"
    times = "date_format(made_current_at, 'yyyy-MM-dd HH:mm:ss.SSS')"
    refreshes = client.rows(
        f"SELECT snapshot_id, {times}, is_current, version_id, sources FROM {mv}.refreshes ORDER BY 2"
    )
    assert [(row[0], row[2], row[3]) for row in refreshes] == [(first, False, 1), (second, True, 1)]
    assert list(refreshes[0][4]) == [f"{market}.sales"]
    assert ids(client, f"{mv}.storage") == [1, 2, 3], "fresh or not"
    assert ids(client, f"{mv}.storage VERSION AS OF {first}") == [1, 2]
    assert ids(client, f"{mv}.storage TIMESTAMP AS OF '{refreshes[0][1]}'") == [1, 2]
    assert ids(client, f"{mv} VERSION AS OF {first}") == [1, 2]
    assert ids(client, f"{mv} TIMESTAMP AS OF '{refreshes[0][1]}'") == [1, 2]
    assert ids(client, f"{mv} TIMESTAMP AS OF current_timestamp()") == [1, 2, 3]
    assert ids(client, f"{mv} VERSION AS OF 1") == [1, 2, 3, 4], "the number of a definition stays one"
    joined = f"SELECT n.id FROM {mv} VERSION AS OF {second} AS n LEFT ANTI JOIN {mv} VERSION AS OF {first} USING (id)"
    assert client.rows(joined) == [(3,)]


@pytest.mark.parametrize("client", ["connect"], indirect=True)
def test_unknown_snapshot_or_time_is_rejected_at_its_position(client, catalog, market):
    first, second = refreshed_twice(catalog, market, "attached")
    for behind, why in (
        ("mv VERSION AS OF 12345", rf"no rows of snapshot 12345.*{first}, {second}.*versions of its definition are 1"),
        ("mv.storage VERSION AS OF 'no_tag'", "no rows of branch or tag 'no_tag'"),
        ("mv.storage VERSION AS OF 1", "no rows of snapshot 1;"),
        ("mv TIMESTAMP AS OF '2001-02-03'", "no rows of 2001-02-03T"),
        ("mv.refreshes VERSION AS OF 1", "has no versions"),
    ):
        with pytest.raises(RefusedError, match=why) as caught:
            client.rows(f"SELECT *\nFROM prod.{market}.{behind}")
        assert (caught.value.line, caught.value.column) == (2, 6)


def test_view_without_refreshes(spark: SparkSession, catalog: HiveViewCatalog, market: str):
    views = catalog.materialized
    views.create((market, "mv"), "SELECT id FROM sales", layout="attached")
    catalog.execute("CREATE VIEW plain AS SELECT id FROM sales", database=market)
    with ViewSession(spark, catalog) as session:
        assert session.sql(f"SELECT * FROM prod.{market}.mv.storage").collect() == []
        assert session.notes[0].why == "storage: it was never refreshed"
        assert session.sql(f"SELECT * FROM prod.{market}.mv.refreshes").collect() == []
        with pytest.raises(SqlError, match="none yet"):
            session.sql(f"SELECT * FROM prod.{market}.mv VERSION AS OF 7")
        for table in ("storage", "refreshes"):
            with pytest.raises(SqlError, match=r"cannot be found"):
                session.sql(f"SELECT * FROM prod.{market}.plain.{table}")


def test_time_means_definition_without_time_travel_property(spark, catalog, market):
    """Earlier releases did the same, and an existing query with a time must not return other rows."""
    first, _ = refreshed_twice(catalog, market, "registered", travel="false")
    with ViewSession(spark, catalog) as session:
        assert session.sql(f"SELECT * FROM prod.{market}.mv TIMESTAMP AS OF current_timestamp()").count() == 4
        assert session.notes == ()
        assert session.sql(f"SELECT * FROM prod.{market}.mv VERSION AS OF {first}").count() == 2
        [note] = session.notes  # type: ignore[misc]
        assert note.from_storage and note.why.startswith(f"storage: snapshot {first} of ")


def test_table_layout(spark, catalog, market):
    first, second = refreshed_twice(catalog, market, "table")
    with ViewSession(spark, catalog) as session:
        for name in (f"prod.{market}.mv", f"prod.{market}.mv.storage"):
            assert session.sql(f"SELECT * FROM {name} VERSION AS OF {first}").count() == 2
        assert session.sql(f"SELECT * FROM prod.{market}.mv.storage").count() == 3
        found = session.sql(f"SELECT snapshot_id FROM prod.{market}.mv.refreshes ORDER BY made_current_at").collect()
        assert [row.snapshot_id for row in found] == [first, second]
        assert session.sql(f"SELECT * FROM prod.{market}.mv.history").count() == 2, "Iceberg's own"


def test_tag_and_unpublished_snapshot(catalog, market):
    first, second = refreshed_twice(catalog, market, "registered")
    views = catalog.materialized
    catalog.load_table((market, "mv__storage")).manage_snapshots().create_tag(first, "year_end").commit()
    assert views.load((market, "mv")).stored(version="year_end").snapshot_id == first
    assert views.load((market, "mv")).stored().snapshot_id == second
    transaction = catalog.load_table((market, "mv__storage")).transaction()
    # As a refresh that was killed leaves it: a snapshot that no branch names.
    with transaction.update_snapshot(branch=None).fast_append():
        pass
    transaction.commit_transaction()
    unseen = {item.snapshot_id for item in views.load((market, "mv")).storage.metadata.snapshots} - {first, second}
    assert len(unseen) == 1
    with pytest.raises(NoSuchRefreshError):
        views.load((market, "mv")).stored(version=unseen.pop())
