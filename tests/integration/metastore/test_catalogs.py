"""Catalogs of the metastore: which one requests mean, and which one Spark reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidIdentifierError, MetastoreRefusedError, NoSuchViewError
from hive_views.local_metastore.process import MetastoreProcess
from tests.estate.old_hive import metastore_jars
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.metastore.two_catalogs import PROPERTY, two_catalogs
from tests.integration.spark.plain_reader import PlainReader

OpenCatalog = Callable[..., HiveViewCatalog]


@pytest.fixture(scope="module", params=["3.1.3 hive", "3.1.3 spark", "4.2.0 spark"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """A metastore with the catalogs `hive` and `spark`, one of which is its own default."""
    release, default = request.param.split()
    with two_catalogs(tmp_path_factory.mktemp("catalogs"), default, release) as running:
        yield running


@pytest.fixture
def default(request: pytest.FixtureRequest) -> str:
    """The default catalog of `server`."""
    return str(request.node.callspec.params["server"].split()[1])


@pytest.fixture
def opened(server: MetastoreProcess) -> Iterator[OpenCatalog]:
    """Opens catalogs of `server`: without an argument as the server decides, otherwise on a catalog of it."""
    with ExitStack() as stack:

        def opening(name: str | None = None) -> HiveViewCatalog:
            named = {} if name is None else {PROPERTY: name}
            properties = {"uri": server.uri, "warehouse": f"{server.warehouse}/{name}", **named}
            return stack.enter_context(HiveViewCatalog("prod", **properties))

        yield opening


def create_one(catalog: HiveViewCatalog, database: str, number: int) -> None:
    catalog.create_namespace(database)
    catalog.execute(f"CREATE VIEW {database}.v AS SELECT {number} AS a")
    catalog.execute(f"CREATE VIEW {database}.w AS SELECT a FROM {database}.v")


def test_without_a_property_the_server_decides(opened: OpenCatalog, default: str) -> None:
    """Every request means the same catalog; some name a catalog themselves where a client fills it in."""
    name = f"d_{uuid4().hex[:8]}"
    catalog, other = opened(), opened("spark" if default == "hive" else "hive")
    assert catalog.store.client.own_catalog() == default
    create_one(catalog, name, 1)
    assert catalog.list_views(name) == [(name, "v"), (name, "w")]
    catalog.execute(f"CREATE OR REPLACE VIEW {name}.v AS SELECT 2 AS a")
    assert len(catalog.load_view(f"{name}.v").history()) == 2
    catalog.rename_view(f"{name}.v", f"{name}.x")
    assert opened(default).load_view(f"{name}.x") == catalog.load_view(f"{name}.x")
    assert (name,) not in other.list_namespaces()
    assert not other.view_exists(f"{name}.x")
    assert catalog.drop_view(f"{name}.x", purge_files=True).steps[0].remaining_files == ()
    catalog.drop_view(f"{name}.w")
    catalog.drop_namespace(name)


def test_catalogs_with_equal_names_of_views(opened: OpenCatalog) -> None:
    name = f"e_{uuid4().hex[:8]}"
    for number, catalog in enumerate((opened("hive"), opened("spark"))):
        create_one(catalog, name, number)
    for number, catalog in enumerate((opened("hive"), opened("spark"))):
        assert catalog.load_view(f"{name}.v").sql_for("spark").sql == f"SELECT {number} AS a"
        for view in ("v", "w"):
            catalog.drop_view((name, view), purge_files=True)
        catalog.drop_namespace(name)


def test_unknown_catalog_is_an_error(opened: OpenCatalog) -> None:
    unknown = opened("nope")
    for call in (
        unknown.list_namespaces,
        lambda: unknown.list_views("default"),
        lambda: unknown.load_view("default.v"),
        lambda: unknown.view_exists("default.v"),
        lambda: unknown.create_namespace("new"),
        lambda: unknown.create_view("default.v", SCHEMA, version("default")),
    ):
        with pytest.raises(MetastoreRefusedError, match=rf"no catalog nope.* it has hive, spark\. .*{PROPERTY}"):
            call()


def test_name_of_the_property_in_spark(server: MetastoreProcess) -> None:
    with HiveViewCatalog("prod", uri=server.uri, **{f"spark.hadoop.{PROPERTY}": "spark"}) as catalog:
        assert catalog.store.client.own_catalog() == "spark"
        catalog.list_namespaces()


def test_catalogs_are_not_part_of_a_name(opened: OpenCatalog) -> None:
    catalog = opened()
    for call in (lambda: catalog.list_views("@spark#default"), lambda: catalog.load_view(("@spark#default", "v"))):
        with pytest.raises(InvalidIdentifierError, match=PROPERTY):
            call()
    with pytest.raises(NoSuchViewError):
        catalog.load_view("default.none")


CLIENTS = {
    "2.3.10": dict,
    "3.1.3": lambda: {**metastore_jars("3.1.3"), f"spark.hadoop.{PROPERTY}": "spark"},
}
"""Settings of Spark, by the release of its Hive client."""


@pytest.mark.parametrize("client", CLIENTS)
def test_spark_reads_the_catalog_of_its_client(
    server: MetastoreProcess,
    opened: OpenCatalog,
    default: str,
    client: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """The client of Hive 2 reads the server's default, that of Hive 3 what its property says."""
    if request.node.callspec.params["server"].startswith("4."):
        pytest.skip("these clients cannot read from Hive 4")
    if client != "2.3.10" and not shutil.which("mvn"):
        pytest.skip("mvn is not installed")
    name = f"s_{uuid4().hex[:8]}"
    numbers = {"hive": 1, "spark": 2}
    for each, number in numbers.items():
        create_one(opened(each), name, number)
    read = default if client == "2.3.10" else "spark"
    for each in numbers:
        with PlainReader(
            server.uri, server.warehouse, tmp_path / f"{each}.log", conf=CLIENTS[client](), properties={PROPERTY: each}
        ) as spark:
            assert spark.sql(f"SELECT * FROM {name}.w") == [(numbers[read],)]
            answer = spark.ask_views(f"SELECT * FROM {name}.w")
        if each == read:
            assert answer["rows"] == [[numbers[read]]]
        else:
            assert f"reads the catalog {read}" in answer["error"]
    for each in numbers:
        for view in ("w", "v"):
            opened(each).drop_view((name, view))
        opened(each).drop_namespace(name)
