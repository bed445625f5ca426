"""A real Hive Metastore 2.3.10 as a child process: for trying things out, for tests, for programs on one machine.

Its server comes from PySpark's jars and keeps its data in Derby, in a directory of the caller's. It listens on the
loopback address only, and ends with the program that started it, however that ends (unless it is detached).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from types import TracebackType

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views.errors import EmbeddedMetastoreError
from hive_views.metastore.embedded_directory import MetastoreDirectory, MetastoreRecord
from hive_views.metastore.embedded_jvm import LOOPBACK, MetastoreJvm, find_jars, find_java

TXN_TIMEOUT_S = 300.0
"""Hive's own default of hive.txn.timeout, in seconds."""

START_TIMEOUT_S = 120.0
"""How long a start may take, in seconds. It takes about three; a busy machine needs more."""

MAX_MEMORY_MB = 512
"""The JVM's largest heap, in megabytes."""


class EmbeddedMetastore:
    """A Hive Metastore 2.3.10 that runs as long as this program wants it to.

    Use it as a context manager, or call `start` and `stop`. It can be started again, with its data, by this object or
    another one. Attributes that need a running metastore raise `EmbeddedMetastoreError` without one.

    Args:
        directory: Where its data, its log and its warehouse are; made if it is not there. One metastore at a time
            uses it.
        port: The port to listen on, at 127.0.0.1; 0 takes a free one at every start.
        java: The `java` command; by default JAVA_HOME's, else the one on the PATH. Java 17 or newer.
        txn_timeout_s: Seconds after which a lock without a heartbeat is removed (hive.txn.timeout); at least 1.
        max_memory_mb: The JVM's largest heap, in megabytes.
        properties: More of Hive's configuration, by its names (`hive-site.xml`); overrides what is set here.
        detached: Let it go on running when this program ends. Whoever knows the directory can stop it
            (`stop_metastore`, `hive-views metastore stop`).
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        port: int = 0,
        java: str | None = None,
        txn_timeout_s: float = TXN_TIMEOUT_S,
        max_memory_mb: int = MAX_MEMORY_MB,
        properties: Mapping[str, str] | None = None,
        detached: bool = False,
    ) -> None:
        self._directory = MetastoreDirectory(directory)
        if not 0 <= port <= 65535:
            raise EmbeddedMetastoreError(str(self._directory), f"{port} is not a port; 0 takes a free one")
        if txn_timeout_s < 1:
            raise EmbeddedMetastoreError(str(self._directory), f"txn_timeout_s must be at least 1, not {txn_timeout_s}")
        self._wanted_port = port
        self._java = java
        self._txn_timeout_s = txn_timeout_s
        self._max_memory_mb = max_memory_mb
        self._properties = dict(properties or {})
        self._detached = detached
        self._jvm: MetastoreJvm | None = None
        self._port = 0

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

    def start(self, timeout_s: float = START_TIMEOUT_S) -> EmbeddedMetastore:
        """Start it, and wait until it answers.

        Args:
            timeout_s: How long to wait, in seconds.

        Returns:
            This object.

        Raises:
            EmbeddedMetastoreError: If it runs already, its directory is in use, Java or PySpark is missing, the port is
                taken, or it does not answer in time. Nothing is left running then.
        """
        if self.running:
            raise EmbeddedMetastoreError(self.directory, f"it is running already, at {self.uri}")
        # One that has ended by itself still holds its pipes.
        self.stop()
        deadline = time.monotonic() + timeout_s
        jars = find_jars(self.directory)
        java = find_java(self.directory, self._java)
        self._directory.create()
        lock = self._directory.acquire()
        try:
            self._directory.write_site(self._site())
            self._directory.prepare_database()
            jvm = MetastoreJvm(
                self._directory, lock, java, jars, max_memory_mb=self._max_memory_mb, detached=self._detached
            )
        except OSError as error:
            raise EmbeddedMetastoreError(self.directory, f"its files cannot be written: {error}") from error
        finally:
            # The JVM has its own copy; the directory is taken for as long as the JVM lives.
            os.close(lock)
        try:
            self._directory.write_record(jvm.process.pid, None, detached=self._detached)
            port = jvm.boot(self._wanted_port, deadline)
            _wait_until_ready(self._directory, port, deadline)
            self._directory.finish_database()
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

    def __enter__(self) -> EmbeddedMetastore:
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

    def _site(self) -> dict[str, str]:
        milliseconds = round(self._txn_timeout_s * 1000)
        reaper = max(250, min(milliseconds // 4, 60_000))
        return {
            # Relative to Derby's system home: a path could hold characters that end a JDBC attribute.
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self._directory.database_name};create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
            "datanucleus.connectionPoolingType": "HikariCP",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": self.warehouse,
            # By default a failing database call is repeated for 20 seconds; 0 attempts would stop the start.
            "hive.hmshandler.retry.attempts": "1",
            "hive.hmshandler.retry.interval": "50ms",
            "hive.txn.timeout": f"{milliseconds}ms",
            "hive.timedout.txn.reaper.start": f"{reaper}ms",
            "hive.timedout.txn.reaper.interval": f"{reaper}ms",
            **self._properties,
        }


def running_metastore(directory: str | os.PathLike[str]) -> MetastoreRecord | None:
    """What runs in a directory, whoever started it.

    Args:
        directory: The metastore's directory.

    Returns:
        Its record; None if none runs there.

    Raises:
        EmbeddedMetastoreError: If the directory is in use and its record cannot be read.
    """
    place = MetastoreDirectory(directory)
    return place.record() if place.in_use() else None


def stop_metastore(directory: str | os.PathLike[str]) -> MetastoreRecord | None:
    """Stop the metastore that runs in a directory, whoever started it. Only that one is ever signaled.

    Args:
        directory: The metastore's directory.

    Returns:
        What was stopped; None if none was running.

    Raises:
        EmbeddedMetastoreError: If the recorded process is not that metastore, or does not end.
    """
    return MetastoreDirectory(directory).terminate()


def is_ready(port: int, timeout_s: float = 5.0) -> bool:
    """Whether a metastore answers at this port of 127.0.0.1.

    Args:
        port: The port.
        timeout_s: How long to wait for its answer, in seconds.
    """
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


def _wait_until_ready(directory: MetastoreDirectory, port: int, deadline: float) -> None:
    while not is_ready(port, max(1.0, deadline - time.monotonic())):
        if time.monotonic() > deadline:
            raise EmbeddedMetastoreError(
                str(directory), f"it does not answer at port {port}; its log is {directory.log}"
            )
        time.sleep(0.05)
