"""The directory of a local metastore: its files, and the process that uses it.

A metastore's JVM inherits an open, locked file (`metastore.lock`), so the directory is locked exactly as long as that
JVM lives, however it ends and whether or not its parent still lives. `metastore.json` describes the process.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from hive_views.errors import EmbeddedMetastoreError
from hive_views.spec.json_text import parse_json

LOCK_WAIT_S = 2.0
"""Seconds that a start waits for the directory: a metastore whose parent was killed needs some time to end."""

_MAX_RECORD_BYTES = 64 * 1024

LOG_LIMIT_BYTES = 10 * 1024 * 1024
"""A log longer than this is renamed to `metastore.log.1` when a metastore starts."""


@dataclass(frozen=True)
class MetastoreRecord:
    """The contents of `metastore.json`: the metastore that runs in a directory."""

    pid: int
    """The process id of the JVM."""
    uri: str | None
    """`thrift://127.0.0.1:port`; None while it is starting."""
    started_at: str
    """The time of the start: ISO 8601, UTC."""
    detached: bool
    """Whether it keeps running when the program that started it ends."""

    @property
    def is_valid(self) -> bool:
        """Whether the fields have the types and values that `write_record` writes."""
        return (
            type(self.pid) is int
            and self.pid > 0
            and (self.uri is None or re.fullmatch(r"thrift://127\.0\.0\.1:\d{1,5}", str(self.uri)) is not None)
            and isinstance(self.started_at, str)
            and isinstance(self.detached, bool)
        )


class MetastoreDirectory:
    """The files of a local metastore; `create` creates the directory if it is missing."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().resolve()
        self.database_name = "metastore_db"
        """The directory of the Derby database, relative to `path` (Derby's system home)."""
        self.warehouse = (self.path / "warehouse").as_uri()
        """The parent directory of new databases, as a `file:` URI."""
        self.log = self.path / "metastore.log"
        """The log of the JVM, the metastore and Derby."""
        self.site = self.path / "hive-site.xml"
        """The metastore's configuration, rewritten at every start."""
        self.logging = self.path / "log4j2.properties"
        """The logging configuration, rewritten at every start."""
        self.marker = f"-Dhive_views.directory={self.path}"
        """A command line argument that identifies this directory's JVM."""
        self._incomplete_marker = self.path / f"{self.database_name}.unfinished"
        self._lock = self.path / "metastore.lock"
        self._record = self.path / "metastore.json"

    def __str__(self) -> str:
        return str(self.path)

    def create(self) -> None:
        """Create the directory and its warehouse if they are missing; rename a long log."""
        try:
            (self.path / "warehouse").mkdir(parents=True, exist_ok=True)
            if self.log.exists() and self.log.stat().st_size > LOG_LIMIT_BYTES:
                self.log.replace(self.log.with_suffix(".log.1"))
        except OSError as error:
            raise EmbeddedMetastoreError(str(self), f"cannot create the directory: {error}") from error

    def acquire(self) -> int:
        """Lock the directory for one metastore; return the descriptor of the lock file."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + LOCK_WAIT_S
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                os.close(descriptor)
                record = self.record()
                command = f"hive-views metastore stop --directory {shlex.quote(str(self))}"
                user = f" by process {record.pid} at {record.uri or '(starting)'}" if record else ""
                raise EmbeddedMetastoreError(
                    str(self),
                    f"it is in use{user}. Connect to it, stop it (`{command}`), or choose another directory",
                )
            time.sleep(0.05)
        # The record describes an earlier metastore, whose process id may have been reused.
        self._record.unlink(missing_ok=True)
        return descriptor

    def prepare_database(self) -> None:
        """Remove a database whose first start was interrupted (Derby cannot open it); mark a new one as incomplete."""
        database = self.path / self.database_name
        if self._incomplete_marker.exists():
            shutil.rmtree(database, ignore_errors=True)
        if not database.exists():
            self._incomplete_marker.touch()

    def finish_database(self) -> None:
        """Mark the database as complete, and make it readable by its owner only: it contains all definitions."""
        database = self.path / self.database_name
        if database.exists():
            database.chmod(0o700)
        self._incomplete_marker.unlink(missing_ok=True)

    def in_use(self) -> bool:
        """Return whether a metastore runs or starts in this directory."""
        try:
            descriptor = os.open(self._lock, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            return not _try_lock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def record(self) -> MetastoreRecord | None:
        """Read `metastore.json`; None if it is missing. The metastore may have ended meanwhile; see `in_use`."""
        try:
            with self._record.open("rb") as file:
                record = MetastoreRecord(**parse_json(file.read(_MAX_RECORD_BYTES)))
            if not record.is_valid:
                raise ValueError(f"it describes no metastore on this machine: {record}")
            return record
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise EmbeddedMetastoreError(str(self), f"{self._record} cannot be read: {error}") from error

    def write_record(self, pid: int, uri: str | None, *, detached: bool) -> None:
        """Write `metastore.json` atomically."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        previous = self.record()
        started_at = previous.started_at if previous and previous.pid == pid else now
        record = MetastoreRecord(pid=pid, uri=uri, started_at=started_at, detached=detached)
        draft = self._record.with_suffix(".json.tmp")
        draft.write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")
        draft.replace(self._record)

    def remove_record(self) -> None:
        """Remove `metastore.json` of a metastore that ended, unless another one uses the directory already."""
        with suppress(FileNotFoundError):
            descriptor = os.open(self._lock, os.O_RDWR)
            try:
                if _try_lock(descriptor, fcntl.LOCK_EX):
                    self._record.unlink(missing_ok=True)
            finally:
                os.close(descriptor)

    def write_site(self, properties: Mapping[str, str]) -> None:
        """Write the metastore's configuration, readable by its owner only."""
        # Imported here, since programs that start no metastore do not need the XML parser.
        from xml.sax.saxutils import escape

        lines = ["<configuration>"]
        for name, value in properties.items():
            lines.append(f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>")
        lines.append("</configuration>")
        # The file contains the database's password. It is created anew, so that other users can never read it.
        self.site.unlink(missing_ok=True)
        descriptor = os.open(self.site, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as site:
            site.write("\n".join(lines) + "\n")

    def log_tail(self, start: int) -> str:
        """Return the last 15 lines of the log after an offset in bytes."""
        with self.log.open("rb") as log:
            log.seek(start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-15:])

    def terminate(self) -> MetastoreRecord | None:
        """Stop the metastore that runs in this directory, regardless of which program started it."""
        if not self.in_use():
            self.remove_record()
            return None
        record = self.record()
        if record is None:
            raise EmbeddedMetastoreError(
                str(self), f"it is in use, but {self._record} does not name the process. Stop the process that uses it"
            )
        for number, wait_s in ((signal.SIGTERM, 15.0), (signal.SIGKILL, 5.0)):
            self._signal(record.pid, number)
            deadline = time.monotonic() + wait_s
            while self.in_use():
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            else:
                self.remove_record()
                return record
        raise EmbeddedMetastoreError(str(self), f"process {record.pid} does not end. See its log: {self.log}")

    def _signal(self, pid: int, number: signal.Signals) -> None:
        """Signal this directory's JVM; the pidfd ensures that the process id is not reused in between."""
        with suppress(ProcessLookupError):
            if not hasattr(os, "pidfd_open"):
                self._check_process(pid)
                os.kill(pid, number)
                return
            pidfd = os.pidfd_open(pid)
            try:
                self._check_process(pid)
                signal.pidfd_send_signal(pidfd, number)
            finally:
                os.close(pidfd)

    def _check_process(self, pid: int) -> None:
        if self.marker not in command_line(pid):
            raise EmbeddedMetastoreError(
                str(self),
                f"process {pid} is not the metastore of {self._record}; nothing was stopped",
            )


def command_line(pid: int) -> list[str]:
    """Return the command line of a process; empty if there is no such process."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            return (proc / str(pid) / "cmdline").read_bytes().decode(errors="surrogateescape").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            return []
    result = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return result.stdout.split()


def _try_lock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
