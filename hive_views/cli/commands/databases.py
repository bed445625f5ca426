"""`hive-views database create|list|drop`: the databases of the metastore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.commands.writing import Properties, Text
from hive_views.cli.connection import parse_properties
from hive_views.cli.output import print_line
from hive_views.errors import NamespaceAlreadyExistsError, NoSuchNamespaceError

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog

DatabaseArgument = Annotated[str, typer.Argument(metavar="DATABASE")]


@dataclass(frozen=True)
class DatabaseList:
    """The result of `database list`."""

    databases: tuple[str, ...]


@dataclass(frozen=True)
class ChangedDatabase:
    """The result of `database create` and `database drop`."""

    database: str
    outcome: str


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the command line, under a heading."""
    group = typer.Typer(help="Create, list and drop databases.", no_args_is_help=True)
    bind(group, Command("create", create_database, _print_changed))
    bind(group, Command("list", list_databases, _print_list))
    bind(
        group,
        Command("drop", drop_database, _print_changed, question=lambda database, **_: f"Drop database {database}?"),
    )
    app.add_typer(group, name="database", rich_help_panel=panel)


def create_database(
    catalog: HiveViewCatalog,
    database: DatabaseArgument,
    *,
    location: Annotated[str | None, typer.Option(metavar="URI")] = None,
    comment: Text = None,
    property: Properties = [],  # noqa: B006 -- never changed
    if_not_exists: bool = False,
) -> ChangedDatabase:
    """Create a database.

    Args:
        database: Its name.
        location: The parent directory of its views and tables; by default below the metastore's warehouse.
        comment: A comment on it.
        property: A property of it.
        if_not_exists: Do nothing if it exists.
    """
    properties = parse_properties(property, "--property")
    properties |= {key: value for key, value in (("location", location), ("comment", comment)) if value is not None}
    try:
        catalog.create_namespace(database, properties)
    except NamespaceAlreadyExistsError:
        if not if_not_exists:
            raise
        return ChangedDatabase(database.lower(), "unchanged")
    return ChangedDatabase(database.lower(), "created")


def list_databases(catalog: HiveViewCatalog) -> DatabaseList:
    """List the databases."""
    return DatabaseList(tuple(sorted(name for (name,) in catalog.list_namespaces())))


def drop_database(catalog: HiveViewCatalog, database: DatabaseArgument, *, if_exists: bool = False) -> ChangedDatabase:
    """Drop an empty database. Its directory is not deleted.

    Args:
        database: Its name.
        if_exists: Do not fail if there is no such database.
    """
    try:
        catalog.drop_namespace(database)
    except NoSuchNamespaceError:
        if not if_exists:
            raise
        return ChangedDatabase(database.lower(), "absent")
    return ChangedDatabase(database.lower(), "dropped")


def _print_changed(result: ChangedDatabase) -> None:
    print_line(f"{result.database}: {result.outcome}")


def _print_list(result: DatabaseList) -> None:
    for name in result.databases:
        print_line(name)
