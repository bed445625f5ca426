"""A run of an import with a check by Spark before and after; the Python API and the command line both use it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportStatus, read_journal_of
from hive_views.legacy_import.plan import ImportPlan, target_metastore
from hive_views.legacy_import.report.report import write_check_results
from hive_views.legacy_import.run import RunResult
from hive_views.spark.legacy_import.verification import CheckProgress, CheckResult, ViewCheck
from hive_views.spark.runtime import check_spark_version
from hive_views.spark.sessions import SESSION_CATALOG
from hive_views.sql.rewriting.quoting import quote_identifier

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

COLUMNS, ROWS, NONE = "columns", "rows", "none"
VERIFY_MODES = (COLUMNS, ROWS, NONE)
"""What is compared: the columns that Spark's analyzer returns, the rows as well, or nothing."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckedRun(RunResult):
    """The result of a run and of Spark's checks."""

    checks: Mapping[ViewName, CheckResult] = field(default_factory=dict)
    """The result of the check of each converted view; also kept next to the journal."""
    verify: str = NONE
    """What was compared: one of VERIFY_MODES."""

    @property
    def as_before(self) -> bool:
        """Whether no view is known to have other columns or rows than before, or to be unreadable now."""
        return all(result.good for result in self.checks.values())


def is_other_metastore(catalog: HiveViewCatalog, to: HiveViewCatalog | None) -> bool:
    """Return whether new views go to another metastore than that of the legacy views."""
    return to is not None and target_metastore(to) != target_metastore(catalog)


def resolve_verify_mode(verify: str | None, *, has_spark: bool, is_other_metastore: bool, catalog_name: str) -> str:
    """Return what a run compares: by default the columns on Spark if that is possible, and nothing otherwise.

    `catalog_name` is that of the catalog for the new views. Raises UsageError if `verify` is not possible.
    """
    if verify not in (None, *VERIFY_MODES):
        raise UsageError("--verify", f"{verify!r} is neither columns, rows nor none")
    # Plain Spark reads the legacy views by the name spark_catalog, so the new ones need another one.
    obstacle = None
    if is_other_metastore:
        obstacle = "views in another metastore cannot be read by the same Spark"
    elif catalog_name == SESSION_CATALOG:
        obstacle = f"the catalog must not be named {SESSION_CATALOG}, the name of the catalog with the legacy views"
    if verify in (COLUMNS, ROWS) and obstacle is not None:
        raise UsageError("--verify", obstacle)
    if verify is None and has_spark:
        if obstacle is None:
            return COLUMNS
        logger.warning("Spark does not check the views: %s", obstacle)
    return verify or NONE


def run_verified(
    spark: SparkSession,
    plan: ImportPlan,
    catalog: HiveViewCatalog,
    journal: Path,
    run: Callable[[], RunResult],
    *,
    to: HiveViewCatalog | None = None,
    verify: str | None = None,
    check_progress: CheckProgress | None = None,
) -> CheckedRun:
    """Run a plan, and compare what Spark returns for its views before and after.

    Args:
        spark: A session whose session catalog is the metastore of the legacy views; classic or Spark Connect.
        plan: The plan.
        catalog: The catalog of the legacy views.
        journal: The journal's file. The results from before the run and those of the check are kept next to it.
        run: Runs the plan.
        to: The catalog for the new views; None for `catalog`.
        verify: One of VERIFY_MODES; None for COLUMNS if that is possible.
        check_progress: Called while Spark checks the views, before and after the run.

    Returns:
        The outcome of each view, and the result of the check of each converted view.

    Raises:
        UsageError: If `verify` is not possible, or the session's catalog has none of the views' databases.
        JournalError: If the journal, or a file next to it, cannot be used.
    """
    target = to or catalog
    verify = resolve_verify_mode(
        verify, has_spark=True, is_other_metastore=is_other_metastore(catalog, to), catalog_name=target.name
    )
    if verify == NONE:
        return CheckedRun(run().outcomes)
    history = read_journal_of(journal, plan)
    check_session_metastore(spark, catalog, plan)
    check = ViewCheck(spark, target, journal.with_name(f"{journal.name}.{verify}"), columns_only=verify == COLUMNS)
    try:
        outcomes = {} if history is None else history.outcomes
        converted = [name for name, outcome in outcomes.items() if outcome.status is ImportStatus.CONVERTED]
        check.read_before(plan, converted, check_progress)
        result = run()
        results = check.compare_after(plan, result.outcomes, check_progress)
    finally:
        check.close()
    write_check_results(journal, {name: check_result.text for name, check_result in results.items()})
    return CheckedRun(result.outcomes, results, verify)


def check_session_metastore(spark: SparkSession, catalog: HiveViewCatalog, plan: ImportPlan) -> None:
    """Raise UsageError if the session's catalog is another metastore, in which no legacy view could be read."""
    check_spark_version(spark.version)
    for database in dict.fromkeys(entry.name.database for entry in plan.ready):
        if spark.catalog.databaseExists(f"{SESSION_CATALOG}.{quote_identifier(database)}"):
            return
        if catalog.namespace_exists((database,)):
            raise UsageError(
                "verify",
                f"this Spark's session catalog has no database {database}: give it Hive support and "
                f"spark.hadoop.hive.metastore.uris={catalog.properties.get('uri', '')}, or pass verify='none' to skip "
                "the check",
            )
