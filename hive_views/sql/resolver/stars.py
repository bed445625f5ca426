"""SELECT lists: their stars, the names of their columns, and functions that produce several columns."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.builtin_functions import HIVE_TABLE_FUNCTIONS, SPARK_GENERATORS
from hive_views.sql.engines.function_signatures import CONVERSION_FUNCTIONS
from hive_views.sql.parsing.pipes import PipeStar
from hive_views.sql.parsing.syntax_tree import is_star, start_offsets, unwrapped, windowed_function
from hive_views.sql.resolver.context import Environment, QueryBlock, ResolutionContext, StarColumns
from hive_views.sql.resolver.expressions import cast_target
from hive_views.sql.resolver.hive_exact.planner_names import planned_column
from hive_views.sql.resolver.implicit_names import has_unary_plus, implicit_name
from hive_views.sql.resolver.names import (
    LITERAL_FUNCTIONS,
    check_catalog,
    check_hidden_key,
    check_repeated_columns,
    dotted_value,
    function_name,
    is_qualified_as,
    qualified_name,
    quote_alias,
    resolve,
    written_join_column,
)
from hive_views.sql.resolver.scopes import AmbiguousName, JoinColumn, MergedKey, Scope, ScopeColumn
from hive_views.sql.resolver.sources import produced_columns, put_produced_columns, resolve_arguments
from hive_views.sql.resolver.star_exceptions import (
    NOTHING,
    Omitted,
    Paths,
    omitted_columns,
    omitted_fields,
    without_fields,
)
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.types import hive_types
from hive_views.sql.types.written_types import written_type

ORDER_CLAUSES = frozenset({"order", "sort", "distribute", "cluster"})
"""The clauses that order or distribute the result of a query, and can name its columns."""


def resolve_items(
    context: ResolutionContext,
    node: exp.Select,
    scope: Scope,
    ungrouped: Scope,
    block: QueryBlock,
    *,
    names_columns: bool,
) -> Scope:
    """Resolve a SELECT list and return the columns of its result."""
    items: list[exp.Expr] = node.expressions
    first = items[0].this if type(items[0]) in (exp.Alias, exp.Aliases) else items[0]
    if isinstance(first, exp.QueryTransform):
        return _resolve_transform(context, first, items, scope, block)
    if isinstance(first, exp.Func) and not context.dialect.allows_generators_with_columns:
        generated = _resolve_generator(context, items, scope)
        if generated is not None:
            return generated
    output = Scope()
    block.keeps_spelling = context.dialect.keeps_letter_case and not _gives_columns_of_view(node)
    nameless: list[tuple[exp.Expr, str]] = []
    env = Environment.of_output(scope, ungrouped, rejects_duplicates=True)
    shift = 1 if node.args.get("hint") is not None and context.dialect.hint_counts_as_item else 0
    item_scope = ungrouped
    has_order = not ORDER_CLAUSES.isdisjoint(node.args)
    if not context.dialect.computes_groups_first:
        block.taken_names |= _names_like_generated(items, ungrouped, names_inputs=has_order)
    for position, item in enumerate(items):
        if is_star(item):
            _expand_star(context, item, scope, ungrouped, block, output)
            continue
        if context.text.pipe_keys and _expand_pipe_key(context, node, item, ungrouped, block, output):
            continue
        if context.settings.regex_names and _expand_regex(context, item, scope, ungrouped, block, output):
            continue
        if not context.dialect.computes_groups_first:
            env = Environment.of_output(item_scope, ungrouped, outer=block.outer, reuses_computed=False)
            if _put_generated_columns(context, item, env, output):
                continue
        column, missing_name = _resolve_item(context, item, position + shift, block, scope, env, output)
        item_scope = _add_lateral_alias(context, item_scope, ungrouped, column)
        # In a subquery, ORDER BY may name a key that is written as coalesce(…).
        is_key_of_subquery = block.outer is not None and type(column.origins[0]) is MergedKey
        is_ordered_by_it = has_order and column not in context.column_names.invented_names
        if missing_name is not None and (names_columns or is_key_of_subquery or is_ordered_by_it):
            nameless.append((item, missing_name))
        if block.has_windows:
            block.window_count += _count_windows(item)
    if nameless and context.mode.names_all_columns:
        for item, name in nameless:
            tokens = context.tokens_of(item)
            if tokens is not None:
                context.writing.added_names.append((tokens[1], name))
            elif block.level > 0:  # another query may name it
                raise context.fail("The end of this column is not found in the text: give the column a name", item)
    return output


def _gives_columns_of_view(query: exp.Expr) -> bool:
    """Return whether a query is the whole text, or a branch of its set operations."""
    parent = query.parent
    while isinstance(parent, (exp.SetOperation, exp.Subquery)):
        parent = parent.parent
    return parent is None


def _resolve_item(
    context: ResolutionContext,
    item: exp.Expr,
    position: int,
    block: QueryBlock,
    scope: Scope,
    env: Environment,
    output: Scope,
) -> tuple[ScopeColumn, str | None]:
    """Resolve one element of a SELECT list; return its column, and its name if its text does not give it this name."""
    kind = type(item)
    if kind is exp.Aliases and not context.dialect.allows_generators_with_columns:
        raise context.fail("AS (…) with several names is only allowed with a UDTF", item)
    inner = item.this if kind is exp.Alias else item
    alias = item.args.get("alias") if kind is exp.Alias else None
    bare = unwrapped(inner)
    if bare is not inner and is_star(bare):
        raise context.fail("A star in parentheses: write it without them", item)
    if block.keeps_spelling and alias is None and type(bare) is exp.Column:
        env = replace(env, keeps_spelling=True)
    source = resolve(context, inner, env)
    if alias is not None:
        quote_alias(context, alias)
    own_name = (None, alias.name.lower()) if alias is not None else _implicit_name(context, bare, source, scope)
    spelled: str | None = None
    is_signed = context.dialect.names_casts_and_literals and has_unary_plus(context, inner)
    if alias is None and context.dialect.names_casts_and_literals:
        if is_signed:
            own_name = None
        elif own_name is None:
            spelled = implicit_name(context, inner, env, is_of_view=block.level == 0)
            own_name = (None, spelled.lower()) if spelled is not None else None
    table, name = own_name or (None, _generated_name(position, block.taken_names))
    if context.dialect.derives_column_names and name.startswith("_c"):
        derived_name = _derived_name(context, bare, source, block, scope)
        if derived_name is not None and output.find_any(derived_name) is None:
            name = derived_name
    same = None if is_signed else source  # a sign makes a number of a text
    type_source = same.type_source if same is not None else context.type_source(inner)
    column = ScopeColumn(f"_col{len(output.columns)}", table, name, type_source, (inner if same is None else same,))
    output.put(table, name, column)
    context.bound.select_items[column] = item
    if block.keeps_spelling and own_name is not None:
        context.column_names.spellings[column] = alias.name if alias is not None else spelled or bare.name
    if own_name is None:
        context.column_names.invented_names.add(column)
    written = output.names[column][1]
    if spelled is not None:
        return column, spelled if written == name else written
    if type(source) is MergedKey and alias is None:
        own = context.column_names.spellings.get(column, written)
        return column, own if own.lower() == written else written  # it may be written as coalesce(…), which has no name
    is_redundant_cast = type(bare) in (exp.Cast, exp.TryCast) and source is not None and source.name == name
    has_name = own_name is not None and (alias is not None or is_redundant_cast or _has_own_name(bare, name))
    return column, None if has_name else written


def _count_windows(item: exp.Expr) -> int:
    """Return the number of window functions in an element of a SELECT list."""
    inner = unwrapped(item)
    return 0 if type(inner) is exp.Column else sum(1 for _ in inner.find_all(exp.Window))


def _add_lateral_alias(context: ResolutionContext, scope: Scope, ungrouped: Scope, column: ScopeColumn) -> Scope:
    """Return the scope of the next element of Spark's SELECT list: the columns of FROM, then the aliases before it."""
    name = column.name
    if not context.dialect.has_lateral_aliases or column.table or column in context.column_names.invented_names:
        return scope
    if name in LITERAL_FUNCTIONS or ungrouped.find_any(name) is not None:
        return scope
    if scope is ungrouped:
        scope = ungrouped.with_names({})
    alias = column.copy(column.internal, None, name)
    scope.tables[None][name] = alias
    scope.names[alias] = (None, name)
    return scope


