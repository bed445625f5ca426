"""Errors of the metastore, and of local metastores."""

from __future__ import annotations

from hive_views.errors.tree import HiveViewsError


class MetastoreError(HiveViewsError):
    """The metastore or the connection to it failed; `method` is the Thrift method that was called."""

    def __init__(self, method: str, reason: str, *, uri: str | None = None) -> None:
        super().__init__(f"{method}{f' at {uri}' if uri else ''}: {reason}")
        self.method = method
        self.reason = reason
        self.uri = uri


class MetastoreUnavailableError(MetastoreError):
    """No metastore could be reached; the request was not sent."""


class MetastoreAuthenticationError(MetastoreUnavailableError):
    """TLS or authentication failed in `step`; the request was not sent."""

    def __init__(self, method: str, reason: str, step: str, *, uri: str | None = None) -> None:
        super().__init__(method, reason, uri=uri)
        self.step = step


class MetastoreConnectionLostError(MetastoreError):
    """The connection broke after the request was sent, so it is unknown whether it was executed."""


class MetastoreTimeoutError(MetastoreConnectionLostError):
    """No reply within the time limit; a change may still be executed later."""


class MetastoreRefusedError(MetastoreError):
    """The server replied with an error (e.g. MetaException), or does not know the method."""


class EmbeddedMetastoreError(HiveViewsError):
    """A local metastore could not be started or stopped; the message names what to install, or the log."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(f"Embedded metastore in {directory}: {reason}")
        self.directory = directory
        self.reason = reason


class ArtifactFetchError(HiveViewsError):
    """Files could not be downloaded from a Maven repository; `coordinates` names the files."""

    def __init__(self, coordinates: str, repository: str, reason: str) -> None:
        super().__init__(
            f"Cannot fetch {coordinates} from {repository} (the environment variable DEFAULT_ARTIFACT_REPOSITORY "
            f"names a mirror): {reason}"
        )
        self.coordinates = coordinates
        self.repository = repository
        self.reason = reason
