"""The queries of TPC-H and TPC-DS as views: Spark analyzes the author's text and the texts that are stored for it.

The texts and the tables' columns are those of Spark's own tests, in the jar with the classifier `tests`, which is
downloaded (46 MB). The texts are not part of this repository.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_views.errors import ArtifactFetchError, SqlError
from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.spark.session.plans import AnalyzedQuery, check_equal
from hive_views.sql.writing.expand import expand
from tests.unit.sql.random_check import spark_session
from tests.unit.sql.tables import Tables

pytestmark = [pytest.mark.spark, pytest.mark.extended]

TESTS_OF_SPARK = Artifact("org.apache.spark", "spark-sql_2.13", "4.1.0", classifier="tests")
FOLDERS = {"tpch": 22, "tpcds": 103, "tpcds-modifiedQueries": 21, "tpcds-v2.7.0": 32}
"""The number of texts in each folder of the jar."""

DUPLICATES = {
    *("tpcds/q14b", "tpcds/q39a", "tpcds/q39b", "tpcds/q64", "tpcds-v2.7.0/q14", "tpcds-v2.7.0/q64"),
}
"""The texts that cannot be views, since their result has a column name twice."""
WITHOUT_ALIAS = {"tpcds-v2.7.0/q49", "tpcds-v2.7.0/q51a"}
"""The texts that Hive does not read, since they have a derived table without alias."""

_CLASSES = {"tpch": "TPCHBase", "tpcds": "TPCDSSchema"}
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 17: 4, 18: 4}
"""The size of each kind of constant of a class file; 2 for the others."""
_COLUMN = re.compile(r"`?(\w+)`? (\w+(?: ?\([\d, ]+\))?),?")


def constants(data: bytes) -> Iterator[str]:
    """Yield the texts in the constant pool of a class file (Java Virtual Machine Specification, 4.4)."""
    (count,) = struct.unpack_from(">H", data, 8)
    at, number = 10, 1
    while number < count:
        tag = data[at]
        if tag == 1:
            (size,) = struct.unpack_from(">H", data, at + 1)
            yield data[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            at += 1 + _SIZES.get(tag, 2)
        number += 2 if tag in (5, 6) else 1


def tables_of(jar: zipfile.ZipFile, benchmark: str) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of the tables of `tpcds` or `tpch`."""
    tables: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for text in constants(jar.read(f"org/apache/spark/sql/{_CLASSES[benchmark]}.class")):
        created = re.match(r"\s*CREATE TABLE `?(\w+)`? \((.*)\)\s*USING", text.replace("|", ""), re.DOTALL)
        if created is not None:
            tables[created[1]] = _COLUMN.findall(created[2])
        elif "|`" in text:
            tables[name] = _COLUMN.findall(text.replace("|", ""))
        elif re.fullmatch(r"[a-z_]+", text):
            name = text
    return tables


@pytest.fixture(scope="module")
def jar() -> Iterator[zipfile.ZipFile]:
    try:
        (path,) = fetch([TESTS_OF_SPARK], Path(__file__).parents[3] / ".cache")
    except ArtifactFetchError as error:
        pytest.skip(f"Spark's tests cannot be downloaded: {error}"[:200])
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def sessions() -> Iterator[tuple[Any, Any]]:
    """A session whose current database has the tables, and one with another current database."""
    spark = spark_session()
    home, elsewhere = spark.newSession(), spark.newSession()
    home.sql("create database if not exists tpc")
    home.sql("use tpc")
    home.conf.set("spark.sql.ansi.enabled", "false")
    elsewhere.conf.set("spark.sql.ansi.enabled", "false")
    yield home, elsewhere
    spark.stop()


@pytest.mark.parametrize("benchmark", ["tpch", "tpcds"])
def test_stored_texts_mean_what_the_author_wrote(
    benchmark: str, jar: zipfile.ZipFile, sessions: tuple[Any, Any]
) -> None:
    home, elsewhere = sessions
    types = {}
    for name, columns in tables_of(jar, benchmark).items():
        types[f"tpc.{name}"] = {column.lower(): kind.lower().replace(" ", "") for column, kind in columns}
        rows = ", ".join(
            f"cast(null as {'STRING' if 'CHAR' in kind else kind}) as `{column}`" for column, kind in columns
        )
        home.sql(f"create or replace view tpc.{name} as select {rows}")
    texts = [name for name in jar.namelist() if name.startswith(benchmark) and name.endswith(".sql")]
    folders = {folder: count for folder, count in FOLDERS.items() if folder.startswith(benchmark)}
    assert {folder: sum(text.startswith(f"{folder}/") for text in texts) for folder in folders} == folders
    refused: dict[str, set[str]] = {"spark": set(), "hive": set()}
    for name in texts:
        sql = jar.read(name).decode().strip().removesuffix(";")
        typed = AnalyzedQuery.of(home.sql(sql))
        for dialect in refused:
            try:
                expansion = expand(sql, Tables(types), database="tpc", dialect=dialect)
            except SqlError:
                refused[dialect].add(name.removesuffix(".sql"))
                continue
            check_equal(typed, AnalyzedQuery.of(elsewhere.sql(expansion.expanded)))
            check_equal(typed, AnalyzedQuery.of(home.sql(expansion.stored)))
    unreadable = DUPLICATES if benchmark == "tpcds" else set()
    assert refused["spark"] == unreadable
    assert refused["hive"] == unreadable | (WITHOUT_ALIAS if benchmark == "tpcds" else set())