# -- Names of columns --------------------------------------------------------------------------------------------------


def _names_like_generated(items: list[exp.Expr], ungrouped: Scope, *, names_inputs: bool) -> set[str]:
    """Return the names in a SELECT list that are written like generated names, which must differ from them.

    With `names_inputs`, a clause can also name the columns of FROM.
    """
    names = {item.alias_or_name.lower() for item in items}
    if names_inputs or any(is_star(item) for item in items):
        names |= {name for columns in ungrouped.tables.values() for name in columns}
    return {name for name in names if name.startswith("_c")}


def _generated_name(position: int, taken: set[str]) -> str:
    name = f"_c{position}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _implicit_name(
    context: ResolutionContext, bare: exp.Expr, source: ScopeColumn | None, scope: Scope
) -> tuple[str | None, str] | None:
    """Return the table and the name of the column of an element without alias (Hive's `getColAlias`), if it has one."""
    if isinstance(bare, exp.Column):
        is_function = context.dialect.has_lateral_aliases and source is not None and source.origins[:1] == (bare,)
        if is_function:
            return None  # a function that is called without parentheses
        parts = bare.parts
        if len(parts) == 1:
            return None, parts[0].name.lower()
        first = parts[0].name.lower()
        table = first if len(parts) == 2 and first in scope.tables else None
        return table, parts[-1].name.lower()
    is_field = type(bare) is exp.Dot and isinstance(bare.expression, exp.Identifier)
    if is_field and (context.dialect.names_extracted_fields or _is_dotted_name(bare)):
        return None, bare.expression.name.lower()
    return None


