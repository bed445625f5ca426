"""The texts and columns that are stored for a view that a CREATE or ALTER VIEW statement defines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.errors import SqlError
from hive_views.sql.parsing.nesting import check_depth
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.spark_grammar import check_spark_text, unreadable_position
from hive_views.sql.parsing.sqlglot_versions import is_negated_comparison
from hive_views.sql.parsing.statements import AlterViewAs, ColumnSpec, CreateMaterializedView, CreateView
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import SYNTAX, Dialect
from hive_views.sql.text.edits import replace_ranges
from hive_views.sql.text.positions import error_at
from hive_views.sql.text.quoting import quote_identifier, unquote_identifier
from hive_views.sql.text.spark_lexer import portable_comments
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.expand import AuthorContext, Expansion, OutputColumn, expand
from hive_views.sql.writing.proof import find_difference

# -- Texts that have the same meaning for other engines as for the author's engine -------------------------------------
#
# A view holds the *stored* text in its author's dialect and, for the readers of the metastore's row (Hive, plain Spark,
# Trino's Hive connector), the *expanded* text in dialect `hive`. The functions here rewrite only the parts that
# these readers would interpret differently; they do not translate texts.

_LIMIT = re.compile(r"\blimit\b[^)]*,", re.IGNORECASE)
_OFFSET_AND_NUMBER = (TokenType.LIMIT, TokenType.NUMBER, TokenType.COMMA, TokenType.NUMBER)
_RAW_STRING = re.compile("[rR]['\"]")
_LONG_ESCAPE = re.compile(r"\\(?:U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})|.)", re.DOTALL)
_STRINGS = (TokenType.STRING, TokenType.RAW_STRING)

_MAX_SHOWN = 2_000
"""The most characters of a text that an error message shows."""


def hive_text(
    dialect: Dialect,
    expansion: Expansion,
    schemas: Schemas,
    *,
    database: str,
    functions: Mapping[str, str] | None = None,
) -> str | None:
    """Return the expanded text for the readers of the metastore's row; None for a Trino text that is not portable.

    A Spark text is rewritten by `portable_text`, and a Trino text by `to_portable_sql`.
    """
    if dialect != Dialect.TRINO:
        return portable_text(expansion.expanded, dialect)
    try:
        requoted = portable_text(to_portable_sql(expansion.expanded), Dialect.HIVE)
        hive_expansion = expand(
            requoted, schemas, database=database, dialect=Dialect.HIVE, author=AuthorContext(functions=functions)
        )
    except SqlError:
        return None
    return hive_expansion.expanded if hive_expansion.names == expansion.names else None


def portable_text(sql: str, dialect: Dialect) -> str:
    """Rewrite strings and comments of a Spark or Hive text so that both engines read what the author's engine reads.

    Measured on Spark 4.1.4 and Hive 2.3.10: a doubled quote inside a string is a quote in Spark; in Hive it ends one
    string and begins the next one, which is concatenated. Only Spark has raw strings. Both engines agree on backslashes
    in front of quotes and backslashes, and on strings separated by a space. Iceberg's Spark catalog replaces `${name}`
    by a setting of the reader's session; with a backslash after the dollar sign the string has the same value and is
    not changed. Escapes with eight digits exist in Spark only, escapes with four digits in both. Comments end where the
    author's engine ends them (see `portable_comments`). `LIMIT offset, number` exists in Hive only; Hive parses
    `LIMIT number OFFSET offset` to the same tree. Only Spark has `!>` and `!<`.
    """
    sql = portable_comments(sql, dialect)
    if dialect == Dialect.SPARK and ("!>" in sql or "!<" in sql):
        sql = _with_plain_comparisons(sql)
    if dialect == Dialect.HIVE and _LIMIT.search(sql):
        sql = _with_offset(sql)
    if "\\U" in sql and SYNTAX[dialect].has_long_escapes:
        sql = _with_short_escapes(sql)
    if "''" not in sql and '""' not in sql and "${" not in sql and not _RAW_STRING.search(sql):
        return sql
    return escape_variables(replace_ranges(sql, _string_edits(Text(sql, dialect))), dialect)


def _string_edits(text: Text) -> Iterator[tuple[int, int, str]]:
    for index, token in enumerate(text.tokens):
        raw = text.raw(index)
        previous = text.tokens[index - 1] if index else token
        kinds = {previous.token_type, token.token_type}
        # If one of two adjacent strings is raw, a space keeps their quotes apart after the rewrite.
        separator = " " if index and _are_adjacent(previous, token) and TokenType.RAW_STRING in kinds else ""
        if token.token_type is TokenType.RAW_STRING:
            yield token.start, token.end + 1, separator + _escape_raw_string(raw)
        elif separator:
            yield token.start, token.start, separator
        elif kinds == {TokenType.STRING} and previous.end + 1 == token.start and text.sql[previous.end] == raw[0]:
            quotes = "\\" + raw[0] if text.syntax.has_doubled_quotes else f"{raw[0]} {raw[0]}"
            yield previous.end, token.start + 1, quotes


def _with_plain_comparisons(sql: str) -> str:
    """Write `!>` in a Spark text as `<=`, and `!<` as `>=`."""
    text = Text(sql, Dialect.SPARK)
    edits = [
        (token.start, token.end + 2, "<=" if text.kinds[index + 1] is TokenType.GT else ">=")
        for index, token in enumerate(text.tokens)
        if is_negated_comparison(text, index)
    ]
    return replace_ranges(sql, edits)


def _with_offset(sql: str) -> str:
    """Write `LIMIT offset, number` in a Hive text as `LIMIT number OFFSET offset`."""
    edits: list[tuple[int, int, str]] = []
    tokens = Text(sql, Dialect.HIVE).tokens
    for limit, offset, comma, number in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if tuple(token.token_type for token in (limit, offset, comma, number)) != _OFFSET_AND_NUMBER:
            continue
        raw_offset, raw_number = (sql[token.start : token.end + 1] for token in (offset, number))
        between = f"{sql[offset.end + 1 : comma.start]} OFFSET {sql[comma.end + 1 : number.start].lstrip(' ')}"
        edits.append((offset.start, number.end + 1, f"{raw_number}{between}{raw_offset}"))
    return replace_ranges(sql, edits)


def _with_short_escapes(sql: str) -> str:
    """Write each escape of eight digits in a Spark text as one or two escapes of four digits."""

    def short(match: re.Match[str]) -> str:
        if match.group(1) is None:
            return match.group()
        units = chr(int(match.group(1), 16)).encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

    strings = [token for token in Text(sql, Dialect.SPARK).tokens if token.token_type is TokenType.STRING]
    ranges = ((token.start, token.end + 1) for token in strings)
    return replace_ranges(sql, ((start, end, _LONG_ESCAPE.sub(short, sql[start:end])) for start, end in ranges))


def escape_variables(sql: str, dialect: Dialect) -> str:
    """Rewrite the strings of a text so that Spark and Hive substitute no `${name}` in them."""
    if not SYNTAX[dialect].unsubstituted or "${" not in sql:
        return sql
    edits: list[tuple[int, int, str]] = []
    tokens = Text(sql, dialect).tokens
    for index, token in enumerate(tokens):
        raw = sql[token.start : token.end + 1]
        if "${" not in raw or token.token_type not in _STRINGS:
            continue
        escaped = raw.replace("${", "$\\{")
        if token.token_type is TokenType.RAW_STRING:
            before = " " if index and _are_adjacent(tokens[index - 1], token) else ""
            after = " " if index + 1 < len(tokens) and _are_adjacent(token, tokens[index + 1]) else ""
            escaped = before + _escape_raw_string(raw) + after
        edits.append((token.start, token.end + 1, escaped))
    return replace_ranges(sql, edits)


def _are_adjacent(first: Token, second: Token) -> bool:
    """Return whether two tokens are strings with nothing between them."""
    return first.end + 1 == second.start and first.token_type in _STRINGS and second.token_type in _STRINGS


def _escape_raw_string(raw: str) -> str:
    """Write a raw string of Spark as a string with backslashes."""
    return raw[1] + raw[2:-1].replace("\\", "\\\\").replace("${", "$\\{") + raw[1]


def requote_trino_text(sql: str) -> str:
    """Put the quoted names of a Trino text into backticks; reject strings that Hive would interpret differently."""
    text = Text(sql, Dialect.TRINO)
    edits: list[tuple[int, int, str]] = []
    for index, token in enumerate(text.tokens):
        raw = text.raw(index)
        if token.token_type is TokenType.STRING and ("\\" in raw or "''" in raw[1:-1]):
            raise text.error("A string with a backslash or a quote has another value in Hive", token.start)
        if token.token_type is not TokenType.STRING and raw.endswith("'"):
            raise text.error(f"Hive cannot read {raw[:20]}", token.start)  # U&'…' and X'…'
        if raw.startswith('"'):
            edits.append((token.start, token.end + 1, quote_identifier(unquote_identifier(raw))))
    return replace_ranges(sql, edits)


# -- The subset of SQL in which a Trino text means the same to Hive and Spark ------------------------------------------
#
# A Trino text that Spark or Hive can parse may return other rows there without an error: `a / b` of integers, `"a"` (a
# string in Spark), `substr(s, 0)`, NULLs in an ordering, indexes of arrays. So a text may consist only of the nodes in
# the list below, which have the same result in Trino, Hive and Spark whenever Trino returns one. Other texts are not
# translated.

_PORTABLE_NODES = (
    exp.Alias,
    exp.And,
    exp.Between,
    exp.Boolean,
    exp.Case,
    exp.Coalesce,
    exp.Column,
    exp.Count,
    exp.CTE,
    exp.Distinct,
    exp.EQ,
    exp.From,
    exp.GT,
    exp.GTE,
    exp.Group,
    exp.Having,
    exp.Identifier,
    exp.If,
    exp.In,
    exp.Is,
    exp.Join,
    exp.LT,
    exp.LTE,
    exp.Like,
    exp.Literal,
    exp.Lower,
    exp.Max,
    exp.Min,
    exp.NEQ,
    exp.Not,
    exp.Null,
    exp.Or,
    exp.Paren,
    exp.Select,
    exp.Star,
    exp.Subquery,
    exp.Sum,
    exp.Table,
    exp.TableAlias,
    exp.Union,
    exp.Upper,
    exp.Where,
    exp.With,
)
"""Sums and comparisons are included because Trino requires operands of one type and fails if a sum overflows."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def to_portable_sql(sql: str) -> str:
    """Return a Trino text with the identifier quotes of Hive and Spark; raises SqlError if it is not portable."""
    tree = parse_query(sql, Dialect.TRINO).tree
    for node in tree.walk():
        construct = _unportable_construct(node, sql)
        if construct is not None:
            raise SqlError(f"Trino's {construct} is not known to mean the same to Hive and Spark")
    return requote_trino_text(sql)


