"""A run of an import with checks by Spark before and after it: of the columns of each view, and optionally of its rows.

Before a row is swapped, Spark's session catalog reads the legacy view as plain Spark does; afterwards a `ViewSession`
reads the new view (`hive_views.spark.view_content`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hive_views.errors import JournalError, SqlError, UsageError
from hive_views.identifiers import ViewName
from hive_views.io.json_lines import append_documents, resume_documents
from hive_views.legacy_import.journal import ImportOutcome, ImportStatus, Journal, RevertStatus, read_journal_of
from hive_views.legacy_import.legacy_view import Reason, Writer
from hive_views.legacy_import.plan import ImportPlan, PlanEntry
from hive_views.legacy_import.report.report import read_check_results, write_check_results
from hive_views.legacy_import.revert import revert_run
from hive_views.legacy_import.run import RunResult
from hive_views.legacy_import.targets import target_address
from hive_views.spark.legacy_import.analysis import analyze_definitions
from hive_views.spark.metastore_catalogs import check_metastore_catalog
from hive_views.spark.session.session import ViewSession
from hive_views.spark.sessions import SESSION_CATALOG
from hive_views.spark.versions import check_session_version
from hive_views.spark.view_content import ViewContent, changed_types, content_of_schema, is_different, read_contents
from hive_views.sql.analysis.references import find_nondeterminism
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import quote_identifier, quote_name

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

COLUMNS, ROWS, NONE = "columns", "rows", "none"
VERIFY_MODES = (COLUMNS, ROWS, NONE)
"""What is compared: the columns that Spark's analyzer returns, the rows as well, or nothing."""

_VIEWS_PER_WRITE = 100
"""Number of views after which results are written to disk."""

CheckProgress = Callable[[str, int, int], None]
"""Called with `before` or `after`, the number of checked views, and the number of all views."""


@dataclass(frozen=True)
class CheckResult:
    """The result of the check of one view."""

    good: bool
    """Whether no difference is known."""
    text: str
    """A sentence about it."""
    is_rejected: bool = False
    """Whether Spark cannot read the new view, or returns other columns for it than before."""


class ViewCheck:
    """Compares views before and after an import. A file keeps the results from before, for a run that is resumed."""

    def __init__(
        self, spark: SparkSession, catalog: HiveViewCatalog, file: Path, *, columns_only: bool = False
    ) -> None:
        """Read the file if it exists; raises JournalError."""
        self._spark = spark
        self._views = ViewSession(spark, catalog)
        self._file = file
        self._columns_only = columns_only
        self._before: dict[ViewName, ViewContent] = {}
        try:
            for document in resume_documents(file):
                name = ViewName.from_text(document.pop("name"))
                document |= {"columns": tuple(document["columns"]), "types": tuple(document.get("types", ()))}
                self._before[name] = ViewContent(**document)
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise JournalError(str(file), f"it does not hold the content of views: {error!r}") from error

    def read_before(
        self, plan: ImportPlan, converted: Sequence[ViewName] = (), progress: CheckProgress | None = None
    ) -> None:
        """Read the legacy views of a plan before it is run, except those that were read or converted already."""
        done = {*self._before, *converted}
        # Plain Spark parses Trino's encoded text as an empty query.
        names = [entry.name for entry in plan.ready if entry.writer is not Writer.TRINO and entry.name not in done]
        for start in range(0, len(names), _VIEWS_PER_WRITE):
            part = names[start : start + _VIEWS_PER_WRITE]
            tables = {name: quote_name((SESSION_CATALOG, *name.identifier)) for name in part}
            contents = read_contents(self._spark, tables, columns_only=self._columns_only)
            try:
                append_documents(
                    self._file, [{"name": str(name), **vars(content)} for name, content in contents.items()]
                )
            except OSError as error:
                raise JournalError(str(self._file), str(error)) from error
            self._before.update(contents)
            if progress is not None:
                progress("before", start + len(part), len(names))

    def compare_after(
        self, plan: ImportPlan, outcomes: Sequence[ImportOutcome], progress: CheckProgress | None = None
    ) -> dict[ViewName, CheckResult]:
        """Read the converted views and compare them with the legacy views."""
        converted = {outcome.name for outcome in outcomes if outcome.status is ImportStatus.CONVERTED}
        entries = {entry.name: entry for entry in plan.entries if entry.name in converted}
        names = list(entries)
        contents: dict[ViewName, ViewContent] = {}
        for start in range(0, len(names), _VIEWS_PER_WRITE):
            contents |= self._read_converted([entries[name] for name in names[start : start + _VIEWS_PER_WRITE]])
            if progress is not None:
                progress("after", len(contents), len(names))
        differing = [
            entries[name]
            for name, content in contents.items()
            if content.problem is None and is_different(self._before.get(name), content)
        ]
        # A view that returns other rows at each query differs for that reason, and not because of the import.
        second_reads = self._read_converted(differing)
        return {
            name: _compare(entries[name], self._before.get(name), content, second_reads.get(name))
            for name, content in contents.items()
        }

    def close(self) -> None:
        """Drop the temporary objects in Spark."""
        self._views.close()

    def _read_converted(self, entries: Sequence[PlanEntry]) -> dict[ViewName, ViewContent]:
        """Read new views, by the names of the legacy views."""
        contents: dict[ViewName, ViewContent] = {}
        if self._columns_only:
            schemas = analyze_definitions(self._views, {entry.name: entry.target for entry in entries})
            contents = {name: content_of_schema(schema) for name, schema in schemas.items()}
        catalog = self._views.view_catalog.name
        tables = {entry.name: quote_name((catalog, *entry.target.identifier)) for entry in entries}
        remaining = {name: table for name, table in tables.items() if name not in contents}
        contents |= read_contents(self._views, remaining, columns_only=self._columns_only)
        return {name: contents[name] for name in tables}


