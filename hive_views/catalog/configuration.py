"""Catalogs in PyIceberg's configuration: `.pyiceberg.yaml`, and variables such as `PYICEBERG_CATALOG__PROD__URI`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hive_views.catalog.discovery import with_discovered_uri
from hive_views.catalog.hive_properties import with_own_names
from hive_views.config import URI
from hive_views.errors import CatalogConfigurationError

if TYPE_CHECKING:
    from pyiceberg.utils.config import Config

PY_CATALOG_IMPL = "py-catalog-impl"
"""Key of PyIceberg: the class of a catalog."""

HIVE_TYPES = ("hive", None)
"""The values of the property `type` of a catalog on a Hive Metastore."""


def configured_catalog(name: str | None, *, any_type: bool = False) -> tuple[str, dict[str, str]]:
    """Return the name and properties of a catalog, or of the default one, in PyIceberg's configuration.

    With `any_type`, it may be another one than a Hive Metastore.
    """
    with _converted_errors(name):
        config = _read()
        catalog_name = name or config.get_default_catalog_name()
        configured = config.get_catalog_config(catalog_name)
        catalog_names = ", ".join(sorted(config.get_known_catalogs()))
    contents = f"it has {catalog_names}" if catalog_names else "it is empty"
    if configured is None and name is None:
        raise CatalogConfigurationError(
            name,
            "no catalog is named. Give its URI, thrift://host:9083 (--uri, or HIVE_VIEWS_URI), or a name (--catalog) "
            f"of PyIceberg's configuration ({contents})",
            is_missing=True,
        )
    if configured is None:
        raise CatalogConfigurationError(
            name,
            f"PyIceberg's configuration has no catalog {name!r} ({contents}). Add it to .pyiceberg.yaml, or set "
            f"PYICEBERG_CATALOG__{catalog_name.upper()}__URI, or give its URI (--uri)",
            is_missing=True,
        )
    catalog_type = configured.get("type")
    if catalog_type not in HIVE_TYPES and not any_type:
        reason = (
            f"{catalog_name} is a catalog of type {catalog_type!r}, not a Hive Metastore. `hive-views copy` copies "
            "views to and from a REST catalog"
        )
        raise CatalogConfigurationError(name, reason)
    return catalog_name, {key: str(value) for key, value in configured.items() if not isinstance(value, dict)}


def with_configuration(name: str, properties: dict[str, str]) -> dict[str, str]:
    """Return the properties with which a catalog is created.

    They have this package's names, the configured ones of a catalog that is opened by its name alone, and the URIs of
    metastores in place of those of ZooKeeper.

    Raises:
        InvalidPropertyError: If a property of Hive or Spark has no equivalent; see `with_own_names`.
        MetastoreUnavailableError: If ZooKeeper does not name the metastores; see `with_discovered_uri`.
    """
    properties = with_own_names(properties)
    if not properties.get(URI):
        try:
            properties = {**with_own_names(configured_catalog(name)[1]), **properties}
        except CatalogConfigurationError as error:
            if not error.is_missing:
                raise
            return properties  # the missing URI is reported
    return with_discovered_uri(properties)


def check_readable() -> None:
    """Raise CatalogConfigurationError if the configuration cannot be read: PyIceberg reads it when it is imported."""
    with _converted_errors(None):
        _read()


def support_configured_class(catalog_class: Callable[..., Any]) -> None:
    """Make PyIceberg's `load_catalog` return `HiveViewCatalog` where the configuration names it.

    PyIceberg (0.12.0) takes `py-catalog-impl` from the arguments of `load_catalog` alone, and returns its own
    HiveCatalog for a catalog whose configuration has it.
    """
    from pyiceberg import catalog as iceberg

    load_hive = iceberg.AVAILABLE_CATALOGS[iceberg.CatalogType.HIVE]

    def load(name: str, properties: Any) -> Any:
        if str(properties.get(PY_CATALOG_IMPL, "")).rpartition(".")[2] != "HiveViewCatalog":
            return load_hive(name, properties)
        return catalog_class(name, **{key: str(value) for key, value in properties.items()})

    iceberg.AVAILABLE_CATALOGS[iceberg.CatalogType.HIVE] = load


def _read() -> Config:
    from pyiceberg.utils.config import Config

    return Config()


@contextmanager
def _converted_errors(name: str | None) -> Iterator[None]:
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
        raise CatalogConfigurationError(
            name,
            f"PyIceberg's configuration cannot be read: {_source()}{line} ({type(error).__name__}). It must be YAML "
            "with `catalog:`, below it the catalogs' names, and below each its properties. The contents are not "
            "printed, because they may be secret",
        ) from None


def _source() -> str:
    """Return the source of PyIceberg's configuration: the first file that exists, otherwise the environment."""
    for directory in (os.environ.get("PYICEBERG_HOME"), str(Path.home()), str(Path.cwd())):
        if directory and (Path(directory) / ".pyiceberg.yaml").is_file():
            return str(Path(directory) / ".pyiceberg.yaml")
    return "environment variables PYICEBERG_…"
