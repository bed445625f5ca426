"""A process that carries out upgrades in children of its own, and kills each child after a statement.

It stays single-threaded and imports everything once, so that a child costs a fork and no more. Each line of standard
input is a JSON object: the address, the target, and after which statement the child kills itself; 0 is never.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from hive_views.schema_upgrade import Password, apply, connect, detect, parse_address, plan
from hive_views.schema_upgrade.derby_session import DerbySession


def work(request: dict[str, str | int]) -> None:
    """Upgrade as a program would: detect, plan, apply; die at the wanted statement."""
    address = parse_address(
        str(request["url"]), user=str(request["user"]) or None, password=Password(str(request["password"]))
    )
    with connect(address) as session:
        seen = 0

        def die_at(_: object) -> None:
            nonlocal seen
            seen += 1
            if seen != request["kill_at"]:
                return
            if isinstance(session, DerbySession) and session._own is not None:
                # Its database is the JVM's: kill that, too, and wait until it is gone.
                session._own.process.kill()
                session._own.process.wait()
            os.kill(os.getpid(), signal.SIGKILL)

        made = plan(detect(session), str(request["target"]) or None)
        apply(session, made, batch_size=int(request["batch_size"]), while_running=True, progress=die_at)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            work(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    # What the first upgrade would import is imported before the first fork.
    import psycopg  # noqa: F401
    import pymysql  # noqa: F401
    import sqlalchemy.dialects.mysql.pymysql
    import sqlalchemy.dialects.postgresql.psycopg  # noqa: F401

    main()
