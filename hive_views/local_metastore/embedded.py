"""A Hive Metastore 2.3.10 as a child process, for experiments, tests and programs on one machine.

The server comes from PySpark's jars and stores its data in Derby, in a directory that the caller chooses. It listens on
the loopback address only, and ends when the program that started it ends, unless it is detached.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from hive_views.errors import EmbeddedMetastoreError
from hive_views.local_metastore.embedded_server import serve
from hive_views.local_metastore.jvm import Launch, find_jars, find_java
from hive_views.local_metastore.process import MetastoreProcess

EMBEDDED_VERSION = "2.3.10"
"""The Hive release in PySpark's jars."""

TXN_TIMEOUT_S = 300.0
"""Hive's default of hive.txn.timeout, in seconds."""

MAX_MEMORY_MB = 512
"""Maximum heap size of the JVM, in megabytes."""


class EmbeddedMetastore(MetastoreProcess):
    """A Hive Metastore 2.3.10 in a child process, with its data in a local directory.

    Use it as a context manager, or call `start` and `stop`. It can be started again on the same directory. Attributes
    that need a running metastore raise `EmbeddedMetastoreError` if it is not running.

    Args:
        directory: The directory of its data, log and warehouse; created if missing. Only one metastore at a time can
            use it.
        port: The port to listen on, at 127.0.0.1; 0 chooses a free one at every start.
        java: The `java` command; None takes JAVA_HOME's, else the one on the PATH.
        txn_timeout_s: Seconds after which a lock without a heartbeat is removed (hive.txn.timeout); at least 1.
        max_memory_mb: Maximum heap size of the JVM, in megabytes.
        properties: Additional properties of `hive-site.xml`, which override the defaults.
        detached: Keep it running when this program ends. `hive-views metastore stop` stops it.

    Raises:
        EmbeddedMetastoreError: If an argument is invalid; from `start` also if Java or PySpark is missing, or the
            metastore does not start.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        port: int = 0,
        java: str | None = None,
        txn_timeout_s: float = TXN_TIMEOUT_S,
        max_memory_mb: int = MAX_MEMORY_MB,
        properties: Mapping[str, str] | None = None,
        detached: bool = False,
    ) -> None:
        super().__init__(directory, port=port, detached=detached)
        if txn_timeout_s < 1:
            raise EmbeddedMetastoreError(str(self._directory), f"txn_timeout_s must be at least 1, not {txn_timeout_s}")
        self._java = java
        self._txn_timeout_s = txn_timeout_s
        self._max_memory_mb = max_memory_mb
        self._properties = dict(properties or {})

    def _prepare(self) -> Launch:
        jars = find_jars(self.directory)
        return Launch(
            java=find_java(self.directory, self._java),
            class_path=(f"{jars}{os.sep}*",),
            serve=serve,
            max_memory_mb=self._max_memory_mb,
        )

    def _site(self) -> dict[str, str]:
        milliseconds = round(self._txn_timeout_s * 1000)
        reaper = max(250, min(milliseconds // 4, 60_000))
        return {
            # Relative to Derby's system home: a path may contain characters that end a JDBC attribute.
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self._directory.database_name};create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.connectionPoolingType": "HikariCP",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": self.warehouse,
            # By default a failing database call is retried for 20 seconds; with 0 attempts the server does not start.
            "hive.hmshandler.retry.attempts": "1",
            "hive.hmshandler.retry.interval": "50ms",
            "hive.txn.timeout": f"{milliseconds}ms",
            "hive.timedout.txn.reaper.start": f"{reaper}ms",
            "hive.timedout.txn.reaper.interval": f"{reaper}ms",
            **self._properties,
        }
