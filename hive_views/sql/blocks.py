"""Query blocks: SELECT lists, GROUP BY, windows, ORDER BY and set operations over the FROM clause's columns.

Source of the rules: Hive 4.1's `CalcitePlanner` (`genGBLogicalPlan`, `internalGenSelectLogicalPlan`, `OrderByRelBuilder`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql import functions, typetext
from hive_views.sql.names import Place
from hive_views.sql.scopes import Column, Scope
from hive_views.sql.sources import Block, CteDefinition
from hive_views.sql.spans import key, span
from hive_views.sql.names import State
from hive_views.sql.stars import Stars
from hive_views.sql.types import Types

_SET_OPERATIONS = (exp.Union, exp.Except, exp.Intersect)
_NEVER_REMOVED = 99


class Blocks(Stars):
    """Resolves queries."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._set_operations = 0
        self._types = Types(state.text, state.bindings, self.subquery_types)

    # -- Queries -------------------------------------------------------------------------------------------------------

    def query(
        self,
        node: exp.Expression,
        ctes: dict[str, CteDefinition],
        outer: Scope | None = None,
        *,
        alias: str | None = None,
        level: int = 0,
        naming: bool = True,
    ) -> Scope:
        """Resolve a query.

        Args:
            node: A SELECT, a set operation, VALUES, or one of these in parentheses.
            ctes: The common table expressions it can name.
            outer: The columns of the block around it that a correlated subquery can name.
            alias: The alias of the derived table that it is.
            level: How deep it is in derived tables: Hive drops the ORDER BY of those just under the outermost query.
            naming: Whether columns without a name can be given one (not in `IN (…)` and the like).

        Returns:
            The columns of its result.

        Raises:
            SqlError: If a name in it is unknown or ambiguous, or Hive refuses it for another reason.
        """
        with_ = node.args.get("with_")
        if with_ is not None:
            ctes = self._ctes(with_, ctes, level)
        kind = type(node)
        if kind is exp.Select:
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
            self.definitions.append(definition)
            if not self.state.exact:
                self._quote(cte.args["alias"].this)
        return visible

    def _set_operation(
        self, node: exp.Expression, ctes: dict[str, CteDefinition], outer: Scope | None, level: int, naming: bool
    ) -> Scope:
        self._one_order(node)
        spine: list[exp.Expression] = []
        left_node: exp.Expression = node
        while type(left_node) in _SET_OPERATIONS and (left_node is node or left_node.args.get("order") is None):
            spine.append(left_node)
            left_node = left_node.this
        inner = 1 if level == 0 else level
        first = self._branch(left_node, ctes, outer, inner, naming)
        result = self._renamed(first, "__u", None)
        for operation in reversed(spine):
            if operation is not node and operation.args.get("with_") is not None:
                ctes = self._ctes(operation.args["with_"], ctes, level)
            self._set_operations += 1
            right = self._renamed(self._branch(operation.expression, ctes, outer, inner, False), "__u", None)
            result = self._both(result, right, operation)
        alias = f"__u{self._set_operations + 1}"
        result = self._renamed(result, alias, None)
        if node.args.get("order") is not None or node.args.get("sort") is not None:
            self._order(node, result, result, None, result, level, union=True)
        return result

    def _one_order(self, node: exp.Expression) -> None:
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
        self, node: exp.Expression, ctes: dict[str, CteDefinition], outer: Scope | None, level: int, naming: bool
    ) -> Scope:
        return self.query(node, ctes, outer, level=level, naming=naming)

    def _both(self, left: Scope, right: Scope, node: exp.Expression) -> Scope:
        at = node.expression
        if len(left.columns) != len(right.columns):
            raise self.state.fail(
                "Schema of both sides of union should match: "
                f"the first has {len(left.columns)} columns, the second {len(right.columns)}",
                at,
            )
        result = Scope()
        for one, other in zip(left.columns, right.columns, strict=True):
            name = left.names[id(one)][1]
            type_source: Any = one.type_source
            if self.state.strict:
                first, second = one.type, other.type
                if first is not None and second is not None:
                    shared = typetext.common(first, second)
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

    def subquery(self, node: exp.Expression, place: Place, *, single: bool = False) -> None:
        """Resolve a query inside an expression: it can name the columns around it."""
        outer = place.scopes[0]
        if len(place.scopes) > 1:
            outer = Scope()
            for scope in place.scopes:
                outer.add_tables(scope)
        if not self.state.strict and place.outer is not None:
            outer = outer.over(place.outer)
        waiting, copying = self.state.pending, self.state.copies
        result = self.query(node, self._current_ctes, outer, level=_NEVER_REMOVED, naming=False)
        self.state.pending, self.state.copies = waiting, copying
        self.subquery_types[id(node)] = result
        if (single or isinstance(node, exp.Subquery)) and self.state.strict and len(result.columns) != 1:
            raise self.state.fail("Invalid SubQuery expression: SubQuery can contain only 1 item in Select List", node)

    # -- One SELECT ------------------------------------------------------------------------------------------------------

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
        items = node.expressions
        distinct = node.args.get("distinct")
        aggregates: dict[str, exp.Expression] = {}
        windows: dict[str, exp.Expression] = {}
        self._collect(node, items, aggregates, windows)
        scope = plain
        group = node.args.get("group")
        distinct_star = distinct is not None and len(items) == 1 and _is_star(items[0])
        if state.strict and (group is not None or aggregates or (distinct is not None and not windows and not distinct_star)):
            scope = self._group(node, items, plain, group, aggregates, distinct is not None, block)
        elif group is not None:
            self._lenient_group(group, items, plain, block)
        having = node.args.get("having")
        if having is not None:
            self._having(having, items, scope, plain, block)
        if windows and state.strict:
            scope = self._windows(node, windows, scope, plain)
        output = self._items(node, items, scope, plain, block, naming, distinct is not None)
        qualify = node.args.get("qualify")
        if qualify is not None:
            combined = output.with_inputs(scope)
            self.resolve(qualify.this, Place((combined,), None, plain, True, True, True))
        if node.args.get("order") is not None or node.args.get("sort") is not None or self._distributed(node):
            window_distinct = bool(windows) and distinct is not None
            self._order(node, output, scope, plain, plain, block.level, skip_input=window_distinct, items=items)
        if not state.strict:
            for definition in node.args.get("windows") or ():
                self.visit_and_commit(definition, Place((plain,), block.outer, plain, False, True, True))
        return output

    def _clauses(self, node: exp.Select) -> None:
        """Combinations of clauses that Hive refuses."""
        if not self.state.strict:
            return
        cluster, distribute, sort = (node.args.get(name) for name in ("cluster", "distribute", "sort"))
        order = node.args.get("order")
        if cluster is not None and sort is not None:
            raise self.state.fail("Cannot have both CLUSTER BY and SORT BY clauses", sort)
        if cluster is not None and distribute is not None:
            raise self.state.fail("Cannot have both CLUSTER BY and DISTRIBUTE BY clauses", distribute)
        limit = node.args.get("limit")
        count = limit.args.get("expression") if limit is not None else None
        if count is not None and not isinstance(count, exp.Literal):
            raise self.state.fail("LIMIT takes a number", count)
        if order is not None and sort is not None:
            raise self.state.fail("Cannot have both ORDER BY and SORT BY clauses", sort)
        if order is not None and distribute is not None:
            raise self.state.fail("Cannot have both ORDER BY and DISTRIBUTE BY clauses", distribute)
        if not node.expressions:
            raise self.state.fail("The SELECT list is empty", node)

    def _collect(
        self,
        node: exp.Select,
        items: Iterable[exp.Expression],
        aggregates: dict[str, exp.Expression],
        windows: dict[str, exp.Expression],
    ) -> None:
        """The aggregates and window functions of a block, by key; of equal ones the last, as Hive keeps it."""
        for item in items:
            inner = item.this if type(item) is exp.Alias else item
            if type(inner) is not exp.Column:
                self._collect_in(inner, aggregates, windows, False)
        for name in ("order", "having", "qualify"):
            clause = node.args.get(name)
            if clause is not None:
                self._collect_in(clause, aggregates, windows, False)

    def _collect_in(
        self,
        node: exp.Expression,
        aggregates: dict[str, exp.Expression],
        windows: dict[str, exp.Expression],
        in_window: bool,
    ) -> None:
        stack = [(node, in_window)]
        found: list[exp.Expression] = []
        while stack:
            current, inside = stack.pop()
            kind = type(current)
            if kind in _OPAQUE:
                continue
            if kind is exp.Window:
                windows.setdefault(key(current), current)
                function = current.this
                while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
                    function = function.this
                inner = [value for name, value in function.args.items()]
                inner += [current.args.get(name) for name in ("partition_by", "order")]
                stack += [(item, True) for value in reversed(inner) for item in _expressions(value)]
                continue
            if isinstance(current, exp.Func) and not inside or isinstance(current, exp.Func):
                name = self.function_name(current)
                if name is not None:
                    if not inside and name in ("lead", "lag") and self.state.strict:
                        raise self.state.fail(f"Missing over clause for function: {name}", current, name)
                    if name in functions.AGGREGATES or self.state.functions.get(name) == "udaf":
                        found.append(current)
                        continue
            stack += [(item, inside) for value in reversed(list(current.args.values())) for item in _expressions(value)]
        for item in found:
            aggregates[key(item)] = item

    # -- GROUP BY ----------------------------------------------------------------------------------------------------------

    def _group(
        self,
        node: exp.Select,
        items: list[exp.Expression],
        plain: Scope,
        group: exp.Expression | None,
        aggregates: dict[str, exp.Expression],
        distinct: bool,
        block: Block,
    ) -> Scope:
        state = self.state
        scope = Scope(grouped=True)
        keys, sets = self._group_keys(group, items, distinct)
        place = Place((plain,), None, plain, keys=False)
        for item in keys:
            if isinstance(item, exp.Star) or _is_star(item):
                raise state.fail("TOK_ALLCOLREF is not supported in current context: a star beside DISTINCT columns", item)
            result = self.resolve(item, place)
            type_source = result.type_source if isinstance(result, Column) else self._type_source(item, plain)
            column = Column(f"_col{len(scope.columns)}", "", "", type_source)
            text = key(item)
            if text in scope.keys:
                continue
            scope.put_key(text, column)
            scope.key_nodes[text] = item
            self._alternate(item, plain, scope, column)
        for text, item in aggregates.items():
            self._aggregate(item, plain)
            column = Column(f"_col{len(scope.columns)}", "", "", self._type_source(item, plain))
            scope.put_key(text, column)
            scope.key_nodes[text] = item
        if sets is not None:
            scope.with_sets = True
            column = Column(f"_col{len(scope.columns)}", None, "grouping__id", "bigint")
            scope.put(None, "grouping__id", column)
            for item in sets:
                self.resolve(item, Place((scope,), None, plain, aggregates=True))
        return scope

    def _group_keys(
        self, group: exp.Expression | None, items: list[exp.Expression], distinct: bool
    ) -> tuple[list[exp.Expression], list[exp.Expression] | None]:
        """The grouping keys, and the expressions inside GROUPING SETS; None where there are no sets."""
        if group is None:
            if not distinct:
                return [], None
            return [item.this if type(item) is exp.Alias else item for item in items], None
        keys: list[exp.Expression] = []
        inside: list[exp.Expression] | None = None
        for item in group.expressions:
            inner = _bare(item)
            if type(inner) is exp.Literal and not inner.is_string:
                if self.state.conf.get("hive.groupby.position.alias") == "true" or not self.state.strict:
                    keys.append(self._ordinal(inner, items))
                continue
            if isinstance(inner, (exp.Rollup, exp.Cube)):
                inside = []
                keys += inner.expressions
                continue
            keys.append(item)
        for name in ("cube", "rollup", "grouping_sets"):
            for part in group.args.get(name) or ():
                inside = inside or []
                if name == "grouping_sets":
                    for element in part.expressions:
                        members = element.expressions if isinstance(element, exp.Tuple) else [_bare(element)]
                        inside += [_bare(member) for member in members]
                    if not keys:
                        raise self.state.fail("GROUPING SETS needs the grouping columns in front of it", part)
                elif isinstance(part, exp.Expression):
                    keys += [_bare(member) for member in part.expressions]
        return keys, inside

    def _ordinal(self, number: exp.Expression, items: list[exp.Expression]) -> exp.Expression:
        position = int(number.this) if number.this.isdigit() else 0
        if not 0 < position <= len(items):
            raise self.state.fail(
                f"Invalid position alias in Group By: position {number.this} does not exist, "
                f"the Select List is indexed from 1 to {len(items)}",
                number,
            )
        item = _bare(items[position - 1])
        if not self.state.exact:
            target, source = span(self.state.text, number), span(self.state.text, item)
            if target is not None and source is not None:
                self.state.edits.copy(target, source)
        return item

    def _aggregate(self, node: exp.Expression, plain: Scope) -> None:
        """The arguments of an aggregate are looked up under the GROUP BY; a registered one's name is quoted."""
        place = Place((plain,), None, plain, keys=False)
        for value in node.args.values():
            for item in _expressions(value):
                if type(item) is exp.Column and isinstance(item.this, exp.Star) and self.state.strict:
                    raise self.state.fail("TOK_ALLCOLREF is not supported in current context", item)
                self.resolve(item, place)
        self._quote_function(node)

    def _quote_function(self, node: exp.Expression) -> None:
        name = self.function_name(node)
        if name in self.state.functions and node._meta:
            index = self._starts.get(node._meta["start"])
            if index is not None:
                self.state.edits.replace(index, index, self.state.text.quoted(node.name or name))

    def _alternate(self, item: exp.Expression, plain: Scope, scope: Scope, column: Column) -> None:
        """A grouping key that is a plain column can be named with and without its table."""
        item = _bare(item)
        if type(item) is not exp.Column:
            return
        parts = [part.name.lower() for part in item.parts]
        if len(parts) == 1:
            found = plain.find(None, parts[0])
            scope.put(found.table if found is not None else None, parts[0], column)
        elif len(parts) == 2:
            scope.put(parts[0], parts[1], column)

    def _lenient_group(self, group: exp.Expression, items: list[exp.Expression], plain: Scope, block: Block) -> None:
        """GROUP BY of Spark and Trino, which may name an alias of the SELECT list or a position."""
        aliases = {item.alias.lower() for item in items if type(item) is exp.Alias}
        keys, inside = self._group_keys(group, items, False)
        for item in [*keys, *(inside or ())]:
            if type(item) is exp.Column and len(item.parts) == 1 and item.name.lower() in aliases:
                if plain.find_any(item.name.lower()) is None:
                    continue
            if not any(item is _bare(other) for other in items):
                self.resolve(item, Place((plain,), block.outer, plain, False, True, True))

    def _having(
        self, having: exp.Expression, items: list[exp.Expression], scope: Scope, plain: Scope, block: Block
    ) -> None:
        state = self.state
        if not state.strict:
            self.resolve(having.this, Place((plain.with_aliases(items),), block.outer, plain, False, True, True))
            return
        if not scope.grouped:
            raise state.fail("Having clause without any group-by", having)
        for item in items:
            if type(item) is exp.Alias:
                column = scope.keys.get(key(item.this))
                if column is not None:
                    scope.put("", item.alias.lower(), column)
        self.resolve(having.this, Place((scope,), None, plain, aggregates=True))

    # -- Windows -----------------------------------------------------------------------------------------------------------

    def _windows(self, node: exp.Select, windows: dict[str, exp.Expression], scope: Scope, plain: Scope) -> Scope:
        named = {item.name.lower(): item for item in node.args.get("windows") or ()}
        done: set[str] = set()
        place = Place((scope,), None, plain, True, True, False)
        result = Scope(grouped=scope.grouped)
        result.add(scope)
        if not self.state.exact:
            result.key_nodes = dict(scope.key_nodes)
        for text, window in windows.items():
            function = window.this
            while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
                function = function.this
            for value in function.args.values():
                for item in _expressions(value):
                    self.resolve(item, place)
            self._quote_function(function)
            self._window_spec(window, place)
            name = window.args.get("alias")
            while name is not None:
                wanted = name.name.lower()
                definition = named.get(wanted)
                if definition is None:
                    raise self.state.fail(f"Window {name.name} is not defined: it refers to an unknown source", name, name.name)
                if wanted in done:
                    break
                done.add(wanted)
                self._window_spec(definition, place)
                name = definition.args.get("alias")
            column = Column(f"_col{len(result.columns)}", None, "", self._type_source(window, plain))
            result.put_key(text, column)
            result.key_nodes[text] = window
        if not self.state.exact:
            for wanted, definition in named.items():
                if wanted not in done:
                    self._window_spec(definition, place)
        return result

    def _window_spec(self, window: exp.Expression, place: Place) -> None:
        for item in window.args.get("partition_by") or ():
            self.resolve(item, place)
        for name in ("order",):
            clause = window.args.get(name)
            for item in clause.expressions if clause is not None else ():
                self.resolve(item.this if type(item) is exp.Ordered else item, place)

    # -- ORDER BY ----------------------------------------------------------------------------------------------------------

    @staticmethod
    def _distributed(node: exp.Expression) -> bool:
        return node.args.get("distribute") is not None or node.args.get("cluster") is not None

    def _order(
        self,
        node: exp.Expression,
        output: Scope,
        scope: Scope,
        plain: Scope | None,
        base: Scope,
        level: int,
        *,
        union: bool = False,
        skip_input: bool = False,
        items: list[exp.Expression] | None = None,
    ) -> None:
        """ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY: names of the result first, then of what is under it."""
        state = self.state
        limit = node.args.get("limit") is not None
        removed = state.exact and level == 1 and not limit
        sorts = []
        for name in ("order", "sort"):
            clause = node.args.get(name)
            if clause is not None and not removed:
                sorts += [_bare(item.this) if type(item) is exp.Ordered else item for item in clause.expressions]
        spreads = [
            _bare(item)
            for name in ("distribute", "cluster")
            if node.args.get(name) is not None
            for item in node.args[name].expressions
        ]
        legacy = state.exact and (not state.cbo or (node.args.get("sort") is not None and limit))
        if not state.exact:
            for item in [*sorts, *spreads]:
                self._complete_order(item, output, scope, plain, items)
            return
        augmented: Scope | None = None
        for item in sorts:
            if isinstance(item, exp.Literal):
                continue
            found = False
            if not legacy and not skip_input:
                found = self._try(item, Place((scope,), None, plain, True, True, True))
            if self._try(item, Place((output,), None, plain, False, True, True)):
                continue
            if legacy or union:
                self.resolve(item, Place((output,), None, plain, True, True, True))
            augmented = augmented or output.with_inputs(scope)
            if node.args.get("sort") is not None and type(item) is exp.Column:
                raise state.fail(f"SORT BY a column that is not selected: '{item.name}'", item, item.name)
            if not found:
                self.resolve(item, Place((augmented,), None, plain, True, True, True))
        for item in spreads:
            if isinstance(item, exp.Literal):
                continue
            if self._try(item, Place((output,), None, plain, False, True, True)):
                continue
            if not sorts or legacy:
                self.resolve(item, Place((output,), None, plain, False, True, True))
            augmented = augmented or output.with_inputs(scope)
            self.resolve(item, Place((augmented,), None, plain, True, True, True))

    def _try(self, item: exp.Expression, place: Place) -> bool:
        try:
            self.resolve(item, place)
        except SqlError:
            return False
        return True

    def _complete_order(
        self, item: exp.Expression, output: Scope, scope: Scope, plain: Scope | None, items: list[exp.Expression] | None
    ) -> None:
        """The portable form: an output name stays as it was written, any other name is completed."""
        named = output.only_names()
        if plain is None:
            self.resolve(item, Place((named,), None, None, False, True, True))
            return
        aliases = {
            other.alias.lower(): other.this
            for other in items or ()
            if type(other) is exp.Alias and not self._is_column_of_name(other)
        }
        lower = plain.hiding(aliases) if aliases else plain
        both = named.with_inputs(lower) if aliases else lower
        place = Place((both,), None, plain, False, True, True)
        if self._try(item, place):
            return
        if self._try(item, Place((scope,), None, plain, True, True, True)):
            return
        self.resolve(item, Place((output.only_names().with_inputs(scope),), None, plain, True, True, True))

    @staticmethod
    def _is_column_of_name(item: exp.Expression) -> bool:
        inner = _bare(item.this)
        return type(inner) is exp.Column and inner.name.lower() == item.alias.lower() and len(inner.parts) <= 2

    def type_of(self, node: exp.Expression) -> str | None:
        """The Hive type of an expression, or None where it is not known."""
        return self._types.of(node)

    def visit_and_commit(self, node: exp.Expression, place: Place) -> None:
        """Look up the names under a node that is no expression by itself."""
        for value in node.args.values():
            for item in _expressions(value):
                if not isinstance(item, exp.Identifier):
                    self.resolve(item, place)


def _expressions(value: Any) -> list[exp.Expression]:
    if isinstance(value, exp.Expression):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, exp.Expression)]
    return []


def _bare(node: exp.Expression) -> exp.Expression:
    """An expression without its alias and the parentheses around it."""
    if type(node) is exp.Alias:
        node = node.this
    while type(node) is exp.Paren:
        node = node.this
    return node


def _is_star(item: exp.Expression) -> bool:
    return type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star)


_OPAQUE = frozenset({exp.Column, exp.Literal, exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Identifier})
