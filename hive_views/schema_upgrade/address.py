"""Where a metastore's database is, and who may open it. A password is never part of an address that is shown."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from hive_views.errors import UsageError

PASSWORD_VARIABLE = "HIVE_VIEWS_UPGRADE_PASSWORD"
"""The environment variable that may hold the password."""

_SCHEMES = {
    "mysql": "mysql",
    "mariadb": "mysql",
    "postgresql": "postgresql",
    "postgres": "postgresql",
}
_PORTS = {"mysql": 3306, "postgresql": 5432}
_SECRET = re.compile(r"(?i)(?:^|[?;&])\s*\w*(?:password|passwd|pwd|passphrase|secret)\w*\s*=")
"""An attribute of a URL that holds a secret: `password`, `bootPassword`, `sslpassword`, `trustStorePassword`."""


class Password:
    """A password that no message, log, plan or traceback shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The password itself, for the driver alone."""
        return self._text

    def hide_in(self, text: str) -> str:
        """A text of the driver's with every occurrence of the password made unreadable."""
        return text.replace(self._text, "***") if self._text else text

    def __repr__(self) -> str:
        return "Password(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a password is not stored")


@dataclass(frozen=True)
class Address:
    """A database and a user of it."""

    kind: str
    """`mysql` (MariaDB too), `postgresql` or `derby`."""
    host: str = ""
    """The host; empty for Derby."""
    port: int = 0
    """The port; 0 for Derby."""
    database: str = ""
    """The database's name; for Derby its directory."""
    schema: str | None = None
    """The schema in it; None takes the user's own (PostgreSQL's search path, Derby's APP)."""
    user: str = ""
    """The user."""
    password: Password = field(default=Password(""), repr=False, compare=False)
    """The user's password."""

    @property
    def place(self) -> str:
        """The address for people: without user and password."""
        if self.kind == "derby":
            return f"derby:{self.database}"
        return f"{self.kind}://{self.host}:{self.port}/{self.database}"


def parse_address(
    url: str, *, user: str | None = None, password: Password | None = None, schema: str | None = None
) -> Address:
    """Read an address.

    Args:
        url: `mysql://host:3306/db`, `mariadb://…`, `postgresql://host/db`, `derby:/directory`, or the JDBC URL of
            `javax.jdo.option.ConnectionURL`. Without a password: a command line is seen by everybody on its machine.
        user: The user; Derby's is APP by default.
        password: The user's password.
        schema: The schema, where it is not the user's own.

    Returns:
        The address.

    Raises:
        UsageError: If it cannot be read, holds a password, or names another kind of database.
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
        # The error's own words may hold a part of a password: one with a slash in it ends the host.
        raise UsageError("--url", "it cannot be read: write kind://host:port/database") from None
    if parts.password is not None or "@" in parts.path:
        # A password with a slash in it ends the host, and the rest of it would be the database's name.
        raise UsageError("--url", _no_secrets())
    scheme = parts.scheme.partition("+")[0]
    kind = _SCHEMES.get(scheme)
    if kind is None:
        # What stands there is not repeated: where the scheme was forgotten, it may be a user and a password.
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
    known = dict(parse_qsl(parts.query))
    return Address(
        kind,
        parts.hostname,
        port or _PORTS[kind],
        name,
        schema or known.get("currentSchema"),
        user or unquote(parts.username or known.get("user") or ""),
        secret,
    )


def find_password(file: Path | None) -> Password | None:
    """The password from a file, else from the environment.

    Args:
        file: A file whose first line is the password; None looks at the environment alone.

    Returns:
        The password; None where none is given, so that the user may be asked.

    Raises:
        UsageError: If the file cannot be read.
    """
    if file is not None:
        try:
            return Password(file.read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError("--password-file", f"it cannot be read: {error}") from None
    found = os.environ.get(PASSWORD_VARIABLE)
    return None if found is None else Password(found)


def _derby(text: str, user: str, password: Password, schema: str | None) -> Address:
    name, *attributes = text.split(";")
    known = dict(each.partition("=")[::2] for each in attributes if each)
    directory = name or known.get("databaseName", "")
    if directory.startswith("//") and not directory.startswith("///"):
        raise UsageError("--url", "a Derby network server is not supported: stop it, and name the database's directory")
    if not directory:
        raise UsageError("--url", "it names no directory: derby:/path/to/metastore_db")
    return Address("derby", database=str(Path(directory).absolute()), schema=schema, user=user, password=password)


def _no_secrets() -> str:
    return (
        "it holds a password, which everybody on this machine can see in the list of processes. Take it out, and set "
        f"{PASSWORD_VARIABLE}, or name a file by --password-file"
    )
