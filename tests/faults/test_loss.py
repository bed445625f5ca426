"""Acknowledged commits are never lost: writers are killed at random moments, and all commits are counted afterwards.

Less than half a minute by default; with HIVE_VIEWS_LOSS_SECONDS=240 it is longer, and the metastore is killed too.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import MetastoreError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.faults.loss_worker import Plan, key, query
from tests.faults.observer import Observer, until
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.metastore.rpc import connect

SECONDS = float(os.environ.get("HIVE_VIEWS_LOSS_SECONDS", "15"))
"""The duration for which writers write and are killed, in seconds."""

SERVER_LIFE_S = 40.0
"""How often the metastore is killed in a long run."""

TXN_TIMEOUT_S = 2.0
"""How long the lock of a killed writer blocks the others."""

VIEWS = ["a", "b", "c", "d"]
WRITERS = 8


@pytest.fixture
def own_metastore(tmp_path: Path) -> Iterator[EmbeddedMetastore]:
    """A metastore for this module that drops expired locks early and keeps its port when restarted."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with EmbeddedMetastore(tmp_path / "metastore", port=port, txn_timeout_s=TXN_TIMEOUT_S) as running:
        yield running


class Reader(threading.Thread):
    """Loads every view continuously: a metadata location must always be readable."""

    def __init__(self, catalog: HiveViewCatalog, database: str) -> None:
        super().__init__()
        self._catalog = catalog
        self._database = database
        self._ended = threading.Event()
        self.loads = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        while not self._ended.wait(0.1):
            try:
                for name in VIEWS:
                    self._catalog.load_view((self._database, name))
                    self.loads += 1
            except MetastoreError:
                continue  # killed just now
            except BaseException as error:  # noqa: BLE001 -- raised by `end`
                self.error = error
                return

    def end(self) -> None:
        """Stop it and raise its error."""
        self._ended.set()
        self.join()
        if self.error is not None:
            raise self.error


def test_acknowledged_commits_are_never_lost(own_metastore: EmbeddedMetastore, tmp_path: Path) -> None:
    metastore, database = own_metastore, "loss"
    diaries = tmp_path / "diaries"
    diaries.mkdir()
    with connect(metastore.port) as raw:
        raw.create_database(Database(name=database, locationUri=f"{metastore.warehouse}/{database}.db"))
    properties = {
        "uri": metastore.uri,
        "warehouse": metastore.warehouse,
        "iceberg.hive.lock-heartbeat-interval-ms": "500",
        "iceberg.hive.lock-check-max-wait-ms": "200",
    }
    catalog = HiveViewCatalog("prod", **properties)
    for name in VIEWS:
        history = {"version.history.num-entries": "1000000", "commit.retry.min-wait-ms": "20"}
        catalog.create_view((database, name), SCHEMA, version(database, ("spark", query("0"))), properties=history)
    seed = random.SystemRandom().randrange(1 << 32)
    plan = Plan(properties, database, VIEWS, WRITERS, SECONDS, (0.1, 3.0), seed, str(diaries))
    print(f"seed {seed}")

    reader = Reader(catalog, database)
    reader.start()
    writers = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.loss_worker", plan.dump()], stdout=subprocess.PIPE, text=True
    )
    server_kills = 0
    try:
        while True:
            try:
                output, _ = writers.communicate(timeout=SERVER_LIFE_S)
                break
            except subprocess.TimeoutExpired:
                os.kill(metastore.pid, signal.SIGKILL)
                server_kills += 1
                metastore.stop()
                metastore.start()
    finally:
        writers.kill()
        reader.end()
    assert writers.returncode == 0
    observer = Observer(metastore, database)
    until(lambda: not observer.locks())  # locks of killed writers expire

    diary = [json.loads(line) for each in diaries.glob("*.jsonl") for line in each.read_text().splitlines()]
    assert [entry for entry in diary if entry["event"] == "died"] == []
    counts = Counter(kills=int(output), server_kills=server_kills, reads=reader.loads)
    for name in VIEWS:
        counts += check_view(observer, name, [entry for entry in diary if entry.get("view") == name])
        catalog.load_view((database, name)).update().set_properties(after="all").commit()
        assert observer.view(name).properties["after"] == "all"
    assert observer.locks() == []
    catalog.close()
    print(json.dumps(counts, sort_keys=True))
    print(json.dumps(Counter(entry["error"].partition(":")[0] for entry in diary if "error" in entry)))
    assert counts["done"] > 0
    assert counts["kills"] >= WRITERS


def check_view(observer: Observer, name: str, diary: list[dict[str, Any]]) -> Counter[str]:
    """Compare a view with the writers' diaries; return the counts."""
    view = observer.view(name)
    events = {
        event: [entry for entry in diary if entry["event"] == event] for event in ("try", "done", "failed", "unknown")
    }
    written = {text: number for number, text in enumerate(view.queries, 1)}

    # The history: consecutive versions, none twice, each with the acknowledged number.
    assert view.version_ids == list(range(1, len(view.queries) + 1))
    assert view.log == view.version_ids
    assert len(written) == len(view.queries)
    texts = {event: [entry for entry in entries if "token" in entry] for event, entries in events.items()}
    for entry in texts["done"]:
        assert written.get(query(entry["token"])) == entry["version"], f"acknowledged and lost: {entry}"
    for entry in texts["failed"]:
        assert query(entry["token"]) not in written, f"it was said to have failed: {entry}"
    tried = {query(entry["token"]) for entry in texts["try"]}
    assert written.keys() <= tried | {query("0")}

    # Order: a commit acknowledged before another one began has the lower number.
    begun = {entry["token"]: entry["at"] for entry in texts["try"]}
    ended = sorted((entry["at"], entry["version"]) for entry in texts["done"])
    for entry in texts["done"]:
        before = [number for at, number in ended if at < begun[entry["token"]]]
        assert max(before, default=0) < entry["version"]

    # Properties: writers count upwards, so a number below the last acknowledged one is a lost update.
    numbers = {event: [entry for entry in entries if "number" in entry] for event, entries in events.items()}
    for writer in range(WRITERS):
        mine = {
            event: [entry["number"] for entry in entries if entry["writer"] == writer]
            for event, entries in numbers.items()
        }
        now = int(view.properties.get(key(writer), "0"))
        assert now >= max(mine["done"], default=0), f"writer {writer}: an acknowledged change of properties was lost"
        assert now == 0 or now in set(mine["try"]) - set(mine["failed"])
        assert int(view.row["parameters"].get(key(writer), "0")) == now

    # Files: each commit used one sequence number, and its file exists.
    files = [path for path in observer.files() if f"/{name}/metadata/" in str(path)]
    assert {int(path.name.partition("-")[0]) for path in files} >= set(range(view.commits))
    texts_made = len(view.queries) - 1
    properties_made = view.commits - 1 - texts_made
    assert properties_made >= len(numbers["done"])
    return Counter(
        commits=view.commits,
        done=len(events["done"]),
        failed=len(events["failed"]),
        unknown=len(events["unknown"]),
        applied_unacknowledged=texts_made + properties_made - len(events["done"]),
        cut_short=len(events["try"]) - len(events["done"]) - len(events["failed"]) - len(events["unknown"]),
        orphan_files=len(files) - view.commits,
    )
