"""Partition restrictions: which columns of tables must equal a value of a view's column.

A row of a view with `ds = X` comes only from rows of a table with `ds = X` if the text implies it: the view's column is
the table's column, or equals it through a join, a filter, a derived table, a set operation or another view. Everything
else restricts nothing, and the reason is reported: the result may contain too many partitions, but never too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.dependencies.partition_expressions import literal_text, shown_sql, single_column, with_value
from hive_views.identifiers import ViewName
from hive_views.sql.analysis.incremental import resolve_ordinal
from hive_views.sql.analysis.validity import stored_type
from hive_views.sql.parsing.syntax_tree import child_expressions, conjuncts, unwrapped
from hive_views.sql.resolver.context import Source
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.scopes import Scope, ScopeColumn
from hive_views.sql.text.dialects import Dialect

_Node = TypeVar("_Node", bound=exp.Expr)

_OPTIONS = [TokenType.WITH, TokenType.L_PAREN]
_NULL = "void"
"""The type of NULL."""
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
"""The clauses of each syntax node that the analysis takes into account. With any other clause, including those that a
later sqlglot adds, nothing is restricted."""

_CURRENT_STATE = _ANALYZED[exp.Table] | {"sample", "pivots"}
"""The clauses of a table's node with which its current rows are read. Others, such as VERSION AS OF, may read rows of
another state of the table."""

_VERSIONED = _ANALYZED[exp.Table] | {"version"}
"""The clauses of a table's node with which the rows of a named version are read."""


@dataclass(frozen=True)
class Restriction:
    """A column of the view or a constant that a table's column, or an expression of it, must equal."""

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
        """Return this restriction for a column, given the expression of the column to which it applies so far."""
        inner = with_value(expression, column, exp.Placeholder())
        outer = self.expression
        return replace(self, expression=inner if outer is None else with_value(outer, exp.Placeholder(), inner))


@dataclass(frozen=True)
class TableUse:
    """A place in a view, or in a view that it reads, where a table is read."""

    table: ViewName
    """The table, which need not exist."""
    columns: tuple[tuple[str, tuple[Restriction, ...]], ...]
    """The restricted columns with all of their restrictions."""
    reasons: tuple[str, ...]
    """The reasons why other columns of the view restrict nothing here."""
    state_clause: str | None = None
    """The clause by which another state of the table than the current one may be read, e.g. `VERSION AS OF 5`."""
    version: str | None = None
    """The snapshot, branch or tag that `state_clause` names; None if it has another form."""


@dataclass(frozen=True)
class Relation:
    """The attributes of a table or view that the analysis needs."""

    name: ViewName
    """Its name."""
    types: Mapping[str, str]
    """Comparable Hive type by column, in lower case."""
    query: ResolvedQuery | None = None
    """A view's resolved query; None for a table, and for a view whose text cannot be resolved."""
    problem: str | None = None
    """Why a view cannot be read, or may read tables that its text does not name."""
    reads: tuple[ViewName, ...] = ()
    """The known sources of a view without `query`."""


GetRelation = Callable[[ViewName], Relation | None]
"""Returns a table or view; None if no object has the name."""

Restrictions = Mapping[int, tuple[Restriction, ...]]
"""Restrictions by the position of a query's column."""

_Key = tuple[str, str]
"""Alias of a source and name of a column."""

_Rule = Callable[[_Key | Restriction, _Key], bool]
"""Applies an equality; returns whether it added a restriction."""


@dataclass(frozen=True)
class TableUses:
    """Every place where a view reads a table, directly or through views."""

    tables: Sequence[TableUse]
    """The places."""
    problems: Mapping[ViewName, str]
    """For each view that cannot be read, or may read further tables, the reason."""


def find_table_uses(view: Relation, get_relation: GetRelation, given: Iterable[str]) -> TableUses:
    """Return every place where a view reads a table, directly or through views; `given` names columns with a value."""
    given_columns = frozenset(given)
    restrictions = {
        position: (Restriction(column, is_given=column in given_columns),) for position, column in enumerate(view.types)
    }
    views = _Views(get_relation, bool(given_columns))
    return TableUses(views.uses(view, restrictions, frozenset()), views.problems)


