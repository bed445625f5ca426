"""A database with one object of each kind, and the changes of it that a metastore can refuse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from hive_views.metastore.commit.hive_view_commit import drop_hive_view
from tests.faults.observer import Observer
from tests.integration.catalog.samples import SCHEMA, path, version
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.metastore.rpc import connect

STORAGE_BASED = {
    "hive.metastore.pre.event.listeners": (
        "org.apache.hadoop.hive.ql.security.authorization.AuthorizationPreEventListener"
    ),
    "hive.security.metastore.authorization.manager": (
        "org.apache.hadoop.hive.ql.security.authorization.StorageBasedAuthorizationProvider"
    ),
    "hive.security.metastore.authenticator.manager": (
        "org.apache.hadoop.hive.ql.security.HadoopDefaultMetastoreAuthenticator"
    ),
    "hive.metastore.execute.setugi": "true",
}
"""Storage based authorization: whoever may write to the directory of an object may change its row."""

QUERY = "SELECT id, data FROM t"
EMPTY = "_empty"
"""The end of the name of a database without objects."""

PARTITIONED, LEGACY, REGISTERED, MATERIALIZED = "p", "legacy", "registered", "mv"


@dataclass(frozen=True)
class State:
    """The content of a metastore and of its warehouse."""

    rows: dict[str, Any]
    databases: dict[str, str]
    partitions: frozenset[str]
    files: frozenset[Path]
    locks: int


class Realm(Observer):
    """A database whose directory only its owner may write to, with one object of each kind."""

    def __init__(self, metastore: MetastoreProcess, parent: str | None = None) -> None:
        super().__init__(metastore, f"db_{uuid4().hex[:12]}")
        self.metastore = metastore
        self.location = f"{parent or metastore.warehouse}/{self.database}.db"
        self.directory = path(self.location)
        self.directory.mkdir(parents=True)
        self.directory.chmod(0o755)
        with connect(metastore.port) as client:
            client.create_database(Database(name=self.database, locationUri=self.location))

    def served_by(self, metastore: MetastoreProcess) -> Realm:
        """Return this database behind another metastore in the same directory."""
        realm = copy.copy(self)
        realm.metastore = realm._metastore = metastore
        return realm

    def catalog(self, more: dict[str, str] | None = None) -> HiveViewCatalog:
        """Open a catalog."""
        properties = {"uri": self.metastore.uri, "warehouse": self.metastore.warehouse, **(more or {})}
        return HiveViewCatalog("prod", **properties)

    def fill(self, catalog: HiveViewCatalog) -> None:
        """Create the objects as their owner."""
        catalog.create_namespace(f"{self.database}{EMPTY}", {"location": f"{self.location}/empty.db"})
        catalog.create_table((self.database, "t"), SCHEMA)
        catalog.create_view((self.database, "v"), SCHEMA, version(self.database))
        catalog.load_view((self.database, "v")).update().replace_version(
            version(self.database, ("spark", "select 2, 'two'"))
        ).commit()
        catalog.execute(
            f"CREATE VIEW {self.database}.{PARTITIONED} PARTITIONED ON (id) AS SELECT data, id FROM {self.database}.t"
        )
        catalog.execute(f"ALTER VIEW {self.database}.{PARTITIONED} ADD PARTITION (id = 1)")
        catalog.materialized.create((self.database, MATERIALIZED), QUERY, layout="attached")
        catalog.create_view((self.database, REGISTERED), SCHEMA, version(self.database))
        with connect(self.metastore.port) as client:
            client.drop_table(self.database, REGISTERED, False)
            text = f"select `t`.`id` from `{self.database}`.`t`"
            legacy = hive_view_row(self.database, LEGACY, "select id from t", text, [("id", "int", "")])
            # Hive's views have no location, and then Hive does not check changes of them.
            legacy.sd.location = f"{self.location}/{LEGACY}"
            client.create_table(legacy)

    def registered_file(self) -> str:
        """The URI of a metadata file without a row."""
        (file,) = (self.directory / REGISTERED).rglob("*.json")
        return f"file:{file}"

    def state(self) -> State:
        """Return what a denied change must not change."""
        with connect(self.metastore.port) as client:
            names = client.get_all_databases()
            databases = {name: str(client.get_database(name)) for name in names if name.startswith(self.database)}
            partitions = frozenset(client.get_partition_names(self.database, PARTITIONED, -1))
        files = frozenset(file for file in self.directory.rglob("*") if file.is_file())
        return State({name: self.row(name) for name in self.names()}, databases, partitions, files, len(self.locks()))


@dataclass(frozen=True)
class Denied:
    """An operation that is denied."""

    name: str
    run: Callable[[HiveViewCatalog, Realm], object]
    operation: str
    """The operation that the error names."""
    subject: str
    """The object that the error names, in the database; empty for the database itself."""
    is_checked_by_hive2: bool = True
    """Whether Hive 2.3 checks it, too."""

    def __str__(self) -> str:
        return self.name


def _sql(text: str) -> Callable[[HiveViewCatalog, Realm], object]:
    return lambda catalog, realm: catalog.execute(text.format(database=realm.database))


def _commit_table(catalog: HiveViewCatalog, realm: Realm) -> None:
    with catalog.load_table((realm.database, "t")).transaction() as transaction:
        transaction.set_properties(color="blue")


def _create_table_by_transaction(catalog: HiveViewCatalog, realm: Realm) -> None:
    with catalog.create_table_transaction((realm.database, "new"), SCHEMA) as transaction:
        transaction.set_properties(color="blue")


def _update(catalog: HiveViewCatalog, realm: Realm) -> Any:
    return catalog.load_view((realm.database, "v")).update()


OPERATIONS = (
    Denied(
        "create",
        lambda catalog, realm: catalog.create_view((realm.database, "new"), SCHEMA, version(realm.database)),
        "create",
        "new",
    ),
    Denied(
        "create by SQL", _sql("CREATE OR REPLACE VIEW {database}.new AS SELECT id FROM {database}.t"), "create", "new"
    ),
    Denied("replace by SQL", _sql("CREATE OR REPLACE VIEW {database}.v AS SELECT id FROM {database}.t"), "change", "v"),
    Denied(
        "replace",
        lambda catalog, realm: (
            _update(catalog, realm).replace_version(version(realm.database, ("spark", "select 3, 'three'"))).commit()
        ),
        "change",
        "v",
    ),
    Denied(
        "properties",
        lambda catalog, realm: _update(catalog, realm).set_properties(color="blue").commit(),
        "change",
        "v",
    ),
    Denied("rollback", lambda catalog, realm: _update(catalog, realm).rollback(version_id=1).commit(), "change", "v"),
    Denied(
        "rename",
        lambda catalog, realm: catalog.rename_view((realm.database, "v"), (realm.database, "new")),
        "rename",
        "v",
    ),
    Denied("drop", lambda catalog, realm: catalog.drop_view((realm.database, "v")), "drop", "v"),
    Denied("purge", lambda catalog, realm: catalog.drop_view((realm.database, "v"), purge_files=True), "drop", "v"),
    Denied(
        "drop of a Hive view",
        lambda catalog, realm: drop_hive_view(
            catalog.store, catalog.store.get_view_row(ViewName(realm.database, LEGACY))
        ),
        "drop",
        LEGACY,
    ),
    Denied(
        "register",
        lambda catalog, realm: catalog.register_view((realm.database, REGISTERED), realm.registered_file()),
        "create",
        REGISTERED,
    ),
    Denied(
        "create table", lambda catalog, realm: catalog.create_table((realm.database, "new"), SCHEMA), "create", "new"
    ),
    Denied("create table by transaction", _create_table_by_transaction, "create", "new"),
    Denied("commit of a table", _commit_table, "change", "t"),
    Denied(
        "rename table",
        lambda catalog, realm: catalog.rename_table((realm.database, "t"), (realm.database, "new")),
        "rename",
        "t",
    ),
    Denied("drop table", lambda catalog, realm: catalog.drop_table((realm.database, "t")), "drop", "t"),
    Denied("purge table", lambda catalog, realm: catalog.purge_table((realm.database, "t")), "drop", "t"),
    *(
        Denied(
            f"create materialized, {layout}",
            lambda catalog, realm, layout=layout: catalog.materialized.create(  # type: ignore[misc]
                (realm.database, "new"), f"SELECT id FROM {realm.database}.t", layout=layout
            ),
            "create",
            subject,
        )
        for layout, subject in (("attached", "new"), ("registered", "new__storage"), ("table", "new"))
    ),
    Denied(
        "drop materialized",
        lambda catalog, realm: catalog.materialized.load((realm.database, MATERIALIZED)).drop(),
        "drop",
        MATERIALIZED,
    ),
    Denied(
        "add partition",
        _sql(f"ALTER VIEW {{database}}.{PARTITIONED} ADD PARTITION (id = 2)"),
        "add a partition to",
        PARTITIONED,
    ),
    Denied(
        "drop partition",
        _sql(f"ALTER VIEW {{database}}.{PARTITIONED} DROP PARTITION (id = 1)"),
        "drop a partition of",
        PARTITIONED,
    ),
    Denied(
        "create database",
        lambda catalog, realm: catalog.create_namespace(
            f"{realm.database}_new", {"location": f"{realm.location}/new.db"}
        ),
        "create",
        "_new",
    ),
    Denied(
        "change database",
        lambda catalog, realm: catalog.update_namespace_properties(realm.database, updates={"color": "blue"}),
        "change",
        "",
        is_checked_by_hive2=False,
    ),
    Denied("drop database", lambda catalog, realm: catalog.drop_namespace(f"{realm.database}{EMPTY}"), "drop", EMPTY),
)
