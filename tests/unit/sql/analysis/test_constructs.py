"""Classes of operands and literals in the signatures of constructs, by which the table of answers is read."""

from __future__ import annotations

import pytest

from hive_views.sql.analysis.constructs import constructs
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.text.dialects import Dialect
from tests.unit.sql.tables import Tables

COLUMNS = {
    "i": "int",
    "l": "bigint",
    "d": "double",
    "n": "decimal(10,2)",
    "s": "string",
    "dt": "date",
    "a": "array<int>",
}
TABLES = Tables({"k.t": COLUMNS, "k.u": COLUMNS})
NONZERO = "/ by a number that is not 0"
ONE_TABLE = "one table, read with a filter and without"
WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
FEWER = "cast(decimal as decimal with fewer digits behind its point)"
RANK = "over(rank(); order: "
ZEROS = "decimal literal with trailing zeros"

SIGNATURES = [
    # -- Divisors
    ("SELECT CASE WHEN i = 0 THEN NULL ELSE d / i END AS r FROM t", f"{NONZERO}(double,int)"),
    ("SELECT CASE WHEN i > 0 THEN d / i END AS r FROM t", f"{NONZERO}(double,int)"),
    ("SELECT CASE WHEN 0 < i AND s = 'a' THEN d / i END AS r FROM t", f"{NONZERO}(double,int)"),
    ("SELECT CASE WHEN i IS NULL OR i = 0 THEN 0 ELSE d / i END AS r FROM t", f"{NONZERO}(double,int)"),
    ("SELECT if(i <> 0, d / i, 0) AS r FROM t", f"{NONZERO}(double,int)"),
    ("SELECT d / nullif(i, 0) AS r FROM t", f"{NONZERO}(double,int)"),
    ("SELECT sum(d) / count(*) AS r FROM t GROUP BY s", f"{NONZERO}(double,bigint)"),
    ("SELECT sum(d) / count(*) AS r FROM t", "/ by value(double,bigint)"),
    ("SELECT sum(d) / count(*) AS r FROM t GROUP BY s WITH ROLLUP", "/ by value(double,bigint)"),
    ("SELECT CASE WHEN i = 0 THEN d / i ELSE NULL END AS r FROM t", "/ by value(double,int)"),
    ("SELECT CASE WHEN i >= 0 THEN d / i END AS r FROM t", "/ by value(double,int)"),
    ("SELECT CASE WHEN l > 0 THEN d / i END AS r FROM t", "/ by value(double,int)"),
    ("SELECT CASE WHEN i <> 0 OR l > 0 THEN d / i END AS r FROM t", "/ by value(double,int)"),
    ("SELECT CASE i WHEN 1 THEN d / i END AS r FROM t", "/ by value(double,int)"),
    ("SELECT coalesce(CASE WHEN i > 0 THEN d / i END, 0) AS r FROM t", "quotient in a condition"),
    ("SELECT d / i AS r FROM t WHERE i <> 0", f"{NONZERO}(double,int)"),
    ("SELECT s, sum(d / i) AS r FROM t WHERE s = 'a' AND i > 0 GROUP BY s", f"{NONZERO}(double,int)"),
    ("SELECT d / i AS r FROM t WHERE i <> 0 OR s = 'a'", "/ by value(double,int)"),
    ("SELECT d / i AS r FROM (SELECT d, l, i FROM t WHERE i <> 0) x", "/ by value(double,int)"),
    ("SELECT s FROM t WHERE i <> 0 AND d / i > 2", "/ by value(double,int)"),
    ("SELECT a.d FROM t a JOIN t b ON a.d / b.i = 1 WHERE b.i <> 0", "/ by value(double,int)"),
    ("SELECT coalesce(d / i, 0) AS r FROM t WHERE i <> 0", "quotient in a condition"),
    ("SELECT nullif(d, 0) AS r FROM t", "nullif(double,small integer)"),
    ("SELECT nullif(n, 100) AS r FROM t", "nullif(decimal,small integer)"),
    ("SELECT nullif(n, 101) AS r FROM t", "nullif(different: decimal(10,2),int)"),
    ("SELECT nullif(l, i) AS r FROM t", "nullif(different: bigint,int)"),
    ("SELECT nullif(i, l) AS r FROM t", "nullif(different: int,bigint)"),
    ("SELECT nullif(i, 0) AS r FROM t", "nullif(int)"),
    # -- Rounded quotients
    ("SELECT round(100.0 * n / l, 2) AS r FROM t", "rounded / by value(decimal,bigint)"),
    ("SELECT round((n / l) * 100, 1) AS r FROM t", "rounded / by value(decimal,bigint)"),
    ("SELECT round(sum(n) / count(*), 2) AS r FROM t GROUP BY s", f"rounded {NONZERO}(decimal,bigint)"),
    ("SELECT round(n / l, 5) AS r FROM t", "/ by value(decimal,bigint)"),
    ("SELECT round(n / l + 1, 2) AS r FROM t", "/ by value(decimal,bigint)"),
    ("SELECT round(d / l, 2) AS r FROM t", "/ by value(double,bigint)"),
    # -- Integers that cannot overflow
    ("SELECT year(dt) * 100 + month(dt) AS r FROM t", "+ of small integers(int,int)"),
    ("SELECT datediff(dt, dt) * 86400 AS r FROM t", "*(int,int)"),
    ("SELECT 100 * sum(CASE WHEN i > 0 THEN 1 ELSE 0 END) AS r FROM t", "* of small integers(int,bigint)"),
    ("SELECT 100000 * sum(CASE WHEN i > 0 THEN 1 ELSE 0 END) AS r FROM t", "*(int,bigint)"),
    ("SELECT i + 1 AS r FROM t", "+(int,int)"),
    ("SELECT CASE WHEN i > 0 THEN i END + 1 AS r FROM t", "+(int,int)"),
    ("SELECT CAST(n AS int) AS r FROM t", "cast(small decimal as int)"),
    ("SELECT CAST(n AS smallint) AS r FROM t", "cast(decimal as smallint)"),
    ("SELECT CAST(n AS decimal(9,1)) AS r FROM t", "cast(decimal as narrower decimal)"),
    ("SELECT CAST(n AS decimal(10,1)) AS r FROM t", FEWER),
    ("SELECT CAST(n * 1.19 AS decimal(12,2)) AS r FROM t", FEWER),
    ("SELECT CAST(n * 1.19 AS decimal(10,2)) AS r FROM t", "cast(decimal as narrower decimal)"),
    ("SELECT CAST(date_format(dt, 'yyyyMMdd') AS int) AS r FROM t", "cast(part of a date as int)"),
    ("SELECT CAST(date_format(s, 'yyyyMMdd') AS int) AS r FROM t", "cast(string as int)"),
    ("SELECT CAST(date_format(dt, 'yyyy-MM') AS int) AS r FROM t", "cast(string as int)"),
    # -- Values that are never NULL
    ("SELECT rank() OVER (ORDER BY i) AS r FROM t WHERE i > 3", f"{RANK}explicit nulls)"),
    ("SELECT rank() OVER (ORDER BY i) AS r FROM t WHERE year(dt) = 2024 OR i > 3", f"{RANK}default nulls)"),
    ("SELECT rank() OVER (ORDER BY dt) AS r FROM t WHERE year(dt) = 2024", f"{RANK}explicit nulls)"),
    ("SELECT rank() OVER (ORDER BY s) AS r FROM t WHERE s LIKE 'a%'", f"{RANK}explicit nulls)"),
    ("SELECT rank() OVER (ORDER BY s) AS r FROM t WHERE NOT s LIKE 'a%'", f"{RANK}explicit nulls)"),
    ("SELECT rank() OVER (ORDER BY s) AS r FROM t WHERE coalesce(s, 'a') = 'a'", f"{RANK}default nulls)"),
    (
        "SELECT rank() OVER (ORDER BY n) AS r FROM (SELECT s, count(*) AS n FROM t GROUP BY s) x",
        f"{RANK}explicit nulls)",
    ),
    ("SELECT rank() OVER (ORDER BY n) AS r FROM (SELECT s, sum(i) AS n FROM t GROUP BY s) x", f"{RANK}default nulls)"),
    (
        "SELECT rank() OVER (ORDER BY s) AS r FROM (SELECT s FROM t WHERE s <> '' GROUP BY s) x",
        f"{RANK}explicit nulls)",
    ),
    (
        "SELECT rank() OVER (ORDER BY s) AS r FROM (SELECT s FROM t WHERE s <> '' GROUP BY s WITH CUBE) x",
        f"{RANK}default nulls)",
    ),
    ("WITH x AS (SELECT i FROM t WHERE i > 1) SELECT rank() OVER (ORDER BY i) AS r FROM x", f"{RANK}explicit nulls)"),
    (
        "WITH x AS (SELECT i, l FROM t WHERE i > 1) "
        "SELECT rank() OVER (ORDER BY x.i) AS r FROM t RIGHT JOIN x USING (l)",
        f"{RANK}default nulls)",
    ),
    (
        "WITH x AS (SELECT i, l FROM t WHERE i > 1) "
        "SELECT rank() OVER (ORDER BY x.i) AS r FROM t LEFT JOIN x USING (l)",
        f"{RANK}default nulls)",
    ),
    (
        "SELECT rank() OVER (ORDER BY t.i) AS r FROM t "
        "JOIN (WITH t AS (SELECT i, l FROM u WHERE i > 1) SELECT l FROM t) x ON t.l = x.l",
        f"{RANK}default nulls)",
    ),
    ("SELECT rank() OVER (ORDER BY a.i) AS r FROM t a JOIN u b ON a.i = b.i", f"{RANK}explicit nulls)"),
    ("SELECT rank() OVER (ORDER BY a.i) AS r FROM t a LEFT JOIN u b ON a.i = b.i", f"{RANK}default nulls)"),
    ("SELECT greatest(i, 1) AS r FROM t WHERE i IS NOT NULL", "greatest of values(int)"),
    ("SELECT greatest(coalesce(i, 0), 1) AS r FROM t", "greatest of values(int)"),
    ("SELECT greatest(i, 1) AS r FROM t WHERE l IS NOT NULL", "greatest(int)"),
    ("SELECT i FROM t WHERE greatest(i, 1) = 1 AND i IS NOT NULL", "greatest(int)"),
    ("SELECT i FROM t WHERE i NOT IN (SELECT i FROM u WHERE i IS NOT NULL)", "in query not of values(int,int)"),
    ("SELECT i FROM t WHERE i NOT IN (SELECT i FROM u)", "in query not(int,int)"),
    # -- Values within bounds
    ("SELECT sqrt(abs(d)) AS r FROM t", "sqrt of no negative number(double)"),
    ("SELECT sqrt(pow(i, 2) + pow(d, 2)) AS r FROM t", "sqrt of no negative number(double)"),
    ("SELECT sqrt(pow(i, 3)) AS r FROM t", "sqrt(double)"),
    ("SELECT sqrt(i * i) AS r FROM t", "sqrt(int)"),
    ("SELECT sqrt(i) AS r FROM t WHERE i >= 0", "sqrt of no negative number(int)"),
    ("SELECT sqrt(i) AS r FROM t WHERE i >= -1", "sqrt(int)"),
    ("SELECT sqrt(i) AS r FROM t WHERE i BETWEEN 1 AND 5", "sqrt of no negative number(int)"),
    ("SELECT from_unixtime(l) AS r FROM t WHERE l BETWEEN 0 AND 2000000000", "from_unixtime of a time(bigint,string)"),
    (
        "SELECT from_unixtime(l, 'yyyy') AS r FROM t WHERE l > 0 AND l < 99",
        "from_unixtime of a time(bigint,'fields of dates')",
    ),
    ("SELECT from_unixtime(l) AS r FROM t WHERE l < 2000000000", "from_unixtime(bigint,string)"),
    ("SELECT split(s, '-')[0] AS r FROM t", "[] of an element that exists(array,int)"),
    ("SELECT array(i, 1)[1] AS r FROM t", "[] of an element that exists(array,int)"),
    ("SELECT array(i, 1)[2] AS r FROM t", "[](array,int)"),
    ("SELECT a[0] AS r FROM t", "[](array,int)"),
    ("SELECT add_months(trunc(dt, 'MM'), 1) AS r FROM t WHERE current_date > dt", "current_date()"),
    # -- Outer joins
    ("SELECT a.i FROM t a LEFT JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l", ONE_TABLE),
    ("SELECT a.i FROM t a FULL JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l AND a.i > 1", ONE_TABLE),
    ("WITH b AS (SELECT l FROM t WHERE l < 9) SELECT a.i FROM t a LEFT JOIN b ON b.l = a.l", ONE_TABLE),
    (
        "SELECT a.i FROM t a LEFT JOIN u c ON a.l = c.l LEFT JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l",
        ONE_TABLE,
    ),
    ("SELECT i FROM t WHERE i = 3 UNION SELECT i FROM t", ONE_TABLE),
    ("SELECT max(x.i) AS r FROM (SELECT i FROM t WHERE i = 3 UNION ALL SELECT i FROM t) x", ONE_TABLE),
    # -- Filters
    ("SELECT i FROM t WHERE array_contains(split(s, ','), s)", "array_contains as a filter(array,string)"),
    ("SELECT i FROM t WHERE i = 1 AND array_contains(split(s, ','), s)", "array_contains as a filter(array,string)"),
    ("SELECT i FROM t WHERE NOT array_contains(split(s, ','), s)", "array_contains(array,string)"),
    ("SELECT i FROM t WHERE i = 1 OR array_contains(split(s, ','), s)", "array_contains(array,string)"),
    # -- Literals
    ("SELECT parse_url(s, 'HOST') AS r FROM t", "parse_url(string,'HOST')"),
    ("SELECT bround(n, 1) AS r FROM t", "bround(decimal) to fewer digits"),
    ("SELECT id FROM (SELECT i AS id, s FROM t) x WHERE s RLIKE '^[A-Z]+-[0-9]{2}$'", "rlike pattern('regex')"),
    ("SELECT i FROM t WHERE s RLIKE 'b*'", "rlike pattern('b*')"),
    ("SELECT regexp_extract(s, '([a-z]+)-(.*)', 2) AS r FROM t", "regexp_extract(string,'regex',group)"),
    ("SELECT regexp_extract(s, '([a-z]+)', 2) AS r FROM t", "regexp_extract(string,'regex',2)"),
    ("SELECT regexp_replace(s, '([a-z])', '<$1>') AS r FROM t", "regexp_replace(string,'regex','<$1>')"),
    ("SELECT regexp_replace(s, '[^0-9]', '') AS r FROM t", "regexp_replace(string,'regex','text')"),
    ("SELECT date_format(dt, 'dd/MM/yyyy') AS r FROM t", "date_format(date,'fields of dates')"),
    ("SELECT date_format(dt, 'yyyy-MM-dd HH:mm') AS r FROM t", "date_format(date,'fields')"),
    ("SELECT date_format(dt, 'u') AS r FROM t", "date_format(date,'u')"),
    (
        "SELECT from_unixtime(unix_timestamp(s, 'yyyyMMdd'), 'dd.MM.yyyy') AS r FROM t",
        "unix_timestamp(string,'yyyyMMdd')",
    ),
    ("SELECT get_json_object(s, '$.a.b') AS r FROM t", "get_json_object(string,'keys')"),
    ("SELECT get_json_object(s, '$.a[0]') AS r FROM t", "get_json_object(string,'keys and places')"),
    ("SELECT concat_ws('-', s, s, s) AS r FROM t", "concat_ws('text',string)"),
    ("SELECT split(s, ',')[0] AS r FROM t", "split(string,'text')"),
    ("SELECT split(s, ',')[1] AS r FROM t", "later element of split(string,'text')"),
    ("SELECT split(s, '[.]') AS r FROM t", "split(string,'regex')"),
    ("SELECT split(s, 'b*') AS r FROM t", "split(string,'b*')"),
    (r"SELECT regexp_extract(s, '^(\\w+)@', 1) AS r FROM t", "regexp_extract(string,'regex',group)"),
    (r"SELECT i FROM t WHERE s RLIKE '\\d'", "string with an escaped backslash"),
    (r"SELECT i FROM t WHERE s RLIKE '\\d*'", r"rlike pattern('\\d*')"),
    (r"SELECT i FROM t WHERE s RLIKE '\d'", "string with a backslash"),
    (r"SELECT i FROM t WHERE s LIKE 'a\\%'", "string with a backslash"),
    ("SELECT dt + INTERVAL '1' MONTH AS r FROM t", "+(date,interval month)"),
    # -- Collections and structs
    ("SELECT s, size(collect_set(i)) AS r FROM t GROUP BY s", "collect_set without order(int)"),
    ("SELECT s, collect_set(i) AS r FROM t GROUP BY s", "collect_set(int)"),
    ("SELECT sort_array(collect_list(s)) AS r FROM t", "sort_array(array of string)"),
    ("SELECT concat_ws(',', sort_array(collect_list(s))) AS r FROM t", "concat_ws('text',collected texts)"),
    ("SELECT map('a', i, 'b', i) AS r FROM t", "map(string,int)"),
    ("SELECT named_struct('a', i, 'b', s) AS r FROM t", "named_struct(string)"),
    ("SELECT count(DISTINCT i, s) AS r FROM t", "count(distinct several: string)"),
    # -- Clauses
    ("SELECT s, sum(i) AS r FROM t GROUP BY ROLLUP (s, i)", "group by(int)"),
    ("SELECT s, sum(i) AS r FROM t GROUP BY s WITH CUBE", "grouping sets"),
    ("SELECT s, sum(i) AS r FROM k.t WHERE i = 1 GROUP BY s WITH CUBE", "grouping sets"),
    ("SELECT s, sum(i) AS r FROM k.t WHERE s = 'a' GROUP BY ROLLUP (s)", "grouping sets; constant"),
    (
        "WITH x AS (SELECT 'a' AS s, i FROM t) SELECT s, sum(i) AS r FROM x GROUP BY s WITH ROLLUP",
        "grouping sets; constant",
    ),
    ("SELECT s, sum(i) AS r FROM (SELECT 'a' AS s, i FROM k.t) x GROUP BY s WITH ROLLUP", "grouping sets; constant"),
    ("SELECT s, grouping__id AS r FROM t GROUP BY s WITH CUBE", "grouping__id"),
    ("SELECT s, sum(i) AS r FROM t GROUP BY s HAVING sum(i) > 5", "<(bigint,int)"),
    ("SELECT sum(i) OVER w AS r FROM t WINDOW w AS (ORDER BY s)", "over(sum; order: default nulls)"),
    (f"SELECT max(i) OVER (PARTITION BY s ORDER BY l {WHOLE}) AS r FROM t", "over(max; whole partition)"),
    (f"SELECT max(d) OVER (ORDER BY l {WHOLE}) AS r FROM t", "over(max of double; order: default nulls; frame)"),
    ("SELECT explode(a) AS r FROM t", "explode as the only column(array)"),
    ("SELECT i FROM t WHERE s LIKE ANY ('a%', '%b')", "like pattern('%b')"),
    (
        "SELECT sum(d) OVER (ORDER BY i NULLS LAST ROWS 1 PRECEDING) AS r FROM t",
        "over(sum of double; order: explicit nulls; frame)",
    ),
]


