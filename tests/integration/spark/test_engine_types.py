"""The tables of types beside the installed Spark."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from hive_views.sql.engines.tables import engine_table
from tests.engine_tables.comparison import ANSI, inferred, outcome
from tests.engine_tables.enumeration import COLUMNS, ask
from tests.engine_tables.spark_engine import SparkEngine
from tests.integration.spark.spark_versions import LINE
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": COLUMNS})


@pytest.mark.extended
@pytest.mark.skipif(LINE != "4.1", reason="the tables have the types of Spark 4.1")
def test_inferred_types_are_those_of_the_installed_spark(spark: SparkSession) -> None:
    """Every built-in function with six kinds of arguments, operators and other forms, with ANSI mode on and off."""
    session = spark.newSession()
    answers = ask(SparkEngine(session, COLUMNS))
    outcomes = Counter()
    different = []
    for items in answers.values():
        for sql, kinds in items.items():
            for setting, kind in zip(("true", "false"), kinds, strict=True):
                result = outcome(inferred(sql, TABLES, "spark", {ANSI: setting}), kind)
                outcomes[result] += 1
                different += [f"{sql} ANSI {setting}: {kind}"] if result == "different" else []

    assert different == []
    assert outcomes["unknown"] <= 0.02 * (outcomes["unknown"] + outcomes["equal"])


@pytest.mark.extended
@pytest.mark.skipif(LINE != "4.1", reason="the tables have the functions of Spark 4.1")
def test_table_has_the_functions_of_the_installed_spark(spark: SparkSession) -> None:
    names = set(SparkEngine(spark.newSession(), COLUMNS).functions()) - {"cast", "!=", "<>"}

    assert names - set(engine_table("spark", "ansi").names) == set()
