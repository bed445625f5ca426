"""Rows that other programs wrote or changed: what commits preserve, and what loading reports as drift."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hive_views import HiveView, HiveViewCatalog, define
from hive_views.errors import (
    InvalidMetadataError,
    InvalidPropertyError,
    InvalidViewError,
    MetadataFileError,
    NotAnIcebergViewError,
    UnrecordedTextError,
)
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    FieldSchema,
    Order,
    PrincipalPrivilegeSet,
    PrivilegeGrantInfo,
    SkewedInfo,
    Table,
)
from hive_views.spec.file_codec import serialize
from tests.conftest import CatalogFactory
from tests.integration.catalog.samples import OTHER_SCHEMA, SCHEMA, path, version
from tests.unit.metastore.rows import as_json, golden_metadata, golden_row


@pytest.fixture
def full(catalog: HiveViewCatalog, database: str, raw: Client) -> HiveView:
    """A view whose row has every field set that this server keeps."""
    catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"p": "1"})
    table = raw.get_table(database, "v")
    grants = {"someone": [PrivilegeGrantInfo("SELECT", 5, "admin", 1, True)]}
    table.owner, table.ownerType, table.retention, table.lastAccessTime = "them", 2, 7, 12
    table.partitionKeys = [FieldSchema("day", "string", "which")]
    table.privileges = PrincipalPrivilegeSet(userPrivileges=grants, groupPrivileges={}, rolePrivileges={})
    table.parameters.update({"our.extra": "keep-me", "größe": "ü", "EXTERNAL": "FALSE", "empty": ""})
    table.sd.parameters = {"a": "b"}
    table.sd.skewedInfo = SkewedInfo(["id"], [["1"], ["2"]], {})
    table.sd.serdeInfo.parameters = {"serialization.format": "1"}
    table.sd.serdeInfo.name = "serde"
    table.sd.bucketCols, table.sd.sortCols, table.sd.numBuckets = ["id"], [Order("id", 1)], 4
    table.sd.compressed, table.sd.storedAsSubDirectories = True, True
    raw.alter_table_with_environment_context(database, "v", table, None)
    return catalog.load_view(f"{database}.v")


def row(raw: Client, view: HiveView) -> dict[str, Any]:
    values: dict[str, Any] = as_json(raw.get_table(*view.name()))
    return values


def check_kept(before: dict[str, Any], after: dict[str, Any], changed: set[str]) -> None:
    """Every field is as it was, but for those named; a field of a structure is named `outer.inner`."""
    detected = set()
    for field in before:
        if isinstance(before[field], dict):
            keys = before[field].keys() | after[field].keys()
            detected |= {f"{field}.{key}" for key in keys if before[field].get(key) != after[field].get(key)}
        elif before[field] != after[field]:
            detected.add(field)
    assert detected == changed


POINTERS = {"parameters.metadata_location", "parameters.previous_metadata_location"}
DEFINITION = {"viewOriginalText", "viewExpandedText", "parameters.current-schema", "sd.cols"}


@pytest.mark.hive2
@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (lambda catalog, view: view.update().set_properties(q="2").commit(), {*POINTERS, "parameters.q"}),
        (lambda catalog, view: view.update().remove_properties("p").commit(), {*POINTERS, "parameters.p"}),
        (lambda catalog, view: view.update().set_location("file:/elsewhere/v").commit(), {*POINTERS, "sd.location"}),
        (
            lambda catalog, view: view.update().replace_version(version("d", ("spark", "s")), OTHER_SCHEMA).commit(),
            POINTERS | DEFINITION,
        ),
        (
            lambda catalog, view: catalog.replace_view(view.name(), OTHER_SCHEMA, version("d", ("spark", "s"))),
            POINTERS | DEFINITION,
        ),
        (lambda catalog, view: catalog.rename_view(view.name(), (view.name()[0], "w")), {"tableName"}),
    ],
    ids=["set", "remove", "location", "version", "replace", "rename"],
)
def test_commit_preserves_parameters_of_other_programs(
    catalog: HiveViewCatalog,
    raw: Client,
    full: HiveView,
    own_directory: str,
    change: Callable[[HiveViewCatalog, HiveView], HiveView],
    changed: set[str],
) -> None:
    before = row(raw, full)
    # This server shows no grants with a row; the other fields are there to be lost.
    for field in ("owner", "partitionKeys", "retention", "lastAccessTime"):
        assert before[field]
    assert before["sd"]["skewedInfo"]["skewedColNames"] == ["id"]
    if "sd.location" in changed:
        moved = full.update().set_location(f"{own_directory}/v").commit()
    else:
        moved = change(catalog, full)
    check_kept(before, row(raw, moved), changed)


@pytest.mark.hive2
def test_rollback_restores_texts_and_keeps_properties(catalog: HiveViewCatalog, raw: Client, full: HiveView) -> None:
    before = row(raw, full)
    full.update().replace_version(version("d", ("spark", "s")), OTHER_SCHEMA).commit()
    back = catalog.load_view(full.name()).update().rollback(version_id=1).commit()
    check_kept(before, row(raw, back), POINTERS)


@pytest.mark.hive2
@pytest.mark.parametrize("golden", ["spark_iceberg_v_spark", "spark_iceberg_v_star"])
def test_row_of_java_file_equals_java_row(
    catalog: HiveViewCatalog, database: str, raw: Client, own_directory: str, golden: str
) -> None:
    """Read back from the same server that Java wrote to: every field, but for names, times and the owner."""
    location = f"{own_directory}/00000-a.metadata.json"
    metadata = golden_metadata(golden)
    path(location).write_bytes(serialize(metadata, codec="none"))
    view = catalog.register_view(f"{database}.v", location)
    ours, theirs = row(raw, view), as_json(golden_row(golden))
    for field in ("tableName", "dbName", "owner", "createTime", "lastAccessTime", "temporary"):
        # The golden row was decoded by an IDL with a default for `temporary`, which the server does not send.
        del ours[field], theirs[field]
    for parameters in (ours["parameters"], theirs["parameters"]):
        del parameters["metadata_location"], parameters["transient_lastDdlTime"]
    assert ours["parameters"].pop("EXTERNAL") == "TRUE"  # decision 0010
    assert ours == theirs
    assert view.drift == ()


# -- Drift ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def three_texts(catalog: HiveViewCatalog, database: str) -> HiveView:
    """A view whose typed, stored and expanded texts all differ."""
    definition = define(
        "select * from t",
        dialect="spark",
        default_namespace=(database,),
        stored="select id, data from t",
        expanded="select `t`.`id`, `t`.`data` from `d`.`t`",
    )
    return catalog.create_view(f"{database}.v", SCHEMA, definition)


def alter_view_as(table: Table) -> None:
    """What plain Spark's and Hive's ALTER VIEW … AS write (golden: ours_plain_alter_after)."""
    table.viewOriginalText = table.viewExpandedText = "select 1 as id"
    table.sd.cols = [FieldSchema("id", "int", None)]
    table.parameters["view.query.out.col.0"] = "id"


def set_tblproperties(table: Table) -> None:
    """What plain Spark's SET TBLPROPERTIES writes in addition to the property (golden: ours_plain_props_after)."""
    table.viewOriginalText = table.viewExpandedText
    table.parameters["q"] = "2"


