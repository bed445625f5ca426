"""The row codec, compared with rows written by Iceberg's Java catalog, Spark and Hive (golden/README.md)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, TimestampNanoType

from hive_views.config import CatalogConfig
from hive_views.errors import InvalidPropertyError, InvalidViewError, NotAnIcebergViewError, NotAViewError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    FieldSchema,
    Order,
    PrincipalPrivilegeSet,
    PrivilegeGrantInfo,
    SerDeInfo,
    SkewedInfo,
    StorageDescriptor,
    Table,
)
from hive_views.metastore.drift import find_drift
from hive_views.metastore.rows.codec import changed_row, check_properties, new_row, renamed_row
from hive_views.metastore.rows.row import Row, RowKind, read_row, row_kind
from hive_views.metastore.rows.types import check_columns
from hive_views.spec.changes import AddVersion, Change, SetCurrentVersion, SetLocation, SetProperties, apply
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import define
from tests.unit.metastore.rows import (
    CONFIG,
    NAME,
    SCHEMA,
    URI,
    as_json,
    golden_metadata,
    golden_row,
    metadata_of_a_view,
)

SERVER_FILLS: dict[str, Any] = {
    "temporary": False,
    "rewriteEnabled": False,
    "transient_lastDdlTime": None,
    "skewedInfo": {"skewedColNames": [], "skewedColValues": [], "skewedColValueLocationMaps": {}},
    "storedAsSubDirectories": False,
}
"""The fields that a server adds to a row (the golden rows were read back)."""

TIMES_AND_OWNER = ("owner", "createTime", "lastAccessTime")
"""The fields that differ between runs; Java's lastAccessTime is an overflowed number (Iceberg #16620)."""


def test_new_row_equals_java_row() -> None:
    check_new_row("spark_iceberg_v_spark", CONFIG)


def test_new_row_with_nested_types_equals_java_row() -> None:
    # It has a timestamptz, which this Java catalog on Hive 2 classes writes as timestamp, the default here.
    check_new_row("spark_iceberg_v_star", CONFIG)


def check_new_row(golden: str, config: CatalogConfig) -> None:
    theirs = golden_row(golden)
    location = theirs.parameters["metadata_location"]
    name = ViewName(theirs.dbName, theirs.tableName)
    ours = as_json(new_row(name, golden_metadata(golden), location, config, owner="ann", now_s=1_700_000_000))
    expected = as_json(theirs)
    for field in TIMES_AND_OWNER:
        assert ours.pop(field)
        expected.pop(field)
    for holder in (expected, expected["parameters"], expected["sd"]):
        for field, value in SERVER_FILLS.items():
            if field in holder:
                assert value is None or holder[field] == value
                holder.pop(field)
    for holder in (ours, ours["sd"]):
        for field in SERVER_FILLS:
            assert holder.pop(field, None) is None
    # Java's rows of views have no EXTERNAL parameter.
    assert ours["parameters"].pop("EXTERNAL") == "TRUE"
    assert ours == expected


def test_changed_row_equals_java_row() -> None:
    before, after = golden_row("ours_h_spark_before_replace"), golden_row("ours_h_spark_after_spark_replace")
    base, metadata = golden_metadata("ours_h_spark_before_replace"), golden_metadata("ours_h_spark_after_spark_replace")
    location = after.parameters["metadata_location"]
    ours = as_json(changed_row(read_row(before), base, metadata, location, CONFIG))
    assert ours["parameters"].pop("EXTERNAL") == "TRUE"
    assert ours == as_json(after)


def test_renamed_row_differs_only_in_name() -> None:
    before = golden_row("ours_h_spark_after_spark_rename")
    renamed = renamed_row(read_row(before), ViewName("other", "name"))
    assert (renamed.dbName, renamed.tableName) == ("other", "name")
    renamed.dbName, renamed.tableName = before.dbName, before.tableName
    assert as_json(renamed) == as_json(before)


