"""Self-contained HTML pages that open from disk, without network access or other files.

Data is embedded as JSON, and the page's script inserts it as text. The content security policy lists the hashes of the
page's script and style, so nothing else is executed or loaded even if the escaping of a text failed.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

from hive_views.rendering.escaping import escape

DATA = "data"
"""The id of the element with the data, and the name of the script's constant."""

_ENDS_ELEMENT = re.compile(r"</(?:script|style)|<!--", re.IGNORECASE)

_OPENING = f'"use strict";\nconst {DATA} = JSON.parse(document.getElementById("{DATA}").textContent);\n'

_COLORS = """\
:root {
  color-scheme: light dark;
  --paper: #ffffff; --raised: #f6f7f9; --line: #d5d9e0; --ink: #1b1f27; --faint: #5d6675;
  --accent: #1f5fd0; --good: #1a7f4b; --warning: #9a5b00; --bad: #c3262f; --unknown: #6b5fa8;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root:not([data-theme="light"]) {
    --paper: #14171d; --raised: #1d222b; --line: #363d4a; --ink: #e7eaf0; --faint: #9aa5b6;
    --accent: #7eabff; --good: #55c48a; --warning: #e5a94b; --bad: #ff7b80; --unknown: #b5a8f0;
  }
}
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] {
  color-scheme: dark;
  --paper: #14171d; --raised: #1d222b; --line: #363d4a; --ink: #e7eaf0; --faint: #9aa5b6;
  --accent: #7eabff; --good: #55c48a; --warning: #e5a94b; --bad: #ff7b80; --unknown: #b5a8f0;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.45 var(--sans); }
"""


def embed_json(value: Any) -> str:
    """Return JSON that is safe in any HTML element and in a quoted attribute."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # These characters only occur in strings of JSON.
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page(title: str, *, style: str, body: str, script: str, data: Any, uses_images: bool = False) -> str:
    """Return a complete page; `uses_images` allows images that its script creates."""
    script = f"{_OPENING}{script}"
    style = f"{_COLORS}{style}"
    for part in (script, style):
        if found := _ENDS_ELEMENT.search(part):
            raise ValueError(f"{found[0]!r} in a page's script or style would close its element")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'"
    if uses_images:
        policy += "; img-src blob:"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(escape(title)).encode('ascii', 'xmlcharrefreplace').decode()}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f'<script type="application/json" id="{DATA}">{embed_json(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def part(package: str, name: str) -> str:
    """Return the text of a package's file."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