def _has_own_name(bare: exp.Expr, name: str) -> bool:
    if type(bare) is exp.Column:
        return bare.name.lower() == name
    return _is_dotted_name(bare) and bare.expression.name.lower() == name


def _is_dotted_name(bare: exp.Expr) -> bool:
    """Return whether an expression is a field of a column: `t.a.f.g`."""
    inner: Any = bare
    while type(inner) is exp.Dot:
        inner = inner.this
    return type(bare) is exp.Dot and type(inner) is exp.Column


def _derived_name(
    context: ResolutionContext, bare: exp.Expr, source: ScopeColumn | None, block: QueryBlock, scope: Scope
) -> str | None:
    """Return the name that Hive takes from the column or the window function inside a cast, instead of `_c0`."""
    inner: Any
    if block.named_windows:
        inner = bare
        while type(inner) in (exp.Paren, exp.Cast, exp.TryCast):
            inner = inner.this
        if type(inner) is exp.Window:
            if not any(inner is window for window in block.named_windows):
                return None
            written = function_name(context, windowed_function(inner))
            return f"{written}_window_{block.window_count}" if written is not None else None
    if scope.grouped:
        return None  # the columns above GROUP BY have internal names
    column = source
    if column is None and type(bare) in (exp.Cast, exp.TryCast):
        inner = bare.this
        while type(inner) in (exp.Paren, exp.Cast, exp.TryCast):
            if type(inner) is not exp.Paren and cast_target(context, inner) != cast_target(context, bare):
                break
            inner = inner.this
        column = _whole_column(context, inner)
    inner = None
    if column is None and not (type(bare) is exp.Coalesce and function_name(context, bare) == "nvl"):
        inner = planned_column(bare, context.type_of)
    if column is None and isinstance(bare, exp.Func) and function_name(context, bare) in CONVERSION_FUNCTIONS:
        inner = next(bare.iter_expressions(), None)
    if inner is not None:
        column = _whole_column(context, inner)
    if column is None or column.internal.startswith("_c"):
        return None
    return column.internal


def _whole_column(context: ResolutionContext, node: exp.Expr) -> ScopeColumn | None:
    """Return the column if an expression is one; None for a field of a column and other expressions."""
    return (
        context.bound.bindings.get(id(node))
        if type(node) is exp.Column and id(node) not in context.bound.fields
        else None
    )


# -- Stars -------------------------------------------------------------------------------------------------------------


def _expand_regex(
    context: ResolutionContext, item: exp.Expr, scope: Scope, ungrouped: Scope, block: QueryBlock, output: Scope
) -> bool:
    """Expand a quoted regular expression in place of a column name; return False if the element is not one."""
    if type(item) is not exp.Column or scope.grouped:
        return False
    pattern = item.this.name
    if all(character.isalnum() or character == "_" for character in pattern):
        return False
    table = item.table.lower() or None
    if table is not None and not scope.has_table(table):
        return False
    try:
        compiled = re.compile(_python_pattern(pattern), re.IGNORECASE)
    except re.error as error:
        raise context.fail(f"Invalid column reference '{pattern}': {error}", item, pattern) from error
    _expand_star(context, item, scope, ungrouped, block, output, compiled)
    return True


