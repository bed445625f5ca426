"""Partition restrictions: which columns of tables must equal a value of a view's column.

A row of a view with `ds = X` can only come from rows of a table with `ds = X` if the text implies it: the view's column
is the table's column, or equal to it by a join, a filter, a derived table, a set operation or a view between. Anything
else restricts nothing, and the reason is reported: the result may contain too many partitions, never too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer import Scope, build_scope
from sqlglot.optimizer.qualify import qualify

from hive_views.dependencies.partition_expressions import single_column, with_value
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName

_INTEGERS = ("int", "bigint")
_LIMITS = ("limit", "offset", "fetch")

_ANALYZED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Table: frozenset(("this", "db", "catalog", "alias", "joins", "laterals", "hints")),
    exp.Subquery: frozenset(("this", "alias", "with_", "joins", "laterals", "order", *_LIMITS)),
    exp.Select: frozenset(
        (
            *("with_", "kind", "expressions", "hint", "distinct", "from_", "joins", "laterals", "where", "group"),
            *("having", "qualify", "windows", "distribute", "sort", "cluster", "order", *_LIMITS),
        )
    ),
    exp.SetOperation: frozenset(("with_", "this", "expression", "distinct", "by_name", "order", *_LIMITS)),
    exp.Join: frozenset(("this", "on", "side", "kind", "using", "hint")),
    exp.With: frozenset(("expressions",)),
    exp.CTE: frozenset(("this", "alias", "materialized")),
}
"""The clauses of each syntax node that the analysis takes into account. Any other clause, also one of a later parser,
restricts nothing."""

_CURRENT_STATE = _ANALYZED[exp.Table] | {"sample", "pivots"}
"""The clauses of a table's node with which its current rows are read. Others, such as VERSION AS OF, may read rows of
another state of the table."""


@dataclass(frozen=True)
class Restriction:
    """What a table's column, or an expression of it, must equal: a column of the view or a constant."""

    column: str | None
    """The view's column; None for a constant and for a condition."""
    literal: str | None = None
    """The constant in the text."""
    is_given: bool = True
    """Whether the caller named a value of the column, which is therefore not NULL."""
    expression: exp.Expr | None = None
    """The expression, with a placeholder for the table's column; None for the column itself. Without `column` and
    `literal` it is a condition that must hold."""

    @property
    def is_condition(self) -> bool:
        """Whether the expression is a condition."""
        return self.column is None and self.literal is None

    def of(self, expression: exp.Expr, column: exp.Column) -> Restriction:
        """Return the same restriction of a column of which an expression has been restricted so far."""
        inner = with_value(expression, column, exp.Placeholder())
        outer = self.expression
        return replace(self, expression=inner if outer is None else with_value(outer, exp.Placeholder(), inner))


@dataclass(frozen=True)
class TableUse:
    """A place in a view, or in a view that it reads, where a table is read."""

    table: ViewName
    """The table, which need not exist."""
    columns: tuple[tuple[str, tuple[Restriction, ...]], ...]
    """The restricted columns with everything that they equal."""
    reasons: tuple[str, ...]
    """Why other columns of the view restrict nothing here."""
    state_clause: str | None = None
    """The clause by which another state of the table than the current one may be read, e.g. `VERSION AS OF 5`."""


@dataclass(frozen=True)
class Relation:
    """A table or view as the analysis needs it."""

    name: ViewName
    """Its name."""
    types: Mapping[str, str]
    """Comparable Hive type by column, in lower case."""
    query: tuple[str, str] | None = None
    """A view's text with qualified names, and its dialect; None for a table."""
    problem: str | None = None
    """Why a view's text cannot be analyzed; see `reads`."""
    reads: tuple[ViewName, ...] = ()
    """What a view reads whose text cannot be analyzed."""


GetRelation = Callable[[ViewName], Relation | None]
"""Returns a table or view; None if nothing has the name."""

Restrictions = Mapping[int, tuple[Restriction, ...]]
"""By position of a query's column."""

_Key = tuple[str, str]
"""Alias of a source and name of a column."""

_Rule = Callable[[_Key | Restriction, _Key], bool]
"""Applies an equality; returns whether it added a restriction."""


