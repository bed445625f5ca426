"""A real Hive Metastore of a chosen release, on a chosen database, as a child process.

For tests against what users have, and for trying out a migration. It listens on the loopback address only, and ends
with the program that started it (unless it is detached).
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
from hive_views.local_metastore.jvm import LOOPBACK, Launch, find_jars, find_java, java_options
from hive_views.local_metastore.process import MetastoreProcess, is_listening, is_ready

MAX_MEMORY_MB = 768
"""The JVM's largest heap, in megabytes."""

_SECURITY = ("metastore.use.SSL", "metastore.sasl.enabled", "metastore.authentication")
_SCHEMA_TIMEOUT_S = 300
_LOCK_KEEPER_PERIOD_S = 5
_SERVER = "org.apache.hadoop.hive.metastore.HiveMetaStore"


@dataclass(frozen=True)
class Database:
    """A database in which a metastore keeps its rows."""

    kind: str
    """`postgresql` or `mysql` (MariaDB as well)."""
    port: int
    """Its port."""
    name: str
    """The database's name; it must exist."""
    user: str
    """Who connects."""
    password: str = field(repr=False)
    """With which password. It is written to the metastore's site file, which only the owner can read."""
    host: str = LOOPBACK
    """Its host."""


class StandaloneMetastore(MetastoreProcess):
    """A Hive Metastore of Hive 3.1 or 4 that runs as long as this program wants it to; see `MetastoreProcess`.

    Args:
        directory: Where its log, its warehouse and, on Derby, its data are; made if it is not there.
        version: The release, see `distributions.RELEASES`.
        database: Where its rows are; Derby in `directory` by default. Its schema is made where there is none.
        port: The port to listen on, at 127.0.0.1; 0 takes a free one at every start.
        cache: The directory that keeps the releases (180 MB each; 4.1 and later 280 MB).
        java: The `java` command; by default JAVA_HOME's, else the one on the PATH. Java 17 or newer; 4.2.0 needs 21.
        max_memory_mb: The JVM's largest heap, in megabytes.
        properties: More of Hive's configuration, by its names; overrides what is set here.
        options: More options of the JVM.
        detached: Let it go on running when this program ends.
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
        """The release."""
        return self._release.version

    def _prepare(self) -> Launch:
        jars = find_jars(self.directory)
        java = find_java(self.directory, self._java, self._release.oldest_java)
        distribution = unpack(self._release, jars, self._cache)
        return Launch(
            java,
            distribution.class_path,
            partial(_serve, lock_keeper=self._release.lock_keeper),
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
            # By default a failing database call is repeated for 20 seconds; 0 attempts would stop the start.
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
            # Relative to Derby's system home: a path could hold characters that end a JDBC attribute.
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
        kind = "derby" if self._database is None else {"postgresql": "postgres"}.get(self._database.kind, "mysql")
        if self._database is None:
            self._directory.prepare_database()
        found = self._run_schema_tool(launch, kind, "-info")
        if found.returncode:
            # Where there is a schema of another release, making one would leave a mixture of both.
            said = re.search(r"Metastore schema version:\s*(\S+)", found.stdout + found.stderr)
            if said is not None:
                raise EmbeddedMetastoreError(
                    self.directory,
                    f"its database has the schema of Hive {said[1]}, which Hive {self.version} does not take. Upgrade "
                    "it by Hive's own schematool, start a metastore of that release, or name another database",
                )
            done = self._run_schema_tool(launch, kind, "-initSchema")
            if done.returncode:
                tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
                raise EmbeddedMetastoreError(self.directory, f"the schema cannot be made:\n{tail}")
        if self._database is None:
            self._directory.finish_database()

    def _run_schema_tool(self, launch: Launch, kind: str, action: str) -> subprocess.CompletedProcess[str]:
        self._directory.logging.touch()
        command = [launch.java, *java_options(self._directory, launch), self._release.schema_tool]
        try:
            return subprocess.run(
                [*command, "-dbType", kind, action],
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
        # A server that asks for a secured connection answers nobody else; it listens when it is ready.
        secured = any(self._site().get(name, "NONE").upper() not in ("FALSE", "NONE", "NOSASL") for name in _SECURITY)
        return is_listening(port, timeout_s) if secured else is_ready(port, timeout_s)

    def _finish_database(self) -> None:
        """Nothing is left to do: the schema was whole before the server started."""


def _environment(directory: MetastoreDirectory, distribution: Distribution) -> dict[str, str]:
    return {"METASTORE_HOME": str(distribution.home), "METASTORE_CONF_DIR": str(directory.path)}


def _serve(gateway: Any, directory: MetastoreDirectory, port: int, deadline: float, *, lock_keeper: str) -> int:
    """Call Hive's own `main` in a thread of its own, since it returns only when the server ends."""
    jvm = gateway.jvm
    port = port or free_port()
    words = gateway.new_array(jvm.java.lang.String, 2)
    words[0], words[1] = "-p", str(port)
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = words
    # Python stops reading standard output now.
    jvm.java.lang.System.setOut(jvm.java.lang.System.err)
    hadoop = jvm.org.apache.hadoop
    # Hadoop's own idea of who may log in comes from core-site.xml otherwise, which is not ours.
    hadoop.security.UserGroupInformation.setConfiguration(hadoop.hive.metastore.conf.MetastoreConf.newMetastoreConf())
    find = jvm.java.lang.Class.forName
    main = jvm.java.beans.Statement(find(_SERVER), "main", arguments)
    run = jvm.java.beans.EventHandler.create(find("java.lang.Runnable"), main, "execute")
    thread = jvm.java.lang.Thread(run, "metastore")
    thread.start()
    # What `main` throws ends its thread and not the JVM.
    while thread.isAlive() and time.monotonic() < deadline:
        if is_listening(port):
            _keep_locks(gateway, lock_keeper)
            return port
        time.sleep(0.05)
    raise OSError("the server did not start")


def _keep_locks(gateway: Any, lock_keeper: str) -> None:
    """Remove locks of programs that died; Hive leaves that to a service that a server of this form does not start."""
    jvm = gateway.jvm
    keeper = jvm.java.lang.Class.forName(lock_keeper).getDeclaredConstructor(None).newInstance(None)
    keeper.setConf(jvm.org.apache.hadoop.hive.metastore.conf.MetastoreConf.newMetastoreConf())
    jvm.java.util.concurrent.Executors.newSingleThreadScheduledExecutor().scheduleWithFixedDelay(
        keeper, _LOCK_KEEPER_PERIOD_S, _LOCK_KEEPER_PERIOD_S, jvm.java.util.concurrent.TimeUnit.SECONDS
    )


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
