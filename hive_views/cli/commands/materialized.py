"""`hive-views mv`: commands that create, change, show and drop materialized views."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.commands.reading import iso_time
from hive_views.cli.commands.writing import Properties, Sql, SqlFile, parse_time, read_query
from hive_views.cli.connection import parse_properties
from hive_views.cli.output import print_line, print_table, shown, write_file
from hive_views.errors import InvalidPropertyError, RefreshError, UsageError, after_steps
from hive_views.materialized.refresh.actions import Action, Mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.freshness.verdict import Freshness
    from hive_views.materialized.maintenance.garbage_collection import Garbage
    from hive_views.materialized.partial_reads import StalePartitions
    from hive_views.materialized.refresh.explain import RefreshExplanation
    from hive_views.materialized.refresh.failures import FailedRefresh
    from hive_views.materialized.refresh.refresh import RefreshReport
    from hive_views.materialized.results import ListedView


@dataclass(frozen=True, kw_only=True)
class MaterializedStatus:
    """The state of one materialized view."""

    view: str
    layout: str
    freshness: str
    reasons: tuple[str, ...]
    refreshed_ms: int | None
    storage: str | None = None
    snapshot_id: int | None = None
    rows: int | None = None
    max_staleness_ms: int | None = None
    allow_stale_data: bool | None = None
    failure: FailedRefresh | None = None
    stale_partitions: StalePartitions | None = None


@dataclass(frozen=True)
class MaterializedOverview:
    """The result of `mv status --all`."""

    views: tuple[ListedView, ...]


@dataclass(frozen=True)
class MaterializedList:
    """The result of `mv list`."""

    views: tuple[MaterializedStatus, ...]


@dataclass(frozen=True)
class Changed:
    """The result of `mv replace`, `set`, `plain` and `back`."""

    view: str
    action: str


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """A refresh of one view."""

    view: str
    action: str
    why: str
    rows: int | None
    written: int | None
    seconds: float


@dataclass(frozen=True)
class RefreshResult:
    """The result of `mv refresh`."""

    refreshed: tuple[Refreshed, ...]


@dataclass(frozen=True, kw_only=True)
class StoredRefresh:
    """One refresh whose rows the storage still has."""

    snapshot_id: int
    timestamp_ms: int
    time: str
    current: bool
    version_id: int
    sources: dict[str, int]
    action: str | None
    why: str | None
    seconds: float | None
    rows: int | None
    written: int | None
    bytes: int | None


@dataclass(frozen=True)
class StoredRefreshes:
    """The result of `mv refreshes`."""

    view: str
    refreshes: tuple[StoredRefresh, ...]
    failures: tuple[FailedRefresh, ...]


@dataclass(frozen=True, kw_only=True)
class StoredPage:
    """The result of `mv rows`."""

    view: str
    snapshot_id: int | None
    time: str | None
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    freshness: str | None = None


@dataclass(frozen=True)
class ExpiredRows:
    """The result of `mv expire`."""

    view: str
    snapshots: tuple[int, ...]
    files: int
    kept: tuple[str, ...]


@dataclass(frozen=True)
class DroppedMaterialized:
    """The result of `mv drop`."""

    dropped: str
    remaining_files: tuple[str, ...] = ()


NameArgument = Annotated[str, typer.Argument(metavar="DATABASE.NAME", help="The view, as database.name.")]


def refresh_materialized(
    catalog: HiveViewCatalog,
    name: Annotated[str | None, typer.Argument(metavar="[DATABASE.NAME]")] = None,
    *,
    all: bool = False,
    database: Annotated[list[str], typer.Option("--database", metavar="DATABASE")] = [],  # noqa: B006 -- never changed
    select: Annotated[str | None, typer.Option(metavar="GLOB")] = None,
    due: bool = False,
    stale: bool = False,
    upstream: bool = False,
    downstream: bool = False,
    parallel: Annotated[int, typer.Option(metavar="N")] = 1,
    full: bool = False,
    incremental: bool = False,
    cascade: bool = False,
    spark: Annotated[str, typer.Option(metavar="MASTER")] = "local[2]",
    conf: Annotated[list[str], typer.Option("--conf", metavar="KEY=VALUE")] = [],  # noqa: B006 -- never changed
    time_zone: Annotated[str | None, typer.Option(metavar="ZONE")] = None,
    cache: Annotated[Path | None, typer.Option("--cache", metavar="DIR")] = None,
    emit: Callable[[str], None] | None = None,
) -> RefreshResult:
    """Refresh a materialized view, or several, on a Spark session of its own.

    Several views are refreshed each after those that it reads. A failure skips only what depends on the view (exit code
    1). Rows that were computed under one time zone answer queries only in sessions with the same time zone.

    Args:
        name: The view, as database.name.
        all: Refresh all materialized views.
        database: Refresh those of a database. May be given several times.
        select: Refresh those whose name, or database.name, matches a pattern such as sales.daily_*.
        due: Refresh only those whose rows are older than their property hive-views.target-lag.
        stale: Refresh only those whose rows are neither fresh nor within grace.
        upstream: Refresh also what the selected views read.
        downstream: Refresh also what reads the selected views.
        parallel: How many views to refresh at the same time, if they do not depend on each other.
        full: Compute all rows.
        incremental: Compute only the rows that changes affect, or fail.
        cascade: Refresh the materialized views that it reads first.
        spark: The Spark master, e.g. local[4], yarn.
        conf: A Spark setting, e.g. spark.driver.memory=4g. May be given several times.
        time_zone: The session's time zone, e.g. UTC. Default: that of the settings, else of this machine.
        cache: A directory that caches Iceberg's runtime for Spark (47 MB). Default: hive-views in the user's cache
            directory.
        emit: Called with a line of text at each step.
    """
    from hive_views.spark.command import engine_on_spark

    if full and incremental:
        raise UsageError("--full", "it does not go with --incremental")
    if parallel < 1:
        raise UsageError("--parallel", f"refresh at least one view at a time, not {parallel}")
    if select == "" or "" in database:  # a variable of a script that is not set must not select all views
        raise UsageError("--select" if select == "" else "--database", "it is empty")
    selects = all or bool(database) or select is not None or due or stale
    if (name is None) != selects:
        raise UsageError("--all", "name one view, or select several by --all, --database, --select, --due or --stale")
    if name is None and cascade:
        raise UsageError("--cascade", "it goes with one view; use --upstream")
    settings = parse_properties(conf, "--conf")
    if name is not None:
        catalog.materialized.freshness(name)  # so that a missing view is reported before Spark starts
        database, select = [name.rpartition(".")[0]], name
    names = None
    if selects or upstream or downstream:
        names = catalog.materialized.select(
            database or None, pattern=select or "*", due=due, stale=stale, upstream=upstream, downstream=downstream
        )
        if not names:
            return RefreshResult(())
    mode = Mode.FULL if full else Mode.INCREMENTAL if incremental else Mode.AUTO
    engine = engine_on_spark(
        catalog,
        master=spark,
        conf=settings,
        time_zone=time_zone,
        cache=cache,
        progress=emit,
    )
    with engine as spark_engine:
        if names is None:
            reports = catalog.materialized.load(str(name)).refresh(
                spark_engine, mode=mode, cascade=cascade, progress=emit
            )
            return RefreshResult(tuple(map(_refreshed, reports)))
        outcomes = catalog.materialized.refresh_many(
            [item.identifier for item in names], spark_engine, mode=mode, parallel=parallel, progress=emit
        )
    return RefreshResult(
        tuple(
            _refreshed(outcome.report)
            if outcome.report is not None
            else Refreshed(
                view=str(outcome.name), action=outcome.action, why=outcome.why, rows=None, written=None, seconds=0.0
            )
            for outcome in outcomes
        )
    )


def materialized_refreshes(catalog: HiveViewCatalog, name: NameArgument) -> StoredRefreshes:
    """List the refreshes whose rows the storage still has, which `mv rows` can read."""
    view = catalog.materialized.load(name)
    current = None if view.snapshot is None else view.snapshot.snapshot_id
    log = () if view.storage is None else view.storage.metadata.snapshot_log
    since = {entry.snapshot_id: entry.timestamp_ms for entry in reversed(log)}
    return StoredRefreshes(
        str(view.name),
        tuple(
            StoredRefresh(
                snapshot_id=item.snapshot_id,
                timestamp_ms=since.get(item.snapshot_id, item.timestamp_ms),
                time=iso_time(since.get(item.snapshot_id, item.timestamp_ms)),
                current=item.snapshot_id == current,
                version_id=item.state.view_version_id,
                sources={str(source.name): source.id for source in item.state.sources},
                action=item.action,
                why=item.why,
                seconds=item.seconds,
                rows=item.rows,
                written=item.written,
                bytes=item.bytes,
            )
            for item in view.refreshes()
        ),
        tuple(view.failed_refreshes()),
    )


def materialized_rows(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    version: Annotated[str | None, typer.Option(metavar="SNAPSHOT|BRANCH|TAG")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    limit: Annotated[int, typer.Option(metavar="N")] = 20,
) -> StoredPage:
    """Read current or earlier stored rows, fresh or not. Spark is not needed.

    Args:
        version: A snapshot ID from `mv refreshes`, or a branch or tag of the storage table. Default: the current rows.
        at: A time, in place of a version: the rows that were current then. ISO 8601, or milliseconds from the epoch.
        limit: Maximum number of rows.
    """
    if version is not None and at is not None:
        raise UsageError("--at", "it does not go with --version")
    if limit < 1:
        raise UsageError("--limit", f"read at least one row, not {limit}")
    try:
        at_ms = None if at is None else parse_time(at)
    except UsageError as error:
        raise UsageError("--at", error.reason) from None
    wanted = int(version) if version is not None and version.isascii() and version.isdecimal() else version
    view = catalog.materialized.load(name)
    stored, storage = view.stored(version=wanted, at_ms=at_ms), view.storage
    if storage is None:
        raise RefreshError(str(stored.view), "its storage is gone")
    if stored.snapshot_id is None or stored.timestamp_ms is None:
        return StoredPage(
            view=str(stored.view), snapshot_id=None, time=None, columns=tuple(storage.schema().column_names), rows=()
        )
    try:
        table = storage.scan(snapshot_id=stored.snapshot_id, limit=limit).to_arrow()
    except (OSError, ValueError) as error:
        raise RefreshError(str(stored.view), f"its stored rows cannot be read: {error}") from error
    return StoredPage(
        view=str(stored.view),
        snapshot_id=stored.snapshot_id,
        time=iso_time(stored.timestamp_ms),
        columns=tuple(table.column_names),
        rows=tuple(tuple(map(_plain, row.values())) for row in table.to_pylist()),
        freshness=str(catalog.materialized.freshness(name)) if version is None and at_ms is None else None,
    )


def expire_rows(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    older_than: Annotated[float, typer.Option(metavar="HOURS", min=0)] = 120.0,
    keep: Annotated[int, typer.Option(metavar="N")] = 1,
) -> ExpiredRows:
    """Expire earlier stored rows and delete their files. The current rows and those of branches and tags are kept.

    Args:
        older_than: How many hours ago they must have been replaced. Queries that still read them fail.
        keep: How many of the last snapshots to keep in any case.
    """
    expired = catalog.materialized.load(name).expire(older_than_ms=int(older_than * 3_600_000), keep=keep)
    return ExpiredRows(name.lower(), expired.snapshots, expired.files, tuple(map(str, expired.kept)))


def _refreshed(report: RefreshReport) -> Refreshed:
    return Refreshed(
        view=str(report.name),
        action=report.action,
        why=report.why,
        rows=report.rows,
        written=report.written,
        seconds=round(report.seconds, 3),
    )


def _plain(value: Any) -> Any:
    """A value as JSON knows it, else as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print_refreshed(result: RefreshResult) -> None:
    if not result.refreshed:
        print_line("no materialized view is selected")
    for item in result.refreshed:
        print_line(f"{item.view}  {item.action}: {item.why}")


