"""Sixteen clients change views at random while something fails every few seconds; all that they were told must be true.

One minute by default, in `make test`; `make soak` runs half an hour, and HIVE_VIEWS_SOAK_MINUTES any time.
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
from tests.soak.check import Verdict, check
from tests.soak.client import MATERIALIZED, WEIGHTS, Plan
from tests.soak.conftest import BASE_ROWS, KEEP_ALL
from tests.soak.crews import Crews, Holding, holding
from tests.soak.faults import Disk, Faults
from tests.soak.ledger import Attempt, Outcome, read_ledgers
from tests.soak.report import Figures, Moment, markdown
from tests.soak.world import Eyes

MINUTES = float(os.environ.get("HIVE_VIEWS_SOAK_MINUTES", "1"))
"""How long the clients work."""
REPORT = os.environ.get("HIVE_VIEWS_SOAK_REPORT")
"""Where the figures are written to, as Markdown."""
SEED = int(os.environ.get("HIVE_VIEWS_SOAK_SEED") or random.SystemRandom().randrange(1 << 32))

CLIENTS = 16
PROCESSES = 4
POOL_SIZE = 2
SHARES = (0.3, 0.5, 0.2)
"""Of the time: until the first measurement, with faults, and without any. The middle is cut into pieces."""
LONGEST_PIECE_S = 150.0

MORE_FILES = 16
MORE_THREADS = 24
MORE_MEMORY_MIB = 200
"""What a process may hold more at the end than at the first measurement: what a leak of every hundredth call would
not keep to in half an hour, and the noise of a busy machine does."""
SESSIONS = 60
"""As many as the database takes."""


class Soak:
    """A soak that is going on."""

    def __init__(
        self, cluster: Cluster, proxies: list[ThriftProxy], disk: Disk, database: str, directory: Path
    ) -> None:
        self.cluster, self.proxies, self.database = cluster, proxies, database
        self.directory = directory
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self.figures = Figures(SEED)
        self.attempts: list[Attempt] = []
        self.verdict = Verdict()
        self.lost_calls = 0
        """How many calls since the faults ended did not get their answer."""
        self.observer = Observer(cluster.second, database)
        top = path(cluster.first.warehouse) / f"{database}.db"
        self.eyes = Eyes(self.observer, [top, disk.path])
        properties = {
            **cluster.properties,
            "uri": ",".join(proxy.uri for proxy in proxies),
            "hive-views.pool-size": str(POOL_SIZE),
            "iceberg.hive.lock-check-max-wait-ms": "500",
            **KEEP_ALL,
        }
        plan = Plan(properties, database, str(directory / "ledgers"), tuple(range(CLIENTS)), 0, SEED)
        self.ports = {proxy.port for proxy in proxies}
        self.crews = Crews(plan, PROCESSES, self.temporary, self.ports)
        self.faults = Faults(cluster, proxies, self.crews, PROCESSES, disk, SEED)

    def work(self, seconds: float, *, faults: bool) -> None:
        """Let the clients work, then hold everything against what they were told since the beginning."""
        self.crews.go()
        with self.faults.running() if faults else nullcontext():
            time.sleep(seconds)
        self.figures.seconds += seconds
        processes = self.crews.pause()
        self.lost_calls = self.faults.settle()
        locks = int(self.cluster.store.run('SELECT count(*) FROM "HIVE_LOCKS"', "metastore"))
        sessions = int(self.cluster.store.run("SELECT count(*) FROM pg_stat_activity WHERE datname = 'metastore'"))
        self.figures.moments.append(Moment(self.figures.seconds, processes, sessions, locks))
        print(self.figures.moments[-1], flush=True)  # also where the check fails
        with HiveViewCatalog("prod", **self.cluster.properties) as catalog:
            snapshots = {name: self._snapshots(catalog, name) for name in MATERIALIZED}
        self.attempts = read_ledgers(self.directory / "ledgers")
        self.verdict = check(self.attempts, self.eyes.look(), snapshots, BASE_ROWS // 2)
        assert not self.verdict.violations, "\n".join(self.verdict.violations[:30])

    def _snapshots(self, catalog: HiveViewCatalog, name: str) -> set[int]:
        storage = catalog.materialized.load((self.database, name)).storage
        assert storage is not None
        return {entry.snapshot_id for entry in storage.metadata.snapshot_log}

    def remove_what_refreshes_left(self) -> None:
        """Count it, remove it, and see that nothing is left and the rows are whole."""
        with HiveViewCatalog("prod", **self.cluster.properties) as catalog:
            for name in MATERIALIZED:
                at = (self.database, name)
                left = catalog.materialized.remove_orphans(at, older_than_ms=0)
                for what in ("snapshots", "rows", "files"):
                    key = f"{what} of {name}"
                    self.figures.refreshes_left[key] = len(getattr(left, what))
                again = catalog.materialized.orphans(at, older_than_ms=0)
                # Files may be named: a table of many commits forgets its oldest metadata files at each further one.
                assert (again.snapshots, again.rows) == ((), ())
                storage = catalog.materialized.load(at).storage
                assert storage is not None
                assert storage.scan().to_arrow().num_rows == BASE_ROWS // 2

    def write_report(self) -> None:
        """Print the figures, and write them where it is asked for."""
        self.figures.faults, self.figures.calls = self.faults.counts, self.faults.calls
        for name in ("first", "second"):
            self.figures.servers[f"{name} metastore"] = holding(getattr(self.cluster, name).pid, set())
        text = markdown(self.figures, self.attempts, self.verdict)
        print(text)
        if REPORT:
            Path(REPORT).write_text(text)


@pytest.mark.timeout(900 + MINUTES * 180)
def test_soak(cluster: Cluster, proxies: list[ThriftProxy], disk: Disk, begun: str, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    soak = Soak(cluster, proxies, disk, begun, tmp_path)
    try:
        seconds = MINUTES * 60
        pieces = max(1, round(seconds * SHARES[1] / LONGEST_PIECE_S))
        for share in (SHARES[0], *[SHARES[1] / pieces] * pieces):
            soak.work(seconds * share, faults=True)
        left = soak.verdict.counts["orphan files"]
        soak.work(seconds * SHARES[2], faults=False)
        ended = soak.crews.stop()
    finally:
        soak.crews.close()
    until(lambda: not soak.observer.locks())  # the dead hold them no longer than the server lets them
    soak.remove_what_refreshes_left()
    soak.write_report()

    assert ended == [0] * PROCESSES
    done = {attempt.operation for attempt in soak.attempts if attempt.outcome is Outcome.DONE}
    # A busy machine may not get to everything in a minute.
    assert done >= (WEIGHTS.keys() if MINUTES >= 5 else {"create", "replace", "load", "list"})
    # A file is left only where a client did not get an answer.
    assert soak.lost_calls or soak.verdict.counts["orphan files"] == left
    check_leaks(soak.figures.moments)
    assert list(soak.temporary.iterdir()) == []


def check_leaks(moments: list[Moment]) -> None:
    """What is held while nobody does anything does not grow."""
    for moment in moments:
        for held in moment.processes:
            assert held.connections <= CLIENTS // PROCESSES * POOL_SIZE
        assert moment.sessions <= SESSIONS
    first, last = moments[0].processes[0], moments[-1].processes[0]
    bound = Holding(0, first.files + MORE_FILES, first.threads + MORE_THREADS, first.memory + MORE_MEMORY_MIB)
    assert last.files <= bound.files
    assert last.threads <= bound.threads
    assert last.memory <= bound.memory