# -- Kinds of rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("golden", "kind"),
    [
        ("spark_iceberg_v_spark", RowKind.ICEBERG_VIEW),
        ("created_session_new", RowKind.ICEBERG_VIEW),
        ("ours_plain_alter_after", RowKind.ICEBERG_VIEW),
        ("spark_iceberg_orders", RowKind.ICEBERG_TABLE),
        ("ours_plain_cor_after", RowKind.HIVE_VIEW),
        ("created_plain_new", RowKind.HIVE_VIEW),
        ("spark_session_sv_spark", RowKind.HIVE_VIEW),
        ("spark_session_hive_t", RowKind.HIVE_TABLE),
        ("spark_session_plain_t", RowKind.HIVE_TABLE),
    ],
)
def test_kind_of_golden_row(golden: str, kind: RowKind) -> None:
    assert row_kind(golden_row(golden)) is kind


@pytest.mark.parametrize(
    ("table_type", "parameters", "kind"),
    [
        ("virtual_view", {"table_type": "iceberg-view"}, RowKind.ICEBERG_VIEW),
        ("Virtual_View", {"table_type": "Iceberg-View"}, RowKind.ICEBERG_VIEW),
        ("VIRTUAL_VIEW", {"table_type": "ICEBERG"}, RowKind.HIVE_VIEW),
        ("VIRTUAL_VIEW", {"TABLE_TYPE": "ICEBERG-VIEW"}, RowKind.HIVE_VIEW),
        ("VIRTUAL_VIEW", None, RowKind.HIVE_VIEW),
        ("EXTERNAL_TABLE", {"table_type": "iceberg"}, RowKind.ICEBERG_TABLE),
        ("EXTERNAL_TABLE", {"table_type": "ICEBERG-VIEW"}, RowKind.HIVE_TABLE),
        ("MATERIALIZED_VIEW", {"table_type": "ICEBERG-VIEW"}, RowKind.HIVE_TABLE),
        ("INDEX_TABLE", {}, RowKind.HIVE_TABLE),
        (None, None, RowKind.HIVE_TABLE),
    ],
)
def test_row_kind_depends_on_type_and_parameters(
    table_type: str | None, parameters: dict[str, str] | None, kind: RowKind
) -> None:
    assert row_kind(Table(tableType=table_type, parameters=parameters)) is kind


@pytest.mark.parametrize(
    "table",
    [
        Table(dbName="d", tableName="t", tableType="VIRTUAL_VIEW", parameters={}),
        Table(dbName="d", tableName="t", tableType="VIRTUAL_VIEW", parameters={"table_type": "ICEBERG-VIEW"}),
        Table(dbName="d", tableName="t", tableType="MATERIALIZED_VIEW", parameters={}),
    ],
    ids=["hive-view", "no-pointer", "materialized-view-of-hive"],
)
def test_require_iceberg_view(table: Table) -> None:
    with pytest.raises(NotAnIcebergViewError, match=r"(Not an iceberg view:|The Iceberg view) d\.t") as caught:
        read_row(table).require_iceberg_view()
    assert (caught.value.table_type, caught.value.format_type) == (table.tableType, table.parameters.get("table_type"))


@pytest.mark.parametrize("format_type", ["iceberg", "ICEBERG-VIEW"])
def test_table_is_not_a_view(format_type: str) -> None:
    table = Table(dbName="d", tableName="t", tableType="EXTERNAL_TABLE", parameters={"table_type": format_type})
    row = read_row(table)
    for require in (row.require_view, row.require_iceberg_view):
        with pytest.raises(NotAViewError, match=r"View does not exist: d\.t .* It is a table: name a view") as caught:
            require()
        assert (caught.value.table_type, caught.value.format_type) == ("EXTERNAL_TABLE", format_type)


def test_read_row_with_few_fields() -> None:
    row = read_row(Table(dbName="d", tableName="t"))
    assert (row.name, row.kind, row.parameters, row.columns) == (ViewName("d", "t"), RowKind.HIVE_TABLE, {}, ())
    assert (row.texts.original, row.texts.expanded, row.owner, row.create_time) == (None, None, None, 0)
    assert (row.metadata_location, row.previous_metadata_location, row.uuid) == (None, None, None)


