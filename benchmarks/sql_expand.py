"""Parsing, resolving and expanding views on one core, compared with parsing and qualify() of sqlglot.

    python benchmarks/sql_expand.py [--rounds N]

The texts are the golden files' (Hive's own tests and a real Hive's answers). All run in the same process, in turns.
Each figure is the median over the rounds, in CPU time, with the slowest and the fastest. Ours reads the text, looks up
every name and writes the texts that are stored. sqlglot parses and qualifies; `schema built` has its schema object
made before (the other makes it from a dict each time), `and text` also writes the SQL text.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import AlterViewAs, CreateMaterializedView, CreateView
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.writing.expand import expand

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


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # its generator warns about unsupported syntax
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
            expand(sql, tables, database=database, mode=mode, functions=FUNCTIONS, conf=conf)

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
