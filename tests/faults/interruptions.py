"""What meets many deeds at once: the server is killed, or its database, while each of them waits for one of its calls.

One strike is slow, so all deeds share it, each in a database of its own and behind a proxy of its own. They come to
their calls one after the other, and go on together.
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
from tests.faults.deeds import CHANGES, Deed
from tests.faults.every_call import Case, Fault, Result, Stage, Trial
from tests.faults.observer import until
from tests.proxy import ANY, Action, DropReply, Hold, ThriftProxy

KILLED_BEFORE = Fault("server killed before it carries it out", Hold)
KILLED_AFTER = Fault("server killed after it carried it out", lambda: DropReply(silent=True))
DATABASE_RESTARTED = Fault("database killed and restarted under the server", Hold)
ONE_OF_TWO_KILLED = Fault("one of two servers killed", Hold)

Strike = Callable[[list[ThriftProxy]], None]
"""What happens, once all deeds wait; it is given their proxies."""


@dataclass
class _Running:
    trial: Trial
    proxy: ThriftProxy
    action: Action
    catalog: HiveViewCatalog
    result: Result
    future: Future[None]

    def waits(self) -> bool:
        """Whether the call is where it is to wait, or the deed ended before it came to that."""
        if isinstance(self.action, Hold):
            return self.action.arrived.is_set() or self.future.done()
        return any(call.action is self.action and call.answered for call in self.proxy.calls) or self.future.done()


def at(stage: Stage, deed: Deed, fault: Fault, index: int) -> Case:
    """The case of a deed's call at an index; of its last one where it has fewer."""
    methods = stage.recorded(deed).methods
    index = min(index, len(methods) - 1)
    return Case(deed, index, methods[index], fault)


def change(stage: Stage, deed: Deed, fault: Fault) -> Case:
    """The case of the first request of a deed that changes a row."""
    methods = stage.recorded(deed).methods
    return at(stage, deed, fault, next(index for index, method in enumerate(methods) if method in CHANGES))


def interrupted(stage: Stage, cases: Sequence[Case], strike: Strike, *, release: bool = False) -> list[Result]:
    """Bring each deed to its call, strike, and judge each."""
    results = [Result(case) for case in cases]
    with ExitStack() as stack, ThreadPoolExecutor(len(cases)) as pool:
        running = [_start(stage, result, stack, pool) for result in results]
        strike([each.proxy for each in running])
        for each in running:
            if release and isinstance(each.action, Hold):
                each.action.released.set()
        for each in running:
            _end(each)
    return results


def _start(stage: Stage, result: Result, stack: ExitStack, pool: ThreadPoolExecutor) -> _Running:
    case = result.case
    world = stack.enter_context(stage.world(case.deed))
    proxy = stack.enter_context(stage.proxy())
    catalog = stack.enter_context(stage.catalog(proxy))
    trial = Trial(stage, case.deed, world)
    action = case.fault.action()

    def begin() -> None:
        proxy.clear()
        proxy.on(ANY, action, nth=case.index + 1)

    each = _Running(trial, proxy, action, catalog, result, pool.submit(trial.do, catalog, begin, result))
    until(each.waits)
    return each


def _end(each: _Running) -> None:
    result = each.result
    try:
        each.future.result()
        excused = any(call.method in CHANGES and not call.returned for call in each.proxy.calls)
        each.proxy.clear()
        each.trial.judge(result)
        each.trial.check_locks(result, excused=excused)
        each.trial.go_on(each.catalog, result)
    except Exception:  # noqa: BLE001 -- whatever breaks a case is to be seen beside the other cases
        result.wrong.append(traceback.format_exc())


def kill_and_start(metastore: MetastoreProcess, proxies: Sequence[ThriftProxy]) -> None:
    """As a machine that loses its power, and comes back; it keeps its port."""
    os.kill(metastore.pid, signal.SIGKILL)
    metastore.stop()
    for proxy in proxies:
        proxy.disconnect()
    metastore.start()
