"""Downloads from a Maven repository into a cache directory.

Ivy, the resolver in PySpark's jars, downloads them from Maven Central, or from the mirror in Spark's environment
variable; Maven is not needed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from hive_views.errors import INSTALL_SPARK, ArtifactFetchError

MIRROR = "DEFAULT_ARTIFACT_REPOSITORY"
"""Spark's environment variable for a mirror of Maven Central."""

_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir={cache}/>
  <resolvers><ibiblio name="central" m2compatible="true"{root}/></resolvers>
</ivysettings>
"""
_MODULE = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="hive_views" module="fetch"/>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_ATTEMPTS = 3
"""Number of attempts to download a file."""

_TIMEOUT_S = 300


@dataclass(frozen=True)
class Artifact:
    """A file in a Maven repository, such as `org.postgresql:postgresql:42.7.4`."""

    group: str
    name: str
    version: str
    extension: str = "jar"
    """The file name extension: `jar`, `tar.gz`."""
    classifier: str | None = None
    """The classifier among the files of one version, e.g. `bin`."""

    def __str__(self) -> str:
        suffix = (self.extension, self.classifier) if self.classifier else ()
        return ":".join((self.group, self.name, self.version, *suffix))

    @property
    def file_name(self) -> str:
        """The file's name in the repository and in the cache."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"


def fetch(artifacts: Sequence[Artifact], cache: str | os.PathLike[str]) -> list[Path]:
    """Download files that are missing in the cache, without their dependencies; return the paths of all files."""
    directory = Path(cache).resolve()
    paths = [directory / artifact.file_name for artifact in artifacts]
    missing = [artifact for artifact, path in zip(artifacts, paths, strict=True) if not path.exists()]
    messages = ""
    for _ in range(_ATTEMPTS if missing else 0):
        directory.mkdir(parents=True, exist_ok=True)
        # A new directory for each attempt: partial files of a failed download would break the next attempt.
        with tempfile.TemporaryDirectory(dir=directory, prefix="ivy-") as scratch:
            messages = _retrieve(missing, Path(scratch))
            for artifact in missing:
                download = Path(scratch) / artifact.file_name
                if download.exists():
                    # Atomic: another process never sees a partial file.
                    download.replace(directory / artifact.file_name)
        missing = [artifact for artifact in missing if not (directory / artifact.file_name).exists()]
        if not missing:
            break
    if missing:
        repository = os.environ.get(MIRROR) or "Maven Central"
        raise ArtifactFetchError(
            ", ".join(map(str, missing)), without_credentials(repository), without_credentials(messages)
        )
    return paths


def without_credentials(text: str) -> str:
    """Remove the user and password of a mirror's URL from a text."""
    return re.sub(r"(?<=://)[^/\s]*@", "", text)


def _retrieve(artifacts: Sequence[Artifact], scratch: Path) -> str:
    """Download the files into `scratch` with Ivy; return Ivy's messages."""
    settings, module = scratch / "ivysettings.xml", scratch / "ivy.xml"
    mirror = os.environ.get(MIRROR)
    # Without `root` Ivy uses Maven Central.
    root = f" root={quoteattr(mirror)}" if mirror else ""
    settings.write_text(_SETTINGS.format(cache=quoteattr(str(scratch / "cache")), root=root), encoding="utf-8")
    module.write_text(_MODULE.format(dependencies="\n".join(map(_dependency, artifacts))), encoding="utf-8")
    spec = importlib.util.find_spec("pyspark")
    locations = spec.submodule_search_locations if spec else None
    ivy = [str(jar) for location in locations or () for jar in (Path(location) / "jars").glob("ivy-*.jar")]
    if not ivy:
        return f"PySpark, whose jars contain the resolver, is missing: {INSTALL_SPARK}"
    home = os.environ.get("JAVA_HOME")
    command = [f"{home}/bin/java" if home else "java", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(ivy)]
    command += ["org.apache.ivy.Main", "-settings", str(settings), "-ivy", str(module), "-warn"]
    command += ["-retrieve", str(scratch / "[artifact]-[revision](-[classifier]).[ext]")]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    # Remove Ivy's progress dots.
    return " ".join(re.sub(r"[.]{2,}( [(]\d+kB[)])?", "", result.stdout + result.stderr).split())[-1000:]


def _dependency(artifact: Artifact) -> str:
    classifier = f" m:classifier={quoteattr(artifact.classifier)}" if artifact.classifier else ""
    extension = quoteattr(artifact.extension)
    return (
        f"    <dependency org={quoteattr(artifact.group)} name={quoteattr(artifact.name)} "
        f'rev={quoteattr(artifact.version)} transitive="false">'
        f"<artifact name={quoteattr(artifact.name)} type={extension} ext={extension}{classifier}/></dependency>"
    )
