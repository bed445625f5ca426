"""A session on a metastore's database: the interface that the upgrade uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from hive_views.schema_upgrade.address import Address
from hive_views.schema_upgrade.dialects.base import Dialect

Values = Mapping[str, Any]


class Session(Protocol):
    """One connection, one transaction at a time. Parameters are written `:name`."""

    address: Address
    dialect: Dialect
    server: str
    """What the server says of itself."""

    def query(self, sql: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...

    def execute(self, sql: str, values: Values | None = None) -> int:
        """Carry out a statement; the number of rows that it met."""
        ...

    def commit(self) -> None:
        """Make the transaction's changes last."""
        ...

    def rollback(self) -> None:
        """Forget the transaction's changes."""
        ...

    def others(self) -> list[str]:
        """The other sessions on this database, for people: who, from where."""
        ...

    def close(self) -> None:
        """Give the connection back; what was not committed is forgotten."""
        ...

    def __enter__(self) -> Session: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def in_list(ids: Sequence[int]) -> str:
    """Row IDs as the list of an IN; they are numbers, so quoting is not needed."""
    return ", ".join(str(int(row_id)) for row_id in ids)
