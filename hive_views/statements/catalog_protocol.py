"""What the execution of statements needs of a catalog and its views; see `HiveViewCatalog` and `HiveView`."""

# ruff: noqa: D102 -- the methods are documented in hive_views.catalog

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.typedef import Identifier

    from hive_views.dependencies.drop import DropBehavior, DropReport
    from hive_views.dependencies.recompile import RecompileResult
    from hive_views.dependencies.view_query import Analyzer
    from hive_views.materialized.views import MaterializedViews
    from hive_views.metastore.store import MetastoreStore
    from hive_views.spec.metadata import ViewMetadata, ViewVersion


class StatementUpdate(Protocol):
    """Changes to one view that are committed together."""

    def replace_version(self, version: Any, schema: Schema | None = None) -> StatementUpdate: ...

    def set_properties(self, properties: Mapping[str, str] | None = None) -> StatementUpdate: ...

    def remove_properties(self, *keys: str) -> StatementUpdate: ...

    def commit(self) -> StatementView: ...


class StatementView(Protocol):
    """A loaded view."""

    @property
    def metadata(self) -> ViewMetadata: ...

    @property
    def metadata_location(self) -> str: ...

    @property
    def original_text(self) -> str | None: ...

    @property
    def expanded_text(self) -> str | None: ...

    @property
    def owner(self) -> str | None: ...

    @property
    def create_time(self) -> int: ...

    @property
    def dialects(self) -> tuple[str, ...]: ...

    @property
    def properties(self) -> Mapping[str, str]: ...

    def name(self) -> Identifier: ...

    def schema(self) -> Schema: ...

    def current_version(self) -> ViewVersion: ...

    def update(self) -> StatementUpdate: ...


class StatementPartitions(Protocol):
    """The partitions of views."""

    def list(self, identifier: Identifier, partition: Sequence[tuple[str, str | None]] = ()) -> tuple[str, ...]: ...

    def add(
        self, identifier: Identifier, *partitions: Sequence[tuple[str, str | None]], if_not_exists: bool = False
    ) -> tuple[str, ...]: ...

    def drop(
        self, identifier: Identifier, *partitions: Sequence[tuple[str, str | None]], if_exists: bool = False
    ) -> tuple[str, ...]: ...


View_co = TypeVar("View_co", bound=StatementView, covariant=True)


class StatementCatalog(Protocol[View_co]):
    """A catalog of views."""

    @property
    def name(self) -> str: ...

    @property
    def store(self) -> MetastoreStore: ...

    @property
    def materialized(self) -> MaterializedViews: ...

    def create_namespace(self, namespace: str, properties: dict[str, Any] = ...) -> None: ...

    def drop_namespace(self, namespace: str) -> None: ...

    def list_namespaces(self) -> list[Identifier]: ...

    def list_views(self, namespace: tuple[str, ...]) -> list[Identifier]: ...

    def load_view(self, identifier: Identifier) -> View_co: ...

    def view_exists(self, identifier: Identifier) -> bool: ...

    def create_view(
        self, identifier: Identifier, schema: Schema, view_version: ViewVersion, *, properties: dict[str, Any]
    ) -> View_co: ...

    def create_or_replace_view(
        self, identifier: Identifier, schema: Schema, view_version: ViewVersion, *, properties: dict[str, Any]
    ) -> View_co: ...

    def rename_view(self, from_identifier: Identifier, to_identifier: Identifier) -> View_co: ...

    def recompile_view(self, identifier: Identifier, *, analyzer: Analyzer | None = None) -> RecompileResult: ...

    def drop_view(self, identifier: Identifier, *, behavior: DropBehavior | str = "") -> DropReport: ...

    def drop_table(self, identifier: Identifier, *, behavior: DropBehavior | str = "") -> DropReport: ...

    @property
    def partitions(self) -> StatementPartitions: ...
