"""Tables for notebooks."""

from xml.etree import ElementTree

import pytest

from hive_views.rendering import html_table

HOSTILE = '<script>alert(1)</script>"&\u202e'


@pytest.mark.parametrize("header", [(), ("a", HOSTILE)])
def test_table_contains_texts_and_no_other_elements(header):
    tree = ElementTree.fromstring(html_table(HOSTILE, [(HOSTILE, None), ("line\nline", 1)], header))
    assert {element.tag for element in tree.iter()} <= {"table", "caption", "tr", "th", "td"}
    shown = HOSTILE.replace("\u202e", "\\u202e")
    assert tree.findtext("caption") == shown
    cells = [[cell.text or "" for cell in row] for row in tree.iter("tr")]
    assert cells == [*([["a", shown]] if header else []), [shown, ""], ["line\nline", "1"]]
