"""A real HDFS: MiniDFSCluster with three DataNodes (or two NameNodes, one of them active) in one JVM, on loopback."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_views.local_metastore.gateway import GatewayProcess
from hive_views.local_metastore.jvm import find_jars, find_java
from hive_views.local_metastore.maven import Artifact, fetch
from tests.conftest import CACHE

_MINICLUSTER = Artifact("org.apache.hadoop", "hadoop-client-minicluster", "3.4.2")
_DATANODES = 3
"""With a single DataNode, closing a file mostly takes 0.5 s more: it reports the block after the NameNode's reply
to the client's first request, which the client repeats after 0.4 s (Hadoop's) or 0.5 s (hdfs-native)."""

_START_S = 120.0


_OPENED = ("--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",)


@dataclass(frozen=True)
class Kerberos:
    """The identity of all nodes in a realm."""

    principal: str
    keytab: Path
    configuration: Path
    """The `krb5.conf`."""

    def settings(self) -> dict[str, str]:
        """Return the properties of Hadoop that let the nodes authenticate their clients, and each other."""
        nodes = ("dfs.namenode", "dfs.datanode", "dfs.secondary.namenode")
        return {
            "hadoop.security.authentication": "kerberos",
            "dfs.block.access.token.enable": "true",
            "dfs.data.transfer.protection": "authentication",
            "ignore.secure.ports.for.testing": "true",
            "hadoop.proxyuser.ann.hosts": "*",
            "hadoop.proxyuser.ann.groups": "*",
            "dfs.web.authentication.kerberos.principal": self.principal,
            "dfs.web.authentication.kerberos.keytab": str(self.keytab),
            **{f"{node}.kerberos.principal": self.principal for node in nodes},
            **{f"{node}.keytab.file": str(self.keytab) for node in nodes},
        }


class Hdfs:
    """A running HDFS."""

    def __init__(self, jvm: Any, cluster: Any, process: int, namenodes: int) -> None:
        self._jvm, self._cluster, self._process = jvm, cluster, process
        self._fs = cluster.getFileSystem(0)
        self.addresses = tuple(f"localhost:{cluster.getNameNodePort(at)}" for at in range(namenodes))
        """Host and port of each NameNode."""

    @property
    def uri(self) -> str:
        """The URI of the first NameNode, without a path."""
        return f"hdfs://{self.addresses[0]}"

    def files(self, directory: str) -> set[str]:
        """The paths of all files below a directory, as Hadoop's own client sees them."""
        return {path for path, status in self._statuses(directory) if status.isFile()}

    def empty_directories(self, directory: str) -> set[str]:
        """The paths of all empty directories below a directory."""
        paths = dict(self._statuses(directory))
        full = {path.rpartition("/")[0] for path in paths}
        return {path for path, status in paths.items() if status.isDirectory() and path not in full}

    def owner(self, path: str) -> str:
        """The owner of a file or directory."""
        return str(self._fs.getFileStatus(self._path(path)).getOwner())

    def make_directory(self, path: str, mode: str = "777") -> None:
        """Create a directory."""
        self._fs.mkdirs(self._path(path))
        self._fs.setPermission(self._path(path), self._jvm.org.apache.hadoop.fs.permission.FsPermission(mode))

    def set_mode(self, path: str, mode: str) -> None:
        """Change the permissions of a file or directory."""
        self._fs.setPermission(self._path(path), self._jvm.org.apache.hadoop.fs.permission.FsPermission(mode))

    @contextmanager
    def safe_mode(self) -> Iterator[None]:
        """Keep the first NameNode in safe mode."""
        action = getattr(self._jvm.org.apache.hadoop.hdfs.protocol, "HdfsConstants$SafeModeAction")
        namenode = self._cluster.getNameNodeRpc(0)
        namenode.setSafeMode(action.SAFEMODE_ENTER, False)
        try:
            yield
        finally:
            namenode.setSafeMode(action.SAFEMODE_LEAVE, False)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the process of all nodes: it accepts connections, and does not reply."""
        os.kill(self._process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process, signal.SIGCONT)

    def activate(self, namenode: int) -> None:
        """Make a NameNode the active one, and the other one standby."""
        self.deactivate(1 - namenode)
        self._cluster.transitionToActive(namenode)
        self._fs = self._cluster.getFileSystem(namenode)

    def deactivate(self, namenode: int) -> None:
        """Make a NameNode standby."""
        self._cluster.transitionToStandby(namenode)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _statuses(self, directory: str) -> Iterator[tuple[str, Any]]:
        if not self._fs.exists(self._path(directory)):
            return
        for status in self._fs.listStatus(self._path(directory)):
            path = status.getPath().toUri().getPath()
            yield path, status
            if status.isDirectory():
                yield from self._statuses(path)


@contextmanager
def hdfs(
    directory: Path, *, namenodes: int = 1, datanodes: int = _DATANODES, kerberos: Kerberos | None = None
) -> Iterator[Hdfs]:
    """Run an HDFS for the body of a `with` statement."""
    jars = find_jars("the tests")
    (minicluster,) = fetch((_MINICLUSTER,), CACHE)
    directory.mkdir(parents=True, exist_ok=True)
    options = ["-Xmx640m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    if kerberos is not None:
        options += [f"-Djava.security.krb5.conf={kerberos.configuration}", *_OPENED]
    class_path = os.pathsep.join([str(minicluster), f"{jars}{os.sep}*"])
    with (directory / "hdfs.log").open("wb") as log:
        process = GatewayProcess([find_java("the tests"), *options, "-cp", class_path], stderr=log, cwd=directory)
    try:
        with process.gateway(time.monotonic() + _START_S) as gateway:
            jvm = gateway.jvm
            configuration = jvm.org.apache.hadoop.conf.Configuration()
            if kerberos is not None:
                for key, value in kerberos.settings().items():
                    configuration.set(key, value)
                users = jvm.org.apache.hadoop.security.UserGroupInformation
                users.setConfiguration(configuration)
                users.loginUserFromKeytab(kerberos.principal, str(kerberos.keytab))
            builder = getattr(jvm.org.apache.hadoop.hdfs, "MiniDFSCluster$Builder")
            building = builder(configuration, jvm.java.io.File(str(directory / "data"))).numDataNodes(datanodes)
            if namenodes == 2:
                building.nnTopology(jvm.org.apache.hadoop.hdfs.MiniDFSNNTopology.simpleHATopology())
            cluster = building.build()
            if namenodes == 2:
                cluster.transitionToActive(0)
            cluster.waitActive()
            try:
                yield Hdfs(jvm, cluster, process.process.pid, namenodes)
            finally:
                cluster.shutdown()
    finally:
        process.stop()


def write_configuration(directory: Path, properties: Mapping[str, str]) -> Path:
    """Write a `core-site.xml`, and return its directory: a value of HADOOP_CONF_DIR."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items()]
    (directory / "core-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>", encoding="utf-8")
    return directory
