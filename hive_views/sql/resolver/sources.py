"""The FROM clause: the columns of each table, derived table and join.

Source of the rules: Hive 4.1's `SemanticAnalyzer.processTable`, `CalcitePlanner.genJoinRelNode`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.builtin_functions import HIVE_PARTITIONED_FUNCTIONS, SPARK_ARRAY_FUNCTIONS
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import is_star
from hive_views.sql.resolver.aliases import (
    alias_columns,
    alias_identifier,
    claim_alias,
    note_new_names,
    record_spellings,
    rename_columns,
    require_alias,
    unique_names,
)
from hive_views.sql.resolver.context import (
    Environment,
    JoinScopes,
    QueryBlock,
    ResolutionContext,
    Source,
)
from hive_views.sql.resolver.ctes import resolve_cte
from hive_views.sql.resolver.joins import joined_scope, merge_join, resolve_using
from hive_views.sql.resolver.names import (
    check_identifier,
    function_name,
    quote_alias,
    resolve,
    visit_children,
)
from hive_views.sql.resolver.pivots import resolve_pivots, write_as_query
from hive_views.sql.resolver.scopes import (
    MergedColumns,
    Scope,
    ScopeColumn,
    named_columns,
)
from hive_views.sql.text.file_names import file_name, is_file_name
from hive_views.sql.text.quoting import quote_qualified, unquote_identifier
from hive_views.sql.types import hive_types


def resolve_from(context: ResolutionContext, select: exp.Select, block: QueryBlock) -> Scope:
    """Resolve the FROM clause of a block and return its scope."""
    clause = select.args.get("from_")
    if clause is None:
        return Scope()
    alias, scope = resolve_source(context, clause.this, block)
    joins, laterals = select.args.get("joins") or (), select.args.get("laterals") or ()
    context.dialect.checks.check_laterals(context, clause.this, joins, laterals)
    for join in joins:
        scope = _resolve_join(context, alias, scope, join, block)
        alias = None
    for position, lateral in enumerate(laterals):
        scope = resolve_lateral(context, scope, lateral, block, extends_scope=position > 0)
    return scope


def resolve_source(context: ResolutionContext, node: exp.Expr, block: QueryBlock) -> tuple[str | None, Scope]:
    """Resolve one element of a FROM clause and return its alias (lower case) and its columns."""
    alias, scope = _resolve_element(context, node, block)
    context.budget.add_columns(len(scope.columns), node)
    return alias, scope


def _resolve_element(context: ResolutionContext, node: exp.Expr, block: QueryBlock) -> tuple[str | None, Scope]:
    context.dialect.checks.check_source(context, node)
    alias: str | None
    if isinstance(node, exp.Table):
        if isinstance(node.this, exp.Func):
            alias, scope = _resolve_table_function(context, node, node.this, block)
        else:
            alias, scope = resolve_table(context, node, block)
        if node.args.get("pivots"):
            alias, scope = None, resolve_pivots(context, node, alias, scope, block)
        return _resolve_nested_joins(context, node, alias, scope, block)
    if isinstance(node, exp.Subquery):
        alias, scope = _resolve_derived_table(context, node, block)
        if node.args.get("pivots"):
            alias, scope = None, resolve_pivots(context, node, alias, scope, block)
        return _resolve_nested_joins(context, node, alias, scope, block)
    if isinstance(node, exp.Values):
        alias, scope = _resolve_values(context, node, block)
        if node.args.get("pivots") and context.dialect.has_pivots:
            return None, resolve_pivots(context, node, alias, scope, block)
        return alias, scope
    if isinstance(node, exp.Lateral):
        return None, resolve_lateral(context, Scope(), node, block)
    if isinstance(node, exp.Unnest):
        return resolve_unnest(context, Scope(), node, block)
    if isinstance(node, exp.Paren):
        return resolve_source(context, node.this, block)
    raise context.fail(f"Cannot read this part of FROM: {type(node).__name__}", node)


def _resolve_nested_joins(
    context: ResolutionContext, node: exp.Expr, alias: str | None, scope: Scope, block: QueryBlock
) -> tuple[str | None, Scope]:
    for join in node.args.get("joins") or ():
        scope = _resolve_join(context, alias, scope, join, block)
        alias = None
    for lateral in node.args.get("laterals") or ():
        scope = resolve_lateral(context, scope, lateral, block)
    return alias, scope


# -- Tables ------------------------------------------------------------------------------------------------------------


def resolve_table(context: ResolutionContext, node: exp.Table, block: QueryBlock) -> tuple[str, Scope]:
    """Resolve a table, a view or a common table expression and return its alias and its columns."""
    parts = node.parts
    name = parts[-1].name
    lower = name.lower()
    if context.dialect.has_partitioned_functions and lower in HIVE_PARTITIONED_FUNCTIONS:
        index = context.text.token_of(parts[-1])
        if index is not None and context.text.kinds[index + 1 : index + 2] == [TokenType.L_PAREN]:
            return _resolve_partitioned_function(context, node, index + 1, block)
    for part in parts:
        if type(part) is not exp.Identifier:
            raise context.fail("Cannot read this table name", node)
    context.dialect.checks.check_table(context, node)
    alias_node = node.args.get("alias")
    identifier = alias_node.this if alias_node is not None else None
    written = tuple(part.name for part in parts)
    are_files = is_file_name(context.text.dialect, written)
    own_name = f"__files_{len(block.aliases)}" if are_files else lower  # files without an alias have no name
    alias = own_name if identifier is None else identifier.name.lower()
    claim_alias(context, alias, block, identifier or parts[-1])
    if are_files:
        return alias, _resolve_files(context, node, written, alias)
    definition, is_later = None, False
    if len(parts) == 1:
        definition, is_later = block.ctes.find(lower, context.dialect.reads_later_ctes)
    if definition is not None:
        if is_later:
            text = f"WITH defines {name} later: Hive reads this definition, other engines do not. Define it first"
            raise context.fail(text, parts[-1], name)
        scope = rename_columns(context, resolve_cte(context, definition, block.level), alias, alias_node)
        is_cte_name = definition.is_outermost or lower in context.with_clauses.outermost
        if not is_cte_name and context.mode.qualifies_inner_ctes:
            _qualify_table(context, parts)
            quote_alias(context, identifier)
        context.bound.sources[id(node)] = Source(node, alias, scope, cte=definition.node)
        return alias, scope
    database = parts[-2].name.lower() if len(parts) > 1 else context.settings.database
    schema = context.settings.schemas.table(database, lower)
    if schema is None:
        raise context.fail(f"Table not found '{name}': there is no table or view {database}.{lower}", parts[-1], name)
    if schema.kind == "temporary":
        raise context.fail(f"View definition references temporary table {database}@{name}", parts[-1], name)
    if not schema.columns:
        _check_unknown_columns(context, node, f"{database}.{lower}")
    if (database, lower) not in context.bound.tables:
        context.bound.tables[database, lower] = parts[0]._meta["start"] if parts[0]._meta else 0
        context.budget.add_table(len(schema.columns))
    _qualify_table(context, parts)
    quote_alias(context, identifier)
    scope = Scope()
    by_name, columns, alias_and_name = named_columns(schema, (database, lower), alias)
    scope.tables[alias] = by_name.copy()
    scope.columns = columns.copy()
    scope.names = alias_and_name.copy()
    if schema.kind == "table":
        scope.with_virtual = (alias,)
    if identifier is None and context.dialect.allows_database_in_column:
        scope.qualifiers = {alias: (parts[-3].name.lower() if len(parts) > 2 else "", database)}
    if alias_node is not None and alias_node.args.get("columns"):
        scope = rename_columns(context, scope, alias, alias_node)
    has_sample = TokenType.TABLE_SAMPLE in context.text.kind_set
    if has_sample or node.args.get("pivots"):
        context.dialect.checks.check_table_suffix(context, node)
    if node.args.get("pivots") and context.dialect.has_pivots:
        write_as_query(context, node, schema.columns, scope)
        scope.qualifiers = {}
    sample = _resolve_sample(context, parts[-1], scope, schema.bucket_columns) if has_sample else None
    context.bound.sources[id(node)] = Source(node, alias, scope, table=(database, lower), sample=sample)
    return alias, scope


def _resolve_files(context: ResolutionContext, node: exp.Table, written: tuple[str, ...], alias: str) -> Scope:
    """Resolve files that Spark reads as a table."""
    files = (written[0].lower(), written[1])
    schema = context.settings.schemas.table(*files)
    if schema is None:
        reason = f"{file_name(written)} are files, whose columns only Spark knows: define the view in a ViewSession"
        raise context.fail(reason, node.parts[-1], file_name(written))
    _qualify_table(context, node.parts)
    context.budget.add_table(len(schema.columns))
    alias_node = node.args.get("alias")
    scope = Scope()
    by_name, columns, alias_and_name = named_columns(schema, files, alias)
    scope.tables[alias], scope.columns, scope.names = by_name.copy(), columns.copy(), alias_and_name.copy()
    if alias_node is not None:
        quote_alias(context, alias_node.this)
        if alias_node.args.get("columns"):
            scope = rename_columns(context, scope, alias, alias_node)
    if node.args.get("pivots"):
        raise context.fail("PIVOT and UNPIVOT over files: read the files in a subquery", node)
    context.bound.sources[id(node)] = Source(node, alias, scope)
    return scope


def _check_unknown_columns(context: ResolutionContext, node: exp.Table, name: str) -> None:
    """Reject a star and NATURAL JOIN over a table whose columns are unknown, which would leave its columns out."""
    select = node.find_ancestor(exp.Select)
    joins = (select.args.get("joins") or []) if select is not None else []
    has_star = select is not None and any(map(is_star, select.expressions))
    if has_star or any(join.args.get("method") == "NATURAL" for join in joins):
        reason = f"The columns of {name} are not in the metastore, only in its files"
        raise context.fail(f"{reason}: a star or NATURAL JOIN cannot be expanded", node, name)


def _qualify_table(context: ResolutionContext, parts: list[Any]) -> None:
    """Quote the name of a table, and add the current database in front of a single name."""
    quote = context.quote if context.settings.quotes_names else str
    prefix = f"{quote(context.settings.database)}." if len(parts) == 1 else ""
    for part in parts:
        index = context.text.token_of(part)
        if index is None:
            return
        check_identifier(context, part)
        context.writing.edits.replace(index, index, prefix + quote(part.name))


def _resolve_sample(context: ResolutionContext, table: exp.Expr, scope: Scope, buckets: tuple[str, ...]) -> str | None:
    """Resolve the columns of `TABLESAMPLE (BUCKET x OUT OF y ON …)` after a table; return its text."""
    text = context.text
    tokens = text.tokens
    name_token = text.token_of(table)
    index = len(tokens) if name_token is None else name_token + 1
    if text.kinds[index : index + 1] != [TokenType.TABLE_SAMPLE]:
        return None
    has_method = index + 1 < len(tokens) and text.raw(index + 1).lower() in ("bernoulli", "system")
    end = text.match.get(index + 2 if has_method else index + 1)
    if end is None:
        raise context.fail("TABLESAMPLE needs (BUCKET … OUT OF …), (… PERCENT) or (… ROWS)", tokens[index].start)
    start = next((at for at in range(index, end) if text.raw(at).lower() == "on"), end)
    items: list[list[int]] = [[]]
    for at in range(start + 1, end):
        if text.raw(at) == "," and text.match.get(at) is None:
            items.append([])
        else:
            items[-1].append(at)
    for item in items:
        if not item:
            continue
        name = unquote_identifier(text.raw(item[0]))
        qualified: str | None = None
        if len(item) == 1:
            column = scope.find(None, name.lower())
            if column is None:
                raise context.fail(f"Invalid column reference '{name}'", tokens[item[0]].start, name)
            owner, column_name = scope.original(column)
            qualified = quote_qualified(str(owner), column_name, text.quote)
        written = context.mode.sampled_name(context, name, qualified, buckets)
        if written is not None:
            context.writing.edits.replace(item[0], item[0], written)
    return text.between(index, end)


# -- Table functions ---------------------------------------------------------------------------------------------------


def _resolve_table_function(
    context: ResolutionContext, node: exp.Table, function: exp.Func, block: QueryBlock
) -> tuple[str, Scope]:
    """`TABLE(VALUES …)`, `TABLE(explode(…))` and the table functions of Spark and Trino."""
    if function.name.upper() == "IDENTIFIER":
        raise context.fail("IDENTIFIER(…) would hide what the view reads: write the name", function)
    identifier, columns = alias_identifier(node), alias_columns(node)
    require_alias(context, identifier, "A table function in FROM needs an alias", node)
    alias = identifier.name.lower() if identifier is not None else f"__function_{len(block.aliases)}"
    claim_alias(context, alias, block, identifier or function)
    names = [item.name.lower() for item in columns]
    for item in columns:
        quote_alias(context, item)
    rows = function.expressions[0] if function.expressions else None
    if isinstance(rows, exp.Values):
        return alias, values_scope(context, rows, alias, names)
    visit_children(context, function, Environment((Scope(),), block.outer))
    produced = produced_columns(context, function)
    if produced is None and not names and not context.dialect.checks_types:
        raise context.fail(
            "The columns of this table function are not known: name them, as in f(…) AS t(a, b)", function
        )
    if produced is None:
        produced = [("col", None)] * max(len(names), 1)
    if names and len(names) != len(produced):
        raise context.fail(f"The function has {len(produced)} columns, its alias names {len(names)}", function)
    scope = Scope()
    put_produced_columns(context, scope, alias, function, produced, names)
    record_spellings(context, scope, alias, (item.name for item in columns))
    return alias, scope


def _resolve_partitioned_function(
    context: ResolutionContext, node: exp.Table, opened: int, block: QueryBlock
) -> tuple[str, Scope]:
    """`noop(ON t PARTITION BY … ORDER BY …)`: names inside are qualified, the columns of the result have no table."""
    text = context.text
    closed = text.match.get(opened)
    if closed is None or closed < opened + 3:
        raise context.fail("A partitioned table function needs (ON table PARTITION BY …)", node)
    bounds = [opened + 2]
    depth = 0
    for index in range(opened + 2, closed):
        kind = text.tokens[index].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0 and kind in _PARTITION_CLAUSES:
            bounds.append(index)
    bounds.append(closed)
    tree = _parse_again(context, "select * from ", bounds[0], bounds[1])
    inner_block = QueryBlock(block.ctes, None, level=block.level + 1)
    _, scope = resolve_source(context, tree.args["from_"].this, inner_block)
    for first, last in pairwise(bounds[1:]):
        for item in _parse_again(context, "select 1 order by ", first + 1, last).args["order"].expressions:
            key = item.this if type(item) is exp.Ordered else item
            resolve(context, key, Environment((scope,), None, reuses_computed=False))
    identifier = alias_identifier(node)
    alias = identifier.name.lower() if identifier is not None else f"__ptf_{len(block.aliases)}"
    claim_alias(context, alias, block, identifier or node)
    quote_alias(context, identifier)
    result = Scope()
    for position, column in enumerate(scope.columns):
        result.put(None, column.name, column.copy(f"_col{position}", None, column.name))
    return alias, result


def _parse_again(context: ResolutionContext, prefix: str, first: int, last: int) -> exp.Expr:
    """Parse a token range after a prefix, such that the positions of the tokens in the text stay the same."""
    text = context.text
    begin = text.tokens[first].start
    if begin < len(prefix) or first >= last:
        raise context.fail("Cannot read this partitioned table function", begin)
    padded = " " * (begin - len(prefix)) + prefix + text.sql[begin : text.tokens[last - 1].end + 1]
    tree = parse_query(padded, text.dialect, whole=text.whole, offset=text.offset).tree
    context.bound.reparsed_trees.append(tree)
    return tree


# -- Derived tables ----------------------------------------------------------------------------------------------------


def _resolve_derived_table(
    context: ResolutionContext, node: exp.Subquery, block: QueryBlock
) -> tuple[str | None, Scope]:
    context.dialect.checks.check_derived_table(context, node)
    inner = node.this
    identifier = alias_identifier(node)
    if identifier is not None and (identifier._meta or {}).get("start") in context.text.pipe_markers:
        return None, _resolve_pipe(context, node, block)
    if _is_relation(inner):
        return _resolve_relation(context, node, block)
    require_alias(context, identifier, "A derived table needs an alias: write (SELECT …) name", inner)
    alias = str(identifier.name).lower() if identifier is not None else f"__derived_{len(block.aliases)}"
    outer = block.outer if context.dialect.reads_outer_in_from else None
    scope = context.dispatch.resolve_query(context, node, block.ctes, outer, level=block.level + 1)
    claim_alias(context, alias, block, identifier or inner)
    quote_alias(context, identifier)
    for name in alias_columns(node):
        quote_alias(context, name)
    scope = rename_columns(context, scope, alias, node.args.get("alias"))
    context.bound.sources[id(node)] = Source(node, alias, scope)
    return alias, scope


def _resolve_pipe(context: ResolutionContext, node: exp.Subquery, block: QueryBlock) -> Scope:
    """Resolve the query under a pipe operator, whose table aliases the operator can name."""
    scope = context.dispatch.resolve_query(context, node, block.ctes, outer=block.outer, level=block.level + 1)
    result = Scope()
    for column in scope.columns:
        table, name = scope.names[column]
        owner = _output_alias(context, column, table)
        if (
            name in result.tables.get(owner, {})
            or context.column_names.renamed_columns.get(column, name) != column.name
        ):
            at = context.bound.select_items.get(column, node)
            raise context.fail(f"The rows before |> have the column {name} twice: give one another name", at, name)
        result.put(owner, name, column.copy(column.internal, owner, name))
    result.merged = MergedColumns(result.tables, result.join_columns())
    result.qualifiers = {alias: names for alias, names in _qualifiers_in(context, node) if alias in result.tables}
    for alias in result.tables:
        block.aliases.setdefault(str(alias))
    block.hidden_keys.update(_tables_with_hidden_keys(context, node))
    return result


def _elements_under(context: ResolutionContext, node: exp.Subquery) -> Iterator[exp.Expr]:
    """Yield FROM and the joins of a query under a pipe operator, and of those under it."""
    from_ = node.this.args.get("from_")
    for element in (from_, *(node.this.args.get("joins") or ())) if from_ is not None else ():
        yield element
        if type(element.this) is exp.Subquery and id(element.this) not in context.bound.sources:
            yield from _elements_under(context, element.this)


def _qualifiers_in(context: ResolutionContext, node: exp.Subquery) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the tables under a pipe operator with catalog and database."""
    for element in _elements_under(context, node):
        source = context.bound.sources.get(id(element.this))
        if source is not None:
            yield from source.scope.qualifiers.items()


