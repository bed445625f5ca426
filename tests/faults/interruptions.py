"""Faults that hit many operations at once: the metastore or its database is killed while each waits for a call.

One interruption is slow, so all operations share it, each with its own database and its own proxy. They reach their
calls one after the other and continue together.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from hive_views import HiveViewCatalog
from hive_views.local_metastore.process import MetastoreProcess
from tests.faults.fault_matrix import Case, Fault, Result, Stage, Trial
from tests.faults.observer import until
from tests.faults.operations import CHANGES, Operation
from tests.proxy import ANY, Action, DropReply, Hold, ThriftProxy

KILLED_BEFORE = Fault("server killed before it carries it out", Hold)
KILLED_AFTER = Fault("server killed after it carried it out", lambda: DropReply(silent=True))
DATABASE_RESTARTED = Fault("database killed and restarted under the server", Hold)
ONE_OF_TWO_KILLED = Fault("one of two servers killed", Hold)

Interruption = Callable[[list[ThriftProxy]], None]
"""What happens once all operations wait; called with their proxies."""


@dataclass
class _RunningCase:
    trial: Trial
    proxy: ThriftProxy
    action: Action
    catalog: HiveViewCatalog
    result: Result
    future: Future[None]

    def is_waiting(self) -> bool:
        """Return whether the call waits, or the operation ended before it."""
        if isinstance(self.action, Hold):
            return self.action.arrived.is_set() or self.future.done()
        return any(call.action is self.action and call.answered for call in self.proxy.calls) or self.future.done()


def at(stage: Stage, operation: Operation, fault: Fault, index: int) -> Case:
    """Return the case of an operation's call at an index, or of its last call if it has fewer."""
    methods = stage.recorded(operation).methods
    index = min(index, len(methods) - 1)
    return Case(operation, index, methods[index], fault)


def change(stage: Stage, operation: Operation, fault: Fault) -> Case:
    """Return the case of the first request of an operation that changes a row."""
    methods = stage.recorded(operation).methods
    return at(stage, operation, fault, next(index for index, method in enumerate(methods) if method in CHANGES))


def interrupted(stage: Stage, cases: Sequence[Case], interrupt: Interruption, *, release: bool = False) -> list[Result]:
    """Let each operation wait at its call, interrupt, and judge the outcomes."""
    results = [Result(case) for case in cases]
    with ExitStack() as stack, ThreadPoolExecutor(len(cases)) as pool:
        running_cases = [_start(stage, result, stack, pool) for result in results]
        interrupt([case.proxy for case in running_cases])
        for running in running_cases:
            if release and isinstance(running.action, Hold):
                running.action.released.set()
        for running in running_cases:
            _finish(running)
    return results


def _start(stage: Stage, result: Result, stack: ExitStack, pool: ThreadPoolExecutor) -> _RunningCase:
    case = result.case
    world = stack.enter_context(stage.world(case.operation))
    proxy = stack.enter_context(stage.proxy())
    catalog = stack.enter_context(stage.catalog(proxy))
    trial = Trial(stage, case.operation, world)
    action = case.fault.action()

    def begin() -> None:
        proxy.clear()
        proxy.on(ANY, action, nth=case.index + 1)

    running = _RunningCase(trial, proxy, action, catalog, result, pool.submit(trial.execute, catalog, begin, result))
    until(running.is_waiting)
    return running


def _finish(running: _RunningCase) -> None:
    result = running.result
    try:
        running.future.result()
        excused = any(call.method in CHANGES and not call.returned for call in running.proxy.calls)
        running.proxy.clear()
        running.trial.judge(result)
        running.trial.check_locks(result, excused=excused)
        running.trial.continue_work(running.catalog, result)
    except Exception:  # noqa: BLE001 -- reported together with the other cases
        result.problems.append(traceback.format_exc())


def kill_and_start(metastore: MetastoreProcess, proxies: Sequence[ThriftProxy]) -> None:
    """Kill the metastore like a power loss, and start it again on the same port."""
    os.kill(metastore.pid, signal.SIGKILL)
    metastore.stop()
    for proxy in proxies:
        proxy.disconnect()
    metastore.start()