def _print_refreshes(result: StoredRefreshes) -> None:
    print_table(
        ("snapshot", "since", "version", "", "action", "seconds", "rows", "written", "why"),
        (
            (
                item.snapshot_id,
                item.time,
                item.version_id,
                "current" if item.current else "",
                *(item.action, item.seconds, item.rows, item.written, item.why),
            )
            for item in result.refreshes
        ),
    )
    for failure in result.failures:
        print_line(f"failed {iso_time(failure.started_ms)} after {failure.seconds:.1f} s: {shown(failure.error)}")


def _print_rows(result: StoredPage) -> None:
    if result.snapshot_id is None:
        print_line("it was never refreshed")
        return
    print_table(result.columns, (("NULL" if value is None else value for value in row) for row in result.rows))
    print_line(f"stored {result.time}" + (f"; {shown(result.freshness)}" if result.freshness else ""))


def _print_expired(result: ExpiredRows) -> None:
    for item in result.kept:
        print_line(f"stays: {item}")
    print_line(f"{len(result.snapshots)} snapshot(s) expired, {result.files} file(s) deleted")


def _print_progress(line: str) -> None:
    typer.echo(shown(line), err=True)


NamespaceArgument = Annotated[str, typer.Argument(metavar="DATABASE")]
Partitions = Annotated[list[str], typer.Option("--partitioned-by", metavar="COLUMN")]


