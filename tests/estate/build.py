"""Builds the estate, records it, and shows what changed against the record."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

from hive_views.local_metastore.standalone import StandaloneMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, GetTableRequest, Table
from tests.estate import copy, definitions, rows
from tests.estate.definitions import Definition
from tests.estate.old_calls import OldCalls
from tests.estate.programs import PROGRAMS, Program, RefusedError, Run, Site
from tests.integration.hive.reader import VERSION
from tests.integration.metastore.rpc import connect

HERE = Path(__file__).parent
STATEMENTS = HERE / "statements.jsonl"
"""What came of each definition: one JSON object per line, in order."""
OBJECTS = HERE / "objects.jsonl"
"""The rows of the metastore without what differs between builds: one JSON object per line, sorted by name."""
MANIFEST = HERE / "manifest.json"
"""The versions, the date and the counts."""

_ADDRESS = re.compile(r"@[0-9a-f]{5,8}\b")
OWNER = "hive"
"""The user that the programs run as."""
MAX_ROWS = 50
EMPTY_JAR = b"PK\x05\x06" + bytes(18)
FOREIGN = "thrift"
"""The program of rows that are written like those of programs that are not here."""
NOISE_DATABASE = "noise"
NOISE = 5_000
NOISE_EACH = 10
"""Of the plain objects, one in so many is a view."""


@dataclass(frozen=True)
class Outcome:
    """What came of a definition."""

    name: str
    program: str
    kind: str
    comment: str
    status: str
    """`created`, or `refused` by the program."""
    refused: tuple[tuple[str, str], ...] = ()
    """The refused statements with the program's reasons; the object may exist nevertheless."""
    rows: tuple[str, ...] | None = None
    """The rows that the program reads, sorted, at most MAX_ROWS; None if it does not read any."""
    unreadable: str | None = None
    """Why the program cannot read them."""


def build(directory: Path, only: Sequence[str] = ()) -> tuple[list[Outcome], dict[str, Any]]:
    """Build the estate in a directory; `only` names the programs if not all."""
    outcomes: list[Outcome] = []
    # Hadoop's and Python's ways to name a user: the owner of rows.
    os.environ |= dict.fromkeys(("HADOOP_USER_NAME", "LOGNAME", "USER"), OWNER)
    with copy.linked(directory):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        write_files(directory / "files")
        with copy.metastore(directory, {"metastore.users.in.admin.role": OWNER}) as metastore:
            with OldCalls(metastore.port) as old:
                site = Site(directory / "programs", copy.WAREHOUSE, metastore.uri, old.uri)
                for name, program in PROGRAMS.items():
                    if not only or name in only:
                        outcomes += _create(program, site, _definitions(name))
            outcomes += add_foreign_rows(metastore)
            add_noise(metastore)
            remove_files(directory)
            with connect(metastore.port, 300) as client:
                all_rows = rows.read_all(client)
    return outcomes, all_rows


def extend(directory: Path) -> tuple[list[Outcome], dict[str, Any]]:
    """Run the definitions that the recorded copy lacks on it, in a directory; the others keep what came of them."""
    recorded = {(item.program, item.name): item for item in map(_outcome_of, _read_lines(STATEMENTS))}
    os.environ |= dict.fromkeys(("HADOOP_USER_NAME", "LOGNAME", "USER"), OWNER)
    outcomes: list[Outcome] = []
    with copy.loaded(directory, {"metastore.users.in.admin.role": OWNER}) as metastore:
        write_files(directory / "files")
        with OldCalls(metastore.port) as old:
            site = Site(directory / "programs", copy.WAREHOUSE, metastore.uri, old.uri)
            for name, program in PROGRAMS.items():
                wanted = _definitions(name)
                missing = [item for item in wanted if (name, item.name) not in recorded]
                if missing:
                    recorded |= {(name, item.name): item for item in _create(program, site, missing)}
                outcomes += (recorded[name, item.name] for item in wanted)
        foreign = {item.name: item for item in recorded.values() if item.program == FOREIGN}
        outcomes += (*foreign.values(), *add_foreign_rows(metastore, foreign))
        remove_files(directory)
        with connect(metastore.port, 300) as client:
            all_rows = rows.read_all(client)
    return outcomes, all_rows


def _definitions(program: str) -> list[Definition]:
    return list(definitions.load(program, definitions.placeholders(copy.WAREHOUSE, copy.FILES)))