def _tables_with_hidden_keys(context: ResolutionContext, node: exp.Subquery) -> Iterator[str]:
    """Yield the tables under a pipe operator whose column is a key that only the star of the table contains."""
    for element in _elements_under(context, node):
        sides = context.bound.joins.get(id(element))
        has_keys = element.args.get("using") or element.args.get("method") == "NATURAL"
        if sides is None or not has_keys or element.args.get("kind") in ("SEMI", "ANTI"):
            continue
        hidden = {"RIGHT": (sides.left,), "FULL": (sides.left, sides.right)}
        for scope in hidden.get(str(element.args.get("side")), (sides.right,)):
            yield from (str(table) for table in scope.tables)


def _output_alias(context: ResolutionContext, column: ScopeColumn, table: str | None) -> str:
    """Return the table alias of a column of a SELECT list in Spark; a generated alias if it has none."""
    item = context.bound.select_items.get(column)
    if type(item) is exp.Column and type(item.this) is not exp.Star:
        bound = context.bound.bindings.get(id(item))
        table = bound.table if bound is not None and id(item) not in context.bound.fields else None
    return table if table and not table.startswith("__") else "__pipe"


def _is_relation(node: exp.Expr) -> bool:
    """Return whether parentheses contain a table or a join, not a query."""
    return isinstance(node, exp.Table) or (
        isinstance(node, exp.Subquery) and bool(node.args.get("alias") or node.args.get("joins"))
    )


