"""Plain Spark, without Iceberg on its class path, in a process of its own: a program has one JVM only.

Requests and answers are lines of JSON: `{"sql": …}` in; `{"columns": […], "rows": [[…]]}` or `{"error": …}` out.
`{"sql": …, "views": true}` goes through a `ViewSession`. `{"contents": {name: query}}` asks what many queries return.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.integration.spark.contents import Content

REPOSITORY = Path(__file__).parents[3]


class PlainSparkError(Exception):
    """Plain Spark refused a statement; the text is its own."""


class PlainReader:
    """Plain Spark with Hive support on a metastore, as a context manager. It starts with the first statement.

    Args:
        uri: The metastore.
        warehouse: Its warehouse.
        log: Where Spark's own output goes.
        conf: More of Spark's settings.
        properties: More properties of the catalog of its `ViewSession`.
    """

    def __init__(
        self,
        uri: str,
        warehouse: str,
        log: Path,
        *,
        conf: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._arguments = [uri, warehouse, json.dumps(dict(conf or {})), json.dumps(dict(properties or {}))]
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement."""
        return [tuple(row) for row in self._ask(text)["rows"]]

    def columns(self, text: str) -> list[str]:
        """The names of a query's columns, as Spark gives them; the query is run."""
        return list(self._ask(text)["columns"])

    def ask_views(self, text: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run a statement through a `ViewSession` over plain Spark."""
        return self._ask(text, views=True, args=args)

    def contents(self, queries: Mapping[str, str]) -> dict[str, Content]:
        """What many queries return, under plain Spark's defaults."""
        return dict(self._answer({"contents": dict(queries)})["contents"])

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            # The end of its input is the end of its work.
            self._process.communicate(timeout=60)
            self._process = None

    def __enter__(self) -> PlainReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, text: str, *, views: bool = False, args: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self._answer({"sql": text, "views": views, "args": args})
        if "error" in answer and not views:
            raise PlainSparkError(answer["error"])
        return answer

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            with self._log.open("w") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.integration.spark.plain_reader", *self._arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    cwd=self._log.parent,
                    env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"plain Spark has ended; its output:\n{self._log.read_text()[-3000:]}")
        return dict(json.loads(line))


def serve(uri: str, warehouse: str, conf: str, properties: str) -> None:
    """Answer requests from standard input until it ends."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from hive_views import HiveViewCatalog
    from hive_views.errors import InvalidPropertyError
    from hive_views.spark import ViewSession
    from hive_views.spark.runtime import plain_session
    from tests.integration.spark.contents import contents
    from tests.integration.spark.session_kinds import run_statement

    # Spark's JVM inherits standard output: what it prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = plain_session(uri, warehouse, conf=json.loads(conf))
    catalog = HiveViewCatalog("prod", **{"uri": uri, "warehouse": warehouse, **json.loads(properties)})
    session: ViewSession | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "contents" in request:
                answer: dict[str, Any] = {"contents": contents(spark.newSession(), request["contents"])}
            elif request["views"]:
                session = session or ViewSession(spark, catalog)
                answer = run_statement(session, request["sql"], request["args"])
            else:
                frame = spark.sql(request["sql"])
                answer = {"columns": frame.columns, "rows": [list(row) for row in frame.collect()]}
        except (PySparkException, Py4JJavaError, InvalidPropertyError) as error:
            # PySpark leaves some of the JVM's exceptions as they come; the last is from the `ViewSession` itself.
            answer = {"error": str(error)}
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    serve(*sys.argv[1:])
