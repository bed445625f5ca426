"""Names: what a user writes, what the metastore can hold, and how a name is shown.

The Hive Metastore lower-cases database and table names, stores at most 256 characters of a name, and its servers
differ in which characters they take (3.1 refuses '-' and ' ', 4.x takes them, none takes non-ASCII). What stands there
is read whatever its name; for something new we accept what all of them accept: ASCII letters, digits and '_'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hive_views.errors import InvalidIdentifierError

MAX_NAME_LENGTH = 256
"""The longest database or table name that a metastore's own database holds (TBLS.TBL_NAME)."""

_WRITABLE = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True, order=True, slots=True)
class ViewName:
    """A database and a name in it, both as the metastore stores them (lower case)."""

    database: str
    """The database: Iceberg's namespace, of exactly one level in a Hive Metastore."""
    name: str
    """The name of the view or table."""

    @classmethod
    def parse(cls, identifier: str | Sequence[str], *, catalog: str | None = None) -> ViewName:
        """Read `database.name`, or `catalog.database.name` where the catalog is the given one.

        Any characters are taken: what stands in a metastore already must be readable. See `check_writable`.

        Args:
            identifier: A dotted string or a sequence of its parts.
            catalog: The catalog's own name, which a user may have written in front; None accepts no such prefix.

        Returns:
            The name in lower case, as the metastore stores it.

        Raises:
            InvalidIdentifierError: If it has other than two levels, or an empty one.
        """
        parts = identifier.split(".") if isinstance(identifier, str) else list(identifier)
        if len(parts) == 3 and catalog is not None and parts[0] == catalog:
            parts = parts[1:]
        if len(parts) != 2:
            raise InvalidIdentifierError(
                identifier, "a Hive Metastore holds names of exactly two levels: write database.name"
            )
        if not all(isinstance(part, str) and part for part in parts):
            raise InvalidIdentifierError(identifier, "a level of the name is empty")
        return cls(parts[0].lower(), parts[1].lower())

    @classmethod
    def from_text(cls, text: str) -> ViewName:
        """Read what `str` gives of a name: no database has a dot in its name, and a table of Hive 4 may have some.

        Args:
            text: The name, as it was written to a file of ours.

        Returns:
            The name.

        Raises:
            InvalidIdentifierError: If it is not `database.name`.
        """
        database, _, name = text.partition(".")
        if not database or not name:
            raise InvalidIdentifierError(text, "it is not database.name")
        return cls(database, name)

    @property
    def identifier(self) -> tuple[str, str]:
        """The name as PyIceberg's identifiers have it: a tuple of its levels."""
        return (self.database, self.name)

    def check_writable(self) -> ViewName:
        """Refuse a name for something new that not every metastore takes; the database is there already.

        Returns:
            The name itself.

        Raises:
            InvalidIdentifierError: If it is too long, or has characters other than letters, digits and '_'.
        """
        check_writable(self.name, str(self))
        return self

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


def check_writable(part: str, identifier: str) -> None:
    """Refuse one level of a name for something new that not every metastore takes.

    Args:
        part: A database name or a table name.
        identifier: The whole name, for the message.

    Raises:
        InvalidIdentifierError: If it is too long, or has characters other than letters, digits and '_'.
    """
    if len(part) > MAX_NAME_LENGTH:
        raise InvalidIdentifierError(
            identifier, f"a level has {len(part)} characters; the metastore holds at most {MAX_NAME_LENGTH}"
        )
    if not _WRITABLE.fullmatch(part):
        raise InvalidIdentifierError(
            identifier,
            f"{part!r} has characters other than ASCII letters, digits and '_', which not every metastore takes",
        )


def parse_namespace(namespace: str | Sequence[str], *, catalog: str | None = None) -> str:
    """Read a database name: one level, or `catalog.database` where the catalog is the given one.

    Args:
        namespace: A string or a sequence of one part.
        catalog: The catalog's own name, which a user may have written in front.

    Returns:
        The database in lower case.

    Raises:
        InvalidIdentifierError: If it has other than one level, or an empty one.
    """
    parts = namespace.split(".") if isinstance(namespace, str) else list(namespace)
    if len(parts) == 2 and catalog is not None and parts[0] == catalog:
        parts = parts[1:]
    if len(parts) != 1 or not isinstance(parts[0], str) or not parts[0]:
        raise InvalidIdentifierError(namespace, "a Hive Metastore's namespaces have exactly one level: the database")
    return parts[0].lower()