def _resolve_relation(context: ResolutionContext, node: exp.Subquery, block: QueryBlock) -> tuple[str | None, Scope]:
    """Resolve a table or a join in parentheses; an alias after the parentheses hides the aliases inside."""
    inner, identifier = node.this, alias_identifier(node)
    if identifier is None:
        return resolve_source(context, inner, block)
    _, scope = resolve_source(context, inner, QueryBlock(block.ctes, block.outer, level=block.level))
    columns = alias_columns(node)
    names = [scope.names[column][1] for column in scope.columns]
    if scope.merged is not None or len(set(names[len(columns) :])) < len(names) - len(columns):
        raise context.fail(
            f"The join that is called {identifier.name} has USING, NATURAL or a column name twice: write a query "
            "(SELECT …) instead",
            identifier,
            identifier.name,
        )
    alias = identifier.name.lower()
    claim_alias(context, alias, block, identifier)
    for name in (identifier, *columns):
        quote_alias(context, name)
    return alias, rename_columns(context, scope, alias, node.args["alias"])


def _resolve_values(context: ResolutionContext, node: exp.Values, block: QueryBlock) -> tuple[str, Scope]:
    identifier, columns = alias_identifier(node), alias_columns(node)
    require_alias(context, identifier, "VALUES in FROM needs an alias", node)
    context.dialect.checks.check_values(context, node)
    alias = identifier.name.lower() if identifier is not None else f"__values_{len(block.aliases)}"
    claim_alias(context, alias, block, identifier or node)
    query = node.parent.parent if identifier is not None and not identifier._meta and node.parent is not None else None
    names = alias_columns(query.parent) if query is not None and isinstance(query.parent, exp.CTE) else columns
    is_nameless = query is None or isinstance(query.parent, exp.CTE)
    if is_nameless and not names and not context.dialect.names_columns_of_values:
        raise context.fail("The columns of VALUES have no names: write (VALUES …) AS t(a, b)", node)
    return alias, named_values(context, node, alias)


