"""Paths into a variant: Spark reads `v:a.b[0]` as `variant_get(v, '$.a.b[0]')`, with the name of the last key.

sqlglot reads something else behind the colon. It gets an index in brackets in place of the path, `v['…']`, whose text
marks it as a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.parsing.errors import error_at
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.text.tokens import Text

_MARK = "\0path of a variant\0"
_NAME = re.compile(r"\w+|`.*`", re.DOTALL)


@dataclass(frozen=True)
class VariantPath:
    """A path behind a colon."""

    last: int
    """The index of its last token."""
    key: str
    """The last name in it, behind the last dot; empty if it has only indexes."""
    steps: tuple[str, ...]
    """Its names and indexes, equal for paths with one meaning."""


def variant_path(text: Text, colon: int) -> VariantPath | None:
    """Return the path behind a colon; None if there is none.

    Raises:
        ParseTextError: If it has brackets with anything but a number or a string, which Spark does not read.
    """
    key, at = "", colon + 1
    steps: list[str] = []
    kinds = text.kinds
    while at < len(kinds):
        is_next = kinds[at] is TokenType.DOT
        name_at = at + is_next
        if is_next is bool(steps) and name_at < len(kinds) and _NAME.fullmatch(text.raw(name_at)):
            names, indexes = _steps_of_name(text, name_at, is_first=not steps)
            key, at = names[-1] if names else key, name_at + 1
            steps += indexes
        elif kinds[at] is TokenType.L_BRACKET and text.match.get(at) == at + 2:
            written = text.raw(at + 1)
            if written[0] == "'":
                key = text.string_value(text.tokens[at + 1])
            elif not written.isdigit():
                raise error_at(text, _BRACKETS, text.tokens[at].start)
            steps.append(repr(key) if written[0] == "'" else written)
            at += 3
        elif kinds[at] is TokenType.L_BRACKET:
            raise error_at(text, _BRACKETS, text.tokens[at].start)
        else:
            break
    return VariantPath(at - 1, key, tuple(steps)) if steps else None


def _steps_of_name(text: Text, at: int, *, is_first: bool) -> tuple[list[str], list[str]]:
    """Return the names in a name of a path, and all of its steps: Spark reads `` `a.b[0]` `` as a path, too.

    Raises:
        ParseTextError: If it is no path, such as `` `a.` ``.
    """
    raw = text.raw(at)
    name = unquote_identifier(raw)
    written = name if is_first and raw[0] == "`" and name.startswith("[") else f".{name}"
    if _STEPS.fullmatch(written) is None:
        raise error_at(text, f"Cannot read the text: {raw} is no path of a variant", text.tokens[at].start)
    found = [(step[1] or step[2], step[3]) for step in _STEP.finditer(written)]
    return [key for key, _ in found if key], [repr(key) if key else index for key, index in found]


_STEP = re.compile(r"\.([^.\[]+)|\['([^']+)'\]|\[(\d+|\*)\]")
_STEPS = re.compile(f"(?:{_STEP.pattern})+")
"""The steps of a path as Spark 4.1.4 reads them behind `$`; it names a column after the last key."""
_BRACKETS = "Cannot read the text: in a path of a variant, brackets have a number, or a string in single quotes"


def paths_read_as_indexes(text: Text) -> Iterator[tuple[int, list[Token], int]]:
    """Yield the first and the last token of each path of a text, and the tokens of the index in its place."""
    in_types = {index for opened, closed in text.type_brackets.items() for index in range(opened, closed)}
    for colon, kind in enumerate(text.kinds):
        path = variant_path(text, colon) if kind is TokenType.COLON and colon > 0 and colon not in in_types else None
        if path is not None:
            opened, closed = text.tokens[colon], text.tokens[path.last]
            written = f"{_MARK}{path.key}\0{'.'.join(path.steps)}"
            yield (
                colon,
                [
                    Token(kind, word, at.line, at.col, at.start, at.end, [])
                    for kind, word, at in (
                        (TokenType.L_BRACKET, opened.text, opened),
                        (TokenType.STRING, written, opened),
                        (TokenType.R_BRACKET, closed.text, closed),
                    )
                ],
                path.last,
            )


def variant_key(node: exp.Expr) -> str | None:
    """Return the last name of the path whose place an index has; None for other nodes."""
    index = node.expressions[0] if type(node) is exp.Bracket and node.expressions else None
    if not isinstance(index, exp.Literal) or not str(index.this).startswith(_MARK):
        return None
    return str(index.this).removeprefix(_MARK).split("\0", 1)[0]


def path_at_end(text: Text, first: int, last: int) -> VariantPath | None:
    """Return the path with which a range of tokens ends, behind an operand; None if it ends otherwise."""
    if TokenType.COLON not in text.kind_set:
        return None
    colons = (at for at in range(last, first, -1) if text.kinds[at] is TokenType.COLON)
    path = next((path for at in colons if (path := variant_path(text, at)) is not None), None)
    return path if path is not None and path.last == last else None
