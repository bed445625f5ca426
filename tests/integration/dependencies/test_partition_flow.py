"""Partition restrictions: a table of cases, and random queries compared with a database."""

# ruff: noqa: E501  (a case is a line)
from __future__ import annotations

import os
import random
import re
import sqlite3
from collections.abc import Callable, Mapping

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from hive_views.dependencies.partition_expressions import with_value
from hive_views.dependencies.partition_flow import Relation, TableUse, find_table_uses
from hive_views.dependencies.partitions import may_match
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.sql.analysis.references import references
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.rewriting.expand import expand

TYPES = {"ds": "string", "hr": "string", "n": "bigint", "day": "date"}
TABLES = {ViewName("d", name): Relation(ViewName("d", name), TYPES) for name in ("a", "b", "c")}
VIEW = ViewName("d", "v")


def table_uses(
    sql: str, columns: Mapping[str, str] | None = None, dialect: str = "hive", **views: Relation
) -> list[TableUse]:
    relations = {**TABLES, **{ViewName("d", name): node for name, node in views.items()}}
    view = relation(VIEW, sql, columns, dialect, relations)
    return list(find_table_uses(view, relations.get, ["ds"]).tables)


def relation(
    name: ViewName,
    sql: str,
    columns: Mapping[str, str] | None = None,
    dialect: str = "hive",
    relations: Mapping[ViewName, Relation] = TABLES,
) -> Relation:
    """Return a view as `partitions` does: a text that cannot be resolved is a problem, and names what it reads.

    Without `columns` it has those of its text; those of `VIEW` are called `ds` and `n`.
    """

    class Tables:
        def table(self, database: str, table: str) -> TableSchema | None:
            found = relations.get(ViewName(database, table))
            return TableSchema(tuple(found.types.items())) if found is not None else None

    try:
        expansion = expand(sql, Tables(), database="d", dialect=dialect)
    except SqlError as error:
        reads = tuple(ViewName(*item.resolved("d")) for item in references(sql, dialect).tables)
        return Relation(name, columns or {"ds": "string", "n": "bigint"}, problem=str(error), reads=reads)
    names = ("ds", "n") if name == VIEW else expansion.names
    inferred = {column: item.type or "string" for column, item in zip(names, expansion.columns, strict=False)}
    return Relation(name, columns or inferred, query=expansion.resolution)


def describe(use: TableUse) -> str:
    """Return e.g. `a(ds=ds)`, `a()` without restrictions, `a() AT` for another state of the table."""
    restricted = [
        f"{column}={bound.column or repr(bound.literal)}"
        if bound.expression is None
        else with_value(bound.expression, exp.Placeholder(), exp.column(column)).sql()
        + (f"={bound.column}" if bound.column else "")
        for column, bounds in use.columns
        for bound in bounds
        if column in ("ds", "hr") and (bound.column in ("ds", None))
    ]
    return f"{use.table.name}({' '.join(restricted)}){' AT' if use.state_clause is not None else ''}"


