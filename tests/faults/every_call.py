"""The fault matrix: each wire call of each deed, with each fault; and whether what the user was told is the truth.

A deed is recorded once, without faults: its calls, and what it makes of the database. A case is a deed, one of its
calls and a fault. After it, others look at the database: what was reported as done must stand there just as it does
without faults, what was refused must have changed nothing, and what is unknown must be one of the two. No lock may be
left that the next program waits for, but where a request may still arrive that nobody would refuse; and the user goes
on: does it again, or does something more.

Nothing here depends on how long something takes, but that a client with a time-out does give up in the end.
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
from tests.faults.deeds import CHANGES, Deed, World
from tests.faults.observer import Observer
from tests.faults.picture import Labels, Picture
from tests.integration.catalog.samples import files_below
from tests.integration.metastore.rpc import connect
from tests.proxy import ANY, Action, CutReply, CutRequest, DropReply, DropRequest, Duplicate, Hold, ThriftProxy

SHORT_MS = 700
"""The time-out of clients that must run into it."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a call."""

    name: str
    action: Callable[[], Action]
    onwards: bool = False
    """Whether it does with each call from then on."""
    slow: bool = False
    """Whether a client waits for a time-out, or gives up after several tries."""

    @property
    def properties(self) -> dict[str, str]:
        """Of a catalog that meets it."""
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
    """What the user was told."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Recorded:
    """A deed without faults."""

    deed: Deed
    methods: tuple[str, ...]
    """Its calls, in order."""
    after: Picture
    """What it makes of the database."""
    files: int
    """How many metadata files it adds."""


@dataclass(frozen=True)
class Case:
    """One call of a deed, and what goes wrong with it."""

    deed: Deed
    index: int
    """Which call, from 0."""
    method: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.deed}: {self.index + 1} {self.method}: {self.fault}"


@dataclass
class Result:
    """How a case ended."""

    case: Case
    outcome: Outcome | None = None
    """None where the user was told nothing that can be judged."""
    told: str = ""
    """The error, as the user saw it."""
    wrong: list[str] = field(default_factory=list)
    """What was not the truth, or not as it should be; empty if all is well."""
    left_lock: bool = False
    """Whether a lock is left to the server's time-out."""
    seconds: float = 0.0
    """How long it took."""


class Stage:
    """Where cases are run: a metastore, past all proxies.

    Args:
        metastore: The server.
        direct: A catalog on it.
        first: Another metastore on the same database, which users ask first, and by proxies; None is the same.
        properties: More properties of users' catalogs.
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
    def world(self, deed: Deed, place: str | None = None) -> Iterator[World]:
        """A fresh database with what the deed is done to; dropped with all that is in it."""
        name = f"db_{uuid4().hex[:12]}"
        location = place or f"{self.metastore.warehouse}/{name}.db"
        with connect(self.metastore.port) as client:
            client.create_database(Database(name=name, locationUri=location))
        world = World(name, location, Observer(self.metastore, name), self._direct, self.metastore.port)
        try:
            deed.prepare(world)
            yield world
        finally:
            with connect(self.metastore.port) as client:
                client.drop_database(name, True, True)

    def recorded(self, deed: Deed) -> Recorded:
        """A deed without faults, done the first time that it is asked for."""
        if deed.name not in self._recorded:
            with self.world(deed) as world, self.proxy() as proxy:
                labels = Labels()
                deed.look(world, labels)
                files = files_below(world.location)
                with self.catalog(proxy) as catalog:
                    deed.run(catalog, world, proxy.clear)
                added = files_below(world.location) - files
                self._recorded[deed.name] = Recorded(
                    deed, tuple(proxy.methods), deed.look(world, labels), len(added) if deed.counts_files else 0
                )
        return self._recorded[deed.name]

    @contextmanager
    def catalog(self, proxy: ThriftProxy, **more: str) -> Iterator[HiveViewCatalog]:
        """A user's catalog, which reaches the metastore through a proxy."""
        uris = f"{proxy.uri},{self.metastore.uri}" if self._first else proxy.uri
        properties = {"uri": uris, "warehouse": self.metastore.warehouse, **self._properties, **more}
        with HiveViewCatalog("prod", **properties) as catalog:
            yield catalog

    def proxy(self) -> ThriftProxy:
        """A proxy for one user, which is not listening yet."""
        return ThriftProxy((self._first or self.metastore).port)

    def cases(self, deed: Deed) -> list[Case]:
        """All cases of a deed."""
        methods = self.recorded(deed).methods
        return [Case(deed, at, method, fault) for at, method in enumerate(methods) for fault in FAULTS]


def sample(cases: list[Case], used: Counter[tuple[str, str]], slow: int) -> list[Case]:
    """For each call one case: with the fault that a call of this method has met least until now."""
    chosen = []
    for index in sorted({case.index for case in cases}):
        met = [case for case in cases if case.index == index and (slow or not case.fault.slow)]
        case = min(met, key=lambda each: (used[each.method, each.fault.name], used["", each.fault.name]))
        used[case.method, case.fault.name] += 1
        used["", case.fault.name] += 1
        slow -= case.fault.slow
        chosen.append(case)
    return chosen


def run(stage: Stage, case: Case) -> Result:
    """Run a case; what is wrong is in the result."""
    result = Result(case)
    started = time.monotonic()
    try:
        _run(stage, case, result)
    except Exception:  # noqa: BLE001 -- whatever breaks a case is to be seen beside the other cases
        result.wrong.append(traceback.format_exc())
    result.seconds = time.monotonic() - started
    return result


