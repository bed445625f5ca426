"""How a value of a view's column restricts the tables under it: which columns of them must have the same value.

A row of a view with `ds = X` can only come from rows of a table with `ds = X` where the text says so: the view's column
is the table's, or equal to it by a join, a filter, a derived table, a set operation or a view between. Everything else
restricts nothing, and the reason says what stood in the way: the answer may hold too many partitions, never too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer import Scope, build_scope
from sqlglot.optimizer.qualify import qualify

from hive_views.errors import SqlError
from hive_views.identifiers import ViewName


@dataclass(frozen=True)
class Bound:
    """What a column must be equal to."""

    column: str | None
    """The view's column, or
    """
    literal: str | None = None
    """a constant of the text."""
    given: bool = True
    """Whether it is known not to be NULL."""


@dataclass(frozen=True)
class Use:
    """One place in a view, or in a view under it, that reads a table."""

    table: ViewName
    """The table; nothing need stand there."""
    columns: tuple[tuple[str, tuple[Bound, ...]], ...]
    """The columns that are known to have a value, with all that they are equal to."""
    reasons: tuple[str, ...]
    """Why other columns of the view restrict nothing here."""


@dataclass(frozen=True)
class Node:
    """What the flow has to know about a table or view."""

    name: ViewName
    """Its name."""
    types: Mapping[str, str]
    """Hive type by column, in lower case, as they can be compared."""
    query: tuple[str, str] | None = None
    """A view's text, in which every name is complete, and its dialect; None for a table."""
    problem: str | None = None
    """Why a view's text cannot be followed; `reads` then says what it reads."""
    reads: tuple[ViewName, ...] = ()
    """What such a view reads."""


Look = Callable[[ViewName], Node | None]
"""Finds a table or view; None where nothing stands."""

Restrictions = Mapping[int, tuple[Bound, ...]]
"""By position of a query's column."""

_Key = tuple[str, str]


def uses(view: Node, look: Look, asked: Iterable[str]) -> list[Use]:
    """Every table under a view, once for each place where it is read."""
    given = frozenset(asked)
    bounds = {position: (Bound(column, given=column in given),) for position, column in enumerate(view.types)}
    return list(_of_view(view, bounds, look, frozenset()))


