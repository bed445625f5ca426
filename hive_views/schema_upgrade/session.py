"""A session on a metastore's database: the interface that the upgrade uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol

from typing_extensions import Self

from hive_views.schema_upgrade.address import Address
from hive_views.schema_upgrade.dialects.base import Dialect

Values = Mapping[str, Any]


class Session(Protocol):
    """One connection, one transaction at a time. Parameters are written `:name`."""

    address: Address
    dialect: Dialect
    server: str
    """Name and version reported by the server."""

    def query(self, sql: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        ...

    def execute(self, sql: str, values: Values | None = None) -> int:
        """Execute a statement and return the number of affected rows."""
        ...

    def commit(self) -> None:
        """Commit the transaction."""
        ...

    def rollback(self) -> None:
        """Roll back the transaction."""
        ...

    def other_sessions(self) -> list[str]:
        """Descriptions of the other sessions on this database: user and host."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Lock out other upgrades and rollbacks; raises UpgradeError if one is running."""
        ...

    def close(self) -> None:
        """Roll back and close the connection."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def in_list(ids: Sequence[int]) -> str:
    """Row IDs as the list of an IN condition; they are numbers, so they need no quoting."""
    return ", ".join(str(int(row_id)) for row_id in ids)
