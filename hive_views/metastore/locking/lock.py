"""The metastore's exclusive lock on a view: taken, kept alive, and never left behind.

The lock is the one that Iceberg's Java catalog takes (MetastoreLock): EXCLUSIVE on the table, outside any transaction.
Each request carries an `agentInfo` of its own, so that a lock whose answer got lost can be found again and, whatever
happened, removed: a forgotten lock blocks every writer of the view until the server's `hive.txn.timeout`.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone

from thrift.Thrift import TException

from hive_views.config import LOCK_ENABLED, LockConfig, current_user
from hive_views.errors import (
    LockError,
    LockTimeoutError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    DataOperationType,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    NoSuchLockException,
    ShowLocksResponseElement,
)
from hive_views.metastore.locking import process_lock as turns
from hive_views.metastore.locking.heartbeat import GONE, Heartbeat, clock
from hive_views.metastore.transport.client import MetastoreClient

logger = logging.getLogger(__name__)

AGENT_PREFIX = "hive-views-"
"""How the `agentInfo` of our locks begins; a UUID follows."""

LOCKABLE_NAME_LENGTH = 128
"""The longest name that every metastore can lock (HIVE_LOCKS.HL_TABLE of Hive 2.3); a view's may be longer."""

OUTAGE_SECONDS = 15.0
"""How long a metastore may be out of reach while a lock is waited for, before the waiting is given up."""

MAX_REFUSALS = 8
"""How often a request that the server fails on is sent: deadlocks of its database pass, other failures stay."""

_RELEASE_PAUSES = (0.0, 0.1, 0.5, 2.0)
_RELEASE_SECONDS = 30.0
_GROWTH = 1.5


class HeldLock:
    """A lock that is ours until `release`; heartbeats keep it alive."""

    def __init__(self, claim: _Claim, key: object) -> None:
        """Start the heartbeats of an acquired lock; made by `acquire`."""
        assert claim.lock_id is not None
        self.lock_id: int = claim.lock_id
        """The metastore's number of the lock."""
        self._claim = claim
        self._key = key
        self._process = os.getpid()
        self._released = False
        self._heartbeat = Heartbeat(
            claim.client, claim.lock_id, claim.config.heartbeat_interval_ms / 1000, claim.confirmed
        )

    def ensure_active(self) -> None:
        """Check that the lock is still ours, as far as the heartbeats tell."""
        if self._process != os.getpid():
            reason: str | None = "it belongs to the process from which this one was forked"
        elif self._released:
            reason = "it was released"
        else:
            reason = self._heartbeat.lost()
        if reason is not None:
            raise LockError(str(self._claim.name), reason, lock_id=self.lock_id)

    def release(self) -> None:
        """Give the lock back. Never raises an error: what fails is tried again, then logged.

        A lock that could not be given back ends by itself when the server has had no heartbeat for it for
        `hive.txn.timeout`. Releasing twice does nothing, and neither does releasing in a forked child.
        """
        self._finish(withdraw=True)

    def abandon(self) -> None:
        """Leave the lock to the server's time-out: it goes on keeping others away for a while, and is not ours.

        For a change whose request may still arrive. Stops the heartbeats; `release` does nothing afterwards.
        """
        self._finish(withdraw=False)

    def _finish(self, *, withdraw: bool) -> None:
        if self._released or self._process != os.getpid():
            return
        self._released = True
        self._heartbeat.stop()
        try:
            if withdraw:
                self._claim.withdraw()
        finally:
            turns.end(self._key)


