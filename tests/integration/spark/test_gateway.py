"""What Spark's JVM prints when this package starts it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.integration.spark.spark_versions import needs_spark_4

WARNING = "WARNING: Using incubator modules"
"""Printed by JVMs that Spark 4 and later start; Spark 3.5 starts them without such a module."""
PROGRAM = """
from pyspark import SparkConf, SparkContext
from hive_views.spark.gateway import start_context
conf = SparkConf().setMaster("local[1]").set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
{start}
jvm = SparkContext._active_spark_context._jvm
jvm.java.lang.System.err.println("a later line of the JVM")
start_context(conf)
print("started", SparkContext._active_spark_context._jvm is jvm)
SparkContext._active_spark_context.stop()
"""
OURS, PYSPARKS = "start_context(conf)", "SparkContext(conf=conf)"


def run(start: str, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    command = [sys.executable, "-c", PROGRAM.format(start=start)]
    environment = {**inherited, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.each_spark
@pytest.mark.parametrize(
    ("start", "is_printed"),
    [
        pytest.param(OURS, False, id="ours"),
        pytest.param(PYSPARKS, True, id="pyspark", marks=[pytest.mark.extended, needs_spark_4]),
    ],
)
def test_only_the_first_lines_of_the_jvm_are_hidden(start: str, is_printed: bool) -> None:
    done = run(start)
    assert (done.returncode, done.stdout) == (0, "started True\n"), done.stderr
    assert (WARNING in done.stderr) is is_printed
    assert done.stderr.count("a later line of the JVM\n") == 1


def test_lines_of_a_jvm_that_does_not_start_are_printed() -> None:
    done = run(OURS, JDK_JAVA_OPTIONS="-XX:NoSuchOption")
    assert done.returncode == 1
    assert "Unrecognized VM option 'NoSuchOption'" in done.stderr
