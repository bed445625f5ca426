"""JSON that other programs may have written."""

from __future__ import annotations

import pytest

from hive_views.spec.json_text import parse_json


def test_document_is_parsed():
    assert parse_json(b'{"a": [1]}') == parse_json('{"a": [1]}') == {"a": [1]}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' * 100_000, b"\xff", "9" * 10_000])
def test_any_fault_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse_json(text)
