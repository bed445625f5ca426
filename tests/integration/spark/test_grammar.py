"""The table of Spark's grammar beside the parser of the installed Spark."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.sql import SparkSession

from hive_views.spark.versions import spark_line
from hive_views.sql.engines.grammar import spark_grammar
from hive_views.sql.parsing.spark_grammar import unreadable_position
from tests.engine_tables.grammar import grammar_document, written
from tests.engine_tables.parsing import FORMS, readable, with_keyword
from tests.unit.sql.hive_fixtures import load_cases


def test_texts_that_the_installed_spark_reads_are_allowed(spark: SparkSession) -> None:
    """The table is that of the newest version, which allows what those before it allow."""
    words = [word for word in spark_grammar().words if word[0].isalpha()][::9]
    keywords = [with_keyword(form, word) for form in FORMS for word in words]
    texts = [case["sql"] for case in load_cases("spark_parses.jsonl")]
    read = readable(spark, [*texts, *keywords])

    assert len(read) > 1000
    assert [text for text in read if unreadable_position(text) is not None] == []


def test_recorded_versions_read_what_is_recorded(spark: SparkSession) -> None:
    line = spark_line(pyspark.__version__)
    cases = load_cases("spark_parses.jsonl")
    recorded = {version for case in cases for version in case["read_by"] if spark_line(version) == line}
    if not recorded:
        pytest.skip(f"the fixture has no answers of Spark {line}")
    read = readable(spark, [case["sql"] for case in cases])

    assert read == {case["sql"] for case in cases if recorded & set(case["read_by"])}


@pytest.mark.extended
@pytest.mark.skipif(spark_grammar().version != pyspark.__version__, reason="the table is that of another version")
def test_table_is_that_of_its_version(spark: SparkSession) -> None:
    assert written(grammar_document(spark)) == written(spark_grammar().document)
