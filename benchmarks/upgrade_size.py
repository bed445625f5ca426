"""Whole upgrades of large metastores: seconds, memory, and the longest wait of another session.

Each database begins with the schema of Hive 1.2.0, in which no table has a type and every fiftieth is a view over a
table of its own. It is upgraded for Hive 3.1, verified and rolled back, each in a process of its own, while another
process changes single rows of TBLS. `HIVE_VIEWS_BENCH_TABLES=1000000` sets the number of tables.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.synchronize import Event
from pathlib import Path
from queue import Queue
from time import perf_counter

from benchmarks.measure import Result
from hive_views.schema_upgrade import (
    Address,
    ApplyOptions,
    Password,
    Session,
    apply,
    connect,
    detect,
    parse_address,
    plan,
    rollback,
    verify,
)
from hive_views.schema_upgrade.row_changes import Progress
from tests.integration.schema_upgrade import servers
from tests.integration.schema_upgrade.states import hive_scripts

TABLES = int(os.environ.get("HIVE_VIEWS_BENCH_TABLES", "200000"))
TARGET = "3.1.3"
QUICK = "verify --skip-views"
COMMANDS = ("apply", QUICK, "verify", "rollback")


def run(_: Path) -> Iterator[Result]:
    for kind, start in (("mysql", servers.mariadb), ("postgresql", servers.postgresql)):
        if reason := servers.missing(kind):
            yield Result("upgrade of a large metastore", "not run", f"needs {reason}", "", "", "", None)
            continue
        with ExitStack() as stack:
            server = stack.enter_context(start())
            yield from _measure("MariaDB" if kind == "mysql" else "PostgreSQL", server)


def _measure(title: str, server: servers.Server) -> Iterator[Result]:
    server.create("bench")
    for script in hive_scripts("mariadb" if server.kind == "mysql" else "postgresql", "1.2.0"):
        server.run(script, "bench")
    with connect(_address(server.url("bench"))) as session:
        fill(session, TABLES)
    seconds: dict[str, float] = {}
    for command in COMMANDS:
        done, waited = _while_writing(server.url("bench"), command)
        seconds[command], peak = float(done["seconds"]), int(done["peak_mb"])
        share = f"{seconds[command] / seconds['apply']:.2f} of apply"
        what = f"{title}, {TABLES:,} tables: {command}"
        target, met = ("<= 0.33", seconds[QUICK] <= seconds["apply"] / 3) if command == QUICK else ("", None)
        yield from (
            Result(what, f"{seconds[command]:.1f} s", str(done["note"]), "", share, target, met),
            Result(f"{what}, peak memory", f"{peak} MB", "", "", "", "", None),
            Result(f"{what}, longest wait of another writer", f"{waited:.2f} s", "", "", "", "", None),
        )


def _while_writing(url: str, command: str) -> tuple[dict[str, str | float], float]:
    """Run a command in a process of its own while another process writes; returns its report and the longest wait."""
    context = multiprocessing.get_context("spawn")
    stop, waits = context.Event(), context.Queue()
    writer = context.Process(target=write, args=(url, stop, waits))
    writer.start()
    waits.get()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.upgrade_size", url, command], capture_output=True, text=True, check=True
        )
    finally:
        stop.set()
        longest = float(waits.get())
        writer.join()
    return json.loads(done.stdout), longest


def _address(url: str) -> Address:
    return parse_address(url, user="hive", password=Password(servers.PASSWORD))


def fill(session: Session, tables: int) -> None:
    """Tables with three columns each; one in five is external, one in fifty a view of the table before it."""
    quote = session.dialect.quote
    is_postgresql = session.dialect.name == "postgresql"
    numbers = f"generate_series(1, {tables}) AS s(seq)" if is_postgresql else f"seq_1_to_{tables} AS s"
    false = "false" if is_postgresql else "0"

    def text(pattern: str) -> str:
        """A text with the number of the table before."""
        parts = pattern.split("#")
        number = "CAST(s.seq - 1 AS text)" if is_postgresql else "s.seq - 1"
        listed = [part for literal in parts for part in (session.dialect.literal(literal), number)][:-1]
        return " || ".join(listed) if is_postgresql else f"CONCAT({', '.join(listed)})"

    def insert(table: str, condition: str = "1 = 1", **values: str) -> None:
        session.execute(
            f"INSERT INTO {quote(table)} ({session.dialect.names(list(values))}) "
            f"SELECT {', '.join(values.values())} FROM {numbers} WHERE {condition}"
        )
        session.commit()

    session.execute(
        f"INSERT INTO {quote('DBS')} ({session.dialect.names(['DB_ID', 'NAME', 'DB_LOCATION_URI'])}) "
        "VALUES (1, 'sales', 'file:/none')"
    )
    insert("CDS", CD_ID="s.seq")
    for position, name in enumerate("abc"):
        insert("COLUMNS_V2", CD_ID="s.seq", COLUMN_NAME=f"'{name}'", TYPE_NAME="'int'", INTEGER_IDX=str(position))
    insert("SERDES", SERDE_ID="s.seq")
    storage = {"IS_COMPRESSED": false, "IS_STOREDASSUBDIRECTORIES": false, "NUM_BUCKETS": "-1"}
    insert("SDS", SD_ID="s.seq", CD_ID="s.seq", SERDE_ID="s.seq", **storage)
    typed = "SELECT a, b, upper(c) AS c FROM t# WHERE a > 7"
    expanded = "SELECT `t#`.`a`, `t#`.`b`, upper(`t#`.`c`) AS `c` FROM `sales`.`t#` WHERE `t#`.`a` > 7"
    insert(
        "TBLS",
        TBL_ID="s.seq",
        DB_ID="1",
        SD_ID="s.seq",
        TBL_NAME=text("t#").replace("s.seq - 1", "s.seq"),
        CREATE_TIME="0",
        LAST_ACCESS_TIME="0",
        RETENTION="0",
        OWNER="'ann'",
        VIEW_ORIGINAL_TEXT=f"CASE WHEN MOD(s.seq, 50) = 0 THEN {text(typed)} END",
        VIEW_EXPANDED_TEXT=f"CASE WHEN MOD(s.seq, 50) = 0 THEN {text(expanded)} END",
    )
    insert("TABLE_PARAMS", "MOD(s.seq, 5) = 1", TBL_ID="s.seq", PARAM_KEY="'EXTERNAL'", PARAM_VALUE="'TRUE'")
    insert("TABLE_PARAMS", TBL_ID="s.seq", PARAM_KEY="'transient_lastDdlTime'", PARAM_VALUE="'1700000000'")
    for table in ("TBLS", "TABLE_PARAMS", "SDS", "COLUMNS_V2"):
        session.execute(f"ANALYZE {'' if is_postgresql else 'TABLE '}{quote(table)}")
    session.commit()


def write(url: str, stop: Event, waits: Queue[float]) -> None:
    """Change single rows of TBLS until stopped, and report the longest wait."""
    generator, longest = random.Random(7), 0.0
    with connect(_address(url)) as session:
        quote = session.dialect.quote
        unlimited = "SET lock_timeout = 0"
        if session.dialect.name != "postgresql":
            unlimited = "SET SESSION innodb_lock_wait_timeout = 3600, SESSION lock_wait_timeout = 3600"
        session.execute(unlimited)
        session.commit()
        sql = f"UPDATE {quote('TBLS')} SET {quote('LAST_ACCESS_TIME')} = 1 WHERE {quote('TBL_ID')} = :tbl_id"
        waits.put(0.0)
        while not stop.wait(0.01):
            started = perf_counter()
            session.execute(sql, {"tbl_id": generator.randint(1, TABLES)})
            session.commit()
            longest = max(longest, perf_counter() - started)
    waits.put(longest)


def _command(url: str, command: str) -> dict[str, str | float]:
    """Run one command and return what it took."""
    batches = [0]

    def count(progress: Progress) -> None:
        batches[0] += progress.statement == "COMMIT"

    started = perf_counter()
    with connect(_address(url)) as session:
        if command == "apply":
            applied = apply(
                session,
                plan(detect(session), TARGET),
                ApplyOptions(while_running=True, before_hive_scripts=True),
                progress=count,
            )
            note = f"{len(applied.done)} steps"
        elif command.startswith("verify"):
            report = verify(session, TARGET, views=command != QUICK, progress=count)
            assert not report.lacking and report.views in (None, TABLES // 50) and not report.broken
            note = f"{report.views or 'no'} views"
        else:
            reverted = rollback(session, schema=True, while_running=True, progress=count)
            assert reverted.rows == TABLES and not reverted.changed_since
            note = f"{reverted.rows:,} rows"
    seconds = perf_counter() - started
    peak = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    assert peak is not None
    return {
        "seconds": seconds,
        "peak_mb": int(peak[1]) // 1024,
        "note": f"{note}, {batches[0]} progress reports",
    }


if __name__ == "__main__":
    print(json.dumps(_command(sys.argv[1], sys.argv[2])))
