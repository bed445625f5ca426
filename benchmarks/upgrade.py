"""Filling in TBL_TYPE for a million rows, compared with the two statements of Hive's documentation.

It runs on MariaDB and PostgreSQL of Debian's packages. Another session changes single rows meanwhile, as a metastore
does; its longest wait shows how long locks are held.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Result
from hive_views.schema_upgrade import (
    Address,
    ApplyOptions,
    Password,
    Session,
    UpgradePlan,
    apply,
    connect,
    detect,
    parse_address,
    plan,
)
from tests.integration.schema_upgrade import servers
from tests.integration.schema_upgrade.states import old_schema

ROWS = 1_000_000
ROUNDS = 2


def run(_: Path) -> Iterator[Result]:
    for kind, start in (("mysql", servers.mariadb), ("postgresql", servers.postgresql)):
        if reason := servers.missing(kind):
            yield Result("back-fill of TBL_TYPE", "not run", f"needs {reason}", "", "", "", None)
            continue
        with ExitStack() as stack:
            server = stack.enter_context(start())
            server.create("bench")
            address = parse_address(server.url("bench"), user="hive", password=Password(servers.PASSWORD))
            yield from _compare("MariaDB" if kind == "mysql" else "PostgreSQL", address)


def _compare(title: str, address: Address) -> list[Result]:
    ours: list[tuple[float, float, float]] = []
    theirs: list[tuple[float, float, float]] = []
    steps = 0
    with connect(address) as session:
        _fill(session)
        for turn in range(ROUNDS):
            for who in (ours, theirs) if turn % 2 else (theirs, ours):
                _reset(session)
                new_plan = plan(detect(session))
                with _Writer(address) as writer:
                    started = perf_counter()
                    longest, count = _batches(session, new_plan) if who is ours else _two_statements(session)
                    total = perf_counter() - started
                who.append((total, longest, writer.longest))
                steps = max(steps, count)
    mine, peer = min(ours), min(theirs)
    what = f"{title}: TBL_TYPE of {ROWS:,} rows"
    apart = f"{mine[1] * 1000:.0f} ms", f"{peer[1] * 1000:.0f} ms", f"{mine[1] / peer[1]:.3f}x"
    waits = f"{mine[2] * 1000:.0f} ms", f"{peer[2] * 1000:.0f} ms", f"{mine[2] / peer[2]:.3f}x"
    return [
        Result(f"{what}, total", f"{mine[0]:.1f} s", "the two UPDATEs", f"{peer[0]:.1f} s",
               f"{mine[0] / peer[0]:.2f}x", "", None),
        Result(f"{what}, longest transaction", apart[0], "the two UPDATEs", apart[1], apart[2],
               "< 0.10x", mine[1] / peer[1] < 0.1),
        Result(f"{what}, longest wait of another writer", waits[0], "the two UPDATEs", waits[1], waits[2], "", None),
        Result(f"{what}, progress", f"{steps} batches reported", "the two UPDATEs", "none", "", "", None),
    ]  # fmt: skip


def _fill(session: Session) -> None:
    """A metastore of Hive 0.10 with a million tables: one in five external, one in fifty a view."""
    for statement in old_schema(session.dialect.name, "0.10.0"):
        session.execute(statement)
    quote = session.dialect.quote
    postgresql = session.dialect.name == "postgresql"
    numbers = f"generate_series(1, {ROWS}) AS s(seq)" if postgresql else f"seq_1_to_{ROWS} AS s"
    name = "'t' || s.seq" if postgresql else "CONCAT('t', s.seq)"
    view = "CASE WHEN MOD(s.seq, 50) = 0 THEN 'SELECT `t`.`a` FROM `sales`.`t`' END"
    columns = ["TBL_ID", "CREATE_TIME", "DB_ID", "LAST_ACCESS_TIME", "OWNER", "RETENTION", "SD_ID", "TBL_NAME"]
    columns += ["VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT"]
    session.execute(f"INSERT INTO {quote('DBS')} ({quote('DB_ID')}, {quote('NAME')}) VALUES (1, 'sales')")
    session.execute(
        f"INSERT INTO {quote('TBLS')} ({session.dialect.names(columns)}) "
        f"SELECT s.seq, 0, 1, 0, 'ann', 0, s.seq, {name}, {view}, {view} FROM {numbers}"
    )
    session.execute(
        f"INSERT INTO {quote('TABLE_PARAMS')} ({session.dialect.names(['TBL_ID', 'PARAM_KEY', 'PARAM_VALUE'])}) "
        f"SELECT s.seq, 'EXTERNAL', 'TRUE' FROM {numbers} WHERE MOD(s.seq, 5) = 0"
    )
    session.execute(
        f"INSERT INTO {quote('TABLE_PARAMS')} ({session.dialect.names(['TBL_ID', 'PARAM_KEY', 'PARAM_VALUE'])}) "
        f"SELECT s.seq, 'transient_lastDdlTime', '1700000000' FROM {numbers}"
    )
    session.commit()
    # Schema steps are not measured.
    apply(session, plan(detect(session)))


def _reset(session: Session) -> None:
    quote = session.dialect.quote
    session.execute(f"UPDATE {quote('TBLS')} SET {quote('TBL_TYPE')} = NULL")
    session.execute(f"DELETE FROM {quote('HIVE_VIEWS_BACKUP')}")
    session.commit()
    session.execute(f"ANALYZE {'' if session.dialect.name == 'postgresql' else 'TABLE '}{quote('TBLS')}")
    session.commit()


def _batches(session: Session, new_plan: UpgradePlan) -> tuple[float, int]:
    committed = [perf_counter()]

    def tell(progress: object) -> None:
        if getattr(progress, "statement", "") == "COMMIT":
            committed.append(perf_counter())

    apply(session, new_plan, ApplyOptions(while_running=True), progress=tell)
    # The first batch includes the check of the plan.
    return max(after - before for before, after in pairwise(committed[1:])), len(committed) - 1


def _two_statements(session: Session) -> tuple[float, int]:
    """Hive Views, Existing Row UPDATE: each statement is one transaction."""
    quote = session.dialect.quote
    tbls, params = quote("TBLS"), quote("TABLE_PARAMS")
    external = (
        f"EXISTS (SELECT * FROM {params} WHERE {params}.{quote('TBL_ID')} = {tbls}.{quote('TBL_ID')} "
        f"AND {quote('PARAM_KEY')} = 'EXTERNAL' AND {quote('PARAM_VALUE')} = 'TRUE')"
    )
    longest = 0.0
    for statement in (
        f"UPDATE {tbls} SET {quote('TBL_TYPE')} = 'MANAGED_TABLE' "
        f"WHERE {quote('VIEW_ORIGINAL_TEXT')} IS NULL AND NOT {external}",
        f"UPDATE {tbls} SET {quote('TBL_TYPE')} = 'EXTERNAL_TABLE' WHERE {external}",
    ):
        started = perf_counter()
        session.execute(statement)
        session.commit()
        longest = max(longest, perf_counter() - started)
    return longest, 0


class _Writer:
    """Another session that changes single rows, and measures its longest wait."""

    def __init__(self, address: Address) -> None:
        self.longest = 0.0
        self._session = connect(address)
        if self._session.dialect.name == "postgresql":
            self._session.execute("SET lock_timeout = 0")
        else:
            self._session.execute("SET SESSION innodb_lock_wait_timeout = 600")
        self._session.commit()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        generator = random.Random(7)
        quote = self._session.dialect.quote
        sql = f"UPDATE {quote('TBLS')} SET {quote('LAST_ACCESS_TIME')} = 1 WHERE {quote('TBL_ID')} = :tbl_id"
        while not self._stop.wait(0.002):
            started = perf_counter()
            self._session.execute(sql, {"tbl_id": generator.randint(1, ROWS)})
            self._session.commit()
            self.longest = max(self.longest, perf_counter() - started)

    def __enter__(self) -> _Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._session.close()