def create_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    layout: Annotated[str, typer.Option(metavar="LAYOUT")] = "registered",
    partitioned_by: Partitions = [],  # noqa: B006 -- never changed; Typer takes the default's type for the option's
    sorted_by: Annotated[list[str], typer.Option("--sorted-by", metavar="TERM")] = [],  # noqa: B006
    property: Properties = [],  # noqa: B006
    dialect: Annotated[str, typer.Option(metavar="NAME")] = "spark",
) -> MaterializedStatus:
    """Create a materialized view; it has no rows until it is refreshed.

    Args:
        sql: The query.
        file: A file that contains the query; - is standard input.
        layout: Where it keeps its rows: registered, attached or table.
        partitioned_by: A column that partitions its rows, or year(c), month(c), day(c), hour(c), bucket(n, c).
        sorted_by: A column or transform that sorts the rows of each file, e.g. "total DESC NULLS LAST".
        property: A property of the view.
        dialect: The SQL dialect of the query.
    """
    catalog.materialized.create(
        name,
        read_query(sql, file),
        layout=layout,
        partitioned_by=partitioned_by,
        sorted_by=sorted_by,
        properties=parse_properties(property, "--property"),
        dialect=dialect,
    )
    with after_steps(f"the materialized view {name.lower()} was created"):
        return materialized_status(catalog, name)


