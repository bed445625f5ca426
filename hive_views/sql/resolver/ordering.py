"""ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY.

Source of the rules: Hive 4.1's `CalcitePlanner.OrderByRelBuilder`.
"""

from __future__ import annotations

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.syntax_tree import bare, expressions, span
from hive_views.sql.resolver.context import Place
from hive_views.sql.resolver.grouping import Grouping
from hive_views.sql.resolver.scopes import Scope


class Ordering(Grouping):
    """Resolves the clauses that order a result."""

    # -- ORDER BY --------------------------------------------------------------------------------------------------

    def _order(
        self,
        node: exp.Expr,
        output: Scope,
        scope: Scope,
        plain: Scope | None,
        base: Scope,
        level: int,
        *,
        union: bool = False,
        skip_input: bool = False,
        items: list[exp.Expr] | None = None,
    ) -> None:
        """ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY: names of the result first, then of what is under it."""
        state = self.state
        limit = node.args.get("limit") is not None
        removed = state.exact and level == 1 and not limit
        sorts = []
        for name in ("order", "sort"):
            clause = node.args.get(name)
            if clause is not None and not removed:
                sorts += [bare(item.this) if type(item) is exp.Ordered else item for item in clause.expressions]
        spreads = [
            bare(item)
            for name in ("distribute", "cluster")
            if node.args.get(name) is not None
            for item in node.args[name].expressions
        ]
        legacy = state.exact and (not state.cbo or (node.args.get("sort") is not None and limit))
        if not state.exact:
            below = self._order_scope(output, plain, items) if plain is not None and (sorts or spreads) else None
            for item in [*sorts, *spreads]:
                if skip_input and not isinstance(item, exp.Literal):
                    self.resolve(item, Place((output,), None, plain, False, True, True))
                else:
                    self._complete_order(item, output, scope, plain, below)
            return
        augmented: Scope | None = None
        for item in sorts:
            if isinstance(item, exp.Literal):
                continue
            if self.starred_tables and self._copied_from_star(item):
                continue
            if not legacy and not skip_input:
                self._try(item, Place((scope,), None, plain, True, True, True, True))
            if self._try(item, Place((output,), None, plain, False, True, True)):
                continue
            if skip_input:
                self.resolve(item, Place((output,), None, plain, False, True, True))
            if legacy or union:
                self.resolve(item, Place((output,), None, plain, True, True, True))
            augmented = augmented or output.with_inputs(scope)
            if node.args.get("sort") is not None and type(item) is exp.Column:
                raise state.fail(f"SORT BY a column that is not selected: '{item.name}'", item, item.name)
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

    def _copied_from_star(self, item: exp.Expr) -> bool:
        """`SELECT DISTINCT * … ORDER BY t.a`: for Hive `t.a` is the star's own, which has no text."""
        found = [
            column
            for column in item.find_all(exp.Column)
            if len(column.parts) > 1 and column.parts[0].name.lower() in self.starred_tables
        ]
        for column in found:
            first, last = span(self.state.text, column.parts[0]), span(self.state.text, column.parts[1])
            if first is not None and last is not None:
                self.state.edits.replace(first[0], last[1], "")
            for part in column.parts[2:]:
                at = span(self.state.text, part)
                if at is not None:
                    self.state.edits.replace(*at, self.state.quoted(part.name.lower()))
        return bool(found)

    def _try(self, item: exp.Expr, place: Place) -> bool:
        try:
            self.resolve(item, place)
        except SqlError:
            return False
        return True

    def _complete_order(
        self, item: exp.Expr, output: Scope, scope: Scope, plain: Scope | None, below: Scope | None
    ) -> None:
        """The portable form: an output name stays as it was written, any other name is completed."""
        if plain is None or below is None:
            self.resolve(item, Place((output.only_names(),), None, None, False, True, True))
            return
        place = Place((below,), None, plain, False, True, True)
        if self._try(item, place):
            return
        if self._try(item, Place((scope,), None, plain, True, True, True)):
            return
        self.resolve(item, Place((output.only_names().with_inputs(scope),), None, plain, True, True, True))

    def _order_scope(self, output: Scope, plain: Scope, items: list[exp.Expr] | None) -> Scope:
        """What ORDER BY can name in the portable form: the aliases of the SELECT list, then the columns under it."""
        aliases = {
            other.alias.lower()
            for other in items or ()
            if type(other) is exp.Alias and not self._is_column_of_name(other)
        }
        return output.only_names().with_inputs(plain.hiding(aliases)) if aliases else plain

    @staticmethod
    def _is_column_of_name(item: exp.Expr) -> bool:
        inner = bare(item.this)
        return type(inner) is exp.Column and inner.name.lower() == item.alias.lower() and len(inner.parts) <= 2

    def visit_and_commit(self, node: exp.Expr, place: Place) -> None:
        """Look up the names under a node that is no expression by itself."""
        for value in node.args.values():
            for item in expressions(value):
                if not isinstance(item, exp.Identifier):
                    self.resolve(item, place)
