"""`hive-views mv abandoned`: what a CREATE or DROP that was killed left in a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import bind
from hive_views.cli.output import console, shown

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog

NamespaceArgument = Annotated[str, typer.Argument(metavar="DATABASE")]


@dataclass(frozen=True)
class AbandonedList:
    """What `mv abandoned` returns."""

    database: str
    """The database."""
    tables: tuple[str, ...]
    """Storage tables whose view is not there."""
    rows: tuple[str, ...]
    """Rows that refreshes made for themselves."""
    files: tuple[str, ...]
    """Files of storages whose view is not there."""
    definitions: tuple[str, ...]
    """Metadata files of materialized views that are not there; `register` brings one back."""
    doubts: tuple[str, ...]
    """Views and catalogs that cannot be read and may own something: where there are any, only rows are listed."""
    kept: tuple[str, ...]
    """What is not listed, or could not be removed, and why."""
    removed: bool
    """Whether they are gone now: the definitions only if that was asked for."""


def abandoned(
    catalog: HiveViewCatalog,
    database: NamespaceArgument,
    *,
    remove: bool = False,
    definitions: bool = False,
    older_than: Annotated[float, typer.Option(metavar="HOURS")] = 72.0,
    location: Annotated[list[str], typer.Option("--location", metavar="URI")] = [],  # noqa: B006 -- never changed
) -> AbandonedList:
    """List what materialized views left in a database that are not there, or remove it.

    A CREATE or DROP that was killed leaves that, and a DROP by another program. What a view or table points to is never
    among it; what another metastore points to is not known.

    Args:
        catalog: Where it is.
        database: The database.
        remove: Remove what is listed, but for definitions.
        definitions: With --remove: remove definitions, too. Nobody can write them again.
        older_than: For how many hours nothing must have been written there. A CREATE that is running owns nothing yet.
        location: A base location outside of the database's own that is looked into as well. May be given several times.

    Returns:
        What was found.

    Raises:
        NoSuchNamespaceError: If there is no such database.
    """
    views, age_ms = catalog.materialized, int(older_than * 3_600_000)
    if remove:
        found = views.remove_abandoned(database, older_than_ms=age_ms, locations=location, definitions=definitions)
    else:
        found = views.abandoned(database, older_than_ms=age_ms, locations=location)
    return AbandonedList(
        database.lower(),
        tuple(map(str, found.tables)),
        tuple(map(str, found.rows)),
        found.files,
        found.definitions,
        found.doubts,
        tuple(map(str, found.kept)),
        remove,
    )


def register_abandoned(group: typer.Typer) -> None:
    """Add the command to its group.

    Args:
        group: The group `mv`.
    """
    bind(group, "abandoned", abandoned, _print, question=_question)


def _question(database: str, remove: bool, **_: object) -> str:
    what = f"Remove what materialized views left in {database} that are not there?"
    return f"{what} No other metastore may use its directories." if remove else ""


def _print(found: AbandonedList) -> None:
    out = console()
    kinds = {"table": found.tables, "row": found.rows, "file": found.files, "definition": found.definitions}
    for kind, names in kinds.items():
        for name in names:
            out.print(f"{kind:10} {shown(name)}", soft_wrap=True)
    for doubt in found.doubts:
        out.print(f"cannot be read, and may own some of it: {shown(doubt)}", soft_wrap=True)
    for item in found.kept:
        out.print(f"stays: {shown(item)}", soft_wrap=True)
    out.print(f"{sum(map(len, kinds.values()))} left behind{', removed' if found.removed else ''}")
