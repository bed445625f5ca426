"""Views of a metastore of Hive 4.2, read by PyIceberg and Spark through the REST catalogs that it can have.

Spark's Hive client cannot read such a metastore over Thrift (`Invalid method name: 'get_table'`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchViewError, UnauthorizedError
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.local_metastore.distributions import find_release, unpack
from hive_views.local_metastore.jvm import find_jars
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port
from tests.conftest import CACHE, empty_database
from tests.integration.metastore.rest_server import HIVE_JARS, RELEASE, RestMetastore
from tests.integration.metastore.test_http import OTHER_KEY, jwks_uri, token
from tests.integration.spark.spark_versions import needs_spark_4
from tests.integration.spark.test_rest_catalogs import with_rest_catalog
from tests.integration.view_copy.conftest import running_server

__all__ = ["jwks_uri"]

pytestmark = [pytest.mark.extended, needs_spark_4]  # the JARs of PySpark 3.5 have no servlets

CLIENT = "4.0.1"
"""The newest Hive client that runs on Java 17."""


@pytest.fixture(scope="module")
def hive(tmp_path_factory: pytest.TempPathFactory, jwks_uri: str) -> Iterator[RestMetastore]:
    """A metastore with REST servers for three methods of authentication."""
    properties = {"metastore.authentication.jwt.jwks.url": jwks_uri}
    with RestMetastore(tmp_path_factory.mktemp("hive"), ("none", "simple", "jwt"), properties) as running:
        yield running


@pytest.fixture(scope="module", params=["in the metastore", "beside the metastore"])
def address(
    request: pytest.FixtureRequest, hive: RestMetastore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of Hive's own REST server, or of Iceberg's adapter with Hive's client 4.0.1."""
    if request.param == "in the metastore":
        yield hive.rest_uri()
        return
    directory = tmp_path_factory.mktemp("adapter")
    properties = {
        "catalog-impl": "org.apache.iceberg.hive.HiveCatalog",
        "uri": hive.uri,
        "warehouse": hive.warehouse,
    }
    spark_jars = find_jars(str(directory))
    client = unpack(find_release(CLIENT, str(directory)), spark_jars, CACHE)
    with running_server(directory / "log", properties, *client.class_path, f"{spark_jars}/*") as running:
        yield running


@pytest.fixture
def database(hive: RestMetastore) -> Iterator[str]:
    with empty_database(hive, "db") as name:
        yield name


@pytest.fixture
def catalog(hive: RestMetastore) -> Iterator[HiveViewCatalog]:
    with HiveViewCatalog("prod", uri=hive.uri, warehouse=hive.warehouse) as opened:
        yield opened


@pytest.fixture
def views(catalog: HiveViewCatalog, database: str) -> list[str]:
    """A view of an Iceberg table, and one of that view."""
    rows = pa.table({"id": [1, 2, 3], "customer": ["ann", "bob", "bob"], "total": [20, 150, 200]})
    catalog.create_table(f"{database}.orders", schema=rows.schema).append(rows)
    catalog.create_view_from_sql(f"{database}.large", f"SELECT * FROM {database}.orders WHERE total > 100")
    text = f"SELECT customer, count(*) AS n FROM {database}.large GROUP BY customer"
    catalog.create_view_from_sql(f"{database}.counts", text, dialect="spark")
    return [f"{database}.large", f"{database}.counts"]


def connect(address: str, **properties: str) -> RestCatalog:
    opened = load_catalog("rest", type="rest", uri=address, **properties)
    assert isinstance(opened, RestCatalog)
    return opened


def test_pyiceberg_reads_views(address: str, catalog: HiveViewCatalog, views: list[str], database: str) -> None:
    rest = connect(address)
    assert sorted(rest.list_views(database)) == [(database, "counts"), (database, "large")]
    assert rest.list_tables(database) == [(database, "orders")]
    for name in views:
        ours, theirs = catalog.load_view(name), rest.load_view(name)
        assert theirs.metadata.view_uuid == ours.metadata.view_uuid
        assert theirs.metadata.properties == ours.metadata.properties
        assert theirs.schema() == ours.schema()
        assert theirs.sql_for("hive").sql == ours.sql_for("hive").sql
    assert rest.load_table(f"{database}.orders").scan().to_arrow().num_rows == 3
    for absent in (f"{database}.orders", f"{database}.none"):
        assert not rest.view_exists(absent)
        with pytest.raises(NoSuchViewError):
            rest.load_view(absent)


