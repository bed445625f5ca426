"""The catalog service: `HiveViewCatalog` and the views that it returns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog as HiveViewCatalog
    from hive_views.catalog.views import HiveView as HiveView
    from hive_views.catalog.views import ViewUpdate as ViewUpdate

# Imported on first use, so that importing a module of this package does not import the whole catalog.
_MODULES = {
    "HiveView": "hive_views.catalog.views",
    "HiveViewCatalog": "hive_views.catalog.catalog",
    "ViewUpdate": "hive_views.catalog.views",
}

__all__ = ["HiveView", "HiveViewCatalog", "ViewUpdate"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
