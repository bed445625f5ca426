"""Generate the table of answers: what Hive and Spark return for the same expressions over the same files.

python -m tests.reader_tables measure  run the expressions in both engines, or continue that (build/reader_tables)
python -m tests.reader_tables alone    run one expression of each equal construct alone in Hive's vectorized execution
python -m tests.reader_tables add      run the expressions of `known` only, and add their constructs to answers.json
python -m tests.reader_tables write    write hive_views/sql/engines/data/answers.json, and print what the rules say else
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark

from hive_views.errors import SqlError
from tests.engine_tables.spark_engine import SparkEngine, session
from tests.integration.hive.reader import VERSION, HiveReader, running
from tests.reader_tables import writing
from tests.reader_tables.comparing import RARE_IN_CALLS
from tests.reader_tables.engines import (
    Answer,
    AnswerJournal,
    grouped_query,
    hive_rows,
    recorded_answers,
    scalar_query,
    spark_rows,
)
from tests.reader_tables.questions import Described, described, known_questions, saved_questions
from tests.reader_tables.values import TABLE, create, schema

QUERIES = {"scalar": scalar_query, "aggregate": grouped_query}
_RENEWED = tuple(sorted({f"{function}(" for function, _ in RARE_IN_CALLS}))
"""How the expressions and the constructs begin that `add` asks again."""
VECTORIZED = {"hive.fetch.task.conversion": "none", "hive.vectorized.execution.enabled": "true"}


@contextmanager
def engines(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[tuple[HiveReader, Any]]:
    """Start Hive's driver, with settings, and Spark over the files of one table."""
    location = (directory / "t").as_uri()
    with hive_with_table(directory, settings) as hive, session() as spark:
        spark.sql("CREATE DATABASE k")
        columns = ", ".join(f"{name} {kind}" for name, kind in schema().items())
        spark.sql(f"CREATE TABLE {TABLE} ({columns}) USING PARQUET LOCATION '{location}'")
        yield hive, spark


