"""Spark in a process of its own: `python -m tests.estate.spark_worker CONF`, where CONF is a JSON object of settings.

Requests and answers are lines of JSON: a statement in; `{"rows": […]}` or `{"error": …}` out.
"""

from __future__ import annotations

import json
import os
import sys

from hive_views.spark.runtime import plain_session
from hive_views.spark.sessions import spark_exceptions


def serve(uri: str, warehouse: str, conf: dict[str, str]) -> None:
    """Answer requests from standard input until it ends."""
    # Spark's JVM inherits standard output: what it prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = plain_session(uri, warehouse, conf=conf)
    answer: dict[str, object]
    for line in sys.stdin:
        try:
            rows = [
                json.dumps(list(row), default=str, ensure_ascii=False) for row in spark.sql(json.loads(line)).collect()
            ]
            answer = {"rows": rows}
        except spark_exceptions() as error:
            # Py4J's own text does not have the cause.
            answer = {"error": str(getattr(error, "java_exception", error))}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
