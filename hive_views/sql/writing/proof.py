"""The proof that the text of a row means what its author wrote: both name the same columns, clause by clause."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import child_expressions
from hive_views.sql.resolver.origins import direct_origins, source_columns
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.scopes import ScopeColumn

_Masks = dict[str, int]
"""The columns of tables and views that each clause of a block names, as bits of a number."""

_GENERATED_IN = frozenset({"expressions", "on", "group"})
"""The clauses in which the row's text can name more: the columns of a star, the keys of USING, an item of the SELECT
list in place of its position."""
_OF_FROM = frozenset({"from_", "pivots"})
"""The clauses that count as one: PIVOT names columns of a query that the row's text has around its table."""


def find_difference(author: ResolvedQuery, row: ResolvedQuery, *, is_wrapped: bool) -> str | None:
    """Return how the text of a row differs from its author's text; None if both have the same meaning.

    Args:
        author: The author's text.
        row: The text of the row.
        is_wrapped: Whether the row's text is a query for a column list around the author's query.
    """
    bits: dict[Any, int] = {}
    ours, theirs = _References(author, bits), _References(row, bits)
    for (name, left), (_, right) in zip(author.columns, row.columns, strict=True):
        if ours.mask(left) != theirs.mask(right):
            return f"column {name} has other sources"
        if left.type is not None and right.type is not None and left.type != right.type:
            return f"column {name} is of type {right.type}, not {left.type}"
    tree = row.tree
    if is_wrapped:
        source = tree.args["from_"].this
        tree = source.this if isinstance(source, exp.Subquery) else source  # VALUES has no query around its rows
    left_blocks, right_blocks = list(ours.blocks(author.tree)), list(theirs.blocks(tree))
    if len(left_blocks) != len(right_blocks):  # PIVOT has a query around its table
        left_blocks, right_blocks = [_united(left_blocks)], [_united(right_blocks)]
    for left_masks, right_masks in zip_longest(left_blocks, right_blocks, fillvalue=_Masks()):
        for clause in left_masks.keys() | right_masks.keys():
            left_mask, right_mask = left_masks.get(clause, 0), right_masks.get(clause, 0)
            if left_mask & ~right_mask or (right_mask & ~left_mask and clause not in _GENERATED_IN):
                return f"the clause {clause.upper()} names other columns"
    return None


def _united(blocks: list[_Masks]) -> _Masks:
    """Return the columns that each clause of any block names."""
    masks: _Masks = {}
    for block in blocks:
        for clause, mask in block.items():
            masks[clause] = masks.get(clause, 0) | mask
    return masks


class _References:
    """The columns of tables and views that the references of a query are computed from."""

    def __init__(self, query: ResolvedQuery, bits: dict[Any, int]) -> None:
        self._query = query
        self._bits = bits
        self._masks: dict[int, int] = {}
        self._is_recursive = any(with_.args.get("recursive") for with_ in query.tree.find_all(exp.With))

    def blocks(self, tree: exp.Expr) -> Iterator[_Masks]:
        """Yield the columns that each block names, in the order of the tree."""
        blocks: list[_Masks] = [{}]
        stack: list[tuple[exp.Expr, _Masks, str]] = [(tree, blocks[0], "")]
        while stack:
            node, masks, clause = stack.pop()
            if isinstance(node, exp.Query):
                masks = {}
                blocks.append(masks)
            column = self._query.bindings.get(id(node)) if type(node) is exp.Column else None
            if column is not None:
                masks[clause] = masks.get(clause, 0) | self.mask(column)
            for name, value in reversed(node.args.items()):
                of_child = name if isinstance(node, exp.Query) else clause
                of_child = "on" if isinstance(node, exp.Join) else "from" if of_child in _OF_FROM else of_child
                stack += ((child, masks, of_child) for child in reversed(child_expressions(value)))
        yield from blocks

    def mask(self, column: ScopeColumn) -> int:
        """Return the columns of tables and views that a column is computed from."""
        if self._is_recursive:
            return self._mask_of(source_columns(self._query, column))
        stack: list[tuple[Any, bool]] = [(column, False)]
        opened: set[int] = set()
        while stack:
            item, is_open = stack.pop()
            if id(item) in self._masks or (id(item) in opened and not is_open):
                continue
            opened.add(id(item))
            tables, parts = direct_origins(self._query, item)
            if is_open:
                mask = self._mask_of(tables)
                for part in parts:
                    mask |= self._masks.get(id(part), 0)
                self._masks[id(item)] = mask
            else:
                stack.append((item, True))
                stack += ((part, False) for part in parts)
        return self._masks[id(column)]

    def _mask_of(self, tables: Any) -> int:
        mask = 0
        for table in tables:
            mask |= 1 << self._bits.setdefault(table, len(self._bits))
        return mask
