"""The JVM of an embedded metastore: find Java and PySpark's jars, start them, bring the metastore up in them.

No Java code of ours is needed: the JVM runs Py4J's gateway, and Python builds the server's objects through it, the way
`HiveMetaStore.startMetaStore` (Hive 2.3.10) does, with two differences: the socket is bound to the loopback address,
and the house-keeper that removes abandoned locks runs (in Hive only a server with the compactor turned on has it). The
gateway is closed once the server runs, because a gateway runs any code for whoever knows its token.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from hive_views.errors import EmbeddedMetastoreError
from hive_views.metastore.embedded_directory import MetastoreDirectory

LOOPBACK = "127.0.0.1"

OLDEST_JAVA = 17

INSTALL_JAVA = "Install Java 17, e.g. `apt-get install openjdk-17-jre-headless`, or name one by JAVA_HOME"
INSTALL_SPARK = "Install PySpark: `pip install 'hive_views[spark]'`"

# Packages of java.base that Hive, Hadoop and DataNucleus reach into by reflection.
_OPENED = ("java.lang", "java.net", "java.util", "java.util.concurrent", "java.nio", "java.io")

MIN_WORKER_THREADS = 8
MAX_WORKER_THREADS = 500
MAX_MESSAGE_BYTES = 100 * 1024 * 1024

_LOGGING = """\
status = error
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.err.ref = err
"""


def find_jars(directory: str) -> Path:
    """The folder of PySpark's jars, found without importing PySpark.

    Args:
        directory: The metastore's directory, for the error.

    Raises:
        EmbeddedMetastoreError: If PySpark is not installed, or comes without Hive.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedMetastoreError(directory, f"PySpark, whose jars hold the metastore, is missing. {INSTALL_SPARK}")
    jars = Path(next(iter(spec.submodule_search_locations))) / "jars"
    if not any(jars.glob("hive-metastore-2.3.*.jar")) or not any(jars.glob("py4j-*.jar")):
        raise EmbeddedMetastoreError(directory, f"{jars} does not hold the jars of Hive and Py4J. {INSTALL_SPARK}")
    return jars


def find_java(directory: str, java: str | None = None) -> str:
    """The `java` command: the given one, else JAVA_HOME's, else the one on the PATH.

    Args:
        directory: The metastore's directory, for the error.
        java: The path of a `java` command, or None to look for one.

    Raises:
        EmbeddedMetastoreError: If there is none.
    """
    if java is not None:
        found = shutil.which(java)
        if found is None:
            raise EmbeddedMetastoreError(directory, f"{java} is not a command that can be run. {INSTALL_JAVA}")
        return found
    home = os.environ.get("JAVA_HOME")
    if home:
        found = shutil.which(str(Path(home) / "bin" / "java"))
        if found is None:
            raise EmbeddedMetastoreError(
                directory, f"JAVA_HOME is {home!r}, where there is no bin/java. Correct it or unset it. {INSTALL_JAVA}"
            )
        return found
    found = shutil.which("java")
    if found is None:
        raise EmbeddedMetastoreError(directory, f"there is no Java. {INSTALL_JAVA}")
    return found


