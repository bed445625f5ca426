"""The catalog service: `HiveViewCatalog` and the views that it returns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog as HiveViewCatalog

# Imported on first use: the modules of this package do not pay for the whole catalog.
_MODULES = {"HiveViewCatalog": "hive_views.catalog.catalog"}

__all__ = ["HiveViewCatalog"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