def _expand_star(
    context: ResolutionContext,
    item: exp.Expr,
    scope: Scope,
    ungrouped: Scope,
    block: QueryBlock,
    output: Scope,
    pattern: re.Pattern[str] | None = None,
) -> None:
    """Replace a star by its columns, and add them to the block's result."""
    pipe_star = context.text.pipe_stars.get((item._meta or {}).get("start", -1)) if type(item) is exp.Star else None
    if pipe_star is not None:
        _expand_pipe_star(context, item, pipe_star, ungrouped, block, output)
        return
    outer = block.outer
    if outer is not None and outer.is_lateral and _is_outer_star(context, item, ungrouped, outer):
        ungrouped = outer
    if context.dialect.has_struct_stars and type(item) is exp.Column:
        if not _names_table(ungrouped, item):
            _expand_struct(context, item, ungrouped, block, output)
            return
        *qualifier, _ = item.parts
        if len(qualifier) == 3:
            check_catalog(context, ungrouped, qualifier, qualifier, Environment((ungrouped,), block.outer))
    check_repeated_columns(context, item, ungrouped)
    table = _star_table(context, item, ungrouped)
    if table in block.hidden_keys:
        reason = f"{table}.* has a key of USING or NATURAL JOIN in front of |>, which no name reaches"
        raise context.fail(f"{reason}: list the columns", item)
    excluded = omitted_columns(context, item if type(item) is exp.Star else item.this, ungrouped, table)
    if ungrouped.merged is not None:
        _expand_merged_star(context, item, ungrouped, table, excluded, block, output)
        return
    using = ungrouped.using
    columns = _using_columns(context, item, ungrouped, table, output) if using is not None else []
    for alias in [*block.aliases, ""] if table is None else [table]:
        table_columns = ungrouped.tables.get(alias)
        if table_columns is None:
            continue
        for column in table_columns.values():
            if using is not None and column.name in using.columns:
                continue
            owner, name = ungrouped.original(column)
            if table is not None and owner != table:
                continue
            omitted = excluded.get((owner, name), NOTHING)
            if () in omitted or (pattern is not None and not pattern.fullmatch(name)):
                continue
            actual = column
            if scope.grouped:
                actual, owner, name = _grouped_column(context, scope, table, name, item)
            spelled = _spelled(context, block, column, name)
            text = _written(context, owner, spelled)
            if omitted:
                text, added = _put_struct(context, text, omitted, (actual, name, spelled), output, item)
            else:
                added = _put_star_column(context, owner, name, actual, output, item)
            columns.append((text, text, added))
    if not columns:
        raise context.fail("Invalid column reference: the star matches no column", item)
    _write_star(context, item, columns)


def _is_outer_star(context: ResolutionContext, item: exp.Expr, inner: Scope, outer: Scope) -> bool:
    """Return whether `t.*` in a query after LATERAL stands for a table in front of it, as only Spark allows.

    A star without a table is that of the query itself (Spark 4.1.4). The columns must be named in the query by `t`.
    """
    if type(item) is not exp.Column:
        return False
    *qualifier, table = [part.name.lower() for part in item.parts[:-1]]
    if table not in outer.tables or any(inner.find_any(name) for name in (table, *qualifier[:1])):
        return False
    if table in inner.tables:
        return False
    if table.startswith("__") or outer.merged is not None or outer.hidden:
        raise context.fail("This star stands for a join in front of LATERAL: list the columns", item)
    if outer.find_any(table) is not None:
        reason = f"A column in front of LATERAL is called {table}, too: give the table another alias"
        raise context.fail(reason, item, table)
    return True


def _names_table(scope: Scope, item: exp.Column) -> bool:
    """Return whether `t.*` or `db.t.*` names a table of FROM."""
    qualifier = [part.name.lower() for part in item.parts[:-1]]
    return qualifier[-1] in scope.tables and (len(qualifier) == 1 or is_qualified_as(scope, qualifier))


def _expand_struct(
    context: ResolutionContext, item: exp.Column, scope: Scope, block: QueryBlock, output: Scope
) -> None:
    """Replace the star of a struct by its fields."""
    *parts, star = item.parts
    struct, text, type_text = dotted_value(context, parts, Environment((scope,), block.outer))
    fields = hive_types.written_fields(type_text) if type_text is not None else None
    if struct is None or fields is None:
        name = ".".join(part.name for part in parts)
        raise context.fail(f"Invalid star '{name}.*': {name} is neither a table of FROM nor a struct", item, name)
    columns: StarColumns = []
    excluded = omitted_fields(context, star, [spelled.lower() for spelled, _ in fields])
    for spelled, field_type in fields:
        name = spelled.lower()
        omitted = excluded.get(name, NOTHING)
        if () in omitted:
            continue
        written = f"{text}.{context.quote(spelled if block.keeps_spelling else name)}"
        if omitted:
            written, field_type = without_fields(context, written, field_type, omitted, star)
        column = ScopeColumn(f"_col{len(output.columns)}", None, name, field_type, (struct,))
        output.put(None, name, column)
        context.bound.select_items[column] = item
        if block.keeps_spelling:
            context.column_names.spellings[column] = spelled
        if omitted:
            context.column_names.renamed_columns[column] = spelled if block.keeps_spelling else name
        columns.append((written, written, column))
    _write_star(context, item, columns)


def _written(context: ResolutionContext, table: str | None, name: str) -> str:
    if not context.mode.names_all_columns:
        return f"{context.quote(table or '')}.{context.quote(name)}"
    return qualified_name(context, table, name) if table else context.quote(name)


def _spelled(context: ResolutionContext, block: QueryBlock, column: ScopeColumn, name: str) -> str:
    """Return the name that a star of a query writes for a column."""
    return context.spelling(column, name) if block.keeps_spelling else name


