"""A sample of the expressions of the table of answers, run in both engines again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_views.sql.engines.answers import answer
from tests.engine_tables.spark_engine import session
from tests.integration.hive.reader import HiveReader
from tests.reader_tables import forms
from tests.reader_tables.comparing import compare
from tests.reader_tables.engines import Rows, answers, hive_rows, scalar_query, spark_rows
from tests.reader_tables.questions import described, is_valid
from tests.reader_tables.values import TABLE, create, schema
from tests.reader_tables.writing import COMPARISONS

COUNT = 150


@pytest.fixture(scope="module")
def engines(hive: HiveReader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Rows]]:
    location: Path = tmp_path_factory.mktemp("answers") / "t"
    create(hive, location.as_uri())
    with session() as spark:
        columns = ", ".join(f"{name} {kind}" for name, kind in schema().items())
        spark.sql("CREATE DATABASE IF NOT EXISTS k")
        spark.sql(f"CREATE TABLE {TABLE} ({columns}) USING PARQUET LOCATION '{location}'")
        yield {
            "hive": hive_rows(hive),
            "spark": spark_rows(spark, ansi=False),
            "spark-ansi": spark_rows(spark, ansi=True),
        }


def test_sample_of_expressions_has_the_answers_of_the_table(engines: dict[str, Rows]) -> None:
    listed = [*forms.operators(), *forms.casts(), *forms.choices(), *forms.formats()]
    chosen = random.Random(7).sample(listed, 4 * COUNT)
    sample = [item for item in chosen if is_valid(scalar_query([item]))][:COUNT]
    results: dict[str, Any] = {way: answers(rows, sample, scalar_query) for way, rows in engines.items()}
    compared = 0
    for item in sample:
        known = described(scalar_query([item]), is_column=True)
        for comparison in COMPARISONS:
            author = [results[way][item] for way in comparison.authors if way in results]
            reader = [results[way][item] for way in comparison.readers if way in results]
            verdict = compare(author, reader, known.types)
            signatures = known.signatures[comparison.author]
            entry = answer(comparison.direction, next(iter(signatures))) if len(signatures) == 1 else None
            if verdict is not None and entry is not None:
                compared += 1
                assert verdict.outcome is None or entry.outcome is not None, (comparison.direction, item, verdict)
    assert compared > COUNT
