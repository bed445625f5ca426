"""Names in expressions: the column that each column reference refers to, as Hive's type checker resolves it.

Source of the rules: Hive 4.1's `TypeCheckProcFactory`, `JoinCondTypeCheckProcFactory`, `CalcitePlanner.genAllRexNode`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.hive_grammar import BEFORE_OPERAND, RESERVED
from hive_views.sql.parsing.syntax_tree import comparison_key, unwrapped
from hive_views.sql.resolver.context import Environment, Handler, ResolutionContext, UnknownNameError, start_of
from hive_views.sql.resolver.scopes import AmbiguousName, JoinColumn, MergedKey, Scope, ScopeColumn
from hive_views.sql.text.quoting import quote_qualified
from hive_views.sql.types import hive_types

# -- Expressions -------------------------------------------------------------------------------------------------------


def resolve(context: ResolutionContext, node: exp.Expr, env: Environment) -> ScopeColumn | None:
    """Resolve every name of an expression; the edits are kept only if all names could be resolved."""
    pending, copies = context.writing.pending_edits, context.writing.pending_copies
    first_edit, first_copy = len(pending), len(copies)
    try:
        column = visit(context, node, env)
        context.writing.edits.replace_all(pending[first_edit:] if first_edit else pending)
        if copies:
            for target, source in copies[first_copy:]:
                context.writing.edits.copy(target, source)
        return column
    finally:
        del pending[first_edit:]
        del copies[first_copy:]


def visit(context: ResolutionContext, node: exp.Expr, env: Environment) -> ScopeColumn | None:
    """Resolve the names of a node and of everything under it; return the column if the node is one, else None."""
    if env.reuses_computed and (env.scopes[0].keys or (env.outer is not None and env.outer.keys)):
        column = _computed_column(context, node, env)
        if column is not None:
            return column
    handler = context.dispatch.handlers.get(type(node))
    if handler is not None:
        return handler(context, node, env)
    if not isinstance(node, exp.Func):
        visit_children(context, node, env)
        return None
    context.dialect.checks.resolve_function(context, node, env)
    if (
        env.scopes[0].has_grouping_sets
        and not context.mode.resolves_all_names
        and function_name(context, node) == "grouping"
    ):
        return None
    visit_children(context, node, env)
    context.mode.check_call(context, node)
    return None


def visit_children(context: ResolutionContext, node: exp.Expr, env: Environment) -> None:
    """Resolve the names in everything under a node."""
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            visit(context, value, env)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, exp.Expr):
                    visit(context, item, env)


def function_name(context: ResolutionContext, node: exp.Expr) -> str | None:
    """Return the name of a function as it is written in the text, in lower case."""
    return context.query.function_name(node)


def _computed_column(context: ResolutionContext, node: exp.Expr, env: Environment) -> ScopeColumn | None:
    """Return the column that already has an expression's value: a GROUP BY key, an aggregate, a window function."""
    scope = env.scopes[0]
    if isinstance(node, exp.Connector) and not scope.has_connector_keys and env.outer is None:
        return None  # saves the comparison key of a long chain, which is as long as the chain
    text = comparison_key(node)
    column = scope.keys.get(text)
    if column is None and env.outer is not None:
        column = env.outer.keys.get(text)
    if column is None:
        return None
    source = scope.key_nodes.get(text)
    if type(node) is exp.Paren and source is unwrapped(node):
        node = source  # Hive's tree has no parentheses: this is the expression itself, not a copy of it
    if source is not node:
        context.bound.bindings.setdefault(id(node), column)
        context.mode.reuse_column(context, node, source, env)
    return column


# -- Column references -------------------------------------------------------------------------------------------------


def _column(context: ResolutionContext, node: exp.Column, env: Environment) -> ScopeColumn | None:
    arguments = node.args
    identifier = arguments["this"]
    if type(identifier) is exp.Star:
        bind_star(context, node, env, node.table.lower())
        return None
    if len(env.scopes) == 1 and type(identifier) is exp.Identifier and "db" not in arguments:
        column = _simple_column(context, node, identifier, arguments.get("table"), env)
        if column is not None:
            return column
    return _resolve_chain(context, node, node.parts, env)


def _rejects_duplicates(scope: Scope, env: Environment) -> bool:
    """Return whether a name of several columns of one table is ambiguous: after PIVOT and UNPIVOT in every clause."""
    return env.rejects_duplicates or (scope.merged is not None and scope.merged.is_repeating)


