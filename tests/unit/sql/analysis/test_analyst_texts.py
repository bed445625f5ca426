"""Queries as analysts write them, TPC-H and TPC-DS among them: texts of their rows, and predictions for Trino.

`analyst_texts.jsonl` has the text of the row that Trino 483 read, and what it did with it. `make test-trino` and
`make test-hive` measure them on the rows of `analyst_tables.json`.
"""

from __future__ import annotations

import json

import pytest

from hive_views.config import RowTextForms
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.row_text import row_text
from hive_views.sql.analysis.trino_translation import trino_findings
from hive_views.sql.writing.definition import hive_text
from hive_views.sql.writing.expand import expand
from tests.unit.sql.hive_fixtures import FIXTURES, load_cases
from tests.unit.sql.tables import Tables

DATABASE = "w"
TABLES = json.loads((FIXTURES / "analyst_tables.json").read_text(encoding="utf-8"))
"""The Hive types of the columns of each table, and its rows."""
SCHEMAS = Tables({name: table["columns"] for name, table in TABLES.items()})
CASES = load_cases("analyst_texts.jsonl")
"""`name`, the author's `text` in Spark's dialect, the text of the `row` that is rewritten for Trino, and the `outcome`
in Trino; where the `default` text of the row differs, this text and its outcome, too."""
PREDICTIONS = {
    "equal": {Outcome.OTHER_ROWS, Outcome.MAY_FAIL, Outcome.UNVERIFIED, Outcome.SOME_VALUES},
    "other rows": {Outcome.OTHER_ROWS, Outcome.UNVERIFIED},
    "refused": {Outcome.REFUSED, Outcome.MAY_FAIL, Outcome.UNVERIFIED},
}
"""The findings about a text with an outcome. A text with equal rows may return others for other values."""


def texts(query: str) -> tuple[str | None, str | None]:
    """The expanded text, and the text of the row."""
    expansion = expand(query, SCHEMAS, database=DATABASE, dialect="spark")
    expanded = hive_text("spark", expansion, SCHEMAS, database=DATABASE)
    rewritten = row_text("spark", expansion, SCHEMAS, database=DATABASE, forms=RowTextForms(for_trino=True))
    return expanded, None if rewritten is None else rewritten.sql


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_text_of_the_row_and_prediction(case: dict[str, str]):
    assert texts(case["text"]) == (case.get("default", case["row"]), case["row"])
    outcomes = {finding.outcome for finding in trino_findings(case["row"], SCHEMAS, database=DATABASE)}
    if case["outcome"] == "equal":
        assert outcomes <= PREDICTIONS["equal"]
    else:
        assert outcomes & PREDICTIONS[case["outcome"]]
