"""Which queries can be kept up by what was added, which cannot and why, and what in a query is not repeatable."""

from __future__ import annotations

import pytest

from hive_views.sql.analysis.aggregates import AGGREGATES
from hive_views.sql.analysis.determinism import find_nondeterminism
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError


def ways(sql: str, changed: str) -> list[str]:
    """The assignments, a letter for each leaf in the order of the text, for the tables that got rows."""
    leaves = IncrementalQuery(sql, "spark", "db")
    order = sorted(range(len(leaves.leaves)), key=lambda number: leaves.leaves[number].start)
    numbers = [number for number in order if leaves.leaves[number].name[1] in changed.split()]
    aggregate = leaves.aggregate([None] * 3, [False] * 3) if "group" in sql.lower() else None
    found = leaves.added(numbers, grouped=aggregate is not None)
    return sorted("".join(way[number].value[0].upper() for number in order) for way in found)


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
    ],
)
def test_ways(sql, changed, expected):
    # 'now' and 'none' share a letter: which one it is shows in the text that the property tests run.
    assert ways(sql, changed) == sorted(expected)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT DISTINCT x FROM t", "DISTINCT"),
        ("SELECT x FROM t LIMIT 3", "LIMIT"),
        ("SELECT x FROM t ORDER BY x", "ORDER"),
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
        ("SELECT x FROM t LATERAL VIEW explode(y) e AS z", "LATERALS"),
        ("SELECT explode(y) AS z FROM t", "rows"),
        ("SELECT z.n, z.x FROM (SELECT x, count(*) AS n FROM t GROUP BY x) z", "below the top"),
        ("SELECT 1 AS one", "without FROM"),
    ],
)
def test_what_cannot_be_kept_up(sql, why):
    leaves = IncrementalQuery(sql, "spark", "db")
    with pytest.raises(NotIncrementalError, match=why):
        leaves.added(range(len(leaves.leaves)))


@pytest.mark.parametrize(
    ("sql", "floats", "decimals", "why"),
    [
        ("SELECT x, avg(y) FROM t GROUP BY x", [False] * 2, [None] * 2, "cannot be merged"),
        ("SELECT x, sum(y) + 1 FROM t GROUP BY x", [False] * 2, [None] * 2, "cannot be merged"),
        ("SELECT x, count(DISTINCT y) FROM t GROUP BY x", [False] * 2, [None] * 2, "DISTINCT"),
        ("SELECT x, sum(y) FROM t GROUP BY x", [False, True], [None] * 2, "floating"),
        ("SELECT x, sum(y) FROM t GROUP BY x", [False] * 2, [None, 38], "overflow"),
        ("SELECT count(*) FROM t GROUP BY x", [False], [None], "no column"),
        ("SELECT x, count(*) FROM t GROUP BY x HAVING count(*) > 1", [False] * 2, [None] * 2, "HAVING"),
        ("SELECT x, count(*) FROM t GROUP BY x WITH ROLLUP", [False] * 2, [None] * 2, "grouping sets"),
        ("SELECT x, y, count(*) FROM t GROUP BY GROUPING SETS ((x), (y))", [False] * 3, [None] * 3, "cannot be merged"),
        ("SELECT x, count(*) FILTER (WHERE y > 1) FROM t GROUP BY x", [False] * 2, [None] * 2, "cannot be merged"),
    ],
)
def test_what_cannot_be_merged(sql, floats, decimals, why):
    with pytest.raises(NotIncrementalError, match=why):
        IncrementalQuery(sql, "spark", "db").aggregate(decimals, floats)


@pytest.mark.parametrize(
    "function", [*sorted(AGGREGATES - {"count", "max", "min", "sum"}), "my_own", "db.my_own", "mean(x) + max"]
)
def test_one_row_of_many_is_never_taken_for_a_row_of_each(function):
    call = f"{function}(x, y)" if function.startswith(("corr", "covar", "regr")) else f"{function}(x)"
    for sql in (f"SELECT {call} AS y FROM t", f"SELECT z.y FROM (SELECT {call} AS y FROM t) AS z"):
        leaves = IncrementalQuery(sql, "spark", "db")
        with pytest.raises(NotIncrementalError):
            leaves.added([0], grouped=leaves.aggregate([None], [False]) is not None)


@pytest.mark.parametrize("sql", ["{}", "SELECT a.y FROM ({}) AS a", "SELECT x AS y FROM t UNION ALL {}"])
def test_a_script_is_never_run_over_new_rows_alone(sql):
    leaves = IncrementalQuery(sql.format("SELECT TRANSFORM(x) USING 'wc' AS (y) FROM t"), "spark", "db")
    with pytest.raises(NotIncrementalError, match="TRANSFORM"):
        leaves.added(range(len(leaves.leaves)), grouped=leaves.aggregate([None], [False]) is not None)
    with pytest.raises(NotIncrementalError):
        leaves.passed_through(0, 0)


