"""Aliases of tables and columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import is_star
from hive_views.sql.resolver.context import QueryBlock, ResolutionContext
from hive_views.sql.resolver.repeated_names import repeated_names
from hive_views.sql.resolver.scopes import Scope, ScopeColumn


def claim_alias(context: ResolutionContext, alias: str, block: QueryBlock, at: exp.Expr) -> None:
    """Add a table alias to a block; reject an alias that it already has."""
    if alias in block.aliases:
        raise context.fail(
            f"Ambiguous table alias '{alias}': one FROM clause has it twice. Give one of the two another alias",
            at,
            alias,
        )
    block.aliases[alias] = None


def alias_identifier(node: exp.Expr) -> Any:
    """Return the identifier of the table alias of an element of FROM; None if it has none."""
    alias = node.args.get("alias")
    return alias.this if alias is not None else None


def alias_columns(node: exp.Expr) -> list[Any]:
    """Return the identifiers of the column aliases of an element of FROM."""
    alias = node.args.get("alias")
    return (alias.args.get("columns") or []) if alias is not None else []


def require_alias(context: ResolutionContext, identifier: exp.Expr | None, reason: str, at: exp.Expr) -> None:
    """Reject an element of FROM without alias in dialects that require one."""
    if identifier is None and context.dialect.requires_aliases:
        raise context.fail(reason, at)


def rename_columns(context: ResolutionContext, scope: Scope, alias: str, alias_node: exp.Expr | None) -> Scope:
    """Return a query's columns under a table alias; of two columns with one name the second gets its internal name."""
    identifiers = (alias_node.args.get("columns") or []) if alias_node is not None else []
    names = unique_names(context, identifiers)
    if len(names) > len(scope.columns):
        raise context.fail(
            f"The column list of '{alias}' has {len(names)} names, its query {len(scope.columns)} columns", alias_node
        )
    result = Scope()
    for position, column in enumerate(scope.columns):
        table, name = scope.names[column]
        if position < len(names):
            name = names[position]
        elif table == "":
            name = column.internal
        new = column.copy(column.internal, alias, name)
        if position < len(names):
            context.column_names.spellings[new] = identifiers[position].name
        result.put_unique(alias, name, new)
        written = result.names.get(new, (alias, name))[1]
        if written != name and context.mode.names_all_columns:
            _rename_output_column(context, column, written)
    note_new_names(context, result, identifiers)
    result.repeated = repeated_names(context, result)
    if not identifiers:
        result.repeated |= {(alias, name) for _, name in scope.repeated}  # those of a set operation
    return result


def unique_names(context: ResolutionContext, identifiers: Sequence[exp.Identifier]) -> list[str]:
    """Return the names of a column list in lower case, with new ones in place of those that it repeats.

    No clause can name these columns, since their name is ambiguous; a star can contain them.
    """
    names = [item.name.lower() for item in identifiers]
    if len(set(names)) == len(names) or not context.mode.names_all_columns:
        return names
    unique = list(names)
    for position, (name, identifier) in enumerate(zip(names, identifiers, strict=True)):
        if names.count(name) > 1:
            unique[position] = next(fresh for fresh in _fresh_names(position) if fresh not in names)
            _rename_identifier(context, identifier, unique[position])
    return unique


def _fresh_names(position: int) -> Iterator[str]:
    for underscores in count(1):
        yield f"{'_' * underscores}col{position}"


def note_new_names(context: ResolutionContext, scope: Scope, identifiers: Sequence[exp.Identifier]) -> None:
    """Record the columns to which `unique_names` gave another name."""
    for column, identifier in zip(scope.columns, identifiers, strict=False):
        if scope.names[column][1] != identifier.name.lower():
            context.column_names.invented_names.add(column)
            context.column_names.repeated_names.setdefault(identifier.name.lower(), []).append(column)


def record_spellings(context: ResolutionContext, scope: Scope, alias: str | None, names: Iterable[str]) -> None:
    """Record the names that the author wrote for the columns of a table alias."""
    columns = scope.tables.get(alias, {})
    for name in names:
        column = columns.get(name.lower())
        if column is not None:
            context.column_names.spellings[column] = name


def _rename_output_column(context: ResolutionContext, column: ScopeColumn, name: str) -> None:
    """Rename a column in the SELECT list of a derived table, because its name is a duplicate."""
    item = context.bound.select_items.get(column)
    context.column_names.renamed_columns[column] = name
    if item is None or is_star(item):
        return
    if type(item) is exp.Alias:
        _rename_identifier(context, item.args["alias"], name)
        return
    tokens = context.tokens_of(item)
    if tokens is not None:
        context.writing.added_names.append((tokens[1], name))


def _rename_identifier(context: ResolutionContext, identifier: exp.Identifier, name: str) -> None:
    """Write another name in place of an alias, because it is a duplicate."""
    index = context.text.token_of(identifier)
    if index is not None:
        for edits in (context.writing.edits, context.writing.star_edits):
            edits.replace(index, index, context.quote(name))
