"""Which queries can be refreshed incrementally, and why others cannot."""

from __future__ import annotations

import pytest

from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.engines.builtin_functions import SPARK_AGGREGATES


def assignments(sql: str, changed: str) -> list[str]:
    """Return the row selections per query, one letter per leaf in the order of the text, for the changed tables."""
    query = IncrementalQuery(sql, "spark", "db")
    order = sorted(range(len(query.leaves)), key=lambda number: query.leaves[number].start)
    numbers = [number for number in order if query.leaves[number].name[1] in changed.split()]
    aggregate = query.aggregate([None] * 3, [False] * 3) if "group" in sql.lower() else None
    added = query.added(numbers, grouped=aggregate is not None)
    return sorted("".join(selections[number].value[0].upper() for number in order) for selections in added)


@pytest.mark.parametrize(
    ("sql", "changed", "expected"),
    [
        ("SELECT x FROM t WHERE x > 1", "t", ["A"]),
        ("SELECT x FROM t WHERE x > 1", "", []),
        ("SELECT t.x FROM t JOIN s ON t.k = s.k", "t", ["AB"]),
        ("SELECT t.x FROM t JOIN s ON t.k = s.k", "s", ["NA"]),
        ("SELECT t.x FROM t JOIN s ON t.k = s.k", "t s", ["AB", "NA"]),
        ("SELECT t.x FROM t, s CROSS JOIN u", "t s u", ["ABB", "NAB", "NNA"]),
        ("SELECT a.x FROM t a JOIN t b ON a.k = b.k", "t", ["AB", "NA"]),
        ("SELECT x FROM t UNION ALL SELECT x FROM s", "t", ["AN"]),
        ("SELECT x FROM t UNION ALL SELECT x FROM s", "t s", ["AN", "NA"]),
        ("SELECT z.x FROM (SELECT x FROM t UNION ALL SELECT x FROM s) z JOIN u ON z.x = u.x", "u", ["NNA"]),
        ("SELECT x, count(*), sum(y) FROM t GROUP BY x", "t", ["A"]),
        ("SELECT x, min(y), max(y) FROM t GROUP BY 1", "t", ["A"]),
        ("SELECT x, count(*), max(y) FROM t GROUP BY ALL", "t", ["A"]),
        ("SELECT x FROM t ORDER BY x", "t", ["A"]),
        ("SELECT x, z FROM t LATERAL VIEW explode(y) e AS z", "t", ["A"]),
        ("SELECT explode(y) AS z FROM t", "t", ["A"]),
    ],
)
def test_added_rows_are_computed_by_row_selections(sql, changed, expected):
    # 'now' and 'none' share a letter; the property tests, which run the queries, tell them apart.
    assert assignments(sql, changed) == sorted(expected)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT DISTINCT x FROM t", "DISTINCT"),
        ("SELECT x FROM t LIMIT 3", "LIMIT"),
        ("SELECT t.x FROM t LEFT JOIN s ON t.k = s.k", "LEFT"),
        ("SELECT t.x FROM t FULL OUTER JOIN s ON t.k = s.k", "FULL"),
        ("SELECT t.x FROM t LEFT SEMI JOIN s ON t.k = s.k", "SEMI"),
        ("SELECT t.x FROM t LEFT ANTI JOIN s ON t.k = s.k", "ANTI"),
        ("SELECT x FROM t UNION SELECT x FROM s", "UNION"),
        ("SELECT x FROM t EXCEPT SELECT x FROM s", "EXCEPT"),
        ("SELECT x FROM t INTERSECT SELECT x FROM s", "INTERSECT"),
        ("SELECT x FROM t WHERE x IN (SELECT y FROM s)", "subquery"),
        ("SELECT x, (SELECT max(y) FROM s) AS m FROM t", "subquery"),
        ("SELECT x, row_number() OVER (ORDER BY x) AS n FROM t", "window"),
        ("WITH a AS (SELECT x FROM t) SELECT x FROM a", "WITH"),
        ("SELECT t.x FROM t, LATERAL (SELECT y FROM s) AS z", "LATERAL"),
        ("SELECT z.n, z.x FROM (SELECT x, count(*) AS n FROM t GROUP BY x) z", "below the top"),
        ("SELECT 1 AS one", "without FROM"),
    ],
)
def test_unsupported_queries_are_refused_with_reason(sql, why):
    query = IncrementalQuery(sql, "spark", "db")
    with pytest.raises(NotIncrementalError, match=why):
        query.added(range(len(query.leaves)))


