"""Views on Spark: sessions with views, refreshes of materialized views, imports of legacy views, and column types."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.spark.analyzer import schema_of as schema_of
    from hive_views.spark.legacy_import.job import ImportJobError as ImportJobError
    from hive_views.spark.legacy_import.job import SparkImport as SparkImport
    from hive_views.spark.legacy_import.verified_run import CheckedRun as CheckedRun
    from hive_views.spark.legacy_import.verified_run import run_verified as run_verified
    from hive_views.spark.refresh.engine import SparkEngine as SparkEngine
    from hive_views.spark.runtime import UnsupportedSparkError as UnsupportedSparkError
    from hive_views.spark.runtime import fetch_runtime as fetch_runtime
    from hive_views.spark.runtime import iceberg_session as iceberg_session
    from hive_views.spark.runtime import plain_session as plain_session
    from hive_views.spark.session.materialized_reads import Note as Note
    from hive_views.spark.session.session import ViewSession as ViewSession
    from hive_views.spark.sessions import end_session as end_session

_MODULES = {
    "CheckedRun": "hive_views.spark.legacy_import.verified_run",
    "ImportJobError": "hive_views.spark.legacy_import.job",
    "Note": "hive_views.spark.session.materialized_reads",
    "SparkEngine": "hive_views.spark.refresh.engine",
    "SparkImport": "hive_views.spark.legacy_import.job",
    "UnsupportedSparkError": "hive_views.spark.runtime",
    "ViewSession": "hive_views.spark.session.session",
    "end_session": "hive_views.spark.sessions",
    "fetch_runtime": "hive_views.spark.runtime",
    "iceberg_session": "hive_views.spark.runtime",
    "plain_session": "hive_views.spark.runtime",
    "run_verified": "hive_views.spark.legacy_import.verified_run",
    "schema_of": "hive_views.spark.analyzer",
}

__all__ = [
    "CheckedRun",
    "ImportJobError",
    "Note",
    "SparkEngine",
    "SparkImport",
    "UnsupportedSparkError",
    "ViewSession",
    "end_session",
    "fetch_runtime",
    "iceberg_session",
    "plain_session",
    "run_verified",
    "schema_of",
]


def __getattr__(name: str) -> object:
    # Imported on first use, since most of these modules import pyspark's dependencies (decision 0006).
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