def java_s_commit(table: Table) -> None:
    """What any commit of Iceberg's Java catalog does to the texts: the `hive` one goes into both."""
    table.viewOriginalText = table.viewExpandedText


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (alter_view_as, ["expanded-text", "original-text", "columns"]),
        (set_tblproperties, []),
        (java_s_commit, []),
    ],
)
def test_foreign_row_change_is_reported_as_drift(
    catalog: HiveViewCatalog, raw: Client, three_texts: HiveView, change: Callable[[Table], None], fields: list[str]
) -> None:
    assert three_texts.drift == catalog.load_view(three_texts.name()).drift == ()
    table = raw.get_table(*three_texts.name())
    change(table)
    raw.alter_table_with_environment_context(table.dbName, table.tableName, table, None)
    loaded = catalog.load_view(three_texts.name())
    assert [difference.field for difference in loaded.drift] == fields
    # What Iceberg's readers get has not changed, and the next commit writes the row from it; only a text that stands in
    # no version is not lost unasked.
    assert loaded.metadata == three_texts.metadata
    assert loaded.expanded_text == table.viewExpandedText
    if change is alter_view_as:
        with pytest.raises(UnrecordedTextError) as caught:
            loaded.update().set_properties(any="thing").commit()
        assert caught.value.text == table.viewExpandedText
        assert catalog.load_view(three_texts.name()).drift == loaded.drift
        loaded = catalog.repair_view(three_texts.name())
    repaired = loaded.update().set_properties(any="thing").commit()
    assert repaired.drift == catalog.load_view(three_texts.name()).drift == ()
    assert repaired.original_text == "select * from t"