def _of_view(view: Node, bounds: Restrictions, look: Look, above: frozenset[ViewName]) -> Iterator[Use]:
    if view.name in above:
        return
    problem = view.problem
    if view.query is not None:
        try:
            flow = _Flow(view, look, above | {view.name})
            found = list(flow.run(bounds))
        except (SqlError, SqlglotError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
            problem = f"the text of {view.name} cannot be followed: {error}"
        else:
            yield from found
            return
    reads = view.reads or tuple(_named(view))
    for name in reads:
        yield from _of_source(name, {}, (problem or "its text cannot be followed",), look, above | {view.name})


def _of_source(
    name: ViewName,
    columns: Mapping[str, tuple[Bound, ...]],
    reasons: tuple[str, ...],
    look: Look,
    above: frozenset[ViewName],
) -> Iterator[Use]:
    node = look(name)
    if node is None or (node.query is None and node.problem is None):
        yield Use(name, tuple(sorted(columns.items())), reasons)
        return
    bounds = {position: columns[column] for position, column in enumerate(node.types) if column in columns}
    for use in _of_view(node, bounds, look, above):
        yield Use(use.table, use.columns, tuple(dict.fromkeys((*reasons, *use.reasons))))


def _named(view: Node) -> Iterator[ViewName]:
    """The tables that a text names which could not be followed."""
    from hive_views.sql.analysis.references import references

    if view.query is None:
        return
    for reference in references(*view.query).tables:
        yield ViewName(*reference.resolved(view.name.database))


@dataclass
class _Query:
    """One SELECT: what is known of the columns of its sources."""

    scope: Scope
    known: dict[_Key, dict[Bound, None]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    """Sources of which every row of the result has a row: not one that an outer join filled with NULL."""
    reasons: list[str] = field(default_factory=list)

    def learn(self, key: _Key, bounds: Sequence[Bound] | Mapping[Bound, None]) -> bool:
        there = self.known.setdefault(key, {})
        before = len(there)
        there.update(dict.fromkeys(bounds))
        return len(there) > before


class _Flow:
    """The walk through one view's text."""

    def __init__(self, view: Node, look: Look, above: frozenset[ViewName]) -> None:
        assert view.query is not None, "only views with a text are walked through"
        text, dialect = view.query
        tree = sqlglot.parse_one(text, dialect=dialect)
        tree = qualify(tree, dialect=dialect, validate_qualify_columns=False, identify=False)
        root = build_scope(tree)
        if root is None or not isinstance(tree, exp.Query):
            raise ValueError("it is no query")
        if any(item.args.get("recursive") for item in tree.find_all(exp.With)):
            raise ValueError("it is recursive")
        self._root = root
        self._view = view
        self._look = look
        self._above = above
        self._seen: set[int] = set()

    def run(self, bounds: Restrictions) -> Iterator[Use]:
        yield from self._query(self._root, bounds, ())
        # What was not met on the way (a subquery in a lateral view, an odd join) is read whole.
        for scope in self._root.traverse():
            for source in scope.sources.values():
                if isinstance(source, exp.Table) and id(source) not in self._seen:
                    yield from self._table(source, {}, ("it stands where its rows cannot be followed",))

    def _query(self, scope: Scope, bounds: Restrictions, reasons: tuple[str, ...]) -> Iterator[Use]:
        tree = scope.expression
        limited = next((name for node in _wrapped(tree) for name in _LIMITS if node.args.get(name)), None)
        if limited is not None:
            # Which rows are kept depends on all rows.
            bounds, reasons = {}, (*reasons, f"{limited.upper()} stands above it")
        if isinstance(tree, exp.SetOperation):
            if tree.args.get("by_name"):
                bounds, reasons = {}, (*reasons, "a set operation BY NAME stands above it")
            for branch in scope.set_operation_scopes:
                yield from self._query(branch, bounds, reasons)
        elif isinstance(tree, exp.Select):
            yield from self._select(_Query(scope, reasons=list(reasons)), tree, bounds)
        else:
            raise ValueError(f"{type(tree).__name__} is no query that can be followed")
        for child in scope.subquery_scopes:
            yield from self._query(child, {}, (*reasons, "it is read in a subquery"))

    def _select(self, query: _Query, tree: exp.Select, bounds: Restrictions) -> Iterator[Use]:
        scope = query.scope
        self._anchor(query, tree, bounds)
        rules = self._rules(query, tree)
        changed = True
        while changed:
            changed = any(rule() for rule in rules)
        for alias in dict.fromkeys((*scope.selected_sources, *scope.semi_or_anti_join_tables)):
            source = scope.sources.get(alias)
            columns = {name: tuple(found) for (of, name), found in query.known.items() if of == alias and found}
            if isinstance(source, exp.Table):
                yield from self._table(source, columns, tuple(query.reasons))
            elif isinstance(source, Scope) and source.is_udtf:
                continue
            elif isinstance(source, Scope):
                names = _names(source)
                inner = {position: columns[name] for position, name in enumerate(names) if name in columns}
                yield from self._query(source, inner, tuple(query.reasons))

    def _table(
        self, table: exp.Table, columns: Mapping[str, tuple[Bound, ...]], reasons: tuple[str, ...]
    ) -> Iterator[Use]:
        self._seen.add(id(table))
        alias = table.args.get("alias")
        if table.args.get("pivots") or (alias is not None and alias.args.get("columns")):
            columns, reasons = {}, (*reasons, "its columns have other names or places there")
        name = ViewName((table.db or self._view.name.database).lower(), table.name.lower())
        yield from _of_source(name, columns, reasons, self._look, self._above)

    # -- What a SELECT says ----------------------------------------------------------------------------------------

    def _anchor(self, query: _Query, tree: exp.Select, bounds: Restrictions) -> None:
        """The columns of the sources that the query's own columns are."""
        grouped = self._grouped(query, tree)
        windows = list(query.scope.find_all(exp.Window))
        for position, found in bounds.items():
            item = tree.selects[position]
            value = item.unalias()
            while isinstance(value, exp.Paren):
                value = value.this
            shown = item.alias_or_name or f"column {position + 1}"
            if not isinstance(value, exp.Column) or not value.table:
                kind = "a constant" if isinstance(value, exp.Literal) else "computed"
                query.reasons.append(f"{shown} of {self._view.name} is {kind}: {value.sql()[:80]}")
            elif grouped is not None and value not in grouped:
                query.reasons.append(f"{shown} of {self._view.name} is not what its rows are grouped by")
            elif any(value not in (window.args.get("partition_by") or ()) for window in windows):
                query.reasons.append(f"a window of {self._view.name} reaches over other values of {shown}")
            elif query.scope.sources.get(value.table) is not None:
                query.learn(_key(value), found)
                if any(bound.given for bound in found):
                    query.present.add(value.table)
        distinct = tree.args.get("distinct")
        odd = [name for name in ("connect", "match") if tree.args.get(name)] + ["pivot"] * bool(query.scope.pivots)
        if odd or (distinct is not None and distinct.args.get("on")):
            query.known.clear()
            query.reasons.append(
                f"{self._view.name} has a clause that is not followed: {odd[0] if odd else 'distinct on'}"
            )

    def _grouped(self, query: _Query, tree: exp.Select) -> list[exp.Expression] | None:
        """What the rows are grouped by; None where they are not grouped, and nothing where that cannot be followed."""
        group = tree.args.get("group")
        if group is None:
            return (
                [] if next(query.scope.find_all(exp.AggFunc), None) is not None and not self._windowed(query) else None
            )
        if any(group.args.get(name) for name in ("grouping_sets", "cube", "rollup", "totals")):
            return []
        found: list[exp.Expression] = []
        for item in group.expressions:
            if isinstance(item, exp.Literal) and item.is_int and int(item.name) <= len(tree.selects):
                item = tree.selects[int(item.name) - 1].unalias()
            if isinstance(item, (exp.Cube, exp.Rollup, exp.GroupingSets)):
                return []
            found.append(item)
        return found

    @staticmethod
    def _windowed(query: _Query) -> bool:
        """Whether every aggregate is a window's."""
        return all(item.find_ancestor(exp.Window) is not None for item in query.scope.find_all(exp.AggFunc))

    def _rules(self, query: _Query, tree: exp.Select) -> list[Callable[[], bool]]:
        """What the filters and joins say, as steps that learn from what is known already."""
        rules: list[Callable[[], bool]] = []
        where = tree.args.get("where")
        if where is not None:
            rules += self._equalities(query, where.this, lambda one, other: _always(query, one, other))
        first = tree.args.get("from_") or tree.args.get("from")
        left = {first.this.alias_or_name} if first is not None else set()
        for join in tree.args.get("joins") or ():
            right = join.this.alias_or_name
            if join.args.get("on") is not None and not join.args.get("using"):
                side, kind = (join.side or "").upper(), (join.kind or "").upper()
                rule = _join_rule(query, side, kind, frozenset(left), right)
                rules += self._equalities(query, join.args["on"], rule)
            left.add(right)
        return rules

    def _equalities(
        self,
        query: _Query,
        condition: exp.Expression,
        rule: Callable[[_Key | Bound, _Key], bool],
    ) -> list[Callable[[], bool]]:
        rules: list[Callable[[], bool]] = []
        for part in _conjuncts(condition):
            if not isinstance(part, exp.EQ):
                continue
            one, other = _plain(part.this), _plain(part.expression)
            if isinstance(one, exp.Literal):
                one, other = other, one
            if not isinstance(one, exp.Column) or _key(one)[0] not in query.scope.sources:
                continue
            kind = self._type(query.scope, one)
            if isinstance(other, exp.Literal) and kind is not None and (other.is_string or kind in _INTEGERS):
                rules.append(_bind(rule, Bound(None, other.name), _key(one)))
            elif isinstance(other, exp.Column) and _key(other)[0] in query.scope.sources:
                if kind is None or kind != self._type(query.scope, other):
                    query.reasons.append(f"{part.sql()[:80]} in {self._view.name} compares different types")
                    continue
                rules += [_bind(rule, _key(one), _key(other)), _bind(rule, _key(other), _key(one))]
        return rules

    def _type(self, scope: Scope, column: exp.Column) -> str | None:
        """The type of a column that comes from a table without a change; None for others."""
        source = scope.sources.get(column.table)
        if isinstance(source, exp.Table):
            node = self._look(ViewName((source.db or self._view.name.database).lower(), source.name.lower()))
            return None if node is None else node.types.get(column.name.lower())
        if not isinstance(source, Scope) or source.is_udtf:
            return None
        inner, tree = source, source.expression
        names = _names(source)
        kinds = set()
        branches = list(inner.set_operation_scopes or ()) if isinstance(tree, exp.SetOperation) else [inner]
        if column.name.lower() not in names:
            return None
        for branch in branches:
            query = branch.expression
            value = query.selects[names.index(column.name.lower())].unalias() if isinstance(query, exp.Select) else None
            kinds.add(self._type(branch, value) if isinstance(value, exp.Column) else None)
        return kinds.pop() if len(kinds) == 1 else None


_INTEGERS = ("int", "bigint")
_LIMITS = ("limit", "offset", "fetch")


def _wrapped(query: exp.Expr) -> Iterator[exp.Expr]:
    """A query and the parentheses around it, which can have a LIMIT of their own."""
    yield query
    while isinstance(query.parent, exp.Subquery):
        query = query.parent
        yield query


def _always(query: _Query, one: _Key | Bound, other: _Key) -> bool:
    """A filter holds for every row of the result."""
    if isinstance(one, Bound):
        fresh = query.learn(other, [one])
    elif query.known.get(one):
        fresh = query.learn(other, query.known[one])
        query.present.add(one[0])
    else:
        return False
    query.present.add(other[0])
    return fresh


def _join_rule(
    query: _Query, side: str, kind: str, left: frozenset[str], right: str
) -> Callable[[_Key | Bound, _Key], bool]:
    """What `one = other` in the condition of a join says of the rows that the result is made from.

    The condition holds for every row that a filled-up side gives to the result; for the other side it only holds where
    the filled-up side is known to have given a row.
    """

    def rule(one: _Key | Bound, other: _Key) -> bool:
        bounds: Sequence[Bound] | Mapping[Bound, None] = [one] if isinstance(one, Bound) else query.known.get(one, {})
        if not bounds:
            return False
        from_present = not isinstance(one, Bound) and one[0] in query.present
        if side == "FULL":
            holds = from_present and isinstance(one, tuple) and (one[0] == right) != (other[0] == right)
        elif kind == "ANTI":
            holds = other[0] == right
        elif side == "LEFT" and kind not in ("SEMI",):
            holds = other[0] == right or right in query.present
        elif side == "RIGHT" and kind not in ("SEMI",):
            holds = other[0] in left or bool(query.present & left)
        else:
            holds = True
        if not holds:
            return False
        fresh = query.learn(other, bounds)
        if from_present and other[0] not in query.present:
            filled = (
                side == "FULL"
                or kind == "ANTI"
                or (side == "LEFT" and other[0] == right)
                or (side == "RIGHT" and other[0] in left)
            )
            if not filled:
                query.present.add(other[0])
                fresh = True
        return fresh

    return rule


def _bind(rule: Callable[[_Key | Bound, _Key], bool], one: _Key | Bound, other: _Key) -> Callable[[], bool]:
    return lambda: rule(one, other)


def _names(scope: Scope) -> list[str]:
    """The names under which others know the columns of a derived table or CTE."""
    around = scope.expression.parent
    given = around.alias_column_names if isinstance(around, (exp.CTE, exp.Subquery)) else []
    query = scope.expression
    return [name.lower() for name in given or (query.named_selects if isinstance(query, exp.Query) else ())]


def _key(column: exp.Column) -> _Key:
    return column.table, column.name.lower()


def _plain(value: exp.Expression) -> exp.Expression:
    while isinstance(value, exp.Paren):
        value = value.this
    return value


def _conjuncts(condition: exp.Expression) -> Iterator[exp.Expression]:
    condition = _plain(condition)
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    else:
        yield condition
