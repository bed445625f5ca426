"""The rule that moves computations before GROUP BY into a derived table."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.syntax_tree import (
    child_expressions,
    comparison_key,
)
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.text.quoting import quote_identifier, quote_qualified
from hive_views.sql.writing.coral.blocks import (
    aggregates_of_aggregates,
    functions_before_grouping,
    typed_functions_of_sources,
)
from hive_views.sql.writing.coral.edits import (
    Edit,
    call_tokens,
    clause_end,
    foreign_columns,
    from_token,
    given_parts,
    has_plain_joins,
    unused_name,
)


def grouped_functions(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`SELECT substr(a, 1, 3), count(1) FROM t GROUP BY substr(a, 1, 3)` reads a derived table that computes `substr`.

    The derived table is `SELECT … FROM t UNION ALL SELECT … FROM t WHERE false`: Coral merges a table without a set
    operation into the query around it. All engines remove the second branch before they read the table.
    """
    for select in resolution.tree.find_all(exp.Select):
        sources = [*typed_functions_of_sources(resolution, select), *aggregates_of_aggregates(resolution, select)]
        for source, _ in sources:
            branch = _empty_branch(resolution, source)
            if branch is not None:
                yield branch
                return
        if next(functions_before_grouping(select), None) is not None:
            edits = _ComputedRows(resolution, select).edits()
            if edits:
                yield from edits
                return


_ROWS = {"expressions", "from_", "joins", "where"}
"""The parts of a block that computes each row from one row."""


def _empty_branch(resolution: ResolvedQuery, select: exp.Select) -> Edit | None:
    """Add `UNION ALL` and a branch without rows to the block of a derived table."""
    text, first = resolution.text, resolution.tokens_of(select.expressions[0].unalias())
    group = select.args.get("group")
    is_grouped = group is not None and set(given_parts(group)) == {"expressions"}
    parts = {*_ROWS, "group", "having"} if is_grouped else _ROWS
    if first is None or set(given_parts(select)) - parts or (not is_grouped and _may_aggregate(select)):
        return None
    open_ = text.enclosing[first[0]]
    if open_ < 0 or text.kinds[open_ + 1] is not TokenType.SELECT:
        return None
    from_ = from_token(text, first[1], open_)
    if from_ is None:
        return None
    last, close = clause_end(text, from_), text.match[open_]
    query = f"{text.between(open_ + 1, last)} WHERE false"
    if text.kinds[last + 1] is TokenType.WHERE:
        last = clause_end(text, last + 1)
    if last + 1 < close:
        query = f"{query} {text.between(last + 1, close - 1)}"
    return close, close, f" UNION ALL {query})"


def _may_aggregate(node: exp.Expr) -> bool:
    """Whether a node has a possible aggregate, with which a block without GROUP BY returns a row even for no rows."""
    return node.find(exp.AggFunc, exp.Anonymous) is not None


