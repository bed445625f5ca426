"""The catalog service: `HiveViewCatalog` and the views that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog as HiveViewCatalog
    from hive_views.catalog.catalog import load_catalog as load_catalog
    from hive_views.catalog.dependencies import ViewDependencies as ViewDependencies
    from hive_views.catalog.partitions import ViewPartitions as ViewPartitions
    from hive_views.catalog.view_catalog import ViewCatalog as ViewCatalog
    from hive_views.catalog.views import HiveView as HiveView
    from hive_views.catalog.views import ViewUpdate as ViewUpdate

__getattr__, __dir__, __all__ = lazy_exports(__name__)
