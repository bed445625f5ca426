"""Parse + resolve + expand of views on one core, beside sqlglot's own parse + qualify() over the same texts.

    python benchmarks/sql_expand.py [--rounds N]

The texts are the golden files' (Hive's own tests and a real Hive's answers). Prints views a second of each, best of the
rounds, and their ratio; both run in the same process, one after the other, in turns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from hive_views.sql.ddl import parse_statement
from hive_views.sql.expand import expand
from hive_views.sql.scopes import TableSchema
from hive_views.sql.statements import AlterViewAs, CreateMaterializedView, CreateView

FIXTURES = Path(__file__).parent.parent / "tests" / "unit" / "sql" / "fixtures"
FUNCTIONS = {"my_max": "udaf", "my_translate": "udf", "my_explode": "udtf", "plus_one": "macro", "test_max": "udaf"}


class Tables:
    """The tables of one case."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.known: dict[tuple[str, str], TableSchema] = {}
        self.nested: dict[str, dict[str, dict[str, str]]] = {}
        for name, columns in described.items():
            database, _, table = name.partition(".")
            self.known[database, table] = TableSchema(tuple((column[0], column[1]) for column in columns))
            self.nested.setdefault(database, {})[table] = {column[0]: column[1] for column in columns}

    def table(self, database: str, name: str) -> TableSchema | None:
        """The schema of a table; None where there is none."""
        return self.known.get((database, name))


def cases() -> list[tuple[str, Tables, str, dict[str, str]]]:
    """Query, tables, database and settings of every accepted golden case."""
    found = []
    for name in ("hive_view_expansion.jsonl", "hive_oracle.jsonl"):
        for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if case.get("refused"):
                continue
            statement = parse_statement(case["ddl"])
            assert isinstance(statement, (CreateView, CreateMaterializedView, AlterViewAs))
            described = {database.partition(".")[0] for database in case.get("tables", {})}
            database = case["database"] if case["database"] in described else case["view"].partition(".")[0]
            found.append((statement.query.sql, Tables(case.get("tables", {})), database, dict(case.get("conf", []))))
    return found


def best(work: Callable[[], None]) -> float:
    """Seconds that one run takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    work = cases()
    readable = []
    for sql, tables, database, _ in work:
        try:
            qualify(sqlglot.parse_one(sql, dialect="hive"), schema=tables.nested, db=database, dialect="hive")
        except SqlglotError:
            continue
        readable.append((sql, tables, database))

    def ours(mode: str) -> Callable[[], None]:
        def run() -> None:
            for sql, tables, database, conf in work:
                expand(sql, tables, database=database, mode=mode, functions=FUNCTIONS, conf=conf)

        return run

    def theirs() -> None:
        for sql, tables, database in readable:
            qualify(sqlglot.parse_one(sql, dialect="hive"), schema=tables.nested, db=database, dialect="hive")

    runs: dict[str, tuple[Callable[[], None], int]] = {
        "portable": (ours("portable"), len(work)),
        "hive-exact": (ours("hive-exact"), len(work)),
        "sqlglot qualify": (theirs, len(readable)),
    }
    times = {name: min(best(run) for _ in range(rounds)) for name, (run, _) in runs.items()}
    speeds = {name: count / times[name] for name, (_, count) in runs.items()}
    for name, speed in speeds.items():
        print(f"{name:16} {speed:8.0f} views/s ({runs[name][1]} views)")
    for name in ("portable", "hive-exact"):
        print(f"{name} / sqlglot qualify: {speeds[name] / speeds['sqlglot qualify']:.1f}")


if __name__ == "__main__":
    main()
