"""Failures of a connection that are not failures of its socket."""

from __future__ import annotations


class SecurityFailure(OSError):  # noqa: N818 (callers that know the metastore convert it)
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
