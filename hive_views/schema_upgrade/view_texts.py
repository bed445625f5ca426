"""Damaged view texts: mojibake (UTF-8 stored as latin1) and truncated texts.

Hive's scripts create latin1 columns on MySQL and MariaDB. A client that declares UTF-8 bytes as latin1 stores each
non-ASCII character as two to four others ("naïve" as "naÃ¯ve"), which is reversible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.schema import Column, Schema
from hive_views.schema_upgrade.session import Session, in_list

COLUMNS = ("VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT")
"""The columns of TBLS with view texts."""

LIMITS = {"tinytext": 255, "text": 65_535, "mediumtext": 16_777_215, "long varchar": 32_700}
"""Maximum lengths of types, in bytes (MySQL) or characters (Derby)."""

_BATCH = 500
_BATCH_BYTES = 1_000_000
"""Maximum rows, and bytes of view texts, in one batch. Python and the drivers hold each text several times."""

_ID_BATCH = 10_000

_TOKENS = re.compile(
    r"(?P<name>`[^`]*`)|(?P<literal>'[^'\\]*(?:(?:\\.?|'')[^'\\]*)*(?:'|\Z)|\"[^\"\\]*(?:\\.?[^\"\\]*)*(?:\"|\Z))"
    r"|(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<plain>\?)",
    re.DOTALL,
)
"""Backquoted names, literals, comments, and `?` outside of them; a truncated text may end within a literal."""

_REPLACED = re.compile(r"\?\?|[^\W\d_]\?[^\W\d_]|^.\?[^\W\d_]")
"""A `?` in a literal that probably replaces a character: several in sequence, or one within or before a word."""

_INTENDED = re.compile(r"[\[\](){}*+^$|\\=&/.]")
"""Characters of patterns, URLs and paths, in which a `?` is probably intended."""

_PATTERNS = re.compile(r"(?i)\b(?:rlike|regexp\w*)\b")

_HANDLES_CHARACTERS = re.compile(r"(?i)\b(?:replace|translate|rlike|regexp\w*|encode|decode)\b")
"""Functions whose arguments may contain mojibake on purpose; texts that call them are reported and not repaired."""

_NON_ASCII = re.compile(r"[^\x00-\x7f]{2,}")

# MySQL's latin1 is Windows-1252, whose five undefined bytes map to the code points of the same number.
_CODES = {bytes([code]).decode("cp1252", "ignore") or chr(code): code for code in range(256)}


@dataclass(frozen=True)
class DamagedTexts:
    """Damaged view texts of a metastore."""

    mangled: tuple[int, ...] = ()
    """TBL_IDs of views with repairable mojibake."""
    truncated: tuple[tuple[int, str, int], ...] = ()
    """TBL_ID, column and length of texts that fill a length limit of their column, past or present."""
    suspicious: tuple[tuple[int, str, str], ...] = ()
    """TBL_ID, column and reason of texts that look damaged and cannot be repaired."""


def decode_mojibake(text: str) -> str | None:
    """Return the original of a text that is mojibake as a whole; None if it is not."""
    if text.isascii():
        return None
    try:
        decoded = bytes(_CODES[character] for character in text).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
    return decoded if decoded != text else None


def repair(text: str) -> str | None:
    """Return the repaired text.

    None if the repair is not certain, as for texts that process such characters themselves.
    """
    return None if text.isascii() or _HANDLES_CHARACTERS.search(text) else decode_mojibake(text)


def suspicion_reason(text: str) -> str | None:
    """Return the reason why a text looks damaged and cannot be repaired; None if it looks intact.

    A character that is not in the character set of its column was stored as `?`. Queries contain `?` in literals only,
    so elsewhere it replaces a character; in a literal it may be intended.
    """
    for match in _TOKENS.finditer(text):
        token, kind = match[0], match.lastgroup
        if kind == "plain" or (kind == "name" and "?" in token):
            return f"a '?' outside of literals probably replaces another character: {_excerpt(text, match.start())}"
        if kind == "literal" and _REPLACED.search(token) and not _INTENDED.search(token) and not _PATTERNS.search(text):
            return f"a '?' in a literal may replace another character: {_excerpt(text, match.start())}"
    if text.isascii():
        return None
    if decode_mojibake(text) is not None:
        if not _HANDLES_CHARACTERS.search(text):
            return None
        return "it may be UTF-8 that was read as latin1, or handle such characters on purpose: it is not repaired"
    for match in _NON_ASCII.finditer(text):
        if decode_mojibake(match[0]) is not None:
            return f"a part of it may be UTF-8 that was read as latin1: {_excerpt(text, match.start())}"
    return None


def _excerpt(text: str, offset: int) -> str:
    return " ".join(text[max(0, offset - 10) : offset + 40].split())


def is_truncated(text: str, column: Column) -> bool:
    """Return whether a text fills a length limit of its column, past or present, and so is probably truncated."""
    limit = column.length or LIMITS.get(column.type)
    sizes = {len(text), len(text.encode("utf-8"))}
    if limit is not None and any(size >= limit - 3 for size in sizes):
        return True
    # Texts truncated before their column was widened. Complete texts of exactly these lengths are improbable.
    return any(size in (4_000, 32_672, 32_700, 65_535) for size in sizes)


def texts(session: Session, schema: Schema) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield all view texts, in batches by TBL_ID."""
    if any(schema.column("TBLS", name) is None for name in COLUMNS):
        return
    for ids in id_batches(session, "[VIEW_ORIGINAL_TEXT] IS NOT NULL OR [VIEW_EXPANDED_TEXT] IS NOT NULL"):
        rows = read_texts(session, ids)
        yield from ((int(row[0]), row[1], row[2]) for row in rows)