def _star_table(context: ResolutionContext, item: exp.Expr, scope: Scope) -> str | None:
    """Return the alias in front of a star, which can have a database in Spark and Trino."""
    if type(item) is not exp.Column or item.args.get("table") is None:
        return None
    qualifier = [part.name.lower() for part in item.parts[:-1]]
    table = qualifier[-1]
    has_table = table in scope.tables if context.dialect.allows_database_in_column else scope.has_table(table)
    if len(qualifier) > 1:
        has_table = has_table and context.dialect.allows_database_in_column and is_qualified_as(scope, qualifier)
    if not has_table:
        name = ".".join(qualifier)
        reason = f"Invalid table alias '{name}' in front of a star"
        if context.dialect.allows_database_in_column:
            reason += ": FROM has no such table. The fields of a struct have to be listed"
        raise context.fail(reason, item, name)
    return table


def _expand_merged_star(
    context: ResolutionContext,
    item: exp.Expr,
    scope: Scope,
    table: str | None,
    excluded: Omitted,
    block: QueryBlock,
    output: Scope,
) -> None:
    """Replace a star over joins with USING or NATURAL, as Spark and Trino do, by the columns of the result."""
    merged = scope.merged
    assert merged is not None
    columns: StarColumns = []
    if table is None:
        entries = merged.visible
    elif context.dialect.star_includes_using:
        entries = [entry for entry in (*merged.hidden, *merged.visible) if entry.tables == (table,)]
    else:
        keys = {entry.name for entry in merged.visible if entry.is_key and table in entry.tables}
        keys |= {entry.name for entry in merged.hidden if entry.tables == (table,)}
        entries = [entry for entry in merged.visible if entry.tables == (table,) and entry.name not in keys]
    counts = Counter(entry.name for entry in merged.visible)
    for entry in entries:
        owner, name = entry.tables[0], entry.name
        omitted = excluded.get((owner, name), NOTHING) | excluded.get((None, name), NOTHING)
        if () in omitted:
            continue
        if len(entry.tables) > 1:
            if omitted:
                raise context.fail(
                    f"EXCEPT with a field of the key {name} of a FULL JOIN: list the columns", item, name
                )
            column = _put_star_column(context, None, name, merged.column(entry), output, item)
            # Spark calls a key of a FULL JOIN as its left table does.
            spelled = _spelled(context, block, scope.tables[owner or None][name], name)
            written = output.names[column][1]
            context.column_names.renamed_columns[column] = spelled if written == name else written
            columns.append((written_join_column(context, entry), context.quote(name), column))
            continue
        source = scope.tables[owner or None][name]
        check_hidden_key(context, scope, owner, name, item)
        spelled = _spelled(context, block, source, name)
        text = _written(context, owner if entry.is_qualified else "", spelled)
        if counts[name] > 1 and text == context.quote(spelled):
            raise context.fail(
                f"The star has several columns called {name}, one without a table: list the columns", item
            )
        if omitted:
            text, column = _put_struct(context, text, omitted, (source, name, spelled), output, item)
            columns.append((text, text, column))
            continue
        is_plain_key = entry.is_key and not context.dialect.star_includes_using
        stored = context.quote(name) if is_plain_key else text
        columns.append((text, stored, _put_star_column(context, owner, name, source, output, item)))
    if not columns:
        raise context.fail("Invalid column reference: the star matches no column", item)
    _write_star(context, item, columns)


def _expand_pipe_key(
    context: ResolutionContext, select: exp.Expr, item: exp.Expr, scope: Scope, block: QueryBlock, output: Scope
) -> bool:
    """Add the column at a position in GROUP BY of a pipe operator; return False if an element is no position."""
    token = context.text.token_of(item.this) if type(item) is exp.Column else None
    position = context.text.pipe_keys.get(context.text.tokens[token].start) if token is not None else None
    if token is None or position is None:
        return False
    _expand_pipe_star(context, item, PipeStar("key", token, token), scope, block, output, position)
    (source,) = output.columns[-1].origins
    for node in (item, *select.args["group"].expressions):
        if type(node) is exp.Column and context.text.token_of(node.this) == token and isinstance(source, ScopeColumn):
            context.bound.bindings[id(node)] = source
    return True


