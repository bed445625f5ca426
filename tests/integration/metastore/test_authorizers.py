"""Changes that Hive's authorizers with grants deny: a permission error, and nothing is left behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore.ttypes import (
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
)

from hive_views.cli.exit_codes import ExitCode, exit_code
from hive_views.errors import HiveViewsError, PermissionDeniedError
from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.jvm import find_jars
from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore
from tests.conftest import CACHE
from tests.integration.metastore.denied_changes import EMPTY, OPERATIONS, STORAGE_BASED, Denied, Realm
from tests.integration.metastore.listeners import build_agent, start_with_agent

_PLUGINS = "org.apache.hadoop.hive.ql.security.authorization"
HIVE_3 = "3.1.3"
SETUGI = {"hive.metastore.execute.setugi": "true"}

GRANTS = {
    "hive.metastore.pre.event.listeners": f"{_PLUGINS}.AuthorizationPreEventListener",
    "hive.security.metastore.authorization.manager": f"{_PLUGINS}.DefaultHiveMetastoreAuthorizationProvider",
    "hive.security.metastore.authenticator.manager": (
        "org.apache.hadoop.hive.ql.security.HadoopDefaultMetastoreAuthenticator"
    ),
    **SETUGI,
}
"""The grants of Hive that precede SQL standard based authorization."""

SQL_STANDARD = {
    "hive.metastore.pre.event.listeners": f"{_PLUGINS}.plugin.metastore.HiveMetaStoreAuthorizer",
    "hive.security.authorization.enabled": "true",
    "hive.security.authorization.manager": f"{_PLUGINS}.plugin.sqlstd.SQLStdHiveAuthorizerFactory",
    "hive.security.authenticator.manager": "org.apache.hadoop.hive.ql.security.SessionStateUserAuthenticator",
    "hive.users.in.admin.role": "hive",
    "metastore.users.in.admin.role": "hive",
    "metastore.server.filter.enabled": "false",
    **SETUGI,
}
"""SQL standard based authorization in the metastore, which reads the grants from another metastore."""


@dataclass(frozen=True)
class Authorizer:
    """A way to authorize, on one release."""

    name: str
    version: str
    properties: Mapping[str, str]
    select: str
    """The name of the privilege to read."""
    needs_other_metastore: bool = False
    unchecked: frozenset[str] = frozenset()
    """Operations that it lets any user do."""
    undetermined: frozenset[str] = frozenset()
    """Operations that it refuses because it cannot read an object, and not because a privilege is missing."""

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"

    def expected(self, operation: Denied) -> ExitCode:
        """Return how an operation without privileges ends."""
        if operation.name in self.unchecked:
            return ExitCode.OK
        return ExitCode.FAILED if operation.name in self.undetermined else ExitCode.DENIED


READS_TABLE = frozenset(
    operation.name
    for operation in OPERATIONS
    if operation.name in ("create by SQL", "replace by SQL", "commit of a table")
    or (operation.name.endswith(" table") and operation.name != "create table")
    or operation.name.startswith("create materialized")
)
"""Operations that read an Iceberg table. The authorizer's own client cannot: the server here lacks Iceberg's storage
handler, which a Hive installation has."""

AUTHORIZERS = (
    Authorizer("grants", EMBEDDED_VERSION, GRANTS, "Select", unchecked=frozenset({"change database"})),
    Authorizer("grants", HIVE_3, GRANTS, "Select"),
    Authorizer("grants", "4.2.0", GRANTS, "Select"),
    Authorizer("storage", HIVE_3, STORAGE_BASED, "Select"),
    # It reads the target of a rename, which does not exist yet.
    Authorizer("SQL standard", "4.2.0", SQL_STANDARD, "SELECT", True, undetermined=READS_TABLE | {"rename"}),
)


def start(version: str, directory: Path, properties: Mapping[str, str]) -> MetastoreProcess:
    if version == EMBEDDED_VERSION:
        return EmbeddedMetastore(directory, properties=properties).start()
    if version == HIVE_3:
        # Its standalone server lacks Hive's authorizers.
        (jar,) = fetch([Artifact("org.apache.hive", "hive-exec", HIVE_3)], CACHE)
        metastore = StandaloneMetastore(directory, version=version, properties=properties, cache=CACHE)
        agent = directory.parent / "agent"
        start_with_agent(metastore, agent / "listener.jar" if agent.exists() else build_agent(agent, jar))
        return metastore
    # Hive's class of SQL functions needs it, which the authorizer loads.
    (mathematics,) = find_jars("the tests").glob("commons-math3-*.jar")
    options = (f"-Xbootclasspath/a:{mathematics}",)
    return StandaloneMetastore(directory, version=version, properties=properties, cache=CACHE, options=options).start()


@contextmanager
def served(realm: Realm, version: str, directory: Path, properties: Mapping[str, str]) -> Iterator[Realm]:
    """Serve a database with other properties for the body of a `with` statement."""
    metastore = start(version, directory, properties)
    try:
        yield realm.served_by(metastore)
    finally:
        metastore.stop()


def grant_select(realm: Realm, privilege: str) -> None:
    """Let alice read everything in the databases."""
    databases = (realm.database, f"{realm.database}{EMPTY}")
    objects = [HiveObjectRef(HiveObjectType.DATABASE, name) for name in databases]
    objects += [HiveObjectRef(HiveObjectType.TABLE, realm.database, name) for name in realm.names()]
    info = PrivilegeGrantInfo(privilege, 0, "hive", PrincipalType.USER, False)
    grants = [HiveObjectPrivilege(granted, "alice", PrincipalType.USER, info) for granted in objects]
    with HMSClient(host="127.0.0.1", port=realm.metastore.port) as client:
        assert client.grant_privileges(PrivilegeBag(grants))


@pytest.mark.extended
@pytest.mark.parametrize("authorizer", AUTHORIZERS, ids=str)
def test_changes_without_privilege_are_denied(authorizer: Authorizer, tmp_path: Path) -> None:
    directory, version = tmp_path / "hms", authorizer.version
    metastore = start(version, directory, SETUGI)
    try:
        realm = Realm(metastore)
        with realm.catalog() as catalog:
            realm.fill(catalog)
        grant_select(realm, authorizer.select)
        before = realm.state()
    finally:
        metastore.stop()
    with ExitStack() as stack:
        properties = dict(authorizer.properties)
        if authorizer.needs_other_metastore:
            other = start(version, Path(shutil.copytree(directory, tmp_path / "other")), SETUGI)
            stack.callback(other.stop)
            properties["hive.metastore.uris"] = properties["metastore.thrift.uris"] = other.uri
        with served(realm, version, directory, properties) as guarded:
            ends = {operation.name: end_of(operation, guarded) for operation in OPERATIONS}
    assert ends == {operation.name: authorizer.expected(operation) for operation in OPERATIONS}
    with served(realm, version, directory, SETUGI) as plain:
        after = plain.state()
    if not authorizer.unchecked:
        assert after == before
    assert (after.rows, after.partitions, after.files, after.locks) == (
        before.rows,
        before.partitions,
        before.files,
        before.locks,
    )


def end_of(operation: Denied, realm: Realm) -> ExitCode:
    """Run an operation as alice, and return the exit code of its error."""
    with realm.catalog({"ugi": "alice"}) as catalog:
        try:
            operation.run(catalog, realm)
        except HiveViewsError as error:
            if isinstance(error, PermissionDeniedError):
                assert (error.user, error.operation) == ("alice", operation.operation)
            return exit_code(error)
    return ExitCode.OK
