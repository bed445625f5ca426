"""HTML pages of one file that open from disk: no network, no other file, whatever texts they show.

Names and texts reach a page as JSON alone, and its script puts them there as text. The page's own content security
policy names the hashes of its script and style: nothing else runs or loads, even if a text should find a way out.
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
"""The id of the element that holds the data; the script finds them in a constant of that name."""

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
    """JSON that can stand in an HTML element of any kind, and in an attribute's quotes of either kind."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # All of these occur within JSON's strings only.
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page(title: str, *, style: str, body: str, script: str, data: Any) -> str:
    """A whole page."""
    script = f"{_OPENING}{script}"
    style = f"{_COLORS}{style}"
    for part in (script, style):
        if found := _ENDS_ELEMENT.search(part):
            raise ValueError(f"{found[0]!r} in a page's script or style would end it")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'"
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
    """A piece of a page that is kept as a file of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
