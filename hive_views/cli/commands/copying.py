"""`hive-views copy plan|run|revert`: copies of views from or to another catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import Command, bind
from hive_views.cli.connection import open_catalog
from hive_views.cli.output import bar, print_line
from hive_views.errors import UsageError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.view_copy import CopiedView, RevertedView

Databases = Annotated[list[str], typer.Argument(metavar="[DATABASE]...")]
Views = Annotated[list[str], typer.Option("--view", metavar="DATABASE.NAME")]
Name = Annotated[str | None, typer.Option(metavar="NAME")]
Journal = Annotated[str, typer.Option(metavar="FILE")]

_FAILURES = ("refused", "failed", "unknown")
"""The states of copies, and outcomes of reverts, for which the exit code is 1."""


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the application, under a heading."""
    group = typer.Typer(
        help="Copy views from or to another catalog, e.g. an Iceberg REST catalog.", no_args_is_help=True
    )
    bind(group, Command("plan", plan_copies, _print_copies, has_failed=_has_failed))
    bind(group, Command("run", run_copies, _print_copies, has_failed=_has_failed))
    bind(
        group,
        Command(
            "revert",
            revert_copied,
            _print_reverted,
            has_failed=_has_failed_revert,
            question=lambda journal, **_: f"Drop the copies that {journal} lists?",
        ),
    )
    app.add_typer(group, name="copy", rich_help_panel=panel)


def plan_copies(
    catalog: HiveViewCatalog,
    databases: Databases = [],  # noqa: B006 -- never changed
    *,
    view: Views = [],  # noqa: B006
    to_catalog: Name = None,
    from_catalog: Name = None,
    location: Annotated[str | None, typer.Option(metavar="URI")] = None,
) -> dict[str, list[CopiedView]]:
    """List what a copy would do, and what the target cannot hold. Nothing is written.

    Args:
        databases: Databases whose Iceberg views are all copied.
        view: A further view; may be given several times.
        to_catalog: The target: a catalog of PyIceberg's configuration, of type rest or hive.
        from_catalog: The source, likewise; the target is then the catalog of this command.
        location: The directory for the copies' metadata files; by default below the location of each namespace.
    """
    from hive_views.view_copy import plan_copy

    source, target = _endpoints(catalog, from_catalog, to_catalog)
    names = _names(source, databases, view)
    with bar("planning") as advance:
        return {"views": plan_copy(source, target, names, location=location, progress=advance)}


def run_copies(
    catalog: HiveViewCatalog,
    databases: Databases = [],  # noqa: B006
    *,
    view: Views = [],  # noqa: B006
    to_catalog: Name = None,
    from_catalog: Name = None,
    location: Annotated[str | None, typer.Option(metavar="URI")] = None,
    journal: Journal = "copy.jsonl",
) -> dict[str, list[CopiedView]]:
    """Copy views with their history. A repetition copies what is missing; views of the target are not overwritten.

    Args:
        databases: As for plan.
        view: As for plan.
        to_catalog: As for plan.
        from_catalog: As for plan.
        location: As for plan.
        journal: The file that records the copies, for revert.
    """
    from hive_views.view_copy import copy_views

    source, target = _endpoints(catalog, from_catalog, to_catalog)
    names = _names(source, databases, view)
    with bar("planning") as advance:
        return {"views": copy_views(source, target, names, journal=journal, location=location, progress=advance)}


def revert_copied(
    catalog: HiveViewCatalog, *, journal: Journal = "copy.jsonl", to_catalog: Name = None
) -> dict[str, list[RevertedView]]:
    """Drop the copies of a journal, unless they were changed.

    Args:
        journal: The journal of run.
        to_catalog: The catalog with the copies; by default the catalog of this command.
    """
    from hive_views.view_copy import revert_copies

    target = catalog if to_catalog is None else open_catalog(to_catalog)
    with bar("reverting") as advance:
        return {"views": revert_copies(target, journal, progress=advance)}


def _endpoints(catalog: HiveViewCatalog, from_catalog: str | None, to_catalog: str | None) -> tuple[Catalog, Catalog]:
    """The source and the target."""
    if (from_catalog is None) == (to_catalog is None):
        raise UsageError("--to-catalog", "name the other catalog: --to-catalog, or --from-catalog")
    if to_catalog is not None:
        return catalog, open_catalog(to_catalog)
    assert from_catalog is not None
    return open_catalog(from_catalog), catalog


def _names(source: Catalog, databases: Sequence[str], views: Sequence[str]) -> list[str]:
    if not databases and not views:
        raise UsageError("DATABASE", "name databases, or views with --view")
    from hive_views.view_copy.catalogs import errors_of

    with errors_of(source):
        listed = [".".join(identifier) for database in databases for identifier in source.list_views(database)]
    return [*listed, *views]


def _has_failed(result: dict[str, list[CopiedView]]) -> bool:
    return any(view.status.value in _FAILURES for view in result["views"])


def _has_failed_revert(result: dict[str, list[RevertedView]]) -> bool:
    from hive_views.view_copy.copy import RevertOutcome

    # An absent view has a problem if the journal is of another catalog.
    return any(
        view.outcome in _FAILURES or (view.outcome == RevertOutcome.ABSENT and view.problem) for view in result["views"]
    )


def _print_copies(result: dict[str, list[CopiedView]]) -> None:
    for view in result["views"]:
        problem = f": {view.problem}" if view.problem else ""
        print_line(f"{view.name}: {view.status.value}{problem}")
        for note in view.notes:
            print_line(f"  {note}")


def _print_reverted(result: dict[str, list[RevertedView]]) -> None:
    for view in result["views"]:
        problem = f": {view.problem}" if view.problem else ""
        print_line(f"{view.name}: {view.outcome}{problem}")