def test_typed_text_with_other_default_namespace_is_not_overwritten(
    catalog: HiveViewCatalog, raw: Client, three_texts: HiveView
) -> None:
    """Hive's ALTER VIEW v AS SELECT * FROM t, typed again when t has another column: only the expanded text differs."""
    table = raw.get_table(*three_texts.name())
    table.viewExpandedText = "select `t`.`id`, `t`.`data`, `t`.`more` from `d`.`t`"
    raw.alter_table_with_environment_context(table.dbName, table.tableName, table, None)
    with pytest.raises(UnrecordedTextError) as caught:
        catalog.load_view(three_texts.name()).update().set_properties(any="thing").commit()
    assert caught.value.text == table.viewExpandedText
    assert raw.get_table(*three_texts.name()).viewExpandedText == table.viewExpandedText


def test_create_or_replace_by_plain_spark_makes_view_a_hive_view(
    catalog: HiveViewCatalog, raw: Client, three_texts: HiveView
) -> None:
    """It drops the view and creates another one, so that the pointer is gone."""
    table = copy.deepcopy(raw.get_table(*three_texts.name()))
    table.parameters = {"spark.sql.create.version": "4.1.4"}
    raw.drop_table(table.dbName, table.tableName, False)
    raw.create_table(table)
    assert not catalog.view_exists(three_texts.name())
    with pytest.raises(NotAnIcebergViewError):
        catalog.load_view(three_texts.name())
    raw.drop_table(table.dbName, table.tableName, False)
    assert catalog.register_view(three_texts.name(), three_texts.metadata_location) == three_texts


@pytest.mark.parametrize(("more", "kept"), [({}, True), ({"view-default.EXTERNAL": "FALSE"}, False)])
def test_drop_by_hive_or_plain_spark_keeps_view_directory(
    open_catalog: CatalogFactory, database: str, raw: Client, more: dict[str, str], kept: bool
) -> None:
    """They ask the server to delete data; it takes a view's location for that, unless the row calls itself external."""
    catalog = open_catalog(more)
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    raw.drop_table(database, "v", True)
    assert path(view.metadata_location).exists() is kept


