"""The metastore's exclusive lock on a view: acquired, kept alive by heartbeats, and always released or abandoned.

It is the lock of Iceberg's Java catalog (MetastoreLock): EXCLUSIVE on the table, outside any transaction. Each request
has a unique `agentInfo`, so that the lock can be found and removed if the server's reply to the request was lost. A
lock that is not removed blocks every writer of the view until the server's `hive.txn.timeout`.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone

from thrift.Thrift import TException

from hive_views.config import LOCK_ENABLED, LockConfig
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
from hive_views.metastore.locking import process_lock
from hive_views.metastore.locking.heartbeat import GONE, Heartbeat, clock
from hive_views.metastore.transport.client import MetastoreClient

logger = logging.getLogger(__name__)

AGENT_PREFIX = "hive-views-"
"""The prefix of the `agentInfo` of this package's locks; a UUID follows."""

LOCKABLE_NAME_LENGTH = 128
"""The longest name that every metastore can lock (HIVE_LOCKS.HL_TABLE of Hive 2.3); a view's name may be longer."""

OUTAGE_SECONDS = 15.0
"""The time for which a metastore may be unreachable during the wait for a lock before the wait fails."""

MAX_REFUSALS = 8
"""The number of attempts if the server fails: deadlocks of its database are temporary, other failures are not."""

_RELEASE_PAUSES = (0.0, 0.1, 0.5, 2.0)
_RELEASE_SECONDS = 30.0
_WAIT_FACTOR = 1.5
_LEFTOVER_SECONDS = 600.0

_leftovers: dict[tuple[frozenset[str], ViewName], dict[str, float]] = {}
"""By metastore and view, the agents of this process whose locks may still exist or may be granted late, with the time
until which to search for these locks. Guarded by the process lock on the same key."""


class MetastoreLock:
    """A held lock, kept alive by heartbeats until `release`."""

    def __init__(self, acquisition: _Acquisition, key: object) -> None:
        """Start the heartbeats of an acquired lock. Call `acquire_lock` instead of this constructor."""
        assert acquisition.lock_id is not None
        self.lock_id: int = acquisition.lock_id
        """The metastore's id of the lock."""
        self._acquisition = acquisition
        self._key = key
        self._process = os.getpid()
        self._is_released = False
        interval = acquisition.config.heartbeat_interval_ms / 1000
        self._heartbeat = Heartbeat(acquisition.client, acquisition.lock_id, interval, acquisition.confirmed_at)

    def ensure_active(self) -> None:
        """Raise a LockError unless the lock is still held, as far as its heartbeats show."""
        if self._process != os.getpid():
            reason: str | None = "it belongs to the process from which this one was forked"
        elif self._is_released:
            reason = "it was released"
        else:
            reason = self._heartbeat.why_lost()
        if reason is not None:
            raise LockError(str(self._acquisition.name), reason, lock_id=self.lock_id)

    def is_listed(self) -> bool:
        """Return whether the current server lists the lock, so that its data are at least as new as the lock.

        With several URIs it may be another server than before, whose database is a replica that lags behind.
        """
        locks = self._acquisition.client.show_locks(*self._acquisition.name.identifier)
        return any(lock.lockid == self.lock_id for lock in locks)

    def release(self) -> None:
        """Release the lock. Never raises an error: a failure is retried, then logged.

        A lock that could not be released ends when the server has had no heartbeat for it for `hive.txn.timeout`.
        Releasing twice does nothing, and neither does releasing in a forked child.
        """
        self._finish(withdraw=True)

    def abandon(self) -> None:
        """Leave the lock to the server's time-out, so that it blocks other writers for a while.

        Used for a change whose request may still arrive. Stops the heartbeats; `release` does nothing afterwards.
        """
        self._finish(withdraw=False)

    def _finish(self, *, withdraw: bool) -> None:
        if self._is_released or self._process != os.getpid():
            return
        self._is_released = True
        self._heartbeat.stop()
        try:
            if withdraw:
                self._acquisition.withdraw()
        finally:
            process_lock.release(self._key)