def _expand_pipe_star(
    context: ResolutionContext,
    item: exp.Expr,
    star: PipeStar,
    scope: Scope,
    block: QueryBlock,
    output: Scope,
    position: int = 0,
) -> None:
    """Add the columns of a star that a pipe operator implies, or the one at a position, and record their text."""
    check_repeated_columns(context, item, scope)
    if scope.merged is not None:
        entries = scope.merged.visible
    else:
        entries = [JoinColumn(name, (alias,)) for alias in block.aliases for name in scope.tables.get(alias, ())]
    positions = [_position_of(context, entries, token) for token in star.names]
    if star.kind == "key" and not 0 < position <= len(entries):
        raise context.fail(f"GROUP BY position {position}: the rows before |> have {len(entries)} columns", item)
    counts = Counter(entry.name for entry in entries)
    if star.kind == "before":
        entries = entries[: positions[0]]
    elif star.kind == "after":
        entries = entries[positions[0] + 1 :]
    elif star.kind == "key":
        entries = [entries[position - 1]]
    else:
        entries = [entry for position, entry in enumerate(entries) if position not in positions]
    if star.kind == "drop" and not entries:
        raise context.fail("DROP leaves no column", context.text.tokens[star.first].start)
    columns: StarColumns = []
    for entry in entries:
        name = entry.name
        is_single = len(entry.tables) == 1
        owner = entry.tables[0] if is_single else None
        source = scope.column_of(entry)
        if is_single:
            check_hidden_key(context, scope, owner, name, item)
        spelled = _spelled(context, block, source, name)
        text = _written(context, owner if entry.is_qualified else "", spelled) if is_single else context.quote(name)
        has_no_table = text.lower() == context.quote(name).lower()
        if (has_no_table and counts[name] > 1) or any(text == other for _, other, _ in columns):
            raise context.fail(f"The rows before |> have the column {name} twice: give one another name", item, name)
        column = _put_star_column(context, owner, name, source, output, item)
        if not is_single:
            context.column_names.renamed_columns[column] = output.names[column][1]
        columns.append((text if is_single else written_join_column(context, entry), text, column))
    context.budget.add_written(sum(len(text) for text, _, _ in columns), item)
    is_fixed = star.kind == "all" and _is_one_query(item.parent)
    context.writing.pipe_stars.append((star, is_fixed, columns))


def _is_one_query(select: exp.Expr | None) -> bool:
    """Return whether a FROM clause contains only a query or VALUES, whose columns the text determines."""
    clause = select.args.get("from_") if isinstance(select, exp.Select) else None
    if select is None or clause is None or not isinstance(clause.this, (exp.Subquery, exp.Values)):
        return False
    return not any(node.args.get(name) for node in (select, clause.this) for name in ("joins", "laterals"))


def _position_of(context: ResolutionContext, entries: list[JoinColumn], token: int) -> int:
    """Return the position of a column that SET or DROP names."""
    name = unquote_identifier(context.text.raw(token)).lower()
    positions = [position for position, entry in enumerate(entries) if entry.name == name]
    if len(positions) != 1:
        reason = f"The rows before |> have {'no' if not positions else 'more than one'} column {name}"
        raise context.fail(reason, context.text.tokens[token].start, name)
    return positions[0]


def _using_columns(
    context: ResolutionContext, item: exp.Expr, ungrouped: Scope, table: str | None, output: Scope
) -> StarColumns:
    """Return the columns that a USING clause names, which a star lists first."""
    using = ungrouped.using
    assert using is not None
    owner = using.right if using.right_outer else using.left
    columns: StarColumns = []
    if table is not None and owner != table:
        return columns
    for name in using.columns:
        column = ungrouped.tables.get(owner, {}).get(name)
        if column is None:
            continue
        new = column.copy(f"_col{len(output.columns)}", owner, name)
        output.put_unique(owner, name, new)
        text = _written(context, owner, name)
        columns.append((text, text, new))
    return columns


def _grouped_column(
    context: ResolutionContext, scope: Scope, table: str | None, name: str, item: exp.Expr
) -> tuple[ScopeColumn, str | None, str]:
    try:
        column = scope.find(table, name)
    except AmbiguousName:
        column = None
    if column is None:
        raise context.fail(f"Expression not in GROUP BY key {name}", item, name)
    return column, *context.mode.star_name(context, scope, column, name)


def _put_star_column(
    context: ResolutionContext, owner: str | None, name: str, column: ScopeColumn, output: Scope, item: exp.Expr
) -> ScopeColumn:
    context.budget.add_columns(1, item)
    new = column.copy(f"_col{len(output.columns)}", owner, name)
    context.bound.select_items[new] = item
    if not output.put_unique(owner, name, new):
        raise context.fail(f"Cannot add column {owner}.{name}: the SELECT list has it twice", item, name)
    written = output.names[new][1]
    if written != name:
        context.column_names.renamed_columns[new] = written
    return new


def _put_struct(
    context: ResolutionContext,
    text: str,
    omitted: Paths,
    source: tuple[ScopeColumn, str, str],
    output: Scope,
    item: exp.Expr,
) -> tuple[str, ScopeColumn]:
    """Add a struct without some of its fields, as an expression; return its text and column."""
    column, name, spelled = source
    written, kind = without_fields(context, text, column.type, omitted, item)
    struct = ScopeColumn(column.internal, None, name, kind, (column,))
    new = _put_star_column(context, None, name, struct, output, item)
    context.column_names.renamed_columns[new] = spelled
    return written, new


