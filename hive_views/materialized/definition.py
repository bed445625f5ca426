"""From a query to the definition of a materialized view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.dependencies.unreadable_tables import reject_unreadable_tables
from hive_views.dependencies.view_builder import Building, build_definition
from hive_views.dependencies.view_query import ViewQuery, author_dialect
from hive_views.materialized.checks.inline import check_definition

if TYPE_CHECKING:
    from hive_views.dependencies.view_builder import ViewDefinition
    from hive_views.dependencies.view_query import Analyzer
    from hive_views.identifiers import ViewName
    from hive_views.materialized.services import MaterializedServices


def materialized_query(
    name: ViewName, sql: str | ViewDefinition, database: str | None, dialect: str, analyzer: Analyzer | None
) -> ViewQuery | ViewDefinition:
    """Return the query that an author typed for a view, or the definition that was built already."""
    if not isinstance(sql, str):
        return sql
    return ViewQuery(
        sql=sql, dialect=author_dialect(dialect), database=(database or name.database).lower(), analyzer=analyzer
    )


def define_materialized(
    services: MaterializedServices, name: ViewName, query: ViewQuery | ViewDefinition
) -> ViewDefinition:
    """Return the definition of a materialized view; raises if no refresh could run it."""
    if isinstance(query, ViewQuery):
        # The text of the row is not rewritten for Trino: refreshes analyze it, and Trino reads the storage.
        query = build_definition(services.store, name, query, Building(catalog_name=services.tables.name))
    check_definition(name, query.version)
    reject_unreadable_tables(services.store, name, query.tables)
    return query
