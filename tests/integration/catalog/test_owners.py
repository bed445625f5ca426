"""The owner of new rows, and the user of locks: the user whom the server knows."""

from __future__ import annotations

import getpass

import pytest

from hive_views import HiveViewCatalog
from hive_views.config import LockConfig
from hive_views.identifiers import ViewName
from hive_views.metastore.locking.lock import hold_lock
from tests.conftest import CatalogFactory
from tests.integration.catalog.samples import SCHEMA, version

OWNER = "hive.metastore.table.owner"


@pytest.fixture(params=[None, "alice", "alice:staff,audit"])
def ugi(request: pytest.FixtureRequest) -> str | None:
    """The property `ugi`."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def user(ugi: str | None) -> str:
    """The user with that property; without it, the user of this process."""
    return "alice" if ugi else getpass.getuser()


@pytest.fixture
def catalog(open_catalog: CatalogFactory, ugi: str | None) -> HiveViewCatalog:
    return open_catalog({"ugi": ugi} if ugi else {})


def owner(catalog: HiveViewCatalog, database: str, name: str) -> str | None:
    row = catalog.store.client.get_table(database, name)
    assert row is not None
    return row.owner


def test_owner_of_new_rows(catalog: HiveViewCatalog, database: str, user: str) -> None:
    view = catalog.create_view((database, "v"), SCHEMA, version(database))
    assert view.owner == user
    catalog.create_table((database, "t"), SCHEMA)
    catalog.materialized.create((database, "m"), f"SELECT id FROM {database}.t", layout="registered")
    names = {"v", "t", "m", "m__storage"}
    assert {name: owner(catalog, database, name) for name in names} == dict.fromkeys(names, user)


def test_user_of_locks(catalog: HiveViewCatalog, database: str, user: str) -> None:
    name = ViewName(database, "v")
    with hold_lock(catalog.store.client, LockConfig(), name):
        [lock] = catalog.store.client.show_locks(*name.identifier)
    assert lock.user == user


def test_property_overrides_owner(catalog: HiveViewCatalog, database: str) -> None:
    catalog.create_view((database, "v"), SCHEMA, version(database), properties={OWNER: "bi"})
    catalog.create_table((database, "t"), SCHEMA, properties={OWNER: "bi"})
    assert [owner(catalog, database, name) for name in ("v", "t")] == ["bi", "bi"]


def test_changes_keep_the_owner(
    catalog: HiveViewCatalog, open_catalog: CatalogFactory, database: str, user: str
) -> None:
    catalog.create_view((database, "v"), SCHEMA, version(database))
    other = open_catalog({"ugi": "bob"})
    other.load_view((database, "v")).update().set_properties(color="blue").commit()
    other.rename_view((database, "v"), (database, "w"))
    assert owner(catalog, database, "w") == user
