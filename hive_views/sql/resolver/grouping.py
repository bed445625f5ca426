"""GROUP BY, aggregates and window functions: what a SELECT list over them can name.

Source of the rules: Hive 4.1's `CalcitePlanner.genGBLogicalPlan`, `genSelectForWindowing`, `SemanticAnalyzer.doPhase1`.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from hive_views.sql.hive_exact import refusals
from hive_views.sql.parsing.builtin_functions import HIVE_AGGREGATES, HIVE_FUNCTIONS
from hive_views.sql.parsing.lexer import unquote_identifier
from hive_views.sql.parsing.syntax_tree import bare, expressions, function_token, is_star, key, span
from hive_views.sql.resolver.context import Place
from hive_views.sql.resolver.lateral_views import Block
from hive_views.sql.resolver.scopes import Column, Scope
from hive_views.sql.resolver.stars import Stars


class Grouping(Stars):
    """Resolves grouped and windowed blocks."""

    def _collect(
        self,
        node: exp.Select,
        items: Iterable[exp.Expr],
        aggregates: dict[str, exp.Expr],
        windows: dict[str, exp.Expr],
    ) -> None:
        """The aggregates and window functions of a block, by key; of equal ones the last, as Hive keeps it."""
        for item in items:
            inner = item.this if type(item) is exp.Alias else item
            if type(inner) not in _LEAVES:
                self._collect_in(inner, aggregates, windows, False)
        arguments = node.args
        if _WITH_CALLS.isdisjoint(arguments):
            return
        for name in ("order", "having", "qualify"):
            clause = arguments.get(name)
            if clause is not None:
                self._collect_in(clause, aggregates, windows, False)

    def _collect_in(
        self,
        node: exp.Expr,
        aggregates: dict[str, exp.Expr],
        windows: dict[str, exp.Expr],
        in_window: bool,
    ) -> None:
        stack = [(node, in_window)]
        found: list[exp.Expr] = []
        while stack:
            current, inside = stack.pop()
            kind = type(current)
            if kind is exp.Window:
                windows.setdefault(key(current), current)
                function = current.this
                while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
                    function = function.this
                inner = [value for name, value in function.args.items()]
                inner += [current.args.get(name) for name in ("partition_by", "order")]
                stack += [(item, True) for value in reversed(inner) for item in expressions(value)]
                continue
            if kind is exp.WithinGroup:
                found.append(current)
                continue
            if isinstance(current, exp.Func):
                name = self.function_name(current)
                if name is not None:
                    if not inside and name in ("lead", "lag") and self.state.strict:
                        raise self.state.fail(f"Missing over clause for function: {name}", current, name)
                    if name in HIVE_AGGREGATES or self.state.functions.get(name) == "udaf":
                        found.append(current)
                        continue
            for value in reversed(list(current.args.values())):
                if isinstance(value, list):
                    stack += [
                        (item, inside) for item in value if isinstance(item, exp.Expr) and type(item) not in _LEAVES
                    ]
                elif isinstance(value, exp.Expr) and type(value) not in _OPAQUE:
                    stack.append((value, inside))
        for item in found:
            aggregates[key(item)] = item

    # -- GROUP BY --------------------------------------------------------------------------------------------------

    def _group(
        self,
        node: exp.Select,
        items: list[exp.Expr],
        plain: Scope,
        group: exp.Expr | None,
        aggregates: dict[str, exp.Expr],
        distinct: bool,
        block: Block,
    ) -> Scope:
        state = self.state
        scope = Scope(grouped=True)
        keys, sets = self._group_keys(group, items, distinct, bool(aggregates))
        if sets is not None and state.exact and not sets:
            refusals.check_grouping_sets(state, keys, key)
        place = Place((plain,), None, plain, keys=False, strict_names=True)
        for item in keys:
            if isinstance(item, exp.Star) or is_star(item):
                raise state.fail(
                    "TOK_ALLCOLREF is not supported in current context: a star beside DISTINCT columns", item
                )
            result = self.resolve(item, place)
            type_source = result.type_source if isinstance(result, Column) else self._type_source(item, plain)
            column = Column(f"_col{len(scope.columns)}", "", "", type_source)
            text = key(item)
            if text in scope.keys:
                continue
            scope.put_key(text, column, item)
            self._alternate(item, plain, scope, column)
        for text, item in aggregates.items():
            self._aggregate(item, plain)
            column = Column(f"_col{len(scope.columns)}", "", "", self._type_source(item, plain))
            scope.put_key(text, column, item)
        if sets is not None:
            scope.with_sets = True
            column = Column(f"_col{len(scope.columns)}", None, "grouping__id", "bigint")
            scope.put(None, "grouping__id", column)
            self.in_sets = True
            for item in sets:
                self.resolve(item, Place((scope,), None, plain, aggregates=True))
            self.in_sets = False
        return scope

    def _group_keys(
        self, group: exp.Expr | None, items: list[exp.Expr], distinct: bool, aggregated: bool
    ) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        """The grouping keys, and the expressions inside GROUPING SETS; None where there are no sets."""
        if group is None:
            if not distinct:
                return [], None
            if aggregated:
                return [], None
            return [item.this if type(item) is exp.Alias else item for item in items], None
        keys: list[exp.Expr] = []
        inside: list[exp.Expr] | None = None
        for item in group.expressions:
            inner = bare(item)
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
                        members = element.expressions if isinstance(element, exp.Tuple) else [bare(element)]
                        inside += [bare(member) for member in members]
                    if not keys:
                        raise self.state.fail("GROUPING SETS needs the grouping columns in front of it", part)
                elif isinstance(part, exp.Expr):
                    keys += [bare(member) for member in part.expressions]
        return keys, inside

    def _ordinal(self, number: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
        position = int(number.this) if number.this.isdigit() else 0
        if not 0 < position <= len(items):
            raise self.state.fail(
                f"Invalid position alias in Group By: position {number.this} does not exist, "
                f"the Select List is indexed from 1 to {len(items)}",
                number,
            )
        item = bare(items[position - 1])
        if not self.state.exact:
            target, source = span(self.state.text, number), span(self.state.text, item)
            if target is not None and source is not None:
                self.state.edits.copy(target, source)
        return item

    def _aggregate(self, node: exp.Expr, plain: Scope) -> None:
        """The arguments of an aggregate are looked up under the GROUP BY; a registered one's name is quoted."""
        place = Place((plain,), None, plain, keys=False)
        values = list(node.args.values())
        if type(node) is exp.WithinGroup:
            values = [*node.this.args.values(), node.args.get("expression")]
        for value in values:
            for item in expressions(value):
                if type(item) is exp.Column and isinstance(item.this, exp.Star) and self.state.strict:
                    raise self.state.fail("TOK_ALLCOLREF is not supported in current context", item)
                self.resolve(item, place)
        name = self.function_name(node) if self.state.exact and type(node) is not exp.WithinGroup else None
        if name is not None:
            refusals.check_function(self.state, name, node, refusals.iter_first(node), self.type_of)
        self._quote_function(node)

    def _quote_function(self, node: exp.Expr) -> None:
        index = function_token(self.state.text, node)
        if index is not None:
            written = unquote_identifier(self.state.text.raw(index))
            if written.lower() in self.state.functions:
                self.state.edits.replace(index, index, self.state.quoted(written))

    def _alternate(self, item: exp.Expr, plain: Scope, scope: Scope, column: Column) -> None:
        """A grouping key that is a plain column can be named with and without its table."""
        item = bare(item)
        if type(item) is not exp.Column:
            return
        parts = [part.name.lower() for part in item.parts]
        if len(parts) == 1:
            found = plain.find(None, parts[0])
            scope.put(found.table if found is not None else None, parts[0], column)
        elif len(parts) == 2:
            scope.put(parts[0], parts[1], column)

    def _lenient_group(self, group: exp.Expr, items: list[exp.Expr], plain: Scope, block: Block) -> None:
        """GROUP BY of Spark and Trino, which may name an alias of the SELECT list or a position."""
        aliases = {item.alias.lower() for item in items if type(item) is exp.Alias}
        keys, inside = self._group_keys(group, items, False, False)
        for item in [*keys, *(inside or ())]:
            alone = type(item) is exp.Column and len(item.parts) == 1
            if alone and item.name.lower() in aliases and plain.find_any(item.name.lower()) is None:
                continue
            if not any(item is bare(other) for other in items):
                self.resolve(item, Place((plain,), block.outer, plain, False, True, True))

    def _having(self, having: exp.Expr, items: list[exp.Expr], scope: Scope, plain: Scope, block: Block) -> None:
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

    # -- Windows ---------------------------------------------------------------------------------------------------

    def _windows(self, node: exp.Select, windows: dict[str, exp.Expr], scope: Scope, plain: Scope) -> Scope:
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
                if isinstance(function.this, (exp.Lag, exp.Lead)):
                    raise self.state.fail("lag() and lead() do not support null treatment", window)
                function = function.this
            written = self.function_name(function)
            if written is not None and written not in HIVE_FUNCTIONS and written not in self.state.functions:
                raise self.state.fail(f"Invalid function '{written}'", function, written)
            for value in function.args.values():
                for item in expressions(value):
                    self.resolve(item, place)
            if not self.state.exact:
                self._quote_function(function)
            self._window_spec(window, place)
            name = window.args.get("alias")
            while name is not None:
                wanted = name.name.lower()
                definition = named.get(wanted)
                if definition is None:
                    raise self.state.fail(
                        f"Window {name.name} is not defined: it refers to an unknown source", name, name.name
                    )
                if wanted in done:
                    break
                done.add(wanted)
                self._window_spec(definition, place)
                name = definition.args.get("alias")
            column = Column(f"_col{len(result.columns)}", None, "", self._type_source(window, plain))
            result.put_key(text, column, window)
        if not self.state.exact:
            for wanted, definition in named.items():
                if wanted not in done:
                    self._window_spec(definition, place)
        return result

    def _naming_windows(
        self, node: exp.Select, items: list[exp.Expr], windows: dict[str, exp.Expr], level: int
    ) -> list[exp.Expr]:
        """The window functions after which Hive names a column of the result, `rank_window_0`.

        Hive computes functions of equal windows together, one group after the other (`WindowingComponentizer`). Only a
        column of the last group still has its own name when the outermost SELECT list is named, and none has where
        DISTINCT, QUALIFY or an ORDER BY of something that is not selected comes in between.
        """
        arguments = node.args
        if level > 0 or arguments.get("distinct") is not None or arguments.get("qualify") is not None:
            return []
        selected = {key(bare(item)) for item in items}
        selected |= {f"(tok_table_or_col {item.alias.lower()})" for item in items if type(item) is exp.Alias}
        selected -= {key(item.this) for item in items if type(item) is exp.Alias}
        for name in ("order", "sort"):
            clause = arguments.get(name)
            for item in clause.expressions if clause is not None else ():
                ordered = bare(item.this if type(item) is exp.Ordered else item)
                if type(ordered) is not exp.Literal and (
                    type(ordered) is not exp.Column or key(ordered) not in selected
                ):
                    return []
        named = {item.name.lower(): item for item in arguments.get("windows") or ()}
        groups: dict[str, list[exp.Expr]] = {}
        for window in windows.values():
            groups.setdefault(_window_key(window, named), []).append(window)
        return list(groups.values())[-1]

    def _window_spec(self, window: exp.Expr, place: Place) -> None:
        frame = window.args.get("spec")
        if frame is not None:
            bounds = [frame.args.get("start"), frame.args.get("end")]
            foreign = [item for item in bounds if isinstance(item, exp.Expr) and type(item) is not exp.Literal]
            if foreign or frame.args.get("exclude") is not None or str(frame.args.get("kind")).upper() == "GROUPS":
                raise self.state.fail("Hive's window frames are ROWS or RANGE with numbers for bounds", window)
        for item in window.args.get("partition_by") or ():
            self.resolve(item, place)
        for name in ("order",):
            clause = window.args.get(name)
            for item in clause.expressions if clause is not None else ():
                self.resolve(item.this if type(item) is exp.Ordered else item, place)


def _window_key(window: exp.Expr, named: dict[str, exp.Expr]) -> str:
    """A text that two window functions share when Hive computes them together: PARTITION BY and ORDER BY."""
    partition, order = [key(item) for item in window.args.get("partition_by") or ()], window.args.get("order")
    keys = [
        f"{key(item.this)} {bool(item.args.get('desc'))} {item.args.get('nulls_first')}"
        if type(item) is exp.Ordered
        else key(item)
        for item in (order.expressions if order is not None else ())
    ]
    name = window.args.get("alias")
    definition = named.get(name.name.lower()) if name is not None else None
    inherited = _window_key(definition, named) if definition is not None and definition is not window else "|"
    first, _, second = inherited.partition("|")
    return f"{','.join(partition) or first}|{','.join(keys) or second}"


_WITH_CALLS = frozenset({"order", "having", "qualify"})
_LEAVES = frozenset({exp.Column, exp.Star, exp.Literal})
_OPAQUE = frozenset(
    {exp.Column, exp.Literal, exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Identifier}
)