def acquire_lock(
    client: MetastoreClient,
    config: LockConfig,
    name: ViewName,
    *,
    user: str | None = None,
    additional_names: Sequence[ViewName] = (),
    shared_names: Sequence[ViewName] = (),
) -> MetastoreLock:
    """Acquire the exclusive lock on a view or table, waiting until it is free.

    `additional_names` are locked exclusively too, `shared_names` get shared locks. `config.enabled` is ignored.
    """
    deadline = time.monotonic() + config.timeout_ms / 1000
    key = (frozenset(client.uris), name)
    if not process_lock.acquire(key, config.timeout_ms / 1000):
        raise LockTimeoutError(
            str(name),
            f"not free within {config.timeout_ms} ms: another thread of this process holds it or waits for it",
        )
    components = {
        **dict.fromkeys(shared_names, LockType.SHARED_READ),
        **dict.fromkeys((name, *additional_names), LockType.EXCLUSIVE),
    }
    acquisition = _Acquisition(client, config, name, user, components)
    try:
        _release_leftovers(client, name)
        acquisition.obtain(deadline)
        if client.reads_from_cache():
            raise LockError(
                str(name),
                "this metastore answers reads from a cache (metastore.rawstore.impl is CachedStore), so what is read "
                "under its lock may be outdated. Use a metastore without this cache for changes",
                lock_id=acquisition.lock_id,
            )
        return MetastoreLock(acquisition, key)
    except BaseException:
        try:
            acquisition.withdraw()
        finally:
            process_lock.release(key)
        raise


@contextmanager
def hold_lock(
    client: MetastoreClient,
    config: LockConfig,
    name: ViewName,
    *,
    user: str | None = None,
    additional_names: Sequence[ViewName] = (),
    shared_names: Sequence[ViewName] = (),
) -> Iterator[MetastoreLock]:
    """Hold the lock for the body of a `with` statement."""
    lock = acquire_lock(client, config, name, user=user, additional_names=additional_names, shared_names=shared_names)
    try:
        yield lock
    finally:
        lock.release()


def _release_leftovers(client: MetastoreClient, name: ViewName) -> None:
    """Remove earlier locks that this process could not release, including those that the metastore granted late."""
    key = (frozenset(client.uris), name)
    now = time.monotonic()
    agents = {agent: until for agent, until in _leftovers.pop(key, {}).items() if until > now}
    if not agents:
        return
    removed = set()
    try:
        # A request that was sent several times may have created several locks.
        for lock in client.show_locks(name.database, name.name):
            if lock.agentInfo in agents:
                client.unlock(lock.lockid)
                removed.add(lock.agentInfo)
    except (MetastoreError, TException) as error:
        logger.info("Could not look for earlier locks on %s: %s", name, error)
        removed.clear()
    agents = {agent: until for agent, until in agents.items() if agent not in removed}
    if agents:
        _leftovers[key] = agents


