"""A metastore that runs as a child process of this program.

The common part of the embedded metastore (PySpark's jars, Derby) and standalone metastores (any release and database).
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
from thrift.Thrift import TException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views.errors import EmbeddedMetastoreError
from hive_views.local_metastore.directory import MetastoreDirectory, MetastoreRecord
from hive_views.local_metastore.gateway import LOOPBACK
from hive_views.local_metastore.jvm import Launch, MetastoreJvm

START_TIMEOUT_S = 120.0
"""Time limit of a start, in seconds. It takes about three seconds on an idle machine."""

Process = TypeVar("Process", bound="MetastoreProcess")


class MetastoreProcess(ABC):
    """A metastore in a child process.

    Use it as a context manager, or call `start` and `stop`. It can be started again on the same directory. Attributes
    that need a running metastore raise `EmbeddedMetastoreError` if it is not running.
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
        """Determine how to start the JVM; called before any file is written."""

    @abstractmethod
    def _site(self) -> Mapping[str, str]:
        """Return the metastore's configuration."""

    def _prepare_database(self, launch: Launch) -> None:
        """Prepare the database for the start; called after the site file is written."""
        self._directory.prepare_database()

    def _is_ready(self, port: int, timeout_s: float) -> bool:
        """Return whether the metastore answers on this port."""
        return is_ready(port, timeout_s)

    @property
    def directory(self) -> str:
        """The directory, absolute."""
        return str(self._directory)

    @property
    def uri(self) -> str:
        """The metastore's URI: `thrift://127.0.0.1:port`."""
        return f"thrift://{LOOPBACK}:{self.port}"

    @property
    def port(self) -> int:
        """The port of the metastore."""
        self._require_jvm()
        return self._port

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self._require_jvm().process.pid

    @property
    def warehouse(self) -> str:
        """The parent directory of new databases, as a `file:` URI."""
        return self._directory.warehouse

    @property
    def log_path(self) -> str:
        """The path of the log file."""
        return str(self._directory.log)

    @property
    def running(self) -> bool:
        """Whether the metastore that this object started is running."""
        return self._jvm is not None and self._jvm.process.poll() is None

    def start(self: Process, timeout_s: float = START_TIMEOUT_S) -> Process:
        """Start the metastore, and wait until it answers.

        Args:
            timeout_s: Time limit in seconds.

        Raises:
            EmbeddedMetastoreError: If it is running already, the directory is in use, or the start fails.
        """
        if self.running:
            raise EmbeddedMetastoreError(self.directory, f"it is running already, at {self.uri}")
        # A metastore that ended by itself still has open pipes.
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
            # The JVM inherited the descriptor, so the directory stays locked as long as the JVM lives.
            os.close(lock)
        try:
            self._directory.write_record(jvm.process.pid, None, detached=self._detached)
            port = jvm.boot(self._wanted_port, deadline)
            self._wait_until_ready(jvm, port, deadline)
            self._directory.finish_database()
            self._directory.write_record(jvm.process.pid, f"thrift://{LOOPBACK}:{port}", detached=self._detached)
        except BaseException:
            # Also after Ctrl-C, so that no process is left behind.
            jvm.kill()
            self._directory.remove_record()
            raise
        self._jvm, self._port = jvm, port
        return self

    def stop(self) -> None:
        """Stop the metastore, and kill it if it does not end. Does nothing if it is not running."""
        jvm, self._jvm = self._jvm, None
        if jvm is not None:
            jvm.stop()
            self._directory.remove_record()

    def __enter__(self: Process) -> Process:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _require_jvm(self) -> MetastoreJvm:
        if self._jvm is None:
            raise EmbeddedMetastoreError(self.directory, "it is not running. Call start() first")
        code = self._jvm.process.poll()
        if code is not None:
            raise EmbeddedMetastoreError(
                self.directory, f"it ended unexpectedly (exit code {code}). See its log: {self.log_path}"
            )
        return self._jvm

    def _wait_until_ready(self, jvm: MetastoreJvm, port: int, deadline: float) -> None:
        while not self._is_ready(port, max(1.0, deadline - time.monotonic())):
            if jvm.process.poll() is not None:
                raise jvm.failure("it ended during the start")
            if time.monotonic() > deadline:
                raise jvm.failure(f"it does not answer on port {port}")
            time.sleep(0.05)


def running_metastore(directory: str | os.PathLike[str]) -> MetastoreRecord | None:
    """Return the record of the metastore that runs in a directory; None if none is running."""
    metastore_directory = MetastoreDirectory(directory)
    return metastore_directory.record() if metastore_directory.in_use() else None


def stop_metastore(directory: str | os.PathLike[str]) -> MetastoreRecord | None:
    """Stop the metastore that runs in a directory, whichever program started it; return its record."""
    return MetastoreDirectory(directory).terminate()


def is_ready(port: int, timeout_s: float = 5.0) -> bool:
    """Return whether a metastore on this port of 127.0.0.1 answers, and has its default database."""
    if not is_listening(port, timeout_s):
        return False
    socket = TSocket(LOOPBACK, port)
    socket.setTimeout(timeout_s * 1000)
    transport = TBufferedTransport(socket)
    try:
        transport.open()
        return "default" in _get_all_databases(TBinaryProtocolAccelerated(transport))
    except (TException, OSError):
        return False
    finally:
        transport.close()


def _get_all_databases(protocol: TBinaryProtocolAccelerated) -> list[str]:
    """Call the metastore's get_all_databases without the generated client, which takes 0.1 s to import."""
    protocol.writeMessageBegin("get_all_databases", TMessageType.CALL, 0)
    protocol.writeStructBegin("get_all_databases_args")
    protocol.writeFieldStop()
    protocol.writeStructEnd()
    protocol.writeMessageEnd()
    protocol.trans.flush()
    _, kind, _ = protocol.readMessageBegin()
    _, field_type, field_id = protocol.readFieldBegin()
    if kind != TMessageType.REPLY or (field_type, field_id) != (TType.LIST, 0):
        return []
    _, length = protocol.readListBegin()
    return [protocol.readString() for _ in range(length)]


def is_listening(port: int, timeout_s: float = 5.0) -> bool:
    """Return whether a server listens on this port of 127.0.0.1."""
    try:
        with create_connection((LOOPBACK, port), timeout_s):
            return True
    except OSError:
        return False
