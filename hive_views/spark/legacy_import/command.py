"""`hive-views import plan --spark`, `run --spark` and `compare`: with a session that is started if there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.comparison.compare import ComparedView, CompareProgress, CompareRequest
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import ImportPlan, PlanProgress
from hive_views.legacy_import.run import RunProgress, RunResult, run_plan
from hive_views.legacy_import.targets import target_address
from hive_views.spark.legacy_import.analyzer_findings import add_analyzer_findings
from hive_views.spark.legacy_import.compare import compare_on_spark
from hive_views.spark.legacy_import.job import SparkImport
from hive_views.spark.legacy_import.verified_run import (
    NONE,
    CheckedRun,
    CheckProgress,
    is_other_metastore,
    resolve_verify_mode,
    run_verified,
)
from hive_views.spark.runtime import cache_directory, iceberg_session, plain_session
from hive_views.spark.sessions import SESSION_CATALOG, errors_not_logged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog


def plan_on_spark(
    catalog: HiveViewCatalog,
    *,
    databases: Sequence[str] = (),
    names: Sequence[ViewName] = (),
    options: ImportOptions | None = None,
    to: HiveViewCatalog | None = None,
    master: str,
    most_calls: int,
    progress: PlanProgress | None = None,
    check_progress: PlanProgress | None = None,
    session: SparkSession | None = None,
) -> ImportPlan:
    """Plan an import on Spark, and analyze the new texts if the same Spark can read the legacy and the new views."""
    is_analyzed = to is None and catalog.name != SESSION_CATALOG
    with _session(catalog, master, catalog.name if is_analyzed else None, session) as spark:
        job = SparkImport(spark, catalog, most_calls=most_calls)
        plan = job.plan(databases=databases, names=names, options=options, to=to, progress=progress)
        return add_analyzer_findings(spark, catalog, plan, check_progress) if is_analyzed else plan


def run_on_spark(
    plan: ImportPlan,
    catalog: HiveViewCatalog,
    journal: Path,
    *,
    to: HiveViewCatalog | None = None,
    master: str | None = None,
    most_calls: int,
    verify: str | None = None,
    progress: RunProgress | None = None,
    check_progress: CheckProgress | None = None,
    session: SparkSession | None = None,
) -> CheckedRun:
    """Run a plan on the executors of a Spark master, or in this process with a local Spark for the checks."""
    target = to or catalog
    verify = resolve_verify_mode(
        verify, has_spark=True, is_other_metastore=is_other_metastore(catalog, to), catalog_name=target.name
    )
    plan.check_target(target_address(to))  # before a Spark is started
    with _session(catalog, master or "local[2]", target.name if verify != NONE else None, session) as spark:
        if master is not None:
            job = SparkImport(spark, catalog, most_calls=most_calls)
            return job.run(plan, journal, to=to, verify=verify, progress=progress, check_progress=check_progress)

        def run() -> RunResult:
            return run_plan(plan, catalog, journal, to=to, most_calls=most_calls, progress=progress)

        return run_verified(spark, plan, catalog, journal, run, to=to, verify=verify, check_progress=check_progress)


def compare_with_spark(
    request: CompareRequest,
    catalog: HiveViewCatalog,
    *,
    to: HiveViewCatalog | None = None,
    master: str | None = None,
    progress: CompareProgress | None = None,
    session: SparkSession | None = None,
) -> tuple[ComparedView, ...]:
    """Compare legacy views with the new ones, which a session reads; see `compare_on_spark`."""
    target = to or catalog
    request.history.plan.check_target(target_address(to))
    if target.name == SESSION_CATALOG or is_other_metastore(catalog, to):
        reason = "one Spark session reads the legacy and the new views, so they must be on one metastore, in a catalog "
        raise UsageError("import compare", f"{reason}that is not called {SESSION_CATALOG}")
    with _session(catalog, master or "local[2]", target.name, session) as spark:
        return compare_on_spark(spark, catalog, request, to=to, progress=progress)


@contextlib.contextmanager
def _session(
    catalog: HiveViewCatalog, master: str, iceberg_catalog: str | None, session: SparkSession | None
) -> Iterator[SparkSession]:
    """Return a session on the catalog's metastore, with an Iceberg catalog if its name is given.

    A process can have only one Spark application: an existing one, e.g. in a notebook, is used and not stopped.
    """
    if session is not None:
        yield session
        return
    from pyspark import SparkContext

    is_running = SparkContext._active_spark_context is not None
    properties = catalog.properties
    uri, warehouse, conf = properties["uri"], properties.get("warehouse", ""), {"spark.master": master}
    if iceberg_catalog is None:
        spark = plain_session(uri, warehouse, conf=conf)
    else:
        spark = iceberg_session(uri, warehouse, catalog=iceberg_catalog, cache=cache_directory(), conf=conf)
    try:
        with errors_not_logged():  # the report shows each analyzer error in one line
            yield spark
    finally:
        if not is_running:
            spark.stop()
