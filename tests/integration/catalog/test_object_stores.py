"""Metadata files on S3 (moto's server) and in memory: requests, credentials and errors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from uuid import uuid4

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyiceberg.io.fsspec import FsspecFileIO

from hive_views import HiveViewCatalog
from hive_views.errors import MetadataFileError, MetadataWriteError, NoSuchViewError, RefusedLocationError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, GetTableRequest
from tests.integration.catalog.s3 import BUCKET, S3, SECRET, serving
from tests.integration.catalog.samples import OTHER_SCHEMA, SCHEMA, path, texts, version

OTHER = ("spark", "select 1")


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with serving() as s3:
        yield s3


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    server.requests.clear()
    yield server
    server.refuse = lambda _: None


@pytest.fixture
def catalog(open_catalog, s3: S3) -> HiveViewCatalog:
    return open_catalog(s3.properties)


@pytest.fixture
def location(database: str) -> str:
    return f"s3://{BUCKET}/{database}"


def below(s3: S3, database: str) -> int:
    # Arrow leaves an empty object with the name of the directory, as Hadoop does.
    return sum(key.startswith(f"{database}/") and not key.endswith("/") for key in s3.names())


def everything(catalog: HiveViewCatalog, database: str, location: str) -> None:
    """Every operation that touches metadata files; ends with a view `w` that has four of them."""
    name = f"{database}.v"
    catalog.create_view(name, SCHEMA, version(database), location=f"{location}/v")
    catalog.replace_view(name, OTHER_SCHEMA, version(database, OTHER))
    catalog.rename_view(name, f"{database}.w")
    view = catalog.load_view(f"{database}.w")
    assert view.metadata_location.startswith(f"{location}/v/metadata/")
    view.update().set_properties({"a": "b"}).commit()
    rolled = catalog.load_view(f"{database}.w").update().rollback(version_id=1).commit()
    assert texts(rolled.current_version()) == texts(version(database))
    assert [item.version_id for item in rolled.history()] == [1, 2, 1]
    assert catalog.list_views(database) == [(database, "w")]
    with pytest.raises(NoSuchViewError):
        catalog.load_view(name)


def test_all_operations_on_s3(catalog, s3, database, location):
    everything(catalog, database, location)
    assert below(s3, database) == 4
    catalog.drop_view(f"{database}.w", purge_files=True)
    assert below(s3, database) == 0  # every file that the view ever had


def test_catalog_works_without_list_and_copy_permissions(catalog, s3, database, location, caplog):
    """Only get, put and delete are permitted; S3 then answers 403 for absent objects."""
    present: set[str] = set()

    def refuse(request):
        if request.lists or request.copy:
            return 403
        if request.method in ("GET", "HEAD") and request.key not in present:
            return 403
        if request.method in ("PUT", "POST"):
            present.add(request.key)
        return None

    s3.refuse = refuse
    everything(catalog, database, location)
    assert [request for request in s3.requests if request.lists or request.copy] == []
    directory = catalog.load_view(f"{database}.w").metadata_location.rpartition("/")[0]
    (step,) = catalog.drop_view(f"{database}.w", purge_files=True).steps
    s3.refuse = lambda _: None
    assert below(s3, database) == 2  # the two files that the row does not name
    assert step.remaining_files == (directory,)
    assert "it cannot be listed" in caplog.text


def test_failed_write_in_create_leaves_no_files(catalog, s3, raw, database, location):
    s3.refuse = lambda request: 403 if request.method in ("PUT", "POST") else None
    with pytest.raises(MetadataWriteError) as caught:
        catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{location}/v")
    assert caught.value.location.startswith(f"{location}/v/metadata/")
    assert raw.get_all_tables(database) == []


def test_failed_write_in_replace_changes_nothing(catalog, s3, database, location):
    before = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{location}/v")
    s3.refuse = lambda request: 403 if request.method in ("PUT", "POST") else None
    with pytest.raises(MetadataWriteError):
        catalog.replace_view(f"{database}.v", OTHER_SCHEMA, version(database, OTHER))
    s3.refuse = lambda _: None
    assert catalog.load_view(f"{database}.v") == before


def test_unreadable_file_is_named_in_error(catalog, s3, database, location):
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{location}/v")
    s3.refuse = lambda request: 403 if request.method == "GET" else None
    with pytest.raises(MetadataFileError, match="Cannot read the metadata file") as caught:
        catalog.load_view(f"{database}.v")
    assert caught.value.location == view.metadata_location


def test_secrets_are_in_no_log_error_or_repr(open_catalog, s3, database, location, caplog):
    catalog = open_catalog(s3.properties)
    seen = [repr(catalog), str(catalog), repr(MetadataFiles(s3.properties))]
    with caplog.at_level(logging.DEBUG):
        seen.append(repr(catalog.create_view(f"{database}.v", SCHEMA, version(database), location=f"{location}/v")))
        s3.refuse = lambda request: 403 if request.method == "GET" else None
        with pytest.raises(MetadataFileError) as unread:
            catalog.load_view(f"{database}.v")
        s3.refuse = lambda request: 403 if request.method in ("PUT", "POST") else None
        with pytest.raises(MetadataWriteError) as unwritten:
            catalog.create_view(f"{database}.w", SCHEMA, version(database), location=f"{location}/w")
    seen += [str(unread.value), repr(unread.value), str(unwritten.value), repr(unwritten.value), caplog.text]
    assert caplog.records
    assert [text for text in seen if SECRET in text] == []


class MemoryFileIO(FsspecFileIO):
    """PyIceberg's FileIO over fsspec's file system in memory."""

    def get_fs(self, scheme: str, hostname: str | None = None) -> MemoryFileSystem:
        return MemoryFileSystem()


def test_all_operations_in_memory(open_catalog, database):
    catalog = open_catalog({"py-io-impl": f"{__name__}.MemoryFileIO"})
    everything(catalog, database, f"memory://{database}")
    catalog.drop_view(f"{database}.w", purge_files=True)
    assert MemoryFileSystem().find(f"/{database}") == []


# -- Places that are not trusted ----------------------------------------------------------------------------------


@pytest.mark.parametrize("location", ["http://127.0.0.1:1/a.json", "javascript:alert(1)", "jar:file:/a!/b", "data:,{}"])
def test_pointer_with_unknown_scheme_error_names_file(location):
    with pytest.raises(MetadataFileError) as caught, pytest.warns(UserWarning, match="No preferred file impl"):
        MetadataFiles({}).read(location)
    assert caught.value.location == location


@pytest.mark.parametrize("location", ["/etc/passwd", "file:/etc/passwd", "FILE:///etc/passwd"])
@pytest.mark.parametrize("uri", ["thrift://hive.example.org:9083", "thrift://127.0.0.1:9083,thrift://10.0.0.1:9083"])
def test_row_of_remote_metastore_cannot_access_local_files(location, uri):
    files = MetadataFiles({"uri": uri})
    with pytest.raises(RefusedLocationError, match=r"hive-views\.metadata-schemes"):
        files.read(location)
    assert files.delete(location) is False


@pytest.mark.parametrize(
    "properties",
    [
        {"uri": "thrift://hive.example.org:9083", "hive-views.metadata-schemes": "s3, File"},
        {"uri": "thrift://hive.example.org:9083", "warehouse": "file:///shared/warehouse"},
        {"uri": "thrift://localhost:9083,thrift://[::1]:9083"},
    ],
)
def test_local_files_are_read_for_local_metastore(properties, tmp_path):
    with pytest.raises(MetadataFileError, match="does not exist"):
        MetadataFiles(properties).read(f"file://{tmp_path}/none")


def test_schemes_can_be_narrowed(open_catalog, raw, database):
    catalog = open_catalog({"hive-views.metadata-schemes": "s3"})
    with pytest.raises(MetadataWriteError, match="is s3, and this is file"):
        catalog.create_view(f"{database}.v", SCHEMA, version(database))
    assert raw.get_all_tables(database) == []


@pytest.fixture
def point(catalog, raw, database):
    """Makes a table, and lets its row point to another place, as whoever may write rows can."""

    def pointing(location: str) -> str:
        name = f"t_{uuid4().hex[:8]}"
        catalog.create_table(f"{database}.{name}", SCHEMA)
        row = raw.get_table_req(GetTableRequest(database, name)).table
        row.parameters["metadata_location"] = location
        row.parameters.pop("uuid", None)
        raw.alter_table_with_environment_context(database, name, row, EnvironmentContext({}))
        return f"{database}.{name}"

    return pointing


def test_table_pointer_scheme_is_checked(open_catalog, point, own_directory):
    location = f"{own_directory}/secret.json"
    path(location).write_text("user:secret of this machine")
    name = point(location)
    catalog = open_catalog({"hive-views.metadata-schemes": "s3"})
    for attempt in (
        lambda: catalog.load_table(name),
        lambda: catalog.purge_table(name),
        lambda: catalog.register_table(f"{name}_2", location),
        lambda: catalog.create_table(f"{name}_3", SCHEMA),
    ):
        with pytest.raises(RefusedLocationError, match="is s3, and this is file") as caught:
            attempt()
        assert "secret of" not in str(caught.value)
    assert path(location).exists()


@pytest.mark.parametrize("content", [b"[" * 100_000, b"root:x:0:0", b"[]"], ids=["deep", "text", "list"])
def test_view_over_table_with_invalid_metadata(catalog, point, own_directory, database, content, caplog):
    location = f"{own_directory}/rubbish.metadata.json"
    path(location).write_bytes(content)
    name = point(location)
    catalog.execute(f"CREATE VIEW {database}.v AS SELECT * FROM {name}")
    assert catalog.load_view(f"{database}.v").schema().column_names == ["id", "data"]
    assert f"Could not determine the UUID of {name}" in caplog.text


class Chosen(FsspecFileIO):
    """A FileIO class chosen by the user."""

    def __init__(self, properties: dict[str, str]) -> None:
        raise AssertionError("it ran")


def test_table_metadata_does_not_configure_file_io(catalog, database):
    """Any program can write it: `s3.endpoint` would send the catalog's credentials and the table's rows elsewhere."""
    hostile = {"py-io-impl": f"{__name__}.Chosen", "s3.endpoint": "http://elsewhere", "gcs.service.host": "elsewhere"}
    table = catalog.create_table(f"{database}.t", SCHEMA, properties=hostile)
    with table.transaction() as transaction:
        transaction.set_properties({"s3.proxy-uri": "http://elsewhere"})
    for each in (
        table,
        catalog.load_table(f"{database}.t"),
        catalog.register_table(f"{database}.u", table.metadata_location),
    ):
        assert each.properties.items() >= hostile.items()
        assert each.io.properties == catalog.store.files.properties
