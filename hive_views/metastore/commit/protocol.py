"""One change on its way to the metastore: sent until a request for it is answered, under the lock.

What is not answered is not known. A request whose reply got lost is sent again, unchanged, until the server has
answered one: an alter names what it expects to find, so it cannot be applied twice. Whatever is sent and not answered
may still arrive, however much later (Iceberg #14096). Where the server would then not refuse it, the lock is not
released but left to its time-out, also after a success.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from hive_views.config import CatalogConfig
from hive_views.errors import (
    CommitStateUnknownError,
    HiveViewsError,
    LockError,
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore.capabilities import honors_cas, is_cas_verified
from hive_views.metastore.locking.lock import HeldLock, locked
from hive_views.metastore.store import DECLARED_REJECTIONS, Rejection, rejection_message
from hive_views.metastore.transport.client import MetastoreClient

_T = TypeVar("_T")
_MOST_SUSPECTS = 3


@dataclass(frozen=True)
class Watch:
    """What a change was decided by beside the row itself, and what keeps others from changing that meanwhile."""

    views: tuple[ViewName, ...]
    """Names that nobody may change while the row is changed."""
    check: Callable[[], None]
    """Decides again; raises what forbids the change."""


class ChangeRequest:
    """One change of one row; used once, by one thread."""

    def __init__(
        self,
        client: MetastoreClient,
        config: CatalogConfig,
        name: ViewName,
        location: str | None = None,
        *,
        refusable: bool = True,
    ) -> None:
        """Nothing is sent yet."""
        self._client = client
        self._config = config
        self._name = name
        self._location = location
        self._refusable = refusable
        self._lock: HeldLock | None = None
        self._sent = False
        self._on_its_way = 0
        self._broken = False
        self._done = False
        self._file_stays = False
        self.unanswered: MetastoreError | None = None
        """Why the last request that was not answered was not; None if each was."""

    @property
    def doubtful(self) -> bool:
        """Whether the change may have been made, or may yet be made, although no answer says so."""
        return self.unanswered is not None or self._broken

    @property
    def protected(self) -> bool:
        """Whether the lock keeps others, who take it as well, from making the same change meanwhile."""
        return self._lock is not None

    def left_nothing(self, error: BaseException) -> bool:
        """Whether nothing names the new file, nor ever will, when the change ends with this error."""
        if not self._sent:
            return True
        if self._done or self._file_stays:
            return False
        known = isinstance(error, HiveViewsError) and not isinstance(error, CommitStateUnknownError)
        return known and not self.doubtful

    @contextmanager
    def locked(self, watch: Watch | None = None, *beside: ViewName) -> Iterator[None]:
        """Hold the metastore's lock for the body, or none where the catalog's property says so."""
        if not self._config.lock.enabled:
            self._require_swaps()
            yield
            return
        watched = watch is not None and bool(watch.views)
        shared = watch.views if watch is not None else ()
        with locked(
            self._client, self._config.lock, self._name, beside=beside if watched else (), shared=shared
        ) as lock:
            self._lock = lock
            try:
                if watch is not None and watched:
                    watch.check()
                yield
            finally:
                if self._on_its_way and not self._will_be_refused():
                    lock.abandon()

    def ensure_locked(self) -> None:
        """Check that the lock is still ours."""
        if self._lock is not None:
            self._lock.ensure_active()

    def send(self, send: Callable[[], None], again: Callable[[], None] | None = None) -> Rejection | None:
        """Send the request, and again while nobody answers."""
        self._sent = True
        try:
            return self._tried(send)
        except MetastoreConnectionLostError:
            pass  # what follows is about it

        def repeat() -> Rejection | None:
            if not self._will_be_refused():
                self.ensure_locked()
            return self._tried(again or send)

        try:
            return self._patiently(MetastoreConnectionLostError, MetastoreUnavailableError)(repeat)
        except (MetastoreConnectionLostError, MetastoreUnavailableError) as error:
            raise self.unknown(str(self.unanswered or error)) from error
        except LockError as error:
            raise self.unknown(f"{self.unanswered}; then: {error}") from error

    def find_out(self, read: Callable[[], _T]) -> _T:
        """Read what the answer means, and again for as long as a request is sent again, where that fails."""
        try:
            return self._patiently(MetastoreError)(read)
        except MetastoreError as error:
            raise self.unknown(str(self.unanswered or error)) from error

    def found_done(self) -> None:
        """Note that one of the requests that were not answered was carried out: it is not on its way any more."""
        self._done = True
        self._on_its_way = max(self._on_its_way - 1, 0)

    def keep_file(self) -> None:
        """Note that nobody can tell whether something names the new file, although the change was refused."""
        self._file_stays = True

    def check_alone(self) -> None:
        """After a success on a server that only the lock protects: the lock must have held all the time."""
        try:
            self.ensure_locked()
        except LockError as error:
            try:
                if honors_cas(self._client):
                    return
                why = "this server cannot refuse others"
            except MetastoreError as silent:
                why = f"whether this server refuses others it does not say: {silent}"
            raise self.unknown(f"the lock was lost during the change, and {why} ({error})") from error

    def unknown(self, reason: str | None = None) -> CommitStateUnknownError:
        """The error for an outcome that nobody can tell."""
        return CommitStateUnknownError(str(self._name), self._location, reason or str(self.unanswered))

    def failure(
        self, method: str, refusal: Rejection, suspects: Sequence[str] = ()
    ) -> MetastoreRefusedError | CommitStateUnknownError:
        """The error for a refusal after which the row is as it was. If a request is unanswered it may still arrive."""
        if self.unanswered is not None:
            return self.unknown(f"{self.unanswered}; then: {rejection_message(refusal)}")
        why = f". Too long for its database, perhaps: {', '.join(suspects[:_MOST_SUSPECTS])}" if suspects else ""
        return MetastoreRefusedError(
            method, f"{self._name} was not changed: {rejection_message(refusal).rstrip('. ')}{why}"
        )

    def _require_swaps(self) -> None:
        try:
            safe = is_cas_verified(self._client, self._name.database)
        except MetastoreRefusedError as error:
            raise LockError(
                str(self._name),
                f"whether this metastore honors compare-and-swap cannot be tried out, and without that commits need "
                f"its lock. Set iceberg.engine.hive.lock-enabled=true ({error})",
            ) from error
        if not safe:
            raise LockError(
                str(self._name),
                "this metastore ignores compare-and-swap (HIVE-26882 is in 2.3.10 and 4.x), so commits without its "
                "lock would lose updates. Set iceberg.engine.hive.lock-enabled=true",
            )

    def _patiently(self, *errors: type[MetastoreError]) -> Retrying:
        return Retrying(
            retry=retry_if_exception_type(errors),
            stop=stop_after_delay(self._config.settle_timeout_ms / 1000),
            wait=wait_random_exponential(multiplier=0.1, max=5),
            reraise=True,
        )

    def _tried(self, send: Callable[[], None]) -> Rejection | None:
        """Send it, without a lock to a server that was tried out: where another one answers by now, that one is too."""
        try:
            return self._once(send)
        except MetastoreUnavailableError:
            if self._config.lock.enabled:
                raise
        self._require_swaps()
        return self._once(send)

    def _once(self, send: Callable[[], None]) -> Rejection | None:
        self._on_its_way += 1
        refusal: Rejection | None = None
        try:
            send()
        except DECLARED_REJECTIONS as declared:
            refusal = declared
        except MetastoreRefusedError as error:
            self._broken = True
            refusal = error
        except MetastoreUnavailableError:
            self._on_its_way -= 1
            raise
        except MetastoreConnectionLostError as error:
            self.unanswered = error
            raise
        self._on_its_way -= 1
        self._done = self._done or refusal is None
        return refusal

    def _will_be_refused(self) -> bool:
        """Whether the server will refuse what is still on its way, once the row has another pointer."""
        try:
            return self._refusable and honors_cas(self._client)
        except MetastoreError:
            return False
