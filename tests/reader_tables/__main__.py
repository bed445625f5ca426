"""Generate the table of answers: what Hive and Spark return for the same expressions over the same files.

python -m tests.reader_tables measure  run the expressions in both engines, or continue that (build/reader_tables)
python -m tests.reader_tables write    write hive_views/sql/engines/data/answers.json, and print what the rules say else
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark

from tests.engine_tables.spark_engine import SparkEngine, session
from tests.integration.hive.reader import VERSION, HiveReader, running
from tests.reader_tables import writing
from tests.reader_tables.engines import (
    AnswerJournal,
    grouped_query,
    hive_rows,
    recorded_answers,
    scalar_query,
    spark_rows,
)
from tests.reader_tables.questions import Described, described, saved_questions
from tests.reader_tables.values import TABLE, create, schema

QUERIES = {"scalar": scalar_query, "aggregate": grouped_query}
VECTORIZED = {"hive.fetch.task.conversion": "none", "hive.vectorized.execution.enabled": "true"}


@contextmanager
def engines(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[tuple[HiveReader, Any]]:
    """Start Hive's driver, with settings, and Spark over the files of one table."""
    from tests.conftest import started

    location = (directory / "t").as_uri()
    with (
        started(directory / "metastore", VERSION) as process,
        running(directory / "hive", process.uri, settings) as hive,
    ):
        create(hive, location)
        with session() as spark:
            spark.sql("CREATE DATABASE k")
            columns = ", ".join(f"{name} {kind}" for name, kind in schema().items())
            spark.sql(f"CREATE TABLE {TABLE} ({columns}) USING PARQUET LOCATION '{location}'")
            yield hive, spark


def measure() -> None:
    """Run all expressions in Spark, and those that it accepts in Hive."""
    listed = saved_questions()
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


def write() -> None:
    """Write the table from what the engines answered, and print what the rules say otherwise."""
    answers = {way: recorded_answers(way) for way in ("hive", "hive-vectorized", "spark", "spark-ansi")}
    descriptions: dict[str, Described] = {}
    for kind, items in saved_questions().items():
        for item in items:
            if item in answers["hive"]:
                descriptions[item] = described(
                    QUERIES[kind]([item]) if kind in QUERIES else item, is_column=kind in QUERIES
                )
    tables = {}
    for comparison in writing.COMPARISONS:
        table, left = writing.entries(comparison, writing.questions_of(comparison, descriptions, answers))
        tables[comparison.direction.value] = table
        outcomes = [entry.outcome for entry in table.values()]
        print(f"== {comparison.direction.value}: {len(table)} constructs, {outcomes.count(None)} equal", flush=True)
        print(*writing.contradictions(comparison, table), *left, sep="\n", flush=True)
    writing.PATH.write_text(
        writing.document(tables, {"hive": VERSION, "spark": pyspark.__version__}, len(descriptions)), "utf-8"
    )


_COMMANDS = {"measure": measure, "write": write}

if __name__ == "__main__":
    for command in sys.argv[1:] or ["measure", "write"]:
        _COMMANDS[command]()
