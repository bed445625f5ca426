"""Findings about tables whose partitions or metadata files decide what an engine reads."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from hive_views import HiveViewCatalog
from hive_views.dependencies.table_contents import SAMPLE
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, Partition, StorageDescriptor
from tests.integration.cli.conftest import Cli, cli
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.transactional.tables import ORC, PARQUET, TEXT, table
from tests.metastore_calls import recorded_calls

__all__ = ["cli"]

AVRO = (
    "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat",
    "org.apache.hadoop.hive.ql.io.avro.AvroContainerOutputFormat",
    "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
)
Formats = tuple[str, str, str]


def partitioned(raw: Client, database: str, name: str, formats: Formats, kind: str) -> StorageDescriptor:
    """Create a table with a partition column, and a Hive view over it; return the table's descriptor."""
    row = table(database, name, formats, {})
    row.partitionKeys = [FieldSchema("p", kind, None)]
    row.sd.cols = [FieldSchema("id", "int", None)]
    raw.create_table(row)
    text = f"SELECT `{name}`.`id`, `{name}`.`p` FROM `{database}`.`{name}`"
    raw.create_table(hive_view_row(database, f"v_{name}", text, text, [("id", "int"), ("p", kind)]))
    return raw.get_table(database, name).sd


def add(raw: Client, database: str, name: str, descriptor: StorageDescriptor, *values: str) -> None:
    for value in values:
        raw.add_partition(Partition([value], database, name, 0, 0, descriptor, {}))


def findings(catalog: HiveViewCatalog, table: str) -> list[tuple[str, str]]:
    """The outcome and the reason of each finding about Spark that a table causes, of the Hive view over it."""
    database, _, name = table.partition(".")
    found = [item for item in catalog.dependencies.check_engines(f"{database}.v_{name}") if item.table == table]
    return [(item.outcome.value, item.construct) for item in found if item.engine == "spark"]


NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.mark.parametrize(
    ("formats", "kind", "expected"),
    [
        (ORC, "string", ("other rows", f"Hive returns the text {NULL}, and Spark NULL")),
        (PARQUET, "varchar(5)", ("other rows", f"Hive returns the text {NULL}, and Spark NULL")),
        (TEXT, "string", None),
        (TEXT, "char(3)", ("other rows", "cut to the column's length, and Spark the whole")),
        (ORC, "boolean", ("other rows", "Hive returns true, and Spark NULL")),
        (AVRO, "boolean", ("may fail", "CAST_INVALID_INPUT")),
        (ORC, "int", None),
        (PARQUET, "date", None),
        (TEXT, "int", ("may fail", "it returns Hive's rows with spark.sql.ansi.enabled=false")),
        (AVRO, "decimal(5,2)", ("may fail", "it returns Hive's rows with spark.sql.ansi.enabled=false")),
    ],
)
def test_null_in_a_partition_column(
    catalog: HiveViewCatalog,
    raw: Client,
    database: str,
    formats: Formats,
    kind: str,
    expected: tuple[str, str] | None,
) -> None:
    descriptor = partitioned(raw, database, "t", formats, kind)
    assert findings(catalog, f"{database}.t") == []
    add(raw, database, "t", descriptor, NULL)
    found = findings(catalog, f"{database}.t")
    if expected is None:
        assert found == []
    else:
        [(outcome, construct)] = found
        assert outcome == expected[0]
        assert f"it reads {database}.t, a table with NULL in its partition column p {kind}: " in construct
        assert construct.endswith(expected[1]) or expected[1] in construct


def test_author_of_a_spark_text_sees_what_spark_returns(catalog: HiveViewCatalog, raw: Client, database: str) -> None:
    add(raw, database, "t", partitioned(raw, database, "t", TEXT, "int"), NULL)
    add(raw, database, "u", partitioned(raw, database, "u", ORC, "string"), NULL)
    row = table(database, "texts", TEXT, {})
    row.sd.cols = [FieldSchema("day", "date", None)]
    raw.create_table(row)
    for name in ("t", "u", "texts"):
        catalog.execute(f"CREATE VIEW {database}.of_{name} AS SELECT * FROM {database}.{name}", dialect="spark")
    found = {name: catalog.dependencies.check_engines(f"{database}.of_{name}") for name in ("t", "u", "texts")}
    assert {
        (name, item.engine, item.outcome.value) for name, items in found.items() for item in items if item.table
    } == {("u", "hive", "other rows")}


