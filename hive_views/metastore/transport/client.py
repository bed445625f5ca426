"""The metastore's Thrift calls as Python methods, with retries, fail-over and defined errors.

Reads are repeated over a new connection, if necessary to another metastore of the `uri` property. A write is sent once,
unless it is certain that no byte of it was sent. Errors that the server declares for a write (`MetaException` …) are
raised unchanged, because only the caller can determine whether they prove that nothing was changed. All other errors
become errors of this package.

If a call on a connection ends without an answer or a declared error, the connection is closed and not used again:
otherwise the answer to a request that timed out would be taken for the answer to the next request.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from struct import error as StructError  # noqa: N812 (it is a class)
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from hive_views.config import HIVE_CATALOG, METASTORE_CATALOG, ConnectionConfig, current_user
from hive_views.errors import (
    MetastoreAuthenticationError,
    MetastoreConnectionLostError,
    MetastoreRefusedError,
    MetastoreTimeoutError,
    MetastoreUnavailableError,
    NoSuchNamespaceError,
    PermissionDeniedError,
)
from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.metastore.denials import denied_user, is_denial
from hive_views.metastore.transport.connection import Connection, NoThriftAnswerError
from hive_views.metastore.transport.failures import HttpRejection, SecurityFailure, is_failed_lookup
from hive_views.metastore.transport.methods import UnknownMethodError, call_first_supported, supports_method
from hive_views.metastore.transport.pool import ConnectionPool

if TYPE_CHECKING:
    from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client

T = TypeVar("T")

requests_logger = logging.getLogger("hive_views.requests")
"""Logs each request at the level DEBUG: its method, and the URI of the metastore."""

BATCH_SIZE = 100
"""The number of names in one request for whole objects, as in Iceberg's Java catalog."""

MAX_REFUSED_REQUESTS = 64
"""The number of refused requests after which the rows of a refused batch are not requested in smaller batches."""

OnRefused = Callable[[str, MetastoreRefusedError], None]
"""Called with the name of a row that the server refuses to return, and the error."""

_CLIENT_CAPABILITIES = ttypes.ClientCapabilities([ttypes.ClientCapability.INSERT_ONLY_TABLES])
"""What Java's HiveMetaStoreClient of Hive 3 and 4 sends with these requests. Without it a server refuses an answer that
contains an insert-only table (measured on 3.1.3, 4.0.1, 4.1.0 and 4.2.0); 2.3.10 ignores it."""

_TEXT_FIELDS = ["dbName", "tableName", "tableType", "viewOriginalText", "viewExpandedText"]
"""The fields of a projection, by Hive 4's names. Without the type, Hive returns no texts (measured on 4.0.1)."""

MAX_SENDS = 3
"""The maximum number of attempts for a repeatable request."""

CAS_VERIFIED = "compare-and-swap"
"""Key of `Connection.capabilities`: whether `hive_views.metastore.capabilities` has verified its CAS."""

_READS_FROM_CACHE = "reads from a cache"
"""Key of `Connection.capabilities`; see `MetastoreClient.reads_from_cache`."""

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
_FAILED_READS = (ttypes.MetaException, ttypes.InvalidOperationException)
"""Declared errors that mean that a read failed; the others mean that an object is missing."""

_INCOMPARABLE_NAME = "Illegal mix of collations"
"""Part of the MetaException for a name that MySQL or MariaDB can neither compare with Hive's latin1 columns nor store
in them (4.2.0). Hive 3.1.3 does not quote the database's message, so this case looks like any failed read."""

_DROPPED_DURING_READ = "No such database row"
"""The message of the MetaException if a row was dropped while the server read its parts (DataNucleus; 2.3.10)."""

_UNREADABLE_ANSWER = (TProtocolException, TTransportException, StructError, OverflowError, ValueError, TypeError)


