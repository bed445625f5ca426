"""Processes that are killed with SIGKILL: `python -m tests.integration.materialized.killed_refresh URI WAREHOUSE`.

One process imports everything once. For each line `VIEW POINT OPERATION` of its input it forks a child that executes
the operation on the view and kills itself at that point. Points are numbered from 0, before and after each metastore
request, file creation and file deletion, and each line of a journal. The process prints `killed`, or `done` if the
operation ended before. Locks are off: the lock of a killed process stays until the server expires it
(docs/materialized.md).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from itertools import count
from types import FrameType

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from hive_views import HiveViewCatalog
from hive_views.io.json_lines import LockedLines
from hive_views.metastore.transport.connection import SocketTransport
from tests.integration.materialized.duck_engine import DuckEngine

INTERRUPTED_CALLS = {
    function.__code__
    for function in (SocketTransport.flush, PyArrowFile.create, PyArrowFileIO.delete, LockedLines.append)
}
"""The calls before and after which a process can be killed: send a request, create, delete or extend a file."""

QUERY = "SELECT id, amount FROM sales WHERE amount > 1"


def die_at(point: int) -> None:
    """Kill this process at a point: before (even numbers) or after (odd numbers) an interrupted call."""
    reached = count()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if frame.f_code in INTERRUPTED_CALLS and event in ("call", "return") and next(reached) == point:
            transport = frame.f_locals.get("self")
            if event == "return" and isinstance(transport, SocketTransport):
                # Wait for the reply: the server must have executed the request when this process dies.
                select.select([transport._socket], [], [])
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(watch)  # threads that start later
    sys.setprofile(watch)


def execute(uri: str, warehouse: str, view: str, point: int, operation: str) -> None:
    """Execute an operation: `refresh`, `drop`, or `create-LAYOUT`."""
    properties = {"uri": uri, "warehouse": warehouse, "iceberg.engine.hive.lock-enabled": "false"}
    with HiveViewCatalog("prod", **properties) as catalog:
        catalog.list_namespaces()
        die_at(point)
        if operation == "refresh":
            catalog.materialized.load(view).refresh(DuckEngine(catalog))
        elif operation == "drop":
            catalog.materialized.load(view).drop()
        else:
            catalog.materialized.create(view, QUERY, layout=operation.removeprefix("create-"))


def main() -> None:
    uri, warehouse = sys.argv[1:]
    for line in sys.stdin:
        view, point, operation = line.split()
        child = os.fork()
        if child == 0:
            execute(uri, warehouse, view, int(point), operation)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answers = {0: "done", -signal.SIGKILL: "killed"}
        print(answers.get(os.waitstatus_to_exitcode(status), f"failed: {status}"), flush=True)


if __name__ == "__main__":
    main()
