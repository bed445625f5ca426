"""A Hive Metastore of a chosen release on a chosen database, as a child process.

For tests against the servers that users have, and for rehearsals of a migration. It listens on the loopback address
only, and ends when the program that started it ends, unless it is detached.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hive_views.errors import EmbeddedMetastoreError
from hive_views.local_metastore.directory import MetastoreDirectory
from hive_views.local_metastore.distributions import DEFAULT, Distribution, find_release, unpack
from hive_views.local_metastore.gateway import LOOPBACK
from hive_views.local_metastore.hive_schemas import DatabaseType
from hive_views.local_metastore.jvm import Launch, find_jars, find_java, java_options
from hive_views.local_metastore.process import MetastoreProcess, is_listening, is_ready

MAX_MEMORY_MB = 768
"""Maximum heap size of the JVM, in megabytes."""

_SECURITY = ("metastore.use.SSL", "metastore.sasl.enabled", "metastore.authentication")
_SCHEMA_TIMEOUT_S = 300
_LOCK_CLEANER_PERIOD_S = 5
_SERVER = "org.apache.hadoop.hive.metastore.HiveMetaStore"


@dataclass(frozen=True, kw_only=True)
class Database:
    """The database of a metastore."""

    kind: str
    """`postgresql` or `mysql` (also for MariaDB)."""
    port: int
    """The database server's port."""
    name: str
    """The database's name; it must exist."""
    user: str
    """The user that the metastore connects as."""
    password: str = field(repr=False)
    """The user's password. It is written to the metastore's site file, which only the owner can read."""
    host: str = LOOPBACK
    """The database server's host."""


