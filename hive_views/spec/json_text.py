"""JSON in properties, parameters and files."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Parse JSON from any program; all errors are ValueErrors, even if the nesting is too deep for Python."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def compact_json(document: Any, *, sort_keys: bool = False, ensure_ascii: bool = True) -> str:
    """Encode JSON without blanks."""
    return json.dumps(document, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=ensure_ascii)