@pytest.mark.parametrize(
    ("formats", "other", "is_found"),
    [(PARQUET, TEXT, True), (ORC, PARQUET, True), (PARQUET, PARQUET, False), (TEXT, ORC, False), (AVRO, TEXT, False)],
)
def test_partitions_of_other_formats(
    catalog: HiveViewCatalog, raw: Client, database: str, formats: Formats, other: Formats, is_found: bool
) -> None:
    descriptor = partitioned(raw, database, "t", formats, "string")
    add(raw, database, "t", descriptor, "a")
    descriptor.inputFormat, descriptor.outputFormat, descriptor.serdeInfo.serializationLib = other
    add(raw, database, "t", descriptor, "b")
    found = findings(catalog, f"{database}.t")
    assert [outcome for outcome, _ in found] == (["refused"] if is_found else [])
    assert all(f"partitions of other formats ({other[0]})" in construct for _, construct in found)


def test_formats_at_both_ends_of_many_partitions_are_read(catalog: HiveViewCatalog, raw: Client, database: str) -> None:
    descriptor = partitioned(raw, database, "t", PARQUET, "string")
    values = [f"{number:04}" for number in range(2 * SAMPLE + 1)]
    add(raw, database, "t", descriptor, *values)
    assert findings(catalog, f"{database}.t") == []
    descriptor.inputFormat = TEXT[0]
    add(raw, database, "t", descriptor, "9999")
    assert [outcome for outcome, _ in findings(catalog, f"{database}.t")] == ["refused"]


def test_partitions_are_requested_once_for_all_views_of_a_plan(cli: Cli, raw: Client, database: str) -> None:
    add(raw, database, "t", partitioned(raw, database, "t", PARQUET, "string"), "a", NULL)
    for number in range(5):
        text = f"SELECT `t`.`id` FROM `{database}`.`t`"
        raw.create_table(hive_view_row(database, f"w_{number}", text, text, [("id", "int")]))
    with recorded_calls() as calls:
        views = cli("--json", "import", "plan", database).json["views"]
    assert len(views) == sum("NULL in its partition column p" in str(view["engines"]) for view in views) == 6
    assert [calls.count(method) for method in ("get_partition_names", "get_partitions_by_names")] == [1, 1]


def lake(catalog: HiveViewCatalog, raw: Client, database: str) -> str:
    """An Iceberg table and a Hive view over it."""
    catalog.create_table((database, "lake"), Schema(NestedField(1, "id", LongType(), required=False)))
    text = f"SELECT `lake`.`id` FROM `{database}`.`lake`"
    raw.create_table(hive_view_row(database, "v_lake", text, text, [("id", "bigint")]))
    return f"{database}.lake"


@pytest.mark.parametrize("has_location", [True, False])
def test_iceberg_table_without_metadata(
    catalog: HiveViewCatalog, cli: Cli, raw: Client, database: str, tmp_path: Path, has_location: bool
) -> None:
    name = lake(catalog, raw, database)
    assert findings(catalog, name) == []
    row = raw.get_table(database, "lake")
    location = row.parameters["metadata_location"]
    if has_location:
        Path(urlparse(location).path).unlink()
        problem = f"its metadata file {location} does not exist"
    else:
        del row.parameters["metadata_location"]
        raw.alter_table_with_environment_context(database, "lake", row, None)
        problem = "its row has no metadata_location"
    finding = f"it reads {name}, an Iceberg table that cannot be read: {problem}"
    assert findings(catalog, name) == [("refused", finding)]
    [planned] = cli("--json", "import", "plan", database, "--readers", "spark,trino").json["views"]
    assert planned["status"] == "pending"
    assert f"spark: refused: {finding}" in planned["engines"]
    assert f"trino: refused: {finding}" in planned["engines"]
    [checked] = json.loads(cli("--json", "deps", "check", database).out)["views"]
    assert checked["validity"] == "blocked"
    assert problem in json.dumps(checked["problems"])


@pytest.mark.parametrize(
    ("formats", "exists", "is_found"), [(AVRO, False, True), (AVRO, True, False), (ORC, False, False)]
)
def test_avro_table_without_its_schema_file(
    catalog: HiveViewCatalog, raw: Client, database: str, tmp_path: Path, formats: Formats, exists: bool, is_found: bool
) -> None:
    schema = tmp_path / "schema.avsc"
    fields = [{"name": "id", "type": "int"}]
    schema.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))
    raw.create_table(table(database, "t", formats, {"avro.schema.url": schema.as_uri()}))
    text = f"SELECT `t`.`id` FROM `{database}`.`t`"
    raw.create_table(hive_view_row(database, "v_t", text, text, [("id", "int")]))
    if not exists:
        schema.unlink()
    found = findings(catalog, f"{database}.t")
    assert [outcome for outcome, _ in found] == ["refused"] * is_found
    assert all(f"whose schema file {schema.as_uri()}" in construct for _, construct in found)
