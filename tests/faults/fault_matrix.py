"""The fault matrix: each Thrift call of each operation with each fault, and whether the reported outcome is correct.

An operation is recorded once without faults: its calls, and the resulting content of the database. A case is an
operation, one of its calls and a fault. Afterwards independent clients read the database: a reported success must have
the recorded content, a rejection must have changed nothing, and an unknown outcome must be one of the two. No lock may
block the next program, unless a request may still arrive that the server would apply. Then the user continues: repeats
the operation, or executes another one.

Nothing here depends on durations, except that a client with a time-out does time out.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from uuid import uuid4

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, HiveViewsError, MetastoreConnectionLostError
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ttypes import Database, UnlockRequest
from hive_views.metastore.locking.lock import AGENT_PREFIX
from tests.faults.database_content import DatabaseContent, Labels
from tests.faults.observer import Observer
from tests.faults.operations import CHANGES, OTHER_CHANGES, Operation, World
from tests.integration.catalog.samples import files_below
from tests.integration.metastore.rpc import connect
from tests.proxy import ANY, Action, CutReply, CutRequest, DropReply, DropRequest, Duplicate, Hold, ThriftProxy

SHORT_MS = 700
"""The call time-out of clients in cases with a slow fault."""


@dataclass(frozen=True)
class Fault:
    """A fault of a call."""

    name: str
    action: Callable[[], Action]
    onwards: bool = False
    """Whether all later calls are affected too."""
    slow: bool = False
    """Whether the client runs into a time-out or exhausts its retries."""

    @property
    def properties(self) -> dict[str, str]:
        """Properties of a catalog that is affected."""
        if self.onwards:
            return {"hive-views.settle-timeout-ms": "0", "iceberg.hive.lock-timeout-ms": "300"}
        return {"hive-views.call-timeout-ms": str(SHORT_MS)} if self.slow else {}

    def __str__(self) -> str:
        return self.name


FAULTS = (
    Fault("request lost", DropRequest),
    Fault("request cut in the middle", CutRequest),
    Fault("reply lost", DropReply),
    Fault("reply cut in the middle", CutReply),
    Fault("sent twice by the server", Duplicate),
    Fault("request delayed past the time-out", Hold, slow=True),
    Fault("reply delayed past the time-out", lambda: DropReply(silent=True), slow=True),
    Fault("no request arrives any more", DropRequest, onwards=True, slow=True),
    Fault("no reply arrives any more", DropReply, onwards=True, slow=True),
)


class Outcome(Enum):
    """The outcome reported to the user."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Recorded:
    """An operation executed without faults."""

    operation: Operation
    methods: tuple[str, ...]
    """The called Thrift methods, in order."""
    after: DatabaseContent
    """The resulting content of the database."""
    files: int
    """The number of metadata files it adds."""


@dataclass(frozen=True)
class Case:
    """A fault of one call of an operation."""

    operation: Operation
    index: int
    """The index of the call, from 0."""
    method: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.operation}: {self.index + 1} {self.method}: {self.fault}"


@dataclass
class Result:
    """The result of a case."""

    case: Case
    outcome: Outcome | None = None
    """None if the outcome cannot be judged."""
    error_text: str = ""
    """The error that was raised, as text."""
    problems: list[str] = field(default_factory=list)
    """Violated expectations."""
    left_lock: bool = False
    """Whether a lock was left to the server's time-out."""
    seconds: float = 0.0
    """The duration."""


