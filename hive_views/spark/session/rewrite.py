"""Where a statement of Spark reads tables, and the same statement with some of them replaced, token by token.

Everything that is not replaced stays to the letter, and every place of the new text leads back to its place in the old.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text, parser_of, unquote_identifier
from hive_views.sql.parsing.parser import check_depth
from hive_views.sql.parsing.spark_lexer import SparkToken, spark_tokens
from hive_views.sql.parsing.statement_targets import find_targets
from hive_views.sql.parsing.syntax_tree import table_nodes
from hive_views.sql.rewriting.quoting import quote_identifier

_EXPLAIN = frozenset({"EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL"})
_SYSTEM = re.compile(r"\bSYSTEM_(VERSION|TIME)(?=\s+AS\s+OF\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Travel:
    """VERSION AS OF or TIMESTAMP AS OF behind a name."""

    kind: str
    """`version` or `timestamp`."""
    expression: str
    """What stands behind AS OF."""
    start: int
    """Where that begins, in characters."""


@dataclass(frozen=True)
class Place:
    """One place where a text reads a table or view by its name."""

    parts: tuple[str, ...]
    """The name as it is written, without quotes."""
    start: int
    """Where the name begins, in characters."""
    name_end: int
    """Behind its last character."""
    end: int
    """Behind the last character of the name and what belongs to it: time travel."""
    alias_at: int | None
    """Where an alias has to be written so that the text's own column names go on working; None where one stands."""
    travel: Travel | None = None


@dataclass(frozen=True)
class Rewritten:
    """A text after replacements."""

    text: str
    """The new text."""
    original: str
    """The old text."""
    pieces: tuple[tuple[int, int, bool], ...] = ()
    """Where each piece begins in the new and in the old text, and whether it was replaced; in order."""

    def offset(self, at: int) -> int:
        """The character of the old text from which one of the new text comes."""
        if not self.pieces:
            return at
        index = max(bisect_right(self.pieces, at, key=lambda piece: piece[0]) - 1, 0)
        new, old, replaced = self.pieces[index]
        return old if replaced else old + at - new


def places(sql: str) -> tuple[Place, ...]:
    """Where a statement reads tables: names of common table expressions, and what it writes to, are left out."""
    explained = _explained(sql)
    if explained != sql and not _has_query(explained):
        return ()
    text = Text(_SYSTEM.sub(_same_length, _REPLACE_TABLE.sub(r"\1CREATE \2", explained)), "spark")
    if not text.tokens:
        return ()
    if text.tokens[0].token_type is TokenType.TABLE:
        return tuple(_whole_table(text))
    check_depth(text)
    try:
        trees = [tree for tree in parser_of("spark").parse(text.tokens, text.sql) if tree is not None]
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, IndexError, KeyError) as error:
        raise text.error(f"Cannot read the statement: {str(error).splitlines()[0][:200]}", 0) from error
    if any(tree.find(exp.Command) for tree in trees):
        raise text.error("Cannot read the statement", 0)
    found = (
        _place(text, table)
        for tree in trees
        for table in table_nodes(tree)
        if all(isinstance(part, exp.Identifier) for part in table.parts)
    )
    return tuple(sorted(found, key=lambda place: place.start))


def possible_places(sql: str) -> tuple[Place, ...]:
    """Names in a text that is not read: those that may be tables, by the word in front of them."""
    found: dict[tuple[str, ...], Place] = {}
    listed = list(spark_tokens(sql))
    for index, front in enumerate(listed):
        if (front.keyword or front.text) not in _IN_FRONT:
            continue
        for at in _behind(listed, index):
            place = _possible(listed, at)
            if place.parts or not index or listed[index - 1].keyword not in _CHANGING:
                found.setdefault(place.parts, place)
    return tuple(found.values())


def _behind(listed: list[SparkToken], index: int) -> Iterator[int]:
    """Where a table's name may begin behind a word: behind brackets, LATERAL and IF EXISTS too."""
    brackets = listed[index].keyword != "USING"  # behind that, columns stand in them
    at = index + 1
    while at < len(listed):
        word = listed[at]
        following = [each.keyword for each in listed[at + 1 : at + 3]]
        if word.text == "(" and brackets:
            at += 1
        elif word.keyword == "IF" and following[:1] == ["EXISTS"]:
            at += 2
        elif word.keyword == "IF" and following == ["NOT", "EXISTS"]:
            at += 3
        elif word.kind in _NAMES:
            yield at  # LATERAL too, which may be a name
            if word.keyword != "LATERAL":
                return
            at += 1
        else:
            return


