"""Apache Iceberg views and materialized views kept in a Hive Metastore, for Python and PySpark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.catalog import HiveViewCatalog as HiveViewCatalog
    from hive_views.definition import define as define
    from hive_views.metastore.embedded import EmbeddedMetastore as EmbeddedMetastore
    from hive_views.view import HiveView as HiveView
    from hive_views.view import ViewUpdate as ViewUpdate

# Re-exported on first use: PyIceberg's catalogs alone take 0.3 s to import.
_HOMES = {
    "EmbeddedMetastore": "hive_views.metastore.embedded",
    "HiveView": "hive_views.view",
    "HiveViewCatalog": "hive_views.catalog",
    "ViewUpdate": "hive_views.view",
    "define": "hive_views.definition",
}

__all__ = ["EmbeddedMetastore", "HiveView", "HiveViewCatalog", "ViewUpdate", "define"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
