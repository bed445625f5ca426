"""Reads the head of a statement token by token."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.parser import ParseTextError
from hive_views.sql.parsing.spark_lexer import words
from hive_views.sql.parsing.statements import ObjectName
from hive_views.sql.resolver.context import unquoted

T = TypeVar("T")

_COMMANDS = frozenset({"SHOW", "DESCRIBE", "DESC", "REFRESH", "ALTER", "DROP", "CREATE", "EXPLAIN", "USE"})


def first_word(sql: str, dialect: str) -> tuple[str, int]:
    """The word that a statement begins with: behind spaces and comments, which may be nested."""
    found = next((word for word in words(sql, dialect) if word.text != "\ufeff"), None)
    return (found.keyword, found.start) if found is not None else ("", len(sql))


class Cursor:
    """A place in a statement.

    Args:
        sql: The statement.
        dialect: `hive`, `spark` or `trino`.

    Raises:
        SqlError: If it cannot be split into tokens.
    """

    def __init__(self, sql: str, dialect: str) -> None:
        self.first, self.first_at = first_word(sql, dialect)
        hidden = sql
        if self.first in _COMMANDS:
            # sqlglot's tokenizer takes what follows some of these words for one string
            end = self.first_at + len(self.first)
            hidden = sql[: self.first_at] + " " * len(self.first) + sql[end:]
        self.text = Text(hidden, dialect, whole=sql)
        self.sql = sql
        self.dialect = dialect
        self.index = 0
        self._words: list[str] = []
        self._at: list[int] = []
        self._ends: list[int] = []
        self._kinds: list[TokenType] = []
        for token in self.text.tokens:
            raw = hidden[token.start : token.end + 1]
            pieces = raw.split() if token.token_type not in _WHOLE and not raw.startswith(("`", '"', "'")) else [raw]
            at = token.start
            for piece in pieces:
                at = hidden.index(piece, at)
                self._words.append(piece)
                self._at.append(at)
                self._ends.append(at + len(piece))
                self._kinds.append(token.token_type)
                at += len(piece)
        while self._words and self._words[-1] == ";":
            for listed in (self._words, self._at, self._ends, self._kinds):
                listed.pop()

    # -- Looking ---------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether everything was read."""
        return self.index >= len(self._words)

    @property
    def start(self) -> int:
        """Where the next word begins."""
        return self._at[self.index] if not self.done else len(self.sql.rstrip())

    def word(self, ahead: int = 0) -> str:
        """The next word in upper case; empty at the end and for what is quoted."""
        at = self.index + ahead
        if at >= len(self._words) or self._words[at][:1] in "`\"'":
            return ""
        return self._words[at].upper()

    def error(self, expected: str) -> ParseTextError:
        """An error at the next word."""
        line, column = self.text.position(self.start)
        found = f"'{self._words[self.index][:40]}'" if not self.done else "the end of the statement"
        return ParseTextError(f"Expected {expected}, found {found}", line=line, column=column)

    # -- Reading ---------------------------------------------------------------------------------------------------

    def accept(self, *words: str) -> bool:
        """Read some words, all of them or none."""
        if all(self.word(ahead) == word for ahead, word in enumerate(words)):
            self.index += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        """Read some words."""
        if not self.accept(*words):
            raise self.error(" ".join(words))

    def identifier(self) -> tuple[str, int]:
        """Read one name; returns it without quotes, and where it begins."""
        if self.done:
            raise self.error("a name")
        raw, at = self._words[self.index], self._at[self.index]
        quotes = '`"' if self.dialect == "trino" else "`"
        if raw[0] in quotes:
            name = unquoted(raw)
        elif raw[0].isalnum() or raw[0] == "_":
            name = raw
        else:
            raise self.error("a name")
        if not name:
            raise self.error("a name that is not empty")
        self.index += 1
        return name, at

    def name(self) -> ObjectName:
        """Read `view`, `database.view` or `catalog.database.view`."""
        part, start = self.identifier()
        parts = [part]
        while self.accept("."):
            parts.append(self.identifier()[0])
        if len(parts) > 3:
            raise self.error("a name of at most three parts")
        return ObjectName(tuple(parts), start)

    def string(self) -> str:
        """Read a string literal; returns its value."""
        if self.done or self._words[self.index][0] not in ("'" if self.dialect == "trino" else "'\""):
            raise self.error("a string in quotes")
        value = self._one_string()
        while self.dialect != "trino" and not self.done and self._words[self.index][0] in "'\"":
            # Measured on Spark 4.1.4 and Hive 2.3.10: strings that follow one another are one. In Spark a quote that is
            # doubled is a quote (since 4.0); to Hive that is the end of a string, and the next one.
            before, here = self.index - 1, self.index
            touching = self._ends[before] == self._at[here]
            if touching and self.dialect == "spark" and self._words[before][-1] == self._words[here][0]:
                value += self._words[here][0]
            elif not touching and self.dialect == "hive":
                break
            value += self._one_string()
        return value

    def _one_string(self) -> str:
        raw = self._words[self.index]
        self.index += 1
        return unescape(raw, self.dialect)

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Read `(item, item, …)`."""
        self.expect("(")
        items = [item()]
        while self.accept(","):
            items.append(item())
        self.expect(")")
        return tuple(items)

    def property_pair(self) -> tuple[str, str]:
        """Read `'key' = 'value'` (Spark and Trino: `key = value` too)."""
        at = self._words[self.index][:1] if not self.done else ""
        if at in ("'", '"') and not (self.dialect == "trino" and at == '"'):
            key = self.string()
        else:
            parts = [self.identifier()[0]]
            while self.accept("."):
                parts.append(self.identifier()[0])
            key = ".".join(parts)
        if not self.accept("=") and not self.accept("=="):
            raise self.error("=")
        return key, self.value()

    def value(self) -> str:
        """Read a string, a number, TRUE or FALSE, or Trino's ARRAY[…]; returns it as text."""
        if self.done:
            raise self.error("a value")
        raw = self._words[self.index]
        if raw[0] in "'\"":
            return self.string()
        begin = self.start
        negative = self.accept("-")
        if self.word() == "ARRAY" and self.word(1) == "[":
            while not self.done and not self.accept("]"):
                self.index += 1
            return self.sql[begin : self._ends[self.index - 1]]
        if self.done or not (self.word()[:1].isalnum() or self.word() == "NULL"):
            raise self.error("a value")
        self.index += 1
        return ("-" if negative else "") + self.sql[self._at[self.index - 1] : self._ends[self.index - 1]]

    def rest(self) -> tuple[str, int]:
        """Everything that was not read yet, without the semicolon and comments behind it; and where it begins."""
        if self.done:
            raise self.error("a query")
        begin = self.start
        self.index = len(self._words)
        return self.sql[begin : self._ends[-1]], begin

    def finish(self) -> None:
        """Make sure that everything was read."""
        if not self.done:
            raise self.error("the end of the statement")


_WHOLE = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HINT, TokenType.COMMENT})
_ESCAPES = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\([0-3][0-7]{2})|\\(.)", re.DOTALL)


def unescape(raw: str, dialect: str) -> str:
    """The value of a string literal: with Hive's and Spark's backslashes, or Trino's doubled quotes."""
    quote, inner = raw[0], raw[1:-1]
    if dialect == "trino":
        return inner.replace(quote * 2, quote)

    def replaced(found: re.Match[str]) -> str:
        if found.group(1):
            return chr(int(found.group(1), 16))
        if found.group(2):
            return chr(int(found.group(2), 8))
        return _ESCAPES.get(found.group(3), found.group(3))

    return _ESCAPED.sub(replaced, inner)
