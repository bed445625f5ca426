"""Findings about the files of tables, compared with what plain Spark reads, and with what Hive 4.1.0 returned."""

from __future__ import annotations

import datetime
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from hive_views import HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, Partition
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.spark.plain_reader import PlainReader, PlainSparkError
from tests.integration.spark.spark_versions import IS_SPARK_3
from tests.integration.transactional.tables import ORC, PARQUET, TEXT, table

pytestmark = pytest.mark.extended

FORMATS = {"orc": ORC, "parquet": PARQUET, "text": TEXT}
AB = {"a": pa.array([1, 2], pa.int32()), "b": pa.array(["x", "y"])}
ROWS = [(1, "x"), (2, "y")]


class Case(NamedTuple):
    """A table over files, and what Hive 4.1.0 returned on Tez's setting of subdirectories; None if it failed."""

    name: str
    format: str
    columns: str
    files: dict[str, dict[str, Any]]
    hive: list[tuple[Any, ...]] | None
    outcome: str | None
    """What the finding about Spark says; None if there is no finding."""


CASES = (
    Case("same", "orc", "a int, b string", {"f": AB}, ROWS, None),
    Case("other_names", "orc", "x int, y string", {"f": AB}, ROWS, "other rows"),
    Case("one_other_name", "orc", "a int, y string", {"f": AB}, ROWS, "other rows"),
    Case("other_order", "orc", "b string, a int", {"f": AB}, [("1", None), ("2", None)], "other rows"),
    Case("fewer", "orc", "b string", {"f": AB}, [("1",), ("2",)], "other rows"),
    Case("more", "orc", "a int, b string, z int", {"f": AB}, [(1, "x", None), (2, "y", None)], None),
    Case("inserted", "orc", "a int, z int, b string", {"f": AB}, [(1, None, None), (2, None, None)], "other rows"),
    Case("upper_case", "orc", "a int, b string", {"f": {"A": AB["a"], "B": AB["b"]}}, ROWS, None),
    Case("of_old_hive", "orc", "a int, b string", {"f": {"_col0": AB["a"], "_col1": AB["b"]}}, ROWS, None),
    Case("by_name", "parquet", "x int, b string", {"f": AB}, [(None, "x"), (None, "y")], None),
    Case("text_in_directory", "text", "a int, b string", {"f": AB, "sub/f": AB}, [*ROWS, *ROWS], "refused"),
    Case("orc_in_directory", "orc", "a int, b string", {"f": AB, "sub/f": AB}, [*ROWS, *ROWS], "other rows"),
    Case("union_of_tez", "parquet", "a int, b string", {"HIVE_UNION_SUBDIR_1/f": AB}, ROWS, "other rows"),
    Case("partition_of_none", "parquet", "a int, b string", {"f": AB, "k=1/f": AB}, [*ROWS, *ROWS], "refused"),
    Case("empty_directory", "parquet", "a int, b string", {"f": AB, "sub/_f": AB}, ROWS, None),
    Case("other_prefix", "orc", "a int, b string", {"f": {"_cola": AB["a"], "_colb": AB["b"]}}, ROWS, "other rows"),
    Case("no_rows", "parquet", "a string, b int", {"f": {name: values[:0] for name, values in AB.items()}}, [], None),
    Case("hidden_directory", "text", "a int, b string", {"f": AB, ".hive-staging/f": AB, "_tmp/f": AB}, ROWS, None),
    Case("text_gone", "text", "a int, b string", {}, [], "refused"),
    Case("orc_gone", "orc", "a int, b string", {}, [], "refused"),
    Case("parquet_gone", "parquet", "a int, b string", {}, [], "refused"),
)


