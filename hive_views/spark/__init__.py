"""Views on Spark: sessions with views, refreshes of materialized views, imports of legacy views, and column types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hive_views.spark.analyzer import schema_of as schema_of
    from hive_views.spark.copy_check import ComparedCopy as ComparedCopy
    from hive_views.spark.copy_check import compare_copies as compare_copies
    from hive_views.spark.legacy_import.job import ImportJobError as ImportJobError
    from hive_views.spark.legacy_import.job import SparkImport as SparkImport
    from hive_views.spark.legacy_import.verified_run import CheckedRun as CheckedRun
    from hive_views.spark.legacy_import.verified_run import SparkCheck as SparkCheck
    from hive_views.spark.legacy_import.verified_run import run_verified as run_verified
    from hive_views.spark.refresh.engine import SparkEngine as SparkEngine
    from hive_views.spark.runtime import fetch_runtime as fetch_runtime
    from hive_views.spark.runtime import iceberg_session as iceberg_session
    from hive_views.spark.runtime import plain_session as plain_session
    from hive_views.spark.session.materialized_reads import Note as Note
    from hive_views.spark.session.session import ViewSession as ViewSession
    from hive_views.spark.sessions import end_session as end_session
    from hive_views.spark.versions import MissingSparkError as MissingSparkError
    from hive_views.spark.versions import NoIcebergRuntimeError as NoIcebergRuntimeError
    from hive_views.spark.versions import UnsupportedSparkError as UnsupportedSparkError

__getattr__, __dir__, __all__ = lazy_exports(__name__)