# -- External fields ---------------------------------------------------------------------------------------------------


def full_row(metadata: ViewMetadata) -> Table:
    """A view's row with every field set that a metastore keeps."""
    table = new_row(NAME, metadata, "file:/v/metadata/00000-a.metadata.json", CONFIG, now_s=1)
    grants = {"someone": [PrivilegeGrantInfo(privilege="SELECT", createTime=5, grantor="admin", grantorType=1)]}
    table.owner, table.ownerType, table.retention = "them", 2, 7
    table.createTime, table.lastAccessTime = 11, 12
    table.partitionKeys = [FieldSchema(name="day", type="string", comment="which")]
    table.privileges = PrincipalPrivilegeSet(userPrivileges=grants, groupPrivileges={}, rolePrivileges={})
    table.temporary, table.rewriteEnabled = False, False
    table.catName, table.writeId, table.id, table.txnId, table.accessType = "hive", 3, 4, 5, 8
    table.isStatsCompliant = True
    table.requiredReadCapabilities, table.requiredWriteCapabilities = ["R"], ["W"]
    table.parameters.update({"our.extra": "keep-me", "größe": "ü", "EXTERNAL": "FALSE"})
    table.sd.parameters = {"a": "b"}
    table.sd.skewedInfo = SkewedInfo(["id"], [["1"]], {("1",): "file:/x"})
    table.sd.serdeInfo.parameters = {"serialization.format": "1"}
    table.sd.serdeInfo.name, table.sd.serdeInfo.description = "serde", "described"
    table.sd.bucketCols, table.sd.sortCols, table.sd.numBuckets = ["id"], [Order("id", 1)], 4
    table.sd.compressed, table.sd.storedAsSubDirectories = True, True
    return table


NEW_VERSION = define("select id from t", dialect="spark", default_namespace=("sales",), expanded="select 2")
OURS = {"metadata_location", "previous_metadata_location", "uuid", "table_type", "current-schema", "p"}


@pytest.mark.parametrize(
    ("changes", "elsewhere"),
    [
        ([SetProperties({"p": "2"})], set()),
        ([SetLocation("file:/w")], {"sd.location"}),
        ([AddVersion(SCHEMA, NEW_VERSION)], {"viewOriginalText", "viewExpandedText"}),
        ([AddVersion(Schema(SCHEMA.fields[0]), NEW_VERSION)], {"viewOriginalText", "viewExpandedText", "sd.cols"}),
    ],
    ids=["properties", "location", "version", "version-and-schema"],
)
def test_changed_row_preserves_external_fields(changes: list[Change], elsewhere: set[str]) -> None:
    base = metadata_of_a_view(p="1")
    before = full_row(base)
    untouched = copy.deepcopy(before)
    metadata = apply(base, changes, identifier=str(NAME), now_ms=2)
    after = changed_row(read_row(before), base, metadata, "file:/v/metadata/00001-b.metadata.json", CONFIG)
    assert before == untouched, "the row that was read must not change"
    assert changed_fields(as_json(before), as_json(after)) == elsewhere


