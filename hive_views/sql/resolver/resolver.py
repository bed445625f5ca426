"""The entry to the resolver: resolves every name of a query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.engines.builtin_functions import HIVE_PARTITIONED_FUNCTIONS
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import is_star
from hive_views.sql.resolver import expressions, names
from hive_views.sql.resolver.aliases import rename_columns
from hive_views.sql.resolver.context import (
    Dispatch,
    Environment,
    ExpansionMode,
    OrderedQuery,
    ResolutionContext,
    Settings,
)
from hive_views.sql.resolver.ctes import resolve_cte
from hive_views.sql.resolver.dialects import DIALECTS
from hive_views.sql.resolver.hive_exact.mode import HIVE_EXACT
from hive_views.sql.resolver.names import visit
from hive_views.sql.resolver.ordering import resolve_order
from hive_views.sql.resolver.queries import resolve_query
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.scopes import AmbiguousName, Schemas, Scope, ScopeColumn
from hive_views.sql.resolver.stars import write_expanded_stars


class _Portable(ExpansionMode):
    """The texts that this catalog stores."""

    resolves_all_names = True
    names_all_columns = True
    writes_generated_aliases = False
    quotes_regex_names = True
    qualifies_inner_ctes = False
    shares_ctes = False
    checks_captures = True
    replaces_ordinals = True
    keeps_keys_under_windows = True

    def reuse_column(
        self, context: ResolutionContext, node: exp.Expr, source: exp.Expr | None, env: Environment
    ) -> None:
        """Resolve the names inside an expression that repeats a grouping key, as columns of FROM."""
        if env.ungrouped is not None:
            of_from = Environment.of_output(env.ungrouped, None, outer=env.outer, reuses_computed=False)
            visit(context, node, replace(of_from, keeps_parentheses=env.keeps_parentheses))

    def key_source(self, context: ResolutionContext, scope: Scope, column: ScopeColumn) -> ScopeColumn | None:
        return context.key_binding(scope, column)

    def star_name(
        self, context: ResolutionContext, scope: Scope, column: ScopeColumn, name: str
    ) -> tuple[str | None, str]:
        source = context.key_binding(scope, column)
        return (source.table, source.name) if source is not None else (scope.original(column)[0], name)

    def sampled_name(
        self, context: ResolutionContext, name: str, qualified: str | None, buckets: Sequence[str]
    ) -> str | None:
        return qualified

    def collection_type(self, context: ResolutionContext, node: exp.Expr) -> str | None:
        return context.type_of(node)

    def resolve_order(self, context: ResolutionContext, query: OrderedQuery) -> None:
        resolve_order(context, query)


PORTABLE = _Portable()
_DISPATCH = Dispatch({**names.HANDLERS, **expressions.HANDLERS}, resolve_query)


def _check_all_tables(context: ResolutionContext) -> None:
    """Reject a table in a clause whose names are not resolved (LIMIT, TABLESAMPLE), and PIVOT after a join."""
    for table in context.query.nodes_of(exp.Table):
        if id(table) in context.bound.sources or not isinstance(table.this, exp.Identifier):
            continue
        # BROADCAST(name) repeats a name of the FROM clause.
        if table.name.lower() not in HIVE_PARTITIONED_FUNCTIONS and table.find_ancestor(exp.Hint) is None:
            reason = f"A query is not supported in the clause that names {table.name}: its names are not resolved there"
            raise context.fail(reason, table, table.name)
    for pivot in context.query.nodes_of(exp.Pivot):
        if id(pivot) not in context.bound.pivots:
            raise context.fail("PIVOT and UNPIVOT after a join are not supported: put the join into a query", pivot)


def _with_unique_names(context: ResolutionContext, scope: Scope, alias: str) -> Scope:
    """Return the columns of a query with the names that they have under an alias, and write these names.

    Where another clause could name a column that gets another name, the names stay as they are.
    """
    names = [scope.names[column][1] for column in scope.columns]
    if (
        len(set(names)) == len(names)
        or not _only_lists_columns(context, scope)
        or any(map(_GENERATED.fullmatch, names))
    ):
        return scope
    renamed = rename_columns(context, scope, alias, None)
    result = Scope()
    for column, new in zip(scope.columns, renamed.columns, strict=True):
        result.put(None, renamed.names[new][1], column)
    return result


def _only_lists_columns(context: ResolutionContext, scope: Scope) -> bool:
    """Return whether no clause of the outermost query names one of several columns of its SELECT list."""
    query: exp.Expr = context.query.tree
    counts = Counter(scope.names[column][1] for column in scope.columns)
    repeated = {name for name, count in counts.items() if count > 1}
    while isinstance(query, exp.SetOperation) and not any(query.args.get(name) for name in _NAMING_CLAUSES):
        query = query.this
    if type(query) is not exp.Select or context.text.pipe_markers or context.text.pipe_stars:
        return False
    clauses = [clause for name in _NAMING_CLAUSES if (clause := query.args.get(name)) is not None]
    if query.find(exp.Pivot) is not None or (clauses and query.args.get("distinct") is not None):
        return False
    has_aliases = context.dialect.has_lateral_aliases  # Spark finds a name with a table in FROM
    if clauses and not (has_aliases and all(_names_none_of(clause, repeated) for clause in clauses)):
        return False
    # A function that produces several columns has one list of names.
    items = [
        item for item in map(context.bound.select_items.get, scope.columns) if item is not None and not is_star(item)
    ]
    return len({id(item) for item in items}) == len(items)


def _names_none_of(clause: exp.Expr, repeated: Container[str]) -> bool:
    """Return whether a clause names no column of some names without its table."""
    return not any(column.name.lower() in repeated and not column.table for column in clause.find_all(exp.Column))


def _write_names(context: ResolutionContext) -> None:
    """Add `AS name` to the columns that have no name."""
    for last, name in context.writing.added_names:
        for edits in (context.writing.edits, context.writing.star_edits):
            edits.append(last, f" AS {context.quote(name)}")


_NAMING_CLAUSES = frozenset({"order", "sort", "distribute", "cluster", "having", "qualify"})
_GENERATED = re.compile(r"_col\d+")


def resolve(
    query: ParsedQuery,
    schemas: Schemas,
    database: str,
    *,
    exact: bool = False,
    functions: Mapping[str, str] | None = None,
    conf: Mapping[str, str] | None = None,
    alias: str | None = None,
) -> ResolvedQuery:
    """Resolve every name of a query, with `exact` as Hive 4.1 does, including its faults. Raises SqlError.

    Under an `alias`, the query is a derived table: of two columns with one name the second gets another name.
    """
    text = query.text
    mode = HIVE_EXACT if exact else PORTABLE
    settings = Settings.of(query, mode, schemas, database, functions, conf)
    context = ResolutionContext(query, settings, DIALECTS[text.dialect], mode, _DISPATCH)
    try:
        scope = resolve_query(context, query.tree, context.with_clauses.visible)
        if context.mode.resolves_all_names:
            for definition in context.with_clauses.definitions:
                resolve_cte(context, definition, definition.level)
            _check_all_tables(context)
        if alias is not None:
            scope = _with_unique_names(context, scope, alias)
        write_expanded_stars(context)
        _write_names(context)
    except AmbiguousName as error:
        raise SqlError(error.reason) from error  # no caller knew the position of the name
    except RecursionError:
        raise text.error("The text is nested too deeply", 0) from None
    return _resolved(context, scope)


def _resolved(context: ResolutionContext, output: Scope) -> ResolvedQuery:
    writing = context.writing
    return ResolvedQuery(
        context.query,
        output,
        context.dialect,
        context.bound,
        context.settings.regex_names,
        writing.edits,
        writing.star_edits if writing.has_star else None,
        context.types,
        context.budget,
    )
