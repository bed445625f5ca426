"""The metastore's calls, as Python methods that behave when the network does not.

What may be repeated is repeated, what may not is not: reads go out again over a fresh connection (and to the other
metastores of the `uri` property); a write is sent once, unless it is certain that nothing of it has left. Errors that
the server declares (`NoSuchObjectException`, `MetaException` …) pass as they are, because only the caller knows the
view that they are about; everything else becomes one of our errors.

A connection on which anything else than an answer or a declared error came is closed and never used again: the answer
to a request that timed out would otherwise be taken for the answer to the next.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from struct import error as StructError  # noqa: N812 (it is a class)
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar

from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from hive_views.config import METASTORE_CATALOG, METASTORE_CATALOG_DEFAULT, ConnectionConfig
from hive_views.errors import (
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreTimeoutError,
    MetastoreUnavailableError,
    NoSuchNamespaceError,
)
from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore.transport.connection import Connection
from hive_views.metastore.transport.methods import UnknownMethodError, call_first_supported, supports_method
from hive_views.metastore.transport.pool import ConnectionPool

T = TypeVar("T")

BATCH_SIZE = 100
"""Names in one request for whole objects, as Iceberg's Java catalog asks for them."""

MAX_SENDS = 3
"""How often a request that may be repeated is sent at most."""

CAS_VERIFIED = "compare-and-swap"
"""What `hive_views.metastore.capabilities` has found out about a server, beside the methods that it knows."""

_DECLARED = (
    ttypes.MetaException,
    ttypes.UnknownDBException,
    ttypes.AlreadyExistsException,
    ttypes.InvalidObjectException,
    ttypes.NoSuchObjectException,
    ttypes.InvalidOperationException,
    ttypes.NoSuchTxnException,
    ttypes.TxnAbortedException,
    ttypes.TxnOpenException,
    ttypes.NoSuchLockException,
)
_UNREADABLE = (TProtocolException, TTransportException, StructError, OverflowError, ValueError, TypeError)