def acquire(
    client: MetastoreClient,
    config: LockConfig,
    name: ViewName,
    *,
    user: str | None = None,
    beside: Sequence[ViewName] = (),
    shared: Sequence[ViewName] = (),
) -> HeldLock:
    """Take the exclusive lock on a view or table, waiting for whoever holds it.

    Whether to lock at all (`config.enabled`) is the caller's matter.
    """
    deadline = time.monotonic() + config.timeout_ms / 1000
    key = (frozenset(client.uris), name)
    if not turns.take(key, config.timeout_ms / 1000):
        raise LockTimeoutError(
            str(name), f"not free within {config.timeout_ms} ms: another thread of this process has it, or waits for it"
        )
    claim = _Claim(client, config, name, user or client.user or current_user(), beside, shared)
    try:
        _release_left(client, name)
        claim.obtain(deadline)
        return HeldLock(claim, key)
    except BaseException:
        try:
            claim.withdraw()
        finally:
            turns.end(key)
        raise


@contextmanager
def locked(
    client: MetastoreClient,
    config: LockConfig,
    name: ViewName,
    *,
    user: str | None = None,
    beside: Sequence[ViewName] = (),
    shared: Sequence[ViewName] = (),
) -> Iterator[HeldLock]:
    """Hold the lock for the body of a `with` statement; it is released however the body ends."""
    lock = acquire(client, config, name, user=user, beside=beside, shared=shared)
    try:
        yield lock
    finally:
        lock.release()


_left: dict[tuple[frozenset[str], ViewName], dict[str, float]] = {}
"""Agents of this process whose locks may still be there, or may yet be granted, by metastore and view; with the time
until which that is worth a look. Guarded by the turn that a thread takes for the same key."""

_LEFT_SECONDS = 600.0


def _release_left(client: MetastoreClient, name: ViewName) -> None:
    """Remove locks that this process asked for earlier and could not give back: a metastore may grant them late."""
    key = (frozenset(client.uris), name)
    now = time.monotonic()
    agents = {agent: until for agent, until in _left.pop(key, {}).items() if until > now}
    if not agents:
        return
    found = set()
    try:
        # One request for a lock that was sent several times may have made several locks.
        for lock in client.show_locks(name.database, name.name):
            if lock.agentInfo in agents:
                client.unlock(lock.lockid)
                found.add(lock.agentInfo)
    except (MetastoreError, TException) as error:
        logger.info("Could not look for earlier locks on %s: %s", name, error)
        found.clear()
    agents = {agent: until for agent, until in agents.items() if agent not in found}
    if agents:
        _left[key] = agents


