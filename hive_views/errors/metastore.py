"""The metastore, and what is fetched to start one."""

from __future__ import annotations

from hive_views.errors.tree import HiveViewsError


class MetastoreError(HiveViewsError):
    """The metastore, or the way to it, failed. `method` is the Thrift method that was called."""

    def __init__(self, method: str, reason: str, *, uri: str | None = None) -> None:
        super().__init__(f"{method}{f' at {uri}' if uri else ''}: {reason}")
        self.method = method
        self.reason = reason
        self.uri = uri


class MetastoreUnavailableError(MetastoreError):
    """No metastore could be reached. The request was not sent: nothing happened there."""


class MetastoreAuthenticationError(MetastoreUnavailableError):
    """The metastore can be reached, and TLS or authentication failed; `step` says where. Nothing happened there."""

    def __init__(self, method: str, reason: str, step: str, *, uri: str | None = None) -> None:
        super().__init__(method, reason, uri=uri)
        self.step = step


class MetastoreConnectionLostError(MetastoreError):
    """The connection broke after the request was sent: it may or may not have been carried out."""


class MetastoreTimeoutError(MetastoreConnectionLostError):
    """No answer in time: the request may still be carried out later."""


class MetastoreRefusedError(MetastoreError):
    """The server answered that it failed (MetaException and the like), or that it does not know the method."""


class EmbeddedMetastoreError(HiveViewsError):
    """The embedded metastore could not be started or stopped; the message says what to install or where its log is."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(f"Embedded metastore in {directory}: {reason}")
        self.directory = directory
        self.reason = reason


class ArtifactFetchError(HiveViewsError):
    """Files of a Maven repository could not be fetched; `coordinates` and `repository` say what from where."""

    def __init__(self, coordinates: str, repository: str, reason: str) -> None:
        super().__init__(
            f"Cannot fetch {coordinates} from {repository} (the environment variable DEFAULT_ARTIFACT_REPOSITORY "
            f"names a mirror): {reason}"
        )
        self.coordinates = coordinates
        self.repository = repository
        self.reason = reason