def write(path: Path, kind: str, columns: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "text":
        rows = zip(*(column.to_pylist() for column in columns.values()), strict=True)
        path.write_text("".join("\1".join(map(str, row)) + "\n" for row in rows))
    elif kind == "orc":
        pyarrow.orc.write_table(pa.table(columns), str(path))
    else:
        pyarrow.parquet.write_table(pa.table(columns), str(path))


def create(raw: Client, database: str, case: Case, directory: Path, *, is_partitioned: bool) -> None:
    """Create an external table over files, and a Hive view over it."""
    row = table(database, case.name, FORMATS[case.format], {"EXTERNAL": "TRUE"})
    columns = [tuple(text.strip().split(" ", 1)) for text in case.columns.split(", ")]
    row.sd.cols = [FieldSchema(name, kind, None) for name, kind in columns]
    row.sd.location = f"file:{directory}"
    if is_partitioned:
        row.partitionKeys = [FieldSchema("p", "int", None)]
    raw.create_table(row)
    files = directory / "p=1" if is_partitioned else directory
    if is_partitioned:
        descriptor = raw.get_table(database, case.name).sd
        descriptor.location = f"file:{files}"
        raw.add_partition(Partition(["1"], database, case.name, 0, 0, descriptor, {}))
    for name, content in case.files.items():
        write(files / name, case.format, content)
    if not case.files:
        shutil.rmtree(files, ignore_errors=True)
    text = f"SELECT {', '.join(f'`{case.name}`.`{name}`' for name, _ in columns)} FROM `{database}`.`{case.name}`"
    raw.create_table(hive_view_row(database, f"v_{case.name}", text, text, columns))


def outcomes(catalog: HiveViewCatalog, database: str, name: str) -> list[str]:
    found = catalog.dependencies.check_engines(f"{database}.v_{name}")
    of_table = [item for item in found if item.engine == "spark" and item.table == f"{database}.{name}"]
    return [item.outcome.value for item in of_table if not item.outcome.is_note]


def read(plain: PlainReader, text: str) -> list[tuple[Any, ...]] | None:
    """Return the rows that plain Spark returns; None if it fails."""
    try:
        return sorted(plain.sql(text), key=repr)
    except PlainSparkError:
        return None


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_spark_reads_other_rows_than_hive_where_a_finding_says_so(
    catalog: HiveViewCatalog, raw: Client, database: str, plain: PlainReader, tmp_path: Path, is_partitioned: bool
) -> None:
    found, different = {}, {}
    for case in CASES:
        create(raw, database, case, tmp_path / case.name, is_partitioned=is_partitioned)
        found[case.name] = outcomes(catalog, database, case.name)
        rows = read(plain, f"SELECT * FROM {database}.v_{case.name}")
        different[case.name] = rows is None or rows != sorted(case.hive or [], key=repr)
    expected = {case.name: case.outcome for case in CASES}
    if is_partitioned:  # Spark skips a partition whose directory is gone, for its own readers
        expected |= {"orc_gone": None, "parquet_gone": None, "partition_of_none": "other rows"}
    assert found == {name: [outcome] if outcome else [] for name, outcome in expected.items()}
    assert different == {name: outcome is not None for name, outcome in expected.items()}


STORED = {
    "int8": pa.array([1], pa.int8()),
    "int32": pa.array([3], pa.int32()),
    "int64": pa.array([4], pa.int64()),
    "float": pa.array([1.5], pa.float32()),
    "double": pa.array([2.5], pa.float64()),
    "string": pa.array(["12"]),
    "binary": pa.array([b"13"], pa.binary()),
    "boolean": pa.array([True]),
    "date": pa.array([datetime.date(2024, 1, 2)]),
    "timestamp": pa.array([datetime.datetime(2024, 1, 2, 3)], pa.timestamp("us")),
    "milliseconds": pa.array([datetime.datetime(2024, 1, 2, 3)], pa.timestamp("ms")),
    "nanoseconds": pa.array([datetime.datetime(2024, 1, 2, 3)], pa.timestamp("ns")),
    "unsigned": pa.array([3], pa.uint32()),
    "decimal": pa.array([Decimal("7.25")], pa.decimal128(10, 2)),
}
DECLARED = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "string", "varchar(9)", "char(9)", "binary"),
    *("boolean", "date", "timestamp", "decimal(10,2)", "decimal(12,2)", "decimal(12,4)", "decimal(5,0)"),
    *("decimal(20,0)", "decimal(22,2)"),
)
UNKNOWN = {"decimal", "unsigned"}
"""Types of files of which nothing is known."""
READ_SINCE_SPARK_4 = {
    *((stored, declared) for stored in ("int8", "int32") for declared in ("bigint", "double")),
    *((stored, f"decimal({size})") for stored in ("int8", "int32") for size in ("12,2", "20,0", "22,2")),
    *((("int64", "decimal(20,0)"), ("int64", "decimal(22,2)"))),
    *((("date", "bigint"), ("date", "double"), ("float", "double"))),
}
"""Wider types, with which Spark 3.5 fails, and which no finding reports (docs/limits.md)."""


def test_file_of_another_format(
    catalog: HiveViewCatalog, raw: Client, database: str, plain: PlainReader, tmp_path: Path
) -> None:
    """Also with a directory beside it, which has a finding of its own."""
    for kind in ("orc", "parquet"):
        case = Case(f"of_{kind}", kind, "a int, b string", {"sub/f": AB}, None, "refused")
        create(raw, database, case, tmp_path / case.name, is_partitioned=False)
        (tmp_path / case.name / "a.txt").write_text("1,x\n" * 100)
        assert outcomes(catalog, database, case.name) == ["other rows", "refused"]
        assert read(plain, f"SELECT * FROM {database}.{case.name}") is None


def test_location_with_a_fragment(catalog: HiveViewCatalog, raw: Client, database: str, tmp_path: Path) -> None:
    case = Case("hash", "orc", "a int, b string", {"f": AB}, ROWS, None)
    create(raw, database, case, tmp_path / "a#b", is_partitioned=False)
    assert outcomes(catalog, database, "hash") == []


def test_types_that_spark_reads_from_parquet_files(
    catalog: HiveViewCatalog, raw: Client, database: str, plain: PlainReader, tmp_path: Path
) -> None:
    readable, found = {}, {}
    for stored, values in STORED.items():
        for at, declared in enumerate(DECLARED):
            case = Case(f"t_{stored}_{at}", "parquet", f"v {declared}", {"f": {"v": values}}, None, None)
            create(raw, database, case, tmp_path / case.name, is_partitioned=False)
            key = (stored, declared)
            found[key] = [*outcomes(catalog, database, case.name)]
            readable[key] = read(plain, f"SELECT * FROM {database}.{case.name}") is not None
    if IS_SPARK_3:
        assert not any(readable[key] for key in READ_SINCE_SPARK_4)
        readable |= dict.fromkeys(READ_SINCE_SPARK_4, True)
    known = {key: [] if is_read else ["refused"] for key, is_read in readable.items() if key[0] not in UNKNOWN}
    assert {key: value for key, value in found.items() if key[0] not in UNKNOWN} == known
    assert all(value == [] for key, value in found.items() if key[0] in UNKNOWN)
