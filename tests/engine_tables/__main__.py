"""Generate the tables of the engines, or compare them with the installed Spark.

python -m tests.engine_tables spark hive    write hive_views/sql/engines/data; print calls that no signature explains
python -m tests.engine_tables again         repeat the queries of the functions that take all pairs of types
python -m tests.engine_tables kept          write the expressions with which the unit tests compare the tables
python -m tests.engine_tables operands      write operators and casts, also those that Spark refuses, for the unit tests
python -m tests.engine_tables versions      write what differs in the installed Spark to spark_versions.json
python -m tests.engine_tables grammar       write the grammar of the installed Spark, which has to be the newest
python -m tests.engine_tables counts        write the numbers of arguments that Hive's compiler accepts
python -m tests.engine_tables compare       compare the table of Spark with the installed one, and print what differs
python -m tests.engine_tables compare-hive  compare the table of Hive with its functions, and print what differs

An interrupted run continues where it ended: what an engine answered is in build/engine_tables.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hive_views.sql.engines
from hive_views.spark.versions import spark_line
from hive_views.sql.engines.tables import read_table
from tests.engine_tables.argument_counts import MOST, measured_counts
from tests.engine_tables.asking import ask_hive, ask_spark
from tests.engine_tables.comparison import compare, compare_hive
from tests.engine_tables.enumeration import COLUMNS, OPERAND_COLUMNS, SEED, ask, ask_hive_calls, operand_expressions
from tests.engine_tables.grammar import grammar_document, written
from tests.engine_tables.hive_engine import running
from tests.engine_tables.sampling import COMPLETE
from tests.engine_tables.spark_engine import SparkEngine, session
from tests.engine_tables.writing import Document
from tests.integration.hive.reader import VERSION

DATA = Path(hive_views.sql.engines.__file__).parent / "data"
FIXTURES = Path(__file__).parents[1] / "unit" / "sql" / "fixtures"
_KEPT_PART = 0.3
"""The part of the enumerations that the unit tests compare."""


def write_spark() -> None:
    """Write the table of Spark."""
    with session() as spark:
        answers = {"ansi": ask_spark(spark, True), "legacy": ask_spark(spark, False)}
    _write("spark", answers)


def write_again() -> None:
    """Write the table of Spark with new answers about the functions in `COMPLETE`."""
    with session() as spark:
        answers = {"ansi": ask_spark(spark, True, COMPLETE), "legacy": ask_spark(spark, False, COMPLETE)}
    _write("spark", answers, read_table("spark"))


def write_hive() -> None:
    """Write the table of Hive."""
    _write("hive", {"hive": ask_hive()})


def write_kept() -> None:
    """Write a part of the enumerations with the engines' types."""
    with session() as spark:
        classes = ask(SparkEngine(spark, COLUMNS))
    _write_part("spark_types.jsonl", [(sql, *answers) for items in classes.values() for sql, answers in items.items()])
    with running() as engine:
        _write_part("hive_types.jsonl", list(ask_hive_calls(engine).items()))


def write_operands() -> None:
    """Write operators and casts with operands of all types, with Spark's types; `!` for those that it refuses."""
    items = operand_expressions(3600)
    answers = []
    with session() as spark:
        engine = SparkEngine(spark, OPERAND_COLUMNS)
        for is_ansi in (True, False):
            engine.set_ansi(is_ansi)
            answers.append(["!" if kind.startswith("!") else kind for kind in engine.types(items)])
    lines = (f"{json.dumps(case)}\n" for case in zip(items, *answers, strict=True))
    (FIXTURES / "spark_operands.jsonl").write_text("".join(lines), "utf-8")


def _write_part(name: str, cases: list) -> None:
    chosen = random.Random(SEED).sample(sorted(cases), round(_KEPT_PART * len(cases)))
    (FIXTURES / name).write_text("".join(f"{json.dumps(case)}\n" for case in sorted(chosen)), "utf-8")


def write_versions() -> None:
    """Write how the table of Spark compares with the installed Spark."""
    with session() as spark:
        comparison = compare(SparkEngine(spark, COLUMNS))
    print(*comparison.lines(), sep="\n")
    path = DATA / "spark_versions.json"
    versions = json.loads(path.read_text("utf-8")) if path.exists() else {}
    versions[spark_line(comparison.version)] = comparison.as_json()
    lines = [f"{json.dumps(line)}: {json.dumps(versions[line])}" for line in sorted(versions)]
    path.write_text("{" + ",\n".join(lines) + "}\n", "utf-8")


def write_grammar() -> None:
    """Write the grammar of queries of the installed Spark."""
    with session() as spark:
        document = grammar_document(spark)
    (DATA / "spark_grammar.json").write_text(written(document), "utf-8")


def write_counts() -> None:
    """Write the numbers of arguments that Hive's compiler accepts."""
    functions = {
        name: {"counts": [count for count in counts if count < MOST], "more": MOST in counts}
        for name, counts in measured_counts().items()
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in functions.items())
    head = f'"engine": "hive", "version": {json.dumps(VERSION)}'
    (DATA / "hive_argument_counts.json").write_text(f'{{{head}, "functions": {{\n{lines}\n}}}}\n', "utf-8")


def print_comparison() -> None:
    """Print how the tables compare with the installed Spark."""
    with session() as spark:
        comparison = compare(SparkEngine(spark, COLUMNS))
    print(*comparison.lines(), sep="\n")


def print_comparison_with_hive() -> None:
    """Print how the table of Hive compares with its functions."""
    with running() as engine:
        comparison = compare_hive(engine)
    print(*comparison.lines(), sep="\n")


def _write(engine: str, answers: dict, earlier: Mapping[str, Any] | None = None) -> None:
    document = Document(engine, next(iter(answers.values())).version, earlier)
    for rules, given in answers.items():
        document.add(rules, given)
    (DATA / f"{engine}.json").write_text(document.text(), "utf-8")
    print(*document.unexplained, sep="\n")


_COMMANDS = {
    "spark": write_spark,
    "again": write_again,
    "hive": write_hive,
    "kept": write_kept,
    "operands": write_operands,
    "versions": write_versions,
    "grammar": write_grammar,
    "counts": write_counts,
    "compare": print_comparison,
    "compare-hive": print_comparison_with_hive,
}

if __name__ == "__main__":
    for command in sys.argv[1:] or ["spark", "hive"]:
        _COMMANDS[command]()
