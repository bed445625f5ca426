"""Materialized views: views with stored rows, freshness tracking and incremental refresh."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.materialized.freshness.verdict import Cause as Cause
    from hive_views.materialized.freshness.verdict import Freshness as Freshness
    from hive_views.materialized.freshness.verdict import StalenessReason as StalenessReason
    from hive_views.materialized.freshness.verdict import Verdict as Verdict
    from hive_views.materialized.layouts.layout import Layout as Layout
    from hive_views.materialized.layouts.loading import MaterializedView as MaterializedView
    from hive_views.materialized.maintenance.expire import Expired as Expired
    from hive_views.materialized.maintenance.garbage_collection import Garbage as Garbage
    from hive_views.materialized.refresh.plan import Mode as Mode
    from hive_views.materialized.refresh.refresh import RefreshReport as RefreshReport
    from hive_views.materialized.refresh.stage import Engine as Engine
    from hive_views.materialized.refresh.stage import StagingRequest as StagingRequest
    from hive_views.materialized.results import ListedView as ListedView
    from hive_views.materialized.results import PastRefresh as PastRefresh
    from hive_views.materialized.results import Reading as Reading
    from hive_views.materialized.time_travel import StoredSnapshot as StoredSnapshot
    from hive_views.materialized.views import MaterializedViews as MaterializedViews

# Imported on first use: they need sqlglot, which takes 0.1 s to import.
_HOMES = {
    "Cause": "freshness.verdict",
    "Engine": "refresh.stage",
    "Expired": "maintenance.expire",
    "Freshness": "freshness.verdict",
    "Garbage": "maintenance.garbage_collection",
    "Layout": "layouts.layout",
    "ListedView": "results",
    "MaterializedView": "layouts.loading",
    "MaterializedViews": "views",
    "Mode": "refresh.plan",
    "PastRefresh": "results",
    "Reading": "results",
    "RefreshReport": "refresh.refresh",
    "StagingRequest": "refresh.stage",
    "StalenessReason": "freshness.verdict",
    "StoredSnapshot": "time_travel",
    "Verdict": "freshness.verdict",
}

__all__ = [
    "Cause",
    "Engine",
    "Expired",
    "Freshness",
    "Garbage",
    "Layout",
    "ListedView",
    "MaterializedView",
    "MaterializedViews",
    "Mode",
    "PastRefresh",
    "Reading",
    "RefreshReport",
    "StagingRequest",
    "StalenessReason",
    "StoredSnapshot",
    "Verdict",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
