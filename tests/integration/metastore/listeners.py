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
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_TOOL_OPTIONS", f"-javaagent:{_compile(directory / 'listener')}")
        metastore.start()
    try:
        yield RefusingMetastore(metastore, refusals)
    finally:
        metastore.stop()


def _compile(directory: Path) -> Path:
    """Compile the listeners to an agent: its jar is on the class path."""
    directory.mkdir()
    jars = find_jars("the tests")
    command = ["javac", "-nowarn", "--release", "8", "-cp", f"{jars}{os.sep}*", "-d", str(directory), str(_SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    jar = directory / "listener.jar"
    with ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: RefusingListener\n")
        for file in directory.glob("*.class"):
            archive.write(file, file.name)
    return jar