def check_repeated_columns(context: ResolutionContext, star: exp.Expr, scope: Scope) -> None:
    """Reject a star over a PIVOT or UNPIVOT with several columns of one name, which cannot be listed."""
    if scope.merged is not None and scope.merged.is_repeating:
        raise context.fail("PIVOT or UNPIVOT has a column name twice: give its columns other names", star)


def bind_star(context: ResolutionContext, node: exp.Expr, env: Environment, table: str = "") -> None:
    """Record the columns that a star in a function stands for."""
    for scope in env.scopes:
        check_repeated_columns(context, node, scope)
    columns = [column for scope in env.scopes for column in scope.star_columns(table)]
    context.budget.add_columns(len(columns), node)
    star = node if type(node) is exp.Star else node.this
    omitted: set[str | ScopeColumn] = set()
    for item in star.args.get("except_") or star.args.get("except") or ():
        parts = getattr(item, "parts", (item,))
        match = find_dotted(context, parts, env) if len(parts) > 1 else None
        if match is None:
            omitted.add(item.name.lower())
        elif match[2] == len(parts) - 1:  # and not a field, without which a part of the column stays
            omitted.add(match[0])
    context.bound.star_columns[id(node)] = columns = [item for item in columns if omitted.isdisjoint((item, item.name))]
    names_fields = context.mode.names_all_columns and isinstance(node.parent, NAMING_FUNCTIONS)
    if names_fields and any(context.column_names.is_invented(column) for column in columns):
        raise context.fail("This struct has a field of a column without a name: give the column a name with AS", node)


def _simple_column(
    context: ResolutionContext, node: exp.Column, identifier: Any, table: Any, env: Environment
) -> ScopeColumn | None:
    """Return a fast `_resolve_chain` for the most frequent names, `a` and `t.a` in one scope.

    None for any other name.
    """
    scope = env.scopes[0]
    name = identifier.this
    if not _is_name(name):
        check_identifier(context, identifier)
    if scope.merged is not None or scope.repeated or env.parameters:
        return None
    if env.rejects_duplicates and scope.ambiguous and not scope.grouped:
        return None
    tables = scope.tables
    columns: dict[str, ScopeColumn] | None = None
    if table is not None:
        if type(table) is exp.Identifier and _is_name(table.this):
            columns = tables.get(table.this.lower())
    elif not scope.hidden:
        lower = name.lower()
        owners = [columns for columns in tables.values() if lower in columns]
        if len(owners) == 1:
            (columns,) = owners
    column = columns.get(name.lower()) if columns is not None else None
    if column is None or (scope.grouped and not column.table):
        return None
    context.bound.bindings[id(node)] = column
    if column.table:
        _write_reference(context, identifier if table is None else table, identifier, True, column, scope, env)
    return column


def _dot(context: ResolutionContext, node: exp.Dot, env: Environment) -> None:
    parts: list[exp.Expr] = []
    inner: exp.Expr = node
    while type(inner) is exp.Dot:
        parts.append(inner.expression)
        inner = inner.this
    parts.reverse()
    if isinstance(node.expression, exp.Star):
        raise context.fail("The star of an expression is not supported: list the fields", node)
    if type(inner) is exp.Column and not isinstance(inner.this, exp.Star):
        if env.reuses_computed and _computed_column(context, inner, env) is not None:
            _resolve_fields(context, context.bound.bindings[id(inner)].type, parts)
        else:
            _resolve_chain(context, node, [*inner.parts, *parts], env)
        return
    if not all(isinstance(part, exp.Identifier) for part in parts):
        visit_children(context, node, env)
        return
    column = visit(context, inner, env)
    _resolve_fields(context, column.type if column is not None else None, parts)


