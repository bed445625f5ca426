"""A query's text to the texts that are stored for it, by replacing tokens in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from sqlglot.tokenizer_core import TokenType

from hive_views.errors import SqlError
from hive_views.sql.parsing.lexer import Text, unquote_identifier
from hive_views.sql.parsing.parser import ParsedQuery, parse_query
from hive_views.sql.resolver.context import start_of
from hive_views.sql.resolver.resolver import Resolution, resolve
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.quoting import quote_identifier
from hive_views.sql.rewriting.token_edits import TokenEdits

MODES = ("portable", "hive-exact")
"""What an expansion can be for: our own stored views, or equality with what Hive 4.1 stores."""


@dataclass(frozen=True)
class OutputColumn:
    """One column of a view: its name (lower case), its Hive type (None where it cannot be told) and its comment."""

    name: str
    type: str | None
    comment: str | None = None


@dataclass(frozen=True)
class Expansion:
    """The texts of a view's query.

    Attributes:
        original: The text as Hive keeps it (hive-exact: identifiers lose their quotes) or as it was typed (portable).
        stored: The typed text with only its stars replaced by columns: for engines that keep the current database.
        expanded: Every table and column complete: valid under any current database.
        names: The names of the view's columns, partition columns among them.
        tables: The tables and views that the text names, as (database, name).
    """

    original: str
    stored: str
    expanded: str
    names: tuple[str, ...]
    tables: tuple[tuple[str, str], ...]
    resolution: Resolution = field(repr=False, compare=False)

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The view's columns with their types, which are worked out when they are first asked for."""
        found = self.resolution.columns
        return tuple(OutputColumn(name, column.type) for name, (_, column) in zip(self.names, found, strict=True))


def expand(
    query: str | ParsedQuery,
    schemas: Schemas,
    *,
    database: str,
    mode: str = "portable",
    dialect: str = "hive",
    column_names: tuple[str, ...] | None = None,
    view_name: str | None = None,
    functions: Mapping[str, str] | None = None,
    conf: Mapping[str, str] | None = None,
) -> Expansion:
    """Expand a view's query."""
    if mode not in MODES:
        raise ValueError(f"Unknown mode {mode!r}: choose one of {', '.join(MODES)}")
    exact = mode == "hive-exact"
    if isinstance(query, str):
        query = parse_query(query, dialect)
    text = query.text
    try:
        found = resolve(query, schemas, database, exact=exact, functions=functions, conf=conf)
    except RecursionError:
        raise text.error("The text is nested too deeply", 0) from None
    names = _unique_names(found, text)
    if column_names is not None and len(column_names) != len(names):
        raise text.error(
            "The number of columns produced by the SELECT clause does not match the number of column names specified "
            f"by CREATE VIEW: {len(names)} columns, {len(column_names)} names",
            text.tokens[0].start,
        )
    if exact:
        original = TokenEdits(text).apply(_unquoting(text, found))
        expanded = found.state.edits.apply(_unquoting(text, found))
        stored = original
    else:
        _name_columns(found, names)
        original = text.sql
        stored = found.state.stars.apply() if found.resolver.starred else text.between(0, len(text.tokens) - 1)
        expanded = found.state.edits.apply()
    if column_names is not None:
        quoted = partial(quote_identifier, quote=text.quote)
        given = [name.lower() for name in column_names] if exact else column_names
        listed = ", ".join(f"{quoted(name)} AS {quoted(new)}" for name, new in zip(names, given, strict=True))
        expanded = f"SELECT {listed} FROM ({expanded}) {quoted(view_name or 'v')}"
        names = [name.lower() for name in column_names]
    return Expansion(original, stored, expanded, tuple(names), tuple(found.state.tables), found)


def _unique_names(found: Resolution, text: Text) -> list[str]:
    output = found.scope
    written = [output.names[column][1].lower() for column in output.columns]
    if len(set(written)) == len(written):
        return written
    names: dict[str, None] = {}
    for name, column in found.columns:
        if name.lower() in names:
            item = found.resolver.items_of.get(column)
            start = start_of(item) if item is not None else None
            raise text.error(
                f"Duplicate column name: {name}. Give one of the two another name with AS",
                text.tokens[0].start if start is None else start,
                name,
            )
        names[name.lower()] = None
    return list(names)


def _name_columns(found: Resolution, names: list[str]) -> None:
    """Add `AS name` where a column of the query has no name."""
    text = found.text
    for last, name in found.resolver.naming:
        addition = f" AS {quote_identifier(name, text.quote)}"
        found.state.edits.append(last, addition)
        if found.resolver.starred:
            found.state.stars.append(last, addition)


def _unquoting(text: Text, found: Resolution) -> Callable[[int], str | None] | None:
    """Hive's lexer takes the quotes off identifiers and the delimiters off hints; None where there are none."""
    regex = found.state.regex_names
    if ("`" not in text.sql or regex) and "/*+" not in text.sql:
        return None

    def untouched(index: int) -> str | None:
        token = text.tokens[index]
        raw = text.raw(index)
        if token.token_type is TokenType.HINT:
            return raw[3:-2] if raw.endswith("*/") else raw
        return unquote_identifier(raw) if not regex and len(raw) > 1 and raw[0] == "`" else None

    return untouched


class UnknownTypeError(SqlError):
    """A column whose type cannot be told; `name` is the column's."""


class Analyzer(Protocol):
    """Says the types of a view's columns."""

    def columns(self, expansion: Expansion) -> tuple[OutputColumn, ...]:
        """The columns of an expanded query, each with its Hive type."""
        ...


class RuleAnalyzer:
    """TypeInference by Hive's rules over sqlglot's tree and the schemas of the tables: no engine is needed."""

    def columns(self, expansion: Expansion) -> tuple[OutputColumn, ...]:
        """The columns of an expanded query; see `Analyzer`."""
        columns = expansion.columns
        for number, column in enumerate(columns):
            if column.type is None:
                raise unknown_type_error(expansion, number, f"The type of column {column.name} is not known")
        return columns


def unknown_type_error(expansion: Expansion, number: int, reason: str) -> UnknownTypeError:
    """An error about a column's type that points at it."""
    found = expansion.resolution
    item = found.resolver.items_of.get(found.columns[number][1])
    line, at = found.text.position(start_of(item) if item is not None else None)
    return UnknownTypeError(
        f"{reason}: write CAST(… AS type) around it, or define the view in a Spark session",
        line=line,
        column=at,
        name=expansion.names[number],
    )