def copy_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    copy: Annotated[str, typer.Argument(metavar="[DATABASE.]COPY", help="The copy; by default in the same database.")],
    *,
    partitioned_by: Partitions = [],  # noqa: B006
    sorted_by: Annotated[list[str], typer.Option("--sorted-by", metavar="TERM")] = [],  # noqa: B006
    property: Properties = [],  # noqa: B006
) -> MaterializedStatus:
    """Add a storage with another partitioning or sort order to a materialized view; a refresh fills it.

    It is a materialized view SELECT * FROM the view. Queries on the view in a ViewSession read the storage that suits
    their filters.

    Args:
        partitioned_by: A column that partitions its rows, or year(c), month(c), day(c), hour(c), bucket(n, c).
        sorted_by: A column or transform that sorts the rows of each file, e.g. "total DESC NULLS LAST".
        property: A property of the copy.
    """
    created = catalog.materialized.create_copy(
        name,
        copy,
        partitioned_by=partitioned_by,
        sorted_by=sorted_by,
        properties=parse_properties(property, "--property"),
    )
    with after_steps(f"the copy {created.name} was created"):
        return materialized_status(catalog, str(created.name))


def replace_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    property: Properties = [],  # noqa: B006
    dialect: Annotated[str, typer.Option(metavar="NAME")] = "spark",
) -> Changed:
    """Give a materialized view another query.

    Its stored rows answer no query until the next refresh, unless the query is the same, written differently.

    Args:
        sql: The query.
        file: A file that contains the query; - is standard input.
        property: A property to set in the same commit; others stay.
        dialect: The SQL dialect of the query.
    """
    properties = parse_properties(property, "--property")
    query = read_query(sql, file)
    done = catalog.materialized.load(name).replace(query, properties=properties, dialect=dialect)
    return Changed(name.lower(), "replaced" if done else "unchanged")


def set_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    property: Properties = [],  # noqa: B006
    unset: Annotated[list[str], typer.Option(metavar="KEY")] = [],  # noqa: B006
) -> Changed:
    """Set or remove properties of a materialized view, in every layout.

    Args:
        property: A property to set, e.g. hive-views.max-staleness-ms=3600000. May be given several times.
        unset: The key of a property to remove; missing keys are ignored.
    """
    updates = parse_properties(property, "--property")
    if not updates and not unset:
        raise UsageError("--property", "name what to set, or with --unset what to remove")
    done = catalog.materialized.load(name).set_properties(updates, removals=unset)
    return Changed(name.lower(), "changed" if done else "unchanged")


