"""`hive-views import run` on Spark: a session for the command, the run, and the comparison of rows around it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.errors import UsageError
from hive_views.legacy.journal import read_journal
from hive_views.legacy.outcome import Status
from hive_views.legacy.plan import Plan
from hive_views.legacy.rows_said import write_rows_said
from hive_views.legacy.run import Progress, RunResult, run_plan
from hive_views.spark.import_check import RowCheck, Verdict
from hive_views.spark.import_job import SparkImport
from hive_views.spark.names import SESSION_CATALOG
from hive_views.spark.runtime import iceberg_session, plain_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog import HiveViewCatalog
    from hive_views.identifiers import ViewName

COLUMNS, ROWS = "columns", "rows"
VERIFY = (COLUMNS, ROWS)
"""What can be compared: what Spark's analyzer says of each definition, or the rows as well."""


def run_on_spark(
    plan: Plan,
    catalog: HiveViewCatalog,
    journal: Path,
    *,
    to: HiveViewCatalog | None = None,
    master: str | None = None,
    most_calls: int,
    verify: str | None = COLUMNS,
    progress: Progress | None = None,
    session: SparkSession | None = None,
) -> tuple[RunResult, dict[ViewName, Verdict]]:
    """Run a plan with Spark's help.

    Args:
        plan: The plan.
        catalog: Where the legacy views are.
        journal: The journal's file.
        to: Where the new views go; None is the same catalog.
        master: Which Spark the work is spread over; None does it in this process.
        most_calls: How many calls the metastore gets at once.
        verify: One of VERIFY: what is compared; None for nothing. Views in another metastore cannot be.
        progress: Told after each view.
        session: A Spark to use; None starts one, and stops it at the end.

    Returns:
        How each view ended, and what the comparison says of each; the latter is kept beside the journal, too.

    Raises:
        UsageError: If the catalog's name cannot be one of Spark's catalogs.
        ImportJobError: If Spark gives up.
        JournalError: If the journal cannot be used.
    """
    if verify is not None and catalog.name == SESSION_CATALOG:
        raise UsageError("--verify", f"the catalog must not be named {SESSION_CATALOG}, with which it is compared")
    spark = session or _session(catalog, master or "local[2]", iceberg=verify is not None)
    try:
        check = None
        if verify is not None:
            file = journal.with_name(f"{journal.name}.{verify}")
            check = RowCheck(spark, to or catalog, file, columns_only=verify == COLUMNS)
            history = read_journal(journal).outcomes if journal.exists() else {}
            check.before(plan, [name for name, item in history.items() if item.status is Status.CONVERTED])
        if master is None:
            result = run_plan(plan, catalog, journal, to=to, progress=progress)
        else:
            job = SparkImport(spark, catalog, most_calls=most_calls)
            result = job.run(plan, journal, to=to, progress=progress)
        said = {}
        if check is not None:
            said = check.after(plan, result.outcomes)
            write_rows_said(journal, {name: verdict.text for name, verdict in said.items()})
            check.close()
        return result, said
    finally:
        if session is None:
            spark.stop()


def _session(catalog: HiveViewCatalog, master: str, *, iceberg: bool) -> SparkSession:
    properties = catalog.properties
    uri, warehouse, conf = properties["uri"], properties.get("warehouse", ""), {"spark.master": master}
    if iceberg:
        return iceberg_session(uri, warehouse, catalog=catalog.name, conf=conf)
    return plain_session(uri, warehouse, conf=conf)
