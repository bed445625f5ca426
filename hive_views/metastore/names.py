"""Names of new databases, tables and views: which ones the server stores."""

from __future__ import annotations

from hive_views.identifiers import HIVE_2_AND_3, HIVE_4, NameCharacters, ViewName, check_new_name, is_stored_everywhere
from hive_views.metastore.transport.client import MetastoreClient


def check_new_table(client: MetastoreClient, name: ViewName) -> ViewName:
    """Return the name of a new table or view; raises InvalidIdentifierError if the server does not store it."""
    if not is_stored_everywhere(name.name):
        server = _characters(client)
        check_new_name(name.name, str(name), server.tables, server.servers)
    return name


def check_new_database(client: MetastoreClient, name: str) -> None:
    """Raise InvalidIdentifierError if the server does not store the name of a new database."""
    if not is_stored_everywhere(name):
        server = _characters(client)
        check_new_name(name, name, server.databases, server.servers)


def _characters(client: MetastoreClient) -> NameCharacters:
    return HIVE_4 if client.supports("alter_table_req") else HIVE_2_AND_3