def named_values(context: ResolutionContext, node: exp.Expr, alias: str | None) -> Scope:
    """Return the columns of VALUES under the names of its column list."""
    columns = alias_columns(node)
    for item in (alias_identifier(node), *columns):
        quote_alias(context, item)
    scope = values_scope(context, node, alias, unique_names(context, columns))
    note_new_names(context, scope, columns)
    record_spellings(context, scope, alias, (item.name for item in columns))
    return scope


def values_scope(
    context: ResolutionContext, node: exp.Expr, alias: str | None = None, names: Sequence[str] = ()
) -> Scope:
    """Return the columns of VALUES; columns without a name are named `col1`, `col2` and so on."""
    rows = node.expressions
    width = len(rows[0].expressions) if rows and isinstance(rows[0], exp.Tuple) else 1
    for row in rows:
        if (len(row.expressions) if isinstance(row, exp.Tuple) else 1) != width:
            raise context.fail("The rows of VALUES have different numbers of columns", row)
        if context.mode.names_all_columns and row.find(exp.Query) is not None:
            raise context.fail("VALUES contains a query, whose names are not resolved: write SELECT instead", row)
    if names and len(names) != width and context.dialect.allows_database_in_column:
        raise context.fail(f"VALUES has {width} columns, its alias names {len(names)}", node)
    scope = Scope()
    for position in range(width):
        name = names[position] if position < len(names) else f"col{position + 1}"
        items = [row.expressions[position] if isinstance(row, exp.Tuple) else row for row in rows]
        source = context.type_source(items[0])
        for item in items[1:] if context.dialect.unifies_rows_of_values else ():
            columns = (ScopeColumn("", None, "", type_source) for type_source in (source, context.type_source(item)))
            source = context.common_type_source(*columns)
        scope.put(alias, name, ScopeColumn(f"_col{position}", alias, name, source, tuple(items)))
    return scope


