"""UTF-8 text that was read as Latin-1: what is left of it in metastores whose columns are latin1."""

from __future__ import annotations

import re

_CONTINUED = "\u0080-\u00bf" + "".join(bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0))
_LEAD = re.compile(f"[\u00c2-\u00f4][{_CONTINUED}]")
_TIMES = 3


def demangled(text: str) -> str | None:
    """The text as it was before its UTF-8 bytes were taken for Latin-1 (or Windows-1252) characters.

    Args:
        text: A text of a metastore.

    Returns:
        The text whose UTF-8 bytes, read so once or several times, give exactly `text`; None where there is none, or
        where `text` holds nothing that looks like it.
    """
    found = None
    for _ in range(_TIMES):
        once = _once(text)
        if once is None:
            break
        found = text = once
    return found


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
