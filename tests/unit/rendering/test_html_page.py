"""Self-contained pages: hostile data is not executed, and only the page's own script runs."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.rendering.html_page import embed_json, page, part

HOSTILE = [
    "</script><script>window.escaped = 1</script>",
    "<!--<script>",
    "]]>",
    "'\"&amp;<b>&#60;",
    "\u2028\u2029\u202e\x00\x1f\ud800",
    "</SCRIPT ><img src=x onerror='window.escaped = 1'>",
    "\\u003c/script\\u003e",
    "مبيعات 注文 😀",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES)
def test_embedded_json_keeps_value(value):
    text = embed_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&'") & set(text)


def test_embed_json_rejects_nan_and_infinity():
    with pytest.raises(ValueError):
        embed_json(float("nan"))
    with pytest.raises(TypeError):
        embed_json({1})


@pytest.mark.parametrize("wrong", ["a = '</script>'", "x = '<!-- '", "/* </STYLE> */"])
def test_page_rejects_script_that_closes_its_element(wrong):
    with pytest.raises(ValueError, match="would close"):
        page("t", style="", body="", script=wrong, data=None)
    with pytest.raises(ValueError, match="would close"):
        page("t", style=wrong, body="", script="", data=None)


def test_page_title_is_escaped():
    document = page("</title><b>\u202e&é\ud800", style="", body="", script="", data=None)
    assert "<title>&lt;/title&gt;&lt;b&gt;\\u202e&amp;&#233;\\ud800</title>" in document
    assert document.isascii()


def test_page_references_no_other_resource():
    document = page("t", style="p {}", body="<p>", script="data;", data=1)
    assert not re.search(r"https?:|src=|href=|@import|url\(", document)


def test_part_reads_package_file():
    assert part("hive_views", "py.typed") == ""


def test_hostile_data_is_not_executed_in_browser(browser):
    script = "window.seen = data; for (const text of data) document.querySelector('p').append(text);"
    browser.requests()
    browser.open(page("t", style="", body="<p></p>", script=script, data=HOSTILE))
    assert browser.run("return window.seen[0]") == HOSTILE[0]
    assert browser.run("return JSON.stringify(window.seen)") == browser.run(
        "return JSON.stringify(JSON.parse(arguments[0]))", json.dumps(HOSTILE)
    )
    assert browser.run("return [document.scripts.length, document.images.length, window.escaped ?? null]") == [
        2,
        0,
        None,
    ]
    assert browser.console() == []
    assert len(browser.requests()) == 1


def test_content_security_policy_blocks_other_scripts_and_resources(browser):
    body = (
        "<p onclick='window.ran = 1'>x</p><script>window.ran = 2</script>"
        "<img src='http://127.0.0.1:9/x.png'><style>p { color: rgb(1, 2, 3) }</style>"
    )
    browser.open(page("t", style="p { color: rgb(4, 5, 6) }", body=body, script="window.own = 1;", data=None))
    browser.run("document.querySelector('p').click()")
    assert browser.run("return [window.ran ?? null, window.own]") == [None, 1]
    assert browser.run("return getComputedStyle(document.querySelector('p')).color") == "rgb(4, 5, 6)"
    assert len([line for line in browser.console() if "Content Security Policy" in line]) >= 3


def test_page_has_light_and_dark_theme(browser):
    document = page("t", style="", body="", script="", data=None)
    colors = {}
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(document)
        colors[scheme] = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert colors == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 29)"}