class MetastoreClient:
    """Calls to one metastore, or to several that serve the same data.

    Thread-safe: each call uses a connection exclusively. After a fork the child starts without connections. Errors that
    the server declares for a write are raised as the generated classes. In addition, every method raises

    * `MetastoreUnavailableError` if no metastore can be reached; nothing was executed;
    * `MetastoreTimeoutError` if the answer does not come in time, and `MetastoreConnectionLostError` if the
      connection breaks after (a part of) the request was sent; it may have been executed;
    * `MetastoreRefusedError` if the server fails, does not know the method, or sends an unreadable answer.
    """

    def __init__(self, config: ConnectionConfig) -> None:
        """Create a client; it connects with its first call."""
        self._config = config
        self._pool = ConnectionPool(config)
        self._catalog = config.catalog
        self.can_lock = False
        """Whether the metastore has accepted a lock request of this client before."""

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
        """The URIs of the metastores, as configured."""
        return self._config.uris

    # -- Tables and views: read ---------------------------------------------------------------------------------------

    def get_table(self, database: str, name: str) -> ttypes.Table | None:
        """Return the row of a table or view, or None if there is none."""
        try:
            return self._call(
                "get_table",
                _GET_TABLE,
                (self._named_catalog(), database, name),
                subject=f"{database}.{name}",
                repeat=True,
            )
        except ttypes.NoSuchObjectException:
            return None
        except MetastoreRefusedError as error:
            if _is_incomparable(error, database + name):
                return None
            raise

    def get_tables(
        self, database: str, names: Sequence[str], on_refused: OnRefused | None = None
    ) -> list[ttypes.Table]:
        """Return the rows of several tables and views of one database, read in batches; missing rows are omitted.

        A server refuses a batch if it cannot return one of its rows. With `on_refused`, the other rows are read in
        smaller batches, and it is called for each row that cannot be read. Without it the error is raised.
        """

        def read(batch: list[str]) -> list[ttypes.Table]:
            arguments = (self._named_catalog(), database, batch)
            return self._call("get_tables", _GET_TABLES, arguments, subject=database, repeat=True)

        return self._read_batches(database, names, read, on_refused)

    def get_view_texts(
        self, database: str, names: Sequence[str], on_refused: OnRefused | None = None
    ) -> list[ttypes.Table]:
        """Return only the names and texts of several views of one database; missing views are omitted.

        Only servers of Hive 4 omit the other fields (HIVE-23949), which saves them a dozen queries for each row. For
        `on_refused` see `get_tables`.
        """
        request = ttypes.GetTablesRequest(
            dbName=database,
            catName=self._named_catalog(),
            capabilities=_CLIENT_CAPABILITIES,
            projectionSpec=ttypes.GetProjectionsSpec(_TEXT_FIELDS),
        )

        def read(batch: list[str]) -> list[ttypes.Table]:
            request.tblNames = batch
            return self._read(
                "get_table_objects_by_name_req",
                lambda client: list(client.get_table_objects_by_name_req(request).tables),
                subject=database,
            )

        return self._read_batches(database, names, read, on_refused)

    def _read_batches(
        self,
        database: str,
        names: Sequence[str],
        read: Callable[[list[str]], list[ttypes.Table]],
        on_refused: OnRefused | None,
    ) -> list[ttypes.Table]:
        """Read rows in batches; the halves of a batch that the server refuses are requested by themselves."""
        tables: list[ttypes.Table] = []
        pending = list(_batches(names, BATCH_SIZE))[::-1]
        refusals = 0
        with suppress(ttypes.UnknownDBException):
            while pending:
                batch = pending.pop()
                try:
                    tables += read(batch)
                except MetastoreRefusedError as error:
                    if on_refused is None:
                        raise
                    if refusals == 0:
                        self.get_database(database)  # raises if the server answers no request at all
                    refusals += 1
                    if len(batch) > 1 and refusals <= MAX_REFUSED_REQUESTS:
                        middle = len(batch) // 2
                        pending += [batch[middle:], batch[:middle]]
                        continue
                    for name in batch:
                        on_refused(name, error)
        return tables

    def get_table_names_by_filter(self, database: str, filter: str) -> list[str]:
        """Return the names of the tables and views that match an expression of Hive's filter language.

        The list is empty if the database does not exist, as in the other methods that return names.
        """
        qualified_database = self._qualified(database)
        with suppress(ttypes.UnknownDBException):
            return self._read(
                "get_table_names_by_filter",
                lambda client: client.get_table_names_by_filter(qualified_database, filter, -1),
                subject=database,
            )
        return []

    def get_table_names_by_type(self, database: str, table_type: str) -> list[str]:
        """Return the names of the tables or views of one tableType."""
        arguments = (self._named_catalog(), database, table_type)
        with suppress(ttypes.UnknownDBException):
            return self._call("get_tables_by_type", _NAMES_BY_TYPE, arguments, subject=database, repeat=True)
        return []

    def get_all_tables(self, database: str) -> list[str]:
        """Return the names of all tables and views of a database, in no particular order."""
        qualified_database = self._qualified(database)
        with suppress(ttypes.UnknownDBException):
            return self._read(
                "get_all_tables", lambda client: client.get_all_tables(qualified_database), subject=database
            )
        return []

    def has_function(self, database: str, name: str) -> bool:
        """Return whether a database has a permanent function."""
        qualified_database = self._qualified(database)
        try:
            self._read(
                "get_function",
                lambda client: client.get_function(qualified_database, name),
                subject=f"{database}.{name}",
            )
        except ttypes.NoSuchObjectException as error:
            if is_failed_lookup(error):
                raise MetastoreRefusedError("get_function", f"{database}.{name}: {error.message}") from error
            return False
        return True

    # -- Databases ----------------------------------------------------------------------------------------------------

    def get_all_databases(self) -> list[str]:
        """Return the names of all databases, in no particular order."""
        pattern = self._qualified("")
        if not pattern:
            return self._read("get_all_databases", lambda client: client.get_all_databases())
        return self._read("get_databases", lambda client: client.get_databases(pattern))

    def get_catalogs(self) -> list[str]:
        """Return the names of the metastore's catalogs; for Hive 2, which has no catalogs, only `hive`."""
        if not self.supports("get_catalogs"):
            return [HIVE_CATALOG]
        return list(self._read("get_catalogs", lambda client: client.get_catalogs()).names or ())

    def own_catalog(self) -> str:
        """Return the catalog with this client's databases: the configured one, else the server's default."""
        return self._catalog or self.default_catalog()

    def default_catalog(self) -> str:
        """Return the catalog of requests that name none, from the server's configuration; `hive` for Hive 2."""
        return self._read("get_config_value", _default_catalog)

    def get_database(self, name: str) -> ttypes.Database:
        """Return a database."""
        qualified_database = self._qualified(name)
        try:
            return self._read("get_database", lambda client: client.get_database(qualified_database), subject=name)
        except ttypes.NoSuchObjectException as error:
            if is_failed_lookup(error) and not _is_incomparable(error, name):
                raise MetastoreRefusedError("get_database", f"{name}: {error.message}") from error
            raise NoSuchNamespaceError(name) from None

    def create_database(self, database: ttypes.Database) -> None:
        """Create a database."""
        qualified = self._in_catalog(database, "catalogName")
        self._write("create_database", lambda client: client.create_database(qualified))

    def alter_database(self, name: str, database: ttypes.Database) -> None:
        """Replace a database's properties, owner and description."""
        qualified_database = self._qualified(name)
        self._write("alter_database", lambda client: client.alter_database(qualified_database, database))

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Drop a database but not its files; `cascade` drops its tables and views as well."""
        qualified_database = self._qualified(name)
        self._write("drop_database", lambda client: client.drop_database(qualified_database, False, cascade))

    # -- Tables and views: write --------------------------------------------------------------------------------------

    def create_table(self, table: ttypes.Table) -> None:
        """Create a table or view."""
        qualified = self._in_catalog(table, "catName")
        self._write("create_table", lambda client: client.create_table(qualified))

    def alter_table(
        self,
        database: str,
        name: str,
        table: ttypes.Table,
        context: Mapping[str, str],
        *,
        only_verified_cas: bool = False,
    ) -> None:
        """Replace the row of a table or view.

        With `only_verified_cas` the request is sent only to a server whose CAS support was verified; otherwise
        MetastoreUnavailableError is raised.
        """
        qualified = self._in_catalog(table, "catName")
        self._call(
            "alter_table",
            _ALTER_TABLE,
            (self._named_catalog(), database, name, qualified, dict(context)),
            repeat=False,
            only_verified_cas=only_verified_cas,
        )

    def drop_table(self, database: str, name: str) -> None:
        """Drop a table or view but not its files."""
        self._call("drop_table", _DROP_TABLE, (self._named_catalog(), database, name), repeat=False)

    # -- Partitions -------------------------------------------------------------------------------------------------

    def get_partition_names(self, database: str, name: str) -> list[str]:
        """Return the names of all partitions, e.g. `ds=2026-01-01/hr=7`, escaped as in paths, in no defined order."""
        qualified_database = self._qualified(database)
        return self._read(
            "get_partition_names",
            lambda client: client.get_partition_names(qualified_database, name, -1),
            subject=f"{database}.{name}",
        )

    def get_partitions(self, database: str, name: str, names: Sequence[str]) -> list[ttypes.Partition]:
        """Return partitions of a table or view, read in batches; missing partitions are omitted."""
        qualified_database = self._qualified(database)
        partitions: list[ttypes.Partition] = []
        for batch in _batches(names, BATCH_SIZE):
            partitions += self._read(
                "get_partitions_by_names",
                _partitions_by_names(qualified_database, name, batch),
                subject=f"{database}.{name}",
            )
        return partitions

    def add_partition(self, partition: ttypes.Partition) -> None:
        """Add a partition."""
        qualified = self._in_catalog(partition, "catName")
        self._write("add_partition", lambda client: client.add_partition(qualified))

    def drop_partition(self, database: str, name: str, values: Sequence[str]) -> None:
        """Drop a partition but not its files."""
        qualified_database = self._qualified(database)
        self._write(
            "drop_partition", lambda client: client.drop_partition(qualified_database, name, list(values), False)
        )

    # -- Locks --------------------------------------------------------------------------------------------------------

    def lock(self, request: ttypes.LockRequest) -> ttypes.LockResponse:
        """Request a lock; sent once, because each request creates a new lock."""
        response = self._write("lock", lambda client: client.lock(request))
        self.can_lock = True
        return response

    def check_lock(self, lock_id: int) -> ttypes.LockResponse:
        """Return the state of a requested lock; counts as a heartbeat."""
        return self._read("check_lock", lambda client: client.check_lock(ttypes.CheckLockRequest(lockid=lock_id)))

    def unlock(self, lock_id: int) -> None:
        """Release a lock or withdraw the request for one."""
        self._read("unlock", lambda client: client.unlock(ttypes.UnlockRequest(lockid=lock_id)))

    def heartbeat(self, lock_id: int) -> None:
        """Send a heartbeat for a lock."""
        self._read("heartbeat", lambda client: client.heartbeat(ttypes.HeartbeatRequest(lockid=lock_id)))

    def show_locks(self, database: str, name: str | None) -> list[ttypes.ShowLocksResponseElement]:
        """Return the held and requested locks on a table or view; on the database and all in it if `name` is None."""
        request = ttypes.ShowLocksRequest(dbname=database, tablename=name)
        response = self._read("show_locks", lambda client: client.show_locks(request))
        return list(response.locks or ())

    # -- The server ---------------------------------------------------------------------------------------------------

    def server_version(self) -> str:
        """Return the version string of the server. It is unreliable: 2.3 and 3.1 both return `3.0`. See `supports`."""
        return self._read("getVersion", lambda client: client.getVersion())

    def config_value(self, name: str, default: str) -> str:
        """Return a setting of the server."""
        return self._read("get_config_value", lambda client: client.get_config_value(name, default))

    def reads_from_cache(self) -> bool:
        """Return whether the server answers reads from a cache that lags (Hive's CachedStore); remembered."""
        return self._exchange("get_config_value", _reads_from_cache, repeat=True)

    def supports(self, method: str) -> bool:
        """Return whether the server knows a Thrift method, by calling it in a way that changes nothing."""
        try:
            return self._exchange(
                method, lambda connection: supports_method(connection, method), repeat=True, probe=True
            )
        except (*_DECLARED, MetastoreRefusedError):
            return True

    def current_server(self) -> tuple[str, dict[str, bool]]:
        """Return the URI of the server that the next call most likely goes to, and the known capabilities of it.

        Entries that are added to the capabilities are kept as long as the connections to the server.
        """
        return self._exchange("connect", lambda connection: (connection.uri, connection.capabilities), repeat=True)

    def authenticated_user(self) -> str:
        """Return the user whom the server sees: the owner of new rows. Without one, the user of this process."""
        return self._exchange("connect", lambda connection: connection.user, repeat=True) or current_user()

    def delegation_token(self) -> tuple[str, str] | None:
        """Return a metastore and a token with which other machines connect to it as this user.

        Returns:
            The URI and the token; None if this client does not authenticate by Kerberos.

        Raises:
            MetastoreAuthenticationError: If the metastore gives no token.
        """
        tokens = self._pool.tokens
        if tokens is None:
            return None
        uri, _ = self.current_server()
        try:
            return uri, tokens.token(uri)
        except SecurityFailure as error:
            raise MetastoreAuthenticationError("get_delegation_token", str(error), error.step, uri=uri) from error

    def for_server(self, uri: str) -> MetastoreClient:
        """Return a client for only one of the metastores, to be closed after use."""
        return MetastoreClient(self._config._replace(uris=(uri,)))

    # -- Making a call -------------------------------------------------------------------------------------------

    def _named_catalog(self) -> str | None:
        """Return the catalog that requests name; without one, the server takes its own default.

        Hive 2 has no catalogs, and takes `@hive#` for a part of the database's name.
        """
        return None if self._catalog == HIVE_CATALOG and not self.supports("get_catalogs") else self._catalog

    def _qualified(self, database: str) -> str:
        """Return a database's name for calls without a catalog field (`MetaStoreUtils.prependCatalogToDbName`)."""
        return _qualified(self._named_catalog(), database)

    def _in_catalog(self, value: T, field: str) -> T:
        """Return a struct that names its catalog, unless none is configured."""
        catalog = self._named_catalog()
        if catalog is None or getattr(value, field):
            return value
        qualified = copy.copy(value)
        setattr(qualified, field, catalog)
        return qualified

    def _check_catalog(self, connection: Connection) -> None:
        """Reject servers without the configured catalog: they list nothing, or another catalog's databases."""
        catalog = self._catalog
        has_catalog = f"catalog {catalog}"
        if catalog is None or connection.capabilities.get(has_catalog):
            return
        if supports_method(connection, "get_catalogs"):
            names = connection.client.get_catalogs().names or []
            if catalog not in map(str.lower, names):
                raise UnknownMethodError(
                    f"the server has no catalog {catalog}, or hides it; it has {', '.join(sorted(names))}. The catalog "
                    f"property {METASTORE_CATALOG} names it"
                )
        elif catalog != HIVE_CATALOG:
            raise UnknownMethodError(
                f"the server has no catalogs (Hive 3 and later have them), and {METASTORE_CATALOG} is {catalog}"
            )
        connection.capabilities[has_catalog] = True
        connection.transport.request_left = False

    def _read(self, method: str, invoke: Callable[[Client], T], *, subject: str = "") -> T:
        return self._exchange(method, lambda connection: invoke(connection.client), subject=subject, repeat=True)

    def _write(self, method: str, invoke: Callable[[Client], T]) -> T:
        return self._exchange(method, lambda connection: invoke(connection.client), repeat=False)

    def _call(
        self,
        method: str,
        variants: Mapping[str, Callable[..., T]],
        arguments: tuple[Any, ...],
        *,
        subject: str = "",
        repeat: bool,
        only_verified_cas: bool = False,
    ) -> T:
        return self._exchange(
            method,
            lambda connection: call_first_supported(connection, variants, arguments),
            subject=subject,
            repeat=repeat,
            only_verified_cas=only_verified_cas,
        )

    def _exchange(
        self,
        method: str,
        invoke: Callable[[Connection], T],
        *,
        subject: str = "",
        repeat: bool,
        only_verified_cas: bool = False,
        probe: bool = False,
    ) -> T:
        """Make one call; only this method decides about repetition and converts failures to errors.

        `subject` is the object that is read, for messages. `repeat` states that the call may be repeated, as a read.
        """
        for attempt in range(1, MAX_SENDS + 1):
            connection = self._pool.take(method)
            if only_verified_cas and not connection.capabilities.get(CAS_VERIFIED):
                self._pool.give_back(connection, monotonic())
                message = "compare-and-swap was not verified on the server that answers now"
                raise MetastoreUnavailableError(method, message, uri=connection.uri)
            is_new = connection.idle_since is None
            transport = connection.transport
            transport.request_left = False
            requests_logger.debug("%s at %s", method, connection.uri)
            try:
                self._check_catalog(connection)
                answer = invoke(connection)
            except _DECLARED as error:
                self._pool.give_back(connection, monotonic())
                if repeat and attempt < MAX_SENDS and getattr(error, "message", None) == _DROPPED_DURING_READ:
                    continue
                if repeat and isinstance(error, _FAILED_READS):
                    message = error.message or type(error).__name__
                    if is_denial(error):
                        user = denied_user(error) or connection.user or current_user()
                        raise PermissionDeniedError(
                            method, subject or "the metastore", "read", message, user=user
                        ) from error
                    raise MetastoreRefusedError(method, f"{subject}: {message}" if subject else message) from error
                raise
            except UnknownMethodError as error:
                self._pool.give_back(connection, monotonic())
                raise MetastoreRefusedError(method, str(error), uri=connection.uri) from error
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
                reason = (
                    f"no answer within {self._config.call_timeout_ms} ms (hive-views.call-timeout-ms): the metastore "
                    "or its database is down or overloaded"
                )
                if not repeat:
                    reason += "; the request may still be executed"
                raise MetastoreTimeoutError(method, reason, uri=connection.uri, may_take_effect=not repeat) from error
            except HttpRejection as error:
                connection.close()
                if error.step is None:
                    raise MetastoreUnavailableError(method, error.reason, uri=connection.uri) from error
                raise MetastoreAuthenticationError(method, error.reason, error.step, uri=connection.uri) from error
            except (OSError, EOFError) as error:
                connection.close()
                if isinstance(error, SecurityFailure) and not transport.request_left:
                    # Over HTTP each request authenticates, for example with a ticket that has expired.
                    raise MetastoreAuthenticationError(method, str(error), error.step, uri=connection.uri) from error
                self._pool.forget(connection.uri)
                if is_new:
                    self._pool.distrust(connection.uri)
                if attempt < MAX_SENDS and (repeat or not transport.request_left):
                    continue
                if not transport.request_left:
                    raise MetastoreUnavailableError(
                        method, f"no connection lasts until a request is sent: {error}", uri=connection.uri
                    ) from error
                raise MetastoreConnectionLostError(
                    method, f"the connection broke: {error}", uri=connection.uri, may_take_effect=not repeat
                ) from error
            except _UNREADABLE_ANSWER as error:
                connection.close()
                if not transport.request_left:
                    raise  # a value of the caller cannot be serialized by Thrift
                if isinstance(error, NoThriftAnswerError) and repeat:
                    self._pool.distrust(connection.uri)
                    if attempt < MAX_SENDS and len(self._config.uris) > 1:
                        continue
                    raise MetastoreUnavailableError(method, str(error), uri=connection.uri) from error
                reason = f"its answer cannot be read: {error}"
                if repeat:
                    raise MetastoreRefusedError(method, reason, uri=connection.uri) from error
                raise MetastoreConnectionLostError(method, reason, uri=connection.uri, may_take_effect=True) from error
            except BaseException:
                connection.close()
                raise
            self._pool.give_back(connection, monotonic())
            return answer
        raise AssertionError("the last attempt returns or raises")


def _is_incomparable(error: Exception, name: str) -> bool:
    """Return whether a read failed because MySQL or MariaDB cannot store the name, so that no row has it."""
    return not name.isascii() and _INCOMPARABLE_NAME in str(error)


def _reads_from_cache(connection: Connection) -> bool:
    if _READS_FROM_CACHE not in connection.capabilities:
        try:
            # This name works on all releases; Hive 3 and later call it metastore.rawstore.impl.
            store = connection.client.get_config_value("hive.metastore.rawstore.impl", "")
        except TApplicationException:
            store = ""
        connection.capabilities[_READS_FROM_CACHE] = store.endswith(".CachedStore")
    return connection.capabilities[_READS_FROM_CACHE]


def _qualified(catalog: str | None, database: str) -> str:
    return database if catalog is None else f"@{catalog}#{database}"


def _default_catalog(client: Client) -> str:
    try:
        return str(client.get_config_value(METASTORE_CATALOG, HIVE_CATALOG)).lower()
    except TApplicationException:  # Hive 2 refuses to return such a setting
        return HIVE_CATALOG


def _batches(names: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(names), size):
        yield list(names[start : start + size])


def _partitions_by_names(database: str, name: str, names: list[str]) -> Callable[[Client], list[ttypes.Partition]]:
    return lambda client: list(client.get_partitions_by_names(database, name, names))


# Variants of one call, by Thrift method; the variant that most servers know comes first. Hive 4.0.1 removed the plain
# forms of get_table and get_table_objects_by_name; alter_table_req exists since Hive 4.


def _get_table_req(client: Client, catalog: str | None, database: str, name: str) -> ttypes.Table:
    request = ttypes.GetTableRequest(dbName=database, tblName=name, catName=catalog, capabilities=_CLIENT_CAPABILITIES)
    return client.get_table_req(request).table


def _get_table(client: Client, catalog: str | None, database: str, name: str) -> ttypes.Table:
    return client.get_table(_qualified(catalog, database), name)


def _get_tables_req(client: Client, catalog: str | None, database: str, names: list[str]) -> list[ttypes.Table]:
    request = ttypes.GetTablesRequest(
        dbName=database, tblNames=names, catName=catalog, capabilities=_CLIENT_CAPABILITIES
    )
    return list(client.get_table_objects_by_name_req(request).tables)


def _get_tables(client: Client, catalog: str | None, database: str, names: list[str]) -> list[ttypes.Table]:
    return list(client.get_table_objects_by_name(_qualified(catalog, database), names))


def _names_by_type(client: Client, catalog: str | None, database: str, table_type: str) -> list[str]:
    return list(client.get_tables_by_type(_qualified(catalog, database), "*", table_type))


def _names_by_meta(client: Client, catalog: str | None, database: str, table_type: str) -> list[str]:
    metas = client.get_table_meta(_qualified(catalog, database), "*", [table_type])
    return [meta.tableName for meta in metas]


def _alter_table(
    client: Client, catalog: str | None, database: str, name: str, table: ttypes.Table, context: dict[str, str]
) -> None:
    environment = ttypes.EnvironmentContext(properties=context)
    client.alter_table_with_environment_context(_qualified(catalog, database), name, table, environment)


def _alter_table_req(
    client: Client, catalog: str | None, database: str, name: str, table: ttypes.Table, context: dict[str, str]
) -> None:
    request = ttypes.AlterTableRequest(
        catName=catalog or _default_catalog(client),
        dbName=database,
        tableName=name,
        table=table,
        environmentContext=ttypes.EnvironmentContext(properties=context),
        expectedParameterKey=context.get(EXPECTED_PARAMETER_KEY),
        expectedParameterValue=context.get(EXPECTED_PARAMETER_VALUE),
    )
    client.alter_table_req(request)


def _drop_table(client: Client, catalog: str | None, database: str, name: str) -> None:
    client.drop_table(_qualified(catalog, database), name, False)


def _drop_table_req(client: Client, catalog: str | None, database: str, name: str) -> None:
    client.drop_table_req(
        ttypes.DropTableRequest(
            catalogName=catalog or _default_catalog(client), dbName=database, tableName=name, deleteData=False
        )
    )


EXPECTED_PARAMETER_KEY = "expected_parameter_key"
"""Key of the environment context: the row parameter that must have the expected value (HIVE-26882)."""

EXPECTED_PARAMETER_VALUE = "expected_parameter_value"
"""Key of the environment context: the expected value; the server rejects the request if the row has another one."""

_GET_TABLE = {"get_table_req": _get_table_req, "get_table": _get_table}
_GET_TABLES = {"get_table_objects_by_name_req": _get_tables_req, "get_table_objects_by_name": _get_tables}
_NAMES_BY_TYPE = {"get_tables_by_type": _names_by_type, "get_table_meta": _names_by_meta}
_ALTER_TABLE = {"alter_table_with_environment_context": _alter_table, "alter_table_req": _alter_table_req}
_DROP_TABLE = {"drop_table": _drop_table, "drop_table_req": _drop_table_req}
