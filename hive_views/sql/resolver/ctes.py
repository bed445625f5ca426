"""Common table expressions: what a WITH clause defines, and their columns when they are first named."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from hive_views.sql.resolver.aliases import rename_columns
from hive_views.sql.resolver.context import CteDefinition, ResolutionContext, VisibleCtes
from hive_views.sql.resolver.names import check_identifier
from hive_views.sql.resolver.scopes import Scope


def define_ctes(
    context: ResolutionContext, with_: exp.With, ctes: VisibleCtes, outer: Scope | None, level: int
) -> VisibleCtes:
    """Return the common table expressions that a query with a WITH clause can name, unresolved."""
    is_outermost = level == 0
    is_recursive = bool(with_.args.get("recursive"))
    definitions: dict[str, CteDefinition] = {}
    for position, cte in enumerate(with_.expressions):
        alias_node = cte.args["alias"]
        name = cte.alias.lower()
        if name in definitions:
            raise context.fail(f"Ambiguous table alias '{name}': WITH defines it twice", alias_node, name)
        count = len(with_.expressions) if context.mode.shares_ctes else position + is_recursive
        visible = VisibleCtes(definitions, count, ctes)
        reachable = outer if context.dialect.reads_outer_in_from else None
        definition = CteDefinition(cte, visible, position, is_outermost, level, is_recursive, outer=reachable)
        definitions[name] = definition
        if is_outermost:
            context.with_clauses.outermost.add(name)
        context.with_clauses.definitions.append(definition)
        check_identifier(context, alias_node.this)
    return VisibleCtes(definitions, len(definitions), ctes)


def resolve_cte(context: ResolutionContext, definition: CteDefinition, level: int) -> Scope:
    """Resolve a common table expression, when it is first named, and return its columns."""
    alias_node = definition.node.args["alias"]
    name = definition.node.alias
    if definition.scope is None:
        if definition.is_running and not definition.is_recursive:
            raise context.fail(f"Recursive common table expression {name}: its query names itself", alias_node, name)
        definition.is_running = True
        first = _resolve_first_branch(context, definition) if definition.is_recursive else None
        query, outer = definition.node.this, definition.outer
        definition.scope = context.dispatch.resolve_query(context, query, definition.visible, outer, level=level + 1)
        if first is not None:  # the query reads its own result under its own name
            for column, result in zip(first.columns, definition.scope.columns, strict=False):
                column.origins += (result,)
    if alias_node.args.get("columns"):
        return rename_columns(context, definition.scope, name.lower(), alias_node)
    return definition.scope


def _resolve_first_branch(context: ResolutionContext, definition: CteDefinition) -> Scope:
    """Take the columns of a recursive definition from its first branch, before its own name is resolved."""
    branch = definition.node.this
    visible, level = replace(definition.visible, count=definition.position), definition.level + 1
    while isinstance(branch, (exp.Union, exp.Subquery)):
        with_ = branch.args.get("with_")
        if with_ is not None:
            visible = define_ctes(context, with_, visible, definition.outer, level)
        branch = branch.this
    scope = context.dispatch.resolve_query(context, branch, visible, definition.outer, level=level)
    definition.scope = rename_columns(context, scope, definition.node.alias.lower(), definition.node.args["alias"])
    return definition.scope