def _unportable_construct(node: exp.Expr, sql: str) -> str | None:
    """Describe the construct of a node that may mean something else in Hive or Spark; None if there is none."""
    if isinstance(node, exp.Cast):
        literal = node.this
        if node.to.this is exp.DType.DATE and isinstance(literal, exp.Literal) and _DATE.fullmatch(literal.name):
            return None
        return f"CAST to {node.to.sql('trino')}"
    if isinstance(node, exp.DataType):
        return None  # checked with its CAST
    if type(node) not in _PORTABLE_NODES:
        # The name of the call as written: sqlglot uses other names (TIMESTAMP_TRUNC for date_trunc).
        if "start" in node.meta:
            return sql[node.meta["start"] : node.meta["end"] + 1]
        return str(node.sql_name()) if isinstance(node, exp.Func) else node.key.upper()
    if isinstance(node, exp.Like) and not isinstance(node.expression, exp.Literal):
        return "LIKE with a pattern that is not a literal"
    if isinstance(node, exp.Group) and (
        any(isinstance(item, exp.Literal) for item in node.expressions)
        or any(value for key, value in node.args.items() if key != "expressions")
    ):
        return "GROUP BY with positions, sets, ALL or DISTINCT"
    if isinstance(node, exp.Join) and (node.args.get("using") or node.method):
        return "JOIN with USING or NATURAL"
    if isinstance(node, exp.Table) and any(node.args.get(key) for key in ("sample", "when", "version", "pivots")):
        return "sample or point in time"
    if isinstance(node, exp.Literal) and not node.is_string and not re.fullmatch(r"\d+(\.\d+)?", node.name):
        return f"number {node.name}"
    if isinstance(node, exp.Select) and (node.args.get("distinct") or None) is not None:
        on = node.args["distinct"].args.get("on")
        return "DISTINCT ON" if on else None
    if isinstance(node, exp.With) and node.args.get("recursive"):
        return "WITH RECURSIVE"
    return None


