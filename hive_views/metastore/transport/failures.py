"""Failures of TLS, authentication and HTTP, and failures of a server that it reports as missing objects."""

from __future__ import annotations

import re

from hive_views.metastore._thrift.hive_metastore.ttypes import (
    InvalidObjectException,
    InvalidOperationException,
    NoSuchObjectException,
)

TLS_ALERT = b"\x15\x03"
"""How a server with TLS begins its answer to a connection without (measured on 4.0.1 and 4.2.0)."""

_FAILED_LOOKUP = re.compile(r"(?:^|stack\.|\bdatabase )[^\s:]+: (?!There is no database)", re.IGNORECASE)


def is_failed_lookup(error: BaseException) -> bool:
    """Return whether a server failed to look up a database, although it reports that the database does not exist.

    Hive's ObjectStore.getDatabase reports each failure of the server's own database as a NoSuchObjectException whose
    message is the name, a colon and the failure (docs/facts/metastore.md). Other requests return it with other types.
    """
    is_of_object = isinstance(error, (NoSuchObjectException, InvalidObjectException, InvalidOperationException))
    return is_of_object and _FAILED_LOOKUP.search(getattr(error, "message", None) or "") is not None


class SecurityFailure(OSError):  # noqa: N818 (callers convert it to an error that names the metastore)
    """TLS or authentication failed; `step` names the step that failed."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step
        self.reason = reason


class HttpRejection(OSError):  # noqa: N818 (the client converts it)
    """The HTTP server rejected a request before the metastore processed it; `step` names a failed authentication."""

    def __init__(self, reason: str, step: str | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.step = step
