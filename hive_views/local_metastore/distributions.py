"""Releases of the standalone metastore: where to download them, and what they need to run.

Hive publishes the standalone metastore in Maven repositories. The part of Hadoop that is not in its archive is taken
from PySpark's jars, to avoid a second download. Hive 4.1 and later are not published in this form: their server is in
`hive-exec`, and its other dependencies are in 4.0's archive (decision 0018).
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hive_views.errors import EmbeddedMetastoreError
from hive_views.local_metastore.hive_schemas import write_schemas
from hive_views.local_metastore.jvm import OLDEST_JAVA
from hive_views.local_metastore.maven import Artifact, fetch

_HADOOP_JARS = (
    "hadoop-client-api",
    "hadoop-client-runtime",
    "commons-cli",
    "commons-codec",
    "commons-io",
    "gson",
    "httpclient",
    "httpcore",
    "javax.servlet-api",
    "snappy-java",
)
"""The run-time dependencies of Hadoop's client. A missing jar shows only as a broken connection during a call."""

_GATEWAY_JARS = ("py4j",)

_COLLECTIONS = Artifact("commons-collections", "commons-collections", "3.2.2")
_LOGGING = Artifact("commons-logging", "commons-logging", "1.2")
_SLF4J = Artifact("org.slf4j", "slf4j-api", "1.7.36")
_HDFS = Artifact("org.apache.hadoop", "hadoop-hdfs", "3.4.2")
_POSTGRESQL = Artifact("org.postgresql", "postgresql", "42.7.4")
_MARIADB = Artifact("org.mariadb.jdbc", "mariadb-java-client", "2.7.12")
_DATANUCLEUS = tuple(
    Artifact("org.datanucleus", f"datanucleus-{name}", version)
    for name, version in (("api-jdo", "6.0.3"), ("core", "6.0.10"), ("rdbms", "6.0.10"))
)

_ARCHIVE_4_0 = Artifact("org.apache.hive", "hive-standalone-metastore-server", "4.0.1", "tar.gz", "bin")
_IN_HIVE_EXEC = ("hive-", "datanucleus-", "libthrift-", "libfb303-", "orc-", "protobuf-java-")
"""Jars of 4.0's archive that are omitted because `hive-exec`, or another downloaded jar, has another version."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release of Hive's standalone metastore."""

    version: str
    """E.g. `4.0.1`."""
    archive: Artifact
    """The archive that Hive publishes."""
    dependencies: tuple[Artifact, ...]
    """Jars that are neither in the archive nor in PySpark."""
    server: Artifact | None = None
    """The jar of the server, if the archive belongs to an earlier release."""
    schema: str = ""
    """The version of its schema, if the archive's is another one."""
    oldest_java: int = OLDEST_JAVA
    """The oldest Java version that runs it."""
    schema_tool: str = "org.apache.hadoop.hive.metastore.tools.schematool.MetastoreSchemaTool"
    """The class that creates and upgrades the database schema."""
    lock_cleaner: str = "org.apache.hadoop.hive.metastore.txn.service.AcidHouseKeeperService"
    """The class that removes expired locks."""
    mysql_driver: Artifact = _MARIADB
    """The JDBC driver for MariaDB and MySQL."""
    mysql_driver_class: str = "org.mariadb.jdbc.Driver"
    """The class of that driver."""
    mysql_scheme: str = "mariadb"
    """The scheme after `jdbc:` in its URLs."""