class Stage:
    """The environment of cases: a metastore without a proxy.

    Args:
        metastore: The server.
        direct: A catalog on it.
        first: Another metastore on the same database, which clients use first, by proxies; None is the same.
        properties: Additional properties of the clients' catalogs.
    """

    def __init__(
        self,
        metastore: MetastoreProcess,
        direct: HiveViewCatalog,
        first: MetastoreProcess | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        self.metastore = metastore
        self._direct = direct
        self._first = first
        self._properties = properties or {}
        self._recorded: dict[str, Recorded] = {}

    @contextmanager
    def world(self, operation: Operation, place: str | None = None) -> Iterator[World]:
        """A fresh database with what the operation is done to; dropped with all that is in it."""
        name = f"db_{uuid4().hex[:12]}"
        location = place or f"{self.metastore.warehouse}/{name}.db"
        with connect(self.metastore.port) as client:
            client.create_database(Database(name=name, locationUri=location))
        world = World(name, location, Observer(self.metastore, name), self._direct, self.metastore.port)
        try:
            operation.prepare(world)
            yield world
        finally:
            with connect(self.metastore.port) as client:
                client.drop_database(name, True, True)

    def recorded(self, operation: Operation) -> Recorded:
        """Return the recording of an operation; executed at the first call."""
        if operation.name not in self._recorded:
            with self.world(operation) as world, self.proxy() as proxy:
                labels = Labels()
                operation.read(world, labels)
                files = files_below(world.location)
                with self.catalog(proxy) as catalog:
                    operation.run(catalog, world, proxy.clear)
                added = files_below(world.location) - files
                self._recorded[operation.name] = Recorded(
                    operation,
                    tuple(proxy.methods),
                    operation.read(world, labels),
                    len(added) if operation.counts_files else 0,
                )
        return self._recorded[operation.name]

    @contextmanager
    def catalog(self, proxy: ThriftProxy, **more: str) -> Iterator[HiveViewCatalog]:
        """Open a catalog that reaches the metastore through a proxy."""
        uris = f"{proxy.uri},{self.metastore.uri}" if self._first else proxy.uri
        properties = {"uri": uris, "warehouse": self.metastore.warehouse, **self._properties, **more}
        with HiveViewCatalog("prod", **properties) as catalog:
            yield catalog

    def proxy(self) -> ThriftProxy:
        """Create a proxy for one client, which is not listening yet."""
        return ThriftProxy((self._first or self.metastore).port)

    def cases(self, operation: Operation) -> list[Case]:
        """Return all cases of an operation."""
        methods = self.recorded(operation).methods
        return [Case(operation, at, method, fault) for at, method in enumerate(methods) for fault in FAULTS]


def sample(cases: list[Case], used: Counter[tuple[str, str]], slow: int) -> list[Case]:
    """Choose one case per method, at its last call: the fault that was applied least to calls of the method so far."""
    chosen = []
    for index in sorted({case.method: case.index for case in cases}.values()):
        candidates = [case for case in cases if case.index == index and (slow or not case.fault.slow)]
        case = min(candidates, key=lambda item: (used[item.method, item.fault.name], used["", item.fault.name]))
        used[case.method, case.fault.name] += 1
        used["", case.fault.name] += 1
        slow -= case.fault.slow
        chosen.append(case)
    return chosen


def run(stage: Stage, case: Case) -> Result:
    """Run a case and return its result."""
    result = Result(case)
    started = time.monotonic()
    try:
        _run(stage, case, result)
    except Exception:  # noqa: BLE001 -- reported together with the other cases
        result.problems.append(traceback.format_exc())
    result.seconds = time.monotonic() - started
    return result


def _run(stage: Stage, case: Case, result: Result) -> None:
    operation, fault = case.operation, case.fault
    with stage.world(operation) as world, stage.proxy() as proxy:
        trial = Trial(stage, operation, world)
        action = fault.action()

        def begin() -> None:
            proxy.clear()
            proxy.on(ANY, action, nth=case.index + 1, onwards=fault.onwards)

        with stage.catalog(proxy, **fault.properties) as catalog:
            trial.execute(catalog, begin, result)
        calls = proxy.calls
        if not fault.slow and [call.method for call in calls[: case.index + 1]][-1:] != [case.method]:
            result.problems.append(f"the calls differ from the recorded ones: {[call.method for call in calls]}")
        if isinstance(action, Hold) and action.arrived.is_set():
            action.release()
        proxy.clear()
        trial.judge(result)
        # Only a pending request that the server would apply may keep the lock.
        trial.check_locks(result, excused=any(call.method in CHANGES and not call.returned for call in calls))
        with stage.catalog(proxy) as catalog:
            trial.continue_work(catalog, result)


class Trial:
    """One operation in a world of its own, from what stood there before to what the user does next."""

    def __init__(self, stage: Stage, operation: Operation, world: World) -> None:
        self._recorded = stage.recorded(operation)
        self._operation = operation
        self._world = world
        self._labels = Labels()
        self._before = operation.read(world, self._labels)
        self._files = files_below(world.location)
        self._applied = False

    def execute(self, catalog: HiveViewCatalog, begin: Callable[[], None], result: Result) -> None:
        """Execute the operation and record the reported outcome."""
        try:
            self._operation.run(catalog, self._world, begin)
        except CommitStateUnknownError as error:
            result.outcome, result.error_text = Outcome.UNKNOWN, _describe(error)
        except MetastoreConnectionLostError as error:
            # The error states that the request may have been executed; a read changes nothing.
            changes = error.method in CHANGES | OTHER_CHANGES | {"alter_table"}
            result.outcome, result.error_text = Outcome.UNKNOWN if changes else Outcome.REFUSED, _describe(error)
        except HiveViewsError as error:
            result.outcome, result.error_text = Outcome.REFUSED, _describe(error)
        except OSError as error:
            if self._operation.counts_files:
                raise
            # PyIceberg's tables pass on errors of the disk.
            result.outcome, result.error_text = Outcome.REFUSED, f"{type(error).__name__}: {error}"
        else:
            result.outcome = Outcome.DONE

    def judge(self, result: Result, *, orphan_files: bool = False) -> None:
        """Compare the reported outcome with the content of the database; a killed client may leave orphan files."""
        self._rename_back(result)
        recorded, now = self._recorded, self._read()
        if result.outcome is Outcome.UNKNOWN and now not in (self._before, recorded.after):
            # A slow server may execute the request between the reads: read again.
            now = self._read()
        is_unchanged, is_applied = now == self._before, now == recorded.after
        self._applied = is_applied and not is_unchanged
        is_correct = {
            Outcome.DONE: is_applied,
            Outcome.REFUSED: is_unchanged,
            Outcome.UNKNOWN: is_applied or is_unchanged,
        }
        # "No such view" is correct for a dropped view, whoever dropped it.
        is_gone = not now and result.error_text.startswith("NoSuch")
        if result.outcome is not None and not is_correct[result.outcome] and not is_gone:
            expected = self._before if result.outcome is Outcome.REFUSED else recorded.after
            result.problems.append(
                f"the reported outcome {result.outcome.value} is wrong: {_difference(expected, now)}"
            )
        if self._files - files_below(self._world.location):
            result.problems.append("an existing file is gone")
        if self._operation.counts_files:
            added = len(files_below(self._world.location) - self._files)
            allowed = {recorded.files} if self._applied else {0}
            if result.outcome is Outcome.UNKNOWN:
                allowed = {recorded.files}
            if orphan_files and not self._applied:
                allowed = {0, recorded.files}
            if added not in allowed:
                result.problems.append(f"{added} new files, not {allowed}")

    def _rename_back(self, result: Result) -> None:
        """Do what the error of a drop without locks says: find the view under its new name."""
        database = self._world.database
        for name in self._world.observer.names():
            if "__dropped_" in name and f"{database}.{name}" in result.error_text:
                self._world.direct.rename_view((database, name), (database, name.partition("__dropped_")[0]))

    def check_locks(self, result: Result, *, excused: bool) -> None:
        """Check that no foreign lock exists; release locks that the server would release by time-out."""
        locks = self._world.observer.locks()
        for lock in locks:
            if not (lock.agentInfo or "").startswith(AGENT_PREFIX):
                result.problems.append(f"a lock of {lock.agentInfo}")
        result.left_lock = bool(locks)
        if excused:
            with connect(self._world.port) as client:
                for lock in locks:
                    client.unlock(UnlockRequest(lockid=lock.lockid))

    def continue_work(self, catalog: HiveViewCatalog, result: Result) -> None:
        """Check that the user can continue: repeat the operation, then execute another one."""
        if not self._applied:
            try:
                self._operation.run(catalog, self._world, lambda: None)
            except HiveViewsError as error:
                result.problems.append(f"repeating it fails: {_describe(error)}")
                return
            if self._read() != self._recorded.after:
                result.problems.append(f"after the repetition: {_difference(self._recorded.after, self._read())}")
        before = self._read()
        try:
            self._operation.continue_with(catalog, self._world)
        except HiveViewsError as error:
            result.problems.append(f"the next operation fails: {_describe(error)}")
            return
        if self._read() == before:
            result.problems.append("the next operation had no effect")
        # A lock on a missing name expires, or is removed by the next change of that name.
        names = self._world.observer.names()
        if [lock for lock in self._world.observer.locks() if lock.tablename in names]:
            result.problems.append("a lock is left")

    def _read(self) -> DatabaseContent:
        return self._operation.read(self._world, self._labels.copy())


def _describe(error: HiveViewsError) -> str:
    return f"{type(error).__name__}: {error}"


def _difference(expected: DatabaseContent, actual: DatabaseContent) -> str:
    lines = []
    for name in sorted(expected.keys() | actual.keys()):
        left, right = expected.get(name, "").splitlines(), actual.get(name, "").splitlines()
        lines += [f"{name}: -{line.strip()}" for line in left if line not in right][:5]
        lines += [f"{name}: +{line.strip()}" for line in right if line not in left][:5]
    return "; ".join(lines) or "the same lines in another order"