def _resolve_chain(
    context: ResolutionContext, node: exp.Expr, parts: list[Any], env: Environment
) -> ScopeColumn | None:
    """`a`, `t.a`, `a.field`, `t.a.field.field`: read from the left, as Hive does."""
    if context.dialect.allows_database_in_column:
        return _resolve_dotted(context, node, parts, env)
    table_name = parts[0].name.lower()
    if context.dialect.checks_identifiers:
        for part in parts:
            check_identifier(context, part)
    used = 1
    owner: Scope | None = None
    if len(parts) > 1:
        owner = _scope_of_table(context, env, table_name, parts[0])
    if owner is not None:
        part = parts[used]
        used += 1
        column, scope = _find_column(context, env, table_name, part.name.lower(), part)
        if column is None:
            raise context.fail(
                f"Invalid column reference '{part.name}': table {table_name} has no such column "
                f"(it has: {_list_names(env, table_name)})",
                part,
                part.name,
            )
    else:
        used = 1
        column, scope = _find_column(context, env, None, parts[0].name.lower(), parts[0])
        if column is None:
            raise _unknown_column(context, parts[0], env)
    assert scope is not None
    if scope.grouped and env.ungrouped is not None and not column.table:
        source = context.mode.key_source(context, scope, column)
        if source is not None:
            column, scope = source, env.ungrouped
    context.bound.bindings[id(node)] = column
    _write_reference(context, parts[0], parts[used - 1], used == len(parts), column, scope, env)
    if used < len(parts):
        context.bound.fields[id(node)] = [part.name for part in parts[used:]]
        _resolve_fields(context, column.type, parts[used:])
        return None
    return column


def _resolve_dotted(
    context: ResolutionContext, node: exp.Expr, parts: list[Any], env: Environment
) -> ScopeColumn | None:
    """Resolve a name of Spark or Trino: as many parts as possible name the table; parts after the column are fields.

    Both engines try all readings of a name inside a subquery before they search the query around it.
    """
    match = find_dotted(context, parts, env)
    names = [part.name.lower() for part in parts]
    widest = min(3, len(parts) - 1)
    if match is not None:
        column, scope, used = match
        fields = parts[used + 1 :]
        context.bound.bindings[id(node)] = column
        _check_fields(context, column, fields)
        if fields and column.table:
            _check_database_capture(context, env, column.table, column.name, fields[0])
        _write_reference(context, parts[0], parts[used], not fields, column, scope, env)
        if not fields:
            return column
        context.bound.fields[id(node)] = [part.name for part in fields]
        _resolve_fields(context, column.type, fields)
        return None
    if _is_literal_function(context, parts):
        function = context.bound.bindings[id(node)] = ScopeColumn("", None, "", LITERAL_FUNCTIONS[names[0]], (node,))
        return function
    for part in parts:
        has_nameless = any(context.column_names.is_invented(column) for scope in env.scopes for column in scope.columns)
        if context.dialect.has_lateral_aliases and not _is_name(part.name) and has_nameless:
            raise context.fail(
                f"There is no column `{part.name}`; a name that Spark generates for an expression cannot be used: give "
                "the expression a name with AS",
                part,
                part.name,
            )
    for used in range(widest, 0, -1):
        table = names[used - 1]
        if any(table in scope.tables and (used == 1 or is_qualified_as(scope, names[:used])) for scope in env.scopes):
            raise context.fail(
                f"Invalid column reference '{parts[used].name}': table {table} has no such column "
                f"(it has: {_list_names(env, table)})",
                parts[used],
                parts[used].name,
            )
    raise _unknown_column(context, parts[0], env)


def find_dotted(
    context: ResolutionContext, parts: Sequence[Any], env: Environment
) -> tuple[ScopeColumn, Scope, int] | None:
    """Return the column that a dotted name begins with, its scope, and the position of its name."""
    names = [part.name.lower() for part in parts]
    levels = [*((scope,) for scope in env.parameters), env.scopes]
    outer = env.outer if not _is_literal_function(context, parts) else None
    while outer is not None:
        levels.append((outer,))
        outer = outer.around
    for scopes, used in product(levels, range(min(3, len(parts) - 1), -1, -1)):
        column, scope = _find_qualified(context, scopes, names[: used + 1], parts[used], env)
        if column is not None and scope is not None:
            if used == 3:
                check_catalog(context, scope, parts[:3], parts, env)
            return column, scope, used
    return None


def check_catalog(
    context: ResolutionContext, scope: Scope, qualifier: Sequence[Any], parts: Sequence[Any], env: Environment
) -> None:
    """Reject `c.d.t` in front of a column or star if FROM does not name the catalog and `c` can be a struct."""
    catalog, _ = scope.qualifiers[qualifier[-1].name.lower()]
    without_catalog = [part.name.lower() for part in parts]
    for used in () if catalog else range(min(2, len(parts) - 1), -1, -1):
        column, _ = _find_qualified(context, env.scopes, without_catalog[: used + 1], parts[used], env)
        type_text = column.type if column is not None else None
        if type_text is not None and hive_types.base(type_text) in _TYPES_WITH_FIELDS:
            name = ".".join(part.name for part in parts)
            raise context.fail(
                f"'{name}' can begin with a catalog or with a column: give the table an alias", parts[0], name
            )


