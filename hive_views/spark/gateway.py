"""Starts Spark's JVM without the messages that it prints before it is ready.

Spark's launcher passes `--add-modules=jdk.incubator.vector` to each JVM (`JavaModuleOptions` of Spark 4.1.4), and the
JVM warns before any class of Spark is loaded: "WARNING: Using incubator modules". Neither Spark nor Java 17 has an
option against it. PySpark documents `popen_kwargs` of `launch_gateway` for such cases.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkConf

_STDERR = 2
_BLOCK = 65536


class _StartOutput:
    """The JVM's standard error: retained until the JVM is ready, forwarded from then on."""

    def __init__(self) -> None:
        self._read, self.write = os.pipe()
        self._retained: list[bytes] | None = []
        self._lock = threading.Lock()
        threading.Thread(target=self._forward, name="hive_views Spark output", daemon=True).start()

    def _forward(self) -> None:
        while data := os.read(self._read, _BLOCK):
            with self._lock:
                if self._retained is not None:
                    self._retained.append(data)
                    continue
            _print(data)
        os.close(self._read)

    def finish(self, *, is_ready: bool) -> None:
        """Forward what follows; if the JVM did not start, also what it has printed."""
        os.close(self.write)
        with self._lock:
            retained, self._retained = self._retained or [], None
        if not is_ready:
            _print(b"".join(retained))


def _print(data: bytes) -> None:
    try:
        os.write(_STDERR, data)
    except OSError:  # the process has closed its standard error
        return


def start_context(conf: SparkConf) -> None:
    """Start a SparkContext in a new JVM, unless there is a context or a JVM already."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    has_jvm = SparkContext._active_spark_context is not None or SparkContext._gateway is not None
    if has_jvm or "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext.getOrCreate(conf)
        return
    output = _StartOutput()
    is_ready = False
    try:
        gateway = launch_gateway(conf, {"stderr": output.write})
        is_ready = True
    finally:
        output.finish(is_ready=is_ready)
    SparkContext(conf=conf, gateway=gateway)
