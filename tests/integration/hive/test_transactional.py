"""Transactional tables that Hive's own driver writes, and what Spark returns of them.

They are in a metastore and a driver of their own, because the settings of transactions apply to every table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.dependencies.table_findings import spark_findings
from hive_views.errors import UnreadableTableWarning
from hive_views.identifiers import ViewName
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.sql.analysis.outcomes import Outcome
from tests.conftest import started
from tests.integration.hive.reader import HOME, TRANSACTIONAL, VERSION, WITHOUT_TRANSFORMER, HiveReader, running

_ACID = "tblproperties('transactional'='true')"
_INSERT_ONLY = "tblproperties('transactional'='true', 'transactional_properties'='insert_only')"
_WRITES = ("insert into {0} values (1, 'a'), (2, 'b'), (3, 'c')",)
_CHANGES = (*_WRITES, "update {0} set name = 'z' where id = 2", "delete from {0} where id = 3")
_LATER = ("insert into {0} values (1, 'a')", "alter table {0} set " + _ACID, "insert into {0} values (2, 'b')")
TABLES: dict[str, tuple[str, tuple[str, ...], int, int | None]] = {
    "acid": (f"stored as orc {_ACID}", _CHANGES, 2, 0),
    "acid_later": ("stored as orc tblproperties('transactional'='false')", _LATER, 2, 1),
    "overwritten": (f"stored as orc {_ACID}", ("insert overwrite table {0} select 7, 'x'",), 1, 0),
    "text": (f"stored as textfile {_INSERT_ONLY}", _WRITES, 3, None),
    "avro": (f"stored as avro {_INSERT_ONLY}", _WRITES, 3, None),
    "orc": (f"stored as orc {_INSERT_ONLY}", _WRITES, 3, 0),
    "parquet": (f"stored as parquet {_INSERT_ONLY}", _WRITES, 3, 0),
}
"""By name: the storage, the statements that write, the number of rows in Hive, and in Spark (None: it fails)."""

_SPARK = """
import json, sys
from pyspark.sql import SparkSession
uri, version, jars, *names = sys.argv[1:]
settings = {"spark.hadoop.hive.metastore.uris": uri, "spark.sql.catalogImplementation": "hive",
            "spark.ui.enabled": "false", "spark.sql.hive.metastore.version": version,
            "spark.sql.hive.metastore.jars": "path", "spark.sql.hive.metastore.jars.path": jars}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
counts = {}
for name in names:
    try:
        counts[name] = len(spark.sql(f"SELECT * FROM {name}").collect())
    except Exception:
        counts[name] = None
print(json.dumps(counts))
"""


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """In place of the shared metastore: one that accepts transactional tables."""
    with started(tmp_path_factory.mktemp("metastore"), VERSION, properties=WITHOUT_TRANSFORMER) as process:
        yield process


@pytest.fixture(scope="module")
def hive(metastore: MetastoreProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveReader]:
    with running(tmp_path_factory.mktemp("hive"), metastore.uri, TRANSACTIONAL) as reader:
        reader.query("CREATE DATABASE ac")
        for name, (storage, writes, _, _) in TABLES.items():
            reader.query(f"CREATE TABLE ac.{name} (id INT, name STRING) {storage}")
            for statement in writes:
                reader.query(statement.format(f"ac.{name}"))
        yield reader


def test_rows_of_hive_and_spark(hive: HiveReader, metastore: MetastoreProcess) -> None:
    names = [f"ac.{name}" for name in TABLES]
    expected = {f"ac.{name}": rows for name, (_, _, rows, _) in TABLES.items()}
    assert {name: len(hive.query(f"SELECT * FROM {name}")) for name in names} == expected
    arguments = (metastore.uri, VERSION, f"{HOME}/lib/*.jar", *names)
    result = subprocess.run(
        [sys.executable, "-c", _SPARK, *arguments], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    counts = json.loads(result.stdout.splitlines()[-1])
    assert counts == {f"ac.{name}": rows for name, (_, _, _, rows) in TABLES.items()}


@pytest.mark.parametrize("name", TABLES)
def test_findings_are_what_spark_does(hive: HiveReader, catalog: HiveViewCatalog, name: str) -> None:
    row = catalog.store.get_row(ViewName("ac", name))
    assert row is not None
    expected = Outcome.REFUSED if TABLES[name][3] is None else Outcome.OTHER_ROWS
    assert [item.outcome for item in spark_findings([row])] == [expected]


def test_views_over_them_in_hive(hive: HiveReader, catalog: HiveViewCatalog, tmp_path: Path) -> None:
    with pytest.warns(UnreadableTableWarning, match="it reads ac.acid, a transactional"):
        catalog.execute("CREATE VIEW ac.ours AS SELECT * FROM ac.acid", dialect="hive")
    assert sorted(hive.query("SELECT * FROM ac.ours")) == ["1\ta", "2\tz"]
    assert {str(name) for name in catalog.dependencies.graph("ac").nodes} == {"ac.ours", "ac.acid"}
