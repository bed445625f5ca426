"""Storages that did not answer, so that a command over many objects does not wait for each of them.

Clients of storages wait up to half a minute for each file (measured with PyArrow 25 and S3: 10 s for a server that
accepts connections and never answers, 2 s for a name that cannot be resolved).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from urllib.parse import urlparse

from hive_views.errors import MetadataFileError

_NETWORK = re.compile(
    r"NETWORK_CONNECTION|time(d )?-?out|resolve host|not connect|EndpointConnection"
    r"|connection refused|lookup address|unreachable|no route to host",
    re.IGNORECASE,
)
"""In errors of storages' clients: no server answered. PyArrow raises OSError for every error of S3, and hdfs-native for
a NameNode that is down (after 4 s) or whose name cannot be resolved."""

NETWORK_S = 0.5
"""After how many seconds such an error is remembered; quicker ones cost little."""

SLOW_S = 8.0
"""After how many seconds any failed request counts as one without an answer, except that the file does not exist."""

MEMORY_S = 30.0
"""For how many seconds a storage that did not answer is not asked again."""

MOST_UNANSWERED = 2
"""How many storages of a scheme may fail to answer before the others get no requests, if none of the scheme did."""


class UnansweredStorages:
    """The storages that did not answer, by scheme and host or bucket; thread-safe. Local files are never among them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Create the object; `clock` returns seconds."""
        self._clock = clock
        self._failed: dict[tuple[str, str], float] = {}
        self._answered: dict[tuple[str, str], float] = {}
        self._mutex = threading.Lock()

    @contextmanager
    def request(self, location: str) -> Iterator[None]:
        """Send a request in this context; its outcome is remembered.

        Raises:
            MetadataFileError: If the storage did not answer shortly before.
        """
        storage = _storage_of(location)
        if storage is None:
            yield
            return
        reason = self._reason(storage)
        if reason is not None:
            raise MetadataFileError(location, reason)
        started = self._clock()
        try:
            yield
        except Exception as error:
            if isinstance(error, FileNotFoundError):
                self._record(storage, self._answered, self._failed)
            elif _is_unanswered(error, self._clock() - started):
                self._record(storage, self._failed, self._answered)
            raise
        self._record(storage, self._answered, self._failed)

    def has_failed(self, location: str) -> bool:
        """Return whether the storage of a file did not answer its last request."""
        storage = _storage_of(location)
        return storage is not None and self._reason(storage) is not None

    def _record(
        self, storage: tuple[str, str], to: dict[tuple[str, str], float], other: dict[tuple[str, str], float]
    ) -> None:
        with self._mutex:
            other.pop(storage, None)
            to[storage] = self._clock()

    def _reason(self, storage: tuple[str, str]) -> str | None:
        scheme, host = storage
        with self._mutex:
            oldest = self._clock() - MEMORY_S
            failed = {key for key, since in self._failed.items() if key[0] == scheme and since > oldest}
            has_answer = any(key[0] == scheme and since > oldest for key, since in self._answered.items())
        if storage in failed:
            return f"{scheme}://{host} did not answer a request for another file, and is not asked again for a while"
        if len(failed) >= MOST_UNANSWERED and not has_answer:
            names = ", ".join(f"{scheme}://{other}" for _, other in sorted(failed)[:MOST_UNANSWERED])
            return f"it is not requested, because {names} did not answer, and no other storage of the scheme did"
        return None


def _is_unanswered(error: Exception, seconds: float) -> bool:
    is_network = _NETWORK.search(f"{type(error).__name__}: {error}") is not None
    return seconds >= (NETWORK_S if is_network else SLOW_S)


def _storage_of(location: str) -> tuple[str, str] | None:
    try:
        parsed = urlparse(location)
    except ValueError:
        return None
    scheme = parsed.scheme.lower()
    return None if scheme in ("", "file") else (scheme, parsed.netloc)
