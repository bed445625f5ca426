"""Finds where a Spark statement reads tables, and replaces the names of some of these tables.

Everything that is not replaced is kept to the letter, and every position of the new text leads back to the old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from hive_views.spark.session.source_text import RewrittenText, apply_edits
from hive_views.sql.parsing.lexer import Text, parser_of, unquote_identifier
from hive_views.sql.parsing.parser import check_depth
from hive_views.sql.parsing.spark_lexer import SparkToken, spark_tokens
from hive_views.sql.parsing.statement_targets import find_targets
from hive_views.sql.parsing.syntax_tree import table_nodes
from hive_views.sql.rewriting.quoting import quote_identifier

_EXPLAIN_MODES = frozenset({"EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL"})
_SYSTEM = re.compile(r"\bSYSTEM_(VERSION|TIME)(?=\s+AS\s+OF\b)", re.IGNORECASE)
_REPLACE_TABLE = re.compile(r"(\A\s*)REPLACE(\s+TABLE\b)", re.IGNORECASE)
"""A statement that sqlglot does not parse. It is parsed as CREATE TABLE, padded to the same length."""
_PLAIN_STRING = re.compile(r"'[^'\\]*'")
_QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "(", "INSERT", "MERGE"}) | {
    *("UPDATE", "DELETE", "CREATE", "REPLACE", "CACHE")
}
"""First words of the statements that may contain a query."""
_CHANGE_WORDS = frozenset({"CREATE", "DROP", "ALTER", "TRUNCATE", "INTO", "OVERWRITE", "REPLACE", "REFRESH"})
"""Words before TABLE in statements that do not read the table."""
_NAME_KINDS = ("word", "quoted")
_TABLE_WORDS = frozenset({"FROM", "JOIN", "TABLE", "USING", ","})
"""Words after which a table's name may stand."""
_END_TOKENS = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.SEMICOLON, TokenType.TABLE_SAMPLE})
_END_WORDS = frozenset(
    {"AS", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "JOIN"}
    | {"INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ON", "USING", "LATERAL", "UNION"}
    | {"EXCEPT", "MINUS", "INTERSECT", "PIVOT", "UNPIVOT", "WHEN", "SET", "SELECT", "|>"}
)
"""Tokens and words that end the expression after AS OF."""


@dataclass(frozen=True)
class TimeTravel:
    """VERSION AS OF or TIMESTAMP AS OF after a table's name."""

    kind: str
    """`version` or `timestamp`."""
    expression: str
    """The expression after AS OF."""
    start: int
    """The offset of the expression."""


@dataclass(frozen=True)
class TableRead:
    """One place at which a statement reads a table or view by its name. All offsets are in characters."""

    parts: tuple[str, ...]
    """The name as written, without quotes; empty for an IDENTIFIER(…) whose value is not known."""
    start: int
    """The offset of the name."""
    end: int
    """The end of the name and its time travel."""
    alias_offset: int | None
    """Where an alias has to be inserted so that the text's column names keep working; None if there is an alias."""
    time_travel: TimeTravel | None = None


@dataclass(frozen=True)
class Replacement:
    """A table read, and the name that replaces its name."""

    read: TableRead
    """One of `table_reads(text)`."""
    name: str
    """The new name, quoted."""
    qualified_name: tuple[str, ...]
    """The complete name of the replaced object, which may qualify its columns: catalog, database, name."""


def table_reads(sql: str) -> tuple[TableRead, ...]:
    """The tables that a statement reads, without common table expressions and the tables that it writes to."""
    explained = _blank_explain(sql)
    if explained != sql and not _contains_query(explained):
        return ()
    text = Text(_SYSTEM.sub(_same_length, _REPLACE_TABLE.sub(r"\1CREATE \2", explained)), "spark")
    if not text.tokens:
        return ()
    if text.tokens[0].token_type is TokenType.TABLE:
        return tuple(_table_statement(text))
    check_depth(text)
    try:
        trees = [tree for tree in parser_of("spark").parse(text.tokens, text.sql) if tree is not None]
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, IndexError, KeyError) as error:
        raise text.error(f"Cannot parse the statement: {str(error).splitlines()[0][:200]}", 0) from error
    if any(tree.find(exp.Command) for tree in trees):
        raise text.error("Cannot parse the statement", 0)
    reads = (
        _table_read(text, table)
        for tree in trees
        for table in table_nodes(tree, include_long_names=True)
        if all(isinstance(part, exp.Identifier) for part in table.parts)
    )
    return tuple(sorted(reads, key=lambda read: read.start))


