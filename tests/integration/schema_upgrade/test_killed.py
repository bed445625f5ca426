"""Upgrades that are killed and run again: schema, rows and backup equal those of an uninterrupted upgrade."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hive_views.errors import DatabaseError
from hive_views.schema_upgrade import Address, Session, detect, plan, rollback
from hive_views.schema_upgrade.derby_session import DerbySession
from tests.integration.schema_upgrade.conftest import WHOLE, on_servers
from tests.integration.schema_upgrade.contents import apply_before_scripts, backup_of, rows_of, schema_of
from tests.integration.schema_upgrade.databases import Databases, DerbyDatabases, SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD
from tests.integration.schema_upgrade.states import STATES, VARIANTS

REPEATED = [
    (kind, state)
    for kind in ("mariadb", "postgresql")
    for state in (
        [*STATES, *(name for name in VARIANTS if kind in VARIANTS[name][1] and "compact" not in name)]
        if WHOLE
        else ["0.3.0", "2.1.0"]
    )
]
"""Start states whose upgrade can be completed."""

BATCH = 4
"""Rows per batch, so that the small start states have several batches."""

TARGETS = {"0.3.0": "4.0.0", "0.10.0": "3.1.0", "2.1.0": "4.0.0", **dict.fromkeys(VARIANTS, "4.0.0")}
"""Targets of start states that are upgraded to a later version, which adds tables, locks and flags."""


@dataclass
class Worker:
    """A process that runs upgrades in child processes, which kill themselves."""

    process: subprocess.Popen[str]

    def run(self, address: Address, target: str | None, kill_at: int) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        url = address.place
        user, password = (address.user, "mine") if address.kind == "derby" else ("hive", PASSWORD)
        request = {"url": url, "user": user, "password": password, "target": target or "", "kill_at": kill_at}
        self.process.stdin.write(json.dumps({**request, "batch_size": BATCH}) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.schema_upgrade.kill_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    yield Worker(process)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == 0


def outcome(session: Session) -> tuple[object, ...]:
    """The result of an upgrade, without times and plan IDs."""
    tables = [rows_of(session, name) for name in ("TBLS", "TABLE_PARAMS", "SDS", "DBS")]
    counter = detect(session, rows=False).table("NEXT_LOCK_ID")
    locks = rows_of(session, counter.name) if counter else None
    return schema_of(session), tables, locks, backup_of(session)


def uninterrupted(databases: Databases, state: str, target: str | None) -> tuple[tuple[object, ...], int]:
    """The outcome of an uninterrupted upgrade, and its number of statements."""
    events: list[object] = []
    with databases.open(databases.copy(state)) as session:
        apply_before_scripts(session, plan(detect(session), target), batch_size=BATCH, progress=events.append)
        return outcome(session), len(events)


@pytest.mark.parametrize(("kind", "state"), REPEATED)
def test_repeatedly_killed_upgrade_equals_uninterrupted_upgrade(
    kind: str, state: str, worker: Worker, request: pytest.FixtureRequest
) -> None:
    """The first run is killed after its first statement, the second after its second, and so on."""
    databases: SqlDatabases = request.getfixturevalue(kind)
    target = TARGETS.get(state)
    expected, events = uninterrupted(databases, state, target)
    address = databases.copy(state)
    for kill_at in range(1, events + 2):
        answer = worker.run(address, target, kill_at)
        if answer == "ended 0":
            break
        assert answer == "killed"
    assert answer == "ended 0"
    assert kill_at > 4, "several runs were killed"
    with databases.open(address) as session:
        assert outcome(session) == expected


@pytest.mark.parametrize("state", STATES if WHOLE else ["0.3.0"])
def test_repeatedly_broken_connection_equals_uninterrupted_upgrade(derby: DerbyDatabases, state: str) -> None:
    """On Derby the database is shut down during the session, which loses uncommitted changes."""
    target = TARGETS.get(state)
    expected, events = uninterrupted(derby, state, target)
    address = derby.copy(state)
    for break_at in range(1, events + 2):
        if not _is_broken_upgrade(derby, address, target, break_at):
            break
    assert break_at > 4, "several runs were broken"
    with derby.open(address) as session:
        assert outcome(session) == expected


def _is_broken_upgrade(derby: DerbyDatabases, address: Address, target: str | None, break_at: int) -> bool:
    """Upgrade, and shut down the database after a statement; returns whether the upgrade failed."""
    with DerbySession(address, derby.jvm) as session:
        seen = 0

        def shut_down(_: object) -> None:
            nonlocal seen
            seen += 1
            if seen == break_at:
                session.shut_down()

        try:
            apply_before_scripts(session, plan(detect(session), target), batch_size=BATCH, progress=shut_down)
        except DatabaseError:
            assert seen >= break_at
            return True
    # A shutdown after the last statement interrupts nothing.
    assert seen <= break_at
    return False


def kill_points(count: int) -> list[int]:
    """The numbers of the statements after which an upgrade is killed."""
    if WHOLE:
        return list(range(1, count + 1))
    return sorted({2, count // 3, 2 * count // 3, count})


QUICK_CASES = [("mariadb", "0.5.0"), ("postgresql", "2.1.0"), ("derby", "0.5.0")]
ALL_CASES = [(kind, state) for kind in ("mariadb", "postgresql", "derby") for state in STATES]


@pytest.mark.parametrize(("kind", "state"), ALL_CASES if WHOLE else QUICK_CASES)
def test_upgrade_killed_once_is_resumed(kind: str, state: str, worker: Worker, request: pytest.FixtureRequest) -> None:
    """An upgrade is killed by SIGKILL after one statement and run again."""
    databases: Databases = request.getfixturevalue(kind)
    target = TARGETS.get(state)
    expected, events = uninterrupted(databases, state, target)
    chosen = kill_points(events)
    if kind == "derby" and not WHOLE:
        chosen = chosen[2:3]
    for kill_at in chosen:
        address = databases.copy(state)
        assert worker.run(address, target, kill_at) == "killed"
        with databases.open(address) as session:
            apply_before_scripts(session, plan(detect(session), target), batch_size=BATCH, while_running=True)
            assert outcome(session) == expected, f"killed after statement {kill_at} of {events}"


@on_servers
def test_killed_plan_is_resumed(databases: SqlDatabases, worker: Worker) -> None:
    address = databases.copy("0.5.0")
    with databases.open(address) as session:
        new_plan = plan(detect(session))
    assert worker.run(address, None, 9) == "killed"
    with databases.open(address) as session:
        applied = apply_before_scripts(session, new_plan, while_running=True)
        assert applied.found_done
        assert set(applied.found_done) | set(applied.done) == {step.id for step in new_plan.steps}


def test_rollback_after_killed_upgrade_restores_all_rows(worker: Worker, mariadb: SqlDatabases) -> None:
    """The backup contains all changes of a killed upgrade."""
    for kill_at in (18, 21, 24):
        address = mariadb.copy("0.7.0")
        with mariadb.open(address) as session:
            before = rows_of(session, "TBLS")
        assert worker.run(address, None, kill_at) == "killed"
        with mariadb.open(address) as session:
            rollback(session)
            assert rows_of(session, "TBLS") == before
