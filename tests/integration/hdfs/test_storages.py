"""The operations of a catalog on each storage, with the same results."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from hive_views import HiveViewCatalog
from hive_views.doctor import Level, examine
from hive_views.errors import NoSuchViewError
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan
from hive_views.materialized.maintenance.garbage_collection import Garbage
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.integration.hdfs.storages import Storage, hdfs_storage, storage
from tests.integration.legacy_import.rows import hive_view_row, table_row
from tests.integration.materialized.duck_engine import DuckEngine
from tests.suites import extended

SALES = Schema(NestedField(1, "id", LongType()), NestedField(2, "shop", StringType()))


def sales(*rows: tuple[int, str]) -> pa.Table:
    return pa.table({"id": [row[0] for row in rows], "shop": [row[1] for row in rows]}, schema=SALES.as_arrow())


@pytest.fixture(scope="module", params=["hdfs", *extended("local", "s3")])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    if request.param == "hdfs":
        yield hdfs_storage(request.getfixturevalue("cluster"))
        return
    with storage(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
def location(store: Storage, raw, database: str) -> str:
    """The directory of `database`, on the storage."""
    location = f"{store.root}/{database}.db"
    raw.drop_database(database, True, True)
    raw.create_database(Database(name=database, locationUri=location))
    return location


@pytest.fixture
def catalog(open_catalog, store: Storage, location: str) -> HiveViewCatalog:
    return open_catalog({**store.properties, "warehouse": store.root})


def test_view_is_created_changed_renamed_and_purged(store, catalog, database, location):
    made = catalog.create_view_from_sql(f"{database}.v", "SELECT 1 AS a")
    assert made.metadata_location.startswith(f"{location}/")
    catalog.replace_view_from_sql(f"{database}.v", "SELECT 2 AS b")
    catalog.rename_view(f"{database}.v", f"{database}.w")
    view = catalog.load_view(f"{database}.w")
    view.update().set_properties({"a": "b"}).commit()
    assert catalog.load_view(f"{database}.w").original_text == "SELECT 2 AS b"
    assert len(store.files(location)) == 3
    [step] = catalog.drop_view(f"{database}.w", purge_files=True).steps
    assert (step.remaining_files, store.files(location), store.empty_directories(location)) == ((), set(), set())
    with pytest.raises(NoSuchViewError):
        catalog.load_view(f"{database}.w")


@pytest.mark.swaps  # where a late request can convert the view again, the files are kept
def test_import_and_revert_leave_nothing(store, catalog, raw, database, location, tmp_path):
    raw.create_table(table_row(database, "orders", [("id", "bigint")]))
    rows = {}
    for name in ("a", "b"):
        text = f"select `orders`.`id` from `{database}`.`orders`"
        raw.create_table(hive_view_row(database, name, "select id from orders", text, [("id", "bigint")]))
        rows[name] = raw.get_table(database, name)
    plan = plan_import(catalog, databases=[database], options=ImportOptions())
    result = run_plan(plan, catalog, tmp_path / "journal")
    assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}
    assert len(store.files(location)) == 4  # a backup and a metadata file each
    assert catalog.load_view(f"{database}.a").sql_for("hive").sql.startswith("select")
    reverted = revert_run(catalog, tmp_path / "journal")
    assert {outcome.status for outcome in reverted} == {RevertStatus.REVERTED}
    assert store.files(location) == set()
    assert {name: raw.get_table(database, name) for name in rows} == rows


@pytest.mark.parametrize("layout", ["registered", *extended("attached", "table")])
def test_materialized_view_is_refreshed_collected_and_dropped(store, catalog, database, location, layout):
    source = catalog.create_table(f"{database}.sales", SALES)
    source.append(sales((1, "a"), (2, "b")))
    views, engine, name = catalog.materialized, DuckEngine(catalog), f"{database}.mv"
    views.create(name, "SELECT shop, count(*) AS n FROM sales GROUP BY shop", layout=layout, database=database)
    assert views.load(name).refresh(engine)[-1].action == "full"
    catalog.load_table(f"{database}.sales").append(sales((3, "a")))
    assert not views.freshness(name).is_fresh
    assert views.load(name).refresh(engine)[-1].action == "incremental"
    assert views.freshness(name).is_fresh
    assert sorted(row["n"] for row in views.load(name).storage.scan().to_arrow().to_pylist()) == [1, 2]
    killed = engine.stage(engine.works[-1]) if layout != "attached" else None  # a refresh that does not publish
    views.load(name).expire(older_than_ms=0, keep=1)
    garbage = views.load(name).remove_orphans(older_than_ms=0)
    assert killed is None or killed in garbage.snapshots
    assert views.load(name).orphans(older_than_ms=0) == Garbage()
    assert sorted(row["n"] for row in views.load(name).storage.scan().to_arrow().to_pylist()) == [1, 2]


def test_abandoned_files_are_found_and_purged(store, catalog, database, location):
    catalog.create_table(f"{database}.sales", SALES).append(sales((1, "a")))
    used = store.files(location)
    views, name = catalog.materialized, f"{database}.mv"
    views.create(name, "SELECT id FROM sales", layout="attached", database=database)
    views.load(name).refresh(DuckEngine(catalog))
    views.load(name).drop(purge=False)
    assert store.files(location) > used
    removed = views.remove_abandoned(database, older_than_ms=0)
    definition = store.files(
        f"{location}/mv/metadata"
    )  # a view that is dropped without a purge can be registered again
    assert removed.files and store.files(location) == used | definition


@pytest.mark.parametrize("layout", ["registered", *extended("attached", "table")])
def test_purge_of_a_materialized_view_deletes_its_files(store, catalog, database, location, layout):
    catalog.create_table(f"{database}.sales", SALES).append(sales((1, "a")))
    used = store.files(location)
    views, name = catalog.materialized, f"{database}.mv"
    views.create(name, "SELECT id FROM sales", layout=layout, database=database)
    views.load(name).refresh(DuckEngine(catalog))
    views.load(name).drop(purge=True)
    assert (store.files(location), store.empty_directories(location)) == (used, set())


def test_purge_of_a_table_deletes_its_files(store, catalog, database, location):
    table = catalog.create_table(f"{database}.sales", SALES)
    table.append(sales((1, "a")))
    table.append(sales((2, "a")))
    assert len(store.files(location)) == 9
    assert catalog.purge_table(f"{database}.sales").steps[0].remaining_files == ()
    assert (store.files(location), store.empty_directories(location)) == (set(), set())


def test_doctor_writes_and_reads_there(store, catalog, database, location):
    report = examine(catalog, database=database)
    findings = {finding.subject: finding.level for finding in report.findings if finding.check == "storage"}
    assert findings[location] is Level.OK
    assert store.files(location) == set()