def test_row_with_minimal_fields_is_readable(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    """A pointer and the kind of row: the first commit fills in what is missing."""
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    table = raw.get_table(database, "v")
    table.parameters = {"table_type": "iceberg-view", "metadata_location": view.metadata_location}
    table.viewOriginalText = table.viewExpandedText = None
    table.sd.cols = []
    raw.drop_table(database, "v", False)
    raw.create_table(table)
    loaded = catalog.load_view(f"{database}.v")
    assert loaded.metadata == view.metadata
    assert [difference.field for difference in loaded.drift] == ["expanded-text", "original-text", "columns"]
    changed = loaded.update().set_properties(a="b").commit()
    assert changed.parameters["uuid"] == str(view.uuid())
    assert changed.parameters["table_type"] == "ICEBERG-VIEW"
    assert catalog.load_view(f"{database}.v").drift == ()


def test_pointer_to_file_of_another_view_is_rejected(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    mine = catalog.create_view(f"{database}.mine", SCHEMA, version(database))
    other = catalog.create_view(f"{database}.other", SCHEMA, version(database))
    table = raw.get_table(database, "mine")
    table.parameters["metadata_location"] = other.metadata_location
    raw.alter_table_with_environment_context(database, "mine", table, None)
    with pytest.raises(InvalidMetadataError, match="it belongs to another view"):
        catalog.load_view(f"{database}.mine")
    catalog.drop_view(f"{database}.mine")
    assert catalog.register_view(f"{database}.mine", mine.metadata_location) == mine
    assert catalog.load_view(f"{database}.other") == other


def test_create_view_with_copied_parameters_is_a_hive_view(
    catalog: HiveViewCatalog, database: str, raw: Client
) -> None:
    """Plain Spark's SHOW CREATE TABLE prints the parameters of a view (golden of the row: created_plain_new)."""
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties={"p": "1"})
    table = raw.get_table(database, "v")
    table.tableName, table.viewOriginalText, table.viewExpandedText = "copy", "select 1 as id", "select 1 as id"
    table.lastAccessTime, table.sd.location = 0, None
    table.parameters["spark.sql.create.version"] = "4.1.4"
    table.sd.inputFormat = "org.apache.hadoop.mapred.SequenceFileInputFormat"
    raw.create_table(table)
    assert not catalog.view_exists(f"{database}.copy")
    for change in (
        catalog.load_view,
        catalog.drop_view,
        lambda name: catalog.drop_view(name, purge_files=True),
        lambda name: catalog.rename_view(name, f"{database}.w"),
        lambda name: catalog.replace_view(name, SCHEMA, version(database)),
    ):
        with pytest.raises(NotAnIcebergViewError, match="import plan --view"):
            change(f"{database}.copy")
    assert catalog.list_views(database) == [(database, "v")]
    # Iceberg's Java catalog follows the copied parameters, so the file stays while the copy exists.
    with pytest.raises(InvalidViewError, match=f"{database}.copy"):
        catalog.drop_view(f"{database}.v", purge_files=True)
    assert catalog.load_view(f"{database}.v") == view
    assert raw.get_table(database, "copy").viewExpandedText == "select 1 as id"
    catalog.drop_view(f"{database}.v")
    assert path(view.metadata_location).exists()


def test_row_without_pointer_can_be_dropped(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    table = raw.get_table(database, "v")
    del table.parameters["metadata_location"]
    raw.alter_table_with_environment_context(database, "v", table, None)
    with pytest.raises(NotAnIcebergViewError, match="has no metadata file"):
        catalog.load_view(f"{database}.v")
    catalog.drop_view(f"{database}.v")
    assert catalog.register_view(f"{database}.v", view.metadata_location) == view


@pytest.mark.parametrize(
    "location",
    ["rel/dir", "//dir", "file://host/dir", "file:/dir#part", "file:/dir?part", "file:/a/../b", "s3://b/%2E%2e/c"],
)
def test_ambiguous_location_is_rejected(catalog: HiveViewCatalog, database: str, location: str) -> None:
    with pytest.raises(InvalidPropertyError):
        catalog.create_view(f"{database}.v", SCHEMA, version(database), location=location)
    assert not catalog.view_exists(f"{database}.v")


def test_relative_location_of_another_program_is_not_written_to(
    catalog: HiveViewCatalog, database: str, raw: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    view = catalog.create_view(
        f"{database}.v", SCHEMA, version(database), properties={"write.metadata.compression-codec": "none"}
    )
    document = json.loads(path(view.metadata_location).read_text())
    written = path(view.metadata_location).with_name("00001-other.metadata.json")
    written.write_text(json.dumps({**document, "location": "elsewhere"}))
    table = raw.get_table(database, "v")
    table.parameters["metadata_location"] = written.as_uri()
    raw.alter_table_with_environment_context(database, "v", table, None)
    with pytest.raises(InvalidPropertyError, match="name a directory by its URI"):
        catalog.load_view(f"{database}.v").update().set_properties(a="b").commit()
    assert list(tmp_path.iterdir()) == []
    update = catalog.load_view(f"{database}.v").update().set_location(view.metadata.location).set_properties(a="b")
    assert update.commit().metadata.properties["a"] == "b"


@pytest.mark.parametrize("location", ["viewfs:///x", "s3://[/x"])
def test_row_with_missing_file_does_not_stop_check(
    catalog: HiveViewCatalog, database: str, raw: Client, location: str
) -> None:
    for name in "abc":
        catalog.create_view(f"{database}.{name}", SCHEMA, version(database, ("spark", "SELECT 1 AS id, 'x' AS data")))
    table = raw.get_table(database, "b")
    table.parameters["metadata_location"] = location
    raw.alter_table_with_environment_context(database, "b", table, None)
    with pytest.raises(MetadataFileError) as caught:
        catalog.load_view(f"{database}.b")
    assert caught.value.location == location
    validities = {finding.view.name: finding.validity for finding in catalog.dependencies.check_views(database)}
    assert set(validities) == {"a", "b", "c"}
    assert validities["a"] == validities["c"] != validities["b"]
    assert catalog.dependencies.graph(database) is not None
