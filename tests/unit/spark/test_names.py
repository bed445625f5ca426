"""Parts of a session that need no Spark: comparing metastore URIs, finding variables, converting errors."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from hive_views.spark.session.names import is_same_metastore
from hive_views.spark.session.settings import find_variables
from hive_views.spark.session.source_text import spark_sql_error


@pytest.mark.parametrize(
    ("spark_uris", "expected"),
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
def test_uris_of_one_metastore_are_recognized(spark_uris: str | None, expected: bool) -> None:
    assert is_same_metastore(spark_uris, {"thrift://127.0.0.1:9083"}) is expected


def test_unresolvable_host_equals_itself() -> None:
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
def test_variables_are_found_in_linear_time(text: str, expected: list[str]) -> None:
    assert [variable.group() for variable in find_variables(text)] == expected


def test_error_without_message_names_its_class() -> None:
    assert "PySparkException" in str(spark_sql_error(PySparkException(""), None))
