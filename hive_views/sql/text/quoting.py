"""Quoted identifiers and string literals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from hive_views.sql.text.dialects import SYNTAX, Dialect

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


@lru_cache(maxsize=16384)
def quote_identifier(name: str, quote: str = "`") -> str:
    """Quote an identifier; quotes inside it are doubled."""
    return f"{quote}{name.replace(quote, quote * 2)}{quote}"


@lru_cache(maxsize=16384)
def quote_qualified(table: str, column: str, quote: str = "`") -> str:
    """Quote `table.column`."""
    return f"{quote_identifier(table, quote)}.{quote_identifier(column, quote)}"


def quote_name(parts: Iterable[str], quote: str = "`") -> str:
    """Quote the parts of a qualified name such as `catalog.database.table`."""
    return ".".join(quote_identifier(part, quote) for part in parts)


def split_name(text: str) -> tuple[str, ...]:
    """Return the parts of a name in which parts are in backquotes where they need them; none of an empty text."""
    return tuple(quoted.replace("``", "`") or plain for quoted, plain in _PART.findall(text))


def string_literal(value: str, dialect: Dialect) -> str:
    """Write a string literal: with backslashes for Hive and Spark, with doubled quotes for Trino.

    A backslash after the dollar sign of `${` keeps Hive and Spark from substituting a variable; the value is the same.
    """
    if not SYNTAX[dialect].has_backslashes:
        return "'" + value.replace("'", "''") + "'"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"


def unquote_identifier(raw: str) -> str:
    """Return an identifier without its quotes; doubled quotes inside become single ones."""
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in '`"':
        return raw[1:-1].replace(raw[0] * 2, raw[0])
    return raw


_ESCAPES = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\([01][0-7]{2})|\\U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})|\\(.)", re.DOTALL)


def unescape(raw: str, dialect: Dialect) -> str:
    """Return the value of a string literal: with backslashes in Hive and Spark, doubled quotes in Trino."""
    quote, inner = raw[0], raw[1:-1]
    syntax = SYNTAX[dialect]
    if not syntax.has_backslashes:
        return inner.replace(quote * 2, quote)

    def unescaped(match: re.Match[str]) -> str:
        if match.group(1):
            return chr(int(match.group(1), 16))
        if match.group(2):
            return chr(int(match.group(2), 8))
        if match.group(3):
            return chr(int(match.group(3), 16)) if syntax.has_long_escapes else match.group()[1:]
        return _ESCAPES.get(match.group(4), match.group(4))

    value = _ESCAPED.sub(unescaped, inner)
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _SURROGATE.search(value) else value
