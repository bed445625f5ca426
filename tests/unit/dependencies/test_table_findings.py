"""Findings about the tables that a view reads, by the parameters and formats of their rows."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from hive_views.dependencies.table_findings import MISSING_SERDES, spark_findings, table_findings
from hive_views.local_metastore.jvm import find_jars
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SkewedInfo
from hive_views.metastore.rows.row import read_row
from tests.integration.transactional.tables import ACID, HANDLER, INSERT_ONLY, ORC, PARQUET, TEXT, table

PROVIDER = {"spark.sql.sources.provider": "orc"}


@pytest.mark.parametrize(
    ("formats", "parameters", "outcomes"),
    [
        (ORC, {}, []),
        (ORC, PROVIDER, []),
        (ORC, ACID, ["other rows"]),
        (ORC, {"TRANSACTIONAL": "TRUE"}, ["other rows"]),
        (ORC, {"transactional": "false"}, []),
        (PARQUET, INSERT_ONLY, ["other rows"]),
        (TEXT, INSERT_ONLY, ["refused"]),
        (TEXT, HANDLER, ["refused"]),
        # A table that Spark created, and that Hive has made transactional since.
        (ORC, ACID | PROVIDER, ["other rows"]),
        (ORC, INSERT_ONLY | PROVIDER, ["other rows"]),
        (TEXT, INSERT_ONLY | {"spark.sql.sources.provider": "csv"}, ["other rows"]),
        (TEXT, HANDLER | {"spark.sql.sources.provider": "jdbc"}, []),
        (TEXT, {"skip.header.line.count": "1"}, ["other rows"]),
        (TEXT, {"skip.footer.line.count": "2"}, ["other rows"]),
        (TEXT, {"skip.header.line.count": "0"}, []),
        (TEXT, {"skip.header.line.count": "one"}, []),
        (ORC, {"skip.header.line.count": "1"}, []),
        (TEXT, {"skip.header.line.count": "1", "spark.sql.sources.provider": "csv"}, []),
        (ORC, {"last_modified_time": "1795892429"}, ["not verified"]),
        (ORC, {"last_modified_time": "1795892429"} | PROVIDER, []),
        (PARQUET, {"last_modified_time": "1795892429"}, ["not verified"]),
        (PARQUET, {"last_modified_time": "1795892429"} | PROVIDER, []),
        ((*TEXT[:2], "org.apache.hadoop.hive.serde2.JsonSerDe"), {}, ["refused"]),
        ((*TEXT[:2], "org.apache.hadoop.hive.serde2.JsonSerDe"), {"spark.sql.sources.provider": "json"}, []),
        ((*TEXT[:2], "org.apache.hadoop.hive.serde2.OpenCSVSerde"), {}, []),
        ((*TEXT[:2], "org.apache.hive.hcatalog.data.JsonSerDe"), {}, ["not verified"]),
        ((*TEXT[:2], "org.openx.data.jsonserde.JsonSerDe"), {}, ["not verified"]),
        ((*TEXT[:2], "org.openx.data.jsonserde.JsonSerDe"), {"spark.sql.sources.provider": "json"}, []),
        (("com.hadoop.mapred.DeprecatedLzoTextInputFormat", *TEXT[1:]), {}, ["not verified"]),
        (("org.apache.hudi.hadoop.HoodieParquetInputFormat", *PARQUET[1:]), {}, ["other rows"]),
        (
            ("org.apache.hudi.hadoop.HoodieParquetInputFormat", *PARQUET[1:]),
            {"spark.sql.sources.provider": "hudi"},
            ["not verified"],
        ),
        (PARQUET, {"spark.sql.sources.provider": "delta"}, ["not verified"]),
        (PARQUET, {"spark.sql.sources.provider": "org.apache.spark.sql.parquet"}, []),
        (("org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat", *PARQUET[1:]), {}, ["refused"]),
        (("org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat", *TEXT[1:]), {}, []),
    ],
)
def test_outcomes_in_spark(formats: tuple[str, str, str], parameters: dict[str, str], outcomes: list[str]) -> None:
    findings = table_findings(read_row(table("d", "t", formats, parameters)))
    assert [item.outcome.value for item in findings if item.engine == "spark"] == outcomes
    assert {item.table for item in findings} <= {"d.t"}


def test_list_bucketing() -> None:
    skewed = table("d", "t", PARQUET, {})
    skewed.sd.skewedInfo = SkewedInfo(skewedColNames=["k"], skewedColValues=[["1"]])
    assert spark_findings([read_row(skewed)]) == ()
    skewed.sd.storedAsSubDirectories = True
    [finding] = spark_findings([read_row(skewed)])
    assert "STORED AS DIRECTORIES" in finding.construct
    skewed.sd.skewedInfo = SkewedInfo(skewedColNames=[], skewedColValues=[])
    assert spark_findings([read_row(skewed)]) == ()


@pytest.mark.parametrize(
    ("kind", "serde", "is_found"),
    [
        ("array<string>", {"collection.delim": ";"}, True),
        ("map<string,int>", {"collection.delim": ";", "field.delim": ","}, True),
        ("array<string>", {"collection.delim": "\2"}, False),
        ("array<string>", {"collection.delim": ";", "colelction.delim": ";"}, False),
        ("array<string>", {"colelction.delim": ";"}, False),
        ("string", {"collection.delim": ";"}, False),
        ("array<string>", {}, False),
    ],
)
def test_delimiter_of_collections(kind: str, serde: dict[str, str], is_found: bool) -> None:
    text = table("d", "t", TEXT, {})
    text.sd.cols = [FieldSchema("id", "int", None), FieldSchema("c", kind, None)]
    text.sd.serdeInfo.parameters = serde
    assert bool(spark_findings([read_row(text)])) == is_found


@pytest.mark.parametrize(
    ("formats", "kind", "is_found"),
    [
        (TEXT, "timestamp", True),
        (TEXT, "DATE", True),
        (TEXT, "decimal(10,2)", True),
        (TEXT, "array<struct<a:date>>", True),
        (TEXT, "struct<date:string,timestamp:int>", False),
        (TEXT, "double", False),
        (TEXT, "string", False),
        (("org.apache.hadoop.mapred.SequenceFileInputFormat", "", TEXT[2]), "timestamp", True),
        ((*TEXT[:2], "org.apache.hadoop.hive.serde2.OpenCSVSerde"), "timestamp", False),
        (ORC, "date", False),
    ],
)
def test_types_that_are_written_as_text(formats: tuple[str, str, str], kind: str, is_found: bool) -> None:
    row = table("d", "t", formats, {})
    row.partitionKeys = [FieldSchema("p", "date", None)]
    assert table_findings(read_row(row)) == ()
    row.sd.cols = [FieldSchema("id", "int", None), FieldSchema("c", kind, None)]
    assert [item.outcome.value for item in table_findings(read_row(row))] == ["not verified"] * is_found


@pytest.mark.parametrize(
    ("kind", "is_found"), [("varchar(3)", True), ("array<string>", True), ("struct<string:int>", False), ("int", False)]
)
def test_changed_parquet_table_with_columns_that_may_have_become_texts(kind: str, is_found: bool) -> None:
    row = table("d", "t", PARQUET, {"last_modified_time": "1795892429"})
    row.sd.cols, row.partitionKeys = [FieldSchema("c", kind, None)], [FieldSchema("p", "string", None)]
    assert [item.outcome.value for item in table_findings(read_row(row))] == ["not verified"] * is_found


def test_index_table_is_unreadable() -> None:
    index = table("d", "t", TEXT, {})
    index.tableType = "INDEX_TABLE"
    assert [item.outcome.value for item in spark_findings([read_row(index)])] == ["refused"]


def test_tables_that_spark_may_read_otherwise_are_not_unreadable() -> None:
    changed = read_row(table("d", "t", ORC, {"last_modified_time": "1795892429"}))
    assert spark_findings([changed]) == ()
    assert len(spark_findings([changed, read_row(table("d", "u", ORC, ACID))])) == 1


@pytest.mark.parametrize(
    ("kind", "outcomes"),
    [
        ("uniontype<int,string>", ["refused"]),
        ("array<struct<u:uniontype<int,string>>>", ["refused"]),
        ("timestamp with local time zone", ["refused"]),
        ("map<string,timestamp with local time zone>", ["refused"]),
        ("date", []),
        ("interval_day_time", []),
    ],
)
@pytest.mark.parametrize("is_key", [False, True])
def test_types_that_spark_cannot_read(kind: str, outcomes: list[str], is_key: bool) -> None:
    row = table("d", "t", ORC, {})
    column = FieldSchema(name="c", type=kind)
    if is_key:
        row.partitionKeys = [column]
    else:
        row.sd.cols.append(column)
    findings = table_findings(read_row(row))
    assert [item.outcome.value for item in findings if item.engine == "spark"] == outcomes


def test_serdes_that_spark_lacks_are_in_none_of_its_jars() -> None:
    jars = list(Path(find_jars("")).glob("*.jar"))
    classes: set[str] = set()
    for jar in jars:
        with ZipFile(jar) as archive:
            classes.update(archive.namelist())
    assert "org/apache/hadoop/hive/serde2/OpenCSVSerde.class" in classes
    assert [name for name in MISSING_SERDES if f"{name.replace('.', '/')}.class" in classes] == []


@pytest.mark.parametrize(
    ("formats", "kind", "parameters", "is_found"),
    [
        (ORC, "timestamp", {}, True),
        (PARQUET, "array<struct<at:timestamp>>", {}, True),
        (PARQUET, "struct<timestamp:int>", {}, False),
        (ORC, "date", {}, False),
        (ORC, "timestamp", PROVIDER, False),
        (TEXT, "timestamp", {}, False),
    ],
)
def test_note_about_nanoseconds(
    formats: tuple[str, str, str], kind: str, parameters: dict[str, str], is_found: bool
) -> None:
    thrift = table("d", "t", formats, parameters)
    thrift.sd.cols = [FieldSchema("at", kind, None)]
    row = read_row(thrift)
    assert [item.outcome.value for item in table_findings(row) if "nanoseconds" in item.construct] == [
        "other rows for some values"
    ] * is_found
    assert spark_findings([row]) == table_findings(row, is_spark_text=True) == ()