def changed_fields(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Return the fields that differ, without the catalog's own parameters."""
    changed = set()
    for field in before.keys() | after.keys():
        one, other = before[field], after[field]
        if field == "sd":
            changed |= {f"sd.{inner}" for inner in one if one[inner] != other[inner]}
        elif field == "parameters":
            changed |= {f"parameters.{key}" for key in one.keys() | other.keys() if one.get(key) != other.get(key)} - {
                f"parameters.{key}" for key in OURS
            }
        elif one != other:
            changed.add(field)
    return changed


def test_renamed_row_preserves_external_fields() -> None:
    before = full_row(metadata_of_a_view())
    after = renamed_row(read_row(before), ViewName("other", "w"))
    assert changed_fields(as_json(before), as_json(after)) == {"dbName", "tableName"}


def test_partition_columns_are_not_listed_twice() -> None:
    base = metadata_of_a_view()
    before = full_row(base)
    before.partitionKeys = [FieldSchema(name="name", type="string", comment=None)]
    metadata = apply(base, [SetProperties({"p": "2"})], identifier=str(NAME), now_ms=2)
    after = changed_row(read_row(before), base, metadata, "file:/v/metadata/00001-b.metadata.json", CONFIG)
    assert [field.name for field in after.sd.cols] == ["id"]
    assert [field.name for field in after.partitionKeys] == ["name"]
    assert find_drift(read_row(after), metadata, CONFIG) == ()


def test_removed_properties_are_removed_from_the_row() -> None:
    base = metadata_of_a_view(p="1", q="2")
    before = full_row(base)
    metadata = apply(base, [SetProperties({}, frozenset({"p", "our.extra"}))], identifier=str(NAME), now_ms=2)
    after = changed_row(read_row(before), base, metadata, "file:/v/metadata/00001-b.metadata.json", CONFIG)
    assert "p" not in after.parameters
    assert after.parameters["q"] == "2"
    # It never was a property of the view: it is an external parameter.
    assert after.parameters["our.extra"] == "keep-me"


def test_property_with_reserved_key() -> None:
    """Files of other catalogs may have such properties; setting or removing them must not change reserved ones."""
    keys = ("uuid", "table_type", "metadata_location", "current-schema", "previous_metadata_location")
    odd = metadata_of_a_view(**dict.fromkeys(keys, "odd"))
    plain = metadata_of_a_view()
    location = "file:/v/metadata/00000-a.metadata.json"
    row = new_row(NAME, odd, location, CONFIG, now_s=1)
    expected = new_row(NAME, plain, location, CONFIG, now_s=1).parameters
    assert {key: row.parameters.get(key) for key in keys} == {key: expected.get(key) for key in keys}
    after = changed_row(read_row(row), odd, plain, "file:/v/metadata/00001-b.metadata.json", CONFIG)
    assert after.parameters == {
        **expected,
        "metadata_location": "file:/v/metadata/00001-b.metadata.json",
        "previous_metadata_location": location,
    }


# -- Owner, schema, texts ----------------------------------------------------------------------------------


def test_owner_property_sets_owner_only() -> None:
    base = metadata_of_a_view(**{"Hive.Metastore.Table.Owner": "ada"})
    row = new_row(NAME, base, "file:/v/metadata/0.metadata.json", CONFIG, now_s=1)
    assert row.owner == "ada"
    assert not any(key.lower() == "hive.metastore.table.owner" for key in row.parameters)
    for properties, owner in (({"p": "1"}, "them"), ({"Hive.Metastore.Table.Owner": "bob"}, "bob")):
        # Another program changed the owner (ALTER VIEW … SET OWNER): only a change of the property overrides it.
        given = copy.deepcopy(row)
        given.owner = "them"
        metadata = apply(base, [SetProperties(properties)], identifier=str(NAME), now_ms=2)
        assert changed_row(read_row(given), base, metadata, "file:/v/1.metadata.json", CONFIG).owner == owner


@pytest.mark.parametrize(
    ("max_size", "copied"), [(0, False), (10, False), (161, True), (160, False)], ids=["never", "tiny", "fits", "not"]
)
def test_schema_parameter_is_written_up_to_size_limit(max_size: int, copied: bool) -> None:
    config = CatalogConfig.from_properties({**URI, "iceberg.hive.table-property-max-size": str(max_size)})
    row = new_row(NAME, metadata_of_a_view(), "file:/v/0.metadata.json", config, now_s=1)
    text = (
        '{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","type":"int","required":false,"doc":"key"},'
        '{"id":2,"name":"name","type":"string","required":false}]}'
    )
    assert len(text) == 161
    assert row.parameters.get("current-schema") == (text if copied else None)


def test_too_large_schema_parameter_is_removed() -> None:
    base = metadata_of_a_view()
    config = CatalogConfig.from_properties({**URI, "iceberg.hive.table-property-max-size": "10"})
    row = new_row(NAME, base, "file:/v/0.metadata.json", CONFIG, now_s=1)
    metadata = apply(base, [SetProperties({"p": "1"})], identifier=str(NAME), now_ms=2)
    after = changed_row(read_row(row), base, metadata, "file:/v/1.metadata.json", config)
    assert "current-schema" not in after.parameters


def test_version_without_sql_keeps_view_texts() -> None:
    base = metadata_of_a_view()
    odd = base.versions[0].model_copy(update={"representations": []})
    row = new_row(NAME, base, "file:/v/0.metadata.json", CONFIG, now_s=1)
    after = changed_row(
        read_row(row), base, base.model_copy(update={"versions": [odd]}), "file:/v/1.metadata.json", CONFIG
    )
    assert (after.viewOriginalText, after.viewExpandedText) == ("select * from t", "select 1")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([NestedField(1, "at", TimestampNanoType())], "column 'at': Hive has no type for Iceberg's timestamp_ns"),
        ([NestedField(1, "a", IntegerType()), NestedField(2, "A", IntegerType())], "columns 'a' and 'A'"),
    ],
    ids=["type", "case"],
)
def test_check_columns_rejects_unrepresentable_columns(fields: list[NestedField], reason: str) -> None:
    base = metadata_of_a_view()
    metadata = apply(base, [AddVersion(Schema(*fields), NEW_VERSION)], identifier=str(NAME), now_ms=2)
    row = read_row(new_row(NAME, base, "file:/v/0.metadata.json", CONFIG, now_s=1))
    attempts: list[Callable[[], object]] = [
        lambda: check_columns(NAME, metadata, CONFIG),
        lambda: new_row(NAME, metadata, "file:/v/1.metadata.json", CONFIG, now_s=1),
        lambda: changed_row(row, base, metadata, "file:/v/1.metadata.json", CONFIG),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidViewError, match=reason) as caught:
            attempt()
        assert caught.value.identifier == str(NAME)