def _outcome_of(item: dict[str, Any]) -> Outcome:
    """Return a recorded outcome."""
    read = item["rows"]
    refused = tuple((statement, reason) for statement, reason in item["refused"])
    return Outcome(**{**item, "refused": refused, "rows": None if read is None else tuple(read)})


def _create(program: Program, site: Site, wanted: Sequence[Definition]) -> Iterator[Outcome]:
    started = perf_counter()
    with program.start(site) as run:  # type: ignore[attr-defined]
        for definition in wanted:
            outcome = _outcome(definition, program, run)
            print(f"{perf_counter() - started:6.1f} s  {outcome.status:8} {outcome.name}", flush=True)
            for statement, reason in outcome.refused:
                print(f"          {statement[:100]}\n          -> {reason[:300]}", flush=True)
            if outcome.unreadable:
                print(f"          unreadable: {outcome.unreadable[:300]}", flush=True)
            yield outcome


def _outcome(definition: Definition, program: Program, run: Run) -> Outcome:
    refused = []
    for statement in definition.statements:
        try:
            run(statement)
        except RefusedError as error:
            refused.append((_shortened(statement), _reason(error)))
    found, unreadable = None, None
    status = "refused" if len(refused) == len(definition.statements) else "created"
    if definition.is_readable and status == "created" and program.select:
        database, _, table = definition.name.partition(".")
        catalog = "iceberg" if "iceberg" in definition.kind else "hive"
        try:
            answer = run(program.select.format(database=database, table=table, catalog=catalog))
            found = tuple(sorted(map(_shortened, answer))[:MAX_ROWS])
        except RefusedError as error:
            unreadable = _reason(error)
    return Outcome(
        definition.name,
        definition.program,
        definition.kind,
        definition.comment,
        status,
        tuple(refused),
        found,
        unreadable,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= 1000 else f"{text[:1000]}… ({len(text)} characters)"


def _reason(error: Exception) -> str:
    """The first line of an error, without what differs between builds."""
    text = str(error).strip().split("\n")[0]
    return _ADDRESS.sub("@<address>", str(rows.stable({"text": text[:500]})["text"]))


def write_files(directory: Path) -> None:
    """Write the files that tables have and no program of the estate wrote."""
    files: dict[str, bytes] = {
        "header/part": b"id,name\n1,a\n2,b\n",
        "nulls/part": b"1,NA\n2,b\n",
        "nested/one/part": b"1,a\n",
        "nested/two/part": b"2,b\n",
        "latin1/part": "1,Größe\n".encode("latin-1"),
        "csv/part": b'1,"a,b"\n2,\n',
        "json/part": b'{"id": 1, "name": "a", "s": {"a": 1}}\n',
        "regex/part": b"x y\n",
        "multi/part": b"1||a\n",
        "numbers/part": b"9,10,n\n10,9,m\n",
        "values/part": b"1,2024-01-01T10:00:00,2024-01-01 10:00:00, 1.5 \n2,2024-02-30 10:00:00,2024-02-30,1.5\n",
        "manifest/manifest": f"{copy.WAREHOUSE}/hive_tables.db/parquet/000000_0\n".encode(),
        "delta_spark/.keep": b"",
        "elsewhere/part": b"3,c\n",
        "delta/_symlink_format_manifest/p=a/manifest": b"",
        "hudi/.keep": b"",
        "syslog/.keep": b"",
        "gone.jar": EMPTY_JAR,
        "empty.jar": EMPTY_JAR,
        **dict.fromkeys(
            ("schema.avsc", "gone.avsc"),
            json.dumps(
                {
                    "type": "record",
                    "name": "r",
                    "fields": [
                        {"name": "a", "type": "int"},
                        {"name": "b", "type": ["null", "string"], "default": None},
                    ],
                }
            ).encode(),
        ),
    }
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def remove_files(directory: Path) -> None:
    """Remove or cut the files of the objects that have lost theirs."""
    for name in ("gone_partition", "gone_table", "gone_spark", "gone_hudi"):
        shutil.rmtree(directory / "files" / name, ignore_errors=True)
    for name in ("gone.jar", "gone.avsc"):
        (directory / "files" / name).unlink()
    warehouse = directory / "warehouse"
    for name in ("files_gone", "files_gone_later"):
        shutil.rmtree(warehouse / "iceberg_tables.db" / name, ignore_errors=True)
    shutil.rmtree(warehouse / "iceberg_views.db" / "files_gone", ignore_errors=True)
    for path in (warehouse / "iceberg_views.db" / "file_damaged" / "metadata").glob("*.metadata.json"):
        if path.read_bytes().rstrip().endswith(b"}"):
            path.write_bytes(path.read_bytes()[:-20])
    for path in directory.glob("warehouse/**/.hive-staging*"):
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class ForeignTable:
    """A row of a program that is not here, and what differs from the row of `hive_tables.parquet`."""

    kind: str
    """As in definitions."""
    comment: str
    """What is special about it."""
    parameters: Mapping[str, str]
    """Its parameters."""
    input_format: str = ""
    """Its input format; the template's if empty."""
    serde: str = ""
    """Its SerDe; the template's if empty."""


_HUDI = "org.apache.hudi.hadoop"
_PROVIDER = {"spark.sql.sources.provider": "hudi"}
FOREIGN_TABLES = {
    "hudi_synced": ForeignTable(
        "table foreign format", "Hudi's class without Spark's provider", {}, f"{_HUDI}.HoodieParquetInputFormat"
    ),
    "hudi_realtime": ForeignTable(
        "table foreign format",
        "Hudi's class with Spark's provider",
        _PROVIDER,
        f"{_HUDI}.realtime.HoodieParquetRealtimeInputFormat",
    ),
    "hbase": ForeignTable(
        "table storage handler",
        "a row like that of HBaseStorageHandler",
        {"storage_handler": "org.apache.hadoop.hive.hbase.HBaseStorageHandler", "hbase.table.name": "t"},
        serde="org.apache.hadoop.hive.hbase.HBaseSerDe",
    ),
    "jdbc": ForeignTable(
        "table storage handler",
        "a row like that of JdbcStorageHandler",
        {"storage_handler": "org.apache.hive.storage.jdbc.JdbcStorageHandler", "hive.sql.table": "t"},
        serde="org.apache.hive.storage.jdbc.JdbcSerDe",
    ),
    "iceberg_without_file": ForeignTable(
        "table storage handler",
        "a row like that of HiveIcebergStorageHandler without a metadata file",
        {"storage_handler": "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler", "table_type": "ICEBERG"},
        serde="org.apache.iceberg.mr.hive.HiveIcebergSerDe",
    ),
    "serde_of_hcatalog": ForeignTable(
        "table serde", "a SerDe that is not in hive-exec", {}, serde="org.apache.hive.hcatalog.data.JsonSerDe"
    ),
    "input_format_of_lzo": ForeignTable(
        "table format", "an input format that is not here", {}, "com.hadoop.mapred.DeprecatedLzoTextInputFormat"
    ),
}
"""In the database `hive_tables`, by name; `hive_views` has a Hive view over each."""
FOREIGN_VIEWS = {"iceberg_tables.v2": "id", "iceberg_tables.files_gone_later": "id"}
"""Iceberg tables that Hive cannot read, over which `hive_views` has a row like that of a Hive view, with a column."""


def add_foreign_rows(metastore: StandaloneMetastore, recorded: Container[str] = ()) -> Iterator[Outcome]:
    """Add rows of programs that are not here, and rows of Hive views that only they let Hive create."""
    with connect(metastore.port, 300) as client:
        for name, foreign in FOREIGN_TABLES.items():
            if f"hive_tables.{name}" in recorded:
                continue
            table = _template(client, "hive_tables", "parquet")
            table.tableName = name
            table.sd.inputFormat = foreign.input_format or table.sd.inputFormat
            table.sd.serdeInfo.serializationLib = foreign.serde or table.sd.serdeInfo.serializationLib
            table.parameters = {"EXTERNAL": "TRUE", **foreign.parameters}
            client.create_table(table)
            yield Outcome(f"hive_tables.{name}", FOREIGN, foreign.kind, foreign.comment, "created")
        columns = {f"hive_tables.{name}": ("a", "b") for name in FOREIGN_TABLES}
        columns |= {name: (column,) for name, column in FOREIGN_VIEWS.items()}  # type: ignore[misc]
        for table_name, names in columns.items():
            database, _, name = table_name.partition(".")
            if f"hive_views.on_{name}" in recorded:
                continue
            view = _template(client, "hive_views", "on_parquet")
            view.tableName = f"on_{name}"
            view.sd.cols = [column for column in view.sd.cols if column.name in names] or [FieldSchema(names[0], "int")]
            selected = ", ".join(f"`{name}`.`{column}`" for column in names)
            view.viewOriginalText = f"select {', '.join(names)} from {table_name}"
            view.viewExpandedText = f"select {selected} from `{database}`.`{name}`"
            client.create_table(view)
            yield Outcome(f"hive_views.on_{name}", FOREIGN, "view over tables", f"over {table_name}", "created")


def _template(client: Client, database: str, name: str) -> Table:
    """Return a row that Hive wrote."""
    return client.get_table_req(GetTableRequest(dbName=database, tblName=name, capabilities=rows.CAPABILITIES)).table


def add_noise(metastore: StandaloneMetastore) -> None:
    """Add plain objects: copies of rows that Hive wrote, under other names."""
    with connect(metastore.port, 300) as client:
        templates = []
        for name in ("ext", "plain"):
            templates.append(_template(client, "hive_views" if name == "plain" else "hive_tables", name))
        database = client.get_database("hive_views")
        database.name = NOISE_DATABASE
        database.locationUri = f"{copy.WAREHOUSE}/{NOISE_DATABASE}.db"
        client.create_database(database)
        for number in range(NOISE):
            is_view = number % NOISE_EACH == 0
            row = templates[int(is_view)]
            row.dbName, row.tableName = NOISE_DATABASE, f"{'view' if is_view else 'table'}_{number:04}"
            client.create_table(row)


def record(
    directory: Path, outcomes: Sequence[Outcome], all_rows: dict[str, Any], *, seconds: float | None = None
) -> None:
    """Write the archive, and the files that describe it; `seconds` is the time of a whole build."""
    programs = {name: program.version() for name, program in PROGRAMS.items()}
    if seconds is None:
        before = json.loads(MANIFEST.read_text(encoding="utf-8"))
        seconds = before["seconds"]
        for name, version in before["programs"].items():
            if not version.startswith(programs[name]):
                programs[name] = f"{version.partition('; ')[0]}; later {programs[name]}"
    copy.apply_logs(directory)
    copy.pack(directory)
    _write_lines(STATEMENTS, (asdict(outcome) for outcome in outcomes))
    _write_lines(OBJECTS, ({"name": name, "row": rows.stable(row)} for name, row in _described(all_rows)))
    manifest = {
        "date": date.today().isoformat(),
        "metastore": VERSION,
        "programs": programs,
        "seconds": round(seconds),
        "definitions": len(outcomes),
        "refused": sum(outcome.status == "refused" for outcome in outcomes),
        "rows": {
            "databases": sum(name.endswith(".") for name in all_rows),
            "objects": sum(not name.endswith(".") and "/" not in name for name in all_rows),
            "partitions": sum("/" in name for name in all_rows),
        },
        "kinds": dict(sorted(Counter(f"{item.program}: {item.kind}" for item in outcomes).items())),
    }
    MANIFEST.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _described(all_rows: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """All rows but those of the noise, of which two stand for all."""
    for name, row in sorted(all_rows.items()):
        if not name.startswith(f"{NOISE_DATABASE}.") or name.endswith((".", "_0000", "_0001")):
            yield name, row


def _write_lines(path: Path, documents: Iterator[dict[str, Any]]) -> None:
    lines = (json.dumps(document, ensure_ascii=False, sort_keys=True) + "\n" for document in documents)
    path.write_text("".join(lines), encoding="utf-8")


def changes(outcomes: Sequence[Outcome], all_rows: dict[str, Any]) -> list[str]:
    """What differs from the record, one line each."""
    news = {
        **{f"definition {item.name}": json.loads(json.dumps(asdict(item))) for item in outcomes},
        **{f"row {name}": rows.stable(row) for name, row in _described(all_rows)},
    }
    olds: dict[str, Any] = {}
    if STATEMENTS.exists():
        olds |= {f"definition {item['name']}": item for item in _read_lines(STATEMENTS)}
        olds |= {f"row {item['name']}": item["row"] for item in _read_lines(OBJECTS)}
    lines = []
    for key in sorted(olds.keys() | news.keys()):
        old, new = olds.get(key), news.get(key)
        if old == new:
            continue
        if old is None or new is None:
            lines.append(f"{'added' if old is None else 'removed'}: {key}")
        else:
            fields = [field for field in sorted(old.keys() | new.keys()) if old.get(field) != new.get(field)]
            lines += [f"changed: {key}: {field}: {old.get(field)!r} -> {new.get(field)!r}" for field in fields]
    return lines


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