@contextmanager
def hive_with_table(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[HiveReader]:
    """Start Hive's driver, with settings, over files that were written with its usual settings."""
    from tests.conftest import started

    with started(directory / "metastore", VERSION) as process:
        with running(directory / "writer", process.uri) as writer:
            create(writer, (directory / "t").as_uri())
        with running(directory / "hive", process.uri, settings) as hive:
            yield hive


def measure() -> None:
    """Run all expressions in Spark, and those that it accepts in Hive."""
    _measure(saved_questions())


def _measure(listed: Mapping[str, list[str]]) -> None:
    print(*(f"{kind}: {len(items)}" for kind, items in listed.items()), sep="\n", flush=True)
    with TemporaryDirectory() as directory, engines(Path(directory)) as (hive, spark):
        analyzer = SparkEngine(spark, schema())
        accepted: dict[str, list[str]] = {kind: [] for kind in listed}
        for ansi, name in ((False, "spark"), (True, "spark-ansi")):
            analyzer.set_ansi(ansi)
            journal = AnswerJournal(name, spark_rows(spark, ansi=ansi))
            for kind, query in QUERIES.items():
                types = dict(zip(listed[kind], analyzer.types(listed[kind]), strict=True))
                journal.record({item: answer for item, answer in types.items() if answer.startswith("!")})
                valid = [item for item, answer in types.items() if not answer.startswith("!")]
                journal.answer(valid, query)
                accepted[kind] += valid
            journal.answer_texts(listed["text"])
            print(f"{name} has answered", flush=True)
        journal = AnswerJournal("hive", hive_rows(hive))
        by_kind = {kind: journal.answer(list(dict.fromkeys(accepted[kind])), query) for kind, query in QUERIES.items()}
        print("Hive has answered expressions", flush=True)
        journal.answer_texts(listed["text"])
    answered = [item for item, answer in by_kind["scalar"].items() if not isinstance(answer, str)]
    with TemporaryDirectory() as directory, engines(Path(directory), VECTORIZED) as (hive, _):
        AnswerJournal("hive-vectorized", hive_rows(hive)).answer(answered, scalar_query)


def measure_alone() -> None:
    """Run one expression of each equal construct alone: Hive may not vectorize a query with others."""
    chosen: dict[str, str] = {}
    scalars = {"scalar": saved_questions()["scalar"]}
    for comparison in writing.COMPARISONS[::2]:
        descriptions = _descriptions(scalars)
        for question in writing.questions_of(comparison, descriptions, _answers()):
            if question.verdict.outcome is None:
                for signature in question.signatures:
                    known = chosen.get(signature)
                    chosen[signature] = min(known or question.text, question.text, key=_rank)
    listed = sorted(set(chosen.values()), key=_rank)
    print(len(listed), "expressions", flush=True)
    with TemporaryDirectory() as directory, hive_with_table(Path(directory), VECTORIZED) as hive:
        journal = AnswerJournal("hive-vectorized-alone", hive_rows(hive))
        for item in listed:
            journal.answer([item], scalar_query)


def _rank(expression: str) -> tuple[bool, int, str]:
    """Return the order in which expressions run: first those of floating-point numbers, which differ most often."""
    return re.search(r"\b[df]2?\b", expression) is None, len(expression), expression


def _answers() -> dict[str, dict[str, Answer]]:
    return {way: recorded_answers(way) for way in writing.WAYS}


def write() -> None:
    """Write the table from what the engines answered, and print what the rules say otherwise."""
    _write(saved_questions(), {})


def add() -> None:
    """Run the expressions of `known`, and add their constructs to the table: worse answers replace others.

    The expressions of `RARE_IN_CALLS` run, too, and replace what the table has for their functions.
    """
    listed = _added()
    _measure(listed)
    write_added(listed)


def _added() -> dict[str, list[str]]:
    listed = known_questions()
    renewed = [item for item in saved_questions()["scalar"] if item.startswith(_RENEWED)]
    listed["scalar"] = list(dict.fromkeys((*listed["scalar"], *renewed)))
    return listed


def write_added(listed: Mapping[str, list[str]]) -> None:
    """Add what the engines answered to these expressions to the table that was written before."""
    before = {
        name: {item: entry for item, entry in table.items() if not item.startswith(_RENEWED)}
        for name, table in writing.read_tables().items()
    }
    _write(listed, before)


def _write(listed: Mapping[str, list[str]], before: Mapping[str, Mapping[str, writing.Entry]]) -> None:
    answers = _answers()
    descriptions = _descriptions(listed)
    tables = {}
    for comparison in writing.COMPARISONS:
        known = before.get(comparison.direction.value, {})
        table, left = writing.entries(comparison, writing.questions_of(comparison, descriptions, answers), known)
        tables[comparison.direction.value] = table
        outcomes = [entry.outcome for entry in table.values()]
        print(f"== {comparison.direction.value}: {len(table)} constructs, {outcomes.count(None)} equal", flush=True)
        told = {item: entry for item, entry in table.items() if entry != known.get(item)}
        print(*writing.contradictions(comparison, told), *left, sep="\n", flush=True)
    counted = len(descriptions)
    if before:
        counted = writing.recorded_count() + sum(not item.startswith(_RENEWED) for item in descriptions)
    writing.PATH.write_text(writing.document(tables, {"hive": VERSION, "spark": pyspark.__version__}, counted), "utf-8")


def _descriptions(listed: Mapping[str, list[str]]) -> dict[str, Described]:
    """Return the constructs of what Hive answered."""
    answered = recorded_answers("hive")
    descriptions: dict[str, Described] = {}
    for kind, items in listed.items():
        for item in items:
            if item not in answered:
                continue
            with suppress(SqlError):  # a question of an older run that Hive refuses, too
                query = QUERIES[kind]([item]) if kind in QUERIES else item
                descriptions[item] = described(query, is_column=kind in QUERIES)
    return descriptions


_COMMANDS = {"measure": measure, "alone": measure_alone, "add": add, "write": write}

if __name__ == "__main__":
    for command in sys.argv[1:] or ["measure", "alone", "write"]:
        _COMMANDS[command]()
