"""`python -m benchmarks.storages`: operations of a catalog with its files on local disk, on HDFS, and on S3 (moto).

Prints the median of each operation in milliseconds for each storage, then a table. It starts its own servers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import run_plan
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.conftest import SERVER, started
from tests.integration.hdfs.cluster import hdfs
from tests.integration.hdfs.storages import Storage, hdfs_storage, storage
from tests.integration.legacy_import.rows import hive_view_row, table_row
from tests.integration.materialized.duck_engine import DuckEngine
from tests.integration.metastore.rpc import connect

ROUNDS = 9
VIEWS = 100
"""The number of views of the import."""

SCHEMA = Schema(NestedField(1, "id", LongType()))
Times = dict[str, float]


class _Timer:
    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    def run(self, what: str, operation: Callable[[], object]) -> None:
        start = perf_counter()
        operation()
        self.seconds.setdefault(what, []).append(perf_counter() - start)

    def medians(self) -> Times:
        return {what: median(seconds) * 1e3 for what, seconds in self.seconds.items()}


def measure(catalog: HiveViewCatalog, database: str) -> Times:
    """Return the medians of the operations, in milliseconds."""
    timer = _Timer()
    rows = pa.table({"id": [1, 2, 3]}, schema=SCHEMA.as_arrow())
    for turn in range(ROUNDS):
        view, renamed = f"{database}.v{turn}", f"{database}.w{turn}"
        timer.run("create a view", lambda: catalog.create_view_from_sql(view, "SELECT 1 AS a"))  # noqa: B023
        timer.run("load", lambda: catalog.load_view(view))  # noqa: B023
        timer.run("replace", lambda: catalog.replace_view_from_sql(view, "SELECT 2 AS a"))  # noqa: B023
        timer.run("rename", lambda: catalog.rename_view(view, renamed))  # noqa: B023
        timer.run("drop with files", lambda: catalog.drop_view(renamed, purge_files=True))  # noqa: B023
        table, stored = f"{database}.t{turn}", f"{database}.m{turn}"
        timer.run("create a table", lambda: catalog.create_table(table, SCHEMA))  # noqa: B023
        timer.run("append", lambda: catalog.load_table(table).append(rows))  # noqa: B023
        views, engine = catalog.materialized, DuckEngine(catalog)
        query = f"SELECT id FROM t{turn}"
        timer.run("create a materialized view", lambda: views.create(stored, query, database=database))  # noqa: B023
        timer.run("refresh (DuckDB)", lambda: views.load(stored).refresh(engine))  # noqa: B023
        timer.run("drop the materialized view", lambda: views.load(stored).drop())  # noqa: B023
        timer.run("purge the table", lambda: catalog.purge_table(table))  # noqa: B023
    return timer.medians()


def measure_import(catalog: HiveViewCatalog, port: int, database: str, directory: Path) -> Times:
    """Return the rates of an import and its revert, in views per second."""
    with connect(port) as client:
        client.create_table(table_row(database, "orders", [("id", "bigint")]))
        text = f"select `orders`.`id` from `{database}`.`orders`"
        for at in range(VIEWS):
            client.create_table(hive_view_row(database, f"i{at}", "select id from orders", text, [("id", "bigint")]))
    plan = plan_import(catalog, databases=[database], options=ImportOptions())
    start = perf_counter()
    run_plan(plan, catalog, directory / f"{database}.journal")
    middle = perf_counter()
    revert_run(catalog, directory / f"{database}.journal")
    return {"import, views/s": VIEWS / (middle - start), "revert, views/s": VIEWS / (perf_counter() - middle)}


def main() -> None:
    """Measure and print."""
    results: dict[str, Times] = {}
    with tempfile.TemporaryDirectory() as scratch, started(Path(scratch) / "metastore", SERVER) as metastore:

        def add(store: Storage) -> None:
            database, location = f"db_{store.name}", f"{store.root}/db_{store.name}.db"
            with connect(metastore.port) as client:
                client.create_database(Database(name=database, locationUri=location))
            properties = {"uri": metastore.uri, "warehouse": store.root, **store.properties}
            with HiveViewCatalog("bench", **properties) as catalog:
                times = measure(catalog, database)
                times |= measure_import(catalog, metastore.port, database, Path(scratch))
            results[store.name] = times
            print(store.name, times, flush=True)

        for name in ("local", "s3"):
            with storage(name, Path(scratch) / name) as store:
                add(store)
        for datanodes in (3, 1):
            with hdfs(Path(scratch) / f"hdfs{datanodes}", datanodes=datanodes) as cluster:
                cluster.make_directory("/warehouse")
                known = hdfs_storage(cluster)
                add(Storage(f"hdfs_{datanodes}", known.root, known.files))
    names = list(results)
    print("| |", " | ".join(names), "|")
    for what in dict.fromkeys(what for times in results.values() for what in times):
        values = [f"{results[name][what]:.0f}" if what in results[name] else "" for name in names]
        print(f"| {what} |", " | ".join(values), "|")


if __name__ == "__main__":
    main()
