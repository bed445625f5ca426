"""Dump the rows and files that a fixed set of operations writes: `python -m tests.conformance.dump_objects FILE`.

Run on two commits, equal dumps show that a refactoring left the stored bytes alone. It uses the public API and the
command line only, so that the script itself runs unchanged on both. UUIDs and times are replaced by placeholders.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore.ttypes import Database, FieldSchema, SerDeInfo, StorageDescriptor, Table
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType, TimestampType

from hive_views import EmbeddedMetastore, HiveViewCatalog, define

STATEMENTS = """
CREATE VIEW d.v1 AS SELECT * FROM orders
CREATE VIEW d.v2 (a COMMENT 'first', b) COMMENT 'two' TBLPROPERTIES ('k'='v') AS SELECT id, name FROM orders
CREATE VIEW d.v3 AS WITH x AS (SELECT id, 1 AS n FROM v1) SELECT x.*, name FROM x JOIN orders USING (id)
CREATE VIEW d.v4 AS SELECT 'x' AS s, upper(name) AS u, `name` FROM d.hive_t
CREATE OR REPLACE VIEW d.v2 AS SELECT id AS a FROM orders
ALTER VIEW d.v1 SET TBLPROPERTIES ('owner'='bi', 'x'='1')
ALTER VIEW d.v1 UNSET TBLPROPERTIES ('x')
ALTER VIEW d.v1 AS SELECT id FROM orders
ALTER VIEW d.v1 RENAME TO d.v1b
CREATE MATERIALIZED VIEW d.m1 AS SELECT id, count(*) AS n FROM orders GROUP BY id
CREATE MATERIALIZED VIEW d.m2 TBLPROPERTIES ('hive-views.layout'='attached') AS SELECT id, name FROM orders
CREATE MATERIALIZED VIEW d.m3 TBLPROPERTIES ('hive-views.layout'='table') AS SELECT id, name FROM orders
CREATE VIEW d.gone AS SELECT id FROM orders
DROP VIEW d.gone
""".strip().splitlines()

HIVE_STATEMENTS = [
    "CREATE VIEW d.h1 AS SELECT o.id + 1, upper(o.name) AS u FROM hive_p o WHERE o.id IN (SELECT id FROM hive_t)",
    "CREATE VIEW d.h2 PARTITIONED ON (ds) AS SELECT name, id, ds FROM hive_p",
]

COMMANDS = [
    ["list", "d", "--json"],
    ["show", "d.v3", "--json"],
    ["history", "d.v2", "--json"],
    ["deps", "tree", "d.v3", "--json"],
    ["deps", "check", "d", "--json"],
    ["import", "plan", "d", "--output", "PLAN"],
    ["import", "run", "PLAN", "--journal", "JOURNAL", "--json"],
    ["export", "d", "--json"],
    ["mv", "list", "d", "--json"],
    ["mv", "status", "d.m1", "--json"],
]

PLACEHOLDERS = (
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])"), "sha256"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "uuid"),
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])"), "hex"),
    (re.compile(r"(?<!\d)1[6-9]\d{11}(?!\d)"), "ms"),
    (re.compile(r"(?<!\d)1[6-9]\d{8}(\.\d+)?(?!\d)"), "s"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "time"),
    (re.compile(r"(?<=storage-)[0-9a-f]{8}"), "random"),
    (re.compile(r"thrift://[\w.]+:\d+"), "uri"),
    (re.compile(r"[A-Za-z0-9+/=]{200,}"), "base64"),
    (re.compile(r"(seconds|writing|swapping|reading|planning)(\\*\"): [\d.e-]+"), "duration"),
)


def hive_table(name: str, partitioned: bool = False) -> Table:
    """A Hive table with the columns `id` and `name`."""
    columns = [FieldSchema("id", "int", ""), FieldSchema("name", "string", "")]
    descriptor = StorageDescriptor(
        cols=columns,
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serdeInfo=SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={}),
        parameters={},
        bucketCols=[],
        sortCols=[],
        compressed=False,
        numBuckets=-1,
    )
    keys = [FieldSchema("ds", "string", "")] if partitioned else []
    return Table(name, "d", "hive", sd=descriptor, partitionKeys=keys, parameters={}, tableType="MANAGED_TABLE")


def legacy_view(name: str, original: str, expanded: str, **parameters: str) -> Table:
    """A plain view as Hive writes it."""
    table = hive_table(name)
    table.tableType = "VIRTUAL_VIEW"
    table.viewOriginalText, table.viewExpandedText = original, expanded
    table.parameters = parameters
    return table


def operations(metastore: EmbeddedMetastore, directory: Path) -> Iterator[tuple[str, Any]]:
    """Carry out the operations; yields the name and result of those that print something."""
    with HMSClient(host="127.0.0.1", port=metastore.port) as client:
        client.create_database(Database(name="d", locationUri=f"{metastore.warehouse}/d.db"))
        client.create_table(hive_table("hive_t"))
        client.create_table(hive_table("hive_p", partitioned=True))
        expanded = "select `hive_t`.`id`, `hive_t`.`name` from `d`.`hive_t`"
        client.create_table(legacy_view("legacy_1", "select * from hive_t", expanded))
        client.create_table(legacy_view("legacy_2", "select id, name from legacy_1", expanded, comment="second", k="v"))
        client.create_table(legacy_view("legacy_3", "select nonsense from", "select nonsense from"))
    with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
        schema = Schema(
            NestedField(1, "id", IntegerType()),
            NestedField(2, "name", StringType(), doc="who"),
            NestedField(3, "ts", TimestampType()),
        )
        catalog.create_table("d.orders", schema)
        for statement in STATEMENTS:
            yield statement, catalog.execute(statement, database="d").kind
        for statement in HIVE_STATEMENTS:
            yield statement, catalog.execute(statement, database="d", dialect="hive").kind
        columns = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "t", StringType(), doc="text"))
        texts = [
            define(f"SELECT {n}, 't'", dialect="spark", default_namespace=("d",), expanded=f"SELECT {n}, 't'")
            for n in (1, 2, 3)
        ]
        properties = {"comment": "by API", "version.history.num-entries": "2"}
        view = catalog.create_view("d.p1", columns, texts[0], properties=properties)
        view = view.update().set_properties(owner="bi").replace_version(texts[1]).commit()
        view = view.update().replace_version(texts[2]).commit()
        view = view.update().rollback(version_id=2).commit()
        location = catalog.create_view("d.p2", columns, texts[0]).metadata_location
        catalog.drop_view("d.p2")
        catalog.register_view("d.p3", location)
    program = [sys.executable, "-m", "hive_views", "--uri", metastore.uri, "--warehouse", metastore.warehouse]
    for command in COMMANDS:
        names = {"PLAN": str(directory / "plan.json"), "JOURNAL": str(directory / "journal.jsonl")}
        arguments = [names.get(argument, argument) for argument in command]
        finished = subprocess.run([*program, *arguments], capture_output=True, text=True)
        output = json.loads(finished.stdout) if "--json" in command else None
        yield " ".join(command), {"exit": finished.returncode, "output": output}
    for name in ("plan.json", "journal.jsonl"):
        if (directory / name).exists():
            yield name, (directory / name).read_text(encoding="utf-8").splitlines()


def rows(metastore: EmbeddedMetastore) -> Iterator[tuple[str, Any]]:
    """All rows of the database, field by field."""
    with HMSClient(host="127.0.0.1", port=metastore.port) as client:
        for name in sorted(client.get_all_tables("d")):
            yield f"row d.{name}", json.loads(json.dumps(client.get_table("d", name), default=vars, sort_keys=True))


def files(metastore: EmbeddedMetastore) -> Iterator[tuple[str, Any]]:
    """All files of the warehouse: name and content."""
    top = Path(metastore.warehouse.removeprefix("file://").removeprefix("file:"))
    for path in sorted(top.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if content[:2] == b"\x1f\x8b":
                content = gzip.decompress(content)
            yield f"file {path.relative_to(top)}", content.decode("utf-8", "replace")


def dump() -> str:
    """Everything as text, with placeholders."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with EmbeddedMetastore(directory / "metastore") as metastore:
            everything = [*operations(metastore, directory), *rows(metastore), *files(metastore)]
        text = "\n".join(json.dumps(item, sort_keys=True, indent=1) for item in everything)
        text = text.replace(str(directory), "DIR")
    for pattern, word in PLACEHOLDERS:
        text = pattern.sub(f"<{word}>", text)
    sections = text.split("\n[\n")
    return "\n[\n".join(sections[:1] + sorted(sections[1:]))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(dump(), encoding="utf-8")