# -- Joins -------------------------------------------------------------------------------------------------------------


def _resolve_join(
    context: ResolutionContext, left_alias: str | None, left: Scope, join: exp.Join, block: QueryBlock
) -> Scope:
    context.dialect.checks.check_join(context, join)
    for name in (join.args.get("using") or ())[:1]:
        at = context.text.token_of(name)
        if at is not None and context.text.raw(at - 1) != "(":
            raise context.fail("USING needs its columns in parentheses", name)
    node = join.this
    if node.args.get("pivots") and context.dialect.has_pivots:
        raise context.fail("PIVOT and UNPIVOT in a join are not supported: put the table into a query", node)
    condition = join.args.get("on")
    if isinstance(node, (exp.Lateral, exp.Unnest)):
        if join.args.get("using") or join.args.get("method") == "NATURAL":
            raise context.fail("JOIN LATERAL and JOIN UNNEST with USING or NATURAL are not supported: write ON", node)
        is_unnest = isinstance(node, exp.Unnest)
        is_join = left_alias is None and bool(left.columns)  # the left scope is used by this join only
        result = (
            resolve_unnest(context, left, node, block)[1]
            if is_unnest
            else resolve_lateral(context, left, node, block, extends_scope=is_join)
        )
        if condition is not None:
            resolve(context, condition, Environment((result,), block.outer, reuses_computed=False))
        return result
    keeps_left_only = join.kind in ("SEMI", "ANTI")
    hides_right = keeps_left_only and context.dialect.merges_using_columns
    right_block = replace(block, aliases={}) if hides_right else block
    right_alias, right = resolve_source(context, node, right_block)
    sides = context.bound.joins[id(join)] = JoinScopes(left, right)
    if condition is not None:
        resolve(context, condition, Environment((left, right), block.outer, reuses_computed=False))
    if context.dialect.merges_using_columns:
        return merge_join(context, left_alias, sides, join)
    using = resolve_using(context, left_alias, left, right_alias, right, join) if join.args.get("using") else None
    result = joined_scope(context, left_alias, left)
    result.using = None
    if keeps_left_only:
        return result
    result.add(right)
    if using is not None:
        result.using = using
    return result