def test_spark_reads_views(spark: SparkSession, address: str, views: list[str], database: str) -> None:
    session = with_rest_catalog(spark, "over", address)
    assert sorted(row.viewName for row in session.sql(f"SHOW VIEWS IN over.{database}").collect()) == [
        "counts",
        "large",
    ]
    assert sorted(map(tuple, session.sql(f"SELECT * FROM over.{views[0]}").collect())) == [
        (2, "bob", 150),
        (3, "bob", 200),
    ]
    assert list(map(tuple, session.sql(f"SELECT * FROM over.{views[1]}").collect())) == [("bob", 2)]


def test_changes_are_visible(
    spark: SparkSession, address: str, catalog: HiveViewCatalog, views: list[str], database: str
) -> None:
    session, rest = with_rest_catalog(spark, "over", address), connect(address)
    session.sql(f"SELECT * FROM over.{views[1]}").collect()
    catalog.replace_view_from_sql(views[1], f"SELECT max(id) AS m FROM {database}.orders", dialect="spark")
    assert list(map(tuple, session.sql(f"SELECT m FROM over.{views[1]}").collect())) == [(3,)]
    assert [version.version_id for version in rest.load_view(views[1]).metadata.versions] == [1, 2]
    catalog.rename_view(views[1], f"{database}.newest")
    catalog.drop_view(views[0])
    assert rest.list_views(database) == [(database, "newest")]
    assert [row.viewName for row in session.sql(f"SHOW VIEWS IN over.{database}").collect()] == ["newest"]


def test_views_that_spark_writes_through_rest(
    spark: SparkSession, address: str, catalog: HiveViewCatalog, views: list[str], database: str
) -> None:
    session = with_rest_catalog(spark, "over", address)
    session.sql(f"CREATE VIEW over.{database}.ids AS SELECT id FROM over.{database}.orders")
    session.sql(f"CREATE OR REPLACE VIEW over.{views[0]} AS SELECT customer FROM over.{database}.orders")
    session.sql(f"ALTER VIEW over.{views[1]} RENAME TO over.{database}.renamed")
    assert sorted(catalog.list_views(database)) == [(database, name) for name in ("ids", "large", "renamed")]
    assert catalog.load_view(f"{database}.ids").sql_for("spark").sql == f"SELECT id FROM over.{database}.orders"
    replaced = catalog.load_view(views[0])
    assert [version.version_id for version in replaced.metadata.versions] == [1, 2]
    # Until 1.10, Iceberg's HiveCatalog leaves the texts of the row unchanged.
    assert not replaced.drift or HIVE_JARS is not None
    session.sql(f"DROP VIEW over.{database}.renamed")
    assert (database, "renamed") not in catalog.list_views(database)


def test_authentication(spark: SparkSession, hive: RestMetastore, views: list[str], database: str) -> None:
    presented = {
        "simple": {"header.x-actor-username": "ann"},
        "jwt": {"token": token()},
    }
    for method, properties in presented.items():
        address = hive.rest_uri(method)
        assert len(connect(address, **properties).list_views(database)) == 2
        session = with_rest_catalog(spark, method, address)
        for key, value in properties.items():
            session.conf.set(f"spark.sql.catalog.{method}.{key}", value)
        assert session.sql(f"SELECT * FROM {method}.{views[0]}").count() == 2
        with pytest.raises(UnauthorizedError):
            connect(address).list_views(database)
    with pytest.raises(UnauthorizedError):
        connect(hive.rest_uri("jwt"), token=token(OTHER_KEY)).list_views(database)


@pytest.mark.skipif(HIVE_JARS is not None, reason="the jar is there")
def test_metastore_without_the_jar_starts_without_rest(tmp_path: Path) -> None:
    properties = {"metastore.catalog.servlet.port": str(free_port())}
    with StandaloneMetastore(tmp_path, version=RELEASE, cache=CACHE, properties=properties) as running:
        assert "Unable to start the Catalog server, missing jar?" in Path(running.log_path).read_text()