def _write_star(context: ResolutionContext, item: exp.Expr, columns: StarColumns) -> None:
    context.budget.add_written(sum(len(text) + len(stored) for text, stored, _ in columns), item)
    tokens = _star_tokens(context, item)
    if tokens is None:
        return
    context.writing.has_star = True
    if context.mode.names_all_columns:
        context.writing.expanded_stars.append((*tokens, columns))
        return
    context.writing.edits.replace(*tokens, ", ".join(text for text, _, _ in columns))


def write_expanded_stars(context: ResolutionContext) -> None:
    """Write the columns of all stars; called when all renamed columns are known."""
    _write_pipe_stars(context)
    for first, last, columns in context.writing.expanded_stars:
        first_word = context.text.raw(first)
        is_missing = first_word.lower() in ("from", "table")  # `FROM t` or `TABLE t`, without SELECT
        from_word = first_word if first_word.lower() == "from" else "FROM"
        context.bound.generated.setdefault(first, []).extend(column for _, _, column in columns)
        for is_stored, edits in ((False, context.writing.edits), (True, context.writing.star_edits)):
            written = ", ".join(
                _named(context, stored if is_stored else text, column) for text, stored, column in columns
            )
            edits.replace(first, last, f"SELECT {written} {from_word}" if is_missing else written)


def _named(context: ResolutionContext, text: str, column: ScopeColumn) -> str:
    """Return the text of a column, with `AS name` if it gets another name."""
    name = context.column_names.renamed_columns.get(column)
    return text if name is None else f"{text} AS {context.quote(name)}"


def _write_pipe_stars(context: ResolutionContext) -> None:
    """Write the stars that pipe operators imply; if the text determines the columns, only if one is renamed."""
    renamed, quote = context.column_names.renamed_columns, context.quote
    for star, is_fixed, columns in context.writing.pipe_stars:
        if is_fixed and not any(column in renamed for _, _, column in columns):
            continue
        context.writing.has_star = True
        names = [quote(unquote_identifier(context.text.raw(token))) for token in star.names]
        at = star.last if star.kind in ("all", "after") else star.first
        context.bound.generated.setdefault(at, []).extend(column for _, _, column in columns)
        for is_stored, edits in ((False, context.writing.edits), (True, context.writing.star_edits)):
            texts = [_named(context, stored if is_stored else text, column) for text, stored, column in columns]
            if star.kind == "all":
                edits.append(star.last, f" |> SELECT {', '.join(texts)}")
            elif star.kind == "after":
                edits.append(star.last, f" AS {', '.join([*names, *texts])}")
            elif star.kind == "before":
                operator = " |> " if context.text.kinds[star.first] is TokenType.COMMA else ""
                edits.replace(star.first, star.last, f"{operator}SELECT {''.join(f'{text}, ' for text in texts)}")
            elif star.kind == "key":
                edits.replace(star.first, star.last, texts[0])
            else:
                end = "," if star.kind == "extend" else ""
                edits.replace(star.first, star.last, f"SELECT {', '.join(texts)}{end}")


def _star_tokens(context: ResolutionContext, item: exp.Expr) -> tuple[int, int] | None:
    """Return the first and the last token of a star."""
    positions = start_offsets(item)
    first, last = (context.text.starts.get(end(positions, default=-1)) for end in (min, max))
    if first is None or last is None:
        return None
    star = item if type(item) is exp.Star else item.this
    if type(star) is exp.Star and not _is_in_text(context, star):
        clause = item.parent.args.get("from_") if isinstance(item.parent, exp.Select) else None
        if clause is not None and isinstance(clause.this, exp.Values):
            return None
        raise context.fail("The star of this query is not in the text: write SELECT", item)
    if star.args.get("except_") or star.args.get("except"):
        while last + 1 < len(context.text.tokens) and context.text.raw(last) != ")":
            last += 1
    return first, last


def _is_in_text(context: ResolutionContext, star: exp.Star) -> bool:
    """Return whether a star is written in the text or implied by `FROM t` or `TABLE t`; sqlglot adds further stars."""
    meta = star._meta
    index = context.text.starts.get(meta["start"]) if meta else None
    if meta is None or index is None:
        return True
    word = context.text.raw(index).lower()
    return word == "*" or (word in ("from", "table") and context.text.tokens[index].end == meta["end"])


_POSSESSIVE = re.compile(r"(\((?:[^()\\]|\\.)*\)|\[(?:[^\]\\]|\\.)*\]|\\.|[^\\()\[\]])([?*+]|\{\d+(?:,\d*)?\})\+")


