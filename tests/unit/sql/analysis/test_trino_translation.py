"""Predictions for measured view texts, compared with what Trino 483 did with them."""

from __future__ import annotations

import time

import pytest

from hive_views.errors import SqlError
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.trino_rules import REPORTED_BY_NAME, RULES, VERIFIED, TrinoFinding
from hive_views.sql.analysis.trino_translation import trino_findings
from hive_views.sql.parsing.parser import parse_query
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

CASES = load_cases("trino_483_texts.jsonl")
"""View texts over Hive tables: `name`, `expanded` text, `outcome` (`equal`, `other rows` or `refused`).

The first 111 also have the author's `text` and `columns`, and the `rewritten` text of the row with its outcome. The
others examine one construct each. `tests/integration/trino/test_view_texts.py` measures them.
"""

MEASURED = [(case["expanded"], case["outcome"]) for case in CASES] + [
    (case["rewritten"], case["rewritten_outcome"]) for case in CASES if "rewritten" in case
]

ANALYST_CASES = load_cases("analyst_texts.jsonl")

TABLES = Tables(
    {
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
)


def findings(sql: str) -> tuple[TrinoFinding, ...]:
    return trino_findings(sql, TABLES, database="h")


@pytest.mark.parametrize(("sql", "outcome"), MEASURED)
def test_prediction_agrees_with_trino(sql: str, outcome: str):
    outcomes = {finding.outcome for finding in findings(sql)}
    if outcome == "equal":
        assert all(item.is_note for item in outcomes)
    elif outcome in ("other rows", "equal but for the last digit", "equal but for NULL", "equal but for short strings"):
        assert Outcome.OTHER_ROWS in outcomes
    else:
        assert outcomes & {Outcome.REFUSED, Outcome.MAY_FAIL, Outcome.UNVERIFIED}


def test_verified_nodes_are_those_of_texts_with_equal_rows():
    measured = [*MEASURED, *((case["row"], case["outcome"]) for case in ANALYST_CASES)]
    equal = [parse_query(sql, "hive").tree for sql, outcome in measured if outcome == "equal"]
    assert {type(node) for tree in equal for node in tree.walk()} - set(RULES) - REPORTED_BY_NAME == VERIFIED


@pytest.mark.timeout(60)
def test_inner_with_can_use_the_name_of_the_outer_one():
    inner = "WITH t AS (SELECT cast(id AS string) AS s FROM h.orders) SELECT t.s FROM t"
    (finding,) = findings(f"WITH t AS ({inner}) SELECT max(t.s) AS m FROM t GROUP BY t.s")
    assert finding.construct == "cast() of a column in a block with GROUP BY, DISTINCT or IN"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM h.zoned", Outcome.REFUSED),
        ("SELECT soundex(customer) AS s FROM h.orders", Outcome.UNVERIFIED),
        ("SELECT qty / id AS q FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT 'it' 's' AS s", Outcome.REFUSED),
        ("SELECT o.id FROM (h.orders o JOIN h.p_cols p ON o.id = p.id)", Outcome.REFUSED),
        (
            "SELECT u.a FROM (SELECT id AS a FROM h.orders UNION ALL SELECT qty AS a FROM h.orders) u",
            Outcome.UNVERIFIED,
        ),
        ("SELECT total * total * total * total AS p FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT round(total, 1) AS r FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT ceil(total) AS c FROM h.orders", Outcome.UNVERIFIED),
        ("SELECT id FROM prod.h.orders", Outcome.REFUSED),
        ("SELECT o.id FROM h.orders o LEFT JOIN h.events e", Outcome.REFUSED),
        # As Coral 2.2.49, which Trino 483 has, translates them.
        ("SELECT id FROM h.orders WHERE day = DATE '2024-02-29'", Outcome.REFUSED),
        ("SELECT id FROM h.orders WHERE day = '2024-02-29'", Outcome.REFUSED),
        ("SELECT id FROM h.orders WHERE placed IN ('2024-02-29 10:00:00')", Outcome.REFUSED),
        ("SELECT id FROM h.orders WHERE day > '2024-02'", Outcome.MAY_FAIL),
        ("SELECT id FROM h.orders WHERE day > '2024-02-30'", Outcome.MAY_FAIL),
        ("SELECT substr(note, -5, 3) AS n FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT replace(note, '', 'x') AS n FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT CAST(count(*) AS STRING) AS n FROM h.orders", Outcome.REFUSED),
        ("SELECT count(*) OVER (PARTITION BY ok) AS n FROM h.orders", Outcome.REFUSED),
        ("SELECT 1.5D AS n FROM h.orders", Outcome.REFUSED),
        ("SELECT day + 1 AS d FROM h.orders", Outcome.UNVERIFIED),
        ("SELECT day + INTERVAL '1' HOUR AS d FROM h.orders", Outcome.UNVERIFIED),
        ("SELECT hour(day) AS h FROM h.orders", Outcome.REFUSED),
        ("SELECT CASE WHEN ok THEN day ELSE placed END AS c FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT greatest(qty, 3) AS g FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT tags[-1] AS t FROM h.customers", Outcome.OTHER_ROWS),
        ("SELECT tags[length(city)] AS t FROM h.customers", Outcome.OTHER_ROWS),
        ("SELECT split(note, '[st]') AS s FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT pmod(qty, -3) AS p FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT price % 2 AS p FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT qty / 2e0 AS q FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT length(CAST(note AS VARCHAR(3))) AS n FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT struct(qty, note) AS s FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT id FROM h.orders ORDER BY price", Outcome.OTHER_ROWS),
        ("SELECT id FROM h.orders WHERE price >= 10", Outcome.SOME_VALUES),
        ("SELECT max(price) AS m FROM h.orders", Outcome.SOME_VALUES),
        ("SELECT lag('no', 1, 'none') OVER (PARTITION BY ok ORDER BY id) AS n FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT CAST(1.5 AS INT) AS n FROM h.orders", Outcome.OTHER_ROWS),
        ("SELECT CAST('1.5' AS INT) AS n FROM h.orders", Outcome.MAY_FAIL),
        ("SELECT CAST('2024-02-30' AS DATE) AS n FROM h.orders", Outcome.MAY_FAIL),
        ("SELECT CAST(12345 AS DECIMAL(3,0)) AS n FROM h.orders", Outcome.MAY_FAIL),
    ],
)
def test_finding_of_single_construct(sql, expected):
    assert [finding.outcome for finding in findings(sql)] == [expected]


CTES = "WITH c0 AS (SELECT 1 AS z)" + "".join(f", c{n} AS (SELECT z FROM c{n - 1})" for n in range(1, 2000))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT qty{' + qty' * 5000} AS z FROM h.orders",
        f"SELECT customer{' || customer' * 5000} AS z FROM h.orders",
        f"{CTES} SELECT z FROM c1999",
    ],
    ids=["sum", "concatenation", "common table expressions"],
)
def test_text_beyond_the_recursion_limit_is_an_error(sql: str):
    with pytest.raises(SqlError, match="nested too deeply"):
        findings(sql)


def test_time_of_union_grows_with_its_length():
    def seconds(count: int) -> float:
        start = time.process_time()
        findings("SELECT 1 AS x" + " UNION ALL SELECT 1" * count)
        return time.process_time() - start

    seconds(10)  # then 4 times the length takes 4 times as long, 16 if it is quadratic
    assert min(seconds(800) for _ in range(3)) < 10 * min(seconds(200) for _ in range(3))
