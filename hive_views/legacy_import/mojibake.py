"""Mojibake: UTF-8 text that was decoded as Latin-1, as metastores whose database columns are latin1 return it."""

from __future__ import annotations

import re
from dataclasses import replace

from hive_views.legacy_import.legacy_view import LegacyView

_CONTINUATION = "\u0080-\u00bf" + "".join(bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0))
_LEAD = re.compile(f"[\u00c2-\u00f4][{_CONTINUATION}]")
_MAX_ROUNDS = 3
"""How often a text may have been decoded wrongly in a row."""


def decode_mojibake(text: str) -> str | None:
    """Return the text whose UTF-8 bytes were decoded as Latin-1 or Windows-1252; None if it does not look like that."""
    decoded = None
    for _ in range(_MAX_ROUNDS):
        once = _decode_once(text)
        if once is None:
            break
        decoded = text = once
    return decoded


def repair_columns(view: LegacyView, mode: str) -> LegacyView:
    """Repair mojibake in comments and columns, or add a note about it; `mode` is one of MOJIBAKE_MODES.

    It is no reason to refuse a view whose text is intact, because the text contains the names of the columns.
    """
    if mode == "keep":
        return view
    columns, repairs = [], []
    for column in view.columns:
        # The row of a partitioned view keeps its columns.
        texts = {} if view.partitioned else {"name": column.name, "type": column.type}
        texts["comment"] = column.comment or ""
        repaired = {key: decoded for key, text in texts.items() if (decoded := decode_mojibake(text)) is not None}
        repairs += [f"{key} of column {column.name}: {text}" for key, text in repaired.items()]
        columns.append(replace(column, **repaired))
    comment = decode_mojibake(view.comment or "")
    if comment is not None:
        repairs.append(f"comment: {comment}")
    if not repairs:
        return view
    summary = "; ".join(repairs)[:300]
    if mode == "refuse":
        note = f"looks like UTF-8 that a latin1 database damaged, and stays so without --mangled repair: {summary}"
        return view if note in view.notes else replace(view, notes=(*view.notes, note))
    note = f"damage by a latin1 database is repaired: {summary}"
    return replace(view, columns=tuple(columns), comment=comment or view.comment, notes=(*view.notes, note))


def _decode_once(text: str) -> str | None:
    if not _LEAD.search(text):
        return None
    for codec in ("latin-1", "cp1252"):
        try:
            decoded = text.encode(codec).decode("utf-8")
        except UnicodeError:
            continue
        if decoded != text:
            return decoded
    return None
