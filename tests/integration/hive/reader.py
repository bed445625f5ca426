"""Hive 4.1.0's own driver, which runs queries with the local MapReduce runner, from the JARs on Maven Central.

`python -m tests.integration.hive.reader` installs it (270 MB, two minutes).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

VERSION = "4.1.0"
HOME = Path(__file__).parents[3] / ".cache" / f"hive-{VERSION}"
SOURCES = Path(__file__).parent

TRANSACTIONAL = {
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
}
"""Settings with which Hive creates and writes transactional tables. The metastore needs WITHOUT_TRANSFORMER."""

WITHOUT_TRANSFORMER = {"metastore.metadata.transformer.class": " "}
"""Setting of a metastore that accepts transactional tables of clients that send no capabilities of a processor."""

OPENED = (
    *("java.lang", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent"),
    *("java.util.concurrent.atomic", "java.util.regex", "java.time", "java.math", "java.text", "sun.nio.ch"),
)
"""Packages of java.base that Hive reaches by reflection."""


class HiveError(Exception):
    """Hive refused or failed a statement."""


def install(home: Path = HOME) -> Path:
    """Download Hive and compile the reader, unless they are installed; returns the directory."""
    if (home / "complete").exists():
        return home
    copy = ("dependency:copy-dependencies", f"-DoutputDirectory={home / 'lib'}", "-DincludeScope=runtime")
    _run("mvn", "-q", "-B", "-f", str(SOURCES / "pom.xml"), *copy)
    (home / "classes").mkdir(exist_ok=True)
    source = str(SOURCES / "java" / "HiveReader.java")
    _run("javac", "-nowarn", "-proc:none", "-d", str(home / "classes"), "-cp", f"{home / 'lib'}/*", source)
    (home / "complete").touch()
    return home


def _run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{(result.stdout + result.stderr)[-2000:]}")


class HiveReader:
    """A running driver."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def query(self, sql: str) -> list[str]:
        """Run a statement and return its rows as Hive prints them, with tabs between the columns; raises HiveError."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(sql) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Hive ended:\n{self._log.read_text(errors='replace')[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise HiveError(answer["error"])
        return list(answer["rows"])


def settings(directory: Path, metastore_uri: str) -> dict[str, str]:
    """Return Hive's settings for a metastore, with its files in a directory; creates the directories."""
    for name in ("scratch", "local", "tmp"):
        (directory / name).mkdir(parents=True)
        (directory / name).chmod(0o777)
    return {
        "hive.metastore.uris": metastore_uri,
        # Hive 4 chooses the locations of new databases in the client.
        "hive.metastore.warehouse.dir": (directory / "warehouse").as_uri(),
        "hive.metastore.warehouse.external.dir": (directory / "warehouse").as_uri(),
        "hive.exec.scratchdir": str(directory / "scratch"),
        "hive.exec.local.scratchdir": str(directory / "local"),
        "hive.downloaded.resources.dir": str(directory / "resources"),
        "hive.querylog.location": str(directory / "querylog"),
        "hive.execution.engine": "mr",
        "mapreduce.framework.name": "local",
        "fs.defaultFS": "file:///",
        "hive.fetch.task.conversion": "more",
        "hive.fetch.task.conversion.threshold": "-1",
        "hive.exec.submit.local.task.via.child": "false",
        "hive.auto.convert.join": "false",
        "hive.support.concurrency": "false",
        "hive.stats.autogather": "false",
        "hive.security.authorization.enabled": "false",
        "hive.notification.event.poll.interval": "0s",
    }


def java_options(directory: Path) -> tuple[str, ...]:
    """Return the options of Hive's JVM, whose temporary files are in a directory."""
    opened = (f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED)
    memory = ("-Xmx1500m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss4m")
    return (*memory, "-Duser.timezone=UTC", *opened, f"-Djava.io.tmpdir={directory / 'tmp'}")


@contextmanager
def running(directory: Path, metastore_uri: str, more: Mapping[str, str] | None = None) -> Iterator[HiveReader]:
    """Run Hive's driver, with more settings where given, on a metastore of Hive 4.1; its files are in a directory."""
    home = install()
    command = [
        *("java", *java_options(directory), "-cp", f"{home / 'classes'}:{home / 'lib'}/*", "HiveReader"),
        *(f"{key}={value}" for key, value in {**settings(directory, metastore_uri), **(more or {})}.items()),
    ]
    log = directory / "hive.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=directory
        )
    try:
        yield HiveReader(process, log)
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    print(install())
