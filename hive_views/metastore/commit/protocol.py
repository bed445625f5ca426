"""The commit protocol for one row: under the lock, send a request until the server answers it.

The outcome of a request without a reply is unknown. Such a request is sent again, unchanged, until the server answers:
an alter contains the expected metadata location (compare-and-swap, HIVE-26882), so it cannot be applied twice. A create
contains no expectation: it is sent again only under the lock, and without the lock it is sent once. A
request without a reply may still arrive at any later time (Iceberg #14096). If the server would not reject it then, the
lock is not released but left to its time-out, even after a success.

A failure of the server is an answer, but does not prove that nothing was changed: its database may still carry out the
change. `proves_unchanged` decides which errors are a proof. The text of a check that a site has added, such as an
authorizer, is not known: `ChangeRequest.confirm` finds out whether an error comes from a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

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
from hive_views.metastore.denials import is_denial
from hive_views.metastore.locking.lock import MetastoreLock, hold_lock
from hive_views.metastore.rejections import (
    comes_from_check,
    denial_error,
    is_cas_rejection,
    proves_unchanged,
)
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import DECLARED_REJECTIONS, Rejection, rejection_message
from hive_views.metastore.transport.client import MetastoreClient

_T = TypeVar("_T")
_MAX_LONG_VALUES = 3


class CommitPrecondition(NamedTuple):
    """A condition on other views that a commit requires, checked again while they are locked."""

    locked_names: tuple[ViewName, ...]
    """Views that get a shared lock: no other writer may change them during the commit."""
    check: Callable[[], None]
    """Raises an error if the condition does not hold."""
    sources: tuple[Row, ...] = ()
    """The rows of everything that a new definition reads, directly or through views."""


class ChangeRequest:
    """One change of one row, used once and by one thread.

    A commit calls `locked`, reads the row, `ensure_locked`, `send`, resolves a rejection by `read_back`, and ends with
    `verify_lock_held`.
    """

    def __init__(
        self,
        client: MetastoreClient,
        config: CatalogConfig,
        name: ViewName,
        location: str | None = None,
        *,
        is_conditional: bool = True,
        lock: MetastoreLock | None = None,
    ) -> None:
        """Prepare a change; nothing is sent yet.

        `is_conditional` states whether the server can reject the request if others have changed the row. `lock` is a
        lock that the caller holds; without it, `locked` acquires one.
        """
        self._client = client
        self._config = config
        self._name = name
        self._location = location
        self._is_conditional = is_conditional
        self._lock = lock
        self._is_sent = False
        self._pending = 0
        self._has_failed = False
        self._is_applied = False
        self._must_keep_file = False
        self._server: str | None = None
        self._rejection: Rejection | None = None
        self.is_refused_by_check = False
        """Whether `confirm` has shown that a check of the server rejected the request."""
        self.lost_reply: MetastoreError | None = None
        """The error of the last request that got no reply; None if every request was answered."""

    @property
    def may_be_applied(self) -> bool:
        """Whether the change may have been applied, or may still be applied, although no answer confirms it."""
        return self.lost_reply is not None or self._has_failed

    @property
    def has_lock(self) -> bool:
        """Whether this change has the lock, which keeps other writers that use locks from making the same change."""
        return self._lock is not None

    def may_delete_file(self, error: BaseException) -> bool:
        """Whether, after this error, no row references the new metadata file or can reference it later."""
        if not self._is_sent:
            return True
        if self._is_applied or self._must_keep_file:
            return False
        is_rejected = isinstance(error, HiveViewsError) and not isinstance(error, CommitStateUnknownError)
        return is_rejected and not self.may_be_applied

    @contextmanager
    def locked(self, precondition: CommitPrecondition | None = None, *additional_names: ViewName) -> Iterator[None]:
        """Hold the metastore's lock for the body of a `with` statement, unless the catalog disables locks."""
        if not self._config.lock.enabled:
            self._require_cas()
            yield
            return
        shared_names = precondition.locked_names if precondition is not None else ()
        with hold_lock(
            self._client,
            self._config.lock,
            self._name,
            additional_names=additional_names if shared_names else (),
            shared_names=shared_names,
        ) as lock:
            self._lock = lock
            try:
                if precondition is not None and shared_names:
                    precondition.check()
                yield
            finally:
                self.abandon_lock_if_pending()

    def abandon_lock_if_pending(self) -> None:
        """Leave the lock to its time-out if a request may still arrive and would then be applied by the server."""
        if self._lock is not None and self._pending and not self._is_late_request_rejected():
            self._lock.abandon()

    def ensure_locked(self) -> None:
        """Raise a LockError if the lock was lost."""
        if self._lock is not None:
            self._lock.ensure_active()

    def send(
        self,
        call: Callable[[], None],
        repeat: Callable[[], None] | None = None,
        *,
        may_repeat: bool = True,
        invalid: Callable[[], None] | None = None,
    ) -> Rejection | None:
        """Send the request until the server answers it; return its rejection, or None if it was applied.

        `repeat` sends it again, if that differs from the first time. Without `may_repeat` it is sent once, and a lost
        reply raises a MetastoreConnectionLostError. `invalid` is for `confirm`.
        """
        self._is_sent = True
        if self._lock is None and len(self._client.uris) > 1:
            self._server, _ = self._client.current_server()
        try:
            rejection = self._send_to_verified_server(call)
            self.confirm(rejection, invalid)
            return rejection
        except MetastoreConnectionLostError:
            if not may_repeat:
                raise

        def send_again() -> Rejection | None:
            if not self._is_late_request_rejected():
                self.ensure_locked()
            return self._send_to_verified_server(repeat or call)

        try:
            return self._retrying(MetastoreConnectionLostError, MetastoreUnavailableError)(send_again)
        except (MetastoreConnectionLostError, MetastoreUnavailableError) as error:
            raise self.outcome_unknown(str(self.lost_reply or error)) from error
        except LockError as error:
            raise self.outcome_unknown(f"{self.lost_reply}; then: {error}") from error

    def confirm(self, rejection: Rejection | None, invalid: Callable[[], None] | None) -> None:
        """Determine whether a check of the server rejected the only request; `invalid` is for `comes_from_check`."""
        if rejection is not None and invalid is not None and comes_from_check(rejection, invalid):
            self._has_failed = False
            self.is_refused_by_check = True

    def send_once(self, call: Callable[[], None]) -> Rejection | None:
        """Send the request once; return its rejection, or None if it was applied."""
        self._pending += 1
        rejection: Rejection | None = None
        try:
            call()
        except DECLARED_REJECTIONS as declared:
            self._has_failed = self._has_failed or not proves_unchanged(declared)
            rejection = declared
        except MetastoreRefusedError as error:
            self._has_failed = self._has_failed or not proves_unchanged(error)
            rejection = error
        except MetastoreUnavailableError:
            self._pending -= 1
            raise
        except MetastoreConnectionLostError as error:
            self.lost_reply = error
            raise
        self._pending -= 1
        self._rejection = rejection
        self._is_applied = self._is_applied or rejection is None
        return rejection

    def read_back(self, read: Callable[[], _T]) -> _T:
        """Call a function that reads the state that determines the outcome, with the same retries as `send`."""
        try:
            return self._retrying(MetastoreError)(read)
        except MetastoreError as error:
            reason = self.lost_reply or (self._rejection and rejection_message(self._rejection))
            raise self.outcome_unknown(f"{reason}; then: {error}" if reason else str(error)) from error

    def is_read_current(self) -> bool:
        """Return whether the state that the current server reads is at least as new as the lock.

        Without a lock, only the server of the first request is trusted.
        """
        if self._lock is None:
            return self._server is None or self._client.current_server()[0] == self._server
        return self._lock.is_listed()

    def mark_applied(self) -> None:
        """Record that one of the unconfirmed requests was applied, so that it is no longer pending."""
        self._is_applied = True
        self._pending = max(self._pending - 1, 0)

    def keep_file(self) -> None:
        """Record that a row may reference the new metadata file although the change was rejected."""
        self._must_keep_file = True

    def verify_lock_held(self) -> None:
        """After a success, check that the lock was held the whole time, unless the server honors CAS."""
        try:
            self.ensure_locked()
        except LockError as error:
            try:
                if honors_cas(self._client):
                    return
                why = "this server does not reject concurrent changes"
            except MetastoreError as unavailable:
                why = f"could not determine whether this server rejects concurrent changes: {unavailable}"
            raise self.outcome_unknown(f"the lock was lost during the change, and {why} ({error})") from error

    def cause(self, rejection: Rejection | None) -> str:
        """Return why the outcome is uncertain: the error of the lost reply if there is one, else the rejection."""
        return str(self.lost_reply or (rejection and rejection_message(rejection)))

    def outcome_unknown(self, reason: str) -> CommitStateUnknownError:
        """Return the error for a change whose outcome could not be determined."""
        return CommitStateUnknownError(str(self._name), self._location, reason)

    def rejection_error(
        self, method: str, rejection: Rejection, long_values: Sequence[str] = (), *, operation: str | None = None
    ) -> MetastoreRefusedError | CommitStateUnknownError:
        """Return the error for a rejection after which the row was read unchanged.

        It reports an unknown outcome unless the rejection proves that nothing was changed. A rejected compare-and-swap
        of an unchanged row is a contradiction (another server may have answered the read). `operation` is what a denial
        names, by default that of the method.
        """
        if is_denial(rejection) and not self.may_be_applied:
            return denial_error(self._client, method, str(self._name), rejection, operation)
        text = rejection_message(rejection).rstrip(". ")
        if long_values:
            fields = ", ".join(long_values[:_MAX_LONG_VALUES])
            text = f"{text}. It may exceed a length limit of the metastore's database: {fields}"
        if self.lost_reply is not None:
            return self.outcome_unknown(f"{self.lost_reply}; then: {text}")
        if self.may_be_applied or is_cas_rejection(rejection):
            return self.outcome_unknown(
                f"{method} failed ({text}), and the metastore's database may still carry it out, although nothing is "
                "changed so far"
            )
        return MetastoreRefusedError(method, f"{self._name} was not changed: {text}")

    def _require_cas(self) -> None:
        try:
            is_verified = is_cas_verified(self._client, self._name.database)
        except MetastoreRefusedError as error:
            raise LockError(
                str(self._name),
                "could not determine whether this metastore honors compare-and-swap, which commits without a lock "
                f"need. Set iceberg.engine.hive.lock-enabled=true ({error})",
            ) from error
        if not is_verified:
            raise LockError(
                str(self._name),
                "this metastore ignores compare-and-swap (HIVE-26882 is in 2.3.10 and 4.x), so commits without its "
                "lock would lose updates. Set iceberg.engine.hive.lock-enabled=true",
            )

    def _retrying(self, *errors: type[MetastoreError]) -> Retrying:
        return Retrying(
            retry=retry_if_exception_type(errors),
            stop=stop_after_delay(self._config.settle_timeout_ms / 1000),
            wait=wait_random_exponential(multiplier=0.1, max=5),
            reraise=True,
        )

    def _send_to_verified_server(self, call: Callable[[], None]) -> Rejection | None:
        """Send the request; without a lock, first verify the CAS support of a server to which the client switched."""
        try:
            return self.send_once(call)
        except MetastoreUnavailableError:
            if self._config.lock.enabled:
                raise
        self._require_cas()
        return self.send_once(call)

    def _is_late_request_rejected(self) -> bool:
        """Whether the server rejects a pending request that arrives after the row got another metadata location."""
        try:
            return self._is_conditional and honors_cas(self._client)
        except MetastoreError:
            return False