def _is_literal_function(context: ResolutionContext, parts: Sequence[Any]) -> bool:
    """Return whether Spark calls a function for a name that no column of the FROM clause has."""
    return len(parts) == 1 and context.dialect.has_lateral_aliases and parts[0].name.lower() in LITERAL_FUNCTIONS


def dotted_value(
    context: ResolutionContext, parts: Sequence[Any], env: Environment
) -> tuple[ScopeColumn | None, str, str | None]:
    """Return the column of a dotted name, and the text and type of the column or field; None for an unknown type."""
    match = find_dotted(context, parts, env)
    if match is None:
        return None, "", None
    column, scope, used = match
    type_text = column.type
    for part in parts[used + 1 :]:
        type_text = hive_types.field_of(type_text, part.name)
    if type(column) is MergedKey:
        text = written_join_column(context, column.join_column)
    elif column.table:
        text = qualified_name(context, *_written_name(column, scope))
    else:
        text = context.quote(column.name)
    return column, ".".join([text, *(context.quote(part.name) for part in parts[used + 1 :])]), type_text


def _written_name(column: ScopeColumn, scope: Scope) -> tuple[str, str]:
    table, name = scope.names.get(column) or scope.original(column)
    return table or "", name


def _find_qualified(
    context: ResolutionContext, scopes: tuple[Scope, ...], names: list[str], at: exp.Expr, env: Environment
) -> tuple[ScopeColumn | None, Scope | None]:
    """Return the column for a name whose last part is the column and whose other parts are its table."""
    *qualifier, name = names
    table = qualifier[-1] if qualifier else None
    matches: list[tuple[ScopeColumn, Scope]] = []
    try:
        for scope in scopes:
            if len(qualifier) > 1 and not is_qualified_as(scope, qualifier):
                continue
            is_repeated = scope.ambiguous and not scope.grouped and scope.is_ambiguous(table, name)
            if is_repeated and _rejects_duplicates(scope, env):
                raise AmbiguousName(name, is_repeated=True)
            column = scope.find_own(table, name)
            if column is not None:
                if scope.repeated and scope.names.get(column) in scope.repeated:
                    raise AmbiguousName(name, is_repeated=True)
                matches.append((column, scope))
        if len(matches) > 1 or (matches and len(scopes) > 1 and _has_twin(matches[0], scopes)):
            raise AmbiguousName(name)
    except AmbiguousName as error:
        raise context.fail(error.reason, at, name) from error
    return matches[0] if matches else (None, None)


def _has_twin(match: tuple[ScopeColumn, Scope], scopes: tuple[Scope, ...]) -> bool:
    """Return whether the other side of a SEMI or ANTI join has a column of the same table alias and name."""
    column, owner = match
    table, name = owner.names.get(column) or (column.table, column.name)
    return bool(table) and any(name in scope.tables.get(table, ()) for scope in scopes if scope is not owner)


def is_qualified_as(scope: Scope, qualifier: Sequence[str]) -> bool:
    """Return whether a table of a scope has the given database, and the given catalog if there is one."""
    catalog_and_database = scope.qualifiers.get(qualifier[-1])
    if catalog_and_database is None:
        return False
    catalog, database = catalog_and_database
    return database == qualifier[-2] and (len(qualifier) < 3 or not catalog or catalog == qualifier[-3])


def _check_fields(context: ResolutionContext, column: ScopeColumn, fields: Sequence[exp.Expr]) -> None:
    """Reject the field of a column whose type has no fields."""
    if fields and column.type is not None and hive_types.base(column.type) not in _TYPES_WITH_FIELDS:
        raise context.fail(
            f"Invalid field '{fields[0].name}': column {column.name} is of type {column.type}", fields[0], column.name
        )


def _check_database_capture(context: ResolutionContext, env: Environment, table: str, name: str, field: Any) -> None:
    """Reject `t.a.f` where Spark reads `t` as the database of a table `a`."""
    for scope in env.scopes:
        qualifier = scope.qualifiers.get(name)
        if qualifier is not None and qualifier[1] == table and field.name.lower() in scope.tables.get(name, {}):
            raise context.fail(
                f"'{table}.{name}.{field.name}' also is a column of table {table}.{name}: give the table an alias",
                field,
                field.name,
            )


