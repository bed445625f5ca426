"""Where the files of a catalog are: local, on HDFS, on S3; each with an independent listing of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.catalog.s3 import BUCKET, serving
from tests.integration.hdfs.cluster import Hdfs


@dataclass(frozen=True)
class Storage:
    """A storage."""

    name: str
    root: str
    """The URI of a directory that can be written to."""
    files: Callable[[str], set[str]]
    """The paths of the files below a URI that is below the root."""
    empty_directories: Callable[[str], set[str]] = lambda _: set()
    """The paths of the empty directories below such a URI."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties of a catalog on it."""


def hdfs_storage(cluster: Hdfs) -> Storage:
    """Return the storage of an HDFS."""

    def path(uri: str) -> str:
        return uri.removeprefix(cluster.uri)

    return Storage(
        "hdfs",
        f"{cluster.uri}/warehouse",
        lambda uri: cluster.files(path(uri)),
        lambda uri: cluster.empty_directories(path(uri)),
    )


def _local_files(uri: str) -> set[str]:
    files = Path(uri.removeprefix("file:")).rglob("*")
    return {str(file) for file in files if file.is_file() and file.suffix != ".crc"}


def _empty_local_directories(uri: str) -> set[str]:
    files = Path(uri.removeprefix("file:")).rglob("*")
    return {str(file) for file in files if file.is_dir() and not any(file.iterdir())}


@contextmanager
def storage(name: str, directory: Path) -> Iterator[Storage]:
    """Run local storage or S3 for the body of a `with` statement."""
    if name == "local":
        yield Storage(name, f"file:{directory}", _local_files, _empty_local_directories)
    else:
        with serving() as s3:
            # The metastore makes the directories of databases and tables at the same path of the local file system.
            root = f"s3a://{BUCKET}{directory}"

            def files(uri: str) -> set[str]:
                prefix = f"{uri.removeprefix(f's3a://{BUCKET}').strip('/')}/"
                return {key for key in s3.names() if key.startswith(prefix) and not key.endswith("/")}

            yield Storage(name, root, files, properties=s3.properties)
