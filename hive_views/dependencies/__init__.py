"""Dependencies of views: lineage, dependents, impact of changes, validity, drops and partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hive_views.dependencies.drop import DropBehavior as DropBehavior
    from hive_views.dependencies.drop import DropPlan as DropPlan
    from hive_views.dependencies.drop import DropReport as DropReport
    from hive_views.dependencies.drop import DropStep as DropStep
    from hive_views.dependencies.drop import drop_object as drop_object
    from hive_views.dependencies.drop import plan_drop as plan_drop
    from hive_views.dependencies.graph import Dependent as Dependent
    from hive_views.dependencies.graph import DependentFinder as DependentFinder
    from hive_views.dependencies.graph import Edge as Edge
    from hive_views.dependencies.graph import Graph as Graph
    from hive_views.dependencies.graph import Node as Node
    from hive_views.dependencies.graph import TransitiveDependents as TransitiveDependents
    from hive_views.dependencies.graph import read_graph as read_graph
    from hive_views.dependencies.lineage import DependencyState as DependencyState
    from hive_views.dependencies.lineage import Lineage as Lineage
    from hive_views.dependencies.lineage import LineageOrigin as LineageOrigin
    from hive_views.dependencies.lineage import LineageReader as LineageReader
    from hive_views.dependencies.lineage import TransitiveDependency as TransitiveDependency
    from hive_views.dependencies.lineage import TransitiveLineage as TransitiveLineage

__getattr__, __dir__, __all__ = lazy_exports(__name__)