def _possible(listed: list[SparkToken], index: int) -> Place:
    """The name that begins at a word."""
    parts: list[str] = []
    last = index
    while True:
        word = listed[last]
        behind = [each.text for each in listed[last + 1 : last + 4]]
        if word.keyword == "IDENTIFIER" and behind[:1] == ["("]:
            plain = behind[1] if len(behind) == 3 and behind[2] == ")" else ""
            inner = list(spark_tokens(plain[1:-1])) if _PLAIN.fullmatch(plain) else []
            known = bool(inner) and not parts and all(each.kind in _NAMES for each in inner[::2])
            known = known and len(inner) % 2 == 1 and all(each.text == "." for each in inner[1::2])
            parts = [unquote_identifier(each.text) for each in inner[::2]] if known else []
            break
        parts.append(unquote_identifier(word.text))
        if not (behind[:1] == ["."] and last + 2 < len(listed) and listed[last + 2].kind in _NAMES):
            break
        last += 2
    end = listed[last].end
    return Place(tuple(parts), listed[index].start, end, end, None)


@dataclass(frozen=True)
class Replacement:
    """What to write at a place."""

    place: Place
    """One of `places(text)`."""
    name: str
    """The name to write, with its quotes."""
    complete: tuple[str, ...]
    """The complete name of what stood there, by which the text may call its columns: catalog, database, name."""


def replace(sql: str, replacements: Iterable[Replacement]) -> Rewritten:
    """Write other names for some places of a text.

    Where a name without an alias is replaced, an alias keeps the text's column names (`v.a`) working, and longer ones
    (`db.v.a`) lose what stands in front of the view's name.
    """
    edits: list[tuple[int, int, str]] = []
    qualifiers: set[tuple[str, ...]] = set()
    for replacement in replacements:
        place = replacement.place
        edits.append((place.start, place.end, replacement.name))
        if place.alias_at is not None:
            edits.append((place.alias_at, place.alias_at, f" AS {quote_identifier(place.parts[-1])}"))
            parts = tuple(part.lower() for part in replacement.complete)
            qualifiers.update(parts[-length:] for length in range(2, len(parts) + 1))
    if not qualifiers:
        return substitute(sql, edits)
    return substitute(sql, [*edits, *_unqualified(sql, qualifiers, {place.start for place in places(sql)})])


def substitute(sql: str, edits: Iterable[tuple[int, int, str]]) -> Rewritten:
    """Replace ranges of characters."""
    written: list[str] = []
    pieces: list[tuple[int, int, bool]] = []
    length = at = 0
    for start, end, new in sorted(edits):
        for old, piece, replaced in ((at, sql[at:start], False), (start, new, True)):
            if piece:
                pieces.append((length, old, replaced))
                written.append(piece)
                length += len(piece)
        at = end
    pieces.append((length, at, False))
    written.append(sql[at:])
    return Rewritten("".join(written), sql, tuple(pieces))


def _explained(sql: str) -> str:
    """A statement with spaces in place of EXPLAIN and what stands in front of it."""
    first, second = [*islice(spark_tokens(sql), 2), None, None][:2]
    if first is None or first.keyword != "EXPLAIN":
        return sql
    end = second.end if second is not None and second.keyword in _EXPLAIN else first.end
    return re.sub(r"[^\n]", " ", sql[:end]) + sql[end:]


def _has_query(explained: str) -> bool:
    """Whether a statement that EXPLAIN plans, and does not run, reads rows; Spark reads the names in others itself."""
    first = next(spark_tokens(explained), None)
    if first is None or (first.keyword or first.text) not in _HAVE_QUERIES:
        return False
    return not find_targets(explained, head=True).changes


def _same_length(found: re.Match[str]) -> str:
    """Sqlglot does not read SYSTEM_VERSION and SYSTEM_TIME everywhere: the other spelling, as long as this one."""
    return ("VERSION" if found.group(1).upper() == "VERSION" else "TIMESTAMP").ljust(len(found.group()))