def _run(stage: Stage, case: Case, result: Result) -> None:
    deed, fault = case.deed, case.fault
    with stage.world(deed) as world, stage.proxy() as proxy:
        trial = Trial(stage, deed, world)
        action = fault.action()

        def begin() -> None:
            proxy.clear()
            proxy.on(ANY, action, nth=case.index + 1, onwards=fault.onwards)

        with stage.catalog(proxy, **fault.properties) as catalog:
            trial.do(catalog, begin, result)
        calls = proxy.calls
        if not fault.slow and [call.method for call in calls[: case.index + 1]][-1:] != [case.method]:
            result.wrong.append(f"the calls were others than recorded: {[call.method for call in calls]}")
        if isinstance(action, Hold) and action.arrived.is_set():
            action.release()
        proxy.clear()
        trial.judge(result)
        # Only a request that is on its way, and that nobody would refuse, may keep a lock; else the next one gets it.
        trial.check_locks(result, excused=any(call.method in CHANGES and not call.returned for call in calls))
        with stage.catalog(proxy) as catalog:
            trial.go_on(catalog, result)


class Trial:
    """One deed in a world of its own, from what stood there before to what the user does next."""

    def __init__(self, stage: Stage, deed: Deed, world: World) -> None:
        self._recorded = stage.recorded(deed)
        self._deed = deed
        self._world = world
        self._labels = Labels()
        self._before = deed.look(world, self._labels)
        self._files = files_below(world.location)
        self._applied = False

    def do(self, catalog: HiveViewCatalog, begin: Callable[[], None], result: Result) -> None:
        """Do it, and note what the user is told."""
        try:
            self._deed.run(catalog, self._world, begin)
        except CommitStateUnknownError as error:
            result.outcome, result.told = Outcome.UNKNOWN, _said(error)
        except MetastoreConnectionLostError as error:
            # It says itself that the request may have been carried out; a read changes nothing.
            changes = error.method in CHANGES | {"alter_table"}
            result.outcome, result.told = Outcome.UNKNOWN if changes else Outcome.REFUSED, _said(error)
        except HiveViewsError as error:
            result.outcome, result.told = Outcome.REFUSED, _said(error)
        except OSError as error:
            if self._deed.counts_files:
                raise
            # A disk's own word: PyIceberg's tables pass it on.
            result.outcome, result.told = Outcome.REFUSED, f"{type(error).__name__}: {error}"
        else:
            result.outcome = Outcome.DONE

    def judge(self, result: Result) -> None:
        """Compare what was told with what stands there."""
        recorded, now = self._recorded, self._look()
        if result.outcome is Outcome.UNKNOWN and now not in (self._before, recorded.after):
            # A slow server may carry the request out between the reads of one look; what stands there stays.
            now = self._look()
        undone, done = now == self._before, now == recorded.after
        self._applied = done and not undone
        truth = {Outcome.DONE: done, Outcome.REFUSED: undone, Outcome.UNKNOWN: done or undone}
        # "There is no such view (any more)" is true of a view that is dropped, whoever did it.
        gone = not now and result.told.startswith(("NoSuchViewError", "NoSuchTableError"))
        if result.outcome is not None and not truth[result.outcome] and not gone:
            wanted = self._before if result.outcome is Outcome.REFUSED else recorded.after
            result.wrong.append(f"{result.outcome.value} is not the truth: {_difference(wanted, now)}")
        if self._files - files_below(self._world.location):
            result.wrong.append("a file is gone that was there before")
        if self._deed.counts_files:
            added = len(files_below(self._world.location) - self._files)
            allowed = {recorded.files} if self._applied else {0}
            if result.outcome is Outcome.UNKNOWN:
                allowed = {recorded.files}
            if added not in allowed:
                result.wrong.append(f"{added} new files, not {allowed}")

    def check_locks(self, result: Result, *, excused: bool) -> None:
        """No lock is left, or one that the server frees in the end: then it is freed here."""
        locks = self._world.observer.locks()
        for lock in locks:
            if not (lock.agentInfo or "").startswith(AGENT_PREFIX):
                result.wrong.append(f"a lock of {lock.agentInfo}")
        result.left_lock = bool(locks)
        if excused:
            with connect(self._world.port) as client:
                for lock in locks:
                    client.unlock(UnlockRequest(lockid=lock.lockid))

    def go_on(self, catalog: HiveViewCatalog, result: Result) -> None:
        """What the user does next, and whether it works: the deed again, or more."""
        if not self._applied:
            try:
                self._deed.run(catalog, self._world, lambda: None)
            except HiveViewsError as error:
                result.wrong.append(f"doing it again fails: {_said(error)}")
                return
            if self._look() != self._recorded.after:
                result.wrong.append(f"done again, it is: {_difference(self._recorded.after, self._look())}")
        before = self._look()
        try:
            self._deed.more(catalog, self._world)
        except HiveViewsError as error:
            result.wrong.append(f"what comes next fails: {_said(error)}")
            return
        if self._look() == before:
            result.wrong.append("what came next did nothing")
        # One on a name that nothing has any more ends by itself, or with the next change under that name.
        names = self._world.observer.names()
        if [lock for lock in self._world.observer.locks() if lock.tablename in names]:
            result.wrong.append("a lock is left after all")

    def _look(self) -> Picture:
        return self._deed.look(self._world, self._labels.copy())


def _said(error: HiveViewsError) -> str:
    return f"{type(error).__name__}: {error}"


def _difference(wanted: Picture, found: Picture) -> str:
    lines = []
    for name in sorted(wanted.keys() | found.keys()):
        left, right = wanted.get(name, "").splitlines(), found.get(name, "").splitlines()
        lines += [f"{name}: -{line.strip()}" for line in left if line not in right][:5]
        lines += [f"{name}: +{line.strip()}" for line in right if line not in left][:5]
    return "; ".join(lines) or "the same lines in another order"
