"""A process of its own that reads views with plain Spark: Hive support, and no Iceberg on its class path."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hive_views.spark.runtime import plain_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rows = dict[str, list[list[object]]]
"""Rows by the name that they were read from, each as JSON has it, sorted."""


def rows_of(frame: DataFrame) -> list[list[object]]:
    """All rows of a frame in one order, as values of JSON."""
    return sorted(
        ([json.loads(json.dumps(value, default=str)) for value in row] for row in frame.collect()), key=json.dumps
    )


def read_in_plain_spark(uri: str, warehouse: str, queries: Sequence[str]) -> Rows:
    """Run queries in a plain Spark of its own, under a current database that is none of theirs."""
    process = subprocess.run(
        [sys.executable, "-m", "examples.demo.reader"],
        input=json.dumps({"uri": uri, "warehouse": warehouse, "queries": list(queries)}),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: Rows = json.loads(process.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Read a request from standard input, and write the rows to standard output."""
    request = json.load(sys.stdin)
    spark = plain_session(request["uri"], request["warehouse"])
    try:
        spark.sql("USE default")
        answer = {query: rows_of(spark.sql(query)) for query in request["queries"]}
    finally:
        spark.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
