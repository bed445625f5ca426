"""Escaping of invisible and bidirectional control characters in untrusted text.

A name with a right-to-left override is displayed as another name (Unicode TR36, CVE-2021-42574), control characters
control a terminal, and half a surrogate pair cannot be encoded.
"""

from __future__ import annotations

import re

_LINES = "\n\t"

# Controls (C0, C1), surrogates, line separators, direction marks and overrides, zero-width characters. Zero-width
# joiners are kept: scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def escape(text: str, *, lines: bool = False) -> str:
    r"""Escape invisible and bidirectional control characters: a right-to-left override becomes `\u202e`."""
    return _HIDDEN.sub(lambda match: match[0] if lines and match[0] in _LINES else _escape_sequence(match[0]), text)


def escape_optional(text: str | None) -> str | None:
    """Escape a text of several lines; None stays None."""
    return None if text is None else escape(text, lines=True)


def escape_json(text: str) -> str:
    """Escape the same characters in JSON with JSON escapes, which keeps its meaning."""
    return _HIDDEN.sub(lambda match: match[0] if match[0] in _LINES else f"\\u{ord(match[0]):04x}", text)


def _escape_sequence(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) > 0xFF else f"\\x{ord(character):02x}"
