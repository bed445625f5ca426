"""`hive-views mv`: create, refresh, look at and drop materialized views."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import bind
from hive_views.cli.exits import ExitCode
from hive_views.cli.output import console, shown
from hive_views.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hive_views.catalog import HiveViewCatalog
    from hive_views.materialized.freshness import Freshness
    from hive_views.materialized.refresh import RefreshReport

NameArgument = Annotated[str, typer.Argument(metavar="DATABASE.NAME")]
NamespaceArgument = Annotated[str, typer.Argument(metavar="DATABASE")]
Sql = Annotated[str | None, typer.Option("--sql", metavar="TEXT")]
SqlFile = Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE")]
Partitions = Annotated[list[str], typer.Option("--partitioned-by", metavar="COLUMN")]
Properties = Annotated[list[str], typer.Option("--property", "-p", metavar="KEY=VALUE")]
Cache = Annotated[Path, typer.Option("--cache", metavar="DIR")]

SPARK_CATALOG = "hive_views_mv"
"""What Spark calls the catalog of a refresh that the command line starts."""


@dataclass(frozen=True)
class MaterializedStatus:
    """How one materialized view stands."""

    view: str
    """`database.name`."""
    layout: str
    """`registered`, `attached`, `table` or `trino`."""
    freshness: str
    """`fresh`, `fresh within grace`, `stale` or `unknown`."""
    reasons: tuple[str, ...]
    """Why it is not simply fresh."""
    refreshed_ms: int | None
    """When the refresh that its rows come from began."""
    storage: str | None = None
    """The storage table's name in the catalog; null where no catalog knows it, and in lists."""
    snapshot_id: int | None = None
    """The storage's current snapshot."""
    rows: int | None = None
    """How many rows it has."""


@dataclass(frozen=True)
class MaterializedList:
    """What `mv list` returns."""

    views: tuple[MaterializedStatus, ...]
    """The materialized views of the database, by name."""


@dataclass(frozen=True)
class Refreshed:
    """What one refresh did."""

    view: str
    """`database.name`."""
    action: str
    """`unchanged`, `full`, `incremental` or `partitions`."""
    why: str
    """Why it was done so."""
    rows: int | None
    """How many rows are stored now."""
    written: int | None
    """How many rows were written."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True)
class RefreshResult:
    """What `mv refresh` returns."""

    refreshed: tuple[Refreshed, ...]
    """The views, in the order in which they were refreshed."""


@dataclass(frozen=True)
class OrphanList:
    """What `mv orphans` returns."""

    view: str
    """`database.name`."""
    snapshots: tuple[int, ...]
    """Snapshots of the storage that were never published."""
    rows: tuple[str, ...]
    """Rows of the metastore for the refresh of an attached storage."""
    files: tuple[str, ...]
    """Files below the storage's location that nothing names."""
    removed: bool
    """Whether they are gone now."""


@dataclass(frozen=True)
class DroppedMaterialized:
    """What `mv drop` returns."""

    dropped: str
    """`database.name`."""


def create_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    layout: Annotated[str, typer.Option(metavar="LAYOUT")] = "registered",
    partitioned_by: Partitions = [],  # noqa: B006 -- never changed; Typer takes the default's type for the option's
    property: Properties = [],  # noqa: B006
    dialect: Annotated[str, typer.Option(metavar="NAME")] = "spark",
) -> MaterializedStatus:
    """Create a materialized view; it has no rows until it is refreshed.

    Args:
        catalog: Where to create it.
        name: The view, as database.name.
        sql: The query.
        file: A file that holds the query.
        layout: Where its rows are: registered, attached or table.
        partitioned_by: A column that divides its rows, or year(c), month(c), day(c), hour(c), bucket(n, c).
        property: A property of the view.
        dialect: The SQL dialect of the query.

    Returns:
        How it stands.

    Raises:
        UsageError: If there is no query, or two.
        HiveViewsError: As `catalog.materialized.create` says.
    """
    from hive_views.cli.connection import parse_properties

    if (sql is None) == (file is None):
        raise UsageError("--sql", "give the query either by --sql or by --file")
    text = sql if sql is not None else Path(str(file)).read_text(encoding="utf-8")
    catalog.materialized.create(
        name,
        text,
        layout=layout,
        partitioned_by=partitioned_by,
        properties=parse_properties(property, "--property"),
        dialect=dialect,
    )
    return materialized_status(catalog, name)


def refresh_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    full: bool = False,
    incremental: bool = False,
    cascade: bool = False,
    cache: Cache = Path(".cache"),
    tell: Callable[[str], None] | None = None,
) -> RefreshResult:
    """Refresh a materialized view on a Spark session of its own.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        full: Compute all rows anew.
        incremental: Compute only what was added, or fail.
        cascade: Refresh the materialized views that it reads first.
        cache: A directory that keeps Iceberg's runtime for Spark (47 MB).
        tell: Is told what is being done.

    Returns:
        What was done.

    Raises:
        UsageError: If options contradict each other.
        HiveViewsError: As `catalog.materialized.refresh` says.
    """
    from hive_views.spark.refresh_job import SparkEngine
    from hive_views.spark.runtime import iceberg_session

    if full and incremental:
        raise UsageError("--full", "it does not go with --incremental")
    uri = catalog.properties["uri"]
    warehouse = catalog.properties.get("warehouse", "")
    spark = iceberg_session(uri, warehouse, catalog=SPARK_CATALOG, cache=cache)
    try:
        reports = catalog.materialized.refresh(
            name,
            SparkEngine(spark, catalog, name=SPARK_CATALOG),
            mode="full" if full else "incremental" if incremental else "auto",
            cascade=cascade,
            tell=tell,
        )
    finally:
        spark.stop()
    return RefreshResult(tuple(_refreshed(report) for report in reports))


