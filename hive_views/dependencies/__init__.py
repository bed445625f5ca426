"""Dependencies of views: lineage, dependents, impact of changes, validity, drops and partitions.

The modules that analyze SQL are not imported here, since sqlglot takes 0.1 s to import: `columns`, `impact`,
`partitions`, `recompile`, `render`, `validity`, `view_builder`.
"""

from hive_views.dependencies.drop import DropBehavior, DropPlan, DropReport, DropStep, drop_object, plan_drop
from hive_views.dependencies.graph import (
    Dependent,
    DependentFinder,
    Edge,
    Graph,
    Node,
    TransitiveDependents,
    read_graph,
)
from hive_views.dependencies.lineage import (
    DependencyState,
    Lineage,
    LineageOrigin,
    LineageReader,
    TransitiveDependency,
    TransitiveLineage,
)

__all__ = [
    "DependencyState",
    "Dependent",
    "DependentFinder",
    "DropBehavior",
    "DropPlan",
    "DropReport",
    "DropStep",
    "Edge",
    "Graph",
    "Lineage",
    "LineageOrigin",
    "LineageReader",
    "Node",
    "TransitiveDependency",
    "TransitiveDependents",
    "TransitiveLineage",
    "drop_object",
    "plan_drop",
    "read_graph",
]
