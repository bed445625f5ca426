"""The client with a real metastore, through a proxy that injects faults."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from thrift.Thrift import TApplicationException

from hive_views.config import ConnectionConfig
from hive_views.errors import (
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreTimeoutError,
    MetastoreUnavailableError,
    NoSuchNamespaceError,
)
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    Database,
    FieldSchema,
    GetTableRequest,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from hive_views.metastore.transport.client import (
    EXPECTED_PARAMETER_KEY,
    EXPECTED_PARAMETER_VALUE,
    MAX_SENDS,
    MetastoreClient,
)
from hive_views.metastore.transport.connection import Connection
from hive_views.metastore.transport.methods import UnknownMethodError, call_first_supported
from tests.integration.metastore.rpc import client_for
from tests.proxy import (
    ANY,
    EVERY,
    Action,
    BlackHole,
    CutReply,
    Delay,
    DropReply,
    DropRequest,
    ThriftProxy,
)


def view(database: str, name: str, **parameters: str) -> Table:
    return Table(
        dbName=database,
        tableName=name,
        owner="tests",
        sd=StorageDescriptor(
            cols=[FieldSchema(name="a", type="int", comment="")], serdeInfo=SerDeInfo(parameters={}), parameters={}
        ),
        partitionKeys=[],
        parameters={"table_type": "ICEBERG-VIEW", **parameters},
        viewOriginalText="SELECT 1 a",
        viewExpandedText="SELECT 1 a",
        tableType="VIRTUAL_VIEW",
    )


# -- Methods ----------------------------------------------------------------------------------------------------------


@pytest.mark.swaps
def test_create_read_alter_and_drop_row(client: MetastoreClient, database: str) -> None:
    assert client.get_table(database, "v") is None
    client.create_table(view(database, "v", x="1"))
    row = client.get_table(database, "v")
    assert row is not None
    assert (row.tableType, row.parameters["x"], row.viewOriginalText) == ("VIRTUAL_VIEW", "1", "SELECT 1 a")
    row.parameters["x"] = "2"
    client.alter_table(database, "v", row, {EXPECTED_PARAMETER_KEY: "x", EXPECTED_PARAMETER_VALUE: "1"})
    with pytest.raises(MetaException, match=r"The table has been modified"):
        client.alter_table(database, "v", row, {EXPECTED_PARAMETER_KEY: "x", EXPECTED_PARAMETER_VALUE: "1"})
    row.tableName = "w"
    client.alter_table(database, "v", row, {})
    assert client.get_table(database, "v") is None
    client.drop_table(database, "w")
    assert client.get_all_tables(database) == []


def test_missing_database_has_no_tables(client: MetastoreClient) -> None:
    assert client.get_table("no_such_database", "v") is None


def test_declared_errors_are_raised_unchanged_and_keep_the_connection(
    client: MetastoreClient, proxy: ThriftProxy, database: str
) -> None:
    client.create_table(view(database, "v"))
    with pytest.raises(AlreadyExistsException):
        client.create_table(view(database, "v"))
    with pytest.raises(NoSuchObjectException):
        client.drop_table(database, "missing")
    with pytest.raises(InvalidOperationException):
        client.alter_table(database, "missing", view(database, "missing"), {})
    assert proxy.connections == 1


def test_get_tables_reads_batches_without_missing_rows(
    client: MetastoreClient, proxy: ThriftProxy, database: str
) -> None:
    client.create_table(view(database, "first"))
    client.create_table(view(database, "last"))
    proxy.clear()
    names = ["first", *(f"missing_{number}" for number in range(228)), "last"]
    assert [row.tableName for row in client.get_tables(database, names)] == ["first", "last"]
    assert proxy.methods == ["get_table_objects_by_name_req"] * 3
    assert client.get_tables(database, []) == []


def test_names_by_type_and_by_filter(client: MetastoreClient, database: str) -> None:
    client.create_table(view(database, "ours"))
    client.create_table(view(database, "other", table_type="something"))
    table = view(database, "plain", table_type="ICEBERG")
    table.tableType, table.viewOriginalText, table.viewExpandedText = "EXTERNAL_TABLE", None, None
    client.create_table(table)
    assert sorted(client.get_table_names_by_type(database, "VIRTUAL_VIEW")) == ["other", "ours"]
    by_filter = client.get_table_names_by_filter(database, 'hive_filter_field_params__table_type = "ICEBERG-VIEW"')
    assert by_filter == ["ours"]
    assert sorted(client.get_all_tables(database)) == ["other", "ours", "plain"]


def test_databases_are_created_altered_and_dropped(
    client: MetastoreClient, metastore: EmbeddedMetastore, database: str
) -> None:
    name = f"{database}_two"
    with pytest.raises(NoSuchNamespaceError) as caught:
        client.get_database(name)
    assert caught.value.namespace == name
    client.create_database(Database(name=name, locationUri=f"{metastore.warehouse}/{name}.db", parameters={"k": "v"}))
    assert {name, database, "default"} <= set(client.get_all_databases())
    loaded = client.get_database(name)
    assert loaded.parameters == {"k": "v"}
    loaded.parameters = {"k": "w"}
    client.alter_database(name, loaded)
    assert client.get_database(name).parameters == {"k": "w"}
    client.create_table(view(name, "v"))
    with pytest.raises(InvalidOperationException):
        client.drop_database(name)
    client.drop_database(name, cascade=True)
    assert name not in client.get_all_databases()


def test_user_is_sent_on_connecting(proxy: ThriftProxy) -> None:
    with client_for(proxy.uri, user="ann", groups=("staff", "bi")) as client:
        client.get_all_databases()
        client.get_all_databases()
    first, *others = proxy.calls
    assert first.method == "set_ugi"
    assert all(word in first.request for word in (b"ann", b"staff", b"bi"))
    assert [call.method for call in others] == ["get_all_databases"] * 2


def test_server_rejecting_the_user_is_unavailable(proxy: ThriftProxy) -> None:
    proxy.on("set_ugi", DropRequest())
    with client_for(proxy.uri, user="ann") as client, pytest.raises(MetastoreUnavailableError):
        client.get_all_databases()
    assert proxy.methods == ["set_ugi"]


def test_server_hanging_on_set_ugi_is_skipped(proxy: ThriftProxy, metastore: EmbeddedMetastore) -> None:
    proxy.on("set_ugi", BlackHole(), nth=EVERY)
    with client_for(proxy.uri, metastore.uri, user="ann", connect_timeout_ms=500) as client:
        assert "default" in client.get_all_databases()
    with (
        client_for(proxy.uri, user="ann", connect_timeout_ms=500) as client,
        pytest.raises(MetastoreUnavailableError, match="no connection within 500 ms"),
    ):
        client.get_all_databases()
    assert proxy.methods == ["set_ugi"] * 2


# -- Reads are repeated, writes are not -------------------------------------------------------------------------------

FAULTS = [
    pytest.param(DropRequest(), id="request dropped"),
    pytest.param(DropRequest(reset=True), id="request reset"),
    pytest.param(DropReply(), id="reply dropped"),
    pytest.param(DropReply(reset=True), id="reply reset"),
    pytest.param(CutReply(), id="half a reply"),
    pytest.param(CutReply(keep=3), id="three bytes of a reply"),
]

READS: dict[str, Callable[[MetastoreClient, str], object]] = {
    "get_table_req": lambda client, database: client.get_table(database, "v").tableName,  # type: ignore[union-attr]
    "get_table_objects_by_name_req": lambda client, database: [t.tableName for t in client.get_tables(database, ["v"])],
    "get_tables_by_type": lambda client, database: client.get_table_names_by_type(database, "VIRTUAL_VIEW"),
    "get_table_names_by_filter": lambda client, database: client.get_table_names_by_filter(database, ""),
    "get_all_tables": lambda client, database: client.get_all_tables(database),
    "get_database": lambda client, database: client.get_database(database).name,
    "show_locks": lambda client, database: client.show_locks(database, "v"),
    "getVersion": lambda client, database: client.server_version(),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_read_survives_broken_connection(
    client: MetastoreClient, proxy: ThriftProxy, database: str, fault: Action
) -> None:
    client.create_table(view(database, "v"))
    proxy.on("get_table_req", fault)
    row = client.get_table(database, "v")
    assert row is not None
    assert proxy.methods == ["create_table", "get_table_req", "get_table_req"]
    assert proxy.connections == 2


@pytest.mark.parametrize("method", READS)
def test_every_read_is_repeated(client: MetastoreClient, proxy: ThriftProxy, database: str, method: str) -> None:
    client.create_table(view(database, "v"))
    calm = READS[method](client, database)
    proxy.clear()
    proxy.on(method, DropReply())
    assert READS[method](client, database) == calm
    assert proxy.methods == [method] * 2


def test_read_is_repeated_limited_times(client: MetastoreClient, proxy: ThriftProxy, database: str) -> None:
    proxy.on("get_table_req", DropReply(), nth=EVERY)
    with pytest.raises(MetastoreConnectionLostError):
        client.get_table(database, "v")
    assert proxy.methods == ["get_table_req"] * MAX_SENDS


WRITES: dict[str, Callable[[MetastoreClient, str], object]] = {
    "create_table": lambda client, database: client.create_table(view(database, "new")),
    "alter_table_with_environment_context": lambda client, database: client.alter_table(
        database, "v", view(database, "v", x="2"), {}
    ),
    "drop_table": lambda client, database: client.drop_table(database, "v"),
    "create_database": lambda client, database: client.create_database(Database(name=database)),
    "alter_database": lambda client, database: client.alter_database(database, client.get_database(database)),
    "drop_database": lambda client, database: client.drop_database(f"{database}_missing"),
}


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("fault", FAULTS)
def test_write_is_sent_once(
    client: MetastoreClient, proxy: ThriftProxy, database: str, method: str, fault: Action
) -> None:
    client.create_table(view(database, "v"))
    proxy.clear()
    proxy.on(method, fault)
    with pytest.raises(MetastoreConnectionLostError) as caught:
        WRITES[method](client, database)
    assert not isinstance(caught.value, MetastoreTimeoutError)
    assert caught.value.uri == proxy.uri
    assert proxy.methods.count(method) == 1


@pytest.mark.parametrize("fault", [DropReply(), DropReply(silent=True)], ids=["dropped", "silent"])
def test_write_with_lost_reply_raises_connection_lost(proxy: ThriftProxy, database: str, fault: Action) -> None:
    proxy.on("create_table", fault)
    with client_for(proxy.uri, call_timeout_ms=1_500) as client:
        with pytest.raises(MetastoreConnectionLostError):
            client.create_table(view(database, "v"))
        assert client.get_table(database, "v") is not None


def test_write_is_sent_again_if_idle_connection_was_dead(
    client: MetastoreClient, proxy: ThriftProxy, database: str
) -> None:
    client.get_all_databases()
    proxy.disconnect()
    client.create_table(view(database, "v"))
    assert proxy.methods == ["get_all_databases", "create_table"]
    assert proxy.connections == 2


def test_write_is_sent_again_if_nothing_was_sent(client: MetastoreClient, proxy: ThriftProxy, database: str) -> None:
    client.get_all_databases()
    # The connection breaks between the check and the request: there is nothing to read, and sending fails.
    client._pool._idle[-1].transport._socket.shutdown(socket.SHUT_WR)
    client.create_table(view(database, "v"))
    assert proxy.methods == ["get_all_databases", "create_table"]


def test_all_idle_connections_dead(client: MetastoreClient, proxy: ThriftProxy, database: str) -> None:
    together(4, lambda number: client.get_all_tables(database))
    kept = proxy.connections
    proxy.disconnect()
    client.create_table(view(database, "v"))
    assert client.get_all_tables(database) == ["v"]
    assert proxy.connections == kept + 1


def test_write_goes_to_next_metastore_if_first_refuses_connections(proxy: ThriftProxy, database: str) -> None:
    with ThriftProxy(proxy.server_port) as second, client_for(proxy.uri, second.uri) as client:
        client.get_all_databases()
        proxy.refuse()
        proxy.disconnect()
        client.create_table(view(database, "v"))
        assert second.methods == ["create_table"]


def test_unreachable_metastore_raises_unavailable(client: MetastoreClient, proxy: ThriftProxy, database: str) -> None:
    client.get_all_databases()
    proxy.refuse()
    proxy.disconnect()
    with pytest.raises(MetastoreUnavailableError, match=proxy.uri):
        client.create_table(view(database, "v"))
    with pytest.raises(MetastoreUnavailableError, match=proxy.uri):
        client.get_table(database, "v")
    proxy.accept()
    assert client.get_table(database, "v") is None


@pytest.mark.extended
def test_reads_and_writes_survive_server_restart(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with EmbeddedMetastore(tmp_path, port=port) as metastore, client_for(metastore.uri) as client:
        client.create_table(view("default", "before"))
        metastore.stop()
        with pytest.raises(MetastoreUnavailableError, match="refused"):
            client.create_table(view("default", "meanwhile"))
        metastore.start()
        client.create_table(view("default", "after"))
        assert sorted(client.get_all_tables("default")) == ["after", "before"]


# -- Time-outs --------------------------------------------------------------------------------------------------------


@pytest.mark.hive2
@pytest.mark.parametrize(
    "fault", [BlackHole(), DropReply(silent=True), Delay(reply_s=3)], ids=lambda f: type(f).__name__
)
def test_call_after_timeout_gets_its_own_answer(proxy: ThriftProxy, database: str, fault: Action) -> None:
    with client_for(proxy.uri, call_timeout_ms=1_500) as client:
        client.create_table(view(database, "v"))
        proxy.on("get_all_databases", fault)
        with pytest.raises(MetastoreTimeoutError, match="no answer within 1500 ms"):
            client.get_all_databases()
        assert client.get_all_tables(database) == ["v"]
        assert client.server_version() == "3.0"
        assert proxy.methods.count("get_all_databases") == 1, "a read that timed out is not repeated"


def test_call_after_interruption_gets_its_own_answer(proxy: ThriftProxy, database: str) -> None:
    proxy.on("get_all_databases", Delay(reply_s=1))
    with client_for(proxy.uri) as client:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with pytest.raises(KeyboardInterrupt):
                client.get_all_databases()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        assert client.get_all_tables(database) == []
        assert proxy.connections == 2


# -- Threads, processes, sizes ----------------------------------------------------------------------------------------


def together(count: int, work: Callable[[int], object]) -> None:
    """Run a function in several threads; raise their errors."""
    barrier = threading.Barrier(count)
    problems: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(30)
            work(number)
        except BaseException as error:
            problems.append(error)
            raise

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if problems:
        raise problems[0]


def test_threads_get_their_own_answers(client: MetastoreClient, proxy: ThriftProxy, database: str) -> None:
    for number in range(2):
        client.create_table(view(database, f"v{number}"))

    def read(number: int) -> None:
        for _ in range(200):
            row = client.get_table(database, f"v{number}")
            assert row is not None
            assert row.tableName == f"v{number}"

    together(2, read)
    assert proxy.connections <= 2


def test_connections_beyond_pool_size_are_closed(proxy: ThriftProxy, database: str) -> None:
    proxy.on("get_all_tables", Delay(reply_s=0.5), nth=EVERY)
    with client_for(proxy.uri, pool_size=1) as client:
        together(3, lambda number: client.get_all_tables(database))
        assert proxy.connections == 3
        together(2, lambda number: client.get_all_tables(database))
        assert proxy.connections == 4, "one was kept and is used again, so two calls need one more"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_opens_own_connections(client: MetastoreClient, proxy: ThriftProxy, database: str) -> None:
    client.create_table(view(database, "v"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if client.get_all_tables(database) == ["v"] else 2
        finally:
            os._exit(code)
    assert client.get_all_tables(database) == ["v"]
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert client.get_all_tables(database) == ["v"]
    by_connection = sorted(call.connection for call in proxy.calls if call.method == "get_all_tables")
    assert by_connection == [1, 1, 2]


LONG = "SELECT 'ü" + "x" * 20_000_000 + "' a"


@pytest.mark.parametrize("accelerated", [True, False])
def test_long_texts_are_read_completely(metastore: EmbeddedMetastore, accelerated: bool) -> None:
    # Derby stores 32,700 characters, so the echo of a default value replaces a long view text.
    connection = Connection.open(
        metastore.uri, ConnectionConfig((metastore.uri,), connect_timeout_ms=10_000, call_timeout_ms=60_000)
    )
    if not accelerated:
        connection.client._iprot._fast_decode = connection.client._iprot._fast_encode = None
    try:
        assert connection.client.get_config_value("hive.no.such.setting", LONG) == LONG
        assert connection.client.get_all_databases()
    finally:
        connection.close()


def test_config_value_reads_server_setting(client: MetastoreClient) -> None:
    assert client.config_value("hive.txn.timeout", "unset") != "unset"
    assert client.config_value("hive.no.such.setting", LONG) == LONG


# -- Supported methods -----------------------------------------------------------------------------------------------


@pytest.mark.hive2
def test_supported_methods_are_probed_once(client: MetastoreClient, proxy: ThriftProxy) -> None:
    assert client.supports("get_table_req")
    assert client.supports("get_table")
    assert not client.supports("alter_table_req")
    assert not client.supports("get_catalogs")
    calls_before = len(proxy.calls)
    assert client.supports("get_table_req")
    assert not client.supports("alter_table_req")
    assert len(proxy.calls) == calls_before


@pytest.mark.parametrize("method", ["get_table_req", "get_table_meta", "lock", "show_locks"])
def test_connection_is_usable_after_probe(client: MetastoreClient, database: str, method: str) -> None:
    assert client.supports(method)
    assert client.get_all_tables(database) == []
    assert client.show_locks(database, None) == []


def test_methods_with_side_effects_are_not_probed(client: MetastoreClient, proxy: ThriftProxy) -> None:
    with pytest.raises(ValueError, match="drop_database cannot be probed"):
        client.supports("drop_database")
    assert proxy.methods == []


@pytest.mark.hive2
def test_unknown_method_falls_back_to_next_variant(metastore: EmbeddedMetastore, database: str) -> None:
    def new(client: object, database: str) -> list[str]:
        tried.append("new")
        client.get_catalogs()  # type: ignore[attr-defined]
        raise AssertionError("2.3.10 knows no catalogs")

    def old(client: object, database: str) -> list[str]:
        tried.append("old")
        return list(client.get_all_tables(database))  # type: ignore[attr-defined]

    tried: list[str] = []
    connection = Connection.open(
        metastore.uri, ConnectionConfig((metastore.uri,), connect_timeout_ms=10_000, call_timeout_ms=60_000)
    )
    try:
        variants = {"get_catalogs": new, "get_all_tables": old}
        assert call_first_supported(connection, variants, (database,)) == []
        assert call_first_supported(connection, variants, (database,)) == []
        assert tried == ["new", "old", "old"]

        # The server was replaced by another version: unknown variants are tried again.
        tried.clear()
        with pytest.raises(UnknownMethodError, match="knows none of get_catalogs"):
            call_first_supported(connection, {"get_catalogs": new}, (database,))
        assert tried == ["new"]
    finally:
        connection.close()


def test_internal_server_error_is_refused_and_closes_the_connection(
    client: MetastoreClient, proxy: ThriftProxy, database: str
) -> None:
    with pytest.raises(MetastoreRefusedError) as caught:
        client._read("get_table_req", lambda generated: generated.get_table_req(GetTableRequest()))
    assert isinstance(caught.value.__cause__, TApplicationException)
    assert caught.value.uri == proxy.uri
    # The server stopped reading the request, so a write on the same connection would get lost.
    client.create_table(view(database, "v"))
    assert proxy.connections == 2


def test_transport_errors_name_method_and_server(proxy: ThriftProxy, database: str) -> None:
    proxy.on(ANY, DropRequest(), nth=EVERY)
    with client_for(proxy.uri) as client, pytest.raises(MetastoreError) as caught:
        client.get_all_tables(database)
    assert (caught.value.method, caught.value.uri) == ("get_all_tables", proxy.uri)
