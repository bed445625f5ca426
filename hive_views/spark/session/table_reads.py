"""Finds where a Spark statement reads tables, and replaces the names of some of these tables.

All other text is unchanged, and every position in the new text can be mapped to one in the old text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from uuid import uuid4

from hive_views.spark.session.plans import PlanNode
from hive_views.spark.session.source_text import RewrittenText, apply_edits
from hive_views.spark.sessions import spark_exceptions
from hive_views.sql.parsing.statement_targets import find_targets
from hive_views.sql.text.positions import error_at
from hive_views.sql.text.quoting import quote_identifier, unquote_identifier
from hive_views.sql.text.spark_lexer import SparkToken, spark_tokens
from hive_views.text_enum import TextEnum

_EXPLAIN_MODES = frozenset({"EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL"})
_PLAIN_STRING = re.compile(r"'[^'\\]*'")
_QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "(", "INSERT", "MERGE"}) | {
    *("UPDATE", "DELETE", "CREATE", "REPLACE", "CACHE")
}
"""First words of the statements that may contain a query."""
_CHANGE_WORDS = frozenset({"CREATE", "DROP", "ALTER", "TRUNCATE", "INTO", "OVERWRITE", "REPLACE", "REFRESH"})
"""Words before TABLE in statements that do not read the table."""
_NAME_KINDS = ("word", "quoted")
_LINE_BREAK = re.compile(r"[\n\\]")
"""Characters of a string literal that may be, or begin, a line break in its value."""
_TABLE_WORDS = frozenset({"FROM", "JOIN", "TABLE", "USING", ","})
"""Words after which a table's name may follow."""
_END_MARKS = frozenset({",", ")", ";", "|"})
_END_WORDS = frozenset(
    {"AS", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "JOIN"}
    | {"INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ON", "USING", "LATERAL", "UNION"}
    | {"EXCEPT", "MINUS", "INTERSECT", "PIVOT", "UNPIVOT", "WHEN", "SET", "SELECT", "TABLESAMPLE", "WITH", "INSERT"}
)
"""Marks and words that end the expression after AS OF."""

Parse = Callable[[str], Sequence[PlanNode]]
"""Spark's parser: from a text to the nodes of its plan."""


class TimeTravelKind(TextEnum):
    """What AS OF names."""

    VERSION = "version"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class TimeTravel:
    """VERSION AS OF or TIMESTAMP AS OF after a table's name."""

    kind: TimeTravelKind
    expression: str
    """The expression after AS OF."""
    start: int


@dataclass(frozen=True, kw_only=True)
class TableRead:
    """One place at which a statement reads a table or view by its name. All offsets are in characters."""

    parts: tuple[str, ...]
    """The name as written, without quotes; empty for an IDENTIFIER(…) whose value is not known."""
    start: int
    end: int
    """The end of the name, or of the time travel clause after it."""
    alias_offset: int | None
    """Where to insert an alias so that column names in the text remain valid; None if there is an alias already."""
    time_travel: TimeTravel | None = None
    is_argument: bool = False
    """Whether it is the argument `TABLE(name)` of a table function, which allows no alias but takes a query."""


