"""Lists that a page of the site renders as running text."""

from __future__ import annotations

import pytest

from website.running_lists import running_lists


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>Exit codes:\n- 1: it fails;\n- 2: it is edited.</p>", ["- 1: it fails;", "- 2: it is edited."]),
        ("<p>A commit:\n1. write the file\n2. lock</p>", ["1. write the file", "2. lock"]),
        ("<ul><li>an item\n * a nested one</li></ul>", ["* a nested one"]),
        ("<p>Not <em>rewritten</em> are\n- <code>a</code> and more</p>", ["- `a and more"]),
        ("<p>Exit codes:</p>\n<ul>\n<li>1: it fails;</li>\n</ul>", []),
        ("<pre><code>a\n- b\n1. c\n</code></pre>", []),
        ("<ul><li><code>* EXCEPT (a)</code></li><li>a range of 3\n-5 degrees</li></ul>", []),
        ("<table><tr><td>-</td><td>1.5</td></tr></table>", []),
    ],
)
def test_lines_with_the_marker_of_a_list_are_returned(html: str, lines: list[str]) -> None:
    assert running_lists(html) == lines
