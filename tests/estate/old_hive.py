"""The rows that the drivers of Hive 2.3.10 and 3.1.3 write: `python -m tests.estate.old_hive` records them.

Spark contains the driver of Hive 2.3.10, and loads that of 3.1.3 for its metastore client. They run the statements of
`definitions/hive.sql` that create or alter objects, without data, on a metastore of their release.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from thrift.Thrift import TType

from hive_views import EmbeddedMetastore
from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import Database, SerDeInfo, Table
from tests.estate import definitions, rows
from tests.estate.copy import CACHE, HERE
from tests.integration.metastore.rpc import connect

RELEASES = ("2.3.10", "3.1.3")
BUILT_IN = "2.3.10"
"""The release in Spark's JARs."""
WAREHOUSE = "/tmp/hive-views-old-hive"
"""The path of the warehouse in the recorded rows; a test replaces it by that of its metastore."""

_DATA = frozenset({"insert", "load", "analyze", "merge", "update", "delete"})
"""The first words of statements that change data only."""


def recorded(release: str) -> Path:
    """Return the file of a release: a line for each row, and one for each refused statement."""
    return HERE / f"old_hive_{release}.jsonl"


def metastore(release: str, directory: Path) -> MetastoreProcess:
    """Return a metastore of a release."""
    if release == BUILT_IN:
        return EmbeddedMetastore(directory)
    return StandaloneMetastore(directory, version=release, cache=CACHE)


def load(release: str, client: Client, warehouse: str) -> None:
    """Create the recorded databases, tables and views in a metastore whose warehouse has another URI."""
    for line in recorded(release).read_text(encoding="utf-8").splitlines():
        item = json.loads(line.replace(WAREHOUSE, urlsplit(warehouse).path))
        if "row" not in item:
            continue
        if item["name"].endswith("."):
            client.create_database(_to_thrift(Database, item["row"]))
            continue
        table = _to_thrift(Table, item["row"])
        # Empty structures are not recorded.
        table.sd.serdeInfo = table.sd.serdeInfo or SerDeInfo(parameters={})
        client.create_table(table)


def _to_thrift(kind: Any, value: dict[str, Any]) -> Any:
    """Return the Thrift structure of a recorded value."""
    item = kind()
    for spec in kind.thrift_spec:
        if spec and spec[2] in value:
            setattr(item, spec[2], _thrift_value(spec[1], spec[3], value[spec[2]]))
    return item


def _thrift_value(kind: int, types: Any, value: Any) -> Any:
    if kind == TType.STRUCT:
        return _to_thrift(types[0], value)
    if kind == TType.LIST:
        return [_thrift_value(types[0], types[1], item) for item in value]
    if kind == TType.MAP:
        return {_key(types[0], key): _thrift_value(types[2], types[3], item) for key, item in value.items()}
    return value


def _key(kind: int, key: str) -> Any:
    return int(key) if kind in (TType.I32, TType.I64) else key


def build(release: str) -> None:
    """Run the statements with the driver of a release, and record the rows and what it refused."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        with metastore(release, directory / "metastore") as running:
            with driver(release, running, directory) as run:
                refused = list(_run_all(run, running.warehouse))
            with connect(running.port, 300) as client:
                found = rows.read_all(client)
    lines = [
        rows.dumps({"name": name, "row": row}).replace(urlsplit(running.warehouse).path, WAREHOUSE)
        for name, row in sorted(found.items(), key=lambda item: (not item[0].endswith("."), item[0]))
        if "/" not in name and name != "default."
    ]
    recorded(release).write_text("\n".join([*lines, *map(rows.dumps, refused)]) + "\n", encoding="utf-8")


def _run_all(run: Callable[[str], None], warehouse: str) -> Iterator[dict[str, str]]:
    """Run all statements; return those that the driver refuses. A refused database is created without clauses."""
    for item in definitions.load("hive", definitions.placeholders(warehouse, f"{warehouse}/files")):
        for statement in item.statements:
            if statement.split()[0].lower() in _DATA:
                continue
            try:
                run(statement)
            except HiveDriverError as error:
                yield {"name": item.name, "refused": statement[:200], "error": str(error)[:200]}
        if item.kind == "database":
            run(f"create database if not exists {item.name}")


class HiveDriverError(Exception):
    """Hive refused a statement."""


@contextmanager
def driver(release: str, running: MetastoreProcess, directory: Path) -> Iterator[Callable[[str], None]]:
    """Run Hive's driver in Spark's JVM, on a running metastore."""
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import SparkSession

    scratch = directory / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    builder = SparkSession.builder.master("local[1]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.hadoop.hive.metastore.uris": running.uri,
        # Hive 3 chooses the locations of databases in the client.
        "spark.sql.warehouse.dir": running.warehouse,
        "spark.hadoop.hive.exec.scratchdir": str(scratch),
        "spark.hadoop.hive.exec.local.scratchdir": str(directory / "local"),
        "spark.hadoop.hive.execution.engine": "mr",
        "spark.hadoop.mapreduce.framework.name": "local",
        **metastore_jars(release),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark: Any = builder.enableHiveSupport().getOrCreate()
    try:
        jvm, gateway = spark._jvm, spark.sparkContext._gateway
        # Spark runs statements with the driver only in its own tests.
        jvm.java.lang.System.setProperty("spark.testing", "true")
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        interface = jvm.java.lang.Class.forName("org.apache.spark.sql.hive.client.HiveClient", True, loader)
        types, values = gateway.new_array(jvm.java.lang.Class, 1), gateway.new_array(jvm.java.lang.Object, 1)
        types[0] = jvm.java.lang.Class.forName("java.lang.String")
        method = interface.getMethod("runSqlHive", types)  # Py4J cannot list the methods of the class of the client
        client = spark._jsparkSession.sharedState().externalCatalog().unwrapped().client()
        # Spark takes the driver of Hive 3 for a command, to which it passes the text without its first word.
        prefix = "" if release == BUILT_IN else "run "

        def run(statement: str) -> None:
            values[0] = prefix + statement
            try:
                method.invoke(client, values)
            except Py4JJavaError as error:
                cause = error.java_exception.getCause()
                raise HiveDriverError(str((cause or error.java_exception).getMessage())) from None

        yield run
    finally:
        spark.stop()


def metastore_jars(release: str) -> dict[str, str]:
    """Return Spark's settings with the Hive client of a release."""
    if release == BUILT_IN:
        names = ("hive-llap-common", "hive-llap-client")
        paths = fetch([Artifact("org.apache.hive", name, release) for name in names], CACHE)
        return {"spark.driver.extraClassPath": ":".join(map(str, paths))}
    home = CACHE / f"hive-{release}"
    complete = home / "complete"
    if not complete.exists():
        copy = ("dependency:copy-dependencies", f"-DoutputDirectory={home}", "-DincludeScope=runtime")
        subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / f"hive-{release}.xml"), *copy], check=True)
        complete.touch()
    return {
        "spark.sql.hive.metastore.version": release,
        "spark.sql.hive.metastore.jars": "path",
        "spark.sql.hive.metastore.jars.path": f"{home.as_uri()}/*.jar",
    }


if __name__ == "__main__":
    import sys

    build(sys.argv[1])