def possible_table_reads(sql: str) -> tuple[TableRead, ...]:
    """Names that may be tables, judged by the preceding word, in a text that cannot be parsed."""
    reads: dict[tuple[str, ...], TableRead] = {}
    listed = list(spark_tokens(sql))
    for index, word in enumerate(listed):
        if (word.keyword or word.text) not in _TABLE_WORDS:
            continue
        for name_index in _possible_name_indexes(listed, index):
            read = _possible_read(listed, name_index)
            if read.parts or not index or listed[index - 1].keyword not in _CHANGE_WORDS:
                reads.setdefault(read.parts, read)
    return tuple(reads.values())


def replace_tables(sql: str, replacements: Iterable[Replacement]) -> RewrittenText:
    """Replace the names of tables.

    A table without an alias gets the view's name as its alias, so that `v.a` keeps working; longer column names
    (`db.v.a`) lose their qualifier.
    """
    edits: list[tuple[int, int, str]] = []
    qualifiers: set[tuple[str, ...]] = set()
    for replacement in replacements:
        read = replacement.read
        edits.append((read.start, read.end, replacement.name))
        if read.alias_offset is not None:
            alias = quote_identifier(read.parts[-1])
            edits.append((read.alias_offset, read.alias_offset, f" AS {alias}"))
            parts = tuple(part.lower() for part in replacement.qualified_name)
            qualifiers.update(parts[-length:] for length in range(2, len(parts) + 1))
    if qualifiers:
        table_starts = {read.start for read in table_reads(sql)}
        edits.extend(_removed_qualifiers(sql, qualifiers, table_starts))
    return apply_edits(sql, edits)


def _possible_name_indexes(listed: list[SparkToken], index: int) -> Iterator[int]:
    """The words at which a table's name may begin after a word, past brackets, LATERAL and IF EXISTS."""
    skips_brackets = listed[index].keyword != "USING"  # the brackets of USING contain columns
    at = index + 1
    while at < len(listed):
        word = listed[at]
        following = [next_word.keyword for next_word in listed[at + 1 : at + 3]]
        if word.text == "(" and skips_brackets:
            at += 1
        elif word.keyword == "IF" and following[:1] == ["EXISTS"]:
            at += 2
        elif word.keyword == "IF" and following == ["NOT", "EXISTS"]:
            at += 3
        elif word.kind in _NAME_KINDS:
            yield at  # LATERAL may itself be a name
            if word.keyword != "LATERAL":
                return
            at += 1
        else:
            return


def _possible_read(listed: list[SparkToken], index: int) -> TableRead:
    """The name that begins at a word."""
    parts: list[str] = []
    last = index
    while True:
        word = listed[last]
        following = [next_word.text for next_word in listed[last + 1 : last + 4]]
        if word.keyword == "IDENTIFIER" and following[:1] == ["("]:
            argument = following[1] if len(following) == 3 and following[2] == ")" else ""
            inner = list(spark_tokens(argument[1:-1])) if _PLAIN_STRING.fullmatch(argument) else []
            is_name = bool(inner) and not parts and all(part.kind in _NAME_KINDS for part in inner[::2])
            is_name = is_name and len(inner) % 2 == 1 and all(dot.text == "." for dot in inner[1::2])
            parts = [unquote_identifier(part.text) for part in inner[::2]] if is_name else []
            break
        parts.append(unquote_identifier(word.text))
        if not (following[:1] == ["."] and last + 2 < len(listed) and listed[last + 2].kind in _NAME_KINDS):
            break
        last += 2
    return TableRead(tuple(parts), listed[index].start, listed[last].end, None)


def _blank_explain(sql: str) -> str:
    """A statement with spaces in place of EXPLAIN and its mode."""
    first, second = [*islice(spark_tokens(sql), 2), None, None][:2]
    if first is None or first.keyword != "EXPLAIN":
        return sql
    end = second.end if second is not None and second.keyword in _EXPLAIN_MODES else first.end
    return re.sub(r"[^\n]", " ", sql[:end]) + sql[end:]


