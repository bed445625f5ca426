"""Rows in Trino's encoding whose JSON has values that Trino does not write."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.readers.trino import read
from hive_views.metastore.rows.row import read_row
from hive_views.metastore.trino_encoding import decode
from tests.integration.legacy_import.rows import trino_view_row


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"comment": 1}, "comment is 1, which is no text"),
        ({"catalog": 7}, "catalog is 7, which is no text"),
        ({"owner": ["a"]}, "owner is ['a'], which is no text"),
        ({"originalSql": 5}, "originalSql is 5, which is no text"),
        ({"columns": [{"name": 1, "type": "integer"}]}, "name is 1, which is no text"),
        ({"columns": [{"name": "a", "type": "integer", "comment": 2}]}, "comment is 2, which is no text"),
        ({"columns": [{"name": "a", "type": {}}]}, "type is {}, which is no text"),
        ({"columns": None}, "TypeError"),
    ],
)
def test_value_of_another_type_makes_the_view_unreadable(document: dict[str, Any], reason: str) -> None:
    row = trino_view_row("d", "v", "SELECT 1 a", [("a", "integer")])
    encoded = json.dumps({**decode(row.viewOriginalText), **document}).encode()
    row.viewOriginalText = f"/* Presto View: {base64.b64encode(encoded).decode()} */"
    view = read(read_row(row))
    assert view.problem is not None
    assert view.problem.reason is Reason.UNREADABLE
    assert reason in view.problem.text


@pytest.mark.parametrize(
    ("kind", "becomes"),
    [
        ("varchar(10)", "string"),
        ("char(3)", "string"),
        ("char", "string"),
        ("array(varchar(5))", "array<string>"),
        ("row(a varchar(5), b integer)", "struct<a:string,b:int>"),
        ("varchar", None),
        ("map(varchar, bigint)", None),
        ("decimal(10,2)", None),
    ],
)
def test_text_that_loses_its_length_is_noted(kind: str, becomes: str | None) -> None:
    view = read(read_row(trino_view_row("d", "v", "SELECT 1 a", [("a", kind)])))
    assert view.notes == (() if becomes is None else (f"column a: {kind} becomes {becomes}",))


def test_type_that_is_nested_too_deeply_is_refused() -> None:
    kind = "array(" * 3000 + "integer" + ")" * 3000
    view = read(read_row(trino_view_row("d", "v", "SELECT 1 a", [("a", kind)])))
    assert view.problem is not None
    assert view.problem.reason is Reason.TYPE
    assert view.problem.text.endswith("it is nested too deeply: more than 100 levels")
