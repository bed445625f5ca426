"""`hive-views import plan` and `run` on Spark: a session for the command, and plan or run, checked by Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.identifiers import ViewName
from hive_views.legacy_import.options import Options
from hive_views.legacy_import.plan import Plan
from hive_views.legacy_import.planner import Progress as Planned
from hive_views.legacy_import.planner import target_of
from hive_views.legacy_import.run import Progress, RunResult, run_plan
from hive_views.spark.legacy_import.job import SparkImport
from hive_views.spark.legacy_import.plan import told_by_spark
from hive_views.spark.legacy_import.verification import Checked
from hive_views.spark.legacy_import.verified_run import NONE, CheckedRun, is_elsewhere, run_verified, verification
from hive_views.spark.runtime import cache_directory, iceberg_session, plain_session
from hive_views.spark.sessions import SESSION_CATALOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog


def plan_on_spark(
    catalog: HiveViewCatalog,
    *,
    databases: Sequence[str] = (),
    names: Sequence[ViewName] = (),
    options: Options | None = None,
    to: HiveViewCatalog | None = None,
    master: str,
    most_calls: int,
    progress: Planned | None = None,
    told: Planned | None = None,
    session: SparkSession | None = None,
) -> Plan:
    """Plan an import on Spark, and ask its analyzer about the new texts where one Spark can read both sides."""
    verify = to is None and catalog.name != SESSION_CATALOG
    with _session(catalog, master, catalog.name if verify else None, session) as spark:
        job = SparkImport(spark, catalog, most_calls=most_calls)
        plan = job.plan(databases=databases, names=names, options=options, to=to, progress=progress)
        return told_by_spark(spark, catalog, plan, told) if verify else plan


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
    """Run a plan with Spark's help."""
    target = to or catalog
    verify = verification(verify, spark=True, elsewhere=is_elsewhere(catalog, to), catalog=target.name)
    plan.check_target(target_of(to))  # before a Spark is started
    with _session(catalog, master or "local[2]", target.name if verify != NONE else None, session) as spark:
        if master is not None:
            job = SparkImport(spark, catalog, most_calls=most_calls)
            return job.run(plan, journal, to=to, verify=verify, progress=progress, told=told)

        def run() -> RunResult:
            return run_plan(plan, catalog, journal, to=to, most_calls=most_calls, progress=progress)

        return run_verified(spark, plan, catalog, journal, run, to=to, verify=verify, told=told)


@contextlib.contextmanager
def _session(
    catalog: HiveViewCatalog, master: str, iceberg: str | None, given: SparkSession | None
) -> Iterator[SparkSession]:
    """A session on the catalog's metastore, with an Iceberg catalog of some name on it, or none; stopped if it is new.

    A process can have one Spark only: where one is there (a notebook's), it is what is used, and goes on.
    """
    if given is not None:
        yield given
        return
    from pyspark import SparkContext
    from pyspark.logger import PySparkLogger

    another = SparkContext._active_spark_context is not None
    if not another:
        # PySpark writes each refusal of its analyzer to the terminal, with a stack trace; the report says it in a line.
        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    properties = catalog.properties
    uri, warehouse, conf = properties["uri"], properties.get("warehouse", ""), {"spark.master": master}
    if iceberg is None:
        spark = plain_session(uri, warehouse, conf=conf)
    else:
        spark = iceberg_session(uri, warehouse, catalog=iceberg, cache=cache_directory(), conf=conf)
    try:
        yield spark
    finally:
        if not another:
            spark.stop()
