"""The metastore is killed at any moment and restarted, or it drops a lock.

Kills during each kind of change are in `test_fault_matrix`.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError, CommitStateUnknownError, LockError, MetastoreError
from hive_views.identifiers import ViewName
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore.locking.lock import hold_lock
from tests.faults.conftest import Behind, Scene
from tests.faults.interruptions import kill_and_start
from tests.faults.model import AGAIN, BOTH, LOCK_ONLY, SWAP_ONLY, Interrupted, Model
from tests.faults.model_worker import Change, Worker
from tests.faults.observer import Observer, until
from tests.faults.view_changes import DROP, DROP_TABLE, VIEW
from tests.integration.catalog.samples import SCHEMA, version
from tests.proxy import EVERY, DropRequest

HEARTBEATS = {"iceberg.hive.lock-heartbeat-interval-ms": "1000"}
"""Heartbeats for this module's metastore, which drops expired locks early."""


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """A metastore that may be killed: it keeps its port, and drops a lock after four seconds without a heartbeat."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    directory = tmp_path_factory.mktemp("outages")
    with EmbeddedMetastore(directory, port=port, txn_timeout_s=4) as running:
        yield running


def test_operation_killed_at_any_moment(
    metastore: EmbeddedMetastore, catalog: HiveViewCatalog, open_catalog: Behind, database: str, observer: Observer
) -> None:
    """Several clients commit continuously; the reported outcomes are correct."""
    history = {"version.history.num-entries": "100000", "commit.retry.num-retries": "20"}
    catalog.create_view((database, VIEW), SCHEMA, version(database, ("spark", "select 0")), properties=history)
    ended = threading.Event()

    def write(writer: int) -> dict[str, str]:
        outcomes: dict[str, str] = {}
        with open_catalog({**HEARTBEATS, "iceberg.engine.hive.lock-enabled": "true" if writer else "false"}) as mine:
            while not ended.is_set():
                text = f"select {writer}, {len(outcomes)}"
                try:
                    mine.replace_view((database, VIEW), SCHEMA, version(database, ("spark", text)))
                    outcomes[text] = "done"
                except CommitStateUnknownError:
                    outcomes[text] = "unknown"
                except (CommitFailedError, LockError, MetastoreError):
                    outcomes[text] = "failed"
        return outcomes

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, writer) for writer in range(3)]
        try:
            time.sleep(random.uniform(0.3, 1.0))
            kill_and_start(metastore, [])
            time.sleep(0.5)
        finally:
            ended.set()
        outcomes = {text: outcome for writer in writers for text, outcome in writer.result().items()}
    view = observer.view(VIEW)
    assert view.log == view.version_ids == list(range(1, len(view.queries) + 1))
    assert len(set(view.queries)) == len(view.queries) == view.commits
    for text, outcome in outcomes.items():
        assert outcome == "unknown" or (text in view.queries) is (outcome == "done"), (text, outcome)
    assert "done" in outcomes.values()


def test_process_killed_between_several_changes(metastore: EmbeddedMetastore, tmp_path: Path) -> None:
    """Clients protected by the lock, by CAS, or by both; see also `test_model`."""
    with Worker(tmp_path) as worker:
        model = Model(metastore, worker, more=HEARTBEATS, locks_expire=True)
        model.begin()
        model.change(AGAIN, Change("create", "c", text=model.text()))
        model.change(BOTH, Change("create", "d", text=model.text()))
        model.server_killed(
            [
                Interrupted(LOCK_ONLY, Change("replace", "a", text=model.text()), 5, carried_out=True),
                Interrupted(SWAP_ONLY, Change("color", "b", color="red"), 3, carried_out=True),
                Interrupted(BOTH, Change("drop", "c"), 3, carried_out=False),
                Interrupted(AGAIN, Change("roll back", "d"), 4, carried_out=False),
            ]
        )
        model.check_lists()
        for client in (BOTH, AGAIN, LOCK_ONLY, SWAP_ONLY):
            model.change(client, Change("create or replace", "a", text=model.text()))
        model.check_lists()
        model.end()


def test_lock_of_killed_client_expires(catalog: HiveViewCatalog, scene: Scene) -> None:
    """After a drop with an unknown outcome the name is usable again after the time-out."""
    scene.proxy.on(DROP_TABLE, DropRequest(), nth=EVERY)
    with pytest.raises(CommitStateUnknownError):
        scene.run(DROP, **HEARTBEATS, **{"hive-views.settle-timeout-ms": "0"})
    (lock,) = scene.locks()
    assert lock.agentInfo.startswith("hive-views-")
    catalog.drop_view((scene.database, VIEW))
    scene.check(DROP)
    assert scene.locks() == []


def test_interrupted_change_leaves_consistent_state(
    open_catalog: Behind, scene: Scene, metastore: EmbeddedMetastore
) -> None:
    """Ctrl-C during the wait for a lock: nothing was sent, so neither file nor lock is left."""
    script = (
        "import sys; from hive_views import HiveViewCatalog\n"
        "catalog = HiveViewCatalog('prod', uri=sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "catalog.load_view((sys.argv[2], 'v')).update().set_properties(color='blue').commit()\n"
    )
    store = open_catalog(HEARTBEATS).store
    with hold_lock(store.client, store.config.lock, ViewName(scene.database, VIEW)):
        process = subprocess.Popen(
            [sys.executable, "-c", script, metastore.uri, scene.database],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        until(lambda: len(scene.locks()) == 2)
        assert len(scene.new_files()) == 1
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert b"KeyboardInterrupt" in stderr
        assert len(scene.locks()) == 1
    assert scene.view(VIEW) == scene.before.view
    assert scene.new_files() == []
