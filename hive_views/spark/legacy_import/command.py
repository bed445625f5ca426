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
    SparkCheck,
    is_other_metastore,
    resolve_verify_mode,
    run_verified,
)
from hive_views.spark.runtime import cache_directory, iceberg_session, plain_session
from hive_views.spark.sessions import SESSION_CATALOG, errors_not_logged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog


class ImportOnSpark:
    """Plans and runs imports on the executors of a Spark master, or here with a local Spark for the checks."""

    def __init__(
        self,
        catalog: HiveViewCatalog,
        *,
        to: HiveViewCatalog | None = None,
        master: str | None = None,
        most_calls: int,
        session: SparkSession | None = None,
    ) -> None:
        """Make an import; no Spark is started yet.

        Args:
            catalog: The catalog of the legacy views.
            to: The catalog for the new views; None for `catalog`.
            master: The Spark master; None runs in this process.
            most_calls: Maximum number of concurrent metastore calls.
            session: A session to use in place of a new one.
        """
        self._catalog = catalog
        self._to = to
        self._master = master
        self._most_calls = most_calls
        self._session = session

    def plan(
        self,
        *,
        databases: Sequence[str] = (),
        names: Sequence[ViewName] = (),
        options: ImportOptions | None = None,
        progress: PlanProgress | None = None,
        check_progress: PlanProgress | None = None,
    ) -> ImportPlan:
        """Plan an import, and analyze the new texts if the same Spark can read the legacy and the new views."""
        catalog, to = self._catalog, self._to
        is_analyzed = to is None and catalog.name != SESSION_CATALOG
        with _session(catalog, self._master_or_local, catalog.name if is_analyzed else None, self._session) as spark:
            job = SparkImport(spark, catalog, most_calls=self._most_calls)
            plan = job.plan(databases=databases, names=names, options=options, to=to, progress=progress)
            return add_analyzer_findings(spark, catalog, plan, check_progress) if is_analyzed else plan

    def run(
        self,
        plan: ImportPlan,
        journal: Path,
        *,
        verify: str | None = None,
        progress: RunProgress | None = None,
        check_progress: CheckProgress | None = None,
    ) -> CheckedRun:
        """Run a plan, and check the views as `verify` says."""
        catalog, to = self._catalog, self._to
        target = to or catalog
        verify = resolve_verify_mode(
            verify, has_spark=True, is_other_metastore=is_other_metastore(catalog, to), catalog_name=target.name
        )
        plan.check_target(target_address(to))  # before a Spark is started
        with _session(catalog, self._master_or_local, target.name if verify != NONE else None, self._session) as spark:
            check = SparkCheck(spark, verify, check_progress)
            if self._master is not None:
                job = SparkImport(spark, catalog, most_calls=self._most_calls)
                return job.run_checked(plan, journal, check, to=to, progress=progress)

            def run() -> RunResult:
                return run_plan(plan, catalog, journal, to=to, most_calls=self._most_calls, progress=progress)

            return run_verified(check, plan, catalog, journal, run, to=to)

    @property
    def _master_or_local(self) -> str:
        return self._master or "local[2]"


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
