"""A text as Spark's lexer splits it, whatever stands in it (`SqlBaseLexer.g4`, 4.1): no text is too odd to be split.

sqlglot reads what is known to be SQL. What Spark would make of a text has to be known for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENTS = {True: r"--(?:\\\n|[^\r\n])*", False: r"--[^\r\n]*"}
"""A comment to the end of its line: Spark's goes on behind a backslash (SIMPLE_COMMENT), that of others does not."""
_PIECE = {
    goes_on: re.compile(
        rf"""(?P<space>[\ \t\n\f\r\v\xa0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+)
        |(?P<comment>{comment})
        |(?P<opened>/\*(?!\+))
        |(?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
        |(?P<quoted>`(?:[^`]|``)*`)
        |(?P<word>[^\W\d_]+://[\w/.?=&\#%-]+|\w+)
        |(?P<mark>/\*\+|\*/|.)""",
        re.DOTALL | re.VERBOSE,
    )
    for goes_on, comment in _COMMENTS.items()
}
_EDGE = re.compile(r"/\*(?!\+)|\*/")
_SHOWN = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Word:
    """One token that is no comment and no white space."""

    kind: str
    """`word` (a keyword, a name, a number), `quoted` (a name in backticks), `string`, or `mark`."""
    text: str
    """As it stands in the text, quotes and all."""
    start: int
    """Where it begins, in characters."""

    @property
    def end(self) -> int:
        """Behind its last character."""
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """It in capitals if it may be a keyword; empty for what is quoted."""
        return self.text.upper() if self.kind == "word" else ""


def words(sql: str, dialect: str = "spark") -> Iterator[Word]:
    """The tokens of a text, without comments and white space."""
    for kind, start, end in _pieces(sql, dialect):
        if kind not in ("space", "comment"):
            yield Word(kind, sql[start:end], start)


def without_comments(sql: str) -> str:
    """A text of Spark's for a reader that would end some of its comments elsewhere."""
    if not _goes_on(sql):
        return sql
    pieces = ((kind, sql[start:end]) for kind, start, end in _pieces(sql, "spark"))
    return "".join(_SHOWN.sub(" ", piece) if kind == "comment" else piece for kind, piece in pieces)


def plain_comments(sql: str, dialect: str) -> str:
    """A text whose comments end where its author's engine ends them, to Spark and to all others."""
    if not _goes_on(sql):
        return sql
    written = []
    for kind, start, end in _pieces(sql, dialect):
        piece = sql[start:end]
        if kind == "comment" and piece.startswith("--"):
            piece = piece.replace("\\\n", " ") + (" " if piece.endswith("\\") else "")
        written.append(piece)
    return "".join(written)


def _pieces(sql: str, dialect: str) -> Iterator[tuple[str, int, int]]:
    """Kind, begin and end of all pieces of a text, white space and comments among them."""
    pattern = _PIECE[dialect == "spark"]
    unclosed = set()
    at = 0
    while at < len(sql):
        if sql[at] in unclosed:
            yield "mark", at, at + 1
            at += 1
            continue
        found = pattern.match(sql, at)
        assert found is not None
        assert found.lastgroup is not None
        kind, end = found.lastgroup, found.end()
        if kind == "opened":
            kind, end = "comment", _closed(sql, at)
        elif kind == "mark" and sql[at] in "'\"`":
            # Behind it that quote stands behind backslashes only, if at all: none of them closes another one. Without
            # this each of them would be looked for to the end of the text again.
            unclosed.add(sql[at])
        yield kind, at, end
        at = end


def _goes_on(sql: str) -> bool:
    """Whether a comment may go on behind a backslash at the end of its line."""
    lines = sql.split("\n")[:-1]
    return any(line.endswith("\\") and "--" in line.rpartition("\r")[2] for line in lines)


def _closed(sql: str, at: int) -> int:
    """Behind the comment in slashes that begins at a character: they nest, and the text's end closes all."""
    depth = 0
    for edge in _EDGE.finditer(sql, at):
        depth += 1 if edge.group() != "*/" else -1
        if not depth:
            return edge.end()
    return len(sql)
