"""Shell completion of names, which asks the metastore that the global options name."""

from __future__ import annotations

from contextlib import closing

import typer

from hive_views.cli.connection import ConnectionOptions, parse_properties
from hive_views.errors import HiveViewsError


def complete_view(context: typer.Context, incomplete: str) -> list[str]:
    """Return the databases, or the views of the database that is typed; none if the metastore cannot be asked."""
    options = context.find_root().params
    database, dot, _ = incomplete.partition(".")
    try:
        properties = parse_properties(options.get("properties") or (), "--property")
        connection = ConnectionOptions(options["catalog"], options["uri"], options["warehouse"], properties)
        with closing(connection.catalog()) as catalog:
            if not dot:
                return [f"{name}." for (name,) in catalog.list_namespaces() if name.startswith(incomplete)]
            return [name for name in map(".".join, catalog.list_views(database)) if name.startswith(incomplete)]
    except HiveViewsError:
        return []