def materialized_status(catalog: HiveViewCatalog, name: NameArgument) -> MaterializedStatus:
    """Say how fresh a materialized view is, and why.

    Args:
        catalog: Where it is.
        name: The view, as database.name.

    Returns:
        How it stands.

    Raises:
        NoSuchViewError: If there is none.
    """
    from hive_views.errors import NotMaterializedError

    freshness = catalog.materialized.freshness(name)
    try:
        view = catalog.materialized.load(name)
    except NotMaterializedError:
        return _status(name, "trino", freshness)
    snapshot = view.snapshot
    summary = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
    return MaterializedStatus(
        str(view.name),
        view.layout.value,
        freshness.verdict.value,
        tuple(map(str, freshness.reasons)),
        freshness.refreshed_ms,
        None if view.storage_name is None else str(view.storage_name),
        None if snapshot is None else snapshot.snapshot_id,
        int(summary["total-records"]) if "total-records" in summary else None,
    )


def list_materialized(catalog: HiveViewCatalog, namespace: NamespaceArgument) -> MaterializedList:
    """List the materialized views of a database with their freshness.

    Args:
        catalog: Where they are.
        namespace: The database.

    Returns:
        The views.

    Raises:
        NoSuchNamespaceError: If there is no such database.
    """
    found = catalog.materialized.listing(namespace)
    return MaterializedList(tuple(_status(str(item.name), item.layout.value, item.freshness) for item in found))


def materialized_orphans(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    remove: bool = False,
    older_than: Annotated[float, typer.Option(metavar="HOURS")] = 72.0,
) -> OrphanList:
    """List what refreshes that were killed left behind, or remove it.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        remove: Remove what is listed.
        older_than: How old it must be, in hours. A refresh that is running has such files too.

    Returns:
        What was found.

    Raises:
        NoSuchViewError: If there is none.
    """
    views = catalog.materialized
    find = views.remove_orphans if remove else views.orphans
    found = find(name, older_than_ms=int(older_than * 3_600_000))
    return OrphanList(name.lower(), found.snapshots, tuple(map(str, found.rows)), found.files, remove)


def drop_materialized(
    catalog: HiveViewCatalog, name: NameArgument, *, cascade: bool = False, restrict: bool = False
) -> DroppedMaterialized:
    """Drop a materialized view with its stored rows.

    Args:
        catalog: Where it is.
        name: The view, as database.name.
        cascade: Drop every view that depends on it as well.
        restrict: Drop nothing where a view depends on it.

    Returns:
        What was dropped.

    Raises:
        NoSuchViewError: If there is none.
        DependentsError: If it is restricted, and a view depends on it.
    """
    catalog.materialized.drop(name, cascade=cascade, restrict=restrict)
    return DroppedMaterialized(name.lower())


def register(app: typer.Typer) -> None:
    """Add the commands to the command line.

    Args:
        app: The application.
    """
    group = typer.Typer(help="Materialized views: views whose rows are stored.", no_args_is_help=True)
    bind(group, "create", create_materialized, _print_status)
    bind(group, "refresh", refresh_materialized, _print_refreshed, tell=_print_progress)
    bind(group, "status", materialized_status, _print_status, code=lambda _: ExitCode.OK)
    bind(group, "list", list_materialized, _print_list)
    bind(group, "orphans", materialized_orphans, _print_orphans, question=_question_orphans)
    bind(group, "drop", drop_materialized, _print_dropped, question=_question)
    app.add_typer(group, name="mv", rich_help_panel="Change views")


def _question(name: str, **_: object) -> str:
    return f"Drop the materialized view {name} and its stored rows?"


def _question_orphans(name: str, remove: bool, **_: object) -> str:
    return f"Remove what refreshes of {name} left behind? None may be running." if remove else ""


def _status(name: str, layout: str, freshness: Freshness) -> MaterializedStatus:
    reasons = tuple(map(str, freshness.reasons))
    return MaterializedStatus(name, layout, freshness.verdict.value, reasons, freshness.refreshed_ms)


def _refreshed(report: RefreshReport) -> Refreshed:
    return Refreshed(str(report.name), report.action, report.why, report.rows, report.written, round(report.seconds, 3))


def _print_status(found: MaterializedStatus) -> None:
    out = console()
    out.print(f"{shown(found.view)}  {found.freshness}", soft_wrap=True)
    for reason in found.reasons:
        out.print(f"  {shown(reason)}", soft_wrap=True)
    out.print(f"  layout   {found.layout}")
    if found.storage is not None:
        out.print(f"  storage  {shown(found.storage)}", soft_wrap=True)
    if found.snapshot_id is not None:
        out.print(f"  snapshot {found.snapshot_id}, {found.rows} row(s)")


def _print_list(found: MaterializedList) -> None:
    out = console()
    for item in found.views:
        out.print(f"{shown(item.view)}  {item.freshness}  ({item.layout})", soft_wrap=True)


def _print_orphans(found: OrphanList) -> None:
    out = console()
    lines = [f"snapshot {number}" for number in found.snapshots]
    lines += [f"row      {shown(row)}" for row in found.rows] + [f"file     {shown(file)}" for file in found.files]
    for line in lines:
        out.print(line, soft_wrap=True)
    out.print(f"{len(lines)} orphan(s){' removed' if found.removed else ''}")


def _print_refreshed(found: RefreshResult) -> None:
    out = console()
    for item in found.refreshed:
        out.print(f"{shown(item.view)}  {item.action}: {shown(item.why)}", soft_wrap=True)


def _print_dropped(found: DroppedMaterialized) -> None:
    console().print(f"Dropped {shown(found.dropped)}", soft_wrap=True)


def _print_progress(line: str) -> None:
    typer.echo(line, err=True)