@pytest.mark.parametrize(
    "text", ["t VERSION AS OF 3", "t TIMESTAMP AS OF '2020-01-01'", "t TABLESAMPLE (3 ROWS)", "a.b.c.snapshots"]
)
def test_a_table_as_it_was_once_is_refused(text):
    with pytest.raises(NotIncrementalError, match=r"not read plainly|no table"):
        IncrementalQuery(f"SELECT x FROM {text}", "spark", "db")


def test_a_catalog_in_front_is_not_forgotten():
    [leaf] = IncrementalQuery("SELECT x FROM other.db.t", "spark", "db").leaves
    assert (leaf.catalog, leaf.name) == ("other", ("db", "t"))


def test_names_are_replaced_in_place_and_become_aliases():
    sql = "SELECT `t`.`x`, 't' AS t2 FROM `db`.`t` /* t */ JOIN s AS `q` ON `t`.`x` = q.x"
    found = IncrementalQuery(sql, "spark", "db").render(lambda _, leaf: f"<{leaf.name[1]}>")
    assert found == "SELECT `t`.`x`, 't' AS t2 FROM <t> AS `t` /* t */ JOIN <s> AS `q` ON `t`.`x` = q.x"


_METADATA = ("_deleted", "_partition", "_spec_id")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT x, upper(y), cast(z AS int) FROM t WHERE x > 1", ()),
        ("SELECT count(*), sum(x), min(y), avg(z) FROM t", ()),
        ("SELECT x, current_date AS d FROM t", ("current_date",)),
        ("SELECT now() FROM t", ("now",)),
        ("SELECT uuid() FROM t", ("uuid",)),
        ("SELECT collect_list(x) FROM t", ("array_agg", "collect_list")),
        ("SELECT x FROM t LIMIT 1", ("LIMIT",)),
        ("SELECT x FROM t TABLESAMPLE (3 ROWS)", ("TABLESAMPLE",)),
        ("SELECT other.f(x) FROM t", ("f",)),
        ("SELECT row_number() OVER (ORDER BY x) FROM t", ("row_number",)),
        ("SELECT rank() OVER (ORDER BY x) FROM t", ()),
        ("SELECT t.`user` FROM t", ()),
        ("SELECT x FROM t WHERE d < DATE 'today'", ("'today'",)),
        ("SELECT cast('now' AS timestamp) AS d FROM t", ("'now'",)),
        # Spark casts the text to the other side's type, which is not known here.
        ("SELECT x FROM t WHERE status = 'today' OR coalesce(y, 'now') = z", ("'now'", "'today'")),
        ("SELECT x FROM t WHERE d < ' Today '", ("'today'",)),
        ("SELECT x FROM t WHERE d IN ('2020-01-01', 'yesterday')", ("'yesterday'",)),
        ("SELECT x FROM t WHERE d BETWEEN 'yesterday UTC' AND 'tomorrow+01:00'", ("'tomorrow'", "'yesterday'")),
        ("SELECT CASE WHEN x > 1 THEN d ELSE 'today Europe/Rome' END AS d FROM t", ("'today'",)),
        ("SELECT d FROM t UNION ALL SELECT 'now'", ("'now'",)),
        ("SELECT x FROM t WHERE d > 'epoch' AND y <> 'today we sing' AND z <> 'nowhere'", ()),
        ("SELECT TRANSFORM(x, y) USING 'cat' AS (x, y) FROM t", ("TRANSFORM",)),
        ("SELECT a.y FROM (SELECT TRANSFORM(x) USING 'cat' AS (y) FROM t) AS a", ("TRANSFORM",)),
        ("SELECT x, _file, t._POS FROM t", ("_file", "_pos")),
        ("SELECT x FROM t WHERE _partition.day > 1 AND _spec_id = 1 AND NOT `_deleted`", _METADATA),
        ("SELECT x, _metadata.file_path FROM t", ("_metadata",)),
        ("SELECT x, INPUT__FILE__NAME FROM t", ("input__file__name",)),
        ("SELECT current_time FROM t", ("current_time",)),
        ("SELECT max_by(x, y) FROM t", ("arg_max", "max_by")),
        ("SELECT percentile_approx(x, 0.5) FROM t", ("percentile_approx",)),
        ("SELECT sum(x) OVER (ORDER BY y ROWS UNBOUNDED PRECEDING) FROM t", ("ROWS",)),
        ("SELECT sum(x) OVER (ORDER BY y RANGE UNBOUNDED PRECEDING) FROM t", ()),
        ("SELECT aes_encrypt(x, y) FROM t", ("aes_encrypt",)),
    ],
)
def test_unrepeatable(sql, expected):
    assert find_nondeterminism(sql, "spark") == expected
