"""Processes that are killed with SIGKILL: `python -m tests.integration.materialized.killed_refresh URI WAREHOUSE`.

One process imports everything once. For each line `VIEW POINT DEED` of its input it forks a child that does something
to the view and kills itself at that point, counted over all requests to the metastore and all files, before and behind
each: 0 is the first. It answers `killed`, or `done` where there was no such point. Locks are off: a lock of the dead is
the server's business (docs/materialized.md), and a test cannot wait for it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from types import FrameType

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from hive_views import HiveViewCatalog
from hive_views.metastore.transport.connection import SocketTransport
from tests.integration.materialized.duck_engine import DuckEngine

DEEDS = {function.__code__ for function in (SocketTransport.flush, PyArrowFile.create, PyArrowFileIO.delete)}
"""What a killed process has done, or not: sent a request, made a file, deleted a file."""

QUERY = "SELECT id, amount FROM sales WHERE amount > 1"


def die_at(point: int) -> None:
    """Kill this process at a point: before (even numbers) or behind (odd ones) a deed."""
    met = -1

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal met
        if frame.f_code in DEEDS and event in ("call", "return"):
            met += 1
            if met == point:
                transport = frame.f_locals.get("self")
                if event == "return" and isinstance(transport, SocketTransport):
                    # The server has done what it was asked, and not some time later: the answer is there.
                    select.select([transport._socket], [], [])
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


def do(uri: str, warehouse: str, view: str, point: int, deed: str) -> None:
    """`refresh`, `drop`, or `create-LAYOUT`."""
    properties = {"uri": uri, "warehouse": warehouse, "iceberg.engine.hive.lock-enabled": "false"}
    with HiveViewCatalog("prod", **properties) as catalog:
        catalog.list_namespaces()
        die_at(point)
        if deed == "refresh":
            catalog.materialized.refresh(view, DuckEngine(catalog))
        elif deed == "drop":
            catalog.materialized.drop(view)
        else:
            catalog.materialized.create(view, QUERY, layout=deed.removeprefix("create-"))


def main() -> None:
    uri, warehouse = sys.argv[1:]
    for line in sys.stdin:
        view, point, deed = line.split()
        child = os.fork()
        if child == 0:
            do(uri, warehouse, view, int(point), deed)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answers = {0: "done", -signal.SIGKILL: "killed"}
        print(answers.get(os.waitstatus_to_exitcode(status), f"failed: {status}"), flush=True)


if __name__ == "__main__":
    main()
