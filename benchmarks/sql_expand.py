"""Parsing, resolving and expanding views on one core, compared with parsing and qualify() of sqlglot.

    python -m benchmarks.sql_expand [--rounds N] [--definitions]

The texts are the golden files' (Hive's own tests and a real Hive's answers). All run in the same process, in turns.
Each figure is the median over the rounds, in CPU time, with the slowest and the fastest. Ours reads the text, looks up
every name and writes the texts that are stored. sqlglot parses and qualifies; `schema built` has its schema object
made before (the other makes it from a dict each time), `and text` also writes the SQL text.

With `--definitions`, ours does everything that CREATE VIEW does in SQL: the names that the text reads, Spark's grammar,
the stored texts, the proof of the row's text, and the types. The texts are those of TPC-H and TPC-DS in Spark's tests
(a jar of 46 MB, which is downloaded), and everyday queries. sqlglot parses, qualifies with a schema that is made
before, and writes the text, all in its dialect `spark`.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from hive_views.errors import SqlError
from hive_views.local_metastore.maven import fetch
from hive_views.sql.analysis.references import references
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import AlterViewAs, CreateMaterializedView, CreateView, ObjectName, Query
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.declared_types import declared_columns
from hive_views.sql.writing.definition import define_view, hive_text
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.test_tpc_texts import FOLDERS, TESTS_OF_SPARK, tables_of

FIXTURES = Path(__file__).parent.parent / "tests" / "unit" / "sql" / "fixtures"
FUNCTIONS = {"my_max": "udaf", "my_translate": "udf", "my_explode": "udtf", "plus_one": "macro", "test_max": "udaf"}


class Tables:
    """The tables of one case."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.schemas: dict[tuple[str, str], TableSchema] = {}
        self.nested: dict[str, Any] = {}
        for name, columns in described.items():
            database, _, table = name.partition(".")
            self.schemas[database, table] = TableSchema(tuple((column[0], column[1]) for column in columns))
            self.nested.setdefault(database, {})[table] = {column[0]: column[1] for column in columns}

    def table(self, database: str, name: str) -> TableSchema | None:
        """The schema of a table; None if it does not exist."""
        return self.schemas.get((database, name))


def cases() -> list[tuple[str, Tables, str, dict[str, str]]]:
    """Query, tables, database and settings of every accepted golden case."""
    accepted = []
    for name in ("hive_view_expansion.jsonl", "hive_oracle.jsonl"):
        for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if case.get("refused"):
                continue
            statement = parse_statement(case["ddl"])
            assert isinstance(statement, (CreateView, CreateMaterializedView, AlterViewAs))
            described = {database.partition(".")[0] for database in case.get("tables", {})}
            database = case["database"] if case["database"] in described else case["view"].partition(".")[0]
            accepted.append((statement.query.sql, Tables(case.get("tables", {})), database, dict(case.get("conf", []))))
    return accepted


def seconds(work: Callable[[], None]) -> float:
    """The CPU time of a run in seconds, after a garbage collection."""
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def define(sql: str, tables: Tables, database: str) -> None:
    """Do what CREATE VIEW does in SQL."""
    statement = CreateView(text=sql, dialect=Dialect.SPARK, name=ObjectName((database, "v")), query=Query(sql))
    references(statement.parsed_query)
    expansion = define_view(statement, tables, database=database).expansion
    declared_columns(expansion, tables, database=database)
    hive_text(Dialect.SPARK, expansion, tables, database=database)


def qualify_with_text(sql: str, schema: MappingSchema, database: str) -> None:
    """Do what sqlglot does with a text that it qualifies."""
    qualify(sqlglot.parse_one(sql, dialect="spark"), schema=schema, db=database, dialect="spark").sql("spark")


