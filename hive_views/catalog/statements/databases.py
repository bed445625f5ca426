"""Statements about databases. They are not part of the view DDL, which Spark sessions intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.catalog.statements.context import Result, ResultKind, name_filter
from hive_views.errors import NamespaceAlreadyExistsError, NoSuchNamespaceError
from hive_views.sql.parsing.ddl import Cursor
from hive_views.sql.text.dialects import Dialect
from hive_views.text_enum import TextEnum

if TYPE_CHECKING:
    from hive_views.catalog.view_catalog import ViewCatalog

_KEYWORDS = ("DATABASE", "SCHEMA")


class DatabaseAction(TextEnum):
    """What a statement does with databases."""

    CREATE = "create"
    DROP = "drop"
    SHOW = "show"


@dataclass(frozen=True)
class DatabaseStatement:
    """CREATE | DROP DATABASE, or SHOW DATABASES; SCHEMA is a synonym."""

    action: DatabaseAction
    name: str = ""
    is_conditional: bool = False
    """IF NOT EXISTS, or IF EXISTS."""
    properties: tuple[tuple[str, str], ...] = ()
    """DBPROPERTIES, and COMMENT and LOCATION as `comment` and `location`."""
    pattern: str | None = None
    """The pattern of SHOW DATABASES LIKE."""


def parse_database_statement(sql: str, dialect: Dialect) -> DatabaseStatement | None:
    """Parse a statement about databases; None if it is about something else; raises SqlError."""
    cursor = Cursor(sql, dialect)
    if cursor.first == "SHOW" and (cursor.accept("DATABASES") or cursor.accept("SCHEMAS")):
        has_like = cursor.accept("LIKE")
        pattern = cursor.string() if has_like or not cursor.done else None
        statement = DatabaseStatement(DatabaseAction.SHOW, pattern=pattern)
    elif cursor.first in ("CREATE", "DROP") and any(cursor.accept(word) for word in _KEYWORDS):
        statement = _create(cursor) if cursor.first == "CREATE" else _drop(cursor)
    else:
        return None
    cursor.finish()
    return statement


def _create(cursor: Cursor) -> DatabaseStatement:
    is_conditional = cursor.accept("IF", "NOT", "EXISTS")
    name = _name(cursor)
    properties: list[tuple[str, str]] = []
    while not cursor.done:
        start = cursor.start
        pairs: tuple[tuple[str, str], ...]
        if cursor.accept("COMMENT"):
            pairs = (("comment", cursor.string()),)
        elif cursor.dialect is not Dialect.TRINO and cursor.accept("LOCATION"):
            pairs = (("location", cursor.string()),)
        elif cursor.accept("WITH"):
            if cursor.dialect is not Dialect.TRINO and not (
                cursor.accept("DBPROPERTIES") or cursor.accept("PROPERTIES")
            ):
                raise cursor.error("DBPROPERTIES")
            pairs = cursor.parenthesized(cursor.property_pair)
        else:
            raise cursor.error("COMMENT, LOCATION or WITH DBPROPERTIES")
        for key, value in pairs:
            if key in dict(properties):
                raise cursor.error_at(start, f"The property {key!r} is given twice")
            properties.append((key, value))
    return DatabaseStatement(DatabaseAction.CREATE, name, is_conditional, properties=tuple(properties))


def _drop(cursor: Cursor) -> DatabaseStatement:
    is_conditional = cursor.accept("IF", "EXISTS")
    name = _name(cursor)
    start = cursor.start
    if cursor.accept("CASCADE"):
        raise cursor.error_at(start, "CASCADE would drop tables and their data: drop what the database contains first")
    cursor.accept("RESTRICT")
    return DatabaseStatement(DatabaseAction.DROP, name, is_conditional)


def _name(cursor: Cursor) -> str:
    name = cursor.name()
    if len(name.parts) != 1:
        raise cursor.error_at(name.start, f"{name} is not the name of a database")
    return name.parts[0]


def execute_database_statement(catalog: ViewCatalog, statement: DatabaseStatement, dialect: str) -> Result:
    """Run CREATE DATABASE, DROP DATABASE or SHOW DATABASES."""
    if statement.action is DatabaseAction.SHOW:
        is_shown = name_filter(statement.pattern, dialect)
        rows = tuple((name,) for name in sorted(name for (name,) in catalog.list_namespaces()) if is_shown(name))
        return Result(ResultKind.ROWS, None, ("database",), rows)
    name = statement.name.lower()
    try:
        if statement.action is DatabaseAction.CREATE:
            catalog.create_namespace(name, dict(statement.properties))
            return Result(ResultKind.CREATED, (name,))
        catalog.drop_namespace(name)
        return Result(ResultKind.DROPPED, (name,))
    except (NamespaceAlreadyExistsError, NoSuchNamespaceError):
        if not statement.is_conditional:
            raise
        return Result(ResultKind.UNCHANGED if statement.action is DatabaseAction.CREATE else ResultKind.ABSENT, (name,))
