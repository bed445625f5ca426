"""Compatibility with the release's own Java classes: complete rows, and other catalogs of the metastore."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from hive_views import HiveView, HiveViewCatalog
from hive_views.errors import CommitFailedError, MetastoreRefusedError, NoSuchViewError, SharedFilesError
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.materialized.maintenance.garbage_collection import Garbage
from hive_views.metastore._thrift.hive_metastore import ttypes
from tests.conftest import SERVER, CatalogFactory
from tests.integration.catalog.samples import OTHER_SCHEMA, SCHEMA, path, version
from tests.integration.metastore.java_classes import JavaClasses, load_java_classes

RELEASE = SERVER.partition("/")[0]
HIVE_2 = RELEASE == EMBEDDED_VERSION


@pytest.fixture(scope="module")
def java() -> Iterator[JavaClasses]:
    with load_java_classes(RELEASE) as classes:
        yield classes


# -- The struct ----------------------------------------------------------------------------------------------------


STATISTICS = ("Boolean", "Long", "Double", "String", "Binary", "Decimal", "Date", "Timestamp")


@pytest.mark.parametrize("name", ["Table", "Partition", "Database", *(f"{kind}ColumnStatsData" for kind in STATISTICS)])
def test_structs_are_translated_completely(java: JavaClasses, name: str) -> None:
    """Every field of the release's own class, set, read and written by the generated stubs."""
    if not java.knows(name):
        pytest.skip(f"Hive {RELEASE} has no {name}")
    # 2.3 declares a string as field 16, which it never sets; later releases have a struct.
    without: dict[str, Any] = {"catName": None} if HIVE_2 and name == "Table" else {}
    data = java.to_bytes(java.filled(name, without))
    before = java.plain(java.from_bytes(name, data), name)
    assert before.keys() | without.keys() == dict(java.fields(name)).keys()
    ours = getattr(ttypes, name)()
    ours.read(TBinaryProtocolAccelerated(TMemoryBuffer(data)))
    written = TMemoryBuffer()
    ours.write(TBinaryProtocolAccelerated(written))
    assert java.plain(java.from_bytes(name, written.getvalue()), name) == before


# -- The row ---------------------------------------------------------------------------------------------------------


class Others:
    """Another program with the release's own client, and the row of one view."""

    def __init__(self, java: JavaClasses, client: Any, database: str, catalog: str = "hive") -> None:
        self._java = java
        self._client = client
        self._database = database
        self._catalog = catalog

    def table(self, name: str) -> Any:
        return self._java.table(self._client, self._database, name, self._catalog)

    def row(self, name: str) -> dict[str, Any]:
        """Return the row as plain values."""
        return self._java.plain(self.table(name), "Table")

    def fill(self, name: str) -> None:
        """Set every field that the release has."""
        java, table = self._java, self.table(name)
        descriptor = table.getSd()
        parameters = table.getParameters()
        parameters.put("their.own", "ü")
        parameters.put("empty", "")
        column = java.list_of("id")
        values = {
            "tableName": table.getTableName(),
            "dbName": table.getDbName(),
            "tableType": table.getTableType(),
            "viewOriginalText": table.getViewOriginalText(),
            "viewExpandedText": table.getViewExpandedText(),
            "createTime": table.getCreateTime(),
            "parameters": parameters,
            "temporary": False,
            "partitionKeys[].name": "day",
            "partitionKeys[].type": "string",
            "sd.cols": descriptor.getCols(),
            "sd.location": descriptor.getLocation(),
            "sd.inputFormat": descriptor.getInputFormat(),
            "sd.outputFormat": descriptor.getOutputFormat(),
            "sd.serdeInfo.serializationLib": descriptor.getSerdeInfo().getSerializationLib(),
            "sd.bucketCols": column,
            "sd.sortCols[].col": "id",
            "sd.skewedInfo.skewedColNames": column,
            "sd.skewedInfo.skewedColValues": java.list_of(java.list_of("1"), java.list_of("2")),
            "sd.skewedInfo.skewedColValueLocationMaps": java.map_of({java.list_of("1"): descriptor.getLocation()}),
            # Fields of Hive's transactions, materialized views and statistics do not apply to views.
            "creationMetadata": None,
            "writeId": None,
            "txnId": None,
            "colStats": None,
            "catName": None if HIVE_2 else "hive",
        }
        context = java.make("EnvironmentContext")
        context.setProperties(java.map_of({}))
        full = java.filled("Table", values)
        self._client.alter_table_with_environment_context(self._database, name, full, context)


