"""Expansion of a view's query: creates the texts that are stored for the view by replacing tokens of the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.errors import SqlError
from hive_views.sql.parsing.parser import ParsedQuery, parse_query
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.edits import EditedText, TokenEdits
from hive_views.sql.text.quoting import quote_identifier, unquote_identifier
from hive_views.sql.text.tokens import Text

MODES = ("portable", "hive-exact")
"""`portable`: the texts that this catalog stores. `hive-exact`: the texts that Hive 4.1 stores, faults included."""


@dataclass(frozen=True)
class OutputColumn:
    """A column of a view: its name in lower case, its Hive type (None if unknown) and its comment."""

    name: str
    type: str | None
    comment: str | None = None


@dataclass(frozen=True)
class Expansion:
    """The texts of a view's query.

    Attributes:
        original: The text as typed; in mode `hive-exact` with unquoted identifiers, as Hive stores it.
        stored: The typed text with its stars replaced by columns, for engines that keep the current database.
        expanded: The text with every table and column qualified, which is valid under any current database.
        names: The names of the view's columns, including partition columns.
        tables: The tables and views that the text names, as (database, name).
        resolution: The resolved query from which the texts were made.
        edited: The expanded text without the query for a column list.
        inner_start: Where it begins in `expanded`.
    """

    original: str
    stored: str
    expanded: str
    names: tuple[str, ...]
    tables: tuple[tuple[str, str], ...]
    resolution: ResolvedQuery = field(repr=False, compare=False)
    edited: EditedText = field(repr=False, compare=False)
    inner_start: int = 0

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The view's columns; their types are inferred at the first access."""
        columns = self.resolution.columns
        return tuple(OutputColumn(name, column.type) for name, (_, column) in zip(self.names, columns, strict=True))


@dataclass(frozen=True)
class AuthorContext:
    """What the author's session and statement determine about a query.

    Attributes:
        column_names: The column list of CREATE VIEW, if there is one.
        view_name: The view's name, the alias of the query under a column list.
        functions: Registered functions by name: `udf`, `udaf`, `udtf` or `macro`.
        conf: Settings that change how a text is parsed and resolved.
    """

    column_names: tuple[str, ...] | None = None
    view_name: str | None = None
    functions: Mapping[str, str] | None = None
    conf: Mapping[str, str] | None = None


_NO_CONTEXT = AuthorContext()


class UnknownTypeError(SqlError):
    """Columns whose types cannot be inferred; `name` is the name of the first."""


def expand(
    query: str | ParsedQuery,
    schemas: Schemas,
    *,
    database: str,
    mode: str = "portable",
    dialect: Dialect = Dialect.HIVE,
    author: AuthorContext = _NO_CONTEXT,
) -> Expansion:
    """Expand a view's query.

    Args:
        query: The query's text, or the parsed query.
        schemas: The tables and views that exist.
        database: The author's current database.
        mode: One of `MODES`.
        dialect: `hive`, `spark` or `trino`; a parsed query has its own.
        author: What else the author's session and statement determine.

    Raises:
        SqlError: If the text cannot be read, a name cannot be resolved, or the names of the columns do not fit.
        ValueError: If the mode is unknown.
    """
    if mode not in MODES:
        raise ValueError(f"Unknown mode {mode!r}: choose one of {', '.join(MODES)}")
    exact = mode == "hive-exact"
    if isinstance(query, str):
        query = parse_query(query, dialect)
    text = query.text
    column_names, view_name = author.column_names, author.view_name or "v"
    # Hive refuses two columns of one name also under a column list.
    alias = view_name if column_names is not None and text.dialect is not Dialect.HIVE else None
    functions, conf = author.functions, author.conf
    resolution = resolve(query, schemas, database, exact=exact, functions=functions, conf=conf, alias=alias)
    names = _unique_names(resolution)
    if column_names is not None and len(column_names) != len(names):
        raise text.error(
            "The number of columns produced by the SELECT clause does not match the number of column names specified "
            f"by CREATE VIEW: {len(names)} columns, {len(column_names)} names ({', '.join(column_names)})",
            text.tokens[0].start,
        )
    if exact:
        unquote = _hive_unquoting(resolution)
        stored = original = TokenEdits(text).apply(unquote).sql
    else:
        unquote = None
        original = text.sql
        star_edits = resolution.star_edits
        stored = text.between(0, len(text.tokens) - 1) if star_edits is None else star_edits.apply().sql
    edited = resolution.full_edits.apply(unquote)
    before = after = ""
    if column_names is not None:
        given = [name.lower() for name in column_names] if exact else column_names
        before, after = _column_list(resolution, names, given, view_name)
        names = [name.lower() for name in column_names]
    expanded = f"{before}{edited.sql}{after}"
    return Expansion(original, stored, expanded, tuple(names), resolution.tables, resolution, edited, len(before))