class _ComputedRows:
    """Moves the expressions that a block computes before it groups its rows into a derived table.

    Args:
        resolution: The query.
        select: The block.
    """

    def __init__(self, resolution: ResolvedQuery, select: exp.Select) -> None:
        self._resolution, self._text = resolution, resolution.text
        self._select = select
        self._alias = unused_name(self._text, "computed")
        self._prefix = unused_name(self._text, "value")
        self._names: dict[str, str] = {}
        """The name in the derived table of each expression, by its text."""
        self._keys: dict[str, str] = {}
        """The text that replaces each grouping key, by the comparison key of the grouping key."""
        self._edits: list[Edit] = []

    def edits(self) -> list[Edit]:
        """Return the edits; none if the block has unsupported parts."""
        text, select, group = self._text, self._select, self._select.args.get("group")
        items = [self._resolution.tokens_of(item.unalias()) for item in select.expressions]
        parts = {*_ROWS, "distinct", "group", "having", "order", "limit"}
        is_understood = (
            not set(given_parts(select)) - parts
            and select.args.get("from_") is not None
            and has_plain_joins(select)
            and all(table.db for table in self._tables())
            and all(len(column.parts) == 1 for column in foreign_columns(select))
            and (group is None or set(given_parts(group)) == {"expressions"})
            and not (group is None and any(map(_may_aggregate, select.expressions)))
            and select.find(exp.Rand, exp.Randn, exp.Uuid) is None  # each call returns another value
            and not any(item.find(exp.Query, exp.Window, exp.Filter, exp.Dot) for item in select.expressions)
        )
        if not is_understood or None in items:
            return []
        spans = [item for item in items if item is not None]
        from_ = from_token(text, spans[-1][1], text.enclosing[spans[0][0]])
        if from_ is None:
            return []
        last = end = clause_end(text, from_)
        if last + 1 < len(text.kinds) and text.kinds[last + 1] is TokenType.WHERE:
            end = clause_end(text, last + 1)
        keys = [item.unalias() for item in select.expressions] if group is None else group.expressions
        is_list = text.kinds[end + 1 : end + 2] == [TokenType.GROUP_BY]
        key_spans = list(text.elements(end + 2, clause_end(text, end + 1))) if is_list else []
        key_spans = spans if group is None else key_spans
        if len(key_spans) != len(keys):
            return []
        for key, span in zip(keys, key_spans, strict=True):
            self._keys[comparison_key(key)] = self._project(key, span)
            if group is not None:
                self._replace(span, self._keys[comparison_key(key)])
        if not all(map(self._is_moved, functions_before_grouping(select))):
            return []  # the block would compute the function from the columns of the derived table
        others = [*(select.args.get(clause) for clause in ("having", "order"))]
        if not all(map(self._visit_item, select.expressions, spans)) or not all(map(self._visit, filter(None, others))):
            return []
        values = ", ".join(f"{value} AS {quote_identifier(name, text.quote)}" for value, name in self._names.items())
        rows = f"SELECT {values} {text.between(from_, end)}"
        rows += f" UNION ALL SELECT {values} {text.between(from_, last)} WHERE false"
        return [*self._edits, (from_, end, f"FROM ({rows}) {quote_identifier(self._alias, text.quote)}")]

    def _is_moved(self, function: exp.Func) -> bool:
        """Return whether a function is part of a grouping key or of an aggregate's argument."""
        node: exp.Expr | None = function
        while node is not None and node is not self._select:
            if isinstance(node, exp.AggFunc) or comparison_key(node) in self._keys:
                return True
            node = node.parent
        return False

    def _tables(self) -> Iterator[exp.Table]:
        """Yield the tables of FROM; Coral cannot resolve a common table expression inside a derived table."""
        for key in ("from_", "joins"):
            for clause in child_expressions(self._select.args.get(key)):
                yield from clause.find_all(exp.Table)

    def _project(self, node: exp.Expr, span: tuple[int, int]) -> str:
        """Return the column of the derived table that contains the value of an expression."""
        value = self._text.between(*span)
        if value not in self._names:
            taken = {name.lower() for name in self._names.values()}
            is_free = type(node) is exp.Column and node.name.lower() not in taken
            self._names[value] = node.name if is_free else f"{self._prefix}_{len(self._names) + 1}"
        return quote_qualified(self._alias, self._names[value], self._text.quote)

    def _replace(self, span: tuple[int, int], text: str) -> None:
        self._edits.append((*span, text))

    def _visit_item(self, item: exp.Expr, span: tuple[int, int]) -> bool:
        """Replace an item of the SELECT list, or the parts that are computed from rows; return False if unsupported."""
        node = item.unalias()
        key = self._keys.get(comparison_key(node))
        if key is None:
            return self._visit(node)
        self._replace(span, key)
        return True

    def _visit(self, node: exp.Expr) -> bool:
        key = self._keys.get(comparison_key(node))
        if key is not None:
            span = self._resolution.tokens_of(node)
            if span is not None:
                self._replace(span, key)
            return span is not None
        if isinstance(node, exp.Column):
            return not node.table  # an alias of the SELECT list
        if isinstance(node, exp.AggFunc):
            return self._visit_aggregate(node)
        if isinstance(node, exp.Query):
            return False
        return all(map(self._visit, child_expressions(list(node.args.values()))))

    def _visit_aggregate(self, node: exp.AggFunc) -> bool:
        """Replace the argument of an aggregate by a column of the derived table."""
        call = call_tokens(self._text, node)
        if call is None or node.find(exp.Column) is None:
            return call is not None
        first = call[0] + 2
        if self._text.kinds[first] is TokenType.DISTINCT:
            first += 1
        if len(list(self._text.elements(first, call[1] - 1))) > 1:
            return False
        argument = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        self._replace((first, call[1] - 1), self._project(argument, (first, call[1] - 1)))
        return True
