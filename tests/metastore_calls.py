"""Records the connections and requests to a metastore, and the metadata files that are read, by their log records."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from hive_views.io.metadata_files import files_logger
from hive_views.metastore.transport.client import requests_logger
from hive_views.metastore.transport.connection import connections_logger


class _Recorder(logging.Handler):
    """Adds the first value of each log message to a list."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        assert isinstance(record.args, tuple)
        self.values.append(str(record.args[0]))


@contextmanager
def _recorded(logger: logging.Logger) -> Iterator[list[str]]:
    recorder, level, propagate = _Recorder(), logger.level, logger.propagate
    logger.addHandler(recorder)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield recorder.values
    finally:
        logger.removeHandler(recorder)
        logger.setLevel(level)
        logger.propagate = propagate


@contextmanager
def recorded_calls() -> Iterator[list[str]]:
    """Yield a list to which each request to a metastore adds its method."""
    with _recorded(requests_logger) as calls:
        yield calls


@contextmanager
def recorded_files() -> Iterator[list[str]]:
    """Yield a list to which each read of a metadata file adds its location."""
    with _recorded(files_logger) as files:
        yield files


@contextmanager
def recorded_connections() -> Iterator[list[str]]:
    """Yield a list to which each new connection to a metastore adds its URI."""
    with _recorded(connections_logger) as connections:
        yield connections