_PARTITION_CLAUSES = frozenset(
    {TokenType.PARTITION_BY, TokenType.DISTRIBUTE_BY, TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY}
)


# -- Lateral views, UNNEST and the columns that table-generating functions produce -------------------------------------
#
# Source of the rules: Hive 4.1's `LateralViewPlan`.

# -- Lateral views -----------------------------------------------------------------------------------------------------


def resolve_lateral(
    context: ResolutionContext, scope: Scope, node: exp.Expr, block: QueryBlock, *, extends_scope: bool = False
) -> Scope:
    """Resolve a lateral view over a scope; return the columns of the scope and of the view."""
    function = node.this
    identifier, columns = alias_identifier(node), alias_columns(node)
    if not node.args.get("view") and isinstance(function, exp.Subquery):
        scope.is_lateral = context.dialect.has_lateral_aliases
        inner = context.dispatch.resolve_query(context, function, block.ctes, outer=scope)
        alias = identifier.name.lower() if identifier is not None else f"__lateral_{len(block.aliases)}"
        claim_alias(context, alias, block, node)
        quote_alias(context, identifier)
        result = scope if extends_scope else Scope()
        if not extends_scope:
            result.add(scope)
        result.add(rename_columns(context, inner, alias, node.args.get("alias")))
        result.keep_merged(scope, alias)
        return result
    require_alias(
        context, identifier, "A lateral view needs a table alias: LATERAL VIEW f(…) alias AS column", function
    )
    alias = identifier.name.lower() if identifier is not None else f"__lateral_{len(block.aliases)}"
    if isinstance(function, exp.Unnest):
        return resolve_unnest(context, scope, node, block)[1]
    resolve_arguments(context, function, Environment((scope,), block.outer, reuses_computed=False))
    quote_alias(context, identifier)
    names: list[str] = []
    for item in columns:
        quote_alias(context, item)
        if item.name.lower() in names:
            raise context.fail(f"Column alias {item.name} already exists", item, item.name)
        names.append(item.name.lower())
    written = [item.name for item in columns]
    if node.args.get("view") and context.dialect.has_lateral_aliases:
        # Spark (4.1.4) takes the quotes around a name with a dot for a part of it.
        written = [f"`{name}`" if "." in name else name for name in written]
        names = [name.lower() for name in written]
    produced = produced_columns(context, function)
    if produced is None and not names:
        raise context.fail(f"The columns of {function.sql()[:60]} are not known: name them with AS", function)
    if produced is not None and names and len(produced) != len(names):
        raise context.fail(
            "The number of aliases supplied in the AS clause does not match the number of columns output by the "
            f"UDTF: expected {len(produced)} aliases but got {len(names)}",
            function,
        )
    result = scope if extends_scope else Scope()
    if not extends_scope:
        result.add(scope)
    put_produced_columns(context, result, alias, function, produced or [("", None)] * len(names), names)
    record_spellings(context, result, alias, written)
    result.keep_merged(scope, alias)
    block.aliases.setdefault(alias)
    return result


