"""Sixteen clients change views at random under faults; all reported outcomes must be true.

The default duration is one minute; `make soak` runs 30 minutes, and HIVE_VIEWS_SOAK_MINUTES sets another duration.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from tests.faults.cluster import Cluster
from tests.faults.observer import Observer, until
from tests.integration.catalog.samples import path
from tests.proxy import ThriftProxy
from tests.soak.check import CheckResult, check
from tests.soak.client import MATERIALIZED, WEIGHTS, Plan
from tests.soak.conftest import BASE_ROWS, KEEP_ALL
from tests.soak.database_state import StateReader
from tests.soak.faults import Disk, Faults
from tests.soak.ledger import Attempt, Outcome, read_ledgers
from tests.soak.report import Measurements, ResourceSample, markdown
from tests.soak.worker_processes import ResourceUsage, WorkerProcesses, measure_resources

MINUTES = float(os.environ.get("HIVE_VIEWS_SOAK_MINUTES", "1"))
"""The duration of the load."""
REPORT = os.environ.get("HIVE_VIEWS_SOAK_REPORT")
"""The file for the report as Markdown."""
SEED = int(os.environ.get("HIVE_VIEWS_SOAK_SEED") or random.SystemRandom().randrange(1 << 32))

CLIENTS = 16
PROCESSES = 4
POOL_SIZE = 2
PHASE_SHARES = (0.3, 0.5, 0.2)
"""Shares of the duration: until the first measurement, with faults, and without faults. The second is divided."""
MAX_PHASE_S = 150.0

MAX_ADDED_FILES = 16
MAX_ADDED_THREADS = 24
MAX_ADDED_MEMORY_MIB = 200
"""The maximum growth of a process since the first measurement. In 30 minutes a leak in every hundredth call exceeds it,
and the noise of a busy machine does not."""
MAX_SESSIONS = 60
"""The maximum number of sessions of the database."""


class Soak:
    """A running soak."""

    def __init__(
        self, cluster: Cluster, proxies: list[ThriftProxy], disk: Disk, database: str, directory: Path
    ) -> None:
        self.cluster, self.proxies, self.database = cluster, proxies, database
        self.directory = directory
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self.measurements = Measurements(SEED)
        self.attempts: list[Attempt] = []
        self.check_result = CheckResult()
        self.lost_calls = 0
        """The number of lost calls in the last phase."""
        self.observer = Observer(cluster.second, database)
        top = path(cluster.first.warehouse) / f"{database}.db"
        self.state_reader = StateReader(self.observer, [top, disk.path])
        properties = {
            **cluster.properties,
            "uri": ",".join(proxy.uri for proxy in proxies),
            "hive-views.pool-size": str(POOL_SIZE),
            "iceberg.hive.lock-check-max-wait-ms": "500",
            **KEEP_ALL,
        }
        plan = Plan(properties, database, str(directory / "ledgers"), tuple(range(CLIENTS)), 0, SEED)
        self.ports = {proxy.port for proxy in proxies}
        self.workers = WorkerProcesses(plan, PROCESSES, self.temporary, self.ports)
        self.faults = Faults(cluster, proxies, self.workers, PROCESSES, disk, SEED)

    def work(self, seconds: float, *, faults: bool) -> None:
        """Run the clients, then check all outcomes since the beginning."""
        self.workers.go()
        with self.faults.running() if faults else nullcontext():
            time.sleep(seconds)
        self.measurements.seconds += seconds
        processes = self.workers.pause()
        self.lost_calls = self.faults.wait_for_delayed_requests()
        locks = int(self.cluster.store.run('SELECT count(*) FROM "HIVE_LOCKS"', "metastore"))
        sessions = int(self.cluster.store.run("SELECT count(*) FROM pg_stat_activity WHERE datname = 'metastore'"))
        self.measurements.samples.append(ResourceSample(self.measurements.seconds, processes, sessions, locks))
        print(self.measurements.samples[-1], flush=True)  # printed even if the check fails
        with HiveViewCatalog("prod", **self.cluster.properties) as catalog:
            snapshots = {name: self._snapshots(catalog, name) for name in MATERIALIZED}
        self.attempts = read_ledgers(self.directory / "ledgers")
        self.check_result = check(self.attempts, self.state_reader.read(), snapshots, BASE_ROWS // 2)
        assert not self.check_result.violations, "\n".join(self.check_result.violations[:30])

    def _snapshots(self, catalog: HiveViewCatalog, name: str) -> set[int]:
        storage = catalog.materialized.load((self.database, name)).storage
        assert storage is not None
        return {entry.snapshot_id for entry in storage.metadata.snapshot_log}

    def remove_orphans(self) -> None:
        """Count and remove orphans of refreshes, and check that the rows are complete."""
        with HiveViewCatalog("prod", **self.cluster.properties) as catalog:
            for name in MATERIALIZED:
                identifier = (self.database, name)
                removed = catalog.materialized.load(identifier).remove_orphans(older_than_ms=0)
                for kind in ("snapshots", "rows", "files"):
                    key = f"{kind} of {name}"
                    self.measurements.orphans[key] = len(getattr(removed, kind))
                remaining = catalog.materialized.load(identifier).orphans(older_than_ms=0)
                # Further commits of a table expire its oldest metadata files, which may be listed.
                assert (remaining.snapshots, remaining.rows) == ((), ())
                storage = catalog.materialized.load(identifier).storage
                assert storage is not None
                assert storage.scan().to_arrow().num_rows == BASE_ROWS // 2

    def write_report(self) -> None:
        """Print the report, and write it to the requested file."""
        self.measurements.faults, self.measurements.calls = self.faults.counts, self.faults.calls
        for name in ("first", "second"):
            self.measurements.servers[f"{name} metastore"] = measure_resources(getattr(self.cluster, name).pid, set())
        text = markdown(self.measurements, self.attempts, self.check_result)
        print(text)
        if REPORT:
            Path(REPORT).write_text(text)


@pytest.mark.timeout(900 + MINUTES * 180)
def test_soak(cluster: Cluster, proxies: list[ThriftProxy], disk: Disk, soak_database: str, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    soak = Soak(cluster, proxies, disk, soak_database, tmp_path)
    try:
        seconds = MINUTES * 60
        phases = max(1, round(seconds * PHASE_SHARES[1] / MAX_PHASE_S))
        for share in (PHASE_SHARES[0], *[PHASE_SHARES[1] / phases] * phases):
            soak.work(seconds * share, faults=True)
        orphan_files = soak.check_result.counts["orphan files"]
        soak.work(seconds * PHASE_SHARES[2], faults=False)
        exit_codes = soak.workers.stop()
    finally:
        soak.workers.close()
    until(lambda: not soak.observer.locks())  # locks of killed clients expire
    soak.remove_orphans()
    soak.write_report()

    assert exit_codes == [0] * PROCESSES
    applied = {attempt.operation for attempt in soak.attempts if attempt.outcome is Outcome.APPLIED}
    # A busy machine may not perform all operations in a minute.
    assert applied >= (WEIGHTS.keys() if MINUTES >= 5 else {"create", "replace", "load", "list"})
    # Only lost calls leave orphan files.
    assert soak.lost_calls or soak.check_result.counts["orphan files"] == orphan_files
    check_leaks(soak.measurements.samples)
    assert list(soak.temporary.iterdir()) == []


def check_leaks(samples: list[ResourceSample]) -> None:
    """Check that the resources of idle processes do not grow."""
    for sample in samples:
        for usage in sample.processes:
            assert usage.connections <= CLIENTS // PROCESSES * POOL_SIZE
        assert sample.sessions <= MAX_SESSIONS
    first, last = samples[0].processes[0], samples[-1].processes[0]
    bound = ResourceUsage(
        0, first.files + MAX_ADDED_FILES, first.threads + MAX_ADDED_THREADS, first.memory + MAX_ADDED_MEMORY_MIB
    )
    assert last.files <= bound.files
    assert last.threads <= bound.threads
    assert last.memory <= bound.memory
