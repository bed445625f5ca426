"""Requests that no server carries out, and that only its pre-event listeners can answer as they answered a valid one.

A server calls its listeners, and then finds what is invalid: before it begins a transaction, or before it sends a
statement to its database. So if it answers an invalid request as it answered the valid one, the answer comes from a
listener, and nothing was changed. Measured on 2.3.10, 3.1.3, 4.0.1 and 4.2.0
(tests/integration/metastore/test_refusing_listeners.py).
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    Database,
    FieldSchema,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from hive_views.metastore.rows.row import METADATA_LOCATION
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE, MetastoreClient

_INVALID_NAME = "\n"
"""A name that no release accepts."""

_LONG_OWNER = "x" * 10_000
"""An owner that no release stores: DataNucleus compares it with the maximum, 767 for a table and 128 for a database,
whatever the metastore's database is (Derby, PostgreSQL, MariaDB). A partition has no such text: 4.0.1 and 4.2.0 store
one with a format of 10,000 characters in MariaDB."""

_ABSENT = "hive_views_refusal"
"""A name that no object has."""

_IMPOSSIBLE_DIRECTORY = "file:/dev/null/hive_views"
"""A directory that no server can create, and so does not delete when it has failed."""


def invalid_change(client: MetastoreClient, name: ViewName, row: Table) -> Callable[[], None]:
    """Return a request that renames a row to an invalid name.

    A server that accepted the name would still reject the change, by a metadata location that the row does not have.
    """
    invalid = copy.copy(row)
    invalid.tableName = _INVALID_NAME
    context = {EXPECTED_PARAMETER_KEY: METADATA_LOCATION, EXPECTED_PARAMETER_VALUE: _INVALID_NAME}
    return lambda: client.alter_table(*name.identifier, invalid, context)


def invalid_create(client: MetastoreClient, row: Table) -> Callable[[], None]:
    """Return a request that creates a row with an owner that is too long.

    A server validates the name of a new row in front of its listeners, Hive 4 its database as well.
    """
    invalid = copy.copy(row)
    invalid.owner = _LONG_OWNER
    return lambda: client.create_table(invalid)


def invalid_database_create(client: MetastoreClient, database: Database) -> Callable[[], None]:
    """Return a request that creates a database in an impossible directory, with an owner that is too long."""
    invalid = copy.copy(database)
    invalid.locationUri = _IMPOSSIBLE_DIRECTORY
    invalid.ownerName = _LONG_OWNER
    return lambda: client.create_database(invalid)


def invalid_create_in(client: MetastoreClient, database: str) -> Callable[[], None]:
    """Return an invalid create of a view, which has no directory, for another change of its database or of partitions.

    Whatever is invalid in a drop of a database, a server finds it in front of its listeners. A change to an owner that
    is too long is no alternative: 2.3.10 confirms it, does not store it, and answers the next request of the
    connection with "Transaction has already started".
    """
    columns = StorageDescriptor(cols=[FieldSchema("c", "int", "")], serdeInfo=SerDeInfo(parameters={}), parameters={})
    row = Table(
        _ABSENT,
        database,
        sd=columns,
        partitionKeys=[],
        parameters={},
        tableType="VIRTUAL_VIEW",
        viewOriginalText="select 1 c",
        viewExpandedText="select 1 c",
    )
    return invalid_create(client, row)
