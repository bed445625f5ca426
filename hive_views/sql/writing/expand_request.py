"""Requests of `hive-views sql expand`: a JSON answer for each JSON request, in the format of the golden files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hive_views.errors import SqlError
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import AlterViewAs, CreateMaterializedView, CreateView, Drop, Statement
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import error_at
from hive_views.sql.writing.definition import ExpandedDefinition, define_view

_CREATE_FUNCTION = re.compile(
    r"\s*create\s+(?:temporary\s+)?(function|macro)\s+`?([\w.]+)`?(.*)", re.IGNORECASE | re.DOTALL
)
_CREATE_TABLE = re.compile(r"\s*create\s+(?:(temporary)|external|managed|\s)*\s*table\b", re.IGNORECASE)
_KINDS = {"VIRTUAL_VIEW": "view", "MATERIALIZED_VIEW": "materialized"}
_HIVE_TEST_BUCKETS = {"srcbucket": ("key",), "srcbucket2": ("key",)}
"""The bucket columns of tables in Hive's own tests, which a request cannot contain in a plain column list."""


class RequestSchemas:
    """The tables, views and functions of one request."""

    def __init__(self, request: Mapping[str, Any], functions: Mapping[str, str]) -> None:
        self.tables: dict[tuple[str, str], TableSchema] = {}
        self.reads: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self.functions = {**functions, **(request.get("functions") or {})}
        views = {str(name).lower() for name in request.get("base_views") or ()}
        for name, description in (request.get("tables") or {}).items():
            database, _, table = str(name).lower().partition(".")
            if isinstance(description, Mapping):
                columns = [*description.get("columns", ()), *description.get("partition_keys", ())]
                kind = _KINDS.get(str(description.get("type")), "table")
                buckets = tuple(str(column) for column in description.get("bucket_columns") or ())
            else:
                columns, kind = list(description), "table"
                buckets = _HIVE_TEST_BUCKETS.get(table, ())
            kind = "view" if str(name).lower() in views else kind
            pairs = tuple((str(column[0]).lower(), str(column[1])) for column in columns)
            self.tables[database, table] = TableSchema(pairs, kind, buckets)
        self.databases = {database for database, _ in self.tables}
        """The databases whose tables the request lists."""

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the schema of a table or view; None if there is none."""
        return self.tables.get((database, name))


def expand_request(
    request: Mapping[str, Any],
    *,
    mode: str = "hive-exact",
    dialect: Dialect = Dialect.HIVE,
    functions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Answer one request: `original`, `expanded`, `columns`, `partition_keys` and `error`."""
    dialect = Dialect.of(str(request.get("dialect") or dialect))
    database = _current_database(request)
    conf = {str(key): str(value) for key, value in request.get("conf") or ()}
    schemas = RequestSchemas(request, functions or {})
    try:
        for sql in request.get("setup") or ():
            _run_setup(str(sql), schemas, database, mode, dialect, conf)
        statement = parse_statement(str(request["ddl"]), dialect)
        _check_target(statement, schemas, database, conf)
        definition = _define(statement, schemas, database, mode, conf)
    except SqlError as error:
        return _answer(None, str(error))
    return _answer(definition, None)


def _current_database(request: Mapping[str, Any]) -> str:
    """Return the current database: the view's own if the request lists tables of that database only."""
    database = str(request.get("database") or "default").lower()
    databases = {str(name).lower().partition(".")[0] for name in request.get("tables") or ()}
    own = str(request.get("view") or "").lower().partition(".")[0]
    return own if database not in databases and own in databases else database


def _answer(definition: ExpandedDefinition | None, error: str | None) -> dict[str, Any]:
    if definition is None:
        return {"original": None, "expanded": None, "columns": None, "partition_keys": None, "error": error}
    return {
        "original": definition.original,
        "expanded": definition.expanded,
        "columns": [[column.name, column.type, column.comment] for column in definition.columns],
        "partition_keys": [[column.name, column.type, column.comment] for column in definition.partition_keys],
        "error": None,
    }


