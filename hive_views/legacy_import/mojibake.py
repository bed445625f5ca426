"""UTF-8 text that was read as Latin-1: what is left of it in metastores whose columns are latin1."""

from __future__ import annotations

import re
from dataclasses import replace

from hive_views.legacy_import.model import LegacyView

_CONTINUED = "\u0080-\u00bf" + "".join(bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0))
_LEAD = re.compile(f"[\u00c2-\u00f4][{_CONTINUED}]")
_TIMES = 3


def demangled(text: str) -> str | None:
    """The text as it was before its UTF-8 bytes were taken for Latin-1 (or Windows-1252) characters."""
    found = None
    for _ in range(_TIMES):
        once = _once(text)
        if once is None:
            break
        found = text = once
    return found


def mended_columns(view: LegacyView, how: str) -> LegacyView:
    """A view with its comments, and its columns' names and types, repaired where that is wanted, or told of.

    Beside a whole text that is no reason to refuse the view: a column's name stands in the text as well.
    """
    if how == "keep":
        return view
    columns, found = [], []
    for column in view.columns:
        # The row of a partitioned view keeps its own columns.
        texts = {} if view.partitioned else {"name": column.name, "type": column.type}
        texts["comment"] = column.comment or ""
        new = {key: repaired for key, text in texts.items() if (repaired := demangled(text)) is not None}
        found += [f"{key} of column {column.name}: {text}" for key, text in new.items()]
        columns.append(replace(column, **new))
    comment = demangled(view.comment or "")
    if comment is not None:
        found.append(f"comment: {comment}")
    if not found:
        return view
    listed = "; ".join(found)[:300]
    if how == "refuse":
        note = f"looks like UTF-8 that a latin1 database damaged, and stays so without --mangled repair: {listed}"
        return view if note in view.told else replace(view, told=(*view.told, note))
    note = f"repaired is what a latin1 database damaged: {listed}"
    return replace(view, columns=tuple(columns), comment=comment or view.comment, told=(*view.told, note))


def _once(text: str) -> str | None:
    if not _LEAD.search(text):
        return None
    for codec in ("latin-1", "cp1252"):
        try:
            repaired = text.encode(codec).decode("utf-8")
        except UnicodeError:
            continue
        if repaired != text:
            return repaired
    return None
