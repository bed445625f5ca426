"""Texts in forms that sqlglot does not read as Spark does: the expanded text returns the author's rows."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.spark_versions import IS_BEFORE_4_1
from tests.suites import extended
from tests.unit.sql.hive_fixtures import load_cases


@pytest.mark.skipif(IS_BEFORE_4_1, reason="some of the forms are those of Spark 4.1")
@pytest.mark.parametrize("part", [0, *extended(1, 2, 3)])
def test_rows_are_those_of_the_author(spark: SparkSession, part: int) -> None:
    own = spark.newSession()
    own.sql(
        "CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, array(1, 2), 'a', 5), (2, array(3), 'b', 6),"
        " (3, null, null, 5) AS v (id, a, name, k)"
    )
    own.sql("CREATE TEMPORARY VIEW c AS SELECT * FROM VALUES (1, 5), (2, 7), (4, 5) AS v (id, x)")
    different = {}
    for case in load_cases("spark_forms.jsonl")[part::4]:
        author, stored = (own.sql(text) for text in (case["sql"], case["expanded"].replace("`d`.", "")))
        types = [[field.dataType.simpleString() for field in frame.schema] for frame in (author, stored)]
        rows = [sorted(map(repr, map(tuple, frame.collect()))) for frame in (author, stored)]
        if rows[0] != rows[1] or types[0] != types[1]:
            different[case["sql"]] = case["expanded"]
    assert different == {}
