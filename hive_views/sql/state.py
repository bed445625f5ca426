"""What one resolution shares: the text, its edits, what was found on the way, and where an expression stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.scopes import Column, Schemas, Scope
from hive_views.sql.tokens import Edits, Text


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


@dataclass(slots=True)
class State:
    """What one resolution shares: the text, its edits, and what was found on the way."""

    text: Text
    schemas: Schemas
    database: str
    strict: bool
    """Whether Hive's own rules hold (for Hive's dialect), rather than those that Spark and Trino share."""
    exact: bool
    """Whether Hive's own faults are kept."""
    cbo: bool = True
    functions: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    edits: Edits = field(init=False)
    stars: Edits = field(init=False)
    regex_names: bool = field(init=False)
    """Whether quoted names are regular expressions (`hive.support.quoted.identifiers=none`)."""
    bindings: dict[int, Column] = field(default_factory=dict)
    tables: dict[tuple[str, str], int] = field(default_factory=dict)
    read: set[tuple[str, str, str]] = field(default_factory=set)
    pending: list[tuple[int, int, str]] = field(default_factory=list)
    copies: list[tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.edits = Edits(self.text)
        self.stars = Edits(self.text)
        self.regex_names = self.conf.get("hive.support.quoted.identifiers") == "none"

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

    def fail(self, reason: str, at: exp.Expr | int | None, name: str | None = None) -> UnknownNameError:
        """An error that points at an expression, or at a character."""
        start = at if isinstance(at, int) or at is None else start_of(at)
        line, column = self.text.position(start)
        return UnknownNameError(reason, line=line, column=column, name=name)


def start_of(node: exp.Expr) -> int | None:
    """The first character of an expression whose place is known, in the text."""
    starts = [found._meta["start"] for found in node.walk() if found._meta and "start" in found._meta]
    return min(starts) if starts else None


def unquoted(raw: str) -> str:
    """An identifier without its quotes, doubled quotes made single."""
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in '`"':
        return raw[1:-1].replace(raw[0] * 2, raw[0])
    return raw
