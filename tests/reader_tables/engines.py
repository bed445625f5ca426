"""Runs many expressions in an engine; one that fails does not keep the others from being answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.reader_tables.values import KEY, TABLE

DIRECTORY = Path(__file__).parents[2] / "build" / "reader_tables"
_BATCH = 40

Answer = list[str] | str
"""The values in the order of the rows, or `!` and the error."""
Rows = Callable[[str], list[list[str]]]
"""Runs a query; raises an error if the engine does not."""


def scalar_query(expressions: Sequence[str]) -> str:
    """Return a query with a column for each expression, after the key of its row."""
    listed = (f"{expression} AS r{number}" for number, expression in enumerate(expressions))
    return f"SELECT {KEY}, {', '.join(listed)} FROM {TABLE}"


def grouped_query(expressions: Sequence[str]) -> str:
    """Return a query with a column for each aggregate, after the key of its group."""
    listed = (f"{expression} AS r{number}" for number, expression in enumerate(expressions))
    return f"SELECT g, {', '.join(listed)} FROM {TABLE} GROUP BY g"


def answers(rows: Rows, expressions: Sequence[str], query: Callable[[Sequence[str]], str]) -> dict[str, Answer]:
    """Return the answers to expressions; where one query of all fails, its halves are run."""
    try:
        found = sorted(rows(query(expressions)), key=lambda row: int(row[0]))
        if any(len(row) != len(expressions) + 1 for row in found):
            raise ValueError("a value has a tab or the end of a line")
    except Exception as error:  # noqa: BLE001 (any error is an answer)
        if len(expressions) == 1:
            return {expressions[0]: _error(error)}
        middle = len(expressions) // 2
        return answers(rows, expressions[:middle], query) | answers(rows, expressions[middle:], query)
    return {item: [row[number + 1] for row in found] for number, item in enumerate(expressions)}


def recorded_answers(name: str) -> dict[str, Answer]:
    """Return the answers of an engine with a setting that are kept in `build/reader_tables`."""
    path = _path(name)
    lines = path.read_text("utf-8").split("\n") if path.exists() else []
    return dict(json.loads(line) for line in lines if line.endswith("]"))


def _path(name: str) -> Path:
    values = (Path(__file__).parent / "values.py").read_bytes()
    return DIRECTORY / f"{name}-{hashlib.sha256(values).hexdigest()[:12]}.jsonl"


class AnswerJournal:
    """The answers of one engine with one setting, kept in `build/reader_tables`.

    Args:
        name: The engine and its setting.
        rows: Runs a query.
    """

    def __init__(self, name: str, rows: Rows) -> None:
        self._rows = rows
        self._path = _path(name)
        self._recorded = recorded_answers(name)

    def answer(self, expressions: Sequence[str], query: Callable[[Sequence[str]], str]) -> dict[str, Answer]:
        """Return the answers to expressions, each a column of a query."""
        missing = [item for item in expressions if item not in self._recorded]
        for start in range(0, len(missing), _BATCH):
            self.record(answers(self._rows, missing[start : start + _BATCH], query))
        return {item: self._recorded[item] for item in expressions}

    def answer_texts(self, texts: Sequence[str], *, is_ordered: bool = False) -> dict[str, Answer]:
        """Return the rows of whole queries, sorted unless their order matters."""
        for text in texts:
            if text not in self._recorded:
                try:
                    rows = ["\t".join(row) for row in self._rows(text)]
                    answer: Answer = rows if is_ordered else sorted(rows)
                except Exception as error:  # noqa: BLE001 (any error is an answer)
                    answer = _error(error)
                self.record({text: answer})
        return {text: self._recorded[text] for text in texts}

    def record(self, answers: dict[str, Answer]) -> None:
        """Keep what is not known yet."""
        answers = {item: answer for item, answer in answers.items() if item not in self._recorded}
        self._recorded.update(answers)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(item)}\n" for item in answers.items())


def _error(error: Exception) -> str:
    """Return an engine's error as an answer; raise it if the engine has ended."""
    message = str(error)
    is_refused = message.startswith("FAILED: ")  # Hive's compiler has a NullPointerException for some texts
    has_ended = any(text in message for text in ("NullPointerException", "Java side is empty"))
    if isinstance(error, OSError) or (has_ended and not is_refused):
        raise error
    return "!" + " ".join(message.split())[:300]


def hive_rows(reader: Any) -> Rows:
    """Return what runs a query in Hive."""
    return lambda sql: [line.split("\t") for line in reader.query(sql)]


def spark_rows(spark: Any, *, ansi: bool) -> Rows:
    """Return what runs a query in Spark and prints its rows as Hive does."""

    def rows(sql: str) -> list[list[str]]:
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        frame = spark.sql(sql)
        printed = spark._jvm.org.apache.spark.sql.execution.HiveResult.hiveResultString(
            frame._jdf.queryExecution().executedPlan()
        )
        return [printed.apply(number).split("\t") for number in range(printed.size())]

    return rows
