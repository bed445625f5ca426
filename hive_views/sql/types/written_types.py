"""Types as a Spark text writes them: in casts, and in the schemas of `from_json` and similar functions."""

from __future__ import annotations

import re

from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.types.names import struct_of

_WORDS = {
    **dict.fromkeys(("int", "integer"), "int"),
    **dict.fromkeys(("bigint", "long"), "bigint"),
    **dict.fromkeys(("tinyint", "byte"), "tinyint"),
    **dict.fromkeys(("smallint", "short"), "smallint"),
    **dict.fromkeys(("float", "real"), "float"),
    **dict.fromkeys(("decimal", "dec", "numeric"), "decimal(10,0)"),
    **dict.fromkeys(("string", "varchar", "char", "character"), "string"),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), "timestamp"),
    **{name: name for name in ("boolean", "double", "date", "binary", "timestamp_ntz", "variant", "void")},
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\w+|[<>(),:])")
_NESTED = {"array": 1, "map": 2}


class _NoTypeError(Exception):
    """The text is not a type that is read here."""


class _Reader:
    """Reads types from a text, token by token."""

    def __init__(self, text: str) -> None:
        self._tokens = [match.group(1) for match in _TOKEN.finditer(text)]
        if sum(map(len, self._tokens)) != len("".join(_TOKEN.sub(lambda match: match.group(1), text).split("\n"))):
            raise _NoTypeError
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._tokens)

    def next(self) -> str:
        if self.is_at_end:
            raise _NoTypeError
        self._at += 1
        return self._tokens[self._at - 1]

    def take(self, token: str) -> bool:
        """Skip a token if it is the next one; return whether it was."""
        is_next = not self.is_at_end and self._tokens[self._at].lower() == token
        self._at += is_next
        return is_next

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise _NoTypeError

    def type(self) -> str:
        word = self.next().lower()
        if word in _NESTED and self.take("<"):
            inner = [self.type()]
            while self.take(","):
                inner.append(self.type())
            self.expect(">")
            if len(inner) != _NESTED[word]:
                raise _NoTypeError
            return f"{word}<{','.join(inner)}>"
        if word == "struct" and self.take("<"):
            fields = self.fields(">")
            self.expect(">")
            return struct_of(fields)
        kind = _WORDS.get(word)
        if kind is None:
            raise _NoTypeError
        if self.take("("):
            sizes = [self.next()]
            while self.take(","):
                sizes.append(self.next())
            self.expect(")")
            if kind.startswith("decimal"):
                kind = f"decimal({sizes[0]},{sizes[1] if len(sizes) > 1 else 0})"
        return kind

    def fields(self, end: str) -> list[tuple[str, str]]:
        """Read `name type` or `name: type`, with or without NOT NULL and COMMENT, up to a token or the end."""
        fields = []
        while True:
            name = self.next()
            self.take(":")
            fields.append((unquote_identifier(name), self.type()))
            if self.take("not"):
                self.expect("null")
            if self.take("comment"):
                self.next()
            if not self.take(","):
                return fields


def written_type(text: str) -> str | None:
    """Return the type that a text such as `array<struct<a: INT>>` names; None if it is not one."""
    try:
        reader = _Reader(text)
        kind = reader.type()
        return kind if reader.is_at_end else None
    except _NoTypeError:
        return None


def written_schema(text: str) -> str | None:
    """Return the type of a schema: a type, or a list of columns such as `a INT, b STRING`, which is a struct."""
    kind = written_type(text)
    if kind is not None:
        return kind
    try:
        reader = _Reader(text)
        fields = reader.fields("")
        return struct_of(fields) if reader.is_at_end else None
    except _NoTypeError:
        return None
