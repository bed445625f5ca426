"""The client is killed at any point of an operation: before and after each request, file creation and file deletion.

The operation was applied or not, and another client repeats it or continues. An operation of several steps can be
completed. HIVE_VIEWS_WHOLE_FAULTS=1 tries every point, otherwise one in `STEP`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count

import pytest

from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.faults.database_content import Labels
from tests.faults.fault_matrix import FAULTS, Outcome, Result, Stage, Trial
from tests.faults.fault_matrix import Case as MatrixCase
from tests.faults.killed_client import MULTI_STEP_OPERATIONS_BY_NAME, OPERATIONS_BY_NAME, Case
from tests.faults.multi_step import KEEPS_DEFINITIONS
from tests.faults.reporting import ALL_CASES
from tests.integration.catalog.samples import path

STEP = 1 if ALL_CASES else 13
MULTI_STEP = 1 if ALL_CASES else 29

Killer = Callable[..., str]


@pytest.fixture(scope="module")
def killer(metastore: EmbeddedMetastore) -> Iterator[Killer]:
    """Runs an operation in a process that kills itself at a point; returns `killed` or `done`."""
    command = [sys.executable, "-m", "tests.faults.killed_client"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def kill(operation: str, point: int, database: str, location: str) -> str:
            case = Case(operation, point, database, location, metastore.port, metastore.warehouse)
            process.stdin.write(case.line())
            process.stdin.flush()
            return process.stdout.readline().strip()

        yield kill
        process.stdin.close()


def points(operations: Mapping[str, object], name: str, step: int = STEP) -> Iterator[int]:
    """The points to try; each operation begins at another one."""
    return count(list(operations).index(name) % 5, step)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", OPERATIONS_BY_NAME)
def test_killed_client_has_applied_the_operation_or_not(
    name: str, stage: Stage, killer: Killer, subtests: pytest.Subtests
) -> None:
    operation, killed = OPERATIONS_BY_NAME[name], 0
    for point in points(OPERATIONS_BY_NAME, name):
        with stage.world(operation) as world, stage.proxy() as proxy:
            trial = Trial(stage, operation, world)
            answer = killer(name, point, world.database, world.location)
            assert answer in ("killed", "done"), answer
            if answer == "done":
                break
            killed += 1
            with subtests.test(f"point {point}"):
                world.observer.expire_locks()
                result = Result(MatrixCase(operation, point, "", FAULTS[0]), Outcome.UNKNOWN)
                trial.judge(result, orphan_files=True)
                with stage.catalog(proxy) as catalog:
                    trial.continue_work(catalog, result)
                assert not result.problems
    assert killed


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", MULTI_STEP_OPERATIONS_BY_NAME)
def test_operation_of_several_steps_can_be_completed_after_kill(
    name: str, stage: Stage, killer: Killer, subtests: pytest.Subtests
) -> None:
    operation, killed = MULTI_STEP_OPERATIONS_BY_NAME[name], 0
    after = stage.recorded(operation).after
    for point in points(MULTI_STEP_OPERATIONS_BY_NAME, name, MULTI_STEP):
        with stage.world(operation) as world, stage.proxy() as proxy:
            before = operation.read(world, Labels())
            definitions = {view: world.observer.view(view) for view in before if name in KEEPS_DEFINITIONS}
            answer = killer(name, point, world.database, world.location)
            assert answer in ("killed", "done"), answer
            if answer == "done":
                break
            killed += 1
            with subtests.test(f"point {point}"):
                world.observer.expire_locks()
                now = operation.read(world, Labels())
                for item in before.keys() | after.keys() | now.keys():
                    assert now.get(item) in (before.get(item), after.get(item)), item
                assert all(path(view.pointer).exists() for view in definitions.values())
                with stage.catalog(proxy) as catalog:
                    operation.continue_with(catalog, world)
                assert operation.read(world, Labels()) == after
    assert killed