def _write_reference(
    context: ResolutionContext,
    begin: Any,
    end: Any,
    is_whole: bool,
    column: ScopeColumn,
    scope: Scope,
    env: Environment,
) -> None:
    """Replace a column reference by its qualified name, with the parentheses and no-op signs around it."""
    table: str | None
    if type(column) is MergedKey:
        table, name = "", column.name
        tables: Sequence[str | None] = column.join_column.tables if column.join_column.is_qualified else ()
    elif column.table:
        table, name = scope.names.get(column) or scope.original(column)
        tables = (table,)
    else:
        return
    first = last = context.text.token_of(begin)
    if end is not begin:
        last = context.text.token_of(end)
    if first is None or last is None or table is None:
        return
    if (
        first
        and context.text.kinds[first - 1] in _IN_FRONT
        and context.dialect.drops_parentheses
        and not env.keeps_parentheses
    ):
        first, last = widen(context, first, last) if is_whole else _parentheses(context, first, last)
    if type(column) is MergedKey:
        text = written_join_column(context, column.join_column)
    else:
        is_spelled = is_whole and (env.keeps_spelling or (context.dialect.keeps_letter_case and _names_field(end)))
        text = qualified_name(context, table, end.name if is_spelled and end.name.lower() == name else name)
    if type(column) is MergedKey and text != context.quote(name) and context.dialect.has_lateral_aliases:
        text += _field_name(context, begin, is_whole)
    if scope.merged is not None and type(column) is not MergedKey:
        check_hidden_key(context, scope, table, name, begin)
    if table in scope.hidden and context.dialect.allows_database_in_column:
        return  # ORDER BY reads this table name as a column of the result, so the name is kept as written
    has_inner_names = env.outer is not None or bool(env.parameters)
    if has_inner_names and context.mode.checks_captures and _is_captured(context, env, column, tables, name):
        text = _uncaptured_name(context, begin, end, column, env, text)
    context.budget.add_written(len(text), begin)
    context.writing.pending_edits.append(((first, -last), text))


def _names_field(identifier: exp.Expr) -> bool:
    """Return whether a column reference gives a field of a struct its name."""
    node: Any = identifier.parent
    if type(node) is exp.PropertyEQ:  # sqlglot writes `struct(k)` as `struct(k := k)`, with one identifier
        return True
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    parent = node.parent
    if type(parent) is exp.PropertyEQ:
        return start_of(parent.this) in (None, start_of(identifier))
    return isinstance(parent, (*NAMING_FUNCTIONS, exp.Tuple))


def _field_name(context: ResolutionContext, identifier: exp.Expr, is_whole: bool) -> str:
    """Return `AS k` for a key of several tables in `struct(k)`; reject it elsewhere if it gives a field its name."""
    node: Any = identifier.parent
    if type(node) is exp.PropertyEQ:  # sqlglot writes `struct(k)` as `struct(k := k)`, with one identifier
        node = node.expression
    is_column = type(node) is exp.Column
    while isinstance(node.parent, (exp.Paren, exp.Dot)):
        node = node.parent
        is_column = False
    parent = node.parent
    is_own_name = type(parent) is exp.PropertyEQ and start_of(parent.this) in (None, start_of(identifier))
    if is_own_name and is_whole and is_column:
        return f" AS {context.quote(identifier.name)}"
    is_compared = type(parent) is exp.Tuple and isinstance(parent.parent, exp.Predicate)
    if is_own_name or (isinstance(parent, (*NAMING_FUNCTIONS, exp.Tuple)) and not is_compared):
        raise context.fail(
            f"The field of this struct would not be called {identifier.name}, a key of FULL JOIN: write "
            f"named_struct('{identifier.name}', …)",
            identifier,
            identifier.name,
        )
    return ""


def check_hidden_key(context: ResolutionContext, scope: Scope, table: str | None, name: str, at: exp.Expr) -> None:
    """Reject a key that is not a column of the join's result if its table has the name of a column of the result."""
    merged = scope.merged
    if merged is None or table not in merged.named:
        return
    if any(entry.name == name and entry.tables == (table,) for entry in merged.hidden):
        raise context.fail(
            f"'{table}.{name}' is a key of USING or NATURAL JOIN, and FROM has a column {table}: give the table "
            "another alias",
            at,
            name,
        )


