"""Create, load, replace, rename and drop, compared with the raw Thrift calls that each operation needs, alternating."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from benchmarks.measure import Result, alternate, compare
from benchmarks.raw import RawMetastore, write_file
from hive_views import EmbeddedMetastore, HiveViewCatalog, define
from hive_views.metastore._thrift.hive_metastore import ttypes

TURNS, QUICK_TURNS = 150, 40
WARM_UP = 60
COLUMNS = 20


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure on an embedded metastore; with `quick`, fewer times."""
    with (
        EmbeddedMetastore(directory / "operations") as metastore,
        HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        raw = RawMetastore(metastore.port)
        try:
            catalog.create_namespace("bench")
            raw.client.create_table(_table(f"{metastore.warehouse}/bench.db/t"))
            list(_measure(catalog, raw, directory, WARM_UP, "w"))
            yield from _measure(catalog, raw, directory, QUICK_TURNS if quick else TURNS, "m")
        finally:
            raw.close()


def _table(location: str) -> ttypes.Table:
    columns = [ttypes.FieldSchema(name=f"column_{index}", type="bigint") for index in range(1, COLUMNS + 1)]
    return ttypes.Table(
        dbName="bench",
        tableName="t",
        tableType="EXTERNAL_TABLE",
        parameters={"EXTERNAL": "TRUE"},
        partitionKeys=[],
        sd=ttypes.StorageDescriptor(cols=columns, location=location, serdeInfo=ttypes.SerDeInfo(parameters={})),
    )


def _measure(catalog: HiveViewCatalog, raw: RawMetastore, directory: Path, turns: int, prefix: str) -> Iterator[Result]:
    schema = Schema(*(NestedField(index, f"column_{index}", LongType()) for index in range(1, COLUMNS + 1)))
    texts = [
        f"SELECT {', '.join(f'column_{i} + {n} AS column_{i}' for i in range(1, COLUMNS + 1))} FROM t" for n in range(2)
    ]

    def definition(turn: int):
        text = f"{texts[turn % 2]} WHERE column_1 > {turn}"
        return define(text, dialect="spark", default_namespace=("bench",), expanded=text)

    catalog.create_view(f"bench.{prefix}", schema, definition(0))
    row = raw.get("bench", prefix)
    data = Path(row.parameters["metadata_location"].removeprefix("file:")).read_bytes()
    scratch = directory / "floor" / prefix

    def raw_row(turn: int):
        table = copy.copy(row)
        table.tableName = f"{prefix}_raw_{turn}"
        return table

    def raw_create(turn: int) -> None:
        # A source is read to know what to lock (the views that it reads, too), and again under its lock.
        raw.get("bench", "t")
        write_file(scratch / str(turn) / "metadata" / "0.json", data)
        raw.create(raw_row(turn), "t")

    def raw_replace(turn: int) -> None:
        raw.get("bench", "t")
        write_file(scratch / str(turn) / "metadata" / "1.json", data)
        raw.swap(raw_row(turn), f"file:/floor/{turn}", "t")

    create = alternate(
        lambda turn: catalog.create_view(f"bench.{prefix}_{turn}", schema, definition(turn)), raw_create, turns
    )
    calls = "get source, write file, get_database, lock view and source, get source, get, create, unlock"
    yield compare("create", calls, *create, 1.10)

    def raw_load(turn: int) -> None:
        raw.get("bench", f"{prefix}_raw_{turn}")
        json.loads(gzip.decompress((scratch / str(turn) / "metadata" / "0.json").read_bytes()))

    load = alternate(lambda turn: catalog.load_view(f"bench.{prefix}_{turn}"), raw_load, turns)
    yield compare(f"load a view of {COLUMNS} columns", "get, read and parse file", *load, 1.05)
    loaded = [catalog.load_view(f"bench.{prefix}_{turn}") for turn in range(turns)]
    replace = alternate(
        lambda turn: loaded[turn].update().replace_version(definition(turn + 1), schema).commit(), raw_replace, turns
    )
    calls = "get source, write file, lock view and source, get source, get, alter, unlock"
    yield compare("replace", calls, *replace, 1.05)

    def raw_rename(turn: int) -> None:
        # The file names what the view reads, which must neither have the new name nor read it.
        raw_load(turn)
        raw.get("bench", "t")
        raw.rename("bench", f"{prefix}_raw_{turn}", f"{prefix}_raw_new_{turn}", "t")

    rename = alternate(
        lambda turn: catalog.rename_view(f"bench.{prefix}_{turn}", f"bench.{prefix}_new_{turn}"), raw_rename, turns
    )
    calls = "get, read and parse file, get source, lock both names and source, get source, get, get new, alter, unlock"
    yield compare("rename", calls, *rename, 1.05)
    drop = alternate(
        lambda turn: catalog.drop_view(f"bench.{prefix}_new_{turn}"),
        lambda turn: raw.drop("bench", f"{prefix}_raw_new_{turn}"),
        turns,
    )
    yield compare("drop", "lock, get, drop, unlock", *drop, 1.05)
    catalog.drop_view(f"bench.{prefix}")