def texts_to_define() -> Iterator[tuple[str, str, Tables, str]]:
    """Yield the group, the text, the tables and the database of each query."""
    (path,) = fetch([TESTS_OF_SPARK], FIXTURES.parents[3] / ".cache")
    with zipfile.ZipFile(path) as jar:
        for benchmark, group in (("tpch", "TPC-H"), ("tpcds", "TPC-DS")):
            described = {
                f"tpc.{name}": [(column.lower(), kind.lower().replace(" ", "")) for column, kind in columns]
                for name, columns in tables_of(jar, benchmark).items()
            }
            tables = Tables(described)
            for name in jar.namelist():
                folder = name.partition("/")[0]
                if folder in FOLDERS and folder.startswith(benchmark) and name.endswith(".sql"):
                    yield group, jar.read(name).decode().strip().removesuffix(";"), tables, "tpc"
    described = json.loads((FIXTURES / "analyst_tables.json").read_text(encoding="utf-8"))
    tables = Tables({f"w.{name}": list(table["columns"].items()) for name, table in described.items()})
    for case in load_cases("analyst_texts.jsonl"):
        yield "everyday", case["text"], tables, "w"


def compare_definitions(rounds: int) -> None:
    """Print the time of a definition and that of sqlglot, for each group of texts that both read."""
    groups: dict[str, list[tuple[str, Tables, str, MappingSchema]]] = {}
    schemas: dict[int, MappingSchema] = {}
    for group, sql, tables, database in texts_to_define():
        schema = schemas.setdefault(id(tables), MappingSchema(tables.nested, dialect="spark"))
        try:
            define(sql, tables, database)
            qualify_with_text(sql, schema, database)
        except (SqlError, SqlglotError):
            continue
        groups.setdefault(group, []).append((sql, tables, database, schema))
    for group, work in groups.items():

        def ours(work: list[tuple[str, Tables, str, MappingSchema]] = work) -> None:
            for sql, tables, database, _ in work:
                define(sql, tables, database)

        def theirs(work: list[tuple[str, Tables, str, MappingSchema]] = work) -> None:
            for sql, _, database, schema in work:
                qualify_with_text(sql, schema, database)

        times = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
        defined, qualified = (median(side) / len(work) * 1000 for side in zip(*times, strict=True))
        ratio = median(first / second for first, second in times)
        print(f"{group:9} {len(work):4} texts: {defined:.2f} ms, sqlglot {qualified:.2f} ms, ratio {ratio:.2f}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--definitions", action="store_true", help="compare what CREATE VIEW does in SQL")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # its generator warns about unsupported syntax
    if arguments.definitions:
        compare_definitions(rounds)
        return
    work = cases()
    readable: list[tuple[str, Tables, str, MappingSchema]] = []
    for sql, tables, database, _ in work:
        try:
            qualify(sqlglot.parse_one(sql, dialect="hive"), schema=tables.nested, db=database, dialect="hive")
        except SqlglotError:
            continue
        readable.append((sql, tables, database, MappingSchema(tables.nested, dialect="hive")))

    def ours(mode: str) -> None:
        for sql, tables, database, conf in work:
            expand(sql, tables, database=database, mode=mode, author=AuthorContext(functions=FUNCTIONS, conf=conf))

    def theirs() -> None:
        for sql, tables, database, _ in readable:
            qualify(sqlglot.parse_one(sql, dialect="hive"), schema=tables.nested, db=database, dialect="hive")

    def theirs_built() -> None:
        for sql, _, database, schema in readable:
            qualify(sqlglot.parse_one(sql, dialect="hive"), schema=schema, db=database, dialect="hive")

    def theirs_text() -> None:
        for sql, _, database, schema in readable:
            qualify(sqlglot.parse_one(sql, dialect="hive"), schema=schema, db=database, dialect="hive").sql("hive")

    runs: dict[str, tuple[Callable[[], None], int]] = {
        "portable": (partial(ours, "portable"), len(work)),
        "hive-exact": (partial(ours, "hive-exact"), len(work)),
        "qualify": (theirs, len(readable)),
        "qualify, schema built": (theirs_built, len(readable)),
        "qualify, schema built, and text": (theirs_text, len(readable)),
    }
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (run, count) in runs.items():
            speeds[name].append(count / seconds(run))
    for name, rates in speeds.items():
        print(f"{name:32} {median(rates):6.0f} views/s ({min(rates):.0f} to {max(rates):.0f}; {runs[name][1]} views)")
    for mode in ("portable", "hive-exact"):
        ratios = (f"{median(speeds[mode]) / median(speeds[name]):.1f}x {name}" for name in list(runs)[2:])
        print(f"{mode}: {'; '.join(ratios)}")


if __name__ == "__main__":
    main()