def find_table_uses(view: Relation, get_relation: GetRelation, given: Iterable[str]) -> list[TableUse]:
    """Return every place where a view reads a table, directly or through views; `given` names columns with a value."""
    given_columns = frozenset(given)
    restrictions = {
        position: (Restriction(column, is_given=column in given_columns),) for position, column in enumerate(view.types)
    }
    return _Views(get_relation).uses(view, restrictions, frozenset())


@dataclass
class _Views:
    """The tables and views of one question; each view is analyzed once for the same restrictions."""

    get_relation: GetRelation
    _uses: dict[tuple[ViewName, tuple[tuple[int, tuple[Restriction, ...]], ...]], list[TableUse]] = field(
        default_factory=dict
    )

    def uses(self, view: Relation, restrictions: Restrictions, readers: frozenset[ViewName]) -> list[TableUse]:
        """Return where a view reads tables; `readers` are the views that lead to it."""
        if view.name in readers:
            return []
        key = view.name, tuple(sorted(restrictions.items()))
        if key not in self._uses:
            self._uses[key] = _merge(_uses_of_view(view, restrictions, self, readers | {view.name}))
        return self._uses[key]


def _merge(uses: Iterable[TableUse]) -> list[TableUse]:
    """Combine uses that restrict a table alike."""
    reasons: dict[TableUse, dict[str, None]] = {}
    for use in uses:
        reasons.setdefault(replace(use, reasons=()), {}).update(dict.fromkeys(use.reasons))
    return [replace(use, reasons=tuple(of_use)) for use, of_use in reasons.items()]


