"""Files from a Maven repository, fetched once and kept.

They come through Ivy, the resolver in PySpark's jars, so no Maven is needed; from Maven Central, or from the mirror
that Spark's own environment variable names.
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

from hive_views.errors import ArtifactFetchError

MIRROR = "DEFAULT_ARTIFACT_REPOSITORY"
"""Spark's own environment variable for a mirror in place of Maven Central."""

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
"""One broken download is no reason to fail."""

_TIMEOUT_S = 300


@dataclass(frozen=True)
class Artifact:
    """One file of a Maven repository."""

    group: str
    """E.g. `org.postgresql`."""
    name: str
    """E.g. `postgresql`."""
    version: str
    """E.g. `42.7.4`."""
    extension: str = "jar"
    """The end of the file's name: `jar`, `tar.gz`."""
    classifier: str | None = None
    """What tells files of one version apart: `bin`."""

    def __str__(self) -> str:
        more = (self.extension, self.classifier) if self.classifier else ()
        return ":".join((self.group, self.name, self.version, *more))

    @property
    def file_name(self) -> str:
        """The file's name in the repository, and where it is kept."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"


def fetch(artifacts: Sequence[Artifact], cache: str | os.PathLike[str]) -> list[Path]:
    """Fetch files, unless they are there; what they depend on is not fetched."""
    directory = Path(cache).resolve()
    kept = [directory / artifact.file_name for artifact in artifacts]
    missing = [artifact for artifact, path in zip(artifacts, kept, strict=True) if not path.exists()]
    said = ""
    for _ in range(_ATTEMPTS if missing else 0):
        directory.mkdir(parents=True, exist_ok=True)
        # Each time in a new directory: what a broken download leaves behind would break the next one, too.
        with tempfile.TemporaryDirectory(dir=directory, prefix="ivy-") as scratch:
            said = _retrieve(missing, Path(scratch))
            for artifact in missing:
                found = Path(scratch) / artifact.file_name
                if found.exists():
                    # In one step: nobody ever sees half a file under its name.
                    found.replace(directory / artifact.file_name)
        missing = [artifact for artifact in missing if not (directory / artifact.file_name).exists()]
        if not missing:
            break
    if missing:
        repository = os.environ.get(MIRROR) or "Maven Central"
        raise ArtifactFetchError(
            ", ".join(map(str, missing)), without_credentials(repository), without_credentials(said)
        )
    return kept


def without_credentials(text: str) -> str:
    """A text without the user and password that a mirror's URL may hold."""
    return re.sub(r"(?<=://)[^/\s]*@", "", text)


def _retrieve(artifacts: Sequence[Artifact], scratch: Path) -> str:
    """Let Ivy put the files into `scratch`; what it said."""
    settings, module = scratch / "ivysettings.xml", scratch / "ivy.xml"
    mirror = os.environ.get(MIRROR)
    # Without a root, Ivy's own default holds, which is Maven Central.
    root = f" root={quoteattr(mirror)}" if mirror else ""
    settings.write_text(_SETTINGS.format(cache=quoteattr(str(scratch / "cache")), root=root), encoding="utf-8")
    module.write_text(_MODULE.format(dependencies="\n".join(map(_dependency, artifacts))), encoding="utf-8")
    spec = importlib.util.find_spec("pyspark")
    locations = spec.submodule_search_locations if spec else None
    ivy = [str(jar) for location in locations or () for jar in (Path(location) / "jars").glob("ivy-*.jar")]
    if not ivy:
        return "PySpark, whose jars hold the resolver, is missing: pip install 'hive_views[spark]'"
    home = os.environ.get("JAVA_HOME")
    command = [f"{home}/bin/java" if home else "java", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(ivy)]
    command += ["org.apache.ivy.Main", "-settings", str(settings), "-ivy", str(module), "-warn"]
    command += ["-retrieve", str(scratch / "[artifact]-[revision](-[classifier]).[ext]")]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    # Without its dots, one a block.
    return " ".join(re.sub(r"[.]{2,}( [(]\d+kB[)])?", "", done.stdout + done.stderr).split())[-1000:]


def _dependency(artifact: Artifact) -> str:
    classifier = f" m:classifier={quoteattr(artifact.classifier)}" if artifact.classifier else ""
    extension = quoteattr(artifact.extension)
    return (
        f"    <dependency org={quoteattr(artifact.group)} name={quoteattr(artifact.name)} "
        f'rev={quoteattr(artifact.version)} transitive="false">'
        f"<artifact name={quoteattr(artifact.name)} type={extension} ext={extension}{classifier}/></dependency>"
    )
