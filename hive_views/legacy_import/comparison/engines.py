"""Engines that run queries for a comparison: HiveServer2 and Trino by their clients; Spark is in `hive_views.spark`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from hive_views.errors import MissingClientError, QueryEngineError, UsageError
from hive_views.legacy_import.legacy_view import LegacyView
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import quote_identifier, quote_name

HIVE_PASSWORD = "HIVE_VIEWS_HIVE_PASSWORD"
TRINO_PASSWORD = "HIVE_VIEWS_TRINO_PASSWORD"
"""Environment variables with the passwords of the users in the addresses."""


class QueryEngine(Protocol):
    """An engine that runs queries."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of its queries."""

    def query(self, sql: str, view: LegacyView) -> list[Sequence[Any]]:
        """Run a query in the current database, and under the settings, of a legacy view; raises QueryEngineError."""


class HiveServer:
    """A session of HiveServer2, by impyla."""

    dialect = Dialect.HIVE

    def __init__(self, connection: Any, settings: Mapping[str, str]) -> None:
        """Open a session with some of Hive's settings."""
        self._cursor = connection.cursor(configuration=dict(settings))
        self._database: str | None = None

    def query(self, sql: str, view: LegacyView) -> list[Sequence[Any]]:
        """Run a query in the database of a view; raises QueryEngineError."""
        self.execute(sql, view)
        try:
            return [tuple(row) for row in self._cursor.fetchall()]
        except Exception as error:  # see `execute`
            raise QueryEngineError("Hive", first_line(error)) from error

    def execute(self, sql: str, view: LegacyView) -> None:
        """Run a statement in the database of a view; raises QueryEngineError."""
        try:
            if self._database != view.database:
                self._cursor.execute(f"USE {quote_identifier(view.database)}")
                self._database = view.database
            self._cursor.execute(sql)
        except Exception as error:  # impyla's errors, and those of sockets and Thrift, have no common class
            raise QueryEngineError("Hive", first_line(error)) from error


class TrinoServer:
    """A connection to a coordinator of Trino."""

    dialect = Dialect.TRINO

    def __init__(self, connection: Any) -> None:
        self._cursor = connection.cursor()
        self._schema: tuple[str | None, str] | None = None

    def query(self, sql: str, view: LegacyView) -> list[Sequence[Any]]:
        """Run a query in the catalog and schema of a view; raises QueryEngineError."""
        try:
            schema = view.catalog, view.database
            if view.catalog is not None and schema != self._schema:
                self._run("USE " + quote_name((view.catalog, view.database), '"'))
                self._schema = schema
            return self._run(sql)
        except Exception as error:  # the errors of Trino's client and of HTTP have no common class
            raise QueryEngineError("Trino", first_line(error)) from error

    def _run(self, sql: str) -> list[Sequence[Any]]:
        self._cursor.execute(sql)
        return list(self._cursor.fetchall())


@contextlib.contextmanager
def connect_hive(address: str) -> Iterator[HiveServer]:
    """Connect to HiveServer2.

    Args:
        address: `hive2://USER@HOST:PORT/?OPTION=VALUE`, with options of `impala.dbapi.connect`: `auth_mechanism`
            (PLAIN, NOSASL, LDAP or GSSAPI; by default PLAIN), `use_ssl`, `ca_cert`, `use_http_transport`, `http_path`,
            `kerberos_service_name`; and settings of the session, such as `hive.vectorized.execution.enabled`. The
            environment variable HIVE_VIEWS_HIVE_PASSWORD may hold the password.

    Raises:
        UsageError: If the address is not of this form.
        MissingClientError: If impyla is not installed.
        QueryEngineError: If the server cannot be reached or rejects the user.
    """
    host, port, user, options = _parse(address, "hive2", 10000, "--hive", HIVE_PASSWORD, _HIVE_OPTIONS)
    try:
        from impala.dbapi import connect
    except ImportError:
        raise MissingClientError("impyla", "hive") from None
    try:
        # The mechanism PLAIN needs a password, which a server without authentication ignores.
        password = os.environ.get(HIVE_PASSWORD, "none")
        settings = {key: options.pop(key) for key in list(options) if key.startswith(_SETTING)}
        arguments = {"auth_mechanism": "PLAIN", **{key: _FLAGS.get(value, value) for key, value in options.items()}}
        connection = connect(host=host, port=port, user=user or "hive", password=password, **arguments)
        server = HiveServer(connection, settings)
    except Exception as error:  # see `HiveServer.execute`
        raise QueryEngineError("Hive", f"{host}:{port}: {first_line(error)}") from error
    with contextlib.closing(connection):
        yield server


@contextlib.contextmanager
def connect_trino(address: str) -> Iterator[TrinoServer]:
    """Connect to Trino.

    Args:
        address: `trino://USER@HOST:PORT/?OPTION=VALUE`, with the options `http_scheme` (`http` or `https`) and `verify`
            (`false`, or a file with certificates). The environment variable HIVE_VIEWS_TRINO_PASSWORD may hold the
            password.

    Raises:
        UsageError: If the address is not of this form.
        MissingClientError: If Trino's client is not installed.
    """
    host, port, user, options = _parse(address, "trino", 8080, "--trino", TRINO_PASSWORD, ("http_scheme", "verify"))
    try:
        from trino.auth import BasicAuthentication
        from trino.dbapi import connect
    except ImportError:
        raise MissingClientError("trino", "trino") from None
    password = os.environ.get(TRINO_PASSWORD)
    user = user or "hive"
    login = {} if password is None else {"auth": BasicAuthentication(user, password), "http_scheme": "https"}
    flags = {key: _FLAGS.get(value, value) for key, value in options.items()}
    arguments: dict[str, Any] = {"host": host, "port": port, "user": user, **login, **flags}
    with contextlib.closing(connect(**arguments)) as connection:  # type: ignore[no-untyped-call]
        yield TrinoServer(connection)


_HIVE_OPTIONS = ("auth_mechanism", "use_ssl", "ca_cert", "use_http_transport", "http_path", "kerberos_service_name")
_SETTING = "hive."
"""Begins the names of Hive's settings."""
_FLAGS: Mapping[str, bool] = {"true": True, "false": False}


def _parse(
    address: str, scheme: str, default_port: int, option: str, variable: str, known: Sequence[str]
) -> tuple[str, int, str | None, dict[str, str]]:
    """Return host, port, user and options of an address; raises UsageError."""
    try:
        parts = urlsplit(address)
        port = parts.port or default_port
        options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise UsageError(option, str(error)) from None
    if parts.scheme != scheme or not parts.hostname or parts.path not in ("", "/"):
        raise UsageError(option, f"it is not of the form {scheme}://USER@HOST:PORT/?OPTION=VALUE")
    if parts.password is not None:
        raise UsageError(option, f"it contains a password; put it into the environment variable {variable}")
    unknown = sorted(key for key in set(options) - set(known) if scheme != "hive2" or not key.startswith(_SETTING))
    if unknown:
        raise UsageError(option, f"it has the option {unknown[0]}, which is none of {', '.join(known)}")
    user = None if parts.username is None else unquote(parts.username)
    return parts.hostname, port, user, options


def first_line(error: Exception) -> str:
    """Return the first line of an engine's error."""
    text = str(error).strip()
    return text.splitlines()[0][:500] if text else type(error).__name__
