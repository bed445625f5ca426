"""What is told without a Spark: addresses of one metastore, variables in a text, and errors without a message."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from hive_views.spark.session.names import is_same_metastore
from hive_views.spark.session.settings import find_variables
from hive_views.spark.session.spark_errors import spark_sql_error


@pytest.mark.parametrize(
    ("theirs", "same"),
    [
        (None, True),
        ("thrift://127.0.0.1:9083", True),
        ("thrift://localhost:9083/", True),
        ("thrift://LOCALHOST", True),
        ("thrift://elsewhere.invalid:9083, thrift://localhost:9083", True),
        ("thrift://localhost:9084", False),
        ("thrift://127.0.0.2:9083", False),
        ("thrift://elsewhere.invalid:9083", False),
        ("thrift://localhost:port", False),
        ("not an address", False),
        ("", False),
    ],
)
def test_one_metastore_has_several_addresses(theirs: str | None, same: bool) -> None:
    assert is_same_metastore(theirs, {"thrift://127.0.0.1:9083"}) is same


def test_a_host_that_cannot_be_found_is_itself() -> None:
    assert is_same_metastore("thrift://Elsewhere.invalid", {"thrift://elsewhere.invalid:9083"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${a} ${hivevar:b}${c} ${d e}", ["${a}", "${hivevar:b}", "${c}"]),
        ("${} ${a", []),
        ("x${${a}}", ["${${a}"]),
        ("${a\u00a0b}", ["${a\u00a0b}"]),
        ("${a}" + "${a" * 50_000, ["${a}"]),
        ("${a} " * 2 + "${a" * 50_000 + " }", ["${a}", "${a}"]),
    ],
)
def test_variables_are_found_in_one_step(text: str, expected: list[str]) -> None:
    assert [each.group() for each in find_variables(text)] == expected


def test_an_error_of_sparks_without_a_message_is_told_by_its_kind() -> None:
    assert "PySparkException" in str(spark_sql_error(PySparkException(""), None))
