"""Methods of the JVM that are called by name through Py4J."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from hive_views.spark.sessions import JavaMethod, missing_methods, static_method

_CACHE = "org.apache.iceberg.spark.SparkTableCache"


@pytest.mark.parametrize(
    ("class_name", "name", "arguments", "result"),
    [
        ("java.lang.Integer", "hashCode", (5,), 5),
        ("java.lang.Integer", "toString", (5, 2), "101"),
        ("java.lang.Double", "isNaN", (0.5,), False),
    ],
)
def test_static_method_with_instance_method_of_same_name(
    spark: SparkSession, class_name: str, name: str, arguments: tuple[Any, ...], result: object
) -> None:
    """Py4J's own lookup of a member fails for one of the classes, whichever order the JVM lists the methods in."""
    assert static_method(spark._jvm, class_name, name)(*arguments) == result


def test_cache_of_tables_is_available_on_each_version(spark: SparkSession) -> None:
    assert static_method(spark._jvm, _CACHE, "get")().getClass().getName() == _CACHE


def test_missing_methods_are_those_that_no_class_has(spark: SparkSession) -> None:
    existing = JavaMethod(_CACHE, "get", 0), JavaMethod(_CACHE, "get", 1), JavaMethod(_CACHE, "add", 2)
    missing = JavaMethod(_CACHE, "get", 2), JavaMethod(_CACHE, "got", 0), JavaMethod(f"{_CACHE}s", "get", 0)
    assert missing_methods(spark._jvm, (*existing, *missing)) == list(missing)
