"""`sql expand`: one JSON request to one JSON answer, in the form of the golden files and of a real Hive's answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hive_views.errors import SqlError
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.lexer import line_and_column
from hive_views.sql.parsing.statements import AlterViewAs, CreateMaterializedView, CreateView, Drop, Statement
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.rewriting.definition import ViewDefinition, define_view

_FUNCTION = re.compile(r"\s*create\s+(?:temporary\s+)?(function|macro)\s+`?([\w.]+)`?(.*)", re.IGNORECASE | re.DOTALL)
_TABLE = re.compile(r"\s*create\s+(?:(temporary)|external|managed|\s)*\s*table\b", re.IGNORECASE)


HIVE_TEST_BUCKETS = {"srcbucket": ("key",), "srcbucket2": ("key",)}
"""The bucketed tables of Hive's own tests, whose CLUSTERED BY the golden files do not repeat."""


class Catalog:
    """The tables of one request, as the resolver asks for them."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], TableSchema] = {}
        self.reads: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self.functions: dict[str, str] = {}
        self.described: set[str] = set()

    def table(self, database: str, name: str) -> TableSchema | None:
        """The schema of a table or view; None where there is none."""
        return self.tables.get((database, name))


def expand_request(
    request: Mapping[str, Any],
    *,
    mode: str = "hive-exact",
    dialect: str = "hive",
    functions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Answer one request."""
    dialect = str(request.get("dialect") or dialect)
    database = _database(request)
    conf = {str(key): str(value) for key, value in request.get("conf") or ()}
    catalog = _catalog(request, functions or {})
    try:
        for sql in request.get("setup") or ():
            _set_up(str(sql), catalog, database, mode, dialect, conf)
        statement = parse_statement(str(request["ddl"]), dialect)
        _check_target(statement, catalog, database, conf)
        found = _define(statement, catalog, database, mode, conf)
    except SqlError as error:
        return _answer(None, str(error))
    return _answer(found, None)


def _database(request: Mapping[str, Any]) -> str:
    """The current database; the view's own where the request describes tables of that one only."""
    database = str(request.get("database") or "default").lower()
    described = {str(name).lower().partition(".")[0] for name in request.get("tables") or ()}
    own = str(request.get("view") or "").lower().partition(".")[0]
    return own if database not in described and own in described else database


def _answer(found: ViewDefinition | None, error: str | None) -> dict[str, Any]:
    if found is None:
        return {"original": None, "expanded": None, "columns": None, "partition_keys": None, "error": error}
    return {
        "original": found.original,
        "expanded": found.expanded,
        "columns": [[column.name, column.type, column.comment] for column in found.columns],
        "partition_keys": [[column.name, column.type, column.comment] for column in found.partition_keys],
        "error": None,
    }


def _catalog(request: Mapping[str, Any], functions: Mapping[str, str]) -> Catalog:
    catalog = Catalog()
    views = {str(name).lower() for name in request.get("base_views") or ()}
    for name, described in (request.get("tables") or {}).items():
        database, _, table = str(name).lower().partition(".")
        if isinstance(described, Mapping):
            columns = [*described.get("columns", ()), *described.get("partition_keys", ())]
            kind = _KINDS.get(str(described.get("type")), "table")
            buckets = tuple(str(column) for column in described.get("bucket_columns") or ())
        else:
            columns, kind = list(described), "table"
            buckets = HIVE_TEST_BUCKETS.get(table, ())
        kind = "view" if str(name).lower() in views else kind
        catalog.tables[database, table] = TableSchema(
            tuple((str(c[0]).lower(), str(c[1])) for c in columns), kind, buckets
        )
    catalog.functions = {**functions, **(request.get("functions") or {})}
    catalog.described = {database for database, _ in catalog.tables}
    return catalog


_KINDS = {"VIRTUAL_VIEW": "view", "MATERIALIZED_VIEW": "materialized"}