def to_plain(catalog: HiveViewCatalog, name: NameArgument) -> Changed:
    """Make a materialized view a plain one. No row is copied or deleted: its storage is kept for mv back."""
    catalog.materialized.load(name).to_plain_view()
    return Changed(name.lower(), "plain")


def to_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    partitioned_by: Partitions = [],  # noqa: B006
) -> Changed:
    """Make a plain view a materialized one: with the rows that it had stored, else with an empty storage.

    Args:
        partitioned_by: For a new storage: a column that partitions its rows, or year(c), month(c), bucket(n, c) …
    """
    catalog.materialized.from_plain_view(name, partitioned_by=partitioned_by)
    return Changed(name.lower(), "materialized")


def show_status(
    catalog: HiveViewCatalog,
    name: Annotated[str | None, typer.Argument(metavar="[DATABASE.NAME]")] = None,
    *,
    all: bool = False,
    database: Annotated[list[str], typer.Option("--database", metavar="DATABASE")] = [],  # noqa: B006 -- never changed
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE")] = None,
) -> MaterializedStatus | MaterializedOverview:
    """Show how fresh a materialized view is, and why; or all of them with their last refresh and what they read.

    The exit code is 1 unless all of them are fresh or within grace.

    Args:
        name: The view, as database.name.
        all: Show all materialized views.
        database: Show those of a database. May be given several times.
        html: Write them to this file as well, as one HTML page with a graph that opens from disk.
    """
    from hive_views.materialized.overview import overview_page

    if (name is None) == (not all and not database):
        raise UsageError("--all", "name one view, or show several by --all or --database")
    if name is not None:
        if html is not None:
            raise UsageError("--html", "it goes with --all or --database")
        return materialized_status(catalog, name)
    overview = MaterializedOverview(tuple(catalog.materialized.overview(database or None)))
    if html is not None:
        write_file(html, overview_page(overview.views), "--html")
    return overview


def materialized_status(catalog: HiveViewCatalog, name: str) -> MaterializedStatus:
    """The state of one materialized view."""
    from hive_views.errors import NotMaterializedError
    from hive_views.materialized.refresh.failures import last_failure
    from hive_views.materialized.state.refresh_state import row_count, summary_of

    freshness = catalog.materialized.freshness(name)
    try:
        view = catalog.materialized.load(name)
    except NotMaterializedError:
        return _status(name, "trino", freshness)
    snapshot = view.snapshot
    return MaterializedStatus(
        view=str(view.name),
        layout=view.layout.value,
        freshness=freshness.verdict.value,
        reasons=tuple(map(str, freshness.reasons)),
        refreshed_ms=freshness.refreshed_ms,
        storage=None if view.storage_name is None else str(view.storage_name),
        snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        rows=row_count(summary_of(snapshot)),
        max_staleness_ms=view.max_staleness_ms,
        allow_stale_data=view.allow_stale_data,
        failure=last_failure(view, freshness.refreshed_ms),
        stale_partitions=None if freshness.is_fresh else view.stale_partitions(),
    )


def explain_refresh(catalog: HiveViewCatalog, name: NameArgument) -> RefreshExplanation:
    """Explain how a refresh would compute the rows, and why not with less work, without computing any.

    The settings of the last refresh are assumed, and an engine that can replace the rows with some keys, as Spark 4.
    """
    return catalog.materialized.load(name).explain()


def list_materialized(catalog: HiveViewCatalog, namespace: NamespaceArgument) -> MaterializedList:
    """List the materialized views of a database with their freshness.

    Args:
        namespace: The database.
    """
    views = catalog.materialized.listing(namespace)
    return MaterializedList(tuple(_status(str(item.name), item.layout.value, item.freshness) for item in views))


