"""The catalog of a command: from the global options, PyIceberg's configuration and the environment; completion."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hive_views.catalog.configuration import HIVE_TYPES, check_readable, configured_catalog
from hive_views.errors import CatalogConfigurationError, CatalogUnavailableError, HiveViewsError, UsageError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from hive_views.catalog.catalog import HiveViewCatalog

METASTORE_DIRECTORY_VARIABLE = "HIVE_VIEWS_METASTORE_DIR"
"""The environment variable with the directory of a local metastore."""

UNNAMED = "hive"
"""The name of a catalog that is given by its URI."""


@dataclass
class ConnectionOptions:
    """The global options of one call of the command line."""

    name: str | None = None
    """The catalog's name in PyIceberg's configuration; None if a URI is given."""
    uri: str | None = None
    """`thrift://host:port`, several separated by commas."""
    warehouse: str | None = None
    """The catalog property `warehouse`; overrides the configured one."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """More catalog properties; they override the configured ones."""
    as_json: bool = False
    """Print JSON."""

    def catalog(self) -> HiveViewCatalog:
        """Create the catalog, without connecting; the caller closes it."""
        try:
            check_readable()  # PyIceberg reads it on import, and would fail there
            name, configured = (UNNAMED, {"uri": self.uri}) if self.uri else configured_catalog(self.name)
        except CatalogConfigurationError as error:
            if self.name is not None or not error.is_missing:
                raise UsageError("--catalog", error.reason) from None
            local = _local_metastore()
            if local is None:
                hint = ", or start a metastore on this machine: hive-views metastore start"
                raise UsageError("--catalog", error.reason + hint) from None
            name, configured = UNNAMED, local
        from hive_views.catalog.catalog import HiveViewCatalog

        properties = {**configured, **({"warehouse": self.warehouse} if self.warehouse else {}), **self.properties}
        return HiveViewCatalog(name, **properties)


def open_catalog(name: str, *, warehouse: str | None = None) -> Catalog:
    """Open a catalog of PyIceberg's configuration; one on a metastore is a `HiveViewCatalog`.

    `warehouse` overrides the configured property. The caller closes the catalog.
    """
    _, properties = configured_catalog(name, any_type=True)
    if properties.get("type") in HIVE_TYPES:
        return ConnectionOptions(name=name, warehouse=warehouse).catalog()
    if properties.get("type") != "rest":
        raise CatalogConfigurationError(
            name, f"{name} is a catalog of type {properties['type']!r}; name one of type hive or rest"
        )
    if warehouse is not None:
        properties["warehouse"] = warehouse
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import RESTError

    try:
        return load_catalog(name, **properties)
    except HiveViewsError:
        raise
    except ValueError as error:
        raise CatalogConfigurationError(name, f"the catalog cannot be opened: {error}") from error
    except (RESTError, OSError) as error:
        raise CatalogUnavailableError(name, f"the catalog cannot be opened: {error}") from error


def default_directory() -> Path:
    """Return the default directory of a local metastore: `hive-views/metastore` in the user's data directory (XDG)."""
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "hive-views" / "metastore"


def _local_metastore() -> dict[str, str] | None:
    """Return the properties of the metastore that `metastore start` started on this machine; None if none runs."""
    from hive_views.local_metastore.process import running_metastore

    directory = os.environ.get(METASTORE_DIRECTORY_VARIABLE) or default_directory()
    record = running_metastore(directory) if Path(directory).is_dir() else None
    return {"uri": record.uri} if record is not None and record.uri is not None else None


def parse_properties(values: Sequence[str], option: str) -> dict[str, str]:
    """Parse `key=value` arguments of an option; the last value of a repeated key is used."""
    properties = {}
    for text in values:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise UsageError(option, f"{text!r} is not of the form key=value")
        properties[key] = value
    return properties


def complete_view(context: typer.Context, incomplete: str) -> list[str]:
    """Shell completion: the databases, or the views of the typed database; none if the metastore does not answer."""
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
