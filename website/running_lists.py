"""Lists that a page renders as running text: Markdown needs a blank line between a paragraph and a list."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_MARKER = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_BLOCKS = frozenset({"p", "li", "td", "th", "dd", "dt", "blockquote", "div", "ul", "ol", "dl", "table"})
_TEXTS = frozenset({"p", "li", "dd", "td"})
"""The elements whose lines are checked; the text of a nested block belongs to that block."""
_PREFORMATTED = frozenset({"pre", "script", "style"})


def running_lists(html: str) -> list[str]:
    """Return the lines of paragraphs and list items that begin with the marker of a list."""
    parser = _Lines()
    parser.feed(html)
    parser.close()
    return [line.strip() for line in parser.lines if _MARKER.match(line)]


class _Lines(HTMLParser):
    """The lines of text in each block."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[tuple[str, list[str]]] = []
        self._preformatted = self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._preformatted += tag in _PREFORMATTED
        self._code += tag == "code"
        if tag in _BLOCKS:
            self._open.append((tag, []))

    def handle_endtag(self, tag: str) -> None:
        self._preformatted -= tag in _PREFORMATTED
        self._code -= tag == "code"
        while tag in _BLOCKS and any(name == tag for name, _ in self._open):
            name, texts = self._open.pop()
            if name in _TEXTS:
                self.lines += "".join(texts).split("\n")
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._open and not self._preformatted:
            # Code such as `* EXCEPT` is no marker.
            self._open[-1][1].append(f"`{data}" if self._code else data)