def drop_materialized(
    catalog: HiveViewCatalog, name: NameArgument, *, cascade: bool = False, restrict: bool = False
) -> DroppedMaterialized:
    """Drop a materialized view with its stored rows.

    Args:
        cascade: Drop every view that depends on it first.
        restrict: Drop nothing if a view depends on it.
    """
    if restrict and cascade:
        raise InvalidPropertyError("cascade", True, "a drop is either restricted or cascades")
    report = catalog.materialized.load(name).drop(behavior="restrict" if restrict else "cascade" if cascade else "")
    remaining = tuple(location for step in report.steps for location in step.remaining_files)
    return DroppedMaterialized(name.lower(), remaining)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Materialized views: views whose rows are stored.", no_args_is_help=True)
    bind(group, Command("create", create_materialized, _print_status))
    bind(group, Command("copy", copy_materialized, _print_status))
    bind(
        group,
        Command(
            "refresh",
            refresh_materialized,
            _print_refreshed,
            emit=_print_progress,
            has_failed=lambda result: any(item.action in (Action.FAILED, Action.SKIPPED) for item in result.refreshed),
        ),
    )
    bind(group, Command("refreshes", materialized_refreshes, _print_refreshes))
    bind(group, Command("rows", materialized_rows, _print_rows))
    bind(
        group,
        Command(
            "expire",
            expire_rows,
            _print_expired,
            question=lambda name, older_than, keep, **_: (
                f"Expire the rows of {name} that were replaced {older_than:g} hours ago, all but the last {keep}?"
            ),
        ),
    )
    bind(
        group,
        Command(
            "orphans",
            orphans,
            _print_orphans,
            question=lambda name, remove, **_: (
                f"Remove what refreshes of {name} left behind? None may be running." if remove else ""
            ),
        ),
    )
    bind(group, Command("abandoned", abandoned, _print_abandoned, question=_question_abandoned))
    bind(
        group,
        Command(
            "status",
            show_status,
            _print_any_status,
            has_failed=_has_stale_rows,
        ),
    )
    bind(group, Command("explain", explain_refresh, _print_explanation))
    bind(group, Command("list", list_materialized, _print_list))
    bind(group, Command("replace", replace_materialized, _print_changed))
    bind(group, Command("set", set_materialized, _print_changed))
    bind(group, Command("plain", to_plain, _print_changed))
    bind(group, Command("back", to_materialized, _print_changed))
    bind(
        group,
        Command(
            "drop",
            drop_materialized,
            _print_dropped,
            question=lambda name, **_: f"Drop the materialized view {name} and its stored rows?",
            has_failed=lambda result: bool(result.remaining_files),
        ),
    )
    app.add_typer(group, name="mv", rich_help_panel="Change views")


def _status(name: str, layout: str, freshness: Freshness) -> MaterializedStatus:
    reasons = tuple(map(str, freshness.reasons))
    return MaterializedStatus(
        view=name,
        layout=layout,
        freshness=freshness.verdict.value,
        reasons=reasons,
        refreshed_ms=freshness.refreshed_ms,
    )


def _has_stale_rows(result: MaterializedStatus | MaterializedOverview) -> bool:
    """Return whether rows are neither fresh nor within their grace."""
    from hive_views.materialized.freshness.verdict import Verdict

    if isinstance(result, MaterializedOverview):
        verdicts = [item.freshness.verdict for item in result.views]
    else:
        verdicts = [Verdict(result.freshness)]
    return any(verdict not in (Verdict.FRESH, Verdict.WITHIN_GRACE) for verdict in verdicts)


def _print_any_status(result: MaterializedStatus | MaterializedOverview) -> None:
    if isinstance(result, MaterializedStatus):
        _print_status(result)
        return
    headings = ("view", "freshness", "refreshed", "by", "seconds", "rows", "reason")
    print_table(headings, map(_overview_row, result.views))
    for item in result.views:
        if item.failure is not None:
            print_line(f"{shown(str(item.name))}: {_failure_text(item.failure)}")


def _failure_text(failure: FailedRefresh) -> str:
    return f"its last refresh failed {iso_time(failure.started_ms)}: {shown(failure.error)}"


def _overview_row(item: ListedView) -> tuple[object, ...]:
    last, refreshed_ms = item.last, item.freshness.refreshed_ms
    return (
        item.name,
        item.freshness.verdict.value,
        None if refreshed_ms is None else iso_time(refreshed_ms),
        None if last is None else last.action,
        None if last is None or last.seconds is None else f"{last.seconds:.1f}",
        None if last is None else last.rows,
        "; ".join(map(str, item.freshness.reasons)),
    )


def _print_status(status: MaterializedStatus) -> None:
    print_line(f"{status.view}  {status.freshness}")
    for reason in status.reasons:
        print_line(f"  {reason}")
    if status.failure is not None:
        print_line(f"  {_failure_text(status.failure)}")
    if status.stale_partitions is not None:
        print_line(f"  {shown(str(status.stale_partitions))}")
    print_line(f"  layout   {status.layout}")
    if status.storage is not None:
        print_line(f"  storage  {status.storage}")
    if status.snapshot_id is not None:
        print_line(f"  snapshot {status.snapshot_id}, {status.rows} row(s)")
    if status.max_staleness_ms is not None:
        print_line(f"  max staleness {status.max_staleness_ms} ms")
    if status.allow_stale_data:
        print_line("  stale rows allowed")