def _set_up(sql: str, catalog: Catalog, database: str, mode: str, dialect: str, conf: Mapping[str, str]) -> None:
    """Run a statement that was run before: views, tables, functions; others change nothing here."""
    function = _FUNCTION.match(sql)
    if function is not None:
        name = function.group(2).lower().rpartition(".")[2]
        catalog.functions[name] = "macro" if function.group(1).lower() == "macro" else _kind_of(function.group(3))
        return
    table = _TABLE.match(sql)
    if table is not None:
        _set_up_table(sql, catalog, database, "temporary" if table.group(1) else "table")
        return
    try:
        statement = parse_statement(sql, dialect)
    except SqlError:
        return
    found = _define(statement, catalog, database, mode, conf)
    if found is not None:
        columns = (*found.columns, *found.partition_keys)
        kind = "materialized" if isinstance(statement, CreateMaterializedView) else "view"
        schema = TableSchema(tuple((column.name, column.type or "") for column in columns), kind)
        catalog.tables[found.database, found.name] = schema
        catalog.reads[found.database, found.name] = found.tables


def _kind_of(definition: str) -> str:
    for word, kind in (("udaf", "udaf"), ("udtf", "udtf")):
        if word in definition.lower():
            return kind
    return "udf"


def _set_up_table(sql: str, catalog: Catalog, database: str, kind: str) -> None:
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
    catalog.tables[schema.this.db.lower() or database, schema.this.name.lower()] = TableSchema(tuple(columns), kind)


def _check_target(statement: Statement, catalog: Catalog, database: str, conf: Mapping[str, str]) -> None:
    """Whether the object that a statement makes or changes may, or must, be there already."""
    if not isinstance(statement, (CreateView, CreateMaterializedView, AlterViewAs, Drop)):
        return
    key = (statement.name.database(database), statement.name.name)
    shown = ".".join(key)
    existing = catalog.tables.get(key)
    line, column = line_and_column(statement.text, statement.name.start)

    def refused(reason: str) -> SqlError:
        return SqlError(reason, line=line, column=column, name=shown)

    if isinstance(statement, Drop):
        if existing is None and not statement.if_exists and conf.get("hive.exec.drop.ignorenonexistent") == "false":
            raise refused(f"Table not found {shown}")
        return
    if isinstance(statement, AlterViewAs):
        if existing is None and key[0] in catalog.described:
            raise refused(f"Cannot ALTER VIEW AS SELECT if view currently does not exist: {shown}")
        if existing is not None and existing.kind != "view":
            raise refused(f"{shown} is a {existing.kind}, not a view")
        return
    if existing is not None and not statement.or_replace and not statement.if_not_exists:
        raise refused(f"Table already exists: {shown}")
    if existing is not None and statement.or_replace and existing.kind != "view":
        raise refused(f"The following is an existing {existing.kind}, not a view: {shown}")


def _define(
    statement: Statement, catalog: Catalog, database: str, mode: str, conf: Mapping[str, str]
) -> ViewDefinition | None:
    if not isinstance(statement, (CreateView, CreateMaterializedView, AlterViewAs)):
        return None
    found = define_view(statement, catalog, database=database, mode=mode, functions=catalog.functions, conf=conf)
    _check_cycle(found, catalog, statement)
    return found


def _check_cycle(
    found: ViewDefinition, catalog: Catalog, statement: CreateView | CreateMaterializedView | AlterViewAs
) -> None:
    """Refuse a view that reads itself, directly or through other views of the request."""
    target = (found.database, found.name)
    stack = [(target, table) for table in found.tables]
    paths: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {target: (target,)}
    while stack:
        parent, table = stack.pop()
        path = (*paths[parent], table)
        if table == target:
            shown = " -> ".join(".".join(item) for item in path)
            line, column = line_and_column(statement.text, statement.name.start)
            name = ".".join(target)
            raise SqlError(f"Recursive view {name} detected (cycle: {shown})", line=line, column=column, name=name)
        if table not in paths:
            paths[table] = path
            stack += [(table, child) for child in catalog.reads.get(table, ())]
