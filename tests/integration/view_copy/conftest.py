"""A real Iceberg REST catalog: Iceberg's own adapter on a JDBC catalog."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.jvm import find_jars
from tests.conftest import CACHE
from tests.integration.cli.conftest import cli

__all__ = ["cli"]

SOURCES = Path(__file__).parent


def class_path() -> str:
    """The JARs of the server; the first call downloads them (92 MB)."""
    path = CACHE / "rest-catalog.classpath"
    if not path.exists() or not all(map(os.path.exists, path.read_text().strip().split(os.pathsep))):
        CACHE.mkdir(exist_ok=True)
        command: list[str | Path] = ["mvn", "-q", "-B", "-f", SOURCES / "pom.xml", "dependency:build-classpath"]
        subprocess.run([*command, f"-Dmdep.outputFile={path.resolve()}"], check=True, timeout=500)
    return path.read_text().strip()


Change = Callable[[str, bytes], bytes]
"""Returns another body for the answer to a request of a method and path."""


class _Forwarder(BaseHTTPRequestHandler):
    """Forwards requests; drops the connection instead of the answer to a request that matches a pattern."""

    upstream = ""
    lost = ""
    change: Change

    def do_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(f"{self.upstream}{self.path}", body or None, dict(self.headers), method=self.command)
        try:
            with urlopen(request, timeout=60) as response:
                status, answer = response.status, response.read()
        except HTTPError as error:
            status, answer = error.code, error.read()
        self.close_connection = True
        if re.fullmatch(self.lost, f"{self.command} {self.path}"):
            return
        answer = self.change(f"{self.command} {self.path}", answer)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_HEAD = do_DELETE = do_request  # noqa: N815 -- names of the base class

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@contextmanager
def forwarder(upstream: str, *, lost: str = "", change: Change = lambda _, answer: answer) -> Iterator[str]:
    """The address of a forwarder to a server; it loses answers to requests whose method and path match `lost`."""
    members = {"upstream": upstream.rstrip("/"), "lost": lost, "change": staticmethod(change)}
    handler = type("Forwarder", (_Forwarder,), members)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def running_server(log: Path, properties: Mapping[str, str], *more_jars: str) -> Iterator[str]:
    """Serve a catalog of Iceberg's Java library; the address."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("needs Maven and a JDK")
    path = os.pathsep.join([class_path(), *more_jars])
    settings = [f"{key}={value}" for key, value in properties.items()]
    # Java 17 compiles a single source file itself.
    command = ["java", "-Xmx256m", "-cp", path, str(SOURCES / "RestServer.java"), *settings]
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), log.read_text()
        yield address.rstrip("/")
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def rest_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a catalog of its own."""
    directory = tmp_path_factory.mktemp("rest")
    properties = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{directory}/catalog.db",
        "jdbc.schema-version": "V1",  # with views
        "warehouse": f"file://{directory}/warehouse",
    }
    with running_server(directory / "log", properties) as address:
        yield address


@pytest.fixture(scope="session")
def metastore_over_rest(metastore: EmbeddedMetastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the catalog of the metastore."""
    directory = tmp_path_factory.mktemp("rest-metastore")
    properties = {
        "catalog-impl": "org.apache.iceberg.hive.HiveCatalog",
        "uri": metastore.uri,
        "warehouse": metastore.warehouse,
    }
    with running_server(directory / "log", properties, f"{find_jars(str(directory))}/*") as address:
        yield address


@pytest.fixture
def rest(rest_server: str, database: str, tmp_path: Path) -> RestCatalog:
    """The REST catalog, with a namespace of the same name as the metastore's database."""
    catalog = load_catalog("rest", type="rest", uri=rest_server)
    catalog.create_namespace(database, {"location": f"file://{tmp_path}/rest"})
    assert isinstance(catalog, RestCatalog)
    return catalog


@pytest.fixture
def name(catalog: HiveViewCatalog, database: str) -> str:
    """A view with three versions, the first of which is current, a comment and two dialects."""
    view = f"{database}.v_{uuid4().hex[:8]}"
    catalog.create_view_from_sql(view, "SELECT 1 AS id, 'one' AS name", column_comments=["the number", None])
    catalog.load_view(view).update().set_comment("numbers").set_properties(owner="bi").commit()
    catalog.replace_view_from_sql(view, "SELECT 2 AS id, 'two' AS name")
    catalog.load_view(view).update().rollback(version_id=1).commit()
    return view


@pytest.fixture(scope="session")
def second_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """Another metastore."""
    with EmbeddedMetastore(tmp_path_factory.mktemp("second")) as running:
        yield running


@pytest.fixture
def second(second_metastore: EmbeddedMetastore, database: str) -> Iterator[HiveViewCatalog]:
    """A catalog on another metastore, with a database of the same name."""
    with HiveViewCatalog("second", uri=second_metastore.uri, warehouse=second_metastore.warehouse) as opened:
        opened.create_namespace(database)
        yield opened