def resolve_unnest(context: ResolutionContext, scope: Scope, node: exp.Expr, block: QueryBlock) -> tuple[str, Scope]:
    """Resolve an UNNEST over a scope; return its alias, and the columns of the scope and of the UNNEST."""
    unnest = node.this if isinstance(node, exp.Lateral) else node
    aliased = node if node.args.get("alias") else unnest
    identifier, columns = alias_identifier(aliased), alias_columns(aliased)
    alias = identifier.name.lower() if identifier is not None else f"__unnest_{len(block.aliases)}"
    claim_alias(context, alias, block, identifier or node)
    for item in unnest.expressions:
        resolve(context, item, Environment((scope,), block.outer, reuses_computed=False))
    quote_alias(context, identifier)
    result = Scope()
    result.add(scope)
    offset = unnest.args.get("offset")
    if not columns:
        raise context.fail("The columns of UNNEST have no names: write UNNEST(…) AS t(a, b)", node)
    for item in (*columns, offset) if isinstance(offset, exp.Identifier) else columns:
        quote_alias(context, item)
        name = item.name.lower()
        type_text, origins = ("bigint", ()) if item is offset else (None, tuple(unnest.expressions))
        result.put(alias, name, ScopeColumn(f"_col{len(result.columns)}", alias, name, type_text, origins))
    result.keep_merged(scope, alias)
    return alias, result


# -- Table generating functions ----------------------------------------------------------------------------------------


def resolve_arguments(context: ResolutionContext, function: exp.Expr, env: Environment) -> None:
    """Resolve the arguments of a table-generating function, but not its name, which stays unquoted."""
    if context.dialect.has_lateral_aliases and isinstance(function, exp.Func):
        context.dialect.checks.resolve_function(context, function, env)
    for item in function.iter_expressions():
        resolve(context, item, env)


def produced_columns(context: ResolutionContext, function: exp.Expr) -> list[tuple[str, str | None]] | None:
    """Return the names and types of the columns that a table-generating function produces; None if unknown.

    A chain of lateral views can double a type with each one, so a type that is too long is an error here.
    """
    columns = _produced_columns(context, function)
    for name, kind in columns or ():
        if kind is not None and context.budget.checked_type(kind) is None:
            error = context.budget.type_error(name)
            assert error is not None, "a type was too long"
            raise error
    return columns


_FIXED_COLUMNS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "range": (("id", "bigint"),),
    "sql_keywords": (("keyword", "string"), ("reserved", "boolean")),
    "variant_explode": (("pos", "int"), ("key", "string"), ("value", "variant")),
}
"""The columns of table functions that do not depend on their arguments."""