CASES = [
    ("plain", "SELECT a.ds, a.n FROM d.a a", "a(ds=ds)"),
    ("renamed", "SELECT a.hr AS ds, a.n FROM d.a a", "a(hr=ds)"),
    ("parentheses", "SELECT (a.ds) ds, a.n FROM d.a a", "a(ds=ds)"),
    ("computed", "SELECT concat(a.ds, '') ds, a.n FROM d.a a", "a()"),
    ("constant", "SELECT 'x' ds, a.n FROM d.a a", "a()"),
    ("month", "SELECT substr(a.ds, 1, 7) ds, a.n FROM d.a a", "a(SUBSTRING(ds, 1, 7)=ds)"),
    ("month grouped", "SELECT substr(a.ds, 1, 7) ds, sum(a.n) n FROM d.a a GROUP BY substr(a.ds, 1, 7)", "a(SUBSTRING(ds, 1, 7)=ds)"),
    ("month of groups", "SELECT substr(a.ds, 1, 7) ds, sum(a.n) n FROM d.a a GROUP BY a.ds", "a(SUBSTRING(ds, 1, 7)=ds)"),
    ("month of other groups", "SELECT substr(a.ds, 1, 7) ds, sum(a.n) n FROM d.a a GROUP BY substr(a.ds, 1, 4)", "a()"),
    ("month of month", "SELECT substr(x.m, 1, 4) ds, x.n FROM (SELECT substr(a.ds, 1, 7) m, a.n FROM d.a a) x", "a(SUBSTRING(SUBSTRING(ds, 1, 7), 1, 4)=ds)"),
    ("month joined", "SELECT substr(a.ds, 1, 7) ds, b.n FROM d.a a JOIN d.b b ON a.ds = b.ds", "a(SUBSTRING(ds, 1, 7)=ds) b(SUBSTRING(ds, 1, 7)=ds)"),
    ("in", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds IN ('1', '2')", "a(ds IN ('1', '2'))"),
    ("range", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds BETWEEN '1' AND '2'", "a(ds BETWEEN '1' AND '2')"),
    ("or of one column", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds = '1' OR a.ds > '3'", "a(ds = '1' OR ds > '3')"),
    ("two columns", "SELECT a.n ds, a.n FROM d.a a WHERE concat(a.ds, a.hr) = '12'", "a()"),
    ("left, range of right", "SELECT a.n ds, b.n FROM d.a a LEFT JOIN d.b b ON a.n = b.n AND b.ds > '1' AND a.ds > '2'", "a() b(ds > '1')"),
    ("null-safe", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds <=> '1'", "a()"),
    ("null", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds IS NULL OR a.ds = '1'", "a()"),
    ("filter", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds = '1' AND (a.hr = '2')", "a(ds='1' hr='2')"),
    ("filter or", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds = '1' OR a.hr = '2'", "a()"),
    ("filter not", "SELECT a.n ds, a.n FROM d.a a WHERE NOT a.ds = '1'", "a()"),
    ("filter by a number", "SELECT a.n ds, a.n FROM d.a a WHERE a.ds = 1", "a()"),
    ("both columns", "SELECT a.ds, a.n FROM d.a a WHERE a.hr = a.ds", "a(ds=ds hr=ds)"),
    ("join", "SELECT a.ds, b.n FROM d.a a JOIN d.b b ON a.ds = b.ds AND a.n = b.n", "a(ds=ds) b(ds=ds)"),
    ("join the other way", "SELECT b.ds, b.n FROM d.a a JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("comma and where", "SELECT a.ds, b.n FROM d.a a, d.b b WHERE b.hr = a.ds", "a(ds=ds) b(hr=ds)"),
    ("join over types", "SELECT a.ds, b.n FROM d.a a JOIN d.b b ON a.ds = b.day", "a(ds=ds) b()"),
    ("join by or", "SELECT a.ds, b.n FROM d.a a JOIN d.b b ON a.ds = b.ds OR a.n = b.n", "a(ds=ds) b()"),
    ("left", "SELECT a.ds, b.n FROM d.a a LEFT JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("left, of the right", "SELECT b.ds, b.n FROM d.a a LEFT JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("left, filter of left", "SELECT a.n ds, b.n FROM d.a a LEFT JOIN d.b b ON a.ds = '1' AND b.ds = '2'", "a() b(ds='2')"),
    ("left, filter of left, matched", "SELECT b.n ds, b.n FROM d.a a LEFT JOIN d.b b ON a.ds = '1'", "a(ds='1') b()"),
    ("right", "SELECT a.ds, b.n FROM d.a a RIGHT JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("full", "SELECT a.ds, b.n FROM d.a a FULL JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("full, coalesced", "SELECT coalesce(a.ds, b.ds) ds, b.n FROM d.a a FULL JOIN d.b b ON a.ds = b.ds", "a() b()"),
    (
        "left behind left",
        "SELECT a.ds, b.n FROM d.a a LEFT JOIN d.b b ON a.n = b.n LEFT JOIN d.c c ON c.ds = a.ds AND c.ds = b.ds",
        "a(ds=ds) b() c(ds=ds)",
    ),
    ("semi", "SELECT a.ds, a.n FROM d.a a LEFT SEMI JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("anti", "SELECT a.ds, a.n FROM d.a a LEFT ANTI JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("cross", "SELECT a.ds, b.n FROM d.a a CROSS JOIN d.b b", "a(ds=ds) b()"),
    ("in parentheses", "SELECT a.ds, b.n FROM d.a a JOIN (d.b b JOIN d.c c ON b.ds = c.ds) ON a.ds = b.ds", "a(ds=ds) b(ds=ds) c()"),
    ("derived", "SELECT x.p ds, x.n FROM (SELECT a.ds p, a.n FROM d.a a WHERE a.hr = '3') x", "a(ds=ds hr='3')"),
    ("cte twice", "WITH x AS (SELECT a.ds, a.n FROM d.a a) SELECT p.ds, q.n FROM x p JOIN x q ON p.n = q.n", "a(ds=ds) a()"),
    ("cte in from and lateral view", "WITH x AS (SELECT a.ds, a.n FROM d.a a) SELECT x.ds, e.n FROM x LATERAL VIEW explode(array((SELECT max(n) FROM x))) e AS n", "a(ds=ds) a()"),
    ("cte in from and lateral", "WITH x AS (SELECT a.ds, a.n FROM d.a a) SELECT x.ds, y.n FROM x, LATERAL (SELECT max(z.n) n FROM x z WHERE z.n > x.n) y", "a(ds=ds) a()"),
    ("true for null", "SELECT b.ds, b.n FROM d.b b LEFT JOIN d.a a ON a.n = b.n WHERE a.ds = '1' OR 1 = 1", "a() b(ds=ds)"),
    ("in, true for null", "SELECT b.ds, b.n FROM d.b b LEFT JOIN d.a a ON a.n = b.n WHERE '1' IN ('1', a.ds)", "a() b(ds=ds)"),
    ("year", "SELECT date_format(a.ds, 'yyyy') ds, a.n FROM d.a a", "a(TIME_TO_STR(TIME_STR_TO_TIME(ds), '%Y')=ds)"),
    ("year of the week", "SELECT date_format(a.ds, 'YYYY') ds, a.n FROM d.a a", "a()"),
    ("union", "SELECT a.ds, a.n FROM d.a a UNION ALL SELECT b.hr, b.n FROM d.b b", "a(ds=ds) b(hr=ds)"),
    ("union in from", "SELECT x.ds, x.n FROM (SELECT a.ds, a.n FROM d.a a UNION SELECT 'q', b.n FROM d.b b) x", "a(ds=ds) b()"),
    ("group", "SELECT a.ds, sum(a.n) n FROM d.a a GROUP BY a.ds", "a(ds=ds)"),
    ("group by place", "SELECT a.ds, sum(a.n) n FROM d.a a GROUP BY 1", "a(ds=ds)"),
    ("aggregated", "SELECT max(a.ds) ds, a.n FROM d.a a GROUP BY a.n", "a()"),
    ("rollup", "SELECT a.ds, a.n FROM d.a a GROUP BY a.ds, a.n WITH ROLLUP", "a()"),
    ("window", "SELECT a.ds, sum(a.n) OVER (ORDER BY a.ds) n FROM d.a a", "a()"),
    ("window by it", "SELECT a.ds, sum(a.n) OVER (PARTITION BY a.ds, a.hr ORDER BY a.n) n FROM d.a a", "a(ds=ds)"),
    ("named window", "SELECT a.ds, sum(a.n) OVER w n FROM d.a a WINDOW w AS (ORDER BY a.ds)", "a()"),
    ("limit", "SELECT a.ds, a.n FROM d.a a LIMIT 3", "a()"),
    ("limit of a branch", "SELECT a.ds, a.n FROM d.a a UNION ALL (SELECT b.ds, b.n FROM d.b b LIMIT 2)", "a(ds=ds) b()"),
    ("distinct", "SELECT DISTINCT a.ds, a.n FROM d.a a", "a(ds=ds)"),
    ("exists", "SELECT a.ds, a.n FROM d.a a WHERE EXISTS (SELECT 1 FROM d.b b WHERE b.ds = a.ds)", "a(ds=ds) b()"),
    ("scalar", "SELECT a.ds, (SELECT max(b.n) FROM d.b b WHERE b.ds = '4') n FROM d.a a", "a(ds=ds) b(ds='4')"),
    ("lateral", "SELECT a.ds, e.n FROM d.a a LATERAL VIEW explode(array(1)) e AS n", "a(ds=ds)"),
    ("recursive", "WITH RECURSIVE x AS (SELECT a.ds, a.n FROM d.a a UNION ALL SELECT x.ds, x.n FROM x) SELECT x.ds, x.n FROM x", "a()"),
    ("table alias columns", "SELECT x.hr ds, x.n FROM (SELECT a.ds, a.n FROM d.a a) AS x (hr, n)", "a(ds=ds)"),
    ("nothing", "SELECT '1' ds, 2 n", ""),
    ("sample", "SELECT x.ds, x.n FROM d.a TABLESAMPLE (2 ROWS) x", "a()"),
    ("sample of a bucket", "SELECT x.ds, x.n FROM d.a TABLESAMPLE (BUCKET 1 OUT OF 2 ON n) x", "a()"),
    ("sample of a derived table", "SELECT x.ds, x.n FROM (SELECT a.ds, a.n FROM d.a a) x TABLESAMPLE (2 ROWS)", "a()"),
    ("pivot", "SELECT p.ds, p.n FROM d.a PIVOT (sum(n) FOR hr IN ('1' AS n)) p", "a()"),
    ("unpivot", "SELECT p.ds, p.n FROM d.a UNPIVOT (n FOR ds IN (hr, day)) p", "a()"),
    ("version", "SELECT x.ds, x.n FROM d.a VERSION AS OF 5 x", "a(ds=ds) AT"),
    ("version by name", "SELECT x.ds, x.n FROM d.a FOR VERSION AS OF 'branch' x", "a(ds=ds) AT"),
    ("timestamp", "SELECT x.ds, x.n FROM d.a TIMESTAMP AS OF '2026-01-01' x", "a() AT"),
    ("system time", "SELECT x.ds, x.n FROM d.a FOR SYSTEM_TIME AS OF '2026-01-01' x", "a() AT"),
    ("version and sample", "SELECT x.ds, x.n FROM d.a VERSION AS OF 5 TABLESAMPLE (2 ROWS) x", "a() AT"),
    ("version joined", "SELECT b.ds, b.n FROM d.b b JOIN d.a VERSION AS OF 5 x ON x.ds = b.ds", "a(ds=ds) AT b(ds=ds)"),
    ("computed version", "SELECT x.ds, x.n FROM d.a VERSION AS OF concat('5') x", "a() AT"),
    ("varchar", "SELECT cast(a.ds AS varchar(7)) ds, a.n FROM d.a a", "a()"),
    ("format", "SELECT to_date(a.ds, 'yyyy-dd-MM') ds, a.n FROM d.a a", "a()"),
    ("union of text and number", "SELECT a.ds, a.n FROM d.a a UNION ALL SELECT b.n, b.n FROM d.b b", "a() b()"),
    ("union of months", "SELECT substr(a.ds, 1, 7) ds, a.n FROM d.a a UNION ALL SELECT substr(b.hr, 1, 7), b.n FROM d.b b", "a(SUBSTRING(ds, 1, 7)=ds) b(SUBSTRING(hr, 1, 7)=ds)"),
    ("union with null", "SELECT a.ds, a.n FROM d.a a UNION ALL SELECT NULL, b.n FROM d.b b", "a(ds=ds) b()"),
    ("filter of a mixed union", "SELECT x.n ds, x.n FROM (SELECT a.ds, a.n FROM d.a a UNION ALL SELECT b.n, b.n FROM d.b b) x WHERE x.ds >= '9'", "a() b()"),
    ("version in a subquery", "SELECT b.ds, b.n FROM d.b b WHERE b.n IN (SELECT x.n FROM d.a VERSION AS OF 5 x)", "a() AT b(ds=ds)"),
    ("hint", "SELECT /*+ MAPJOIN(b) */ a.ds, b.n FROM d.a a JOIN d.b b ON a.ds = b.ds", "a(ds=ds) b(ds=ds)"),
    ("natural left join", "SELECT a.ds, a.n FROM d.a a NATURAL LEFT JOIN d.b b", "a(ds=ds) b()"),
    ("natural right join", "SELECT b.ds, a.n FROM d.a a NATURAL RIGHT JOIN d.b b", "a() b(ds=ds)"),
    ("natural full join", "SELECT coalesce(a.ds, b.ds) ds, a.n FROM d.a a NATURAL FULL JOIN d.b b", "a() b()"),
    ("using", "SELECT a.ds, b.n FROM d.a a JOIN d.b b USING (ds)", "a(ds=ds) b(ds=ds)"),
    ("left using", "SELECT ds, b.n FROM d.a a LEFT JOIN d.b b USING (ds)", "a(ds=ds) b(ds=ds)"),
    ("right using", "SELECT ds, b.n FROM d.a a RIGHT JOIN d.b b USING (ds)", "a(ds=ds) b(ds=ds)"),
    ("full using", "SELECT ds, b.n FROM d.a a FULL JOIN d.b b USING (ds)", "a() b()"),
    ("group by alias", "SELECT substr(a.ds, 1, 7) m, sum(a.n) k FROM d.a a GROUP BY m", "a(SUBSTRING(ds, 1, 7)=ds)"),
    ("no tables in front", "SELECT ds, n FROM a WHERE hr = '1'", "a(ds=ds hr='1')"),
    ("star", "SELECT ds, n FROM (SELECT * FROM a WHERE hr = '1') x", "a(ds=ds hr='1')"),
    ("values", "WITH x AS (VALUES (1)) SELECT a.ds, a.n FROM d.a a, x", "a(ds=ds)"),
    (
        "one alias inside and outside",
        "SELECT x.d0 ds, x.n FROM (SELECT a.ds d0, a.n FROM d.a a) x WHERE EXISTS (SELECT 1 FROM d.a a WHERE a.hr = x.d0)",
        "a(ds=ds) a()",
    ),
    ("field", "SELECT s.ds, 1 n FROM (SELECT named_struct('ds', a.hr) s, a.ds FROM d.a a) x", "a()"),
    ("as-of join", "SELECT a.ds, b.n FROM d.a a ASOF JOIN d.b b ON a.ds = b.ds", "a() b()"),
]  # fmt: skip


@pytest.mark.parametrize("dialect", ["hive", "spark"])
@pytest.mark.parametrize(("sql", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_restrictions_of_query(sql: str, expected: str, dialect: str) -> None:
    uses = table_uses(sql, dialect=dialect)
    if dialect == "hive" and relation(VIEW, sql).query is None:  # Hive has no such query
        assert not any(use.columns for use in uses)
        return
    assert sorted(describe(use) for use in uses) == sorted(
        re.findall(r"\w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?: AT)?", expected)
    )


@pytest.mark.parametrize("options", ["('snapshot-id' = '5')", "(`branch` = 'b', `x` = 1)"])
def test_options_of_table_may_read_another_state(options: str) -> None:
    sql = f"WITH y AS (SELECT 1) SELECT x.ds, x.n FROM d.a WITH {options} x JOIN y"
    (use,) = table_uses(sql, dialect="spark")
    assert (describe(use), use.state_clause, use.version) == ("a() AT", f"WITH {options}", None)


def test_options_concern_only_their_table() -> None:
    sql = "SELECT x.ds, y.n FROM d.a WITH ('branch' = 'b') x JOIN d.b y ON x.ds = y.ds"
    assert [describe(use) for use in table_uses(sql, dialect="spark")] == ["a() AT", "b(ds=ds)"]
    sql = sql.replace("d.a WITH", "d.a VERSION AS OF 5 WITH")
    assert [describe(use) for use in table_uses(sql, dialect="spark")] == ["a() AT", "b() AT"]


@pytest.mark.parametrize("declared", ["bigint", "double", "date", "char(3)"])
def test_column_declared_with_another_type_restricts_nothing(declared: str) -> None:
    (use,) = table_uses("SELECT a.ds, a.n FROM d.a a", {"ds": declared, "n": "bigint"})
    assert (describe(use), use.reasons) == ("a()", ("columns of d.v have other types than its query",))


@pytest.mark.parametrize(
    ("clause", "version"),
    [
        ("VERSION AS OF 5", "5"),
        ("FOR VERSION AS OF 'b'", "b"),
        ("TIMESTAMP AS OF '2026-01-01'", None),
        ("FOR SYSTEM_TIME AS OF '2026-01-01'", None),
        ("VERSION AS OF 5 TABLESAMPLE (2 ROWS)", None),
    ],
)
def test_version_that_clause_names(clause: str, version: str | None) -> None:
    (use,) = table_uses(f"SELECT x.ds, x.n FROM d.a {clause} x", dialect="spark")
    assert use.version == version


def test_other_state_of_view_concerns_all_its_tables() -> None:
    w = relation(ViewName("d", "w"), "SELECT a.ds FROM d.a a", {"ds": "string"})
    (use,) = table_uses("SELECT w.ds, 1 n FROM d.w VERSION AS OF 5 w", dialect="spark", w=w)
    assert describe(use) == "a() AT"


@pytest.mark.parametrize("node", [exp.Table, exp.Subquery, exp.Select, exp.Join])
def test_clause_of_later_parser_restricts_nothing(node: type[exp.Expr]) -> None:
    sql = "SELECT x.ds, x.n FROM (SELECT a.ds, a.n FROM d.a a JOIN d.b b ON a.ds = b.ds) x"
    view = relation(VIEW, sql, {"ds": "string", "n": "bigint"})
    assert "a(ds=ds)" in [describe(use) for use in find_table_uses(view, TABLES.get, ["ds"]).tables]
    assert view.query is not None
    for item in view.query.tree.find_all(node):
        item.set("clause_of_tomorrow", exp.Var(this="ANYTHING"))
    uses = find_table_uses(view, TABLES.get, ["ds"]).tables
    assert {use.columns for use in uses} == {()}
    assert any("ANYTHING" in reason for use in uses for reason in use.reasons)


def test_restrictions_through_views() -> None:
    w = relation(ViewName("d", "w"), "SELECT a.ds, a.n FROM d.a a", {"day": "string", "n": "bigint"})
    uses = table_uses("SELECT w.day ds, b.n FROM d.w w JOIN d.b b ON b.hr = w.day", w=w)
    assert [describe(use) for use in uses] == ["a(ds=ds)", "b(hr=ds)"]


def test_views_that_are_read_twice_are_analyzed_once() -> None:
    levels = 40
    views: dict[str, Relation] = {}
    for level in range(levels):
        name = ViewName("d", f"w{level}")
        sql = f"SELECT x.ds, y.n FROM d.w{level - 1} x JOIN d.w{level - 1} y ON x.n = y.n"
        relations = {**TABLES, **{ViewName("d", other): view for other, view in views.items()}}
        views[name.name] = relation(
            name, sql if level else "SELECT a.ds, a.n FROM d.a a", {"ds": "string", "n": "bigint"}, relations=relations
        )
    uses = table_uses(f"SELECT w.ds, w.n FROM d.w{levels - 1} w", **views)
    assert sorted(describe(use) for use in uses) == ["a()", "a(ds=ds)"]


def test_view_that_cannot_be_analyzed_restricts_nothing() -> None:
    w = Relation(
        ViewName("d", "w"), {"ds": "string"}, problem="no text", reads=(ViewName("d", "a"), ViewName("d", "gone"))
    )
    view = relation(VIEW, "SELECT w.ds, b.n FROM d.w w JOIN d.b b ON b.ds = w.ds", relations={**TABLES, w.name: w})
    uses, problems = vars(find_table_uses(view, {**TABLES, w.name: w}.get, ["ds"])).values()
    assert problems == {w.name: "no text"}
    assert [(describe(use), use.reasons) for use in uses] == [
        ("a()", ("no text",)),
        ("gone()", ("no text",)),
        ("b(ds=ds)", ()),
    ]


def test_view_that_reads_itself_is_a_problem() -> None:
    relations = {**TABLES, VIEW: Relation(VIEW, {"ds": "string", "n": "bigint"})}
    w = relation(ViewName("d", "w"), "SELECT v.ds FROM d.v v", relations=relations)
    relations[w.name] = w
    relations[VIEW] = relation(VIEW, "SELECT w.ds, a.n FROM d.w w JOIN d.a a ON a.ds = w.ds", relations=relations)
    uses = find_table_uses(relations[VIEW], relations.get, ["ds"])
    assert [use.table.name for use in uses.tables] == ["a"]
    assert uses.problems == {VIEW: "it reads itself"}


# -- Against a database -----------------------------------------------------------------------------------------------


MODIFIERS = [
    "TABLESAMPLE (2 ROWS)",
    "TABLESAMPLE (50 PERCENT)",
    "TABLESAMPLE (BUCKET 1 OUT OF 2)",
    "VERSION AS OF 1",
    "FOR VERSION AS OF 1",
    "TIMESTAMP AS OF '2020-01-01'",
    "FOR TIMESTAMP AS OF '2020-01-01'",
    "FOR SYSTEM_TIME AS OF '2020-01-01'",
    "WITH ('branch' = 'b')",
]
DERIVED = [
    *("substr({}, 1, 1)", "substr({}, 1, 7)", "year({})", "month({})", "day({})", "date_format({}, 'yyyy-MM')"),
    *("to_date({})", "CAST({} AS STRING)", "CAST({} AS DATE)", "CAST({} AS INT)", "substr(CAST({} AS DATE), 1, 7)"),
]


class Grammar:
    """Queries over three tables with the same meaning in SQLite and Hive; all return `ds` and `n`."""

    def __init__(self, source: random.Random) -> None:
        self.pick = source

    def query(self, depth: int) -> str:
        kind = self.pick.random()
        if depth > 0 and kind < 0.15:
            operation = self.pick.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
            return f"{self.select(depth - 1)} {operation} {self.select(depth - 1)}"
        return self.select(depth)

    def select(self, depth: int) -> str:
        count = self.pick.choice([1, 1, 2, 2, 3])
        text = f"FROM {self.source(depth, 0)}"
        for number in range(1, count):
            join = self.pick.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"])
            text += f" {join} {self.source(depth, number)}"
            if join != "CROSS JOIN":
                text += " ON " + self.conditions(number + 1, self.pick.choice([1, 1, 2, 3]))
        if self.pick.random() < 0.4:
            text += " WHERE " + self.conditions(count, self.pick.choice([1, 2]))
        first = self.column(count)
        kind = self.pick.random()
        if kind < 0.15:
            return f"SELECT {first} AS ds, count(*) AS n {text} GROUP BY {first}"
        if kind < 0.25:
            by = self.pick.choice([first, self.column(count)])
            return f"SELECT {first} AS ds, sum(s0.n) OVER (PARTITION BY {by}) AS n {text}"
        if kind < 0.35:
            first = f"coalesce({first}, {self.column(count)})"
        elif kind < 0.5:
            derived = self.pick.choice(DERIVED).format(first)
            return f"SELECT {derived} AS ds, count(*) AS n {text} GROUP BY {self.pick.choice([first, derived])}"
        elif kind < 0.65:
            first = self.pick.choice(DERIVED).format(first)
        return f"SELECT {first} AS ds, s{self.pick.randrange(count)}.n AS n {text}"

    def source(self, depth: int, number: int) -> str:
        if depth > 0 and self.pick.random() < 0.3:
            inner = f"SELECT q.ds AS ds, q.ds AS hr, q.n AS n FROM ({self.query(depth - 1)}) q"
            return f"({inner}) s{number}"
        modifier = f" {self.pick.choice(MODIFIERS)}" if self.pick.random() < 0.2 else ""
        return f"d.{self.pick.choice('abc')}{modifier} s{number}"

    def conditions(self, count: int, number: int) -> str:
        joined = self.pick.choice([" AND ", " AND ", " AND ", " OR "])
        return joined.join(self.condition(count) for _ in range(number))

    def condition(self, count: int) -> str:
        kind = self.pick.random()
        if kind < 0.7:
            return f"{self.column(count)} = {self.column(count)}"
        if kind < 0.85:
            column = self.column(count)
            return self.pick.choice(
                [
                    f"{column} = '{self.pick.randrange(3)}'",
                    f"{column} IN ('0', '10', '2')",
                    f"{column} > '0'",
                    f"{column} BETWEEN '0' AND '1'",
                    f"({column} = '0' OR {column} >= '10')",
                    f"substr({column}, 1, 1) = '1'",
                    f"CAST({column} AS INT) = 1",
                    f"year({column}) = 2026",
                    f"month({column}) IN (1, 2)",
                    f"date_format({column}, 'yyyy-MM') = '2026-01'",
                    f"to_date({column}) >= '2026-01-02'",
                    f"{column} <> DATE '2026-01-01'",
                ]
            )
        return f"s{self.pick.randrange(count)}.n {self.pick.choice(['>', '=', '<>'])} {self.pick.randrange(3)}"

    def column(self, count: int) -> str:
        return f"s{self.pick.randrange(count)}.{self.pick.choice(['ds', 'ds', 'hr'])}"


QUESTIONS = int(os.environ.get("HIVE_VIEWS_PARTITION_QUESTIONS", "1000"))
VALUES = ["0", "0", "01", "1", "10", "2", "2026-01-01", "2026-01-02", "2026-02-01", "2025-01-01"]
WANTED = ["0", "1", "10", "2", "2026", "2026-01", "2026-01-01"]


def part_of_date(length: int, start: int = 0) -> Callable[[str | int | None], str | None]:
    """Return a function of SQLite that returns a part of an ISO date, or NULL for another text."""
    return lambda value: str(value)[start:length] if re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)) else None


FUNCTIONS = {
    "year": lambda text: (year := part_of_date(4)(text)) and int(year),
    "month": lambda text: (month := part_of_date(7, 5)(text)) and int(month),
    "day": lambda text: (day := part_of_date(10, 8)(text)) and int(day),
    "to_date": part_of_date(10),
    "cast_date": part_of_date(10),
    "cast_string": lambda value: None if value is None else str(value),
    "cast_int": lambda value: int(value) if re.fullmatch(r"\d+", str(value)) else None,
}


def in_sqlite(sql: str) -> str:
    """Replace what SQLite does not have: a sample is the first rows, the old state another table."""
    sql = re.sub(r"CAST\((s\d\.\w+) AS (\w+)\)", r"cast_\2(\1)", sql)
    sql = re.sub(r"d\.(\w) WITH \('branch' = 'b'\)", r"d.old_\1", sql)
    sql = re.sub(r"d\.(\w) TABLESAMPLE \([^()]+\)", r"(SELECT * FROM d.\1 ORDER BY rowid LIMIT 2)", sql)
    return re.sub(r"d\.(\w) (?:FOR )?\w+ AS OF (?:1|'[^']*')", r"d.old_\1", sql).replace("DATE '", "'")


@pytest.mark.timeout(7200)
@settings(max_examples=QUESTIONS, deadline=None)
@given(st.randoms(use_true_random=False))
def test_partitions_outside_result_do_not_change_rows(source: random.Random) -> None:
    """Rows of the view with ds = X do not depend on partitions outside the result."""
    sql = Grammar(source).query(2)
    uses = table_uses(sql, dialect="spark")
    assert any(use.state_clause is not None for use in uses) == (" AS OF " in sql or " WITH (" in sql)
    event(f"restricts a table: {any(use.columns for use in uses)}")
    sqlite = in_sqlite(sql)
    connection = sqlite3.connect(":memory:")
    connection.execute("ATTACH ':memory:' AS d")
    for function, implementation in FUNCTIONS.items():
        connection.create_function(function, 1, implementation, deterministic=True)
    connection.create_function("date_format", 2, lambda text, _: part_of_date(7)(text), deterministic=True)
    rows = {
        name: [(source.choice(VALUES), source.choice(VALUES), source.randrange(3)) for _ in range(source.randrange(7))]
        for name in ("a", "b", "c", "old_a", "old_b", "old_c")
    }
    try:
        for name, values in rows.items():
            connection.execute(f"CREATE TABLE d.{name} (ds TEXT, hr TEXT, n INTEGER)")
            connection.executemany(f"INSERT INTO d.{name} VALUES (?, ?, ?)", values)
        wanted = source.choice(WANTED)
        before = _rows(connection, sqlite, wanted)
        for name, values in rows.items():
            of_table = [use for use in uses if name == ("old_" if use.state_clause else "") + use.table.name]
            is_read = any(use.version is None and use.state_clause is not None for use in of_table)
            kept = [row for row in values if is_read or any(_behind(use, row, wanted) for use in of_table)]
            connection.execute(f"DELETE FROM d.{name}")
            connection.executemany(f"INSERT INTO d.{name} VALUES (?, ?, ?)", kept)
        after = _rows(connection, sqlite, wanted)
    except sqlite3.OperationalError as error:
        assume("tables to its right" not in str(error))  # joins that SQLite does not support
        raise
    finally:
        connection.close()
    assert after == before, sql


def _rows(connection: sqlite3.Connection, sql: str, wanted: str) -> list[tuple[str, int]]:
    # Compared here: SQLite 3.40 pushes a filter into a union with a RIGHT JOIN, where it is lost.
    return sorted((row for row in connection.execute(sql) if str(row[0]) == wanted), key=repr)


def _behind(use: TableUse, row: tuple[str, str, int], wanted: str) -> bool:
    restrictions = {column: bounds for column, bounds in use.columns if column in ("ds", "hr")}
    return may_match({"ds": row[0], "hr": row[1]}, restrictions, {"ds": "string", "hr": "string"}, {"ds": wanted})
