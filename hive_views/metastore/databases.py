"""Databases: Iceberg's namespaces, with location and comment as properties, as in PyIceberg."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import suppress

from hive_views.errors import (
    CommitStateUnknownError,
    InvalidPropertyError,
    MetastoreError,
    MetastoreRefusedError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
)
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    Database,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from hive_views.metastore.invalid_requests import invalid_create_in, invalid_database_create
from hive_views.metastore.rejections import proves_unchanged, rejection_error
from hive_views.metastore.transport.client import MetastoreClient

LOCATION = "location"
"""Property for the locationUri of a database."""

COMMENT = "comment"
"""Property for the database's description."""


def create_database(client: MetastoreClient, name: str, properties: Mapping[str, str]) -> None:
    """Create a database."""
    _check(properties)
    with suppress(NoSuchNamespaceError):
        client.get_database(name)
        raise NamespaceAlreadyExistsError(name)
    database = _with_properties(Database(name=name), properties)
    try:
        client.create_database(database)
    except AlreadyExistsException:
        # The database was missing before. The server may have repeated the request; databases have no UUID to compare.
        if not _is_stored(client, database):
            raise NamespaceAlreadyExistsError(name) from None
    except (InvalidObjectException, MetaException, MetastoreRefusedError) as error:
        invalid = invalid_database_create(client, database)
        raise rejection_error(
            client, "create_database", name, error, lambda: _read(client, name) is None, invalid
        ) from error


def _read(client: MetastoreClient, name: str) -> Database | None:
    try:
        return client.get_database(name)
    except NoSuchNamespaceError:
        return None


def _is_stored(client: MetastoreClient, sent: Database) -> bool:
    """Return whether the stored database has all values that were sent."""
    try:
        stored = client.get_database(sent.name)
    except NoSuchNamespaceError:
        return False
    except MetastoreError as error:
        raise CommitStateUnknownError(
            sent.name, None, f"create_database found the name taken; then: {error}"
        ) from error
    return (
        sent.parameters.items() <= (stored.parameters or {}).items()
        and (sent.description or "") == (stored.description or "")
        and sent.locationUri in (None, stored.locationUri)
    )


def drop_database(client: MetastoreClient, name: str) -> None:
    """Drop an empty database but not its directory."""
    # Hive 2.3 answers the drop of a missing database with a NullPointerException.
    client.get_database(name)
    try:
        client.drop_database(name)
    except (NoSuchObjectException, InvalidOperationException, MetaException, MetastoreRefusedError) as error:
        if isinstance(error, NoSuchObjectException) and proves_unchanged(error):
            raise NoSuchNamespaceError(name) from None
        if isinstance(error, InvalidOperationException) and proves_unchanged(error):
            raise NamespaceNotEmptyError(name) from error
        invalid = invalid_create_in(client, name)
        raise rejection_error(
            client, "drop_database", name, error, lambda: _read(client, name) is not None, invalid
        ) from error


def database_properties(client: MetastoreClient, name: str) -> dict[str, str]:
    """Return the properties of a database."""
    database = client.get_database(name)
    special = {LOCATION: database.locationUri, COMMENT: database.description}
    return {**(database.parameters or {}), **{key: value for key, value in special.items() if value}}


def update_database(
    client: MetastoreClient, name: str, removals: set[str], updates: Mapping[str, str]
) -> tuple[set[str], set[str]]:
    """Change the properties of a database; return the removed keys, and the keys to remove that did not exist."""
    _check(updates)
    for key in removals & updates.keys():
        raise InvalidPropertyError(key, updates[key], "Cannot remove and update the same key")
    if LOCATION in removals:
        raise InvalidPropertyError(LOCATION, None, "a database always has a location: set another one")
    database = client.get_database(name)
    before = copy.copy(database)
    parameters = dict(database.parameters or {})
    removed = removals & ({*parameters, COMMENT} if database.description else parameters.keys())
    for key in removed:
        parameters.pop(key, None)
    database.parameters = parameters
    if COMMENT in removed:
        database.description = ""
    try:
        client.alter_database(name, _with_properties(database, updates))
    except (NoSuchObjectException, MetaException, MetastoreRefusedError) as error:
        if isinstance(error, NoSuchObjectException) and proves_unchanged(error):
            raise NoSuchNamespaceError(name) from None
        invalid = invalid_create_in(client, name)
        raise rejection_error(
            client, "alter_database", name, error, lambda: _read(client, name) == before, invalid
        ) from error
    _check_stored(client, name, {LOCATION, COMMENT} & (removed | updates.keys()), database)
    return removed, removals - removed


def _check_stored(client: MetastoreClient, name: str, keys: set[str], sent: Database) -> None:
    """Read special properties back: Hive 2.3 reports success but changes only parameters and owner."""
    if not keys:
        return
    stored = client.get_database(name)
    for key, expected, actual in (
        (LOCATION, sent.locationUri, stored.locationUri),
        (COMMENT, sent.description, stored.description),
    ):
        if key in keys and (expected or "") != (actual or ""):
            raise MetastoreRefusedError(
                "alter_database",
                f"{name}: this metastore cannot change the {key} of a database, which stays {actual!r}; the other "
                "properties were changed",
            )


def _with_properties(database: Database, properties: Mapping[str, str]) -> Database:
    parameters = dict(database.parameters or {})
    for key, value in properties.items():
        if key == LOCATION:
            database.locationUri = value
        elif key == COMMENT:
            database.description = value
        else:
            parameters[key] = value
    database.parameters = parameters
    return database


def _check(properties: Mapping[str, str]) -> None:
    for key, value in properties.items():
        if not isinstance(key, str) or not key:
            raise InvalidPropertyError(key, value, "a key must be a string that is not empty")
        if not isinstance(value, str):
            raise InvalidPropertyError(key, value, "a value must be a string")
