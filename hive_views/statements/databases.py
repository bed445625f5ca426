"""Executes statements about databases."""

from __future__ import annotations

from typing import Any

from hive_views.errors import NamespaceAlreadyExistsError, NoSuchNamespaceError
from hive_views.sql.parsing.databases import DatabaseStatement
from hive_views.statements.catalog_protocol import StatementCatalog
from hive_views.statements.context import Result, like_pattern


def execute_database_statement(
    catalog: StatementCatalog[Any], statement: DatabaseStatement, dialect: str
) -> Result[Any]:
    """Run CREATE DATABASE, DROP DATABASE or SHOW DATABASES."""
    if statement.kind == "show":
        pattern = like_pattern(statement.pattern, dialect)
        names = sorted(name for (name,) in catalog.list_namespaces())
        rows = tuple((name,) for name in names if pattern is None or pattern.fullmatch(name))
        return Result("rows", None, ("database",), rows)
    name = statement.name.lower()
    try:
        if statement.kind == "create":
            catalog.create_namespace(name, dict(statement.properties))
            return Result("created", (name,))
        catalog.drop_namespace(name)
        return Result("dropped", (name,))
    except (NamespaceAlreadyExistsError, NoSuchNamespaceError):
        if not statement.is_conditional:
            raise
        return Result("unchanged" if statement.kind == "create" else "absent", (name,))
