"""A query whose names are resolved: what each name refers to, for everything that writes or analyzes the query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from hive_views.errors import QueryTooLargeError, SqlError
from hive_views.sql.parsing.expression_ranges import Range
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import start_offsets
from hive_views.sql.resolver.budget import ResolutionBudget
from hive_views.sql.resolver.context import BoundNames, DialectRules
from hive_views.sql.resolver.misplaced_aliases import misplaced_aliases
from hive_views.sql.resolver.misplaced_calls import misplaced_calls
from hive_views.sql.resolver.misplaced_expressions import misplaced_expressions
from hive_views.sql.resolver.refused_queries import refused_queries
from hive_views.sql.resolver.scopes import Scope, ScopeColumn, TableKey
from hive_views.sql.resolver.ungrouped_columns import ungrouped_columns
from hive_views.sql.text.edits import TokenEdits
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.dialect_inference import first_refusal
from hive_views.sql.types.inference import TypeInference
from hive_views.sql.types.spark_inference import SparkTypeInference

_Node = TypeVar("_Node", bound=exp.Expr)


@dataclass(frozen=True, eq=False)
class ResolvedQuery:
    """A query and what its names refer to. Nothing outside the resolver changes it.

    Attributes:
        query: The parsed query.
        output: The columns of its result.
        dialect: The rules by which its names were resolved.
        bound: What each of its names refers to.
        has_regex_names: Whether quoted names are regular expressions.
        full_edits: The replacements that complete every name.
        star_edits: The replacements of stars only; None for a text without stars.
    """

    query: ParsedQuery
    output: Scope
    dialect: DialectRules
    bound: BoundNames
    has_regex_names: bool
    full_edits: TokenEdits
    star_edits: TokenEdits | None
    _types: TypeInference = field(repr=False)
    _budget: ResolutionBudget = field(repr=False)

    @property
    def tables(self) -> tuple[TableKey, ...]:
        """The tables and views that it names, as (database, name)."""
        return tuple(self.bound.tables)

    @property
    def text(self) -> Text:
        """The query's text."""
        return self.query.text

    @property
    def tree(self) -> exp.Expr:
        """The query's syntax tree."""
        return self.query.tree

    @property
    def columns(self) -> list[tuple[str, ScopeColumn]]:
        """The name and the column of each column of the result."""
        return [(self.output.names[column][1], column) for column in self.output.columns]

    def nodes_of(self, *kinds: type[_Node]) -> Iterator[_Node]:
        """Yield the nodes of some classes and of those below them, also those of text that was parsed again."""
        yield from self.query.nodes_of(*kinds)
        for tree in self.bound.reparsed_trees:
            yield from tree.find_all(*kinds)

    def tokens_of(self, node: exp.Expr) -> Range | None:
        """Return the first and the last token of a node; None if the text does not have it."""
        return self.query.ranges.get(id(node))

    def type_of(self, node: exp.Expr) -> str | None:
        """Return the Hive type of an expression; None if it is unknown."""
        return self._types.type_of(node)

    def start_of(self, column: ScopeColumn) -> int | None:
        """Return the character where the element of the SELECT list of a column begins; None if it is not known."""
        item = self.bound.select_items.get(column)
        return None if item is None else min(start_offsets(item), default=None)

    def type_error(self, name: str) -> QueryTooLargeError | None:
        """Return the error about a column of unknown type if a type was too long, otherwise None."""
        return self._budget.type_error(name)

    def refusal(self) -> SqlError | None:
        """Return the error about the first expression that the author's engine refuses for the types in it."""
        refused = first_refusal(self._types, self._compared(), self._merged())
        found = [] if refused is None else [(refused.start, refused.reason)]
        if isinstance(self._types, SparkTypeInference):
            further = (
                *misplaced_calls(self.query, self.bound),
                *misplaced_aliases(self.query, self.bound),
                *misplaced_expressions(self.query),
                *refused_queries(self.query, self.bound),
                *ungrouped_columns(self.query, self.bound, self._types.conf),
            )
            found += [(min(start_offsets(node), default=0), reason) for node, reason in further]
        if not found:
            return None
        start, reason = min(found)
        return self.text.error(reason, start)

    def _compared(self) -> Iterator[tuple[exp.Expr, ScopeColumn, ScopeColumn]]:
        """Yield the columns that joins with USING and NATURAL compare, with the joins' tables."""
        for join in self.query.nodes_of(exp.Join):
            sides = self.bound.joins.get(id(join))
            if sides is not None:
                yield from ((join.this, *pair) for pair in (*sides.keys, *sides.natural_keys))

    def _merged(self) -> Iterator[tuple[exp.Expr, ScopeColumn]]:
        """Yield the columns of DISTINCT, and of set operations that compare rows."""
        for select in self.query.nodes_of(exp.Select):
            block = self.bound.blocks.get(id(select)) if _compares_rows(select) else None
            if block is not None:
                yield from ((select, column) for column in block[1].columns)


def _compares_rows(select: exp.Select) -> bool:
    """Return whether a SELECT, or a set operation of which it is a part, compares whole rows."""
    distinct = select.args.get("distinct")
    if distinct is not None and not distinct.args.get("on"):
        return True
    node: exp.Expr | None = select.parent
    while type(node) is exp.Subquery:
        node = node.parent
    return isinstance(node, exp.SetOperation) and (type(node) is not exp.Union or bool(node.args.get("distinct")))