class TableReadError(Exception):
    """An error about one table that a text reads; the caller adds the position."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Replacement:
    """A table read, and the name that replaces its name."""

    read: TableRead
    """One of `table_reads(text)`."""
    name: str
    qualified_name: tuple[str, ...]
    """The complete name of the replaced object, which may qualify its columns: catalog, database, name."""


def table_reads(sql: str, parse: Parse) -> tuple[TableRead, ...]:
    """Return the tables that a statement reads, without common table expressions and the tables that it writes to.

    Spark's parser decides which names are tables: the text is parsed again with each of these names replaced by a
    marker wherever it occurs, and the markers that are tables then are the reads. Raises SqlError if the position of a
    table in the text cannot be determined.
    """
    statement = blank_explain(sql)
    if statement != sql and not _contains_query(statement):
        return ()
    statement = _body_of_function(statement)
    relations = {node.relation for node in parse(statement)} - {None}
    if not relations:
        return ()
    tokens = list(spark_tokens(statement))
    keywords = {token.keyword for token in tokens}
    occurrences = [name for name in _dotted_names(tokens) if ", ".join(name.parts) in relations]
    prefix = f"hive_views_{uuid4().hex[:12]}_"
    marked = {f"{prefix}{number}": name for number, name in enumerate(occurrences)}
    try:
        nodes = parse(_with_markers(statement, tokens, marked))
    except spark_exceptions():
        # A name is also a keyword of this statement, and without the keyword the text is not a statement.
        marked = {
            marker: name for marker, name in marked.items() if _is_replaceable(statement, tokens, marker, name, parse)
        }
        nodes = parse(_with_markers(statement, tokens, marked))
    reads = {}
    for node in nodes:
        if node.relation is None:
            continue
        if node.relation not in marked:
            raise error_at(sql, 0, f"Cannot determine where this statement names {node.relation.replace(', ', '.')}")
        name = marked[node.relation]
        if not _is_common_table_expression(node, name, marked, is_recursive="RECURSIVE" in keywords):
            reads[name.start] = _table_read(sql, tokens, name, node)
    return tuple(reads[start] for start in sorted(reads))


def blank_explain(sql: str) -> str:
    """Return a statement with spaces in place of EXPLAIN and its mode."""
    first, second = [*islice(spark_tokens(sql), 2), None, None][:2]
    if first is None or first.keyword != "EXPLAIN":
        return sql
    end = second.end if second is not None and second.keyword in _EXPLAIN_MODES else first.end
    return re.sub(r"[^\n]", " ", sql[:end]) + sql[end:]


def is_function(sql: str, *, is_permanent: bool = False) -> bool:
    """Return whether a statement creates a function, or a permanent function."""
    words = [token.keyword for token in islice(spark_tokens(sql), 5)]
    is_temporary = not {"TEMPORARY", "TEMP"}.isdisjoint(words)
    return words[:1] == ["CREATE"] and "FUNCTION" in words and not (is_permanent and is_temporary)


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


def called_functions(sql: str) -> tuple[tuple[str, int], ...]:
    """Return the names before an opening bracket, each once, as they are written and with their offsets."""
    tokens = list(spark_tokens(sql))
    calls: dict[str, int] = {}
    for name in _dotted_names(tokens):
        if [token.text for token in tokens[name.last + 1 : name.last + 2]] == ["("]:
            calls.setdefault(sql[name.start : tokens[name.last].end].lower(), name.start)
    return tuple(calls.items())


def replace_tables(sql: str, replacements: Iterable[Replacement], reads: Iterable[TableRead]) -> RewrittenText:
    """Replace the names of some of a statement's tables.

    A table without an alias gets the view's name as its alias, so that `v.a` keeps working; longer column names
    (`db.v.a`) lose their qualifier.
    """
    edits: list[tuple[int, int, str]] = []
    qualifiers: set[tuple[str, ...]] = set()
    for replacement in replacements:
        read = replacement.read
        alias = quote_identifier(read.parts[-1])
        if read.is_argument:
            edits.append((read.start, read.end, f"SELECT * FROM {replacement.name} AS {alias}"))
        else:
            edits.append((read.start, read.end, replacement.name))
        if read.alias_offset is not None:
            edits.append((read.alias_offset, read.alias_offset, f" AS {alias}"))
        if read.alias_offset is not None or read.is_argument:
            parts = tuple(part.lower() for part in replacement.qualified_name)
            qualifiers.update(parts[-length:] for length in range(2, len(parts) + 1))
    if qualifiers:
        edits.extend(_removed_qualifiers(sql, qualifiers, {read.start for read in reads}))
    return apply_edits(sql, edits)


def _possible_name_indexes(listed: list[SparkToken], index: int) -> Iterator[int]:
    """Yield the words at which a table's name may begin after a word, past brackets, LATERAL and IF EXISTS."""
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
    """Return the name that begins at a word."""
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
    return TableRead(parts=tuple(parts), start=listed[index].start, end=listed[last].end, alias_offset=None)


