"""Several clients of one database, and a simple model of the expected state that is checked after each step.

Every reported outcome must be correct: a success was applied exactly once, an error changed nothing, and an unknown
outcome, or the change of a killed client, is one of the two. The actual state is read by `Observer`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from pyiceberg.view.metadata import ViewVersion

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError, CommitStateUnknownError, HiveViewsError, LockError, NoSuchViewError
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ttypes import Database, UnlockRequest
from hive_views.metastore.locking.lock import AGENT_PREFIX
from tests.faults.interruptions import kill_and_start
from tests.faults.model_worker import Change, Worker, make
from tests.faults.observer import Observer, until
from tests.faults.scripted import ScriptedServer, like_version_3
from tests.integration.catalog.samples import version
from tests.integration.metastore.rpc import connect
from tests.proxy import ANY, Action, Delay, DropReply, Hold, ThriftProxy

TIMEOUT_S = 1.0
SHORT_TIMEOUTS = {"hive-views.call-timeout-ms": str(int(TIMEOUT_S * 1000))}
"""Properties of clients whose calls are not answered in time; other clients wait."""

PROPERTIES = {
    "view-default.version.history.num-entries": "100",
    "view-default.commit.retry.min-wait-ms": "1",
}
BOTH, AGAIN, LOCK_ONLY, SWAP_ONLY = range(4)
"""The clients: two with defaults, one whose metastore ignores expectations (Hive 3.1), one without locks."""

IMPATIENT = {"iceberg.hive.lock-timeout-ms": "300"}

Faults = Sequence[tuple[int, Action]]
"""The faults of calls, by their number from now on."""


@dataclass(frozen=True)
class ViewState:
    """The state of one view in the model."""

    identity: str | None
    """The UUID; None if it is not known yet."""
    texts: tuple[str, ...]
    """The texts of the versions, from version 1."""
    log: tuple[int, ...]
    """The version log, as version ids."""
    color: str | None = None
    """The property `color`."""

    def with_text(self, text: str) -> ViewState:
        """Return the state after a replace by a new text."""
        return replace(self, texts=(*self.texts, text), log=(*self.log, len(self.texts) + 1))


ExpectedState = dict[str, ViewState]


@dataclass(frozen=True)
class Interrupted:
    """A running change with the call that is interrupted."""

    client: int
    change: Change
    nth: int
    carried_out: bool
    """Whether the server has executed the call by then, or never gets it."""


@dataclass
class _Running:
    what: Interrupted
    proxy: ThriftProxy
    action: Action
    future: Future[str]

    def is_waiting(self) -> bool:
        """Return whether the call waits, or the change has ended before."""
        return self.future.done() or _reached(self.proxy, self.action)


@dataclass
class Model:
    """The clients, each with its own proxy, and the expected state."""

    metastore: MetastoreProcess
    worker: Worker
    counts: dict[str, int] = field(default_factory=dict)
    """The numbers of reported outcomes."""
    more: dict[str, str] = field(default_factory=dict)
    """Additional properties of all clients."""
    locks_expire: bool = False
    """Whether the server may drop a lock while it is checked."""
    expected: ExpectedState = field(default_factory=dict)
    dropped: dict[str, ViewState] = field(default_factory=dict)
    """Dropped views, by their last metadata file."""

    def begin(self) -> None:
        """Create a database, the clients and two views."""
        self.open = ExitStack()
        self.number = 0
        self.database = f"model_{uuid.uuid4().hex[:12]}"
        with connect(self.metastore.port) as client:
            location = f"{self.metastore.warehouse}/{self.database}.db"
            client.create_database(Database(name=self.database, locationUri=location))
        self.observer = Observer(self.metastore, self.database)
        old = self.open.enter_context(ScriptedServer(self.metastore.port))
        like_version_3(old)
        self.proxies = [
            self.open.enter_context(ThriftProxy(old.port if number == LOCK_ONLY else self.metastore.port))
            for number in range(4)
        ]
        self.clients = [self._catalog(number) for number in range(4)]
        self.hasty = [self._catalog(number, **SHORT_TIMEOUTS) for number in range(4)]
        self.mortal = self.open.enter_context(ThriftProxy(self.metastore.port))
        # The client without locks verifies CAS now: faults during that are covered by another test.
        for name, number in (("a", SWAP_ONLY), ("b", LOCK_ONLY)):
            make(self.clients[number], self.database, Change("create", name, text=self.text()))
        self.expected = self.seen()

    def _catalog(self, number: int, **more: str) -> HiveViewCatalog:
        properties = self._properties(self.proxies[number].uri, locks=number != SWAP_ONLY)
        return self.open.enter_context(HiveViewCatalog("prod", **properties, **more))

    def _properties(self, uri: str, *, locks: bool = True) -> dict[str, str]:
        enabled = {"iceberg.engine.hive.lock-enabled": str(locks).lower()}
        return {"uri": uri, "warehouse": self.metastore.warehouse, **PROPERTIES, **self.more, **enabled}

    def end(self) -> None:
        """Close everything and drop the database."""
        self.open.close()
        with connect(self.metastore.port) as client:
            client.drop_database(self.database, True, True)

    # -- Changes of the expected state --------------------------------------------------------------------------------

    def text(self) -> str:
        """Return a new text."""
        self.number += 1
        return f"select {self.number}, 'x'"

    def definition(self, text: str) -> ViewVersion:
        """Return a definition with a text."""
        return version(self.database, ("spark", text))

    def after(self, change: Change) -> ExpectedState | None:
        """Return the state after a change; None if it must be rejected."""
        view = self.expected.get(change.name)
        kind = change.kind
        if kind == "create or replace":
            kind = "create" if view is None else "replace"
        if kind in ("create", "register"):
            created = ViewState(None, (change.text,), (1,)) if kind == "create" else self.dropped[change.location]
            return None if view else {**self.expected, change.name: created}
        if view is None:
            return None
        match kind:
            case "replace":
                return {**self.expected, change.name: view.with_text(change.text)}
            case "color":
                return {**self.expected, change.name: replace(view, color=change.color)}
            case "roll back":
                rolled_back = view if view.log[-1] == 1 else replace(view, log=(*view.log, 1))
                return {**self.expected, change.name: rolled_back}
            case "rename":
                return None if change.new in self.expected else {**self._without(change.name), change.new: view}
            case "drop":
                return self._without(change.name)
        raise AssertionError(change.kind)

    def _without(self, name: str) -> ExpectedState:
        return {key: view for key, view in self.expected.items() if key != name}

    # -- Steps --------------------------------------------------------------------------------------------------------

    def change(self, client: int, change: Change, faults: Faults = ()) -> None:
        """Execute a change with faults; see `step`."""
        expected = self.after(change)
        drops = change.kind == "drop"
        catalog = (self.hasty if any(is_slow(action) for _, action in faults) else self.clients)[client]
        self.step(client, expected, faults, lambda: make(catalog, self.database, change), drops=drops)

    def step(
        self,
        client: int,
        wanted: ExpectedState | None,
        faults: Faults,
        run: Callable[[], object],
        *,
        drops: bool = False,
    ) -> None:
        """Execute something with faults, and compare the reported outcome with the actual state."""
        proxy = self.proxies[client]
        for nth, action in faults:
            proxy.on(ANY, action, nth=nth)
        outcome, error = self._run(run)
        assert outcome != "refused" or faults or wanted is None, f"refused for no reason: {error}"
        self._settle(proxy)
        self._check_outcome("gone" if drops and isinstance(error, NoSuchViewError) else outcome, wanted)
        self._expire_locks(excused=bool(faults))

    def at_once(self, clients: tuple[int, int], name: str) -> None:
        """Two clients replace one view at the same time."""
        view = self.expected[name]
        changes = [Change("replace", name, text=self.text()) for _ in clients]

        def attempt(number: int) -> bool:
            try:
                make(self.clients[clients[number]], self.database, changes[number])
            except CommitFailedError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            committed_texts = [
                change.text for change, done in zip(changes, pool.map(attempt, range(2)), strict=True) if done
            ]
        assert committed_texts, "no client succeeded"
        possible_states = []
        for order in (committed_texts, committed_texts[::-1]):
            state = view
            for text in order:
                state = state.with_text(text)
            possible_states.append({**self.expected, name: state})
        actual = self.seen()
        assert actual in possible_states
        self.expected = actual
        self._count("at once")
        self._expire_locks(excused=False)

    def killed(self, change: Change, nth: int, *, carried_out: bool, late: bool = False, method: str = ANY) -> None:
        """Kill a client during a change; its lock stays."""
        expected = self.after(change)
        action: Action = DropReply(silent=True) if carried_out else Hold()
        self.mortal.on(method, action, nth=nth)
        mortal = self.worker.begin(self._properties(self.mortal.uri), self.database, change)
        until(lambda: mortal.ended or _reached(self.mortal, action))
        reply = mortal.kill()
        if isinstance(action, Hold) and action.arrived.is_set():
            if late:
                action.release()
            else:
                self.mortal.disconnect()
                action.released.set()
        self._settle(self.mortal)
        assert reply is None or reply == "done" or expected is None, f"refused for no reason: {reply}"
        self._check_outcome("killed" if reply is None else "done" if reply == "done" else "refused", expected)
        self._check_held_lock()
        self._expire_locks(excused=reply is None)

    def server_killed(self, changes: Sequence[Interrupted]) -> None:
        """Kill the server during changes of different views, and restart it."""
        self._count("servers killed")
        before = self.expected
        expected_states = [self.after(interrupted.change) for interrupted in changes]
        with ThreadPoolExecutor(len(changes)) as pool:
            running = [self._start(interrupted, pool) for interrupted in changes]
            for call in running:
                until(call.is_waiting)
            kill_and_start(self.metastore, [*self.proxies, self.mortal])
            for call in running:
                if isinstance(call.action, Hold):
                    call.action.released.set()
            outcomes = [call.future.result() for call in running]
        for call in running:
            call.proxy.clear()
        actual = self.seen()
        for interrupted, outcome, expected in zip(changes, outcomes, expected_states, strict=True):
            name = interrupted.change.name
            self._count(f"server killed: {outcome}")
            unchanged = agree(actual, before, name)
            changed = expected is not None and agree(actual, expected, name)
            gone = interrupted.change.kind == "drop" and name not in actual
            is_correct = {"done": changed, "refused": unchanged or gone, "unknown": unchanged or changed}
            assert is_correct[outcome], (
                f"{outcome}: {interrupted.change} changed {before.get(name)} to {actual.get(name)}"
            )
        names = {interrupted.change.name for interrupted in changes}
        assert {key: view for key, view in actual.items() if key not in names} == {
            key: view for key, view in before.items() if key not in names
        }
        self._move_on(actual)
        self._expire_locks(excused=True)

    def _start(self, interrupted: Interrupted, pool: ThreadPoolExecutor) -> _Running:
        proxy = self.proxies[interrupted.client]
        action: Action = DropReply(silent=True) if interrupted.carried_out else Hold()
        proxy.on(ANY, action, nth=interrupted.nth)
        catalog = self.clients[interrupted.client]
        future = pool.submit(lambda: self._run(lambda: make(catalog, self.database, interrupted.change))[0])
        return _Running(interrupted, proxy, action, future)

    # -- Checks -------------------------------------------------------------------------------------------------------

    def check_lists(self) -> None:
        """Check that every client reads the expected state."""
        for client in self.clients:
            assert {name for _, name in client.list_views(self.database)} == set(self.expected)

    def seen(self) -> ExpectedState:
        """Return the actual state, read independently."""
        state = {}
        self.pointers = {}
        for name in self.observer.names():
            view = self.observer.view(name)
            assert view.row["viewExpandedText"] == view.queries[view.log[-1] - 1]
            color = view.properties.get("color")
            state[name] = ViewState(view.metadata["view-uuid"], tuple(view.queries), tuple(view.log), color)
            self.pointers[name] = view.pointer
        return state

    def _run(self, run: Callable[[], object]) -> tuple[str, HiveViewsError | None]:
        try:
            run()
        except CommitStateUnknownError as error:
            return "unknown", error
        except HiveViewsError as error:
            return "refused", error
        return "done", None

    def _check_outcome(self, outcome: str, wanted: ExpectedState | None) -> None:
        """Compare a reported outcome with the actual state, which becomes the expected one."""
        pointers = dict(self.pointers)
        actual = self.seen()
        self._count(outcome)
        done = wanted is not None and agree(actual, wanted)
        undone = actual == self.expected
        either = done or undone
        is_correct = {"done": done, "refused": undone, "gone": either, "unknown": either, "killed": either}
        expected = self.expected if outcome == "refused" else wanted
        assert is_correct[outcome], f"{outcome}, but the state is {actual} instead of {expected}"
        self._move_on(actual, pointers)

    def _move_on(self, actual: ExpectedState, pointers: dict[str, str] | None = None) -> None:
        """Adopt the actual state as the expected one, and remember dropped views."""
        identities = {view.identity for view in actual.values()}
        for name, view in self.expected.items():
            if pointers is not None and view.identity not in identities:
                self.dropped[pointers[name]] = view
        self.dropped = {location: view for location, view in self.dropped.items() if view.identity not in identities}
        self.expected = actual

    def _check_held_lock(self) -> None:
        """Check that the lock of a killed client blocks others without effect."""
        locks = self.observer.locks()
        if not locks:
            return
        name = locks[0].tablename
        with HiveViewCatalog("prod", **self._properties(self.metastore.uri), **IMPATIENT) as impatient:
            outcome, error = self._run(lambda: make(impatient, self.database, Change("color", name, color="green")))
        if outcome == "done" and self.locks_expire:
            self.expected = self.seen()
            return
        assert outcome == "refused", outcome
        assert isinstance(error, LockError) is (name in self.expected)
        assert self.seen() == self.expected
        self._count("locked out")

    def _expire_locks(self, *, excused: bool) -> None:
        """Remove locks without heartbeats, as the server does after its time-out."""
        remaining_locks = self.observer.locks()
        assert excused or not remaining_locks, remaining_locks
        with connect(self.metastore.port) as client:
            for lock in remaining_locks:
                assert lock.agentInfo.startswith(AGENT_PREFIX)
                client.unlock(UnlockRequest(lockid=lock.lockid))

    def _settle(self, proxy: ThriftProxy) -> None:
        """Wait for pending requests, and remove all faults."""
        until(lambda: all(call.answered for call in proxy.calls if call.delivered or isinstance(call.action, Delay)))
        proxy.clear()

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def agree(seen: ExpectedState, wanted: ExpectedState, name: str | None = None) -> bool:
    """Return whether a state, or one view, is the expected one; a new view may have any UUID."""
    names = seen.keys() | wanted.keys() if name is None else {name}
    return all(
        (key in seen) == (key in wanted)
        and (key not in seen or seen[key] == replace(wanted[key], identity=wanted[key].identity or seen[key].identity))
        for key in names
    )


def is_slow(action: Action) -> bool:
    """Return whether an action makes the client run into its time-out."""
    return isinstance(action, Delay) or (isinstance(action, DropReply) and action.silent)


def _reached(proxy: ThriftProxy, action: Action) -> bool:
    """Return whether a call waits because of its action."""
    if isinstance(action, Hold):
        return action.arrived.is_set()
    return any(call.action is action and call.answered for call in proxy.calls)
