"""Opening a session on a metastore's database, whatever its kind."""

from __future__ import annotations

from hive_views.schema_upgrade.address import Address
from hive_views.schema_upgrade.derby_session import DerbySession
from hive_views.schema_upgrade.session import Session
from hive_views.schema_upgrade.sql_session import SqlSession


def connect(address: Address) -> Session:
    """Open a database.

    Args:
        address: Where it is, and who asks.

    Returns:
        The session; close it.

    Raises:
        DatabaseError: If it cannot be opened.
        UsageError: If a package is missing.
    """
    if address.kind == "derby":
        return DerbySession(address)
    return SqlSession(address)
