"""`hive-views mv refresh`, `refreshes`, `rows` and `expire`: commands about stored rows."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import bind
from hive_views.cli.commands.materialized_values import (
    ExpiredRows,
    Refreshed,
    RefreshResult,
    StoredPage,
    StoredRefresh,
    StoredRefreshes,
)
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import console, print_table, shown
from hive_views.errors import RefreshError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.refresh.refresh import RefreshReport

NameArgument = Annotated[str, typer.Argument(metavar="DATABASE.NAME")]


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
    tell: Callable[[str], None] | None = None,
) -> RefreshResult:
    """Refresh a materialized view, or several, on a Spark session of its own.

    Several views are refreshed each after those that it reads. A failure skips only what depends on the view (exit code
    1). Rows that were computed under one time zone answer queries only in sessions with the same time zone.

    Args:
        catalog: The catalog.
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
        incremental: Compute only added rows, or fail.
        cascade: Refresh the materialized views that it reads first.
        spark: The Spark master, e.g. local[4], yarn.
        conf: A Spark setting, e.g. spark.driver.memory=4g. May be given several times.
        time_zone: The session's time zone, e.g. UTC. Default: that of the settings, else of this machine.
        cache: A directory that caches Iceberg's runtime for Spark (47 MB). Default: hive-views in the user's cache
            directory.
        tell: Called with a line of text at each step.
    """
    from hive_views.cli.connection import parse_properties
    from hive_views.spark.refresh.command import engine_on_spark

    if full and incremental:
        raise UsageError("--full", "it does not go with --incremental")
    if parallel < 1:
        raise UsageError("--parallel", f"refresh at least one view at a time, not {parallel}")
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
    mode = "full" if full else "incremental" if incremental else "auto"
    engine = engine_on_spark(
        catalog,
        master=spark,
        conf=settings,
        time_zone=time_zone,
        cache=cache,
        progress=tell,
    )
    with engine as spark_engine:
        if names is None:
            reports = catalog.materialized.refresh(str(name), spark_engine, mode=mode, cascade=cascade, progress=tell)
            return RefreshResult(tuple(map(_refreshed, reports)))
        outcomes = catalog.materialized.refresh_many(
            [item.identifier for item in names], spark_engine, mode=mode, parallel=parallel, progress=tell
        )
    return RefreshResult(
        tuple(
            _refreshed(outcome.report)
            if outcome.report is not None
            else Refreshed(str(outcome.name), outcome.action, outcome.why, None, None, 0.0)
            for outcome in outcomes
        )
    )


def materialized_refreshes(catalog: HiveViewCatalog, name: NameArgument) -> StoredRefreshes:
    """List the refreshes whose rows the storage still has, which `mv rows` can read.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
    """
    from hive_views.cli.commands.reading import iso_time

    view = catalog.materialized.load(name)
    current = None if view.snapshot is None else view.snapshot.snapshot_id
    log = () if view.storage is None else view.storage.metadata.snapshot_log
    since = {entry.snapshot_id: entry.timestamp_ms for entry in reversed(log)}
    refreshes = catalog.materialized.refreshes(name)
    return StoredRefreshes(
        str(view.name),
        tuple(
            StoredRefresh(
                item.snapshot_id,
                since.get(item.snapshot_id, item.timestamp_ms),
                iso_time(since.get(item.snapshot_id, item.timestamp_ms)),
                item.snapshot_id == current,
                item.state.view_version_id,
                {str(source.name): source.id for source in item.state.sources},
            )
            for item in refreshes
        ),
    )


def materialized_rows(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    version: Annotated[str | None, typer.Option(metavar="SNAPSHOT|TAG")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    limit: Annotated[int, typer.Option(metavar="N")] = 20,
) -> StoredPage:
    """Read current or earlier stored rows, fresh or not. Spark is not needed.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
        version: A snapshot, as mv refreshes lists them, or a tag of the storage. Default: the current one.
        at: A time, in place of a version: the rows that were current then. ISO 8601, or milliseconds from the epoch.
        limit: Maximum number of rows.
    """
    from hive_views.cli.commands.reading import iso_time
    from hive_views.cli.commands.writing import parse_time

    if version is not None and at is not None:
        raise UsageError("--at", "it does not go with --version")
    if limit < 1:
        raise UsageError("--limit", f"read at least one row, not {limit}")
    try:
        at_ms = None if at is None else parse_time(at)
    except UsageError as error:
        raise UsageError("--at", error.reason) from None
    wanted = int(version) if version is not None and version.isascii() and version.isdecimal() else version
    stored = catalog.materialized.stored(name, version=wanted, at_ms=at_ms)
    storage = catalog.materialized.load(name).storage
    if storage is None:
        raise RefreshError(str(stored.view), "its storage is gone")
    if stored.snapshot_id is None or stored.timestamp_ms is None:
        return StoredPage(str(stored.view), None, None, tuple(storage.schema().column_names), ())
    try:
        table = storage.scan(snapshot_id=stored.snapshot_id, limit=limit).to_arrow()
    except (OSError, ValueError) as error:
        raise RefreshError(str(stored.view), f"its stored rows cannot be read: {error}") from error
    return StoredPage(
        str(stored.view),
        stored.snapshot_id,
        iso_time(stored.timestamp_ms),
        tuple(table.column_names),
        tuple(tuple(map(_plain, row.values())) for row in table.to_pylist()),
    )


def expire_rows(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    older_than: Annotated[float, typer.Option(metavar="HOURS")] = 120.0,
    keep: Annotated[int, typer.Option(metavar="N")] = 1,
) -> ExpiredRows:
    """Expire earlier stored rows and delete their files. The current rows and those of branches and tags are kept.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
        older_than: How many hours ago they must have been replaced. Queries that still read them fail.
        keep: How many of the last snapshots to keep in any case.
    """
    expired = catalog.materialized.expire(name, older_than_ms=int(older_than * 3_600_000), keep=keep)
    return ExpiredRows(name.lower(), expired.snapshots, expired.files, tuple(map(str, expired.kept)))


def register_refresh(group: typer.Typer) -> None:
    """Add the commands to their group.

    Args:
        group: The group `mv`.
    """
    bind(group, "refresh", refresh_materialized, _print_refreshed, tell=_print_progress, code=_refresh_code)
    bind(group, "refreshes", materialized_refreshes, _print_refreshes)
    bind(group, "rows", materialized_rows, _print_rows)
    bind(group, "expire", expire_rows, _print_expired, question=_question_expire)


def _question_expire(name: str, older_than: float, keep: int, **_: object) -> str:
    return f"Expire the rows of {name} that were replaced {older_than:g} hours ago, all but the last {keep}?"


def _refreshed(report: RefreshReport) -> Refreshed:
    return Refreshed(str(report.name), report.action, report.why, report.rows, report.written, round(report.seconds, 3))


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


def _refresh_code(result: RefreshResult) -> ExitCode:
    has_failed = any(item.action in ("failed", "skipped") for item in result.refreshed)
    return ExitCode.FAILED if has_failed else ExitCode.OK


def _print_refreshed(result: RefreshResult) -> None:
    out = console()
    if not result.refreshed:
        out.print("no materialized view is selected")
    for item in result.refreshed:
        out.print(f"{shown(item.view)}  {item.action}: {shown(item.why)}", soft_wrap=True)


def _print_refreshes(result: StoredRefreshes) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    out = console()
    table = Table("snapshot", "since", "version", "", box=SIMPLE_HEAD if out.is_terminal else None, pad_edge=False)
    for item in result.refreshes:
        table.add_row(str(item.snapshot_id), item.time, str(item.version_id), "current" if item.current else "")
    print_table(table)


def _print_rows(result: StoredPage) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    out = console()
    if result.snapshot_id is None:
        out.print("it was never refreshed")
        return
    table = Table(*map(shown, result.columns), box=SIMPLE_HEAD if out.is_terminal else None, pad_edge=False)
    for row in result.rows:
        table.add_row(*("NULL" if value is None else shown(value) for value in row))
    print_table(table)


def _print_expired(result: ExpiredRows) -> None:
    out = console()
    for item in result.kept:
        out.print(f"stays: {shown(item)}", soft_wrap=True)
    out.print(f"{len(result.snapshots)} snapshot(s) expired, {result.files} file(s) deleted")


def _print_progress(line: str) -> None:
    typer.echo(shown(line), err=True)
