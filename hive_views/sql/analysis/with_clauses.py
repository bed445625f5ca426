"""Common table expressions as subqueries: `WITH s AS (q) … FROM s` becomes `… FROM (q) AS s`, in the query's own text.

Incremental maintenance then needs no rules for WITH. A common table expression that is named twice is computed twice,
so this may be used for deterministic queries only.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.analysis.incremental import NotIncrementalError
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.text.tokens import Text

_MAX_LENGTH = 1_000_000
"""The maximum length of the result, in characters: expressions that name others twice double the text each time."""


def without_with(query: ParsedQuery) -> str:
    """Return the text of a query without WITH.

    Raises:
        NotIncrementalError: If a name is recursive, or is defined again in its own scope.
    """
    sql = query.text.sql
    if query.tree.find(exp.With) is None:
        return sql
    return _Rewriter(query.text, query.tree).text(0, len(sql))


@dataclass(frozen=True)
class _Named:
    """A query that WITH names."""

    name: str
    """The name in lower case."""
    columns: str
    """The list of column names as written, or empty."""
    start: int
    """Where the query begins, after the parenthesis, in characters."""
    end: int
    """Where it ends, in characters (exclusive)."""


class _Rewriter:
    """Replaces the clauses and names of one text."""

    def __init__(self, text: Text, tree: exp.Expr) -> None:
        self._text = text
        self._edits: dict[int, tuple[int, _Named | None, bool]] = {}
        """By start: the end, the query that replaces the text (None removes it), and whether an alias follows."""
        self._collect(tree, {})
        self._length = 0

    def text(self, start: int, end: int) -> str:
        """Return a part of the text without WITH."""
        pieces, at = [], start
        for first in sorted(first for first in self._edits if start <= first < end):
            if first < at:
                continue  # inside a clause that was removed
            stop, named, has_alias = self._edits[first]
            pieces += [self._text.sql[at:first], "" if named is None else self._subquery(named, has_alias=has_alias)]
            at = stop
        pieces.append(self._text.sql[at:end])
        result = "".join(pieces)
        if len(result) > _MAX_LENGTH:
            raise NotIncrementalError("WITH whose queries are too long when each name is replaced by its query")
        return result

    def _subquery(self, named: _Named, *, has_alias: bool) -> str:
        alias = quote_identifier(named.name, self._text.quote)
        query = f"({self.text(named.start, named.end)})"
        if named.columns:
            query = f"(SELECT * FROM {query} AS {alias} {named.columns})"
        return query if has_alias else f"{query} AS {alias}"

    def _collect(self, node: exp.Expr, visible: dict[str, _Named]) -> None:
        with_ = node.args.get("with_")
        if with_ is not None:
            if with_.args.get("recursive"):
                raise NotIncrementalError("WITH RECURSIVE")
            start, end, named = self._clause(with_)
            self._edits[start] = (end, None, False)
            for cte, item in zip(with_.expressions, named, strict=True):
                if item.name in visible:
                    # A setting decides which of the two definitions is read (spark.sql.legacy.ctePrecedencePolicy).
                    raise NotIncrementalError(f"WITH that names {item.name} twice")
                self._collect(cte.this, visible)
                visible = {**visible, item.name: item}
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and len(node.parts) == 1:
            query = visible.get(node.name.lower())
            if query is not None:
                meta = node.this._meta or {}
                self._edits[meta["start"]] = (meta["end"] + 1, query, bool(node.alias))
        for name, value in node.args.items():
            if name != "with_":
                for child in value if isinstance(value, list) else (value,):
                    if isinstance(child, exp.Expr):
                        self._collect(child, visible)

    def _clause(self, with_: exp.With) -> tuple[int, int, list[_Named]]:
        """Where a WITH clause begins and ends, and its queries."""
        tokens = self._text.tokens
        first = self._text.starts[with_.expressions[0].args["alias"].this._meta["start"]] - 1
        if tokens[first].token_type is not TokenType.WITH:
            raise NotIncrementalError("WITH that is not understood")
        index, named = first + 1, []
        for cte in with_.expressions:
            name = cte.alias.lower()
            index += 1
            columns = ""
            if tokens[index].token_type is TokenType.L_PAREN:
                close = self._text.match[index]
                columns = self._text.sql[tokens[index].start : tokens[close].end + 1]
                index = close + 1
            if tokens[index].token_type is TokenType.ALIAS:
                index += 1
            if tokens[index].token_type is not TokenType.L_PAREN:
                raise NotIncrementalError("WITH that is not understood")
            close = self._text.match[index]
            named.append(_Named(name, columns, tokens[index].end + 1, tokens[close].start))
            index = close + 1
            if cte is not with_.expressions[-1]:
                if tokens[index].token_type is not TokenType.COMMA:
                    raise NotIncrementalError("WITH that is not understood")
                index += 1
        return tokens[first].start, tokens[index].start, named
