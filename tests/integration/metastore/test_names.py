"""Characters of names: which ones each server stores, and what the catalog and Spark do with them."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow
import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidIdentifierError
from hive_views.identifiers import HIVE_2_AND_3, HIVE_4, RESERVED_CHARACTERS, NameCharacters, ViewName
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    Database,
    EnvironmentContext,
    FieldSchema,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from tests.conftest import started
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.hive import reader as hive
from tests.integration.metastore.rpc import BareClient, connect
from tests.integration.spark.plain_reader import PlainReader

SERVERS = {
    EMBEDDED_VERSION: HIVE_2_AND_3,
    "3.1.3": HIVE_2_AND_3,
    "4.0.1": HIVE_4,
    "4.1.0": HIVE_4,
    "4.2.0": HIVE_4,
    "4.2.1": HIVE_4,
}
WHOLE = "4.2.0"
"""The release with which the catalog uses each character."""
CHARACTERS = [each for each in string.printable if not each.isalnum() and each != "_"] + ["ß", "表", "\xa0"]
RESERVED = "".join(RESERVED_CHARACTERS)
REFUSED = (InvalidObjectException, InvalidOperationException, MetaException)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    with started(tmp_path_factory.mktemp("names"), request.param) as running:
        yield running


@pytest.fixture
def characters(request: pytest.FixtureRequest) -> NameCharacters:
    """What `server` is expected to store."""
    return SERVERS[request.node.callspec.params["server"]]


@pytest.fixture
def catalog(server: MetastoreProcess) -> Iterator[HiveViewCatalog]:
    with HiveViewCatalog("prod", uri=server.uri, warehouse=server.warehouse) as opened:
        yield opened


def view_row(database: str, name: str) -> Table:
    columns = StorageDescriptor(
        cols=[FieldSchema("a", "int", "")], serdeInfo=SerDeInfo(parameters={}), parameters={}, location=None
    )
    texts = {"viewOriginalText": "SELECT 1 AS a", "viewExpandedText": "SELECT 1 AS a"}
    return Table(
        dbName=database, tableName=name, sd=columns, parameters={}, partitionKeys=[], tableType="VIRTUAL_VIEW", **texts
    )


def stored_by(store: Callable[[str], str]) -> str:
    """Return the characters of names that a server stores and returns."""
    stored = ""
    for character in CHARACTERS:
        name = f"x{character}y"
        with suppress(*REFUSED):
            assert store(name) == name
            stored += character
    return "".join(sorted(stored))


def test_characters_that_a_server_stores(server: MetastoreProcess, characters: NameCharacters, tmp_path: Path) -> None:
    def create(client: BareClient, name: str) -> str:
        client.create_table(view_row("names", name))
        return str(client.get_table("names", name).tableName)

    def rename(client: BareClient, name: str) -> str:
        client.create_table(view_row("names", "before"))
        try:
            client.alter_table_with_environment_context(
                "names", "before", view_row("names", f"r{name}"), EnvironmentContext(properties={})
            )
        finally:
            with suppress(Exception):
                client.drop_table("names", "before", False)
        return str(client.get_table("names", f"r{name}").tableName).removeprefix("r")

    def create_database(client: BareClient, name: str) -> str:
        client.create_database(Database(name=name, locationUri=f"file:{tmp_path}/x"))
        return str(client.get_database(name).name)

    with connect(server.port) as client:
        client.create_database(Database(name="names", locationUri=f"file:{tmp_path}/names"))
        assert stored_by(lambda name: create(client, name)) == characters.tables
        assert stored_by(lambda name: rename(client, name)) == characters.tables
        assert stored_by(lambda name: create_database(client, name)) == characters.databases
        client.drop_database("names", True, True)


def test_names_that_the_server_does_not_store_are_refused(
    catalog: HiveViewCatalog, characters: NameCharacters, server: MetastoreProcess
) -> None:
    catalog.create_namespace("refused")
    catalog.create_view("refused.v", SCHEMA, version("refused"))
    names = ["größe", "a\nb", *([] if characters == HIVE_4 else ["a-b", "a b"])]
    for name in names:
        for call in (
            lambda name=name: catalog.create_namespace((name,)),
            lambda name=name: catalog.create_view(("refused", name), SCHEMA, version("refused")),
            lambda name=name: catalog.rename_view("refused.v", ("refused", name)),
            lambda name=name: catalog.create_table(("refused", name), SCHEMA),
        ):
            with pytest.raises(InvalidIdentifierError, match=f"a metastore of {characters.servers} does not store"):
                call()
    assert catalog.list_views("refused") == [("refused", "v")]
    catalog.drop_view("refused.v", purge_files=True)
    catalog.drop_namespace("refused")


def quoted(*parts: str) -> str:
    return ".".join(f"`{part}`" for part in parts)


def files(server: MetastoreProcess) -> list[Path]:
    return [path for path in Path(server.warehouse.removeprefix("file:")).rglob("*") if path.is_file()]


def test_names_that_the_server_stores(
    catalog: HiveViewCatalog, characters: NameCharacters, server: MetastoreProcess, request: pytest.FixtureRequest
) -> None:
    """Every kind of object and change, with a character in all names; on one server with each."""
    usable = [each for each in characters.tables if each in characters.databases and each not in RESERVED]
    assert ("-" in usable) == (characters == HIVE_4)
    if request.node.callspec.params["server"] != WHOLE:
        usable = [each for each in usable if each in "- "]
    for each in [*usable, "_"]:
        database, table, view, reading, stored = (f"{letter}{each}x" for letter in "dtvws")
        catalog.create_namespace((database,))
        assert (database,) in catalog.list_namespaces()
        rows = pyarrow.table({"id": [1, 2]})
        catalog.create_table((database, table), schema=rows.schema).append(rows)
        catalog.execute(f"CREATE VIEW {quoted(database, view)} AS SELECT * FROM {quoted(database, table)}")
        catalog.execute(f"CREATE VIEW {quoted(database, reading)} AS SELECT id FROM {quoted(database, view)}")
        assert catalog.list_views((database,)) == [(database, view), (database, reading)]
        assert catalog.list_tables((database,)) == [(database, table)]
        assert quoted(database, table) in catalog.load_view((database, view)).expanded_text
        catalog.execute(f"CREATE OR REPLACE VIEW {quoted(database, view)} AS SELECT id FROM {quoted(database, table)}")
        assert len(catalog.load_view((database, view)).history()) == 2
        renamed = f"r{each}x"
        catalog.rename_view((database, reading), (database, renamed))
        lineage = catalog.dependencies.lineage((database, renamed))
        assert [found.dependency.name for found in lineage.dependencies] == [(database, view), (database, table)]
        catalog.materialized.create((database, stored), f"SELECT * FROM {quoted(database, table)}")
        assert catalog.materialized.load((database, stored)).name == ViewName(database, stored)
        catalog.materialized.load((database, stored)).drop()
        for name in (view, renamed):
            catalog.drop_view((database, name), purge_files=True)
        catalog.purge_table((database, table))
        catalog.drop_namespace((database,))
    assert files(server) == []


def test_spark_reads_such_views(tmp_path: Path) -> None:
    """With the client of Hive 4.1, since that of Hive 2 cannot read from Hive 4."""
    if not (hive.HOME / "complete").exists():
        pytest.skip("Hive 4.1 is not installed: python -m tests.integration.hive.reader")
    client = {
        "spark.sql.hive.metastore.version": hive.VERSION,
        "spark.sql.hive.metastore.jars": "path",
        "spark.sql.hive.metastore.jars.path": f"{hive.HOME}/lib/*.jar",
    }
    usable = [each for each in HIVE_4.databases if each not in RESERVED]
    with (
        started(tmp_path, hive.VERSION) as running,
        HiveViewCatalog("prod", uri=running.uri, warehouse=running.warehouse) as catalog,
        PlainReader(running.uri, running.warehouse, tmp_path / "spark.log", conf=client) as spark,
    ):
        for each in usable:
            database, view, reading = (f"{letter}{each}x" for letter in "dvw")
            catalog.create_namespace((database,))
            catalog.execute(f"CREATE VIEW {quoted(database, view)} AS SELECT 1 AS a")
            catalog.execute(f"CREATE VIEW {quoted(database, reading)} AS SELECT * FROM {quoted(database, view)}")
            assert spark.sql(f"SELECT * FROM {quoted(database, reading)}") == [(1,)], each
            assert spark.ask_views(f"SELECT * FROM {quoted('spark_catalog', database, reading)}")["rows"] == [[1]]