def _column_list(
    resolution: ResolvedQuery, names: Sequence[str], given: Sequence[str], view_name: str
) -> tuple[str, str]:
    """Return what a query that gives a text's columns other names has in front of the text and behind it."""
    text, tree = resolution.text, resolution.tree
    quoted = partial(quote_identifier, quote=text.quote)
    if text.kinds[0] is TokenType.VALUES:
        if type(tree) is not exp.Values or any(value for key, value in tree.args.items() if key != "expressions"):
            reason = "VALUES with another clause cannot have a column list: write SELECT … FROM (VALUES …) AS t(a, b)"
            raise text.error(reason, text.tokens[0].start)
        if not resolution.dialect.names_columns_of_values:
            columns = ", ".join(map(quoted, given))
            return f"SELECT {columns} FROM (", f") AS {quoted(view_name)}({columns})"
    columns = ", ".join(f"{quoted(name)} AS {quoted(new)}" for name, new in zip(names, given, strict=True))
    return f"SELECT {columns} FROM (", f") {quoted(view_name)}"


def typed_columns(expansion: Expansion) -> tuple[OutputColumn, ...]:
    """Return the columns of an expanded query with their types by the dialect's rules, without an engine.

    Raises:
        SqlError: If the author's engine is known to refuse an expression in any clause for the types in it.
        UnknownTypeError: If the type of a column is not known.
    """
    refused = expansion.resolution.refusal()
    if refused is not None:
        raise refused
    columns = expansion.columns
    unknown = [number for number, column in enumerate(columns) if column.type is None]
    for number in unknown:
        too_long = expansion.resolution.type_error(columns[number].name)
        if too_long is not None:
            raise too_long
    if len(unknown) == 1:
        raise unknown_type_error(expansion, unknown[0], f"The type of column {columns[unknown[0]].name} is not known")
    if unknown:
        names = ", ".join(columns[number].name for number in unknown)
        raise unknown_type_error(expansion, unknown[0], f"The types of columns {names} are not known")
    return columns


def unknown_type_error(expansion: Expansion, number: int, reason: str) -> UnknownTypeError:
    """Return an error about types that points at a column."""
    resolution = expansion.resolution
    line, at = resolution.text.position(resolution.start_of(resolution.columns[number][1]))
    around = "each of them" if reason.startswith("The types") else "it"
    return UnknownTypeError(
        f"{reason}: write CAST(… AS type) around {around}, or define the view in a Spark session",
        line=line,
        column=at,
        name=expansion.names[number],
    )


def _unique_names(resolution: ResolvedQuery) -> list[str]:
    """Return the column names in lower case; reject duplicates."""
    text, output = resolution.text, resolution.output
    written = [output.names[column][1].lower() for column in output.columns]
    if len(set(written)) == len(written):
        return written
    names: dict[str, None] = {}
    for name, column in resolution.columns:
        if name.lower() in names:
            start = resolution.start_of(column)
            raise text.error(
                f"Duplicate column name: {name}. Give one of the two another name with AS",
                text.tokens[0].start if start is None else start,
                name,
            )
        names[name.lower()] = None
    return list(names)


def _hive_unquoting(resolution: ResolvedQuery) -> Callable[[int], str | None] | None:
    """Return a function that replaces unedited tokens: Hive's lexer drops identifier quotes and hint delimiters.

    None if the text has neither.
    """
    text: Text = resolution.text
    regex = resolution.has_regex_names
    if ("`" not in text.sql or regex) and "/*+" not in text.sql:
        return None

    def unquoted(index: int) -> str | None:
        token = text.tokens[index]
        raw = text.raw(index)
        if token.token_type is TokenType.HINT:
            return raw[3:-2] if raw.endswith("*/") else raw
        return unquote_identifier(raw) if not regex and len(raw) > 1 and raw[0] == "`" else None

    return unquoted
