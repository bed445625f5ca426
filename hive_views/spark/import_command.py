"""`hive-views import run` on Spark: a session for the command, and the run, checked by Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.legacy.plan import Plan
from hive_views.legacy.run import Progress, RunResult, run_plan
from hive_views.spark.import_check import Checked
from hive_views.spark.import_job import SparkImport
from hive_views.spark.import_verified import NONE, CheckedRun, is_elsewhere, run_verified, verification
from hive_views.spark.runtime import iceberg_session, plain_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog import HiveViewCatalog


def run_on_spark(
    plan: Plan,
    catalog: HiveViewCatalog,
    journal: Path,
    *,
    to: HiveViewCatalog | None = None,
    master: str | None = None,
    most_calls: int,
    verify: str | None = None,
    progress: Progress | None = None,
    told: Checked | None = None,
    session: SparkSession | None = None,
) -> CheckedRun:
    """Run a plan with Spark's help.

    Args:
        plan: The plan.
        catalog: Where the legacy views are.
        journal: The journal's file.
        to: Where the new views go; None is the same catalog.
        master: Which Spark the work is spread over; None does it in this process.
        most_calls: How many calls the metastore gets at once.
        verify: What is compared; see `hive_views.spark.import_verified.verification`.
        progress: Told after each view.
        told: Told how many views Spark was asked about.
        session: A Spark to use; None starts one, and stops it at the end.

    Returns:
        How each view ended, and what the comparison says of each; the latter is kept beside the journal, too.

    Raises:
        UsageError: If what is wanted cannot be compared.
        ImportJobError: If Spark gives up.
        JournalError: If the journal cannot be used.
    """
    target = to or catalog
    verify = verification(verify, spark=True, elsewhere=is_elsewhere(catalog, to), catalog=target.name)
    if session is None:
        # PySpark writes each refusal of its analyzer to the terminal, with a stack trace; the report says it in a line.
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    spark = session or _session(catalog, master or "local[2]", target.name if verify != NONE else None)
    try:
        if master is not None:
            job = SparkImport(spark, catalog, most_calls=most_calls)
            return job.run(plan, journal, to=to, verify=verify, progress=progress, told=told)

        def run() -> RunResult:
            return run_plan(plan, catalog, journal, to=to, progress=progress)

        return run_verified(spark, plan, catalog, journal, run, to=to, verify=verify, told=told)
    finally:
        if session is None:
            spark.stop()


def _session(catalog: HiveViewCatalog, master: str, iceberg: str | None) -> SparkSession:
    """A session on the catalog's metastore, with an Iceberg catalog of some name on it, or none."""
    properties = catalog.properties
    uri, warehouse, conf = properties["uri"], properties.get("warehouse", ""), {"spark.master": master}
    if iceberg is not None:
        return iceberg_session(uri, warehouse, catalog=iceberg, cache=_cache(), conf=conf)
    return plain_session(uri, warehouse, conf=conf)


def _cache() -> Path:
    """Where Iceberg's runtime is kept: `hive-views` in the user's cache directory (XDG)."""
    found = os.environ.get("XDG_CACHE_HOME")
    return (Path(found) if found else Path.home() / ".cache") / "hive-views"
