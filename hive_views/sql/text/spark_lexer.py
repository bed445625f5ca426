"""Tokens of any text, as Spark's lexer splits it (`SqlBaseLexer.g4`, Spark 4.1), and comments in portable form.

sqlglot reads only texts that are valid SQL. The functions here take any text, because callers examine a text before
they pass it to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hive_views.sql.text.dialects import SYNTAX, Dialect

_LINE_COMMENTS = {True: r"--(?:\\\n|[^\r\n])*", False: r"--[^\r\n]*"}
"""A comment to the end of the line, for Spark (True) and other engines (False): in Spark (SIMPLE_COMMENT) a comment
continues on the next line after a backslash at the end of the line."""
_PIECE = {
    is_spark: re.compile(
        rf"""(?P<space>[\ \t\n\f\r\v\xa0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+)
        |(?P<comment>{comment})
        |(?P<opened>/\*(?!\+))
        |(?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
        |(?P<quoted>`(?:[^`]|``)*`)
        |(?P<word>[^\W\d_]+://[\w/.?=&\#%-]+|\w+)
        |(?P<mark>/\*\+|\*/|.)""",
        re.DOTALL | re.VERBOSE,
    )
    for is_spark, comment in _LINE_COMMENTS.items()
}
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_NOT_LINE_END = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class SparkToken:
    """One token that is neither a comment nor white space."""

    kind: str
    """`word` (a keyword, a name, a number), `quoted` (a name in backticks), `string`, or `mark`."""
    text: str
    """The token as written, including quotes."""
    start: int
    """Where it begins, in characters."""

    @property
    def end(self) -> int:
        """Where it ends, in characters (exclusive)."""
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """The token in upper case if it may be a keyword, else an empty string."""
        return self.text.upper() if self.kind == "word" else ""


def spark_tokens(sql: str, dialect: Dialect = Dialect.SPARK) -> Iterator[SparkToken]:
    """Yield the tokens of a text; the dialect determines where a line comment ends."""
    for kind, start, end in pieces(sql, dialect):
        if kind not in ("space", "comment"):
            yield SparkToken(kind, sql[start:end], start)


def first_word(sql: str, dialect: Dialect) -> tuple[str, int]:
    """Return the first keyword of a statement and where it begins, after spaces, comments and a byte order mark."""
    first = next((token for token in spark_tokens(sql, dialect) if token.text != "\ufeff"), None)
    return (first.keyword, first.start) if first is not None else ("", len(sql))


def blank_comments(sql: str) -> str:
    """Replace the comments of a Spark text by spaces, if one may continue on the next line."""
    if not _may_continue_comment(sql):
        return sql
    written = ((kind, sql[start:end]) for kind, start, end in pieces(sql, Dialect.SPARK))
    return "".join(_NOT_LINE_END.sub(" ", piece) if kind == "comment" else piece for kind, piece in written)


def portable_comments(sql: str, dialect: Dialect) -> str:
    """Rewrite line comments so that in every engine they end where they end in the author's engine."""
    if not _may_continue_comment(sql):
        return sql
    written = []
    for kind, start, end in pieces(sql, dialect):
        piece = sql[start:end]
        if kind == "comment" and piece.startswith("--"):
            piece = piece.replace("\\\n", " ") + (" " if piece.endswith("\\") else "")
        written.append(piece)
    return "".join(written)


def pieces(sql: str, dialect: Dialect = Dialect.SPARK) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of all pieces of a text, including `space` and `comment`; see `SparkToken`."""
    pattern = _PIECE[SYNTAX[dialect].continues_comments]
    unclosed = set()
    at = 0
    while at < len(sql):
        if sql[at] in unclosed:
            yield "mark", at, at + 1
            at += 1
            continue
        for match in pattern.finditer(sql, at):
            start, end = match.span()
            kind = match.lastgroup or ""
            if kind == "opened":
                kind, end = "comment", _comment_end(sql, start)
            elif kind == "mark" and sql[start] in "'\"`":
                # An unclosed quote: every later quote of this kind is escaped, so none of them closes a string. Without
                # this set the text would be searched to its end for each of them, in quadratic time.
                unclosed.add(sql[start])
            yield kind, start, end
            at = end
            if unclosed or kind == "comment":
                break  # the next piece does not begin where the pattern would search for it


def unclosed_piece(sql: str, dialect: Dialect) -> tuple[int, str] | None:
    """Return where a string, a quoted name or a comment begins that a text does not close, and what opens it."""
    for kind, start, _ in pieces(sql, dialect):
        if kind == "mark" and sql[start] in "'\"`":
            return start, sql[start]
        if kind == "comment" and sql.startswith("/*", start) and _comment_end(f"{sql}*/", start) > len(sql):
            return start, "/*"
    return None


def _may_continue_comment(sql: str) -> bool:
    """Return whether a line comment may continue after a backslash at the end of its line."""
    lines = sql.split("\n")[:-1]
    return any(line.endswith("\\") and "--" in line.rpartition("\r")[2] for line in lines)


def _comment_end(sql: str, start: int) -> int:
    """Return the end of a bracketed comment; such comments nest, and the end of the text closes all of them."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() != "*/" else -1
        if not depth:
            return edge.end()
    return len(sql)
