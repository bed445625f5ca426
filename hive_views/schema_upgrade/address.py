"""The address of a metastore's database, with the user. An address that is shown never contains the password."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from hive_views.errors import UsageError
from hive_views.schema_upgrade.databases import Database

PASSWORD_VARIABLE = "HIVE_VIEWS_UPGRADE_PASSWORD"
"""The environment variable that may hold the password."""

_SCHEMES = {
    "mysql": Database.MYSQL,
    "mariadb": Database.MYSQL,
    "postgresql": Database.POSTGRESQL,
    "postgres": Database.POSTGRESQL,
}
_PORTS = {Database.MYSQL: 3306, Database.POSTGRESQL: 5432}
_SECRET = re.compile(r"(?i)(?:^|[?;&])\s*\w*(?:password|passwd|pwd|passphrase|secret)\w*\s*=")
"""An attribute of a URL that holds a secret: `password`, `bootPassword`, `sslpassword`, `trustStorePassword`."""

_TLS_FLAGS = ("ssl", "usessl", "requiressl")
_OPTIONAL_TLS = ("disable", "disabled", "allow", "prefer", "preferred")
"""Values of `sslMode` of JDBC drivers with which a connection may be unencrypted."""


class Password:
    """A password that no message, log, plan or traceback shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the password itself, which only the driver may get."""
        return self._text

    def hide_in(self, text: str) -> str:
        """Return a message of the driver with every occurrence of the password masked."""
        return text.replace(self._text, "***") if self._text else text

    def __repr__(self) -> str:
        return "Password(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a password is not stored")


@dataclass(frozen=True, kw_only=True)
class Address:
    """A database and a user of it."""

    kind: Database
    """`mysql` (also for MariaDB), `postgresql` or `derby`."""
    host: str = ""
    """The host; empty for Derby."""
    port: int = 0
    """The port; 0 for Derby."""
    database: str = ""
    """The database's name; for Derby its directory."""
    schema: str | None = None
    """The schema in the database; None uses PostgreSQL's search path, or on Derby the user's schema or else APP."""
    user: str = ""
    """The user."""
    password: Password = field(default=Password(""), repr=False, compare=False)
    """The user's password."""

    @property
    def place(self) -> str:
        """The address without user and password, for messages."""
        if self.kind == Database.DERBY:
            return f"derby:{self.database}"
        return f"{self.kind}://{self.host}:{self.port}/{self.database}"


def parse_address(
    url: str, *, user: str | None = None, password: Password | None = None, schema: str | None = None
) -> Address:
    """Parse the address of a metastore database.

    Args:
        url: `mysql://host:3306/db`, `mariadb://…`, `postgresql://host/db`, `derby:/directory`, or the JDBC URL of
            `javax.jdo.option.ConnectionURL`. It must not contain a password,
            because other users of the machine can see command lines.
        user: The user; Derby's is APP by default.
        password: The user's password.
        schema: The schema, if it is not the default one (see `Address.schema`).

    Raises:
        UsageError: If it cannot be parsed, contains a password, names an unsupported database, or requires TLS; or if
            a schema is given for MySQL or MariaDB.
    """
    text = url.strip().removeprefix("jdbc:")
    if _SECRET.search(text):
        raise UsageError("--url", _no_secrets())
    secret = password or Password("")
    if text.startswith("derby:"):
        return _derby(text.removeprefix("derby:"), user or "APP", secret, schema)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        # The original message may contain part of a password: a slash in a password ends the host.
        raise UsageError("--url", "it cannot be parsed: write kind://host:port/database") from None
    if parts.password is not None or "@" in parts.path:
        # A slash in a password ends the host, and the rest would be taken for the database name.
        raise UsageError("--url", _no_secrets())
    scheme = parts.scheme.partition("+")[0]
    kind = _SCHEMES.get(scheme)
    if kind is None:
        # The value is not repeated: without a scheme it may be a user and a password.
        raise UsageError(
            "--url",
            "it begins with none of mysql:, mariadb:, postgresql:, derby:. Scripts for Oracle and SQL Server are "
            "rendered without a connection: `hive-views upgrade render --database oracle --from VERSION`",
        )
    name = unquote(parts.path.lstrip("/"))
    if not parts.hostname or not name:
        raise UsageError(
            "--url", f"it names no {'database' if parts.hostname else 'host'}: {kind}://host:port/database"
        )
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    if required := next((key for key, value in parameters.items() if _requires_tls(key.lower(), value.lower())), None):
        remedy = (
            "set PGSSLMODE and PGSSLROOTCERT" if kind == Database.POSTGRESQL else "not supported on MySQL and MariaDB"
        )
        raise UsageError("--url", f"{required} requires TLS, which is not read from the address: {remedy}")
    if schema and kind == Database.MYSQL:
        raise UsageError("--schema-name", "MySQL and MariaDB have no schemas in a database: name the database in --url")
    return Address(
        kind=kind,
        host=parts.hostname,
        port=port or _PORTS[kind],
        database=name,
        schema=schema or parameters.get("currentSchema"),
        user=user or unquote(parts.username or parameters.get("user") or ""),
        password=secret,
    )


def find_password(file: Path | None) -> Password | None:
    """Return the password from a file or the environment.

    Args:
        file: A file whose first line is the password; None reads the environment variable only.

    Returns:
        The password; None if none is given, so that the caller can prompt for it.

    Raises:
        UsageError: If the file cannot be read.
    """
    if file is not None:
        try:
            return Password(file.read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError("--password-file", f"it cannot be read: {error}") from None
    password = os.environ.get(PASSWORD_VARIABLE)
    return None if password is None else Password(password)


def _derby(text: str, user: str, password: Password, schema: str | None) -> Address:
    name, *attributes = text.split(";")
    options = dict(attribute.partition("=")[::2] for attribute in attributes if attribute)
    directory = name or options.get("databaseName", "")
    if directory.startswith("//") and not directory.startswith("///"):
        raise UsageError("--url", "a Derby network server is not supported: stop it, and name the database's directory")
    if not directory:
        raise UsageError("--url", "it names no directory: derby:/path/to/metastore_db")
    return Address(
        kind=Database.DERBY, database=str(Path(directory).absolute()), schema=schema, user=user, password=password
    )


def _requires_tls(key: str, value: str) -> bool:
    """Return whether a parameter of a JDBC URL, in lower case, forbids connections without TLS."""
    return value not in _OPTIONAL_TLS if key == "sslmode" else key in _TLS_FLAGS and value in ("", "true")


def _no_secrets() -> str:
    return (
        "it contains a password, which other users of this machine can see in the process list. Remove it, and set "
        f"{PASSWORD_VARIABLE} or use --password-file"
    )
