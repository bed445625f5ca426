"""The problems of views whose texts earlier releases wrote."""

from __future__ import annotations

import pytest

from hive_views.identifiers import ViewName
from hive_views.sql.analysis.validity import find_problems
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.text.dialects import Dialect
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"id": "int", "x": "string"}})


@pytest.mark.parametrize(
    ("typed", "row", "problems"),
    [
        ("select q.id from (select Id from t) q", "select `q`.`id` from (select `t`.`id` from `d`.`t`) `q`", []),
        (
            "select struct(Id) s from t",
            "select struct(`t`.`id`) `s` from `d`.`t`",
            ["the typed text means something else now: recompile the view to adopt that"],
        ),
        (
            "select Id from t limit 1, 2",
            "select `t`.`id` from `d`.`t` limit 1, 2",
            ["Spark does not read its text at ', 2'"],
        ),
    ],
)
def test_problems_of_a_row_of_an_earlier_release(typed: str, row: str, problems: list[str]) -> None:
    text = ViewText(ViewName("d", "v"), typed, Dialect.SPARK, "d", row, has_hive_text=True)
    kind = "struct<id:int>" if "struct" in typed else "int"
    columns = [("s" if "struct" in typed else "id", kind)]
    found, _ = find_problems(text, TABLES, columns)
    assert [problem.reason for problem in found] == problems


def test_text_of_a_plain_view_is_not_checked_by_the_grammar() -> None:
    """A setting in the row of the view can make double quotes the quotes of names."""
    text = ViewText(ViewName("d", "v"), 'select "id" c from t', Dialect.SPARK, "d", None, has_hive_text=None)
    found, _ = find_problems(text, TABLES, [("c", "string")])
    assert found == []
