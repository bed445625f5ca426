"""A process that runs upgrades in child processes, which kill themselves after a given statement.

The process is single-threaded and imports everything before it forks. Each line of standard input is a JSON object with
the address, the target, and the number of the statement after which the child kills itself; 0 for never.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from hive_views.schema_upgrade import Password, connect, detect, parse_address, plan
from tests.integration.schema_upgrade.contents import apply_before_scripts


def run_upgrade(request: dict[str, str | int]) -> None:
    """Detect, plan and apply; kill this process after the requested statement."""
    address = parse_address(
        str(request["url"]), user=str(request["user"]) or None, password=Password(str(request["password"]))
    )
    with connect(address) as session:
        count = 0

        def kill_self(_: object) -> None:
            nonlocal count
            count += 1
            if count != request["kill_at"]:
                return
            # A JVM for Derby has the database open.
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
                os.waitpid(int(child), 0)
            os.kill(os.getpid(), signal.SIGKILL)

        new_plan = plan(detect(session), str(request["target"]) or None)
        apply_before_scripts(
            session, new_plan, batch_size=int(request["batch_size"]), while_running=True, progress=kill_self
        )


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run_upgrade(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    # Import before the first fork what upgrades import.
    import psycopg  # noqa: F401
    import pymysql  # noqa: F401
    import sqlalchemy.dialects.mysql.pymysql
    import sqlalchemy.dialects.postgresql.psycopg  # noqa: F401

    main()
