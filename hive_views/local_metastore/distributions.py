"""Hive's own releases of the metastore: where each comes from, and what it needs to run.

Hive publishes the standalone metastore on Maven's repositories; the part of Hadoop that it needs and does not carry is
taken from PySpark's jars, so that no second copy of it is fetched. Hive 4.1 and later are not published in this form:
there the whole server is in `hive-exec`, and what it needs beside that is in 4.0's archive (decision 0018).
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

_HADOOP = (
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
"""What Hadoop's client needs at run time; a jar that is missing shows at a call only, as a connection that is cut."""

_GATEWAY = ("py4j",)

_COLLECTIONS = Artifact("commons-collections", "commons-collections", "3.2.2")
_LOGGING = Artifact("commons-logging", "commons-logging", "1.2")
_SLF4J = Artifact("org.slf4j", "slf4j-api", "1.7.36")
_HDFS = Artifact("org.apache.hadoop", "hadoop-hdfs", "3.4.2")
_POSTGRESQL = Artifact("org.postgresql", "postgresql", "42.7.4")
_MARIADB = Artifact("org.mariadb.jdbc", "mariadb-java-client", "2.7.12")
_MYSQL = Artifact("com.mysql", "mysql-connector-j", "8.4.0")
_DATANUCLEUS = tuple(
    Artifact("org.datanucleus", f"datanucleus-{name}", version)
    for name, version in (("api-jdo", "6.0.3"), ("core", "6.0.10"), ("rdbms", "6.0.10"))
)

_SCHEMA_TOOL = "org.apache.hadoop.hive.metastore.tools.schematool.MetastoreSchemaTool"
_LOCK_KEEPER = "org.apache.hadoop.hive.metastore.txn.service.AcidHouseKeeperService"
_ARCHIVE_4_0 = Artifact("org.apache.hive", "hive-standalone-metastore-server", "4.0.1", "tar.gz", "bin")
_IN_HIVE_EXEC = ("hive-", "datanucleus-", "libthrift-", "libfb303-", "orc-", "protobuf-java-")
"""Jars of 4.0's archive of which a later `hive-exec`, or what is fetched with it, has another release."""


@dataclass(frozen=True)
class Release:
    """One release of Hive's standalone metastore."""

    version: str
    """E.g. `4.0.1`."""
    archive: Artifact
    """The server, as Hive publishes it."""
    schema_tool: str
    """The class that makes and upgrades the database's schema."""
    lock_keeper: str
    """The class that removes locks of programs that died."""
    mysql_driver: Artifact
    """The JDBC driver that works with it on MariaDB and MySQL."""
    mysql_driver_class: str
    """Its class."""
    mysql_scheme: str
    """What follows `jdbc:` in its URLs."""
    needs: tuple[Artifact, ...]
    """Jars that neither its archive nor PySpark has."""
    server: Artifact | None = None
    """The jar with the whole server, where the archive is that of an earlier release."""
    oldest_java: int = OLDEST_JAVA
    """The oldest Java that runs it."""


RELEASES = {
    release.version: release
    for release in (
        Release(
            "3.1.3",
            Artifact("org.apache.hive", "hive-standalone-metastore", "3.1.3", "tar.gz", "bin"),
            "org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool",
            "org.apache.hadoop.hive.metastore.txn.AcidHouseKeeperService",
            # MariaDB's own driver breaks listings and locks of this release.
            _MYSQL,
            "com.mysql.cj.jdbc.Driver",
            "mysql",
            (_COLLECTIONS, _LOGGING, _SLF4J, _HDFS),
        ),
        Release(
            "4.0.1",
            _ARCHIVE_4_0,
            _SCHEMA_TOOL,
            _LOCK_KEEPER,
            _MARIADB,
            "org.mariadb.jdbc.Driver",
            "mariadb",
            (_COLLECTIONS, _SLF4J, _HDFS),
        ),
        *(
            Release(
                version,
                _ARCHIVE_4_0,
                _SCHEMA_TOOL,
                _LOCK_KEEPER,
                _MARIADB,
                "org.mariadb.jdbc.Driver",
                "mariadb",
                (*_DATANUCLEUS, _COLLECTIONS, _SLF4J, _HDFS),
                server=Artifact("org.apache.hive", "hive-exec", version),
                oldest_java=java,
            )
            for version, java in (("4.1.0", 17), ("4.2.0", 21))
        ),
    )
}
"""The releases that can be started, by version."""

DEFAULT = "4.0.1"
"""The one that is started where none is named: the newest that Hive publishes as a server, with its schema."""


@dataclass(frozen=True)
class Distribution:
    """A release, unpacked."""

    release: Release
    """Which."""
    home: Path
    """Its folder: `lib`, `scripts`."""
    class_path: tuple[str, ...]
    """All jars of the server and the drivers."""


def find_release(version: str, directory: str) -> Release:
    """The release of a version."""
    if version not in RELEASES:
        known = ", ".join(RELEASES)
        raise EmbeddedMetastoreError(
            directory, f"Hive {version} is not among the releases that can be started ({known}; 2.3.10 is the embedded)"
        )
    return RELEASES[version]


def unpack(release: Release, jars: Path, cache: str | os.PathLike[str]) -> Distribution:
    """Fetch a release and unpack it, unless that is done."""
    place = Path(cache).resolve()
    home = place / f"hive-metastore-{release.version}"
    server = (release.server,) if release.server is not None else ()
    extra = fetch((*server, *release.needs, _POSTGRESQL, release.mysql_driver), place)
    if not home.exists():
        (archive,) = fetch((release.archive,), place)
        with tempfile.TemporaryDirectory(dir=place, prefix="unpack-") as scratch:
            with tarfile.open(archive) as packed:
                if hasattr(tarfile, "data_filter"):
                    packed.extractall(scratch, filter="data")
                else:
                    # Debian 12's Python (3.11.2) has no filters. The jars in it are run, so it is trusted that far.
                    packed.extractall(scratch)
            (top,) = Path(scratch).iterdir()
            if release.server is None:
                _mend_derby_schema(top)
            else:
                _make_newer(top, release)
            try:
                # In one step: another process may be doing the same.
                top.rename(home)
            except OSError:
                if not home.exists():
                    raise
                shutil.rmtree(top)
    own = [str(jar) for jar in sorted((home / "lib").glob("*.jar")) if not jar.name.startswith(("mysql", "postgresql"))]
    shared = [str(jar) for name in (*_HADOOP, *_GATEWAY) for jar in jars.glob(f"{name}-[0-9]*.jar")]
    # The jar with the server comes first: parts of other projects are in it, as it needs them.
    first, others = extra[: len(server)], extra[len(server) :]
    return Distribution(release, home, (*map(str, first), *own, *map(str, others), *shared))


def _make_newer(home: Path, release: Release) -> None:
    """Make 4.0's archive that of a later release: without what that one brings, and with its schemas."""
    for jar in (home / "lib").glob("*.jar"):
        if jar.name.startswith(_IN_HIVE_EXEC):
            jar.unlink()
    write_schemas(home / "scripts" / "metastore" / "upgrade", release.version)


def _mend_derby_schema(home: Path) -> None:
    """Hive 4.0's schema for Derby makes parameters CLOBs, on which every compare-and-swap fails (`ERROR 42818`)."""
    for script in (home / "scripts" / "metastore" / "upgrade" / "derby").glob("hive-schema-*.derby.sql"):
        text = script.read_text(encoding="utf-8")
        mended = text.replace('"PARAM_VALUE" CLOB', '"PARAM_VALUE" VARCHAR(32672)')
        if mended != text:
            script.write_text(mended, encoding="utf-8")