class MetastoreJvm:
    """A JVM in which a metastore runs.

    Args:
        directory: The metastore's directory, already taken (`MetastoreDirectory.acquire`), its site file written.
        lock: The file descriptor that `acquire` returned; the JVM gets a copy.
        java: The `java` command.
        jars: PySpark's jars.
        max_memory_mb: The JVM's largest heap, in megabytes.
        detached: Whether it goes on running when this program ends.

    Raises:
        EmbeddedMetastoreError: If the JVM cannot be started.
    """

    def __init__(
        self, directory: MetastoreDirectory, lock: int, java: str, jars: Path, *, max_memory_mb: int, detached: bool
    ) -> None:
        self.directory = directory
        self._java = java
        directory.logging.write_text(_LOGGING, encoding="utf-8")
        command = [java, *_options(directory, max_memory_mb), "-cp", f"{jars}{os.sep}*", "py4j.GatewayServer"]
        # Its token is made by the JVM and comes through a pipe: it is in no argument, environment or file.
        command += ["--enable-auth"] if detached else ["--die-on-broken-pipe", "--enable-auth"]
        command += ["0"]
        try:
            with directory.log.open("ab") as log:
                self._log_start = log.tell()
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=directory.path,
                    pass_fds=(lock,),
                    # Ctrl-C at the terminal is for our program; the JVM goes when the program goes.
                    start_new_session=True,
                    bufsize=0,
                )
        except OSError as error:
            raise EmbeddedMetastoreError(str(directory), f"cannot run {java}: {error}. {INSTALL_JAVA}") from error

    def boot(self, port: int, deadline: float) -> int:
        """Start the metastore's server.

        Args:
            port: The port to listen on; 0 takes a free one.
            deadline: When to give up (`time.monotonic`).

        Returns:
            The port that it listens on.

        Raises:
            EmbeddedMetastoreError: If it does not start.
        """
        # Imported while the JVM starts. It comes with PySpark, and is needed by nobody else.
        try:
            from py4j.java_gateway import GatewayParameters, JavaGateway
            from py4j.protocol import Py4JError
        except ImportError as error:
            raise self._failure(f"Py4J is missing. {INSTALL_SPARK}") from error
        gateway_port = self._line(deadline)
        token = self._line(deadline)
        if not gateway_port.isdigit() or not token:
            raise self._failure(self._why_java_failed())
        quiet = _TokenFilter(token)
        logger = logging.getLogger("py4j.java_gateway")
        logger.addFilter(quiet)
        gateway = JavaGateway(
            gateway_parameters=GatewayParameters(
                address=LOOPBACK,
                port=int(gateway_port),
                auth_token=token,
                read_timeout=max(1.0, deadline - time.monotonic()),
                enable_memory_management=False,
            )
        )
        try:
            self._check_version(gateway.jvm)
            return _serve(gateway, self.directory, port)
        except (Py4JError, OSError) as error:
            # Not `from error`: it asks the JVM, which is gone by then, for its text.
            raise self._failure(self._why_boot_failed(error, port, deadline)) from None
        finally:
            gateway.shutdown()
            logger.removeFilter(quiet)
            if self.process.stdout:
                self.process.stdout.close()

    def stop(self, timeout_s: float = 15.0) -> None:
        """End the JVM, orderly if it does so within `timeout_s` seconds. Does nothing if it has ended already."""
        if self.process.poll() is None:
            if self.process.stdin:
                try:
                    # A line, not only the end of the file: a forked copy of this program may hold the pipe open.
                    self.process.stdin.write(b"\n")
                    self.process.stdin.close()
                except BrokenPipeError:
                    self.process.stdin = None
            else:
                self.process.terminate()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._reap()

    def kill(self) -> None:
        """End the JVM at once, without ceremony: what it wrote is safe in Derby's log."""
        self.process.kill()
        self._reap()

    def _reap(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def _line(self, deadline: float) -> str:
        """One line from the JVM; empty if it ended."""
        pipe = self.process.stdout
        line = b""
        while pipe and not line.endswith(b"\n"):
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise self._failure(f"{self._java} did not start in time")
            byte = pipe.read(1)
            if not byte:
                return ""
            line += byte
        return line.decode("ascii", errors="replace").strip()

    def _check_version(self, jvm: Any) -> None:
        version = str(jvm.java.lang.System.getProperty("java.specification.version"))
        if _major(version) < OLDEST_JAVA:
            raise self._failure(f"{self._java} is Java {version}, which is too old. {INSTALL_JAVA}")

    def _why_java_failed(self) -> str:
        try:
            done = subprocess.run([self._java, "-version"], capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{self._java} cannot be run: {error}. {INSTALL_JAVA}"
        said = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
        if said is None:
            return f"{self._java} does not say a version: it is no Java. {INSTALL_JAVA}"
        if _major(said[1]) < OLDEST_JAVA:
            return f"{self._java} is Java {said[1]}, which is too old. {INSTALL_JAVA}"
        return f"{self._java} (Java {said[1]}) ended at once"

    def _why_boot_failed(self, error: Exception, port: int, deadline: float) -> str:
        cause = getattr(error, "java_exception", None)
        text = str(cause.toString() if cause is not None else error) or type(error).__name__
        if "Could not create ServerSocket" in text:
            return f"port {port} of {LOOPBACK} is taken; choose another one, or 0 for a free one"
        if time.monotonic() >= deadline:
            return "it did not start in time"
        return text.splitlines()[0].rstrip(".")

    def _failure(self, reason: str) -> EmbeddedMetastoreError:
        tail = self.directory.log_tail(self._log_start)
        return EmbeddedMetastoreError(
            str(self.directory), f"{reason}. Its log is {self.directory.log}" + (f"; it ends:\n{tail}" if tail else "")
        )


def _options(directory: MetastoreDirectory, max_memory_mb: int) -> list[str]:
    return [
        directory.marker,
        f"-Xmx{max_memory_mb}m",
        "-XX:+UseSerialGC",
        # The quick compiler alone: a metastore that is started often and waits for its database gains nothing by more.
        "-XX:TieredStopAtLevel=1",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Dlog4j2.configurationFile={directory.logging.as_uri()}",
        f"-Dderby.system.home={directory.path}",
        f"-Dderby.stream.error.file={directory.path / 'derby.log'}",
    ]


def _serve(gateway: Any, directory: MetastoreDirectory, port: int) -> int:
    """Build and start the server's objects; the port it listens on."""
    jvm = gateway.jvm
    system = jvm.java.lang.System
    # Python stops reading standard output now.
    system.setOut(system.err)
    hive = jvm.org.apache.hadoop.hive
    thrift = jvm.org.apache.thrift
    # First, because it fails where the port is taken; it listens from here on, and answers when the server runs.
    socket = thrift.transport.TServerSocket(jvm.java.net.InetSocketAddress(LOOPBACK, port))
    hive.conf.HiveConf.setHiveSiteLocation(jvm.java.net.URL(directory.site.as_uri()))
    conf = hive.conf.HiveConf()
    _create_lock_tables(hive, conf)

    store = hive.metastore.HiveMetaStore
    base = getattr(hive.metastore, "HiveMetaStore$HMSHandler")("embedded", conf, False)
    handler = store.newRetryingHMSHandler(base, conf)
    arguments = getattr(thrift.server, "TThreadPoolServer$Args")(socket)
    binary = getattr(thrift.protocol, "TBinaryProtocol$Factory")
    limit = jvm.java.lang.Long(MAX_MESSAGE_BYTES)
    arguments.processor(hive.metastore.TUGIBasedProcessor(handler))
    arguments.transportFactory(getattr(hive.thrift, "TUGIContainingTransport$Factory")())
    arguments.protocolFactory(binary())
    arguments.inputProtocolFactory(binary(True, True, limit, limit))
    arguments.minWorkerThreads(MIN_WORKER_THREADS)
    arguments.maxWorkerThreads(MAX_WORKER_THREADS)
    server = thrift.server.TThreadPoolServer(arguments)
    server.setServerEventHandler(_connection_cleaner(jvm, gateway.new_array(jvm.java.lang.Object, 0)))
    _thread(jvm, server, "serve", "metastore").start()

    # It starts only under a transaction manager that knows transactions.
    keeping = hive.conf.HiveConf(conf)
    keeping.set("hive.support.concurrency", "true")
    keeping.set("hive.txn.manager", "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager")
    hive.ql.txn.AcidHouseKeeperService().start(keeping)
    shutdown = jvm.org.apache.derby.jdbc.BasicEmbeddedDataSource40()
    shutdown.setDatabaseName(directory.database_name)
    shutdown.setShutdownDatabase("shutdown")
    jvm.java.lang.Runtime.getRuntime().addShutdownHook(_thread(jvm, shutdown, "getConnection", "derby-shutdown"))
    return int(socket.getServerSocket().getLocalPort())


def _create_lock_tables(hive: Any, conf: Any) -> None:
    """DataNucleus makes no tables for locks: without them the first lock hangs (Hive makes them by its schema tool)."""
    from py4j.protocol import Py4JJavaError

    try:
        hive.metastore.txn.TxnDbUtil.prepDb(conf)
    except Py4JJavaError as error:
        # Derby's X0Y32: there is such a table already, so this is not the first start.
        if "already exists" not in str(error.java_exception.getMessage()):
            raise


def _connection_cleaner(jvm: Any, nothing: Any) -> Any:
    """Hive's own event handler, which rolls back and closes what a connection leaves behind. It has no name.

    `nothing` is an empty array of Java objects: the arguments of its constructor.
    """
    loader = jvm.java.lang.Class
    for number in range(1, 10):
        found = loader.forName(f"org.apache.hadoop.hive.metastore.HiveMetaStore${number}")
        if any(each.getSimpleName() == "TServerEventHandler" for each in found.getInterfaces()):
            constructor = found.getDeclaredConstructors()[0]
            constructor.setAccessible(True)
            return constructor.newInstance(nothing)
    raise LookupError("HiveMetaStore has no TServerEventHandler")


def _thread(jvm: Any, target: Any, method: str, name: str) -> Any:
    """A Java thread that runs a method without arguments, and ignores what it throws."""
    create = jvm.java.beans.EventHandler.create
    find = jvm.java.lang.Class.forName
    thread = jvm.java.lang.Thread(create(find("java.lang.Runnable"), target, method), name)
    # Derby reports its orderly shutdown as an exception; any method without effect will do as its handler.
    thread.setUncaughtExceptionHandler(create(find("java.lang.Thread$UncaughtExceptionHandler"), target, "hashCode"))
    return thread


class _TokenFilter(logging.Filter):
    """Py4J logs every command that it sends, at DEBUG: the one that carries the token stays out of the log."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def filter(self, record: logging.LogRecord) -> bool:
        return self._token not in record.getMessage()


def _major(version: str) -> int:
    """17 of `17.0.15`; Java 8 calls itself 1.8."""
    number = re.match(r"(?:1\.)?(\d+)", version)
    return int(number[1]) if number else 0