RELEASES = {
    release.version: release
    for release in (
        Release(
            version="3.1.3",
            archive=Artifact("org.apache.hive", "hive-standalone-metastore", "3.1.3", "tar.gz", "bin"),
            dependencies=(_COLLECTIONS, _LOGGING, _SLF4J, _HDFS),
            schema_tool="org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool",
            lock_cleaner="org.apache.hadoop.hive.metastore.txn.AcidHouseKeeperService",
            # With MariaDB's driver, listings and locks of this release fail.
            mysql_driver=Artifact("com.mysql", "mysql-connector-j", "8.4.0"),
            mysql_driver_class="com.mysql.cj.jdbc.Driver",
            mysql_scheme="mysql",
        ),
        Release(version="4.0.1", archive=_ARCHIVE_4_0, dependencies=(_COLLECTIONS, _SLF4J, _HDFS)),
        *(
            Release(
                version=version,
                archive=_ARCHIVE_4_0,
                dependencies=(*_DATANUCLEUS, _COLLECTIONS, _SLF4J, _HDFS),
                server=Artifact("org.apache.hive", "hive-exec", version),
                schema=schema,
                oldest_java=java,
            )
            for version, schema, java in (
                ("4.1.0", "4.1.0", OLDEST_JAVA),
                ("4.2.0", "4.2.0", 21),
                ("4.2.1", "4.2.0", 21),
            )
        ),
    )
}
"""The supported releases, by version."""

DEFAULT = "4.0.1"
"""The default release: the newest that Hive publishes as a standalone server."""


@dataclass(frozen=True)
class Distribution:
    """An unpacked release."""

    home: Path
    """Its directory, with `lib` and `scripts`."""
    class_path: tuple[str, ...]
    """All jars of the server and the drivers."""


def find_release(version: str, directory: str) -> Release:
    """Return the release for a version; raise an error if it is not supported."""
    if version not in RELEASES:
        raise EmbeddedMetastoreError(
            directory,
            f"Hive {version} is not supported. Choose one of {', '.join(RELEASES)}, or the embedded metastore (2.3.10)",
        )
    return RELEASES[version]


def unpack(release: Release, jars: Path, cache: str | os.PathLike[str]) -> Distribution:
    """Download a release and unpack it, unless it is in the cache."""
    cache_directory = Path(cache).resolve()
    home = cache_directory / f"hive-metastore-{release.version}"
    server = (release.server,) if release.server is not None else ()
    extra = fetch((*server, *release.dependencies, _POSTGRESQL, release.mysql_driver), cache_directory)
    if not home.exists():
        (archive,) = fetch((release.archive,), cache_directory)
        with tempfile.TemporaryDirectory(dir=cache_directory, prefix="unpack-") as scratch:
            with tarfile.open(archive) as tar:
                if hasattr(tarfile, "data_filter"):
                    tar.extractall(scratch, filter="data")
                else:
                    # Debian 12's Python (3.11.2) has no filters. The archive is trusted: its jars are run.
                    tar.extractall(scratch)
            (top,) = Path(scratch).iterdir()
            if release.server is None:
                _fix_derby_schema(top)
            else:
                _convert_archive(top, release)
            try:
                # Atomic: another process may unpack the same release.
                top.rename(home)
            except OSError:
                if not home.exists():
                    raise
                shutil.rmtree(top)
    own = [str(jar) for jar in sorted((home / "lib").glob("*.jar")) if not jar.name.startswith(("mysql", "postgresql"))]
    shared = [str(jar) for name in (*_HADOOP_JARS, *_GATEWAY_JARS) for jar in jars.glob(f"{name}-[0-9]*.jar")]
    # The server's jar comes first: it contains classes of other projects in the versions that it needs.
    server_jars, dependencies = extra[: len(server)], extra[len(server) :]
    return Distribution(home, (*map(str, server_jars), *own, *map(str, dependencies), *shared))


def _convert_archive(home: Path, release: Release) -> None:
    """Convert 4.0's archive for a later release: remove the jars that the release replaces, and add its schemas."""
    for jar in (home / "lib").glob("*.jar"):
        if jar.name.startswith(_IN_HIVE_EXEC):
            jar.unlink()
    write_schemas(home / "scripts" / "metastore" / "upgrade", release.schema)


def _fix_derby_schema(home: Path) -> None:
    """Replace CLOB parameters in Hive 4.0's Derby schema: every compare-and-swap on them fails (`ERROR 42818`)."""
    for script in (home / "scripts" / "metastore" / "upgrade" / "derby").glob("hive-schema-*.derby.sql"):
        text = script.read_text(encoding="utf-8")
        fixed = text.replace('"PARAM_VALUE" CLOB', '"PARAM_VALUE" VARCHAR(32672)')
        if fixed != text:
            script.write_text(fixed, encoding="utf-8")
