"""Metastores with a listener of the tests, which refuses changes with the exception that a test chooses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest

from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.jvm import find_jars
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore
from tests.conftest import CACHE

_SOURCE = Path(__file__).parent / "RefusingListener.java"


class RefusingMetastore:
    """A metastore whose listeners refuse changes."""

    def __init__(self, metastore: MetastoreProcess, directory: Path) -> None:
        self.metastore = metastore
        self._directory = directory

    @contextmanager
    def refusing(self, exception: str, message: str, *, time: str = "before") -> Iterator[None]:
        """Refuse changes for the body of a `with` statement, before or after the server carries them out."""
        file = self._directory / time
        file.write_text(f"{exception} {message}", encoding="utf-8")
        try:
            yield
        finally:
            file.unlink()


@contextmanager
def start_refusing(version: str, directory: Path) -> Iterator[RefusingMetastore]:
    """Start a metastore of a release with the listeners."""
    refusals = directory / "refusals"
    refusals.mkdir()
    properties = {
        "hive.metastore.pre.event.listeners": "RefusingListener",
        "hive.metastore.event.listeners": "RefusingListener$After",
        "tests.refusal.before": str(refusals / "before"),
        "tests.refusal.after": str(refusals / "after"),
    }
    metastore: MetastoreProcess = (
        EmbeddedMetastore(directory / "hms", properties=properties)
        if version == EMBEDDED_VERSION
        else StandaloneMetastore(directory / "hms", version=version, properties=properties, cache=CACHE)
    )
    start_with_agent(metastore, build_agent(directory / "listener"))
    try:
        yield RefusingMetastore(metastore, refusals)
    finally:
        metastore.stop()


def start_with_agent(metastore: MetastoreProcess, agent: Path) -> None:
    """Start a metastore with the jar of an agent, and the jars that it names, on its class path."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_TOOL_OPTIONS", f"-javaagent:{agent}")
        metastore.start()


def build_agent(directory: Path, *class_path: Path) -> Path:
    """Compile the listeners to an agent that has other jars on its class path."""
    directory.mkdir()
    jars = find_jars("the tests")
    command = ["javac", "-nowarn", "--release", "8", "-cp", f"{jars}{os.sep}*", "-d", str(directory), str(_SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    lines = ["Manifest-Version: 1.0", "Premain-Class: RefusingListener"]
    if class_path:
        lines.append(f"Class-Path: {' '.join(jar.as_uri() for jar in class_path)}")
    jar = directory / "listener.jar"
    with ZipFile(jar, "w") as archive:
        # A line of a manifest has at most 72 bytes; it is continued after a space.
        archive.writestr("META-INF/MANIFEST.MF", "".join("\n ".join(wrap(line, 70)) + "\n" for line in lines))
        for file in directory.glob("*.class"):
            archive.write(file, file.name)
    return jar


def wrap(text: str, length: int) -> list[str]:
    """Divide a text into parts of equal length."""
    return [text[start : start + length] for start in range(0, len(text), length)]
