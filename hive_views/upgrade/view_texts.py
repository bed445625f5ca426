"""Damaged view texts: UTF-8 that was stored as latin1, and texts that a column cut off.

MySQL's and MariaDB's columns are latin1 by Hive's scripts. A client that sends UTF-8 and calls it latin1 stores every
character beyond ASCII as two to four others ("naïve" as "naÃ¯ve"); read as what it was, the text comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hive_views.upgrade.schema import Column, Schema
from hive_views.upgrade.session import Session

COLUMNS = ("VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT")
"""The columns of TBLS that hold texts."""

LIMITS = {"tinytext": 255, "text": 65_535, "mediumtext": 16_777_215, "long varchar": 32_700}
"""Bytes (MySQL) or characters (Derby) that a type holds at most."""

_BATCH = 500

# What MySQL calls latin1 is Windows-1252, with the five codes that it lacks as they are.
_CODES = {bytes([code]).decode("cp1252", "ignore") or chr(code): code for code in range(256)}


@dataclass(frozen=True)
class Survey:
    """What all view texts are like."""

    mangled: tuple[int, ...] = ()
    """TBL_IDs of views with a text that was stored as latin1."""
    truncated: tuple[tuple[int, str, int], ...] = ()
    """TBL_ID, column and length of texts that are as long as their column ever could hold."""


def unmangled(text: str) -> str | None:
    """A text as it was before UTF-8 was taken for latin1.

    Args:
        text: A text as it is stored.

    Returns:
        The text as it was; None where it was never mangled (or cannot have been: it is not UTF-8 then).
    """
    if text.isascii():
        return None
    try:
        found = bytes(_CODES[character] for character in text).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
    return found if found != text else None


def mangled(text: str) -> str:
    """A text as latin1 would show its UTF-8; the inverse of `unmangled`."""
    back = {code: character for character, code in _CODES.items()}
    return "".join(back[byte] for byte in text.encode("utf-8"))


def is_cut(text: str, column: Column) -> bool:
    """Whether a text is as long as its column can hold, or as an earlier type of it could.

    Args:
        text: The text.
        column: Its column.

    Returns:
        True where its end is missing, as far as one can tell.
    """
    limit = column.length or LIMITS.get(column.type)
    sizes = {len(text), len(text.encode("utf-8"))}
    if limit is not None and any(size >= limit - 3 for size in sizes):
        return True
    # A column that was widened keeps what it cut before. A whole query ends neither so, nor there by chance.
    return any(size in (4_000, 32_672, 32_700, 65_535) for size in sizes)


def texts(session: Session, schema: Schema) -> Iterator[tuple[int, str | None, str | None]]:
    """All view texts, in batches by TBL_ID.

    Args:
        session: The database.
        schema: Its schema.

    Yields:
        TBL_ID, original text and expanded text of each row that has one of them.
    """
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
    """Look at all view texts.

    Args:
        session: The database.
        schema: Its schema.

    Returns:
        What is damaged.
    """
    broken: list[int] = []
    cut: list[tuple[int, str, int]] = []
    for tbl_id, *found in texts(session, schema):
        if any(text is not None and unmangled(text) is not None for text in found):
            broken.append(tbl_id)
        for name, text in zip(COLUMNS, found, strict=True):
            column = schema.column("TBLS", name)
            if text is not None and column is not None and is_cut(text, column):
                cut.append((tbl_id, name, len(text)))
    return Survey(tuple(broken), tuple(cut))
