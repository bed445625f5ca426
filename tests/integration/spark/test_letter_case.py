"""The author's letter case becomes data: names of fields in JSON, in CSV and in types."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.spark_versions import IS_SPARK_3
from tests.unit.sql.hive_fixtures import load_cases

NOT_IN_SPARK_3 = ("|>", "::", "* except")


@pytest.mark.extended
def test_rows_and_types_are_those_of_the_author(spark: SparkSession) -> None:
    own = spark.newSession()
    own.sql("CREATE TEMPORARY VIEW t AS SELECT 1 id, 'a' x, named_struct('a', 1) s")
    own.sql("CREATE TEMPORARY VIEW u AS SELECT 1 id, 'b' y")
    own.sql("CREATE TEMPORARY VIEW m AS SELECT 1 Id, 'b' userName, named_struct('Aa', 1, 'bB', 'q') S")
    different = {}
    for case in load_cases("letter_case.jsonl"):
        if IS_SPARK_3 and any(word in case["sql"] for word in NOT_IN_SPARK_3):
            continue
        author, stored = (own.sql(text) for text in (case["sql"], case["expanded"].replace("`d`.", "")))
        types = [[field.dataType.simpleString() for field in frame.schema] for frame in (author, stored)]
        if author.collect() != stored.collect() or types[0] != types[1]:
            different[case["sql"]] = case["expanded"]
    assert different == {}