def _body_of_function(sql: str) -> str:
    """Return the query in CREATE FUNCTION … RETURN, at the same offset; any other statement unchanged."""
    if not is_function(sql):
        return sql
    depth = 0
    tokens = list(spark_tokens(sql))
    for token, following in pairwise(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.keyword == "RETURN":
            head = "" if following.keyword in _QUERY_WORDS else "SELECT"
            return re.sub(r"[^\n]", " ", sql[: token.start]) + head.ljust(len(token.text)) + sql[token.end :]
    return sql


def _contains_query(explained: str) -> bool:
    """Return whether an explained statement has a query; Spark itself resolves the names in statements without one."""
    first = next(spark_tokens(explained), None)
    if first is None or (first.keyword or first.text) not in _QUERY_WORDS:
        return False
    return not find_targets(explained, head=True).changes


@dataclass(frozen=True, slots=True)
class _DottedName:
    """The longest sequence of identifiers joined by dots at a position."""

    parts: tuple[str, ...]
    """The identifiers, without quotes."""
    index: int
    """The first token."""
    last: int
    """The last token."""
    start: int
    """The offset of the first character."""
    has_star: bool
    """Whether `.*` follows."""


def _dotted_names(tokens: list[SparkToken]) -> Iterator[_DottedName]:
    """Yield all names in a text, of any kind of object."""
    index = 0
    while index < len(tokens):
        if not _may_be_name(tokens[index]):
            index += 1
            continue
        last = index
        while last + 2 < len(tokens) and tokens[last + 1].text == "." and _may_be_name(tokens[last + 2]):
            last += 2
        parts = tuple(unquote_identifier(token.text) for token in tokens[index : last + 1 : 2])
        has_star = [token.text for token in tokens[last + 1 : last + 3]] == [".", "*"]
        yield _DottedName(parts, index, last, tokens[index].start, has_star)
        index = last + 1


def _may_be_name(token: SparkToken) -> bool:
    """Return whether a token may be an identifier; the setting doubleQuotedIdentifiers makes strings identifiers."""
    return token.kind in _NAME_KINDS or (token.text[0] == '"' and not _LINE_BREAK.search(token.text))


def _with_markers(sql: str, tokens: list[SparkToken], marked: Mapping[str, _DottedName]) -> str:
    """The text with markers in place of names, and without line breaks in strings, which would divide printed plans."""
    edits = [(name.start, tokens[name.last].end, marker) for marker, name in marked.items()]
    edits += [
        (token.start, token.end, "'...'")
        for token in tokens
        if token.kind == "string" and _LINE_BREAK.search(token.text)
    ]
    return apply_edits(sql, edits).text


def _is_replaceable(sql: str, tokens: list[SparkToken], marker: str, name: _DottedName, parse: Parse) -> bool:
    try:
        parse(_with_markers(sql, tokens, {marker: name}))
    except spark_exceptions():
        return False
    return True


def _is_common_table_expression(
    node: PlanNode, name: _DottedName, marked: Mapping[str, _DottedName], *, is_recursive: bool
) -> bool:
    """Return whether a name of one part means a common table expression that is visible where it stands."""
    while len(name.parts) == 1 and node.parent is not None:
        clause = node.parent
        if clause.name == "CTE":
            definitions = clause.arguments.strip("[]").split(", ")
            if node.depth == clause.depth + 2:
                # Within a definition, the earlier ones are visible, and with RECURSIVE also the definition itself.
                own = definitions.index(node.arguments) if node.arguments in definitions else len(definitions) - 1
                definitions = definitions[: own + is_recursive]
            names = (marked[item].parts[0] if item in marked else item for item in definitions)
            if name.parts[0].lower() in (item.lower() for item in names):
                return True
        node = clause
    return False


def _table_read(sql: str, tokens: list[SparkToken], name: _DottedName, node: PlanNode) -> TableRead:
    """Return the table read at a name, with its time travel and the offset for an alias."""
    at = name.last + 1
    alias = node.parent.arguments if node.parent is not None and node.parent.name == "SubqueryAlias" else None
    time_travel = None
    if node.name == "RelationTimeTravel":
        words = [token.keyword for token in tokens[at : at + 4]]
        skipped = words[:1] == ["FOR"]
        begin = at + skipped + 3
        end = _end_of_expression(tokens, begin, alias)
        if end < begin:
            raise error_at(sql, name.start, "Cannot parse this time travel")
        is_version = words[skipped].endswith("VERSION")
        kind = TimeTravelKind.VERSION if is_version else TimeTravelKind.TIMESTAMP
        start = tokens[begin].start
        time_travel = TimeTravel(kind, sql[start : tokens[end].end], start)
        at = end + 1
    read_end = tokens[at - 1].end
    if [token.keyword or token.text for token in tokens[at : at + 2]] == ["WITH", "("]:
        at = _after_bracket(tokens, at + 1)  # options
    if at < len(tokens) and tokens[at].keyword == "TABLESAMPLE":
        at = _after_bracket(tokens, at + 1)
        if at < len(tokens) and tokens[at].keyword == "REPEATABLE":
            at = _after_bracket(tokens, at + 1)
    preceding = [token.keyword or token.text for token in tokens[max(name.index - 2, 0) : name.index]]
    is_argument = preceding == ["TABLE", "("]
    allows_alias = preceding[-1:] not in (["TABLE"], ["LIKE"]) and not is_argument
    alias_offset = tokens[at - 1].end if allows_alias and alias is None else None
    return TableRead(
        parts=name.parts,
        start=name.start,
        end=read_end,
        alias_offset=alias_offset,
        time_travel=time_travel,
        is_argument=is_argument,
    )


def _after_bracket(tokens: list[SparkToken], opening: int) -> int:
    """Return the token after the bracket that closes the one at a position."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index + 1
    return len(tokens)


def _end_of_expression(tokens: list[SparkToken], begin: int, alias: str | None) -> int:
    """Return the last token of the expression after AS OF: before an alias, or a word that continues the query."""
    index = begin
    while index < len(tokens):
        token = tokens[index]
        if token.text in _END_MARKS or token.keyword in _END_WORDS:
            break
        if index > begin and alias is not None and unquote_identifier(token.text) == alias:
            break
        index = _after_bracket(tokens, index) if token.text == "(" else index + 1
    return index - 1


def _removed_qualifiers(
    sql: str, qualifiers: set[tuple[str, ...]], table_starts: set[int]
) -> Iterator[tuple[int, int, str]]:
    """Edits that shorten column names to the alias of a replaced view."""
    tokens = list(spark_tokens(sql))
    for name in _dotted_names(tokens):
        if name.start in table_starts:
            continue
        parts = tuple(part.lower() for part in name.parts)
        for length in range(2, len(parts) + name.has_star):
            if parts[:length] in qualifiers:
                yield name.start, tokens[name.index + 2 * (length - 1)].start, ""
                break
