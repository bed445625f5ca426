"""PIVOT and UNPIVOT of Spark: the columns of their results.

Nothing inside the clauses is rewritten: the names there can only mean columns of the clause's input, and UNPIVOT
returns the names of columns as the text writes them. The input lists its columns, since all columns that a PIVOT does
not name are grouping keys.

Source of the rules: Spark 4.1's `ResolvePivot`, `ResolveUnpivot`, and measurements with Spark 4.1.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.resolver.aliases import alias_columns
from hive_views.sql.resolver.context import Environment, QueryBlock, ResolutionContext, start_of
from hive_views.sql.resolver.names import function_name, quote_alias, visit
from hive_views.sql.resolver.scopes import MergedColumns, Scope, ScopeColumn, TypeSource
from hive_views.sql.text.quoting import quote_qualified

_NEW = "__pivot"
"""The alias of the columns that have no table."""

_Columns = list[tuple[str, str, TypeSource, tuple[Any, ...]]]
"""The table, the name as Spark writes it, the type and the origins of each column."""


def resolve_pivots(
    context: ResolutionContext, node: exp.Expr, alias: str | None, scope: Scope, block: QueryBlock
) -> Scope:
    """Resolve the PIVOT and UNPIVOT clauses after a table or derived table; return the columns of the last clause."""
    if node.args.get("sample"):
        raise context.fail("TABLESAMPLE with PIVOT or UNPIVOT is not supported: put the sample into a query", node)
    is_repeating = bool(scope.ambiguous) or any(_is_renamed(context, column) for column in scope.columns)
    if is_repeating and not _is_read_alone(node):
        raise context.fail("PIVOT and UNPIVOT need different column names: give each column a name", node)
    inputs = [alias, *scope.tables]
    for pivot in node.args["pivots"]:
        context.bound.pivots.add(id(pivot))
        is_unpivot = bool(pivot.args.get("unpivot"))
        columns = _unpivot(context, pivot, scope) if is_unpivot else _pivot(context, pivot, scope)
        if len({(table, name.lower()) for table, name, _, _ in columns}) < len(columns):
            if is_unpivot or not _is_read_alone(node):
                raise context.fail("PIVOT or UNPIVOT has a column name twice: give its columns other names", pivot)
            is_repeating = True
        repeated = scope.ambiguous
        scope = _scope(context, columns)
        for name, tables in repeated.items():
            for table in tables:
                scope.add_ambiguous(table or _NEW, name)
        if scope.merged is not None:
            scope.merged.is_repeating = is_repeating
        alias_node = pivot.args.get("alias")
        if alias_node is not None:
            scope = _with_alias(context, pivot, alias_node, columns)
    for table in inputs:
        block.aliases.pop(str(table), None)
    for table in scope.tables:
        block.aliases.setdefault(str(table))
    return scope


def _is_read_alone(node: exp.Expr) -> bool:
    """Return whether a table with one PIVOT or UNPIVOT is all that a FROM clause reads."""
    select = node.parent.parent if isinstance(node.parent, exp.From) else None
    around = [item.args.get(name) for item in (node, select) if item is not None for name in ("joins", "laterals")]
    return select is not None and not any(around) and len(node.args["pivots"]) == 1


def write_as_query(
    context: ResolutionContext, node: exp.Table, columns: Sequence[tuple[str, str]], scope: Scope
) -> None:
    """Write a table in front of PIVOT or UNPIVOT as a query that lists its columns."""
    text = context.text
    parts = node.parts
    first, last = map(text.token_of, (parts[0], parts[-1]))
    if first is None or last is None:
        raise context.fail("Cannot read this table name", node)
    following = text.raw(last + 1).lower() if last + 1 < len(text.tokens) else ""
    has_clause = any(node.args.get(name) for name in ("version", "when", "sample", "joins", "laterals"))
    if has_clause or following == "with" or text.kinds[last + 1] is TokenType.TABLE_SAMPLE:
        reason = "A table with options, time travel or TABLESAMPLE in front of PIVOT or UNPIVOT is not supported"
        raise context.fail(f"{reason}: put the table into a subquery", node, node.name)
    name = parts[-1].name.lower()
    items = ", ".join(quote_qualified(name, column, text.quote) for column, _ in columns)
    alias = "" if node.args.get("alias") is not None else f" {context.quote(name)}"
    for item in alias_columns(node):
        quote_alias(context, item)
    database = "" if len(parts) > 1 else f"{context.quote(context.settings.database)}."
    qualified = database + ".".join(context.quote(part.name) for part in parts)
    context.writing.edits.replace(first, last, f"(SELECT {items} FROM {qualified}){alias}")
    context.writing.star_edits.replace(first, last, f"(SELECT {items} FROM {text.between(first, last)}){alias}")
    context.bound.generated.setdefault(first, []).extend(scope.columns)
    context.writing.has_star = True


def _is_renamed(context: ResolutionContext, column: ScopeColumn) -> bool:
    """Return whether a column is renamed because the author's text has its name twice."""
    origin = column.origins[0] if column.origins else None
    inner = origin if isinstance(origin, ScopeColumn) else column
    return context.column_names.renamed_columns.get(inner, inner.name) != inner.name


