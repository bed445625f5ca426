"""Starting Spark; tests/integration/spark/test_runtime.py starts it."""

from __future__ import annotations

import os
import signal

import pytest

from hive_views.spark.runtime import deferred_interrupt


def test_interrupt_waits_for_the_start():
    handler = signal.getsignal(signal.SIGINT)
    steps = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        steps.append("started")
    assert steps == ["started"] and signal.getsignal(signal.SIGINT) is handler


def test_handler_of_the_body_is_kept():
    """A new SparkContext sets a handler that cancels its jobs."""
    handler = signal.getsignal(signal.SIGINT)
    own = lambda *_: None  # noqa: E731
    try:
        with deferred_interrupt():
            signal.signal(signal.SIGINT, own)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, handler)