def _produced_columns(context: ResolutionContext, function: exp.Expr) -> list[tuple[str, str | None]] | None:
    name = (function_name(context, function) or "").removesuffix("_outer")
    arguments = [item.expression if type(item) is exp.Kwarg else item for item in function.iter_expressions()]
    if name in ("json_tuple", "parse_url_tuple"):
        return [(f"c{position}", "string") for position in range(len(arguments) - 1)]
    if name == "stack" and arguments:
        return _stack(context, arguments)
    if name in _FIXED_COLUMNS:
        return list(_FIXED_COLUMNS[name])
    if name not in ("explode", "posexplode", "inline") or not arguments:
        return None
    type_text = context.mode.collection_type(context, arguments[0])
    if type_text is None:
        return _generated_names(context, name, arguments[0]) if context.dialect.has_lateral_aliases else None
    inner = hive_types.arguments(type_text)
    kind = hive_types.base(type_text)
    if name == "inline":
        row = hive_types.written_fields(inner[0]) if kind == "array" and inner else None
        if row is None:
            raise context.fail(f"inline() takes an array of structs, not {type_text}", function, name)
        return [(field, type_of_field) for field, type_of_field in row]
    position_column: list[tuple[str, str | None]] = [("pos", "int")] if name == "posexplode" else []
    if kind == "array":
        return [*position_column, (context.dialect.exploded_name if position_column else "col", inner[0])]
    if kind == "map" and (name == "explode" or context.dialect.allows_generators_with_columns):
        return [*position_column, ("key", inner[0]), ("value", inner[1])]
    takes = "an array or a map" if name == "explode" else "an array"
    raise context.fail(f"{name}() takes {takes} as a parameter, not {type_text}", function, name)


def _generated_names(context: ResolutionContext, name: str, argument: exp.Expr) -> list[tuple[str, str | None]] | None:
    """Return the columns of explode(), posexplode() or inline() in Spark if their names, but not types, are known."""
    called = function_name(context, argument) if isinstance(argument, exp.Func) else None
    if name != "inline":
        columns: list[tuple[str, str | None]] = [("pos", "int"), ("col", None)]
        return columns[name == "explode" :] if called in SPARK_ARRAY_FUNCTIONS or type(argument) is exp.DPipe else None
    first = argument.expressions[0] if type(argument) is exp.Array and argument.expressions else None
    if not isinstance(first, exp.Struct) or function_name(context, first) != "struct":
        return [("key", None), ("value", None)] if called == "map_entries" else None
    names: list[str] = []
    for position, item in enumerate(first.expressions):
        value = item.expression if type(item) is exp.PropertyEQ else item
        if type(value) is exp.Column and (type(value.this) is exp.Star or id(value) in context.bound.fields):
            return None
        is_named = type(item) is exp.PropertyEQ and type(value) not in (exp.Dot, exp.Bracket)
        is_value = type(value) in (exp.Literal, exp.Null, exp.Boolean)
        if not is_named and not is_value:
            return None
        names.append(item.this.name if is_named else f"col{position + 1}")
    is_unique = len({item.lower() for item in names}) == len(names)
    return [(item, None) for item in names] if is_unique else None


def put_produced_columns(
    context: ResolutionContext,
    scope: Scope,
    table: str | None,
    function: exp.Expr,
    produced: Sequence[tuple[str, str | None]],
    names: Sequence[str],
) -> list[ScopeColumn]:
    """Add the columns of a table-generating function to a scope, under the names that replace their own, if any."""
    arguments = list(function.iter_expressions())
    width = len(_stack(context, arguments) or ()) if arguments and function_name(context, function) == "stack" else 0
    columns = []
    for position, (own_name, type_text) in enumerate(produced):
        name = names[position] if names else own_name.lower()
        origins = tuple(arguments[1 + position :: width]) if width else (function,)
        column = ScopeColumn(f"_col{len(scope.columns)}", table, name, type_text, origins)
        scope.put(table, name, column)
        if not names and name != own_name:
            context.column_names.spellings[column] = own_name
        columns.append(column)
    return columns


def _stack(context: ResolutionContext, arguments: list[exp.Expr]) -> list[tuple[str, str | None]] | None:
    rows = arguments[0]
    if not isinstance(rows, exp.Literal) or rows.is_string or not rows.this.isdigit() or rows.this == "0":
        return None
    values = arguments[1:]
    width = -(-len(values) // int(rows.this))
    columns: list[tuple[str, str | None]] = []
    for position in range(width):
        types = [context.type_of(value) for value in values[position::width]]
        typed = [kind for kind in types if kind != "void"]  # NULL has the type of the other rows
        columns.append((f"col{position}", (typed or types)[0]))
    return columns
