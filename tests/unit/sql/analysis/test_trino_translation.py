"""Predictions for 111 view texts, compared with what Trino 483 did with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hive_views.sql.analysis.trino_translation import Outcome, TrinoFinding, trino_findings
from hive_views.sql.resolver.scopes import TableSchema

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures/trino_483_texts.jsonl").read_text(encoding="utf-8").splitlines()
]
"""`name`, `expanded` text and `outcome` over Hive tables: `equal`, `other rows` or `refused` with Trino's error."""

TABLES = {
    "orders": {
        "id": "bigint",
        "customer": "string",
        "total": "decimal(10,2)",
        "placed": "timestamp",
        "day": "date",
        "qty": "int",
        "price": "double",
        "ok": "boolean",
        "note": "string",
    },
    "customers": {
        "name": "string",
        "city": "string",
        "tags": "array<string>",
        "attrs": "map<string,int>",
        "addr": "struct<street:string,zip:int>",
    },
    "events": {"order_id": "bigint", "kind": "string", "ds": "string"},
    "p_cols": {"id": "bigint", "customer": "string", "total": "decimal(10,2)"},
    "x_view": {"id": "bigint", "total": "decimal(10,2)"},
    "zoned": {"id": "bigint", "at": "timestamp with local time zone"},
}


class Tables:
    def table(self, database: str, name: str) -> TableSchema | None:
        columns = TABLES.get(name)
        return None if columns is None else TableSchema(columns=tuple(columns.items()), kind="table")


def findings(sql: str) -> tuple[TrinoFinding, ...]:
    return trino_findings(sql, Tables(), database="h")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_prediction_agrees_with_trino(case):
    outcomes = {finding.outcome for finding in findings(case["expanded"])}
    if case["outcome"].startswith("equal"):
        assert outcomes == set()
    elif case["outcome"] == "other rows":
        assert Outcome.OTHER_ROWS in outcomes
    else:
        assert outcomes & {Outcome.REFUSED, Outcome.MAY_FAIL, Outcome.UNVERIFIED}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM h.zoned", Outcome.REFUSED),
        ("SELECT soundex(customer) AS s FROM h.orders", Outcome.UNVERIFIED),
        ("SELECT qty / id AS q FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT 'it' 's' AS s", Outcome.REFUSED),
    ],
)
def test_finding_of_single_construct(sql, expected):
    assert [finding.outcome for finding in findings(sql)] == [expected]
