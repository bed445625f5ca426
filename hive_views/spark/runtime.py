"""Spark sessions on a metastore: one with Iceberg's runtime, one without.

The runtime comes by its Maven coordinates through the resolver in PySpark's jars (Ivy), so no Maven is needed. It is
fetched before Spark starts, from Maven Central alone, and kept: Spark's own `spark.jars.packages` looks into `~/.m2`
first, which can hold a pom without its jar, and then looks no further.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from hive_views.errors import HiveViewsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ICEBERG_VERSION = "1.11.0"
"""The release of Iceberg's runtime; it has one for each of the Spark lines below."""

SPARK_LINES = ("4.0", "4.1")
"""The lines of Spark that this release has a runtime for, all for Scala 2.13."""

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

_JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir={cache}/>
  <resolvers><ibiblio name="central" m2compatible="true"{root}/></resolvers>
</ivysettings>
"""

MIRROR = "DEFAULT_ARTIFACT_REPOSITORY"
"""Spark's own environment variable for a mirror in place of Maven Central."""

_ATTEMPTS = 3
"""One broken download is no reason to fail."""

_FETCH_TIMEOUT_S = 300


class UnsupportedSparkError(HiveViewsError):
    """The installed Spark has no Iceberg runtime; `spark_version` is what is installed."""

    def __init__(self, spark_version: str) -> None:
        super().__init__(
            f"Iceberg {ICEBERG_VERSION} has no runtime for Spark {spark_version}; install pyspark "
            f"{' or '.join(SPARK_LINES)}: pip install 'hive_views[spark]'"
        )
        self.spark_version = spark_version


class RuntimeFetchError(HiveViewsError):
    """Iceberg's runtime could not be fetched; `coordinates` and `repository` say what from where."""

    def __init__(self, coordinates: str, repository: str, reason: str) -> None:
        super().__init__(
            f"Cannot fetch {coordinates} from {repository} (the environment variable {MIRROR} names a mirror): {reason}"
        )
        self.coordinates = coordinates
        self.repository = repository
        self.reason = reason


def iceberg_coordinates() -> str:
    """Maven coordinates of Iceberg's runtime for the installed Spark.

    Returns:
        `group:artifact:version`.

    Raises:
        UnsupportedSparkError: If the installed Spark has none.
    """
    installed = version("pyspark")
    line = ".".join(re.split(r"[.]", installed)[:2])
    if line not in SPARK_LINES:
        raise UnsupportedSparkError(installed)
    return f"org.apache.iceberg:iceberg-spark-runtime-{line}_2.13:{ICEBERG_VERSION}"


def fetch_runtime(cache: str | Path = ".cache") -> Path:
    """Fetch Iceberg's runtime for the installed Spark, unless it is there.

    Args:
        cache: The directory that keeps it; made if it is not there.

    Returns:
        The jar.

    Raises:
        UnsupportedSparkError: If there is none for the installed Spark.
        RuntimeFetchError: If it cannot be fetched.
    """
    coordinates = iceberg_coordinates()
    _, artifact, release = coordinates.split(":")
    kept = Path(cache).resolve() / f"{artifact}-{release}.jar"
    if zipfile.is_zipfile(kept):
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    said = ""
    for _ in range(_ATTEMPTS):
        # Each time in a new directory: what a broken download leaves behind would break the next one, too.
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix="ivy-") as scratch:
            said = _resolve(coordinates, Path(scratch))
            found = Path(scratch) / kept.name
            if zipfile.is_zipfile(found):
                found.replace(kept)
                return kept
    raise RuntimeFetchError(coordinates, _repository(), said)


def _resolve(coordinates: str, scratch: Path) -> str:
    """Let Ivy put the jar into `scratch`; what it said."""
    settings = scratch / "ivysettings.xml"
    mirror = os.environ.get(MIRROR)
    # Without a root, Ivy's own default holds, which is Maven Central.
    root = f" root={quoteattr(mirror)}" if mirror else ""
    settings.write_text(_IVY_SETTINGS.format(cache=quoteattr(str(scratch / "cache")), root=root), encoding="utf-8")
    spec = importlib.util.find_spec("pyspark")
    locations = spec.submodule_search_locations if spec else None
    ivy = [str(jar) for location in locations or () for jar in (Path(location) / "jars").glob("ivy-*.jar")]
    home = os.environ.get("JAVA_HOME")
    command = [f"{home}/bin/java" if home else "java", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", os.pathsep.join(ivy), "org.apache.ivy.Main", "-settings", str(settings), "-warn"]
    command += [
        "-dependency",
        *coordinates.split(":"),
        "-confs",
        "default",
        "-retrieve",
        str(scratch / "[artifact]-[revision].[ext]"),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    # Without its dots, one a block.
    return " ".join(re.sub(r"[.]{2,}( [(]\d+kB[)])?", "", done.stdout + done.stderr).split())[-1000:]


def _repository() -> str:
    return os.environ.get(MIRROR) or "Maven Central"


def iceberg_session(
    uri: str,
    warehouse: str,
    *,
    catalog: str = "prod",
    cache: str | Path = ".cache",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session whose Iceberg catalog and session catalog are both on one metastore.

    A process can have one such session only: a second call gives the first one.

    Args:
        uri: The metastore, `thrift://host:port`.
        warehouse: Where databases without a location keep their tables; empty where that is not known.
        catalog: The Iceberg catalog's name in Spark.
        cache: A directory that keeps Iceberg's runtime (47 MB) for the next time.
        conf: More of Spark's settings; they go before ours.

    Returns:
        The session, quiet and on loopback.

    Raises:
        UnsupportedSparkError: If there is no runtime for the installed Spark.
        RuntimeFetchError: If it is not in `cache` and cannot be fetched.
    """
    settings = {"spark.jars": str(fetch_runtime(cache)), **catalog_settings(uri, warehouse, catalog), **(conf or {})}
    return _session(uri, warehouse, settings)


def catalog_settings(uri: str, warehouse: str, catalog: str) -> dict[str, str]:
    """Spark's settings for an Iceberg catalog on a metastore.

    Args:
        uri: The metastore.
        warehouse: Its warehouse; empty where that is not known.
        catalog: The catalog's name in Spark.
    """
    prefix = f"spark.sql.catalog.{catalog}"
    return {
        "spark.sql.extensions": EXTENSIONS,
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hive",
        f"{prefix}.uri": uri,
        # Iceberg's catalog refuses an empty one ("path must not be null or empty") as soon as it is asked for a view.
        **({f"{prefix}.warehouse": warehouse} if warehouse else {}),
        f"{prefix}.cache-enabled": "false",
    }


def plain_session(uri: str, warehouse: str, *, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session with Hive support and no Iceberg on its class path: what a team without Iceberg has.

    Args:
        uri: The metastore, `thrift://host:port`.
        warehouse: Where databases without a location keep their tables; empty where that is not known.
        conf: More of Spark's settings; they go before ours.

    Returns:
        The session, quiet and on loopback.
    """
    return _session(uri, warehouse, conf or {})


def _session(uri: str, warehouse: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = {
        "spark.hadoop.hive.metastore.uris": uri,
        **({"spark.sql.warehouse.dir": warehouse} if warehouse else {}),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JVM_OPTIONS,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **conf,
    }
    builder = SparkSession.builder.master("local[2]").appName("hive_views").enableHiveSupport()
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