# -- Definitions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExpandedDefinition:
    """A view as its statement defines it.

    Attributes:
        database: The view's database in lower case.
        name: The view's name in lower case.
        original: The text as typed; in mode `hive-exact` with unquoted identifiers, as Hive stores it.
        stored: The typed text with its stars replaced by columns.
        expanded: The text that is valid under any current database.
        columns: The columns without the partition columns.
        partition_keys: The partition columns.
        tables: The tables and views that the query names, as (database, name).
        expansion: The query's expansion, from which the texts were made.
        depends_on_mode: Whether Spark's other ANSI mode refuses the text, or gives other types to its columns; false
            if no mode was given.
    """

    database: str
    name: str
    original: str
    stored: str
    expanded: str
    columns: tuple[OutputColumn, ...]
    partition_keys: tuple[OutputColumn, ...]
    tables: tuple[tuple[str, str], ...]
    expansion: Expansion = field(repr=False, compare=False)
    depends_on_mode: bool = field(default=False, repr=False, compare=False)


def define_view(
    statement: CreateView | CreateMaterializedView | AlterViewAs,
    schemas: Schemas,
    *,
    database: str,
    mode: str = "portable",
    functions: Mapping[str, str] | None = None,
    conf: Mapping[str, str] | None = None,
) -> ExpandedDefinition:
    """Return the texts and columns to store for the view that a statement defines."""
    column_list: tuple[ColumnSpec, ...] | None = None if isinstance(statement, AlterViewAs) else statement.columns
    query = statement.query
    if statement.dialect is Dialect.SPARK:
        check_depth(statement.query_text)
        check_spark_text(query.sql, whole=statement.text, offset=query.start)
    expansion = expand(
        statement.parsed_query,
        schemas,
        database=database,
        mode=mode,
        author=AuthorContext(
            column_names=tuple(spec.name for spec in column_list) if column_list is not None else None,
            view_name=statement.name.parts[-1],
            functions=functions,
            conf=conf,
        ),
    )
    columns = list(expansion.columns)
    if column_list is not None:
        _check_column_list(column_list, statement.text)
        columns = [
            OutputColumn(column.name, column.type, spec.comment)
            for column, spec in zip(columns, column_list, strict=True)
        ]
    depends_on_mode = False
    if mode == "portable":
        check = partial(_read_back, expansion, schemas, database, statement.dialect, is_wrapped=column_list is not None)
        # The text is proved in the other mode, which proves its types in both, unless they depend on the mode.
        other = _other_mode(conf) if statement.dialect is Dialect.SPARK else None
        depends_on_mode = other is not None and (
            check(AuthorContext(functions=functions, conf=other), rejects=other[ANSI] == "true") is not None
        )
        reason = check(AuthorContext(functions=functions, conf=conf)) if other is None or depends_on_mode else None
        if reason is not None:
            raise _defect(expansion, reason)
    partitioned_on: tuple[str, ...] | None = None if isinstance(statement, AlterViewAs) else statement.partitioned_on
    partition_keys: list[OutputColumn] = []
    expanded = expansion.expanded
    if isinstance(statement, CreateMaterializedView):
        has_both = statement.clustered_on and statement.distributed_on
        if mode == "hive-exact" and (column_list is not None or has_both):
            reason = "Hive's CREATE MATERIALIZED VIEW takes no column list, and either CLUSTERED ON or DISTRIBUTED ON"
            raise error_at(statement.text, statement.name.start, reason, str(statement.name))
        _check_named_columns(statement, columns)
        if partitioned_on:
            by_name = {column.name: column for column in columns}
            columns = [column for column in columns if column.name not in partitioned_on]
            partition_keys = [by_name[name] for name in partitioned_on]
            expanded = _partition_keys_last(expansion, statement, columns, partition_keys)
    elif partitioned_on:
        columns, partition_keys = _split_last(columns, partitioned_on, statement)
    return ExpandedDefinition(
        statement.name.database(database),
        statement.name.name,
        expansion.original,
        expansion.stored,
        expanded,
        tuple(columns),
        tuple(partition_keys),
        expansion.tables,
        expansion,
        depends_on_mode,
    )