def written_join_column(context: ResolutionContext, entry: JoinColumn) -> str:
    """Return the text of a column of a join's result: `coalesce(…)` for a key of several tables."""
    if not entry.is_qualified or any(table.startswith("__") for table in entry.tables):
        return context.quote(entry.name)
    texts = [qualified_name(context, table, entry.name) for table in entry.tables]
    return texts[0] if len(texts) == 1 else f"coalesce({', '.join(texts)})"


def _is_captured(
    context: ResolutionContext, env: Environment, column: ScopeColumn, tables: Sequence[str | None], name: str
) -> bool:
    """Return whether `table.name` of an outer column means something else inside the subquery or lambda.

    That is the case if a column inside has the name of the table, or a table inside has the same alias and a column of
    the same name.
    """
    inner: list[Scope] = list(env.parameters)
    own = env.scopes if env.ungrouped is None else (*env.scopes, env.ungrouped)
    if not any(_has_column(scope, column) for scope in own):
        inner += env.scopes
        outer = env.outer
        while outer is not None and not _has_column(outer, column):
            inner.append(outer)
            outer = outer.around
    return any(
        table is not None and (scope.find_any(table) is not None or name in scope.tables.get(table, ()))
        for scope in inner
        for table in tables
    )


def _has_column(scope: Scope, column: ScopeColumn) -> bool:
    return column in scope.names or (scope.merged is not None and scope.merged.has_key(column))


def _uncaptured_name(
    context: ResolutionContext, begin: Any, end: Any, column: ScopeColumn, env: Environment, text: str
) -> str:
    """Return the name of a captured column as written if it is written without a table; otherwise reject it."""
    owner = next((scope for scope in env.scopes if _has_column(scope, column)), env.outer)
    while owner is not None and not _has_column(owner, column):
        owner = owner.around
    if begin is end and (owner is None or owner.merged is None):
        return context.quote(end.name)
    raise context.fail(
        f"The column '{end.name}' is written {text}, which is another column inside the subquery or lambda: give its "
        "table another alias",
        begin,
        end.name,
    )


def qualified_name(context: ResolutionContext, table: str, name: str) -> str:
    """Return a column's qualified name, or only its name if its table has no alias in the text."""
    if table.startswith("__") and not context.mode.writes_generated_aliases:
        return context.quote(name)
    return quote_qualified(table, name, context.text.quote)


def check_identifier(context: ResolutionContext, identifier: Any) -> None:
    """Reject an unquoted word that Hive does not read as a name: a reserved word, a leading underscore."""
    name = identifier.name
    if _is_name(name) or not context.dialect.checks_identifiers:
        return
    meta = identifier._meta
    if meta and "start" in meta and not context.text.sql.startswith("`", meta["start"]):
        raise context.fail(f"'{name}' cannot be a name here: write it as `{name}`", identifier, name)


def quote_alias(context: ResolutionContext, identifier: exp.Expr | None) -> None:
    """Quote an alias, with upper and lower case as written."""
    if identifier is None or not identifier._meta:
        return
    meta = identifier._meta
    if meta["start"] in context.text.pipe_markers:
        return
    written = context.text.sql[meta["start"] : meta["end"] + 1]
    if written[0].isdigit() and written != identifier.name:
        raise context.fail(f"'{written}' cannot be a name here: write it in quotes", identifier, written)
    if context.settings.regex_names and context.dialect.checks_identifiers and identifier.args.get("quoted"):
        raise context.fail(
            "An alias cannot be quoted where hive.support.quoted.identifiers=none", identifier, identifier.name
        )
    if not context.settings.quotes_names:
        return
    check_identifier(context, identifier)
    index = context.text.token_of(identifier)
    if index is not None:
        context.writing.edits.replace(index, index, context.quote(identifier.name))


def _parentheses(context: ResolutionContext, first: int, last: int) -> tuple[int, int]:
    kinds = context.text.kinds
    while (
        first > 0
        and last + 1 < len(kinds)
        and kinds[first - 1] is TokenType.L_PAREN
        and kinds[last + 1] is TokenType.R_PAREN
        and (first == 1 or kinds[first - 2] in BEFORE_OPERAND)
    ):
        first -= 1
        last += 1
    return first, last


