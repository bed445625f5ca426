"""Processes that refresh a view and its copies together and are killed: no storage has rows of another state."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import HiveViewsError
from tests.integration.materialized.conftest import SALES, rows
from tests.integration.materialized.copy_worker import VIEWS
from tests.integration.materialized.duck_engine import DuckEngine

ROUNDS = 4

pytestmark = [pytest.mark.extended, pytest.mark.timeout(900)]


def counted(table) -> Counter:
    return Counter(tuple(row[name] for name in ("id", "shop", "amount")) for row in table.to_pylist())


def check_refreshes(catalog: HiveViewCatalog, database: str) -> int:
    """Compare the rows of every refresh with those of the state that it records; returns how many there are."""
    sales = catalog.load_table((database, "sales"))
    checked = 0
    for name in VIEWS:
        storage = catalog.materialized.load((database, name)).storage
        assert storage is not None
        for refresh in catalog.materialized.load((database, name)).refreshes():
            [state] = [source.id for source in refresh.state.sources if source.name.name == "sales"]
            expected = counted(sales.scan(snapshot_id=state).to_arrow())
            assert counted(storage.scan(snapshot_id=refresh.snapshot_id).to_arrow()) == expected, (name, refresh)
            checked += 1
    return checked


def check_readings(catalog: HiveViewCatalog, database: str) -> Counter:
    """Compare what queries read while nothing changes with the table; returns which storages were read."""
    expected = counted(catalog.load_table((database, "sales")).scan().to_arrow())
    read: Counter = Counter()
    for columns in ((), ("shop",), ("id",)):
        reading = catalog.materialized.readings((database, "mv"), columns)[0]
        read[str(reading.copy) if reading.from_storage else "definition"] += 1
        if reading.from_storage:
            name = (database, "mv") if reading.copy is None else reading.copy.identifier
            storage = catalog.materialized.load(name).storage
            assert storage is not None
            assert counted(storage.scan(snapshot_id=reading.snapshot_id).to_arrow()) == expected, reading
    return read


@pytest.mark.parametrize("locks", ["true", "false"])
def test_killed_and_concurrent_refreshes_of_copies(metastore, open_catalog, database, locks):
    # The lock of a killed process stays until it expires.
    catalog = open_catalog({"iceberg.engine.hive.lock-enabled": "false"})
    catalog.create_table((database, "sales"), SALES).append(rows((1, "a", 10), (2, "b", 20), (3, None, 5)))
    views, engine, choices = catalog.materialized, DuckEngine(catalog), random.Random(18)
    views.create((database, "mv"), "SELECT id, shop, amount FROM sales")
    views.create_copy((database, "mv"), "by_shop", partitioned_by=("shop",))
    views.create_copy((database, "mv"), "by_id", sorted_by=("id",))
    command = [sys.executable, "-m", "tests.integration.materialized.copy_worker", metastore.uri, metastore.warehouse]
    checked, storages = 0, Counter()
    for number in range(ROUNDS):
        workers = [
            subprocess.Popen([*command, database, f"{number}{worker}", locks], stdout=subprocess.PIPE, text=True)
            for worker in range(2)
        ]
        try:
            for worker in workers:
                assert worker.stdout is not None and worker.stdout.readline() == "started\n"
            time.sleep(choices.uniform(3, 12))
        finally:
            for worker in workers:
                worker.send_signal(signal.SIGKILL)
                worker.wait()
        checked = check_refreshes(catalog, database)
        storages += check_readings(catalog, database)
        for name in VIEWS:
            try:
                views.load((database, name)).refresh(engine)
            except HiveViewsError as error:
                raise AssertionError(f"{name} cannot be refreshed after the kill") from error
        storages += check_readings(catalog, database)
    assert checked > ROUNDS and storages[f"{database}.by_shop"] >= ROUNDS, (checked, storages)