@dataclass
class _Views:
    """The state of one analysis; each view is analyzed once for the same restrictions."""

    get_relation: GetRelation
    has_values: bool
    """Whether the caller named a value of any column."""
    problems: dict[ViewName, str] = field(default_factory=dict)
    _uses: dict[tuple[ViewName, tuple[tuple[int, tuple[Restriction, ...]], ...]], list[TableUse]] = field(
        default_factory=dict
    )

    def reports_reasons(self, restrictions: Iterable[Restriction]) -> bool:
        """Whether to report why a column restricts nothing: if a value of it, or of no column at all, is given."""
        return not self.has_values or any(item.is_given for item in restrictions)

    def uses(self, view: Relation, restrictions: Restrictions, readers: frozenset[ViewName]) -> list[TableUse]:
        """Return where a view reads tables; `readers` are the views that lead to it."""
        if view.problem is not None:
            self.problems[view.name] = view.problem
        if view.name in readers:
            self.problems[view.name] = "it reads itself"
            return []
        key = view.name, tuple(sorted(restrictions.items()))
        if key not in self._uses:
            self._uses[key] = _merge(_uses_of_view(view, restrictions, self, readers | {view.name}))
        return self._uses[key]


def _merge(uses: Iterable[TableUse]) -> list[TableUse]:
    """Combine uses with the same restrictions of a table."""
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
        except (ValueError, KeyError) as error:
            problem = f"the text of {view.name} cannot be followed: {error}"
        except RecursionError:
            # Its sources are not followed either, because that would be repeated for each view on the path to it.
            views.problems[view.name] = "its text, or the chain of views that reads it, is nested too deeply"
            return
    for name in view.reads or _tables(view):
        yield from _uses_of_source(name, {}, (problem or "its text cannot be followed",), views, readers)


def _tables(view: Relation) -> list[ViewName]:
    """Return the tables and views that a text names."""
    return [ViewName(*table) for table in view.query.tables] if view.query is not None else []


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


