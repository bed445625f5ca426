"""The views that a Spark statement changes, and the texts that it executes."""

from __future__ import annotations

import pytest

from hive_views.sql.parsing.statement_targets import find_targets

CHANGES = [
    ("BEGIN USE prod.sales; DROP VIEW v; END", [("v",)]),
    ("BEGIN DROP /* x */ VIEW -- y \\\n z\n IF EXISTS `a``b`.v; END", [("a`b", "v")]),
    ("BEGIN ALTER VIEW c.d.v AS SELECT 1; CREATE OR REPLACE VIEW w AS SELECT 2; END", [("c", "d", "v"), ("w",)]),
    ("BEGIN DROP VIEW IDENTIFIER('v'); DROP VIEW s.IDENTIFIER('v'); END", [None, None]),
    ('BEGIN DROP VIEW "v"; DROP VIEW :v; DROP VIEW', [None, None, None]),
    ("BEGIN DROP V\u0131EW v; END", [("v",)]),
    ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION DROP VIEW IF EXISTS v; SELECT 1; END", [("v",)]),
    ("BEGIN DROP VIEW IF; DROP VIEW identifier; END", [("IF",), ("identifier",)]),
    ("BEGIN SELECT 'DROP VIEW v', `DROP`, 1 /* DROP VIEW v */ AS view; DROP TABLE v; END", []),
    ("BEGIN CREATE TEMPORARY VIEW v AS SELECT 1; CREATE OR REPLACE GLOBAL TEMP VIEW w AS SELECT 2; END", []),
    ("BEGIN SELECT * FROM t LATERAL VIEW explode(a) v; END", []),
]


@pytest.mark.parametrize(("text", "expected"), CHANGES)
def test_all_changed_views_are_found(text: str, expected: list[tuple[str, ...] | None]) -> None:
    assert [change.parts for change in find_targets(text).changes] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DELETE FROM a.v WHERE b = 1", [("a", "v")]),
        ("WITH c AS (SELECT 1) DELETE /* x */ FROM `v`", [("v",)]),
        ("BEGIN UPDATE v SET a = 1; DROP TABLE IF EXISTS c.d.w PURGE; END", [("v",), ("c", "d", "w")]),
        ("MERGE INTO v USING s ON true WHEN MATCHED THEN UPDATE SET a = 1", [("v",), ("SET",)]),
        ("MERGE WITH SCHEMA EVOLUTION INTO v USING s ON true WHEN MATCHED THEN DELETE", [("v",)]),
        ("DELETE FROM IDENTIFIER(concat('a', (b)))", ["concat('a', (b))"]),
        ("WITH c AS (SELECT update, delete FROM t) SELECT 'DELETE FROM v'", []),
    ],
)
def test_tables_that_are_dropped_or_changed(text: str, expected: list[tuple[str, ...] | str]) -> None:
    tables = find_targets(text).tables
    assert [table.parts or (table.expression and text[slice(*table.expression)]) for table in tables] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EXECUTE IMMEDIATE 'DROP ' 'VIEW v' INTO a USING 1", [("'DROP ' 'VIEW v'", True)]),
        ("EXECUTE /* x */ IMMEDIATE concat('a', (b)) USING (1)", [("concat('a', (b))", False)]),
        ("BEGIN EXECUTE IMMEDIATE 'a' || 'b'; EXECUTE IMMEDIATE \"c\"; END", [("'a' || 'b'", False), ('"c"', True)]),
        ("EXPLAIN EXECUTE IMMEDIATE q", [("q", False)]),
        ("EXECUTE IMMEDIATE", [("", False)]),
    ],
)
def test_executed_expressions_are_found(text: str, expected: list[tuple[str, bool]]) -> None:
    assert [(text[item.start : item.end], item.is_literal) for item in find_targets(text).executed] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE OR REPLACE VIEW v AS SELECT drop view FROM t", [("v",)]),
        ("CREATE TABLE t AS SELECT drop view FROM t", []),
        ("CREATE OR REPLACE /* c */ VIEW IDENTIFIER(t) AS SELECT 1", [None]),
    ],
)
def test_head_mode_ignores_names_in_the_query(text: str, expected: list[tuple[str, ...] | None]) -> None:
    assert [change.parts for change in find_targets(text, head=True).changes] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE OR REPLACE /* c */ VIEW v", True),
        ("CREATE -- c\n MATERIALIZED VIEW v", True),
        ("CREATE TEMPORARY VIEW v", False),
        ("CREATE TABLE view", False),
        ("SHOW /* c */ MATERIALIZED VIEWS", True),
        ("DROP VIEW v", False),
    ],
)
def test_statements_that_only_the_catalog_can_run(text: str, expected: bool) -> None:
    assert find_targets(text, head=True).is_catalog_only is expected
