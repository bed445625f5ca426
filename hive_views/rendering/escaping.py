"""Texts of others as people can look at them: what hides, or changes how its neighbors are seen, is spelled out.

A name with a right-to-left override reads as another name (Unicode TR36, CVE-2021-42574); a control character steers a
terminal; half a surrogate pair cannot be written to a file at all.
"""

from __future__ import annotations

import re

_LINES = "\n\t"

# Controls (C0, C1), surrogates, separators of lines, marks and overrides of direction, and what has no width.
# Zero-width joiners stay: scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def escape(text: str, *, lines: bool = False) -> str:
    r"""Escape invisible and bidirectional control characters: a right-to-left override becomes `\u202e`."""
    return _HIDDEN.sub(lambda found: found[0] if lines and found[0] in _LINES else _spelled(found[0]), text)


def escape_json(text: str) -> str:
    """JSON that means the same, in which every character that hides, or hides others, is an escape of JSON's own."""
    return _HIDDEN.sub(lambda found: found[0] if found[0] in _LINES else f"\\u{ord(found[0]):04x}", text)


def _spelled(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) > 0xFF else f"\\x{ord(character):02x}"