def _compare(
    entry: PlanEntry, before: ViewContent | None, after: ViewContent, second_read: ViewContent | None
) -> CheckResult:
    is_unreadable = after.problem is not None
    if entry.writer is Writer.TRINO:
        text = _describe_new("plain Spark cannot read legacy Trino views", after)
        return CheckResult(not is_unreadable, text, is_unreadable)
    if before is None:
        text = _describe_new("the legacy view was not read before the import", after)
        return CheckResult(not is_unreadable, text, is_unreadable)
    if before.problem is not None:
        return CheckResult(True, _describe_new(f"Spark could not read the legacy view ({before.problem})", after))
    if is_unreadable:
        return CheckResult(False, f"Spark read the legacy view, and cannot read the new one: {after.problem}", True)
    if before.columns != after.columns:
        text = f"its columns were {', '.join(before.columns)} and are {', '.join(after.columns)}"
        return CheckResult(False, text, True)
    other_types = changed_types(before, after)
    if other_types:
        return CheckResult(False, f"its columns have other types: {', '.join(other_types)}", True)
    if before.number is None or after.number is None:
        return CheckResult(True, "Spark's analyzer returns the same columns")
    if not is_different(before, after):
        return CheckResult(True, f"the same {before.number} rows")
    numbers = f"{before.number} rows before, {after.number} after"
    if second_read is not None and second_read != after:
        return CheckResult(True, f"not comparable: it returns other rows each time ({numbers})")
    causes = _find_nondeterminism(entry)
    if causes:
        return CheckResult(
            True, f"not comparable: its rows may differ each time, because of {', '.join(causes)} ({numbers})"
        )
    content = "" if before.number != after.number else ", with other content"
    return CheckResult(False, f"OTHER ROWS: {numbers}{content}")


def _describe_new(reason: str, after: ViewContent) -> str:
    if after.problem is not None:
        return f"{reason}, and Spark cannot read the new one: {after.problem}"
    if after.number is None:
        return f"{reason}; Spark's analyzer accepts the new one"
    return f"{reason}; the new one returns {after.number} rows"


def _find_nondeterminism(entry: PlanEntry) -> tuple[str, ...]:
    try:
        return find_nondeterminism(parse_query(entry.new_text or "", Dialect.HIVE))
    except SqlError:
        return ()


# -- The run -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckedRun(RunResult):
    """The result of a run and of Spark's checks."""

    checks: Mapping[ViewName, CheckResult] = field(default_factory=dict)
    """The result of the check of each view that was converted; also kept next to the journal. A view that Spark rejects
    is restored if possible, and its outcome is then `refused`."""
    verify: str = NONE
    """What was compared: one of VERIFY_MODES."""

    @property
    def as_before(self) -> bool:
        """Whether no view is known to return other columns or rows than before, or to have become unreadable."""
        return all(result.good for result in self.checks.values())


def is_other_metastore(catalog: HiveViewCatalog, to: Catalog | None) -> bool:
    """Return whether the new views go to a different metastore than that of the legacy views."""
    return to is not None and target_address(to) != target_address(catalog)


