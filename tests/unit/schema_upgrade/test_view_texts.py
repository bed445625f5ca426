"""Mojibake and truncated view texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.schema_upgrade.schema import Column
from hive_views.schema_upgrade.view_checks import has_fixed_columns
from hive_views.schema_upgrade.view_texts import decode_mojibake, is_truncated, repair, suspicion_reason

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)


@given(texts)
def test_mojibake_round_trip(text: str) -> None:
    mojibake = "".join(bytes([code]).decode("cp1252", "ignore") or chr(code) for code in text.encode("utf-8"))
    assert decode_mojibake(mojibake) == (None if text.isascii() else text)


@given(st.text(alphabet="abc äöüéñß 'select from", min_size=1))
def test_latin1_text_is_not_mojibake(text: str) -> None:
    """A single accented letter is never a valid UTF-8 sequence."""
    assert decode_mojibake(text) is None


@pytest.mark.parametrize("text", ["select 1", "", "naïve", "東京", "SELECT 'Ã' FROM t"])
def test_intact_texts_are_not_mojibake(text: str) -> None:
    assert decode_mojibake(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT replace(a, 'Ã©', 'e') AS a FROM t",
        "SELECT regexp_replace(`a`, 'Ã¼', 'ue') FROM `sales`.`t`",
        "SELECT translate(a, 'Ã©Ã¼', 'eu') FROM t",
    ],
)
def test_text_with_intended_mojibake_is_reported_but_not_repaired(text: str) -> None:
    assert decode_mojibake(text) is not None
    assert repair(text) is None
    assert suspicion_reason(text) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t", None),
        ("SELECT a FROM t WHERE b = 'who?'", None),
        ("SELECT a FROM t WHERE b = '?'", None),
        ("SELECT a FROM t WHERE b RLIKE 'colou?r'", None),
        ("SELECT parse_url('http://h/p?q=1', 'QUERY') FROM t", None),
        ("SELECT get_json_object(a, '$.b?c') FROM t", None),
        ("SELECT a -- really?\nFROM t /* ?? */", None),
        ("SELECT a FROM t WHERE b = 'Zürich'", None),
        (20_000 * "'\\", None),
        (20_000 * "/* ", None),
        ("SELECT a FROM t WHERE b = 'it''s ?'", None),
        ("SELECT `na?ve` FROM t", "outside of literals"),
        ("SELECT `??` FROM t", "outside of literals"),
        ("SELECT a AS pr?s FROM t", "outside of literals"),
        ("SELECT a FROM t WHERE b = 'Z?rich'", "in a literal"),
        ("SELECT a FROM t WHERE b = '?lodz'", "in a literal"),
        ('SELECT a FROM t WHERE b = "??"', "in a literal"),
        ("SELECT 'ZÃ¼rich', '東京' FROM t", "a part of it"),
    ],
)
def test_suspicious_texts(text: str, expected: str | None) -> None:
    reason = suspicion_reason(text)
    assert (reason is None) == (expected is None), reason
    assert expected is None or expected in str(reason)


TRUNCATED = [
    ("x" * 100, Column(name="t", type="mediumtext"), False),
    ("x" * 65_535, Column(name="t", type="mediumtext"), True),
    ("x" * 65_534, Column(name="t", type="text"), True),
    ("é" * 32_767, Column(name="t", type="text"), True),
    ("x" * 32_700, Column(name="t", type="long varchar"), True),
    ("x" * 4_000, Column(name="t", type="varchar", length=4000), True),
    ("x" * 3_000, Column(name="t", type="varchar", length=4000), False),
    ("x" * 1_000_000, Column(name="t", type="text", length=None), False),
]


@pytest.mark.parametrize(("text", "column", "expected"), TRUNCATED)
def test_truncated_texts(text: str, column: Column, expected: bool) -> None:
    if column.type == "text" and len(text) == 1_000_000:
        column = Column(name="t", type="clob")
    assert is_truncated(text, column) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a, upper(b) AS c, count(*) FROM t WHERE a > 7 GROUP BY a, b", True),
        ("SELECT * FROM t", False),
        ("SELECT t.* FROM t", False),
        ("SELECT `(ds|hr)?+.+` FROM t", False),
        ("SELECT inline(a) FROM t", False),
        ("SELECT EXPLODE(a) FROM t", False),
        ("SELECT my_udtf(a) FROM t", False),
        ("SELECT TRANSFORM (a) USING 'cat' FROM t", False),
        ("SELECT upper /* or */ (a) FROM t", False),
    ],
)
def test_texts_whose_columns_cannot_change(text: str, expected: bool) -> None:
    assert has_fixed_columns(text) is expected
