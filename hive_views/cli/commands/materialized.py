"""`hive-views mv`: commands that create, change, show and drop materialized views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import bind
from hive_views.cli.commands import garbage_collection
from hive_views.cli.commands.materialized_refresh import NameArgument, register_refresh
from hive_views.cli.commands.materialized_values import (
    Changed,
    DroppedMaterialized,
    MaterializedList,
    MaterializedStatus,
)
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import console, shown
from hive_views.errors import UsageError
from hive_views.errors.tree import after_steps

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.freshness.verdict import Freshness

NamespaceArgument = Annotated[str, typer.Argument(metavar="DATABASE")]
Sql = Annotated[str | None, typer.Option("--sql", metavar="TEXT")]
SqlFile = Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE")]
Partitions = Annotated[list[str], typer.Option("--partitioned-by", metavar="COLUMN")]
Properties = Annotated[list[str], typer.Option("--property", "-p", metavar="KEY=VALUE")]


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
        catalog: The catalog.
        name: The view, as database.name.
        sql: The query.
        file: A file that holds the query.
        layout: Where it keeps its rows: registered, attached or table.
        partitioned_by: A column that partitions its rows, or year(c), month(c), day(c), hour(c), bucket(n, c).
        property: A property of the view.
        dialect: The SQL dialect of the query.
    """
    from hive_views.cli.connection import parse_properties

    catalog.materialized.create(
        name,
        _query(sql, file),
        layout=layout,
        partitioned_by=partitioned_by,
        properties=parse_properties(property, "--property"),
        dialect=dialect,
    )
    with after_steps(f"the materialized view {name.lower()} was created"):
        return materialized_status(catalog, name)


def replace_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    sql: Sql = None,
    file: SqlFile = None,
    property: Properties = [],  # noqa: B006
    dialect: Annotated[str, typer.Option(metavar="NAME")] = "spark",
) -> Changed:
    """Give a materialized view another query. Its stored rows answer no query until the next refresh.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
        sql: The query.
        file: A file that holds the query.
        property: A property to set in the same commit; others stay.
        dialect: The SQL dialect of the query.
    """
    from hive_views.cli.connection import parse_properties

    properties = parse_properties(property, "--property")
    done = catalog.materialized.replace(name, _query(sql, file), properties=properties, dialect=dialect)
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
        catalog: The catalog.
        name: The view, as database.name.
        property: A property to set, e.g. hive-views.max-staleness-ms=3600000. May be given several times.
        unset: The key of a property to remove; missing keys are ignored.
    """
    from hive_views.cli.connection import parse_properties

    updates = parse_properties(property, "--property")
    if not updates and not unset:
        raise UsageError("--property", "name what to set, or with --unset what to remove")
    done = catalog.materialized.set_properties(name, updates, removals=unset)
    return Changed(name.lower(), "changed" if done else "unchanged")


def to_plain(catalog: HiveViewCatalog, name: NameArgument) -> Changed:
    """Make a materialized view a plain one. No row is copied or deleted: its storage is kept for mv back.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
    """
    catalog.materialized.to_plain_view(name)
    return Changed(name.lower(), "plain")


def to_materialized(
    catalog: HiveViewCatalog,
    name: NameArgument,
    *,
    partitioned_by: Partitions = [],  # noqa: B006
) -> Changed:
    """Make a plain view a materialized one: with the rows that it had stored, else with an empty storage.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
        partitioned_by: For a new storage: a column that partitions its rows, or year(c), month(c), bucket(n, c) …
    """
    catalog.materialized.from_plain_view(name, partitioned_by=partitioned_by)
    return Changed(name.lower(), "materialized")


def materialized_status(catalog: HiveViewCatalog, name: NameArgument) -> MaterializedStatus:
    """Show how fresh a materialized view is, and why. The exit code is 1 unless it is fresh or within grace.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
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
        view.max_staleness_ms,
        view.allow_stale_data,
    )


def list_materialized(catalog: HiveViewCatalog, namespace: NamespaceArgument) -> MaterializedList:
    """List the materialized views of a database with their freshness.

    Args:
        catalog: The catalog.
        namespace: The database.
    """
    views = catalog.materialized.listing(namespace)
    return MaterializedList(tuple(_status(str(item.name), item.layout.value, item.freshness) for item in views))


def drop_materialized(
    catalog: HiveViewCatalog, name: NameArgument, *, cascade: bool = False, restrict: bool = False
) -> DroppedMaterialized:
    """Drop a materialized view with its stored rows.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
        cascade: Drop every view that depends on it first.
        restrict: Drop nothing if a view depends on it.
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
    register_refresh(group)
    garbage_collection.register(group)
    bind(group, "status", materialized_status, _print_status, code=_status_code)
    bind(group, "list", list_materialized, _print_list)
    bind(group, "replace", replace_materialized, _print_changed)
    bind(group, "set", set_materialized, _print_changed)
    bind(group, "plain", to_plain, _print_changed)
    bind(group, "back", to_materialized, _print_changed)
    bind(group, "drop", drop_materialized, _print_dropped, question=_question)
    app.add_typer(group, name="mv", rich_help_panel="Change views")


def _status_code(status: MaterializedStatus) -> ExitCode:
    from hive_views.materialized.freshness.verdict import Verdict

    is_usable = status.freshness in (Verdict.FRESH.value, Verdict.WITHIN_GRACE.value)
    return ExitCode.OK if is_usable else ExitCode.FAILED


def _question(name: str, **_: object) -> str:
    return f"Drop the materialized view {name} and its stored rows?"


def _query(sql: str | None, file: Path | None) -> str:
    if (sql is None) == (file is None):
        raise UsageError("--sql", "give the query either by --sql or by --file")
    if sql is not None:
        return sql
    try:
        return Path(str(file)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("--file", f"{file}: {error}") from error


def _status(name: str, layout: str, freshness: Freshness) -> MaterializedStatus:
    reasons = tuple(map(str, freshness.reasons))
    return MaterializedStatus(name, layout, freshness.verdict.value, reasons, freshness.refreshed_ms)


def _print_status(status: MaterializedStatus) -> None:
    out = console()
    out.print(f"{shown(status.view)}  {status.freshness}", soft_wrap=True)
    for reason in status.reasons:
        out.print(f"  {shown(reason)}", soft_wrap=True)
    out.print(f"  layout   {status.layout}")
    if status.storage is not None:
        out.print(f"  storage  {shown(status.storage)}", soft_wrap=True)
    if status.snapshot_id is not None:
        out.print(f"  snapshot {status.snapshot_id}, {status.rows} row(s)")
    if status.max_staleness_ms is not None:
        out.print(f"  max staleness {status.max_staleness_ms} ms")
    if status.allow_stale_data:
        out.print("  stale rows allowed")


def _print_list(result: MaterializedList) -> None:
    out = console()
    for item in result.views:
        out.print(f"{shown(item.view)}  {item.freshness}  ({item.layout})", soft_wrap=True)


def _print_changed(result: Changed) -> None:
    console().print(f"{shown(result.view)}  {result.action}", soft_wrap=True)


def _print_dropped(result: DroppedMaterialized) -> None:
    console().print(f"Dropped {shown(result.dropped)}", soft_wrap=True)