def _print_explanation(explanation: RefreshExplanation) -> None:
    for line in explanation.lines():
        print_line(line)


def _print_list(result: MaterializedList) -> None:
    for item in result.views:
        print_line(f"{item.view}  {item.freshness}  ({item.layout})")


def _print_changed(result: Changed) -> None:
    print_line(f"{result.view}  {result.action}")


def _print_dropped(result: DroppedMaterialized) -> None:
    print_line(f"Dropped {result.dropped}")
    if result.remaining_files:
        locations = ", ".join(result.remaining_files)
        print_line(f"These files could not be deleted: {locations}", style="yellow")


AgeOption = Annotated[float, typer.Option(metavar="HOURS", min=0)]

_HOUR_MS = 3_600_000


def orphans(
    catalog: HiveViewCatalog, name: NameArgument, *, remove: bool = False, older_than: AgeOption = 72.0
) -> dict[str, Any]:
    """List or remove what interrupted refreshes of a materialized view left behind.

    Args:
        remove: Remove what is listed.
        older_than: Minimum age in hours. A running refresh has such files, too.
    """
    view = catalog.materialized.load(name)
    collect = view.remove_orphans if remove else view.orphans
    garbage = collect(older_than_ms=int(older_than * _HOUR_MS))
    return {"view": name.lower(), **_garbage_fields(garbage, "snapshots", "rows", "files"), "removed": remove}


def abandoned(
    catalog: HiveViewCatalog,
    database: NamespaceArgument,
    *,
    remove: bool = False,
    definitions: bool = False,
    older_than: AgeOption = 72.0,
    location: Annotated[list[str], typer.Option("--location", metavar="URI")] = [],  # noqa: B006 -- never changed
) -> dict[str, Any]:
    """List or remove storage tables and files in a database whose materialized view does not exist.

    An interrupted CREATE or DROP leaves them behind, and a DROP by another program. What a view or table of this
    metastore references is never listed; references of other metastores are not known.

    Args:
        database: The database.
        remove: Remove what is listed, except definitions.
        definitions: With --remove: remove definitions, too. They cannot be restored.
        older_than: Minimum age in hours. A running CREATE has no view yet.
        location: A base location outside of the database's own to search as well. May be given several times.
    """
    views, age_ms = catalog.materialized, int(older_than * _HOUR_MS)
    if remove:
        garbage = views.remove_abandoned(database, older_than_ms=age_ms, locations=location, definitions=definitions)
    else:
        garbage = views.abandoned(database, older_than_ms=age_ms, locations=location)
    found = _garbage_fields(garbage, "tables", "rows", "files", "definitions", "doubts")
    return {"database": database.lower(), **found, "removed": remove}


def _question_abandoned(database: str, remove: bool, **_: object) -> str:
    question = f"Remove what materialized views that do not exist left behind in {database}?"
    return f"{question} No other metastore may use its directories." if remove else ""


def _garbage_fields(garbage: Garbage, *keys: str) -> dict[str, Any]:
    return {**{key: getattr(garbage, key) for key in keys}, "kept": [str(item) for item in garbage.kept]}


def _print_orphans(report: dict[str, Any]) -> None:
    count = _print_garbage(report, ("snapshots", "rows", "files"))
    print_line(f"{count} orphan(s){' removed' if report['removed'] else ''}")


def _print_abandoned(report: dict[str, Any]) -> None:
    count = _print_garbage(report, ("tables", "rows", "files", "definitions"))
    print_line(f"{count} left behind{', removed' if report['removed'] else ''}")


def _print_garbage(report: dict[str, Any], keys: tuple[str, ...]) -> int:
    """Print what was found, what may own some of it, and what stays; returns the number of items."""
    width = max(map(len, keys)) - 1
    for key in keys:
        for item in report[key]:
            print_line(f"{key[:-1]:<{width}} {item}")
    for doubt in report.get("doubts", ()):
        print_line(f"cannot be read, and may own some of it: {doubt}")
    for item in report["kept"]:
        print_line(f"stays: {item}")
    return sum(len(report[key]) for key in keys)
