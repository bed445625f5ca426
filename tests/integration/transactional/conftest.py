"""Metastores of several releases that accept transactional tables through Thrift."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore
from tests.conftest import CACHE, STORES
from tests.integration.cli.conftest import cli
from tests.integration.hive.reader import WITHOUT_TRANSFORMER

__all__ = ["cli"]

SERVERS = ("3.1.3", "4.0.1", "4.2.0")
"""`tests/integration/hive` has real tables on 4.1.0."""

WITHOUT_ORC = ("3.1.3", "4.0.1")
"""Releases whose standalone server lacks the classes of ORC, with which a Hive installation checks an ACID table."""

_CLASSES = {
    "AcidInputFormat": "public interface AcidInputFormat {}",
    "AcidOutputFormat": "public interface AcidOutputFormat {}",
    "orc.OrcInputFormat": "public class OrcInputFormat implements org.apache.hadoop.hive.ql.io.AcidInputFormat {}",
    "orc.OrcOutputFormat": "public class OrcOutputFormat implements org.apache.hadoop.hive.ql.io.AcidOutputFormat {}",
}
"""The types of org.apache.hadoop.hive.ql.io that the server compares; it calls none of their methods."""


def compile_orc_types(directory: Path) -> Path:
    """Compile the types by which a server recognizes ORC, and return their directory."""
    sources = []
    for name, text in _CLASSES.items():
        package, _, short = f"org.apache.hadoop.hive.ql.io.{name}".rpartition(".")
        source = directory / "src" / package.replace(".", "/") / f"{short}.java"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"package {package};\n{text}\n")
        sources.append(str(source))
    classes = directory / "classes"
    classes.mkdir(parents=True)
    subprocess.run(["javac", "-nowarn", "--release", "8", "-d", str(classes), *sources], check=True)
    return classes


@pytest.fixture(scope="session", params=SERVERS)
def metastore(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """In place of the shared metastore: one of each release, on Derby."""
    version, directory = request.param, tmp_path_factory.mktemp("transactional")
    options: tuple[str, ...] = ()
    if version in WITHOUT_ORC:
        options = (f"-Xbootclasspath/a:{compile_orc_types(directory / 'orc')}",)
    settings = {**STORES, **WITHOUT_TRANSFORMER}
    with StandaloneMetastore(
        directory / "hms", version=version, properties=settings, cache=CACHE, options=options
    ) as process:
        yield process
