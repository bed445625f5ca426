"""HDFS and its clients in a Kerberos realm, with a real KDC; the metastore is the shared one, without Kerberos."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views.errors import MetadataWriteError
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.hdfs.cluster import Hdfs, Kerberos, hdfs, write_configuration
from tests.integration.metastore.kerberos import REALM, Kdc, missing

if reason := missing():
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with Kdc(tmp_path_factory.mktemp("kdc")).running() as running:
        yield running


@pytest.fixture(scope="module")
def identity(kdc: Kdc) -> Kerberos:
    return Kerberos(f"hdfs/localhost@{REALM}", kdc.keytab("hdfs/localhost"), kdc.config)


@pytest.fixture(scope="module")
def secured(identity: Kerberos, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with hdfs(tmp_path_factory.mktemp("secured"), kerberos=identity) as running:
        running.make_directory("/warehouse")
        yield running


@pytest.fixture(scope="module")
def ann(kdc: Kdc) -> Path:
    return kdc.keytab("ann")


@pytest.fixture
def estate(kdc: Kdc, secured: Hdfs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, identity: Kerberos) -> str:
    """The URI of a directory; the configuration of a client is in the environment."""
    for name, value in kdc.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(write_configuration(tmp_path, identity.settings())))
    kdc.log_out()
    return f"{secured.uri}/warehouse"


def test_files_belong_to_the_principal_of_the_ticket(open_catalog, kdc, secured, estate, ann, database):
    kdc.log_in(ann, "ann")
    catalog = open_catalog()
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{estate}/{database}/v")
    assert secured.owner(view.metadata_location) == "ann"
    catalog.replace_view(f"{database}.v", SCHEMA, version(database, ("spark", "select 1, 'a'")))
    assert catalog.load_view(f"{database}.v").current_version().version_id == 2
    assert catalog.drop_view(f"{database}.v", purge_files=True).steps[0].remaining_files == ()
    assert secured.files(f"/warehouse/{database}") == set()


def test_keytab_takes_the_place_of_a_ticket(open_catalog, secured, cluster, estate, ann, database):
    keytab = {"hive-views.keytab-file": str(ann), "hive-views.keytab-principal": f"ann@{REALM}"}
    catalog = open_catalog(keytab)
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{estate}/{database}/v")
    assert secured.owner(view.metadata_location) == "ann"
    assert open_catalog(keytab).load_view(f"{database}.v") == view
    assert catalog.drop_view(f"{database}.v", purge_files=True).steps[0].remaining_files == ()


def test_proxy_user_of_hadoop_owns_the_files(open_catalog, kdc, monkeypatch, secured, estate, ann, database):
    kdc.log_in(ann, "ann")
    monkeypatch.setenv("HADOOP_PROXY_USER", "bob")
    view = open_catalog().create_view(f"{database}.v", SCHEMA, version(database), location=f"{estate}/{database}/v")
    assert secured.owner(view.metadata_location) == "bob"


def test_keytab_is_not_needed_without_kerberos(open_catalog, monkeypatch, cluster, ann, database):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    keytab = {"hive-views.keytab-file": str(ann), "hive-views.keytab-principal": f"ann@{REALM}"}
    location = f"{cluster.uri}/warehouse/{database}/v"
    catalog = open_catalog(keytab)
    catalog.create_view(f"{database}.v", SCHEMA, version(database), location=location)
    assert catalog.drop_view(f"{database}.v", purge_files=True).steps[0].remaining_files == ()


def test_missing_ticket_is_reported(open_catalog, raw, estate, database):
    with pytest.raises(MetadataWriteError, match=r"No Kerberos credentials available .*kinit") as caught:
        open_catalog().create_view(f"{database}.v", SCHEMA, version(database), location=f"{estate}/{database}/v")
    assert "GssMajorCodes" not in str(caught.value)
    assert raw.get_all_tables(database) == []


def test_expired_ticket_is_reported(open_catalog, kdc, raw, estate, ann, database):
    kdc.log_in(ann, "ann", lifetime="1s")
    time.sleep(2)
    with pytest.raises(MetadataWriteError, match=r"(?i)ticket expired.*kinit"):
        open_catalog().create_view(f"{database}.v", SCHEMA, version(database), location=f"{estate}/{database}/v")
    assert raw.get_all_tables(database) == []
