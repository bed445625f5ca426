"""Drops of Iceberg tables that are materialized views, so that CASCADE can drop them like views."""

from __future__ import annotations

from collections.abc import Callable

from hive_views.errors import CommitFailedError, NoSuchTableError
from hive_views.metastore.commit.protocol import ChangeRequest
from hive_views.metastore.commit.view_commit import send_drop
from hive_views.metastore.queries import names_by_uuid
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import MetastoreStore


def drop_iceberg_table(store: MetastoreStore, expected: Row, *, check: Callable[[], None] = lambda: None) -> Row:
    """Drop an Iceberg table, but not its files, if it is still the expected table with the same definition.

    Args:
        store: The metastore.
        expected: The row as it was read.
        check: A function that is called under the lock on the table, and may reject the drop.

    Returns:
        The row that was dropped; a refresh may have changed its metadata file.
    """
    name = expected.name
    request = ChangeRequest(store.client, store.config, name, is_conditional=False)

    def is_same(row: Row) -> bool:
        return row.uuid == expected.uuid and row.definition_location == expected.definition_location

    with request.locked():
        row = store.get_row(name)
        if row is None:
            raise NoSuchTableError(str(name), "it was dropped or renamed concurrently")
        if not is_same(row):
            raise CommitFailedError(str(name), "it was changed meanwhile")
        check()
        request.ensure_locked()
        send_drop(store, row, request, is_same=is_same, find_moved=lambda: _describe_moved(store, row))
    return row


def _describe_moved(store: MetastoreStore, row: Row) -> str | None:
    names = [] if row.uuid is None else [name for name in names_by_uuid(store, row.uuid) if name != row.name]
    return f"{names[0]} is the same table now" if names else None