class StandaloneMetastore(MetastoreProcess):
    """A Hive Metastore of Hive 3.1 or 4 in a child process; see `MetastoreProcess`.

    Args:
        directory: The directory of its log, warehouse and (with Derby) data; created if missing.
        version: The release; see `distributions.RELEASES`.
        database: Its database; None means Derby in `directory`. The schema is created if there is none.
        port: The port to listen on, at 127.0.0.1; 0 chooses a free one at every start.
        cache: The directory of downloaded releases (180 MB each; 4.1 and later 280 MB).
        java: The `java` command; None takes JAVA_HOME's, else the one on the PATH.
        max_memory_mb: Maximum heap size of the JVM, in megabytes.
        properties: Additional configuration properties, which override the defaults.
        options: Additional options of the JVM.
        detached: Keep it running when this program ends.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        version: str = DEFAULT,
        database: Database | None = None,
        port: int = 0,
        cache: str | os.PathLike[str] = ".cache",
        java: str | None = None,
        max_memory_mb: int = MAX_MEMORY_MB,
        properties: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
        detached: bool = False,
    ) -> None:
        super().__init__(directory, port=port, detached=detached)
        self._release = find_release(version, self.directory)
        self._database = database
        self._cache = cache
        self._java = java
        self._max_memory_mb = max_memory_mb
        self._properties = dict(properties or {})
        self._options = options

    @property
    def version(self) -> str:
        """The Hive release, e.g. `4.0.1`."""
        return self._release.version

    def _prepare(self) -> Launch:
        jars = find_jars(self.directory)
        java = find_java(self.directory, self._java, self._release.oldest_java)
        distribution = unpack(self._release, jars, self._cache)
        return Launch(
            java=java,
            class_path=(self.directory, *distribution.class_path),
            serve=partial(_serve, lock_cleaner=self._release.lock_cleaner),
            options=self._options,
            environment=_environment(self._directory, distribution),
            max_memory_mb=self._max_memory_mb,
        )

    def _site(self) -> Mapping[str, str]:
        return {
            **self._connection(),
            "datanucleus.connectionPoolingType": "HikariCP",
            "datanucleus.schema.autoCreateAll": "false",
            "metastore.warehouse.dir": self.warehouse,
            "metastore.thrift.bind.host": LOOPBACK,
            "metastore.server.min.threads": "8",
            # By default a failing database call is retried for 20 seconds; with 0 attempts the server does not start.
            "hive.hmshandler.retry.attempts": "1",
            "hive.hmshandler.retry.interval": "50ms",
            "metastore.metastore.event.db.notification.api.auth": "false",
            "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
            "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
            **self._properties,
        }

    def _connection(self) -> dict[str, str]:
        database, release = self._database, self._release
        if database is None:
            # Relative to Derby's system home: a path may contain characters that end a JDBC attribute.
            url = f"jdbc:derby:;databaseName={self._directory.database_name};create=true"
            driver, user, password = "org.apache.derby.jdbc.EmbeddedDriver", "APP", "mine"
        else:
            scheme = {"postgresql": "postgresql", "mysql": release.mysql_scheme}[database.kind]
            url = f"jdbc:{scheme}://{database.host}:{database.port}/{database.name}"
            driver = {"postgresql": "org.postgresql.Driver", "mysql": release.mysql_driver_class}[database.kind]
            user, password = database.user, database.password
        return {
            "javax.jdo.option.ConnectionURL": url,
            "javax.jdo.option.ConnectionDriverName": driver,
            "javax.jdo.option.ConnectionUserName": user,
            "javax.jdo.option.ConnectionPassword": password,
        }

    def _prepare_database(self, launch: Launch) -> None:
        kind = DatabaseType.DERBY
        if self._database is not None:
            kind = {"postgresql": DatabaseType.POSTGRES}.get(self._database.kind, DatabaseType.MYSQL)
        if self._database is None:
            self._directory.prepare_database()
        info = self._run_schema_tool(launch, kind, "-info")
        if info.returncode:
            # Creating a schema in a database with the schema of another release would mix the two.
            schema_version = re.search(r"Metastore schema version:\s*(\S+)", info.stdout + info.stderr)
            if schema_version is not None:
                raise EmbeddedMetastoreError(
                    self.directory,
                    f"its database has the schema of Hive {schema_version[1]}, which Hive {self.version} does not "
                    "accept. Upgrade it with Hive's schematool, start a metastore of that release, or name another "
                    "database",
                )
            creation = self._run_schema_tool(launch, kind, "-initSchema")
            if creation.returncode:
                tail = "\n".join((creation.stdout + creation.stderr).splitlines()[-15:])
                raise EmbeddedMetastoreError(self.directory, f"the schema cannot be created:\n{tail}")
        if self._database is None:
            self._directory.finish_database()

    def _run_schema_tool(self, launch: Launch, kind: DatabaseType, action: str) -> subprocess.CompletedProcess[str]:
        self._directory.logging.touch()
        command = [launch.java, *java_options(self._directory, launch), self._release.schema_tool]
        try:
            return subprocess.run(
                [*command, "-dbType", kind.value, action],
                env={**os.environ, **launch.environment},
                cwd=self._directory.path,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SCHEMA_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EmbeddedMetastoreError(self.directory, f"Hive's schema tool cannot be run: {error}") from error

    def _is_ready(self, port: int, timeout_s: float) -> bool:
        # A server with TLS or authentication does not answer a plain request; it counts as ready when it listens.
        is_secured = any(
            self._site().get(name, "NONE").upper() not in ("FALSE", "NONE", "NOSASL") for name in _SECURITY
        )
        return is_listening(port, timeout_s) if is_secured else is_ready(port, timeout_s)


def _environment(directory: MetastoreDirectory, distribution: Distribution) -> dict[str, str]:
    return {"METASTORE_HOME": str(distribution.home), "METASTORE_CONF_DIR": str(directory.path)}


def _serve(gateway: Any, directory: MetastoreDirectory, port: int, deadline: float, *, lock_cleaner: str) -> int:
    """Call Hive's `main` in a thread, since it returns only when the server ends; return the server's port."""
    jvm = gateway.jvm
    port = port or free_port()
    options = gateway.new_array(jvm.java.lang.String, 2)
    options[0], options[1] = "-p", str(port)
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = options
    # Python no longer reads standard output.
    jvm.java.lang.System.setOut(jvm.java.lang.System.err)
    hadoop = jvm.org.apache.hadoop
    # Otherwise Hadoop reads its settings of authentication and proxy users from a core-site.xml on the class path.
    hadoop.conf.Configuration.addDefaultResource("hive-site.xml")
    hadoop.security.UserGroupInformation.setConfiguration(hadoop.hive.metastore.conf.MetastoreConf.newMetastoreConf())
    find = jvm.java.lang.Class.forName
    main = jvm.java.beans.Statement(find(_SERVER), "main", arguments)
    run = jvm.java.beans.EventHandler.create(find("java.lang.Runnable"), main, "execute")
    thread = jvm.java.lang.Thread(run, "metastore")
    thread.start()
    # An exception of `main` ends its thread, not the JVM.
    while thread.isAlive() and time.monotonic() < deadline:
        if is_listening(port):
            _start_lock_cleaner(gateway, lock_cleaner)
            return port
        time.sleep(0.05)
    raise OSError("the server did not start")


def _start_lock_cleaner(gateway: Any, lock_cleaner: str) -> None:
    """Start the service that removes expired locks periodically, which a standalone server does not start itself."""
    jvm = gateway.jvm
    cleaner = jvm.java.lang.Class.forName(lock_cleaner).getDeclaredConstructor(None).newInstance(None)
    cleaner.setConf(jvm.org.apache.hadoop.hive.metastore.conf.MetastoreConf.newMetastoreConf())
    jvm.java.util.concurrent.Executors.newSingleThreadScheduledExecutor().scheduleWithFixedDelay(
        cleaner, _LOCK_CLEANER_PERIOD_S, _LOCK_CLEANER_PERIOD_S, jvm.java.util.concurrent.TimeUnit.SECONDS
    )


def free_port() -> int:
    """Return a port of 127.0.0.1 on which no server listens at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
