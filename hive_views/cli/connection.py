"""The catalog of a command: from the global options, PyIceberg's configuration and the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.errors import UsageError

if TYPE_CHECKING:
    from pyiceberg.utils.config import Config

    from hive_views.catalog.catalog import HiveViewCatalog

UNNAMED = "hive"
"""The name of a catalog that is given by its URI."""

_HIVE_TYPES = ("hive", None)


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
        with _configuration_errors():
            _configuration()  # PyIceberg reads it on import, and would fail there
        from hive_views.catalog.catalog import HiveViewCatalog

        name, configured = (UNNAMED, {"uri": self.uri}) if self.uri else configured_catalog(self.name)
        properties = {**configured, **({"warehouse": self.warehouse} if self.warehouse else {}), **self.properties}
        return HiveViewCatalog(name, **properties)


def configured_catalog(name: str | None) -> tuple[str, dict[str, str]]:
    """The name and properties of a catalog, or of the default one, in PyIceberg's configuration."""
    with _configuration_errors():
        config = _configuration()
        catalog_name = name or config.get_default_catalog_name()
        configured = config.get_catalog_config(catalog_name)
        catalog_names = ", ".join(sorted(config.get_known_catalogs()))
    contents = f"it has {catalog_names}" if catalog_names else "it is empty"
    if configured is None and name is None:
        raise UsageError(
            "--catalog",
            "no catalog is named. Give --uri thrift://host:9083 (or set HIVE_VIEWS_URI), or --catalog NAME with a name "
            f"of PyIceberg's configuration ({contents})",
        )
    if configured is None:
        raise UsageError(
            "--catalog",
            f"PyIceberg's configuration has no catalog {name!r} ({contents}). Add it to .pyiceberg.yaml, or set "
            f"PYICEBERG_CATALOG__{catalog_name.upper()}__URI, or give --uri",
        )
    catalog_type = configured.get("type")
    if catalog_type not in _HIVE_TYPES:
        raise UsageError("--catalog", f"{catalog_name} is a catalog of type {catalog_type!r}, not a Hive Metastore")
    return catalog_name, {key: str(value) for key, value in configured.items() if not isinstance(value, dict)}


def _configuration() -> Config:
    from pyiceberg.utils.config import Config

    return Config()


@contextmanager
def _configuration_errors() -> Iterator[None]:
    """Convert errors in PyIceberg's configuration, without their text.

    The errors of PyIceberg and of its YAML parser quote lines, keys and values, which may be secret.
    """
    from strictyaml import YAMLError  # type: ignore[import-untyped]

    try:
        yield
    except (YAMLError, OSError, ValueError, AttributeError, TypeError) as error:
        # PyIceberg raises the last two for a file that is empty or not a mapping.
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        raise UsageError(
            "--catalog",
            f"PyIceberg's configuration cannot be read: {_source()}{line} ({type(error).__name__}). It must be YAML "
            "with `catalog:`, below it the catalogs' names, and below each its properties. The contents are not "
            "printed, because they may be secret",
        ) from None


def _source() -> str:
    """The source of PyIceberg's configuration: the first file that exists, otherwise the environment."""
    for directory in (os.environ.get("PYICEBERG_HOME"), str(Path.home()), str(Path.cwd())):
        if directory and (Path(directory) / ".pyiceberg.yaml").is_file():
            return str(Path(directory) / ".pyiceberg.yaml")
    return "environment variables PYICEBERG_…"


def parse_properties(values: Sequence[str], option: str) -> dict[str, str]:
    """Parse `key=value` arguments of an option; the last value of a repeated key is used."""
    properties = {}
    for text in values:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise UsageError(option, f"{text!r} is not of the form key=value")
        properties[key] = value
    return properties