def _run_setup(
    sql: str, schemas: RequestSchemas, database: str, mode: str, dialect: Dialect, conf: Mapping[str, str]
) -> None:
    """Apply a setup statement that creates a view, table or function; other statements are ignored."""
    function = _CREATE_FUNCTION.match(sql)
    if function is not None:
        name = function.group(2).lower().rpartition(".")[2]
        is_macro = function.group(1).lower() == "macro"
        schemas.functions[name] = "macro" if is_macro else _function_kind(function.group(3))
        return
    table = _CREATE_TABLE.match(sql)
    if table is not None:
        _create_table(sql, schemas, database, "temporary" if table.group(1) else "table")
        return
    try:
        statement = parse_statement(sql, dialect)
    except SqlError:
        return
    definition = _define(statement, schemas, database, mode, conf)
    if definition is not None:
        columns = (*definition.columns, *definition.partition_keys)
        kind = "materialized" if isinstance(statement, CreateMaterializedView) else "view"
        schema = TableSchema(tuple((column.name, column.type or "") for column in columns), kind)
        schemas.tables[definition.database, definition.name] = schema
        schemas.reads[definition.database, definition.name] = definition.tables


def _function_kind(definition: str) -> str:
    return next((kind for kind in ("udaf", "udtf") if kind in definition.lower()), "udf")


def _create_table(sql: str, schemas: RequestSchemas, database: str, kind: str) -> None:
    try:
        tree = sqlglot.parse_one(sql, dialect="hive")
    except SqlglotError:
        return
    schema = tree.find(exp.Schema)
    if schema is None or not isinstance(schema.this, exp.Table):
        return
    columns = [
        (item.name.lower(), item.args["kind"].sql(dialect="hive").lower() if item.args.get("kind") else "string")
        for item in schema.expressions
        if isinstance(item, exp.ColumnDef)
    ]
    schemas.tables[schema.this.db.lower() or database, schema.this.name.lower()] = TableSchema(tuple(columns), kind)


def _check_target(statement: Statement, schemas: RequestSchemas, database: str, conf: Mapping[str, str]) -> None:
    """Reject a statement whose target exists but must not exist, or does not exist but must."""
    if not isinstance(statement, (CreateView, CreateMaterializedView, AlterViewAs, Drop)):
        return
    key = (statement.name.database(database), statement.name.name)
    name = ".".join(key)
    existing = schemas.tables.get(key)
    reason = None
    if isinstance(statement, Drop):
        if existing is None and not statement.if_exists and conf.get("hive.exec.drop.ignorenonexistent") == "false":
            reason = f"Table not found {name}"
    elif isinstance(statement, AlterViewAs):
        if existing is None and key[0] in schemas.databases:
            reason = f"Cannot ALTER VIEW AS SELECT if view currently does not exist: {name}"
        elif existing is not None and existing.kind != "view":
            reason = f"{name} is a {existing.kind}, not a view"
    elif existing is not None and not statement.or_replace and not statement.if_not_exists:
        reason = f"Table already exists: {name}"
    elif existing is not None and statement.or_replace and existing.kind != "view":
        reason = f"The following is an existing {existing.kind}, not a view: {name}"
    if reason is not None:
        raise error_at(statement.text, statement.name.start, reason, name)


def _define(
    statement: Statement, schemas: RequestSchemas, database: str, mode: str, conf: Mapping[str, str]
) -> ExpandedDefinition | None:
    if not isinstance(statement, (CreateView, CreateMaterializedView, AlterViewAs)):
        return None
    definition = define_view(statement, schemas, database=database, mode=mode, functions=schemas.functions, conf=conf)
    _check_cycle(definition, schemas, statement)
    return definition


def _check_cycle(
    definition: ExpandedDefinition,
    schemas: RequestSchemas,
    statement: CreateView | CreateMaterializedView | AlterViewAs,
) -> None:
    """Reject a view that reads itself, directly or through other views of the request."""
    target = (definition.database, definition.name)
    stack = [(target, table) for table in definition.tables]
    paths: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {target: (target,)}
    while stack:
        parent, table = stack.pop()
        path = (*paths[parent], table)
        if table == target:
            name, cycle = ".".join(target), " -> ".join(".".join(item) for item in path)
            reason = f"Recursive view {name} detected (cycle: {cycle})"
            raise error_at(statement.text, statement.name.start, reason, name)
        if table not in paths:
            paths[table] = path
            stack += [(table, source) for source in schemas.reads.get(table, ())]
