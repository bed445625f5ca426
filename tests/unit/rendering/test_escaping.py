"""Invisible and bidirectional control characters are escaped; all others are kept."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.rendering.escaping import escape, escape_json

ANY = st.text(st.characters(categories=["L", "M", "N", "P", "S", "Z", "C"]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("orders_2024 Ελλάδα 注文 👩‍👧", "orders_2024 Ελλάδα 注文 👩‍👧"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("\ufeffa\u200bb", "\\ufeffa\\u200bb"),
        ("a\x1b[31mb\x7f\x9b", "a\\x1b[31mb\\x7f\\x9b"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("a\u2028b", "a\\u2028b"),
        ("\ud800", "\\ud800"),
        ("مبيعات", "مبيعات"),
    ],
)
def test_escape_replaces_hidden_characters(text, shown):
    assert escape(text) == shown


def test_escape_keeps_line_breaks_on_request():
    assert escape("a\n\tb\r\n\x00", lines=True) == "a\n\tb\\x0d\n\\x00"


@given(ANY)
def test_escape_is_complete_and_idempotent(text):
    shown = escape(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    bidirectional = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    for character in shown:
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in bidirectional
    assert escape(shown) == shown


@given(ANY)
def test_escape_json_keeps_value(text):
    shown = escape_json(json.dumps({text: [text]}, ensure_ascii=False, indent=2))
    assert json.loads(shown) == {text: [text]}
    assert escape(shown, lines=True) == shown