def _python_pattern(pattern: str) -> str:
    """Translate Java's possessive quantifiers, such as `(ds|hr)?+.+`, which Python 3.10 does not have."""
    count = 0

    def atomic(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"(?=(?P<atomic{count}>{match.group(1)}{match.group(2)}))(?P=atomic{count})"

    return _POSSESSIVE.sub(atomic, pattern)


# -- Functions that produce several columns ----------------------------------------------------------------------------


def _resolve_generator(context: ResolutionContext, items: list[exp.Expr], scope: Scope) -> Scope | None:
    """Resolve `SELECT explode(…)`, where one function produces the whole result; return None for other lists."""
    item = items[0]
    kind = type(item)
    inner = item.this if kind in (exp.Alias, exp.Aliases) else item
    name = function_name(context, inner)
    is_registered = context.settings.functions.get(name or "") == "udtf"
    if name is None or not (name in HIVE_TABLE_FUNCTIONS or is_registered):
        return None
    if len(items) > 1:
        raise context.fail("Only a single expression in the SELECT clause is supported with UDTF's", items[1])
    if scope.grouped:
        raise context.fail(f"{name}: GROUP BY is not supported with a UDTF in the SELECT clause", inner)
    resolve_arguments(context, inner, Environment((scope,), None, scope, reuses_computed=False))
    index = context.text.token_of(inner)
    if is_registered and index is not None:
        context.writing.edits.replace(index, index, context.quote(unquote_identifier(context.text.raw(index))))
    names = _alias_names(context, item)
    produced = produced_columns(context, inner)
    if produced is not None and names and len(names) != len(produced):
        raise context.fail(
            f"The number of aliases supplied in the AS clause does not match: expected {len(produced)} aliases "
            f"but got {len(names)}",
            inner,
        )
    output = Scope()
    put_produced_columns(context, output, None, inner, produced or [("col", None)] * max(len(names), 1), names)
    return output


def _put_generated_columns(context: ResolutionContext, item: exp.Expr, env: Environment, output: Scope) -> bool:
    """Resolve a table-generating function of Spark among other elements; return False if the element is not one."""
    kind = type(item)
    inner = item.this if kind in (exp.Alias, exp.Aliases) else item
    name = function_name(context, inner) if isinstance(inner, exp.Func) else None
    if kind is exp.Aliases and (name is None or not context.dialect.has_lateral_aliases):
        raise context.fail("AS (…) with several names is only supported after a table-generating function", item)
    if name not in SPARK_GENERATORS and kind is not exp.Aliases:
        return False
    resolve_arguments(context, inner, env)
    names = _alias_names(context, item)
    produced = produced_columns(context, inner)
    if produced is None:
        if not names:
            raise context.fail(f"The columns of {name}() are not known here: name them with AS (…)", inner, name)
        produced = [("", None)] * len(names)
    if names and len(names) != len(produced):
        raise context.fail(f"{name}() has {len(produced)} columns: AS names {len(names)}", inner, name)
    for column in put_produced_columns(context, output, None, inner, produced, names):
        context.bound.select_items[column] = item
    return True


def _alias_names(context: ResolutionContext, item: exp.Expr) -> list[str]:
    """Return the names that AS gives the columns of a table-generating function, and quote them in the text."""
    aliases = [item.args["alias"]] if type(item) is exp.Alias else item.expressions if type(item) is exp.Aliases else []
    for alias in aliases:
        quote_alias(context, alias)
    return [alias.name.lower() for alias in aliases]


_SEPARATOR = re.compile(r"([,:]) ")


def _resolve_transform(
    context: ResolutionContext, item: exp.Expr, items: list[exp.Expr], scope: Scope, block: QueryBlock
) -> Scope:
    """`SELECT TRANSFORM (…) USING … AS (…)`."""
    ignored = Scope()
    for expression in item.expressions:
        if is_star(expression):
            _expand_star(context, expression, scope, scope, block, ignored)
        else:
            resolve(context, expression, Environment((scope,), None, scope))
    origins = (*ignored.columns, *(expression for expression in item.expressions if not is_star(expression)))
    schema = item.args.get("schema")
    output = Scope()
    definitions = schema.expressions if schema is not None else []
    if items[0] is not item:
        definitions = [items[0].args["alias"], *(other for other in items[1:] if isinstance(other, exp.Column))]
    for position, definition in enumerate(definitions):
        name = definition.name.lower()
        kind = definition.args.get("kind") if isinstance(definition, exp.ColumnDef) else None
        type_text: str | None = "string"
        if kind is not None and context.text.dialect is Dialect.SPARK:
            type_text = written_type(kind.sql(dialect="spark"))
        elif kind is not None:
            type_text = _SEPARATOR.sub(r"\1", kind.sql(dialect="hive").lower())
        output.put(None, name, ScopeColumn(f"_col{position}", None, name, type_text, origins))
    if not definitions:
        for position, name in enumerate(("key", "value")):
            output.put(None, name, ScopeColumn(f"_col{position}", None, name, "string", origins))
    return output