def read_texts(session: Session, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the TBL_ID, the original and the expanded text of some rows, by TBL_ID."""
    sql = f"FROM [TBLS] WHERE [TBL_ID] IN ({in_list(ids)}) ORDER BY [TBL_ID]"
    return session.query(session.dialect.sql(f"SELECT [TBL_ID], [VIEW_ORIGINAL_TEXT], [VIEW_EXPANDED_TEXT] {sql}"))


def id_batches(session: Session, condition: str) -> Iterator[list[int]]:
    """Yield the TBL_IDs of the rows that satisfy a condition, in batches whose texts fit into memory together."""
    length = " + ".join(f"COALESCE({session.dialect.byte_length(f'[{name}]')}, 0)" for name in COLUMNS)
    sql = session.dialect.sql(
        f"SELECT [TBL_ID], {length} FROM [TBLS] WHERE [TBL_ID] > :after AND ({condition}) ORDER BY [TBL_ID] "
        f"{session.dialect.limit(_ID_BATCH)}"
    )
    after = -1
    while True:
        rows = session.query(sql, {"after": after})
        batch: list[int] = []
        size = 0
        for tbl_id, bytes_of_texts in rows:
            if batch and (len(batch) == _BATCH or size + int(bytes_of_texts) > _BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(int(tbl_id))
            size += int(bytes_of_texts)
        if batch:
            yield batch
        if len(rows) < _ID_BATCH:
            return
        after = int(rows[-1][0])


def find_damaged_texts(session: Session, schema: Schema) -> DamagedTexts:
    """Search all view texts for damage."""
    repairable: list[int] = []
    unrepairable: dict[int, str] = {}
    truncated: list[tuple[int, str, int]] = []
    suspicious: list[tuple[int, str, str]] = []
    columns = [schema.column("TBLS", name) for name in COLUMNS]
    encoding = _encoding(session)
    for tbl_id, *view_texts in texts(session, schema):
        repaired = [new_text for text in view_texts if text is not None and (new_text := repair(text)) is not None]
        if not all(_is_storable(text, encoding) for text in repaired):
            unrepairable[tbl_id] = f"the encoding {encoding} of the database may lack its characters"
        elif repaired:
            repairable.append(tbl_id)
        for name, column, text in zip(COLUMNS, columns, view_texts, strict=True):
            if text is None or column is None:
                continue
            if is_truncated(text, column):
                truncated.append((tbl_id, name, len(text)))
            if reason := suspicion_reason(text):
                suspicious.append((tbl_id, name, reason))
    unrepairable |= dict.fromkeys(_iceberg_views(session, repairable), "its metadata file has the text")
    suspicious += [
        (tbl_id, COLUMNS[0], f"it may be UTF-8 that was read as latin1; {reason}: it is not repaired")
        for tbl_id, reason in unrepairable.items()
    ]
    mangled = tuple(tbl_id for tbl_id in repairable if tbl_id not in unrepairable)
    return DamagedTexts(mangled, tuple(truncated), tuple(sorted(suspicious)))


def _encoding(session: Session) -> str | None:
    """Return the encoding of a PostgreSQL database; None if it is UTF-8, and for other databases."""
    if session.dialect.name != Database.POSTGRESQL:
        return None
    encoding = str(session.query("SHOW server_encoding")[0][0])
    return None if encoding == "UTF8" else encoding


def _is_storable(text: str, encoding: str | None) -> bool:
    """Return whether an encoding has all characters of a text; False if Python does not know the encoding."""
    try:
        text.encode((encoding or "utf-8").replace("WIN", "cp"))
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _iceberg_views(session: Session, ids: Sequence[int]) -> set[int]:
    """Return the TBL_IDs of rows with a metadata file, from which their texts can be generated again."""
    iceberg_views: set[int] = set()
    for start in range(0, len(ids), _BATCH):
        listed = in_list(ids[start : start + _BATCH])
        sql = f"SELECT [TBL_ID] FROM [TABLE_PARAMS] WHERE [PARAM_KEY] = 'metadata_location' AND [TBL_ID] IN ({listed})"
        iceberg_views |= {int(row[0]) for row in session.query(session.dialect.sql(sql))}
    return iceberg_views