class _Claim:
    """A request for a lock, from asking to withdrawing, with all that may have become of it in between."""

    def __init__(
        self,
        client: MetastoreClient,
        config: LockConfig,
        name: ViewName,
        user: str,
        beside: Sequence[ViewName],
        shared: Sequence[ViewName],
    ) -> None:
        self.client = client
        self.config = config
        self.name = name
        self._wanted = {
            **dict.fromkeys(shared, LockType.SHARED_READ),
            **dict.fromkeys((name, *beside), LockType.EXCLUSIVE),
        }
        self.lock_id: int | None = None
        self.confirmed = 0.0
        """When the server last knew of the lock, by `clock`."""
        self._agent = f"{AGENT_PREFIX}{uuid.uuid4()}"
        self._user = user
        self._doubtful = False
        """Whether the server may hold locks of this claim that we do not know of."""
        self._looked = False
        self._out_of_reach_since: float | None = None
        self._refusals = 0

    def obtain(self, deadline: float) -> None:
        """Ask for the lock and wait until it is ours."""
        wait = self.config.check_min_wait_ms / 1000
        state = self._ask(deadline)
        while state == LockState.WAITING:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise LockTimeoutError(str(self.name), self._who_holds_it(), lock_id=self.lock_id)
            time.sleep(min(wait * random.uniform(0.8, 1.2), remaining))
            # Looking counts as a heartbeat, so it must not be rarer than heartbeats.
            wait = min(wait * _GROWTH, self.config.check_max_wait_ms / 1000, self.config.heartbeat_interval_ms / 1000)
            state = self._look(state)
        if state != LockState.ACQUIRED:
            name = LockState._VALUES_TO_NAMES.get(state, state)
            raise LockError(str(self.name), f"the server refused it (state {name})", lock_id=self.lock_id)

    def withdraw(self) -> None:
        """Remove whatever the server holds of this claim. Raises no error; an interruption only after another try."""
        try:
            self._withdraw()
        except BaseException:
            self._withdraw()
            raise

    def _ask(self, deadline: float) -> int:
        request = LockRequest(
            component=[
                LockComponent(
                    type=kind,
                    level=LockLevel.TABLE,
                    dbname=name.database,
                    tablename=name.name,
                    operationType=DataOperationType.NO_TXN,
                )
                for name, kind in self._wanted.items()
            ],
            user=self._user,
            hostname=socket.gethostname(),
            agentInfo=self._agent,
        )
        wait = self.config.check_min_wait_ms / 1000
        certain = True
        while True:
            self._doubtful = True
            self.confirmed = clock()
            try:
                response = self.client.lock(request)
            except MetastoreUnavailableError as error:
                self._doubtful = not certain
                if certain:
                    raise
                self._bear(error)
                problem: MetastoreError = error
            except MetastoreError as error:
                certain = False
                state = self._recover(error)
                if state is not None:
                    return state
                problem = error
            except TException as error:
                raise LockError(str(self.name), f"the server refused it: {error}") from error
            else:
                self._doubtful = not certain
                self.lock_id = response.lockid
                return int(response.state)
            if time.monotonic() + wait >= deadline:
                raise LockTimeoutError(
                    str(self.name), f"the metastore did not grant it within {self.config.timeout_ms} ms: {problem}"
                ) from problem
            time.sleep(wait)
            wait = min(wait * _GROWTH, self.config.check_max_wait_ms / 1000)

    def _recover(self, error: MetastoreError) -> int | None:
        """After a request without an answer: the state of the lock that it made nevertheless, None if it made none."""
        try:
            mine = self._mine()
        except MetastoreRefusedError as refused:
            if self.client.can_lock:  # but not now: its database is away, most often
                self._bear(refused)
                return None
            self._doubtful = False
            raise LockError(
                str(self.name),
                f"this metastore cannot lock ({error}; {refused}). Most often its transaction tables (HIVE_LOCKS …) "
                "are missing, because its schema was made by datanucleus.schema.autoCreateAll: make them with Hive's "
                f"schematool -initSchema, or do without locks ({LOCK_ENABLED}=false)",
            ) from error
        except MetastoreError as unreachable:
            self._bear(unreachable)
            return None
        self._out_of_reach_since = None
        if mine:
            return self._adopt(mine)
        if isinstance(error, MetastoreRefusedError):
            self._refusals += 1
            if self._refusals == MAX_REFUSALS:
                raise LockError(
                    str(self.name), f"the metastore does not grant it: {error}{self._too_long()}"
                ) from error
        return None

    def _look(self, state: int) -> int:
        """How it stands with the lock now; as before if nobody can tell for a moment."""
        now = clock()
        try:
            # A server that tried again by itself waits for its own first try: so this is looked for once, in any case.
            if self._doubtful or not self._looked:
                self._adopt(self._mine())
                self._looked = True
            assert self.lock_id is not None
            response = self.client.check_lock(self.lock_id)
        except GONE as error:
            raise LockError(
                str(self.name), f"the server dropped the request while it waited: {error.message}", lock_id=self.lock_id
            ) from error
        except MetastoreError as error:
            self._bear(error)
            return state
        self._out_of_reach_since = None
        self.confirmed = now
        return int(response.state)

    def _adopt(self, mine: list[ShowLocksResponseElement]) -> int:
        """Choose one of the locks that this claim made, the one nearest to being ours, and remove the others."""
        mine.sort(key=lambda lock: (lock.state != LockState.ACQUIRED, lock.lockid))
        for lock in mine[1:]:
            self._unlock(lock.lockid)
        if not mine:
            raise NoSuchLockException(f"no lock of {self._agent}")
        self.lock_id = mine[0].lockid
        self.confirmed = clock()
        return int(mine[0].state)

    def _mine(self) -> list[ShowLocksResponseElement]:
        locks = self.client.show_locks(self.name.database, self.name.name)
        return [lock for lock in locks if lock.agentInfo == self._agent]

    def _bear(self, error: MetastoreError) -> None:
        """Let an outage pass; raises if it lasts."""
        now = time.monotonic()
        if self._out_of_reach_since is None:
            self._out_of_reach_since = now
        elif now - self._out_of_reach_since > OUTAGE_SECONDS:
            if isinstance(error, MetastoreUnavailableError):
                raise error
            raise LockError(
                str(self.name), f"the metastore does not grant it: {error}", lock_id=self.lock_id
            ) from error

    def _too_long(self) -> str:
        """What is most likely wrong where a request for a long name is refused: the server does not say."""
        if max(len(self.name.database), len(self.name.name)) <= LOCKABLE_NAME_LENGTH:
            return ""
        return (
            f". Its table of locks (HIVE_LOCKS) may hold names of at most {LOCKABLE_NAME_LENGTH} characters: choose a "
            f"shorter one, or do without locks ({LOCK_ENABLED}=false)"
        )

    def _withdraw(self) -> None:
        if self._doubtful:
            self._remember()
        started = time.monotonic()
        problem: Exception | None = None
        for pause in _RELEASE_PAUSES:
            if time.monotonic() - started > _RELEASE_SECONDS:
                break
            time.sleep(pause)
            try:
                if self.lock_id is not None:
                    self._unlock(self.lock_id)
                    self.lock_id = None
                if self._doubtful:
                    for lock in self._mine():
                        self._unlock(lock.lockid)
                    self._doubtful = False
            except (MetastoreError, TException) as error:
                problem = error
            else:
                return
        self._remember()
        logger.warning(
            "Could not release the lock on %s (agent %s, lock id %s); the metastore drops it when it has had no "
            "heartbeat for hive.txn.timeout (300 s by default): %s",
            self.name,
            self._agent,
            self.lock_id,
            problem,
        )

    def _remember(self) -> None:
        """A later request of this process for the same lock removes what this one may have left."""
        key = (frozenset(self.client.uris), self.name)
        _left.setdefault(key, {})[self._agent] = time.monotonic() + _LEFT_SECONDS

    def _unlock(self, lock_id: int) -> None:
        try:
            self.client.unlock(lock_id)
        except NoSuchLockException:
            logger.info("Lock %s on %s was gone already", lock_id, self.name)

    def _who_holds_it(self) -> str:
        waited = f"not free within {self.config.timeout_ms} ms"
        try:
            locks = [lock for name in self._wanted for lock in self.client.show_locks(name.database, name.name)]
            if all(lock.agentInfo == self._agent for lock in locks):
                locks = [lock for lock in self.client.show_locks(self.name.database, None) if lock.tablename is None]
        except MetastoreError as error:
            return f"{waited}; who holds it cannot be told: {error}"
        others = [lock for lock in locks if lock.agentInfo != self._agent]
        holders = [lock for lock in others if lock.state == LockState.ACQUIRED] or others
        if not holders:
            return f"{waited}; nobody holds it any more, so try again"
        return (
            f"{waited}: {'; '.join(_describe(lock) for lock in holders)}. If that program is dead, the metastore drops "
            "its lock when it has had no heartbeat for hive.txn.timeout (300 s by default)"
        )


def _describe(lock: ShowLocksResponseElement) -> str:
    held = lock.state == LockState.ACQUIRED
    since = f" since {_when(lock.acquiredat)}" if held and lock.acquiredat else ""
    agent = f", agent {lock.agentInfo}" if lock.agentInfo else ""
    return (
        f"lock {lock.lockid} is {'held' if held else 'waited for'} by user {lock.user} on host {lock.hostname}"
        f"{agent}{since}, last heartbeat {_when(lock.lastheartbeat)}"
    )


def _when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="seconds")
