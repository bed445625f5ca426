"""The catalog's methods about dependencies: HiveViewCatalog inherits them.

Rooms that read SQL are imported when they are asked: sqlglot takes 0.1 s to import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from hive_views.catalog.partitions import PartitionMethods
from hive_views.catalog.views import HiveView
from hive_views.dependencies.drop import Behavior, DropPlan, DropReport, DropStep, drop_object, plan_drop
from hive_views.dependencies.graph import Dependents, Graph, Impact, read_graph
from hive_views.dependencies.lineage import DeepLineage, LineageReader
from hive_views.errors import InvalidPropertyError
from hive_views.identifiers import ViewName, parse_namespace

if TYPE_CHECKING:
    from hive_views.dependencies.columns import ColumnName
    from hive_views.dependencies.impact import Affected
    from hive_views.dependencies.recompile import Recompiled
    from hive_views.dependencies.render import Direction, Picture
    from hive_views.dependencies.validity import Finding
    from hive_views.dependencies.view_builder import Analyzer


class DependencyMethods(PartitionMethods):
    """What a view reads, what depends on it, and what a change does to that."""

    # -- Lineage ------------------------------------------------------------------------------------------------------

    def lineage(self, identifier: str | Identifier) -> DeepLineage:
        """All that a view reads, however deep, with the UUID of each child and how it stands today.

        Args:
            identifier: `database.name` of a view, Iceberg's or Hive's.

        Returns:
            The children, nearest first; `by_uuid()` and `by_sequence()` give L in either form.

        Raises:
            NoSuchViewError: If nothing has that name.
        """
        return self._lineages.deep(self._name(identifier))

    def column_lineage(self, identifier: str | Identifier, *, deep: bool = False) -> dict[str, tuple[ColumnName, ...]]:
        """Which columns each column of a view is computed from.

        Args:
            identifier: `database.name`.
            deep: Follow views down to tables.

        Returns:
            By the view's columns, in their order.

        Raises:
            NoSuchViewError: If there is no such view.
            SqlError: If its text cannot be resolved any more.
        """
        from hive_views.dependencies.columns import base_columns, column_lineage

        return (base_columns if deep else column_lineage)(self.store, self._name(identifier))

    def dependents(
        self,
        identifier: str | Identifier,
        *,
        namespaces: Sequence[str | Identifier] | None = None,
        recorded_only: bool = False,
    ) -> Impact:
        """Every view that depends on a table or view, directly or through other views.

        Args:
            identifier: `database.name`; nothing need stand there.
            namespaces: The databases in which to look; None is all.
            recorded_only: Ask only the server's filter, which does not know of views that other programs wrote.

        Returns:
            The views, nearest first.
        """
        found = None if namespaces is None else self._databases(namespaces)
        dependents = Dependents(self._lineages, databases=found, recorded_only=recorded_only)
        return dependents.all_of(self._name(identifier))

    def graph(self, *namespaces: str | Identifier) -> Graph:
        """The views of databases and all that they read, by reading every view's row.

        Args:
            namespaces: The databases; none means all.

        Returns:
            The graph: order, cycles, broken references, what is up- and downstream of what.
        """
        return read_graph(self._lineages, self._databases(namespaces) or None)

    def picture(self, *namespaces: str | Identifier, check: bool = True, workers: int = 4) -> Picture:
        """What `hive_views.dependencies.render` draws: the graph, how each view stands, texts and columns.

        Args:
            namespaces: The databases; none means all.
            check: Look how each view stands; it takes longest.
            workers: Threads that read metadata files for that.

        Returns:
            The picture: for `tree`, `dot`, `mermaid` and `html`.
        """
        from hive_views.dependencies.render import read_picture

        return read_picture(self._lineages, self._databases(namespaces) or None, check=check, workers=workers)

    def picture_of(self, identifier: str | Identifier, direction: Direction) -> Picture:
        """What `tree` draws for one object: what it reads, or what reads it, without a look at any other view.

        Args:
            identifier: `database.name` of a table or view; nothing need stand there.
            direction: Which of them.

        Returns:
            The picture.
        """
        from hive_views.dependencies.render import read_tree

        return read_tree(self._lineages, self._name(identifier), direction)

    def columns(self, identifier: str | Identifier) -> tuple[tuple[str, str], ...]:
        """The columns of a table or view as the metastore's row has them.

        Args:
            identifier: `database.name`.

        Returns:
            Name in lower case and Hive type of each, partition columns last; none where nothing has the name.
        """
        row = self.store.get_row(self._name(identifier))
        return () if row is None else tuple((column.lower(), kind) for column, kind, _ in row.columns)

    # -- Validity -----------------------------------------------------------------------------------------------------

    def check_view(self, identifier: str | Identifier) -> Finding:
        """Whether a view can be read, and still says what its author typed.

        Args:
            identifier: `database.name` of a view, Iceberg's or Hive's.

        Returns:
            What is wrong with it, if anything.

        Raises:
            NoSuchViewError: If there is no such view.
        """
        from hive_views.dependencies.validity import check_view

        return check_view(self._lineages, self._name(identifier))

    def check_views(self, *namespaces: str | Identifier, workers: int = 4) -> tuple[Finding, ...]:
        """Check all views of databases.

        Args:
            namespaces: The databases; none means all.
            workers: Threads that read metadata files, while the metastore reads the next rows.

        Returns:
            A finding for each view, by name.
        """
        from hive_views.dependencies.validity import sweep

        return sweep(self._lineages, self._databases(namespaces) or None, workers=workers)

    def impact(
        self, identifier: str | Identifier, columns: Sequence[tuple[str, str]] | None = None
    ) -> tuple[Affected, ...]:
        """What would become of every dependent if a table or view changed; nothing is changed.

        Args:
            identifier: `database.name`.
            columns: Name and Hive type of each column that it would have; None if it was dropped or renamed.

        Returns:
            Every dependent, each behind what it reads: whether it breaks, changes its types or stays frozen, and why.
        """
        from hive_views.dependencies.impact import impact

        return impact(self._lineages, self._name(identifier), columns)

    def recompile_view(self, identifier: str | Identifier, *, analyzer: Analyzer | None = None) -> Recompiled:
        """Expand what a view's author typed again; a new version only if something changed (ALTER VIEW RECOMPILE).

        Args:
            identifier: `database.name`.
            analyzer: Where column types come from; see `author`.

        Returns:
            What changed.

        Raises:
            NoSuchViewError: If there is no such view.
            SqlError: If what was typed cannot be resolved any more; nothing is changed.
        """
        from hive_views.dependencies.recompile import recompile

        return recompile(self.store, self._name(identifier), analyzer, own=self.name)

    def repair_view(self, identifier: str | Identifier) -> HiveView:
        """Write a view's row again from its metadata file, where another program changed it (`view.drift`).

        Args:
            identifier: `database.name`.

        Returns:
            The view.
        """
        from hive_views.dependencies.recompile import repair

        return HiveView(repair(self.store, self._name(identifier)), self.store)

    def adopt_view(self, identifier: str | Identifier, *, analyzer: Analyzer | None = None) -> HiveView:
        """Make what another program wrote into a view's row (`view.drift`) the view's new version.

        Args:
            identifier: `database.name`.
            analyzer: Where column types come from; see `author`.

        Returns:
            The view.

        Raises:
            SqlError: If the row's text cannot be resolved.
        """
        from hive_views.dependencies.recompile import adopt

        return HiveView(adopt(self.store, self._name(identifier), analyzer), self.store)

    def rename_table(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> Table:
        """Rename a table; see `TableCatalog.rename_table`.

        Raises:
            DependentsError: If a view reads it by its name, in strict mode.
        """
        if self._config.strict:
            from hive_views.dependencies.impact import refuse_breaking

            refuse_breaking(self.store, self._table_name(from_identifier), "rename", None)
        return super().rename_table(from_identifier, to_identifier)

    # -- Drop ---------------------------------------------------------------------------------------------------------

    def plan_drop(self, identifier: str | Identifier, *, restrict: bool = False, cascade: bool = False) -> DropPlan:
        """What `drop_view` or `drop_table` would do with the same arguments; nothing is changed.

        Args:
            identifier: `database.name` of a table or view.
            restrict: As in `drop_view`.
            cascade: As in `drop_view`.

        Returns:
            What would be dropped, in order, and what depends on it.

        Raises:
            NoSuchViewError: If nothing has the name.
        """
        return plan_drop(self._lineages, self._name(identifier), self._behavior(restrict, cascade))

    def _drop(
        self, name: ViewName, behavior: Behavior, remove: Callable[[], DropStep], purge_files: bool = False
    ) -> DropReport:
        return drop_object(self._lineages, name, behavior, remove, purge_files=purge_files)

    def _behavior(self, restrict: bool, cascade: bool) -> Behavior:
        if restrict and cascade:
            raise InvalidPropertyError("cascade", True, "a drop is either restricted or cascades")
        if cascade:
            return Behavior.CASCADE
        return Behavior.RESTRICT if restrict or self._config.strict else Behavior.NONE

    @cached_property
    def _lineages(self) -> LineageReader:
        return LineageReader(self.store)

    def _databases(self, namespaces: Sequence[str | Identifier]) -> list[str]:
        return [parse_namespace(namespace, catalog=self.name) for namespace in namespaces]