class MetastoreClient:
    """Calls to one metastore, or to several that serve the same data.

    Safe for threads: each call has a connection to itself. After a fork the child starts without connections. Errors
    that the server declares are raised as the generated classes; besides, every method raises

    * `MetastoreUnavailableError` if no metastore can be reached: nothing happened there;
    * `MetastoreTimeoutError` if the answer does not come in time, and `MetastoreConnectionLostError` if the
      connection breaks after (a part of) the request was sent: it may have been carried out;
    * `MetastoreRefusedError` if the server fails, does not know the method, or answers what cannot be read.
    """

    def __init__(self, config: ConnectionConfig) -> None:
        """Make a client; it connects with its first call."""
        self._config = config
        self._pool = ConnectionPool(config)
        self._catalog = config.catalog
        self.can_lock = False
        """Whether it is known to: it has taken a request for a lock."""

    def close(self) -> None:
        """Close all connections; later calls raise `MetastoreUnavailableError`."""
        self._pool.close()

    def __enter__(self) -> MetastoreClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MetastoreClient({', '.join(self._config.uris)})"

    @property
    def uris(self) -> tuple[str, ...]:
        """The metastores, as they were given."""
        return self._config.uris

    @property
    def user(self) -> str | None:
        """The user whom the metastore is told on connecting; None if it is told none."""
        return self._config.user

    # -- Tables and views: read ---------------------------------------------------------------------------------------

    def get_table(self, database: str, name: str) -> ttypes.Table | None:
        """The row of a table or view."""
        try:
            return self._call("get_table", _GET_TABLE, (self._catalog, database, name), repeat=True)
        except ttypes.NoSuchObjectException:
            return None
        except ttypes.MetaException:
            # MySQL in Hive's latin1 fails to compare such a name ("Illegal mix of collations"); no server stores one.
            if name.isascii() and database.isascii():
                raise
            return None

    def get_tables(self, database: str, names: Sequence[str]) -> list[ttypes.Table]:
        """The rows of several tables and views of one database, asked for in batches."""
        tables: list[ttypes.Table] = []
        for batch in _batches(names, BATCH_SIZE):
            tables += self._call("get_tables", _GET_TABLES, (self._catalog, database, batch), repeat=True)
        return tables

    def get_table_names_by_filter(self, database: str, filter: str) -> list[str]:
        """Names of the tables and views that a filter of Hive's filter language selects."""
        place = _qualified(self._catalog, database)
        return self._read(
            "get_table_names_by_filter", lambda client: client.get_table_names_by_filter(place, filter, -1)
        )

    def get_table_names_by_type(self, database: str, table_type: str) -> list[str]:
        """Names of the tables or views of one type."""
        return self._call("get_tables_by_type", _NAMES_BY_TYPE, (self._catalog, database, table_type), repeat=True)

    def get_all_tables(self, database: str) -> list[str]:
        """Names of all tables and views of a database, in no order."""
        place = _qualified(self._catalog, database)
        return self._read("get_all_tables", lambda client: client.get_all_tables(place))

    # -- Databases ----------------------------------------------------------------------------------------------------

    def get_all_databases(self) -> list[str]:
        """Names of all databases, in no order."""
        if self._catalog == METASTORE_CATALOG_DEFAULT:
            return self._read("get_all_databases", lambda client: client.get_all_databases())
        everything = _qualified(self._catalog, "")
        return self._read("get_databases", lambda client: client.get_databases(everything))

    def get_catalogs(self) -> list[str]:
        """Names of the metastore's catalogs; on a server of Hive 2, which has none, that of the only one there is."""
        if not self.supports("get_catalogs"):
            return [METASTORE_CATALOG_DEFAULT]
        try:
            return list(self._read("get_catalogs", lambda client: client.get_catalogs()).names or ())
        except ttypes.MetaException as error:
            raise MetastoreRefusedError("get_catalogs", error.message or "") from error

    def get_database(self, name: str) -> ttypes.Database:
        """A database."""
        try:
            place = _qualified(self._catalog, name)
            return self._read("get_database", lambda client: client.get_database(place))
        except ttypes.NoSuchObjectException:
            raise NoSuchNamespaceError(name) from None

    def create_database(self, database: ttypes.Database) -> None:
        """Create a database."""
        own = self._in_catalog(database, "catalogName")
        self._write("create_database", lambda client: client.create_database(own))

    def alter_database(self, name: str, database: ttypes.Database) -> None:
        """Replace a database's properties, owner and description."""
        place = _qualified(self._catalog, name)
        self._write("alter_database", lambda client: client.alter_database(place, database))

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Drop a database, never its files; `cascade` drops its tables and views as well."""
        place = _qualified(self._catalog, name)
        self._write("drop_database", lambda client: client.drop_database(place, False, cascade))

    # -- Tables and views: write --------------------------------------------------------------------------------------

    def create_table(self, table: ttypes.Table) -> None:
        """Create a table or view."""
        own = self._in_catalog(table, "catName")
        self._write("create_table", lambda client: client.create_table(own))

    def alter_table(
        self,
        database: str,
        name: str,
        table: ttypes.Table,
        context: Mapping[str, str],
        *,
        only_verified_cas: bool = False,
    ) -> None:
        """Replace the row of a table or view."""
        own = self._in_catalog(table, "catName")
        self._call(
            "alter_table",
            _ALTER_TABLE,
            (self._catalog, database, name, own, dict(context)),
            repeat=False,
            only_verified_cas=only_verified_cas,
        )

    def drop_table(self, database: str, name: str) -> None:
        """Drop a table or view, never its files."""
        self._call("drop_table", _DROP_TABLE, (self._catalog, database, name), repeat=False)

    # -- Partitions -------------------------------------------------------------------------------------------------

    def get_partition_names(self, database: str, name: str) -> list[str]:
        """Names of all partitions of a table or view, e.g. `ds=2026-01-01/hr=7`, escaped as in paths; in no order."""
        place = _qualified(self._catalog, database)
        return self._read("get_partition_names", lambda client: client.get_partition_names(place, name, -1))

    def get_partitions(self, database: str, name: str, names: Sequence[str]) -> list[ttypes.Partition]:
        """Partitions of a table or view, asked for in batches; those that are gone are not among them."""
        place = _qualified(self._catalog, database)
        found: list[ttypes.Partition] = []
        for batch in _batches(names, BATCH_SIZE):
            found += self._read("get_partitions_by_names", _partitions_by_names(place, name, batch))
        return found

    def get_delegation_token(self, owner: str, renewer: str) -> str:
        """A token with which others (Spark's executors) connect as its owner; asked for over Kerberos only."""
        return self._read("get_delegation_token", lambda client: str(client.get_delegation_token(owner, renewer)))

    def add_partition(self, partition: ttypes.Partition) -> None:
        """Add a partition."""
        own = self._in_catalog(partition, "catName")
        self._write("add_partition", lambda client: client.add_partition(own))

    def drop_partition(self, database: str, name: str, values: Sequence[str]) -> None:
        """Drop a partition, never its files."""
        place = _qualified(self._catalog, database)
        self._write("drop_partition", lambda client: client.drop_partition(place, name, list(values), False))

    # -- Locks --------------------------------------------------------------------------------------------------------

    def lock(self, request: ttypes.LockRequest) -> ttypes.LockResponse:
        """Ask for a lock; sent once, because each request makes a lock of its own."""
        response = self._write("lock", lambda client: client.lock(request))
        self.can_lock = True
        return response

    def check_lock(self, lock_id: int) -> ttypes.LockResponse:
        """How it stands with a lock that was asked for; counts as a heartbeat."""
        return self._read("check_lock", lambda client: client.check_lock(ttypes.CheckLockRequest(lockid=lock_id)))

    def unlock(self, lock_id: int) -> None:
        """Give up a lock, or the request for one; a lock that is gone already is none of the server's errors."""
        self._read("unlock", lambda client: client.unlock(ttypes.UnlockRequest(lockid=lock_id)))

    def heartbeat(self, lock_id: int) -> None:
        """Tell the server that a lock is still in use."""
        self._read("heartbeat", lambda client: client.heartbeat(ttypes.HeartbeatRequest(lockid=lock_id)))

    def show_locks(self, database: str, name: str | None) -> list[ttypes.ShowLocksResponseElement]:
        """Locks, held and waited for, on a table or view; with None as name, on the database and all in it."""
        request = ttypes.ShowLocksRequest(dbname=database, tablename=name)
        response = self._read("show_locks", lambda client: client.show_locks(request))
        return list(response.locks or ())

    # -- The server ---------------------------------------------------------------------------------------------------

    def server_version(self) -> str:
        """What the server calls its version. It is no help: 2.3 and 3.1 both say `3.0`. See `supports`."""
        return self._read("getVersion", lambda client: client.getVersion())

    def config_value(self, name: str, default: str) -> str:
        """A setting of the server."""
        return self._read("get_config_value", lambda client: client.get_config_value(name, default))

    def supports(self, method: str) -> bool:
        """Whether the server knows a Thrift method, found by calling it in a way that changes nothing."""
        try:
            return self._exchange(
                method, lambda connection: supports_method(connection, method), repeat=True, probe=True
            )
        except (*_DECLARED, MetastoreRefusedError):
            return True

    def server(self) -> tuple[str, dict[str, bool]]:
        """The server that the next call goes to, most likely: its URI, and what is known about it.

        What is added to the latter holds for as long as connections to it last.
        """
        return self._exchange("connect", lambda connection: (connection.uri, connection.known), repeat=True)

    def alone(self, uri: str) -> MetastoreClient:
        """A client of one of the metastores alone, to be closed after use."""
        return MetastoreClient(replace(self._config, uris=(uri,)))

    # -- How a call is made -------------------------------------------------------------------------------------------

    def _in_catalog(self, value: T, field: str) -> T:
        """A struct that says which catalog it belongs to, where that is not the one that every server takes it for."""
        if self._catalog == METASTORE_CATALOG_DEFAULT or getattr(value, field):
            return value
        own = copy.copy(value)
        setattr(own, field, self._catalog)
        return own

    def _check_catalog(self, connection: Connection) -> None:
        """A server of Hive 2 would not see the catalog in some requests, and take the others' names for databases."""
        if self._catalog == METASTORE_CATALOG_DEFAULT:
            return
        if not supports_method(connection, "get_catalogs"):
            raise UnknownMethodError(
                f"the server has no catalogs (Hive 3 and later have them), and {METASTORE_CATALOG} is {self._catalog}"
            )
        connection.transport.request_left = False

    def _read(self, method: str, invoke: Callable[[Client], T]) -> T:
        return self._exchange(method, lambda connection: invoke(connection.client), repeat=True)

    def _write(self, method: str, invoke: Callable[[Client], T]) -> T:
        return self._exchange(method, lambda connection: invoke(connection.client), repeat=False)

    def _call(
        self,
        method: str,
        variants: Mapping[str, Callable[..., T]],
        arguments: tuple[Any, ...],
        *,
        repeat: bool,
        only_verified_cas: bool = False,
    ) -> T:
        return self._exchange(
            method,
            lambda connection: call_first_supported(connection, variants, arguments),
            repeat=repeat,
            only_verified_cas=only_verified_cas,
        )

    def _exchange(
        self,
        method: str,
        invoke: Callable[[Connection], T],
        *,
        repeat: bool,
        only_verified_cas: bool = False,
        probe: bool = False,
    ) -> T:
        """Make one call: the only place that decides what is repeated, and what a failure is called."""
        for send in range(1, MAX_SENDS + 1):
            connection = self._pool.take(method)
            if only_verified_cas and not connection.known.get(CAS_VERIFIED):
                self._pool.give_back(connection, monotonic())
                message = "compare-and-swap was not only_verified_cas out on the server that answers now"
                raise MetastoreUnavailableError(method, message, uri=connection.uri)
            fresh = connection.idle_since is None
            transport = connection.transport
            transport.request_left = False
            try:
                self._check_catalog(connection)
                answer = invoke(connection)
            except _DECLARED:
                self._pool.give_back(connection, monotonic())
                raise
            except UnknownMethodError as error:
                self._pool.give_back(connection, monotonic())
                raise MetastoreRefusedError(method, str(error), uri=connection.uri) from None
            except TApplicationException as error:
                if error.type == TApplicationException.UNKNOWN_METHOD:
                    self._pool.give_back(connection, monotonic())
                elif probe:
                    self._pool.renew(connection)
                else:
                    connection.close()
                raise MetastoreRefusedError(method, str(error), uri=connection.uri) from error
            except TimeoutError as error:
                connection.close()
                self._pool.distrust(connection.uri)
                raise MetastoreTimeoutError(
                    method,
                    f"no answer within {self._config.call_timeout_ms} ms (hive-views.call-timeout-ms); "
                    "the request may still be carried out",
                    uri=connection.uri,
                ) from error
            except (OSError, EOFError) as error:
                connection.close()
                self._pool.forget(connection.uri)
                if fresh:
                    self._pool.distrust(connection.uri)
                if send < MAX_SENDS and (repeat or not transport.request_left):
                    continue
                if not transport.request_left:
                    raise MetastoreUnavailableError(
                        method, f"no connection lasts until a request is sent: {error}", uri=connection.uri
                    ) from error
                raise MetastoreConnectionLostError(
                    method, f"the connection broke: {error}", uri=connection.uri
                ) from error
            except _UNREADABLE as error:
                connection.close()
                if not transport.request_left:
                    raise  # the caller's value cannot be written as Thrift
                unreadable: type[MetastoreError] = MetastoreRefusedError if repeat else MetastoreConnectionLostError
                raise unreadable(method, f"its answer cannot be read: {error}", uri=connection.uri) from error
            except BaseException:
                connection.close()
                raise
            self._pool.give_back(connection, monotonic())
            return answer
        raise AssertionError("the last send returns or raises")


def _qualified(catalog: str, database: str) -> str:
    """A database's name in calls without a field for its catalog (Hive's `MetaStoreUtils.prependCatalogToDbName`)."""
    return database if catalog == METASTORE_CATALOG_DEFAULT else f"@{catalog}#{database}"


def _batches(names: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(names), size):
        yield list(names[start : start + size])


def _partitions_by_names(database: str, name: str, names: list[str]) -> Callable[[Client], list[ttypes.Partition]]:
    return lambda client: list(client.get_partitions_by_names(database, name, names))


# Variants of one call, by Thrift method, the one that most servers know first (the table is in facts of the wire:
# Hive 4.0.1 took the plain forms of the first two away, the request form of alter_table came with Hive 4).


def _get_table_req(client: Client, catalog: str, database: str, name: str) -> ttypes.Table:
    return client.get_table_req(ttypes.GetTableRequest(dbName=database, tblName=name, catName=catalog)).table


def _get_table(client: Client, catalog: str, database: str, name: str) -> ttypes.Table:
    return client.get_table(_qualified(catalog, database), name)


def _get_tables_req(client: Client, catalog: str, database: str, names: list[str]) -> list[ttypes.Table]:
    request = ttypes.GetTablesRequest(dbName=database, tblNames=names, catName=catalog)
    return list(client.get_table_objects_by_name_req(request).tables)


def _get_tables(client: Client, catalog: str, database: str, names: list[str]) -> list[ttypes.Table]:
    return list(client.get_table_objects_by_name(_qualified(catalog, database), names))


def _names_by_type(client: Client, catalog: str, database: str, table_type: str) -> list[str]:
    return list(client.get_tables_by_type(_qualified(catalog, database), "*", table_type))


def _names_by_meta(client: Client, catalog: str, database: str, table_type: str) -> list[str]:
    metas = client.get_table_meta(_qualified(catalog, database), "*", [table_type])
    return [meta.tableName for meta in metas]


def _alter_table(
    client: Client, catalog: str, database: str, name: str, table: ttypes.Table, context: dict[str, str]
) -> None:
    environment = ttypes.EnvironmentContext(properties=context)
    client.alter_table_with_environment_context(_qualified(catalog, database), name, table, environment)


def _alter_table_req(
    client: Client, catalog: str, database: str, name: str, table: ttypes.Table, context: dict[str, str]
) -> None:
    request = ttypes.AlterTableRequest(
        catName=catalog,
        dbName=database,
        tableName=name,
        table=table,
        environmentContext=ttypes.EnvironmentContext(properties=context),
        expectedParameterKey=context.get(EXPECTED_PARAMETER_KEY),
        expectedParameterValue=context.get(EXPECTED_PARAMETER_VALUE),
    )
    client.alter_table_req(request)


def _drop_table(client: Client, catalog: str, database: str, name: str) -> None:
    client.drop_table(_qualified(catalog, database), name, False)


def _drop_table_req(client: Client, catalog: str, database: str, name: str) -> None:
    client.drop_table_req(
        ttypes.DropTableRequest(catalogName=catalog, dbName=database, tableName=name, deleteData=False)
    )


EXPECTED_PARAMETER_KEY = "expected_parameter_key"
"""In an environment context: the parameter that must have the expected value (HIVE-26882)."""

EXPECTED_PARAMETER_VALUE = "expected_parameter_value"
"""In an environment context: the value that the row must have up to now; other values make the server refuse."""

_GET_TABLE = {"get_table_req": _get_table_req, "get_table": _get_table}
_GET_TABLES = {"get_table_objects_by_name_req": _get_tables_req, "get_table_objects_by_name": _get_tables}
_NAMES_BY_TYPE = {"get_tables_by_type": _names_by_type, "get_table_meta": _names_by_meta}
_ALTER_TABLE = {"alter_table_with_environment_context": _alter_table, "alter_table_req": _alter_table_req}
_DROP_TABLE = {"drop_table": _drop_table, "drop_table_req": _drop_table_req}
