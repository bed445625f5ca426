"""Damaged view texts: UTF-8 that was stored as latin1, and texts that a column cut off.

MySQL's and MariaDB's columns are latin1 by Hive's scripts. A client that sends UTF-8 and calls it latin1 stores every
character beyond ASCII as two to four others ("naïve" as "naÃ¯ve"); read as what it was, the text comes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hive_views.schema_upgrade.schema import Column, Schema
from hive_views.schema_upgrade.session import Session

COLUMNS = ("VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT")
"""The columns of TBLS that hold texts."""

LIMITS = {"tinytext": 255, "text": 65_535, "mediumtext": 16_777_215, "long varchar": 32_700}
"""Bytes (MySQL) or characters (Derby) that a type holds at most."""

_BATCH = 500

_PIECES = re.compile(
    r"(?P<name>`[^`]*`)|(?P<literal>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<plain>\?)",
    re.DOTALL,
)
"""Names in backquotes, literals, comments, and a `?` outside all of them."""

_LOST = re.compile(r"\?\?|[^\W\d_]\?[^\W\d_]|^.\?[^\W\d_]")
"""In a literal: several `?`, or one within or before a word."""

_MEANT = re.compile(r"[\[\](){}*+^$|\\=&/.]")
"""Patterns, addresses and paths have a `?` of their own."""

_PATTERNS = re.compile(r"(?i)\b(?:rlike|regexp\w*)\b")

_REPLACES = re.compile(r"(?i)\b(?:replace|translate|rlike|regexp\w*|encode|decode)\b")
"""A view that handles mangled characters may hold some on purpose: it is shown, and not repaired."""

_RUNS = re.compile(r"[^\x00-\x7f]{2,}")

# What MySQL calls latin1 is Windows-1252, with the five codes that it lacks as they are.
_CODES = {bytes([code]).decode("cp1252", "ignore") or chr(code): code for code in range(256)}


@dataclass(frozen=True)
class Survey:
    """What all view texts are like."""

    mangled: tuple[int, ...] = ()
    """TBL_IDs of views with a text that was stored as latin1."""
    truncated: tuple[tuple[int, str, int], ...] = ()
    """TBL_ID, column and length of texts that are as long as their column ever could hold."""
    suspicious: tuple[tuple[int, str, str], ...] = ()
    """TBL_ID, column and reason of texts that look damaged, and cannot be repaired from what they hold."""


def unmangled(text: str) -> str | None:
    """A text as it was before UTF-8 was taken for latin1."""
    if text.isascii():
        return None
    try:
        found = bytes(_CODES[character] for character in text).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
    return found if found != text else None


def repaired(text: str) -> str | None:
    """A mangled text as it was, where that is certain: `unmangled`, but for texts that handle such characters."""
    return None if text.isascii() or _REPLACES.search(text) else unmangled(text)


def suspicion(text: str) -> str | None:
    """Why a text looks damaged although nothing can tell what it was.

    A character that a column's character set lacks was stored as `?`. In a query a `?` stands in literals alone: in
    names, or between other words, it is what is left of something. In a literal it may well be meant.
    """
    for found in _PIECES.finditer(text):
        piece, kind = found[0], found.lastgroup
        if kind == "plain" or (kind == "name" and "?" in piece):
            return f"a '?' where no query has one, once another character perhaps: {_around(text, found.start())}"
        if kind == "literal" and _LOST.search(piece) and not _MEANT.search(piece) and not _PATTERNS.search(text):
            return f"a '?' that was another character perhaps: {_around(text, found.start())}"
    if text.isascii():
        return None
    if unmangled(text) is not None:
        if not _REPLACES.search(text):
            return None
        return "it may be UTF-8 that was read as latin1, or replace such characters: it is not repaired"
    for found in _RUNS.finditer(text):
        if unmangled(found[0]) is not None:
            return f"a part of it may be UTF-8 that was read as latin1: {_around(text, found.start())}"
    return None


def _around(text: str, place: int) -> str:
    return " ".join(text[max(0, place - 10) : place + 40].split())


def mangled(text: str) -> str:
    """A text as latin1 would show its UTF-8; the inverse of `unmangled`."""
    back = {code: character for character, code in _CODES.items()}
    return "".join(back[byte] for byte in text.encode("utf-8"))


def is_cut(text: str, column: Column) -> bool:
    """Whether a text is as long as its column can hold, or as an earlier type of it could."""
    limit = column.length or LIMITS.get(column.type)
    sizes = {len(text), len(text.encode("utf-8"))}
    if limit is not None and any(size >= limit - 3 for size in sizes):
        return True
    # A column that was widened keeps what it cut before. A whole query ends neither so, nor there by chance.
    return any(size in (4_000, 32_672, 32_700, 65_535) for size in sizes)


def texts(session: Session, schema: Schema) -> Iterator[tuple[int, str | None, str | None]]:
    """All view texts, in batches by TBL_ID."""
    if any(schema.column("TBLS", name) is None for name in COLUMNS):
        return
    quote = session.dialect.quote
    key, original, expanded = quote("TBL_ID"), *(quote(name) for name in COLUMNS)
    after = -1
    while True:
        rows = session.query(
            f"SELECT {key}, {original}, {expanded} FROM {quote('TBLS')} WHERE {key} > :after "
            f"AND ({original} IS NOT NULL OR {expanded} IS NOT NULL) ORDER BY {key} {session.dialect.limit(_BATCH)}",
            {"after": after},
        )
        yield from ((int(row[0]), row[1], row[2]) for row in rows)
        if len(rows) < _BATCH:
            return
        after = int(rows[-1][0])


def survey(session: Session, schema: Schema) -> Survey:
    """Look at all view texts."""
    broken: list[int] = []
    cut: list[tuple[int, str, int]] = []
    odd: list[tuple[int, str, str]] = []
    for tbl_id, *found in texts(session, schema):
        if any(text is not None and repaired(text) is not None for text in found):
            broken.append(tbl_id)
        for name, text in zip(COLUMNS, found, strict=True):
            column = schema.column("TBLS", name)
            if text is None or column is None:
                continue
            if is_cut(text, column):
                cut.append((tbl_id, name, len(text)))
            if reason := suspicion(text):
                odd.append((tbl_id, name, reason))
    return Survey(tuple(broken), tuple(cut), tuple(odd))
