"""Query blocks and set operations: each SELECT over the columns of its FROM clause.

Source of the rules: Hive 4.1's `CalcitePlanner` (`genLogicalPlan`, `genSetOpLogicalPlan`).
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from hive_views.sql.hive_exact import refusals
from hive_views.sql.parsing.syntax_tree import begins_with_with, is_star
from hive_views.sql.resolver.context import Place, State
from hive_views.sql.resolver.lateral_views import Block, CteDefinition
from hive_views.sql.resolver.ordering import Ordering
from hive_views.sql.resolver.scopes import Column, Scope
from hive_views.sql.resolver.sources import either_type
from hive_views.sql.types import hive_types
from hive_views.sql.types.inference import TypeInference

_SET_OPERATIONS = (exp.Union, exp.Except, exp.Intersect)
_NEVER_REMOVED = 99
_ORDERS = frozenset({"order", "sort", "distribute", "cluster"})
_CHECKED = _ORDERS | {"locks"}


class Blocks(Ordering):
    """Resolves queries."""

    _set_operations = 0

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._types: TypeInference | None = None

    # -- Queries ---------------------------------------------------------------------------------------------------

    def query(
        self,
        node: exp.Expr,
        ctes: dict[str, CteDefinition],
        outer: Scope | None = None,
        *,
        alias: str | None = None,
        level: int = 0,
        naming: bool = True,
    ) -> Scope:
        """Resolve a query."""
        with_ = node.args.get("with_")
        if with_ is not None:
            ctes = self._ctes(with_, ctes, level)
        kind = type(node)
        if isinstance(node, exp.Select):
            return self._select(node, Block(ctes, outer, level=level), naming)
        if kind in _SET_OPERATIONS:
            return self._set_operation(node, ctes, outer, level, naming)
        if kind is exp.Subquery:
            inner = node.this
            if isinstance(inner, exp.Table):
                block = Block(ctes, outer, level=level)
                return self.source(inner, block)[1]
            scope = self.query(inner, ctes, outer, alias=alias, level=level, naming=naming)
            if node.args.get("order") is not None or node.args.get("sort") is not None:
                self._order(node, scope, scope, None, scope, level)
            return scope
        if kind is exp.Values:
            return self.values_scope(node, None, [])
        if kind is exp.Table:
            return self.source(node, Block(ctes, outer, level=level))[1]
        if kind is exp.Paren:
            return self.query(node.this, ctes, outer, alias=alias, level=level, naming=naming)
        raise self.state.fail("A view's text must be a query: SELECT, WITH, VALUES or a set operation", node)

    def _ctes(self, with_: exp.With, ctes: dict[str, CteDefinition], level: int) -> dict[str, CteDefinition]:
        visible = dict(ctes)
        top = level == 0
        own: set[str] = set()
        for cte in with_.expressions:
            name = cte.alias.lower()
            if name in own:
                raise self.state.fail(f"Ambiguous table alias '{name}': WITH defines it twice", cte.args["alias"], name)
            own.add(name)
            seen = dict(visible)
            definition = CteDefinition(cte, seen, top, level)
            if with_.args.get("recursive"):
                definition.recursive = True
                seen[name] = definition
            visible[name] = definition
            if top:
                self.top_names.add(name)
            self.definitions.append(definition)
            self.check_identifier(cte.args["alias"].this)
        if self.state.exact:
            for cte in with_.expressions:  # Hive looks a name up among all of them, its own and later ones included
                visible[cte.alias.lower()].visible = visible
        return visible

    def _set_operation(
        self, node: exp.Expr, ctes: dict[str, CteDefinition], outer: Scope | None, level: int, naming: bool
    ) -> Scope:
        self._one_order(node)
        spine: list[exp.Expr] = []
        left_node: exp.Expr = node
        while type(left_node) in _SET_OPERATIONS and (left_node is node or left_node.args.get("order") is None):
            spine.append(left_node)
            left_node = left_node.this
        inner = 1 if level == 0 else level
        first = self._branch(left_node, ctes, outer, inner, naming)
        result = self._renamed(first, "__u", None)
        self._set_operations += 1
        # Hive's grammar makes up a name for the result, and one for each UNION DISTINCT that another operation is on
        self._set_operations += sum(
            type(under) is exp.Union and bool(under.args.get("distinct")) for under in spine[1:]
        )
        for operation in reversed(spine):
            if operation is not node and operation.args.get("with_") is not None:
                ctes = self._ctes(operation.args["with_"], ctes, level)
            right = self._renamed(self._branch(operation.expression, ctes, outer, inner, False), "__u", None)
            result = self._both(result, right, operation)
        alias = f"__u{self._set_operations + 1}"
        result = self._renamed(result, alias, None)
        if node.args.get("order") is not None or node.args.get("sort") is not None:
            self._order(node, result, result, None, result, level, union=True)
        return result

    def _one_order(self, node: exp.Expr) -> None:
        """A branch of a set operation can only be ordered inside parentheses."""
        if not self.state.strict:
            return
        branch = node.this
        if type(branch) is exp.Select:
            for name in ("order", "sort", "distribute", "cluster", "limit"):
                clause = branch.args.get(name)
                if clause is not None:
                    raise self.state.fail(
                        f"{name.upper()} in front of a set operation: put the branch into parentheses", clause
                    )

    def _branch(
        self, node: exp.Expr, ctes: dict[str, CteDefinition], outer: Scope | None, level: int, naming: bool
    ) -> Scope:
        return self.query(node, ctes, outer, level=level, naming=naming)

    def _both(self, left: Scope, right: Scope, node: exp.Expr) -> Scope:
        at = node.expression
        if len(left.columns) != len(right.columns):
            raise self.state.fail(
                "Schema of both sides of union should match: "
                f"the first has {len(left.columns)} columns, the second {len(right.columns)}",
                at,
            )
        result = Scope()
        for one, other in zip(left.columns, right.columns, strict=True):
            name = left.names[one][1]
            type_source: Any = one.type_source
            if not self.state.strict:
                type_source = either_type(one, other, by_name=bool(node.args.get("by_name")))
            else:
                first, second = one.type, other.type
                if first is not None and second is not None:
                    shared = hive_types.common(first, second)
                    if shared is None:
                        raise self.state.fail(
                            f"Schema of both sides of setop should match: Column {name} is of type {first} "
                            f"on first table and type {second} on second table",
                            at,
                            name,
                        )
                    type_source = shared
                elif second is None:
                    type_source = None
            result.put("__u", name, Column(one.internal, "__u", name, type_source))
        return result

    def subquery(self, node: exp.Expr, place: Place, *, single: bool = False, exists: bool = False) -> None:
        """Resolve a query inside an expression: it can name the columns around it."""
        outer = place.scopes[0]
        if self.state.strict and begins_with_with(node):
            raise self.state.fail("A subquery in an expression cannot begin with WITH: move it to the front", node)
        if self.state.strict and len(place.scopes) > 1:
            raise self.state.fail("Subqueries are only allowed in SELECT, WHERE and HAVING", node)
        if exists and self.state.exact and self._aggregates_all(node):
            self._only_tables(node)
            return
        if len(place.scopes) > 1:
            outer = Scope()
            for scope in place.scopes:
                outer.add_tables(scope)
        if not self.state.strict and place.outer is not None:
            outer = outer.over(place.outer)
        result = self.query(node, self._current_ctes, outer, level=_NEVER_REMOVED, naming=False)
        self.subquery_types[id(node)] = result
        if exists and not self.state.cbo and not refusals.is_correlated(self.state, node, outer):
            raise self.state.fail(
                "Invalid SubQuery expression: For Exists/Not Exists operator SubQuery must be Correlated", node
            )
        if (single or isinstance(node, exp.Subquery)) and self.state.strict and len(result.columns) != 1:
            raise self.state.fail("Invalid SubQuery expression: SubQuery can contain only 1 item in Select List", node)

    def _aggregates_all(self, node: exp.Expr) -> bool:
        """Whether a query is one aggregate over everything: Hive knows that it gives a row, and reads no further."""
        if not isinstance(node, exp.Select) or node.args.get("group") is not None:
            return False
        aggregates: dict[str, exp.Expr] = {}
        self._collect(node, node.expressions, aggregates, {})
        return bool(aggregates)

    def _only_tables(self, node: exp.Expr) -> None:
        for table in node.find_all(exp.Table):
            self._table(table, Block(self._current_ctes, None))

    # -- One SELECT ------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, block: Block, naming: bool) -> Scope:
        before = self._current_ctes
        self._current_ctes = block.ctes
        try:
            return self._select_block(node, block, naming)
        finally:
            self._current_ctes = before

    def _select_block(self, node: exp.Select, block: Block, naming: bool) -> Scope:
        state = self.state
        self._clauses(node)
        plain = self.from_clause(node, block)
        where = node.args.get("where")
        if where is not None:
            result = self.resolve(where.this, Place((plain,), block.outer, keys=False))
            if state.strict and isinstance(result, Column) and (result.type or "").endswith(">"):
                raise state.fail(f"A column of type {result.type} is no condition", where.this, where.this.name)
            if state.exact and node.args.get("laterals"):
                refusals.check_lateral_where(state, where.this, node.args["laterals"])
        items = node.expressions
        distinct = node.args.get("distinct")
        aggregates: dict[str, exp.Expr] = {}
        windows: dict[str, exp.Expr] = {}
        self._collect(node, items, aggregates, windows)
        scope = plain
        group = node.args.get("group")
        distinct_star = distinct is not None and len(items) == 1 and is_star(items[0])
        if state.strict and (
            group is not None or aggregates or (distinct is not None and not windows and not distinct_star)
        ):
            scope = self._group(node, items, plain, group, aggregates, distinct is not None, block)
        elif group is not None:
            self._lenient_group(group, items, plain, block)
        having = node.args.get("having")
        if having is not None:
            self._having(having, items, scope, plain, block)
            if windows and state.exact and any(type(item.this) is exp.Distinct for item in aggregates.values()):
                raise state.fail("DISTINCT in an aggregate beside HAVING and window functions: not in Hive", node)
        if windows and state.strict:
            scope = self._windows(node, windows, scope, plain)
        self._windowed = bool(windows)
        self._named_windows = ()
        if windows and state.strict:
            self._named_windows = self._naming_windows(node, items, windows, block.level)
        output = self._items(node, items, scope, plain, block, naming, distinct is not None)
        qualify = node.args.get("qualify")
        if qualify is not None:
            combined = output.with_inputs(scope)
            self.resolve(qualify.this, Place((combined,), None, plain, True, True, True))
        if not _ORDERS.isdisjoint(node.args):
            window_distinct = bool(windows) and distinct is not None and state.strict
            if distinct_star and state.exact:
                self.starred_tables = frozenset(block.aliases)
            self._order(node, output, scope, plain, plain, block.level, skip_input=window_distinct, items=items)
            self.starred_tables = frozenset()
        if not state.strict:
            for definition in node.args.get("windows") or ():
                self.visit_and_commit(definition, Place((plain,), block.outer, plain, False, True, True))
        return output

    def _clauses(self, node: exp.Select) -> None:
        """Combinations of clauses that Hive refuses."""
        if not node.expressions:
            raise self.state.fail("The SELECT list is empty", node)
        arguments = node.args
        if not self.state.strict or (arguments.get("limit") is None and _CHECKED.isdisjoint(arguments)):
            return
        cluster, distribute, sort = arguments.get("cluster"), arguments.get("distribute"), arguments.get("sort")
        order = arguments.get("order")
        if cluster is not None and sort is not None:
            raise self.state.fail("Cannot have both CLUSTER BY and SORT BY clauses", sort)
        if cluster is not None and distribute is not None:
            raise self.state.fail("Cannot have both CLUSTER BY and DISTRIBUTE BY clauses", distribute)
        if arguments.get("locks"):
            raise self.state.fail("FOR UPDATE and FOR SHARE: Hive has no such clause", node)
        limit = arguments.get("limit")
        if isinstance(limit, exp.Fetch):
            raise self.state.fail("FETCH FIRST: Hive has no such clause. Write LIMIT", node)
        count = limit.args.get("expression") if limit is not None else None
        if count is not None and not isinstance(count, exp.Literal):
            raise self.state.fail("LIMIT takes a number", count)
        if order is not None and sort is not None:
            raise self.state.fail("Cannot have both ORDER BY and SORT BY clauses", sort)
        if order is not None and distribute is not None:
            raise self.state.fail("Cannot have both ORDER BY and DISTRIBUTE BY clauses", distribute)

    def type_of(self, node: exp.Expr) -> str | None:
        """The Hive type of an expression, or None where it is not known."""
        if self._types is None:
            self._types = TypeInference(self.state.text, self.state.bindings, self.subquery_types)
        return self._types.of(node)
