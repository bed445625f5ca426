"""Apache Iceberg views and materialized views kept in a Hive Metastore, for Python and PySpark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog as HiveViewCatalog
    from hive_views.catalog.views import HiveView as HiveView
    from hive_views.catalog.views import ViewUpdate as ViewUpdate
    from hive_views.local_metastore.embedded import EmbeddedMetastore as EmbeddedMetastore
    from hive_views.spec.version_texts import define as define

# Re-exported on first use: PyIceberg's catalogs alone take 0.3 s to import.
_HOMES = {
    "EmbeddedMetastore": "hive_views.local_metastore.embedded",
    "HiveView": "hive_views.catalog.views",
    "HiveViewCatalog": "hive_views.catalog.catalog",
    "ViewUpdate": "hive_views.catalog.views",
    "define": "hive_views.spec.version_texts",
}

__all__ = ["EmbeddedMetastore", "HiveView", "HiveViewCatalog", "ViewUpdate", "define"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
