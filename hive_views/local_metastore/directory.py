"""The directory of an embedded metastore: what lies where, who is using it.

A metastore's JVM inherits an open, locked file (`metastore.lock`), so the lock lasts exactly as long as that JVM does,
however it ends and whether or not its starter still lives. What is running is written beside it (`metastore.json`).
"""

from __future__ import annotations

import fcntl
import json
import os
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

LOCK_WAIT_S = 2.0
"""How long a start waits for the directory: a metastore whose parent was killed needs a moment to go."""

LOG_LIMIT_BYTES = 10 * 1024 * 1024
"""A log longer than this is set aside (`metastore.log.1`, one is kept) when a metastore starts."""


@dataclass(frozen=True)
class MetastoreRecord:
    """What is running in a directory, as `metastore.json` says."""

    pid: int
    """The process id of the metastore's JVM."""
    uri: str | None
    """`thrift://127.0.0.1:port`; None while it is starting."""
    started_at: str
    """When it was started: ISO 8601, UTC."""
    detached: bool
    """Whether it goes on running when the program that started it has ended."""


class MetastoreDirectory:
    """The files of an embedded metastore.

    Args:
        path: The directory; made by `create`, if it is not there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().resolve()

    def __str__(self) -> str:
        return str(self.path)

    @property
    def database_name(self) -> str:
        """Derby's database, relative to `path` (Derby's system home)."""
        return "metastore_db"

    @property
    def warehouse(self) -> str:
        """Where databases without a location of their own keep their files: a `file:` URI."""
        return (self.path / "warehouse").as_uri()

    @property
    def log(self) -> Path:
        """What the JVM, the metastore and Derby have to say."""
        return self.path / "metastore.log"

    @property
    def site(self) -> Path:
        """The metastore's configuration, written anew at every start."""
        return self.path / "hive-site.xml"

    @property
    def logging(self) -> Path:
        """The configuration of the log, written anew at every start."""
        return self.path / "log4j2.properties"

    @property
    def _unfinished(self) -> Path:
        return self.path / f"{self.database_name}.unfinished"

    @property
    def _lock(self) -> Path:
        return self.path / "metastore.lock"

    @property
    def _record(self) -> Path:
        return self.path / "metastore.json"

    def create(self) -> None:
        """Make the directory and its warehouse, if they are not there; set a long log aside."""
        try:
            (self.path / "warehouse").mkdir(parents=True, exist_ok=True)
            if self.log.exists() and self.log.stat().st_size > LOG_LIMIT_BYTES:
                self.log.replace(self.log.with_suffix(".log.1"))
        except OSError as error:
            raise EmbeddedMetastoreError(str(self), f"cannot make the directory: {error}") from error

    def acquire(self) -> int:
        """Take the directory for one metastore."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + LOCK_WAIT_S
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                os.close(descriptor)
                record = self.record()
                by = f" by process {record.pid} at {record.uri or '(starting)'}" if record else ""
                raise EmbeddedMetastoreError(
                    str(self),
                    f"it is in use{by}. Connect to that one, stop it (`hive-views metastore stop --directory {self}`), "
                    "or choose another directory",
                )
            time.sleep(0.05)
        # What it says is of an earlier metastore, and a process id may be another's by now.
        self._record.unlink(missing_ok=True)
        return descriptor

    def prepare_database(self) -> None:
        """Remove a database whose very first start was cut short (Derby cannot open it); note the first start."""
        database = self.path / self.database_name
        if self._unfinished.exists():
            shutil.rmtree(database, ignore_errors=True)
        if not database.exists():
            self._unfinished.touch()

    def finish_database(self) -> None:
        """Say that the database is whole."""
        self._unfinished.unlink(missing_ok=True)

    def in_use(self) -> bool:
        """Whether a metastore is running, or starting, in this directory."""
        try:
            descriptor = os.open(self._lock, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            return not _try_lock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def record(self) -> MetastoreRecord | None:
        """What runs here according to `metastore.json`; None without one. Only `in_use` says whether it still runs."""
        try:
            return MetastoreRecord(**json.loads(self._record.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise EmbeddedMetastoreError(str(self), f"{self._record} cannot be read: {error}") from error

    def write_record(self, pid: int, uri: str | None, *, detached: bool) -> None:
        """Say what runs here, in one step."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        previous = self.record()
        started_at = previous.started_at if previous and previous.pid == pid else now
        record = MetastoreRecord(pid=pid, uri=uri, started_at=started_at, detached=detached)
        draft = self._record.with_suffix(".json.tmp")
        draft.write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")
        draft.replace(self._record)

    def forget(self) -> None:
        """Remove `metastore.json` of a metastore that has ended, unless the next one has the directory already."""
        with suppress(FileNotFoundError):
            descriptor = os.open(self._lock, os.O_RDWR)
            try:
                if _try_lock(descriptor, fcntl.LOCK_EX):
                    self._record.unlink(missing_ok=True)
            finally:
                os.close(descriptor)

    def write_site(self, properties: Mapping[str, str]) -> None:
        """Write the metastore's configuration, for its owner alone."""
        # Imported here: the XML parser behind it is not needed by programs that never start a metastore.
        from xml.sax.saxutils import escape

        lines = ["<configuration>"]
        for name, value in properties.items():
            lines.append(f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>")
        lines.append("</configuration>")
        # It holds the database's password: made anew, so that nobody else can read it at any moment.
        self.site.unlink(missing_ok=True)
        descriptor = os.open(self.site, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as site:
            site.write("\n".join(lines) + "\n")

    def log_tail(self, start: int, lines: int = 15) -> str:
        """The last lines of the log, from an offset in bytes on."""
        with self.log.open("rb") as log:
            log.seek(start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])

    def terminate(self, timeout_s: float = 15.0) -> MetastoreRecord | None:
        """Stop the metastore that runs here, whoever started it."""
        if not self.in_use():
            self.forget()
            return None
        record = self.record()
        if record is None:
            raise EmbeddedMetastoreError(str(self), f"it is in use, but {self._record} does not say by which process")
        for number, wait_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, 5.0)):
            self._signal(record.pid, number)
            deadline = time.monotonic() + wait_s
            while self.in_use():
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            else:
                self.forget()
                return record
        raise EmbeddedMetastoreError(str(self), f"process {record.pid} does not end; its log: {self.log}")

    def _signal(self, pid: int, number: signal.Signals) -> None:
        """Signal this directory's JVM. The process is pinned before it is looked at, so its id cannot be reused."""
        with suppress(ProcessLookupError):
            if not hasattr(os, "pidfd_open"):
                self._check_ours(pid)
                os.kill(pid, number)
                return
            pinned = os.pidfd_open(pid)
            try:
                self._check_ours(pid)
                signal.pidfd_send_signal(pinned, number)
            finally:
                os.close(pinned)

    def _check_ours(self, pid: int) -> None:
        if self.marker not in command_line(pid):
            raise EmbeddedMetastoreError(
                str(self), f"process {pid} is not the metastore that {self._record} speaks of; nothing was stopped"
            )

    @property
    def marker(self) -> str:
        """An argument of the JVM that runs here, by which it is known for ours."""
        return f"-Dhive_views.directory={self.path}"


def command_line(pid: int) -> list[str]:
    """The arguments with which a process was started; empty if there is no such process."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            return (proc / str(pid) / "cmdline").read_bytes().decode(errors="surrogateescape").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            return []
    done = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.split()


def _try_lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