# -- PIVOT -------------------------------------------------------------------------------------------------------------


def _pivot(context: ResolutionContext, pivot: Any, scope: Scope) -> _Columns:
    """Return the grouping keys (all columns not named in the clause), then a column per value and aggregate."""
    clauses: list[Any] = pivot.args.get("fields") or []
    if len(clauses) != 1 or not isinstance(clauses[0], exp.In) or pivot.args.get("group"):
        raise context.fail("PIVOT needs (aggregates FOR column IN (values))", pivot)
    clause = clauses[0]
    names = clause.this.expressions if type(clause.this) is exp.Tuple else [clause.this]
    keys = [_input_column(context, name, scope, "FOR") for name in names]
    used = {column for column in keys if column is not None}
    aggregates = pivot.expressions
    if not aggregates or not clause.expressions:
        raise context.fail("PIVOT needs (aggregates FOR column IN (values))", pivot)
    for item in aggregates:
        used |= _columns_of_aggregate(context, item, scope)
    columns = [_column_entry(scope, column) for column in _visible(scope) if column not in used]
    context.budget.add_columns(len(clause.expressions) * len(aggregates), pivot)
    values = [_value_name(context, item, len(names), clause) for item in clause.expressions]
    for value in values:
        for item in aggregates:
            inner = item.this if type(item) is exp.Alias else item
            name = value if len(aggregates) == 1 else f"{value}_{_aggregate_name(context, item)}"
            context.budget.add_written(len(name), item)
            columns.append((_NEW, name, context.type_source(inner), (inner, *keys)))
    return columns


def _columns_of_aggregate(context: ResolutionContext, item: exp.Expr, scope: Scope) -> set[ScopeColumn]:
    """Resolve an aggregate; returns the input columns that it names."""
    inner = item.this if type(item) is exp.Alias else item
    for node in inner.find_all(exp.Query, exp.Star):
        if not (type(node) is exp.Star and type(node.parent) is exp.Count):
            raise context.fail("A query or a star in PIVOT is not supported", item)
    _resolve_without_edits(context, inner, scope)
    inputs = set(scope.columns)
    return {context.bound.bindings[id(node)] for node in inner.walk() if context.bound.bindings.get(id(node)) in inputs}


def _aggregate_name(context: ResolutionContext, item: Any) -> str:
    """Return the name of one of several aggregates, as Spark generates it."""
    if type(item) is exp.Alias:
        return str(item.alias)
    name = function_name(context, item)
    arguments: list[Any] = list(item.iter_expressions()) if isinstance(item, exp.Func) else []
    is_simple = name in _PLAIN_AGGREGATES and len(arguments) == 1 and not item.args.get("distinct")
    if is_simple and type(arguments[0]) is exp.Column and id(arguments[0]) not in context.bound.fields:
        return f"{name}({arguments[0].name})"
    if name == "count" and len(arguments) == 1 and type(arguments[0]) is exp.Star:
        return "count(1)"
    raise context.fail("Give each of several aggregates in PIVOT a name: sum(a + b) AS total", item)


