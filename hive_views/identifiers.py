"""Names of databases, tables and views.

The Hive Metastore converts names to lower case, stores at most 256 characters, and its servers differ in the characters
that they accept: 3.1 rejects '-' and ' ', 4.x accepts them, none accepts non-ASCII characters. Existing objects can
have any name; new ones only characters that all servers accept: ASCII letters, digits and '_'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hive_views.errors import InvalidIdentifierError

MAX_NAME_LENGTH = 256
"""Maximum length of a database or table name in the metastore's database (TBLS.TBL_NAME)."""

_WRITABLE = re.compile(r"[a-z0-9_]+")


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

        Accepts any characters, since existing objects may have them; see `check_writable`.

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

    def check_writable(self) -> ViewName:
        """Check the name of a new object; returns the name itself.

        Raises:
            InvalidIdentifierError: If it is too long, or has characters other than ASCII letters, digits and '_'.
        """
        check_writable(self.name, str(self))
        return self

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


def check_writable(part: str, identifier: str) -> None:
    """Check a database or table name of a new object; `identifier` is the whole name, for the message."""
    if len(part) > MAX_NAME_LENGTH:
        raise InvalidIdentifierError(
            identifier, f"a level has {len(part)} characters; the metastore stores at most {MAX_NAME_LENGTH}"
        )
    if not _WRITABLE.fullmatch(part):
        raise InvalidIdentifierError(
            identifier,
            f"{part!r} has characters other than ASCII letters, digits and '_', which not every metastore accepts",
        )


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