def signatures(text: str, dialect: Dialect) -> set[str]:
    return {construct.signature for construct in constructs(resolve(parse_query(text, dialect), TABLES, "k"))}


@pytest.mark.parametrize("dialect", [Dialect.HIVE, Dialect.SPARK])
@pytest.mark.parametrize(("text", "signature"), SIGNATURES)
def test_signature_has_the_class(text: str, signature: str, dialect: Dialect):
    assert signature in signatures(text, dialect)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.i FROM u a LEFT JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l",
        "SELECT a.i FROM t a RIGHT JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l",
        "SELECT a.i FROM t a JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l",
        "SELECT a.i FROM t a LEFT JOIN t b ON b.l = a.l AND b.l < 9",
        "SELECT a.i FROM (SELECT l, i FROM t WHERE i = 2) a LEFT JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l",
        "SELECT b.l FROM (SELECT l FROM t WHERE l < 9) b LEFT JOIN t a ON b.l = a.l",
        "SELECT a.i FROM u c JOIN t a ON a.l = c.l LEFT JOIN (SELECT l FROM t WHERE l < 9) b ON b.l = a.l",
        "SELECT i FROM t WHERE i = 3 UNION ALL SELECT i FROM t",
        "SELECT i FROM t WHERE i = 3 UNION SELECT i FROM t WHERE i = 2",
        "SELECT a.i FROM t a LEFT JOIN (SELECT l, count(*) AS n FROM t WHERE l < 9 GROUP BY l) b ON b.l = a.l",
    ],
)
def test_other_joins_are_read_alike(text: str):
    assert ONE_TABLE not in signatures(text, Dialect.HIVE)


