"""Clients that are killed with SIGKILL: `python -m tests.faults.killed_client`.

One process imports everything once. For each line of its input, a `Case` as JSON, it forks a child that executes the
operation and kills itself at that point; see `die_at`. The process prints `killed`, or `done` if the operation ended
before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from dataclasses import asdict, dataclass
from typing import NoReturn

from hive_views import HiveViewCatalog
from tests.faults.multi_step import IMPORT_OPERATIONS, MULTI_STEP_OPERATIONS
from tests.faults.observer import Observer
from tests.faults.operations import NAMESPACE_OPERATIONS, OPERATIONS, PARTITION_OPERATIONS, World
from tests.integration.materialized.killed_refresh import die_at

OPERATIONS_BY_NAME = {
    operation.name: operation for operation in (*OPERATIONS, *NAMESPACE_OPERATIONS, *PARTITION_OPERATIONS)
}
MULTI_STEP_OPERATIONS_BY_NAME = {
    operation.name: operation for operation in (*MULTI_STEP_OPERATIONS, *IMPORT_OPERATIONS)
}


@dataclass(frozen=True)
class Server:
    """What an observer needs to know of a metastore."""

    port: int
    warehouse: str


@dataclass(frozen=True)
class Case:
    """An operation and the point at which its client dies."""

    operation: str
    point: int
    database: str
    location: str
    port: int
    warehouse: str

    def line(self) -> str:
        """Return the case as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    def execute(self) -> None:
        """Execute the operation until this process dies."""
        properties = {"uri": f"thrift://127.0.0.1:{self.port}", "warehouse": self.warehouse}
        with HiveViewCatalog("prod", **properties) as catalog:
            catalog.list_namespaces()
            observer = Observer(Server(self.port, self.warehouse), self.database)
            world = World(self.database, self.location, observer, catalog, self.port)
            operations = {**OPERATIONS_BY_NAME, **MULTI_STEP_OPERATIONS_BY_NAME}
            operations[self.operation].run(catalog, world, lambda: die_at(self.point))


def execute(case: Case) -> NoReturn:
    """Execute a case in a child process."""
    try:
        case.execute()
    except BaseException:  # noqa: BLE001 -- printed for the test, which fails
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main() -> None:
    """Execute one case per line."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            execute(Case(**json.loads(line)))
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        print({0: "done", -signal.SIGKILL: "killed"}.get(code, f"failed: {code}"), flush=True)


if __name__ == "__main__":
    main()
