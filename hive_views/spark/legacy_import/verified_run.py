"""A run of an import with Spark's word on each view around it: the one path of the API and of the command line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import known_history
from hive_views.legacy_import.outcome import Status
from hive_views.legacy_import.plan import Plan
from hive_views.legacy_import.planner import target_of
from hive_views.legacy_import.report.verification import write_rows_said
from hive_views.legacy_import.run import RunResult
from hive_views.spark.legacy_import.verification import Checked, RowCheck, Verdict
from hive_views.spark.sessions import SESSION_CATALOG
from hive_views.sql.rewriting.quoting import quote_identifier

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

COLUMNS, ROWS, NONE = "columns", "rows", "none"
VERIFY = (COLUMNS, ROWS, NONE)
"""What is compared: what Spark's analyzer says of each definition, the rows as well, or nothing."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckedRun(RunResult):
    """What a run did, and what Spark says of it."""

    checks: Mapping[ViewName, Verdict] = field(default_factory=dict)
    """What the comparison says of each view that is converted; kept beside the journal, too."""
    verify: str = NONE
    """What was compared: one of VERIFY."""

    @property
    def as_before(self) -> bool:
        """Whether no view is known to have other columns or rows than before, or to be read no more."""
        return all(verdict.good for verdict in self.checks.values())


def is_elsewhere(catalog: HiveViewCatalog, to: HiveViewCatalog | None) -> bool:
    """Whether new views go to another metastore than that of the legacy ones.

    Args:
        catalog: Where the legacy views are.
        to: Where the new ones go; None is the same catalog.
    """
    return to is not None and target_of(to) != target_of(catalog)


def verification(wanted: str | None, *, spark: bool, elsewhere: bool, catalog: str) -> str:
    """What a run compares.

    Args:
        wanted: What the user says, one of VERIFY; None says nothing.
        spark: Whether the run is on Spark.
        elsewhere: Whether the new views go to another metastore.
        catalog: The name of the catalog that the new views go to.

    Returns:
        One of VERIFY. On Spark every definition is checked unless the user does not want it, or it cannot be.

    Raises:
        UsageError: If what the user says cannot be compared.
    """
    if wanted not in (None, *VERIFY):
        raise UsageError("--verify", f"{wanted!r} is neither columns, rows nor none")
    # Plain Spark knows the legacy views by the latter name, so the new ones cannot have it as well.
    reason = None
    if elsewhere:
        reason = "views in another metastore cannot be read by the same Spark"
    elif catalog == SESSION_CATALOG:
        reason = f"the catalog must not be named {SESSION_CATALOG}, with which it is compared"
    if wanted in (COLUMNS, ROWS) and reason is not None:
        raise UsageError("--verify", reason)
    if wanted is None and spark:
        if reason is None:
            return COLUMNS
        logger.warning("Spark's analyzer is not asked about the views: %s", reason)
    return wanted or NONE


def run_verified(
    spark: SparkSession,
    plan: Plan,
    catalog: HiveViewCatalog,
    journal: Path,
    run: Callable[[], RunResult],
    *,
    to: HiveViewCatalog | None = None,
    verify: str | None = None,
    told: Checked | None = None,
) -> CheckedRun:
    """Run a plan, and compare what Spark says of its views before and after.

    Args:
        spark: A session whose session catalog is the legacy views' metastore; classic or Spark Connect.
        plan: The plan.
        catalog: Where the legacy views are.
        journal: The journal's file; what was before, and what the comparison says, is kept beside it.
        run: Runs the plan.
        to: Where the new views go; None is the same catalog.
        verify: One of VERIFY; None is COLUMNS where that is possible.
        told: Told how many views were asked about, before and after the run.

    Returns:
        How each view ended, and what the comparison says of each that is converted.

    Raises:
        UsageError: If what is wanted cannot be compared, or the session knows nothing of the views' databases.
        JournalError: If the journal, or a file beside it, cannot be used.
    """
    target = to or catalog
    verify = verification(verify, spark=True, elsewhere=is_elsewhere(catalog, to), catalog=target.name)
    if verify == NONE:
        return CheckedRun(run().outcomes)
    history = known_history(journal, plan)
    refuse_a_stranger(spark, catalog, plan)
    check = RowCheck(spark, target, journal.with_name(f"{journal.name}.{verify}"), columns_only=verify == COLUMNS)
    try:
        outcomes = {} if history is None else history.outcomes
        done = [name for name, outcome in outcomes.items() if outcome.status is Status.CONVERTED]
        check.before(plan, done, told)
        result = run()
        said = check.after(plan, result.outcomes, told)
    finally:
        check.close()
    write_rows_said(journal, {name: verdict.text for name, verdict in said.items()})
    return CheckedRun(result.outcomes, said, verify)


def refuse_a_stranger(spark: SparkSession, catalog: HiveViewCatalog, plan: Plan) -> None:
    """Refuse a session of another metastore, which would say of each view that it could not be read before.

    Args:
        spark: The session.
        catalog: Where the legacy views are.
        plan: What is to be imported.

    Raises:
        UsageError: If its session catalog has none of their databases.
    """
    for database in dict.fromkeys(entry.name.database for entry in plan.ready):
        if spark.catalog.databaseExists(f"{SESSION_CATALOG}.{quote_identifier(database)}"):
            return
        if catalog.namespace_exists((database,)):
            raise UsageError(
                "verify",
                f"this Spark's session catalog has no database {database}: give it Hive support and "
                f"spark.hadoop.hive.metastore.uris={catalog.properties.get('uri', '')}, or pass verify='none', and "
                "no definition is checked",
            )
