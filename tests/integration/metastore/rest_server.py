"""A real metastore of Hive 4.2 that serves its Iceberg catalog over REST, on the loopback address only.

Hive starts the REST server if `metastore.catalog.servlet.port` is set, and listens on all addresses (4.2.0 has no
setting for it). So this calls the methods with which its `main` starts it, and sets the address in between.

The REST catalog itself, `org.apache.iceberg.rest.HMSCatalogFactory`, is in a jar of Hive's distribution that is not on
Maven Central (`hive-standalone-metastore-rest-catalog`). Here `AdapterServlet` takes its place: Iceberg's own adapter
and `HiveCatalog`, of which Hive has copies. `HIVE_VIEWS_HIVE_REST_JARS` names other jars: a class path with Hive's
class and its dependencies, Iceberg included.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hive_views.local_metastore.directory import MetastoreDirectory
from hive_views.local_metastore.gateway import LOOPBACK
from hive_views.local_metastore.jvm import Launch, find_jars
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from tests.conftest import CACHE
from tests.integration.view_copy.conftest import class_path

RELEASE = "4.2.0"
HIVE_JARS = os.environ.get("HIVE_VIEWS_HIVE_REST_JARS")
"""The jars of Hive's own REST catalog; None for Iceberg's adapter."""

_PACKAGE = "org.apache.hadoop.hive.metastore"
_SOURCE = Path(__file__).with_name("AdapterServlet.java")
_DEPENDENCIES = re.compile(r"(iceberg-|httpc|jackson-|caffeine-|RoaringBitmap-|avro-)")
"""Jars that Hive lacks or has in an earlier version. Jetty is Hive's."""
_RENAMED = {"METASTOREURIS": "METASTORE_URIS", "METASTOREWAREHOUSE": "METASTORE_WAREHOUSE"}
"""Constants of HiveConf that Iceberg's HiveCatalog uses, and their names in Hive 4."""


class RestMetastore(StandaloneMetastore):
    """A metastore with a REST server for each method of authentication; see `StandaloneMetastore`.

    Args:
        directory: The directory of its files.
        authentication: Values of `metastore.catalog.servlet.auth`.
        properties: Additional properties.
    """

    def __init__(
        self, directory: Path, authentication: tuple[str, ...] = ("none",), properties: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(directory, version=RELEASE, cache=CACHE, properties=properties)
        self._authentication = authentication
        self._rest_ports: dict[str, int] = {}

    def rest_uri(self, authentication: str = "none") -> str:
        """The address of the REST catalog with a method of authentication."""
        return f"http://{LOOPBACK}:{self._rest_ports[authentication]}/iceberg"

    def _prepare(self) -> Launch:
        launch = super()._prepare()

        def serve(gateway: Any, directory: MetastoreDirectory, port: int, deadline: float) -> int:
            port = launch.serve(gateway, directory, port, deadline)
            self._rest_ports = {method: _serve_rest(gateway, method) for method in self._authentication}
            return port

        # The jars of Iceberg come before those of Hive's archive, which has an earlier Jackson.
        server, *others = launch.class_path
        return replace(launch, class_path=(server, *_jars(Path(self.directory)), *others), serve=serve)


def _jars(directory: Path) -> list[str]:
    if HIVE_JARS is not None:
        return HIVE_JARS.split(os.pathsep)
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("needs Maven and a JDK")
    jars = [Path(jar) for jar in class_path().split(os.pathsep)]
    (servlet_api,) = find_jars(str(directory)).glob("javax.servlet-api-*.jar")
    classes = directory / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    compiler_path = os.pathsep.join(map(str, [*jars, servlet_api]))
    command = ["javac", "--release", "17", "-proc:none", "-cp", compiler_path, "-d", str(classes), str(_SOURCE)]
    subprocess.run(command, check=True, timeout=120)
    return [str(classes), *(_convert_jar(jar, classes) for jar in jars if _DEPENDENCIES.match(jar.name))]


def _convert_jar(jar: Path, directory: Path) -> str:
    """Return a copy of Iceberg's HiveCatalog with the constants' names in Hive 4; other jars unchanged."""
    if not jar.name.startswith("iceberg-hive-metastore-"):
        return str(jar)
    copy = directory / jar.name
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(copy, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            for old, new in _RENAMED.items():
                content = content.replace(_constant(old), _constant(new))
            target.writestr(entry, content)
    return str(copy)


def _constant(text: str) -> bytes:
    """A text in the constant pool of a class file."""
    return b"\x01" + len(text).to_bytes(2, "big") + text.encode()


def _serve_rest(gateway: Any, authentication: str) -> int:
    """Start a REST server as `HiveMetaStore` and `ServletServerBuilder.startServer` do; its port."""
    jvm = gateway.jvm
    find = jvm.java.lang.Class.forName
    port = free_port()
    configuration = getattr(jvm, f"{_PACKAGE}.conf.MetastoreConf").newMetastoreConf()
    configuration.set("metastore.catalog.servlet.port", str(port))
    configuration.set("metastore.catalog.servlet.auth", authentication)
    if HIVE_JARS is None:
        configuration.set("metastore.catalog.servlet.factory", "org.apache.iceberg.rest.AdapterServlet")

    def call(target: Any, kind: str, name: str, *arguments: tuple[Any, Any]) -> Any:
        """Call a method that is not public; its arguments are pairs of a type and a value."""
        types = gateway.new_array(jvm.java.lang.Class, len(arguments))
        values = gateway.new_array(jvm.java.lang.Object, len(arguments))
        for index, (argument_type, value) in enumerate(arguments):
            types[index], values[index] = argument_type, value
        method = find(f"{_PACKAGE}.{kind}").getDeclaredMethod(name, types)
        method.setAccessible(True)
        return method.invoke(target, values)

    descriptor = call(
        None, "HiveMetaStore", "createCatalogServlet", (find("org.apache.hadoop.conf.Configuration"), configuration)
    )
    if descriptor is None:
        raise OSError("the metastore has no REST catalog")
    builder = getattr(jvm, f"{_PACKAGE}.ServletServerBuilder")(configuration)
    server = call(builder, "ServletServerBuilder", "createServer")
    connector = call(
        builder,
        "ServletServerBuilder",
        "createConnector",
        (find("org.eclipse.jetty.server.Server"), server),
        (find("org.eclipse.jetty.util.ssl.SslContextFactory"), None),
        (jvm.java.lang.Integer.TYPE, port),
    )
    connector.setHost(LOOPBACK)
    server.addConnector(connector)
    handlers = jvm.java.util.HashMap()
    call(
        builder,
        "ServletServerBuilder",
        "addServlet",
        (find("java.util.Map"), handlers),
        (find(f"{_PACKAGE}.ServletServerBuilder$Descriptor"), descriptor),
    )
    server.setHandler(handlers.get(port))
    server.start()
    return port