@pytest.mark.parametrize("dialect", [Dialect.HIVE, Dialect.SPARK])
@pytest.mark.parametrize(
    ("expression", "is_reported"),
    [
        ("d * 1.10", False),
        ("coalesce(d, 0.0)", False),
        ("CASE WHEN i > 1 THEN d ELSE 1.50 END", False),
        ("nvl(n, 0.0)", False),
        ("nvl(n, 0.000)", True),
        ("round(100.0 * n / l, 2)", False),
        ("round(n / l * 100.00, 1)", False),
        ("n * 1.10", True),
        ("round(n * 1.10, 2)", True),
        ("100.0 * n / l", True),
        ("CASE WHEN i > 1 THEN 1.50 END", True),
    ],
)
def test_zeros_at_the_end_of_a_number_matter_where_it_keeps_its_type(
    expression: str, is_reported: bool, dialect: Dialect
):
    assert (ZEROS in signatures(f"SELECT {expression} AS r FROM t", dialect)) is is_reported


@pytest.mark.parametrize("text", ["a|", "(a)*", "", "[", "^$", "a{,2}", "(?i)a", "a*?"])
def test_regular_expression_that_was_not_measured_is_part_of_the_signature(text: str):
    found = signatures(f"SELECT i FROM t WHERE s RLIKE '{text}'", Dialect.HIVE)
    assert "rlike pattern('regex')" not in found
