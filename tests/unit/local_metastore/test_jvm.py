"""The choice of `java` by version, with directories laid out like installations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hive_views.errors import EmbeddedMetastoreError
from hive_views.local_metastore import jvm
from hive_views.local_metastore.jvm import OLDEST_JAVA, find_java

ROOT = Path(__file__).parents[3]


def installed(directory: Path, version: str | None) -> str:
    """A `java` command in an installation directory with the file `release`, which names its version."""
    (directory / "bin").mkdir(parents=True)
    java = directory / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    if version is not None:
        (directory / "release").write_text(f'IMPLEMENTOR="somebody"\nJAVA_VERSION="{version}"\n')
    return str(java)


@pytest.mark.parametrize("version", ["21", "21.0.8", "25.0.1", None])
def test_java_with_sufficient_or_unknown_version_is_used(tmp_path: Path, version: str | None) -> None:
    java = installed(tmp_path / "java", version)
    assert find_java("d", java, 21) == java
    assert find_java("d", java) == java


@pytest.mark.parametrize(("version", "called"), [("17.0.15", "17"), ("1.8.0_412", "8")])
def test_old_java_argument_is_rejected(tmp_path: Path, version: str, called: str) -> None:
    java = installed(tmp_path / "java", version)
    with pytest.raises(EmbeddedMetastoreError, match=rf"needs Java 21, and \S+ is Java {called}\..*java21.*JAVA_HOME"):
        find_java("d", java, 21)
    assert find_java("d", java) == java


def test_java_home_overrides_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = installed(tmp_path / "java", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    assert find_java("d", None, 21) == java


def test_installation_files_name_the_oldest_java() -> None:
    """`.ci/run` reads the constant from the module's text."""
    source = Path(jvm.__file__).read_text()
    assert re.findall(r"^OLDEST_JAVA = (.*)$", source, re.MULTILINE) == [str(OLDEST_JAVA)]
    for name in ("README.md", "docs/tutorial.md", "docker/metastore/Dockerfile", ".github/workflows/ci.yml"):
        versions = re.findall(r"openjdk-(\d+)|java-version: \"(\d+)\"", (ROOT / name).read_text())
        assert {version for pair in versions for version in pair if version} == {str(OLDEST_JAVA)}, name