# -- Properties ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"": "x"}, "not empty"),
        ({None: "x"}, "must be a string"),
        ({"k": None}, "must be a string"),
        ({"k": 1}, "must be a string"),
        ({"k" * 257: "x"}, "at most 256"),
        *[
            ({key: "x"}, "the catalog itself writes this key")
            for key in (
                *("table_type", "metadata_location", "previous_metadata_location", "uuid", "current-schema"),
                "view.sqlConfig.spark.sql.ansi.enabled",
            )
        ],
    ],
)
def test_check_properties_rejects_unrepresentable_properties(properties: dict[Any, Any], reason: str) -> None:
    with pytest.raises(InvalidPropertyError, match=reason) as caught:
        check_properties({"good": "1", **properties})
    assert [(caught.value.key, caught.value.value)] == list(properties.items())


def test_check_properties_accepts_properties() -> None:
    check_properties({"k" * 256: "", "ü": "x" * 100_000, "comment": "ü"})


def test_row_without_storage_descriptor() -> None:
    base = metadata_of_a_view()
    bare = Table(
        dbName="sales",
        tableName="v",
        tableType="VIRTUAL_VIEW",
        parameters={"table_type": "ICEBERG-VIEW", "metadata_location": "file:/v/0.metadata.json"},
        sd=StorageDescriptor(cols=None, serdeInfo=None),
    )
    row: Row = read_row(bare)
    changes: list[Change] = [SetCurrentVersion(1), SetProperties({"p": "1"})]
    metadata = apply(base, changes, identifier=str(NAME), now_ms=2)
    after = changed_row(row, base, metadata, "file:/v/1.metadata.json", CONFIG)
    assert [field.name for field in after.sd.cols] == ["id", "name"]
    assert after.sd.serdeInfo == SerDeInfo(
        serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={}
    )
    assert after.parameters["uuid"] == base.view_uuid
