"""Each Thrift call of each operation with each fault; see `fault_matrix`.

By default one fault per operation and method, chosen so that each method gets as many different ones as possible; all
faults with `make test-faults` (HIVE_VIEWS_WHOLE_FAULTS=1), against the server that HIVE_VIEWS_TEST_SERVER names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from hive_views.local_metastore.process import MetastoreProcess
from tests.conftest import SERVER, started
from tests.faults import disks
from tests.faults.fault_matrix import Case, Fault, Outcome, Result, Stage, Trial, run, sample
from tests.faults.interruptions import KILLED_AFTER, KILLED_BEFORE, at, change, interrupted, kill_and_start
from tests.faults.operations import OPERATIONS, SAMPLE, Operation
from tests.faults.reporting import ALL_CASES, report
from tests.integration.schema_upgrade.servers import free_port
from tests.proxy import Pass

PATIENT = ("replace", "drop", "change table")
"""The operations that get slow faults in a sample run."""

AT_ONCE, WAITING_AT_ONCE = (8, 16) if ALL_CASES and "/" in SERVER else (1, 6)
"""The number of concurrent cases, fast and waiting ones; on Derby they would block each other."""


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """A metastore whose Derby database, if it has one, detects deadlocks after one second instead of 20."""
    directory = tmp_path_factory.mktemp("fault_matrix")
    (directory / "derby.properties").write_text("derby.locks.deadlockTimeout=1\nderby.locks.waitTimeout=10\n")
    with started(directory, SERVER, free_port()) as running:
        yield running


@pytest.fixture(scope="module")
def used() -> Counter[tuple[str, str]]:
    """How often each fault was applied to each method."""
    return Counter()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_each_metastore_call_interrupted_in_each_operation(
    operation: Operation, stage: Stage, used: Counter[tuple[str, str]], subtests: pytest.Subtests
) -> None:
    cases = (
        stage.cases(operation)
        if ALL_CASES
        else sample(stage.cases(operation), used, 2 if operation.name in PATIENT else 0)
    )
    waiting = [case for case in cases if case.fault.slow]
    # Waiting cases use little CPU time, so several run together.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda case: run(stage, case), [case for case in cases if case not in waiting]))
    with ThreadPoolExecutor(WAITING_AT_ONCE) as pool:
        results += pool.map(lambda case: run(stage, case), waiting)
    report(results, subtests)


def rounds(stage: Stage) -> Iterator[list[Case]]:
    """Yield, for each kill of the server, the cases at whose calls it happens."""
    both = (KILLED_BEFORE, KILLED_AFTER)
    if not ALL_CASES:
        # Before or after the request that changes the row.
        yield [change(stage, operation, both[number % 2]) for number, operation in enumerate(OPERATIONS)]
        return
    for index in range(max(len(stage.recorded(operation).methods) for operation in OPERATIONS)):
        for fault in both:
            yield [
                at(stage, operation, fault, index)
                for operation in OPERATIONS
                if index < len(stage.recorded(operation).methods)
            ]


@pytest.mark.timeout(3600)
def test_operation_while_server_is_killed_and_restarted(stage: Stage, subtests: pytest.Subtests) -> None:
    for cases in rounds(stage):
        report(interrupted(stage, cases, lambda proxies: kill_and_start(stage.metastore, proxies)), subtests)


# -- The client's disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    with disks.small_disk(tmp_path / "disk", "1m") as mounted:
        yield mounted


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as out:
        while True:
            out.write(b"x" * 512)


SPOILED = {
    "No space left": (fill, lambda disk: (disk / "filler").unlink()),
    "Read-only": (lambda disk: disks.remount(disk, "ro"), lambda disk: disks.remount(disk, "rw")),
}
"""By the error of the operating system: how to make the disk unusable, and usable again."""


@pytest.mark.parametrize("kind", SPOILED)
def test_operation_without_writable_storage(kind: str, stage: Stage, disk: Path, subtests: pytest.Subtests) -> None:
    spoil, mend = SPOILED[kind]
    operations = OPERATIONS if ALL_CASES else SAMPLE
    results = []
    for operation in operations:
        result = Result(Case(operation, 0, stage.recorded(operation).methods[0], Fault(kind, Pass)))
        results.append(result)
        with (
            stage.world(operation, (disk / operation.name.replace(" ", "_")).as_uri()) as world,
            stage.proxy() as proxy,
        ):
            trial = Trial(stage, operation, world)
            with stage.catalog(proxy) as catalog:
                trial.execute(catalog, lambda: spoil(disk), result)
                mend(disk)
                trial.judge(result)
                if result.outcome is Outcome.REFUSED and kind not in result.error_text:
                    result.problems.append(f"the error does not name the cause: {result.error_text}")
                trial.check_locks(result, excused=False)
                trial.continue_work(catalog, result)
    report(results, subtests)
