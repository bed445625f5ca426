"""Apache Iceberg views and materialized views stored in a Hive Metastore, for Python and PySpark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog as HiveViewCatalog
    from hive_views.catalog.views import HiveView as HiveView
    from hive_views.catalog.views import ViewUpdate as ViewUpdate
    from hive_views.errors import HiveViewsError as HiveViewsError
    from hive_views.local_metastore.embedded import EmbeddedMetastore as EmbeddedMetastore
    from hive_views.spec.version_texts import define as define

__version__ = "0.1.0"

# Imported on first use: PyIceberg's catalogs alone take 0.3 s to import.
_MODULES = {
    "EmbeddedMetastore": "hive_views.local_metastore.embedded",
    "HiveView": "hive_views.catalog.views",
    "HiveViewCatalog": "hive_views.catalog.catalog",
    "HiveViewsError": "hive_views.errors",
    "ViewUpdate": "hive_views.catalog.views",
    "define": "hive_views.spec.version_texts",
}

__all__ = ["EmbeddedMetastore", "HiveView", "HiveViewCatalog", "HiveViewsError", "ViewUpdate", "__version__", "define"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
