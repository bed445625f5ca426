"""Acknowledged commits are never lost: writers are killed at random moments, and all commits are counted afterwards.

Half of the writers disable the metastore's lock. An observer, which shares no code with them, reads each row all the
time. Less than half a minute by default on an idle machine. With HIVE_VIEWS_LOSS_SECONDS=1200 it is longer, and the
metastore and its database are killed and paused too; HIVE_VIEWS_LOSS_SERVER names them, e.g. `4.2.0/mysql` (`make
loss`).

Each file is a vector clock: its property `writer-N` is the last number of that writer that its author has seen.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import Database as StoreDatabase
from hive_views.local_metastore.standalone import StandaloneMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.conftest import CACHE
from tests.faults.cluster import DATABASES, database_paused, kill_database, stop_database
from tests.faults.loss_worker import Plan, key, query
from tests.faults.observer import Observer, until
from tests.integration.catalog.samples import SCHEMA, path, version
from tests.integration.metastore.rpc import connect
from tests.integration.schema_upgrade.servers import PASSWORD, Server, free_port, missing

SECONDS = float(os.environ.get("HIVE_VIEWS_LOSS_SECONDS", "10"))
"""The duration for which writers write and are killed, in seconds; longer until each has had a commit acknowledged."""
SERVER = os.environ.get("HIVE_VIEWS_LOSS_SERVER", "")
"""The metastore as `release/database`; by default the embedded one (2.3.10 on Derby)."""
REPORT = os.environ.get("HIVE_VIEWS_LOSS_REPORT")
"""A file to which the counts are appended as a line of JSON."""

FAULT_INTERVAL_S = 30.0
"""How often a server is killed or paused in a long run."""

TXN_TIMEOUT_S = 2.0
"""How long the lock of a killed writer blocks the others."""

VIEWS = ["a", "b", "c", "d"]
WRITERS = int(os.environ.get("HIVE_VIEWS_LOSS_WRITERS", "8"))


@dataclass
class Servers:
    """A metastore and, unless it is Derby, its database server."""

    metastore: MetastoreProcess
    store: Server | None = None

    def kill_metastore(self) -> None:
        """Kill the metastore and start it again on its port."""
        os.kill(self.metastore.pid, signal.SIGKILL)
        self.metastore.stop()
        self.metastore.start()

    def pause_metastore(self) -> None:
        """Pause the metastore for longer than its locks live."""
        os.kill(self.metastore.pid, signal.SIGSTOP)
        self._wait()
        os.kill(self.metastore.pid, signal.SIGCONT)

    def kill_store(self) -> None:
        """Kill the database and start it again."""
        assert self.store is not None
        kill_database(self.store)

    def pause_store(self) -> None:
        """Pause the database."""
        assert self.store is not None
        with database_paused(self.store):
            self._wait()

    @property
    def faults(self) -> list[Callable[[], None]]:
        """The faults that can be injected."""
        of_store = [self.kill_store, self.pause_store] if self.store is not None else []
        return [self.kill_metastore, self.pause_metastore, *of_store]

    def _wait(self) -> None:
        time.sleep(random.uniform(1, 3 * TXN_TIMEOUT_S))


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Servers for this module that drop expired locks early and keep their ports when restarted."""
    release, _, kind = SERVER.partition("/")
    directory = tmp_path / "metastore"
    if not release:
        with EmbeddedMetastore(directory, port=free_port(), txn_timeout_s=TXN_TIMEOUT_S) as running:
            yield Servers(running)
        return
    if reason := missing(kind):
        pytest.skip(f"needs {reason}")
    with ExitStack() as stack:
        store = stack.enter_context(DATABASES[kind]())
        store.create("metastore")
        standalone = StandaloneMetastore(
            directory,
            version=release,
            database=StoreDatabase(kind=kind, port=store.port, name="metastore", user="hive", password=PASSWORD),
            port=free_port(),
            cache=CACHE,
            properties={
                "metastore.txn.timeout": f"{int(TXN_TIMEOUT_S)}s",
                "datanucleus.connectionPool.maxPoolSize": "10",
                # As in production: wait for a failing database.
                "hive.hmshandler.retry.attempts": "10",
                "hive.hmshandler.retry.interval": "500ms",
            },
        )
        try:
            with standalone:
                yield Servers(standalone, store)
        finally:
            stop_database(store)


class RowReader(threading.Thread):
    """Reads every row and its metadata file continuously with another client; what it reads must never go back."""

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self._observer = observer
        self._ended = threading.Event()
        self._last: dict[str, tuple[int, dict[str, int]]] = {}
        self.reads = 0
        self.violations: list[str] = []

    def run(self) -> None:
        while not self._ended.wait(0.1):
            for name in VIEWS:
                try:
                    row = self._observer.row(name)
                except Exception:  # noqa: BLE001 -- the server is killed just now
                    continue
                self._check(name, row)

    def _check(self, name: str, row: dict[str, Any] | None) -> None:
        if row is None:
            self.violations.append(f"{name} is not there")
            return
        location = row["parameters"]["metadata_location"]
        try:
            document = read_file(location)
        except (OSError, ValueError) as error:
            self.violations.append(f"dangling pointer: {name}: {location}: {error}")
            return
        self.reads += 1
        number, clock = file_number(location), clock_of(document)
        last_number, last_clock = self._last.get(name, (-1, {}))
        if number < last_number or any(clock.get(writer, 0) < value for writer, value in last_clock.items()):
            self.violations.append(f"{name} went back from {last_number} {last_clock} to {number} {clock}")
        self._last[name] = (number, clock)

    def end(self) -> None:
        """Stop it, and check that no violation was seen."""
        self._ended.set()
        self.join()
        assert not self.violations, self.violations[:5]