@pytest.fixture
def others(java: JavaClasses, metastore: MetastoreProcess, database: str) -> Iterator[Others]:
    with java.client(metastore.port) as client:
        yield Others(java, client, database)


def differences(before: Any, after: Any, key_path: str = "") -> set[str]:
    """Return the paths of the fields that differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = [
            differences(before.get(key), after.get(key), f"{key_path}.{key}" if key_path else key)
            for key in before.keys() | after.keys()
        ]
        return set().union(*found)
    return set() if before == after else {key_path}


WIDER = Schema(*SCHEMA.fields, NestedField(9, "more", StringType()))
"""Includes the columns that the row is bucketed and sorted by: Hive 4 checks them."""

POINTERS = {"parameters.metadata_location", "parameters.previous_metadata_location"}
CHANGES: dict[str, tuple[Callable[[HiveViewCatalog, HiveView], HiveView], set[str]]] = {
    "properties": (
        lambda catalog, view: view.update().set_properties(q="2").commit(),
        {*POINTERS, "parameters.q"},
    ),
    "replace": (
        lambda catalog, view: catalog.replace_view(view.name(), WIDER, version("d", ("spark", "s"))),
        {*POINTERS, "parameters.current-schema", "sd.cols", "viewOriginalText", "viewExpandedText"},
    ),
    "rename": (
        lambda catalog, view: catalog.rename_view(view.name(), (view.name()[0], "w")),
        {"tableName"},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_commit_preserves_every_row_field(catalog: HiveViewCatalog, database: str, others: Others, change: str) -> None:
    catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"p": "1"})
    others.fill("v")
    before = others.row("v")
    for field in ("owner", "retention", "partitionKeys", "lastAccessTime"):
        assert before[field], field
    for field in ("bucketCols", "sortCols", "skewedInfo", "numBuckets", "compressed", "storedAsSubDirectories"):
        assert before["sd"][field], field
    assert before["sd"]["skewedInfo"]["skewedColValueLocationMaps"]
    assert before["parameters"]["their.own"] == "ü"
    run, changed = CHANGES[change]
    done = run(catalog, catalog.load_view(f"{database}.v"))
    assert differences(before, others.row(done.name()[1])) == changed


def test_clients_with_capabilities_see_the_view(
    catalog: HiveViewCatalog, database: str, java: JavaClasses, metastore: MetastoreProcess
) -> None:
    """Hive 4 shows a client only objects that it can handle (MetastoreDefaultTransformer): views are for all."""
    if not java.has("GetTableRequest", "processorCapabilities"):
        pytest.skip(f"Hive {RELEASE} does not ask for capabilities")
    catalog.create_view(f"{database}.v", SCHEMA, version(database))
    with java.client(metastore.port) as client:
        plain = java.plain(java.table(client, database, "v"), "Table")
        for capabilities in ((), ("HIVESQL", "EXTREAD", "EXTWRITE"), ("CONNECTORREAD",)):
            request = java.make("GetTableRequest")
            request.setDbName(database)
            request.setTblName("v")
            request.setCatName("hive")
            request.setProcessorCapabilities(java.list_of(*capabilities))
            request.setProcessorIdentifier("somebody@somewhere")
            seen = java.plain(client.get_table_req(request).getTable(), "Table")
            # The access type depends on the client; the row itself is the same.
            assert differences(plain, seen) <= {"accessType", "requiredReadCapabilities", "requiredWriteCapabilities"}


# -- Catalogs of the metastore ------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(
    java: JavaClasses, metastore: MetastoreProcess, open_catalog: CatalogFactory
) -> Iterator[tuple[HiveViewCatalog, str]]:
    """A catalog on another catalog of the metastore, and the name of the latter."""
    if HIVE_2:
        pytest.skip("Hive 2 has no catalogs")
    name = f"c_{uuid4().hex[:8]}"
    warehouse = f"{metastore.warehouse}/{name}"
    with java.client(metastore.port) as client:
        java_catalog = java.make("Catalog")
        java_catalog.setName(name)
        java_catalog.setLocationUri(warehouse)
        request = java.make("CreateCatalogRequest")
        request.setCatalog(java_catalog)
        client.create_catalog(request)
    yield open_catalog({"metastore.catalog.default": name, "warehouse": warehouse}), name


def test_views_in_another_catalog(
    elsewhere: tuple[HiveViewCatalog, str],
    catalog: HiveViewCatalog,
    database: str,
    java: JavaClasses,
    metastore: MetastoreProcess,
) -> None:
    """Databases and views of the same names in two catalogs are independent."""
    mine, name = elsewhere
    catalog.create_view(f"{database}.v", SCHEMA, version(database, ("spark", "select 'hive'")))
    assert mine.list_namespaces() == [("default",)]
    mine.create_namespace(database)
    assert set(mine.list_namespaces()) == {(database,), ("default",)}
    assert mine.list_views(database) == []
    with pytest.raises(NoSuchViewError):
        mine.load_view(f"{database}.v")
    created = mine.create_view(f"{database}.v", SCHEMA, version(database, ("spark", "select 'other'")))
    stale = mine.load_view(f"{database}.v")
    replaced = mine.replace_view(f"{database}.v", OTHER_SCHEMA, version(database, ("spark", "select 'newer'")))
    with pytest.raises(CommitFailedError):
        stale.update().replace_version(version(database, ("spark", "select 'lost'"))).commit()
    renamed = mine.rename_view(f"{database}.v", f"{database}.w")
    assert renamed.uuid() == created.uuid()
    assert mine.list_views(database) == [(database, "w")]
    mine.load_view(f"{database}.w").update().set_properties(a="b").commit()
    with java.client(metastore.port) as client:
        theirs = Others(java, client, database, name).row("w")
        ours = Others(java, client, database).row("v")
    assert (theirs["catName"], ours["catName"]) == (name, "hive")
    assert theirs["viewOriginalText"] == "select 'newer'"
    assert ours["viewOriginalText"] == "select 'hive'"
    mine.drop_view(f"{database}.w")
    assert mine.list_views(database) == []
    assert catalog.load_view(f"{database}.v").sql_for("spark").sql == "select 'hive'"
    assert path(replaced.metadata_location).exists()
    mine.drop_namespace(database)
    assert catalog.list_views(database) == [(database, "v")]


def test_files_shared_with_another_catalog_are_kept(
    elsewhere: tuple[HiveViewCatalog, str], catalog: HiveViewCatalog, database: str
) -> None:
    """They are neither purged nor collected as orphans."""
    mine, name = elsewhere
    mine.create_namespace(database)
    table = catalog.create_table(f"{database}.t", SCHEMA)
    mine.register_table(f"{database}.duplicate", table.metadata_location)
    with pytest.raises(SharedFilesError, match=f"{name}.{database}.duplicate"):
        catalog.purge_table(f"{database}.t")
    catalog.materialized.create(f"{database}.mv", f"SELECT * FROM {database}.t")
    mine.register_view(f"{database}.mv", catalog.load_view(f"{database}.mv").metadata_location)
    catalog.drop_view(f"{database}.mv")
    assert catalog.materialized.abandoned(database, older_than_ms=0) == Garbage()
    mine.drop_view(f"{database}.mv")
    assert catalog.materialized.abandoned(database, older_than_ms=0).tables
    mine.drop_table(f"{database}.duplicate")
    mine.drop_namespace(database)
    catalog.purge_table(f"{database}.t")


def test_tables_and_partitions_of_another_catalog(elsewhere: tuple[HiveViewCatalog, str], database: str) -> None:
    mine, name = elsewhere
    mine.create_namespace(database, {"comment": "theirs"})
    assert mine.load_namespace_properties(database)["comment"] == "theirs"
    table = mine.create_table(f"{database}.t", SCHEMA)
    table.transaction().set_properties(a="b").commit_transaction()
    assert mine.load_table(f"{database}.t").properties["a"] == "b"
    assert mine.list_tables(database) == [(database, "t")]
    client = mine.store.client
    assert client.get_table(database, "t").catName == name
    assert client.get_table_names_by_type(database, "EXTERNAL_TABLE") == ["t"]
    assert [row.tableName for row in client.get_tables(database, ["t"])] == ["t"]
    mine.drop_table(f"{database}.t")
    mine.drop_namespace(database)


@pytest.mark.skipif(not HIVE_2, reason="the server has catalogs")
def test_server_without_catalogs_rejects_catalog_property(open_catalog: CatalogFactory, database: str) -> None:
    """It would treat `@other#db` as a database, and use its only catalog in other calls."""
    wrong = open_catalog({"metastore.catalog.default": "other"})
    for call in (
        wrong.list_namespaces,
        lambda: wrong.load_view(f"{database}.v"),
        lambda: wrong.create_view(f"{database}.v", SCHEMA, version(database)),
        lambda: wrong.create_namespace("new"),
    ):
        with pytest.raises(MetastoreRefusedError, match=r"no catalogs .*metastore\.catalog\.default is other"):
            call()
    assert ("new",) not in open_catalog().list_namespaces()
