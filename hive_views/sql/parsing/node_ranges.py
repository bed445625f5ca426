"""The token range of each node of a syntax tree, in one pass over the tokens that the parser read and its tree.

sqlglot keeps the positions of names, literals and most calls only. The pass reads the tokens again, but with the tree
in hand: the type of a node determines what comes next. A node has no range if its tokens are not those of its type's
form, or if the parser made it up; the nodes around it have theirs where their own words show where they end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.parsing.expression_ranges import CLOSE, QUERIES, ExpressionReader, Range, UnreadableError
from hive_views.sql.parsing.readable_tokens import PIVOTED
from hive_views.sql.parsing.sqlglot_versions import SNAPSHOTS
from hive_views.sql.parsing.syntax_tree import child_expressions
from hive_views.sql.text.tokens import Text

_T = TokenType


def node_ranges(text: Text, tree: exp.Expr, tokens: Sequence[Token]) -> dict[int, Range]:
    """Return the ranges of the nodes of a tree by their ids; `tokens` are those that the parser read."""
    reader = _Reader(tree, tokens)
    with suppress(UnreadableError, IndexError, RecursionError):
        reader.query(tree, 0)
    return dict(_ranges_in_text(text, tokens, reader.ranges))


def _ranges_in_text(text: Text, tokens: Sequence[Token], ranges: dict[int, Range]) -> Iterator[tuple[int, Range]]:
    """Yield the ranges in the text; those of nodes with tokens that are not in the text are left out."""
    indexes = [_index_in_text(text, token) for token in tokens]
    moved, last_index = [0], -1
    """The number of tokens in front of each that are in another order than in the text."""
    for token, index in zip(tokens, indexes, strict=True):
        is_moved = token.start >= len(text.sql) or 0 <= index < last_index
        moved.append(moved[-1] + is_moved)
        last_index = index if index >= 0 else last_index
    for node, (first, last) in ranges.items():
        if indexes[first] >= 0 and indexes[last] >= 0 and moved[last + 1] == moved[first + 1]:
            yield node, (indexes[first], indexes[last])


def _index_in_text(text: Text, token: Token) -> int:
    """Return the index of a token that the parser read in its text; -1 for one that stands for others."""
    index = at = text.starts.get(token.start, -1)
    if token.token_type is _T.INTERVAL or token.token_type in SNAPSHOTS:
        return index  # Hive reads `1 day` without the word; `FOR VERSION` is one token on older versions of sqlglot
    while at >= 0 and text.tokens[at].start == token.start:  # the tokens of a number with a suffix have one position
        written = text.tokens[at]
        if token.token_type is written.token_type or token.text.upper() == written.text.upper():
            return index
        at -= 1
    return -1


_SORTS = {
    _T.ORDER_BY: "order",
    _T.SORT_BY: "sort",
    _T.CLUSTER_BY: "cluster",
    _T.DISTRIBUTE_BY: "distribute",
}
_CONDITIONS = {_T.WHERE: "where", _T.HAVING: "having", _T.QUALIFY: "qualify"}
_SET_WORDS = frozenset({_T.UNION, _T.EXCEPT, _T.INTERSECT})
_JOIN_WORDS = frozenset(
    {
        *(_T.JOIN, _T.INNER, _T.LEFT, _T.RIGHT, _T.FULL, _T.CROSS, _T.NATURAL, _T.SEMI, _T.ANTI, _T.OUTER),
        *(_T.COMMA, _T.STRAIGHT_JOIN),
    }
)


class _Reader(ExpressionReader):
    """Reads the queries of a tree."""

    def __init__(self, tree: exp.Expr, tokens: Sequence[Token]) -> None:
        super().__init__(tree, tokens)
        self._forms |= {
            exp.Subquery: self._subquery,
            exp.Rollup: self._sets,
            exp.Cube: self._sets,
            exp.GroupingSets: self._sets,
            exp.Values: self._source,
            exp.QueryTransform: self._script,
        }

    # -- Queries -----------------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, at: int) -> int:
        """Read a query with the WITH in front of it and the clauses behind it."""
        start = at
        if isinstance(node, exp.Subquery):
            return self.read(node, at)
        if isinstance(node, exp.Values):
            return self._source(node, at)
        if not isinstance(node, QUERIES):
            raise UnreadableError
        at = self._with(node, at)
        at = self._set_operation(node, at) if isinstance(node, exp.SetOperation) else self._select(node, at)
        at = self._final_clauses(node, at)
        if self._kind(at) is None or self._kind(at) in _AFTER_QUERY:
            return self._record(node, start, at)
        while not (self._kind(at) is None or self._kind(at) in _AFTER_QUERY):
            at = self._partners.get(at, at) + 1
        return at

    def _with(self, node: exp.Expr, at: int) -> int:
        with_ = node.args.get("with_")
        if with_ is None:
            return at
        start = at
        at = self._expect(at, _T.WITH)
        at += self._kind(at) is _T.RECURSIVE
        for number, cte in enumerate(with_.expressions):
            at = self._cte(cte, self._expect(at, _T.COMMA) if number else at)
        return self._record(with_, start, at)

    def _cte(self, node: exp.CTE, at: int) -> int:
        start, alias = at, node.args["alias"]
        at = self.read(alias.this, at)
        if self._kind(at) is _T.L_PAREN:
            at = self._in_parentheses(alias.args.get("columns") or (), at)
        self._record(alias, start, at)
        while self._kind(at) is not _T.L_PAREN:
            at += 1  # AS, NOT MATERIALIZED, MAX RECURSION LEVEL 5
        end = self._close(at)
        self._try(node.this, at + 1, end)
        return self._record(node, start, end + 1)

    def _set_operation(self, node: exp.SetOperation, at: int) -> int:
        spine: list[exp.Expr] = [node]
        while isinstance(spine[-1].this, exp.SetOperation) and not self._has_own_clauses(spine[-1].this):
            spine.append(spine[-1].this)
        start = at
        end = self._branch(spine[-1].this, at)
        for operation in reversed(spine):
            if self._kind(end) not in _SET_WORDS:
                raise UnreadableError
            end += 1
            end += self._kind(end) in (_T.ALL, _T.DISTINCT)
            if self._word(end) == "BY":
                end = self._expect_word(end, "BY", "NAME")
            end = self._branch(operation.args["expression"], end)
            if operation is not node:
                self._record(operation, start, end)
        return end

    def _has_own_clauses(self, node: exp.Expr) -> bool:
        return any(node.args.get(name) for name in ("with_", "limit", "offset", *_SORTS.values()))

    def _branch(self, node: exp.Expr, at: int) -> int:
        if isinstance(node, exp.Subquery):
            with suppress(UnreadableError, IndexError):
                return self.read(node, at)
            return self.query(node.this, at)  # the parentheses are not in the text
        if self._kind(at) is _T.VALUES and isinstance(node, exp.Select) and node.args.get("from_") is not None:
            return self._record(node, at, self.read(node.args["from_"].this, at))  # sqlglot's SELECT * FROM (VALUES …)
        return self.query(node, at) if isinstance(node, (*QUERIES, exp.Values)) else self.read(node, at)

    def _select(self, node: exp.Select, at: int) -> int:
        if self._kind(at) is _T.FROM and node.args.get("from_") is not None:
            at = self._from(node, node.args["from_"], at)
        at = self._expect(at, _T.SELECT)
        while self._kind(at) in (_T.HINT, _T.ALL, _T.DISTINCT) and self._kind(at + 1) is not _T.DOT:
            at += 1
        for number, item in enumerate(node.expressions):
            start = self._expect(at, _T.COMMA) if number else at
            at = self._item(item, start)
            if id(item) not in self.ranges and self._kind(at) not in (_T.USING, _T.WITH, _T.ON):
                self._unread_item(item, start, at)
        return at

    def _unread_item(self, node: exp.Expr, start: int, end: int) -> None:
        """Note the range of an item whose words are not understood; its alias shows where its expression ends."""
        self._record(node, start, end)
        if type(node) is exp.Alias and self._is_start(node.args["alias"], end - 1):
            self._record(node.args["alias"], end - 1, end)
            self._record(node.this, start, end - 1 - (self._kind(end - 2) is _T.ALIAS))

    def _item(self, node: exp.Expr, at: int) -> int:
        """Read an item of a list of a clause; if it cannot be read, skip to the end of the item."""
        try:
            end = self.read(node, at)
            if self._is_item_end(end):
                return end
        except (UnreadableError, IndexError):
            pass
        self._forget(node)
        while not self._is_item_end(at):
            at = self._partners.get(at, at) + 1
        return at

    def _is_item_end(self, at: int) -> bool:
        kind = self._kind(at)
        return kind is None or kind in _ITEM_ENDS or kind in CLOSE

    def _final_clauses(self, node: exp.Expr, at: int) -> int:
        """Read FROM and all clauses behind it; one that cannot be read is skipped to the next word of a clause."""
        while True:
            kind, start = self._kind(at), at
            if kind is _T.FROM and node.args.get("from_") is not None:
                at = self._from(node, node.args["from_"], at)
            elif kind in _CONDITIONS and (clause := node.args.get(_CONDITIONS[kind])) is not None:
                at = self._clause(clause, clause.this, start)
            elif kind in _SORTS and (clause := node.args.get(_SORTS[kind])) is not None:
                at = self._record(clause, start, self._items(clause.expressions, at + 1))
            elif kind is _T.GROUP_BY and (clause := node.args.get("group")) is not None:
                at = self._record(clause, start, self._group(clause, at + 1))
            elif kind in (_T.LIMIT, _T.OFFSET) and (clause := node.args.get(self._words[at].lower())) is not None:
                at = self._clause(clause, clause.args.get("expression"), start)
            elif kind is _T.LATERAL and node.args.get("laterals"):
                at = self._laterals(node.args["laterals"], at)
            elif kind is _T.WINDOW and node.args.get("windows"):
                self._named_windows(node.args["windows"], at + 1)
                at = self._skip_clause(at + 1)
            elif kind is _T.FETCH:
                at = self._skip_clause(at + 1)
            else:
                return at

    def _clause(self, node: exp.Expr, operand: Any, at: int) -> int:
        """Read a word and its operand."""
        end = self._item(operand, at + 1)
        return self._record(node, at, end) if id(operand) in self.ranges else self._skip_clause(end)

    def _named_windows(self, nodes: Sequence[exp.Expr], at: int) -> None:
        try:
            for number, node in enumerate(nodes):
                start = self._expect(at, _T.COMMA) if number else at
                opened = self._expect(self.read(node.this, start), _T.ALIAS)
                self._window_body(node, opened)
                at = self._record(node, start, self._close(opened) + 1)
        except (UnreadableError, IndexError):
            return

    def _skip_clause(self, at: int) -> int:
        while not (self._kind(at) is None or self._kind(at) in _CLAUSE_ENDS or self._kind(at) in CLOSE):
            at = self._partners.get(at, at) + 1
        return at

    def _items(self, nodes: Sequence[exp.Expr], at: int) -> int:
        for number, node in enumerate(nodes):
            at = self._item(node, self._expect(at, _T.COMMA) if number else at)
        return at

    def _script(self, node: exp.QueryTransform, at: int) -> int:
        """Read `TRANSFORM (a, b) USING 'script' AS (c)`; of the clauses behind the expressions only the end."""
        end = self._close(at + 1)
        self._arguments(node.expressions, self._elements(at + 1))
        return self._skip_clause(end + 1)

    def _group(self, node: exp.Group, at: int) -> int:
        with suppress(UnreadableError, IndexError):
            end = self._items(node.expressions, at)
            for name in ("rollup", "cube", "grouping_sets"):
                for sets in child_expressions(node.args.get(name)):
                    end = self.read(sets, end + (bool(node.expressions) and self._kind(end) is _T.COMMA))
        return self._skip_clause(at)

    def _sets(self, node: exp.Expr, at: int) -> int:
        """Read `ROLLUP (…)`, `CUBE (…)` or `GROUPING SETS (…)`."""
        if self._kind(at) not in (_T.ROLLUP, _T.CUBE, _T.GROUPING_SETS):
            raise UnreadableError
        return self._in_parentheses(node.expressions, at + 1)

    # -- FROM --------------------------------------------------------------------------------------------------------

    def _from(self, select: exp.Expr, node: exp.Expr, at: int) -> int:
        start = at
        try:
            return self._joins(select, self._record(node, start, self._source(node.this, at + 1)))
        except (UnreadableError, IndexError):
            return self._skip_clause(at + 1)

    def _joins(self, owner: exp.Expr, at: int) -> int:
        joins = list(owner.args.get("joins") or ())
        laterals = list(owner.args.get("laterals") or ())
        while True:
            kind = self._kind(at)
            if kind in _JOIN_WORDS and joins:
                at = self._join(joins.pop(0), at)
            elif kind is _T.LATERAL and laterals:
                at = self._lateral(laterals.pop(0), at)
            else:
                return at

    def _join(self, node: exp.Join, at: int) -> int:
        start = at
        while self._kind(at) in _JOIN_WORDS:
            at += 1
        at = self._source(node.this, at)
        if self._kind(at) is _T.ON and node.args.get("on") is not None:
            at = self._item(node.args["on"], at + 1)
        elif self._kind(at) is _T.USING:
            at = self._in_parentheses(node.args.get("using") or (), at + 1)
        return self._record(node, start, at)

    def _laterals(self, nodes: Sequence[exp.Expr], at: int) -> int:
        for node in nodes:
            at = self._lateral(node, at)
        return at

    def _lateral(self, node: exp.Expr, at: int) -> int:
        start = at
        at = self._expect(at, _T.LATERAL)
        at += self._kind(at) is _T.VIEW
        at += self._kind(at) is _T.OUTER
        at = self.read(node.this, at)
        alias = node.args.get("alias")
        if alias is None:
            return self._record(node, start, at)
        if node.args.get("view"):
            begin = at
            if alias.this is not None:
                at = self.read(alias.this, at)
            if self._kind(at) is _T.ALIAS:
                at = self._list(alias.args.get("columns") or (), at + 1)
            return self._record(node, start, self._record(alias, begin, at))
        return self._record(node, start, self._table_alias(alias, at))

    def _table_alias(self, alias: exp.Expr, at: int) -> int:
        start = at
        at += self._kind(at) is _T.ALIAS
        if alias.this is not None:
            at = self.read(alias.this, at)
        if alias.args.get("columns") and self._kind(at) is _T.L_PAREN:
            at = self._in_parentheses(alias.args["columns"], at)
        return self._record(alias, start, at)

    def _subquery(self, node: exp.Subquery, at: int) -> int:
        at = self._with(node, at)
        end = self._close(self._expect(at, _T.L_PAREN) - 1)
        inner = node.this
        if (self._nested_source if isinstance(inner, exp.Table) else self.query)(inner, at + 1) != end:
            raise UnreadableError
        return self._final_clauses(node, self._suffix(node, end + 1))

    def _nested_source(self, node: exp.Expr, at: int) -> int:
        return self._joins(node, self._source(node, at))

    def _source(self, node: Any, at: int) -> int:
        """Read an element of FROM with its alias."""
        start = at
        if isinstance(node, exp.Table):
            end = self._table(node, at)
        elif isinstance(node, exp.Values):
            end = self._values(node, at)
        elif isinstance(node, exp.Lateral):
            return self._lateral(node, at)
        elif isinstance(node, exp.Subquery):
            end = self.read(node, at)
        elif isinstance(node, exp.Expr):
            end = (
                self._suffix(node, self.read(node, at)) if not isinstance(node, exp.Unnest) else self._unnest(node, at)
            )
        else:
            raise UnreadableError
        end = self._joins(node, end)
        return self._record(node, start, end)

    def _unnest(self, node: exp.Unnest, at: int) -> int:
        at = self._expect(at, _T.UNNEST)
        self._arguments(node.expressions, self._elements(at))
        end = self._close(at) + 1
        end += 2 * (self._kind(end) is _T.WITH)
        return self._suffix(node, end)

    def _table(self, node: exp.Table, at: int) -> int:
        if not isinstance(node.this, exp.Identifier):
            return self._suffix(node, self.read(node.this, at))
        for number, part in enumerate(node.parts):
            at = self.read(part, self._expect(at, _T.DOT) if number else at)
        return self._suffix(node, at)

    def _values(self, node: exp.Values, at: int) -> int:
        is_wrapped = self._kind(at) is _T.L_PAREN
        at += is_wrapped
        if self._kind(at) is not _T.VALUES:
            raise UnreadableError
        at += 1
        for number, row in enumerate(node.expressions):
            if number:
                at = self._expect(at, _T.COMMA)
            if isinstance(row, exp.Tuple) and self._kind(at) is not _T.L_PAREN:
                at = self._list(row.expressions, at)
            else:
                at = self.read(row, at)
        return self._suffix(node, at + is_wrapped)

    def _suffix(self, node: exp.Expr, at: int) -> int:
        """Read the version, the pivots and the alias behind a source, and skip its sample."""
        alias: Any = node.args.get("alias")
        is_read = not isinstance(alias, exp.TableAlias)
        pivots = list(node.args.get("pivots") or ())
        if node.args.get("when") is not None:
            raise UnreadableError
        if node.args.get("version") is not None:
            at = self._version(node.args["version"], at)
        while True:
            opened = self._opened_suffix(at)
            if opened is not None and self._word(at) in ("PIVOT", "UNPIVOT") and pivots:
                at = self._pivot(pivots.pop(0), at, opened)
            elif opened is not None:
                at = self._close(opened) + 1
            elif not is_read and self._is_alias(alias, at):
                at, is_read = self._table_alias(alias, at), True
            else:
                return at

    def _version(self, node: exp.Expr, at: int) -> int:
        """Read `VERSION AS OF 1`, `TIMESTAMP AS OF '…'`, or one of them behind FOR."""
        start = at
        if self._kind(at) in SNAPSHOTS:
            at += 1
            at += 2 * (self._word(at) == "AS")
        else:
            at += self._kind(at) is _T.FOR
            if self._word(at) not in _VERSIONS:
                raise UnreadableError
            at = self._expect_word(at + 1, "AS", "OF")
        return self._record(node, start, self.read(node.expression, at))

    def _pivot(self, node: exp.Pivot, start: int, opened: int) -> int:
        """Read a PIVOT or UNPIVOT with its alias; if its inside is not understood, only the whole has a range."""
        end = self._close(opened)
        try:
            at = self._pivot_items(node.expressions, opened + 1)
            (clause,) = node.args["fields"]
            begin = self._expect(at, _T.FOR)
            names = self._expect(self.read(clause.this, begin), _T.IN)
            if self._pivot_items(clause.expressions, self._expect(names, _T.L_PAREN)) == self._close(names):
                self._record(clause, begin, end)
        except (UnreadableError, IndexError, ValueError, AttributeError):
            for part in (*node.expressions, *(node.args.get("fields") or ())):
                self._forget(part)
        alias = node.args.get("alias")
        at = end + 1
        if alias is not None and self._is_alias(alias, at):
            at = self._table_alias(alias, at)
        return self._record(node, start, at)

    def _pivot_items(self, nodes: Sequence[exp.Expr], at: int) -> int:
        """Read the aggregates, columns or values of a PIVOT or UNPIVOT, each with an alias or without."""
        for number, node in enumerate(nodes):
            at = self._expect(at, _T.COMMA) if number else at
            is_wrapped = self._tokens[at].text == PIVOTED
            if type(node) not in (exp.PivotAlias, exp.Alias):
                at = self.read(node, at + 2 * is_wrapped) + is_wrapped
                continue
            start = at
            at = self.read(node.this, at + 2 * is_wrapped) + is_wrapped
            at += self._kind(at) is _T.ALIAS
            at = self._record(node, start, self.read(node.args["alias"], at))
        return at

    def _opened_suffix(self, at: int) -> int | None:
        """Return the parenthesis of a sample or a pivot that begins at a token; None if none begins there."""
        word = "TABLESAMPLE" if self._kind(at) is _T.TABLE_SAMPLE else self._word(at)
        distances = _SUFFIXES.get(word, ())
        return next((at + distance for distance in distances if self._kind(at + distance) is _T.L_PAREN), None)

    def _is_alias(self, alias: Any, at: int) -> bool:
        name = alias.this if alias.this is not None else next(iter(alias.args.get("columns") or ()), None)
        begin = at + (self._kind(at) is _T.ALIAS)
        if alias.this is None:
            begin += 1
        return isinstance(name, exp.Expr) and begin < len(self._tokens) and self._is_start(name, begin)


_VERSIONS = frozenset({"VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME"})
"""The words in front of AS OF."""
_SUFFIXES = {"TABLESAMPLE": (1, 2), "PIVOT": (1,), "UNPIVOT": (1, 3)}
"""How far behind the word the parenthesis is: after a method, or after INCLUDE NULLS."""
_CLAUSES = frozenset(
    {
        *(_T.FROM, _T.WHERE, _T.GROUP_BY, _T.HAVING, _T.QUALIFY, _T.WINDOW, _T.LIMIT, _T.OFFSET, _T.FETCH),
        *(_T.LATERAL, *_SORTS, *_SET_WORDS),
    }
)
_CLAUSE_ENDS = _CLAUSES | {_T.SEMICOLON}
_AFTER_QUERY = CLOSE | _SET_WORDS | {_T.SEMICOLON, _T.LIMIT, _T.OFFSET, _T.FETCH, *_SORTS}
_ITEM_ENDS = _CLAUSE_ENDS | _JOIN_WORDS | {_T.ON, _T.USING, _T.WITH, _T.GROUPING_SETS, _T.ROLLUP, _T.CUBE}