def _place(text: Text, table: exp.Table) -> Place:
    identifiers = table.parts
    first, last = (text.starts[(part._meta or {})["start"]] for part in (identifiers[0], identifiers[-1]))
    end = last
    travel = None
    version = table.args.get("version")
    if version is not None:
        alias = table.args.get("alias")
        meta = alias.this._meta if alias is not None and alias.this is not None else None
        named = meta["start"] if meta else len(text.sql)
        begin = next((at + 1 for at in range(last + 1, len(text.tokens)) if text.raw(at).upper().endswith("OF")), last)
        end = _end_of_expression(text, begin, named)
        if version.args.get("kind") != "AS OF" or end < begin:
            raise text.error("Cannot read this time travel", text.tokens[last].start)
        kind = "version" if version.this.upper() == "VERSION" else "timestamp"
        travel = Travel(kind, text.between(begin, end), text.tokens[begin].start)
    behind = end
    while behind + 1 < len(text.tokens) and text.tokens[behind + 1].token_type is TokenType.TABLE_SAMPLE:
        behind = text.match.get(behind + 2, behind + 2)
        if behind + 2 < len(text.tokens) and text.raw(behind + 1).upper() == "REPEATABLE":
            behind = text.match.get(behind + 2, behind + 2)
    tokens = text.tokens
    bare = first > 0 and text.raw(first - 1).upper() in ("LIKE", "TABLE")  # where Spark takes no alias
    return Place(
        tuple(part.name for part in identifiers),
        tokens[first].start,
        tokens[last].end + 1,
        tokens[end].end + 1,
        tokens[behind].end + 1 if table.args.get("alias") is None and not bare else None,
        travel,
    )


def _end_of_expression(text: Text, begin: int, named: int) -> int:
    """The last token of what stands behind AS OF: before an alias, or a word that goes on with the query."""
    index = begin
    while index < len(text.tokens):
        token = text.tokens[index]
        if token.start >= named or token.token_type in _BEHIND or text.raw(index).split()[0].upper() in _BEHIND_WORDS:
            break
        index = text.match.get(index, index) + 1
    return index - 1


def _whole_table(text: Text) -> Iterator[Place]:
    """`TABLE name`, which sqlglot does not read."""
    index = 1
    parts: list[str] = []
    while index < len(text.tokens):
        parts.append(unquote_identifier(text.raw(index)))
        if index + 1 < len(text.tokens) and text.tokens[index + 1].token_type is TokenType.DOT:
            index += 2
            continue
        end = text.tokens[index].end + 1
        yield Place(tuple(parts), text.tokens[1].start, end, end, None)
        return


def _unqualified(sql: str, qualifiers: set[tuple[str, ...]], taken: set[int]) -> Iterator[tuple[int, int, str]]:
    """What to cut in front of the columns of views that are called by their alias now."""
    longest = max(len(qualifier) for qualifier in qualifiers)
    text = Text(sql, "spark")
    tokens = text.tokens
    for index, token in enumerate(tokens):
        if token.start in taken or (index and tokens[index - 1].token_type is TokenType.DOT):
            continue
        for length in range(2, longest + 1):
            last = index + 2 * (length - 1)
            if last + 1 >= len(tokens) or tokens[last + 1].token_type is not TokenType.DOT:
                break
            names = tuple(unquote_identifier(text.raw(at)).lower() for at in range(index, last + 1, 2))
            dots = all(tokens[at].token_type is TokenType.DOT for at in range(index + 1, last, 2))
            if dots and names in qualifiers:
                yield token.start, tokens[last].start, ""
                break


_REPLACE_TABLE = re.compile(r"(\A\s*)REPLACE(\s+TABLE\b)", re.IGNORECASE)
"""Spark's statement that sqlglot reads with the other word only, which is one letter shorter."""
_PLAIN = re.compile(r"'[^'\\]*'")
_HAVE_QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "(", "INSERT", "MERGE"}) | {
    *("UPDATE", "DELETE", "CREATE", "REPLACE", "CACHE")
}
_CHANGING = frozenset({"CREATE", "DROP", "ALTER", "TRUNCATE", "INTO", "OVERWRITE", "REPLACE", "REFRESH"})
"""Words in front of TABLE where what follows is not read."""
_NAMES = ("word", "quoted")
_IN_FRONT = frozenset({"FROM", "JOIN", "TABLE", "USING", ","})
_BEHIND = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.SEMICOLON, TokenType.TABLE_SAMPLE})
_BEHIND_WORDS = frozenset(
    {"AS", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "JOIN"}
    | {"INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ON", "USING", "LATERAL", "UNION"}
    | {"EXCEPT", "MINUS", "INTERSECT", "PIVOT", "UNPIVOT", "WHEN", "SET", "SELECT", "|>"}
)


def offset_of(sql: str, line: int, pos: int) -> int:
    """The character at a line, from 1, and a place in it, from 0."""
    starts = [0, *(found.end() for found in re.finditer("\n", sql))]
    return min(starts[min(line, len(starts)) - 1] + pos, len(sql))
