"""`deps partitions`: the partitions of tables that a view's partition needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hive_views.cli.binding import bind
from hive_views.cli.commands.reading import ViewArgument
from hive_views.cli.exit_codes import ExitCode
from hive_views.cli.output import console, json_value, shown
from hive_views.errors import UsageError

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.partitions import PartitionDependencies

Values = Annotated[list[str], typer.Argument(metavar="[COLUMN=VALUE]...")]


def show_partitions(
    catalog: HiveViewCatalog,
    name: ViewArgument,
    values: Values = [],  # noqa: B006 -- never changed; Typer takes the default's type for the argument's
) -> PartitionDependencies:
    """Show which partitions of tables a view's partition needs, which are missing, and when each was last written.

    Args:
        catalog: The catalog.
        name: A view, as database.name.
        values: The view's partition, as ds=2026-01-01; the whole view by default.
    """
    partition = {}
    for text in values:
        column, sign, value = text.partition("=")
        if not column or not sign:
            raise UsageError("COLUMN=VALUE", f"{text!r} is no column and value: write ds=2026-01-01")
        partition[column] = value
    return catalog.partition_dependencies(name, partition)


def print_partitions(value: PartitionDependencies) -> None:
    """Print the tables with their partitions, then whether the partition is complete."""
    out = console()
    for table in value.tables:
        restricted = ", ".join(f"{column} = {equal}" for column, equal in table.restricted)
        scope = restricted or ("all partitions" if table.partition_columns else "no partitions")
        out.print(shown(f"{table.table}  {scope if table.exists else 'missing'}"), style="bold", soft_wrap=True)
        for part in table.partitions:
            note = " (row created)" if part.trust.value == "creation" else ""
            written = json_value(part.written) or "unknown"
            out.print(shown(f"  {part.name or 'the table'}  {written}{note}"), soft_wrap=True)
        for spec in table.missing:
            name = "/".join(f"{column}={text}" for column, text in spec)
            out.print(shown(f"  {name}  missing"), style="red", soft_wrap=True)
        for reason in table.reasons:
            out.print(shown(f"  {reason}"), style="yellow", soft_wrap=True)
    verdict = {True: "complete", False: "incomplete", None: "unknown"}[value.complete]
    out.print(shown(f"{verdict}: {value.why}"), soft_wrap=True)
    fresh_as_of, last_written = (json_value(time) or "unknown" for time in (value.fresh_as_of, value.last_written))
    out.print(f"fresh as of {fresh_as_of}, last written {last_written}")


def partitions_code(value: PartitionDependencies) -> ExitCode:
    """Return the exit code: 1 if something is missing."""
    return ExitCode.FAILED if value.complete is False else ExitCode.OK


def register(group: typer.Typer) -> None:
    """Add the command to `deps`."""
    bind(group, "partitions", show_partitions, print_partitions, code=partitions_code)
