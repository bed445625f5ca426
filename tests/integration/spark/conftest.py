"""Spark on the metastore that all tests share: one session with Iceberg, and another process with plain Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.spark import ViewSession
from hive_views.spark.runtime import iceberg_session, plain_session
from hive_views.spark.sessions import end_session
from tests.integration.spark.plain_reader import PlainReader
from tests.integration.spark.session_kinds import SessionClient, run_statement
from tests.integration.spark.spark_versions import HAS_ICEBERG, IS_SPARK_3, LINE, needs_iceberg
from tests.suites import extended

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".cache"


WITHOUT_ICEBERG = (
    "test_session.py",
    "test_settings_matrix.py",
    "test_statement_forms.py",
    "test_session_texts.py",
    "test_programs.py",
    "test_implicit_names.py",
    "test_grammar.py",
    "test_letter_case.py",
    "test_spark_forms.py",
    "test_files_as_tables.py",
    "test_plain_spark.py",
    "test_java_methods.py",
    "test_gateway.py",
    "test_engine_types.py",
)
"""The modules that also run on plain Spark."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs Spark; what needs a second JVM of Spark belongs to the extended suite."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            if "plain" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.extended)
            if item.path.name not in WITHOUT_ICEBERG:
                item.add_marker(needs_iceberg)


@pytest.fixture(scope="session")
def spark(metastore: EmbeddedMetastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark with Iceberg: its catalog `prod`, and `spark_catalog` as plain Hive support, both on the shared metastore.

    It is plain Spark, without the catalog `prod`, if there is no runtime of Iceberg for the installed version.
    Leave its current catalog and database as they are, or set them back.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # a worker of a table function needs the same packages
    local = tmp_path_factory.mktemp("spark")
    conf = {"spark.local.dir": str(local)}
    if IS_SPARK_3:
        conf["spark.sql.ansi.enabled"] = "true"  # the default of Spark 4
    else:
        conf |= {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
        }
    if HAS_ICEBERG:
        session = iceberg_session(metastore.uri, metastore.warehouse, catalog="prod", cache=CACHE, conf=conf)
    else:
        session = plain_session(metastore.uri, metastore.warehouse, conf=conf)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def plain(metastore: EmbeddedMetastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainReader]:
    """Plain Spark, without Iceberg on its class path, on the shared metastore; it starts with its first statement."""
    log = tmp_path_factory.mktemp("plain") / "spark.log"
    with PlainReader(metastore.uri, metastore.warehouse, log) as reader:
        yield reader


def connect_address(spark: SparkSession) -> str:
    """Where the Spark Connect server listens that is a plugin of a session."""
    service = getattr(spark._jvm.org.apache.spark.sql.connect.service, "SparkConnectService$")
    return f"sc://127.0.0.1:{service.__getattr__('MODULE$').localPort()}"


@pytest.fixture
def connect_spark(spark: SparkSession) -> Iterator[ConnectSession]:
    """A client of a real Spark Connect server, which is a plugin of `spark`: no JVM behind this object."""
    if IS_SPARK_3:
        pytest.skip("Spark Connect of Spark 3.5 is not supported")
    session = ConnectSession.builder.remote(connect_address(spark)).create()
    yield session
    end_session(session)


@pytest.fixture(scope="session")
def session_catalog(metastore: EmbeddedMetastore) -> Iterator[HiveViewCatalog]:
    """The catalog that all sessions of this process share."""
    with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
        yield catalog


@pytest.fixture
def session(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> Iterator[ViewSession]:
    """A `ViewSession` on `spark`, in which the test's database of the catalog `prod` is current."""
    spark.sql(f"USE {'prod' if HAS_ICEBERG else 'spark_catalog'}.{database}")
    with ViewSession(spark, catalog) as views:
        yield views
    spark.sql("USE spark_catalog.default")


@pytest.fixture(params=["iceberg", *extended("connect", "plain")])
def client(request: pytest.FixtureRequest, session_catalog: HiveViewCatalog) -> Iterator[SessionClient]:
    """A `ViewSession` on Spark with Iceberg, on Spark Connect to that, and on plain Spark in another process."""
    if request.param == "iceberg" and not HAS_ICEBERG:
        pytest.skip(f"Spark {LINE} has no runtime of Iceberg here")
    if request.param == "plain" and HAS_ICEBERG:
        reader: PlainReader = request.getfixturevalue("plain")
        yield SessionClient("plain", reader.ask_views)
        for text in ("USE spark_catalog.default", "RESET"):
            reader.sql(text)
        return
    # A new session, since settings and temporary views must not leak into other tests.
    is_connect = request.param == "connect"
    own = request.getfixturevalue("connect_spark") if is_connect else request.getfixturevalue("spark").newSession()
    with ViewSession(own, session_catalog) as views:
        yield SessionClient(request.param, lambda text: run_statement(views, text))
