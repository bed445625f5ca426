"""Each wire call of everything that a catalog does, with each fault: see `every_call`.

`make test` takes one fault for each call, chosen so that each method meets as many of them as it can; `make
test-faults` (HIVE_VIEWS_WHOLE_FAULTS=1) takes them all, against the server that HIVE_VIEWS_TEST_SERVER names.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.metastore.process import MetastoreProcess
from tests.conftest import SERVER, started
from tests.faults.deeds import DEEDS, Deed
from tests.faults.every_call import Case, Result, Stage, run, sample
from tests.faults.interruptions import KILLED_AFTER, KILLED_BEFORE, at, change, interrupted, kill_and_start
from tests.upgrade.servers import free_port

WHOLE = os.environ.get("HIVE_VIEWS_WHOLE_FAULTS") == "1"
RESULTS = os.environ.get("HIVE_VIEWS_FAULT_RESULTS")
"""A file that gets a line of JSON for each case."""

SLOW = 1
"""How many cases of a deed may wait for time-outs where not all are run."""


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """A metastore whose Derby, where that is its database, notices deadlocks after one second: by default after 20."""
    directory = tmp_path_factory.mktemp("every_call")
    (directory / "derby.properties").write_text("derby.locks.deadlockTimeout=1\nderby.locks.waitTimeout=10\n")
    with started(directory, SERVER, free_port()) as running:
        yield running


@pytest.fixture(scope="module")
def stage(metastore: MetastoreProcess) -> Iterator[Stage]:
    properties = {"uri": metastore.uri, "warehouse": metastore.warehouse}
    with HiveViewCatalog("prod", **properties) as direct:
        yield Stage(metastore, direct)


@pytest.fixture(scope="module")
def used() -> Counter[tuple[str, str]]:
    """Which faults the methods have met."""
    return Counter()


def report(results: list[Result], subtests: pytest.Subtests) -> None:
    """Each case as a test of its own, and as a line for the page."""
    for result in results:
        if RESULTS:
            line = {
                "deed": result.case.deed.name,
                "fault": result.case.fault.name,
                "outcome": result.outcome.value if result.outcome else None,
                "wrong": result.wrong,
                "left lock": result.left_lock,
                "told": result.told,
                "case": str(result.case),
            }
            with Path(RESULTS).open("a") as out:
                out.write(json.dumps(line) + "\n")
        with subtests.test(str(result.case)):
            assert not result.wrong, f"{result.outcome} {result.told}\n" + "\n".join(result.wrong)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("deed", DEEDS, ids=str)
def test_each_call(deed: Deed, stage: Stage, used: Counter[tuple[str, str]], subtests: pytest.Subtests) -> None:
    cases = stage.cases(deed) if WHOLE else sample(stage.cases(deed), used, SLOW)
    waiting = [case for case in cases if case.fault.slow]
    # Those that wait do little else, so several of them wait together.
    with ThreadPoolExecutor(4) as pool:
        results = [run(stage, case) for case in cases if case not in waiting]
        results += pool.map(lambda case: run(stage, case), waiting)
    report(results, subtests)


def rounds(stage: Stage) -> Iterator[list[Case]]:
    """Which call of each deed the server is killed at, one kill after the other."""
    both = (KILLED_BEFORE, KILLED_AFTER)
    if not WHOLE:
        # The request that changes something, before or after.
        yield [change(stage, deed, both[number % 2]) for number, deed in enumerate(DEEDS)]
        return
    for index in range(max(len(stage.recorded(deed).methods) for deed in DEEDS)):
        for fault in both:
            yield [at(stage, deed, fault, index) for deed in DEEDS if index < len(stage.recorded(deed).methods)]


@pytest.mark.timeout(3600)
def test_the_server_is_killed_and_started_again(stage: Stage, subtests: pytest.Subtests) -> None:
    for cases in rounds(stage):
        report(interrupted(stage, cases, lambda proxies: kill_and_start(stage.metastore, proxies)), subtests)
