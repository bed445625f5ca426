"""Changes on a file system that is read-only for the client and the metastore."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from hive_views.cli.app import app
from hive_views.cli.exit_codes import ExitCode, exit_code
from hive_views.errors import HiveViewsError, MetadataWriteError, MetastoreRefusedError
from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore
from tests.conftest import CACHE
from tests.faults.disks import remount, small_disk
from tests.integration.metastore.denied_changes import OPERATIONS, Denied, Realm
from tests.suites import extended

WRITES_NO_FILE = (
    *("rename", "drop", "purge", "register", "drop of a Hive view", "drop materialized", "change database"),
    *("rename table", "drop table", "purge table", "add partition", "drop partition", "drop database"),
)
"""Changes of the metastore only; a purge cannot delete the files, and reports them."""

REFUSED = tuple(operation for operation in OPERATIONS if operation.name not in WRITES_NO_FILE)


@pytest.fixture(scope="module", params=[EMBEDDED_VERSION, *extended("3.1.3", "4.2.0")])
def metastore(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """A metastore of the module: the shared one would keep rows whose files are gone."""
    directory = tmp_path_factory.mktemp("read_only")
    running: MetastoreProcess = (
        EmbeddedMetastore(directory)
        if request.param == EMBEDDED_VERSION
        else StandaloneMetastore(directory, version=request.param, cache=CACHE)
    )
    with running:
        yield running


@pytest.fixture(scope="module")
def realm(metastore: MetastoreProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """A filled database on a file system that is read-only by now."""
    with small_disk(tmp_path_factory.mktemp("disks") / "mounted", "8m") as directory:
        realm = Realm(metastore, directory.as_uri())
        with realm.catalog() as catalog:
            realm.fill(catalog)
        remount(directory, "ro")
        yield realm


@pytest.mark.parametrize("operation", REFUSED, ids=str)
def test_refused_write_changes_nothing(operation: Denied, realm: Realm) -> None:
    if operation.name == "create database" and getattr(realm.metastore, "version", "").startswith("4"):
        pytest.skip("Hive 4 creates no directory for a database without managed tables")
    before = realm.state()
    with realm.catalog() as catalog, pytest.raises(HiveViewsError) as caught:
        operation.run(catalog, realm)
    expected = MetastoreRefusedError if operation.name == "create database" else MetadataWriteError
    assert isinstance(caught.value, expected)
    assert exit_code(caught.value) is ExitCode.FAILED
    assert realm.state() == before


def test_command_reports_read_only_storage(realm: Realm) -> None:
    before = realm.state()
    query = f"SELECT id FROM {realm.database}.t"
    for layout in ("attached", "registered", "table"):
        words = ["mv", "create", f"{realm.database}.new", "--sql", query, "--layout", layout]
        done = CliRunner().invoke(app, ["--uri", realm.metastore.uri, *words])
        assert done.exit_code == ExitCode.FAILED, done.stderr
        assert "Read-only file system" in done.stderr
        assert "Traceback" not in done.stderr
    assert realm.state() == before