class _Acquisition:
    """A request for a lock, with all locks that the server may have created for it."""

    def __init__(
        self,
        client: MetastoreClient,
        config: LockConfig,
        name: ViewName,
        user: str | None,
        components: Mapping[ViewName, int],
    ) -> None:
        self.client = client
        self.config = config
        self.name = name
        self._components = components
        self.lock_id: int | None = None
        self.confirmed_at = 0.0
        """When the server last confirmed the lock, by `clock`."""
        self._agent = f"{AGENT_PREFIX}{uuid.uuid4()}"
        self._user = user
        self._may_have_unknown_locks = False
        """Whether the server may hold locks of this acquisition whose ids are unknown."""
        self._is_reconciled = False
        self._unreachable_since: float | None = None
        self._refusals = 0

    def obtain(self, deadline: float) -> None:
        """Request the lock and wait until it is granted."""
        wait = self.config.check_min_wait_ms / 1000
        state = self._request(deadline)
        while state == LockState.WAITING:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise LockTimeoutError(str(self.name), self._describe_holders(), lock_id=self.lock_id)
            time.sleep(min(wait * random.uniform(0.8, 1.2), remaining))
            # A check counts as a heartbeat, so checks must not be rarer than heartbeats.
            max_wait_ms = min(self.config.check_max_wait_ms, self.config.heartbeat_interval_ms)
            wait = min(wait * _WAIT_FACTOR, max_wait_ms / 1000)
            state = self._check(state)
        if state != LockState.ACQUIRED:
            state_name = LockState._VALUES_TO_NAMES.get(state, state)
            raise LockError(str(self.name), f"the server refused it (state {state_name})", lock_id=self.lock_id)

    def withdraw(self) -> None:
        """Remove all locks of this acquisition. Raises no errors, and an interruption only after a second attempt."""
        try:
            self._withdraw()
        except BaseException:
            self._withdraw()
            raise

    def _request(self, deadline: float) -> int:
        """Send the request until the server answers; return the state of the lock."""
        request = LockRequest(
            component=[
                LockComponent(
                    type=lock_type,
                    level=LockLevel.TABLE,
                    dbname=name.database,
                    tablename=name.name,
                    operationType=DataOperationType.NO_TXN,
                )
                for name, lock_type in self._components.items()
            ],
            user=self._user,
            hostname=socket.gethostname(),
            agentInfo=self._agent,
        )
        wait = self.config.check_min_wait_ms / 1000
        all_answered = True
        while True:
            self._may_have_unknown_locks = True
            self.confirmed_at = clock()
            try:
                request.user = request.user or self.client.authenticated_user()
                response = self.client.lock(request)
            except MetastoreUnavailableError as error:
                self._may_have_unknown_locks = not all_answered
                if all_answered:
                    raise
                self._tolerate_outage(error)
                problem: MetastoreError = error
            except MetastoreError as error:
                all_answered = False
                state = self._recover(error)
                if state is not None:
                    return state
                problem = error
            except TException as error:
                raise LockError(str(self.name), f"the server refused it: {error}") from error
            else:
                self._may_have_unknown_locks = not all_answered
                self.lock_id = response.lockid
                return int(response.state)
            if time.monotonic() + wait >= deadline:
                raise LockTimeoutError(
                    str(self.name), f"the metastore did not grant it within {self.config.timeout_ms} ms: {problem}"
                ) from problem
            time.sleep(wait)
            wait = min(wait * _WAIT_FACTOR, self.config.check_max_wait_ms / 1000)

    def _recover(self, error: MetastoreError) -> int | None:
        """Return the state of the lock that a request without a reply created; None if it created none."""
        try:
            own_locks = self._own_locks()
        except MetastoreRefusedError as refused:
            self._refusals += 1
            if self.client.can_lock or not isinstance(error, MetastoreRefusedError):
                self._tolerate_outage(refused)  # a temporary failure, most often of its database
                return None
            if self._refusals < MAX_REFUSALS:
                return None  # an overloaded database fails in the same way as a database without lock tables
            self._may_have_unknown_locks = False
            raise LockError(
                str(self.name),
                f"this metastore cannot lock ({error}; {refused}). If all its locks fail, its transaction tables "
                "(HIVE_LOCKS …) are missing, because its schema was created by datanucleus.schema.autoCreateAll: "
                f"create them with Hive's schematool -initSchema, or disable locks ({LOCK_ENABLED}=false). If only "
                "some fail, its database is overloaded: the metastore's log names the reason",
            ) from error
        except MetastoreError as unreachable:
            self._tolerate_outage(unreachable)
            return None
        self._unreachable_since = None
        if own_locks:
            return self._reconcile(own_locks)
        if isinstance(error, MetastoreRefusedError):
            self._refusals += 1
            if self._refusals >= MAX_REFUSALS:
                raise LockError(
                    str(self.name), f"the metastore does not grant it: {error}{self._length_hint()}"
                ) from error
        return None

    def _check(self, state: int) -> int:
        """Return the current state of the lock, or the given state during a short outage of the metastore."""
        now = clock()
        try:
            # A server that retried internally waits for the lock of its own first attempt: reconcile at least once.
            if self._may_have_unknown_locks or not self._is_reconciled:
                self._reconcile(self._own_locks())
                self._is_reconciled = True
            assert self.lock_id is not None
            new_state = int(self.client.check_lock(self.lock_id).state)
            if new_state == LockState.ACQUIRED and self._is_shared():
                new_state = LockState.WAITING
        except GONE as error:
            raise LockError(
                str(self.name),
                f"the server dropped the request while it waited: {error.message}",
                lock_id=self.lock_id,
            ) from error
        except MetastoreError as error:
            self._tolerate_outage(error)
            return state
        self._unreachable_since = None
        self.confirmed_at = now
        return new_state

    def _is_shared(self) -> bool:
        """Return whether others hold locks on objects that this granted lock locks exclusively.

        Hive 2.3 grants a shared lock while an exclusive lock that was requested earlier still waits, and then grants
        the exclusive lock too, because it compares it only with earlier requests (docs/facts/metastore.md).
        """
        return any(
            lock.state == LockState.ACQUIRED and lock.agentInfo != self._agent
            for name, lock_type in self._components.items()
            if lock_type == LockType.EXCLUSIVE
            for lock in self.client.show_locks(name.database, name.name)
        )

    def _reconcile(self, own_locks: list[ShowLocksResponseElement]) -> int:
        """Keep the lock that is granted, or will be granted first, and remove the other locks of this acquisition."""
        own_locks.sort(key=lambda lock: (lock.state != LockState.ACQUIRED, lock.lockid))
        for lock in own_locks[1:]:
            self._unlock(lock.lockid)
        if not own_locks:
            raise NoSuchLockException(f"no lock of {self._agent}")
        self.lock_id = own_locks[0].lockid
        self.confirmed_at = clock()
        return int(own_locks[0].state)

    def _own_locks(self) -> list[ShowLocksResponseElement]:
        locks = self.client.show_locks(self.name.database, self.name.name)
        return [lock for lock in locks if lock.agentInfo == self._agent]

    def _tolerate_outage(self, error: MetastoreError) -> None:
        """Return during a short outage; raise once it has lasted for OUTAGE_SECONDS."""
        now = time.monotonic()
        if self._unreachable_since is None:
            self._unreachable_since = now
        elif now - self._unreachable_since > OUTAGE_SECONDS:
            if isinstance(error, MetastoreUnavailableError):
                raise error
            raise LockError(
                str(self.name), f"the metastore does not grant it: {error}", lock_id=self.lock_id
            ) from error

    def _length_hint(self) -> str:
        """Return the probable reason why a request for a long name is refused; the server does not return it."""
        if max(len(self.name.database), len(self.name.name)) <= LOCKABLE_NAME_LENGTH:
            return ""
        return (
            f". Its table of locks (HIVE_LOCKS) may hold names of at most {LOCKABLE_NAME_LENGTH} characters: choose a "
            f"shorter name, or disable locks ({LOCK_ENABLED}=false)"
        )

    def _withdraw(self) -> None:
        if self._may_have_unknown_locks:
            self._remember_leftover()
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
                if self._may_have_unknown_locks:
                    for lock in self._own_locks():
                        self._unlock(lock.lockid)
                    self._may_have_unknown_locks = False
            except (MetastoreError, TException) as error:
                problem = error
            else:
                return
        self._remember_leftover()
        logger.warning(
            "Could not release the lock on %s (agent %s, lock id %s); the metastore drops it when it has had no "
            "heartbeat for hive.txn.timeout (300 s by default): %s",
            self.name,
            self._agent,
            self.lock_id,
            problem,
        )

    def _remember_leftover(self) -> None:
        """Record the agent, so that the next acquisition in this process removes locks that this one may leave."""
        key = (frozenset(self.client.uris), self.name)
        _leftovers.setdefault(key, {})[self._agent] = time.monotonic() + _LEFTOVER_SECONDS

    def _unlock(self, lock_id: int) -> None:
        try:
            self.client.unlock(lock_id)
        except NoSuchLockException:
            logger.info("Lock %s on %s was gone already", lock_id, self.name)

    def _describe_holders(self) -> str:
        timeout = f"not free within {self.config.timeout_ms} ms"
        try:
            locks = [lock for name in self._components for lock in self.client.show_locks(name.database, name.name)]
            if all(lock.agentInfo == self._agent for lock in locks):
                locks = [lock for lock in self.client.show_locks(self.name.database, None) if lock.tablename is None]
        except MetastoreError as error:
            return f"{timeout}; could not determine who holds it: {error}"
        foreign = [lock for lock in locks if lock.agentInfo != self._agent]
        holders = [lock for lock in foreign if lock.state == LockState.ACQUIRED] or foreign
        if not holders:
            return f"{timeout}; it is free by now, so try again"
        return (
            f"{timeout}: {'; '.join(_describe(lock) for lock in holders)}. If that program is dead, the metastore "
            "drops its lock when it has had no heartbeat for hive.txn.timeout (300 s by default)"
        )


def _describe(lock: ShowLocksResponseElement) -> str:
    is_held = lock.state == LockState.ACQUIRED
    since = f" since {_format_time(lock.acquiredat)}" if is_held and lock.acquiredat else ""
    agent = f", agent {lock.agentInfo}" if lock.agentInfo else ""
    return (
        f"lock {lock.lockid} is {'held' if is_held else 'waited for'} by user {lock.user} on host {lock.hostname}"
        f"{agent}{since}, last heartbeat {_format_time(lock.lastheartbeat)}"
    )


def _format_time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="seconds")
