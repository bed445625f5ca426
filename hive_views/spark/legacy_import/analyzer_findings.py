"""Findings of Spark's analyzer about the new texts of a plan, before anything is written.

The new text of a view that stays in the metastore names the same tables as the legacy text, so plain Spark's session
catalog can analyze both: the legacy view as plain Spark reads it, and the text that will replace it, under the settings
that the row records. A text that names a view by its new name, or reads a view that only Trino can read now, cannot be
analyzed before the run; the check after the run analyzes it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.legacy_view import Writer
from hive_views.legacy_import.plan import ImportPlan, PlanEntry, PlanProgress
from hive_views.legacy_import.readers.detection import read_view
from hive_views.metastore.queries import read_rows, warn_of_refused
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.legacy_import.verified_run import check_session_metastore
from hive_views.spark.sessions import SESSION_CATALOG, spark_exceptions
from hive_views.spec.session_settings import can_change_results
from hive_views.sql.text.quoting import quote_name
from hive_views.sql.types.spark_types import spark_type
from hive_views.sql.types.upcasts import can_upcast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from hive_views.catalog.catalog import HiveViewCatalog

REFUSED = "Spark's analyzer refuses the new text: "
"""Prefix of the plan's sentence about a new text that Spark's analyzer rejects."""

UNREADABLE = "Spark cannot read the legacy view today: "
"""Prefix of the plan's sentence about a view that plain Spark cannot read before the import."""


def add_analyzer_findings(
    spark: SparkSession, catalog: HiveViewCatalog, plan: ImportPlan, progress: PlanProgress | None = None
) -> ImportPlan:
    """Analyze the ready views of a plan, without reading rows, and add the findings to their changes."""
    check_session_metastore(spark, catalog, plan)
    ready = {entry.name for entry in plan.ready}
    settings = {
        row.name: frozenset((key, value) for key, value in read_view(row).settings.items() if can_change_results(key))
        for row in read_rows(catalog.store, sorted(ready), most_calls=1, on_refused=warn_of_refused)
    }
    sessions: dict[frozenset[tuple[str, str]], SparkSession] = {}
    unanalyzable: set[ViewName] = set()
    entries = []
    analyzed = 0
    for entry in plan.entries:
        reads_unanalyzable = any(name in unanalyzable for name in entry.reads)
        if reads_unanalyzable or not entry.in_place or entry.writer is Writer.TRINO:
            unanalyzable.add(entry.name)
        finding = None
        if entry.name in ready:
            view_settings = settings.get(entry.name, frozenset())
            if view_settings not in sessions:
                sessions[view_settings] = _session_with(spark, view_settings)
            finding = _find_problem(sessions[view_settings], entry, analyze_new_text=not reads_unanalyzable)
            analyzed += 1
            if progress is not None:
                progress(analyzed, len(ready))
        entries.append(entry if finding is None else replace(entry, changes=(*entry.changes, finding)))
    return replace(plan, entries=tuple(entries))


def _session_with(spark: SparkSession, settings: frozenset[tuple[str, str]]) -> SparkSession:
    """Return a new session with the settings that views record."""
    session = spark.newSession()
    for key, value in settings:
        with suppress(*spark_exceptions()):  # e.g. a time zone that this Spark does not know: the session keeps its own
            session.conf.set(key, value)
    return session


def _find_problem(session: SparkSession, entry: PlanEntry, *, analyze_new_text: bool) -> str | None:
    declared = None
    if entry.writer is not Writer.TRINO:  # plain Spark reads no Trino views
        table = quote_name((SESSION_CATALOG, *entry.name.identifier))
        declared = _analyze(session, f"SELECT * FROM {table}")
        if isinstance(declared, str):
            return UNREADABLE + declared
    if not analyze_new_text or entry.new_text is None:
        return None
    returned = _analyze(session, entry.new_text)
    if isinstance(returned, str):
        return REFUSED + returned
    change = None if declared is None else _find_type_change(declared, returned)
    return None if change is None else REFUSED + change


def _analyze(session: SparkSession, text: str) -> StructType | str:
    """Return the columns of a text, or the first line of the analyzer's error."""
    try:
        return session.sql(text).schema
    except spark_exceptions() as error:
        return str(error).strip().splitlines()[0][:300]


def _find_type_change(declared: StructType, returned: StructType) -> str | None:
    """Describe the first column whose type is not cast to the declared one by readers through Iceberg."""
    try:
        pairs = list(zip(iceberg_schema(declared).fields, iceberg_schema(returned).fields, strict=True))
    except (HiveViewsError, ValueError):
        return None  # the check after the run compares the columns
    for field, other in pairs:
        if not can_upcast(other.field_type, field.field_type):
            return (
                f"column {field.name} is declared as {spark_type(field.field_type)}, and its query returns "
                f"{spark_type(other.field_type)} now, which readers through Iceberg do not cast"
            )
    return None
