"""Quoting of identifiers, and the places that write identifiers into SQL texts."""

from __future__ import annotations

import pytest
from pyiceberg.types import StringType

from hive_views.materialized.refresh.partition_changes import partition_condition
from hive_views.sql.text.quoting import (
    quote_identifier,
    quote_name,
    quote_qualified,
    split_name,
    unquote_identifier,
)


@pytest.mark.parametrize(
    ("name", "quote", "quoted"),
    [
        ("orders", "`", "`orders`"),
        ("a`b", "`", "`a``b`"),
        ('a"b', "`", '`a"b`'),
        ("orders", '"', '"orders"'),
        ('a"b', '"', '"a""b"'),
        ("", "`", "``"),
    ],
)
def test_quote_identifier_doubles_inner_quotes(name: str, quote: str, quoted: str) -> None:
    assert quote_identifier(name, quote) == quoted
    assert unquote_identifier(quoted) == name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("sales", ("sales",)),
        ("prod.sales", ("prod", "sales")),
        ("`a-b`", ("a-b",)),
        ("prod.`a.b``c`", ("prod", "a.b`c")),
    ],
)
def test_split_name_is_the_reverse_of_quoting(text: str, parts: tuple[str, ...]) -> None:
    assert split_name(text) == parts
    assert split_name(quote_name(parts)) == parts


def test_unquote_identifier_keeps_unquoted_text() -> None:
    assert [unquote_identifier(raw) for raw in ("a", "`", '`a"', "a`b")] == ["a", "`", '`a"', "a`b"]


def test_qualified_names_quote_each_part() -> None:
    assert quote_qualified("t`1", "c", "`") == "`t``1`.`c`"
    assert quote_name(("prod", "db", "a.b`c")) == "`prod`.`db`.`a.b``c`"


def test_partition_condition_escapes_column_name() -> None:
    assert partition_condition("a`b", StringType(), [None]) == "`a``b` IS NULL"
