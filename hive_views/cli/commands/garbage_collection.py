"""`hive-views mv orphans` and `mv abandoned`: garbage collection of materialized views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_views.cli.binding import bind
from hive_views.cli.output import console, shown

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.maintenance.garbage_collection import Garbage

NameArgument = Annotated[str, typer.Argument(metavar="DATABASE.NAME")]
NamespaceArgument = Annotated[str, typer.Argument(metavar="DATABASE")]
AgeOption = Annotated[float, typer.Option(metavar="HOURS")]

_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class OrphanReport:
    """The result of `mv orphans`."""

    view: str
    garbage: Garbage
    removed: bool

    def to_json(self) -> dict[str, Any]:
        """The JSON fields."""
        garbage = self.garbage
        return {
            "view": self.view,
            "snapshots": garbage.snapshots,
            "rows": garbage.rows,
            "files": garbage.files,
            "kept": [str(item) for item in garbage.kept],
            "removed": self.removed,
        }


@dataclass(frozen=True)
class AbandonedReport:
    """The result of `mv abandoned`."""

    database: str
    garbage: Garbage
    removed: bool
    """Whether it was removed; definitions only if that was requested."""

    def to_json(self) -> dict[str, Any]:
        """The JSON fields."""
        garbage = self.garbage
        return {
            "database": self.database,
            "tables": garbage.tables,
            "rows": garbage.rows,
            "files": garbage.files,
            "definitions": garbage.definitions,
            "doubts": garbage.doubts,
            "kept": [str(item) for item in garbage.kept],
            "removed": self.removed,
        }


def orphans(
    catalog: HiveViewCatalog, name: NameArgument, *, remove: bool = False, older_than: AgeOption = 72.0
) -> OrphanReport:
    """List or remove what interrupted refreshes of a materialized view left behind.

    Args:
        catalog: The catalog.
        name: The view, as database.name.
        remove: Remove what is listed.
        older_than: Minimum age in hours. A running refresh has such files, too.
    """
    views = catalog.materialized
    collect = views.remove_orphans if remove else views.orphans
    return OrphanReport(name.lower(), collect(name, older_than_ms=int(older_than * _HOUR_MS)), remove)


def abandoned(
    catalog: HiveViewCatalog,
    database: NamespaceArgument,
    *,
    remove: bool = False,
    definitions: bool = False,
    older_than: AgeOption = 72.0,
    location: Annotated[list[str], typer.Option("--location", metavar="URI")] = [],  # noqa: B006 -- never changed
) -> AbandonedReport:
    """List or remove storage tables and files in a database whose materialized view does not exist.

    An interrupted CREATE or DROP leaves them behind, and a DROP by another program. What a view or table of this
    metastore references is never listed; references of other metastores are not known.

    Args:
        catalog: The catalog.
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
    return AbandonedReport(database.lower(), garbage, remove)


def register(group: typer.Typer) -> None:
    """Add the commands to the group `mv`."""
    bind(group, "orphans", orphans, _print_orphans, question=_question_orphans)
    bind(group, "abandoned", abandoned, _print_abandoned, question=_question_abandoned)


def _question_orphans(name: str, remove: bool, **_: object) -> str:
    return f"Remove what refreshes of {name} left behind? None may be running." if remove else ""


def _question_abandoned(database: str, remove: bool, **_: object) -> str:
    question = f"Remove what materialized views that do not exist left behind in {database}?"
    return f"{question} No other metastore may use its directories." if remove else ""


def _print_orphans(report: OrphanReport) -> None:
    garbage = report.garbage
    count = _print_items({"snapshot": garbage.snapshots, "row     ": garbage.rows, "file    ": garbage.files})
    _print_kept(garbage)
    console().print(f"{count} orphan(s){' removed' if report.removed else ''}")


def _print_abandoned(report: AbandonedReport) -> None:
    garbage = report.garbage
    count = _print_items(
        {
            "table     ": garbage.tables,
            "row       ": garbage.rows,
            "file      ": garbage.files,
            "definition": garbage.definitions,
        }
    )
    for doubt in garbage.doubts:
        console().print(f"cannot be read, and may own some of it: {shown(doubt)}", soft_wrap=True)
    _print_kept(garbage)
    console().print(f"{count} left behind{', removed' if report.removed else ''}")


def _print_items(items: dict[str, tuple[Any, ...]]) -> int:
    """Print items by category, and return their number."""
    for category, names in items.items():
        for name in names:
            console().print(f"{category} {shown(str(name))}", soft_wrap=True)
    return sum(map(len, items.values()))


def _print_kept(garbage: Garbage) -> None:
    for item in garbage.kept:
        console().print(f"stays: {shown(str(item))}", soft_wrap=True)
