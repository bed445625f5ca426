"""The programs that create the estate, each as a function that runs a statement and returns its rows as texts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from hive_views.spark.runtime import catalog_settings, fetch_runtime, iceberg_coordinates
from tests.integration.hive import reader as hive_reader
from tests.integration.trino import server as trino_server

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".cache"

Run = Callable[[str], list[str]]
"""Runs a statement; returns its rows, and raises `RefusedError`."""


class RefusedError(Exception):
    """A program refused or failed a statement."""


@dataclass(frozen=True)
class Site:
    """Where the programs work."""

    directory: Path
    """The directory of their own files."""
    warehouse: str
    """The URI of the parent directory of databases."""
    uri: str
    """The metastore's URI."""
    old_uri: str
    """The URI of a proxy for clients of Hive 2."""


@contextmanager
def hive(site: Site) -> Iterator[Run]:
    """Hive's driver, with transactions and statistics."""
    settings = {
        **hive_reader.TRANSACTIONAL,
        "hive.metastore.warehouse.dir": site.warehouse,
        "hive.metastore.warehouse.external.dir": site.warehouse,
        "hive.exec.dynamic.partition.mode": "nonstrict",
        "hive.stats.autogather": "true",
        "hive.mapred.supports.subdirectories": "true",
        # As Tez sets it.
        "mapreduce.input.fileinputformat.input.dir.recursive": "true",
        "hive.strict.checks.no.partition.filter": "false",
        # Its URIs are not looked at.
        "fs.s3a.impl": "org.apache.hadoop.fs.http.HttpFileSystem",
        "hive.compactor.initiator.on": "false",
    }
    with hive_reader.running(site.directory / "hive", site.uri, settings) as driver:

        def run(sql: str) -> list[str]:
            try:
                return driver.query(sql)
            except hive_reader.HiveError as error:
                raise RefusedError(str(error)) from error

        yield run


@contextmanager
def _spark(site: Site, name: str, uri: str, conf: dict[str, str]) -> Iterator[Run]:
    directory = site.directory / name
    directory.mkdir(parents=True)
    log = directory / "spark.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.estate.spark_worker", uri, site.warehouse, json.dumps(conf)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )
    assert process.stdin is not None and process.stdout is not None

    def run(sql: str) -> list[str]:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(sql) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"Spark ended:\n{log.read_text(errors='replace')[-3000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RefusedError(answer["error"])
        return list(answer["rows"])

    try:
        yield run
    finally:
        process.communicate(timeout=120)


@contextmanager
def spark(site: Site) -> Iterator[Run]:
    """Spark without Iceberg, with the metastore client of Hive 4.1."""
    conf = {
        "spark.sql.hive.metastore.version": hive_reader.VERSION,
        "spark.sql.hive.metastore.jars": "path",
        "spark.sql.hive.metastore.jars.path": f"{hive_reader.install()}/lib/*.jar",
        "spark.sql.hive.convertMetastoreParquet": "true",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    }
    with _spark(site, "spark", site.uri, conf) as run:
        yield run


@contextmanager
def spark_iceberg(site: Site) -> Iterator[Run]:
    """Spark with Iceberg: the catalog `prod`, and Iceberg's session catalog."""
    conf = {
        "spark.jars": str(fetch_runtime(CACHE)),
        **catalog_settings(site.old_uri, site.warehouse, "prod"),
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hive",
    }
    with _spark(site, "spark_iceberg", site.old_uri, conf) as run:
        yield run


def _evaluating(catalog: object) -> Run:
    """Return a program whose statements are Python expressions over a catalog."""
    from tests.estate import pyiceberg_names

    def run(text: str) -> list[str]:
        try:
            answer = eval(text, {**vars(pyiceberg_names), "catalog": catalog})
        except Exception as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error
        return answer if isinstance(answer, list) else []

    return run


@contextmanager
def pyiceberg(site: Site) -> Iterator[Run]:
    """PyIceberg's Hive catalog, as `catalog`; a statement is a Python expression."""
    from pyiceberg.catalog.hive import HiveCatalog

    yield _evaluating(HiveCatalog("prod", uri=site.old_uri, warehouse=site.warehouse))


@contextmanager
def hive_views(site: Site) -> Iterator[Run]:
    """This package, as `catalog`; a statement is a Python expression."""
    from hive_views import HiveViewCatalog

    with HiveViewCatalog("prod", uri=site.uri, warehouse=site.warehouse) as catalog:
        yield _evaluating(catalog)


@contextmanager
def trino(site: Site) -> Iterator[Run]:
    """Trino, with its connectors for Hive and Iceberg."""
    from trino.exceptions import TrinoQueryError

    with trino_server.running(site.directory / "trino", site.uri) as server:

        def run(sql: str) -> list[str]:
            try:
                return [json.dumps(list(row), default=str, ensure_ascii=False) for row in server.query(sql)]
            except TrinoQueryError as error:
                raise RefusedError(str(error.message)) from error

        yield run


@dataclass(frozen=True)
class Program:
    """A program that creates objects."""

    start: Callable[[Site], object]
    """A context manager of its `Run`."""
    version: Callable[[], str]
    """Its version."""
    select: str
    """The statement that reads an object; {name} is `database.name`, {database} and {table} are its parts."""


PROGRAMS = {
    "hive": Program(hive, lambda: hive_reader.VERSION, "select * from `{database}`.`{table}`"),
    "spark": Program(spark, lambda: version("pyspark"), "SELECT * FROM `{database}`.`{table}`"),
    "spark_iceberg": Program(
        spark_iceberg,
        lambda: f"{version('pyspark')}, Iceberg {iceberg_coordinates().rpartition(':')[2]}",
        "SELECT * FROM prod.`{database}`.`{table}`",
    ),
    "pyiceberg": Program(pyiceberg, lambda: version("pyiceberg"), "read_rows(catalog, '{database}.{table}')"),
    "hive_views": Program(hive_views, lambda: version("hive_views"), ""),
    "trino": Program(trino, lambda: trino_server.VERSION, 'SELECT * FROM {catalog}."{database}"."{table}"'),
}
"""By name of the file of definitions, in the order in which they run."""