def _contains_query(explained: str) -> bool:
    """Whether an explained statement has a query; Spark itself resolves the names in statements without one."""
    first = next(spark_tokens(explained), None)
    if first is None or (first.keyword or first.text) not in _QUERY_WORDS:
        return False
    return not find_targets(explained, head=True).changes


def _same_length(match: re.Match[str]) -> str:
    """Replace SYSTEM_VERSION and SYSTEM_TIME, which sqlglot does not parse here, by short forms of the same length."""
    return ("VERSION" if match.group(1).upper() == "VERSION" else "TIMESTAMP").ljust(len(match.group()))


def _table_read(text: Text, table: exp.Table) -> TableRead:
    identifiers = table.parts
    first, last = (text.starts[(part._meta or {})["start"]] for part in (identifiers[0], identifiers[-1]))
    end = last
    time_travel = None
    version = table.args.get("version")
    if version is not None:
        alias = table.args.get("alias")
        alias_meta = alias.this._meta if alias is not None and alias.this is not None else None
        alias_start = alias_meta["start"] if alias_meta else len(text.sql)
        begin = next((at + 1 for at in range(last + 1, len(text.tokens)) if text.raw(at).upper().endswith("OF")), last)
        end = _end_of_expression(text, begin, alias_start)
        if version.args.get("kind") != "AS OF" or end < begin:
            raise text.error("Cannot parse this time travel", text.tokens[last].start)
        kind = "version" if version.this.upper() == "VERSION" else "timestamp"
        time_travel = TimeTravel(kind, text.between(begin, end), text.tokens[begin].start)
    sample_end = end
    while sample_end + 1 < len(text.tokens) and text.tokens[sample_end + 1].token_type is TokenType.TABLE_SAMPLE:
        sample_end = text.match.get(sample_end + 2, sample_end + 2)
        if sample_end + 2 < len(text.tokens) and text.raw(sample_end + 1).upper() == "REPEATABLE":
            sample_end = text.match.get(sample_end + 2, sample_end + 2)
    tokens = text.tokens
    allows_alias = not (first > 0 and text.raw(first - 1).upper() in ("LIKE", "TABLE"))
    return TableRead(
        tuple(part.name for part in identifiers),
        tokens[first].start,
        tokens[end].end + 1,
        tokens[sample_end].end + 1 if table.args.get("alias") is None and allows_alias else None,
        time_travel,
    )


def _end_of_expression(text: Text, begin: int, alias_start: int) -> int:
    """The last token of the expression after AS OF: before an alias, or a word that continues the query."""
    index = begin
    while index < len(text.tokens):
        token = text.tokens[index]
        if token.start >= alias_start or token.token_type in _END_TOKENS:
            break
        if text.raw(index).split()[0].upper() in _END_WORDS:
            break
        index = text.match.get(index, index) + 1
    return index - 1


def _table_statement(text: Text) -> Iterator[TableRead]:
    """The read in `TABLE name`, which sqlglot does not parse."""
    index = 1
    parts: list[str] = []
    while index < len(text.tokens):
        parts.append(unquote_identifier(text.raw(index)))
        if index + 1 < len(text.tokens) and text.tokens[index + 1].token_type is TokenType.DOT:
            index += 2
            continue
        yield TableRead(tuple(parts), text.tokens[1].start, text.tokens[index].end + 1, None)
        return


def _removed_qualifiers(
    sql: str, qualifiers: set[tuple[str, ...]], table_starts: set[int]
) -> Iterator[tuple[int, int, str]]:
    """Edits that shorten column names to the alias of a replaced view."""
    longest = max(len(qualifier) for qualifier in qualifiers)
    text = Text(sql, "spark")
    tokens = text.tokens
    for index, token in enumerate(tokens):
        if token.start in table_starts or (index and tokens[index - 1].token_type is TokenType.DOT):
            continue
        for length in range(2, longest + 1):
            last = index + 2 * (length - 1)
            if last + 1 >= len(tokens) or tokens[last + 1].token_type is not TokenType.DOT:
                break
            names = tuple(unquote_identifier(text.raw(at)).lower() for at in range(index, last + 1, 2))
            has_dots = all(tokens[at].token_type is TokenType.DOT for at in range(index + 1, last, 2))
            if has_dots and names in qualifiers:
                yield token.start, tokens[last].start, ""
                break
