"""A query whose names are resolved: what each name refers to, for everything that writes or analyzes the query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from hive_views.errors import QueryTooLargeError
from hive_views.sql.parsing.node_ranges import Range
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import start_offsets
from hive_views.sql.resolver.budget import ResolutionBudget
from hive_views.sql.resolver.context import DialectRules, JoinScopes, Source
from hive_views.sql.resolver.scopes import Scope, ScopeColumn
from hive_views.sql.text.edits import TokenEdits
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.inference import TypeInference

_Node = TypeVar("_Node", bound=exp.Expr)


@dataclass(frozen=True, eq=False)
class ResolvedQuery:
    """A query and what its names refer to. Nothing outside the resolver changes it.

    Attributes:
        query: The parsed query.
        output: The columns of its result.
        dialect: The rules by which its names were resolved.
        tables: The tables and views that it names, as (database, name).
        bindings: The column that an expression refers to, by the id of its node.
        fields: The field names after the column in an expression such as `a.x.y`, by the id of its node.
        star_columns: The columns that a star in a function stands for, by the id of its node.
        sources: The element of FROM for each table and derived table, by the id of its node.
        joins: The columns of both sides of each join, by the id of its node.
        blocks: The columns of FROM and of the result of each SELECT, by the id of its node.
        subqueries: The result of each subquery in an expression, by the id of its node.
        select_items: The element of a SELECT list that each output column comes from.
        pivots: The ids of the nodes of PIVOT and UNPIVOT that are resolved.
        generated: What the replacement of a token names where the author names nothing, by the token: the columns of a
            star, keys of USING, columns of a table that is written as a query, elements in place of positions.
        has_regex_names: Whether quoted names are regular expressions.
        full_edits: The replacements that complete every name.
        star_edits: The replacements of stars only; None for a text without stars.
    """

    query: ParsedQuery
    output: Scope
    dialect: DialectRules
    tables: tuple[tuple[str, str], ...]
    bindings: Mapping[int, ScopeColumn]
    fields: Mapping[int, Sequence[str]]
    star_columns: Mapping[int, Sequence[ScopeColumn]]
    sources: Mapping[int, Source]
    joins: Mapping[int, JoinScopes]
    blocks: Mapping[int, tuple[Scope, Scope]]
    subqueries: Mapping[int, Scope]
    select_items: Mapping[ScopeColumn, exp.Expr]
    pivots: Collection[int]
    generated: Mapping[int, Sequence[ScopeColumn | exp.Expr]]
    has_regex_names: bool
    full_edits: TokenEdits
    star_edits: TokenEdits | None
    _types: TypeInference = field(repr=False)
    _budget: ResolutionBudget = field(repr=False)
    _reparsed_trees: Sequence[exp.Expr] = field(repr=False)
    """The trees of text that was parsed again; kept so that the ids of their nodes stay unique."""

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
        for tree in self._reparsed_trees:
            yield from tree.find_all(*kinds)

    def tokens_of(self, node: exp.Expr) -> Range | None:
        """Return the first and the last token of a node; None if the text does not have it."""
        return self.query.ranges.get(id(node))

    def type_of(self, node: exp.Expr) -> str | None:
        """Return the Hive type of an expression; None if it is unknown."""
        return self._types.type_of(node)

    def start_of(self, column: ScopeColumn) -> int | None:
        """Return the character where the element of the SELECT list of a column begins; None if it is not known."""
        item = self.select_items.get(column)
        return None if item is None else min(start_offsets(item), default=None)

    def type_error(self, name: str) -> QueryTooLargeError | None:
        """Return the error about a column of unknown type if a type was too long, otherwise None."""
        return self._budget.type_error(name)
