"""`deps partitions`: the partitions of tables behind a view's partition, for Python as for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import bind
from hive_views.cli.commands.reading import ViewArgument
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import console, shown
from hive_views.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.partitions import TableDependency

Values = Annotated[list[str], typer.Argument(metavar="[COLUMN=VALUE]...")]


@dataclass(frozen=True)
class PartitionBehind:
    """A partition of a table."""

    name: str
    """As Hive writes it, not escaped; empty for a table without partitions."""
    written: str | None
    """When it was last written, in UTC; null if nobody knows."""
    trust: str
    """What that time is worth: `snapshot`, `row`, `creation` or `none`."""


@dataclass(frozen=True)
class TableBehind:
    """What is needed of one table."""

    table: str
    """`database.name`."""
    exists: bool
    """Whether it is there."""
    partition_columns: tuple[str, ...]
    """Its partition columns."""
    restricted: dict[str, str]
    """Those that the view restricts, and by what: a column of the view, or a constant in quotes."""
    partitions: tuple[PartitionBehind, ...]
    """The partitions."""
    missing: tuple[dict[str, str], ...]
    """Partitions that should be there, by column."""
    reasons: tuple[str, ...]
    """Why more may be named than is read."""


@dataclass(frozen=True)
class PartitionReport:
    """What `deps partitions` returns."""

    view: str
    """The view."""
    partition: dict[str, str]
    """What was asked for; empty for the whole view."""
    complete: bool | None
    """Whether everything is there; null where the view's text does not tell what should be."""
    why: str
    """The reason."""
    fresh_as_of: str | None
    """Until when every table has been written, in UTC; null where one has no time."""
    last_written: str | None
    """When anything behind it was last written, in UTC."""
    tables: tuple[TableBehind, ...]
    """The tables."""


def show_partitions(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    values: Values = [],  # noqa: B006 -- never changed; Typer takes the default's type for the argument's
) -> PartitionReport:
    """Show which partitions of tables a view's partition needs, which are missing, and when each was last written.

    Args:
        catalog: Where it is.
        name: A view, as database.name.
        values: The view's partition, as ds=2026-01-01; the whole view by default.

    Returns:
        The partitions of each table.

    Raises:
        UsageError: If a value is not written as COLUMN=VALUE.
        HiveViewsError: As `HiveViewCatalog.partition_dependencies` says.
    """
    asked = {}
    for text in values:
        column, sign, value = text.partition("=")
        if not column or not sign:
            raise UsageError("COLUMN=VALUE", f"{text!r} is no column and value: write ds=2026-01-01")
        asked[column] = value
    found = catalog.partition_dependencies(name, asked)
    return PartitionReport(
        str(found.view),
        dict(found.partition),
        found.complete,
        found.why,
        _time(found.fresh_as_of),
        _time(found.last_written),
        tuple(_table(item) for item in found.tables),
    )


def _table(item: TableDependency) -> TableBehind:
    return TableBehind(
        str(item.table),
        item.exists,
        item.partition_columns,
        dict(item.restricted),
        tuple(PartitionBehind(part.name, _time(part.written), part.trust.value) for part in item.partitions),
        tuple(dict(spec) for spec in item.missing),
        item.reasons,
    )


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.strftime("%Y-%m-%dT%H:%M:%SZ")


def print_partitions(value: PartitionReport) -> None:
    """The tables with their partitions, then the verdict."""
    out = console()
    for item in value.tables:
        by = ", ".join(f"{column} = {what}" for column, what in item.restricted.items())
        scope = by or ("all partitions" if item.partition_columns else "no partitions")
        out.print(shown(f"{item.table}  {scope if item.exists else 'missing'}"), style="bold", soft_wrap=True)
        for part in item.partitions:
            note = " (row created)" if part.trust == "creation" else ""
            out.print(shown(f"  {part.name or 'the table'}  {part.written or 'unknown'}{note}"), soft_wrap=True)
        for spec in item.missing:
            name = "/".join(f"{column}={text}" for column, text in spec.items())
            out.print(shown(f"  {name}  missing"), style="red", soft_wrap=True)
        for reason in item.reasons:
            out.print(shown(f"  {reason}"), style="yellow", soft_wrap=True)
    verdict = {True: "complete", False: "incomplete", None: "unknown"}[value.complete]
    out.print(shown(f"{verdict}: {value.why}"), soft_wrap=True)
    out.print(f"fresh as of {value.fresh_as_of or 'unknown'}, last written {value.last_written or 'unknown'}")


def partitions_code(value: PartitionReport) -> ExitCode:
    """1 where something is missing."""
    return ExitCode.FAILED if value.complete is False else ExitCode.OK


def register(group: typer.Typer) -> None:
    """Add the command to `deps`.

    Args:
        group: The group.
    """
    bind(group, "partitions", show_partitions, print_partitions, code=partitions_code)
