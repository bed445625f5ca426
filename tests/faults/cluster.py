"""Two metastores of the newest release on one database, for tests of outages."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hive_views.local_metastore.standalone import Database, StandaloneMetastore
from tests.conftest import CACHE
from tests.faults.observer import until
from tests.integration.schema_upgrade.servers import PASSWORD, Server, free_port, mariadb, postgresql

ALIVE = {"hive-views.call-timeout-ms": "5000", "iceberg.hive.lock-heartbeat-interval-ms": "1000"}


@dataclass
class Cluster:
    """Two metastores that share a database."""

    store: Server
    first: StandaloneMetastore
    second: StandaloneMetastore

    @property
    def properties(self) -> dict[str, str]:
        """Properties of a catalog with both URIs."""
        return {"uri": f"{self.first.uri},{self.second.uri}", "warehouse": self.first.warehouse, **ALIVE}


DATABASES = {"postgresql": postgresql, "mysql": mariadb}


@contextmanager
def two_metastores(top: Path, kind: str = "postgresql") -> Iterator[Cluster]:
    """Start the database and both metastores."""
    with DATABASES[kind]() as store:
        store.create("metastore")
        database = Database(kind=kind, port=store.port, name="metastore", user="hive", password=PASSWORD)
        settings = {
            "metastore.warehouse.dir": (top / "first" / "warehouse").as_uri(),
            "metastore.txn.timeout": "12s",
            # Each has several pools, and the database allows 60 sessions.
            "datanucleus.connectionPool.maxPoolSize": "5",
            # As in production: wait for a failing database.
            "hive.hmshandler.retry.attempts": "10",
            "hive.hmshandler.retry.interval": "500ms",
        }

        def metastore(name: str) -> StandaloneMetastore:
            # Fixed ports, so that clients can reconnect after a restart.
            return StandaloneMetastore(
                top / name, database=database, port=free_port(), cache=CACHE, properties=settings, max_memory_mb=384
            )

        with metastore("first") as first, metastore("second") as second:
            try:
                yield Cluster(store, first, second)
            finally:
                stop_database(store)


@contextmanager
def database_down(store: Server) -> Iterator[None]:
    """Kill a database server like a loss of power, and start it again on the same port after the body."""
    if store.kind == "postgresql":
        control(store, "stop")
        try:
            yield
        finally:
            control(store, "restart")
        return
    pid_file = store.directory / "tmp" / "pid"
    pid = int(pid_file.read_text())
    command = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
    os.kill(pid, signal.SIGKILL)
    until(lambda: not _is_running(pid))
    pid_file.unlink(missing_ok=True)
    try:
        yield
    finally:
        with (store.directory / "restarted.log").open("ab") as log:
            subprocess.Popen(command, cwd=store.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(pid_file.exists)
        until(lambda: _answers(store))


@contextmanager
def database_paused(store: Server) -> Iterator[None]:
    """Stop the processes of a database server with SIGSTOP during the body."""
    processes = database_processes(store)
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def kill_database(store: Server) -> None:
    """Kill a database server and start it again."""
    with database_down(store):
        pass


def stop_database(store: Server) -> None:
    """Stop a database server that `kill_database` started; its context manager knows only the first process."""
    if store.kind == "postgresql":
        control(store, "stop")
        return
    pid = int((store.directory / "tmp" / "pid").read_text())
    os.kill(pid, signal.SIGTERM)
    until(lambda: not _is_running(pid))


def database_processes(store: Server) -> list[int]:
    """The process ids of a database server, the main process first."""
    pid_file = store.directory / ("data/postmaster.pid" if store.kind == "postgresql" else "tmp/pid")
    main = int(pid_file.read_text().split()[0])
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    return [main, *map(int, children)]


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _answers(store: Server) -> bool:
    try:
        store.run("SELECT 1;")
    except AssertionError:
        return False
    return True


def control(store: Server, action: str) -> None:
    """`pg_ctl`, as the user that the server runs as; `immediate` is what a loss of power does.

    A restart keeps the port, also of a server that was stopped before.
    """
    data = store.directory / "data"
    program = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    command = [str(program[-1]) if program else shutil.which("pg_ctl") or "pg_ctl", action, "-D", str(data), "-w"]
    command += ["-m", "immediate"]
    if action != "stop":
        command += ["-l", str(data / "restarted.log")]
    owner = data.owner()
    if os.geteuid() == 0:
        command = ["runuser", "-u", owner, "--", *command]
    subprocess.run(command, cwd=store.directory, check=True, stdout=subprocess.DEVNULL, timeout=120)