@dataclass(kw_only=True)
class _Select:
    """The restrictions of the sources of one SELECT."""

    node: exp.Select
    inputs: Scope
    """The columns of FROM."""
    output: Scope
    """The columns of the result."""
    sources: Mapping[str, Source | None]
    """The elements of FROM by alias; None for elements that are neither tables nor queries."""
    restrictions: dict[_Key, dict[Restriction, None]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    """Sources that have a row for every row of the result, that is, an outer join does not replace it by NULLs."""
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
        self._query = view.query
        self._tree = view.query.tree
        for clause in self._tree.find_all(exp.With, exp.CTE, exp.Join):
            if unknown := _other_clauses(clause):
                raise ValueError(f"it contains {unknown}")
        self._view = view
        self._views = views
        self._readers = readers
        self._visited: set[int] = set()

    def run(self, restrictions: Restrictions) -> Iterator[TableUse]:
        declared = [_comparable(kind) for kind in self._view.types.values()]
        kinds = self._types(self._tree)
        converted = {
            position
            for position, kind in enumerate(kinds[: len(declared)])
            if kind not in (None, _NULL) and kind != declared[position]
        }
        kept = {position: item for position, item in restrictions.items() if position not in converted}
        reasons = (
            (f"columns of {self._view.name} have other types than its query",) if len(kept) < len(restrictions) else ()
        )
        yield from self._analyze_query(self._tree, kept, reasons)
        # Tables that were not visited (a subquery in a lateral view, an unusual join) are not restricted, nor are the
        # tables of common table expressions, which may have been visited under another name.
        reason = ("it stands where its rows cannot be followed",)
        for source in self._query.bound.sources.values():
            if id(source) in self._visited:
                continue
            if source.table is not None:
                yield from self._analyze_table(source, {}, reason)
            elif source.cte is not None:
                yield from self._analyze_query(source.cte.this, {}, reason)

    def _analyze_query(
        self, node: exp.Expr, restrictions: Restrictions, reasons: tuple[str, ...]
    ) -> Iterator[TableUse]:
        limited = next((name for name in _LIMITS if node.args.get(name)), None)
        if limited is not None:
            # The rows that the query returns depend on all of its input rows.
            restrictions, reasons = {}, (*reasons, f"{limited.upper()} is applied to it")
        if isinstance(node, (exp.Values, exp.Paren)):
            return  # tables in it are not restricted
        unknown = _other_clauses(node)
        if unknown:
            restrictions, reasons = {}, (*reasons, f"{self._view.name} has a clause that is not followed: {unknown}")
        if isinstance(node, exp.Subquery):
            yield from self._analyze_query(node.this, restrictions, reasons)
        elif isinstance(node, exp.SetOperation):
            if node.args.get("by_name"):
                restrictions, reasons = {}, (*reasons, "a set operation BY NAME is applied to it")
            kinds = self._types(node)
            mixed = [position for position in restrictions if position >= len(kinds) or kinds[position] is None]
            if mixed:
                # The engine converts the values, so the text 01 may become the number 1.
                restrictions = {position: item for position, item in restrictions.items() if position not in mixed}
                reasons = (*reasons, f"a set operation of {self._view.name} combines different or unknown types")
            for branch in (node.this, node.expression):
                yield from self._analyze_query(branch, restrictions, reasons)
        elif isinstance(node, exp.Select):
            inputs, output = self._query.bound.blocks[id(node)]
            select = _Select(
                node=node, inputs=inputs, output=output, sources=self._sources(node), reasons=list(reasons)
            )
            yield from self._analyze_select(select, restrictions)
            for query in _inner_queries(node):
                yield from self._analyze_query(query, {}, (*reasons, "it is read in a subquery"))
        else:
            raise ValueError(f"{type(node).__name__} is no query that can be followed")

    def _sources(self, node: exp.Select) -> dict[str, Source | None]:
        """Return the elements of FROM by alias."""
        sources: dict[str, Source | None] = {}
        clause = node.args.get("from_")
        nodes = [item.this for item in (*([clause] if clause is not None else ()), *(node.args.get("joins") or ()))]
        while nodes:
            item = nodes.pop(0)
            source = self._query.bound.sources.get(id(item))
            if source is not None:
                sources[source.alias] = source
            elif isinstance(item, (exp.Subquery, exp.Paren)) and not item.args.get("alias"):
                nodes.append(item.this)  # a join in parentheses, whose tables can be named outside of the parentheses
            nodes += [join.this for join in item.args.get("joins") or ()]
        return {table: None for table in self._query.bound.blocks[id(node)][0].tables if table is not None} | sources

    def _analyze_select(self, select: _Select, restrictions: Restrictions) -> Iterator[TableUse]:
        self._restrict_output(select, restrictions)
        rules = self._rules(select)
        changed = True
        while changed:
            changed = any(rule() for rule in rules)
        for alias, source in select.sources.items():
            if source is None:
                continue
            columns = {
                name: tuple(equal)
                for (source_alias, name), equal in select.restrictions.items()
                if source_alias == alias and equal
            }
            if source.table is not None:
                yield from self._analyze_table(source, columns, tuple(select.reasons))
                continue
            self._visited.add(id(source))
            query = source.node if source.cte is None else source.cte.this
            names = [source.scope.names[column][1] for column in source.scope.columns]
            is_complete = len(names) == self._width(query)
            inner = {position: columns[name] for position, name in enumerate(names) if name in columns}
            yield from self._analyze_query(query, inner if is_complete else {}, tuple(select.reasons))

    def _types(self, query: exp.Expr) -> list[str | None]:
        """Return the comparable types of a query's columns; None for those that are unknown or differ by branch."""
        if isinstance(query, (exp.Subquery, exp.Paren)):
            return self._types(query.this)
        if isinstance(query, exp.Select):
            return [_comparable(column.type) for column in self._query.bound.blocks[id(query)][1].columns]
        if not isinstance(query, exp.SetOperation):
            return []
        pairs = zip(self._types(query.this), self._types(query.expression), strict=False)
        return [one if other in (one, _NULL) else other if one == _NULL else None for one, other in pairs]

    def _width(self, query: exp.Expr) -> int | None:
        """Return the number of columns of a query's first SELECT; None for a query without SELECT."""
        while isinstance(query, (exp.Subquery, exp.SetOperation)):
            query = query.this
        return len(self._query.bound.blocks[id(query)][1].columns) if isinstance(query, exp.Select) else None

    def _analyze_table(
        self, source: Source, columns: Mapping[str, tuple[Restriction, ...]], reasons: tuple[str, ...]
    ) -> Iterator[TableUse]:
        self._visited.add(id(source))
        assert source.table is not None, "only tables are analyzed"
        alias = source.node.args.get("alias")
        options = self._options(source) or self._unattached_options
        clause = _other_clauses(source.node, _VERSIONED) or source.sample or self._unattached_sample or options
        state_clause = _other_clauses(source.node, _CURRENT_STATE) or options
        version = _version(source.node) if clause is None else None
        if clause is None and state_clause is not None and version is None:
            clause = state_clause
        if clause is not None:
            columns, reasons = {}, (*reasons, f"{self._view.name} reads it with {clause}")
        elif alias is not None and alias.args.get("columns"):
            columns, reasons = {}, (*reasons, "its columns have other names or places there")
        name = ViewName(*source.table)
        if state_clause is None:
            yield from _uses_of_source(name, columns, reasons, self._views, self._readers)
            return
        for use in _uses_of_source(name, columns, reasons, self._views, self._readers):
            # If the name is a view, `version` does not apply to its tables: no engine reads a version of a view.
            is_direct = version is not None and use.table == name
            if not is_direct:
                above = (f"{self._view.name} reads {name} {state_clause}",) if use.table != name else ()
                use = replace(use, columns=(), reasons=(*use.reasons, *above))
            yield replace(use, state_clause=state_clause, version=version if is_direct else None)

    def _restrict_output(self, select: _Select, restrictions: Restrictions) -> None:
        """Restrict the source columns that the query returns unchanged."""
        group_keys = self._group_keys(select)
        partitions = [
            [self._qualified(key, select.inputs) for key in window.args.get("partition_by") or ()]
            for window in _nodes_of_block(select.node, exp.Window)
        ]
        for position, equal in restrictions.items():
            output = select.output.columns[position]
            shown = select.output.names[output][1]
            value = self._value(output, select.inputs)
            column = single_column(value) if value is not None else None
            reasons = select.reasons if self._views.reports_reasons(equal) else []
            if column is None:
                item = unwrapped(self._query.bound.select_items.get(output, select.node))
                kind = "a constant" if isinstance(item, exp.Literal) else "computed"
                reasons.append(f"{shown} of {self._view.name} is {kind}: {shown_sql(item)[:80]}")
            elif group_keys is not None and value not in group_keys and column not in group_keys:
                reasons.append(f"{shown} of {self._view.name} is not what its rows are grouped by")
            elif any(value not in keys and column not in keys for keys in partitions):
                reasons.append(f"a window of {self._view.name} reaches over other values of {shown}")
            elif value is not None and select.sources.get(column.table) is not None:
                is_column = isinstance(value, exp.Column)
                select.restrict(_key(column), equal if is_column else [item.of(value, column) for item in equal])
                if any(restriction.is_given for restriction in equal):
                    select.present.add(column.table)
        distinct = select.node.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            select.restrictions.clear()
            select.reasons.append(f"{self._view.name} has a clause that is not followed: DISTINCT ON")

    def _value(self, column: ScopeColumn, inputs: Scope) -> exp.Expr | None:
        """Return a column of the result as an expression over the columns of FROM."""
        item: Any = column
        while isinstance(item, ScopeColumn):
            if item in inputs.names:
                return _column_of(item, inputs)
            if len(item.origins) != 1:
                return None
            (item,) = item.origins
        return self._qualified(item, inputs) if isinstance(item, exp.Expr) else None

    def _qualified(self, node: exp.Expr, *scopes: Scope) -> exp.Expr | None:
        """Return a copy of an expression with qualified columns; None if one is not a column of the scopes."""
        node = unwrapped(node)
        if node.find(exp.TimeToStr) is not None and self._has_week_years:
            return None
        if node.find(exp.Cast) is not None and self._shortens_texts:
            return None
        copy = node.copy()
        for original, item in list(zip(node.walk(), copy.walk(), strict=True)):
            if isinstance(original, exp.Column):
                column = self._source_column(original, *scopes)
                if column is None:
                    return None
                replacement = _column_of(*column)
                if item is copy:
                    return replacement
                item.replace(replacement)
        return copy

    def _options(self, source: Source) -> str | None:
        """Return the options after a table's name, `t WITH ('snapshot-id' = '5')`, which the tree does not contain."""
        text, node = self._query.text, source.node
        meta = node.parts[-1]._meta if isinstance(node, exp.Table) else None
        index = text.starts.get(meta["start"], -1) + 1 if meta else 0
        if not index or text.kinds[index : index + 2] != _OPTIONS:
            return None
        return text.between(index, text.match.get(index + 1, index + 1))

    @cached_property
    def _unattached_options(self) -> str | None:
        """Options that were not found after a name and so may belong to any table; None if there are none."""
        count = sum(list(pair) == _OPTIONS for pair in pairwise(self._query.text.kinds[1:]))
        attached = sum(self._options(source) is not None for source in self._query.bound.sources.values())
        return "WITH (…)" if count > attached else None

    @cached_property
    def _unattached_sample(self) -> str | None:
        """A sample that neither the tree nor a source contains and so may belong to any table; None for none."""
        sources = self._query.bound.sources.values()
        attached = sum(bool(source.sample or source.node.args.get("sample")) for source in sources)
        return "TABLESAMPLE" if self._query.text.kinds.count(TokenType.TABLE_SAMPLE) > attached else None

    @cached_property
    def _shortens_texts(self) -> bool:
        """Whether the text may cast to char(n) or varchar(n), which the parser reads as casts to string."""
        text = self._query.text
        words = (token.text.lower() for token in text.tokens if token.token_type is not TokenType.STRING)
        return any(word in ("char", "varchar", "character") for word in words)

    @cached_property
    def _has_week_years(self) -> bool:
        """Whether a literal may be a pattern of Java with the week's year `Y`, which the parser reads as `y`."""
        text = self._query.text
        literals = (token.text for token in text.tokens if token.token_type is TokenType.STRING)
        return text.dialect != Dialect.TRINO and any("Y" in literal and "%" not in literal for literal in literals)

    def _source_column(self, node: exp.Expr, *scopes: Scope) -> tuple[ScopeColumn, Scope] | None:
        """Return the column that an expression names, and its scope; None for fields and columns of other scopes."""
        column: object = self._query.bound.bindings.get(id(node))
        if id(node) in self._query.bound.fields:
            return None
        while isinstance(column, ScopeColumn):
            for scope in scopes:
                if column in scope.names:
                    return column, scope
            # In a block with window functions, names are bound to copies of the columns.
            column = column.origins[0] if len(column.origins) == 1 else None
        return None

    def _group_keys(self, select: _Select) -> list[exp.Expr | None] | None:
        """Return the GROUP BY expressions; None without grouping, empty if they cannot be analyzed."""
        group = select.node.args.get("group")
        if group is None:
            aggregates = _nodes_of_block(select.node, exp.AggFunc)
            return [] if any(item.find_ancestor(exp.Window, exp.Select) is select.node for item in aggregates) else None
        if any(group.args.get(name) for name in ("grouping_sets", "cube", "rollup", "totals")):
            return []
        keys: list[exp.Expr | None] = []
        items = {item.alias_or_name.lower(): item for item in select.node.expressions}
        for item in group.expressions:
            if isinstance(item, (exp.Cube, exp.Rollup, exp.GroupingSets)):
                return []
            item = unwrapped(item)
            if self._query.dialect.groups_by_ordinals:
                item = resolve_ordinal(item, select.node.expressions)
                if isinstance(item, exp.Column) and id(item) not in self._query.bound.bindings:
                    item = items.get(item.name.lower(), item)
            keys.append(self._qualified(item, select.inputs))
        return keys

    def _rules(self, select: _Select) -> list[Callable[[], bool]]:
        """Return the equalities in filters and joins as functions, which are called until no restriction is added."""
        rules: list[Callable[[], bool]] = []
        where = select.node.args.get("where")
        if where is not None:

            def filter_rule(one: _Key | Restriction, other: _Key) -> bool:
                return _filter(select, one, other)

            rules += self._equalities(select, where.this, filter_rule, (select.inputs,))
        first = select.node.args.get("from_")
        left = {self._alias(first.this)} if first is not None else set()
        for join in select.node.args.get("joins") or ():
            right = self._alias(join.this)
            sides = self._query.bound.joins.get(id(join))
            if sides is not None:
                rule = _join_rule(select, (join.side or "").upper(), (join.kind or "").upper(), frozenset(left), right)
                scopes = sides.left, sides.right
                if join.args.get("on") is not None:
                    rules += self._equalities(select, join.args["on"], rule, scopes)
                for one, other in sides.keys:
                    if one in sides.left.names and other in sides.right.names:
                        columns = (one, sides.left), (other, sides.right)
                        rules += self._equality(select, *columns, rule, f"USING ({one.name})")
            left.add(right)
        return rules

    def _alias(self, node: exp.Expr) -> str:
        """Return the alias of an element of FROM; empty for elements without one, such as a join in parentheses."""
        source = self._query.bound.sources.get(id(node))
        return source.alias if source is not None and not node.args.get("joins") else ""

    def _equalities(
        self, select: _Select, condition: exp.Expr, rule: _Rule, scopes: tuple[Scope, ...]
    ) -> list[Callable[[], bool]]:
        rules: list[Callable[[], bool]] = []
        for part in conjuncts(condition):
            one, other = (
                (unwrapped(part.this), unwrapped(part.expression)) if isinstance(part, exp.EQ) else (part, part)
            )
            if not isinstance(one, exp.Column):
                one, other = other, one
            # `column = constant` and `column = column` are equalities; other conditions count if they name one column.
            first = self._source_column(one, *scopes)
            kind = self._type(first[0]) if first is not None else None
            text = literal_text(other, kind) if kind is not None else None
            if not isinstance(one, exp.Column) or (text is None and not isinstance(other, (exp.Column, exp.Literal))):
                qualified = self._qualified(part, *scopes)
                column = single_column(qualified) if qualified is not None else None
                if qualified is not None and column is not None and column.table in select.sources:
                    rules.append(_bind(rule, Restriction(None).of(qualified, column), _key(column)))
                continue
            second = self._source_column(other, *scopes)
            if first is None:
                continue
            if text is not None:
                rules.append(_bind(rule, Restriction(None, text), _key(_column_of(*first))))
            elif second is not None:
                rules += self._equality(select, first, second, rule, shown_sql(part)[:80])
        return rules

    def _equality(
        self,
        select: _Select,
        one: tuple[ScopeColumn, Scope],
        other: tuple[ScopeColumn, Scope],
        rule: _Rule,
        shown: str,
    ) -> list[Callable[[], bool]]:
        """Return the functions that apply the equality of two columns."""
        kind = self._type(one[0])
        if kind is None or kind != self._type(other[0]):
            select.reasons.append(f"{shown} in {self._view.name} compares different types")
            return []
        keys = _key(_column_of(*one)), _key(_column_of(*other))
        return [_bind(rule, *keys), _bind(rule, *reversed(keys))]

    def _type(self, column: ScopeColumn) -> str | None:
        """Return the type of a column that is an unchanged column of a table; None for others."""
        kinds: set[str | None] = set()
        for origin in column.origins:
            if isinstance(origin, ScopeColumn):
                kinds.add(self._type(origin))
            elif isinstance(origin, tuple):
                relation = self._views.get_relation(ViewName(*origin))
                kinds.add(None if relation is None else relation.types.get(column.internal))
            else:
                kinds.add(None)
        return kinds.pop() if len(kinds) == 1 else None


def _comparable(kind: str | None) -> str | None:
    """Return a type if equal values of it have equal canonical texts; None for other types."""
    if kind is None or kind.lower().startswith("char("):
        return kind
    stored = stored_type(kind)
    return "int" if stored == "bigint" else stored


def _column_of(column: ScopeColumn, scope: Scope) -> exp.Column:
    """Return a reference to a column with its table."""
    table, name = scope.names[column]
    return exp.column(name, table=table or "")


def _nodes_of_block(select: exp.Select, kind: type[_Node]) -> list[_Node]:
    """Return the nodes of a kind in a SELECT, without those in its inner queries."""
    nodes: list[_Node] = []
    stack = [value for item in select.args.values() for value in child_expressions(item)]
    while stack:
        node = stack.pop()
        if isinstance(node, (exp.Query, exp.With)):
            continue
        if isinstance(node, kind):
            nodes.append(node)
        stack += [value for item in node.args.values() for value in child_expressions(item)]
    return nodes


def _version(table: exp.Expr) -> str | None:
    """Return the snapshot, branch or tag in `VERSION AS OF …`; None for another clause."""
    version = table.args.get("version")
    if not isinstance(version, exp.Version) or (version.name, version.text("kind")) != ("VERSION", "AS OF"):
        return None
    named = version.expression
    return named.name if isinstance(named, exp.Literal) else None


def _inner_queries(select: exp.Select) -> list[exp.Query]:
    """Return the queries in the expressions of a SELECT, without those of FROM."""
    queries: list[exp.Query] = []
    stack = [
        value
        for name, item in select.args.items()
        if name not in ("with_", "from_", "laterals")
        for value in child_expressions(item)
    ]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Join):
            stack += child_expressions(node.args.get("on"))
        elif isinstance(node, exp.Query):
            queries.append(node)
        else:
            stack += [value for item in node.args.values() for value in child_expressions(item)]
    return queries


def _other_clauses(node: exp.Expr, analyzed: frozenset[str] | None = None) -> str | None:
    """Return the clauses of a syntax node that the analysis does not take into account; None if there are none."""
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

    In an outer join the condition holds for every row of the side that may be replaced by NULLs. For the other side it
    holds only if the first side is known not to be replaced.
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


def _key(column: exp.Column) -> _Key:
    return column.table, column.name.lower()