def _other_mode(conf: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """Return settings with the other ANSI mode; None if they have no mode."""
    given = (conf or {}).get(ANSI)
    return None if given is None else {**(conf or {}), ANSI: "false" if given == "true" else "true"}


def _read_back(
    expansion: Expansion,
    schemas: Schemas,
    database: str,
    dialect: Dialect,
    author: AuthorContext,
    *,
    is_wrapped: bool,
    rejects: bool = False,
) -> str | None:
    """Return why readers of an expanded text would fail or see other columns; None if it is the same when read.

    With `is_wrapped`, the text has a query for the column list around it, whose names are qualified by this expansion.
    With `rejects`, what Spark refuses for its types counts.
    """
    try:
        again = expand(expansion.expanded, schemas, database=database, dialect=dialect, author=author)
        refused = again.resolution.refusal() if rejects else None
    except SqlError as error:
        return str(error)
    if refused is not None:
        return str(refused)
    if again.names != expansion.names or not (is_wrapped or again.expanded == expansion.expanded):
        return "it changes"
    start = expansion.inner_start
    difference = find_difference(expansion.resolution, expansion.edited, again.resolution, start=start)
    if difference is None and dialect is Dialect.SPARK and unreadable_position(expansion.expanded) is not None:
        return "Spark does not read it"
    return difference


def _defect(expansion: Expansion, reason: str) -> SqlError:
    shown = expansion.expanded if len(expansion.expanded) <= _MAX_SHOWN else f"{expansion.expanded[:_MAX_SHOWN]} …"
    return SqlError(
        f"The expanded text does not read back ({reason}): {shown}\n"
        "This is a defect of hive_views; please report it. `hive-views create --raw` stores a text as it is"
    )


def _check_column_list(column_list: tuple[ColumnSpec, ...], text: str) -> None:
    """Reject a column list that names a column twice."""
    names: set[str] = set()
    for spec in column_list:
        if spec.name.lower() in names:
            raise error_at(text, spec.start, f"Duplicate column name: {spec.name}", spec.name)
        names.add(spec.name.lower())


def _check_named_columns(statement: CreateMaterializedView, columns: list[OutputColumn]) -> None:
    """Reject clauses that name a column which the query does not have."""
    names = {column.name for column in columns}
    clauses = (statement.partitioned_on or (), statement.clustered_on, statement.distributed_on, statement.sorted_on)
    for name in (name for clause in clauses for name in clause):
        if name.lower() not in names:
            reason = f"Column {name} is not a column of the materialized view: it has {', '.join(sorted(names))}"
            raise error_at(statement.text, statement.name.start, reason, name)


def _partition_keys_last(
    expansion: Expansion,
    statement: CreateMaterializedView,
    columns: list[OutputColumn],
    partition_keys: list[OutputColumn],
) -> str:
    """Wrap the text so that the partition columns come last, as Hive does for a materialized view."""
    quote = SYNTAX[statement.dialect].quote
    names = ", ".join(quote_identifier(column.name, quote) for column in (*columns, *partition_keys))
    return f"SELECT {names} FROM ({expansion.expanded}) {quote_identifier(statement.name.parts[-1], quote)}"


def _split_last(
    columns: list[OutputColumn], partitioned_on: tuple[str, ...], statement: CreateView | AlterViewAs
) -> tuple[list[OutputColumn], list[OutputColumn]]:
    """Split off the partition columns, which must be the last columns of the query."""
    count = len(partitioned_on)
    last = [column.name for column in columns[-count:]]
    if last != list(partitioned_on):
        reason = (
            f"Rightmost columns in view output do not match PARTITIONED ON clause: the view {statement.name} ends with "
            f"{', '.join(last)}, the clause names {', '.join(partitioned_on)}"
        )
        raise error_at(statement.text, statement.name.start, reason, str(statement.name))
    if count == len(columns):
        reason = f"At least one non-partitioning column must be present in view {statement.name}"
        raise error_at(statement.text, statement.name.start, reason, str(statement.name))
    return columns[:-count], columns[-count:]
