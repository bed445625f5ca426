"""Apache Iceberg views and materialized views stored in a Hive Metastore, for Python and PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog as HiveViewCatalog
    from hive_views.catalog.catalog import load_catalog as load_catalog
    from hive_views.catalog.views import HiveView as HiveView
    from hive_views.catalog.views import ViewUpdate as ViewUpdate
    from hive_views.errors import HiveViewsError as HiveViewsError
    from hive_views.local_metastore.embedded import EmbeddedMetastore as EmbeddedMetastore
    from hive_views.spec.version_texts import define as define

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_exports(__name__)
__all__ += ["__version__"]
