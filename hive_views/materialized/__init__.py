"""Materialized views: views with stored rows, freshness tracking and incremental refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hive_views.materialized.freshness.verdict import Cause as Cause
    from hive_views.materialized.freshness.verdict import Freshness as Freshness
    from hive_views.materialized.freshness.verdict import StalenessReason as StalenessReason
    from hive_views.materialized.freshness.verdict import Verdict as Verdict
    from hive_views.materialized.layouts.layout import Layout as Layout
    from hive_views.materialized.maintenance.expire import Expired as Expired
    from hive_views.materialized.maintenance.garbage_collection import Garbage as Garbage
    from hive_views.materialized.overview import overview_page as overview_page
    from hive_views.materialized.refresh.actions import Action as Action
    from hive_views.materialized.refresh.actions import Mode as Mode
    from hive_views.materialized.refresh.explain import RefreshExplanation as RefreshExplanation
    from hive_views.materialized.refresh.explain import SourceChange as SourceChange
    from hive_views.materialized.refresh.failures import FailedRefresh as FailedRefresh
    from hive_views.materialized.refresh.many import RefreshOutcome as RefreshOutcome
    from hive_views.materialized.refresh.plan import RefreshPlan as RefreshPlan
    from hive_views.materialized.refresh.refresh import RefreshReport as RefreshReport
    from hive_views.materialized.refresh.request import Engine as Engine
    from hive_views.materialized.refresh.request import StagingRequest as StagingRequest
    from hive_views.materialized.results import ListedView as ListedView
    from hive_views.materialized.results import PastRefresh as PastRefresh
    from hive_views.materialized.results import Reading as Reading
    from hive_views.materialized.time_travel import StoredSnapshot as StoredSnapshot
    from hive_views.materialized.view import MaterializedView as MaterializedView
    from hive_views.materialized.views import MaterializedViews as MaterializedViews

__getattr__, __dir__, __all__ = lazy_exports(__name__)
