"""What one resolution shares: the text, its edits, what was found on the way, and where an expression stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.syntax_tree import starts
from hive_views.sql.resolver.scopes import Column, Schemas, Scope
from hive_views.sql.rewriting.quoting import quote_identifier
from hive_views.sql.rewriting.token_edits import TokenEdits


class UnknownNameError(SqlError):
    """A table, column or function that is not there, or a name that could mean several things."""


@dataclass(slots=True)
class Place:
    """Where an expression stands: what its names can mean.

    `strict_names` says whether a name that stands for several columns of one table is refused.
    `plain` is the scope under a GROUP BY's: there a name inside a grouping key is looked up when its text has to be
    complete on its own.
    """

    scopes: tuple[Scope, ...]
    outer: Scope | None = None
    plain: Scope | None = None
    keys: bool = True
    aggregates: bool = False
    windows: bool = False
    strict_names: bool = False


FIELD = object()
"""What a struct's field resolves to."""
VALUE = object()
"""What any other expression resolves to."""


class State:
    """What one resolution shares: the text, its edits, and what was found on the way."""

    __slots__ = (
        *("bindings", "cbo", "conf", "copies", "database", "edits", "exact", "functions", "pending", "read"),
        *("regex_names", "schemas", "stars", "strict", "tables", "text"),
    )

    def __init__(
        self,
        text: Text,
        schemas: Schemas,
        database: str,
        *,
        exact: bool,
        cbo: bool,
        functions: Mapping[str, str],
        conf: Mapping[str, str],
    ) -> None:
        self.text = text
        self.schemas = schemas
        self.database = database
        self.strict = text.dialect == "hive"
        """Whether Hive's own rules hold (for Hive's dialect), rather than those that Spark and Trino share."""
        self.exact = exact
        """Whether Hive's own faults are kept."""
        self.cbo = cbo
        self.functions = functions
        self.conf = conf
        self.regex_names = conf.get("hive.support.quoted.identifiers") == "none"
        """Whether quoted names are regular expressions (`hive.support.quoted.identifiers=none`)."""
        self.edits = TokenEdits(text)
        self.stars = TokenEdits(text)
        self.bindings: dict[int, Column] = {}
        self.tables: dict[tuple[str, str], int] = {}
        self.read: set[tuple[str, str, str]] = set()
        self.pending: list[tuple[tuple[int, int], str]] = []
        self.copies: list[tuple[tuple[int, int], tuple[int, int]]] = []

    def bindings_of_key(
        self, scope: Scope, column: Column, table: str | None, name: str, wanted: str
    ) -> tuple[str | None, str]:
        """The complete name of a grouping key that is a column."""
        bound = self.bound_key(scope, column)
        return (bound.table, bound.name) if bound is not None else (table, wanted)

    def bound_key(self, scope: Scope, column: Column) -> Column | None:
        """The column under a GROUP BY that a grouping key is, where it is a plain column."""
        for text, known in scope.keys.items():
            if known is column:
                node = scope.key_nodes.get(text)
                while isinstance(node, exp.Paren):
                    node = node.this
                return self.bindings.get(id(node))
        return None

    def quoted(self, name: str) -> str:
        """Quote an identifier in the dialect of the text."""
        return quote_identifier(name, self.text.quote)

    def fail(self, reason: str, at: exp.Expr | int | None, name: str | None = None) -> UnknownNameError:
        """An error that points at an expression, or at a character."""
        start = at if isinstance(at, int) or at is None else start_of(at)
        line, column = self.text.position(start)
        return UnknownNameError(reason, line=line, column=column, name=name)


def start_of(node: exp.Expr) -> int | None:
    """The first character of an expression whose place is known, in the text."""
    return min(starts(node), default=None)