_PLAIN_AGGREGATES = frozenset({"sum", "min", "max", "avg", "count"})


def _value_name(context: ResolutionContext, item: Any, width: int, clause: exp.Expr) -> str:
    """Return the name of a value of IN: its alias, or the text that Spark casts it to."""
    value = item.this if type(item) is exp.PivotAlias else item
    is_struct = isinstance(value, exp.Struct)
    parts = [_field_value(part) for part in value.expressions] if is_struct or type(value) is exp.Tuple else [value]
    if len(parts) != width and not (is_struct and width == 1):
        raise context.fail(f"PIVOT has {width} columns in FOR, this value has {len(parts)}", item)
    if type(item) is exp.PivotAlias:
        alias = item.args["alias"]
        if type(alias) is not exp.Identifier:
            raise context.fail("The name of a value of PIVOT is a word: IN (1 AS one)", item)
        quote_alias(context, alias)
        return str(alias.name)
    texts = [_literal_name(context, part, clause) for part in parts]
    return texts[0] if width == 1 and not is_struct else f"{{{', '.join(texts)}}}"


def _field_value(field: exp.Expr) -> exp.Expr:
    """Return the value of a field in `struct(1 AS a)` or `named_struct('a', 1)`."""
    value: exp.Expr = field.expression if isinstance(field, exp.PropertyEQ) else field
    return value


def _literal_name(context: ResolutionContext, value: Any, clause: exp.Expr) -> str:
    """Return a literal as Spark casts it to a string; reject other values, which need an alias."""
    is_negative = type(value) is exp.Neg
    literal = value.this if is_negative else value
    if type(literal) is exp.Boolean and not is_negative:
        return str(literal.this).lower()
    if type(literal) is exp.Null and not is_negative:
        return "null"
    # Spark and the parser read a backslash in different ways.
    if type(literal) is exp.Literal and literal.is_string and not is_negative and "\\" not in context.text.sql:
        return str(literal.this)
    if type(literal) is exp.Literal and not literal.is_string and _is_plain_number(str(literal.this)):
        return f"-{literal.this}" if is_negative else str(literal.this)
    raise context.fail("Give this value of PIVOT a name: IN (1 AS one)", start_of(value) or start_of(clause))


def _is_plain_number(text: str) -> bool:
    """Return whether Spark formats a number as it is written: `1` and `1.50`, but not `01`, `.5` or `1e3`."""
    whole, point, fraction = text.partition(".")
    is_whole = whole.isdigit() and (whole == "0" or whole[0] != "0") and len(whole) <= 9
    return is_whole and (not point or (fraction.isdigit() and len(fraction) <= 5))


# -- UNPIVOT -----------------------------------------------------------------------------------------------------------