@pytest.mark.parametrize(
    ("sql", "floats", "decimals", "why"),
    [
        ("SELECT x, avg(y) FROM t GROUP BY x", [False] * 2, [None] * 2, "cannot be merged"),
        ("SELECT x, sum(y) + 1 FROM t GROUP BY x", [False] * 2, [None] * 2, "cannot be merged"),
        ("SELECT x, count(DISTINCT y) FROM t GROUP BY x", [False] * 2, [None] * 2, "DISTINCT"),
        ("SELECT x, sum(y) FROM t GROUP BY x", [False, True], [None] * 2, "floating"),
        ("SELECT x, sum(y) FROM t GROUP BY x", [False] * 2, [None, 38], "overflow"),
        ("SELECT count(*) FROM t GROUP BY x", [False], [None], "not one of its columns"),
        ("SELECT x, count(*) FROM t GROUP BY x HAVING count(*) > 1", [False] * 2, [None] * 2, "HAVING"),
        ("SELECT x, count(*) FROM t GROUP BY x WITH ROLLUP", [False] * 2, [None] * 2, "grouping sets"),
        ("SELECT x, y, count(*) FROM t GROUP BY GROUPING SETS ((x), (y))", [False] * 3, [None] * 3, "cannot be merged"),
        (
            "SELECT session_window(x, '5 minutes') AS w, count(*) FROM t GROUP BY session_window(x, '5 minutes')",
            [False] * 2,
            [None] * 2,
            "session_window",
        ),
        ("SELECT x, count(*) FILTER (WHERE y > 1) FROM t GROUP BY x", [False] * 2, [None] * 2, "cannot be merged"),
    ],
)
def test_aggregates_without_exact_merge_are_refused(sql, floats, decimals, why):
    with pytest.raises(NotIncrementalError, match=why):
        IncrementalQuery(sql, "spark", "db").aggregate(decimals, floats)


@pytest.mark.parametrize(
    "function",
    [*sorted(SPARK_AGGREGATES - {"count", "max", "min", "sum"}), "my_own", "db.my_own", "db.upper", "mean(x) + max"],
)
def test_aggregate_functions_are_never_treated_as_scalar(function):
    call = (
        f"{function}(x, y)" if function.startswith(("corr", "covar", "max_by", "min_by", "regr")) else f"{function}(x)"
    )
    for sql in (f"SELECT {call} AS y FROM t", f"SELECT z.y FROM (SELECT {call} AS y FROM t) AS z"):
        query = IncrementalQuery(sql, "spark", "db")
        with pytest.raises(NotIncrementalError):
            query.added([0], grouped=query.aggregate([None], [False]) is not None)


def test_pipe_operators_are_refused():
    with pytest.raises(NotIncrementalError, match="pipe operator"):
        IncrementalQuery("FROM t |> WHERE x > 1 |> SELECT x", "spark", "db")


