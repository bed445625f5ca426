"""Opening a session on a metastore's database, whatever its kind."""

from __future__ import annotations

from hive_views.schema_upgrade.address import Address
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.derby_session import DerbySession
from hive_views.schema_upgrade.session import Session
from hive_views.schema_upgrade.sql_session import SqlSession


def connect(address: Address) -> Session:
    """Open a session on a metastore database.

    Args:
        address: Database, user and password.

    Returns:
        The session, which the caller closes.

    Raises:
        DatabaseError: If the database cannot be opened.
        UsageError: If a required package is not installed.
    """
    if address.kind == Database.DERBY:
        return DerbySession(address)
    return SqlSession(address)