def _unpivot(context: ResolutionContext, pivot: Any, scope: Scope) -> _Columns:
    """Return the columns that IN does not name, then the column of names, then the columns of values."""
    clauses: list[Any] = pivot.args.get("fields") or []
    if len(clauses) != 1 or not isinstance(clauses[0], exp.In) or len(pivot.expressions) != 1:
        raise context.fail("UNPIVOT needs (value FOR name IN (columns))", pivot)
    clause = clauses[0]
    values = pivot.expressions[0]
    names = values.expressions if type(values) is exp.Tuple else [values]
    rows: list[list[ScopeColumn]] = []
    for item in clause.expressions:
        inner = item.this if type(item) is exp.PivotAlias else item
        parts = inner.expressions if type(inner) is exp.Tuple else [inner]
        if len(parts) != len(names):
            raise context.fail(f"UNPIVOT has {len(names)} value columns, this element has {len(parts)}", item)
        rows.append([_input_column(context, part, scope, "IN") for part in parts])
    used = {column for row in rows for column in row}
    columns = [_column_entry(scope, column) for column in _visible(scope) if column not in used]
    kept = {name.lower() for _, name, _, _ in columns}
    for name in names:
        if name.name.lower() in kept:
            reason = f"UNPIVOT: the column of values {name.name} has the name of a column that stays: give it another"
            raise context.fail(reason, name, name.name)
    columns.append((_NEW, clause.this.name, "string", ()))
    for name, sources in zip(names, zip(*rows, strict=True), strict=True):
        types = {source.type for source in sources}
        columns.append((_NEW, name.name, types.pop() if len(types) == 1 else None, tuple(sources)))
    return columns


# -- Both --------------------------------------------------------------------------------------------------------------


def _input_column(context: ResolutionContext, node: exp.Expr, scope: Scope, clause: str) -> ScopeColumn:
    """Return the input column to which a name in FOR or IN refers."""
    name = exp.Column(this=node.copy()) if type(node) is exp.Identifier else node
    if type(name) is not exp.Column:
        raise context.fail(f"{clause} of PIVOT and UNPIVOT takes columns", node)
    if name is not node:
        name.this._meta = node._meta
        context.bound.reparsed_trees.append(name)
    _resolve_without_edits(context, name, scope)
    column = context.bound.bindings.get(id(name))
    if column is None or id(name) in context.bound.fields or column not in scope.names:
        raise context.fail(f"{clause} of PIVOT and UNPIVOT takes columns, not fields", node, name.name)
    return column


def _resolve_without_edits(context: ResolutionContext, node: exp.Expr, scope: Scope) -> None:
    """Resolve an expression without editing its text."""
    edits, copies = len(context.writing.pending_edits), len(context.writing.pending_copies)
    try:
        visit(
            context, node, Environment((scope,), reuses_computed=False, allows_aggregates=True, rejects_duplicates=True)
        )
    finally:
        del context.writing.pending_edits[edits:]
        del context.writing.pending_copies[copies:]


def _visible(scope: Scope) -> list[ScopeColumn]:
    """Return the columns in the order of a star."""
    if scope.merged is None:
        return scope.columns
    return [scope.merged.column(entry) for entry in scope.merged.visible]


def _column_entry(scope: Scope, column: ScopeColumn) -> tuple[str, str, TypeSource, tuple[Any, ...]]:
    table, name = scope.names[column]
    return table or _NEW, name, column.type_source, (column,)


def _scope(context: ResolutionContext, columns: _Columns) -> Scope:
    """Return a scope with the columns in order; a name of several columns is ambiguous."""
    result = Scope()
    for position, (table, written, type_source, origins) in enumerate(columns):
        name = written.lower()
        column = ScopeColumn(f"_col{position}", table, name, type_source, origins)
        result.put(table, name, column)
        if name != written:
            context.column_names.spellings[column] = written
    result.merged = MergedColumns(result.tables, result.join_columns())
    return result


def _with_alias(context: ResolutionContext, pivot: exp.Expr, alias_node: exp.Expr, columns: _Columns) -> Scope:
    """Return the columns of an UNPIVOT under its alias; a PIVOT of Spark has no alias."""
    identifier = alias_node.this
    if not pivot.args.get("unpivot") or alias_node.args.get("columns"):
        raise context.fail("Spark reads no alias behind PIVOT and no column names behind UNPIVOT", pivot)
    quote_alias(context, identifier)
    alias = identifier.name.lower()
    names = [name.lower() for _, name, _, _ in columns]
    if len(set(names)) < len(names):
        raise context.fail("The UNPIVOT has a column name twice: give its columns other names", pivot)
    return _scope(context, [(alias, name, type_source, origins) for _, name, type_source, origins in columns])