@pytest.mark.parametrize("sql", ["{}", "SELECT a.y FROM ({}) AS a", "SELECT x AS y FROM t UNION ALL {}"])
def test_transform_scripts_are_refused(sql):
    query = IncrementalQuery(sql.format("SELECT TRANSFORM(x) USING 'wc' AS (y) FROM t"), "spark", "db")
    with pytest.raises(NotIncrementalError, match="TRANSFORM"):
        query.added(range(len(query.leaves)), grouped=query.aggregate([None], [False]) is not None)


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("SELECT count(*) AS n FROM t", False),
        ("SELECT sum(x) + count(*) AS n FROM t AS y", False),
        ("SELECT count(DISTINCT *) AS n FROM t", True),
        ("SELECT count(t.*) AS n FROM t", True),
        ("SELECT count(*, 1) AS n FROM t", True),
        ("SELECT count(struct(*)) AS n FROM t", True),
        ("SELECT hash(*) AS n FROM t", True),
        ("SELECT x FROM s UNION ALL TABLE t", True),
        ("SELECT p FROM t AS x (p, q)", True),
        ("SELECT p FROM t PIVOT (sum(v) FOR c IN ('a' AS p))", True),
        ("SELECT x FROM t NATURAL JOIN s", True),
        ("SELECT x + 1 AS z FROM t", True),
    ],
)
def test_definition_reads_added_column(sql, reads):
    assert IncrementalQuery(sql, "spark", "db").may_read(["z"]) is reads


@pytest.mark.parametrize(
    "text",
    [
        "t VERSION AS OF 3",
        "t TIMESTAMP AS OF '2020-01-01'",
        "t TABLESAMPLE (3 ROWS)",
        "a.b.c.snapshots",
        "t WITH ('branch' = 'b')",
        "t WITH (`split-size` = 1) AS u JOIN s ON s.x = u.x",
    ],
)
def test_time_travel_samples_options_and_metadata_tables_are_refused(text):
    with pytest.raises(NotIncrementalError, match=r"sample or by time travel|not a table|with options"):
        IncrementalQuery(f"SELECT x FROM {text}", "spark", "db")


def test_leaf_keeps_catalog_of_qualified_name():
    [leaf] = IncrementalQuery("SELECT x FROM other.db.t", "spark", "db").leaves
    assert (leaf.catalog, leaf.name) == ("other", ("db", "t"))


def test_render_replaces_names_and_adds_aliases():
    sql = "SELECT `t`.`x`, 't' AS t2 FROM `db`.`t` /* t */ JOIN s AS `q` ON `t`.`x` = q.x"
    rendered = IncrementalQuery(sql, "spark", "db").render(lambda _, leaf: f"<{leaf.name[1]}>")
    assert rendered == "SELECT `t`.`x`, 't' AS t2 FROM <t> AS `t` /* t */ JOIN <s> AS `q` ON `t`.`x` = q.x"


@pytest.mark.parametrize(
    ("sql", "rendered"),
    [
        ("SELECT db.t.a, t.b FROM db.t", "SELECT t.a, t.b FROM <t> AS `t`"),
        ("SELECT c.db.t.a, `DB`.`t`.* FROM c.db.t", "SELECT t.a, `t`.* FROM <t> AS `t`"),
        ("SELECT db.t.a FROM db.t AS x", "SELECT db.t.a FROM <t> AS x"),  # a field of a struct, or an error
        (
            "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM s WHERE db.t.a = s.a)",
            "SELECT 1 FROM <t> AS `t` WHERE EXISTS (SELECT 1 FROM <s> AS `s` WHERE t.a = s.a)",
        ),
        ("TABLE t", "(SELECT * FROM <t> AS `t`)"),
        (
            "SELECT a FROM (TABLE t) AS q UNION ALL TABLE s",
            "SELECT a FROM ((SELECT * FROM <t> AS `t`)) AS q UNION ALL (SELECT * FROM <s> AS `s`)",
        ),
        ("WITH t AS (SELECT 1 AS a) TABLE t", "WITH t AS (SELECT 1 AS a) TABLE t"),
    ],
)
def test_render_of_names_that_an_alias_does_not_have(sql, rendered):
    assert IncrementalQuery(sql, "spark", "db").render(lambda _, leaf: f"<{leaf.name[1]}>") == rendered
