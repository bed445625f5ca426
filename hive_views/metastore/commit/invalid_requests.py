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
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.rows.row import METADATA_LOCATION
from hive_views.metastore.transport.client import EXPECTED_PARAMETER_KEY, EXPECTED_PARAMETER_VALUE, MetastoreClient

_INVALID_NAME = "\n"
"""A name that no release accepts."""

_LONG_OWNER = "x" * 10_000
"""An owner that no release stores: DataNucleus compares it with the maximum, 767, whatever the database is."""


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
