"""Listing 2,000 views by the filter of the server, compared with reading each object as Iceberg's Java catalog does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result, alternate, compare
from benchmarks.raw import RawMetastore
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore import ttypes

VIEWS = 2_000
TURNS, QUICK_TURNS = 20, 5
JAVA_BATCH = 100


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure on an embedded metastore; with `quick`, fewer times."""
    with (
        EmbeddedMetastore(directory / "listing") as metastore,
        HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        raw = RawMetastore(metastore.port)
        try:
            catalog.create_namespace("many")
            for number in range(VIEWS):
                raw.client.create_table(_row(number))
            turns = QUICK_TURNS if quick else TURNS
            by_filter = alternate(
                lambda turn: _check(catalog.list_views("many")), lambda turn: _names_by_filter(raw), turns
            )
            yield compare(f"list {VIEWS:,} views", "get_table_names_by_filter", *by_filter, None)
            as_java = alternate(
                lambda turn: _check(catalog.list_views("many")), lambda turn: _as_java(raw), 2 if quick else 4
            )
            yield compare(f"list {VIEWS:,} views", "names by type + objects (Iceberg Java's way)", *as_java, None)
        finally:
            raw.close()


def _row(number: int) -> ttypes.Table:
    columns = [ttypes.FieldSchema(f"column_{index}", "bigint", "") for index in range(5)]
    return ttypes.Table(
        tableName=f"v_{number:05d}",
        dbName="many",
        owner="bench",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=ttypes.StorageDescriptor(
            cols=columns,
            location=f"file:/nowhere/v_{number}",
            compressed=False,
            numBuckets=0,
            serdeInfo=ttypes.SerDeInfo(parameters={}),
            bucketCols=[],
            sortCols=[],
            parameters={},
        ),
        partitionKeys=[],
        parameters={"table_type": "ICEBERG-VIEW", "metadata_location": f"file:/nowhere/v_{number}.metadata.json"},
        viewOriginalText="SELECT 1",
        viewExpandedText="SELECT 1",
        tableType="VIRTUAL_VIEW",
    )


def _check(names: list[tuple[str, ...]]) -> None:
    if len(names) != VIEWS:
        raise AssertionError(f"{len(names)} views listed")


def _names_by_filter(raw: RawMetastore) -> None:
    condition = 'hive_filter_field_params__table_type = "ICEBERG-VIEW"'
    if len(raw.client.get_table_names_by_filter("many", condition, -1)) != VIEWS:
        raise AssertionError("the filter missed views")


def _as_java(raw: RawMetastore) -> None:
    names = raw.client.get_tables_by_type("many", "*", "VIRTUAL_VIEW")
    found = 0
    for start in range(0, len(names), JAVA_BATCH):
        request = ttypes.GetTablesRequest(dbName="many", tblNames=names[start : start + JAVA_BATCH])
        tables = raw.client.get_table_objects_by_name_req(request).tables
        found += sum(table.parameters.get("table_type", "").lower() == "iceberg-view" for table in tables)
    if found != VIEWS:
        raise AssertionError(f"{found} views found")
