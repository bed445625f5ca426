"""Changes that a metastore with storage based authorization denies: a permission error, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hive_views import HiveViewCatalog
from hive_views.cli.app import app
from hive_views.cli.exit_codes import ExitCode, exit_code
from hive_views.errors import CommitStateUnknownError, PermissionDeniedError
from hive_views.legacy_import import plan_import, run_plan
from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore
from tests.conftest import CACHE
from tests.faults.conftest import LOCK_FREE
from tests.faults.view_changes import ALTER_TABLE, DROP_TABLE
from tests.integration.metastore.denied_changes import EMPTY, OPERATIONS, STORAGE_BASED, Denied, Realm
from tests.integration.metastore.rpc import connect
from tests.proxy import ANY, DropRequest, Hold, ThriftProxy
from tests.suites import extended

ALICE = {"ugi": "alice"}


@pytest.fixture(scope="module", params=[EMBEDDED_VERSION, *extended("4.2.0")])
def metastore(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """A metastore with storage based authorization."""
    directory = tmp_path_factory.mktemp("denials")
    running: MetastoreProcess = (
        EmbeddedMetastore(directory, properties=STORAGE_BASED)
        if request.param == EMBEDDED_VERSION
        else StandaloneMetastore(directory, version=request.param, properties=STORAGE_BASED, cache=CACHE)
    )
    with running:
        yield running


@pytest.fixture(scope="module")
def realm(metastore: MetastoreProcess) -> Realm:
    """A filled database; tests leave it as it is."""
    realm = Realm(metastore)
    with realm.catalog() as catalog:
        realm.fill(catalog)
    return realm


@pytest.mark.parametrize("denied", OPERATIONS, ids=str)
def test_denied_change_is_permission_error(denied: Denied, realm: Realm) -> None:
    before = realm.state()
    if not denied.is_checked_by_hive2 and isinstance(realm.metastore, EmbeddedMetastore):
        pytest.skip("Hive 2.3 does not check it")
    with realm.catalog(ALICE) as catalog, pytest.raises(PermissionDeniedError) as caught:
        denied.run(catalog, realm)
    error = caught.value
    database = "database" in denied.name
    assert error.identifier == realm.database + (denied.subject if database else f".{denied.subject}")
    assert error.operation == denied.operation
    assert "Permission denied: user=alice" in error.reason
    assert "Nothing was changed" in str(error)
    assert exit_code(error) is ExitCode.DENIED
    assert not error.may_take_effect
    assert realm.state() == before


def test_denied_import_leaves_legacy_view(realm: Realm, tmp_path: Path) -> None:
    before = realm.state()
    with realm.catalog(ALICE) as catalog:
        plan = plan_import(catalog, databases=[realm.database])
        result = run_plan(plan, catalog, tmp_path / "journal")
    (outcome,) = result.outcomes
    assert outcome.status.value == "failed"
    assert "Permission denied: user=alice" in str(outcome)
    assert realm.state() == before


@pytest.mark.parametrize(
    ("arguments", "operation"),
    [
        (["drop", "{database}.v", "--yes"], "drop"),
        (["drop", "{database}.v", "--purge", "--yes"], "drop"),
        (["rename", "{database}.v", "{database}.new"], "rename"),
        (["sql", "CREATE OR REPLACE VIEW {database}.v AS SELECT id FROM {database}.t"], "change"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_exit_code_of_denied_command(arguments: list[str], operation: str, realm: Realm) -> None:
    before = realm.state()
    words = [word.format(database=realm.database) for word in arguments]
    done = CliRunner().invoke(app, ["--uri", realm.metastore.uri, "--property", "ugi=alice", *words])
    assert done.exit_code == ExitCode.DENIED
    assert f"Permission denied to {operation} {realm.database}.v" in done.stderr
    assert realm.state() == before


# -- Drops ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def own_realm(metastore: MetastoreProcess) -> Realm:
    """A filled database of the test."""
    realm = Realm(metastore)
    with realm.catalog() as catalog:
        realm.fill(catalog)
    return realm


def test_drop_denied_by_sticky_bit(own_realm: Realm) -> None:
    own_realm.directory.chmod(0o1777)
    for name in ("v", "t"):
        (own_realm.directory / name).chmod(0o777)
    before = own_realm.state()
    with own_realm.catalog(ALICE) as catalog:
        for drop, name in ((catalog.drop_view, "v"), (catalog.drop_table, "t")):
            with pytest.raises(PermissionDeniedError, match="sticky bit"):
                drop((own_realm.database, name))
    assert own_realm.state() == before


@pytest.mark.parametrize(
    ("name", "drop", "error"),
    [
        ("v", lambda catalog, name: catalog.drop_view(name, purge_files=True), CommitStateUnknownError),
        ("t", lambda catalog, name: catalog.purge_table(name), CommitStateUnknownError),
    ],
    ids=["view", "table"],
)
def test_denied_drop_of_object_dropped_by_other_client_deletes_no_file(
    name: str, drop: Callable[[HiveViewCatalog, Any], object], error: type[Exception], own_realm: Realm
) -> None:
    """The row is gone when it is read after the denial; the files belong to whoever dropped it."""
    before = own_realm.state()
    with (
        ThriftProxy(own_realm.metastore.port) as proxy,
        own_realm.catalog({**ALICE, "uri": proxy.uri}) as catalog,
        ThreadPoolExecutor(1) as pool,
    ):
        reading = proxy.on(ANY, Hold(), nth=2, after=DROP_TABLE)
        dropping = pool.submit(drop, catalog, (own_realm.database, name))
        reading.wait_until_held()
        with connect(own_realm.metastore.port) as client:
            client.drop_table(own_realm.database, name, False)
        reading.released.set()
        assert isinstance(dropping.exception(), error)
    assert own_realm.state().files == before.files


def test_denied_drop_without_lock_renames_back(own_realm: Realm) -> None:
    """The user may change the view, so it is renamed, but not drop it."""
    (own_realm.directory / "v").chmod(0o777)
    before = own_realm.state()
    with own_realm.catalog({**ALICE, **LOCK_FREE}) as catalog:
        if isinstance(own_realm.metastore, EmbeddedMetastore):
            # Hive 2.3 verifies compare-and-swap on a temporary row, which is denied, too.
            own_realm.directory.chmod(0o777)
            catalog.load_view((own_realm.database, "v")).update().set_properties(color="blue").commit()
            own_realm.directory.chmod(0o755)
            before = own_realm.state()
        with pytest.raises(PermissionDeniedError) as caught:
            catalog.drop_view((own_realm.database, "v"))
    assert (caught.value.identifier, caught.value.operation) == (f"{own_realm.database}.v", "drop")
    assert caught.value.completed_steps == ()
    assert own_realm.state() == before


def test_denied_repetition_reports_unknown_outcome(own_realm: Realm) -> None:
    """The first request had the permission, and may still arrive; the second one is denied."""
    (own_realm.directory / "v").chmod(0o777)

    with ThriftProxy(own_realm.metastore.port) as proxy, own_realm.catalog({**ALICE, "uri": proxy.uri}) as catalog:
        update = catalog.load_view((own_realm.database, "v")).update().set_properties(color="blue")
        proxy.on(ALTER_TABLE, DropRequest())
        with proxy.in_flight(ALTER_TABLE, update.commit, nth=2) as running:
            (own_realm.directory / "v").chmod(0o755)
    assert isinstance(running.exception(), CommitStateUnknownError)
    assert "Permission denied: user=alice" in str(running.exception())


@pytest.mark.extended
def test_drop_denied_by_check_of_storage(tmp_path: Path) -> None:
    """Hive's own check, without an authorizer (hive.metastore.authorization.storage.checks)."""
    properties = {"hive.metastore.authorization.storage.checks": "true"}
    with EmbeddedMetastore(tmp_path / "metastore", properties=properties) as running:
        realm = Realm(running)
        with realm.catalog() as catalog:
            realm.fill(catalog)
        before = realm.state()
        with realm.catalog(ALICE) as catalog:
            for drop, name in (
                (catalog.drop_view, (realm.database, "v")),
                (catalog.drop_table, (realm.database, "t")),
                (catalog.drop_namespace, f"{realm.database}{EMPTY}"),
            ):
                with pytest.raises(PermissionDeniedError, match="is not writable by alice"):
                    drop(name)
        assert realm.state() == before


def test_owner_is_not_denied(own_realm: Realm) -> None:
    """The same directories, with the server's own user."""
    assert own_realm.directory.stat().st_mode & 0o777 == 0o755
    with own_realm.catalog() as catalog:
        catalog.rename_view((own_realm.database, "v"), (own_realm.database, "new"))
        catalog.drop_view((own_realm.database, "new"))