def _uses_of_view(
    view: Relation, restrictions: Restrictions, views: _Views, readers: frozenset[ViewName]
) -> Iterator[TableUse]:
    problem = view.problem
    if view.query is not None:
        try:
            yield from list(_TextAnalysis(view, views, readers).run(restrictions))
            return
        except (SqlError, SqlglotError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
            problem = f"the text of {view.name} cannot be followed: {error}"
    for name in view.reads or tuple(_names_in_text(view)):
        yield from _uses_of_source(name, {}, (problem or "its text cannot be followed",), views, readers)


def _uses_of_source(
    name: ViewName,
    columns: Mapping[str, tuple[Restriction, ...]],
    reasons: tuple[str, ...],
    views: _Views,
    readers: frozenset[ViewName],
) -> Iterator[TableUse]:
    relation = views.get_relation(name)
    if relation is None or (relation.query is None and relation.problem is None):
        yield TableUse(name, tuple(sorted(columns.items())), reasons)
        return
    restrictions = {position: columns[column] for position, column in enumerate(relation.types) if column in columns}
    for use in views.uses(relation, restrictions, readers):
        yield replace(use, reasons=tuple(dict.fromkeys((*reasons, *use.reasons))))


def _names_in_text(view: Relation) -> Iterator[ViewName]:
    """Yield the names in a text that cannot be analyzed."""
    from hive_views.sql.analysis.references import references

    if view.query is None:
        return
    for reference in references(*view.query).tables:
        yield ViewName(*reference.resolved(view.name.database))


@dataclass
class _Select:
    """The restrictions of the sources of one SELECT."""

    scope: Scope
    restrictions: dict[_Key, dict[Restriction, None]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    """Sources with a row for every row of the result: not replaced by NULL in an outer join."""
    reasons: list[str] = field(default_factory=list)

    def restrict(self, key: _Key, restrictions: Iterable[Restriction]) -> bool:
        """Add restrictions of a column; return whether any is new."""
        of_column = self.restrictions.setdefault(key, {})
        count = len(of_column)
        of_column.update(dict.fromkeys(restrictions))
        return len(of_column) > count


class _TextAnalysis:
    """The analysis of one view's text."""

    def __init__(self, view: Relation, views: _Views, readers: frozenset[ViewName]) -> None:
        assert view.query is not None, "only views with a text are analyzed"
        text, dialect = view.query
        tree = sqlglot.parse_one(text, dialect=dialect)
        tree = qualify(tree, dialect=dialect, validate_qualify_columns=False, identify=False)
        root = build_scope(tree)
        if root is None or not isinstance(tree, exp.Query):
            raise ValueError("it is no query")
        for clause in tree.find_all(exp.With, exp.CTE, exp.Join):
            if unknown := _other_clauses(clause):
                raise ValueError(f"it contains {unknown}")
        self._root = root
        self._view = view
        self._views = views
        self._readers = readers
        self._visited: set[int] = set()

    def run(self, restrictions: Restrictions) -> Iterator[TableUse]:
        yield from self._analyze_query(self._root, restrictions, ())
        # Tables that were not visited (a subquery in a lateral view, an unusual join) are not restricted.
        for scope in self._root.traverse():
            for source in scope.sources.values():
                if isinstance(source, exp.Table) and id(source) not in self._visited:
                    yield from self._analyze_table(source, {}, ("it stands where its rows cannot be followed",))

    def _analyze_query(self, scope: Scope, restrictions: Restrictions, reasons: tuple[str, ...]) -> Iterator[TableUse]:
        tree = scope.expression
        limited = next((name for node in _wrapped(tree) for name in _LIMITS if node.args.get(name)), None)
        if limited is not None:
            # Which rows it returns depends on all rows.
            restrictions, reasons = {}, (*reasons, f"{limited.upper()} is applied to it")
        unknown = ", ".join(filter(None, map(_other_clauses, _wrapped(tree))))
        if unknown:
            restrictions, reasons = {}, (*reasons, f"{self._view.name} has a clause that is not followed: {unknown}")
        if isinstance(tree, exp.SetOperation):
            if tree.args.get("by_name"):
                restrictions, reasons = {}, (*reasons, "a set operation BY NAME is applied to it")
            for branch in scope.set_operation_scopes:
                yield from self._analyze_query(branch, restrictions, reasons)
        elif isinstance(tree, exp.Select):
            yield from self._analyze_select(_Select(scope, reasons=list(reasons)), tree, restrictions)
        else:
            raise ValueError(f"{type(tree).__name__} is no query that can be followed")
        for subquery in scope.subquery_scopes:
            yield from self._analyze_query(subquery, {}, (*reasons, "it is read in a subquery"))

    def _analyze_select(self, select: _Select, tree: exp.Select, restrictions: Restrictions) -> Iterator[TableUse]:
        scope = select.scope
        self._restrict_output(select, tree, restrictions)
        rules = self._rules(select, tree)
        changed = True
        while changed:
            changed = any(rule() for rule in rules)
        for alias in dict.fromkeys((*scope.selected_sources, *scope.semi_or_anti_join_tables)):
            source = scope.sources.get(alias)
            columns = {
                name: tuple(equal)
                for (source_alias, name), equal in select.restrictions.items()
                if source_alias == alias and equal
            }
            if isinstance(source, exp.Table):
                yield from self._analyze_table(source, columns, tuple(select.reasons))
            elif isinstance(source, Scope) and source.is_udtf:
                continue
            elif isinstance(source, Scope):
                names = _column_names(source)
                inner = {position: columns[name] for position, name in enumerate(names) if name in columns}
                yield from self._analyze_query(source, inner, tuple(select.reasons))

    def _analyze_table(
        self, table: exp.Table, columns: Mapping[str, tuple[Restriction, ...]], reasons: tuple[str, ...]
    ) -> Iterator[TableUse]:
        self._visited.add(id(table))
        alias = table.args.get("alias")
        clause = _other_clauses(table)
        if clause is not None:
            columns, reasons = {}, (*reasons, f"{self._view.name} reads it with {clause}")
        elif alias is not None and alias.args.get("columns"):
            columns, reasons = {}, (*reasons, "its columns have other names or places there")
        uses = _uses_of_source(self._name(table), columns, reasons, self._views, self._readers)
        state_clause = _other_clauses(table, _CURRENT_STATE)
        yield from uses if state_clause is None else (replace(use, state_clause=state_clause) for use in uses)

    def _name(self, table: exp.Table) -> ViewName:
        return ViewName((table.db or self._view.name.database).lower(), table.name.lower())

    def _restrict_output(self, select: _Select, tree: exp.Select, restrictions: Restrictions) -> None:
        """Restrict the source columns that the query returns unchanged."""
        group_keys = self._group_keys(select, tree)
        windows = list(select.scope.find_all(exp.Window))
        for position, equal in restrictions.items():
            item = tree.selects[position]
            value = item.unalias()
            while isinstance(value, exp.Paren):
                value = value.this
            shown = item.alias_or_name or f"column {position + 1}"
            column = single_column(value)
            partitions = [window.args.get("partition_by") or () for window in windows]
            if column is None:
                kind = "a constant" if isinstance(value, exp.Literal) else "computed"
                select.reasons.append(f"{shown} of {self._view.name} is {kind}: {value.sql()[:80]}")
            elif group_keys is not None and value not in group_keys and column not in group_keys:
                select.reasons.append(f"{shown} of {self._view.name} is not what its rows are grouped by")
            elif any(value not in keys and column not in keys for keys in partitions):
                select.reasons.append(f"a window of {self._view.name} reaches over other values of {shown}")
            elif select.scope.sources.get(column.table) is not None:
                select.restrict(_key(column), equal if column is value else [item.of(value, column) for item in equal])
                if any(restriction.is_given for restriction in equal):
                    select.present.add(column.table)
        distinct = tree.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            select.restrictions.clear()
            select.reasons.append(f"{self._view.name} has a clause that is not followed: DISTINCT ON")

    def _group_keys(self, select: _Select, tree: exp.Select) -> list[exp.Expression] | None:
        """Return the GROUP BY expressions; None without grouping, empty if they cannot be analyzed."""
        group = tree.args.get("group")
        if group is None:
            aggregates = select.scope.find_all(exp.AggFunc)
            return [] if any(item.find_ancestor(exp.Window) is None for item in aggregates) else None
        if any(group.args.get(name) for name in ("grouping_sets", "cube", "rollup", "totals")):
            return []
        keys: list[exp.Expression] = []
        for item in group.expressions:
            if isinstance(item, exp.Literal) and item.is_int and int(item.name) <= len(tree.selects):
                item = tree.selects[int(item.name) - 1].unalias()
            if isinstance(item, (exp.Cube, exp.Rollup, exp.GroupingSets)):
                return []
            keys.append(item)
        return keys

    def _rules(self, select: _Select, tree: exp.Select) -> list[Callable[[], bool]]:
        """Return the equalities of filters and joins as steps that are applied until no restriction is added."""
        rules: list[Callable[[], bool]] = []
        where = tree.args.get("where")
        if where is not None:
            rules += self._equalities(select, where.this, lambda one, other: _filter(select, one, other))
        first = tree.args.get("from_") or tree.args.get("from")
        left = {first.this.alias_or_name} if first is not None else set()
        for join in tree.args.get("joins") or ():
            right = join.this.alias_or_name
            if join.args.get("on") is not None and not join.args.get("using"):
                side, kind = (join.side or "").upper(), (join.kind or "").upper()
                rule = _join_rule(select, side, kind, frozenset(left), right)
                rules += self._equalities(select, join.args["on"], rule)
            left.add(right)
        return rules

    def _equalities(
        self,
        select: _Select,
        condition: exp.Expression,
        rule: _Rule,
    ) -> list[Callable[[], bool]]:
        rules: list[Callable[[], bool]] = []
        for part in _conjuncts(condition):
            one, other = (_unwrap(part.this), _unwrap(part.expression)) if isinstance(part, exp.EQ) else (part, part)
            if isinstance(one, exp.Literal):
                one, other = other, one
            if not isinstance(one, exp.Column):
                column = single_column(part)
                if column is not None and column.table in select.scope.sources:
                    rules.append(_bind(rule, Restriction(None).of(part, column), _key(column)))
                continue
            if _key(one)[0] not in select.scope.sources:
                continue
            kind = self._type(select.scope, one)
            if isinstance(other, exp.Literal) and kind is not None and (other.is_string or kind in _INTEGERS):
                rules.append(_bind(rule, Restriction(None, other.name), _key(one)))
            elif isinstance(other, exp.Column) and _key(other)[0] in select.scope.sources:
                if kind is None or kind != self._type(select.scope, other):
                    select.reasons.append(f"{part.sql()[:80]} in {self._view.name} compares different types")
                    continue
                rules += [_bind(rule, _key(one), _key(other)), _bind(rule, _key(other), _key(one))]
        return rules

    def _type(self, scope: Scope, column: exp.Column) -> str | None:
        """Return the type of a column that is an unchanged column of a table; None for others."""
        source = scope.sources.get(column.table)
        if isinstance(source, exp.Table):
            relation = self._views.get_relation(self._name(source))
            return None if relation is None else relation.types.get(column.name.lower())
        if not isinstance(source, Scope) or source.is_udtf:
            return None
        names = _column_names(source)
        if column.name.lower() not in names:
            return None
        position = names.index(column.name.lower())
        is_set_operation = isinstance(source.expression, exp.SetOperation)
        kinds = set()
        for branch in (source.set_operation_scopes or ()) if is_set_operation else (source,):
            query = branch.expression
            value = query.selects[position].unalias() if isinstance(query, exp.Select) else None
            kinds.add(self._type(branch, value) if isinstance(value, exp.Column) else None)
        return kinds.pop() if len(kinds) == 1 else None


def _other_clauses(node: exp.Expr, analyzed: frozenset[str] | None = None) -> str | None:
    """Return the clauses of a syntax node that are not among those that the analysis takes into account."""
    if analyzed is None:
        analyzed = next(clauses for kind, clauses in _ANALYZED.items() if isinstance(node, kind))
    clauses = []
    for name, value in node.args.items():
        if value and name not in analyzed and (name, value) != ("method", "NATURAL"):
            values = value if isinstance(value, list) else [value]
            texts = (
                name.upper() if item is True else item.sql() if isinstance(item, exp.Expr) else item for item in values
            )
            clauses.append(" ".join(map(str, texts))[:80])
    return ", ".join(clauses) or None


def _wrapped(query: exp.Expr) -> Iterator[exp.Expr]:
    """Yield a query and the parentheses around it, which may have a LIMIT of their own."""
    yield query
    while isinstance(query.parent, exp.Subquery):
        query = query.parent
        yield query


def _filter(select: _Select, one: _Key | Restriction, other: _Key) -> bool:
    """Apply an equality that holds for every row of the result."""
    if isinstance(one, Restriction):
        is_new = select.restrict(other, [one])
    elif select.restrictions.get(one):
        is_new = select.restrict(other, select.restrictions[one])
        select.present.add(one[0])
    else:
        return False
    select.present.add(other[0])
    return is_new


def _join_rule(select: _Select, side: str, kind: str, left: frozenset[str], right: str) -> _Rule:
    """Return the rule for `one = other` in a join condition.

    In an outer join the condition holds for every row of the side that may be replaced by NULL. For the other side it
    holds only if the first side is known to be present.
    """

    def rule(one: _Key | Restriction, other: _Key) -> bool:
        equal: Iterable[Restriction] = [one] if isinstance(one, Restriction) else select.restrictions.get(one, {})
        if not equal:
            return False
        is_from_present = not isinstance(one, Restriction) and one[0] in select.present
        if side == "FULL":
            holds = is_from_present and isinstance(one, tuple) and (one[0] == right) != (other[0] == right)
        elif kind == "ANTI":
            holds = other[0] == right
        elif side == "LEFT" and kind not in ("SEMI",):
            holds = other[0] == right or right in select.present
        elif side == "RIGHT" and kind not in ("SEMI",):
            holds = other[0] in left or bool(select.present & left)
        else:
            holds = True
        if not holds:
            return False
        is_new = select.restrict(other, equal)
        if is_from_present and other[0] not in select.present:
            is_nullable = (
                side == "FULL"
                or kind == "ANTI"
                or (side == "LEFT" and other[0] == right)
                or (side == "RIGHT" and other[0] in left)
            )
            if not is_nullable:
                select.present.add(other[0])
                is_new = True
        return is_new

    return rule


def _bind(rule: _Rule, one: _Key | Restriction, other: _Key) -> Callable[[], bool]:
    return lambda: rule(one, other)


def _column_names(scope: Scope) -> list[str]:
    """Return the column names of a derived table or CTE."""
    parent = scope.expression.parent
    aliases = parent.alias_column_names if isinstance(parent, (exp.CTE, exp.Subquery)) else []
    query = scope.expression
    return [name.lower() for name in aliases or (query.named_selects if isinstance(query, exp.Query) else ())]


def _key(column: exp.Column) -> _Key:
    return column.table, column.name.lower()


def _unwrap(value: exp.Expression) -> exp.Expression:
    while isinstance(value, exp.Paren):
        value = value.this
    return value


def _conjuncts(condition: exp.Expression) -> Iterator[exp.Expression]:
    condition = _unwrap(condition)
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    else:
        yield condition
