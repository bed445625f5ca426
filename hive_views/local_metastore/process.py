"""A metastore that runs as a child process of this program: started, waited for, ended with it.

What is common to the embedded metastore (PySpark's jars, Derby) and to the standalone ones (any release, any database).
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from socket import create_connection
from types import TracebackType
from typing import TypeVar

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views.errors import EmbeddedMetastoreError
from hive_views.local_metastore.directory import MetastoreDirectory, MetastoreRecord
from hive_views.local_metastore.jvm import LOOPBACK, Launch, MetastoreJvm

START_TIMEOUT_S = 120.0
"""How long a start may take, in seconds. It takes about three; a busy machine needs more."""

Process = TypeVar("Process", bound="MetastoreProcess")


class MetastoreProcess(ABC):
    """A metastore that runs as long as this program wants it to.

    Use it as a context manager, or call `start` and `stop`. It can be started again, with its data, by this object or
    another one. Attributes that need a running metastore raise `EmbeddedMetastoreError` without one.

    Args:
        directory: Where its data, its log and its warehouse are; made if it is not there. One metastore at a time
            uses it.
        port: The port to listen on, at 127.0.0.1; 0 takes a free one at every start.
        detached: Let it go on running when this program ends. Whoever knows the directory can stop it
            (`stop_metastore`, `hive-views metastore stop`).
    """

    def __init__(self, directory: str | os.PathLike[str], *, port: int, detached: bool) -> None:
        self._directory = MetastoreDirectory(directory)
        if not 0 <= port <= 65535:
            raise EmbeddedMetastoreError(str(self._directory), f"{port} is not a port; 0 takes a free one")
        self._wanted_port = port
        self._detached = detached
        self._jvm: MetastoreJvm | None = None
        self._port = 0

    @abstractmethod
    def _prepare(self) -> Launch:
        """What to run; called before anything is written."""

    @abstractmethod
    def _site(self) -> Mapping[str, str]:
        """The metastore's configuration."""

    @abstractmethod
    def _prepare_database(self, launch: Launch) -> None:
        """Make the database ready for the start; the site file is written."""

    @abstractmethod
    def _finish_database(self) -> None:
        """The metastore answers: what `_prepare_database` began is whole."""

    def _is_ready(self, port: int, timeout_s: float) -> bool:
        """Whether it answers at this port."""
        return is_ready(port, timeout_s)

    @property
    def directory(self) -> str:
        """The directory, absolute."""
        return str(self._directory)

    @property
    def uri(self) -> str:
        """Where it listens: `thrift://127.0.0.1:port`."""
        return f"thrift://{LOOPBACK}:{self.port}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        self._running()
        return self._port

    @property
    def pid(self) -> int:
        """The process id of its JVM."""
        return self._running().process.pid

    @property
    def warehouse(self) -> str:
        """Where databases without a location of their own keep their files: a `file:` URI."""
        return self._directory.warehouse

    @property
    def log_path(self) -> str:
        """Its log file."""
        return str(self._directory.log)

    @property
    def running(self) -> bool:
        """Whether this object has a metastore that runs."""
        return self._jvm is not None and self._jvm.process.poll() is None

    def start(self: Process, timeout_s: float = START_TIMEOUT_S) -> Process:
        """Start it, and wait until it answers."""
        if self.running:
            raise EmbeddedMetastoreError(self.directory, f"it is running already, at {self.uri}")
        # One that has ended by itself still holds its pipes.
        self.stop()
        deadline = time.monotonic() + timeout_s
        launch = self._prepare()
        self._directory.create()
        lock = self._directory.acquire()
        try:
            self._directory.write_site(self._site())
            self._prepare_database(launch)
            jvm = MetastoreJvm(self._directory, lock, launch, detached=self._detached)
        except OSError as error:
            raise EmbeddedMetastoreError(self.directory, f"its files cannot be written: {error}") from error
        finally:
            # The JVM has its own copy; the directory is taken for as long as the JVM lives.
            os.close(lock)
        try:
            self._directory.write_record(jvm.process.pid, None, detached=self._detached)
            port = jvm.boot(self._wanted_port, deadline)
            self._wait_until_ready(jvm, port, deadline)
            self._finish_database()
            self._directory.write_record(jvm.process.pid, f"thrift://{LOOPBACK}:{port}", detached=self._detached)
        except BaseException:
            # Ctrl-C included: nothing may be left running.
            jvm.kill()
            self._directory.forget()
            raise
        self._jvm, self._port = jvm, port
        return self

    def stop(self) -> None:
        """Stop it, orderly; kill it if it does not go. Does nothing if it does not run."""
        jvm, self._jvm = self._jvm, None
        if jvm is not None:
            jvm.stop()
            self._directory.forget()

    def __enter__(self: Process) -> Process:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> MetastoreJvm:
        if self._jvm is None:
            raise EmbeddedMetastoreError(self.directory, "it is not running: call start() first")
        code = self._jvm.process.poll()
        if code is not None:
            raise EmbeddedMetastoreError(
                self.directory, f"it has ended by itself (exit code {code}); its log is {self.log_path}"
            )
        return self._jvm

    def _wait_until_ready(self, jvm: MetastoreJvm, port: int, deadline: float) -> None:
        while not self._is_ready(port, max(1.0, deadline - time.monotonic())):
            if jvm.process.poll() is not None:
                raise jvm.failure("it ended while it was starting")
            if time.monotonic() > deadline:
                raise jvm.failure(f"it does not answer at port {port}")
            time.sleep(0.05)


def running_metastore(directory: str | os.PathLike[str]) -> MetastoreRecord | None:
    """What runs in a directory, whoever started it."""
    place = MetastoreDirectory(directory)
    return place.record() if place.in_use() else None


def stop_metastore(directory: str | os.PathLike[str]) -> MetastoreRecord | None:
    """Stop the metastore that runs in a directory, whoever started it. Only that one is ever signaled."""
    return MetastoreDirectory(directory).terminate()


def is_ready(port: int, timeout_s: float = 5.0) -> bool:
    """Whether a metastore answers at this port of 127.0.0.1."""
    if not is_listening(port, timeout_s):
        return False
    # Imported here: the generated stubs take a tenth of a second, in which the JVM is starting.
    from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client

    socket = TSocket(LOOPBACK, port)
    socket.setTimeout(timeout_s * 1000)
    transport = TBufferedTransport(socket)
    try:
        transport.open()
        return "default" in Client(TBinaryProtocolAccelerated(transport)).get_all_databases()
    except (TException, OSError):
        return False
    finally:
        transport.close()


def is_listening(port: int, timeout_s: float = 5.0) -> bool:
    """Whether somebody listens at this port of 127.0.0.1."""
    try:
        with create_connection((LOOPBACK, port), timeout_s):
            return True
    except OSError:
        return False
