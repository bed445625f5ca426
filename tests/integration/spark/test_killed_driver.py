"""SIGKILL of a Spark driver during refreshes, with the metastore's locks enabled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

from tests.integration.materialized.duck_engine import DuckEngine
from tests.integration.spark.conftest import CACHE
from tests.proxy import Hold, ThriftProxy

ALTER = "alter_table_with_environment_context"
START_S = 300.0
"""Maximum time for a driver to start, and then to reach the call at which it is held, in seconds."""

POINTS = (
    # Rows are written and Spark commits the staged snapshot: it holds the metastore's lock.
    ("registered", "spark", ALTER),
    ("attached", "spark", ALTER),
    ("table", "spark", ALTER),
    # The snapshot is staged, and the lock for its publication is not requested yet.
    ("registered", "catalog", "lock"),
    # The publication is sent and arrives after its sender is killed; the lock is held.
    ("attached", "catalog", ALTER),
    ("table", "catalog", ALTER),
)


@pytest.mark.timeout(900)
def test_refreshes_of_killed_driver_are_recovered(metastore, catalog, database):
    views, engine, names = catalog.materialized, DuckEngine(catalog), {}
    facts = catalog.create_table((database, "facts"), pa.schema([("id", pa.int64()), ("v", pa.int64())]))
    facts.append(pa.table({"id": [1, 2], "v": [10, 20]}))
    for layout, whose, method in POINTS:
        name = names[layout, whose, method] = (database, f"{layout}_{whose}")
        views.create(name, "SELECT id, v FROM facts WHERE v > 1", layout=layout)
        views.load(name).refresh(engine)
    catalog.load_table((database, "facts")).append(pa.table({"id": [3], "v": [30]}))

    def ids(name: tuple[str, str]) -> list[int]:
        return sorted(views.load(name).storage.scan().to_arrow().column("id").to_pylist())

    with ThriftProxy(metastore.port) as spark, ThriftProxy(metastore.port) as own:
        command = [
            sys.executable,
            "-m",
            "tests.integration.spark.killed_driver",
            spark.uri,
            own.uri,
            metastore.warehouse,
            CACHE,
        ]
        # A new process group: Python and its JVM are killed together.
        with subprocess.Popen(
            command,
            text=True,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as driver:
            try:
                assert driver.stdin is not None and driver.stdout is not None
                assert driver.stdout.readline() == "ready\n"
                late = []
                for point, name in names.items():
                    held = Hold()
                    (spark if point[1] == "spark" else own).on(point[2], held)
                    print(".".join(name), file=driver.stdin, flush=True)
                    held.wait_until_held(START_S)
                    late += [held] if point[1:] == ("catalog", ALTER) else []
            finally:
                os.killpg(driver.pid, signal.SIGKILL)
        for held in late:
            held.release()
    # As the server does after `hive.txn.timeout` without a heartbeat, 300 s by default.
    abandoned_locks = {lock.lockid for lock in catalog.store.client.show_locks(database, None)}
    assert len(abandoned_locks) == 5, "one for each refresh that was killed within a commit"
    for lock_id in abandoned_locks:
        catalog.store.client.unlock(lock_id)

    for (layout, whose, method), name in names.items():
        published = (whose, method) == ("catalog", ALTER)
        assert ids(name) == ([1, 2, 3] if published else [1, 2]), name
        assert views.freshness(name).is_fresh == published, name
        left = views.load(name).orphans(older_than_ms=0)
        assert len(left.snapshots) == (method == "lock") and len(left.rows) == (layout == "attached"), (name, left)
        # Files written by Spark, or the metadata file that only the row of the refresh names.
        assert bool(left.files) == (whose == "spark" or layout == "attached"), (name, left)
        assert views.load(name).refresh(engine)[-1].action == ("unchanged" if published else "incremental")
        views.load(name).remove_orphans(older_than_ms=0)
        left = views.load(name).orphans(older_than_ms=0)
        assert (left.snapshots, left.rows, left.files) == ((), (), ()), name
        assert ids(name) == [1, 2, 3] and views.freshness(name).is_fresh, name
