"""Names of databases, tables and views.

The Hive Metastore converts names to lower case and stores at most 256 characters; which characters it stores depends on
its release (`NAME_CHARACTERS`). Existing objects can have any name. New ones can have those that the server stores,
except `RESERVED_CHARACTERS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hive_views.errors import InvalidIdentifierError

MAX_NAME_LENGTH = 256
"""Maximum length of a database or table name in the metastore's database (TBLS.TBL_NAME)."""

_STORED_EVERYWHERE = re.compile(r"[a-z0-9_]+")


class NameCharacters(NamedTuple):
    """The characters that a metastore stores in names, besides ASCII letters, digits and '_'."""

    servers: str
    tables: str
    """In names of tables and views."""
    databases: str


HIVE_2_AND_3 = NameCharacters("Hive 2 or 3", "/", "")
"""Measured on 2.3.10 and 3.1.3 (tests/integration/metastore/test_names.py)."""

HIVE_4 = NameCharacters("Hive 4", " !\"#$%&'()*+,-./:;<=>?@[]^`{|}~", " !\"#$%&'()*+,-./;<=>?@[]^`{|}~")
"""Measured on 4.0.1, 4.1.0, 4.2.0 and 4.2.1 (tests/integration/metastore/test_names.py)."""

RESERVED_CHARACTERS = {
    "#?": "cuts off a location that is read as a URI",
    "%": "starts an escaped character in a location",
    "/:": "separates parts of a location",
    "*[]{}": "is a pattern in Hadoop's paths",
    ",": "separates paths in Hadoop",
    "=": "makes a directory look like a partition",
    ".": "separates the levels of a name",
    "`": "cannot be part of a view's name in Spark",  # 4.1.4
    "!@": "belongs to the metastore's form of names with a catalog, @catalog#database!",
}
"""Characters that no new name can have, although a server may store them: what other readers take them for."""


class ViewName(NamedTuple):
    """The name of a table or view and its database, both in lower case as the metastore stores them.

    It is an identifier of PyIceberg, and equal to the tuple of both names.
    """

    database: str
    """The database: an Iceberg namespace, which has exactly one level in a Hive Metastore."""
    name: str
    """The name of the view or table."""

    @classmethod
    def parse(cls, identifier: str | Sequence[str], *, catalog: str | None = None) -> ViewName:
        """Parse `database.name`, or `catalog.database.name` with the given catalog.

        Accepts any characters, since existing objects may have them; see `check_new_name`.

        Args:
            identifier: A dotted string, or a sequence of its parts.
            catalog: The catalog name that is allowed as the first part; None allows none.

        Raises:
            InvalidIdentifierError: If the identifier does not have two levels, or one is empty.
        """
        parts = identifier.split(".") if isinstance(identifier, str) else list(identifier)
        if len(parts) == 3 and catalog is not None and parts[0] == catalog:
            parts = parts[1:]
        if len(parts) != 2:
            raise InvalidIdentifierError(
                identifier, "names in a Hive Metastore have exactly two levels: write database.name"
            )
        if not all(isinstance(part, str) and part for part in parts):
            raise InvalidIdentifierError(identifier, "a level of the name is empty")
        _reject_catalog_prefix(parts[0], identifier)
        return cls(parts[0].lower(), parts[1].lower())

    @classmethod
    def from_text(cls, text: str) -> ViewName:
        """Parse what `str` returns for a name. In Hive 4 a table name may contain dots; a database name may not."""
        database, _, name = text.partition(".")
        if not database or not name:
            raise InvalidIdentifierError(text, "it is not database.name")
        return cls(database, name)

    @property
    def identifier(self) -> tuple[str, str]:
        """The name as a PyIceberg identifier."""
        return (self.database, self.name)

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


def is_stored_everywhere(part: str) -> bool:
    """Return whether every metastore stores a database or table name."""
    return len(part) <= MAX_NAME_LENGTH and _STORED_EVERYWHERE.fullmatch(part) is not None


def check_new_name(part: str, identifier: str, stored: str, servers: str) -> None:
    """Check a name of a new database, table or view.

    Args:
        part: The name.
        identifier: The whole name, for the message.
        stored: The characters that the server stores besides ASCII letters, digits and '_'.
        servers: The releases of such servers, for the message.

    Raises:
        InvalidIdentifierError: If the server does not store the name, or other readers would misread it.
    """
    if len(part) > MAX_NAME_LENGTH:
        raise InvalidIdentifierError(
            identifier, f"a level has {len(part)} characters; the metastore stores at most {MAX_NAME_LENGTH}"
        )
    for character in part:
        for reserved, meaning in RESERVED_CHARACTERS.items():
            if character in reserved:
                raise InvalidIdentifierError(identifier, f"{part!r} has {character!r}, which {meaning}")
        if not (is_stored_everywhere(character) or character in stored):
            raise InvalidIdentifierError(
                identifier,
                f"{part!r} has {character!r}, which a metastore of {servers} does not store in such a name. All store "
                "ASCII letters, digits and '_'",
            )
    if part != part.strip():
        raise InvalidIdentifierError(identifier, f"the metastore removes the spaces at the start and end of {part!r}")


def parse_namespace(namespace: str | Sequence[str], *, catalog: str | None = None) -> str:
    """Parse a database name, or `catalog.database` with the given catalog; returns it in lower case.

    Raises:
        InvalidIdentifierError: If the namespace does not have one level, or it is empty.
    """
    parts = namespace.split(".") if isinstance(namespace, str) else list(namespace)
    if len(parts) == 2 and catalog is not None and parts[0] == catalog:
        parts = parts[1:]
    if len(parts) != 1 or not isinstance(parts[0], str) or not parts[0]:
        raise InvalidIdentifierError(namespace, "a Hive Metastore's namespaces have exactly one level: the database")
    _reject_catalog_prefix(parts[0], namespace)
    return parts[0].lower()


def _reject_catalog_prefix(database: str, identifier: str | Sequence[str]) -> None:
    """Reject `@catalog#database`, which some requests of the metastore read as a database of another catalog."""
    if re.match("@[^#]*#", database):
        reason = "a name cannot contain a catalog of the metastore; the property metastore.catalog.default names it"
        raise InvalidIdentifierError(identifier, reason)


def components(sources: Mapping[ViewName, Sequence[ViewName]]) -> list[tuple[ViewName, ...]]:
    """Return the strongly connected components, sources first (Tarjan's algorithm; iterative, as views nest deeply)."""
    index: dict[ViewName, int] = {}
    low: dict[ViewName, int] = {}
    stack: list[ViewName] = []
    on_stack: set[ViewName] = set()
    groups: list[tuple[ViewName, ...]] = []
    for root in sorted(sources):
        if root in index:
            continue
        work = [(root, iter(sorted(sources[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, unvisited = work[-1]
            for source in unvisited:
                if source not in index:
                    index[source] = low[source] = len(index)
                    stack.append(source)
                    on_stack.add(source)
                    work.append((source, iter(sorted(sources[source]))))
                    break
                if source in on_stack:
                    low[name] = min(low[name], index[source])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    group = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.append(member)
                        if member == name:
                            break
                    groups.append(tuple(sorted(group)))
    return groups
