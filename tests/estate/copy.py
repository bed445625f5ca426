"""The recorded copy of the estate: the metastore's database and the warehouse, in one archive.

All locations in the rows begin with `PREFIX`, a symbolic link to the copy that is loaded. Only one process at a time
can have a copy, because the link is one for the machine.
"""

from __future__ import annotations

import fcntl
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hive_views.local_metastore.standalone import StandaloneMetastore
from tests.integration.hive.reader import VERSION, WITHOUT_TRANSFORMER

HERE = Path(__file__).parent
ARCHIVE = HERE / "copy.tar.xz"
CACHE = HERE.parents[1] / ".cache"

PREFIX = Path("/tmp/hive-views-estate")
"""The symbolic link in all locations."""
WAREHOUSE = f"file:{PREFIX}/warehouse"
FILES = f"file:{PREFIX}/files"
"""The directory of files that tables have and no program wrote."""

PARTS = ("metastore/metastore_db", "warehouse", "files")
"""What the archive contains."""


@contextmanager
def linked(directory: Path) -> Iterator[None]:
    """Let `PREFIX` be a link to a directory; waits while another process has it."""
    with Path(f"{PREFIX}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        PREFIX.unlink(missing_ok=True)
        PREFIX.symlink_to(directory)
        try:
            yield
        finally:
            PREFIX.unlink(missing_ok=True)


def metastore(directory: Path, more: Mapping[str, str] | None = None) -> StandaloneMetastore:
    """The metastore of a copy in a directory, with more properties where given."""
    settings = {
        **WITHOUT_TRANSFORMER,
        "metastore.warehouse.dir": WAREHOUSE,
        "metastore.warehouse.external.dir": WAREHOUSE,
        # As Iceberg's documentation recommends: with Hive's default, columns of Iceberg tables cannot be dropped.
        "metastore.disallow.incompatible.col.type.changes": "false",
        # `hdfs` and `s3a` are schemes of locations in the estate. HTTP's file system takes any URI without connecting.
        **{f"fs.{scheme}.impl": "org.apache.hadoop.fs.http.HttpFileSystem" for scheme in ("s3a", "hdfs")},
        **(more or {}),
    }
    return StandaloneMetastore(directory / "metastore", version=VERSION, properties=settings, cache=CACHE)


def apply_logs(directory: Path) -> None:
    """Let Derby apply its logs, which are many times as large as the changes in them, to the database."""
    with linked(directory), metastore(directory):
        pass


def pack(directory: Path, archive: Path = ARCHIVE) -> None:
    """Write the archive of the estate in a directory, with fixed owners and times."""

    def plain(item: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if item.name.endswith((".lck", "/tmp", ".crc")):
            return None
        item.uid = item.gid = 0
        item.uname = item.gname = ""
        item.mtime = 0
        return item

    draft = archive.with_suffix(".draft")
    with tarfile.open(draft, "w:xz") as tar:
        for part in PARTS:
            for path in sorted((directory / part).rglob("*")):
                tar.add(path, path.relative_to(directory).as_posix(), recursive=False, filter=plain)
    draft.replace(archive)


def unpack(directory: Path, archive: Path = ARCHIVE) -> None:
    """Unpack a copy into an empty or missing directory."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(directory, filter="data")
        else:
            tar.extractall(directory)
    directory.chmod(0o700)


@contextmanager
def loaded(directory: Path, more: Mapping[str, str] | None = None) -> Iterator[StandaloneMetastore]:
    """Unpack the copy into a directory and run its metastore, with more properties where given."""
    with linked(directory):
        unpack(directory)
        with metastore(directory, more) as running:
            yield running
