"""Which catalog a command works on: the global options, PyIceberg's configuration, the environment."""

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

_OURS = ("hive", None)


@dataclass
class Connection:
    """The global options of one call of the command line."""

    name: str | None = None
    """The catalog's name in PyIceberg's configuration; None where a URI is given."""
    uri: str | None = None
    """`thrift://host:port`, several separated by commas."""
    warehouse: str | None = None
    """The catalog property `warehouse`; overrides the configured one."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """More catalog properties; they override the configured ones."""
    as_json: bool = False
    """Print JSON."""

    def catalog(self) -> HiveViewCatalog:
        """Make the catalog; nothing is connected yet.

        Returns:
            The catalog; `close()` it.

        Raises:
            UsageError: If no catalog is named, or the named one is not configured, or is not a Hive Metastore, or
                PyIceberg's configuration cannot be read.
            InvalidPropertyError: If a property is wrong.
        """
        with _readable():
            _configuration()  # PyIceberg reads it while it is imported, and would fail there
        from hive_views.catalog.catalog import HiveViewCatalog

        name, configured = (UNNAMED, {"uri": self.uri}) if self.uri else configured_catalog(self.name)
        given = {**configured, **({"warehouse": self.warehouse} if self.warehouse else {}), **self.properties}
        return HiveViewCatalog(name, **given)


def configured_catalog(name: str | None) -> tuple[str, dict[str, str]]:
    """A catalog's properties in PyIceberg's configuration: `.pyiceberg.yaml` and `PYICEBERG_CATALOG__NAME__KEY`.

    Args:
        name: Its name; None takes the default catalog.

    Returns:
        Its name and its properties.

    Raises:
        UsageError: If it is not configured, or is not a Hive Metastore.
    """
    with _readable():
        config = _configuration()
        wanted = name or config.get_default_catalog_name()
        found = config.get_catalog_config(wanted)
        known = ", ".join(sorted(config.get_known_catalogs()))
    there = f"it has {known}" if known else "it is empty"
    if found is None and name is None:
        raise UsageError(
            "--catalog",
            "no catalog is named. Give --uri thrift://host:9083 (or set HIVE_VIEWS_URI), or --catalog NAME with a name "
            f"of PyIceberg's configuration ({there})",
        )
    if found is None:
        raise UsageError(
            "--catalog",
            f"PyIceberg's configuration has no catalog {name!r} ({there}). Add it to .pyiceberg.yaml, or set "
            f"PYICEBERG_CATALOG__{wanted.upper()}__URI, or give --uri",
        )
    kind = found.get("type")
    if kind not in _OURS:
        raise UsageError("--catalog", f"{wanted} is a catalog of type {kind!r}, not a Hive Metastore")
    return wanted, {key: str(value) for key, value in found.items() if not isinstance(value, dict)}


def _configuration() -> Config:
    from pyiceberg.utils.config import Config

    return Config()


@contextmanager
def _readable() -> Iterator[None]:
    """Says what is wrong with PyIceberg's configuration without a word of it: secrets stand there.

    PyIceberg's own errors, and its YAML reader's, quote lines, keys and values.
    """
    from strictyaml import YAMLError  # type: ignore[import-untyped]

    try:
        yield
    except (YAMLError, OSError, ValueError, AttributeError, TypeError) as error:
        # The last two are what PyIceberg stumbles over in a file that is empty, or no mapping.
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        raise UsageError(
            "--catalog",
            f"PyIceberg's configuration cannot be read: {_source()}{line} ({type(error).__name__}). It must be YAML "
            "with `catalog:`, below it the catalogs' names, and below each its properties. What stands there is not "
            "shown, because it may be secret",
        ) from None


def _source() -> str:
    """Where PyIceberg's configuration comes from: it takes the first file that there is, then the environment."""
    for directory in (os.environ.get("PYICEBERG_HOME"), str(Path.home()), str(Path.cwd())):
        if directory and (Path(directory) / ".pyiceberg.yaml").is_file():
            return str(Path(directory) / ".pyiceberg.yaml")
    return "environment variables PYICEBERG_…"


def parse_properties(values: Sequence[str], option: str) -> dict[str, str]:
    """Read `key=value` arguments.

    Args:
        values: The arguments.
        option: Where they stand, for the message.

    Returns:
        Keys and values; the last one counts where a key is given twice.

    Raises:
        UsageError: If one has no `=`, or an empty key.
    """
    found = {}
    for text in values:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise UsageError(option, f"{text!r} is not of the form key=value")
        found[key] = value
    return found
