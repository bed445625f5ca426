"""Spark's analyzer as the source of types: many expressions in one call, nothing is executed."""

from __future__ import annotations

import atexit
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from tests.engine_tables.arguments import Written, literal, split_call
from tests.engine_tables.sampling import Signature

JAVA = Path(__file__).parent / "java"
_BATCH = 4000


class SparkEngine:
    """A session that answers the types of expressions.

    Args:
        spark: The session.
        columns: The columns that expressions can name, types by name.
    """

    def __init__(self, spark: Any, columns: dict[str, str]) -> None:
        self._spark = spark
        self._method = _loaded_method(spark)
        self._from = " FROM _kinds"
        calendar = "make_interval(1) AS {name}"
        has_variant = not spark.version.startswith("3.")
        listed = (
            (calendar if kind == "interval" else "CAST(NULL AS {kind}) AS {name}").format(name=name, kind=kind)
            for name, kind in columns.items()
            if has_variant or "variant" not in kind
        )
        spark.sql(f"SELECT {', '.join(listed)}").createOrReplaceTempView("_kinds")

    @property
    def version(self) -> str:
        return str(self._spark.version)

    def set_ansi(self, is_ansi: bool) -> None:
        self._spark.conf.set("spark.sql.ansi.enabled", str(is_ansi).lower())

    def functions(self) -> list[str]:
        """Return the names of the built-in functions."""
        return [row[0] for row in self._spark.sql("SHOW SYSTEM FUNCTIONS").collect()]

    def examples(self, name: str) -> list[str]:
        """Return the expressions in the examples of a function's description."""
        try:
            text = "\n".join(row[0] for row in self._spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
        except Exception:  # noqa: BLE001 (some operators have no description)
            return []
        lines = text.partition("Examples:")[2].splitlines()
        starts = (line.strip() for line in lines)
        return [line[len("> SELECT ") :].rstrip(";") for line in starts if line.startswith("> SELECT ")]

    def calls(self, calls: Sequence[tuple[str, Signature]]) -> list[str]:
        """Return the type of each call, or `!` and the condition of Spark's error."""
        return self.types([f"`{name}`({', '.join(item.sql for item in call)})" for name, call in calls])

    def seeds(self, name: str) -> Iterator[list[Written | None]]:
        """Yield the arguments in the examples of a function's description; None for a column of the example."""
        for example in self.examples(name):
            call = split_call(example)
            if call is None or call[0].lower() != name:
                continue
            types = self.types(call[1]) if call[1] else []
            pairs = zip(call[1], types, strict=True)
            yield [None if kind.startswith("!") else literal(sql, kind) for sql, kind in pairs]

    def types(self, expressions: Sequence[str], *, is_complete: bool = False) -> list[str]:
        """Return the type of each expression, or `!` and the condition of Spark's error.

        Args:
            expressions: The expressions.
            is_complete: Whether Spark makes all of its checks, which takes longer.
        """
        answers: list[str] = []
        for start in range(0, len(expressions), _BATCH):
            values = (
                self._spark._jsparkSession,
                "\n".join(expressions[start : start + _BATCH]),
                self._from,
                is_complete,
            )
            arguments = self._spark.sparkContext._gateway.new_array(self._spark._jvm.Object, len(values))
            for position, value in enumerate(values):
                arguments[position] = value
            answers += self._method.invoke(None, arguments).split("\n")
        return answers


def _loaded_method(spark: Any) -> Any:
    """Compile `SparkTypes` with the JARs of a session's Spark and load it; return its method."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    directory = mkdtemp()
    atexit.register(rmtree, directory, ignore_errors=True)
    command = ("javac", "-nowarn", "-proc:none", "-d", directory, "-cp", f"{jars}/*", str(JAVA / "SparkTypes.java"))
    subprocess.run(command, check=True, capture_output=True)
    jvm = spark._jvm
    urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.net.URL(f"file:{directory}/")
    loader = jvm.java.net.URLClassLoader(urls, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    methods = loader.loadClass("SparkTypes").getMethods()
    return next(method for method in methods if method.getName() == "ask")


@contextmanager
def session() -> Iterator[Any]:
    """Start Spark; stop it at the end."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("types")
    for key, value in {
        # Errors cost ten times as much with the trace of their stack.
        "spark.driver.extraJavaOptions": "-XX:-StackTraceInThrowable -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
