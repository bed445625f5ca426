"""How locations name an HDFS: a NameNode, none, a name service with two NameNodes, a mount table."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views.errors import MetadataWriteError
from hive_views.io.empty_directories import remove_empty_tree
from hive_views.io.metadata_files import MetadataFiles
from hive_views.local_metastore.process import MetastoreProcess
from tests.conftest import SERVER, started
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.hdfs.cluster import Hdfs, hdfs, write_configuration

SERVICE = "hdfs://estate/warehouse"


def everything(catalog, name: str, location: str) -> None:
    """Create, replace, load and purge a view."""
    database = name.partition(".")[0]
    catalog.create_view(name, SCHEMA, version(database), location=location)
    catalog.replace_view(name, SCHEMA, version(database, ("spark", "select 1, 'a'")))
    view = catalog.load_view(name)
    assert view.metadata_location.startswith(f"{location}/metadata/")
    [step] = catalog.drop_view(name, purge_files=True).steps
    assert step.remaining_files == ()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """A name service, `estate`, with two NameNodes."""
    with hdfs(tmp_path_factory.mktemp("ha"), namenodes=2) as running:
        running.make_directory("/warehouse")
        yield running


@pytest.fixture(scope="module")
def configuration(cluster: Hdfs, pair: Hdfs) -> dict[str, str]:
    """What an estate has in `core-site.xml` and `hdfs-site.xml`."""
    first, second = pair.addresses
    return {
        "fs.defaultFS": cluster.uri,
        "dfs.nameservices": "estate",
        "dfs.ha.namenodes.estate": "a,b",
        "dfs.namenode.rpc-address.estate.a": first,
        "dfs.namenode.rpc-address.estate.b": second,
        "dfs.client.failover.proxy.provider.estate": (
            "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
        ),
        "fs.viewfs.mounttable.estate.link./data": f"{cluster.uri}/warehouse",
        "fs.viewfs.mounttable.estate.linkFallback": f"{cluster.uri}/warehouse",
    }


@pytest.fixture(scope="module")
def metastore(configuration: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """A metastore with that configuration: it resolves the locations of rows when it changes them."""
    with started(tmp_path_factory.mktemp("metastore"), SERVER, properties=configuration) as running:
        yield running


@pytest.fixture
def configured(configuration: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The configuration is in HADOOP_CONF_DIR."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(write_configuration(tmp_path, configuration)))


@pytest.fixture
def path(cluster: Hdfs, database: str) -> Iterator[str]:
    """The path of a directory; it is empty afterwards."""
    yield f"/warehouse/{database}"
    assert cluster.files(f"/warehouse/{database}") == set()


@pytest.mark.usefixtures("configured")
def test_default_file_system_is_used_without_host(open_catalog, database, path):
    for form in ("hdfs://", "hdfs:"):
        everything(open_catalog(), f"{database}.v", f"{form}{path}/v")


def test_host_is_taken_from_properties_of_pyiceberg(open_catalog, monkeypatch, cluster, database, path):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    host, _, port = cluster.addresses[0].partition(":")
    everything(open_catalog({"hdfs.host": host, "hdfs.port": port}), f"{database}.v", f"hdfs://{path}/v")


def test_missing_configuration_is_named(open_catalog, monkeypatch, raw, database):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    with pytest.raises(MetadataWriteError, match="Set HADOOP_CONF_DIR"):
        open_catalog().create_view(f"{database}.v", SCHEMA, version(database), location="hdfs:///warehouse/v")
    with pytest.raises(MetadataWriteError, match="hdfs://localhost: Connection refused"):
        open_catalog().create_view(f"{database}.v", SCHEMA, version(database), location="hdfs://localhost/w/v")
    assert raw.get_all_tables(database) == []


@pytest.mark.usefixtures("configured")
def test_mount_table_is_resolved(open_catalog, cluster, database, path):
    catalog, location = open_catalog(), f"viewfs://estate/data/{database}/v"
    everything(catalog, f"{database}.v", location)
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=location)
    [file] = cluster.files(path)
    assert view.metadata_location == f"{location}/metadata/{file.rpartition('/')[2]}"
    assert catalog.drop_view(f"{database}.v", purge_files=True).steps[0].remaining_files == ()


def test_paths_with_special_characters(open_catalog, cluster, database, path):
    for name in ("a b", "a%20b", "ä"):
        everything(open_catalog(), f"{database}.v", f"{cluster.uri}{path}/{name}")


def test_pickled_file_io_reads_hdfs(open_catalog, cluster, database):
    table = open_catalog().create_table(f"{database}.t", SCHEMA, location=f"{cluster.uri}/warehouse/{database}.db/t")
    copy = pickle.loads(pickle.dumps(table.io))
    assert copy.new_input(table.metadata_location).exists()
    assert not copy.new_input(f"{table.metadata_location}.none").exists()


def test_only_empty_directories_are_removed(cluster, database):
    directory = f"{cluster.uri}/warehouse/{database}.db"
    files = MetadataFiles({})
    for name in ("a/file", "b/c/file"):
        with files.io(directory).new_output(f"{directory}/{name}").create(overwrite=True) as stream:
            stream.write(b"content")
    assert files.delete(f"{directory}/b/c/file")
    assert not files.remove_empty_directory(f"{directory}/a")
    assert not files.remove_empty_directory(f"{directory}/a/file")
    assert not files.remove_empty_directory(f"{directory}/none")
    remove_empty_tree(files, f"{directory}/b/c", f"{directory}/b")
    path = f"/warehouse/{database}.db"
    assert (cluster.files(path), cluster.empty_directories(path)) == ({f"{path}/a/file"}, set())
    assert files.delete(f"{directory}/a/file")


def test_missing_client_is_named(cluster):
    program = (
        "import sys\nsys.modules['hdfs_native'] = None\n"
        "from hive_views.io.metadata_files import MetadataFiles\nMetadataFiles({}).read(sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, f"{cluster.uri}/x"], capture_output=True, text=True)
    message = done.stderr.splitlines()[-1]
    assert "pip install 'hive_views[hdfs]'" in message and "Unable to load lib" in message


def test_chosen_file_io_is_used(cluster):
    files = MetadataFiles({"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"})
    with pytest.raises(ValueError, match="No registered filesystem for scheme: hdfs"):
        files.exists(f"{cluster.uri}/x")


@pytest.mark.usefixtures("configured")
def test_failover_is_followed(open_catalog, pair, database):
    catalog = open_catalog()
    everything(catalog, f"{database}.v", f"{SERVICE}/{database}/v")
    name = f"{database}.w"
    catalog.create_view(name, SCHEMA, version(database), location=f"{SERVICE}/{database}/w")
    for active in (1, 0):
        pair.activate(active)
        before = catalog.load_view(name)
        after = catalog.load_view(name).update().set_properties({"active": str(active)}).commit()
        assert len(after.metadata.versions) == len(before.metadata.versions)
        assert catalog.load_view(name).properties["active"] == str(active)
    assert len(pair.files(f"/warehouse/{database}/w")) == 3


@pytest.mark.usefixtures("configured")
def test_two_standby_namenodes_change_nothing(open_catalog, pair, raw, database):
    catalog = open_catalog({"hdfs.request-timeout": "3"})
    catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{SERVICE}/{database}/v")
    before = raw.get_table(database, "v")
    pair.activate(0)
    pair.deactivate(0)
    try:
        with pytest.raises(MetadataWriteError, match="did not answer within 3 s"):
            catalog.create_view(f"{database}.w", SCHEMA, version(database), location=f"{SERVICE}/{database}/w")
    finally:
        pair.activate(0)
    assert raw.get_all_tables(database) == ["v"] and raw.get_table(database, "v") == before