def read_file(location: str) -> dict[str, Any]:
    """Read a metadata file."""
    data = path(location).read_bytes()
    document: dict[str, Any] = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    return document


def file_number(location: str) -> int:
    """Return the sequence number of a metadata file."""
    return int(location.rpartition("/")[2].partition("-")[0])


def clock_of(document: dict[str, Any]) -> dict[str, int]:
    """Return the vector clock in a metadata file."""
    properties = document.get("properties", {})
    return {name: int(value) for name, value in properties.items() if name.startswith("writer-")}


@pytest.mark.timeout(600 + SECONDS * 2)
def test_acknowledged_commits_are_never_lost(servers: Servers, tmp_path: Path) -> None:
    metastore, database = servers.metastore, "loss"
    diaries = tmp_path / "diaries"
    diaries.mkdir()
    with connect(metastore.port) as raw:
        raw.create_database(Database(name=database, locationUri=f"{metastore.warehouse}/{database}.db"))
    properties = {
        "uri": metastore.uri,
        "warehouse": metastore.warehouse,
        "iceberg.hive.lock-heartbeat-interval-ms": "500",
        "iceberg.hive.lock-check-max-wait-ms": "200",
        "hive-views.call-timeout-ms": "10000",
    }
    catalog = HiveViewCatalog("prod", **properties)
    for name in VIEWS:
        history = {"version.history.num-entries": "1000000", "commit.retry.min-wait-ms": "20"}
        catalog.create_view((database, name), SCHEMA, version(database, ("spark", query("0"))), properties=history)
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    life = (0.1, 3.0) if SECONDS < 60 else (0.5, 20.0)
    plan = Plan(properties, database, VIEWS, WRITERS, SECONDS, life, seed, str(diaries))
    print(f"seed {seed}")

    observer = Observer(metastore, database)
    reader = RowReader(observer)
    reader.start()
    writers = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.loss_worker", plan.dump()], stdout=subprocess.PIPE, text=True
    )
    faults: Counter[str] = Counter()
    try:
        while True:
            try:
                output, _ = writers.communicate(timeout=FAULT_INTERVAL_S)
                break
            except subprocess.TimeoutExpired:
                if SECONDS < FAULT_INTERVAL_S:  # the short form takes longer on a busy machine
                    continue
                fault = chance.choice(servers.faults)
                faults[fault.__name__] += 1
                fault()
    finally:
        writers.kill()
        until(lambda: answers(observer))
        reader.end()
    assert writers.returncode == 0
    until(lambda: not observer.locks())  # locks of killed writers expire

    diary = [json.loads(line) for each in diaries.glob("*.jsonl") for line in each.read_text().splitlines()]
    assert [entry for entry in diary if entry["event"] == "died"] == []
    counts = Counter(client_kills=int(output), reads=reader.reads, **faults)
    for name in VIEWS:
        entries = [entry for entry in diary if entry.get("view") == name]
        check_files(entries)
        counts += check_view(observer, name, entries)
        catalog.load_view((database, name)).update().set_properties(after="all").commit()
        assert observer.view(name).properties["after"] == "all"
    assert observer.locks() == []
    catalog.close()
    errors = Counter(entry["error"].partition(":")[0] for entry in diary if "error" in entry)
    line = json.dumps(
        {"server": SERVER or "2.3.10/derby", "seconds": SECONDS, "seed": seed, **counts, "errors": errors}
    )
    print(line)
    print(*{entry["error"].partition(":")[0]: entry["error"] for entry in diary if "error" in entry}.values(), sep="\n")
    if REPORT:
        with Path(REPORT).open("a") as out:
            out.write(line + "\n")
    assert counts["done"] >= WRITERS
    assert counts["client_kills"] >= WRITERS


def answers(observer: Observer) -> bool:
    """Return whether the metastore answers."""
    try:
        return bool(observer.names())
    except Exception:  # noqa: BLE001 -- any client error means that it does not
        return False


def check_files(diary: list[dict[str, Any]]) -> None:
    """Check the files of a view's acknowledged commits: all exist, one per number, and each has seen those before."""
    locations = [entry["location"] for entry in diary if entry["event"] == "done"]
    numbers = Counter(map(file_number, locations))
    assert max(numbers.values(), default=1) == 1, "two commits replaced one state"
    seen: dict[str, int] = {}
    texts: set[str] = set()
    for location in sorted(locations, key=file_number):
        document = read_file(location)
        clock = clock_of(document)
        assert all(clock.get(writer, 0) >= number for writer, number in seen.items()), f"{location} has not seen {seen}"
        present = {item["representations"][0]["sql"] for item in document["versions"]}
        assert texts <= present, f"{location} lost {texts - present}"
        seen, texts = clock, present


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
        assert query(entry["token"]) not in written, f"reported as failed: {entry}"
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
        unknown_texts_made=sum(query(entry["token"]) in written for entry in texts["unknown"]),
        unknown_texts=len(texts["unknown"]),
        applied_unacknowledged=texts_made + properties_made - len(events["done"]),
        cut_short=len(events["try"]) - len(events["done"]) - len(events["failed"]) - len(events["unknown"]),
        orphan_files=len(files) - view.commits,
    )
