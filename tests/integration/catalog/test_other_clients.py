"""Other clients read what this package writes: hmsclient 0.1.1 and PyIceberg's."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from hive_metastore import ThriftHiveMetastore
from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore.ttypes import GetTableRequest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import NoSuchIcebergTableError
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views import HiveViewCatalog
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.faults.observer import plain
from tests.integration.catalog.samples import SCHEMA, version


def check_row(theirs: dict[str, Any], raw: Client, database: str) -> None:
    """Compare every field that another client read with the row."""
    row = plain_slots(raw.get_table(database, "v"))
    assert theirs["tableType"] == "VIRTUAL_VIEW"
    assert theirs["viewOriginalText"] == "select 1 as `id`, 'ü' as `data`"
    assert [column["name"] for column in theirs["sd"]["cols"]] == ["id", "data"]
    for field, value in theirs.items():
        # Their stubs have a default for `temporary`, which the server does not send.
        if row.get(field) is not None and isinstance(value, (str, int, list)):
            assert value == row[field], field
    assert theirs["parameters"] == row["parameters"]


def plain_slots(value: Any) -> Any:
    """As `plain`, for classes with slots."""
    if hasattr(value, "thrift_spec"):
        return {name: plain_slots(getattr(value, name)) for name in value.__slots__}
    return [plain_slots(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def written(catalog: HiveViewCatalog, database: str) -> HiveViewCatalog:
    """A catalog with a view that was changed once."""
    catalog.create_view(f"{database}.v", SCHEMA, version(database, ("spark", "select 0, ''")))
    text = "select 1 as `id`, 'ü' as `data`"
    catalog.replace_view(f"{database}.v", SCHEMA, version(database, ("spark", text)))
    return catalog


@pytest.fixture
def has_get_table(written: HiveViewCatalog) -> bool:
    """Whether the server still has the calls of old clients: Hive 4.0.1 took them away."""
    return written.store.client.supports("get_table")


@pytest.mark.hive2
def test_get_table_is_used_if_available(has_get_table: bool) -> None:
    assert has_get_table


def test_hmsclient_reads_and_lists_view(
    written: HiveViewCatalog, database: str, metastore: MetastoreProcess, raw: Client, has_get_table: bool
) -> None:
    with HMSClient(host="127.0.0.1", port=metastore.port) as client:
        if has_get_table:
            check_row(plain(client.get_table(database, "v")), raw, database)
            assert [row.tableName for row in client.get_table_objects_by_name(database, ["v"])] == ["v"]
        check_row(plain(client.get_table_req(GetTableRequest(database, "v")).table), raw, database)
        assert client.get_all_tables(database) == ["v"]
        assert client.get_tables_by_type(database, "*", "VIRTUAL_VIEW") == ["v"]


def test_hmsclient_alter_preserves_view(
    written: HiveViewCatalog, database: str, metastore: MetastoreProcess, raw: Client
) -> None:
    """The client has fewer fields than later servers; the row that it writes back is still a valid view."""
    with HMSClient(host="127.0.0.1", port=metastore.port) as client:
        row = client.get_table_req(GetTableRequest(database, "v")).table
        row.parameters["theirs"] = "kept"
        client.alter_table_with_environment_context(database, "v", row, None)
    view = written.load_view(f"{database}.v")
    assert view.drift == ()
    view.update().set_properties(ours="too").commit()
    parameters = raw.get_table(database, "v").parameters
    assert (parameters["theirs"], parameters["ours"]) == ("kept", "too")


def test_pyiceberg_client(
    written: HiveViewCatalog,
    metastore: MetastoreProcess,
    database: str,
    properties: dict[str, str],
    raw: Client,
    has_get_table: bool,
) -> None:
    """Its catalog takes a view for no table of its own, and leaves it alone."""
    if not has_get_table:
        pytest.skip("the server has no get_table any more, without which PyIceberg's own catalog reads nothing")
    theirs = HiveCatalog("theirs", **properties)
    with closing(TBufferedTransport(TSocket("127.0.0.1", metastore.port))) as transport:
        transport.open()
        client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
        check_row(plain(client.get_table(dbname=database, tbl_name="v")), raw, database)
        assert client.get_all_tables(db_name=database) == ["v"]
    assert theirs.list_tables(database) == []
    with pytest.raises(NoSuchIcebergTableError):
        theirs.load_table(f"{database}.v")
    assert theirs.load_namespace_properties(database)["location"].endswith(f"{database}.db")
    assert written.load_view(f"{database}.v").drift == ()
