"""What views depend on: `catalog.dependencies`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hive_views.dependencies.columns import ColumnName, base_columns, column_lineage
from hive_views.dependencies.drop import DropBehavior, DropPlan, plan_drop
from hive_views.dependencies.engines import EngineChecker
from hive_views.dependencies.graph import DependentFinder, Graph, TransitiveDependents, read_graph
from hive_views.dependencies.impact import AffectedView, impact
from hive_views.dependencies.lineage import LineageReader, TransitiveLineage
from hive_views.dependencies.render import Direction, Picture, read_picture, read_tree
from hive_views.dependencies.validity import CheckProgress, check_view, check_views
from hive_views.identifiers import ViewName, parse_namespace

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier

    from hive_views.dependencies.table_findings import EngineFinding
    from hive_views.sql.analysis.validity import CheckedView


class ViewDependencies:
    """What the views of one catalog depend on, and whether they can still be read. Safe for threads.

    It changes nothing. An `identifier` is `database.name`, as text or as a tuple, optionally after the catalog's name.
    """

    def __init__(self, lineages: LineageReader, catalog_name: str) -> None:
        """Make the dependencies of a catalog; nothing is read yet.

        Args:
            lineages: Reads the lineages, and keeps them.
            catalog_name: The catalog's name, which identifiers may have as their first part.
        """
        self._lineages = lineages
        self._catalog_name = catalog_name

    def lineage(self, identifier: str | Identifier) -> TransitiveLineage:
        """Find everything that a view reads, directly or through other views.

        Args:
            identifier: `database.name` of an Iceberg view or a plain Hive view.

        Returns:
            The sources, nearest first, with UUID and current state; `by_uuid()` and `by_sequence()` give the lineage
            of a materialized view's refresh state.

        Raises:
            NoSuchViewError: If there is no such object.
        """
        return self._lineages.read_transitive(self._name(identifier))

    def column_lineage(self, identifier: str | Identifier, *, deep: bool = False) -> dict[str, tuple[ColumnName, ...]]:
        """Find the columns that each column of a view is computed from.

        Args:
            identifier: `database.name`.
            deep: Follow views down to tables.

        Returns:
            Source columns by the view's columns, in their order.

        Raises:
            NoSuchViewError, NotAViewError: If there is no such view, or a table has the name.
            SqlError: If its text no longer resolves.
        """
        return (base_columns if deep else column_lineage)(self._lineages.store, self._name(identifier))

    def dependents(
        self,
        identifier: str | Identifier,
        *,
        namespaces: Sequence[str | Identifier] | None = None,
        recorded_only: bool = False,
    ) -> TransitiveDependents:
        """Find every view that depends on a table or view, directly or through other views.

        Args:
            identifier: `database.name`; the object need not exist.
            namespaces: The databases to search; None is all.
            recorded_only: Search only by the server's filter on recorded lineage, which misses views that other
                programs wrote.

        Returns:
            The views, nearest first.
        """
        databases = None if namespaces is None else self._databases(namespaces)
        dependents = DependentFinder(self._lineages, databases=databases, recorded_only=recorded_only)
        return dependents.find_all(self._name(identifier))

    def graph(self, *namespaces: str | Identifier) -> Graph:
        """Read the dependency graph of all views in some databases.

        Args:
            namespaces: The databases; none means all.

        Returns:
            The graph, with order, cycles, broken references, upstream and downstream.
        """
        return read_graph(self._lineages, self._databases(namespaces) or None)

    def picture(
        self,
        *namespaces: str | Identifier,
        check: bool = True,
        with_columns: bool = False,
        workers: int = 4,
        progress: CheckProgress | None = None,
    ) -> Picture:
        """Read the dependency graph, columns and texts to draw with `hive_views.dependencies.render`.

        Args:
            namespaces: The databases; none means all.
            check: Check the validity of every view, which takes most of the time.
            with_columns: Resolve which columns each column of a view is computed from; the page draws it.
            workers: Number of threads that read metadata files.
            progress: Called after the check of each view.

        Returns:
            The input of `tree`, `dot`, `mermaid` and `html`.
        """
        databases = self._databases(namespaces) or None
        return read_picture(
            self._lineages, databases, check=check, with_columns=with_columns, workers=workers, progress=progress
        )

    def picture_of(self, identifier: str | Identifier, direction: Direction) -> Picture:
        """Read the sources or the dependents of one object to draw with `hive_views.dependencies.render.tree`.

        Args:
            identifier: `database.name` of a table or view; the object need not exist.
            direction: Sources or dependents.
        """
        return read_tree(self._lineages, self._name(identifier), direction)

    def check_view(self, identifier: str | Identifier) -> CheckedView:
        """Check whether a view and all that it reads can be read, and still return what their authors defined.

        Args:
            identifier: `database.name` of an Iceberg view or a plain Hive view.

        Returns:
            The problems of the view, if any.

        Raises:
            NoSuchViewError, NotAViewError: If there is no such view, or a table has the name.
        """
        return check_view(self._lineages, self._name(identifier))

    def check_engines(self, identifier: str | Identifier) -> tuple[EngineFinding, ...]:
        """Find out why plain Spark, Hive or Trino's Hive connector do not read a view with its author's rows.

        Args:
            identifier: `database.name` of an Iceberg view or a plain Hive view.

        Returns:
            The findings, those of the views and tables that it reads included. Hive and plain Spark return the same
            rows if they have none; for Trino, no rule of docs/trino.md applies then.

        Raises:
            NoSuchViewError, NotAViewError: If there is no such view, or a table has the name.
        """
        return EngineChecker(self._lineages.store).check_name(self._name(identifier))

    def check_views(
        self, *namespaces: str | Identifier, workers: int = 4, progress: CheckProgress | None = None
    ) -> tuple[CheckedView, ...]:
        """Check all views of some databases; see `check_view`.

        Args:
            namespaces: The databases; none means all.
            workers: Number of threads that read metadata files.
            progress: Called with the numbers of checked and of all views, after each view.

        Returns:
            A result for each view, sorted by name.
        """
        databases = self._databases(namespaces) or None
        return check_views(self._lineages, databases, workers=workers, progress=progress)

    def impact(
        self, identifier: str | Identifier, columns: Sequence[tuple[str, str]] | None = None
    ) -> tuple[AffectedView, ...]:
        """Compute how a change of a table or view would affect its dependents, without changing anything.

        Args:
            identifier: `database.name`.
            columns: Name and Hive type of each column after the change; None means a drop or rename.

        Returns:
            Every dependent after its sources: whether it breaks, changes its types or keeps its columns, and why.
        """
        return impact(self._lineages, self._name(identifier), columns)

    def plan_drop(self, identifier: str | Identifier, *, behavior: DropBehavior | str = "") -> DropPlan:
        """Compute what `drop_view` or `drop_table` would do with the same arguments, without changing anything.

        Args:
            identifier: `database.name` of a table or view.
            behavior: As in `drop_view`.

        Returns:
            The objects that would be dropped, in order, and the dependents.

        Raises:
            NoSuchViewError: If there is no such object.
            UndroppableTableError: As in `drop_table`.
        """
        chosen = DropBehavior.of(behavior, strict=self._lineages.store.config.strict)
        return plan_drop(self._lineages, self._name(identifier), chosen)

    def _name(self, identifier: str | Identifier) -> ViewName:
        return ViewName.parse(identifier, catalog=self._catalog_name)

    def _databases(self, namespaces: Sequence[str | Identifier]) -> list[str]:
        return [parse_namespace(namespace, catalog=self._catalog_name) for namespace in namespaces]