def widen(context: ResolutionContext, first: int, last: int) -> tuple[int, int]:
    """Extend a token range by the parentheses and plus signs around it, which Hive's tree does not contain."""
    kinds = context.text.kinds
    while True:
        first, last = _parentheses(context, first, last)
        if first > 1 and kinds[first - 1] is TokenType.PLUS and kinds[first - 2] in BEFORE_OPERAND:
            first -= 1
            continue
        return first, last


def _resolve_fields(context: ResolutionContext, type_text: str | None, parts: list[Any]) -> None:
    """Check the fields of a struct if its type is known, and quote them in lower case."""
    for part in parts:
        name = part.name.lower()
        if type_text is not None:
            is_list = hive_types.base(type_text) == "array"
            inner = hive_types.arguments(type_text)[0] if is_list and hive_types.arguments(type_text) else type_text
            fields = hive_types.fields(inner)
            if fields is None:
                if context.dialect.checks_types:
                    raise context.fail(
                        f"'.{part.name}': . is only supported on struct or list of struct types, not {type_text}",
                        part,
                        part.name,
                    )
                type_text = None
            elif name not in fields:
                raise context.fail(
                    f"Cannot find field {part.name} in {inner}: it has {', '.join(fields)}", part, part.name
                )
            else:
                type_text = f"array<{fields[name]}>" if is_list else fields[name]
        at = context.text.token_of(part) if context.dialect.quotes_fields else None
        if at is not None:
            context.writing.pending_edits.append(((at, -at), context.quote(name)))


# -- Lookup in scopes --------------------------------------------------------------------------------------------------


def _scope_of_table(context: ResolutionContext, env: Environment, alias: str, at: exp.Expr) -> Scope | None:
    scopes = [scope for scope in env.scopes if scope.has_table(alias)]
    if len(scopes) > 1:
        raise context.fail(f"Ambiguous table alias '{alias}': both sides of the join have it", at, alias)
    if scopes:
        return scopes[0]
    return env.outer if env.outer is not None and env.outer.has_table(alias) else None


def _find_column(
    context: ResolutionContext, env: Environment, table: str | None, name: str, at: exp.Expr
) -> tuple[ScopeColumn | None, Scope | None]:
    match: ScopeColumn | None = None
    owner: Scope | None = None
    try:
        for scope in env.scopes:
            if env.rejects_duplicates and scope.ambiguous and not scope.grouped and scope.is_ambiguous(table, name):
                raise AmbiguousName(name)
            column = scope.find(table, name)
            if column is not None:
                if match is not None:
                    raise AmbiguousName(name)
                match, owner = column, scope
        if match is None and env.outer is not None:
            match, owner = env.outer.find(table, name), env.outer
    except AmbiguousName as error:
        raise context.fail(error.reason, at, name) from error
    return match, owner


def _list_names(env: Environment, table: str | None = None) -> str:
    names: list[str] = []
    for scope in env.scopes:
        names += list(scope.tables.get(table, ())) if table is not None else list(scope.visible())
    return ", ".join(names[:40]) + (" …" if len(names) > 40 else "")


def _unknown_column(context: ResolutionContext, node: exp.Expr, env: Environment) -> UnknownNameError:
    name = node.name
    if env.scopes[0].grouped:
        return context.fail(f"Expression not in GROUP BY key '{name}'", node, name)
    return context.fail(
        f"Invalid table alias or column reference '{name}' (possible column names are: {_list_names(env)})", node, name
    )


@lru_cache(maxsize=8192)
def _is_name(name: str) -> bool:
    """Return whether Hive reads a word as a name without quotes."""
    return name.lower() not in RESERVED and _PLAIN.fullmatch(name) is not None


LITERAL_FUNCTIONS = {"user": "string", "session_user": "string", "current_time": None}
"""The functions that Spark calls without parentheses where sqlglot reads a column, with their types."""
NAMING_FUNCTIONS = (exp.Struct, exp.ArraysZip)
"""The functions whose fields are named after their arguments."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*")
_TYPES_WITH_FIELDS = frozenset({"struct", "array", "map", "uniontype"})
_IN_FRONT = frozenset({TokenType.L_PAREN, TokenType.PLUS})
HANDLERS: Mapping[type, Handler] = {exp.Column: _column, exp.Dot: _dot}