def resolve_verify_mode(verify: str | None, *, has_spark: bool, is_other_metastore: bool, catalog_name: str) -> str:
    """Return what a run compares: by default the columns if Spark can compare them, and otherwise nothing.

    `catalog_name` is the name of the catalog for the new views. Raises UsageError if `verify` is not possible.
    """
    if verify not in (None, *VERIFY_MODES):
        raise UsageError("--verify", f"{verify!r} is neither columns, rows nor none")
    # The legacy views are read through spark_catalog, so the new views need a catalog with another name.
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


@dataclass(frozen=True)
class SparkCheck:
    """How Spark checks the views of a run."""

    spark: SparkSession
    """A session whose session catalog is the metastore of the legacy views; classic or Spark Connect."""
    verify: str | None = None
    """One of VERIFY_MODES; None for COLUMNS if that is possible."""
    progress: CheckProgress | None = None
    """Called while Spark checks the views, before and after the run."""


def run_verified(
    check: SparkCheck,
    plan: ImportPlan,
    catalog: HiveViewCatalog,
    journal: Path,
    run: Callable[[], RunResult],
    *,
    to: HiveViewCatalog | None = None,
) -> CheckedRun:
    """Run a plan, and compare what Spark returns for its views before and after the run.

    Args:
        check: How Spark checks the views.
        plan: The plan.
        catalog: The catalog of the legacy views.
        journal: The journal's file. The results from before the run and those of the check are kept next to it.
        run: Runs the plan.
        to: The catalog for the new views; None for `catalog`.

    Returns:
        The outcome of each view, and the result of the check of each converted view. A view that this run converted,
        and that Spark cannot read or returns with other columns than before, is restored and refused.

    Raises:
        UsageError: If `verify` is not possible, or the session's catalog has none of the views' databases.
        JournalError: If the journal, or a file next to it, cannot be used.
    """
    target = to or catalog
    verify = resolve_verify_mode(
        check.verify, has_spark=True, is_other_metastore=is_other_metastore(catalog, to), catalog_name=target.name
    )
    if verify == NONE:
        return CheckedRun(run().outcomes)
    history = read_journal_of(journal, plan)
    check_session_metastore(check.spark, catalog, plan)
    comparison = ViewCheck(
        check.spark, target, journal.with_name(f"{journal.name}.{verify}"), columns_only=verify == COLUMNS
    )
    try:
        outcomes = {} if history is None else history.outcomes
        converted = [name for name, outcome in outcomes.items() if outcome.status is ImportStatus.CONVERTED]
        comparison.read_before(plan, converted, check.progress)
        result = run()
        results = comparison.compare_after(plan, result.outcomes, check.progress)
    finally:
        comparison.close()
    # A view that an earlier run checked is not restored: another program may have changed a source since.
    unchecked = results.keys() - read_check_results(journal).keys()
    rejections = {name: results[name].text for name in unchecked if results[name].is_rejected}
    outcomes = {outcome.name: outcome for outcome in result.outcomes}
    restored = _restore(catalog, to, journal, outcomes, rejections) if rejections else {}
    results |= {name: replace(results[name], text=outcome.text or "") for name, outcome in restored.items()}
    # The next run converts and checks a restored view again, so its result is not kept.
    write_check_results(journal, {name: results[name].text for name in results.keys() - restored.keys()})
    return CheckedRun(tuple((outcomes | restored).values()), results, verify)


def _restore(
    catalog: HiveViewCatalog,
    to: HiveViewCatalog | None,
    journal: Path,
    outcomes: Mapping[ViewName, ImportOutcome],
    rejections: Mapping[ViewName, str],
) -> dict[ViewName, ImportOutcome]:
    """Restore the legacy rows of the views that Spark rejects, and return the new outcomes of those restored.

    A view stays converted if it cannot be restored, for example because it was changed since. A view that reads a
    rejected one is rejected itself.
    """
    reverts = revert_run(catalog, journal, names=list(rejections), to=to)
    restored = {}
    for name in [revert.name for revert in reverts if revert.status in (RevertStatus.REVERTED, RevertStatus.ALREADY)]:
        text = f"{rejections[name]}. The legacy row was restored"
        restored[name] = replace(outcomes[name], status=ImportStatus.REFUSED, reason=Reason.UNREADABLE, text=text)
    with Journal(journal) as open_journal:
        for outcome in restored.values():
            open_journal.record_outcome(outcome)
    return restored


def check_session_metastore(spark: SparkSession, catalog: HiveViewCatalog, plan: ImportPlan) -> None:
    """Raise UsageError if the session's catalog is another metastore, in which no legacy view could be read."""
    check_session_version(spark)
    check_metastore_catalog(spark, catalog)
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
